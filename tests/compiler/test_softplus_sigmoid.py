"""Softplus and sigmoid in other forms, as exact as NumPy's exp is."""

import itertools

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret, source_text
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.passes.softplus_sigmoid import softplus_sigmoid
from tests.default_slice import one_in

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


@pytest.mark.parametrize(
    ("dtype", "size"), one_in(2, itertools.product(["float64", "float32"], [None, 60]))
)
def test_softplus_and_sigmoid_are_exact(dtype, size):
    value = points(dtype, size)
    assert (value.size >= 96) == (size is None)
    x = fg.var("x", value.shape, dtype)
    run = compile_arrays([fg.softplus(x), fg.sigmoid(x)], [x])
    assert ("logaddexp" in source_text(run)) == (size is not None)
    assert ("expm1" in source_text(run)) == (size is not None)
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
        found = names(softplus_sigmoid(flatten_program(roots, [x])))
        assert found.count("exp") == found.count("log1p") == found.count("divide") == 1
        assert len(found) == 6
    y = fg.var("y", 20)
    for roots in ([fg.softplus(y), fg.sigmoid(y)], [fg.sigmoid(y), fg.softplus(y)]):
        found = names(softplus_sigmoid(flatten_program(roots, [y])))
        assert found == ["softplus", "negative", "expm1", "negative"]


def test_what_stays_as_it_is():
    x, half = fg.var("x", 200), fg.var("h", 200, "float16")
    alone = flatten_program([fg.sigmoid(x)], [x])
    assert softplus_sigmoid(alone) is alone
    narrow = flatten_program([fg.softplus(half), fg.sigmoid(half)], [half])
    assert softplus_sigmoid(narrow) is narrow
    two = flatten_program([fg.softplus(x), fg.sigmoid(2 * x)], [x])
    assert "sigmoid" in names(softplus_sigmoid(two))


def test_a_sigmoid_of_what_is_broadcast():
    x = fg.var("x", (1, 40))
    roots = [np.sum(fg.softplus(x + np.zeros((5, 1)))), fg.sigmoid(x + np.zeros((5, 1)))]
    value = np.linspace(-5, 5, 40)[None]
    for got, want in zip(
        compile_arrays(roots, [x])(value),
        interpret(flatten_program(roots, [x]), [value]),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=1e-14)


# -- products ----------------------------------------------------------------------------------------
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
def test_products_keep_the_order_of_their_factors(large):
    f = fg.jit(
        lambda a, b, large, c, t: (
            np.tanh(a) * (np.tanh(b) * (large * np.cos(c))) + np.cos(c) * np.tanh(t)
        )
    )
    tiny, zero = np.full(5, 1e-200), np.zeros(5)
    expected = [1e-200 * (1e-200 * large)] * 5
    assert f(tiny, tiny, np.full(5, large), zero, zero).tolist() == pytest.approx(expected)
