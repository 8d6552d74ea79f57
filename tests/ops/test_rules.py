"""Every rule, for every argument: against differences, by the dot test, to second order."""

import dataclasses
import itertools
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import ops
from funcgrad.expr import operation_table
from funcgrad.linear import Structural
from funcgrad.ops.base.op import Op
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.ops.special.special_stand_ins import SPECIAL_FAMILIES
from tests.default_slice import one_in
from tests.operation_readers import WITH_PARAMS, programs
from tests.ops.samples import SAMPLES, call

OPS = all_ops()
STEP = 1e-4

CASES = [
    pytest.param(OPS[name], sample, i, id=f"{name}-{k}-{i}")
    for name, samples in SAMPLES.items()
    for k, sample in enumerate(samples)
    for i, arg in enumerate(sample.args)
    if np.asarray(arg).dtype.kind in "fc" and OPS[name].edge(i) is not None
]


def test_every_operation_has_samples():
    # An `example` of a batch stands for any of them, and has no value; tuples and decompositions are tested
    # elsewhere, and so is the derivative of `stop_gradient_unless`, which is not its value's.
    elsewhere = {*programs(), "example", "stop_gradient_unless", "pick", "together"}
    missing = OPS.keys() - SAMPLES.keys() - elsewhere
    assert not missing, (
        "add samples to tests/ops/samples.py; of an operation whose operands belong together, as the results "
        "of a decomposition do, a program to tests/operation_readers.py, and tests of its own"
    )
    assert SAMPLES.keys() <= OPS.keys()


COMPILERS_OWN = {"lu_factors", "solve_by_factors", "sorted", "substitute"}
"""Operations that stand in compiled programs alone, which no file holds."""


@pytest.mark.parametrize("module", [m.name for m in walk_packages(ops.__path__, "funcgrad.ops.")])
def test_every_operation_of_a_module_is_found_by_its_name(module):
    own = {op.name: op for op in vars(import_module(module)).values() if isinstance(op, Op)}
    unknown = {name for name, op in own.items() if operation_table.ops.get(name) is not op}
    assert unknown <= COMPILERS_OWN, (
        "add the module to FURTHER of ops/numpy/dispatch.py, or to SPECIAL_FAMILIES of "
        "ops/special/special_stand_ins.py"
    )


ALL = all_ops(*SPECIAL_FAMILIES)


@pytest.mark.parametrize("name", [name for name, op in ALL.items() if op.real])
def test_operations_of_real_numbers_refuse_complex_ones_by_their_name(name):
    op, (_, params) = ALL[name], SAMPLES.get(name, [((), WITH_PARAMS.get(name, ((), {}))[1])])[0]
    count = len(op.edges)
    z = fg.var("z", (2,), complex)
    for k in range(count):
        operands = [z if i == k else fg.var(f"x{i}", (2,)) for i in range(count)]
        with pytest.raises(TypeError, match=f"^{name}: expected real numbers, but got complex128"):
            op(*operands, **params)
    if not isinstance(op.run, np.ufunc):
        with pytest.raises(TypeError, match=f"^{name}: expected real numbers, but got complex64"):
            op(*[np.complex64(0.3 + 0.4j)] * count, **params)


def edgeless():
    """Floating-point operands without an edge whose operation gives floating-point results."""
    for name, samples in SAMPLES.items():
        for k, sample in enumerate(samples):
            value = np.asarray(OPS[name].run(*sample.args, **sample.params))
            for i, arg in enumerate(sample.args):
                kinds = np.asarray(arg).dtype.kind + value.dtype.kind
                if set(kinds) <= set("fc") and OPS[name].edge(i) is None:
                    yield pytest.param(OPS[name], sample, i, id=f"{name}-{k}-{i}")


EDGELESS = list(edgeless())


def test_what_has_no_edge_is_listed():
    """Steps, the one that is asked to stop, and a check of matrices."""
    found = {(case.values[0].name, case.values[2]) for case in EDGELESS}
    steps = ("sign", "absolute_slope", "floor", "ceil", "trunc", "rint")
    assert found == {
        *[(name, 0) for name in (*steps, "floor_divide", "stop_gradient", "detsign")],
        *[(name, 1) for name in ("floor_divide", "copysign")],
        *[("null_space_shift", place) for place in (0, 1)],
    }


@pytest.mark.parametrize(("op", "sample", "i"), EDGELESS)
def test_what_has_no_edge_is_flat(op, sample, i):
    if op.name == "stop_gradient":
        f, x = vary(call(op, sample.params), sample.args, i), sample.args[i]
        np.testing.assert_array_equal(fg.jvp(f, (x,), (np.ones_like(x),))[1], np.zeros(np.shape(x)))
        return
    x = sample.args[i]
    slope = difference(vary(numeric(op, sample), sample.args, i), x, direction(x, 1))
    np.testing.assert_array_equal(slope, np.zeros_like(slope))


def direction(x, seed):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        v = v + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(v, np.asarray(x).dtype)


def vary(f, args, i):
    def only(x):
        return f(*args[:i], x, *args[i + 1 :])

    return only


def difference(f, x, v):
    """A central difference of fourth order."""
    near = (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)
    far = (f(x + 2 * STEP * v) - f(x - 2 * STEP * v)) / (4 * STEP)
    return (4 * near - far) / 3


def numeric(op, sample):
    def run(*args):
        with np.errstate(all="ignore"):
            return np.asarray(op.run(*args, **sample.params))

    return run


def narrow(dtype):
    return np.dtype(dtype).itemsize <= (8 if np.dtype(dtype).kind == "c" else 4)


@pytest.mark.parametrize(("op", "sample", "i"), CASES)
def test_pushforward_is_the_finite_difference(op, sample, i):
    check_pushforward(op, sample, i)


def check_pushforward(op, sample, i):
    x, v = sample.args[i], direction(sample.args[i], 1)
    f = vary(call(op, sample.params), sample.args, i)
    value, slope = fg.jvp(f, (x,), (v,))
    plain = vary(numeric(op, sample), sample.args, i)
    np.testing.assert_allclose(value, plain(x), rtol=1e-12)
    assert np.shape(slope) == np.shape(value)
    if narrow(np.asarray(value).dtype):
        np.testing.assert_allclose(slope, v, rtol=1e-6)  # astype: the one that narrows
    else:
        np.testing.assert_allclose(slope, difference(plain, x, v), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("op", "sample", "i"), one_in(3, CASES))
def test_pullback_is_the_transpose_of_pushforward(op, sample, i):
    check_pullback(op, sample, i)


def check_pullback(op, sample, i):
    x, v = sample.args[i], direction(sample.args[i], 2)
    f = vary(call(op, sample.params), sample.args, i)
    value, slope = fg.jvp(f, (x,), (v,))
    w = direction(value, 3)
    _, pullback = fg.vjp(f, x)
    (pulled,) = pullback(w)
    assert np.shape(pulled) == np.shape(x)
    assert np.asarray(pulled).dtype == np.asarray(x).dtype
    # The transpose is without conjugation, and real operands see the real part.
    left, right = np.sum(w * slope), np.sum(pulled * v)
    rtol = 1e-5 if narrow(np.asarray(value).dtype) else 1e-10
    np.testing.assert_allclose(np.real(left), np.real(right), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize(("op", "sample", "i"), one_in(3, CASES, start=1))
def test_numeric_edges_agree_with_symbolic_ones(op, sample, i):
    """The same rule on arrays as on expressions."""
    args = [np.asarray(a)[()] for a in sample.args]
    with np.errstate(all="ignore"):
        z = op.run(*args, **sample.params)
        edge = op.edge(i)(z, *args, **sample.params)
        v, w = direction(args[i], 4), direction(z, 5)
        pushed, pulled = edge.apply(v[()]), edge.transpose(w[()])
    if args[i].dtype.kind != "c":
        pulled = np.real(pulled)  # a sum of cotangents takes the real part for a real operand
    f = vary(call(op, sample.params), args, i)
    rtol = 1e-6 if narrow(np.asarray(z).dtype) else 1e-12
    np.testing.assert_allclose(pushed, fg.jvp(f, (args[i],), (v,))[1], rtol=rtol)
    np.testing.assert_allclose(pulled, fg.vjp(f, args[i])[1](w)[0], rtol=rtol, atol=1e-14)


NARROWED = [p for p in CASES if p.values[0].name != "astype"]


@pytest.mark.parametrize(("op", "sample", "i"), one_in(3, NARROWED, start=2))
def test_single_precision_stays_single(op, sample, i):
    args = [_narrowed(a) for a in sample.args]
    wide = [np.asarray(a, np.result_type(a, float)) if _floats(a) else a for a in args]
    f, wider = (vary(call(op, sample.params), xs, i) for xs in (args, wide))
    v = direction(args[i], 1)
    value, slope = fg.jvp(f, (args[i],), (v,))
    w = direction(value, 2)
    (pulled,) = fg.vjp(f, args[i])[1](w)
    for result in (value, slope, pulled):
        assert narrow(np.asarray(result).dtype)
    assert np.asarray(pulled).dtype == np.asarray(args[i]).dtype
    expected = fg.jvp(wider, (wide[i],), (np.asarray(v, wide[i].dtype),))[1]
    scale = np.nanmax(np.abs(expected), initial=1e-3)
    np.testing.assert_allclose(slope, expected, rtol=2e-4, atol=2e-5 * scale)


def _floats(a):
    return np.asarray(a).dtype.kind in "fc"


def _narrowed(a):
    if not _floats(a):
        return a
    return np.asarray(a, np.complex64 if np.asarray(a).dtype.kind == "c" else np.float32)


# A conversion to single precision is linear, and a difference of it too coarse.
SECOND = [p for p in CASES if p.values[1].params.get("dtype") not in ("float32", "complex64")]
SECOND = [p for p in SECOND if np.asarray(p.values[1].args[p.values[2]]).dtype.kind == "f"]


@pytest.mark.parametrize(("op", "sample", "i"), one_in(3, SECOND))
def test_second_order_by_two_routes(op, sample, i):
    x, v = np.asarray(sample.args[i]), direction(sample.args[i], 5)
    f = vary(call(op, sample.params), sample.args, i)
    w = direction(f(x), 6)

    def weighed(x):
        return np.real(np.sum(f(x) * w))

    def slope(x):
        return np.real(np.sum(fg.jvp(f, (x,), (v,))[1] * w))

    _, forward_over_reverse = fg.jvp(fg.grad(weighed), (x,), (v,))
    reverse_over_forward = fg.grad(slope)(x)
    np.testing.assert_allclose(forward_over_reverse, reverse_over_forward, rtol=1e-9, atol=1e-10)
    expected = difference(lambda x: np.asarray(fg.grad(weighed)(x)), x, v)
    np.testing.assert_allclose(forward_over_reverse, expected, rtol=2e-6, atol=1e-7)


def wrong(op, i, apply=1.001, transpose=1.001):
    """``op`` with the rule of an argument off by 0.1 %."""

    def edge(*inputs, **params):
        right = op.edge(i)(*inputs, **params)
        return Structural(
            lambda v: right.apply(v) * apply, lambda g: right.transpose(g) * transpose
        )

    def edges(index):
        return edge if index == i else op.edge(index)

    return dataclasses.replace(op, name=f"wrong_{op.name}", edges=edges, joint=None)


def steep(op, sample, i):
    """Whether there is something to be wrong about: a derivative, and not zero everywhere."""
    x = sample.args[i]
    slope = difference(vary(numeric(op, sample), sample.args, i), x, direction(x, 1))
    return bool(np.any(slope != 0) and np.all(np.isfinite(slope)))


STEEP = [case for case in NARROWED if steep(*case.values)]


def test_nearly_every_rule_can_be_wrong():
    """Left out are rules that are 0 by the choice of sample, and of the logarithm of what is negative."""
    tame = {case.id for case in NARROWED if np.size(case.values[1].args[case.values[2]])}
    tame -= {case.id for case in STEEP}
    assert tame == {
        *["broadcast_to-2-0", "where-1-2", "imag-0-0", "imag-1-0", "power-3-1"],
        *[f"{name}-{k}-0" for name in ("maximum", "fmax") for k in (1, 4)],
        *[f"{name}-{k}-1" for name in ("minimum", "fmin") for k in (1, 4)],
    }


@pytest.mark.parametrize(("op", "sample", "i"), one_in(3, STEEP))
def test_a_rule_off_by_a_thousandth_is_caught(op, sample, i):
    check_pushforward(op, sample, i)
    check_pullback(op, sample, i)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_pushforward(wrong(op, i), sample, i)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_pullback(wrong(op, i, apply=1.0), sample, i)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_pullback(wrong(op, i, transpose=1.0), sample, i)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_check_grads_catches_a_wrong_rule_in_either_mode(modes):
    fg.check_grads(OPS["sin"], (0.5,), modes=modes)
    with pytest.raises(AssertionError, match="by finite differences"):
        fg.check_grads(wrong(OPS["sin"], 0), (0.5,), order=1, modes=modes)


# Operations of one operand, the points to look at, and what mpmath calls them where it does otherwise.
LINE, RIGHT, INSIDE = (
    (-1.7, -0.4, 0.05, 0.82, 2.5),
    (0.05, 0.37, 1.0, 4.2),
    (-0.9, -0.37, 0.05, 0.6),
)
MP = {
    **dict.fromkeys(
        ["exp", "exp2", "expm1", "sin", "cos", "arctan", "sinh", "cosh", "tanh", "arcsinh"], LINE
    ),
    **dict.fromkeys(
        ["square", "sech_squared", "sigmoid", "softplus", "sinc", "deg2rad", "rad2deg"], LINE
    ),
    **dict.fromkeys(
        ["log", "log2", "log10", "log1p", "sqrt", "cbrt", "reciprocal", "xlogx"], RIGHT
    ),
    **dict.fromkeys(["tan", "arcsin", "arccos", "arctanh"], INSIDE),
    "arccosh": (1.05, 1.7, 4.2),
}
RENAMED = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
RENAMED |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}


def _mpmath(name):
    mp = pytest.importorskip("mpmath")
    own = {
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x) / mp.log(2),
        "log10": lambda x: mp.log(x) / mp.log(10),
        "log1p": lambda x: mp.log(1 + x),
        "expm1": lambda x: mp.exp(x) - 1,
        "reciprocal": lambda x: 1 / x,
        "square": lambda x: x * x,
        "sech_squared": lambda x: mp.sech(x) ** 2,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log(1 + mp.exp(x)),
        "xlogx": lambda x: x * mp.log(x),
        "sinc": lambda x: mp.sincpi(x),
        "deg2rad": lambda x: x * mp.pi / 180,
        "rad2deg": lambda x: x * 180 / mp.pi,
        "power": lambda x, y: x**y,
        "divide": lambda x, y: x / y,
        "arctan2": lambda x, y: mp.atan2(x, y),
        "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
        "logaddexp2": lambda x, y: mp.log(2**x + 2**y) / mp.log(2),
    }
    return own.get(name) or getattr(mp, RENAMED.get(name, name))


@pytest.mark.parametrize(
    ("name", "x"), one_in(3, [(name, x) for name, points in MP.items() for x in points])
)
def test_first_three_derivatives_against_mpmath(name, x):
    mp = pytest.importorskip("mpmath")
    f = np.sinc if name == "sinc" else OPS[name]
    for order in (1, 2, 3):
        f = fg.grad(f)
        with mp.workdps(60):
            expected = float(mp.diff(_mpmath(name), mp.mpf(x), order))
        np.testing.assert_allclose(f(x), expected, rtol=1e-11, atol=1e-12)


PAIRS = [(0.7, 1.3), (1.9, -0.4), (2.2, 2.2)]
NAMES = ["divide", "power", "arctan2", "hypot", "logaddexp", "logaddexp2"]


@pytest.mark.parametrize(("name", "at"), list(itertools.product(NAMES, PAIRS)))
@pytest.mark.parametrize("orders", [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
def test_partial_derivatives_against_mpmath(name, at, orders):
    mp = pytest.importorskip("mpmath")
    f = OPS[name]
    for place in (0,) * orders[0] + (1,) * orders[1]:
        f = fg.grad(f, argnums=place)
    with mp.workdps(60):
        expected = float(mp.diff(_mpmath(name), tuple(map(mp.mpf, at)), orders))
    np.testing.assert_allclose(f(*at), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        *itertools.product(["sigmoid", "softplus", "tanh"], [-600.0, -40.0, -6.0, 6.0]),
        *itertools.product(["sigmoid", "softplus"], [40.0, 600.0]),
        *itertools.product(["log", "log1p", "sqrt", "cbrt", "xlogx"], [1e-300, 1e-12, 1e12, 1e300]),
        *itertools.product(["arctan", "arcsinh"], [-1e12, 1e-12, 1e8]),
        ("expm1", 1e-15),
        ("exp", -700.0),
    ],
)
def test_the_derivative_far_out_against_mpmath(name, x):
    """Nothing overflows on the way, and what is small is small to the last digits."""
    mp = pytest.importorskip("mpmath")
    exact = {
        "sigmoid": lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2,
        "softplus": lambda x: 1 / (1 + mp.exp(-x)),
        "tanh": lambda x: 1 / mp.cosh(x) ** 2,
        "log": lambda x: 1 / x,
        "log1p": lambda x: 1 / (1 + x),
        "sqrt": lambda x: 1 / (2 * mp.sqrt(x)),
        "cbrt": lambda x: 1 / (3 * mp.cbrt(x) ** 2),
        "xlogx": lambda x: mp.log(x) + 1,
        "arctan": lambda x: 1 / (1 + x**2),
        "arcsinh": lambda x: 1 / mp.sqrt(1 + x**2),
        "expm1": mp.exp,
        "exp": mp.exp,
    }
    with mp.workdps(60):
        expected = float(exact[name](mp.mpf(x)))
    np.testing.assert_allclose(fg.grad(OPS[name])(x), expected, rtol=1e-11, atol=1e-15)


FRESH = [name for name in SAMPLES if OPS[name].columns.fresh]


@pytest.mark.parametrize("name", FRESH)
def test_a_fresh_result_shares_memory_with_no_operand(name):
    """A jitted function returns it without a copy."""
    for sample in SAMPLES[name]:
        args = [np.asarray(arg) for arg in sample.args]
        with np.errstate(all="ignore"):
            found = OPS[name].run(*args, **sample.params)
        assert not any(np.shares_memory(found, arg) for arg in args)
