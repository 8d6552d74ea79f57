"""Comparisons in code that looks for Python's own truth values, as ``(x > 0) is True`` and ``case True:``.

`is` looks at the object itself, so that an expression is neither True nor False. In such code a comparison
of traced numbers of Python's is answered at once, as ``if x > 0:`` is. NumPy's numbers give NumPy's truth
values, which are not Python's, either.
"""

from __future__ import annotations

from dis import get_instructions
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.expr.node import ExprBase
from funcgrad.expr.reported_class import is_numpys_number


def as_truth(made: Any, x: object, y: object, caller: FrameType) -> Any:
    """What a comparison gives to the code that makes it: a truth value if that looks for Python's own."""
    code = caller.f_code
    if not any(map(_is_truth, code.co_consts)):
        return made
    if not isinstance(made, ExprBase) or made.shape or made.traced is None:
        return made
    if not _tests_identity(code) or any([_is_numpys(value) for value in (x, y)]):
        return made
    return bool(made)


def _is_numpys(value: object) -> bool:
    if isinstance(value, ExprBase):
        return is_numpys_number(value)
    return isinstance(value, np.generic | np.ndarray)


@lru_cache(maxsize=1024)
def _tests_identity(code: Any) -> bool:
    """Whether code looks by `is` whether what it compares, or a part of what it matches, is True or False."""
    steps = list(get_instructions(code))
    return any(
        [
            test.opname == "IS_OP" and _is_truth(constant.argval) and value.opname in _COMPUTED
            for value, constant, test in zip(steps, steps[1:], steps[2:], strict=False)
        ]
    )


def _is_truth(value: object) -> bool:
    return value is True or value is False


_COMPUTED = ("COMPARE_OP", "COPY", "SWAP", "UNPACK_EX", "UNPACK_SEQUENCE")
