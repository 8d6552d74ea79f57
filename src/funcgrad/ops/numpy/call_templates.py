"""Templates of calls: the expressions of a function of NumPy's, recorded once for the types of its operands.

Most of NumPy's functions are compositions of operations here, whose expressions follow from the types of the
operands and from the other arguments. So the second call of a signature is recorded as rows, and later calls
make the same expressions from the rows, in a third of the time. A template is kept only if variables of these
types give the same rows, and if no value was asked for: then none is in it. The operations of the operands
are part of the signature, since some functions look at them, such as `solve` at triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.arrays.reference import COPIED
from funcgrad.expr import Expr, append_rows, subexpressions, symbol
from funcgrad.expr.concrete import value_questions
from funcgrad.graph import CONSTANT, dependent
from funcgrad.ops.base.array_capture import capture
from funcgrad.source import handler_questions, may_be_handled
from funcgrad.typing import Array

Signature: TypeAlias = tuple[Any, ...]
Answering: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""Computes the answer to a call, given a function and its arguments."""


class _Template(NamedTuple):
    constants: tuple[Expr, ...]
    rows: tuple[tuple[Any, ...], ...]
    """``(op, params, type, operands, has a line of the user's, is traced)``; places are those of the operands
    of the call, then of the constants, then of the rows. What is made of constants alone is not traced."""
    results: tuple[int, ...]
    pack: Callable[[list[Expr]], Any] | None
    """The type of several results; None for one expression."""
    may_raise: bool
    """Whether code that handles an error is given it while it is traced."""


call_templates: dict[Signature, _Template | str] = {}
"""By its signature: the template, or that a call was met once, or is unfit for one."""
_ONCE, _UNFIT = "once", "unfit"
_MOST = 2048


def answer_by_template(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answering
) -> Any:
    """The answer to a call, which a template gives from the third call of its signature on."""
    operands: list[Expr] = []
    arrays: list[Array] = []
    key = _signature(func, args, kwargs, operands, arrays)
    if key is None:
        return answer(func, args, kwargs)
    known = call_templates.get(key)
    if type(known) is _Template:
        if not (known.may_raise and may_be_handled(_ERRORS)):
            exprs = [*operands, *_captured(arrays, operands), *known.constants]
            append_rows(exprs, known.rows, operands[0].traced)
            results = [exprs[k] for k in known.results]
            return results[0] if known.pack is None else known.pack(results)
    elif known is _ONCE:
        return _recorded(key, func, args, kwargs, answer, operands, arrays)
    elif known is None:
        if len(call_templates) >= _MOST:
            call_templates.clear()
        call_templates[key] = _ONCE
    return answer(func, args, kwargs)


_ERRORS = frozenset(
    (*("BaseException", "Exception", "IndexError", "LinAlgError", "LookupError"), "ValueError")
)


def _signature(
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    operands: list[Expr],
    arrays: list[Array],
) -> Signature | None:
    """The function, the types of the operands, which join ``operands``, and the other arguments.

    Small arrays, which join ``arrays``, are identified by their entries, since a function may check these.
    None if an argument is of another kind, or the trace is recorded, as that of ``jit`` is once.
    """
    key: list[Any] = [func]
    for arg in args:
        kind = type(arg)
        if kind is Expr:
            if not _joins(arg, operands, key):
                return None
        elif kind in _STATIC or (kind is tuple and _INTEGERS.issuperset(map(type, arg))):
            key += kind, arg
        elif kind is float:
            key += kind, arg.hex()  # which tells zeros by their sign
        elif kind is np.ndarray and arg.nbytes <= _SMALL and arg.dtype.kind in "biufc":
            key += kind, arg.dtype, arg.shape, arg.strides, arg.tobytes()
            arrays.append(arg)
        elif kind is list and 0 < len(arg) <= _LONGEST and type(arg[0]) is Expr:
            key += kind, len(arg)
            if not all([type(item) is Expr and _joins(item, operands, key) for item in arg]):
                return None
        elif not _joins_numbers(arg, key):
            return None
    for name, arg in kwargs.items():
        kind = type(arg)
        key += name, kind
        if kind in _STATIC or (kind is tuple and _INTEGERS.issuperset(map(type, arg))):
            key.append(arg)
        elif not _joins_numbers(arg, key):
            return None
    return tuple(key) if operands else None


def _joins_numbers(arg: object, key: list[Any], depth: int = 3) -> bool:
    """Whether an argument is a number or a short list of such, as axes and widths are, with its part of the
    signature.
    """
    kind = type(arg)
    if kind is float:
        key += kind, arg.hex()  # type: ignore[attr-defined]
    elif kind in _STATIC:
        key += kind, arg
    elif (kind is list or kind is tuple) and depth and len(arg) <= _LONGEST:  # type: ignore[arg-type]
        key += kind, len(arg)  # type: ignore[arg-type]
        return all([_joins_numbers(item, key, depth - 1) for item in arg])  # type: ignore[attr-defined]
    else:
        return False
    return True


_STATIC = frozenset((int, bool, str, type(None), type))
_INTEGERS = frozenset((int,))
_LONGEST = 8
_SMALL = 1024
"""The most bytes of an array that its entries identify."""


def _joins(operand: Expr, operands: list[Expr], key: list[Any]) -> bool:
    """Whether an expression is an operand of a template, with its part of the signature."""
    type, traced = operand.type, operand.traced
    if not type.shape or traced is None or traced.records:
        return False  # (A number may be Python's or NumPy's.)
    if operands:
        if traced is not operands[0].traced:
            return False
        same = [k for k, other in enumerate(operands) if other is operand]
        if same:
            key += "same", same[0]
            return True
    operands.append(operand)
    key += type, operand.op
    return True


def _captured(arrays: Sequence[Array], operands: Sequence[Expr]) -> list[Expr]:
    """The constants of arrays in the trace of the operands."""
    return [capture(array, operands[0].traced.arrays) for array in arrays]  # type: ignore[union-attr]


# -- recording -----------------------------------------------------------------------------------
def _recorded(
    key: Signature,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    answer: Answering,
    operands: list[Expr],
    arrays: list[Array],
) -> Any:
    """The answer to a call, of which a template is made."""
    call_templates[key] = _UNFIT
    asked, handled = value_questions[0], handler_questions[0]
    found = answer(func, args, dict(kwargs))
    may_raise = handler_questions[0] != handled
    made = _template(found, operands, may_raise) if value_questions[0] == asked else None
    if made is not None:
        names = {id(x): symbol(f"x{k}", x.type) for k, x in enumerate(operands)}
        try:
            general = answer(func, tuple(_of_variables(args, names)), dict(kwargs))
        except Exception:  # a variable has no value
            return found
        if _are_alike(made, _template(general, [*names.values()], may_raise)):
            captured = _captured(arrays, operands)
            call_templates[key] = _template(found, [*operands, *captured], may_raise) or _UNFIT
    return found


def _of_variables(args: Iterable[Any], names: Mapping[int, Expr]) -> list[Any]:
    """Arguments with variables in the place of operands, by their ids."""
    return [
        _of_variables(arg, names) if type(arg) is list else names.get(id(arg), arg) for arg in args
    ]


def _template(found: Any, operands: Sequence[Expr], may_raise: bool) -> _Template | None:
    """The template of an answer; None if it has other parts than expressions of the operands."""
    kind = type(found)
    results = [found] if kind is Expr else found
    if not isinstance(results, list | tuple) or not all([type(item) is Expr for item in results]):
        return None
    place = {id(operand): k for k, operand in enumerate(operands)}
    if len(place) < len(operands):  # one array in several places
        return None
    own = frozenset(place)
    nodes = subexpressions(*results, operands=lambda x: () if id(x) in own else x.args)
    made = [node for node in nodes if id(node) not in own]
    constants = [node for node in made if node.op is CONSTANT]
    made = [node for node in made if node.op is not CONSTANT]
    place |= {id(node): len(own) + k for k, node in enumerate([*constants, *made])}
    if sum([node.nbytes for node in constants]) > COPIED or not all(map(_is_plain, made)):
        return None
    operands_of = [tuple([place[id(arg)] for arg in node.args]) for node in made]
    have_line = [node.source is not None for node in made]
    if made and not any(have_line):  # the call itself is not the user's
        return None
    traced = [operand for operand in operands if operand.op is not CONSTANT]
    varying = dependent([*traced, *made], [operand.key for operand in traced])
    rows = [
        (node.op, node.params, node.type, *more, node.key in varying)
        for node, *more in zip(made, operands_of, have_line, strict=True)
    ]
    ends = tuple([place[id(item)] for item in results])
    pack = None if kind is Expr else getattr(kind, "_make", kind)
    return _Template(tuple(constants), tuple(rows), ends, pack, may_raise)


def _is_plain(node: Expr) -> bool:
    """Whether a node is no variable, and has no more than operation, operands and the user's line."""
    marked = hasattr(node, "_numpys") or hasattr(node, "_stored")
    return bool(node.args) and node.label is None and not marked


def _are_alike(one: _Template, other: _Template | None) -> bool:
    """Whether two templates are the same, with equal constants."""
    if other is None or len(one.constants) != len(other.constants):
        return False
    alike = [
        x.type == y.type and x.params[0][1].array.tobytes() == y.params[0][1].array.tobytes()
        for x, y in zip(one.constants, other.constants, strict=True)
    ]
    return all(alike) and one[1:] == other[1:]
