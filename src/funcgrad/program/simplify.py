"""Simplification: a fold whose algebra rebuilds each node with a smart constructor.

A smart constructor tries the laws (`funcgrad.program.laws`) on a node whose operands are simple
already, and simplifies what a law puts there. Laws that lower a measure end by themselves; a budget of
rewrites a node makes sure. The invariant: the result has the same type, and the same value wherever
the original is defined. What is run keeps the order of its factors, so that no product overflows that
did not before; a formula for a reader does not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, is_simple, mark_simple, rebuild, scalar, subexpressions, var
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops import contraction, elementwise, indexing, op, reduction, shape, tuples
from funcgrad.ops.op import Op, fit
from funcgrad.program.laws import COMMUTING, LAWS, Law
from funcgrad.source import fail

# Rewrites that one node may go through before it is left as it is.
BUDGET = 40


def simplify(expr: Expr) -> Expr:
    """An expression of the same type and value that is simpler to read, to run and to differentiate.

    It folds constants, drops neutral elements, collects like terms and brings in stable forms
    (``log(1 + exp(x))`` becomes ``softplus(x)``). It does not expand products. Values are taken to be
    finite (``x - x`` becomes 0), and products to be far from overflow (``x/y/y`` becomes ``x/y**2``).

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> simplify(2 * (3 * x) + 0 * x)
    6*x
    """
    if not isinstance(expr, Expr):
        raise fail(
            TypeError,
            f"simplify: expected an expression, but got {type(expr).__name__}; make one of var('x')",
        )
    return simplify_all([expr], readable=True)[0]


def simplify_all(exprs: Sequence[Expr], *, readable: bool = False) -> list[Expr]:
    """`simplify` several expressions that may share parts; to be run, unless ``readable``."""
    simple: dict[Key, Expr] = {}
    for expr in subexpressions(*exprs):
        key = expr.key
        if key in simple:
            continue
        if is_simple(expr) and not readable:
            simple[key] = expr
            continue
        args = tuple([simple[arg.key] for arg in expr.args])
        simple[key] = final = _normal(rebuild(expr, args), simple, BUDGET, readable)
        if not readable:
            mark_simple(final)
    return [simple[expr.key] for expr in exprs]


def _normal(expr: Expr, simple: dict[Key, Expr], budget: int, readable: bool) -> Expr:
    """The normal form of a node whose operands are simple; ``simple`` remembers those met."""
    while budget > 0:
        known = simple.get(expr.key)
        if known is not None:
            return known
        new = _rewrite(expr, readable)
        if new is None:
            break
        budget -= 1
        # The node itself may stand in what replaces it, under a mask: there it is simple.
        simple[expr.key] = expr
        for inner in _unknown(new, simple):
            args = tuple([simple[arg.key] for arg in inner.args])
            simple[inner.key] = _normal(rebuild(inner, args), simple, budget // 2, readable)
        final = simple.get(new.key)
        if final is None:
            args = tuple([simple[arg.key] for arg in new.args])
            final = _normal(rebuild(new, args), simple, budget, readable)
        simple[expr.key] = final
        return final
    simple[expr.key] = expr
    return expr


def _unknown(root: Expr, simple: dict[Key, Expr]) -> Iterator[Expr]:
    """The operands below a replacement that are not known to be simple, parents first."""
    stack = [(arg, False) for arg in root.args]
    while stack:
        expr, ready = stack.pop()
        if ready:
            if expr.key not in simple:
                yield expr
        elif expr.key not in simple:
            stack.append((expr, True))
            stack.extend((arg, False) for arg in expr.args)


def _rewrite(expr: Expr, readable: bool) -> Expr | None:
    """What the first law that applies makes of a node; None where none does."""
    if expr.op in (INPUT, CONSTANT):
        return None
    for law in (_fold_constants, *_STRUCTURAL.get(expr.op.name, ())):
        new = law(expr)
        if new is not None:
            return fit(new, expr.type)
    new = _by_table(expr, readable)
    return None if new is None else fit(new, expr.type)


# -- constants -----------------------------------------------------------------------------------
def value_of(expr: Expr) -> Any:
    """The scalar that a constant repeats, seen through broadcasting; None for anything else."""
    while expr.op is op.broadcast_to:
        expr = expr.args[0]
    return (
        expr.params[0][1].array.reshape(())[()] if expr.op is CONSTANT and expr.size == 1 else None
    )


def _fold_constants(expr: Expr) -> Expr | None:
    if not (isinstance(expr.op, op.Elementwise) or expr.op is op.astype) or not expr.args:
        return None
    values = [value_of(arg) for arg in expr.args]
    if any(value is None for value in values):
        return None
    with np.errstate(all="ignore"):
        result = expr.op.run(*[np.reshape(v, ())[()] for v in values], **dict(expr.params))
    return scalar(np.asarray(result)[()], expr.dtype)


# -- laws of fixed shape -------------------------------------------------------------------------
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


def _by_table(expr: Expr, readable: bool) -> Expr | None:
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


# -- laws on axes, moves and masks ---------------------------------------------------------------
def _is(expr: Expr, operation: Op) -> bool:
    return expr.op is operation


def _nested_move(expr: Expr) -> Expr | None:
    """reshape(reshape(x)) = reshape(x); broadcast, transpose, likewise; what changes nothing goes."""
    (x,) = expr.args
    if _is(expr, op.astype):
        return x if x.dtype == expr.dtype else None
    if _is(expr, shape.transpose_op):
        axes = dict(expr.params)["axes"]
        if _is(x, shape.transpose_op):
            inner = dict(x.params)["axes"]
            return shape.transpose(x.args[0], tuple(inner[i] for i in axes))  # type: ignore[no-any-return]
        return None
    if x.type == expr.type:
        return x
    if _is(x, expr.op):
        return expr.op(x.args[0], shape=expr.shape)  # type: ignore[no-any-return]
    value = value_of(x)
    if _is(expr, shape.reshape_op) and value is not None:
        return shape.broadcast_to(scalar(value, x.dtype), expr.shape)  # type: ignore[no-any-return]
    return None


def _moved_mask(expr: Expr) -> Expr | None:
    """move(mask(p, x)) = mask(move(p), move(x)), for what only moves entries.

    Where a scatter may add several entries to one, some of which are masked, the mask inside stays.
    """
    x = expr.args[0]
    if not _is(x, elementwise.mask):
        return None
    p, inside = x.args
    rest, params = expr.args[1:], dict(expr.params)
    if _is(expr, indexing.scatter_op) and rest:
        return elementwise.mask(expr.op(p, *rest, **params), expr)  # type: ignore[no-any-return]
    return elementwise.mask(expr.op(p, *rest, **params), expr.op(inside, *rest, **params))  # type: ignore[no-any-return]


def _selected(expr: Expr) -> Expr | None:
    """scatter(g)*(1/y) = mask(selected, scatter(g)*(1/y)): a factor may be infinite where no index led.

    Only beside a division, which is where infinite factors come from.
    """
    x, y = expr.args
    if _is(expr, elementwise.multiply):
        if _is(y, indexing.scatter_op):
            x, y = y, x
        if not _is(y, elementwise.divide):
            return None
    if not _is(x, indexing.scatter_op) or value_of(y) is not None:
        return None
    chosen = shape.full_like(x.args[0], True, bool)
    return elementwise.mask(indexing.scatter_op(chosen, *x.args[1:], **dict(x.params)), expr)  # type: ignore[no-any-return]


def _masked_sum(expr: Expr) -> Expr | None:
    """sum(mask(p, x)) = mask(any(p), sum(mask(p, x))): nothing selected is a zero that stays one."""
    (x,) = expr.args
    if not _is(x, elementwise.mask):
        return None
    axes = dict(expr.params)["axis"]
    return elementwise.mask(reduction.any_op(x.args[0], axis=axes), expr)  # type: ignore[no-any-return]


def _mask_cases(expr: Expr) -> Expr | None:
    """mask(True, x) = x; mask(False, x) = 0; mask(p, 0) = 0."""
    p, x = expr.args
    chosen = value_of(p)
    if chosen is not None:
        return x if chosen else scalar(0, expr.dtype)
    value = value_of(x)
    return scalar(0, expr.dtype) if value is not None and value == 0 else None


def _logical_cases(expr: Expr) -> Expr | None:
    """p | True = True; p | False = p; p & True = p; p & False = False."""
    if expr.dtype.kind != "b":
        return None
    decisive = _is(expr, elementwise.bitwise_or) or _is(expr, elementwise.logical_or)
    for x, y in (expr.args, expr.args[::-1]):
        value = value_of(x)
        if value is not None and x.dtype.kind == "b":
            return scalar(decisive, expr.dtype) if bool(value) is decisive else y
    return None


def _joined_masks(expr: Expr) -> Expr | None:
    """mask(p, x) + mask(q, y) = mask(p | q, mask(p, x) + mask(q, y))."""
    x, y = expr.args
    if not (_is(x, elementwise.mask) and _is(y, elementwise.mask)):
        return None
    if x.args[0].key == y.args[0].key:
        return None
    return elementwise.mask(np.logical_or(x.args[0], y.args[0]), expr)  # type: ignore[no-any-return]


def _sum_cases(expr: Expr) -> Expr | None:
    """sum over no axes = x; the sum of a repeated scalar = count * scalar."""
    (x,) = expr.args
    axes = dict(expr.params)["axis"]
    if not axes and x.dtype == expr.dtype:
        return x
    if _is(x, op.broadcast_to) and not x.args[0].shape:
        count = int(np.prod([x.shape[i] for i in axes], dtype=int))
        return x.args[0] * count if x.args[0].dtype == expr.dtype else None
    return None


def _through(expr: Expr, *operations: Op) -> Expr:
    while expr.op in operations:
        expr = expr.args[0]
    return expr


def _log_sum_exp(expr: Expr) -> Expr | None:
    """log(sum(exp(x))) = logsumexp(x)."""
    (x,) = expr.args
    outer = []
    while x.op in (shape.reshape_op, op.broadcast_to):
        outer.append(x)
        x = x.args[0]
    if not (_is(x, reduction.sum_op) and _is(x.args[0], elementwise.exp)) or x.dtype.kind != "f":
        return None
    new = reduction.logsumexp_op(x.args[0].args[0], **dict(x.params))
    for move in reversed(outer):
        new = move.op(new, **dict(move.params))
    return new  # type: ignore[no-any-return]


def _shifted_log_sum_exp(expr: Expr) -> Expr | None:
    """logsumexp(x - c) + c = logsumexp(x), for c that is alike along the axes: the shift by a maximum."""
    for total, shift in (expr.args, expr.args[::-1]):
        found = _through(total, shape.reshape_op)
        if not (_is(found, reduction.logsumexp_op) and _is(found.args[0], elementwise.subtract)):
            continue
        x, wide = found.args[0].args
        axes = dict(found.params)["axis"]
        kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        narrow = _through(wide, op.broadcast_to)
        if narrow.shape != kept[len(kept) - narrow.ndim :] or narrow.size != found.size:
            continue
        if shift.size == found.size and _unmoved(shift).key == _unmoved(narrow).key:
            whole = reduction.logsumexp_op(x, **dict(found.params))
            return shape.reshape(whole, expr.shape)  # type: ignore[no-any-return]
    return None


def _unmoved(expr: Expr) -> Expr:
    """What is below reshapes, and indices that do no more than drop axes of length 1."""
    while _is(expr, shape.reshape_op) or (
        _is(expr, indexing.getitem_op)
        and len(expr.args) == 1
        and expr.args[0].size == expr.size
        and all(not isinstance(i, tuple) or i[3] in (None, 1) for i in dict(expr.params)["spec"])
    ):
        expr = expr.args[0]
    return expr


def _softmax(expr: Expr) -> Expr | None:
    """exp(x) / sum(exp(x)) = exp(x - logsumexp(x))."""
    top, bottom = expr.args
    total = _through(bottom, op.broadcast_to, shape.reshape_op)
    if not (_is(top, elementwise.exp) and _is(total, reduction.sum_op)):
        return None
    if total.args[0].key != top.key:
        return None
    logs = _log_sum_exp(elementwise.log(bottom))
    return None if logs is None else np.exp(top.args[0] - logs)


def _root_of_squares(expr: Expr) -> Expr | None:
    """sqrt(sum(x**2)) = sqrt(x @ x) = norm(x), derivative 0 at 0; a constant factor comes out."""
    (x,) = expr.args
    if _is(x, elementwise.divide) and (value_of(x.args[1]) or 0) > 0:
        inner = _root_of_squares(elementwise.sqrt(x.args[0]))
        return None if inner is None else inner / np.sqrt(value_of(x.args[1])).item()
    if _is(x, elementwise.multiply) and (value_of(x.args[0]) or 0) > 0:
        inner = _root_of_squares(elementwise.sqrt(x.args[1]))
        return None if inner is None else inner * np.sqrt(value_of(x.args[0])).item()
    if _is(x, contraction.matmul_op) and not x.shape and x.args[0].key == x.args[1].key:
        inside, axes = x.args[0], (0,)
    elif _is(x, reduction.sum_op) and _is(x.args[0], elementwise.square):
        inside, axes = x.args[0].args[0], dict(x.params)["axis"]
    else:
        return None
    return reduction.norm_op(inside, axis=axes) if inside.dtype.kind == "f" else None


def _square_of_norm(expr: Expr) -> Expr | None:
    """norm(x)**2 = sum(x**2)."""
    (x,) = expr.args
    if not _is(x, reduction.norm_op) or x.args[0].dtype.kind != "f":
        return None
    return reduction.sum_op(np.square(x.args[0]), **dict(x.params))  # type: ignore[no-any-return]


def _picked(expr: Expr) -> Expr | None:
    """(x, y)[0] = x."""
    (t,) = expr.args
    return t.args[dict(expr.params)["index"]] if _is(t, tuples.together_op) else None


_MOVES = (_nested_move, _moved_mask)
_STRUCTURAL: dict[str, tuple[Callable[[Expr], Expr | None], ...]] = {
    "reshape": _MOVES,
    "broadcast_to": _MOVES,
    "transpose": _MOVES,
    "astype": (_nested_move,),
    "getitem": (_moved_mask,),
    "scatter_add": (_moved_mask,),
    "multiply": (_selected,),
    "sum": (_sum_cases, _masked_sum),
    "mask": (_mask_cases,),
    "add": (_joined_masks, _shifted_log_sum_exp),
    "bitwise_or": (_logical_cases,),
    "bitwise_and": (_logical_cases,),
    "logical_or": (_logical_cases,),
    "logical_and": (_logical_cases,),
    "log": (_log_sum_exp,),
    "divide": (_softmax, _selected),
    "sqrt": (_root_of_squares,),
    "square": (_square_of_norm,),
    "pick": (_picked,),
}
