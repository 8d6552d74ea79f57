"""``scipy.spatial.distance`` for traced values: distances of vectors, and of all pairs of rows.

A distance of equal points has derivative 0 where it has a kink. All other names lead to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np
import scipy.spatial.distance as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import (
    as_single,
    composed,
    flat_root,
    floating,
    nondifferentiable,
    real,
    refuse,
    with_captured_metric,
    with_value,
)
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


def _total(x: Array) -> Any:
    return np.sum(x, axis=0)


def _along(x: ArrayLike, u: Array) -> Any:
    """A number for each coordinate, as these stand along the first axis of u."""
    return np.reshape(real("distance", x), (-1, *(1,) * (u.ndim - 1)))


def _weight(w: ArrayLike | None, u: Array) -> Any:
    return 1.0 if w is None else _along(w, u)


def _ratio(top: Array, bottom: Array) -> Any:
    """A quotient, 0 where both are 0."""
    zero = bottom == 0
    return np.where(zero, 0.0, top / np.where(zero, 1.0, bottom))


# -- formulas of two arrays that broadcast, with the coordinates along the first axis ------------------------
def _sqeuclidean(u: Array, v: Array, w: ArrayLike | None = None) -> Any:
    return _total(_weight(w, u) * (u - v) ** 2)


def _euclidean(u: Array, v: Array, w: ArrayLike | None = None) -> Any:
    return np.linalg.norm(u - v, axis=0) if w is None else flat_root(_sqeuclidean(u, v, w))


def _chebyshev(u: Array, v: Array, w: ArrayLike | None = None) -> Any:
    off = np.abs(u - v)
    return np.max(off if w is None else np.where(_weight(w, u) > 0, off, 0.0), axis=0)


def _minkowski(u: Array, v: Array, p: float = 2, w: ArrayLike | None = None) -> Any:
    if not holds_expr(p) and np.isinf(p):
        return _chebyshev(u, v, w)
    off = u - v
    # Of a power above 1 a size with a slope at 0: abs(x)**2 has the second derivative 2 there.
    off = np.where(p > 1, np.where(off < 0, -off, off), np.abs(off))
    # The largest difference is taken out: powers of small numbers underflow.
    top = np.max(off, axis=0, keepdims=True)
    zero = top == 0
    safe = np.where(zero, 1.0, top)
    total = _total(_weight(w, u) * (off / safe) ** p)
    scale = np.squeeze(safe, axis=0)
    none = np.squeeze(zero, axis=0)
    return np.where(none, 0.0, scale * np.where(none, 1.0, total) ** (1 / p))


def _correlation(u: Array, v: Array, w: ArrayLike | None = None, centered: bool = True) -> Any:
    weight = _weight(w, u)
    if centered:
        whole = u.shape[0] if w is None else np.sum(weight)
        u = u - np.sum(weight * u, axis=0, keepdims=True) / whole
        v = v - np.sum(weight * v, axis=0, keepdims=True) / whole
    size = np.sqrt(_total(weight * u * u) * _total(weight * v * v))
    return 1 - _total(weight * u * v) / size


def _canberra(u: Array, v: Array, w: ArrayLike | None = None) -> Any:
    return _total(_weight(w, u) * _ratio(np.abs(u - v), np.abs(u) + np.abs(v)))


def _braycurtis(u: Array, v: Array, w: ArrayLike | None = None) -> Any:
    weight = _weight(w, u)
    return _total(weight * np.abs(u - v)) / _total(weight * np.abs(u + v))


def _seuclidean(u: Array, v: Array, V: ArrayLike) -> Any:
    return flat_root(_total((u - v) ** 2 / _along(V, u)))


def _mahalanobis(u: Array, v: Array, VI: ArrayLike) -> Any:
    off = u - v
    return flat_root(_total(np.tensordot(real("mahalanobis", VI), off, ([0], [0])) * off))


def _jensenshannon(p: Array, q: Array, base: float | None = None) -> Any:
    p, q = [x / np.sum(x, axis=0, keepdims=True) for x in (p, q)]
    middle = (p + q) / 2
    divergence = _total(special.rel_entr(p, middle) + special.rel_entr(q, middle)) / 2
    return flat_root(np.maximum(divergence, 0.0) / (1.0 if base is None else np.log(base)))


_FORMULAS: Mapping[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w=None: _total(_weight(w, u) * np.abs(u - v)),
    "correlation": _correlation,
    "cosine": partial(_correlation, centered=False),
    "euclidean": _euclidean,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
"""The metrics with a derivative, as functions of arrays that broadcast but for their first axis."""

_ALIASES = {
    "cheby": "chebyshev",
    "chebychev": "chebyshev",
    "cityblock": "cityblock",
    "manhattan": "cityblock",
    "l1": "cityblock",
    "l2": "euclidean",
    "cos": "cosine",
    "mink": "minkowski",
    "js": "jensenshannon",
    "sqe": "sqeuclidean",
}


_NORM_IN_DOUBLE = isinstance(_scipy.euclidean(np.zeros(1, "f"), np.zeros(1, "f")), float)
"""Whether SciPy's norms of differences are in float64 for any vectors, as before SciPy 1.18."""


def _widening(name: str, *args: object, **kwargs: object) -> list[Any]:
    """What SciPy computes a distance in, beside the vectors: weights and some metrics are in float64."""
    in_double = [np.float64(0)]
    if name in ("braycurtis", "canberra", "seuclidean"):
        return in_double
    given: dict[str, Any] = signature(getattr(_scipy, name)).bind(0, 0, *args, **kwargs).arguments
    if name == "mahalanobis":
        return [given["VI"]]
    p = given.get("p", 2) if name in ("minkowski", "euclidean") else None
    largest = name == "chebyshev" or (p is not None and not holds_expr(p) and np.isinf(p))
    if p is not None and (holds_expr(p) or (p == 2 and _NORM_IN_DOUBLE)):
        return in_double
    return in_double if given.get("w") is not None and not largest else []


def _of_vectors(name: str) -> Callable[..., Any]:
    own, formula = getattr(_scipy, name), _FORMULAS[name]

    @wraps(own)
    def function(u: ArrayLike, v: ArrayLike, *args: object, **kwargs: object) -> Any:
        if not holds_expr([u, v, *args, *kwargs.values()]):
            return own(u, v, *args, **kwargs)
        found = formula(real(name, u), real(name, v), *args, **kwargs)
        return as_single(found, u, v, *_widening(name, *args, **kwargs))

    function.__doc__ = f"As `scipy.spatial.distance.{name}`."
    return function


globals().update({name: _of_vectors(name) for name in _FORMULAS if name != "jensenshannon"})


@_composed
def jensenshannon(
    p: ArrayLike, q: ArrayLike, base: float | None = None, *, axis: Any = 0, keepdims: bool = False
) -> Any:
    """As `scipy.spatial.distance.jensenshannon`."""
    first, second = [floating("jensenshannon", x) for x in (p, q)]
    first, second = [x / np.sum(x, axis, keepdims=True) for x in (first, second)]
    middle = (first + second) / 2.0
    parts = [special.rel_entr(x, middle) for x in (first, second)]
    left, right = [np.sum(part, axis, keepdims=keepdims) for part in parts]
    total = left + right if base is None else (left + right) / np.log(base)
    return flat_root(total / 2.0)


@_composed
def yule(u: ArrayLike, v: ArrayLike, w: ArrayLike | None = None) -> Any:
    """As `scipy.spatial.distance.yule`; where SciPy gives 0 without a division, the derivative is that of
    the quotient.
    """
    first, second = real("yule", u), real("yule", v)
    weight = _weight(w, first)
    both, neither = [_total(weight * x * y) for x, y in ((first, second), (1 - first, 1 - second))]
    of_first, of_second = [
        _total(weight * x * (1 - y)) for x, y in ((first, second), (second, first))
    ]
    product = of_first * of_second
    return _ratio(2.0 * product, both * neither + product)


# -- all pairs -------------------------------------------------------------------------------------
def _formula(who: str, metric: Any) -> Callable[..., Any]:
    name = _ALIASES.get(metric.lower(), metric.lower())
    if name not in _FORMULAS:
        raise type_error(
            f"{who}: expected a metric with a derivative, one of {', '.join(_FORMULAS)}, but got "
            f"{metric!r}",
        )
    return _FORMULAS[name]


def _all_pairs(
    who: str, metric: object, a: Array, b: Array, points: Array, options: dict[str, Any]
) -> Any:
    """The metric of each row of a and each of b; ``points`` are all rows, for variances."""
    formula = _formula(who, metric)
    if formula is _seuclidean and options.get("V") is None:
        options = {**options, "V": np.var(points, axis=0, ddof=1)}
    if formula is _mahalanobis and options.get("VI") is None:
        options = {**options, "VI": np.linalg.inv(np.cov(points.T)).T}
    # Coordinates come first: NumPy's loops go along the pairs, which are many.
    return formula(a.T[:, :, None], b.T[:, None, :], **options)


@with_captured_metric
@_hosted
def cdist(
    XA: ArrayLike,
    XB: ArrayLike,
    metric: object = "euclidean",
    *,
    out: None = None,
    **kwargs: object,
) -> Any:
    """As `scipy.spatial.distance.cdist`, for the metrics that have a derivative.

    >>> import funcgrad as fg
    >>> origin = np.zeros((1, 2))
    >>> fg.grad(lambda x: cdist(x, origin)[0, 0])(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    refuse("cdist", out=out)
    a, b = real("cdist", XA), real("cdist", XB)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise value_error(
            f"cdist: expected two matrices with as many columns, but got {a.shape} and {b.shape}",
        )
    if callable(metric):
        return np.stack([np.stack([metric(u, v, **kwargs) for v in b]) for u in a])
    return _all_pairs("cdist", metric, a, b, np.concatenate([a, b]), kwargs)


@with_captured_metric
@_hosted
def pdist(X: ArrayLike, metric: object = "euclidean", *, out: None = None, **kwargs: object) -> Any:
    """As `scipy.spatial.distance.pdist`, for the metrics that have a derivative."""
    refuse("pdist", out=out)
    x: Any = real("pdist", X)
    if x.ndim != 2:
        raise value_error(f"pdist: expected a matrix, but got shape {x.shape}")
    first, second = np.triu_indices(x.shape[0], 1)
    if callable(metric):
        return np.stack([metric(x[i], x[j], **kwargs) for i, j in zip(first, second, strict=True)])
    return _all_pairs("pdist", metric, x, x, x, kwargs)[first, second]


@_composed
def squareform(X: ArrayLike, force: str = "no", checks: bool = True) -> Any:
    x: Any = np.atleast_1d(floating("squareform", X))
    if x.ndim == 2:
        return x[np.triu_indices(x.shape[0], 1)]
    n = int(np.ceil(np.sqrt(2 * x.shape[0]))) or 1
    if n * (n - 1) != 2 * x.shape[0]:
        raise value_error(f"squareform: expected n*(n - 1)/2 distances, but got {x.shape[0]}")
    first, second = np.triu_indices(n, 1)
    places = np.zeros((n, n), int)
    places[first, second] = places[second, first] = np.arange(x.shape[0]) + 1
    return np.concatenate([np.zeros(1, x.dtype), x])[places]


@_hosted
def directed_hausdorff(u: ArrayLike, v: ArrayLike, rng: Any = 0, **_: object) -> Any:
    """As `scipy.spatial.distance.directed_hausdorff`: the distance, and the places of the two points."""
    first, second = real("directed_hausdorff", u), real("directed_hausdorff", v)

    def places(u: Array, v: Array) -> Any:
        return np.array(_scipy.directed_hausdorff(u, v, rng)[1:])

    found = nondifferentiable("directed_hausdorff", places, first, second)
    pair = lift_fully(first)[found[0]], lift_fully(second)[found[1]]
    own = nondifferentiable(
        "directed_hausdorff",
        lambda u, v: float(_scipy.directed_hausdorff(u, v, rng)[0]),
        first,
        second,
    )
    return with_value(own, _euclidean(*pair)), found[0], found[1]


__getattr__ = partial(attribute_of, _scipy)
