"""scan, while_loop and fori_loop against the same loops written out in Python."""

import dataclasses
import tracemalloc
from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyrsistent import pmap, pvector

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compiler.native import deferred_code
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.expr import subexpressions
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.control_flow import loops
from funcgrad.transforms.control_flow.loops import fori_loop, scan, while_loop
from tests.default_slice import examples, marked_slow

X = np.array([0.3, -0.7, 1.1])


def unrolled(f, init, xs, length=None, reverse=False):
    """What scan does, as a loop in Python; y must be one number or array, or None."""
    tree = flatten(xs) if xs is not None else None
    n = length if tree is None else len(tree.leaves[0])
    ys, carry = [], init
    for t in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, None if tree is None else tree.rebuild([v[t] for v in tree.leaves]))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, None if ys and ys[0] is None else np.stack(ys) if ys else np.zeros(0)


def same(ours, theirs, rtol=1e-12):
    a, b = flatten(ours), flatten(theirs)
    assert len(a.leaves) == len(b.leaves)
    for x, y in zip(a.leaves, b.leaves, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


# -- random scans --------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any
    c: Any
    d: Any
    e: Any


Five = namedtuple("Five", "a b c d e")
CONTAINERS = {
    "list": (list, list),
    "tuple": (tuple, list),
    "named": (lambda p: Five(*p), list),
    "dict": (lambda p: dict(zip("abcde", p, strict=True)), lambda t: [t[k] for k in "abcde"]),
    "data": (lambda p: Frozen(*p), lambda t: [getattr(t, k) for k in "abcde"]),
    "pmap": (lambda p: pmap(zip("abcde", p, strict=True)), lambda t: [t[k] for k in "abcde"]),
    "pvector": (pvector, list),
    "nested": (
        lambda p: {"p": (p[0], [p[1]]), "q": pmap({"r": p[2:]})},
        lambda t: [t["p"][0], t["p"][1][0], *t["q"]["r"]],
    ),
}
SMOOTH = (
    lambda a, b: np.tanh(a + b),
    lambda a, b: 0.5 * a * b + 0.1,
    lambda a, b: np.sin(a) - b,
    lambda a, b: np.exp(-a * a) * (1 + b),
    lambda a, b: np.where(a > b, a, 0.5 * b),
)
bodies = st.lists(st.integers(0, len(SMOOTH) - 1), min_size=4, max_size=4)


def body_of(kinds, container, w, data):
    """One turn on a number, a vector, a single-precision number, an integer and a truth value."""
    make, parts = container
    first, second, third, fourth = (SMOOTH[k] for k in kinds)

    def turn(carry, x):
        number, vector, single, count, flag = parts(carry)
        v, k = (data[0], 1) if x is None else (x["v"], x["k"])
        new_vector = first(vector, v * w[0])
        new_number = second(number, np.sum(new_vector) * w[1]) + np.where(flag, w[2], 0.0)
        new_single = third(single, np.float32(0.25)).astype(np.float32)
        new_count = (count + k) % 7
        y = fourth(new_number, number * count)
        return make([new_number, new_vector, new_single, new_count, new_count % 2 == 0]), y

    return turn


@settings(max_examples=examples(30))
@given(
    kinds=bodies,
    container=st.sampled_from(sorted(CONTAINERS)),
    length=st.integers(0, 7),
    reverse=st.booleans(),
    checkpoint=st.sampled_from([None, "sqrt", "log", 1, 2, 3, 50]),
    with_xs=st.booleans(),
    seed=st.integers(0, 99),
)
def test_random_scans(kinds, container, length, reverse, checkpoint, with_xs, seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((3, 2))
    xs = {"v": rng.standard_normal((length, 2)), "k": rng.integers(0, 5, length)}
    make, parts = CONTAINERS[container]

    def run(roll, **how):
        def f(w, v):
            sequences = {**xs, "v": v} if with_xs else None
            init = make([w[0] * 0.3, v[0] if length else data[1] * w[1], np.float32(0.5), 3, True])
            turn = body_of(kinds, CONTAINERS[container], w, data)
            count = None if with_xs else length
            carry, ys = roll(turn, init, sequences, count, reverse, **how)
            assert type(carry) is type(init)
            number, vector, single, _, _ = parts(carry)
            return number, np.sum(vector**2), np.sum(ys), single

        return f

    rolled, plain = run(scan, checkpoint=checkpoint), run(unrolled)
    w = rng.standard_normal(3)
    for a, b in zip(rolled(w, xs["v"]), plain(w, xs["v"]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6 if isinstance(b, np.float32) else 1e-12)
    for part in range(3):

        def of(f, part=part):
            return lambda w, v: f(w, v)[part] + 0.0 * w[0]

        same(fg.grad(of(rolled), (0, 1))(w, xs["v"]), fg.grad(of(plain), (0, 1))(w, xs["v"]), 1e-11)
    flow = (np.ones(3), np.ones_like(xs["v"]))
    args = ((w, xs["v"]), flow)
    same(fg.jvp(rolled, *args)[1][:3], fg.jvp(plain, *args)[1][:3], 1e-11)


@pytest.mark.parametrize("checkpoint", [None, "sqrt", "log", 2])
def test_single_precision_stays_single(checkpoint):
    xs = np.linspace(0.1, 1, 5, dtype=np.float32)

    def f(roll, **how):
        return lambda x: roll(lambda c, v: (np.tanh(c * v + v), c), x, xs, **how)[0]

    start = np.float32(0.7)
    ours = fg.grad(f(scan, checkpoint=checkpoint))(start)
    assert type(ours) is np.float32
    np.testing.assert_allclose(ours, fg.grad(f(unrolled))(start), rtol=1e-6)


def test_complex_carries():
    def f(roll):
        def loss(z):
            end, ys = roll(lambda c, v: (c * z + v, np.abs(c)), z, X)
            return np.abs(end) ** 2 + np.sum(ys)

        return loss

    z = 0.3 + 0.4j
    assert fg.grad(f(scan))(z) == pytest.approx(fg.grad(f(unrolled))(z), rel=1e-12)
    real = fg.grad(lambda x: f(scan)(x * (1 + 2j)))(0.2)
    assert real == pytest.approx(fg.grad(lambda x: f(unrolled)(x * (1 + 2j)))(0.2), rel=1e-12)


def test_a_python_number_becomes_what_it_is_carried_as():
    for checkpoint in (None, 2, "sqrt"):
        assert scan(lambda c, x: (c + x, c), 0, X, checkpoint=checkpoint)[0] == pytest.approx(0.7)
        slope = fg.grad(
            lambda a, k=checkpoint: scan(
                lambda c, x: (c + a * x, c), 0, X, None, False, checkpoint=k
            )[0]
        )
        assert slope(2.0) == pytest.approx(0.7)
    assert scan(lambda c, x: (c + x, None), 0, np.arange(4)) == (6, None)
    assert scan(lambda c, x: (c * np.ones(2), None), 1.0, X)[0].tolist() == [1, 1]


def test_final_states_of_a_compiled_loop_divide_as_numpy_does():
    def f(x):
        def step(p, _):
            return (0.9 * p[0] + np.sum(np.sin(x * p[0])), p[1] * 0.5), None

        high, low = scan(step, (1.0, 0.0), None, 30)[0]
        return high / low * x

    with np.errstate(divide="ignore"):
        assert fg.jit(f)(np.ones(3)).tolist() == [np.inf] * 3


# -- closures, nesting ---------------------------------------------------------------------------
def test_loops_capture_what_other_loops_computed():
    def f(roll, repeat):
        def loss(x):
            c, ys = roll(lambda c, v: (np.sin(c + v), c * v), 1.0, x)
            h = repeat(lambda s: s[0] < 5, lambda s: (s[0] * 1.5 + 1, s[1] * c), (c, c))[1]
            return c * np.sum(ys) + h

        return loss

    def repeat(test, body, value):
        while test(value):
            value = body(value)
        return value

    rolled, plain = f(scan, while_loop), f(unrolled, repeat)
    for transform in (
        fg.grad,
        fg.hessian,
        lambda f: fg.jacrev(fg.jacrev(f)),
        lambda f: fg.jacfwd(fg.jacfwd(f)),
    ):
        same(transform(rolled)(X), transform(plain)(X), 1e-11)


def test_scan_in_while_in_cond():
    def f(x, n):
        def inner(state):
            i, value = state
            total, _ = scan(lambda c, v: (c + np.sin(v * value), None), 0.0, x)
            return i + 1, total * 0.5

        return fg.cond(
            x[0] > 0,
            lambda v: while_loop(lambda s: s[0] < n, inner, (0, v))[1],
            lambda v: v * v,
            x[1],
        )

    def plain(x, n):
        if x[0] <= 0:
            return x[1] * x[1]
        value = x[1]
        for _ in range(n):
            value = 0.5 * sum(np.sin(v * value) for v in x)
        return value

    for at in (X, -X):
        for n in (0, 1, 3):
            assert f(at, n) == pytest.approx(plain(at, n), rel=1e-14)
            same(fg.grad(f)(at, n), fg.grad(plain)(at, n))
            same(fg.hessian(f)(at, n), fg.hessian(plain)(at, n))
    points, counts = np.stack([X, -X, 2 * X]), np.array([3, 1, 2])
    want = [fg.grad(plain)(x, n) for x, n in zip(points, counts.tolist(), strict=True)]
    same(fg.vmap(fg.grad(f))(points, counts), np.stack(want))


def test_derivatives_inside_a_loop():
    def newton(x, roll):
        g = fg.grad(lambda y: y**4 / 4 - x * y)
        return roll(lambda y, _: (y - g(y) / fg.grad(g)(y), y), 1.0, None, 8)[0]

    assert newton(8.0, scan) == pytest.approx(2.0)
    assert fg.grad(newton)(8.0, scan) == pytest.approx(1 / 12)
    assert fg.grad(fg.grad(newton))(8.0, scan) == pytest.approx(-1 / 144)
    batched = scan(lambda c, x: (c + np.sum(fg.vmap(np.sin)(x)), None), 0.0, np.ones((2, 3)))[0]
    assert batched == pytest.approx(6 * np.sin(1))


def test_stable_forms_hold_in_loops():
    slope = fg.grad(lambda x: scan(lambda c, v: (np.log(1 + np.exp(c + v)), None), 0.0, x)[0])
    np.testing.assert_allclose(slope(np.array([800.0, 1.0])), [1.0, 1.0])


# -- while_loop ----------------------------------------------------------------------------------
def grown(x):
    return while_loop(
        lambda s: s[0] < 20, lambda s: (s[0] * x + 1, s[1] + np.sin(s[0] * x)), (x, x)
    )[1]


def grown_in_python(x):
    a, b = x, x
    while a < 20:
        a, b = a * x + 1, b + np.sin(a * x)
    return b


@pytest.mark.parametrize("order", [1, 2, 3, marked_slow(4)])
def test_while_loops_to_fourth_order(order):
    modes = [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]]
    plain = grown_in_python
    for _ in range(order):
        plain = fg.grad(plain)
    points = np.array([1.2, 1.5, 3.0, 25.0])
    want = [plain(x) for x in points.tolist()]
    for route in range(2**order):
        f = grown
        for k in range(order):
            f = modes[route >> k & 1](f)
        np.testing.assert_allclose(f(1.5), want[1], rtol=1e-11)
        np.testing.assert_allclose(fg.vmap(f)(points), want, rtol=1e-11)
    if order > 1:
        return
    total = fg.grad(lambda x: np.sum(fg.vmap(grown)(x)))(points)
    np.testing.assert_allclose(total, want, rtol=1e-12)


def test_nothing_leaks_from_turns_that_did_not_happen():
    # Beyond its own stop, each example would divide by 0, and take roots and logarithms of negatives.
    def turn(i, a, x, n):
        return a / (n - i) * x + np.sqrt((n - i) * a) + np.log(n - i) * x * a

    def f(x, n):
        return while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, turn(*s, x, n)), (0, x))[1]

    def plain(x, n):
        a = x
        for i in range(n):
            a = turn(i, a, x, n)
        return a

    xs, ns = np.array([0.3, 0.4, 0.5, 0.6]), np.array([0, 1, 3, 5])
    pairs = list(zip(xs.tolist(), ns.tolist(), strict=True))
    values, slopes, bends = (
        [g(x, n) for x, n in pairs] for g in (plain, fg.grad(plain), fg.grad(fg.grad(plain)))
    )

    def total(x):
        return np.sum(fg.vmap(f)(x, ns))

    np.testing.assert_allclose(fg.vmap(f)(xs, ns), values, rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs, ns), slopes, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(f)))(xs, ns), bends, rtol=1e-12)
    np.testing.assert_allclose(fg.grad(total)(xs), slopes, rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(total, (xs,), (np.ones(4),))[1], sum(slopes), rtol=1e-12)
    for outer in (fg.jacfwd, fg.jacrev):
        for inner in (fg.jacfwd, fg.jacrev):
            np.testing.assert_allclose(outer(inner(total))(xs), np.diag(bends), rtol=1e-11)


def test_a_loop_that_does_not_turn():
    assert while_loop(lambda x: x < 0, lambda x: x * np.nan, 3.0) == 3.0
    assert fg.grad(lambda x: while_loop(lambda y: y < 0, lambda y: np.log(-y), x))(3.0) == 1.0
    assert (
        fg.hessian(lambda x: while_loop(lambda y: y < 0, lambda y: np.log(-y), x * x))(3.0) == 2.0
    )
    carry, ys = scan(lambda c, x: (c * x, c), 2.0, np.zeros(0))
    assert (carry, ys.shape) == (2.0, (0,))
    assert fg.grad(lambda a: scan(lambda c, x: (c * x, c), a, np.zeros(0))[0])(2.0) == 1.0
    assert fori_loop(5, 2, lambda i, v: v + 1, 7.0) == 7.0


def test_fori_loop():
    def f(x, n):
        return fori_loop(1, n, lambda i, v: v * x / i + np.sin(v), x)

    def plain(x, n):
        v = x
        for i in range(1, n):
            v = v * x / i + np.sin(v)
        return v

    for n in (0, 1, 2, 5):
        assert f(0.7, n) == pytest.approx(plain(0.7, n), rel=1e-14)
        assert fg.grad(f)(0.7, n) == pytest.approx(fg.grad(plain)(0.7, n), rel=1e-13)
    counts = np.array([0, 2, 5])
    np.testing.assert_allclose(
        fg.vmap(fg.grad(f), in_axes=(None, 0))(0.7, counts),
        [fg.grad(plain)(0.7, n) for n in counts.tolist()],
    )
    assert fori_loop(np.int32(0), np.array(3), lambda i, v: v + i, 0) == 3


# -- size, memory, sharing -----------------------------------------------------------------------
def test_one_body_however_long():
    def count(n):
        f = fg.trace(lambda x: scan(lambda c, _: (np.sin(c) * x, None), x, None, n)[0], 1.0)
        slope = fg.grad(lambda x: scan(lambda c, _: (np.sin(c) * x, None), x, None, n)[0]).expr(1.0)
        return len(subexpressions(f)), len(subexpressions(slope))

    assert count(10) == count(1000) == count(100_000)
    calls = []
    value = scan(lambda c, x: (calls.append(1) or c + x, None), 0.0, np.ones(100_000))[0]
    assert value == 100_000.0
    assert len(calls) <= 3


def peak(f, *args):
    f(*args)  # what is made once is not counted
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_checkpoints_take_a_fraction_of_the_memory(monkeypatch):
    # (Machine code, which one of the gradients may be by then, differs in the last units.)
    monkeypatch.setattr(deferred_code, "PASS_OPTIONS", PassOptions(frozenset({"native_loops"})))
    n, size = 400, 8000  # more than a pool of stacks holds

    def slope(checkpoint):
        def f(x):
            end, _ = scan(lambda c, _: (np.sin(c) * 1.01, None), x, None, n, checkpoint=checkpoint)
            return np.sum(end)

        return fg.grad(f)

    x = np.linspace(0, 1, size)
    whole, some = peak(slope(None), x), peak(slope("sqrt"), x)
    states = n * size * 8
    assert states < whole < 1.3 * states  # each state is kept once
    assert some < whole / 5
    np.testing.assert_array_equal(slope(None)(x), slope("sqrt")(x))
    assert peak(slope("log"), x) < some
    np.testing.assert_array_equal(slope(None)(x), slope("log")(x))


def test_results_share_no_memory():
    x = np.array([1.0, 2.0])

    def f(x):
        carry, ys = scan(lambda c, _: ((c[0] * 2, c[0] * 2, c[2]), c[0]), (x, x, x), length=1)
        return *carry, ys

    for results in (f(x), fg.vjp(f, x)[0]):
        arrays = [*results, x]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


# -- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: scan(lambda c, x: c + x, 0.0, X),
            TypeError,
            r"scan: expected f to return a pair \(carry, y\), but got Expr",
        ),
        (
            lambda: scan(lambda c, x: ((c, c), x), 0.0, X),
            TypeError,
            r"a carry of the structure that it had before, float64, but got \(float64, float64\)",
        ),
        (
            lambda: scan(lambda c, x: ({"b": c["a"] + x}, x), {"a": 0.0}, X),
            TypeError,
            "scan: expected a carry of the structure .* before, {'a': float64}, but got {'b': float64}",
        ),
        (
            lambda: scan(lambda c, x: (c if c > 0 else (c, x), x), 0.0, X),
            TypeError,
            r"one structure whichever way it branches, but got \(float64, float64\) and \(\(float64, ",
        ),
        (
            lambda: scan(lambda c, x: ([1.0, 2.0][c], x), 0, X),
            TypeError,
            r"an index: .* but 'carry' has none, .*; write np.array\(values\)\[i\]",
        ),
        (
            lambda: scan(lambda c, x: (c + np.zeros(3), x), np.zeros(()), X),
            TypeError,
            r"scan: .* was float64 and became float64\[3\]; .* as in np.zeros\(\(3,\), 'float64'\)",
        ),
        (
            lambda: scan(lambda c, x: (np.stack([c, c]), x), 0.0, X),
            TypeError,
            r"scan: .* was float64, became float64\[2\], and float64\[2, 2\] after that; return a",
        ),
        (
            lambda: scan(lambda c, x: (c + x, x), np.float32(0), X),
            TypeError,
            "scan: .* was float32 and became float64",
        ),
        (
            lambda: scan(lambda c, x: ({**c, "a": c["a"] + x}, x), {"a": np.float32(0)}, X),
            TypeError,
            "keeps its type, but a was float32",
        ),
        (
            lambda: scan(lambda c, x: (c + x[0], x), 0.0, (X, np.ones(2))),
            ValueError,
            "scan: expected one length of all xs, but got 2, 3",
        ),
        (
            lambda: scan(lambda c, x: (c, x), 0.0, X, 5),
            ValueError,
            "scan: expected one length of all xs, but got 3, 5",
        ),
        (
            lambda: scan(lambda c, x: (c, x), 0.0, [1.0, 2.0]),
            ValueError,
            r"scan: expected xs with a first axis .* scalar; .* write np.array\(xs\)",
        ),
        (
            lambda: scan(lambda c, x: (c, x), 0.0),
            ValueError,
            "scan: expected one length of all xs, but got none; give xs or length=",
        ),
        (
            lambda: scan(lambda c, x: (c, None), 0.0, length=-1),
            ValueError,
            "scan: expected length to be an int of 0 or more, but got -1",
        ),
        (
            lambda: scan(lambda c, x: (c, None), 0.0, length=2.5),
            ValueError,
            "scan: expected length to be an int of 0 or more, but got 2.5",
        ),
        (
            lambda: fg.grad(lambda n: scan(lambda c, x: (c, None), n, length=n)[0])(2.0),
            ValueError,
            "length to be an int of 0 or more, but got Expr; .* fori_loop",
        ),
        (
            lambda: scan(lambda c, x: (c, x), 0.0, X, checkpoint=0),
            ValueError,
            "scan: expected checkpoint to be None, 'sqrt', 'log' or a number of iterations, but got 0",
        ),
        (
            lambda: scan(lambda c, x: (c, x), 0.0, X, checkpoint="cbrt"),
            ValueError,
            "'log' or a number of iterations, but got 'cbrt'",
        ),
        (
            lambda: scan(lambda c, x: (c if c > 0 else X, x), 0.0, X),
            TypeError,
            r"one shape whichever way it branches, but got \(\) and \(3,\); return arrays of one shape",
        ),
        (
            lambda: while_loop(lambda c: c > 0, lambda c: c - 1, np.ones(2)),
            TypeError,
            r"while_loop: expected cond_fun to return one bool, but got bool\[2\]",
        ),
        (
            lambda: while_loop(lambda c: c, lambda c: c - 1, 3),
            TypeError,
            "cond_fun to return one bool, but got int64",
        ),
        (
            lambda: while_loop(lambda c: (c > 0, c > 1), lambda c: c - 1, 3),
            TypeError,
            r"cond_fun to return one bool, but got \(bool, bool\); write x > 0",
        ),
        (
            lambda: while_loop(lambda c: c > 0, lambda c: (c, c), 3),
            TypeError,
            "while_loop: expected a carry of the structure",
        ),
        (
            lambda: while_loop(lambda c: c > 0, lambda c: c.astype(int), np.float64(3)),
            TypeError,
            "while_loop: .* was float64 and became int64",
        ),
        (
            lambda: fori_loop(0, 3, lambda i, c: (c, c), 0.0),
            TypeError,
            "fori_loop: expected a carry of the structure",
        ),
        (
            lambda: fori_loop(0, 2.5, lambda i, c: c, 0.0),
            TypeError,
            r"fori_loop: expected integers as bounds, but got float64; write int\(n\)",
        ),
        (
            lambda: fg.grad(lambda n: fori_loop(0, n, lambda i, c: c * n, 1.0))(2.0),
            TypeError,
            "fori_loop: expected integers as bounds, but got float64",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("checkpoint", [None, "sqrt", "log", 3])
def test_checkpoints_of_a_fori_loop(checkpoint):
    def rolled(x):
        return fori_loop(2, 75, lambda i, v: np.sin(v * x) + v / i, x, checkpoint=checkpoint)

    def plain(x):
        v = x
        for i in range(2, 75):
            v = np.sin(v * x) + v / i
        return v

    np.testing.assert_allclose(fg.grad(rolled)(0.7), fg.grad(plain)(0.7), rtol=1e-12)


def test_a_checkpoint_needs_known_bounds():
    with pytest.raises(ValueError, match="fori_loop: expected bounds that are known"):
        fg.vmap(lambda n: fori_loop(0, n, lambda i, v: v + i, 0, checkpoint="sqrt"))(np.arange(3))


def counted(x, n=7):
    """A loop whose body depends on the number of the iteration, in an index and by itself."""

    def body(i, state):
        y, total = state
        return y * np.sin(total * i) + x[i % 3], total + np.sum(y)

    y, total = fg.fori_loop(2, n, body, (x, x[0]))
    return np.sum(y) * total


def test_long_loops_count_in_their_state(monkeypatch):
    x = np.array([0.3, -0.5, 0.7])
    rows = [
        lambda: counted(x),
        lambda: fg.grad(counted)(x),
        lambda: fg.hessian(counted)(x),
        lambda: fg.jvp(counted, (x,), (x * x,))[1],
        lambda: fg.vmap(fg.grad(counted))(np.stack([x, 2 * x])),
        lambda: fg.jit(fg.grad(counted))(x),
        lambda: fg.fori_loop(5, 2, lambda i, y: y + i, 1.0),
        lambda: fg.fori_loop(np.int32(1), np.int64(4), lambda i, y: y + i, 1),
        lambda: fg.fori_loop(0, 9, lambda i, y: y + i * x, x, checkpoint="sqrt"),
        lambda: fg.from_json(fg.to_json(fg.trace(counted, x))).key == fg.trace(counted, x).key,
    ]
    want = [row() for row in rows]
    monkeypatch.setattr(loops, "_COUNTED", 0)
    for row, wanted in zip(rows, want, strict=True):
        found = row()
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(found, wanted)


def test_a_loop_of_any_length_takes_no_memory_for_its_numbers():
    expr = fg.trace(lambda x: fg.fori_loop(0, 10**15, lambda i, y: y * i, x), 1.0)
    assert expr.shape == ()


class Counter:
    def __init__(self):
        self.counts = np.zeros(3)

    def step(self, c, x):
        self.counts[1] += 1.0
        return c * x, c


def in_a_list(counts):
    return lambda c, x: (counts[0].__setitem__(1, 5.0) or c * x, c)


COUNTER = Counter()


def by_a_global(c, x):
    COUNTER.counts[1] += 1.0
    return c * x, c


@pytest.mark.parametrize(
    "body",
    [Counter().step, in_a_list([np.zeros(3)]), partial(Counter.step, Counter()), by_a_global],
    ids=["a method", "a list", "a partial function", "a global instance"],
)
def test_a_store_of_a_constant_from_a_body_into_an_array_that_it_reaches(body):
    with pytest.raises(
        TypeError, match="scan: expected a function without effects, but it stores into"
    ):
        fg.grad(lambda x: fg.scan(body, x, np.ones(3))[0])(2.0)
    assert not COUNTER.counts.any()


# -- stacks of open loops inside other transforms --------------------------------------------------
def _open_loop(x, shift=0.0):
    return while_loop(
        lambda s: (s[1] < 3) & (np.sum(s[0] ** 2) > 1e-3),
        lambda s: (0.5 * np.sin(s[0]) * x + shift, s[1] + 1),
        (x, 0),
    )[0]


def test_a_gradient_of_a_while_loop_is_taken_in_each_iteration_of_a_scan():
    # Residual selection kept what the inner loop has stacked, whose length is another one in each iteration.
    def f(x):
        def body(carry, factor):
            slope = fg.grad(lambda y: np.sum(_open_loop(y, carry) * x))(x * carry)
            return slope * factor + carry, carry

        return np.sum(scan(body, x, np.array([0.2, 0.5, -1.0]))[0] * x)

    def written_out(x):
        carry = x
        for factor in (0.2, 0.5, -1.0):
            at = carry
            slope = fg.grad(lambda y, at=at: np.sum(_open_loop(y, at) * x))(x * carry)
            carry = slope * factor + carry
        return np.sum(carry * x)

    expected = fg.grad(written_out)(X)
    np.testing.assert_allclose(fg.grad(f)(X), expected)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(X), expected)
    np.testing.assert_allclose(fg.hessian(f)(X), fg.hessian(written_out)(X))


def _branching_after_a_loop(x):
    y = _open_loop(x)
    return np.sum((2 * y if np.sum(x) > 0 else _open_loop(3 * y)) * y)


@pytest.mark.parametrize("transform", [fg.grad, fg.hessian])
def test_examples_of_vmap_part_after_a_while_loop_that_is_differentiated(transform):
    slope = transform(_branching_after_a_loop)
    batch = np.stack([X, -2 * X, 0.2 * X + 0.1])

    def total(batch):
        return np.sum(np.sin(fg.vmap(slope)(batch)))

    def by_example(batch):
        return sum(np.sum(np.sin(slope(batch[k]))) for k in range(3))

    expected = fg.grad(by_example)(batch)
    np.testing.assert_allclose(fg.vmap(slope)(batch), np.stack([slope(x) for x in batch]))
    np.testing.assert_allclose(fg.grad(total)(batch), expected)
    source = fg.to_python(fg.grad(total).expr(batch))
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    np.testing.assert_allclose(namespace["f"](batch), expected)


@pytest.mark.filterwarnings("ignore:the output does not depend")
def test_a_loop_of_no_iterations_reads_nothing_that_it_captures():
    def by_fori(x):
        return fg.fori_loop(0, 0, lambda i, c: c + np.sqrt(x), 0.0)

    def by_scan(x):
        return fg.scan(lambda c, v: (c * np.log(x), np.sqrt(x) * v), 1.0, np.zeros(0))

    assert fg.grad(by_fori)(0.0) == 0.0
    assert fg.jit(fg.grad(by_fori))(0.0) == 0.0
    assert fg.grad(lambda x: by_scan(x)[0])(0.0) == 0.0
    assert fg.jacfwd(lambda x: by_scan(x)[1])(0.0).shape == (0,)


def test_examples_that_have_ended_read_nothing_out_of_bounds():
    def f(step, x):
        return while_loop(lambda s: s[0] < 6, lambda s: (s[0] + step, s[1] + x[s[0]]), (0, 0.0))[1]

    x, steps = np.arange(1.0, 7.0), np.array([1, 2, 3])
    expected = [f(step, x) for step in steps]
    np.testing.assert_array_equal(fg.vmap(f, (0, None))(steps, x), expected)
    np.testing.assert_array_equal(fg.jit(fg.vmap(f, (0, None)))(steps, x), expected)
    slope = fg.grad(lambda x: np.sum(fg.vmap(f, (0, None))(steps, x)))(x)
    np.testing.assert_array_equal(slope, [3.0, 1.0, 2.0, 2.0, 2.0, 1.0])


def test_a_counter_widens_a_carry_of_single_precision():
    y = np.ones(3, np.float32)
    with pytest.raises(
        TypeError, match=r"or return it as float32; .*: write i.astype\('float32'\)"
    ):
        fg.fori_loop(0, 3, lambda i, v: v + 0.5 * i, y)
    found = fg.fori_loop(0, 3, lambda i, v: v + np.float32(0.5) * i.astype("float32"), y)
    assert found.dtype == np.float32


def test_rows_of_an_outer_array_are_read_by_a_traced_index():
    rows, x = fnp.asarray(np.arange(6.0).reshape(3, 2)), np.ones(2)
    calls = [
        lambda: fg.fori_loop(0, 3, lambda i, v: v + rows[i], x),
        lambda: fg.scan(lambda v, i: (v + rows[i], ()), x, np.arange(3))[0],
        lambda: fg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + rows[s[0]]), (0, x))[
            1
        ],
        lambda: np.sum(fg.vmap(lambda i: rows[i])(np.arange(3)), axis=0) + x,
        lambda: fg.jit(lambda i: rows[i] + rows[i - 1] + rows[i - 2] + x)(2),
    ]
    for call in calls:
        np.testing.assert_array_equal(call(), [7.0, 10.0])
        np.testing.assert_array_equal(np.asarray(rows), np.arange(6.0).reshape(3, 2))
    rows[0] = 9.0
    np.testing.assert_array_equal(calls[0](), [16.0, 18.0])


def test_a_store_into_an_outer_array_that_a_traced_index_has_read_is_refused():
    rows = fnp.asarray(np.ones((3, 2)))

    def stored(i):
        row = rows[i]
        rows[1] = 5.0
        return row + 1

    for transform in (fg.vmap, fg.jit):
        with pytest.raises(TypeError, match=r"got one from outside of it, .* write b = a.copy\(\)"):
            transform(stored)(np.arange(2) if transform is fg.vmap else 1)
    rows[1] = 7.0
    np.testing.assert_array_equal(np.asarray(rows), [[1.0, 1.0], [7.0, 7.0], [1.0, 1.0]])


def test_rows_of_an_array_of_the_outer_function_by_its_index():
    def total(k):
        rows = fnp.zeros((3, 2))
        rows[1] = 4.0
        return fg.fori_loop(0, 2, lambda i, v: v + rows[k] + rows[i], np.zeros(2))

    np.testing.assert_array_equal(fg.jit(total)(1), [12.0, 12.0])
    np.testing.assert_array_equal(fg.jit(total)(0), [4.0, 4.0])


UPDATES = {
    "multiply": lambda v: v * 1.5,
    "divide": lambda v: v / 1.5,
    "power": lambda v: v**1.5,
    "min": lambda v: np.minimum(v, 1.5),
    "max": lambda v: np.maximum(v, 1.5),
    "apply": np.sin,
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("place", [lambda i: i, lambda i: (i, 1), lambda i: (slice(None), i)])
def test_updates_at_the_counter(name, place):
    x = np.arange(9.0).reshape(3, 3) + 0.2

    def looped(x):
        value = np.sin if name == "apply" else 1.5
        return fg.fori_loop(1, 3, lambda i, x: getattr(x.at[place(i)], name)(value), x)

    def plain(x):
        x = x.copy()
        for i in range(1, 3):
            x[place(i)] = UPDATES[name](x[place(i)])
        return x

    np.testing.assert_allclose(fg.jit(looped)(x), plain(x), rtol=1e-15)
    slope = fg.grad(lambda x: np.sum(looped(x) ** 2))(x)
    step = 1e-6 * np.cos(np.arange(9.0)).reshape(3, 3)
    moved = np.sum(plain(x + step) ** 2) - np.sum(plain(x - step) ** 2)
    assert 2 * np.sum(slope * step) == pytest.approx(moved, rel=1e-5)
    np.testing.assert_allclose(fg.vmap(looped)(x[None])[0], plain(x), rtol=1e-15)


def leaves_a_carry(x):
    kept = []

    def step(c, _):
        kept.append(2 * c)
        return c, c

    last, _ = fg.scan(step, x, np.zeros(2))
    return kept[0] * last


def leaves_a_branch(x):
    kept = []
    last = fg.cond(x > 0, lambda t: (kept.append(2 * t), t)[1], lambda t: t, x)
    return kept[0] * last


def leaves_a_cotangent(x):
    kept = []
    squared = fg.custom_vjp(lambda t: t * t)
    squared.defvjp(lambda t: (t * t, t), lambda t, g: (kept.append(g) or 2 * t * g,))
    return squared(x) * kept[0]


@pytest.mark.parametrize("f", [leaves_a_carry, leaves_a_branch, leaves_a_cotangent])
@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f)), fg.jacfwd])
def test_a_value_that_outlives_its_body_is_refused(f, transform):
    """The result was a formula of the value, in the place of a number."""
    with pytest.raises(TypeError, match=r"outlived the body that it belongs to.*return it from"):
        transform(f)(3.0)


@pytest.mark.parametrize(
    "transform",
    [
        fg.adopt,
        fg.grad,
        fg.jit,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: lambda x: fg.jvp(f, (x,), (x,)),
    ],
    ids=["adopt", "grad", "jit", "jit grad", "jvp"],
)
def test_a_body_that_stores_a_constant_into_an_outer_array_is_refused_at_each_level(transform):
    held = np.zeros(2)

    def scanned(total, _):
        total, held[0] = total + held[0] * total, 1.0
        return total, None

    def counted(_, total):
        return scanned(total, None)[0]

    for f in (
        lambda x: fg.scan(scanned, x, None, length=3)[0],
        lambda x: fg.fori_loop(0, 3, counted, x),
    ):
        with pytest.raises(TypeError, match="it stores into 'held', an array from outside of it"):
            transform(f)(2.0)
        np.testing.assert_array_equal(held, 0.0)


def test_a_refused_store_into_an_array_of_the_outer_function_is_undone():
    def f(x):
        held = np.zeros(2)
        held[0] = x

        def body(total, _):
            held[1] = 1.0
            return total * held[0], None

        with pytest.raises(TypeError, match="an array from outside of it"):
            fg.scan(body, x, None, length=3)
        return held[0] * (held[1] + 3.0)

    assert fg.grad(f)(2.0) == fg.jit(fg.grad(f))(2.0) == 3.0


def shifted(n, state):
    high, low, x = state
    return high << 1 | n & 1, low ^ (high >> n), x * (n << 2) + (~high >> 3)


@pytest.mark.parametrize("jit", [lambda f: f, fg.jit, partial(fg.jit, native=True)])
def test_the_bits_of_integers_shift_in_loops(jit):
    def expected(count, state):
        with np.errstate(over="ignore"):
            for n in np.arange(count):
                state = shifted(n, state)
        return state

    start = (np.int64(1), np.int64(5), np.float64(0.5))
    for count in (3, 63, 70):  # NumPy shifts by 64 and more, Python by any number
        rolled = jit(lambda x, count=count: fg.fori_loop(0, count, shifted, (1, 5, x)))
        assert rolled(0.5) == expected(count, start)
    assert jit(lambda n: fg.while_loop(lambda n: n > 3, lambda n: n >> 1, n))(1000) == 3
    bits = np.arange(5)
    found = jit(fg.vmap(lambda n, k: (n << k, n >> k, 1 << k)))(bits * 1000, bits)
    np.testing.assert_array_equal(found, (bits * 1000 << bits, bits * 1000 >> bits, 1 << bits))
    assert jit(fg.grad(lambda x: fg.fori_loop(0, 3, lambda n, y: y * (n << 1 | 1), x)))(1.0) == 15.0


def test_a_jitted_function_that_shifts_the_bits_of_arrays_is_traced_once():
    traces = []

    @fg.jit
    def f(n):
        traces.append(None)
        return n << 1

    assert [f(np.arange(3) + k).tolist() for k in range(3)] == [[0, 2, 4], [2, 4, 6], [4, 6, 8]]
    assert len(traces) == 1
