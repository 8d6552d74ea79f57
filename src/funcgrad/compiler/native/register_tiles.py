"""Products of matrices that are too small for BLAS: the sums of a tile of the result stay in registers.

A tile is a few rows of the result, and of each so many entries as a few registers hold. For each row of the
second matrix, its entries times one of the first are added to the sums of a row. The sums of an entry are
added up in the same order as by a plain loop, which would read and write them in each iteration.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compiler.native.array_values import Strided, Value
from funcgrad.compiler.native.llvm_writer import MEMORY, LLVMWriter, Number, integer, linear_index

# The rows of a tile, and the bytes of one; the products that a sum has at least, and the entries of a row.
_ROWS, _BYTES, _DEEP, _WIDE = 4, 256, 12, 4
# The tiles beside each other, each of which has instructions of its own.
_MOST_TILES = 8


def has_tiles(a: Value, b: Value) -> bool:
    """Whether the product of two matrices is computed by tiles."""
    if not isinstance(b, Strided) or b.dtype not in ("float64", "float32"):
        return False
    deep, columns = b.shape
    few = columns <= _MOST_TILES * _BYTES // np.dtype(b.dtype).itemsize
    return a.dtype == b.dtype and b.strides[1] == 1 and deep >= _DEEP and columns >= _WIDE and few


def multiply_by_tiles(w: LLVMWriter, found: Strided, a: Value, b: Strided) -> None:
    """Write the product of two matrices into an array whose rows are without gaps."""
    rows, columns = found.shape
    width, whole = _BYTES // np.dtype(found.dtype).itemsize, rows // _ROWS
    for start in range(0, columns, width):
        part = slice(start, min(start + width, columns))
        if whole:
            with w.loop(integer(whole)) as block:
                _tile(w, found, a, b, w.times(block, integer(_ROWS)), _ROWS, part)
        if rows % _ROWS:
            _tile(w, found, a, b, integer(whole * _ROWS), rows % _ROWS, part)


def _tile(
    w: LLVMWriter, found: Strided, a: Value, b: Strided, first: Number, count: int, part: slice
) -> None:
    """The entries of a part of some rows, from a first one on."""
    width, number = part.stop - part.start, MEMORY[found.dtype]
    kind, size = f"<{width} x {number}>", np.dtype(found.dtype).itemsize
    places = [w.plus(first, integer(row)) for row in range(count)]

    def place_of(x: Strided, row: Number) -> str:
        at = linear_index(w, (row, integer(part.start)), x.strides, x.offset)
        return w.address(x.pointer, x.dtype, at)

    sums = [f"%{w.fresh('sums')}" for _ in places]
    for name in sums:  # (LLVM keeps these in registers.)
        w.stack.append(f"  {name} = alloca {kind}, align 64")
        w.lines.append(f"  store {kind} zeroinitializer, ptr {name}, align 64")
    with w.loop(integer(b.shape[0]), vectorized=False) as k:
        row = w.emit(kind, f"load {kind}, ptr {place_of(b, k)}, align {size}").text
        for name, place in zip(sums, places, strict=True):
            x = a.at(w, (place, k))
            one = w.emit(kind, f"insertelement {kind} poison, {number} {x.text}, i32 0").text
            mask = f"<{width} x i32> zeroinitializer"
            many = w.emit(kind, f"shufflevector {kind} {one}, {kind} poison, {mask}").text
            term = w.emit(kind, f"fmul {kind} {many}, {row}").text
            total = w.emit(kind, f"load {kind}, ptr {name}, align 64").text
            total = w.emit(kind, f"fadd {kind} {total}, {term}").text
            w.lines.append(f"  store {kind} {total}, ptr {name}, align 64")
    for name, place in zip(sums, places, strict=True):
        total = w.emit(kind, f"load {kind}, ptr {name}, align 64").text
        w.lines.append(f"  store {kind} {total}, ptr {place_of(found, place)}, align {size}")
