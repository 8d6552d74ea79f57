"""Sparse Jacobians and Hessians: sparsity propagation, coloring, and one compressed product a color.

The pattern and its coloring depend on the program and its index arrays only. Each function that
`sparse_jacobian` returns caches them, so that a call runs the compressed products alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from funcgrad.autodiff.accumulate import gradients
from funcgrad.autodiff.power_series import coefficients
from funcgrad.compiler.program import Program, lower
from funcgrad.expr import Expr, symbol, var
from funcgrad.graph import INPUT
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.shape import broadcast_to, zeros_like
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error
from funcgrad.trace.constant_parameterization import derived_with_parameters
from funcgrad.trace.derive import run_trace
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import flatten
from funcgrad.trace.skeleton import Skeleton, SkeletonRow, instantiate, skeleton
from funcgrad.transforms.curried import LATER, curried
from funcgrad.transforms.grad import grad_named
from funcgrad.transforms.linearize import residuals_of
from funcgrad.transforms.sparse import coloring, edge_patterns
from funcgrad.transforms.sparse.propagation import jacobian_pattern
from funcgrad.transforms.transform_arguments import (
    argument_numbers,
    check_function,
    differentiable_arguments,
    named_after,
    positions,
    tangent_dtype,
    titled,
)

# The number of programs whose coloring one function caches.
KEPT = 32


def sparsity(f: Callable[..., Any], *args: object, argnums: int | Sequence[int] = 0) -> Any:
    """The pattern of f's Jacobian at these arguments: a boolean
    ``scipy.sparse.csr_array``.

    Rows are the entries of f's result, columns those of the arguments of
    ``argnums``, trees raveled leaf by leaf. It is propagated through the
    graph, without evaluating derivatives, and covers every entry that can be
    nonzero along the branches that f took.

    Raises TypeError if f is not a function, no arguments follow it, or a value
    is complex; ImportError without SciPy.

    >>> import numpy as np
    >>> sparsity(lambda x: x[1:] * x[:-1], np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    check_function("sparsity", f)
    if not args:
        raise type_error(
            "sparsity: expected f's arguments after f, but got none; write sparsity(f, x)",
        )
    roots, leaves = _traced("sparsity", f, argnums, args, {})
    inputs, simple, known = _read(skeleton(roots, leaves), len(leaves))
    return jacobian_pattern(simple, inputs[: len(leaves)], known)


@curried
def sparse_jacobian(
    f: Callable[..., Any] = LATER, argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """The function that computes f's Jacobian as a ``scipy.sparse.csr_array``.

    Columns that share no row are computed by one pushforward, or rows that
    share no column by one pullback, whichever needs fewer products. Trees are
    raveled leaf by leaf. Fits ``scipy.optimize.least_squares(jac=...)``.
    Without f, a decorator.

    Raises TypeError if f is not a function, or a value is complex; ImportError
    without SciPy.

    >>> import numpy as np
    >>> J = sparse_jacobian(lambda x: x[1:] * x[:-1])
    >>> J(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    check_function("sparse_jacobian", f)
    return _compressed("sparse_jacobian", f, f, argnums, _jacobian_plan)


@curried
def sparse_hessian(
    f: Callable[..., Any] = LATER, argnums: int | Sequence[int] = 0
) -> Callable[..., Any]:
    """The function that computes the Hessian of f, a real scalar, as a
    ``scipy.sparse.csr_array``.

    Star coloring: an entry is recovered from the product of its row's color or
    its column's, so that an arrow matrix needs two products. Fits
    ``scipy.optimize.minimize(hess=..., method="trust-constr")``. Without f, a
    decorator.

    Raises TypeError if f is not a function or does not return a real scalar;
    ImportError without SciPy.

    >>> import numpy as np
    >>> H = sparse_hessian(lambda x: np.sum(x[1:] * x[:-1] ** 2))
    >>> H(np.array([1.0, 2.0, 3.0])).toarray()
    array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]])
    """
    check_function("sparse_hessian", f)
    return _compressed(
        "sparse_hessian", f, grad_named("sparse_hessian", f, argnums), argnums, _hessian_plan
    )


def _traced(
    who: str,
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[list[Expr], list[Expr]]:
    places = positions(who, argument_numbers(who, argnums, f), len(args))
    output, leaves = run_on_leaves(f, args, kwargs, differentiable_arguments(who, f, args, places))
    roots = [lift_fully(item) for item in flatten(output).leaves]
    if not roots:
        raise type_error(f"{who}: expected f to return numbers, but got {type(output).__name__}")
    for expr in (*leaves, *roots):
        if expr.dtype.kind == "c":
            raise type_error(
                f"{who}: expected real arguments and results, but got {expr.type}; "
                "treat the real and imaginary parts as two arrays",
            )
    return roots, leaves


# -- plans, one for each program -----------------------------------------------------------------
class CompressionPlan(NamedTuple):
    """A pattern, and the positions of its entries in the products: entry = products[color][place]."""

    pattern: Any
    forward: bool
    colors: coloring.Colors
    color: Any
    place: Any


def _jacobian_plan(pattern: Any) -> CompressionPlan:
    rows, columns = pattern.tocoo().coords
    colors = coloring.columns(pattern)
    transposed = pattern.T.tocsr()
    if coloring.count(colors) > coloring.longest(transposed):
        by_row = coloring.columns(transposed)
        if coloring.count(by_row) < coloring.count(colors):
            return CompressionPlan(pattern, False, by_row, by_row[rows], columns)
    return CompressionPlan(pattern, True, colors, colors[columns], rows)


def _hessian_plan(pattern: Any) -> CompressionPlan:
    both = pattern.multiply(pattern.T).tocsr()  # each of the two factors covers the true pattern
    both.sort_indices()
    rows, columns = both.tocoo().coords
    colors = coloring.star(both)
    where = rows.astype(np.int64) * (coloring.count(colors) + 1) + colors[columns]
    _, inverse, counts = np.unique(where, return_inverse=True, return_counts=True)
    alone = counts[inverse] == 1
    color = np.where(alone, colors[columns], colors[rows])
    return CompressionPlan(both, True, colors, color, np.where(alone, rows, columns))


def _read(
    found: Skeleton, leaves: int
) -> tuple[list[Expr], list[Expr], dict[int, edge_patterns.Facts]]:
    """The inputs and roots of a simplified skeleton, and the facts about values in it."""
    inputs, simple = _simplified(found.rows, found.roots)
    pairs = list(zip(inputs, found.inputs, strict=True))[leaves:]
    given = {id(x): value for x, value in pairs if not isinstance(value, Expr)}
    return inputs, simple, edge_patterns.facts(simple, given)


@lru_cache(maxsize=256)
def _simplified(
    rows: tuple[SkeletonRow, ...], roots: tuple[int, ...]
) -> tuple[list[Expr], list[Expr]]:
    exprs = instantiate(rows)
    # Only derivatives are taken of these values, so laws for derivatives apply.
    simple = simplify_all([exprs[i] for i in roots], mode="derivative")
    return [x for x in exprs if x.op is INPUT], simple


def _compressed(
    who: str,
    named: Callable[..., Any],
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    plan_of: Callable[[Any], CompressionPlan],
) -> Callable[..., Any]:
    wanted = argument_numbers(who, argnums, named)
    plans: dict[Any, CompressionPlan] = {}

    def plan(found: Skeleton, leaves: int) -> CompressionPlan:
        inputs, simple, known = _read(found, leaves)
        key = (found.rows, found.roots, edge_patterns.digest(known))
        if key not in plans:
            made = plan_of(jacobian_pattern(simple, inputs[:leaves], known))
            while len(plans) >= KEPT:
                plans.pop(next(iter(plans)))
            plans[key] = made
        return plans[key]

    @named_after(named)
    def matrix_of(*args: object, **kwargs: object) -> Any:
        roots, leaves = _traced(who, f, wanted, args, kwargs)
        found = skeleton(roots, leaves)
        if found.symbolic:
            raise type_error(
                f"{who}: expected numbers, but got expressions of a transform around it, which no "
                "sparse matrix can hold; use jacobian there",
            )
        made, found, _ = derived_with_parameters(_Rows, None, found, len(leaves))
        found = found._replace(rows=made.rows)
        return _filled(plan(found, len(leaves)), found, roots, leaves)

    return titled(matrix_of, named, who, "the sparse matrix of {}'s derivatives.")


class _Rows(NamedTuple):
    """A skeleton, in which numbers that change from call to call may be inputs."""

    transform: None
    rows: tuple[SkeletonRow, ...]
    roots: tuple[int, ...]
    leaves: int

    @property
    def outputs(self) -> list[Expr]:
        """What is derived from it."""
        modes = [_linear(self.rows, self.roots, self.leaves, mode) for mode in (True, False)]
        return [expr for _, _, outputs in modes for expr in outputs]


def _filled(
    plan: CompressionPlan, found: Skeleton, roots: Sequence[Expr], leaves: Sequence[Expr]
) -> Any:
    """The matrix of a plan: one product for each color, from which its entries are read."""
    first, second = linearized(found.rows, found.roots, len(leaves), plan.forward)
    seeded, answered = (leaves, roots) if plan.forward else (roots, leaves)
    known = [*found.inputs, *run_trace(first, found.inputs, roots)]
    dtype = np.result_type(float if not roots else np.float16, *[x.dtype for x in roots])
    size = sum([x.size for x in answered])
    products = np.zeros((coloring.count(plan.colors), size), dtype)
    cuts = [0, *accumulate([x.size for x in seeded])]
    for color, product in enumerate(products):
        chosen = plan.colors == color
        seeds = [
            chosen[i:j].reshape(x.shape).astype(tangent_dtype(x))
            for x, (i, j) in zip(seeded, pairwise(cuts), strict=True)
        ]
        parts = second.run([*known, *seeds])
        np.concatenate([np.ravel(part) for part in parts], out=product, casting="same_kind")
    pattern = plan.pattern
    data = products[plan.color, plan.place]
    # Copies, since the caller may change a csr_array in place.
    return edge_patterns.scipy_sparse().csr_array(
        (data, pattern.indices.copy(), pattern.indptr.copy()), shape=pattern.shape
    )


@lru_cache(maxsize=256)
def linearized(
    rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int, forward: bool
) -> tuple[Program, Program]:
    """The programs of a skeleton's derivative: of the values independent of seeds, and of the rest.

    The second takes the inputs, the results of the first, and seeds: tangents of the leaves, or
    cotangents of the roots. It runs once for each seed.
    """
    return _split(*_linear(rows, roots, leaves, forward))


@lru_cache(maxsize=256)
def _linear(
    rows: tuple[SkeletonRow, ...], roots: tuple[int, ...], leaves: int, forward: bool
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """The inputs of a skeleton, the seeds of its derivative, and the derivative."""
    inputs, simple = _simplified(rows, roots)
    primals = inputs[:leaves]
    seeded = primals if forward else simple
    seeds = [var(f"s{i}", x.shape, tangent_dtype(x)) for i, x in enumerate(seeded)]
    derive = _tangents if forward else _cotangents
    outputs = simplify_all(derive(simple, primals, seeds), mode="derivative")
    return inputs, seeds, outputs


def _tangents(roots: list[Expr], primals: list[Expr], seeds: list[Expr]) -> list[Expr]:
    # The pushforward is the series of order 1, which concatenates many parts at once.
    given = {x.key: (x, seed) for x, seed in zip(primals, seeds, strict=True)}
    flows = [flow for _, flow in coefficients(roots, given, 1)]
    return [
        zeros_like(root, tangent_dtype(root)) if flow is None else broadcast_to(flow, root.shape)
        for root, flow in zip(roots, flows, strict=True)
    ]


def _cotangents(roots: list[Expr], primals: list[Expr], seeds: list[Expr]) -> list[Expr]:
    pairs = [(r, s) for r, s in zip(roots, seeds, strict=True) if differentiable(r.dtype)]
    products = [np.sum(root * seed) for root, seed in pairs]
    return gradients(sum(products[1:], products[0]), primals)


def _split(inputs: list[Expr], seeds: list[Expr], outputs: list[Expr]) -> tuple[Program, Program]:
    cut = [expr for expr in residuals_of(outputs, seeds) if expr.op is not INPUT]
    known = {expr.key: symbol(f"k{i}", expr.type) for i, expr in enumerate(cut)}
    rest = substitute_all(outputs, known)
    return lower(cut, inputs), lower(rest, [*inputs, *known.values(), *seeds])
