"""Closure conversion: a function traced to a body, with its captured values as additional inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from funcgrad.control.closed_program import Body, body_of, used
from funcgrad.expr import Expr, symbol
from funcgrad.graph import INPUT, ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.trace.branches import all_paths
from funcgrad.trace.leaves import RUNNING, Scope, fresh, parameter_names
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.skeleton import SkeletonRow, instantiate, skeleton


def trace_body(
    f: Callable[..., Any],
    trees: Sequence[Tree],
    stand_ins: Sequence[Expr],
    *,
    branches: bool = True,
    whole: bool = False,
) -> tuple[Body, list[Any], Any]:
    """The body of f, the captured expressions and arrays that are its last inputs, and f's result.

    ``trees`` are f's arguments. f is traced on ``stand_ins`` of the same types for their leaves. Python may
    read the value of a stand-in, if it has one; a `symbol` has none. It may branch on truth values of those;
    if ``branches`` is False, as the run around it does. If ``whole``, the body computes all that f does; else
    what f computes of captured values alone is captured, too.
    """
    scope = Scope()
    names = parameter_names(f, len(trees))
    labels = [
        path if path and path[0] != "_" else name + path  # of a tree with a name, or without
        for name, tree in zip(names, trees, strict=True)
        for path in tree.paths
    ]
    leaves = [
        fresh(stand_in, scope, k, label)
        for k, (label, stand_in) in enumerate(zip(labels, stand_ins, strict=True))
    ]

    def run() -> Any:
        rest = iter(leaves)
        return f(*[tree.rebuild([next(rest) for _ in tree.leaves]) for tree in trees])

    RUNNING.add(scope)
    try:
        output = all_paths(run) if branches else run()
        roots = [lift_fully(item) for item in flatten(output).leaves]
        found = skeleton(roots, leaves, start=scope.number if whole else None)
    finally:
        scope.open = False
        RUNNING.discard(scope)
    body, read = _body_of_skeleton(found.rows, found.roots, len(leaves))
    return body, [found.inputs[i] for i in read], output


@lru_cache(maxsize=512)
def _body_of_skeleton(
    rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int
) -> tuple[Body, tuple[int, ...]]:
    """The body of a skeleton, simplified, and the inputs beside the leaves that it has.

    Inputs that the outputs do not depend on are dropped: they were used to compute captured values.
    """
    exprs = instantiate(rows)
    inputs = [expr for expr in exprs if expr.op is INPUT]
    outputs = simplify_all([exprs[i] for i in roots])
    read = tuple([i for i in used(inputs, outputs) if i >= leaves])
    return body_of([*inputs[:leaves], *[inputs[i] for i in read]], outputs), read


def symbols(trees: Sequence[Tree], types: Sequence[ArrayType]) -> list[Expr]:
    """Stand-ins without values, labelled as the trees' leaves are; no variable has such a name."""
    labels = [f"{path or 'x'}'" for tree in trees for path in tree.paths]
    return [symbol(label, type) for label, type in zip(labels, types, strict=True)]


def types_of(tree: Tree) -> list[ArrayType]:
    """The types of a tree's leaves."""
    return [lift_fully(item).type for item in tree.leaves]
