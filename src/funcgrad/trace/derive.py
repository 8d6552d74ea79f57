"""Derived programs: the transform of a traced program, computed once for each skeleton and cached."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from inspect import signature
from typing import Any, TypeAlias

import numpy as np

from funcgrad.autodiff.batching import Batch
from funcgrad.compiler.disk_cache.cache import derivation_name, remembered
from funcgrad.compiler.flat_program import FlatStep, SourceRows
from funcgrad.compiler.program import Program
from funcgrad.expr import (
    Expr,
    assemble_node,
    const,
    constant_of,
    labeled,
    rebuild,
    result,
    subexpressions,
    symbol,
)
from funcgrad.expr.concrete import has_known_value, tell_node
from funcgrad.expr.node import context_of_both
from funcgrad.fold import folded
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.op import leaf
from funcgrad.ops.markers import name_op
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error
from funcgrad.trace.constant_parameterization import derived_with_parameters
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import flatten
from funcgrad.trace.skeleton import OF_VALUES, Skeleton, SkeletonRow, instantiate, skeleton

Transform: TypeAlias = Callable[[list[Expr], list[Expr], Simplifier], list[Expr]]
"""From roots and leaves, as expressions, to the expressions wanted: a pure module-level function.

The roots are simplified; the simplifier is theirs, for what is derived of them."""


def derive(
    transform: Transform,
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    unreached: Callable[[bool], None] | None = None,
    results: int | None = None,
    start: int | None = None,
) -> list[Any]:
    """The outputs of a transform of a traced program: numbers, or expressions inside another trace.

    ``unreached`` is called if no root, or none of the first ``results``, depends on a leaf differentiably;
    with True if one depends on a leaf by steps. ``start`` is the number of a trace: the program has what was
    made since then, also of an enclosing trace alone.
    """
    found = skeleton(roots, leaves, results=results, start=start)
    program, found, _ = derived_with_parameters(derived, transform, found, len(leaves))
    flat = None if unreached is None else flatness(found, program)
    if unreached is not None and flat is not None:
        unreached(flat)
    if found.symbolic:
        is_of_values = isinstance(transform, Batch) or transform is _unchanged
        return rebuilt(program, found.inputs, is_of_values and not found.derivative)
    return run_trace(program, found.inputs, roots)


def run_trace(program: Program, inputs: Sequence[Any], roots: Sequence[Expr]) -> list[Any]:
    """The outputs of a program derived from a trace; an error says which node of the trace raises it."""
    try:
        return program.run(inputs)
    except Exception as error:
        tell_raising(error, roots)
        raise


def tell_raising(error: Exception, roots: Sequence[Expr]) -> None:
    """Add to an error of a program the node of the trace that raises it, found by its values one by one.

    Large programs are left: all values are kept meanwhile.
    """
    nodes = subexpressions(*roots)
    if sum([node.size for node in nodes]) > _MOST_ENTRIES:
        return
    for node in nodes:
        try:
            has_known_value(node)
        except Exception as found:
            if type(found) is type(error):  # else the values are found in another order
                tell_node(error, node)
            return


_MOST_ENTRIES = 10**7


def flatness(found: Skeleton, program: Program) -> bool | None:
    """None if a derivative reaches a root; else whether the roots depend on the leaves, by steps alone.

    The program is of that skeleton, and remembers the answer.
    """
    if not found.reached:
        return False
    if program.dependence is None:
        program.dependence = found.dependence()
    return None if program.dependence == "reached" else program.dependence == "stepped"


def rebuilt(program: Program, inputs: Sequence[Any], of_values: bool = False) -> list[Any]:
    """Derived expressions for the caller: simplified formulas, or leaves of the enclosing trace.

    They are derivatives, unless they are ``of_values``, as of a batch.
    """
    around = {value.traced for value in inputs if isinstance(value, Expr) and value.traced}
    if not around:
        return simplify_all(program.inline(inputs), mode="formula")
    inlined = _Inlined(program, inputs)
    marked = [inlined.leaf(i, known, of_values) for i, known in enumerate(program.results)]
    for recorder in around:
        recorder.derived(program, inputs, marked)
    return marked


class _Inlined:
    """A derived program on expressions of an enclosing trace, which is inlined when an output is first read.

    A jitted function that only returns a derivative uses the program, and reads none.
    """

    def __init__(self, program: Program, inputs: Sequence[Any]) -> None:
        self.program = program
        self.inputs = inputs
        self._outputs: list[Expr] | None = None
        contexts = [value.traced for value in inputs if isinstance(value, Expr) and value.traced]
        # As that of an operation on all inputs.
        self.traced = reduce(context_of_both, contexts)

    @property
    def outputs(self) -> list[Expr]:
        """The outputs as expressions of the inputs."""
        if self._outputs is None:
            self._outputs = self.program.inline(self.inputs)
        return self._outputs

    def leaf(self, place: int, known: Expr | FlatStep, of_values: bool) -> Expr:
        """An output as a leaf without a scope.

        A derivative may be constant in the next variable of differentiation: then there is no warning that
        the result does not depend on it.
        """
        params = (("scope", None), ("place", OF_VALUES if of_values else 0))
        if known.op is CONSTANT:
            constant = constant_of(known.params[0][1])
            return assemble_node(leaf, (constant,), params, known.type)
        operand: Any = _Operand(self, place)
        return assemble_node(leaf, operand, params, known.type, traced=self.traced)


class _Operand(Sequence[Expr]):
    """The operands of a leaf: one output of a derived program."""

    __slots__ = ("_inlined", "_place")

    def __init__(self, inlined: _Inlined, place: int) -> None:
        self._inlined = inlined
        self._place = place

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        return (self._inlined.outputs[self._place],)[index]


@lru_cache(maxsize=512)
def derived(
    transform: Transform, rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int
) -> Program:
    """The transformed program of a skeleton, simplified before and after, and lowered."""
    with Paused():
        inputs = [symbol(name, type) for op, name, type in rows if op is INPUT]

        def make() -> list[Expr]:
            of_values = Simplifier()
            exprs = instantiate(rows, inputs, of_values.normal_form)
            return transformed_roots(
                transform, [exprs[i] for i in roots], inputs[:leaves], of_values
            )

        how = derivation_name(transform, leaves)
        return remembered(how, lambda: SourceRows(rows, roots), inputs, make)


def transformed_roots(
    transform: Transform, roots: list[Expr], leaves: list[Expr], of_values: Simplifier
) -> list[Expr]:
    """The outputs of a transform, simplified before and after."""
    simple = simplify_all(roots, simplifier=of_values)
    of_derivatives = of_values.for_derivatives()
    outputs = transform(simple, leaves, of_derivatives)
    return simplified_outputs(outputs, of_derivatives, of_values.holds_tuples)


def simplified_outputs(
    outputs: list[Expr], simplifier: Simplifier, has_loops: bool = False
) -> list[Expr]:
    """The outputs of a transform in normal form, with loops over the same items merged."""
    made = simplify_all(outputs, simplifier=simplifier)
    if not (has_loops or simplifier.holds_tuples):
        return made
    from funcgrad.compiler.passes.body_subsumption import subsume_bodies

    return subsume_bodies(made)


def concretize(tree: object, leaves: Sequence[Expr]) -> Any:
    """A tree of traced results as numbers, or as expressions inside another trace."""
    flat = flatten(tree)
    traced = [item for item in flat.leaves if isinstance(item, Expr)]
    if not traced:
        return tree
    values = iter(derive(_unchanged, traced, leaves))
    return flat.rebuild(
        [result(next(values)) if isinstance(item, Expr) else item for item in flat.leaves]
    )


def _unchanged(roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
    return roots


# -- expressions ---------------------------------------------------------------------------------
def trace(f: Callable[..., Any], *args: object) -> Any:
    """The tree of expressions that f builds from its arguments, on variables
    named after them.

    A number or array in ``args`` gives its shape and dtype, and its value if
    Python reads it; an expression is used as it is. Arrays that f captures are
    copied into the result: those up to 64 KiB as they were when f used them,
    larger ones as they are when f has returned.

    Raises TypeError if f is not a function, or its arguments or results are no
    numbers, arrays, expressions or trees of them.

    >>> trace(lambda x, y: x * y + 1, 2.0, 3.0)
    x*y + 1
    """
    if not callable(f):
        raise type_error(
            f"trace: expected a function, but got {type(f).__name__}; write trace(f, x)"
        )
    if not args and _has_parameters(f):
        raise type_error(
            "trace: expected the arguments of f, but got none; write trace(f, 2.0), or trace(f, x)",
        )
    output, leaves = run_on_leaves(f, args, {})
    return closed_tree(output, leaves)


def _has_parameters(f: Callable[..., Any]) -> bool:
    """Whether f cannot be called without arguments, as far as that is known."""
    if isinstance(f, np.ufunc):
        return True
    try:
        given = signature(f)
    except ValueError:  # some functions in C
        return False
    try:
        given.bind()
    except TypeError:
        return True
    return False


def closed_tree(output: object, leaves: Sequence[Expr]) -> Any:
    """A traced tree as expressions that remain valid after the trace: leaves become variables."""
    tree = flatten(output)
    roots = [item if isinstance(item, Expr) else const(item) for item in tree.leaves]
    return tree.rebuild(closed(roots, leaves))


def closed(roots: Sequence[Expr], leaves: Sequence[Expr]) -> list[Expr]:
    """Roots with named variables for leaves that stand for numbers, and captured arrays frozen."""
    given: dict[Key, Expr] = {}
    for expr in subexpressions(*roots):
        if expr.op is CONSTANT and expr.params[0][1].captured:
            given[expr.key] = const(expr.params[0][1].array)
    taken: set[str] = set()
    for item in leaves:
        value = item.args[0]
        if value.op is CONSTANT:
            name = _unused(re.sub(r"\W", "_", item.label or "x"), taken)
            taken.add(name)
            value = symbol(name, value.type)
        given[item.key] = value
    return _with_labels(_outliving(substitute_all(roots, given)))


def _outliving(roots: list[Expr]) -> list[Expr]:
    """Roots that belong to no trace that has ended: derivatives in it that depend on none of its leaves."""
    if not any([root.traced and not root.traced.open for root in roots]):
        return roots

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.op is leaf and expr.traced and not expr.traced.open:
            return assemble_node(leaf, args, expr.params, expr.type)
        return rebuild(expr, args)

    return folded(roots, step)


def _with_labels(roots: list[Expr]) -> list[Expr]:
    """Roots in which the marks of `funcgrad.name` are labels of the nodes that they mark."""
    if not any([expr.op is name_op for expr in subexpressions(*roots)]):
        return roots

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.op is not name_op:
            return rebuild(expr, args)
        return labeled(args[0], str(dict(expr.params)["name"]))

    return folded(roots, step)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
