"""``scipy.sparse`` for traced values: products of constant sparse matrices with traced arrays.

The classes are subclasses of SciPy's whose products with traced vectors and matrices are expressions, and
functions that make sparse matrices return them. In adopted code SciPy's own sparse matrices are seen as
these. All other names lead to SciPy.

>>> import numpy as np
>>> import funcgrad as fg
>>> a = csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
>>> fg.grad(lambda x: np.sum(a @ x))(np.ones(2))
array([3., 2.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as _scipy

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import Reference
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, taken
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import fail


def _product(matrix: Any, x: Any) -> Any:
    """matrix @ x: the entries times the rows of x that they meet, added up by rows."""
    right: Any = lift_fully(x)
    if right.dtype.kind not in "fiubc":
        raise fail(TypeError, f"sparse matrix: expected numbers, but got dtype {right.dtype}")
    if not right.ndim:
        raise fail(
            TypeError,
            "sparse matrix: expected an array, but got a traced number, and sparse matrices hold no traced "
            "values; write s * (A @ x) for (s * A) @ x",
        )
    size = matrix.shape[-1]
    if right.ndim > 2 or right.shape[0] != size:
        raise fail(
            ValueError,
            f"sparse matrix: expected an array with {size} rows, but got {right.shape}",
        )
    entries = _scipy.coo_array(matrix)
    data = entries.data.reshape((-1, *[1] * (right.ndim - 1)))
    terms = data * taken(right, entries.coords[-1])
    if matrix.ndim == 1:
        return _beside(x, np.sum(terms, axis=0))
    total = lift_fully(np.zeros((matrix.shape[0], *right.shape[1:]), terms.dtype))
    return _beside(x, total.at[entries.coords[0]].add(terms))


def _beside(operand: Any, made: Any) -> Any:
    """A product: in adopted code, where arrays can be written, an array that can be written."""
    return mutable(made) if isinstance(operand, Reference) else made


class _Traced:
    """What a sparse matrix does with a traced operand."""

    def __init__(self, arg1: Any, *args: Any, **kwargs: Any) -> None:
        if holds_expr(arg1):
            raise fail(
                TypeError,
                f"{type(self).__name__}: expected plain entries, since sparse matrices hold no traced "
                "values; write the dense array, or, for its product with x: "
                "y = np.zeros(n); np.add.at(y, rows, entries * x[columns])",
            )
        super().__init__(arg1, *args, **kwargs)  # type: ignore[call-arg]

    @classmethod
    def of_scipy(cls, own: Any) -> Any:
        """SciPy's matrix as one of this class, of the same entries."""
        if own.format == "dok":  # a dict
            return cls(own)
        made: Any = object.__new__(cls)
        made.__dict__ = own.__dict__
        return made

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other) if holds_expr(other) else super().__matmul__(other)  # type: ignore[misc]

    def __add__(self, other: Any) -> Any:
        if holds_expr(other):
            return self._dense(other) + other
        return super().__add__(other)  # type: ignore[misc]

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        if holds_expr(other):
            return self._dense(other) - other
        return super().__sub__(other)  # type: ignore[misc]

    def __rsub__(self, other: Any) -> Any:
        if holds_expr(other):
            return other - self._dense(other)
        return super().__rsub__(other)  # type: ignore[misc]

    def _dense(self, other: npt.ArrayLike) -> Any:
        if not np.ndim(other):
            raise NotImplementedError("adding a nonzero scalar to a sparse matrix is not supported")
        return self.toarray()  # type: ignore[attr-defined]

    def dot(self, other: Any) -> Any:
        """As SciPy's method."""
        return _product(self, other) if holds_expr(other) else super().dot(other)  # type: ignore[misc]

    def _matmul_dispatch(self, other: Any, *args: object, **kwargs: object) -> Any:
        if holds_expr(other):
            return _product(self, other)
        return super()._matmul_dispatch(other, *args, **kwargs)  # type: ignore[misc]

    def _rmatmul_dispatch(self, other: Any) -> Any:
        if holds_expr(other):
            return np.transpose(_product(self.T, np.transpose(other)))  # type: ignore[attr-defined]
        return super()._rmatmul_dispatch(other)  # type: ignore[misc]

    def multiply(self, other: npt.ArrayLike) -> Any:
        """As SciPy's method; with a traced factor, a dense result."""
        if holds_expr(other):
            return self.toarray() * number("sparse matrix", other)  # type: ignore[attr-defined]
        return _of_class(super().multiply(other))  # type: ignore[misc]


_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def _container(name: str) -> property:
    """The attribute by which a matrix of SciPy's finds the class of its other formats."""

    def container(self: Any) -> type:
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
        if holds_expr([*args, *kwargs.values()]):
            raise fail(
                TypeError,
                f"{name}: expected plain entries, since sparse matrices hold no traced values; write a dense "
                "matrix, or the product as a sum of its terms",
            )
        return _of_class(own(*args, **kwargs))

    return function


_MAKERS = (
    *("block_array", "block_diag", "bmat", "diags", "diags_array", "eye", "eye_array", "hstack"),
    *("identity", "kron", "kronsum", "random", "random_array", "spdiags", "tril", "triu", "vstack"),
)
globals().update({name: _maker(name) for name in _MAKERS if hasattr(_scipy, name)})


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return import_module("funcgrad.scipy.sparse.linalg")
    return attribute_of(_scipy, name)
