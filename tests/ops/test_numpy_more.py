"""What NumPy builds upon its other functions: derivatives in both modes, twice, and what asks for values."""

import re

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4))
Q = np.array([0.21, 0.48, 0.77])
V, W = RNG.normal(size=7), RNG.normal(size=3)
PLACES = np.sort(RNG.uniform(-1, 1, 5))
GAPS = np.where(X > 0.4, np.nan, X)

DERIVED = {
    "trapezoid": (lambda y, x: np.trapezoid(y**2, x), (V, np.cumsum(V**2))),
    "trapezoid of even steps": (lambda y, h: np.trapezoid(y**2, dx=h, axis=0), (X, 0.3)),
    "gradient": (lambda y, h: np.gradient(y**2, h, edge_order=2), (V, 0.4)),
    "gradient of uneven steps": (lambda y, x: np.gradient(y**2, x), (V, np.cumsum(1 + V**2))),
    "gradient along two axes": (lambda y: sum(g**2 for g in np.gradient(y, 0.5, 2.0)), (X,)),
    "median": (lambda x: np.median(x**3), (V,)),
    "median of an even number": (lambda x: np.median(x**3, axis=1, keepdims=True), (X,)),
    "quantile": (lambda x: np.quantile(x**3, [0.2, 0.77], axis=0), (X,)),
    "percentile": (lambda x: np.percentile(x**3, 30, method="lower"), (X,)),
    "interp": (lambda x, xp, fp: np.interp(x, xp, fp) ** 2, (V / 3, PLACES, PLACES**2)),
    "interp around": (
        lambda x, xp, fp: np.interp(x, xp, fp, period=1.5) ** 2,
        (V, PLACES[:3], PLACES[:3] ** 2),
    ),
    "cumulative_sum": (lambda x: np.cumulative_sum(x**2, axis=0, include_initial=True), (X,)),
    "cumulative_prod": (lambda x: np.cumulative_prod(x, axis=1, include_initial=True), (X,)),
    "diff": (lambda x, y: np.diff(x**2, prepend=y, append=1.0), (V, 0.3)),
    "ptp": (lambda x: np.ptp(x**3, axis=0), (X,)),
    "nansum": (lambda x: np.nansum(np.sin(x), axis=0), (GAPS,)),
    "nanmean": (lambda x: np.nanmean(np.sin(x)), (GAPS,)),
    "nanprod": (lambda x: np.nanprod(x, axis=1), (GAPS,)),
    "nanmax": (lambda x: np.nanmax(x**2, axis=1), (GAPS,)),
    "nanmin": (lambda x: np.nanmin(x**3), (GAPS,)),
    "nanvar": (lambda x: np.nanvar(x, ddof=1), (GAPS,)),
    "nanstd": (lambda x: np.nanstd(x, axis=0), (X,)),
    "fft": (lambda x: np.abs(np.fft.fft(np.sin(x), 9)) ** 2, (V,)),
    "ifft": (lambda x: np.imag(np.fft.ifft(np.sin(x) * (1 + 2j), norm="ortho")), (V,)),
    "spectral derivative": (
        lambda x: np.real(np.fft.ifft(1j * np.fft.fftfreq(7) * np.fft.fft(x**2))) ** 2,
        (V,),
    ),
    "rfft": (lambda x: np.abs(np.fft.rfft(x**2, axis=0)) ** 2, (X,)),
    "irfft": (lambda x: np.fft.irfft(np.fft.rfft(x**2) * (1 - 3j), n=7) ** 2, (V,)),
    "fftn": (lambda x: np.abs(np.fft.fftshift(np.fft.fftn(x**2))) ** 2, (X,)),
    "irfft2": (lambda x: np.fft.irfft2(np.fft.rfft2(x**2) * (1 - 3j), (3, 5)), (X,)),
    "convolve": (lambda a, v: np.convolve(a, v), (V, W)),
    "convolve same": (lambda a, v: np.convolve(a, v, "same"), (W, V)),
    "correlate": (lambda a, v: np.correlate(a, v), (V, W)),
    "correlate full": (lambda a, v: np.correlate(a, v, "full"), (W, V)),
    "vander": (lambda x: np.vander(x, 4), (np.append(W, 0.0),)),
    "polyval": (lambda p, x: np.polyval(p, x), (W, X)),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (PLACES, V[:5])),
    "cov": (lambda x, y: np.cov(x, y), (X, X[:1] ** 2)),
    "corrcoef": (lambda x: np.corrcoef(x), (X,)),
    "average over two axes": (
        lambda x, w: np.average(np.stack([x, x**2]), axis=(2, 0), weights=w),
        (X, np.abs(X.T[:, :2]) + 1),
    ),
    **{
        f"quantile {method}": (lambda x, q, m=method: np.quantile(x, q, axis=1, method=m), (X, Q))
        for method in ("hazen", "weibull", "median_unbiased", "interpolated_inverted_cdf")
    },
    "matvec": (lambda a, x: np.matvec(a, x), (np.stack([X, X**2]), X[0])),
    "vecmat": (lambda x, a: np.vecmat(x, a), (W, X)),
    "delete": (lambda x: np.delete(x, [0, 2], axis=1) ** 2, (X,)),
    "rot90": (lambda x: np.rot90(x**2, 3), (X,)),
    "select": (lambda x: np.select([x < -0.5, x < 0.5], [x**2, np.sin(x)], x), (X,)),
    "piecewise": (
        lambda x: np.piecewise(x, [x < -0.5, x < 0.5], [lambda t: t**2, np.sin, 2.0]),
        (X,),
    ),
    "nan_to_num": (lambda x: np.nan_to_num(x) ** 2, (X,)),
    "nan_to_num by traced": (
        lambda x, low, high: (
            np.nan_to_num(np.where(x > 0, -np.inf, x), neginf=low, posinf=high) ** 2
        ),
        (X, 2.0, 3.0),
    ),
}


def _case(name):
    """The function and its arguments; one with gaps is one of the numbers around them."""
    f, args = DERIVED[name]
    if not any(np.isnan(arg).any() for arg in args):
        return f, args
    known = np.flatnonzero(~np.isnan(GAPS))
    return (
        lambda x: f(fg.const(np.full(12, np.nan)).at[known].set(x).reshape(3, 4)),
        (GAPS.ravel()[known],),
    )


@pytest.mark.parametrize("name", one_in(3, DERIVED))
def test_derivatives_are_right_in_both_modes_twice(name):
    f, args = _case(name)
    fg.check_grads(f, args, order=2)


@pytest.mark.parametrize("name", DERIVED)
def test_values_are_numpys_on_a_trace_and_compiled(name):
    f, args = DERIVED[name]
    expected = f(*args)
    np.testing.assert_allclose(fg.jit(f)(*args), expected, rtol=1e-12, atol=1e-12)
    stacked = fg.vmap(f)(*[np.stack([arg, arg]) for arg in args])
    np.testing.assert_allclose(stacked, np.stack([expected, expected]), rtol=1e-10, atol=1e-12)


THEIRS = {
    "trapezoid": lambda xp: lambda x: xp.trapezoid(x**2, dx=0.3),
    "gradient": lambda xp: lambda x: xp.sum(xp.gradient(x**2, 0.3) ** 2),
    "median": lambda xp: lambda x: xp.median(x**3) + xp.median(x[:6]),
    "quantile": lambda xp: lambda x: xp.sum(xp.quantile(x, xp.asarray([0.1, 0.6])) ** 2),
    "fft": lambda xp: lambda x: xp.sum(xp.abs(xp.fft.fft(x, 9)[:5]) ** 3),
    "ifft": lambda xp: lambda x: xp.sum(xp.abs(xp.fft.ifft(x * 1j, norm="ortho") - x) ** 2),
    "rfft": lambda xp: lambda x: xp.sum(xp.abs(xp.fft.rfft(x)[1:]) ** 3),
    "irfft": lambda xp: lambda x: xp.sum(xp.fft.irfft(xp.fft.rfft(x) * 1j, n=9) ** 4),
    "hfft": lambda xp: lambda x: xp.sum(xp.fft.hfft(x * (1 - 2j)) ** 3),
    "rfft2": lambda xp: lambda x: xp.sum(xp.abs(xp.fft.rfft2(xp.outer(x, x)) + 1) ** 3),
    "interp": lambda xp: lambda x: xp.sum(xp.interp(x[:4] / 3, xp.asarray(PLACES), x[:5]) ** 2),
    "convolve": lambda xp: lambda x: xp.sum(xp.convolve(x, x[:4], "same") ** 2),
    "correlate": lambda xp: lambda x: xp.sum(xp.correlate(x, x[:4], "same") ** 2),
    "cov": lambda xp: lambda x: xp.sum(xp.cov(x[:3], x[3:6]) ** 2),
    "corrcoef": lambda xp: lambda x: xp.sum(xp.corrcoef(x[:3], x[3:6]) ** 3),
    "polyval": lambda xp: lambda x: xp.polyval(x, 0.7),
    "nanvar": lambda xp: lambda x: xp.nanvar(xp.where(x > 0, x, xp.nan)),
    "vander": lambda xp: lambda x: xp.sum(xp.vander(x[:3], 4) ** 2),
}


@pytest.mark.parametrize("name", one_in(3, THEIRS))
def test_gradients_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        expected = np.asarray(jax.grad(THEIRS[name](jax.numpy))(jax.numpy.asarray(V)))
    np.testing.assert_allclose(fg.grad(THEIRS[name](np))(V), expected, rtol=1e-9, atol=1e-12)


def test_what_is_not_a_number_has_no_gradient():
    x = np.array([1.0, np.nan, 3.0])
    for f in (np.nansum, np.nanmean, np.nanmax, np.nanvar, np.nanprod):
        assert fg.grad(f)(x)[1] == 0.0
        assert np.isfinite(fg.grad(f)(x)).all()
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.nan_to_num(x) ** 2))(x), [2, 0, 6])
    assert fg.grad(np.nanstd)(np.array([2.0, np.nan, 2.0])).tolist() == [0.0, 0.0, 0.0]


def test_what_is_not_chosen_never_reaches_the_gradient():
    x = np.array([-1.0, 0.0, 4.0])
    f = lambda x: np.sum(np.piecewise(x, [x > 0], [np.sqrt, lambda t: 3 * t]))  # noqa: E731
    np.testing.assert_array_equal(fg.grad(f)(x), [3.0, 3.0, 0.25])
    g = lambda x: np.sum(np.select([x > 0], [np.sqrt(x)], 0.0))  # noqa: E731
    np.testing.assert_array_equal(fg.grad(g)(x), [0.0, 0.0, 0.25])


def test_order_and_infinities():
    assert fg.grad(np.median)(np.array([3.0, np.inf, 1.0, -np.inf])).tolist() == [0.5, 0, 0.5, 0]
    assert np.isnan(fg.jit(np.median)(np.array([1.0, np.nan, 2.0])))
    assert fg.grad(lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 1.0, 5.0]))(1.0) == 2.0
    assert fg.grad(lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0]))(2.0) == 0.0


def test_questions_about_values_are_answered_by_them():
    x = np.array([[0.0, 2.0], [-1.0, 0.0]])

    def f(x):
        rows, columns = np.nonzero(x)
        assert np.flatnonzero(x > 0).tolist() == [1]
        assert np.argwhere(x).tolist() == [[0, 1], [1, 0]]
        assert np.allclose(x, x)
        assert not np.array_equal(x, x + 1)
        assert not np.array_equal(x, x[0])
        return np.sum(x[rows, columns] ** 2)

    np.testing.assert_array_equal(fg.grad(f)(x), 2 * x)
    np.testing.assert_array_equal(fg.jit(fg.grad(f))(x), 2 * x)
    with pytest.raises(ValueError, match="nonzero: expected an array, but got float64; write atl"):
        fg.grad(lambda x: np.nonzero(x)[0].sum() * x)(1.0)


def test_piecewise_is_numpys():
    for conditions, functions in [
        (lambda x: [x < 0, x >= 0], [-1, 1]),
        (lambda x: [x < 0], [np.abs, np.square]),
        (lambda x: x < 0, [np.abs, 4]),
        (lambda x: [x < 1, x < 0], [np.abs, 4, np.sin]),
    ]:
        f = lambda x, c=conditions, g=functions: np.piecewise(x, c(x), g)  # noqa: E731
        for x in (V, np.arange(-2, 3)):
            np.testing.assert_array_equal(fg.jit(f)(x), f(x))
            assert fg.jit(f)(x).dtype == f(x).dtype


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: np.gradient(x, 1, 2), TypeError, "gradient: expected one spacing, or one for"),
        (lambda x: np.gradient(x[:1]), ValueError, "gradient: expected 2 entries or more along"),
        (lambda x: np.gradient(x, edge_order=3), ValueError, "expected edge_order 1 or 2, but got"),
        (lambda x: np.gradient(x, [1.0]), ValueError, "a distance, or 7 coordinates along axis 0"),
        (lambda x: np.quantile(x, 2.0), ValueError, "quantile: expected shares from 0 to 1"),
        (
            lambda x: np.quantile(x, x[0], method="middle"),
            ValueError,
            "quantile: expected a method among linear, midpoint",
        ),
        (lambda x: np.quantile(x[:0], 0.5), ValueError, "quantile: expected at least one entry"),
        (lambda x: np.quantile(x * 1j, 0.5), TypeError, "quantile: expected real entries, but got"),
        (lambda x: np.interp(x, [0.0, 1.0], [1.0]), ValueError, "interp: expected vectors of one"),
        (lambda x: np.interp(x * 1j, [0.0], [1.0]), TypeError, "interp: expected real places"),
        (lambda x: np.searchsorted(x, 1, "up"), ValueError, "expected side 'left' or 'right'"),
        (
            lambda x: np.cumulative_sum(x.reshape(1, 7)),
            ValueError,
            "expected an axis for float64[1,",
        ),
        (
            lambda x: np.convolve(x, x[:0]),
            ValueError,
            "convolve: expected two vectors with entries",
        ),
        (
            lambda x: np.correlate(x, x, "wide"),
            ValueError,
            "correlate: expected a mode among 'full'",
        ),
        (
            lambda x: np.fft.rfft(x * 1j),
            TypeError,
            "rfft: expected real values, but got complex128[7]",
        ),
        (lambda x: np.fft.fft(x, 0), ValueError, "fft: expected one point or more, but got 0 for"),
        (lambda x: np.fft.fft(x, norm="all"), ValueError, "fft: expected norm to be 'backward'"),
        (lambda x: np.fft.fftn(x, (1, 2), (0,)), ValueError, "fftn: expected a size for each axis"),
        (lambda x: np.vander(x[None]), ValueError, "vander: expected a vector, but got float64[1,"),
        (lambda x: np.polyfit(x, x, [1, 2]), TypeError, "polyfit: expected one degree"),
        (lambda x: np.polyfit(x, x[:2], 1), ValueError, "polyfit: expected as many values as"),
        (lambda x: np.cov(x[None, None]), ValueError, "cov: expected a vector or a matrix"),
        (lambda x: np.rot90(x[None], axes=(1, -1)), ValueError, "rot90: expected two axes"),
        (lambda x: np.select([x > 0], [x, x]), ValueError, "select: expected as many choices"),
        (lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), ValueError, "expected 1 functions, or one"),
        (lambda x: x.sum(dim=0), TypeError, "write axis= instead of"),
        (lambda x: x.mean(keepdim=True), TypeError, "write keepdims= instead of keepdim="),
    ],
)
def test_what_is_wrong_is_named(f, error, message):
    with pytest.raises(error, match=re.escape(message)):
        fg.grad(f)(V)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.fill_diagonal(x, 0),
        lambda x: np.copyto(x, 0.0),
        lambda x: np.put(x, 0, 1.0),
        lambda x: np.putmask(x, x > 0, 1.0),
    ],
)
def test_what_changes_in_place_says_what_to_write(change):
    with pytest.raises(
        TypeError, match=r"would change an array in place.*write x = x\.at\[i\]\.set"
    ):
        fg.grad(fg.adopt(lambda x: change(x) or np.sum(x), False))(np.eye(3))


def test_a_ufunc_of_another_package_is_not_taken_for_the_one_of_its_name():
    numba = pytest.importorskip("numba")

    def square(x):
        return x * x + 3.0 * x

    foreign = numba.vectorize(["float64(float64)"])(square)
    assert foreign.__name__ == "square"
    assert not fg.supports(foreign)
    assert fg.value_and_grad(foreign)(2.0) == (10.0, 7.0)


def test_trapezoids_over_places_with_more_axes_than_samples():
    y, x = np.array([1.0, 2.0, 4.0]), np.array([[0.0, 1.0, 3.0], [0.5, 0.7, 0.8]])
    np.testing.assert_array_equal(fg.jit(np.trapezoid)(y, x), np.trapezoid(y, x))
    for jacobian in (fg.jacrev, fg.jacfwd):
        slope = jacobian(lambda x: np.trapezoid(y, x))(x)
        np.testing.assert_allclose(slope[0, 0], [-1.5, -1.5, 3.0])
        np.testing.assert_allclose(slope[0, 1], 0.0)


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.median(x, overwrite_input=True),
        lambda x: np.quantile(x, 0.3, overwrite_input=True),
        lambda x: np.percentile(x, [30, 60], overwrite_input=True),
        lambda x: np.concatenate([x, x], casting="no"),
        lambda x: np.hstack([x, x], casting="safe"),
        lambda x: np.stack([x, x], dtype="float32", casting="same_kind"),
        lambda x: np.linalg.trace(np.outer(x, x), dtype="float32"),
        lambda x: np.arange(x[0], 9.0, 1.7, dtype=int),
        lambda x: np.arange(0.3, 3.0, x[0] / 3, dtype="int64"),
        lambda x: np.linalg.lstsq(np.vander(x, 3), x, rcond=1)[0],
        lambda x: np.linalg.lstsq(np.vander(x, 3), x * x, rcond=-1)[0],
        lambda x: np.polyfit(x, np.exp(x), 2, rcond=1.5),
    ],
)
def test_arguments_that_are_seldom_given(f):
    x = np.array([1.31, 2.72, 0.55, 1.87])
    value, slope = fg.jvp(f, (x,), (np.ones(4),))
    expected = np.asarray(f(x))
    assert np.asarray(value).dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-9)
    single = expected.dtype == np.float32
    step = 2.0**-8 if single else 1e-6
    differences = (np.asarray(f(x + step), float) - f(x - step)) / (2 * step)
    np.testing.assert_allclose(slope, differences, rtol=1e-3 if single else 1e-6, atol=1e-7)


def test_casting_that_numpy_refuses():
    with pytest.raises(
        TypeError, match="concatenate: expected arrays that become float32 by casting="
    ):
        fg.grad(lambda x: np.concatenate([x, x], dtype="float32", casting="safe").sum())(np.ones(2))


def test_gradients_of_statistics_read_as_a_person_writes_them():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=6), rng.normal(size=6)
    longest = {
        100: [np.std, np.var, np.cov, lambda x: np.cov(x, y)[0, 1], scipy.stats.sem],
        210: [lambda x: np.corrcoef(x, y)[0, 1], lambda x: scipy.stats.norm.fit(x)[1]],
        300: [scipy.stats.skew, scipy.stats.kurtosis, scipy.stats.variation],
    }
    for most, functions in longest.items():
        for f in functions:
            assert len(str(fg.grad(f).expr(x))) <= most


CORRELATED = {
    "two vectors": lambda m, x: (m(x[0], x[1]),),
    "a vector": lambda m, x: (m(x[0]),),
    "one twice": lambda m, x: (m(x[0], x[0]),),
    "rows": lambda m, x: (m(x),),
    "columns": lambda m, x: (m(x, rowvar=False),),
    "rows and a vector": lambda m, x: (m(x, x[0] ** 2),),
}


@pytest.mark.parametrize("name", CORRELATED)
@pytest.mark.parametrize("m", [np.cov, np.corrcoef])
@pytest.mark.parametrize("kind", ["f8", "f4", "c16"])
def test_covariances_and_correlations(name, m, kind):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 6)).astype(kind) + (
        1j * rng.normal(size=(3, 6)) if kind == "c16" else 0
    )
    f = CORRELATED[name]
    (found,), (want,) = fg.jit(lambda x: f(m, x))(x), f(m, x)
    np.testing.assert_allclose(found, want, rtol=1e-13 if kind != "f4" else 1e-6, atol=1e-14)
    assert np.asarray(found).dtype == np.asarray(want).dtype
    assert np.shape(found) == np.shape(want)
    if m is np.corrcoef and kind != "c16":
        assert np.max(np.abs(found)) <= 1
    if kind == "f8" and (m is np.cov or name not in ("a vector", "one twice")):
        fg.check_grads(lambda x: np.sum(np.sin(f(m, x)[0])), (x,), order=2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy
@pytest.mark.parametrize("scale", [1e200, 1e160, 1e-160, 1e-200])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_correlations_overflow_and_underflow_as_numpys(scale, size):
    x = scale * np.random.default_rng(0).normal(size=size)
    for y in (x[::-1].copy(), x * x):
        for how in (fg.jit, lambda f: lambda *args: fg.vjp(f, *args)[0]):
            # A covariance that overflows depends on the order of its terms.
            for m in (np.corrcoef, np.cov)[: 1 + (scale < 1)]:
                np.testing.assert_allclose(how(m)(x, y), m(x, y), rtol=1e-9)


def test_correlations_of_what_does_not_vary_are_nan():
    y = np.arange(4.0)
    found = fg.jit(lambda x: np.corrcoef(0 * x, y))(y)
    assert np.array_equal(np.isnan(found), [[True, True], [True, False]])


def test_more_names_of_numpy():
    assert fg.grad(np.degrees)(1.0) == pytest.approx(180 / np.pi)
    assert fg.grad(np.radians)(1.0) == pytest.approx(np.pi / 180)
    x = np.array([3.0, 0.0, 2.0])
    assert fg.grad(lambda x: np.sum(x[np.where(x)]))(x).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_average(axis, keepdims):
    rng = np.random.default_rng(0)
    x, whole = rng.random((3, 4)), rng.random((3, 4))
    along = rng.random(12 if axis is None else x.shape[axis])
    for weights in (None, whole, *([] if axis is None else [along])):

        def f(x, w=weights):
            return np.average(x, axis, w, keepdims=keepdims)

        value, _ = fg.vjp(f, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        fg.check_grads(f, (x,), order=1)
    total = fg.vjp(lambda x: np.average(x, axis, whole, returned=True), x)[0][1]
    np.testing.assert_allclose(total, np.average(x, axis, whole, returned=True)[1])
    assert fg.grad(lambda w: np.average([1.0, 3.0], weights=w))(np.ones(2)).tolist() == [-0.5, 0.5]
    with pytest.raises(TypeError, match="average: expected axis for weights of another shape"):
        fg.grad(lambda x: np.average(x, weights=np.ones(5)))(np.ones(4))
