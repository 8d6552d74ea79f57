"""SciPy's own function in the place of a composition, in programs of which no derivative is asked.

A composition is made for its derivative. Where `jit` traces a function for its value, SciPy's own function
on the values is often several times as fast. The operation `host_call` has that function and, as a body, the
composition: derivatives, batches and other readers read the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body, body_of, jvp_of_body, on_examples, vjp_of_body
from funcgrad.control.guarded_call import run_where_taken
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.op import Op, leaf, lift_fully, spread
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.tuples import pick, together_op
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import fail
from funcgrad.trace.pytree import Tree, flatten_with_static
from funcgrad.typing import Array


class HostFunction:
    """A function of SciPy's with the arguments that are not arrays, as one of the arrays."""

    __slots__ = ("name", "run")

    def __init__(self, name: str, run: Callable[..., Sequence[Any]]) -> None:
        self.name, self.run = name, run

    def __repr__(self) -> str:
        # Part of a key. An id is not reused while this reference is held.
        return f"{self.name}@{id(self):x}"


def host_value(own: Callable[..., Any], given: Mapping[str, Any], found: Any) -> Any:
    """The results of a composition, ``found``, as those of SciPy's own function if no derivative is asked.

    ``given`` has the arguments by name.
    """
    if given.get("output") is not None or given.get("out") is not None:
        return found  # SciPy's function would store into an array.
    tree = flatten_with_static(dict(given))
    places = [i for i, x in enumerate(tree.leaves) if holds_expr(x) or isinstance(x, np.ndarray)]
    operands = [lift_fully(tree.leaves[i]) for i in places]
    if not all([_for_its_value(x) for x in operands]):
        return found
    results = flatten_with_static(found)
    parts = [k for k, x in enumerate(results.leaves) if isinstance(x, Expr)]
    inputs = [symbol(f"i{k}", x.type) for k, x in enumerate(operands)]
    swapped = {x.key: new for x, new in zip(operands, inputs, strict=True)}
    outputs = substitute_all([results.leaves[k] for k in parts], swapped)
    if any([x.traced for x in subexpressions(*outputs)]):
        return found

    run = _on_arrays(own, given, tree, places, parts)
    function = HostFunction(own.__name__, run)
    node = host_call_op(*operands, own=function, body=Body(inputs, outputs))
    leaves = list(results.leaves)
    for place, k in enumerate(parts):
        leaves[k] = pick(node, place)
    return results.rebuild(leaves)


def unrefined(near: Callable[[], Any], refined: Any) -> Any:
    """A solution as SciPy's search finds it if no derivative is asked; else ``refined``.

    Derivatives are those of the refined solution, which solves equations; that of ``near()`` does not.
    """
    leaves = [x for x in subexpressions(refined) if x.op is leaf] if holds_expr(refined) else []
    if not leaves or not all([_for_its_value(x) for x in leaves]):
        return refined
    place = lift_fully(near())
    operands = [place, *leaves]
    inputs = [symbol(f"i{k}", x.type) for k, x in enumerate(operands)]
    swapped = {x.key: new for x, new in zip(operands, inputs, strict=True)}
    outputs = substitute_all([refined], swapped)
    if place.type != refined.type or any([x.traced for x in subexpressions(*outputs)]):
        return refined
    return pick(host_call_op(*operands, own=_SEARCH, body=Body(inputs, outputs)), 0)


_SEARCH = HostFunction("search", lambda place, *_: (place,))


def _on_arrays(
    own: Callable[..., Any],
    given: Mapping[str, Any],
    tree: Tree,
    places: Sequence[int],
    parts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """SciPy's function on the arrays among its arguments, and the arrays among its results."""
    if len(tree.leaves) == len(given) and not any(
        [isinstance(value, tuple | list | dict) for value in given.values()]
    ):
        names = [name for place, name in enumerate(sorted(given)) if place in places]

        def call(values: Sequence[Array]) -> Any:
            return own(**{**given, **dict(zip(names, values, strict=True))})
    else:

        def call(values: Sequence[Array]) -> Any:
            leaves = list(tree.leaves)
            for i, value in zip(places, values, strict=True):
                leaves[i] = value
            return own(**tree.rebuild(leaves))

    def run(*values: Array) -> Sequence[Any]:
        made = call(values)
        leaves = [made] if isinstance(made, np.ndarray) else flatten_with_static(made).leaves
        return [leaves[k] for k in parts]

    return run


def _for_its_value(x: Expr) -> bool:
    scope = x.traced
    if scope is None:
        return True
    return scope.records and not scope.differentiates and not is_varied(x)


# -- the operation -------------------------------------------------------------------------------
def _run(*operands: Array, own: HostFunction, body: Body) -> tuple[Any, ...]:
    made = []
    for value, type in zip(own.run(*operands), body.types, strict=True):
        result = np.asarray(value)
        if type.dtype.kind != "c" and result.dtype.kind == "c":
            result = result.real  # the rest is rounding (`matrix_powers.has_complex_value`)
        result = np.asarray(result, type.dtype)
        if result.shape != type.shape:
            raise fail(
                ValueError,
                f"{own.name}: expected a result of shape {type.shape}, but SciPy's is {result.shape}",
            )
        made.append(result[()])
    return tuple(made)


def _infer(*types: ArrayType, own: HostFunction, body: Body) -> Any:
    return TupleType(body.types)


def _joint(z: object, *operands: Expr, own: HostFunction, body: Body) -> Joint:
    def forward(flows: Mapping[int, Any]) -> Parts:
        active = sorted(flows)
        tangents, moved = jvp_of_body(body, active)
        reached = {k: flow for k, flow in enumerate(moved) if flow is not None}
        derived = body_of([*body.inputs, *tangents], list(reached.values()))
        values = derived.inline([*operands, *[flows[i] for i in active]])
        return Parts(dict(zip(reached, values, strict=True)))

    def backward(g: Parts) -> Mapping[int, Any]:
        given = sorted(g.of)
        seeds, back = vjp_of_body(body, given, range(len(operands)))
        derived = body_of([*body.inputs, *seeds], list(back.values()))
        return dict(zip(back, derived.inline([*operands, *[g.of[k] for k in given]]), strict=True))

    return Joint(forward, backward)


def _batch(size: int, flags: Sequence[bool], *operands: Expr, own: HostFunction, body: Body) -> Any:
    inputs, outputs = on_examples(body, size, flags)
    results = body_of(inputs, [expr for expr, _ in outputs]).inline(operands)
    return together_op(
        *[
            part if batched else spread(part, size)
            for part, (_, batched) in zip(results, outputs, strict=True)
        ]
    )


host_call_op: Op = Op(
    name="host_call",
    run=_run,
    infer=_infer,
    joint=_joint,
    batch=_batch,
    notation=lambda *args, own, body: f"{own.name}({', '.join(args)})",
    columns=Columns(
        latex=Form("named call"),
        untaken=run_where_taken,
        decompose=lambda *args, own, body: together_op(*body.inline(args)),
    ),
)
