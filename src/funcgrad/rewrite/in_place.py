"""In-place stores: the order of steps, and the steps that may write into their first operand.

A store runs in place if its operand is an array of the program's own that nothing reads later. So the other
reads of the operand are scheduled before the store where they can be (the store is *anti-dependent* on
them), and n stores into an array of n entries take time n, not n**2. The functions take steps as lists: the
operation of each, and the numbers of its operands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT


def stores(ops: Sequence[Any]) -> list[int]:
    """The steps that can run in place."""
    return [i for i, op in enumerate(ops) if op not in (INPUT, CONSTANT) and op.in_place]


# Steps beyond which a read, with what its index is made of, is not moved.
_LONGEST = 64


def reads_first(ops: Sequence[Any], operands: Sequence[tuple[int, ...]]) -> list[int] | None:
    """An order in which an array is read before it is stored into, if that can be; None: as they are."""
    found = stores(ops)
    if not found:
        return None
    is_store = [False] * len(ops)
    for i in found:
        is_store[i] = True
    targets = {operands[i][0] for i in found}
    users: dict[int, list[int]] = {}
    for i, args in enumerate(operands):
        for k in targets.intersection(args):
            users.setdefault(k, []).append(i)
    order: list[int] = []
    done = [False] * len(ops)

    def waiting(reader: int) -> list[int] | None:
        """A read and the steps that it waits for, in order; None if there is a store among them."""
        found: dict[int, bool] = {}

        def before(i: int) -> list[int]:
            ends = is_store[i] or len(found) > _LONGEST
            return [] if ends else [k for k in operands[i] if not done[k]]

        folded([reader], lambda i, stored: is_store[i] or any(stored), found, before, int)
        return None if found[reader] or len(found) > _LONGEST else sorted(found)

    for i in range(len(ops)):
        if not done[i] and is_store[i]:
            for reader in users.pop(operands[i][0], ()):
                before = None if done[reader] or reader == i else waiting(reader)
                for k in before or ():
                    done[k] = True
                    order.append(k)
        if not done[i]:
            done[i] = True
            order.append(i)
    return order


class InPlace(NamedTuple):
    """Steps that write into their first operand, and reads that have to copy, since it is a view else."""

    stores: frozenset[int]
    reads: frozenset[int]


def in_place(
    ops: Sequence[Any], operands: Sequence[tuple[int, ...]], kept: Collection[int]
) -> InPlace:
    """Which steps may run in place, if values in ``kept`` must stay."""
    last: dict[int, int] = {}
    viewed = set(kept)
    found = stores(ops)
    if not found:
        return InPlace(frozenset(), frozenset())
    targets = {operands[i][0] for i in found}
    for i, args in enumerate(operands):
        for k in targets.intersection(args):
            last[k] = i
            if not (is_fresh(ops[i]) or ops[i].name == "getitem"):
                viewed.add(k)
    written = [
        i
        for i in found
        for k in operands[i][:1]
        if last[k] == i and k not in viewed and is_fresh(ops[k]) and operands[i].count(k) == 1
    ]
    goals = {operands[i][0] for i in written}
    reads = [
        i
        for i, args in enumerate(operands)
        if args and args[0] in goals and ops[i].name == "getitem"
    ]
    return InPlace(frozenset(written), frozenset(reads))


def is_fresh(op: Any) -> bool:
    """Whether NumPy's value of an operation is a new array, which shares no memory with an operand."""
    if op in (INPUT, CONSTANT):
        return False
    return bool(op.columns.fresh) or (isinstance(op.run, np.ufunc) and not op.run.signature)
