"""Numbers of integrals whose integrand is a program: SciPy's adaptive rules, and one rule on a whole array.

The slopes of an integral are integrals of arrays, which SciPy's `quad_vec` evaluates point by point. The rule
of Gauss and Kronrod with 21 points (QUADPACK's qk21) takes one run of the program for all points, so it is
tried first. Where its estimate of the error is too large, `quad` integrates a few entries one by one, which
extrapolates next to singular ends; else `quad_vec` computes the integral.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body, batched_body, body_of
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import concatenate_op, reshape_op
from funcgrad.typing import Array

TIGHT: Mapping[str, float] = {"epsabs": 1e-14, "epsrel": 1e-10}
"""The tolerances of slopes."""
WEIGHTED: Mapping[str, float] = {"epsabs": 1e-12, "epsrel": 1e-10}
"""Those of slopes with a weight."""

_HALF_NODES = (
    0.995657163025808080735527280689003,
    0.973906528517171720077964012084452,
    0.930157491355708226001207180059508,
    0.865063366688984510732096688423493,
    0.780817726586416897063717578345042,
    0.679409568299024406234327365114874,
    0.562757134668604683339000099272694,
    0.433395394129247190799265943165784,
    0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
)
_HALF_WEIGHTS = (
    0.011694638867371874278064396062192,
    0.032558162307964727478818972459390,
    0.054755896574351996031381300244580,
    0.075039674810919952767043140916190,
    0.093125454583697605535065465083366,
    0.109387158802297641899210590325805,
    0.123491976262065851077958109585166,
    0.134709217311473325928054001771707,
    0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
)
_MIDDLE = 0.149445554002916905664936468389821
NODES = np.array([*[-x for x in _HALF_NODES], 0.0, *_HALF_NODES[::-1]])
WEIGHTS = np.array([*_HALF_WEIGHTS, _MIDDLE, *_HALF_WEIGHTS[::-1]])
GAUSS = np.zeros(21)
"""The weights of Gauss's rule on every other node."""
GAUSS[1::2] = np.polynomial.legendre.leggauss(10)[1]
_FEW = 8
"""The entries up to which compiled code integrates one after the other: `quad_vec` takes some 5 ms."""
_ROUNDING = 50 * float(np.finfo(float).eps)


def runner(body: Body, options: Mapping[str, Any], place: int) -> Callable[..., Any]:
    """The function of limits and parameters that gives the integral of a body, or, with place 1, an estimate
    of its error."""
    from scipy import integrate as scipys

    if "tanhsinh" in options:
        return lambda *numbers: tanhsinh_result(body, dict(options["tanhsinh"]), *numbers)[place]

    def run(a: Array, b: Array, *theta: Array) -> Any:
        call = body.program.call

        def integrand(x: float) -> Any:
            return call([np.asarray(x, float), *theta])[0]

        def entries(x: float) -> Any:
            if apart is None:
                return np.reshape(integrand(x), (-1,))
            return apart.program.call([x, *given])

        low, high = float(a), float(b)
        # (Python's numbers, with which a program on numbers computes, are handed over faster.)
        arrays = map(np.asarray, theta)
        given = [x.item() if x.shape == () and x.dtype == float else x for x in arrays]
        apart = _entries_apart(body)
        with np.errstate(all="ignore"):
            if not (body.types[0].shape or "norm" in options):
                found: Any = scipys.quad(
                    lambda x: float(call([x, *given])[0]), low, high, **options
                )
                return np.asarray(found[place])
            if np.isnan(low) or np.isnan(high):  # which `quad_vec` refuses
                return np.full(body.types[0].shape, np.nan, body.types[0].dtype)
            if "weight" in options:
                found = _one_by_one(entries, low, high, body.types[0], options)
                if found is None:
                    raise FloatingPointError(
                        f"quad: expected the derivative's integrals with weight={options['weight']!r} to "
                        "converge, but SciPy's rule does not; multiply func with the weight, and leave "
                        "weight out"
                    )
                return found
            if not options:
                whole = by_one_rule(body, low, high, theta)
                if whole is None and body.types[0].size <= _FEW:
                    whole = _one_by_one(entries, low, high, body.types[0], TIGHT)
                if whole is not None:
                    return whole
            own = dict(TIGHT) | dict(options)
            return _apart_from_nan(
                lambda f: np.asarray(scipys.quad_vec(f, low, high, **own)[place]), integrand
            )

    return run


def _apart_from_nan(
    integral: Callable[[Callable[[float], Any]], Any], integrand: Callable[[float], Any]
) -> Any:
    """The integral of each entry. One that is NaN would end the search for intervals for all others."""
    found = integral(integrand)
    unknown = np.isnan(found)
    if not np.any(unknown):
        return found

    def known(x: float) -> Any:
        return np.where(unknown, 0.0, integrand(x))

    while not np.all(unknown):
        found = integral(known)
        if not np.any(np.isnan(found)):
            break
        unknown |= np.isnan(found)
    return np.where(unknown, np.nan, found)


def tanhsinh_result(
    body: Body, options: Mapping[str, Any], a: Array, b: Array, *theta: Array
) -> Any:
    """SciPy's integral, estimate of its error, status, and numbers of evaluations and levels."""
    from scipy import integrate as scipys

    def at(x: Array) -> Any:
        values = _at_nodes(body, x.size).program.call([np.ravel(x), *theta])[0]
        return np.array(values, float).reshape(x.shape)

    found = scipys.tanhsinh(at, float(a), float(b), **options)
    return np.array(
        [found[name] for name in ("integral", "error", "status", "nfev", "maxlevel")], float
    )


def by_one_rule(body: Body, low: float, high: float, theta: tuple[Array, ...]) -> Any:
    """The integral by 21 points; None if the estimate of its error, QUADPACK's, is above the tolerance."""
    half = (high - low) / 2
    if not np.isfinite(half):
        return None
    (values,) = _at_nodes(body).program.call([(low + high) / 2 + half * NODES, *theta])
    flat = np.reshape(values, (NODES.size, -1))
    total = WEIGHTS @ flat
    sizes = abs(half) * (WEIGHTS @ np.abs(flat))
    deviation = abs(half) * (WEIGHTS @ np.abs(flat - total / 2))
    error = abs(half) * np.abs(total - GAUSS @ flat)
    scaled = deviation * np.minimum(1.0, (200 * error / deviation) ** 1.5)
    error = np.maximum(np.where(deviation > 0, scaled, error), _ROUNDING * sizes)
    found = half * total
    bound = max(TIGHT["epsabs"], TIGHT["epsrel"] * float(np.linalg.norm(found)))
    if not float(np.linalg.norm(error)) <= bound:  # or NaN
        return None
    return np.reshape(found, body.types[0].shape)


def _one_by_one(
    integrand: Callable[[float], Any],
    low: float,
    high: float,
    type: ArrayType,
    options: Mapping[str, Any],
) -> Any:
    """The integral of each entry by SciPy's `quad`; None if one does not reach the tolerance."""
    if type.dtype.kind == "c":
        return None
    from scipy import integrate as scipys

    at = cache(integrand)
    found = np.empty(type.size)
    for k in range(type.size):
        value, _, _, *message = scipys.quad(
            lambda x, k=k: float(at(x)[k]), low, high, full_output=1, **options
        )
        if message and not np.isnan(value):
            return None
        found[k] = value
    return np.reshape(found, type.shape)


@lru_cache(maxsize=256)
def _entries_apart(body: Body) -> Body | None:
    """The body with each entry of its vector as a result; None if the entries are not computed one by one."""
    (whole,) = body.outputs
    parts = whole.args if whole.op is concatenate_op else (whole,)
    if not all([part.op is reshape_op and not part.args[0].shape for part in parts]):
        return None
    return body_of(body.inputs, [part.args[0] for part in parts])


@lru_cache(maxsize=256)
def _at_nodes(body: Body, count: int = NODES.size) -> Body:
    """The body at as many nodes at once."""
    return batched_body(body, count, [True, *[False] * (len(body.inputs) - 1)])
