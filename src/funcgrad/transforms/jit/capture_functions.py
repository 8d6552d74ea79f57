"""Captured variables of one function, the names in its code, and the callables that it calls."""

from __future__ import annotations

import builtins
import gc
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dis import get_instructions, opmap
from functools import lru_cache, partial
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.source import handles, is_installed
from funcgrad.transforms.jit.capture_owners import callable_name, is_ours
from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Answer,
    Attribute,
    ClosureCell,
    Contents,
    Fixed,
    NamespaceItem,
)
from funcgrad.transforms.jit.capture_states import (
    OF_LOGGERS,
    current_decimal_context,
    levels_of_loggers,
)


class Bound(NamedTuple):
    """Arguments that a function is sure to be called with: the instance of a method, what `partial` holds."""

    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = MappingProxyType({})

    def of(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of the parameters that are known."""
        return dict(zip(names, self.args, strict=False)) | dict(self.keywords)


READING_ALL = frozenset(
    ("__dict__", "__getattribute__", "asdict", "astuple", "attrgetter", "getattr", "vars")
)
"""Names in code that may read any attribute."""
PROBING = READING_ALL | {"AttributeError", "hasattr"}
"""Names in code that may ask for attributes that are not there."""
_READING_TEXTS = PROBING | {"__import__", "eval", "exec", "globals", "import_module", "modules"}
"""Names in code that may look up what a text names."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


@lru_cache(maxsize=1024)
def names_of_code(code: CodeType) -> frozenset[str]:
    """The names of globals and attributes in code, and in the code of functions inside it.

    Where it may look up what a text names, those in its texts as well; ``__match_args__`` where it matches
    patterns of classes, and ``__eq__`` and the like where it compares.
    """
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    found = frozenset(code.co_names).union(*map(names_of_code, inside))
    if opmap["MATCH_CLASS"] in code.co_code[::2]:
        found |= {"__match_args__"}
    found = found.union(*[_CALLED_BY[name] for name in found & _CALLED_BY.keys()])
    if opmap["COMPARE_OP"] in code.co_code[::2]:
        found |= _compared(code)
    if found.isdisjoint(_READING_TEXTS):
        return found
    consts = code.co_consts[1:] if _has_docstring(code) else code.co_consts
    texts = [c for c in consts if isinstance(c, str)]
    return found.union(*map(_IDENTIFIER.findall, texts))


_HAS_DOCSTRING = 0x4000000  # of Python 3.14, as `inspect` names it there


def _has_docstring(code: CodeType) -> bool:
    """Whether the first constant of code is a docstring, which names nothing that is read."""
    if sys.version_info >= (3, 14):
        return bool(code.co_flags & _HAS_DOCSTRING)
    # Before, that of a function is its docstring or None; comprehensions and classes have none.
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


_CALLED_BY = {
    "dir": ("__dir__",),
    "format": ("__format__", "__str__", "__repr__"),
    "isinstance": ("__instancecheck__",),
    "issubclass": ("__subclasscheck__",),
    "repr": ("__repr__",),
    "str": ("__str__",),
}
"""The special methods that builtins call."""


def _compared(code: CodeType) -> frozenset[str]:
    """The methods of comparisons that code calls."""
    texts = [i.argrepr for i in get_instructions(code) if i.opname == "COMPARE_OP"]
    signs = {text.removeprefix("bool(").removesuffix(")") for text in texts}
    return frozenset([name for name, own in _COMPARED_BY.items() if not signs.isdisjoint(own)])


_COMPARED_BY = {
    "__eq__": ("==", "!="),
    "__lt__": ("<", ">"),
    "__gt__": ("<", ">"),
    "__le__": ("<=", ">="),
    "__ge__": ("<=", ">="),
}


_SPECIAL = frozenset(_COMPARED_BY).union(*_CALLED_BY.values())


def callees(item: object, bound: Bound) -> list[tuple[Any, Bound]]:
    """The callables that a callable calls: those that it wraps, binds or composes."""
    if isinstance(item, FunctionType):
        foreign = item.__dict__.get("foreign") if is_ours(item) else None
        if foreign is None:
            return [(item.__dict__.get("__wrapped__"), bound)]
        # A primitive's function runs at each call, but its rules are derived from once.
        rules = foreign.partials if isinstance(foreign.partials, list | tuple) else ()
        return [(rule, Bound()) for rule in rules]
    if isinstance(item, MethodType):
        return [(item.__func__, bound._replace(args=(item.__self__, *bound.args)))]
    if isinstance(item, partial):
        words = dict(item.keywords) | dict(bound.keywords)
        return [(item.func, Bound((*item.args, *bound.args), words))]
    if item is None or isinstance(item, type | ModuleType):
        return []
    if str(type(item).__module__).partition(".")[0] in ("toolz", "cytoolz"):
        parts = [getattr(item, name, None) for name in ("func", "first")]
        return [(part, Bound()) for part in (*parts, *getattr(item, "funcs", ()))]
    call = getattr(type(item), "__call__", None)  # noqa: B004  # its code is wanted
    by_python = isinstance(call, FunctionType)
    found = [(call, bound._replace(args=(item, *bound.args)))] if by_python else []
    try:
        # Without the class's __getattr__, which may make any attribute.
        return [*found, (object.__getattribute__(item, "__wrapped__"), bound)]
    except Exception:  # of a proxy, which may raise what it likes
        return found


def held_places(item: object) -> Iterator[Any]:
    """The arguments that a partial function holds, and the object of a method in C."""
    if isinstance(item, partial) or type(item).__name__ == "curry":
        for k, value in enumerate(getattr(item, "args", ())):
            yield Fixed(f"argument {k} of {callable_name(item)}", value)
        words = getattr(item, "keywords", {})
        yield from [NamespaceItem(name, words, name) for name in words]
    elif is_package_method(item):
        held = getattr(item, "__self__", None)
        if not isinstance(held, ModuleType):
            yield Fixed(f"the object of {callable_name(item)}", held)
    elif type(item) is np.ufunc:  # of numpy.frompyfunc
        parts = [part for part in gc.get_referents(item) if isinstance(part, FunctionType)]
        yield from [Fixed(callable_name(part), part) for part in parts]
    elif item is os.getenv or item is getattr(os, "getenvb", None):
        yield Contents("os.environ", os.environ._data)  # type: ignore[attr-defined]


def is_package_method(item: object) -> bool:
    """Whether a callable is a bound method of Python's or of an installed package, which is not searched."""
    if not isinstance(item, MethodType):
        return hasattr(type(item), "__self__")
    f = item.__func__
    return not isinstance(f, FunctionType) or (is_installed(f) and not is_ours(f))


def captured_places(f: FunctionType) -> Iterator[Any]:
    """Captured variables of a Python function, those of functions inside it included."""
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        yield ClosureCell(name, cell)
    if any([name in sys.modules for name in _RELOADERS]):
        yield Attribute(f"{callable_name(f)}.__code__", f, "__code__")
    if f.__defaults__:
        yield Attribute(f"{callable_name(f)}.__defaults__", f, "__defaults__")
        count = f.__code__.co_argcount
        names = f.__code__.co_varnames[count - len(f.__defaults__) : count]
        yield from map(Fixed, names, f.__defaults__)
    words: Any = f.__kwdefaults__
    if words:
        yield Attribute(f"{callable_name(f)}.__kwdefaults__", f, "__kwdefaults__")
        yield from [NamespaceItem(name, words, name) for name in words]
    home = f.__globals__
    named = names_of_code(f.__code__) - _SPECIAL
    may_lack = "globals" in named or handles(f.__code__, _OF_NAMES)
    for name in sorted(named):
        value = home.get(name, ABSENT)
        if isinstance(value, ModuleType) and is_installed(value):  # it is not bound anew
            yield Fixed(name, value)
        elif value is not ABSENT or hasattr(builtins, name) or may_lack:
            yield NamespaceItem(name, home, name)
            if value is ABSENT and not _is_pythons(getattr(builtins, name, None)):
                yield NamespaceItem(name, vars(builtins), name)
    if not named.isdisjoint(_OF_ENVIRONMENT):
        yield Contents("os.environ", os.environ._data)  # type: ignore[attr-defined]
    if not named.isdisjoint(_OF_DECIMAL) and "decimal" in sys.modules:
        decimal = sys.modules["decimal"]
        yield Answer("the context of decimal", decimal, current_decimal_context)
    asks_loggers = "level" in named or not named.isdisjoint(OF_LOGGERS)
    if asks_loggers and not named.isdisjoint(("getLogger", "logging")) and "logging" in sys.modules:
        yield Answer("the levels of loggers", sys.modules["logging"], levels_of_loggers)
    yield from _imported(named, home)


_RELOADERS = ("IPython.extensions.autoreload", "jurigged")
"""Modules that give functions the code of an edited file, which takes 20 ns a function and call to notice."""


_OF_NAMES = frozenset(("BaseException", "Exception", "NameError"))
"""Errors of a name that is not there, which code may handle."""


_OF_ENVIRONMENT = ("environ", "environb", "getenv", "getenvb", "expandvars")
"""Names in code that reads variables of the environment."""


_OF_DECIMAL = ("Decimal", "getcontext")
"""Names in code that computes in the current context of `decimal`."""


def _is_pythons(value: object) -> bool:
    """Whether a value among the builtins is one of Python's own."""
    return not isinstance(value, FunctionType | float | ModuleType) and (
        value is None or type(value).__module__ in ("builtins", "_sitebuiltins")
    )


def _imported(named: frozenset[str], home: Mapping[str, Any]) -> Iterator[Fixed]:
    """The user's modules that code may import as it runs."""
    package = home.get("__package__")
    for name in sorted(named):
        for path in (name, name.partition(".")[0], f"{package}.{name}"):
            module = sys.modules.get(path)
            if isinstance(module, ModuleType) and not is_installed(module):
                yield Fixed(path, module)


def method_owner(f: FunctionType, bound: Bound) -> Any:
    """The instance or the class on which a method that uses ``super`` looks up names, if it is known."""
    if bound.args or "super" not in f.__code__.co_names:
        return bound.args[0] if bound.args else None
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return cells["__class__"].cell_contents if "__class__" in cells else None
