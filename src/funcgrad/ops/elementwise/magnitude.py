"""Absolute values, signs, and the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr
from funcgrad.linear import Diagonal, Identity, LinearMap, Structural
from funcgrad.ops.base.columns import (
    EMPTY,
    TORCH_FORMS,
    Columns,
    Form,
    any_kind,
    function,
    of_floats,
)
from funcgrad.ops.base.op import Elementwise, Op, elementwise, lift_fully
from funcgrad.ops.elementwise.declare import NATIVE_NEGATED, WRAPPED, elementwise_from_edges
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array, ArrayLike, DTypeLike, FunctionLibrary


def sign(x: ArrayLike) -> Any:
    """As `numpy.sign`; of complex values x / abs(x), which is not constant, and 0
    at 0.

    Of a complex number with one infinite part it is the unit in the direction
    of that part, as in NumPy; and in the direction of the imaginary part if
    only the absolute value is too large for the dtype. Raises TypeError if x
    holds no numbers.

    >>> sign(np.array([-2.0, 0.0, 3.0]))
    array([-1.,  0.,  1.])
    """
    if not holds_expr(x):
        return np.sign(x)
    x = lift_fully(x)
    if x.dtype.kind != "c":
        return sign_op(x)
    re, im = real(x), imag(x)
    # Not np.abs, which differs from what np.sign divides by in the last place.
    size = np.hypot(re, im)
    far = np.isinf(size)
    scale = np.where(far | (size == 0), np.ones_like(size), size)
    # The parts apart, since a quotient of complex numbers loses signs of zeros.
    near = mask(x != 0, make_complex(re / scale, im / scale))
    at_end, zero = np.isinf(re), np.zeros_like(re)
    both = np.where(np.isinf(im), zero + np.nan, zero)
    along = make_complex(
        np.where(at_end, both + sign_op(re), zero), np.where(at_end, both, sign_op(im))
    )
    return np.where(far, along, near)


_SIGN = Columns(
    scalar={
        "f": "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0 if {0} == 0.0 else {0})",
        "i": "(({0} > 0) - ({0} < 0))",
    },
    mpmath="sign",
    sympy="sign",
    interval=lambda iv, x: iv.monotone(np.sign, x, iv.EXACT),
    latex=r"\operatorname{sgn}",
    libraries={"any": "sign", "torch": "sgn"},
    vm=True,
)
sign_op = elementwise("sign", np.sign, None, real=True, columns=_SIGN)
absolute_slope = elementwise(
    "absolute_slope", np.sign, None, real=True, notation="sign({})".format, columns=_SIGN
)
"""The derivative of abs, a sign. `funcgrad.rewrite.sign_laws` tells it from a sign that a program reads."""


def _absolute_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Diagonal(absolute_slope(x))
    u = mask(z != 0, np.conjugate(x) / z)
    return Structural(lambda v: np.real(u * v), lambda g: g * u)


absolute = elementwise_from_edges(
    np.absolute,
    _absolute_edge,
    notation="abs({})".format,
    columns=Columns(
        scalar={**of_floats("abs({0})"), "i": WRAPPED.format("abs({0})")},
        mpmath=lambda mp, x: abs(x),
        sympy="Abs",
        interval="absolute",
        latex=Form("wrapped", r"\left|@\right|", 100),
        native={"i": f"({{0}} if {{0}} >= 0 else {NATIVE_NEGATED})"},
        vm=True,
    ),
)
fabs = elementwise(
    "fabs",
    np.fabs,
    lambda z, x: absolute_slope(x),
    columns=Columns(
        scalar="abs({0})",
        decompose=lambda x: absolute(x),
        latex=Form("wrapped", r"\left|@\right|", 100),
        vm=True,
    ),
)


def _mp_signbit(mp: FunctionLibrary, x: Array) -> bool:
    return bool(x < 0 or (not mp.isnan(x) and np.signbit(float(x))))


copysign = elementwise(
    "copysign",
    np.copysign,
    lambda z, x, y: absolute_slope(x) * np.copysign(np.ones_like(y), y),
    None,
    columns=function(
        "copysign",
        operands=2,
        mpmath=lambda mp, x, y: -abs(x) if _mp_signbit(mp, y) else abs(x),
        interval="copysign",
        transcendental=False,
    ),
)


# -- parts of complex numbers ----------------------------------------------------------------------
def _part_loop(dtype: DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    own = np.dtype(dtype)
    return own, np.empty(0, own).real.dtype


def _real_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Identity()
    return Structural(np.real, lambda g: g + np.zeros_like(x))


def _imag_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Diagonal(np.zeros_like(x))
    return Structural(np.imag, lambda g: g * x.dtype.type(-1j))


def _part(
    name: str, run: Callable[..., Any], edge: Callable[..., Any], columns: Columns = EMPTY
) -> Op:
    infer: Any = _part_loop
    return Elementwise(name=name, run=run, infer=infer, edges=(edge,), columns=columns)


real = _part(
    "real",
    np.real,
    _real_edge,
    columns=Columns(
        scalar={**any_kind("{0}"), "c": "{0}.real"},
        mpmath=lambda mp, x: x.real,
        sympy="re",
        interval="unchanged",
        latex=r"\operatorname{Re}",
        numpy="np.real({0})[()]",
        may_alias=True,
    ),
)
imag = _part(
    "imag",
    np.imag,
    _imag_edge,
    columns=Columns(
        scalar={"c": "{0}.imag"},
        mpmath=lambda mp, x: x.imag,
        sympy="im",
        interval="zero",
        latex=r"\operatorname{Im}",
        numpy="np.imag({0})[()]",
        libraries={"torch": f"{TORCH_FORMS}:imag"},
        may_alias=True,
    ),
)


def _complex_loop(re: DTypeLike, im: DTypeLike) -> tuple[np.dtype[Any], ...]:
    part = np.result_type(re, im, np.float32)
    return part, part, np.result_type(part, np.complex64)


def _complex_run(re: Array, im: Array) -> Any:
    part = np.result_type(re, im, np.float32)
    joined = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), np.result_type(part, 1j))
    joined.real, joined.imag = re, im
    return joined[()]


def _complex_source(z: Expr, texts: Sequence[str]) -> str:
    parts = ", ".join(texts)
    if not z.shape:
        return f"np.{z.dtype}({parts})"
    return f"np.stack(np.broadcast_arrays({parts}), axis=-1).view(np.{z.dtype})[..., 0]"


make_complex: Op = Elementwise(
    name="make_complex",
    run=_complex_run,
    infer=_complex_loop,  # type: ignore[arg-type]
    edges=(
        lambda z, re, im: Structural(lambda v: make_complex(v, np.zeros_like(v)), np.real),
        lambda z, re, im: Structural(
            lambda v: make_complex(np.zeros_like(v), v), lambda g: -np.imag(g)
        ),
    ),
    real=True,
    columns=Columns(
        decompose=lambda re, im: re + im * 1j,
        scalar=any_kind("complex({0}, {1})"),
        mpmath=lambda mp, re, im: mp.mpc(re, im),
        latex=Form("parts"),
        numpy=_complex_source,
        libraries={"jax": "jax.lax:complex", "torch": "complex"},
    ),
)
"""The complex number of two parts: ``re + 1j * im`` loses signs of zeros, and is NaN for an infinite im."""
conjugate = elementwise_from_edges(
    np.conjugate,
    lambda z, x: Structural(np.conjugate, np.conjugate),
    columns=Columns(
        scalar={**any_kind("{0}"), "c": "{0}.conjugate()"},
        mpmath="conj",
        sympy="conjugate",
        interval="unchanged",
        latex=Form("wrapped", r"\overline{@}"),
        libraries={"torch": "conj_physical"},
        may_alias=True,
    ),
)
signbit = elementwise(
    "signbit",
    np.signbit,
    None,
    columns=Columns(
        scalar="(math.copysign(1.0, {0}) < 0.0)", mpmath=_mp_signbit, interval="signbit"
    ),
)
