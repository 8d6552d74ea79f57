"""Discrete convolution of vectors: `convolve` and `correlate`.

A convolution is linear in each operand. Its transposes are convolutions of the cotangent with the other
operand turned round, over another range of entries; so one operation, with the range as a parameter, is
closed under differentiation: as fast as NumPy's own, and with no matrix of shifted entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op, lift_all
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import astype
from funcgrad.source import value_error
from funcgrad.typing import Array

Kept: TypeAlias = str | tuple[int, int]
"""Entries of the full convolution: by NumPy's mode, or the first one and their number; others are zero."""


_MODES = ("full", "same", "valid")


def kept_range(kept: Kept, m: int, n: int) -> tuple[int, int]:
    """The first entry and the number of entries that are kept, of vectors of m and n entries."""
    if kept == "full":
        return 0, m + n - 1
    if kept == "same":
        return (min(m, n) - 1) // 2, max(m, n)
    if kept == "valid":
        return min(m, n) - 1, abs(m - n) + 1
    if isinstance(kept, str):
        raise value_error(
            f"convolve: expected 'full', 'same', 'valid' or a range, but got {kept!r}"
        )
    return kept


def named_range(first: int, count: int, m: int, n: int) -> Kept:
    """A range by its name, if it has one."""
    names = [name for name in _MODES if kept_range(name, m, n) == (first, count)]
    return names[0] if names else (first, count)


# -- values --------------------------------------------------------------------------------------
def _run(a: Array, v: Array, kept: Kept) -> Any:
    first, count = kept_range(kept, a.shape[-1], v.shape[-1])
    if a.ndim == 1:
        return _of_vectors(a, v, first, count)
    for rows, kernels in ((a, v), (v, a)):
        if rows.shape[-1] >= kernels.shape[-1] and _is_one_row(kernels):
            return _by_one(rows, kernels.reshape(-1, kernels.shape[-1])[0], first, count)
    shorter = min(a.shape[-1], v.shape[-1])
    if np.prod(a.shape[:-1]) <= shorter or shorter * count >= _LONG:
        found = np.zeros((*a.shape[:-1], count), a.dtype)
        for index in np.ndindex(*a.shape[:-1]):
            found[index] = _of_vectors(a[index], v[index], first, count)
        return found
    return _of_stacks(a, v, first, count)


# Products of a row from which a call of NumPy's function for each row is quicker.
_LONG = 4096


def _is_one_row(v: Array) -> bool:
    """Whether all vectors of a stack are one and the same, of finite numbers."""
    rows = v.reshape(-1, v.shape[-1])
    return bool(len(rows) and np.all(rows == rows[0]) and np.all(np.isfinite(rows[0])))


def _by_one(a: Array, v: Array, first: int, count: int) -> Any:
    """Of many vectors with one, by one call of NumPy's function, with zeros between one and the next."""
    whole = a.shape[-1] + len(v) - 1
    apart = np.zeros((*a.shape[:-1], whole), a.dtype)
    apart[..., : a.shape[-1]] = a
    full = np.convolve(apart.reshape(-1), v)[: apart.size].reshape(apart.shape)
    start, stop = max(first, 0), min(first + count, whole)
    if (start, stop) == (first, first + count):
        return full[..., start:stop]
    found = np.zeros((*a.shape[:-1], count), full.dtype)
    if start < stop:
        found[..., start - first : stop - first] = full[..., start:stop]
    return found


def _of_vectors(a: Array, v: Array, first: int, count: int) -> Any:
    """By NumPy's own function, on those entries that reach the range."""
    m, n = len(a), len(v)
    start, stop = max(first, 0), min(first + count, m + n - 1)
    if stop <= start:
        return np.zeros(count, a.dtype)
    i, j = max(0, start - n + 1), max(0, start - m + 1)
    a, v = a[i:stop], v[j:stop]
    start, end = start - i - j, stop - i - j
    shorter, longer = sorted((len(a), len(v)))
    if start >= shorter - 1 and end <= longer:
        found = np.convolve(a, v, "valid")[start - shorter + 1 : end - shorter + 1]
    else:
        found = np.convolve(a, v)[start:end]
    if len(found) == count:
        return found
    whole = np.zeros(count, found.dtype)
    whole[max(-first, 0) :][: len(found)] = found
    return whole


def _of_stacks(a: Array, v: Array, first: int, count: int) -> Any:
    """As a sum over the entries of the shorter operands, for many vectors of few entries."""
    if a.shape[-1] < v.shape[-1]:
        a, v = v, a
    total = np.zeros((*a.shape[:-1], count), a.dtype)
    for k in range(v.shape[-1]):
        start, stop = max(first, k), min(first + count, k + a.shape[-1])
        if start < stop:
            part = total[..., start - first : stop - first]
            part += a[..., start - k : stop - k] * v[..., k : k + 1]
    return total


def _type(a: ArrayType, v: ArrayType, kept: Kept) -> ArrayType:
    stacked = a.ndim == v.ndim >= 1 and a.shape[:-1] == v.shape[:-1] and a.dtype == v.dtype
    if not (stacked and a.shape[-1] and v.shape[-1]):
        raise value_error(f"convolve: expected two vectors with entries, but got {a} and {v}")
    _, count = kept_range(kept, a.shape[-1], v.shape[-1])
    return ArrayType((*a.shape[:-1], count), a.dtype)


# -- derivatives ---------------------------------------------------------------------------------
def _transposed(g: Array, other: Array, own: int, kept: Kept) -> Any:
    """The cotangent of one operand: the sum over p of g[p - first] * other[p - i], for each entry i."""
    n = other.shape[-1]
    first, count = kept_range(kept, own, n)
    return convolve_op(g, np.flip(other, -1), kept=named_range(n - 1 - first, own, count, n))


def _edge_of_first(z: Array, a: Array, v: Array, kept: Kept) -> LinearMap:
    return Structural(
        lambda da: convolve_op(da, v, kept=kept), lambda g: _transposed(g, v, a.shape[-1], kept)
    )


def _edge_of_second(z: Array, a: Array, v: Array, kept: Kept) -> LinearMap:
    return Structural(
        lambda dv: convolve_op(a, dv, kept=kept), lambda g: _transposed(g, a, v.shape[-1], kept)
    )


def _batch(size: int, batched: tuple[bool, bool], a: Array, v: Array, kept: Kept) -> Any:
    return convolve_op(*spread_unbatched(size, batched, (a, v)), kept=kept)


# -- readers -------------------------------------------------------------------------------------
def _decomposed(a: Array, v: Array, kept: Kept) -> Any:
    """As a product with the matrix of shifted entries. Where it reaches beyond, both factors are 0."""
    m, n = a.shape[-1], v.shape[-1]
    first, count = kept_range(kept, m, n)
    places = first + np.arange(count)[:, None] - np.arange(n)
    inside = (places >= 0) & (places < m)
    entries = mask(inside, a[..., np.clip(places, 0, m - 1)])
    products = entries * mask(inside, v[..., None, :])
    return np.sum(products, axis=-1, dtype=products.dtype)


def _source(expr: Expr, texts: Sequence[str]) -> str:
    """Of vectors, or of each pair of vectors in two stacks; zeros stand beyond the full convolution."""
    kept, (a, v) = dict(expr.params)["kept"], expr.args
    m, n = a.shape[-1], v.shape[-1]
    x, y = texts if a.ndim == 1 else ("x", "y")
    if isinstance(kept, str):
        text = f"np.{_notation(x, y, kept)}"
    else:
        first, count = kept
        before, after = max(-first, 0), max(first + count - (m + n - 1), 0)
        text = f"np.convolve({x}, {y})"
        if before or after:
            text = f"np.pad({text}, ({before}, {after}))"
        text += f"[{first + before}:{first + before + count}]"
    if a.ndim == 1:
        return text
    rows = f"zip(np.reshape({texts[0]}, (-1, {m})), np.reshape({texts[1]}, (-1, {n})))"
    return f"np.reshape([{text} for x, y in {rows}], {expr.shape})"


def _notation(a: str, v: str, kept: Kept) -> str:
    if kept == "full":
        return f"convolve({a}, {v})"
    return f"convolve({a}, {v}, {repr(kept) if isinstance(kept, str) else f'kept={kept}'})"


def _flops(z: Expr) -> int:
    return 2 * z.size * min([x.shape[-1] for x in z.args])


convolve_op = Op(
    name="convolve",
    run=_run,
    infer=_type,
    edges=(_edge_of_first, _edge_of_second),
    batch=_batch,
    notation=_notation,
    columns=Columns(
        decompose=_decomposed,
        in_words="convolve turns round",
        machine="convolve",
        latex=Form("convolution"),
        mpmath=lambda mp, a, v, kept: _run(a, v, kept),
        numpy=_source,
        flops=_flops,
        fresh=True,
    ),
)


# -- NumPy's functions ---------------------------------------------------------------------------
def convolve(a: Array, v: Array, mode: str | int = "full") -> Any:
    """As `numpy.convolve`."""
    a, v, kept = _two_vectors("convolve", a, v, mode)
    return convolve_op(a, v, kept=kept)


def correlate(a: Array, v: Array, mode: str | int = "valid") -> Any:
    """As `numpy.correlate`: conjugates the second."""
    a, v, kept = _two_vectors("correlate", a, v, mode)
    v = v.conj()
    if a.size < v.size:  # NumPy exchanges them, and turns the result round
        return np.flip(convolve_op(v, np.flip(a), kept=kept))
    return convolve_op(a, np.flip(v), kept=kept)


def _two_vectors(name: str, a: Any, v: Any, mode: str | int) -> tuple[Any, Any, str]:
    a, v = lift_all((a, v))
    a, v = (np.atleast_1d(astype(x, np.result_type(a.dtype, v.dtype))) for x in (a, v))
    if type(mode) is int and 0 <= mode < 3:  # numbers that NumPy has for them
        mode = ("valid", "same", "full")[mode]
    if mode not in _MODES:
        raise value_error(
            f"{name}: expected a mode among 'full', 'same', 'valid', but got {mode!r}"
        )
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise value_error(
            f"{name}: expected two vectors with entries, but got {a.type} and {v.type}"
        )
    return a, v, mode
