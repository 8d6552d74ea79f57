"""``x.at[index]``: functional updates, with the names and keywords of `jax.numpy`.

An index that is out of bounds is an error, unless a mode says what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.expr.registry import functions
from funcgrad.source import type_error, value_error
from funcgrad.typing import ArrayLike


class At:
    """``x.at``: index it, then say how the entries change."""

    __slots__ = ("_expr", "_finish")

    def __init__(self, expr: Any, finish: Callable[[Any], Any] = lambda made: made) -> None:
        self._expr = expr
        self._finish = finish

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._expr, index, self._finish)

    def __getattr__(self, name: str) -> Any:
        known = not name.startswith("_") and hasattr(AtIndex, name)
        hint = f"; write x.at[i].{name}(v), or x.at[...].{name}(v) for all entries" if known else ""
        raise AttributeError(f"'At' object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"({self._expr!r}).at; index it and say how its entries change, as in x.at[i].set(v)"


class AtIndex:
    """``x.at[index]``: the entries of a new array that will differ from ``x``.

    Each method takes ``mode``: "clip" moves an index out of bounds to the
    nearest entry, "drop" leaves such an update out, and "fill" reads
    ``fill_value`` there. The hints ``indices_are_sorted`` and
    ``unique_indices`` of JAX change nothing.
    """

    __slots__ = ("_expr", "_finish", "_index")

    def __init__(
        self, expr: Any, index: object, finish: Callable[[Any], Any] = lambda made: made
    ) -> None:
        self._expr = expr
        self._index = index
        self._finish = finish

    def __repr__(self) -> str:
        return f"({self._expr!r}).at[{self._index!r}]; say how its entries change, as in x.at[i].set(v)"

    def _update(self, how: str, value: ArrayLike, options: dict[str, Any]) -> Any:
        mode = _mode(options, "update")
        return self._finish(functions["index_update"](self._expr, self._index, value, how, mode))

    def _by_ones(self, value: ArrayLike, options: dict[str, Any]) -> Any:
        ones = functions["ones_like"](self._expr)
        return AtIndex(ones, self._index).multiply(value, **options)

    def get(self, *, fill_value: Any = None, **options: Any) -> Any:
        """The entries themselves, ``x[index]``."""
        mode = _mode(options, "get")
        if mode is None:
            return self._finish(self._expr[self._index])
        return self._finish(functions["index_get"](self._expr, self._index, mode, fill_value))

    def set(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries replaced by ``value``."""
        return self._update("set", value, options)

    def add(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with ``value`` added to the entries; a repeated index adds each time."""
        return self._update("add", value, options)

    def subtract(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with ``value`` subtracted from the entries; a repeated index subtracts each time."""
        return self._update("add", functions["negative"](value), options)

    def multiply(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries multiplied by ``value``; a repeated index multiplies each time."""
        return self._update("multiply", value, options)

    mul = multiply

    def divide(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries divided by ``value``."""
        return self._finish(self._expr / self._by_ones(value, options))

    def power(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries raised to the power of ``value``."""
        return self._finish(self._expr ** self._by_ones(value, options))

    def min(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries' minimum with ``value``."""
        return self._update("minimum", value, options)

    def max(self, value: ArrayLike, **options: Any) -> Any:
        """``x`` with the entries' maximum with ``value``."""
        return self._update("maximum", value, options)

    def apply(self, function: Callable[[Any], Any], **options: Any) -> Any:
        """``x`` with ``function`` of the entries in their place; each entry is named once."""
        return self._update("apply", function, options)  # type: ignore[arg-type]


_HINTS = ("indices_are_sorted", "unique_indices", "out_sharding")
_MODES = {"update": ("clip", "drop", "fill"), "get": ("clip", "fill")}
"""In an update, JAX's "fill" is its "drop"."""


def _mode(options: dict[str, Any], use: str) -> str | None:
    """The mode, None if indices are within bounds."""
    unknown = [name for name in options if name not in (*_HINTS, "mode")]
    if unknown:
        raise type_error(f"at[...]: expected mode or {', '.join(_HINTS)}, but got {unknown[0]}")
    given: Any = options.get("mode")
    mode = str(getattr(given, "name", given)).lower()  # as an enum of JAX's
    mode = {"fill_or_drop": "fill"}.get(mode, mode)
    if mode in ("none", "promise_in_bounds"):
        return None
    if mode not in _MODES[use]:
        known = ", ".join(map(repr, _MODES[use]))
        raise value_error(
            f"at[...]: expected mode {known} or 'promise_in_bounds', but got {given!r}",
        )
    return mode
