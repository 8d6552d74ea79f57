"""Products of large matrices in machine code: calls of BLAS, whose addresses SciPy exports.

A matrix that stands in memory by rows is to BLAS, which reads by columns, its transpose. So the product
``A @ B`` is computed as ``B.T @ A.T``. Without SciPy the products are loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.native.array_values import Splat, Strided, Value, in_memory
from funcgrad.compiler.native.llvm_writer import MEMORY, LLVMWriter, real
from funcgrad.compiler.native.scipy_exports import scipy_export

BLAS = "blas."
"""How the names of BLAS functions begin in machine code."""


def blas_address(name: str) -> int:
    """Where a function of BLAS is, by its name with `BLAS` before it; 0 without SciPy."""
    found = scipy_export("scipy.linalg.cython_blas", name.removeprefix(BLAS))
    return 0 if found is None else found.address


_LONGEST = 2**31 - 1
"""The longest row or column of a matrix that BLAS takes, whose integers have 32 bits."""


def has_blas(dtype: str) -> bool:
    """Whether BLAS multiplies matrices of a dtype here."""
    return dtype in _LETTERS and blas_address(f"{BLAS}{_LETTERS[dtype]}gemm") != 0


_LETTERS = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}


def matrices_of(
    terms: Sequence[str], output: str, operands: Sequence[Value]
) -> tuple[Value, Value] | None:
    """The two matrices whose product a contraction is, a vector as one row or one column; else None."""
    if len(terms) != 2 or any([len(set(term)) < len(term) for term in terms]):
        return None
    summed = [letter for letter in terms[0] if letter in terms[1]]
    rows, columns = [[letter for letter in term if letter not in summed] for term in terms]
    if len(summed) != 1 or len(rows) > 1 or len(columns) > 1:
        return None
    if sorted(output) != sorted([*rows, *columns]):
        return None
    if any([length > _LONGEST for x in operands for length in x.shape]):
        return None
    first, second = zip(terms, operands, strict=True)
    if rows and output[0] != rows[0]:
        first, second = second, first
    return _with_rows(*first, summed[0]), _with_columns(*second, summed[0])


def _with_columns(term: str, x: Value, summed: str) -> Value:
    """A matrix, or a vector as one column, whose rows are summed over."""
    if len(term) == 2:
        return x if term[0] == summed else _transposed(x)
    if isinstance(x, Splat):
        return x._replace(shape=(*x.shape, 1))
    return x._replace(shape=(*x.shape, 1), strides=(*x.strides, 1))


def _with_rows(term: str, x: Value, summed: str) -> Value:
    """A matrix, or a vector as one row, whose columns are summed over."""
    return _transposed(_with_columns(term, x, summed))


def _transposed(x: Value) -> Value:
    """A matrix transposed."""
    if isinstance(x, Splat):
        return x._replace(shape=x.shape[::-1])
    return x._replace(shape=x.shape[::-1], strides=x.strides[::-1])


class _Matrix(NamedTuple):
    """A matrix as BLAS takes it."""

    array: Strided
    transposed: bool
    """Whether it stands in memory by columns."""
    leading: int
    """How many entries apart its rows are, or its columns."""


def _matrix(w: LLVMWriter, x: Value) -> _Matrix:
    """The matrix itself, if its rows or its columns stand in memory as BLAS reads them, else a copy."""
    rows, columns = x.shape
    if isinstance(x, Strided):
        down, right = x.strides
        if (right == 1 or columns == 1) and (_LONGEST >= down >= columns or rows == 1):
            return _Matrix(x, False, columns if rows == 1 else down)
        if (down == 1 or rows == 1) and (_LONGEST >= right >= rows or columns == 1):
            return _Matrix(x, True, rows if columns == 1 else right)
    return _Matrix(in_memory(w, x), False, columns)


def multiply(w: LLVMWriter, found: Strided, a: Value, b: Value) -> None:
    """Write the product of two matrices into an array in C order."""
    (rows, inner), columns = a.shape, b.shape[1]
    left, right = _matrix(w, a), _matrix(w, b)
    name = f"{BLAS}{_LETTERS[found.dtype]}gemm"
    w.declared[name] = f"declare void @{name}({', '.join(['ptr'] * 13)}) nounwind"
    kind = MEMORY[found.dtype]

    def number(value: float) -> str:
        return _constant(w, kind, real(value, kind).text, f"{found.dtype}.{value:.0f}")

    def integer(value: int) -> str:
        return _constant(w, "i32", str(value), f"i32.{value}")

    def trans(x: _Matrix) -> str:
        return _constant(w, "i8", str(ord("T" if x.transposed else "N")), f"i8.{x.transposed}")

    def place(x: Strided) -> str:
        return w.address(x.pointer, x.dtype, x.offset)

    operands = [
        trans(right),
        trans(left),
        *map(integer, (columns, rows, inner)),
        number(1.0),
        place(right.array),
        integer(right.leading),
        place(left.array),
        integer(left.leading),
        number(0.0),
        place(found),
        integer(columns),
    ]
    w.lines.append(f"  call void @{name}({', '.join([f'ptr {x}' for x in operands])})")


def _constant(w: LLVMWriter, kind: str, text: str, name: str) -> str:
    """The address of a constant, which BLAS takes for its numbers."""
    w.defined[name] = f"@{name} = private unnamed_addr constant {kind} {text}"
    return f"@{name}"
