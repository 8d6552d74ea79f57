"""`functools.singledispatch` in adopted code: a traced value is dispatched on as what it stands for.

Python's own asks for the class of the first argument, which is that of expressions, and would run the
function that is registered for ``object``.
"""

from __future__ import annotations

from functools import singledispatchmethod, wraps
from types import FunctionType
from typing import Any

from funcgrad.adoption.adopted_functions import Redirect
from funcgrad.adoption.builtin_names import is_traced, stand_ins
from funcgrad.adoption.namespaces import BOUND_DISPATCH


def dispatching(f: Any, redirect: Redirect) -> Any:
    """A function under `functools.singledispatch`, or a method of an instance, over adopted functions."""
    if type(f) is not FunctionType or f.__code__ is BOUND_DISPATCH:
        instance, owner = _bound_to(f)
        method = f.register.__self__  # the closure has it in some versions of Python alone
        return DispatchingMethod(method, redirect).__get__(redirect(instance), owner)

    @wraps(f)
    def dispatched(*args: object, **kwargs: object) -> Any:
        function = redirect(_implementation(f, args[0])) if args else f  # which refuses none
        return function(*args, **kwargs)

    return dispatched


def _bound_to(f: Any) -> tuple[Any, Any]:
    """The instance and the class that a method under `functools.singledispatchmethod` is taken from."""
    if type(f) is not FunctionType:  # since Python 3.14
        return f._obj, f._cls
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return cells["obj"].cell_contents, cells["cls"].cell_contents


class DispatchingMethod:
    """A method under `functools.singledispatchmethod`, over adopted functions."""

    def __init__(self, method: singledispatchmethod[Any], redirect: Redirect) -> None:
        self.method = method
        self.redirect = redirect

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        @wraps(self.method.func)
        def dispatched(*args: object, **kwargs: object) -> Any:
            if not args:
                return self.method.__get__(instance, owner)(**kwargs)  # which refuses none
            found = self.redirect(_implementation(self.method.dispatcher, args[0]))
            return found.__get__(instance, owner)(*args, **kwargs)

        return dispatched


def _implementation(f: Any, value: Any) -> Any:
    """The function registered for the class of a value, which of a traced one is the class it stands for."""
    if not is_traced(value):
        return f.dispatch(type(value))
    found = [f.dispatch(kind) for kind in (*reversed(stand_ins(value)), type(value))]
    default = f.dispatch(object)
    return next((each for each in found if each is not default), default)
