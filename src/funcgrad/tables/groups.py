"""Groups of tables of traced columns: their windows, and what pandas computes in C."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.source import with_name
from funcgrad.tables.table_operands import has_traced_values
from funcgrad.tables.windows import traced_windows
from funcgrad.typing import ArrayLike


def traced_groups(groups: Any, series: Any) -> Any:
    """An object of groups, of the class whose windows know traced columns."""
    kind: Any = type(groups)
    groups.__class__ = _class_of_groups(kind, series)
    return groups


@lru_cache(maxsize=8)
def _class_of_groups(kind: Any, series: Any) -> Any:
    class Groups(kind):  # type: ignore[misc]
        def rolling(self, *args: object, **kwargs: object) -> Any:
            return traced_windows(super().rolling(*args, **kwargs), series)

        def expanding(self, *args: object, **kwargs: object) -> Any:
            return traced_windows(super().expanding(*args, **kwargs), series)

        def ewm(self, *args: object, **kwargs: object) -> Any:
            return traced_windows(super().ewm(*args, **kwargs), series)

        def quantile(
            self, q: ArrayLike = 0.5, interpolation: str = "linear", **kwargs: object
        ) -> Any:
            if not has_traced_values(self.obj) or np.ndim(q):
                return super().quantile(q, interpolation, **kwargs)
            return self.agg(lambda column: column.quantile(q, interpolation))

        def __getitem__(self, key: object) -> Any:
            return traced_groups(super().__getitem__(key), series)

    return with_name(Groups, kind.__name__)
