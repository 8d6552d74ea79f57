"""Sparse matrices with traced entries: an array of entries, and a constant pattern.

The pattern is known when a program is traced, the entries are an expression. The entries stand in the order
of rows, each place once; a format is a label. What only moves entries (an index, a transpose, a stack of
blocks) is done by SciPy to a matrix of the same pattern that holds the entries' places.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as _scipy

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import Expr
from funcgrad.expr.operator_dispatch import REFLECTED
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import refuse
from funcgrad.scipy.sparse.sparse_layout import StoredLayout
from funcgrad.scipy.sparse.sparse_patterns import numbered_pattern, renumbered, sum_at, summed
from funcgrad.source import fail, type_error, value_error
from funcgrad.typing import Array, ArrayLike, DTypeLike

SparseMatrix: TypeAlias = Any
"""A matrix of SciPy's, whose classes have no types, or a `TracedSparse`."""
SparseOperand: TypeAlias = Any
"""A sparse matrix, an array, a number, or lists of them."""


class TracedSparse(StoredLayout):
    """A sparse matrix of SciPy's whose entries are traced.

    For ``exact`` and ``given`` see `StoredLayout`. ``kind`` is ``"array"`` or ``"matrix"``, of which the
    latter has ``*`` for products of matrices. In ``writable`` ones, those of adopted code, dense results take
    stores.
    """

    ndim = 2

    def __init__(
        self,
        entries: Array,
        pattern: SparseMatrix,
        format: str = "csr",
        kind: str = "array",
        writable: bool = False,
        exact: bool = True,
        given: int | None = None,
    ) -> None:
        self._entries, self._pattern = entries, pattern
        self.format, self.kind, self.exact, self.given = format, kind, exact, given
        # A function that is traced could store into its dense results, a formula does not.
        self.writable = writable or getattr(entries, "traced", None) is not None
        # Stores that the entries do not have yet: of single places, and into an array that was handed out.
        self._stores: dict[tuple[int, int], Any] = {}
        self.lent = None

    # For ``isinstance``, which asks for SciPy's classes.
    __class__ = property(
        lambda self: functions["redirect"](getattr(_scipy, f"{self.format}_{self.kind}"))
    )

    # -- parts -----------------------------------------------------------------------------------
    @property
    def entries(self) -> Any:
        """The entries in the order of rows."""
        self._settle()
        return self._entries

    @property
    def pattern(self) -> Any:
        """A canonical `scipy.sparse.csr_array` of the places of the entries, from 1 on."""
        self._settle()
        return self._pattern

    @property
    def rows(self) -> Any:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.pattern.indptr))

    @property
    def columns(self) -> Any:
        """The column of each entry."""
        return self.pattern.indices

    def places(self) -> Any:
        """A matrix of SciPy's of ones at the places of the entries."""
        return (self.pattern != 0).astype(int)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return tuple(map(int, self._pattern.shape))  # type: ignore[return-value]

    @property
    def dtype(self) -> Any:
        """The dtype of the entries."""
        return self.entries.dtype

    def __repr__(self) -> str:
        return (
            f"<sparse {self.kind} in format {self.format!r} that holds traced values, "
            f"{self.pattern.nnz} entries and shape {self.shape}>"
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: object) -> Any:
        """A function of the entries, or an operator that NumPy's array leaves to this class."""
        if method != "__call__" or kwargs:
            return NotImplemented
        if len(inputs) == 1:
            return self._entrywise(ufunc)
        reflected = REFLECTED.get(ufunc.__name__, "")
        first, second = inputs
        if isinstance(first, TracedSparse):
            operator = getattr(first, reflected.replace("__r", "__", 1), None)
            return NotImplemented if operator is None else operator(second)
        operator = getattr(second, reflected, None)
        return NotImplemented if operator is None else operator(first)

    def _entrywise(self, ufunc: np.ufunc) -> TracedSparse:
        with np.errstate(all="ignore"):
            keeps_zeros = ufunc(0.0) == 0
        if not keeps_zeros:
            name = ufunc.__name__
            raise type_error(
                f"{name}: expected a function that is 0 at 0, since others fill a sparse matrix; write "
                f"np.{name}(A.toarray())",
            )
        return self._like(ufunc(self.entries))

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'TracedSparse' object has no attribute {name!r}")
        if name in ("real", "imag"):
            return self._like(getattr(np, name)(self.entries))
        ufunc = getattr(np, name, None)
        # Those of one operand are zero at zero.
        if isinstance(ufunc, np.ufunc) and ufunc.nin == 1 and hasattr(_scipy.csr_array, name):
            return partial(self._entrywise, ufunc)
        raise fail(
            AttributeError,
            f"sparse {self.kind}: expected plain entries for {name}, but got traced ones; write "
            "A.toarray(), a dense matrix",
        )

    # -- others of the same pattern, and dense arrays ----------------------------------------------
    def _like(
        self, entries: Array, pattern: SparseMatrix = None, exact: bool = True
    ) -> TracedSparse:
        exact = exact and self.exact
        pattern = self.pattern if pattern is None else pattern
        how = (self.format, self.kind, self.writable, exact, self.given)
        return TracedSparse(entries, pattern, *how)

    def as_dense(self, made: Any) -> Any:
        """A dense result: in adopted code an array that takes stores."""
        return mutable(made) if self.writable else made

    def as_matrix(self, made: Array) -> Any:
        """A dense result of two axes: one of NumPy's matrices, if this is a matrix and no array."""
        return numpy_matrix(made) if self.kind == "matrix" else made

    def rearranged(self, function: Callable[[Any], Any]) -> Any:
        """What a function that moves entries gives: another such matrix, an array or a number."""
        held = self.pattern if self.kind == "array" else _scipy.csr_matrix(self.pattern)
        return self.at_places(function(held))

    def at_places(self, found: Any) -> Any:
        """The entries at places that SciPy has moved: a matrix, an array or a number."""
        if _scipy.issparse(found) and found.ndim == 2:
            taken, pattern = renumbered(found)
            return self._like(self.entries[taken], pattern)
        places = np.asarray(found.toarray() if _scipy.issparse(found) else found)
        padded = np.concatenate([np.zeros(1, self.dtype), self.entries])
        made = self.as_dense(padded[places])
        return self.as_matrix(made) if isinstance(found, np.matrix) else made

    def toarray(self, *args: object, **kwargs: object) -> Any:
        """As SciPy's method: the dense matrix."""
        zeros = lift_fully(np.zeros(self.shape, self.dtype))
        return self.as_dense(zeros.at[self.rows, self.columns].set(self.entries))

    def todense(self, *args: object, **kwargs: object) -> Any:
        """As SciPy's method: the dense matrix, whose ``*`` is the product of matrices."""
        return self.as_matrix(self.toarray())

    def copy(self) -> TracedSparse:
        """As SciPy's method."""
        return self._like(self.entries)

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """As SciPy's method; a matrix without traced entries is one of SciPy's."""
        if not holds_expr(self.entries):
            return plain_matrix(self, format or self.format)
        if format in (None, self.format) and not copy:
            return self
        made = self.copy()
        made.format = format or self.format
        made.exact = self.exact and self.format != "dia"  # whose other formats have no zeros
        if self.format == "coo" or self.given == self.pattern.nnz:
            made.given = None  # SciPy sorts the entries, and adds up those of a place
        return made

    def astype(self, dtype: DTypeLike, *args: object, **kwargs: object) -> TracedSparse:
        """As SciPy's method."""
        return self._like(self.entries.astype(dtype))

    def eliminate_zeros(self) -> None:
        """As SciPy's method: zeros stay in the pattern, and do not count."""
        self.exact = False

    def prune(self) -> None:
        """As SciPy's method: no room is kept."""

    def plain(self, values: Array) -> Any:
        """SciPy's matrix of plain values in the place of the entries."""
        return plain_matrix(self._like(values), "csr")

    # -- entries in other places ---------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        if _is_place(key):
            i, j = [int(k) + n * (k < 0) for k, n in zip(key, self.shape, strict=True)]
            if (i, j) in self._stores:
                stored = self._stores[i, j]
                return stored[()] if isinstance(stored, np.ndarray) else stored
            if self.lent is None and (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
                place = int(self._pattern[i, j])
                return self._entries[place - 1] if place else self._entries.dtype.type(0)
        return self.rearranged(lambda held: held[key])

    def __setitem__(self, key: Any, value: SparseOperand) -> None:
        value = getattr(value, "toarray", lambda: value)()
        if _is_place(key) and np.ndim(value) == 0:
            i, j = [int(k) + n * (k < 0) for k, n in zip(key, self.shape, strict=True)]
            if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
                raise IndexError(f"index ({i}, {j}) out of range")
            self._stores[i, j] = self._fitted(value)
            self.exact = self.exact and self.format not in ("dok", "lil")  # which keep no zeros
            return
        held = self.pattern.tolil()
        target = held[key]
        shape = target.shape if hasattr(target, "shape") else ()
        new = np.broadcast_to(as_entries(value) if has_traced(value) else unwrapped(value), shape)
        self.exact = self.exact and self.format not in ("dok", "lil")
        held[key] = np.arange(new.size).reshape(shape) + self.pattern.nnz + 1
        self._take(held, np.ravel(new))

    def _settle(self) -> None:
        """Have what was stored in the entries."""
        if self.lent is not None:
            values, order = self.lent
            self._entries = lift_fully(unwrapped(values))[order]
        if not self._stores:
            return
        stores, self._stores = self._stores, {}
        held = self._pattern.todok()
        for place, key in enumerate(stores, self._pattern.nnz + 1):
            held[key] = place
        values = functions["array"]([unwrapped(value) for value in stores.values()])
        self._take(held, values)

    def _fitted(self, value: ArrayLike) -> Any:
        """A value in the dtype of the matrix: integers truncate it, as in SciPy."""
        plain: Any = unwrapped(value)
        dtype = self._entries.dtype
        return plain.astype(dtype) if holds_expr(plain) else np.asarray(plain, dtype)

    def _take(self, held: SparseMatrix, new: Any) -> None:
        entries = np.concatenate([self._entries, self._fitted(new)])
        taken, self._pattern = renumbered(held)
        self._entries, self.lent = entries[taken], None

    def setdiag(self, values: ArrayLike, k: int = 0) -> None:
        """As SciPy's method."""
        count = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        array = (
            functions["array"](unwrapped(values)) if isinstance(values, list) else unwrapped(values)
        )
        at = np.arange(count if np.ndim(array) == 0 else min(count, len(array)))
        new = np.broadcast_to(array, at.shape) if np.ndim(array) == 0 else array[: len(at)]
        held = self.pattern.tolil()
        held[at - min(k, 0), at + max(k, 0)] = at + self.pattern.nnz + 1
        self._take(held, lift_fully(new))

    def transpose(self, axes: object = None, copy: bool = False) -> Any:
        """As SciPy's method."""
        made = self.rearranged(lambda held: held.T.tocsr())
        made.format = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return made

    @property
    def T(self) -> Any:
        """As SciPy's attribute."""
        return self.transpose()

    def diagonal(self, k: int = 0) -> Any:
        """As SciPy's method."""
        return self.rearranged(lambda held: held.diagonal(k))

    def trace(self, offset: int = 0) -> Any:
        """As SciPy's method."""
        return self.diagonal(offset).sum()

    def reshape(self, *shape: object, order: str = "C", copy: bool = False) -> Any:
        """As SciPy's method."""
        return self.rearranged(lambda held: held.reshape(*shape, order=order).tocsr())

    def getrow(self, i: int) -> Any:
        """As SciPy's method."""
        return self.rearranged(lambda held: held[[i]])

    def getcol(self, j: int) -> Any:
        """As SciPy's method."""
        return self.rearranged(lambda held: held[:, [j]])

    # -- entrywise ---------------------------------------------------------------------------------
    def __neg__(self) -> TracedSparse:
        return self._like(-self.entries)

    def __abs__(self) -> TracedSparse:
        return self._like(np.abs(self.entries))

    def conj(self, copy: bool = True) -> TracedSparse:
        """As SciPy's method."""
        return self._like(np.conj(self.entries))

    conjugate = conj

    def power(self, n: Any, dtype: DTypeLike | None = None) -> TracedSparse:
        """As SciPy's method: each entry to a power."""
        if np.ndim(n) or not n:
            raise NotImplementedError(
                f"expected a number other than zero, which keeps zeros, but got {n!r}"
            )
        return self._like(self.entries**n if dtype is None else (self.entries**n).astype(dtype))

    def multiply(self, other: SparseOperand) -> Any:
        """As SciPy's method: the product entry by entry."""
        if is_sparse(other):
            return self._of_common_entries(traced(other, self))
        factor = unwrapped(other)
        if np.ndim(factor) == 0:
            return self._like(self.entries * self._beside_zeros(factor, self.entries))
        spread = np.broadcast_to(
            functions["array"](factor) if isinstance(factor, list) else factor, self.shape
        )
        factors = lift_fully(spread)[self.rows, self.columns]
        return self._like(self.entries * self._beside_zeros(factors, self.entries))

    def _beside_zeros(self, factors: Any, entries: Array) -> Any:
        """Factors of entries, of which those that SciPy does not hold stay zero beside an infinite factor."""
        if self.exact:
            return factors
        return np.where((entries == 0) & ~np.isfinite(factors), 0.0, factors)

    def _of_common_entries(self, other: TracedSparse) -> TracedSparse:
        _same_shape(self, other)
        both, mine, theirs = np.intersect1d(
            _places(self), _places(other), assume_unique=True, return_indices=True
        )
        rows, columns = np.divmod(both, max(self.shape[1], 1))
        pattern = numbered_pattern(rows, columns, self.shape)
        return self._like(self.entries[mine] * other.entries[theirs], pattern, exact=False)

    def __imul__(self, other: SparseOperand) -> Any:
        if np.ndim(other):
            return self * other
        self._entries, self.lent = self.multiply(other).entries, None
        return self

    def __itruediv__(self, other: SparseOperand) -> Any:
        if np.ndim(other):
            return self / other
        return self.__imul__(1.0 / other)

    def __truediv__(self, other: SparseOperand) -> Any:
        if is_sparse(other):
            return self.as_matrix(self.toarray() / other.toarray())
        return self.multiply(1.0 / other)  # as SciPy does, to the last bit

    def __add__(self, other: SparseOperand) -> Any:
        if not is_sparse(other):
            if np.ndim(other) == 0:
                if holds_expr(other) or other != 0:
                    raise NotImplementedError(
                        "adding a nonzero scalar to a sparse matrix is not supported"
                    )
                return self.copy()
            return self.as_matrix(self.toarray() + other)
        beside = traced(other, self)
        _same_shape(self, beside)
        entries = np.concatenate([lift_fully(self.entries), lift_fully(beside.entries)])
        places = np.concatenate([_places(self), _places(beside)])
        return self._like(*summed(entries, places, self.shape), exact=False)

    __radd__ = __add__

    def __sub__(self, other: SparseOperand) -> Any:
        return self + (-other)

    def __rsub__(self, other: SparseOperand) -> Any:
        return -self + other

    def __mul__(self, other: SparseOperand) -> Any:
        return self @ other if self.kind == "matrix" and np.ndim(other) else self.multiply(other)

    def __rmul__(self, other: SparseOperand) -> Any:
        if self.kind == "matrix" and np.ndim(other):
            return other @ self
        return self.multiply(other)

    def __pow__(self, n: Any) -> Any:
        if self.kind == "array":
            return self.power(n)
        if n != int(n) or n < 0 or self.shape[0] != self.shape[1]:
            raise ValueError(
                f"expected a square matrix and a whole power of 0 or more, but got {n!r}"
            )
        made: Any = traced(_scipy.eye_array(self.shape[0], format="csr"), self)
        for _ in range(int(n)):
            made = made @ self
        return made

    # -- products ------------------------------------------------------------------------------------
    def __matmul__(self, other: SparseOperand) -> Any:
        if is_sparse(other):
            return self._product_of_sparse(traced(other, self))
        right: Any = lift_fully(unwrapped(other))
        if right.ndim not in (1, 2) or right.shape[0] != self.shape[1]:
            raise value_error(
                f"sparse {self.kind}: expected an array with {self.shape[1]} rows, but got {right.shape}",
            )
        entries = lift_fully(self.entries).reshape(-1, *[1] * (right.ndim - 1))
        factors = self._beside_zeros(right[self.columns], entries)
        made = self.as_dense(sum_at(entries * factors, self.rows, self.shape[0]))
        return numpy_matrix(made) if is_numpy_matrix(other) else made

    def __rmatmul__(self, other: SparseOperand) -> Any:
        if is_sparse(other):
            return traced(other, self) @ self
        return np.transpose(self.T @ np.transpose(other))

    dot = __matmul__

    def _product_of_sparse(self, other: TracedSparse) -> TracedSparse:
        if self.shape[1] != other.shape[0]:
            raise ValueError(
                f"matmul: dimension mismatch with signature {self.shape}, {other.shape}"
            )
        starts = other.pattern.indptr
        counts = np.diff(starts)[self.columns]
        mine = np.repeat(np.arange(self.pattern.nnz), counts)
        # The entries of the other matrix in the row that each entry of this one meets.
        first = np.cumsum(counts) - counts
        theirs = np.arange(mine.size) - first[mine] + starts[self.columns[mine]]
        entries = lift_fully(self.entries)[mine] * lift_fully(other.entries)[theirs]
        shape = self.shape[0], other.shape[1]
        places = self.rows[mine] * shape[1] + other.columns[theirs]
        return self._like(*summed(entries, places, shape), exact=False)

    # -- reductions ------------------------------------------------------------------------------------
    def sum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: object = None
    ) -> Any:
        """As SciPy's method."""
        refuse("sum", out=out)
        if dtype is not None:
            return self.astype(dtype).sum(axis)
        if axis is None:
            return self.as_dense(np.sum(self.entries))
        over_rows = axis % 2 == 0
        size = self.shape[1 if over_rows else 0]
        entries: Any = lift_fully(self.entries)
        found = sum_at(entries, self.columns if over_rows else self.rows, size)
        if self.kind == "matrix":
            found = found.reshape((1, -1) if over_rows else (-1, 1))
        return self.as_matrix(self.as_dense(found))

    def mean(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: object = None
    ) -> Any:
        """As SciPy's method."""
        refuse("mean", out=out)
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis % 2]
        made = self.sum(axis) / count
        return made if dtype is None else made.astype(dtype)

    def max(self, axis: int | None = None) -> Any:
        """As SciPy's method; along an axis a matrix of one row or column, or a dense array."""
        return self._extreme(np.max, axis)

    def min(self, axis: int | None = None) -> Any:
        """As SciPy's method; along an axis a matrix of one row or column, or a dense array."""
        return self._extreme(np.min, axis)

    def _extreme(self, function: Callable[..., Any], axis: int | None) -> Any:
        found = function(self.toarray(), axis)
        if axis is None or self.kind == "array":
            return found
        places = np.arange(found.shape[0])
        row = (0 * places, places, (1, places.size))
        pattern = numbered_pattern(*row) if axis % 2 == 0 else numbered_pattern(*row).T.tocsr()
        entries: Any = lift_fully(unwrapped(found))
        made = self._like(entries, pattern, exact=False)
        made.format = "coo"
        return made


for _name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
    setattr(TracedSparse, f"to{_name}", lambda self, copy=False, form=_name: self.asformat(form))


# -- dense matrices --------------------------------------------------------------------------------
def numpy_matrix(made: Array) -> Any:
    """An array of two axes as NumPy's ``matrix`` of adopted code, whose instances hold traced values."""
    kind: Any = functions["redirect"](np.matrix)
    return mutable(np.asarray(made) if isinstance(made, np.matrix) else made).view(kind)


def is_numpy_matrix(value: object) -> bool:
    """Whether a value is an instance of NumPy's ``matrix``, or of its class in adopted code."""
    return any(
        [kind.__module__ == "numpy" and kind.__name__ == "matrix" for kind in type(value).__mro__]
    )


# -- patterns --------------------------------------------------------------------------------------
def is_sparse(value: object) -> bool:
    """Whether a value is a sparse matrix, of SciPy's or with traced entries."""
    return isinstance(value, TracedSparse) or bool(_scipy.issparse(value))


def _is_place(key: Any) -> bool:
    return (
        isinstance(key, tuple)
        and len(key) == 2
        and all([isinstance(k, int | np.integer) and not isinstance(k, bool) for k in key])
    )


def _same_shape(a: TracedSparse, b: TracedSparse) -> None:
    if a.shape != b.shape:
        raise ValueError(f"inconsistent shapes: {a.shape} and {b.shape}")


def _places(matrix: TracedSparse) -> Any:
    """The place of each entry in the dense matrix, read by rows."""
    return matrix.rows.astype(np.int64) * matrix.shape[1] + matrix.columns


def traced(matrix: SparseMatrix, like: TracedSparse) -> TracedSparse:
    """A sparse matrix of SciPy's as one whose entries could be traced."""
    if isinstance(matrix, TracedSparse):
        return matrix
    held = _scipy.csr_array(matrix, copy=True)  # which is put in order
    held.sum_duplicates()
    rows, columns = held.tocoo().coords
    pattern = numbered_pattern(rows, columns, held.shape)
    return TracedSparse(held.data, pattern, like.format, like.kind, like.writable)


def plain_matrix(matrix: TracedSparse, format: str) -> Any:
    """The matrix of SciPy's with the entries, which are plain."""
    sparse = import_module("funcgrad.scipy.sparse")  # whose products take traced arrays
    own = getattr(sparse, f"coo_{matrix.kind}")
    entries = np.asarray(matrix.entries)
    return own((entries, (matrix.rows, matrix.columns)), shape=matrix.shape).asformat(format)


def as_entries(value: SparseOperand) -> Any:
    """An array, or a list, of entries."""
    found = unwrapped(value)
    return functions["array"](found) if isinstance(found, list | tuple) else lift_fully(found)


def has_traced(value: object) -> bool:
    """Whether a value is an expression, holds one, or is a sparse matrix with traced entries."""
    if isinstance(value, TracedSparse):
        return True
    if isinstance(value, list | tuple):
        return any([has_traced(item) for item in value])
    return isinstance(value, Expr) or holds_expr(value)
