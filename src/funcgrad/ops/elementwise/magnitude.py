"""Absolute values, signs, and the parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.linear import Diagonal, Identity, LinearMap, Structural
from funcgrad.ops.base.columns import EMPTY, TORCH_FORMS, Columns, Form, any_kind, function
from funcgrad.ops.base.op import Elementwise, Op, elementwise, lift_fully
from funcgrad.ops.elementwise.declare import NATIVE_NEGATED, WRAPPED, elementwise_from_edges
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array


def sign(x: object) -> Any:
    """As `numpy.sign`; of complex values x / abs(x), which is not constant, and 0 at 0.

    Of a complex number with one infinite part it is the unit in the direction of that part, as in NumPy.
    """
    x = lift_fully(x)
    if x.dtype.kind != "c":
        return sign_op(x)
    size, re, im = absolute(x), real(x), imag(x)
    one = x.dtype.type(1)
    along_re, along_im = np.where(re > 0, one, -one), np.where(im > 0, one * 1j, np.conj(one * 1j))
    direction = np.where(np.isinf(re), np.where(np.isinf(im), one * np.nan, along_re), along_im)
    far = np.isinf(size)
    near = mask(x != 0, x / np.where(far, np.ones_like(size), size))
    return np.where(far, direction, near)


def _absolute_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Diagonal(np.sign(x))
    u = mask(z != 0, np.conjugate(x) / z)
    return Structural(lambda v: np.real(u * v), lambda g: g * u)


absolute = elementwise_from_edges(
    "absolute",
    np.absolute,
    _absolute_edge,
    notation="abs({})".format,
    columns=Columns(
        scalar={"f": "abs({0})", "i": WRAPPED.format("abs({0})")},
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
    lambda z, x: np.sign(x),
    columns=Columns(
        scalar="abs({0})",
        decompose=lambda x: absolute(x),
        latex=Form("wrapped", r"\left|@\right|", 100),
        vm=True,
    ),
)
sign_op = elementwise(
    "sign",
    np.sign,
    None,
    columns=Columns(
        scalar={
            "f": "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0 if {0} == 0.0 else {0})",
            "i": "(({0} > 0) - ({0} < 0))",
        },
        mpmath="sign",
        sympy="sign",
        interval=lambda iv, x: iv.monotone(np.sign, x, iv.EXACT),
        latex=r"\operatorname{sgn}",
        libraries={"torch": "sgn"},
        vm=True,
    ),
)
copysign = elementwise(
    "copysign",
    np.copysign,
    lambda z, x, y: np.sign(x) * np.copysign(np.ones_like(y), y),
    None,
    columns=function(
        "copysign",
        operands=2,
        mpmath=lambda mp, x, y: -abs(x) if y < 0 or np.signbit(float(y)) else abs(x),
        interval="copysign",
        transcendental=False,
    ),
)


# -- parts of complex numbers ----------------------------------------------------------------------
def _part_loop(dtype: npt.DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
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


def _part(name: str, run: Any, edge: Any, columns: Columns = EMPTY) -> Op:
    infer: Any = _part_loop
    return Elementwise(name=name, run=run, infer=infer, edges=(edge,), columns=columns)


real = _part(
    "real",
    np.real,
    _real_edge,
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x.real,
        sympy="re",
        interval="same",
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
        mpmath=lambda mp, x: x.imag,
        sympy="im",
        interval="zero",
        latex=r"\operatorname{Im}",
        numpy="np.imag({0})[()]",
        libraries={"torch": f"{TORCH_FORMS}:imag"},
        may_alias=True,
    ),
)
conjugate = elementwise_from_edges(
    "conjugate",
    np.conjugate,
    lambda z, x: Structural(np.conjugate, np.conjugate),
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath="conj",
        sympy="conjugate",
        interval="same",
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
        scalar="(math.copysign(1.0, {0}) < 0.0)",
        mpmath=lambda mp, x: bool(np.signbit(float(x))),
        interval="signbit",
    ),
)
