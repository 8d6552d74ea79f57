"""The table of laws (`funcgrad.rewrite.laws`) put to use: which law a node's formula is an instance of.

Within one simplification equal operands are one object (`funcgrad.rewrite.simplify`), so that a pattern's
repeated variable is compared by identity, and matching never hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, rebuild, scalar, subexpressions, var
from funcgrad.graph import CONSTANT, INPUT, unnested
from funcgrad.ops.base.op import Op, broadcast_to
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.laws import COMMUTING, EXACT, LAWS, Holds, Law, Mode
from funcgrad.rewrite.structural_laws import STRUCTURAL, fold_constants, value_of

Check: TypeAlias = tuple[Literal["opens", "binds", "again", "number", "named"], int, Any]
"""A check on one place of an expression; places are numbered as they open, the root is 0.

It ``opens``: is that operation, and gives its operands the next places. It ``binds`` a variable, or is
``again`` what another place has. It is a ``number``, for a variable, or the ``named`` one.
"""


class _Reading(NamedTuple):
    """One way to read expressions as a law's left side: of operands that commute, one order."""

    operands: tuple[Any, ...]
    """What the root's are, in this order, to be told without looking into them: see `_may_be`."""
    checks: tuple[Check, ...]
    law: Law
    names: tuple[str, ...]
    allowed: Callable[[dict[str, Any]], bool]
    """Whether the law applies, given the bindings."""
    accepted: Callable[[dict[str, Any], Expr], bool]
    """Whether what the law makes of the bindings may stand."""


class _Pattern(NamedTuple):
    """A law's left side as an expression, on variables by the names that the law gives them."""

    root: Expr
    law: Law
    names: tuple[str, ...]


@lru_cache(maxsize=1)
def _patterns() -> dict[Op, list[_Pattern]]:
    """The table of laws, by the operation at the root of the left side."""
    stands = {name: var(name, dtype=bool if name == "p" else float) for name in "cdpxy"}
    found: dict[Op, list[_Pattern]] = {}
    for law in LAWS:
        code: Any = law.left.__code__
        names = code.co_varnames[: code.co_argcount]
        root = law.left(*[stands[name] for name in names])
        found.setdefault(root.op, []).append(_Pattern(root, law, names))
    return found


@lru_cache(maxsize=1024)
def _readings(op: Op, mode: Mode, dtype: str) -> tuple[_Reading, ...]:
    """The ways to read an operation as a law's left side: worked out for those that programs have."""
    found: list[_Reading] = []
    for root, law, names in _patterns().get(op, ()):
        limited = law.holds == "for readers" and mode != "formula"
        if not _is_taken(law.holds, mode, dtype) or (law.sole and mode == "part"):
            continue
        if limited and "c" not in names:
            continue
        allowed = _is_far_from_overflow if limited else _always
        accepted = _always if "c" not in names else _ACCEPTED.get(law.holds, _has_finite_constants)
        read = dict.fromkeys(_checks(root, order) for order in _orders(root))
        found.extend([_Reading(*order, law, names, allowed, accepted) for order in read])
    return tuple(found)


def _orders(pattern: Expr) -> Iterator[dict[int, bool]]:
    """For each operation in a pattern whether its operands are read the other way round.

    Those below the root are simple, so that a constant among them stands where `rewritten` puts it.
    """
    inner = [expr for expr in subexpressions(pattern)[::-1] if expr.args]
    choices = [(False, True) if expr.op.name in COMMUTING else (False,) for expr in inner]
    for i, expr in enumerate(inner):
        if expr is not pattern and expr.op in _CONSTANT_PLACE:
            numbers = [k for k, arg in enumerate(expr.args) if _is_number(arg)]
            if len(numbers) == 1:
                choices[i] = (numbers[0] != _CONSTANT_PLACE[expr.op],)
    for chosen in product(*choices):
        yield {id(expr): swapped for expr, swapped in zip(inner, chosen, strict=True)}


def _checks(pattern: Expr, swapped: dict[int, bool]) -> tuple[tuple[Any, ...], tuple[Check, ...]]:
    """The root's operands in the order that they are read in, and all checks: operations first."""
    places = [pattern]
    opens: list[Check] = []
    others: list[Check] = []
    met: dict[str, int] = {}
    for at, expr in enumerate(places):  # which grows
        if expr.op is CONSTANT:
            others.append(("named", at, value_of(expr)))
        elif expr.op is INPUT:
            name = str(expr.params[0][1])
            if name in met:
                others.append(("again", at, met[name]))
            else:
                met[name] = at
                others.append(("number" if name in _NUMBERS else "binds", at, name))
        else:
            opens.append(("opens", at, expr.op))
            places.extend(expr.args[::-1] if swapped[id(expr)] else expr.args)
    others.sort(key=lambda check: check[0] == "binds")  # what may fail comes first
    operands = tuple([_operand(expr) for expr in places[1 : 1 + len(pattern.args)]])
    return operands, (*opens, *others)


def _is_number(pattern: Expr) -> bool:
    return pattern.op is CONSTANT or (pattern.op is INPUT and pattern.params[0][1] in _NUMBERS)


def _operand(pattern: Expr) -> Any:
    """The name of a variable, or its kind: see `Look`."""
    if pattern.op is INPUT:
        return pattern.params[0][1]
    if pattern.op is CONSTANT:
        return _Constant(value_of(pattern).item())
    return _OnConstant(pattern.op) if any(map(_is_number, pattern.args)) else pattern.op


_CONSTANT_PLACE = {arithmetic.multiply: 0, arithmetic.add: 1}
"""Where the constant stands in a simple product or sum: first in products, last in sums."""

_NUMBERS = ("c", "d")
"""The variables that stand for constants."""


def _always(*_: object) -> bool:
    return True


def _is_taken(holds: Holds, mode: Mode, dtype: str) -> bool:
    """Whether a law that holds for these values is for what is simplified, of this kind of dtype."""
    if dtype != "c":
        return mode in ("derivative", "formula") or holds in EXACT
    # A complex zero's sign chooses the side of a branch cut.
    return holds == "everywhere" or (mode == "formula" and holds != "as a stable form")


def _has_finite_constants(found: dict[str, Any], new: Expr) -> bool:
    """Whether the constants that a law has made of others have not overflown."""
    return all(np.isfinite(value) for value in _constants(found, new))


def _has_normal_constants(found: dict[str, Any], new: Expr) -> bool:
    least = np.finfo(new.dtype).tiny
    return all(least <= abs(value) < np.inf for value in _constants(found, new))


def _is_far_from_overflow(found: dict[str, Any]) -> bool:
    return bool(1 <= abs(found["c"]) <= 1024)


def _constants(found: dict[str, Any], new: Expr) -> list[Any]:
    """The constants in what a law has made, outside of what its variables stand for."""
    bound = {id(expr) for expr in found.values()}

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return () if id(expr) in bound or value_of(expr) is not None else expr.args

    values = [value_of(expr) for expr in unnested(new, operands) if id(expr) not in bound]
    return [value for value in values if value is not None]


_ACCEPTED: dict[Holds, Callable[[dict[str, Any], Expr], bool]] = {
    "for normal constants": _has_normal_constants,
}


class _Constant(NamedTuple):
    """What a constant operand is to a law before it is looked into: its value, where a law names it."""

    value: float | None


@lru_cache(maxsize=1)
def _named_values() -> frozenset[Any]:
    """The constants that laws name, such as 0 and 1."""
    roots = [pattern.root for patterns in _patterns().values() for pattern in patterns]
    return frozenset(
        value_of(expr).item() for expr in subexpressions(*roots) if expr.op is CONSTANT
    )


class _OnConstant(NamedTuple):
    """What the result of an operation is to a law where one operand of it is a constant."""

    op: Op


def _kind_of_result(op: Op, operands: tuple[Any, ...]) -> Any:
    if op is broadcast_to and isinstance(operands[0], _Constant):
        return operands[0]
    held = any(kind is CONSTANT or isinstance(kind, _Constant) for kind in operands)
    return _OnConstant(op) if held else op


class Applicable(NamedTuple):
    """What may apply to a node, told from what its operands are."""

    structural: tuple[Callable[[Expr], Expr | None], ...]
    readings: tuple[_Reading, ...]
    sole: tuple[_Reading, ...]
    """Those of laws whose operand must have no other use, which is known when all is simplified."""
    swaps: bool
    """Whether the operands stand in the wrong order: see `_CONSTANT_PLACE`."""


class Look(NamedTuple):
    """What a look at a node's operands tells of it, but not at theirs."""

    laws: Applicable | None
    """Nothing applies to most nodes."""
    kind: Any
    """What it is to a law itself, as an operand."""


@lru_cache(maxsize=8192)
def look(mode: Mode, op: Op, dtype: str, alike: bool, operands: tuple[Any, ...]) -> Look:
    """What there is to know of a node of this operation and kind of dtype, given its operands' kinds.

    ``alike`` where both of its operands are one expression.
    """
    return Look(_applicable(mode, op, dtype, alike, operands), _kind_of_result(op, operands))


def look_at_source(expr: Expr) -> Look:
    """What a look at an input or a constant tells."""
    value = value_of(expr)
    if value is None:
        return Look(None, expr.op)
    named = value.item() if value.item() in _named_values() else None
    return Look(None, _Constant(named))


def _applicable(
    mode: Mode, op: Op, dtype: str, alike: bool, kinds: tuple[Any, ...]
) -> Applicable | None:
    ops = [kind.op if isinstance(kind, _OnConstant) else kind for kind in kinds]
    structural: list[Callable[[Expr], Expr | None]] = []
    if all(isinstance(kind, _Constant) for kind in kinds):
        structural.append(fold_constants)
    for law, operands, holds in STRUCTURAL.get(op.name, ()):
        taken = holds == "everywhere" or _is_taken(holds, mode, dtype)
        if taken and (not operands or any(known in operands for known in ops)):
            structural.append(law)
    readings: list[_Reading] = []
    swaps = False
    if dtype in "fc":
        for row in _readings(op, mode, dtype):
            if _may_match(row.operands, kinds, alike):
                readings.append(row)
        if op in _CONSTANT_PLACE:
            constant, other = kinds if _CONSTANT_PLACE[op] == 0 else kinds[::-1]
            swaps = isinstance(other, _Constant) and not isinstance(constant, _Constant)
    if not (structural or readings or swaps):
        return None
    plain = tuple([row for row in readings if not row.law.sole])
    sole = tuple([row for row in readings if row.law.sole])
    return Applicable(tuple(structural), plain, sole, swaps)


def _may_match(operands: tuple[Any, ...], kinds: tuple[Any, ...], alike: bool) -> bool:
    if (
        not alike
        and len(operands) == 2
        and isinstance(operands[0], str)
        and operands[0] == operands[1]
    ):
        return False
    return all(map(_may_be, operands, kinds))


def _may_be(operand: Any, kind: object) -> bool:
    if isinstance(operand, str):
        return operand not in _NUMBERS or isinstance(kind, _Constant)
    return bool(operand == kind) or kind == _OnConstant(operand)


def rewritten(expr: Expr, laws: Applicable) -> Expr | None:
    """What the first of the laws that applies makes of a node; None where none does."""
    for law in laws.structural:
        new = law(expr)
        if new is not None:
            return new
    new = _first(laws.readings, expr)
    return rebuild(expr, expr.args[::-1]) if new is None and laws.swaps else new


def rewritten_alone(expr: Expr, laws: Applicable) -> Expr | None:
    """What a law whose operand must have no other use makes of a node; None where none applies."""
    return _first(laws.sole, expr)


def _first(readings: Sequence[_Reading], expr: Expr) -> Expr | None:
    for reading in readings:
        new = _by(reading, expr)
        if new is not None:
            return new
    return None


def _by(reading: _Reading, expr: Expr) -> Expr | None:
    """What a law makes of a node, if it is an instance of its left side and the law allows it."""
    found = _read(expr, reading.checks)
    if found is None or not reading.allowed(found):
        return None
    try:
        new = reading.law.right(*[found[name] for name in reading.names])
    except ArithmeticError:  # a constant over 0, or one that Python cannot hold
        return None
    made = new if isinstance(new, Expr) else scalar(new, expr.dtype)
    return made if reading.accepted(found, made) else None


def _read(root: Expr, checks: tuple[Check, ...]) -> dict[str, Any] | None:
    """What each variable of a pattern stands for in an expression; None where that is no instance of it."""
    places = [root]
    found: dict[str, Any] = {}
    for what, at, wanted in checks:
        expr = places[at]
        if what == "opens":
            if expr.op is not wanted:
                return None
            places.extend(expr.args)
        elif what == "binds":
            found[wanted] = expr
        elif what == "again":
            if expr is not places[wanted]:
                return None
        else:
            value = value_of(expr)
            if value is None:
                return None
            if what == "number":
                # A Python number, so that the right side's arithmetic is exact and its dtype weak.
                found[wanted] = number = value.item()
                if number - number != 0:  # it is infinite or NaN
                    return None
            elif not _is_same(value, wanted):
                return None
    return found


def _is_same(value: Any, wanted: Any) -> bool:
    """Whether a constant is the number that a law names, with the sign of its zeros."""
    return bool(
        value == wanted
        and np.signbit(value.real) == np.signbit(wanted)
        and not np.signbit(value.imag)
    )
