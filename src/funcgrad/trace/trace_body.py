"""Closure conversion: a function traced to a body, with its captured values as additional inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from funcgrad.control.closed_program import Body, body_of, jvp_of_body, used, vjp_of_body
from funcgrad.expr import Expr, symbol
from funcgrad.graph import INPUT, ArrayType
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.trace.branches import all_paths
from funcgrad.trace.constant_parameterization import NUMBER, derived_with_parameters
from funcgrad.trace.leaves import Scope, fresh, parameter_names, runs_on_leaves
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.skeleton import SkeletonRow, instantiate, skeleton


def trace_body(
    f: Callable[..., Any],
    trees: Sequence[Tree],
    stand_ins: Sequence[Expr],
    *,
    branches: bool = True,
    whole: bool = False,
    numbers: bool = False,
) -> tuple[Body, list[Any], Any]:
    """The body of f, the captured expressions and arrays that are its last inputs, and f's result.

    ``trees`` are f's arguments. f is traced on ``stand_ins`` of the same types for their leaves. Python may
    read the value of a stand-in, if it has one; a `symbol` has none. It may branch on truth values of those;
    if ``branches`` is False, as the run around it does. If ``whole``, the body computes all that f does; else
    what f computes of captured values alone is captured, too. If ``numbers``, so are numbers that change from
    call to call.
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

    context = runs_on_leaves.set(True)
    try:
        output = all_paths(run) if branches else run()
        roots = [lift_fully(item) for item in flatten(output).leaves]
        found = skeleton(roots, leaves, start=scope.number if whole else None)
    finally:
        scope.open = False
        runs_on_leaves.reset(context)
    count = len(leaves)
    if numbers:
        outer = [*[leaf for tree in trees for leaf in tree.leaves], *found.inputs[count:]]
        made, found, _ = derived_with_parameters(_body_of_skeleton, None, found, count, outer)
    else:
        made = _body_of_skeleton(None, found.rows, found.roots, count)
    return made.body, [found.inputs[i] for i in made.read], output


class _ReadBody(NamedTuple):
    """The body of a skeleton."""

    body: Body
    read: tuple[int, ...]
    """The inputs of the skeleton beside the leaves that the body has."""
    varying: tuple[int, ...]
    """The inputs of the body that are no numbers which change from call to call."""

    @property
    def outputs(self) -> list[Expr]:
        """The outputs and their derivatives, in both modes: laws for these may use a number, too."""
        body = self.body
        smooth = [k for k, type in enumerate(body.types) if differentiable(type.dtype)]
        active = [i for i in self.varying if differentiable(body.inputs[i].dtype)]
        flows = jvp_of_body(body, active)[1]
        back = vjp_of_body(body, smooth, active)[1]
        found = [*body.outputs, *[flow for flow in flows if flow is not None], *back.values()]
        numbers = [x for k, x in enumerate(body.inputs) if k not in self.varying]
        named = {x.key: symbol(f"{NUMBER}{k}", x.type) for k, x in enumerate(numbers)}
        return substitute_all(found, named, inputs=True)


@lru_cache(maxsize=512)
def _body_of_skeleton(
    _: None, rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int
) -> _ReadBody:
    """The body of a skeleton, simplified.

    Inputs that the outputs do not depend on are dropped: they were used to compute captured values.
    """
    exprs = instantiate(rows)
    inputs = [expr for expr in exprs if expr.op is INPUT]
    outputs = simplify_all([exprs[i] for i in roots])
    read = tuple([i for i in used(inputs, outputs) if i >= leaves])
    kept = [*inputs[:leaves], *[inputs[i] for i in read]]
    varying = [k for k, x in enumerate(kept) if not str(x.params[0][1]).startswith(NUMBER)]
    return _ReadBody(body_of(kept, outputs), read, tuple(varying))


def symbols(trees: Sequence[Tree], types: Sequence[ArrayType]) -> list[Expr]:
    """Stand-ins without values, labelled as the trees' leaves are; no variable has such a name."""
    labels = [f"{path or 'x'}'" for tree in trees for path in tree.paths]
    return [symbol(label, type) for label, type in zip(labels, types, strict=True)]


def types_of(tree: Tree) -> list[ArrayType]:
    """The types of a tree's leaves."""
    return [lift_fully(item).type for item in tree.leaves]
