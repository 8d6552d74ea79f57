"""Minimizing a function of a tree of parameters, by an optimizer or by a second-order method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, result
from funcgrad.ops.base.op import differentiable
from funcgrad.optim.optimizers import adam, adamw, momentum, nesterov, rmsprop, sgd
from funcgrad.optim.progress import Minimum, Recorder, bar, finite, refuse_traced
from funcgrad.optim.quasi_newton import (
    System,
    conjugated,
    gauss_newton,
    half_square,
    lbfgs,
    levenberg_marquardt,
    residuals_and_jacobian,
)
from funcgrad.optim.ravel import layout, ravel
from funcgrad.optim.transformations import Optimizer, apply_updates
from funcgrad.optim.tree_arithmetic import checked_number
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten_numbers
from funcgrad.trace.tree_map import mapped
from funcgrad.transforms.grad import value_and_grad
from funcgrad.transforms.vjp import vjp
from funcgrad.typing import Array

_OPTIMIZERS: Mapping[str, Callable[..., Optimizer]] = MappingProxyType(
    {
        "sgd": sgd,
        "momentum": momentum,
        "nesterov": nesterov,
        "adam": adam,
        "adamw": adamw,
        "rmsprop": rmsprop,
    }
)
_LEAST_SQUARES = MappingProxyType({"gauss-newton": gauss_newton, "lm": levenberg_marquardt})


def minimize(
    f: Callable[..., Any],
    x0: object,
    method: object = None,
    *,
    args: Sequence[Any] = (),
    steps: int = 1000,
    tol: float | None = None,
    learning_rate: object = None,
    progress: bool = False,
    jac: bool = False,
) -> Minimum:
    """The minimum of ``f(x, *args)`` found from x0, a tree of floats or float or
    complex arrays.

    The default is L-BFGS, or Adam if a ``learning_rate`` is given. ``method``
    is an optimizer, such as ``adam(0.1)``, or a name: 'sgd', 'momentum',
    'nesterov', 'adam', 'adamw', 'rmsprop', with their defaults or a
    ``learning_rate`` (a number or schedule); 'lbfgs' (SciPy's). For 'lm'
    (Levenberg-Marquardt, SciPy's) and 'gauss-newton', f returns a tree of
    residuals, and half the sum of their squares is minimized. With
    ``jac=True``, f returns the pair of value and gradient, as for
    `scipy.optimize.minimize` and from `funcgrad.dask.value_and_grad`, and is
    not differentiated.

    The search ends when no entry of the gradient is above ``tol`` (by default
    1e-6, and 1e-8 without a method), or after ``steps`` steps.
    `Minimum.message` gives the reason. ``progress=True`` shows a bar, with
    tqdm. x0 and args do not change.

    Raises TypeError for integer arrays, if f does not return a real scalar (or
    residuals, or with ``jac`` the pair), and for residuals with ``jac``;
    ValueError for unknown methods, FloatingPointError if f or its gradient is
    not finite, ImportError without SciPy for 'lbfgs' and 'lm', and without
    tqdm for a bar.

    >>> found = minimize(lambda p: (p["a"] - 1) ** 2 + p["b"] ** 2, {"a": 0.0, "b": 5.0})
    >>> found.converged, round(found.x["a"], 6), round(found.x["b"], 6)
    (True, 1.0, 0.0)
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> round(minimize(lambda x: np.exp(x * t) - np.exp(0.5 * t), 0.0, "lm").x, 6)
    0.5
    """
    if not callable(f) or isinstance(f, Expr):
        raise type_error(f"minimize: expected a function for f, but got {type(f).__name__}")
    if tol is None:
        tol = 1e-6 if method is not None or learning_rate is not None else 1e-8
    if method is None:
        method = "lbfgs" if learning_rate is None else "adam"
    method = _method(method, learning_rate)
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise value_error(f"minimize: expected steps of at least 0, but got {steps!r}")
    x = _started(x0)

    traced = f if jac else on_arrays(f)

    def g(at: object) -> Any:
        return traced(at, *args)

    least_squares = _LEAST_SQUARES.get(method) if isinstance(method, str) else None
    if jac and least_squares:
        raise type_error(
            f"minimize: expected no jac=True with method={method!r}, which differentiates residuals; use "
            "'lbfgs' or an optimizer",
        )
    both = _given(g) if jac else value_and_grad(_scalar(g))

    with bar(progress, int(steps)) as tick:
        recorder = Recorder(int(steps), checked_number("minimize", "tol", tol), tick)
        if method == "lbfgs":
            return _by_lbfgs(both, x, recorder)
        if least_squares:
            return _by_least_squares(g, x, recorder, least_squares)
        return _by_optimizer(both, x, recorder, method)


def _method(method: object, learning_rate: object) -> Any:
    """An optimizer, or the name of another method."""
    if not isinstance(method, str) and not (hasattr(method, "init") and hasattr(method, "update")):
        raise type_error(
            f"minimize: expected an optimizer or a name for method, but got {type(method).__name__}; "
            "write adam(0.1) or 'adam'",
        )
    if isinstance(method, str) and method not in (*_OPTIMIZERS, "lbfgs", *_LEAST_SQUARES):
        known = ", ".join([repr(name) for name in (*_OPTIMIZERS, "lbfgs", *_LEAST_SQUARES)])
        raise value_error(f"minimize: expected a method among {known}, but got {method!r}")
    if learning_rate is not None and not (isinstance(method, str) and method in _OPTIMIZERS):
        raise type_error(
            "minimize: expected no learning_rate, which goes with the names of optimizers, but got "
            f"{learning_rate!r}; write adam({learning_rate!r}), or leave it out",
        )
    if not isinstance(method, str) or method not in _OPTIMIZERS:
        return method
    make = _OPTIMIZERS[method]
    return make() if learning_rate is None else make(learning_rate)


def _by_optimizer(
    both: Callable[[Any], Any], x: object, recorder: Recorder, optimizer: Any
) -> Minimum:
    state = optimizer.init(x)
    while True:
        value, gradient = both(x)
        gradient = conjugated(gradient)
        if recorder.record(x, value, _vector(gradient)):
            return recorder.minimum(x)
        updates, state = optimizer.update(gradient, state, x)
        x = apply_updates(x, updates)


def _by_lbfgs(both: Callable[[Any], Any], x: object, recorder: Recorder) -> Minimum:
    places = layout(x)

    def objective(vector: object) -> Any:
        value, gradient = both(places.unravel(vector))
        return value, _vector(conjugated(gradient))

    stalled = lbfgs(objective, ravel(x), recorder)
    return recorder.minimum(places.unravel(recorder.x), stalled)


def _by_least_squares(
    f: Callable[[Any], Any], x: object, recorder: Recorder, solve: Callable[..., str]
) -> Minimum:
    places = layout(x)
    count = len(ravel(x))

    def residuals(vector: object) -> Any:
        output = vjp(f, places.unravel(vector))[0]
        for leaf in flatten_numbers(output).leaves:
            refuse_traced(leaf)
        return ravel(output)

    def both(vector: Array) -> Any:
        return residuals_and_jacobian(f, places, vector)

    first = residuals(ravel(x))
    finite(half_square(first), 0.0, 0)
    rows = len(first)
    if rows < count and solve is levenberg_marquardt:
        raise value_error(
            f"minimize: expected at least as many residuals as unknowns ({count}) with "
            f"method='lm', but got {rows}; use 'gauss-newton', or add residuals",
        )
    stalled = solve(System(residuals, both), ravel(x), recorder)
    return recorder.minimum(places.unravel(recorder.x), stalled)


def _vector(gradient: object) -> Any:
    """A gradient as a flat vector; one of expressions has no finite entries to look at."""
    leaves = flatten_numbers(gradient).leaves
    return np.zeros(0) if any([isinstance(leaf, Expr) for leaf in leaves]) else ravel(gradient)


def _started(x0: object) -> Any:
    """A copy of x0, checked: Python's ints count as floats."""
    tree = flatten_numbers(x0)
    if not tree.leaves:
        raise type_error("minimize: expected numbers or arrays in x0, but got an empty tree")
    return tree.rebuild([_start(leaf) for leaf in tree.leaves])


def _start(leaf: object) -> Any:
    if isinstance(leaf, int) and not isinstance(leaf, bool):
        return float(leaf)
    if isinstance(leaf, Expr):
        kind, hint = "an expression", "give a number"
    elif isinstance(leaf, float | complex | np.ndarray | np.generic):
        if differentiable(np.asarray(leaf).dtype):
            return result(np.array(leaf))
        kind, hint = str(np.asarray(leaf).dtype), "convert it with x0.astype(float)"
    else:
        kind, hint = type(leaf).__name__, "make it an array with np.array"
    raise type_error(f"minimize: expected float or complex values in x0, but got {kind}; {hint}")


def _scalar(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f, checked to return one real number before anything is made of it."""

    def objective(x: object) -> Any:
        output = f(x)
        if isinstance(output, int | float):
            return output
        if isinstance(output, Expr | np.ndarray | np.generic):
            if not output.shape and output.dtype.kind in "fiub":
                return output
            kind = f"{output.dtype}{list(output.shape) if output.shape else ''}"
        else:
            kind = type(output).__name__
        raise type_error(
            f"minimize: expected f to return a real number, but got {kind}; sum it, or for a tree "
            "of residuals use method='lm' or 'gauss-newton'",
        )

    return objective


def _given(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f, checked to return a real number and a tree like x."""

    def both(x: object) -> Any:
        output = f(x)
        if not isinstance(output, tuple | list) or len(output) != 2:
            raise type_error(
                "minimize: expected f to return a pair of value and gradient with jac=True, but got "
                f"{type(output).__name__}; leave out jac=True, or give value_and_grad(f)",
            )
        value = _scalar(lambda x: output[0])(x)
        return value, mapped("minimize", lambda leaf, slope: slope, x, output[1])

    return both
