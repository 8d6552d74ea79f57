"""Softplus and sigmoid in other forms, as exact as NumPy's exp is; minus signs that vanish, exactly."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten, interpret, text_of
from funcgrad.compiler.ir_rewriter import pruned
from funcgrad.compiler.numpy.numpy_codegen import compile_arrays
from funcgrad.compiler.passes.strength_reduction import gathered, related, unsigned

# Units in the last place: NumPy's own exp of float32 is wrong by up to 2.5.
EXACT = {"float64": 2.1, "float32": 3.0}
DENORMAL, OVERFLOW = (
    {"float64": (-745, 720), "float32": (-103, 95)},
    {"float64": 720, "float32": 95},
)


def names(flat):
    return [step.op.name for step in flat.steps if step.op.name not in ("input", "constant")]


def points(dtype, size):
    """All over the range of exp, the signs, and the numbers near zero."""
    rng = np.random.default_rng(0)
    parts = [rng.uniform(-3, 3, 800), rng.uniform(-40, 40, 800), rng.uniform(*DENORMAL[dtype], 800)]
    parts += [10.0 ** rng.uniform(-30, 0, 100) * rng.choice([-1, 1], 100), [0.0, -0.0]]
    return np.concatenate(parts).astype(dtype)[:: 1 if size is None else 2502 // size]


def ulps(got, exact):
    """The largest distance in units of the exact value's last place."""
    unit = np.finfo(got.dtype).smallest_subnormal, np.finfo(got.dtype).eps
    found = 0.0
    for a, b in zip(got.tolist(), exact, strict=True):
        ulp = max(mp.mpf(float(unit[0])), mp.mpf(2) ** mp.floor(mp.log(b, 2)) * float(unit[1]))
        found = max(found, abs(mp.mpf(a) - b) / ulp)
    return float(found)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [None, 60])
def test_softplus_and_sigmoid_are_exact(dtype, size):
    value = points(dtype, size)
    assert (value.size >= 96) == (size is None)
    x = fg.var("x", value.shape, dtype)
    run = compile_arrays([fg.softplus(x), fg.sigmoid(x)], [x])
    assert ("logaddexp" in text_of(run)) == (size is not None)
    assert ("expm1" in text_of(run)) == (size is not None)
    soft, sigmoid = run(value)
    assert soft.dtype == sigmoid.dtype == dtype
    with mp.workprec(200):
        given = [mp.mpf(v) for v in value.tolist()]
        assert ulps(soft, [mp.log1p(mp.exp(v)) for v in given]) <= EXACT[dtype]
        assert ulps(sigmoid, [1 / (1 + mp.exp(-v)) for v in given]) <= EXACT[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1, 20, 200])
def test_what_is_not_finite(dtype, size):
    most = float(np.finfo(dtype).max)
    ends = [np.inf, -np.inf, np.nan, most, -most, float(OVERFLOW[dtype])]
    x = fg.var("x", (size, 6), dtype)
    run = compile_arrays([fg.softplus(x), fg.sigmoid(x)], [x])
    value = np.tile(np.array(ends, dtype), (size, 1))
    with np.errstate(all="ignore"):
        soft, sigmoid = run(value)
    largest = value.dtype.type(most)
    np.testing.assert_array_equal(soft[0], [np.inf, 0, np.nan, largest, 0, OVERFLOW[dtype]])
    np.testing.assert_array_equal(sigmoid[0], [1, 0, np.nan, 1, 0, 1])
    assert not np.signbit(soft[0][[0, 1, 3, 4]]).any()
    assert not np.signbit(sigmoid[0][[0, 1, 3, 4]]).any()


def test_one_exponential_serves_both_whichever_comes_first():
    x = fg.var("x", 200)
    for roots in ([fg.softplus(x), fg.sigmoid(x)], [fg.sigmoid(x), fg.softplus(x)]):
        found = names(related(flatten(roots, [x])))
        assert found.count("exp") == found.count("log1p") == found.count("divide") == 1
        assert len(found) == 6
    y = fg.var("y", 20)
    for roots in ([fg.softplus(y), fg.sigmoid(y)], [fg.sigmoid(y), fg.softplus(y)]):
        found = names(related(flatten(roots, [y])))
        assert found == ["softplus", "negative", "expm1", "negative"]


def test_what_stays_as_it_is():
    x, half = fg.var("x", 200), fg.var("h", 200, "float16")
    alone = flatten([fg.sigmoid(x)], [x])
    assert related(alone) is alone
    narrow = flatten([fg.softplus(half), fg.sigmoid(half)], [half])
    assert related(narrow) is narrow
    two = flatten([fg.softplus(x), fg.sigmoid(2 * x)], [x])
    assert "sigmoid" in names(related(two))


def test_a_sigmoid_of_what_is_broadcast():
    x = fg.var("x", (1, 40))
    roots = [np.sum(fg.softplus(x + np.zeros((5, 1)))), fg.sigmoid(x + np.zeros((5, 1)))]
    value = np.linspace(-5, 5, 40)[None]
    for got, want in zip(
        compile_arrays(roots, [x])(value), interpret(flatten(roots, [x]), [value]), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-14)


X, Y, Z = (fg.var(name, 5) for name in "xyz")
NEGATED = {
    "sum": (X + Y * (-Z), ["multiply", "subtract"]),
    "the other way round": ((-X) * Y / Z + Y, ["multiply", "divide", "subtract"]),
    "difference": (X - (-Y) / Z, ["divide", "add"]),
    "spread": (np.ones((3, 5)) + fg.exp(-np.broadcast_to(-X, (3, 5))) * 1.0, None),
    "two": ((-X) * Y + (-Y) * Z, ["negative", "multiply", "multiply", "subtract"]),
    "used again": ((-X) * Y + fg.exp((-X) * Y), ["negative", "multiply", "exp", "add"]),
    "taken away from": ((-X) * Y - Z, ["negative", "multiply", "subtract"]),
    "inside": (fg.exp(-X) + Y, ["negative", "exp", "add"]),
}


@pytest.mark.parametrize("name", NEGATED)
def test_minus_signs(name):
    root, want = NEGATED[name]
    inputs = [X, Y, Z]
    flat = flatten([root], inputs)
    changed = unsigned(flat)
    assert want is None or names(changed) == want
    rng = np.random.default_rng(0)
    values = [rng.normal(size=5) for _ in inputs]
    values[0][0], values[1][1], values[2][2] = np.inf, -np.inf, 0.0
    for got, expected in zip(interpret(changed, values), interpret(flat, values), strict=True):
        np.testing.assert_array_equal(got, expected)


# -- common factors --------------------------------------------------------------------------------
def product_rule(x, y):
    """The derivative of sin(tanh(x)*y), by a y that depends on x."""
    t = np.tanh(x)
    c = np.cos(t * y)
    return c * t * fg.sigmoid(x) + c * y * (1 - t * t)


def test_a_derivative_of_a_product_takes_its_factor_once():
    x, y = fg.var("x", 7), fg.var("y", 7)
    before = flatten([fg.simplify(product_rule(x, y))], [x, y])
    after = pruned(gathered(before))
    assert names(before).count("multiply") == 5
    assert names(after).count("multiply") == 4
    assert names(after)[-2:] == ["add", "multiply"]
    assert names(pruned(gathered(after))) == names(after)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_gathered_is_as_exact(dtype):
    """Within a few roundings of what the terms are, at any magnitude."""
    rng = np.random.default_rng(1)
    given = rng.uniform(-3, 3, (2, 2000)) * 10.0 ** rng.uniform(-30, 30, (2, 2000))
    given[0, ::2] = rng.uniform(-3, 3, 1000)
    c, u = np.cos(given[1]), given[1]
    c, u, v, w = [a.astype(dtype) for a in (c, u, np.tanh(given[0]), np.sin(given[0]))]
    n = c.size
    a, b, d, e = [fg.var(name, n, dtype) for name in "abde"]
    flat = flatten([np.cos(a) * b * np.tanh(d) + np.cos(a) * np.sin(e) * np.tanh(e)], [a, b, d, e])
    assert names(gathered(flat))[-1] == "multiply"
    (got,) = compile_arrays(
        [np.cos(a) * b * np.tanh(d) + np.cos(a) * np.sin(e) * np.tanh(e)], [a, b, d, e]
    )(c, u, v, w)
    eps = float(np.finfo(dtype).eps)
    tiny = float(np.finfo(dtype).smallest_subnormal)
    with mp.workprec(300):
        for k in range(n):
            p, q, r, s = [mp.mpf(float(z[k])) for z in (c, u, v, w)]
            terms = mp.cos(p) * q * mp.tanh(r), mp.cos(p) * mp.sin(s) * mp.tanh(s)
            allowed = 8 * eps * sum(abs(t) for t in terms) + 4 * tiny
            assert abs(mp.mpf(float(got[k])) - sum(terms)) <= allowed


def test_infinities_stay_where_they_were():
    x, y = fg.var("x", 6), fg.var("y", 6)
    t, c = np.tanh(x), np.cos(x)
    root = c * t * np.sin(x) - c * y * t
    assert names(gathered(flatten([root], [x, y])))[-2:] == ["subtract", "multiply"]
    most = np.finfo(float).max
    xs = np.array([1.0, 2.0, 2.0, 0.0, np.nan, 1.0])
    ys = np.array([np.inf, np.inf, most, np.inf, 1.0, -most])
    (got,) = compile_arrays([root], [x, y])(xs, ys)
    (want,) = interpret(flatten([root], [x, y]), [xs, ys])
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert np.isfinite(got[2])
    assert np.isinf(got[0])
    assert np.isnan(got[3])


def test_factors_of_unknown_magnitude_stay():
    """They might overflow together, or vanish, where each with the small factor does not."""
    x, y = fg.var("x", 4), fg.var("y", 4)
    c, t = np.cos(x), np.tanh(x)
    n, z = fg.var("n", 4, int), fg.var("z")
    for root in (
        c * x * t + c * y * t,  # x*t + y*t may overflow
        c * (x * y) + c * t * t,  # as may x*y
        y * x * t + y * t * t,  # and x*t may vanish where y is large
        c * t * t + np.sin(y) * np.cos(y),  # nothing is common
        c + c * t * t,  # one product is too few
        n * n * n + n * n,
        np.cos(z) * np.tanh(z) * np.sin(z) + np.cos(z) * np.tanh(z) * z,
    ):
        flat = flatten([root], [v for v in (x, y, n, z) if v.key in root.graph])
        assert names(gathered(flat)) == names(flat)


def test_products_that_are_needed_elsewhere_stay():
    x, y = fg.var("x", 4), fg.var("y", 4)
    c, t = np.cos(x), np.tanh(x)
    once, twice = c * t, c * y
    flat = flatten([once * t + twice * np.sin(y), twice], [x, y])
    assert names(pruned(gathered(flat))).count("multiply") == 4


@pytest.mark.parametrize("size", [1, 10, 100, 3000])
def test_a_gradient_with_a_common_factor(size):
    value = np.random.default_rng(2).uniform(-3, 3, size)
    g = fg.jit(fg.grad(lambda x: np.sum(np.sin(np.tanh(x) * np.log1p(np.exp(x))))))
    for _ in range(5):
        got = g(value)
    with mp.workdps(30):
        f = lambda v: mp.sin(mp.tanh(v) * mp.log1p(mp.exp(v)))  # noqa: E731
        want = [float(mp.diff(f, mp.mpf(v))) for v in value[:100].tolist()]
    np.testing.assert_allclose(got[:100], want, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("large", [1e300, np.inf])
def test_bounded_factors_underflow_no_sooner_for_being_gathered(large):
    f = fg.jit(
        lambda a, b, large, c, t: (
            np.tanh(a) * (np.tanh(b) * (large * np.cos(c))) + np.cos(c) * np.tanh(t)
        )
    )
    tiny, zero = np.full(5, 1e-200), np.zeros(5)
    expected = [1e-200 * (1e-200 * large)] * 5
    assert f(tiny, tiny, np.full(5, large), zero, zero).tolist() == pytest.approx(expected)
