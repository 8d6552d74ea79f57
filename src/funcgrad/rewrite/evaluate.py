"""Evaluation: a fold that runs each operation by NumPy, without compilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.expr import Expr, as_expression, by_key, subexpressions
from funcgrad.expr.concrete import tell_node
from funcgrad.fold import Algebra, environment, fold
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Key, Node
from funcgrad.node_names import labels
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.ops.base.op import example, leaf
from funcgrad.rewrite.in_place import in_place, reads_first
from funcgrad.source import type_error

if TYPE_CHECKING:
    from pyrsistent import PMap


def evaluate_roots(roots: Sequence[Expr], values: Mapping[str, Any]) -> list[Any]:
    """The arrays of several expressions, given an array for each variable by name, in one fold.

    As a fold: ``input = values[name]``, ``constant = its array``, ``op = op.run(*parents, **params)``. Stores
    are done in place, and values are freed after their last use.
    """
    algebra = numpy_algebra(values)
    with np.errstate(all="ignore"):
        return _run(roots, algebra)


def _run(roots: Sequence[Expr], algebra: Algebra[Any]) -> list[Any]:
    exprs = list(by_key(*roots).values())
    if not any([expr.op not in (INPUT, CONSTANT) and expr.op.in_place for expr in exprs]):
        return fold(roots, algebra)
    place = {expr.key: i for i, expr in enumerate(exprs)}
    operands = [tuple([place[arg.key] for arg in expr.args]) for expr in exprs]
    ops = [expr.op for expr in exprs]
    order = reads_first(ops, operands) or range(len(exprs))
    rank = {i: n for n, i in enumerate(order)}
    exprs, ops = [exprs[i] for i in order], [ops[i] for i in order]
    operands = [tuple([rank[k] for k in operands[i]]) for i in order]
    roots_at = [rank[place[root.key]] for root in roots]
    written, copied = in_place(ops, operands, roots_at)
    last = {k: i for i, args in enumerate(operands) for k in args}
    last |= dict.fromkeys(roots_at, len(exprs))
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
    return [values[k] for k in roots_at]


def evaluate_all(
    expr: Expr, values: Mapping[Any, Any] | None = None, /, **named: object
) -> PMap[Key, Any]:
    """The value of every node, by key.

    Raises as `evaluate`, and TypeError for a traced value, whose numbers would
    lose their derivatives.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> fg.evaluate_all(x * x + x, x=3.0)
    {x: 3.0, v1: 9.0, v2: 12.0}
    """
    expr = as_expression("evaluate_all", expr)
    if expr.traced is not None and expr.traced.open:
        raise type_error(
            "evaluate_all: expected a formula, but got a traced value, and plain numbers would lose "
            "their derivatives; return it from the function, or write fg.evaluate(x), which stays traced",
        )
    with np.errstate(all="ignore"):
        return environment(expr, numpy_algebra(_by_name(expr, values, named)))


def numpy_algebra(values: Mapping[str, Any]) -> Algebra[Any]:
    """The algebra of `evaluate`: values are NumPy arrays."""

    def op(node: Node, parents: tuple[Any, ...]) -> Any:
        run: Callable[..., Any] = node.op.run  # type: ignore[attr-defined]
        try:
            return run(*parents, **dict(node.params)) if node.params else run(*parents)
        except Exception as error:
            tell_node(error, node)
            raise

    return Algebra(lambda node: values[node.name], lambda node: node.value, op)


def variables(*exprs: Expr) -> dict[str, Expr]:
    """The variables of expressions by name, in the order of their first occurrence.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> list(variables(y * x + y))
    ['y', 'x']
    """
    found: dict[str, Expr] = {}
    is_traced = any([expr.traced is not None for expr in exprs])
    for expr in subexpressions(*exprs, operands=_operands if is_traced else None):
        if expr.op is INPUT:
            name = str(expr.params[0][1])
            if found.setdefault(name, expr).type != expr.type:
                raise type_error(
                    f"variables: expected one type for {name!r}, but got {found[name].type} and {expr.type}",
                )
    return found


def is_traced_leaf(expr: Expr) -> bool:
    """Whether an expression is an argument of a traced function: its operand is no part of a formula."""
    return expr.op in (leaf, example) and expr.traced is not None and expr.traced.open


def _operands(expr: Expr) -> tuple[Expr, ...]:
    return () if is_traced_leaf(expr) else expr.args


def traced_leaves(exprs: Sequence[Expr]) -> dict[Key, Expr]:
    """The traced values in expressions, for a substitution that leaves them as they are."""
    if not any([expr.traced is not None for expr in exprs]):
        return {}
    return {expr.key: expr for expr in subexpressions(*exprs) if is_traced_leaf(expr)}


def named_nodes(expr: Expr, given: Mapping[Key, str] | None = None) -> dict[str, Expr]:
    """The variables by name, and the nodes to which `funcgrad.name` gave a name that no other node has.

    ``given`` has the names that nodes were given (`labels`), if they are known.
    """
    found, given = variables(expr), labels(expr) if given is None else given
    if not given:
        return found
    exprs, uses = by_key(expr), Counter([*found, *given.values()])
    return found | {label: exprs[key] for key, label in given.items() if uses[label] == 1}


def _by_name(expr: Expr, values: Mapping[Any, Any] | None, named: dict[str, Any]) -> dict[str, Any]:
    wanted = variables(expr)
    given = values_by_name(wanted, values, named)
    return {name: fitted(name, given[name], var.type) for name, var in wanted.items()}


def values_by_name(
    wanted: Mapping[str, Expr], values: Mapping[Any, Any] | None, named: Mapping[str, Any]
) -> dict[str, Any]:
    """The value given for each variable by name. Names that no variable has are ignored.

    Raises TypeError if a variable has no value, and if ``values`` is no mapping.
    """
    if values is not None and not isinstance(values, Mapping):
        raise type_error(
            f"evaluate: expected values by name or in a dict, but got {_kinds(values)}; write "
            f"e({sample_values(wanted)})" + ("" if wanted else ", or e*y for a product"),
        )
    given = by_name(values or {}, named)
    missing = [name for name in wanted if name not in given]
    if missing:
        got = ", ".join(given) or "none"
        raise type_error(
            f"evaluate: expected values for {', '.join(wanted)}, but got {got}; write "
            f"e({sample_values(wanted)})",
        )
    return {name: given[name] for name in wanted}


def _kinds(values: object) -> str:
    """The types of values that were given by position: of several, as a tuple."""
    given = values if isinstance(values, tuple) else (values,)
    return ", ".join([type(value).__name__ for value in given])


def sample_values(wanted: Iterable[str]) -> str:
    """Values for the first of the variables, as they are given in a call."""
    return ", ".join([f"{name}=2.0" for name in list(wanted)[:3]])


def by_name(values: Mapping[Any, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Values in a dict, whose keys are names or variables, and values by name, which win."""
    return {_name(key): value for key, value in values.items()} | dict(named)


def inputs_of(
    expr: Expr, values: Mapping[Any, Any] | None, named: dict[str, Any]
) -> tuple[list[Expr], list[Any]]:
    """The variables of an expression, and the array given for each, checked."""
    arrays = _by_name(expr, values, named)
    wanted = variables(expr)
    return list(wanted.values()), [arrays[name] for name in wanted]


def _name(key: object) -> str:
    return str(key.params[0][1]) if isinstance(key, Expr) and key.op is INPUT else str(key)


def fitted(name: str, value: object, type: ArrayType, who: str = "evaluate") -> Any:
    """A value as an array of a variable's type; widening is allowed, as in NumPy.

    Raises TypeError in the name of ``who`` for a value that does not fit.
    """
    if isinstance(value, Expr):
        raise type_error(
            f"{who}: expected a number for {name}, but got an expression; write e(x=...), or "
            "substitute",
        )
    array = np.asarray(value)
    if array.dtype.kind in "OUS" or (array is not value and hasattr(value, "shape")):
        refuse_others(f"{who}: {name}", value)
    if type.dtype.kind in "biu" and array.dtype.kind in "biuf":
        return _whole(name, array, type, who)
    weak = isinstance(value, bool | int | float | complex)
    if array.shape != type.shape or not (
        np.can_cast(array.dtype, type.dtype, "same_kind") or (weak and array.dtype.kind in "biuf")
    ):
        raise type_error(
            f"{who}: expected {type} for {name}, but got {_kind(value, array)}"
            f"{_other_variable(name, array, type)}",
        )
    return array.astype(type.dtype)[()]


def _kind(value: object, array: np.ndarray[Any, Any]) -> str:
    """The shape and dtype of an array of numbers, or the name of the class of another value."""
    if array.dtype.kind == "O" and not array.shape:
        return type(value).__name__
    return str(ArrayType(array.shape, array.dtype))


def _other_variable(name: str, array: np.ndarray[Any, Any], type: ArrayType) -> str:
    """What to write where a variable stands for a number, or a real one, and another value was given."""
    if array.dtype.kind == "c" and array.shape == type.shape:
        return f"; write fg.var({name!r}, {type.shape}, complex) for a complex variable"
    if type.shape or not array.shape or array.dtype.kind not in "biuf":
        return ""
    return f"; write fg.var({name!r}, {array.shape}) for a variable that stands for an array"


def _whole(name: str, array: np.ndarray[Any, Any], type: ArrayType, who: str) -> Any:
    """Values for an integer variable: integers in the range of its dtype."""
    with np.errstate(all="ignore"):
        cast = array.astype(type.dtype)
    fits = not array.shape or np.can_cast(array.dtype, type.dtype, "same_kind")
    if array.shape != type.shape or not fits or not np.array_equal(cast, array):
        shown = array[()] if not array.shape else ArrayType(array.shape, array.dtype)
        raise type_error(f"{who}: expected {type} for {name}, but got {shown}")
    return cast[()]
