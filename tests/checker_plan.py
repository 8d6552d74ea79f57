"""What calls say of themselves, checked by running them, and what compiled functions must not do."""

import numpy as np

from funcgrad.compiler.call_ir import CallForm
from funcgrad.compiler.numpy.numpy_codegen import (
    bindings,
    expression,
    kernel_source,
    kernels_of,
    store_statement,
)
from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.compiler.verify.verify_calls import shown_call
from funcgrad.graph import ArrayType, TupleType
from tests.checker import check_values


def check_calls(plan, values, stage="calls"):
    """Run one by one, calls give what their types and effects say. Returns the results' values."""
    home = bindings(plan)
    for kernel in kernels_of(plan):
        exec(kernel_source(kernel), home)
    known = [np.asarray(v, c.type.dtype) for v, c in zip(values, plan.calls, strict=False)]
    with np.errstate(all="ignore"):
        for i, call in enumerate(plan.calls[plan.inputs :], plan.inputs):
            where = shown_call(i, call)
            operands = [known[k] for k in call.operands]
            value = _run(call, operands, home)
            known.append(value)
            if call.effect in ("none", "source"):
                continue
            if not isinstance(call.type, TupleType):
                found = ArrayType(np.shape(value), np.asarray(value).dtype)
                # An axis that is as long as a loop happens to run is -1 in the type.
                pairs = zip(call.type.shape, found.shape, strict=False)
                fits = len(call.type.shape) == len(found.shape) and found.dtype == call.type.dtype
                fits = fits and all(n in (-1, m) for n, m in pairs)
                must(stage, where, fits, f"a value of type {call.type}", found)
            if isinstance(value, np.ndarray) and value.ndim and value.size:
                constants = [known[k] for k in range(i) if plan.calls[k].effect == "source"]
                check_effect(call, value, operands, constants, home, where, stage)
    return [known[i] for i in plan.results]


def _run(call, operands, home, out=None):
    names = [f"_{k}" for k in range(len(operands))]
    if call.effect == "source":
        return home[call.function.symbol]
    if call.form is CallForm.STORE:
        return _stored(call, operands, home)
    text = expression(call, names, "" if out is None else ", out=_out")
    return eval(text, home, {**dict(zip(names, operands, strict=True)), "_out": out})


def _stored(call, operands, home):
    names = [f"_{k}" for k in range(len(operands))]
    values = dict(zip(names, [operands[0].copy(), *operands[1:]], strict=True))
    exec(store_statement(call, names), home, values)
    return values["_0"]


def check_effect(call, value, operands, constants, home, where, stage):
    """What a call returns is what its effect says, and it may write where its effect lets it."""
    shared = [x for x in (*operands, *constants) if _is_array(x) and np.shares_memory(value, x)]
    if call.effect in ("in_place_ok", "out_no_alias", "new"):
        must(stage, where, not shared, "a new array", "memory of an operand or a constant")
        must(stage, where, value.flags.writeable, "an array to write to", "a frozen one")
    if call.effect == "view":
        must_be(stage, where, "as many entries as", np.size(operands[0]), value.size)
        repeated = any(s == 0 and n > 1 for s, n in zip(value.strides, value.shape, strict=True))
        must(stage, where, not repeated, "each entry once", f"strides {value.strides}")
    if call.takes_out:
        places = [np.full_like(value, 7)]
        given = [operands]
        for k, x in enumerate(operands if call.effect == "in_place_ok" else ()):
            if _is_array(x) and (x.shape, x.dtype) == (value.shape, value.dtype):
                places.append(x.copy())
                again = [places[-1] if y is x else y for y in operands]
                given.append([*again[:k], places[-1], *again[k + 1 :]])
        for place, mine in zip(places, given, strict=True):
            _run(call, mine, home, place)
            must(stage, where, _alike(place, value), f"{value} where it is told to write", place)


def _alike(x, y):
    """Whether arrays are equal but for two last places: NumPy may take another loop for other memory.

    (float32 arctan2 of one entry is one last place apart where its result overlaps an operand.)
    """
    if y.dtype.kind == "c":
        return _alike(x.real, y.real) and _alike(x.imag, y.imag)
    if y.dtype.kind != "f":
        return np.array_equal(x, y)
    with np.errstate(all="ignore"):
        near = np.abs(x - y) <= 2 * np.spacing(np.abs(y))
    return bool(np.all(near | (x == y) | (np.isnan(x) & np.isnan(y))))


def _is_array(x):
    return isinstance(x, np.ndarray) and x.ndim > 0


def check_results(run, values, expected, bounds, stage="compiled"):
    """A compiled function gives the values, twice; they are nobody's memory, and its inputs stay."""
    before = [np.array(value) for value in values]
    for _ in range(2):
        got = run(*values)
        check_values(expected, got, bounds, stage)
        arrays = [a for a in got if _is_array(a) and a.size]
        for i, array in enumerate(arrays):
            where = f"array {i} of the results"
            alike = [
                x for x in (*values, *arrays[:i]) if _is_array(x) and np.shares_memory(x, array)
            ]
            must(stage, where, not alike, "memory of its own", "that of an input or another result")
            must(stage, where, array.flags.writeable, "an array to write to", "a frozen one")
            array[...] = 7  # what a caller does with a result is not seen by the next call
        for k, (value, copy) in enumerate(zip(values, before, strict=True)):
            same = np.array_equal(value, copy, equal_nan=copy.dtype.kind in "fc")
            must(stage, f"input {k}", same, f"{copy} as before", value)
