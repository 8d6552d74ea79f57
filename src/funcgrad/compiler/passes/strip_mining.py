"""Strip mining: rows of arrays in blocks, so that intermediate values stay in the cache.

A program of machine code on arrays with one first axis becomes loops over blocks of their rows. A row of a
step in a loop depends on the same row of its operands, or on arrays that are there before the loop. A step
that reads other rows of a value of a loop, such as the largest entry of a column, follows the loop, and the
steps that depend on it are in the next one. Sums over the rows are added up block by block. In a block the
rows are along the last axis (a structure of arrays), so that the innermost loops are over rows and fill
vector registers, however few entries a row has. Only rows whose last axis would leave registers partly empty
gain, and running sums along them, whose entries wait for one another. Bodies of other loops are treated in
the same way, as in an ensemble of small systems. Legal because no entry depends on the order of the rows;
sums are added in another order.
Gain (docs/passes.md): without it bundle adjustment takes 2.4 times as long, and least squares on powers by
`cumprod` 7 times.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.array_program import stored_bytes
from funcgrad.compiler.passes.loop_bodies import rewrite_bodies
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import LoopSpec, loop_op
from funcgrad.expr import Expr, assemble_node, rebuild, subexpressions, symbol
from funcgrad.fold import folded
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to, infer_type
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.shape import concatenate_op, reshape_op, transpose_op
from funcgrad.ops.tuples import pick

# Bytes in memory between the steps of a program from which it gains; how many times as many they are as those
# that are left; and the bytes of a block.
_LEAST, _TIMES, _BLOCK = 1 << 16, 4, 1 << 16
# In the body of another loop arrays are in the cache. There blocks gain where rows are short, such as the
# three numbers of a state, since loops along them do not fill vector registers.
_LEAST_IN_LOOPS, _WIDEST_IN_LOOPS = 1 << 13, 32
# The rows of a block, best a multiple of the lanes of a vector register.
_FEWEST_ROWS, _MOST_ROWS, _LANES = 8, 256, 8
# Those from which it has registers enough that running sums in them hide each other's latency.
_ROWS_OF_RUNNING_SUMS = 32
# The steps of a loop from which it gains, in a program and in the body of another loop: with fewer, to turn
# the operands takes as long as the steps gain (k-means has 14, rotations by a quaternion 84).
_FEWEST_STEPS, _FEWEST_IN_LOOPS = 60, 4
# Last axes that do not fill vector registers: shorter than so many entries, and no multiple of those of one.
# Loops along others are as fast as along rows, to which arrays would have to be turned.
_LONG, _REGISTER = 16, 4

_ALL = ("slice", None, None, None)


def strip_mine(roots: Sequence[Expr], inputs: Sequence[Expr]) -> list[Expr]:
    """The roots of a program, with loops over blocks of rows if it is large.

    >>> import funcgrad as fg
    >>> x = y = fg.var("x", (20_000, 9))
    >>> for _ in range(25):
    ...     y = np.sin(y * np.sum(y * x, axis=1)[:, None])
    >>> z = np.sum(y)
    >>> [e.op.name for e in subexpressions(*strip_mine([z], [x]))]
    ['input', 'reshape', 'loop', 'pick', 'sum']
    """
    mined = rewrite_bodies(roots, _mined_body)
    return _mined(mined, inputs, _Limits(_LEAST, sys.maxsize, _FEWEST_STEPS))


class _Limits(NamedTuple):
    """The limits from which a program gains."""

    bytes: int
    """The fewest bytes between steps."""
    entries: int
    """The most entries of a row."""
    steps: int
    """The fewest steps of a loop."""


def _mined(roots: Sequence[Expr], inputs: Sequence[Expr], limits: _Limits) -> list[Expr]:
    """The roots in blocks, if they are within the limits."""
    exprs = subexpressions(*roots)
    length = _common_length(exprs)
    between = stored_bytes(flatten_program(roots, inputs)) if length else 0
    fewest = _ROWS_OF_RUNNING_SUMS if any(map(_is_running, exprs)) else _FEWEST_ROWS
    rows = _rows_of_a_block(length, between, fewest) if between >= limits.bytes else 0
    if not rows:
        return list(roots)
    mining = _Mining(exprs, roots, length, limits.steps)
    is_narrow = mining.widest_row <= limits.entries
    gains = mining.loops and _TIMES * mining.kept_bytes <= between and is_narrow
    return mining.run(rows) if gains else list(roots)


def _mined_body(outputs: Sequence[Expr], inputs: Sequence[Expr], spec: LoopSpec) -> list[Expr]:
    """The outputs of a loop's body, with loops over blocks of rows."""
    return _mined(outputs, inputs, _Limits(_LEAST_IN_LOOPS, _WIDEST_IN_LOOPS, _FEWEST_IN_LOOPS))


def _common_length(exprs: Sequence[Expr]) -> int:
    """The length of the first axis that most bytes of a program have."""
    bytes_of: Counter[int] = Counter()
    for expr in exprs:
        if _operands_by_rows(expr) is not None and not expr.op.moves:
            bytes_of[expr.shape[0]] += expr.size * expr.dtype.itemsize
    return bytes_of.most_common(1)[0][0] if bytes_of else 0


def _rows_of_a_block(length: int, between: int, fewest: int) -> int:
    """How many rows a block has, best not fewer than these; 0 if no such number divides the length."""
    wanted = min(max(_BLOCK * length // between, fewest), _MOST_ROWS)
    most = min(_MOST_ROWS, length // 2)
    dividing = [rows for rows in range(_FEWEST_ROWS, most + 1) if length % rows == 0]
    return min(dividing, key=lambda rows: (rows % _LANES > 0, abs(rows - wanted)), default=0)


def _are_short(members: Sequence[Expr]) -> bool:
    """Whether most entries of a loop's arrays stand in last axes that do not fill vector registers."""
    arrays = [e for e in members if not e.op.moves and e.ndim > 1]
    short = [e.size for e in arrays if e.shape[-1] < _LONG and e.shape[-1] % _REGISTER]
    return 2 * sum(short) >= sum([e.size for e in arrays])


def _operands_by_rows(expr: Expr) -> tuple[bool, ...] | None:
    """Of each operand whether a row of the step reads its row of it, or all of it; None if other rows."""
    op, args, params = expr.op, expr.args, dict(expr.params)
    if not args or any([x.type.dtype.kind not in "fib" for x in (expr, *args)]) or not expr.shape:
        return None
    alike = tuple([x.shape[:1] == expr.shape[:1] for x in args])
    if op is matmul_op:
        return (True, False) if _ranks(expr) == (2, 1) else None
    if op is broadcast_to:
        return (alike[0] and args[0].ndim == expr.ndim,)
    if "spec" in params:
        return _indexed_by_rows(expr, alike)
    kept = (
        isinstance(op, Elementwise)
        or op is reshape_op
        or (op is transpose_op and params["axes"][0] == 0)
        or op is concatenate_op  # (along another axis: the operands have all rows)
        or (bool(op.columns.reduces) and "axis" in params and 0 not in params["axis"])
        or (_is_running(expr) and params["axis"] != 0)
    )
    return alike if kept and all(alike) else None


def _ranks(product: Expr) -> tuple[int, int]:
    """The numbers of axes of a product's operands."""
    a, b = product.args
    return a.ndim, b.ndim


def _is_running(expr: Expr) -> bool:
    """Whether each entry waits for the one before along an axis, as in a running sum."""
    return bool(expr.args) and expr.op.columns.sparsity == "scanned"


def _indexed_by_rows(expr: Expr, alike: tuple[bool, ...]) -> tuple[bool, ...] | None:
    first, *rest = _whole_index(expr)
    if all(alike) and first == _ALL and "array" not in rest:
        return alike
    gathers = expr.op is getitem_op and first == "array" and all([item == _ALL for item in rest])
    return (False, True) if gathers and alike[1:] == (True,) else None


def _whole_index(expr: Expr) -> tuple[Any, ...]:
    """The index of a step, with an item for each axis of what it indexes."""
    spec = list(dict(expr.params)["spec"])
    ndim = (expr.args[0] if expr.op is getitem_op else expr).ndim
    left = ndim - sum([item not in ("new", "...") for item in spec])
    place = spec.index("...") if "..." in spec else len(spec)
    spec[place : place + 1] = [_ALL] * left
    return tuple(spec)


class _Place(NamedTuple):
    """Where a value is computed: in a loop by its number, or when the loops of smaller numbers have ended."""

    number: int
    inside: bool


class _Loop(NamedTuple):
    """A loop over blocks of rows."""

    members: list[Expr]
    """The steps in it."""
    kept: list[Expr]
    """Those of which something outside reads the values of all rows."""
    sums: list[Expr]
    """The sums over the rows of others."""

    def vectors_running_sums(self) -> bool:
        """Whether it has running sums along rows, and fewer bytes are turned for them than are computed."""
        if not any(map(_is_running, self.members)):
            return False
        own = {id(e) for e in self.members}
        read = {id(x): x for e in self.members for x in e.args if id(x) not in own}
        turned = [e for e in (*read.values(), *self.kept) if e.ndim > 1]
        made = [e for e in self.members if not e.op.moves]
        return _bytes_of(turned) <= _bytes_of(made)


def _bytes_of(exprs: Sequence[Expr]) -> int:
    return sum([e.size * e.dtype.itemsize for e in exprs])


class _Mining:
    """The loops over blocks of rows of one program."""

    def __init__(
        self, exprs: Sequence[Expr], roots: Sequence[Expr], length: int, fewest: int
    ) -> None:
        self.exprs, self.roots, self.length = exprs, roots, length
        self.places: dict[int, _Place] = {}
        folded(roots, self._place_of, self.places)
        self.loops: dict[int, _Loop] = {}
        for number in range(1 + max([place.number for place in self.places.values()])):
            members = [e for e in exprs if self.places[id(e)] == (number, True)]
            sums = list(self._row_sums(members))
            loop = _Loop(members, list(self._read_later(members, sums)), sums)
            steps = sum([not e.op.moves for e in members])
            if (steps >= fewest and _are_short(members)) or loop.vectors_running_sums():
                self.loops[number] = loop
        self.found: dict[int, Expr] = {}
        """By the ids of the program's expressions: these values of the new program, of all rows."""

    @property
    def kept_bytes(self) -> int:
        """The bytes of arrays that stand in memory between the loops."""
        return sum([e.size * e.dtype.itemsize for loop in self.loops.values() for e in loop.kept])

    @property
    def widest_row(self) -> int:
        """The most entries of a row of an array in a loop."""
        members = [e for loop in self.loops.values() for e in loop.members]
        return max([e.size // self.length for e in members], default=0)

    def _place_of(self, expr: Expr, operands: tuple[_Place, ...]) -> _Place:
        sliced = self._sliced(expr)
        by_rows = sliced or (False,) * len(operands)
        numbers = [
            place.number + (place.inside and not same)
            for place, same in zip(operands, by_rows, strict=True)
        ]
        return _Place(max(numbers, default=0), sliced is not None)

    def _sliced(self, expr: Expr) -> tuple[bool, ...] | None:
        return _operands_by_rows(expr) if expr.shape[:1] == (self.length,) else None

    def run(self, rows: int) -> list[Expr]:
        """The roots of the new program, with blocks of so many rows."""
        for _, loop in sorted(self.loops.items()):
            self._write(loop, rows)
        return folded(self.roots, rebuild, self.found)

    def _row_sums(self, members: Sequence[Expr]) -> Iterator[Expr]:
        """The sums over all rows of what a loop computes."""
        own = {id(e) for e in members}
        for expr in self.exprs:
            adds = expr.op.columns.reduces is np.add if expr.args else False
            multiplies = expr.op is matmul_op and _ranks(expr) in ((1, 1), (1, 2))
            is_own = [id(x) in own for x in (expr, *expr.args)]
            if (
                (adds or multiplies)
                and is_own == [False, *[True] * len(expr.args)]
                and expr.dtype.kind == "f"
            ):
                yield expr

    def _read_later(self, members: Sequence[Expr], sums: Sequence[Expr]) -> Iterator[Expr]:
        """The values of a loop that something after it reads; a view is made again of its operand."""
        own = {id(e) for e in (*members, *sums)}
        read = {id(root) for root in self.roots}
        for expr in self.exprs:
            if id(expr) not in own:
                read.update([id(arg) for arg in expr.args])
        for expr in reversed(members):
            if id(expr) in read and expr.op.moves:
                read.update([id(arg) for arg in expr.args])
            elif id(expr) in read:
                yield expr

    def _write(self, loop: _Loop, rows: int) -> None:
        """Make a loop, and the values of all rows that are kept, and the sums over the rows."""
        blocks = self.length // rows
        of_block, whole = dict[int, Expr](), dict[int, Expr]()
        sequences, fixed = list[tuple[Expr, Any]](), list[tuple[Expr, Any]]()
        for expr in loop.members:
            args, by_rows = list[Expr](), self._sliced(expr) or ()
            for arg, sliced in zip(expr.args, by_rows, strict=True):
                known = of_block if sliced else whole
                if id(arg) not in known:
                    shape = (rows, *arg.shape[1:]) if sliced else arg.shape
                    name = symbol(f"i{len(sequences) + len(fixed)}", ArrayType(shape, arg.dtype))
                    operand: Any = folded([arg], rebuild, self.found)[0]
                    known[id(arg)] = _rows_last(name) if sliced else name
                    if sliced:
                        sequences.append((name, np.reshape(operand, (blocks, *shape))))
                    else:
                        fixed.append((name, operand))
                args.append(known[id(arg)])
            of_block[id(expr)] = _on_block(expr, args, by_rows, rows)
        outputs = [_rows_first(of_block[id(e)]) for e in loop.kept]
        outputs.extend(
            [_on_block(e, [of_block[id(x)] for x in e.args], (True,), rows) for e in loop.sums]
        )
        names, operands = zip(*sequences, *fixed, strict=True)
        spec = LoopSpec(0, len(sequences), blocks)
        found = loop_op(*operands, body=Body(names, outputs), cond=None, spec=spec)
        parts: list[Any] = [pick(found, k) for k in range(len(outputs))]
        stacks = zip(loop.kept, parts, strict=False)
        full: list[Any] = [np.reshape(stack, expr.shape) for expr, stack in stacks]
        full.extend([np.sum(stack, axis=0) for stack in parts[len(loop.kept) :]])
        results = zip((*loop.kept, *loop.sums), full, strict=True)
        self.found.update({id(expr): value for expr, value in results})


# -- a block: its arrays have the rows along their last axis ----------------------------------------
def _on_block(expr: Expr, args: Sequence[Expr], by_rows: Sequence[bool], rows: int) -> Expr:
    """A step on a block of so many rows; operands that it does not read by rows are whole."""
    op, params, ndim = expr.op, dict(expr.params), expr.args[0].ndim
    if "shape" in params:
        params["shape"] = (*expr.shape[1:], rows)
    if op is broadcast_to and not by_rows[0]:
        (x,) = args
        lead, *rest = (*(1,) * (expr.ndim - x.ndim), *x.shape)
        args = [_step(reshape_op, args, shape=(*rest, lead))]
    elif op is getitem_op and not by_rows[0]:
        params["shape"] = (rows, *expr.shape[1:])
        return _rows_last(_step(op, (args[0], _rows_first(args[1])), **params))
    elif "spec" in params:
        params["spec"] = (*_whole_index(expr)[1:], _ALL)
    elif op is transpose_op:
        params["axes"] = (*[axis - 1 for axis in params["axes"][1:]], ndim - 1)
    elif op is concatenate_op:
        params["axis"] -= 1
    elif op is matmul_op:
        args = args[::-1]
    elif _is_running(expr):
        params["axis"] -= 1
    elif op.columns.reduces:
        params["axis"] = tuple(sorted([(axis - 1) % ndim for axis in params["axis"]]))
    return _step(op, args, **params)


def _rows_last(block: Expr) -> Expr:
    return _transposed(block, (*range(1, block.ndim), 0))


def _rows_first(block: Expr) -> Expr:
    return _transposed(block, (block.ndim - 1, *range(block.ndim - 1)))


def _transposed(block: Expr, axes: tuple[int, ...]) -> Expr:
    return block if block.ndim < 2 else _step(transpose_op, (block,), axes=axes)


def _step(op: Op, args: Sequence[Expr], **params: Any) -> Expr:
    given = tuple(params.items())
    return assemble_node(op, tuple(args), given, infer_type(op, tuple(args), given))
