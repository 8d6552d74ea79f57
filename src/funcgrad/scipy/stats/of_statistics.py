"""Distributions of test statistics that SciPy computes in compiled code, in their argument.

The slope of a tail is the density, whose own slope, and slopes in the shapes, are central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real
from funcgrad.source import fail
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array

_STEP = 6e-6


@cache
def _density(name: str, count: int) -> Callable[..., Any]:
    own = getattr(_scipy, name).pdf
    return primitive(own, "finite-difference", name=f"{name}_pdf")


@cache
def _tail(name: str, method: str, count: int) -> Callable[..., Any]:
    """The cumulative function, or its complement, of x and the shapes."""
    own, sign = getattr(getattr(_scipy, name), method), 1.0 if method == "cdf" else -1.0

    def slope(*args: Array) -> Any:
        return sign * _density(name, count)(*args)

    def in_shape(k: int) -> Callable[..., Any]:
        def difference(*args: Array) -> Any:
            step = _STEP * np.abs(args[k])
            moved = [found(*args[:k], args[k] + s * step, *args[k + 1 :]) for s in (1, -1)]
            return (moved[0] - moved[1]) / (2 * step)

        return difference

    found = primitive(
        own, [slope, *[in_shape(k + 1) for k in range(count)]], name=f"{name}_{method}"
    )
    return found


class OfStatistic:
    """A distribution of SciPy's whose cdf, sf and pdf take traced values."""

    def __init__(self, name: str) -> None:
        self.own, self.name = getattr(_scipy, name), name
        self.__doc__ = f"As `scipy.stats.{name}`."

    def __repr__(self) -> str:
        return f"<funcgrad.scipy.stats.{self.name}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.own, name)
        if not callable(found):
            return found

        def method(*args: object, **kwds: object) -> Any:
            if holds_expr([*args, *kwds.values()]):
                raise fail(
                    TypeError,
                    f"{self.name}.{name}: expected plain values, but got traced ones; cdf, sf and pdf take "
                    "traced values",
                )
            return found(*args, **kwds)

        return method

    def _by(
        self, method: str, x: npt.ArrayLike, args: tuple[Any, ...], kwds: dict[str, Any]
    ) -> Any:
        if not holds_expr([x, *args, *kwds.values()]):
            return getattr(self.own, method)(x, *args, **kwds)
        shapes, loc, scale = self.own._parse_args(*args, **kwds)
        given = [real(self.name, item) for item in (x, *shapes)]
        given[0] = (given[0] - loc) / scale
        if method == "pdf":
            return _density(self.name, len(shapes))(*given) / scale
        return _tail(self.name, method, len(shapes))(*given)

    def cdf(self, x: npt.ArrayLike, *args: npt.ArrayLike, **kwds: npt.ArrayLike) -> Any:
        """As SciPy's method."""
        return self._by("cdf", x, args, kwds)

    def sf(self, x: npt.ArrayLike, *args: npt.ArrayLike, **kwds: npt.ArrayLike) -> Any:
        """As SciPy's method."""
        return self._by("sf", x, args, kwds)

    def pdf(self, x: npt.ArrayLike, *args: npt.ArrayLike, **kwds: npt.ArrayLike) -> Any:
        """As SciPy's method."""
        return self._by("pdf", x, args, kwds)


OF_STATISTICS = {"kstwo": OfStatistic("kstwo")}
"""The distributions by their names in SciPy."""
