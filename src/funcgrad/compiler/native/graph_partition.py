"""Graph partitioning: machine code before, between and after the steps that have no form in machine code.

A decomposition or a sort of a large array, or a function of a user's, runs in NumPy. The other steps are
partitioned into regions: a step is in the first region after all NumPy steps that it depends on, or in a
later one if nothing before reads it. A region is machine code if that is faster, by estimate.
Gain (docs/passes.md): without it the gradient of a sum of singular vectors takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, build
from funcgrad.compiler.native.llvm_writer import UnsupportedError
from funcgrad.compiler.native.loop_function import program_text
from funcgrad.compiler.quiet_context import QUIET
from funcgrad.expr import present
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.tuples import pick_op

_MOST_STEPS = 2000
"""The steps of a program whose forms are looked for one by one: some 0.3 ms each."""

Compile = Callable[[Flat], Callable[..., tuple[Any, ...]] | None]
"""From a region to its machine code; None if that is not faster, or cannot be."""


class Region(NamedTuple):
    """Steps of a program as a program: their numbers, those of what they read, and of the results."""

    flat: Flat
    members: tuple[int, ...]
    reads: tuple[int, ...]
    makes: tuple[int, ...]


class Partition(NamedTuple):
    """The steps of a program by stages: in each a region, and the NumPy steps after it."""

    flat: Flat
    stages: tuple[tuple[Region | None, tuple[int, ...]], ...]


def partition(flat: Flat) -> Partition | None:
    """The regions of a program; None if all of its steps have forms, or it is too long to look."""
    steps = flat.steps
    if len(steps) > _MOST_STEPS:
        return None
    has_form = _forms(flat)
    if all(has_form):
        return None
    stages = _stages(flat, has_form)
    found = []
    for stage in range(max(stages) + 1):
        own = [i for i in range(flat.inputs, len(steps)) if stages[i] == stage]
        own = [i for i in own if steps[i].op is not CONSTANT]
        region = region_of(flat, [i for i in own if has_form[i]])
        found.append((region, tuple([i for i in own if not has_form[i]])))
    if any(
        [steps[i].type.dtype.kind == "O" for region, _ in found if region for i in region.makes]
    ):
        return None  # a tuple that leaves its region
    return Partition(flat, tuple(found))


def region_of(flat: Flat, members: Sequence[int]) -> Region | None:
    """Some steps as a program, whose results are those that others read; None if there are none."""
    steps, inside = flat.steps, set(members)
    outer = {k for i, step in enumerate(steps) if i not in inside for k in step.operands}
    makes = tuple([i for i in members if i in outer or i in flat.results])
    if not makes:
        return None
    read = dict.fromkeys([k for i in members for k in steps[i].operands if k not in inside])
    reads = tuple([k for k in read if steps[k].op is not CONSTANT])
    rows = [FlatStep(INPUT, (), (), steps[k].type) for k in reads]
    number = {k: place for place, k in enumerate(reads)}
    for k in [*[k for k in read if steps[k].op is CONSTANT], *members]:
        number[k] = len(rows)
        rows.append(steps[k]._replace(operands=tuple([number[j] for j in steps[k].operands])))
    own = Flat(tuple(rows), len(reads), tuple([number[i] for i in makes]))
    return Region(own, tuple(members), reads, makes)


def _forms(flat: Flat) -> list[bool]:
    """Whether each step can be machine code by itself; the parts of a tuple as the tuple."""
    steps = flat.steps
    parts: dict[int, list[int]] = {}
    for i, step in enumerate(steps):
        if step.op is pick_op:
            parts.setdefault(step.operands[0], []).append(i)
    found: list[bool] = []
    known: dict[Any, bool] = {}
    for i, step in enumerate(steps):
        if i < flat.inputs or step.op is CONSTANT:
            found.append(True)
        elif step.op is pick_op and step.operands[0] >= flat.inputs:
            found.append(found[step.operands[0]])
        else:
            of = [steps[k] for k in step.operands]
            use = (
                step.op,
                step.params,
                step.type,
                *[x.params if x.op is CONSTANT else x.type for x in of],
            )
            if use not in known:
                known[use] = _has_form(flat, [i, *parts.get(i, ())])
            found.append(known[use])
    return found


def _has_form(flat: Flat, members: Sequence[int]) -> bool:
    region = region_of(flat, members)
    if region is None:
        return True
    try:
        program_text(region.flat)
    except UnsupportedError:
        return False
    return all([flat.steps[i].type.dtype.kind != "O" for i in region.makes])


def _stages(flat: Flat, has_form: Sequence[bool]) -> list[int]:
    """The stage of each step: that of a step with a form is after all NumPy steps that it reads.

    NumPy's steps keep their order, since some draw random numbers. A step that only later stages read is
    moved there, so that less is handed from one region to another.
    """
    steps = flat.steps
    stages, latest = [0] * len(steps), 0
    for i, step in enumerate(steps):
        waits = has_form[i] and step.op is not pick_op
        for k in step.operands:
            stages[i] = max(stages[i], stages[k] + (waits and not has_form[k]))
        if not has_form[i]:
            latest = stages[i] = max(stages[i], latest)
    readers: list[list[int]] = [[] for _ in steps]
    for i, step in enumerate(steps):
        for k in step.operands:
            readers[k].append(i)
    for i in range(len(steps) - 1, flat.inputs - 1, -1):
        step = steps[i]
        is_tuple = step.op is pick_op or step.type.dtype.kind == "O"
        if has_form[i] and not is_tuple and readers[i] and i not in flat.results:
            stages[i] = max(stages[i], min([stages[k] for k in readers[i]]))
    return stages


def run_of(parts: Partition, compile: Compile) -> Callable[..., tuple[Any, ...]] | None:
    """The program as a function of its inputs' values; None if no region becomes machine code."""
    flat = parts.flat
    bound: dict[str, Any] = {"quiet": QUIET, "owned": _owned, "number": _number}
    lines: list[str] = []
    compiled = False
    for stage, (region, others) in enumerate(parts.stages):
        machine = None if region is None else compile(region.flat)
        if region is not None and machine is not None:
            compiled = True
            bound[f"part{stage}"] = machine
            made = "".join([f"v{i}, " for i in region.makes])
            lines.append(f"{made}= part{stage}({', '.join([f'v{k}' for k in region.reads])})")
        own = () if machine is not None or region is None else region.members
        for i in sorted([*own, *others]):
            lines.append(_numpy_line(flat, i, bound))
    if not compiled:
        return None
    names = [f"v{i}" for i in range(flat.inputs)]
    for k in {k for step in flat.steps for k in step.operands} | set(flat.results):
        if flat.steps[k].op is CONSTANT:
            bound[f"v{k}"] = flat.steps[k].constant[()]
    given, results = ", ".join(names), "".join([f"v{i}, " for i in flat.results])
    text = [
        f"def body({given}):",
        *[f"    {line}" for line in lines],
        f"    return owned(({results}), ({''.join([f'{name}, ' for name in names])}))",
        f"def run({given}): return quiet.copy().run({', '.join(['body', *names])})",
    ]
    return build("parts", "\n".join(text), bound)


def _numpy_line(flat: Flat, i: int, bound: dict[str, Any]) -> str:
    """The line that runs a step in NumPy, whose numbers are NumPy's."""
    step = flat.steps[i]
    bound[f"f{i}"] = step.run
    operands = []
    for k in step.operands:
        type = flat.steps[k].type
        is_number = type.shape == () and type.dtype.kind != "O" and flat.steps[k].op is not CONSTANT
        if is_number:
            bound[f"t{k}"] = type.dtype
        operands.append(f"number(v{k}, t{k})" if is_number else f"v{k}")
    return f"v{i} = f{i}({', '.join(operands)})"


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    return np.asarray(value, dtype)[()]


_NUMBERS = (float, int, bool, complex)


def _owned(values: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """The results, none of which shares memory with an input or another."""
    seen = {id(value) for value in given}
    found = []
    for value in values:
        kept = type(value) in _NUMBERS
        if type(value) is np.ndarray and value.shape:
            kept = value.base is None and id(value) not in seen
            seen.add(id(value))
        found.append(value if kept else present(value))
    return tuple(found)
