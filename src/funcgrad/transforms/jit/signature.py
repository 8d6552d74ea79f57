"""The signature of a call: the structure of its arguments, and the kinds of their leaves."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.reference import COPIED
from funcgrad.expr import Expr, const, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.foreign_arrays import advice_on, refuse_libraries, refuse_others
from funcgrad.ops.base.op import Op
from funcgrad.source import is_builtin_class, type_error
from funcgrad.trace.leaves import parameter_names
from funcgrad.trace.outer_arrays import held_expressions
from funcgrad.trace.pytree import Tree, refuse_cycle
from funcgrad.trace.static import contents, is_static_value, static
from funcgrad.trace.tree_nodes import NAMESPACE, own_children, static_fields_of
from funcgrad.transforms.jit.guard_tree import GuardTree, first

# Default-precision dtypes: a Python number combined with one of them loses no precision.
DEFAULT_DTYPES = frozenset(np.dtype(t) for t in (float, int, bool, complex))


def static_kind(value: object) -> tuple[Any, ...]:
    """A static value as part of a signature: compared by type and value, where 0.0 and -0.0 differ."""
    return "static", contents(value)


FLAG_KINDS = static_kind(False), static_kind(True)
"""The kinds of Python's bools, which are static: Python's ``True + True`` is 2, and NumPy's is True."""


def is_static(kind: object) -> bool:
    """Whether a leaf of this kind is part of the signature, and not an input of the program."""
    return isinstance(kind, tuple) and kind[0] == "static"


def checked_static(value: Any, who: str = "jit") -> tuple[Any, ...]:
    """The kind of a leaf that is no number.

    Raises TypeError if it has no hash, or hashes by identity and may change.
    """
    refuse_libraries(who, value)
    kind: Any = type(value)
    if isinstance(value, static):
        return static_kind(value)
    known = isinstance(value, type | int | float | complex) or callable(value)
    if not (known or is_static_value(value)):
        refuse_others(who, value)
        instead = "name it in static_argnums" if who == "jit" else "let the function capture it"
        raise type_error(
            f"{who}: expected numbers, arrays, trees of them, and values that hash by what they are, but got "
            f"{kind.__name__}, which may change; make it a dataclass, register it by "
            f"fg.register_tree({kind.__name__}), mark it by fg.static(x), or {instead}",
        )
    return static_kind(value)


def changeable(value: Any) -> list[Any]:
    """The values in a static one that may change, though it stays the same: functions and instances."""
    if isinstance(value, static):
        return changeable(value.value)
    if isinstance(value, tuple | frozenset):
        return [inside for item in value for inside in changeable(item)]
    builtin = is_builtin_class(value if isinstance(value, type) else type(value))
    of_builtins = builtin and getattr(value, "__module__", "") == "builtins"
    return [] if isinstance(value, _FIXED) or value is None or of_builtins else [value]


_FIXED = (
    str,
    bytes,
    int,
    float,
    complex,
    Enum,
    np.generic,
    np.ndarray,
    np.dtype,
    np.ufunc,
    Op,
    slice,
    range,
)
TRACED_NUMBERS = frozenset((float, int, complex))
"""Python's numbers that are inputs of a program."""
NUMBER_TYPES = TRACED_NUMBERS | {bool}
SCALAR_TYPES = frozenset([np.dtype(code).type for code in "?bhilqBHILQefdFD"])
"""The types of NumPy's numbers."""
PLAIN = NUMBER_TYPES | SCALAR_TYPES | {np.ndarray}
_TEXT = frozenset((str,))
_BUILTIN = frozenset((list, tuple, dict))


def held_in_fields(tree: Any) -> list[Any]:
    """The functions and instances in static fields of a tree, whose contents may change."""
    parts = None if type(tree) in _BUILTIN else own_children(tree)
    children = tree.values() if isinstance(tree, dict) else tree
    if parts is not None:
        children = parts.children
    elif not isinstance(tree, dict | list | tuple):
        return []
    own = [] if parts is None else changeable(static_fields_of(parts))
    return own + [held for item in children for held in held_in_fields(item)]


def structure(tree: Any) -> Any:
    """A hashable key of a tree without its leaves: types of containers, names and their order."""
    try:
        return _structure(tree)
    except RecursionError:
        refuse_cycle(tree)
        raise


def _structure(tree: Any) -> Any:
    parts = None if type(tree) in _BUILTIN else own_children(tree)
    if parts is not None:
        inside = tuple([_structure(item) for item in parts.children])
        return type(tree), tuple(parts.labels), contents(parts.fixed), inside
    if isinstance(tree, dict):
        held = [None if type(item) in PLAIN else _structure(item) for item in tree.values()]
        kind: Any = type(tree)
        made = None if kind is dict else getattr(tree, "default_factory", None)
        # 1, True and 1.0 are equal as keys of a dict, but the results must have the caller's key.
        kinds = None if _TEXT.issuperset(map(type, tree)) else tuple(map(type, tree))
        return kind, made, tuple(tree), kinds, tuple(held)
    if isinstance(tree, list | tuple):
        if PLAIN.issuperset(map(type, tree)):
            return type(tree), len(tree)
        return type(tree), tuple(
            [None if type(item) in PLAIN else _structure(item) for item in tree]
        )
    import optree

    items, spec = optree.tree_flatten(
        tree, is_leaf=lambda item: item is not tree, namespace=NAMESPACE
    )
    if len(items) == 1 and items[0] is tree:
        return None
    return type(tree), spec, tuple([_structure(item) for item in items])


def rebuilder(output: object, shape: Tree, given: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    """A function from the values of f's traced results to f's whole result, with its other leaves.

    It is `first`, `list` or `tuple` itself if that does it. ``output`` is f's traced result, ``shape`` the
    same taken apart. ``given`` are the leaves of the arguments, of which the static ones are the same in
    each call.
    """
    if _is_single(shape):
        return first
    known = {id(leaf) for leaf in given if is_static_value(leaf)}
    kept = [
        None if isinstance(item, Expr) else (item if id(item) in known else _result(item),)
        for item in shape.leaves
    ]
    if not any(kept):
        for kind in (list, tuple):
            if type(output) is kind and _same(output, shape.leaves):
                return kind
        whole: Callable[[Sequence[Any]], Any] = shape.rebuild
        return whole

    def rebuild(results: Sequence[Any]) -> Any:
        rest = iter(results)
        return shape.rebuild([next(rest) if item is None else _own(item[0]) for item in kept])

    return rebuild


def _result(value: object) -> Any:
    """A leaf of f's result that is no expression. Raises TypeError unless it is an immutable value."""
    if isinstance(value, np.ndarray):
        held = value.ravel().tolist() if value.dtype == object else []
        if all(
            [
                item is None or (type(item) is not Expr and isinstance(item, _IMMUTABLE))
                for item in held
            ]
        ):
            return value.copy()
        raise type_error(
            "jit: expected f to return arrays of numbers, but got one of objects, with traced values or such "
            "as may change, which later calls would return again; return a.astype(float), or a.tolist()",
        )
    if isinstance(value, FunctionType | type) and held_expressions(value):
        raise _no_result(value, _OUTSIDE)
    if value is None or isinstance(value, _IMMUTABLE):
        return value
    if isinstance(value, _OF_C) or (isinstance(value, FunctionType) and not value.__closure__):
        return value
    if not isinstance(value, FunctionType) and isinstance(
        function := getattr(value, "__wrapped__", None), _OF_C
    ):
        return function  # in the place of what stands for it in adopted code
    made = _OUTSIDE if callable(value) else "return its parts in a tuple or a dict"
    raise _no_result(value, advice_on(value) or made)


def _no_result(value: object, advice: str) -> Any:
    return type_error(
        "jit: expected f to return trees of numbers, arrays and immutable values, but got "
        f"{type(value).__name__}; {advice}",
    )


_OUTSIDE = "later calls would return the same one: return its parts in a tuple or a dict, and make it outside"


_OF_C = (BuiltinFunctionType, np.ufunc, type(np.sum))
_IMMUTABLE = (float, int, complex, str, bytes, np.generic, np.dtype, type, Enum, ModuleType)


def _is_single(shape: Tree) -> bool:
    return (
        len(shape.leaves) == 1
        and isinstance(shape.leaves[0], Expr)
        and shape.rebuild(shape.leaves) is shape.leaves[0]
    )


def _same(items: Sequence[Any], leaves: Sequence[Any]) -> bool:
    return len(items) == len(leaves) and all(map(operator.is_, items, leaves))


def _own(value: object) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def kind_text(kind: Any) -> str:
    if isinstance(kind, type):
        return {float: "float64", int: "int64"}.get(kind, kind.__name__)
    if kind[0] == "static":
        value = kind[1][1][1] if kind[1][0] is static else kind[1][1]
        return value if kind[1][0] in (float, complex) else repr(value)
    if kind[0] == "scalar":
        return str(kind[1])
    return str(ArrayType(*kind[:2])) + (" in another order" if kind[2:] else "")


def array_kind(x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """The kind of an array that is not in C order: ``order="K"`` asks how its entries lie in memory."""
    axes = tuple(np.argsort(np.abs(x.strides), kind="stable").tolist())
    return x.shape, x.dtype, (axes, x.flags.f_contiguous)


class SignatureTraces:
    """The cache entry of one signature: its guard tree, and the captured arrays that the programs read."""

    def __init__(self, labels: Sequence[str], native: bool = False) -> None:
        self.labels = labels
        self.count = len(labels)
        self.tree = GuardTree(native)
        self.read: set[int] = set()
        """The ids of arrays that the program of the last trace reads at each call."""
        self.arrays: list[Any] = []
        self.stores = False
        """Whether f stores into arguments on a path: they are looked at in each call."""
        self.uncompiled = False
        """Whether f runs uncompiled, since it took too many paths."""

    def named(
        self,
        types: Sequence[ArrayType],
        values: Sequence[Any],
        watched: dict[int, Any],
        origins: dict[int, Any],
    ) -> list[Expr]:
        """The tree's inputs for a trace's inputs: arrays by identity, small new ones by content."""
        # Both lists grow together; an interrupt may have left one longer.
        known = min(len(self.arrays), max(len(self.tree.inputs) - self.count, 0))
        del self.arrays[known:], self.tree.inputs[self.count + known :]
        given: list[Expr] = []
        read: set[int] = set()
        for i, (type, value) in enumerate(zip(types, values, strict=True)):
            if i < self.count:
                if i == len(self.tree.inputs):
                    self.tree.inputs.append(symbol(self.labels[i], type))
                given.append(self.tree.inputs[i])
                continue
            origin = origins.get(id(value), value)
            if origin is value or id(origin) in watched:
                read |= {id(array) for array in _with_bases(origin)}
            most = _MASK if value.dtype == bool else COPIED
            if id(origin) not in watched and value.nbytes <= most:
                given.append(const(value))
                continue
            place = self._place(origin, id(origin) in watched)
            if place == len(self.arrays):
                self.arrays.append(origin)
                self.tree.inputs.append(symbol(f"array {place}", type))
            given.append(self.tree.inputs[self.count + place])
        self.read = read
        return given

    def _place(self, array: Any, watched: bool) -> int:
        """The position of an array in ``arrays``; one that f has made is compared by content."""
        for k, known in enumerate(self.arrays):
            alike = known.shape == array.shape and known.dtype == array.dtype
            if known is array or (not watched and alike and known.tobytes() == array.tobytes()):
                return k
        return len(self.arrays)


_MASK = 1 << 20
"""Bytes up to which an array of truth values that f has made is a constant: compilers look for triangles."""


def _with_bases(array: Any) -> Iterator[Any]:
    """An array, and those that it is a view of."""
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


class Static(NamedTuple):
    """The static arguments, by position and by name, as in JAX: their values are part of the signature."""

    numbers: tuple[int, ...]
    names: tuple[str, ...]

    def of(
        self, f: Callable[..., Any], count: int, kwargs: dict[str, Any]
    ) -> tuple[set[int], set[str]]:
        """The static positions and keywords of a call; a named argument may be given by either."""
        parameters = parameter_names(f, max(count, *[i + 1 for i in self.numbers], 0))
        places = {i % count for i in self.numbers if -count <= i < count}
        places |= {i for i in range(count) if parameters[i] in self.names}
        known = {parameters[i] for i in self.numbers if 0 <= i < len(parameters)}
        return places, {name for name in kwargs if name in self.names or name in known}
