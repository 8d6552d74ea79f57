"""Global searches of `scipy.optimize`: the minimum that a search finds is differentiated as a local one is.

A search itself compares values, and runs on plain ones. From the place that it finds, the minimum is solved
for to all digits, and differentiated by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse, settings_by_value, tuple_of, without_tracing
from funcgrad.scipy.host_call import unrefined
from funcgrad.scipy.optimize.minima import local_minimum, minimum_in_bounds
from funcgrad.scipy.optimize.nearby_solutions import found_by
from funcgrad.scipy.optimize.solver_arguments import (
    converged_result,
    limits,
    of_one_entry,
    value_alone,
)
from funcgrad.source import with_name
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_Function = Callable[..., Any]


def _middle(low: Any, high: Any) -> Any:
    ends = np.stack([low, high])
    bounded = np.isfinite(ends)
    return np.where(np.all(bounded, 0), np.sum(np.where(bounded, ends, 0.0), 0) / 2, 0.5)


def _in_bounds(name: str) -> _Function:
    """A search in a box."""
    own = getattr(_scipy, name)
    parameters = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = _numbers_of_search(parameters.bind(*args, **kwargs).arguments)
        f, extra, box = given.pop("func"), tuple_of(given.pop("args", ())), given.pop("bounds")
        ends = [real(name, end) for end in limits(box, _size(box))]
        start: Any = _middle(*[stop_gradient(lift_fully(end)) for end in ends])
        if not holds_expr(ends):
            start = _middle(*ends)
            if without_tracing(f, start, extra) and not holds_expr(list(given.values())):
                return own(f, box, args=extra, **given)
        plain = ("constraints", "integrality", "vectorized", "callback")
        refuse(name, **{key: given.get(key) or None for key in plain})
        first = given.pop("x0", None)
        if first is not None:
            start = stop_gradient(lift_fully(real(name, first)))

        def search(value: _Function, x0: Array, low: Array, high: Array) -> Any:
            options = given if first is None else {**given, "x0": x0}
            return own(value, list(zip(low, high, strict=True)), **options).x

        begun: Any = lift_fully(start)
        place = found_by(name, f, begun, extra, search, ends)
        x = unrefined(lambda: place, minimum_in_bounds(f, place, extra, *ends, who=name))
        return converged_result(x, fun=on_arrays(f)(x, *extra))

    return _named(name, function)


def _numbers_of_search(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a search, with the values of those that say how it searches."""
    found = {
        name: value if name in _OF_PROBLEM else by_value(value, name)
        for name, value in given.items()
    }
    if isinstance(given.get("minimizer_kwargs"), dict):
        found["minimizer_kwargs"] = settings_by_value(given["minimizer_kwargs"])
    return found


_OF_PROBLEM = frozenset(
    ("func", "args", "bounds", "constraints", "minimizer_kwargs", "ranges", "x0")
)


def _size(box: Any) -> int:
    return int(np.size(box.lb)) if isinstance(box, _scipy.Bounds) else len(box)


def _named(name: str, function: _Function) -> _Function:
    # Adopted code looks for tuples by the signature.
    function.__signature__ = signature(getattr(_scipy, name))  # type: ignore[attr-defined]
    doc = "the minimum that it finds is\ndifferentiable in what the function captures."
    return with_name(function, name, f"As `scipy.optimize.{name}`; {doc}")


def _basinhopping() -> _Function:
    own = _scipy.basinhopping
    parameters = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = _numbers_of_search(parameters.bind(*args, **kwargs).arguments)
        func, x0 = given.pop("func"), given.pop("x0")
        minimizer: Mapping[str, Any] = given.get("minimizer_kwargs") or {}
        extra = tuple_of(minimizer.get("args", ()))
        f = of_one_entry(value_alone(func, minimizer.get("jac")))
        if not holds_expr([x0, *extra]) and without_tracing(f, x0, extra):
            return own(of_one_entry(func), x0, **given)
        refuse("basinhopping", **{key: minimizer.get(key) for key in ("bounds", "constraints")})
        options = {
            **given,
            "minimizer_kwargs": {k: v for k, v in minimizer.items() if k == "method"},
        }
        start = np.atleast_1d(real("basinhopping", x0))
        place = found_by(
            "basinhopping", f, start, extra, lambda value, x0: own(value, x0, **options).x
        )
        x = unrefined(lambda: place, local_minimum(f, place, extra, who="basinhopping"))
        return converged_result(x, fun=on_arrays(f)(x, *extra))

    return _named("basinhopping", function)


def _scipys(function: object) -> Any:
    """SciPy's function in the place of one that stands in for it; None is none."""
    if function is None:
        return None
    return getattr(_scipy, getattr(function, "__name__", "fmin"), function)


def _brute() -> _Function:
    own = _scipy.brute
    parameters = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = _numbers_of_search(parameters.bind(*args, **kwargs).arguments)
        f, extra = given.pop("func"), tuple_of(given.pop("args", ()))
        # SciPy reads off the function's parameters how to call it.
        given = {key: _scipys(item) if key == "finish" else item for key, item in given.items()}
        start = np.full(len(given["ranges"]), 0.5)
        if not holds_expr([given["ranges"]]) and without_tracing(f, start, extra):
            return own(f, args=extra, **given)
        refuse("brute", full_output=given.get("full_output"))
        finish = given.pop("finish", _scipy.fmin)
        place = found_by(
            "brute", f, start, extra, lambda value, _: own(value, finish=None, **given)
        )
        # Without a last search the minimum is a point of the grid, which does not move.
        return place if finish is None else local_minimum(f, place, extra, who="brute")

    return _named("brute", function)


SEARCHES = {
    **{
        name: _in_bounds(name)
        for name in ("differential_evolution", "direct", "dual_annealing", "shgo")
    },
    "basinhopping": _basinhopping(),
    "brute": _brute(),
}
"""The searches by their names in SciPy."""
