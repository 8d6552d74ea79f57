"""The compiler from large flat programs on numbers to bytecode of the register VM (`vm`).

Bytecode executes the program's steps. Instructions of one opcode are grouped if no dependence forbids it, so
that the VM dispatches once for all of them. A product or sum that only one sum or difference uses is written
into it as a row of signed terms. Every rounding and every sign of a zero stay as they were: the terms are
added in the order of the program. No source is generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, build, repeated_constant
from funcgrad.compiler.native import llvm_jit, vm_instructions
from funcgrad.compiler.native.disassembler import disassembled
from funcgrad.compiler.native.vm_instructions import (
    AS_TRUTH,
    MOST_TERMS,
    SHORT_SUMS,
    UNCHANGED,
    arity,
    instruction_of,
    sum_template,
)
from funcgrad.compiler.python.scalar_ops import native_template
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.columns import EMPTY, ScalarUse
from funcgrad.ops.base.op import Op, astype
from funcgrad.ops.elementwise import arithmetic, exponential

ProductTerm: TypeAlias = tuple[int, int, bool]
"""Two steps that are multiplied, and whether the product is negated; `ONE` leaves the other as it is."""

ONE = -1


class Bytecode(NamedTuple):
    """A program of the VM, and the registers of its constants and results."""

    code: Any
    registers: Any
    """Their contents before a run: constants, after the registers of the inputs."""
    results: Any
    """The registers of the results."""
    constants: Mapping[int, str]
    """The constants as text, by their registers."""


def compile_bytecode(flat: Flat) -> Callable[..., tuple[Any, ...]] | None:
    """A function from the inputs' values to the results; None if the VM does not run the program.

    The program is on numbers, or, for a batch of inputs, on vectors of one length, entry by entry.
    """
    rows = _length(flat)
    if rows is None or not llvm_jit.llvm_available():
        return None
    program = lower_to_bytecode(flat)
    if program is None:
        return None
    from funcgrad.compiler.native.vm import virtual_machine

    try:
        vm = virtual_machine()
    except RuntimeError:  # LLVM refuses its code
        return None
    kinds = [flat.steps[i].type.dtype.kind for i in flat.results]
    bound = {"code": program.code, "initial": program.registers, "places": program.results}
    bound["pool"] = []
    if rows:
        text = _ROWS
        batched = [i for i, step in enumerate(flat.steps[: flat.inputs]) if step.type.shape]
        bound["batched"] = np.array(batched, np.intp)
        bound["unbatched"] = [i for i in range(flat.inputs) if i not in batched]
        bound["results"] = [
            (k, bool if kind == "b" else float, bool(flat.steps[i].type.shape))
            for k, (i, kind) in enumerate(zip(flat.results, kinds, strict=True))
        ]
        bound |= {
            "run_vm": vm.run_rows,
            "np": np,
            "chunk": max(_ENTERED // max(len(program.code), 1), 1),  # no code: results are inputs
        }
    else:
        text = _NUMBERS.format(flat.inputs, "results" if "b" not in kinds else _TRUTHS)
        bound |= {"run_vm": vm.run, "truths": [kind == "b" for kind in kinds]}
    shown = disassembled(program.code.tolist(), program.constants, vm_instructions.widths())
    return build("bytecode", f"# {len(program.code)} words of bytecode:\n{shown}\n{text}", bound)


_NUMBERS = """\
def run(*values):
    registers = pool.pop() if pool else initial.copy()
    registers[:{}] = values
    run_vm(code, registers)
    results = registers.take(places).tolist()
    pool.append(registers)
    return tuple({})
"""
_TRUTHS = "[bool(x) if p else x for x, p in zip(results, truths)]"
_ROWS = """\
def run(*values):
    registers = pool.pop() if pool else initial.copy()
    for i in unbatched:
        registers[i] = values[i]
    given = np.stack([values[i] for i in batched], axis=1, dtype=float)
    found = np.empty((len(given), len(places)))
    for first in range(0, len(given), chunk):
        rows = slice(first, first + chunk)
        run_vm(code, registers, batched, given[rows], places, found[rows])
    pool.append(registers)
    return tuple([found[:, k].astype(kind) if wide else kind(found[-1, k]) for k, kind, wide in results])
"""
# The most rows that the VM runs one by one. More of them are worth a NumPy call for each operation.
_MOST_ROWS = 256
# Words of bytecode that one call of the VM executes, about a tenth of a second: Python looks for interrupts
# between calls.
_ENTERED = 100_000_000


def _length(flat: Flat) -> int | None:
    """The length of the vectors; 0 for a program on numbers, None if there are other shapes."""
    shapes = {step.type.shape for step in flat.steps[: flat.inputs]} - {()}
    if not shapes:
        return 0
    shape = shapes.pop()
    return shape[0] if not shapes and len(shape) == 1 and 0 < shape[0] <= _MOST_ROWS else None


# -- instruction selection: an instruction is the native template of an operation -----------------------
def _selected(flat: Flat, step: FlatStep, opcodes: Mapping[str, int]) -> str | None:
    """The instruction of a step; empty if its value is its operand's, None if there is none."""
    op, dtype = step.op, step.type.dtype
    if dtype.kind not in "fb" or dtype.itemsize not in (1, 8):
        return None
    if op is INPUT or op is CONSTANT:
        return "" if op is INPUT or not step.type.shape else None
    kind = flat.steps[step.operands[-1]].type.dtype.kind
    if kind not in "fb":
        return None
    if op is astype:
        return "" if dtype.kind == "f" or kind == "b" else AS_TRUTH
    template = instruction_of(op, kind, len(step.operands))
    if callable(op.columns.scalar):  # which may be simpler for a constant operand
        constants = tuple([repeated_constant(flat, k) for k in step.operands])
        special = native_template(op, ScalarUse(kind, {}, constants))
        template = special if special == UNCHANGED or special in opcodes else template
    if template == UNCHANGED:
        return ""
    return template if template in opcodes else None


def _selection(flat: Flat, opcodes: Mapping[str, int]) -> list[str] | None:
    shapes = {(), *[step.type.shape for step in flat.steps[: flat.inputs]]}
    memo: dict[Any, str | None] = {}
    names: list[str] = []
    for step in flat.steps:
        use = (step.op, step.type, flat.steps[step.operands[-1]].type if step.operands else None)
        columns = getattr(step.op, "columns", EMPTY)
        known = use in memo and not callable(columns.scalar)
        name = memo[use] if known else _selected(flat, step, opcodes)
        if name is None or step.type.shape not in shapes:
            return None
        memo[use] = name
        names.append(name)
    return names


def _of_floats(op: Op, operands: int) -> str:
    return instruction_of(op, "f", operands) or ""


_ADD, _SUBTRACT = _of_floats(arithmetic.add, 2), _of_floats(arithmetic.subtract, 2)
_MULTIPLY, _NEGATIVE = _of_floats(arithmetic.multiply, 2), _of_floats(arithmetic.negative, 1)
_SOFTPLUS, _SIGMOID = _of_floats(exponential.softplus, 1), _of_floats(exponential.sigmoid, 1)


# -- sums of products ----------------------------------------------------------------------------
class _SumsOfProducts:
    """The steps that are sums of products, and the steps that are written into their only user."""

    def __init__(self, flat: Flat, names: Sequence[str], same: Sequence[int]) -> None:
        self.names = names
        self.operands = [
            tuple([same[k] for k in step.operands[: arity(name)]])
            for name, step in zip(names, flat.steps, strict=True)
        ]
        self.terms: dict[int, list[ProductTerm]] = {}
        self.absorbed = [False] * len(names)
        self.uses = uses = [0] * len(names)
        for i, operands in enumerate(self.operands):
            if names[i]:
                for k in operands:
                    uses[k] += 1
        for k in flat.results:
            uses[same[k]] += 1
        for i, name in enumerate(names):
            if name in (_ADD, _SUBTRACT):
                self._sum(i, name == _SUBTRACT)
            elif name == _NEGATIVE:
                (x,) = self.operands[i]
                if uses[x] == 1 and names[x] == _MULTIPLY:
                    self.terms[i] = [self._term(x, True)]

    def _sum(self, i: int, negated: bool) -> None:
        x, y = self.operands[i]
        if self._can_extend(x):
            terms = self._absorb(x)
            terms.append(self._term(y, negated))
        elif self._can_extend(y) and not negated:
            terms = self._absorb(y)
            terms.append(self._term(x, False))
        else:
            terms = [self._term(x, False), self._term(y, negated)]
        self.terms[i] = terms

    def _can_extend(self, k: int) -> bool:
        return self.uses[k] == 1 and k in self.terms

    def _absorb(self, k: int) -> list[ProductTerm]:
        self.absorbed[k] = True
        return self.terms.pop(k)

    def _term(self, k: int, negated: bool) -> ProductTerm:
        if self.uses[k] == 1 and self.names[k] == _MULTIPLY:
            self.absorbed[k] = True
            x, y = self.operands[k]
            return x, y, negated
        return k, ONE, negated


# -- code ----------------------------------------------------------------------------------------
def lower_to_bytecode(flat: Flat) -> Bytecode | None:
    """The bytecode of a program; None if the VM lacks an instruction for one of its operations."""
    opcodes = vm_instructions.opcodes()
    names = _selection(flat, opcodes)
    if names is None:
        return None
    same = list(range(len(names)))
    register: dict[int, int] = {}
    constants: list[float] = []
    for i, step in enumerate(flat.steps):
        if i < flat.inputs:
            register[i] = i
        elif step.op is CONSTANT:
            register[i] = flat.inputs + len(constants)
            constants.append(float(step.constant))
        elif not names[i]:
            same[i] = same[step.operands[0]]
    register[ONE] = flat.inputs + len(constants)
    constants.extend([1.0, -1.0])
    code = _code(_SumsOfProducts(flat, names, same), register, opcodes)
    registers = np.empty(max(register.values()) + 2)
    registers[flat.inputs : flat.inputs + len(constants)] = constants
    results = np.array([register[same[i]] for i in flat.results], np.intp)
    shown = {flat.inputs + k: repr(value) for k, value in enumerate(constants)}
    return Bytecode(np.array(code, np.uint32), registers, results, shown)


def _code(sums: _SumsOfProducts, register: dict[int, int], opcodes: Mapping[str, int]) -> list[int]:
    """The words of code; each result gets a register."""
    runs = _OpcodeRuns()
    free = count(register[ONE] + 2)
    sigmoids = {sums.operands[i]: i for i, name in enumerate(sums.names) if name == _SIGMOID}
    for i in _by_depth(sums):
        if i in register:
            continue
        name, operands = sums.names[i], sums.operands[i]
        register[i] = next(free)
        other = sigmoids.get(operands) if name == _SOFTPLUS else None
        if other is not None and other not in register:
            register[other] = next(free)
            group = [register[i], register[other], register[operands[0]]]
            runs.add((i, other), opcodes["both"], group, operands)
            continue
        terms = sums.terms.get(i)
        if terms is None or (len(terms) == 2 and terms[0][1] == terms[1][1] == ONE):
            group = [register[i], *[register[k] for k in operands]]
        else:
            operands = tuple([k for term in terms for k in term[:2]])
            name, group = _sum_instruction(terms, register)
            group.insert(0, register[i])
        runs.add((i,), opcodes[name], group, operands)
    return runs.code()


def _by_depth(sums: _SumsOfProducts) -> list[int]:
    """The steps to execute, after those that they need: by depth, which groups equal opcodes.

    (In the program's own order the VM dispatches half as often again.)
    """
    depth: list[int] = []
    for name, operands in zip(sums.names, sums.operands, strict=True):
        depth.append(1 + max([depth[k] for k in operands], default=0) if name else 0)
    written = [i for i, name in enumerate(sums.names) if name and not sums.absorbed[i]]
    return sorted(written, key=depth.__getitem__)


def _sum_instruction(
    terms: Sequence[ProductTerm], register: Mapping[int, int]
) -> tuple[str, list[int]]:
    """The instruction that adds a row of terms, and its operands."""
    if 1 < len(terms) <= MOST_TERMS and terms[0][1] != ONE and terms[1][1:] == (ONE, False):
        terms = [terms[1], terms[0], *terms[2:]]  # the first two commute
    if len(terms) <= MOST_TERMS:
        short = sum_template([(1 if y == ONE else 2, negated) for _, y, negated in terms])
        if short in SHORT_SUMS:
            return short, [register[k] for term in terms for k in term[:2] if k != ONE]
    if any([negated for _, _, negated in terms]):
        sign = (register[ONE], register[ONE] + 1)
        triples = [(register[x], register[y], sign[negated]) for x, y, negated in terms]
        return "signed", [len(terms), *chain.from_iterable(triples)]
    return "terms", [len(terms), *[register[k] for term in terms for k in term[:2]]]


class _OpcodeRuns:
    """Groups by opcode. A run is open, and takes further groups, until one of its results is used."""

    def __init__(self) -> None:
        self._code: list[int] = []
        self._open: dict[int, list[list[int]]] = {}
        self._run_of: dict[int, tuple[int, list[list[int]]]] = {}

    def add(
        self, steps: tuple[int, ...], opcode: int, group: list[int], operands: Sequence[int]
    ) -> None:
        run_of, opened = self._run_of, self._open
        for k in operands:
            found = run_of.get(k)
            if found is not None and opened.get(found[0]) is found[1]:
                self._close(found[0])
        run = opened.get(opcode)
        if run is None:
            run = opened[opcode] = []
        run.append(group)
        for step in steps:
            run_of[step] = opcode, run

    def _close(self, opcode: int) -> None:
        run = self._open.pop(opcode)
        self._code.append(opcode)
        self._code.append(len(run))
        for group in run:
            self._code.extend(group)

    def code(self) -> list[int]:
        for opcode in list(self._open):
            self._close(opcode)
        return self._code
