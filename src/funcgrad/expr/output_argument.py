"""``out``, the array that a function of NumPy's writes its result to, given by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any


def with_out_by_name(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, where ``out`` and those after it are given by name.

    >>> import numpy as np
    >>> with_out_by_name(np.clip, (1.0, 0.0, 2.0, None), {})
    ((1.0, 0.0, 2.0), {'out': None})
    """
    if len(args) < 2:
        return args, kwargs
    first, names = _names_from_out(func)
    if len(args) <= first:
        return args, kwargs
    return args[:first], {**dict(zip(names, args[first:], strict=False)), **kwargs}


@lru_cache(maxsize=512)
def _names_from_out(func: Callable[..., Any]) -> tuple[int, tuple[str, ...]]:
    """The place of ``out`` among the arguments by position, and the names from there on."""
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return 64, ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    place = names.index("out") if "out" in names else 64
    return place, tuple(names[place:])
