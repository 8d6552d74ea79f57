"""``numpy.testing`` for adopted code: what code asserts of traced values is a question of Python's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy import testing

from funcgrad.arrays.reference import exported, holds_expr
from funcgrad.numpy import abs as magnitude
from funcgrad.numpy import allclose, array
from funcgrad.typing import Array


def _asserting(holds: Callable[..., Any]) -> Callable[..., None]:
    """NumPy's function of plain values; of traced ones, a question whether a condition holds."""
    own = getattr(testing, holds.__name__)

    @wraps(own)
    def asserted(x: object, y: object, *args: Any, err_msg: str = "", **kwargs: Any) -> None:
        if not holds_expr([x, y]):
            own(exported(x), exported(y), *args, err_msg=err_msg, **kwargs)
            return
        kwargs.pop("verbose", None)
        if not bool(np.all(holds(array(x), array(y), *args, **kwargs))):
            raise AssertionError(f"{own.__name__} does not hold of {x} and {y}. {err_msg}".strip())

    return asserted


@_asserting
def assert_allclose(
    actual: Array, desired: Array, rtol: float = 1e-7, atol: float = 0.0, equal_nan: bool = True
) -> Any:
    """As `numpy.testing.assert_allclose`."""
    return allclose(actual, desired, rtol, atol, equal_nan)


@_asserting
def assert_array_almost_equal(actual: Array, desired: Array, decimal: int = 6) -> Any:
    """As `numpy.testing.assert_array_almost_equal`."""
    return magnitude(desired - actual) < 1.5 * 10.0**-decimal


@_asserting
def assert_almost_equal(actual: Array, desired: Array, decimal: int = 7) -> Any:
    """As `numpy.testing.assert_almost_equal`."""
    return magnitude(desired - actual) < 1.5 * 10.0**-decimal


@_asserting
def assert_array_equal(actual: Array, desired: Array) -> Any:
    """As `numpy.testing.assert_array_equal`."""
    return (actual == desired) | ((actual != actual) & (desired != desired))


@_asserting
def assert_equal(actual: Array, desired: Array) -> Any:
    """As `numpy.testing.assert_equal`."""
    return (actual == desired) | ((actual != actual) & (desired != desired))


@_asserting
def assert_array_less(x: Array, y: Array) -> Any:
    """As `numpy.testing.assert_array_less`."""
    return x < y


globals().update({name: value for name, value in vars(testing).items() if name not in globals()})
