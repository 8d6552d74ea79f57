"""Integrals of programs as an operation, differentiated by Leibniz's rule.

The derivative in a limit is the integrand there, that in a parameter the integral of the integrand's
derivative. Both are programs of the operands, so an integral has derivatives of every order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body, body_of, jvp_of_body, on_batches, vjp_of_body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, Repeated
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op, fit, lift_fully
from funcgrad.ops.tuples import pick
from funcgrad.scipy.quadrature import WEIGHTED, runner
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

Options = tuple[tuple[str, Any], ...]
"""The options of SciPy's function, sorted by name."""


def integral_of(
    body: Body, options: Mapping[str, Any], ends: Sequence[Expr], theta: Sequence[Expr]
) -> Expr:
    """The integral of a body, from its first input and parameters, between two limits."""
    if "points" in options:
        # Where the interval is divided has no derivative; a key has a hash.
        points = [float(stop_gradient(point)) for point in options["points"]]
        options = {**options, "points": tuple(points)}
    own = tuple(sorted(options.items()))
    return pick(integral_op(*ends, *theta, body=body, options=own, batch_axes=0), 0)


@lru_cache(maxsize=256)
def _tangent_body(body: Body, active: tuple[int, ...]) -> Body | None:
    """The body with tangents of parameters, to the tangent of its result as a vector; None if that is 0."""
    tangents, (moved,) = jvp_of_body(body, active)
    if moved is None:
        return None
    return body_of([*body.inputs, *tangents], [lift_fully(np.reshape(moved, (-1,)))])


@lru_cache(maxsize=256)
def _cotangent_body(body: Body) -> tuple[tuple[int, ...], Body | None]:
    """The parameters that the integrand depends on, and the body with a cotangent, to theirs, a vector."""
    seeds, back = vjp_of_body(body, [0], range(1, len(body.inputs)))
    if not back:
        return (), None
    flat = np.concatenate([np.reshape(value, (-1,)) for value in back.values()])
    return tuple(back), body_of([*body.inputs, *seeds], [lift_fully(flat)])


def _joint(
    z: Any, a: Expr, b: Expr, *theta: Expr, body: Body, options: Options, batch_axes: int
) -> Joint:
    sizes, own = a.shape[:batch_axes], body.types[0].shape
    weight = {key: value for key, value in options if key in ("weight", "wvar")}
    inner_options = tuple(sorted({**WEIGHTED, **weight}.items())) if weight else ()

    def at(end: Expr) -> Any:
        """The integrand at a limit; 0 at an infinite one, which does not move."""
        finite = ~np.isinf(end)
        place: Any = lift_fully(np.where(finite, end, 0.0))
        (value,) = on_batches(body, sizes).inline([place, *theta])
        if weight:
            value = value * _with_axes(
                _weight_at(weight["weight"], weight["wvar"], place), len(own)
            )
        return np.where(_with_axes(finite, len(own)), value, 0.0)

    def integrated(inner: Body, *more: object) -> Any:
        return pick(
            integral_op(
                a, b, *theta, *more, body=inner, options=inner_options, batch_axes=batch_axes
            ),
            0,
        )

    def forward(flows: Mapping[int, Any]) -> Parts:
        (type,) = z.type.parts
        moved: Any = np.zeros(type.shape, type.dtype)
        for place, end, sign in ((0, a, -1.0), (1, b, 1.0)):
            if place in flows:
                moved = moved + sign * at(end) * _with_axes(flows[place], len(own))
        active = tuple(sorted(i for i in flows if i > 1))
        # The first input of the body is the variable, and the first parameter the third operand.
        inner = _tangent_body(body, tuple([i - 1 for i in active])) if active else None
        if inner is not None:
            flat = integrated(inner, *[flows[i] for i in active])
            moved = moved + np.reshape(flat, type.shape)
        return Parts({0: fit(lift_fully(moved), type)})

    def backward(parts: Parts) -> Mapping[int, Any]:
        g = parts.of[0]
        inside = tuple(range(batch_axes, g.ndim))
        found = {
            place: sign * np.real(np.sum(g * at(end), axis=inside))
            for place, end, sign in ((0, a, -1.0), (1, b, 1.0))
        }
        places, inner = _cotangent_body(body)
        start = 0
        flat: Any = None if inner is None else integrated(inner, g)
        for place in places:
            type = body.inputs[place].type
            part = np.reshape(flat[..., start : start + type.size], (*sizes, *type.shape))
            found[place + 1] = part if type.dtype.kind == "c" else np.real(part)
            start += type.size
        return found

    return Joint(forward, backward)


def _weight_at(weight: str, variable: float, x: Array) -> Any:
    """A weight of `scipy.integrate.quad`; NaN for those of plain limits alone, where they may be infinite."""
    if weight == "cauchy":
        return 1.0 / (x - variable)
    if weight in ("cos", "sin"):
        return (np.cos if weight == "cos" else np.sin)(variable * x)
    return np.full_like(x, np.nan)


def _with_axes(x: Any, count: int) -> Any:
    return np.reshape(x, (*x.shape, *[1] * count))


def _run(*operands: Array, body: Body, options: Options, batch_axes: int) -> tuple[Any]:
    integrate = runner(body, dict(options), 0)
    if not batch_axes:
        return (integrate(*operands),)
    sizes = operands[0].shape
    found = np.empty((*sizes, *body.types[0].shape), body.types[0].dtype)
    for index in np.ndindex(*sizes):
        found[index] = integrate(*[x[index] for x in operands])
    return (found,)


def _infer(
    a: ArrayType, *others: ArrayType, body: Body, options: Options, batch_axes: int
) -> TupleType:
    (type,) = body.types
    return TupleType((ArrayType((*a.shape, *type.shape), type.dtype),))


def _batch(
    size: int, flags: Sequence[bool], *args: Array, body: Body, options: Options, batch_axes: int
) -> Any:
    operands = spread_unbatched(size, flags, args)
    return integral_op(*operands, body=body, options=options, batch_axes=batch_axes + 1)


def _bodies(z: Expr) -> list[list[Repeated]]:
    """The integrand, once for each integral: the number of evaluations is unknown."""
    return [[Repeated(dict(z.params)["body"], math.prod(z.args[0].shape))]]


def _stored(types: Sequence[ArrayType], body: Body, options: object, batch_axes: object) -> str:
    if not isinstance(body, Body) or len(body.types) != 1 or type(batch_axes) is not int:
        return "expected an integrand, and the number of batch axes"
    if not isinstance(options, tuple) or not all(
        [type(item) is tuple and len(item) == 2 and item[0] in _OPTIONS for item in options]
    ):
        return f"expected values of the options {', '.join(_OPTIONS)}"
    variable, *parameters = [x.type for x in body.inputs]
    if variable != _REAL or not 0 <= batch_axes <= len(types[0].shape if types else ()):
        return "expected an integrand of a real variable, and limits with the batch axes"
    sizes = types[0].shape[:batch_axes]
    given = [ArrayType((*sizes, *t.shape), t.dtype) for t in (_REAL, _REAL, *parameters)]
    return (
        "" if list(types) == given else f"expected operands of types {', '.join(map(str, given))}"
    )


_REAL = ArrayType((), np.dtype(float))
_OPTIONS = (
    *("epsabs", "epsrel", "limit", "norm", "points", "quadrature", "tanhsinh"),
    *("weight", "wvar", "maxp1", "limlst"),
)

integral_op: Op = Op(
    name="integral",
    run=_run,
    infer=_infer,  # type: ignore[arg-type]
    joint=_joint,
    batch=_batch,
    notation=lambda a, b, *theta, body, options, batch_axes: f"quad({', '.join((a, b, *theta))})",
    columns=Columns(bodies=_bodies, stored=(("body", "options", "batch_axes"), _stored)),
)
