"""What a compiled function depends on beside its arguments: the closure cells and globals that it names."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np


class Watch:
    """The closure cells and globals that a function names: what they hold, compared by identity."""

    def __init__(self, f: Any) -> None:
        while hasattr(f, "__wrapped__"):
            f = f.__wrapped__
        code = getattr(f, "__code__", None)
        cells = getattr(f, "__closure__", None) or ()
        self.cells = list(zip(code.co_freevars, cells, strict=True)) if code else []
        home = getattr(f, "__globals__", {})
        names = code.co_names if code else ()
        # Modules are not bound anew.
        self.names = [n for n in names if n in home and not isinstance(home[n], ModuleType)]
        self.home = home

    def values(self) -> list[Any]:
        """What is held now."""
        held = [contents(cell) for _, cell in self.cells]
        return [*held, *[self.home.get(name) for name in self.names]]

    def unchanged(self, before: Sequence[Any]) -> bool:
        """Whether everything is what it was."""
        i = 0
        for _, cell in self.cells:
            if contents(cell) is not before[i]:
                return False
            i += 1
        for name in self.names:
            if self.home.get(name) is not before[i]:
                return False
            i += 1
        return True

    def changed(self, before: Sequence[Any]) -> list[str]:
        """The names of what is not."""
        names = [*[name for name, _ in self.cells], *self.names]
        now = self.values()
        return [n for n, old, new in zip(names, before, now, strict=True) if old is not new]

    def arrays(self) -> dict[int, Any]:
        """The arrays among what is held, by id."""
        return {id(v): v for v in self.values() if isinstance(v, np.ndarray)}


def contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None
