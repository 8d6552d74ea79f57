"""Buffer assignment, a linear scan over liveness: where each call writes, and when its value is dead.

A call that takes ``out=`` writes to the array of an operand that is dead after it, else to another dead array
of its type, else to a pooled array, which is kept from run to run. It never writes to an input or a constant;
no result shares memory with an input, a constant, another result, or the pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compiler.call_ir import (
    NUMBER_FORMS,
    Call,
    CallForm,
    CallSchedule,
    Placed,
    Placement,
    Plan,
    Returned,
    ReturnForm,
    bytes_of,
    last_reads,
)
from funcgrad.fold import folded
from funcgrad.graph import ArrayType

# Arrays of fewer bytes are not worth a statement that frees them early.
_LARGE = 1 << 14
# Arrays of so many bytes are kept for the next call, since fresh memory comes page by page (an elementwise
# gradient of 10**5 entries takes 0.7 of the time); one program keeps no more than so many bytes in all.
_POOLED, _HELD = 1 << 17, 1 << 28


def assign_buffers(plan: Plan) -> CallSchedule:
    """The buffer of each call's value, and when it is dead.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> from funcgrad.compiler.numpy.instruction_selection import select_instructions
    >>> x = fg.var("x", 3)
    >>> for placed in assign_buffers(
    ...     select_instructions(flatten_program([np.exp(-x)], [x]))
    ... ).placed:
    ...     print(placed.reads, placed.writes, placed.how)
    () x0 source
    ('x0',) a0 new
    ('a0',) a0 in_place
    """
    assignment = _Assignment(plan)
    placed = assignment.placed()
    return CallSchedule(tuple(placed), tuple(assignment.pooled), tuple(assignment.returned()))


class _Assignment:
    """Assigns a name to each value, and a buffer to each call, in the order of the calls."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.last = last_reads(plan)
        self.outlasting = self.stored_into_results()
        self.names: dict[int, str] = {}
        self.unused: list[str] = []  # names
        self.made = 0
        self.spare: dict[ArrayType, list[str]] = {}  # names of arrays that may be written to
        self.wanted: dict[ArrayType, int] = {}  # the last call that could use such an array
        self.pooled: list[ArrayType] = []  # arrays that one call of the program leaves to the next
        for i, call in enumerate(plan.calls):
            if self.fillable(call):
                self.wanted[call.type] = i

    def stored_into_results(self) -> set[int]:
        """The results, and the arrays that become results by stores into them."""
        calls = self.plan.calls
        found = {i for i, last in enumerate(self.last) if last == len(calls)}
        for i in reversed(range(len(calls))):
            if i in found and calls[i].form is CallForm.STORE:
                found.update([k for k in calls[i].operands[:1] if self.last[k] == i])
        return found

    @staticmethod
    def fillable(call: Call) -> bool:
        return call.effect in ("in_place_ok", "out_no_alias") and bool(call.type.shape)

    def owns(self, i: int) -> bool:
        """Whether a value is an array of its own, made in this run."""
        call = self.plan.calls[i]
        return call.effect in ("in_place_ok", "out_no_alias", "new") and bool(call.type.shape)

    def placed(self) -> list[Placed]:
        ending: dict[int, list[int]] = {}
        for i, last in enumerate(self.last):
            ending.setdefault(last, []).append(i)
        placed = []
        for i, call in enumerate(self.plan.calls):
            if call.effect == "source":
                self.names[i] = call.function.symbol
                placed.append(Placed(i, (), call.function.symbol, "source"))
                continue
            reads = tuple([self.operand(k, not call.type.shape) for k in call.operands])
            how = self.assign(i, call, reads)
            freed = [
                k for k in ending.get(i, ()) if self.plan.calls[k].effect not in ("source", "none")
            ]
            dead = self.release(i, [k for k in freed if self.names[k] != self.names[i] or k == i])
            placed.append(Placed(i, reads, self.names[i], how, *dead))
        return placed

    def assign(self, i: int, call: Call, reads: Sequence[str]) -> Placement:
        """Name a call's value: by the array that it is written to, or by a new name."""
        pooled = len(self.pooled)
        place = self.place(i, call) if self.fillable(call) else None
        if place is not None:
            self.names[i] = place
            if len(self.pooled) > pooled:
                return "pool"
            return "in_place" if place in reads else "reused"
        self.names[i] = "" if call.effect == "none" else self.fresh()
        if call.effect == "none":
            return "none"
        shared: Placement = call.effect if call.effect in ("view", "may_alias") else "new"
        return shared if call.type.shape else "number"

    def operand(self, i: int, scalar: bool) -> str:
        name = self.names[i]
        return f"s{name[1:]}" if scalar and name[0] == "k" and not self.shape(i) else name

    def shape(self, i: int) -> tuple[int, ...]:
        return self.plan.calls[i].type.shape

    def fresh(self) -> str:
        if self.unused:
            return self.unused.pop()
        self.made += 1
        return f"a{self.made - 1}"

    def place(self, i: int, call: Call) -> str | None:
        """The name of a dead array of the type, an operand's if that is legal; None if there is none."""
        is_result = i in self.outlasting  # it takes no pooled array
        # (An array of one entry as operand and result: NumPy takes twice the time.)
        stores = call.form is CallForm.STORE
        if call.effect == "in_place_ok" and (call.type.size > 1 or stores):
            for k in self.targets(call) if stores else call.operands:
                mine_to_write = self.owns(k) or (stores and k in self.plan.donated)
                dead = self.last[k] == i and mine_to_write and self.plan.calls[k].type == call.type
                if dead and not (is_result and self.names[k][0] == "p"):
                    return self.names[k]
        spare = self.spare.get(call.type, [])
        for n in reversed(range(len(spare))):
            if not (is_result and spare[n][0] == "p"):
                return spare.pop(n)
        size = bytes_of(call.type)
        if is_result or size < _POOLED or size + sum(map(bytes_of, self.pooled)) > _HELD:
            return None
        self.pooled.append(call.type)
        return f"p{len(self.pooled) - 1}"

    def targets(self, call: Call) -> tuple[int, ...]:
        """The operand that a store may write into: not if another one may be a view of it."""
        first, *others = call.operands

        def viewed(k: int) -> tuple[int, ...]:
            source = self.plan.calls[k]
            return source.operands if source.effect in ("view", "may_alias") else ()

        seen: dict[int, bool] = {}
        folded(others, lambda k, _: True, seen, viewed, int)
        return () if first in seen else (first,)

    def release(
        self, now: int, values: Sequence[int]
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Release dead values: the names of reusable arrays, the other names, and those to delete."""
        reusable, dead, deleted = [], [], []
        for k in values:
            type, name = self.plan.calls[k].type, self.names[k]
            if self.owns(k) and self.wanted.get(type, -1) > now:
                self.spare.setdefault(type, []).append(name)
                reusable.append(name)
                continue
            dead.append(name)
            if name[0] == "p":
                continue
            self.unused.append(name)
            if bytes_of(type) >= _LARGE:
                deleted.append(name)
        return tuple(reusable), tuple(dead), tuple(deleted)

    def returned(self) -> list[Returned]:
        taken: set[int] = set()
        return [Returned(self.names[i], self.result(i, taken)) for i in self.plan.results]

    def result(self, i: int, taken: set[int]) -> ReturnForm:
        call = self.plan.calls[i]
        if not call.type.shape:
            if call.effect == "may_alias" and call.form is not CallForm.GETITEM:
                return "present"  # a part of a loop's value may be Python's number already
            return NUMBER_FORMS.get(call.type.dtype.char, "scalar")
        root = i
        while self.plan.calls[root].effect == "view":
            root = self.plan.calls[root].operands[0]
        if self.owns(root) and root not in taken:
            taken.add(root)
            return "array"
        return "copy"
