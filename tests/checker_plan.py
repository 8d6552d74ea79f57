"""What a plan's calls say of themselves, checked: by their order and texts, and by running them alone."""

import inspect

import numpy as np

from funcgrad.compiler.call_ir import Form
from funcgrad.compiler.numpy.numpy_codegen import (
    bindings,
    expression,
    kernel_source,
    kernels_of,
)
from funcgrad.graph import ArrayType, TupleType
from tests.checker import check_values, must, must_be

EFFECTS = {
    Form.INPUT: ("source",),
    Form.CONSTANT: ("source",),
    Form.EMPTY: ("fill",),
    Form.ENTRYWISE: ("fill", "product", "new", "unknown"),
    Form.REDUCE: ("new",),
    Form.MATMUL: ("product",),
    Form.RESHAPE: ("view",),
    Form.TRANSPOSE: ("view",),
    Form.GETITEM: ("unknown",),
    Form.ROUTINE: ("product", "new", "unknown"),
    Form.KERNEL: ("none",),
}
"""What a call of each form may do to memory."""
COUNTS = {Form.INPUT: 0, Form.CONSTANT: 0, Form.EMPTY: 0, Form.MATMUL: 2}
COUNTS |= dict.fromkeys((Form.REDUCE, Form.RESHAPE, Form.TRANSPOSE, Form.GETITEM), 1)


def shown(i, call):
    """A call as messages name it."""
    if call.effect == "source":
        return f"call {i} ({call.function.symbol})"
    return f"call {i} ({expression(call, [f't{k}' for k in call.operands])})"


def count_of(call):
    """How many operands a function takes, or None where that is not known."""
    entrywise = call.form is Form.ENTRYWISE and isinstance(call.function.run, np.ufunc)
    return call.function.run.nin if entrywise else COUNTS.get(call.form)


def can_write(call):
    """Whether a function can be told where to write."""
    run = call.function.run
    return isinstance(run, np.ufunc) or (
        call.form is Form.ENTRYWISE and "out" in inspect.signature(run).parameters
    )


def check_plan(plan, stage="plan"):
    """Calls use calls before them; forms, operands and effects fit together; kernels' outputs come empty."""
    count, filled = len(plan.calls), set()
    for i, call in enumerate(plan.calls):
        where = f"call {i} ({call.function.symbol})"
        wanted = count_of(call)
        if wanted is not None:
            must_be(stage, where, "operands, as many as", wanted, len(call.operands))
        where = shown(i, call)
        backward = all(0 <= k < i for k in call.operands)
        must(stage, where, backward, f"operands among 0..{i - 1}", call.operands)
        must(stage, where, call.effect in EFFECTS[call.form], "an effect of its form", call.effect)
        is_ufunc = call.form is Form.ENTRYWISE and isinstance(call.function.run, np.ufunc)
        fits = can_write(call) if call.takes_out else not is_ufunc
        must(stage, where, fits, f"a place to write to, {not call.takes_out}", call.takes_out)
        is_input = call.form is Form.INPUT and call.function.symbol == f"x{i}"
        must_be(stage, where, "a source in the place of an input,", i < plan.inputs, is_input)
        if call.form is Form.CONSTANT:
            held = call.function.run
            found = ArrayType(held.shape, held.dtype)
            must_be(stage, where, "a constant of type", call.type, found)
        for k in call.operands:
            if plan.calls[k].form is Form.EMPTY and call.effect == "none":
                filled.add(k)  # or it reads what a group before it has filled
            elif plan.calls[k].form is Form.EMPTY:
                must(stage, where, k in filled, f"call {k} filled before", "nothing in it")
            must(stage, where, plan.calls[k].effect != "none", "operands with values", f"call {k}")
    for i in plan.results:
        inside = 0 <= i < count and plan.calls[i].effect != "none"
        must(stage, "results", inside, "calls with values", plan.results)
        empty = plan.calls[i].form is Form.EMPTY and i not in filled
        must(stage, "results", not empty, "values", f"call {i}, which nothing fills")


def check_calls(plan, values, stage="calls"):
    """Run one by one, calls give what their types and effects say. Returns the results' values."""
    home = bindings(plan)
    for kernel in kernels_of(plan):
        exec(kernel_source(kernel), home)
    known = [np.asarray(v, c.type.dtype) for v, c in zip(values, plan.calls, strict=False)]
    with np.errstate(all="ignore"):
        for i, call in enumerate(plan.calls[plan.inputs :], plan.inputs):
            where = shown(i, call)
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
    text = expression(call, names, "" if out is None else ", out=_out")
    return eval(text, home, {**dict(zip(names, operands, strict=True)), "_out": out})


def check_effect(call, value, operands, constants, home, where, stage):
    """What a call returns is what its effect says, and it may write where its effect lets it."""
    shared = [x for x in (*operands, *constants) if _is_array(x) and np.shares_memory(value, x)]
    if call.effect in ("fill", "product", "new"):
        must(stage, where, not shared, "a new array", "memory of an operand or a constant")
        must(stage, where, value.flags.writeable, "an array to write to", "a frozen one")
    if call.effect == "view":
        must_be(stage, where, "as many entries as", np.size(operands[0]), value.size)
        repeated = any(s == 0 and n > 1 for s, n in zip(value.strides, value.shape, strict=True))
        must(stage, where, not repeated, "each entry once", f"strides {value.strides}")
    if call.takes_out:
        places = [np.full_like(value, 7)]
        given = [operands]
        for k, x in enumerate(operands if call.effect == "fill" else ()):
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


def check_tiles(blocks, each_block, stage="blocks"):
    """The blocks are numbered from 0, and their rows are all rows, each once."""
    met = []

    def block(i, low, high):
        met.append((i, low, high))

    each_block(block, blocks._replace(scratch=(), repeated=(), spare=[]))
    count = -(-blocks.length // blocks.rows)
    numbers = sorted(i for i, _, _ in met)
    must_be(stage, "blocks", "numbers", list(range(count)), numbers)
    rows = sorted(row for _, low, high in met for row in range(low, high))
    must_be(stage, "blocks", "every row once,", list(range(blocks.length)), rows)


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
