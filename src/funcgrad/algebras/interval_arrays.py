"""Arithmetic on intervals: reductions, contractions and selections of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from funcgrad.algebras.interval_functions import even, monotone, multiply
from funcgrad.algebras.outward_rounding import (
    CORRECT,
    EPS,
    NEAR,
    Bounds,
    nan_where,
    size_of,
    undefined,
    widened,
    within,
)


# -- reductions and contractions -----------------------------------------------------------------
def sum(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    return _totalled(x, lambda end: np.sum(end, axis=axis), math.prod(np.shape(x[0])))


def cumsum(x: Bounds, axis: int) -> Bounds:
    return _totalled(x, lambda end: np.cumsum(end, axis=axis), np.shape(x[0])[axis])


def _totalled(x: Bounds, total: Callable[[Any], Any], count: int) -> Bounds:
    """Sums of both ends, off by no more than n eps times the sum of the sizes (Higham, section 4.2)."""
    if count <= 1:
        return total(x[0]), total(x[1])
    below, above = (2 * count * EPS * total(np.abs(end)) for end in x)
    lo, hi = total(x[0]), total(x[1])
    return np.nextafter(np.where(np.isfinite(below), lo - below, lo), -np.inf), np.nextafter(
        np.where(np.isfinite(above), hi + above, hi), np.inf
    )


def prod(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    (last,) = axis
    factors = [(x[0].take(i, last), x[1].take(i, last)) for i in range(np.shape(x[0])[last])]
    one = np.ones([n for i, n in enumerate(np.shape(x[0])) if i != last])
    return reduce(multiply, factors, (one, one))


def norm(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    total = within(sum(even(np.square, x, CORRECT, 0.0), axis), 0.0, math.inf)
    return monotone(np.sqrt, total, CORRECT, values=(0.0, math.inf))


def log_sum_exp(run: Callable[[Any], Any], x: Bounds, axis: tuple[int, ...]) -> Bounds:
    """Of a sum of exponentials' logarithm: it rises in each entry."""
    count = math.prod(np.shape(x[0])[i] for i in axis)

    def off(end: object) -> Any:
        return 2 * (count + NEAR) * EPS * (1 + np.max(size_of(end), axis=axis, initial=0.0))

    lo, hi = run(x[0]), run(x[1])
    return nan_where(undefined((lo, hi)), widened(lo, hi, off(x[0]), off(x[1])))


def einsum(*xs: Bounds, subscripts: str) -> Bounds:
    """All products, each an interval, then their sums."""
    inputs, output = subscripts.split("->")
    letters = [*output, *[c for c in dict.fromkeys(inputs) if c not in f"{output},"]]
    product = reduce(
        multiply,
        [spread_interval(x, term, letters) for x, term in zip(xs, inputs.split(","), strict=True)],
    )
    axes = tuple(range(len(output), len(letters)))
    return sum(product, axes) if axes else product


def spread_interval(x: Bounds, term: str, letters: list[str]) -> Bounds:
    """An operand with an axis for each letter, in their order."""
    order = [term.index(c) for c in letters if c in term]

    def spread(end: Any) -> Any:
        sizes = iter(np.transpose(end, order).shape)
        shape = [next(sizes) if c in term else 1 for c in letters]
        return np.transpose(end, order).reshape(shape)

    return spread(x[0]), spread(x[1])


def matmul(a: Bounds, b: Bounds) -> Bounds:
    stack = "abcdefg"[: max(np.ndim(a[0]), np.ndim(b[0]), 2) - 2]
    left = "k" if np.ndim(a[0]) == 1 else f"{stack}ik"
    right = "k" if np.ndim(b[0]) == 1 else f"{stack}kj"
    output = stack + ("" if np.ndim(a[0]) == 1 else "i") + ("" if np.ndim(b[0]) == 1 else "j")
    return einsum(a, b, subscripts=f"{left},{right}->{output}")


def piecewise_linear(x: Bounds, xp: Bounds, fp: Bounds) -> Bounds:
    """Of piecewise linear functions: the hull of the levels of all knots that may stand beside the places."""
    found = np.empty(np.shape(x[0])), np.empty(np.shape(x[0]))
    known = all(np.array_equal(*ends) for ends in (xp, fp))
    for row in np.ndindex(*np.shape(xp[0])[:-1]):
        places, knots, levels = ([end[row] for end in ends] for ends in (x, xp, fp))
        before, beside = (
            np.sum(k <= np.expand_dims(q, -1), -1) for q, k in zip(places, knots[::-1], strict=True)
        )
        first, last = np.maximum(before - 1, 0), np.minimum(beside, len(knots[0]) - 1)
        numbers = np.arange(len(knots[0]))
        kept = (numbers >= np.expand_dims(first, -1)) & (numbers <= np.expand_dims(last, -1))
        size = np.max(np.where(kept, np.maximum(*map(np.abs, levels)), 0), -1)
        if known:  # it is monotone between knots: only those inside count, and the ends
            kept &= (numbers > np.expand_dims(first, -1)) & (numbers < np.expand_dims(last, -1))
        ends = [np.interp(q, knots[0], levels[0]) for q in places] if known else []
        lo = np.min(np.where(kept, levels[0], np.inf), -1)
        hi = np.max(np.where(kept, levels[1], -np.inf), -1)
        found[0][row] = reduce(np.minimum, ends, lo) - 16 * EPS * size
        found[1][row] = reduce(np.maximum, ends, hi) + 16 * EPS * size
    return found


# -- places and bits that are known --------------------------------------------------------------
def gathered(run: Callable[..., Any], x: Bounds, at: Sequence[Bounds], **params: object) -> Bounds:
    """Entries at places that are known."""
    places = _known_places(at)
    return run(x[0], *places, **params), run(x[1], *places, **params)


def scattered(run: Callable[..., Any], g: Bounds, at: Sequence[Bounds], **params: object) -> Bounds:
    """Sums of entries at places that are known."""
    places = _known_places(at)
    if not places:
        return run(g[0], **params), run(g[1], **params)
    return _totalled(g, lambda end: run(end, *places, **params), np.size(g[0]))


def stored(
    run: Callable[..., Any], x: Bounds, v: Bounds, at: Sequence[Bounds], **params: object
) -> Bounds:
    """An array with entries replaced at places that are known."""
    places = _known_places(at)
    return run(x[0], v[0], *places, **params), run(x[1], v[1], *places, **params)


def _known_places(indices: Sequence[Bounds]) -> list[Any]:
    if not all(np.array_equal(*index) for index in indices):
        raise TypeError(
            "bounds: getitem: expected an index that is the same all over the box, but it depends on a "
            "variable; write np.where, or a smaller box"
        )
    return [index[0].astype(np.intp) for index in indices]


def located(run: Callable[..., Any], x: Bounds, axis: int) -> Bounds:
    """Places along an axis, such as that of a maximum: any, unless the entries are known."""
    if np.array_equal(x[0], x[1]):
        place = np.asarray(run(x[0], axis=axis), float)
        return place, place
    shape = np.shape(run(x[0], axis=axis))
    return np.zeros(shape), np.full(shape, np.shape(x[0])[axis] - 1.0)


def certain(run: Callable[..., Any], x: Bounds, y: Bounds) -> Bounds:
    """Bits of whole numbers that are known."""
    if not (np.array_equal(*x) and np.array_equal(*y)):
        raise TypeError("bounds: bits of whole numbers that are not known have no interval rule")
    z = run(x[0].astype(np.int64), y[0].astype(np.int64)).astype(float)
    return z, z
