"""Comparison of many captured variables at once: in C, where one by one would take 2 us each.

Globals and attributes of instances are looked up in one go, as are those of classes and of functions. Others,
such as the contents of containers and of arrays, are compared one by one.
"""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, is_
from types import CellType, CodeType, FunctionType, MappingProxyType, MemberDescriptorType
from typing import Any

from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Attribute,
    ClassMember,
    ClassOf,
    ClosureCell,
    Contents,
    Fixed,
    InstanceMember,
    NamespaceItem,
    Snapshot,
    has_namespace,
    in_class,
    is_looked_up_plainly,
    is_written,
    namespace,
    same_items,
    seen,
)


class PlaceComparison:
    """Whether places hold what they held: a function of no arguments."""

    def __init__(self, held: Sequence[Snapshot]) -> None:
        self._names = _Column()
        """Dicts and their keys: globals, and attributes of instances."""
        self._homes = _Column()
        """Instances, by the dicts of their attributes."""
        self._members = _Column()
        """The namespaces of classes, each of a class and of the bases before the one that has the name."""
        self._orders = _Column()
        """Classes, compared by their method resolution orders."""
        self._kinds = _Column()
        """Instances, by their classes."""
        self._attributes = _Column()
        self._cells = _Column()
        self._others: list[Snapshot] = []
        for item in held:
            if not self._joins(item):
                self._others.append(item)

    def _joins(self, item: Snapshot) -> bool:
        """Add a place to the column that it belongs to, if there is one."""
        place, value = item.place, item.value
        if item.form is not None:
            return False
        if isinstance(place, NamespaceItem) and type(place.home) is dict:
            self._names.add(place.home, place.key, value)
        elif (
            isinstance(place, InstanceMember)
            and value is not ABSENT
            and _is_plain(type(place.holder))
        ):
            self._attributes.add(place.holder, place.key, value)
        elif isinstance(place, ClassOf):
            self._kinds.add(place.holder, "", value)
        elif isinstance(place, InstanceMember) and _is_in_dict(place):
            home = namespace(place.holder)
            self._names.add(home, place.key, value)
            self._homes.add_once(place.holder, "__dict__", home)
        elif isinstance(place, ClassMember):
            order = place.owner.__mro__
            self._orders.add_once(place.owner, "__mro__", order)
            for base in order:
                has = place.key in vars(base)
                self._members.add(vars(base), place.key, value if has else ABSENT)
                if has:
                    break
        elif isinstance(place, Attribute):
            self._attributes.add(place.holder, place.key, value)
        elif isinstance(place, ClosureCell) and value is not ABSENT:
            self._cells.add(place.cell, "", value)
        else:
            return isinstance(place, Fixed)
        return True

    def __call__(self) -> bool:
        names, homes, members = self._names, self._homes, self._members
        orders, attributes, cells = self._orders, self._attributes, self._cells
        absent = repeat(ABSENT)
        try:
            return (
                self._kinds.holds(map(type, self._kinds.holders))
                and homes.holds(map(_attribute_of, homes.holders, homes.keys))
                and names.holds(map(dict.get, names.holders, names.keys, absent))
                and orders.holds(map(_base_order, orders.holders))
                and members.holds(map(_member_of, members.holders, members.keys, absent))
                and attributes.holds(map(getattr, attributes.holders, attributes.keys))
                and cells.holds(map(_cell_contents, cells.holders))
                and all(map(_is_unchanged, self._others))
            )
        except (AttributeError, ValueError):  # a cell is empty by now
            return False


_attribute_of = object.__getattribute__
_base_order = attrgetter("__mro__")
_member_of: Any = MappingProxyType.get
_cell_contents = attrgetter("cell_contents")


class _Column:
    """Holders with keys, and the values that were found there."""

    __slots__ = ("_met", "holders", "keys", "values")

    def __init__(self) -> None:
        self.holders: list[Any] = []
        self.keys: list[str] = []
        self.values: list[Any] = []
        self._met: set[int] = set()

    def add(self, holder: Any, key: str, value: Any) -> None:
        self.holders.append(holder)
        self.keys.append(key)
        self.values.append(value)

    def add_once(self, holder: Any, key: str, value: Any) -> None:
        if id(holder) not in self._met:
            self._met.add(id(holder))
            self.add(holder, key, value)

    def holds(self, now: Any) -> bool:
        """Whether the values are these objects."""
        return all(map(is_, now, self.values))


def _is_plain(kind: Any) -> bool:
    """Whether attributes that instances hold are found without code of the user's."""
    return is_looked_up_plainly(kind) and not hasattr(kind, "__getattr__")


def _is_in_dict(place: InstanceMember) -> bool:
    """Whether an attribute of an instance is found in its namespace, a dict that stays its own."""
    holder = place.holder
    in_its_class = in_class(type(holder), place.key)
    if not has_namespace(holder) or type(in_its_class) is MemberDescriptorType:
        return False
    if hasattr(type(in_its_class), "__set__") or hasattr(type(in_its_class), "__delete__"):
        return False
    home = namespace(holder)
    return type(home) is dict and namespace(holder) is home


def _is_unchanged(item: Snapshot) -> bool:
    now = item.place.get()
    if isinstance(item.place, Contents):
        return same_items(now, item.value)
    if now is not item.value:
        return False
    return item.form is None or not item.event(seen(item.place, item.content is not None))


# -- names, in a function of their own -------------------------------------------------------------
FEWEST = 4
"""Names from which a function of its own compares them: to call it costs as much as three do.

There each is looked up as Python does, in 3 ns, where a look into a cell or a namespace takes 13.
"""

_OWN = re.compile(r"[cv]\d+|missing")


def checked(held: Sequence[Snapshot]) -> list[Snapshot]:
    """The cells, and the globals of one namespace, where they are many."""
    homes = Counter(id(item.place.home) for item in held if isinstance(item.place, NamespaceItem))
    most = max(homes, key=homes.__getitem__, default=None)
    found = [
        item
        for item in held
        if isinstance(item.place, ClosureCell)
        or (
            isinstance(item.place, NamespaceItem)
            and id(item.place.home) == most
            and _is_global(item)
        )
    ]
    return found if len(found) >= FEWEST else []


def _is_global(item: Snapshot) -> bool:
    """Whether code with that namespace for globals finds there, by that name, what was seen."""
    place: Any = item.place
    key, home = place[-1], place[1]
    own = is_written(key) and not _OWN.fullmatch(key)
    return own and "__name__" in home and (item.value is not ABSENT or hasattr(builtins, key))


def checker(held: Sequence[Snapshot]) -> Callable[[], bool]:
    """A function that says whether names are bound to what they were."""
    homes = [item.place.home for item in held if isinstance(item.place, NamespaceItem)]
    given: dict[str, Any] = {"missing": CellType(NameError)}
    tests = []
    for k, item in enumerate(held):
        name, value = f"c{k}", item.value
        if isinstance(item.place, ClosureCell):
            given[name] = item.place.cell
        else:
            name = str(item.place[-1])
            value = getattr(builtins, name) if value is ABSENT else value
        given[f"v{k}"] = CellType(value)
        tests.append(f"{name} is v{k}")
    code = _compiled(tuple(tests), tuple(given))
    cells = tuple([given[name] for name in code.co_freevars])
    return FunctionType(code, homes[0] if homes else {}, closure=cells)


@lru_cache(maxsize=256)
def _compiled(tests: Sequence[str], given: Sequence[str]) -> CodeType:
    text = f"""
def around({", ".join(given)}):
    def same():
        try:
            return {" and ".join(tests)}
        except missing:
            return False
    return same
"""
    home: dict[str, Any] = {}
    exec(compile(text, "<funcgrad jit>", "exec", dont_inherit=True), home)
    code: CodeType = home["around"](*given).__code__
    return code
