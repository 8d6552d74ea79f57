"""An interpreter of large programs on numbers, for their first runs, which take less time than compiling.

A step is a function of `math` or of a template (`scalar_ops`), on Python's numbers, so that results have the
bits that the generated code gives. `math` raises where NumPy gives an inf or a nan: then NumPy runs the
program.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from funcgrad.compiler.flat_program import Flat, FlatStep, interpret
from funcgrad.compiler.python.scalar_ops import BOUND, template_of
from funcgrad.graph import CONSTANT, INPUT

_Instruction: TypeAlias = tuple[Callable[..., Any], int, Any, int | None]
"""What runs, the slot of its result, and the slots of two operands; of one and None; or a tuple and -1."""

_OPERATORS: dict[str, Callable[..., Any]] = {
    "({0} + {1})": operator.add,
    "({0} - {1})": operator.sub,
    "({0} * {1})": operator.mul,
    "({0} / {1})": operator.truediv,
    "(-{0})": operator.neg,
}
_CALL = r"(\w+)\((?:\{0\}|\{0\}, \{1\})\)"


class ScalarInterpreter(NamedTuple):
    """A program on numbers as the instructions of an interpreter."""

    flat: Flat
    slots: tuple[Any, ...]
    """The constants, each in the slot of its step."""
    instructions: tuple[_Instruction, ...]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The results, as Python's numbers."""
        flat, slots = self.flat, list(self.slots)
        for i, step in enumerate(flat.steps[: flat.inputs]):
            slots[i] = _KINDS[step.type.dtype.kind](values[i])
        try:
            for function, result, first, second in self.instructions:
                if second is None:
                    slots[result] = function(slots[first])
                elif second >= 0:
                    slots[result] = function(slots[first], slots[second])
                else:
                    slots[result] = function(*[slots[k] for k in first])
        except (ArithmeticError, ValueError):
            return list(interpret(flat, values))
        return [slots[i] for i in flat.results]


def interpret_scalars(flat: Flat) -> ScalarInterpreter | None:
    """The interpreter of a program; None if not all of its steps are on plain numbers.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x")
    >>> interpret_scalars(flatten_program([fg.sqrt(x) * x, x / 0.0], [x])).run([4.0])
    [8.0, inf]
    """
    instructions = _instructions(flat)
    if instructions is None:
        return None
    constants = [step.constant.item() if step.op is CONSTANT else None for step in flat.steps]
    return ScalarInterpreter(flat, tuple(constants), tuple(instructions))


_KINDS: dict[str, Callable[[Any], Any]] = {"f": float, "c": complex, "i": int, "b": bool}


def _instructions(flat: Flat) -> list[_Instruction] | None:
    code: list[_Instruction] = []
    functions: dict[Any, Callable[..., Any] | None] = {}
    steps = flat.steps
    types = [id(step.type) for step in steps]  # (most are one object, which need not be hashed)
    for i, (op, operands, _, _) in enumerate(steps):
        if op is INPUT or op is CONSTANT:
            if template_of(flat, steps[i]) is None:
                return None
            continue
        count = len(operands)
        use = op, types[i], types[operands[-1]] if count else 0, count
        function = functions.get(use)
        if function is None:
            function = _function(flat, steps[i])
            if not callable(op.columns.scalar):  # such templates depend on params and constants
                functions[use] = function
        if function is None:
            return None
        if count == 2:
            code.append((function, i, operands[0], operands[1]))
        elif count == 1:
            code.append((function, i, operands[0], None))
        else:
            code.append((function, i, operands, -1))
    return code


def _function(flat: Flat, step: FlatStep) -> Callable[..., Any] | None:
    template = template_of(flat, step)
    return None if template is None else _of_template(template, len(step.operands))


@lru_cache(maxsize=1024)
def _of_template(template: str, operands: int) -> Callable[..., Any]:
    known = _OPERATORS.get(template)
    if known is not None:
        return known
    call = re.fullmatch(_CALL, template)
    found: Callable[..., Any]
    if call is not None and call[1] in BOUND and template.count("{") == operands:
        found = BOUND[call[1]]
        return found
    names = [f"a{k}" for k in range(operands)]
    found = eval(f"lambda {', '.join(names)}: {template.format(*names)}", dict(BOUND))
    return found
