"""Masked arrays as trees: their data and their mask are leaves, the rest is static."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.trace.container import TreeNode


def is_masked(kind: type) -> bool:
    """Whether a class is that of masked arrays, NumPy's or those of adopted code."""
    return kind.__name__ in _NAMES and kind.__module__ in _MODULES


_NAMES = ("MaskedArray", "MaskedConstant")
_MODULES = ("numpy.ma", "numpy.ma.core")


def flatten_masked(tree: Any) -> TreeNode:
    """A masked array taken apart; one of numbers is made as NumPy's own, another as one of adopted code."""
    if type(tree).__name__ == "MaskedConstant":
        return TreeNode([], [], lambda _: np.ma.masked, "masked")
    fill, hard, shrinks = tree._fill_value, tree._hardmask, tree._mask is np.ma.nomask
    mask = np.zeros(tree.shape, bool) if shrinks else tree._mask

    def put(values: Sequence[Any]) -> Any:
        data, mask = map(plain_value, values)
        if isinstance(data, Expr) or isinstance(mask, Expr):
            of = functions["redirect"](np.ma.MaskedArray)
        else:
            of = np.ma.MaskedArray
            mask = np.ma.nomask if shrinks and not np.any(mask) else mask
        return of(data, mask=mask, fill_value=plain_value(fill), hard_mask=hard)

    parts = [plain_value(tree._data), plain_value(mask)]
    return TreeNode(["data", "mask"], parts, put, (str(fill), hard), True)
