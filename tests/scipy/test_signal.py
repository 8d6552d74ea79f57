"""Convolutions, filters and sampling: values are SciPy's, derivatives those of central differences."""

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import funcgrad as fg
from funcgrad.scipy import ndimage, signal
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.cos(np.arange(7.0))
K = np.array([0.3, -0.7, 0.5])
IMAGE = np.sin(np.arange(20.0)).reshape(4, 5)
KERNEL = np.cos(np.arange(6.0)).reshape(2, 3)
A = np.array([1.3, -0.4, 0.2])
MONIC = np.array([1.0, -0.4, 0.2])

SIGNAL = {
    "convolve": lambda m, x, k: m.convolve(x, k),
    "convolve same": lambda m, x, k: m.convolve(x, k, "same"),
    "convolve valid": lambda m, x, k: m.convolve(k, x, "valid"),
    "convolve on two axes": lambda m, x, k: m.convolve(IMAGE * x[0], KERNEL * k[0], "same"),
    "fftconvolve": lambda m, x, k: m.fftconvolve(x, k),
    "fftconvolve same": lambda m, x, k: m.fftconvolve(x, k, mode="same"),
    "fftconvolve on one axis": lambda m, x, k: m.fftconvolve(
        IMAGE * x[0], IMAGE[:, :2] * k[0], axes=1
    ),
    "fftconvolve complex": lambda m, x, k: np.abs(m.fftconvolve(x * 1j, k + 2j)),
    "correlate": lambda m, x, k: m.correlate(x, k),
    "correlate same": lambda m, x, k: m.correlate(x, k, "same"),
    "correlate valid": lambda m, x, k: m.correlate(k, x, "valid"),
    "correlate complex": lambda m, x, k: np.abs(m.correlate(x * 1j + k[0], k + 2j)),
    "convolve2d": lambda m, x, k: m.convolve2d(IMAGE * x[0], KERNEL * k[0]),
    "convolve2d same": lambda m, x, k: m.convolve2d(
        IMAGE * x[0], KERNEL * k[0], "same", fillvalue=2.0
    ),
    "convolve2d valid": lambda m, x, k: m.convolve2d(KERNEL * x[0], IMAGE * k[0], "valid"),
    "convolve2d of a row": lambda m, x, k: m.convolve2d(IMAGE * x[0], KERNEL[:1] * k[0], "valid"),
    "convolve2d symm": lambda m, x, k: m.convolve2d(IMAGE * x[0], KERNEL * k[0], "same", "symm"),
    "convolve2d wrap": lambda m, x, k: m.convolve2d(IMAGE * x[0], KERNEL * k[0], boundary="wrap"),
    "correlate2d": lambda m, x, k: m.correlate2d(IMAGE * x[0], KERNEL * k[0], "same", "symm"),
    "lfilter": lambda m, x, k: m.lfilter(k, A + k[::-1] * 0.1, x),
    "lfilter fir": lambda m, x, k: m.lfilter(k, [1.0], x),
    "lfilter of rows": lambda m, x, k: m.lfilter(k, A, IMAGE * x[:5], axis=0),
    "lfilter with a state": lambda m, x, k: np.concatenate(m.lfilter(k, A, x, zi=k[:2])),
    # At a[0] = 1, where SciPy does not divide by a[0].
    "lfilter_zi": lambda m, x, k: m.lfilter_zi(k[:2], MONIC + k - K),
    "lfilter_zi of more zeros": lambda m, x, k: m.lfilter_zi(x[:5], MONIC + k - K),
    "lfiltic": lambda m, x, k: m.lfiltic(k[:2], MONIC + k - K, x[:3]),
    "lfiltic with inputs": lambda m, x, k: m.lfiltic(x[:5], MONIC + k - K, k[:1], x[3:5]),
    "sosfilt": lambda m, x, k: m.sosfilt(
        np.array([[1.0, 0.2, 0.1, 1.0, -0.3, 0.2]] * 2)
        * (1 + 0.1 * k[0] * np.arange(6) * (np.arange(6) != 3)),
        x,
    ),
    "medfilt": lambda m, x, k: m.medfilt(x, 5),
    "medfilt of an image": lambda m, x, k: m.medfilt(IMAGE * x[:5], (3, 1)),
    "medfilt2d": lambda m, x, k: m.medfilt2d(IMAGE * x[:5]),
    "order_filter": lambda m, x, k: m.order_filter(IMAGE * x[:5], np.eye(3), 2),
    "sepfir2d": lambda m, x, k: m.sepfir2d(IMAGE * x[:5], k, np.append(k, [0.3, 1.2])),
    "upfirdn": lambda m, x, k: m.upfirdn(k, x, 3, 2),
    **{
        f"upfirdn, {mode}": lambda m, x, k, mode=mode: m.upfirdn(x, x[:4], 2, 3, mode=mode)
        for mode in ("edge", "symmetric", "antireflect", "antisymmetric", "line", "smooth")
    },
    "upfirdn of rows": lambda m, x, k: m.upfirdn(x, IMAGE * k[0], 2, 3, 0),
    "upfirdn wrapped": lambda m, x, k: m.upfirdn(x, k, mode="wrap"),
    "upfirdn of a constant": lambda m, x, k: m.upfirdn(k, x[:4], 4, mode="constant", cval=0.7),
    "upfirdn mirrored": lambda m, x, k: m.upfirdn(x, k, 2, mode="reflect"),
    "cspline1d_eval": lambda m, x, k: m.cspline1d_eval(x, 9 * k + 0.37, 0.7, 0.2),
    "qspline1d_eval": lambda m, x, k: m.qspline1d_eval(x, 12 * k + 0.2),
    "peak_prominences": lambda m, x, k: m.peak_prominences(np.sin(np.arange(9.0)) * k[1], [5])[0],
    "detrend": lambda m, x, k: m.detrend(x * k[0]),
    "detrend constant": lambda m, x, k: m.detrend(x * k[0], type="constant"),
    "detrend in parts": lambda m, x, k: m.detrend(x * k[0], bp=3),
}
PLACES = np.array([[0.3, 1.7, 2.9, 3.4, -0.4], [0.1, 3.6, 1.2, 2.2, 2.7]])
NDIMAGE = {
    f"map_coordinates {order} {mode}": lambda m, x, k, o=order, e=mode: m.map_coordinates(
        np.tile(IMAGE, (3, 3)) * x[0], PLACES + 0.1 * k[0], order=o, mode=e, cval=0.7
    )
    for order in range(6)
    for mode in ("constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap", "grid-constant")
} | {
    "map_coordinates without prefilter": lambda m, x, k: m.map_coordinates(
        IMAGE * x[:5], PLACES + 0.1 * k[0], mode="mirror", prefilter=False
    ),
    "spline_filter": lambda m, x, k: m.spline_filter(IMAGE * x[:5]),
    "spline_filter1d of order 5": lambda m, x, k: m.spline_filter1d(x, 5, mode="reflect"),
    "spline_filter of order 4": lambda m, x, k: m.spline_filter(IMAGE * x[:5], 4, mode="grid-wrap"),
    "shift of order 2": lambda m, x, k: m.shift(IMAGE * x[:5], 0.4 * k[:2], order=2),
    "gaussian_filter": lambda m, x, k: m.gaussian_filter(IMAGE * x[:5], 0.8 + 0.1 * k[0]),
    "gaussian_filter of a derivative": lambda m, x, k: m.gaussian_filter(
        IMAGE * x[:5], 0.8, order=1
    ),
    "gaussian_filter of widths": lambda m, x, k: m.gaussian_filter(
        IMAGE * x[:5], (0.8, 1.1), mode=["nearest", "wrap"]
    ),
    "gaussian_filter1d": lambda m, x, k: m.gaussian_filter1d(
        x, 1.1, order=2, mode="constant", cval=0.3
    ),
    "gaussian_filter1d with a radius": lambda m, x, k: m.gaussian_filter1d(
        x, 1.1, radius=2, mode="mirror"
    ),
    "uniform_filter": lambda m, x, k: m.uniform_filter(IMAGE * x[:5], (2, 3)),
    "convolve1d": lambda m, x, k: m.convolve1d(x, np.concatenate([k, k[:1]]), origin=-1),
    "correlate1d": lambda m, x, k: m.correlate1d(IMAGE * x[:5], k, axis=0, mode="nearest"),
    "uniform_filter1d": lambda m, x, k: m.uniform_filter1d(x, 4, origin=1, mode="wrap"),
    "maximum_filter1d": lambda m, x, k: m.maximum_filter1d(x, 3, mode="constant", cval=0.1),
    "minimum_filter1d": lambda m, x, k: m.minimum_filter1d(IMAGE * x[:5], 4, axis=0),
    "correlate": lambda m, x, k: m.correlate(IMAGE * x[:5], KERNEL * k, origin=(0, 1)),
    "complex correlate": lambda m, x, k: np.imag(m.correlate(IMAGE * x[:5], KERNEL * k * 1j + k)),
    "complex convolve": lambda m, x, k: np.imag(m.convolve(IMAGE * x[:5], KERNEL * k * 1j + k)),
    "complex correlate1d": lambda m, x, k: np.imag(m.correlate1d(IMAGE * x[:5] * 1j, k + 1j)),
    "complex convolve1d": lambda m, x, k: np.imag(m.convolve1d(IMAGE * x[:5] + 1j, k + 1j)),
    "convolve": lambda m, x, k: m.convolve(IMAGE * x[:5], KERNEL * k, mode="wrap", origin=(-1, 0)),
    "median_filter": lambda m, x, k: m.median_filter(IMAGE * x[:5], (2, 3)),
    "median_filter of a footprint": lambda m, x, k: m.median_filter(
        IMAGE * x[:5], footprint=[[0, 1], [1, 1]], mode="nearest"
    ),
    "rank_filter": lambda m, x, k: m.rank_filter(x, -2, 4, origin=1),
    "percentile_filter": lambda m, x, k: m.percentile_filter(IMAGE * x[:5], 80, 3, mode="mirror"),
    "affine_transform": lambda m, x, k: m.affine_transform(
        IMAGE * x[:5], np.eye(2) + 0.1 * k[0] * KERNEL[:, :2], 0.3 * k[1], mode="nearest"
    ),
    "affine_transform of an offset": lambda m, x, k: m.affine_transform(
        IMAGE * x[:5], np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.3]]), output_shape=(3, 4), order=1
    ),
    "affine_transform of factors": lambda m, x, k: m.affine_transform(
        IMAGE * x[:5], np.array([0.7, 0.8]), [0.1, 0.2], order=1, mode="mirror"
    ),
    "geometric_transform": lambda m, x, k: m.geometric_transform(
        IMAGE * x[:5], lambda p: (p[0] * 0.9 + 0.1 * k[0], p[1] * 0.8), order=1, mode="reflect"
    ),
    "shift": lambda m, x, k: m.shift(IMAGE * x[:5], 0.4 * k[:2], mode="nearest"),
    "zoom": lambda m, x, k: m.zoom(IMAGE * x[:5], (1.5, 0.7), order=1),
    "zoom of cells": lambda m, x, k: m.zoom(
        IMAGE * x[:5], 2, order=1, mode="grid-constant", grid_mode=True
    ),
    "fourier_gaussian": lambda m, x, k: m.fourier_gaussian(IMAGE * x[:5], 0.8),
    "fourier_shift": lambda m, x, k: np.real(m.fourier_shift(IMAGE * x[:5], (0.8, 1.0))),
}
OF_THESE = {
    "sobel": lambda v: scipy.ndimage.sobel(v, 0),
    "prewitt": scipy.ndimage.prewitt,
    "laplace": scipy.ndimage.laplace,
    "gaussian_laplace": lambda v: scipy.ndimage.gaussian_laplace(v, 1.0),
    "gaussian_gradient_magnitude": lambda v: scipy.ndimage.gaussian_gradient_magnitude(v, 1.0),
    "maximum_filter": lambda v: scipy.ndimage.maximum_filter(v, 2),
    "grey_opening": lambda v: scipy.ndimage.grey_opening(v, (2, 2)),
    "white_tophat": lambda v: scipy.ndimage.white_tophat(v, 2),
    "morphological_gradient": lambda v: scipy.ndimage.morphological_gradient(v, 2),
    "rotate": lambda v: scipy.ndimage.rotate(v, 20.0, order=1),
}
CASES = {name: (signal, scipy.signal, f) for name, f in SIGNAL.items()} | {
    name: (ndimage, scipy.ndimage, f) for name, f in NDIMAGE.items()
}
DEFAULT = [
    name for name in CASES if "map_coordinates" not in name or name.endswith(("constant", "mirror"))
]


def check(case):
    found, own, f = CASES[case]
    moves = np.sin(1 + np.arange(7.0)), np.array([0.6, 0.3, -0.8])

    def along(module, t):
        return f(module, X + t * moves[0], K + t * moves[1])

    value, slope = fg.jvp(lambda t: along(found, t), (0.0,), (1.0,))
    wanted = along(own, 0.0)
    assert np.shape(value) == np.shape(wanted)
    np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-14)
    h = 1e-4
    near = [along(own, s * h) for s in (1, -1, 2, -2)]
    wanted = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    back = fg.jit(fg.grad(lambda t: np.sum(along(found, t))))(0.0)
    assert back == pytest.approx(np.sum(slope), rel=1e-10, abs=1e-12)
    return found, along


@pytest.mark.parametrize("case", one_in(2, sorted({*DEFAULT[::3], "lfilter_zi", "lfiltic"})))
def test_values_are_scipys_and_slopes_are_differences(case):
    check(case)


@pytest.mark.parametrize("name", one_in(3, OF_THESE))
def test_scipys_filters_that_are_made_of_others(name):
    f = OF_THESE[name]
    value, _ = fg.value_and_grad(lambda v: (np.sum(f(v) ** 2), f(v)), has_aux=True)(IMAGE)
    np.testing.assert_allclose(value[1], f(IMAGE), rtol=1e-12, atol=1e-14)
    fg.check_grads(f, (IMAGE,), order=1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_batches_and_second_derivatives(case):
    found, along = check(case)
    if case != "gaussian_filter":  # whose radius depends on sigma
        rows = fg.vmap(lambda t: along(found, t))(np.array([0.0, 0.01]))
        np.testing.assert_allclose(rows[1], along(found, 0.01), rtol=1e-11, atol=1e-13)
    first = fg.grad(lambda t: np.sum(np.sin(along(found, t))))
    wanted = (first(1e-5) - first(-1e-5)) / 2e-5
    assert fg.grad(first)(0.0) == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    assert fg.jvp(first, (0.0,), (1.0,))[1] == pytest.approx(wanted, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("rate", [(3, 2), (1, 4)])
def test_resampling_is_differentiated(rate):
    f = lambda v: scipy.signal.resample_poly(v, *rate)  # noqa: E731
    value, slope = fg.jvp(f, (X,), (X,))
    np.testing.assert_allclose(value, f(X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(slope, f(X), rtol=1e-13, atol=1e-14)
    single = X.astype(np.float32)
    for g in (f, scipy.signal.medfilt, lambda v: scipy.signal.upfirdn(single[:2], v)):
        assert fg.jvp(g, (single,), (single,))[0].dtype == g(single).dtype


def test_images_keep_their_dtype():
    image = IMAGE.astype(np.float32)
    for f in (
        lambda v, t: scipy.ndimage.gaussian_filter(v, t),
        lambda v, t: scipy.ndimage.map_coordinates(v, [[t], [t]], order=1),
        lambda v, t: scipy.ndimage.shift(v, t, order=1),
    ):
        found = fg.jvp(lambda t, f=f: f(image, t), (0.8,), (1.0,))[0]
        assert found.dtype == f(image, 0.8).dtype == np.float32
    # Of an image of whole numbers SciPy's result has whole numbers.
    with pytest.raises(TypeError, match=r"map_coordinates: expected an image of floats, .*astype"):
        fg.grad(lambda t: scipy.ndimage.map_coordinates(np.eye(3, dtype=int), [[t], [t]])[0])(0.5)


def test_dtypes():
    x = np.arange(4, dtype=np.float32)
    assert fg.grad(lambda x: np.sum(signal.convolve(x, x)))(x).dtype == np.float32
    assert signal.convolve([1, 2], [3, 4]).dtype == scipy.signal.convolve([1, 2], [3, 4]).dtype


FILTERS = {
    "correlate1d": lambda image, m: m.correlate1d(image, [0.5, -0.7, 0.4]),
    "gaussian_filter": lambda image, m: m.gaussian_filter(image, 1.3),
    "gaussian_laplace": lambda image, m: m.gaussian_laplace(image, 1.0),
    "uniform_filter": lambda image, m: m.uniform_filter(image, 6),
    "uniform_filter1d": lambda image, m: m.uniform_filter1d(image, 49),
}


@pytest.mark.parametrize("dtype", [int, np.uint8, bool])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_integers_round_as_scipy(name, dtype):
    image = np.full((5, 7), 49).astype(dtype)
    image[1:, 2:5] = np.arange(12).reshape(4, 3) % 7
    f = FILTERS[name]
    expected = f(image, scipy.ndimage)
    value = fg.jit(lambda image: f(image, scipy.ndimage))(image)
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(
        fg.vmap(lambda image: f(image, scipy.ndimage))(np.stack([image, image[::-1]]))[0], expected
    )


def test_filters_write_integers_as_scipy():
    def smoothed(image):
        taken = np.zeros(image.shape, int)
        scipy.ndimage.gaussian_filter(image, 1.3, output=taken)
        return taken

    np.testing.assert_array_equal(fg.jit(smoothed)(9.5 * IMAGE), smoothed(9.5 * IMAGE))
    slope = fg.grad(lambda image: np.sum(smoothed(image) * image))(9.5 * IMAGE)
    np.testing.assert_array_equal(slope, smoothed(9.5 * IMAGE))


def test_what_is_not_supported_is_refused():
    with pytest.raises(ValueError, match="map_coordinates: expected an order from 0 to 5"):
        fg.grad(lambda t: ndimage.map_coordinates(X * t, [[0.5]], order=6)[0])(1.0)
    with pytest.raises(ValueError, match="medfilt: expected odd sizes"):
        fg.grad(lambda t: signal.medfilt(X * t, 4)[0])(1.0)
    with pytest.raises(ValueError, match="upfirdn: expected a mode among"):
        fg.grad(lambda t: signal.upfirdn(K, X * t, mode="around")[0])(1.0)
    with pytest.raises(ValueError, match="map_coordinates: expected coordinates with a first axis"):
        fg.grad(lambda t: ndimage.map_coordinates(X * t, [[0.5], [1.0]])[0])(1.0)
    with pytest.raises(ValueError, match="convolve: expected mode"):
        fg.grad(lambda t: signal.convolve(X * t, K, "some")[0])(1.0)
    with pytest.raises(ValueError, match="convolve2d: expected boundary"):
        fg.grad(lambda t: signal.convolve2d(IMAGE * t, KERNEL, boundary="some")[0, 0])(1.0)
    with pytest.raises(ValueError, match="one operand at least as large"):
        fg.grad(lambda t: signal.convolve2d(IMAGE * t, IMAGE.T, "valid")[0, 0])(1.0)
    assert signal.butter.__wrapped__ is scipy.signal.butter
    assert ndimage.laplace.__wrapped__ is scipy.ndimage.laplace


def test_peaks():
    places = np.arange(30.0)

    def f(t):
        x = np.sin(t * places) * (2 + np.cos(0.3 * places + t))
        options = {"height": 0.2, "threshold": 0.01, "prominence": 0.1, "distance": 3}
        peaks, found = scipy.signal.find_peaks(x, **options)
        names = ("peak_heights", "left_thresholds", "right_thresholds", "prominences")
        bases = 0.0 * (found["left_bases"] + found["right_bases"])
        return np.stack([x[peaks] + bases, *[found[name] for name in names]])

    t, h = 0.9, 1e-5
    value, slope = fg.jvp(f, (t,), (1.0,))
    np.testing.assert_allclose(value, f(t), rtol=1e-14)
    np.testing.assert_allclose(slope, (f(t + h) - f(t - h)) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-13)
    np.testing.assert_allclose(fg.jit(f)(1.4), f(1.4), rtol=1e-13)  # other peaks: another path
    wave = np.sin(0.7 * places) * (2 + np.cos(0.3 * places))

    def heights(h):  # options are constants
        return np.sum(scipy.signal.find_peaks(wave, height=(h, h + 1))[1]["peak_heights"])

    assert heights(0.1) != heights(1.5)
    for h in (0.1, 1.5):
        assert fg.jit(heights)(h) == heights(h)
        assert fg.grad(lambda h: heights(h) + h**2)(h) == 2 * h
    with pytest.raises(TypeError, match="find_peaks: plateau_size=2 is not supported"):
        fg.grad(lambda t: scipy.signal.find_peaks(X * t, plateau_size=2)[1]["plateau_sizes"][0])(
            1.0
        )


# -- filters as an operation -----------------------------------------------------------------------
NUMERATOR, DENOMINATOR = np.array([0.2, 0.3, 0.1]), np.array([1.3, -0.4, 0.2, 0.05])
WAVE = np.cos(np.arange(12.0) ** 1.3)
LINEAR_FILTERS = {
    "a signal": (lambda x: scipy.signal.lfilter(NUMERATOR, DENOMINATOR, x), WAVE),
    "a numerator": (lambda b: scipy.signal.lfilter(b, DENOMINATOR, WAVE), NUMERATOR),
    "a denominator": (lambda a: scipy.signal.lfilter(NUMERATOR, a, WAVE), DENOMINATOR),
    "all": (lambda v: scipy.signal.lfilter(v[:3], v[3:6], v[4:]), 0.5 + 0.1 * WAVE),
    "without a denominator": (lambda b: scipy.signal.lfilter(b, 1.0, WAVE), NUMERATOR),
    "of order 0": (lambda x: scipy.signal.lfilter([2.0], [1.0], x), WAVE),
    "along an axis": (
        lambda x: scipy.signal.lfilter(NUMERATOR, DENOMINATOR, x, axis=1),
        WAVE.reshape(2, 3, 2),
    ),
    "a state": (
        lambda z: np.concatenate(scipy.signal.lfilter(NUMERATOR, DENOMINATOR, WAVE, zi=z)),
        np.array([0.1, 0.2, -0.3]),
    ),
    "longer than the signal": (
        lambda z: np.concatenate(scipy.signal.lfilter(NUMERATOR, DENOMINATOR, z[:2], zi=z)),
        np.array([0.1, 0.2, -0.3]),
    ),
    "empty": (lambda x: scipy.signal.lfilter(NUMERATOR, DENOMINATOR, x), np.zeros(0)),
    "one precision": (
        lambda x: scipy.signal.lfilter(np.float32([0.5]), np.float32([1, -0.5]), x),
        np.float32(WAVE),
    ),
}


@pytest.mark.parametrize("name", LINEAR_FILTERS)
def test_filters_run_by_scipy_have_derivatives_of_every_order(name):
    f, x = LINEAR_FILTERS[name]
    step = 1e-2 if x.dtype == np.float32 else 1e-6
    tolerance = 1e-3 if x.dtype == np.float32 else 1e-6
    value, push = fg.linearize(f, x)
    # The last state is found from what follows the signal, and so to rounding.
    np.testing.assert_allclose(value, f(x), rtol=1e-13, atol=1e-15)
    assert value.dtype == f(x).dtype
    direction = np.sin(1.0 + np.arange(x.size)).reshape(x.shape).astype(x.dtype)
    ends = f(x + step * direction), f(x - step * direction)
    slope = push(direction)
    np.testing.assert_allclose(
        slope, (ends[0] - ends[1]) / (2 * step), rtol=tolerance, atol=tolerance
    )
    weights = np.cos(np.arange(value.size)).reshape(value.shape).astype(x.dtype)
    back = fg.vjp(f, x)[1](weights)[0]
    assert np.sum(back * direction) == pytest.approx(
        np.sum(weights * slope), rel=tolerance, abs=1e-6
    )
    if x.size and x.dtype == np.float64:
        gradient = fg.grad(lambda x: np.sum(weights * f(x) ** 2))
        bend = fg.jvp(gradient, (x,), (direction,))[1]
        ends = gradient(x + 1e-5 * direction), gradient(x - 1e-5 * direction)
        np.testing.assert_allclose(bend, (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(fg.jit(gradient)(x), gradient(x), rtol=1e-12, atol=1e-14)
    stack = np.stack([x, x + 0.1])
    np.testing.assert_allclose(fg.vmap(f)(stack), [f(x), f(x + 0.1)], rtol=1e-6, atol=1e-12)


def test_a_leading_coefficient_of_zero_is_refused_as_by_scipy():
    for run in (f := lambda a: scipy.signal.lfilter([1.0], [a, 1.0], WAVE).sum(), fg.grad(f)):
        with pytest.raises(ValueError, match=r"a\[0\]"):
            run(0.0)


def test_a_filter_is_one_node_that_other_readers_unroll():
    x = fg.var("x", 5)
    e = signal.lfilter(NUMERATOR, [1.0, -0.5], x)
    assert "linear_filter" in {node.op.name for node in e.graph.values()}
    assert fg.same(fg.from_json(fg.to_json(e)), e)
    plain = scipy.signal.lfilter(NUMERATOR, [1.0, -0.5], WAVE[:5])
    np.testing.assert_allclose(
        np.asarray(fg.precise(e, digits=30, x=WAVE[:5]), float), plain, rtol=1e-14
    )


# -- poles ------------------------------------------------------------------------------------------
PLACED = {
    f"{name}, {kind} poles": (lambda v, name=name, poles=poles: _placed(v, poles, name))
    for name in ("gain_matrix", "X", "computed_poles")
    for kind, poles in (("real", [-1.0, -2.0, -3.0]), ("complex", [-1.0, -2 - 1j, -2 + 1j]))
}


def _placed(v, poles, name):
    a = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7]]) * (1 + 0.1 * v[0])
    b = np.array([[0.7], [0.4], [0.2]]) + v[1] * np.array([[0.1], [-0.2], [0.3]])
    found = scipy.signal.place_poles(a, b, np.array(poles) * (1 + 0.1 * v[2]))
    return np.abs(getattr(found, name))


@pytest.mark.parametrize("case", one_in(3, PLACED))
def test_the_gain_of_one_input(case):
    check_function(PLACED[case], [0.3, 0.1, 0.2], vmap=False, rtol=1e-5, value_rtol=1e-12)


def test_the_gain_of_as_many_inputs_as_states():
    def gain(a):
        return scipy.signal.place_poles(a, np.eye(2) + 0.1 * a, [-1.0, -2.0]).gain_matrix

    check_function(gain, [[1.3, 0.2], [0.5, 2.1]], vmap=False, value_rtol=1e-14)


def test_gains_that_poles_do_not_determine_are_refused():
    def gain(a):
        return scipy.signal.place_poles(a, np.eye(3)[:, :2], [-1.0, -2.0, -3.0]).gain_matrix[0, 0]

    a = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7]])
    with pytest.raises(TypeError, match=r"2 inputs for 3 states.*solve_continuous_are"):
        fg.grad(gain)(a)


GRIDS = {
    "shift": lambda m, a, how: m.shift(a, (9.3, -1.7), **how),
    "shift beyond the image": lambda m, a, how: m.shift(a, (90.0, 0.5), **how),
    "zoom": lambda m, a, how: m.zoom(a, (0.7, 1.2), **how),
    "zoom of cells": lambda m, a, how: m.zoom(a, 1.3, grid_mode=True, **how),
    "factors": lambda m, a, how: m.affine_transform(a, [-1.1, 0.9], [70.5, -3.0], **how),
}
MODES = (
    "reflect",
    "grid-mirror",
    "constant",
    "grid-constant",
    "nearest",
    "mirror",
    "grid-wrap",
    "wrap",
)


@pytest.mark.filterwarnings("ignore:It is recommended to use mode")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", one_in(2, GRIDS))
def test_images_longer_than_responses_are_sampled_along_one_axis_after_the_other(name, mode):
    rng = np.random.default_rng(0)
    image, move = rng.normal(size=(2, 70, 66))
    f = GRIDS[name]
    for order in (1, 3):
        how = {"order": order, "mode": mode, "cval": 0.7}
        value, tangent = fg.jvp(lambda a, how=how: f(ndimage, a, how), (image,), (move,))
        # Of the nearest pixels, SciPy's own are not exact.
        size = 1e-6 if mode == "nearest" else 1e-10
        np.testing.assert_allclose(value, f(scipy.ndimage, image, how), rtol=1e-9, atol=size)
        linear = f(scipy.ndimage, move, how | {"cval": 0.0})
        np.testing.assert_allclose(tangent, linear, rtol=1e-9, atol=size)
        w = rng.normal(size=value.shape)
        slope = fg.jit(fg.grad(lambda a, w=w, how=how: np.sum(w * f(ndimage, a, how))))(image)
        np.testing.assert_allclose(np.sum(slope * move), np.sum(w * tangent), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_wrapped_images_are_read_at_their_ends_as_by_scipy(order):
    image, places = np.array([3.0, 1.0, 4.0, 1.5, 9.0]), np.arange(-9.0, 14.0)
    f = lambda m, a: m.map_coordinates(a, [places], order=order, mode="wrap")  # noqa: E731
    value, tangent = fg.jvp(lambda a: f(ndimage, a), (image,), (image,))
    np.testing.assert_allclose(value, f(scipy.ndimage, image), rtol=1e-12)
    np.testing.assert_allclose(tangent, value, rtol=1e-12)
    shifted = fg.jvp(lambda a: ndimage.shift(a, 8.0, order=order, mode="wrap"), (image,), (image,))
    own = scipy.ndimage.shift(image, 8.0, order=order, mode="wrap")
    np.testing.assert_allclose(shifted[0], own, rtol=1e-12)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "grid-wrap"])
def test_long_spline_filters_and_their_transposes(mode):
    x, w = np.random.default_rng(1).normal(size=(2, 3, 80))
    for axis, order in ((1, 3), (-1, 5)):
        f = lambda x, axis=axis, order=order: ndimage.spline_filter1d(x, order, axis, mode=mode)  # noqa: E731
        np.testing.assert_array_equal(
            fg.jit(f)(x), scipy.ndimage.spline_filter1d(x, order, axis, mode=mode)
        )
        slope = fg.grad(lambda x, f=f: np.sum(w * f(x)))
        matrix = scipy.ndimage.spline_filter1d(np.eye(80), order, 0, mode=mode)
        np.testing.assert_allclose(slope(x), w @ matrix, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(fg.vmap(slope)(np.stack([x, x]))[1], slope(x), rtol=1e-14)
        fg.check_grads(lambda x, f=f: f(x) ** 2, (x,), order=2)


RATES = [(1, 1), (2, 3), (3, 2), (1, 4), (4, 1), (6, 4), (5, 7), (1, 32), (32, 1), (11, 9)]


@pytest.mark.parametrize(("up", "down"), RATES)
def test_phases_of_upfirdn(up, down):
    rng = np.random.default_rng(up)
    for n, taps in ((1, 1), (5, 1), (3, 40), (50, 7)):
        h, x = (
            rng.normal(size=taps),
            rng.normal(size=(2, n)) + (1j * rng.normal(size=(2, n)) if n == 5 else 0),
        )
        f = lambda h, x: signal.upfirdn(h, x, up, down)  # noqa: E731
        value, tangent = fg.jvp(f, (h, x), (np.cos(h), np.sin(x)))
        own = scipy.signal.upfirdn
        np.testing.assert_allclose(value, own(h, x, up, down), rtol=1e-12, atol=1e-13)
        linear = own(np.cos(h), x, up, down) + own(h, np.sin(x), up, down)
        np.testing.assert_allclose(tangent, linear, rtol=1e-12, atol=1e-13)
        for axis, mode in ((0, "constant"), (1, "symmetric"), (1, "line")):
            if n > 7:
                value = fg.jit(lambda x, h=h, a=axis, m=mode: signal.upfirdn(h, x, up, down, a, m))(
                    x
                )
                np.testing.assert_allclose(
                    value, own(h, x, up, down, axis, mode), rtol=1e-11, atol=1e-12
                )
    fg.check_grads(f, (h, x), order=2)


@pytest.mark.parametrize("mode", MODES)
def test_samples_at_known_coordinates(mode):
    rng = np.random.default_rng(2)
    image, move = rng.normal(size=(2, 9, 8))
    places = rng.uniform(-4, 12, (2, 5, 6))
    places[:, 0, 0], places[:, 1, 1] = [2.0, 3.0], [0.0, 7.0]
    for order in (0, 1, 3):
        how = {"order": order, "mode": mode, "cval": 0.7}
        f = lambda a, how=how: ndimage.map_coordinates(a, places, **how)  # noqa: E731
        value, tangent = fg.jvp(f, (image,), (move,))
        np.testing.assert_allclose(
            value, scipy.ndimage.map_coordinates(image, places, **how), rtol=1e-9, atol=1e-10
        )
        linear = scipy.ndimage.map_coordinates(move, places, **how | {"cval": 0.0})
        np.testing.assert_allclose(tangent, linear, rtol=1e-9, atol=1e-10)
        w = rng.normal(size=(5, 6))
        slope = fg.grad(lambda a, f=f, w=w: np.sum(w * f(a)))
        np.testing.assert_allclose(np.sum(slope(image) * move), np.sum(w * tangent), rtol=1e-9)
        np.testing.assert_allclose(
            fg.vmap(slope)(np.stack([image, move]))[0], slope(image), rtol=1e-12
        )
    # No pixel beside those that are read reaches a sample.
    image[8, 7] = np.nan
    away = np.array([[1.2, -3.0], [2.1, 5.0]])
    how = {"order": 1, "mode": "constant", "cval": 0.5}
    value = fg.jit(lambda a: ndimage.map_coordinates(a, away, **how))(image)
    np.testing.assert_allclose(value, scipy.ndimage.map_coordinates(image, away, **how))
    assert (
        fg.grad(lambda a: np.sum(ndimage.map_coordinates(a, np.zeros((2, 0)), order=1)))(move).sum()
        == 0
    )


@pytest.mark.parametrize("name", ["correlate", "correlate2d"])
def test_correlations_of_complex_images_with_larger_ones(name):
    check_function(
        lambda x: getattr(scipy.signal, name)(KERNEL * (x[0] + 2j), IMAGE * (x[1] - 1j), "valid"),
        np.array([0.4, 0.7]),
        value_rtol=1e-14,
    )


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.int32])
@pytest.mark.parametrize(
    "name", ["convolve", "correlate", "convolve2d", "correlate2d", "fftconvolve"]
)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_integers_are_integers(name, dtype, mode):
    a, b = np.arange(8).astype(dtype), np.array([40, 3, 2]).astype(dtype)
    if name.endswith("2d"):
        a, b = a.reshape(2, 4), b[None, :2]
    wanted = getattr(scipy.signal, name)(a, b, mode)
    found = fg.jit(lambda a, b: getattr(scipy.signal, name)(a, in2=b, mode=mode))(a, b)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_convolutions_of_truth_values_are_truth_values():
    a, b = np.array([True, False, True, True]), np.array([True, True])
    found = fg.jit(scipy.signal.convolve)(a, b)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, scipy.signal.convolve(a, b))


@pytest.mark.parametrize("n_fft", [None, 64])
def test_filters_of_minimum_phase_by_the_hilbert_transform_have_slopes(n_fft):
    """The least magnitude is 0, whose square root has no slope: it was NaN."""
    h = scipy.signal.firwin(9, 0.3)
    window = np.array([1.0, 1.2, 1.5, 1.7, 2.0, 1.7, 1.5, 1.2, 1.0])

    def f(s):
        return scipy.signal.minimum_phase(h * window**s, method="hilbert", n_fft=n_fft)

    for wanted, found in zip(
        (f(1.1), f(1.1)), (fg.jvp(f, (1.1,), (1.0,))[0], fg.jit(f)(1.1)), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
    slope = (f(1.1 + 1e-5) - f(1.1 - 1e-5)) / 2e-5
    np.testing.assert_allclose(fg.jacfwd(f)(1.1), slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jacobian(f)(1.1), slope, rtol=1e-6, atol=1e-7)


LARGE = np.array([[2**31 + 1, 3], [5, 7]])
OF_LARGE = {
    "convolve": lambda m, a: m.convolve(a[0], np.array([2**30 + 7, 1])),
    "correlate": lambda m, a: m.correlate(a[0], np.array([2**30 + 7, 1]), mode="valid"),
    "convolve2d": lambda m, a: m.convolve2d(a, LARGE[:1], mode="same"),
    "correlate2d": lambda m, a: m.correlate2d(a, LARGE[:1]),
    "of truth values": lambda m, a: m.convolve(a[0] > 3, LARGE[0] > 3),
}


@pytest.mark.parametrize("name", OF_LARGE)
def test_convolutions_of_integers_are_exact(name):
    f = OF_LARGE[name]
    expected = f(scipy.signal, LARGE)
    found = fg.jit(lambda a: f(signal, a))(LARGE)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    both = fg.vmap(lambda a: f(signal, a))(np.stack([LARGE, LARGE + 1]))
    np.testing.assert_array_equal(both[1], f(scipy.signal, LARGE + 1))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # of SciPy's own
def test_a_fill_value_beside_integers_is_one_of_them():
    total = lambda c: 1.0 * np.sum(signal.convolve2d(LARGE, LARGE[:1], fillvalue=c))  # noqa: E731
    assert fg.jit(total)(3) == total(3)
    assert fg.value_and_grad(lambda c: total(c) + c)(2.5) == (total(2) + 2.5, 1.0)


def test_a_numerator_that_begins_with_zero_keeps_its_slope():
    """SciPy cuts the zero off, and writes it again."""

    def f(x):
        return signal.tf2ss([x, 1.0, 2.0], [2.0 + x, 2.0, 3.0])

    slopes = fg.jvp(f, (0.0,), (1.0,))[1]
    near = [(a - b) / 2e-6 for a, b in zip(f(1e-6), f(-1e-6), strict=True)]
    for found, expected in zip(slopes, near, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    gains = fg.jvp(lambda k: signal.zpk2ss([1.0], [2.0, 3.0], k), (0.0,), (1.0,))[1]
    np.testing.assert_allclose(gains[2], [[1.0, -1.0]])


TRANSFERS = {
    "several outputs": lambda x: ([[x, 1.0, 2.0], [0.0, x * x, 1.0]], [2.0, x, 3.0]),
    "an array": lambda x: (x * np.array([[1.0, 2.0], [3.0, 4.0]]), [1.0, 2.0, x]),
    "zeros before the first coefficients": lambda x: ([0, 0, 0, x, 1.0], [0, 2.0, 2.0 * x]),
    "no state": lambda x: ([x], [2.0]),
}


@pytest.mark.filterwarnings("ignore:Badly conditioned filter coefficients")
@pytest.mark.parametrize("case", TRANSFERS)
def test_state_spaces_of_transfer_functions(case):
    def f(x):
        return signal.tf2ss(*TRANSFERS[case](x))

    values, slopes = fg.jvp(f, (0.3,), (1.0,))
    for k, (value, slope) in enumerate(zip(values, slopes, strict=True)):
        np.testing.assert_allclose(value, f(0.3)[k], rtol=1e-14)
        np.testing.assert_allclose(
            slope, (f(0.3 + 1e-6)[k] - f(0.3 - 1e-6)[k]) / 2e-6, rtol=1e-8, atol=1e-9
        )
    with pytest.raises(ValueError, match="Improper transfer function"):
        fg.grad(lambda x: signal.tf2ss([x, 1.0, 2.0], [1.0, 2.0])[3].sum())(0.3)


@pytest.mark.filterwarnings("ignore:Badly conditioned filter coefficients")
def test_state_spaces_of_mapped_transfer_functions():
    """All paths run, also that on which the denominator is too short."""
    below = np.array([[2.0, 1.0, 3.0], [1.0, 0.5, 4.0]])
    found = fg.jit(fg.vmap(lambda num, den: signal.tf2ss(num, den)[0]))(below / 2, below)
    np.testing.assert_allclose(found, [signal.tf2ss(den / 2, den)[0] for den in below])


def test_zeros_before_the_denominator_of_a_filter_at_rest():
    def f(b):
        return signal.lfilter_zi(b, [0.0, 2.0, 1.0])

    b = np.array([0.4, 2.0, 3.0])
    try:
        value = f(b)
    except ValueError:
        pytest.skip("this SciPy refuses a denominator that begins with 0")
    np.testing.assert_allclose(fg.jvp(f, (b,), (b,))[0], value, rtol=1e-14)
    assert np.all(np.isfinite(fg.jacrev(f)(b)))


@pytest.mark.parametrize("order", [3, 5])
def test_second_derivatives_where_an_image_is_mirrored(order):
    values = np.array([0.3, 1.2, -0.4, 0.9, 2.0, 1.1])

    def f(q):
        return ndimage.map_coordinates(values, [[q]], order=order, mode="mirror")[0]

    for q in (0.0, 5.0):
        expected = (f(q + 1e-3) - 2 * f(q) + f(q - 1e-3)) / 1e-6
        assert fg.grad(f)(q) == pytest.approx(0.0, abs=1e-12)
        assert fg.grad(fg.grad(f))(q) == pytest.approx(expected, rel=2e-3)
