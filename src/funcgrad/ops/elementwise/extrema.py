"""The larger and the smaller of two: at ties the derivative is shared equally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.declare import BOTH, EITHER, elementwise_from_edges
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array


def _routed(wins: Callable[..., Any], first: bool) -> Any:
    """The edge of one operand of maximum or minimum: all to the winner, half to each at a tie."""

    def edge(z: Array, x: Array, y: Array) -> LinearMap:
        a, b = (x, y) if first else (y, x)
        return Diagonal(mask(wins(a, b), np.where(a == b, np.full_like(z, 0.5), np.ones_like(z))))

    return edge


def _with_nan(wins: np.ufunc) -> Any:
    """`maximum` and `minimum` choose what is none, and so does their derivative."""
    return lambda a, b: wins(a, b) | (a != a)


def _over_nan(wins: np.ufunc) -> Any:
    """`fmax` and `fmin` choose what is a number."""
    return lambda a, b: wins(a, b) | np.isnan(b)


def _extremum(name: str, ufunc: np.ufunc, wins: Callable[..., Any], columns: Columns) -> Op:
    return elementwise_from_edges(
        name, ufunc, _routed(wins, True), _routed(wins, False), columns=columns
    )


maximum = _extremum(
    "maximum",
    np.maximum,
    _with_nan(np.greater_equal),
    columns=Columns(
        in_words="max routes",
        scalar={
            "f": "({0} if {0} > {1} or {0} != {0} else {1})",
            "i": "({0} if {0} >= {1} else {1})",
            "b": EITHER,
        },
        mpmath=lambda mp, x, y: mp.nan if mp.isnan(x) or mp.isnan(y) else x if x >= y else y,
        sympy="Max",
        interval=lambda iv, x, y: iv.corners(np.maximum, x, y, iv.EXACT),
        latex=r"\max",
        vm=True,
    ),
)
minimum = _extremum(
    "minimum",
    np.minimum,
    _with_nan(np.less_equal),
    columns=Columns(
        in_words="min routes",
        scalar={
            "f": "({0} if {0} < {1} or {0} != {0} else {1})",
            "i": "({0} if {0} <= {1} else {1})",
            "b": BOTH,
        },
        mpmath=lambda mp, x, y: mp.nan if mp.isnan(x) or mp.isnan(y) else x if x <= y else y,
        sympy="Min",
        interval=lambda iv, x, y: iv.corners(np.minimum, x, y, iv.EXACT),
        latex=r"\min",
        vm=True,
    ),
)
fmax = _extremum(
    "fmax",
    np.fmax,
    _over_nan(np.greater_equal),
    columns=Columns(
        scalar="({0} if {0} >= {1} or {1} != {1} else {1})",
        mpmath=lambda mp, x, y: y if mp.isnan(x) or y > x else x,
        sympy="Max",
        interval=lambda iv, x, y: iv.corners(np.fmax, x, y, iv.EXACT),
        decompose=lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, maximum(x, y))),
    ),
)
fmin = _extremum(
    "fmin",
    np.fmin,
    _over_nan(np.less_equal),
    columns=Columns(
        scalar="({0} if {0} <= {1} or {1} != {1} else {1})",
        mpmath=lambda mp, x, y: y if mp.isnan(x) or y < x else x,
        sympy="Min",
        interval=lambda iv, x, y: iv.corners(np.fmin, x, y, iv.EXACT),
        decompose=lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, minimum(x, y))),
    ),
)


def relu(x: npt.ArrayLike) -> Any:
    """The larger of x and 0, entry by entry; half the derivative flows at 0, as in `maximum`."""
    return maximum(x, 0)
