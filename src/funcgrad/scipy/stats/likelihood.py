"""The parameters of a distribution for which data are likeliest, by the implicit function theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.arrays.reference import unwrapped
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import refuse, solution, without_derivative
from funcgrad.source import fail, type_error
from funcgrad.transforms.grad import grad
from funcgrad.transforms.jacobian import jacobian
from funcgrad.typing import Array

FITTED_BY_FORMULAS = frozenset(
    (
        "expon",
        "halfcauchy",
        "halflogistic",
        "halfnorm",
        "laplace",
        "loglaplace",
        "loguniform",
        "norm",
        "pareto",
        "powerlaw",
        "rayleigh",
        "reciprocal",
        "uniform",
        "vonmises",
    )
)
"""Distributions whose fit SciPy's code writes down; at many of them the likelihood has no slope of 0."""


def _fixed(own: Any, kwds: Mapping[str, Any]) -> dict[int, Any]:
    """The parameters that are given, by their place among shapes, loc and scale."""
    names = [name.strip() for name in (own.shapes or "").split(",") if name.strip()]
    found = {}
    for k, name in enumerate([*names, "loc", "scale"]):
        keys = [f"f{k}", f"f{name}", f"fix_{name}"]
        given = [kwds[key] for key in keys if key in kwds]
        if given:
            found[k] = given[0]
    return found


_CENSORED = ("_uncensored", "_left", "_right", "_interval")


def is_censored(data: object) -> bool:
    """Whether data are a `scipy.stats.CensoredData`."""
    return all([hasattr(data, name) for name in _CENSORED])


def censored_parts(data: object) -> list[Any]:
    """The arrays of a `scipy.stats.CensoredData`."""
    return [getattr(data, name) for name in _CENSORED]


def censored_maximum_likelihood(
    distribution: Any, data: object, starts: tuple[Any, ...], kwds: dict[str, Any]
) -> Any:
    """As `maximum_likelihood`, of a `scipy.stats.CensoredData`."""
    parts: list[Any] = [lift_fully(unwrapped(part)) for part in censored_parts(data)]
    shapes = [part.shape for part in parts]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]

    def split(whole: Array) -> list[Any]:
        pieces = np.split(whole, ends)
        return [np.reshape(piece, shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def nnlf(theta: Sequence[Any], whole: Array) -> Any:
        exact, left, right, interval = split(whole)
        found = 0.0
        for log, at in (("logpdf", exact), ("logcdf", left), ("logsf", right)):
            found = found + (np.sum(getattr(distribution, log)(at, *theta)) if at.size else 0.0)
        if interval.size:
            below, above = [distribution.cdf(interval[:, k], *theta) for k in range(2)]
            beyond, far = [distribution.sf(interval[:, k], *theta) for k in range(2)]
            # As SciPy, by the tail that is small.
            found = found + np.sum(np.log(np.where(below > 0.5, beyond - far, above - below)))
        return -found

    def as_data(whole: Array) -> Any:
        exact, left, right, interval = split(whole)
        return _scipy.CensoredData(exact, left=left, right=right, interval=interval)

    whole: Any = np.concatenate([np.ravel(part) for part in parts])
    return maximum_likelihood(distribution.own, nnlf, whole, starts, kwds, as_data)


def maximum_likelihood(
    own: Any,
    nnlf: Callable[..., Any],
    data: Array,
    starts: tuple[Any, ...],
    kwds: dict[str, Any],
    as_data: Callable[[Array], Any] = np.asarray,
) -> Any:
    """SciPy's fit, with the derivative of the parameters at which the slope of the likelihood is 0.

    SciPy is given the data as ``as_data`` makes them of an array.
    """
    who = f"{own.name}.fit"
    refuse(who, method=None if kwds.get("method", "MLE").upper() == "MLE" else kwds["method"])
    if holds_expr(list(starts)):
        raise type_error(f"{who}: expected plain values to start from, but got traced ones")
    fixed = _fixed(own, kwds)
    count = own.numargs + 2
    if own.name in ("expon", "uniform") and not fixed and as_data is np.asarray:
        low = np.min(data)
        return low, (np.mean(data) if own.name == "expon" else np.max(data)) - low
    free = [k for k in range(count) if k not in fixed]
    traced = {key: lift_fully(value) for key, value in kwds.items() if holds_expr(value)}
    known: dict[int, Any] = {k: lift_fully(value) for k, value in fixed.items()}

    def joined(part: Array, *given: Array) -> list[Any]:
        values = dict(zip(known, given, strict=True))
        return [values[k] if k in values else part[free.index(k)] for k in range(count)]

    def objective(part: Array, data: Array, *given: Array) -> Any:
        return nnlf(joined(part, *given), data)

    def run(data: Array, *given: Array) -> Any:
        options = {**kwds, **{key: float(x) for key, x in zip(traced, given, strict=True)}}
        found = np.asarray(own.fit(as_data(data), *starts, **options), float)
        fixed_values = [np.asarray(value, float) for value in _fixed(own, options).values()]
        size = np.maximum(np.abs(found[free]), found[-1])
        _check_minimum(who, objective, found[free], size, data, fixed_values)
        return found[free]

    out = ArrayType((len(free),), np.dtype(float))
    place = without_derivative("fit", run, out, data, *traced.values())
    found = solution(place, grad(objective), data, *known.values())
    return tuple(joined(found, *known.values()))


def _check_minimum(
    who: str,
    objective: Callable[..., Any],
    fit: Array,
    size: Array,
    data: Array,
    fixed: Sequence[Array],
) -> None:
    """Refuse a fit that is no smooth minimum of the objective; ``size`` has the sizes of the parameters."""
    slope = grad(objective)(fit, data, *fixed)
    if not np.all(np.abs(slope * size) <= 0.02 * len(data)):
        raise fail(
            np.linalg.LinAlgError,
            f"{who}: expected a likelihood whose slope is 0 at the fit, but it is {slope}; the fit lies "
            "at an end of its parameters, and has no derivative; fix some of them by floc= or fscale=",
        )
    curvature = jacobian(grad(objective))(fit, data, *fixed)
    nearer = fit - np.linalg.lstsq(curvature, slope)[0]
    left = np.abs(grad(objective)(nearer, data, *fixed) * size)
    bends = np.linalg.eigvalsh(curvature * np.outer(size, size))
    is_smooth = np.all(left <= 0.2 * np.max(np.abs(slope * size)) + 1e-6 * len(data))
    if not is_smooth or bends[0] < -1e-6 * np.max(np.abs(bends)):
        raise fail(
            np.linalg.LinAlgError,
            f"{who}: expected a likelihood that is smooth at the fit, but its slope after Newton's step "
            f"is {left}, and was {slope}; the density has a kink at one of the data, where the fit lies",
        )


def _plain_fit(dist: Any, data: Any, *args: Any, **kwds: Any) -> Any:
    """As `scipy.stats.fit`, of plain data."""
    if holds_expr([data, *args, *kwds.values()]):
        raise type_error(
            "scipy.stats.fit: expected plain data, but got traced ones, whose derivatives a search between "
            "bounds loses; write dist.fit(data), such as scipy.stats.norm.fit(data)",
        )
    return _scipy.fit(getattr(dist, "scipys_own", getattr(dist, "own", dist)), data, *args, **kwds)


PLAIN_FITS: Mapping[str, Callable[..., Any]] = MappingProxyType({"fit": _plain_fit})
"""Functions of ``scipy.stats`` that fit plain data alone."""


def penalized_likelihood(distribution: Any, theta: object, x: Array) -> Any:
    """For `scipy.stats.rv_continuous._penalized_nnlf`, without an index of the data in the support."""
    loc, scale, shapes = distribution._unpack_loc_scale(theta)
    y = (x - loc) / scale
    low, high = distribution._get_support(*shapes)
    inside = np.logical_and(y > low, y < high)
    log = np.where(inside, distribution._logpdf(y, *shapes), -_PENALTY)
    return y.shape[0] * np.log(scale) - np.sum(log)


_PENALTY = 100 * float(np.log(np.finfo(float).max))
"""SciPy's, for a datum outside of the support."""
