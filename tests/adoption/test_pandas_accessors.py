"""Accessors that users register with pandas run as adopted code."""

import math

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

FACTOR = [2.0]


class OfRows:
    def __init__(self, table):
        self.table = table

    @property
    def center(self):
        return float(self.table["a"].mean()) * FACTOR[0]

    def waves(self, rate):
        if not isinstance(rate, float):
            return 0.0
        return np.array([math.sin(value * rate) for value in self.table["a"]]).sum()


class OfValues:
    def __init__(self, values):
        self.values = values

    def power(self, n):
        return np.asarray([math.pow(value, n) for value in self.values]).sum()


def check(f, x=1.3):
    h = 1e-6
    slope = (f(x + h) - f(x - h)) / (2 * h)
    for derivative in (fg.grad(f), fg.grad(fg.adopt(f)), fg.jit(fg.grad(f))):
        assert derivative(x) == pytest.approx(slope, rel=1e-7)
    assert fg.jvp(f, (x,), (1.0,)) == pytest.approx((f(x), slope), rel=1e-7)
    batched = fg.vmap(fg.grad(f))(np.array([x, 0.7]))
    assert batched == pytest.approx([slope, fg.grad(f)(0.7)], rel=1e-7)


@pytest.fixture
def accessors():
    pd.api.extensions.register_dataframe_accessor("of_rows")(OfRows)
    pd.api.extensions.register_series_accessor("of_values")(OfValues)
    yield
    for kind, name in ((pd.DataFrame, "of_rows"), (pd.Series, "of_values")):
        delattr(kind, name)
        kind._accessors.discard(name)


def test_accessors_are_adopted(accessors):
    check(lambda x: pd.DataFrame({"a": [x, 2.0, x * x]}).of_rows.center)
    check(lambda x: pd.DataFrame({"a": [x, 2.0, x * x]}).of_rows.waves(x))
    check(lambda x: pd.DataFrame({"a": [x, 2.0]})["a"].of_values.power(2.0))
    held = pd.DataFrame({"a": [1.0, 2.0]})
    check(lambda x: held.of_rows.waves(x) + held.a.of_values.power(x))
    assert fg.grad(lambda table: table.of_rows.center)(held)["a"].tolist() == [1.0, 1.0]
    assert type(held.of_rows) is OfRows


def test_accessors_that_are_registered_again_are_those_of_now(accessors):
    def f(x):
        return pd.DataFrame({"a": [x, 2.0]}).again.slope

    for factor in (3.0, 4.0):

        class Again:
            def __init__(self, table):
                self.table = table

            @property
            def slope(self, factor=factor):
                return math.exp(factor * self.table["a"].iloc[0])

        if hasattr(pd.DataFrame, "again"):
            del pd.DataFrame.again
            pd.DataFrame._accessors.discard("again")
        pd.api.extensions.register_dataframe_accessor("again")(Again)
        assert fg.grad(f)(0.1) == pytest.approx(factor * math.exp(0.1 * factor))
    del pd.DataFrame.again
    pd.DataFrame._accessors.discard("again")
    with pytest.raises(AttributeError, match="again"):
        fg.grad(f)(0.1)
