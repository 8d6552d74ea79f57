"""``scipy.sparse`` for traced values: products with traced arrays, and matrices with traced entries.

The classes are subclasses of SciPy's whose products with traced vectors and matrices are expressions, and
functions that make sparse matrices return them. Of traced entries they make `TracedSparse`. In adopted code
SciPy's own sparse matrices are seen as these. All other names lead to SciPy.

>>> import numpy as np
>>> import funcgrad as fg
>>> a = csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
>>> fg.grad(lambda x: np.sum(a @ x))(np.ones(2))
array([3., 2.])
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as _scipy

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import MARK, Reference, export
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import astype, holds_expr
from funcgrad.scipy.composition import taken
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.sparse.assembly import ASSEMBLED
from funcgrad.scipy.sparse.sparse_arguments import of_arguments
from funcgrad.scipy.sparse.sparse_layout import COMPARISONS
from funcgrad.scipy.sparse.traced_sparse import (
    SparseMatrix,
    SparseOperand,
    TracedSparse,
    has_traced,
    is_numpy_matrix,
    is_sparse,
    numpy_matrix,
    traced,
)
from funcgrad.scipy.sparse_product import sparse_product_op
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, DTypeLike


def _product(matrix: SparseMatrix, x: SparseOperand) -> Any:
    """matrix @ x: the entries times the rows of x that they meet, added up by rows."""
    right: Any = lift_fully(x)
    if right.dtype.kind not in "fiubc":
        raise type_error(f"sparse matrix: expected numbers, but got dtype {right.dtype}")
    if not right.ndim:
        raise type_error("sparse matrix: expected an array, but got a number; write s * A")
    size = matrix.shape[-1]
    if right.ndim > 2 or right.shape[0] != size:
        raise value_error(
            f"sparse matrix: expected an array with {size} rows, but got {right.shape}",
        )
    dtype = np.result_type(matrix.dtype, right.dtype)
    if matrix.ndim == 2 and dtype.char in "fdFD":
        transposed = matrix.format == "csc"  # by rows is its transpose
        by_rows = matrix.T if transposed else matrix.tocsr()
        rows = np.repeat(np.arange(by_rows.shape[0]), np.diff(by_rows.indptr))
        found = sparse_product_op(
            astype(by_rows.data, dtype),
            by_rows.indices,
            by_rows.indptr,
            rows,
            astype(right, dtype),
            shape=tuple(map(int, by_rows.shape)),
            transposed=transposed,
        )
        return _beside(x, found)
    entries = _scipy.coo_array(matrix)
    data = entries.data.reshape((-1, *[1] * (right.ndim - 1)))
    terms = data * taken(right, entries.coords[-1])
    if matrix.ndim == 1:
        return _beside(x, np.sum(terms, axis=0))
    total = lift_fully(np.zeros((matrix.shape[0], *right.shape[1:]), terms.dtype))
    return _beside(x, total.at[entries.coords[0]].add(terms))


def _beside(operand: Any, made: Any) -> Any:
    """A product: in adopted code, where arrays can be written, an array that can be written, or a matrix."""
    if is_numpy_matrix(operand):
        return numpy_matrix(made)
    return mutable(made) if isinstance(operand, Reference) else made


class _Traced:
    """What a sparse matrix does with a traced operand."""

    def __new__(
        cls,
        arg1: SparseOperand = None,
        shape: tuple[int, int] | None = None,
        dtype: DTypeLike | None = None,
        *args: object,
        **kwargs: object,
    ) -> Any:
        if has_traced(arg1):
            form, _, kind = cls.__name__.partition("_")
            return of_arguments(arg1, shape, form, kind, dtype)
        return super().__new__(cls)

    @classmethod
    def of_scipy(cls, own: SparseMatrix) -> Any:
        """SciPy's matrix as one of this class, of the same entries."""
        if own.format == "dok":  # a dict
            return cls(own)
        made: Any = object.__new__(cls)
        made.__dict__ = own.__dict__
        return made

    def __matmul__(self, other: SparseOperand) -> Any:
        if isinstance(other, TracedSparse):
            return NotImplemented
        if holds_expr(other):
            return _product(self, other)
        return _for_user(super().__matmul__(other))  # type: ignore[misc]

    def __rmatmul__(self, other: SparseOperand) -> Any:
        return _for_user(super().__rmatmul__(other))  # type: ignore[misc]

    def __mul__(self, other: SparseOperand) -> Any:
        if isinstance(other, TracedSparse):
            return NotImplemented
        if _is_factor(other):
            return self._scaled(other)
        return _for_user(super().__mul__(other))  # type: ignore[misc]

    def __rmul__(self, other: SparseOperand) -> Any:
        if _is_factor(other):
            return self._scaled(other)
        return _for_user(super().__rmul__(other))  # type: ignore[misc]

    def __truediv__(self, other: SparseOperand) -> Any:
        if holds_expr(other):
            return _traced_of(self, other) / other
        return super().__truediv__(other)  # type: ignore[misc]

    def _scaled(self, factor: Any) -> Any:
        return _traced_of(self, factor).multiply(factor)

    def __setitem__(self, key: object, value: SparseOperand) -> None:
        self._check_plain(value)
        super().__setitem__(key, value)  # type: ignore[misc]

    def setdiag(self, values: ArrayLike, k: int = 0) -> None:
        """As SciPy's method."""
        self._check_plain(values)
        super().setdiag(values, k)  # type: ignore[misc]

    def _check_plain(self, value: SparseOperand) -> None:
        if has_traced(value):
            raise type_error(
                f"{type(self).__name__}: expected plain entries, but got traced ones; write A = A.tolil(), "
                "which takes them",
            )

    @property
    def data(self) -> Any:
        """As SciPy's attribute; adopted code finds the array as it does others from outside."""
        own = self.__dict__.get("data")
        if own is None:  # of a format that is a dict
            raise AttributeError("data")
        return functions["redirect"](own) if MARK in sys._getframe(1).f_globals else own

    @data.setter
    def data(self, own: Any) -> None:
        self.__dict__["data"] = export(own) if isinstance(own, Reference) else own

    def tolil(self, copy: bool = False) -> Any:
        """As SciPy's method; what the user's code asks for takes stores of traced entries."""
        if str(sys._getframe(1).f_globals.get("__name__")).startswith("scipy."):
            return super().tolil(copy)  # type: ignore[misc]
        made = _traced_of(self)
        made.format = "lil"
        return made

    def __add__(self, other: SparseOperand) -> Any:
        if isinstance(other, TracedSparse):
            return NotImplemented
        if holds_expr(other):
            return self._as_matrix(self._dense(other) + other)
        return super().__add__(other)  # type: ignore[misc]

    def __radd__(self, other: SparseOperand) -> Any:
        return self + other

    def __sub__(self, other: SparseOperand) -> Any:
        if isinstance(other, TracedSparse):
            return NotImplemented
        if holds_expr(other):
            return self._as_matrix(self._dense(other) - other)
        return super().__sub__(other)  # type: ignore[misc]

    def __rsub__(self, other: SparseOperand) -> Any:
        if holds_expr(other):
            return self._as_matrix(other - self._dense(other))
        return super().__rsub__(other)  # type: ignore[misc]

    def _dense(self, other: ArrayLike) -> Any:
        if not np.ndim(other):
            raise NotImplementedError("adding a nonzero scalar to a sparse matrix is not supported")
        return self.toarray()  # type: ignore[attr-defined]

    def _as_matrix(self, made: Array) -> Any:
        """A dense result: one of NumPy's matrices, if this is a matrix and no array."""
        return made if isinstance(self, _scipy.sparray) else numpy_matrix(made)

    def dot(self, other: SparseOperand) -> Any:
        """As SciPy's method."""
        if isinstance(other, TracedSparse):
            return self @ other
        if holds_expr(other):
            return _product(self, other)
        return _for_user(super().dot(other))  # type: ignore[misc]

    def _matmul_dispatch(self, other: SparseOperand, *args: object, **kwargs: object) -> Any:
        if holds_expr(other):
            return _product(self, other)
        return super()._matmul_dispatch(other, *args, **kwargs)  # type: ignore[misc]

    def _rmatmul_dispatch(self, other: SparseOperand) -> Any:
        if holds_expr(other):
            return np.transpose(_product(self.T, np.transpose(other)))  # type: ignore[attr-defined]
        return super()._rmatmul_dispatch(other)  # type: ignore[misc]

    def multiply(self, other: ArrayLike) -> Any:
        """As SciPy's method."""
        if has_traced(other):
            return _traced_of(self, other).multiply(other)
        return _of_class(super().multiply(other))  # type: ignore[misc]


def _comparison(name: str) -> Callable[..., Any]:
    def compared(self: object, other: object) -> Any:
        if isinstance(other, TracedSparse):
            return NotImplemented  # whose reflected operator answers
        return getattr(super(_Traced, self), name)(other)

    return compared


def _dense_result(name: str) -> Callable[..., Any]:
    def method(self: object, *args: object, **kwargs: object) -> Any:
        """As SciPy's method."""
        return _for_user(getattr(super(_Traced, self), name)(*args, **kwargs))

    return method


for _name in COMPARISONS:
    setattr(_Traced, _name, _comparison(_name))
for _name in ("diagonal", "mean", "sum", "toarray", "todense"):
    setattr(_Traced, _name, _dense_result(_name))


def _for_user(made: Any) -> Any:
    """A dense result that the user's code asks for: a matrix of NumPy's as one that takes traced values, and
    an array as adopted code has it. SciPy's code finds it as it is."""
    caller = sys._getframe(2)
    if type(made) is np.ndarray:
        return functions["as_in_adopted_code"](made, caller)
    asking = str(caller.f_globals.get("__name__"))
    return (
        numpy_matrix(made) if type(made) is np.matrix and not asking.startswith("scipy.") else made
    )


def _is_factor(value: SparseOperand) -> bool:
    return holds_expr(value) and np.ndim(value) == 0


def _traced_of(matrix: SparseMatrix, beside: object = None) -> TracedSparse:
    """A matrix of SciPy's as one whose entries could be traced."""
    form, _, kind = type(matrix).__name__.partition("_")
    writable = isinstance(beside, Reference)
    return traced(matrix, TracedSparse(np.zeros(0), _scipy.csr_array((0, 0)), form, kind, writable))


_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def _container(name: str) -> property:
    """The attribute by which a matrix of SciPy's finds the class of its other formats."""

    def container(self: object) -> type:
        return _CLASSES[name]

    return property(container)


def _subclass(name: str, kind: str) -> type:
    containers = {f"_{form}_container": _container(f"{form}_{kind}") for form in _FORMATS}
    own = getattr(_scipy, name)
    body = {"__doc__": f"As `scipy.sparse.{name}`.", "__module__": __name__, **containers}
    return type(name, (_Traced, own), body)


_CLASSES = {
    f"{form}_{kind}": _subclass(f"{form}_{kind}", kind)
    for form in _FORMATS
    for kind in ("array", "matrix")
}
globals().update(_CLASSES)


def _of_class(found: object) -> Any:
    """A sparse matrix of SciPy's as one of the class that takes traced operands."""
    kind = _CLASSES.get(type(found).__name__)
    return found if kind is None or isinstance(found, _Traced) else kind(found)


def _maker(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        if has_traced([*args, *kwargs.values()]):
            if name in ASSEMBLED:
                return ASSEMBLED[name](*args, **kwargs)
            raise type_error(
                f"{name}: expected plain arguments, but got traced ones; write (data, (rows, columns)) of "
                "traced data",
            )
        made = own(*args, **kwargs)
        if isinstance(made, tuple):
            caller = sys._getframe(1)
            return tuple([functions["as_in_adopted_code"](item, caller) for item in made])
        return _of_class(made)

    return function


_MAKERS = (
    *("block_array", "block_diag", "bmat", "diags", "diags_array", "eye", "eye_array", "hstack"),
    *("identity", "kron", "kronsum", "random", "random_array", "spdiags", "tril", "triu", "vstack"),
    "find",
)
globals().update({name: _maker(name) for name in _MAKERS if hasattr(_scipy, name)})


def issparse(x: object) -> bool:
    """As `scipy.sparse.issparse`."""
    return is_sparse(x)


def isspmatrix(x: object) -> bool:
    """As `scipy.sparse.isspmatrix`."""
    return x.kind == "matrix" if isinstance(x, TracedSparse) else bool(_scipy.isspmatrix(x))


def _of_format(name: str) -> Callable[..., bool]:
    own = getattr(_scipy, f"isspmatrix_{name}")

    @wraps(own)
    def function(x: object) -> bool:
        return isspmatrix(x) and getattr(x, "format", "") == name

    return function


globals().update({f"isspmatrix_{name}": _of_format(name) for name in _FORMATS})


# -- matrices that take stores -----------------------------------------------------------------------
class _TakesStores(type):
    """The class of a format whose matrices are written entry by entry, with traced entries as well."""

    own: type

    def __instancecheck__(cls, value: object) -> bool:
        if isinstance(value, TracedSparse):
            return f"{value.format}_{value.kind}" == cls.__name__
        return isinstance(value, cls.own)

    def __call__(
        cls, arg1: SparseOperand, shape: Any = None, dtype: Any = None, copy: bool = False
    ) -> Any:
        if has_traced(arg1):
            return cls.own(arg1, shape, dtype)
        made = _traced_of(_scipy.csr_array(getattr(_scipy, cls.__name__)(arg1, shape, dtype)))
        made.format, _, made.kind = cls.__name__.partition("_")
        made.writable = True
        return made

    def of_scipy(cls, own: SparseMatrix) -> Any:
        """SciPy's matrix as adopted code finds it."""
        return cls.own.of_scipy(own)  # type: ignore[attr-defined]


for _name in ("dok_array", "dok_matrix", "lil_array", "lil_matrix"):
    globals()[_name] = _TakesStores(
        _name, (), {"own": _CLASSES[_name], "__doc__": f"As `scipy.sparse.{_name}`."}
    )


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return import_module("funcgrad.scipy.sparse.linalg")
    return attribute_of(_scipy, name)
