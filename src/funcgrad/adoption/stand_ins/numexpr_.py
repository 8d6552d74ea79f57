"""``numexpr`` for adopted code: an expression with traced values runs on NumPy's functions.

numexpr reads the names in the text from its caller's frame, and compiles the text for its own machine.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any

import numexpr
import numpy as np
from numexpr.expressions import functions as known
from numexpr.necompiler import getContext, getExprNames

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import Reference, exported, holds_expr
from funcgrad.numpy.creation import asarray


def evaluate(
    ex: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: Any = None,
    order: str = "K",
    casting: str = "same_kind",
    sanitize: bool | None = None,
    _frame_depth: int = 3,
    **kwargs: Any,
) -> Any:
    """As `numexpr.evaluate`."""
    found = _operands(ex, local_dict, global_dict, sys._getframe(_frame_depth - 2), sanitize)
    options = {"order": order, "casting": casting, "sanitize": sanitize, **kwargs}
    _LAST.call = ex, out, options
    return _run(ex, found, out, options)


def re_evaluate(
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    _frame_depth: int = 2,
) -> Any:
    """As `numexpr.re_evaluate`: the last expression of this thread, with the values of now."""
    call = getattr(_LAST, "call", None)
    if call is None:
        raise RuntimeError("A previous evaluate() execution was not found, please call it first")
    ex, out, options = call
    frame = sys._getframe(_frame_depth - 1)
    found = _operands(ex, local_dict, global_dict, frame, options["sanitize"])
    return _run(ex, found, out, options)


_LAST = threading.local()


def _operands(
    ex: str,
    local_dict: Mapping[str, Any] | None,
    global_dict: Mapping[str, Any] | None,
    caller: FrameType,
    sanitize: bool | None,
) -> dict[str, Any]:
    """The values of the names in an expression, which numexpr checks."""
    names, _ = getExprNames(ex, getContext({}), sanitize=True if sanitize is None else sanitize)
    local = caller.f_locals if local_dict is None else local_dict
    others = caller.f_globals if global_dict is None else global_dict
    return {name: local[name] if name in local else others[name] for name in names}


def _run(ex: str, found: dict[str, Any], out: Any, options: dict[str, Any]) -> Any:
    if not holds_expr([*found.values()]) and not (isinstance(out, Reference) and holds_expr(out)):
        made = numexpr.evaluate(ex, exported(found), {}, out=exported(out), **options)
        return mutable(made) if out is None else out
    space = {name: asarray(value) for name, value in found.items()}
    made = eval(ex, {"__builtins__": {}, **space, **_FUNCTIONS})
    if out is None:
        return mutable(made)
    out[...] = made
    return out


_FUNCTIONS = {
    **{name: getattr(np, name) for name in known if hasattr(np, name)},
    "complex": lambda x, y: x + 1j * y,
}


def __getattr__(name: str) -> Any:
    return getattr(numexpr, name)
