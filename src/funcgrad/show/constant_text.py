"""Constants, casts, broadcasts and complex numbers, as formulas write them beside other operands."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, Key
from funcgrad.ops.base.op import Elementwise, astype, broadcast_to
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.rewrite.reading_matrix_laws import is_reshaped_identity
from funcgrad.show.implicit_casts import Operand, is_integer, stacked_operands
from funcgrad.show.numbers import digits, entries, is_default_dtype, is_identity, with_dtype
from funcgrad.show.written import ATOM, CALL, FRACTION, UNARY, Written, parenthesized


def stacked_text(expr: Expr, parts: Sequence[Written]) -> Written | None:
    """A concatenation of what was given an axis for it, ``array([x, y, 0])``; None of another node."""
    operands = stacked_operands(expr)
    if operands is None:
        return None
    axis = dict(expr.params)["axis"]
    rows = [_row(operand.expr, part.text) for operand, part in zip(operands, parts, strict=True)]
    if expr.dtype == float and any([x.expr.op is not CONSTANT for x in operands]):
        rows = [_of_whole_numbers(x.expr, row) for x, row in zip(operands, rows, strict=True)]
    inside = f"[{', '.join([part.text for part in parts] if axis else rows)}]"
    if axis:
        return Written(f"stack({inside}, axis={axis})", CALL)
    dtype = any([x.number for x in operands]) and not is_default_dtype(expr.dtype)
    return Written(f"array({inside}, {expr.dtype})" if dtype else f"array({inside})", CALL)


def _row(expr: Expr, text: str) -> str:
    """The text of a row of an array: ``[x, y]``, if the row is a stack, ``array([x, y])``."""
    stacked = stacked_operands(expr) is not None
    return text[6:-1] if stacked and text.startswith("array([") and text.endswith("])") else text


def _of_whole_numbers(expr: Expr, text: str) -> str:
    """The text of a row of constants, which takes the dtype of others: ``[1, 0]`` for ``[1.0, 0.0]``."""
    if expr.op is not CONSTANT or not expr.shape or expr.dtype != float:
        return text
    return re.sub(r"(?<![\d.])(-?[1-9]\d*|0)\.0(?=[],])", r"\1", text)


def told_apart(part: Written, key: Key, abbreviations: dict[str, list[Key]]) -> Written:
    """An abbreviated constant, with a number if another one of its type has been written."""
    if not part.text.startswith("<"):
        return part
    alike = abbreviations.setdefault(part.text, [])
    if key not in alike:
        alike.append(key)
    place = alike.index(key)
    return part if not place else Written(f"{part.text[:-1]} #{place + 1}>", ATOM)


def in_context(expr: Expr, operands: Sequence[Operand], parts: Sequence[Written]) -> list[Written]:
    """The operands as they are written beside each other: constants take the dtype of the others."""
    if not isinstance(expr.op, Elementwise):
        return [
            _constant_operand(operand) if operand.number else part
            for operand, part in zip(operands, parts, strict=True)
        ]
    found = [
        _constant_operand(operand) if _is_number(operand.expr) else part
        for operand, part in zip(operands, parts, strict=True)
    ]
    if all([operand.expr.op is CONSTANT for operand in operands]):
        if any([operand.expr.shape for operand in operands]):
            found = list(map(as_array, found))
        elif not _is_safe(expr, operands):
            found[0] = _constant_operand(Operand(operands[0].expr))
    elif expr.op.infix and not any([_is_array(operand.expr) for operand in operands]):
        found = list(map(as_array, found))
    return found


def _is_array(expr: Expr) -> bool:
    """Whether an operand makes an array of a list beside it: a number would repeat the list, or raise."""
    return bool(expr.shape) and expr.op is not CONSTANT


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
    if operand.number is int and value.dtype.kind == "c":
        value = value.real
    if operand.number is float and is_integer(value.item()):
        return _number(f"{digits(value)}.0")
    return _number(digits(value))


def _number(text: str) -> Written:
    if "/" in text:
        return Written(text, FRACTION)
    return Written(text, UNARY if text.startswith("-") else ATOM)


def as_array(part: Written) -> Written:
    """An array that is written as a list, where Python would take it for one."""
    if part.binding == ATOM and part.text.startswith("["):
        return Written(f"array({part.text})", CALL)
    return part


def typed_text(expr: Expr, parts: Sequence[Written]) -> Written | None:
    """A cast, a broadcast or a complex number of two parts; None of another node."""
    if expr.op is astype:
        return _cast_text(expr, as_array(parts[0]))
    if expr.op is broadcast_to:
        return _repeated_text(expr, parts[0])
    return _complex_text(expr, list(map(as_array, parts))) if expr.op is make_complex else None


def _cast_text(expr: Expr, part: Written) -> Written:
    """An operand of another dtype: ``x.astype(float32)``."""
    (x,) = expr.args
    if x.op is CONSTANT and not x.shape:
        return Written(f"{expr.dtype}({part.text})", CALL)
    real = x.dtype.kind == "c" and expr.dtype.kind != "c"
    text = f"real({part.text})" if real else parenthesized(part, CALL)
    if real and x.dtype.type(0).real.dtype == expr.dtype:
        return Written(text, CALL)
    return Written(f"{text}.astype({expr.dtype})", CALL)


def _complex_text(expr: Expr, parts: Sequence[Written]) -> Written:
    """A complex number of two parts: ``re + 1j*im`` loses signs of zeros, and is NaN for an infinite im."""
    inside = ", ".join([part.text for part in parts])
    if not expr.shape:
        return Written(f"{expr.dtype}({inside})", CALL)
    return Written(f"stack([{inside}], axis=-1).view({expr.dtype})[..., 0]", CALL)


def _repeated_text(expr: Expr, part: Written) -> Written:
    """An operand that is repeated, where NumPy would not do it: ``broadcast_to(x, (3,))``."""
    (x,) = expr.args
    shape = str(expr.shape[0] if expr.ndim == 1 else expr.shape)
    if x.shape:
        return Written(f"broadcast_to({part.text}, {expr.shape})", CALL)
    if x.op is not CONSTANT:
        return Written(f"full({shape}, {part.text})", CALL)
    value = x.params[0][1].array[()]
    if value.dtype == float and value in (0, 1) and digits(value) != "-0.0":
        return Written(f"{'ones' if value else 'zeros'}({shape})", CALL)
    return Written(f"full({shape}, {part.text})", CALL)


def number_text(array: Any) -> Written:
    """A constant as source with its dtype, or, of an array with many entries, its type."""
    if array.ndim == 0:
        return _number(with_dtype(array[()]))
    if is_identity(array):
        return Written(f"eye({len(array)})", CALL)
    if is_reshaped_identity(array):
        return Written(f"reshape(eye({math.isqrt(array.size)}), {array.shape})", CALL)
    text = entries(array)
    if not text.startswith("[") or is_default_dtype(array.dtype):
        return Written(text, ATOM)
    return Written(f"array({text}, {array.dtype})", CALL)
