"""Loops on numbers as machine code against the same loops as generated Python, and iteration by iteration."""

import itertools
import math
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native import deferred_code, llvm_jit, loop_function, time_estimate
from funcgrad.compiler.native.deferred_code import DeferredCode
from funcgrad.compiler.python import scalar_codegen as scalar
from funcgrad.compiler.python.loop_body_codegen import flat_of, numbers_text
from funcgrad.compiler.python.loop_codegen import compile_loop, run_loop
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec, reference_loop
from funcgrad.expr import subexpressions, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from tests.default_slice import examples

KINDS = {"f": np.dtype(float), "i": np.dtype(int), "b": np.dtype(bool)}
HUGE = np.finfo(float).max
POINTS = [0.0, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 1e-160, 1e-310, 5e-324, 709.5, 710.0, 745.2]
POINTS += [1e18, 2.0**62, 2.0**63, 1e19, 1e200, HUGE, math.inf]
POINTS += [-point for point in POINTS] + [math.nan]
LOW, HIGH = -(2**63), 2**63 - 1
INTEGERS = [0, 1, -1, 2, 3, -3, 7, 10**10, LOW + 1, LOW, HIGH]
VALUES = {"f": POINTS, "i": INTEGERS, "b": [False, True]}
ARITIES = {name: len(op.edges) for name, op in all_ops().items() if isinstance(op, Elementwise)}


def number(name, kind, shape=()):
    return symbol(name, ArrayType(shape, KINDS[kind]))


def at_once(body, cond, shape):
    """A loop that is machine code from its first iteration on."""
    run = compile_loop(body, cond, shape)
    run.native.later._worth = 0.0
    return run


def in_python(body, cond, shape):
    """A loop that never is."""
    run = compile_loop(body, cond, shape)
    run.native.later.stop("Python is asked for")
    return run


def flattened(found):
    states, stacks = found
    return [*states, *stacks]


def near(got, want, ulps=0):
    """Of one type, and equal or so near; zeros have one sign."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    with np.errstate(all="ignore"):
        close = np.abs(got - want) <= ulps * np.abs(np.spacing(want))
        equal = (got == want) & (np.signbit(got) == np.signbit(want))
    good = close & (want != 0) | equal | (np.isnan(got) & np.isnan(want))
    assert np.all(good), (got[~good][:5], want[~good][:5])


def agree(operands, body, cond, shape, ulps=0):
    """Machine code, Python and the plain loop give the same."""
    run = at_once(body, cond, shape)
    kept = [np.array(x) for x in operands]
    got = flattened(run(operands))
    assert run.native.later._code is not None
    for now, before in zip(operands, kept, strict=True):
        near(now, before)
    with np.errstate(all="ignore"):  # as programs run
        python = flattened(in_python(body, cond, shape)(operands))
        plain = flattened(reference_loop(operands, body, cond, shape))
    for ours, theirs, numpy in zip(got, python, plain, strict=True):
        near(ours, theirs, ulps)
        near(ours, numpy, 2 * ulps)


# -- operations ----------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what infer gives for bools of arithmetic
@pytest.mark.parametrize("kind", "fib")
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_every_operation_at_every_point(kind, arity):
    """As Python does, to two units in the last place, and to the bit where it is arithmetic."""
    inputs = [number(f"x{i}", kind) for i in range(2)]
    inputs.append(number("p", "b"))
    outputs, names = [], []
    for name, count in sorted(ARITIES.items()):
        operands = {"where": (2, 0, 1), "mask": (2, 0)}.get(name, range(count))
        if count != arity or (count == 3 and name != "where"):
            continue
        try:
            output = all_ops()[name](*[inputs[i] for i in operands])
        except TypeError:
            continue
        if scalar.scalar_source(flatten_program([output], inputs)) is not None:
            outputs.append(output)
            names.append(name)
    if arity == 1:
        outputs += [inputs[0].astype(dtype) for dtype in (float, int, bool)]
        names += ["astype"] * 3
        if kind == "f":
            exponents = (-2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
            outputs += [np.power(inputs[0], exponent) for exponent in exponents]
            names += ["power"] * len(exponents)
    rows = list(itertools.product(VALUES[kind], VALUES[kind] if arity > 1 else [1], [False, True]))
    columns = [
        np.array([row[i] for row in rows], KINDS[k]) for i, k in enumerate((kind, kind, "b"))
    ]
    body, shape = body_of(inputs, outputs), LoopSpec(0, 3, len(rows))
    run = at_once(body, None, shape)
    ours = run(columns)[1]
    assert run.native.later._code is not None
    with np.errstate(all="ignore"):  # as programs run
        python = in_python(body, None, shape)(columns)[1]
    exact = ("add", "subtract", "multiply", "divide", "remainder", "floor_divide", "fmod", "sqrt")
    for name, got, want in zip(names, ours, python, strict=True):
        assert name
        if name == "signbit" or name == "copysign":  # of a nan, by any operation: not told
            keep = ~(np.isnan(columns[0]) | np.isnan(columns[1]))
            got, want = got[keep], want[keep]
        near(got, want, 0 if name in exact else 2)


# -- bodies --------------------------------------------------------------------------------------
RUNS = {
    "f": [
        lambda f, i, b: f[0] * f[1] - 0.5,
        lambda f, i, b: np.where(b[0], f[0], f[1] / (f[0] * f[0] + 1)),
        lambda f, i, b: np.sqrt(np.abs(f[1])) + i[0].astype(float),
        lambda f, i, b: np.maximum(f[0], -f[1]) % 1.7,
        lambda f, i, b: f[0] / f[1],
        lambda f, i, b: f[0] // f[1],
        lambda f, i, b: 1e200 * f[0] * f[1],
        lambda f, i, b: np.floor(f[0]) + np.rint(f[1]),
        lambda f, i, b: np.minimum(f[0], f[1]) * b[0],
    ],
    "i": [
        lambda f, i, b: i[0] * 3 + i[1],
        lambda f, i, b: np.where(b[0], i[1], i[0] - 7) % 5,
        lambda f, i, b: i[0] * i[1] * 4611686018427387905,
        lambda f, i, b: i[0] // i[1],
        lambda f, i, b: np.where(f[0] < 9e18, f[0], 0.0).astype(int),
        lambda f, i, b: np.abs(i[0]) + np.sign(i[1]) - np.square(i[0]),
    ],
    "b": [
        lambda f, i, b: f[0] > f[1],
        lambda f, i, b: b[0] ^ (i[0] > 2),
        lambda f, i, b: ~b[0] | (b[1] & (f[0] == f[1])),
    ],
}
LENGTHS = [0, 1, 5, 10_000]


@settings(max_examples=examples(40))
@given(data=st.data(), length=st.sampled_from(LENGTHS))
def test_random_loops_agree_to_the_bit(data, length):
    """Random bodies on floats, integers and truth values: states, items and what every iteration sees."""
    groups = [data.draw(st.lists(st.sampled_from("fib"), max_size=3)) for _ in range(3)]
    codes = [*groups[0], *groups[1], *groups[2], "f", "f", "i", "i", "b", "b"]
    inputs = [number(f"x{k}", c) for k, c in enumerate(codes)]
    pools = {c: [x for x, own in zip(inputs, codes, strict=True) if own == c] for c in "fib"}

    def made(kind):
        run = data.draw(st.sampled_from(RUNS[kind]))
        pick = {c: [data.draw(st.sampled_from(pools[c])) for _ in range(2)] for c in "fib"}
        return run(pick["f"], pick["i"], pick["b"])

    for _ in range(4):
        kind = data.draw(st.sampled_from("fib"))
        pools[kind] = [*pools[kind], made(kind)]
    outputs = [data.draw(st.sampled_from([made(c), *pools[c]])) for c in groups[0]]
    outputs += [data.draw(st.sampled_from(pools[c])) for c in "fib"]
    spec = LoopSpec(len(groups[0]), len(groups[1]), length, data.draw(st.booleans()))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    special = data.draw(st.booleans())

    def value(code, size):
        if special:
            return rng.choice(np.array(VALUES[code], KINDS[code]), size)[()]
        x = rng.standard_normal(size) * 2
        return {"f": x, "i": np.asarray(x * 4).astype(int), "b": np.asarray(x > 0)}[code][()]

    middle = spec.num_carry + spec.num_xs
    operands = [
        value(c, (length,) if spec.num_carry <= k < middle else ()) for k, c in enumerate(codes)
    ]
    agree(operands, body_of(inputs, outputs), None, spec)


@settings(max_examples=15)
@given(limit=st.floats(-1, 1e5), start=st.floats(0.01, 10), most=st.sampled_from([0, 1, 5, 5000]))
def test_loops_with_a_condition(limit, start, most):
    """Open loops end where the condition says, also when it never holds."""
    x, n, top = number("x", "f"), number("n", "i"), number("top", "f")
    body = body_of([x, n, top], [x * 1.001 + 0.25, n + 1, x / (top + 1), n, x > 3])
    cond = body_of([x, n, top], [(x < top) & (n < most)])
    agree(
        [np.float64(start), np.int64(0), np.float64(limit)],
        body,
        cond,
        LoopSpec(2, 0, UNKNOWN_LENGTH),
    )


def test_an_open_loop_over_what_another_met():
    """Its length is that of its sequences."""
    x, q = number("x", "f"), number("q", "f")
    body = body_of([x, q], [x * 0.5 + q, x])
    for length in LENGTHS:
        agree(
            [np.float64(2.0), np.arange(float(length))],
            body,
            None,
            LoopSpec(1, 1, UNKNOWN_LENGTH, True),
        )


# -- derivatives ---------------------------------------------------------------------------------
def compared(f, *args, monkeypatch):
    """Values of f by Python alone, then by machine code of its loops, which has to be there."""
    run_loop.cache_clear()
    compiled = []
    compile_loop_text = DeferredCode._compile

    def noted(code):
        compile_loop_text(code)
        compiled.append(code)

    with monkeypatch.context() as patch:
        patch.setattr(deferred_code, "_COMPILE", math.inf)
        want = [f(*args) for _ in range(25)][-1]
    run_loop.cache_clear()
    monkeypatch.setattr(DeferredCode, "_compile", noted)
    monkeypatch.setattr(deferred_code, "_COMPILE", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_NUMBER", 0.0)
    got = [f(*args) for _ in range(25)][-1]
    run_loop.cache_clear()
    assert compiled
    assert not any([code.reason for code in compiled])
    return got, want


def pendulum(n):
    def loss(start):
        def step(state, _):
            x, v, c = state
            a = -np.sin(x) - c * v
            return (x + 0.001 * v, v + 0.001 * a, c), x * v

        (x, v, _), met = fg.scan(step, start, None, length=n)
        return x * x + v + np.sum(met)

    return loss


@pytest.mark.parametrize("n", [1, 5, 10_000])
def test_gradients_of_scans(monkeypatch, n):
    got, want = compared(
        fg.jit(fg.value_and_grad(pendulum(n))), (1.0, 0.2, 0.1), monkeypatch=monkeypatch
    )
    for a, b in zip([got[0], *got[1]], [want[0], *want[1]], strict=True):
        assert a == pytest.approx(b, rel=1e-13)

    def plain(x, v, c):
        total = 0.0
        for _ in range(n):
            a = -math.sin(x) - c * v
            total += x * v
            x, v = x + 0.001 * v, v + 0.001 * a
        return x * x + v + total

    assert got[0] == pytest.approx(plain(1.0, 0.2, 0.1), rel=1e-12)
    for k, slope in enumerate(got[1]):
        ends = [[1.0, 0.2, 0.1] for _ in range(2)]
        ends[0][k] += 1e-5
        ends[1][k] -= 1e-5
        assert slope == pytest.approx(
            (plain(*ends[0]) - plain(*ends[1])) / 2e-5, rel=1e-6, abs=1e-7
        )


def test_gradients_of_while_loops(monkeypatch):
    """Newton's iteration for a square root, and how its result depends on what the root is of."""

    def root(a):
        x, _ = fg.while_loop(
            lambda s: np.abs(s[0] * s[0] - a) > 1e-9,
            lambda s: (0.99 * s[0] + 0.005 * (s[0] + a / s[0]), s[1] + 1),
            (a, 0),
        )
        return x

    got, want = compared(fg.jit(fg.value_and_grad(root)), 2.0, monkeypatch=monkeypatch)
    assert got == want
    x, slope = 2.0, 1.0
    while abs(x * x - 2.0) > 1e-9:
        slope = 0.99 * slope + 0.005 * (slope + 1 / x - 2.0 / (x * x) * slope)
        x = 0.99 * x + 0.005 * (x + 2.0 / x)
    assert got == pytest.approx((x, slope), rel=1e-12)


def test_loops_in_loops(monkeypatch):
    """The inner loop is a function beside, the outer one's arrays pass through it."""

    def f(x):
        def inner(s, t):
            return s * 0.9 + t * x, s

        def outer(s, row):
            last, met = fg.scan(inner, s, np.sin(np.full(4, 1.0) * row))
            return last, np.sum(met)

        last, met = fg.scan(outer, x, np.linspace(0.0, 1.0, 50))
        return last + np.sum(met)

    got, want = compared(fg.jit(fg.value_and_grad(f)), 0.7, monkeypatch=monkeypatch)
    np.testing.assert_allclose(got, want, rtol=1e-13)


# -- when, and whether ---------------------------------------------------------------------------
def geometric(length):
    x, r = number("x", "f"), number("r", "f")
    return body_of([x, r], [x * r + 1.0, x]), None, LoopSpec(1, 0, length)


def test_a_loop_changes_over_in_the_midst_of_a_run():
    """What Python met stands before what machine code meets, in both directions."""
    for reverse in (False, True):
        body, cond, shape = geometric(1000)
        shape = shape._replace(reverse=reverse)
        run = compile_loop(body, cond, shape)
        run.native.later._worth = 400 * run.native._iteration
        got = flattened(run([np.float64(1.0), np.float64(0.5)]))
        assert run.native.later._code is not None
        assert 400 <= run.native.later._ran // run.native._iteration < 1000
        plain = reference_loop([np.float64(1.0), np.float64(0.5)], body, cond, shape)
        for a, b in zip(got, flattened(plain), strict=True):
            near(a, b)


def test_a_while_loop_changes_over_in_the_midst_of_a_run():
    x, n = number("x", "f"), number("n", "i")
    body = body_of([x, n], [np.sqrt(x) - 0.5, n + 1, x, n])  # math raises, and NumPy gives nan
    cond = body_of([x, n], [n < 5000])
    run = compile_loop(body, cond, LoopSpec(2, 0, UNKNOWN_LENGTH))
    run.native.later._worth = 700 * run.native._iteration
    operands = [np.float64(5.0), np.int64(0)]
    with np.errstate(all="ignore"):
        got = flattened(run(operands))
        assert run.native.later._code is not None
        for a, b in zip(
            got,
            flattened(reference_loop(operands, body, cond, LoopSpec(2, 0, UNKNOWN_LENGTH))),
            strict=True,
        ):
            near(a, b)


@pytest.mark.parametrize("made", [at_once, in_python])
def test_a_condition_that_math_cannot_tell(made):
    """The logarithm of 0 ends the loop: math raises, and NumPy has -inf."""
    x = number("x", "f")
    body, cond = body_of([x], [x * 1e-100]), body_of([x], [np.log(x) > -1e3])
    with np.errstate(all="ignore"):
        assert made(body, cond, LoopSpec(1, 0, UNKNOWN_LENGTH))([np.float64(1.0)])[0] == [0.0]


def test_short_loops_stay_in_python():
    """Nothing is compiled before Python has run for as long as that would take."""
    run = compile_loop(*geometric(1000))
    for _ in range(20):
        run([np.float64(1.0), np.float64(0.5)])
    assert run.native.later._ran == 20 * 1000 * run.native._iteration
    assert run.native.later._code is None


def test_without_llvmlite_python_runs(monkeypatch):
    monkeypatch.setattr(llvm_jit, "llvm_available", lambda: False)
    run = at_once(*geometric(1000))
    (last,), (met,) = run([np.float64(1.0), np.float64(0.5)])
    assert (last, met[0], met[-1]) == (2.0, 1.0, 2.0)
    assert run.native.later._code is None


def test_what_llvm_refuses_runs_in_python(monkeypatch):
    """For good: it is not tried again."""
    tried = []

    def refuse(*args):
        tried.append(args)
        raise RuntimeError("no code today")

    monkeypatch.setattr(llvm_jit, "compile_llvm", refuse)
    run = at_once(*geometric(1000))
    for _ in range(3):
        (last,), _ = run([np.float64(1.0), np.float64(0.5)])
        assert last == 2.0
    assert len(tried) == 1


def test_iterations_that_take_long_to_compile_are_left_to_python(monkeypatch):
    monkeypatch.setattr(deferred_code, "_MOST_COMPILING", 50e6)
    x = number("x", "f")
    y = x
    for _ in range(300):
        y = y * 0.5 + 1.0
    run = at_once(body_of([x], [y]), None, LoopSpec(1, 0, 3))
    assert run([np.float64(0.0)])[0] == [2.0]
    assert "compiling takes" in run.native.later.reason


def test_a_sequence_that_is_too_short_is_an_error():
    x, q = number("x", "f"), number("q", "f")
    run = at_once(body_of([x, q], [x + q]), None, LoopSpec(1, 1, 5))
    with pytest.raises(IndexError, match="index"):
        run([np.float64(1.0), np.zeros(3)])


def test_sequences_in_any_layout():
    """Views in steps, in other byte orders, read-only, unaligned."""
    x, q = number("x", "f"), number("q", "f")
    run = at_once(body_of([x, q], [x + q, x]), None, LoopSpec(1, 1, 5))
    base = np.arange(10.0)
    fixed = base[:5].copy()
    fixed.flags.writeable = False
    odd = np.zeros(5, [("a", "i1"), ("b", "f8")])
    odd["b"] = fixed
    for items in (base[:5], base[::2], base[4::-1], np.broadcast_to(2.0, 5), fixed, odd["b"]):
        (last,), (met,) = run([np.float64(1.0), items])
        assert last == 1.0 + items.sum()
        assert met[1] == 1.0 + items[0]
    assert run([np.float64(1.0), base[:5].astype(">f8")])[0] == [11.0]


def test_eight_threads():
    """All get the same, those that come while the first one compiles, too."""
    run = compile_loop(*geometric(20_000))
    run.native.later._worth = 1e5
    found, start = [], threading.Barrier(8)

    def work():
        start.wait()
        for _ in range(10):
            (last,), (met,) = run([np.float64(1.0), np.float64(0.5)])
            found.append((float(last), float(met.sum())))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len(set(found)) == 1
    assert run.native.later._code is not None


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_an_interrupted_loop_leaves_everything_usable():
    """A long loop is entered again and again, and stops in between."""
    x, n = number("x", "f"), number("n", "i")
    body = body_of([x, n], [np.sin(x), n + 1])
    run = at_once(body, body_of([x, n], [n >= 0]), LoopSpec(2, 0, UNKNOWN_LENGTH))  # for ever
    run.native.function()

    def stop(*args):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run([np.float64(1.0), np.int64(0)])
        assert time.monotonic() - started < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    states, _ = run([np.float64(1.0), np.int64(-1)])
    assert states == [1.0, -1]


def test_a_loop_with_a_condition_inside():
    """It ends by its condition in each iteration of the loop around it."""
    x, r = number("x", "f"), number("r", "f")

    def f(x):
        def outer(s, _):
            return fg.while_loop(lambda v: v > 1.0, lambda v: v * 0.5, s + r), None

        return fg.scan(outer, x, None, length=3)[0]

    (loop,) = [e for e in subexpressions(f(x)) if e.op.name == "loop"]
    params = dict(loop.params)
    assert numbers_text(flat_of(params["body"]), None, params["spec"]) is not None
    agree([np.float64(9.0), np.float64(3.0)], params["body"], None, params["spec"])


def test_a_loop_inside_that_takes_long_is_left_to_python(monkeypatch):
    """Machine code gives up such a loop, since it could not be interrupted, and Python goes on."""
    monkeypatch.setattr(loop_function, "UNINTERRUPTED", 1e3)
    x, r = number("x", "f"), number("r", "f")

    def f(x):
        def outer(s, _):
            return fg.while_loop(lambda v: v > 1e-3, lambda v: v * 0.999, s + r), None

        return fg.scan(outer, x, None, length=3)[0]

    (loop,) = [e for e in subexpressions(f(x)) if e.op.name == "loop"]
    params = dict(loop.params)
    run, operands = at_once(params["body"], None, params["spec"]), [np.float64(2.0)] * 2
    (got,), _ = run(operands)
    assert "could not be interrupted" in run.native.later.reason
    assert got == reference_loop(operands, params["body"], None, params["spec"])[0][0]


def test_the_package_does_not_import_llvmlite():
    code = "import sys, funcgrad as fg; fg.jit(fg.grad(lambda x: x*x))(2.0); print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_loop_inside_a_loop_on_numbers_is_estimated_as_python():
    """NumPy's calls are not what it would take: the outer loop would be compiled ten times too early."""

    def nested(y):
        return fg.fori_loop(0, 10, lambda k, z: z * 0.999 + 0.1, y) * 0.5 + 1.0

    y = symbol("y", ArrayType((), KINDS["f"]))
    flat = flat_of(body_of([y], [nested(y)]))
    assert time_estimate.is_on_numbers(flat)
    assert 500 < time_estimate.estimate_iteration(flat).numpy < 2000
    x = symbol("x", ArrayType((3,), KINDS["f"]))
    assert not time_estimate.is_on_numbers(flat_of(body_of([x], [nested(x)])))


def test_an_iteration_counts_the_time_that_its_numbers_wait():
    """A loop in a loop stops after a tenth of a second by this count, so it may not be too small."""
    i, y = symbol("i", ArrayType((), KINDS["i"])), symbol("y", ArrayType((), KINDS["f"]))
    body = flat_of(body_of([i, y], [i + 1, y * 0.999 + 0.1]))
    test = flat_of(body_of([i, y], [i < 10]))
    assert time_estimate.fuel(body, test) == 4
