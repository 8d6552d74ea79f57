"""Loops over small arrays as machine code against the same loops by NumPy, iteration by iteration."""

import itertools
import math
import signal
import threading

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native import array_forms, deferred_code, native_loop, time_estimate
from funcgrad.compiler.native.array_program import form_of
from funcgrad.compiler.native.array_values import new_array
from funcgrad.compiler.native.deferred_code import DeferredCode, MachineCode
from funcgrad.compiler.native.llvm_writer import UnsupportedError
from funcgrad.compiler.native.loop_function import loop_function_text
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.native.native_program import NativeProgram
from funcgrad.compiler.python import loop_codegen
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec, reference_loop
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.numpy.dispatch import all_ops
from tests.default_slice import one_in
from tests.ops.samples import SAMPLES

HUGE = np.finfo(float).max
POINTS = [0.0, 0.1, 0.5, 1.0, 2.0, 2.5, 3.0, 1e-160, 1e-310, 5e-324, 709.5, 710.0, 745.2]
POINTS += [1e18, 2.0**62, 2.0**63, 1e19, 1e200, HUGE, math.inf]
POINTS += [-point for point in POINTS] + [math.nan]
LOW, HIGH = -(2**63), 2**63 - 1
INTEGERS = [0, 1, -1, 2, 3, -3, 7, 10**10, LOW + 1, LOW, HIGH]
PARTS = [0.0, -0.0, 1.0, -2.5, 0.5, 710.0, -1e300, 5e-324, math.inf, math.nan]
COMPLEX = [complex(re, im) for re in PARTS for im in PARTS]
VALUES = {
    "f": np.array(POINTS),
    "i": np.array(INTEGERS),
    "b": np.array([False, True]),
    "c": np.array(COMPLEX),
}

LIBM = 4
"""How far C's functions and NumPy's may be apart, in units in the last place."""


def near(got, want, ulps):
    """Of one type, and equal or so many units in the last place apart; zeros of one sign.

    Of complex numbers that overflow, NumPy's vector instructions give other parts than its loops.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if got.dtype.kind == "c":
        finite = np.isfinite(want)
        np.testing.assert_array_equal(np.isfinite(got), finite)
        for part in (np.real, np.imag):
            near(part(got[finite]), part(want[finite]), ulps)
        return
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    with np.errstate(all="ignore"):
        apart = np.abs(got - want) > ulps * np.spacing(np.maximum(np.abs(got), np.abs(want)))
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(
            want
        )
    wrong = ~same & (apart | (want == 0) | ~np.isfinite(want) | ~np.isfinite(got))
    assert not wrong.any(), (got[wrong], want[wrong])


def both(body, cond, spec, operands):
    """Final states and outputs of a loop as machine code, and by NumPy."""
    loop = NativeLoop(flat_of(body), None if cond is None else flat_of(cond), spec, at_once=True)
    run = loop.function()
    if run is None:
        return None
    length = 0 if cond is not None else spec.trip_count
    found = run(operands, length)
    assert found is not None
    with np.errstate(all="ignore"):
        want = reference_loop(operands, body, cond, spec)
    return [*found[0], *found[1]], [*want[0], *want[1]]


def together(outputs, inputs, operands):
    """Expressions in one iteration of a loop: as machine code and by NumPy."""
    body = body_of(inputs, outputs)
    return both(body, None, LoopSpec(0, len(inputs), 1), [np.asarray(x)[None] for x in operands])


def named(operands):
    """A variable for each operand."""
    return [
        symbol(f"i{k}", ArrayType(np.shape(x), np.asarray(x).dtype)) for k, x in enumerate(operands)
    ]


SIGN_OF_ZERO = ("fmax", "fmin")
"""Operations whose zeros have another sign in some of NumPy's own loops."""


REFLECTED = ("digamma", "gammaln")
"""Their errors left of 0 are those of the values at 1 - x (`test_inline_gamma`), and SciPy's gammaln of
subnormal numbers is infinite."""


@pytest.mark.parametrize(("arity", "kind"), one_in(2, itertools.product([1, 2], "fibc")))
def test_elementwise_operations_on_special_values(arity, kind):
    grids = [g.ravel() for g in np.meshgrid(*[VALUES[kind]] * arity, indexing="ij")]
    inputs = named([*grids, np.arange(grids[0].size) % 3 > 0])
    outputs = {}
    for name, op in all_ops().items():
        if not isinstance(op, Elementwise):
            continue
        given = [inputs[-1], *inputs[:-1]] if name in ("where", "mask") else inputs[:-1]
        try:
            built = op(*given) if len(given) == len(op.edges) else None
            if built is not None and (built.op is op or name == "positive"):
                flat = flatten_program([built], inputs)
                for step in flat.steps[len(inputs) :]:
                    form_of(flat, step)
                outputs[name] = built
        except (TypeError, UnsupportedError):
            continue
    assert len(outputs) > 4
    operands = [*grids, np.arange(grids[0].size) % 3 > 0]
    got, want = together(list(outputs.values()), inputs, operands)
    for name, one, other in zip(outputs, got, want, strict=True):
        exact = not all_ops()[name].columns.transcendental
        if name in SIGN_OF_ZERO:
            one, other = one + 0.0, other + 0.0
        if name in ("signbit", "copysign"):  # the sign of a NaN is not told
            kept = ~np.isnan(grids[0]) & ~np.isnan(grids[-1])
            one, other = one[:, kept], other[:, kept]
        if name in REFLECTED:
            beside_zero = np.isin(grids[0], (-0.5, -2.5))
            kept = ~(np.abs(grids[0]) < np.finfo(float).tiny) & ~beside_zero
            one, other = one[:, kept], other[:, kept]
        near(one, other, 0 if exact else LIBM)


CASTS = ["float64", "float32", "complex128", "complex64", "int64", "bool"]


@pytest.mark.parametrize("dtype", CASTS)
@pytest.mark.parametrize("source", CASTS)
def test_casts(dtype, source):
    kind = np.dtype(source).kind
    with np.errstate(all="ignore"):
        values = VALUES[kind].astype(source)
    cast = all_ops()["astype"]
    if source == dtype:
        return
    (x,) = named([values])
    got, want = together([cast(x, dtype=np.dtype(dtype))], [x], [values])
    near(got[0], want[0], 0)


OF_REALS = ("logsumexp", "cholesky", "cofactors")
"""Those that have no form for complex numbers."""

STRUCTURAL = [
    name
    for name in SAMPLES
    if all_ops()[name].columns.machine is not None
    and name not in ("loop", "branch", "call", "pick")
]


@pytest.mark.parametrize("name", one_in(3, STRUCTURAL))
def test_the_samples_of_a_structural_operation(name):
    inputs, operands, outputs = [], [], []
    for sample in SAMPLES[name]:
        given = [np.asarray(x) for x in sample.args]
        kinds = "fib" if name in OF_REALS else "fibc"
        if any([x.dtype.kind not in kinds or x.dtype.itemsize == 4 or not x.size for x in given]):
            continue
        if name == "cofactors" and np.any(np.linalg.cond(given[0]) > 1e4):  # NumPy's
            continue
        if name == "order_statistics" and given[0].shape[-1] > 100:  # NumPy sorts long rows
            continue
        variables = [
            symbol(f"i{len(inputs) + k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(given)
        ]
        inputs += variables
        operands += given
        built = all_ops()[name](*variables, **sample.params)
        outputs += [built] if built.size else []
    if not outputs:
        pytest.skip("no sample of a dtype of machine code")
    got, want = together(outputs, inputs, operands)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-300)
        assert one.dtype == other.dtype


# -- loops ---------------------------------------------------------------------------------------
@pytest.fixture
def native(monkeypatch):
    """Loops and programs become machine code as soon as they are compiled at all; those that did."""
    made = []
    compiled = DeferredCode._compile

    def counted(self):
        compiled(self)
        made.append(not self.reason)

    monkeypatch.setattr(DeferredCode, "_compile", counted)
    monkeypatch.setattr(deferred_code, "_COMPILE", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_STEP", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_NUMBER", 0.0)
    monkeypatch.setattr(loop_codegen, "_FEW", 0)
    loop_codegen.run_loop.cache_clear()
    yield made
    loop_codegen.run_loop.cache_clear()


def rk4(length):
    def slope(y):
        return np.roll(y, 1) * y - 0.1 * np.exp(-y * y)

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + 0.01 * k1)
        k3 = slope(y + 0.01 * k2)
        k4 = slope(y + 0.02 * k3)
        y = y + 0.02 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, np.sum(y * y)

    return lambda y: np.sum(fg.scan(step, y, None, length=length)[1])


def kalman(y):
    n = 3
    A = np.eye(n) + 0.1 * np.tri(n, k=-1)

    def step(state, z):
        m, P = state
        m, P = A @ m, A @ P @ A.T + y * np.eye(n)
        S = P[0, 0] + 0.5
        K = P[:, 0] / S
        r = z - m[0]
        return (m + K * r, P - K[:, None] * P[0]), np.log(S) + r * r / S

    zs = np.sin(np.arange(30.0))
    return np.sum(fg.scan(step, (np.zeros(n), np.eye(n)), zs)[1])


def bodies(x):
    def step(state, _):
        x, v = state
        d = x[:, None] - x[None, :]
        r = np.sqrt(np.sum(d * d, axis=-1) + 0.1)
        return (x + 0.01 * v, v - 0.01 * np.sum(d / r[:, :, None] ** 3, axis=1)), None

    return np.sum(fg.scan(step, (x, 0.1 * x), None, length=25)[0][0] ** 2)


def forward_algorithm(p):
    def step(a, k):
        return fg.numpy.max(a[:, None] + np.log(p), axis=0) + np.log(p[k, 0] + a * a), a[k]

    a, seen = fg.scan(step, np.linspace(0.1, 1.0, 4), np.arange(24) % 4 - 1)
    return np.sum(a) + np.sum(seen)


def stores(x):
    def step(t, y):
        return y.at[t].set(np.sin(y[t - 1]) + x[t]).at[0].add(0.5 * y[t])

    return np.sum(fg.fori_loop(1, 20, step, x * 0.5) ** 2)


def newton(a):
    def step(x):
        return x - (x * x - a) / (2 * x)

    return np.sum(fg.while_loop(lambda x: np.max(np.abs(x * x - a)) > 1e-12, step, a + 1.0))


def branches(x):
    def step(y, t):
        return fg.cond(t % 2 == 0, lambda y: y * x, lambda y: np.flip(y) + x, y), y

    y, ys = fg.scan(step, x, np.arange(24))
    return np.sum(y) + np.sum(np.tanh(ys))


_rng = np.random.default_rng(3)
PROGRAMS = {
    "rk4 3": (rk4(24), _rng.normal(size=3)),
    "rk4 30": (rk4(24), _rng.normal(size=30)),
    "rk4 300": (rk4(24), _rng.normal(size=300)),
    "kalman": (kalman, 0.3),
    "bodies": (bodies, _rng.normal(size=(5, 3))),
    "forward algorithm": (forward_algorithm, _rng.uniform(0.1, 1.0, (4, 4))),
    "stores": (stores, _rng.normal(size=20)),
    "newton": (newton, _rng.uniform(1.0, 4.0, 6)),
    "branches": (branches, _rng.uniform(0.5, 0.9, 5)),
}


def derivatives(f, x):
    """Values and derivatives of several kinds."""
    v = np.ones_like(x) / 3
    return [
        f(x),
        fg.grad(f)(x),
        fg.jvp(f, (x,), (v,))[1],
        fg.hvp(f, (x,), (v,)),
        fg.vmap(fg.grad(f))(np.stack([x, x * 1.1])),
        fg.jit(fg.grad(f))(x),
    ]


FEW = ("rk4 3", "kalman", "stores", "newton", "branches")


@pytest.mark.parametrize("name", one_in(2, FEW))
def test_the_gradient_of_a_program(name, native):
    f, x = PROGRAMS[name]
    found = fg.grad(f)(x)
    assert any(native)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NativeLoop, "function", lambda self: None)
        np.testing.assert_allclose(found, fg.grad(f)(x), rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_and_its_derivatives(name, native):
    f, x = PROGRAMS[name]
    found = derivatives(f, x)
    assert any(native)
    loop_codegen.run_loop.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NativeLoop, "function", lambda self: None)
        want = derivatives(f, x)
    for got, wanted in zip(found, want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


@pytest.fixture
def called(native, monkeypatch):
    """The results of programs that ran as one function of machine code."""
    found = []
    made = NativeProgram._called

    def noted(self, code):
        call = made(self, code)
        return lambda *values: found.append(call(*values)) or found[-1]

    monkeypatch.setattr(NativeProgram, "_called", noted)
    return found


def kepler(p):
    """The anomaly by Newton's iteration, on numbers."""
    e, m = p[0], p[1]
    return fg.while_loop(
        lambda x: abs(x - e * np.sin(x) - m) > 1e-13,
        lambda x: x - (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x)),
        m,
    )


def roots(x):
    """Newton's iteration in each iteration of a loop."""
    y, ys = fg.scan(lambda y, a: (kepler(np.stack([0.5 * y, a])), y), x[0], x[1:])
    return y + np.sum(ys)


def decay(x):
    """More iterations than there is room for at first."""
    return fg.while_loop(lambda y: np.sum(y) > 1e-3, lambda y: y * 0.99 * np.cos(0.01 * y), x).sum()


def arm(q):
    """Small matrices, no loop."""
    turned = np.eye(3)
    for k in range(4):
        c, s = np.cos(q[k]), np.sin(q[k])
        turned = turned @ np.array([[c, -s, 0.1 * k], [s, c, 0.2], [0.0, 0.0, 1.0]])
    return np.sum(turned[:2, 2] ** 2)


PROGRAMS |= {
    "kepler": (kepler, np.array([0.6, 0.8])),
    "roots": (roots, np.array([0.3, 0.8, 0.5, -0.4])),
    "decay": (decay, np.linspace(0.5, 1.0, 3)),
    "arm": (arm, np.array([0.3, -0.4, 0.5, 0.6])),
}


@pytest.mark.parametrize("name", one_in(2, ["rk4 3", "kalman", "kepler", "roots", "decay", "arm"]))
def test_a_whole_program(name, called):
    """A gradient with its loops as one function: the same values, and a new array each time."""
    own, x = PROGRAMS[name]

    def f(x):
        return 1.5 * own(x)  # a program that no other test has compiled

    gradient = fg.jit(fg.grad(f))
    found = [gradient(x) for _ in range(6)]
    assert called
    want = fg.grad(f)(x)
    for got in found:
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)
    assert len({id(got) for got in found}) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forward algorithm", "newton", "kepler", "roots", "decay", "arm"])
def test_derivatives_of_whole_programs(name, called):
    f, x = PROGRAMS[name]
    v = np.ones_like(x) / 3
    batch = np.stack([x, 0.9 * x, 1.1 * x])
    made = [
        (fg.jvp(f, (x,), (v,))[1], fg.jit(lambda x: fg.jvp(f, (x,), (v,))[1]), x),
        (fg.hvp(f, (x,), (v,)), fg.jit(lambda x: fg.hvp(f, (x,), (v,))), x),
        (fg.vmap(fg.grad(f))(batch), fg.jit(fg.vmap(fg.grad(f))), batch),
        (fg.vmap(f)(batch), fg.jit(fg.vmap(f)), batch),
        (fg.jacobian(fg.grad(f))(x), fg.jit(fg.jacobian(fg.grad(f))), x),
    ]
    for want, g, at in made:
        before = len(called)
        for _ in range(5):
            found = g(at)
        assert len(called) > before
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-11)


def test_no_iterations(called):
    x = np.array([1e-4, 2e-4])
    g = fg.jit(fg.value_and_grad(decay))
    for _ in range(5):
        value, slope = g(x)
    assert called
    assert value == pytest.approx(3e-4)
    np.testing.assert_array_equal(slope, np.ones(2))


def test_numbers_and_truths_come_back_as_python_numbers(called):
    def f(n, flag):
        total, odd = fg.fori_loop(
            0, 50, lambda i, s: (s[0] * 3 + n, np.logical_xor(s[1], s[0] % 2 == 1)), (n, flag)
        )
        return total - n, np.logical_not(odd)

    jitted = fg.jit(f)
    total, odd = 7, True
    for _ in range(50):
        total, odd = total * 3 + 7, odd != (total % 2 == 1)
    wrapped = (total - 7 + 2**63) % 2**64 - 2**63
    for _ in range(5):
        got = jitted(7, True)
        assert got == (wrapped, not odd)
        assert [type(v) for v in got] == [int, bool]
    assert called


def test_numbers_of_float32_keep_their_dtype(called):
    def f(x, n):
        return fg.fori_loop(0, 50, lambda i, s: s * np.float32(0.9) - np.float32(0.5), x), n + 1

    jitted = fg.jit(f)
    want = f(np.float32(-0.0), 2)
    for _ in range(5):
        got = jitted(np.float32(-0.0), 2)
        assert got == want
        assert [type(x) for x in got] == [np.float32, int]
    assert called


def test_a_loop_of_no_iterations_inside():
    def f(x, n):
        return fg.fori_loop(0, n, lambda _, s: s * 2.0, x) - 1.0

    assert fg.jit(f, native=True, static_argnums=1)(-0.0, 0) == -1.0
    with pytest.raises(TypeError, match="no form"):
        fg.jit(lambda x: fg.scan(lambda c, _: (c, c), x, length=0), native=True)(1.0)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_a_loop_with_empty_outputs(transform):
    def f(x):
        return fg.scan(lambda c, v: (c * 0.5 + 1.0, v * c), 1.0, x)

    carry, output = transform(f)(np.zeros((3, 0)))
    assert carry == 1.875
    assert output.shape == (3, 0)


def test_infinities_where_python_raises(called):
    f = fg.jit(lambda x, y: fg.scan(lambda s, _: (s * s, None), x, length=30)[0] / y)
    for _ in range(5):
        assert f(1.0, 0.0) == math.inf
        assert f(3.0, 1.0) == math.inf
        assert math.isnan(f(0.0, 0.0))
    assert called


def test_arrays_of_any_layout_run_through_loops(called):
    def f(x, items):
        return fg.scan(lambda s, t: (s * 0.5 + t * x, None), x, items)[0]

    jitted = fg.jit(fg.value_and_grad(f))
    base = np.linspace(-1.0, 1.0, 80)
    locked = base[:40].copy()
    locked.flags.writeable = False
    for items in (base[:40], base[::2], base[::-2], locked) * 2:
        s, slope = 0.7, 1.0
        for t in items.tolist():
            s, slope = s * 0.5 + t * 0.7, slope * 0.5 + t
        assert jitted(0.7, items) == pytest.approx((s, slope), rel=1e-13)
    assert called


def test_a_loop_in_a_program_that_takes_long_is_left_to_numpy(called):
    """So that it can be interrupted."""
    f = fg.jit(
        lambda x: fg.while_loop(lambda c: c[0] < 3e7, lambda c: (c[0] + 1.0, c[1] * x), (x, x))[1]
    )
    assert [f(1.0) for _ in range(4)] == [1.0] * 4


def test_short_programs_stay_in_numpy():
    """Until NumPy has run for about as long as compiling takes."""
    x = symbol("x", ArrayType((4,), np.dtype(float)))
    program = NativeProgram(flatten_program([fg.grad(arm)(x)], [x]))
    assert [program.function() for _ in range(30)] == [None] * 30
    assert program.is_possible


def test_an_index_out_of_bounds_in_a_whole_program(called):
    def f(x, i):
        y, ys = fg.scan(lambda y, k: (y * x, y), x, np.arange(30))
        return np.sum(y) + ys[i, 0]

    g = fg.jit(f)
    x = np.linspace(0.1, 1.0, 4)
    first = [g(x, 3) for _ in range(6)]
    assert len(set(first)) == 1
    with pytest.raises(IndexError, match="out of bounds"):
        g(x, 30)


def test_a_loop_around_an_operation_with_several_results(native):
    """A decomposition has no form in machine code, and a tuple of results but no program."""
    x = np.array([[2.0, 0.3], [0.3, 1.0]])

    def f(x):
        return fg.fori_loop(0, 25, lambda t, y: np.linalg.eigh(y + x)[1] * 0.5, x)

    first = x
    for _ in range(25):
        first = np.linalg.eigh(first + x)[1] * 0.5
    np.testing.assert_allclose(f(x), first, rtol=1e-12)


def test_nothing_is_contracted_or_reordered():
    """Products and sums have the bits that NumPy gives them."""
    rng = np.random.default_rng(0)
    x, y, z = [rng.normal(size=1000) for _ in range(3)]
    a, b, c = [symbol(name, ArrayType((1000,), np.dtype(float))) for name in "abc"]
    body = body_of([a, b, c], [a * b + c, (a + b) + c, a / b - c * a])
    got, want = both(body, None, LoopSpec(0, 3, 1), [x[None], y[None], z[None]])
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["sum", "norm", "logsumexp"])
def test_long_sums_of_float32_keep_their_digits(name):
    """NumPy adds in pairs; one entry after another, 20 000 of them would lose two digits."""
    values = np.full((2, 20_000), 0.1, np.float32)
    (x,) = named([values])
    doubled = x + x
    got, _ = together([all_ops()[name](np.sin(x) * 0.0 + doubled, axis=(1,))], [x], [values])
    wide = 2.0 * values.astype(float)
    want = {"sum": np.sum(wide, axis=1), "norm": np.sqrt(np.sum(wide**2, axis=1))}
    want["logsumexp"] = np.log(np.sum(np.exp(wide), axis=1))
    assert got[0].dtype == np.float32
    np.testing.assert_allclose(got[0][0], want[name], rtol=2e-7)


def test_truth_values_of_other_bytes_than_one():
    """A view of bytes as truth values may hold any byte: all but 0 are true."""
    values = np.array([2, 0, 255, 1, 128], np.uint8).view(bool)
    x, y = named([values, np.ones(5)])
    got, want = together([np.where(x, y, -y), np.logical_not(x)], [x, y], [values, np.ones(5)])
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_index_out_of_bounds_raises_numpys_error(native):
    x = np.arange(4.0)

    def f(i):
        return fg.scan(lambda y, k: (y + x[k + i], None), 0.0 * x[:2].sum(), np.arange(30))[0]

    with pytest.raises(IndexError, match="out of bounds"):
        fg.jit(f)(0)


def test_states_that_trade_places(native):
    def f(a, b):
        return fg.fori_loop(0, 25, lambda t, s: (s[1], np.flip(s[0])), (a, b))

    a, b = f(np.arange(3.0), np.arange(3.0) + 10)
    want = np.arange(3.0), np.arange(3.0) + 10
    for _ in range(25):
        want = want[1], np.flip(want[0])
    np.testing.assert_array_equal(a, want[0])
    np.testing.assert_array_equal(b, want[1])
    assert any(native)


def joined_and_stored(z, rest, t):
    """Of an array that is part of another, and changes."""
    return np.concatenate([z, rest]) + np.concatenate([rest, z.at[t].set(9.0)])


def joined_and_read(z, rest, t):
    """Of an array that is part of another, which changes."""
    whole = np.concatenate([z, rest])
    return whole.at[t].set(9.0) + np.concatenate([rest, z + np.flip(z)])


@pytest.mark.parametrize(
    "step",
    [
        lambda t, y: y.at[t].set(y[t - 1] + 1.0),
        lambda t, y: y.at[t].set(2.0) + np.flip(y),
        lambda t, y: y.at[t].set(np.sum(y)).at[t - 1].add(np.sum(y[::2])),
        lambda t, y: np.where(y > 3.0, y, y.at[t].set(7.0)) * 0.5,
        lambda t, y: y.at[1:].set(y[:-1]),
        lambda t, y: y.at[t].set(1.0).at[0].set(y[t]),
        lambda t, y: np.sqrt(np.abs(y)).at[t].add(y[0]),
        lambda t, y: y.at[t].set(0.0).at[t - 1].add(2.0 * y[t]),
        lambda t, y: y.at[t].add(y[t - 1]).at[t - 1].set(y[t] + y[0]),
        lambda t, y: y.at[t].set(0.0).at[(t + 5) % 24].add(y[t] - y[(t + 5) % 24]),
        lambda t, y: (lambda z: z + np.flip(z))(y.at[t].set(2.0)),
        lambda t, y: np.pad(y[2:-2], 2).at[0].add(1.0),
        lambda t, y: joined_and_stored(y[:12] * 2.0, y[12:], t % 12),
        lambda t, y: joined_and_read(np.sin(y[:12]), y[12:], t),
        lambda t, y: fg.const(np.zeros(24)).at[2:].set(y[2:]).at[0].set(y[t]).at[t].add(0.5),
    ],
)
def test_stores_beside_reads_of_the_same_array(step, native):
    """A store writes into the array itself only if nothing reads that later."""
    x = np.arange(24.0)

    def both(y, z):
        return fg.fori_loop(1, 24, lambda t, s: (step(t, s[0]), s[0] + s[1]), (y, z))

    y, z = both(x, x)
    assert any(native)
    want = x, x
    for t in range(1, 24):
        want = np.asarray(fg.evaluate(step(t, fg.const(want[0])))), want[0] + want[1]
    np.testing.assert_allclose(y, want[0], rtol=1e-14)
    np.testing.assert_allclose(z, want[1], rtol=1e-14)


def stored(base, to, part):
    """A function that stores a part of its argument into a constant array."""

    def store(a):
        out = base.copy()
        out[to] = a[part]
        return out

    return store


SHIFTED = [
    lambda a: np.roll(a, 1),
    lambda a: np.pad(a, 1)[:-2],
    lambda a: np.pad(a, 1)[2:] - np.pad(a, 1)[:-2],
    stored(np.zeros(12), slice(2, 7), slice(3, 8)),
    stored(np.ones(12), slice(1, None), slice(None, -1)),
    stored(np.arange(12.0), slice(None, 5), slice(7, None)),
    np.flip,
    np.cumsum,
]


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("shift", SHIFTED)
@pytest.mark.parametrize(
    "step",
    [
        lambda a, b, f: (0.5 * f(a), b + a),
        lambda a, b, f: (0.5 * a + f(b), f(a) - b),
        lambda a, b, f: (0.5 * a + 1.0, f(a) + np.sum(a)),
        lambda a, b, f: (b, 0.5 * f(a)),
        lambda a, b, f: (f(0.5 * a), a * b / (1 + b * b)),
        lambda a, b, f: (f(np.sin(a)) + np.cos(a), np.sin(a) - f(np.cos(b))),
        lambda a, b, f: (np.maximum(a, f(b)), np.minimum(f(a), b)),
    ],
)
def test_states_are_written_after_they_are_read(shift, step, kept, native):
    """A state's memory takes its next value where nothing reads the old one later."""
    a, b = np.linspace(-1.0, 1.0, 12), np.linspace(0.3, 2.0, 12)

    def body(s, _):
        new = step(*s, shift)
        return new, (new[0] + s[1], new[1]) if kept else None

    (x, y), outputs = fg.scan(body, (a, b), None, length=20)
    assert any(native)
    want = (a, b)
    for t in range(20):
        before = want
        want = step(*want, shift)
        if kept:
            np.testing.assert_allclose(outputs[0][t], want[0] + before[1], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(outputs[1][t], want[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x, want[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(y, want[1], rtol=1e-12, atol=1e-12)


def test_a_store_after_a_read_of_an_entry_copies_no_array(monkeypatch):
    """The gradient of a loop of stores reads an entry, which it also records, and writes there."""
    made = []
    monkeypatch.setattr(
        array_forms,
        "new_array",
        lambda w, shape, dtype: made.append(shape) or new_array(w, shape, dtype),
    )
    types = [ArrayType((9,), np.dtype(float)), ArrayType((), np.dtype(int))]
    x, t = symbol("x", types[0]), symbol("t", types[1])
    entry = x[t]
    flat = flatten_program([x.at[t].set(0.0).at[t - 1].add(2.0 * entry), entry], [x, t])
    loop_function_text(flat, None, LoopSpec(1, 1, 10))
    assert made == []


def test_operands_are_not_written(native):
    x = np.ones(5)
    y = fg.fori_loop(0, 30, lambda t, y: y * 2.0, x)
    np.testing.assert_array_equal(x, np.ones(5))
    y[0] = 0.0
    np.testing.assert_array_equal(x, np.ones(5))


def test_a_loop_is_compiled_when_it_has_run_for_long():
    x = symbol("x", ArrayType((3,), np.dtype(float)))
    loop = NativeLoop(flatten_program([x * x], [x]), None, LoopSpec(1, 0, 10))
    loop.ran(10)
    assert loop.function() is None
    loop.ran(10**6)
    assert loop.function() is not None


def test_a_loop_that_numpy_runs_faster_is_left_to_it(monkeypatch):
    monkeypatch.setattr(time_estimate, "_IN_VECTORS", 9.0)  # as without vector functions
    x = symbol("x", ArrayType((100_000,), np.dtype(float)))
    loop = NativeLoop(flatten_program([np.exp(x)], [x]), None, LoopSpec(1, 0, 10))
    loop.ran(10**9)
    assert loop.function() is None


def test_eight_threads(native):
    f = fg.jit(fg.grad(rk4(50)))
    x = np.linspace(0.1, 1.0, 5)
    want = f(x)
    found = [None] * 8

    def work(k):
        for _ in range(20):
            found[k] = f(x * 1.0)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got in found:
        np.testing.assert_array_equal(got, want)


def test_a_long_loop_can_be_interrupted(native):
    x = np.linspace(0.1, 1.0, 5)

    @fg.jit
    def f(x):  # for minutes
        return fg.while_loop(lambda c: c[0] < 10**9, lambda c: (c[0] + 1, np.cos(c[1]) * x), (0, x))

    def stop():
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(1.0, stop)
    # A process that was started in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(x)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_calls_that_take_longer_than_estimated_become_shorter(monkeypatch):
    spans = []
    run = MachineCode.__call__

    def slow(code, at, stop, length, *arrays):
        spans.append(stop - at)
        if len(spans) <= 3:
            clock[0] += 150_000_000
        return run(code, at, stop, length, *arrays)

    clock = [0]
    monkeypatch.setattr(MachineCode, "__call__", slow)
    monkeypatch.setattr(native_loop.time, "perf_counter_ns", lambda: clock[0])
    x = symbol("x", ArrayType((2,), np.dtype(float)))
    spec = LoopSpec(1, 0, 10**8)
    loop = NativeLoop(flat_of(body_of([x], [x + 1.0])), None, spec, at_once=True)
    (state,), _ = loop.function()([np.zeros(2)], 10**8)
    np.testing.assert_array_equal(state, [1e8, 1e8])
    first = spans[0]
    assert spans[:4] == [first, first // 2, first // 4, first // 8]
    assert spans[4:6] == [first // 8 * 2, first // 8 * 4]
