"""Formulas: the fold whose algebra writes, with shared parts named, so it is linear in the graph."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops import elementwise
from funcgrad.ops.op import Op, astype, leaf

ATOM, CALL, POWER, UNARY, PRODUCT, MATMUL, COMPARISON = 100, 99, 40, 30, 20, 15, 5
LONGEST = 60  # characters of a part that is written in place; longer ones get a name
FIRST, LAST = 20, 5  # lines kept of a long program


class Written(NamedTuple):
    """A piece of text, and how tightly its outermost operator binds."""

    text: str
    binding: int


def text(expr: Expr) -> str:
    """The formula, in let-form where parts are shared: ``let a = …; in …``.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x**2 + fg.exp(x**2)
    >>> print(text(np.sqrt(y) + np.cos(y)))
    let a = x**2
        b = a + exp(a)
    in sqrt(b) + cos(b)
    """
    lines, root = let_form(expr)
    if not lines:
        return root
    if len(lines) > FIRST + LAST + 1:
        hidden = len(lines) - FIRST - LAST
        lines = [*lines[:FIRST], ("…", f"({hidden} more)"), *lines[-LAST:]]
    first, *rest = [f"{name} = {body}" if name != "…" else f"… {body}" for name, body in lines]
    return "\n".join([f"let {first}", *[f"    {line}" for line in rest], f"in {root}"])


def let_form(expr: Expr) -> tuple[list[tuple[str, str]], str]:
    """The named parts as pairs (name, formula), in order, and the formula of the root."""
    order = subexpressions(expr)
    unique = {e.key: e for e in order}
    uses = Counter(arg.key for e in unique.values() for arg in e.args)
    taken = {e.params[0][1] for e in unique.values() if e.op is INPUT}
    names = _names(taken)
    written: dict[Any, Written] = {}
    lines: list[tuple[str, str]] = []
    for key, e in unique.items():
        piece = write(e, [written[arg.key] for arg in e.args])
        shared = uses[key] > 1 and piece.binding < ATOM and e.op is not CONSTANT
        long = len(piece.text) > LONGEST and bool(e.args) and key != expr.key
        if (shared or long) and not _transparent(e):
            name = next(names)
            lines.append((name, piece.text))
            piece = Written(name, ATOM)
        written[key] = piece
    return lines, written[expr.key].text


def _transparent(expr: Expr) -> bool:
    return bool(getattr(expr.op, "hidden", False)) or expr.op is elementwise.negative


def _names(taken: set[str]) -> Any:
    """a, b, …, z, a1, b1, …, without those that variables have."""
    count = 0
    while True:
        letter = "abcdefghijklmnopqrstuvwxyz"[count % 26]
        name = letter + (str(count // 26) if count >= 26 else "")
        if name not in taken:
            yield name
        count += 1


def write(expr: Expr, parts: list[Written]) -> Written:
    """One node's formula, from its operands'."""
    if expr.op is INPUT:
        return Written(str(expr.params[0][1]), ATOM)
    if expr.op is CONSTANT:
        return number(expr.params[0][1].array)
    operation: Op = expr.op
    if operation is leaf:
        return Written(expr.label, ATOM) if expr.label else parts[0]
    if operation is astype and not np.can_cast(expr.args[0].dtype, expr.dtype, "same_kind"):
        return Written(f"{wrap(parts[0], CALL)}.astype({expr.dtype})", CALL)
    if operation.hidden:
        return parts[0]
    if operation is elementwise.negative:
        inner = ATOM if parts[0].text.startswith("-") else PRODUCT
        return Written("-" + wrap(parts[0], inner), PRODUCT)
    if operation is elementwise.square:
        return Written(wrap(parts[0], POWER + 1) + "**2", POWER)
    if operation.infix:
        return _infix(operation, parts)
    texts = [part.text for part in parts]
    params = dict(expr.params)
    if set(params) == {"axis"} and params["axis"] == tuple(range(expr.args[0].ndim)):
        return Written(f"{operation.name}({texts[0]})", CALL)
    if operation.notation:
        # What is written behind its operand binds tightest: x.T, x[i].
        if operation.notation("\0", *texts[1:], **params).startswith("\0"):
            texts[0] = wrap(parts[0], CALL)
        return Written(operation.notation(*texts, **params), CALL)
    extras = [f"{name}={value}" for name, value in params.items()]
    return Written(f"{operation.name}({', '.join(texts + extras)})", CALL)


def _infix(operation: Op, parts: list[Written]) -> Written:
    infix = operation.infix
    if infix is None:
        raise TypeError(f"{operation.name}: expected an operation that is written between operands")
    symbol, binding = infix
    left, right = parts
    if symbol == "**":
        return Written(f"{wrap(left, binding + 1)}**{wrap(right, binding)}", binding)
    if symbol == "@":
        return Written(f"{wrap(left, UNARY)} @ {wrap(right, UNARY)}", MATMUL)
    # x + -3 reads as x - 3.
    if symbol == "+" and right.text.startswith("-") and right.binding >= PRODUCT:
        return Written(f"{wrap(left, binding)} - {right.text[1:]}", binding)
    # Sums and products associate, so that a person writes 2*x*y for 2*(x*y).
    within = binding if symbol in ("+", "*") else binding + 1
    if symbol != "+" and right.text.startswith("-"):
        within = ATOM
    spaced = symbol if symbol in ("*", "/") else f" {symbol} "
    # A chain of comparisons would mean something else.
    outside = binding + 1 if binding == COMPARISON else binding
    # -(x % y) and z*(x // y) are not -x % y and z*x // y.
    binds = binding - 1 if symbol in ("%", "//") else binding
    return Written(f"{wrap(left, outside)}{spaced}{wrap(right, within)}", binds)


def wrap(part: Written, binding: int) -> str:
    """The text, in parentheses where it binds less tightly than it must."""
    return part.text if part.binding >= binding else f"({part.text})"


def number(array: Any) -> Written:
    """A constant: a short number, or the type of an array with many entries."""
    if array.ndim == 0:
        shown = short(array[()])
        return Written(shown, UNARY if shown.startswith("-") else ATOM)
    if array.size <= 4:
        entries = np.array2string(array, separator=", ", precision=4).replace("\n", "")
        return Written(entries, ATOM)
    shape = ", ".join(map(str, array.shape))
    return Written(f"<{array.dtype}[{shape}]>", ATOM)


def short(value: Any) -> str:
    """A number as a reader writes it: 3 for 3.0, six significant digits where more are noise."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if len(repr(value)) <= 8 else f"{value:.6g}"
    return str(value)
