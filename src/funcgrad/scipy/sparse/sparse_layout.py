"""The attributes by which SciPy tells how the entries of a sparse matrix are stored, and its comparisons.

SciPy's order of the entries depends on how a matrix was made. Where the order here is another, these
attributes are refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.source import type_error, with_name
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_ORDERED = ("coo", "csc", "csr")
"""Formats whose ``data`` are the entries, one by one."""


def at_this_call(values: object) -> Any:
    """The values of an expression, which later calls of a compiled function must share."""
    return concrete_value(stop_gradient(lift_fully(values)), "sparse matrix")


class StoredLayout(ABC):
    """What `TracedSparse` tells of its storage.

    ``exact`` says that SciPy keeps an entry of zero at each place of the pattern: it drops those of dense
    matrices, sums and products. ``given`` is the number of entries that SciPy holds, if they stand in another
    order than that of the format, or several at a place; else None.
    """

    format: str
    exact: bool
    given: int | None
    lent: tuple[Any, Any] | None

    @property
    @abstractmethod
    def entries(self) -> Any:
        """The entries in the order of rows."""

    @property
    @abstractmethod
    def pattern(self) -> Any:
        """The places of the entries."""

    @abstractmethod
    def plain(self, values: Array) -> Any:
        """SciPy's matrix of plain values in the place of the entries."""

    @abstractmethod
    def as_dense(self, made: object) -> Any:
        """A dense result."""

    # -- counts ------------------------------------------------------------------------------------
    @property
    def nnz(self) -> int:
        """As SciPy's attribute: the number of entries that it keeps."""
        if self.given is not None:
            return self.given
        return int(self.pattern.nnz if self.exact else self.count_nonzero())

    @property
    def size(self) -> int:
        """As SciPy's attribute: the number of entries that it keeps."""
        return self.nnz

    def getnnz(self, axis: int | None = None) -> Any:
        """As SciPy's method."""
        if axis is None:
            return self.nnz
        return self._in_order().getnnz(axis) if self.exact else self.count_nonzero(axis)

    def count_nonzero(self, axis: int | None = None) -> Any:
        """As SciPy's method."""
        plain = self.plain(at_this_call(lift_fully(self.entries) != 0))
        return plain.count_nonzero() if axis is None else plain.count_nonzero(axis)

    def nonzero(self) -> tuple[Any, Any]:
        """As SciPy's method."""
        found: tuple[Any, Any] = self.plain(at_this_call(self.entries)).nonzero()
        return found

    # -- arrays ------------------------------------------------------------------------------------
    def _in_order(self) -> Any:
        """The pattern in the order of the format, if that is the order of SciPy's matrix."""
        if self.format not in _ORDERED or self.given is not None:
            raise type_error(
                "sparse matrix: expected entries in the order of rows or columns, each place once, but got a "
                f"matrix in format {self.format!r} in another order; write A = A.tocsr() and "
                "A.sum_duplicates(), which put them in order",
            )
        if not self.exact and not np.all(at_this_call(lift_fully(self.entries) != 0)):
            raise type_error(
                "sparse matrix: expected entries that are not zero, since SciPy drops the others and moves "
                "the next ones up, but got an entry of zero; write csr_matrix((data, (rows, columns))), "
                "which keeps all",
            )
        return self.pattern.tocsc() if self.format == "csc" else self.pattern

    @property
    def data(self) -> Any:
        """As SciPy's attribute: the entries in the order of the format, which stores into it change."""
        order = self._in_order().data - 1
        if self.lent is None:
            self.lent = self.as_dense(lift_fully(self.entries)[order]), np.argsort(order)
        return self.lent[0]

    @data.setter
    def data(self, values: ArrayLike) -> None:
        order = self._in_order().data - 1
        plain: Any = unwrapped(values)
        self.lent = np.broadcast_to(plain, order.shape), np.argsort(order)

    @property
    def indices(self) -> Any:
        """As SciPy's attribute, read-only."""
        return _read_only(self._in_order().indices)

    @property
    def indptr(self) -> Any:
        """As SciPy's attribute, read-only."""
        return _read_only(self._in_order().indptr)

    @property
    def row(self) -> Any:
        """As SciPy's attribute, read-only."""
        return _read_only(self._in_order().tocoo().coords[0])

    @property
    def col(self) -> Any:
        """As SciPy's attribute, read-only."""
        return _read_only(self._in_order().tocoo().coords[1])

    def sort_indices(self) -> None:
        """As SciPy's method."""
        if self.given == self.pattern.nnz:
            self.given = None

    def sum_duplicates(self) -> None:
        """As SciPy's method: no place is held twice."""
        self.given = None


def _read_only(places: Array) -> Any:
    """A copy: the pattern of a matrix stays as it is."""
    made = places.copy()
    made.flags.writeable = False
    return made


# -- comparisons -----------------------------------------------------------------------------------
def _comparison(name: str) -> Callable[[StoredLayout, Any], Any]:
    def compared(self: StoredLayout, other: object) -> Any:
        plain = self.plain(at_this_call(self.entries))
        return getattr(plain, name)(_plain_operand(other))

    return with_name(compared, name)


def _plain_operand(other: object) -> Any:
    if isinstance(other, StoredLayout):
        return other.plain(at_this_call(other.entries))
    return at_this_call(other) if holds_expr(other) else unwrapped(other)


COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
for _name in COMPARISONS:
    setattr(StoredLayout, _name, _comparison(_name))
