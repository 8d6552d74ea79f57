"""Sums, products, quotients, powers, remainders and rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr, const, rebuild
from funcgrad.graph import CONSTANT
from funcgrad.linear import Diagonal, Identity, LinearMap, Quotient, Structural
from funcgrad.ops.base.columns import (
    TORCH_FORMS,
    Columns,
    Form,
    LibraryRow,
    ScalarUse,
    any_kind,
    by_truth,
    function,
    of_floats,
)
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to, elementwise, sympy_trunc
from funcgrad.ops.elementwise.declare import (
    BOTH,
    EITHER,
    NATIVE_NEGATED,
    NATIVE_WRAPPED,
    WRAPPED,
    elementwise_from_edges,
)
from funcgrad.ops.elementwise.exponential import log
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array, FunctionLibrary

_SAME, _NEGATED = Identity(), Structural(np.negative, np.negative)


def _negation(z: Array, *inputs: Array) -> LinearMap:
    return _NEGATED


def _identity(z: Array, *inputs: Array) -> LinearMap:
    return _SAME


add = elementwise_from_edges(
    np.add,
    _identity,
    _identity,
    infix=("+", 10),
    columns=Columns(
        in_words="add distributes",
        scalar={**of_floats("({0} + {1})"), "i": WRAPPED.format("{0} + {1}"), "b": EITHER},
        mpmath=lambda mp, x, y: x + y,
        sympy=lambda sp, x, y: x + y,
        interval=by_truth("either", "add"),
        latex=Form("infix", "+", 10),
        native={"i": NATIVE_WRAPPED.format("uint64({0}) + uint64({1})")},
        vm=True,
    ),
)
subtract = elementwise_from_edges(
    np.subtract,
    _identity,
    _negation,
    infix=("-", 10),
    columns=Columns(
        in_words="subtract distributes, and turns a sign",
        scalar={**of_floats("({0} - {1})"), "i": WRAPPED.format("{0} - {1}")},
        mpmath=lambda mp, x, y: x - y,
        sympy=lambda sp, x, y: x - y,
        interval="subtract",
        latex=Form("infix", "-", 10),
        native={"i": NATIVE_WRAPPED.format("uint64({0}) - uint64({1})")},
        vm=True,
    ),
)
negative = elementwise_from_edges(
    np.negative,
    _negation,
    columns=Columns(
        in_words="negative turns the sign",
        scalar={**of_floats("(-{0})"), "i": WRAPPED.format("-{0}")},
        mpmath=lambda mp, x: -x,
        sympy=lambda sp, x: -x,
        interval="negative",
        latex=Form("negative"),
        native={"i": NATIVE_NEGATED},
        vm=True,
    ),
)
positive = elementwise_from_edges(
    np.positive,
    _identity,
    notation=lambda x: f"+{x}",
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x,
        sympy=lambda sp, x: x,
        interval=lambda iv, x: iv.monotone(np.positive, x, iv.EXACT),
        latex=Form("operand"),
        may_alias=True,
    ),
)
multiply = elementwise(
    "multiply",
    np.multiply,
    lambda z, x, y: y,
    lambda z, x, y: x,
    infix=("*", 20),
    columns=Columns(
        in_words="multiply swaps",
        scalar={**of_floats("({0} * {1})"), "i": WRAPPED.format("{0} * {1}"), "b": BOTH},
        mpmath=lambda mp, x, y: x * y,
        sympy=lambda sp, x, y: x * y,
        interval=by_truth("both", "multiply"),
        latex=Form("product"),
        sparsity="scaled",
        native={"i": NATIVE_WRAPPED.format("uint64({0}) * uint64({1})")},
        vm=True,
    ),
)
divide = elementwise(
    "divide",
    np.divide,
    lambda z, x, y: Quotient(y),
    # z/y overflows or underflows where the product with a tangent or a cotangent does not.
    lambda z, x, y: Quotient(y) @ Diagonal(z) @ _NEGATED,
    infix=("/", 20),
    columns=Columns(
        in_words="quotient rule",
        scalar={"f": "({0} / {1})", "c": "cdivide({0}, {1})"},
        mpmath=lambda mp, x, y: x / y,
        sympy=lambda sp, x, y: x / y,
        interval="divide",
        latex=Form("fraction"),
        inlined={"c": "funcgrad.ops.elementwise.arithmetic:by_reciprocal"},
        vm=True,
    ),
)


def by_reciprocal(node: Expr) -> Any:
    """x/c of complex arrays, where c is a positive number, as x*(1/c): a tenth of the time; else None.

    It is NumPy's quotient to the bit: (x.real + 0*x.imag)*(1/c), and (x.imag - 0*x.real)*(1/c). So the
    imaginary part of the factor is -0.
    """
    x, y = node.args
    if node.dtype.char not in "FD" or not node.shape:
        return None
    while y.op is broadcast_to:
        y = y.args[0]
    if y.op is not CONSTANT or y.shape or y.params[0][1].captured:
        return None
    divisor = y.params[0][1].array
    factor = np.empty((), node.dtype)
    with np.errstate(all="ignore"):
        factor.real, factor.imag = 1 / divisor.real, -0.0
    is_real = divisor.imag == 0 and not np.signbit(divisor.imag)
    if not (is_real and np.finfo(node.dtype).tiny <= factor.real < np.inf):
        return None
    return multiply(x, broadcast_to(const(factor), shape=node.shape))


# -- quotients that may be undetermined ----------------------------------------------------------
def _determined(x: Array, y: Array) -> Any:
    nonzero = y != 0
    quotient = x / np.where(nonzero, y, np.ones_like(y))
    return np.where(nonzero, quotient, np.where(x == 0, np.zeros_like(x), np.full_like(x, np.nan)))


def _determined_run(x: Array, y: Array) -> Any:
    return _determined(np.asarray(x), np.asarray(y))[()]


def _by_dividend(z: Array, x: Array, y: Array) -> LinearMap:
    def along(v: Array) -> Any:
        return determined_quotient(v, y)

    return Structural(along, along)


def _by_divisor(z: Array, x: Array, y: Array) -> LinearMap:
    def along(v: Array) -> Any:
        return -determined_quotient(determined_product(z, v), y)

    return Structural(along, along)


determined_quotient = Elementwise(
    name="determined_quotient",
    run=_determined_run,
    infer=divide.infer,
    edges=(_by_dividend, _by_divisor),
    columns=Columns(
        decompose=_determined,
        numpy="(lambda x, y: np.where(y != 0, x / np.where(y != 0, y, 1), "
        "np.where(x == 0, np.abs(x), np.nan)))({0}, {1})[()]",
        shown=False,
    ),
)
"""x/y; where y is 0, it is 0 if x is 0, and NaN otherwise. It is linear in x."""


# -- products that may be undetermined -----------------------------------------------------------
def _determined_product(x: Array, y: Array) -> Any:
    zero = np.zeros_like(x)
    return np.where((x != 0) & (y != 0), x * y, zero)


def _along_other(place: int) -> Any:
    def edge(z: Array, *inputs: Array) -> LinearMap:
        def along(v: Array) -> Any:
            return determined_product(v, inputs[1 - place])

        return Structural(along, along)

    return edge


determined_product = Elementwise(
    name="determined_product",
    run=lambda x, y: _determined_product(np.asarray(x), np.asarray(y))[()],
    infer=multiply.infer,
    edges=(_along_other(0), _along_other(1)),
    columns=Columns(decompose=_determined_product, shown=False),
)
"""x*y; where one of them is 0, it is 0, also if the other one is NaN. It is linear in both."""

# Powers by a constant for which a product or a root is as exact as `pow`, and raises nothing. (A cube as two
# products differs from Python's and NumPy's in the last place, for a quarter of the numbers.)
_POWERS = {-1.0: "(1.0 / {0})", 0.5: "math.sqrt({0})", 1.0: "{0}", 2.0: "({0} * {0})"}

# Those that NumPy computes by products, but for 0, whose powers it gives no sign; other powers of complex
# numbers are left to it.
_COMPLEX_POWERS = {
    1.0: "{0}",
    2.0: "({0} * {0} if {0} != 0.0 else 0j)",
    3.0: "({0} * ({0} * {0}) if {0} != 0.0 else 0j)",
}


def _power_template(use: ScalarUse) -> str | None:
    exponent = use.constants[1]
    if use.kind == "c":
        return _COMPLEX_POWERS.get(exponent)
    if use.kind != "f":
        return None
    if exponent is not None:
        return _POWERS.get(exponent, "math.pow({0}, {1})")
    if use.entries and use.entries[1]:
        return "math.pow({0}, {1})"
    # NumPy takes the root for one exponent of 0.5, which differs from a power at -0 and -inf.
    return "(math.pow({0}, {1}) if {1} != 0.5 else math.sqrt({0}))"


def _power_untaken(holds: Expr, z: Expr, args: tuple[Expr, ...]) -> Expr:
    """A negative power of an integer is an error: where the path is not taken, the exponent is 0."""
    base, exponent = args
    if z.dtype.kind in "iu":
        exponent = np.where(holds, exponent, 0)  # type: ignore[assignment]
    return rebuild(z, (base, exponent))


def _mp_power(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    value = x**y
    if mp.isinf(x) or mp.isnan(value):
        raise ValueError  # what NumPy makes of it
    return value


# An infinite divisor goes into finite numbers 0 times, or -1 times into those of the other sign.
def _mp_floor_divide(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    if mp.isfinite(x) and mp.isinf(y):
        return mp.mpf(0 if not x or (x > 0) == (y > 0) else -1)
    return mp.nan if mp.isinf(x) and y else mp.floor(x / y)


def _mp_remainder(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    if mp.isfinite(x) and mp.isinf(y):
        return y if _mp_floor_divide(mp, x, y) else x
    return x - mp.floor(x / y) * y


def _mp_fmod(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    if mp.isfinite(x) and mp.isinf(y):
        return x
    return x - (mp.floor(x / y) if x / y > 0 else mp.ceil(x / y)) * y


power = elementwise(
    "power",
    np.power,
    # At y = 0 the power is constant in x, but its slope is not in y; at x = 0 and y > 0 it is constant in y.
    lambda z, x, y: mask((x != 0) | (y != 0), y * x ** (y - 1)),
    lambda z, x, y: mask((x != 0) | (y <= 0), log(x) * z),
    infix=("**", 40),
    columns=Columns(
        in_words="power rule",
        scalar=_power_template,
        mpmath=_mp_power,
        sympy=lambda sp, x, y: x**y,
        interval="power",
        latex=Form("power"),
        numpy="np.power({all})",
        libraries={"torch": "pow"},
        transcendental=True,
        entry_time=12.0,
        vm=True,
        untaken=_power_untaken,
    ),
)
remainder = elementwise(
    "remainder",
    np.remainder,
    lambda z, x, y: np.ones_like(z),
    lambda z, x, y: -np.floor_divide(x, y),
    infix=("%", 20),
    columns=Columns(
        scalar={"f": "({0} % {1})", "i": "({0} % {1})"},
        mpmath=_mp_remainder,
        sympy="Mod",
        interval="remainder",
        latex=Form("infix", r"\bmod", 20),
        # The processor traps at -2**63 % -1.
        native={"i": "(0 if {1} == 0 or {1} == -1 else {0} % {1})"},
    ),
)
fmod = elementwise(
    "fmod",
    np.fmod,
    lambda z, x, y: np.ones_like(z),
    # The quotient may be rounded to the next whole number, as 1/0.1 is to 10.
    lambda z, x, y: -np.rint((x - z) / y),
    columns=function(
        "fmod",
        operands=2,
        mpmath=_mp_fmod,
        interval="fmod",
        sympy=lambda sp, x, y: x - sympy_trunc(sp, x / y) * y,
        transcendental=False,
    ),
)
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    lambda z, x: Diagonal(z) @ Diagonal(z) @ _NEGATED,
    columns=Columns(
        scalar={"f": "(1.0 / {0})"},  # NumPy's of a complex number has other zeros than a quotient
        decompose=lambda x: 1 / x,
        interval="reciprocal",
        latex=Form("wrapped", r"\frac{1}{@}", 30),
        vm=True,
    ),
)
square = elementwise(
    "square",
    np.square,
    lambda z, x: 2 * x,
    columns=Columns(
        in_words="power rule",
        decompose=lambda x: x * x,
        mpmath=lambda mp, x: x * x,
        interval=lambda iv, x: iv.even(np.square, x, iv.CORRECT, 0.0),
        latex=Form("squared"),
        native={"i": NATIVE_WRAPPED.format("uint64({0}) * uint64({0})")},
        vm=True,
    ),
)


# -- rounding: no edge, so no gradient flows -------------------------------------------------------
# (Python rounds to integers, which have no -0.)
def _rounding(ufunc: np.ufunc, python: str, mpmath: LibraryRow, **columns: Any) -> Op:
    name = ufunc.__name__
    return elementwise(
        name,
        ufunc,
        None,
        columns=Columns(
            scalar=f"math.copysign({python}({{0}}), {{0}})",
            mpmath=mpmath,
            interval=lambda iv, x: iv.monotone(ufunc, x, iv.EXACT),
            native={"f": f"np_{name}({{0}})"},
            **columns,
        ),
    )


floor = _rounding(
    np.floor,
    "math.floor",
    "floor",
    sympy="floor",
    latex=Form("wrapped", r"\left\lfloor @\right\rfloor ", 100),
)
ceil = _rounding(
    np.ceil,
    "math.ceil",
    "ceil",
    sympy="ceiling",
    latex=Form("wrapped", r"\left\lceil @\right\rceil ", 100),
)
trunc = _rounding(
    np.trunc, "math.trunc", lambda mp, x: mp.floor(x) if x > 0 else mp.ceil(x), sympy=sympy_trunc
)
rint = _rounding(
    np.rint,
    "round",
    lambda mp, x: mp.nint(x) if mp.isfinite(x) else x,
    libraries={"torch": f"{TORCH_FORMS}:rint"},
)
floor_divide = elementwise(
    "floor_divide",
    np.floor_divide,
    None,
    None,
    infix=("//", 20),
    columns=Columns(
        scalar={"f": "floor_divide({0}, {1})", "i": WRAPPED.format("{0} // {1}")},
        mpmath=_mp_floor_divide,
        sympy=lambda sp, x, y: sp.floor(x / y),
        interval="floor_divide",
        latex=Form("floored fraction"),
        native={
            "f": "({0} // {1})",
            "i": f"(0 if {{1}} == 0 else {NATIVE_NEGATED} if {{1}} == -1 else {{0}} // {{1}})",
        },
    ),
)
