"""The schedules of array programs as people read them: a line a call, with the arrays it takes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.call_ir import Call, Placed, Plan, Schedule, bytes_of
from funcgrad.compiler.print_ir import NO_BODIES, bounded, number, params_shown

_GROUP = re.compile(r"each_block\(block(\d+)")
_HELD = re.compile(r"\bk\d+\b")
_DTYPE = re.compile(r"\bd\d+s?\b")
_HOW = {
    "operand": "in the place of its operand",
    "spare": "in an array that was free",
    "view": "a view",
    "unknown": "perhaps a view",
    "number": "",
}


class Calls(NamedTuple):
    """The calls of an array program: what each reads and writes, and when what it wrote is over.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.numpy.numpy_codegen import planned, prepared, scheduled
    >>> from funcgrad.compiler.flat_program import flatten
    >>> x = fg.var("x", 3)
    >>> plan = planned(prepared(flatten([np.sum(np.exp(-x))], [x])))
    >>> Calls(plan, scheduled(plan), ("x",))
    a0 = negative(x) : float64[3], new, 24 bytes
    a0 = exp(a0) : float64[3], in the place of its operand
    a1 = add.reduce(a0, (0,)) : float64; a0 is over
    return a1
    1 array, 24 bytes in all
    """

    plan: Plan
    schedule: Schedule
    names: tuple[str, ...]
    bodies: Mapping[Any, str] = NO_BODIES

    def lines(self) -> Iterator[str]:
        """One line a call, the functions of groups below theirs; what is returned; and the memory taken."""
        texts = {f"x{i}": name for i, name in enumerate(self.names)}
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
            owned.difference_update(placed.over)
        returned = [self._plain(text, texts) for text in self.schedule.returned]
        yield f"return {', '.join(returned)}".rstrip()
        if arrays:
            yield f"{arrays} array{'s' if arrays > 1 else ''}, {taken:,} bytes in all"

    def __repr__(self) -> str:
        return "\n".join(bounded(self.lines()))

    def _call(
        self, call: Call, placed: Placed, texts: Mapping[str, str], over: Sequence[str]
    ) -> Iterator[str]:
        given = [self._name(name, texts) for name in placed.reads]
        group = _GROUP.match(call.text)
        if group is not None:
            yield from self._group(int(group[1]), call, given, over)
            return
        count = bytes_of(call.type)  # an axis as long as a loop happens to run counts -1
        size = f"{count:,} bytes" if count >= 0 else "as long as the loop ran"
        own = {"new": f"new, {size}", "pool": f"kept from run to run, {size}"}
        how = "" if call.type.dtype.kind == "O" else own.get(placed.how) or _HOW[placed.how]
        text = "empty" if call.kind == "empty" else self._text(call, given)
        where = f"{placed.writes} = {text} : {call.type}"
        yield "; ".join([", ".join([where, how]) if how else where, *over])

    def _text(self, call: Call, given: Sequence[str]) -> str:
        named = _DTYPE.sub(lambda found: str(self.plan.bound.get(found[0], found[0])), call.text)
        text = named.format(*given, out="")
        if not call.name:
            return text
        function, _, _ = text.partition("(")
        run = self.plan.bound.get(function)
        params = tuple(getattr(run, "keywords", {}).items())
        return f"{call.name}({', '.join([*given, *params_shown(params, self.bodies)])})"

    def _group(
        self, number: int, call: Call, given: Sequence[str], over: Sequence[str]
    ) -> Iterator[str]:
        blocks = self.plan.bound[f"blocks{number}"]
        count = -(-blocks.length // blocks.rows)
        made = [k for k, i in enumerate(call.operands) if self.plan.calls[i].kind == "empty"]
        read = [text for k, text in enumerate(given) if k not in made]
        rows = [*blocks.scratch, *[row for _, row in blocks.repeated]]
        text = self.plan.functions[number]
        names = [f"v{j} = {x}" for j, x in enumerate(read)]
        names += [f"{name} = {self._name(name, {})}" for name in sorted(set(_HELD.findall(text)))]
        parts = [
            f"block{number}: reads {', '.join(names) or 'nothing'}",
            f"writes {', '.join([f'o{j} = {given[k]}' for j, k in enumerate(made)])}",
            f"{count:,} times {blocks.rows:,} of {blocks.length:,} rows"
            f"{', by threads' if blocks.threaded else ''}",
            f"scratch of {sum(map(bytes_of, rows)) * blocks.rows:,} bytes",
        ]
        yield "; ".join([*parts, *over])
        for line in text.splitlines():
            yield f"  {line}"

    def _name(self, name: str, texts: Mapping[str, str]) -> str:
        if name in texts:
            return texts[name]
        held = self.plan.bound.get(name) if name[:1] in "ks" and name[1:].isdecimal() else None
        return name if held is None else number(np.asarray(held))

    def _plain(self, text: str, texts: Mapping[str, str]) -> str:
        """What is returned, without how a number or a copy is made of it."""
        found = re.fullmatch(r"(?:present|array)\((\w+)\)|(\w+?)(?:\.item\(\)|\[\(\)\])?", text)
        if found is None:
            return text
        name = self._name(found[1] or found[2], texts)
        return f"a copy of {name}" if text.startswith("array(") else name


def _ends(placed: Placed, owned: Container[str]) -> list[str]:
    kept = [name for name in placed.over if name in owned and name not in placed.deleted]
    ends = [(placed.spared, "free"), (placed.deleted, "deleted"), (kept, "over")]
    return [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {what}"
        for names, what in ends
        if names
    ]
