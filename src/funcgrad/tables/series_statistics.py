"""Several statistics of a Series at once, as a Series of traced values."""

from __future__ import annotations

from typing import Any

from pandas import Series

from funcgrad.tables.table_operands import has_traced_values, plain_of


class StatisticsOfSeries:
    """The methods of Series that give a Series of statistics."""

    def describe(
        self: Any, percentiles: Any = None, include: object = None, exclude: object = None
    ) -> Any:
        if not has_traced_values(self):
            return super().describe(percentiles, include, exclude)  # type: ignore[misc]
        labels = plain_of(self).describe(percentiles).index
        parts = [0.25, 0.5, 0.75] if percentiles is None else sorted(percentiles)
        if len(parts) < len(labels) - 5:
            parts = sorted([*parts, 0.5])
        found = [self.count(), self.mean(), self.std(), self.min()]
        found += [self.quantile(part) for part in parts]
        return self._constructor([*found, self.max()], labels, name=self.name)

    def agg(self: Any, func: Any = None, axis: object = 0, *args: object, **kwargs: object) -> Any:
        """As pandas' method, which gives a Series of objects for several traced numbers."""
        found = super().agg(func, axis, *args, **kwargs)  # type: ignore[misc]
        if (
            not isinstance(found, Series)
            or found.dtype != object
            or not has_traced_values([*found])
        ):
            return found
        return self._constructor([*found], found.index, name=found.name)

    aggregate = agg
