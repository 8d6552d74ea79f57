"""How each operation is written in LaTeX: fractions, powers, roots, cases, subscripts, or as a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from funcgrad.expr import Expr
from funcgrad.ops.base.columns import Form
from funcgrad.ops.base.op import Op, broadcast_to, columns_of
from funcgrad.show.written import Written

ATOM, CALL, POWER, UNARY, PRODUCT, SUM, CASES = 100, 99, 40, 30, 20, 10, 1


def latex_parenthesized(part: Written, binding: int) -> str:
    """An operand's text, in parentheses where it binds less than it must."""
    return part.text if part.binding >= binding else rf"\left({part.text}\right)"


def grouped(texts: tuple[str, ...]) -> str:
    """One text as it is, several as a tuple."""
    return texts[0] if len(texts) == 1 else rf"\left({', '.join(texts)}\right)"


def escaped(text: str) -> str:
    """A name or a text as LaTeX prints it."""
    # In \text, braces and the like need their backslash, and a backslash its name.
    return "".join(rf"\{c}" if c in "#$%&_{}" else {"\\": "/"}.get(c, c) for c in text)


def latex_call(expr: Expr, operation: Op, parts: list[Written]) -> Written:
    """``name(operands; params)``, which every operation has; an axis stands below the name."""
    head = _head(operation) or rf"\operatorname{{{escaped(operation.name)}}}"
    params = dict(expr.params)
    axis = params.pop("axis", None)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if axis is not None and axes != tuple(range(expr.args[0].ndim)):
        head += f"_{{{', '.join(map(str, axes))}}}"
    inside = [p.text for p in parts]
    said = [f"{key}={value}" for key, value in params.items() if value is not False]
    inside += [rf"\text{{{escaped(text)}}}" for text in said]
    return Written(rf"{head}\left({', '.join(inside)}\right)", CALL)


# -- operations with a notation of their own -----------------------------------------------------
LatexWriter: TypeAlias = Callable[[Expr, list[Written]], Written | None]


def _infix(symbol: str, binding: int) -> LatexWriter:
    def write(expr: Expr, parts: list[Written]) -> Written:
        left, right = latex_parenthesized(parts[0], binding), parts[1]
        # A sum may stand to the right of a plus without parentheses, and x + -3 reads as x - 3.
        if symbol == "+" and right.text.startswith("-") and right.binding >= PRODUCT:
            return Written(f"{left} - {right.text[1:]}", binding)
        within = ATOM if right.text.startswith("-") else binding + (symbol != "+")
        return Written(f"{left} {symbol} {latex_parenthesized(right, within)}", binding)

    return write


def _convolution(expr: Expr, parts: list[Written]) -> Written | None:
    """The entries that are kept stand below the sign, if they are not all."""
    kept = dict(expr.params)["kept"]
    if kept == "full":
        return _infix("*", PRODUCT)(expr, parts)
    below = rf"\text{{{kept}}}" if isinstance(kept, str) else f"{kept[0]}:{sum(kept)}"
    return _infix(f"*_{{{below}}}", PRODUCT)(expr, parts)


def _product(expr: Expr, parts: list[Written]) -> Written:
    left, right = latex_parenthesized(parts[0], PRODUCT), _factor(parts[1])
    if all([_is_read_as_array(arg, part) for arg, part in zip(expr.args, parts, strict=True)]):
        sign = r" \odot "
    elif right[0].isdigit() or left[-1] == "." or (left[-1].isdigit() and right[0] == "."):
        sign = r" \cdot "
    else:
        simple = re.fullmatch(r"-?[0-9.]+", left) is not None
        sign = " " if simple else r" \, "
    return Written(f"{left}{sign}{right}", PRODUCT)


def _is_read_as_array(operand: Expr, part: Written) -> bool:
    """Whether a factor is written as an array; a number that is spread is, where its ones are written."""
    if operand.op is not broadcast_to or operand.args[0].ndim:
        return bool(operand.ndim)
    return re.search(r"\\mathbf\{1\}_\{[^}]*\}$", part.text) is not None


def _factor(part: Written) -> str:
    return latex_parenthesized(part, ATOM if part.text.startswith("-") else PRODUCT)


def _matrix_product(expr: Expr, parts: list[Written]) -> Written:
    # A product of matrices is read from the left; a vector on the left is a row.
    x, y = expr.args
    if x.ndim == 1 and not (x.op.name == "matmul" and x.args[0].ndim == 1):
        left = rf"{latex_parenthesized(parts[0], CALL)}^{{\top}}"
    else:
        left = latex_parenthesized(parts[0], PRODUCT if x.op is expr.op else UNARY)
    right = latex_parenthesized(parts[1], PRODUCT if y.op is expr.op and x.ndim == 1 else UNARY + 1)
    return Written(rf"{left} \, {right}", PRODUCT)


def _outer(expr: Expr, parts: list[Written]) -> Written:
    column = latex_parenthesized(parts[0], UNARY)
    return Written(rf"{column} \, {latex_parenthesized(parts[1], ATOM)}^{{\top}}", PRODUCT)


def _fraction(expr: Expr, parts: list[Written]) -> Written:
    return Written(rf"\frac{{{parts[0].text}}}{{{parts[1].text}}}", UNARY)


def _floored_fraction(expr: Expr, parts: list[Written]) -> Written:
    return Written(rf"\left\lfloor {_fraction(expr, parts).text}\right\rfloor ", ATOM)


def _power(expr: Expr, parts: list[Written]) -> Written:
    return _raised(expr.args[0], parts[0], parts[1].text)


def _raised(base: Expr, part: Written, exponent: str) -> Written:
    # sin^2(x), but not sin^{-1}(x), which is read as the inverse function.
    head = _head(base.op) if base.op and base.args else None
    if head in _RAISABLE and part.text.startswith(head + r"\left(") and exponent.isdigit():
        return Written(f"{head}^{{{exponent}}}{part.text[len(head) :]}", POWER)
    return Written(f"{latex_parenthesized(part, ATOM)}^{{{exponent}}}", POWER)


def _negative(expr: Expr, parts: list[Written]) -> Written:
    return Written("-" + _factor(parts[0]), PRODUCT)


def _norm(expr: Expr, parts: list[Written]) -> Written | None:
    if dict(expr.params).get("axis") != tuple(range(expr.args[0].ndim)):
        return None
    return Written(rf"\left\lVert {parts[0].text}\right\rVert", ATOM)


def _cases(expr: Expr, parts: list[Written]) -> Written:
    condition, chosen = parts[0].text, parts[1].text
    other = parts[2].text if len(parts) > 2 else "0"
    return Written(
        rf"\begin{{cases}} {chosen} & \text{{if }} {condition} \\ {other} & \text{{otherwise}} "
        r"\end{cases}",
        CASES,
    )


def _transposed(expr: Expr, parts: list[Written]) -> Written | None:
    if dict(expr.params)["axes"] != (1, 0):
        return None
    return Written(rf"{latex_parenthesized(parts[0], ATOM)}^{{\top}}", POWER)


def _reshaped(expr: Expr, parts: list[Written]) -> Written:
    lengths = r" \times ".join(map(str, expr.shape)) or "()"
    return Written(rf"\operatorname{{reshape}}_{{{lengths}}}\left({parts[0].text}\right)", CALL)


def _inverse(expr: Expr, parts: list[Written]) -> Written:
    return Written(f"{latex_parenthesized(parts[0], ATOM)}^{{-1}}", POWER)


def _derivative(head: str) -> LatexWriter:
    """A function's derivative of an order."""

    def write(expr: Expr, parts: list[Written]) -> Written:
        order = dict(expr.params)["order"]
        above = f"^{{({order})}}" if order else ""
        return Written(rf"{head}{above}\left({parts[0].text}\right)", CALL)

    return write


def _hermitian(expr: Expr, parts: list[Written]) -> Written:
    """A function of a matrix, with the triangle that it reads if that is not the lower one."""
    below = "" if dict(expr.params)["triangle"] == "L" else r"_{\mathrm{U}}"
    head = rf"\operatorname{{{escaped(expr.op.name)}}}{below}"
    return Written(rf"{head}\left({parts[0].text}\right)", CALL)


def _triangle(expr: Expr, parts: list[Written]) -> Written:
    k = dict(expr.params)["k"]
    head = rf"\operatorname{{{expr.op.name}}}" + (f"_{{{k}}}" if k else "")
    return Written(rf"{head}\left({parts[0].text}\right)", CALL)


def _indexed(expr: Expr, parts: list[Written]) -> Written:
    below = _index(expr, parts[1:])
    return Written(_subscripted(latex_parenthesized(parts[0], ATOM), below), ATOM)


def _stored(sign: str) -> LatexWriter:
    """An array with entries changed, as a function at some of its arguments: v[0 ↦ 2]."""

    def write(expr: Expr, parts: list[Written]) -> Written:
        base = latex_parenthesized(parts[0], ATOM)
        return _changed(base, _index(expr, parts[2:]), sign, parts[1])

    return write


def _scattered(expr: Expr, parts: list[Written]) -> Written:
    lengths = r" \times ".join(map(str, expr.shape)) or "()"
    zeros = rf"\mathbf{{0}}_{{{lengths}}}"
    return _changed(zeros, _index(expr, parts[1:]), _INCREASED, parts[0])


def _changed(base: str, index: str, sign: str, value: Written) -> Written:
    return Written(rf"{base}\left[{index} {sign} {latex_parenthesized(value, SUM)}\right]", CALL)


_INCREASED = r"\mathrel{{+}{=}}"


def _index(expr: Expr, arrays: list[Written]) -> str:
    """The index of an operation on entries, as it stands between brackets."""
    rest = iter([p.text for p in arrays])
    items = []
    for item in dict(expr.params)["spec"]:
        if isinstance(item, tuple):
            bounds = ["" if b is None else str(b) for b in item[1:]]
            items.append("{:}".join(bounds[:2] if not bounds[2] else bounds))
        elif item == "array":
            items.append(next(rest))
        else:
            items.append({"new": r"\mathrm{new}", "...": r"\ldots"}.get(item, str(item)))
    return ", ".join(items)


def _subscripted(head: str, below: object) -> str:
    # A second subscript is an error in LaTeX; braces close the first.
    return f"{{{head}}}_{{{below}}}" if "_" in head else f"{head}_{{{below}}}"


def _part(expr: Expr, parts: list[Written]) -> Written:
    return Written(
        _subscripted(latex_parenthesized(parts[0], CALL - 1), dict(expr.params)["index"]), ATOM
    )


def _complex_parts(expr: Expr, parts: list[Written]) -> Written:
    return Written(
        rf"{latex_parenthesized(parts[0], SUM)} + \mathrm{{i}} \, {_factor(parts[1])}", SUM
    )


def _tuple(expr: Expr, parts: list[Written]) -> Written:
    return Written(grouped(tuple([p.text for p in parts])), ATOM)


def _named_call(expr: Expr, parts: list[Written]) -> Written:
    name = escaped(dict(expr.params)["function"].name)
    return Written(
        rf"\operatorname{{{name}}}\left({', '.join([p.text for p in parts])}\right)", CALL
    )


_FORMS: Mapping[str, LatexWriter] = MappingProxyType(
    {
        "product": _product,
        "matrix product": _matrix_product,
        "outer": _outer,
        "fraction": _fraction,
        "floored fraction": _floored_fraction,
        "power": _power,
        "squared": lambda expr, parts: _raised(expr.args[0], parts[0], "2"),
        "negative": _negative,
        "operand": lambda expr, parts: parts[0],
        "norm": _norm,
        "cases": _cases,
        "convolution": _convolution,
        "transposed": _transposed,
        "indexed": _indexed,
        "reshaped": _reshaped,
        "inverse": _inverse,
        "polygamma": _derivative(r"\psi"),
        "sinc": _derivative(r"\operatorname{sinc}"),
        "hermitian": _hermitian,
        "triangle": _triangle,
        "set": _stored(r"\mapsto"),
        "increased": _stored(_INCREASED),
        "scattered": _scattered,
        "part": _part,
        "parts": _complex_parts,
        "tuple": _tuple,
        "named call": _named_call,
    }
)
"""The notations of the column ``latex`` by the names of their forms."""


def special(expr: Expr, parts: list[Written]) -> Written | None:
    """A node in the notation of its own that its operation has; None if it is written as a call."""
    row = columns_of(expr).latex
    form = row.get(expr.dtype.kind) if isinstance(row, Mapping) else row
    if not isinstance(form, Form):
        return None
    if form.name == "infix":
        return _infix(form.text, form.binding)(expr, parts)
    if form.name == "wrapped":
        return Written(form.text.replace("@", parts[0].text), form.binding)
    return _FORMS[form.name](expr, parts)


def _head(operation: Op) -> str | None:
    row = operation.columns.latex
    return row if isinstance(row, str) else None


_RAISABLE = frozenset((r"\sin", r"\cos", r"\tan", r"\sinh", r"\cosh", r"\tanh", r"\log"))
"""Functions whose powers are written at their names, as in sin²(x)."""
