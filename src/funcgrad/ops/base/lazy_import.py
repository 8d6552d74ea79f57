"""Lazy imports of optional libraries: a module is imported when an attribute of it is first read."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when an attribute of it is first read.

    >>> math = LazyModule("math")
    >>> math.floor(2.5)
    2
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        # Inspection tools read private names from any object: they import nothing.
        if name.startswith("__") or (name.startswith("_") and self._module not in sys.modules):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(import_module(self._module), name)
        return found
