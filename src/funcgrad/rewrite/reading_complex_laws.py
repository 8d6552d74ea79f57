"""Display-only rewrites of complex numbers and Fourier transforms: see `funcgrad.rewrite.reading_laws`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.ops import fourier
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, logic, magnitude, selection
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import Monomial, monomial, power, product_of, unbroadcast
from funcgrad.rewrite.reading_array_laws import ReadingLaw

_Factor = tuple[Expr, float]


def _factors(expr: Expr) -> list[_Factor]:
    """The factors of a complex product or quotient, each with the exponent 1 or -1."""
    return folded([expr], _of_product, operands=_complex_operands)[0]


def _complex_operands(x: Expr) -> tuple[Expr, ...]:
    is_product = x.op in (arithmetic.multiply, arithmetic.divide) and x.dtype.kind == "c"
    return x.args if is_product else ()


def _of_product(x: Expr, parts: tuple[list[_Factor], ...]) -> list[_Factor]:
    if not parts:
        return [(x, 1.0)]
    left, right = parts
    return [*left, *[(y, k if x.op is arithmetic.multiply else -k) for y, k in right]]


def _real_operand(x: Expr) -> Expr | None:
    """The real formula that is cast to a complex one."""
    inner = unbroadcast(x)
    real = inner.op is op.astype and inner.args[0].dtype == inner.dtype.type(0).real.dtype
    return inner.args[0] if real else None


def _real_factors(expr: Expr) -> Expr | None:
    """z/r*(2*r) = 2*z for a real r: the real factors of a complex product are collected."""
    real, rest, count, numbers = Monomial(1.0, {}), [], 0, 0
    for x, k in _factors(expr):
        inner, value = _real_operand(x), value_of(x)
        if value is not None and not value.imag and np.isfinite(value) and value:
            numbers += 1
            real = real.times(Monomial(float(value.real) ** k, {}))
        elif inner is None:
            rest.append((x, k))
        else:
            own = monomial(inner)
            count, numbers = count + len(own.powers), numbers + (own.number != 1)
            real = real.times(own.to_the(k))
    if not rest or (len(real.powers) == count and numbers < 2):
        return None
    parts = [x for x, k in rest if k > 0]
    if real.powers or real.number != 1 or not parts:
        dtype = expr.dtype.type(0).real.dtype
        like = op.broadcast_to(np.zeros((), dtype), shape=expr.shape)
        parts.insert(0, op.astype(product_of(real, like), dtype=expr.dtype))
    quotient = math.prod(parts[1:], start=parts[0])
    for x, k in rest:
        quotient = arithmetic.divide(quotient, x) if k < 0 else quotient
    return quotient


def is_guarded(p: Expr, x: Expr) -> bool:
    """Whether p is a guard such as abs(z) != 0 for a factor z of x: where p is False, x is 0 or NaN."""
    p = unbroadcast(p)
    if p.op is not logic.not_equal or value_of(p.args[1]) != 0:
        return False
    z = _with_same_zeros(p.args[0])
    return any([_with_same_zeros(base).key == z.key for base, _ in _factors(x)])


def _with_same_zeros(x: Expr) -> Expr:
    """The z of abs(z), conjugate(z) and casts of these, which are 0 exactly where z is."""
    x = unbroadcast(x)
    while x.op in _ZERO_PRESERVING:
        x = unbroadcast(x.args[0])
    return x


_ZERO_PRESERVING = (magnitude.absolute, magnitude.conjugate, op.astype)


def _transformed_back(expr: Expr) -> Expr | None:
    """fft(conjugate(fft(z))) = n*conjugate(z); fft(n*ifft(z)) = n*z; fft(c*z) = c*fft(z) for a number c."""
    (x,) = expr.args
    params = dict(expr.params)
    if not expr.size:
        return None
    conjugated = x.op is magnitude.conjugate
    inner = x.args[0] if conjugated else x
    if inner.op is fourier.fft_op and dict(inner.params)["axis"] == params["axis"]:
        if conjugated == (dict(inner.params)["inverse"] == params["inverse"]):
            (z,) = inner.args
            return expr.shape[params["axis"]] * (np.conjugate(z) if conjugated else z)  # type: ignore[no-any-return]
        return None
    for number, z in (x.args, x.args[::-1]) if x.op is arithmetic.multiply else ():
        if value_of(number) is not None:
            return number * fourier.fft_op(z, **params)  # type: ignore[no-any-return]
    return None


def _number_outside(expr: Expr) -> Expr | None:
    """rfft(c*x) = c*rfft(x) and irfft(c*z) = c*irfft(z) for a real number c."""
    (x,) = expr.args
    terms = (x.args, x.args[::-1]) if x.op is arithmetic.multiply and expr.size else ()
    for number, z in terms:
        c = value_of(number)
        if c is not None and c.imag == 0 and z.shape == x.shape:
            return c.real * expr.op(z, **dict(expr.params))  # type: ignore[no-any-return]
    return None


def _real_part(expr: Expr) -> Expr | None:
    """real(x) = x for a real x; real(r*z) = r*real(z) for a real r; real(x + 1j*y) = x."""
    return _part(expr)


def _imaginary_part(expr: Expr) -> Expr | None:
    """imag(x) = 0 for a real x; imag(r*z) = r*imag(z) for a real r; imag(x + 1j*y) = y."""
    return _part(expr)


def _square_of_size(expr: Expr) -> Expr | None:
    """real(conjugate(z)*z) = abs(z)**2."""
    (x,) = expr.args
    if x.op is not arithmetic.multiply:
        return None
    for left, z in (x.args, x.args[::-1]):
        if left.op is magnitude.conjugate and left.args[0].key == z.key:
            size: Expr = arithmetic.square(magnitude.absolute(z))
            return size
    return None


def _conjugate_product(expr: Expr) -> Expr | None:
    """conjugate(r*z) = r*conjugate(z) for a real r."""
    (x,) = expr.args
    if x.op is not arithmetic.multiply:
        return None
    for r, z in (x.args, x.args[::-1]):
        number = value_of(r)
        if _real_operand(r) is not None or (number is not None and not number.imag):
            return r * np.conjugate(z)  # type: ignore[no-any-return]
    return None


def _part(expr: Expr) -> Expr | None:
    (z,) = expr.args
    if z.type == expr.type:
        return z if expr.op is magnitude.real else None
    if z.dtype.kind != "c":
        return None
    if z.op is op.broadcast_to:
        return op.broadcast_to(expr.op(z.args[0]), shape=expr.shape)  # type: ignore[no-any-return]
    if z.op is magnitude.make_complex:
        return z.args[0 if expr.op is magnitude.real else 1]
    if z.op is magnitude.conjugate:
        part = expr.op(z.args[0])
        return part if expr.op is magnitude.real else -part  # type: ignore[no-any-return]
    if z.op is selection.mask:
        return selection.mask(z.args[0], expr.op(z.args[1]))  # type: ignore[no-any-return]
    if z.op in (arithmetic.add, arithmetic.subtract, arithmetic.negative):
        parts = [_known_part(expr.op is magnitude.real, x) for x in z.args]
        if all([part is None for part in parts]):
            return None
        whole = [
            expr.op(x) if part is None else part for x, part in zip(z.args, parts, strict=True)
        ]
        return z.op(*whole)  # type: ignore[no-any-return]
    return _known_part(expr.op is magnitude.real, z)


def _known_part(is_real: bool, z: Expr) -> Expr | None:
    """The real or the imaginary part of a product with real factors."""
    numbers, real, rest = 1 + 0j, [], []
    for x, k in _factors(z):
        inner, value = _real_operand(x), value_of(x)
        if inner is not None:
            real.append((inner, k))
        elif value is not None and np.isfinite(value) and (value or k > 0):
            numbers *= complex(value) ** k
        else:
            rest.append((x, k))
    if not real and (not rest or rest[0][0] is z):
        return None
    if len(rest) > 1 or any([k < 0 for _, k in rest]) or (rest and numbers.imag):
        return None
    dtype = z.dtype.type(0).real.dtype
    like = op.broadcast_to(np.zeros((), dtype), shape=z.shape)
    part = Monomial(numbers.real if is_real or rest else numbers.imag, {})
    for x, k in real:
        part = part.times(monomial(x).to_the(k))
    for x, _ in rest:
        part = part.times(power((magnitude.real if is_real else magnitude.imag)(x), 1.0))
    return product_of(part, like)


COMPLEX_PARTS: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {"real": (_square_of_size, _real_part), "imag": (_imaginary_part,), "irfft": (_number_outside,)}
)
"""The laws of real results, by operation."""
COMPLEX_PRODUCTS: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "multiply": (_real_factors,),
        "divide": (_real_factors,),
        "conjugate": (_conjugate_product,),
        "fft": (_transformed_back,),
        "rfft": (_number_outside,),
    }
)
"""The laws of complex results, by operation."""
