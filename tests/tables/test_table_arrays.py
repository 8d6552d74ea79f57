"""Arrays of Series and DataFrames of plain numbers, which adopted code copies and stores into."""

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

FLOWS = pd.Series([1.0, 3.0, 2.0, 5.0], index=list("abcd"))
TABLE = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "n": [1, 2, 3]})


def of_a_copy(x):
    made = FLOWS.values.copy()
    made[1:] *= x
    return np.sum(made**2)


def of_to_numpy(x):
    made = FLOWS.to_numpy(copy=True)
    made[0] = x**3
    return made.sum()


def of_a_product(x):
    made = FLOWS.to_numpy() * 2.0
    made[made > 5.0] = x * x
    return made.sum()


def of_a_frame(x):
    made = TABLE[["a", "b"]].values.copy()
    made[:, 1] = made[:, 0] * x
    return np.sum(made**2)


def of_a_column(x):
    made = TABLE["b"].to_numpy().copy()
    made[2] = np.sin(x)
    return np.sum(made * TABLE["n"].values)


@pytest.mark.parametrize("f", [of_a_copy, of_to_numpy, of_a_product, of_a_frame, of_a_column])
def test_copies_of_the_arrays_of_tables_take_traced_values(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    for g in (f, fg.adopt(f)):
        assert fg.grad(g)(0.7) == pytest.approx(slope, rel=1e-8)
        assert fg.jit(fg.grad(g))(0.7) == pytest.approx(slope, rel=1e-8)
        assert fg.jvp(g, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-8)
        bend = (fg.grad(g)(0.7 + 1e-5) - fg.grad(g)(0.7 - 1e-5)) / 2e-5
        assert fg.hessian(g)(0.7) == pytest.approx(bend, rel=1e-8, abs=1e-8)
        assert fg.vmap(fg.grad(g))(np.array([0.7])) == pytest.approx(slope, rel=1e-8)
    assert FLOWS.tolist() == [1.0, 3.0, 2.0, 5.0]
    assert TABLE["b"].tolist() == [4.0, 5.0, 6.0]


def test_a_store_of_a_traced_value_into_the_table_is_refused():
    def f(x):
        FLOWS.values[0] = x
        return FLOWS.sum()

    with pytest.raises((TypeError, ValueError), match=r"held here alone|read-only"):
        fg.grad(f)(0.7)
    assert FLOWS.iloc[0] == 1.0


def test_arrays_of_other_dtypes_are_pandas_own():
    def f(x):
        labels = pd.Series(["a", "b"]).values
        days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])).to_numpy()
        return x * len(labels) * ((days[1] - days[0]) / np.timedelta64(1, "D"))

    assert fg.grad(fg.adopt(f))(0.7) == 2.0
