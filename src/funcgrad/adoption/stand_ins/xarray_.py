"""``xarray`` for adopted code: DataArrays and Datasets whose ``values`` may be traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import xarray

from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.stand_ins.traced_classes import stand_in_for
from funcgrad.tables.traced_data_arrays import TracedDataArray, TracedDataset, of_xarray

for _own, _kind in ((xarray.DataArray, TracedDataArray), (xarray.Dataset, TracedDataset)):
    setattr(_kind, ORIGINAL, _own)
DataArray = stand_in_for(xarray.DataArray, TracedDataArray)
Dataset = stand_in_for(xarray.Dataset, TracedDataset)


def _making(function: Callable[..., Any]) -> Any:
    """A function of xarray that makes objects of these classes."""

    @functools.wraps(function)
    def making(*args: object, **kwargs: object) -> Any:
        found = function(*args, **kwargs)
        return tuple(map(of_xarray, found)) if type(found) is tuple else of_xarray(found)

    return making


globals().update(
    {
        name: _making(value) if isinstance(value, FunctionType) else value
        for name, value in vars(xarray).items()
        if name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    return getattr(xarray, name)
