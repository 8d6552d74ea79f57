"""`scipy.integrate.qmc_quad`: the integral over points that do not depend on values, also in the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate as _scipy
import scipy.stats
from scipy.integrate._quadrature import QMCQuadResult, _rng_spawn

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse, without_tracing
from funcgrad.trace.leaves import on_arrays
from funcgrad.typing import ArrayLike


def qmc_quad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_estimates: int = 8,
    n_points: int = 1024,
    qrng: Any = None,
    log: bool = False,
) -> Any:
    """As `scipy.integrate.qmc_quad`, in the limits and in what the function
    captures.

    >>> import funcgrad as fg
    >>> def square(c):
    ...     return qmc_quad(lambda x: c * x[0] ** 2, [0.0], [1.0], n_points=512).integral
    >>> abs(fg.grad(square)(2.0) - 1 / 3) < 1e-2
    True
    """
    options = {"n_estimates": n_estimates, "n_points": n_points, "qrng": qrng, "log": log}
    low, high = [np.atleast_1d(real("qmc_quad", end)) for end in (a, b)]
    if not holds_expr([a, b]) and without_tracing(func, np.asarray(low), ()):
        return _scipy.qmc_quad(func, a, b, **options)
    refuse("qmc_quad", log=log)
    low, high = np.broadcast_arrays(low, high)
    engine = scipy.stats.qmc.Halton(low.shape[0]) if qrng is None else qrng
    called = on_arrays(func)
    first, last = np.minimum(low, high), np.maximum(low, high)
    share = np.prod(last - first) / n_points
    generators = _rng_spawn(engine.rng, n_estimates)
    estimates = []
    for generator in generators:
        points = engine.random(n_points).T
        estimates.append(np.sum(called((last - first)[:, None] * points + first[:, None])) * share)
        engine = type(engine)(seed=generator, **engine._init_quad)
    found = np.stack(estimates)
    error = np.std(found, ddof=1) / math.sqrt(n_estimates)
    return QMCQuadResult(np.mean(found) * np.prod(np.sign(high - low)), error)
