"""Programs as SymPy's expressions: numbers, and operations that act entry by entry.

An array variable becomes a symbol that stands for any one of its entries. SymPy is an optional dependency,
imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import Algebra, fold, folded_by_key
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import columns_of
from funcgrad.rewrite.decompose import decomposed
from funcgrad.show.functions import is_tuple, written_out
from funcgrad.show.naming import distinct
from funcgrad.show.program_at import formula_at
from funcgrad.source import value_error
from funcgrad.typing import FunctionLibrary

# SymPy recurses over its trees, and sees a shared part anew at each use.
DEEPEST, LARGEST = 150, 20_000


def to_sympy(f: Callable[..., Any] | Expr, /, *args: Any) -> Any:
    """An expression, or a function at arguments, as SymPy's: variables become
    symbols of their names.

    Symbols have no assumptions. Whole numbers become integers; others keep the
    digits that they have. SymPy puts terms in its own order and may simplify:
    ``x - x`` is 0. Calls are written out, and branches become `Piecewise`.

    Raises ImportError where SymPy is not installed; ValueError for operations
    that it has not (those that combine or move entries, and loops), and for
    what is too deep or too large for it; TypeError if ``f`` is neither.

    >>> import sympy, funcgrad as fg
    >>> x = fg.var("x")
    >>> to_sympy(fg.sin(x) ** 2 / 3).diff(sympy.Symbol("x"))
    2*sin(x)*cos(x)/3
    """
    expr = formula_at("to_sympy", f, args)
    distinct(expr, "to_sympy", LARGEST, "use to_latex to see it")
    expr = written_out(expr, LARGEST, "to_sympy")
    nodes = distinct(expr, "to_sympy", LARGEST, "use to_latex to see it")
    _refuse_tuples(nodes)
    try:
        import sympy
    except ImportError:
        raise ImportError(
            "to_sympy: expected SymPy, but it is not installed; run: pip install sympy"
        ) from None
    _check_size(expr)
    (expr,) = decomposed([expr], lambda e: not e.args or columns_of(e).sympy is not None)
    distinct(expr, "to_sympy", LARGEST, "use to_latex to see it")
    return fold(expr, _algebra(sympy))


def _algebra(sympy: FunctionLibrary) -> Algebra[Any]:
    def op(e: Expr, parts: tuple[Any, ...]) -> Any:
        function = in_library(columns_of(e).sympy, sympy, e.dtype.kind)
        if function is None:
            raise value_error(
                f"to_sympy: expected numbers and operations entry by entry, but got {e.op.name!r}"
                f" of {e.args[0].type}; use to_latex, or write the entries out",
            )
        return _made(e, function, parts)

    return Algebra(lambda e: sympy.Symbol(e.name), lambda e: _number(sympy, e.value), op)


def _made(expr: Expr, function: Callable[..., Any], parts: tuple[Any, ...]) -> Any:
    try:
        return function(*parts, **dict(expr.params))
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:80]
        raise value_error(
            f"to_sympy: expected operands that SymPy takes, but {expr.op.name!r} fails: {why}; use "
            "to_latex",
        ) from None


def _refuse_tuples(nodes: list[Expr]) -> None:
    for e in nodes:
        if is_tuple(e):
            name = dict(e.params)["problem"].who if "problem" in dict(e.params) else e.op.name
            raise value_error(
                f"to_sympy: expected operations entry by entry, but got {name!r}; "
                "use to_latex, or write the turns of a short loop in Python",
            )


def _check_size(root: Expr) -> None:
    def step(_: Expr, parts: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        depth = 1 + max([depth for depth, _ in parts], default=0)
        return depth, 1 + sum([min(size, LARGEST) for _, size in parts])

    ((depth, size),) = folded_by_key([root], step)
    if depth > DEEPEST:
        raise value_error(
            f"to_sympy: expected at most {DEEPEST} parts within parts, but got {depth}; SymPy "
            "recurses over them",
        )
    if size > LARGEST:
        raise value_error(
            f"to_sympy: expected at most {LARGEST} parts written out, but got more; SymPy does not "
            "keep shared parts, so convert them one by one",
        )


def _number(sympy: Any, array: Any) -> Any:
    if array.size == 0 or not np.all((array == array.flat[0]) | (array != array)):
        raise value_error(
            "to_sympy: expected numbers as constants, but got an array of "
            f"{array.dtype}{list(array.shape)}; make a variable of it",
        )
    value = array.flat[0].item()
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, complex):
        return _real(sympy, value.real) + sympy.I * _real(sympy, value.imag)
    return _real(sympy, value)


def _real(sympy: FunctionLibrary, value: float) -> Any:
    if value != value:
        return sympy.nan
    if value in (np.inf, -np.inf):
        return sympy.oo if value > 0 else -sympy.oo
    return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)
