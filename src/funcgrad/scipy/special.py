"""``scipy.special`` for traced values: its functions, with their partial derivatives.

Most are operations of the package (`funcgrad.ops.special`). Two tables have a row for each function whose
derivative is a formula of such functions: the partial derivative in each argument, None where there is no
formula. Other functions are compositions of NumPy's. All names that are not here lead to SciPy's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.ops import reduction
from funcgrad.ops.elementwise.exponential import sigmoid
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.gamma import multigammaln as _multigammaln
from funcgrad.ops.special.polygamma import digamma
from funcgrad.ops.special.special_stand_ins import STAND_INS
from funcgrad.source import fail
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array

Partial = Callable[..., Any]


# -- partial derivatives ---------------------------------------------------------------------
def _s(name: str, *args: Any) -> Any:
    """A function of this module, which the table below may name before it is made."""
    return function(name)(*args)


def _over(x: Array, numerator: Array, at_zero: float) -> Any:
    """A quotient by x with a limit at 0."""
    zero = x == 0
    return np.where(zero, at_zero, numerator / np.where(zero, 1.0, x))


# -- stable forms, where the formula of a derivative cancels ---------------------------------


def _carlson(m: Array) -> Any:
    """(K(m) - E(m))/m, in Carlson's form, which does not cancel at 0."""
    return primitive(lambda m: _scipy.elliprd(0, 1 - m, 1) / 3, [_carlson_slope], name="carlson")(m)


def _carlson_slope(m: Array) -> Any:
    small = np.abs(m) < 1e-4
    away = np.where(small, 0.5, m)
    series = math.pi * (3 / 32 + m * (15 / 128 + m * (525 / 4096 + m * 2205 / 16384)))
    formula = _s("ellipk", away) - (2 - away) * _carlson(away)
    return np.where(small, series, formula / (2 * away * (1 - away)))


def _incomplete(phi: Array, m: Array, power: float, formula: Callable[..., Any]) -> Any:
    """The integral of sin**2*(1 - m sin**2)**power up to phi, halved: by a formula but near m = 0."""
    small = np.abs(m) < 1e-6
    second = phi / 2 - np.sin(2 * phi) / 4
    fourth = 3 * phi / 8 - np.sin(2 * phi) / 4 + np.sin(4 * phi) / 32
    away = formula(phi, np.where(small, 0.5, m))
    return np.where(small, (second - power * m * fourth) / 2, away)


def _neighbors(name: str, left: float, right: float) -> Partial:
    """The derivative of a Bessel function in x, from those of the next orders."""

    def partial(v: Array, x: Array) -> Any:
        return (left * _s(name, v - 1, x) + right * _s(name, v + 1, x)) / 2

    return partial


def _slope(n: Array, factor: Array | float, name: str, *args: Any) -> Any:
    """The derivative of an orthogonal polynomial of degree n: a multiple of one of degree n - 1."""
    return np.where(n >= 1, factor * _s(name, np.maximum(n - 1, 0), *args), 0.0)


_ONE: Mapping[str, Partial] = {
    "ellipe": lambda m: -_carlson(m) / 2,
    "ellipk": lambda m: (_s("ellipk", m) - _carlson(m)) / (2 * (1 - m)),
    "exp1": lambda x: -np.exp(-x) / x,
    "expi": lambda x: np.exp(x) / x,
    "i0": lambda x: _s("i1", x),
    "i0e": lambda x: _s("i1e", x) - np.sign(x) * _s("i0e", x),
    "i1": lambda x: (_s("i0", x) + _s("iv", 2.0, x)) / 2,
    "i1e": lambda x: (_s("i0e", x) + _s("ive", 2.0, x)) / 2 - np.sign(x) * _s("i1e", x),
    "j0": lambda x: -_s("j1", x),
    "j1": lambda x: (_s("j0", x) - _s("jv", 2.0, x)) / 2,
    "k0": lambda x: -_s("k1", x),
    "k0e": lambda x: _s("k0e", x) - _s("k1e", x),
    "k1": lambda x: -_s("k0", x) - _s("k1", x) / x,
    "k1e": lambda x: _s("k1e", x) - _s("k0e", x) - _s("k1e", x) / x,
    "spence": lambda x: np.log(x) / np.where(x == 1, -1.0, 1 - x),
    "y0": lambda x: -_s("y1", x),
    "y1": lambda x: _s("y0", x) - _s("y1", x) / x,
}
"""The derivatives of functions of one argument."""

_MORE: Mapping[str, Sequence[Partial | None]] = {
    "ellipeinc": (
        lambda phi, m: np.sqrt(1 - m * np.sin(phi) ** 2),
        lambda phi, m: (
            -_incomplete(
                phi,
                m,
                -0.5,
                lambda phi, m: (_s("ellipkinc", phi, m) - _s("ellipeinc", phi, m)) / (2 * m),
            )
        ),
    ),
    "ellipkinc": (
        lambda phi, m: 1 / np.sqrt(1 - m * np.sin(phi) ** 2),
        lambda phi, m: _incomplete(
            phi,
            m,
            -1.5,
            lambda phi, m: (
                _s("ellipeinc", phi, m) / (2 * m * (1 - m))
                - _s("ellipkinc", phi, m) / (2 * m)
                - np.sin(2 * phi) / (4 * (1 - m) * np.sqrt(1 - m * np.sin(phi) ** 2))
            ),
        ),
    ),
    "eval_chebyt": (None, lambda n, x: _slope(n, n, "eval_chebyu", x)),
    "eval_chebyu": (None, lambda n, x: _slope(n, 2.0, "eval_gegenbauer", 2.0, x)),
    "eval_gegenbauer": (
        None,
        None,
        lambda n, a, x: _slope(n, 2 * a, "eval_gegenbauer", a + 1, x),
    ),
    "eval_genlaguerre": (None, None, lambda n, a, x: _slope(n, -1.0, "eval_genlaguerre", a + 1, x)),
    "eval_hermite": (None, lambda n, x: _slope(n, 2 * n, "eval_hermite", x)),
    "eval_hermitenorm": (None, lambda n, x: _slope(n, n, "eval_hermitenorm", x)),
    "eval_jacobi": (
        None,
        None,
        None,
        lambda n, a, b, x: _slope(n, (n + a + b + 1) / 2, "eval_jacobi", a + 1, b + 1, x),
    ),
    "eval_laguerre": (None, lambda n, x: _slope(n, -1.0, "eval_genlaguerre", 1.0, x)),
    "eval_legendre": (None, lambda n, x: _slope(n, 1.0, "eval_gegenbauer", 1.5, x)),
    "expn": (None, lambda n, x: -_s("expn", n - 1, x)),
    "hyp0f1": (None, lambda v, z: _s("hyp0f1", v + 1, z) / v),
    "hyp1f1": (None, None, lambda a, b, z: a / b * _s("hyp1f1", a + 1, b + 1, z)),
    "hyp2f1": (
        None,
        None,
        None,
        lambda a, b, c, z: a * b / c * _s("hyp2f1", a + 1, b + 1, c + 1, z),
    ),
    "iv": (None, _neighbors("iv", 1.0, 1.0)),
    "ive": (None, lambda v, x: _neighbors("ive", 1.0, 1.0)(v, x) - np.sign(x) * _s("ive", v, x)),
    "jv": (None, _neighbors("jv", 1.0, -1.0)),
    "kve": (None, lambda v, x: _neighbors("kve", -1.0, -1.0)(v, x) + _s("kve", v, x)),
    "kv": (None, _neighbors("kv", -1.0, -1.0)),
    "yv": (None, _neighbors("yv", 1.0, -1.0)),
    "zeta": (None, lambda x, q: -x * _s("zeta", x + 1, q)),
}
"""Those of several arguments."""

_OF_INTEGERS = ("eval_hermite", "eval_hermitenorm")
"""Functions whose first argument SciPy takes as an integer alone."""


@lru_cache(maxsize=512)
def function(name: str) -> Callable[..., Any]:
    """SciPy's function of this name, with its partial derivatives."""
    if name not in _ONE and name not in _MORE:
        return globals()[name]  # type: ignore[no-any-return]
    own = getattr(_scipy, name)
    if name in _OF_INTEGERS:
        run: Callable[..., Any] = lambda n, x: own(np.asarray(n).astype(int), x)  # noqa: E731
    else:
        run = own
    rows = [_ONE[name]] if name in _ONE else _MORE[name]
    partials = [row or _without_formula(name, place) for place, row in enumerate(rows)]
    return _named(name, run, primitive(run, partials, name=name))


def _without_formula(name: str, place: int) -> Partial:
    def partial(*args: Array) -> Any:
        raise fail(
            TypeError,
            f"{name}: expected arguments with derivatives that have a formula, but the derivative in "
            f"argument {place} has none; write fg.primitive(scipy.special.{name}, 'finite-difference')",
        )

    return partial


def _named(name: str, own: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        if not holds_expr([*args, *kwargs.values()]):
            return own(*args, **kwargs)
        if kwargs:
            raise TypeError(f"{name}: expected no {', '.join(kwargs)} with traced values")
        return traced(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`."
    return function


globals().update({name: function(name) for name in (*_ONE, *_MORE)})
globals().update(
    {
        name: _named(name, getattr(_scipy, name), stand_in)
        for name, stand_in in STAND_INS.items()
        if hasattr(_scipy, name)
    }
)


# -- compositions ----------------------------------------------------------------------------
def _composed(traced: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is SciPy's own on plain values."""
    own = getattr(_scipy, traced.__name__)

    @wraps(traced)
    def function(*args: Any, **kwargs: Any) -> Any:
        return (traced if holds_expr([*args, *kwargs.values()]) else own)(*args, **kwargs)

    function.__doc__ = f"As `scipy.special.{traced.__name__}`."
    return function


@_composed
def expit(x: Array) -> Any:
    return sigmoid(x)


@_composed
def exp10(x: Array) -> Any:
    return np.exp(x * math.log(10))


@_composed
def exprel(x: Array) -> Any:
    small = np.abs(x) < 0.1
    away = np.where(small, 1.0, x)
    near = np.where(small, x, 0.0)
    series = np.polyval([1 / math.factorial(k + 1) for k in range(12, -1, -1)], near)
    return np.where(small, series, np.expm1(away) / away)


@_composed
def cosm1(x: Array) -> Any:
    return -2 * np.sin(x / 2) ** 2


@_composed
def huber(delta: Array, r: Array) -> Any:
    size = np.abs(r)
    return np.where(
        delta < 0, np.inf, np.where(size <= delta, r * r / 2, delta * (size - delta / 2))
    )


@_composed
def pseudo_huber(delta: Array, r: Array) -> Any:
    return delta * delta * (np.hypot(1, r / delta) - 1)


@_composed
def multigammaln(a: Array, d: int) -> Any:
    return _multigammaln(a, d)


@_composed
def factorial(n: Array, exact: bool = False, extend: str = "zero") -> Any:
    return np.where(n < 0, 0.0, function("gamma")(n + 1))


@_composed
def comb(N: Array, k: Array, *, exact: bool = False, repetition: bool = False) -> Any:
    top = N + k - 1 if repetition else N
    return np.where((k <= N) & (N >= 0) & (k >= 0) | repetition, function("binom")(top, k), 0.0)


@_composed
def lambertw(z: Array, k: int = 0, tol: float = 1e-8) -> Any:
    branch = _lambertw(k, tol)
    return branch(z + 0j)


@lru_cache(maxsize=16)
def _lambertw(k: int, tol: float) -> Callable[..., Any]:
    def slope(z: Array) -> Any:
        w = _lambertw(k, tol)(z)
        return np.exp(-w) / (1 + w)

    return primitive(lambda z: _scipy.lambertw(z, k, tol), [slope], name="lambertw")


@_composed
def logsumexp(
    a: Array,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    if b is None and not return_sign:
        return reduction.logsumexp(a, axis=axis, keepdims=keepdims)
    weights = 1.0 if b is None else b
    # The largest entry with a weight is taken out of the sum.
    top = np.max(np.where(weights == 0, -np.inf, a), axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    terms = np.where(np.equal(weights, 0), 0.0, weights * np.exp(a - top))
    total = np.sum(terms, axis=axis, keepdims=keepdims)
    size = np.log(np.abs(total)) + (top if keepdims else np.squeeze(top, axis=axis))
    return (size, np.sign(total)) if return_sign else np.where(total < 0, np.nan, size)


@_composed
def softmax(x: Array, axis: Any = None) -> Any:
    return reduction.softmax(x, axis=axis)


@_composed
def log_softmax(x: Array, axis: Any = None) -> Any:
    return reduction.log_softmax(x, axis=axis)


# -- several results -------------------------------------------------------------------------
def _part(name: str, place: int, slope: Partial) -> Callable[..., Any]:
    return primitive(lambda x: getattr(_scipy, name)(x)[place], [slope], name=f"{name}_{place}")


_PARTS: Mapping[str, Sequence[Callable[..., Any]]] = {
    "airy": (
        _part("airy", 0, lambda z: _PARTS["airy"][1](z)),
        _part("airy", 1, lambda z: z * _PARTS["airy"][0](z)),
        _part("airy", 2, lambda z: _PARTS["airy"][3](z)),
        _part("airy", 3, lambda z: z * _PARTS["airy"][2](z)),
    ),
    "fresnel": (
        _part("fresnel", 0, lambda x: np.sin(math.pi / 2 * x * x)),
        _part("fresnel", 1, lambda x: np.cos(math.pi / 2 * x * x)),
    ),
    "shichi": (
        _part("shichi", 0, lambda x: _over(x, np.sinh(x), 1.0)),
        _part("shichi", 1, lambda x: np.cosh(x) / x),
    ),
    "sici": (
        _part("sici", 0, lambda x: _over(x, np.sin(x), 1.0)),
        _part("sici", 1, lambda x: np.cos(x) / x),
    ),
}


def _several(name: str) -> Callable[..., Any]:
    def function(x: Array) -> Any:
        return tuple([part(x) for part in _PARTS[name]])

    return _named(name, getattr(_scipy, name), function)


globals().update({name: _several(name) for name in _PARTS})
globals().update(
    {
        name: value
        for name, value in vars(_scipy).items()
        if name[0] != "_" and name not in globals()
    }
)
psi = digamma


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)
