"""Fusion legality: which calls may be members of a fused kernel that runs on blocks of rows.

A call is legal where a row of its value depends on the same row of its operands alone, or where its value is
a sum, a product or an extremum over all rows. Its form (`call_ir.CallForm`) and its parameters decide that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.compiler.call_ir import Call, CallForm
from funcgrad.compiler.numpy.fused_kernel import Member

# Columns of a product that is done by rows.
_NARROW = 32
# Entries of the matrices of which there is one for each row: products of larger ones fill a core, or several.
_SMALL = 1 << 15
# The first items of an index that keeps every row.
_EVERY_ROW = ((("slice", None, None, None),), (("slice", None, None, 1),))
_ROW_WISE = (CallForm.ENTRYWISE, CallForm.RESHAPE, CallForm.TRANSPOSE, CallForm.GETITEM)


def member(calls: Sequence[Call], i: int, lengths: set[int], tall: int) -> Member | None:
    """A call as a member of a group, if it may be one: of rows as many as one of the lengths.

    The operand of a total has at least ``tall`` times its entries.
    """
    call = calls[i]
    types = [calls[k].type for k in call.operands]
    if call.form is CallForm.MATMUL:
        return _product(calls, i, lengths, tall)
    if call.form is CallForm.REDUCE:
        if not types[0].shape or types[0].shape[0] not in lengths:
            return None
        if 0 not in call.axes:
            return Member(call, i, (True,), False)
        few = call.type.size * tall <= types[0].size
        return Member(call, i, (True,), True) if few and call.type.dtype.char != "e" else None
    shape = call.type.shape
    if not types or call.form not in _ROW_WISE or not shape or shape[0] not in lengths:
        return None
    if call.form is CallForm.TRANSPOSE:
        return Member(call, i, (True,), False) if call.axes[0] == 0 else None
    if call.form is CallForm.GETITEM and dict(call.params)["spec"][:1] not in _EVERY_ROW:
        return None
    if call.form in (CallForm.RESHAPE, CallForm.GETITEM):
        if types[0].shape[:1] != shape[:1]:
            return None
        if call.form is CallForm.RESHAPE:
            call = call._replace(params=(("shape", (-1, *shape[1:])),))
        return Member(call, i, (True,), False)
    rows = tuple([len(t.shape) == len(shape) and t.shape[0] == shape[0] for t in types])
    return Member(call, i, rows, False) if any(rows) else None


def _product(calls: Sequence[Call], i: int, lengths: set[int], tall: int) -> Member | None:
    """A product by rows, tall @ narrow; or a total over rows, a row vector or a transposed matrix @ tall."""
    call = calls[i]
    k, m = call.operands
    a, b = calls[k].type.shape, calls[m].type.shape
    if call.type.dtype.char not in "fdFD":
        return None
    if len(a) > 2 or len(b) > 2:
        return _stack(calls, i, lengths)
    columns = math.prod(b[1:])
    if not call.params and len(a) == 2 and a[0] in lengths and columns <= _NARROW:
        return Member(call, i, (True, False), False)
    if b[0] not in lengths or call.type.size * tall > calls[m].type.size:
        return None
    reduces_rows = len(a) == 1 or (bool(call.params) and columns <= _NARROW)
    return Member(call, i, (True, True), True) if reduces_rows else None


def _stack(calls: Sequence[Call], i: int, lengths: set[int]) -> Member | None:
    """A product of small matrices for each row."""
    call = calls[i]
    shapes = [calls[k].type.shape for k in call.operands]
    rows = tuple([len(shape) == len(call.type.shape) for shape in shapes])
    if call.type.shape[0] not in lengths or call.params or not any(rows):
        return None
    for shape, by_rows in zip(shapes, rows, strict=True):
        if by_rows and (shape[0] != call.type.shape[0] or math.prod(shape[1:]) > _SMALL):
            return None
    return Member(call, i, rows, False)
