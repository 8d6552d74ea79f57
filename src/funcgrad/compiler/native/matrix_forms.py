"""The forms in machine code of `solve`, `inv`, determinants with their cofactors, and `cholesky`.

They take stacks of small matrices.

Elimination with partial pivoting, as LAPACK's. A pivot that is infinite, NaN or perhaps made by rounding
is left to NumPy, which alone decides whether a matrix is singular: so machine code never
returns numbers where NumPy raises. Larger matrices are LAPACK's (`lapack_forms`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import (
    Strided,
    Value,
    copy_into,
    item_of,
    loaded,
    new_array,
)
from funcgrad.compiler.native.lapack_forms import (
    DefiniteCheck,
    Factors,
    by_columns,
    cholesky_factor,
    factored,
    largest_of_columns,
    mark_doubtful,
    pivot_size,
    sizes_of,
    solve_with_factors,
    trade_rows,
)
from funcgrad.compiler.native.llvm_writer import (
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    real,
    row_major_strides,
    truth_literal,
)
from funcgrad.compiler.native.scalar_instructions import cast_number, template_value
from funcgrad.compiler.native.time_estimate import MOST_ROWS
from funcgrad.ops.determinants import largest_condition

# Rows of a matrix up to which each row has instructions of its own.
_UNROLLED = 4


def _kernel(
    writer: LLVMWriter, name: str, pointers: Sequence[str], body: LLVMWriter, bad: Number
) -> None:
    """Define a function on matrices in C order, which returns whether NumPy has to decide."""
    body.lines.append(f"  ret i1 {bad.text}")
    writer.define(name, "i1", pointers, body)


def _call(program: ArrayProgram, name: str, *arrays: Strided) -> None:
    """Call a kernel; the program fails if NumPy has to decide."""
    w = program.writer
    given = ", ".join([f"ptr {w.address(x.pointer, x.dtype, x.offset)}" for x in arrays])
    program.fails_if(w.emit("i1", f"call i1 @{name}({given})"))


def _square(name: str, rows: int, columns: int, dtype: str) -> Strided:
    return Strided(dtype, (rows, columns), name, row_major_strides((rows, columns)))


def _quotient(w: LLVMWriter, x: Number, y: Number) -> Number:
    return template_value(w, "({0} / {1})", [x, y])


def _first_rows(w: LLVMWriter, n: int) -> Iterator[tuple[Number, Number]]:
    """Each row but the last, and how many follow it; of a large matrix, those of a loop's iteration."""
    if n <= _UNROLLED:
        for row in range(n - 1):
            yield integer(row), integer(n - 1 - row)
    else:
        with w.loop(integer(n - 1)) as k:
            yield k, w.binary("sub", integer(n - 1), k)


def _minus_product(
    w: LLVMWriter, x: Strided, i: Number, k: Number, factor: Number, columns: Sequence[Number]
) -> None:
    """From entries of row i take those of row k times a factor: so many columns, from a first one on."""
    first, count = columns
    if count.literal != 0:
        with w.loop(count) as at:
            j = w.plus(first, at)
            product = w.binary("fmul", factor, x.at(w, (k, j)))
            x.put(w, (i, j), w.binary("fsub", x.at(w, (i, j)), product))


def _elimination(writer: LLVMWriter, n: int, columns: int, dtype: str) -> str:
    """The kernel that makes a matrix upper triangular, and does the same to the rows of right sides.

    Its third operand is a number whose sign changes as two rows trade places.
    """
    name = f"eliminate.{n}.{columns}.{dtype}"
    if name in writer.defined:
        return name
    w = LLVMWriter()
    a, x = _square("%a", n, n, dtype), _square("%x", n, columns, dtype)
    sign = Strided(sizes_of(dtype), (), "%sign", ())
    most, place, bad = [new_array(w, (), kind) for kind in (sizes_of(dtype), "int64", "bool")]
    bad.put(w, (), truth_literal(False))
    largest = largest_of_columns(w, a)
    for k, count in _first_rows(w, n):
        below, right = w.plus(k, integer(1)), integer(0)
        most.put(w, (), pivot_size(w, a.at(w, (k, k))))
        place.put(w, (), k)
        with w.loop(count) as at:
            i = w.plus(below, at)
            size = pivot_size(w, a.at(w, (i, k)))
            larger = w.compare("ogt", size, most.at(w, ()))
            place.put(w, (), w.select(larger, i, place.at(w, ())))
            most.put(w, (), w.select(larger, size, most.at(w, ())))
        mark_doubtful(w, bad, most.at(w, ()), largest.at(w, (k,)), a)
        other = place.at(w, ())
        trade_rows(w, a, k, other, k, w.plus(count, integer(1)))
        if columns:
            trade_rows(w, x, k, other, right, integer(columns))
        changed = w.negative(sign.at(w, ()))
        sign.put(w, (), w.select(w.compare("eq", other, k), sign.at(w, ()), changed))
        pivot = a.at(w, (k, k))
        with w.loop(count) as at:
            i = w.plus(below, at)
            factor = _quotient(w, a.at(w, (i, k)), pivot)
            _minus_product(w, a, i, k, factor, (below, count))
            _minus_product(w, x, i, k, factor, (right, integer(columns)))
    last = integer(n - 1)
    mark_doubtful(w, bad, pivot_size(w, a.at(w, (last, last))), largest.at(w, (last,)), a)
    _kernel(writer, name, ("%a", "%x", "%sign"), w, bad.at(w, ()))
    return name


def _substitution(writer: LLVMWriter, n: int, columns: int, dtype: str) -> str:
    """The kernel that solves upper triangular systems in place of their right sides."""
    name = f"substitute.{n}.{columns}.{dtype}"
    if name in writer.defined:
        return name
    w = LLVMWriter()
    a, x = _square("%a", n, n, dtype), _square("%x", n, columns, dtype)

    def divide(k: Number) -> None:
        pivot = a.at(w, (k, k))
        with w.loop(integer(columns)) as j:
            x.put(w, (k, j), _quotient(w, x.at(w, (k, j)), pivot))

    # The rows above row k, from the last one on, as many as its number.
    for _, count in _first_rows(w, n):
        divide(count)
        with w.loop(count) as i:
            _minus_product(w, x, i, count, a.at(w, (i, count)), (integer(0), integer(columns)))
    divide(integer(0))
    _kernel(writer, name, ("%a", "%x"), w, truth_literal(False))
    return name


def _rows(step: FlatStep, matrix: Value, kinds: str = "fc") -> int:
    n = matrix.shape[-1]
    if np.dtype(matrix.dtype).kind not in kinds or not n:
        raise UnsupportedError(f"{step.op.name} of {n} rows of {matrix.dtype}")
    return n


def _matrix(w: LLVMWriter, x: Value, index: Sequence[Number]) -> Value:
    """One matrix of a stack."""
    for at in index:
        x = item_of(w, x, at)
    return x


def _solved(program: ArrayProgram, step: FlatStep, a: Value, right: Value | None) -> Value:
    w, n, dtype = program.writer, _rows(step, a), step.type.dtype.name
    found, matrix = new_array(w, step.type.shape, dtype), new_array(w, (n, n), dtype)
    solve_one = _solver(program, matrix, step.type.shape[-1])
    with w.loops(step.type.shape[:-2]) as index:
        x = _strided(_matrix(w, found, index))
        if right is None:
            _identity(w, x)
        else:
            copy_into(w, x, _matrix(w, right, index))
        solve_one(_matrix(w, a, index), x)
    return found


def _solver(
    program: ArrayProgram, matrix: Strided, columns: int, sign: Strided | None = None
) -> Callable[[Value, Strided], None]:
    """What writes the solution of a system in the place of its right sides; the matrix is memory for it.

    Its triangle is there afterwards, and the sign of the order of its rows.
    """
    w, n, dtype = program.writer, matrix.shape[0], matrix.dtype
    turned = new_array(w, (), sizes_of(dtype)) if sign is None else sign

    def by_lapack(a: Value, x: Strided) -> None:
        factors = factored(program, a, by_columns(matrix))
        if sign is not None:
            sign.put(w, (), real(1.0, REGISTER[sign.dtype]))
            _turn(w, sign, factors)
        solve_with_factors(program, factors, x)

    if n > MOST_ROWS:
        return by_lapack
    eliminate = _elimination(w, n, columns, dtype)
    substitute = _substitution(w, n, columns, dtype)

    def by_elimination(a: Value, x: Strided) -> None:
        copy_into(w, matrix, a)
        turned.put(w, (), real(1.0, REGISTER[turned.dtype]))
        _call(program, eliminate, matrix, x, turned)
        _call(program, substitute, matrix, x)

    return by_elimination


def _strided(x: Value) -> Strided:
    """A matrix in memory."""
    if not isinstance(x, Strided):
        raise TypeError(f"matrix: expected an array, but got {x}")
    return x


def _identity(w: LLVMWriter, x: Strided) -> None:
    kind = REGISTER[x.dtype]
    with w.loops(x.shape) as (i, j):
        own = w.compare("eq", i, j)
        x.put(w, (i, j), w.select(own, real(1.0, kind), real(0.0, kind)))


def _solve(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    a, b = operands
    return _solved(program, step, a, b)


def _inv(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    return _solved(program, step, operands[0], None)


_SIGN = "(-{0} if {1} < 0.0 else {0})"


def _determinant(part: Literal["sign", "log", "det"]) -> Any:
    """The sign, the logarithm of the size, or both together as NumPy puts them together."""

    def build(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
        (a,), w = operands, program.writer
        n, dtype = _rows(step, a), a.dtype
        kind = REGISTER[sizes_of(dtype)]
        turn = "({0} * ({1} / abs({1})))" if kind != REGISTER[dtype] else _SIGN
        found = new_array(w, step.type.shape, step.type.dtype.name)
        matrix, sign = new_array(w, (n, n), dtype), new_array(w, (), sizes_of(dtype))
        total, turned = new_array(w, (), sign.dtype), new_array(w, (), dtype)
        triangle = _triangle_maker(program, matrix, sign)
        with w.loops(step.type.shape) as index:
            sign.put(w, (), real(1.0, kind))
            triangle(_matrix(w, a, index))
            total.put(w, (), real(0.0, kind))
            turned.put(w, (), cast_number(w, sign.at(w, ()), REGISTER[dtype]))
            with w.loop(integer(n)) as row:
                pivot = matrix.at(w, (row, row))
                turned.put(w, (), template_value(w, turn, [turned.at(w, ()), pivot]))
                if part != "sign":
                    size = template_value(w, "({0} + log(abs({1})))", [total.at(w, ()), pivot])
                    total.put(w, (), size)
            value = (total if part == "log" else turned).at(w, ())
            if part == "det":
                value = template_value(w, "({0} * exp({1}))", [value, total.at(w, ())])
            found.put(w, index, value)
        return loaded(w, found)

    return build


def _triangle_maker(
    program: ArrayProgram, matrix: Strided, sign: Strided
) -> Callable[[Value], None]:
    """What writes a matrix's triangle into memory, and turns the sign as two rows trade places."""
    w, n, dtype = program.writer, matrix.shape[0], matrix.dtype

    def by_lapack(a: Value) -> None:
        _turn(w, sign, factored(program, a, by_columns(matrix)))

    def by_elimination(a: Value) -> None:
        copy_into(w, matrix, a)
        _call(program, _elimination(w, n, 0, dtype), matrix, sign, sign)

    return by_lapack if n > MOST_ROWS else by_elimination


def _turn(w: LLVMWriter, sign: Strided, factors: Factors) -> None:
    """Turn a sign at each two rows that traded places."""
    with w.loop(integer(factors.lu.shape[0])) as k:
        stays, old = w.compare("eq", factors.pivot(w, k), k), sign.at(w, ())
        sign.put(w, (), w.select(stays, old, w.negative(old)))


def _factor(writer: LLVMWriter, n: int, dtype: str) -> str:
    """The kernel of Cholesky's decomposition of a matrix's lower triangle, in place."""
    name = f"cholesky.{n}.{dtype}"
    if name in writer.defined:
        return name
    w = LLVMWriter()
    a, zero = _square("%a", n, n, dtype), real(0.0, REGISTER[dtype])
    check = DefiniteCheck(w, a)

    def root(k: Number) -> Number:
        square = a.at(w, (k, k))
        check.mark(k, square)
        pivot = template_value(w, "sqrt({0})", [square])
        a.put(w, (k, k), pivot)
        return pivot

    for k, count in _first_rows(w, n):
        below, pivot = w.plus(k, integer(1)), root(k)
        with w.loop(count) as at:
            i = w.plus(below, at)
            a.put(w, (i, k), w.binary("fdiv", a.at(w, (i, k)), pivot))
            a.put(w, (k, i), zero)
        with w.loop(count) as row, w.loop(count) as column:
            i, j = w.plus(below, row), w.plus(below, column)
            product = w.binary("fmul", a.at(w, (i, k)), a.at(w, (j, k)))
            a.put(w, (i, j), w.binary("fsub", a.at(w, (i, j)), product))
    root(integer(n - 1))
    _kernel(writer, name, ("%a",), w, check.bad.at(w, ()))
    return name


def _cholesky(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (a,), w = operands, program.writer
    n, dtype = _rows(step, a, "f"), step.type.dtype.name
    found = new_array(w, step.type.shape, dtype)
    copy_into(w, found, a)
    with w.loops(step.type.shape[:-2]) as index:
        matrix = _strided(_matrix(w, found, index))
        if n > MOST_ROWS:
            cholesky_factor(program, matrix)
        else:
            _call(program, _factor(w, n, dtype), matrix)
    return found


def _cofactors(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    """The determinant times the transposed inverse; NumPy's at matrices near singular ones."""
    (a,), w = operands, program.writer
    n, dtype = _rows(step, a, "f"), step.type.dtype
    kind, most = REGISTER[dtype.name], largest_condition(dtype, n)
    least = real(float(np.finfo(dtype).tiny) * most, kind)
    found, matrix, inverse = [
        new_array(w, shape, dtype.name) for shape in (step.type.shape, (n, n), (n, n))
    ]
    det, norms = new_array(w, (), dtype.name), [new_array(w, (), dtype.name) for _ in range(2)]
    invert = _solver(program, matrix, n, det)
    with w.loops(step.type.shape[:-2]) as index:
        given = _matrix(w, a, index)
        _identity(w, inverse)
        invert(given, inverse)
        for norm, x in zip(norms, (given, inverse), strict=True):
            norm.put(w, (), real(0.0, kind))
            with w.loops((n, n)) as at:
                square = template_value(w, "({0} * {0})", [x.at(w, at)])
                norm.put(w, (), w.binary("fadd reassoc", norm.at(w, ()), square))
        with w.loop(integer(n)) as k:
            det.put(w, (), w.binary("fmul", det.at(w, ()), matrix.at(w, (k, k))))
        sizes = [norm.at(w, ()) for norm in norms]
        condition = template_value(w, "(sqrt({0}) * sqrt({1}))", sizes)
        usual = template_value(
            w,
            "({0} < {1} and isfinite({2}) and abs({2}) > {3})",
            [condition, real(most, kind), det.at(w, ()), least],
        )
        program.fails_if(w.binary("xor", usual, truth_literal(True)))
        transposed = inverse._replace(strides=inverse.strides[::-1])
        part = _strided(_matrix(w, found, index))
        with w.loops((n, n)) as at:
            part.put(w, at, w.binary("fmul", det.at(w, ()), transposed.at(w, at)))
    return found


solve = Whole(_solve)
inv = Whole(_inv)
detsign = Whole(_determinant("sign"))
logabsdet = Whole(_determinant("log"))
det = Whole(_determinant("det"))
cholesky = Whole(_cholesky)
cofactors = Whole(_cofactors)
