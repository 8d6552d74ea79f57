"""Formulas: the fold whose algebra writes, with shared parts named, so it is linear in the graph.

The invariant: a formula that is read as NumPy code has the value, shape and dtype of the program. Broadcasts
and casts are left out where NumPy does them (`funcgrad.show.implicit_casts`), and constants have the fewest
digits that read back (`funcgrad.show.numbers`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key, subexpressions
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.index_spec import index_text
from funcgrad.ops.base.op import Elementwise, Op, astype, broadcast_to, leaf
from funcgrad.ops.elementwise import arithmetic, selection
from funcgrad.ops.indexing import scatter_op
from funcgrad.show.functions import (
    Function,
    applied,
    held_within,
    is_plain_pick,
    named,
    numbered,
    variable_names,
)
from funcgrad.show.implicit_casts import Operand, is_integer, operands_shown, written_operands
from funcgrad.show.numbers import digits, entries, is_default_dtype, with_dtype
from funcgrad.trace.pytree import flatten

ATOM, CALL, POWER, UNARY, PRODUCT, FRACTION, MATMUL, COMPARISON = 100, 99, 40, 30, 20, 19, 15, 5
LONGEST_INLINE = 60  # characters of a part that is written in place; longer ones get a name
FIRST, LAST = 20, 5  # lines kept of a long program


class Written(NamedTuple):
    """A piece of text, and how tightly its outermost operator binds."""

    text: str
    binding: int


def text(expr: Expr) -> str:
    """The formula, in let-form where parts are shared: ``let a = …; in …``.

    What runs again and again, or as one step, is a function with a name: ``s`` is a loop's state, ``t`` what
    a turn takes of the sequences that it runs over, and ``p`` what every turn is given. A loop's value is
    what its function's would be: the last state, then what was put out, stacked.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x**2 + fg.exp(x**2)
    >>> print(text(np.sqrt(y) + np.cos(y)))
    let a = x**2
        b = a + exp(a)
    in sqrt(b) + cos(b)
    >>> print(text(fg.scan(lambda c, t: (np.sin(c * t), c), x, np.arange(3.0))[0]))
    let f(s, t) = sin(s*t), s
    in loop(f, x, over=[0.0, 1.0, 2.0])[0]
    """
    lines, (root,) = let_forms([expr])
    return _let_text(lines, root)


def text_of_tree(tree: object) -> str:
    """The text of a tree of formulas, in let-form where parts are shared, within one or among several.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> print(text_of_tree((fg.exp(x) * x, {"dx": fg.exp(x)})))
    let a = exp(x)
    in (a*x, {'dx': a})
    """
    flat = flatten(tree)
    exprs = flat.without(lambda leaf: not isinstance(leaf, Expr))
    lines, roots = let_forms(exprs.leaves)
    return _let_text(lines, repr(exprs.rebuild([_Printed(root) for root in roots])))


class _Printed(str):
    """A text that stands for itself where a container prints it."""

    __slots__ = ()
    __repr__ = str.__str__


def _let_text(lines: list[tuple[str, str]], root: str) -> str:
    if not lines:
        return root
    first, *rest = [line.replace("\n", "\n    ") for line in _cut(lines)]
    return "\n".join([f"let {first}", *[f"    {line}" for line in rest], f"in {root}"])


def _cut(lines: list[tuple[str, str]]) -> list[str]:
    """Definitions as lines, of many the first and the last."""
    written = [f"{name} = {body}" for name, body in lines]
    if len(written) <= FIRST + LAST + 1:
        return written
    hidden = len(written) - FIRST - LAST
    return [*written[:FIRST], f"… ({hidden} more)", *written[-LAST:]]


def let_form(expr: Expr) -> tuple[list[tuple[str, str]], str]:
    """The named parts as pairs (name, formula), in order, and the formula of the root."""
    lines, (root,) = let_forms([expr])
    return lines, root


def let_forms(roots: Sequence[Expr]) -> tuple[list[tuple[str, str]], list[str]]:
    """The named parts of several formulas as pairs (name, formula), in order, and the formulas."""
    taken = variable_names(subexpressions(*roots))
    functions, definitions, names = define(roots, taken)
    lines, written = _let(roots, {}, names, functions)
    return [*definitions, *lines], [_as_array(root).text for root in written]


def define(
    roots: Sequence[Expr], taken: set[str]
) -> tuple[Mapping[Body, Function], list[tuple[str, str]], Iterator[str]]:
    """The functions below some nodes, their definitions as pairs, and names that are still free."""
    items = held_within(roots)
    functions = named(items, taken)
    used = {name for each in functions.values() for name in (each.name, *each.inputs)}
    names = letters(taken | used)
    definitions = []
    for item in items:
        own = functions[item.body]
        given = {
            x.key: Written(name, ATOM) for x, name in zip(item.body.inputs, own.inputs, strict=True)
        }
        lines, outputs = _let(item.body.outputs, given, names, functions)
        result = ", ".join([part.text for part in outputs]) or "()"
        if lines:
            result += "\n  where " + "\n        ".join(_cut(lines))
        definitions.append((own.head, result))
    return functions, definitions, names


def _let(
    roots: Sequence[Expr],
    given: Mapping[Key, Written],
    names: Iterator[str],
    functions: Mapping[Body, Function],
) -> tuple[list[tuple[str, str]], list[Written]]:
    """The named parts of some formulas, and the formulas; ``given`` are those of the inputs."""
    tops = [root.key for root in roots]
    uses = Counter(tops)
    for e in by_key(*roots, operands=operands_shown).values():
        uses.update([arg.key for arg in operands_shown(e)])
    lines: list[tuple[str, str]] = []
    abbreviations: dict[str, list[Key]] = {}

    def step(e: Expr, parts: tuple[Written, ...]) -> Written:
        if e.op is CONSTANT:
            return _told_apart(number_text(e.params[0][1].array), e.key, abbreviations)
        piece = write(e, _in_context(e, parts), functions)
        shared = uses[e.key] > 1 and piece.binding < ATOM
        long = len(piece.text) > LONGEST_INLINE and bool(e.args) and e.key not in tops
        if (shared or long) and not _transparent(e):
            name = next(names)
            lines.append((name, piece.text))
            piece = Written(name, ATOM)
        return piece

    written = folded_by_key(roots, step, dict(given), operands_shown)
    return lines, written


def _told_apart(part: Written, key: Key, abbreviations: dict[str, list[Key]]) -> Written:
    """An abbreviated constant, with a number if another one of its type has been written."""
    if not part.text.startswith("<"):
        return part
    alike = abbreviations.setdefault(part.text, [])
    if key not in alike:
        alike.append(key)
    place = alike.index(key)
    return part if not place else Written(f"{part.text[:-1]} #{place + 1}>", ATOM)


def _in_context(expr: Expr, parts: Sequence[Written]) -> list[Written]:
    """The operands as they are written beside each other: constants take the dtype of the others."""
    if not isinstance(expr.op, Elementwise):
        return list(parts)
    operands = written_operands(expr)
    found = [
        _constant_operand(operand) if _is_number(operand.expr) else part
        for operand, part in zip(operands, parts, strict=True)
    ]
    if all([operand.expr.op is CONSTANT for operand in operands]):
        if operands[0].expr.shape:
            found[0] = _as_array(found[0])
        elif not _is_safe(expr, operands):
            found[0] = _constant_operand(Operand(operands[0].expr))
    return found


def _is_number(expr: Expr) -> bool:
    return expr.op is CONSTANT and not expr.shape


def _is_safe(expr: Expr, operands: Sequence[Operand]) -> bool:
    """Whether Python computes with constants as NumPy does: it raises errors for 1/0 and for overflow."""
    if expr.dtype.kind not in "fib" or not all([operand.number for operand in operands]):
        return False
    values = [operand.expr.params[0][1].array.item() for operand in operands]
    infix = expr.op.infix
    if infix is not None and infix.symbol == "**":
        return all([1e-2 < value < 1e2 for value in values])
    safe = infix is None or infix.symbol in ("+", "-", "*", "/")
    return safe and all([1e-9 < abs(value) < 1e9 for value in values])


def _constant_operand(operand: Operand) -> Written:
    """A constant beside other operands: a number of Python's, which takes their dtype, or one of NumPy's."""
    value = operand.expr.params[0][1].array[()]
    if operand.number is None:
        return Written(f"{value.dtype}({digits(value)})", CALL)
    if operand.number is float and is_integer(value.item()):
        return _number(f"{digits(value)}.0")
    return _number(digits(value))


def _number(text: str) -> Written:
    if "/" in text:
        return Written(text, FRACTION)
    return Written(text, UNARY if text.startswith("-") else ATOM)


def _as_array(part: Written) -> Written:
    """An array that is written as a list, where Python would take it for one."""
    if part.binding == ATOM and part.text.startswith("["):
        return Written(f"array({part.text})", CALL)
    return part


def _transparent(expr: Expr) -> bool:
    hidden = bool(getattr(expr.op, "hidden", False)) or is_plain_pick(expr)
    if expr.op is broadcast_to or expr.op is astype:
        return False
    return hidden or expr.op is arithmetic.negative


def letters(taken: set[str]) -> Iterator[str]:
    """a, b, …, z, a1, b1, …, without those that variables have."""
    return numbered("abcdefghijklmnopqrstuvwxyz", taken)


_NONE: Mapping[Body, Function] = MappingProxyType({})


def write(expr: Expr, parts: list[Written], functions: Mapping[Body, Function] = _NONE) -> Written:
    """One node's formula, from those of its operands that are written."""
    if expr.op is INPUT:
        return Written(str(expr.params[0][1]), ATOM)
    if expr.op is CONSTANT:
        return number_text(expr.params[0][1].array)
    operation: Op = expr.op
    if operation is leaf:
        return Written(expr.label, ATOM) if expr.label else parts[0]
    if operation is astype:
        return _cast(expr, _as_array(parts[0]))
    if operation is broadcast_to:
        return _repeated(expr, parts[0])
    if operation is selection.mask and len(parts) == 3:
        return Written(f"where({', '.join([part.text for part in parts])})", CALL)
    if operation.hidden or is_plain_pick(expr):
        return parts[0]
    if operation is arithmetic.negative:
        inner = ATOM if parts[0].text.startswith("-") else PRODUCT
        return Written("-" + parenthesized(parts[0], inner), PRODUCT)
    if operation is arithmetic.square:
        return Written(parenthesized(parts[0], POWER + 1) + "**2", POWER)
    if operation.infix:
        return _infix(operation, parts)
    return _call(expr, operation, parts, functions)


def _call(
    expr: Expr, operation: Op, parts: list[Written], functions: Mapping[Body, Function]
) -> Written:
    texts = [part.text for part in parts]
    made = applied(expr, texts, functions)
    if made is not None:
        return Written(str(made), CALL)
    params = dict(expr.params)
    if set(params) == {"axis"} and params["axis"] == tuple(range(expr.args[0].ndim)):
        return Written(f"{operation.name}({texts[0]})", CALL)
    if operation is scatter_op and expr.dtype != np.float64:
        at = index_text(params["spec"], texts[1:])
        return Written(f"zeros({expr.shape}, {expr.dtype}).at{at}.add({texts[0]})", CALL)
    if operation.notation:
        # What is written behind its operand binds tightest: x.T, x[i].
        if operation.notation("\0", *texts[1:], **params).startswith("\0"):
            texts[0] = parenthesized(_as_array(parts[0]), CALL)
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
        return Written(
            f"{parenthesized(left, binding + 1)}**{parenthesized(right, binding)}", binding
        )
    if symbol == "@":
        return Written(f"{parenthesized(left, UNARY)} @ {parenthesized(right, UNARY)}", MATMUL)
    # x + -3 reads as x - 3.
    if symbol == "+" and right.text.startswith("-") and right.binding >= FRACTION:
        return Written(f"{parenthesized(left, binding)} - {right.text[1:]}", binding)
    # Sums and products associate, so that a person writes 2*x*y for 2*(x*y).
    within = binding if symbol in ("+", "*") else binding + 1
    if symbol != "+" and right.text.startswith("-"):
        within = ATOM
    spaced = symbol if symbol in ("*", "/") else f" {symbol} "
    # A chain of comparisons would mean something else.
    outside = binding + 1 if binding == COMPARISON else binding
    # -(x % y) and z*(x // y) are not -x % y and z*x // y.
    binds = binding - 1 if symbol in ("%", "//") else binding
    return Written(f"{parenthesized(left, outside)}{spaced}{parenthesized(right, within)}", binds)


def parenthesized(part: Written, binding: int) -> str:
    """The text, in parentheses where it binds less tightly than it must."""
    return part.text if part.binding >= binding else f"({part.text})"


def _cast(expr: Expr, part: Written) -> Written:
    """An operand of another dtype: ``x.astype(float32)``."""
    (x,) = expr.args
    if x.op is CONSTANT and not x.shape:
        return Written(f"{expr.dtype}({part.text})", CALL)
    real = x.dtype.kind == "c" and expr.dtype.kind != "c"
    text = f"real({part.text})" if real else parenthesized(part, CALL)
    if real and x.dtype.type(0).real.dtype == expr.dtype:
        return Written(text, CALL)
    return Written(f"{text}.astype({expr.dtype})", CALL)


def _repeated(expr: Expr, part: Written) -> Written:
    """An operand that is repeated, where NumPy would not do it: ``broadcast_to(x, (3,))``."""
    (x,) = expr.args
    shape = str(expr.shape[0] if expr.ndim == 1 else expr.shape)
    if x.op is not CONSTANT or x.shape:
        return Written(f"broadcast_to({part.text}, {expr.shape})", CALL)
    value = x.params[0][1].array[()]
    if value.dtype == float and value in (0, 1) and digits(value) != "-0.0":
        return Written(f"{'ones' if value else 'zeros'}({shape})", CALL)
    return Written(f"full({shape}, {part.text})", CALL)


def number_text(array: Any) -> Written:
    """A constant as source with its dtype, or, of an array with many entries, its type."""
    if array.ndim == 0:
        return _number(with_dtype(array[()]))
    text = entries(array)
    if not text.startswith("[") or is_default_dtype(array.dtype):
        return Written(text, ATOM)
    return Written(f"array({text}, {array.dtype})", CALL)


def short(value: object) -> str:
    """A number as a reader writes it: 3 for 3.0, six significant digits where more are noise."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if len(repr(value)) <= 8 else f"{value:.6g}"
    return str(value)


def shown(value: Any) -> str:
    """A value in few characters: a number, an array, or a tuple of those."""
    if isinstance(value, tuple):
        return f"({', '.join([shown(part) for part in value])}{',' if len(value) == 1 else ''})"
    if np.ndim(value) == 0:
        return short(value)
    if np.size(value) > 6:
        return f"{np.asarray(value).dtype}{list(np.shape(value))}"
    return np.array2string(np.asarray(value), precision=4, separator=", ").replace("\n", "")
