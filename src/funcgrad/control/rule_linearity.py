"""Whether a user's derivative rule is linear in its tangents or cotangents, as its transpose supposes.

The rule's program runs on random numbers, once for each program: at the sum of two cotangents, a linear rule
has the sum of its results, up to rounding.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.graph import ArrayType

MOST = 1_000_000
"""The number of entries of inputs beyond which no program runs to find out."""


@lru_cache(maxsize=1024)
def is_linear(body: Body, start: int) -> bool:
    """Whether a body is linear in its inputs from ``start`` on; True also where that is not known."""
    if sum([int(np.prod(x.shape)) for x in body.inputs]) > MOST:
        return True
    draw = np.random.default_rng(0)
    context = [_random(draw, x.type) for x in body.inputs[:start]]
    one, other = ([_random(draw, x.type) for x in body.inputs[start:]] for _ in range(2))

    def at(scale: float, more: float) -> list[Any]:
        flows = [_scaled(a, scale) + _scaled(b, more) for a, b in zip(one, other, strict=True)]
        return [np.asarray(out) for out in body.program.step([*context, *flows])]

    try:
        with np.errstate(all="ignore"):
            for scale in (1e-4, 1.0, 1e4):
                parts = zip(at(scale, 0.0), at(0.0, scale), at(scale, scale), strict=True)
                if not all([_adds_up(*part) for part in parts]):
                    return False
    except Exception:  # of a function that refuses such numbers
        return True
    return True


def _random(draw: np.random.Generator, type: ArrayType) -> Any:
    kind = type.dtype.kind
    if kind == "b":
        made = draw.integers(0, 2, type.shape).astype(bool)
    elif kind in "iu":
        made = draw.integers(0, 2, type.shape).astype(type.dtype)
    else:
        made = draw.normal(size=type.shape)
        if kind == "c":
            made = made + 1j * draw.normal(size=type.shape)
        made = np.asarray(made).astype(type.dtype)
    return np.asarray(made)[()]


def _scaled(value: Any, factor: float) -> Any:
    return value if value.dtype.kind not in "fc" else (value * factor).astype(value.dtype)


def _adds_up(one: Any, other: Any, whole: Any) -> bool:
    """Whether the sum of two results is a third, up to rounding; entries that are not finite are left out."""
    if whole.dtype.kind not in "fc":
        return True
    sums = one + other
    known = np.isfinite(sums) & np.isfinite(whole)
    size = np.max(np.abs(one[known]) + np.abs(other[known]), initial=0.0)
    rounding = 1e4 * np.finfo(whole.dtype).eps * size
    return not np.any(np.abs(whole[known] - sums[known]) > rounding)
