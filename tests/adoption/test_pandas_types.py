"""pandas's questions for types, of traced values in adopted code."""

import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("pandas")
from pandas.api import types
from pandas.api.types import is_list_like, is_number, is_scalar

OF_NUMBERS = {
    "is_scalar": lambda x: is_scalar(x),
    "is_number": lambda x: is_number(x),
    "is_list_like": lambda x: not is_list_like(x),
    "types.is_float": lambda x: types.is_float(x) and not types.is_integer(x),
    "types.is_bool": lambda x: types.is_bool(x > 0) and not types.is_bool(x),
}
OF_ARRAYS = {
    "is_list_like": lambda x: is_list_like(x) and not is_scalar(x),
    "is_array_like": lambda x: types.is_array_like(x),
    "dtypes": lambda x: types.is_float_dtype(x) and types.is_numeric_dtype(x.dtype),
    "of another": lambda x: not types.is_integer_dtype(x) and not types.is_object_dtype(x),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_a_traced_number_is_a_number(name):
    asked = OF_NUMBERS[name]

    def f(x):
        return x * x if asked(x) else 0.0 * x

    assert fg.grad(f)(3.0) == 6.0
    assert fg.jit(fg.grad(f))(3.0) == 6.0
    assert fg.vmap(fg.grad(f))(np.array([3.0])) == 6.0


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_traced_array_is_an_array(name):
    asked = OF_ARRAYS[name]

    def f(x):
        return (x * x).sum() if asked(x) else 0.0 * x.sum()

    assert fg.grad(f)(np.array([3.0, 1.0])).tolist() == [6.0, 2.0]
