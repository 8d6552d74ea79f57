"""The solution between the steps: a polynomial on each step, as an array of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from funcgrad.expr import Expr, result
from funcgrad.integrate.steps import Leaves, interpolated
from funcgrad.integrate.vector_field import StateLayout
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.trace.static import static
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array


@dataclass(frozen=True)
class OdeSolution:
    """The solution as a function of time: ``sol(t)``, as SciPy's `OdeSolution`.

    ``t`` is a time, or an array of times of shape (k,), which becomes the last axis of the states.
    Outside the interval the first or the last polynomial is extrapolated. It may be differentiated in t
    and in what the solution depends on. Raises nothing.
    """

    ts: Any
    """The times of the steps, of shape (n + 1,)."""
    h: Any
    """The sizes of the steps, with their sign, of shape (n,)."""
    y_old: tuple[Any, ...]
    """The leaves of the states at which steps begin, each with a first axis of length n."""
    dense: tuple[tuple[Any, ...], ...]
    """The coefficients of powers of the fraction of a step, in the same form."""
    layout: Annotated[StateLayout, static]

    @property
    def t_min(self) -> Any:
        """The earliest time."""
        return np.minimum(self.ts[0], self.ts[-1])

    @property
    def t_max(self) -> Any:
        """The latest time."""
        return np.maximum(self.ts[0], self.ts[-1])

    def __call__(self, t: Any) -> Any:
        time = lift_fully(t) if holds_expr(t) else np.asarray(t, float)
        if not time.ndim:
            return self.layout.state([result(x) for x in self.leaves(time)])
        states = vmap(lambda one: tuple(self.leaves(one)))(time)
        return self.layout.state([np.moveaxis(x, 0, -1) for x in states])

    @property
    def direction(self) -> Any:
        """1 or -1: the sign of the last time less the first."""
        return np.where(self.ts[-1] >= self.ts[0], 1.0, -1.0)

    def leaves(self, t: Any) -> Leaves:
        """The leaves of the state at one time."""
        forward = _beside(self.direction, t)
        place = np.searchsorted(_beside(self.ts, t) * forward, t * forward) - 1
        return self.in_step(np.clip(place, 0, self.h.shape[0] - 1), t)

    def in_step(self, k: Any, t: Any) -> Leaves:
        """The leaves of the state at a time, by the polynomial of the k-th step."""
        y = [_beside(x, k)[k] for x in self.y_old]
        dense = [[_beside(x, k)[k] for x in row] for row in self.dense]
        return interpolated(y, dense, (t - _beside(self.ts, k)[k]) / _beside(self.h, k)[k])


def _beside(array: Array, other: object) -> Any:
    """An array as an expression, if what it meets is one."""
    return lift_fully(array, [other]) if isinstance(other, Expr) else array
