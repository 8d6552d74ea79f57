"""Searches that are written by hand, such as a bisection: a number found by comparisons has no derivative.

``if f(mid, p) > 0: hi = mid`` tells by its answers alone where the root is, so that the number found is a
constant. What gives such a search away: at one line, values with a derivative come ever closer to what they
are compared with, from both sides, and each is computed anew, by the same operations, from numbers whose
distances fall by one ratio: by half in a bisection, by the golden section in a search for a minimum. The
values of a simulation, which may come closer, too, are computed from the ones before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import known_value
from funcgrad.graph import CONSTANT, subexpressions
from funcgrad.ops.base.activity import is_varied
from funcgrad.source import caller, warn

Asked: TypeAlias = list[tuple[bool, Expr]]
"""The last comparisons at one line, each with its answer."""


def warn_of_search(root: Expr, answer: bool) -> None:
    """Take note of an answer, and warn once where the last ones at its line are those of a search."""
    place = caller(1)
    if place is None or root.traced is None or root.op.name not in _COMPARISONS:
        return
    asked: Asked | None = root.traced.searches.setdefault(place, [])
    if asked is None:
        return
    asked.append((answer, root))
    if len(asked) < _LENGTH:
        return
    is_search = _is_search(asked)
    asked.clear()
    if is_search:
        warn(
            "a number that comparisons of differentiated values close in on, as those of a bisection at "
            "this line do, is a constant: its derivative is lost; write scipy.optimize.brentq(f, lo, hi) "
            "or fg.implicit_root, whose derivative is that of the root"
        )
        root.traced.searches[place] = None


_ORDERS = frozenset(("less", "less_equal", "greater", "greater_equal"))
_COMPARISONS = _ORDERS | {"equal", "not_equal"}
_LENGTH = 16


def _signs(root: Expr) -> list[Expr]:
    """The signs that a comparison is of, as in ``sign(f(lo)) * sign(f(mid)) < 0``."""
    near = [expr for side in root.args for expr in (side, *side.args)]
    return [expr for expr in near if expr.op.name == "sign"]


def _deciding(root: Expr) -> Sequence[Expr]:
    """The values whose comparison it is: those of which the signs are compared, or the sides."""
    return [sign.args[0] for sign in _signs(root)] or root.args


def _distance(root: Expr) -> float:
    """How far the values are from the point at which the answer changes; NaN if they are not known."""
    values = [known_value(value) for value in _deciding(root)]
    if any([value is None for value in values]):
        return math.nan
    numbers = [float(np.asarray(value).item()) for value in values]
    return abs(math.prod(numbers) if _signs(root) else numbers[0] - numbers[1])


def _is_search(asked: Asked) -> bool:
    """Whether the distances fall from quarter to quarter, as fast as if they are halved."""
    changes = sum([before[0] != after[0] for before, after in pairwise(asked)])
    roots = [root for _, root in asked]
    if changes < 3 or not (roots[-1].op.name in _ORDERS or _signs(roots[-1])):
        return False
    if not any([is_varied(value) for value in _deciding(roots[-1])]):
        return False
    distances = [_distance(root) for root in roots]
    first, *later = [max(distances[i : i + 4]) for i in range(0, _LENGTH, 4)]
    falls = first > later[0] > later[1] > later[2] > 0.0 and later[2] <= 2.0**-9 * first
    # (Last, since formulas may be long.)
    return (
        falls and _operations(roots[-2]) == _operations(roots[-1]) and _narrows(roots[-_NARROWED:])
    )


def _operations(root: Expr) -> list[str]:
    return sorted([expr.op.name for expr in subexpressions(root)])


_NARROWED = 9


def _narrows(roots: Sequence[Expr]) -> bool:
    """Whether the steps of a number in comparisons, or the distances of two, fall by one ratio."""
    numbers = [list(map(_number, filter(_is_number, subexpressions(root)))) for root in roots]
    if len(set(map(len, numbers))) > 1:
        return False
    columns = [column for column in zip(*numbers, strict=True) if len(set(column)) > 1]
    steps = [[abs(b - a) for a, b in pairwise(column)] for column in columns]
    widths = [[abs(a - b) for a, b in zip(*two, strict=True)] for two in combinations(columns, 2)]
    return any(map(_falls_by_one_ratio, [*steps, *widths]))


def _falls_by_one_ratio(lengths: Sequence[float]) -> bool:
    if not all(lengths):
        return False
    ratios = [b / a for a, b in pairwise(lengths)]
    return max(ratios) < 0.9 and max(ratios) <= 1.001 * min(ratios)


def _is_number(expr: Expr) -> bool:
    return expr.op is CONSTANT and not expr.shape and expr.dtype.kind in "biuf"


def _number(expr: Expr) -> float:
    return float(expr.value)
