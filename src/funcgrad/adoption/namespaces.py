"""Which modules are replaced by which, and the functions and types in them that have a replacement."""

from __future__ import annotations

import builtins
import sys
from contextlib import suppress
from functools import _lru_cache_wrapper, singledispatch, singledispatchmethod
from importlib import import_module
from types import CellType, FunctionType, GenericAlias, ModuleType
from typing import Any, Generic, TypeVar

from funcgrad.source import is_builtin_class
from funcgrad.unadopted_packages import is_kept

REPLACED = {
    "numpy": "funcgrad.numpy",
    "numpy.fft": "funcgrad.numpy.fft",
    "numpy.linalg": "funcgrad.numpy.linalg",
    "numpy.lib.scimath": "funcgrad.numpy.emath",
    "numpy.random": "funcgrad.adoption.stand_ins.random_",
    "numpy.testing": "funcgrad.adoption.stand_ins.testing_",
    "autograd": "funcgrad.adoption.stand_ins.autograd_",
    "autograd.numpy": "funcgrad.numpy",
    "bottleneck": "funcgrad.adoption.stand_ins.bottleneck_",
    "copy": "funcgrad.adoption.stand_ins.copy_",
    "functools": "funcgrad.adoption.stand_ins.functools_",
    "importlib": "funcgrad.adoption.stand_ins.importlib_",
    "math": "funcgrad.adoption.stand_ins.math_",
    "numba": "funcgrad.adoption.stand_ins.numba_",
    "numexpr": "funcgrad.adoption.stand_ins.numexpr_",
    "cmath": "funcgrad.adoption.stand_ins.cmath_",
    "pandas": "funcgrad.adoption.stand_ins.pandas_",
    "pickle": "funcgrad.adoption.stand_ins.pickle_",
    "pandas.api.types": "funcgrad.adoption.stand_ins.pandas_types",
    "random": "funcgrad.adoption.stand_ins.python_random",
    "scipy.cluster": "funcgrad.scipy.cluster",
    "scipy.cluster.hierarchy": "funcgrad.scipy.cluster.hierarchy",
    "scipy.cluster.vq": "funcgrad.scipy.cluster.vq",
    "scipy.fft": "funcgrad.scipy.fft",
    "scipy.fftpack": "funcgrad.scipy.fftpack",
    "scipy.integrate": "funcgrad.scipy.integrate",
    "scipy.interpolate": "funcgrad.scipy.interpolate",
    "scipy.linalg": "funcgrad.scipy.linalg",
    "scipy.linalg.lapack": "funcgrad.scipy.lapack",
    "scipy.ndimage": "funcgrad.scipy.ndimage",
    "scipy.odr": "funcgrad.scipy.odr",
    "scipy.optimize": "funcgrad.scipy.optimize",
    "scipy.signal": "funcgrad.scipy.signal",
    "scipy.sparse": "funcgrad.scipy.sparse",
    "scipy.sparse.csgraph": "funcgrad.scipy.sparse.csgraph",
    "scipy.sparse.linalg": "funcgrad.scipy.sparse.linalg",
    "scipy.spatial": "funcgrad.scipy.spatial",
    "scipy.spatial.distance": "funcgrad.scipy.spatial.distance",
    "scipy.spatial.transform": "funcgrad.scipy.spatial.transform",
    "scipy.special": "funcgrad.scipy.special",
    "scipy.stats": "funcgrad.scipy.stats",
    "statistics": "funcgrad.adoption.stand_ins.statistics_",
    "sympy": "funcgrad.adoption.stand_ins.lambdify_",
    "xarray": "funcgrad.adoption.stand_ins.xarray_",
}
"""Names of modules, with the modules that stand in for them in adopted code."""

OF_NO_NUMBERS = frozenset(
    (
        *("__repr__", "__str__", "__format__", "__dir__", "__sizeof__", "__del__", "__doc__"),
        *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__"),
        *("__copy__", "__deepcopy__", "__class_getitem__", "__init_subclass__", "__replace__"),
    )
)
"""The methods that make texts and copies."""

BASE_TYPE = 1 << 10
"""The flag of classes that others may be derived from."""


_Parameter = TypeVar("_Parameter")
GENERIC_ALIASES: tuple[type, ...] = (type(Generic[_Parameter]), GenericAlias)  # type: ignore[index]
"""The classes of ``Box[float]``, which is called in the place of the class."""


OF_SEQUENCES = frozenset(("__getitem__", "__iter__", "__len__"))
"""Attributes that numbers of Python's do not have, and expressions of numbers do."""


def is_kept_class(kind: type) -> bool:
    """Whether the methods of a class stay as they are."""
    return is_builtin_class(kind) or (kind.__module__ != "builtins" and is_kept(kind.__module__))


def globals_of_class(kind: type) -> dict[str, Any] | None:
    """The globals of the code that has made a class: its module's, or those of a method, also of a base,
    if no module has them."""
    module = sys.modules.get(kind.__module__)
    if module is not None and module is not builtins:
        return vars(module)
    for member in [member for base in kind.__mro__ for member in vars(base).values()]:
        method = getattr(member, "fget", getattr(member, "__func__", member))
        space: dict[str, Any] | None = getattr(method, "__globals__", None)
        if space and space is not vars(builtins) and not is_kept_namespace(space):
            return space
    return None


def is_kept_namespace(space: dict[str, Any]) -> bool:
    """Whether globals are those of a module that stays as it is."""
    name = space.get("__name__")
    return is_kept(name) and getattr(sys.modules.get(str(name)), "__dict__", None) is space


def is_composed(value: object) -> bool:
    """Whether a value is a composition of functions by toolz or cytoolz."""
    kind = type(value)
    return kind.__name__ == "Compose" and kind.__module__.partition(".")[0] in _TOOLZ


def is_curried(value: object) -> bool:
    """Whether a value is a curried function of toolz or cytoolz."""
    kind = type(value)
    return kind.__name__ == "curry" and kind.__module__.partition(".")[0] in _TOOLZ


def is_decorated(value: object) -> bool:
    """Whether a value is a function of a package that stays as it is around another one, its ``__wrapped__``.

    So are those that `numpy.errstate` and a `contextlib.contextmanager` make as decorators.
    """
    if not isinstance(value, FunctionType) or "__wrapped__" not in value.__dict__:
        return False
    name = value.__globals__.get("__name__")
    package = str(name).partition(".")[0]
    if package == "funcgrad" or not (package == "numpy" or is_kept(name)):
        return False
    inner = value.__dict__["__wrapped__"]
    return any([cell_contents(cell) is inner for cell in value.__closure__ or ()])


def cell_contents(cell: CellType) -> Any:
    """What a cell holds; None of an empty one."""
    try:
        return cell.cell_contents
    except ValueError:  # empty as yet
        return None


def is_memoized(value: object) -> bool:
    """Whether a value is a function under `functools.lru_cache`, or under ``memoize`` of toolz."""
    if not isinstance(value, FunctionType):
        return isinstance(value, _lru_cache_wrapper)
    holds = "cache" in value.__code__.co_freevars and hasattr(value, "__wrapped__")
    return holds and str(value.__module__).partition(".")[0] in _TOOLZ


def is_single_dispatch(value: object) -> bool:
    """Whether a value is a function under `functools.singledispatch`, or a method under its like."""
    if isinstance(value, singledispatchmethod | BoundDispatch) and type(value) is not FunctionType:
        return True
    return type(value) is FunctionType and value.__code__ in (_DISPATCHES, BOUND_DISPATCH)


_DISPATCHES = singledispatch(lambda x: x).__code__  # type: ignore[attr-defined]
_bound = singledispatchmethod(lambda x: x).__get__(0)
BoundDispatch: Any = type(_bound)
"""The type of a method under `functools.singledispatchmethod` that is taken from its instance: that of
functions before Python 3.14."""
BOUND_DISPATCH: Any = getattr(_bound, "__code__", None) or BoundDispatch.__call__.__code__
"""The code that such a method runs."""
_TOOLZ = ("toolz", "cytoolz")


def replacement_of(module: ModuleType) -> ModuleType | None:
    """The module that stands in for a module; None where none does.

    >>> import math
    >>> replacement_of(math).__name__
    'funcgrad.adoption.stand_ins.math_'
    """
    name = REPLACED.get(module.__name__)
    return (
        None
        if name is None or sys.modules.get(module.__name__) is not module
        else import_module(name)
    )


def module_behind(module: ModuleType) -> ModuleType:
    """The module for which an object of a subclass of modules stands, such as one that imports it when it is
    asked for an attribute; the object itself if there is none.
    """
    if type(module) is ModuleType or not issubclass(type(module), ModuleType):
        return module
    name = str(vars(ModuleType)["__dict__"].__get__(module).get("__name__"))
    found = sys.modules.get(name)
    if found is None and not is_kept(name):
        with suppress(ImportError, ValueError):
            found = import_module(name)
    return module if found is None else found


def original_of(module: ModuleType) -> ModuleType:
    """The module that a module stands in for; any other as it is."""
    for original, name in REPLACED.items():
        if module.__name__ == name:
            return import_module(original)
    return module


def is_of_masked_arrays(module: object) -> bool:
    """Whether a module, by its name, is one of ``numpy.ma``.

    >>> is_of_masked_arrays("numpy.ma.core"), is_of_masked_arrays("numpy.matlib")
    (True, False)
    """
    return module in ("numpy.ma", "numpy.ma.core", "numpy.ma.extras")
