"""Large programs on numbers as tapes, which one machine runs (`vm`): no code is made.

A tape does what the program's steps do. Operations of a kind stand together where nothing forbids it, so
that the machine chooses what to do once for all of them. What only a sum or a difference uses, products
and other sums, is written into it as a row of signed terms. Every rounding stays as it was, and every
zero's sign: the terms are added in the order of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, build
from funcgrad.compiler.native import numba_jit as native
from funcgrad.compiler.native.disassembler import listing
from funcgrad.graph import CONSTANT, INPUT

# Steps from which a tape is made. Python for fewer is compiled in less time than numba takes to be loaded.
LEAST = 5000

ProductTerm: TypeAlias = tuple[int, int, bool]
"""Two steps that are multiplied, and whether the product is negated; `ONE` leaves the other as it is."""

ONE = -1
_SAME = ("positive", "real", "conjugate", "stop_gradient", "reshape", "transpose", "broadcast_to")
_ON_TRUTH = {
    **dict.fromkeys(("add", "maximum", "bitwise_or", "logical_or"), "or"),
    **dict.fromkeys(("multiply", "minimum", "bitwise_and", "logical_and"), "and"),
    **dict.fromkeys(("bitwise_xor", "logical_xor"), "not_equal"),
    **dict.fromkeys(("invert", "logical_not"), "not"),
}
_ON_NUMBERS = {"fabs": "absolute", "logical_and": "and", "logical_or": "or", "logical_not": "not"}
_POWERS = {2.0: "square", -1.0: "reciprocal", 0.5: "sqrt"}
_OF_ONE = frozenset(_POWERS.values())  # also where a power, which has two operands, is one of them


class Tape(NamedTuple):
    """What the machine runs, and where in its memory things stand."""

    code: Any
    memory: Any
    """What it holds before a run: constants, behind the places of the inputs."""
    results: Any
    """The places of the results."""
    held: Mapping[int, str]
    """The constants, by their places, as they are written."""


def compile_tape(flat: Flat) -> Callable[..., tuple[Any, ...]] | None:
    """A function from the inputs' values to the results; None where there is no machine for it.

    The program is on numbers, or on rows of as many numbers, entry by entry: a batch of inputs.
    """
    rows = _length(flat)
    if len(flat.steps) < LEAST or rows is None or not native.available():
        return None
    try:
        from funcgrad.compiler.native import vm as machine  # loads numba, or its machine code
    except Exception:  # numba fails in many ways, and none is worth an error
        return None
    tape = lower_to_bytecode(flat, machine.NUMBERS)
    if tape is None:
        return None
    kinds = [flat.steps[i].type.dtype.kind for i in flat.results]
    bound = {"tape": tape.code, "blank": tape.memory, "places": tape.results, "memories": []}
    if rows:
        text = _ROWS
        moving = [i for i, step in enumerate(flat.steps[: flat.inputs]) if step.type.shape]
        bound["moving"] = np.array(moving, np.intp)
        bound["fixed"] = [i for i in range(flat.inputs) if i not in moving]
        bound["results"] = [
            (k, bool if kind == "b" else float, bool(flat.steps[i].type.shape))
            for k, (i, kind) in enumerate(zip(flat.results, kinds, strict=True))
        ]
        bound |= {
            "machine": machine.run_rows,
            "np": np,
            "chunk": max(_ENTERED // max(len(tape.code), 1), 1),  # no code: results are inputs
        }
    else:
        text = _NUMBERS.format(flat.inputs, "results" if "b" not in kinds else _TRUTHS)
        bound |= {"machine": machine.run, "truths": [kind == "b" for kind in kinds]}
    shown = listing(tape.code.tolist(), tape.held, machine.WIDTHS)
    return build("tape", f"# {len(tape.code)} numbers on a tape:\n{shown}\n{text}", bound)


_NUMBERS = """\
def run(*values):
    memory = memories.pop() if memories else blank.copy()
    memory[:{}] = values
    machine(tape, memory)
    results = memory.take(places).tolist()
    memories.append(memory)
    return tuple({})
"""
_TRUTHS = "[bool(x) if p else x for x, p in zip(results, truths)]"
_ROWS = """\
def run(*values):
    memory = memories.pop() if memories else blank.copy()
    for i in fixed:
        memory[i] = values[i]
    given = np.stack([values[i] for i in moving], axis=1, dtype=float)
    found = np.empty((len(given), len(places)))
    for first in range(0, len(given), chunk):
        rows = slice(first, first + chunk)
        machine(tape, memory, moving, given[rows], places, found[rows])
    memories.append(memory)
    return tuple([found[:, k].astype(kind) if wide else kind(found[-1, k]) for k, kind, wide in results])
"""
# Rows up to which they are run one by one. More of them are worth a NumPy call for each operation.
_MOST_ROWS = 256
# Numbers on a tape that the machine is entered for: a tenth of a second, after which Python looks whether
# it was interrupted.
_ENTERED = 100_000_000


def _length(flat: Flat) -> int | None:
    """How many numbers a row has; 0 for a program on numbers, None where there are other shapes."""
    shapes = {step.type.shape for step in flat.steps[: flat.inputs]} - {()}
    if not shapes:
        return 0
    shape = shapes.pop()
    return shape[0] if not shapes and len(shape) == 1 and 0 < shape[0] <= _MOST_ROWS else None


# -- names ---------------------------------------------------------------------------------------
def _name(flat: Flat, step: FlatStep) -> str | None:
    """What the machine calls an operation; empty where it does nothing, None where it is not known."""
    op, dtype = step.op, step.type.dtype
    if dtype.kind not in "fb" or dtype.itemsize not in (1, 8):
        return None
    if op is INPUT or op is CONSTANT:
        return "" if op is INPUT or not step.type.shape else None
    of = flat.steps[step.operands[-1]].type.dtype.kind
    if of not in "fb":
        return None
    if op.name in _SAME or (op.name == "astype" and (dtype.kind == "f" or of == "b")):
        return ""
    if op.name == "astype":
        return "truth"
    if op.name == "power":
        exponent = flat.steps[step.operands[1]]
        while exponent.op.name == "broadcast_to":
            exponent = flat.steps[exponent.operands[0]]
        if exponent.op is CONSTANT:
            return _POWERS.get(exponent.constant.item(), "power")
    name: str = op.name
    return (_ON_TRUTH if of == "b" else _ON_NUMBERS).get(name, name)


def _named(flat: Flat, numbers: Mapping[str, int]) -> list[str] | None:
    shapes = {(), *[step.type.shape for step in flat.steps[: flat.inputs]]}
    memo: dict[Any, str | None] = {}
    names: list[str] = []
    for step in flat.steps:
        what = (step.op, step.type, flat.steps[step.operands[-1]].type if step.operands else None)
        plain = step.op.name != "power"
        name = memo.get(what) if plain and what in memo else _name(flat, step)
        if name is None or (name and name not in numbers) or step.type.shape not in shapes:
            return None
        memo[what] = name
        names.append(name)
    return names


# -- rows of terms -------------------------------------------------------------------------------
class _Rows:
    """Which steps are rows of terms, and which are written into their only user."""

    def __init__(self, flat: Flat, names: Sequence[str], same: Sequence[int]) -> None:
        self.names = names
        self.operands = [
            tuple([same[k] for k in (step.operands[:1] if name in _OF_ONE else step.operands)])
            for name, step in zip(names, flat.steps, strict=True)
        ]
        self.of: dict[int, list[ProductTerm]] = {}
        self.inside = [False] * len(names)
        self.uses = uses = [0] * len(names)
        for i, operands in enumerate(self.operands):
            if names[i]:
                for k in operands:
                    uses[k] += 1
        for k in flat.results:
            uses[same[k]] += 1
        for i, name in enumerate(names):
            if name == "add" or name == "subtract":
                self._sum(i, name == "subtract")
            elif name == "negative":
                (x,) = self.operands[i]
                if uses[x] == 1 and names[x] == "multiply":
                    self.of[i] = [self._term(x, True)]

    def _sum(self, i: int, negated: bool) -> None:
        x, y = self.operands[i]
        if self._grows(x):
            row = self._taken(x)
            row.append(self._term(y, negated))
        elif self._grows(y) and not negated:
            row = self._taken(y)
            row.append(self._term(x, False))
        else:
            row = [self._term(x, False), self._term(y, negated)]
        self.of[i] = row

    def _grows(self, k: int) -> bool:
        return self.uses[k] == 1 and k in self.of

    def _taken(self, k: int) -> list[ProductTerm]:
        self.inside[k] = True
        return self.of.pop(k)

    def _term(self, k: int, negated: bool) -> ProductTerm:
        if self.uses[k] == 1 and self.names[k] == "multiply":
            self.inside[k] = True
            x, y = self.operands[k]
            return x, y, negated
        return k, ONE, negated


# -- the tape --------------------------------------------------------------------------------------
def lower_to_bytecode(flat: Flat, numbers: Mapping[str, int]) -> Tape | None:
    """The tape of a program; None where the machine does not know all of its operations."""
    names = _named(flat, numbers)
    if names is None:
        return None
    same = list(range(len(names)))
    place: dict[int, int] = {}
    held: list[float] = []
    for i, step in enumerate(flat.steps):
        if i < flat.inputs:
            place[i] = i
        elif step.op is CONSTANT:
            place[i] = flat.inputs + len(held)
            held.append(float(step.constant))
        elif not names[i]:
            same[i] = same[step.operands[0]]
    place[ONE] = flat.inputs + len(held)
    held.extend([1.0, -1.0])
    code = _code(_Rows(flat, names, same), place, numbers)
    memory = np.empty(max(place.values()) + 2)
    memory[flat.inputs : flat.inputs + len(held)] = held
    results = np.array([place[same[i]] for i in flat.results], np.intp)
    written = {flat.inputs + k: repr(value) for k, value in enumerate(held)}
    return Tape(np.array(code, np.uint32), memory, results, written)


def _code(rows: _Rows, place: dict[int, int], numbers: Mapping[str, int]) -> list[int]:
    """The tape; each result on it gets a place."""
    runs = _Runs()
    free = count(place[ONE] + 2)
    sigmoids = {rows.operands[i]: i for i, name in enumerate(rows.names) if name == "sigmoid"}
    for i in _by_depth(rows):
        if i in place:
            continue
        name, operands = rows.names[i], rows.operands[i]
        place[i] = next(free)
        other = sigmoids.get(operands) if name == "softplus" else None
        if other is not None and other not in place:
            place[other] = next(free)
            group = [place[i], place[other], place[operands[0]]]
            runs.add((i, other), numbers["both"], group, operands)
            continue
        row = rows.of.get(i)
        if row is None or (len(row) == 2 and row[0][1] == row[1][1] == ONE):
            group = [place[i], *[place[k] for k in operands]]
        else:
            operands = tuple([k for term in row for k in term[:2]])
            name, group = _row(row, place, numbers)
            group.insert(0, place[i])
        runs.add((i,), numbers[name], group, operands)
    return runs.code()


def _by_depth(rows: _Rows) -> list[int]:
    """The steps to write, after those that they need: by depth, which brings those of a kind together.

    (In the program's own order the machine has to choose half as often again.)
    """
    depth: list[int] = []
    for name, operands in zip(rows.names, rows.operands, strict=True):
        depth.append(1 + max([depth[k] for k in operands], default=0) if name else 0)
    written = [i for i, name in enumerate(rows.names) if name and not rows.inside[i]]
    return sorted(written, key=depth.__getitem__)


def _row(
    row: Sequence[ProductTerm], place: Mapping[int, int], numbers: Mapping[str, int]
) -> tuple[str, list[int]]:
    """What adds a row of terms, and its operands."""
    if any([negated for _, _, negated in row]):
        sign = (place[ONE], place[ONE] + 1)
        triples = [(place[x], place[y], sign[negated]) for x, y, negated in row]
        return "signed", [len(row), *chain.from_iterable(triples)]
    pairs = [place[k] for term in row for k in term[:2]]
    short = f"terms {len(row)}"
    return (short, pairs) if short in numbers else ("terms", [len(row), *pairs])


class _Runs:
    """Groups by operation, which wait for more of their kind until one of their results is asked for."""

    def __init__(self) -> None:
        self._code: list[int] = []
        self._waiting: dict[int, list[list[int]]] = {}
        self._home: dict[int, tuple[int, list[list[int]]]] = {}

    def add(
        self, steps: tuple[int, ...], number: int, group: list[int], operands: Sequence[int]
    ) -> None:
        home, waiting = self._home, self._waiting
        for k in operands:
            found = home.get(k)
            if found is not None and waiting.get(found[0]) is found[1]:
                self._write(found[0])
        run = waiting.get(number)
        if run is None:
            run = waiting[number] = []
        run.append(group)
        for step in steps:
            home[step] = number, run

    def _write(self, number: int) -> None:
        run = self._waiting.pop(number)
        self._code.append(number)
        self._code.append(len(run))
        for group in run:
            self._code.extend(group)

    def code(self) -> list[int]:
        for number in list(self._waiting):
            self._write(number)
        return self._code
