"""Quasi-Newton methods on flat vectors: L-BFGS, Levenberg-Marquardt (both SciPy's) and Gauss-Newton.

Each runs until the recorder ends it or no better point is found. It returns the reason if it stalled, else
an empty text.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.optim.progress import Recorder
from funcgrad.optim.ravel import ParameterLayout, Vector, ravel
from funcgrad.optim.tree_arithmetic import is_complex
from funcgrad.trace.tree_map import mapped
from funcgrad.transforms.jacobian import jacobian


class System(NamedTuple):
    """A least-squares problem on vectors: its residuals, and residuals with their Jacobian."""

    residuals: Callable[[Vector], Vector]
    both: Callable[[Vector], tuple[Vector, Vector]]


Objective: TypeAlias = Callable[[Vector], tuple[Any, Vector]]


class _LastStepError(Exception):
    """Ends SciPy's search from inside a callback; caught by the caller."""


class _OutsideError(_LastStepError):
    """The same, at a point where the objective is not finite."""

    def __init__(self, point: Vector) -> None:
        super().__init__()
        self.point = point


def lbfgs(objective: Objective, x: Vector, recorder: Recorder) -> str:
    """L-BFGS (SciPy's) of ``objective``, which gives the value and the gradient.

    A trial step to a point where they are not finite is halved until it lowers the value; the search
    restarts from that point.
    """
    optimize = _scipy_optimize("lbfgs")
    if recorder.record(x, *objective(x)):
        return ""
    while True:
        try:
            return _searched(optimize, objective, recorder)
        except _OutsideError as outside:
            step = outside.point - recorder.x
            trials = (recorder.x + 0.5**k * step for k in range(1, 50))
            values = ((point, *objective(point)) for point in trials)
            lower = next(
                (t for t in values if _is_finite(*t[1:]) and t[1] < recorder.values[-1]), None
            )
            if lower is None:
                return "no lower value was found beside where f is not finite"
            if recorder.record(*lower):
                return ""
        except _LastStepError:
            return ""


def _searched(optimize: ModuleType, objective: Objective, recorder: Recorder) -> str:
    """One run of SciPy's search from the recorder's point. Its own tests of convergence are off."""
    last: tuple[Vector, float, Vector] = (recorder.x, 0.0, recorder.x)

    def evaluated(point: Vector) -> tuple[float, Vector]:
        nonlocal last
        value, gradient = objective(point)
        if not _is_finite(value, gradient):
            raise _OutsideError(point.copy())
        last = (point.copy(), value, gradient)
        return value, gradient

    def step_made(point: Vector) -> None:
        if not np.array_equal(last[0], point):
            evaluated(point)
        if recorder.record(*last):
            raise _LastStepError

    found = optimize.minimize(
        evaluated,
        recorder.x,
        jac=True,
        method="L-BFGS-B",
        callback=step_made,
        options={
            "maxiter": recorder.steps + 1,
            "maxfun": 30 * (recorder.steps + 1),
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    return f"L-BFGS found no lower value ({found.message.strip().capitalize()})"


def _is_finite(value: float, gradient: Vector) -> bool:
    return bool(np.isfinite(value) and np.all(np.isfinite(gradient)))


def levenberg_marquardt(system: System, x: Vector, recorder: Recorder) -> str:
    """Levenberg-Marquardt (MINPACK) on residuals."""
    optimize = _scipy_optimize("lm")

    def jacobian_at_step(point: Vector) -> Vector:
        # MINPACK asks for a Jacobian where it has made a step, and nowhere else.
        residuals, matrix = system.both(point)
        if recorder.record(point.copy(), half_square(residuals), matrix.T @ residuals):
            raise _LastStepError
        return matrix

    tiny = float(np.finfo(float).eps)
    try:
        found = optimize.least_squares(
            system.residuals,
            x,
            jac=jacobian_at_step,
            method="lm",
            ftol=tiny,
            xtol=tiny,
            gtol=tiny,
            max_nfev=30 * (recorder.steps + 1),
        )
        if not np.array_equal(found.x, recorder.x):
            jacobian_at_step(found.x)
    except _LastStepError:
        return ""
    return f"Levenberg-Marquardt found no lower value ({found.message.strip()})"


def gauss_newton(system: System, x: Vector, recorder: Recorder) -> str:
    """Gauss-Newton, each step halved until it lowers the value enough (Armijo)."""
    while True:
        residuals, matrix = system.both(x)
        value, gradient = half_square(residuals), matrix.T @ residuals
        if recorder.record(x, value, gradient):
            return ""
        direction = np.linalg.lstsq(matrix, -residuals)[0]
        slope = float(gradient @ direction)
        parts = (0.5**k for k in range(40))
        enough = (
            x + part * direction
            for part in parts
            if half_square(system.residuals(x + part * direction)) <= value + 1e-4 * part * slope
        )
        there = next(enough, x)
        if np.array_equal(there, x):
            return "no step of Gauss-Newton lowers the value; try method='lm'"
        x = there


def half_square(residuals: Vector) -> float:
    """Half the sum of squares: NaN or infinite where a residual is."""
    with np.errstate(all="ignore"):
        return 0.5 * float(residuals @ residuals)


def residuals_and_jacobian(
    f: Callable[[Any], Any], places: ParameterLayout, x: Vector
) -> tuple[Vector, Vector]:
    """f's value at a vector as a vector, and the matrix of its derivatives; complex parts are two rows."""

    def flat(vector: object) -> Any:
        residuals = ravel(f(places.unravel(vector)))
        return residuals, residuals

    matrix, residuals = jacobian(flat, has_aux=True)(x)
    return residuals, matrix


def conjugated(tree: object) -> Any:
    """The complex conjugates of a tree's leaves: the direction of steepest ascent, of a gradient."""
    return mapped("", lambda leaf: np.conj(leaf) if is_complex(leaf) else leaf, tree)


def _scipy_optimize(method: str) -> ModuleType:
    try:
        from scipy import optimize
    except ImportError as error:
        raise ImportError(
            f"minimize: expected SciPy for method={method!r}, but it is not installed; "
            "pip install scipy, or use 'adam' (or 'gauss-newton' for residuals)"
        ) from error
    return optimize  # type: ignore[no-any-return]
