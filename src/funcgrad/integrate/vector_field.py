"""The right-hand side of a differential equation as a closed program on the leaves of the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.source import type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.trace_body import symbols, trace_body
from funcgrad.typing import Array


class StateLayout(NamedTuple):
    """How the user's state, a tree, corresponds to the leaves that a method steps.

    A leaf is an array of floats or complex numbers. If ``real``, a complex array is two leaves, its real
    and its imaginary part: an implicit method then needs no complex derivative of the right-hand side.
    """

    tree: Tree
    types: tuple[ArrayType, ...]
    """The types of the tree's leaves."""
    real: bool

    def is_split(self, type: ArrayType) -> bool:
        """Whether an array of this type is two leaves."""
        return self.real and type.dtype.kind == "c"

    def leaves(self, values: Sequence[Expr]) -> list[Expr]:
        """The leaves that are stepped, of the values of the tree's leaves."""
        found: list[Any] = []
        for value in values:
            parts = [np.real(value), np.imag(value)] if self.is_split(value.type) else [value]
            found.extend(parts)
        return found

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """The values of the tree's leaves, of the leaves that are stepped. They may have further axes."""
        rest = iter(leaves)
        return [
            next(rest) + 1j * next(rest) if self.is_split(type) else next(rest)
            for type in self.types
        ]

    def state(self, leaves: Sequence[Any]) -> Any:
        """The user's tree, of the leaves that are stepped."""
        return self.tree.rebuild(self.values(leaves))

    def traced(
        self, function: Callable[[Any, Any], Any], y: Sequence[Expr], t: Expr, numbers: bool = False
    ) -> tuple[Body, tuple[Any, ...]]:
        """The program of ``function(y, t)``, whose inputs are the leaves of y and t, and what it captures."""
        leaves = Tree(list(y), self.state, [f"y{k}" for k in range(len(y))])
        trees = [leaves, flatten(t, "t")]
        inputs = symbols(trees, [x.type for x in (*y, t)])
        body, captured, _ = trace_body(function, trees, inputs, numbers=numbers)
        return body, tuple(captured)


def state_layout(who: str, y0: object, real: bool) -> tuple[StateLayout, list[Expr]]:
    """The layout of an initial state, and the leaves to start from; integers become floats.

    Raises TypeError for a state that holds no numbers.
    """
    tree = flatten(y0, "y")
    given = [lift_fully(leaf) for leaf in tree.leaves]
    for x, path in zip(given, tree.paths, strict=True):
        if x.dtype.kind not in "iufc":
            raise type_error(f"{who}: expected a state of numbers, but {path} is of type {x.type}")
    values = [x if x.dtype.kind in "fc" else x.astype(float) for x in given]
    layout = StateLayout(tree, tuple([x.type for x in values]), real)
    return layout, layout.leaves(values)


class VectorField(NamedTuple):
    """``dy/dt`` as a function of time and state, traced once."""

    body: Body
    """The inputs are the leaves of the state, the time, and what the user's function captures."""
    size: int
    """The number of leaves of the state."""
    captured: tuple[Any, ...]
    """Expressions, or arrays."""

    def operands(self, t: Array, y: Sequence[Any]) -> list[Expr]:
        """The operands of ``body``."""
        return [*y, t, *[lift_fully(x, y) for x in self.captured]]

    def __call__(self, t: Array, y: Sequence[Any]) -> list[Any]:
        return self.body.inline(self.operands(t, y))

    @property
    def state_types(self) -> list[ArrayType]:
        """The types of the leaves of the state."""
        return [x.type for x in self.body.inputs[: self.size]]


def vector_field(
    who: str, fun: Callable[[Any, Any], Any], layout: StateLayout, start: Sequence[Expr], t: Expr
) -> VectorField:
    """The field of ``fun(t, y)``.

    Raises TypeError if the slope has another structure or other shapes than the state.
    """
    called = on_arrays(fun)

    def slope(y: object, t: object) -> list[Expr]:
        return layout.leaves(_matching(who, called(t, y), layout))

    body, captured = layout.traced(slope, start, t, numbers=True)
    fitted = [fit(out, x.type) for out, x in zip(body.outputs, body.inputs, strict=False)]
    return VectorField(Body(body.inputs, fitted), len(start), captured)


def _matching(who: str, slope: object, layout: StateLayout) -> list[Expr]:
    """The leaves of a slope, with the types of the state's."""
    wanted = layout.types
    if len(wanted) == 1 and len(wanted[0].shape) == 1 and isinstance(slope, list | tuple):
        found = [lift_fully(slope)]  # a list of numbers for an array, as SciPy's users return it
    else:
        found = [lift_fully(leaf) for leaf in flatten(slope).leaves]
    if len(found) == 1 == len(wanted) and found[0].size == wanted[0].size == 1:
        found = [lift_fully(np.reshape(found[0], wanted[0].shape))]
    if [x.shape for x in found] != [type.shape for type in wanted]:
        raise type_error(
            f"{who}: expected dy/dt with the structure and shapes of the state, "
            f"{', '.join(map(str, wanted))}, but got {', '.join(str(x.type) for x in found) or 'nothing'}"
            f"{'; write np.array(y0) for a state that is an array' if len(wanted) > 1 == len(found) else ''}",
        )
    for x, type in zip(found, wanted, strict=True):
        if x.dtype.kind not in "biufc" or (x.dtype.kind == "c" and type.dtype.kind != "c"):
            raise type_error(
                f"{who}: expected dy/dt of the state's type {type}, but got {x.type}; start from a complex "
                "state",
            )
    return [fit(x, type) for x, type in zip(found, wanted, strict=True)]
