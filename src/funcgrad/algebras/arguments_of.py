"""The subject of an algebra: a function at arguments, or expressions at values of their variables.

Both become expressions on variables, with one value each. An algebra then folds over them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, const, rebuild, symbol
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.rewrite.evaluate import by_name, fitted, variables
from funcgrad.source import type_error
from funcgrad.trace.derive import closed
from funcgrad.trace.leaves import flatten_arguments, run_on_leaves
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.transforms.transform_arguments import remedy_for


class Subject(NamedTuple):
    """Expressions, the tree that they stand in, and a value for each of their variables."""

    roots: list[Expr]
    rebuild: Callable[[Sequence[Any]], Any]
    inputs: list[Expr]
    """The variables: of a function, the leaves of its arguments in order."""
    values: list[Any]
    arguments: list[Tree]
    """Of a function, each argument's tree; its leaves are numbers."""

    @property
    def by_name(self) -> dict[str, Any]:
        """The values by the names of their variables."""
        return {x.name: v for x, v in zip(self.inputs, self.values, strict=True)}


def subject(who: str, program: object, args: Sequence[Any], named: Mapping[str, Any]) -> Subject:
    """A program and its values: of a function by position, of expressions by name or in a dict.

    Python's ints count as floats, as in `grad`.
    """
    args, named = without_dict(program, args, named)
    if callable(program) and not isinstance(program, Expr):
        if named:
            raise type_error(
                f"{who}: expected the arguments of a function by position, but got "
                f"{', '.join(named)} by name; write {who}(f, 2.0)",
            )
        if not args:
            raise type_error(
                f"{who}: expected the arguments of the function, but got none; write {who}(f, 2.0)",
            )
        return _traced(who, program, args)
    return _written(who, program, args, named)


def without_dict(
    program: object, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments, where those of expressions may be one dict: its values are then given by name."""
    function = callable(program) and not isinstance(program, Expr)
    if function or len(args) != 1 or not isinstance(args[0], Mapping):
        return args, named
    return (), by_name(args[0], named)


def _traced(who: str, f: Callable[..., Any], args: Sequence[Any]) -> Subject:
    trees = flatten_arguments(f, args, range(len(args)))
    for i, arg in trees.items():
        arg.leaves[:] = [_number(who, i, value) for value in arg.leaves]
    output, leaves = run_on_leaves(f, args, {}, trees)
    tree = flatten(output)
    if not tree.leaves:
        raise type_error(f"{who}: expected f to return numbers, but got {type(output).__name__}")
    roots = [item if isinstance(item, Expr) else const(item) for item in tree.leaves]
    ready = closed([*roots, *leaves], leaves)
    inputs = ready[len(roots) :]
    check_inputs(who, ready[: len(roots)], {x.name for x in inputs})
    values = [_value(item.args[0]) for item in leaves]
    return Subject(ready[: len(roots)], tree.rebuild, inputs, values, [*trees.values()])


def check_inputs(who: str, roots: Sequence[Expr], given: Container[str]) -> None:
    """Refuse a function whose results depend on variables that are no arguments."""
    others = [name for name in variables(*roots) if name not in given]
    if others:
        raise type_error(
            f"{who}: expected f to depend on its arguments alone, but its result has the variable "
            f"{others[0]}; hand the value in as an argument",
        )


def _number(who: str, place: int, value: object) -> Any:
    """A value that a leaf can stand for: a Python int as a float, other numbers and arrays unchanged."""
    if type(value) is int:
        return float(value)
    if not isinstance(value, Expr):
        refuse_others(who, value)
    if isinstance(value, Number | Expr) or hasattr(value, "__array__"):
        return value
    raise type_error(
        f"{who}: expected numbers or arrays in argument {place}, but got {type(value).__name__}; "
        f"{remedy_for(value)}",
    )


def _value(known: Expr) -> Any:
    """The value at this call; of an expression that stands for any value, None."""
    return known.params[0][1].array[()] if known.op is CONSTANT else None


def _written(who: str, program: object, args: Sequence[Any], named: Mapping[str, Any]) -> Subject:
    roots, rebuild = expressions(who, program)
    if args:
        raise type_error(
            f"{who}: expected the values of an expression by name or in a dict, but got {len(args)} "
            f"without names; write {who}(expr, x=2.0)",
        )
    wanted = variables(*roots)
    check_names(who, wanted, named)
    values = [fitted(name, named[name], x.type, who) for name, x in wanted.items()]
    return Subject(roots, rebuild, list(wanted.values()), values, [])


def expressions(who: str, program: object) -> tuple[list[Expr], Callable[[Sequence[Any]], Any]]:
    """The expressions of a tree of them, and how to put others in their place."""
    tree = flatten(program)
    for item in tree.leaves:
        if not isinstance(item, Expr):
            raise type_error(
                f"{who}: expected a function or expressions, but got {type(item).__name__}; "
                f"write {who}(f, 2.0) or {who}(expr, x=2.0)",
            )
    return tree.leaves, tree.rebuild


def check_names(who: str, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse values that leave a variable without one."""
    if not wanted.keys() <= given.keys():
        raise type_error(
            f"{who}: expected values for {', '.join(wanted) or 'no variables'}, but got "
            f"{', '.join(given) or 'none'}; write {who}(expr, x=2.0)",
        )


def scalar_of(who: str, given: Subject) -> Expr:
    """The one real scalar that a subject is."""
    root = given.roots[0]
    if len(given.roots) != 1 or root.shape or root.dtype.kind != "f":
        kinds = ", ".join(str(item.type) for item in given.roots)
        raise type_error(f"{who}: expected one real scalar, but got {kinds}; sum it first")
    return root


def formula(expr: Expr, width: int = 60) -> str:
    """An expression's formula in one line: what is too long, or shared, is left out deep inside.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = fg.exp(x * x + 1)
    >>> formula(fg.sqrt(y) + 1)
    'sqrt(exp(x*x + 1)) + 1'
    >>> formula(fg.sqrt(y + fg.sin(y)) + 1)
    'sqrt(exp(x*x + 1) + sin(exp(… + 1))) + 1'
    """
    line = ""
    for depth in (8, 6, 4, 3, 2, 1):
        line, *more = repr(_cut(expr, depth)).splitlines()
        if not more and len(line) <= width:
            return line
    return line[:width]


def _cut(expr: Expr, depth: int) -> Expr:
    """The expression with a blank for what lies deeper."""
    if not depth and expr.args:
        return symbol("…", expr.type)
    return rebuild(expr, tuple([_cut(arg, depth - 1) for arg in expr.args]))


def shown_value(value: object) -> str:
    """A value in a few characters."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown_value, value))})"
    array = np.asarray(value)
    if array.ndim == 0:
        item = array.item()
        return f"{item:.6g}" if isinstance(item, float) else str(item)
    if array.size > 6:
        return f"{array.dtype}{list(array.shape)}"
    return np.array2string(array, precision=4, separator=", ").replace("\n", "")
