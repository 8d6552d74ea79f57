"""Filters of `scipy.ndimage` by a function of the user's."""

import itertools

import numpy as np
import pytest
import scipy.ndimage

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

IMAGE = (np.random.default_rng(0).permutation(np.arange(20.0)) / 10 - 0.7).reshape(4, 5)


def middle(window, power=1.0):
    return np.max(window) - np.sum(window**2) * power


def larger(window):
    """A choice by the values."""
    return window[0] * 2 if window[0] > window[-1] else window[-1] ** 2


def products(line, out):
    out[:] = line[1:-1] * line[2:] + line[:-2]


def backward(line, out, scale, shift=0.0):
    for k in range(len(out)):
        out[-1 - k] = scale * line[k] + shift


FOOTPRINT = np.array([[0, 1, 1], [1, 1, 0]])
FILTERS = {
    "sum": lambda a: scipy.ndimage.generic_filter(a, np.sum, 2),
    "a function": lambda a: scipy.ndimage.generic_filter(a, middle, 3, mode="mirror"),
    "a footprint": lambda a: scipy.ndimage.generic_filter(
        a, middle, footprint=FOOTPRINT, mode="constant", cval=0.3, origin=(0, 1)
    ),
    "arguments": lambda a: scipy.ndimage.generic_filter(
        a, middle, (2, 3), extra_arguments=(a[0, 0],), mode="wrap"
    ),
    "keywords": lambda a: scipy.ndimage.generic_filter(
        a[0], middle, 3, extra_keywords={"power": 0.5}
    ),
    "what it captures": lambda a: scipy.ndimage.generic_filter(
        IMAGE, lambda w: np.sum(w) * a[1, 1], 2
    ),
    "a choice": lambda a: scipy.ndimage.generic_filter(a[:, :3], larger, (1, 2)),
    "lines": lambda a: scipy.ndimage.generic_filter1d(a, products, 3),
    "columns": lambda a: scipy.ndimage.generic_filter1d(
        a, products, 3, axis=0, mode="nearest", origin=-1
    ),
    "a loop": lambda a: scipy.ndimage.generic_filter1d(
        a[0], backward, 3, extra_arguments=(a[1, 1],), extra_keywords={"shift": 0.5}
    ),
}


@pytest.mark.parametrize("case", one_in(3, FILTERS))
def test_filters_by_a_function(case):
    check_function(FILTERS[case], IMAGE, vmap="choice" not in case, value_rtol=1e-14)


def test_outputs():
    for f in (scipy.ndimage.generic_filter, scipy.ndimage.generic_filter1d):
        function = middle if f is scipy.ndimage.generic_filter else products
        made = fg.jit(lambda a, f=f, g=function: f(a, g, 3, output=np.float32))(IMAGE)
        assert made.dtype == np.float32
        np.testing.assert_allclose(made, f(IMAGE, function, 3, output=np.float32), rtol=1e-6)
    with pytest.raises(ValueError, match="generic_filter1d: expected a size of 1 or more"):
        fg.jacobian(lambda a: scipy.ndimage.generic_filter1d(a, products, 0))(IMAGE)
    with pytest.raises(ValueError, match="generic_filter: expected a size or a footprint"):
        fg.jacobian(lambda a: scipy.ndimage.generic_filter(a, middle))(IMAGE)


def test_axes_are_refused_also_the_first():
    with pytest.raises(TypeError, match="generic_filter: axes=0 is not supported"):
        fg.grad(lambda a: scipy.ndimage.generic_filter(a, np.sum, 2, axes=0).sum())(np.ones((3, 3)))


@pytest.mark.parametrize(
    ("mode", "size"),
    one_in(
        3, itertools.product(["reflect", "constant", "nearest", "mirror", "wrap"], [1, 4, 5, 8])
    ),
)
def test_filters_by_convolutions_of_lines(size, mode):
    rng = np.random.default_rng(0)
    image, weights = rng.normal(size=(9, 10)), rng.normal(size=(3, size))
    options = {"mode": mode, "cval": 0.7}
    calls = [
        lambda m, x, w: m.correlate1d(x, w[0], axis=0, origin=size // 3, **options),
        lambda m, x, w: m.convolve1d(x, w[1], axis=-1, **options),
        lambda m, x, w: m.correlate(x, w, origin=(1, 0), **options),
        lambda m, x, w: m.convolve(x, w.T, **options),
        lambda m, x, w: m.convolve(x.reshape(3, 3, 10), w[None], **options),
        lambda m, x, w: m.correlate(x, w[0], axes=1, **options),
    ]
    for call in calls:
        f = lambda x, w, call=call: call(scipy.ndimage, x, w)  # noqa: E731
        np.testing.assert_allclose(
            fg.jit(f)(image, weights), f(image, weights), rtol=1e-12, atol=1e-13
        )
        fg.check_grads(f, (image, weights), order=2)


def test_weights_that_fit_no_image():
    for f in (
        lambda x: scipy.ndimage.correlate(x, np.ones((0, 3))),
        lambda x: scipy.ndimage.correlate(x, np.ones(3)),
        lambda x: scipy.ndimage.correlate1d(x, np.ones(0)),
    ):
        with pytest.raises(RuntimeError, match=r"expected .*weights"):
            fg.jit(f)(np.ones((2, 3)))
    assert fg.grad(lambda x: scipy.ndimage.correlate(x, np.array(2.0)) * 1.0)(3.0) == 2.0
