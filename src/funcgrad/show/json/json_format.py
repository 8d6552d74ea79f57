"""Programs as files: a JSON text of nodes in canonical order, checked strictly when it is read.

The format, version 1, is an object with ``"format": "funcgrad"``, ``"version": 1`` and ``"nodes"``. Each
node is an object with these entries, the last node being the root:

* ``op``: the name of the operation, or ``input`` or ``constant``;
* ``parents``: places of the operands in the list, all before the node's own;
* ``params``: pairs ``[name, value]`` in order. ``null``, booleans, integers and strings stand for
  themselves and lists for tuples; ``{"float": "0.5"}``, ``{"complex": ["0.0", "1.0"]}``,
  ``{"dtype": "<f8"}`` and ``{"ellipsis": true}`` for the rest. The value of a constant is
  ``{"base64": "…"}``, the bytes of its entries in C order, little-endian;
* ``shape``: a list of lengths; and ``dtype``: as NumPy writes it, ``<f8``. Of a node whose value is a
  tuple, such as a loop's, lists of these. A length that is known only when a loop has run is -1.

A program with loops, branches or calls has ``"bodies"`` before its nodes, those within others first. Each
is an object with ``inputs``, a list of ``[shape, dtype]``; ``nodes``, as above, in which the inputs are named
``i0``, ``i1``, …; and ``outputs``, places among the nodes. In params, ``{"body": 0}`` stands for one by its
place, ``{"loop": [states, sequences, length, reverse]}`` for how a loop takes its operands, ``{"rule":
[results, arguments, forward]}`` likewise, ``{"problem": [function, body, unknowns]}`` for an equation, and
``{"key": "…"}`` for a node of a body.

The invariant: a text that is read gives an expression with the key of the one that was written, and
no other text gives it; anything else is a ValueError of one line. Nothing in a file is ever run.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Never

import numpy as np

from funcgrad import expr as expr_module
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, assemble_node, by_key, symbol
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Constant, Params, TupleType
from funcgrad.printed_text import PrintedText
from funcgrad.show.functions import is_tuple, stored_bodies
from funcgrad.show.json.json_params import dtype_of, mistake, pack, short_text, unpack
from funcgrad.show.json.validate_node import check_node
from funcgrad.show.naming import array_of, distinct, places
from funcgrad.show.program_at import formula_at
from funcgrad.typing import Array

FORMAT, VERSION = "funcgrad", 1
_ENTRIES = ("op", "parents", "params", "shape", "dtype")


# -- writing -------------------------------------------------------------------------------------
def to_json(f: Callable[..., Any] | Expr, /, *args: Any) -> PrintedText:
    """An expression, or a function at arguments, as JSON text, one node a line;
    see `from_json`.

    Equal programs give equal texts. Arrays that a trace captured by reference
    are stored by content.

    Raises TypeError if ``f`` is neither, and for what cannot be stored: an
    operation from outside the package, or a leaf of a trace that is still
    running.

    >>> import funcgrad as fg
    >>> print(to_json(fg.var("x") * 2))
    {"format": "funcgrad", "version": 1, "nodes": [
    {"op": "input", "parents": [], "params": [["name", "x"]], "shape": [], "dtype": "<f8"},
    {"op": "constant", "parents": [], "params": [["value", {"base64": "AAAAAAAAAEA="}]], "shape": [],
    "dtype": "<f8"},
    {"op": "multiply", "parents": [0, 1], "params": [], "shape": [], "dtype": "<f8"}
    ]}
    """
    expr = formula_at("to_json", f, args)
    nodes = distinct(expr, "to_json")
    bodies = stored_bodies([expr])
    place = {body: i for i, body in enumerate(bodies)}
    head = f'{{"format": "{FORMAT}", "version": {VERSION}, '
    if bodies:
        entries = ",\n".join([_body_text(body, place) for body in bodies])
        head += f'"bodies": [\n{entries}\n], '
    return PrintedText(f'{head}"nodes": [\n{_rows(nodes, place)}\n]}}')


def _body_text(body: Body, bodies: Mapping[Body, int]) -> str:
    nodes = list(by_key(*body.outputs).values())
    place = places(nodes)
    for k, x in enumerate(body.inputs):
        if x.key != symbol(f"i{k}", x.type).key:
            raise TypeError(f"to_json: expected a body whose inputs are i0, i1, …, but got {x}")
    inputs = json.dumps([[list(x.shape), x.dtype.str] for x in body.inputs])
    outputs = json.dumps([place[out.key] for out in body.outputs])
    return f'{{"inputs": {inputs}, "nodes": [\n{_rows(nodes, bodies)}\n], "outputs": {outputs}}}'


def _rows(nodes: list[Expr], bodies: Mapping[Body, int]) -> str:
    """One node a line."""
    place = places(nodes)
    rows = [
        {
            "op": _op_name(e),
            "parents": [place[arg.key] for arg in e.args],
            "params": [["value", _bytes(array_of(e))]]
            if e.op is CONSTANT
            else [[key, pack(value, e, bodies)] for key, value in e.params],
            **_type_entries(e),
        }
        for e in nodes
    ]
    return ",\n".join([json.dumps(row) for row in rows])


def _type_entries(expr: Expr) -> dict[str, Any]:
    if not is_tuple(expr):
        return {"shape": list(expr.shape), "dtype": expr.dtype.str}
    parts = expr.type.parts  # type: ignore[attr-defined]
    return {"shape": [list(t.shape) for t in parts], "dtype": [t.dtype.str for t in parts]}


def _op_name(expr: Expr) -> str:
    op: Any = expr.op
    known: Any = expr_module.operation_table.ops.get(op.name)
    if op not in (INPUT, CONSTANT) and known is not op:
        raise TypeError(
            f"to_json: expected operations of the package, but got {op.name!r}, which another "
            "process would not find; write it with the package's operations"
        )
    return str(op.name)


def _bytes(array: Array) -> dict[str, str]:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {"base64": base64.b64encode(little.tobytes()).decode("ascii")}


# -- reading -------------------------------------------------------------------------------------
def from_json(text: str) -> Expr:
    """The expression that `to_json` wrote: its key is that of the original.

    Raises ValueError, in one line, for anything else: bad JSON, an unknown
    version or operation, nodes out of order, types that do not fit the
    operations. Reading runs nothing that stands in the text.

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
        mistake('an object with "format": "funcgrad"', whole)
    version = whole.get("version")
    if type(version) is not int or version != VERSION:
        shown = short_text(version)
        raise ValueError(
            f"from_json: expected version {VERSION}, but got {shown}; read it with a newer funcgrad"
        )
    if set(whole) - {"bodies"} != {"format", "version", "nodes"}:
        mistake("format, version and nodes", sorted(whole))
    return _program(whole["nodes"], _bodies(whole))


class _MistakeError(ValueError):
    """A mistake found while JSON is read."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _MistakeError(
            f"from_json: expected each name once, but got {short_text([k for k, _ in pairs])}"
        )
    return found


def _no_constant(name: str) -> Never:
    raise _MistakeError(f"from_json: expected JSON text, but got {name}, which JSON has not")


def _bodies(whole: dict[str, Any]) -> list[Body]:
    found = whole.get("bodies", [])
    if not isinstance(found, list) or (not found and "bodies" in whole):
        mistake("a list of at least one body", found)
    bodies: list[Body] = []
    for i, entry in enumerate(found):
        bodies.append(_body(i, entry, bodies))
    return bodies


def _body(i: int, entry: object, bodies: list[Body]) -> Body:
    where = f" at body {i}"
    if not isinstance(entry, dict) or set(entry) != {"inputs", "nodes", "outputs"}:
        mistake("an object with inputs, nodes, outputs", entry, where)
    inputs, rows, outputs = entry["inputs"], entry["nodes"], entry["outputs"]
    if not isinstance(inputs, list) or not isinstance(rows, list):
        mistake("lists of inputs and nodes", entry, where)
    if not all([isinstance(pair, list) and len(pair) == 2 for pair in inputs]):
        mistake("pairs [shape, dtype] as inputs", inputs, where)
    names = [
        symbol(f"i{k}", _array_type(shape, dtype, f" at input {k} of body {i}", -1))
        for k, (shape, dtype) in enumerate(inputs)
    ]
    given = {f"i{k}": x for k, x in enumerate(names)}
    exprs = _nodes(rows, bodies, f" of body {i}", given)
    if not isinstance(outputs, list) or not all(
        [type(p) is int and 0 <= p < len(exprs) for p in outputs]
    ):
        mistake("places of nodes as outputs", outputs, where)
    roots = [exprs[p] for p in outputs]
    _check_order(exprs, roots, where)
    return Body(names, roots)


def _check_order(exprs: list[Expr], roots: list[Expr], where: str = "") -> None:
    canonical = list(by_key(*roots))
    if canonical != [e.key for e in exprs]:
        raise ValueError(
            f"from_json: expected each node once, in canonical order, and used{where}, but got "
            f"{len(exprs)} nodes of which {len(canonical)} are needed, or another order"
        )


def _program(rows: object, bodies: list[Body]) -> Expr:
    if not isinstance(rows, list) or not rows:
        mistake("a list of at least one node", rows)
    exprs = _nodes(rows, bodies, "", None)
    _check_order(exprs, [exprs[-1]])
    if stored_bodies([exprs[-1]]) != bodies:
        raise ValueError(
            f"from_json: expected each body once, those within others first, and used, but got "
            f"{len(bodies)} in another order"
        )
    return exprs[-1]


def _nodes(
    rows: list[Any], bodies: list[Body], within: str, given: Mapping[str, Expr] | None
) -> list[Expr]:
    """The expressions of rows; ``given`` are the inputs of a body, by name."""
    exprs: list[Expr] = []
    for i, row in enumerate(rows):
        exprs.append(_node(i, row, exprs, bodies, f" at node {i}{within}", given))
    return exprs


def _node(
    i: int,
    row: object,
    exprs: list[Expr],
    bodies: list[Body],
    where: str,
    given: Mapping[str, Expr] | None,
) -> Expr:
    if not isinstance(row, dict) or set(row) != set(_ENTRIES):
        mistake(f"an object with {', '.join(_ENTRIES)}", row, where)
    name, parents = row["op"], row["parents"]
    lowest = 0 if name == "constant" or (name == "input" and given is None) else -1
    type_ = _type(row["shape"], row["dtype"], where, lowest)
    if not isinstance(parents, list) or not all([type(p) is int and 0 <= p < i for p in parents]):
        mistake("places of earlier nodes as parents", parents, where)
    args = tuple([exprs[p] for p in parents])
    if name == "constant":
        return _constant(row["params"], args, type_, where)
    params = _params(row["params"], where, bodies)
    if name == "input":
        return _input(params, args, type_, where, given)
    op = expr_module.operation_table.ops.get(name) if isinstance(name, str) else None
    if op is None:
        near = get_close_matches(str(name)[:50], list(expr_module.operation_table.ops), 1)
        hint = f"; the nearest is {near[0]!r}" if near else ""
        raise ValueError(
            f"from_json: expected a known operation{where}, but got {short_text(name)}{hint}"
        )
    problem = check_node(op, args, params, type_)
    if problem:
        raise ValueError(f"from_json: {name}{where}: {problem}")
    return assemble_node(op, args, params, type_)


def _input(
    params: Params, args: tuple[Expr, ...], type_: Any, where: str, given: Mapping[str, Expr] | None
) -> Expr:
    if args or [key for key, _ in params] != ["name"] or not _is_name(params[0][1]):
        mistake("no parents and a name for an input", dict(params), where)
    expr = assemble_node(INPUT, (), params, type_)
    if isinstance(type_, TupleType):
        mistake("one array as an input", str(type_), where)
    if given is not None:
        own = given.get(params[0][1])
        if own is None or own.key != expr.key:
            mistake("an input of the body, of its type", params[0][1], where)
    return expr


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _type(shape: object, dtype: Any, where: str, lowest: int) -> Any:
    """The type of a node; ``lowest`` is -1 where a length may be known only to a run."""
    if isinstance(dtype, list):
        if not isinstance(shape, list) or len(shape) != len(dtype) or lowest == 0:
            mistake("as many shapes as dtypes of a tuple", shape, where)
        pairs = zip(shape, dtype, strict=True)
        return TupleType(tuple([_array_type(*pair, where, lowest) for pair in pairs]))
    return _array_type(shape, dtype, where, lowest)


def _array_type(shape: object, dtype: np.dtype[Any], where: str, lowest: int) -> ArrayType:
    kind = dtype_of(dtype, where)
    if not isinstance(shape, list) or not all([type(n) is int and n >= lowest for n in shape]):
        mistake("a list of lengths as shape", shape, where)
    # What NumPy itself can address, counting no length as 0.
    if len(shape) > 64 or math.prod([max(n, 1) for n in shape]) * kind.itemsize >= 2**63:
        mistake("a shape that fits into memory addresses", shape, where)
    return ArrayType(tuple(shape), kind)


def _constant(params: object, args: tuple[Expr, ...], type_: ArrayType, where: str) -> Expr:
    match params:
        case [["value", {"base64": str(text), **rest}]] if not rest and not args:
            pass
        case _:
            mistake('no parents and [["value", {"base64": "..."}]] for a constant', params, where)
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        mistake("base64", text, where)
    if len(content) != type_.size * type_.dtype.itemsize:
        size = type_.size * type_.dtype.itemsize
        raise ValueError(
            f"from_json: expected {size} bytes for {type_}{where}, but got {len(content)}"
        )
    if type_.dtype.kind == "b" and content.strip(b"\0\1"):
        mistake("bytes 0 and 1 for booleans", text, where)
    little = np.frombuffer(content, type_.dtype.newbyteorder("<"))
    array = little.astype(type_.dtype, copy=False).reshape(type_.shape)
    array.flags.writeable = False
    return assemble_node(CONSTANT, (), (("value", Constant(array)),), type_)


def _params(pairs: object, where: str, bodies: list[Body]) -> tuple[tuple[str, Any], ...]:
    if not isinstance(pairs, list) or not all(
        [isinstance(p, list) and len(p) == 2 and isinstance(p[0], str) for p in pairs]
    ):
        mistake("pairs [name, value] as params", pairs, where)
    if len({key for key, _ in pairs}) != len(pairs):
        mistake("each param once", pairs, where)
    return tuple([(key, unpack(value, where, bodies)) for key, value in pairs])
