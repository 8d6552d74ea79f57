"""`scipy.stats.wasserstein_distance_nd`: the cost of the best plan of transport, which is a choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats as _scipy

from funcgrad.graph import ArrayType
from funcgrad.scipy.composition import composed, real, with_value, without_derivative
from funcgrad.scipy.spatial.distance import cdist
from funcgrad.source import fail, value_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike


def _plan(cost: Array, first: Array, second: Array) -> Any:
    """The best plan, the prices of both distributions, and the linear map from costs to prices."""
    m, n = cost.shape
    sums = np.concatenate(
        [np.kron(np.eye(m), np.ones((1, n))), np.kron(np.ones((1, m)), np.eye(n))]
    )
    # One of the equations follows from the others.
    found = scipy.optimize.linprog(
        cost.ravel(), A_eq=sums, b_eq=np.concatenate([first, second * (first.sum() / second.sum())])
    )
    if not found.success:
        raise fail(
            RuntimeError, f"wasserstein_distance_nd: expected a plan, but got {found.message}"
        )
    used = found.x > 1e-12 * np.max(found.x)
    back = np.zeros((m + n, m * n))
    back[:, used] = np.linalg.pinv(sums[:, used].T)
    return np.concatenate([found.x, found.eqlin.marginals, back.ravel()])


@composed(_scipy)
def wasserstein_distance_nd(
    u_values: ArrayLike,
    v_values: ArrayLike,
    u_weights: ArrayLike | None = None,
    v_weights: ArrayLike | None = None,
) -> Any:
    """As `scipy.stats.wasserstein_distance_nd`, in the values and the weights.

    >>> import funcgrad as fg
    >>> apart = np.array([[3.0, 0.0], [0.0, 4.0]])
    >>> fg.grad(lambda x: wasserstein_distance_nd(x, np.zeros((1, 2))))(apart)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    who = "wasserstein_distance_nd"
    u, v = real(who, u_values), real(who, v_values)
    if u.ndim == 1 and v.ndim == 1:
        u, v = u[:, None], v[:, None]
    if u.ndim != 2 or v.ndim != 2 or u.shape[1] != v.shape[1]:
        raise value_error(
            f"{who}: expected points of as many coordinates, but got {u.shape} and {v.shape}",
        )
    m, n = u.shape[0], v.shape[0]
    weights = [
        np.ones(len(x)) if w is None else real(who, w) for x, w in ((u, u_weights), (v, v_weights))
    ]
    first, second = [w / np.sum(w) for w in weights]
    cost = cdist(u, v)
    vector = ArrayType((m * n + (m + n) * (1 + m * n),), np.dtype(float))
    whole = without_derivative("transport", _plan, vector, cost, first, second)
    plan, prices = whole[: m * n], whole[m * n : m * n + m + n]
    back = whole[m * n + m + n :].reshape(m + n, m * n)
    flat = cost.reshape(-1)
    moved = np.concatenate([first, second]) - stop_gradient(np.concatenate([first, second]))
    prices = prices + back @ (flat - stop_gradient(flat))
    run = lambda *given: float(_scipy.wasserstein_distance_nd(*given))  # noqa: E731
    own = without_derivative(who, run, 1.0, u, v, *weights)
    return with_value(own, plan @ flat + prices @ moved)
