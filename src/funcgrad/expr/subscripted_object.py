"""What a line of code indexes by a truth value: an array, whose entries it masks, or a list.

`a[x > 0]` of a NumPy array has a new axis, of length 1 or 0; ``["a", "b"][x > 0]`` is an item. Both ask the
condition by ``__index__``, and neither says who asks. So the line that runs is read, and what it names is
looked up.
"""

from __future__ import annotations

import ast
import builtins
import dis
from collections.abc import Mapping
from functools import lru_cache
from inspect import getattr_static
from types import CodeType, FrameType, MemberDescriptorType, ModuleType
from typing import Any

from funcgrad.source import OURS, type_error, written

_SEQUENCES = (list, tuple, str, bytes, range)
_UNKNOWN = object()


def refuse_mask(frame: FrameType) -> None:
    """Refuse to answer by an integer where an array may ask: NumPy then takes the condition for a mask."""
    if _may_be_masked(frame):
        raise type_error(
            "an index: expected an integer for the place in a list, but got a truth value, which of an array "
            "selects all or nothing; write a[int(x > 0)]",
        )


def _may_be_masked(frame: FrameType) -> bool:
    """Whether what the instruction of a frame subscripts is an array, or may be one."""
    code = frame.f_code
    if OURS[code.co_filename] or not _is_subscript(code, frame.f_lasti):
        return False
    node = _subscript(code, frame.f_lasti)
    if node is None:
        return True
    if not _has_number(node.slice):  # a slice asks for its bounds
        return False
    return not isinstance(_value(node.value, frame), _SEQUENCES)


@lru_cache(maxsize=4096)
def _is_subscript(code: CodeType, offset: int) -> bool:
    """Whether an instruction reads, stores or deletes an item; Python 3.14 reads by ``BINARY_OP``."""
    step = next((step for step in dis.get_instructions(code) if step.offset == offset), None)
    return step is not None and ("SUBSCR" in step.opname or step.argrepr == "[]")


@lru_cache(maxsize=4096)
def _subscript(code: CodeType, offset: int) -> ast.Subscript | None:
    """The expression ``a[i]`` that an instruction evaluates; None unless it is on one line."""
    try:
        node = ast.parse(written((code, offset)).strip(), mode="eval").body
    except SyntaxError:
        return None
    return node if isinstance(node, ast.Subscript) else None


def _has_number(index: ast.expr) -> bool:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    return any([not isinstance(item, ast.Slice | ast.Constant) for item in items])


def _value(node: ast.expr, frame: FrameType) -> Any:
    """What an expression of names, attributes and items has for a value, or one of its type."""
    if isinstance(node, ast.List | ast.ListComp):
        return []
    if isinstance(node, ast.Tuple):
        return ()
    if isinstance(node, ast.JoinedStr):
        return ""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        scopes: tuple[Mapping[str, Any], ...] = (frame.f_locals, frame.f_globals, vars(builtins))
        return next((scope[node.id] for scope in scopes if node.id in scope), _UNKNOWN)
    if isinstance(node, ast.Attribute):
        return _attribute(_value(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant | ast.Name):
        return _item(_value(node.value, frame), _value(node.slice, frame))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        called = _value(node.func, frame)
        return [] if any([called is kind for kind in (list, tuple, sorted, str)]) else _UNKNOWN
    return _UNKNOWN


def _attribute(owner: object, name: str) -> Any:
    """An attribute, without code of its owner's."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, _UNKNOWN)
    found = getattr_static(owner, name, _UNKNOWN)
    if isinstance(found, MemberDescriptorType):
        return getattr(owner, name, _UNKNOWN)
    return _UNKNOWN if hasattr(type(found), "__get__") else found


def _item(owner: object, key: object) -> Any:
    if type(owner) not in (list, tuple, dict) or type(key) not in (int, str):
        return _UNKNOWN
    items: Any = owner
    try:
        return items[key]
    except LookupError:
        return _UNKNOWN
