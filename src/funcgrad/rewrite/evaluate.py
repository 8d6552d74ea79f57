"""Evaluation: a fold that runs each operation by NumPy, without compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.expr import Expr, by_key, subexpressions
from funcgrad.fold import Algebra, environment, fold
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Key, Node
from funcgrad.rewrite.in_place import in_place, reads_first
from funcgrad.source import fail

if TYPE_CHECKING:
    from pyrsistent import PMap


def evaluate(expr: Expr, values: Mapping[Any, Any] | None = None, /, **named: object) -> Any:
    """The value of an expression, given one for each of its variables.

    ``values`` maps names or variables to numbers or arrays; keywords do the same by name. A float64
    scalar comes back as a Python float, other scalars as NumPy's, arrays as new arrays.
    As a fold: ``input = values[name]``, ``constant = its array``, ``op = op.run(*parents, **params)``.

    Raises TypeError if a variable has no value, or the value's shape or dtype does not fit.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> evaluate(x * x + 1, x=3.0)
    10.0
    """
    if not isinstance(expr, Expr):
        raise fail(
            TypeError,
            f"evaluate: expected an expression, but got {type(expr).__name__}; make one of var('x')",
        )
    with np.errstate(all="ignore"):
        return present(_run(expr, numpy_algebra(expr, _by_name(expr, values, named))))


def _run(root: Expr, algebra: Algebra[Any]) -> Any:
    """The fold of a program, with stores in place, and values freed after their last use."""
    exprs = list(by_key(root).values())
    if not any([expr.op not in (INPUT, CONSTANT) and expr.op.in_place for expr in exprs]):
        return fold(root, algebra)
    place = {expr.key: i for i, expr in enumerate(exprs)}
    operands = [tuple([place[arg.key] for arg in expr.args]) for expr in exprs]
    ops = [expr.op for expr in exprs]
    order = reads_first(ops, operands) or range(len(exprs))
    rank = {i: n for n, i in enumerate(order)}
    exprs, ops = [exprs[i] for i in order], [ops[i] for i in order]
    operands = [tuple([rank[k] for k in operands[i]]) for i in order]
    root_at = rank[place[root.key]]
    written, copied = in_place(ops, operands, [root_at])
    last = {k: i for i, args in enumerate(operands) for k in args} | {root_at: len(exprs)}
    values: dict[int, Any] = {}
    for i, expr in enumerate(exprs):
        given = tuple([values[k] for k in operands[i]])
        if i in written:
            values[i] = expr.op.in_place(*given, **dict(expr.params))
        elif expr.op is INPUT:
            values[i] = algebra.input(expr)
        elif expr.op is CONSTANT:
            values[i] = algebra.constant(expr)
        else:
            found = algebra.op(expr, given)
            values[i] = found.copy() if i in copied else found
        for k in {k for k in operands[i] if last[k] == i}:
            del values[k]
    return values[root_at]


def evaluate_all(
    expr: Expr, values: Mapping[Any, Any] | None = None, /, **named: object
) -> PMap[Key, Any]:
    """The value of every node, by key.

    Raises as `evaluate`.
    """
    with np.errstate(all="ignore"):
        return environment(expr, numpy_algebra(expr, _by_name(expr, values, named)))


def numpy_algebra(expr: Expr, values: Mapping[str, Any]) -> Algebra[Any]:
    """The algebra of `evaluate`: values are NumPy arrays."""

    def input(node: Node) -> Any:
        return values[node.name]

    def op(node: Node, parents: tuple[Any, ...]) -> Any:
        run: Callable[..., Any] = node.op.run  # type: ignore[attr-defined]
        return run(*parents, **dict(node.params)) if node.params else run(*parents)

    return Algebra(input, lambda node: node.value, op)


def variables(*exprs: Expr) -> dict[str, Expr]:
    """The variables of expressions by name, in the order of their first occurrence.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> list(variables(y * x + y))
    ['y', 'x']
    """
    found: dict[str, Expr] = {}
    for expr in subexpressions(*exprs):
        if expr.op is INPUT:
            name = str(expr.params[0][1])
            if found.setdefault(name, expr).type != expr.type:
                raise fail(
                    TypeError,
                    f"variables: expected one type for {name!r}, but got {found[name].type} and {expr.type}",
                )
    return found


def _by_name(expr: Expr, values: Mapping[Any, Any] | None, named: dict[str, Any]) -> dict[str, Any]:
    given = {_name(key): value for key, value in (values or {}).items()} | named
    wanted = variables(expr)
    if given.keys() - wanted.keys() or wanted.keys() - given.keys():
        names = ", ".join(wanted) or "no variables"
        got = ", ".join(given) or "none"
        raise fail(
            TypeError, f"evaluate: expected values for {names}, but got {got}; write f(x=2.0)"
        )
    return {name: fitted(name, given[name], var.type) for name, var in wanted.items()}


def inputs_of(
    expr: Expr, values: Mapping[Any, Any] | None, named: dict[str, Any]
) -> tuple[list[Expr], list[Any]]:
    """The variables of an expression, and the array given for each, checked."""
    arrays = _by_name(expr, values, named)
    wanted = variables(expr)
    return list(wanted.values()), [arrays[name] for name in wanted]


def _name(key: object) -> str:
    return str(key.params[0][1]) if isinstance(key, Expr) and key.op is INPUT else str(key)


def fitted(name: str, value: object, type: ArrayType) -> Any:
    """A value as an array of a variable's type; widening is allowed, as in NumPy."""
    if isinstance(value, Expr):
        raise fail(
            TypeError,
            f"evaluate: expected a number for {name}, but got an expression; use substitute",
        )
    array = np.asarray(value)
    if type.dtype.kind in "biu" and array.dtype.kind in "biuf":
        return _whole(name, array, type)
    weak = isinstance(value, bool | int | float | complex)
    if array.shape != type.shape or not (
        np.can_cast(array.dtype, type.dtype, "same_kind") or (weak and array.dtype.kind in "biuf")
    ):
        raise fail(
            TypeError,
            f"evaluate: expected {type} for {name}, but got {ArrayType(array.shape, array.dtype)}",
        )
    return array.astype(type.dtype)[()]


def _whole(name: str, array: np.ndarray[Any, Any], type: ArrayType) -> Any:
    """Values for an integer variable: integers in the range of its dtype."""
    with np.errstate(all="ignore"):
        cast = array.astype(type.dtype)
    fits = not array.shape or np.can_cast(array.dtype, type.dtype, "same_kind")
    if array.shape != type.shape or not fits or not np.array_equal(cast, array):
        shown = array[()] if not array.shape else ArrayType(array.shape, array.dtype)
        raise fail(TypeError, f"evaluate: expected {type} for {name}, but got {shown}")
    return cast[()]


def present(value: Any) -> Any:
    """A result as a Python float, int, bool or complex if that is exact; else as a NumPy scalar or array.

    >>> present(np.float64(3.0)), present(np.float32(3.0))
    (3.0, np.float32(3.0))
    """
    if np.ndim(value) == 0:
        value = np.asarray(value)[()]
        return value.item() if value.dtype.char in "dl?D" else value
    return np.array(value)


def result(value: object) -> Any:
    """A result for the caller of a transform: a number, an array, or an expression of an outer trace."""
    # The common types first: `present` takes 2 us.
    if type(value) is np.float64:
        return value.item()
    if type(value) is float or isinstance(value, Expr):
        return value
    return value if isinstance(value, np.ndarray) and value.ndim else present(value)
