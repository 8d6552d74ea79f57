"""The NumPy backend: array programs as generated Python, with NumPy's functions bound beforehand.

`numpy_source` prints a plan with the buffers that `buffer_assignment` gives its calls; `expression` is
the text of one call. No other module writes a call as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import Call, CallForm, Placed, Plan, Returned, aligned
from funcgrad.compiler.numpy.block_loop import each_block
from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
from funcgrad.compiler.numpy.fused_kernel import (
    Compute,
    Copy,
    Kernel,
    KernelStatement,
    Rows,
    Store,
    Total,
)
from funcgrad.compiler.numpy.instruction_selection import broadcast_copy
from funcgrad.compiler.quiet_context import QUIET
from funcgrad.expr import present
from funcgrad.ops.indexing import add_at, getitem_op

_OPERATORS = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.divide: "{0} / {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
    np.where: "({1} if {0} else {2})[()]",  # a number, and no view of memory that is reused
}
"""Functions of numbers in Python's words: NumPy's take ten times as long, and `where` seventy times."""
# NumPy deprecates their `out` by position.
_KEYWORD = (np.maximum, np.minimum)


def numpy_source(plan: Plan, first: Sequence[str] = ()) -> str:
    """The text of the function, which has some ``first`` lines.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> from funcgrad.compiler.numpy.instruction_selection import select_instructions
    >>> x = fg.var("x", 3)
    >>> print(numpy_source(select_instructions(flatten_program([np.exp(-x * x) * x], [x]))))
    def body(x0):
        a0 = negative(x0)
        multiply(a0, x0, a0)
        exp(a0, a0)
        multiply(a0, x0, a0)
        return (a0,)
    def run(x0):
        return quiet.copy().run(body, x0)
    """
    if not first and not any([_may_warn(plan, call) for call in plan.calls]):
        return function_source("run", plan)
    names = [f"x{i}" for i in range(plan.inputs)]
    lines = [f"def run({', '.join(names)}):", *[f"    {line}" for line in first]]
    if plan.foreign:
        lines.append(f"    with errstate(all='ignore'): return body({', '.join(names)})")
    else:
        lines.append(f"    return quiet.copy().run({', '.join(['body', *names])})")
    return function_source("body", plan) + "\n".join(lines) + "\n"


def function_source(function: str, plan: Plan) -> str:
    """Source of a function that runs the plan, under a name; NumPy may warn in it."""
    names = [f"x{i}" for i in range(plan.inputs)]
    kernels = [kernel_source(kernel) for kernel in kernels_of(plan)]
    lines = [*kernels, f"def {function}({', '.join(names)}):"]
    numbers = _number_inputs(plan)
    for i, name in enumerate(names):
        type, dtype = plan.calls[i].type, dtype_symbol(plan.calls[i].type.dtype)
        if i in numbers:
            test = f"type({name}) is not {_type_symbol(type.dtype)}"
            lines.append(f"    if {test}: {name} = asarray({name}, {dtype})[()]")
        elif not type.shape:
            lines.append(f"    if type({name}) is not ndarray: {name} = asarray({name}, {dtype})")
    schedule = assign_buffers(plan)
    written = [line for placed in schedule.placed for line in _lines(plan, placed)]
    plain = {names[i] for i in numbers}
    results = "".join([f"{_returned(result, plain)}, " for result in schedule.returned]).rstrip()
    returned = f"({results})"
    if schedule.pooled:
        held = ", ".join([f"p{i}" for i in range(len(schedule.pooled))])
        made = [f"aligned({shape}, {dtype_symbol(dtype)})" for shape, dtype in schedule.pooled]
        # Taken and given back in one step each: threads, and calls within calls, never share arrays.
        lines.append(f"    {held}, = held = pool.pop() if pool else ({', '.join(made)},)")
        written.append(f"returned = {returned}")
        written.append("pool.append(held)")
        returned = "returned"
    lines.extend([f"    {line}" for line in [*written, f"return {returned}"]])
    return "\n".join(lines) + "\n"


_SIGNS = (np.negative, np.positive, np.fabs, np.copysign, np.signbit)
_LOGICAL = (np.logical_and, np.logical_or, np.logical_not, np.logical_xor)
_CHOICES = (np.maximum, np.minimum, np.fmax, np.fmin, np.equal, np.not_equal)
_TESTS = (np.isfinite, np.isnan, np.isinf)
_SILENT = frozenset((*_SIGNS, *_LOGICAL, *_CHOICES, *_TESTS, np.where, broadcast_copy))
"""Functions that never raise a floating-point error, so that NumPy has nothing to warn of."""

_ORDER = (np.less, np.less_equal, np.greater, np.greater_equal, np.sign)
_SILENT_ON_REALS = frozenset((*_ORDER, np.absolute, np.floor, np.ceil, np.trunc, np.rint))
"""Functions that raise floating-point errors for complex operands only."""


def _may_warn(plan: Plan, call: Call) -> bool:
    """Whether NumPy may warn of a floating-point error in a call."""
    if call.form in (CallForm.ENTRYWISE, CallForm.REDUCE):
        run = call.function.run
        if run in _SILENT_ON_REALS:
            return any(plan.calls[operand].type.dtype.kind == "c" for operand in call.operands)
        return run not in _SILENT
    moves = (CallForm.RESHAPE, CallForm.TRANSPOSE, CallForm.GETITEM, CallForm.JOIN)
    return call.form not in (CallForm.INPUT, CallForm.CONSTANT, *moves) and not _is_gather(call)


def _number_inputs(plan: Plan) -> frozenset[int]:
    """The inputs that run as NumPy's scalars: only ufuncs and choices among scalars read them.

    A 0-d array takes ten times as long there. Arithmetic on complex scalars may differ in a bit.
    """
    elsewhere: set[int] = set()
    for call in plan.calls:
        run = call.function.run
        entrywise = call.form is CallForm.ENTRYWISE and (
            isinstance(run, np.ufunc) or run is np.where
        )
        if call.type.shape or not entrywise:
            elsewhere.update(call.operands)
    types = [call.type for call in plan.calls[: plan.inputs]]
    reals = [i for i, type in enumerate(types) if not type.shape and type.dtype.kind == "f"]
    return frozenset(reals) - elsewhere


def _lines(plan: Plan, placed: Placed) -> list[str]:
    """The statements of a call, and the deletions after it."""
    call, gone = plan.calls[placed.call], []
    if placed.deleted:
        gone.append(f"del {', '.join(placed.deleted)}")
    if placed.how == "source":
        return gone
    if call.form is CallForm.STORE:
        target, source = placed.writes, placed.reads[0]
        copy = (
            f"{target} = {source}.copy()" if placed.how == "new" else f"copyto({target}, {source})"
        )
        stored = store_statement(call, (target, *placed.reads[1:]))
        return [*([] if placed.how == "in_place" else [copy]), stored, *gone]
    if placed.how in ("in_place", "reused", "pool"):
        if call.form is CallForm.EMPTY:
            return gone
        keyword = "out=" if call.function.run in _KEYWORD else ""
        return [expression(call, placed.reads, f", {keyword}{placed.writes}"), *gone]
    text = expression(call, placed.reads)
    scalar = call.form is CallForm.ENTRYWISE and not call.type.shape
    if scalar and call.function.run in _OPERATORS:  # (Between arrays an operator takes 15 ns more.)
        text = _OPERATORS[call.function.run].format(*placed.reads)
    return [f"{placed.writes} = {text}" if placed.writes else text, *gone]


def expression(
    call: Call,
    reads: Sequence[str],
    out: str = "",
    dtype: Callable[[np.dtype[Any]], str] | None = None,
) -> str:
    """The text of a call on operands of these names; ``out`` is the end of its list of arguments."""
    symbol, form, params = call.function.symbol, call.form, dict(call.params)
    if form is CallForm.RESHAPE:
        return f"{reads[0]}.reshape({params['shape']})"
    if form is CallForm.TRANSPOSE:
        return f"{reads[0]}.transpose({call.axes})"
    if form is CallForm.GETITEM:
        return f"{reads[0]}[{_index(params['spec'])}]"
    if _is_gather(call):
        return f"{reads[0]}[{_index(params['spec'], reads[1:])}]"
    if form is CallForm.STORE:
        holes = [HOLE] * (len(reads) - 2)
        return f"{symbol}({', '.join(reads)}, {_index(params['spec'], holes)!r})"
    if form is CallForm.REDUCE:
        return f"{symbol}.reduce({reads[0]}, {call.axes}{', None' if out else ''}{out})"
    if form is CallForm.KERNEL:
        return f"each_block({', '.join([symbol, _blocks_symbol(symbol), *reads])})"
    given = [f"({', '.join(reads)},)"] if form is CallForm.JOIN else list(reads)
    if form is CallForm.MATMUL and call.params:
        given[0] = f"{given[0]}.T"
    elif form in (CallForm.ENTRYWISE, CallForm.EMPTY, CallForm.JOIN):
        named = dtype or dtype_symbol
        given += [named(v) if isinstance(v, np.dtype) else str(v) for v in params.values()]
    return f"{symbol}({', '.join(given)}{out})"


HOLE = "_"
"""An index array, in the index that stands for all stores with other arrays."""


def store_statement(call: Call, reads: Sequence[str]) -> str:
    """The statement that stores into the first of the names."""
    x, v, *arrays = reads
    index = _index(dict(call.params)["spec"], arrays)
    if call.function.symbol == "store_set":
        return f"{x}[{index}] = {v}"
    if call.function.name:  # an index may be repeated
        return f"add_at({x}, s_[{index}], {v})"
    return f"{x}[{index}] += {v}"


def _is_gather(call: Call) -> bool:
    """Whether a call reads the entries that index arrays name."""
    return call.form is CallForm.ROUTINE and call.function.run is getitem_op.run


def _index(spec: tuple[Any, ...], arrays: Sequence[str] = ()) -> str:
    special = {"new": "None", "...": "..."}
    rest = iter(arrays)
    parts = [
        ":".join(["" if bound is None else str(bound) for bound in item[1:]])
        if isinstance(item, tuple)
        else next(rest)
        if item == "array"
        else special.get(item, str(item))
        for item in spec
    ]
    return f"{', '.join(parts)}," if parts else "..."


def _returned(result: Returned, numbers: Collection[str]) -> str:
    if result.how == "scalar" and result.name in numbers:
        return result.name
    forms = {"array": "{}", "copy": "array({})", "scalar": "{}[()]"}
    return forms.get(result.how, f"{result.how}({{}})").format(result.name)


# -- kernels -----------------------------------------------------------------------------------------
def kernels_of(plan: Plan) -> list[Kernel]:
    """The fused kernels that a plan runs."""
    return [call.function.run for call in plan.calls if call.form is CallForm.KERNEL]


def kernel_source(kernel: Kernel) -> str:
    """The text of a kernel: a function that does rows ``lo`` to ``hi``, the block ``i``."""
    head = f"def {kernel.symbol}({', '.join(kernel.parameters)}):"
    return "\n".join([head, *[f"    {_statement(s)}" for s in kernel.statements]]) + "\n"


def _statement(statement: KernelStatement) -> str:
    match statement:
        case Rows(target, source):
            return f"{target} = {source}[lo:hi]"
        case Copy(target, source):
            return f"copyto({target}, {source})"
        case Store(target, source):
            return f"{target}[lo:hi] = {source}"
        case Compute(target, call, reads, in_place):
            if in_place:
                return expression(call, reads, f", out={target}")
            return f"{target} = {expression(call, reads)}"
        case Total(target, call, reads):
            return f"{target}[i] = {expression(call, reads)}"


# -- names -------------------------------------------------------------------------------------------
def dtype_symbol(dtype: np.dtype[Any]) -> str:
    """The name that a dtype has in generated code.

    >>> dtype_symbol(np.dtype(float))
    'd12'
    """
    return f"d{dtype.num}{'' if dtype.isnative else 's'}"


def _type_symbol(dtype: np.dtype[Any]) -> str:
    return f"t{dtype.num}"


def _blocks_symbol(kernel: str) -> str:
    return f"blocks{kernel.removeprefix('block')}"


def bindings(plan: Plan) -> dict[str, Any]:
    """The objects that are bound to the names in the source of a plan."""
    bound: dict[str, Any] = {**_RUNTIME, "pool": []}
    for call in plan.calls:
        symbol, form, run, _ = call.function
        bound[dtype_symbol(call.type.dtype)] = call.type.dtype
        bound[_type_symbol(call.type.dtype)] = call.type.dtype.type
        if form is CallForm.CONSTANT:
            # Among scalars NumPy's scalars are fast; beside arrays 0-d arrays are.
            bound[symbol] = run
            bound[f"s{symbol[1:]}"] = run[()]
        elif form is CallForm.KERNEL:
            bound[_blocks_symbol(symbol)] = run.blocks._replace(spare=[])
        elif form is CallForm.ROUTINE and call.params:
            bound[symbol] = partial(run, **dict(call.params))
        elif run is not None:
            bound[symbol] = _on_plain_arrays(run)
    for kernel in kernels_of(plan):
        calls_in = [s.call for s in kernel.statements if isinstance(s, Compute | Total)]
        bound.update((c.function.symbol, c.function.run) for c in calls_in if c.function.run)
    return bound


def _on_plain_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """`where` and the like without a question to the operands for ``__array_function__``: in two thirds of
    the time."""
    is_numpys = str(getattr(function, "__module__", None)).partition(".")[0] == "numpy"
    found: Callable[..., Any] = getattr(function, "_implementation", function)
    return found if is_numpys else function


def _present(value: Any) -> Any:
    """`present` with a fast path for scalars that are Python's numbers exactly."""
    exact = _EXACT.get(type(value))
    return present(value) if exact is None else exact(value)


_EXACT: dict[Any, Callable[[Any], Any]] = {np.float64: float, np.int64: int, np.bool_: bool}


_RUNTIME: dict[str, Any] = {
    "quiet": QUIET,
    "present": _present,
    "ndarray": np.ndarray,
    "array": np.array,
    "asarray": np.asarray,
    "copyto": _on_plain_arrays(np.copyto),
    "add_at": add_at,
    "s_": np.s_,
    "each_block": each_block,
    "aligned": aligned,
    "errstate": np.errstate,
}
