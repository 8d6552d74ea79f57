"""Series and DataFrames of pandas, DataArrays and Datasets of xarray that adopted code finds."""

from __future__ import annotations

_TABLES = ("Series", "DataFrame")


def is_table(value: object) -> bool:
    """Whether a value is a Series or a DataFrame of pandas' own class.

    >>> is_table([1.0])
    False
    """
    kind = type(value)
    return (
        kind.__name__ in _TABLES
        and kind.__module__.partition(".")[0] == "pandas"
        and not hasattr(kind, "_funcgrad_operators")
    )


def is_of_xarray(value: object) -> bool:
    """Whether a value is a DataArray or a Dataset of xarray's own class.

    >>> is_of_xarray([1.0])
    False
    """
    kind = type(value)
    return kind.__name__ in ("DataArray", "Dataset") and kind.__module__.startswith("xarray.")
