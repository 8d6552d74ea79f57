"""Whether a user's derivative rule is linear in its tangents or cotangents, as its transpose supposes.

The rule's program runs on random numbers, once for each program: at the sum of two cotangents, a linear rule
has the sum of its results, up to rounding. If it has not, the program runs on the values of the residuals and
captured arrays, among which may be zeros that are added. A program that calls foreign functions or has loops,
or one of many operations, does not run: that could take any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, subexpressions
from funcgrad.expr.concrete import known_value
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import flops_of

_MOST = 10_000_000
"""The flops beyond which no program runs to find out."""


def is_linear(body: Body, context: Sequence[Expr]) -> bool:
    """Whether a body is linear in the inputs that follow the context; True also where that is not known."""
    start = len(context)
    if _is_linear_anywhere(body, start):
        return True
    values = [known_value(x) for x in context]
    return any([value is None for value in values]) or _adds(body, values)


@lru_cache(maxsize=1024)
def _is_linear_anywhere(body: Body, start: int) -> bool:
    flops = [flops_of(x) for x in subexpressions(*body.outputs) if x.args]
    if None in flops or sum(filter(None, flops)) > _MOST:
        return True
    draw = np.random.default_rng(0)
    return _adds(body, [_random(draw, x.type) for x in body.inputs[:start]])


def _adds(body: Body, context: Sequence[Any]) -> bool:
    """Whether the results at the sum of two cotangents are the sum of those at each."""
    draw = np.random.default_rng(1)
    linear = body.inputs[len(context) :]
    one, other = ([_random(draw, x.type) for x in linear] for _ in range(2))

    def at(scale: float, more: float) -> list[Any]:
        flows = [_scaled(a, scale) + _scaled(b, more) for a, b in zip(one, other, strict=True)]
        return [np.array(out) for out in body.program.step([*context, *flows])]

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
