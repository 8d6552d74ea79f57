"""Comparisons, logical and bitwise operations, and tests of a number: no gradient flows."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.columns import (
    TORCH_FORMS,
    Columns,
    Form,
    LibraryRow,
    any_kind,
    by_truth,
    function,
    of_floats,
)
from funcgrad.ops.base.op import Elementwise, Infix, Op, elementwise
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.ops.elementwise.declare import BOTH, DIFFER, EITHER, WRAPPED, sort_key
from funcgrad.typing import Array, FunctionLibrary


class Comparison(Elementwise):
    """A comparison: a Python integer that the other operand's integer dtype cannot hold is compared exactly.

    As in NumPy, ``x == 256`` is False for x of dtype uint8. No x equals such an integer, and all of them
    lie on one side of it; so an infinity of its sign stands for it.
    """

    def __call__(self, *args: object, **params: object) -> Any:
        try:
            return super().__call__(*args, **params)
        except OverflowError:
            if not any([type(arg) is Expr and arg.dtype.kind in "iu" for arg in args]):
                raise
            return super().__call__(
                *[math.copysign(math.inf, arg) if type(arg) is int else arg for arg in args]
            )


def _compared(compare: Callable[..., Any], mp: FunctionLibrary, x: Array, y: Array) -> Any:
    ordered = compare not in (operator.eq, operator.ne)
    if ordered and (isinstance(x, mp.mpc) or isinstance(y, mp.mpc)):
        return compare(sort_key(x), sort_key(y))
    return compare(x, y)


def _comparison(
    ufunc: np.ufunc, symbol: str, latex: str, relation: str, compare: Callable[..., Any], torch: str
) -> Op:
    name, text = ufunc.__name__, f"({{0}} {symbol} {{1}})"
    return Comparison(
        name=name,
        run=ufunc,
        infer=partial(ufunc_loop, ufunc),  # type: ignore[arg-type]
        edges=(None, None),
        infix=Infix(symbol, 5),
        columns=Columns(
            scalar=any_kind(text) if symbol in ("==", "!=") else dict.fromkeys("fib", text),
            mpmath=partial(_compared, compare),
            sympy=relation,
            interval=name,
            latex=Form("infix", latex, 5),
            libraries={"torch": torch},
            vm=True,
        ),
    )


less = _comparison(np.less, "<", r"\lt", "Lt", operator.lt, f"{TORCH_FORMS}:less")
less_equal = _comparison(
    np.less_equal, "<=", r"\le", "Le", operator.le, f"{TORCH_FORMS}:less_equal"
)
greater = _comparison(np.greater, ">", r"\gt", "Gt", operator.gt, f"{TORCH_FORMS}:greater")
greater_equal = _comparison(
    np.greater_equal, ">=", r"\ge", "Ge", operator.ge, f"{TORCH_FORMS}:greater_equal"
)
equal = _comparison(np.equal, "==", "=", "Eq", operator.eq, "eq")
not_equal = _comparison(np.not_equal, "!=", r"\ne", "Ne", operator.ne, "not_equal")


# -- logical ---------------------------------------------------------------------------------------
def _connective(
    ufunc: np.ufunc, python: str, truth: str, compare: Callable[..., Any], **columns: Any
) -> Op:
    """An operation of two truth values, for numbers those of being nonzero."""
    return elementwise(
        ufunc.__name__,
        ufunc,
        None,
        None,
        columns=Columns(
            scalar={
                **of_floats(f"(({{0}} != 0.0) {python} ({{1}} != 0.0))"),
                "i": f"(({{0}} != 0) {python} ({{1}} != 0))",
                "b": truth,
            },
            mpmath=lambda mp, x, y: compare(bool(x), bool(y)),
            vm=True,
            **columns,
        ),
    )


_AND, _OR = Form("infix", r"\land", 3), Form("infix", r"\lor", 2)
_DIFFER_NATIVE = {"b": "({0} != {1})"}
logical_and = _connective(
    np.logical_and, "and", BOTH, operator.and_, sympy="And", interval="both", latex=_AND
)
logical_or = _connective(
    np.logical_or, "or", EITHER, operator.or_, sympy="Or", interval="either", latex=_OR
)
logical_xor = _connective(
    np.logical_xor,
    "!=",
    DIFFER,
    operator.xor,
    sympy="Xor",
    interval="differ",
    native=_DIFFER_NATIVE,
)
logical_not = elementwise(
    "logical_not",
    np.logical_not,
    None,
    columns=Columns(
        scalar={**of_floats("({0} == 0.0)"), "i": "({0} == 0)", "b": "(not {0})"},
        mpmath=lambda mp, x: not x,
        sympy="Not",
        interval="neither",
        latex=r"\lnot",
        vm=True,
    ),
)


# -- bitwise ---------------------------------------------------------------------------------------
def _bitwise(
    ufunc: np.ufunc, infix: tuple[str, int], truth: str, sympy: str, interval: str, **columns: Any
) -> Op:
    """An operation on the bits of integers, and on truth values."""
    return elementwise(
        ufunc.__name__,
        ufunc,
        None,
        None,
        infix=infix,
        columns=Columns(
            scalar={"i": f"({{0}} {infix[0]} {{1}})", "b": truth},
            sympy={"b": sympy},
            interval=by_truth(interval, lambda iv, x, y: iv.certain(ufunc, x, y)),
            vm=True,
            **columns,
        ),
    )


bitwise_and = _bitwise(np.bitwise_and, ("&", 8), BOTH, "And", "both", latex={"b": _AND})
bitwise_or = _bitwise(np.bitwise_or, ("|", 6), EITHER, "Or", "either", latex={"b": _OR})
bitwise_xor = _bitwise(np.bitwise_xor, ("^", 7), DIFFER, "Xor", "differ", native=_DIFFER_NATIVE)


def _bit_shift(ufunc: np.ufunc, symbol: str, beyond: str) -> Op:
    """A shift of an integer's bits, by any number of places: of more than it has, as NumPy's."""
    text = f"({{0}} {symbol} {{1}})"
    otherwise = f" if ({{1}} >= 0 and {{1}} < 64) else {beyond})"
    return elementwise(
        ufunc.__name__,
        ufunc,
        None,
        None,
        infix=(symbol, 9),
        columns=Columns(
            scalar={"i": f"({WRAPPED.format(text)}{otherwise}"},
            native={"i": f"({text}{otherwise}"},
            interval=lambda iv, x, y: iv.certain(ufunc, x, y),
            libraries={"torch": f"bitwise_{ufunc.__name__}"},
        ),
    )


left_shift = _bit_shift(np.left_shift, "<<", "0")
right_shift = _bit_shift(np.right_shift, ">>", "(-1 if {0} < 0 else 0)")
invert = elementwise(
    "invert",
    np.invert,
    None,
    columns=Columns(
        scalar={"i": "(~{0})", "b": "(not {0})"},
        sympy={"b": "Not"},
        interval={"b": "neither"},
        latex={"b": Form("wrapped", r"\lnot\left(@\right)", 99)},
        libraries={"torch": "bitwise_not"},
        vm=True,
    ),
)


# -- tests of a number -----------------------------------------------------------------------------
def _test(ufunc: np.ufunc, interval: LibraryRow) -> Op:
    name = ufunc.__name__
    columns = function(name, of_complex=True, mpmath=name, interval=interval, transcendental=False)
    return elementwise(name, ufunc, None, columns=columns)


isfinite = _test(np.isfinite, "isfinite")
isinf = _test(np.isinf, lambda iv, x: iv.neither(iv.isfinite(x)))
isnan = _test(np.isnan, "zero")
