"""Every rule, for every argument: against differences, by the dot test, to second order."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.linear import Diagonal
from funcgrad.ops.dispatch import all_ops
from funcgrad.ops.op import Op, elementwise
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
    assert SAMPLES.keys() == OPS.keys()


def test_edges_are_missing_only_where_nothing_is_differentiable():
    smooth = {name for name, samples in SAMPLES.items() for s in samples if _smooth(OPS[name], s)}
    missing = {name for name in smooth if all(OPS[name].edge(i) is None for i in range(1))}
    flat = [
        "sign",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "stop_gradient",
        "floor_divide",
        "where",
        "mask",
    ]
    assert missing == set(flat)


def _smooth(op, sample):
    value = np.asarray(op.run(*sample.args, **sample.params))
    return value.dtype.kind in "fc" and np.asarray(sample.args[-1]).dtype.kind in "fc"


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


@pytest.mark.parametrize(("op", "sample", "i"), CASES)
def test_pushforward_is_the_finite_difference(op, sample, i):
    x, v = sample.args[i], direction(sample.args[i], 1)
    f = vary(call(op, sample.params), sample.args, i)
    value, slope = fg.jvp(f, (x,), (v,))
    plain = vary(numeric(op, sample), sample.args, i)
    np.testing.assert_allclose(value, plain(x), rtol=1e-12)
    tolerance = 2e-3 if np.asarray(value).dtype == np.float32 else 1e-8
    if np.asarray(value).dtype == np.float32:
        np.testing.assert_allclose(slope, v, rtol=1e-6)  # astype: the one that narrows
    else:
        np.testing.assert_allclose(slope, difference(plain, x, v), rtol=tolerance, atol=1e-9)


@pytest.mark.parametrize(("op", "sample", "i"), CASES)
def test_pullback_is_the_transpose_of_pushforward(op, sample, i):
    x, v = sample.args[i], direction(sample.args[i], 2)
    f = vary(call(op, sample.params), sample.args, i)
    value, slope = fg.jvp(f, (x,), (v,))
    w = direction(value, 3)
    _, pullback = fg.vjp(f, x)
    (pulled,) = pullback(w)
    assert np.shape(pulled) == np.shape(x)
    assert np.asarray(pulled).dtype == np.asarray(x).dtype
    rtol = 1e-5 if np.asarray(value).dtype == np.float32 else 1e-10
    # The transpose is without conjugation, and real operands see the real part.
    left, right = np.sum(w * slope), np.sum(pulled * v)
    np.testing.assert_allclose(np.real(left), np.real(right), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize(("op", "sample", "i"), CASES)
def test_numeric_edges_agree_with_symbolic_ones(op, sample, i):
    """The same rule on arrays as on expressions."""
    args = [np.asarray(a)[()] for a in sample.args]
    with np.errstate(all="ignore"):
        z = op.run(*args, **sample.params)
        edge = op.edge(i)(z, *args, **sample.params)
        v = direction(args[i], 4)
        pushed = edge.apply(v[()])
    slope = fg.jvp(vary(call(op, sample.params), args, i), (args[i],), (v,))[1]
    np.testing.assert_allclose(pushed, slope, rtol=1e-6 if z.dtype == np.float32 else 1e-12)


SECOND = [p for p in CASES if np.asarray(p.values[1].args[p.values[2]]).dtype.kind == "f"]


@pytest.mark.parametrize(("op", "sample", "i"), SECOND)
def test_second_order_by_two_routes(op, sample, i):
    x, v = np.asarray(sample.args[i]), direction(sample.args[i], 5)
    f = vary(call(op, sample.params), sample.args, i)
    w = direction(f(x), 6)
    if w.dtype == np.float32:
        pytest.skip("a conversion to float32 is linear, and its difference too coarse")

    def weighed(x):
        return np.real(np.sum(f(x) * w))

    def slope(x):
        return np.real(np.sum(fg.jvp(f, (x,), (v,))[1] * w))

    _, forward_over_reverse = fg.jvp(fg.grad(weighed), (x,), (v,))
    reverse_over_forward = fg.grad(slope)(x)
    np.testing.assert_allclose(forward_over_reverse, reverse_over_forward, rtol=1e-9, atol=1e-10)
    expected = difference(lambda x: np.asarray(fg.grad(weighed)(x)), x, v)
    np.testing.assert_allclose(forward_over_reverse, expected, rtol=2e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:the output does not depend")
@pytest.mark.parametrize("name", ["sin", "multiply", "exp", "tanh"])
def test_a_wrong_rule_is_caught(name):
    """A rule that is off by 0.1 % fails the checker."""
    op = OPS[name]

    def wrong_edge(i):
        def edge(z, *inputs):
            right = op.edge(i)(z, *inputs)
            assert isinstance(right, Diagonal)
            return Diagonal(right.d * 1.001)

        return edge

    count = 2 if name == "multiply" else 1
    wrong = Op(
        name=f"wrong_{name}",
        run=op.run,
        infer=op.infer,
        edges=tuple(wrong_edge(i) for i in range(count)),
        elementwise=True,
    )
    args = tuple(np.array([0.3, 0.8]) for _ in range(count))
    fg.check_grads(lambda *a: op(*a), args)
    with pytest.raises(AssertionError, match="by finite differences"):
        fg.check_grads(lambda *a: wrong(*a), args, order=1)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_a_wrong_rule_is_caught_in_either_mode(modes):
    wrong = elementwise("wrong_sin", np.sin, lambda z, x: 1.001 * np.cos(x))
    with pytest.raises(AssertionError, match="by finite differences"):
        fg.check_grads(wrong, (0.5,), order=1, modes=modes)


MP = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
]
MP += ["tanh", "arcsinh", "arctanh", "reciprocal", "square", "sigmoid", "softplus", "xlogx", "sinc"]


def _mpmath(name):
    mp = pytest.importorskip("mpmath")
    own = {
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x, 2),
        "log10": lambda x: mp.log(x, 10),
        "reciprocal": lambda x: 1 / x,
        "square": lambda x: x * x,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "softplus": lambda x: mp.log(1 + mp.exp(x)),
        "xlogx": lambda x: x * mp.log(x),
        "sinc": lambda x: mp.sincpi(x),
    }
    renamed = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh"}
    renamed["arctanh"] = "atanh"
    return own.get(name) or getattr(mp, renamed.get(name, name))


@pytest.mark.parametrize(("name", "x"), list(itertools.product(MP, [0.05, 0.37, 0.82])))
def test_first_three_derivatives_against_mpmath(name, x):
    mp = pytest.importorskip("mpmath")
    f = np.sinc if name == "sinc" else OPS[name]
    for order in (1, 2, 3):
        f = fg.grad(f)
        with mp.workdps(40):
            expected = float(mp.diff(_mpmath(name), mp.mpf(x), order))
        np.testing.assert_allclose(f(x), expected, rtol=1e-11, atol=1e-13)
