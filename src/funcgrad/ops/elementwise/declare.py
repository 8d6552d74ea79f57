"""How elementwise operations are declared by their edges, and templates that several share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.ops.base.columns import EMPTY, Columns, LatexRow, LibraryRow, function
from funcgrad.ops.base.op import Elementwise, Infix, Op, elementwise
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.typing import Array

# Integers of Python wrap as those of int64 do.
WRAPPED = "((({} + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000)"
# For machine code, arithmetic on unsigned numbers, which wraps around.
NATIVE_WRAPPED = "int64({})"
NATIVE_NEGATED = NATIVE_WRAPPED.format("uint64(0) - uint64({0})")
BOTH, EITHER, DIFFER = "({0} and {1})", "({0} or {1})", "({0} is not {1})"


def elementwise_from_edges(
    ufunc: np.ufunc,
    *edges: Any,
    infix: tuple[str, int] | None = None,
    notation: Callable[..., Any] | None = None,
    columns: Columns = EMPTY,
) -> Op:
    """An elementwise operation from its ufunc and edges that are linear maps, not partial derivatives."""
    return Elementwise(
        columns=columns,
        notation=notation,
        name=ufunc.__name__,
        run=ufunc,
        infer=partial(ufunc_loop, ufunc),  # type: ignore[arg-type]
        edges=edges,
        infix=infix and Infix(*infix),
    )


def common_function(
    ufunc: np.ufunc,
    partial: Callable[..., Any],
    interval: LibraryRow,
    latex: LatexRow | None = None,
    *,
    vm: bool = True,
    **columns: Any,
) -> Op:
    """A function that `math`, `cmath`, mpmath and SymPy have under NumPy's name, or as asin for arcsin."""
    name = ufunc.__name__
    common = name.replace("arc", "a")
    return elementwise(
        name,
        ufunc,
        partial,
        columns=function(
            common,
            of_complex=True,
            mpmath=common,
            sympy=common,
            interval=interval,
            latex=latex or f"\\{name}",
            vm=vm,
            **columns,
        ),
    )


def sort_key(number: Array) -> tuple[Any, Any]:
    """What NumPy orders complex numbers by: the real parts, and where these are equal the imaginary ones."""
    return number.real, number.imag
