"""Parts of floating-point numbers and their neighbours, such as `modf` and `spacing`; the step `heaviside`.

Whole parts, exponents and steps have derivative zero. So the fraction of `modf` has derivative 1, as
`nextafter` has in its first argument, and the mantissa of `frexp` that of a product with a power of two, as
in JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.ops.base.activity import is_jitted
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.typing import Array


def modf(x: Array) -> tuple[Any, Any]:
    """As `numpy.modf`: the fraction and the whole part, each with the sign of x."""
    (x,) = _operands(np.modf, x)
    whole = np.trunc(x)
    rest = np.where(np.signbit(x), -(whole - x), x - whole)
    return np.where(np.isinf(x), np.copysign(np.zeros((), x.dtype), x), rest), whole


def ldexp(x: Array, i: object) -> Any:
    """As `numpy.ldexp`: x times a power of two, without overflow on the way."""
    x, rest = _operands(np.ldexp, x, i)
    rest = rest if isinstance(i, Expr) else np.asarray(i)
    limits = np.finfo(x.dtype)
    for _ in range(3):  # more have no effect
        part = np.clip(rest, int(limits.minexp), int(limits.maxexp) - 1)
        if isinstance(part, Expr) or np.any(part):
            x = x * _power_of_two(part, x.dtype)
        rest = rest - part
    return x


def _power_of_two(i: Any, dtype: np.dtype[Any]) -> Any:
    return np.exp2(astype(i, dtype)) if isinstance(i, Expr) else np.ldexp(np.ones((), dtype), i)


def frexp(x: Array) -> tuple[Any, Any]:
    """As `numpy.frexp`: a mantissa in [0.5, 1), and an exponent of two."""
    (x,) = _operands(np.frexp, x)
    size = np.abs(x)
    regular = (size > 0) & (size < np.inf)
    guess = np.floor(np.log2(np.where(regular, size, 1))) + 1
    # The logarithm may be rounded to a whole number on either side.
    near = np.abs(ldexp(x, -astype(guess, np.int32)))
    exponent = guess + astype(near >= 1, x.dtype) - astype(near < 0.5, x.dtype)
    exponent = astype(np.where(regular, exponent, 0), np.int32)
    mantissa, exponent = _own(np.frexp, (x,), (ldexp(x, -exponent), exponent))
    return mantissa, exponent


def spacing(x: Array) -> Any:
    """As `numpy.spacing`: the distance to the next number away from zero; not differentiable."""
    (x,) = _operands(np.spacing, x)
    limits = np.finfo(x.dtype)
    exponent = np.where(x == 0, int(limits.minexp), frexp(x)[1])
    step = np.copysign(_gap(exponent, x.dtype), x)
    step = np.where(x == 0, np.abs(step), step)
    if x.dtype == np.float16:  # NumPy's loop has the distance towards positive infinity
        step = np.abs(step) * np.where((x < 0) & (frexp(x)[0] == -0.5), step.dtype.type(0.5), 1)
    return np.where(np.isfinite(x), step, np.asarray(np.nan, x.dtype)[()])


def _gap(exponent: Any, dtype: np.dtype[Any]) -> Any:
    """The distance of neighbouring numbers that have an exponent, as `frexp` gives it."""
    limits = np.finfo(dtype)
    least = int(limits.minexp) - int(limits.nmant)
    return ldexp(np.ones((), dtype), np.maximum(exponent - (int(limits.nmant) + 1), least))


def nextafter(x1: Array, x2: Array) -> Any:
    """As `numpy.nextafter`, with derivative 1 in x1 and 0 in x2."""
    x, y = _operands(np.nextafter, x1, x2)
    limits, zero = np.finfo(x.dtype), np.zeros((), x.dtype)
    mantissa, exponent = frexp(x)
    # Below a power of two the numbers are closer together.
    closer = (np.abs(mantissa) == 0.5) & ((y > x) != (x > 0))
    exponent = np.where(x == 0, int(limits.minexp), exponent - astype(closer, np.int32))
    gap = _gap(exponent, x.dtype)
    moved = x + np.where(x == y, zero, np.where(y > x, gap, -gap))
    sign = np.where(x == 0, y, x)
    other = (moved == 0) & (np.signbit(moved) != np.signbit(sign))
    moved = np.where(other, np.copysign(zero, sign), moved)
    moved = np.where(np.isinf(x) & (x != y), np.copysign(limits.max, x), moved)
    found = np.where(np.isnan(y), np.asarray(np.nan, x.dtype)[()], moved)
    return _own(np.nextafter, (x, y), found)


def _own(ufunc: np.ufunc, args: tuple[Any, ...], found: Any) -> Any:
    """NumPy's own results where no derivative is asked, which take a tenth of the time."""
    if not any([is_jitted(arg) for arg in args]):
        return found
    return functions["host_value"](_by_name(ufunc), {"args": args}, found)


@cache
def _by_name(ufunc: np.ufunc) -> Callable[..., Any]:
    def own(args: tuple[Any, ...]) -> Any:
        return ufunc(*args)

    own.__name__ = ufunc.__name__
    return own


def heaviside(x1: Array, x2: Array) -> Any:
    """As `numpy.heaviside`: 0 below 0, 1 above, and x2 at 0, where x2 has the derivative."""
    x, at_zero = _operands(np.heaviside, x1, x2)
    dtype = x.dtype
    step = np.where(x == 0, astype(at_zero, dtype), astype(x > 0, dtype))
    return np.where(x == x, step, np.asarray(np.nan, dtype)[()])


def _operands(ufunc: np.ufunc, *given: object) -> tuple[Any, ...]:
    """The operands in the dtypes of NumPy's loop; TypeError if it has none for them."""
    weak = (int, float)
    kinds = tuple([type(v) if type(v) in weak else lift_fully(v).dtype for v in given])
    types = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    return tuple([astype(v, dtype) for v, dtype in zip(lift_all(given), types, strict=False)])
