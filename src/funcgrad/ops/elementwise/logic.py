"""Comparisons, logical and bitwise operations, and tests of a number: no gradient flows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, any_kind, by_truth, function
from funcgrad.ops.base.op import Elementwise, Infix, Op, elementwise
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.ops.elementwise.declare import BOTH, DIFFER, EITHER


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


def _comparison(
    name: str,
    ufunc: np.ufunc,
    symbol: str,
    latex: str,
    relation: str,
    compare: Callable[..., Any],
    torch: str,
) -> Op:
    return Comparison(
        name=name,
        run=ufunc,
        infer=partial(ufunc_loop, ufunc),  # type: ignore[arg-type]
        edges=(None, None),
        infix=Infix(symbol, 5),
        columns=Columns(
            scalar=any_kind(f"({{0}} {symbol} {{1}})"),
            mpmath=compare,
            sympy=relation,
            interval=name,
            latex=Form("infix", latex, 5),
            libraries={"torch": torch},
            vm=True,
        ),
    )


less = _comparison(
    "less",
    np.less,
    "<",
    r"\lt",
    "Lt",
    lambda mp, x, y: x < y,
    f"{TORCH_FORMS}:less",
)
less_equal = _comparison(
    "less_equal",
    np.less_equal,
    "<=",
    r"\le",
    "Le",
    lambda mp, x, y: x <= y,
    f"{TORCH_FORMS}:less_equal",
)
greater = _comparison(
    "greater",
    np.greater,
    ">",
    r"\gt",
    "Gt",
    lambda mp, x, y: x > y,
    f"{TORCH_FORMS}:greater",
)
greater_equal = _comparison(
    "greater_equal",
    np.greater_equal,
    ">=",
    r"\ge",
    "Ge",
    lambda mp, x, y: x >= y,
    f"{TORCH_FORMS}:greater_equal",
)
equal = _comparison("equal", np.equal, "==", "=", "Eq", lambda mp, x, y: x == y, "eq")
not_equal = _comparison(
    "not_equal", np.not_equal, "!=", r"\ne", "Ne", lambda mp, x, y: x != y, "not_equal"
)

# -- logical ---------------------------------------------------------------------------------------
logical_and = elementwise(
    "logical_and",
    np.logical_and,
    None,
    None,
    columns=Columns(
        scalar={"f": "({0} != 0.0 and {1} != 0.0)", "i": "({0} != 0 and {1} != 0)", "b": BOTH},
        mpmath=lambda mp, x, y: bool(x) and bool(y),
        sympy="And",
        interval="both",
        latex=Form("infix", r"\land", 3),
        vm=True,
    ),
)
logical_or = elementwise(
    "logical_or",
    np.logical_or,
    None,
    None,
    columns=Columns(
        scalar={"f": "({0} != 0.0 or {1} != 0.0)", "i": "({0} != 0 or {1} != 0)", "b": EITHER},
        mpmath=lambda mp, x, y: bool(x) or bool(y),
        sympy="Or",
        interval="either",
        latex=Form("infix", r"\lor", 2),
        vm=True,
    ),
)
logical_xor = elementwise(
    "logical_xor",
    np.logical_xor,
    None,
    None,
    columns=Columns(
        scalar={
            "f": "(({0} != 0.0) != ({1} != 0.0))",
            "i": "(({0} != 0) != ({1} != 0))",
            "b": DIFFER,
        },
        mpmath=lambda mp, x, y: bool(x) != bool(y),
        sympy="Xor",
        interval="differ",
        native={"b": "({0} != {1})"},
        vm=True,
    ),
)
logical_not = elementwise(
    "logical_not",
    np.logical_not,
    None,
    columns=Columns(
        scalar={"f": "({0} == 0.0)", "i": "({0} == 0)", "b": "(not {0})"},
        mpmath=lambda mp, x: not x,
        sympy="Not",
        interval="neither",
        latex=r"\lnot",
        vm=True,
    ),
)

# -- bitwise ---------------------------------------------------------------------------------------
bitwise_and = elementwise(
    "bitwise_and",
    np.bitwise_and,
    None,
    None,
    infix=("&", 8),
    columns=Columns(
        scalar={"i": "({0} & {1})", "b": BOTH},
        sympy={"b": "And"},
        interval=by_truth("both", lambda iv, x, y: iv.certain(np.bitwise_and, x, y)),
        latex={"b": Form("infix", r"\land", 3)},
        vm=True,
    ),
)
bitwise_or = elementwise(
    "bitwise_or",
    np.bitwise_or,
    None,
    None,
    infix=("|", 6),
    columns=Columns(
        scalar={"i": "({0} | {1})", "b": EITHER},
        sympy={"b": "Or"},
        interval=by_truth("either", lambda iv, x, y: iv.certain(np.bitwise_or, x, y)),
        latex={"b": Form("infix", r"\lor", 2)},
        vm=True,
    ),
)
bitwise_xor = elementwise(
    "bitwise_xor",
    np.bitwise_xor,
    None,
    None,
    infix=("^", 7),
    columns=Columns(
        scalar={"i": "({0} ^ {1})", "b": DIFFER},
        sympy={"b": "Xor"},
        interval=by_truth("differ", lambda iv, x, y: iv.certain(np.bitwise_xor, x, y)),
        native={"b": "({0} != {1})"},
        vm=True,
    ),
)
invert = elementwise(
    "invert",
    np.invert,
    None,
    columns=Columns(
        scalar={"i": "(~{0})", "b": "(not {0})"},
        sympy={"b": "Not"},
        interval={"b": "neither"},
        libraries={"torch": "bitwise_not"},
        vm=True,
    ),
)

# -- tests of a number -----------------------------------------------------------------------------
isfinite = elementwise(
    "isfinite",
    np.isfinite,
    None,
    columns=function(
        "isfinite",
        mpmath="isfinite",
        interval="isfinite",
        transcendental=False,
    ),
)
isinf = elementwise(
    "isinf",
    np.isinf,
    None,
    columns=function(
        "isinf",
        mpmath="isinf",
        interval=lambda iv, x: iv.neither(iv.isfinite(x)),
        transcendental=False,
    ),
)
isnan = elementwise(
    "isnan",
    np.isnan,
    None,
    columns=function(
        "isnan",
        mpmath="isnan",
        interval="zero",
        transcendental=False,
    ),
)
