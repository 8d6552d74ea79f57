"""Where NumPy's functions have edges: integers, infinities, what is no number, ends, ties and emptiness."""

import itertools
import re
import warnings

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.native.llvm_jit import llvm_available
from tests.default_slice import one_in

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(11)
WHOLE = np.array([3, 1, 2, 5])
SIX = RNG.normal(size=6)
KNOTS = np.array([0.0, 1.0, 2.0])
PAIR = RNG.normal(size=(2, 5))

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")
DTYPES = (bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64)


def alike(f, *args):
    """A function compiled, and by NumPy: the same values, of the same dtype."""
    with np.errstate(all="ignore"):
        expected = f(*args)
        found = fg.jit(f)(*args)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# -- quantiles -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "dtype", "q"),
    one_in(
        4,
        itertools.product(
            METHODS, DTYPES, [0.5, 0.3, 0, 1, [0.1, 0.9], np.float32(0.3), np.array([0, 1])]
        ),
    ),
)
def test_quantiles_of_every_dtype_are_numpys(method, dtype, q):
    x = (3 * RNG.normal(size=(3, 4))).astype(dtype)
    if dtype is bool and (method == "midpoint" or (method == "linear" and type(q) is not int)):
        return  # NumPy refuses these but for whole q
    tolerance = {np.float16: 2e-3, np.float32: 1e-5}.get(dtype, 1e-6)
    for f in (
        lambda x: np.quantile(x, q, method=method),
        lambda x: np.quantile(x, q, axis=1, method=method, keepdims=True),
        lambda x: np.percentile(x, np.multiply(q, 100), axis=0, method=method),
    ):
        try:
            expected = f(x)
        except TypeError:
            continue
        found = np.asarray(fg.jit(f)(x))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_quantiles_of_integers_choose_among_them():
    assert fg.jit(lambda x: np.quantile(x, 0.5, method="lower"))(WHOLE) == 2
    assert fg.jit(lambda x: np.percentile(x, 75, method="higher"))(WHOLE) == 5
    assert fg.jit(lambda x: np.quantile(x, 0.5, method="nearest"))(WHOLE > 2) is True


def test_quantiles_of_many_entries_in_single_precision_find_the_place():
    x = np.arange(40_000_003, 40_000_003 - 50_000, -1).astype(np.float32)
    alike(lambda x: np.quantile(x, 0.7777, method="lower"), x)


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_have_derivatives(method):
    fg.check_grads(lambda x: np.quantile(x**3, [0.3, 0.6], method=method), (SIX,), order=2)


def test_what_numpy_lets_be_given_to_no_effect_is_let():
    alike(lambda x: np.quantile(x, 0.5, weights=None, overwrite_input=False), SIX)
    alike(lambda x: np.median(x, overwrite_input=True), SIX)


BETWEEN = ("midpoint", "hazen", "weibull", "averaged_inverted_cdf", "median_unbiased")
WITH_SPECIAL = (
    *([1.0, INF], [-INF, INF], [-INF, -INF, 3.0], [INF], [-0.0], [NAN, 2.0]),
    [3.0, INF, 1.0, -INF, 2.0],
)


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile])
@pytest.mark.parametrize("method", [*METHODS, *BETWEEN, "inverted_cdf", "closest_observation"])
def test_quantiles_of_infinities_are_numpys_to_the_bit(function, method):
    f = lambda x: function(x, [0.0, 0.25, 0.5, 0.8, 1.0], axis=1, method=method)  # noqa: E731
    compiled, by_share = fg.jit(f), fg.jit(lambda x, q: function(x, q, method=method))
    for entries in WITH_SPECIAL:
        x = np.array([entries, entries[::-1]])
        with np.errstate(all="ignore"):
            expected, found = f(x), compiled(x)
            np.testing.assert_array_equal(by_share(x, 0.25), function(x, 0.25, method=method))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.filterwarnings("ignore:All-NaN slice encountered")
@pytest.mark.parametrize("function", [np.median, np.nanmedian])
def test_medians_of_infinities_are_numpys_to_the_bit(function):
    for entries in WITH_SPECIAL:
        x = np.array([entries, entries])
        for f in (function, lambda x: function(x, axis=0)):
            with np.errstate(all="ignore"):
                found, expected = fg.jit(f)(x), f(x)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.filterwarnings("ignore:.*by steps alone")
def test_the_slope_of_a_quantile_in_its_share_is_that_to_the_next_entry():
    x = np.array([3.0, 1.0, 7.0])
    assert fg.grad(lambda q: np.quantile(x, q))(0.5) == 8.0
    assert fg.grad(lambda q: np.quantile(x, q, method="closest_observation"))(0.4) == 0.0
    assert fg.jvp(lambda q: np.quantile(x, q, method="hazen"), (0.4,), (1.0,))[1] == 6.0


# -- convolutions --------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_no_product_is_formed_outside(f, mode):
    for a, v in [
        ([0.3, -1.2, 2.0, 0.1, 0.9], [INF, 1.0]),
        ([0.3, INF, 2.0, 0.1, 0.9], [2.0, 1.0, -1.0]),
        ([NAN, 1.0, 2.0], [1.0, 0.5, INF, 3.0]),
        ([1.0, 2.0], [-INF, 1.0]),
        ([3.0], [1.0, INF]),
    ]:
        alike(lambda a, v: f(a, v, mode), np.array(a), np.array(v))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, complex])
def test_convolutions_of_every_dtype_are_numpys(f, mode, dtype):
    a, v = (np.arange(-3, n - 3).astype(dtype) for n in (7, 4))
    alike(lambda a, v: f(a, v, mode), a, v)
    alike(lambda a, v: f(v, a, mode), a, v)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_have_derivatives(mode):
    fg.check_grads(lambda a, v: np.convolve(a, v, mode) ** 2, (SIX, PAIR[0]), order=2)
    fg.check_grads(lambda a, v: np.correlate(a, v, mode) ** 2, (PAIR[0], SIX), order=2)


def test_derivatives_beside_an_infinity_are_the_sums_they_are():
    a, v = np.array([0.3, -1.2, 2.0]), np.array([INF, 1.0])
    total = fg.grad(lambda a, v: np.sum(np.convolve(a, v)), argnums=(0, 1))
    by_a, by_v = total(a, v)
    np.testing.assert_allclose(by_a, [INF, INF, INF])
    np.testing.assert_allclose(by_v, [1.1, 1.1])
    by_v, by_a = total(v, a)
    np.testing.assert_allclose(by_a, [INF, INF, INF])
    np.testing.assert_allclose(by_v, [1.1, 1.1])


# -- slopes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "spacing", [(), (0.5,), (np.arange(6.0) / 4,), (np.arange(6) ** 2,), (np.float32(0.1),)]
)
@pytest.mark.parametrize("order", [1, 2])
def test_slopes_beside_gaps_are_numpys(spacing, order):
    for middle in (NAN, INF, 1.0):
        f = np.array([0.3, 1.0, middle, 4.0, -2.0, 0.5])
        alike(lambda f: np.gradient(f, *spacing, edge_order=order), f)
        alike(lambda f: np.gradient(f[::-1], *spacing, edge_order=order), f)
        alike(lambda f: np.gradient(f.astype(np.float32), *spacing, edge_order=order), f)
    alike(
        lambda f: np.gradient(f, *spacing, edge_order=order), np.array([3, 250, 1, 7, 9, 2], "u1")
    )


def test_spacings_may_be_lists_small_integers_and_numbers_of_python():
    for spacing in ([0, 1, 3, 7, 8, 9], np.array([9, 8, 7, 3, 2, 0], "u1"), 2, [0, 1, 2, 3, 4, 5]):
        alike(lambda f: np.gradient(f, spacing), SIX)  # noqa: B023
        alike(lambda f: np.gradient(f, spacing), SIX.astype(np.float32))  # noqa: B023
    expected = np.gradient(SIX, np.append(2 * SIX[0], np.arange(5.0)))
    found = fg.jit(lambda f: np.gradient(f, [2 * f[0], 0.0, 1.0, 2.0, 3.0, 4.0]))(SIX)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("axis", [np.int64(1), -1, (1,), (np.int64(0),)])
def test_slopes_along_axes_of_any_kind_of_integer(axis):
    alike(lambda f: np.gradient(f, 2.0, axis=axis), PAIR)


@pytest.mark.parametrize("order", [1, 2])
def test_slopes_have_derivatives_by_samples_and_places(order):
    x = np.cumsum(1 + SIX**2)
    slopes = lambda f, x: np.gradient(f**2, x, edge_order=order)  # noqa: E731
    fg.check_grads(slopes, (SIX, x), order=2)
    fg.check_grads(slopes, (SIX, 0.3), order=2)
    fg.check_grads(lambda f: slopes(f, np.arange(6.0)), (SIX,), order=2)
    assert fg.grad(lambda f: np.gradient(f)[2])(np.array([1.0, 2, NAN, 4, 5])).tolist() == [
        0,
        -0.5,
        0,
        0.5,
        0,
    ]


# -- what lies between ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    "levels",
    [[1, INF, 2], [INF, 1, 2], [1, 2, -INF], [INF, INF, 2], [-INF, 0, INF], [1, NAN, 2], [0, 3, 1]],
)
@pytest.mark.parametrize("kwargs", [{}, {"left": 7.0, "right": NAN}, {"period": 2.5}])
def test_between_knots_beside_infinities_is_numpys(levels, kwargs):
    x = np.array([0, 0.5, 1, 1.7, 2, -1, 3, NAN, INF])
    alike(lambda x, fp: np.interp(x, KNOTS, fp, **kwargs), x, np.array(levels, float))


def test_between_knots_that_fall_together_is_numpys():
    x, knots = np.array([-2.0, -1, 0, 0.5]), np.array([-3.0, -2, 0, 0])
    for levels in ([-2.3, NAN, -0.5, NAN], [1.0, 2.0, INF, 4.0], [1.0, 2.0, 3.0, 4.0]):
        alike(lambda x, fp: np.interp(x, knots, fp), x, np.array(levels))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32, np.float64])
def test_what_lies_between_is_in_double_precision(dtype):
    x = np.array([0, 1, 2]).astype(dtype)
    alike(lambda x: np.interp(x, KNOTS.astype(np.float32), x), x)
    alike(lambda x: np.interp(x, KNOTS, x * (1 + 2j)), x)


def test_a_period_counts_by_its_size():
    x = np.linspace(-7, 7, 23)
    alike(lambda x: np.interp(x, [0.5, 3, 1], [1.0, 4.0, -2.0], period=-4), x)
    fg.check_grads(lambda x: np.interp(x, [0.5, 3, 1], [1.0, 4.0, -2.0], period=-4), (SIX,))


def test_a_knot_has_the_slope_beside_it_and_a_steep_one_its_level():
    slope = fg.grad(lambda x: np.interp(x, KNOTS, [0.0, 1.0, 5.0]))
    assert [slope(x) for x in (0.0, 1.0, 2.0)] == [1.0, 4.0, 4.0]
    by_level = fg.grad(lambda fp: np.interp(2.0, KNOTS, fp))(np.array([1.0, INF, 2.0]))
    assert by_level.tolist() == [0.0, 0.0, 1.0]


# -- order and differences -----------------------------------------------------------------------
@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_no_number_comes_last(side):
    for a in ([1.0, 2.0, NAN], [1.0, 2.0, NAN, NAN], [1.0, 2.0], []):
        v = np.array([NAN, 1.0, INF, -INF, 2.5])
        alike(lambda a, v: np.searchsorted(a, v, side), np.array(a), v)
        alike(lambda a, v: np.searchsorted(a, v, side), np.array(a), np.array([[1, 2], [3, 0]]))


def test_no_differences_leave_all_as_it_is():
    alike(lambda x: np.diff(x, n=0, prepend=1.0), SIX)
    alike(lambda x: np.diff(x, n=0), WHOLE)
    assert fg.grad(lambda x: np.sum(np.diff(x, 0, append=2.0)))(SIX).tolist() == [1.0] * 6


# -- together ------------------------------------------------------------------------------------
def test_correlations_are_at_most_one():
    for x in (np.outer([1.0, -3.0, 1e-3], [0.1, 0.7, 0.33]), PAIR, PAIR * (1 + 2j)):
        found = fg.jit(np.corrcoef)(x)
        np.testing.assert_allclose(found, np.corrcoef(x), rtol=1e-12, atol=1e-12)
        assert np.abs(np.real(found)).max() <= 1.0
    fg.check_grads(lambda x: np.corrcoef(x)[0, 1], (PAIR,), order=2)


# -- what is not a number ------------------------------------------------------------------------
@pytest.mark.parametrize("f", [np.nanvar, np.nanstd])
@pytest.mark.parametrize("ddof", [0, 1, 2, 3])
def test_spreads_of_too_few_are_numpys(f, ddof):
    for x in (np.array([[1.0, NAN], [2.0, 5.0]]), np.array([[1, 4], [2, 5]])):
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            alike(lambda x: f(x, axis=0, ddof=ddof), x)


def test_means_and_spreads_in_a_dtype():
    x = np.array([[1.0, NAN, 2.5], [2.0, 5.0, -1.0]])
    for f in (np.nanmean, np.nanvar, np.nanstd):
        found = fg.jit(lambda x: f(x, axis=1, dtype=np.float32))(x)  # noqa: B023
        np.testing.assert_allclose(found, f(x, axis=1, dtype=np.float32), rtol=1e-6)
        assert found.dtype == np.float32
    fg.check_grads(lambda x: np.nanvar(x, dtype=float), (SIX,), order=2)


# -- choices -------------------------------------------------------------------------------------
@pytest.mark.parametrize("default", [0, 1.5, 2j, True, np.float64(2.0)])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex64])
def test_choices_have_the_dtype_of_all(default, dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    for choices in ([x, 1.5], [1, x], [x, np.float32([1, 2, 3])]):
        alike(lambda x: np.select([x == 1, x == 2], choices, default), x)  # noqa: B023


def test_choices_have_derivatives():
    f = lambda x: np.select([x < 0, x < 0.5], [x**2, 1], np.sin(x))  # noqa: E731
    fg.check_grads(f, (SIX,), order=2)


def test_pieces_of_a_scalar_and_of_lists_of_truths():
    for f in (
        lambda x: np.piecewise(x, [x < 1, x >= 1], [lambda t: t**2, 7.0]),
        lambda x: np.piecewise(x, x < 1, [lambda t: t**2, 7.0]),
    ):
        alike(f, np.array(0.3))
    alike(lambda x: np.piecewise(x, [True, False, True, False], [np.square]), WHOLE)
    alike(lambda x: np.piecewise(x, np.array([[1, 0, 1, 0], [0, 0, 1, 1]]), [1, np.square]), WHOLE)
    fg.check_grads(lambda x: np.piecewise(x, [x < 0], [np.square, np.sin]), (SIX,), order=2)


@pytest.mark.parametrize("degree", [np.int64(1), True, 2])
def test_degrees_are_integers_of_any_kind(degree):
    alike(lambda x: np.polyfit(np.arange(6.0), x, degree), SIX)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (
            lambda x: np.quantile(x, 0.5, weights=x),
            ValueError,
            "Only method 'inverted_cdf' supports weights",
        ),
        (lambda x: np.diff(x, -1), ValueError, "diff: expected n of 0 or more, but got -1"),
        (lambda x: np.interp(x, KNOTS, KNOTS, period=0), ValueError, "a period other than 0"),
        (lambda x: np.polyfit(x, x, -1), ValueError, "polyfit: expected a degree of 0 or more"),
        (lambda x: np.polyfit(x, x, [1, 2]), TypeError, "polyfit: expected one degree"),
        (lambda x: np.rot90(x[None], axes=(0, 1, 0)), ValueError, "rot90: expected two axes"),
        (lambda x: np.delete(x, 6), IndexError, "delete: index 6 is out of bounds for axis 0 with"),
        (lambda x: np.delete(x, [True]), ValueError, "delete: boolean array argument obj"),
        (lambda x: x.std(unbiased=0), TypeError, "std: expected NumPy's names, but got unbiased"),
        (lambda x: np.nanvar(x, dtype=complex), TypeError, "nanvar: expected a dtype for real"),
        (
            lambda x: np.select([x], [x]),
            TypeError,
            "select: expected conditions that are true or false, but got float64[6]; write x != 0",
        ),
        (
            lambda x: np.piecewise(x, [x[:1] > 0], [1]),
            ValueError,
            "piecewise: expected conditions of the shape of float64[6], but got bool[1]",
        ),
    ],
)
def test_what_is_wrong_is_named(f, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fg.grad(lambda x: np.sum(f(x)))(SIX)


# -- boolean scalars as indices --------------------------------------------------------------------
MASK = np.array([True, False, True])
BESIDE = [
    *(0, -1, slice(None), slice(1, None), None, Ellipsis, [0, 1], np.array([[1], [0]]), MASK),
    *(np.array([True, False]), True, np.False_),
]


def of_numpy(function):
    """The value, or None where NumPy refuses."""
    try:
        return function()
    except (IndexError, ValueError):
        return None


@pytest.mark.parametrize(
    ("truth", "shape"),
    one_in(
        3,
        itertools.product([True, False, np.True_, np.array(False)], [(), (3,), (2, 3), (2, 3, 2)]),
    ),
)
def test_a_boolean_scalar_is_an_index_of_a_new_axis(truth, shape):
    x = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    variable = fg.var("x", shape)
    indices = [truth, (truth,), *[(a, truth) for a in BESIDE], *[(truth, a) for a in BESIDE]]
    for index in [*indices, *[(a, truth, b) for a in BESIDE for b in BESIDE]]:
        expected = of_numpy(lambda index=index: x[index])
        if expected is None:
            with pytest.raises((IndexError, ValueError)):
                variable[index]
            continue
        np.testing.assert_array_equal(variable[index](x=x), expected, strict=True)
        changed = x.copy()
        np.add.at(changed, index, 2.0)
        got = variable.at[index].add(2.0)(x=x)
        np.testing.assert_array_equal(got, changed)
        assert np.shape(got) == shape


@pytest.mark.parametrize("how", ["set", "multiply", "min", "max"])
def test_a_boolean_scalar_says_whether_an_array_is_updated(how):
    x = np.array([[1.0, -2.0], [3.0, 4.0]])
    whole = getattr(fg.var("x", (2, 2)).at[...], how)(0.5)(x=x)
    for truth in (True, np.True_, np.array(True)):
        got = getattr(fg.var("x", (2, 2)).at[truth], how)(0.5)(x=x)
        np.testing.assert_array_equal(got, whole, strict=True)
    got = getattr(fg.var("x", (2, 2)).at[False], how)(0.5)(x=x)
    np.testing.assert_array_equal(got, x, strict=True)


def test_a_traced_boolean_scalar_is_an_index():
    def chosen(x):
        return np.sum(x[x[0] > 0] ** 2)

    def replaced(x):
        return np.sum(x.at[x[0] > 0, 1].set(x[0]) ** 2)

    for f in (fg.grad(chosen), fg.jit(fg.grad(chosen))):
        np.testing.assert_array_equal(f(np.array([1.0, 2.0])), [2.0, 4.0])
        np.testing.assert_array_equal(f(np.array([-1.0, 2.0])), [0.0, 0.0])
    for f in (fg.grad(replaced), fg.jit(fg.grad(replaced))):
        np.testing.assert_array_equal(f(np.array([1.0, 2.0])), [4.0, 0.0])
        np.testing.assert_array_equal(f(np.array([-1.0, 2.0])), [-2.0, 4.0])
    assert fg.grad(lambda x: np.sum(x[x > 0]))(2.0) == 1.0
    rows = np.array([[1.0, 2.0], [-1.0, 2.0]])
    np.testing.assert_array_equal(fg.vmap(chosen)(rows), [5.0, 0.0])
    np.testing.assert_array_equal(fg.vmap(fg.grad(chosen))(rows), [[2.0, 4.0], [0.0, 0.0]])
    np.testing.assert_array_equal(fg.vmap(replaced)(rows), [2.0, 5.0])


def test_an_array_that_stands_twice_in_an_index_is_checked_in_both_places():
    twice = np.array([True, False])
    with pytest.raises(IndexError, match="boolean index of the shape of the axes"):
        fg.var("x", (2, 3))[twice, twice]


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, bool, np.float16, np.float64])
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32])
def test_reductions_and_scans_have_the_dtype_they_are_given(kind, dtype):
    x = np.array([[100, 3, 2], [1, 50, 7]], kind)
    for function in (np.sum, np.prod, np.cumsum, np.cumprod, np.nanprod, np.nancumsum, np.trace):
        alike(lambda x, f=function: f(x, dtype=dtype), x)
    for ufunc in (np.add, np.multiply):
        alike(lambda x, f=ufunc: f.accumulate(x, axis=1, dtype=dtype), x)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
def test_means_in_whole_numbers_are_refused(function):
    with pytest.raises(
        TypeError, match=r"expected a floating-point or complex dtype, but got .*int"
    ):
        fg.jit(lambda x: function(x, dtype=np.int64))(np.arange(3.0))


# -- products of many ----------------------------------------------------------------------------
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_of_many_entries(zeros):
    x = np.random.default_rng(0).normal(size=(2, 70)) * 1.5
    x[0, 3 : 3 + zeros] = 0.0
    slope = fg.grad(lambda x: np.sum(np.prod(x, axis=1)))(x)
    want = [np.prod(np.delete(x[0], k)) for k in range(70)]
    np.testing.assert_allclose(slope[0], want, rtol=1e-12)
    curvature = fg.hessian(lambda x: np.prod(x))(x[0])
    rest = np.prod(np.delete(x[0], [3, 4]))
    np.testing.assert_allclose(curvature[3, 4], rest, rtol=1e-12)
    assert not np.any(np.diag(curvature))


@pytest.mark.parametrize("length", range(1, 10))
@pytest.mark.parametrize("axis", [0, 1])
def test_products_of_few_entries(length, axis):
    x = np.random.default_rng(0).normal(size=(length, 5))
    x[length // 2, 1] = x[0, 2] = x[-1, 2] = 0.0
    x = np.moveaxis(x, 0, axis)
    slope = fg.grad(lambda x: np.sum(np.prod(x, axis=axis)))
    want = [np.prod(np.delete(x, k, axis), axis=axis) for k in range(length)]
    for f in (slope, fg.jit(slope, native=llvm_available())):
        np.testing.assert_allclose(f(x), np.stack(want, axis), rtol=1e-13)
    if 2 < length <= 8:  # no array of all products is made before the last
        traced, _, _ = str(fg.jit(slope).lower(x)).partition("steps of machine code")
        assert traced.count("= concatenate ") <= 1


# -- windows -------------------------------------------------------------------------------------
def test_windows_of_which_few_are_chosen():
    x = np.arange(12.0) ** 2

    def f(x):
        return np.lib.stride_tricks.sliding_window_view(x, 4)[::4, 1:]

    np.testing.assert_array_equal(fg.jit(f)(x), f(x))
    np.testing.assert_array_equal(fg.jacobian(f)(x), fg.jacfwd(f)(x))
    formula = fg.grad(lambda x: np.sum(f(x) ** 2)).expr(x)
    assert max([e.size for e in fg.expr.subexpressions(formula)]) <= 12


SINGLE = {
    "poly": lambda m: np.poly(m),
    "nanquantile": lambda m: np.nanquantile(m, m[0, 1]),
    "nanpercentile": lambda m: np.nanpercentile(m, m[0] * 30, axis=1),
    "emath.power": lambda m: np.emath.power(-m, 0.5),
    "emath.power of integers": lambda m: np.emath.power(m, 2),
}


@pytest.mark.parametrize("f", SINGLE.values(), ids=SINGLE.keys())
def test_results_of_single_precision_have_numpys_dtype(f):
    m = np.array([[1.0, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 2.0]], np.float32)
    found, expected = fg.jit(f)(m), f(m)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("ord", [1, np.inf])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_the_norm_of_an_empty_matrix_is_0(ord, shape):
    value, slope = fg.value_and_grad(lambda a: np.linalg.norm(a, ord))(np.zeros(shape))
    assert value == np.linalg.norm(np.zeros(shape), ord) == 0.0
    assert slope.shape == shape


def test_eigenvalues_of_an_empty_matrix():
    empty = np.zeros((0, 0))
    assert fg.grad(lambda a: np.sum(np.abs(np.linalg.eigvals(a))))(empty).shape == (0, 0)
    assert fg.jit(fg.grad(lambda a: np.sum(np.linalg.eigvals(a).real)))(empty).shape == (0, 0)


def test_nan_wins_in_a_maximum():
    nan = np.nan
    np.testing.assert_array_equal(fg.grad(np.max)(np.array([1.0, nan])), [0.0, 1.0])
    np.testing.assert_array_equal(fg.grad(np.min)(np.array([nan, 1.0])), [1.0, 0.0])
    for f in (np.maximum, np.minimum):
        assert fg.grad(f, (0, 1))(nan, 1.0) == (1.0, 0.0)
        assert fg.grad(f, (0, 1))(1.0, nan) == (0.0, 1.0)
        assert fg.grad(f, (0, 1))(1.0, 1.0) == (0.5, 0.5)


def test_norms_of_sizes_zero_and_equal_singular_values():
    at = np.array([[0.0, 4.0, 1.0]])
    norm = lambda x: np.sum(np.linalg.norm(x, 0.5, axis=1))  # noqa: E731
    np.testing.assert_allclose(fg.grad(norm)(at), [[0.0, 1.5, 3.0]], rtol=1e-14)
    np.testing.assert_array_equal(fg.jacfwd(norm)(at), fg.grad(norm)(at))
    for order in (2, "nuc"):
        slope = fg.grad(lambda a, order=order: np.linalg.norm(a, order))
        np.testing.assert_array_equal(slope(np.zeros((3, 2))), np.zeros((3, 2)))
        np.testing.assert_allclose(slope(np.diag([0.0, 3.0]))[1], [0.0, 1.0])
    for p in (None, -2):
        slope = fg.grad(lambda a, p=p: np.linalg.cond(a, p))
        np.testing.assert_allclose(slope(2 * np.eye(3)), np.zeros((3, 3)), atol=1e-16)
    np.testing.assert_allclose(fg.grad(np.linalg.cond)(np.diag([4.0, 2.0])), np.diag([0.5, -1.0]))


def test_unwrapped_angles_have_slope_one_at_steps_of_half_a_period():
    for x in ([0.0, np.pi, 2 * np.pi, 7.0], [0.0, -np.pi, 8.0, np.nan]):
        x = np.array(x)
        value, slope = fg.jvp(np.unwrap, (x,), (np.ones(4),))
        np.testing.assert_array_equal(value, np.unwrap(x))
        np.testing.assert_array_equal(slope[:3], np.ones(3))
        back = fg.jit(fg.grad(lambda x: np.sum(np.unwrap(x)[:3])))(x)
        np.testing.assert_array_equal(back, [1.0, 1.0, 1.0, 0.0])
    period = fg.grad(lambda p: np.sum(np.unwrap(np.array([0.0, 4.0, 9.0]), period=p)))(3.0)
    assert period == -4.0
