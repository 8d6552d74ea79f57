"""What a program costs: flops and bytes, node by node.

The convention, for every node once, as if nothing were fused and nothing kept in a cache:

- an elementwise operation is 1 flop an entry of its result, whichever it is;
- a reduction of n entries to m (sum, product, max, …) is n - m; a running sum n less its first entries;
- a matrix product is 2mnk; an einsum the product of all lengths times the number of its operands;
- what moves entries, and a cast, is 0;
- a loop of known length is that many times its body, a call its body, a branch its dearest;
- bytes: each operand read once at its own size, before broadcasting, and the result written once;
  nothing where the result is a view (broadcasting, reshape, transpose, slices).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from funcgrad.algebras.arguments_of import aligned, distinct, expressions, formula, subject
from funcgrad.control.call_and_branch import branch_op, call_op
from funcgrad.control.loop import loop_op
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base import op as fitting
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.tuples import pick_op, together_op
from funcgrad.source import fail, position


class NodeCost(NamedTuple):
    """What one node costs."""

    node: Expr
    flops: int
    read: int
    written: int

    @property
    def formula(self) -> str:
        """The node's formula."""
        return formula(self.node)

    @property
    def line(self) -> str:
        """The user's line that made the node."""
        return position(self.node.source)


class Cost(NamedTuple):
    """The flops of a program, the bytes it reads and writes, and its nodes by falling flops."""

    flops: int
    read: int
    written: int
    nodes: tuple[NodeCost, ...]

    @property
    def bytes(self) -> int:
        """The bytes read and written."""
        return self.read + self.written

    def __repr__(self) -> str:
        rows = [("flops", "read", "written", "node")]
        rows += [(str(n.flops), str(n.read), str(n.written), n.formula) for n in self.nodes[:20]]
        if len(self.nodes) > 20:
            rows.append(("…", "…", "…", f"({len(self.nodes) - 20} more)"))
        rows.append((str(self.flops), str(self.read), str(self.written), "in all"))
        return aligned(rows)


def cost(program: Any, /, *args: Any, **values: Any) -> Cost:
    """The flops and bytes of a program, in all and node by node; this module states the convention.

    ``program`` is a function, with its arguments, or expressions, whose variables need no values.
    Raises TypeError for an operation of which nothing is known.

    >>> import numpy as np
    >>> cost(lambda A, x: np.sum(np.tanh(A @ x)), np.ones((3, 4)), np.ones(4))
    flops  read  written  node
    24     128   24       A @ x
    3      24    24       tanh(A @ x)
    2      24    8        sum(tanh(A @ x))
    29     176   56       in all
    """
    if args or values or (callable(program) and not isinstance(program, Expr)):
        roots = subject("cost", program, args, values).roots
    else:
        roots, _ = expressions("cost", program)
    nodes = _nodes(roots)
    ranked = sorted(nodes, key=lambda n: (-n.flops, -(n.read + n.written)))
    return Cost(
        sum(n.flops for n in nodes),
        sum(n.read for n in nodes),
        sum(n.written for n in nodes),
        tuple(ranked),
    )


# What lowering drops, and what makes and takes apart the tuples of loops.
_PLACEHOLDERS = (INPUT, CONSTANT, fitting.broadcast_to, fitting.leaf, pick_op, together_op)


def _nodes(roots: Sequence[Expr]) -> list[NodeCost]:
    counted = [e for e in distinct(roots) if e.op not in _PLACEHOLDERS]
    return [_with_bodies(e) or NodeCost(e, _flops(e), *_traffic(e)) for e in counted]


def _with_bodies(expr: Expr) -> NodeCost | None:
    """The cost of an operation that holds programs of its own; None of any other, or of a while loop."""
    params = dict(expr.params)
    if expr.op is loop_op and params["cond"] is None:
        shape = params["shape"]
        length = shape.length
        if length < 0:  # as long as what it runs over
            length = expr.args[shape.states].shape[0]
        bodies, times = [params["body"]], length
    elif expr.op is call_op:
        bodies, times = [params["body"]], 1
    elif expr.op is branch_op:
        bodies, times = list(params["branches"]), 1
    else:
        return None
    costs = []
    for body in bodies:
        inside = _nodes(body.outputs)
        sums = (sum(n[i] for n in inside) for i in (1, 2, 3))
        costs.append(NodeCost(expr, *[times * total for total in sums]))
    return max(costs, key=lambda n: n.flops)


def _flops(expr: Expr) -> int:
    if isinstance(expr.op, Elementwise):
        return expr.size
    if expr.op.moves:
        return 0
    rule = FLOPS.get(expr.op.name)
    if rule is None:
        raise fail(
            TypeError,
            f"cost: expected operations whose flops are known, but got {expr.op.name!r}; "
            f"leave it out, or count it by hand (its operands are "
            f"{', '.join(str(arg.type) for arg in expr.args)})",
        )
    return rule(expr)


def _reduced(expr: Expr) -> int:
    return max(expr.args[0].size - expr.size, 0)


def _running(expr: Expr) -> int:
    length = _length(expr)
    return expr.size - expr.size // length if length else 0


def _length(expr: Expr) -> int:
    return expr.shape[int(dict(expr.params)["axis"])]


def _matmul(expr: Expr) -> int:
    return 2 * expr.size * expr.args[0].shape[-1]


def _einsum(expr: Expr) -> int:
    inputs = dict(expr.params)["subscripts"].split("->")[0].split(",")
    lengths = {
        c: n
        for term, arg in zip(inputs, expr.args, strict=True)
        for c, n in zip(term, arg.shape, strict=True)
    }
    every = math.prod(lengths.values())
    return every * len(inputs) if len(inputs) > 1 else every - expr.size


def _nothing(expr: Expr) -> int:
    return 0


def _all_of(count: int) -> Callable[[Expr], int]:
    def flops(expr: Expr) -> int:
        return count * expr.args[0].size

    return flops


def _sorting(expr: Expr) -> int:
    length = _length(expr)
    return expr.size * max(length - 1, 0).bit_length()


def _fourier(expr: Expr) -> int:
    length = _length(expr)
    return 5 * expr.size * max(length - 1, 0).bit_length()  # of Cooley and Tukey


FLOPS: Mapping[str, Callable[[Expr], int]] = MappingProxyType(
    {
        **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin"), _reduced),
        **dict.fromkeys(("astype", "concatenate", "getitem"), _nothing),
        "norm": _all_of(2),  # squares and their sum, and the roots in place of the first entries
        "logsumexp": _all_of(4),  # max, difference, exp, sum
        "sinc": _all_of(1),  # elementwise, but for its parameter
        "scatter_add": _all_of(1),
        "cumsum": _running,
        "argsort": _sorting,  # comparisons of a merge
        "fft": _fourier,
        "matmul": _matmul,
        "einsum": _einsum,
    }
)
"""The flops of the operations that neither act entry by entry nor move."""


def _traffic(expr: Expr) -> tuple[int, int]:
    if _is_view(expr):
        return 0, 0
    # An operand that stands twice is read once.
    sources = {source.key: source for source in map(_before_broadcast, expr.args)}
    read = sum(_bytes(source) for source in sources.values())
    if expr.op.name == "getitem":  # no more than is taken, and where
        read = _bytes(expr) + sum(_bytes(index) for index in expr.args[1:])
    return read, _bytes(expr)


def _is_view(expr: Expr) -> bool:
    return bool(expr.op.moves) or (expr.op.name == "getitem" and len(expr.args) == 1)


def _before_broadcast(expr: Expr) -> Expr:
    return expr.args[0] if expr.op is fitting.broadcast_to else expr


def _bytes(expr: Expr) -> int:
    return expr.size * expr.dtype.itemsize
