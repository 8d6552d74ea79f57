"""Solvers of equations of `scipy.optimize`, differentiated by the implicit function theorem.

Solutions with traced values are found by SciPy's solvers with exact derivatives, and Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import as_pythons, holds_expr
from funcgrad.scipy.composition import real, refuse, tuple_of, with_places_of, without_tracing
from funcgrad.scipy.further_arguments import with_numbers
from funcgrad.scipy.host_call import unrefined
from funcgrad.scipy.optimize.nearby_solutions import found_by
from funcgrad.scipy.optimize.solver_arguments import (
    ConvergedRoot,
    converged_result,
    of_one_entry,
    start_as_vector,
    value_alone,
)
from funcgrad.source import as_of_numbers, fail, may_be_handled, value_error, with_name
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.custom import implicit
from funcgrad.transforms.custom.solvers import Run
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]
_BY_NEWTON = ("secant", "newton", "halley")
"""The methods with no, one and two derivatives."""


# -- functions whose code asks for the value of the unknown ---------------------------------------
# A loop that ends by a tolerance asks so. No program for all values can be traced of such a function. Where
# the values at this call are known, SciPy finds the root of these, and the function is traced on the path
# that its code takes there.
def _known_or_by_value(
    solve: Callable[[], Any],
    alone: _Function,
    args: Sequence[Any],
    start: ArrayLike,
    find: Callable[[_Function, Any], Any],
    is_root: bool = True,
) -> Any:
    """The root by ``solve``, or, where that is refused, the one that ``find`` finds of plain values, from a
    start; with ``is_root=False`` another result of the search, such as a count.

    The refusal is raised where values are not known, or may be others in later calls, as under `jit`.
    """
    try:
        return solve()
    except TypeError as error:
        refusal = error
    called = on_arrays(alone)

    def known(item: ArrayLike) -> Any:
        expr = lift_fully(item)
        value = None if expr.traced is not None and expr.traced.records else known_value(expr)
        if value is None:
            raise refusal
        return np.asarray(value, float)[()]

    def value(x: ArrayLike) -> Any:
        return known(called(np.asarray(x, float)[()], *args))

    found: Array = np.asarray(find(value, known(start)), float)
    if not is_root:
        return found[()]
    return implicit.root_on_path(alone)(found[()], *args)


@with_places_of(_scipy.root)
def root(
    fun: _Function,
    x0: ArrayLike,
    args: object = (),
    method: str = "hybr",
    jac: object = None,
    tol: float | None = None,
    **options: object,
) -> Any:
    """As `scipy.optimize.root`; with traced values ``jac`` and ``tol`` have no
    effect.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: root(lambda x: x**2 - a, [1.0]).x[0])(4.0)
    0.25
    """
    given = tuple_of(args)
    alone, args = with_numbers(value_alone(fun, jac), given)
    is_flat = method in ("hybr", "lm")
    if without_tracing(alone, start_as_vector(x0, is_flat), args):
        return _scipy.root(fun, x0, given, method, jac, tol, **options)
    start = np.atleast_1d(real("root", x0))
    start = np.ravel(start) if is_flat else start
    find = _found_by(method, tol, **options)
    x = _known_or_by_value(lambda: root_by(method, alone, start, args), *(alone, args, start, find))
    x = unrefined(lambda: _found_alone(find, alone, start, args), x)
    return converged_result(x, fun=alone(x, *args))


def _found_alone(find: _Function, fun: _Function, start: Array, args: Sequence[Any]) -> Any:
    """The root as SciPy's search finds it, which has no derivative."""
    called = on_arrays(fun)

    def residual(x: Array, *args: object) -> Any:
        return np.reshape(real("root", called(x, *args)), start.shape)

    return found_by("root", residual, start, args, find)


def _found_by(method: str, tol: float | None = None, **options: object) -> _Function:
    def find(value: _Function, start: Array) -> Any:
        with np.errstate(all="ignore"):
            found = _scipy.root(value, start, method=method, tol=tol, **options)
        if not found.success:
            raise _no_root("root", str(found.message))
        return found.x

    return find


def root_by(method: str, alone: _Function, start: Array, args: Sequence[Any]) -> Any:
    """The root near that which SciPy's method finds."""
    if method == "hybr":
        return implicit.solved_by("root", "root", alone)(start, *args)
    solver = _refined_root(method)
    search = implicit.solved_with_settings("root", "root", alone, solver, takes_run=True)
    return search(start, np.zeros(0), *args)


@lru_cache(maxsize=16)
def _refined_root(method: str) -> _Function:
    def solve(run: Run, _: Array) -> Any:
        with np.errstate(all="ignore"):
            found = _scipy.root(run.residual, run.start, method=method)
        return run.newton_refined(found.x, found.success, str(found.message))

    return solve


@with_places_of(_scipy.fsolve)
def fsolve(func: _Function, x0: ArrayLike, args: object = (), **options: object) -> Any:
    """As `scipy.optimize.fsolve`."""
    given = tuple_of(args)
    alone, args = with_numbers(func, given)
    if without_tracing(alone, start_as_vector(x0, flat=True), args):
        return _scipy.fsolve(func, x0, given, **options)
    start = np.ravel(real("fsolve", x0))
    xtol: Any = options.get("xtol", 1.49012e-08)
    find = _found_by("hybr", xtol)
    x = _known_or_by_value(
        lambda: implicit.solved_by("fsolve", "root", alone)(start, *args),
        *(alone, args, start, find),
    )
    x = unrefined(lambda: _found_alone(find, alone, start, args), x)
    if not options.get("full_output"):
        return x
    return x, {"fvec": alone(x, *args)}, 1, "The solution converged."


@lru_cache(maxsize=64)
def _bracketing(name: str, options: tuple[tuple[str, Any], ...], field: str) -> _Function:
    own = partial(getattr(_scipy, name), **{**dict(options), "disp": False}, full_output=True)

    def solve(fun: _Function, x0: Array, bracket: Array) -> Any:
        a, b = bracket.tolist()
        seen: list[float] = []

        def value(x: float) -> float:
            # Counts are those of NumPy's rounding, of which that of Python's numbers differs.
            seen.append(float(fun(x if field == "root" else np.asarray(x))))
            return seen[-1]

        try:
            _, found = own(value, a, b)
        except ValueError as error:  # no change of sign, or a value that is NaN
            ends = [f"f({x:.6g}) = {float(fun(x)):.6g}" for x in (a, b)]
            raise value_error(
                f"{name}: {str(error).rstrip('.')}; here, {' and '.join(ends)}"
            ) from None
        if not (found.converged or field == "converged"):
            raise _no_root(name, f"it has not converged after {found.iterations} iterations")
        if field == "root" and _jumps(value, found.root, (a, b), seen[:2], width(found.root)):
            raise _no_root(name, f"f jumps over 0 at {found.root:.6g}, which is no root")
        return np.asarray(found[field], float)

    def width(x: float) -> float:
        """Eight times the tolerance at a root."""
        known = dict(options)
        relative = known.get("rtol", 4 * np.finfo(float).eps)
        return float(8 * (known.get("xtol", 2e-12) + relative * abs(x)))

    return solve


def _jumps(
    f: _Function, x: float, bracket: Sequence[float], ends: Sequence[float], width: float
) -> bool:
    """Whether the change of sign is a jump or a pole: as large across twice the width, and not small."""

    def across(width: float) -> tuple[float, float]:
        low, high = min(bracket), max(bracket)
        return f(max(x - width, low)), f(min(x + width, high))

    left, right = across(width)
    if not (left * right < 0 and abs(right - left) > 1e-3 * min(map(abs, ends))):
        return False
    further = across(2 * width)
    return abs(further[1] - further[0]) < 1.2 * abs(right - left)


_NO_BRACKET = frozenset(("ValueError", "Exception", "BaseException"))
"""The errors of SciPy's solvers for an interval without a change of sign, as handlers name them."""
_NO_CONVERGENCE = frozenset(("RuntimeError", "Exception", "BaseException"))
"""The errors of SciPy's solvers for a search that does not converge."""


def _bracketed(name: str) -> _Function:
    own = getattr(_scipy, name)

    @with_places_of(own)
    def function(f: _Function, a: Array, b: Array, args: object = (), **options: object) -> Any:
        given = tuple_of(args)
        alone, args = with_numbers(of_one_entry(f), given)
        if not holds_expr([a, b]) and without_tracing(alone, a, args):
            return own(f, a, b, given, **options)
        is_full = options.pop("full_output", False)
        settings = tuple(sorted(options.items()))
        bracket = stop_gradient(np.stack([real(name, end) for end in (a, b)]))
        if may_be_handled(_NO_BRACKET) and alone(bracket[0], *args) * alone(bracket[1], *args) > 0:
            raise as_of_numbers(ValueError("f(a) and f(b) must have different signs"))

        def search(field: str) -> Any:
            find = _bracketing(name, settings, field)
            solver = implicit.solved_with_settings(name, "root", alone, find)
            return _known_or_by_value(
                lambda: solver(np.mean(bracket), bracket, *args),
                *(alone, args, bracket, lambda value, ends: find(value, ends, ends)),
                is_root=field == "root",
            )

        raises: Any = options.get("disp", True)
        if raises and may_be_handled(_NO_CONVERGENCE) and not search("converged"):
            raise as_of_numbers(RuntimeError(f"{name}: the search has not converged"))
        if not is_full:
            return as_pythons(search("root"))
        found = ConvergedRoot(search, name, raises=raises)
        return found.root, found

    return with_name(
        function, name, f"As `scipy.optimize.{name}`; the derivative in the bracket is 0."
    )


brentq, brenth = _bracketed("brentq"), _bracketed("brenth")
bisect, ridder = _bracketed("bisect"), _bracketed("ridder")
toms748 = _bracketed("toms748")


@with_places_of(_scipy.newton)
def newton(
    func: _Function,
    x0: ArrayLike,
    fprime: object = None,
    args: Sequence[Any] = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: object = None,
    x1: ArrayLike | None = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """As `scipy.optimize.newton`, also for arrays of starting points; the exact
    derivative stands for ``fprime``.
    """
    given = tuple(args)  # SciPy unpacks any sequence here, and in newton alone
    alone, args = with_numbers(func, given)
    if not holds_expr(x1) and without_tracing(alone, x0, args):
        kept = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "full_output": full_output}
        return _scipy.newton(func, x0, fprime, given, fprime2=fprime2, x1=x1, disp=disp, **kept)
    refuse("newton", full_output=full_output if np.size(x0) > 1 else None)
    order = 0 if not fprime else 2 if fprime2 else 1
    settings = (("maxiter", maxiter), ("rtol", rtol), ("tol", tol))
    search = partial(_by_newton, alone, x0, args, order, x1, settings)
    is_one = np.size(x0) == 1
    if disp and is_one and may_be_handled(_NO_CONVERGENCE) and not search("converged"):
        raise as_of_numbers(RuntimeError("newton: the search has not converged"))
    if not full_output:
        return search("root")
    found = ConvergedRoot(search, _BY_NEWTON[order], raises=disp)
    return found.root, found


def _by_newton(
    alone: _Function,
    x0: ArrayLike,
    args: Sequence[Any],
    order: int,
    x1: ArrayLike | None,
    options: tuple[tuple[str, Any], ...],
    field: str,
) -> Any:
    """The root that SciPy's secant, Newton's or Halley's method finds, or a count, with so many
    derivatives.
    """
    solver = _derivatives_used(order, options, field)
    second = np.zeros(0) if x1 is None else stop_gradient(real("newton", x1))
    solve = implicit.solved_with_settings("newton", "root", alone, solver, takes_run=True)

    def find(value: _Function, start: Array) -> Any:
        if start.size > 1:
            return _scipy.newton(value, start, **dict(options))
        another = {"x1": np.asarray(x1, float)[()]} if x1 is not None else {}
        found = _scipy.newton(
            value, start, **another, **dict(options), full_output=True, disp=False
        )[1]
        if field == "root" and not found.converged:
            raise _no_root("newton", f"it has not converged after {found.iterations} iterations")
        return found[field]

    start = real("newton", x0)
    return _known_or_by_value(
        lambda: solve(start, second, *args), alone, args, start, find, is_root=field == "root"
    )


@lru_cache(maxsize=64)
def _derivatives_used(order: int, options: tuple[tuple[str, Any], ...], field: str) -> _Function:
    def solve(run: Run, x1: Array) -> Any:
        fun, start = run.user_function, run.user_array(run.start)[()]

        def first(x: Array) -> Any:
            return np.diagonal(run.slope(x)).reshape(np.shape(x))

        def second(x: Array) -> Any:
            h = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(x))
            return (first(x + h) - first(x - h)) / (2 * h)

        derivatives = dict(zip(("fprime", "fprime2"), (first, second)[:order], strict=False))
        another = {"x1": np.asarray(x1)[()]} if np.size(x1) else {}
        full = {"full_output": field != "root", "disp": field != "converged"}
        try:
            found = _scipy.newton(fun, start, **derivatives, **another, **dict(options), **full)
        except RuntimeError as error:
            raise _no_root("newton", str(error)) from None
        if field != "root":
            return np.asarray(found[1][field], float)
        return _refined(np.asarray(found, float), fun, first)

    return solve


def _refined(x: Array, fun: _Function, slope: _Function) -> Any:
    """The root after Newton steps, as long as they reduce the residual."""
    with np.errstate(all="ignore"):
        for _ in range(10):
            left = fun(x)
            step = np.where(left == 0, 0.0, left / slope(x))
            is_closer = np.abs(fun(x - step)) < np.abs(left)
            if not np.any(is_closer):
                break
            x = np.where(is_closer, x - step, x)
    if not np.all(np.abs(step) <= 1e-6 * np.maximum(1.0, np.abs(x))):
        raise _no_root("newton", "Newton steps from its result do not become short")
    return x


def _no_root(who: str, why: str) -> Exception:
    reason = " ".join(why.split()).rstrip(".")
    error: Exception = fail(
        RuntimeError,
        f"{who}: expected the solver to converge, but {reason}; start nearer to a solution, see "
        "whether there is one, or give a greater maxiter",
    )
    return error


def _method_of(fprime: object, fprime2: object, x1: object) -> str:
    """The method that `root_scalar` takes for a starting point."""
    if fprime:
        return "halley" if fprime2 else "newton"
    return "newton" if x1 is None else "secant"


@with_places_of(_scipy.root_scalar)
def root_scalar(
    f: _Function,
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Callable[..., Any] | bool | None = None,
    fprime2: Callable[..., Any] | bool | None = None,
    x0: Any = None,
    x1: Any = None,
    **options: object,
) -> Any:
    """As `scipy.optimize.root_scalar`; the derivative in the bracket and the
    starting point is 0.
    """
    given = tuple_of(args)
    alone, args = with_numbers(value_alone(f, fprime), given)
    start = x0 if bracket is None else (bracket[0] + bracket[1]) / 2
    if not holds_expr([x0, x1, bracket]) and without_tracing(alone, start, args):
        return _scipy.root_scalar(f, given, method, bracket, fprime, fprime2, x0, x1, **options)
    if method is None:
        method = "brentq" if bracket is not None else _method_of(fprime, fprime2, x1)
    method = method.lower()
    settings = _tolerances(options)
    if method in ("brentq", "brenth", "bisect", "ridder", "toms748"):
        found = _bracketed(method)(alone, *bracket, args, full_output=True, disp=False, **settings)[
            1
        ]
    else:
        order = _BY_NEWTON.index(method)
        settings["tol"] = settings.pop("xtol", 1.48e-8)
        second = x1 if order == 0 else None
        found = ConvergedRoot(
            partial(
                _by_newton,
                *(alone, real("root_scalar", x0), args, order, second),
                tuple(settings.items()),
            ),
            method,
        )
    return found


def _tolerances(options: dict[str, Any]) -> dict[str, Any]:
    """The options of `root_scalar` that its methods have."""
    given = {**options, **(options.get("options") or {})}
    return {key: given[key] for key in ("maxiter", "rtol", "xtol") if given.get(key) is not None}


@with_places_of(_scipy.fixed_point)
def fixed_point(
    func: _Function,
    x0: ArrayLike,
    args: object = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """As `scipy.optimize.fixed_point`."""
    given = tuple_of(args)
    alone, args = with_numbers(func, given)
    if without_tracing(alone, x0, args):
        return _scipy.fixed_point(func, x0, given, xtol, maxiter, method)
    solver = None if method == "iteration" else _accelerated
    return implicit.fixed_point(alone, solver)(real("fixed_point", x0), *args)


def _accelerated(fun: _Function, x0: Array) -> Any:
    """By Steffensen's method, and one iteration of the function."""
    return fun(_scipy.fixed_point(fun, x0, xtol=1e-14, maxiter=2000))
