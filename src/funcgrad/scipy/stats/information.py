"""``scipy.stats.entropy`` of traced values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import composed, unreplaced
from funcgrad.trace.masked_trees import is_masked
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import ArrayLike

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
