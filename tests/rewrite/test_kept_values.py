"""What a user wrote keeps every bit of its value, under `jit` and in `value_and_grad`."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import one_in
from tests.rewrite.values import REALS, same, special

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:the output does not")
CALLS = 4  # the first are interpreted, the later ones compiled


def check(f, *values):
    """f's value by NumPy is that of the jitted f, and that which comes with the gradient."""
    expected = f(*values)
    jitted = fg.jit(f)
    valued = fg.value_and_grad(lambda *a: np.real(f(*a)))
    both = fg.jit(fg.value_and_grad(lambda *a: (np.sum(np.real(f(*a))), f(*a)), has_aux=True))
    for _ in range(CALLS):
        assert same(jitted(*values), expected)
        assert same(both(*values)[0][1], expected)
    if np.ndim(expected) == 0:
        assert same(valued(*values)[0], np.real(expected))


BRANCHES = {
    "sqrt(-1*w)": lambda w: np.sqrt(-1 * w),
    "log(0 - z)": lambda z: np.log(0 - z),
    "sqrt((-w)/2)": lambda w: np.sqrt((-w) / 2),
    "sqrt(-(a - b))": lambda a: np.sqrt(-(a - 1.0)),
    "z*1": lambda z: np.sqrt(z * 1),
    "z + 0": lambda z: np.sqrt(z + 0),
    "(1j*z)*1j": lambda z: np.sqrt((1j * z) * 1j),
    "a*(-b)": lambda z: np.log((z - 1) * (-z)),
    "z/1": lambda z: np.log(z / 1),
    "2*z - z": lambda z: np.sqrt(2 * z - z),
    "z**2": lambda z: np.sqrt(z**2),
    "z**-1": lambda z: np.log(z**-1),
    "-(2*z)": lambda z: np.sqrt(-(2 * z)),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_complex_zero_stays_on_its_side_of_a_branch_cut(name):
    check(BRANCHES[name], special(complex))
    for z in (1 + 0j, complex(1, -0.0), complex(-4, 0.0), complex(-4, -0.0), complex(-0.0, 1)):
        value = np.complex128(z)
        if name != "z**-1":  # which NumPy rounds otherwise for scalars
            check(BRANCHES[name], value)


def side(x):
    """On which side of its branch cut the arctangent is: libraries differ in the last bit of its value."""
    return np.sign(np.arctan2(x, -1.0))


SIGNS = {
    "0 - x": lambda x: side(0 - x),
    "x*0": lambda x: np.copysign(1.0, x * 0),
    "-(x - y)": lambda x: side(-(x - x)),
    "x + 0": lambda x: side(x + 0),
    "x + -0.0": lambda x: side(x + -0.0),
    "x - -0.0": lambda x: side(x - -0.0),
    "0/x": lambda x: side(0 / x),
    "(-x)*(x - x)": lambda x: (-x) * (x - x),
    "sum(builtin)": lambda x: np.copysign(1.0, sum([x, x])),
    "x - x": lambda x: x - x,
    "0*x": lambda x: 0 * x,
    "x/x": lambda x: x / x,
    "x**2": lambda x: np.copysign(1.0, x**2),
    "x**0": lambda x: x**0,
    "x**-1": lambda x: x**-1,
    "x**0.5": lambda x: np.power(x, 0.5),
    "abs": lambda x: np.copysign(1.0, np.abs(x)),
    "maximum": lambda x: np.copysign(1.0, np.maximum(x, 0.0)),
    "where": lambda x: np.where(x > 0, x, -0.0) * np.where(x > 0, 0.0, x),
    "tril": lambda x: np.arctan2(np.tril(x * np.ones((2, 2))) * -1.0, -1.0),
    "triu*inf": lambda x: np.triu(x * np.ones((2, 2))) * np.inf,
}


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.parametrize("name", one_in(3, SIGNS))
def test_signed_zeros_infinities_and_nan_of_reals(name):
    f = SIGNS[name]
    for dtype in (np.float64, np.float32):
        if "tri" not in name:
            check(f, special(dtype))
        for value in special(dtype):
            check(f, value)


def test_terms_that_cancel_have_the_sign_that_numpy_gives_them():
    x = np.tile([1.0, -1.0, 2.0, -2.0], 300)
    programs = [
        lambda x: 1 / np.sum(-x),
        lambda x: 1 / np.sum(-2.0 * x),
        lambda x: 1 / ((-x) @ np.ones(x.size)),
        lambda x: 1 / ((-2.0 * x) @ np.ones(x.size)),
        lambda x: 1 / np.sum(np.reshape(-x, (4, 300)), axis=0),
        lambda x: 1 / np.sum(-2.0 * x + -2.0 * x[::-1]),
    ]
    for f in programs:
        jitted = fg.jit(f)
        for _ in range(CALLS):
            assert same(np.sign(jitted(x)), np.sign(f(x)))
    angle = np.full(x.size, 3.0)  # of a negative cosine
    check(lambda x, y, a: 1 / (np.cos(a) * x + np.cos(a) * y), x, -x, angle)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_constants_are_not_combined_over_overflow(dtype):
    most = float(np.finfo(dtype).max)
    c, d = dtype(0.6 * most).item(), dtype(0.8 * most).item()
    programs = [
        lambda x: c * x + d * x,
        lambda x: c * x + c * x + d * x,
        lambda x: (d * x + x) + x,
        lambda x: (x - c) - d,
        lambda x: (x * -1 + c) + d,
        lambda x: c * (d * x),
        lambda x: (c * x) / (1 / d),
        lambda x: (c * x + x * x) + d * x,
    ]
    for f in programs:
        for x in (dtype(0.01), dtype(-1.5), np.array([0.01, -1.0, 1e-3, 1.0], dtype)):
            check(f, x)
    # A derivative takes like terms together, a formula too: but only where they can be held.
    x, g = fg.var("x", (), dtype), fg.var("g", (), dtype)
    for mode in ("derivative", "formula"):
        (simple,) = simplify_all([c * g + d * g], mode=mode)
        assert np.isfinite(simple(g=dtype(0.01)))
        (simple,) = simplify_all([(x + -c) + -d], mode=mode)
        assert np.isfinite(simple(x=dtype(most)))
        (simple,) = simplify_all([(c * x + g) + d * x], mode=mode)
        assert np.isfinite(simple(x=dtype(0.01), g=dtype(0)))


def test_a_gradient_whose_constants_overflow_only_together():
    def f(x):
        return (1e308 * x + 1.5e308 * x) * 1e-10

    assert fg.value_and_grad(f)(0.01) == pytest.approx((2.5e296, 2.5e298), rel=1e-15)


# -- transforms that compute the value, too ---------------------------------------------------------------
def signs(x):
    return np.arctan2(0 - x * 0, -1.0) + np.arctan2(-(x - x), -1.0)


def _in_a_loop(x):
    return fg.scan(lambda c, _: (signs(c), signs(c)), x, np.zeros(1))


THROUGH = {
    "vjp": lambda x: fg.vjp(signs, x)[0],
    "jvp": lambda x: fg.jvp(signs, (x,), (1.0,))[0],
    "linearize": lambda x: fg.linearize(signs, x)[0],
    "taylor": lambda x: fg.taylor(signs, x, 2)[0],
    "vmap": lambda x: fg.vmap(signs)(np.array([x]))[0],
    "vmap of the gradient": lambda x: fg.vmap(fg.value_and_grad(signs))(np.array([x]))[0][0],
    "scan": lambda x: fg.jit(lambda x: _in_a_loop(x)[0])(x),
    "gradient of a carry": lambda x: fg.value_and_grad(lambda x: _in_a_loop(x)[0])(x)[0],
    "gradient of an output": lambda x: fg.value_and_grad(lambda x: _in_a_loop(x)[1][0])(x)[0],
    "fori_loop": lambda x: fg.jit(
        fg.value_and_grad(lambda x: fg.fori_loop(0, 1, lambda i, c: signs(c), x))
    )(x)[0],
    "cond": lambda x: fg.value_and_grad(lambda x: fg.cond(x > -10, signs, signs, x))(x)[0],
    "checkpoint": lambda x: fg.value_and_grad(fg.checkpoint(signs))(x)[0],
    "a gradient within": lambda x: fg.value_and_grad(lambda x: fg.value_and_grad(signs)(x)[0])(x)[
        0
    ],
    "hessian beside": lambda x: fg.jit(lambda x: (signs(x), fg.hessian(signs)(x)))(x)[0],
}


@pytest.mark.parametrize("name", THROUGH)
def test_transforms_keep_the_signs_of_zeros(name):
    for x in (0.0, -0.0, 2.0, -3.0):
        assert THROUGH[name](x) == pytest.approx(signs(np.float64(x)), abs=1e-12)


def test_a_derivative_is_that_of_the_side_of_the_branch_cut_that_the_value_is_on():
    def f(z):
        return np.imag(np.sqrt(-1 * z))

    for z in (1 + 0j, complex(1, -0.0)):
        value, slope = fg.value_and_grad(f)(z)
        assert value == f(np.complex128(z))
        numeric = (f(np.complex128(z) * (1 + 1e-6)) - value) / 1e-6
        assert slope.real == pytest.approx(numeric, rel=1e-5)
        assert fg.jit(fg.grad(f))(z) == slope


# -- compensated formulas: what they make up for is a rounding that must happen ---------------------------
def expm1_by_log(x):
    return (np.exp(x) - 1) / np.log(np.exp(x)) * x


def kahan_expm1(x):
    u = np.exp(x)
    safe = np.where((u == 1) | (u == 0), 2.0, u)
    return np.where(u == 1, x, np.where(u == 0, -1.0, (u - 1) * x / np.log(safe)))


def kahan_expm1_by_questions(x):
    u = np.exp(x)
    if u == 1:
        return x
    if u - 1 == -1:
        return -1.0 + 0 * x
    return (u - 1) * x / np.log(u)


def kahan_log1p(x):
    u = 1 + x
    return np.where(u == 1, x, x * np.log(u) / np.where(u == 1, 1.0, u - 1))


def kahan_log1p_by_questions(x):
    logarithm = np.log(x + 1)
    if logarithm == 0:
        return x
    return x * logarithm / ((1 + x) - 1)


def kahan_softplus(x):
    e = np.exp(x)
    u = 1 + e
    return np.log(u) - ((u - 1) - e) / u


def heron(a):
    b, c = a * 0.75, a * 0.25000000001
    return 0.25 * np.sqrt((a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c)))


def two_sum(a):
    b = a * 1e-9 + 0.1
    s = a + b
    z = s - a
    return (a - (s - z)) + (b - z)


def fast_two_sum_of_constants(x):
    s = (x + 1.0) - 1.0
    return x - s


def shifted_twice(x):
    return (x + 1e16) - 1e16 + ((x + 3.0) + 1e16)


def two_product(a):
    def split(a):
        c = 134217729.0 * a
        high = c - (c - a)
        return high, a - high

    b = a * 0.1
    p = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def kahan_sum(x):
    total, lost = 0.0 * x, 0.0 * x
    for k in range(1, 20):
        y = x / k - lost
        new = total + y
        lost = (new - total) - y
        total = new
    return total


def quadratic(b):
    a, c = 1.0, 1e-9
    root = np.sqrt(b * b - 4 * a * c)
    q = -0.5 * (b + np.copysign(root, b))
    return c / q


def rounded_to_integers(x):
    return (x + 6755399441055744.0) - 6755399441055744.0


def sinh_by_expm1(x):
    e = np.expm1(x)
    return 0.5 * (e + e / (1 + e))


def variance(x):
    mean = x / 3 + 1 / 3
    return (x - mean) * (x - mean) + (1 - mean) * (1 - mean)


COMPENSATED = [
    expm1_by_log,
    kahan_expm1,
    kahan_expm1_by_questions,
    kahan_log1p,
    kahan_log1p_by_questions,
    kahan_softplus,
    heron,
    two_sum,
    fast_two_sum_of_constants,
    shifted_twice,
    two_product,
    kahan_sum,
    quadratic,
    rounded_to_integers,
    sinh_by_expm1,
    variance,
]


@pytest.mark.parametrize("f", COMPENSATED, ids=lambda f: f.__name__)
def test_a_compensated_formula_keeps_its_digits(f):
    points = [s * 10.0**-k for k in range(0, 18, 2) for s in (1, 3.7, -0.9)]
    jitted, valued = fg.jit(f), fg.value_and_grad(f)
    for x in np.array(points):
        expected = f(x)
        for found in (jitted(x), valued(x)[0]):
            assert found == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True)
    if "questions" not in f.__name__:
        for _ in range(CALLS):
            found = jitted(np.array(points))
            np.testing.assert_allclose(found, f(np.array(points)), rtol=1e-15, atol=0)


# -- stable forms -----------------------------------------------------------------------------------------
def test_the_sigmoid_keeps_its_smallest_values():
    for f in (lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: 1 / (1 + np.exp(-x)), fg.sigmoid):
        for x in (-709.5, -710.0, -720.0, -744.0):
            jitted, array = fg.jit(f), np.full(700, x)
            for _ in range(CALLS):
                assert jitted(x) == pytest.approx(np.exp(x), rel=1e-12)
                np.testing.assert_allclose(jitted(array), np.exp(array), rtol=1e-12)
            assert fg.value_and_grad(f)(x) == pytest.approx((np.exp(x), np.exp(x)), rel=1e-12)
    small = np.array([-100.0, -88.0, 0.0, 88.0, 100.0, np.inf, -np.inf, np.nan], np.float32)
    expected = np.exp(small[:2].astype(float)).astype(np.float32)
    np.testing.assert_allclose(fg.jit(fg.sigmoid)(small)[:2], expected, rtol=1e-2)
    np.testing.assert_array_equal(fg.jit(fg.sigmoid)(small)[2:], [0.5, 1, 1, 1, 0, np.nan])


def test_the_logarithm_of_a_probability():
    x = np.array([0.0, 1000.0])
    for f in (
        lambda x: -np.log(np.exp(x[0]) / np.sum(np.exp(x))),
        lambda x: -np.log((np.exp(x) / np.sum(np.exp(x)))[0]),
        lambda x: -np.log(np.exp(x) / np.sum(np.exp(x)))[0],
        lambda x: -np.log(fg.softmax(x)[0]),
        lambda x: -np.sum(np.log(fg.softmax(x[None])[np.arange(1), np.array([0])])),
    ):
        value, slope = fg.value_and_grad(f)(x)
        assert value == 1000.0
        np.testing.assert_array_equal(slope, [-1.0, 1.0])
        assert fg.jit(f)(x) == 1000.0


def test_the_logarithm_of_one_and_little_more():
    f = fg.jit(lambda x: np.log(1 + x))
    assert (f(1e-18), f(0.0), f(-1.0)) == (1e-18, 0.0, -np.inf)
    assert fg.value_and_grad(lambda x: np.log(x + 1))(1e-18) == (1e-18, 1.0)
    # With another use of the sum, its rounding is meant.
    assert fg.jit(lambda x: (np.log(1 + x), 1 + x))(1e-18) == (0.0, 1.0)
    assert fg.jit(lambda x: np.log(np.exp(x)))(1e-20) == 1e-20
    assert fg.jit(lambda x: (np.log(np.exp(x)), np.exp(x)))(1e-20) == (0.0, 1.0)


# -- random programs on special values -------------------------------------------------------------------
UNARY = [
    "-({0})", "+({0})", "({0})**2", "({0})*0", "0*({0})", "({0}) + 0", "({0}) - 0", "0 - ({0})",
    "({0})*1", "-1*({0})", "({0})/1", "({0}) + (-0.0)", "({0}) - (-0.0)", "2*({0})", "({0})/2",
    "({0})/-1", "({0})**0", "0/({0})", "({0}) + 3", "1/({0})", "np.square(-({0}))",
]  # fmt: skip
BINARY = [
    "({0}) + ({1})", "({0}) - ({1})", "({0})*({1})", "({0})/({1})", "-(({0}) - ({1}))",
    "({0})*(-({1}))", "(-({0}))*({1})", "({0}) + (-({1}))", "({0}) - (-({1}))", "(-({0}))/({1})",
    "({0})/(-({1}))", "({0})*(1/({1}))", "2*({0}) + 3*({1})", "({0})*({0})*({1})",
]  # fmt: skip
OF_REALS = ["np.where({0} > {1}, {0}, {1})", "np.maximum({0}, {1})", "np.copysign({0}, {1})"]


@pytest.mark.parametrize(
    ("dtype", "seed"),
    one_in(4, itertools.product([np.float64, np.float32, np.complex128], range(30))),
)
def test_random_programs_on_special_values(seed, dtype):
    rng = np.random.default_rng(seed)
    binary = BINARY if dtype is np.complex128 else BINARY + OF_REALS
    terms = ["x", "y"]
    for _ in range(rng.integers(2, 7)):
        x, y = rng.choice(terms[-3:], 2)
        terms.append(rng.choice(UNARY if rng.random() < 0.5 else binary).format(x, y))
    f = eval(f"lambda x, y: {terms[-1]}")
    values = special(dtype)
    check(f, rng.choice(values, 40), rng.choice(values, 40))
    if dtype is not np.complex128:
        check(f, *rng.choice(np.array(REALS, dtype), 2))


def test_complex_constants_keep_the_signs_of_their_zeros():
    values = (-1 + 0j, complex(-1, -0.0))
    expected = [np.sqrt(v) for v in values]
    one = fg.const(0j)
    got = [fg.evaluate(np.sqrt(one * 0 + v)) for v in values]
    signs = [fg.expr.scalar(v, np.dtype(complex)).params[0][1].array.imag for v in values]
    assert [np.signbit(s) for s in signs] == [False, True]
    assert expected[0] == got[0]
