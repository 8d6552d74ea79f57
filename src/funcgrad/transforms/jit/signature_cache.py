"""The cache of a jitted function: one entry for each signature, the captured variables, and the retrace log.

A call's signature is the structure of its arguments and the kinds of their leaves. The backend defines the
kinds and the entries: a tree of guarded programs for NumPy (`guarded_traces`), one program for a library
(`funcgrad.transforms.interop.library_jit`). The rest is shared: the values of static arguments are part of
the signature, entries are dropped if a captured variable changes, and each miss is logged.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from funcgrad.ops.base.foreign_arrays import remedy_of
from funcgrad.printed_text import PrintedText
from funcgrad.source import type_error
from funcgrad.trace.leaves import parameter_names, run
from funcgrad.trace.pytree import flatten_with_static
from funcgrad.trace.shared_arguments import refuse_shared_memory
from funcgrad.trace.static import contents
from funcgrad.transforms.jit.capture_sources import Snapshot
from funcgrad.transforms.jit.captures import CapturedVariables
from funcgrad.transforms.jit.explain_misses import RetraceLog
from funcgrad.transforms.jit.signature import Static, changeable, held_in_fields, is_static
from funcgrad.typing import Array

if TYPE_CHECKING:
    from funcgrad.transforms.jit.stage_text import Lowered

_MAX_SIGNATURES = 128

Kinds: TypeAlias = tuple[Hashable, ...]
"""The kinds of a call's leaves: types, dtypes, and static values."""
SignatureKey: TypeAlias = tuple[Kinds, Hashable]
"""The kinds of a call's leaves, and the structure of its arguments."""
Args: TypeAlias = tuple[Any, ...]
Keywords: TypeAlias = dict[str, Any]

Cached = TypeVar("Cached")
"""The type of an entry."""


class Latest:
    """The program that was compiled last: prints as its source."""

    def __init__(self, latest: Callable[[], str]) -> None:
        self._latest = latest

    @property
    def source(self) -> str:
        """The Python that runs; empty before the first call."""
        return self._latest()

    def __repr__(self) -> str:
        return self.source or "nothing has been compiled yet: call the function first"


class SignatureCache(ABC, Generic[Cached]):
    """The cache of a jitted function. It has no effect on results."""

    who = "jit"
    warns_of_numbers = False
    """Whether to warn of many signatures that differ only in Python's numbers."""

    def __init__(self, f: Callable[..., Any], static: Static, watched: bool = True) -> None:
        self.f = f
        self.static = static
        self.name = getattr(f, "__name__", "f")
        self.parameters: Sequence[str] = ()
        """The names of the arguments, if they differ from those in f's code."""
        self.fixed = ""
        """The static arguments, as text."""
        self.lock = threading.RLock()
        self.watch = CapturedVariables(f) if watched else None
        self.is_inner = False
        """Whether this is the cache for one value of the static arguments."""
        self.clear()

    def clear(self) -> None:
        """Forget every trace."""
        with self.lock:
            self.forget()
            self.specialized: OrderedDict[Hashable, SignatureCache[Cached]] = OrderedDict()
            self.newest: SignatureCache[Cached] | None = None
            self.fields: dict[Hashable, Sequence[object]] = {}
            """By the structure of arguments, what their static fields hold that may change."""
            self.misses = RetraceLog(self.name, self.warns_of_numbers)
            self.watched: Sequence[Snapshot] = ()  # set by the first trace

    def forget(self) -> None:
        """Drop the entries."""
        self.entries: OrderedDict[SignatureKey, Cached] = OrderedDict()

    def explain_misses(self) -> PrintedText:
        """Why f was traced, one line for each trace."""
        return PrintedText(self.misses)

    def source(self) -> str:
        """The source of the program that was compiled last."""
        return self.latest_source() if self.newest is None else self.newest.source()

    # -- implemented by backends-------------------------------------------------------------------
    @abstractmethod
    def function(self) -> Callable[..., Any]:
        """The function for a caller."""

    @abstractmethod
    def empty_for(self, f: Callable[..., Any]) -> SignatureCache[Cached]:
        """An empty cache of the same backend for another function, without static arguments."""

    @abstractmethod
    def __call__(self, args: Args, kwargs: Keywords) -> Any:
        """f's result, by the program for such arguments."""

    @abstractmethod
    def lower(self, *args: Array, **kwargs: object) -> Lowered:
        """The stages of the program for these arguments."""

    @abstractmethod
    def latest_source(self) -> str:
        """The source of the program of this cache that was compiled last."""

    # -- captured variables -----------------------------------------------------------------------
    def captures(self) -> Sequence[Snapshot]:
        """A snapshot of the variables that f captures."""
        return () if self.watch is None else self.watch.values(self.watched)

    def after_trace(self, before: Sequence[Snapshot], read: Collection[int]) -> Sequence[Snapshot]:
        """What to watch for a program that reads the arrays with these ids at each call."""
        return before if self.watch is None else self.watch.traced(before, read, self.watched)

    def drop_if_captures_changed(self) -> None:
        """Drop the entries if a captured variable has changed since they were made."""
        if self.watch is None or self.watch.unchanged(self.watched):
            return
        with self.lock:
            now = self.watch.values(self.watched)
            changes = self.watch.changed(self.watched, now)
            if changes:
                self.misses.rebound(changes)
                self.forget()
            self.watched = now

    def keep(self, key: SignatureKey, entry: Cached, before: Sequence[Snapshot]) -> bool:
        """Store an entry unless its trace changed a captured variable; whether it was stored.

        ``before`` is from before the trace, with the contents of the large arrays that the program does not
        read at each call.
        """
        with self.lock:
            if self.watch is not None:
                others = self.watch.changed(self.watched, before)
                if others or not self.watch.unchanged(before):
                    self.entries.pop(key, None)  # it is valid for this call only
                    return False
                self.watched = before
            self.entries[key] = entry
            _mark_used(self.entries, key)
        return True

    def refuse_shared_memory(
        self, stored: Collection[int], labels: Sequence[str], values: Sequence[Any]
    ) -> None:
        """Raise TypeError if an array that f stores into is another argument, too, or is captured."""
        captured = [(item.place.name, item.value) for item in self.watched]
        refuse_shared_memory(self.name, list(zip(labels, values, strict=True)), stored, captured)

    # -- arguments --------------------------------------------------------------------------------
    def on_leaves(self, args: Args, kwargs: Keywords, kinds: Kinds) -> Callable[..., Any]:
        """f as a function of the leaves that are not static, with the static leaves of this call."""
        whole = flatten_with_static((args, kwargs))

        def called(*values: object) -> Any:
            rest = iter(values)
            filled = [
                leaf if is_static(kind) else next(rest)
                for leaf, kind in zip(whole.leaves, kinds, strict=True)
            ]
            inner, named = whole.rebuild(filled)
            return run(self.f, inner, named)

        return called

    def labels(self, args: Args, kwargs: Keywords, kinds: Kinds) -> list[str]:
        """Distinct names for the values of a call, from the names of the parameters."""
        named = zip(self.parameters or parameter_names(self.f, len(args)), args, strict=True)
        paths = [path for name, arg in named for path in flatten_with_static(arg, name).paths]
        for name in sorted(kwargs):
            paths.extend(flatten_with_static(kwargs[name], name).paths)
        found = [p or "x" for p, kind in zip(paths, kinds, strict=True) if not is_static(kind)]
        return found if len(set(found)) == len(found) else [f"x{i}" for i in range(len(found))]

    def has_static(self) -> bool:
        """Whether some arguments are part of the signature by value."""
        return bool(self.static.numbers or self.static.names)

    def specialize(
        self, args: Args, kwargs: Keywords
    ) -> tuple[SignatureCache[Cached], Args, Keywords]:
        """The cache of f with the static arguments of a call, and the other arguments."""
        places, names = self.static.of(self.f, len(args), kwargs)
        fixed = {i: args[i] for i in sorted(places)}
        known = {name: kwargs[name] for name in sorted(names)}
        for value in (*fixed.values(), *known.values()):
            self._check_named(value)
        key = contents(tuple(fixed.items())), contents(tuple(known.items())), len(args)
        with self.lock:
            inner = self.specialized.get(key)
            if inner is None:
                inner = self.specialized[key] = self._bind_static(fixed, known, len(args))
            _mark_used(self.specialized, key)
        self.newest = inner
        dynamic = tuple([arg for i, arg in enumerate(args) if i not in places])
        return inner, dynamic, {n: v for n, v in kwargs.items() if n not in names}

    def holding(
        self, leaves: Sequence[object], key: SignatureKey, args: Args, kwargs: Keywords
    ) -> SignatureCache[Cached]:
        """The cache for a call with these static leaves, and static fields: another, if they may change.

        It watches what they hold, too.
        """
        if self.is_inner:
            return self
        fields = self._fields_held(key[1], args, kwargs)
        if not leaves and not fields:
            return self
        place = "held", tuple(filter(is_static, key[0])), key[1] if fields else ()
        with self.lock:
            inner = self.specialized.get(place)
            if inner is None:
                inner = self.specialized[place] = self._beside(self.f, [*leaves, *fields])
            _mark_used(self.specialized, place)
        self.newest = inner
        return inner

    def _fields_held(self, shape: Hashable, args: Args, kwargs: Keywords) -> Sequence[object]:
        """The functions and instances in static fields of arguments of some structure."""
        if shape == ():
            return ()
        found = self.fields.get(shape)
        if found is None:
            if len(self.fields) >= _MAX_SIGNATURES:
                self.fields.clear()
            found = self.fields[shape] = held_in_fields((args, kwargs))
        return found

    def _beside(self, f: Callable[..., Any], values: Sequence[object]) -> SignatureCache[Cached]:
        """The cache of f, which has static arguments of some values."""
        inner = self.empty_for(f)
        inner.is_inner = True
        inner.name, inner.misses = self.name, self.misses
        held = [inside for value in values for inside in changeable(value)]
        inner.watch = CapturedVariables(self.f, held) if held and self.watch else self.watch
        return inner

    def _check_named(self, value: object) -> None:
        try:
            hash(value)
        except TypeError:
            raise type_error(
                f"{self.who}: expected static arguments that hash, but got {type(value).__name__}; hand it "
                "in as an argument that is not static, or as a tuple",
            ) from None
        if remedy_of(value) is not None:  # PyTorch's hash, but by identity
            raise type_error(
                f"{self.who}: expected static arguments that hash by what they are, but got "
                f"{type(value).__name__}; hand it in as an argument that is not static",
            )

    def _bind_static(
        self, fixed: dict[int, Any], known: Keywords, count: int
    ) -> SignatureCache[Cached]:
        def rest(*others: object, **named: object) -> Any:
            left = iter(others)
            whole = [fixed[i] if i in fixed else next(left) for i in range(count)]
            return run(self.f, whole, {**known, **named})

        inner = self._beside(rest, [*fixed.values(), *known.values()])
        parameters = parameter_names(self.f, count)
        inner.parameters = [parameters[i] for i in range(count) if i not in fixed]
        texts = [*map(repr, fixed.values()), *[f"{n}={v!r}" for n, v in known.items()]]
        inner.fixed = ", ".join(texts)
        return inner


def _mark_used(entries: OrderedDict[Any, Any], key: Hashable) -> None:
    """Mark an entry as most recently used, and drop the least recently used ones beyond the limit."""
    entries.move_to_end(key)
    while len(entries) > _MAX_SIGNATURES:
        entries.popitem(last=False)
