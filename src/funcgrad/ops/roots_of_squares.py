"""Roots of sums of squares that are no norm, such as ``sqrt(sum(w * x**2) / s)``: at x = 0 their slope is 0.

That is the convention of norms: a subgradient. The factors may be of any sign, so that the root is no norm by
itself. Its edge is masked where all squares are 0, and nowhere else: where a factor is 0, the slope in the
factor is infinite, and where a divisor is, the root is no number. Powers count as squares if the slope of the
root is 0 on both sides of their zeros, or has two signs: from degree 2 on below a square root, and beyond
degree 3 below a cube root. (The cube root of ``5*x**3`` has a slope there, which is not 0.) So do powers of
``abs(x)`` that are as steep as a norm: ``sum(abs(x)**p)**(1/p)`` is the norm of order p.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.elementwise.arithmetic import add, divide, multiply, power, square
from funcgrad.ops.elementwise.exponential import cbrt, sqrt
from funcgrad.ops.elementwise.magnitude import absolute, fabs
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.reduction import sum_op
from funcgrad.ops.scans_and_sorts import cumsum_op
from funcgrad.ops.shape import concatenate_op

_NONE: Mapping[int, Expr] = MappingProxyType({})
_SIZES = (absolute, fabs)
_POWERS = (square, power, *_SIZES)
_ROOTS: Mapping[Any, float] = MappingProxyType({sqrt: 1 / 2, cbrt: 1 / 3})


class _Squares(NamedTuple):
    """A sum of products of squares, or of other powers, of some factors."""

    nonzero: Any
    """The condition that a factor is not 0, entry by entry."""
    degree: float
    """The least exponent."""
    even: bool
    """Whether the power has one sign, so that the slope of a root that is as steep as a norm has two."""

    def is_masked_in(self, exponent: float) -> bool:
        """Whether 0 is a slope of a root with this exponent at the zeros."""
        degree = self.degree * exponent
        is_one = abs(degree - 1) < 1e-12  # 49 * (1/49) is not 1
        return self.even if is_one else degree > 1


def nonzero_squares(exprs: Iterable[Expr]) -> Mapping[int, Expr]:
    """Where the squares below a root are not all 0, for each root of such, by identity.

    Operands come before users.
    """
    order = list(exprs)
    roots = [expr for expr in order if expr.op is power or expr.op in _ROOTS]
    exponents = {id(expr): exponent for expr in roots if (exponent := _exponent_of_root(expr))}
    if not exponents:
        return _NONE
    inside: set[int] = set()
    for expr in reversed(order):
        if id(expr) in exponents:
            inside.add(id(expr.args[0]))
        elif id(expr) in inside and _is_passed(expr):
            inside.update(map(id, expr.args))
    known: dict[int, _Squares] = {}
    found: dict[int, Expr] = {}
    for expr in order:
        if id(expr) in exponents:
            squares = known.get(id(expr.args[0]))
            if squares is not None and squares.is_masked_in(exponents[id(expr)]):
                found[id(expr)] = squares.nonzero
        if id(expr) in inside and (made := _squares(expr, known)) is not None:
            known[id(expr)] = made
    return found


def masked_root(edge: LinearMap, nonzero: Expr) -> LinearMap:
    """The edge of a root, which nothing passes where all squares below it are 0."""

    def masked(v: Any) -> Any:
        return mask(nonzero, v)

    return edge @ Structural(masked, masked)


def _exponent_of_root(expr: Expr) -> float:
    """The exponent of a root of real numbers; 0 of anything else."""
    if expr.type.dtype.kind != "f":
        return 0
    if expr.op is power:
        exponent = _constant(expr.args[1])
        return exponent if 0 < exponent < 1 else 0
    return _ROOTS.get(expr.op, 0)


def _constant(x: Expr, otherwise: float = 0) -> float:
    """The constant that an exponent or an addend is, in all entries; ``otherwise`` of anything else."""
    while x.args and x.op.hidden:
        x = x.args[0]
    if x.op is not CONSTANT or x.size != 1 or x.dtype.kind not in "fiu":
        return otherwise
    return float(x.params[0][1].array.item())


_PASSING = (add, concatenate_op, cumsum_op, divide, getitem_op, multiply, sum_op)
"""Operations whose results are 0 where squares below them are, beside those that only move entries."""


def _is_passed(expr: Expr) -> bool:
    if not expr.args:
        return False
    if expr.op is matmul_op:
        return not expr.shape
    return expr.op in _PASSING or expr.op.hidden or expr.op.moves


def _squares(expr: Expr, known: Mapping[int, _Squares]) -> _Squares | None:
    op, args = expr.op, expr.args
    if op in _POWERS:
        return _power(expr)
    if op is matmul_op and not expr.shape and args[0].key == args[1].key:
        return _Squares(np.any(np.not_equal(args[0], 0)), 2, True)
    parts = [known[id(x)] for x in args if id(x) in known]
    if not parts or not _is_passed(expr):
        return None
    if op is add:
        if len(parts) == 2:
            return _joined(np.logical_or, parts)
        # Python's `sum`, and loops that add up, begin with 0.
        return parts[0] if 0 in [_constant(x, 1) for x in args] else None
    if op is concatenate_op:
        if len(parts) < len(args):
            return None
        joined = _joined(np.logical_or, parts)
        return joined._replace(nonzero=op(*[part.nonzero for part in parts], **dict(expr.params)))
    if op is matmul_op:
        parts = [part._replace(nonzero=np.any(part.nonzero)) for part in parts]
    if op is multiply or op is matmul_op:
        return _joined(np.logical_and, parts)
    if id(args[0]) not in known:  # a divisor, or an index
        return None
    found = known[id(args[0])]
    nonzero = found.nonzero
    if op is sum_op:
        nonzero = np.any(nonzero, axis=dict(expr.params)["axis"])
    elif op is cumsum_op:
        nonzero = np.not_equal(cumsum_op(nonzero.astype(expr.dtype), **dict(expr.params)), 0)
    elif op.moves or op is getitem_op:
        nonzero = op(nonzero, *args[1:], **dict(expr.params))
    elif op is divide and not _constant(args[1]):
        nonzero = np.logical_or(nonzero, np.equal(args[1], 0))
    return found._replace(nonzero=nonzero)


def _power(expr: Expr) -> _Squares | None:
    """A power, or one of powers, as of a square; None if it is no steeper than what it is a power of."""
    degree, even = 1.0, False
    while expr.op in _POWERS:
        by = 1.0 if expr.op in _SIZES else 2.0 if expr.op is square else _constant(expr.args[1])
        if by < 1:
            break
        degree, even = degree * by, even or by % 2 == 0 or expr.op in _SIZES
        expr = expr.args[0]
    return _Squares(np.not_equal(expr, 0), degree, even) if degree > 1 else None


def _joined(join: Any, parts: list[_Squares]) -> _Squares:
    nonzero = reduce(join, [part.nonzero for part in parts])
    least = min([part.degree for part in parts])
    return _Squares(nonzero, least, all([part.even for part in parts if part.degree == least]))
