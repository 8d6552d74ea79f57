"""A function in LLVM's textual IR: numbers, control flow and loops.

A `Number` is a virtual register or a literal with its LLVM type. Integer arithmetic on literals is folded as
it is written. Buffers of a few kB are on the stack (`alloca` in the entry block, which LLVM promotes to
registers); larger ones are parts of one arena that the caller provides.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.typing import Array

TRUTH = "i1"
"""The LLVM type of a truth value in a register."""

COMPLEX = {"{ double, double }": "double", "{ float, float }": "float"}
"""The types of complex numbers, and those of their parts."""

MEMORY = {
    "float64": "double",
    "float32": "float",
    "complex128": "{ double, double }",
    "complex64": "{ float, float }",
    "int64": "i64",
    "bool": "i8",
}
"""The LLVM type of an entry in memory, by the name of its dtype; machine code knows no others."""

REGISTER = MEMORY | {"bool": TRUTH}
"""The LLVM type of a number of this dtype."""

# Iterations up to which a loop around others is not vectorized.
_FEW = 16
# Entries from which a loop over them fills vectors.
_FILLED = 4
_SCALAR = {"!0": "!0 = distinct !{!0, !1}", "!1": '!1 = !{!"llvm.loop.vectorize.enable", i1 false}'}
"""The metadata of these loops."""
# The interleave counts of loops bound by latency, the preferred one first.
_INTERLEAVED = (4, 2)
LANES = {"double": 8, "float": 16}
"""The numbers in the widest register."""

# Bytes of one buffer on the stack, and of all of them.
_SMALL, _STACK = 4096, 65536
# The bytes of a gap behind buffers of so many bytes or more: else arrays of a power of two of bytes all begin
# in one set of the cache, which holds few lines, and loops that read many at one index wait for each.
_APART, _LARGE = 5 * 64, 2048


FAILED, FUEL = "%failed", "%fuel"
"""The addresses of a function's flags, and of the nanoseconds that its loops may still take."""

RAISED, SHORT, LONG = 1, 2, 4
"""The flags: NumPy would raise an error; an array that grows has no room; the nanoseconds are used up."""


class UnsupportedError(Exception):
    """A part of a program has no form in machine code."""


class Number(NamedTuple):
    """A virtual register or a literal."""

    type: str
    text: str
    literal: int | None = None
    """Its value, of an integer literal."""


def integer(value: int) -> Number:
    """A literal of an index."""
    return Number("i64", str(value), value)


def real(value: float, type: str = "double") -> Number:
    """A literal of a floating-point number, rounded to the type; its bits are exact, also those of a NaN.

    Of a complex type it is the real part.
    """
    if type in COMPLEX:
        return complex_literal(value, type)
    value = float(np.float32(value)) if type == "float" else value
    wide = struct.unpack(">Q", struct.pack(">d", value))[0]
    return Number(type, f"0x{wide:016X}")


def complex_literal(value: complex, type: str) -> Number:
    """A literal of a complex number.

    >>> complex_literal(2j, "{ double, double }").text
    '{ double 0x0000000000000000, double 0x4000000000000000 }'
    """
    part = COMPLEX[type]
    re, im = [real(x, part).text for x in (value.real, value.imag)]
    return Number(type, f"{{ {part} {re}, {part} {im} }}")


def real_value(number: Number) -> float | None:
    """The value of a literal of a `float64`; None of a register.

    >>> real_value(real(-1.5)), real_value(Number("double", "%v1"))
    (-1.5, None)
    """
    if number.type != "double" or not number.text.startswith("0x"):
        return None
    found: float = struct.unpack(">d", struct.pack(">Q", int(number.text, 16)))[0]
    return found


def truth_literal(value: bool) -> Number:
    """A literal of a truth value."""
    return Number("i1", "true" if value else "false", int(value))


def literal_of(array: np.ndarray[Any, Any]) -> Number:
    """The literal of an array of one entry."""
    value = array.item()
    if array.dtype.kind == "b":
        return truth_literal(value)
    if array.dtype.kind == "c":
        return complex_literal(value, REGISTER[array.dtype.name])
    return integer(value) if array.dtype.kind == "i" else real(value, REGISTER[array.dtype.name])


def _interleaved(times: int) -> dict[str, str]:
    """The metadata of a loop with this interleave count."""
    own, count = f"!{10 * times}", f"!{10 * times + 1}"
    return {
        own: f"{own} = distinct !{{{own}, {count}}}",
        count: f'{count} = !{{!"llvm.loop.interleave.count", i32 {times}}}',
    }


class ArenaBuffer(NamedTuple):
    """A part of the arena: its name in the function, and its first byte.

    That of an array which grows is behind all others, at so many bytes for each entry that there is room for.
    """

    name: str
    offset: int
    grows: bool = False


def array_symbol(place: int) -> str:
    """The name of the address of an array outside a function, by its place among them."""
    return f"array.{place}"


class LLVMWriter:
    """Writes the body of one function; declarations of what it calls are collected beside it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stack: list[str] = []
        self.declared: dict[str, str] = {}
        self.defined: dict[str, str] = {}
        """The texts of the functions beside it, by their names."""
        self.buffers: list[ArenaBuffer] = []
        self.arena = 0
        self.growing = 0
        """The bytes of one entry of each array that grows."""
        self.kept: list[Array] = []
        """The arrays whose entries the function reads: the text has symbols for their addresses."""
        self.counted = True
        """Whether its function takes four integers and an arena beside the arrays."""
        self.holds_arrays = False
        """Whether a loop over the entries of an array is written."""
        self.over_entries = False
        """Whether what is written next is in such a loop, of more than a few entries."""
        self.chained: str | None = None
        """The type of numbers of which an iteration of the loop that is written is a long chain.

        Its instructions wait for each other. Of numbers of several types, the widest one.
        """
        self.block = "entry"
        self._stacked = 0
        self._count = 0
        self._parts: dict[str, tuple[Number, Number]] = {}

    # -- instructions ------------------------------------------------------------------------------
    def fresh(self, prefix: str = "v") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{prefix}{self._count}"

    def emit(self, type: str, text: str) -> Number:
        """An instruction whose result has this type."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return Number(type, name)

    def symbol_of(self, array: Array) -> str:
        """The symbol of the address of an array outside the function."""
        self.kept.append(array)
        return f"@{array_symbol(len(self.kept) - 1)}"

    def binary(self, opcode: str, x: Number, y: Number) -> Number:
        """An instruction on two numbers of one type, whose result is of that type."""
        if x.type in COMPLEX:
            return self._complex_binary(opcode, x, y)
        return self.emit(x.type, f"{opcode} {x.type} {x.text}, {y.text}")

    def negative(self, x: Number) -> Number:
        """A real number with the other sign."""
        return self.emit(x.type, f"fneg {x.type} {x.text}")

    def plus(self, x: Number, y: Number) -> Number:
        """The sum of two indices."""
        if x.literal is not None and y.literal is not None:
            return integer(x.literal + y.literal)
        if x.literal == 0:
            return y
        return x if y.literal == 0 else self.binary("add", x, y)

    def times(self, x: Number, y: Number) -> Number:
        """The product of two indices."""
        if x.literal is not None and y.literal is not None:
            return integer(x.literal * y.literal)
        if 0 in (x.literal, y.literal):
            return integer(0)
        if x.literal == 1:
            return y
        return x if y.literal == 1 else self.binary("mul", x, y)

    def compare(self, predicate: str, x: Number, y: Number) -> Number:
        """A comparison, by LLVM's name of the predicate.

        Raises:
            UnsupportedError: it asks for the order of complex numbers.
        """
        if x.type in COMPLEX:
            joined = {"oeq": "and", "une": "or", "uno": "or"}.get(predicate)
            if joined is None:
                raise UnsupportedError("the order of complex numbers")
            pairs = zip(self.parts(x), self.parts(y), strict=True)
            return self.binary(joined, *[self.compare(predicate, *pair) for pair in pairs])
        opcode = "fcmp" if x.type in ("double", "float") else "icmp"
        return self.emit("i1", f"{opcode} {predicate} {x.type} {x.text}, {y.text}")

    def select(self, test: Number, x: Number, y: Number) -> Number:
        """x if the test is true, else y."""
        if x == y:
            return x
        return self.emit(x.type, f"select i1 {test.text}, {x.type} {x.text}, {y.type} {y.text}")

    def cast(self, opcode: str, x: Number, type: str) -> Number:
        """A conversion; a literal of a `float`, whose text is that of a `double`, stays one."""
        if opcode == "fpext" and x.text.startswith("0x"):
            return Number(type, x.text)
        return self.emit(type, f"{opcode} {x.type} {x.text} to {type}")

    def call(self, name: str, type: str, *operands: Number, flags: str = "") -> Number:
        """A call of a pure function of numbers."""
        kinds = ", ".join([x.type for x in operands])
        self.declared.setdefault(
            name, f"declare {type} @{name}({kinds}) nounwind willreturn speculatable memory(none)"
        )
        given = ", ".join([f"{x.type} {x.text}" for x in operands])
        return self.emit(type, f"call {flags}{type} @{name}({given})")

    def intrinsic(self, name: str, *operands: Number, flags: str = "") -> Number:
        """A function of LLVM's on real numbers of one type."""
        kind = operands[0].type
        suffix = "f64" if kind == "double" else "f32"
        return self.call(f"llvm.{name}.{suffix}", kind, *operands, flags=flags)

    # -- complex numbers -----------------------------------------------------------------------------
    def joined(self, re: Number, im: Number) -> Number:
        """The complex number of two parts of one type."""
        kind = next(whole for whole, part in COMPLEX.items() if part == re.type)
        half = self.emit(kind, f"insertvalue {kind} undef, {re.type} {re.text}, 0")
        whole = self.emit(kind, f"insertvalue {kind} {half.text}, {im.type} {im.text}, 1")
        self._parts[whole.text] = re, im
        return whole

    def parts(self, x: Number) -> tuple[Number, Number]:
        """The real and the imaginary part of a complex number."""
        if x.text in self._parts:
            return self._parts[x.text]
        part = COMPLEX[x.type]
        re, im = [self.emit(part, f"extractvalue {x.type} {x.text}, {k}") for k in (0, 1)]
        return re, im

    def each_part(self, change: Callable[..., Number], *operands: Number) -> Number:
        """The complex number whose parts are made of the operands' parts."""
        re, im = [change(*same) for same in zip(*map(self.parts, operands), strict=True)]
        return self.joined(re, im)

    def _complex_binary(self, opcode: str, x: Number, y: Number) -> Number:
        """Sums, differences and products, step by step as NumPy's: no infinity is recovered from NaN.

        Raises:
            UnsupportedError: it is none of these.
        """
        name, _, flags = opcode.partition(" ")
        if name in ("fadd", "fsub"):
            return self.each_part(partial(self.binary, opcode), x, y)
        if name != "fmul":
            raise UnsupportedError(f"{name} of complex numbers")
        (a, b), (c, d) = self.parts(x), self.parts(y)
        ac, bd, ad, bc = [self.binary(opcode, *pair) for pair in ((a, c), (b, d), (a, d), (b, c))]
        return self.joined(
            self.binary(f"fsub {flags}", ac, bd), self.binary(f"fadd {flags}", ad, bc)
        )

    # -- memory --------------------------------------------------------------------------------------
    def address(self, pointer: str, dtype: str, at: Number) -> str:
        """The address of an entry."""
        if at.literal == 0:
            return pointer
        return self.emit(
            "ptr", f"getelementptr inbounds {MEMORY[dtype]}, ptr {pointer}, i64 {at.text}"
        ).text

    def load(self, pointer: str, dtype: str, at: Number) -> Number:
        """An entry of an array; any byte but 0 is true, as in NumPy."""
        kind = MEMORY[dtype]
        found = self.emit(kind, f"load {kind}, ptr {self.address(pointer, dtype, at)}")
        return self.compare("ne", found, Number(kind, "0")) if dtype == "bool" else found

    def store(self, value: Number, pointer: str, dtype: str, at: Number) -> None:
        """Write an entry of an array."""
        if value.type == "i1":
            value = self.cast("zext", value, "i8")
        self.lines.append(
            f"  store {value.type} {value.text}, ptr {self.address(pointer, dtype, at)}"
        )

    def buffer(self, size: int, dtype: str) -> str:
        """Memory for so many entries."""
        width = np.dtype(dtype).itemsize
        apart = _APART if size * width >= _LARGE else 0
        bytes = size * width + apart
        name = f"%{self.fresh('b')}"
        if size * width <= _SMALL and self._stacked + bytes <= _STACK:
            self._stacked += bytes
            room = max(size + apart // width, 1)
            self.stack.append(f"  {name} = alloca [{room} x {MEMORY[dtype]}], align 64")
        else:
            self.buffers.append(ArenaBuffer(name, self.arena))
            self.arena += -(-bytes // 64) * 64
        return name

    def growing_buffer(self, size: int, dtype: str) -> str:
        """Memory for as many times so many entries as there is room for when the function runs."""
        name = f"%{self.fresh('b')}"
        self.buffers.append(ArenaBuffer(name, self.growing, grows=True))
        self.growing += size * np.dtype(dtype).itemsize
        return name

    def raise_flag(self, test: Number, flag: int) -> None:
        """Set a flag of the function if the test is true."""
        old = self.emit("i8", f"load i8, ptr {FAILED}")
        raised = self.select(test, Number("i8", str(flag)), Number("i8", "0"))
        self.lines.append(f"  store i8 {self.binary('or', old, raised).text}, ptr {FAILED}")

    def define(self, name: str, type: str, pointers: Sequence[str], body: LLVMWriter) -> None:
        """Define a function of arrays that are apart, from what another writer has written."""
        given = ", ".join([f"ptr noalias {pointer}" for pointer in pointers])
        head = f"define internal {type} @{name}({given}) nounwind {{"
        self.defined[name] = "\n".join([head, "entry:", *body.stack, *body.lines, "}"])
        self.declared |= body.declared
        self.defined |= body.defined

    # -- control flow --------------------------------------------------------------------------------
    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, name: str) -> None:
        """End a block."""
        self.lines.append(f"  br label %{name}")

    @contextmanager
    def loop(self, count: Number, vectorized: bool = True) -> Iterator[Number]:
        """A loop of at least one iteration around what is written inside; its index.

        LLVM may take several iterations at once, in vectors, if it is to be ``vectorized``.
        """
        if count.literal == 1:
            yield integer(0)
            return
        head, latch, end = self.fresh("head"), self.fresh("latch"), self.fresh("end")
        before = self.block
        self.jump(head)
        self.label(head)
        at, following = f"%{self.fresh('i')}", f"%{self.fresh('i')}"
        self.lines.append(f"  {at} = phi i64 [ 0, %{before} ], [ {following}, %{latch} ]")
        self.chained = None
        yield Number("i64", at)
        self.jump(latch)
        self.label(latch)
        self.lines.append(f"  {following} = add nuw nsw i64 {at}, 1")
        done = self.emit("i1", f"icmp eq i64 {following}, {count.text}")
        hints = self._hints(count, vectorized)
        self.defined |= hints
        self.chained = None
        metadata = f", !llvm.loop {next(iter(hints))}" if hints else ""
        self.lines.append(f"  br i1 {done.text}, label %{end}, label %{head}{metadata}")
        self.label(end)

    def _hints(self, count: Number, vectorized: bool) -> dict[str, str]:
        """The metadata of a loop, that of the loop itself first.

        A loop bound by latency is interleaved, as the vectors of several iterations are independent chains,
        unless more than a sixteenth of the iterations would be left for the scalar remainder loop.
        """
        if not vectorized:
            return _SCALAR
        if self.chained is None or count.literal is None:
            return {}
        length, lanes = count.literal, LANES[self.chained]
        for times in _INTERLEAVED:
            if length >= times * lanes and 16 * (length % (times * lanes)) <= length:
                return _interleaved(times)
        return {}

    @contextmanager
    def open_loop(self, start: Number, stop: Number) -> Iterator[tuple[Number, str]]:
        """A loop over the indices from start to before stop; its index, and the label of its end.

        What is written inside may branch to the end. There the index says where the loop ended.
        """
        head, body, tail, end = [self.fresh(name) for name in ("head", "body", "tail", "end")]
        before = self.block
        self.jump(head)
        self.label(head)
        at, following = f"%{self.fresh('i')}", f"%{self.fresh('i')}"
        self.lines.append(f"  {at} = phi i64 [ {start.text}, %{before} ], [ {following}, %{tail} ]")
        index = Number("i64", at)
        self.branch(self.compare("slt", index, stop), body, end)
        self.label(body)
        yield index, end
        self.jump(tail)
        self.label(tail)
        self.lines.append(f"  {following} = add nuw nsw i64 {at}, 1")
        self.jump(head)
        self.label(end)

    def branch(self, test: Number, yes: str, no: str) -> None:
        """End a block: where to go on, by a test."""
        self.lines.append(f"  br i1 {test.text}, label %{yes}, label %{no}")

    @contextmanager
    def loops(self, shape: Sequence[int]) -> Iterator[tuple[Number, ...]]:
        """Nested loops over a shape without empty axes.

        LLVM unrolls inner loops of few iterations, and would then vectorize the loop around them: by entries
        from here and there (gathers and scatters), at half the speed where that loop is short.
        """
        if not shape:
            yield ()
            return
        self.holds_arrays = True
        if shape[0] < 0:
            raise UnsupportedError("an array whose length is known only when the program runs")
        has_inner = any([size != 1 for size in shape[1:]])
        vectorized = not has_inner or shape[0] > _FEW
        outside, self.over_entries = self.over_entries, self.over_entries or shape[0] >= _FILLED
        with self.loop(integer(shape[0]), vectorized) as first, self.loops(shape[1:]) as rest:
            yield (first, *rest)
        self.over_entries = outside

    def choose(
        self, test: Number, first: Callable[[], Number], second: Callable[[], Number]
    ) -> Number:
        """The number that one of two pieces of code computes; only that one runs."""
        yes, no, end = self.fresh("then"), self.fresh("else"), self.fresh("end")
        self.lines.append(f"  br i1 {test.text}, label %{yes}, label %{no}")
        self.label(yes)
        x = first()
        from_yes = self.block
        self.jump(end)
        self.label(no)
        y = second()
        from_no = self.block
        self.jump(end)
        self.label(end)
        return self.emit(
            x.type, f"phi {x.type} [ {x.text}, %{from_yes} ], [ {y.text}, %{from_no} ]"
        )


def linear_index(
    writer: LLVMWriter, index: Sequence[Number], strides: Sequence[int], offset: Number
) -> Number:
    """Where an entry is, from its index on each axis."""
    at = offset
    for i, stride in zip(index, strides, strict=True):
        at = writer.plus(at, writer.times(i, integer(stride)))
    return at


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in entries, of an array in C order.

    >>> row_major_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])
