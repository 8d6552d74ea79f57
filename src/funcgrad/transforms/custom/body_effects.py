"""Effects of a function under a reverse rule: where the rule runs, the function itself does not.

So what it stores into an argument, or into an object from outside, would be lost. Its instructions are read
for such stores; it is not run.
"""

from __future__ import annotations

import dis
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.expr import Expr
from funcgrad.source import USERS, fail, warn
from funcgrad.trace.outer_arrays import reached
from funcgrad.trace.shared_arguments import store_into_argument

_WITHOUT: WeakSet[FunctionType] = WeakSet()
"""Functions that store into nothing but their own."""


class StoreEffect(NamedTuple):
    """A store that code makes into what it names: of an item, by an attribute, an operator or a method, or
    of the name itself."""

    name: str
    how: str
    is_argument: bool


def refuse_lost_stores(
    who: str, f: Callable[..., object], rule: Callable[..., object], args: Sequence[object]
) -> None:
    """Raise TypeError if f stores into an argument or an array from outside, and its rule does not.

    So for what the rule stores, and f does not. A store into another object is warned of. A rule that calls f
    makes its stores.
    """
    if all([not isinstance(each, FunctionType) or each in _WITHOUT for each in (f, rule)]):
        return
    lost, more = _stores_reached(f), _stores_reached(rule)
    for each, found in ((f, lost), (rule, more)):
        if isinstance(each, FunctionType) and not found:
            _WITHOUT.add(each)
    names = {store.name for store, _ in lost}
    for store, function in more:
        if not store.is_argument and store.name not in names:
            _tell_of_outer(who, rule, store, function, "the function itself does not")
    if lost and not any([item is f or getattr(item, "f", None) is f for _, item in reached(rule)]):
        names = {store.name for store, _ in more}
        for store, function in lost:
            if store.is_argument:
                _tell_of_argument(who, f, store, args)
            elif store.name not in names:
                _tell_of_outer(who, f, store, function, _IN_PLACE)


_IN_PLACE = "its rule, which runs in its place, does not"


def _stores_reached(f: Callable[..., object]) -> list[tuple[StoreEffect, Any]]:
    """The stores of f, and those of the user's functions that it reaches into objects from outside."""
    own = getattr(f, "__code__", None)
    found = [(store, f) for store in stores_of(own if _is_users(own) else None)]
    for _, item in reached(f):
        if isinstance(item, FunctionType) and item is not f and _is_users(item.__code__):
            found += [(store, item) for store in stores_of(item.__code__) if not store.is_argument]
    return found


def _is_users(code: CodeType | None) -> bool:
    """Whether code is the user's, and not such as that of a primitive, which keeps what it has met."""
    return code is not None and not USERS[code.co_filename]


def _tell_of_argument(who: str, f: Any, store: StoreEffect, args: Sequence[object]) -> None:
    arg = args[f.__code__.co_varnames.index(store.name)]
    is_array = isinstance(arg, np.ndarray | MutableArray | Expr) and np.ndim(arg) > 0
    if is_array or isinstance(arg, list | dict | set):
        raise store_into_argument(who, f)
    if store.how == "attribute":
        _warn_of_store(who, f, store, _IN_PLACE)


def _tell_of_outer(
    who: str, f: object, store: StoreEffect, function: FunctionType, why: str
) -> None:
    value = _named(function, store.name)
    is_array = isinstance(value, np.ndarray | MutableArray) and store.how != "name"
    if is_array and function is f:
        raise fail(
            TypeError,
            f"{who}: expected functions without effects, but {_name(f)} stores into {store.name!r}, an "
            f"array from outside of it; {why}; return the value",
        )
    is_container = isinstance(value, list | dict | set | deque)
    # Other methods are such as ``np.add``, and what another function stores may be its own memory.
    if is_array or (function is f and (is_container or store.how != "method")):
        _warn_of_store(who, function, store, why)


def _warn_of_store(who: str, f: object, store: StoreEffect, why: str) -> None:
    warn(
        f"{who}: {_name(f)} stores into {store.name!r}; {why}, so that results may differ; return the value"
    )


def _name(f: object) -> str:
    return str(getattr(f, "__name__", "the function"))


def _named(f: FunctionType, name: str) -> Any:
    """The object from outside that a function has by a name."""
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    if name not in cells:
        return f.__globals__.get(name)
    try:
        return cells[name].cell_contents
    except ValueError:  # empty as yet
        return None


# -- reading instructions ----------------------------------------------------------------------------
class _Step(NamedTuple):
    name: str
    value: Any
    effect: int
    """What it adds to the stack."""
    text: str


@lru_cache(maxsize=4096)
def stores_of(code: CodeType | None) -> tuple[StoreEffect, ...]:
    """The stores of code, and of functions inside it, into arguments and objects from outside."""
    if code is None:
        return ()
    steps = [*_steps(code)]
    count = code.co_argcount + code.co_kwonlyargcount
    own = {*code.co_varnames, *code.co_cellvars}
    again = {steps[i].value for i in range(len(steps)) if _binds(steps, i)}
    arguments = {*code.co_varnames[:count]} - again
    found: dict[StoreEffect, None] = {}
    for how, name in _stored(steps):
        if name in arguments and how != "name":
            found[StoreEffect(name, how, True)] = None
        elif name not in own:
            found[StoreEffect(name, how, False)] = None
    for item in code.co_consts:
        if isinstance(item, CodeType):
            for store in stores_of(item):
                if not store.is_argument and (store.name in arguments or store.name not in own):
                    found[store._replace(is_argument=store.name in arguments)] = None
    return tuple(found)


def _steps(code: CodeType) -> Iterator[_Step]:
    for step in dis.get_instructions(code):
        name = step.opname.replace("_BORROW", "").replace("_CHECK", "")
        if name.count("_FAST") == 2:  # two in one, since Python 3.13
            first, second = name.split("_FAST")[:2]
            for part, value in zip((first, second.strip("_")), step.argval, strict=True):
                yield _Step(f"{part}_FAST", value, 1 if part == "LOAD" else -1, "")
            continue
        arg = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(step.opcode, arg, jump=False)
        yield _Step(name, step.argval, effect, step.argrepr)


def _binds(steps: Sequence[_Step], i: int) -> bool:
    """Whether a step gives a name another object; an operator that stores into the object gives the same."""
    return steps[i].name in ("STORE_FAST", "STORE_DEREF") and not (i and _is_in_place(steps[i - 1]))


def _is_in_place(step: _Step) -> bool:
    return step.name == "BINARY_OP" and step.text.endswith("=")


def _stored(steps: Sequence[_Step]) -> Iterator[tuple[str, str]]:
    """How steps store, and the name that leads to what they store into."""
    for i, step in enumerate(steps):
        place: int | None = None
        how = _HOW.get(step.name, "")
        if step.name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            place = _before_copies(steps, i, 2) if _is_swapped(steps, i) else i - 1
            for _ in range(2 if step.name == "STORE_SLICE" else 1):
                place = None if place is None else _before(steps, place)
        elif step.name in ("STORE_ATTR", "DELETE_ATTR"):
            place = _before_copies(steps, i, 1) if _is_swapped(steps, i) else i - 1
        elif step.name in ("STORE_GLOBAL", "STORE_DEREF", "STORE_FAST"):
            in_place = bool(i) and _is_in_place(steps[i - 1])
            if in_place or step.name != "STORE_FAST":
                yield ("operator" if in_place else "name"), step.value
        elif step.name in ("LOAD_METHOD", "LOAD_ATTR") and step.value in _CHANGING:
            place, how = i - 1, "method"
        name = None if place is None else _root(steps, place)
        if name is not None:
            yield how, name


_HOW = {"STORE_ATTR": "attribute", "DELETE_ATTR": "attribute"}
_CHANGING = frozenset(
    (
        *("add", "append", "appendleft", "clear", "discard", "extend", "fill", "insert", "itemset"),
        *("popitem", "put", "remove", "resize", "setdefault", "sort", "update"),
    )
)
"""Methods that change a list, a dict, a set or an array."""


def _is_swapped(steps: Sequence[_Step], i: int) -> bool:
    """Whether a store is that of ``a[i] += x``, whose object and index were copied before."""
    return i > 0 and steps[i - 1].name == "SWAP"


def _before_copies(steps: Sequence[_Step], i: int, count: int) -> int | None:
    """The last step of what ``a[i] += x`` copies."""
    while i >= count:
        i -= 1
        if all([step.name == "COPY" for step in steps[i - count + 1 : i + 1]]):
            return i - count
    return None


def _before(steps: Sequence[_Step], last: int) -> int | None:
    """The step before those that put one value on the stack, the last of which is given; None if there are
    jumps among them."""
    depth = 0
    for i in range(last, -1, -1):
        if "JUMP" in steps[i].name or steps[i].name in ("SWAP", "COPY"):
            return None
        depth += steps[i].effect
        if depth == 1 and (i == 0 or steps[i].effect >= 1):
            return i - 1
    return None


def _root(steps: Sequence[_Step], last: int) -> str | None:
    """The name from which an expression that ends with a step takes attributes and items."""
    while last >= 0:
        step = steps[last]
        if step.name in ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"):
            return str(step.value)
        if step.name == "LOAD_ATTR":
            last -= 1
        elif step.name == "BINARY_SUBSCR" or (step.name == "BINARY_OP" and step.text == "[]"):
            place = _before(steps, last - 1)
            if place is None:
                return None
            last = place
        else:
            return None
    return None
