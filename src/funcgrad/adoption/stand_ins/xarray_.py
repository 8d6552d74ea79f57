"""``xarray`` for adopted code: DataArrays and Datasets whose ``values`` may be traced."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import xarray

from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.stand_ins.traced_classes import stand_in_for
from funcgrad.tables.traced_data_arrays import TracedDataArray, TracedDataset, making, of_xarray

for _own, _kind in ((xarray.DataArray, TracedDataArray), (xarray.Dataset, TracedDataset)):
    setattr(_kind, ORIGINAL, _own)
DataArray = stand_in_for(xarray.DataArray, TracedDataArray)
Dataset = stand_in_for(xarray.Dataset, TracedDataset)
from_outside = of_xarray
"""An object that adopted code finds, as one of these classes."""

globals().update(
    {
        name: making(value) if isinstance(value, FunctionType) else value
        for name, value in vars(xarray).items()
        if name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    return getattr(xarray, name)
