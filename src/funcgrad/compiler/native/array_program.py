"""Flat array programs as LLVM instructions: elementwise chains fused into loops over small static shapes.

The steps are put into *groups*. A group is one nest of loops over a shape: entries of elementwise steps pass
between them in registers, and reductions add up beside them. A step joins the earliest group of its shape in
which its operands are known; values that other groups read go into buffers. Views have no group: they are
made where they are read. Any other step, such as a product of matrices, is a group of its own.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from funcgrad.compiler.flat_program import Flat, FlatStep, repeated_constant
from funcgrad.compiler.native.array_values import (
    Splat,
    Strided,
    Value,
    cast_array,
    collapsed,
    copy_into,
    loaded,
    new_array,
    sum_dtype,
)
from funcgrad.compiler.native.llvm_writer import (
    MEMORY,
    RAISED,
    REGISTER,
    LLVMWriter,
    Number,
    UnsupportedError,
    integer,
    literal_of,
)
from funcgrad.compiler.native.scalar_instructions import cast_number, template_value
from funcgrad.compiler.python.scalar_ops import native_template
from funcgrad.control.loop import loop_op
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.columns import ScalarUse
from funcgrad.ops.base.op import Op, astype, broadcast_to
from funcgrad.ops.tuples import pick_op

Values: TypeAlias = Value | tuple[Value, ...]
"""A step's value; a tuple of a step that has several."""


class View(NamedTuple):
    """The form of a step whose value is its operands' memory: read off their values, before any loop."""

    build: Callable[[Any, FlatStep, Sequence[Any]], Values]


class Whole(NamedTuple):
    """The form of a step that has loops of its own."""

    build: Callable[[Any, FlatStep, Sequence[Any]], Values]
    part: Callable[[Any, FlatStep, int], Strided | None] | None = None
    """The part of its memory that is a copy of an operand, so that the operand is computed there."""


class ElementForm(NamedTuple):
    """The form of a step of which each entry is computed from its operands' entries at its place."""

    build: Callable[[LLVMWriter, FlatStep, Sequence[Number]], Number]


class Lookup(NamedTuple):
    """The form of a step of which each entry is computed from its index and whole operands."""

    build: Callable[[Any, FlatStep, Sequence[Any], Sequence[Number]], Number]


class Reduce(NamedTuple):
    """The form of a step that folds its operand's entries along axes, from a first number on."""

    start: Callable[[FlatStep], Number]
    fold: Callable[[LLVMWriter, FlatStep, Number, Number], Number]
    adds: bool = False
    """Whether it rounds a sum at each entry: one of `float32` is added up in `float64` (`sum_dtype`)."""


MachineForm: TypeAlias = View | Whole | ElementForm | Lookup | Reduce


def form_of(flat: Flat, step: FlatStep) -> MachineForm:
    """The form of a step.

    Raises:
        UnsupportedError: it has none.
    """
    op = step.op
    if op is not pick_op and op is not loop_op:
        for type in [step.type, *[flat.steps[k].type for k in step.operands]]:
            if type.dtype.kind != "O" and any([length < 0 for length in type.shape]):
                raise UnsupportedError(f"{op.name} of an array whose length is not known")
    if step.type.dtype.kind != "O" and (
        step.type.dtype.name not in MEMORY or not step.type.dtype.isnative
    ):
        raise UnsupportedError(f"dtype {step.type.dtype}")
    read = [] if op is loop_op else [flat.steps[k].type for k in step.operands]
    if any([type.dtype.kind != "O" and type.size == 0 for type in [step.type, *read]]):
        raise UnsupportedError("an empty array")
    if op.columns.machine is not None:
        home, _, name = op.columns.machine.rpartition(":")
        forms = import_module(f"funcgrad.compiler.native.{home or 'array_forms'}")
        named: Any = getattr(forms, name)
        form: MachineForm = named(flat, step) if callable(named) else named
        return form
    if op is astype:
        return ElementForm(_cast)
    operands = [flat.steps[k] for k in step.operands]
    if not operands or any([x.type.shape not in (step.type.shape, ()) for x in operands]):
        raise _without_form(op, operands)
    kinds = [x.type.dtype.kind for x in operands]
    kind = "c" if "c" in kinds else kinds[-1]
    constants = tuple([repeated_constant(flat, k) for k in step.operands])
    entries = tuple([_is_entry(flat, k) for k in step.operands])
    use = ScalarUse(kind, dict(step.params), constants, entries)
    template = native_template(op, use)
    if template is None:
        raise _without_form(op, operands)

    def entry(writer: LLVMWriter, step: FlatStep, operands: Sequence[Number]) -> Number:
        found = template_value(writer, template, operands)
        return cast_number(writer, found, REGISTER[step.type.dtype.name])

    return ElementForm(entry)


def _without_form(op: Op, operands: Sequence[FlatStep]) -> UnsupportedError:
    return UnsupportedError(f"{op.name} of {', '.join([str(x.type) for x in operands])}")


def _cast(writer: LLVMWriter, step: FlatStep, operands: Sequence[Number]) -> Number:
    return cast_number(writer, operands[0], REGISTER[step.type.dtype.name])


def _is_entry(flat: Flat, i: int) -> bool:
    """Whether a step has an entry of its own at each place, and does not repeat one number."""
    step = flat.steps[i]
    while step.op is broadcast_to:
        step = flat.steps[step.operands[0]]
    return step.type.shape != ()


# -- groups --------------------------------------------------------------------------------------
class LoopNest(NamedTuple):
    """Steps that one nest of loops computes; a step with loops of its own has no shape."""

    shape: tuple[int, ...] | None
    members: list[int]


def _groups(flat: Flat, forms: Mapping[int, MachineForm]) -> tuple[list[LoopNest], list[int]]:
    """The groups in order, and for each step the group that completes its value, -1 for inputs."""
    groups: list[LoopNest] = []
    where: list[int] = []
    for i, step in enumerate(flat.steps):
        form = forms.get(i)
        known = max([where[k] for k in step.operands], default=-1)
        if form is None or isinstance(form, View):
            where.append(known)
            continue
        if isinstance(form, Whole):
            where.append(len(groups))
            groups.append(LoopNest(None, [i]))
            continue
        shape = (
            flat.steps[step.operands[0]].type.shape if isinstance(form, Reduce) else step.type.shape
        )
        place = known + 1
        if isinstance(form, ElementForm | Reduce):
            inside = [
                where[k]
                if isinstance(forms.get(k), ElementForm | Lookup)
                and flat.steps[k].type.shape == shape
                else where[k] + 1
                for k in step.operands
            ]
            place = max([*inside, 0])
        while place < len(groups) and groups[place].shape != shape:
            place += 1
        if place == len(groups):
            groups.append(LoopNest(shape, []))
        groups[place].members.append(i)
        where.append(place)
    return groups, where


def _sink(
    flat: Flat, forms: Mapping[int, MachineForm], groups: list[LoopNest], where: list[int]
) -> None:
    """Move elementwise steps to the later group that alone reads them, so that they need no memory."""
    users = _users(flat)
    for i in reversed(range(len(flat.steps))):
        shape, own = flat.steps[i].type.shape, where[i]
        readers = {where[u] for u in users[i]}
        if not isinstance(forms.get(i), ElementForm) or i in flat.results or len(readers) != 1:
            continue
        (target,) = readers
        fused = all([isinstance(forms.get(u), ElementForm | Reduce) for u in users[i]])
        held = [k for k in flat.steps[i].operands if where[k] == own and users[k] != [i]]
        in_registers = [
            k
            for k in held
            if k not in flat.results
            and isinstance(forms.get(k), ElementForm | Lookup)
            and all([where[u] == own for u in users[k]])
        ]
        if fused and target > own and groups[target].shape == shape and not in_registers:
            groups[own].members.remove(i)
            insort(groups[target].members, i)
            where[i] = target


def _users(flat: Flat) -> list[list[int]]:
    """Of each step those that read it, each once."""
    users: list[list[int]] = [[] for _ in flat.steps]
    for i, step in enumerate(flat.steps):
        for k in set(step.operands):
            users[k].append(i)
    return users


def _summed(flat: Flat) -> dict[int, dict[int, int]]:
    """Of each loop the outputs that only a sum over the iterations reads, and the steps of these sums."""
    users = _users(flat)
    found: dict[int, dict[int, int]] = {}
    for i, step in enumerate(flat.steps):
        if step.op is not pick_op or flat.steps[step.operands[0]].op is not loop_op:
            continue
        (loop,) = step.operands
        k = dict(step.params)["index"] - dict(flat.steps[loop].params)["spec"].num_carry
        if k < 0 or i in flat.results or len(users[i]) != 1:
            continue
        reader = flat.steps[users[i][0]]
        if reader.op.columns.machine == "total" and dict(reader.params)["axis"] == (0,):
            found.setdefault(loop, {})[k] = users[i][0]
    return found


def _added_up(program: ArrayProgram, step: FlatStep, operands: Sequence[Value]) -> Value:
    return operands[0]


_NOWHERE: Mapping[int, Strided] = MappingProxyType({})


# -- code ----------------------------------------------------------------------------------------
class ArrayProgram:
    """Writes the instructions of one flat program, on values of its inputs.

    Of ``places``, by the results' places, are the arrays where a result that is computed entry by entry is
    written at once; others are the caller's to copy. ``buffers`` are those that steps write a part of.
    """

    def __init__(
        self,
        writer: LLVMWriter,
        flat: Flat,
        writable: Collection[int] = (),
        places: Mapping[int, Strided] = _NOWHERE,
        buffers: Mapping[int, Strided] = _NOWHERE,
    ) -> None:
        self.writer = writer
        self.flat = flat
        self.buffers = buffers
        self.places = {flat.results[k]: place for k, place in places.items() if place.shape}
        self.forms = {
            i: form_of(flat, step)
            for i, step in enumerate(flat.steps)
            if step.op is not INPUT and step.op is not CONSTANT and i >= flat.inputs
        }
        self.summed = _summed(flat)
        """By loops: the outputs of which only the sum over the iterations is read, and the sums' steps."""
        for sums in self.summed.values():
            self.forms.update(dict.fromkeys(sums.values(), View(_added_up)))
        self.users = _users(flat)
        self.overwritten = {
            step.operands[0] for step in flat.steps if step.operands and step.op.in_place
        }
        """The steps whose memory a store may write into."""
        self.groups, self.where = _groups(flat, self.forms)
        _sink(flat, self.forms, self.groups, self.where)
        self.values: dict[int, Any] = {}
        self.rooms: dict[int, Strided] = {}
        """The memory of steps some of whose operands are computed in it."""
        self.stored = self._stored()
        self.loads_before = self._loads_before()
        self.read_until = self._read_until()
        self.writable = {
            *writable,
            *[i for i, form in self.forms.items() if not isinstance(form, View)],
        }
        """The inputs and the steps whose memory is the program's own."""

    def _stored(self) -> set[int]:
        """The entries of groups that something outside their loops reads."""
        stored = set(self.flat.results)
        for i, step in enumerate(self.flat.steps):
            fused = isinstance(self.forms.get(i), ElementForm | Reduce)
            for k in step.operands:
                if not (fused and self.where[k] == self.where[i]):
                    stored.add(k)
        return stored

    def _read_until(self) -> list[int]:
        """Of each step the last group that reads its memory, through views too; results are read later."""
        end = len(self.groups)
        last = [-1] * len(self.flat.steps)
        for i in self.flat.results:
            last[i] = end
        early = {i: place for place, numbers in self.loads_before.items() for i in numbers}
        for i in reversed(range(len(self.flat.steps))):
            if i in early:
                reader = early[i]
            else:
                reader = last[i] if isinstance(self.forms.get(i), View) else self.where[i]
            for k in self.flat.steps[i].operands:
                last[k] = max(last[k], reader)
        return last

    def _loads_before(self) -> dict[int, list[int]]:
        """By groups: the numbers to load before each, so that a store may overwrite their array."""
        steps, found = self.flat.steps, dict[int, list[int]]()
        written = {steps[i].operands[0] for i in self.forms if steps[i].op.in_place}
        for i, step in enumerate(steps):
            view = isinstance(self.forms.get(i), View) and step.operands
            if view and step.type.shape == () and step.operands[0] in written:
                found.setdefault(self.where[i] + 1, []).append(i)
        return found

    def may_overwrite(self, step: FlatStep) -> bool:
        """Whether a step may write into the memory of its first operand, which nothing reads later."""
        k = step.operands[0]
        return k in self.writable and self.read_until[k] <= self.where[self.place_of(step)]

    def write_states(self, states: Sequence[Strided]) -> None:
        """Let the first results be written into the first inputs' memory where these are not read later."""
        for k, state in enumerate(states):
            if (
                state.shape
                and k not in self.overwritten
                and self._is_read_before(k, self.flat.results[k])
            ):
                self.places.setdefault(self.flat.results[k], state)

    def _is_read_before(self, k: int, result: int) -> bool:
        """Whether each entry of an input is read before that of a result is written, in a nest of loops."""
        place = self.where[result]
        if not isinstance(self.forms.get(result), ElementForm):
            return False
        readers = [u for u, step in enumerate(self.flat.steps) if k in step.operands]
        own_nest = [
            u
            for u in readers
            if u <= result
            and isinstance(self.forms[u], ElementForm | Reduce)
            and self.where[u] == place
        ]
        ends = [
            self.read_until[u] if isinstance(self.forms[u], View) else self.where[u]
            for u in set(readers).difference(own_nest)
        ]
        return k not in self.flat.results and max(ends, default=-1) < place

    def place_of(self, step: FlatStep) -> int:
        """The number of a step."""
        (place,) = [i for i in self.forms if self.flat.steps[i] is step]
        return place

    def fails_if(self, test: Number) -> None:
        """NumPy runs the program if the test is true: it would raise an error, or has to decide."""
        self.writer.raise_flag(test, RAISED)

    def run(self, inputs: Sequence[Value]) -> list[Value]:
        """Write the program; the values of its results."""
        self.values = dict(enumerate(inputs))
        for place, group in enumerate(self.groups):
            for i in self.loads_before.get(place, ()):
                self.value(i)
            if group.shape is None:
                (i,) = group.members
                step, form = self.flat.steps[i], self.forms[i]
                self.values[i] = self._built(form, step)
            elif group.members:
                self._nest(group.shape, group.members)
        return [self.value(i) for i in self.flat.results]

    def value(self, i: int) -> Any:
        """The value of a step whose group is written; a view is made here."""
        if i not in self.values:
            step = self.flat.steps[i]
            if step.op is CONSTANT:
                self.values[i] = self._literal(step)
            else:
                self.values[i] = self._built(self.forms[i], step)
        return self.values[i]

    def _built(self, form: MachineForm, step: FlatStep) -> Values:
        if not isinstance(form, View | Whole):
            raise TypeError(
                f"built: expected a view or a step with loops of its own, but got {step.op}"
            )
        return form.build(self, step, [self.value(k) for k in step.operands])

    def _literal(self, step: FlatStep) -> Value:
        array, dtype, shape = step.constant, step.type.dtype, step.type.shape
        if dtype.name not in MEMORY or not dtype.isnative:
            raise UnsupportedError(f"a constant of {step.type}")
        if not array.size:  # (Only a loop of no iterations reads it.)
            return Splat(
                dtype.name, shape, cast_number(self.writer, integer(0), REGISTER[dtype.name])
            )
        if array.size == 1 and not array.flags.writeable:
            return Splat(dtype.name, shape, literal_of(array))
        if any([stride % dtype.itemsize for stride in array.strides]) or not array.flags.aligned:
            raise UnsupportedError("a constant that is not aligned")
        pointer = self.writer.symbol_of(array)
        strides = tuple([stride // dtype.itemsize for stride in array.strides])
        return loaded(self.writer, Strided(dtype.name, shape, pointer, strides))

    def _nest(self, shape: tuple[int, ...], members: Sequence[int]) -> None:
        """One nest of loops; numbers (of the empty shape) stay in registers."""
        steps, w = self.flat.steps, self.writer
        inside = set(members)
        for i in members:
            for k in steps[i].operands:
                if k not in inside:
                    self.value(k)
        targets: dict[int, Strided] = {}
        for i in members:
            form, type = self.forms[i], steps[i].type
            if isinstance(form, Reduce):
                dtype = sum_dtype(type.dtype.name) if form.adds else type.dtype.name
                targets[i] = self._room(i, type.shape, dtype)
                start = cast_number(w, form.start(steps[i]), REGISTER[dtype])
                copy_into(w, targets[i], Splat(dtype, type.shape, start))
            elif shape and i in self.stored:
                targets[i] = self._room(i, shape, type.dtype.name)
        loops, read, written = self._collapsed(shape, members, targets)
        numbers: dict[int, Number] = {}
        with w.loops(loops) as index:
            for i in members:
                numbers[i] = self._entry(i, index, numbers, read, written)
        for i in members:
            if i in targets:
                self.values[i] = loaded(w, cast_array(w, targets[i], steps[i].type.dtype.name))
            elif not shape:
                self.values[i] = Splat(steps[i].type.dtype.name, (), numbers[i])

    def _room(self, i: int, shape: tuple[int, ...], dtype: str) -> Strided:
        """Memory for the entries of a step: the place of a result, or a buffer."""
        place = self.places.get(i) or self._part_of_reader(i)
        if place is not None and place.dtype == dtype:
            return place
        return new_array(self.writer, shape, dtype)

    def _part_of_reader(self, i: int) -> Strided | None:
        """The part of a reader's memory that is a copy of an elementwise step, if there is one.

        Copy elision. No store writes into the memory of the step, or of the reader if others read the step.
        """
        users, written = self.users[i], self.overwritten
        if not isinstance(self.forms[i], ElementForm) or i in self.flat.results or i in written:
            return None
        for u in users if len(users) == 1 else [u for u in users if u not in written]:
            form, step = self.forms[u], self.flat.steps[u]
            if isinstance(form, Whole) and form.part and step.operands.count(i) == 1:
                part = form.part(self, step, step.operands.index(i))
                if part is not None:
                    return part
        return None

    def _collapsed(
        self, shape: tuple[int, ...], members: Sequence[int], targets: Mapping[int, Strided]
    ) -> tuple[tuple[int, ...], dict[int, Strided], dict[int, Strided]]:
        """The shape of a nest's loops, and the arrays that it reads and writes, with strides in that shape.

        Along the axes of a reduction its target's stride is 0. An operation that computes with its index
        needs the loops as they are.
        """
        steps, inside = self.flat.steps, set(members)
        outside = {k for i in members for k in steps[i].operands} - inside
        arrays = {k: self.values[k] for k in outside}
        read = {k: x for k, x in arrays.items() if isinstance(x, Strided) and x.shape == shape}
        written = {}
        for i, target in targets.items():
            axes = dict(steps[i].params)["axis"] if isinstance(self.forms[i], Reduce) else ()
            own = iter(target.strides)
            strides = tuple([0 if k in axes else next(own) for k in range(len(shape))])
            written[i] = target._replace(shape=shape, strides=strides)
        if any([isinstance(self.forms[i], Lookup) for i in members]):
            return shape, read, written
        both = [*read.values(), *written.values()]
        loops, strides_there = collapsed(shape, [x.strides for x in both])
        moved = [
            x._replace(shape=loops, strides=own) for x, own in zip(both, strides_there, strict=True)
        ]
        return (
            loops,
            dict(zip(read, moved, strict=False)),
            dict(zip(written, moved[len(read) :], strict=True)),
        )

    def _entry(
        self,
        i: int,
        index: Sequence[Number],
        numbers: Mapping[int, Number],
        read: Mapping[int, Strided],
        targets: Mapping[int, Strided],
    ) -> Number:
        step, form, w = self.flat.steps[i], self.forms[i], self.writer
        if isinstance(form, Lookup):
            found = form.build(self, step, [self.values[k] for k in step.operands], index)
        else:
            given = [
                numbers[k]
                if k in numbers
                else read[k].at(w, index)
                if k in read
                else self.values[k].at(w, ())
                for k in step.operands
            ]
            if isinstance(form, Reduce):
                found = form.fold(w, step, targets[i].at(w, index), given[0])
            elif isinstance(form, ElementForm):
                found = form.build(w, step, given)
            else:
                raise TypeError(f"entry: expected an elementwise step, but got {step.op}")
        if i in targets:
            targets[i].put(w, index, found)
        return found


def stored_bytes(flat: Flat) -> int:
    """The bytes of arrays in memory between the steps of a program; 0 if a step has no form."""
    try:
        program = ArrayProgram(LLVMWriter(), flat)
    except UnsupportedError:
        return 0
    between = [
        flat.steps[i].type
        for i in program.stored - set(flat.results)
        if i in program.forms and not isinstance(program.forms[i], View)
    ]
    return sum([type.size * type.dtype.itemsize for type in between if type.dtype.kind != "O"])
