"""Functions of arrays that SciPy computes, as an operation whose rule is the transpose of the differential.

The rule calls functions of arrays, among them the function itself, on the operands and the value. So it is a
program, and derivatives of every order follow from it. The other mode is its transpose, or a rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from funcgrad.control.closed_program import (
    Body,
    body_of,
    cotangent_program,
    on_batches,
    vjp_of_body,
    zeros_of_type,
)
from funcgrad.control.guarded_call import run_where_taken
from funcgrad.expr import Expr, symbol
from funcgrad.graph import ArrayType
from funcgrad.linear import Joint
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op, fit, lift_fully
from funcgrad.typing import Array

PullbackRule = Callable[..., tuple[Any, ...]]
"""A function of the arguments, the value and its cotangent, to the cotangents of the arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class ExternalFunction:
    """A function of arrays, the type of its result, and its derivative."""

    name: str
    run: Callable[..., Any]
    out: Callable[..., ArrayType]
    pullback: PullbackRule | None
    pushforward: Callable[..., Any] | None
    programs: dict[Any, Any] = field(default_factory=dict)
    """The programs of the rule, by direction and types: here, since a function may hold a large matrix."""

    def __repr__(self) -> str:
        # Part of a key. An id is not reused while this reference is held.
        return f"{self.name}@{id(self):x}"


def with_pullback(
    name: str,
    run: Callable[..., Any],
    out: Callable[..., ArrayType],
    pullback: PullbackRule,
    pushforward: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A function of arrays that SciPy computes, with its derivative.

    ``out`` is a function of the arguments' types to the result's. ``pushforward`` is a function of the
    arguments, the value and the tangents of the arguments to the tangent of the value; where it is missing,
    forward mode transposes the pullback.
    """
    return _operation(ExternalFunction(name, run, out, pullback, pushforward))


def with_pushforward(
    name: str,
    run: Callable[..., Any],
    out: Callable[..., ArrayType],
    pushforward: Callable[..., Any],
) -> Callable[..., Any]:
    """As `with_pullback`, where reverse mode transposes the pushforward."""
    return _operation(ExternalFunction(name, run, out, None, pushforward))


def _operation(own: ExternalFunction) -> Callable[..., Any]:
    def function(*args: Array) -> Any:
        return external_op(*[lift_fully(arg) for arg in args], function=own, batch_axes=0)

    return function


# -- the rule as programs ------------------------------------------------------------------------
_Types = tuple[ArrayType, ...]


def _inputs(function: ExternalFunction, types: _Types) -> tuple[list[Expr], Expr]:
    args = [symbol(f"a{i}", type) for i, type in enumerate(types)]
    return args, symbol("z", function.out(*types))


def _kept(
    make: Callable[[ExternalFunction, _Types], Any], function: ExternalFunction, types: _Types
) -> Any:
    """A program of the rule, which is traced once for the types."""
    key = make, types
    if key not in function.programs:
        function.programs[key] = make(function, types)
    return function.programs[key]


def _cotangents(function: ExternalFunction, types: _Types) -> tuple[tuple[int, ...], Body]:
    """The arguments that have cotangents, and the program from arguments, value and cotangent to theirs."""
    args, z = _inputs(function, types)
    g = symbol("g", z.type)
    if function.pullback is None:
        return _transposed_tangents(function, args, z, g)
    found = {
        i: lift_fully(x if args[i].dtype.kind == "c" else np.real(x))
        for i, x in enumerate(function.pullback(*args, z, g))
        if x is not None
    }
    outputs = [fit(x, types[i]) for i, x in found.items()]
    return tuple(found), body_of([*args, z, g], outputs)


def _transposed_tangents(
    function: ExternalFunction, args: list[Expr], z: Expr, g: Expr
) -> tuple[tuple[int, ...], Body]:
    """The pushforward is linear in the tangents: its transpose is the same at all of them."""
    types = tuple([x.type for x in args])
    forth, start = _kept(_tangents, function, types), len(args) + 1
    reached, transpose = cotangent_program(forth, [0], range(start, len(forth.inputs)))
    zeros = [zeros_of_type(x.type) for x in args]
    return tuple([i - start for i in reached]), body_of(
        [*args, z, g], transpose.inline([*args, z, *zeros, g])
    )


def _tangents(function: ExternalFunction, types: _Types) -> Body:
    """The program from arguments, value and tangents of the arguments to that of the value."""
    args, z = _inputs(function, types)
    moved = [symbol(f"t{i}", type) for i, type in enumerate(types)]
    if function.pushforward is not None:
        tangent = lift_fully(function.pushforward(*args, z, *moved))
        return body_of([*args, z, *moved], [fit(tangent, z.type)])
    places, back = _kept(_cotangents, function, types)
    # The pullback is linear in the cotangent: its transpose is the same at every one.
    last = len(back.inputs) - 1
    seeds, found = vjp_of_body(back, range(len(places)), [last])
    flow = found.get(last, zeros_of_type(z.type))
    given: list[Expr] = [*args, z, zeros_of_type(z.type), *[moved[i] for i in places]]
    transpose = body_of([*back.inputs, *seeds], [flow])
    return body_of([*args, z, *moved], transpose.inline(given))


def _joint(z: Expr, *args: Expr, function: ExternalFunction, batch_axes: int) -> Joint:
    sizes = z.shape[:batch_axes]
    types = _single_types([x.type for x in args], batch_axes)

    def forward(flows: Mapping[int, Any]) -> Any:
        tangents = [flows[i] if i in flows else zeros_of_type(x.type) for i, x in enumerate(args)]
        (moved,) = on_batches(_kept(_tangents, function, types), sizes).inline(
            [*args, z, *tangents]
        )
        return moved

    def backward(g: Expr) -> Mapping[int, Any]:
        places, body = _kept(_cotangents, function, types)
        return dict(zip(places, on_batches(body, sizes).inline([*args, z, g]), strict=True))

    return Joint(forward, backward)


# -- the operation -------------------------------------------------------------------------------
def _single_types(types: Sequence[ArrayType], batch_axes: int) -> _Types:
    return tuple([ArrayType(t.shape[batch_axes:], t.dtype) for t in types])


def _infer(*types: ArrayType, function: ExternalFunction, batch_axes: int) -> ArrayType:
    type = function.out(*_single_types(types, batch_axes))
    return ArrayType((*types[0].shape[:batch_axes], *type.shape), type.dtype)


def _run(*operands: Array, function: ExternalFunction, batch_axes: int) -> Any:
    type = _infer(
        *[ArrayType(np.shape(x), x.dtype) for x in operands],
        function=function,
        batch_axes=batch_axes,
    )
    if not batch_axes:
        return np.asarray(function.run(*operands), type.dtype)[()]
    found = np.empty(type.shape, type.dtype)
    for index in np.ndindex(*type.shape[:batch_axes]):
        found[index] = function.run(*[x[index] for x in operands])
    return found


def _batch(
    size: int, flags: Sequence[bool], *args: Array, function: ExternalFunction, batch_axes: int
) -> Any:
    operands = spread_unbatched(size, flags, args)
    return external_op(*operands, function=function, batch_axes=batch_axes + 1)


external_op: Op = Op(
    name="external",
    run=_run,
    infer=_infer,
    joint=_joint,
    batch=_batch,
    notation=lambda *args, function, batch_axes: f"{function.name}({', '.join(args)})",
    columns=Columns(latex=Form("named call"), calls_function=True, untaken=run_where_taken),
)
