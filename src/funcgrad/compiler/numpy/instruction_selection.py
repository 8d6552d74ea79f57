"""Instruction selection: the calls of NumPy that compute a flat program, with broadcasts left to NumPy.

`select_instructions` selects one call for each operation, or a few (`multi_call_ops`). A call's effect says
whether its value is a new array, and whether the function takes ``out=``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import (
    Call,
    Callee,
    CallForm,
    Effect,
    Plan,
    reduction,
    reshape_call,
    ufunc_call,
    without_dead_calls,
)
from funcgrad.compiler.flat_program import Flat, FlatStep, elide_broadcasts
from funcgrad.compiler.numpy.branchless_select import BITS, affine, chosen, masked
from funcgrad.compiler.numpy.multi_call_ops import STAGES, join_call, put, put_constant
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.index_spec import Spec, is_reshape, restore
from funcgrad.ops.indexing import getitem_op
from funcgrad.typing import Array


def select_instructions(flat: Flat) -> Plan:
    """The calls that compute a flat program."""
    operands = [elide_broadcasts(flat, step) for step in flat.steps]
    needed = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            needed.update(operands[i])
    foreign = any(
        is_foreign(step.op.run) for step in flat.steps if step.op not in (INPUT, CONSTANT)
    )
    made: list[Call] = []
    where: dict[int, int] = {}
    goals = {step.operands[0] for step in flat.steps if _is_store(step)} - set(range(flat.inputs))
    for i, step in enumerate(flat.steps):
        if i < flat.inputs or i in needed:
            given = tuple([where[k] for k in operands[i]])
            if (
                step.op is getitem_op
                and step.type.shape
                and operands[i][0] in goals
                and _may_be_view(made, given)
            ):
                where[i] = put(made, _copied_entries(len(made), step, given))
            else:
                where[i] = _select(made, step, given)
    results = tuple([where[i] for i in flat.results])
    return without_dead_calls(Plan(tuple(made), flat.inputs, results, foreign))


def _may_be_view(made: list[Call], operands: tuple[int, ...]) -> bool:
    """Whether a read by an index may be a view: NumPy copies only if an index array has axes."""
    return not any([made[k].type.shape for k in operands[1:]])


def _is_store(step: FlatStep) -> bool:
    return step.op not in (INPUT, CONSTANT) and step.op.in_place is not None


def _copied_entries(number: int, step: FlatStep, operands: tuple[int, ...]) -> Call:
    """A read that copies, since a view of an array would keep a store into it from running in place."""
    function = Callee(f"f{number}", CallForm.ROUTINE, copied_entries, "getitem")
    return Call(function, operands, step.type, "new", step.params)


def copied_entries(x: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]) -> Any:
    """``x[index]`` as an array of its own."""
    return x[restore(spec, arrays)].copy()


def is_foreign(run: Callable[..., Any]) -> bool:
    """Whether a function is user code, which may read NumPy's error state."""
    home = str(getattr(run, "__module__", "")).partition(".")[0]
    return not isinstance(run, np.ufunc) and home not in ("funcgrad", "numpy")


def _select(made: list[Call], step: FlatStep, operands: tuple[int, ...]) -> int:
    """Append the calls of a step, and return the number of the one with its value."""
    name, op = step.op.name, step.op
    if op is INPUT:
        return put(made, Call(Callee(f"x{len(made)}", CallForm.INPUT), (), step.type, "source"))
    if op is CONSTANT:
        return put_constant(made, step.constant)
    if op.columns.numpy == _OPERAND:
        return operands[0]
    if name in STAGES and _is_plain(made[operands[0]].type):
        return STAGES[name](made, step, operands[0])
    if op.columns.takes_out:
        return put(made, _entrywise(name, op.run, operands, step.type, "out_no_alias"))
    if _is_store(step):
        repeats = any([made[k].type.shape for k in operands[2:]])
        if not dict(step.params).get("unique", True):
            operands = (*operands[:2], *[_in_order(made, k) for k in operands[2:]])
        symbol = name.replace("index", "store")
        function = Callee(symbol, CallForm.STORE, name="add.at" if repeats else "")
        return put(made, Call(function, operands, step.type, "in_place_ok", step.params))
    if name in ("where", "mask"):
        return _select_selection(made, step, operands)
    return put(made, join_call(made, step, operands) or _call(made, step, operands))


def _in_order(made: list[Call], place: int) -> int:
    """An index array that lies in memory in the order of its entries, which is that of NumPy's stores."""
    type, call = made[place].type, made[place]
    constant = call.function.run if call.form is CallForm.CONSTANT else None
    if len(type.shape) < 2 or (isinstance(constant, np.ndarray) and constant.flags.c_contiguous):
        return place
    function = Callee(f"f{len(made)}", CallForm.ROUTINE, np.ascontiguousarray, "contiguous")
    return put(made, Call(function, (place,), type, "may_alias"))


def _entrywise(
    symbol: str, run: object, operands: tuple[int, ...], type: ArrayType, effect: Effect
) -> Call:
    return Call(Callee(symbol, CallForm.ENTRYWISE, run), operands, type, effect)


def _is_plain(type: ArrayType) -> bool:
    return type.dtype.kind == "f" and type.size > 0


# Smaller selections are left to `numpy.where`.
_BRANCHLESS = 2048


def _select_selection(made: list[Call], step: FlatStep, operands: tuple[int, ...]) -> int:
    type, (shape, dtype) = step.type, step.type
    is_large = type.size >= _BRANCHLESS and dtype in BITS
    wide = [made[k].type.shape == shape for k in operands]
    if is_large and len(operands) == 2 and any(wide):
        return put(made, _entrywise("masked", masked, operands, type, "out_no_alias"))
    if len(operands) == 2:
        operands = (*operands, put_constant(made, np.zeros((), dtype)))
    if not (is_large and wide[0]):
        return put(made, _entrywise("where", np.where, operands, type, "new"))
    numbers = [made[k].function.run for k in operands[1:] if made[k].form is CallForm.CONSTANT]
    if [x.ndim for x in numbers] == [0, 0] and (found := affine(*[x[()] for x in numbers])):
        a, b = [put_constant(made, np.array(x, dtype)) for x in found]
        scaled = put(made, ufunc_call(np.multiply, (operands[0], a), type))
        return put(made, ufunc_call(np.add, (scaled, b), type))
    return put(made, _entrywise("chosen", chosen, operands, type, "out_no_alias"))


_OPERAND = "{0}"
"""The NumPy source of an operation whose value is its operand, such as `stop_gradient`."""


def _call(made: list[Call], step: FlatStep, operands: tuple[int, ...]) -> Call:
    """The one call of an operation."""
    name, op, params, type = step.op.name, step.op, dict(step.params), step.type
    if isinstance(op.run, np.ufunc):
        return _ufunc(made, op.run, operands, type)
    if name == "reshape":
        return reshape_call(params["shape"], operands[0], type)
    if name in ("getitem", "scatter_add") and is_reshape(
        params["spec"], made[operands[0]].type, type
    ):
        return reshape_call(type.shape, operands[0], type)
    if name == "transpose":
        return Call(Callee(name, CallForm.TRANSPOSE), operands, type, "view", step.params)
    if name == "broadcast_to":
        spread = _entrywise("spread", broadcast_copy, operands, type, "out_no_alias")
        return spread._replace(params=(*step.params, ("dtype", type.dtype)))
    ufunc = op.columns.reduces
    if isinstance(ufunc, np.ufunc) and params["axis"]:
        return reduction(ufunc, params["axis"], operands[0], type)
    if name == "getitem" and "array" not in params["spec"]:
        return Call(Callee(name, CallForm.GETITEM), operands, type, "may_alias", step.params)
    fresh = op.columns.fresh or (name == "einsum" and len(operands) > 1)
    if name == "getitem":
        fresh = not type.shape or not _may_be_view(made, operands)
    function = Callee(f"f{len(made)}", CallForm.ROUTINE, op.run, name)
    return Call(function, operands, type, "new" if fresh else "may_alias", step.params)


def broadcast_copy(
    x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], out: Array | None = None
) -> np.ndarray[Any, Any]:
    """A broadcast copy, for which `numpy.broadcast_to` gives a view: a sixth of its time, if small.

    >>> broadcast_copy(1.5, (2,), np.dtype(float))
    array([1.5, 1.5])
    """
    if out is not None:
        out[...] = x
        return out
    if math.prod(shape) >= _CLEARED and not np.ndim(x) and not any(np.asarray(x).tobytes()):
        return np.zeros(shape, dtype)
    filled: np.ndarray[Any, Any] = np.empty(shape, dtype)
    filled[...] = x
    return filled


# The entries from which zeros are left to the system, which clears a page when it is first written.
_CLEARED = 1 << 14


def _ufunc(made: list[Call], ufunc: np.ufunc, operands: tuple[int, ...], type: ArrayType) -> Call:
    if ufunc is np.matmul:
        first, small = made[operands[0]], _is_small_product([made[k].type for k in operands], type)
        symbol, run = ("dot", np.ndarray.dot) if small else (ufunc.__name__, ufunc)
        function = Callee(symbol, CallForm.MATMUL, run)
        effect: Effect = "new" if small else "out_no_alias"
        if first.form is CallForm.TRANSPOSE and first.axes == (1, 0):
            swapped = (*first.operands, operands[1])
            return Call(function, swapped, type, effect, (("transposed", True),))
        return Call(function, operands, type, effect)
    own = ufunc.__name__
    known = getattr(np, own, None) is ufunc
    form: CallForm = CallForm.ROUTINE if ufunc.signature else CallForm.ENTRYWISE
    function = Callee(own if known else f"f{len(made)}", form, ufunc, "" if known else own)
    return Call(function, operands, type, "out_no_alias" if ufunc.signature else "in_place_ok")


def _is_small_product(operands: Sequence[ArrayType], result: ArrayType) -> bool:
    """Whether `numpy.ndarray.dot` computes a product, in 0.5 us less than `numpy.matmul`.

    Both make the same call of BLAS, so that the bits are the same where more than one term is added up. But
    dot copies what has gaps in memory, and takes no ``out`` in another order than C's.
    """
    return (
        all([len(type.shape) < 3 and type.size <= _SMALL for type in (*operands, result)])
        and operands[0].shape[-1] > 1
        and result.dtype.char in "fdFD"
        and result.dtype.isnative
    )


_SMALL = 1 << 12
