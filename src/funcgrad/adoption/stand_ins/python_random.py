"""``random`` of the standard library for adopted code: draws with traced parameters.

They draw the numbers that Python's functions and generators do. `gammavariate` and `betavariate` move along
the quantiles of their distribution, as those of `reparameterized`, since their own code rejects numbers by
the parameters.
"""

from __future__ import annotations

import random as _python
from collections.abc import Callable
from functools import partial, wraps
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.stand_ins.reparameterized import REPARAMETERIZED, plain_arguments
from funcgrad.arrays.reference import holds_expr
from funcgrad.typing import Array

_Generator: TypeAlias = ModuleType | _python.Random
"""Python's module, or an instance of its class."""


def _draw(generator: _Generator, name: str, *args: float | None) -> Any:
    """A draw by NumPy's name, of one number, which has no length; a method of Python's makes it."""
    parameters = [float(x) for x in args if x is not None]
    if name == "is_generator":
        return True
    if name == "standard_gamma":
        return generator.gammavariate(parameters[0], 1.0)
    return getattr(generator, {"beta": "betavariate", "random": "random"}[name])(*parameters)


def _lognormvariate(generator: Any, mu: float | Array = 0.0, sigma: float | Array = 1.0) -> Any:
    return np.exp(generator.normalvariate(mu, sigma))


def _triangular(
    generator: _Generator,
    low: float | Array = 0.0,
    high: float | Array = 1.0,
    mode: Array | None = None,
) -> Any:
    middle = (low + high) / 2 if mode is None else mode
    return REPARAMETERIZED["triangular"](partial(_draw, generator), low, middle, high)


def _gammavariate(generator: _Generator, alpha: Array, beta: Array) -> Any:
    return REPARAMETERIZED["gamma"](partial(_draw, generator), alpha, beta)


def _betavariate(generator: _Generator, alpha: Array, beta: Array) -> Any:
    return REPARAMETERIZED["beta"](partial(_draw, generator), alpha, beta)


def _vonmisesvariate(generator: _Generator, mu: Array, kappa: Array) -> Any:
    plain = plain_arguments("vonmisesvariate", kappa)
    drawn = generator.vonmisesvariate(0.0, plain)
    return drawn if plain <= 1e-6 else (mu + drawn) % (2 * np.pi)  # as Python's


def _choices(
    generator: _Generator,
    population: Any,
    weights: Any = None,
    *,
    cum_weights: Any = None,
    k: int = 1,
) -> Any:
    given = [item if item is None else list(item) for item in (weights, cum_weights)]
    weights, cum_weights = plain_arguments("choices", given)
    drawn = generator.choices(range(len(population)), weights, cum_weights=cum_weights, k=k)
    return [population[place] for place in drawn]


def _of_module(name: str, of_traced: Callable[..., Any]) -> Callable[..., Any]:
    own = getattr(_python, name)

    def drawing(*args: object, **kwargs: object) -> Any:
        made = partial(of_traced, _python) if holds_expr((args, kwargs)) else own
        return made(*args, **kwargs)

    drawing.__name__ = drawing.__qualname__ = name
    drawing.__doc__ = own.__doc__
    return drawing


def _method(name: str, of_traced: Callable[..., Any]) -> Callable[..., Any]:
    own = getattr(_python.Random, name)

    def drawing(self: Any, *args: object, **kwargs: object) -> Any:
        made = of_traced if holds_expr((args, kwargs)) else own
        return made(self, *args, **kwargs)

    drawing.__name__ = drawing.__qualname__ = name
    drawing.__doc__ = own.__doc__
    return drawing


_OF_TRACED: dict[str, Callable[..., Any]] = {
    "lognormvariate": _lognormvariate,
    "triangular": _triangular,
    "gammavariate": _gammavariate,
    "betavariate": _betavariate,
    "vonmisesvariate": _vonmisesvariate,
    "choices": _choices,
}


class Random(_python.Random):
    """A generator whose draws take traced parameters.

    One that adopted code makes, or finds, stands for a generator of Python's, whose state moves with the
    draws; an instance of a subclass has a state of its own.
    """

    def __init__(self, x: Any = None) -> None:
        if type(self) is Random:
            self._drawn_from = _python.Random(x)
        else:
            super().__init__(x)

    @property
    def _funcgrad_original(self) -> Any:
        return vars(self).get("_drawn_from", self)

    @property
    def gauss_next(self) -> Any:
        """The second of two normal numbers."""
        return vars(self._funcgrad_original).get("gauss_next")

    @gauss_next.setter
    def gauss_next(self, value: float | None) -> None:
        vars(self._funcgrad_original)["gauss_next"] = value


def _of_original(name: str) -> Callable[..., Any]:
    own = getattr(_python.Random, name)

    @wraps(own)
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        return own(self._funcgrad_original, *args, **kwargs)

    return method


for _name in ("getrandbits", "getstate", "random", "seed", "setstate"):
    setattr(Random, _name, _of_original(_name))
for _name, _drawn in _OF_TRACED.items():
    setattr(Random, _name, _method(_name, _drawn))
    globals()[_name] = _of_module(_name, _drawn)
type.__setattr__(Random, ORIGINAL, _python.Random)


def generator_view(generator: _python.Random) -> Random:
    """A generator of Python's as adopted code finds it."""
    made = Random.__new__(Random)
    made._drawn_from = generator
    return made


globals().update({name: value for name, value in vars(_python).items() if name not in globals()})
