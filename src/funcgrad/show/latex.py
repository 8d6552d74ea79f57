"""Formulas in LaTeX, as a person would write them: fractions, powers, roots, Greek names, subscripts.

The fold is that of `funcgrad.show.text`: shared and long parts get names, and then the formula is an
``aligned`` block that begins with *let*; so it is linear in the graph. Broadcasts and casts are not
written. A product of two arrays, entry by entry, has a circled dot; that of matrices has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.op import Op, leaf
from funcgrad.show.bodies import (
    Application,
    Function,
    applied,
    held_within,
    is_plain_pick,
    named,
    operands_written,
)
from funcgrad.show.rows import Rules, array_of, distinct, let_all, name_of
from funcgrad.show.text import FIRST, LAST, Written, _names, short
from funcgrad.transforms.control.body import Body

ATOM, CALL, POWER, UNARY, PRODUCT, SUM, CASES = 100, 99, 40, 30, 20, 10, 1
LONGEST = 160  # characters of LaTeX that are written in place

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
    "^": r"\hat{\ }",
    "<": r"\lt ",
    ">": r"\gt ",
}


def to_latex(expr: Expr) -> str:
    r"""The formula in LaTeX's mathematics, without dollar signs.

    Parts that are shared, or long, get names in a block; of a long program, the middle is left out.

    Raises TypeError for what is no expression.

    >>> import funcgrad as fg
    >>> x, alpha = fg.var("x_1"), fg.var("alpha")
    >>> print(to_latex(fg.exp(-x**2 / 2) / fg.sqrt(alpha)))
    \frac{e^{\frac{-x_{1}^{2}}{2}}}{\sqrt{\alpha}}
    >>> y = alpha**2 + 1
    >>> print(to_latex(fg.sin(y) * y))
    \begin{aligned}
    \text{let } a &= \alpha^{2} + 1 \\
    \text{in }\phantom{a} &\phantom{{}={}} \sin\left(a\right) \, a
    \end{aligned}
    """
    nodes = distinct(expr, "to_latex")
    items = held_within([expr])
    variables = {name_of(e) for e in nodes if e.op is INPUT}
    functions = named(items, variables | {"e"})
    taken = variables | {n for own in functions.values() for n in (own.name, *own.inputs)}
    shown = {body: _identified(own) for body, own in functions.items()}
    rules = Rules(
        lambda e, parts: _write(e, parts, taken, shown),
        _names(taken | {"e"}),
        operands_written,
        CALL,
        LONGEST,
        identifier,
        lambda e: bool(getattr(e.op, "hidden", False)) or is_plain_pick(e),
    )
    rows = [row for item in items for row in _definition(item.body, shown, rules)]
    lines, (root,) = let_all([expr], {}, rules)
    rows += [f"{identifier(name)} &= {body}" for name, body in lines]
    if not rows:
        return root.text
    rows = _shortened(rows)
    rows[0] = rf"\text{{let }} {rows[0]}"
    rows.append(rf"\text{{in }}\phantom{{a}} &\phantom{{{{}}={{}}}} {root.text}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _shortened(rows: list[str]) -> list[str]:
    if len(rows) <= FIRST + LAST + 1:
        return rows
    hidden = len(rows) - FIRST - LAST
    return [*rows[:FIRST], rf"&\vdots \quad \text{{({hidden} more)}}", *rows[-LAST:]]


def _identified(own: Function) -> Function:
    return Function(identifier(own.name), tuple([identifier(name) for name in own.inputs]))


def _definition(body: Body, functions: Mapping[Body, Function], rules: Rules) -> list[str]:
    """A body as rows of the block: what it gives, then its parts that have names."""
    own = functions[body]
    given = {x.key: Written(name, ATOM) for x, name in zip(body.inputs, own.inputs, strict=True)}
    lines, outputs = let_all(body.outputs, given, rules)
    head = rf"{own.name}\left({', '.join(own.inputs)}\right)"
    result = r",\; ".join([part.text for part in outputs]) or r"\left(\right)"
    where = [rf"&\quad \text{{where }} {identifier(n)} = {text}" for n, text in lines]
    return [f"{head} &= {result}", *_shortened(where)]


def _applied(made: Application) -> Written:
    head = made.head if made.own else rf"\operatorname{{{_escaped(made.head)}}}"
    inside = ", ".join([_labelled(label, texts) for label, texts in made.parts])
    # Less than a call, so that it gets a name where it is used twice.
    return Written(rf"{head}\left({inside}\right)", CALL - 1)


def _labelled(label: str, texts: tuple[str, ...]) -> str:
    if label and texts == ("True",):
        return rf"\text{{{label}}}"
    return (rf"\text{{{label} }}" if label else "") + _grouped(texts)


def _grouped(texts: tuple[str, ...]) -> str:
    return texts[0] if len(texts) == 1 else rf"\left({', '.join(texts)}\right)"


def notebook_latex(expr: Expr) -> str:
    r"""The formula between dollar signs, as a notebook asks for it (``_repr_latex_``).

    >>> import funcgrad as fg
    >>> print(notebook_latex(fg.var("x") ** 2))
    $\displaystyle x^{2}$
    """
    return rf"$\displaystyle {to_latex(expr)}$"


def identifier(name: str) -> str:
    r"""A name: Greek letters by their commands, digits and what follows an underscore below the line.

    >>> print(identifier("x12"), identifier("theta_max"), identifier("rate"))
    x_{12} \theta_{\mathrm{max}} \mathrm{rate}
    """
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
    if operation.hidden or is_plain_pick(expr):
        return parts[0]
    made = applied(expr, [part.text for part in parts], functions)
    if made is not None:
        return _applied(made)
    if operation.name == "exp" and "e" not in taken and len(parts[0].text) <= 40:
        return Written(f"e^{{{parts[0].text}}}", POWER)
    special = _SPECIAL.get(operation.name)
    found = special(expr, parts) if special else None
    return found or _call(expr, operation, parts)


def _wrap(part: Written, binding: int) -> str:
    return part.text if part.binding >= binding else rf"\left({part.text}\right)"


def _constant(array: Any) -> Written:
    if array.ndim == 0:
        return _number(array[()])
    if array.size and array.size <= 9 and array.ndim <= 2:
        rows = array.reshape(1, -1) if array.ndim == 1 else array
        lines = [" & ".join(_number(entry).text for entry in row) for row in rows]
        body = r" \\ ".join(lines)
        return Written(rf"\begin{{bmatrix}} {body} \end{{bmatrix}}", ATOM)
    lengths = r" \times ".join(map(str, array.shape))
    return Written(rf"\mathrm{{{array.dtype}}}_{{{lengths}}}", ATOM)


def _number(value: Any) -> Written:
    shown = short(value)
    if shown.lstrip("-") in ("inf", "nan"):
        shown = shown.replace("inf", r"\infty").replace("nan", r"\mathrm{nan}")
    elif shown in ("True", "False"):
        shown = rf"\mathrm{{{shown.lower()}}}"
    elif "j" in shown:
        inner = shown.strip("()").replace("j", r"\,\mathrm{i}")
        return Written(inner, SUM)
    elif "e" in shown:
        digits, power = shown.split("e")
        ten = f"10^{{{int(power)}}}"
        if digits == "1":
            return Written(ten, POWER)
        return Written(rf"{digits} \cdot {ten}", PRODUCT)
    return Written(shown, UNARY if shown.startswith("-") else ATOM)


def _call(expr: Expr, operation: Op, parts: list[Written]) -> Written:
    """``name(operands; params)``, which every operation has; an axis stands below the name."""
    head = _HEADS.get(operation.name) or rf"\operatorname{{{_escaped(operation.name)}}}"
    params = dict(expr.params)
    axis = params.pop("axis", None)
    if axis is not None and axis != tuple(range(expr.args[0].ndim)):
        axes = axis if isinstance(axis, tuple) else (axis,)
        head += f"_{{{', '.join(map(str, axes))}}}"
    inside = [p.text for p in parts]
    inside += [rf"\text{{{_escaped(f'{key}={value}')}}}" for key, value in params.items()]
    return Written(rf"{head}\left({', '.join(inside)}\right)", CALL)


def _escaped(text: str) -> str:
    # In \text, braces and the like need their backslash, and a backslash its name.
    return "".join(rf"\{c}" if c in "#$%&_{}" else {"\\": "/"}.get(c, c) for c in text)


# -- operations with a notation of their own -----------------------------------------------------
_Writer: TypeAlias = Callable[[Expr, list[Written]], Written | None]


def _infix(symbol: str, binding: int) -> _Writer:
    def write(expr: Expr, parts: list[Written]) -> Written:
        left, right = _wrap(parts[0], binding), parts[1]
        # A sum may stand to the right of a plus without parentheses, and x + -3 reads as x - 3.
        if symbol == "+" and right.text.startswith("-") and right.binding >= PRODUCT:
            return Written(f"{left} - {right.text[1:]}", binding)
        within = ATOM if right.text.startswith("-") else binding + (symbol != "+")
        return Written(f"{left} {symbol} {_wrap(right, within)}", binding)

    return write


def _boolean(write: _Writer) -> _Writer:
    """``&`` and ``|`` of truth values, which are *and* and *or*."""
    return lambda expr, parts: write(expr, parts) if expr.dtype == bool else None


def _product(expr: Expr, parts: list[Written]) -> Written:
    left, right = _wrap(parts[0], PRODUCT), _factor(parts[1])
    sources = [arg.args[0] if arg.op.name == "broadcast_to" else arg for arg in expr.args]
    if all(e.ndim for e in sources):
        sign = r" \odot "
    elif right[0].isdigit() or left[-1] == "." or (left[-1].isdigit() and right[0] == "."):
        sign = r" \cdot "
    else:
        simple = re.fullmatch(r"-?[0-9.]+", left) is not None
        sign = " " if simple else r" \, "
    return Written(f"{left}{sign}{right}", PRODUCT)


def _factor(part: Written) -> str:
    return _wrap(part, ATOM if part.text.startswith("-") else PRODUCT)


def _matrix_product(expr: Expr, parts: list[Written]) -> Written:
    return Written(rf"{_wrap(parts[0], UNARY)} \, {_wrap(parts[1], UNARY + 1)}", PRODUCT)


def _fraction(expr: Expr, parts: list[Written]) -> Written:
    return Written(rf"\frac{{{parts[0].text}}}{{{parts[1].text}}}", UNARY)


def _power(expr: Expr, parts: list[Written]) -> Written:
    return _raised(expr.args[0], parts[0], parts[1].text)


def _raised(base: Expr, part: Written, exponent: str) -> Written:
    # sin^2(x), but not sin^{-1}(x), which is read as the inverse function.
    head = _HEADS.get(base.op.name) if base.op else None
    if head in _RAISABLE and part.text.startswith(head + r"\left(") and exponent.isdigit():
        return Written(f"{head}^{{{exponent}}}{part.text[len(head) :]}", POWER)
    return Written(f"{_wrap(part, ATOM)}^{{{exponent}}}", POWER)


def _negative(expr: Expr, parts: list[Written]) -> Written:
    return Written("-" + _factor(parts[0]), PRODUCT)


def _fenced(left: str, right: str) -> Callable[[Expr, list[Written]], Written]:
    return lambda expr, parts: Written(rf"\left{left}{parts[0].text}\right{right}", ATOM)


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
    return Written(rf"{_wrap(parts[0], ATOM)}^{{\top}}", POWER)


def _indexed(expr: Expr, parts: list[Written]) -> Written:
    rest = iter([p.text for p in parts[1:]])
    items = []
    for item in dict(expr.params)["spec"]:
        if isinstance(item, tuple):
            bounds = ["" if b is None else str(b) for b in item[1:]]
            items.append("{:}".join(bounds[:2] if not bounds[2] else bounds))
        elif item == "array":
            items.append(next(rest))
        else:
            items.append({"new": r"\mathrm{new}", "...": r"\ldots"}.get(item, str(item)))
    return Written(_subscripted(_wrap(parts[0], ATOM), ", ".join(items)), ATOM)


def _subscripted(head: str, below: Any) -> str:
    # A second subscript is an error in LaTeX; braces close the first.
    return f"{{{head}}}_{{{below}}}" if "_" in head else f"{head}_{{{below}}}"


def _template(text: str, binding: int) -> Callable[[Expr, list[Written]], Written]:
    return lambda expr, parts: Written(text.replace("@", parts[0].text), binding)


_SPECIAL: Mapping[str, _Writer] = MappingProxyType(
    {
        "add": _infix("+", SUM),
        "subtract": _infix("-", SUM),
        "multiply": _product,
        "matmul": _matrix_product,
        "divide": _fraction,
        "power": _power,
        "negative": _negative,
        "positive": lambda expr, parts: parts[0],
        "square": lambda expr, parts: _raised(expr.args[0], parts[0], "2"),
        "reciprocal": _template(r"\frac{1}{@}", UNARY),
        "sqrt": _template(r"\sqrt{@}", CALL),
        "cbrt": _template(r"\sqrt[3]{@}", CALL),
        "exp2": _template("2^{@}", POWER),
        "conjugate": _template(r"\overline{@}", CALL),
        "absolute": _fenced("|", "|"),
        "fabs": _fenced("|", "|"),
        "floor": _fenced(r"\lfloor ", r"\rfloor "),
        "ceil": _fenced(r"\lceil ", r"\rceil "),
        "norm": _norm,
        "less": _infix(r"\lt", 5),
        "less_equal": _infix(r"\le", 5),
        "greater": _infix(r"\gt", 5),
        "greater_equal": _infix(r"\ge", 5),
        "equal": _infix("=", 5),
        "not_equal": _infix(r"\ne", 5),
        "logical_and": _infix(r"\land", 3),
        "logical_or": _infix(r"\lor", 2),
        "bitwise_and": _boolean(_infix(r"\land", 3)),
        "bitwise_or": _boolean(_infix(r"\lor", 2)),
        "where": _cases,
        "mask": _cases,
        "transpose": _transposed,
        "getitem": _indexed,
        "pick": lambda expr, parts: Written(
            _subscripted(_wrap(parts[0], CALL - 1), dict(expr.params)["index"]), ATOM
        ),
        "together": lambda expr, parts: Written(_grouped(tuple([p.text for p in parts])), ATOM),
        "foreign": lambda expr, parts: Written(
            rf"\operatorname{{{_escaped(dict(expr.params)['function'].name)}}}"
            rf"\left({', '.join([p.text for p in parts])}\right)",
            CALL,
        ),
    }
)
_TRIGONOMETRIC = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_RAISABLE = frozenset(f"\\{name}" for name in (*_TRIGONOMETRIC, "log"))
_HEADS: Mapping[str, str] = MappingProxyType(
    {name: f"\\{name}" for name in (*_TRIGONOMETRIC, "log", "arcsin", "arccos", "arctan")}
    | {"log2": r"\log_{2}", "log10": r"\log_{10}", "exp": r"\exp", "sigmoid": r"\sigma"}
    | {"max": r"\max", "min": r"\min", "maximum": r"\max", "minimum": r"\min"}
    | {"real": r"\operatorname{Re}", "imag": r"\operatorname{Im}", "sign": r"\operatorname{sgn}"}
    | {"arcsinh": r"\operatorname{arsinh}", "arccosh": r"\operatorname{arcosh}"}
    | {"arctanh": r"\operatorname{artanh}", "logical_not": r"\lnot"}
)
