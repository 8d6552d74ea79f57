"""``random`` of the standard library for adopted code: draws with traced parameters.

They draw the numbers that Python's functions do. `gammavariate` and `betavariate` move along the quantiles of
their distribution, as those of `reparameterized`, since their own code rejects numbers by the parameters.
"""

from __future__ import annotations

import random as _python
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.adoption.stand_ins.reparameterized import REPARAMETERIZED
from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr


def _draw(name: str, *args: float | None) -> Any:
    """A draw by NumPy's name, of one number, which has no length; a function of `random` makes it."""
    parameters = [float(x) for x in args if x is not None]
    if name == "is_generator":
        return True
    if name == "standard_gamma":
        return _python.gammavariate(parameters[0], 1.0)
    own: dict[str, Callable[..., Any]] = {
        "beta": _python.betavariate,
        "random": _python.random,
    }
    return own[name](*parameters)


def _of_traced(function: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    def drawing(*args: object, **kwargs: object) -> Any:
        made = own if holds_expr((args, kwargs)) else function
        return made(*args, **kwargs)

    drawing.__name__ = drawing.__qualname__ = function.__name__
    drawing.__doc__ = function.__doc__
    return drawing


def _lognormvariate(mu: float | Expr = 0.0, sigma: float | Expr = 1.0) -> Any:
    return np.exp(_python.normalvariate(mu, sigma))  # type: ignore[arg-type]


def _triangular(
    low: float | Expr = 0.0, high: float | Expr = 1.0, mode: float | Expr | None = None
) -> Any:
    middle = (low + high) / 2 if mode is None else mode
    return REPARAMETERIZED["triangular"](_draw, low, middle, high)


def _gammavariate(alpha: float | Expr, beta: float | Expr) -> Any:
    return REPARAMETERIZED["gamma"](_draw, alpha, beta)


def _betavariate(alpha: float | Expr, beta: float | Expr) -> Any:
    return REPARAMETERIZED["beta"](_draw, alpha, beta)


lognormvariate = _of_traced(_python.lognormvariate, _lognormvariate)
triangular = _of_traced(_python.triangular, _triangular)
gammavariate = _of_traced(_python.gammavariate, _gammavariate)
betavariate = _of_traced(_python.betavariate, _betavariate)
globals().update({name: value for name, value in vars(_python).items() if name not in globals()})
