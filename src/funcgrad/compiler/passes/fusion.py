"""Loop fusion and tiling: groups of calls on large arrays become kernels that run on blocks of rows.

A group is a run of a plan's calls that act on each row of their operands alone, or total over all rows
(`fusion_legality`). `fuse` puts one call in its place, of a kernel that does a few rows at a time in scratch
memory, so that intermediate values stay in the cache. Values that calls outside the group read are written to
whole arrays. A reduction over rows has a partial result for each block; these are combined at the end, so
that a sum is as accurate as NumPy's pairwise summation. The blocks do not depend on how many threads take
them.
Gain (docs/passes.md): without it the logistic gradient of 10^6 x 10 takes 2.0 times as long, the elementwise
chain of 10^6 1.32, that of 10^4 x 100 1.27.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.compiler.call_ir import Call, Callee, CallForm, Plan, reduction, users_of
from funcgrad.compiler.numpy.block_loop import Blocks
from funcgrad.compiler.numpy.fused_kernel import Kernel, KernelBody, Member, kernel_body
from funcgrad.compiler.passes.fusion_legality import member
from funcgrad.graph import ArrayType

# What a block's operands, scratch and results take together, in bytes: a part of a core's cache.
_CACHE = 3 << 18
# A group has at least so many blocks, and no call of fewer entries makes a group worth while.
_BLOCKS, _ENTRIES = 3, 1 << 13
# Entries times calls from which on a group is worth waking other threads: about a millisecond's work.
_THREADED = 1 << 21
# The operand of a total has at least so many times its entries.
_TALL = 64
# What is computed twice and not stored, where its operands have so many times fewer entries.
_CHEAP, _FEW = (np.add, np.subtract, np.multiply), 8
_VIEWS = ("view", "may_alias")
_EMPTY = Callee("empty", CallForm.EMPTY, np.empty)


def fuse(plan: Plan) -> Plan:
    """The plan with runs of calls on large arrays fused into kernels."""
    lengths = {call.type.shape[0] for call in plan.calls if _large(call.type)}
    return _Grouping(plan, lengths).run() if lengths else plan


def _large(type: ArrayType) -> bool:
    return bool(type.shape) and type.size >= _ENTRIES and type.shape[0] >= _BLOCKS


# -- groups -------------------------------------------------------------------------------------------
class _Grouping:
    """Builds the fused plan: visits the calls in order, and keeps one group open."""

    def __init__(self, plan: Plan, lengths: set[int]) -> None:
        self.plan, self.lengths = plan, lengths
        self.users = users_of(plan)
        self.made: list[Call] = []
        self.where: dict[int, int] = {}
        self.kernels = 0
        self.recomputed: set[int] = set()  # cheap values that are recomputed by their users
        self.begin()

    def begin(self) -> None:
        self.members: dict[int, Member] = {}
        self.length = 0
        self.deferred: dict[int, Call] = {}  # calls that run after the group

    def run(self) -> Plan:
        for i, call in enumerate(self.plan.calls):
            if call.effect == "source":
                self.emit(i, call)
            else:
                self.visit(i, call)
        self.close()
        results = tuple([self.where[i] for i in self.plan.results])
        return self.plan._replace(calls=tuple(self.made), results=results)

    def emit(self, i: int, call: Call) -> None:
        self.where[i] = len(self.made)
        self.made.append(call._replace(operands=tuple([self.where[k] for k in call.operands])))

    def visit(self, i: int, call: Call) -> None:
        found = member(self.plan.calls, i, self.lengths, _TALL)
        if call.effect == "view" and not any([self.depends_on_group(k) for k in call.operands]):
            self.emit(i, call)  # once for all blocks
            return
        if found is not None:
            if not self.fits(found):
                self.close()
            self.length = self.length or self.rows_of(found)
            self.rematerialize(call)
            self.members[i] = found
            return
        self.rematerialize(call)
        waits = any(k in self.members or k in self.deferred for k in call.operands)
        if self.members and call.effect not in _VIEWS and call.type.size >= _ENTRIES:
            self.close()  # so that no more large arrays are alive than before
            waits = False
        if waits:
            self.deferred[i] = call
        else:
            self.emit(i, call)

    def depends_on_group(self, k: int) -> bool:
        """Whether a value is computed in the open group, after it, or is not stored."""
        return k in self.members or k in self.deferred or k in self.recomputed

    def rematerialize(self, call: Call) -> None:
        """Recompute the operands of a call that were too cheap to store."""
        for k in call.operands:
            if k not in self.recomputed:
                continue
            self.recomputed.remove(k)
            found = member(self.plan.calls, k, self.lengths, _TALL)
            if found is not None and self.length == self.rows_of(found):
                self.members[k] = found
            else:
                self.emit(k, self.plan.calls[k])

    def rows_of(self, found: Member) -> int:
        return self.plan.calls[found.call.operands[found.rows.index(True)]].type.shape[0]

    def fits(self, found: Member) -> bool:
        """Whether a call's operands are available in the open group, by blocks of rows or from before."""
        if not self.members:
            return not any(k in self.deferred for k in found.call.operands)
        if self.rows_of(found) != self.length:
            return False
        for k, by_rows in zip(found.call.operands, found.rows, strict=True):
            inside = self.members.get(k)
            if k in self.deferred or (inside is not None and (inside.total or not by_rows)):
                return False
        return True

    def close(self) -> None:
        """Emit the group, as a kernel if that pays, and then the deferred calls."""
        members, deferred, length = self.members, self.deferred, self.length
        self.begin()
        before, inside, after = self.partition(members)
        for i in before:
            self.emit(i, self.plan.calls[i])
        if not self.emit_group([members[i] for i in inside], length):
            after = [*inside, *after]
        deferred.update((i, self.plan.calls[i]) for i in after)
        for i in sorted(deferred):
            self.rematerialize(deferred[i])
            self.emit(i, deferred[i])

    def partition(self, members: dict[int, Member]) -> tuple[list[int], list[int], list[int]]:
        """The members that run before a group, in it, and after it.

        A call on small arrays does not pay block by block, except between calls on large ones.
        (A mixture's gradient takes 0.9 of the time.)
        """
        calls = self.plan.calls
        large = {
            i
            for i, m in members.items()
            if max([calls[k].type.size for k in (i, *m.call.operands)]) >= _ENTRIES
        }
        late = set(large)
        early = {i for i in large if calls[i].effect != "view"}
        for i, m in members.items():
            if any([k in late for k in m.call.operands]):
                late.add(i)
        for i in reversed(members):
            if any([k in early for k in self.users[i]]):
                early.add(i)
        inside = late & early
        before = [i for i in members if i not in late]
        return (
            before,
            [i for i in members if i in inside],
            [i for i in members if i in late - early],
        )

    def emit_group(self, members: Sequence[Member], length: int) -> bool:
        """Emit the calls that run a group as a kernel; False, and nothing, if that does not pay."""
        inside = {m.number for m in members}
        cheap = {m.number for m in members if self.is_cheap(m, inside)}
        members = [
            m
            for m in members
            if any([k in inside for k in self.users[m.number]])
            or (m.number not in cheap and self.outlives(m.number, inside))
        ]
        working = [m for m in members if m.call.effect not in _VIEWS]
        if len(working) < 2:
            return False
        leaving = [
            m.number for m in members if m.number not in cheap and self.outlives(m.number, inside)
        ]
        body = kernel_body(self.plan, members, leaving)
        rows = max(1, _CACHE // max(1, body.row_bytes))
        rows = rows // 64 * 64 or rows // 8 * 8 or rows
        if rows * _BLOCKS > length:
            return False
        count = -(-length // rows)
        totals = [m for m in members if m.total]
        if sum(m.call.type.size for m in totals) * count * _TALL > length * body.row_bytes:
            return False
        self.recomputed |= cheap
        work = sum([self.plan.calls[m.call.operands[0]].type.size for m in working])
        threaded = work >= _THREADED and count > 1
        blocks = Blocks(length, rows, body.scratch, body.repeated, body.transposed, [], threaded)
        self.write(body, blocks, {m.number: m for m in members}, count)
        return True

    def is_cheap(self, found: Member, inside: set[int]) -> bool:
        """Whether recomputing a large array from small ones takes less time than storing and reading it.

        (A difference in L2 takes 60 us where writing it out takes 220; a mixture's gradient 0.9 of the time.)
        """
        call, types = found.call, [self.plan.calls[k].type for k in found.call.operands]
        if call.form is not CallForm.ENTRYWISE or call.function.run not in _CHEAP:
            return False
        if found.number in self.plan.results or call.type.size < _ENTRIES:
            return False
        few = all([type.size * _FEW <= call.type.size for type in types])
        return few and not any([k in inside for k in call.operands])

    def outlives(self, i: int, inside: set[int]) -> bool:
        return i in self.plan.results or any(k not in inside for k in self.users[i])

    def write(
        self, body: KernelBody, blocks: Blocks, members: dict[int, Member], count: int
    ) -> None:
        given = [self.where[k] for k in body.operands]
        totals: list[tuple[int, Call]] = []
        for i in body.leaving:
            call = self.plan.calls[i]
            shape = (count, *call.type.shape) if members[i].total else call.type.shape
            type = ArrayType(shape, call.type.dtype)
            given.append(len(self.made))
            if members[i].total:
                ufunc = call.function.run if call.form is CallForm.REDUCE else np.add
                totals.append((i, reduction(ufunc, (0,), given[-1], call.type)))
            else:
                self.where[i] = given[-1]
            params = (("shape", shape), ("dtype", type.dtype))
            self.made.append(Call(_EMPTY, (), type, "in_place_ok", params))
        kernel = Kernel(f"block{self.kernels}", body.parameters, body.statements, blocks)
        function = Callee(kernel.symbol, CallForm.KERNEL, kernel)
        self.made.append(Call(function, tuple(given), ArrayType((), np.dtype(bool)), "none"))
        self.kernels += 1
        for i, call in totals:
            self.where[i] = len(self.made)
            self.made.append(call)
