"""The interval rules of truth values, which are 0 and 1, so that [0, 1] is "either"."""

from __future__ import annotations

import numpy as np

from funcgrad.algebras.outward_rounding import Bounds


def truth(surely: object, possibly: object) -> Bounds:
    return np.asarray(surely, float), np.asarray(possibly, float)


def neither(x: Bounds) -> Bounds:
    return 1.0 - true(x)[1], 1.0 - true(x)[0]


def true(x: Bounds) -> Bounds:
    return truth((x[0] > 0) | (x[1] < 0), (x[0] != 0) | (x[1] != 0))


def less(x: Bounds, y: Bounds) -> Bounds:
    return truth(x[1] < y[0], x[0] < y[1])


def less_equal(x: Bounds, y: Bounds) -> Bounds:
    return truth(x[1] <= y[0], x[0] <= y[1])


def equal(x: Bounds, y: Bounds) -> Bounds:
    one = (x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0])
    return truth(one, (x[0] <= y[1]) & (y[0] <= x[1]))


def both(x: Bounds, y: Bounds) -> Bounds:
    return np.minimum(true(x)[0], true(y)[0]), np.minimum(true(x)[1], true(y)[1])


def either(x: Bounds, y: Bounds) -> Bounds:
    return np.maximum(true(x)[0], true(y)[0]), np.maximum(true(x)[1], true(y)[1])


def differ(x: Bounds, y: Bounds) -> Bounds:
    return neither(equal(true(x), true(y)))


def isfinite(x: Bounds) -> Bounds:
    return truth(np.isfinite(x[0]) & np.isfinite(x[1]), np.ones_like(x[0]))


def where(p: Bounds, x: Bounds, y: Bounds) -> Bounds:
    surely, possibly = true(p)
    # A branch that is nowhere defined is not chosen.
    lo = np.where(surely > 0, x[0], np.where(possibly > 0, np.fmin(x[0], y[0]), y[0]))
    hi = np.where(surely > 0, x[1], np.where(possibly > 0, np.fmax(x[1], y[1]), y[1]))
    return lo, hi


def mask(p: Bounds, x: Bounds) -> Bounds:
    return where(p, x, (np.zeros_like(x[0]), np.zeros_like(x[0])))


def greater(x: Bounds, y: Bounds) -> Bounds:
    return less(y, x)


def greater_equal(x: Bounds, y: Bounds) -> Bounds:
    return less_equal(y, x)


def not_equal(x: Bounds, y: Bounds) -> Bounds:
    return neither(equal(x, y))


def signbit(x: Bounds) -> Bounds:
    return truth(x[1] < 0, x[0] <= 0)
