"""Formulas in LaTeX, as a person would write them: fractions, powers, roots, Greek names, subscripts.

The fold is that of `funcgrad.show.text`: shared and long parts get names, and then the formula is an
``aligned`` block that begins with *let*; so it is linear in the graph. Broadcasts and casts that NumPy does
by itself are not written. A product of two arrays, entry by entry, has a circled dot; that of matrices has
none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import astype, broadcast_to, leaf
from funcgrad.printed_text import PrintedText
from funcgrad.rewrite.reading import reading
from funcgrad.rewrite.reading_matrix_laws import is_reshaped_identity
from funcgrad.show.functions import (
    Application,
    Function,
    applied,
    given_names,
    held_within,
    is_plain_pick,
    named,
    part_names,
)
from funcgrad.show.implicit_casts import operands_shown, stacked_operands
from funcgrad.show.latex.latex_operations import (
    ATOM,
    CALL,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
    escaped,
    grouped,
    latex_call,
    latex_parenthesized,
    special,
)
from funcgrad.show.latex.named_numbers import named_number
from funcgrad.show.naming import BLANK, Rules, array_of, distinct, let_all, name_of, without_depths
from funcgrad.show.numbers import digits, is_identity
from funcgrad.show.program_at import formula_at
from funcgrad.show.text import SHORTEST_SHARED, letters, shortened
from funcgrad.show.written import COMPARISON, Written

LONGEST_INLINE_LATEX = 160  # characters of LaTeX that are written in place
_MORE_ROWS = r"&\vdots \quad \text{{({} more)}}"

_GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
        *("lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi"),
        *("omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi"),
        *("Psi", "Omega"),
    )
)
_ESCAPES = {c: f"\\{c}" for c in "#$%&_{}"} | {
    "\\": r"\backslash ",
    "~": r"\sim ",
    BLANK: r"\dots ",
    "^": r"\hat{\ }",
    "<": r"\lt ",
    ">": r"\gt ",
}


def to_latex(f: Callable[..., Any] | Expr, /, *args: Any) -> PrintedText:
    r"""The formula in LaTeX's mathematics, without dollar signs, of an expression
    or a function at arguments.

    Parts that are shared, or long, get names in a block; of a long program,
    the middle is left out, and of one of more than 2000 nodes all but the end.

    Raises TypeError for what is neither.

    >>> import funcgrad as fg
    >>> x, alpha = fg.var("x_1"), fg.var("alpha")
    >>> print(to_latex(fg.exp(-x**2 / 2) / fg.sqrt(alpha)))
    \frac{e^{\frac{-x_{1}^{2}}{2}}}{\sqrt{\alpha}}
    >>> print(to_latex(lambda x: x**2 * fg.sin(x), 2.0))
    x^{2} \, \sin\left(x\right)
    >>> y = alpha**2 + 1
    >>> print(to_latex(fg.sin(y) * y))
    \begin{aligned}
    \text{let } a &= \alpha^{2} + 1 \\
    \text{in }\phantom{a} &\phantom{{}={}} \sin\left(a\right) \, a
    \end{aligned}
    """
    (expr,), left_out = without_depths([formula_at("to_latex", f, args)])
    given = given_names([expr])
    (expr,), is_derived = reading([expr])
    nodes = distinct(expr, "to_latex")
    items = held_within([expr])
    variables = {name_of(e) for e in nodes if e.op is INPUT}
    functions = named(items, variables | given | {"e"})
    taken = variables | given | {n for own in functions.values() for n in (own.name, *own.inputs)}
    shown = {body: _identified(own) for body, own in functions.items()}
    rules = Rules(
        lambda e, parts: _write(e, parts, taken, shown),
        letters(taken | {"e"}),
        operands_shown,
        CALL,
        LONGEST_INLINE_LATEX,
        identifier,
        _transparent,
        _right_side,
        part_names([expr]),
        _is_short if is_derived else lambda piece: False,
    )
    rows = [rf"{identifier(BLANK)} &= \text{{{left_out}}}"] if left_out else []
    rows += [row for item in items for row in _definition(item.body, shown, rules)]
    lines, (root,) = let_all([expr], {}, rules)
    rows += [f"{identifier(name)} &= {body}" for name, body in lines]
    if not rows:
        return PrintedText(root.text)
    rows = shortened(rows, _MORE_ROWS)
    rows[0] = rf"\text{{let }} {rows[0]}"
    rows.append(rf"\text{{in }}\phantom{{a}} &\phantom{{{{}}={{}}}} {root.text}")
    return PrintedText("\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}")


def _right_side(part: Written) -> str:
    """What stands behind an equals sign: a comparison in parentheses, since a = b = c reads as a chain."""
    return latex_parenthesized(part, SUM if part.binding == COMPARISON else part.binding)


def _transparent(expr: Expr) -> bool:
    written = expr.op is broadcast_to or expr.op is astype
    return not written and (bool(getattr(expr.op, "hidden", False)) or is_plain_pick(expr))


def _identified(own: Function) -> Function:
    return Function(identifier(own.name), tuple([identifier(name) for name in own.inputs]))


def _is_short(piece: Written) -> bool:
    """Whether a part of a derived formula is as short as those that its text repeats."""
    short = len(_COMMANDS.sub("", piece.text)) <= SHORTEST_SHARED
    return short and piece.binding > COMPARISON


_COMMANDS = re.compile(r"\\(?:left|right)|[\\{}]")


def _definition(body: Body, functions: Mapping[Body, Function], rules: Rules) -> list[str]:
    """A body as rows of the block: what it gives, then its parts that have names."""
    own = functions[body]
    given = {x.key: Written(name, ATOM) for x, name in zip(body.inputs, own.inputs, strict=True)}
    written, left_out = without_depths(body.outputs)
    lines, outputs = let_all(written, given, rules)
    head = rf"{own.name}\left({', '.join(own.inputs)}\right)"
    result = r",\; ".join([_right_side(part) for part in outputs]) or r"\left(\right)"
    if left_out:
        lines = [(BLANK, rf"\text{{{left_out}}}"), *lines]
    where = [rf"&\quad \text{{where }} {identifier(n)} = {text}" for n, text in lines]
    return [f"{head} &= {result}", *shortened(where, _MORE_ROWS)]


def _applied(made: Application) -> Written:
    head = made.head if made.own else rf"\operatorname{{{escaped(made.head)}}}"
    inside = ", ".join([_labelled(label, texts) for label, texts in made.parts])
    # Less than a call, so that it gets a name where it is used twice.
    return Written(rf"{head}\left({inside}\right)", CALL - 1)


def _labelled(label: str, texts: tuple[str, ...]) -> str:
    if label and texts == ("True",):
        return rf"\text{{{label}}}"
    return (rf"\text{{{label} }}" if label else "") + grouped(texts)


def notebook_latex(expr: Expr) -> str:
    r"""The formula between dollar signs, as a notebook asks for it (``_repr_latex_``).

    >>> import funcgrad as fg
    >>> print(notebook_latex(fg.var("x") ** 2))
    $\displaystyle x^{2}$
    """
    return rf"$\displaystyle {to_latex(expr)}$"


def identifier(name: str) -> str:
    r"""A name: Greek letters by their commands, digits and what follows an underscore below the line.

    >>> print(identifier("x12"), identifier("theta_max"), identifier("rate"), identifier("lambda_"))
    x_{12} \theta_{\mathrm{max}} \mathrm{rate} \lambda
    """
    # lambda_, as Python has it.
    name = name[:-1] if name[:-1] in _GREEK and name[-1:] == "_" else name
    match = re.fullmatch(r"([A-Za-z]+)_?(\d+)|([A-Za-z]+)_([A-Za-z0-9]+)", name)
    if match is None:
        return _word(name)
    head, below = (match[1], match[2]) if match[1] else (match[3], match[4])
    return f"{_word(head)}_{{{below if below.isdigit() else _word(below)}}}"


def _word(word: str) -> str:
    if len(word) == 1 and word.isalpha():
        return word
    if word in _GREEK:
        return f"\\{word}"
    shown = "".join(_ESCAPES.get(c, c if c.isprintable() else "?") for c in word)
    return rf"\mathrm{{{shown}}}"


# -- nodes ---------------------------------------------------------------------------------------
def _write(
    expr: Expr, parts: list[Written], taken: set[str], functions: Mapping[Body, Function]
) -> Written:
    """One node's formula, from its operands'."""
    if expr.op is INPUT:
        return Written(identifier(name_of(expr)), ATOM)
    if expr.op is CONSTANT:
        return _constant(array_of(expr))
    operation: Any = expr.op
    if operation is leaf:
        return Written(identifier(expr.label), ATOM) if expr.label else parts[0]
    if operation is astype and expr.dtype.kind == "c" and expr.args[0].dtype.kind != "c":
        return parts[0]
    if operation is astype:
        return Written(rf"\operatorname{{{expr.dtype}}}\left({parts[0].text}\right)", CALL)
    if operation is broadcast_to:
        return _repeated(expr, parts[0])
    if operation.hidden or is_plain_pick(expr):
        return parts[0]
    if stacked_operands(expr) is not None:
        return _stacked(expr, parts)
    made = applied(expr, [part.text for part in parts], functions)
    if made is not None:
        return _applied(made)
    if operation.name == "exp" and "e" not in taken and len(parts[0].text) <= 40:
        return Written(f"e^{{{parts[0].text}}}", POWER)
    return special(expr, parts) or latex_call(expr, operation, parts)


def _stacked(expr: Expr, parts: list[Written]) -> Written:
    texts = [part.text for part in parts]
    if expr.ndim == 1:
        return Written(rf"\begin{{bmatrix}} {' & '.join(texts)} \end{{bmatrix}}", ATOM)
    axis = dict(expr.params)["axis"]
    rows = [_row_of(text) for text in texts]
    if expr.ndim == 2 and all(rows):
        body = r" \\ ".join(rows)
        whole = rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"
        return Written(rf"{whole}^{{\top}}", POWER) if axis else Written(whole, ATOM)
    return Written(rf"\operatorname{{stack}}_{{{axis}}}\left({', '.join(texts)}\right)", CALL)


def _row_of(text: str) -> str:
    """The entries of a matrix of one row that is written with its brackets; empty for another text."""
    start, end = r"\begin{bmatrix} ", r" \end{bmatrix}"
    inside = text.removeprefix(start).removesuffix(end)
    whole = len(text) - len(inside) == len(start) + len(end)
    return inside if whole and "{bmatrix}" not in inside and r"\\" not in inside else ""


def _repeated(expr: Expr, part: Written) -> Written:
    """A value that is repeated where NumPy would not do it: times an array of ones."""
    lengths = r" \times ".join(map(str, expr.shape))
    (x,) = expr.args
    if not x.shape:
        ones = rf"\mathbf{{1}}_{{{lengths}}}"
        if part.text in ("0", "1"):
            return Written(ones.replace("1", part.text, 1), ATOM)
        return Written(rf"{latex_parenthesized(part, PRODUCT)} \, {ones}", PRODUCT)
    return Written(rf"\operatorname{{broadcast}}_{{{lengths}}}\left({part.text}\right)", CALL)


def _constant(array: Any) -> Written:
    if array.ndim == 0:
        return _number(array[()])
    if is_identity(array):
        return Written(rf"\mathbf{{I}}_{{{len(array)}}}", ATOM)
    if is_reshaped_identity(array):
        lengths = r" \times ".join(map(str, array.shape))
        inside = rf"\left(\mathbf{{I}}_{{{math.isqrt(array.size)}}}\right)"
        return Written(rf"\operatorname{{reshape}}_{{{lengths}}}{inside}", CALL)
    if array.size and array.size <= 9 and array.ndim <= 2:
        rows = array.reshape(1, -1) if array.ndim == 1 else array
        lines = [" & ".join(_number(entry).text for entry in row) for row in rows]
        body = r" \\ ".join(lines)
        return Written(rf"\begin{{bmatrix}} {body} \end{{bmatrix}}", ATOM)
    lengths = r" \times ".join(map(str, array.shape))
    return Written(rf"\mathrm{{{array.dtype}}}_{{{lengths}}}", ATOM)


def _number(value: Any) -> Written:
    if np.iscomplexobj(value):
        return _complex_number(value)
    named = named_number(float(value)) if np.asarray(value).dtype == float else None
    if named is not None:
        return named
    shown = digits(value)
    if "/" in shown:
        sign, (top, bottom) = "-" * shown.startswith("-"), shown.lstrip("-").split("/")
        return Written(rf"{sign}\frac{{{top}}}{{{bottom}}}", UNARY)
    if shown.lstrip("-") in ("inf", "nan"):
        shown = shown.replace("inf", r"\infty").replace("nan", r"\mathrm{nan}")
    elif shown in ("True", "False"):
        shown = rf"\mathrm{{{shown.lower()}}}"
    elif "e" in shown:
        mantissa, power = shown.split("e")
        ten = f"10^{{{int(power)}}}"
        if mantissa == "1":
            return Written(ten, POWER)
        return Written(rf"{mantissa} \cdot {ten}", PRODUCT)
    return Written(shown, UNARY if shown.startswith("-") else ATOM)


def _complex_number(value: complex | np.generic) -> Written:
    """The sum of both parts, without a part that is zero."""
    if value.imag == 0:
        return _number(value.real)
    size = _number(abs(value.imag)).text
    imag = r"\mathrm{i}" if size == "1" else size + r"\,\mathrm{i}"
    negative = bool(value.imag < 0)
    if value.real == 0:
        return Written("-" * negative + imag, UNARY if negative else PRODUCT)
    return Written(f"{_number(value.real).text} {'-' if negative else '+'} {imag}", SUM)
