"""A row of the table: a function of another package, its arguments, and the argument that is differentiated.

The functions run as their authors wrote them. The oracle calls them on plain NumPy arrays and takes central
differences, extrapolated to step 0 (Ridders), so it shares nothing with funcgrad.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class D:
    """The argument to differentiate: a number, an array, or nested lists and tuples of them."""

    value: Any


@dataclass(frozen=True)
class Case:
    """``function`` is "package.module.name", or a function that imports its package when it is called."""

    function: str | Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    step: float = 4e-3
    """The oracle's first step, relative to the entry that it moves."""

    @property
    def name(self) -> str:
        path = self.function if isinstance(self.function, str) else self.function.__name__
        return f"{path}[{self.label}]" if self.label else path

    @property
    def package(self) -> str:
        if isinstance(self.function, str):
            return self.function.split(".")[0]
        return self.function.__globals__["PACKAGES"][self.function.__name__]

    @property
    def point(self) -> Any:
        """A copy of the value of the argument to differentiate: functions of the case capture the value."""
        (found,) = [item.value for item in self._given() if isinstance(item, D)]
        return copy.deepcopy(found)

    def _given(self) -> list[Any]:
        return [*self.arguments, *self.keywords.values()]

    def target(self) -> Callable[..., Any]:
        """The function itself, imported."""
        if not isinstance(self.function, str):
            return self.function
        names = self.function.split(".")
        for length in range(len(names) - 1, 0, -1):
            try:
                found = importlib.import_module(".".join(names[:length]))
            except ModuleNotFoundError:
                continue
            for name in names[length:]:
                found = getattr(found, name)
            return found
        raise ModuleNotFoundError(self.function)

    def scalar(self, function: Callable[..., Any]) -> Callable[[Any], Any]:
        """A weighted sum of all numbers that the function returns, as a function of the marked argument."""

        def weighted(value: Any) -> Any:
            def fill(item: Any) -> Any:
                return value if isinstance(item, D) else copy.deepcopy(item)

            positional = [fill(item) for item in self.arguments]
            named = {key: fill(item) for key, item in self.keywords.items()}
            return weighted_sum(function(*positional, **named))

        return weighted


def weighted_sum(result: Any) -> Any:
    """A real number to which every number of a result contributes with a weight of its own."""
    total: Any = 0.0
    for place, part in enumerate(numbers(result)):
        weights = np.cos(1.0 + place + np.arange(np.size(part))).reshape(np.shape(part))
        total = total + np.sum(weights * np.real(part))
        if np.iscomplexobj(part):
            total = total + np.sum((weights - 0.3) * np.imag(part))
    return total


def numbers(result: Any) -> Iterator[Any]:
    """The numbers and arrays in nested tuples, lists and dicts."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from numbers(part)
    elif not isinstance(result, (str, bool, type(None), np.bool)):
        yield result


# ---- the oracle --------------------------------------------------------------


def finite_differences(
    f: Callable[[Any], Any], point: Any, step: float = 4e-3
) -> tuple[np.ndarray, float]:
    """The gradient of f at a point, flattened, and an estimate of its error."""
    at = flat(point)
    sizes = np.where(at == 0.0, np.max(np.abs(at)) or 1.0, np.abs(at))
    found = [_ridders(_along(f, point, at, k), at[k], step * sizes[k]) for k in range(at.size)]
    return np.array([value for value, _ in found]), max([0.0, *(error for _, error in found)])


def _along(
    f: Callable[[Any], Any], point: Any, at: np.ndarray, index: int
) -> Callable[[float], float]:
    def moved(entry: float) -> float:
        shifted = at.copy()
        shifted[index] = entry
        with np.errstate(all="ignore"):
            return float(np.real(f(unflat(point, shifted))))

    return moved


def _ridders(f: Callable[[float], float], at: float, first: float) -> tuple[float, float]:
    """Central differences at steps that shrink by 1.6, extrapolated; the entry with the least error."""
    best, best_error = np.nan, np.inf
    row: list[float] = []
    for step in first / 1.6 ** np.arange(9):
        new = [(f(at + step) - f(at - step)) / ((at + step) - (at - step))]
        factor = 1.0
        for k in range(min(len(row), 4)):
            factor *= 1.6**2
            new.append((factor * new[k] - row[k]) / (factor - 1.0))
            error = max(abs(new[k + 1] - new[k]), abs(new[k + 1] - row[k]))
            if error < best_error:
                best, best_error = new[k + 1], error
        row = new
    return best, best_error


def flat(point: Any) -> np.ndarray:
    """All numbers of a tree, as one vector."""
    if isinstance(point, (tuple, list)):
        return np.concatenate([flat(part) for part in point])
    return np.array(point, float).ravel()


def unflat(like: Any, vector: np.ndarray) -> Any:
    """The tree of which `flat` makes this vector."""
    if isinstance(like, (tuple, list)):
        parts = []
        for part in like:
            parts.append(unflat(part, vector[: flat(part).size]))
            vector = vector[flat(part).size :]
        return type(like)(parts)
    if np.ndim(like):
        return vector.reshape(np.shape(like)).copy()
    return float(vector[0])
