"""NumPy's functions of arrays, which take nested lists of traced values here.

NumPy dispatches on its operands, but not on the items of a list: `numpy.sum` of ``[x, 1.0]`` asks x for a
number. `ArrayFunction` makes an array of such a list first, and calls NumPy's own function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, update_wrapper
from inspect import signature
from itertools import takewhile, zip_longest
from types import ModuleType, NoneType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import cell_of, mutable
from funcgrad.arrays.reference import OTHER_LISTS, Reference, holds_expr, plain_value, with_items
from funcgrad.arrays.values import array_held_by, by_value
from funcgrad.expr import Expr, const
from funcgrad.expr.operator_dispatch import overrides_ufuncs
from funcgrad.expr.registry import stand_in_of
from funcgrad.numpy.creation import array
from funcgrad.numpy.jax_keywords import ADAPTERS
from funcgrad.ops.base.foreign_arrays import has_array_method, has_sequence_methods
from funcgrad.ops.numpy.delegated_functions import DELEGATED
from funcgrad.ops.shape import as_lists
from funcgrad.source import type_error

_LISTS = (list, tuple)
_TRACED = (Expr, Reference)
_EXACT = frozenset({Expr, int, float, complex})
"""Types of operands for which a ufunc is the operation that stands in for it."""
_UNSHARED = (int, float, complex, str, NoneType, np.generic, list, tuple)
"""Classes of operands of which NumPy makes arrays that are nobody else's."""
_NUMBERS = frozenset({int, float, complex, bool, str, type(None), np.float64, np.ndarray})


_COUNTS = frozenset(
    {
        *("axes", "axis", "dims", "indices_or_sections", "k", "kth", "n", "new_shape", "pad_width"),
        *("destination", "obj", "reps", "s", "shape", "shift", "source", "window_shape"),
    }
)
"""NumPy's names of arguments that are numbers of entries, axes or places, for which a list is no array."""


@lru_cache(maxsize=1024)
def _leading_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a function takes by position; none where it does not tell."""
    try:
        parameters = signature(function).parameters.values()
    except ValueError:
        return ()
    return tuple([p.name for p in takewhile(lambda p: p.kind is not p.VAR_POSITIONAL, parameters)])


def array_like(value: Any) -> Any:
    """An array in the place of nested lists that hold traced values; anything else as it is.

    >>> import funcgrad as fg
    >>> array_like([fg.var("x"), 1.0]).shape, array_like([2.0, 1.0])
    ((2,), [2.0, 1.0])
    """
    if isinstance(value, OTHER_LISTS):
        value = list(value)
    if isinstance(value, _LISTS):
        return array(value) if _holds_traced(value) else value
    if not _is_array_like(value):
        return value
    if not has_array_method(value):
        items = as_lists(value)
        return array(items) if _holds_traced(items) else value
    return array_held_by(value)


def _unlabeled(value: Any) -> Any:
    """As `array_like`, and the array of an object of pandas."""
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_numpy"):
        return array(value.to_numpy())
    return array_like(value)


def _is_labeled(value: Any) -> bool:
    """Whether a value is an object of pandas that holds numbers alone, plain or traced."""
    if type(value).__module__.partition(".")[0] != "pandas" or not hasattr(value, "to_numpy"):
        return False
    dtypes = getattr(value, "dtypes", ())  # one of a Series, and a Series of those of a frame
    every = dtypes if hasattr(dtypes, "items") else [dtypes]
    return all([getattr(dtype, "kind", "O") in "biufc" for dtype in every])


def _is_array_like(value: Any) -> bool:
    """Whether NumPy asks a value for its array, as an instance of a user's class."""
    if type(value) in _NUMBERS or isinstance(value, Expr | Reference):
        return False
    if isinstance(value, (*OTHER_LISTS, *_LISTS)):  # a named tuple is one of the latter
        return True
    answers = overrides_ufuncs(value) or hasattr(type(value), "__array_function__")
    return (has_array_method(value) or has_sequence_methods(value)) and not answers


def _is_array_like_or_labeled(value: Any) -> bool:
    return type(value) not in _NUMBERS and (_is_array_like(value) or _is_labeled(value))


def _holds_traced(items: Any) -> bool:
    waiting = [items]
    for part in waiting:
        kinds = set(map(type, part)) - _NUMBERS
        if kinds:
            if any(
                [
                    issubclass(kind, _TRACED) or hasattr(kind, "_funcgrad_operators")
                    for kind in kinds
                ]
            ):
                return True
            if any([array_held_by(item) is not item for item in part if has_array_method(item)]):
                return True
            waiting.extend([item for item in part if isinstance(item, _LISTS)])
    return False


def _each_array_like(value: Any) -> Any:
    """Array-likes in a list of operands, as `numpy.concatenate` takes it."""
    if isinstance(value, OTHER_LISTS):
        value = list(value)
    if type(value) not in _LISTS:
        return value
    items = [_unlabeled(item) for item in value]
    return items if any([a is not b for a, b in zip(items, value, strict=True)]) else value


def _array_like_or_each(value: Any) -> Any:
    """As `array_like`; of items of several shapes, such as edges of two axes, a list."""
    try:
        return _unlabeled(value)
    except ValueError:
        return _each_array_like(value)


class ArrayFunction:
    """A function of NumPy's that takes nested lists of traced values; equal to NumPy's own.

    >>> import funcgrad as fg
    >>> norm = ArrayFunction(np.linalg.norm)
    >>> fg.grad(lambda x: norm([x, 4.0]))(3.0)
    0.6
    """

    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function, updated=())
        name = getattr(function, "__name__", "")
        keeps = name in DELEGATED or isinstance(function, np.ufunc)
        self._converted = _CONVERTED.get(name, array_like if keeps else _unlabeled)
        self._is_converted = _is_array_like if keeps else _is_array_like_or_labeled
        self._of_jax = ADAPTERS.get(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self.__wrapped__, args, kwargs)

    def _call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_adapted: bool = False,
    ) -> Any:
        if len(args) == 1 and not kwargs and _is_immutable(args[0]):
            return function(args[0])
        if kwargs:
            adapter = None if is_adapted else self._of_jax
            if adapter is not None and not adapter.keywords.isdisjoint(kwargs):

                def call(*args: Any, **kwargs: Any) -> Any:
                    return self._call(function, args, kwargs, is_adapted=True)

                return adapter.function(call, args, {**kwargs})
            kwargs = {name: self._by_name(name, value) for name, value in kwargs.items()}
        listed = False
        for value in args:
            if type(value) in _LISTS or self._is_converted(value):
                args, listed = self._each_converted(args), True
                break
        made = function(*args, **kwargs)
        if type(made) is np.ndarray:
            is_new = listed or all([isinstance(x, _UNSHARED) for x in (*args, *kwargs.values())])
            return mutable(made) if is_new else made
        if listed and isinstance(made, tuple) and not holds_expr(made):
            return with_items(made, [mutable(x) if type(x) is np.ndarray else x for x in made])
        if type(made) is Expr and not made.type.shape:
            return made
        if type(made) in (Expr, tuple) and not any([_is_immutable(a) for a in args]):
            return _mapped(_as_array, made)
        return made

    def _each_converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        names = _leading_names(self.__wrapped__)
        counts = [name in _COUNTS for name in names[: len(args)]]
        return tuple(
            [
                value if is_count else self._converted(value)
                for value, is_count in zip_longest(args, counts, fillvalue=False)
            ]
        )

    def _by_name(self, name: str, value: Any) -> Any:
        # (A tuple of arrays to be written stays one.)
        return value if name == "out" or name in _COUNTS else self._converted(value)

    def __eq__(self, other: object) -> bool:
        theirs = other.__wrapped__ if isinstance(other, ArrayFunction) else other
        return self.__wrapped__ is theirs

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.__wrapped__,)


def _as_array(value: object) -> Any:
    return mutable(value) if type(value) is Expr and value.type.shape else value


def _is_immutable(value: object) -> bool:
    return type(value) is Expr and bool(value.type.shape)


class Maker(ArrayFunction):
    """A function of NumPy's that makes arrays: they can be written."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _mapped(mutable, super().__call__(*args, **kwargs))


class Caller(Maker):
    """A function that NumPy dispatches on one array, while a traced value may come from elsewhere.

    It comes from a function that is called, or is another argument. The arrays become expressions then.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [plain_value(value) for value in args]
        before = [np.array(value) if type(value) is np.ndarray else value for value in given]
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            lifted = [self._lifted(value) for value in args]
            if all([a is b for a, b in zip(lifted, args, strict=True)]):
                raise
            if any([_is_changed(plain_value(a), b) for a, b in zip(args, before, strict=True)]):
                raise type_error(
                    f"{self.__wrapped__.__name__}: expected a function without stores into its argument, "
                    "since it gives traced values; write v = v.copy() in the function",
                ) from None
            return super().__call__(*lifted, **kwargs)

    @staticmethod
    def _lifted(value: Any) -> Any:
        if not isinstance(value, list | np.ndarray | Reference) or holds_expr(value):
            return value
        made = np.array(value)
        return const(made) if made.dtype.kind in "biufc" else value


def _is_changed(now: Any, before: Any) -> bool:
    return type(before) is np.ndarray and np.asarray(now).tobytes() != before.tobytes()


class Choice(ArrayFunction):
    """`numpy.where`, `select` and `broadcast_arrays`, which make arrays also of traced numbers alone."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _mapped(_array, super().__call__(*args, **kwargs))


class Clip(ArrayFunction):
    """`numpy.clip`, which takes one bound by its position too, as in `jax.numpy`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and "a_max" not in kwargs:
            args = (*args, kwargs.pop("max", None))
        return super().__call__(*args, **kwargs)


def _array(value: Any) -> Any:
    return cell_of(value) if type(value) is Expr else value


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple | list):
        return with_items(value, [_mapped(change, item) for item in value])
    return change(value)


def _composed(p: Any, x: np.poly1d) -> Any:
    """The polynomial p(x) of a polynomial x, or of a sequence of coefficients p: by Horner's rule."""
    outer = array_like(p.coeffs if isinstance(p, np.poly1d) else p)
    inner, made = array_like(x.coeffs), outer[:1]
    for i in range(1, len(outer)):
        made = np.polyadd(np.polymul(made, inner), outer[i : i + 1])
    return type(x)(made)


class Settled(ArrayFunction):
    """A function of matrices with a tolerance, in which it has no derivative: a traced one is read."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__wrapped__.__name__
        place = _SETTINGS[name]
        settings = by_value(args[place : place + 1], name)
        kwargs = {
            key: by_value(value, name) if key in ("rcond", "rtol", "tol") else value
            for key, value in kwargs.items()
        }
        return super().__call__(*args[:place], *settings, *args[place + 1 :], **kwargs)


class OfPolynomials(ArrayFunction):
    """A function of polynomials, which takes a `numpy.poly1d` by its coefficients, and gives one for it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kinds = [type(value) for value in args if isinstance(value, np.poly1d)]
        name = self.__wrapped__.__name__
        if not kinds:
            return super().__call__(*args, **kwargs)
        if name == "polyval" and isinstance(args[1], np.poly1d):
            return _composed(*args)
        given = [value.coeffs if isinstance(value, np.poly1d) else value for value in args]
        made = super().__call__(*given, **kwargs)
        return made if name in ("atleast_1d", "polyval", "roots") else _mapped(kinds[0], made)


class Ufunc(ArrayFunction):
    """A ufunc of NumPy's that takes nested lists of traced values; its attributes are NumPy's."""

    __wrapped__: np.ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            kinds = {*map(type, args)}
            if Expr in kinds and kinds <= _EXACT:
                own = stand_in_of(self.__wrapped__)
                if own is not None:
                    return own(*args)
        return self._call(self.__wrapped__, args, kwargs)

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.reduce`."""
        return self._call(self.__wrapped__.reduce, args, kwargs)

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.accumulate`."""
        return self._call(self.__wrapped__.accumulate, args, kwargs)

    def at(self, a: Any, *args: Any, inplace: bool = True) -> Any:
        """As `numpy.ufunc.at`; with ``inplace=False``, of `jax.numpy`, on a copy, which it returns."""
        changed = a if inplace else array(a)
        # (An index may be a tuple, which is no list of numbers.)
        indices, *operands = args
        self.__wrapped__.at(changed, indices, *map(array_like, operands))
        return None if inplace else changed

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.ufunc.outer`."""
        return self._call(self.__wrapped__.outer, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def _as_it_is(value: Any) -> Any:
    return value


def _tuple_of_each(value: Any) -> Any:
    """NumPy hands a tuple of keys over, and no list of them."""
    found = _each_array_like(value)
    return tuple(found) if isinstance(found, list) else found


_OF_SEVERAL = (
    *("choose", "column_stack", "concat", "concatenate", "dstack", "histogramdd", "hstack"),
    *("multi_dot", "piecewise", "row_stack", "select", "stack", "vstack"),
)
"""Functions of a list of arrays: its items are converted, and not the list."""
_CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_OF_SEVERAL, _each_array_like),
    "block": _as_it_is,
    "lexsort": _tuple_of_each,
    "histogram2d": _array_like_or_each,
}

_MAKERS = frozenset(
    {
        *("append", "block", "column_stack", "concat", "concatenate", "diag", "diagflat", "dstack"),
        *("geomspace", "hstack", "indices", "kron", "linspace"),
        *("logspace", "meshgrid", "outer", "repeat", "resize", "stack", "tile", "tri"),
        *("tril", "triu", "vander", "vstack"),
    }
)
_SETTINGS = {"lstsq": 2, "matrix_rank": 1, "pinv": 1, "polyfit": 3}
"""The functions with a tolerance, and its place among the arguments."""
_CALLERS = frozenset({"apply_along_axis", "apply_over_axes", "fromfunction", "pad", "piecewise"})
_OF_POLYNOMIALS = frozenset(
    {
        *(
            "atleast_1d",
            "convolve",
            "polyadd",
            "polyder",
            "polydiv",
            "polyint",
            "polymul",
            "polysub",
            "polyval",
        ),
        "roots",
    }
)
_AS_THEY_ARE = frozenset({"can_cast", "result_type"})


def array_functions(module: ModuleType) -> Mapping[str, Any]:
    """The ufuncs of a module of NumPy's, and its functions of arrays, by name."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name[0] == "_" or name in _AS_THEY_ARE:
            continue
        if isinstance(value, np.ufunc):
            found[name] = Ufunc(value)
        elif name in ("broadcast_arrays", "select", "where"):
            found[name] = Choice(value)
        elif name in _SETTINGS:
            found[name] = Settled(value)
        elif name == "clip":
            found[name] = Clip(value)
        elif name in _OF_POLYNOMIALS:
            found[name] = OfPolynomials(value)
        elif name in _CALLERS:
            found[name] = Caller(value)
        elif name in _MAKERS:
            found[name] = Maker(value)
        elif type(value) is type(np.sum) or name in ADAPTERS:
            found[name] = ArrayFunction(value)
    return found
