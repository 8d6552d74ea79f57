"""sin(pi x)/(pi x) and its derivatives of every order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns, Form, ScalarUse
from funcgrad.ops.base.op import Op, astype, differentiable, lift_fully, same_on_batch
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.typing import Array, FunctionLibrary


def _sinc_run(x: Array, order: int = 0) -> Any:
    """The ``order``-th derivative of sin(u)/u at u = pi x, times pi**order."""
    if not order and np.result_type(x) != np.float16:  # which has no 1e-20, as NumPy's needs
        return np.sinc(x)
    u = np.asarray(np.pi * np.asarray(x))
    small = np.abs(u) <= max(1, order)
    # Away from 0 by u*s_n + n*s_(n-1) = sin(u + n*pi/2), which loses no digits for |u| > n, with the sine
    # of x less the next even number.
    safe, turns = np.where(small, 1.0, u), _within_turn(np, np.asarray(x))
    value = np.asarray(np.sin(safe) / safe)
    for n in range(1, order + 1):
        value = np.asarray((_shifted_sine(np, turns, n) - n * value) / safe)
    value[small] = _near_zero(u[small], order)
    return (value * np.pi**order).astype(np.result_type(x))[()]


_SINES = ("{0}sin({1})", "{0}cos({1})", "-{0}sin({1})", "-{0}cos({1})")
"""The sine of an angle and 0, 1, 2 or 3 quarters of a turn."""


def _within_turn(xp: FunctionLibrary, x: Array) -> Any:
    """pi times x less the next even number: at a far x, pi*x has lost the digits that its sine needs."""
    return np.pi * (x - 2.0 * xp.round(xp.real(0.5 * x)))


def _shifted_sine(xp: FunctionLibrary, u: Array, n: int) -> Any:
    """sin(u + n*pi/2)."""
    value = xp.cos(u) if n % 2 else xp.sin(u)
    return -value if n % 4 > 1 else value


def _near_zero(u: Array, order: int) -> Any:
    """The power series of sin(u)/u, differentiated term by term, by Horner's rule."""
    total, square = np.zeros_like(u), u * u
    for coefficient in _coefficients(order):
        total = total * square + coefficient
    return total * u + 0.0 if order % 2 else total


@cache
def _coefficients(order: int) -> tuple[float, ...]:
    """Those of the series in u**2 (times u, of odd order), the last one first."""
    powers = reversed(range(order + order % 2, order + min(20 + 4 * order, 40), 2))
    return tuple([(-1) ** (k // 2) / (k + 1) / _factorial(k - order) for k in powers])


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1, n + 1, dtype=float)))


def _sinc_edge(z: Array, x: Array, *, order: int) -> LinearMap:
    return Diagonal(sinc_derivative(x, order=order + 1))


def _sinc_type(type: ArrayType, order: int) -> ArrayType:
    return ArrayType(type.shape, ufunc_loop(np.sin, type.dtype)[-1])


def _mp_sinc(mp: FunctionLibrary, x: Array, order: int) -> Any:
    return np.frompyfunc(lambda v: _mp_sinc_of(mp, v, order), 1, 1)(x)


def _mp_sinc_of(mp: FunctionLibrary, x: Array, order: int) -> Any:
    """By u*s_n + n*s_(n-1) = sin(u + n*pi/2) at u = pi*x, with as many more bits as that loses."""
    if not mp.isfinite(x):
        return x * 0
    if not x:
        return mp.mpf((-1) ** (order // 2)) / (order + 1) * mp.pi**order if order % 2 == 0 else x
    lost = order * (max(-int(mp.mag(x)), 0) + order.bit_length() + 4)
    with mp.extraprec(lost + 10):
        u = mp.pi * x
        value = mp.sinpi(x) / u
        for n in range(1, order + 1):
            value = (mp.sinpi(x + mp.mpf(n) / 2) - n * value) / u
        return value * mp.pi**order


def _sinc_source(expr: Expr, texts: Sequence[str]) -> str | None:
    if expr.dtype not in (float, complex):
        return None
    order = dict(expr.params)["order"]
    return _derivative_source(texts[0], order) if order else f"np.sinc({texts[0]})"


def _derivative_source(x: str, order: int) -> str:
    """`_sinc_run` in one expression of NumPy's."""
    far = "np.sin(s)/s"
    for n in range(1, order + 1):
        far = f"({_SINES[n % 4].format('np.', 'r')} - {n}*({far}))/s"
    near = "0.0"
    for coefficient in _coefficients(order):
        near = f"({near}*(t*t) + {coefficient!r})"
    near = f"{near}*t + 0.0" if order % 2 else near
    value = f"lambda p, r, s, t: np.where(p, {near}, {far})*np.pi**{order}"
    parts, turns = f"np.abs(u) <= {order}", "np.pi*(x - 2.0*np.round(np.real(0.5*x)))"
    chosen = f"({value})({parts}, {turns}, np.where({parts}, 1.0, u), np.where({parts}, u, 0.0))"
    return f"(lambda x, u: {chosen})({x}, np.pi*({x}))"


def _native_source(use: ScalarUse) -> str | None:
    """`_sinc_run` of one number, up to the third derivative."""
    order, u = use.params["order"], f"({np.pi!r} * {{0}})"
    far = f"sin({u}) / {u}"
    if not order:
        return f"({far} if {u} != 0.0 else 1.0)"
    if order > 3:
        return None
    turns = f"({np.pi!r} * ({{0}} - 2.0 * np_rint(0.5 * {{0}})))"
    for n in range(1, order + 1):
        far = f"({_SINES[n % 4].format('', turns)} - {n}.0 * ({far})) / {u}"
    near = "0.0"
    for coefficient in _coefficients(order):
        near = f"({near} * ({u} * {u}) + {coefficient!r})"
    near = f"({near} * {u} + 0.0)" if order % 2 else near
    return f"(({near} if abs({u}) <= {order}.0 else {far}) * {np.pi**order!r})"


def _sinc_in(xp: FunctionLibrary, x: Array, order: int) -> Any:
    """`_sinc_run` with the functions of an array library."""
    u = np.pi * x
    small = xp.abs(u) <= max(1, order)
    safe = xp.where(small, xp.ones_like(u), u)
    far = xp.sin(safe) / safe
    turns = _within_turn(xp, x)
    for n in range(1, order + 1):
        far = (_shifted_sine(xp, turns, n) - n * far) / safe
    near, term = xp.zeros_like(u), xp.where(small, u, xp.zeros_like(u))
    divisor = 1.0
    for k in range(order + 40):
        power = k - order
        divisor *= max(power, 1)
        if power >= 0 and k % 2 == 0:
            near = near + (-1) ** (k // 2) / (k + 1) / divisor * term**power
    return xp.where(small, near, far) * np.pi**order


def _sympy_sinc(sp: FunctionLibrary, x: Any, order: int) -> Any:
    t = sp.Dummy()
    return sp.sinc(sp.pi * t).diff(t, order).subs(t, x)


sinc_derivative: Op = Op(
    name="sinc",
    run=_sinc_run,
    infer=_sinc_type,
    edges=(_sinc_edge,),
    batch=same_on_batch(lambda: sinc_derivative),
    notation=lambda x, order: f"sinc({x}, order={order})" if order else f"sinc({x})",
    columns=Columns(
        mpmath=_mp_sinc,
        latex=Form("sinc"),
        sympy=_sympy_sinc,
        interval=lambda iv, x, order: iv.sinc(_sinc_run, x, order),
        entrywise=True,
        fresh=True,
        numpy=_sinc_source,
        native={"f": _native_source},
        transcendental=True,
        entry_time=30.0,
        libraries={"any": _sinc_in},
    ),
)


def sinc(x: object) -> Any:
    """sin(pi x)/(pi x), whose derivatives of every order are exact at 0 too."""
    x = lift_fully(x)
    return sinc_derivative(x if differentiable(x.dtype) else astype(x, dtype=_FLOAT), order=0)


_FLOAT = np.dtype(float)
