"""Calls of BLAS and LAPACK in machine code: products and triangular systems.

BLAS is that of NumPy where the loader finds it, so that products have NumPy's bits and speed; else it is
that of SciPy, which exports addresses of BLAS and LAPACK. (The two are of different versions in one
installation: OpenBLAS 0.3.30 takes 1.1 times as long as 0.3.31 for a product of 128 x 784 and 784 x 256.)
Without both the products are loops.

BLAS is column-major: a row-major matrix is to it the transpose. So the product ``A @ B`` is computed as
``B.T @ A.T``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from numpy.linalg import _umath_linalg

from funcgrad.compiler.native.array_values import Splat, Strided, Value, in_memory
from funcgrad.compiler.native.llvm_writer import MEMORY, LLVMWriter, real
from funcgrad.compiler.native.scipy_exports import scipy_export

NUMPY_BLAS, BLAS, LAPACK = "numpy_blas.", "blas.", "lapack."
"""How the names of functions begin in machine code: of NumPy's BLAS, and of SciPy's BLAS and LAPACK."""

_OF_LAPACK = frozenset(("getrf", "potrf"))


def blas_address(name: str) -> int:
    """Where a function is, by its name in machine code; 0 if it is not there."""
    home, _, own = name.partition(".")
    if name.startswith(NUMPY_BLAS):
        return _numpy_address(own)
    found = scipy_export(f"scipy.linalg.cython_{home}", own)
    return 0 if found is None else found.address


@lru_cache(maxsize=64)
def _numpy_address(name: str) -> int:
    """Where a function of NumPy's BLAS with integers of 64 bits is; 0 if the loader does not find it.

    A search of NumPy's module for linear algebra includes the library that it is linked to.
    """
    library = ctypes.CDLL(_umath_linalg.__file__)
    for symbol in (f"scipy_{name}_64_", f"{name}_64_"):
        if hasattr(library, symbol):
            return ctypes.cast(library[symbol], ctypes.c_void_p).value or 0
    return 0


_LONGEST = 2**31 - 1
"""The longest row or column of a matrix that SciPy's BLAS takes, whose integers have 32 bits."""


def has_blas(dtype: str) -> bool:
    """Whether BLAS multiplies matrices of a dtype here."""
    return dtype in _LETTERS and blas_address(_symbol(f"{_LETTERS[dtype]}gemm")) != 0


def _symbol(routine: str) -> str:
    """The name of a routine of BLAS in machine code."""
    return f"{NUMPY_BLAS if _numpy_address(routine) else BLAS}{routine}"


def has_lapack(dtype: str) -> bool:
    """Whether LAPACK factors matrices of a dtype here."""
    return dtype in _LETTERS and blas_address(f"{LAPACK}{_LETTERS[dtype]}getrf") != 0


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
    operands: list[str | int | float] = [
        _trans(right),
        _trans(left),
        columns,
        rows,
        inner,
        1.0,
        f"ptr {_place(w, right.array)}",
        right.leading,
        f"ptr {_place(w, left.array)}",
        left.leading,
        0.0,
        f"ptr {_place(w, found)}",
        columns,
    ]
    call_fortran(w, found.dtype, "gemm", *operands)


def _trans(x: _Matrix) -> str:
    return "T" if x.transposed else "N"


def _place(w: LLVMWriter, x: Strided) -> str:
    return w.address(x.pointer, x.dtype, x.offset)


def triangular_solve(w: LLVMWriter, a: Strided, x: Strided, *, lower: bool, unit: bool) -> None:
    """Solve a triangular system in the place of its right sides, an array in C order.

    To BLAS they are its transpose, which is a product with the transposed matrix.
    """
    (n, columns), rows_apart = x.shape, a.strides[1] == 1
    # (A matrix by rows is to BLAS its transpose, with the other triangle.)
    uplo = "L" if lower is not rows_apart else "U"
    trans = "N" if rows_apart else "T"
    diagonal = "U" if unit else "N"
    places: list[str | int] = [f"ptr {_place(w, a)}", n, f"ptr {_place(w, x)}", columns]
    call_fortran(w, a.dtype, "trsm", "R", uplo, trans, diagonal, columns, n, 1.0, *places)


def call_fortran(w: LLVMWriter, dtype: str, routine: str, *operands: str | float) -> None:
    """Call a routine of BLAS or LAPACK for a dtype, which takes addresses.

    Operands are an address, as ``ptr %x``, a letter, an integer, or a number of the dtype.
    """
    kind = MEMORY[dtype]
    own = f"{_LETTERS[dtype]}{routine}"
    name = f"{LAPACK}{own}" if routine in _OF_LAPACK else _symbol(own)
    width = "i64" if name.startswith(NUMPY_BLAS) else "i32"
    w.declared[name] = f"declare void @{name}({', '.join(['ptr'] * len(operands))}) nounwind"

    def given(x: str | float) -> str:
        if isinstance(x, str) and x.startswith("ptr "):
            return x
        if isinstance(x, str):
            return f"ptr {_constant(w, 'i8', str(ord(x)), f'i8.{x}')}"
        if isinstance(x, int):
            return f"ptr {_constant(w, width, str(x), f'{width}.{x}')}"
        return f"ptr {_constant(w, kind, real(x, kind).text, f'{dtype}.{x:.0f}')}"

    w.lines.append(f"  call void @{name}({', '.join(map(given, operands))})")


def _constant(w: LLVMWriter, kind: str, text: str, name: str) -> str:
    """The address of a constant, which BLAS takes for its numbers."""
    w.defined[name] = f"@{name} = private unnamed_addr constant {kind} {text}"
    return f"@{name}"
