"""Containers that `optree` does not know by itself: how each is taken apart, and put together again.

Classes with named fields (dataclasses, attrs, pydantic), subclasses of dict, pyrsistent's containers, and
arrays with labels (`labeled_arrays`) are recognized by what they are. Other classes are registered, in
`optree`'s namespace `NAMESPACE`. No library is imported here.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar, overload

import numpy as np

from funcgrad.arrays.float_subclass import TracedFloat
from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.expr import Expr
from funcgrad.expr.formula_tuple import FormulaTuple
from funcgrad.ops.base.op import Op
from funcgrad.source import is_builtin_class, type_error, value_error
from funcgrad.trace.array_subclass_trees import flatten_subclass
from funcgrad.trace.container import TreeNode
from funcgrad.trace.float_subclass_trees import flatten_traced_float
from funcgrad.trace.labeled_arrays import flatten_labeled
from funcgrad.trace.masked_trees import flatten_masked, is_masked
from funcgrad.trace.static import static, static_fields

NAMESPACE = "funcgrad"
"""The namespace of `optree` in which `register_tree` registers."""

Class = TypeVar("Class", bound=type)


Flatten = Callable[[Any], TreeNode | None]


def own_children(tree: object) -> TreeNode | None:
    """The parts of a container that `optree` does not know by itself; None of a leaf, or of another one.

    >>> from fractions import Fraction
    >>> own_children(Fraction(1, 2)) is None
    True
    """
    kind: Any = type(tree)
    flatten = flatten_function(kind)
    return None if flatten is None else flatten(tree)


@lru_cache(maxsize=512)
def flatten_function(kind: type) -> Flatten | None:
    """The function that takes instances of a class apart."""
    if is_masked(kind):
        return flatten_masked
    if SubclassedArray in kind.__mro__:
        return flatten_subclass
    if TracedFloat in kind.__mro__:
        return flatten_traced_float
    never = kind.__module__ in _NEVER or is_builtin_class(kind)
    if (never and kind is not Counter) or Op in kind.__mro__:
        return None
    marked = static_fields(kind)
    if issubclass(kind, tuple):
        if kind is FormulaTuple:
            return _formula_tuple
        if hasattr(kind, "_fields") and hasattr(kind, "_extra_fields"):
            return _tuple_with_attributes
        return _marked_tuple if marked and hasattr(kind, "_fields") else None
    import optree

    if optree.register_pytree_node.get(kind, namespace=NAMESPACE) is not None:
        return _registered
    import pyrsistent

    if issubclass(kind, pyrsistent.PVector | pyrsistent.PList | pyrsistent.PDeque):
        return _persistent_sequence
    if issubclass(kind, pyrsistent.PMap):
        return _persistent_map
    if issubclass(kind, pyrsistent.PClass):
        return _persistent_object
    if issubclass(kind, dict) and not dataclasses.is_dataclass(kind):
        return _dict_with_attributes
    if _extends(kind, "pydantic.main", "BaseModel"):
        return _by_fields(kind.model_fields, marked)  # type: ignore[attr-defined]
    fields: Sequence[Any] = getattr(kind, "__attrs_attrs__", ())
    if dataclasses.is_dataclass(kind):
        fields = dataclasses.fields(kind)
    elif not hasattr(kind, "__attrs_attrs__"):
        return flatten_labeled(kind)
    marked |= {field.name for field in fields if _has_static_metadata(field.metadata)}
    return _by_fields([field.name for field in fields], marked)


_LEAVES = frozenset(("numpy", "funcgrad.expr"))
"""Modules whose classes are leaves, as Python's own are; none of them may be registered."""
_NEVER = _LEAVES | {"collections"}
"""Modules whose classes are leaves, or `optree`'s."""


def _extends(kind: type, module: str, name: str) -> bool:
    """Whether a class is, or extends, one of a library, found without importing the library."""
    return any(base.__name__ == name and base.__module__ == module for base in kind.__mro__)


def _has_static_metadata(metadata: Any) -> bool:
    return bool(metadata.get("static")) or metadata.get("pytree_node") is False


# -- classes with named fields -------------------------------------------------------------------
def _by_fields(names: Iterable[str], marked: Iterable[str]) -> Flatten:
    """The function that takes an instance apart into fields; those that are marked stay as they are."""
    moving = [name for name in names if name not in marked]
    kept = [name for name in names if name in marked]
    return lambda tree: fields_of(tree, moving, kept)


def fields_of(tree: object, moving: Sequence[str], kept: Sequence[str]) -> TreeNode:
    """An instance taken apart into the fields that it has; the fields ``kept`` are static."""
    labels = [name for name in moving if hasattr(tree, name)]
    fixed = _fixed(tree, kept)
    parameters = getattr(type(tree), "__dataclass_params__", None)
    is_frozen = parameters is not None and parameters.frozen

    def put(values: Sequence[Any]) -> Any:
        if is_frozen and all([getattr(tree, n) is v for n, v in zip(labels, values, strict=True)]):
            return tree  # code may compare it by `is`
        # As it is, not made anew: __init__ would forget what has been set since, and __post_init__ may
        # refuse a gradient's values.
        new = _copied(tree)
        for name, value in zip(labels, values, strict=True):
            object.__setattr__(new, name, value)
        for name in [n for n in getattr(new, "__dict__", ()) if _is_cached(type(new), n)]:
            del new.__dict__[name]
        return new

    return TreeNode(labels, [getattr(tree, name) for name in labels], put, fixed, True)


def _copied(tree: Any) -> Any:
    """Another instance with the same attributes, also of a class whose own copies are the same object."""
    new = copy.copy(tree)
    if new is not tree:
        return new
    new = object.__new__(type(tree))
    for name in [*_slots(type(tree)), *getattr(tree, "__dict__", ())]:
        if hasattr(tree, name):
            object.__setattr__(new, name, getattr(tree, name))
    return new


def _fixed(tree: object, names: Iterable[str]) -> tuple[tuple[str, static], ...]:
    """The static fields, by name."""
    found = [(name, getattr(tree, name)) for name in names if hasattr(tree, name)]
    for name, value in found:
        if isinstance(value, Expr):
            raise type_error(
                f"{type(tree).__name__}: expected a static value in the field {name}, which is marked "
                "by fg.static, but got a traced one; remove the mark",
            )
    return tuple([(name, static(value)) for name, value in found])


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)


def _marked_tuple(tree: Any) -> TreeNode:
    """A named tuple taken apart, some of whose fields are static."""
    kind: Any = type(tree)
    marked = static_fields(kind)
    labels = [name for name in tree._fields if name not in marked]
    fixed = _fixed(tree, [name for name in tree._fields if name in marked])

    def put(values: Sequence[Any]) -> Any:
        return tree._replace(**dict(zip(labels, values, strict=True)))

    return TreeNode(labels, [getattr(tree, name) for name in labels], put, fixed, True)


def _tuple_with_attributes(tree: Any) -> TreeNode:
    """A result of SciPy's tests and fits: a named tuple whose instances have attributes, too.

    Its numbers are NumPy's, whose dtype its methods read.
    """
    space = vars(tree)

    def put(parts: Sequence[Any]) -> Any:
        values = [np.float64(part) if type(part) is float else part for part in parts]
        new = tuple.__new__(type(tree), values[: len(tree)])
        vars(new).update(zip(space, values[len(tree) :], strict=True))
        return new

    return TreeNode([*tree._fields, *space], [*tree, *space.values()], put, (), True)


def _formula_tuple(tree: Any) -> TreeNode:
    return TreeNode([str(i) for i in range(len(tree))], list(tree), tuple)


# -- pyrsistent's containers ---------------------------------------------------------------------
def _persistent_sequence(tree: Any) -> TreeNode:
    import pyrsistent

    def put(values: Sequence[Any]) -> Any:
        if isinstance(tree, pyrsistent.PDeque):
            return pyrsistent.pdeque(values, tree.maxlen)
        return (pyrsistent.plist if isinstance(tree, pyrsistent.PList) else pyrsistent.pvector)(
            values
        )

    return TreeNode([str(i) for i in range(len(tree))], list(tree), put)


def _persistent_map(tree: Any) -> TreeNode:
    import pyrsistent

    keys = sorted(tree, key=str)

    def put(values: Sequence[Any]) -> Any:
        made = pyrsistent.pmap(dict(zip(keys, values, strict=True)))
        if isinstance(tree, pyrsistent.PRecord | pyrsistent.CheckedPMap):
            # Past the checks of its fields, which a traced value does not pass and a gradient need not.
            new: Any = pyrsistent.PMap.__new__
            return new(type(tree), len(made), made._buckets)
        return made if type(tree) is pyrsistent.PMap else tree.update(made)

    return TreeNode([str(key) for key in keys], [tree[key] for key in keys], put, tuple(keys))


def _persistent_object(tree: Any) -> TreeNode:
    kind: Any = type(tree)
    labels = [name for name in kind._pclass_fields if hasattr(tree, name)]

    def put(values: Sequence[Any]) -> Any:
        new = object.__new__(kind)
        for name, value in [*zip(labels, values, strict=True), ("_pclass_frozen", True)]:
            object.__setattr__(new, name, value)
        return new

    return TreeNode(labels, [getattr(tree, name) for name in labels], put, (), True)


# -- subclasses of dict --------------------------------------------------------------------------
def _dict_with_attributes(tree: Any) -> TreeNode | None:
    """A dict of a user's class, such as one whose keys are attributes; None if attributes repeat its items.

    Those attributes would keep the old values.
    """
    space = getattr(tree, "__dict__", {})
    if space is not tree and not space.keys().isdisjoint(tree):
        return None
    kind: Any = type(tree)
    order = list(tree)
    keys = sorted(order, key=str)

    def put(values: Sequence[Any]) -> Any:
        new = kind.__new__(kind)
        items = dict(zip(keys, values, strict=True))
        dict.update(new, [(key, items[key]) for key in order])
        if space is tree:
            new.__dict__ = new
        elif space:
            new.__dict__.update(space)
        return new

    return TreeNode([str(key) for key in keys], [dict.get(tree, k) for k in keys], put, tuple(keys))


# -- registered classes --------------------------------------------------------------------------
def _registered(tree: Any) -> TreeNode:
    import optree

    children, metadata, entries, unflatten = optree.tree_flatten_one_level(
        tree, namespace=NAMESPACE
    )

    def put(values: Sequence[Any]) -> Any:
        return unflatten(metadata, values)

    fields = isinstance(metadata, _Attributes)
    return TreeNode([str(entry) for entry in entries], list(children), put, metadata, fields)


@overload
def register_tree(
    cls: Class,
    flatten: Callable[[Any], tuple[Any, ...]] | None = None,
    unflatten: Callable[[Any, Any], Any] | None = None,
) -> Class: ...


@overload
def register_tree(cls: None = None) -> Callable[[Class], Class]: ...


def register_tree(cls: Any = None, flatten: Any = None, unflatten: Any = None) -> Any:
    """Register a class whose instances are trees, and return it.

    ``flatten(instance)`` returns a pair of the parts (numbers, arrays, trees
    of them) and of what is static, ``unflatten(static, parts)`` makes an
    instance, as for `jax.tree_util.register_pytree_node`; a third part of what
    ``flatten`` returns, if there is one, names the parts. Without both, and as
    a decorator, the attributes of an instance are its parts, by name, and a
    new instance is a copy with other attributes; `static` marks attributes by
    an annotation of the class. The registry is that of `optree`, in the
    namespace ``"funcgrad"``. Dataclasses, attrs classes, pydantic models,
    named tuples, lists, tuples, dicts and subclasses of dict need not be
    registered. Subclasses are not registered by their base class.

    Raises TypeError if ``cls`` is not a class, or is one of Python's or
    NumPy's own, such as `int`, or only one of the functions is given, and
    ValueError if the class is registered already.

    >>> import funcgrad as fg
    >>> @fg.register_tree
    ... class Line:
    ...     def __init__(self, slope, name):
    ...         self.slope, self.name = slope, name
    >>> found = fg.grad(lambda line: line.slope**2)(Line(3.0, "a"))
    >>> found.slope, found.name
    (6.0, 'a')
    """
    if cls is None and flatten is None and unflatten is None:
        return register_tree
    if not isinstance(cls, type):
        raise type_error(
            f"register_tree: expected a class, but got {type(cls).__name__}; write type(x)",
        )
    if cls.__module__ in _LEAVES or is_builtin_class(cls):
        raise type_error(
            f"register_tree: expected a class of yours, but got {cls.__name__}, whose instances are known; "
            "register a class that has one",
        )
    if (flatten is None) is not (unflatten is None):
        raise type_error(
            "register_tree: expected both flatten and unflatten, or neither, but got one of them",
        )
    import optree

    if flatten is None:
        flatten, unflatten = _attributes, _with_attributes
    try:
        optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)
    except ValueError as error:
        raise value_error(
            f"register_tree: expected a class that is not registered, but got {cls.__name__} "
            "again; optree.unregister_pytree_node(cls, namespace='funcgrad') removes it",
        ) from error
    flatten_function.cache_clear()
    return cls


def _attributes(tree: object) -> tuple[list[Any], Any, tuple[str, ...]]:
    kind: Any = type(tree)
    names = [*_slots(kind), *getattr(tree, "__dict__", ())]
    marked = static_fields(kind)
    node = fields_of(tree, [n for n in names if n not in marked], [n for n in names if n in marked])
    return node.children, _Attributes(node), tuple(node.labels)


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        own = base.__dict__.get("__slots__", ())
        found.extend([own] if isinstance(own, str) else own)
    return [name for name in found if name not in ("__dict__", "__weakref__")]


class _Attributes:
    """What is static of an instance: its marked attributes; and how one with other attributes is made."""

    __slots__ = ("node",)

    def __init__(self, node: TreeNode) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Attributes) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.node.labels), self.node.fixed


def static_fields_of(node: TreeNode) -> Any:
    """The static fields of an instance of a class with fields; () of another container."""
    if not node.has_fields:
        return ()
    return node.fixed.node.fixed if isinstance(node.fixed, _Attributes) else node.fixed


def _with_attributes(metadata: _Attributes, children: Sequence[Any]) -> Any:
    return metadata.node.put(list(children))
