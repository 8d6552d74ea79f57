"""Programs as files: a JSON text of nodes in canonical order, checked strictly when it is read.

The format, version 1, is an object with ``"format": "funcgrad"``, ``"version": 1`` and ``"nodes"``. Each
node is an object with these entries, the last node being the root:

* ``op``: the name of the operation, or ``input`` or ``constant``;
* ``parents``: places of the operands in the list, all before the node's own;
* ``params``: pairs ``[name, value]`` in order. ``null``, booleans, integers and strings stand for
  themselves and lists for tuples; ``{"float": "0.5"}``, ``{"complex": ["0.0", "1.0"]}``,
  ``{"dtype": "<f8"}`` and ``{"ellipsis": true}`` for the rest. The value of a constant is
  ``{"base64": "…"}``, the bytes of its entries in C order, little-endian;
* ``shape``: a list of lengths; and ``dtype``: as NumPy writes it, ``<f8``.

The invariant: a text that is read gives an expression with the key of the one that was written, and
no other text gives it; anything else is a ValueError of one line. Nothing in a file is ever run.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from difflib import get_close_matches
from typing import Any, Never

import numpy as np

from funcgrad import expr as expr_room
from funcgrad.expr import Expr, assemble_node
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Constant
from funcgrad.show.rows import array_of, distinct, places
from funcgrad.show.sound import check_node

FORMAT, VERSION = "funcgrad", 1
DEEPEST = 20  # tuples within tuples
_ENTRIES = ("op", "parents", "params", "shape", "dtype")


# -- writing -------------------------------------------------------------------------------------
def to_json(expr: Expr) -> str:
    """The program as JSON text, one node a line, for a file or another process; see `from_json`.

    Equal programs give equal texts. Arrays that a trace captured by reference are stored by content.

    Raises TypeError for what cannot be stored: an operation from outside the package, or a leaf of a
    trace that is still running.

    >>> import funcgrad as fg
    >>> print(to_json(fg.var("x") * 2))
    {"format": "funcgrad", "version": 1, "nodes": [
    {"op": "input", "parents": [], "params": [["name", "x"]], "shape": [], "dtype": "<f8"},
    {"op": "constant", "parents": [], "params": [["value", {"base64": "AAAAAAAAAEA="}]], "shape": [],
    "dtype": "<f8"},
    {"op": "multiply", "parents": [0, 1], "params": [], "shape": [], "dtype": "<f8"}
    ]}
    """
    rows = ",\n".join([json.dumps(row) for row in _rows(expr)])
    return f'{{"format": "{FORMAT}", "version": {VERSION}, "nodes": [\n{rows}\n]}}'


def _rows(expr: Expr) -> list[dict[str, Any]]:
    nodes = distinct(expr, "to_json")
    place = places(nodes)
    return [
        {
            "op": _op_name(e),
            "parents": [place[arg.key] for arg in e.args],
            "params": [["value", _bytes(array_of(e))]]
            if e.op is CONSTANT
            else [[key, _packed(value, e, 1)] for key, value in e.params],
            "shape": list(e.shape),
            "dtype": e.dtype.str,
        }
        for e in nodes
    ]


def _op_name(expr: Expr) -> str:
    op: Any = expr.op
    known: Any = expr_room.table.ops.get(op.name)
    if op not in (INPUT, CONSTANT) and known is not op:
        raise TypeError(
            f"to_json: expected operations of the package, but got {op.name!r}, which another "
            "process would not find; write it with the package's operations"
        )
    return str(op.name)


def _bytes(array: Any) -> dict[str, str]:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {"base64": base64.b64encode(little.tobytes()).decode("ascii")}


def _packed(value: Any, expr: Expr, depth: int) -> Any:
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is tuple and depth < DEEPEST:
        return [_packed(item, expr, depth + 1) for item in value]
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, np.dtype) and value.kind in "biufc":
        return {"dtype": value.str}
    if value is Ellipsis:
        return {"ellipsis": True}
    raise TypeError(
        f"to_json: expected params of numbers, names, dtypes and tuples, but {expr.op.name} holds "
        f"{type(value).__name__}; store the expression of a finished trace(f, x)"
    )


# -- reading -------------------------------------------------------------------------------------
def from_json(text: str) -> Expr:
    """The expression that `to_json` wrote: its key is that of the original.

    Raises ValueError, in one line, for anything else: bad JSON, an unknown version or operation, nodes
    out of order, types that do not fit the operations. Reading runs nothing that stands in the text.

    >>> import funcgrad as fg
    >>> y = fg.sin(fg.var("x")) ** 2
    >>> from_json(to_json(y)), from_json(to_json(y)).key == y.key
    (sin(x)**2, True)
    >>> from_json('{"format": "funcgrad", "version": 9, "nodes": []}')
    Traceback (most recent call last):
    ValueError: from_json: expected version 1, but got 9; read it with a newer funcgrad
    """
    if not isinstance(text, str):
        raise TypeError(f"from_json: expected text, but got {type(text).__name__}")
    try:
        whole = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except _MistakeError as error:
        raise ValueError(str(error)) from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:100] or "it is nested too deeply"
        raise ValueError(f"from_json: expected JSON text, but {reason}") from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        _fail('an object with "format": "funcgrad"', whole)
    version = whole.get("version")
    if type(version) is not int or version != VERSION:
        shown = _shown(version)
        raise ValueError(
            f"from_json: expected version {VERSION}, but got {shown}; read it with a newer funcgrad"
        )
    if set(whole) != {"format", "version", "nodes"}:
        _fail("format, version and nodes", sorted(whole))
    return _program(whole["nodes"])


class _MistakeError(ValueError):
    """A mistake found while JSON is read."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _MistakeError(
            f"from_json: expected each name once, but got {_shown([k for k, _ in pairs])}"
        )
    return found


def _no_constant(name: str) -> Never:
    raise _MistakeError(f"from_json: expected JSON text, but got {name}, which JSON has not")


def _fail(expected: str, got: Any, where: str = "") -> Never:
    raise ValueError(f"from_json: expected {expected}{where}, but got {_shown(got)}")


def _shown(value: Any) -> str:
    if isinstance(value, list | dict) and len(value) > 12:
        return f"{type(value).__name__} of {len(value)}"
    try:
        line = ascii(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists
        line = type(value).__name__
    return line if len(line) <= 60 else line[:57] + "..."


def _program(rows: Any) -> Expr:
    if not isinstance(rows, list) or not rows:
        _fail("a list of at least one node", rows)
    exprs: list[Expr] = []
    for i, row in enumerate(rows):
        exprs.append(_node(i, row, exprs))
    canonical = distinct(exprs[-1], "from_json")
    if len(canonical) != len(exprs) or any(
        a.key != b.key for a, b in zip(canonical, exprs, strict=True)
    ):
        raise ValueError(
            "from_json: expected each node once, in canonical order, and used, but got "
            f"{len(exprs)} nodes of which {len(canonical)} are needed, or another order"
        )
    return exprs[-1]


def _node(i: int, row: Any, exprs: list[Expr]) -> Expr:
    where = f" at node {i}"
    if not isinstance(row, dict) or set(row) != set(_ENTRIES):
        _fail(f"an object with {', '.join(_ENTRIES)}", row, where)
    name, parents, type_ = row["op"], row["parents"], _type(row, where)
    if not isinstance(parents, list) or not all([type(p) is int and 0 <= p < i for p in parents]):
        _fail("places of earlier nodes as parents", parents, where)
    args = tuple([exprs[p] for p in parents])
    if name == "constant":
        return _constant(row["params"], args, type_, where)
    params = _params(row["params"], where)
    if name == "input":
        if args or [key for key, _ in params] != ["name"] or not _is_name(params[0][1]):
            _fail("no parents and a name for an input", row["params"], where)
        return assemble_node(INPUT, (), params, type_)
    op = expr_room.table.ops.get(name) if isinstance(name, str) else None
    if op is None:
        near = get_close_matches(str(name)[:50], list(expr_room.table.ops), 1)
        hint = f"; the nearest is {near[0]!r}" if near else ""
        raise ValueError(
            f"from_json: expected a known operation{where}, but got {_shown(name)}{hint}"
        )
    problem = check_node(op, args, params, type_)
    if problem:
        raise ValueError(f"from_json: {name}{where}: {problem}")
    return assemble_node(op, args, params, type_)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


_DTYPE = re.compile(r"[<>|][biufc][0-9]{1,2}")


def _dtype(value: Any, where: str) -> np.dtype[Any]:
    if isinstance(value, str) and _DTYPE.fullmatch(value):
        try:
            dtype = np.dtype(value)
        except TypeError:
            dtype = None
        # "|f8" and ">b1" are understood, but not what NumPy writes.
        if dtype is not None and dtype.str == value:
            return dtype
    _fail("a dtype such as <f8", value, where)


def _type(row: dict[str, Any], where: str) -> ArrayType:
    shape, dtype = row["shape"], _dtype(row["dtype"], where)
    if not isinstance(shape, list) or not all([type(n) is int and n >= 0 for n in shape]):
        _fail("a list of lengths as shape", shape, where)
    # What NumPy itself can address, counting no length as 0.
    if len(shape) > 64 or math.prod([max(n, 1) for n in shape]) * dtype.itemsize >= 2**63:
        _fail("a shape that fits into memory addresses", shape, where)
    return ArrayType(tuple(shape), dtype)


def _constant(params: Any, args: tuple[Expr, ...], type_: ArrayType, where: str) -> Expr:
    match params:
        case [["value", {"base64": str(text), **rest}]] if not rest and not args:
            pass
        case _:
            _fail('no parents and [["value", {"base64": "..."}]] for a constant', params, where)
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        _fail("base64", text, where)
    if len(content) != type_.size * type_.dtype.itemsize:
        size = type_.size * type_.dtype.itemsize
        raise ValueError(
            f"from_json: expected {size} bytes for {type_}{where}, but got {len(content)}"
        )
    if type_.dtype.kind == "b" and content.strip(b"\0\1"):
        _fail("bytes 0 and 1 for booleans", text, where)
    little = np.frombuffer(content, type_.dtype.newbyteorder("<"))
    array = little.astype(type_.dtype, copy=False).reshape(type_.shape)
    array.flags.writeable = False
    return assemble_node(CONSTANT, (), (("value", Constant(array)),), type_)


def _params(pairs: Any, where: str) -> tuple[tuple[str, Any], ...]:
    if not isinstance(pairs, list) or not all(
        [isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) for p in pairs]
    ):
        _fail("pairs [name, value] as params", pairs, where)
    if len({key for key, _ in pairs}) != len(pairs):
        _fail("each param once", pairs, where)
    return tuple([(key, _unpacked(value, where, 1)) for key, value in pairs])


def _unpacked(value: Any, where: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError(
            f"from_json: expected at most {DEEPEST} nested values{where}, but got more"
        )
    match value:
        case None | bool() | str():
            return value
        case int() if abs(value) < 2**63:
            return value
        case list():
            return tuple([_unpacked(item, where, depth + 1) for item in value])
        case {"float": str(text), **rest} if not rest:
            return _float(text, where)
        case {"complex": [str(real), str(imag)], **rest} if not rest:
            return complex(_float(real, where), _float(imag, where))
        case {"dtype": text, **rest} if not rest:
            return _dtype(text, where)
        case {"ellipsis": True, **rest} if not rest:
            return Ellipsis
    _fail("a value of a param", value, where)


def _float(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is None or repr(number) != text:
        _fail("a number as Python writes it", text, where)
    return number
