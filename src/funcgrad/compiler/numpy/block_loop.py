"""The run time of fused kernels: the loop over blocks of rows, on one thread or several, and scratch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.numpy.thread_pool import each
from funcgrad.graph import ArrayType


class Blocks(NamedTuple):
    """The tiling of a kernel: its rows, the rows of a block, scratch memory, and whether threads run it."""

    length: int
    rows: int
    scratch: tuple[ArrayType, ...]
    repeated: tuple[tuple[int, ArrayType], ...]
    transposed: bool
    spare: list[tuple[np.ndarray[Any, Any], ...]]
    threaded: bool


def each_block(block: Callable[..., None], blocks: Blocks, *arrays: object) -> None:
    """Run a kernel on all rows, block by block."""
    length, rows, spare = blocks.length, blocks.rows, blocks.spare
    count = -(-length // rows)

    def work(take: Callable[[], int]) -> None:
        try:
            scratch = spare.pop()  # one step, so that no two threads take the same
        except IndexError:
            scratch = _scratches(blocks, rows)
        _repeat(blocks, arrays, scratch)
        while (i := take()) >= 0:
            low = i * rows
            high = low + rows
            if high <= length:
                block(i, low, high, *arrays, *scratch)
            else:
                block(i, low, length, *arrays, *_part(blocks, arrays, scratch, length - low))
        spare.append(scratch)

    if blocks.threaded:
        each(work, count)
    else:
        work(partial(next, iter(range(count)), -1))


def row_sum(block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sum over the rows of a block whose rows are the last axis in memory.

    >>> row_sum(np.ones((2, 3), order="F"))
    array([2., 2., 2.])
    """
    columns = block.transpose((*range(1, block.ndim), 0))
    sums: np.ndarray[Any, Any] = np.matmul(columns, np.ones(len(block), block.dtype))
    return sums


def _scratches(blocks: Blocks, rows: int) -> tuple[np.ndarray[Any, Any], ...]:
    made = [*blocks.scratch, *[row for _, row in blocks.repeated]]
    return tuple([_scratch(row, rows, blocks.transposed) for row in made])


def _repeat(blocks: Blocks, arrays: Sequence[Any], scratch: Sequence[Any]) -> None:
    for (k, _), array in zip(blocks.repeated, scratch[len(blocks.scratch) :], strict=True):
        np.copyto(array, arrays[k])


def _part(
    blocks: Blocks, arrays: Sequence[Any], scratch: Sequence[Any], rows: int
) -> Sequence[Any]:
    """Scratch for fewer rows, without gaps: where single entries lie 64 bytes apart, `numpy.negative` errs.

    (NumPy 2.4 with AVX-512 negates the first of them, and writes zeros for the others.)
    """
    if not blocks.transposed:
        return [array[:rows] for array in scratch]
    part = _scratches(blocks, rows)
    _repeat(blocks, arrays, part)
    return part


def _scratch(row: ArrayType, rows: int, transposed: bool) -> np.ndarray[Any, Any]:
    if not transposed or not row.shape:
        return aligned((rows, *row.shape), row.dtype)
    return np.moveaxis(aligned((*row.shape, rows), row.dtype), -1, 0)
