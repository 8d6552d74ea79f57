"""Arrays that take stores beside Series and DataFrames of traced columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

from tests.tables.table_cases import X, check, table, weighed  # noqa: E402


def traced_array(x: Any) -> Any:
    """An array into which traced values have been stored."""
    made = np.arange(1.0, 7.0)
    made[1:3] = x[:2]
    return made


def all_of(x: Any) -> Any:
    made = np.zeros(6)
    made[:] = pd.Series(x)
    return weighed(made**2)


def column(x: Any) -> Any:
    made = np.zeros((6, 2))
    made[:, 0] = table(x)["b"]
    return weighed(made**2)


def row(x: Any) -> Any:
    made = np.zeros((2, 6))
    made[0], made[1] = pd.Series(x), pd.Series(x).cumsum()
    return weighed(made**2)


def masked(x: Any) -> Any:
    made, s = np.zeros(6), pd.Series(x)
    made[s > 0.5] = s[s > 0.5]
    return weighed(made**2)


def frame(x: Any) -> Any:
    made = np.zeros((6, 3))
    made[:] = table(x)
    return weighed(made**2)


def in_place(x: Any) -> Any:
    made, s = np.ones(6), pd.Series(x)
    made += s
    made *= s
    return weighed(made)


def out(x: Any) -> Any:
    made, s = np.zeros(6), pd.Series(x)
    np.multiply(s, s, out=made)
    return weighed(made)


def out_where(x: Any) -> Any:
    made, s = np.zeros_like(pd.Series(x)), pd.Series(x)
    return weighed(np.divide(1.0, s, out=made, where=s > 0.5))


def out_where_of_arrays(x: Any) -> Any:
    made = np.divide(1.0, traced_array(x), out=np.zeros(6), where=pd.Series(x).diff() > 0)
    return weighed(made) + weighed(np.multiply(x, x, out=np.zeros(6), where=pd.Series(x) > 0.5))


def copied(x: Any) -> Any:
    made = np.ones(6)
    np.copyto(made, pd.Series(x), where=np.arange(6) > 2)
    np.putmask(made, np.arange(6) < 2, pd.Series(x))
    return weighed(made**2)


STORES = [all_of, column, row, masked, frame, in_place, out, out_where, out_where_of_arrays, copied]


@pytest.mark.parametrize("f", STORES)
def test_stores_of_traced_columns_into_arrays(f):
    check(f)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, s: a + s,
    "subtract": lambda a, s: a - s,
    "multiply": lambda a, s: a * s,
    "divide": lambda a, s: a / s,
    "power": lambda a, s: a**s,
    "remainder": lambda a, s: a % (s + 1.1),
    "matmul": lambda a, s: a @ s,
    "ufunc": lambda a, s: np.hypot(a, s),
    "condition": lambda a, s: np.where(a < s, a, s),
}


@pytest.mark.parametrize("f", OPERATORS.values(), ids=OPERATORS.keys())
@pytest.mark.parametrize("adopt", [False, True])
def test_operators_of_an_array_of_traced_values_and_a_column(f, adopt):
    def left(x):
        return weighed(f(traced_array(x), pd.Series(x)))

    def right(x):
        return weighed(f(pd.Series(x), traced_array(x)))

    for function in (left, right):
        check(fg.adopt(function) if adopt else function)


def square(x: Any) -> Any:
    """A traced array of the table's shape."""
    return np.outer(x, x[:3])


FRAMES: dict[str, Callable[[Any], Any]] = {
    "an array": lambda x: table(x) * square(x),
    "an array at the left": lambda x: square(x) - table(x),
    "a plain table": lambda x: (table(X) + 1.0) / square(x),
    "a column": lambda x: table(x) * square(x)[:, :1],
    "a row": lambda x: table(x) + square(x)[:1],
    "a method": lambda x: table(x).mul(square(x) + 1.0),
    "a comparison": lambda x: table(x)[table(x) > square(x)],
    "fmin": lambda x: np.fmin(table(x) - 0.5, 0),
    "maximum": lambda x: np.maximum(0.5, table(x)),
    "two tables": lambda x: np.hypot(table(x), table(x + 1.0)),
    "a table and an array": lambda x: np.hypot(table(X), square(x)),
    "an array and a table": lambda x: np.hypot(square(x), table(x)),
    "a table and a row": lambda x: np.hypot(table(x), x[:3]),
    "other labels": lambda x: np.hypot(table(x), table(x).iloc[[2, 0, 1, 4], [1, 0]]),
    "two results": lambda x: np.modf(3.3 * table(x))[0],
    "the method dot": lambda x: square(x).dot(pd.Series(x[:3])),
    "dot of a plain array": lambda x: np.diag(X).dot(table(x)),
}


@pytest.mark.parametrize("f", FRAMES.values(), ids=FRAMES.keys())
def test_operators_and_ufuncs_of_tables_and_arrays(f):
    made = f(X)
    found = fg.jit(f)(X)
    if isinstance(made, pd.DataFrame):
        pd.testing.assert_frame_equal(found, made)
    check(lambda x: weighed(f(x)))


def test_an_array_that_does_not_fit_a_table_is_refused_as_by_pandas():
    with pytest.raises(ValueError, match="Unable to coerce to DataFrame, shape must be"):
        fg.grad(lambda x: weighed(table(x) * np.outer(x, x)))(X)


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "zeros_like": lambda x: weighed(np.zeros_like(pd.Series(x)) + pd.Series(x)),
    "ones_like": lambda x: weighed(np.ones_like(table(x)) * table(x).to_numpy()),
    "full_like": lambda x: weighed(np.full_like(pd.Series(x), 2.0) * x),
    "array": lambda x: weighed(np.array([pd.Series(x), pd.Series(x) ** 2])),
    "asarray": lambda x: weighed(np.asarray((table(x)["a"], table(x)["b"]))),
    "mean": lambda x: weighed(np.mean([pd.Series(x), pd.Series(x) ** 2], axis=0)),
    "vectorize": lambda x: weighed(np.vectorize(lambda v: v * v)(pd.Series(x))),
}


@pytest.mark.parametrize("f", ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_made_of_traced_columns(f):
    check(f)


def test_second_derivatives_of_a_store_of_a_column():
    hessian = fg.hessian(all_of)(X)
    assert hessian == pytest.approx(2 * np.diag(np.cos(np.arange(6.0))))


def masked_stores(x: Any) -> Any:
    made, mask = table(x), traced_array(x) > 2.5
    made.loc[mask, "c"] = x[0]
    made.loc[list(~mask), "a"] = x[1] ** 2
    made["d"] = 1.0
    made[mask] = made[mask] * x[2]
    column = made["c"].copy()
    column[mask] = x[3]
    return weighed(made) + weighed(column)


def placed_stores(x: Any) -> Any:
    made, order = table(x), np.argsort(traced_array(x))
    made.iloc[order[:2], 2] = x[0]
    made.iat[order[3], 1] = x[1] ** 2
    return weighed(made)


KEYS_OF_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "a mask of a Series": lambda x: weighed(pd.Series(x)[traced_array(x) > 2.5]),
    "a mask of a plain Series": lambda x: (
        x[0] * pd.Series(np.arange(6.0))[traced_array(x) > 2.5].sum()
    ),
    "a mask of no traced values": lambda x: weighed(table(x).a[traced_array(np.zeros(6)) >= 0.0]),
    "a mask of a table": lambda x: weighed(table(x)[traced_array(x) > 2.5]),
    "a list of truths": lambda x: weighed(table(x)[list(traced_array(x) > 2.5)]),
    "loc": lambda x: weighed(table(x).loc[traced_array(x) > 2.5, ["a", "c"]]),
    "iloc": lambda x: weighed(table(x).iloc[np.argsort(traced_array(x))[:3], 1]),
    "groups": lambda x: weighed(table(x).groupby(np.array([0, 1, 0, 1, 1, 0])).sum()),
    "groups of a column": lambda x: weighed(table(x).a.groupby(traced_array(x) > 2.5).sum()),
    "an index": lambda x: weighed(table(x).set_index(np.arange(6))),
    "a place": lambda x: table(x).b.iloc[np.argmax(traced_array(x))],
    "where": lambda x: weighed(table(x).b.where(traced_array(x) > 2.5, 0.0)),
    "masked stores": masked_stores,
    "stores at places": placed_stores,
}


@pytest.mark.parametrize("f", KEYS_OF_ARRAYS.values(), ids=KEYS_OF_ARRAYS.keys())
def test_masks_and_places_of_traced_values_are_keys(f):
    check(f)
    points = np.stack([X, X[::-1], X**2 + 0.1])
    batched = fg.vmap(fg.grad(fg.adopt(f)))(points)
    np.testing.assert_allclose(batched, [fg.grad(f)(x) for x in points], rtol=1e-12)


def test_a_mask_that_stands_for_any_value_is_refused():
    def body(c, x):
        return c * x + pd.Series(np.arange(6.0))[np.arange(6.0) * c > 2.0].sum(), x

    with pytest.raises(TypeError, match="an index of pandas"):
        fg.grad(lambda x: fg.scan(fg.adopt(body), x[0], x)[0])(X)


def test_assigned_numbers_are_values(monkeypatch):
    # An expression can be called, and pandas calls what can be called.
    check(lambda x: weighed(table(x).assign(d=x[0] ** 2, e=lambda made: made.d * x[1], f=x)))
    monkeypatch.setattr(
        "pandas.core.computation.check.NUMEXPR_INSTALLED", True
    )  # it is compiled code
    check(lambda x: (lambda rate: weighed(table(x).eval("a * @rate + b")))(x[0]))
    check(lambda x: (lambda limit: weighed(table(x).query("c > @limit")))(x[0]))


def test_ufuncs_with_out_give_a_series_as_pandas_does() -> None:
    """The labels are those of an operand, or of the condition; the values are those of the array."""

    def f(x: Any) -> Any:
        s = pd.Series(x, index=list("uvwxyz"))
        made = np.multiply(x, 2 * x, out=np.zeros(6), where=s > 0.4)
        assert isinstance(made, pd.Series)
        other = np.divide(x, s, out=np.ones(6))
        return made["u"] * other["v"] + weighed(made.values**2) + np.divide(s, 2, out=x * 1.0).u

    check(f)
