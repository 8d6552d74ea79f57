"""`isscalar`, texts of numbers, and functions that call one for each entry: `vectorize`, `frompyfunc`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import update_wrapper, wraps
from itertools import accumulate
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.object_array import ObjectArray
from funcgrad.arrays.reference import Reference, holds_expr
from funcgrad.arrays.values import by_value, unlabeled
from funcgrad.expr import Expr
from funcgrad.ops import shape
from funcgrad.source import type_error


def isscalar(element: object) -> bool:
    """As `numpy.isscalar`; a traced number is a scalar.

    >>> import funcgrad as fg
    >>> isscalar(fg.var("x")), isscalar(fg.var("x", 3))
    (True, False)
    """
    return not element.shape if isinstance(element, Expr) else bool(np.isscalar(element))


def _text_of_value(function: Callable[..., str]) -> Callable[..., str]:
    @wraps(function)
    def text(*args: object, **kwargs: object) -> str:
        inside, named = by_value((args, kwargs), function.__name__)
        return function(*inside, **named)

    return text


format_float_positional = _text_of_value(np.format_float_positional)
format_float_scientific = _text_of_value(np.format_float_scientific)


class vectorize(np.vectorize):  # noqa: N801  # as NumPy names it
    """As `numpy.vectorize`; of traced arguments the function is called entry by
    entry, too.

    >>> import funcgrad as fg
    >>> relu = vectorize(lambda x: x if x > 0 else 0.0)
    >>> fg.grad(lambda x: relu(x).sum())(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    def __call__(self, *args: object, **kwargs: object) -> Any:
        given_function: Any = self.pyfunc
        if given_function is np._NoValue:  # a decorator with arguments is given its function
            return super().__call__(*args, **kwargs)
        args = tuple([unlabeled(arg) for arg in args])
        if not holds_expr([*args, *kwargs.values()]):
            numeric = _of_numbers(self.pyfunc)
            options: Any = (self.otypes, None, self.excluded, self.cache, self.signature)
            plain = np.vectorize(numeric, *options)
            try:
                return mutable(plain(*args, **kwargs))
            except _TracedResult:  # of a value that the function captures
                pass
        fixed = {k: v for k, v in kwargs.items() if k in self.excluded}
        named = [k for k in kwargs if k not in fixed]
        moving = [i for i in range(len(args)) if i not in self.excluded]

        def function(*values: object) -> Any:
            called = list(args)
            for i, value in zip(moving, values[: len(moving)], strict=True):
                called[i] = value
            further = dict(zip(named, values[len(moving) :], strict=True))
            return self.pyfunc(*called, **further, **fixed)

        given = [*(args[i] for i in moving), *(kwargs[k] for k in named)]
        if self.signature is not None:
            return by_signature(function, self.signature, given, self.otypes)
        return by_entry(function, given, self.otypes or "")


class _TracedResult(Exception):  # noqa: N818  # a sign, no error
    """Raised in the place of a traced value, which NumPy would store in an array of numbers."""


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: object, **kwargs: object) -> Any:
        made = function(*args, **kwargs)
        if holds_expr(made):
            raise _TracedResult
        return made

    return called


class frompyfunc:  # noqa: N801  # as NumPy names it
    """As `numpy.frompyfunc`; of traced arguments func is called entry by entry,
    too, and `reduce`, `accumulate` and `outer` are made of such calls.

    >>> import funcgrad as fg
    >>> chain = frompyfunc(lambda x, y: x * y + 1, 2, 1)
    >>> fg.grad(lambda x: chain.reduce(x))(np.array([2.0, 3.0, 5.0]))
    array([15., 10.,  7.])
    """

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, **kwargs: object) -> None:
        self._func = func
        self._own = np.frompyfunc(func, nin, nout, **kwargs)
        if hasattr(func, "__name__"):
            update_wrapper(self, func)

    def __getattr__(self, name: str) -> Any:
        if name == "_own":  # not set yet
            raise AttributeError(name)
        return getattr(self._own, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not holds_expr(args):
            made = self._own(*args, **kwargs)
            parts = made if isinstance(made, tuple) else (made,)
            if not holds_expr([np.ravel(part).tolist() for part in parts]):
                return made
        return by_entry(self._func, args)

    def __repr__(self) -> str:
        return repr(self._own)

    def reduce(self, array: Any, axis: int | None = 0, **kwargs: Any) -> Any:
        """As `numpy.ufunc.reduce`, along one axis, or all of them for None."""
        if not holds_expr(array):
            return self._own.reduce(array, axis, **kwargs)
        results = self._along(array, axis, **kwargs)
        for made in results:
            last = made
        return last

    def accumulate(self, array: Any, axis: int = 0) -> Any:
        """As `numpy.ufunc.accumulate`."""
        if not holds_expr(array):
            return self._own.accumulate(array, axis)
        return mutable(np.stack(list(self._along(array, axis)), axis))

    def outer(self, a: Any, b: Any, /) -> Any:
        """As `numpy.ufunc.outer`."""
        first, second = _as_arrays([a, b])
        return self(np.reshape(first, first.shape + (1,) * second.ndim), second)

    def _along(self, array: Any, axis: int | None, **kwargs: Any) -> Iterable[Any]:
        """The results of the first entry, the first two, and so on."""
        (x,) = _as_arrays([array])
        slices = list(np.ravel(x) if axis is None else np.moveaxis(x, axis, 0))
        return accumulate(slices, self, **kwargs)


def _as_arrays(values: Iterable[Any]) -> list[Any]:
    return [shape.array(x) if holds_expr(x) else np.asarray(x) for x in values]


def by_signature(
    function: Callable[..., Any], signature: str, arrays: Iterable[Any], types: str | None = None
) -> Any:
    """A function of arrays with the core dimensions of a signature, over their other axes."""
    given = _as_arrays(arrays)
    inputs, outputs = [core_dimensions(side) for side in signature.split("->")]
    if len(given) != len(inputs):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(inputs)}, got {len(given)}"
        )
    sizes: dict[str, int] = {}
    for x, names in zip(given, inputs, strict=True):
        _add_sizes(sizes, np.shape(x), names)
    cores = [tuple([sizes[name] for name in names]) for names in inputs]
    common = np.broadcast_shapes(
        *[x.shape[: x.ndim - len(core)] for x, core in zip(given, cores, strict=True)]
    )
    whole = [np.broadcast_to(x, common + core) for x, core in zip(given, cores, strict=True)]
    results = [function(*[mutable(x[place]) for x in whole]) for place in np.ndindex(*common)]
    if not results:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    several = [made if isinstance(made, tuple) else (made,) for made in results]
    if any([len(made) != len(outputs) for made in several]):
        raise ValueError(
            f"wrong number of outputs from pyfunc: expected {len(outputs)}, got {len(several[0])}"
        )
    joined = []
    kinds = _types_of_results(several[0], types or "")
    for items, names, kind in zip(zip(*several, strict=True), outputs, kinds, strict=True):
        for item in items:
            _add_sizes(sizes, np.shape(item), names)
        core = tuple([sizes[name] for name in names])
        joined.append(_joined(list(items), kind, common + core))
    return joined[0] if len(joined) == 1 else tuple(joined)


def core_dimensions(side: str) -> list[list[str]]:
    """The names of the core dimensions of each array on one side of a signature: ``(m,n),(n)``."""
    return [re.findall(r"\w+", group) for group in re.findall(r"\(([^()]*)\)", side)]


def _add_sizes(sizes: dict[str, int], lengths: tuple[int, ...], names: list[str]) -> None:
    if len(lengths) < len(names):
        raise ValueError(
            f"{len(lengths)}-dimensional argument does not have enough dimensions for all core "
            f"dimensions {tuple(names)}"
        )
    core = lengths[len(lengths) - len(names) :]
    for name, length in zip(names, core, strict=True):
        if sizes.setdefault(name, length) != length:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {length} vs {sizes[name]}"
            )


def _types_of_results(first: tuple[Any, ...], types: str) -> list[Any]:
    """The types of the results of `numpy.vectorize`: those it was given, else those of the first call."""
    return [*types] or [
        np.dtype(object) if _is_object(item) else shape.array(item).dtype for item in first
    ]


def _is_object(item: object) -> bool:
    """Whether a result is no array or list of numbers, such as a dict that holds traced ones."""
    return not isinstance(item, Expr | Reference | list | tuple) and holds_expr(item)


def _joined(items: list[Any], kind: Any, common: tuple[int, ...]) -> Any:
    """Results as an array; None in place of a type stands for the one that holds them all."""
    has_axes = any(
        [
            isinstance(item, list | tuple) or getattr(item, "ndim", 0) or _is_object(item)
            for item in items
        ]
    )
    count = int(np.prod(common, dtype=int))
    if has_axes and count == len(items) and kind is not None and np.dtype(kind) == object:
        made = np.empty(len(items), object).view(ObjectArray)
        for i, item in enumerate(items):
            np.ndarray.__setitem__(made, i, item)
        return made.reshape(common)
    made = shape.array(items)
    if kind is not None and made.size != count:
        raise ValueError("setting an array element with a sequence.")
    if kind is not None and made.dtype.kind == "c" and np.dtype(kind).kind in "fiu":
        raise type_error(
            f"vectorize: expected real numbers, since the results have the type {np.dtype(kind)}, but got "
            f"complex ones; write otypes=[complex], or .real of each",
        )
    is_given = kind is not None and np.dtype(kind) not in (made.dtype, np.dtype(object))
    return mutable(np.reshape(made.astype(kind) if is_given else made, common))


def by_entry(function: Callable[..., Any], arrays: Iterable[Any], types: str | None = None) -> Any:
    """A function of numbers on each entry of arrays, broadcast together; it may return a tuple.

    With types, the results have those that `numpy.vectorize` gives them.
    """
    given = _as_arrays(arrays)
    common = np.broadcast_shapes(*[x.shape for x in given])
    flat = [np.ravel(np.broadcast_to(x, common)) for x in given]
    count = int(np.prod(common, dtype=int))
    if not count:
        if not types:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        none = [mutable(np.zeros(common, kind)) for kind in types]
        return none[0] if len(none) == 1 else tuple(none)
    results = [function(*[x[i] for x in flat]) for i in range(count)]
    is_one = len(types or "") == 1  # also a tuple, as of otypes=[object]
    several = [(made,) if is_one or not isinstance(made, tuple) else made for made in results]
    kinds = [None] * len(several[0]) if types is None else _types_of_results(several[0], types)
    parts = zip(zip(*several, strict=True), kinds, strict=True)
    joined = [_joined(list(items), kind, common) for items, kind in parts]
    return tuple(joined) if isinstance(results[0], tuple) and not is_one else joined[0]
