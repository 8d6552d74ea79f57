"""`adopt`, and the adoption of the functions that transforms are given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, update_wrapper, wraps
from importlib import import_module
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED
from funcgrad.adoption.builtin_names import is_traced
from funcgrad.adoption.containers import leads_elsewhere
from funcgrad.adoption.instance_views import restored
from funcgrad.adoption.modules import SecondCopy
from funcgrad.adoption.redirect import NAMES, redirect, redirect_refreshed, refresh
from funcgrad.arrays.mutable_array import shared_argument
from funcgrad.source import type_error
from funcgrad.trace.known_code import PLAIN_DATA
from funcgrad.unadopted_packages import is_kept


def adopt(f: Any, on: bool = True) -> Any:
    """The same code over funcgrad's ``numpy``, ``scipy``, ``math``, ``cmath`` and
    ``statistics``.

    f is a function, a method, an object that can be called, a class, a module,
    or the name of a package. An adopted function is f's code over globals in
    which modules, and the functions and classes of other modules, are adopted,
    too; they are looked up at each call. `isinstance`, `type`, `float` and
    `hasattr` take traced values for numbers and arrays there. The standard
    library, NumPy, and array libraries such as JAX and PyTorch stay as they
    are. A module or a package is executed a second time, with its imports
    redirected; the original and ``sys.modules`` do not change.

    With ``on=False``, f as it is, also under transforms.

    Raises TypeError if f is none of these, ImportError if there is no such
    package.

    >>> import math
    >>> import funcgrad as fg
    >>> def f(x):
    ...     return math.sin(x) if isinstance(x, float) else x
    >>> fg.grad(fg.adopt(f))(0.0), fg.adopt(f)(0.5) == f(0.5)
    (1.0, True)
    """
    if isinstance(f, str):
        return _copied(import_module(f))
    if isinstance(f, ModuleType):
        return _copied(f)
    if not callable(f):
        raise type_error(
            f"adopt: expected a function, a class, a module or the name of a package, but got "
            f"{type(f).__name__}",
        )
    if not on:
        return _as_it_is(f)
    return redirect(f) if isinstance(f, type) else AdoptedFunction(f)


class AdoptedFunction:
    """A function that runs as adopted code; pickled as the original, whose name and documentation it has."""

    __funcgrad_adopted__ = True

    def __init__(self, f: Callable[..., Any]) -> None:
        update_wrapper(self, f)
        self.__wrapped__: Callable[..., Any] = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any([is_traced(value) for value in (*args, *kwargs.values())]):
            args = tuple([shared_argument(value) for value in args])
            kwargs = {name: shared_argument(value) for name, value in kwargs.items()}
        function = adopted(self.__wrapped__)
        given = {name: _as_named(value) for name, value in kwargs.items()}
        return restored(function(*map(_as_named, args), **given))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet
            raise AttributeError(name)
        return getattr(adopted(self.__wrapped__), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return adopt, (self.__wrapped__,)

    def __repr__(self) -> str:
        return f"<adopted {self.__wrapped__!r}>"


def _as_named(value: Any) -> Any:
    """An argument as adopted code finds it under a global name; arrays and plain data stay as they are."""
    kind = type(value)
    if kind in NEVER_REDIRECTED or (kind is np.ndarray and value.dtype.kind != "O"):
        return value
    return value if kind in PLAIN_DATA and not leads_elsewhere(value) else redirect(value)


def adopted(f: Any) -> Any:
    """What a transform runs for f: its code over the globals of adopted code, as they are now."""
    if type(f) is AdoptedFunction:
        f = f.__wrapped__
    refresh()
    return redirect_refreshed(f)


def call_adopted(f: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a user's function as adopted code, given adopted functions and objects."""
    if type(f) is AdoptedFunction:
        return f(*args, **kwargs)
    refresh()
    function = redirect_refreshed(f)
    given = [_as_named(arg) for arg in args]
    if not kwargs:
        return restored(function(*given))
    return restored(function(*given, **{name: _as_named(arg) for name, arg in kwargs.items()}))


def _as_it_is(f: Callable[..., Any]) -> Callable[..., Any]:
    # A function of this package, which is never adopted.
    @wraps(f)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return plain


def _copied(module: ModuleType) -> Any:
    """A second copy of a module; a view of one that has no source, or is not imported by its name."""
    found = redirect(module)
    source = getattr(module.__spec__, "origin", None)
    own = sys.modules.get(module.__name__) is module and module.__name__ != "__main__"
    if not own or source is None or is_kept(module.__name__.partition(".")[0]):
        return found
    return second_copy(module.__name__.partition(".")[0]).load(module.__name__)


@cache
def second_copy(package: str) -> SecondCopy:
    """The second copy of a package: one in a process."""
    return SecondCopy(package, NAMES)
