"""Levels of adoption: how far a transform adopts the function that it runs.

A function is adopted by itself if its names, or those of functions and classes that they lead to, tell a
traced value from a number (``math``, ``float``, ``isinstance``, ...). A function that is refused is run
again, adopted and on arrays that can be written, then with such arrays in the containers that it reaches, and
so from then on. All others run as they are. Of code, names (``co_names``), constants and imports are read.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dis import get_instructions, opmap
from functools import cached_property, lru_cache, partial, partialmethod, singledispatchmethod
from importlib import import_module
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import ProxyTypes, ref

import numpy as np

from funcgrad.adoption.arithmetic_errors import traps_errors
from funcgrad.adoption.labeled_objects import is_table
from funcgrad.adoption.namespaces import (
    GENERIC_ALIASES,
    OF_NO_NUMBERS,
    OF_SEQUENCES,
    BoundDispatch,
    is_composed,
    is_curried,
    is_decorated,
    is_kept_class,
    is_kept_namespace,
    is_memoized,
    is_of_masked_arrays,
    is_single_dispatch,
    module_behind,
)
from funcgrad.adoption.replacements import replacements
from funcgrad.adoption.standard_containers import is_holder
from funcgrad.adoption.wrapt_functions import ATTRIBUTES_WITH_CODE, decorated_parts, is_of_wrapt
from funcgrad.arrays.reference import MARK
from funcgrad.expr import Expr
from funcgrad.source import OURS, USERS, code_names
from funcgrad.trace.known_code import (
    ADOPTED,
    ADOPTED_OBJECTS,
    AS_IT_IS,
    HELD,
    KEPT,
    KNOWN_LEVELS,
    LEARNED,
    PLAIN_DATA,
    WRITABLE,
    Binding,
    ClassLevel,
    ReachedNames,
    has_run,
    held_by,
    known_class_level,
    learn_code,
    members_of,
    note_adopted,
    note_class,
    note_level,
    note_object,
    space_of,
    unknown_objects,
)
from funcgrad.trace.outer_arrays import own_attribute
from funcgrad.trace.remedies import is_refusal_of_compiled_code
from funcgrad.transformed import Transformed
from funcgrad.unadopted_packages import is_kept

_NUMBERS = ("bottleneck", "cmath", "math", "statistics")
_NAMES = frozenset(
    (
        *_NUMBERS,
        *(
            "__class__",
            "__import__",
            "__subclasses__",
            "callable",
            "complex",
            "float",
            "hasattr",
            "isinstance",
            "issubclass",
            "type",
        ),
        *("eval", "exec", "globals"),
        *("ArithmeticError", "FloatingPointError", "OverflowError", "RuntimeWarning"),
        *("ZeroDivisionError",),
    )
)
_READING_BY_TEXT = frozenset(("attrgetter", "getattr", "vars"))
"""Names of code that reads attributes by texts, so that those which it reads of a module are not known."""


# -- the level of a function -----------------------------------------------------------------------
def adoption_level(f: Any, args: Iterable[Any]) -> int:
    """How far a transform adopts a function that it calls with these arguments."""
    function = f if type(f) is FunctionType and not f.__dict__ else _function_of(f)
    if type(function) is not FunctionType:
        return WRITABLE if MARK in vars(type(function)) else _level_of_all([f, function, *args])
    learned = LEARNED.get(id(function.__code__))
    if learned is not None or MARK in function.__globals__:
        return WRITABLE if learned is None else learned[1]
    if function is f and id(f) in ADOPTED_OBJECTS:
        return ADOPTED
    level = _level_by_names(function)
    if level == AS_IT_IS:
        level = _level_of_all([f])
        if level == ADOPTED and function is f:
            note_adopted(f)
        level = _level_of_all(args) if level == AS_IT_IS else level
    return max(level, AS_IT_IS)


def _function_of(f: Any) -> Any:
    """The Python function that a callable runs first."""
    while True:
        if isinstance(f, partial) or is_curried(f):
            f = f.func
        elif is_composed(f):
            f = f.first
        elif is_memoized(f) or is_decorated(f):
            f = f.__wrapped__
        elif isinstance(f, MethodType) and is_decorated(f.__func__):
            f = f.__func__
        else:
            break
    if str(type(f).__module__).startswith("numba."):
        compiled = getattr(f, "_dispatcher", f)  # of a ufunc that numba has made
        f = getattr(compiled, "py_func", f)
    if isinstance(f, MethodType):
        return f.__func__
    call = getattr(type(f), "__call__", None)  # noqa: B004  # its code is wanted
    return call if type(call) is FunctionType and MARK not in vars(type(f)) else f


def _level_of_all(values: Iterable[Any]) -> int:
    """The level of what values lead to, which is noted if it runs as it is."""
    for item in unknown_objects(values):
        if _noted_level(item) > AS_IT_IS:
            return ADOPTED
    return AS_IT_IS


def _noted_level(item: Any) -> int:
    """The level of a function, a class or an instance by itself, which is noted."""
    if _asks(item):
        return ADOPTED
    of_type = type(item)  # the ``__class__`` of a proxy may raise any error
    if of_type is FunctionType:
        level = AS_IT_IS if MARK in item.__globals__ else _level_by_names(item)
        level = max([level, *[_level_of_module(m, item) for m in held_by(item)]])
        if level <= AS_IT_IS:
            note_object(item, KNOWN_LEVELS.get(id(item.__code__)))
        return level
    if of_type is BoundDispatch:  # before Python 3.14, a function
        return ADOPTED
    if issubclass(of_type, ModuleType):
        # In an attribute or a container: the names that are read of it are not known.
        if not is_kept_namespace(vars(item)):
            return ADOPTED
        note_object(item)
        return AS_IT_IS
    kind = item if issubclass(of_type, type) else of_type
    if not is_kept_class(kind):
        return _level_of_class(kind)
    if kind is item or of_type is BuiltinFunctionType or _is_of_uarray(item):
        note_object(item)
    else:
        note_class(kind, ClassLevel(KEPT, (), _attributes_with_code(item)))
    return AS_IT_IS


def _attributes_with_code(item: Any) -> tuple[str, ...]:
    """The attributes of an instance of a class that is never adopted which lead to code."""
    if is_curried(item):
        return ("func", "args", "keywords")
    if is_composed(item):
        return ("first", "funcs")
    if type(item) is np.vectorize:
        return ("pyfunc",)
    if is_holder(type(item)):
        return ("__dict__",)
    if type(item) in GENERIC_ALIASES:
        return ("__origin__",)
    if is_of_wrapt(item):
        return ATTRIBUTES_WITH_CODE
    return ("__wrapped__",) if own_attribute(item, "__wrapped__") is not None else ()


def _level_of_module(module: object, f: FunctionType) -> int:
    """The level of the attributes of a module in a function's closure that its code may read."""
    if type(module) is not ModuleType:
        return AS_IT_IS
    names = code_names(f.__code__)
    if not (names.isdisjoint(_READING_BY_TEXT) or is_kept_namespace(vars(module))):
        return ADOPTED
    found = [value for _, value in _attributes(module, names)]
    if any([type(item) not in PLAIN_DATA and _asks(item) for item in found]):
        return ADOPTED
    return max([AS_IT_IS, *[_level_by_names(g) for g in found if type(g) is FunctionType]])


def _level_by_names(f: FunctionType) -> int:
    code = f.__code__
    known = KNOWN_LEVELS.get(id(code))
    if known is None or known.code() is not code or known.names.values(f.__globals__) is None:
        known = note_level(code, *_searched(f))
    return known.level


def _level_of_class(kind: type) -> int:
    """The level of the methods of a class."""
    found = known_class_level(kind)
    # What is adopted stays so, whatever its names lead to by now.
    if found is not None and (found.level > AS_IT_IS or found.values() is not None):
        return found.level
    members, methods = members_of(kind), list(_methods(kind))
    searched = [_searched(method, ref(method)) for method in methods]
    level = max([AS_IT_IS, *[level for level, _ in searched]])
    own = [base for base in kind.__mro__ if not is_kept_class(base) and base is not object]
    slots = [
        name for base in own for name, v in vars(base).items() if type(v) is MemberDescriptorType
    ]
    held = [
        (ref(base), name) for base in own for name, v in vars(base).items() if _may_hold_code(v)
    ]
    names = _merged([names for _, names in searched])
    known = tuple([ref(method) for method in methods])
    note_class(kind, ClassLevel(level, members, ("__dict__", *slots), names, tuple(held), known))
    return level


def _may_hold_code(value: object) -> bool:
    """Whether an attribute of a class may lead to code beside its methods, which are searched."""
    given: Any = value
    kind = type(given)
    if kind is np.ndarray:
        return bool(given.dtype.kind == "O")
    if kind in _OF_CLASSES or (kind in PLAIN_DATA and kind not in _CODE_WITHIN):
        return False
    if kind is staticmethod or kind is classmethod:
        return type(given.__func__) is not FunctionType
    return not (issubclass(kind, type) and is_kept_class(given) and not _asks(given))


_OF_CLASSES = frozenset(
    (
        FunctionType,
        property,
        cached_property,
        partialmethod,
        singledispatchmethod,
        MemberDescriptorType,
    )
) | {GetSetDescriptorType, np.ndarray}


def _merged(found: Sequence[ReachedNames]) -> ReachedNames:
    """The names of several functions, each once for each module."""
    bound = {(_place(b.holder), b.name): b for one in found for b in one.bound}
    absent = {
        (_place(holder), names): (holder, names) for one in found for holder, names in one.absent
    }
    return ReachedNames(tuple(bound.values()), tuple(absent.values()))


def _place(holder: ref[Any] | None) -> int:
    return id(space_of(holder())) if holder is not None else 0


def _methods(kind: type) -> Iterator[FunctionType]:
    """The methods and properties of a class and its bases, but for those that make texts and copies."""
    for base in kind.__mro__:
        if not is_kept_class(base) and base is not object:
            for name, member in vars(base).items():
                if name not in OF_NO_NUMBERS:
                    yield from [part for part in _parts(member) if type(part) is FunctionType]


def _parts(member: Any) -> tuple[Any, ...]:
    """The functions that an attribute of a class runs."""
    if is_of_wrapt(member):
        return tuple([part for item in decorated_parts(member) for part in _parts(item)])
    if isinstance(member, staticmethod | classmethod):
        return _parts(member.__func__)
    if is_memoized(member):
        return _parts(member.__wrapped__)
    if isinstance(member, property):
        return tuple([part for f in (member.fget, member.fset, member.fdel) for part in _parts(f)])
    if isinstance(member, cached_property | partialmethod | partial):
        return (member.func, *getattr(member, "args", ()))
    if isinstance(member, singledispatchmethod):
        return (member.dispatcher,)
    return (member,)


# -- what names lead to ----------------------------------------------------------------------------
def _searched(f: FunctionType, holder: ref[Any] | None = None) -> tuple[int, ReachedNames]:
    """The level of a function by the functions that its names reach, and those names.

    ``holder`` refers to f in what is noted of it; None for the function that is asked for.
    """
    if is_single_dispatch(f):
        return ADOPTED, ReachedNames()
    if not can_be_adopted(f):
        return KEPT, ReachedNames()
    bound: list[Binding] = []
    absent: list[tuple[ref[Any] | None, frozenset[str]]] = []
    waiting, met = [(f, holder)], {id(f)}
    level = AS_IT_IS
    while waiting and level == AS_IT_IS:
        function, owner = waiting.pop()
        space = function.__globals__
        if is_single_dispatch(function):
            level = ADOPTED
        if MARK in space or not can_be_adopted(function) or _dispatches(function):
            continue
        names = code_names(function.__code__)
        missing = names.difference(space)
        absent.append((owner, missing))
        imported = _imported_modules(function)
        asks = "getattr" in missing and not OF_SEQUENCES.isdisjoint(_constants(function.__code__))
        asks = asks or traps_errors(function.__code__)
        if asks or None in imported or not missing.isdisjoint(_NAMES):
            level = ADOPTED
        found: list[tuple[Binding | None, Any]] = [
            (Binding(owner, name, None), space[name]) for name in names.difference(missing)
        ]
        found += _in_modules([value for _, value in found] + imported, names, space)
        for module in [module_behind(v) for _, v in found if issubclass(type(v), ModuleType)]:
            if not is_kept_namespace(vars(module)):
                absent.append((ref(module), names.difference(vars(module))))
                if not names.isdisjoint(_READING_BY_TEXT):
                    level = ADOPTED
        for binding, value in found:
            if type(value) not in PLAIN_DATA and _asks(value):
                level = ADOPTED
            bound.extend([] if binding is None else [_bound(binding, value)])
            if type(value) is FunctionType and id(value) not in met:
                met.add(id(value))
                waiting.append((value, ref(value)))
    return level, ReachedNames(tuple(bound), tuple(absent))


def _constants(code: CodeType) -> list[Any]:
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [
        *[c for c in code.co_consts if type(c) is str],
        *[t for c in inside for t in _constants(c)],
    ]


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


def _bound(binding: Binding, value: object) -> Binding:
    """A name with what it leads to, if that is a function, a module or an object that is never adopted."""
    given: Any = value
    of_type = type(given)
    if of_type in PLAIN_DATA or of_type in ProxyTypes or issubclass(of_type, _CODE_WITHIN):
        return binding
    kind = given if issubclass(of_type, type) else of_type
    fixed = of_type in (FunctionType, ModuleType) or is_kept_class(kind)
    if not fixed or _attributes_with_code(value):
        return binding
    try:
        return binding._replace(value=ref(value))
    except TypeError:  # without weak references
        return binding


_CODE_WITHIN = (
    *(list, tuple, dict, set, frozenset, deque, MappingProxyType),
    *(partial, MethodType, Transformed),
)


def _in_modules(
    values: Iterable[Any], names: frozenset[str], space: Mapping[str, Any]
) -> list[tuple[Binding | None, Any]]:
    """The attributes of modules that code with these names may read."""
    numpy = any([space.get(name) is np for name in ("np", "numpy") if name in names])
    found: list[tuple[Any, Any]] = []
    for module in values:
        if issubclass(type(module), ModuleType):
            # math.sqrt and np.sqrt are one name: code that names both modules is adopted if it is refused.
            both = numpy and module.__name__ in _NUMBERS
            found += _attributes(module, names.difference(vars(np)) if both else names)
    return found


def _attributes(
    module: ModuleType, names: frozenset[str], depth: int = 3
) -> list[tuple[Binding | None, Any]]:
    """The attributes of a module, and of the modules in it, that code with these names may read."""
    module = module_behind(module)
    noted = None if is_kept_namespace(vars(module)) else ref(module)
    if module is np and "ma" in names:
        import_module("numpy.ma")  # which NumPy imports when it is first asked for
    space = vars(module)
    own = [
        (None if noted is None else Binding(noted, name, None), space[name])
        for name in names
        if name in space
    ]
    inner = [item for _, item in own if issubclass(type(item), ModuleType)] if depth > 1 else []
    return [*own, *[pair for item in inner for pair in _attributes(item, names, depth - 1)]]


def _asks(value: Any) -> bool:
    """Whether a global is one of the functions or types that tell a traced value from a number.

    So are those of SciPy that have a stand-in: the steps of a search in Python can run on traced values, but
    the derivative of its result is not that of its steps. So are those of NumPy's polynomials, which have
    cases of coefficients of 0, and those of pandas, whose stand-ins make columns that take traced values.
    """
    kind = type(value)
    if kind in ProxyTypes:  # the object behind it is looked at
        return False
    is_class = issubclass(kind, type)
    module = value.__module__ if is_class else own_attribute(value, "__module__")
    # The compiled code of scipy.odr and scipy.integrate.ode crashes at functions that return traced values.
    if is_of_masked_arrays(module) or str(module).startswith(
        ("scipy.odr", "_odrpack", "scipy.integrate._ode")
    ):
        return True
    # A function of scipy.fft is an object of uarray's, which calls the chosen library.
    compiled = kind is BuiltinFunctionType or kind.__name__ == "cython_function_or_method"
    if _is_of_uarray(value) or compiled or kind is FunctionType:
        home = str(value.__module__)
        replaced = home.startswith(_WITH_STAND_INS) and id(value) in replacements()
        of_numbers = home.partition(".")[0] in _NUMBERS or _is_of_pandas(home)
        return replaced or of_numbers or id(value) in _ASKING
    if not is_class:
        return is_table(value)
    return id(value) in _ASKING or issubclass(value, _OF_NUMPY) or _is_of_pandas(value.__module__)


_WITH_STAND_INS = ("scipy.", "autograd.", "numpy.polynomial.")
"""How the names of modules begin that have functions with stand-ins."""


def _is_of_uarray(value: object) -> bool:
    return type(value).__module__ == "uarray"


def _is_of_pandas(home: object) -> bool:
    return str(home).partition(".")[0] == "pandas"


_ASKING = frozenset(
    map(
        id,  # since a class may have no hash
        (
            *(callable, complex, float, hasattr, import_module, isinstance, issubclass),
            *(np.isscalar, np.nditer, type),
        ),
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
        if isinstance(found, TypeError | ValueError) and is_refusal_of_compiled_code(found):
            return True
        if isinstance(found, AttributeError) and isinstance(found.obj, Expr):
            return True
        if isinstance(found, TypeError) and any([text in str(found) for text in _OF_PYTHON]):
            return True
        if isinstance(found, ValueError) and str(found) in (_OF_FLAT, _OF_ARRAY_METHOD):
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
_OF_ARRAY_METHOD = "object __array__ method not producing an array"
"""What NumPy says of a user's instance that holds a traced value and returns it as its array."""
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


def rollback(f: Any, args: Iterable[Any]) -> Any:
    """The rollback of a run that may be refused; None once a run of f's code was not."""
    function = _function_of(f)
    if type(function) is not FunctionType or has_run(function.__code__) or not can_be_adopted(f):
        return None
    made = import_module("funcgrad.adoption.effect_rollback").Rollback
    return made(f, args, function.__code__)


def can_be_adopted(f: Any) -> bool:
    """Whether a function has code that is adopted, the user's or a package's, or is replaced in such code.

    NumPy's own functions take no list of traced values, and those that replace them do.
    """
    if is_composed(f):
        return any([can_be_adopted(inner) for inner in (f.first, *f.funcs)])
    function = _function_of(f)
    if type(function) is FunctionType:
        if OURS[function.__code__.co_filename] and not _dispatches(function):
            return False
        if not is_kept_namespace(function.__globals__):
            return True
    return id(function) in replacements()  # to look these up imports modules


def learn(f: Any, level: int) -> None:
    """Record that functions with f's code run at a level."""
    function = _function_of(f)
    if type(function) is FunctionType:  # which the first function of a composition need not be
        learn_code(function.__code__, level)
