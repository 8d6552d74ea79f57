"""Draws of random numbers as functions of their distribution's parameters: the reparameterization trick.

A draw is a formula of the parameters and of numbers that do not depend on them, which gives its pathwise
derivative (Kingma and Welling, 2014). The numbers are those that NumPy draws from the same bits. A family
without such a formula, such as the gamma distribution, has its quantile function at the probability of
NumPy's draw: the implicit reparameterization of Figurnov, Mohamed and Mnih (2018). Those values are NumPy's
to rounding.

Each function takes ``draw``, which calls a method of NumPy's generator by its name, and the arguments of
NumPy's method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value, known_value, value_at_trace
from funcgrad.expr.registry import functions
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.source import type_error
from funcgrad.typing import Array, ArrayLike

_Draw: TypeAlias = Callable[..., Any]
_Size: TypeAlias = "int | tuple[int, ...] | None"


# -- arguments -----------------------------------------------------------------------------------
def _lengths(size: _Size, *parameters: ArrayLike) -> tuple[int, ...] | None:
    """The shape of the draws for an argument ``size``; None for a number."""
    given = np.broadcast_shapes(*[np.shape(parameter) for parameter in parameters])
    if size is None:
        return given or None
    wanted = tuple(map(index, size)) if isinstance(size, tuple | list) else (index(size),)
    if np.broadcast_shapes(given, wanted) != wanted:
        raise ValueError(
            f"Output size {wanted} is not compatible with broadcast dimensions of inputs {given}."
        )
    return wanted


def _scale(name: str, value: ArrayLike) -> Any:
    """A parameter that may not be negative, as NumPy requires; NaN where it is in a later run."""
    known = _known(value)
    if known is not None and np.any(np.signbit(known)):
        raise ValueError(f"{name} < 0")
    return np.where(np.less(value, 0), np.nan, value)


def _positive(name: str, value: ArrayLike) -> Any:
    """A parameter that may not be zero or negative; NaN where it is in a later run."""
    known = _known(value)
    if known is not None and np.any(np.less_equal(known, 0)):
        raise ValueError(f"{name} <= 0")
    return np.where(np.less_equal(value, 0), np.nan, value)


def _known(value: ArrayLike) -> Any:
    plain = unwrapped(value)
    return known_value(plain) if isinstance(plain, Expr) else plain


def _held(value: ArrayLike, asker: str) -> Any:
    """The value of a parameter at this call, from which a probability is computed that stays the same."""
    return value_at_trace(unwrapped(value), asker)


# -- formulas of standard draws ------------------------------------------------------------------
def _normal(
    draw: _Draw, loc: ArrayLike = 0.0, scale: float | Array = 1.0, size: _Size = None
) -> Any:
    return loc + _scale("scale", scale) * draw("standard_normal", _lengths(size, loc, scale))


def _lognormal(
    draw: _Draw, mean: ArrayLike = 0.0, sigma: float | Array = 1.0, size: _Size = None
) -> Any:
    return np.exp(_normal(draw, mean, _scale("sigma", sigma), size))


def _uniform(
    draw: _Draw, low: float | Array = 0.0, high: float | Array = 1.0, size: _Size = None
) -> Any:
    width = high - low
    known = _known(width)
    if known is not None and not np.all(np.isfinite(known)):
        raise OverflowError("high - low range exceeds valid bounds")
    if draw("is_generator"):  # legacy generators draw downwards
        width = _scale("high - low", width)
    return low + width * draw("random", _lengths(size, low, high))


def _exponential(draw: _Draw, scale: float | Array = 1.0, size: _Size = None) -> Any:
    return _scale("scale", scale) * draw("standard_exponential", _lengths(size, scale))


def _rayleigh(draw: _Draw, scale: float | Array = 1.0, size: _Size = None) -> Any:
    return _scale("scale", scale) * draw("rayleigh", 1.0, _lengths(size, scale))


def _of_location_and_scale(name: str) -> Callable[..., Any]:
    def drawn(
        draw: _Draw, loc: ArrayLike = 0.0, scale: float | Array = 1.0, size: _Size = None
    ) -> Any:
        return loc + _scale("scale", scale) * draw(name, 0.0, 1.0, _lengths(size, loc, scale))

    return drawn


def _weibull(draw: _Draw, a: Array, size: _Size = None) -> Any:
    # A shape of 0 has the draw 0, as NumPy's; its limit would be 0 or infinite.
    drawn, moves = draw("standard_exponential", _lengths(size, a)), np.not_equal(a, 0)
    return np.where(moves, drawn ** (1 / np.where(moves, _scale("a", a), 1.0)), 0.0)


def _pareto(draw: _Draw, a: Array, size: _Size = None) -> Any:
    exponent = draw("standard_exponential", _lengths(size, a)) / _positive("a", a)
    return np.expm1(exponent) if draw("is_generator") else np.exp(exponent) - 1


def _power(draw: _Draw, a: Array, size: _Size = None) -> Any:
    return (-np.expm1(-draw("standard_exponential", _lengths(size, a)))) ** (1 / _positive("a", a))


def _triangular(draw: _Draw, left: Array, mode: Array, right: Array, size: _Size = None) -> Any:
    rises, width = _scale("mode - left", mode - left), _positive("right - left", right - left)
    falls = _scale("right - mode", np.where(np.isnan(rises), np.nan, right - mode))
    u = draw("random", _lengths(size, left, mode, right))
    is_left = u <= rises / width
    # Of the other entries the roots are of 1, whose derivative is a number.
    below = left + np.sqrt(np.where(is_left, u * (rises * width), 1.0))
    above = right - np.sqrt(np.where(is_left, 1.0, (1 - u) * (falls * width)))
    return np.where(is_left, below, above)


def _vonmises(draw: _Draw, mu: Array, kappa: ArrayLike, size: _Size = None) -> Any:
    _refuse_varied("vonmises", kappa)
    around = draw("vonmises", 0.0, _held(kappa, "vonmises"), _lengths(size, mu, kappa))
    return np.mod(mu + around + np.pi, 2 * np.pi) - np.pi


# -- quantiles -----------------------------------------------------------------------------------
def _standard_gamma(draw: _Draw, shape: ArrayLike, size: _Size = None, **options: Any) -> Any:
    special = scipy_special("standard_gamma")
    held = _held(shape, "standard_gamma")
    drawn = draw("standard_gamma", held, _lengths(size, shape), **options)
    if not isinstance(unwrapped(shape), Expr):
        return drawn
    # A draw that underflows or overflows has no quantile, and no derivative.
    moves = (drawn > 0) & np.isfinite(drawn)
    shape = np.where(moves, shape, 1.0)
    below, above = special.gammainc(held, drawn), special.gammaincc(held, drawn)
    lower = special.gammaincinv(shape, np.minimum(below, 0.5))
    upper = special.gammainccinv(shape, np.minimum(above, 0.5))
    return np.where(moves, np.where(below < 0.5, lower, upper), drawn)


def _gamma(draw: _Draw, shape: ArrayLike, scale: float | Array = 1.0, size: _Size = None) -> Any:
    return _scale("scale", scale) * _standard_gamma(draw, shape, _lengths(size, shape, scale))


def _chisquare(draw: _Draw, df: Array, size: _Size = None) -> Any:
    return 2.0 * _standard_gamma(draw, df / 2, size)


def _dirichlet(draw: _Draw, alpha: Array, size: _Size = None) -> Any:
    if np.max(_held(alpha, "dirichlet")) < 0.1:
        raise type_error(
            "dirichlet: expected an alpha of 0.1 or more, below which NumPy draws by another method, but got "
            "less; write g / g.sum(-1) with g = rng.standard_gamma(alpha)",
        )
    rows = () if size is None else _lengths(size) or ()
    parts = _standard_gamma(draw, alpha, (*rows, *np.shape(alpha)))
    return parts / np.sum(parts, axis=-1, keepdims=True)


def _beta_quantile(a: ArrayLike, b: ArrayLike, below: Array, above: Array) -> tuple[Any, Any]:
    """The quantile of a beta distribution and 1 minus it, by the smaller of two probabilities."""
    special = scipy_special("beta")
    x = special.betaincinv(a, b, np.minimum(below, 0.5))
    y = special.betaincinv(b, a, np.minimum(above, 0.5))
    is_lower = below < 0.5
    return np.where(is_lower, x, 1 - y), np.where(is_lower, 1 - x, y)


def _beta(draw: _Draw, a: ArrayLike, b: ArrayLike, size: _Size = None) -> Any:
    special = scipy_special("beta")
    held = _held(a, "beta"), _held(b, "beta")
    drawn = draw("beta", *held, _lengths(size, a, b))
    below, above = special.betainc(*held, drawn), special.betaincc(*held, drawn)
    return _beta_quantile(a, b, below, above)[0]


def _f(draw: _Draw, dfnum: Array, dfden: Array, size: _Size = None) -> Any:
    special = scipy_special("f")
    held = _held(dfnum, "f"), _held(dfden, "f")
    drawn = draw("f", *held, _lengths(size, dfnum, dfden))
    below, above = special.fdtr(*held, drawn), special.fdtrc(*held, drawn)
    x, y = _beta_quantile(dfnum / 2, dfden / 2, below, above)
    return dfden * x / (dfnum * y)


def _standard_t(draw: _Draw, df: ArrayLike, size: _Size = None) -> Any:
    special = scipy_special("standard_t")
    held = _held(df, "standard_t")
    drawn = draw("standard_t", held, _lengths(size, df))
    tail = special.stdtr(held, -np.abs(drawn))
    return -np.sign(drawn) * special.stdtrit(df, tail)


def _of_family(name: str, drawn: Array, held: Sequence[Array], shapes: Sequence[Array]) -> Any:
    """The quantile of a family of SciPy's, as a function of its shapes, at the probability of a draw."""
    from funcgrad.scipy import stats

    family = getattr(stats, name)
    below, above = family.own.cdf(drawn, *held), family.own.sf(drawn, *held)
    lower = family.ppf(np.minimum(below, 0.5), *shapes)
    return np.where(below < 0.5, lower, family.isf(np.minimum(above, 0.5), *shapes))


def _wald(draw: _Draw, mean: Array, scale: Array, size: _Size = None) -> Any:
    held = _held(_positive("mean", mean), "wald"), _held(_positive("scale", scale), "wald")
    drawn = draw("wald", *held, _lengths(size, mean, scale)) / held[1]
    return scale * _of_family("invgauss", drawn, [held[0] / held[1]], [mean / scale])


def _noncentral_chisquare(draw: _Draw, df: Array, nonc: Array, size: _Size = None) -> Any:
    held = [_held(df, "noncentral_chisquare"), _held(nonc, "noncentral_chisquare")]
    drawn = draw("noncentral_chisquare", *held, _lengths(size, df, nonc))
    return _of_family("ncx2", drawn, held, [df, nonc])


def _noncentral_f(draw: _Draw, dfnum: Array, dfden: Array, nonc: Array, size: _Size = None) -> Any:
    held = [_held(shape, "noncentral_f") for shape in (dfnum, dfden, nonc)]
    drawn = draw("noncentral_f", *held, _lengths(size, dfnum, dfden, nonc))
    return _of_family("ncf", drawn, held, [dfnum, dfden, nonc])


# -- vectors -------------------------------------------------------------------------------------
def _multivariate_normal(
    draw: _Draw,
    mean: ArrayLike,
    cov: Array,
    size: _Size = None,
    check_valid: str = "warn",
    tol: float = 1e-8,
    **method: str,
) -> Any:
    count = np.shape(mean)[-1]
    if not isinstance(unwrapped(cov), Expr):
        zeros = np.zeros(count)
        return mean + draw("multivariate_normal", zeros, cov, size, check_valid, tol, **method)
    standard = draw("standard_normal", (*(_lengths(size) or () if size is not None else ()), count))
    return mean + standard @ _factor(draw, cov, method.get("method", "svd")).T


def _factor(draw: _Draw, cov: Array, method: str) -> Any:
    """The matrix by which NumPy makes normal numbers with a covariance of independent ones."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        return vectors * np.sqrt(np.abs(values))
    u, values, vh = np.linalg.svd(cov)
    return (u if draw("is_generator") else vh.T) * np.sqrt(values)


# -- entries in another order --------------------------------------------------------------------
def _array(x: ArrayLike) -> Any:
    """An array of traced values, of a list as well."""
    return x if hasattr(x, "ndim") else functions["array"](unwrapped(x))


def _permutation(draw: _Draw, x: ArrayLike, axis: int = 0) -> Any:
    array = _array(x)
    return np.take(array, draw("permutation", array.shape[axis]), axis)


def _permuted(draw: _Draw, x: ArrayLike, *, axis: int | None = None, out: None = None) -> Any:
    array = _array(x)
    if out is not None:
        raise type_error("permuted: expected no out= for traced values; write x = rng.permuted(x)")
    if axis is None:
        return array.ravel()[draw("permuted", np.arange(array.size).reshape(array.shape))]
    along = np.moveaxis(
        np.broadcast_to(np.arange(array.shape[axis]), _last(array.shape, axis)), -1, axis
    )
    return np.take_along_axis(array, draw("permuted", along, axis=axis), axis)


def _last(lengths: tuple[int, ...], axis: int) -> tuple[int, ...]:
    axis %= len(lengths)
    return (*lengths[:axis], *lengths[axis + 1 :], lengths[axis])


def _choice(
    draw: _Draw,
    a: ArrayLike,
    size: _Size = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    **options: bool,
) -> Any:
    _refuse_varied("choice", p)
    array = _array(a)
    count = array.shape[axis] if array.ndim else plain_arguments("choice", a)
    weights = None if p is None else _held(p, "choice")
    chosen = draw("choice", count, size, replace, weights, **options)
    return np.take(array, chosen, axis) if array.ndim else chosen


# -- the table -----------------------------------------------------------------------------------
REPARAMETERIZED: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "beta": _beta,
        "chisquare": _chisquare,
        "choice": _choice,
        "dirichlet": _dirichlet,
        "exponential": _exponential,
        "f": _f,
        "gamma": _gamma,
        "gumbel": _of_location_and_scale("gumbel"),
        "laplace": _of_location_and_scale("laplace"),
        "logistic": _of_location_and_scale("logistic"),
        "lognormal": _lognormal,
        "multivariate_normal": _multivariate_normal,
        "noncentral_chisquare": _noncentral_chisquare,
        "noncentral_f": _noncentral_f,
        "normal": _normal,
        "pareto": _pareto,
        "permutation": _permutation,
        "permuted": _permuted,
        "power": _power,
        "rayleigh": _rayleigh,
        "standard_gamma": _standard_gamma,
        "standard_t": _standard_t,
        "triangular": _triangular,
        "uniform": _uniform,
        "vonmises": _vonmises,
        "wald": _wald,
        "weibull": _weibull,
    }
)


def plain_arguments(name: str, tree: Any) -> Any:
    """Arguments of draws that have no derivative, such as integers: the values of traced ones."""
    if isinstance(tree, list | tuple):
        return type(tree)([plain_arguments(name, item) for item in tree])
    if isinstance(tree, dict):
        return {key: plain_arguments(name, item) for key, item in tree.items()}
    _refuse_varied(name, tree)
    return concrete_value(unwrapped(tree), name)


def _refuse_varied(name: str, value: object) -> None:
    plain = unwrapped(value)
    if isinstance(plain, Expr) and functions["is_varied"](plain):
        raise type_error(
            f"{name}: expected parameters without a derivative, but got one that is being differentiated, in "
            "which a draw has no pathwise derivative; differentiate the logarithm of the draw's probability "
            "(the score function), or write fg.stop_gradient(x) if the derivative is meant to be zero",
        )
