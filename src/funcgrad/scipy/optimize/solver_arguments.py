"""What the solvers of `scipy.optimize` are given and give back, for traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.arrays.reference import exported
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real
from funcgrad.source import fail
from funcgrad.trace.leaves import on_arrays
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


class ConvergedResult(_scipy.OptimizeResult):  # type: ignore[misc]
    """SciPy's result object without what a search counts, and without multipliers."""

    def defer(self, name: str, find: Callable[[], Any]) -> None:
        """Compute an attribute when it is first read."""
        self.__dict__[f"_{name}"] = find

    def __missing__(self, name: str) -> Any:
        find = self.__dict__.get(f"_{name}")
        if find is None:
            raise KeyError(name)
        self[name] = find()
        return self[name]

    def __getattr__(self, name: str) -> Any:
        if name in self or name[:1] == "_" or f"_{name}" in self.__dict__:
            return super().__getattr__(name)
        raise fail(
            AttributeError,
            f"result: expected an attribute among {', '.join(self)}, which SciPy's result has with traced "
            f"values, but got {name!r}; for a search that is not differentiated, call the solver on plain "
            "values, such as fg.stop_gradient(x)",
        )


class ConvergedRoot(ConvergedResult, _scipy.RootResults):  # type: ignore[misc]
    """SciPy's result object of a search for a root; another search counts its steps when they are asked for.

    ``search`` finds an attribute of SciPy's result by its name. The root of a search that has not converged
    is an error, unless nothing reads it. A result of a search that ``raises`` an error then has converged.
    """

    def __init__(self, search: Callable[[str], Any], method: str, raises: bool = False) -> None:
        dict.__init__(self, root=search("root"), method=method)
        if raises:
            self.update(converged=True, flag="converged")
        self.defer("converged", lambda: bool(search("converged")))
        self.defer("flag", lambda: "converged" if self.converged else "convergence error")
        self.defer("iterations", lambda: round(search("iterations")))
        self.defer("function_calls", lambda: round(search("function_calls")))


def converged_result(x: Array, **values: object) -> Any:
    """SciPy's result object of a solver that has converged."""
    return ConvergedResult(
        x=x, success=True, status=0, message="The solver has converged.", **values
    )


def of_one_entry(fun: _Function) -> _Function:
    """The function with a number as its value, where it gives an array of one entry, as SciPy takes it.

    A value with its gradient beside it stays as it is.
    """
    called = on_arrays(fun)

    def number_of(*args: object) -> Any:
        value = called(*args)
        if isinstance(value, tuple):
            return exported(value)
        return np.reshape(value, ()) if np.ndim(value) and np.size(value) == 1 else value

    return number_of


def value_alone(fun: _Function, jac: object) -> _Function:
    """The function, adopted where it must be, without the derivative that it may return as well."""
    called = on_arrays(fun)
    return called if jac is not True else lambda x, *args: called(x, *args)[0]


def start_as_vector(x0: ArrayLike, flat: bool = False) -> Any:
    """A plain start as SciPy's solvers hand it to the function; a traced one as it is."""
    if holds_expr([x0]):
        return x0
    return np.ravel(x0) if flat else np.atleast_1d(x0)


def end_of_bounds(infinite: float, end: Any) -> Any:
    """A bound of a variable; None is that there is none."""
    return np.asarray(infinite) if end is None else real("bounds", end)


def ends_of(bounds: Any) -> Any:
    """The lower and the upper bounds of a `scipy.optimize.Bounds`; bounds of another form as they are."""
    return (bounds.lb, bounds.ub) if isinstance(bounds, _scipy.Bounds) else bounds


def limits(bounds: Any, size: int) -> tuple[Any, Any]:
    """The lower and the upper bounds of as many variables."""
    if isinstance(bounds, _scipy.Bounds):
        low, high = ends_of(bounds)
    else:
        low = np.stack([end_of_bounds(-np.inf, pair[0]) for pair in bounds])
        high = np.stack([end_of_bounds(np.inf, pair[1]) for pair in bounds])
    return np.broadcast_to(low, (size,)), np.broadcast_to(high, (size,))
