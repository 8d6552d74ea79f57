"""checkpoint: rematerialization. Reverse mode keeps some values of a function and recomputes the others.

A checkpointed function is one `call` operation. Its derivative is a call, too, which recomputes the values
that were not kept. It costs nothing if no derivative is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from funcgrad.control.call_and_branch import bind, call_op
from funcgrad.control.closed_program import Body, vjp_of_body
from funcgrad.expr import Expr, by_key, labeled, subexpressions
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.op import Elementwise, differentiable, lift_fully
from funcgrad.ops.markers import name_op
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import run
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.curried import LATER, curried
from funcgrad.transforms.transform_arguments import check_function, named_after, titled
from funcgrad.typing import Array

Policy = str | int | Sequence[str]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def checkpoint(f: np.ufunc, policy: Policy = "nothing") -> Callable[..., Any]: ...


@overload
def checkpoint(f: Callable[P, R], policy: Policy = "nothing") -> Callable[P, R]: ...


@overload
def checkpoint(*, policy: Policy = "nothing") -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@curried
def checkpoint(f: Callable[..., Any] = LATER, policy: Policy = "nothing") -> Callable[..., Any]:
    """The same function, whose intermediate values reverse mode keeps only as the
    policy says.

    The other values are recomputed in the reverse pass, which trades time for
    memory. Policies: ``"nothing"``; ``"all"`` (no checkpoint); a list of
    names, of values marked by `name`; or an int, a budget of bytes a call,
    spent on the values that cost most work a byte to recompute. Without f, a
    decorator. As `jax.checkpoint`. Elementwise chains on large arrays are
    fused and keep little memory, so that a checkpoint there costs time and
    saves nothing; it pays around matrix products.

    Raises TypeError if f is not a function; ValueError for an unknown policy,
    or for names that nothing in f bears.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> fg.grad(checkpoint(lambda x: np.sin(np.sin(x))))(0.0)
    1.0
    """
    check_function("checkpoint", f)
    known = isinstance(policy, Sequence) and not isinstance(policy, str)
    budget = isinstance(policy, int) and not isinstance(policy, bool)
    if not (known or budget or policy in ("nothing", "all")):
        raise value_error(
            "checkpoint: expected the policy 'nothing', 'all', a list of names or a number of bytes, "
            f"but got {policy!r}",
        )
    if policy == "all":
        return f
    function = f

    @named_after(f)
    def checkpointed(*args: object, **kwargs: object) -> Any:
        trees = [flatten(arg).without(_is_object) for arg in args]
        leaves = [leaf for tree in trees for leaf in tree.leaves]
        if not any(isinstance(leaf, Expr) for leaf in leaves):
            return function(*args, **kwargs)
        given = [lift_fully(leaf) for leaf in leaves]
        body, captured, output = trace_body(
            lambda *a: run(function, a, kwargs, "checkpoint"),
            trees,
            given,
            whole=True,
            numbers=True,
        )
        shape = flatten(output)
        kept = _kept(body, policy)
        values = bind(call_op, [*given, *captured], len(shape.leaves), body=body, kept=kept)
        return shape.rebuild(values)

    return titled(checkpointed, f, "checkpoint", "{}, computed again by its derivatives.")


def _is_object(leaf: object) -> bool:
    """Whether a leaf is no number: an object, such as the ``self`` of a method, reaches f as it is."""
    return not (isinstance(leaf, Expr | Number) or hasattr(leaf, "__array__"))


def name(x: Array, label: str) -> Any:
    """The same value, with a name: its label in tables, pictures, gradient maps
    and orders.

    A policy of `checkpoint` may list the names of values in a traced function.
    No node is added to a formula, and a variable keeps its own name. A tree's
    leaves share the name; numbers come back as they are.

    Raises TypeError if the name is no text.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> z = fg.var("z")
    >>> t1 = name(np.exp(z), "t1")
    >>> fg.same(t1, np.exp(z))
    True
    >>> fg.table(t1 / (1 + t1), z=0.0)
    node  op        of    value  gradient
    0     z               0      0.25
    1     t1 = exp  0     1      0.25
    2     constant        1      -
    3     add       2, 1  2      -0.25
    4     divide    1, 3  0.5    1
    """
    if not isinstance(label, str) or not label:
        raise type_error(f"name: expected a name, but got {label!r}; write name(x, 'h')")
    tree = flatten(x)
    return tree.rebuild([_named(v, label) if isinstance(v, Expr) else v for v in tree.leaves])


def _named(value: Expr, label: str) -> Expr:
    # A trace is simplified before a policy is read: its mark is a node, which no law removes.
    return name_op(value, name=label) if value.traced else labeled(value, label)


def _kept(body: Body, policy: Policy) -> tuple[Key, ...]:
    """The values inside a body that reverse mode keeps."""
    if isinstance(policy, int):
        return _within_budget(body, policy)
    if isinstance(policy, str):
        return ()
    inside = subexpressions(*body.outputs)
    marked = {e.key: str(dict(e.params)["name"]) for e in inside if e.op is name_op}
    missing = set(policy) - set(marked.values())
    if missing:
        listed = ", ".join(sorted(set(marked.values()))) or "none"
        raise value_error(
            f"checkpoint: expected names that funcgrad.name has marked ({listed}), but got "
            f"{', '.join(sorted(missing))}",
        )
    return tuple([key for key, label in marked.items() if label in policy])


# -- a budget of bytes ---------------------------------------------------------------------------
def _within_budget(body: Body, budget: int) -> tuple[Key, ...]:
    """A greedy selection by work saved a byte, until the budget is spent or nothing saves work.

    Optimal on a chain of equal steps. In general the problem is a knapsack with dependent gains, for which
    the greedy selection is the usual approximation.
    """
    inside = {key: e for key, e in by_key(*body.outputs).items() if e.op not in (INPUT, CONSTANT)}
    outputs = [k for k, out in enumerate(body.outputs) if differentiable(out.dtype)]
    _, back = vjp_of_body(body, outputs, range(len(body.inputs)))
    candidates = [e.key for e in subexpressions(*back.values()) if e.key in inside]
    read = _read_by_reverse(list(back.values()), inside)
    kept: list[Key] = []
    left = budget
    cost = _recompute_cost(read, inside, set())
    while cost:
        best: tuple[float, Key] | None = None
        for key in candidates:
            size = inside[key].nbytes
            if key in kept or size > left:
                continue
            gain = (cost - _recompute_cost(read, inside, {*kept, key})) / max(size, 1)
            if gain > 0 and (best is None or gain > best[0]):
                best = (gain, key)
        if best is None:
            break
        kept.append(best[1])
        left -= inside[best[1]].nbytes
        cost = _recompute_cost(read, inside, set(kept))
    return tuple(kept)


def _read_by_reverse(back: Sequence[Expr], inside: dict[Key, Expr]) -> list[Key]:
    """The inner values that the reverse program reads."""
    return list(
        dict.fromkeys(
            arg.key
            for expr in subexpressions(*back)
            if expr.key not in inside
            for arg in expr.args
            if arg.key in inside
        )
    )


def _recompute_cost(read: Sequence[Key], inside: dict[Key, Expr], kept: set[Key]) -> float:
    """The work of recomputing the values read, from the inputs and the kept values."""

    def operands(expr: Expr) -> list[Expr]:
        return [arg for arg in expr.args if arg.key in inside and arg.key not in kept]

    recomputed = by_key(*[inside[key] for key in read if key not in kept], operands=operands)
    return math.fsum(map(_work, recomputed.values()))


def _work(expr: Expr) -> float:
    """An estimate of a node's multiplications: (mk * kn * mn)**(1/2) = mkn for a matrix product."""
    sizes = [arg.size for arg in expr.args]
    if isinstance(expr.op, Elementwise) or len(sizes) < 2:
        return float(max([expr.size, *sizes]))
    return math.sqrt(float(sizes[0]) * sizes[1] * max(expr.size, 1))
