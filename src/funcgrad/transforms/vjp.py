"""vjp: the value of a function and its pullback, which may be called many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.autodiff.accumulate import backprop
from funcgrad.expr import Expr, symbol
from funcgrad.linear import Parts
from funcgrad.ops.base.op import differentiable, fit
from funcgrad.ops.shape import zeros_like
from funcgrad.ops.tuples import together_op
from funcgrad.transformed import Transformed
from funcgrad.transforms.linearize import split_at
from funcgrad.transforms.transform_arguments import (
    matching_seeds,
    rebuild_arguments,
    tangent_dtype,
    title,
)


def vjp(f: Callable[..., Any], *primals: object, has_aux: bool = False) -> tuple[Any, ...]:
    """f's value and its pullback: ``pullback(cotangent)`` is a tuple with one
    part a primal.

    The cotangent has the structure and shapes of the value. The pullback may
    be called many times: it reads residuals that are computed once. With
    ``has_aux``, f returns a pair ``(value, aux)``, and the result is
    ``(value, pullback, aux)``.

    Raises TypeError if f is not a function or a primal is an integer array,
    and, when the pullback is called, if the cotangent's structure, shapes or
    dtypes are not those of the value.

    >>> value, pullback = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> value, pullback(1.0)
    (12.0, (4.0, 3.0))
    """
    split = split_at("vjp", f, primals, has_aux, _cotangents)

    def pullback(cotangent: object) -> tuple[Any, ...]:
        """One cotangent for each primal, from one for the value."""
        seeds = matching_seeds("pullback", "cotangent", cotangent, split.shape, split.roots)
        return tuple(rebuild_arguments(split.trees, split.linear(seeds), single=False))

    pullback.__name__ = pullback.__qualname__ = f"pullback of {title(f)}"
    return (split.value, Transformed(pullback), *split.aux)


def _cotangents(roots: list[Expr], leaves: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    types = [root.type._replace(dtype=tangent_dtype(root)) for root in roots]
    seeds = [symbol(f"c{k}", type) for k, type in enumerate(types)]
    smooth = [k for k, root in enumerate(roots) if differentiable(root.dtype)]
    if not smooth:
        return seeds, [zeros_like(item) for item in leaves]
    root = together_op(*[roots[k] for k in smooth])
    given = Parts({place: seeds[k] for place, k in enumerate(smooth)})
    found = backprop(root, given, wrt=leaves).map
    return seeds, [fit(found[x.key], x.type) if x.key in found else zeros_like(x) for x in leaves]
