"""jvp: the value of a function and its directional derivative, by forward accumulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.autodiff.accumulate import pushforward
from funcgrad.expr import Expr, result
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import broadcast_to, zeros_like
from funcgrad.rewrite.simplify import Simplifier
from funcgrad.source import type_error
from funcgrad.trace.derive import concretize, derive
from funcgrad.trace.leaves import parameter_names, run_on_leaves
from funcgrad.trace.pytree import flatten, flatten_numbers
from funcgrad.transforms.formulas_of import formulas_of
from funcgrad.transforms.transform_arguments import (
    check_function,
    check_tuples,
    differentiable_arguments,
    leaves_by_argument,
    matching_seeds,
    seed_leaves,
    split_aux,
    tangent_dtype,
    warn_unreached,
)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """f's value and its directional derivative along the tangents, as a pair of
    trees.

    ``primals`` and ``tangents`` are tuples of the same length and structure,
    as in JAX. With ``has_aux``, f returns a pair ``(value, aux)``, and the
    result is ``(value, derivative, aux)``. ``jvp.expr`` takes the same
    arguments, and returns value and derivative as formulas; dx is the tangent
    of x.

    Raises TypeError if ``primals`` or ``tangents`` is not a tuple, or if their
    structures, shapes or dtypes differ; for integer arrays, which have no
    tangents; and if f is not a function. Warns if no primal reaches the value.

    >>> jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
    (12.0, 4.0)
    >>> jvp.expr(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
    (x*y, y*dx + x*dy)
    """
    return jvp_named("jvp", f, primals, tangents, has_aux)


def jvp_named(
    who: str,
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """`jvp`, whose errors name the function that called it."""
    check_function(who, f)
    check_tuples(who, primals, tangents)
    places = tuple(range(len(primals)))
    arguments = differentiable_arguments(who, f, primals, places)
    output, leaves = run_on_leaves(f, primals, {}, arguments)
    trees = [*arguments.values()]
    if len(tangents) != len(primals):
        raise type_error(f"{who}: expected {len(primals)} tangents, but got {len(tangents)}")
    seeds = [
        seed
        for tangent, primal, own in zip(
            tangents, primals, leaves_by_argument(trees, leaves), strict=True
        )
        for seed in matching_seeds(who, "tangent", tangent, flatten_numbers(primal), own)
    ]
    seeds = seed_leaves(seeds)
    output, aux = split_aux(output, has_aux, who)
    shape = flatten(output)
    roots = [lift_fully(item) for item in shape.leaves]
    count = len(roots)
    unreached = warn_unreached if roots and leaves else None
    together = derive(_jvp, [*roots, *leaves, *seeds], [*leaves, *seeds], unreached, count)
    values = [result(v) for v in together]
    pair = shape.rebuild(values[:count]), shape.rebuild(values[count:])
    return (*pair, concretize(aux, leaves)) if has_aux else pair


def _formulas(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """The value and the directional derivative as formulas in the primals and the tangents."""
    check_function("jvp", f)
    count = len(primals)
    names = parameter_names(f, count)
    trees = differentiable_arguments("jvp", f, primals, tuple(range(count)))
    for i, (tangent, name) in enumerate(zip(tangents, names, strict=True)):
        trees[count + i] = flatten_numbers(tangent, f"d{name}")

    def pair(*args: object) -> Any:
        return jvp(f, args[:count], args[count:], has_aux)[:2]

    return formulas_of(pair, [*primals, *tangents], {}, trees)


jvp.expr = _formulas  # type: ignore[attr-defined]


def _jvp(roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
    half = len(leaves) // 2
    outputs = roots[: len(roots) - len(leaves)]
    tangents = {x.key: t for x, t in zip(leaves[:half], leaves[half:], strict=True)}
    flows = pushforward(outputs, tangents)
    return [
        *outputs,
        *[
            zeros_like(out, tangent_dtype(out)) if flow is None else broadcast_to(flow, out.shape)
            for out, flow in zip(outputs, flows, strict=True)
        ],
    ]
