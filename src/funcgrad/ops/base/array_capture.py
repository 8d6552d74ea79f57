"""The arrays that a function meets while it is traced: small ones are copied, large ones taken by reference.

A buffer that is filled anew and used again must count with what it held each time. So an array of at most
`COPIED` bytes is copied when an expression meets it, which costs less than the node that is made of it. A
larger one is taken by reference: the program that is made of the trace reads it when it runs, at the end of
the call. A write to it in between counts in every place where it was used; write to a copy instead.

The copies of one trace are kept with its leaves (`funcgrad.expr.TraceContext.arrays`), so that an array
that did not change between two uses is one constant.
"""

from __future__ import annotations

from typing import TypeAlias

from funcgrad.arrays.reference import COPIED
from funcgrad.expr import Expr, constant_of
from funcgrad.graph import Constant
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.source import type_error
from funcgrad.typing import Array

CapturedArrays: TypeAlias = dict[int, tuple[Array, Expr]]
"""The arrays that one trace has copied, by id, each with the constant that holds its copy."""


def capture(array: Array, known: CapturedArrays) -> Expr:
    """A constant for an array beside traced expressions; ``known`` are those of their trace."""
    if array.dtype.kind not in "biufc":
        refuse_others("array", array)
        raise type_error(
            f"array: expected numbers beside traced values, but got an array of {array.dtype}; "
            "write np.array(values, float), or keep what is no number in a list",
        )
    if array.nbytes > COPIED or (array.flags.owndata and not array.flags.writeable):
        return refer(array)
    met = known.get(id(array))
    if met is not None and is_unchanged(*met):
        return met[1]
    copy = array.copy("K")
    copy.flags.writeable = False
    constant = refer(copy)
    known[id(array)] = (array, constant)  # the array, too, so that its id stays its own
    return constant


def refer(array: Array) -> Expr:
    """A constant that is the array itself, addressed by identity."""
    return constant_of(Constant(array, captured=True))


def is_unchanged(array: Array, constant: Expr) -> bool:
    """Whether an array still is what a constant holds as its copy, to the bit."""
    copy = constant.params[0][1].array
    return bool(
        copy.shape == array.shape
        and copy.dtype == array.dtype
        and copy.tobytes() == array.tobytes()
    )
