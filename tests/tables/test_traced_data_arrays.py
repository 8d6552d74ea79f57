"""DataArrays and Datasets of xarray in adopted code, whose values may be traced."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

xr = pytest.importorskip("xarray")


def of_dataset(a: Any) -> Any:
    data = xr.Dataset({"u": a, "v": a**2})
    return (data["u"].values * data.v.sum("s").values[:, None]).sum() + data.map(
        np.sin
    ).u.values.sum()


def stored(a: Any) -> Any:
    made = a.copy()
    made[0, 1] = 5.0
    made.values = made.values * 2
    return made.values


VALUES_OF_XARRAY: dict[str, Callable[[Any], Any]] = {
    "values": lambda a: a.values,
    "to_numpy": lambda a: a.mean("t").to_numpy(),
    "arithmetic": lambda a: ((a**2 + 1) / a - 3 * a.mean("s")).values,
    "ufunc": lambda a: np.exp(a).sum("t").values,
    "where": lambda a: a.where(a > 1, 0.5).values,
    "functions": lambda a: xr.concat([a, a**2], "t").values,
    "groups": lambda a: a.groupby("t").mean().values,
    "labels": lambda a: a.sel(s="b").sortby("t", ascending=False).values * np.arange(3),
    "dataset": of_dataset,
    "stored": stored,
    "class": lambda a: a.values if isinstance(a, xr.DataArray) else a.missing,
    "type": lambda a: a.values if type(a) is xr.DataArray else a.missing,
}


@pytest.mark.parametrize("name", VALUES_OF_XARRAY)
@pytest.mark.parametrize("is_given", [False, True])
def test_values_of_xarray(name: str, is_given: bool) -> None:
    f = VALUES_OF_XARRAY[name]
    coords = {"t": [0.0, 1.0, 2.0], "s": list("ab")}

    def labeled(x: Any) -> Any:
        return xr.DataArray(x, dims=("t", "s"), coords=coords)

    def loss(x: Any) -> Any:
        found = np.sin(f(x if is_given else labeled(x)))
        return np.sum(found * (np.arange(np.size(found)).reshape(np.shape(found)) + 1))

    x = np.array([[1.3, 0.7], [1.9, 3.1], [0.6, 1.7]])
    given = labeled if is_given else np.asarray
    steps = 1e-6 * np.eye(6).reshape(6, 3, 2)
    slopes = [(loss(given(x + h)) - loss(given(x - h))) / 2e-6 for h in steps]
    for gradient in (fg.grad(loss), fg.jit(fg.grad(loss)), fg.grad(fg.adopt(loss))):
        found = gradient(given(x))
        assert type(found) is type(given(x))
        np.testing.assert_allclose(np.ravel(found), slopes, rtol=1e-6, atol=1e-7)


def test_results_of_adopted_code_are_of_xarrays_own_classes() -> None:
    a = xr.DataArray([1.0, 2.0], dims="t", name="a", attrs={"unit": "m"})

    def f(a: Any) -> Any:
        return a * 2, {"data": xr.Dataset({"a": a})}, a

    for g in (f, fg.adopt(f), fg.jit(fg.adopt(f))):
        doubled, held, same = g(a)
        assert type(doubled) is xr.DataArray
        assert type(held["data"]) is xr.Dataset
        xr.testing.assert_identical(doubled, a * 2)
        xr.testing.assert_identical(held["data"], xr.Dataset({"a": a}))
        xr.testing.assert_identical(same, a)
    assert type(a) is xr.DataArray
