"""Bugs that are known and not yet mended: programs that the generator leaves out, each of which must fail.

An entry whose relation holds is a failure of the tests, too: it is to be taken out.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.programs import OPERAND, Input, Instruction, Program
from tests.fuzz.relations import Relation, jit_is_numpy


class Known(NamedTuple):
    """A program and arguments for which a relation does not hold, and the instructions to avoid."""

    why: str
    program: Program
    args: tuple[Any, ...]
    relation: Relation
    avoided: re.Pattern[str]
    kinds: str = "fciub"
    """The instructions to avoid have an operand of one of these kinds of dtype."""


def _one(text: str, value: Any) -> tuple[Program, tuple[Any, ...]]:
    value = np.asarray(value)[()]
    inputs = (Input("a", np.shape(value), value.dtype.name),)
    return Program(inputs, (Instruction("v0", text),), ("v0",)), (value,)


KNOWN: tuple[Known, ...] = (
    Known(
        "a complex number has the powers of an array, whose zeros have other signs",
        *_one("a**-1", complex(0.5, 0.0)),
        jit_is_numpy,
        re.compile(r"\*\*(-1|2)$"),
        "c",
    ),
)


def is_avoided(instruction: Instruction, values: Mapping[str, Any]) -> bool:
    """Whether an instruction on these values is one that fails for a known reason."""
    text = "\n".join(instruction.lines())
    kinds = {
        np.asarray(values[name]).dtype.kind for name in OPERAND.findall(text) if name in values
    }
    return any(k.avoided.search(text) and kinds & set(k.kinds) for k in KNOWN)
