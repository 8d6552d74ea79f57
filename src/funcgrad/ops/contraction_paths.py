"""Contractions as a compiled program has them: as few products of matrices, which BLAS computes.

An einsum of several operands is a path of contractions of two, and a contraction of two is one product of
matrices if each operand has an axis of its own and both have one that is summed over. A stack of matrices
times one matrix is one product of a long matrix; so is a sum over a stack of products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.contraction import einsum_op, matmul_op
from funcgrad.ops.shape import reshape, transpose, transpose_op

_LEAST = 4096
"""Multiplications below which one call of `numpy.einsum` takes less time than a product with its views."""
_MOST = 1 << 22
"""Entries that a product between two others may have, if operands and result have fewer."""


def path_of_einsum(expr: Expr) -> Any:
    """The products in the place of a large einsum; None if it is left as it is."""
    inputs, output = dict(expr.params)["subscripts"].split("->")
    terms: list[str] = inputs.split(",")
    operands: list[Any] = list(expr.args)
    if len(terms) < 2 or not _is_large(expr, terms) or not _is_planned(expr, terms, output):
        return None
    path = np.einsum_path(
        f"{inputs}->{output}",
        *[np.broadcast_to(np.zeros(()), x.shape) for x in operands],
        optimize=("greedy", max([_MOST, expr.size, *[x.size for x in operands]])),
    )[0][1:]
    if len(path) == 1 and len(terms) > 2:  # fewer multiplications in one loop
        return None
    for places in path:
        chosen = [(terms.pop(k), operands.pop(k)) for k in sorted(places, reverse=True)][::-1]
        later = "".join([output, *terms])
        given = "".join(dict.fromkeys("".join([term for term, _ in chosen])))
        kept = "".join([c for c in given if c in later]) if terms else output
        terms.append(kept)
        operands.append(_contracted(chosen, kept))
    return operands[0]


def _is_large(expr: Expr, terms: Sequence[str]) -> bool:
    sizes = {
        letter: length
        for term, x in zip(terms, expr.args, strict=True)
        for letter, length in zip(term, x.shape, strict=True)
    }
    lengths = sizes.values()
    return expr.dtype.kind in "fc" and min(lengths, default=1) > 0 and math.prod(lengths) >= _LEAST


def _is_planned(expr: Expr, terms: Sequence[str], output: str) -> bool:
    return len(terms) > 2 or _Letters(terms[0], terms[1], output).is_product


class _Letters:
    """The letters of a contraction of two operands."""

    def __init__(self, first: str, second: str, output: str) -> None:
        shared = [c for c in first if c in second]
        self.stack = [c for c in shared if c in output]
        self.inner = [c for c in shared if c not in output]
        self.rows = [c for c in first if c not in shared]
        self.columns = [c for c in second if c not in shared]
        own = {*self.rows, *self.columns}
        self.is_product = bool(
            self.inner and self.rows and self.columns and own <= set(output)
        ) and all([len(set(term)) == len(term) for term in (first, second)])


def _contracted(chosen: Sequence[tuple[str, Any]], output: str) -> Any:
    """The contraction of operands with these letters, as a product of matrices if it is one."""
    terms = [term for term, _ in chosen]
    if len(chosen) != 2 or not (found := _Letters(terms[0], terms[1], output)).is_product:
        return einsum_op(*[x for _, x in chosen], subscripts=f"{','.join(terms)}->{output}")
    (first, a), (second, b) = chosen
    if output.index(found.rows[0]) > output.index(found.columns[0]):
        (first, a), (second, b) = chosen[::-1]
        found = _Letters(first, second, output)
    sizes = dict(zip(first + second, a.shape + b.shape, strict=True))

    def size(letters: Sequence[str]) -> int:
        return math.prod([sizes[c] for c in letters])

    stack = tuple([sizes[c] for c in found.stack])
    left = _ordered(a, first, [*found.stack, *found.rows, *found.inner])
    right = _ordered(b, second, [*found.stack, *found.inner, *found.columns])
    product = matmul_op(
        reshape(left, (*stack, size(found.rows), size(found.inner))),
        reshape(right, (*stack, size(found.inner), size(found.columns))),
    )
    letters = [*found.stack, *found.rows, *found.columns]
    return _ordered(reshape(product, tuple([sizes[c] for c in letters])), letters, output)


def _ordered(x: Any, letters: Sequence[str], wanted: Sequence[str]) -> Any:
    places = {letter: place for place, letter in enumerate(letters)}
    return transpose(x, [places[letter] for letter in wanted])


def product_of_stack(expr: Expr) -> Any:
    """One product in the place of a stack of matrices times one matrix; None for other products."""
    a, b = expr.args
    if a.ndim < 3 or b.op is not broadcast_to or b.args[0].ndim != 2 or not (a.size and b.size):
        return None
    return reshape(matmul_op(reshape(a, (-1, a.shape[-1])), b.args[0]), expr.shape)


def sum_over_stack(expr: Expr) -> Any:
    """One product in the place of a sum over a stack of products; None for other sums."""
    (product,) = expr.args
    axes = tuple(range(product.ndim - 2))
    if product.op is not matmul_op or not axes or dict(expr.params)["axis"] != axes:
        return None
    a, b = product.args
    rows, columns = a.shape[-2], b.shape[-1]
    if b.ndim != a.ndim or product.dtype.kind not in "fc" or not (a.size and b.size):
        return None
    right = reshape(b, (-1, columns))
    swapped = (*axes, len(axes) + 1, len(axes))
    if a.op is transpose_op and dict(a.params)["axes"] == swapped:
        return matmul_op(transpose(reshape(a.args[0], (-1, rows))), right)
    left = transpose(a, (len(axes), *axes, len(axes) + 1))
    return matmul_op(reshape(left, (rows, -1)), right)
