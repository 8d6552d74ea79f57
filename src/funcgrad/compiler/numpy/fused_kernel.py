"""What a group does to one block of rows, as generated Python that writes into scratch memory.

A block's values stand in scratch arrays of a few rows, which are used again as soon as a value is over. Where
rows are small arrays that are broadcast or reduced, scratch is *turned*: its rows are the last axis in
memory, so that NumPy's inner loops run over them and not over a handful of entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.compiler.call_ir import Call, Plan
from funcgrad.graph import ArrayType


class Member(NamedTuple):
    """A call of a group: which of its operands come by rows, and whether it totals over them."""

    call: Call
    number: int
    rows: tuple[bool, ...]
    total: bool


class Inner(NamedTuple):
    """A function of a block: its text, and the arrays that it is given."""

    text: str
    operands: tuple[int, ...]
    """The values from outside."""
    leaving: tuple[int, ...]
    """The values that are wanted outside: whole, or one for each block."""
    scratch: tuple[ArrayType, ...]
    """Types of one row of each array that is written to in between."""
    repeated: tuple[tuple[int, ArrayType], ...]
    """Places among the operands of those that come for every row alike, and their types: such scratch
    holds them once for each row, and stands behind the other."""
    turned: bool
    row_bytes: int


def inner_function(
    plan: Plan, members: Sequence[Member], leaving: Sequence[int], name: str
) -> Inner:
    """The function of a group: ``name(i, lo, hi, *operands, *leaving, *scratch)`` does rows lo to hi."""
    printer = _Printer(plan, members, leaving)
    lines = printer.lines()
    given = [f"v{j}" for j in range(len(printer.outside))]
    given += [f"o{j}" for j in range(len(leaving))]
    given += [f"s{j}" for j in range(len(printer.scratch))]
    given += [f"w{j}" for j in range(len(printer.repeated))]
    head = f"def {name}({', '.join(['i', 'lo', 'hi', *given])}):"
    text = "\n".join([head, *[f"    {line}" for line in lines]]) + "\n"
    scratch, outside = tuple(printer.scratch), tuple(printer.outside)
    repeated = tuple([(outside.index(k), row) for k, row in printer.repeated.items()])
    size = sum(map(_bytes, [*scratch, *printer.passing, *printer.repeated.values()]))
    return Inner(text, outside, tuple(leaving), scratch, repeated, printer.turned, size)


def _row(type: ArrayType) -> ArrayType:
    return ArrayType(type.shape[1:], type.dtype)


def _bytes(row: ArrayType) -> int:
    return math.prod(row.shape) * row.dtype.itemsize


# Rows whose last axis is longer are left as they are: NumPy's inner loops are long enough, and its
# sums along the axis are by pairs.
_SHORT = 64


def _is_turned(plan: Plan, members: Sequence[Member]) -> bool:
    """Whether some rows are broadcast or reduced, and none is long."""
    gains = False
    for member in members:
        call = member.call
        types = [plan.calls[k].type for k in call.operands]
        if call.kind in ("add", "maximum", "minimum"):
            axes = [n for i, n in enumerate(types[0].shape) if i in call.axes and i]
            if axes and (types[0].shape[-1] > _SHORT or math.prod(axes) > 2 * _SHORT):
                return False
            gains = gains or bool(axes)
        elif call.kind == "matmul" and len(call.type.shape) > 2:
            return False
        elif call.kind == "entry" and len(call.type.shape) > 1:
            if call.type.shape[-1] > _SHORT:
                return False
            narrow = [t for t in types if t.shape and math.prod(t.shape[1:]) != _entries(call)]
            gains = gains or bool(narrow)
    return gains


def _entries(call: Call) -> int:
    return math.prod(call.type.shape[1:])


class _Printer:
    """Gives each value of a block a name."""

    def __init__(self, plan: Plan, members: Sequence[Member], leaving: Sequence[int]) -> None:
        self.plan, self.members = plan, members
        self.leaving = {k: j for j, k in enumerate(leaving)}
        self.inside = {m.number for m in members}
        self.turned = _is_turned(plan, members)
        self.outside: list[int] = []
        self.scratch: list[ArrayType] = []
        self.repeated: dict[int, ArrayType] = {}
        self.passing: list[ArrayType] = []  # one row of what is read and written outside
        self.names: dict[int, str] = {}
        self.copies: dict[int, str] = {}  # turned, of what comes from outside
        self.free: dict[ArrayType, list[str]] = {}
        self.root: dict[int, int] = {}
        self.written: list[str] = []
        self.last = self.lifetimes()

    def lifetimes(self) -> dict[int, int]:
        """For each value, the place of the last member that reads its memory."""
        last: dict[int, int] = {}
        for place, member in enumerate(self.members):
            if member.call.effect in ("view", "unknown"):
                k = member.call.operands[0]
                self.root[member.number] = self.root.get(k, k)
            for k in member.call.operands:
                last[self.root.get(k, k)] = last[k] = place
        return last

    def lines(self) -> list[str]:
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
        if call.effect == "source" and call.text[0] == "k":
            return call.text
        if k not in self.outside:
            self.outside.append(k)
        return f"v{self.outside.index(k)}"

    def repeat(self, member: Member, k: int) -> str:
        """What is the same for every row: once for each row where that makes inner loops long."""
        type, ndim = self.plan.calls[k].type, len(member.call.type.shape)
        if not self.turned or member.call.kind != "entry" or type.size == 1:
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
            self.written.append(f"{self.names[k]} = {self.whole(k)}[lo:hi]")
            self.passing.append(_row(self.plan.calls[k].type))
        return self.names[k]

    def operand(self, member: Member, k: int, by_rows: bool) -> str:
        if not by_rows:
            return self.repeat(member, k)
        name = self.sliced(k)
        foreign = self.root.get(k, k) not in self.inside
        row = _row(self.plan.calls[k].type)
        copied = self.turned and foreign and math.prod(row.shape) > 1
        if not copied or member.call.kind in ("matmul", "matmul.T", "reshape", "getitem"):
            return name
        if k not in self.copies:
            self.copies[k] = self.place(row)
            self.written.append(f"copyto({self.copies[k]}, {name})")
        return self.copies[k]

    # -- results ----------------------------------------------------------------------------------
    def place(self, row: ArrayType) -> str:
        if self.free.get(row):
            return self.free[row].pop()
        self.scratch.append(row)
        return f"s{len(self.scratch) - 1}"

    def statement(self, place: int, member: Member) -> None:
        call, number = member.call, member.number
        given = [
            self.operand(member, k, by_rows)
            for k, by_rows in zip(call.operands, member.rows, strict=True)
        ]
        out = self.leaving.get(number)
        if member.total:
            call = self.totalled(call)
            self.written.append(f"o{out}[i] = {call.text.format(*given, out='')}")
            return
        if call.effect in ("view", "unknown") or "{out}" not in call.text:
            self.names[number] = f"r{len(self.names)}"
            self.written.append(f"{self.names[number]} = {call.text.format(*given)}")
        else:
            self.fill(place, member, given, out)
            return
        if out is not None:
            self.passing.append(_row(call.type))
            self.written.append(f"o{out}[lo:hi] = {self.names[number]}")

    def totalled(self, call: Call) -> Call:
        """Sums over rows that lie side by side in memory are left to BLAS, at half the time."""
        narrow = len(call.type.shape) and self.plan.calls[call.operands[0]].type.dtype.char in "fd"
        if self.turned and narrow and (call.kind, call.axes) == ("add", (0,)):
            return call._replace(text="row_sum({0})")
        return call

    def fill(self, place: int, member: Member, given: list[str], out: int | None) -> None:
        call, row = member.call, _row(member.call.type)
        direct = out is not None and not (self.turned and math.prod(row.shape) > 1)
        if out is not None:
            self.passing.append(row)
        if direct:
            name = f"r{len(self.names)}"
            self.written.append(f"{name} = o{out}[lo:hi]")
        else:
            name = self.over(place, member, given) or self.place(row)
        self.names[member.number] = name
        self.written.append(call.text.format(*given, out=f", out={name}"))
        if out is not None and not direct:
            self.written.append(f"o{out}[lo:hi] = {name}")

    def over(self, place: int, member: Member, given: Sequence[str]) -> str | None:
        """An operand that may be written to, since it is read for the last time."""
        if member.call.effect != "fill":
            return None
        for k, name in zip(member.call.operands, given, strict=True):
            same = _row(self.plan.calls[k].type) == _row(member.call.type) and name[0] == "s"
            if same and self.last[self.root.get(k, k)] == place and k not in self.root:
                self.copies.pop(k, None)
                self.names[k] = "r"
                return name
        return None
