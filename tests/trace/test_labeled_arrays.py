"""Series and DataFrames of pandas, DataArrays and Datasets of xarray, as arguments and results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")
Series, notna = pd.Series, pd.notna


def _series() -> Any:
    return pd.Series([1.0, 2.0, 4.0], index=list("abc"), name="s")


def _other() -> Any:
    return pd.Series([10.0, 20.0, 30.0], index=list("cba"))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda s: (s**2).sum(),
    "np.sum": lambda s: np.sum(2 * s**2),
    "ufunc": lambda s: np.exp(-np.sin(s)).mean(),
    "aligned": lambda s: (s * _other()).sum(),
    "aligned the other way": lambda s: (_other() / s).sum(),
    "part": lambda s: (s * _other().iloc[:2]).sum(),
    "entry": lambda s: s["a"] * s.iloc[2] * s.loc["b"],
    "std": lambda s: s.std(),
    "var": lambda s: s.var(ddof=0),
    "median": lambda s: s.median(),
    "prod": lambda s: s.prod(),
    "max": lambda s: s.abs().max() - s.min(),
    "where": lambda s: s.where(s > 1.5, 0.0).sum(),
    "mask": lambda s: (s[s > 1.5] ** 2).sum(),
    "dot": lambda s: s.dot(_other()) + s @ s,
    "diff": lambda s: (s.diff() ** 2).sum(),
    "shift": lambda s: (s * s.shift(1)).sum(),
    "cumsum": lambda s: (s.cumsum() ** 2).sum(),
    "values": lambda s: np.sum(s.values**2) + np.sum(s.to_numpy()),
    "reindex": lambda s: (s.reindex(list("caz")) ** 2).sum(),
    "sort": lambda s: (s.sort_values(ascending=False) * np.arange(3.0)).sum(),
    "concat": lambda s: (pd.concat([s, s**2]) ** 2).sum(),
    "groupby": lambda s: (s.groupby([0, 0, 1]).sum() ** 2).sum(),
    "loop": lambda s: sum(v**i for i, (_, v) in enumerate(s.items())),
    "number beside": lambda s: (np.sum(s) * s).sum() + (s / np.max(s)).sum(),
    "frame": lambda s: (s.to_frame() ** 2).sum().sum(),
    "power": lambda s: (2**s + s**0.5).sum(),
    "text": lambda s: s.sum() if repr(s) else None,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_a_series(name: str) -> None:
    f, s = FUNCTIONS[name], _series()
    steps = [pd.Series(np.eye(3)[i] * 1e-6, index=s.index) for i in range(3)]
    wanted = [(f(s + h) - f(s - h)) / 2e-6 for h in steps]
    found = fg.grad(f)(s)
    assert isinstance(found, pd.Series)
    assert found.index.equals(s.index)
    assert found.name == "s"
    assert found.to_numpy() == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)
    assert fg.jvp(f, (s,), (s,))[0] == pytest.approx(f(s), rel=1e-14)
    assert fg.jit(f)(s) == pytest.approx(f(s), rel=1e-14)


def test_missing_values_are_skipped() -> None:
    s = pd.Series([1.0, np.nan, 4.0])
    assert fg.grad(lambda s: (s**2).sum())(s).tolist() == [2.0, 0.0, 8.0]
    assert fg.grad(lambda s: s.mean())(s).tolist() == [0.5, 0.0, 0.5]
    assert fg.grad(lambda s: s.median())(s).tolist() == [0.5, 0.0, 0.5]
    assert fg.grad(lambda s: (s.fillna(3.0) ** 2).sum())(s).tolist() == [2.0, 0.0, 8.0]
    assert fg.value_and_grad(lambda s: (s.dropna() ** 2).sum())(s)[0] == 17.0


def test_transforms_of_a_series() -> None:
    s = _series()
    square = lambda s: s**2  # noqa: E731
    for f in (fg.jit(square), lambda s: fg.jvp(square, (s,), (s,))[0]):
        pd.testing.assert_series_equal(f(s), square(s))
    pd.testing.assert_series_equal(fg.vjp(square, s)[1](s)[0], 2 * s**2)
    assert fg.jacobian(square)(s).tolist() == np.diag(2 * s).tolist()
    assert fg.hessian(lambda s: (s**3).sum())(s).tolist() == np.diag(6 * s).tolist()
    jitted = fg.jit(fg.grad(lambda s: s["a"] ** 2))
    for each in (s, s[::-1], s.rename("t"), s * 2):
        pd.testing.assert_series_equal(jitted(each), (2 * each).where(each.index == "a", 0.0))
    assert jitted.explain_misses().count("\n") == 2


def test_captured_series() -> None:
    s = _series()
    assert fg.grad(lambda w: (w * s).sum())(2.0) == 7.0
    assert fg.grad(lambda w: ((s - w) ** 2).sum())(2.0) == -2.0
    assert fg.grad(lambda w: np.multiply(w, s).sum())(2.0) == 7.0
    assert fg.grad(lambda w: (w * s.to_frame()).sum().sum())(2.0) == 7.0
    assert fg.grad(lambda w: (w * s + _other() * w).sum())(2.0) == 67.0
    found = fg.jacobian(lambda x: pd.Series({"a": 2 * x, "b": x**2}))(3.0)
    pd.testing.assert_series_equal(found, pd.Series({"a": 2.0, "b": 6.0}))


def _with_label(s: Any) -> Any:
    longer = s.copy()
    longer.loc["base"] = 2.0
    return longer


_X = np.array([0.7, 0.2, 0.9, 0.4, 0.5, 0.3])

MADE: dict[str, Callable[[Any], Any]] = {
    "Series": lambda x: (pd.Series(x) ** 2).sum(),
    "labels": lambda x: pd.Series(x, index=list("abcdef"), name="s")["c"] ** 2,
    "of numbers": lambda x: pd.Series([x[0], 2 * x[1], 3.0]).std(),
    "a frame": lambda x: pd.DataFrame(x.reshape(3, 2), columns=list("ab"))["a"].prod(),
    "of a dict": lambda x: (lambda d: (d["a"] * d["b"]).sum())(pd.DataFrame({"a": x, "b": x**2})),
    "to_numpy": lambda x: (pd.DataFrame(x.reshape(3, 2)).to_numpy() @ np.array([1.0, 2.0])).prod(),
    "asarray": lambda x: np.prod(np.asarray(pd.Series(x))),
    "beside an array": lambda x: ((pd.Series(x).cummax() - x) ** 2).sum(),
    "cummin": lambda x: (pd.Series(x).cummin() ** 2).sum(),
    "pct_change": lambda x: (pd.Series(x).pct_change().dropna() ** 2).sum(),
    "filled": lambda x: (pd.Series(np.where(x > 0.8, np.nan, x)).ffill() ** 2).sum(),
    "filled back": lambda x: (pd.Series(np.where(x > 0.8, np.nan, x)).bfill() ** 2).sum(),
    "apply": lambda x: pd.Series(x).apply(lambda v: v * v).sum(),
    "isna": lambda x: np.sum(x[~pd.isnull(x)] ** 2) + (0.0 if pd.isna(x[0]) else x[0]),
    "isinstance": lambda x: x[0] ** 2 if isinstance(pd.Series(x), pd.Series) else 0.0,
    "a row": lambda x: pd.DataFrame({"a": x[0] ** 2, "t": "text"}, index=["k"]).loc["k", "a"],
    "a number beside a column": lambda x: (pd.DataFrame({"a": x[0], "b": x}).prod(axis=0)).sum(),
    "records": lambda x: pd.DataFrame([{"a": x[0] ** 2}, {"a": x[1], "b": 2.0}])["a"].prod(),
    "a number at labels": lambda x: (pd.Series(x[0] ** 2, index=[1, 2])).prod(),
    "NumPy's functions": lambda x: np.nanprod(pd.Series(x)) + np.percentile(pd.Series(x), 30),
    "beside weights": lambda x: np.dot(pd.Series(x), np.arange(6.0)) * np.linalg.norm(pd.Series(x)),
    "several": lambda x: np.concatenate([pd.Series(x), pd.Series(x)]).prod(),
    "where": lambda x: (
        lambda s: np.where(s > 0.45, s, 0.0).prod() + np.where(s > 0.45, s, 1.0).prod()
    )(pd.Series(x)),
    "values": lambda x: (pd.Series(x).values * np.arange(6.0)).sum() ** 2,
    "skew": lambda x: pd.Series(np.where(x > 0.8, np.nan, x)).skew(),
    "kurt": lambda x: pd.Series(x).kurt(),
    "sem": lambda x: pd.Series(x).sem(),
    "quantile": lambda x: pd.Series(x).quantile(0.3) + pd.Series(x).quantile([0.1, 0.55]).sum(),
    "a further label": lambda x: _with_label(pd.Series(x)).prod(),
    "from pandas": lambda x: Series(x).mean() if notna(x).all() else 0.0,
}


@pytest.mark.parametrize("name", MADE)
def test_series_of_traced_arrays(name: str) -> None:
    f, h = MADE[name], 1e-6
    wanted = [(f(_X + h * e) - f(_X - h * e)) / (2 * h) for e in np.eye(6)]
    assert fg.grad(f)(_X) == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)
    assert fg.jit(fg.grad(f))(_X) == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)


def test_moments_of_equal_and_of_few_values() -> None:
    equal, few = np.full(5, 2.0), np.array([1.0, 2.0])
    for moment in (lambda s: s.skew(), lambda s: s.kurt()):
        found = fg.value_and_grad(lambda x, m=moment: m(pd.Series(x)))(equal)[0]
        assert found == pytest.approx(moment(pd.Series(equal)), nan_ok=True)
        assert np.isnan(fg.jit(lambda x, m=moment: m(pd.Series(x)) * x[0])(few))


def test_an_array_in_a_series() -> None:
    def f(x: Any) -> Any:
        z = np.zeros(3)
        z[:] = x
        s = pd.Series(z)
        z[0] = 5.0
        return s.sum()

    # Before pandas 3, a Series shares the memory of its array.
    assert fg.grad(f)(2.0) == (2.0 if int(pd.__version__.partition(".")[0]) < 3 else 3.0)


def test_subclasses_of_series_keep_their_methods() -> None:
    class Prices(pd.Series):  # type: ignore[misc]
        @property
        def _constructor(self) -> Any:
            return Prices

        def scaled(self, by: Any) -> Any:
            return self.to_numpy() * by

    def f(x: Any) -> Any:
        prices = Prices([1.0, 2.0])
        assert isinstance(prices, Prices)
        assert isinstance(prices, pd.Series)
        return prices.scaled(np.array([x, x**2]))[1]

    assert fg.grad(f)(3.0) == 12.0


def test_objects_of_pandas_are_captured_by_jitted_functions() -> None:
    labels, dates = pd.Index([1, 2]), pd.date_range("2020-01-01", periods=2)
    s, frame = _series(), pd.DataFrame({"x": [1.0, 2.0]})
    f = fg.jit(lambda x: x * len(labels) * len(dates) * s.sum() * frame["x"].sum())
    assert [f(2.0), f(3.0)] == [168.0, 252.0]


def _stored(s: Any, by: str, place: Any, value: Any) -> Any:
    s = s.copy()
    (getattr(s, by) if by else s)[place] = value
    return s


def _written_after_its_values(
    s: Any, values_of: Callable[[Any], Any] = lambda s: s.to_numpy()
) -> Any:
    s = 2 * s
    values = values_of(s)
    s.iloc[0] = 1.0
    return values.sum()


def _of_frame(s: Any) -> Any:
    frame = pd.DataFrame({"x": s, "y": s**2})
    frame.loc["b", "x"] = 7.0
    frame.iloc[0, 1] = s["c"]
    frame.loc[frame["y"] > 10, "y"] = 1.0
    frame.at["c", "x"] = s["a"] ** 2
    return (frame**2).sum().sum()


STORES: dict[str, Callable[[Any], Any]] = {
    "iloc": lambda s: _stored(s.diff(), "iloc", 0, 0.0),
    "loc": lambda s: _stored(2 * s, "loc", ["a", "b"], [5.0, s["c"]]),
    "label": lambda s: _stored(s, "", "b", s["a"] ** 2),
    "mask": lambda s: _stored(s, "", s > 1.5, 3.0),
    "slice": lambda s: _stored(s, "iloc", slice(1, None), s.iloc[:2].to_numpy() ** 2),
    "series": lambda s: _stored(s, "iloc", slice(1, None), _other().iloc[1:]),
    "beside the original": lambda s: s * _stored(s, "iloc", 0, 9.0),
    "frame": _of_frame,
}


@pytest.mark.parametrize("name", STORES)
def test_stores_into_a_series(name: str) -> None:
    f, s = lambda s: (STORES[name](s) ** 2).sum(), _series()
    steps = [pd.Series(np.eye(3)[i] * 1e-6, index=s.index) for i in range(3)]
    wanted = [(f(s + h) - f(s - h)) / 2e-6 for h in steps]
    value, slope = fg.value_and_grad(f)(s)
    assert value == pytest.approx(f(s), rel=1e-14)
    assert slope.to_numpy() == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6)
    assert fg.jit(fg.grad(f))(s).to_numpy() == pytest.approx(slope.to_numpy(), rel=1e-14)
    assert fg.jvp(f, (s,), (s,))[1] == pytest.approx((slope * s).sum(), rel=1e-12)
    assert s.tolist() == [1.0, 2.0, 4.0]


def test_what_is_refused_of_a_series() -> None:
    s = _series()
    with pytest.raises(TypeError, match=r"write s\.to_numpy\(\)"):
        fg.grad(lambda s: float(np.array(s.array)))(s)
    with pytest.raises(TypeError, match=r"write s = s\.copy\(\) before the store"):
        fg.grad(_written_after_its_values)(s)
    with pytest.raises(TypeError, match=r"or s\.to_numpy\(copy=True\)"):
        fg.grad(lambda s: _written_after_its_values(s, lambda s: s.values))(s)
    kept = fg.grad(lambda s: _written_after_its_values(s, lambda s: s.to_numpy(copy=True)))(s)
    assert kept.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match="float or complex values"):
        fg.grad(lambda s: 1.0)(pd.Series(["a"]))
    with pytest.raises(TypeError, match="but got int64"):
        fg.grad(lambda s: s.sum())(pd.Series([1, 2]))
    # The error is ours, or that of pandas for plain arrays.
    with pytest.raises(
        (TypeError, ValueError), match=r"but got Series|does not match length of index"
    ):
        fg.grad(lambda x: (x * s).sum())(np.ones((2, 3)))


def test_data_frames() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0], "t": ["u", "v"]}, index=["p", "q"])
    f = lambda d: (d["x"] * d.y**2).sum() + d.loc["p", "x"]  # noqa: E731
    wanted = pd.DataFrame({"x": [10.0, 16.0], "y": [6.0, 16.0], "t": ["u", "v"]}, ["p", "q"])
    pd.testing.assert_frame_equal(fg.grad(f)(frame), wanted)
    pd.testing.assert_frame_equal(fg.jit(fg.grad(f))(frame), wanted)
    numbers = frame[["x", "y"]]
    pd.testing.assert_frame_equal(fg.grad(lambda d: (d**2).sum().sum())(numbers), 2 * numbers)
    pd.testing.assert_frame_equal(fg.grad(lambda d: (d**2).mean(axis=1).sum())(numbers), numbers)


@pytest.mark.parametrize("items", [[None, [1]], [1, "v"], [np.ones(2), np.ones(3)]])
def test_columns_of_objects_that_are_no_numbers_stay(items):
    objects = pd.Series(items, dtype=object)
    found = fg.grad(lambda d: (d["x"] ** 2).sum())(pd.DataFrame({"x": [1.0, 2.0], "t": objects}))
    assert found["x"].tolist() == [2.0, 4.0]
    assert all(item is given for item, given in zip(found["t"], items, strict=True))


def test_data_arrays() -> None:
    xr = pytest.importorskip("xarray")
    a = xr.DataArray([1.0, 2.0, 3.0], dims=["t"], coords={"t": [10, 20, 30]}, name="d")
    other = xr.DataArray([1.0, 2.0, 4.0], dims=["t"], coords={"t": [40, 30, 20]})
    w = xr.DataArray([1.0, 10.0], dims=["k"])
    for f, slopes in (
        (lambda a: (a**2).sum(), [2.0, 4.0, 6.0]),
        (lambda a: np.sum(np.sin(a)), np.cos([1.0, 2.0, 3.0])),
        (lambda a: (a * other).sum("t"), [0.0, 4.0, 2.0]),
        (lambda a: a.sel(t=20) * a.isel(t=0), [2.0, 1.0, 0.0]),
        (lambda a: (a * w).sum("k").mean(), [11 / 3] * 3),
    ):
        for gradient in (fg.grad(f), fg.jit(fg.grad(f))):
            xr.testing.assert_allclose(gradient(a), a.copy(data=np.array(slopes)), rtol=1e-14)
    xr.testing.assert_identical(fg.jit(lambda a: a * 2)(a), a * 2)
    xr.testing.assert_identical(fg.vjp(lambda a: a * a, a)[1](a)[0], 2 * a**2)
    assert fg.grad(lambda w: (w * a).sum() + (a * w).sum())(2.0) == 12.0
    assert fg.jacobian(lambda a: a**2)(a).tolist() == np.diag([2.0, 4.0, 6.0]).tolist()
    data = xr.Dataset({"u": a, "v": 2.0})
    found = fg.jit(fg.grad(lambda d: (d["u"] * d.v).sum()))(data)
    xr.testing.assert_identical(found, xr.Dataset({"u": a.copy(data=[2.0, 2.0, 2.0]), "v": 6.0}))


def rolled(a: Any) -> Any:
    return a.rolling(t=2).sum().values[1:].sum()


REFUSED_BY_XARRAY: dict[str, Callable[[Any], Any]] = {
    "values of windows": rolled,
    "float": lambda a: float(a.sum()),
    "a list": lambda a: (a * a.copy(data=[a[0].item(), 2.0, 3.0])).sum(),
}


@pytest.mark.parametrize("f", REFUSED_BY_XARRAY.values(), ids=REFUSED_BY_XARRAY.keys())
@pytest.mark.parametrize("adopt", [False, True])
def test_refusals_by_xarray_say_what_to_write(f: Callable[[Any], Any], adopt: bool) -> None:
    xr = pytest.importorskip("xarray")
    given = np.array([1.0, 2.0, 3.0])

    def of_array(x: Any) -> Any:
        return f(xr.DataArray(x**2, dims="t"))

    with pytest.raises(TypeError, match=r"write a\.data.*a\.item\(\)[^\0]*test_labeled_arrays\.py"):
        fg.grad(fg.adopt(of_array, adopt))(given)

    def as_advised(x: Any) -> Any:
        a = xr.DataArray(x**2, dims="t")
        return a.data.sum() + a.sum().item() + xr.DataArray(np.stack([a[0].item(), 2.0])).sum()

    np.testing.assert_allclose(fg.grad(fg.adopt(as_advised, adopt))(given), [6.0, 8.0, 12.0])


def test_entries_chosen_by_labeled_arrays_are_refused_with_advice() -> None:
    xr = pytest.importorskip("xarray")
    given = np.array([[1.0, 2.0], [4.0, 3.0]])

    def chosen(x: Any) -> Any:
        a = xr.DataArray(x**2, dims=("t", "s"))
        return a.isel(s=a.argmax("s")).data.sum()

    with pytest.raises(TypeError, match="Vectorized indexing") as refused:
        fg.grad(fg.adopt(chosen))(given)
    assert "write xr.DataArray" in refused.value.__notes__[0]

    def as_advised(x: Any) -> Any:
        a = xr.DataArray(x**2, dims=("t", "s"))
        k = a.argmax("s").data
        return xr.DataArray(a.data[np.arange(len(k)), k], dims="t").data.sum()

    np.testing.assert_allclose(fg.grad(chosen)(given), [[0.0, 4.0], [8.0, 0.0]])
    np.testing.assert_allclose(fg.grad(fg.adopt(as_advised))(given), [[0.0, 4.0], [8.0, 0.0]])
