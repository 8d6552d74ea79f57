"""``scipy.integrate`` for traced values: quadrature of functions and of samples, and differential equations.

`quad` follows Leibniz's rule: the derivative in a limit is the integrand there, that in a parameter the
integral of the integrand's derivative; so does `quad_vec`. `odeint` and `solve_ivp` are funcgrad's own where
values are traced, and `solve_bvp` solves on SciPy's mesh. All other names lead to SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate as _scipy
import scipy.stats
from scipy.integrate._quadrature import QMCQuadResult, _rng_spawn

from funcgrad.arrays.values import by_value
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.integrate.odeint import odeint as _odeint
from funcgrad.integrate.solve_ivp import solve_ivp as _solve_ivp
from funcgrad.ops.base.op import fit, lift_fully
from funcgrad.ops.shape import as_pythons, holds_expr
from funcgrad.scipy.boundary_values import solve_bvp as solve_bvp
from funcgrad.scipy.composition import (
    as_single,
    composed,
    number,
    real,
    refuse,
    settings_by_value,
    tuple_of,
    with_places_of,
    with_value,
    without_derivative,
    without_tracing,
)
from funcgrad.scipy.integral import integral_of
from funcgrad.scipy.integrand import integrand_of
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.quadrature import runner
from funcgrad.scipy.tanh_sinh import tanhsinh as tanhsinh
from funcgrad.source import type_error, value_error, warn
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.masked_trees import is_masked
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)
_REAL = ArrayType((), np.dtype(np.float64))


# -- samples -------------------------------------------------------------------------------------------
@_composed
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Any:
    places = None if x is None else real("trapezoid", x)
    samples: Any = y if is_masked(type(y)) else number("trapezoid", y)
    return as_single(np.trapezoid(samples, places, dx, axis), y, x)


def _widths(who: str, x: ArrayLike | None, dx: object, count: int, axes: int) -> Any:
    """The distances of the samples, along the first of as many axes; of x with one axis, or those of y."""
    if x is None:
        return np.full((count - 1, *[1] * (axes - 1)), 1.0) * dx
    places = real(who, x)
    if places.ndim == 1:
        places = places.reshape((-1, *[1] * (axes - 1)))
    if places.shape[0] != count:
        raise value_error(f"{who}: expected x with {count} entries, but got {places.shape[0]}")
    return np.diff(places, axis=0)


def _first(who: str, y: ArrayLike, x: ArrayLike | None, axis: int) -> tuple[Any, Any]:
    """The samples and their places with the axis moved to the front."""
    samples = np.moveaxis(number(who, y), axis, 0)
    if x is not None and np.ndim(x) > 1:
        x = np.moveaxis(real(who, x), axis, 0)
    return samples, x


@_composed
def cumulative_trapezoid(
    y: ArrayLike,
    x: ArrayLike | None = None,
    dx: float = 1.0,
    axis: int = -1,
    initial: float | None = None,
) -> Any:
    samples, places = _first("cumulative_trapezoid", y, x, axis)
    width = _widths("cumulative_trapezoid", places, dx, samples.shape[0], samples.ndim)
    total = np.cumsum(width * (samples[1:] + samples[:-1]) / 2, axis=0)
    if initial is not None:
        total = np.concatenate([np.zeros_like(samples[:1]) + initial, total])
    return as_single(np.moveaxis(total, 0, axis), y, x)


# -- functions -------------------------------------------------------------------------------------------
@with_places_of(_scipy.quad)
def quad(
    func: Callable[..., Any],
    a: Array,
    b: Array,
    args: object = (),
    full_output: int = 0,
    **options: Any,
) -> Any:
    """As `scipy.integrate.quad`: the integral, also in the limits, in ``args``
    and in what ``func`` captures.

    The estimate of the error has derivative 0. ``epsabs``, ``epsrel``,
    ``limit``, ``points`` and ``weight`` are SciPy's; derivatives are
    integrated to relative 1e-10, and exist to every order. The integrand may
    jump at traced ``points``, and moves with them. ``wvar`` is plain,
    and so are limits for the weights 'alg...', which may be infinite there.

    >>> import funcgrad as fg
    >>> area = lambda k, end: quad(lambda x: np.exp(-k * x), 0.0, end)[0]
    >>> round(fg.grad(area)(1.0, np.inf), 9), round(fg.grad(area, argnums=1)(1.0, 0.0), 9)
    (-1.0, 1.0)
    """
    args = tuple_of(args)
    given = [a, b, options.get("wvar"), options.get("points")]
    if not holds_expr(given) and without_tracing(func, 0.5, args):
        return _scipy.quad(func, a, b, args, full_output, **options)
    if full_output:
        raise type_error(
            "quad: expected full_output=0 with traced values, but got 1; call quad once more with plain "
            "numbers, by funcgrad.stop_gradient, for what SciPy tells of its rule",
        )
    own = {key: value for key, value in options.items() if value is not None}
    if own.pop("complex_func", False):
        parts = [
            quad(lambda x, *args, part=part: part(func(x, *args)), a, b, args, **own)
            for part in (np.real, np.imag)
        ]
        return tuple(real + 1j * imag for real, imag in zip(*parts, strict=True))
    if "weight" in own:
        _check_weight(own, (a, b))
    body, theta = integrand_of(func, args)
    value, error = _with_error(body, own, a, b, theta)
    return as_pythons(value), error


def _with_error(
    body: Body, options: Mapping[str, Any], a: Array, b: Array, theta: Sequence[Expr]
) -> tuple[Any, Any]:
    """An integral from a to b, and SciPy's estimate of its error, which has no derivative."""
    ends = [fit(lift_fully(end), _REAL) for end in (a, b)]
    value = _with_jumps(integral_of(body, options, ends, theta), body, options, ends, theta)
    run = runner(body, options, 1)
    return value, without_derivative("quad_error", run, _REAL, *ends, *theta)


def _with_jumps(
    value: Expr, body: Body, options: Mapping[str, Any], ends: Sequence[Expr], theta: Sequence[Expr]
) -> Any:
    """An integral whose derivative in traced ``points`` is what the integrand jumps by at each."""
    if not holds_expr(options.get("points")):
        return value
    first, last = [float(by_value(end, "points")) for end in ends]
    turned = last < first
    inside = sorted([(float(by_value(p, "points")), k) for k, p in enumerate(options["points"])])
    inside = [(x, k) for x, k in inside if min(first, last) < x < max(first, last)]
    places = [
        fit(lift_fully(options["points"][k]), _REAL) for _, k in inside[:: -1 if turned else 1]
    ]
    # Each piece ends at the number beside a point, and moves with the point.
    before, behind = [
        [p + stop_gradient(np.nextafter(p, way) - p) for p in places]
        for way in ((np.inf, -np.inf) if turned else (-np.inf, np.inf))
    ]
    rest = {name: item for name, item in options.items() if name != "points"}
    pieces = zip([ends[0], *behind], [*before, ends[1]], strict=True)
    total: Any = sum([integral_of(body, rest, piece, theta) for piece in pieces], np.float64(0.0))
    return with_value(stop_gradient(value), total)


def _check_weight(options: dict[str, Any], ends: tuple[Array, Array]) -> None:
    weight, variable = options["weight"], options["wvar"]
    if holds_expr(variable):
        raise type_error(
            f"quad: expected a plain wvar for weight={weight!r}, but got a traced one; write the weight into "
            "func, and leave weight and wvar out",
        )
    if str(weight).startswith("alg"):
        options["wvar"] = tuple(float(power) for power in variable)  # a key has a hash
        if holds_expr(list(ends)):
            raise type_error(
                f"quad: expected plain limits for weight={weight!r}, at which the integrand may be "
                "infinite, but got traced ones; integrate (b - a)**(1 + alpha + beta)*func(a + (b - a)*t) "
                "over t from 0 to 1",
            )


@with_places_of(_scipy.quad_vec)
def quad_vec(
    f: Callable[..., Any],
    a: Array,
    b: Array,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    *others: object,
    args: object = (),
    **options: object,
) -> Any:
    """As `scipy.integrate.quad_vec`, in the limits, in ``args`` and in what ``f``
    captures, as `quad`.
    """
    extra = tuple_of(args)
    further = {name: item for name, item in options.items() if item is not None}
    own = {"epsabs": epsabs, "epsrel": epsrel, "norm": norm, "limit": limit, **further}
    if not holds_expr([a, b]) and without_tracing(f, 0.5, extra):
        return _scipy.quad_vec(
            f, a, b, epsabs, epsrel, norm, cache_size, limit, *others, args=extra, **options
        )
    refuse("quad_vec", full_output=own.pop("full_output", None), options=others or None)
    body, theta = integrand_of(f, extra, "quad_vec")
    return _with_error(body, own, a, b, theta)


@with_places_of(_scipy.nquad)
def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: object = None,
    opts: Any = None,
    full_output: bool = False,
) -> Any:
    """As `scipy.integrate.nquad`; of traced values one `quad` within the other.

    The estimate of the error is then that of the outermost integral.

    >>> import funcgrad as fg
    >>> volume = lambda r: nquad(lambda y, x: x * y, [lambda x: (0.0, r - x), (0.0, r)])[0]
    >>> round(fg.grad(volume)(1.0), 9)
    0.166666667
    """
    others = () if args is None else tuple_of(args)
    bounds = [item if callable(item) else _constantly(item) for item in ranges]
    settings = (
        opts if isinstance(opts, list | tuple) else [{} if opts is None else opts] * len(bounds)
    )
    options = [item if callable(item) else _constantly(item) for item in settings]

    def integrand(k: int) -> Callable[..., Any]:
        return (lambda *outer: integral(k - 1, outer)[0]) if k else func

    def integral(k: int, outer: tuple[Any, ...]) -> Any:
        low, high = bounds[k](*outer)
        return quad(integrand(k), low, high, outer, **options[k](*outer))

    last = len(bounds) - 1
    ends = list(bounds[last](*others))
    if not holds_expr(ends) and without_tracing(integrand(last), 0.5, others):
        return _scipy.nquad(func, ranges, args, opts, full_output)
    refuse("nquad", full_output=full_output)
    return integral(last, others)


def _constantly(value: object) -> Callable[..., Any]:
    return lambda *_: value


def _surface(f: Any, *places: object) -> Any:
    """A limit of an inner integral: a function of the outer variables, or a number, which may be traced."""
    return f if holds_expr(f) or not callable(f) else f(*places)


def dblquad(
    func: Callable[..., Any],
    a: Array,
    b: Array,
    gfun: object,
    hfun: object,
    args: object = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """As `scipy.integrate.dblquad`; of traced values by `nquad`."""

    def of_y(x: Any, *_: object) -> tuple[Any, Any]:
        return _surface(gfun, x), _surface(hfun, x)

    return nquad(func, [of_y, (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any],
    a: Array,
    b: Array,
    gfun: object,
    hfun: object,
    qfun: object,
    rfun: object,
    args: object = (),
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> Any:
    """As `scipy.integrate.tplquad`; of traced values by `nquad`."""

    def of_z(y: Any, x: Any, *_: object) -> tuple[Any, Any]:
        return _surface(qfun, x, y), _surface(rfun, x, y)

    def of_y(x: Any, *_: object) -> tuple[Any, Any]:
        return _surface(gfun, x), _surface(hfun, x)

    return nquad(func, [of_z, of_y, (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


# -- quasi-Monte Carlo: points do not depend on values, also in the limits ------------------------
def qmc_quad(
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_estimates: int = 8,
    n_points: int = 1024,
    qrng: Any = None,
    log: bool = False,
) -> Any:
    """As `scipy.integrate.qmc_quad`, in the limits and in what the function
    captures.

    >>> import funcgrad as fg
    >>> def square(c):
    ...     return qmc_quad(lambda x: c * x[0] ** 2, [0.0], [1.0], n_points=512).integral
    >>> abs(fg.grad(square)(2.0) - 1 / 3) < 1e-2
    True
    """
    options = {"n_estimates": n_estimates, "n_points": n_points, "qrng": qrng, "log": log}
    low, high = [np.atleast_1d(real("qmc_quad", end)) for end in (a, b)]
    if not holds_expr([a, b]) and without_tracing(func, np.asarray(low), ()):
        return _scipy.qmc_quad(func, a, b, **options)
    refuse("qmc_quad", log=log)
    low, high = np.broadcast_arrays(low, high)
    engine = scipy.stats.qmc.Halton(low.shape[0]) if qrng is None else qrng
    called = on_arrays(func)
    first, last = np.minimum(low, high), np.maximum(low, high)
    share = np.prod(last - first) / n_points
    generators = _rng_spawn(engine.rng, n_estimates)
    estimates = []
    for generator in generators:
        points = engine.random(n_points).T
        estimates.append(np.sum(called((last - first)[:, None] * points + first[:, None])) * share)
        engine = type(engine)(seed=generator, **engine._init_quad)
    found = np.stack(estimates)
    error = np.std(found, ddof=1) / math.sqrt(n_estimates)
    return QMCQuadResult(np.mean(found) * np.prod(np.sign(high - low)), error)


# -- differential equations ---------------------------------------------------------------------------------
@with_places_of(_scipy.odeint, traces_settings=True)
def odeint(
    func: Callable[..., Any],
    y0: ArrayLike,
    t: ArrayLike,
    args: object = (),
    tfirst: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    **options: object,
) -> Any:
    """As `scipy.integrate.odeint`; with traced values by `funcgrad.odeint`."""
    args = tuple_of(args)

    def ordered(y: Array, t: Array, *args: object) -> Any:
        return func(t, y, *args) if tfirst else func(y, t, *args)

    if not holds_expr(t) and without_tracing(ordered, y0, (0.0, *args)):
        own = settings_by_value({"rtol": rtol, "atol": atol, **options})
        return _scipy.odeint(func, y0, t, args, tfirst=tfirst, **own)
    refuse("odeint", full_output=options.get("full_output"))
    tolerances: Any = {k: v for k, v in (("rtol", rtol), ("atol", atol)) if v is not None}

    def slope(y: Array, t: Array, *args: object) -> Any:
        found = ordered(y, t, *args)
        return np.stack(found) if isinstance(found, list | tuple) else found

    return _odeint(slope, np.atleast_1d(real("odeint", y0)), t, *args, **tolerances)


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: ArrayLike,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """As `scipy.integrate.solve_ivp`; with traced values by `funcgrad.solve_ivp`:
    for "DOP853" with the method "RK45", for "Radau", "BDF" and "LSODA" with
    "Rodas5P", whose Jacobian is exact.
    """
    given = () if args is None else tuple(args)

    def is_plain(f: Callable[..., Any]) -> bool:
        return without_tracing(lambda y, t, *args: f(t, y, *args), y0, (0.0, *given))

    watched = (events,) if callable(events) else events or ()
    if not holds_expr([*t_span, t_eval]) and all(map(is_plain, [fun, *watched])):
        own = settings_by_value(options)
        return _scipy.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **own
        )

    def slope(t: Array, y: Array, *args: object) -> Any:
        found = fun(t, y, *args)
        return np.stack(found) if isinstance(found, list | tuple) else found

    start = np.atleast_1d(number("solve_ivp", y0))
    name = getattr(method, "__name__", method)
    own = _METHODS.get(name, name)
    kept = {key: value for key, value in options.items() if key in _OF_ALL_METHODS}
    found = _solve_ivp(
        slope, t_span, start, own, t_eval, dense_output, events, vectorized, args, **kept
    )
    known = _OF_ALL_METHODS | _OF_IMPLICIT_METHODS
    others = ", ".join([f"`{key}`" for key in options if key not in known])
    if others:
        warn(f"The following arguments have no effect for a chosen solver: {others}.")
    return found


_METHODS = {"DOP853": "RK45", "Radau": "Rodas5P", "BDF": "Rodas5P", "LSODA": "Rodas5P"}
"""For SciPy's methods those of the same kind."""
_OF_ALL_METHODS = frozenset(("rtol", "atol", "first_step", "max_step"))
_OF_IMPLICIT_METHODS = frozenset(("jac", "jac_sparsity", "lband", "uband", "min_step"))
"""The options of SciPy's implicit methods."""

__getattr__ = partial(attribute_of, _scipy)


_TOLERANCE = 1.49012e-8
"""That of `odeint`, which SciPy's `ode` has greater by itself."""


def advance(self: Any, t: Any, step: bool = False, relax: bool = False) -> Any:
    """As `scipy.integrate.ode.integrate`, by the method of `odeint`."""

    def slope(y: object, t: object) -> Any:
        return self.f(t, y, *self.f_params)

    known = not holds_expr([self._y, self.t, t, *self.f_params])
    if known and without_tracing(slope, self._y, (self.t,)):
        return _scipy.ode.integrate(self, t, step, relax)
    by = self._integrator
    refuse("ode.integrate", step=step, relax=relax, set_solout=getattr(by, "solout", None))
    tighter: Any = {
        k: v for k in ("rtol", "atol") if np.all((v := getattr(by, k, 1.0)) < _TOLERANCE)
    }
    times = np.stack([self.t, t])
    if np.iscomplexobj(self._y):
        found = odeint(_in_parts(slope), _parts(self._y), times, **tighter)[-1]
        self._y = _joined(found)
    else:
        self._y = odeint(slope, self._y, times, **tighter)[-1]
    self.t = t
    return self._y


def _in_parts(slope: Callable[..., Any]) -> Callable[..., Any]:
    """The slope of a complex state, as one of the real parts of its entries and their imaginary parts."""

    def in_parts(y: Array, t: object) -> Any:
        return _parts(number("ode.integrate", slope(_joined(y), t)))

    return in_parts


def _parts(y: Array) -> Any:
    return np.concatenate([np.real(y), np.imag(y)])


def _joined(parts: Array) -> Any:
    count = len(parts) // 2
    return parts[:count] + 1j * parts[count:]


def one_step(self: Any) -> Any:
    """As `scipy.integrate.OdeSolver.step`, on plain numbers.

    Its steps have a size that suits the state: their derivative may be anything, as at an equilibrium.
    """
    if holds_expr([self.t, self.y, getattr(self, "f", None)]):
        name = type(self).__name__
        raise type_error(
            f"scipy.integrate.{name}.step: expected plain numbers, since derivatives of these steps need not "
            f"be those of the solution, but got traced values; write solve_ivp(fun, (t0, t_bound), y0, "
            f"method={name!r}), or with fg.solve_ivp one of its methods",
        )
    return _scipy.OdeSolver.step(self)
