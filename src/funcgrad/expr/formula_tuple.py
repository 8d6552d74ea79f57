"""A tuple of formulas that prints the parts that they share once."""

from __future__ import annotations

from typing import Any

from funcgrad.expr.registry import functions
from funcgrad.highlighted import highlighted


class FormulaTuple(tuple[Any, ...]):
    """A tuple of formulas, or of trees of them: equal to the plain tuple, and printed as one let-form.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = fg.exp(x)
    >>> FormulaTuple((y * x, y * x + y))
    let a = exp(x)
        b = a*x
    in (b, b + a)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        text: str = functions["text_of_tree"](tuple(self))
        return text

    def __rich__(self) -> Any:
        return highlighted(repr(self))


def formulas(tree: object) -> Any:
    """A tree of formulas, where a tuple prints shared parts once."""
    return FormulaTuple(tree) if type(tree) is tuple else tree
