"""Arrays with labels, of pandas and xarray, as trees: their values are leaves, their labels are static.

A traced function is given objects of the same classes, so that labels mean what they mean to the library:
an xarray object holds an expression itself, a pandas column a `TracedColumn` (`funcgrad.tables`). Where
values of another shape come back (the blocks of a Jacobian, one example of a batch), they come without
labels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.trace.container import TreeNode


def flatten_labeled(kind: type) -> Callable[[Any], TreeNode] | None:
    """The function that takes instances of a class of pandas or xarray apart; None of other classes.

    >>> flatten_labeled(list) is None
    True
    """
    for base in kind.__mro__:
        package = str(base.__module__).partition(".")[0]  # of some compiled classes it is no text
        found = _CLASSES.get(f"{package}.{base.__name__}")
        if found is not None:
            return found
    return None


def with_labels(function: Callable[..., Any], *args: Any) -> Any:
    """A function of an expression and an object of pandas or xarray, which keeps its labels.

    NotImplemented of other arguments. The expression is a number, or has the object's shape: so no labels
    need be aligned.

    >>> with_labels(np.add, 1.0, 2.0)
    NotImplemented
    """
    known = [flatten_labeled(type(arg)) for arg in args]
    if sum([flatten is not None for flatten in known]) != 1:
        return NotImplemented
    place = next(i for i, flatten in enumerate(known) if flatten is not None)
    node = known[place](args[place])  # type: ignore[misc]
    allowed = [(), np.shape(node.children[0])] if node.is_array else [()]
    if any([np.shape(arg) not in allowed for i, arg in enumerate(args) if i != place]):
        return NotImplemented
    found = node.put(
        [function(*args[:place], child, *args[place + 1 :]) for child in node.children]
    )
    made = sys.modules.get("funcgrad.tables.traced_data_arrays")
    # (`put` gives objects of xarray's own classes.)
    return made.of_xarray(found) if made and made.of_user(args[place]) is not args[place] else found


class Identical:
    """Labels, compared by the library's own ``identical``, or, of a column of text, ``equals``."""

    __slots__ = ("labels",)

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identical) or type(self.labels) is not type(other.labels):
            return False
        mine, others = self.labels, other.labels
        same = getattr(mine, "identical", mine.equals)
        return mine is others or (bool(same(others)))

    def __hash__(self) -> int:
        return hash((type(self.labels), len(self.labels)))


def _values(given: Sequence[Any]) -> list[Any]:
    """Values as labels take them: of an array that can be written, its value."""
    return [plain_value(value) for value in given]


def _fits(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value can stand where numbers of this shape stood."""
    return isinstance(value, Expr | np.ndarray) and value.shape == shape


# -- xarray --------------------------------------------------------------------------------------
def _data_array(tree: Any) -> TreeNode:
    tree = _of_user(tree)
    shape = tree.shape

    def put(values: Sequence[Any]) -> Any:
        (given,), (value,) = values, _values(values)
        if not shape and isinstance(value, float | complex | np.generic):
            value = np.asarray(value)
        if not _fits(value, shape):
            return value
        # (An array that can be written stays one.)
        return tree.copy(deep=False, data=given if isinstance(given, Reference) else value)

    fixed = Identical(tree.coords.to_dataset()), tree.dims, tree.name, dict(tree.attrs)
    return TreeNode(["values"], [tree.data], put, fixed, is_array=True)


def _of_user(tree: Any) -> Any:
    """An object of xarray's own class in the place of one that adopted code has made."""
    made = sys.modules.get("funcgrad.tables.traced_data_arrays")
    return tree if made is None else made.of_user(tree)


def _dataset(tree: Any) -> TreeNode:
    tree = _of_user(tree)
    names = list(tree.data_vars)
    parts = {name: _data_array(tree[name]) for name in names}

    def put(values: Sequence[Any]) -> Any:
        made = {name: parts[name].put([v]) for name, v in zip(names, values, strict=True)}
        whole = all([type(value) is type(tree[name]) for name, value in made.items()])
        return tree.assign(made) if whole else made

    fixed = *[part.fixed for part in parts.values()], dict(tree.attrs)
    children = [part.children[0] for part in parts.values()]
    return TreeNode([str(name) for name in names], children, put, fixed)


# -- pandas --------------------------------------------------------------------------------------
def _series(tree: Any) -> TreeNode:
    values = _numbers(tree)
    if values is None:
        own = tree._funcgrad_of_user() if type(tree).__name__ == "TracedSeries" else tree
        return TreeNode([], [], lambda _: own, Identical(tree.copy()))

    def put(given: Sequence[Any]) -> Any:
        (value,) = _values(given)
        if not _fits(value, tree.shape):
            return value
        kind = _class_of(tree, "Series", [value])
        return kind(column_of(value), index=labels, name=tree.name)

    labels = _plain_labels(tree.index)
    return TreeNode(["values"], [values], put, (Identical(labels), tree.name), is_array=True)


def _frame(tree: Any) -> TreeNode:
    columns = [tree.iloc[:, i] for i in range(tree.shape[1])]
    values = [_numbers(column) for column in columns]
    places = [i for i, value in enumerate(values) if value is not None]

    def put(given: Sequence[Any]) -> Any:
        given = _values(given)
        if not all([_fits(value, (len(tree),)) for value in given]):
            return {tree.columns[i]: value for i, value in zip(places, given, strict=True)}
        made = {i: column.array for i, column in enumerate(columns)}
        made |= {i: column_of(value) for i, value in zip(places, given, strict=True)}
        frame = _class_of(tree, "DataFrame", given)(made, index=labels)
        frame.columns = tree.columns
        return frame

    text = [Identical(columns[i].copy()) for i, value in enumerate(values) if value is None]
    labels = _plain_labels(tree.index)
    fixed = Identical(labels), Identical(tree.columns), tuple(text)
    return TreeNode([str(tree.columns[i]) for i in places], [values[i] for i in places], put, fixed)


def _plain_labels(index: Any) -> Any:
    """Labels of an object of pandas; of those that are traced values, the values at this call."""
    if getattr(index.dtype, "name", None) != "traced":
        return index
    return type(index)(concrete_value(index.array.expr, "labels of pandas"), name=index.name)


def _numbers(column: Any) -> Any:
    """The numbers of a column, as an array or an expression; None of another one."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "fciub":
            return column.to_numpy()
        entries = column.tolist() if dtype.kind == "O" else []
        return np.stack(entries) if any([isinstance(x, Expr) for x in entries]) else None
    return column.array.expr if dtype.name == "traced" else None


def _class_of(tree: Any, name: str, values: Sequence[Any]) -> Any:
    """The class of an object with these values: pandas' own, that of traced columns, or one of the user's."""
    module = type(tree).__module__
    if module.partition(".")[0] != "pandas":
        return type(tree)
    tables = import_module("funcgrad.tables.traced_tables")
    traced = any([isinstance(value, Expr) for value in values])
    return {
        "Series": (tables.Series, tables.TracedSeries),
        "DataFrame": (tables.DataFrame, tables.TracedFrame),
    }[name][traced]


def column_of(value: Any) -> Any:
    """An array of numbers, or an expression of one axis, as a column of pandas'."""
    if isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "b":  # a mask
        return concrete_value(value, "an array of pandas")
    # A module that imports pandas: it is needed only where pandas is in use.
    return import_module("funcgrad.tables.traced_columns").TracedColumn(value)


_CLASSES: Mapping[str, Callable[[Any], TreeNode]] = MappingProxyType(
    {
        "pandas.Series": _series,
        "pandas.DataFrame": _frame,
        "xarray.DataArray": _data_array,
        "xarray.Dataset": _dataset,
    }
)
