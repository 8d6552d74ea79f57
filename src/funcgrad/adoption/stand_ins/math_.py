"""``math`` for adopted code: on plain numbers its own functions, on traced values NumPy's.

A traced value is NaN or infinite where ``math`` raises ValueError or OverflowError, unless code on the way to
the transform handles these: then the error is raised. Functions that count or
round (`floor`, `gcd`, ...) answer by value, since their derivative is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import product
from operator import and_, mul, or_
from typing import Any

import numpy as np

from funcgrad.adoption.stand_ins.number_functions import (
    any_traced,
    as_number,
    functions_by_name,
    isclose,
    where_traced,
)
from funcgrad.arrays.float_subclass import numbers_of
from funcgrad.arrays.values import number_held_by
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value, has_known_value
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.shape import as_pythons, astype
from funcgrad.source import as_of_numbers, may_be_handled
from funcgrad.typing import Array


def _log(x: Any, *base: Any) -> Any:
    return np.log(x) / np.log(base[0]) if base else np.log(x)


def _ldexp(x: Array, i: int) -> Any:
    # By halves: 2.0**i may overflow where the product does not.
    return x * math.ldexp(1.0, i // 2) * math.ldexp(1.0, i - i // 2)


def _frexp(x: Array) -> tuple[Any, int]:
    # The exponent is concretized: its derivative is zero.
    exponent = math.frexp(concrete_value(stopped(x), "frexp"))[1]
    return as_pythons(_ldexp(x, -exponent)), exponent


def _modf(x: Array) -> tuple[Any, Any]:
    whole = np.trunc(x)
    part = np.where(np.isinf(x), 0.0, x - whole)
    return as_pythons(np.copysign(part, x)), as_pythons(whole)


def _remainder(x: Array, y: Array) -> Any:
    rest = np.fmod(x, y)
    half = np.abs(y) / 2
    # Of two multiples that are equally near, the even one.
    odd = np.abs(np.fmod(np.trunc(x / y), 2.0)) == 1
    over = (np.abs(rest) > half) | ((np.abs(rest) == half) & odd)
    return np.where(over, rest - np.copysign(np.abs(y), rest), rest)


def fsum(seq: Iterable[Any], /) -> Any:
    """As `math.fsum`; traced values are added with the rounding errors carried along.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: fsum([1e100, x * x, -1e100]))(3.0)
    6.0
    """
    return as_pythons(exact_sum(list(seq)))


def exact_sum(items: Sequence[Any]) -> Any:
    """`fsum` of a list, whose sum of traced values is one of NumPy's numbers if these are.

    Instances of subclasses of ``float`` are the numbers that they hold, whatever operators they have.
    """
    if not any_traced(*items):
        return math.fsum(items)
    items = numbers_of(list(items))
    total: Any = 0.0
    carried: Any = 0.0
    for x in items:
        # The error of a sum, exactly (Knuth's TwoSum).
        new = total + x
        part = new - total
        carried = carried + ((total - (new - part)) + (x - part))
        total = new
    return np.where(np.isfinite(total), total + carried, total)


def prod(iterable: Iterable[Any], /, *, start: Any = 1) -> Any:
    """As `math.prod`."""
    items = list(iterable)
    return reduce(mul, items, start) if any_traced(start, *items) else math.prod(items, start=start)


def hypot(*coordinates: Array) -> Any:
    """As `math.hypot`, of any number of coordinates."""
    coordinates = tuple([number_held_by(x) for x in coordinates])
    if not any_traced(*coordinates):
        return math.hypot(*coordinates)
    numbers = [as_number(x, "hypot") for x in coordinates]
    return as_pythons(reduce(np.hypot, numbers) if len(numbers) > 1 else np.abs(numbers[0]))


def dist(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """As `math.dist`."""
    here, there = numbers_of([list(p), list(q)])
    if not any_traced(*here, *there):
        return math.dist(here, there)
    if len(here) != len(there):
        raise ValueError("both points must have the same number of dimensions")
    return hypot(*[a - b for a, b in zip(here, there, strict=True)])


def sumprod(p: Iterable[Any], q: Iterable[Any], /) -> Any:
    """As `math.sumprod` of Python 3.12."""
    p, q = list(p), list(q)
    if not any_traced(*p, *q):
        return vars(math)["sumprod"](p, q)
    return fsum([a * b for a, b in zip(p, q, strict=True)])


def _float(x: Array) -> Any:
    return astype(x, float) if any_traced(x) else float(x)


def _special(name: str) -> Callable[[Any], Any]:
    """A function of `funcgrad.scipy.special`, which needs SciPy, imported where a traced value enters it."""

    def function(x: Array) -> Any:
        from funcgrad.scipy import special

        return getattr(special, name)(x)

    return function


_SAME = """acos=arccos acosh=arccosh asin=arcsin asinh=arcsinh atan=arctan atan2=arctan2 atanh=arctanh cbrt
copysign cos cosh degrees exp exp2 expm1 fabs fmod isfinite isinf isnan log10 log1p log2 radians sin sinh
sqrt tan tanh"""
_OTHER: dict[str, Callable[..., Any]] = {
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "gamma": _special("gamma"),
    "lgamma": _special("gammaln"),
    "frexp": _frexp,
    "isclose": isclose,
    "ldexp": _ldexp,
    "log": _log,
    "modf": _modf,
    "nextafter": lambda x, y: np.nextafter(_float(x), _float(y)),
    "pow": lambda x, y: np.power(_float(x), _float(y)),
    "remainder": _remainder,
    "ulp": lambda x: np.abs(np.spacing(_float(x))),
}
_HANDLED = frozenset(
    ("ArithmeticError", "BaseException", "Exception", "OverflowError", "ValueError")
)
_PROBES = (-800.0, -1.0, 0.0, 0.5, 2.0, 800.0, math.inf)


class _AnyMathError(ValueError, OverflowError):
    """The error of a number that stands for many, some of which may raise one error, and some the other."""


def _may_raise(own: Callable[..., Any]) -> bool:
    """Whether a function of `math` raises an error of arithmetic anywhere."""
    for args in [*product(_PROBES), *product(_PROBES, _PROBES)]:
        try:
            own(*args)
        except (ValueError, OverflowError):
            return True
        except TypeError:  # of the number of arguments
            continue
    return False


def _raising(own: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks whether `math` raises an error, and raises it, where a handler may wait for it."""
    if not _may_raise(own):
        return traced

    def function(*args: Any, **kwargs: Any) -> Any:
        result = traced(*args, **kwargs)
        if isinstance(result, Expr) and may_be_handled(_HANDLED):
            known = reduce(and_, [np.isfinite(arg) for arg in args])
            unknown = reduce(or_, [np.isnan(arg) for arg in args])
            if (known & ~np.isfinite(result)) | (np.isnan(result) & ~unknown):
                if not has_known_value(result):
                    raise as_of_numbers(_AnyMathError("math domain error, or math range error"))
                if np.isinf(result) & (np.abs(args[0]) > 1):
                    raise as_of_numbers(OverflowError("math range error"))
                raise as_of_numbers(ValueError("math domain error"))  # also at a pole
        return result

    return function


globals().update(
    {
        name: where_traced(getattr(math, name), _raising(getattr(math, name), traced))
        for name, traced in (functions_by_name(_SAME) | _OTHER).items()
        if hasattr(math, name)
    }
)
if not hasattr(math, "sumprod"):  # code may ask
    del sumprod
globals().update({name: value for name, value in vars(math).items() if name not in globals()})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'math' has no attribute {name!r}")
