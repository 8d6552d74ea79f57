"""Levels of adoption: how far a transform adopts the function that it runs.

A function is adopted by itself if its names, or those of functions and classes that they lead to, tell a
traced value from a number (``math``, ``float``, ``isinstance``, ...). A function that is refused is run
again, adopted and on arrays that can be written, then with such arrays in the containers that it reaches, and
so from then on. All others run as they are. Of code, only the names are read (``co_names``).
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from dis import get_instructions, opmap
from functools import cached_property, lru_cache, partial, partialmethod, singledispatchmethod
from importlib import import_module
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, cast
from weakref import ref

import numpy as np

from funcgrad.adoption.adopted_classes import OF_NO_NUMBERS
from funcgrad.adoption.masked_arrays import is_of_masked_arrays
from funcgrad.adoption.namespaces import (
    HEAP,
    BoundDispatch,
    is_composed,
    is_curried,
    is_kept,
    is_kept_class,
    is_kept_namespace,
    is_memoized,
    is_single_dispatch,
    module_behind,
)
from funcgrad.adoption.pandas_objects import is_table
from funcgrad.adoption.replacements import replacements
from funcgrad.adoption.standard_containers import HOLDERS, items_held
from funcgrad.arrays.reference import MARK
from funcgrad.expr import Expr
from funcgrad.source import USERS, code_names
from funcgrad.trace.leaves import (
    ADOPTED,
    AS_IT_IS,
    CLASS_LEVELS,
    HELD,
    KEPT,
    KNOWN_LEVELS,
    LEARNED,
    PLAIN_DATA,
    WRITABLE,
    Binding,
    ClassLevel,
    known_class_level,
    learn_code,
    members_of,
    note_level,
    note_runs_as_it_is,
)
from funcgrad.trace.outer_arrays import instance_dict
from funcgrad.trace.remedies import REFUSALS_OF_COMPILED_CODE

_NAMES = frozenset(
    (
        *(
            "__import__",
            "callable",
            "complex",
            "float",
            "hasattr",
            "isinstance",
            "issubclass",
            "type",
        ),
        *("eval", "exec", "globals"),
        *("ArithmeticError", "FloatingPointError", "OverflowError", "ZeroDivisionError"),
    )
)
_NUMBERS = ("bottleneck", "cmath", "math", "statistics")


# -- the level of a function -----------------------------------------------------------------------
def adoption_level(f: Any, args: Iterable[Any]) -> int:
    """How far a transform adopts a function that it calls with these arguments."""
    level = _searched_level(f, args)
    if level == AS_IT_IS:
        note_runs_as_it_is(f)
    return level


def _searched_level(f: Any, args: Iterable[Any]) -> int:
    function = f if type(f) is FunctionType else _function_of(f)
    if type(function) is not FunctionType:
        of_adopt = MARK in vars(type(function))
        return WRITABLE if of_adopt else _level_of_held(f, [function, *args])
    learned = LEARNED.get(id(function.__code__))
    if learned is not None or MARK in function.__globals__:
        return WRITABLE if learned is None else learned[1]
    level = _level_by_names(function)
    if level != AS_IT_IS:
        return AS_IT_IS if level == KEPT else level
    given = [arg for arg in args if type(arg) not in PLAIN_DATA]
    holds = function is not f or f.__closure__ or f.__defaults__ or f.__kwdefaults__
    return _level_of_held(f, given) if holds or given else level


def _function_of(f: Any) -> Any:
    """The Python function that a callable runs first."""
    while True:
        if isinstance(f, partial) or is_curried(f):
            f = f.func
        elif is_composed(f):
            f = f.first
        elif is_memoized(f):
            f = f.__wrapped__
        else:
            break
    if isinstance(f, MethodType):
        return f.__func__
    call = getattr(type(f), "__call__", None)  # noqa: B004  # its code is wanted
    return call if type(call) is FunctionType and MARK not in vars(type(f)) else f


def _level_by_names(f: FunctionType) -> int:
    code = f.__code__
    known = KNOWN_LEVELS.get(id(code))
    if known is None or not known.holds(f):
        known = note_level(code, *_searched(f))
    return known.level


def _level_of_held(f: Any, given: Iterable[Any]) -> int:
    """The level of what a function holds, and is given: its closure, defaults, the instance of a method."""
    waiting, met = [*_held(f), *_contained(f), *given], set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in met:  # also of a container, which may hold itself
            continue
        met.add(id(value))
        waiting.extend(_contained(value))
        if type(value) in PLAIN_DATA or type(value) is ModuleType:
            continue
        if isinstance(value, FunctionType):
            own = MARK in value.__globals__
            if not own and (_asks(value) or _level_by_names(value) == ADOPTED):
                return ADOPTED
        elif not _is_wrapper(value) and (
            _asks(value) or _level_of_class(value if isinstance(value, type) else type(value))
        ):
            return ADOPTED
        if _is_wrapper(value) or not is_kept(getattr(value, "__module__", None)):
            waiting.extend(_held(value))
    return AS_IT_IS


def _is_wrapper(value: Any) -> bool:
    """Whether a value runs functions that it holds."""
    return isinstance(value, partial | MethodType) or is_curried(value) or is_composed(value)


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # empty as yet
                continue
            yield content
            yield from _attributes(content, code_names(value.__code__))
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
    elif isinstance(value, MethodType):
        yield value.__func__
        yield value.__self__
    elif isinstance(value, partial) or is_curried(value):
        yield value.func
        yield from value.args
        yield from value.keywords.values()
    elif is_composed(value):
        yield value.first
        yield from value.funcs


def _level_of_class(kind: type) -> int:
    """The level of the methods of a class."""
    if is_kept_class(kind):
        return AS_IT_IS
    found = known_class_level(kind)
    if found is None:
        members = members_of(kind)
        CLASS_LEVELS[kind] = ClassLevel(AS_IT_IS, members)  # also where its methods refer to it
        found = max(
            [
                _level_of_held(kind, ()),
                *[max(_searched(f)[0], _level_of_held(f, ())) for f in _methods(kind)],
            ]
        )
        CLASS_LEVELS[kind] = ClassLevel(found, members)
    return found


def _methods(kind: type) -> Iterator[FunctionType]:
    """The methods and properties of a class and its bases, but for those that make texts and copies."""
    for base in kind.__mro__:
        if not is_kept_class(base) and base is not object:
            for name, member in vars(base).items():
                if name not in OF_NO_NUMBERS:
                    yield from [part for part in _parts(member) if type(part) is FunctionType]


def _parts(member: Any) -> tuple[Any, ...]:
    """The functions that an attribute of a class runs."""
    if isinstance(member, staticmethod | classmethod):
        return _parts(member.__func__)
    if isinstance(member, property):
        return (member.fget, member.fset, member.fdel)
    if isinstance(member, cached_property | partialmethod | partial):
        return (member.func, *getattr(member, "args", ()))
    if isinstance(member, singledispatchmethod):
        return (member.dispatcher,)
    return (member,)


# -- what names lead to ----------------------------------------------------------------------------
def _searched(f: FunctionType) -> tuple[int, tuple[Binding, ...]]:
    """The level of a function by the names that it reaches through globals, and those names."""
    if is_single_dispatch(f):
        return ADOPTED, ()
    if not can_be_adopted(f):
        return KEPT, ()
    bindings: list[Binding] = []
    waiting, met, contained = [f], {id(f)}, set[int]()
    while waiting:
        function = waiting.pop()
        if is_single_dispatch(function):
            return ADOPTED, tuple(bindings)
        space = function.__globals__
        if MARK in space or not can_be_adopted(function) or _dispatches(function):
            continue
        names = code_names(function.__code__)
        numpy = any([space.get(name) is np for name in ("np", "numpy") if name in names])
        if function is not f:  # f's own closure differs from call to call: `_level_of_held`
            for item in _held(function):
                if any([_asks(inner) for inner in (item, *_attributes(item, names))]):
                    return ADOPTED, tuple(bindings)
                for found in _functions(item):
                    if id(found) not in met:
                        met.add(id(found))
                        waiting.append(found)
        imported = _imported_modules(function)
        if None in imported:
            return ADOPTED, tuple(bindings)
        named = [(name, space.get(name, name)) for name in sorted(names)]
        for name, value in [*named, *[("", module) for module in imported]]:
            if value is name:
                if name in _NAMES or name in _NUMBERS:
                    return ADOPTED, tuple(bindings)
                continue
            if type(value) in PLAIN_DATA and type(value) not in _CONTAINERS:
                continue
            binding = _bound(None if function is f else function, name, value) if name else None
            bindings.extend([binding] if binding is not None else [])
            # math.sqrt and np.sqrt are one name: code that names both modules is adopted if it is refused.
            both = numpy and getattr(value, "__name__", None) in _NUMBERS
            inner = [value, *_attributes(value, names.difference(vars(np)) if both else names)]
            for item in inner:
                inner.extend([held for held in _contained(item) if id(held) not in contained])
                contained.update(map(id, inner))
                if type(item) not in PLAIN_DATA and _asks(item):
                    return ADOPTED, tuple(bindings)
                for found in _functions(item):
                    if id(found) not in met:
                        met.add(id(found))
                        waiting.append(found)
    return AS_IT_IS, tuple(bindings)


def _imported_modules(f: FunctionType) -> list[ModuleType | None]:
    """The modules that a function's own statements import; None for one that is not imported yet.

    The standard library is left out. A name may be relative to the packages of the function's module.
    """
    found: list[ModuleType | None] = []
    packages = str(f.__globals__.get("__name__")).split(".")
    for name in _imported_names(f.__code__):
        places = [".".join([*packages[:i], *[name] * bool(name)]) for i in range(len(packages) + 1)]
        modules = [sys.modules[place] for place in places if sys.modules.get(place) is not None]
        if is_kept(name) and name.partition(".")[0] not in ("numpy", "pandas"):
            continue
        found.extend(modules or [None])
        found.extend([sys.modules[top] for top in [name.partition(".")[0]] if top in sys.modules])
    return found


@lru_cache(maxsize=4096)
def _imported_names(code: CodeType) -> frozenset[str]:
    """The names of the modules that code, and the functions inside it, imports."""
    names: set[str] = set()
    if _IMPORTS in code.co_code[::2]:
        names.update([i.argval for i in get_instructions(code) if i.opcode == _IMPORTS])
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(names).union(*map(_imported_names, inside))


_IMPORTS = opmap["IMPORT_NAME"]


def _dispatches(f: FunctionType) -> bool:
    """Whether a function is NumPy's, which takes traced values from code that is not adopted, too."""
    return str(f.__module__).partition(".")[0] == "numpy"


def _bound(function: FunctionType | None, name: str, value: Any) -> Binding | None:
    try:
        kind = value if isinstance(value, type) else type(value)
        members = () if is_kept_class(kind) else members_of(kind)
        return Binding(None if function is None else ref(function), name, ref(value), members)
    except TypeError:  # no function, class or module
        return None


def _attributes(value: Any, names: frozenset[str], depth: int = 3) -> list[Any]:
    """The attributes of a module, and of the modules in it, that code with these names may read."""
    if not isinstance(value, ModuleType) or not depth:
        return []
    value = module_behind(value)
    if value is np and "ma" in names:
        import_module("numpy.ma")  # which NumPy imports when it is first asked for
    own = [vars(value)[name] for name in names if name in vars(value)]
    of_modules = [item for inner in own for item in _attributes(inner, names, depth - 1)]
    return [*of_modules, *[item for item in own if not isinstance(item, ModuleType)]]


_SUBCLASSED = (list, tuple, dict, set, frozenset, deque)
_CONTAINERS = (
    *(list, tuple, dict, set, frozenset, deque, MappingProxyType, OrderedDict, defaultdict),
    *HOLDERS,
)


def _contained(value: object) -> list[Any]:
    """The functions, classes and instances in a container, or the containers of a class or an instance."""
    if type(value) in _CONTAINERS or isinstance(value, _SUBCLASSED):
        found = list(islice(cast(Iterable[Any], items_held(value)), _MOST_ATTRIBUTES))
        held = [type(item) for item in found]
        if PLAIN_DATA.issuperset(held) and _CONTAINER_TYPES.isdisjoint(held):
            return []
        return [item for item in found if type(item) not in _NUMBERS_AND_TEXT]
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ == "builtins" or is_kept_class(kind):
        return []
    spaces: list[Any] = []
    if isinstance(value, type):
        spaces = [vars(base) for base in kind.__mro__ if not is_kept_class(base)]
    elif (own := instance_dict(value)) is not None:
        spaces = [own]  # those of its class are in the class's level
    return [
        item
        for space in spaces
        for item in islice(space.values(), _MOST_ATTRIBUTES)
        if type(item) in _CONTAINER_TYPES
        or isinstance(item, partial)
        or (isinstance(value, type) and type(item).__flags__ & HEAP)
    ]


_CONTAINER_TYPES = frozenset(_CONTAINERS)
_NUMBERS_AND_TEXT = PLAIN_DATA - _CONTAINER_TYPES


def _functions(value: Any) -> list[FunctionType]:
    """The Python functions in a global: itself, those that it holds, or the methods of its class."""
    if isinstance(value, FunctionType | MethodType | partial):
        own = [value] if isinstance(value, FunctionType) else []
        return [*own, *[f for inner in _held(value) for f in _functions_of_one(inner)]]
    return _functions_of_one(value)


def _functions_of_one(value: Any) -> list[FunctionType]:
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, BoundDispatch):
        return [cast(FunctionType, type(value).__call__)]
    if type(value) in PLAIN_DATA or isinstance(value, ModuleType | MethodType | partial):
        return []
    kind = value if isinstance(value, type) else type(value)
    wrapped = None if isinstance(value, type) else _own_attribute(value, "__wrapped__")
    inner = [wrapped] if isinstance(wrapped, FunctionType) else []
    if is_kept_class(kind):
        return inner
    return [*inner, *_methods(kind), *([] if isinstance(value, type) else _functions_of(value))]


def _functions_of(instance: Any) -> Iterator[FunctionType]:
    """The functions that the attributes of an instance hold, and the methods of instances among them."""
    space = instance_dict(instance)
    if space is not None:
        for item in islice(space.values(), _MOST_ATTRIBUTES):
            if isinstance(item, FunctionType):
                yield item
            elif type(item) not in PLAIN_DATA and not is_kept_class(type(item)):
                yield from _methods(type(item))


_MOST_ATTRIBUTES = 32
"""The number of attributes that are looked at."""


def _own_attribute(value: Any, name: str) -> Any:
    """An attribute, looked up without the class's ``__getattr__``; None if there is none."""
    try:
        return object.__getattribute__(value, name)
    except Exception:  # of a proxy, which may raise what it likes
        return None


def _asks(value: Any) -> bool:
    """Whether a global is one of the functions or types that tell a traced value from a number.

    So are those of SciPy that have a stand-in: the steps of a search in Python can run on traced values, but
    the derivative of its result is not that of its steps. So are those of pandas, whose stand-ins make
    columns that take traced values.
    """
    # A function of scipy.fft is an object of uarray's, which calls the chosen library.
    if is_of_masked_arrays(getattr(value, "__module__", None)):
        return True
    of_uarray = type(value).__module__ == "uarray"
    if of_uarray or isinstance(value, BuiltinFunctionType | FunctionType):
        home = str(value.__module__)
        of_scipy = home.startswith(("scipy.", "autograd.")) and id(value) in replacements()
        of_numbers = home.partition(".")[0] in _NUMBERS or _is_of_pandas(home)
        return of_scipy or of_numbers or value in _ASKING
    if not isinstance(value, type):
        return is_table(value)
    return value in _ASKING or issubclass(value, _OF_NUMPY) or _is_of_pandas(value.__module__)


def _is_of_pandas(home: object) -> bool:
    return str(home).partition(".")[0] == "pandas"


_ASKING = frozenset(
    (
        *(callable, complex, float, hasattr, import_module, isinstance, issubclass),
        *(np.isscalar, np.nditer, type),
    )
)
_OF_NUMPY = (np.ndarray, np.generic)


# -- refusals -----------------------------------------------------------------------------------
def is_refusal(error: BaseException) -> bool:
    """Whether funcgrad, a library or compiled code raised an error, or a traced value lacks an attribute.

    The compiled code of SciPy's solvers raises an error of its own in the place of the refusal.
    """
    found: BaseException | None = error
    met: set[int] = set()
    while found is not None and id(found) not in met:
        met.add(id(found))
        if hasattr(found, "of_numbers"):
            return False
        if isinstance(found, TypeError | ValueError) and REFUSALS_OF_COMPILED_CODE.search(
            str(found)
        ):
            return True
        if isinstance(found, AttributeError) and isinstance(found.obj, Expr):
            return True
        if isinstance(found, TypeError) and any([text in str(found) for text in _OF_PYTHON]):
            return True
        if isinstance(found, ValueError) and str(found) == _OF_FLAT:
            return True
        if type(found).__module__.startswith("numba."):  # of a compiled function
            return True
        place = found.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if place is not None and USERS[place.tb_frame.f_code.co_filename]:
            return True
        found = found.__cause__ or found.__context__
    return False


_NAME = Expr.__name__
_OF_FLAT = "Error setting single item of array."
"""What NumPy says of ``a.flat[0] = x`` in the place of the refusal."""
_OF_PYTHON = (
    *(f"'{_NAME}'", f"returned {_NAME}", f"not {_NAME}", f"(type {_NAME})"),
    f"not {Expr.__module__}.{_NAME}",  # since Python 3.15
)
"""What Python says of an operator without a rule for its operands, of a ``__bool__`` without a bool, of an
argument of compiled code, and of a ``__float__`` without a float."""


def level_after(f: Any, level: int, error: BaseException) -> int | None:
    """The level at which a function is run once more after an error; None if it is not."""
    if level == HELD or not is_refusal(error) or not can_be_adopted(f):
        return None
    return WRITABLE if level < WRITABLE else HELD


def can_be_adopted(f: Any) -> bool:
    """Whether a function has code that is adopted, the user's or a package's, or is replaced in such code.

    NumPy's own functions take no list of traced values, and those that replace them do.
    """
    if is_composed(f):
        return any([can_be_adopted(inner) for inner in (f.first, *f.funcs)])
    function = _function_of(f)
    is_python = (
        type(function) is FunctionType
        and not is_kept_namespace(function.__globals__)
        and not function.__code__.co_filename.startswith("<funcgrad")
    )
    return is_python or id(function) in replacements()  # to look these up imports modules


def learn(f: Any, level: int) -> None:
    """Record that functions with f's code run at a level."""
    function = _function_of(f)
    if type(function) is FunctionType:  # which the first function of a composition need not be
        learn_code(function.__code__, level)
