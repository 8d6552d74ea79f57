"""The forms in machine code of calls, branches and loops, by the names in `Columns.machine`.

The outputs of a loop whose length only the function knows are arrays that grow: there is room for so many
entries when the function is called, and it is called again with more room if that is not enough. Only other
loops read such arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.native.array_program import ArrayProgram, Whole
from funcgrad.compiler.native.array_values import (
    Strided,
    Value,
    add_into,
    cast_array,
    copy_into,
    item_of,
    loaded,
    new_array,
    sum_dtype,
    zeros,
)
from funcgrad.compiler.native.llvm_writer import (
    FAILED,
    FUEL,
    LONG,
    MEMORY,
    RAISED,
    SHORT,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    row_major_strides,
)
from funcgrad.compiler.native.scalar_instructions import cast_number
from funcgrad.compiler.native.subscript_forms import loop_buffers
from funcgrad.compiler.native.time_estimate import fuel
from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.compiler.passes.store_scheduling import read_before_stores
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.loop import LoopSpec
from funcgrad.graph import ArrayType

# Iterations of a loop with a condition that keeps no outputs: its fuel ends it long before.
_ENDLESS = 1 << 62


def _called(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> tuple[Value, ...]:
    flat = flat_of(dict(step.params)["body"])
    return tuple(ArrayProgram(program.writer, flat).run(operands))


def _branch(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> tuple[Value, ...]:
    index, *given = operands
    w, branches = program.writer, dict(step.params)["branches"]
    targets = [new_array(w, type.shape, type.dtype.name) for type in branches[0].types]
    number = cast_number(w, index.at(w, ()), "i64")
    end = w.fresh("end")
    for place, body in enumerate(branches):
        following = w.fresh("case")
        if place < len(branches) - 1:
            own = w.fresh("case")
            w.branch(w.compare("sle", number, integer(place)), own, following)
            w.label(own)
        values = ArrayProgram(w, flat_of(body)).run(given)
        for target, value in zip(targets, values, strict=True):
            copy_into(w, target, value)
        w.jump(end)
        w.label(following if place < len(branches) - 1 else end)
    return tuple([loaded(w, target) for target in targets])


def _loop(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> tuple[Value, ...]:
    params = dict(step.params)
    spec, flat, cond = params["spec"], flat_of(params["body"]), params["cond"]
    w, n, middle = program.writer, spec.num_carry, spec.num_carry + spec.num_xs
    types = [flat.steps[i].type for i in flat.results]
    states = [new_array(w, t.shape, t.dtype.name) for t in types[:n]]
    for state, x in zip(states, operands[:n], strict=True):
        copy_into(w, state, x)
    counted = cond is None and spec.trip_count >= 0
    summed = program.summed.get(program.place_of(step), {})
    grows = not counted and len(types) - n > len(summed)
    if cond is not None:
        stop = Number("i64", "%room") if grows else integer(_ENDLESS)
    else:
        stop = integer(spec.trip_count) if counted else _common_length(w, operands[n:middle])
    if spec.trip_count == 0 and cond is None:
        if len(types) > n:
            raise UnsupportedError("empty outputs of a loop of no iterations")
        return tuple([loaded(w, x) for x in states])
    stacks = [
        zeros(w, t.shape, sum_dtype(t.dtype.name))
        if k in summed
        else new_array(w, (spec.trip_count, *t.shape), t.dtype.name)
        if counted
        else _growing_array(w, t)
        for k, t in enumerate(types[n:])
    ]
    loop = RolledLoop(spec, flat, None if cond is None else flat_of(cond), summed)
    end = loop.write(
        w, states, operands[n:middle], operands[middle:], stacks, (integer(0), stop, stop)
    )
    if cond is not None and grows:
        w.raise_flag(w.compare("eq", end, stop), SHORT)
    if not counted:
        stacks = [x if k in summed else x._replace(length=end) for k, x in enumerate(stacks)]
    for k in summed:
        stacks[k] = cast_array(w, stacks[k], types[n + k].dtype.name)
    return (*[loaded(w, x) for x in states], *[loaded(w, x) for x in stacks])


def _growing_array(w: LLVMWriter, type: ArrayType) -> Strided:
    """Memory for the outputs of a loop whose length is not known."""
    dtype, shape = type.dtype.name, (-1, *type.shape)
    if dtype not in MEMORY or type.size <= 0:
        raise UnsupportedError(f"outputs of {type}")
    pointer = w.growing_buffer(type.size, dtype)
    return Strided(dtype, shape, pointer, row_major_strides(shape))


def _common_length(w: LLVMWriter, sequences: Sequence[Value]) -> Number:
    """The length of the first sequence, as for NumPy; the others are at least as long."""
    lengths = [
        x.length if isinstance(x, Strided) and x.length is not None else integer(x.shape[0])
        for x in sequences
    ]
    for length in lengths[1:]:
        if length != lengths[0]:
            w.raise_flag(w.compare("slt", length, lengths[0]), RAISED)
    w.raise_flag(w.compare("sgt", lengths[0], Number("i64", "%room")), SHORT)
    return lengths[0]


class RolledLoop(NamedTuple):
    """A loop: its body, and its condition if it has one."""

    spec: LoopSpec
    flat: Flat
    test: Flat | None
    summed: Collection[int] = ()
    """The outputs whose entries are added up, and not kept."""

    def write(
        self,
        w: LLVMWriter,
        states: Sequence[Strided],
        sequences: Sequence[Value],
        fixed: Sequence[Value],
        stacks: Sequence[Strided],
        span: tuple[Number, Number, Number],
    ) -> Number:
        """Write the iterations from the first index to before the second, of so many; where they end.

        Outputs of a loop with a condition are written from the first place on.
        """
        start, stop, length = span
        scheduled = PASS_OPTIONS.runs("store_scheduling")
        flat = read_before_stores(self.flat) if scheduled else self.flat
        buffers = loop_buffers(w, flat, dict(enumerate(fixed, len(states) + len(sequences))))
        with w.open_loop(start, stop) as (at, end):
            place = at
            if self.test is not None:
                values = [*[loaded(w, state) for state in states], *fixed]
                (holds,) = ArrayProgram(w, self.test).run(values)
                body = w.fresh("body")
                w.branch(holds.at(w, ()), body, end)
                w.label(body)
                if start.literal != 0:
                    place = w.binary("sub", at, start)
            elif self.spec.reverse:
                place = w.binary("sub", w.binary("sub", length, integer(1)), at)
            items = [item_of(w, x, place) for x in sequences]
            self._iteration(w, flat, buffers, states, [*items, *fixed], stacks, place)
            if self.test is not None:
                self._burn(w, end)
        return at

    def _burn(self, w: LLVMWriter, end: str) -> None:
        """Count the time of an iteration; the loop ends if the function has failed or takes too long."""
        nanoseconds = integer(fuel(self.flat, self.test))
        left = w.binary("sub", w.emit("i64", f"load i64, ptr {FUEL}"), nanoseconds)
        w.lines.append(f"  store i64 {left.text}, ptr {FUEL}")
        used, goes_on = w.fresh("long"), w.fresh("body")
        gone = w.compare("slt", left, integer(0))
        flags = w.emit("i8", f"load i8, ptr {FAILED}")
        failed = w.compare("ne", flags, Number("i8", "0"))
        w.branch(w.binary("or", gone, failed), used, goes_on)
        w.label(used)
        w.raise_flag(gone, LONG)
        w.jump(end)
        w.label(goes_on)

    def _iteration(
        self,
        w: LLVMWriter,
        flat: Flat,
        buffers: Mapping[int, Strided],
        states: Sequence[Strided],
        rest: Sequence[Value],
        stacks: Sequence[Strided],
        at: Number,
    ) -> None:
        """One iteration: its outputs go into the stacks, then its states are replaced."""
        given = [loaded(w, state) for state in states]
        n = len(states)
        items = {
            n + k: stack._replace(
                shape=stack.shape[1:],
                strides=stack.strides[1:],
                offset=w.times(at, integer(stack.strides[0])),
            )
            for k, stack in enumerate(stacks)
            if k not in self.summed
        }
        program = ArrayProgram(w, flat, range(n), items, buffers)
        program.write_states(states)
        results = program.run([*given, *rest])
        for k, value in enumerate(results[n:], n):
            if k not in items:
                add_into(w, stacks[k - n], value)
            elif value != items[k]:
                copy_into(w, items[k], value)
        held = {state.pointer for state in states}
        moved = []
        for state, value in zip(states, results, strict=False):
            if isinstance(value, Strided) and value != state and value.pointer in held:
                kept = new_array(w, value.shape, value.dtype)
                copy_into(w, kept, value)
                value = kept
            moved.append(value)
        for state, value in zip(states, moved, strict=True):
            if value != state:
                copy_into(w, state, value)


call = Whole(_called)
branch = Whole(_branch)
loop = Whole(_loop)
