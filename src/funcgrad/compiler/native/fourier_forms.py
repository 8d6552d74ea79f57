"""The forms in machine code of Fourier transforms along an axis, by the names in `Columns.machine`.

Stockham's algorithm: a stage reads one array and writes another one, in the order in which the next stage
reads, so that entries are not moved besides. A length has a form if its prime factors are small; other
lengths are left to NumPy. Gain: a split-step wave equation on 64 points takes a 25th.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import Strided, Value, loaded, new_array
from funcgrad.compiler.native.llvm_writer import (
    COMPLEX,
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    real,
)
from funcgrad.compiler.native.scalar_instructions import cast_number

_RADICES = (4, 2, 3, 5, 7)


def factors_of(length: int) -> list[int]:
    """The radices of the stages, in order.

    >>> factors_of(48), factors_of(14)
    ([4, 4, 3], [2, 7])

    Raises:
        UnsupportedError: there is a prime factor beyond 7.
    """
    found, rest = list[int](), length
    for radix in _RADICES:
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    if rest != 1:
        raise UnsupportedError(f"a Fourier transform of {length} points")
    return found or [1]


def _line(name: str, length: int, dtype: str) -> Strided:
    return Strided(dtype, (length,), name, (1,))


def _roots(count: int, exponents: np.ndarray[Any, Any], sign: int) -> np.ndarray[Any, Any]:
    """Powers of a root of unity: exact where they are on an axis."""
    turns = (exponents % count) * 8
    octant, rest = turns // count, turns % count
    odd = octant % 2 == 1
    angle = np.where(odd, count - rest, rest) * (np.pi / 4 / count)
    near, far = np.cos(angle), np.sin(angle)
    along, across = np.where(odd, far, near), np.where(odd, near, far)
    cos = np.choose((octant // 2) % 4, [along, -across, -along, across])
    sin = np.choose((octant // 2) % 4, [across, along, -across, -along])
    return cos + sign * 1j * sin


def _kernel(writer: LLVMWriter, length: int, lanes: int, dtype: str, sign: int) -> str:
    """The function that transforms lines whose entries alternate: from one array into another, by a third."""
    name = f"fft.{length}.{lanes}.{dtype}.{'forward' if sign < 0 else 'inverse'}"
    if name in writer.defined:
        return name
    radices = factors_of(length)
    w, arrays = LLVMWriter(), [_line(text, length * lanes, dtype) for text in ("%x", "%y", "%z")]
    source, (target, other) = arrays[0], arrays[1:] if len(radices) % 2 else arrays[:0:-1]
    rest, stride = length, lanes
    for radix in radices:
        parts = rest // radix
        powers = [t * np.arange(parts) for t in range(1, radix if parts > 1 else 1)]
        tables = [writer.symbol_of(_roots(rest, power, sign).astype(dtype)) for power in powers]
        twiddles = [_line(symbol, parts, dtype) for symbol in tables]
        _stage(w, source, target, (radix, parts, stride), twiddles, sign)
        source, target, other = target, other, target
        rest, stride = parts, stride * radix
    w.lines.append("  ret void")
    writer.define(name, "void", ("%x", "%y", "%z"), w)
    return name


def _stage(
    w: LLVMWriter,
    source: Strided,
    target: Strided,
    counts: tuple[int, int, int],
    twiddles: Sequence[Strided],
    sign: int,
) -> None:
    """One stage: transforms of as many points as the radix, times powers of a root of unity."""
    radix, parts, stride = counts
    with w.loops((parts, stride)) as (p, q):
        place = w.plus(q, w.times(p, integer(stride)))
        given = [source.at(w, (w.plus(place, integer(stride * parts * k)),)) for k in range(radix)]
        first = w.plus(q, w.times(p, integer(stride * radix)))
        for t, value in enumerate(_short(w, given, sign)):
            if t and twiddles:
                value = w.binary("fmul", value, twiddles[t - 1].at(w, (p,)))
            target.put(w, (w.plus(first, integer(stride * t)),), value)


def _short(w: LLVMWriter, x: Sequence[Number], sign: int) -> list[Number]:
    """The transform of a few numbers."""
    if len(x) == 1:
        return list(x)
    if len(x) == 2:
        return [w.binary("fadd", *x), w.binary("fsub", *x)]
    if len(x) == 4:
        (a, b), (c, d) = _short(w, x[::2], sign), _short(w, x[1::2], sign)
        turned = _turned(w, d, sign)
        return [
            w.binary("fadd", a, c),
            w.binary("fadd", b, turned),
            w.binary("fsub", a, c),
            w.binary("fsub", b, turned),
        ]
    # Of an odd number of points: sums and differences of opposite ones have real factors.
    half, kind = len(x) // 2, COMPLEX[x[0].type]
    roots = _roots(len(x), np.arange(len(x)), 1)
    sums = [w.binary("fadd", x[k], x[-k]) for k in range(1, half + 1)]
    apart = [_turned(w, w.binary("fsub", x[k], x[-k]), sign) for k in range(1, half + 1)]
    found = [x[0]] * len(x)
    for total in sums:
        found[0] = w.binary("fadd", found[0], total)
    for t in range(1, half + 1):
        near, far = x[0], real(0.0, x[0].type)
        for k, (total, difference) in enumerate(zip(sums, apart, strict=True), 1):
            root = roots[t * k % len(x)]
            near = w.binary("fadd", near, _scaled(w, total, real(root.real, kind)))
            far = w.binary("fadd", far, _scaled(w, difference, real(root.imag, kind)))
        found[t], found[-t] = w.binary("fadd", near, far), w.binary("fsub", near, far)
    return found


def _turned(w: LLVMWriter, x: Number, sign: int) -> Number:
    """A number times the imaginary unit, or its negative."""
    re, im = w.parts(x)
    return w.joined(w.negative(im), re) if sign > 0 else w.joined(im, w.negative(re))


def _scaled(w: LLVMWriter, x: Number, factor: Number) -> Number:
    return w.each_part(lambda part: w.binary("fmul", part, factor), x)


# Lines that are transformed together, where they alternate in memory: their entries fill vector registers.
_MOST_LANES = 8


def _lanes(shape: Sequence[int], axis: int) -> int:
    """How many lines are transformed together."""
    if axis == len(shape) - 1:
        return 1
    return max([k for k in range(1, _MOST_LANES + 1) if shape[-1] % k == 0])


def _along(
    program: ArrayProgram,
    step: FlatStep,
    length: int,
    sign: int,
    entry: Callable[[list[Number], int], Number],
) -> Value:
    """The transform of lines of so many points along an axis, whose entries are given by their indices.

    Of a real result it is the real part, of a shorter one the first entries.
    """
    w, axis, found = program.writer, dict(step.params)["axis"], step.type
    dtype = np.result_type(found.dtype, np.complex64).name
    lanes = _lanes(found.shape, axis)
    kernel = _kernel(w, length, lanes, dtype, sign)
    result = new_array(w, found.shape, found.dtype.name)
    arrays = [new_array(w, (length, lanes), dtype) for _ in range(3)]
    given = ", ".join([f"ptr {array.pointer}" for array in arrays])
    outer = [1 if k == axis else n for k, n in enumerate(found.shape)]
    outer[-1] //= lanes
    with w.loops(outer) as blocks:

        def index(place: Number, lane: Number) -> list[Number]:
            own = list(blocks)
            own[-1] = w.plus(w.times(own[-1], integer(lanes)), lane)
            own[axis] = place
            return own

        with w.loops((length, lanes)) as (k, lane):
            value = cast_number(w, entry(index(k, lane), axis), REGISTER[dtype])
            arrays[0].put(w, (k, lane), value)
        w.lines.append(f"  call void @{kernel}({given})")
        with w.loops((found.shape[axis], lanes)) as (k, lane):
            value = cast_number(w, arrays[1].at(w, (k, lane)), REGISTER[result.dtype])
            result.put(w, index(k, lane), value)
    return loaded(w, result)


def _complex(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (x,), params = operands, dict(step.params)
    sign = 1 if params.get("inverse") else -1
    length = x.shape[params["axis"]]
    return _along(program, step, length, sign, lambda index, axis: x.at(program.writer, index))


def _to_real(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    (z,), w, size = operands, program.writer, dict(step.params)["size"]

    def entry(index: list[Number], axis: int) -> Number:
        """An entry, or the conjugate of the opposite one."""
        place = index[axis]
        given = w.compare("sle", place, integer(size // 2))
        index[axis] = w.select(given, place, w.binary("sub", integer(size), place))
        re, im = w.parts(z.at(w, index))
        return w.joined(re, w.select(given, im, w.negative(im)))

    return _along(program, step, size, 1, entry)


fft = Whole(_complex)
rfft = Whole(_complex)
irfft = Whole(_to_real)
