"""Modules that are imported when something of theirs is first asked for, since they may be missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module in whose place this stands until it is needed.

    >>> math = Later("math")
    >>> math.floor(2.5)
    2
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python's tools ask of any object
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(import_module(self._module), name)
        return found
