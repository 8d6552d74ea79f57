"""A rolled loop as one function of machine code: its states, sequences and outputs are NumPy's arrays.

The function runs the iterations from ``at`` to ``stop`` and returns where it is, or if it failed the negative
of its flags; then no state has changed. It is called through `ctypes`, which releases the GIL; the places of
entries are read from the array objects, which costs less than asking Python for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native.array_program import ArrayProgram
from funcgrad.compiler.native.array_values import Strided, Value, copy_into, loaded, new_array
from funcgrad.compiler.native.control_forms import RolledLoop
from funcgrad.compiler.native.deferred_code import UNINTERRUPTED
from funcgrad.compiler.native.llvm_writer import (
    FAILED,
    FUEL,
    MEMORY,
    LLVMWriter,
    Number,
    UnsupportedError,
    array_symbol,
    integer,
    row_major_strides,
)
from funcgrad.compiler.native.operand_layout import OperandLayout, loop_operands
from funcgrad.compiler.native.vector_functions import keep_alive, preferred_width
from funcgrad.control.loop import LoopSpec
from funcgrad.graph import ArrayType


def loop_function_text(flat: Flat, test: Flat | None, spec: LoopSpec) -> tuple[str, LLVMWriter]:
    """The LLVM IR of a loop, and its writer, which knows the arena and the arrays that it refers to.

    Raises:
        UnsupportedError: a step has no form in machine code.
    """
    w = LLVMWriter()
    n, middle = spec.num_carry, spec.num_carry + spec.num_xs
    types = [step.type for step in flat.steps[: flat.inputs]]
    outputs = [flat.steps[i].type for i in flat.results[n:]]
    _prologue(w, [*types, *outputs])
    layout = loop_operands(flat, spec)
    given = _operands(layout, "a")
    stacks = _operands(OperandLayout([ArrayType((-1, *t.shape), t.dtype) for t in outputs]), "y")
    states = [new_array(w, x.shape, x.dtype) for x in given[:n]]
    for state, x in zip(states, given, strict=False):
        copy_into(w, state, x)
    fixed = [loaded(w, x) for x in given[middle:]]
    span = Number("i64", "%at"), Number("i64", "%stop"), Number("i64", "%length")
    at = RolledLoop(spec, flat, test).write(w, states, given[n:middle], fixed, stacks, span)
    _return(w, at, [(x, loaded(w, state)) for x, state in zip(given, states, strict=False)])
    return _module(w, layout, len(stacks), n), w


def _return(w: LLVMWriter, result: Number, results: Sequence[tuple[Strided, Value]]) -> None:
    """Write the results and return, or return the flags, as a negative number."""
    flag = w.emit("i8", f"load i8, ptr {FAILED}")
    failed, well = w.fresh("failed"), w.fresh("well")
    w.branch(w.compare("ne", flag, Number("i8", "0")), failed, well)
    w.label(failed)
    code = w.binary("sub", integer(0), w.cast("zext", flag, "i64"))
    w.lines.append(f"  ret i64 {code.text}")
    w.label(well)
    for target, value in results:
        if value != target:
            copy_into(w, target, value)
    w.lines.append(f"  ret i64 {result.text}")


def _prologue(w: LLVMWriter, types: Sequence[ArrayType]) -> None:
    """Clear the flags.

    Raises:
        UnsupportedError: machine code has no arrays of one of the types, of operands or results.
    """
    for type in types:
        if type.dtype.name not in MEMORY or not type.dtype.isnative or type.size <= 0:
            raise UnsupportedError(f"inputs and results of {type}")
    w.stack.extend([f"  {FAILED} = alloca i8", f"  {FUEL} = alloca i64"])
    w.lines.append(f"  store i8 0, ptr {FAILED}")
    w.lines.append(f"  store i64 {int(UNINTERRUPTED)}, ptr {FUEL}")


def _operands(layout: OperandLayout, prefix: str) -> list[Strided]:
    """The values of a layout, whose arrays are named by a prefix and their places."""
    values = {
        i: Strided(type.dtype.name, type.shape, f"%{prefix}{k}", strides, integer(place))
        for k, held in enumerate(layout.holders)
        for place, i in enumerate(held)
        for type in [layout.types[i]]
        for strides in [row_major_strides(type.shape)]
    }
    return [values[i] for i in range(len(values))]


def program_text(flat: Flat) -> tuple[str, LLVMWriter]:
    """The LLVM IR of a whole program, on the arrays of its inputs and results; its integers are unused.

    Raises:
        UnsupportedError: a step has no form in machine code.
    """
    w = LLVMWriter()
    given = OperandLayout([step.type for step in flat.steps[: flat.inputs]])
    made = OperandLayout([flat.steps[i].type for i in flat.results])
    _prologue(w, [*given.types, *made.types])
    results = _operands(made, "y")
    program = ArrayProgram(w, flat, places=dict(enumerate(results)))
    values = program.run([loaded(w, x) for x in _operands(given, "a")])
    _return(w, integer(0), list(zip(results, values, strict=True)))
    w.counted = bool(w.buffers)
    return _module(w, given, len(made.holders), 0), w


def _module(w: LLVMWriter, layout: OperandLayout, outputs: int, states: int) -> str:
    """The function on addresses, and the one on array objects that calls it (with integers, if counted)."""
    pointers = [
        f"ptr noalias{'' if held[0] < states else ' readonly'} %a{k}"
        for k, held in enumerate(layout.holders)
    ]
    pointers.extend([f"ptr noalias %y{k}" for k in range(outputs)])
    pointers.extend([f"ptr noalias {buffer.name}" for buffer in w.buffers])
    counts = "i64 %at, i64 %stop, i64 %length, i64 %room"
    width = preferred_width(w.declared)
    lines = [*keep_alive(w.declared), *w.declared.values(), *w.defined.values()]
    if w.kept:  # of a type without a size, so that LLVM assumes nothing of their lengths
        lines.append("%outside = type opaque")
        lines.extend([f"@{array_symbol(k)} = external global %outside" for k in range(len(w.kept))])
    lines.append(
        f"define internal i64 @body({', '.join([counts, *pointers])}) noinline nounwind{width} {{"
    )
    lines.extend(["entry:", *w.stack, *w.lines, "}"])
    names = [f"a{k}" for k in range(len(layout.holders))]
    names.extend([f"y{k}" for k in range(outputs)])
    passed = [f"ptr %{name}.data" for name in names]
    names.extend(["arena"] if w.counted else [])
    objects = [f"ptr %{name}" for name in names]
    given = [counts, *objects] if w.counted else objects
    lines.append(f"define i64 @run({', '.join(given)}) nounwind {{")
    for name in names:
        lines.append(f"  %{name}.place = getelementptr i8, ptr %{name}, i64 {object.__basicsize__}")
        lines.append(f"  %{name}.data = load ptr, ptr %{name}.place")
    if w.counted:
        lines.append(f"  %growing = getelementptr i8, ptr %arena.data, i64 {w.arena}")
    for buffer in w.buffers:
        start, place = "%arena.data", str(buffer.offset)
        if buffer.grows:
            start, place = "%growing", f"{buffer.name}.place"
            lines.append(f"  {place} = mul i64 {buffer.offset}, %room")
        lines.append(f"  {buffer.name} = getelementptr i8, ptr {start}, i64 {place}")
        passed.append(f"ptr {buffer.name}")
    call = ", ".join([counts if w.counted else "i64 0, i64 0, i64 0, i64 0", *passed])
    lines.extend([f"  %end = call i64 @body({call})", "  ret i64 %end", "}"])
    return "\n".join(lines) + "\n"
