"""Formulas: the fold whose algebra writes, with shared parts named, so it is linear in the graph.

The invariant: a formula that is read as NumPy code has the value, shape and dtype of the program. Broadcasts
and casts are left out where NumPy does them (`funcgrad.show.implicit_casts`), and constants have the fewest
digits that read back (`funcgrad.show.numbers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.base.index_spec import index_text
from funcgrad.ops.base.op import Op, astype, broadcast_to, leaf
from funcgrad.ops.elementwise import arithmetic, selection
from funcgrad.ops.indexing import scatter_op
from funcgrad.printed_text import PrintedText
from funcgrad.rewrite.reading import reading
from funcgrad.show.constant_text import (
    as_array,
    in_context,
    number_text,
    stacked_text,
    told_apart,
    typed_text,
)
from funcgrad.show.functions import (
    Function,
    applied,
    given_names,
    held_within,
    is_plain_pick,
    named,
    numbered,
    part_names,
)
from funcgrad.show.implicit_casts import Operand, written_operands
from funcgrad.show.naming import BLANK, Rules, let_all, without_depths
from funcgrad.show.written import (
    ATOM,
    CALL,
    COMPARISON,
    FRACTION,
    MATMUL,
    POWER,
    PRODUCT,
    UNARY,
    Written,
    parenthesized,
)
from funcgrad.trace.pytree import flatten

LONGEST_INLINE = 60  # characters of a part that is written in place; longer ones get a name
SHORTEST_SHARED = 10  # characters of a shared part of a derived formula that has no name of its own
FIRST, LAST = 20, 5  # lines kept of a long program


def text(expr: Expr) -> str:
    """The formula, in let-form where parts are shared: ``let a = …; in …``.

    What runs again and again, or as one step, is a function with a name: ``s`` is a loop's state, ``t`` what
    a turn takes of the sequences that it runs over, and ``p`` what every turn is given. A loop's value is
    what its function's would be: the last state, then what was put out, stacked.

    Of a program of more than 2000 nodes the end is written.

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
    return _let_text(lines, repr(exprs.rebuild([PrintedText(root) for root in roots])))


def _let_text(lines: list[tuple[str, str]], root: str) -> str:
    if not lines:
        return root
    first, *rest = [line.replace("\n", "\n    ") for line in _cut(lines)]
    return "\n".join([f"let {first}", *[f"    {line}" for line in rest], f"in {root}"])


def _cut(lines: list[tuple[str, str]]) -> list[str]:
    return shortened([f"{name} = {body}" for name, body in lines])


def shortened(lines: list[str], instead: str = "… ({} more)") -> list[str]:
    """Lines, of many the first and the last; ``instead`` counts those between."""
    if len(lines) <= FIRST + LAST + 1:
        return lines
    return [*lines[:FIRST], instead.format(len(lines) - FIRST - LAST), *lines[-LAST:]]


def let_forms(roots: Sequence[Expr]) -> tuple[list[tuple[str, str]], list[str]]:
    """The named parts of several formulas as pairs (name, formula), in order, and the formulas."""
    written, left_out = without_depths(roots)
    exprs, is_whole = reading(written)
    functions, definitions, names = define(exprs, given_names(written))
    shortest = SHORTEST_SHARED if is_whole else 0
    lines, texts = _let(exprs, {}, names, functions, shortest, part_names(exprs))
    blank = [(BLANK, left_out)] if left_out else []
    return [*blank, *definitions, *lines], [as_array(root).text for root in texts]


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
        written, left_out = without_depths(item.body.outputs)
        lines, outputs = _let(written, given, names, functions)
        result = ", ".join([part.text for part in outputs]) or "()"
        if left_out:
            lines = [(BLANK, left_out), *lines]
        if lines:
            result += "\n  where " + "\n        ".join(_cut(lines))
        definitions.append((own.head, result))
    return functions, definitions, names


def _let(
    roots: Sequence[Expr],
    given: Mapping[Key, Written],
    names: Iterator[str],
    functions: Mapping[Body, Function],
    shortest: int = 0,
    labeled: Mapping[Key, str] = MappingProxyType({}),
) -> tuple[list[tuple[str, str]], list[Written]]:
    """The named parts of some formulas, and the formulas; ``given`` are those of the inputs.

    A part that is used twice has a name if it has more than ``shortest`` characters: its label, or a letter.
    """
    found: dict[Key, tuple[Operand, ...]] = {}

    def operands(e: Expr) -> tuple[Expr, ...]:
        if e.key not in found:
            found[e.key] = written_operands(e)
        return tuple([operand.expr for operand in found[e.key]])

    abbreviations: dict[str, list[Key]] = {}

    def piece(e: Expr, parts: list[Written]) -> Written:
        if e.op is CONSTANT:
            return told_apart(number_text(e.params[0][1].array), e.key, abbreviations)
        written = in_context(e, found[e.key], parts)
        return stacked_text(e, written) or write(e, written, functions)

    rules = Rules(
        piece,
        names,
        operands,
        ATOM,
        LONGEST_INLINE,
        transparent=_transparent,
        labeled=labeled,
        repeated=lambda part: len(part.text) <= shortest,
    )
    return let_all(roots, given, rules)


def _transparent(expr: Expr) -> bool:
    """Whether a node is written at each use: a constant, a sign, and what adds nothing to its operand."""
    hidden = expr.op is CONSTANT or bool(getattr(expr.op, "hidden", False)) or is_plain_pick(expr)
    if expr.op is broadcast_to or expr.op is astype:
        return False
    is_sign = expr.op is arithmetic.negative and expr.args[0].op is not arithmetic.negative
    return hidden or is_sign


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
    typed = typed_text(expr, parts)
    if typed is not None:
        return typed
    if operation is selection.mask and len(parts) == 3:
        return Written(f"where({', '.join([part.text for part in parts])})", CALL)
    if operation.hidden or is_plain_pick(expr):
        return parts[0]
    if operation is arithmetic.negative:
        apart = parts[0].text.startswith("-") or _first_factor(expr.args[0]).dtype.kind in "bu"
        inner = ATOM if apart else PRODUCT
        return Written("-" + parenthesized(as_array(parts[0]), inner), PRODUCT)
    if operation is arithmetic.square:
        return Written(parenthesized(as_array(parts[0]), POWER + 1) + "**2", POWER)
    if operation.infix:
        return _infix(operation, parts)
    return _call(expr, operation, parts, functions)


def _first_factor(expr: Expr) -> Expr:
    """The factor that a sign before a product negates: NumPy has no -p of a truth value, and -n wraps."""
    while (getattr(expr.op, "infix", None) or " ")[0] in "*/":
        expr = written_operands(expr)[0].expr
    return expr


def _call(
    expr: Expr, operation: Op, parts: list[Written], functions: Mapping[Body, Function]
) -> Written:
    texts = [part.text for part in parts]
    made = applied(expr, texts, functions)
    if made is not None:
        return Written(str(made), CALL)
    params = dict(expr.params)
    if _keeps_axes(expr) and texts[0].startswith(f"{expr.args[0].op.name}("):
        return Written(f"{texts[0][:-1]}, keepdims=True)", CALL)
    if set(params) == {"axis"} and _is_every_axis(expr, params["axis"]):
        return Written(f"{operation.name}({texts[0]})", CALL)
    if operation is scatter_op and expr.dtype != np.float64:
        at = index_text(params["spec"], texts[1:])
        return Written(f"zeros({expr.shape}, {expr.dtype}).at{at}.add({texts[0]})", CALL)
    if operation.notation:
        # What is written behind its operand binds tightest: x.T, x[i]; a sign before it, as a product.
        around = operation.notation("\0", *texts[1:], **params)
        is_sign = around.endswith("\0")
        if is_sign or around.startswith("\0"):
            texts[0] = parenthesized(as_array(parts[0]), CALL)
        return Written(operation.notation(*texts, **params), PRODUCT if is_sign else CALL)
    extras = [f"{name}={value}" for name, value in params.items()]
    return Written(f"{operation.name}({', '.join(texts + extras)})", CALL)


def _keeps_axes(expr: Expr) -> bool:
    """Whether a sum, or the like, is given the axes of length 1 that ``keepdims`` gives it."""
    if [name for name, _ in expr.params] != ["shape"]:
        return False
    (reduced,) = expr.args
    if [name for name, _ in reduced.params] != ["axis"]:
        return False
    whole, given = reduced.args[0], dict(reduced.params)["axis"]
    axes = given if isinstance(given, tuple) else (given,)
    kept = tuple([1 if axis in axes else n for axis, n in enumerate(whole.shape)])
    return kept == expr.shape and reduced.ndim == whole.ndim - len(axes)


def _is_every_axis(expr: Expr, axis: object) -> bool:
    """Whether NumPy takes an axis, or axes, if it is given none: all, or the only one of a vector."""
    ndim = expr.args[0].ndim
    alone = ndim == 1 and len(expr.args) == 1 and not expr.op.notation
    return axis == tuple(range(ndim)) or (alone and axis == 0)


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
        return Written(f"{parenthesized(left, MATMUL)} @ {parenthesized(right, UNARY)}", MATMUL)
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


def short(value: object) -> str:
    """A number as a reader writes it: 3 for 3.0, six significant digits where more are noise."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return f"{value:.0f}"  # -0 keeps its sign
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
