"""The logarithm of the gamma function, and its derivatives: `gammaln`, `digamma` and `polygamma`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr, concrete
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.op import Op, elementwise, lift_fully, same_on_batch
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import real_loop, ufunc_named
from funcgrad.source import type_error
from funcgrad.typing import Array, ArrayLike, DTypeLike, FunctionLibrary


# -- polygamma -----------------------------------------------------------------------------------
def _polygamma_run(x: ArrayLike, order: int) -> Any:
    special = scipy_special("polygamma")
    value = special.polygamma(order, x) if order else _digamma(np.asarray(x))
    return np.asarray(value, np.result_type(x))[()]


# The root of digamma between -1 and 0, and its value at this number, which is not quite the root.
_ROOT, _AT_ROOT = -0.504083008264455409, 7.2897639029768949e-17
_NEAR, _MANY, _TERMS = 0.3, 256, 80


def _digamma(x: Array) -> Any:
    """SciPy's values; near the root, of many numbers, by its power series with coefficients found once.

    SciPy sums the series anew for each number, which takes fifty times as long as a number elsewhere.
    """
    special = scipy_special("polygamma")
    near = np.abs(x - _ROOT) < _NEAR if x.size > _MANY and x.dtype == np.float64 else np.False_
    if not np.any(near):
        return special.psi(x)
    found = special.psi(np.where(near, 1.0, x))
    away = x[near] - _ROOT
    total = np.zeros_like(away)
    for coefficient in _series():
        total = total * away + coefficient
    found[near] = total
    return found


@lru_cache(maxsize=1)
def _series() -> list[float]:
    """The coefficients of digamma's power series about the root, the last first."""
    n = np.arange(1.0, _TERMS + 1)
    coefficients = (-1) ** (n + 1) * scipy_special("zeta").zeta(n + 1, _ROOT)
    return [*coefficients[::-1].tolist(), _AT_ROOT]


def _polygamma_edge(z: Array, x: Array, *, order: int) -> LinearMap:
    return Diagonal(polygamma_op(x, order=order + 1))


def _mp_polygamma(mp: FunctionLibrary, x: Array, order: int) -> Any:
    def entry(value: Any) -> Any:
        try:
            return mp.psi(order, value)
        except ValueError:  # at a pole
            return mp.mpf(float(_polygamma_run(np.float64(value), order)))

    return np.frompyfunc(entry, 1, 1)(x)


def _interval_polygamma(iv: FunctionLibrary, x: Array, order: int) -> Any:
    """Monotone right of 0; left of it there are poles."""
    rising = order % 2 == 0
    bottom, top = (x[0], x[1]) if rising else (x[1], x[0])
    return _widened(iv, _polygamma_run(bottom, order), _polygamma_run(top, order), x)


def _widened(iv: FunctionLibrary, lo: Array, hi: Array, x: Array) -> Any:
    """Bounds of values right of 0, within 32 units of 1 or of their own size; no bounds elsewhere."""
    off = [32 * iv.EPS * (1.0 + iv.size_of(end)) for end in (lo, hi)]
    lo, hi = iv.widened(lo, hi, *off)
    right = x[0] > 0
    found = np.where(right, lo, -np.inf), np.where(right, hi, np.inf)
    return iv.nan_where(iv.undefined(x), found)


def _polygamma_source(expr: Expr, texts: Sequence[str]) -> str:
    order = dict(expr.params)["order"]
    call = f"scipy.special.polygamma({order}, {texts[0]})"
    value = call if order else f"scipy.special.psi({texts[0]})"
    return f'np.asarray({value}, "{expr.dtype.str}")[()]'


def _jax_polygamma(xp: Array, x: Array, order: int) -> Any:
    from jax.scipy import special

    return special.polygamma(order, x) if order else special.digamma(x)


def _torch_polygamma(torch: FunctionLibrary, x: Array, order: int) -> Any:
    if order == 0:
        return torch.special.digamma(x)
    # By the zeta function, since torch's own polygamma of order 1 has ten digits.
    zeta = torch.special.zeta(torch.full_like(x, order + 1), x)
    return (-1) ** (order + 1) * math.factorial(order) * zeta


def _cupy_polygamma(cupy: FunctionLibrary, x: Array, order: int) -> Any:
    from cupyx.scipy import special

    return special.polygamma(cupy.asarray(order), x) if order else special.digamma(x)


polygamma_op: Op = Op(
    name="polygamma",
    run=_polygamma_run,
    notation=lambda x, order: f"polygamma({order}, {x})" if order else f"digamma({x})",
    infer=lambda type, order: type,
    edges=(_polygamma_edge,),
    batch=same_on_batch(lambda: polygamma_op),
    real=True,
    columns=Columns(
        entrywise=True,
        mpmath=_mp_polygamma,
        interval=_interval_polygamma,
        sympy=lambda sp, x, order: sp.polygamma(order, x),
        latex=Form("polygamma"),
        native={"f": lambda use: {0: "psi({0})", 1: "trigamma({0})"}.get(use.params["order"])},
        transcendental=True,
        entry_time=17.0,
        numpy=_polygamma_source,
        libraries={"cupy": _cupy_polygamma, "jax": _jax_polygamma, "torch": _torch_polygamma},
    ),
)


# -- gammaln -------------------------------------------------------------------------------------
_LEAST = 1.4616321449683623
"""The point right of 0 at which gammaln is least."""


def _gammaln_run(x: ArrayLike) -> Any:
    return scipy_special("gammaln").gammaln(x)


def _interval_gammaln(iv: FunctionLibrary, x: Array) -> Any:
    ends = [_gammaln_run(x[0]), _gammaln_run(x[1])]
    inside = (x[0] <= _LEAST) & (x[1] >= _LEAST)
    lo = np.where(inside, _gammaln_run(_LEAST), np.minimum(*ends))
    return _widened(iv, lo, np.maximum(*ends), x)


def _loop(dtype: DTypeLike) -> tuple[np.dtype[Any], ...]:
    real_loop("gammaln", dtype)  # refuses complex numbers
    return ufunc_loop(ufunc_named("gammaln"), dtype)


gammaln = elementwise(
    "gammaln",
    _gammaln_run,
    lambda z, x: polygamma_op(x, order=0),
    loop=_loop,
    columns=Columns(
        # No scalar row: near its zeros `math.lgamma` is 15 units in the last place from SciPy's values.
        mpmath=lambda mp, x: mp.re(mp.loggamma(x)),
        interval=_interval_gammaln,
        sympy=lambda sp, x: sp.log(sp.Abs(sp.gamma(x))),
        latex=r"\ln\Gamma",
        native={"f": "gammaln({0})"},
        transcendental=True,
        entry_time=17.0,
        numpy="scipy.special.gammaln({0})",
        libraries={
            "jax": "jax.scipy.special:gammaln",
            "torch": lambda torch, x: torch.special.gammaln(x),
        },
    ),
)


# -- SciPy's functions ---------------------------------------------------------------------------
def polygamma(n: int, x: object) -> Any:
    """The derivative of order n of `digamma`; n is an integer, not negative. As `scipy.special.polygamma`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: polygamma(1, x))(1.0) - float(polygamma(2, 1.0))
    0.0
    """
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < 0:
        raise type_error(f"polygamma: expected an order of 0 or more, but got {n!r}")
    given, x = x, lift_fully(x)
    loop = real_loop("polygamma", x.dtype)
    if not n:
        loop = ufunc_loop(ufunc_named("psi"), x.dtype)[0]
    z = polygamma_op(x if x.dtype == loop else x.astype(loop), order=int(n))
    return z if holds_expr(given) else concrete(z, "a value")


def digamma(x: Array) -> Any:
    """The derivative of `gammaln`. As `scipy.special.digamma`.

    >>> import funcgrad as fg
    >>> fg.grad(digamma)(1.0) - float(polygamma(1, 1.0))
    0.0
    """
    return polygamma(0, x)
