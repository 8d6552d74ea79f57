"""The sparsity pattern on each edge: which entries of a node depend on which entries of an operand.

An edge from y to its operand x has a boolean matrix of (entries of y, entries of x). The values of indices
and the zeros of constants are evaluated, no others. The invariant: a pattern covers the true one. An
operation without a rule is dense: every entry of its result depends on every entry of that operand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT, ArrayType, TupleType
from funcgrad.ops import indexing, stores
from funcgrad.ops.base.op import Elementwise, columns_of
from funcgrad.source import fail
from funcgrad.typing import Array

Facts: TypeAlias = tuple[Any, ...]
"""The facts about each operand of a node: indices, or a mask of nonzeros; None if nothing is known."""

Pattern: TypeAlias = Any
"""A boolean ``scipy.sparse.csr_array``, or `SAME` or `DENSE`, which need no matrix."""

SAME: Final = "each entry depends on the one in its place"
DENSE: Final = "each entry depends on every one"


def scipy_sparse() -> Any:
    """The module `scipy.sparse`, an optional dependency."""
    try:
        import scipy.sparse
    except ImportError:
        raise fail(
            ImportError, "sparse: expected SciPy, but it is not installed; pip install scipy"
        ) from None
    return scipy.sparse


def matrix(rows: Any, columns: Any, size: tuple[int, int]) -> Pattern:
    """The boolean matrix with these entries."""
    here = (np.ravel(rows), np.ravel(columns))
    return scipy_sparse().csr_array((np.ones(here[0].size, bool), here), shape=size)


def entry_count(expr: Expr) -> int:
    """The number of entries, of a tuple those of all parts; an axis of unknown length counts as one entry."""
    return _count(expr.type)


def _count(type: ArrayType | TupleType) -> int:
    parts = type.parts if isinstance(type, TupleType) else (type,)
    return sum([abs(part.size) for part in parts])


# -- facts about operands ------------------------------------------------------------------------
def facts(roots: Sequence[Expr], given: Mapping[int, Any]) -> dict[int, Facts]:
    """The facts, by id, for each node whose pattern depends on values.

    ``given`` has the arrays of inputs that are not differentiated in, by id. Known are values computed only
    from these and from constants: index arrays, conditions, constant factors.
    """
    values = dict(given)
    found: dict[int, Facts] = {}

    def value(expr: Expr, mine: tuple[Any, ...]) -> Any:
        if expr.op is CONSTANT:
            return expr.params[0][1].array
        if expr.op is INPUT:
            return None
        if not any([value is None for value in mine]):
            with np.errstate(all="ignore"):
                return expr.op.run(*mine, **dict(expr.params))
        rule = columns_of(expr).sparsity
        read = _discrete if callable(rule) else _READ.get(rule or "")
        if read is not None:
            found[id(expr)] = tuple(map(read, mine))
        return None

    folded(roots, value, values)
    return found


def _discrete(value: Array) -> Any:
    """An index or a condition; None of other values, since these may differ in each call."""
    return value if value is not None and np.asarray(value).dtype.kind in "iub" else None


def _nonzero(value: object) -> Any:
    """The mask of a constant factor's nonzeros; None if the factor is unknown or has no zero."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.size and not any(array.strides):  # one number, repeated
        return None if array.flat[0] != 0 else np.zeros(array.shape, bool)
    chosen = np.not_equal(array, 0)
    return None if chosen.all() else chosen


def digest(found: Mapping[int, Facts]) -> bytes:
    """A digest of facts: for the same program, equal facts have equal patterns."""
    state = hashlib.blake2b(digest_size=16)
    for known in found.values():
        for value in known:
            array = np.asarray(0 if value is None else value)
            state.update(repr((value is None, array.shape, array.dtype.str)).encode())
            state.update(array.tobytes())
    return state.digest()


# -- the pattern on an edge ----------------------------------------------------------------------
def edge_pattern(expr: Expr, place: int, known: Facts) -> Pattern:
    """The pattern on the edge from a node that holds no programs to one of its operands."""
    columns = columns_of(expr)
    if columns.sparsity is not None and not callable(columns.sparsity):
        return _RULES[columns.sparsity](expr, place, known)
    if columns.reduces:
        return _reduced(expr, place, known)
    if isinstance(expr.op, Elementwise) or columns.entrywise:
        return SAME
    return _moved(expr, place, known) if expr.op.moves else DENSE


def _moved(expr: Expr, place: int, known: Facts) -> Pattern:
    """The pattern of an operation that only moves entries, run on their numbers from 1; 0 marks others."""
    operands = [np.zeros(x.shape, int) for x in expr.args]
    own = operands[place]
    operands[place] = np.arange(1, own.size + 1).reshape(own.shape)
    origin = np.ravel(expr.op.run(*operands, **dict(expr.params)))
    rows = np.flatnonzero(origin)
    return matrix(rows, origin[rows] - 1, (expr.size, own.size))


def _foreign(expr: Expr, place: int, known: Facts) -> Pattern:
    function = dict(expr.params)["function"]
    if not function.elementwise:
        return DENSE
    rules = function.partials
    if isinstance(rules, list | tuple) and rules[place] is None:  # not differentiable
        return matrix((), (), (expr.size, expr.size))
    return SAME


def _picked(expr: Expr, place: int, known: Facts) -> Pattern:
    (whole,) = expr.args
    index = dict(expr.params)["index"]
    start = sum([abs(part.size) for part in whole.type.parts[:index]])  # type: ignore[attr-defined]
    here = np.arange(entry_count(expr))
    return matrix(here, here + start, (here.size, entry_count(whole)))


def _joined(expr: Expr, place: int, known: Facts) -> Pattern:
    start = sum([entry_count(part) for part in expr.args[:place]])
    here = np.arange(entry_count(expr.args[place]))
    return matrix(here + start, here, (entry_count(expr), here.size))


def _gathered(expr: Expr, place: int, known: Facts) -> Pattern:
    x, *arrays = expr.args
    if len(known) <= len(arrays) or any([value is None for value in known[1:]]):
        return DENSE if arrays else _moved(expr, place, known)
    origin = np.ravel(expr.op.run(_numbers(x), *known[1:], **dict(expr.params)))
    return matrix(np.arange(expr.size), origin, (expr.size, x.size))


def _scattered(expr: Expr, place: int, known: Facts) -> Pattern:
    x, *arrays = expr.args
    if any([value is None for value in known[1:]]) or len(known) <= len(arrays):
        return DENSE
    spec = dict(expr.params)["spec"]
    goal = indexing.getitem_op.run(_numbers(expr), *known[1:], spec=spec, shape=x.shape)
    return matrix(goal, np.arange(x.size), (expr.size, x.size))


def _stored(expr: Expr, place: int, known: Facts) -> Pattern:
    _, v, *arrays = expr.args
    where = known[2:]
    spec = dict(expr.params)["spec"]
    if any([value is None for value in where]) or len(where) < len(arrays):
        return SAME if place == 0 else DENSE
    goal = indexing.getitem_op.run(_numbers(expr), *where, spec=spec, shape=v.shape)
    if expr.op is stores.index_add_op:
        return SAME if place == 0 else matrix(goal, np.arange(v.size), (expr.size, v.size))
    origin = np.ravel(
        stores.index_set_op.run(_numbers(expr), -1 - _numbers(v), *where, spec=spec, unique=True)
    )
    rows = np.flatnonzero(origin >= 0 if place == 0 else origin < 0)
    columns = origin[rows] if place == 0 else -1 - origin[rows]
    return matrix(rows, columns, (expr.size, expr.args[place].size))


def _numbers(expr: Expr) -> Any:
    return np.arange(expr.size).reshape(expr.shape)


def _chosen(expr: Expr, place: int, known: Facts) -> Pattern:
    condition = known[0] if known else None
    if condition is None:
        return SAME
    return _where(condition if place == 1 else np.logical_not(condition))


def _scaled(expr: Expr, place: int, known: Facts) -> Pattern:
    factor = known[1 - place] if known else None
    return SAME if factor is None else _where(factor)


def _where(chosen: Any) -> Pattern:
    places = np.flatnonzero(chosen)
    return matrix(places, places, (chosen.size, chosen.size))


def _reduced(expr: Expr, place: int, known: Facts) -> Pattern:
    (x,) = expr.args
    whole = np.expand_dims(_numbers(expr), dict(expr.params)["axis"])
    goal = np.broadcast_to(whole, x.shape)
    return matrix(goal, np.arange(x.size), (expr.size, x.size))


def _scanned(expr: Expr, place: int, known: Facts) -> Pattern:
    lanes = np.moveaxis(_numbers(expr), dict(expr.params)["axis"], -1)
    after, before = np.tril_indices(lanes.shape[-1])
    return matrix(lanes[..., after], lanes[..., before], (expr.size, expr.size))


def _multiplied(expr: Expr, place: int, known: Facts) -> Pattern:
    a, b = expr.args
    stack = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: max(a.ndim, b.ndim, 2) - 2]
    left, right = "i" * (a.ndim > 1), "k" * (b.ndim > 1)
    output = stack + left + right
    return _contracted(expr, place, known, (f"{stack}{left}j", f"{stack}j{right}"), output)


def _summed(expr: Expr, place: int, known: Facts) -> Pattern:
    inputs, output = dict(expr.params)["subscripts"].split("->")
    return _contracted(expr, place, known, tuple(inputs.split(",")), output)


def _contracted(
    expr: Expr, place: int, known: Facts, terms: tuple[str, ...], output: str
) -> Pattern:
    """The pattern of a contraction: entries depend on each other if their shared indices agree."""
    own = terms[place]
    if any(len(set(term)) < len(term) for term in terms):
        return DENSE
    size = {c: n for t, x in zip(terms, expr.args, strict=True) for c, n in zip(t, x.shape)}  # noqa: B905
    letters = "".join(dict.fromkeys(output + own))
    grid = tuple(size[c] for c in letters)
    rows = np.broadcast_to(_aligned(_numbers(expr), output, letters), grid)
    columns = np.broadcast_to(_aligned(_numbers(expr.args[place]), own, letters), grid)
    area = (expr.size, expr.args[place].size)
    factors = [
        (term, value)
        for i, (term, value) in enumerate(zip(terms, known, strict=False))
        if i != place and value is not None
    ]
    if not factors:
        return matrix(rows, columns, area)
    shared = "".join(c for c in letters if any(c in term for term, _ in factors))
    paths = np.einsum(
        ",".join(term for term, _ in factors) + "->" + shared,
        *[value.astype(float) for _, value in factors],
    )
    keep = np.broadcast_to(_aligned(paths > 0, shared, letters), grid)
    return matrix(rows[keep], columns[keep], area)


def _aligned(array: Array, term: str, letters: str) -> Any:
    """An array with an axis for each letter, of length 1 for letters that its term lacks."""
    order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
    missing = tuple(i for i, c in enumerate(letters) if c not in term)
    return np.expand_dims(np.transpose(array, order), missing)


_RULES: dict[str, Callable[[Expr, int, Facts], Pattern]] = {
    "foreign": _foreign,
    "joined": _joined,
    "picked": _picked,
    "moved": _moved,
    "chosen": _chosen,
    "scaled": _scaled,
    "gathered": _gathered,
    "scattered": _scattered,
    "stored": _stored,
    "scanned": _scanned,
    "multiplied": _multiplied,
    "summed": _summed,
}
"""The rules that operations name in their column ``sparsity``."""
# The rules whose patterns depend on the values of operands, and the facts that they read.
_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("gathered", "scattered", "stored", "chosen"), lambda value: value),
    **dict.fromkeys(("scaled", "multiplied", "summed"), _nonzero),
}
