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


def test_masks_of_a_batch():
    images = np.stack([IMAGE, IMAGE[::-1], 0 * IMAGE])
    for f in (labels, lambda image: scipy.ndimage.binary_dilation(image)):
        np.testing.assert_array_equal(fg.vmap(f)(images), np.stack([f(image) for image in images]))
