"""Numbers that are read from text, ``float(f"{x:.2f}")`` or ``eval(f"2*{x}")``: their derivative is zero.

As `round` does, they warn where the value is differentiated. ``float(str(x))``, which rounds nothing, is how
code says that a derivative of zero is meant; a Decimal or a Fraction is made from any text.
"""

from __future__ import annotations

from dis import get_instructions
from functools import lru_cache
from opcode import opmap
from types import CodeType, FrameType

from funcgrad.expr.node import ExprBase
from funcgrad.expr.registry import functions
from funcgrad.source import is_for_people, reader_of_text, warn


def warn_of_number(root: ExprBase, caller: FrameType, rounds: bool) -> None:
    """Warn if the text of a differentiated value, which the caller asks for, is read as a number again."""
    if root.traced is None or not functions["is_varied"](root):
        return
    place = (caller.f_code, caller.f_lasti)
    reader = reader_of_text(*place) or _reader_of_variable(*place)
    if reader in _RATIONALS or (rounds and reader == "float"):
        warn(
            f"{reader}: a number that is read from the text of a differentiated value has derivative zero, "
            f"as a step has; compute with the value itself, or write {reader}(str(fg.stop_gradient(x))) if "
            "the derivative is meant to be zero"
        )
    elif reader in _EVALUATORS or (reader != "float" and _is_for_evaluation(caller)):
        warn(
            "eval: the text of a differentiated value, which code that evaluates text asks for, has "
            "derivative zero; give the evaluated code the values by name, as eval('f(p)', {'f': f, 'p': p})"
        )


@lru_cache(maxsize=1024)
def _reader_of_variable(code: CodeType, offset: int) -> str:
    """As `reader_of_text`, of the variable that is given the text, as in ``s = f"{x:.2f}"; y = float(s)``."""
    steps = list(get_instructions(code))
    end = next((step for step in steps if step.offset > offset and "STORE_" in step.opname), None)
    if end is None or end.opname.startswith(_STORES_OF_ITEMS):
        return ""
    names = [_first_name(step.argval) for step in steps]
    readers = (
        read.argval
        for read, argument, name in zip(steps, steps[1:], names[1:], strict=False)
        if read.opname in _READS_OF_NAMES
        and argument.opname.startswith("LOAD_")
        and name == _first_name(end.argval)
    )
    return next((name for name in readers if name in _READERS), "")


def _first_name(argument: object) -> object:
    """The variable of an instruction; the first of one that reads or stores two."""
    return argument[0] if isinstance(argument, tuple) and argument else argument


def _is_for_evaluation(caller: FrameType) -> bool:
    """Whether code that calls Python's `eval` or `exec` makes a text which is not for people."""
    code = caller.f_code
    if _EVALUATORS.isdisjoint(code.co_names) or is_for_people(code, caller.f_lasti):
        return False
    names = [step.argval for step in get_instructions(code) if step.opname in _READS_OF_NAMES]
    return not _EVALUATORS.isdisjoint(names)


_RATIONALS = ("Decimal", "Fraction")
_EVALUATORS = frozenset(("eval", "exec"))
_READERS = frozenset((*_RATIONALS, *_EVALUATORS, "float"))
_STORES_OF_ITEMS = ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR")
_READS_OF_NAMES = ("LOAD_GLOBAL", "LOAD_NAME")


def is_remainder_of_text(caller: FrameType) -> bool:
    """Whether code runs ``text % x``, which asks x for a number; in ``number % x``, x itself is asked."""
    place = caller.f_lasti
    return caller.f_code.co_code[place : place + 2] in _REMAINDERS


def _operation(code: CodeType) -> bytes:
    """The instruction of the one binary operator in code."""
    place = next(i for i in range(0, len(code.co_code), 2) if code.co_code[i] == opmap["BINARY_OP"])
    return code.co_code[place : place + 2]


_REMAINDERS = [_operation(compile(text, "", "exec")) for text in ("a % b", "a %= b")]
