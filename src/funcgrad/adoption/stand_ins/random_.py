"""``numpy.random`` for adopted code: the arrays that are drawn can be written with traced values.

A generator stands for one of NumPy's, whose bits it draws, so that both draw the same numbers in turn. Draws
with traced parameters are those of `reparameterized`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np
from numpy import random as _random

from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.stand_ins.reparameterized import REPARAMETERIZED, plain_arguments
from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import Reference, holds_expr, unwrapped
from funcgrad.ops.shape import array

_OTHER = frozenset(
    (
        *("bytes", "default_rng", "get_bit_generator", "get_state", "seed", "set_bit_generator"),
        *("set_state", "shuffle", "spawn", "test"),
    )
)
"""Functions that draw no array."""


def _drawing(name: str, home: Any, *, method: bool) -> Callable[..., Any]:
    own = getattr(home, name)

    @wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = (_drawn_from(args[0]), *args[1:]) if method else args
        if holds_expr((args[int(method) :], kwargs)):
            return _traced_draw(
                name, partial(_call, home, given[: int(method)]), args[int(method) :], kwargs
            )
        made = own(*unwrapped(given), **unwrapped(kwargs))
        if type(made) is not np.ndarray or made.dtype.kind not in "biufc":
            return made
        # SciPy's compiled code draws, too, and takes NumPy's own arrays.
        of_scipy = str(sys._getframe(1).f_globals.get("__name__")).startswith("scipy.")
        return made if of_scipy else mutable(made)

    return function


def _call(home: Any, generator: tuple[Any, ...], name: str, *args: Any, **kwargs: Any) -> Any:
    """A method of NumPy's generator, or a function of its module, by name."""
    if name == "is_generator":
        return home is _random.Generator
    return getattr(home, name)(*generator, *args, **kwargs)


def _traced_draw(
    name: str, draw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A draw with traced arguments: a function of them where the distribution has one."""
    known = REPARAMETERIZED.get(name)
    if known is not None:
        given = signature(known).bind(draw, *args, **kwargs)
        for key, item in given.arguments.items():
            if key != "size" and isinstance(item, list | tuple):
                given.arguments[key] = array(item)
        return mutable(known(*given.args, **given.kwargs))
    return mutable(draw(name, *plain_arguments(name, args), **plain_arguments(name, kwargs)))


def _drawn_from(generator: Any) -> Any:
    """The generator of NumPy's whose state moves with the draws."""
    return getattr(generator, "_funcgrad_drawn_from", generator)


def _shuffled(shuffle: Callable[..., Any], x: Any, axis: int = 0) -> None:
    """As ``shuffle(x)``, by the places that it gives to the numbers of rows."""
    if not isinstance(x, Reference):
        return shuffle(x, axis) if axis else shuffle(x)  # type: ignore[no-any-return]
    cell: Any = x
    rows = cell.swapaxes(0, axis) if axis else cell
    places = np.arange(len(rows))
    # NumPy draws other numbers for arrays of more than one axis.
    numbers = places if rows.ndim == 1 else places[:, None]
    shuffle(numbers)
    rows[...] = rows[numbers.ravel()]
    return None


def _methods(kind: type) -> dict[str, Any]:
    draws = {
        name: _drawing(name, kind, method=True)
        for name, method in vars(kind).items()
        if name[0] != "_" and name not in _OTHER and callable(method)
    }
    own: Any = vars(kind)["shuffle"]

    @wraps(own)
    def shuffle(self: Any, x: Any, axis: int = 0) -> None:
        _shuffled(partial(own, _drawn_from(self)), x, axis)

    return draws | {"shuffle": shuffle}


def _over(kind: type, original: Callable[[Any], Any]) -> Any:
    """A subclass whose draws can be written; to `isinstance` and `type` in adopted code it is the class.

    ``original`` makes the instance of the class that adopted code returns.
    """
    space = {ORIGINAL: kind, "__module__": kind.__module__, "__doc__": kind.__doc__}
    space |= {"_funcgrad_original": property(original)}
    return type(kind.__name__, (kind,), _methods(kind) | space)


def _original_state(state: Any) -> Any:
    drawn_from = _drawn_from(state)
    if drawn_from is not state:
        return drawn_from
    made = _random.RandomState(state._bit_generator)
    made.set_state(state.get_state())  # with the second of two normal numbers
    return made


Generator = _over(_random.Generator, lambda own: _random.Generator(own.bit_generator))
RandomState = _over(_random.RandomState, _original_state)


def default_rng(seed: Any = None) -> Any:
    """As `numpy.random.default_rng`."""
    return writable_draws(_random.default_rng(seed))


def shuffle(x: Any) -> None:
    """As `numpy.random.shuffle`."""
    _shuffled(_random.shuffle, x)


def writable_draws(generator: Any) -> Any:
    """A generator of NumPy's as adopted code finds it."""
    if isinstance(generator, _random.Generator):
        return Generator(generator.bit_generator)
    made = RandomState(generator._bit_generator)
    made._funcgrad_drawn_from = generator  # it keeps the second of two normal numbers
    return made


globals().update(
    {
        name: _drawing(name, _random, method=False)
        for name in _random.__all__
        if name not in _OTHER
        and name not in globals()
        and callable(getattr(_random, name))
        and not isinstance(getattr(_random, name), type)
    }
)
globals().update({name: value for name, value in vars(_random).items() if name not in globals()})
