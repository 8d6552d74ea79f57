"""The interval rules of truth values, which are 0 and 1, so that [0, 1] is "either"."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.algebras.outward_rounding import Bounds, Rule


def _truth(surely: Any, possibly: Any) -> Bounds:
    return np.asarray(surely, float), np.asarray(possibly, float)


def _not(x: Bounds) -> Bounds:
    return 1.0 - true(x)[1], 1.0 - true(x)[0]


def true(x: Bounds) -> Bounds:
    return _truth((x[0] > 0) | (x[1] < 0), (x[0] != 0) | (x[1] != 0))


def _less(x: Bounds, y: Bounds) -> Bounds:
    return _truth(x[1] < y[0], x[0] < y[1])


def _less_equal(x: Bounds, y: Bounds) -> Bounds:
    return _truth(x[1] <= y[0], x[0] <= y[1])


def _equal(x: Bounds, y: Bounds) -> Bounds:
    one = (x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0])
    return _truth(one, (x[0] <= y[1]) & (y[0] <= x[1]))


def _and(x: Bounds, y: Bounds) -> Bounds:
    return np.minimum(true(x)[0], true(y)[0]), np.minimum(true(x)[1], true(y)[1])


def _or(x: Bounds, y: Bounds) -> Bounds:
    return np.maximum(true(x)[0], true(y)[0]), np.maximum(true(x)[1], true(y)[1])


def _xor(x: Bounds, y: Bounds) -> Bounds:
    return _not(_equal(true(x), true(y)))


def _isfinite(x: Bounds) -> Bounds:
    return _truth(np.isfinite(x[0]) & np.isfinite(x[1]), np.ones_like(x[0]))


def _where(p: Bounds, x: Bounds, y: Bounds) -> Bounds:
    surely, possibly = true(p)
    # A branch that is nowhere defined is not chosen.
    lo = np.where(surely > 0, x[0], np.where(possibly > 0, np.fmin(x[0], y[0]), y[0]))
    hi = np.where(surely > 0, x[1], np.where(possibly > 0, np.fmax(x[1], y[1]), y[1]))
    return lo, hi


def _mask(p: Bounds, x: Bounds) -> Bounds:
    return _where(p, x, (np.zeros_like(x[0]), np.zeros_like(x[0])))


TRUTHS: Mapping[str, Rule] = MappingProxyType(
    {
        "where": _where,
        "mask": _mask,
        "less": _less,
        "less_equal": _less_equal,
        "greater": lambda x, y: _less(y, x),
        "greater_equal": lambda x, y: _less_equal(y, x),
        "equal": _equal,
        "not_equal": lambda x, y: _not(_equal(x, y)),
        "logical_and": _and,
        "logical_or": _or,
        "logical_xor": _xor,
        "logical_not": _not,
        "isfinite": _isfinite,
        "isinf": lambda x: _not(_isfinite(x)),
        "signbit": lambda x: _truth(x[1] < 0, x[0] <= 0),
    }
)
"""What operations that ask, or choose, make of intervals, by name."""

OF_TRUTH: Mapping[str, Rule] = MappingProxyType(
    {"add": _or, "multiply": _and, "bitwise_and": _and, "bitwise_or": _or, "bitwise_xor": _xor}
    | {"invert": _not, "logical_not": _not}
)
"""What operations whose result is a truth value make of them, where that differs."""
