"""SciPy's functions without a composition here: its own of plain values, its adopted code of traced ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from types import FunctionType, MethodType, ModuleType
from typing import Any

from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr


def attribute_of(module: ModuleType, name: str) -> Any:
    """An attribute of SciPy's module; functions of Python code and distributions take traced values."""
    value = getattr(module, name)
    if name[0] == "_":
        return value
    if isinstance(value, FunctionType):
        return _function(f"funcgrad.{module.__name__}", value)
    is_distribution = hasattr(value, "rvs") and not isinstance(value, type)
    return _distribution(value, name) if is_distribution else value


def of_scipy_or_adopted(
    own: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """SciPy's function of these arguments, its adopted code where one is traced."""
    if not holds_expr([*args, *kwargs.values()]):
        return own(*args, **kwargs)
    return functions["call_adopted"](own, args, kwargs)


def adopted_where_traced(own: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function or method, its adopted code where an argument is traced."""

    @wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        return of_scipy_or_adopted(own, args, kwargs)

    return function


@lru_cache(maxsize=1024)
def _function(home: str, own: FunctionType) -> Callable[..., Any]:
    function = adopted_where_traced(own)
    function.__module__ = home
    function.scipys_own = own  # type: ignore[attr-defined]
    return function


class ScipysDistribution:
    """A distribution of SciPy's, whose methods take traced values."""

    def __init__(self, own: Any, name: str) -> None:
        self.scipys_own, self._name = own, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return of_scipy_or_adopted(self.scipys_own, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("scipys_own", "_name"):
            raise AttributeError(name)
        value = getattr(self.scipys_own, name)
        return adopted_where_traced(value) if isinstance(value, MethodType) else value

    def __dir__(self) -> list[str]:
        return dir(self.scipys_own)

    def __repr__(self) -> str:
        return f"funcgrad.scipy.stats.{self._name}"


_distribution = lru_cache(maxsize=256)(ScipysDistribution)
