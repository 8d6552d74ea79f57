"""The signature of a call: how its arguments are built, and of what kinds their leaves are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from funcgrad.expr import Expr, assemble_node, const
from funcgrad.graph import INPUT, ArrayType
from funcgrad.ops.held import COPIED
from funcgrad.transforms.entry import first
from funcgrad.transforms.guards import Tree

# Dtypes that Python's numbers do not give way to.
WIDE = frozenset(np.dtype(t) for t in (float, int, bool, complex))


def static(value: Any) -> tuple[Any, ...]:
    """A value as part of a signature: 0.0 and -0.0 are two, and what is not a number is one."""
    kind = type(value)
    return "static", kind, repr(value) if kind in (float, complex) else value


def is_static(kind: Any) -> bool:
    return isinstance(kind, tuple) and kind[0] == "static"


PLAIN = frozenset((float, int, bool, complex, np.ndarray))


def containers(tree: Any) -> Any:
    """What a call's tree is made of, beyond the names of its leaves: two kinds may have alike names."""
    return optree.tree_structure(
        tree, is_leaf=lambda item: not isinstance(item, list | tuple | dict)
    )


def rebuilder(shape: Any) -> Callable[[Sequence[Any]], Any]:
    """From the results that were expressions to what f returned, with its other leaves as they were."""
    if _is_single(shape):
        return first
    kept = [
        None
        if isinstance(item, Expr)
        else (np.array(item) if isinstance(item, np.ndarray) else item,)
        for item in shape.leaves
    ]

    def rebuild(results: Sequence[Any]) -> Any:
        rest = iter(results)
        return shape.rebuild([next(rest) if item is None else _own(item[0]) for item in kept])

    return rebuild


def _is_single(shape: Any) -> bool:
    return (
        len(shape.leaves) == 1
        and isinstance(shape.leaves[0], Expr)
        and shape.rebuild(shape.leaves) is shape.leaves[0]
    )


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def kind_text(kind: Any) -> str:
    if isinstance(kind, type):
        return {float: "float64", int: "int64"}.get(kind, kind.__name__)
    if kind[0] == "static":
        return repr(kind[2])
    if kind[0] == "scalar":
        return str(kind[1])
    return str(ArrayType(*kind))


class Signature:
    """The traces of one signature, and the arrays that they read beside the arguments."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels
        self.count = len(labels)
        self.tree = Tree()
        self.arrays: list[Any] = []
        self.plain = False

    def named(
        self,
        inputs: Sequence[Expr],
        values: Sequence[Any],
        watched: dict[int, Any],
        origins: dict[int, Any],
    ) -> dict[Any, Expr]:
        """The tree's own inputs in the place of a trace's: arrays by identity, small new ones by content."""
        given: dict[Any, Expr] = {}
        for i, (x, value) in enumerate(zip(inputs, values, strict=True)):
            if i < self.count:
                if i == len(self.tree.inputs):
                    self.tree.inputs.append(_input(self.labels[i], x.type))
                given[x.key] = self.tree.inputs[i]
                continue
            origin = origins.get(id(value), value)
            if id(origin) not in watched and value.nbytes <= COPIED:
                given[x.key] = const(value)
                continue
            place = self._place(origin, id(origin) in watched)
            if place == len(self.arrays):
                self.arrays.append(origin)
                self.tree.inputs.append(_input(f"array {place}", x.type))
            given[x.key] = self.tree.inputs[self.count + place]
        return given

    def _place(self, array: Any, watched: bool) -> int:
        """Where an array is among those known; one that f has made is known by its content."""
        for k, known in enumerate(self.arrays):
            alike = known.shape == array.shape and known.dtype == array.dtype
            if known is array or (not watched and alike and known.tobytes() == array.tobytes()):
                return k
        return len(self.arrays)


def _input(name: str, type: ArrayType) -> Expr:
    return assemble_node(INPUT, (), (("name", name),), type)
