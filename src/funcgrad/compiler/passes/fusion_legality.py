"""Which calls may join a group that is run block by block: those that act on each row alone, and totals.

A call is looked at by what it does to its operands (`call_ir.Call.kind`): a row of the result
must depend on the same row of the operands, or the result be a sum, a product or an extremum over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.compiler.call_ir import Call
from funcgrad.compiler.numpy.fused_kernel import Member

# Columns of a product that is done by rows.
_NARROW = 32
# Entries of the matrices of which there is one for each row: products of larger ones fill a core, or several.
_SMALL = 1 << 15
REDUCTIONS = ("add", "maximum", "minimum")


def member(calls: Sequence[Call], i: int, lengths: set[int], tall: int) -> Member | None:
    """A call as a member of a group, if it may be one: of rows as many as one of the lengths.

    The operand of a total has at least ``tall`` times its entries.
    """
    call = calls[i]
    types = [calls[k].type for k in call.operands]
    if call.kind in ("matmul", "matmul.T"):
        return _product(calls, i, lengths, tall)
    if not types or not call.kind:
        return None
    if call.kind in REDUCTIONS:
        if not types[0].shape or types[0].shape[0] not in lengths:
            return None
        if 0 not in call.axes:
            text = f"{call.kind}.reduce({{0}}, {call.axes}, None{{out}})"
            return Member(call._replace(text=text), i, (True,), False)
        few = call.type.size * tall <= types[0].size
        return Member(call, i, (True,), True) if few and call.type.dtype.char != "e" else None
    shape = call.type.shape
    if not shape or shape[0] not in lengths:
        return None
    if call.kind == "transpose":
        return Member(call, i, (True,), False) if call.axes[0] == 0 else None
    if call.kind in ("reshape", "getitem"):
        if types[0].shape[:1] != shape[:1]:
            return None
        if call.kind == "reshape":
            inner = ", ".join(["-1", *map(str, shape[1:])])
            call = call._replace(text=f"{{0}}.reshape(({inner},))")
        return Member(call, i, (True,), False)
    rows = tuple([len(t.shape) == len(shape) and t.shape[0] == shape[0] for t in types])
    return Member(call, i, rows, False) if any(rows) else None


def _product(calls: Sequence[Call], i: int, lengths: set[int], tall: int) -> Member | None:
    """The product of a tall matrix and a narrow one, or of what lies down with a tall one."""
    call = calls[i]
    k, m = call.operands
    a, b = calls[k].type.shape, calls[m].type.shape
    if call.type.dtype.char not in "fdFD":
        return None
    if len(a) > 2 or len(b) > 2:
        return _stack(calls, i, lengths)
    columns = math.prod(b[1:])
    if call.kind == "matmul" and len(a) == 2 and a[0] in lengths and columns <= _NARROW:
        return Member(call, i, (True, False), False)
    if b[0] not in lengths or call.type.size * tall > calls[m].type.size:
        return None
    lies = len(a) == 1 or (call.kind == "matmul.T" and columns <= _NARROW)
    return Member(call, i, (True, True), True) if lies else None


def _stack(calls: Sequence[Call], i: int, lengths: set[int]) -> Member | None:
    """A product of small matrices for each row."""
    call = calls[i]
    shapes = [calls[k].type.shape for k in call.operands]
    rows = tuple([len(shape) == len(call.type.shape) for shape in shapes])
    if call.type.shape[0] not in lengths or call.kind == "matmul.T" or not any(rows):
        return None
    for shape, by_rows in zip(shapes, rows, strict=True):
        if by_rows and (shape[0] != call.type.shape[0] or math.prod(shape[1:]) > _SMALL):
            return None
    return Member(call, i, rows, False)
