"""odeint: the states of a differential equation at given times, with JAX's signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.integrate.backsolve import backsolved_states
from funcgrad.integrate.initial_value import are_traced, initial_value_problem, values_of
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.transform_arguments import check_function


def odeint(
    func: Callable[..., Any],
    y0: object,
    t: object,
    *args: object,
    rtol: float = 1.4e-8,
    atol: object = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
    method: str = "RK45",
    adjoint: str = "discrete",
    **unknown: object,
) -> Any:
    """The solution of ``dy/dt = func(y, t, *args)`` with ``y(t[0]) = y0`` at the
    times t.

    The signature is that of `jax.experimental.ode.odeint`. ``y0`` is a number,
    an array or a tree of them, real or complex; ``func`` returns the same
    structure and shapes. ``t`` is an array of shape (n,), increasing or
    decreasing. The result has y0's structure, each array with a leading axis
    of length n, and y0's dtypes; integers become float64.

    ``method`` is "RK45" (Dormand and Prince, order 5(4)), "RK23" (Bogacki and
    Shampine) or, for stiff equations, "Rodas5P" (Steinebach; linearly
    implicit, with the Jacobian of ``func`` by differentiation). Steps have the
    size that keeps the root mean square of ``error / (atol + rtol * |y|)``
    below 1, and at most ``hmax``. ``atol`` is a number or a tree like y0.
    ``rtol`` is at least 100 times the rounding unit of y0. Times between steps
    are interpolated. Where the equation is stiff, steps of the explicit
    methods stay inside their region of stability, so derivatives stay bounded.

    Derivatives of every order, in both modes, exist in y0, t, args and what
    ``func`` captures. They are those of the accepted steps, whose sizes are
    held constant (discrete adjoint). Where entries of the state hardly move,
    as at an equilibrium, their error tells nothing of derivatives: calls that
    may be differentiated hold the error of a perturbation to the tolerances
    there, too. If more than ``mxstep`` steps are needed for one of the times,
    or the error cannot be kept small, the states from there on are nan.

    With ``adjoint="backsolve"`` reverse mode keeps no steps: it solves the
    adjoint equation backward in time, as JAX's odeint does. Gradients are then
    right to the tolerances, not to rounding, and the equation must be one that
    can be solved backward.

    Raises TypeError if ``func`` is not a function or does not return the
    structure of y0, or an option is unknown; ValueError if t is not a sequence
    of times in order, a tolerance is negative, or the method or the adjoint is
    unknown.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> y = odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 1.0, 2.0]), 0.5)
    >>> np.round(y, 6)
    array([1.      , 0.606531, 0.367879])
    >>> def final(k):
    ...     return odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 2.0]))[-1]
    >>> round(fg.grad(final)(0.5), 6)
    -0.735759
    """
    check_function("odeint", func)
    if "args" in unknown:
        raise type_error(
            f"odeint: expected the arguments of func one by one, but got args; {_ONE_BY_ONE}"
        )
    if unknown:
        # Imported here: it takes a millisecond.
        from funcgrad.names_elsewhere import unknown_option

        raise unknown_option("odeint", unknown, _OPTIONS)
    slope = on_arrays(func)
    given = flatten((y0, t, args))
    if adjoint not in ("discrete", "backsolve"):
        raise value_error(
            f"odeint: expected adjoint to be 'discrete' or 'backsolve', but got {adjoint!r}",
        )
    backward = adjoint == "backsolve"
    try:
        problem = initial_value_problem(
            "odeint",
            lambda time, y: slope(y, time, *args),
            y0,
            t,
            method,
            rtol,
            atol,
            hmax,
            mxstep,
            given.leaves,
            real=backward,
        )
    except TypeError as error:
        if any([type(arg) is tuple for arg in args]):
            error.add_note(f"a tuple is one argument of func: {_ONE_BY_ONE}")
        raise
    leaves = backsolved_states(problem) if backward else problem.states()[1]
    states = problem.layout.values(leaves)
    traced = [*given.leaves, *problem.integration.field.captured]
    return problem.layout.tree.rebuild(values_of(states, are_traced(traced)))


_ONE_BY_ONE = "write odeint(func, y0, t, 2.0) in the place of SciPy's args=(2.0,)"
_OPTIONS = ("rtol", "atol", "mxstep", "hmax", "method", "adjoint")
