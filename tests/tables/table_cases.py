"""Tables of traced numbers, and checks of the derivatives of functions of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

X = np.array([0.71, 0.22, 0.93, 0.41, 0.52, 0.33])
WEIGHTS = np.array([1.0, -2.0, 3.0, 0.5, 1.5, 2.5])
DATES = pd.date_range("2024-01-01", periods=6, freq="D")
KEYS = ["u", "v", "u", "w", "v", "u"]


def with_nan(x: Any) -> Any:
    """A Series in which one value is missing."""
    return pd.Series(np.where(x > 0.8, np.nan, x))


def table(x: Any) -> Any:
    """A table of two traced columns and a plain one."""
    return pd.DataFrame({"a": x, "b": x[::-1] ** 2, "c": np.arange(6.0)})


def keyed(x: Any) -> Any:
    """The table with a column of text."""
    return table(x).assign(k=KEYS)


def weighed(made: Any) -> Any:
    """A number to which each entry contributes by a weight of its own; missing ones are left out."""
    values = made.to_numpy() if isinstance(made, pd.Series | pd.DataFrame) else made
    weights = np.cos(np.arange(float(np.size(values)))).reshape(np.shape(values))
    return np.nansum(values * weights)


def of_known(made: Any) -> Any:
    """The weighed entries of a Series."""
    return weighed(made)


def check(f: Callable[[Any], Any]) -> None:
    """Compare value and derivative, in both modes and jitted, with those of pandas on plain numbers."""
    h, v = 1e-6, np.cos(np.arange(6.0))
    value = f(X.copy())
    slopes = np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(6)])
    found, gradient = fg.value_and_grad(f)(X)
    assert found == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert gradient == pytest.approx(slopes, rel=1e-5, abs=1e-6)
    assert fg.jvp(f, (X,), (v,))[1] == pytest.approx(slopes @ v, rel=1e-5, abs=1e-6)
    assert fg.jit(fg.grad(f))(X) == pytest.approx(slopes, rel=1e-5, abs=1e-6)
