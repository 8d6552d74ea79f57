"""Tuples, lists and dicts of formulas that print the parts that they share once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from funcgrad.expr.registry import functions
from funcgrad.highlighted import highlighted


class _PrintedAsOne:
    """A container that prints as one let-form."""

    __slots__ = ()
    plain: ClassVar[Callable[..., Any]]
    """The class of Python that it extends."""

    def __repr__(self) -> str:
        text: str = functions["text_of_tree"](type(self).plain(self))
        return text

    def __rich__(self) -> Any:
        return highlighted(repr(self))


class FormulaTuple(_PrintedAsOne, tuple[Any, ...]):
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
    plain = tuple


class FormulaList(_PrintedAsOne, list[Any]):
    """A list of formulas that prints as one let-form."""

    __slots__ = ()
    plain = list


class FormulaDict(_PrintedAsOne, dict[Any, Any]):
    """A dict of formulas that prints as one let-form.

    >>> import funcgrad as fg
    >>> y = fg.sqrt(fg.exp(fg.var("x")))
    >>> FormulaDict(value=y, twice=y + y)
    let a = sqrt(exp(x))
    in {'value': a, 'twice': a + a}
    """

    __slots__ = ()
    plain = dict


_CLASSES: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {tuple: FormulaTuple, list: FormulaList, dict: FormulaDict}
)
"""The class of formulas for each of Python's containers."""


def formulas(tree: object) -> Any:
    """A tree of formulas, where a tuple, a list or a dict prints shared parts once."""
    made = _CLASSES.get(type(tree))
    return tree if made is None else made(tree)
