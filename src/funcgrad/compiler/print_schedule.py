"""The printer of schedules of array programs: a line a call, with the arrays it takes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.call_ir import Call, CallForm, CallSchedule, Placed, Plan, Returned, bytes_of
from funcgrad.compiler.numpy.fused_kernel import Kernel
from funcgrad.compiler.numpy.numpy_codegen import expression, kernel_source
from funcgrad.compiler.print_ir import NO_BODIES, bounded, number, params_shown

_HOW = {
    "in_place": "in place",
    "reused": "in a dead array",
    "view": "a view",
    "may_alias": "may be a view",
    "number": "",
}


class Calls(NamedTuple):
    """The calls of an array program: what each reads and writes, and which values are dead after it.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
    >>> from funcgrad.compiler.numpy.numpy_pipeline import make_plan, run_step_passes
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x", 3)
    >>> plan = make_plan(run_step_passes(flatten_program([np.sum(np.exp(-x))], [x])))
    >>> Calls(plan, assign_buffers(plan), ("x",))
    a0 = negative(x) : float64[3], new, 24 bytes
    a0 = exp(a0) : float64[3], in place
    a1 = add.reduce(a0, (0,)) : float64; a0 is dead
    return a1
    1 array, 24 bytes in all
    """

    plan: Plan
    schedule: CallSchedule
    names: tuple[str, ...]
    bodies: Mapping[Any, str] = NO_BODIES

    def lines(self) -> Iterator[str]:
        """One line a call, the functions of groups below theirs; what is returned; and the memory taken."""
        texts = self._sources()
        owned: set[str] = set()
        arrays = taken = 0
        for placed in self.schedule.placed:
            call = self.plan.calls[placed.call]
            if placed.how == "source":
                continue
            if placed.how in ("new", "pool") and call.type.dtype.kind != "O":
                arrays, taken = arrays + 1, taken + max(bytes_of(call.type), 0)
                owned.add(placed.writes)
            yield from self._call(call, placed, texts, _ends(placed, owned))
            owned.difference_update(placed.dead)
        returned = [_plain(result, texts) for result in self.schedule.returned]
        yield f"return {', '.join(returned)}".rstrip()
        if arrays:
            yield f"{arrays} array{'s' if arrays > 1 else ''}, {taken:,} bytes in all"

    def __repr__(self) -> str:
        return "\n".join(bounded(self.lines()))

    def _sources(self) -> dict[str, str]:
        """The names of inputs, and the numbers of constants, by their symbols."""
        texts = {f"x{i}": name for i, name in enumerate(self.names)}
        for call in self.plan.calls:
            if call.form is CallForm.CONSTANT:
                symbol = call.function.symbol
                texts[symbol] = texts[f"s{symbol[1:]}"] = number(call.function.run)
        return texts

    def _call(
        self, call: Call, placed: Placed, texts: Mapping[str, str], ends: Sequence[str]
    ) -> Iterator[str]:
        given = [texts.get(name, name) for name in placed.reads]
        if call.form is CallForm.KERNEL:
            yield from self._kernel(call, given, texts, ends)
            return
        count = bytes_of(call.type)  # an axis as long as a loop happens to run counts -1
        size = f"{count:,} bytes" if count >= 0 else "as long as the loop ran"
        own = {"new": f"new, {size}", "pool": f"pooled, {size}"}
        how = "" if call.type.dtype.kind == "O" else own.get(placed.how) or _HOW[placed.how]
        where = f"{placed.writes} = {self._text(call, given)} : {call.type}"
        yield "; ".join([", ".join([where, how]) if how else where, *ends])

    def _text(self, call: Call, given: Sequence[str]) -> str:
        if call.form is CallForm.EMPTY:
            return "empty"
        if not call.function.name:
            return expression(call, given, dtype=str)
        return (
            f"{call.function.name}({', '.join([*given, *params_shown(call.params, self.bodies)])})"
        )

    def _kernel(
        self, call: Call, given: Sequence[str], texts: Mapping[str, str], ends: Sequence[str]
    ) -> Iterator[str]:
        kernel: Kernel = call.function.run
        blocks = kernel.blocks
        count = -(-blocks.length // blocks.rows)
        empty = [self.plan.calls[i].form is CallForm.EMPTY for i in call.operands]
        made = [name for name, is_empty in zip(given, empty, strict=True) if is_empty]
        read = [name for name, is_empty in zip(given, empty, strict=True) if not is_empty]
        rows = [*blocks.scratch, *[row for _, row in blocks.repeated]]
        names = [f"v{j} = {x}" for j, x in enumerate(read)]
        names += [f"{name} = {texts[name]}" for name in kernel.constants]
        parts = [
            f"{kernel.symbol}: reads {', '.join(names) or 'nothing'}",
            f"writes {', '.join([f'o{j} = {x}' for j, x in enumerate(made)])}",
            f"{count:,} times {blocks.rows:,} of {blocks.length:,} rows"
            f"{', by threads' if blocks.threaded else ''}",
            f"scratch of {sum(map(bytes_of, rows)) * blocks.rows:,} bytes",
        ]
        yield "; ".join([*parts, *ends])
        for line in kernel_source(kernel).splitlines():
            yield f"  {line}"


def _plain(result: Returned, texts: Mapping[str, str]) -> str:
    """What is returned, without how a number is made of it."""
    name = texts.get(result.name, result.name)
    return f"a copy of {name}" if result.how == "copy" else name


def _ends(placed: Placed, owned: Container[str]) -> list[str]:
    kept = [name for name in placed.dead if name in owned and name not in placed.deleted]
    ends = [(placed.reusable, "reusable"), (placed.deleted, "deleted"), (kept, "dead")]
    return [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {what}"
        for names, what in ends
        if names
    ]
