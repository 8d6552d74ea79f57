"""linearize: the derivative at a point as a linear program, which may be called many times.

A derivative is linear in its tangents or cotangents. The *residuals*, which do not depend on those, are
computed once, with the value; the linear program that remains reads them at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

from funcgrad.autodiff.accumulate import pushforward
from funcgrad.compiler.passes.body_subsumption import subsume_bodies
from funcgrad.compiler.program import Program, lower
from funcgrad.expr import Expr, by_key, concrete, const, result, subexpressions, symbol
from funcgrad.graph import CONSTANT, INPUT, dependent
from funcgrad.ops.base.op import fit, leaf, lift_fully
from funcgrad.ops.shape import zeros_like
from funcgrad.rewrite.constant_values import unrepeated
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error
from funcgrad.trace.constant_parameterization import derived_with_parameters
from funcgrad.trace.derive import concretize, flatness, run_trace
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import Tree, flatten, flatten_numbers
from funcgrad.trace.skeleton import Skeleton, SkeletonRow, instantiate, skeleton
from funcgrad.transformed import Transformed
from funcgrad.transforms.transform_arguments import (
    check_function,
    differentiable_arguments,
    leaves_by_argument,
    matching_seeds,
    split_aux,
    tangent_dtype,
    title,
    warn_unreached,
)


def linearize(f: Callable[..., Any], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """f's value, and its derivative at the primals as a linear function of
    tangents.

    The function takes one tangent a primal, of its structure and shapes, and
    may be called many times: it reads residuals that are computed once. Its
    attribute ``expr`` is the linear map as an expression (a tree of them, if f
    returns a tree) in variables named after the arguments, ``dx``. With
    ``has_aux``, f returns a pair ``(value, aux)``, and the result is
    ``(value, flow, aux)``.

    Raises TypeError if f is not a function, if a primal is an integer array,
    and, when the map is called, if the number, structure, shapes or dtypes of
    the tangents are not those of the primals.

    >>> value, flow = linearize(lambda x, y: x**2 * y, 3.0, 2.0)
    >>> value, flow(1.0, 0.0), flow(0.0, 1.0)
    (18.0, 12.0, 9.0)
    >>> flow.expr
    12*dx + 9*dy
    """
    split = split_at("linearize", f, primals, has_aux, _flows)
    likes = [flatten_numbers(primal) for primal in primals]

    def flow(*tangents: object) -> Any:
        """The tangent of the value, from one for each primal."""
        if len(tangents) != len(primals):
            raise type_error(
                f"linearize: expected {len(primals)} tangents, but got {len(tangents)}"
            )
        seeds = [
            seed
            for tangent, like, own in zip(
                tangents, likes, leaves_by_argument(split.trees, split.leaves), strict=True
            )
            for seed in matching_seeds("linearize", "tangent", tangent, like, own)
        ]
        return split.shape.rebuild(split.linear(seeds))

    flow.__name__ = flow.__qualname__ = f"pushforward of {title(f)}"
    made = _LinearMap(flow)
    made.formulas = lambda: split.shape.rebuild(split.expressions())
    return (split.value, made, *split.aux)


class _LinearMap(Transformed):
    """A linear function of tangents, with its formulas."""

    formulas: Callable[[], Any]

    @cached_property
    def expr(self) -> Any:
        """The map as a tree of expressions, made when it is first read."""
        return self.formulas()


# -- splitting -----------------------------------------------------------------------------------
Builder: TypeAlias = Callable[[list[Expr], list[Expr]], tuple[list[Expr], list[Expr]]]
"""From roots and leaves to seeds, which are new inputs, and results that are linear in the seeds."""


class Split(NamedTuple):
    """A linear program in two parts: ``first`` computes residuals once, ``second`` runs for every seed."""

    first: Program
    second: Program
    seeds: int
    outputs: tuple[Expr, ...]
    """The values, and the results of the linear program, of which the two are parts."""


@lru_cache(maxsize=256)
def split_program(
    builder: Builder, rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int
) -> Split:
    """The two parts of the linear program that a builder derives from a skeleton."""
    exprs = instantiate(rows)
    inputs = [expr for expr in exprs if expr.op is INPUT]
    simple = simplify_all([exprs[i] for i in roots])
    seeds, made = builder(simple, inputs[:leaves])
    linear = simplify_all(made, mode="derivative")
    residuals = residuals_of(linear, seeds)
    names = [symbol(f"r{k}", item.type) for k, item in enumerate(residuals)]
    given = {item.key: name for item, name in zip(residuals, names, strict=True)}
    first = lower(subsume_bodies([*simple, *residuals]), inputs)
    second = lower(substitute_all(linear, given), [*names, *seeds])
    return Split(first, second, len(seeds), (*simple, *linear))


def residuals_of(linear: Sequence[Expr], seeds: Sequence[Expr]) -> list[Expr]:
    """The operands, independent of the seeds, of nodes that depend on seeds."""
    exprs = by_key(*linear)
    late = dependent(exprs.values(), [seed.key for seed in seeds])
    # The operand of a broadcast is kept, and broadcast at its use.
    taken = [unrepeated(arg) for key, e in exprs.items() if key in late for arg in e.args]
    found = {e.key: e for e in [*taken, *linear] if e.key not in late and e.op is not CONSTANT}
    return list(found.values())


def _flows(roots: list[Expr], leaves: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    seeds = [symbol(f"t{k}", item.type) for k, item in enumerate(leaves)]
    given = {item.key: seed for item, seed in zip(leaves, seeds, strict=True)}
    types = [root.type._replace(dtype=tangent_dtype(root)) for root in roots]
    return seeds, [
        zeros_like(root, type.dtype) if flow is None else fit(flow, type)
        for root, flow, type in zip(roots, pushforward(roots, given), types, strict=True)
    ]


class SplitFunction(NamedTuple):
    """A function at its primals: the value, and a program that is linear in seeds, with its residuals."""

    trees: list[Tree]
    leaves: list[Expr]
    shape: Tree
    roots: list[Expr]
    value: Any
    aux: tuple[Any, ...]
    parts: Split
    found: Skeleton
    residuals: list[Any]

    def linear(self, seeds: Sequence[Any]) -> list[Any]:
        """The results that are linear in the seeds.

        Inside another trace they are marked as derivatives (`rebuilt`), since they may be constant.
        """
        second, given = self.parts.second, [*self.residuals, *seeds]
        values: list[Any]
        if any(isinstance(value, Expr) for value in given):
            values = list(second.inline(given))
            if not any(map(_is_alive, values)):
                # Values of an enclosing trace that has ended are numbers.
                values = [result(concrete(x, "a value")) for x in values]
        else:
            values = [result(v) for v in second.run(given)]
        if not _in_trace(self.found):
            return values
        return [leaf(lift_fully(v), scope=None, place=0) for v in values]

    def expressions(self) -> list[Expr]:
        """The linear program with its residuals substituted, in variables named after the arguments."""
        second, count = self.parts.second, len(self.residuals)
        known = [value if isinstance(value, Expr) else const(value) for value in self.residuals]
        named = [
            symbol(f"d{item.label or 'x'}", seed.type)
            for item, seed in zip(self.leaves, second.inputs[count:], strict=True)
        ]
        given = {old.key: new for old, new in zip(second.inputs, [*known, *named], strict=True)}
        return simplify_all(substitute_all(second.outputs, given), mode="derivative")


def split_at(
    who: str, f: Callable[..., Any], primals: Sequence[Any], has_aux: bool, builder: Builder
) -> SplitFunction:
    """A function at its primals, with the linear program that a builder derives from its trace."""
    check_function(who, f)
    arguments = differentiable_arguments(who, f, primals, tuple(range(len(primals))))
    output, leaves = run_on_leaves(f, primals, {}, arguments)
    output, aux = split_aux(output, has_aux, who)
    shape = flatten(output)
    roots = [lift_fully(item) for item in shape.leaves]
    parts, found, _ = derived_with_parameters(
        split_program, builder, skeleton(roots, leaves), len(leaves)
    )
    flat = flatness(found, parts.first) if roots and leaves else None
    if flat is not None:
        warn_unreached(flat)
    made: list[Any]
    if found.symbolic:
        made = list(parts.first.inline(found.inputs))
    else:
        made = run_trace(parts.first, found.inputs, roots)
    count = len(roots)
    value = shape.rebuild([result(v) for v in made[:count]])
    beside = (concretize(aux, leaves),) if has_aux else ()
    trees = [*arguments.values()]
    return SplitFunction(trees, leaves, shape, roots, value, beside, parts, found, made[count:])


def _in_trace(found: Skeleton) -> bool:
    """Whether the inputs are values of another trace that is running."""
    given = [value for value in found.inputs if isinstance(value, Expr)]
    return any(value.traced and _is_alive(value) for value in given)


def _is_alive(expr: Expr) -> bool:
    """Whether a value depends on a variable, or on a leaf of a running trace."""
    return any(
        e.op is INPUT or (e.op is leaf and e.params[0][1] is not None and e.params[0][1].open)
        for e in subexpressions(expr)
    )
