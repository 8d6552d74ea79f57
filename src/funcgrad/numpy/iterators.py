"""NumPy's iterators over several arrays, which are written in C, for traced values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np

from funcgrad.arrays.mutable_array import cell_of, mutable, shared_argument
from funcgrad.arrays.reference import Reference, holds_expr, layout_of
from funcgrad.expr import Expr
from funcgrad.numpy.creation import asarray
from funcgrad.ops.base.op import lift_fully
from funcgrad.source import fail, type_error


class broadcast:  # noqa: N801  # as NumPy names it
    """As `numpy.broadcast`: the shape of arrays that are broadcast together, and
    their entries in turn.

    >>> import funcgrad as fg
    >>> both = broadcast(fg.var("x", 3), np.ones((2, 1)))
    >>> both.shape, both.size
    ((2, 3), 6)
    """

    def __init__(self, *args: object) -> None:
        arrays = [asarray(item) for item in args]
        self.shape: tuple[int, ...] = np.broadcast_shapes(*[item.shape for item in arrays])
        self.ndim = self.nd = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=int))
        self.numiter = len(arrays)
        self.index = 0
        """The number of the next tuple of entries."""
        self._rows = [np.broadcast_to(item, self.shape).reshape(-1) for item in arrays]

    def reset(self) -> None:
        """Start again from the first entries."""
        self.index = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self.index >= self.size:
            raise StopIteration
        self.index += 1
        return tuple([row[self.index - 1] for row in self._rows])


class _Entries:
    """An iterator over the entries of arrays that may be traced, in the order of NumPy's own iterator."""

    def __init__(self, operands: list[Any], order: np.nditer, is_single: bool) -> None:
        self.operands, self.nop = tuple(operands), len(operands)
        self._order, self._is_single = order, is_single
        self._is_started = False

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_ORDER:
            raise fail(
                AttributeError,
                f"nditer: expected no {name} of an iterator over traced values, which has no buffers; read "
                "value, operands, multi_index, index or finished",
            )
        return getattr(self._order, name)

    def __setattr__(self, name: str, value: object) -> None:
        # The attributes that move NumPy's iterator to a place.
        target = self._order if name in ("index", "iterindex", "multi_index") else self
        object.__setattr__(target, name, value)

    def copy(self) -> Self:
        """Another iterator over the same arrays, at the same place."""
        found = type(self)(list(self.operands), self._order.copy(), self._is_single)
        found._is_started = self._is_started
        return found

    @property
    def value(self) -> Any:
        """The current entries: arrays of no axes, which take stores."""
        found = tuple([self[k] for k in range(self.nop)])
        return found[0] if self._is_single else found

    def __len__(self) -> int:
        return self.nop

    def __getitem__(self, k: int) -> Any:
        array = self.operands[k]
        place: tuple[int, ...] = self._order.multi_index
        place = place[len(place) - array.ndim :]
        return array[(*[i if n > 1 else 0 for i, n in zip(place, array.shape, strict=True)], ...)]

    def __setitem__(self, k: int, value: object) -> None:
        self[k][...] = value

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._is_started and not self._order.finished:
            self._order.iternext()
        self._is_started = True
        if self._order.finished:
            raise StopIteration
        return self.value

    def reset(self) -> None:
        """Start again from the first entries."""
        self._order.reset()
        self._is_started = False

    def close(self) -> None:
        """Nothing: what is stored is in the arrays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def nditer(
    op: Any,
    flags: Sequence[Any] | None = None,
    op_flags: Sequence[Any] | None = None,
    op_dtypes: Any = None,
    order: Literal["K", "A", "C", "F"] = "K",
    casting: Any = "safe",
    **options: Any,
) -> Any:
    """As `numpy.nditer`, also over arrays that hold traced values, or take them.

    There, ``external_loop``, ``op_axes`` and ``itershape`` are refused, since
    no buffer holds several entries, and ``op_dtypes`` are those of operands
    that are None, which it makes.
    """
    operands = list(op) if isinstance(op, list | tuple) else [op]
    given = [item for item in operands if item is not None]
    of_buffers = "external_loop" in (flags or ()) or any([v is not None for v in options.values()])
    makes = len(given) < len(operands)
    takes = (op_flags is not None or makes) and any([isinstance(item, Reference) for item in given])
    if not (takes or holds_expr(given) or (makes and not of_buffers)):
        return np.nditer(_buffers(op), flags, op_flags, op_dtypes, order, casting, **options)
    if of_buffers:
        raise type_error(
            "nditer: expected an iterator over single entries of traced values, but got external_loop, "
            "op_axes or another option of buffers; write for i in np.ndindex(x.shape): x[i]",
        )
    if order != "C" and any([isinstance(item, Expr) and item.ndim for item in given]):
        raise type_error(
            "nditer: expected the order 'C', since an expression has no layout in memory; write order='C', "
            "or fg.adopt(f) for the function",
        )
    arrays = [_cell(item) for item in given]
    shadows = [layout_of(item) for item in arrays]
    shape = np.broadcast_shapes(*[item.shape for item in arrays])
    kinds = list(op_dtypes) if isinstance(op_dtypes, list | tuple) else [op_dtypes] * len(operands)
    made = iter(arrays)
    whole = [
        mutable(np.zeros(shape, kind or np.result_type(*arrays))) if item is None else next(made)
        for item, kind in zip(operands, kinds, strict=True)
    ]
    kept: list[Any] = [flag for flag in flags or () if flag in _OF_PLACES]
    places = np.nditer(shadows, [*kept, "multi_index", "refs_ok"], order=order)
    return _Entries(whole, places, not isinstance(op, list | tuple))


_OF_ORDER = frozenset(
    (
        *("finished", "iternext", "index", "iterindex", "multi_index", "iterrange", "itersize"),
        *("has_delayed_bufalloc", "has_index", "ndim", "shape"),
    )
)
"""The attributes of NumPy's iterator that tell of places alone."""
_OF_PLACES = frozenset(("c_index", "f_index", "reduce_ok", "zerosize_ok"))
"""The flags that say which places there are, and in which order."""


def _cell(item: Any) -> Any:
    """An operand as an array of any number of axes."""
    found = shared_argument(item) if type(item) is np.ndarray else asarray(item)
    return found if isinstance(found, Reference) else cell_of(lift_fully(found))


def _buffers(op: object) -> Any:
    """The arrays of NumPy's that hold the numbers: what the iterator stores reaches them."""
    if isinstance(op, Reference):
        return np.asarray(op)
    return [_buffers(item) for item in op] if isinstance(op, list | tuple) else op
