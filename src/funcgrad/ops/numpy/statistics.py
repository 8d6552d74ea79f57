"""Statistics of samples: weighted averages, ranges, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.arguments import inexact
from funcgrad.ops.base.axes import axis_tuple
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.shape import astype, expand_dims, holds_expr
from funcgrad.source import fail, type_error, value_error
from funcgrad.typing import Array, ArrayLike, Axis


def average(
    x: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """As `numpy.average`."""
    x = inexact(x)
    known = None if weights is None or holds_expr(weights) else np.asarray(weights)
    if weights is None:
        weights = np.ones((), x.dtype)
    weights = lift_fully(weights)
    weights = astype(weights, np.result_type(x.dtype, weights.dtype))  # in which NumPy adds them
    if weights.shape not in ((), x.shape):
        if axis is None:
            raise type_error(
                f"average: expected axis for weights of another shape than {x.type}, but got "
                f"{weights.type} and no axis",
            )
        given = axis_tuple("average", axis, x)
        if weights.shape != tuple(x.shape[i] for i in given):
            raise value_error(
                f"average: expected weights of the shape of {x.type}, or as many as along axis, but "
                f"got {weights.type}",
            )
        weights = np.transpose(weights, np.argsort(given))
        weights = expand_dims(weights, tuple(i for i in range(x.ndim) if i not in given))
    weights = np.broadcast_to(weights, x.shape)
    total = np.sum(weights, axis, keepdims=keepdims)
    if known is not None and not np.all(known_value(total)):
        raise fail(ZeroDivisionError, "average: expected weights whose sum is not zero")
    result = np.sum(x * weights, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def ptp(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """As `numpy.ptp`: the largest less the smallest."""
    x = lift_fully(x)
    if x.dtype.kind == "b":
        raise type_error(f"ptp: expected numbers, but got {x.type}; write x.astype(int)")
    return np.max(x, axis, keepdims=keepdims) - np.min(x, axis, keepdims=keepdims)


# -- together ------------------------------------------------------------------------------------
def cov(
    m: Any, y: object = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """As `numpy.cov` without weights: each row a variable."""
    m, others = (_variables(x, rowvar) for x in (m, y))
    if ddof is not None and ddof != int(ddof):
        raise value_error(f"cov: expected an integer as ddof, but got {ddof!r}")
    free = m.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    variables = [m] if others is None else [m, others]
    if all([item.shape[0] == 1 for item in variables]):
        entries = _of_vectors(variables, free)
        return _matrix(entries) if others is not None else entries[0][0]
    centered = _centered(np.concatenate(variables, axis=0))
    products = np.matmul(centered, np.transpose(centered.conj()))
    return np.squeeze(products) / max(free, 0)


def _centered(m: Array) -> Any:
    return m - np.mean(m, axis=-1, keepdims=True)


def _of_vectors(variables: list[Any], free: int) -> list[list[Any]]:
    """The covariances of one vector or two with each other, each a formula that holds no others'."""
    vectors = [_centered(np.squeeze(item, 0)) for item in variables]
    return [
        [np.sum(x * y.conj()) / max(free, 0) if i <= k else None for k, y in enumerate(vectors)]
        for i, x in enumerate(vectors)
    ]


def _matrix(entries: list[list[Any]]) -> Any:
    """The hermitian matrix of two rows, of which the entries on and above the diagonal are given."""
    (a, b), (_, d) = entries
    return np.stack([a, b, b.conj(), d]).reshape(2, 2)


def _variables(x: Any, rowvar: bool) -> Any:
    if x is None:
        return None
    x = lift_fully(x)
    if x.ndim > 2:
        raise value_error(f"cov: expected a vector or a matrix, but got {x.type}")
    x = astype(x, np.promote_types(x.dtype, float))
    return np.transpose(x) if x.ndim == 2 and not rowvar else np.atleast_2d(x)


def corrcoef(x: object, y: object = None, rowvar: bool = True) -> Any:
    """As `numpy.corrcoef`: covariances over the products of deviations, from -1 to 1."""
    m, others = (_variables(item, rowvar) for item in (x, y))
    if others is not None and m.shape[0] == others.shape[0] == 1:
        (a, b), (_, d) = _of_vectors([m, others], m.shape[1] - 1)
        first, second = np.sqrt(np.real(a)), np.sqrt(np.real(d))
        entries = [[a / first / first, b / first / second], [None, d / second / second]]
        return _within_one(_matrix(entries))
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diag(c)))
    return _within_one(c / deviation[:, None] / deviation)


def _within_one(c: Array) -> Any:
    """Correlations whose rounding errors are cut off, in the real and the imaginary part."""
    if c.dtype.kind != "c":
        return c - stopped(c - np.clip(c, -1, 1))
    inside = make_complex(np.clip(np.real(c), -1, 1), np.clip(np.imag(c), -1, 1))
    return c - stopped(c - inside)
