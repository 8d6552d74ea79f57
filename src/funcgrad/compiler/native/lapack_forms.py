"""Linear systems and factors of larger matrices in machine code: calls of LAPACK and BLAS.

Their addresses are SciPy's. A matrix is factored as NumPy does it, by columns. Where a pivot may be made by
rounding, NumPy decides whether the matrix is singular, as for small ones (`matrix_forms`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import Strided, Value, copy_into, in_memory, new_array
from funcgrad.compiler.native.blas import call_fortran, has_lapack, triangular_solve
from funcgrad.compiler.native.llvm_writer import (
    COMPLEX,
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    linear_index,
    real,
    truth_literal,
)
from funcgrad.compiler.native.scalar_instructions import cast_number, template_value

_Row: TypeAlias = Callable[[Number], Number]
_Divide: TypeAlias = Callable[[Number], None]

# Right sides from which BLAS is faster than loops, and by the kind of numbers the rows up to which it is not.
_COLUMNS, _ROWS = 5, {"f": 128, "c": 32}
# The rows from which a matrix that may be banded or triangular is left to NumPy, whose solution looks for
# that. LU of fewer rows takes as long as the search.
_STRUCTURED = 256


def pivot_size(w: LLVMWriter, x: Number) -> Number:
    """How large a number is, as LAPACK compares pivots: of a complex one the sum of both parts' sizes."""
    if x.type in COMPLEX:
        return template_value(w, "(abs({0}) + abs({1}))", w.parts(x))
    return template_value(w, "abs({0})", [x])


def sizes_of(dtype: str) -> str:
    """The dtype of the sizes of numbers."""
    return np.finfo(dtype).dtype.name


def tolerance(rows: int, dtype: str) -> Number:
    """The relative size of a pivot that rounding may have made."""
    return real(4 * rows * float(np.finfo(dtype).eps), REGISTER[sizes_of(dtype)])


def by_columns(x: Strided) -> Strided:
    """A square matrix whose columns stand in the place of an array's rows."""
    n = x.shape[-1]
    return x._replace(shape=(n, n), strides=(1, n))


# -- factors ---------------------------------------------------------------------------------------
class Factors(NamedTuple):
    """LU's factors by columns, and the rows that traded places, counted from 1 as integers of C."""

    lu: Strided
    pivots: str

    def pivot(self, w: LLVMWriter, k: Number) -> Number:
        """The row that traded places with row k; k if that is no row.

        (The code goes on after a failure, of other factors than LAPACK's, or of NaN.)
        """
        at = w.emit("ptr", f"getelementptr inbounds i32, ptr {self.pivots}, i64 {k.text}")
        found = w.cast("sext", w.emit("i32", f"load i32, ptr {at.text}"), "i64")
        row = w.binary("sub", found, integer(1))
        return w.select(w.compare("ult", row, integer(self.lu.shape[0])), row, k)


def largest_of_columns(w: LLVMWriter, x: Strided) -> Strided:
    """How large the largest entry of each column is."""
    n, kind = x.shape[1], sizes_of(x.dtype)
    largest = new_array(w, (n,), kind)
    with w.loop(integer(n)) as j:
        largest.put(w, (j,), real(0.0, REGISTER[kind]))
    way = -1 if x.strides[0] == 1 else 1  # the entries in their order in memory
    with w.loops(x.shape[::way]) as places:
        i, j = places[::way]
        size, found = pivot_size(w, x.at(w, (i, j))), largest.at(w, (j,))
        largest.put(w, (j,), w.select(w.compare("ogt", size, found), size, found))
    return largest


def mark_doubtful(w: LLVMWriter, bad: Strided, size: Number, largest: Number, x: Strided) -> None:
    """Mark a factorization of x as bad if a pivot may have been made by rounding."""
    limit = w.binary("fmul", largest, tolerance(x.shape[0], x.dtype))
    bad.put(w, (), w.binary("or", bad.at(w, ()), w.compare("ule", size, limit)))


def factored(program: ArrayProgram, a: Value, into: Strided) -> Factors:
    """Factor a matrix, into memory by columns; NumPy runs the program if the matrix may be singular.

    Raises:
        UnsupportedError: without SciPy.
    """
    w, n, dtype = program.writer, a.shape[-1], into.dtype
    if not has_lapack(dtype):
        raise UnsupportedError(f"linear algebra of {n} rows without SciPy")
    copy_into(w, into, a)
    largest = largest_of_columns(w, into)
    pivots, info = w.buffer(n // 2 + 1, "int64"), w.buffer(1, "int64")
    place = w.address(into.pointer, dtype, into.offset)
    call_fortran(w, dtype, "getrf", n, n, f"ptr {place}", n, f"ptr {pivots}", f"ptr {info}")
    _fails_by(program, info)
    bad = new_array(w, (), "bool")
    bad.put(w, (), truth_literal(False))
    with w.loop(integer(n)) as k:
        mark_doubtful(w, bad, pivot_size(w, into.at(w, (k, k))), largest.at(w, (k,)), into)
    program.fails_if(bad.at(w, ()))
    return Factors(into, pivots)


def _fails_by(program: ArrayProgram, info: str) -> None:
    """NumPy runs the program if LAPACK says that it failed."""
    w = program.writer
    told = w.emit("i32", f"load i32, ptr {info}")
    program.fails_if(w.emit("i1", f"icmp ne i32 {told.text}, 0"))


def solve_with_factors(
    program: ArrayProgram, factors: Factors, x: Strided, transposed: bool = False
) -> None:
    """Solve a system in the place of its right sides, an array in C order."""
    w = program.writer
    if transposed:
        _substitute(w, factors.lu, x, lower=False, transposed=True)
        _substitute(w, factors.lu, x, lower=True, transposed=True, unit=True)
    _trade_rows(w, factors, x, backwards=transposed)
    if not transposed:
        _substitute(w, factors.lu, x, lower=True, unit=True)
        _substitute(w, factors.lu, x, lower=False)


def _trade_rows(w: LLVMWriter, factors: Factors, x: Strided, backwards: bool) -> None:
    n, columns = x.shape
    with w.loop(integer(n)) as at:
        k = w.binary("sub", integer(n - 1), at) if backwards else at
        other = factors.pivot(w, k)
        trade_rows(w, x, k, other, integer(0), integer(columns))


def trade_rows(
    w: LLVMWriter, x: Strided, row: Number, other: Number, first: Number, count: Number
) -> None:
    """So many entries of two rows trade places, from a first one on."""
    with w.loop(count) as at:
        j = w.plus(first, at)
        one, two = x.at(w, (row, j)), x.at(w, (other, j))
        x.put(w, (other, j), one)
        x.put(w, (row, j), two)


# -- triangles -------------------------------------------------------------------------------------
def _substitute(
    w: LLVMWriter,
    a: Strided,
    x: Strided,
    *,
    lower: bool,
    transposed: bool = False,
    unit: bool = False,
) -> None:
    """Solve a triangular system in the place of its right sides, by loops or by BLAS.

    The matrix stands in memory by rows or by columns; ``unit`` says that its diagonal is taken for ones.
    """
    if transposed:
        a, lower = a._replace(strides=a.strides[::-1]), not lower
    n, columns = x.shape
    if columns >= _COLUMNS and n > _ROWS[np.dtype(a.dtype).kind]:
        triangular_solve(w, a, x, lower=lower, unit=unit)
        return
    down = a.strides[0] == 1
    name = f"triangle.{n}.{columns}.{a.dtype}.{lower:d}{unit:d}{down:d}"
    if name not in w.defined:
        w.define(name, "void", ("%a", "%x"), _triangle(n, columns, a.dtype, lower, unit, down))
    given = ", ".join([f"ptr {w.address(y.pointer, y.dtype, y.offset)}" for y in (a, x)])
    w.lines.append(f"  call void @{name}({given})")


def _triangle(n: int, columns: int, dtype: str, lower: bool, unit: bool, down: bool) -> LLVMWriter:
    """Substitution as loops: along columns, or, where entries of a row stand side by side, along rows."""
    w = LLVMWriter()
    a = Strided(dtype, (n, n), "%a", (1, n) if down else (n, 1))
    x = Strided(dtype, (n, columns), "%x", (columns, 1))

    def divide(k: Number) -> None:
        if unit:
            return
        pivot = a.at(w, (k, k))
        with w.loop(integer(columns)) as j:
            x.put(w, (k, j), template_value(w, "({0} / {1})", [x.at(w, (k, j)), pivot]))

    def row(k: Number) -> Number:
        return k if lower else w.binary("sub", integer(n - 1), k)

    if down or columns > 1:
        _by_columns(w, a, x, lower, row, divide)
    else:
        _by_rows(w, a, x, lower, row, divide)
    w.lines.append("  ret void")
    return w


def _by_columns(
    w: LLVMWriter, a: Strided, x: Strided, lower: bool, row: _Row, divide: _Divide
) -> None:
    """Each entry of the solution times its column is taken from the entries that are not known yet."""
    n, columns = x.shape
    if n > 1:
        with w.loop(integer(n - 1)) as at:
            k, count = row(at), w.binary("sub", integer(n - 1), at)
            divide(k)
            first = w.plus(k, integer(1)) if lower else integer(0)
            known = x.at(w, (k, integer(0))) if columns == 1 else None
            with w.loop(count) as t:
                i = w.plus(first, t)
                entry = a.at(w, (i, k))
                with w.loop(integer(columns)) as j:
                    product = w.binary("fmul", entry, known or x.at(w, (k, j)))
                    x.put(w, (i, j), w.binary("fsub", x.at(w, (i, j)), product))
    divide(row(integer(n - 1)))


def _by_rows(
    w: LLVMWriter, a: Strided, x: Strided, lower: bool, row: _Row, divide: _Divide
) -> None:
    """From each entry its row times the known entries is taken, a sum in any order."""
    n, one = a.shape[0], integer(0)
    divide(row(integer(0)))
    if n > 1:
        total = new_array(w, (), a.dtype)
        with w.loop(integer(n - 1)) as at:
            count = w.plus(at, integer(1))
            k = row(count)
            first = integer(0) if lower else w.plus(k, integer(1))
            total.put(w, (), real(0.0, REGISTER[a.dtype]))
            with w.loop(count) as t:
                j = w.plus(first, t)
                product = w.binary("fmul", a.at(w, (k, j)), x.at(w, (j, one)))
                total.put(w, (), w.binary("fadd reassoc", total.at(w, ()), product))
            x.put(w, (k, one), w.binary("fsub", x.at(w, (k, one)), total.at(w, ())))
            divide(k)


# -- the forms -------------------------------------------------------------------------------------
def _lu_factors(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (a,), w = operands, program.writer
    n, dtype = a.shape[-1], step.type.dtype.name
    _refuse_structured(step, n)
    found = new_array(w, (n + 1, n), dtype)
    factors = factored(program, a, by_columns(found))
    with w.loop(integer(n)) as k:
        row = cast_number(w, factors.pivot(w, k), REGISTER[dtype])
        found.put(w, (integer(n), k), row)
    return found


def _refuse_structured(step: FlatStep, n: int) -> None:
    if dict(step.params)["structured"] and n >= _STRUCTURED:
        raise UnsupportedError(f"a system of {n} rows, whose structure NumPy looks for")


def _solve_by_factors(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (rows, b), w = operands, program.writer
    n, dtype = b.shape[0], step.type.dtype.name
    _refuse_structured(step, n)
    packed, pivots = in_memory(w, rows), w.buffer(n // 2 + 1, "int64")
    first = packed.at(w, (integer(n), integer(0)))
    real_part = w.parts(first)[0] if first.type in COMPLEX else first
    program.fails_if(w.compare("olt", real_part, real(0.0, real_part.type)))
    with w.loop(integer(n)) as k:
        entry = packed.at(w, (integer(n), k))
        row = cast_number(w, w.parts(entry)[0] if entry.type in COMPLEX else entry, "i64")
        at = w.emit("ptr", f"getelementptr inbounds i32, ptr {pivots}, i64 {k.text}")
        narrow = w.cast("trunc", w.plus(row, integer(1)), "i32")
        w.lines.append(f"  store i32 {narrow.text}, ptr {at.text}")
    x = new_array(w, step.type.shape, dtype)
    copy_into(w, x, b)
    solve_with_factors(
        program, Factors(by_columns(packed), pivots), x, dict(step.params)["transposed"]
    )
    return x


def _substituted(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (a, b), w, params = operands, program.writer, dict(step.params)
    n, dtype = b.shape[-2], step.type.dtype.name
    if not has_lapack(dtype):
        raise UnsupportedError("triangular systems without SciPy")
    stack = a if isinstance(a, Strided) and sorted(a.strides[-2:]) == [1, n] else in_memory(w, a)
    found = new_array(w, step.type.shape, dtype)
    copy_into(w, found, b)
    zero = new_array(w, (), "bool")
    zero.put(w, (), truth_literal(False))
    with w.loops(b.shape[:-2]) as index:
        matrix, x = _matrix_at(w, stack, index), _matrix_at(w, found, index)
        with w.loop(integer(n)) as k:
            is_zero = w.compare("oeq", matrix.at(w, (k, k)), real(0.0, REGISTER[dtype]))
            zero.put(w, (), w.binary("or", zero.at(w, ()), is_zero))
        _substitute(w, matrix, x, lower=params["lower"], transposed=params["transposed"])
    program.fails_if(zero.at(w, ()))
    return found


def _matrix_at(w: LLVMWriter, x: Strided, index: Sequence[Number]) -> Strided:
    """One matrix of a stack."""
    place = linear_index(w, index, x.strides[: len(index)], x.offset)
    return x._replace(shape=x.shape[-2:], strides=x.strides[-2:], offset=place)


class DefiniteCheck:
    """Whether a matrix that Cholesky's method factors in its place is not known to be positive definite.

    It is `bad` if the square of a pivot is one that rounding may have made of the entry on the diagonal.
    """

    def __init__(self, w: LLVMWriter, x: Strided) -> None:
        n = x.shape[0]
        self.w, self.limits, self.bad = w, new_array(w, (n,), x.dtype), new_array(w, (), "bool")
        self.bad.put(w, (), truth_literal(False))
        with w.loop(integer(n)) as k:
            self.limits.put(w, (k,), w.binary("fmul", x.at(w, (k, k)), tolerance(n, x.dtype)))

    def mark(self, k: Number, square: Number) -> None:
        """Check the square of a pivot."""
        w = self.w
        doubtful = w.compare("ule", square, self.limits.at(w, (k,)))
        infinite = w.compare("oeq", square, real(math.inf, square.type))
        either = w.binary("or", doubtful, infinite)
        self.bad.put(w, (), w.binary("or", self.bad.at(w, ()), either))


def cholesky_factor(program: ArrayProgram, x: Strided) -> None:
    """Factor a matrix in C order in its place, by its lower triangle; NumPy runs the program if it fails.

    Raises:
        UnsupportedError: without SciPy.
    """
    w, (n, _) = program.writer, x.shape
    if not has_lapack(x.dtype):
        raise UnsupportedError(f"factors of {n} rows without SciPy")
    check = DefiniteCheck(w, x)
    info = w.buffer(1, "int64")
    place = w.address(x.pointer, x.dtype, x.offset)
    # (LAPACK reads by columns, so that what is lower by rows is upper to it.)
    call_fortran(w, x.dtype, "potrf", "U", n, f"ptr {place}", n, f"ptr {info}")
    _fails_by(program, info)
    with w.loop(integer(n)) as k:
        pivot = x.at(w, (k, k))
        check.mark(k, w.binary("fmul", pivot, pivot))
    program.fails_if(check.bad.at(w, ()))
    with w.loop(integer(n - 1)) as i, w.loop(w.binary("sub", integer(n - 1), i)) as t:
        x.put(w, (i, w.plus(w.plus(i, integer(1)), t)), real(0.0, REGISTER[x.dtype]))


lu_factors = Whole(_lu_factors)
solve_by_factors = Whole(_solve_by_factors)
substitute = Whole(_substituted)
