"""Places among entries in order: of values (`searchsorted`) and of ranks, as NumPy's at every value."""

import itertools
import warnings

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.numpy import nan_reductions, quantiles
from funcgrad.ops.scans_and_sorts import searchsorted_op

SPECIAL = np.array([-np.inf, -2.0, -0.0, 0.0, 0.5, 0.5, 3.0, np.inf, np.nan])
SORTED = [np.sort(SPECIAL[list(chosen)]) for chosen in ([4], [0, 4, 5], [1, 2, 3, 6, 7], range(9))]
CASES = [*itertools.product(range(4), ["left", "right"])]


def f(side):
    return lambda a, v: np.searchsorted(a, v, side)


@pytest.mark.parametrize(("k", "side"), CASES)
def test_special_values(k, side):
    a, v = SORTED[k], np.stack([SPECIAL, SPECIAL[::-1]])
    want = np.searchsorted(a, v, side)
    np.testing.assert_array_equal(fg.jit(f(side))(a, v), want)
    simple = searchsorted_op.columns.decompose(fg.const(a), fg.const(v), side)
    np.testing.assert_array_equal(fg.evaluate(simple), want)
    rows = fg.vmap(f(side))(np.stack([a, a]), v)
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_array_equal(fg.vmap(f(side), (None, 0))(a, v), want)
    one = fg.vmap(f(side), (0, None))(np.stack([a, a]), SPECIAL)
    np.testing.assert_array_equal(one, [want[0], want[0]])


@pytest.mark.parametrize(("k", "side"), CASES)
@pytest.mark.parametrize(
    "dtypes", [(float, float), (np.float32, float), (np.int64, float), (bool, bool)]
)
def test_machine_code(k, side, dtypes):
    pytest.importorskip("llvmlite")
    a, v = (np.nan_to_num(x, nan=7, posinf=5, neginf=-5) for x in (SORTED[k], SPECIAL))
    if dtypes == (float, float):
        a, v = SORTED[k], SPECIAL
    a, v = np.sort(a.astype(dtypes[0])), v.astype(dtypes[1])
    jitted = fg.jit(f(side), native=True)
    np.testing.assert_array_equal(jitted(a, v), np.searchsorted(a, v, side))
    assert "machine code of" in str(jitted.lower(a, v))


def test_lists_of_any_length():
    for n in range(1, 20):
        a = np.arange(float(n))
        v = np.arange(-0.5, n + 0.5, 0.5)
        for side in ("left", "right"):
            want = np.searchsorted(a, v, side)
            np.testing.assert_array_equal(fg.jit(f(side), native=True)(a, v), want)
    assert fg.jit(f("left"))(np.zeros(0), np.ones(3)).tolist() == [0, 0, 0]


def test_what_is_looked_up_has_a_derivative():
    knots, values = np.arange(5.0), np.array([0.0, 1.0, 4.0, 9.0, 16.0])
    slope = fg.grad(lambda x: values[np.searchsorted(knots, x)] * x)
    assert slope(2.5) == 9.0
    assert fg.jit(slope)(2.5) == 9.0


def test_one_knot_has_its_value_everywhere():
    x = np.array([np.nan, np.inf, -np.inf, 1.0, 3.0])
    for options in ({}, {"left": 0.0, "right": 7.0}):
        f = lambda x, options=options: np.interp(x, [1.0], [5.0], **options)  # noqa: E731
        np.testing.assert_array_equal(fg.jit(f)(x), f(x))


def test_an_index_into_a_number_is_refused_as_by_numpy():
    with pytest.raises(IndexError, match="too many indices"):
        fg.grad(lambda x: np.sum(x[[0, 0]]))(2.0)


def test_no_entry_is_compared_with_each():
    """The table of comparisons would have 10 GB."""
    x = np.random.default_rng(0).uniform(0, 1, 100_000)
    knots = np.linspace(0, 1, 100_001)
    slope = fg.grad(lambda x: np.sum(np.interp(x, knots, knots**2)))(x)
    np.testing.assert_allclose(slope, 2 * x, atol=2e-5)


def test_arguments_that_numpy_refuses():
    with pytest.raises(ValueError, match="expected side 'left' or 'right', but got 'middle'"):
        fg.jit(f("middle"))(np.arange(3.0), 1.0)
    with pytest.raises(ValueError, match="searchsorted: expected a vector"):
        fg.jit(f("left"))(np.ones((2, 3)), 1.0)


# -- order statistics ----------------------------------------------------------------------------
METHODS = [
    "linear",
    "lower",
    "higher",
    "nearest",
    "inverted_cdf",
    "closest_observation",
    "midpoint",
]
METHODS += [
    "averaged_inverted_cdf",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
]
SAMPLES = {
    "distinct": (np.random.default_rng(0).normal(size=3001), None),
    "ties": (np.round(np.random.default_rng(1).normal(size=2000), 1), None),
    "infinities": (np.where(np.arange(1500) % 5 == 0, np.inf, np.arange(1500.0)), None),
    "no number": (np.where(np.arange(1500) == 7, np.nan, np.arange(1500.0)), None),
    "columns": (np.random.default_rng(2).normal(size=(2000, 3)), 0),
    "rows": (np.random.default_rng(3).normal(size=(2, 1500)).astype(np.float32), 1),
    "integers": (np.random.default_rng(4).integers(-9, 9, 1100), None),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_quantiles_of_many_entries(name, monkeypatch):
    x, axis = SAMPLES[name]
    for q in (0.0, 0.37, 1.0, np.array([[0.1], [0.9]])):
        for method in METHODS:
            f = lambda x, q=q, method=method: np.quantile(x, q, axis=axis, method=method)  # noqa: E731
            with np.errstate(invalid="ignore"):
                want = f(x)
            np.testing.assert_array_equal(fg.jit(f)(x), want)
    np.testing.assert_array_equal(
        fg.jit(lambda x: np.median(x, axis=axis))(x), np.median(x, axis=axis)
    )
    if x.dtype.kind != "f":
        return

    def slope():
        f = lambda x: np.sum(np.median(x, axis) + np.quantile(x, [0.2, 0.77], axis))  # noqa: E731
        return fg.grad(f)(x)

    selected = slope()
    monkeypatch.setattr(quantiles, "MANY", x.size)
    np.testing.assert_allclose(selected, slope(), rtol=1e-6 if x.dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "integers"])
def test_quantiles_of_many_entries_without_what_is_no_number(name, monkeypatch):
    x, axis = SAMPLES[name]
    x = np.where(np.random.default_rng(5).random(x.shape) < 0.1, np.nan, x).astype(x.dtype)
    if axis is not None:
        x[(slice(None),) * (1 - axis) + (0,)] = np.nan  # a lane of none
    for method in METHODS:
        f = lambda x, method=method: np.nanquantile(x, [0.1, 0.9], axis=axis, method=method)  # noqa: E731
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want, jitted = f(x), fg.jit(f)(x)
        np.testing.assert_allclose(jitted, want, rtol=1e-7 if x.dtype == np.float32 else 0)

    def slope():
        f = lambda x: np.nansum(np.nanmedian(x, axis) + np.nanquantile(x, [0.2, 0.77], axis))  # noqa: E731
        return fg.grad(f)(x)

    selected = slope()
    monkeypatch.setattr(nan_reductions, "MANY", x.size)
    np.testing.assert_allclose(selected, slope(), rtol=1e-6 if x.dtype == np.float32 else 1e-14)
    if axis == 0:
        monkeypatch.undo()
        want = np.stack([fg.grad(np.nanmedian)(row) for row in x.T[1:]])
        np.testing.assert_array_equal(fg.vmap(fg.grad(np.nanmedian))(x.T[1:]), want)


def test_medians_of_mapped_rows():
    x = np.random.default_rng(0).normal(size=(4, 1500))
    np.testing.assert_array_equal(fg.vmap(np.median)(x), np.median(x, axis=1))
    want = np.stack([fg.grad(np.median)(row) for row in x])
    np.testing.assert_array_equal(fg.vmap(fg.grad(np.median))(x), want)


def test_a_share_that_is_differentiated():
    x = np.random.default_rng(0).normal(size=2000)
    f = lambda q: np.quantile(x, q)  # noqa: E731
    assert fg.grad(f)(0.3) == pytest.approx((f(0.3 + 1e-7) - f(0.3 - 1e-7)) / 2e-7, rel=1e-5)


@pytest.mark.parametrize(
    "bins",
    [
        np.array([5, 3, 1], np.uint8),
        np.array([-(2**63), 0, 2**63 - 1]),
        np.array([2**63 - 1, 0, -(2**63)]),
        np.array([False, True]),
    ],
)
def test_bins_whose_differences_overflow_rise_or_fall(bins):
    x = np.array([0.0, 2.0, 4.0, 6.0])
    np.testing.assert_array_equal(fg.jit(lambda x: np.digitize(x, bins))(x), np.digitize(x, bins))
    np.testing.assert_array_equal(fg.jit(lambda b: np.digitize(x, b))(bins), np.digitize(x, bins))
