"""Params of operations as JSON values, and back: numbers, names, tuples, and references to bodies.

A body is stored once, in a list beside the nodes, and referred to by its index; so a file is linear in the
size of the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Never

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.control.custom_rule import Wiring
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import Expr
from funcgrad.graph import Key
from funcgrad.show.json.validate_node import reason
from funcgrad.transforms.custom.implicit import residual_body
from funcgrad.transforms.custom.primitive import Foreign
from funcgrad.transforms.custom.solvers import FUNCTIONS, Problem

DEEPEST_TUPLE = 20  # tuples within tuples
_KINDS = {name: kind for kind, name in FUNCTIONS.items()}


# -- writing -------------------------------------------------------------------------------------
def pack(value: object, expr: Expr, places: Mapping[Body, int], depth: int = 1) -> Any:
    """A param of a node as a JSON value; TypeError for what another process could not have."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is tuple and depth < DEEPEST_TUPLE:
        return [pack(item, expr, places, depth + 1) for item in value]
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return {"dtype": value.str}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, Key):
        return {"key": value.hex()}
    if isinstance(value, Body):
        return {"body": places[value]}
    if isinstance(value, LoopSpec):
        return {"loop": list(value[:4] if value.masked_by is None else value)}
    if isinstance(value, Wiring):
        return {"rule": list(value[:3] if value.linear else value)}
    if isinstance(value, Problem) and value.solver is None:
        return {"problem": [value.function, places[value.body], value.count]}
    raise _refused(value, expr)


def _refused(value: object, expr: Expr) -> TypeError:
    if isinstance(value, Foreign):
        return TypeError(
            f"to_json: expected operations of the package, but got the primitive {value.name!r}, which "
            "another process would not find; write it with the package's operations"
        )
    if isinstance(value, Problem):
        return TypeError(
            f"to_json: expected the solver of the package, but {value.who} holds one of your own, which "
            "another process would not find; leave out solver="
        )
    return TypeError(
        f"to_json: expected params of numbers, names, dtypes and tuples, but {expr.op.name} holds "
        f"{type(value).__name__}; store the expression of a finished trace(f, x)"
    )


# -- reading -------------------------------------------------------------------------------------
def mistake(expected: str, got: object, where: str = "") -> Never:
    """The error of a text that is not what `to_json` writes."""
    raise ValueError(f"from_json: expected {expected}{where}, but got {short_text(got)}")


def short_text(value: Any) -> str:
    """What stands in a text, in at most 60 characters."""
    if isinstance(value, list | dict) and len(value) > 12:
        return f"{type(value).__name__} of {len(value)}"
    try:
        line = ascii(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists
        line = type(value).__name__
    return line if len(line) <= 60 else line[:57] + "..."


def unpack(value: object, where: str, bodies: Sequence[Body], depth: int = 1) -> Any:
    """A param from its JSON value; ``bodies`` are those that it may mean by their places."""
    if depth > DEEPEST_TUPLE:
        raise ValueError(
            f"from_json: expected at most {DEEPEST_TUPLE} nested values{where}, but got more"
        )
    match value:
        case None | bool() | str():
            return value
        case int() if abs(value) < 2**63:
            return value
        case list():
            return tuple([unpack(item, where, bodies, depth + 1) for item in value])
        case {"float": str(text), **rest} if not rest:
            return _float(text, where)
        case {"complex": [str(real), str(imag)], **rest} if not rest:
            return complex(_float(real, where), _float(imag, where))
        case {"dtype": text, **rest} if not rest:
            return dtype_of(text, where)
        case {"ellipsis": True, **rest} if not rest:
            return Ellipsis
        case {"key": str(text), **rest} if not rest and re.fullmatch("[0-9a-f]{32}", text):
            return Key(bytes.fromhex(text))
        case {"body": place, **rest} if not rest:
            return _body(place, bodies, where)
        case {"loop": [states, sequences, length, bool(reverse), *mask], **rest} if (
            not rest
            and _are_counts([states, sequences, length, *mask], 3 + len(mask))
            and len(mask) < 2
        ):
            return LoopSpec(states, sequences, length, reverse, *mask)
        case {"rule": [results, arguments, bool(forward), *linear], **rest} if (
            not rest and _are_counts([results, arguments], 2) and linear in ([], [False])
        ):
            return Wiring(results, arguments, forward, linear != [False])
        case {"problem": [str(who), place, count], **rest} if not rest and who in _KINDS:
            return _problem(who, _body(place, bodies, where), count, where)
    mistake("a value of a param", value, where)


def _are_counts(counts: Sequence[Any], wanted: int) -> bool:
    return len(counts) == wanted and all([type(n) is int and -1 <= n < 2**63 for n in counts])


def _body(place: int, bodies: Sequence[Body], where: str) -> Body:
    if type(place) is not int or not 0 <= place < len(bodies):
        mistake("the place of an earlier body", place, where)
    return bodies[place]


def _problem(who: str, body: Body, count: int, where: str) -> Problem:
    xs = body.inputs[: count if type(count) is int and 0 < count <= len(body.inputs) else 0]
    if not xs:
        mistake("how many of the body's inputs are unknown", count, where)
    kind = _KINDS[who]
    shapes = [[x.shape for x in exprs] for exprs in (xs, body.outputs)]
    sizes = [sum(x.size for x in exprs) for exprs in (xs, body.outputs)]
    real = all([x.dtype.kind == "f" and -1 not in x.shape for x in (*xs, *body.outputs)])
    alike = {"root": sizes[0] == sizes[1], "argmin": shapes[1] == [()]}
    if not real or not alike.get(kind, shapes[0] == shapes[1]):
        raise ValueError(f"from_json: expected {who}{where} of a function of another type")
    try:
        residual = residual_body(kind, body, count)
    except Exception as error:  # a derivative may fail in any way on what it was not made for
        raise ValueError(
            f"from_json: expected {who}{where} of a function with a gradient, but {reason(error)}"
        ) from None
    return Problem(who, kind, body, residual, count, None)


_DTYPE = re.compile(r"[<>|][biufc][0-9]{1,2}")


def dtype_of(value: object, where: str) -> np.dtype[Any]:
    """A dtype from how NumPy writes it."""
    if isinstance(value, str) and _DTYPE.fullmatch(value):
        try:
            dtype = np.dtype(value)
        except TypeError:
            dtype = None
        # "|f8" and ">b1" are understood, but not what NumPy writes.
        if dtype is not None and dtype.str == value:
            return dtype
    mistake("a dtype such as <f8", value, where)


def _float(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is None or repr(number) != text:
        mistake("a number as Python writes it", text, where)
    return number
