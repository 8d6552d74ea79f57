"""Schedules of the learning rate: plain functions from the number of steps made to a rate.

They compose like any functions: ``toolz.compose(exponential(0.1, 0.5), lambda step: step // 10)`` is a
staircase. Steps and rates may be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr, result
from funcgrad.optim.tree_arithmetic import checked_number
from funcgrad.source import value_error

Schedule: TypeAlias = Callable[[Any], Any]
"""From the number of steps made, 0 at first, to the learning rate."""


def constant(rate: object) -> Schedule:
    """The same rate at every step.

    Raises TypeError for a rate or a length that is not a number, ValueError
    for a negative rate or a length of 0 or less.

    >>> constant(0.1)(7)
    0.1
    """
    rate = checked_number("constant", "the rate", rate)
    return lambda step: rate


def exponential(rate: object, decay: object, every: object = 1) -> Schedule:
    """``rate * decay**(step / every)``.

    Raises as `constant`.

    >>> exponential(0.1, 0.5, every=10)(20)
    0.025
    """
    rate, decay = (
        checked_number("exponential", "the rate", rate),
        checked_number("exponential", "decay", decay),
    )
    every = _positive("exponential", "every", every)
    return lambda step: result(rate * decay ** (step / every))


def linear(start: Any, end: Any, steps: float) -> Schedule:
    """From ``start`` to ``end`` in equal parts over a number of steps; then
    ``end``.

    Raises as `constant`.

    >>> [linear(0.0, 1.0, 4)(step) for step in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    start, end = checked_number("linear", "start", start), checked_number("linear", "end", end)
    steps = _positive("linear", "steps", steps)
    return lambda step: result(start + (end - start) * np.clip(step / steps, 0.0, 1.0))


def cosine(rate: object, steps: Any, end: Any = 0.0) -> Schedule:
    """From ``rate`` to ``end`` along half a cosine over a number of steps; then
    ``end``.

    Raises as `constant`.

    >>> [cosine(1.0, 4)(step) for step in (0, 2, 4, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """
    rate, end = checked_number("cosine", "the rate", rate), checked_number("cosine", "end", end)
    steps = _positive("cosine", "steps", steps)

    def schedule(step: object) -> Any:
        angle = np.pi * np.clip(step / steps, 0.0, 1.0)
        return result(end + (rate - end) * (1 + np.cos(angle)) / 2)

    return schedule


def warmup(schedule: object, steps: int, start: object = 0.0) -> Schedule:
    """A schedule or rate that is led up to from ``start``, in equal parts over a
    number of steps.

    Raises as `constant`.

    >>> [warmup(exponential(1.0, 0.5), 2)(step) for step in (0, 1, 2, 3)]
    [0.0, 0.5, 1.0, 0.5]
    """
    after = _schedule("warmup", schedule)
    return piecewise({0: linear(start, after(0), steps), steps: after})


def piecewise(pieces: Mapping[int, Any]) -> Schedule:
    """Rates or schedules by the step that each begins at, 0 at first; a schedule
    counts from there.

    Raises ValueError if the first steps do not increase from 0; TypeError for
    a piece that is neither a rate nor a schedule.

    >>> [piecewise({0: 0.1, 100: cosine(0.01, 50)})(step) for step in (0, 99, 100, 125)]
    [0.1, 0.1, 0.01, 0.005]
    """
    starts = list(pieces)
    if not starts or starts[0] != 0 or any([a >= b for a, b in pairwise(starts)]):
        raise value_error(f"piecewise: expected first steps that rise from 0, but got {starts}")
    parts = {start: _schedule("piecewise", part) for start, part in pieces.items()}

    def schedule(step: Any) -> Any:
        if not isinstance(step, Expr):
            begin = max([start for start in starts if start <= step], default=0)
            return parts[begin](step - begin)
        rate = None
        for start, part in parts.items():
            new = part(np.maximum(step - start, 0))
            rate = new if rate is None else np.where(step >= start, new, rate)
        return rate

    return schedule


def _schedule(who: str, value: Any) -> Schedule:
    if callable(value) and not isinstance(value, Expr):
        return value  # type: ignore[no-any-return]
    return constant(checked_number(who, "the rate", value))


def _positive(who: str, name: str, value: object) -> Any:
    return checked_number(who, name, value, np.nextafter(0.0, 1.0))
