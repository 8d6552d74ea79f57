"""Distributions of which the methods without a formula here are SciPy's own, for traced values, too."""

from __future__ import annotations

from functools import wraps
from typing import Any

from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.python_functions import of_scipy_or_adopted
from funcgrad.scipy.stats.distribution import BY_SCIPYS_CODE, Continuous, Frozen
from funcgrad.typing import ArrayLike


class Continued(Continuous):
    """A continuous distribution: moments and the like are those that SciPy's code gives."""

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.own)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in BY_SCIPYS_CODE:
            return self.by_scipys_code(name)
        found = getattr(self.adoptable if name[0] != "_" else self.own, name)
        if not callable(found):
            return found
        return wraps(found)(lambda *args, **kwds: of_scipy_or_adopted(found, args, kwds))

    def __call__(self, *args: ArrayLike, **kwds: ArrayLike) -> ContinuedFrozen:
        """The distribution with the given parameters, as SciPy's `freeze`."""
        return ContinuedFrozen(self, args, kwds)

    freeze = __call__


class ContinuedFrozen(Frozen):
    """A distribution with its parameters: moments and the like are those that SciPy's code gives."""

    distribution: Continued

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not holds_expr([*self.args, *self.kwds.values()]):
            return super().__getattr__(name)
        own = self.distribution.adoptable
        found = getattr(functions["call_adopted"](own, self.args, self.kwds), name)
        if not callable(found):
            return found
        return lambda *args, **kwds: functions["call_adopted"](found, args, kwds)
