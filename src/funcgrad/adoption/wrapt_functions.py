"""Functions and methods under decorators of the package wrapt, whose proxies compiled code calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeGuard


class Decorated(Protocol):
    """What the compiled code of wrapt makes of a function and a decorator."""

    __wrapped__: Any
    _self_wrapper: Any
    _self_enabled: Any
    _self_instance: Any
    _self_parent: Any


def is_of_wrapt(value: object) -> TypeGuard[Decorated]:
    """Whether a value is a function that `wrapt.decorator` has decorated, or one bound to an instance."""
    wrapt: Any = sys.modules.get("wrapt")
    if wrapt is None:
        return False
    kinds = [getattr(wrapt, name, None) for name in ("FunctionWrapper", "BoundFunctionWrapper")]
    return type(value) in kinds  # None where the package is being imported, or another has its name


def over_wrapt(value: Decorated, redirect: Callable[[Any], Any]) -> Any:
    """The decorated function of the redirected function and decorator."""
    wrapt: Any = sys.modules["wrapt"]
    if type(value) is wrapt.BoundFunctionWrapper:
        instance = redirect(value._self_instance)
        return redirect(value._self_parent).__get__(instance, type(instance))
    function, decorator = value.__wrapped__, redirect(value._self_wrapper)
    if type(function) in (staticmethod, classmethod):
        function = type(function)(redirect(function.__func__))
    else:
        function = redirect(function)
    if function is value.__wrapped__ and decorator is value._self_wrapper:
        return value
    return wrapt.FunctionWrapper(function, decorator, value._self_enabled)


ATTRIBUTES_WITH_CODE = ("__wrapped__", "_self_wrapper", "_self_instance")
"""The attributes of such a function that lead to code."""


def decorated_parts(value: Decorated) -> tuple[Any, Any]:
    """The function and the decorator, which may be a method."""
    return value.__wrapped__, getattr(value._self_wrapper, "__func__", value._self_wrapper)
