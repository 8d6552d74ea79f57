"""A tuple of formulas that prints the parts that they share once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funcgrad.expr.registry import functions
from funcgrad.printed_text import highlighted


class FormulaTuple(tuple[Any, ...]):
    """A tuple of formulas, or of trees of them: equal to the plain tuple, and printed as one let-form.

    To JAX, optree and PyTorch it is a named tuple without names, and so a tree of its entries.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = fg.exp(x)
    >>> FormulaTuple(y * x, y * x + y)
    let a = exp(x)
        b = a*x
    in (b, b + a)
    """

    __slots__ = ()
    _fields = ()

    def __new__(cls, *parts: Any) -> FormulaTuple:
        return super().__new__(cls, parts)

    @classmethod
    def _make(cls, parts: Iterable[Any]) -> FormulaTuple:
        return cls(*parts)

    def _asdict(self) -> dict[str, Any]:
        return {}

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        text: str = functions["text_of_tree"](tuple(self))
        return text

    def __rich__(self) -> Any:
        return highlighted(repr(self))


def formulas(tree: object) -> Any:
    """A tree of formulas, where a tuple prints shared parts once."""
    return FormulaTuple(*tree) if type(tree) is tuple else tree
