"""Steps of adaptive size: error control as SciPy's solvers have it, in a `while_loop`.

The sizes are constants to derivatives. So the derivative of a solution is the exact derivative of the
accepted steps, the discrete adjoint in reverse mode. The mesh moves with the initial time; the last step
ends at the final time and changes its size with it.

Steps stay inside the region of stability. In a stiff equation, error control alone lets an explicit method
take steps that multiply a perturbation by more than 1. The state stays right, since a greater error makes the
next steps shorter; the derivative, which knows of no shorter steps, would grow without bound.

Where the state hardly moves, as at an equilibrium, its error says nothing of the derivative's: any step is
exact there. In programs that may be differentiated, error control then holds for a tangent of the state, too,
as for the sensitivities of CVODES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.integrate.steps import (
    Attempt,
    Leaves,
    Method,
    astype_of,
    dense_degree,
    evaluations,
    interpolated,
    step,
)
from funcgrad.integrate.tableaus import RungeKutta
from funcgrad.integrate.vector_field import VectorField
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.transforms.control_flow.cond import cond
from funcgrad.transforms.control_flow.loops import while_loop
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.jvp import jvp
from funcgrad.typing import Array

RUNNING, FAILED, OUT_OF_STEPS = 0, -1, -2
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0
"""Step sizes change at most by these factors, as in SciPy's solvers."""


class Progress(NamedTuple):
    """The state of an integration: the last accepted step and the size of the next."""

    t: Any
    y: Leaves
    f: Leaves
    h: Any
    """The size of the next step, positive."""
    t_old: Any
    """The time before the last accepted step, whose size is h_old, state y_old and polynomial dense."""
    h_old: Any
    y_old: Leaves
    dense: tuple[Leaves, ...]
    tangent: Leaves
    """A tangent of the state, which steps with an error of sensitivity carry on."""
    spectral_radius: Any
    """An estimate of that of the Jacobian."""
    stiff_steps: Any
    """How often, lately, error control would have taken a step outside the region of stability."""
    rejected: Any
    """Whether the last attempt was rejected."""
    status: Any
    steps: Any
    """The number of accepted steps."""
    attempts: Any

    def at(self, t: Array) -> Leaves:
        """The state at a time in the last step."""
        return interpolated(self.y_old, self.dense, (t - self.t_old) / self.h_old)


class Integration(NamedTuple):
    """A differential equation on an interval, with its method and tolerances."""

    method: Method
    field: VectorField
    start: Any
    end: Any
    rtol: Any
    atol: Sequence[Any]
    """One a leaf."""
    max_step: Any
    max_steps: Any
    has_derivative: bool = True
    """Whether the solution may be differentiated: not if all that it depends on is known numbers."""

    @property
    def direction(self) -> Any:
        """1 or -1: the sign of ``end - start``."""
        return np.where(
            stop_gradient(self.end) >= stop_gradient(self.start),
            number(1.0, self.end.dtype),
            number(-1.0, self.end.dtype),
        )

    def begin(self, y: Leaves, first_step: object = None) -> Progress:
        """The progress before the first step."""
        f = self.field(self.start, y)
        h = self._first_step(y, f) if first_step is None else first_step
        zeros = [lift_fully(np.zeros(x.shape, x.dtype)) for x in y]
        # Before the first step the continuous extension is the tangent, with h_old = 1.
        dense = (f, *[zeros for _ in range(dense_degree(self.method) - 1)])
        one = number(1.0, self.end.dtype)
        zero = lift_fully(np.zeros((), np.int64))
        no = lift_fully(np.zeros((), bool))
        slow = number(0.0, self.end.dtype)
        return Progress(
            *(self.start, y, f, h, self.start, one, y, dense, self._new_tangent(y, f, h), slow),
            *(zero, no, zero, zero, zero),
        )

    def advance(
        self, s: Progress, target: object, done: Callable[[Progress], Any] | None = None
    ) -> Progress:
        """Steps until the target is reached, until ``done``, or until the integration fails."""

        def running(s: Progress) -> Any:
            more = (s.status == RUNNING) & (s.steps < self.max_steps)
            more = more & ~self.reached(s, target)
            return more if done is None else more & ~done(s)

        last: Progress = while_loop(running, self.attempt, s)
        return last

    def reached(self, s: Progress, target: object) -> Any:
        """Whether a time is in the last step or before it."""
        return ~(self.direction * (stop_gradient(target) - stop_gradient(s.t)) > 0)

    def states_at(self, s: Progress, t: Array) -> Leaves:
        """The state at a time; nan if the integration did not reach it."""
        known = (s.status == RUNNING) & self.reached(s, t)
        return [np.where(known, x, np.full((), np.nan, x.dtype)) for x in s.at(t)]

    def attempt(self, s: Progress) -> Progress:
        """One attempt of a step."""
        direction, dtype = self.direction, self.end.dtype
        left = direction * (stop_gradient(self.end) - stop_gradient(s.t))
        size = np.minimum(stop_gradient(s.h), self.max_step)
        last = size >= left
        h = np.where(last, self.end - s.t, direction * size)
        t_new = np.where(last, self.end, s.t + h)
        new = step(self.method, self.field, s.t, t_new, s.y, s.f, h)
        scale = [
            np.maximum(np.abs(a), np.abs(b))
            for a, b in zip(*stop_gradient((s.y, new.y)), strict=True)
        ]
        norm = self._norm(stop_gradient(new.error), scale)
        tangent, radius = s.tangent, self._spectral_radius(new.end_differences, s, scale)
        if self.has_derivative:
            of_change, tangent, radius = self._sensitivity_error(
                s, new, t_new, h, norm, scale, radius
            )
            norm = np.maximum(norm, of_change)
        accept = norm < 1.0
        size = self._change_of_size(norm, s.rejected) * np.minimum(size, left)
        spacing = np.finfo(dtype).eps * np.abs(stop_gradient(s.t)) + np.finfo(dtype).tiny
        stuck = ~accept & ~(size >= 10.0 * spacing)
        radius = np.where(accept, radius, s.spectral_radius)
        size, stiff_steps = self._within_stability(size, radius, s.stiff_steps, 10.0 * spacing)

        def kept(new: Array, old: Array) -> Any:
            return np.where(accept, new, old)

        def kept_leaves(new: Leaves, old: Leaves) -> Leaves:
            return [kept(a, b) for a, b in zip(new, old, strict=True)]

        return Progress(
            t=kept(t_new, s.t),
            y=kept_leaves(new.y, s.y),
            f=kept_leaves(new.f, s.f),
            h=size,
            t_old=kept(s.t, s.t_old),
            h_old=kept(h, s.h_old),
            y_old=kept_leaves(s.y, s.y_old),
            dense=tuple(map(kept_leaves, new.dense, s.dense)),
            tangent=kept_leaves(tangent, s.tangent),
            spectral_radius=radius,
            stiff_steps=stiff_steps,
            rejected=~accept,
            status=np.where(stuck, FAILED, s.status),
            steps=s.steps + accept,
            attempts=s.attempts + 1,
        )

    def _change_of_size(self, norm: Any, rejected: Any) -> Any:
        """The factor from the size of an attempt with this error to that of the next."""
        power = SAFETY * np.maximum(norm, _TINY) ** (-1.0 / (self.method.error_order + 1))
        grown = np.minimum(power, np.where(rejected, 1.0, GROW))
        shrunk = np.where(np.isfinite(norm), np.maximum(power, SHRINK), SHRINK)
        return fit(np.where(norm < 1.0, grown, shrunk), ArrayType((), self.end.dtype))

    def evaluations(self, s: Progress) -> Any:
        """The number of evaluations of the right-hand side: at the start twice, and in each attempt."""
        return 2 + evaluations(self.method) * s.attempts

    def _sensitivity_error(
        self, s: Progress, new: Attempt, t_new: Any, h: Any, norm: Any, scale: Leaves, radius: Any
    ) -> tuple[Any, Leaves, Any]:
        """The norm of a tangent's error, the tangent after the step, and the spectral radius.

        If the state's error tells enough, the norm is 0, and the tangent a new one.
        """
        t, t_new, h, y = stop_gradient((s.t, t_new, h, s.y))
        end, slopes = stop_gradient(new.y), stop_gradient(new.f)
        # Nothing of it is differentiated, so that derivatives do not pass through the branch.
        field = self.field._replace(captured=stop_gradient(self.field.captured))

        def of_state(y: Leaves) -> tuple[Leaves, ...]:
            moved = step(self.method, field, t, t_new, y, field(t, y), h)
            return moved.y, moved.error, *(moved.end_differences or ())

        def perturbed() -> tuple[Any, Leaves, Any]:
            _, (after, error, *differences) = jvp(of_state, (y,), (s.tangent,))
            sizes = [
                np.maximum(np.maximum(np.abs(a), np.abs(b)), c)
                for a, b, c in zip(s.tangent, after, scale, strict=True)
            ]
            of_change = self._norm(error, sizes)
            valid = np.isfinite(of_change)
            largest = np.maximum(radius, self._spectral_radius(differences, s, sizes))
            return (
                np.where(valid, of_change, 0.0),
                [
                    np.where(valid, a, b)
                    for a, b in zip(self._with_all_modes(s, after, end), s.tangent, strict=True)
                ],
                np.where(valid, largest, radius),
            )

        def as_it_is() -> tuple[Any, Leaves, Any]:
            return np.zeros((), norm.dtype), self._new_tangent(end, slopes, h), radius

        needed = computed = self._needs_sensitivity(s, new, h, scale)
        if isinstance(self.method, RungeKutta):
            # A state whose fast modes have decayed does not show the spectral radius.
            computed = needed | (2.0 * np.abs(h) * s.spectral_radius > self.method.stability_limit)
        found = cond((norm < 1.0) & computed, perturbed, as_it_is)
        of_change, tangent, radius = found
        return (
            stop_gradient(np.where(needed, of_change, 0.0)),
            stop_gradient(tangent),
            stop_gradient(radius),
        )

    def _needs_sensitivity(self, s: Progress, new: Attempt, h: Any, scale: Leaves) -> Any:
        """Whether an error may be small because its entry of the state hardly moves."""
        needed: Any = lift_fully(np.zeros((), bool))
        for e, first, last, size, atol in zip(new.error, s.f, new.f, scale, self.atol, strict=True):
            slope = np.maximum(np.abs(stop_gradient(first)), np.abs(stop_gradient(last)))
            motion = np.abs(astype_of(h, slope)) * slope
            rough = np.abs(stop_gradient(e)) > _ROUGH * self.rtol * motion
            needed = needed | np.any(self._is_still(slope, h, size, atol) | rough)
        return needed

    def _new_tangent(self, y: Leaves, f: Leaves, h: Any) -> Leaves:
        """A tangent of the size of the state: along its motion, in which fast modes have decayed.

        Entries that do not move are perturbed by themselves.
        """
        along = stop_gradient(f)
        sizes = [
            np.abs(stop_gradient(x)) + np.where(atol > 0, atol / self.rtol, 1.0)
            for x, atol in zip(y, self.atol, strict=True)
        ]
        rates = [
            np.max(np.abs(v) / size, initial=0.0) for v, size in zip(along, sizes, strict=True)
        ]
        rate: Any = rates[0]
        for other in rates[1:]:
            rate = np.maximum(rate, other)
        rate = np.where(rate > 0, rate, 1.0)
        return [
            np.where(
                self._is_still(v, h, np.abs(stop_gradient(x)), atol),
                _of_both_signs(size, v),
                v / astype_of(rate, v),
            )
            for v, x, size, atol in zip(along, y, sizes, self.atol, strict=True)
        ]

    def _is_still(self, slope: Any, h: Any, size: Any, atol: Any) -> Any:
        """Whether entries of the state, or their motion in a step, are too small for their error to tell."""
        motion = np.abs(astype_of(h, slope) * slope)
        unseen = motion <= _MEASURABLE * (atol + size * self.rtol)
        return unseen | ((size + motion) * self.rtol < _NEGLIGIBLE * atol)

    def _with_all_modes(self, s: Progress, tangent: Leaves, y: Leaves) -> Leaves:
        """A tangent with a part in every mode, by which explicit methods measure the spectral radius.

        Modes that have decayed in the tangent may grow in derivatives.
        """
        if not isinstance(self.method, RungeKutta):
            return tangent
        unit = np.where(s.steps % 2, -_FAINT, _FAINT)
        return [
            w + _of_both_signs(unit * (atol + np.abs(stop_gradient(x)) * self.rtol), w)
            for w, x, atol in zip(tangent, y, self.atol, strict=True)
        ]

    def _spectral_radius(self, differences: Any, s: Progress, scale: Leaves) -> Any:
        """The estimate after a step: measured where the differences are not rounding, else fading."""
        if not differences:
            return s.spectral_radius
        states, slopes = [self._norm(stop_gradient(x), scale) for x in differences]
        shows = states > _MEASURABLE
        return np.where(shows, slopes / np.where(shows, states, 1.0), _FADING * s.spectral_radius)

    def _within_stability(
        self, size: Array, radius: Array, stiff_steps: Array, least: Array
    ) -> tuple[Any, Any]:
        """The size of a step, within the region of stability if the equation is stiff, and the count.

        The limit is at least that of rejected steps: with a radius that overflows, steps would never end.
        """
        if not isinstance(self.method, RungeKutta):
            return size, stiff_steps
        patience = 0 if self.has_derivative else _STIFF
        long = size * radius > self.method.stability_limit
        count = np.minimum(np.maximum(stiff_steps + np.where(long, 1, -1), 0), 2 * _STIFF)
        limit = np.maximum(self.method.stability_limit / np.where(long, radius, 1.0), least)
        return np.where(long & (count > patience), np.minimum(limit, size), size), count

    def _norm(self, error: Leaves, scale: Leaves) -> Any:
        """The root mean square of the errors, each relative to ``atol + rtol * scale``."""
        total: Any = 0.0
        count = 0
        for e, size, atol in zip(error, scale, self.atol, strict=True):
            tolerance = atol + size * self.rtol
            relative = np.where(e == 0, 0.0, np.abs(e) / np.where(e == 0, 1.0, tolerance))
            total = total + fit(np.sum(np.square(relative)), ArrayType((), self.end.dtype))
            count += e.size
        return np.sqrt(total / max(count, 1))

    def _first_step(self, y: Leaves, f: Leaves) -> Any:
        """Hairer, Nørsett and Wanner's choice (Solving Ordinary Differential Equations I, II.4)."""
        y, f, start, end = stop_gradient((y, f, self.start, self.end))
        length = np.abs(end - start)
        scale = [np.abs(x) for x in y]
        d0, d1 = self._norm(y, scale), self._norm(f, scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.where(small, 1e-6, 0.01 * d0 / np.where(small, 1.0, d1))
        h0 = np.where(length > 0, np.minimum(h0, length), 1.0)
        by = [astype_of(self.direction * h0, x) for x in y]
        moved = [x + b * k for x, b, k in zip(y, by, f, strict=True)]
        after = self.field(start + self.direction * h0, moved)
        change = [a - b for a, b in zip(stop_gradient(after), f, strict=True)]
        d2 = self._norm(change, scale) / h0
        most = np.maximum(d1, d2)
        flat = most <= 1e-15
        exponent = 1.0 / (self.method.error_order + 1)
        h1 = np.where(
            flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / np.where(flat, 1.0, most)) ** exponent
        )
        h = np.minimum(np.minimum(100.0 * h0, h1), self.max_step)
        return fit(h, ArrayType((), self.end.dtype))


_TINY = 1e-30
_MEASURABLE, _FADING = 1e-3, 0.99
"""Differences of states that are more than rounding, in units of the tolerance; else the estimate fades."""
_FAINT = 0.1
"""The size of the part in every mode, in units of the tolerance."""
_NEGLIGIBLE = 0.1
"""Entries of the state are so small in units of ``atol/rtol`` if their error is hardly controlled."""
_ROUGH = 100.0
"""The error over the motion, in units of ``rtol``, from which the tangent's error is needed."""
_STIFF = 15
"""So many steps outside the region of stability make an equation stiff (as in Hairer and Wanner's DOPRI5)."""


def _of_both_signs(size: Array, like: Array) -> Any:
    """Numbers of a size that add up to none in simple sums."""
    signs = np.resize([1.0, -1.0, -1.0], like.size).reshape(like.shape)
    return (signs * size).astype(like.dtype)


def number(value: float, dtype: np.dtype[Any]) -> Expr:
    """A number as a constant of a dtype."""
    return lift_fully(np.asarray(value, dtype)[()])
