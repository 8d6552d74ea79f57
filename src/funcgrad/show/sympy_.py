"""Programs as SymPy's expressions: numbers, and operations that act entry by entry.

An array variable becomes a symbol that stands for any one of its entries. SymPy is imported when first
asked for; it is no dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.show.functions import is_tuple, written_out
from funcgrad.show.naming import array_of, distinct, name_of

# SymPy recurses over its trees, and sees a shared part anew at each use.
DEEPEST, LARGEST = 150, 20_000


_TRUTH = MappingProxyType(
    {f"bitwise_{name}": f"logical_{name}" for name in ("and", "or", "xor")}
    | {"invert": "logical_not"}
)


def to_sympy(expr: Expr) -> Any:
    """The expression as SymPy's: variables become symbols of their names, without assumptions.

    Whole numbers become integers; others keep the digits that they have. SymPy puts terms in its own
    order and may simplify: ``x - x`` is 0. Calls are written out, and branches become `Piecewise`.

    Raises ImportError where SymPy is not installed; ValueError for operations that it has not (those
    that combine or move entries, and loops), and for what is too deep or too large for it; TypeError for
    what is no expression.

    >>> import sympy, funcgrad as fg
    >>> x = fg.var("x")
    >>> to_sympy(fg.sin(x) ** 2 / 3).diff(sympy.Symbol("x"))
    2*sin(x)*cos(x)/3
    """
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
    _check_size(nodes)
    functions = _functions(sympy)
    became: dict[Key, Any] = {}
    for e in nodes:
        if e.op is INPUT:
            became[e.key] = sympy.Symbol(name_of(e))
        elif e.op is CONSTANT:
            became[e.key] = _number(sympy, array_of(e))
        else:
            # Bits are truth values' only where the operands are.
            truth = e.dtype == bool and e.op.name.startswith(("bitwise_", "invert"))
            function = functions.get(_TRUTH[e.op.name] if truth else e.op.name)
            if function is None:
                raise ValueError(
                    f"to_sympy: expected numbers and operations entry by entry, but got {e.op.name!r}"
                    f" of {e.args[0].type}; use to_latex, or write the entries out"
                )
            became[e.key] = _made(e, function, [became[arg.key] for arg in e.args])
    return became[expr.key]


def _made(expr: Expr, function: Callable[..., Any], parts: list[Any]) -> Any:
    try:
        return function(*parts)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:80]
        raise ValueError(
            f"to_sympy: expected operands that SymPy takes, but {expr.op.name!r} fails: {why}; use "
            "to_latex"
        ) from None


def _refuse_tuples(nodes: list[Expr]) -> None:
    for e in nodes:
        if is_tuple(e):
            name = dict(e.params)["problem"].who if "problem" in dict(e.params) else e.op.name
            raise ValueError(
                f"to_sympy: expected operations entry by entry, but got {name!r}, which SymPy has not; "
                "use to_latex, or write the turns of a short loop in Python"
            )


def _check_size(nodes: list[Expr]) -> None:
    depth: dict[Key, int] = {}
    size: dict[Key, int] = {}
    for e in nodes:
        depth[e.key] = 1 + max([depth[arg.key] for arg in e.args], default=0)
        size[e.key] = 1 + sum(min(size[arg.key], LARGEST) for arg in e.args)
    root = nodes[-1].key
    if depth[root] > DEEPEST:
        raise ValueError(
            f"to_sympy: expected at most {DEEPEST} parts within parts, but got {depth[root]}; SymPy "
            "recurses over them"
        )
    if size[root] > LARGEST:
        raise ValueError(
            f"to_sympy: expected at most {LARGEST} parts written out, but got more; SymPy does not "
            "keep shared parts, so convert them one by one"
        )


def _number(sympy: Any, array: Any) -> Any:
    if array.size == 0 or not np.all((array == array.flat[0]) | (array != array)):
        raise ValueError(
            "to_sympy: expected numbers as constants, but got an array of "
            f"{array.dtype}{list(array.shape)}; make a variable of it"
        )
    value = array.flat[0].item()
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, complex):
        return _real(sympy, value.real) + sympy.I * _real(sympy, value.imag)
    return _real(sympy, value)


def _real(sympy: Any, value: float) -> Any:
    if value != value:
        return sympy.nan
    if value in (np.inf, -np.inf):
        return sympy.oo if value > 0 else -sympy.oo
    return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)


@lru_cache(maxsize=1)
def _functions(sp: Any) -> Mapping[str, Callable[..., Any]]:
    """What each operation is in SymPy: its function of the same name, where nothing else is said."""
    one = sp.Integer(1)
    table: dict[str, Callable[..., Any]] = {
        name: getattr(sp, name) for name in ("exp", "log", "sqrt", "cbrt", "sign", "conjugate")
    }
    for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
        table[name] = getattr(sp, name)
        table["arc" + name] = getattr(sp, "a" + name)
    table |= {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "divide": lambda x, y: x / y,
        "power": lambda x, y: x**y,
        "negative": lambda x: -x,
        "positive": lambda x: x,
        "reciprocal": lambda x: one / x,
        "square": lambda x: x**2,
        "remainder": sp.Mod,
        "floor_divide": lambda x, y: sp.floor(x / y),
        "exp2": lambda x: sp.Integer(2) ** x,
        "expm1": lambda x: sp.exp(x) - 1,
        "log2": lambda x: sp.log(x, 2),
        "log10": lambda x: sp.log(x, 10),
        "log1p": lambda x: sp.log(x + 1),
        "logaddexp": lambda x, y: sp.log(sp.exp(x) + sp.exp(y)),
        "logaddexp2": lambda x, y: sp.log(sp.Integer(2) ** x + sp.Integer(2) ** y, 2),
        "hypot": lambda x, y: sp.sqrt(x**2 + y**2),
        "arctan2": sp.atan2,
        "deg2rad": lambda x: x * sp.pi / 180,
        "rad2deg": lambda x: x * 180 / sp.pi,
        "absolute": sp.Abs,
        "fabs": sp.Abs,
        "real": sp.re,
        "imag": sp.im,
        "floor": sp.floor,
        "ceil": sp.ceiling,
        "maximum": sp.Max,
        "minimum": sp.Min,
        "fmax": sp.Max,
        "fmin": sp.Min,
        "sigmoid": lambda x: 1 / (1 + sp.exp(-x)),
        "softplus": lambda x: sp.log(1 + sp.exp(x)),
        "xlogx": lambda x: x * sp.log(x),
        "where": lambda p, x, y: sp.Piecewise((x, p), (y, True)),
        "mask": lambda p, x: sp.Piecewise((x, p), (0, True)),
        "less": sp.Lt,
        "less_equal": sp.Le,
        "greater": sp.Gt,
        "greater_equal": sp.Ge,
        "equal": sp.Eq,
        "not_equal": sp.Ne,
        "logical_and": sp.And,
        "logical_or": sp.Or,
        "logical_xor": sp.Xor,
        "logical_not": sp.Not,
        "broadcast_to": lambda x: x,
        "astype": lambda x: x,
        "leaf": lambda x: x,
        "name": lambda x: x,
        "stop_gradient": lambda x: x,
    }
    return MappingProxyType(table)
