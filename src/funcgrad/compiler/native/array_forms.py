"""The forms in machine code of operations that are not elementwise, by the names in `Columns.machine`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Reduce, View, Whole
from funcgrad.compiler.native.array_values import (
    Splat,
    Strided,
    Value,
    cast_array,
    in_memory,
    loaded,
    new_array,
    sum_dtype,
)
from funcgrad.compiler.native.blas import has_blas, matrices_of, multiply
from funcgrad.compiler.native.llvm_writer import (
    COMPLEX,
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    linear_index,
    real,
    row_major_strides,
    truth_literal,
)
from funcgrad.compiler.native.register_tiles import has_tiles, multiply_by_tiles
from funcgrad.compiler.native.scalar_instructions import cast_number, template_value
from funcgrad.compiler.native.time_estimate import is_for_blas
from funcgrad.ops.convolution import kept_range

T = TypeVar("T", bound=Value)


# -- views ---------------------------------------------------------------------------------------
def _same(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    return operands[0]


def _broadcast(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), shape = operands, step.type.shape
    if isinstance(x, Splat):
        return x._replace(shape=shape)
    lead = len(shape) - len(x.shape)
    strides = [
        0 if length != shape[lead + axis] else stride
        for axis, (length, stride) in enumerate(zip(x.shape, x.strides, strict=True))
    ]
    return x._replace(shape=shape, strides=(*(0,) * lead, *strides))


def _reshape(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), shape = operands, step.type.shape
    if isinstance(x, Splat):
        return x._replace(shape=shape)
    if [n for n in x.shape if n != 1] == [n for n in shape if n != 1]:
        strides = iter([stride for n, stride in zip(x.shape, x.strides, strict=True) if n != 1])
        spread = tuple([0 if n == 1 else next(strides) for n in shape])
        return loaded(program.writer, x._replace(shape=shape, strides=spread))
    whole = in_memory(program.writer, x)
    return loaded(program.writer, whole._replace(shape=shape, strides=row_major_strides(shape)))


def _transpose(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), axes = operands, dict(step.params)["axes"]
    if isinstance(x, Splat):
        return x._replace(shape=step.type.shape)
    return x._replace(shape=step.type.shape, strides=tuple([x.strides[axis] for axis in axes]))


def _pick(program: ArrayProgram, step: FlatStep, operands: Sequence[Any]) -> Value:
    part: Value = operands[0][dict(step.params)["index"]]
    return part


same_value = View(_same)
broadcast = View(_broadcast)
reshape = View(_reshape)
transpose = View(_transpose)
pick = View(_pick)


def _results(program: ArrayProgram, step: FlatStep, operands: Sequence[Any]) -> tuple[Value, ...]:
    return tuple(operands[: dict(step.params)["wiring"].results])


custom_derivative = View(_results)


# -- reductions ----------------------------------------------------------------------------------
def zero_of(step: FlatStep) -> Number:
    """The zero of a step's dtype."""
    dtype = step.type.dtype
    if dtype.kind == "b":
        return truth_literal(False)
    return integer(0) if dtype.kind == "i" else real(0.0, REGISTER[dtype.name])


def _one(step: FlatStep) -> Number:
    return integer(1) if step.type.dtype.kind == "i" else real(1.0, REGISTER[step.type.dtype.name])


def _lowest(step: FlatStep) -> Number:
    return _extreme(step, -1)


def _highest(step: FlatStep) -> Number:
    return _extreme(step, 1)


def _extreme(step: FlatStep, sign: int) -> Number:
    dtype = step.type.dtype
    if dtype.kind == "b":
        return truth_literal(sign > 0)
    if dtype.kind == "i":
        return integer(2**63 - 1 if sign > 0 else -(2**63))
    return real(sign * math.inf, REGISTER[dtype.name])


def _accumulate(real_opcode: str, integer_opcode: str) -> Any:
    """A fold by an instruction; a sum of floats may be added in any order, as NumPy's is."""

    def fold(writer: LLVMWriter, step: FlatStep, total: Number, x: Number) -> Number:
        x = cast_number(writer, x, total.type)
        is_real = step.type.dtype.kind in "fc"
        return writer.binary(f"{real_opcode} reassoc" if is_real else integer_opcode, total, x)

    return fold


def _chosen(intrinsic: str, of_integers: str, of_truths: str) -> Any:
    """A fold to the largest or smallest entry: NaN if there is one; zeros of either sign, as NumPy's."""

    def fold(writer: LLVMWriter, step: FlatStep, total: Number, x: Number) -> Number:
        kind = step.type.dtype.kind
        if kind == "f":
            return writer.intrinsic(intrinsic, total, x, flags="nsz ")
        if kind == "c":
            raise UnsupportedError("the order of complex numbers")
        return template_value(writer, of_integers if kind == "i" else of_truths, [total, x])

    return fold


def _of_truths(opcode: str) -> Any:
    def fold(writer: LLVMWriter, step: FlatStep, total: Number, x: Number) -> Number:
        return writer.binary(opcode, total, cast_number(writer, x, "i1"))

    return fold


total = Reduce(zero_of, _accumulate("fadd", "add"), adds=True)
product = Reduce(_one, _accumulate("fmul", "mul"))
largest = Reduce(_lowest, _chosen("maximum", "({0} if {0} > {1} else {1})", "({0} or {1})"))
smallest = Reduce(_highest, _chosen("minimum", "({0} if {0} < {1} else {1})", "({0} and {1})"))
any_true = Reduce(lambda step: truth_literal(False), _of_truths("or"))
all_true = Reduce(lambda step: truth_literal(True), _of_truths("and"))


def _logsumexp(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), w, axes = operands, program.writer, dict(step.params)["axis"]
    shape, dtype = step.type.shape, step.type.dtype.name
    kind = REGISTER[dtype]
    top, added = new_array(w, shape, dtype), new_array(w, shape, sum_dtype(dtype))
    wide = REGISTER[added.dtype]
    with w.loops(shape) as kept:
        top.put(w, kept, real(-math.inf, kind))
        added.put(w, kept, real(0.0, wide))
    with w.loops(x.shape) as index:
        kept = _kept(index, axes)
        top.put(w, kept, largest.fold(w, step, top.at(w, kept), x.at(w, index)))
    with w.loops(x.shape) as index:
        kept = _kept(index, axes)
        term = template_value(w, "exp({0} - {1})", [x.at(w, index), _shift(w, top.at(w, kept))])
        total = w.binary("fadd reassoc", added.at(w, kept), cast_number(w, term, wide))
        added.put(w, kept, total)
    found = new_array(w, shape, dtype)
    with w.loops(shape) as kept:
        terms = cast_number(w, added.at(w, kept), kind)
        whole = template_value(w, "log({0}) + {1}", [terms, _shift(w, top.at(w, kept))])
        found.put(w, kept, whole)
    return loaded(w, found)


def _kept(index: Sequence[Number], axes: Sequence[int]) -> tuple[Number, ...]:
    """The index in what a reduction over axes makes of an entry."""
    return tuple([at for axis, at in enumerate(index) if axis not in axes])


def _shift(w: LLVMWriter, top: Number) -> Number:
    """The largest entry, or 0 if that is infinite or NaN."""
    finite = template_value(w, "isfinite({0})", [top])
    return w.select(finite, top, real(0.0, top.type))


logsumexp = Whole(_logsumexp)


def _norm(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), w, axes = operands, program.writer, dict(step.params)["axis"]
    dtype = step.type.dtype.name
    found = new_array(w, step.type.shape, sum_dtype(dtype))
    wide = REGISTER[found.dtype]
    with w.loops(found.shape) as index:
        found.put(w, index, real(0.0, wide))
    with w.loops(x.shape) as index:
        kept = _kept(index, axes)
        square = cast_number(w, _square(w, x.at(w, index)), wide)
        found.put(w, kept, w.binary("fadd reassoc", found.at(w, kept), square))
    with w.loops(found.shape) as index:
        found.put(w, index, template_value(w, "sqrt({0})", [found.at(w, index)]))
    return loaded(w, cast_array(w, found, dtype))


def _square(w: LLVMWriter, x: Number) -> Number:
    """The square of an absolute value."""
    if x.type not in COMPLEX:
        return template_value(w, "({0} * {0})", [x])
    return template_value(w, "({0} * {0} + {1} * {1})", w.parts(x))


norm = Whole(_norm)


# -- contractions --------------------------------------------------------------------------------
def _contracted(
    program: ArrayProgram,
    step: FlatStep,
    terms: Sequence[str],
    output: str,
    operands: Sequence[Value],
) -> Value:
    """The sum of the operands' products over the letters that the output has not."""
    w, dtype = program.writer, step.type.dtype
    lengths = {
        letter: length
        for term, x in zip(terms, operands, strict=True)
        for letter, length in zip(term, x.shape, strict=True)
    }
    if dtype.kind == "b":
        raise UnsupportedError("a product of truth values")
    found = new_array(w, step.type.shape, dtype.name)
    count = math.prod(lengths.values())
    stack = [c for c in output if all([c in term for term in terms])]
    each = count // math.prod([lengths[c] for c in stack])
    by_blas = is_for_blas(each, count // max(step.type.size, 1)) and has_blas(dtype.name)
    first = dict.fromkeys(stack, integer(0))
    leads = list(output[: len(stack)]) == stack
    pair = _matrices_at(w, first, terms, output, operands) if leads else None
    if pair is None or not (by_blas or has_tiles(*pair)):
        return _summed_in_loops(w, step, terms, output, operands, lengths, found)
    with w.loops([lengths[c] for c in stack]) as index:
        at = dict(zip(stack, index, strict=True))
        a, b = _matrices_at(w, at, terms, output, operands) or pair
        matrix = _part(w, found, output, at)
        if by_blas:
            multiply(w, matrix, a, b)
        elif isinstance(b, Strided):
            matrix = matrix._replace(shape=(a.shape[0], b.shape[1]), strides=(b.shape[1], 1))
            multiply_by_tiles(w, matrix, a, b)
    return found


def _summed_in_loops(
    w: LLVMWriter,
    step: FlatStep,
    terms: Sequence[str],
    output: str,
    operands: Sequence[Value],
    lengths: Mapping[str, int],
    found: Strided,
) -> Value:
    """The contraction by a loop over each letter, of these lengths, stored into the array ``found``."""
    summed = [letter for letter in lengths if letter not in output]
    inner = _innermost(terms, output, operands)
    order = [*output, *summed] if inner is None else [*output[:-1], *summed, output[-1]]
    zero = zero_of(step)
    if summed:
        with w.loops(found.shape) as index:
            found.put(w, index, zero)
    is_real = step.type.dtype.kind in "fc"
    with w.loops([lengths[letter] for letter in order]) as index:
        at = dict(zip(order, index, strict=True))
        factors = [
            x.at(w, [at[letter] for letter in term])
            for term, x in zip(terms, operands, strict=True)
        ]
        number = factors[0]
        for factor in factors[1:]:
            number = w.binary("fmul" if is_real else "mul", number, factor)
        place = [at[letter] for letter in output]
        if summed:
            number = w.binary("fadd reassoc" if is_real else "add", found.at(w, place), number)
        found.put(w, place, number)
    return loaded(w, found)


def _matrices_at(
    w: LLVMWriter,
    at: Mapping[str, Number],
    terms: Sequence[str],
    output: str,
    operands: Sequence[Value],
) -> tuple[Value, Value] | None:
    """The two matrices whose product a contraction is at one place of a stack; else None."""
    parts = [_part(w, x, term, at) for term, x in zip(terms, operands, strict=True)]
    rest = ["".join([c for c in term if c not in at]) for term in (*terms, output)]
    return matrices_of(rest[:-1], rest[-1], parts)


def _part(w: LLVMWriter, x: T, letters: str, at: Mapping[str, Number]) -> T:
    """The part of an array at some indices, by the letters of its axes."""
    kept = [k for k, letter in enumerate(letters) if letter not in at]
    shape = tuple([x.shape[k] for k in kept])
    if isinstance(x, Splat):
        return x._replace(shape=shape)
    chosen = [k for k in range(len(letters)) if k not in kept]
    strides = [x.strides[k] for k in chosen]
    place = linear_index(w, [at[letters[k]] for k in chosen], strides, x.offset)
    return x._replace(shape=shape, strides=tuple([x.strides[k] for k in kept]), offset=place)


def _innermost(terms: Sequence[str], output: str, operands: Sequence[Value]) -> str | None:
    """The last letter of the output, if the operands' entries along it are neighbors or the same."""
    if not output:
        return None
    letter = output[-1]
    for term, x in zip(terms, operands, strict=True):
        if (
            letter in term
            and isinstance(x, Strided)
            and x.strides[term.index(letter)] not in (0, 1)
        ):
            return None
    return letter


def _matmul(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    a, b = operands
    stack = "bcdefgh"[: max(len(a.shape) - 2, 0)]
    left = "k" if len(a.shape) == 1 else f"{stack}mk"
    right = "k" if len(b.shape) == 1 else f"{stack}kn"
    output = stack + left[len(stack) : -1] + right[len(stack) + 1 :]
    return _contracted(program, step, (left, right), output, operands)


def _einsum(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    inputs, output = dict(step.params)["subscripts"].split("->")
    return _contracted(program, step, inputs.split(","), output, operands)


matmul = Whole(_matmul)
einsum = Whole(_einsum)


def _convolve(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    """One entry of the shorter operand after the other times the entries of the longer one."""
    w, dtype = program.writer, step.type.dtype
    if dtype.kind == "b":
        raise UnsupportedError("a convolution of truth values")
    v, a = sorted([in_memory(w, x) for x in operands], key=lambda x: x.shape[-1])
    *stack, count = step.type.shape
    first = kept_range(dict(step.params)["kept"], a.shape[-1], v.shape[-1])[0]
    found = new_array(w, step.type.shape, dtype.name)
    with w.loops(found.shape) as index:
        found.put(w, index, zero_of(step))
    add, multiply_ = ("fadd", "fmul") if dtype.kind in "fc" else ("add", "mul")
    with w.loops(stack) as outer, w.loops(v.shape[-1:]) as (k,):
        shift = w.plus(k, integer(-first))
        end = w.plus(shift, integer(a.shape[-1]))
        start = w.select(w.compare("sgt", shift, integer(0)), shift, integer(0))
        stop = w.select(w.compare("slt", end, integer(count)), end, integer(count))
        with w.open_loop(start, stop) as (p, _):
            entry = a.at(w, [*outer, w.binary("sub", p, shift)])
            term = w.binary(multiply_, entry, v.at(w, [*outer, k]))
            found.put(w, [*outer, p], w.binary(add, found.at(w, [*outer, p]), term))
    return loaded(w, found)


convolve = Whole(_convolve)
