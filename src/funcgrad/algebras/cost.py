"""What a program costs: flops and bytes, node by node.

The convention, for every node once, as if nothing were fused and nothing kept in a cache:

- an elementwise operation is 1 flop an entry of its result, whichever it is;
- a reduction of n entries to m (sum, product, max, …) is n - m; a running sum n less its first entries;
- a matrix product is 2mnk; an einsum the product of all lengths times the number of its operands;
- what moves entries, and a cast, is 0;
- linear algebra is counted as in Golub and Van Loan, Matrix Computations (4th edition), for n rows, or for m
  rows and n columns with m >= n: a solution 2n³/3 and 2n² a column of the right side, a determinant 2n³/3, an
  inverse 2n³, a Cholesky factor n³/3, a QR factorization 4mn² - 4n³/3, eigenvectors of a Hermitian matrix
  9n³, an SVD 14mn² + 8n³, a pseudoinverse an SVD and the product of its factors;
- a loop of known length is that many times its body, a call its body, a branch its dearest; a loop whose
  length is known only when it has run counts one iteration, an implicit solution one residual;
- bytes: each operand read once at its own size, before broadcasting, and the result written once;
  nothing where the result is a view (broadcasting, reshape, transpose, slices).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.algebras.arguments_of import expressions, formula, subject
from funcgrad.expr import Expr, by_key
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import broadcast_to, columns_of, flops_of, leaf
from funcgrad.ops.tuples import pick_op, together_op
from funcgrad.printed_text import aligned_columns
from funcgrad.rewrite.decompose import decomposed
from funcgrad.source import position, type_error


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
        return aligned_columns(rows)


def cost(program: object, /, *args: object, **values: object) -> Cost:
    """The flops and bytes of a program, in all and node by node; this module
    states the convention.

    ``program`` is a function, with its arguments, or expressions, whose
    variables need no values. Raises TypeError for an operation of which
    nothing is known.

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
_PLACEHOLDERS = (INPUT, CONSTANT, broadcast_to, leaf, pick_op, together_op)


def _nodes(roots: Sequence[Expr]) -> list[NodeCost]:
    roots = decomposed(roots, _is_counted)
    counted = [e for e in by_key(*roots).values() if e.op not in _PLACEHOLDERS]
    return [_with_bodies(e) or NodeCost(e, _flops(e), *_traffic(e)) for e in counted]


def _is_counted(expr: Expr) -> bool:
    return columns_of(expr).bodies is not None or flops_of(expr) is not None


def _with_bodies(expr: Expr) -> NodeCost | None:
    """The cost of an operation that holds programs of its own; None of any other."""
    bodies = columns_of(expr).bodies
    if bodies is None:
        return None
    costs = []
    for alternative in bodies(expr):
        flops, read, written = 0, 0, 0
        for body, times in alternative:
            for node in _nodes(body.outputs):
                flops += times * node.flops
                read += times * node.read
                written += times * node.written
        costs.append(NodeCost(expr, flops, read, written))
    return max(costs, key=lambda n: n.flops)


def _flops(expr: Expr) -> int:
    known = flops_of(expr)
    if known is not None:
        return known
    raise type_error(
        f"cost: expected operations whose flops are known, but got {expr.op.name!r}; "
        f"leave it out, or count it by hand (its operands are "
        f"{', '.join(str(arg.type) for arg in expr.args)})",
    )


def _traffic(expr: Expr) -> tuple[int, int]:
    if _is_view(expr):
        return 0, 0
    # An operand that stands twice is read once.
    sources = {source.key: source for source in map(_before_broadcast, expr.args)}
    read = sum(source.nbytes for source in sources.values())
    if expr.op.name == "getitem":  # no more than is taken, and where
        read = expr.nbytes + sum(index.nbytes for index in expr.args[1:])
    return read, expr.nbytes


def _is_view(expr: Expr) -> bool:
    return bool(expr.op.moves) or (expr.op.name == "getitem" and len(expr.args) == 1)


def _before_broadcast(expr: Expr) -> Expr:
    return expr.args[0] if expr.op is broadcast_to else expr
