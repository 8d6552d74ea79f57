"""DataArrays and Datasets of xarray whose ``values`` may be traced.

xarray holds traced values as they are, but ``values`` and ``to_numpy`` make arrays of NumPy's own. Those of
these classes are the data. All else is xarray's code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType, MemberDescriptorType
from typing import Any

import xarray

from funcgrad.arrays.reference import holds_expr


class TracedDataArray(xarray.DataArray):  # type: ignore[misc]  # xarray need not be installed
    """A DataArray whose values may be traced."""

    _funcgrad_stands_for = xarray.DataArray

    __slots__ = ()
    __module__ = "xarray"

    @property
    def values(self) -> Any:
        return self.data if holds_expr(self.data) else super().values

    @values.setter
    def values(self, value: object) -> None:
        xarray.DataArray.data.__set__(self, value)

    def to_numpy(self) -> Any:
        return self.data if holds_expr(self.data) else super().to_numpy()

    def __array_ufunc__(self, *args: object, **kwargs: object) -> Any:
        return of_xarray(super().__array_ufunc__(*args, **kwargs))


class TracedDataset(xarray.Dataset):  # type: ignore[misc]  # xarray need not be installed
    """A Dataset of such DataArrays."""

    _funcgrad_stands_for = xarray.Dataset

    __slots__ = ()
    __module__ = "xarray"

    def _construct_dataarray(self, name: object) -> Any:
        return of_xarray(super()._construct_dataarray(name))

    def __array_ufunc__(self, *args: object, **kwargs: object) -> Any:
        return of_xarray(super().__array_ufunc__(*args, **kwargs))


def of_xarray(value: Any) -> Any:
    """A DataArray or a Dataset, or a tuple of such, as instances of these classes, which share the variables;
    others as they are."""
    if type(value) is tuple:
        return tuple(map(of_xarray, value))
    kind = _KINDS.get(type(value))
    return value if kind is None else _as_instance(value, kind)


def of_user(value: Any) -> Any:
    """An object of these classes as one of xarray's; others as they are."""
    base = next((own for own, kind in _KINDS.items() if isinstance(value, kind)), None)
    return value if base is None else _as_instance(value, base)


def _as_instance(value: Any, kind: type) -> Any:
    made: Any = object.__new__(kind)
    slots = [slot for base in type(value).__mro__ for slot in vars(base).values()]
    for slot in slots:
        if type(slot) is MemberDescriptorType and slot.__name__ != "__weakref__":
            # Empty are those not set as yet, and those that a subclass has, too.
            with suppress(AttributeError):
                slot.__set__(made, slot.__get__(value))
    return made


_KINDS: dict[type, type] = {xarray.DataArray: TracedDataArray, xarray.Dataset: TracedDataset}


def making(function: Callable[..., Any]) -> Any:
    """A function or a method of xarray's that makes objects of these classes."""

    @functools.wraps(function)
    def made(*args: object, **kwargs: object) -> Any:
        return of_xarray(function(*args, **kwargs))

    return made


for _own, _kind in _KINDS.items():
    for _name in dir(_own):
        _method = getattr(_own, _name)
        if isinstance(_method, FunctionType) and _name[0] != "_" and _name not in vars(_kind):
            setattr(_kind, _name, making(_method))
