"""Interval arithmetic: the fold whose algebra encloses.

The invariant: for every point of the box at which the program is defined over the reals, the exact
value lies inside, so that bounds are rounded outward after every operation: by one unit in the last
place where IEEE 754 rounds correctly, by more where NumPy does not promise to. Bounds are float64
whatever the program's dtypes. Where an operation is undefined on a part of its interval (``sqrt`` of
[-1, 4]) that part is left out; where on all of it, the bounds are NaN.

A variable that stands twice varies twice, so bounds are seldom the tightest. The rule of
each operation is the column ``interval`` of its record, which refers to `LIBRARY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.algebras import (
    interval_arrays,
    interval_booleans,
    interval_functions,
    outward_rounding,
)
from funcgrad.algebras.arguments_of import (
    check_inputs,
    check_names,
    expressions,
    shown_value,
    without_dict,
)
from funcgrad.algebras.outward_rounding import Bounds
from funcgrad.expr import Expr, const, present, var
from funcgrad.fold import Algebra, fold
from funcgrad.graph import ArrayType, Node
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.arithmetic import multiply, square
from funcgrad.ops.shape import concatenate_op
from funcgrad.rewrite.decompose import decomposed
from funcgrad.rewrite.evaluate import variables
from funcgrad.source import type_error, value_error
from funcgrad.trace.derive import closed
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import Tree, flatten

LIBRARY = SimpleNamespace(
    **{
        name: value
        for module in (outward_rounding, interval_booleans, interval_functions, interval_arrays)
        for name, value in vars(module).items()
        if not name.startswith("_")
    }
)
"""The functions of intervals, by name."""


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Interval:
    """The numbers from ``lo`` to ``hi``, both included; of arrays, entry by
    entry.

    Raises ValueError if ``lo > hi``.

    >>> Interval(1, 2), 1.5 in Interval(1, 2)
    (Interval(1, 2), True)
    """

    lo: Any
    hi: Any

    def __init__(self, lo: Any, hi: Any) -> None:
        low, high = np.broadcast_arrays(_real(lo), _real(hi))
        if np.any(low > high):
            raise value_error(
                f"interval: expected lo <= hi, but got {shown_value(lo)} and {shown_value(hi)}",
            )
        object.__setattr__(self, "lo", present(np.array(low)))
        object.__setattr__(self, "hi", present(np.array(high)))

    @property
    def width(self) -> Any:
        """hi - lo."""
        return present(np.subtract(self.hi, self.lo))

    def __contains__(self, value: object) -> bool:
        return bool(np.all((self.lo <= value) & (value <= self.hi)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Interval)
            and np.array_equal(self.lo, other.lo)
            and np.array_equal(self.hi, other.hi)
        )

    def __hash__(self) -> int:
        # 0.0 and -0.0 are equal, and the sum with 0.0 is 0.0 of both.
        return hash((np.add(self.lo, 0.0).tobytes(), np.add(self.hi, 0.0).tobytes()))

    def __iter__(self) -> Any:
        return iter((self.lo, self.hi))

    def __repr__(self) -> str:
        if np.ndim(self.lo):
            return f"Interval({self.lo!r}, {self.hi!r})"
        return f"Interval({_written(self.lo)}, {_written(self.hi)})"


def _real(value: object) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise type_error(f"interval: expected real numbers, but got dtype {array.dtype}")
    return array.astype(float)


def _written(value: float) -> str:
    # Every digit: a bound that is rounded for the reader is none.
    return repr(value).removesuffix(".0")


def bounds(program: object, /, *args: object, **intervals: object) -> Any:
    """An interval that holds every value that a program takes on a box.

    ``program`` is a function, with an interval for each argument, or
    expressions, with one for each variable by name or in a dict. An interval
    is an `Interval`, a pair ``(lo, hi)``, or a number or array, which is
    exact; in a container that is an argument, pairs are written as `Interval`.
    The result has the structure of the program's, so
    ``bounds(gradient(expr), …)`` and ``bounds(grad(f), …)`` bound the
    gradient. Constants are the float64 numbers that they are. Points at which
    an operation within has no real value are left out: ``sqrt`` of (-1, 4) is
    ``sqrt`` of (0, 4).

    Raises TypeError for an operation that has no rule, and for complex
    numbers. A function that asks for a value (``if x > 0``) has none to give:
    write np.where.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x**2 - 2 * x
    >>> bounds(y, x=(0, 1))
    Interval(-2.00000..., 1.00000...)
    >>> bounds(fg.gradient(y, x), x=(0, 1)).hi < 1e-15
    True
    >>> bounds(lambda x, y: fg.maximum(x, y), (1, 4), (2, 3))
    Interval(2, 4)
    """
    roots, rebuild, given = _boxed(program, args, intervals)
    roots = decomposed(roots, lambda e: not e.args or has_interval(e.op))
    with np.errstate(all="ignore"):
        known = fold(roots, Algebra(lambda node: given[node.name], _constant, _enclose))
    return rebuild([Interval(*ends) for ends in known])


def _boxed(
    program: object, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Expr], Callable[[Sequence[Any]], Any], dict[str, Bounds]]:
    """The program's expressions, and the interval of each variable by name."""
    if callable(program) and not isinstance(program, Expr):
        if named:
            raise type_error(
                "bounds: expected the intervals of a function by position, but got "
                f"{', '.join(named)} by name; write bounds(f, (0, 1))",
            )
        return _traced(program, args)
    roots, rebuild = expressions("bounds", program)
    args, named = without_dict(program, args, named)
    if args:
        raise type_error(
            f"bounds: expected intervals by name or in a dict, but got {len(args)} without names; "
            "write bounds(expr, x=(0, 1))",
        )
    wanted = variables(*roots)
    check_names("bounds", wanted, named)
    given = {name: _interval(named[name]) for name in wanted}
    for name, x in wanted.items():
        if np.shape(given[name][0]) != x.shape:
            if np.ndim(given[name][0]):
                raise type_error(
                    f"bounds: expected {x.type} for {name}, but got shape {np.shape(given[name][0])}",
                )
            given[name] = tuple(np.broadcast_to(end, x.shape) for end in given[name])  # type: ignore[assignment]
    return roots, rebuild, given


def _traced(
    f: Callable[..., Any], args: Sequence[Any]
) -> tuple[list[Expr], Callable[[Sequence[Any]], Any], dict[str, Bounds]]:
    """f on variables, which have no values."""
    given: dict[str, Bounds] = {}
    trees = [_split(arg) for arg in args]
    called = []
    for tree in trees:
        inputs = []
        for value in tree.leaves:
            known = _interval(value)
            name = f"x{len(given)}"
            given[name] = known
            inputs.append(var(name, np.shape(known[0])))
        called.append(tree.rebuild(inputs))
    output, leaves = run_on_leaves(f, called, {})
    tree = flatten(output)
    roots = [item if isinstance(item, Expr) else const(item) for item in tree.leaves]
    ready = closed(roots, leaves)
    check_inputs("bounds", ready, given)
    return ready, tree.rebuild, given


def _split(arg: object) -> Tree:
    """An argument's tree, with intervals as leaves."""
    if isinstance(arg, Interval) or _is_pair(arg):
        return Tree([arg], lambda leaves: leaves[0], [""])
    found: list[Interval] = []

    # A dataclass is a container to `flatten`: an interval is one number to it instead.
    tree = flatten(_opened(arg, found))
    places = list(range(len(tree.leaves)))
    leaves = [found[leaf.place] if isinstance(leaf, _Place) else leaf for leaf in tree.leaves]
    return Tree(leaves, lambda values: tree.rebuild([values[i] for i in places]), tree.paths)


class _Place(float):
    """Stands for an interval in a tree of numbers."""

    place: int


def _opened(tree: object, found: list[Interval]) -> Any:
    """The tree with a number in the place of every interval."""
    if isinstance(tree, Interval):
        mark = _Place(0.0)
        mark.place = len(found)
        found.append(tree)
        return mark
    if isinstance(tree, dict):
        return {key: _opened(item, found) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_opened(item, found) for item in tree])
    if isinstance(tree, list | tuple):
        return type(tree)(_opened(item, found) for item in tree)
    return tree


def _is_pair(value: object) -> bool:
    plain = (int, float, np.ndarray, np.generic)
    return type(value) is tuple and len(value) == 2 and all(isinstance(end, plain) for end in value)


def _interval(value: object) -> Bounds:
    if isinstance(value, Expr) or not (_is_pair(value) or isinstance(value, _LIKE)):
        raise type_error(
            f"bounds: expected an interval, a pair (lo, hi) or numbers, but got "
            f"{type(value).__name__}; write Interval(lo, hi)",
        )
    known = value if isinstance(value, Interval) else Interval(*_ends(value))
    return np.asarray(known.lo), np.asarray(known.hi)


_LIKE = (Interval, int, float, np.ndarray, np.generic)


def _ends(value: object) -> tuple[Any, Any]:
    return value if type(value) is tuple else (value, value)


def _constant(node: Node) -> Bounds:
    _check_real(node.type, "a constant")
    # An integer that float64 does not hold is between its neighbours.
    value = node.value.astype(float)
    if node.type.dtype.kind in "iu" and np.any(np.abs(value) >= 2.0**53):
        return np.nextafter(value, -np.inf), np.nextafter(value, np.inf)
    return value, value


def _enclose(node: Node, parents: tuple[Bounds, ...]) -> Bounds:
    """What an operation makes of intervals."""
    _check_real(node.type, node.op.name)
    op: Op = node.op  # type: ignore[assignment]
    # x*x is one x, twice.
    if op is multiply and node.parents[0] == node.parents[1]:
        op, parents = square, parents[:1]
    params = dict(node.params)
    row = in_library(op.columns.interval, LIBRARY, node.type.dtype.kind)
    if row is not None:
        found: Bounds = row(*parents, **params)
        return found
    if op.moves or op is concatenate_op:
        lo, hi = (op.run(*[x[i] for x in parents], **params) for i in (0, 1))
        return lo, hi
    raise type_error(
        f"bounds: expected operations that have an interval rule, but {node.op.name!r} has none; "
        f"bound its operands, or write it with others",
    )


def has_interval(op: Op) -> bool:
    """Whether an operation encloses its values without its decomposition."""
    return op.columns.interval is not None or op.moves or op is concatenate_op


def _check_real(type: ArrayType, what: str) -> None:
    if type.dtype.kind == "c":
        raise type_error(f"bounds: expected real numbers, but {what} is {type}")
