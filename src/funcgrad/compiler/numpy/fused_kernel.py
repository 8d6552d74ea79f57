"""Fused kernels: the statements that execute a group of calls on one block of rows, in scratch memory.

A block's values stand in scratch arrays of a few rows, which are reused as soon as a value is dead. Where
rows are small arrays that are broadcast or reduced, scratch is *transposed*: its rows are the last axis in
memory, so that NumPy's inner loops run over them and not over a handful of entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from funcgrad.compiler.call_ir import Call, Callee, CallForm, Plan
from funcgrad.compiler.numpy.block_loop import Blocks, row_sum
from funcgrad.graph import ArrayType


class Member(NamedTuple):
    """A call of a group: which operands are read block by block, and whether it reduces over all rows."""

    call: Call
    number: int
    rows: tuple[bool, ...]
    total: bool


class Rows(NamedTuple):
    """A slice of an operand: the rows of the block."""

    target: str
    source: str


class Copy(NamedTuple):
    """Rows copied into scratch."""

    target: str
    source: str


class Compute(NamedTuple):
    """A call on names; its value goes into the memory of the target, or is a view that the target names."""

    target: str
    call: Call
    reads: tuple[str, ...]
    in_place: bool


class Store(NamedTuple):
    """The rows of the block, stored to a result array."""

    target: str
    source: str


class Total(NamedTuple):
    """The block's partial reduction."""

    target: str
    call: Call
    reads: tuple[str, ...]


KernelStatement = Rows | Copy | Compute | Store | Total


class Kernel(NamedTuple):
    """A kernel: the parameters and statements of a function of one block, and the blocks that it runs on."""

    symbol: str
    parameters: tuple[str, ...]
    statements: tuple[KernelStatement, ...]
    blocks: Blocks

    @property
    def constants(self) -> list[str]:
        """The names of the constants that it reads, sorted."""
        reads = [
            name
            for s in self.statements
            for name in (s.reads if isinstance(s, Compute | Total) else (s.source,))
        ]
        return sorted({name for name in reads if name[0] == "k"})


class KernelBody(NamedTuple):
    """A block's statements, and the arrays that they are given."""

    statements: tuple[KernelStatement, ...]
    operands: tuple[int, ...]
    """The values from outside."""
    leaving: tuple[int, ...]
    """The values that are wanted outside: whole, or one for each block."""
    scratch: tuple[ArrayType, ...]
    """Types of one row of each array that is written to in between."""
    repeated: tuple[tuple[int, ArrayType], ...]
    """Places among the operands of those that come for every row alike, and their types: such scratch
    holds them once for each row, and stands behind the other."""
    transposed: bool
    row_bytes: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the block's number and rows, and of the arrays."""
        groups = (
            ("v", self.operands),
            ("o", self.leaving),
            ("s", self.scratch),
            ("w", self.repeated),
        )
        arrays = [f"{letter}{j}" for letter, group in groups for j in range(len(group))]
        return ("i", "lo", "hi", *arrays)


def kernel_body(plan: Plan, members: Sequence[Member], leaving: Sequence[int]) -> KernelBody:
    """The statements of a group for one block of rows."""
    writer = _Writer(plan, members, leaving)
    statements = tuple(writer.statements())
    scratch, outside = tuple(writer.scratch), tuple(writer.outside)
    repeated = tuple([(outside.index(k), row) for k, row in writer.repeated.items()])
    size = sum(map(_bytes, [*scratch, *writer.passing, *writer.repeated.values()]))
    return KernelBody(
        statements, outside, tuple(leaving), scratch, repeated, writer.transposed, size
    )


def _row(type: ArrayType) -> ArrayType:
    return ArrayType(type.shape[1:], type.dtype)


def _bytes(row: ArrayType) -> int:
    return math.prod(row.shape) * row.dtype.itemsize


_ROW_SUM = Callee("row_sum", CallForm.ROUTINE, row_sum)

# Rows whose last axis is longer are left as they are: NumPy's inner loops are long enough, and its
# sums along the axis are by pairs.
_SHORT = 64


def _is_transposed(plan: Plan, members: Sequence[Member]) -> bool:
    """Whether some rows are broadcast or reduced, and none is long."""
    gains = False
    for member in members:
        call = member.call
        types = [plan.calls[k].type for k in call.operands]
        if call.form is CallForm.REDUCE:
            axes = [n for i, n in enumerate(types[0].shape) if i in call.axes and i]
            if axes and (types[0].shape[-1] > _SHORT or math.prod(axes) > 2 * _SHORT):
                return False
            gains = gains or bool(axes)
        elif call.form is CallForm.MATMUL and not call.params and len(call.type.shape) > 2:
            return False
        elif call.form is CallForm.ENTRYWISE and len(call.type.shape) > 1:
            if call.type.shape[-1] > _SHORT:
                return False
            narrow = [t for t in types if t.shape and math.prod(t.shape[1:]) != _entries(call)]
            gains = gains or bool(narrow)
    return gains


def _entries(call: Call) -> int:
    return math.prod(call.type.shape[1:])


class _Writer:
    """Assigns each value of a block a name: of scratch, of a slice of an operand, or of a view."""

    def __init__(self, plan: Plan, members: Sequence[Member], leaving: Sequence[int]) -> None:
        self.plan, self.members = plan, members
        self.leaving = {k: j for j, k in enumerate(leaving)}
        self.inside = {m.number for m in members}
        self.transposed = _is_transposed(plan, members)
        self.outside: list[int] = []
        self.scratch: list[ArrayType] = []
        self.repeated: dict[int, ArrayType] = {}
        self.passing: list[ArrayType] = []  # one row of what is read and written outside
        self.names: dict[int, str] = {}
        self.copies: dict[int, str] = {}  # transposed, of what comes from outside
        self.free: dict[ArrayType, list[str]] = {}
        self.root: dict[int, int] = {}
        self.written: list[KernelStatement] = []
        self.last = self.lifetimes()

    def lifetimes(self) -> dict[int, int]:
        """For each value, the place of the last member that reads its memory."""
        last: dict[int, int] = {}
        for place, member in enumerate(self.members):
            if member.call.effect in ("view", "may_alias"):
                k = member.call.operands[0]
                self.root[member.number] = self.root.get(k, k)
            for k in member.call.operands:
                last[self.root.get(k, k)] = last[k] = place
        return last

    def statements(self) -> list[KernelStatement]:
        for place, member in enumerate(self.members):
            self.statement(place, member)
            for k in {self.root.get(k, k) for k in (*member.call.operands, member.number)}:
                if self.last.get(k, -1) <= place:
                    self.release(k)
        return self.written

    def release(self, k: int) -> None:
        copies = [n for n in self.copies if self.root.get(n, n) == k]
        for name, n in [(self.names.get(k), k), *[(self.copies.pop(n), n) for n in copies]]:
            if name is not None and name[0] == "s":
                type = _row(self.plan.calls[n].type)
                if name not in self.free.setdefault(type, []):
                    self.free[type].append(name)

    # -- operands ---------------------------------------------------------------------------------
    def whole(self, k: int) -> str:
        call = self.plan.calls[k]
        if call.form is CallForm.CONSTANT:
            return call.function.symbol
        if k not in self.outside:
            self.outside.append(k)
        return f"v{self.outside.index(k)}"

    def repeat(self, member: Member, k: int) -> str:
        """Replicate row-invariant operands in scratch, once for each row, if that makes inner loops long."""
        type, ndim = self.plan.calls[k].type, len(member.call.type.shape)
        if not self.transposed or member.call.form is not CallForm.ENTRYWISE or type.size == 1:
            return self.whole(k)
        name = self.whole(k)
        if name[0] == "k":  # a constant is bound, and not given
            return name
        shape = (1,) * (ndim - len(type.shape)) + type.shape
        row = self.repeated.setdefault(k, ArrayType(shape[1:], type.dtype))
        return f"w{list(self.repeated).index(k)}" if len(row.shape) == ndim - 1 else name

    def sliced(self, k: int) -> str:
        if k not in self.names:
            self.names[k] = f"r{len(self.names)}"
            self.written.append(Rows(self.names[k], self.whole(k)))
            self.passing.append(_row(self.plan.calls[k].type))
        return self.names[k]

    def operand(self, member: Member, k: int, by_rows: bool) -> str:
        if not by_rows:
            return self.repeat(member, k)
        name = self.sliced(k)
        foreign = self.root.get(k, k) not in self.inside
        row = _row(self.plan.calls[k].type)
        copied = self.transposed and foreign and math.prod(row.shape) > 1
        if not copied or member.call.form in (CallForm.MATMUL, CallForm.RESHAPE, CallForm.GETITEM):
            return name
        if k not in self.copies:
            self.copies[k] = self.place(row)
            self.written.append(Copy(self.copies[k], name))
        return self.copies[k]

    # -- results ----------------------------------------------------------------------------------
    def place(self, row: ArrayType) -> str:
        if self.free.get(row):
            return self.free[row].pop()
        self.scratch.append(row)
        return f"s{len(self.scratch) - 1}"

    def statement(self, place: int, member: Member) -> None:
        call, number = member.call, member.number
        reads = tuple(
            [
                self.operand(member, k, by_rows)
                for k, by_rows in zip(call.operands, member.rows, strict=True)
            ]
        )
        out = self.leaving.get(number)
        if member.total:
            self.written.append(Total(f"o{out}", self.total(call), reads))
            return
        if call.takes_out or call.form is CallForm.REDUCE:
            self.fill(place, member, reads, out)
            return
        self.names[number] = f"r{len(self.names)}"
        self.written.append(Compute(self.names[number], call, reads, False))
        if out is not None:
            self.passing.append(_row(call.type))
            self.written.append(Store(f"o{out}", self.names[number]))

    def total(self, call: Call) -> Call:
        """Sums over rows that lie side by side in memory are left to BLAS, at half the time."""
        narrow = len(call.type.shape) and self.plan.calls[call.operands[0]].type.dtype.char in "fd"
        rows = call.form is CallForm.REDUCE and (call.function.run, call.axes) == (np.add, (0,))
        if self.transposed and narrow and rows:
            return call._replace(function=_ROW_SUM, params=())
        return call

    def fill(self, place: int, member: Member, reads: tuple[str, ...], out: int | None) -> None:
        row = _row(member.call.type)
        direct = out is not None and not (self.transposed and math.prod(row.shape) > 1)
        if out is not None:
            self.passing.append(row)
        if direct:
            name = f"r{len(self.names)}"
            self.written.append(Rows(name, f"o{out}"))
        else:
            name = self.in_place_operand(place, member, reads) or self.place(row)
        self.names[member.number] = name
        self.written.append(Compute(name, member.call, reads, True))
        if out is not None and not direct:
            self.written.append(Store(f"o{out}", name))

    def in_place_operand(self, place: int, member: Member, given: Sequence[str]) -> str | None:
        """An operand that is dead after the call, and so may be written to."""
        if member.call.effect != "in_place_ok":
            return None
        for k, name in zip(member.call.operands, given, strict=True):
            same = _row(self.plan.calls[k].type) == _row(member.call.type) and name[0] == "s"
            if same and self.last[self.root.get(k, k)] == place and k not in self.root:
                self.copies.pop(k, None)
                self.names[k] = "r"
                return name
        return None
