"""The interval rules of operations on whole arrays: reductions, contractions, selections, casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.algebras.interval_booleans import OF_TRUTH, true
from funcgrad.algebras.interval_rules import ELEMENTWISE, OPS, multiply
from funcgrad.algebras.outward_rounding import (
    EPS,
    NEAR,
    Bounds,
    Rule,
    nan_where,
    size_of,
    undefined,
    widened,
    within,
)
from funcgrad.graph import Node


# -- reductions and contractions -----------------------------------------------------------------
def _sum(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    return _totalled(x, lambda end: np.sum(end, axis=axis), math.prod(np.shape(x[0])))


def _cumsum(x: Bounds, axis: int) -> Bounds:
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


def _extreme(name: str) -> Rule:
    run = OPS[name].run
    return lambda x, axis: (run(x[0], axis=axis), run(x[1], axis=axis))


def _quantified(name: str) -> Rule:
    run = OPS[name].run
    return lambda x, axis: (
        np.asarray(run(true(x)[0], axis=axis), float),
        np.asarray(run(true(x)[1], axis=axis), float),
    )


def _prod(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    (last,) = axis
    factors = [(x[0].take(i, last), x[1].take(i, last)) for i in range(np.shape(x[0])[last])]
    one = np.ones([n for i, n in enumerate(np.shape(x[0])) if i != last])
    return reduce(multiply, factors, (one, one))


def _norm(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    lo, hi = _sum(ELEMENTWISE["square"](x), axis)
    return RULES["sqrt"](within((lo, hi), 0.0, math.inf))


def _logsumexp(x: Bounds, axis: tuple[int, ...]) -> Bounds:
    run = OPS["logsumexp"].run
    count = math.prod(np.shape(x[0])[i] for i in axis)

    def off(end: Any) -> Any:
        return 2 * (count + NEAR) * EPS * (1 + np.max(size_of(end), axis=axis, initial=0.0))

    lo, hi = run(x[0], axis=axis), run(x[1], axis=axis)
    return nan_where(undefined((lo, hi)), widened(lo, hi, off(x[0]), off(x[1])))


def _einsum(*xs: Bounds, subscripts: str) -> Bounds:
    """All products, each an interval, then their sums."""
    inputs, output = subscripts.split("->")
    letters = [*output, *[c for c in dict.fromkeys(inputs) if c not in f"{output},"]]
    product = reduce(
        multiply,
        [_spread(x, term, letters) for x, term in zip(xs, inputs.split(","), strict=True)],
    )
    axes = tuple(range(len(output), len(letters)))
    return _sum(product, axes) if axes else product


def _spread(x: Bounds, term: str, letters: list[str]) -> Bounds:
    """An operand with an axis for each letter, in their order."""
    order = [term.index(c) for c in letters if c in term]

    def spread(end: Any) -> Any:
        sizes = iter(np.transpose(end, order).shape)
        shape = [next(sizes) if c in term else 1 for c in letters]
        return np.transpose(end, order).reshape(shape)

    return spread(x[0]), spread(x[1])


def _matmul(a: Bounds, b: Bounds) -> Bounds:
    stack = "abcdefg"[: max(np.ndim(a[0]), np.ndim(b[0]), 2) - 2]
    left = "k" if np.ndim(a[0]) == 1 else f"{stack}ik"
    right = "k" if np.ndim(b[0]) == 1 else f"{stack}kj"
    output = stack + ("" if np.ndim(a[0]) == 1 else "i") + ("" if np.ndim(b[0]) == 1 else "j")
    return _einsum(a, b, subscripts=f"{left},{right}->{output}")


# -- selection, casts ----------------------------------------------------------------------------
def _getitem(x: Bounds, *indices: Bounds, spec: Any, shape: Any) -> Bounds:
    run, places = OPS["getitem"].run, _certain("getitem", indices)
    return run(x[0], *places, spec=spec, shape=shape), run(x[1], *places, spec=spec, shape=shape)


def _scatter(g: Bounds, *indices: Bounds, spec: Any, shape: Any) -> Bounds:
    run, places = OPS["scatter_add"].run, _certain("scatter_add", indices)
    if not places:
        return run(g[0], spec=spec, shape=shape), run(g[1], spec=spec, shape=shape)
    return _totalled(g, lambda end: run(end, *places, spec=spec, shape=shape), np.size(g[0]))


def _certain(name: str, indices: tuple[Bounds, ...]) -> list[Any]:
    if not all(np.array_equal(*index) for index in indices):
        raise TypeError(
            f"bounds: {name}: expected an index that is the same all over the box, but it depends on a "
            "variable; write np.where, or a smaller box"
        )
    return [index[0].astype(np.intp) for index in indices]


def _located(x: Bounds, axis: int, name: str) -> Bounds:
    if np.array_equal(x[0], x[1]):
        place = np.asarray(OPS[name].run(x[0], axis=axis), float)
        return place, place
    shape = np.shape(OPS[name].run(x[0], axis=axis))
    return np.zeros(shape), np.full(shape, np.shape(x[0])[axis] - 1.0)


def _locating(name: str) -> Rule:
    return lambda x, axis: _located(x, axis, name)


def _astype(x: Bounds, dtype: np.dtype[Any]) -> Bounds:
    if dtype.kind == "b":
        return true(x)
    return (np.trunc(x[0]), np.trunc(x[1])) if dtype.kind in "iu" else x


def _itself(x: Bounds, **_: Any) -> Bounds:
    return x


def _whole(name: str) -> Rule:
    """Bits of whole numbers, where they are known."""
    run = OPS[name].run

    def rule(x: Bounds, y: Bounds) -> Bounds:
        if not (np.array_equal(*x) and np.array_equal(*y)):
            raise TypeError(f"bounds: {name!r} of whole numbers has no interval rule")
        z = run(x[0].astype(np.int64), y[0].astype(np.int64)).astype(float)
        return z, z

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **ELEMENTWISE,
        "sum": _sum,
        "cumsum": _cumsum,
        "prod": _prod,
        "norm": _norm,
        "logsumexp": _logsumexp,
        **{name: _extreme(name) for name in ("max", "min")},
        **{name: _quantified(name) for name in ("any", "all")},
        **{name: _locating(name) for name in ("argmax", "argmin", "argsort")},
        "matmul": _matmul,
        "einsum": _einsum,
        "getitem": _getitem,
        "scatter_add": _scatter,
        "astype": _astype,
        "leaf": _itself,
    }
)
"""What operations make of intervals, by name."""


def enclose(node: Node, parents: tuple[Bounds, ...]) -> Bounds | None:
    """The interval of an operation on intervals; None where it has no rule."""
    op: Any = node.op
    if node.type.dtype.kind == "b" and op.name in OF_TRUTH:
        return OF_TRUTH[op.name](*parents)
    # x*x is one x, twice.
    if op.name == "multiply" and node.parents[0] == node.parents[1]:
        return RULES["square"](parents[0])
    params = dict(node.params)
    if op.name in RULES:
        return RULES[op.name](*parents, **params)
    if op.moves or op.name == "concatenate":
        lo, hi = (op.run(*[x[i] for x in parents], **params) for i in (0, 1))
        return lo, hi
    if op.name in OF_TRUTH and op.name != "invert":
        return _whole(op.name)(*parents)
    return None
