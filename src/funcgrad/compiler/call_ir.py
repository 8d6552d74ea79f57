"""The call IR: an array program as calls of runtime functions in SSA form, and its schedule.

Instruction selection makes a `Plan` of a flat program once. A `Call` names its function, the earlier calls
whose values it takes, its static parameters, the type of its value and its effect on memory; passes from plan
to plan compare these. Buffer assignment makes a `CallSchedule` of a plan. Only the code generator
(`numpy.numpy_codegen`) writes a call as source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, NamedTuple

import numpy as np

from funcgrad.graph import ArrayType, Params

Effect = Literal["source", "in_place_ok", "out_no_alias", "new", "view", "may_alias", "none"]
"""The memory of a call's value.

- ``source``: an input or a constant.
- ``in_place_ok``: an array that the caller may provide (``out=``), even an operand's.
- ``out_no_alias``: an array that the caller may provide, but no operand's.
- ``new``: an array that the function allocates.
- ``view``: the operand's array, each entry once (must-alias).
- ``may_alias``: perhaps an operand's array.
- ``none``: no value; the call writes into its operands.
"""


class CallForm(Enum):
    """How a function is called, and how the rows and entries of its value depend on its operands'."""

    INPUT = "input"
    CONSTANT = "constant"
    EMPTY = "empty"
    """``empty(shape, dtype)``: an array that a fused kernel fills."""
    ENTRYWISE = "entrywise"
    """``f(x, y, *params, out)``: an entry depends on the operands' entries at its place, broadcast."""
    REDUCE = "reduce"
    """``f.reduce(x, axis)``: a ufunc folded along axes."""
    MATMUL = "matmul"
    """``matmul(x, y, out)``, or ``dot(x, y)`` if it is small; with ``transposed`` among the parameters
    ``matmul(x.T, y, out)`` or ``dot(x.T, y)``."""
    RESHAPE = "reshape"
    TRANSPOSE = "transpose"
    GETITEM = "getitem"
    """Basic indexing, with the index as data."""
    STORE = "store"
    """``x[index] = v``, or ``+=``, on a copy of x, or on x itself if nothing reads it later."""
    JOIN = "join"
    """``f((x, y), axis)`` or ``f((x, y), dtype)``: arrays that are joined, or rows that are stacked."""
    ROUTINE = "routine"
    """``f(x, y)`` with the parameters as keywords; no more is known of it."""
    KERNEL = "kernel"
    """A fused kernel, run on blocks of rows; it writes into its last operands."""


class Callee(NamedTuple):
    """A runtime function: the name it has in generated code, its calling form, and the object itself."""

    symbol: str
    form: CallForm
    run: Any = None
    """A NumPy function or one of the package's; of a constant its array, of a kernel its `Kernel`."""
    name: str = ""
    """The operation's name, where the symbol is a letter and a number."""


class Call(NamedTuple):
    """A call of a function on the values of earlier calls, by their numbers."""

    function: Callee
    operands: tuple[int, ...]
    type: ArrayType
    effect: Effect
    params: Params = ()

    @property
    def form(self) -> CallForm:
        return self.function.form

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that a reduction folds, or the order of axes of a transposition."""
        axes: tuple[int, ...] = self.params[0][1]
        return axes

    @property
    def takes_out(self) -> bool:
        """Whether the function takes ``out=``."""
        return self.effect in ("in_place_ok", "out_no_alias") and self.form not in (
            CallForm.EMPTY,
            CallForm.STORE,
        )


class Plan(NamedTuple):
    """Calls, operands before their users, the inputs first; and the calls whose values are the results."""

    calls: tuple[Call, ...]
    inputs: int
    results: tuple[int, ...]
    foreign: bool
    """Whether an operation runs code that may look at the context that it is called in."""
    donated: frozenset[int] = frozenset()
    """The inputs whose arrays the caller gives up: a store may write into them."""


# -- calls -------------------------------------------------------------------------------------------
def constant_call(number: int, array: np.ndarray[Any, Any]) -> Call:
    """A constant, the call of this number."""
    function = Callee(f"k{number}", CallForm.CONSTANT, array)
    return Call(function, (), ArrayType(array.shape, array.dtype), "source")


def ufunc_call(ufunc: np.ufunc, operands: tuple[int, ...], type: ArrayType) -> Call:
    """A call of one of NumPy's elementwise functions."""
    return Call(Callee(ufunc.__name__, CallForm.ENTRYWISE, ufunc), operands, type, "in_place_ok")


def reduction(ufunc: np.ufunc, axis: tuple[int, ...], operand: int, type: ArrayType) -> Call:
    """A ufunc folded along axes."""
    function = Callee(ufunc.__name__, CallForm.REDUCE, ufunc)
    return Call(function, (operand,), type, "new", (("axis", axis),))


def reshape_call(shape: tuple[int, ...], operand: int, type: ArrayType) -> Call:
    """A view of the operand in another shape."""
    return Call(Callee("reshape", CallForm.RESHAPE), (operand,), type, "view", (("shape", shape),))


# -- analyses ----------------------------------------------------------------------------------------
def users_of(plan: Plan) -> list[list[int]]:
    """For each call, the live calls that take its value."""
    users: list[list[int]] = [[] for _ in plan.calls]
    results = set(plan.results)
    for i in reversed(range(len(plan.calls))):
        if users[i] or i in results or plan.calls[i].effect == "none":
            for k in plan.calls[i].operands:
                users[k].append(i)
    return users


def without_dead_calls(plan: Plan) -> Plan:
    """The plan after dead-code elimination: without, say, a transposition that a product absorbed."""
    users, results = users_of(plan), set(plan.results)
    where: dict[int, int] = {}
    made: list[Call] = []
    for i, call in enumerate(plan.calls):
        if i < plan.inputs or users[i] or i in results or call.effect == "none":
            where[i] = len(made)
            made.append(call._replace(operands=tuple([where[k] for k in call.operands])))
    return plan._replace(calls=tuple(made), results=tuple([where[i] for i in plan.results]))


def last_reads(plan: Plan) -> list[int]:
    """Liveness: for each value, the number of the last call that reads its memory, through views too.

    Results are live to the end: their number is the count of calls.
    """
    end = len(plan.calls)
    last = list(range(end))
    for i in plan.results:
        last[i] = end
    for i in reversed(range(end)):
        call = plan.calls[i]
        for k in call.operands:
            last[k] = max(last[k], last[i] if call.effect in ("view", "may_alias") else i)
    return last


# -- schedules ---------------------------------------------------------------------------------------
Placement = Literal[
    "new", "in_place", "reused", "pool", "view", "may_alias", "number", "source", "none"
]
"""The memory that buffer assignment gives to a call's value.

- ``new``: a new array.
- ``in_place``: the array of an operand that is dead after the call.
- ``reused``: the array of another dead value.
- ``pool``: an array that is kept from run to run.
- ``view``: the operand's array (must-alias).
- ``may_alias``: perhaps the operand's array.
- ``number``: none; the value is a scalar.
- ``source``: that of an input or a constant.
- ``none``: the call has no value.
"""


class Placed(NamedTuple):
    """A call with its buffers: the names that it reads and writes, and those that are dead after it."""

    call: int
    reads: tuple[str, ...]
    writes: str
    how: Placement
    reusable: tuple[str, ...] = ()
    """Dead arrays that a later call writes to."""
    dead: tuple[str, ...] = ()
    """Other dead values, whose names are free."""
    deleted: tuple[str, ...] = ()
    """The large arrays among these, whose memory is given back at once."""


ReturnForm = Literal["array", "copy", "float", "int", "bool", "complex", "scalar", "present"]
"""How a result is returned: its array, a copy, a number of Python's by its type (in a tenth of the time of
``item()``), NumPy's scalar, or by `present`."""
NUMBER_FORMS: Mapping[str, ReturnForm] = {"d": "float", "l": "int", "?": "bool", "D": "complex"}
"""The types of Python's numbers that have all values of a dtype, by its character."""


class Returned(NamedTuple):
    """A result: the name of its value, and how it is returned."""

    name: str
    how: ReturnForm


class CallSchedule(NamedTuple):
    """A plan's calls in order, each with its buffers; arrays that a run leaves to the next; the results."""

    placed: tuple[Placed, ...]
    pooled: tuple[ArrayType, ...]
    returned: tuple[Returned, ...]


# -- memory ------------------------------------------------------------------------------------------
_LINE = 64


def bytes_of(type: ArrayType) -> int:
    """How much memory a value takes."""
    return type.size * type.dtype.itemsize


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new array that starts with a line of the cache, as NumPy's own do not.

    Vector instructions take half the time on such: a product of 10**4 entries in L2 0.16 ns, not 0.37.

    >>> aligned((2, 3), np.dtype(float)).ctypes.data % 64
    0
    """
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    array: np.ndarray[Any, Any] = memory[start : start + size].view(dtype).reshape(shape)
    return array
