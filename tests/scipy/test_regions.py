"""Regions of images, and morphology of masks: constants of the image."""

import numpy as np
import pytest
import scipy.ndimage

import funcgrad as fg

IMAGE = np.array(
    [[0.0, 1.0, 1.5, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [1.0, 0.0, 0.0, 3.5]]
)


def labels(image):
    return scipy.ndimage.label(image > 0.2)[0]


CASES = {
    "label": lambda t: t * scipy.ndimage.label(IMAGE * t)[0],
    "how many": lambda t: sum(t * k for k in range(scipy.ndimage.label(IMAGE * t)[1])),
    "sum_labels": lambda t: scipy.ndimage.sum_labels(IMAGE * t, labels(IMAGE * t), [1, 2]),
    "center_of_mass": lambda t: np.stack(
        scipy.ndimage.center_of_mass(IMAGE**t, labels(IMAGE * t), [1, 2])
    ),
    "find_objects": lambda t: (t * IMAGE)[scipy.ndimage.find_objects(labels(IMAGE * t))[0]],
    "extrema": lambda t: np.stack(scipy.ndimage.extrema(IMAGE * t, labels(IMAGE * t), [1, 2])[:2]),
    **{
        name: lambda t, name=name: t * getattr(scipy.ndimage, name)(t * IMAGE)
        for name in (
            *("binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes"),
            *("binary_hit_or_miss", "binary_opening"),
        )
    },
    "binary_propagation": lambda t: (
        t * scipy.ndimage.binary_propagation(t * IMAGE > 2.5, mask=t * IMAGE > 0.1)
    ),
    "distance_transform_cdt": lambda t: t * scipy.ndimage.distance_transform_cdt(t * IMAGE > 0.2),
    "distance_transform_edt": lambda t: t * scipy.ndimage.distance_transform_edt(t * IMAGE),
}


@pytest.mark.parametrize("name", CASES)
def test_regions(name):
    f, h = CASES[name], 1e-6
    value, tangent = fg.jvp(f, (1.1,), (1.0,))
    np.testing.assert_allclose(value, f(1.1), rtol=1e-14)
    np.testing.assert_allclose(tangent, (f(1.1 + h) - f(1.1 - h)) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jacobian(f)(1.1), tangent, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(f)(1.1), value, rtol=1e-14)


@pytest.mark.parametrize("region", [1, [1, 2, 3, 4], None])
def test_the_deviation_in_a_region_of_equal_entries_has_the_slope_0(region):
    image, h = np.array([1.0, 2.5, 3.0, 4.0, 2.0, 7.0, 5.0, 5.0]), 1e-6
    regions = np.array([1, 1, 2, 0, 3, 3, 4, 4])

    def f(image):
        found = scipy.ndimage.standard_deviation(image, regions, region)
        return np.where(np.arange(found.size).reshape(found.shape) % 2, 0.0, found)

    value, jacobian = f(image), fg.jacobian(f)(image)
    moves = h * np.eye(8)
    slopes = np.stack([f(image + d) - f(image - d) for d in moves], -1) / (2 * h)
    np.testing.assert_allclose(jacobian, slopes, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(fg.jit(f)(image), value)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([image, 2 * image])), [value, 2 * value])

    def of_equal(image):
        return scipy.ndimage.standard_deviation(image, regions, [2, 4])

    np.testing.assert_array_equal(fg.jacobian(of_equal)(image), np.zeros((2, 8)))
    tangent = fg.jvp(of_equal, (image,), (np.arange(8.0),))[1]
    np.testing.assert_array_equal(tangent, np.zeros(2))
    np.testing.assert_array_equal(fg.hessian(lambda x: of_equal(x).sum())(image), np.zeros((8, 8)))


def test_masks_of_a_batch():
    images = np.stack([IMAGE, IMAGE[::-1], 0 * IMAGE])
    for f in (labels, lambda image: scipy.ndimage.binary_dilation(image)):
        np.testing.assert_array_equal(fg.vmap(f)(images), np.stack([f(image) for image in images]))
