"""Fifty digits: against closed forms, and against mpmath's own derivatives."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.algebras import precise, precise_gradient
from funcgrad.ops import contraction, indexing, reduction, shape
from funcgrad.ops import scans_and_sorts as along
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.numpy.dispatch import ELEMENTWISE, all_ops
from tests.default_slice import one_in
from tests.ops.samples import REAL_SAMPLES, SAMPLES

x, y = fg.var("x"), fg.var("y")
mp = mpmath.MPContext()
mp.dps = 80


def same(found, wanted, digits=50):
    found, wanted = mp.convert(found), mp.convert(wanted)
    return abs(found - wanted) <= abs(wanted) * mp.mpf(10) ** -digits


UNARY = {
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "exp": mp.exp,
    "exp2": lambda v: mp.power(2, v),
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda v: mp.log(v, 2),
    "log10": lambda v: mp.log(v, 10),
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "cbrt": lambda v: mp.root(v, 3),
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arctanh": mp.atanh,
    "arcsinh": mp.asinh,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "sigmoid": lambda v: 1 / (1 + mp.exp(-v)),
    "softplus": lambda v: mp.log(1 + mp.exp(v)),
    "xlogx": lambda v: v * mp.log(v),
    "deg2rad": mp.radians,
    "rad2deg": mp.degrees,
    "square": lambda v: v**2,
    "reciprocal": lambda v: 1 / v,
    "absolute": abs,
}
BINARY = {
    "divide": lambda a, b: a / b,
    "power": mp.power,
    "hypot": mp.hypot,
    "arctan2": mp.atan2,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "logaddexp2": lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b), 2),
    "multiply": lambda a, b: a * b,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("at", [0.3, 0.71])
def test_functions_of_one_number(name, at):
    expr, f = all_ops()[name](x), UNARY[name]
    assert same(precise(expr, x=at), f(mp.mpf(at)))
    assert same(precise_gradient(expr, x=at)["x"], mp.diff(f, mp.mpf(at)))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    expr, f = all_ops()[name](x, y), BINARY[name]
    at = mp.mpf(0.3), mp.mpf(1.7)
    assert same(precise(expr, x=0.3, y=1.7), f(*at))
    slope = precise_gradient(expr, x=0.3, y=1.7)
    assert same(slope["x"], mp.diff(f, at, (1, 0)))
    assert same(slope["y"], mp.diff(f, at, (0, 1)))


def test_sinc_near_and_far():
    for at in (0.0, 0.25, -3.5, 40.75):
        u = mp.pi * mp.mpf(at)
        wanted = mp.mpf(0) if at == 0 else mp.pi * (mp.cos(u) / u - mp.sin(u) / u**2)
        slope = precise_gradient(lambda v: np.sinc(v), at)
        assert same(precise(lambda v: np.sinc(v), at), mp.sinc(u))
        assert same(slope, wanted)


WITH_RULES = {
    name
    for module in (*ELEMENTWISE, shape, reduction, along, contraction, indexing)
    for op in vars(module).values()
    if isinstance(op, Op)
    for name in [op.name]
}


@pytest.mark.parametrize(
    ("name", "sample"),
    one_in(
        7,
        [
            pytest.param(name, sample, id=f"{name}-{i}")
            for name, samples in SAMPLES.items()
            for i, sample in enumerate(samples)
            if name in REAL_SAMPLES and "float32" not in str(sample.params)
        ],
    ),
)
def test_every_operation_agrees_with_numpy(name, sample):
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert"):
        pytest.skip("whole numbers are not computed by mpmath")
    op = all_ops()[name]
    expr = op(*[fg.const(arg) for arg in sample.args], **sample.params)
    wanted = np.asarray(op.run(*sample.args, **sample.params))
    try:
        found = np.asarray(precise(expr, digits=20))
    except TypeError as error:
        assert "has no rule" in str(error)  # noqa: PT017  # of another family
        assert name not in WITH_RULES
        return
    assert found.shape == wanted.shape
    found = found.astype(complex if wanted.dtype.kind == "c" else wanted.dtype)
    if "complex64" in str(sample.params):
        found = found.astype("complex64")
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 2.5]
FLOATS = [
    name
    for name, (sample, *_) in REAL_SAMPLES.items()
    if name in WITH_RULES and len(sample.args) <= 2 and not sample.params
    if all(type(arg) is np.ndarray and arg.dtype == float for arg in sample.args)
]


@pytest.mark.parametrize("name", FLOATS)
def test_operations_have_numpys_values_at_infinities_and_nan(name):
    op = all_ops()[name]
    grid = np.meshgrid(*[SPECIAL] * len(REAL_SAMPLES[name][0].args))
    operands = [np.ravel(values) for values in grid]
    with np.errstate(all="ignore"):
        wanted = op.run(*operands)
    found = np.asarray(precise(op(*[fg.const(values) for values in operands]), digits=20))
    np.testing.assert_allclose(found.astype(wanted.dtype), wanted, rtol=1e-13, atol=1e-15)


def test_digits_that_cancel_are_made_up_for():
    f = lambda v: (1 - np.cos(v)) / v**2  # noqa: E731
    v = mp.mpf(1e-30)
    with mp.workdps(200):
        wanted, slope = (1 - mp.cos(v)) / v**2, mp.diff(lambda v: (1 - mp.cos(v)) / v**2, v)
    assert same(precise(f, 1e-30), wanted)
    assert same(precise_gradient(f, 1e-30), slope, 40)
    assert precise((x + 1) - x, x=1e300) == 1


def test_a_gradient_folds_no_constant_in_float64():
    assert same(precise_gradient(lambda v: v / 3, 2.0), mp.mpf(1) / 3)
    assert same(precise_gradient(lambda v: np.cbrt(v) / 7, 2.0), mp.mpf(2) ** (mp.mpf(-2) / 3) / 21)


def test_arrays_and_trees():
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    f = lambda p: np.sum(np.exp(p["a"] @ p["b"]))  # noqa: E731
    b = np.array([0.5, -0.25])
    slope = precise_gradient(f, {"a": a, "b": b}, digits=40)
    for i in range(2):
        e = mp.exp(sum(mp.mpf(a[i, j]) * mp.mpf(b[j]) for j in range(2)))
        for j in range(2):
            assert same(slope["a"][i, j], e * mp.mpf(b[j]), 40)
    assert slope["b"].shape == (2,)
    first, second = precise_gradient(lambda u, v: u * v**2, 3.0, 2.0, argnums=(0, 1))
    assert (first, second) == (4, 12)


def test_gradients_of_running_products_and_maxima():
    v = np.array([0.5, 0.25, 3.0])
    products = precise_gradient(lambda v: np.cumprod(v)[-1], v)
    assert [float(d) for d in products] == [0.75, 1.5, 0.125]
    extremes = precise_gradient(lambda v: np.sum(np.maximum.accumulate(v)), v)
    assert [float(d) for d in extremes] == [2.0, 0.0, 1.0]


def test_values_of_mpmath_keep_their_digits():
    with mpmath.workdps(60):
        third = mpmath.mpf(1) / 3
        assert same(precise(lambda v: 3 * v, third), 1)
        assert same(precise(3 * x, x=third), 1)
        assert same(precise_gradient(lambda u, v: u * v, 2.0, third), mp.mpf(1) / 3)


def test_what_a_condition_leaves_out_does_not_reach_the_gradient():
    root = lambda v: np.where(v > 0, np.sqrt(v), 0.0)  # noqa: E731
    assert precise_gradient(root, 0.0) == 0
    assert mpmath.isnan(precise(lambda v: np.sqrt(v), -1.0))
    assert precise(lambda v: 1 / v, 0.0) == mpmath.inf
    assert precise(lambda v: np.log(v), 0.0) == -mpmath.inf


def test_what_is_subtracted_from_a_value_that_is_left_out_is_negative():
    assert precise(lambda v: mask(v > 0, v) - 3 * v, -1.0) == 3
    assert precise(lambda v: 3 * v - mask(v > 0, v), -1.0) == -3


def test_complex_numbers():
    z = fg.var("z", (), complex)
    assert abs(precise(np.exp(z), z=1 + 2j) - mp.exp(mp.mpc(1, 2))) < mp.mpf(10) ** -49


def test_mpmath_is_left_as_it_was():
    before = mpmath.mp.dps
    precise(fg.exp(x), x=1.0, digits=300)
    assert mpmath.mp.dps == before


def test_mistakes():
    with pytest.raises(TypeError, match="precise: expected values for x, but got none"):
        precise(x + 1)
    with pytest.raises(TypeError, match="expected a number of digits, but got 0"):
        precise(x + 1, x=1.0, digits=0)
    with pytest.raises(TypeError, match=r"expected one real scalar, but got float64\[2\]; sum it"):
        precise_gradient(lambda v: v, np.ones(2))


@pytest.mark.parametrize("values", [{"x": 2.0}, {x: 2.0}, {"x": mpmath.mpf(2)}])
def test_values_may_come_in_a_dict(values):
    assert precise(x**2, values) == 4
    assert precise_gradient(x**2, values) == {"x": 4}
    with pytest.raises(TypeError, match=r"by name or in a dict, but got 2 without names"):
        precise(x, values, values)


def test_linear_algebra_has_as_many_digits_as_asked_for():
    n = 8
    sums = np.arange(n)[:, None] + np.arange(n) + 1

    def hilbert(one):
        return one / sums

    with mpmath.workdps(60):
        exact = mpmath.hilbert(n)
        right = [
            (lambda a: np.linalg.det(hilbert(a)), mpmath.det(exact)),
            (lambda a: np.linalg.slogdet(hilbert(a))[1], mpmath.log(mpmath.det(exact))),
            (lambda a: np.linalg.inv(hilbert(a))[3, 4], mpmath.inverse(exact)[3, 4]),
            (lambda a: np.linalg.solve(hilbert(a), np.ones(n))[2], -7560),
            (
                lambda a: np.linalg.cholesky(hilbert(a))[-1, -1],
                mpmath.cholesky(exact)[n - 1, n - 1],
            ),
            (lambda a: np.linalg.det(np.stack([sums, hilbert(a)]))[1], mpmath.det(exact)),
        ]
        for f, wanted in right:
            assert mpmath.almosteq(precise(f, 1.0, digits=40), wanted, 1e-38)
        slope = precise(fg.grad(lambda a: np.linalg.slogdet(hilbert(a))[1]), 1.0, digits=40)
        assert mpmath.almosteq(slope, n, 1e-38)
    cofactors = precise(fg.grad(np.linalg.det), np.diag([0.0, 0.0, 3.0]), digits=30)
    assert not np.any(cofactors)
    cofactors = precise(fg.grad(np.linalg.det), np.diag([0.0, 2.0, 3.0]), digits=30)
    assert cofactors[0, 0] == 6
    with pytest.raises(np.linalg.LinAlgError):
        precise(np.linalg.inv, np.zeros((2, 2)))
    assert precise(np.linalg.det, np.zeros((0, 2, 2))).shape == (0,)
    assert precise(np.linalg.det, np.zeros((0, 0))) == 1


@pytest.mark.parametrize(
    ("f", "at"),
    [
        (lambda v: np.sqrt(np.sum(v**2)), np.zeros(2)),
        (lambda v: np.sqrt(np.sum(v**2)) ** 2, np.zeros(2)),
        (lambda x: x * np.log(x), 0.0),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
    ],
)
def test_a_precise_gradient_at_a_singular_point_is_that_of_grad(f, at):
    found = np.asarray(fg.precise_gradient(f, at), float)
    np.testing.assert_array_equal(found, fg.grad(f)(at))
