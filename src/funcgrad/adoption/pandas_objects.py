"""Series and DataFrames of pandas that adopted code finds."""

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
