"""``scipy.odr`` for traced values: orthogonal distance regression, exact near ODRPACK's solution.

The classes `ODR`, `Data`, `RealData` and `Model` are SciPy's own over its function `odr`, which is here: the
least sum of the weighted squares of the errors in both variables.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.numpy import asarray
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, without_tracing
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.scipy.host_call import unrefined
from funcgrad.scipy.optimize.fits import refined_fit
from funcgrad.scipy.optimize.nearby_solutions import found_by
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import type_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.jacobian import jacobian
from funcgrad.typing import Array, ArrayLike

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import scipy.odr as _scipy


def _weighted(weight: Array | None, errors: Array) -> Any:
    """The product of a weight of any of ODRPACK's shapes and errors (k, n)."""
    if weight is None:
        return errors
    w: Any = real("odr", weight)
    k, n = errors.shape
    if w.ndim == 3 or w.shape == (k, k):
        return np.einsum("ijn,jn->in", np.broadcast_to(w.reshape(k, k, -1), (k, k, n)), errors)
    by_row = w.ndim == 1 and (k > 1 or w.shape != (n,))
    return (w[:, None] if by_row else w) * errors


def _free(given: Any, shape: tuple[int, ...]) -> Any:
    """The places of entries that are free, in a flat order; flags are of each entry, or of each row."""
    flags = np.asarray(1 if given is None else given) > 0
    if flags.ndim == 1 and len(shape) == 2:
        flags = flags[:, None]
    return np.flatnonzero(np.broadcast_to(flags, shape))


def _refuse_other_fits(y: Any, job: int, work: object) -> None:
    if job % 10 == 1 or np.ndim(y) == 0:
        raise type_error(
            "odr: expected an explicit model, but got an implicit one with traced values; write "
            "scipy.optimize.minimize for the squares of the errors, with the model as a constraint",
        )
    if job >= 1000 or work is not None:
        raise type_error(
            "odr: expected a fit that starts without errors in x, but got delta0, work or a restart with "
            "traced values; leave them out",
        )


def odr(
    fcn: Callable[..., Any],
    beta0: ArrayLike,
    y: Any,
    x: ArrayLike,
    we: Any = None,
    wd: Any = None,
    fjacb: object = None,
    fjacd: object = None,
    extra_args: tuple[Any, ...] | None = None,
    ifixx: Any = None,
    ifixb: Any = None,
    job: int = 0,
    **options: Any,
) -> Any:
    """As `scipy.odr.odr`, of an explicit model, in the data, the weights and
    what the model captures: the parameters, their deviations and covariances,
    and the errors.
    """
    alone, (places, *more) = with_numbers(fcn, (x, *(extra_args or ())))
    fixed = {"ifixx": ifixx, "ifixb": ifixb}
    if not holds_expr([beta0, y, we, wd]) and without_tracing(alone, beta0, (places, *more)):
        given = {"we": we, "wd": wd, "fjacb": fjacb, "fjacd": fjacd, "extra_args": extra_args}
        return _scipy.odr(fcn, beta0, y, x, job=job, **_without_none(given | fixed), **options)
    _refuse_other_fits(y, job, options.pop("work", None))
    is_full = options.pop("full_output", 0)
    start, points, data = real("beta0", beta0), lift_fully(real("x", places)), real("y", y)
    free, moving = _free(ifixb, start.shape), _free(ifixx, points.shape)
    if job % 10 == 2:
        moving = moving[:0]
    if wd is not None and not holds_expr(wd) and not np.any(wd):
        wd = None
    fitted, errors, weighted, sums = _errors_of(on_arrays(alone), free, moving, data.shape)
    weights = _without_none({"we": we, "wd": wd})

    def search(value: Callable[..., Any], _: Array, beta0: Array, x: Array, *each: Array) -> Any:
        def model(beta: Array, xplus: Array) -> Any:
            p = np.concatenate([beta[free], np.ravel(xplus - x)[moving]])
            return value(p)[: data.size].reshape(data.shape)

        given = {**_without_none(fixed), **options}
        given |= {k: w if w.ndim else float(w) for k, w in zip(weights, each, strict=True)}
        found = _scipy.odr(
            model, beta0, np.zeros(data.shape), x, job=job % 20, full_output=1, **given
        )
        return np.concatenate([found[0][free], np.ravel(found[3]["delta"])[moving]])

    p0, args = np.concatenate([start[free], np.zeros(len(moving))]), (data, start, points, *more)
    near = found_by("odr", errors, p0, args, search, (start, points, *weights.values()))
    ends = np.full(p0.shape, -np.inf), np.full(p0.shape, np.inf)
    whole = (we, wd, *args)
    p = refined_fit(lambda *at: np.add(*sums(*at)) / 2, near, p0, whole, *ends)
    p = unrefined(lambda: near, p)
    eps2, delta2 = sums(p, *whole)
    beta, delta, fit = fitted(p, *args[1:])
    hessian = jacobian(errors)(p, *args).T @ jacobian(weighted)(p, *whole)
    covariance = np.linalg.inv(hessian)[: len(free), : len(free)]
    variance = (eps2 + delta2) / max(data.shape[-1] - len(free), 1)
    at_free = lift_fully(np.zeros((start.size, start.size))).at[free[:, None], free]
    deviations = lift_fully(np.zeros(start.size)).at[free]
    found = (
        beta,
        deviations.set(np.sqrt(np.diagonal(covariance) * variance)),
        at_free.set(covariance),
    )
    if not is_full:
        return found
    more_of_it = {"delta": delta, "eps": fit - data, "xplus": points + delta, "y": fit, "info": 1}
    more_of_it |= {"res_var": variance, "sum_square": eps2 + delta2}
    return (*found, {**more_of_it, "sum_square_delta": delta2, "sum_square_eps": eps2})


def _errors_of(
    model: Callable[..., Any], free: Any, moving: Any, shape: tuple[int, ...]
) -> tuple[Callable[..., Any], ...]:
    """The fit, its errors in both variables, these with weights, and the sums of their squares.

    Each is a function of the free parameters, followed by the errors in x that may move.
    """
    count, size, n = len(free), math.prod(shape), shape[-1]

    def fitted(p: Array, beta0: Array, x: Array, *more: Array) -> tuple[Any, Any, Any]:
        delta = lift_fully(np.zeros(x.size)).at[moving].set(p[count:]).reshape(x.shape)
        beta = lift_fully(beta0).at[free].set(p[:count])
        return beta, delta, model(beta, x + delta, *more)

    def errors(p: Array, y: Array, *others: Array) -> Any:
        _, delta, fit = fitted(p, *others)
        return np.concatenate([np.ravel(fit - y), np.ravel(delta)])

    def weighted(p: Array, we: Array | None, wd: Array | None, *args: Array) -> Any:
        own = errors(p, *args)
        eps, delta = own[:size].reshape(-1, n), own[size:].reshape(-1, n)
        return np.concatenate([np.ravel(_weighted(we, eps)), np.ravel(_weighted(wd, delta))])

    def sums(p: Array, we: Array | None, wd: Array | None, *args: Array) -> Any:
        squares = errors(p, *args) * weighted(p, we, wd, *args)
        return np.sum(squares[:size]), np.sum(squares[size:])

    return fitted, errors, weighted, sums


def setting_of_odr(obj: Any, dtype: object = None) -> Any:
    """A setting of SciPy's classes as an array, or a number."""
    return None if obj is None else asarray(obj, dtype)[()]


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in given.items() if item is not None}


__getattr__ = partial(attribute_of, _scipy)
