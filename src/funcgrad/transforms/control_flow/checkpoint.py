"""checkpoint: what reverse mode keeps of a function's inside, and what it computes again.

A checkpointed function is one `call`. Its derivative is a call, too, which computes again what it needs
from the operands; a policy names values that the first call hands out instead, so that the second need
not. That is a transform of the graph, and costs nothing where no derivative is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgrad.control.call_and_branch import built, call_op
from funcgrad.control.closed_program import Body, pulled
from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.op import Elementwise, differentiable, lift_fully
from funcgrad.ops.markers import name_op
from funcgrad.source import fail
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.arguments import check_function, named_after

Policy = str | int | Sequence[str]


def checkpoint(
    f: Callable[..., Any] | None = None, policy: Policy = "nothing"
) -> Callable[..., Any]:
    """The same function, of whose inside reverse mode keeps only what the policy says.

    The rest is computed again when it is needed, which trades time for memory. Policies: ``"nothing"``;
    ``"all"`` (as if it were not there); names, of the values that `name` has marked; or an int, the
    bytes that may be kept for each call, spent on what is dearest to compute again. Without f, a decorator.
    As `jax.checkpoint`. Elementwise work on large arrays runs in blocks, and keeps little as it is: there
    a checkpoint only stands in the way. It pays around products of matrices and the like.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(checkpoint(lambda x: np.sin(np.sin(x))))(0.0)
    1.0
    """
    if f is None:
        return partial(checkpoint, policy=policy)
    check_function("checkpoint", f)
    known = isinstance(policy, Sequence) and not isinstance(policy, str)
    budget = isinstance(policy, int) and not isinstance(policy, bool)
    if not (known or budget or policy in ("nothing", "all")):
        raise fail(
            ValueError,
            "checkpoint: expected the policy 'nothing', 'all', a list of names or a number of bytes, "
            f"but got {policy!r}",
        )
    if policy == "all":
        return f
    function = f

    @named_after(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        trees = [flatten(arg) for arg in args]
        leaves = [leaf for tree in trees for leaf in tree.leaves]
        if not any(isinstance(leaf, Expr) for leaf in leaves):
            return function(*args, **kwargs)
        given = [lift_fully(leaf) for leaf in leaves]
        body, captured, output = trace_body(lambda *a: function(*a, **kwargs), trees, given)
        shape = flatten(output)
        kept = _kept(body, policy)
        values = built(call_op, [*given, *captured], len(shape.leaves), body=body, kept=kept)
        return shape.rebuild(values)

    return checkpointed


def name(x: Any, label: str) -> Any:
    """The same value, marked so that a policy of `checkpoint` may name it. A tree's leaves share the name.

    >>> name(3.0, "h")
    3.0
    """
    tree = flatten(x)
    return tree.rebuild([name_op(v, name=label) if isinstance(v, Expr) else v for v in tree.leaves])


def _kept(body: Body, policy: Policy) -> tuple[Key, ...]:
    """The values inside a body that reverse mode keeps."""
    if isinstance(policy, int):
        return _within(body, policy)
    if isinstance(policy, str):
        return ()
    inside = subexpressions(*body.outputs)
    marked = {e.key: str(dict(e.params)["name"]) for e in inside if e.op is name_op}
    missing = set(policy) - set(marked.values())
    if missing:
        listed = ", ".join(sorted(set(marked.values()))) or "none"
        raise fail(
            ValueError,
            f"checkpoint: expected names that funcgrad.name has marked ({listed}), but got "
            f"{', '.join(sorted(missing))}",
        )
    return tuple([key for key, label in marked.items() if label in policy])


# -- a budget of bytes ---------------------------------------------------------------------------
def _within(body: Body, budget: int) -> tuple[Key, ...]:
    """Greedily, what saves most work a byte: until the budget is spent or nothing is left to save.

    Optimal on a chain of equal steps; in general the problem is a knapsack whose gains depend on each
    other, for which this is the usual approximation.
    """
    inside = {e.key: e for e in subexpressions(*body.outputs) if e.op not in (INPUT, CONSTANT)}
    outputs = [k for k, out in enumerate(body.outputs) if differentiable(out.dtype)]
    _, back = pulled(body, outputs, range(len(body.inputs)))
    needed = [e.key for e in subexpressions(*back.values()) if e.key in inside]
    asked = _asked_for(list(back.values()), inside)
    kept: list[Key] = []
    left = budget
    cost = _work_again(asked, inside, set())
    while cost:
        best: tuple[float, Key] | None = None
        for key in needed:
            size = _bytes(inside[key])
            if key in kept or size > left:
                continue
            gain = (cost - _work_again(asked, inside, {*kept, key})) / max(size, 1)
            if gain > 0 and (best is None or gain > best[0]):
                best = (gain, key)
        if best is None:
            break
        kept.append(best[1])
        left -= _bytes(inside[best[1]])
        cost = _work_again(asked, inside, set(kept))
    return tuple(kept)


def _asked_for(back: Sequence[Expr], inside: dict[Key, Expr]) -> list[Key]:
    """The inner values that the reverse program takes as operands."""
    return list(
        dict.fromkeys(
            arg.key
            for expr in subexpressions(*back)
            if expr.key not in inside
            for arg in expr.args
            if arg.key in inside
        )
    )


def _work_again(asked: Sequence[Key], inside: dict[Key, Expr], kept: set[Key]) -> float:
    """The work of computing what is asked for again, from the inputs and what is kept."""
    seen = set(kept)
    stack = [key for key in asked if key not in kept]
    total = 0.0
    while stack:
        key = stack.pop()
        if key in seen:
            continue
        seen.add(key)
        total += _work(inside[key])
        stack.extend(arg.key for arg in inside[key].args if arg.key in inside)
    return total


def _work(expr: Expr) -> float:
    """About how many multiplications a node costs: (mk * kn * mn)**(1/2) = mkn for a matrix product."""
    sizes = [arg.size for arg in expr.args]
    if isinstance(expr.op, Elementwise) or len(sizes) < 2:
        return float(max([expr.size, *sizes]))
    return math.sqrt(float(sizes[0]) * sizes[1] * max(expr.size, 1))


def _bytes(expr: Expr) -> int:
    return expr.size * expr.dtype.itemsize
