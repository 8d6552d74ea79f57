"""Reference cells: an array that can be written holds a value that cannot.

The value is an array of NumPy's, while nothing traced has been stored, or an expression. A store puts
another value into the cell. A view holds its base and a lens; while the base has numbers, its buffer is
NumPy's own view, so that aliasing is NumPy's.
"""

from __future__ import annotations

import operator
import weakref
from collections import UserList, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.lens import Lens
from funcgrad.expr import Expr, const, constant_of
from funcgrad.expr.registry import functions
from funcgrad.expr.scope_order import innermost_scope, next_in_order
from funcgrad.graph import Constant
from funcgrad.source import adopted_type_error, type_error, value_error

MARK = "__funcgrad_adopted__"
"""The key that the globals of all adopted code have."""


class State:
    """What a reference cell needs once it is viewed, written or lent: most never are."""

    base: Reference | None = None
    """Of a view, the array that it is a view of."""
    lens: Lens | None = None
    epoch = 0
    """Of a base, the number of its values so far; of a view, that of the value it has read."""
    layout: Any = None
    """An array of NumPy's strides, or a function that makes one; None: of a view, as its base's says, and
    else that of its value, in C order if that is an expression."""
    viewed = False
    guessed = False
    """Whether NumPy's layout is not known: C order is a guess."""
    relied = False
    """Whether a view has been made that may be a copy in NumPy, by that guess."""
    lent = False
    """Whether the buffer is another's: an expression's, or that of an array given by the user."""
    exports: list[Callable[[], Any]] | None = None
    """The plain arrays that share the buffer, by weak references."""
    is_outer = False
    """Whether one of these is an array from outside of the function that is traced."""
    readers: tuple[Callable[[], Any], ...] = ()
    """The states, by weak references, of what traces inside have read of it by traced indices: no store
    reaches these."""
    context: Any = None
    """Of such a view, the trace that it belongs to."""
    selection: Any = None
    """The `funcgrad.arrays.selections.Selection` whose chosen entries are the value, until a store."""


class Reference:
    """The cell of an array that can be written: its value, and how it is read and stored to."""

    __slots__ = ("_funcgrad_birth", "_funcgrad_state", "_funcgrad_value")

    _funcgrad_value: Any
    """An array of NumPy's or an expression; of a view, as it was when last read; None of a selection that has
    not been read."""
    _funcgrad_state: State | None
    _funcgrad_birth: int
    """When it was made, among the scopes of traces."""


def sibling(cell: Reference, value: object) -> Any:
    """A cell of the same class with a value of its own."""
    made = object.__new__(type(cell))
    made._funcgrad_value = value
    made._funcgrad_state = None
    made._funcgrad_birth = next_in_order()
    return made


def wrapped(cell: Reference, value: object) -> Any:
    """A result as NumPy gives it: arrays as cells, and scalars as they are."""
    if type(value) is Expr:
        return sibling(cell, value) if value.type.shape else value
    if isinstance(value, np.ndarray):
        return value if value.dtype == object else sibling(cell, value)
    if isinstance(value, tuple | list):
        return with_items(value, [wrapped(cell, item) for item in value])
    return value


def with_items(value: tuple[Any, ...] | list[Any], items: list[Any]) -> Any:
    """A tuple or list like another one, with other items; a tuple keeps its attributes."""
    if not isinstance(value, tuple):
        return type(value)(items)
    made = tuple.__new__(type(value), items)
    if hasattr(value, "__dict__"):
        vars(made).update(vars(value))
    return made


# -- reading -------------------------------------------------------------------------------------
def current(cell: Reference) -> Any:
    """The value of an array now: an array of NumPy's, which must not be written, or an expression."""
    state = cell._funcgrad_state
    if state is None:
        return cell._funcgrad_value
    if state.base is None:
        if cell._funcgrad_value is None:
            cell._funcgrad_value = state.selection.chosen
        return cell._funcgrad_value
    root = root_of(cell)
    epoch = 0 if root._funcgrad_state is None else root._funcgrad_state.epoch
    if state.epoch != epoch:
        for view in reversed(_stale(cell, epoch)):
            _read(view, epoch)
    return cell._funcgrad_value


def _stale(cell: Reference, epoch: int) -> list[Any]:
    """A view and the views below it that have not been read since the base changed; the base is last."""
    chain: list[Any] = []
    view: Any = cell
    while view._funcgrad_state.base is not None and view._funcgrad_state.epoch != epoch:
        chain.append(view)
        view = view._funcgrad_state.base
    return chain


def _read(view: Any, epoch: int) -> None:
    below = view._funcgrad_state.base._funcgrad_value
    lens = view._funcgrad_state.lens
    view._funcgrad_value = lens.look(below) if isinstance(below, np.ndarray) else lens.get(below)
    view._funcgrad_state.epoch = epoch


def root_of(cell: Reference) -> Any:
    """The array at the end of a chain of views."""
    while cell._funcgrad_state is not None and cell._funcgrad_state.base is not None:
        cell = cell._funcgrad_state.base
    return cell


def state_of(cell: Reference) -> State:
    """The state of a cell, made when it is first needed."""
    if cell._funcgrad_state is None:
        cell._funcgrad_state = State()
    found: State = cell._funcgrad_state
    return found


def is_numeric(cell: Reference) -> bool:
    """Whether an array holds numbers alone."""
    root = root_of(cell)
    value = root._funcgrad_value
    return (
        root._funcgrad_state.selection.is_plain if value is None else isinstance(value, np.ndarray)
    )


def lent_value(cell: Any) -> Any:
    """The value of an array, captured by an expression: its buffer is not written any more."""
    value = current(cell)
    if isinstance(value, np.ndarray) and value.nbytes > COPIED:
        state_of(root_of(cell)).lent = True
    return value


COPIED = 1 << 16
"""Bytes up to which an expression copies an array that it meets; it refers to a larger one.

(Copying takes 3 us: 3 % of the gradient of ``sum(x * a)``; 15 % at 1 MiB.)
"""


def plain_value(item: object) -> Any:
    """The value of an array that leaves the function that made it; anything else as it is."""
    if type(item) is Expr or not isinstance(item, Reference):  # most often, and asks no class
        return item
    value = current(item)
    if not isinstance(value, np.ndarray):
        return value
    root = root_of(item)
    shared = root is not item or (root._funcgrad_state is not None and root._funcgrad_state.lent)
    return value.copy() if shared else value


def read_only(cell: Reference, value: Expr) -> Any:
    """Entries of an array as a read-only view; stores into the array are refused from then on."""
    state = state_of(root_of(cell))
    state.lent = True
    made = sibling(cell, value)
    own = state_of(made)
    own.context = value.traced
    like = own.layout = np.empty(value.type.shape, value.type.dtype)
    like.flags.writeable = False
    state.readers = (*[read for read in state.readers if _is_in_use(read())], weakref.ref(own))
    return made


def _is_in_use(view: State | None) -> bool:
    """Whether a view is alive, and the trace that it belongs to has not ended."""
    return view is not None and getattr(view.context, "open", True)


def is_outside(cell: Reference, values: Sequence[Any]) -> bool:
    """Whether an array was made before a trace that expressions among values belong to began."""
    born = root_of(cell)._funcgrad_birth
    return any([isinstance(value, Expr) and innermost_scope(value) > born for value in values])


def unwrapped(tree: object) -> Any:
    """Arguments with the values of arrays in their place, in nested lists, tuples and dicts."""
    if isinstance(tree, Reference):
        return current(tree)
    return with_each_replaced(unwrapped, tree) if issubclass(type(tree), _HOLDING) else tree


def exported(tree: object) -> Any:
    """Arguments with plain arrays in the place of arrays that hold numbers, whose memory they share.

    Lists and dicts of nothing else are kept, since compiled code may store into them.
    """
    if isinstance(tree, Reference):
        return tree._funcgrad_as_numpys() if hasattr(tree, "_funcgrad_as_numpys") else export(tree)
    if not issubclass(type(tree), _HOLDING):
        return tree
    given: Any = tree
    made = with_each_replaced(exported, given)
    parts = [t.values() if isinstance(t, dict) else t for t in (made, given)]
    return tree if all(map(operator.is_, *parts)) else made


_HOLDING = (list, tuple, dict)


def with_each_replaced(replace: Callable[[Any], Any], tree: Any) -> Any:
    """The items of a list, a tuple or a dict, replaced; a subclass of these is kept if no item is."""
    if isinstance(tree, dict):
        made = {key: replace(item) for key, item in tree.items()}
        same = type(tree) is not dict and all([made[key] is tree[key] for key in made])
        return tree if same else made
    items = [replace(item) for item in tree]
    if type(tree) is list:
        return items
    if type(tree) is not tuple and all(map(operator.is_, items, tree)):
        return tree
    return with_items(tree, items) if isinstance(tree, tuple) else items


def lend(tree: object) -> None:
    """Mark the buffers of arrays, in nested lists, tuples and dicts, as captured: nothing writes them now."""
    if isinstance(tree, Reference):
        lent_value(tree)
    elif isinstance(tree, list | tuple):
        for item in tree:
            lend(item)
    elif isinstance(tree, dict):
        lend(list(tree.values()))


OTHER_LISTS = (deque, UserList)
"""Sequences beside lists and tuples whose items NumPy's functions take for those of an array."""


def holds_expr(tree: object) -> bool:
    """Whether nested lists, tuples and dicts hold an expression."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Expr) or (isinstance(item, Reference) and not is_numeric(item)):
            return True
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif type(item) is dict:
            waiting.extend(item.values())
    return False


def lengths_of(cell: Any) -> tuple[int, ...]:
    """The shape of an array."""
    value = cell._funcgrad_value
    shape: tuple[int, ...] = (current(cell) if value is None else value).shape
    return shape


def cell_dtype(cell: Any) -> np.dtype[Any]:
    """The dtype of an array."""
    value = cell._funcgrad_value
    dtype: np.dtype[Any] = (cell._funcgrad_state.selection.whole if value is None else value).dtype
    return dtype


# -- layout --------------------------------------------------------------------------------------
def layout_of(cell: Any) -> np.ndarray[Any, Any]:
    """An array of NumPy's with the strides that this one would have: NumPy decides what is a view of it."""
    waiting: list[Any] = []
    while (
        cell._funcgrad_state is not None
        and cell._funcgrad_state.layout is None
        and cell._funcgrad_state.base is not None
    ):
        waiting.append(cell)
        cell = cell._funcgrad_state.base
    like = _own_layout(cell)
    for view in reversed(waiting):
        like = view._funcgrad_state.layout = view._funcgrad_state.lens.lay(like)
    return like


def _own_layout(cell: Reference) -> np.ndarray[Any, Any]:
    state, value = cell._funcgrad_state, current(cell)
    if state is None or state.layout is None:
        if isinstance(value, np.ndarray):
            return value
        state = state_of(cell)
        state.layout = np.empty(value.shape, value.dtype)
    elif callable(state.layout):
        state.layout = state.layout()
    found: np.ndarray[Any, Any] = state.layout
    return found


def _keep_layout(cell: Reference) -> None:
    """Record how numbers are laid out, before others take their place: C order needs none without views."""
    value, state = cell._funcgrad_value, cell._funcgrad_state
    if isinstance(value, np.ndarray) and (
        not value.flags.c_contiguous or (state is not None and state.viewed)
    ):
        state = state_of(cell)
        if state.layout is None:
            state.layout = value


def in_c_order(cell: Reference) -> bool:
    """Whether the entries are known to stand in C order before the layout is made."""
    state = cell._funcgrad_state
    if state is None or (state.layout is None and state.base is None):
        return (
            not isinstance(cell._funcgrad_value, np.ndarray)
            or cell._funcgrad_value.flags.c_contiguous
        )
    return isinstance(state.layout, np.ndarray) and state.layout.flags.c_contiguous


def check_writable(cell: Reference) -> None:
    """Refuse a store into an array that NumPy would not write to, itself or through its base."""
    if not _is_writable(cell):
        raise value_error(
            "assignment destination is read-only, as a result of np.broadcast_to is, windows that overlap, "
            "or a traced array that a function which is not adopted has given to one that is; write to "
            "a.copy()",
        )


def _is_writable(cell: Reference) -> bool:
    while True:
        state = cell._funcgrad_state
        like = cell._funcgrad_value if state is None or state.layout is None else state.layout
        if type(like) is not Expr and isinstance(like, np.ndarray) and not like.flags.writeable:
            return False
        if state is None or state.base is None:
            return True
        cell = state.base


# -- views ---------------------------------------------------------------------------------------
def view_of(
    base: Reference, lens: Lens, like: np.ndarray[Any, Any] | None = None, read: Any = None
) -> Any:
    """A view through a lens; ``like`` is the same view of the base's layout, ``read`` its value."""
    below = base._funcgrad_state
    view = object.__new__(type(base))
    view._funcgrad_birth = base._funcgrad_birth
    state = view._funcgrad_state = State()
    state.base, state.lens = base, lens
    if like is not None:
        state.layout = like
    root = base if below is None else root_of(base)
    held = root._funcgrad_state
    state_of(base).viewed = True
    if read is None:
        value = current(base)
        read = lens.look(value) if isinstance(value, np.ndarray) else lens.get(value)
    view._funcgrad_value = read
    state.epoch = 0 if held is None else held.epoch
    return view


# -- storing -------------------------------------------------------------------------------------
def writable(cell: Any) -> np.ndarray[Any, Any] | None:
    """The buffer of an array, to be written; None where it holds an expression."""
    if not is_numeric(cell):
        return None
    root = root_of(cell)
    state = root._funcgrad_state
    check_writable(cell)
    if state is not None and state.selection is not None:
        current(root)
        state.selection = None
    if state is not None and state.lent:
        _refuse_exports(state)
        _keep_layout(root)
        root._funcgrad_value = root._funcgrad_value.copy("K")
        state.lent = False
        state.epoch += 1
    found: np.ndarray[Any, Any] = current(cell)
    return found


def assign(cell: Any, value: Any) -> None:
    """Put a value of the array's shape and dtype into it, and so into the arrays that it is a view of."""
    check_store(cell, value)
    root = root_of(cell)
    state = state_of(root)
    chain = []
    view = cell
    while view is not root:
        chain.append((view, expression_of(view._funcgrad_state.base)))
        view = view._funcgrad_state.base
    _keep_layout(root)
    changed = value
    values = [value]
    for view, below in chain:
        changed = view._funcgrad_state.lens.put(below, changed)
        values.append(changed)
    root._funcgrad_value = changed
    state.selection = None
    state.epoch += 1
    for (view, _), known in zip(chain, values, strict=False):
        view._funcgrad_value = known
        view._funcgrad_state.epoch = state.epoch


def expression_of(cell: Any) -> Any:
    """An array's value as an expression: numbers as they are now."""
    value = current(cell)
    if isinstance(value, np.ndarray):
        _refuse_exports(root_of(cell)._funcgrad_state)
        if not value.ndim:
            return const(value)
        if value.nbytes > COPIED and _is_uniform(value):  # as `numpy.zeros` makes
            return functions["broadcast_to"](const(value.flat[0]), shape=value.shape)
        copy = value.copy()
        copy.flags.writeable = False
        return constant_of(Constant(copy, captured=True))
    return value


def _is_uniform(value: np.ndarray[Any, Any]) -> bool:
    """Whether all entries of an array are the same number, to the bit."""
    first, dtype = value.flat[0], value.dtype
    if dtype.kind not in "biuf" or not dtype.isnative or first != value.flat[-1]:
        return False
    if not np.all(value == first):
        return False
    return bool(first) or dtype.kind != "f" or not np.signbit(value).any()


def make_expression(root: Reference) -> None:
    """Turn numbers into a constant: a view by a traced index is one of an expression."""
    if is_numeric(root):
        _keep_layout(root)
        state = state_of(root)
        root._funcgrad_value = expression_of(root)
        state.epoch += 1


def check_store(cell: Reference, value: object) -> None:
    """Refuse what would leak out of a trace inside, and what views are not to be written."""
    root = root_of(cell)
    check_writable(cell)
    if type(root._funcgrad_value) is not Expr and isinstance(root._funcgrad_value, np.ndarray):
        _refuse_exports(root._funcgrad_state)
    if root._funcgrad_state is not None and root._funcgrad_state.relied:
        raise type_error(
            "item assignment: expected an array of a known layout, but whether reshape or ravel gave a view "
            "or a copy of this one depends on how NumPy lays out the result of a function of transposed "
            "arrays; write a.copy() before it is reshaped",
        )
    if isinstance(value, Expr) and innermost_scope(value) > root._funcgrad_birth:
        raise type_error(
            "item assignment: expected an array that was made in the function that is traced, but got one "
            "from outside, which would hold a traced value when the function has ended; return the new "
            "values instead: as the carry of a loop, or as a result",
        )


def is_exported(state: State | None) -> bool:
    """Whether NumPy code holds an array's buffer as a plain array."""
    if state is None or not state.exports:
        return False
    state.exports = [export for export in state.exports if export() is not None]
    return bool(state.exports)


def _refuse_exports(state: State | None) -> None:
    if state is None:
        return
    if _is_read_elsewhere(state):
        raise adopted_type_error(
            "item assignment: expected an array that the function makes, but got one from outside of it, "
            "which other code reads as numbers; write b = a.copy() in the function, and store into b",
        )
    if is_exported(state):
        raise type_error(
            "item assignment: expected an array that is held here alone, but NumPy code holds it as a "
            "plain array too (np.asarray(a), a.view(dtype)), which would not see a traced value; give that "
            "code a.copy()",
        )


def _is_read_elsewhere(state: State) -> bool:
    """Whether other code reads an array from outside, or read-only views of an array are in use."""
    is_outer = bool(state.is_outer) and is_exported(state)
    return is_outer or any([_is_in_use(read()) for read in state.readers])


def note_export(root: Reference, export: Callable[[], Any]) -> None:
    """Record a plain array that shares an array's buffer."""
    state = state_of(root)
    state.exports = [*(state.exports or ()), export]


def export(cell: Reference) -> np.ndarray[Any, Any]:
    """A plain array that shares the buffer: for code that knows NumPy's arrays alone.

    It is read-only where a store into the array would be refused.
    """
    import weakref

    state = root_of(cell)._funcgrad_state
    is_read = state is not None and state.lent and _is_read_elsewhere(state)
    buffer: Any = writable(cell) if _is_writable(cell) and not is_read else current(cell)
    if not buffer.size:
        return np.asarray(buffer)
    try:
        memory = memoryview(buffer)  # as a base it is no array, and so stays that of its views
    except ValueError:  # of dates and durations, which are no traced values
        shared = buffer.view()
        shared.flags.writeable = not is_read
        return shared  # type: ignore[no-any-return]
    shared = np.asarray(memory.toreadonly() if is_read else memory)
    note_export(root_of(cell), weakref.ref(shared))
    return shared
