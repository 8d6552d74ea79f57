"""How far apart two distributions are: `scipy.stats.entropy` and `wasserstein_distance_nd`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats as _scipy

from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import composed, real, unreplaced, with_value, without_derivative
from funcgrad.scipy.spatial.distance import cdist
from funcgrad.source import fail, value_error
from funcgrad.trace.masked_trees import is_masked
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed, _SCIPYS = composed(_scipy), unreplaced(_scipy.entropy)


@_composed
def entropy(
    pk: ArrayLike,
    qk: ArrayLike | None = None,
    base: float | None = None,
    axis: int | None = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """As `scipy.stats.entropy`: the slope at an entry 0 is infinite, and does not
    reach the others.
    """
    if nan_policy != "propagate" or is_masked(type(pk)) or is_masked(type(qk)):
        given = {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims}
        return functions["call_adopted"](_SCIPYS, (pk, qk, base), given)
    p, q = lift_fully(pk) * 1.0, None
    if qk is not None:
        p, q = np.broadcast_arrays(p, lift_fully(qk) * 1.0)
        p, q = p.astype(np.result_type(p, q)), q.astype(np.result_type(p, q))
    if not p.size:
        return np.sum(p, axis, keepdims=keepdims)
    shares, total = _normalized(p, axis, keepdims)
    if q is None:
        found = np.sum(special.entr(shares), axis, keepdims=keepdims) / total + np.log(total)
    else:
        others, other = _normalized(q, axis, keepdims)
        terms = np.sum(special.rel_entr(shares, others), axis, keepdims=keepdims)
        found = terms / total + np.log(other / total)
    if base is None:
        return found
    return found / (np.log(base) if holds_expr(base) else math.log(base))


def _normalized(p: Any, axis: int | None, keepdims: bool) -> tuple[Any, Any]:
    """The entries over a constant, their sum, and the sum over the constant: the number 1, with its slope.

    A quotient of traced values would multiply the infinite slope at an entry 0 with that entry.
    """
    constant = stop_gradient(np.sum(p, axis, keepdims=True))
    total = np.sum(p, axis, keepdims=keepdims)
    return p / constant, total / stop_gradient(total)


# -- transport: the cost of the best plan, which is a choice --------------------------------------
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


@_composed
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
