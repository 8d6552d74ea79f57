"""Distributions with SciPy's methods: location, scale, support and invalid parameters, once for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial, wraps
from types import MethodType
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr.concrete import value_at_trace
from funcgrad.expr.registry import functions
from funcgrad.ops.numpy.call_templates import answer_by_template
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real
from funcgrad.scipy.host_call import host_value
from funcgrad.scipy.stats.expectations import (
    INTEGRALS,
    expect_by_quadrature,
    has_formula,
    moment,
    over_integers,
    over_support,
    stats,
)
from funcgrad.scipy.stats.likelihood import (
    FITTED_BY_FORMULAS,
    censored_maximum_likelihood,
    censored_parts,
    is_censored,
    maximum_likelihood,
)
from funcgrad.scipy.stats.quantile_newton import polished
from funcgrad.scipy.stats.standard import ENDS, UNDERFLOW, Formula, Standard, completed, whole_line
from funcgrad.source import type_error, value_error, with_name
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import elementwise_grad, stop_gradient
from funcgrad.typing import Array, ArrayLike

_Method = Callable[..., Any]


def _both(first: Any, second: Any) -> Any:
    """Both conditions; one that holds for all entries is left out."""
    for one, other in ((first, second), (second, first)):
        if not holds_expr(one) and np.ndim(one) == 0 and one:
            return other
    return np.logical_and(first, second)


def _checked(value: Any, valid: Any, x: Any) -> Any:
    """The value, and nan for invalid parameters and where x is nan."""
    return np.where(_both(valid, np.logical_not(np.isnan(x))), value, np.nan)


def _inner_point(a: Any, b: Any) -> Any:
    """A point of the support, which stands for those outside, where functions and slopes may be NaN."""
    low = np.where(np.isfinite(a), a, np.where(np.isfinite(b), b - 2.0, -1.0))
    high = np.where(np.isfinite(b), b, low + 2.0)
    return low + (high - low) / 2


def _method(name: str) -> _Method:
    def answer(of: tuple[Distribution, str], args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        distribution = of[0]
        own = getattr(distribution.own, name)
        if not holds_expr([*args, *kwds.values()]):
            return own(*args, **kwds)
        x, *given = args
        return distribution.traced(name, x, *distribution.own._parse_args(*given, **kwds))

    def method(self: Distribution, x: ArrayLike, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        return answer_by_template((self, name), (x, *args), kwds, answer)

    return with_name(method, name, f"As SciPy's method `{name}`.")


def _standard_method(name: str) -> _Method:
    def method(self: Distribution, x: ArrayLike, *shapes: ArrayLike, **named: ArrayLike) -> Any:
        if not holds_expr([x, *shapes, *named.values()]):
            return getattr(self.own, f"_{name}")(x, *shapes, **named)
        if named:  # as distributions that `make_distribution` makes call it
            shapes = (*shapes, *[named[key] for key in str(self.own.shapes).split(", ")])
        found = self.traced(name, x, shapes, 0)
        if name in ("ppf", "isf"):
            return found
        a, b = self.standard.support(*[real(f"{self.name}._{name}", item) for item in shapes])
        for end, outside in ((a, x < a), (b, x > b)):
            found = found if _all_infinite(end) else np.where(outside, np.nan, found)
        return found

    doc = f"""As SciPy's method `_{name}`, that of the standard distribution in its support.

    Traced values outside the support, where SciPy's formula does not hold, give NaN.
    """
    return with_name(method, f"_{name}", doc)


def _all_infinite(end: Any) -> bool:
    return not holds_expr(end) and bool(np.all(np.isinf(end)))


def _frozen_method(name: str) -> _Method:
    def method(self: Frozen, *x: ArrayLike) -> Any:
        return getattr(self.distribution, name)(*x, *self.args, **self.kwds)

    return with_name(method, name, f"As SciPy's method `{name}`.")


_TRACED = (
    "pdf, logpdf, pmf, logpmf, cdf, logcdf, sf, logsf, ppf, isf, median, interval, mean, var and std take "
    "traced values, as does rvs of continuous distributions, and entropy a traced loc and scale"
)


def _moment(name: str, moved: Callable[[Any, Any, Any], Any]) -> _Method:
    """A method without x, by its value for the standard distribution with these shapes, and loc and scale."""

    def method(self: Distribution, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        own = getattr(self.own, name)
        if not holds_expr([*args, *kwds.values()]):
            return own(*args, **kwds)
        who = f"{self.name}.{name}"
        shapes, *placed = self.own._parse_args(*args, **kwds)
        is_traced = holds_expr(list(shapes))
        formula = self.standard.entropy if name == "entropy" else None
        if is_traced and formula is None:
            if has_formula(self.own, name):
                try:
                    return self.by_scipys_code(name)(*args, **kwds)
                except TypeError:  # compiled code
                    if self.name in INTEGRALS:
                        raise
            formula = partial(moment, self, name)
        loc, scale = np.broadcast_arrays(*[real(who, item) for item in (*placed, 1)][:2])
        with np.errstate(all="ignore"):
            if is_traced and formula is not None:
                given = [real(who, shape) for shape in shapes]
                inside = np.logical_and(scale > 0, self.standard.valid(*given))
                return np.where(inside, moved(formula(*given), loc, scale), np.nan)
            return np.where(scale > 0, moved(own(*shapes), loc, scale), np.nan)

    return with_name(method, name, f"As SciPy's method `{name}`.")


class Distribution:
    """A distribution of SciPy's, whose methods take traced values.

    Those without a formula are SciPy's own code, of ``own``.
    """

    def __init__(self, name: str, standard: Standard) -> None:
        self.own = getattr(_scipy, name)
        self.name = name
        self.standard = completed(standard)
        self.__doc__ = f"As `scipy.stats.{name}`."

    def __repr__(self) -> str:
        return f"<funcgrad.scipy.stats.{self.name}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.own, name)
        return self.by_scipys_code(name) if callable(found) else found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.own)})

    @cached_property
    def adoptable(self) -> Any:
        """SciPy's distribution as another object, for which this one does not stand in."""
        made = copy(self.own)
        for name in self.functions:
            setattr(made, name, getattr(self, name))
        if self.standard.stats is not None:
            made._stats = partial(stats, self)
        return made

    functions: Sequence[str] = ()
    """Functions of this class that SciPy's code calls in the place of compiled ones."""

    def by_scipys_code(self, name: str) -> _Method:
        """A method of SciPy's, whose code is adopted for traced values.

        It is bound to the distribution, as SciPy's own is where a class has it as an attribute.
        """
        own = getattr(self.own, name)

        @wraps(own)
        def method(_: Distribution, /, *args: object, **kwds: object) -> Any:
            if not holds_expr([*args, *kwds.values()]):
                return own(*args, **kwds)
            try:
                return functions["call_adopted"](getattr(self.adoptable, name), args, kwds)
            except TypeError as error:
                if "\n  at " not in str(error):  # no refusal of a traced value
                    raise
                raise type_error(
                    f"{self.name}.{name}: expected plain values, since SciPy computes it in compiled code, "
                    "but got traced ones; integrate the density by scipy.integrate.quad, or sum the masses; "
                    f"{_TRACED}",
                ) from error

        return MethodType(method, self)

    def __call__(self, *args: ArrayLike, **kwds: ArrayLike) -> Frozen:
        """The distribution with the given parameters, as SciPy's `freeze`."""
        return Frozen(self, args, kwds)

    freeze = __call__
    cdf, sf = _method("cdf"), _method("sf")
    logcdf, logsf = _method("logcdf"), _method("logsf")
    ppf, isf = _method("ppf"), _method("isf")
    mean = _moment("mean", lambda z, loc, scale: loc + scale * z)
    var = _moment("var", lambda z, loc, scale: scale**2 * z)
    std = _moment("std", lambda z, loc, scale: scale * z)
    entropy = _moment("entropy", lambda z, loc, scale: z + np.log(scale))

    def median(self, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        """As SciPy's method `median`."""
        return self.ppf(0.5, *args, **kwds)

    def interval(self, confidence: Any, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        """As SciPy's method `interval`."""
        if not holds_expr([confidence, *args, *kwds.values()]):
            return self.own.interval(confidence, *args, **kwds)
        share = real(f"{self.name}.interval", confidence)
        outside = np.logical_or(share < 0, share > 1)
        if not holds_expr(outside) and np.any(outside):
            raise value_error(
                f"{self.name}.interval: expected a confidence from 0 to 1, but got {confidence!r}",
            )
        tail = np.where(outside, np.nan, (1.0 - share) / 2)
        return self.ppf(tail, *args, **kwds), self.ppf(1.0 - tail, *args, **kwds)

    def traced(
        self,
        name: str,
        x: ArrayLike,
        shapes: tuple[ArrayLike, ...],
        loc: ArrayLike,
        scale: ArrayLike = 1,
    ) -> Any:
        """The method of this name for traced arguments."""
        who = f"{self.name}.{name}"
        y, shift, size, *given = [real(who, item) for item in (x, loc, scale, *shapes)]
        valid = _both(self.standard.valid(*given), size > 0)
        with np.errstate(all="ignore"):  # of plain parameters, as in programs that run
            found = self.formula(name)(y, shift, size, valid, *given)
        if name not in self.standard.hosted:
            return found
        named = {"x": x, "loc": loc, "scale": scale}
        named |= {f"shape{k}": item for k, item in enumerate(shapes)}
        return host_value(_host(self.own, self.name, name), named, found)

    def formula(self, name: str) -> _Method:
        """The function of x or q, loc, scale, the validity of parameters, and the shapes."""
        if name in ("ppf", "isf"):
            return self._quantile(name)
        return self._cumulative(name)

    def standardized(self, x: Array, loc: Array, scale: Array) -> Any:
        """The argument of the standard distribution."""
        return (x - loc) / scale

    def begun(self, y: Array, a: Array) -> Any:
        """Whether y is past the values that the cumulative functions have below the support."""
        return y > a

    def _log_density(self, y: Array, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
        """Where y is in the support, and the log density there; elsewhere it has no derivative."""
        a, b = self.standard.support(*shapes)
        held = np.logical_and(np.logical_and(y >= a, y <= b), np.isfinite(y))
        return held, self.standard.density(np.where(held, y, _inner_point(a, b)), *shapes)

    def _cumulative(self, name: str) -> _Method:
        function = getattr(self.standard, name)
        low, high = ENDS[name]

        def cumulative(x: Array, loc: Array, scale: Array, valid: Array, *shapes: Array) -> Any:
            y = self.standardized(x, loc, scale)
            a, b = self.standard.support(*shapes)
            inside = np.logical_and(self.begun(y, a), y < b)
            found = function(np.where(inside, y, _inner_point(a, b)), *shapes)
            value = np.where(inside, found, np.where(y >= b, high, low))
            return _checked(value, valid, y)

        return cumulative

    def _quantile(self, name: str) -> _Method:
        function = getattr(self.standard, name) or self.inverse[name]

        def quantile(q: Array, loc: Array, scale: Array, valid: Array, *shapes: Array) -> Any:
            a, b = self.standard.support(*shapes)
            first, last = (a, b) if name == "ppf" else (b, a)
            inside = np.logical_and(q > 0, q < 1)
            ends = np.where(q == 0, first, np.where(q == 1, last, np.nan))
            # An infinite end has no derivative in loc and scale.
            value = np.where(inside, function(q, *shapes), np.where(np.isfinite(ends), ends, 0.0))
            moved = value * scale + loc
            return _checked(
                np.where(np.logical_or(inside, np.isfinite(ends)), moved, ends), valid, q
            )

        return quantile

    @cached_property
    def inverse(self) -> dict[str, Formula]:
        """SciPy's `ppf` and `isf` of the standard distribution, with derivatives by the implicit function
        theorem: F(x, shapes) = q gives dx = (dq - dF/dshapes dshapes)/f(x, shapes)."""
        return {"ppf": self._implicit("ppf", "cdf", 1.0), "isf": self._implicit("isf", "sf", -1.0)}

    def _implicit(self, name: str, function: str, sign: float) -> Formula:
        own = getattr(self.own, name)

        def reciprocal(x: Array, shapes: tuple[Any, ...]) -> Any:
            return sign * np.exp(-self.standard.density(x, *shapes))

        def in_q(q: Array, *shapes: Array) -> Any:
            return reciprocal(exact(q, *shapes), shapes)

        def in_shape(place: int) -> Formula:
            slope = elementwise_grad(getattr(self.standard, function), argnums=place + 1)

            def partial_slope(q: Array, *shapes: Array) -> Any:
                x = exact(q, *shapes)
                return -slope(x, *shapes) * reciprocal(x, shapes)

            return partial_slope

        partials = [in_q, *[in_shape(place) for place in range(self.own.numargs)]]
        run = partial(polished, own, self.standard, name == "isf")
        exact = primitive(run, partials, name=f"{self.name}_{name}_polished")
        return primitive(own, partials, name=f"{self.name}_{name}")


class Continuous(Distribution):
    """A continuous distribution: densities, and a scale."""

    pdf, logpdf = _method("pdf"), _method("logpdf")
    # Code that needs no checks of arguments calls these, as SciPy's own does.
    _pdf, _logpdf = _standard_method("pdf"), _standard_method("logpdf")
    _cdf, _logcdf = _standard_method("cdf"), _standard_method("logcdf")
    _sf, _logsf = _standard_method("sf"), _standard_method("logsf")
    _ppf, _isf = _standard_method("ppf"), _standard_method("isf")

    def rvs(self, *args: Any, random_state: Any = None, **kwds: Any) -> Any:
        """As SciPy's method: draws that move with their quantiles as the parameters change.

        This is the reparameterization trick (Kingma and Welling, 2014; for shapes, Figurnov, Mohamed and
        Mnih, 2018). The draws are SciPy's, to rounding where a shape is traced.
        """
        if not holds_expr([*args, *kwds.values()]):
            return self.own.rvs(*args, random_state=random_state, **kwds)
        who = f"{self.name}.rvs"
        shapes, loc, scale, size = self.own._parse_args_rvs(*unwrapped(args), **unwrapped(kwds))
        held = [value_at_trace(shape, who) for shape in shapes]
        if not np.all(np.asarray(value_at_trace(scale, who)) >= 0):
            raise ValueError(
                f"Domain error in arguments: {self.name} has a scale that is not negative."
            )
        unplaced = np.zeros(np.shape(loc)), np.ones(np.shape(scale))
        drawn = self.own.rvs(*held, *unplaced, size=size, random_state=random_state)
        if holds_expr(list(shapes)):
            below, above = self.own.cdf(drawn, *held), self.own.sf(drawn, *held)
            lower = self.traced("ppf", np.minimum(below, 0.5), shapes, 0)
            upper = self.traced("isf", np.minimum(above, 0.5), shapes, 0)
            drawn = np.where(below < 0.5, lower, upper)
        return drawn * real(who, scale) + real(who, loc)

    expect = expect_by_quadrature

    def expectation(self, function: _Method, shapes: Sequence[Any]) -> Any:
        """The expectation of function(y, log(density(y))) under the standard distribution."""
        return over_support(self, function, shapes)

    def nnlf(self, theta: Sequence[ArrayLike], x: ArrayLike) -> Any:
        """As SciPy's method: the negative logarithm of the likelihood of data x."""
        if not holds_expr([*theta, x]):
            return self.own.nnlf(theta, x)
        return -np.sum(self.logpdf(x, *theta))

    def fit(self, data: ArrayLike, *args: ArrayLike, **kwds: Any) -> Any:
        """As SciPy's method: the likeliest parameters, in the data and in parameters that are fixed."""
        if is_censored(data) and holds_expr([*censored_parts(data), *args, *kwds.values()]):
            return censored_maximum_likelihood(self, data, args, kwds)
        if not holds_expr([data, *args, *kwds.values()]):
            return self.own.fit(data, *args, **kwds)
        if self.name in FITTED_BY_FORMULAS:
            return self.by_scipys_code("fit")(data, *args, **kwds)
        return maximum_likelihood(self.own, self.nnlf, real(f"{self.name}.fit", data), args, kwds)

    def formula(self, name: str) -> _Method:
        """As `Distribution.formula`."""
        if name not in ("pdf", "logpdf"):
            return super().formula(name)

        def density(x: Array, loc: Array, scale: Array, valid: Array, *shapes: Array) -> Any:
            y = self.standardized(x, loc, scale)
            held, log = self._log_density(y, shapes)
            log = log - np.log(scale)
            if name == "logpdf" and self.standard.support is whole_line:  # -inf by overflow alone
                return _checked(np.where(held, log, -np.inf), valid, y)
            # Where the density underflows, its slope is 0, also if that of its logarithm overflows.
            least = -np.inf if name == "logpdf" else UNDERFLOW
            value = np.where(np.logical_and(held, log > least), log, -np.inf)
            return _checked(value if name == "logpdf" else np.exp(value), valid, y)

        return density


class Discrete(Distribution):
    """A distribution on integers: probability masses. The derivatives in x, q and loc are zero."""

    pmf, logpmf = _method("pmf"), _method("logpmf")
    # SciPy's code of expectations calls these.
    _pmf, _cdf = _standard_method("pmf"), _standard_method("cdf")
    _sf, _ppf = _standard_method("sf"), _standard_method("ppf")
    functions = ("_pmf", "_cdf", "_sf", "_ppf")

    def expectation(self, function: _Method, shapes: Sequence[Any]) -> Any:
        """As `Continuous.expectation`, by the mass."""
        return over_integers(self, function, shapes)

    def standardized(self, x: Array, loc: Array, scale: Array) -> Any:
        """As `Distribution.standardized`: the integer below."""
        return np.floor(x - loc)

    def begun(self, y: Array, a: Array) -> Any:
        """As `Distribution.begun`."""
        return y >= a

    def formula(self, name: str) -> _Method:
        """As `Distribution.formula`."""
        if name not in ("pmf", "logpmf"):
            return super().formula(name)

        def mass(x: Array, loc: Array, scale: Array, valid: Array, *shapes: Array) -> Any:
            k = self.standardized(x, loc, scale)
            held, log = self._log_density(k, shapes)
            held = np.logical_and(held, k == x - loc)
            value = np.where(np.logical_and(held, log > -np.inf), log, -np.inf)
            if name == "logpmf":
                return _checked(value, valid, k)
            value = np.exp(value)
            if self.standard.exact is not None:  # it has the derivatives of the exponential
                exact = self.standard.exact(np.where(held, k, 0.0), *shapes)
                known = np.logical_and(value > 0, exact > 1e-290)
                digits = exact / np.where(known, value, 1.0)
                value = value * stop_gradient(np.where(known, digits, 1.0))
            product, edge = self.standard.mass, self.standard.edge
            if product is not None and edge is not None:
                at_edge = np.logical_and(held, edge(*shapes))
                value = np.where(at_edge, product(k, *shapes), value)
            return _checked(value, valid, k)

        return mass

    def _quantile(self, name: str) -> _Method:
        zero: Formula = lambda *args: 0.0  # noqa: E731
        found = primitive(
            getattr(self.own, name), [zero] * (1 + self.own.numargs), name=f"{self.name}_{name}"
        )

        def quantile(q: Array, loc: Array, scale: Array, valid: Array, *shapes: Array) -> Any:
            return found(q, *shapes) + loc

        return quantile


class Frozen:
    """A distribution with its parameters, as `scipy.stats.rv_frozen`."""

    def __init__(
        self, distribution: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]
    ) -> None:
        self.distribution, self.args, self.kwds = distribution, args, kwds

    def __repr__(self) -> str:
        return f"<frozen {self.distribution!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'Frozen' object has no attribute {name!r}")
        if not holds_expr([*self.args, *self.kwds.values()]):
            return getattr(self.distribution.own(*self.args, **self.kwds), name)
        frozen = functions["call_adopted"](self.distribution.adoptable, self.args, self.kwds)
        found = getattr(frozen, name)
        if not callable(found):
            return found
        return lambda *args, **kwds: functions["call_adopted"](found, args, kwds)

    pdf, logpdf = _frozen_method("pdf"), _frozen_method("logpdf")
    pmf, logpmf = _frozen_method("pmf"), _frozen_method("logpmf")
    cdf, sf = _frozen_method("cdf"), _frozen_method("sf")
    logcdf, logsf = _frozen_method("logcdf"), _frozen_method("logsf")
    ppf, isf = _frozen_method("ppf"), _frozen_method("isf")
    mean, var, std = _frozen_method("mean"), _frozen_method("var"), _frozen_method("std")
    entropy, median = _frozen_method("entropy"), _frozen_method("median")
    interval = _frozen_method("interval")
    moment, support = _frozen_method("moment"), _frozen_method("support")

    def expect(self, func: _Method | None = None, **options: Any) -> Any:
        """As SciPy's method `expect`."""
        shapes, *placed = self.distribution.own._parse_args(*self.args, **self.kwds)
        names = ("loc", "scale")[: 1 if isinstance(self.distribution, Discrete) else 2]
        options = dict(zip(names, placed, strict=False)) | options
        return self.distribution.expect(func, args=shapes, **options)

    def stats(self, moments: str = "mv") -> Any:
        """As SciPy's method `stats`."""
        return self.distribution.stats(*self.args, moments=moments, **self.kwds)

    def rvs(self, size: object = None, random_state: object = None) -> Any:
        """As SciPy's method `rvs`."""
        kwds = self.kwds | {"size": size, "random_state": random_state}
        return self.distribution.rvs(*self.args, **kwds)


@lru_cache(maxsize=512)
def _host(own: Any, who: str, name: str) -> _Method:
    """SciPy's method of arguments by name; a discrete distribution has no scale."""
    method, is_discrete = getattr(own, name), hasattr(own, "pmf")

    def host(x: Array, loc: Array, scale: Array, **shapes: Array) -> Any:
        if is_discrete:
            return method(x, *shapes.values(), loc=loc)
        return method(x, *shapes.values(), loc=loc, scale=scale)

    return with_name(host, f"{who}.{name}")
