"""The table of laws (`funcgrad.program.laws`) put to use: which law a node's formula is an instance of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, rebuild, scalar, subexpressions, var
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops import elementwise
from funcgrad.ops.op import Op
from funcgrad.program.laws import COMMUTING, LAWS, Law
from funcgrad.program.structural import value_of


class _Row(NamedTuple):
    pattern: Expr
    names: tuple[str, ...]
    law: Law
    allowed: Callable[[dict[str, Any], Any], bool]
    """Whether the law applies, given the bindings and what it makes."""


_Rows: TypeAlias = dict[Op, list[_Row]]


@lru_cache(maxsize=2)
def _rows(readable: bool) -> _Rows:
    """The table of laws, indexed by the operation at the root of the left side."""
    rows: _Rows = {}
    for law in LAWS:
        names = tuple(inspect.signature(law.left).parameters)
        pattern = law.left(*[var(name, dtype=bool if name == "p" else float) for name in names])
        allowed = _always if readable and law.holds == "for readers" else _ALLOWED[law.holds]
        rows.setdefault(pattern.op, []).append(_Row(pattern, names, law, allowed))
    return rows


def _always(found: dict[str, Any], new: Any) -> bool:
    return True


def _has_normal_constant(found: dict[str, Any], new: Expr) -> bool:
    values = [value_of(arg) for arg in new.args]
    least = np.finfo(new.dtype).tiny
    return all(value is None or least <= abs(value) < np.inf for value in values)


def _is_far_from_overflow(found: dict[str, Any], new: Any) -> bool:
    return "c" in found and 1 <= abs(found["c"]) <= 1024


_ALLOWED: dict[str, Callable[[dict[str, Any], Any], bool]] = {
    "everywhere": _always,
    "for reals": _always,
    "for normal constants": _has_normal_constant,
    "for readers": _is_far_from_overflow,
}


class _Constant(NamedTuple):
    """What a constant operand is to a law before it is looked into: its value, where a law names it."""

    value: float | None


@lru_cache(maxsize=2)
def _named_values(readable: bool) -> frozenset[Any]:
    """The constants that laws name, such as 0 and 1."""
    patterns = [row.pattern for rows in _rows(readable).values() for row in rows]
    found = [value_of(expr) for expr in subexpressions(*patterns) if expr.op is CONSTANT]
    return frozenset(value.item() for value in found)


def _kind(expr: Expr, readable: bool) -> Any:
    """What an operand is to a law before it is looked into: a constant, or the result of an operation."""
    value = value_of(expr)
    if value is None:
        return expr.op
    return _Constant(value.item() if value.item() in _named_values(readable) else None)


@lru_cache(maxsize=8192)
def _candidates(readable: bool, op: Op, kinds: tuple[Any, ...], alike: bool) -> tuple[_Row, ...]:
    """The laws that may apply to operands of these kinds; ``alike`` where both are one expression.

    Most nodes have none, which a look at the operands tells: matching was three quarters of simplifying.
    """
    rows = _rows(readable).get(op, ())
    return tuple([row for row in rows if _may_match(row.pattern, kinds, alike)])


def _may_match(pattern: Expr, kinds: tuple[Any, ...], alike: bool) -> bool:
    args = pattern.args
    if len(args) == 2 and args[0].key == args[1].key and not alike:
        return False
    orders = [kinds, kinds[::-1]] if pattern.op.name in COMMUTING else [kinds]
    return any(all(map(_may_be, args, order)) for order in orders)


def _may_be(pattern: Expr, kind: Any) -> bool:
    constant = isinstance(kind, _Constant)
    if pattern.op is CONSTANT:
        return constant and kind.value == value_of(pattern)
    if pattern.op is INPUT:
        return constant or str(pattern.params[0][1]) not in ("c", "d")
    return pattern.op is kind


def by_table(expr: Expr, readable: bool) -> Expr | None:
    if expr.dtype.kind not in "fc":
        return None
    args = expr.args
    kinds = tuple([_kind(arg, readable) for arg in args])
    alike = len(args) == 2 and args[0].key == args[1].key
    for row in _candidates(readable, expr.op, kinds, alike):
        if row.law.holds == "for reals" and expr.dtype.kind == "c":
            continue
        for found in _matches([(row.pattern, expr)], {}):
            try:
                new = row.law.right(*[found[name] for name in row.names])
            except ArithmeticError:  # a constant over 0, or one that Python cannot hold
                continue
            if row.allowed(found, new):
                return new if isinstance(new, Expr) else scalar(new, expr.dtype)
    return _constant_in_place(expr) if expr.op in (elementwise.add, elementwise.multiply) else None


def _constant_in_place(expr: Expr) -> Expr | None:
    """x*c = c*x and c + x = x + c: constants first in products, last in sums."""
    x, y = expr.args
    last = y if expr.op is elementwise.multiply else x
    if value_of(last) is not None and value_of(x if last is y else y) is None:
        return rebuild(expr, (y, x))
    return None


def _matches(goals: list[tuple[Expr, Expr]], found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every way to read expressions as patterns: bindings of the pattern variables."""
    if not goals:
        yield found
        return
    (pattern, expr), rest = goals[0], goals[1:]
    if pattern.op is INPUT:
        bound = _bind(str(pattern.params[0][1]), expr, found)
        if bound is not None:
            yield from _matches(rest, bound)
    elif pattern.op is CONSTANT:
        value = value_of(expr)
        if value is not None and value == value_of(pattern):
            yield from _matches(rest, found)
    elif pattern.op is expr.op:
        pairs = list(zip(pattern.args, expr.args, strict=True))
        yield from _matches(pairs + rest, found)
        if pattern.op.name in COMMUTING:
            swapped = list(zip(pattern.args, reversed(expr.args), strict=True))
            yield from _matches(swapped + rest, found)


def _bind(name: str, expr: Expr, found: dict[str, Any]) -> dict[str, Any] | None:
    if name in ("c", "d"):
        value = value_of(expr)
        if value is None or not np.isfinite(value):
            return None
        # A Python number, so that the right side's arithmetic is exact and its dtype weak.
        return None if name in found else found | {name: value.item()}
    if name in found:
        return found if found[name].key == expr.key else None
    return found | {name: expr}
