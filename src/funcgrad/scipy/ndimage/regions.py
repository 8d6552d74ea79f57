"""Regions of images: labels and morphology of masks, which are constants of the image, and the deviations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, flat_root, nondifferentiable, refuse
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import with_name
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)


@_composed
def find_objects(input: ArrayLike, max_label: int = 0) -> Any:
    """As `scipy.ndimage.find_objects`: slices, by the values of the labels."""
    return _scipy.find_objects(by_value(input, "find_objects"), max_label)


@_composed
def standard_deviation(
    input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None
) -> Any:
    """As `scipy.ndimage.standard_deviation`; its derivative where all entries of a region
    are equal is 0, as that of `numpy.std`.
    """
    return flat_root(attribute_of(_scipy, "variance")(input, labels, index))


def _label(input: ArrayLike, structure: ArrayLike | None = None, output: object = None) -> Any:
    """As `scipy.ndimage.label`: numbers of regions, which are constants, and how many there are."""
    if not holds_expr([input, structure]):
        return _scipy.label(input, structure, output)
    refuse("label", output=output)
    shape = by_value(structure, "label")
    found = nondifferentiable("label", lambda image: _scipy.label(image, shape)[0], input)
    return found, np.max(found, initial=0)


def _of_masks(name: str, *masks: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)
    expected = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = dict(expected.bind(*args, **kwargs).arguments)
        if not holds_expr(list(given.values())):
            return own(**given)
        refuse(name, output=given.pop("output", None))
        names = [key for key in masks if given.get(key) is not None]
        rest = by_value({key: item for key, item in given.items() if key not in names}, name)

        def run(*values: Array) -> Any:
            return own(**dict(zip(names, values, strict=True)), **rest)

        return nondifferentiable(name, run, *[given[key] for key in names])

    return with_name(
        function, name, f"As `scipy.ndimage.{name}`: a mask, which is a constant of the image."
    )


OF_MASKS: Mapping[str, Callable[..., Any]] = {
    "label": _label,
    **{
        name: _of_masks(name, "input", "mask")
        for name in (
            *("binary_closing", "binary_dilation", "binary_erosion", "binary_opening"),
            "binary_propagation",
        )
    },
    **{name: _of_masks(name, "input") for name in ("binary_fill_holes", "binary_hit_or_miss")},
}
"""Labels, and the morphology of masks, by their names in SciPy."""
