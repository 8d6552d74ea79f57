"""Jacobians, Hessians and products with them.

A row of a Jacobian is the pullback of one basis vector, a column the pushforward of one. All rows, or all
columns, are one batched run: the graph transform of `vmap` on a constant basis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.autodiff.accumulate import backprop, pushforward
from funcgrad.autodiff.batching import every_example
from funcgrad.autodiff.simplified_reverse import simplified_cotangents
from funcgrad.expr import Expr, const, result
from funcgrad.ops.base.op import differentiable, example, lift_fully
from funcgrad.ops.shape import broadcast_to, full_like, moveaxis, reshape, zeros_like
from funcgrad.rewrite.simplify import Simplifier
from funcgrad.source import type_error
from funcgrad.trace.derive import concretize, simplified_outputs, transformed_roots
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.transforms.curried import LATER, differentiating
from funcgrad.transforms.formulas_of import formulas_of, numeric_arguments
from funcgrad.transforms.grad import grad_named
from funcgrad.transforms.jvp import jvp_named
from funcgrad.transforms.trace_cache import LastTraceCache
from funcgrad.transforms.transform_arguments import (
    argument_numbers,
    check_function,
    check_holomorphic,
    check_tuples,
    counted_from_end,
    differentiable_arguments,
    named_after,
    positions,
    rebuild_arguments,
    split_aux,
    titled,
    warn_unreached,
)
from funcgrad.transforms.vjp import vjp
from funcgrad.typing import Array


@differentiating
def jacobian(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The function that computes all partial derivatives of f's results.

    The derivative of a result of shape s in an argument of shape t has the
    shape ``(*s, *t)``; trees give trees of those, the result's structure
    outside and the argument's inside, as in JAX. The shapes choose the mode:
    reverse if f has fewer results than arguments, else forward. ``argnums``,
    ``has_aux`` and ``holomorphic`` as in `grad`; without f, a decorator.
    ``jacobian(f).expr(*args)`` is the result as formulas.

    Raises TypeError if an argument or a result is not float or complex, if a
    real argument has complex results in reverse mode, or a complex one real
    results in forward mode.

    >>> import numpy as np
    >>> jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
    array([[2., 1., 0.],
           [0., 3., 2.]])
    >>> jacobian(lambda x, y: (x * y, np.sin(x)), (0, 1)).expr(1.0, 2.0)
    ((y, x), (cos(x), 0.0))
    """
    return _jacobian("jacobian", _by_shape, f, argnums, has_aux, holomorphic)


@differentiating
def jacfwd(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """`jacobian` in forward mode: one pushforward a column, all in one run.

    Raises TypeError as `jacobian` does, and if complex arguments have real
    results.

    >>> import numpy as np
    >>> jacfwd(np.sin)(0.0)
    1.0
    """
    return _jacobian("jacfwd", _forward, f, argnums, has_aux, holomorphic)


@differentiating
def jacrev(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """`jacobian` in reverse mode: one pullback a row, all in one run.

    Raises TypeError as `jacobian` does, and if real arguments have complex
    results.

    >>> import numpy as np
    >>> jacrev(np.sin)(0.0)
    1.0
    """
    return _jacobian("jacrev", _reverse, f, argnums, has_aux, holomorphic)


@differentiating
def hessian(
    f: Callable[..., Any] = LATER,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The function that computes f's second derivatives: forward over reverse.

    For a scalar f of an array of shape t the result has the shape
    ``(*t, *t)``; trees and several arguments give trees of blocks, as in JAX.
    Each column is a product with one basis vector; all columns are one batched
    run. ``hessian(f).expr(*args)`` is the result as formulas.

    Raises TypeError if an argument or a result is not float or complex.

    >>> import numpy as np
    >>> hessian(lambda x: x**4).expr(1.0)
    12*x**2
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    made = _jacobian("hessian", _forward_over_reverse, f, argnums, has_aux, holomorphic, order=2)
    about = f"the second derivatives of {{}} in argument {argnums}."
    return titled(made, f, "hessian", about, made.expr)  # type: ignore[attr-defined]


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of f's Hessian with a vector, at the cost of a few gradients:
    forward over reverse.

    ``primals`` and ``tangents`` are tuples of the same structure, as in JAX.
    The result has the structure of the primal; for several primals it is a
    tuple.

    Raises TypeError if ``primals`` or ``tangents`` is not a tuple, if their
    structures, shapes or dtypes differ, or if f does not return a real scalar.

    >>> import numpy as np
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    >>> hvp(lambda x: np.sum(x**3), (x,), (v,))
    array([6., 0.])
    """
    check_function("hvp", f)
    check_tuples("hvp", primals, tangents)
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp_named("hvp", grad_named("hvp", f, argnums), primals, tangents)[1]


def ggnvp(
    f: Callable[..., Any],
    loss: Callable[[Any], Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
) -> Any:
    """The product of the generalized Gauss-Newton matrix of ``loss(f(x))`` with a
    vector.

    The matrix is J^T H J, with J the Jacobian of f and H the Hessian of the
    loss at f's value: the Hessian without the curvature of f, positive
    semidefinite if the loss is convex (Schraudolph 2002).

    Raises TypeError as `hvp` does; the scalar is the loss's result.

    >>> import numpy as np
    >>> ggnvp(np.sin, lambda y: y**2 / 2, (0.0,), (3.0,))
    3.0
    """
    value, flow = jvp_named("ggnvp", f, primals, tangents)
    bent = hvp(loss, (value,), (flow,))
    _, pullback = vjp(f, *primals)
    parts = pullback(bent)
    return parts[0] if len(parts) == 1 else parts


# -- modes ---------------------------------------------------------------------------------------
def _jacobian(
    who: str,
    how: Callable[..., Any],
    f: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    order: int = 1,
) -> Callable[..., Any]:
    check_function(who, f)
    function = f
    single = isinstance(argnums, int | np.integer)
    wanted = argument_numbers(who, argnums, f)
    derivation = LastTraceCache(how)

    @named_after(f)
    def jacobian_of(*args: object, **kwargs: object) -> Any:
        places = positions(who, wanted, len(args))
        trees = differentiable_arguments(who, function, args, places)
        output, leaves = run_on_leaves(function, args, kwargs, trees)
        if holomorphic:
            check_holomorphic(who, leaves)
        output, aux = split_aux(output, has_aux, who)
        shape = flatten(output).without(lambda item: isinstance(item, bool) and item is not output)
        roots = [_result(who, item) for item in shape.leaves]
        if output is None:
            raise type_error(f"{who}: expected f to return numbers, but got None; f has no return")
        blocks = derivation(roots, leaves, warn_unreached)
        found = _assembled(shape, [*trees.values()], map(result, blocks), single, order)
        return (found, concretize(aux, leaves)) if has_aux else found

    def expr(*args: object, **kwargs: object) -> Any:
        trees = numeric_arguments(function, args)
        trees |= differentiable_arguments(who, function, args, positions(who, wanted, len(args)))
        found = formulas_of(jacobian_of, args, kwargs, dict(sorted(trees.items())))
        return found[0] if has_aux else found

    counted_from_end(jacobian_of, wanted)
    about = f"the partial derivatives of {{}} in argument {argnums}."
    return titled(jacobian_of, f, who, about, expr)


def _result(who: str, item: Array) -> Expr:
    root = lift_fully(item)
    if differentiable(root.dtype):
        return root
    raise type_error(
        f"{who}: expected f to return float values, but got {root.type}; convert them with "
        "astype(float), or return them beside the value with has_aux=True",
    )


def _assembled(
    shape: Tree, trees: Sequence[Tree], blocks: Iterator[Any], single: bool, order: int
) -> Any:
    """The tree of results, with a tree of blocks, one for each argument, in place of each result.

    Of the second order, blocks are trees of blocks in their turn.
    """
    width = sum(len(tree.leaves) for tree in trees)

    def of_order(rest: int) -> Any:
        if not rest:
            return next(blocks)
        return rebuild_arguments(trees, [of_order(rest - 1) for _ in range(width)], single)

    return shape.rebuild([of_order(order) for _ in shape.leaves])


def _by_shape(roots: list[Expr], leaves: list[Expr]) -> Any:
    if any(item.dtype.kind == "c" for item in leaves):
        return _reverse(roots, leaves)
    if any(root.dtype.kind == "c" for root in roots):
        return _forward(roots, leaves)
    # Forward mode costs less a column than reverse mode a row.
    results, arguments = (sum(item.size for item in items) for items in (roots, leaves))
    return _forward(roots, leaves) if arguments <= results else _reverse(roots, leaves)


def _forward(roots: list[Expr], leaves: list[Expr]) -> Any:
    complex_in = any(item.dtype.kind == "c" for item in leaves)
    if complex_in and any(root.dtype.kind != "c" for root in roots):
        raise type_error(
            "jacfwd: expected complex results for complex arguments, but got real ones, whose "
            "derivative has two directions; use jacrev",
        )
    return jacobian_columns


def _reverse(roots: list[Expr], leaves: list[Expr]) -> Any:
    complex_out = any(root.dtype.kind == "c" for root in roots)
    if complex_out and any(item.dtype.kind != "c" for item in leaves):
        raise type_error(
            "jacrev: expected real results for real arguments, but got complex ones, whose cotangents "
            "would lose their imaginary part; use jacfwd",
        )
    return jacobian_rows


def _forward_over_reverse(roots: list[Expr], leaves: list[Expr]) -> Any:
    _reverse(roots, leaves)
    _forward(leaves, leaves)  # a row has the type of its argument
    return hessian_blocks


def hessian_blocks(roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
    """The blocks of the second derivatives, by forward mode over the rows of the Jacobian."""
    rows = simplified_outputs(jacobian_rows(roots, leaves, simplifier), simplifier)
    return transformed_roots(jacobian_columns, rows, leaves, Simplifier())


def _basis(item: Expr) -> Expr:
    """One example of the standard basis, in the shape of the node."""
    size = math.prod(item.shape)
    return example(const(np.eye(size, dtype=item.dtype).reshape(size, *item.shape)))  # type: ignore[no-any-return]


def jacobian_rows(roots: list[Expr], leaves: list[Expr], simplifier: Simplifier) -> list[Expr]:
    """The blocks of the Jacobian in reverse mode, a pullback of the basis of each root."""
    blocks: list[Expr] = []
    for root in roots:
        if not root.shape:
            blocks += simplified_cotangents(root, leaves, simplifier)
            continue
        found = backprop(root, _basis(root), wrt=leaves).map
        pulled = [found[x.key] if x.key in found else zeros_like(x) for x in leaves]
        for x, block in zip(leaves, every_example(pulled, root.size), strict=True):
            blocks.append(reshape(block, (*root.shape, *x.shape)))
    return blocks


def jacobian_columns(
    roots: list[Expr], leaves: list[Expr], simplifier: Simplifier | None = None
) -> list[Expr]:
    """The blocks of the Jacobian in forward mode, a pushforward of the basis of each leaf."""
    table: list[list[Expr]] = []
    for x in leaves:
        flows = pushforward(roots, {x.key: _basis(x) if x.shape else full_like(x, 1)})
        known = [
            zeros_like(root) if flow is None else lift_fully(flow)
            for root, flow in zip(roots, flows, strict=True)
        ]
        if not x.shape:
            table.append(
                [broadcast_to(flow, root.shape) for flow, root in zip(known, roots, strict=True)]
            )
            continue
        table.append(
            [
                reshape(moveaxis(block, 0, -1), (*root.shape, *x.shape))
                for root, block in zip(roots, every_example(known, x.size), strict=True)
            ]
        )
    return [block for row in zip(*table, strict=True) for block in row]
