"""A rolled loop as one function of machine code: its states, sequences and outputs are NumPy's arrays.

The function runs the iterations from ``at`` to ``stop`` and returns where it is, or -1 if NumPy would raise
an error there. It is called through `ctypes`, which releases the GIL; the places of entries are read from the
array objects, which costs less than asking Python for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native.array_forms import iteration
from funcgrad.compiler.native.array_program import ArrayProgram
from funcgrad.compiler.native.array_values import (
    Strided,
    copy_into,
    item_of,
    loaded,
    new_array,
)
from funcgrad.compiler.native.llvm_writer import (
    MEMORY,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    row_major_strides,
)
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
    failed, given = _prologue(w, types, outputs)
    stacks = [
        Strided(t.dtype.name, (-1, *t.shape), f"%y{k}", (t.size, *row_major_strides(t.shape)))
        for k, t in enumerate(outputs)
    ]
    states = [new_array(w, x.shape, x.dtype) for x in given[:n]]
    for state, x in zip(states, given, strict=False):
        copy_into(w, state, x)
    fixed = [loaded(w, x) for x in given[middle:]]
    sequences = [
        x._replace(shape=(-1, *x.shape), strides=(t.size, *x.strides))
        for x, t in zip(given[n:middle], types[n:middle], strict=True)
    ]
    head, body, tail, end = [w.fresh(name) for name in ("head", "body", "tail", "end")]
    before = w.block
    w.jump(head)
    w.label(head)
    at, following = f"%{w.fresh('i')}", f"%{w.fresh('i')}"
    w.lines.append(f"  {at} = phi i64 [ %at, %{before} ], [ {following}, %{tail} ]")
    more = w.compare("slt", Number("i64", at), Number("i64", "%stop"))
    asked = w.fresh("test")
    w.lines.append(f"  br i1 {more.text}, label %{asked}, label %{end}")
    w.label(asked)
    if test is not None:
        values = [*[loaded(w, state) for state in states], *fixed]
        (holds,) = ArrayProgram(w, test, failed).run(values)
        w.lines.append(f"  br i1 {holds.at(w, ()).text}, label %{body}, label %{end}")
    else:
        w.jump(body)
    w.label(body)
    place = Number("i64", at)
    if test is not None:
        place = w.binary("sub", place, Number("i64", "%at"))
    elif spec.reverse:
        place = w.binary("sub", w.binary("sub", Number("i64", "%length"), integer(1)), place)
    items = [item_of(w, x, place) for x in sequences]
    iteration(w, flat, states, [*items, *fixed], stacks, place, failed)
    w.jump(tail)
    w.label(tail)
    w.lines.append(f"  {following} = add nuw nsw i64 {at}, 1")
    w.jump(head)
    w.label(end)
    for state, x in zip(states, given, strict=False):
        copy_into(w, x, loaded(w, state))
    flag = w.emit("i8", f"load i8, ptr {failed}")
    bad = w.compare("ne", flag, Number("i8", "0"))
    result = w.select(bad, integer(-1), Number("i64", at))
    w.lines.append(f"  ret i64 {result.text}")
    return _module(
        w, [f"a{k}" for k in range(len(given))], [f"y{k}" for k in range(len(stacks))], n
    ), w


def _prologue(
    w: LLVMWriter, inputs: Sequence[ArrayType], results: Sequence[ArrayType]
) -> tuple[str, list[Strided]]:
    """The address of the byte that tells of an error, which is cleared, and the arrays of the inputs.

    Raises:
        UnsupportedError: machine code has no arrays of such a type.
    """
    for type in [*inputs, *results]:
        if type.dtype.name not in MEMORY or not type.dtype.isnative or type.size == 0:
            raise UnsupportedError(f"{type}")
    failed = "%failed"
    w.stack.append(f"  {failed} = alloca i8")
    w.lines.append(f"  store i8 0, ptr {failed}")
    return failed, [
        Strided(t.dtype.name, t.shape, f"%a{k}", row_major_strides(t.shape))
        for k, t in enumerate(inputs)
    ]


def program_text(flat: Flat) -> tuple[str, LLVMWriter]:
    """The LLVM IR of a whole program, on the arrays of its inputs and results; its integers are unused.

    Raises:
        UnsupportedError: a step has no form in machine code.
    """
    w = LLVMWriter()
    types = [step.type for step in flat.steps[: flat.inputs]]
    results = [flat.steps[i].type for i in flat.results]
    failed, given = _prologue(w, types, results)
    outputs = [
        Strided(t.dtype.name, t.shape, f"%y{k}", row_major_strides(t.shape))
        for k, t in enumerate(results)
    ]
    values = ArrayProgram(w, flat, failed).run([loaded(w, x) for x in given])
    for output, value in zip(outputs, values, strict=True):
        copy_into(w, output, value)
    flag = w.emit("i8", f"load i8, ptr {failed}")
    bad = w.compare("ne", flag, Number("i8", "0"))
    w.lines.append(f"  ret i64 {w.select(bad, integer(-1), integer(0)).text}")
    names = [f"a{k}" for k in range(len(given))], [f"y{k}" for k in range(len(outputs))]
    return _module(w, *names, 0), w


def _module(w: LLVMWriter, given: Sequence[str], outputs: Sequence[str], states: int) -> str:
    """The function on addresses, and the one on array objects that calls it."""
    pointers = [
        f"ptr noalias{'' if k < states else ' readonly'} %{name}" for k, name in enumerate(given)
    ]
    pointers.extend([f"ptr noalias %{name}" for name in outputs])
    pointers.extend([f"ptr noalias {buffer.name}" for buffer in w.buffers])
    counts = "i64 %at, i64 %stop, i64 %length"
    lines = [*w.declared.values(), *w.defined.values()]
    lines.append(
        f"define internal i64 @body({', '.join([counts, *pointers])}) noinline nounwind {{"
    )
    lines.extend(["entry:", *w.stack, *w.lines, "}"])
    names = [*given, *outputs, "arena"]
    objects = ", ".join([f"ptr %{name}" for name in names])
    lines.append(f"define i64 @run({counts}, {objects}) nounwind {{")
    for name in names:
        lines.append(f"  %{name}.place = getelementptr i8, ptr %{name}, i64 {object.__basicsize__}")
        lines.append(f"  %{name}.data = load ptr, ptr %{name}.place")
    passed = [f"ptr %{name}.data" for name in names[:-1]]
    for buffer in w.buffers:
        lines.append(f"  {buffer.name} = getelementptr i8, ptr %arena.data, i64 {buffer.offset}")
        passed.append(f"ptr {buffer.name}")
    call = ", ".join(["i64 %at", "i64 %stop", "i64 %length", *passed])
    lines.extend([f"  %end = call i64 @body({call})", "  ret i64 %end", "}"])
    return "\n".join(lines) + "\n"
