"""cond and switch, with JAX's signatures.

Each branch is traced once. At run time only the chosen branch and its derivative run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.control.call_and_branch import bind, branch_op
from funcgrad.control.closed_program import Body, body_of
from funcgrad.expr import Expr, result, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.source import type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.outer_arrays import OuterArrays
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.trace_body import symbols, trace_body, types_of
from funcgrad.transforms.transform_arguments import structure_of


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: object = ...,
) -> Any:
    """``true_fun(*operands)`` if ``pred`` is true, else ``false_fun(*operands)``,
    as `jax.lax.cond`.

    Only the chosen branch and its derivative run, with all that its function
    computes: what several runs share is computed before. Under `vmap` with a
    batched ``pred`` both branches run, and each example selects. Both must
    return the same structure and shapes; dtypes are promoted. ``operand`` is
    one operand by name, as in JAX's earlier signature.

    Raises TypeError if ``pred`` is not a scalar bool or integer, a branch is
    no function, or the branches return different structures or shapes.

    >>> cond(True, lambda x: x + 1, lambda x: x - 1, 3.0)
    4.0
    """
    known = lift_fully(pred, (), "cond")
    if known.shape or known.dtype.kind not in "biu":
        raise type_error(f"cond: expected one bool, but got {known.type}; write x > 0 or the like")
    chosen = pred if known.dtype.kind == "b" else known != 0
    return _branch("cond", chosen, [false_fun, true_fun], _all_of(operands, operand))


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: object = ...
) -> Any:
    """``branches[index](*operands)``, the index clamped to the valid range, as
    `jax.lax.switch`.

    Raises TypeError if ``index`` is not a scalar integer, there are no
    branches, one is no function, or they return different structures or
    shapes.

    >>> switch(2, [lambda x: x, lambda x: x**2, lambda x: x**3], 2.0)
    8.0
    """
    known = lift_fully(index, (), "switch")
    if not isinstance(branches, Sequence):
        raise type_error(
            f"switch: expected a list of functions as branches, but got {type(branches).__name__}; write "
            "switch(i, [f, g], x)",
        )
    if known.shape or known.dtype.kind not in "iu" or not branches:
        raise type_error(
            f"switch: expected one integer and some branches, but got {known.type} "
            f"and {len(branches)}",
        )
    return _branch("switch", index, branches, _all_of(operands, operand))


def _all_of(operands: tuple[Any, ...], operand: object) -> tuple[Any, ...]:
    return operands if operand is ... else (*operands, operand)


def _branch(
    who: str, index: Any, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    for branch in functions:
        if isinstance(branch, Expr) or not callable(branch):
            kind = "an expression" if isinstance(branch, Expr) else type(branch).__name__
            raise type_error(
                f"{who}: expected functions as branches, but got {kind}; write np.where(condition, a, b) "
                "to choose between values",
            )
    index = plain_value(index)
    if not isinstance(index, Expr):
        place = min(max(int(index), 0), len(functions) - 1)
        return _of_the_caller(functions[place](*operands), operands)
    trees = [flatten(item) for item in operands]
    types = [t for tree in trees for t in types_of(tree)]
    traced = [_traced(who, f, trees, types) for f in functions]
    first = traced[0]
    shape = flatten(first[2])
    for body, _, output in traced[1:]:
        if flatten(output).paths != shape.paths or [t.shape for t in body.types] != [
            t.shape for t in first[0].types
        ]:
            got = [structure_of(shape), structure_of(flatten(output))]
            if who == "cond":  # whose branches are false_fun and true_fun
                got.reverse()
            raise type_error(
                f"{who}: expected branches that return the same structure and types, but got "
                f"{' and '.join(got)}",
            )
    bodies = _on_common_operands(tuple([body for body, *_ in traced]), len(types))
    leaves = [leaf for tree in trees for leaf in tree.leaves]
    captured = [value for _, values, _ in traced for value in values]
    values = bind(branch_op, [index, *leaves, *captured], len(shape.leaves), branches=bodies)
    return shape.rebuild(values)


def _of_the_caller(output: object, operands: Sequence[Any]) -> Any:
    """What a branch returned that was called at once, as a loop returns it.

    Numbers are Python's, and arrays share memory with no operand.
    """
    tree = flatten(output)
    given = [leaf for item in operands for leaf in flatten(item).leaves if _is_array(leaf)]

    def is_other(leaf: Any) -> bool:
        shared = _is_array(leaf) and any([np.may_share_memory(leaf, array) for array in given])
        return shared or isinstance(leaf, np.generic)

    if not any(map(is_other, tree.leaves)):
        return output
    return tree.rebuild([_as_new(leaf) if is_other(leaf) else leaf for leaf in tree.leaves])


def _is_array(leaf: object) -> bool:
    return type(leaf) is np.ndarray


def _as_new(leaf: Any) -> Any:
    return result(leaf) if isinstance(leaf, np.generic) else leaf.copy()


def _traced(
    who: str, f: Callable[..., Any], trees: Sequence[Tree], types: Sequence[ArrayType]
) -> tuple[Body, list[Any], Any]:
    outer = OuterArrays(f)
    traced = trace_body(on_arrays(f, who), trees, symbols(trees, types), whole=True, numbers=True)
    outer.check(who)
    return traced


@lru_cache(maxsize=256)
def _on_common_operands(bodies: tuple[Body, ...], n: int) -> tuple[Body, ...]:
    """The bodies on one list of operands, n shared ones and all captures, with results of one dtype."""
    dtypes = [
        np.result_type(*[b.types[k].dtype for b in bodies]) for k in range(len(bodies[0].outputs))
    ]
    common = bodies[0].inputs[:n]
    own = [
        [symbol(f"m{b}_{k}", x.type) for k, x in enumerate(body.inputs[n:])]
        for b, body in enumerate(bodies)
    ]
    inputs = [*common, *[x for group in own for x in group]]
    results = [
        [
            out if out.dtype == dtype else out.astype(dtype)
            for out, dtype in zip(body.inline([*common, *group]), dtypes, strict=True)
        ]
        for body, group in zip(bodies, own, strict=True)
    ]
    return tuple([body_of(inputs, outputs) for outputs in results])
