"""SciPy's functions in adopted code: they take lists, and their arrays can be written.

A function without traced values among its arguments is SciPy's own.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, wraps
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad.adoption.adopted_classes import may_be_adopted, subclass_over
from funcgrad.adoption.adopted_types import original_class
from funcgrad.adoption.instance_views import view
from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import (
    Reference,
    exported,
    holds_expr,
    is_numeric,
    unwrapped,
    with_items,
)
from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.expr import Expr
from funcgrad.expr.concrete import kept_for_users
from funcgrad.expr.registry import functions
from funcgrad.integrate.solve_ivp import OdeResult
from funcgrad.numpy.array_likes import ArrayFunction
from funcgrad.ops.numpy.array_function import first_expr
from funcgrad.source import OURS, USERS, fail
from funcgrad.trace.known_code import PLAIN_DATA
from funcgrad.trace.leaves import is_of_stand_in
from funcgrad.trace.masked_trees import is_masked
from funcgrad.trace.remedies import is_refusal_of_compiled_code
from funcgrad.unadopted_packages import is_kept


class ScipyFunction(ArrayFunction):
    """A function or a distribution of `funcgrad.scipy`, or a method of one; equal to what it stands for."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._methods: dict[str, tuple[MethodType, Any]] = {}
        """Methods, and what stands for them: to make these takes longer than most of their calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _is_plain([args, kwargs]):
            return _seen(self.__wrapped__(*_plain(args), **_plain(kwargs)))
        return _seen(_with_refusals_kept(super().__call__, args, kwargs))

    def _each_converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        function = self.__wrapped__
        # (A method or an instance may hold traced values, which no cache may keep.)
        is_kept = isinstance(function, FunctionType | type)
        kept = (_cached_places_of_tuples if is_kept else _places_of_tuples)(function)
        return tuple([arg if i in kept else self._array_like(arg) for i, arg in enumerate(args)])

    def _by_name(self, name: str, value: Any) -> Any:
        return value if name in _TUPLES else self._array_like(value)

    def _array_like(self, value: object) -> Any:
        """An array in the place of lists; unlike items, like ``(c, lower)`` of `cho_solve`, are kept."""
        if isinstance(value, list | tuple) and any([_is_function(item) for item in value]):
            return value  # such as the ranges of `nquad`
        try:
            return self._converted(value)
        except ValueError:
            return value

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet
            raise AttributeError(name)
        value = getattr(self.__wrapped__, name)
        if type(value) is not MethodType:
            return as_adopted(value)
        known = self._methods.get(name)
        if known is None or known[0] != value:
            known = self._methods[name] = value, as_adopted(value)
        return known[1]

    def __eq__(self, other: object) -> bool:
        return _original(self) is _original(other)

    def __hash__(self) -> int:
        return hash(_original(self))


def _is_function(item: object) -> bool:
    return callable(item) and not isinstance(item, Expr)  # which can be called, too


def _original(value: Any) -> Any:
    """SciPy's function or distribution for which a value stands; any other value as it is."""
    if not isinstance(value, ArrayFunction):
        return value
    return functions["original_behind"](value.__wrapped__)


_TUPLES = (
    *("args", "bc_type", "bounds", "c_or_cr", "extra_args", "height", "prominence", "tck"),
    *("points", "threshold", "xi"),
)
"""Names of parameters that are tuples, no arrays: arguments of a function, vectors, bounds, coordinates."""


def _places_of_tuples(function: Callable[..., Any]) -> tuple[int, ...]:
    """The positions of the parameters of a function that are tuples."""
    parameters = enumerate(inspect.signature(function).parameters.values())
    return tuple(
        [k for k, p in parameters if p.name in _TUPLES and p.kind is p.POSITIONAL_OR_KEYWORD]
    )


_cached_places_of_tuples = lru_cache(maxsize=1024)(_places_of_tuples)


def _seen(value: object) -> Any:
    """A result: its arrays can be written."""
    if type(value) is Expr:
        return mutable(value)
    if type(value) is np.ndarray:
        return mutable(np.array(value))  # it may be an argument
    if is_masked(type(value)):
        return functions["redirect"](value)
    if isinstance(value, tuple | list):
        return with_items(value, [_seen(item) for item in value])
    if isinstance(value, dict) and type(value) is not dict:  # the result object of a solver
        value.update({key: _part_seen(item) for key, item in value.items()})
        return value
    if isinstance(value, OdeResult):
        vars(value).update({key: _seen(item) for key, item in vars(value).items()})
        return value
    return as_adopted(value)


def _part_seen(value: object) -> Any:
    """A part of a result object: SciPy's interpolant in one is called on traced values."""
    of_scipy = callable(value) and type(value).__module__.startswith("scipy.")
    return functions["redirect"](value) if of_scipy else _seen(value)


def as_adopted(value: Any) -> Any:
    """A function, a class or an instance of this package in adopted code; anything else as it is."""
    home = str(getattr(value, "__module__", None))
    own = home.startswith("funcgrad.scipy.") or (home.startswith("funcgrad.") and callable(value))
    if not own or isinstance(value, ArrayFunction | Expr):
        return value
    if isinstance(value, type):
        return _class(value) if home.startswith("funcgrad.scipy.") else value
    if isinstance(value, FunctionType):
        return _kept(value)
    kind: type = type(value)
    if original_class(kind) is not kind or hasattr(kind, "ndim"):  # a sparse matrix
        return value
    adopted = _class(kind)
    return ScipyFunction(value) if adopted is kind else view(value, adopted, as_adopted)


_kept = lru_cache(maxsize=1024)(ScipyFunction)


@cache
def _class(kind: Any) -> Any:
    """A class that SciPy has by this name, with methods whose arrays can be written; any other as it is."""
    package, *path = kind.__module__.split(".")
    homes = [sys.modules.get(".".join(path[:n])) for n in (2, 3)]
    public = any([isinstance(getattr(home, kind.__name__, None), type) for home in homes])
    own = package == "funcgrad" and path[0] == "scipy"
    return subclass_over(kind, _writable) if own and public and may_be_adopted(kind) else kind


def _writable(member: Any) -> Any:
    """A method whose arrays can be written, and a base class with such methods."""
    if isinstance(member, type):
        return as_adopted(member)
    name = getattr(member, "__name__", "_")
    if type(member) is not FunctionType or re.match("_(?!_)", name):
        return member

    @wraps(member)
    def method(*args: Any, **kwargs: Any) -> Any:
        return _seen(_with_refusals_kept(member, args, kwargs))

    return method


def _with_refusals_kept(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a function that stands in for SciPy's, whose refusals the trace keeps.

    Code that catches one goes on without what it has computed for numbers.
    """
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if is_of_stand_in(error) and not hasattr(error, "of_numbers"):
            kept_for_users(_first_traced(args, kwargs), error)
        raise


def _first_traced(args: Iterable[Any], kwargs: dict[str, Any]) -> Expr | None:
    """The first traced value among arguments, and in the lists among them."""
    given = [*args, *kwargs.values()]
    inside = [item for part in given if isinstance(part, list | tuple) for item in part]
    return first_expr(map(unwrapped, [*given, *inside]))


def _plain(tree: Any) -> Any:
    """Arguments with the values of arrays in their place; masked ones as NumPy's own."""
    if isinstance(tree, SubclassedArray):
        return tree._funcgrad_as_numpys()
    if type(tree) is list or type(tree) is tuple:
        return type(tree)([_plain(item) for item in tree])
    if type(tree) is dict:
        return {key: _plain(item) for key, item in tree.items()}
    return unwrapped(tree)


# -- functions that are SciPy's alone ----------------------------------------------------------
def public_name(f: FunctionType) -> str | None:
    """The public name of a function of SciPy's; None of other functions."""
    parts = str(f.__module__).split(".")
    if parts[0] != "scipy":
        return None
    homes = [".".join(parts[:n]) for n in (2, 3) if parts[n - 1 : n] and parts[n - 1][0] != "_"]
    found = [home for home in homes if getattr(sys.modules.get(home), f.__name__, None) is f]
    return f"{found[0]}.{f.__name__}" if found else None


class CompiledCodeError(TypeError):
    """Compiled code has met a traced value."""


@lru_cache(maxsize=1024)
def of_scipy_alone(name: str, own: FunctionType, adopted: Callable[..., Any]) -> Callable[..., Any]:
    """A function that funcgrad has not: SciPy's own of plain values, and its adopted code of others.

    It is one object, since SciPy compares functions of its tables with others (``typefunc == buttap``).
    """

    @wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        if _is_plain([args, kwargs]):
            return _with_objects(_seen(own(*_plain(args), **_plain(kwargs))))
        try:
            return adopted(*args, **kwargs)
        except Exception as error:
            if not _met_compiled_code(error):
                raise
            refusal = _refusal(name, "SciPy computes it in compiled code")
            raise kept_for_users(_first_traced(args, kwargs), refusal) from error

    return function


def _with_objects(found: Any) -> Any:
    """A result with SciPy's objects as adopted code has them: a spline is called on traced values."""
    if type(found) in (tuple, list):
        return type(found)(map(_with_objects, found))
    of_scipy = type(found).__module__.startswith("scipy.") and not isinstance(found, list | dict)
    return functions["redirect"](found) if of_scipy else found


def _refusal(name: str, why: str) -> Any:
    return fail(
        CompiledCodeError,
        f"{name}: expected plain numbers, since {why}, but got traced values; write it with NumPy's "
        "functions, or define it by fg.primitive with fg.custom_vjp",
        USERS,
    )


@lru_cache(maxsize=1024)
def of_compiled_code(own: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function of a package, which takes arrays of adopted code that hold numbers.

    It may store into them, and so is given arrays that share their memory.
    """

    @wraps(own)
    def function(*args: Any, **kwargs: Any) -> Any:
        if holds_expr([args, kwargs]):
            try:
                return _with_stores(own, args, kwargs)
            except Exception as error:
                if not _met_compiled_code(error):
                    raise
                name = f"{own.__module__}.{getattr(own, '__qualname__', own)}"
                refusal = _refusal(name, "it is compiled code")
                raise kept_for_users(_first_traced(args, kwargs), refusal) from error
        given, named = exported(args), exported(kwargs)
        return _as_adopted_code_has(own(*given, **named), [*given, *named.values()])

    return function


def _as_adopted_code_has(found: Any, given: Sequence[Any]) -> Any:
    """A result of compiled code: its new arrays take stores of traced values, too."""
    if type(found) is np.ndarray:
        shared = [array for array in given if type(array) is np.ndarray]
        is_new = not any([np.may_share_memory(found, array) for array in shared])
        return mutable(found) if is_new else found
    if type(found) in (list, tuple):
        return type(found)([_as_adopted_code_has(item, given) for item in found])
    return found


def _with_stores(own: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of compiled code, which may store into arrays that hold traced integers or flags."""
    copies: list[tuple[Any, Any]] = []

    def given(value: Any) -> Any:
        if not isinstance(value, Reference) or is_numeric(value):
            return value
        if unwrapped(value).dtype.kind not in "biu":
            return value
        copies.append((value, np.array(value)))
        return copies[-1][1]

    values = [given(value) for value in args]
    before = [copy.copy() for _, copy in copies]
    found = own(*values, **kwargs)
    for (array, after), old in zip(copies, before, strict=True):
        if not np.array_equal(after, old):
            array[...] = after
    return found


def is_compiled_function(value: object) -> bool:
    """Whether a value is a function of a compiled module of a package, not a method."""
    if type(value).__name__ not in _COMPILED:  # no other object is asked for attributes
        return False
    home, own = getattr(value, "__module__", None), getattr(value, "__self__", None)
    of_module = own is None or isinstance(own, ModuleType) or type(own).__name__ == "PyCapsule"
    return of_module and isinstance(home, str) and not is_kept(home)


_COMPILED = (*("builtin_function_or_method", "cython_function_or_method"), "fused_cython_function")
_PLAIN = PLAIN_DATA - {Expr}


def _is_plain(tree: Any) -> bool:
    """Whether nested lists, tuples and dicts hold plain data alone."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if type(item) is Expr:
            return False
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, SubclassedArray):
            waiting.extend(item._funcgrad_arrays())
        elif isinstance(item, Reference):
            if not is_numeric(item):
                return False
        elif type(item) not in _PLAIN or (type(item) is np.ndarray and item.dtype.hasobject):
            return False
    return True


def _met_compiled_code(error: BaseException) -> bool:
    """Whether compiled code has raised an error because it was given a traced value."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    asked = place is not None and place.tb_frame.f_code.co_name == "__array__"
    if asked or isinstance(error, CompiledCodeError) or is_refusal_of_compiled_code(error):
        return True
    return re.search(_REFUSED_NUMBER, str(error)) is not None and _is_raised_here(error)


_REFUSED_NUMBER = r"\b(float|complex)\(\): expected a value "
"""The message of a refused number, before which compiled code may tell the name of its argument."""


def _is_raised_here(error: BaseException) -> bool:
    """Whether no other code in Python stands between the call of a compiled function and its error."""
    place = error.__traceback__
    while place is not None:
        if not OURS[place.tb_frame.f_code.co_filename]:
            return False
        place = place.tb_next
    return True
