"""The value that replaces one of the original in adopted code, by its kind."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, TypeAlias
from weakref import ProxyTypes, WeakKeyDictionary, WeakSet, WeakValueDictionary, ref

import numpy as np
from numpy._core import fromnumeric

from funcgrad.adoption.adopted_classes import (
    adopt_class,
    has_methods,
    holds_functions,
    may_stand_for,
    metaclass_of,
)
from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED
from funcgrad.adoption.adopted_functions import adopt_decorated, adopt_function, redirected
from funcgrad.adoption.adopted_types import original_class
from funcgrad.adoption.array_subclasses import ArraySubclasses, is_array_subclass
from funcgrad.adoption.builtin_names import builtin_names
from funcgrad.adoption.compiled_classes import python_class, python_instance
from funcgrad.adoption.containers import container_view, leads_elsewhere, proxy_view, tuple_view
from funcgrad.adoption.globals import AdoptedGlobals
from funcgrad.adoption.instance_views import UNCHANGING, SlotView, class_of_views, view
from funcgrad.adoption.labeled_objects import is_of_xarray, is_table
from funcgrad.adoption.masked_arrays import masked_modules
from funcgrad.adoption.memoized import all_plain, bypassing_cache
from funcgrad.adoption.modules import ModuleView, SystemView
from funcgrad.adoption.namespaces import (
    BASE_TYPE,
    GENERIC_ALIASES,
    REPLACED,
    BoundDispatch,
    globals_of_class,
    is_composed,
    is_curried,
    is_decorated,
    is_kept_class,
    is_kept_namespace,
    is_memoized,
    is_of_masked_arrays,
    is_single_dispatch,
    module_behind,
    original_of,
    replacement_of,
)
from funcgrad.adoption.numba_gufuncs import generalized, is_generalized
from funcgrad.adoption.pandas_accessors import adopt_accessors
from funcgrad.adoption.replacements import replacements
from funcgrad.adoption.scipy_functions import (
    ScipyFunction,
    as_adopted,
    is_compiled_function,
    of_compiled_code,
    of_scipy_alone,
    public_name,
)
from funcgrad.adoption.single_dispatch import DispatchingMethod, dispatching
from funcgrad.adoption.stand_ins.array_converter import ArrayConverter
from funcgrad.adoption.standard_containers import reference_view
from funcgrad.adoption.transforms import is_transform, returning_writable
from funcgrad.adoption.view_originals import note_view
from funcgrad.adoption.weak_containers import weak_view
from funcgrad.adoption.wrapt_functions import is_of_wrapt, over_wrapt
from funcgrad.arrays.mutable_array import shared_argument
from funcgrad.arrays.object_array import HeldObjects
from funcgrad.arrays.reference import MARK
from funcgrad.trace.known_code import ARRAYS_HELD
from funcgrad.trace.outer_arrays import referent_of
from funcgrad.transformed import Decorator, Transformed


def redirect(value: Any) -> Any:
    """The replacement of a module, a function, a class or an instance in adopted code; else the value.

    >>> import math
    >>> redirect(math.sin) is math.sin, redirect(3.0)
    (False, 3.0)
    """
    kind = type(value)  # the ``__class__`` of a proxy may raise any error
    by_type = _BY_TYPE.get(kind)
    if by_type is not None:
        return by_type(value)
    if kind in NEVER_REDIRECTED:
        return value
    if issubclass(kind, type):
        return _of_numba(value) if kind.__module__.startswith("numba.") else _class(value)
    if issubclass(kind, ModuleType):
        return value if issubclass(kind, ModuleView) else _module(value)
    return _instance(value)


def _module(module: ModuleType) -> Any:
    module = module_behind(module)
    if module is sys:
        return _module_view(module, redirect)
    if is_of_masked_arrays(module.__name__):
        return masked_modules(NAMES).module(module)
    stand_in = replacement_of(module)
    if stand_in is not None:
        of_scipy = module.__name__.startswith("scipy.")
        return _module_view(stand_in, _of_scipy) if of_scipy else stand_in
    if module.__name__ == "funcgrad":
        return _module_view(module, redirect)
    if MARK in vars(module) or isinstance(module, ModuleView) or is_kept_namespace(vars(module)):
        return module
    return _module_view(module, redirect)


def _of_scipy(value: Any) -> Any:
    """What an attribute of a module of `funcgrad.scipy` is in adopted code: its own, or SciPy's."""
    if isinstance(value, ModuleType) and value.__name__.startswith("funcgrad.scipy."):
        return _module_view(value, _of_scipy)
    known = _SCIPYS.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    own = getattr(value, "scipys_own", value)
    found = as_adopted(own)
    if type(found) is ScipyFunction:
        _SCIPYS[id(value)] = value, found
    return redirect(own) if found is own else found


_SCIPYS: dict[int, tuple[Any, Any]] = {}
"""The functions and distributions of `funcgrad.scipy` by id, and what stands for them."""


def _module_view(module: ModuleType, redirect: Callable[[Any], Any]) -> ModuleView:
    found = _VIEWS.get(module.__name__)
    if found is None or found.original is not module:
        view = SystemView if module is sys else ModuleView
        found = _VIEWS[module.__name__] = view(module, redirect)
    return found


def _function(f: Any) -> Any:
    known = replacements().get(id(f))
    if known is not None:
        return known[1]
    if is_transform(f):
        return returning_writable(f)
    if is_memoized(f):
        return _cached(f)
    if is_single_dispatch(f):
        return dispatching(f, redirect)
    if f.__code__ is _MANAGES:
        return contextlib.contextmanager(redirect(f.__wrapped__))
    home = f.__globals__
    if hasattr(f, "_is_autograd_primitive"):
        return redirect(f.fun)  # the function of NumPy's or SciPy's to which autograd gave a rule
    if home.get("__name__") == "autograd.wrap_util" and f.__code__.co_name == "nary_f":
        return import_module(REPLACED["autograd"]).made_by_autograd(f, redirect)
    if is_of_masked_arrays(f.__module__) and MARK not in home:
        return masked_modules(NAMES).of(f)
    if is_decorated(f) and is_kept_namespace(home):
        return adopt_decorated(f, redirect)
    if MARK in home or is_kept_namespace(home):
        return f
    if f.__code__.co_filename.startswith("<funcgrad"):  # a compiled program
        return f
    if "." in f.__qualname__:
        method = _SUBCLASSES.method(f)
        if method is not None:
            return method
    adopted = adopt_function(f, globals_of(home), redirect, original_of_value)
    name = public_name(f)
    return adopted if name is None else of_scipy_alone(name, f, adopted)


_MANAGES = contextlib.contextmanager(lambda: iter(())).__code__
"""The code of all functions under `contextlib.contextmanager`."""


def _known(value: Any) -> Any:
    return replacements().get(id(value), (None, value))[1]


def _builtin(f: Any) -> Any:
    """A function of compiled code, or a method: that of the object which stands in for its own."""
    if f.__module__ == "builtins" and f.__name__ in NAMES:
        return NAMES[f.__name__]
    known = _known(f)
    stand_in = _known(type(getattr(f, "__self__", None)))
    if known is f and hasattr(stand_in, "of_scipy"):
        return getattr(stand_in.of_scipy(f.__self__), f.__name__)
    return of_compiled_code(f) if known is f and is_compiled_function(f) else known


def _transformed(f: Any) -> Any:
    known = replacements().get(id(f))
    return returning_writable(f) if known is None and is_transform(f) else _known(f)


def _class(kind: Any) -> Any:
    known = replacements().get(id(kind)) or _CLASSES.get(kind)
    if known is not None:
        return known[1]
    if kind is np.poly1d:
        return adopt_class(kind, globals_of(kind.__init__.__globals__), redirect)
    if is_of_masked_arrays(kind.__module__):
        return masked_modules(NAMES).of(kind)
    if is_array_subclass(kind):
        return _SUBCLASSES.of(kind)
    if is_kept_class(kind) or kind.__module__ in _OF_RANDOM_NUMBERS:
        return kind
    if not type(kind).__flags__ & BASE_TYPE:  # as the class of Cython's functions
        return kind
    if issubclass(kind, type):
        return metaclass_of(kind, redirect)
    home = globals_of_class(kind)
    return kind if home is None or MARK in home else adopt_class(kind, globals_of(home), redirect)


_OF_RANDOM_NUMBERS = ("scipy.stats._qmc",)
"""Modules whose classes hold plain numbers alone, which they draw."""


def _method(method: MethodType) -> Any:
    if id(method.__self__) in replacements():
        return getattr(redirect(method.__self__), method.__name__)
    function, instance = redirect(method.__func__), redirect(method.__self__)
    if hasattr(type(instance), "of_scipy"):
        return getattr(instance, method.__name__)
    if function is method.__func__ and instance is method.__self__:
        return method
    return MethodType(function, instance)


def _partial(p: partial[Any]) -> Any:
    function, args = redirect(p.func), redirected(p.args, redirect)
    named = dict(zip(p.keywords, redirected(tuple(p.keywords.values()), redirect), strict=True))
    if function is p.func and args is p.args and all(named[k] is p.keywords[k] for k in named):
        return p
    made = partial(function, *args, **named)
    made.__dict__.update(p.__dict__)
    return made


def _cached(wrapper: Any) -> Any:
    """A memoized function (`is_memoized`) over the adopted one."""
    function = redirect(wrapper.__wrapped__)
    if function is wrapper.__wrapped__ and not is_transform(function):
        return wrapper
    return bypassing_cache(wrapper, function, all_plain, redirect)


def _vectorized(value: Any) -> Any:
    from funcgrad.numpy.types import vectorize

    made = vectorize(redirect(value.pyfunc), excluded=value.excluded, signature=value.signature)
    made.otypes = value.otypes
    return made


def _instance(value: Any) -> Any:
    if is_of_wrapt(value):
        return over_wrapt(value, redirect)
    if is_of_masked_arrays(type(value).__module__):
        return masked_modules(NAMES).instance(value)
    if issubclass(type(value), np.ndarray) and is_array_subclass(type(value)):
        return _kept(value, _SUBCLASSES.instance, _SUBCLASSES.redirect_held)
    known = replacements().get(id(value))
    if known is not None:
        return known[1]
    if is_table(value):
        return _table(value)
    if is_of_xarray(value):
        return _kept(value, import_module(REPLACED["xarray"]).from_outside)
    if id(value) in _INDEXED:
        return getattr(replacement_of(np), _INDEXED[id(value)])
    if issubclass(type(value), tuple) and hasattr(value, "_make"):
        return _named_tuple(value)
    if is_compiled_function(value):
        return of_compiled_code(value)
    if str(type(value).__module__).startswith("numba."):
        return _of_numba(value)
    if is_composed(value) or is_curried(value):
        return _of_toolz(value)
    if (type(value).__module__, type(value).__qualname__) in _GENERATORS:
        return import_module(REPLACED["numpy.random"]).writable_draws(value)
    if type(value) is getattr(sys.modules.get("random"), "Random", None):
        return import_module(REPLACED["random"]).generator_view(value)
    if type(value) in GENERIC_ALIASES:
        alias: Any = value
        origin = redirect(alias.__origin__)
        return value if origin is alias.__origin__ else GenericAlias(origin, alias.__args__)
    kind = _class(type(value))
    if kind is type(value):
        if is_transform(value):
            return returning_writable(value)
        if ARRAYS_HELD.get() or holds_functions(value):
            kind = class_of_views(value)
        is_own = kind is type(value) and (not issubclass(kind, dict | list) or is_kept_class(kind))
        return value if is_own else _viewed(value, kind)
    of_scipy = getattr(kind, "of_scipy", None)
    if of_scipy is None:
        return _view(value, kind)
    return of_scipy(value) if may_stand_for(type(value)) else value


_GENERATORS = (("numpy.random._generator", "Generator"), ("numpy.random.mtrand", "RandomState"))
_INDEXED = {id(getattr(np, name)): name for name in ("r_", "c_", "mgrid", "ogrid")}
"""Objects of NumPy's that make arrays of what stands in brackets."""


def _of_toolz(value: Any) -> Any:
    """A composition or a curried function of adopted functions."""
    if is_curried(value):
        inner = partial(value.func, *value.args, **value.keywords)
        found = _partial(inner)
        return value if found is inner else type(value)(found.func, *found.args, **found.keywords)
    functions = (value.first, *value.funcs)
    adopted = redirected(functions, redirect)
    if adopted is functions:
        return value
    home = sys.modules[type(value).__module__.partition(".")[0]]
    return home.compose_left(*adopted)


def _table(value: Any) -> Any:
    """An object of pandas as one that takes traced columns, which shares its values."""
    of_pandas = import_module(REPLACED["pandas"]).of_pandas
    return _kept(value, partial(of_pandas, from_outside=True))


def _kept(value: Any, make: Callable[[Any], Any], fill: Callable[[Any], None] | None = None) -> Any:
    """What is made of a value: one object for as long as code refers to both."""
    entry = _VIEWED.get(id(value))
    known = entry[1]() if entry is not None and entry[0]() is value else None
    if known is not None:
        return known
    made, key = make(value), id(value)
    _VIEWED[key] = ref(value, partial(_forget, _VIEWED, key)), ref(made)
    if fill is not None:
        fill(made)
    return made


def _view(instance: Any, kind: Any) -> Any:
    """One view of an instance; markers, which have no methods and hold no functions, stay as they are."""
    is_seen = (
        issubclass(type(instance), dict | list) or has_methods(kind) or holds_functions(instance)
    )
    return _viewed(instance, kind) if is_seen else instance


def _viewed(instance: Any, kind: Any) -> Any:
    key = id(instance), ARRAYS_HELD.get()  # at either level code compares its views by ``is``
    entry = _VIEWED.get(key)
    if entry is not None and entry[0]() is instance:
        known = entry[1]()
        if getattr(type(known), "_funcgrad_kind", type(known)) is kind:
            return known
    made = view(instance, kind, redirect)
    # It refers to its instance, which may have no weak references.
    if issubclass(type(made), SlotView):
        seen = ref(made, partial(_forget, _VIEWED, key))
        _VIEWED[key] = lambda: getattr(seen(), "_funcgrad_original", None), seen
    elif made is not instance:
        try:
            # The view shares the attributes of the instance, which may lead to it.
            _VIEWED[key] = ref(instance, partial(_forget, _VIEWED, key)), ref(made)
            note_view(made, instance)
        except TypeError:  # without weak references there is no memo
            return made if issubclass(type(made), UNCHANGING) else instance
    return made


_Views: TypeAlias = dict[Any, tuple[Callable[[], Any], Callable[[], Any]]]
_VIEWED: _Views = {}


def _forget(views: _Views, key: object, _: object) -> None:
    """Drop an entry. It reads no global, since the interpreter may have cleared the module."""
    views.pop(key, None)


def _of_numba(compiled: Any) -> Any:
    """The Python function of what numba's decorators have made, adopted; anything else as it is."""
    if hasattr(compiled, "py_func"):
        return redirect(compiled.py_func)
    if is_generalized(compiled):
        return generalized(compiled, redirect)
    kind = python_class(compiled)
    if kind is not None:
        return _class(kind)
    seen = python_instance(compiled)
    if seen is not None:
        return redirect(seen)
    inner = getattr(getattr(compiled, "_dispatcher", None), "py_func", None)
    return compiled if inner is None else redirect(np.vectorize(inner))


def _array(array: np.ndarray[Any, Any]) -> Any:
    """An array of code that is not adopted: its methods and operators take lists of traced values then.

    It is one object for as long as code refers to it, which may compare it by ``is``.
    """
    if array.dtype.kind == "O" and leads_elsewhere(array):
        made = _kept(array, lambda array: array.view(HeldObjects))
        note_view(made, array)
        return made
    if not array.ndim or array.dtype.kind not in "biufc":
        return array
    key = id(array)
    entry = _CELLS.get(key)
    known = None if entry is None or entry[0]() is not array else entry[1]()
    if known is not None:
        return known
    cell = shared_argument(array)
    _CELLS[key] = ref(array, partial(_forget, _CELLS, key)), ref(cell)
    return cell


_CELLS: _Views = {}


def _container(value: Any) -> Any:
    return container_view(value, redirect)


def _proxy(value: Any) -> Any:
    return proxy_view(value, redirect)


def _tuple(value: Any) -> Any:
    return tuple_view(value, redirect)


def _proxied(proxy: object) -> Any:
    """The replacement of the object behind a weak proxy; the proxy if there is none."""
    found = referent_of(proxy)
    made = redirect(found)
    return proxy if made is found else made


def _named_tuple(value: Any) -> Any:
    items = _tuple(value)
    kind = _class(type(value))
    return items if kind is type(value) else tuple.__new__(kind, items)


_BY_TYPE: Mapping[type, Callable[[Any], Any]] = {
    ModuleType: _module,
    BoundDispatch: lambda method: dispatching(method, redirect),  # before Python 3.14, a function
    FunctionType: _function,
    BuiltinFunctionType: _builtin,
    **dict.fromkeys((type(np.sum), np.ufunc), _known),
    type: _class,
    MethodType: _method,
    partial: _partial,
    Transformed: _transformed,
    Decorator: returning_writable,
    functools._lru_cache_wrapper: _cached,
    functools.singledispatchmethod: lambda method: DispatchingMethod(method, redirect),
    np.ndarray: _array,
    MappingProxyType: _proxy,
    WeakKeyDictionary: lambda value: weak_view(value, redirect),
    WeakSet: lambda value: weak_view(value, redirect),
    **dict.fromkeys((tuple, frozenset), _tuple),
    **dict.fromkeys((list, dict, set, deque, SimpleNamespace), _container),
    **dict.fromkeys((Counter, OrderedDict, defaultdict), _container),
    ref: lambda value: reference_view(value, redirect),
    **dict.fromkeys(ProxyTypes, _proxied),
    np.vectorize: _vectorized,
}
NAMES = builtin_names(redirect)
"""The built-in names of adopted code."""

_CLASSES: Mapping[Any, tuple[Any, Any]] = {
    float: (float, NAMES["float"]),
    complex: (complex, NAMES["complex"]),
    int: (int, NAMES["int"]),
    # A class of NumPy's own functions, which later versions may not have.
    getattr(fromnumeric, "_array_converter", None): (None, ArrayConverter),
}
_VIEWS: dict[str, ModuleView] = {}


# -- globals -----------------------------------------------------------------------------------
_GLOBALS: WeakValueDictionary[tuple[int, bool, bool], AdoptedGlobals] = WeakValueDictionary()
"""By the id of the original, whether code finds arrays in containers that can be written, and whether it is
that of a subclass of NumPy's array."""
_OF_MODULES: dict[str, AdoptedGlobals] = {}


def globals_of(original: dict[str, Any], of_subclass: bool = False) -> AdoptedGlobals:
    """The globals of adopted code for globals: one object, those of modules for as long as they are there."""
    key = id(original), ARRAYS_HELD.get(), of_subclass
    found = _GLOBALS.get(key)
    if found is None or found.original is not original:
        name = original.get("__name__")
        leads = _in_numpy if str(name).startswith("numpy.") else redirect
        if of_subclass:
            found = _GLOBALS[key] = AdoptedGlobals(original, _SUBCLASSES.seen, _NAMES_OF_SUBCLASS)
            return found
        found = _GLOBALS[key] = AdoptedGlobals(original, leads, NAMES)
        if isinstance(name, str) and getattr(sys.modules.get(name), "__dict__", None) is original:
            _OF_MODULES[name] = found
    return found


def _in_numpy(value: Any) -> Any:
    """`redirect` for NumPy's own code, which tells types of numbers apart by ``is``."""
    return value if _is_of_numbers(value) else redirect(value)


def _is_of_numbers(value: Any) -> bool:
    """Whether a value is a type of numbers of NumPy's, or a table of such."""
    if isinstance(value, type):
        return issubclass(value, np.generic)
    items = value.values() if type(value) is dict else value if type(value) in (list, set) else ()
    return bool(items) and all(map(_is_of_numbers, items))


def refresh() -> None:
    """Forget what has been adopted if a name, a function or a class has changed in any module.

    A function reaches those of other modules by names, objects and imports, so all modules are compared.
    """
    adopt_accessors(redirect)
    for known in _GLOBALS.valuerefs():
        home = known()
        if home is not None and home.is_stale():
            break
    else:
        return
    for home in [*_GLOBALS.values()]:
        home.forget()


def redirect_refreshed(value: Any) -> Any:
    """`redirect`, right after `refresh`: a function that is known there has not changed."""
    if type(value) is FunctionType:
        home = _GLOBALS.get((id(value.__globals__), ARRAYS_HELD.get(), False))
        if home is not None and home.original is value.__globals__:
            known = home.entries.get(id(value))
            entry = None if known is None else known()
            if entry is not None and entry.original() is value:
                return entry.adopted()
    return redirect(value)


def original_of_value(value: Any) -> Any:
    """The original of what stands for a module or a class in adopted code; else the value."""
    if isinstance(value, ModuleView):
        return original_of(value.original)
    if isinstance(value, ModuleType):
        return original_of(value)
    return original_class(value) if isinstance(value, type) else value


_SUBCLASSES = ArraySubclasses(
    redirect, original_of_value, partial(globals_of, of_subclass=True), globals_of
)
_NAMES_OF_SUBCLASS = {**builtin_names(_SUBCLASSES.seen), "super": super}
"""The built-in names of the code of subclasses of NumPy's array, which do not derive from their originals."""
