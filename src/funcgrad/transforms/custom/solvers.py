"""Numerical solvers for a root, a minimum or a fixed point: SciPy's, or one given by the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import fail, type_error, value_error
from funcgrad.transforms.jacobian import jacobian_columns

# Limits on fixed-point iterations, and on Newton steps after SciPy's solvers.
MAX_ITERATIONS, NEWTON_STEPS = 10_000, 100


def slope_in_x(residual: Body, count: int) -> Expr:
    """The matrix dF/dx of a residual, x being its first ``count`` inputs."""
    xs = list(residual.inputs[:count])
    blocks = iter(jacobian_columns(list(residual.outputs), xs))
    rows = [
        np.concatenate([np.reshape(next(blocks), (out.size, x.size)) for x in xs], axis=1)
        for out in residual.outputs
    ]
    matrix: Any = np.concatenate(rows, axis=0)
    return matrix  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def _slope(residual: Body, count: int) -> Body:
    return Body(residual.inputs, [slope_in_x(residual, count)])


@lru_cache(maxsize=256)
def _of_vector(body: Body, count: int, joined: bool) -> Body:
    """A body whose first input is x as one vector of float64; ``joined`` makes its results one vector."""
    xs, double = body.inputs[:count], np.dtype(float)
    vector = symbol("x", ArrayType((sum([x.size for x in xs]),), double))
    parts, place = {}, 0
    for x in xs:
        piece = vector if count == 1 else vector[place : place + x.size]
        parts[x.key] = _as_type(piece, x.type)
        place += x.size
    outputs = substitute_all(body.outputs, parts, simple=True)
    if joined:
        flat = [_as_type(out, ArrayType((out.size,), double)) for out in outputs]
        outputs = flat if len(flat) == 1 else [np.concatenate(flat)]  # type: ignore[list-item]
    return Body([vector, *body.inputs[count:]], outputs)


def _as_type(expr: Expr, type: ArrayType) -> Expr:
    expr = expr if expr.shape == type.shape else expr.reshape(type.shape)
    return expr if expr.dtype == type.dtype else expr.astype(type.dtype)


@lru_cache(maxsize=256)
def _without_invariants(body: Body, count: int) -> tuple[Body, Body]:
    """A body as two: from all inputs to what does not depend on x, and from x and these to the results.

    A solver calls the second one many times. Settings, which nothing reads, are in none of them.
    """
    varied = {x.key for x in body.inputs[:count]}
    users = subexpressions(*body.outputs)
    for expr in users:
        if any([x.key in varied for x in expr.args]):
            varied.add(expr.key)
    fixed = {
        x.key: x
        for expr in users
        if expr.key in varied
        for x in expr.args
        if x.key not in varied and x.op is not CONSTANT and isinstance(x.type, ArrayType)
    }
    names = {key: symbol(f"v{k}", x.type) for k, (key, x) in enumerate(fixed.items())}
    outputs = substitute_all(body.outputs, names)
    read = [x for x in body.inputs[count:] if x.key not in names]
    left = {expr.key for expr in subexpressions(*outputs)}
    names |= {x.key: x for x in read if x.key in left}
    known = {x.key: x for x in read} | fixed
    first = Body(body.inputs, [known[key] for key in names])
    return first, Body([*body.inputs[:count], *names.values()], outputs)


FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {"root": "implicit_root", "argmin": "implicit_argmin", "fixed point": "fixed_point"}
)
"""The functions of the package that solve problems, by the kind of these."""


@dataclass(frozen=True, slots=True)
class SolverWithSettings:
    """A solver ``solve(fun, x0, settings)``: the settings, such as a bracket, are the first theta.

    With ``takes_run`` it is ``solve(run, settings)``, with a `Run`, which has slopes, and Newton steps.
    """

    solve: Callable[..., Any]
    takes_run: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as bodies of x (the first ``count`` inputs) and theta, with its solver."""

    who: str = field(compare=False)
    """The function that was called, which errors name."""
    kind: str
    body: Body
    residual: Body
    count: int
    solver: Callable[..., Any] | SolverWithSettings | None

    def __repr__(self) -> str:
        # Part of a key. A solver is identified by its id, which is not reused while this reference is held.
        own = "" if self.solver is None else f", solver@{id(self.solver):x}"
        return f"{self.function}({self.body!r}{own})"

    @property
    def function(self) -> str:
        """The function of the package that solves such problems."""
        return FUNCTIONS[self.kind]

    def solve(self, values: Sequence[Any]) -> list[Any]:
        """The parts of x at a solution, from values of x to start at and theta."""
        with np.errstate(all="ignore"):
            return self._solved(Run(self, values))

    def _solved(self, run: Run) -> list[Any]:
        if run.start.size == 0:
            return run.parts(run.start)
        if self.solver is not None:
            given = run.user_function, run.user_array(run.start)
            if isinstance(self.solver, SolverWithSettings):
                settings = run.theta[0]
                if self.solver.takes_run:
                    found = np.asarray(self.solver.solve(run, settings))
                else:
                    found = np.asarray(self.solver.solve(*given, settings))
            else:
                found = np.asarray(self.solver(*given))
            if found.dtype.kind not in "biufcO":
                raise type_error(
                    f"{self.who}: expected the solver to return numbers, but got {found.dtype}",
                )
            if found.size != run.start.size:
                raise value_error(
                    f"{self.who}: expected the solver to return x with {run.start.size} entries, but got "
                    f"shape {found.shape}",
                )
            x = found.reshape(-1)
        else:
            x = run.solved()
        if not np.all(np.isfinite(x)):
            raise run.convergence_error("its result is not finite", x)
        return run.parts(x)


class Run:
    """A problem at one theta, as functions of x as one vector."""

    def __init__(self, problem: Problem, values: Sequence[Any]) -> None:
        self.problem = problem
        self.types = [x.type for x in problem.body.inputs[: problem.count]]
        self.theta = list(values[problem.count :])
        self.start = _joined(values[: problem.count])
        self.eps = max(float(np.finfo(type.dtype).eps) for type in self.types)
        self.number = self._number()

    def _number(self) -> Callable[[Any], float] | None:
        """The user's function of one number, as Python's numbers; None of another function."""
        body, number = self.problem.body, ArrayType((), np.dtype(float))
        if {*self.types, *body.types} != {number} or len(body.outputs) > 1 or len(self.types) > 1:
            return None
        call, given = self._without_invariants(body, self.parts(self.start))
        if any([np.shape(value) or value.dtype != number.dtype for value in given]):
            return None
        given = [float(value) for value in given]
        return lambda x: float(call([float(x), *given])[0])

    def _without_invariants(
        self, body: Body, start: Sequence[Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The part of a body that depends on x, and the values of what it reads beside x."""
        first, rest = _without_invariants(body, len(start))
        values = first.program.call([*start, *self.theta]) if first.outputs else []
        return rest.program.call, [np.asarray(value) for value in values]

    def _of_vector(self, body: Body, joined: bool) -> Callable[[Any], Any]:
        """A body as a function of x as one vector: its results, or these joined to one vector."""
        call, given = self._without_invariants(
            _of_vector(body, self.problem.count, joined), [self.start]
        )
        if joined:  # A solver may store into the vector.
            return lambda x: np.array(call([np.asarray(x, float), *given])[0])
        return lambda x: call([np.asarray(x, float), *given])

    def parts(self, x: Any) -> list[Any]:
        """The parts of a vector, with their shapes and dtypes."""
        if len(self.types) == 1:  # a solver calls this at each of its steps
            (type,) = self.types
            return [np.array(x, type.dtype).reshape(type.shape)]
        found, place = [], 0
        for type in self.types:
            piece = np.array(x[place : place + type.size], type.dtype)
            found.append(piece.reshape(type.shape))
            place += type.size
        return found

    @cached_property
    def residual(self) -> Callable[[Any], Any]:
        """The residual F(x), which is 0 at a solution."""
        return self._of_vector(self.problem.residual, joined=True)

    @cached_property
    def slope(self) -> Callable[[Any], Any]:
        """The matrix dF/dx."""
        matrix = self._of_vector(_slope(self.problem.residual, self.problem.count), joined=False)
        return lambda x: np.array(matrix(x)[0], float)

    @cached_property
    def value(self) -> Callable[[Any], Any]:
        """The user's function: a number for an objective, else a vector."""
        if self.problem.kind != "argmin":
            return self._of_vector(self.problem.body, joined=True)
        return lambda x: float(self._results(x)[0])

    @cached_property
    def _results(self) -> Callable[[Any], Any]:
        return self._of_vector(self.problem.body, joined=False)

    def user_array(self, x: object) -> Any:
        """x as a user's solver gets it: in its own shape, or as a vector if x is a tree."""
        return self.parts(x)[0] if self.problem.count == 1 else np.array(x)

    def user_function(self, x: object) -> Any:
        """The user's function as a user's solver calls it: of a Python float, it computes with such."""
        if self.number is not None and type(x) is float:
            return self.number(x)
        if self.number is None:
            found = self._results(np.reshape(x, -1))  # type: ignore[call-overload]
        else:  # Of an array it computes with arrays, whose rounding is NumPy's.
            found = list(self.problem.body.program.call([*self.parts(x), *self.theta]))
        if self.problem.kind == "argmin":
            return float(found[0])
        return np.array(found[0]) if len(found) == 1 else _joined(found)

    def newton_refined(self, x: Any, success: bool, why: str) -> Any:
        """x after Newton steps, as long as they reduce the residual; raises an error if it is no solution.

        The last step is short at a solution. Where no step reduces the residual (rounding, a kink, a
        singular slope), a solver's success counts, or a residual far below that at the start.
        """
        near, short, left = np.sqrt(self.eps), False, self.residual(x)
        size = _largest(left)
        for _ in range(NEWTON_STEPS):
            try:
                step = np.linalg.solve(self.slope(x), left)
            except np.linalg.LinAlgError:
                break
            new = x - step
            short = np.max(np.abs(step)) <= near * max(_largest(new), _largest(new - self.start))
            new_left = self.residual(new)
            new_size = _largest(new_left)
            if not new_size < size:
                break
            x, left, size = new, new_left, new_size
            if short:
                break
        else:
            raise self.convergence_error("Newton steps from its result do not become short", x)
        if not (short or success or size <= near * self.size(self.start)):
            raise self.convergence_error(" ".join(why.split()).rstrip("."), x)
        return x

    def refined_minimum(self, x: Any, success: bool, why: str) -> Any:
        """As `newton_refined`; raises an error if Newton steps lead to a greater value, as beside a kink."""
        new, value = self.newton_refined(x, success, why), self.value(x)
        if not self.value(new) <= value + np.sqrt(self.eps) * abs(value):
            raise self.convergence_error("Newton steps lead away from the minimum", new)
        return new

    def solved(self) -> Any:
        """The solution, as a vector, that the default solver finds."""
        return _SOLVERS[self.problem.kind](self)

    def size(self, x: object) -> Any:
        """The largest entry of the residual."""
        return _largest(self.residual(x))

    def convergence_error(self, why: str, x: object) -> Exception:
        """The error of a solver that did not converge."""
        problem = self.problem
        other = ", or give solver=" if problem.who == problem.function else ""
        error: Exception = fail(
            RuntimeError,
            f"{problem.who}: expected the solver to converge, but {why} (the residual is "
            f"{self.size(x):.3g}); start nearer to a solution, see whether there is one (a minimum at a "
            f"kink, as of np.abs or np.interp, has no slope of 0){other}",
        )
        return error


def _joined(parts: Sequence[Any]) -> Any:
    """The values, concatenated to one vector."""
    return np.concatenate([np.reshape(part, -1).astype(float) for part in parts])


def _largest(items: Any) -> Any:
    return np.abs(items).max(initial=0.0)


def _optimize(run: Run) -> Any:
    try:
        import scipy.optimize
    except ImportError:
        raise fail(
            ImportError,
            f"{run.problem.who}: expected SciPy, but it is not installed; pip install scipy, or give "
            "solver=",
        ) from None
    return scipy.optimize


def _root(run: Run) -> Any:
    found = _optimize(run).root(run.residual, run.start, jac=run.slope, tol=8 * run.eps)
    return run.newton_refined(found.x, found.success, found.message)


def _argmin(run: Run) -> Any:
    # BFGS compares slopes with gtol: those of an objective with small values are scaled.
    first = run.size(run.start)
    scale = min(first, 1.0) if first > 0 else 1.0
    found = _optimize(run).minimize(
        lambda x: run.value(x) / scale,
        run.start,
        jac=lambda x: run.residual(x) / scale,
        method="BFGS",
        options={"gtol": max(1e-8, np.sqrt(run.eps))},
    )
    x = run.refined_minimum(found.x, found.success, found.message)
    curvatures = np.linalg.eigvalsh(run.slope(x))
    if curvatures[0] < -np.sqrt(run.eps) * _largest(curvatures):
        raise run.convergence_error("its result is a saddle point or a maximum", x)
    return x


def refined_or_argmin(run: Run, _: object = None) -> Any:
    """The minimum that the start almost is, by Newton steps; by BFGS where these end elsewhere."""
    try:
        x = run.refined_minimum(run.start, False, "Newton steps do not end at a minimum")
    except RuntimeError:
        return _argmin(run)
    lowest = np.linalg.eigvalsh(run.slope(x))[0] if np.all(np.isfinite(x)) else -np.inf
    return x if lowest > 0 else _argmin(run)


def _iterate(run: Run) -> Any:
    x, last = run.start, np.inf
    for _ in range(MAX_ITERATIONS):
        new = run.value(x)
        step, scale = np.max(np.abs(new - x)), max(np.max(np.abs(new)), 1.0)
        if not np.isfinite(step):
            raise run.convergence_error("x became infinite or nan", x)
        # Rounding may make x oscillate.
        if step <= 4 * run.eps * scale or last <= step <= run.eps**0.6 * scale:
            return new
        x, last = new, step
    raise run.convergence_error(f"x still moved by {last:.3g} after {MAX_ITERATIONS} iterations", x)


_SOLVERS: dict[str, Callable[[Run], Any]] = {
    "root": _root,
    "argmin": _argmin,
    "fixed point": _iterate,
}
