"""Programs of numbers around loops as one function of machine code: no arrays pass between its loops.

A loop alone becomes machine code when it has run for long (`compiler/python/loop_codegen.py`); between a
forward and a reverse loop there remain arrays and some twenty NumPy calls on numbers. A program that is short
enough to need no interrupt checks is compiled as a whole instead, to the same bits. Legal if the operations
around the loops are correctly rounded, so that NumPy's results are bit-identical (`Columns.transcendental`).
Gain (docs/passes.md): without it RK4 on numbers, with numba, takes 1.21 of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native import numba_jit as native
from funcgrad.compiler.python import scalar_codegen as scalar
from funcgrad.compiler.python.loop_body_codegen import KINDS, Writer, indented, operations, tuple_of
from funcgrad.control.loop import UNKNOWN_LENGTH, loop_op


def later(flat: Flat) -> native.Later | None:
    """The deferred compilation of the program; None if the pass does not apply."""
    steps = flat.steps
    if not native.available() or not any(step.op is loop_op for step in steps):
        return None
    numbers = [steps[i].type for i in flat.results]
    given = [step.type for step in steps[: flat.inputs]]
    if any(type.shape for type in numbers) or any(t.dtype not in KINDS for t in [*numbers, *given]):
        return None
    for step in steps:
        params = dict(step.params)
        if step.op is loop_op and (params["cond"] or params["spec"].trip_count == UNKNOWN_LENGTH):
            return None  # how long it runs is not known
    written, iteration = operations(flat)
    if iteration > native.ENTERED or native_source(flat) is None:
        return None
    signature = tuple([(type.dtype.name, len(type.shape), False) for type in given])
    return native.Later(lambda: native_source(flat), signature, written, iteration)


def native_source(flat: Flat) -> str | None:
    """The text for numba, or None.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x")
    >>> y, _ = fg.scan(lambda y, _: (y * x, None), x, length=3)
    >>> print(native_source(flatten_program([y + x], [x])))
    def loop0(x0, x1):
        for t in range(3):
            x0 = (x0 * x1)
        return (x0, )
    def run(x0):
        return ((loop0(x0, x0)[0] + x0), )
    """
    writer = Writer(native=True)
    templates = writer.templates(flat)
    if templates is None:
        return None
    for step in flat.steps:
        if step.operands and step.op.columns.transcendental:
            return None
    statements, texts = scalar.statements_of(flat, templates)
    lines = [*[f"v{target} = {text}" for target, text in statements], f"return {tuple_of(texts)}"]
    head = f"def run({', '.join([f'x{i}' for i in range(flat.inputs)])}):"
    return "\n".join([*writer.helpers, head, *indented(lines)]) + "\n"


def native_entry(flat: Flat) -> tuple[Sequence[str], dict[str, Any]]:
    """The prologue of a program, which calls its machine code once there is any, and its bindings."""
    found = later(flat)
    if found is None:
        if not native.available():
            return [], {}
        from funcgrad.compiler.native.native_program import entry_lines

        return entry_lines(flat)
    bound: dict[str, Any] = {"later": found, "as_native_array": native.as_native_array}
    given = []
    for i, step in enumerate(flat.steps[: flat.inputs]):
        kind, dtype = KINDS[step.type.dtype], step.type.dtype
        if step.type.shape:
            bound[f"w{i}"] = dtype
            given.append(f"as_native_array(x{i}, w{i})")
        else:
            given.append(f"{kind.__name__}(x{i})")
    return [
        "machine = later.function()",
        f"if machine is not None: return machine({', '.join(given)})",
        "later.ran(1)",
    ], bound
