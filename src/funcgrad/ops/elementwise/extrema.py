"""The larger and the smaller of two: at ties the derivative is shared equally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import TORCH_FORMS, Columns
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.declare import BOTH, EITHER, elementwise_from_edges, sort_key
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array, ArrayLike


def _routed(wins: Callable[..., Any], first: bool) -> Any:
    """The edge of one operand of maximum or minimum: all to the winner, half to each at a tie."""

    def edge(z: Array, x: Array, y: Array) -> LinearMap:
        a, b = (x, y) if first else (y, x)
        return Diagonal(mask(wins(a, b), np.where(a == b, np.full_like(z, 0.5), np.ones_like(z))))

    return edge


def _extremum(ufunc: np.ufunc, wins: Callable[..., Any], **columns: Any) -> Op:
    return elementwise_from_edges(
        ufunc,
        _routed(wins, True),
        _routed(wins, False),
        columns=Columns(
            interval=lambda iv, x, y: iv.corners(ufunc, x, y, iv.EXACT),
            libraries={"torch": f"{TORCH_FORMS}:{ufunc.__name__}"},
            **columns,
        ),
    )


def _of_all(ufunc: np.ufunc, wins: np.ufunc, symbol: str, choose: Any, truth: str) -> Op:
    """`maximum` or `minimum`: NaN where an operand is."""
    name = choose.__name__
    return _extremum(
        ufunc,
        lambda a, b: wins(a, b) | (a != a),
        in_words=f"{name} routes",
        scalar={
            "f": f"({{0}} if {{0}} {symbol} {{1}} or {{0}} != {{0}} else {{1}})",
            "i": f"({{0}} if {{0}} {symbol}= {{1}} else {{1}})",
            "b": truth,
        },
        mpmath=lambda mp, x, y: (
            mp.nan if mp.isnan(x) or mp.isnan(y) else choose(x, y, key=sort_key)
        ),
        sympy=name.title(),
        latex=f"\\{name}",
        vm=True,
    )


def _of_numbers(ufunc: np.ufunc, wins: np.ufunc, symbol: str, choose: Any, of_all: Op) -> Op:
    """`fmax` or `fmin`: NaN only where both operands are."""
    return _extremum(
        ufunc,
        lambda a, b: wins(a, b) | np.isnan(b),
        scalar=f"({{0}} if {{0}} {symbol}= {{1}} or {{1}} != {{1}} else {{1}})",
        mpmath=lambda mp, x, y: (
            y if mp.isnan(x) else x if mp.isnan(y) else choose(x, y, key=sort_key)
        ),
        sympy=choose.__name__.title(),
        decompose=lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, of_all(x, y))),
    )


maximum = _of_all(np.maximum, np.greater_equal, ">", max, EITHER)
minimum = _of_all(np.minimum, np.less_equal, "<", min, BOTH)
fmax = _of_numbers(np.fmax, np.greater_equal, ">", max, maximum)
fmin = _of_numbers(np.fmin, np.less_equal, "<", min, minimum)


def relu(x: ArrayLike) -> Any:
    """The larger of x and 0, entry by entry; half the derivative flows at 0, as
    in `maximum`. Raises TypeError if x holds no numbers.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: np.sum(relu(x)))(np.array([-1.0, 0.0, 2.0]))
    array([0. , 0.5, 1. ])
    """
    return maximum(x, 0)
