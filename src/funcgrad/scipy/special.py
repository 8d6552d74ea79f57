"""``scipy.special`` for traced values: its functions, with their derivatives.

Ufuncs are operations of the package (`funcgrad.ops.special`), which ``scipy.special`` itself reaches with
traced values. The functions that SciPy writes in Python are compositions of them. On plain values every
function is SciPy's own, and all names that are not here lead to SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.arrays.selections import on_selections, selection_of
from funcgrad.expr.registry import functions
from funcgrad.ops import reduction
from funcgrad.ops.elementwise import exponential
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.gamma import any_digamma
from funcgrad.ops.special.gamma import factorial as factorial
from funcgrad.ops.special.polygamma import polygamma as polygamma_of_order
from funcgrad.ops.special.special_stand_ins import STAND_INS
from funcgrad.scipy import (
    associated_legendre,
    ellipsoidal,
    gauss_jacobi,
    special_sequences,
    spherical,
)
from funcgrad.scipy.composition import floating, real, unreplaced
from funcgrad.scipy.gauss_jacobi import scale_polynomial as scale_polynomial
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import with_name
from funcgrad.trace.masked_trees import is_masked
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def _answering(name: str, traced: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function on plain values, and the one of the package on traced ones."""
    own = getattr(_scipy, name)

    def function(*args: object, **kwargs: object) -> Any:
        is_entrywise = isinstance(own, np.ufunc) and own.nout == 1 and not kwargs
        if is_entrywise and any(map(selection_of, args)):
            made = on_selections(function, args)
            if made is not None:
                return made
        if not holds_expr([*args, *kwargs.values()]):
            return own(*args, **kwargs)
        if isinstance(own, np.ufunc) and (
            kwargs or len(args) > own.nin or any([is_masked(type(arg)) for arg in args])
        ):
            return own(*args, **kwargs)  # which arrays that take stores answer
        return traced(*args, **kwargs)

    return with_name(function, name, f"As `scipy.special.{name}`.")


def _composed(traced: Callable[..., Any]) -> Callable[..., Any]:
    return _answering(traced.__name__, traced)


globals().update(
    {name: _answering(name, found) for name, found in STAND_INS.items() if hasattr(_scipy, name)}
)
globals().update(
    {
        name: _answering(name, of_numpy)
        for name, of_numpy in (
            ("cbrt", np.cbrt),
            ("exp2", np.exp2),
            ("expm1", np.expm1),
            ("log1p", np.log1p),
            ("round", np.rint),
        )
    }
)
digamma = psi = _answering("psi", any_digamma)


@_composed
def polygamma(n: Any, x: Array) -> Any:
    x = real("polygamma", x)  # SciPy's is in double precision
    if holds_expr(n) or np.any(np.asarray(n) != np.floor(n)):
        return polygamma_of_order(n, x)
    orders = np.unique(n).astype(int).tolist()
    found = [polygamma_of_order(order, x) for order in orders]
    if np.size(n) == 1:
        return found[0]
    return np.select([np.equal(n, order) for order in orders], found)


@_composed
def expit(x: Array) -> Any:
    return exponential.sigmoid(x)


if hasattr(_scipy, "softplus"):

    @_composed
    def softplus(x: Array) -> Any:
        return exponential.softplus(x)


def _logsumexp(
    a: Array,
    axis: Any = None,
    b: Array | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    if b is None and not return_sign:
        return reduction.logsumexp(a, axis=axis, keepdims=keepdims)
    given = floating("logsumexp", a).dtype
    weights = np.ones((), np.finfo(given).dtype) if b is None else b
    # The largest entry with a weight is taken out of the sum. One without a weight has a slope in it.
    absent = np.equal(weights, 0)
    huge = float(np.finfo(np.result_type(given, np.float16)).max)
    entries = np.where(absent & np.isnan(a), -np.inf, a)
    sizes = np.log(np.where(absent, 1.0, np.abs(weights)))
    present = np.where(absent, -np.inf, np.real(entries))
    least: dict[str, Any] = {} if np.size(present) else {"initial": -np.inf}
    top = np.max(present + np.minimum(sizes, 0.0), axis=axis, keepdims=True, **least)
    largest = np.max(present, axis=axis, keepdims=True, **least)
    top = np.maximum(top, largest - math.log(huge) + 8.0)
    top = stop_gradient(np.where(np.isfinite(top), top, 0.0))
    growth = np.exp(entries - top)
    growth = np.where(absent & np.isinf(growth), huge, growth)
    total = np.sum(weights * growth, axis=axis, keepdims=keepdims)
    nothing = np.all(np.broadcast_to(absent, np.shape(growth)), axis=axis, keepdims=keepdims)
    present = np.where(nothing, 1.0, total)
    shift = top if keepdims else np.squeeze(top, axis=axis)
    if np.iscomplexobj(total) and not return_sign:
        return np.where(nothing, -np.inf, np.log(present)) + shift
    size = np.where(nothing, -np.inf, np.log(np.abs(present))) + shift
    return (size, np.sign(total)) if return_sign else np.where(total < 0, np.nan, size)


_logsumexp = _answering("logsumexp", _logsumexp)


def logsumexp(
    a: Array,
    axis: object = None,
    b: Array | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """As `scipy.special.logsumexp`; with ``where``, of `jax.scipy.special`, the
    sum is over the entries that it chooses.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: logsumexp(x, where=np.array([True, False])))(np.array([1.0, 5.0]))
    array([1., 0.])
    """
    if where is not None:
        b = np.where(where, 1.0 if b is None else b, 0.0)
    return _logsumexp(a, axis, b, keepdims, return_sign)


def bessel_jn(z: Array, *, v: int, n_iter: int = 50) -> Any:
    """As `jax.scipy.special.bessel_jn`: the Bessel functions of the orders 0 to
    v, along a new first axis.

    >>> bessel_jn(0.5, v=2)
    array([0.93846981, 0.24226846, 0.03060402])
    """
    z = np.asarray(z) if not holds_expr(z) else z
    return np.stack([_scipy.jv(order, z) for order in range(v + 1)])


@_composed
def diric(x: Array, n: Array) -> Any:
    """As `scipy.special.diric`, with all derivatives at its peaks."""
    x, n = real("diric", x), real("diric", n)
    turns = np.round(x / (2 * math.pi))
    rest = x / (2 * math.pi) - turns
    sign = np.where(np.logical_and(turns % 2 == 1, np.equal(n % 2, 0)), -1.0, 1.0)
    whole = np.logical_and(n > 0, np.equal(n, np.floor(n)))
    return np.where(whole, sign * np.sinc(n * rest) / np.sinc(rest), np.nan)


@_composed
def factorialk(n: Array, k: Any, exact: bool = False, extend: str = "zero") -> Any:
    """As `scipy.special.factorialk`; extended to complex numbers, with derivatives in n and in k."""
    if exact or extend != "complex" or k == 0:
        own = unreplaced(_scipy.factorialk)
        return functions["call_adopted"](own, (n, k, exact, extend), {})
    base = k + 0j if np.iscomplexobj(k) or k < 0 else k
    rest = _scipy.rgamma(1 / k + 1) / np.power(base, 1 / k)
    found = np.power(base, n / k) * factorial(n / k, extend="complex") * rest
    if np.ndim(n):
        return found
    is_one = np.equal(n * (n - 1), 0)  # of 0, too, if it is a single number
    return found + stop_gradient(np.where(is_one, 1.0 - found, 0.0))


@_composed
def factorial2(n: Array, exact: bool = False, extend: str = "zero") -> Any:
    return factorialk(n, 2, exact, extend)


@_composed
def softmax(x: Array, axis: Any = None) -> Any:
    return reduction.softmax(x, axis=axis)


@_composed
def log_softmax(x: Array, axis: Any = None) -> Any:
    return reduction.log_softmax(x, axis=axis)


globals().update(
    {
        name: _composed(function)
        for module in (ellipsoidal, associated_legendre, gauss_jacobi, special_sequences, spherical)
        for name, function in vars(module).items()
        if getattr(function, "__module__", None) == module.__name__ and hasattr(_scipy, name)
    }
)

__getattr__ = partial(attribute_of, _scipy)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})
