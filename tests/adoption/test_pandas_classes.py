"""Questions for the classes of pandas in adopted code, by `type`."""

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

X = np.array([1.0, 2.0, 3.0])
TABLE = pd.DataFrame({"a": [4.0, 5.0, 6.0]})


def by_name(x):
    table = pd.DataFrame({"a": x})
    return (table["a"] ** 2).sum() if type(table) is pd.DataFrame else x.sum()


def by_module(x):
    table = pd.DataFrame({"a": x})
    return (table["a"] ** 2).sum() if type(table) is pd.core.frame.DataFrame else x.sum()


def of_a_column(x):
    column = TABLE["a"] * x
    is_one = type(column) == pd.Series and type(TABLE["a"]) is pd.core.series.Series  # noqa: E721
    return (column * x / 4.0).sum() if is_one else x.sum()


def by_isinstance(x):
    table = pd.DataFrame({"a": x})
    is_one = isinstance(table, pd.core.frame.DataFrame) and issubclass(type(table), pd.DataFrame)
    return (table["a"] ** 2).sum() if is_one else x.sum()


@pytest.mark.parametrize("f", [by_name, by_module, of_a_column, by_isinstance])
def test_types_of_tables_are_pandas_classes(f):
    slope = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    for g in (f, fg.adopt(f)):
        np.testing.assert_allclose(fg.grad(g)(X), slope, rtol=1e-7)
        np.testing.assert_allclose(fg.jit(fg.grad(g))(X), slope, rtol=1e-7)
        assert fg.jvp(g, (X,), (np.ones(3),))[1] == pytest.approx(sum(slope), rel=1e-7)
        assert np.trace(fg.hessian(g)(X)) != 0.0
