"""The owner of code: the user, whose code is searched for captured variables, or an installed package."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from funcgrad.source import is_installed
from funcgrad.transformed import function_of


def is_ours(f: Callable[..., Any]) -> bool:
    """Whether a function is the package's own, such as what `grad` makes; its name may be the user's."""
    f = function_of(f)
    home = getattr(f, "__globals__", {}).get("__name__", "")
    made = getattr(getattr(f, "__code__", None), "co_filename", "")
    return (isinstance(home, str) and home.startswith("funcgrad.")) or made == "<funcgrad jit>"


def is_numpys(f: FunctionType) -> bool:
    """Whether a function is NumPy's or SciPy's own, which read no globals that are bound anew."""
    home = f.__globals__.get("__name__")
    top = home.partition(".")[0] if isinstance(home, str) else ""
    return top in ("numpy", "scipy") and is_installed(f)


def is_generated(method: FunctionType) -> bool:
    """Whether a method is a comparison that dataclasses or attrs have generated."""
    code = method.__code__
    generated = (
        code.co_filename.startswith("<attrs generated") or "__create_fn__" in code.co_qualname
    )
    return generated and code.co_name in _COMPARISONS


_COMPARISONS = ("__eq__", "__ne__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__")


def callable_name(f: object) -> str:
    """A callable's name, or that of the function that it runs."""
    return str(getattr(f, "__name__", None) or getattr(getattr(f, "func", None), "__name__", "f"))


def name_of_value(value: object) -> str:
    """The name of a function, or that of the class of another value."""
    return callable_name(value) if hasattr(value, "__name__") else type(value).__name__
