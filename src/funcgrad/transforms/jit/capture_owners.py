"""Whose code is: the user's, which is searched for captured variables, or an installed package's."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

from funcgrad.transformed import function_of


def is_ours(f: Callable[..., Any]) -> bool:
    """Whether a function is the package's own, such as what `grad` makes; its name may be the user's."""
    f = function_of(f)
    home = getattr(f, "__globals__", {}).get("__name__", "")
    made = getattr(getattr(f, "__code__", None), "co_filename", "")
    return (isinstance(home, str) and home.startswith("funcgrad.")) or made == "<funcgrad jit>"


def is_installed(item: FunctionType | ModuleType | None) -> bool:
    """Whether a function or a module comes with an installed package, or with Python."""
    if item is None:
        return False
    home = item.__globals__ if isinstance(item, FunctionType) else vars(item)
    name, file = home.get("__name__"), home.get("__file__")
    top = name.partition(".")[0] if isinstance(name, str) else ""
    if not isinstance(file, str):
        return top in sys.stdlib_module_names
    return top == "funcgrad" or _is_installed(file)


@lru_cache(maxsize=1024)
def _is_installed(file: str) -> bool:
    return file.startswith(_PYTHON) or "site-packages" in file or "dist-packages" in file


_PYTHON = os.path.join(os.path.dirname(os.__file__), "")


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
