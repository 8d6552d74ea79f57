"""Classes of `numba.experimental.jitclass`, and their instances, as Python classes of traced values.

A compiled class holds the functions that it was made of. In adopted code they are the methods of a Python
class. An instance from outside is seen by one of a subclass, whose fields are those of the compiled instance.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from funcgrad.arrays.reference import holds_expr
from funcgrad.source import adopted_type_error

_MADE: WeakKeyDictionary[Any, type] = WeakKeyDictionary()
"""The Python classes, by numba's types of the compiled ones."""


def python_class(compiled: Any) -> type | None:
    """The Python class for a compiled class, or for numba's type of one; None for anything else."""
    source = getattr(compiled, "class_type", compiled)
    if not hasattr(source, "jit_methods"):
        return None
    if source not in _MADE:
        methods = {name: method.py_func for name, method in source.jit_methods.items()}
        static = {name: staticmethod(f.py_func) for name, f in source.jit_static_methods.items()}
        properties = {name: _property(parts) for name, parts in source.jit_props.items()}
        home = getattr(methods.get("__init__"), "__module__", None)
        space = {"__module__": home, "__doc__": source.class_doc}
        _MADE[source] = type(source.class_name, (), methods | static | properties | space)
    return _MADE[source]


def _property(parts: dict[str, Any]) -> property:
    return property(*[getattr(parts.get(name), "py_func", None) for name in ("get", "set", "del")])


def python_instance(compiled: Any) -> Any:
    """An instance of the Python class with the fields of a compiled one; None for anything else."""
    kind: Any = python_class(getattr(compiled, "_numba_type_", None))
    if kind is None:
        return None

    class WithFields(kind):  # type: ignore[misc]
        __module__, __qualname__ = kind.__module__, kind.__qualname__

        def __getattr__(self, name: str) -> Any:
            return getattr(compiled, name)

        def __setattr__(self, name: str, value: object) -> None:
            if holds_expr(value):
                raise adopted_type_error(
                    f"{kind.__name__}: expected numbers for the fields of a compiled instance from outside "
                    f"of the function, but got a traced value for {name!r}; make the instance there",
                )
            setattr(compiled, name, value)

    WithFields.__name__ = kind.__name__
    return object.__new__(WithFields)
