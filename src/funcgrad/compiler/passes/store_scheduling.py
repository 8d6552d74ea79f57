"""Scheduling of reads before stores, so that a store runs in place: nothing reads the array after it.

A store is anti-dependent on the other reads of its operand. They are moved before it, where their operands
are known by then; values do not change. A store whose operand is read later copies the whole array.
Gain (docs/passes.md): without it a scan that stores into an array of 10^5 entries and returns what it
overwrites takes 5 times as long.
"""

from __future__ import annotations

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.ir_rewriter import Rewrite
from funcgrad.rewrite.in_place import reads_first


def read_before_stores(flat: Flat) -> Flat:
    """The program in an order in which stores can run in place.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x", 3)
    >>> y = fg.exp(x)
    >>> flat = flatten_program([y.at[0].add(1.0), y * 2], [x])
    >>> [step.op.name for step in flat.steps][-3:]
    ['constant', 'broadcast_to', 'multiply']
    >>> [step.op.name for step in read_before_stores(flat).steps][-3:]
    ['broadcast_to', 'multiply', 'index_add']
    """
    ops = [step.op for step in flat.steps]
    order = reads_first(ops, [step.operands for step in flat.steps])
    if order is None:
        return flat
    rewrite = Rewrite(flat)
    for i in order:
        rewrite.new_index[i] = rewrite.emit(rewrite.remapped(flat.steps[i]))
    return rewrite.result()
