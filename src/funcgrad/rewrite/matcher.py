"""Pattern matching: which laws of the table (`funcgrad.rewrite.laws`) apply to a node, and their results.

Left sides are compiled to lists of checks. `candidates` selects the patterns for a node by its operation and
the kinds of its operands, and is memoized: a discrimination tree of depth one. Within one simplification
equal operands are one object (`funcgrad.rewrite.simplify`), so that a variable that a pattern repeats is
compared by identity, and matching never hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import import_module
from itertools import product
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, rebuild, subexpressions, var
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.laws import COMMUTING, EXACT, LAWS, Holds, Law, Mode
from funcgrad.rewrite.right_hand_sides import (
    NUMBERS,
    LawResult,
    RightHandSide,
    law_result,
    right_hand_side,
)
from funcgrad.rewrite.structural_laws import SIGNIFICANT, STRUCTURAL, Over, fold_constants
from funcgrad.typing import Array

Check: TypeAlias = tuple[Literal["op", "bind", "same_as", "constant", "literal"], int, Any]
"""An instruction of a compiled pattern: what to check, at which position, and the check's argument.

The root has position 0. ``op`` checks the operation, and gives its operands the next positions. ``bind``
binds a variable; ``same_as`` compares with the expression at an earlier position; ``constant`` binds a
variable to the number of a constant; ``literal`` compares a constant with a number.
"""


class CompiledPattern(NamedTuple):
    """The left side of a law for one order of the operands of commuting operations."""

    operands: tuple[Any, ...]
    """The kinds of the root's operands, or the names of variables: see `_may_be`."""
    checks: tuple[Check, ...]
    law: Law
    names: tuple[str, ...]
    allowed: Callable[[dict[str, Any]], bool]
    """Whether the law applies, given the bindings."""
    right: Callable[..., RightHandSide]
    """The law's right-hand side, given the types of the node and of the bindings that are no numbers."""
    accepted: Callable[[dict[str, Any], list[Any], ArrayType], bool]
    """Whether the result is accepted, given the bindings, the constants that it computes, and its type."""


class _Pattern(NamedTuple):
    """A law's left side as an expression, and the names of its variables."""

    root: Expr
    law: Law
    names: tuple[str, ...]


@lru_cache(maxsize=2)
def _patterns(reading: bool) -> dict[Op, list[_Pattern]]:
    """The table of laws, by the operation at the root of the left side."""
    stands = {name: var(name, dtype=bool if name == "p" else float) for name in "cdpxy"}
    found: dict[Op, list[_Pattern]] = {}
    laws = LAWS
    if reading:
        from funcgrad.rewrite.reading_laws import READING  # imported for printed formulas alone

        laws = (*LAWS, *READING)
    for law in laws:
        code: Any = law.left.__code__
        names = code.co_varnames[: code.co_argcount]
        root = law.left(*[stands[name] for name in names])
        found.setdefault(root.op, []).append(_Pattern(root, law, names))
    return found


@lru_cache(maxsize=1024)
def _compiled_patterns(op: Op, mode: Mode, dtype: str) -> tuple[CompiledPattern, ...]:
    """The patterns of the laws with this operation at the root: compiled when a program first has it."""
    found: list[CompiledPattern] = []
    for root, law, names in _patterns(mode == "reading").get(op, ()):
        limited = law.holds == "for readers" and mode not in FOR_READERS
        if not _is_taken(law.holds, mode, dtype) or (law.single_use and mode == "part"):
            continue
        if limited and "c" not in names:
            continue
        allowed = _is_far_from_overflow if limited else _always
        if law.holds == "for readers" and not limited:
            allowed = _is_only_constant if "c" in names else _has_normal_squares
        default = _has_finite_constants if "c" in names else _always
        accepted = _ACCEPTED.get(law.holds, default)
        compiled = dict.fromkeys(_checks(root, order) for order in _orders(root))
        right = lru_cache(maxsize=256)(partial(right_hand_side, law.right, names))
        found.extend(
            [CompiledPattern(*each, law, names, allowed, right, accepted) for each in compiled]
        )
    return tuple(found)


def _orders(pattern: Expr) -> Iterator[dict[int, bool]]:
    """Whether the operands of each operation in a pattern are swapped, for all orders to try.

    Operands of the root are simple: a constant operand of theirs stands where `rewrite` puts it.
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
    """The kinds of the root's operands in this order, and all checks: operations first."""
    subterms = [pattern]
    on_ops: list[Check] = []
    on_leaves: list[Check] = []
    first_position: dict[str, int] = {}
    for position, expr in enumerate(subterms):  # the list grows
        if expr.op is CONSTANT:
            on_leaves.append(("literal", position, value_of(expr)))
        elif expr.op is INPUT:
            name = str(expr.params[0][1])
            if name in first_position:
                on_leaves.append(("same_as", position, first_position[name]))
            else:
                first_position[name] = position
                on_leaves.append(("constant" if name in NUMBERS else "bind", position, name))
        else:
            on_ops.append(("op", position, expr.op))
            subterms.extend(expr.args[::-1] if swapped[id(expr)] else expr.args)
    on_leaves.sort(key=lambda check: check[0] == "bind")  # checks that may fail come first
    operands = tuple([_operand(expr) for expr in subterms[1 : 1 + len(pattern.args)]])
    return operands, (*on_ops, *on_leaves)


def _is_number(pattern: Expr) -> bool:
    return pattern.op is CONSTANT or (pattern.op is INPUT and pattern.params[0][1] in NUMBERS)


def _operand(pattern: Expr) -> Any:
    """The name of a variable, or the kind of another operand: see `Candidates`."""
    if pattern.op is INPUT:
        return pattern.params[0][1]
    if pattern.op is CONSTANT:
        return _Constant(value_of(pattern).item())
    return _on_constant(pattern.op) if any(map(_is_number, pattern.args)) else pattern.op


_CONSTANT_PLACE = {arithmetic.multiply: 0, arithmetic.add: 1}
"""Where the constant stands in a simple product or sum: first in products, last in sums."""

FOR_READERS: tuple[Mode, ...] = ("formula", "reading")
"""The modes whose results are printed."""


def _always(*_: object) -> bool:
    return True


def _is_taken(holds: Holds, mode: Mode, dtype: str) -> bool:
    """Whether a simplification in this mode uses a law, for a node of this kind of dtype."""
    if holds == "where finite":
        return mode == "reading" and dtype != "c"
    if holds == "as a stable derivative":
        return mode == "derivative" and dtype == "f"
    if dtype != "c":
        return mode in ("derivative", *FOR_READERS) or holds in EXACT
    # A complex zero's sign chooses the side of a branch cut.
    if holds in ("everywhere", "for reals and arrays"):
        return True
    if holds == "for finite numbers" and mode == "derivative":
        return True
    return mode in FOR_READERS and holds != "as a stable form"


def _has_finite_constants(_: object, constants: list[Any], __: object) -> bool:
    """Whether the constants that a law has computed are finite."""
    return all([value - value == 0 for value in constants])


def _has_normal_constants(_: object, constants: list[Any], type: ArrayType) -> bool:
    least = _least_normal(type.dtype)
    return all([least <= abs(value) < inf for value in constants])


@lru_cache(maxsize=16)
def _least_normal(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).tiny)


def _is_far_from_overflow(found: dict[str, Any]) -> bool:
    return bool(1 <= abs(found["c"]) <= 1024)


def _has_normal_squares(found: dict[str, Any]) -> bool:
    """Whether the square of each variable that is a constant is normal: ``x*(x*y) = x**2*y`` computes it."""
    for expr in found.values():
        value = value_of(expr)
        if value is not None and not _least_normal(expr.dtype) <= _square_of_size(value) < inf:
            return False
    return True


def _square_of_size(value: Any) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(abs(value) * abs(value))


def _is_only_constant(found: dict[str, Any]) -> bool:
    """Whether x, a factor beside the constant c, begins with no constant.

    It does where the product of the two is not normal. If c was moved, each constant of a long chain would
    pass through all of these.
    """
    x = found["x"]
    return x.op is not arithmetic.multiply or value_of(x.args[0]) is None


def _is_real_or_array(_: object, __: object, type: ArrayType) -> bool:
    return type.dtype.kind != "c" or type.shape != ()


def _binds_reals(found: dict[str, Any], *_: object) -> bool:
    """Whether no variable is complex: abs(z) and real(z) are real."""
    return all([x.dtype.kind != "c" for x in found.values() if isinstance(x, Expr)])


_ACCEPTED: dict[Holds, Callable[[dict[str, Any], list[Any], ArrayType], bool]] = {
    "where finite": _binds_reals,
    "for normal constants": _has_normal_constants,
    "for reals and arrays": _is_real_or_array,
}


class _Constant(NamedTuple):
    """The kind of a constant operand: its value, if a law names that number, else None."""

    value: float | None


@lru_cache(maxsize=2)
def _named_values(reading: bool) -> frozenset[Any]:
    """The constants that laws name, such as 0 and 1."""
    roots = [pattern.root for patterns in _patterns(reading).values() for pattern in patterns]
    return frozenset(
        value_of(expr).item() for expr in subexpressions(*roots) if expr.op is CONSTANT
    )


def is_named_number(value: float) -> bool:
    """Whether a law names a number, or is about it: 0, 1, 2 and their like, and what is not finite.

    >>> is_named_number(-1.0), is_named_number(1.7)
    (True, False)
    """
    return value - value != 0 or abs(value) in (0, 0.5, 1, 2) or value in _named_values(False)


class _OpOn(NamedTuple):
    """The kind of an operation's result, given what laws ask of its operands."""

    op: Op
    operands: frozenset[Any]
    """CONSTANT if an operand is one, and the operations of operands that are `SIGNIFICANT` here."""


def _on_constant(op: Op) -> _OpOn:
    return _OpOn(op, frozenset((CONSTANT,)))


def _op_of(kind: object) -> Any:
    return kind.op if isinstance(kind, _OpOn) else kind


def _kind_of_result(op: Op, operands: tuple[Any, ...]) -> Any:
    if op is broadcast_to and isinstance(operands[0], _Constant):
        return operands[0]
    met = {CONSTANT if isinstance(kind, _Constant) else _op_of(kind) for kind in operands}
    asked = met & (SIGNIFICANT.get(op, frozenset()) | {CONSTANT})
    return _OpOn(op, frozenset(asked)) if asked else op


class Laws(NamedTuple):
    """The laws that may apply to a node, judged by the kinds of its operands."""

    structural: tuple[Callable[[Expr], Expr | None], ...]
    patterns: tuple[CompiledPattern, ...]
    single_use: tuple[CompiledPattern, ...]
    """The patterns of laws whose operand must have no other use: tried when all nodes are simplified."""
    swaps: bool
    """Whether the operands stand in the wrong order: see `_CONSTANT_PLACE`."""


class Candidates(NamedTuple):
    """The laws that may apply to a node, and the node's own kind."""

    laws: Laws | None
    """None if no law can apply, as for most nodes."""
    kind: Any
    """How patterns see the node as an operand: its operation, or a number that it is or contains."""


@lru_cache(maxsize=8192)
def candidates(mode: Mode, op: Op, dtype: str, same: bool, operands: tuple[Any, ...]) -> Candidates:
    """The laws for a node of this operation and kind of dtype, given the kinds of its operands.

    ``same`` says that both of its operands are one expression.
    """
    return Candidates(_laws(mode, op, dtype, same, operands), _kind_of_result(op, operands))


def candidates_of_leaf(mode: Mode, expr: Expr) -> Candidates:
    """The kind of an input or a constant, to which no law applies."""
    value = value_of(expr)
    if value is None:
        return Candidates(None, expr.op)
    named = value.item() if value.item() in _named_values(mode == "reading") else None
    return Candidates(None, _Constant(named))


def _laws(mode: Mode, op: Op, dtype: str, same: bool, kinds: tuple[Any, ...]) -> Laws | None:
    structural: list[Callable[[Expr], Expr | None]] = []
    if all(isinstance(kind, _Constant) for kind in kinds):
        structural.append(fold_constants)
    collected = False
    if mode == "reading":
        # Imported for printed formulas alone.
        from funcgrad.rewrite.reading_array_laws import READING_ELEMENTWISE
        from funcgrad.rewrite.reading_laws import COLLECTED, COMPLEX_READING, STRUCTURAL_READING

        collected = dtype == "f" and op.name in COLLECTED
        if dtype in "fb":
            structural += STRUCTURAL_READING.get(op.name, ())
            structural += READING_ELEMENTWISE if isinstance(op, Elementwise) else ()
        else:
            structural += COMPLEX_READING.get(op.name, ())
    for law, operands, holds in () if collected else STRUCTURAL.get(op.name, ()):
        taken = holds == "everywhere" or _is_taken(holds, mode, dtype)
        if taken and (not operands or any(_is_among(kind, operands) for kind in kinds)):
            structural.append(_function_of(law))
    patterns: list[CompiledPattern] = []
    swaps = False
    if dtype in "fc":
        for pattern in _compiled_patterns(op, mode, dtype):
            read = not collected or pattern.law.holds == "where finite"
            if read and _may_match(pattern.operands, kinds, same):
                patterns.append(pattern)
        if op in _CONSTANT_PLACE and not collected:
            constant, other = kinds if _CONSTANT_PLACE[op] == 0 else kinds[::-1]
            swaps = isinstance(other, _Constant) and not isinstance(constant, _Constant)
    if not (structural or patterns or swaps):
        return None
    anywhere = tuple([pattern for pattern in patterns if not pattern.law.single_use])
    single_use = tuple([pattern for pattern in patterns if pattern.law.single_use])
    return Laws(tuple(structural), anywhere, single_use, swaps)


def _is_among(kind: object, operands: tuple[Op | Over, ...]) -> bool:
    """Whether an operand of this kind has one of the operations, on the operands that they are `Over`."""
    op = _op_of(kind)
    return op in operands or (
        isinstance(kind, _OpOn)
        and any(
            known.op is op and not kind.operands.isdisjoint(known.operands)
            for known in operands
            if isinstance(known, Over)
        )
    )


def _function_of(law: Callable[[Expr], Expr | None] | str) -> Callable[[Expr], Expr | None]:
    if not isinstance(law, str):
        return law
    home, _, name = law.partition(":")
    found: Callable[[Expr], Expr | None] = getattr(import_module(home), name)
    return found


def _may_match(operands: tuple[Any, ...], kinds: tuple[Any, ...], same: bool) -> bool:
    if (
        not same
        and len(operands) == 2
        and isinstance(operands[0], str)
        and operands[0] == operands[1]
    ):
        return False
    return all(map(_may_be, operands, kinds))


def _may_be(operand: Any, kind: object) -> bool:
    if isinstance(operand, str):
        return operand not in NUMBERS or isinstance(kind, _Constant)
    if isinstance(operand, _OpOn):
        return (
            isinstance(kind, _OpOn) and kind.op is operand.op and operand.operands <= kind.operands
        )
    return bool(operand == _op_of(kind))


def rewrite(expr: Expr, laws: Laws) -> Expr | LawResult | None:
    """The result of the first of the laws that applies to a node; None if none does."""
    for law in laws.structural:
        try:
            new = law(expr)
        except ArithmeticError:  # of numbers that Python cannot hold
            continue
        if new is not None:
            return new
    for pattern in laws.patterns:
        made = _apply(pattern, expr)
        if made is not None:
            return made
    return rebuild(expr, expr.args[::-1]) if laws.swaps else None


def rewrite_single_use(expr: Expr, laws: Laws) -> Expr | LawResult | None:
    """`rewrite` by the laws whose operand must have no other use."""
    for pattern in laws.single_use:
        new = _apply(pattern, expr)
        if new is not None:
            return new
    return None


class ExplainedRewrite(NamedTuple):
    """A node before and after a law was applied to it, and the law in algebra."""

    before: Expr
    after: Expr
    law: str


def explained_rewrite(expr: Expr, laws: Laws) -> ExplainedRewrite | None:
    """`rewrite`, with the law that was applied."""
    for law in laws.structural:
        new: Any = rewrite(expr, Laws((law,), (), (), False))
        if new is not None:
            words = "arithmetic" if law is fold_constants else (law.__doc__ or law.__name__)
            return ExplainedRewrite(expr, new, words.splitlines()[0].rstrip("."))
    for pattern in laws.patterns:
        made = _apply(pattern, expr)
        if made is not None:
            return ExplainedRewrite(expr, made.expression(), _in_algebra(pattern.law))
    if laws.swaps:
        symbol = "*" if expr.op is arithmetic.multiply else " + "
        return ExplainedRewrite(expr, rebuild(expr, expr.args[::-1]), f"x{symbol}y = y{symbol}x")
    return None


def explained_single_use(expr: Expr, laws: Laws) -> ExplainedRewrite | None:
    """`rewrite_single_use`, with the law that was applied."""
    return explained_rewrite(expr, Laws((), laws.single_use, (), False))


def _in_algebra(law: Law) -> str:
    code: Any = law.left.__code__
    names = code.co_varnames[: code.co_argcount]
    stands = [var(name, dtype=bool if name == "p" else float) for name in names]
    return f"{law.left(*stands)!r} = {law.right(*stands)!r}"


def _apply(pattern: CompiledPattern, expr: Expr) -> LawResult | None:
    """The result of a law on a node; None if the node does not match, or the law refuses the bindings."""
    found = _match(expr, pattern.checks)
    if found is None or not pattern.allowed(found):
        return None
    bindings = [found[name] for name in pattern.names]
    types = [value.type for value in bindings if type(value) is Expr]
    made = law_result(pattern.right(expr.type, *types), bindings)
    if made is None or not pattern.accepted(found, made[1], expr.type):
        return None
    return made[0]


def _match(root: Expr, checks: tuple[Check, ...]) -> dict[str, Any] | None:
    """The bindings of a pattern's variables; None if the expression is no instance of the pattern."""
    subterms = [root]
    bindings: dict[str, Any] = {}
    for check, position, wanted in checks:
        expr = subterms[position]
        if check == "op":
            if expr.op is not wanted:
                return None
            subterms.extend(expr.args)
        elif check == "bind":
            bindings[wanted] = expr
        elif check == "same_as":
            if expr is not subterms[wanted]:
                return None
        else:
            value = value_of(expr)
            if value is None:
                return None
            if check == "constant":
                # A Python number, so that the right side's arithmetic is exact and its dtype weak.
                bindings[wanted] = number = value.item()
                if number - number != 0:  # it is infinite or NaN
                    return None
            elif not _is_same(value, wanted):
                return None
    return bindings


def _is_same(value: Array, wanted: float) -> bool:
    """Whether a constant is the number that a law names, of the same sign where it is zero."""
    return bool(
        value == wanted
        and np.signbit(value.real) == np.signbit(wanted)
        and not np.signbit(value.imag)
    )
