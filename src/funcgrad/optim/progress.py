"""The history of a minimization, and its progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from funcgrad.expr import Expr
from funcgrad.source import type_error


class History(NamedTuple):
    """Steps, values and gradient norms, entry k after k steps; plot them with
    ``semilogy(history.value)``.
    """

    step: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    gradient_norm: npt.NDArray[np.float64]

    def __repr__(self) -> str:
        return f"History(steps 0 to {len(self.step) - 1})"


class Minimum(NamedTuple):
    """The result of `minimize`."""

    x: Any
    """Like x0: the same tree, shapes and dtypes."""
    value: float
    """The objective at x; of residuals, half the sum of their squares."""
    converged: bool
    """Whether the largest entry of the gradient is at most ``tol``."""
    message: str
    steps: int
    history: History


class Recorder:
    """Collects the history of one minimization, and decides when it ends."""

    def __init__(self, steps: int, tol: float, tick: Callable[[int, float, float], None]) -> None:
        self.steps, self.tol, self.tick = steps, tol, tick
        self.x: Any = None
        self.values: list[float] = []
        self.norms: list[float] = []

    def record(self, x: Any, value: Any, gradient: npt.NDArray[np.float64]) -> bool:
        """Record a step; true if it is the last. Raises FloatingPointError at NaN or infinity."""
        norm = float(np.max(np.abs(gradient), initial=0.0))
        value = finite(value, norm, len(self.values))
        self.x = x
        self.values.append(value)
        self.norms.append(norm)
        self.tick(len(self.values) - 1, value, norm)
        return norm <= self.tol or len(self.values) > self.steps

    def minimum(self, x: object, stalled: str = "") -> Minimum:
        """The result: x in the user's structure, and the reason why the search ended."""
        count, norm = len(self.values) - 1, self.norms[-1]
        converged = norm <= self.tol
        entry = f"the largest entry of the gradient is {norm:.3g}"
        if converged:
            message = f"converged at step {count}: {entry}, at most tol={self.tol:g}"
        else:
            ended = (
                stalled or "no more steps allowed; give more, or another learning rate or method"
            )
            message = f"not converged at step {count}: {entry}, above tol={self.tol:g}; {ended}"
        history = History(np.arange(count + 1), np.array(self.values), np.array(self.norms))
        for array in history:
            array.setflags(write=False)
        return Minimum(x, self.values[-1], converged, message, count, history)


def refuse_traced(value: object) -> None:
    """Raise TypeError for an expression where the objective's number should be."""
    if isinstance(value, Expr):
        raise type_error(
            "minimize: expected f to give numbers, but it uses a value traced around it; to "
            "differentiate through a minimization, make its steps with an optimizer's update",
        )


def finite(value: float, norm: float, step: int) -> float:
    """The objective's value as a float, if it and the gradient are finite."""
    refuse_traced(value)
    if not (np.isfinite(value) and np.isfinite(norm)):
        what = f"value {float(value)}" if not np.isfinite(value) else f"gradient entry {norm}"
        raise FloatingPointError(
            f"minimize: expected f and its gradient to be finite, but got the {what} at step {step}; "
            "start elsewhere, take smaller steps, or clip the gradients"
        )
    return float(value)


@contextmanager
def bar(shown: bool, steps: int) -> Iterator[Callable[[int, float, float], None]]:
    """A tqdm bar over the steps, moved by the function given: (step, value, gradient norm)."""
    if not shown:
        yield lambda step, value, norm: None
        return
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise ImportError(
            "minimize: expected tqdm for progress=True, but it is not installed; "
            "pip install tqdm, or leave progress out"
        ) from error
    with tqdm(total=steps, unit="step", desc="minimize") as line:

        def tick(step: int, value: float, norm: float) -> None:
            line.set_postfix_str(f"value {value:.4g}, gradient {norm:.2g}", refresh=not step)
            line.update(step - line.n)

        yield tick
