"""Morphology by footprints and structures, and filters of Fourier transforms in their parameters."""

import math

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

IMAGE = np.cos(np.arange(30.0) ** 2).reshape(5, 6)
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
CORNER = np.array([[1, 0], [1, 1]])
STRUCTURE = np.array([[0.0, 0.1, 0.3], [0.2, 0.5, 0.1], [0.3, -0.1, 0.0]])
MORPHOLOGY = {
    **{
        f"{name}, {mode}": lambda a, name=name, mode=mode: getattr(scipy.ndimage, name)(
            a, footprint=CROSS, mode=mode, cval=0.3
        )
        for name in ("grey_erosion", "grey_dilation", "maximum_filter", "minimum_filter")
        for mode in ("reflect", "nearest", "mirror", "wrap", "constant")
    },
    "an even footprint": lambda a: scipy.ndimage.grey_dilation(a, footprint=CORNER, origin=(0, -1)),
    "an axis": lambda a: scipy.ndimage.minimum_filter(a, footprint=[1, 0, 1], axes=(1,)),
    "a structure": lambda a: scipy.ndimage.grey_erosion(a, structure=STRUCTURE),
    "a gradient": lambda a: scipy.ndimage.morphological_gradient(a, structure=STRUCTURE),
    "a Laplacian": lambda a: scipy.ndimage.morphological_laplace(a, structure=STRUCTURE),
    "a closing": lambda a: scipy.ndimage.grey_closing(a, structure=STRUCTURE),
    "a top hat": lambda a: scipy.ndimage.white_tophat(a, footprint=CROSS),
}


@pytest.mark.parametrize("case", one_in(5, MORPHOLOGY))
def test_morphology(case):
    check_function(MORPHOLOGY[case], IMAGE)


@pytest.mark.parametrize("name", ["grey_erosion", "grey_dilation"])
def test_structures_that_are_traced(name):
    function = getattr(scipy.ndimage, name)
    check_function(lambda s: function(IMAGE, structure=s), STRUCTURE)
    check_function(lambda s: function(IMAGE, footprint=CROSS, structure=s), STRUCTURE)


FOURIER = ("fourier_ellipsoid", "fourier_gaussian", "fourier_shift", "fourier_uniform")


@pytest.mark.parametrize("name", FOURIER)
def test_filters_of_fourier_transforms_in_their_parameters(name):
    function, whole, half = getattr(scipy.ndimage, name), np.fft.fft2(IMAGE), np.fft.rfft2(IMAGE)
    sizes = np.array([1.2, 0.7])
    check_function(lambda s: function(whole, s), sizes, value_rtol=1e-13)
    check_function(lambda s: function(half, s, n=6), sizes, value_rtol=1e-13)
    check_function(lambda s: function(half.T, s, 6, axis=0), sizes, value_rtol=1e-13)
    check_function(lambda s: function(whole, s[0]), sizes[:1], value_rtol=1e-13)


@pytest.mark.parametrize("shape", [(7,), (3, 4, 2)])
def test_ellipsoids_in_one_and_three_dimensions_in_their_sizes(shape):
    spectrum = np.cos(np.arange(math.prod(shape)) ** 2).reshape(shape)
    sizes = np.array([1.2, 0.7, 2.1])[: len(shape)]
    ellipsoid = scipy.ndimage.fourier_ellipsoid
    check_function(lambda s: ellipsoid(spectrum, s), sizes, value_rtol=1e-13)


WITH_NANS = np.where(np.cos(np.arange(30.0) ** 3).reshape(5, 6) > 0.7, np.nan, IMAGE)
FILTERS = {
    "maximum": lambda a: scipy.ndimage.maximum_filter(a, 3),
    "minimum along an axis": lambda a: scipy.ndimage.minimum_filter1d(a, 4, axis=0),
    "minimum of a footprint": lambda a: scipy.ndimage.minimum_filter(a, footprint=CROSS),
    "median": lambda a: scipy.ndimage.median_filter(a, (3, 2), mode="wrap"),
    "median of lines": lambda a: scipy.ndimage.median_filter(a[1], 3),
    "rank": lambda a: scipy.ndimage.rank_filter(a, -2, footprint=CROSS),
    "percentile": lambda a: scipy.ndimage.percentile_filter(a, 30, 3, mode="constant", cval=0.3),
    "erosion": lambda a: scipy.ndimage.grey_erosion(a, structure=STRUCTURE),
    "opening": lambda a: scipy.ndimage.grey_opening(a, 3),
    "medfilt": lambda a: scipy.signal.medfilt(a, 3),
    "medfilt2d": lambda a: scipy.signal.medfilt2d(a, 3),
    "order_filter": lambda a: scipy.signal.order_filter(a, CROSS, 1),
}


@pytest.mark.parametrize("name", FILTERS)
def test_neighborhoods_with_nan_are_scipys(name):
    f, seen = FILTERS[name], np.isfinite(WITH_NANS)
    value, tangent = fg.jvp(f, (WITH_NANS,), (np.ones(WITH_NANS.shape),))
    np.testing.assert_array_equal(value, f(WITH_NANS))
    np.testing.assert_array_equal(fg.jit(f)(WITH_NANS), value)
    np.testing.assert_array_equal(fg.vmap(f)(np.stack([IMAGE, WITH_NANS]))[1], value)
    finite = np.isfinite(value)
    np.testing.assert_allclose(tangent[finite & (value != 0.3) & (value != 0)], 1.0)
    if name != "erosion":  # it adds the structure
        slope = fg.jacobian(f)(WITH_NANS)[finite]
        chosen = np.where(seen, WITH_NANS, 0.0)
        at = np.where(np.any(slope, axis=(1, 2)), value[finite], 0.0)
        np.testing.assert_allclose(np.sum(slope * chosen, axis=(1, 2)), at)


OVER_AXES = {
    "rank": lambda a: scipy.ndimage.rank_filter(a, 1, size=2, axes=(1,)),
    "median": lambda a: scipy.ndimage.median_filter(a, 3, axes=0, origin=1),
    "percentile": lambda a: scipy.ndimage.percentile_filter(a, 60, footprint=[1, 0, 1], axes=(-1,)),
    "correlate": lambda a: scipy.ndimage.correlate(a, [1.0, 2.0, 3.0], axes=(0,), origin=-1),
    "convolve": lambda a: scipy.ndimage.convolve(a, [1.0, 2.0], mode="wrap", axes=(1,)),
}


@pytest.mark.parametrize("name", OVER_AXES)
def test_filters_over_some_axes(name):
    check_function(OVER_AXES[name], IMAGE)


def test_of_equal_pixels_a_stable_order_chooses():
    flat = np.zeros(7)
    shares = fg.jacobian(lambda x: scipy.signal.medfilt(x, 3))(flat)
    np.testing.assert_array_equal(shares[1:-1], np.eye(7)[1:-1])  # each the pixel in the middle
    np.testing.assert_array_equal(shares[[0, -1]], np.eye(7)[[0, -1]])
    image = np.round(np.random.default_rng(0).normal(size=(9, 8)) * 2)
    for size in (3, (2, 5)):
        around = np.lib.stride_tricks.sliding_window_view(
            np.pad(
                np.arange(72).reshape(9, 8),
                [(s // 2, s - 1 - s // 2) for s in np.broadcast_to(size, 2)],
                "symmetric",
            ),
            np.broadcast_to(size, 2),
        ).reshape(9, 8, -1)
        places = np.take_along_axis(
            around, np.argsort(image.ravel()[around], axis=-1, kind="stable"), -1
        )
        want = np.bincount(places[..., places.shape[-1] // 2].ravel(), minlength=72).reshape(9, 8)
        slope = fg.grad(lambda a, size=size: np.sum(scipy.ndimage.median_filter(a, size)))
        np.testing.assert_array_equal(slope(image), want)
        np.testing.assert_array_equal(fg.vmap(slope)(np.stack([image, -image]))[0], want)


@pytest.mark.parametrize("name", ["maximum_filter1d", "minimum_filter1d"])
def test_equal_extremes_of_a_window_share_the_derivative(name):
    filtered = getattr(scipy.ndimage, name)
    x = (1.0 if name == "maximum_filter1d" else -1.0) * np.array(
        [3.0, 0.1, 0.1, 0.1, 0.0, np.inf, 0.0]
    )
    found = fg.jacobian(lambda x: filtered(x, 3, mode="nearest"))(x)
    want = np.zeros((7, 7))
    for i, tied in enumerate([[0], [0], [1, 2, 3], [2, 3], [5], [5], [5]]):
        want[i, tied] = 1 / len(tied)
    np.testing.assert_allclose(found, want, rtol=1e-15)
    np.testing.assert_array_equal(fg.jit(lambda x: filtered(x, 3))(x), filtered(x, 3))
    x[3] = np.nan
    np.testing.assert_array_equal(fg.jit(lambda x: filtered(x, 3))(x), filtered(x, 3))
    fg.check_grads(lambda x: filtered(x, 3) ** 3, (np.cos(np.arange(8.0) ** 2),), order=2)


@pytest.mark.parametrize("name", ["maximum_filter", "minimum_filter"])
def test_values_beyond_the_ends_of_an_image_in_single_precision(name):
    image = np.array([[1.0, 2.0], [3.0, 1.5]], np.float32) * (-1 if name[1] == "a" else 1)

    def f(cval):
        return getattr(scipy.ndimage, name)(image, (2, 3), mode="constant", cval=cval)

    value, slope = fg.jvp(f, (0.37,), (1.0,))
    np.testing.assert_array_equal(value, f(0.37))
    np.testing.assert_array_equal(slope, np.ones((2, 2), np.float32))
