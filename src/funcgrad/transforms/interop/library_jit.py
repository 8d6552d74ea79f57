"""Functions that run as programs of another library: one program a signature, without guards.

`to_jax` and `to_torch` of a function take what it captures as it was when it was traced. `jit` with a
backend watches captured variables, as it does for NumPy (`funcgrad.transforms.jit.signature_cache`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.libraries import library_of, source_of
from funcgrad.compiler.libraries.jax_sharding import partitioned
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, symbol
from funcgrad.graph import ArrayType
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error
from funcgrad.trace.derive import closed_tree
from funcgrad.trace.pytree import Tree, flatten, leaves_of
from funcgrad.trace.random_draws import generator_states, warn_of_draws
from funcgrad.trace.trace_body import symbols, trace_body
from funcgrad.transforms.interop.jax_tangents import compile_body, with_own_derivatives
from funcgrad.transforms.jit.signature import (
    Static,
    changeable,
    checked_static,
    is_static,
    structure,
)
from funcgrad.transforms.jit.signature_cache import Args, Keywords, Kinds, SignatureCache
from funcgrad.transforms.jit.stage_text import Lowered
from funcgrad.transforms.transform_arguments import named_after
from funcgrad.typing import Array


class LibraryTypes(NamedTuple):
    """What a library takes as arrays, and which dtype a Python number has among those of given types."""

    type_of: Callable[[str, Any], ArrayType | None]
    with_numbers: Callable[[Sequence[ArrayType | None], Sequence[Any]], list[ArrayType | None]]


class TracedBody(NamedTuple):
    """A run of f on symbols: its result, as it was and as a body, and the arrays that it captured."""

    body: Body
    captured: list[Any]
    output: Any
    leaves: list[Expr]
    labels: list[str]
    stored: set[int]


class LibraryProgram(NamedTuple):
    """A body that runs in the library."""

    run: Callable[..., tuple[Any, ...]]
    captured: list[Any]
    rebuild: Callable[[Sequence[Any]], Any]
    labels: Sequence[str]
    stored: Collection[int]
    """The numbers of the arguments into which f stores."""


class LibraryPrograms(SignatureCache[LibraryProgram]):
    """The cache of a function that runs as programs of a library."""

    def __init__(
        self,
        f: Callable[..., Any],
        who: str,
        backend: str,
        types: LibraryTypes,
        static: Static = Static((), ()),  # noqa: B008  # it is immutable
        watched: bool = False,
    ) -> None:
        self.who, self.backend, self.types = who, backend, types
        self.library = library_of(backend)  # a missing one is told of here, not in the first call
        super().__init__(f, static, watched)

    def __reduce__(self) -> Any:
        watched = self.watch is not None
        return type(self), (self.f, self.who, self.backend, self.types, self.static, watched)

    def function(self) -> Callable[..., Any]:
        """The function for a caller."""

        @named_after(self.f)
        def on_library(*args: object, **kwargs: object) -> Any:
            return self(args, kwargs)

        return named_after(self.f)(self.library.whole(on_library))

    def empty_for(self, f: Callable[..., Any]) -> LibraryPrograms:
        """An empty cache for another function."""
        return LibraryPrograms(f, self.who, self.backend, self.types)

    def clear(self) -> None:
        """Forget every program."""
        with self.lock:
            super().clear()
            self.latest: LibraryProgram | None = None

    def __call__(self, args: Args, kwargs: Keywords) -> Any:
        if self.has_static():
            inner, moving, named = self.specialize(args, kwargs)
            return inner(moving, named)
        leaves = leaves_of((args, kwargs))
        if Expr in map(type, leaves):
            return self.f(*args, **kwargs)  # inside another trace it is part of it
        kinds = self._kinds(leaves)
        both = zip(leaves, kinds, strict=True)
        held = [x for leaf, kind in both if is_static(kind) for x in changeable(leaf)]
        key = kinds, structure((args, kwargs))
        cache = self.holding(held, key, args, kwargs)
        if cache is not self:
            return cache(args, kwargs)
        self.drop_if_captures_changed()
        found = self.entries.get(key)
        if found is None:
            before = self.captures()
            generators = generator_states([(item.place.name, item.value) for item in before])
            found = self._compiled(self._traced(kinds, args, kwargs))
            warn_of_draws("jit", self.name, generators)
            self.misses.traced(self.fixed, key, (args, kwargs))
            self.latest = found
            self.keep(key, found, self.after_trace(before, set(map(id, found.captured))))
        given = [leaf for leaf, kind in zip(leaves, kinds, strict=True) if not is_static(kind)]
        self.refuse_shared_memory(found.stored, found.labels, given)
        return found.rebuild(found.run(*given, *found.captured))

    def _kinds(self, leaves: Sequence[Any]) -> Kinds:
        types = [self.types.type_of(self.who, leaf) for leaf in leaves]
        return tuple(
            [
                checked_static(leaf, self.who) if type is None else type
                for type, leaf in zip(self.types.with_numbers(types, leaves), leaves, strict=True)
            ]
        )

    # -- tracing ----------------------------------------------------------------------------------
    def _traced(self, kinds: Kinds, args: Args, kwargs: Keywords) -> TracedBody:
        """f on symbols for the leaves that have types."""
        on_leaves = self.on_leaves(args, kwargs, kinds)
        leaves: list[Expr] = []

        def on_symbols(traced: Sequence[Expr]) -> Any:
            leaves.extend(traced)
            return on_leaves(*traced)

        labels = self.labels(args, kwargs, kinds)
        tree = Tree([None] * len(labels), list, labels)
        types = [kind for kind in kinds if isinstance(kind, ArrayType)]
        try:
            body, captured, output = trace_body(on_symbols, [tree], symbols([tree], types))
        except TypeError as error:
            question = self._question(str(error))
            if question is None:
                raise
            raise question from None
        if any([isinstance(value, Expr) for value in captured]):
            raise type_error(
                f"{self.who}: expected a function of its arguments, but it depends on a value of a trace "
                "around it; hand that in as an argument",
            )
        if self.who != "jit":  # what is captured counts as it is now
            captured = [np.array(value) for value in captured]
        stored = leaves[0].params[0][1].stored if leaves else set()
        return TracedBody(body, captured, output, leaves, labels, stored)

    def _question(self, message: str) -> TypeError | None:
        """The refusal of a question that Python asked of a value, at the line that asked it."""
        # The room of expressions tells of it, in words alone.
        found = _QUESTION.match(message)
        if found is None:
            return None
        asker, subject = found.groups()
        _, line, where = message.partition("\n")
        plain = ", or leave out backend" if self.who == "jit" else ""
        return TypeError(
            f"{self.who}: expected a function that asks for no values, since {self.backend}'s program serves "
            f"all of them, and has no guards as NumPy's has, but {asker} was asked of "
            f"{subject}; write np.where(condition, a, b) or fg.cond(condition, f, g, x) in the place of "
            f"if, fg.while_loop in that of while, NumPy's functions in that of math's{plain}{line}{where}"
        )

    def _compiled(self, traced: TracedBody) -> LibraryProgram:
        body = traced.body
        run = (
            partitioned(with_own_derivatives(body))
            if self.backend == "jax"
            else compile_body(body, self.backend)
        )
        rebuild = flatten(traced.output).rebuild
        return LibraryProgram(run, traced.captured, rebuild, traced.labels, traced.stored)

    # -- looking ----------------------------------------------------------------------------------
    def lower(self, *args: Array, **kwargs: object) -> Lowered:
        """The stages of the program for these arguments."""
        if self.has_static():
            inner, moving, named = self.specialize(args, kwargs)
            return inner.lower(*moving, **named)
        leaves = leaves_of((args, kwargs))
        if Expr in map(type, leaves):
            raise type_error("lower: expected arrays and numbers, but got an expression among them")
        traced = self._traced(self._kinds(leaves), args, kwargs)
        body = traced.body
        names = [*traced.labels, *[f"array {k}" for k in range(len(traced.captured))]]
        inputs = [symbol(name, x.type) for name, x in zip(names, body.inputs, strict=True)]
        outputs = leaves_of(closed_tree(traced.output, traced.leaves))
        shown = {
            x.key: symbol(name.removesuffix("'"), x.type) for name, x in variables(*outputs).items()
        }
        return Lowered(
            substitute_all(outputs, shown),
            body.inline(inputs),
            source_of(self._compiled(traced).run),
        )

    def latest_source(self) -> str:
        """The source of the program that was compiled last."""
        return "" if self.latest is None else source_of(self.latest.run)


_QUESTION = re.compile(
    r"(.+?): expected a number, but (.+) has none, since it stands for any value"
)
