"""Stores of traced values in Series and DataFrames, and what they reach."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

from tests.tables.table_cases import KEYS, WEIGHTS, X, check, table, weighed  # noqa: E402

COPIES = int(pd.__version__.partition(".")[0]) >= 3
"""Whether pandas copies on write."""


EVEN = np.arange(6) % 2 == 0


def _statements(text: str) -> Callable[[Any, Any], None]:
    space: dict[str, Any] = {}
    body = "\n".join(f"    {line}" for line in text.split("\n"))
    exec(f"def store(d, x):\n{body}", {**globals()}, space)
    found: Callable[[Any, Any], None] = space["store"]
    return found


def _check_or_refused(f: Callable[[Any], Any]) -> None:
    """Before pandas 3, a store that may reach another object is refused."""
    if not COPIES:
        try:
            fg.grad(f)(X)
        except (TypeError, ValueError) as error:
            assert "write to a" in str(error) or "read-only" in str(error)  # noqa: PT017
            return
    check(f)


_FRAMES: dict[str, Callable[[Any], Any]] = {
    "traced": table,
    "plain": lambda x: pd.DataFrame({"a": WEIGHTS, "b": WEIGHTS**2, "c": np.arange(6.0)}),
}

_IN_FRAMES = (
    'd.loc[1, "a"] = x[0] ** 2',
    "d.iloc[1, 0] = x[0] ** 2",
    'd.at[1, "a"] = x[0] ** 2',
    "d.iat[1, 0] = x[0] ** 2",
    'd.loc[d["a"] > 0.45, "b"] = x[0]',
    'd.loc[d["a"] > 0.45, "b"] = 2 * x[0] * d["a"]',
    'd.loc[:, "a"] = x**2',
    'd["y"] = x**2 * d["a"]',
    'd["y"] = x[0]',
    'd.at[1, "y"] = x[0] ** 2',
    'd.loc[1, "y"] = x[0] ** 2',
    'd.loc[d["a"] > 0.45, "y"] = x[0]',
    'd.loc[EVEN, "y"] = 2 * x[0] * d["a"]',
    'd.loc[EVEN, "y"] = WEIGHTS[EVEN]; d["y"] *= x[0]',
    'd.loc[EVEN, "b"] = x[:3]',
    'd["y"] = np.array([x[0], x[1], 1.0, 2.0, x[2], 0.0])',
    'd["y"] = [x[0], x[1], 1.0, 2.0, x[2], 0.0]',
    'd["a"] += x[0]',
    'd["a"] *= x[0] * d["b"]',
    "d.loc[2] = x[:3]",
    "d.loc[6] = [x[0], x[1], 1.0]",
    'd.loc[6] = {"a": x[0], "b": x[1], "c": 2.0}',
    "d.iloc[1:3, 0] = x[:2]",
    "d[d > 0.5] = x[0]",
    "d.iloc[0] = x[0]",
    'd[["a", "b"]] = d[["b", "a"]] * x[0]',
    'd[["p", "q"]] = np.array([x, x**2]).T',
    'd["a"] = d["a"].where(d["a"] > 0.45, x[1])',
    'd["a"] = d["a"].clip(upper=x[1])',
    'd.insert(0, "n", x**2)',
    'd["g"] = KEYS\nd.loc[d["g"] == "u", "a"] = x[0]\ndel d["g"]',
    'for i in range(1, 6):\n    d.loc[i, "a"] = x[i] * d.loc[i - 1, "a"]',
    "for i in range(6):\n    d.iloc[i, 0] = x[i] * d.iloc[i, 1]",
    'd["z"] = x\nd.drop(columns=["a"], inplace=True)\nd.rename(columns={"z": "y"}, inplace=True)',
    "d.mask(d > 0.5, x[0], inplace=True)",
)


@pytest.mark.filterwarnings("ignore")  # of pandas 2, for dtypes that change
@pytest.mark.parametrize("text", _IN_FRAMES)
@pytest.mark.parametrize("kind", _FRAMES)
def test_stores_in_a_frame(kind: str, text: str) -> None:
    store, made = _statements(text), _FRAMES[kind]

    def f(x: Any) -> Any:
        d = made(x)
        store(d, x)
        return weighed(d)

    check(f)


_SERIES: dict[str, Callable[[Any], Any]] = {
    "traced": lambda x: pd.Series(x**2),
    "plain": lambda x: pd.Series([1.0, -2.0, 3.0, 0.5, 1.5, 2.5]),
    "of an array": lambda x: pd.Series(np.full(6, 0.5)),
    "column": lambda x: table(x)["a"],
}

_IN_SERIES = (
    "d.iloc[0] = x[1] ** 2",
    "d.loc[2] = x[1] ** 2",
    "d[2] = x[1] ** 2",
    "d.at[3] = x[1] ** 2",
    "d[d > 0.45] = x[1]",
    "d[d > 0.45] = d * x[0]",
    "d.iloc[1:3] = x[:2] ** 2",
    "d[[0, 2]] = x[:2]",
    "d.iloc[0] = 0.0\nd.iloc[1] = x[0]",
    "for i in range(1, 6):\n    d.iloc[i] = d.iloc[i - 1] * x[i] + x[0]",
    "d += x",
    "d -= x[0]\nd *= x\nd /= x[1]",
    "d[1] += x[0]",
    "d.loc[6] = x[0]",
    "d.update(pd.Series(x[:2]))",
    "d.clip(upper=x[1], inplace=True)",
    "d[np.abs(d) > 100] = -d[np.abs(d) > 100] * x[0]\nd.iloc[0] = x[1] ** 2",
)


@pytest.mark.parametrize("text", _IN_SERIES)
@pytest.mark.parametrize("kind", _SERIES)
def test_stores_in_a_series(kind: str, text: str) -> None:
    store, made = _statements(text), _SERIES[kind]

    def f(x: Any) -> Any:
        d = made(x)
        store(d, x)
        return weighed(d)

    _check_or_refused(f)


_ALIASES = (
    's = d["a"]\nd.loc[0, "a"] = x[0] ** 2\nreturn weighed(s) + weighed(d)',
    's = d["a"]\ns.iloc[0] = x[0] ** 2\nreturn weighed(s) + weighed(d)',
    "e = d[1:3]\nd.loc[1, 'a'] = x[0]\nreturn weighed(e) + weighed(d)",
    "e = d[1:3]\ne.loc[1, 'a'] = x[0]\nreturn weighed(e) + weighed(d)",
    "e = d.copy()\ne.loc[1, 'a'] = x[0]\nreturn weighed(e) + weighed(d)",
    "e = d\ne.loc[1, 'a'] = x[0]\nreturn weighed(e) + weighed(d)",
    "e = d[['a', 'b']]\ne.loc[1, 'a'] = x[0]\nreturn weighed(e) + weighed(d)",
    "r = d.iloc[1]\nr['a'] = x[0]\nreturn weighed(r) + weighed(d)",
    "s = d['a']\ns += x[0]\nreturn weighed(s) + weighed(d)",
    "s = d['a']\nd['a'] = x\nreturn weighed(s) + weighed(d)",
    "s = d['a']\nt = d['a']\ns.iloc[0] = x[0]\nreturn weighed(t)",
    "e = d.T\ne.loc['a', 1] = x[0]\nreturn weighed(e) + weighed(d)",
    "e = d.rename(columns={'a': 'z'})\ne.loc[1, 'z'] = x[0]\nreturn weighed(e) + weighed(d)",
    "s = pd.Series(WEIGHTS * 1.0)\nt = s[1:3]\ns.iloc[1] = x[0]\nreturn weighed(s) + weighed(t)",
    "s = pd.Series(x**2)\nt = s[1:3]\nt.iloc[0] = x[0]\nreturn weighed(s) + weighed(t)",
    "a = x**2\ns = pd.Series(a)\ns[0] = 5.0\nreturn weighed(s) + a.sum() * x[1]",
    "a = np.ones(3)\ns = pd.Series(a)\ns[0] = x[0]\nreturn weighed(s) + a.sum() * x[1]",
    "a = np.ones(3)\ns = pd.Series(a)\na[0] = x[0]\nreturn weighed(s) + a.sum() * x[1]",
    "a = np.ones((3, 2))\ne = pd.DataFrame(a)\ne.loc[0, 0] = x[0]\nreturn weighed(e) + a.sum() * x[1]",
)


@pytest.mark.filterwarnings("ignore")  # of pandas 2, for chained assignments
@pytest.mark.parametrize("text", _ALIASES)
@pytest.mark.parametrize("kind", _FRAMES)
def test_a_store_reaches_what_shares_the_values_or_is_refused(kind: str, text: str) -> None:
    function, made = _statements(text), _FRAMES[kind]

    def f(x: Any) -> Any:
        return function(made(x), x)

    _check_or_refused(f)


_FRAME = pd.DataFrame({"a": WEIGHTS, "b": WEIGHTS**2})


def test_tables_from_outside() -> None:
    check(
        lambda x: weighed(_FRAME["a"].fillna(x[0]).clip(upper=x[1])) + _FRAME["b"].cov(pd.Series(x))
    )
    check(lambda x: weighed(_FRAME.dot(x[:2])) + weighed(_FRAME.a.rolling(2).mean() * x[1]))
    check(lambda x: x[:2] @ _FRAME.cov() @ x[:2] + np.dot(_FRAME.mean(), x[:2]))

    def copied(x: Any) -> Any:
        d = _FRAME.copy()
        d.loc[0, "a"] = x[0]
        return weighed(d)

    def stored(x: Any) -> Any:
        _FRAME.loc[0, "a"] = x[0]
        return weighed(_FRAME)

    def added(x: Any) -> Any:
        _FRAME["y"] = x * _FRAME["a"]
        found = weighed(_FRAME["y"])
        del _FRAME["y"]
        return found

    check(copied)
    check(added)
    with pytest.raises(TypeError, match=r"from outside the function; write to a copy"):
        fg.grad(stored)(X)
    assert _FRAME.dtypes.tolist() == [np.dtype(float)] * 2


def test_results_are_of_the_classes_of_pandas() -> None:
    for f in (
        table,
        lambda x: table(x)["a"],
        lambda x: pd.DataFrame({"k": KEYS}),
        lambda x: pd.Series(KEYS),
    ):
        assert type(fg.jit(f)(X)) in (pd.Series, pd.DataFrame)


def test_columns_of_integers() -> None:
    def f(x: Any) -> Any:
        d = pd.DataFrame({"n": [1, 2, 3]})
        d.loc[0, "n"] = x
        return d["n"].sum()

    if COPIES:
        with pytest.raises(TypeError, match=r"has the dtype int64; write \.astype\(float\) first"):
            fg.grad(f)(2.0)
    else:
        assert fg.grad(f)(2.0) == 1.0


# -- rows before pandas 3, which may be views of their frame ----------------------------------------
def test_a_series_without_values_of_the_dtype_of_another_takes_stores():
    def smoothed(x: Any) -> Any:
        s = pd.Series(x, index=list("abcdef"))
        made = pd.Series(index=s.index, dtype=s.dtype)
        for place, label in enumerate(s.index):
            made[label] = s.iloc[max(place - 1, 0) : place + 2].mean() ** 2
        return weighed(made)

    check(smoothed)


def scaled(x):
    return pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}) * x


def read_after_store(x):
    frame = scaled(x)
    row = frame.loc[0]
    frame.loc[0, "a"] = 5.0 * x
    return row["a"]


def summed_after_store(x):
    frame = scaled(x)
    row = frame.iloc[0]
    frame.iat[0, 0] = 5.0 * x
    return row.sum()


@pytest.mark.parametrize("f", [read_after_store, summed_after_store])
def test_a_row_that_is_read_after_a_store_is_a_copy_or_refused(f):
    if COPIES:
        assert fg.grad(f)(2.0) == pytest.approx((f(2.5) - f(1.5)) / 1.0)
    else:
        with pytest.raises(TypeError, match=r"a row of a DataFrame was read.*row\.copy\(\)"):
            fg.grad(f)(2.0)


def other_row(frame, row, x):
    frame.loc[1, "a"] = 5.0 * x
    return row["a"]


def other_column(frame, row, x):
    frame.loc[0, "b"] = 5.0 * x
    return row["a"] + row.a


def masked(frame, row, x):
    frame.loc[frame.a > 3, "a"] = 5.0 * x
    return row["a"]


def new_column(frame, row, x):
    frame["a"] = 5.0 * x
    return row["a"]


@pytest.mark.parametrize("store", [other_row, other_column, masked, new_column])
def test_entries_of_a_row_that_no_store_changed_are_read(store):
    def f(x):
        frame = scaled(x)
        return store(frame, frame.loc[0], x)

    assert fg.grad(f)(2.0) == pytest.approx(f(2.5) - f(1.5))


def test_a_series_of_a_column_whose_frame_is_stored_into_is_a_copy_or_refused():
    def f(x):
        frame = pd.DataFrame({"a": [1.0, 2.0]})
        series = pd.Series(frame["a"])
        frame.loc[0, "a"] = 5.0 * x
        return series[0] * x

    if COPIES:
        assert fg.grad(f)(2.0) == 1.0
    else:
        with pytest.raises(TypeError, match="shares its values"):
            fg.grad(f)(2.0)


def updated_beside_texts(x):
    frame = pd.DataFrame({"name": ["a", "b"], "v": [0.0, 1.0]})
    frame.update(pd.DataFrame({"v": [x, 2 * x], "other": [x, x]}))
    frame.update({"v": [None, x * x]})
    return frame["v"].sum() + 0.0 * len(frame["name"][0])


def updated_series(x):
    series = pd.Series([1.0, 2.0])
    series.update({0: x})
    series.update(pd.Series([x * x], index=[1]))
    return series.sum() * series[0]


@pytest.mark.parametrize("f", [updated_beside_texts, updated_series])
def test_updates_change_the_columns_that_they_name(f):
    assert fg.grad(f)(1.3) == pytest.approx((f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5, rel=1e-8)
