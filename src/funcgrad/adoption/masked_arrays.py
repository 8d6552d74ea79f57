"""``numpy.ma`` for traced values: NumPy's own Python code, over arrays that hold them.

The modules ``numpy.ma.core`` and ``numpy.ma.extras`` are executed a second time, with adopted names, and with
`SubclassedArray` as the base of ``MaskedArray``.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from threading import RLock
from types import FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.array_subclasses import NumPyOverSubclasses
from funcgrad.adoption.modules import absolute_name
from funcgrad.arrays.mutable_array import shared_argument
from funcgrad.arrays.reference import MARK, export, plain_value
from funcgrad.arrays.subclassed_array import (
    SubclassedArray,
    interface_of,
    numpys_own,
    plain,
    view_of_value,
)
from funcgrad.trace.masked_trees import is_masked


class MaskedModules:
    """The modules of ``numpy.ma`` in adopted code; its names lead to their originals in NumPy's own."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._imported = names["__import__"]
        self._builtins = {**vars(builtins), **names, "super": super, "__import__": self._import}
        self._numpy = NumPyOverSubclasses(import_module("funcgrad.numpy"))
        self._known: dict[int, Any] = {}
        self._modules: dict[str, ModuleType] = {}

    def load(self) -> None:
        """Execute the modules, whose code asks for their classes meanwhile."""
        self.core = self._executed("numpy.ma.core")
        kind = self.core.MaskedArray
        kind._funcgrad_arrays = lambda array: [plain(array), array._mask]
        kind._funcgrad_as_numpys, kind.__str__ = _as_numpys, _text_of
        kind.__repr__ = lambda array: _text_of(array, repr)
        kind.__format__ = lambda array, spec: format(str(array), spec)
        extras = self._executed("numpy.ma.extras")
        vars(extras)["apply_along_axis"] = self._known[id(np.ma.apply_along_axis)] = partial(
            _apply_along_axis, self.core, extras
        )
        whole = ModuleType("numpy.ma", np.ma.__doc__)
        vars(whole).update({name: self.of(value) for name, value in vars(np.ma).items()})
        vars(whole).update(core=self.core, extras=self._modules["numpy.ma.extras"])
        self._modules["numpy.ma"] = whole

    def module(self, original: ModuleType) -> ModuleType:
        """A module of ``numpy.ma`` as adopted code finds it."""
        return self._modules.get(original.__name__, original)

    def of(self, value: object) -> Any:
        """The counterpart of a function, a class or an object that has a name in ``numpy.ma``."""
        return self._known.get(id(value), value)

    def instance(self, value: Any) -> Any:
        """A masked array that shares the entries of one of NumPy's; another object's counterpart."""
        if isinstance(value, SubclassedArray):
            return value
        if id(value) in self._known or not is_masked(type(value)):
            return self.of(value)
        mask: Any = value.mask
        shared = mask if mask is np.ma.nomask else shared_argument(mask)
        made = self.core.MaskedArray(
            shared_argument(value.data), shared, fill_value=value._fill_value, copy=False
        )
        made._hardmask = value._hardmask
        return made

    def _executed(self, name: str) -> ModuleType:
        original = import_module(name)
        spec: Any = original.__spec__
        made = importlib.util.module_from_spec(spec)
        vars(made).update({MARK: True, "__builtins__": self._builtins})
        self._modules[name] = made
        vars(made).update(_view=view_of_value, _interface=interface_of)
        tree = _OverTracedNumbers().visit(ast.parse(spec.loader.get_source(name)))
        exec(compile(tree, spec.origin, "exec"), vars(made))
        for key, value in vars(made).items():
            theirs = getattr(original, key, None)
            if theirs is value or not str(_home(theirs)).startswith("numpy.ma"):
                continue
            self._known[id(theirs)] = value
            if isinstance(theirs, type):
                setattr(value, ORIGINAL, theirs)
        return made

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] = MappingProxyType({}),
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        full = absolute_name(name, globals, level)
        if full == "numpy" and fromlist:
            return self._numpy
        if full == "numpy.ma":  # ``from . import core``
            return SimpleNamespace(core=self.core)
        return self._modules.get(full) or self._imported(name, globals, locals, fromlist, level)


def _home(value: object) -> Any:
    """The module of a function or a class, or of the class of an object."""
    own = isinstance(value, type | FunctionType | MethodType)
    return value.__module__ if own else type(value).__module__


_MODULES: list[MaskedModules] = []
_LOCK = RLock()


def masked_modules(names: Mapping[str, Any]) -> MaskedModules:
    """The modules of ``numpy.ma`` over the built-in names of adopted code: one set in a process."""
    with _LOCK:
        if not _MODULES:
            _MODULES.append(MaskedModules(names))
            try:
                _MODULES[0].load()
            except BaseException:
                _MODULES.clear()
                raise
        return _MODULES[0]


def _apply_along_axis(
    core: ModuleType,
    extras: ModuleType,
    func1d: Callable[..., Any],
    axis: int,
    arr: object,
    *args: object,
    **kwargs: object,
) -> Any:
    """As `numpy.ma.apply_along_axis`, which stores the results in an array of objects."""
    array = core.array(arr, copy=False, subok=True)
    axis, count = range(array.ndim)[axis], array.ndim - 1
    rows = array.transpose([*[k for k in range(array.ndim) if k != axis], axis])
    shape = rows.shape[:-1]
    found = [core.array(func1d(rows[i], *args, **kwargs)) for i in np.ndindex(shape)]
    inner = found[0].shape
    whole = extras.stack(found).reshape((*shape, *inner))
    places = [*range(axis), *range(count, count + len(inner)), *range(axis, count)]
    return whole.transpose(places)


class _OverTracedNumbers(ast.NodeTransformer):
    """A module's source with ``_view(a, ...)`` for ``a.view(...)``, since a traced number has no views,
    ``_interface(a)`` for ``a.__array_interface__``, by which NumPy would read an array's memory, and without
    the checks of texts of documentation, which are others than NumPy's."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        named = getattr(getattr(node.exc, "func", None), "id", "")
        return ast.copy_location(ast.Pass(), node) if named == "RuntimeError" else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "__array_interface__":
            return node
        name = ast.copy_location(ast.Name("_interface", ast.Load()), node)
        return ast.copy_location(ast.Call(name, [node.value], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # as `ast` names it
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr != "view":
            return node
        home = called.value.func if isinstance(called.value, ast.Call) else called.value
        if isinstance(home, ast.Name) and home.id in ("ndarray", "super"):  # of the class
            return node
        name = ast.copy_location(ast.Name("_view", ast.Load()), called)
        made = ast.Call(name, [called.value, *node.args], node.keywords)
        return ast.copy_location(made, node)


def _as_numpys(array: Any) -> Any:
    """A masked array of numbers as NumPy's own, which shares its memory."""
    if type(array).__name__ == "MaskedConstant":
        return np.ma.masked
    mask = array._mask if array._mask is np.ma.nomask else export(array._mask)
    fill = plain_value(array._fill_value)
    made: Any = np.ma.MaskedArray(export(plain(array)), mask, fill_value=fill, copy=False)
    made._hardmask = array._hardmask
    return made


def _text_of(array: Any, text: Callable[[object], str] = str) -> str:
    """A masked array as NumPy prints it; one that holds traced values by its data and its mask."""
    own = numpys_own(array)
    if own is not array:
        return text(own)
    return f"masked_array(data={plain(array)!r}, mask={array._mask!r})"
