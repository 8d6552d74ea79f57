"""Functions that run as programs of another library: traced once a signature, kept, and shown.

`to_jax` and `to_torch` of a function take what it captures as it was when it was traced. `jit` with a
backend watches it, as it does without: what is bound anew, or changes in place, is traced anew.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.libraries import library_of, source_of
from funcgrad.control.closed_program import Body, symbol
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.source import fail
from funcgrad.trace.derive import expressions
from funcgrad.trace.pytree import Tree, flatten, leaves_of
from funcgrad.trace.trace_body import symbols, trace_body
from funcgrad.transforms.arguments import named_after
from funcgrad.transforms.interop.jax_tangents import compiled, with_own_derivatives
from funcgrad.transforms.interop.library_calls import Call, Kinds, Reader
from funcgrad.transforms.jit.capture_sources import Seen
from funcgrad.transforms.jit.captures import Watch
from funcgrad.transforms.jit.signature import Static, kind_text
from funcgrad.transforms.jit.stage_text import Latest, Lowered

# Programs kept by one function: as many signatures.
_KEPT = 64


class Traced(NamedTuple):
    """A run of f on stand-ins: what came out, as it was and as a body, and the arrays it captured."""

    body: Body
    captured: list[Any]
    output: Any
    leaves: list[Expr]
    labels: list[str]


class Program(NamedTuple):
    """A body that runs in the library."""

    run: Callable[..., tuple[Any, ...]]
    captured: list[Any]
    rebuild: Callable[[Sequence[Any]], Any]


class Elsewhere:
    """What such a function remembers. ``watch`` looks at what f depends on beside its arguments."""

    def __init__(
        self,
        f: Callable[..., Any],
        who: str,
        backend: str,
        kinds: Kinds,
        static: Static = Static((), ()),  # noqa: B008  # it is immutable
        watch: Watch | None = None,
    ) -> None:
        self.f, self.who, self.backend, self.watch = f, who, backend, watch
        self.read = Reader(f, who, kinds, static)
        self.name = getattr(f, "__name__", "f")
        self.lock = Lock()
        self.library = library_of(backend)  # a missing one is told of here, not in the first call
        self.clear()

    def clear(self) -> None:
        """Forget every program."""
        with self.lock:
            self.programs: OrderedDict[Any, Program] = OrderedDict()
            self.misses: deque[str] = deque(maxlen=1000)
            self.newest: Program | None = None
            self.watched = [] if self.watch is None else self.watch.values()

    def explain_misses(self) -> str:
        """Why f was traced, one line for each time."""
        return "\n".join(self.misses)

    def source(self) -> str:
        """The source of the program that was compiled last."""
        return "" if self.newest is None else source_of(self.newest.run)

    def function(self) -> Callable[..., Any]:
        """The function that a caller holds."""

        @named_after(self.f)
        def elsewhere(*args: Any, **kwargs: Any) -> Any:
            return self.run(args, kwargs)

        return named_after(self.f)(self.library.whole(elsewhere))

    def shown(self) -> Callable[..., Any]:
        """The function, with what `jit` promises of one: its stages, its source, why it was traced."""
        jitted: Any = self.function()
        jitted.lower = self.lower
        jitted.explain_misses = self.explain_misses
        jitted.clear = self.clear
        jitted.program = Latest(self.source)
        return jitted  # type: ignore[no-any-return]

    # -- calls ------------------------------------------------------------------------------------
    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """f's result, by the program for such arguments."""
        call = self.read(args, kwargs)
        if call is None:
            return self.f(*args, **kwargs)  # inside another trace it is part of it
        if self.watch is not None and not self.watch.unchanged(self.watched):
            self._rebound(self.watch)
        with self.lock:
            found = self.programs.get(call.signature)
            if found is not None:
                self.programs.move_to_end(call.signature)
        if found is None:
            found = self._learned(call)
        return found.rebuild(found.run(*call.given, *found.captured))

    def _rebound(self, watch: Watch) -> None:
        with self.lock:
            now = watch.values()
            changes = watch.changed(self.watched, now)
            if changes and self.programs:
                self.misses.append(f"{self.name}: {', '.join(changes)}")
                self.programs = OrderedDict()
            self.watched = now

    def _same_world(self, before: Sequence[Seen] | None) -> bool:
        """Whether what is watched is now as it was before, and as it was for the other programs."""
        if self.watch is None or before is None:
            return True
        return self.watch.unchanged(before) and not self.watch.changed(self.watched, before)

    # -- tracing ----------------------------------------------------------------------------------
    def _learned(self, call: Call) -> Program:
        """The program of a call's signature, which is kept, if nothing has changed while f ran."""
        before = None if self.watch is None else self.watch.values()
        found = self._compiled(self._traced(call))
        types = ", ".join([_text(kind) for kind in call.signature[2:]])
        with self.lock:
            self.misses.append(f"{self.name}({types}): the first call with these types")
            self.newest = found
            if not self._same_world(before):
                return found
            self.programs[call.signature] = found
            if len(self.programs) > _KEPT:
                self.programs.popitem(last=False)
        return found

    def _traced(self, call: Call) -> Traced:
        """f on stand-ins for the leaves that have types."""
        given = [i for i, t in enumerate(call.types) if t is not None]
        paths = [path for tree in call.trees for path in tree.paths]
        leaves: list[Expr] = []

        def on(traced: Sequence[Any]) -> Any:
            leaves.extend(traced)
            values = list(call.leaves)
            for i, value in zip(given, traced, strict=True):
                values[i] = value
            rest = iter(values)
            built = [tree.rebuild([next(rest) for _ in tree.leaves]) for tree in call.trees]
            count = len(built) - len(call.keywords)
            return self.f(*built[:count], **dict(zip(call.keywords, built[count:], strict=True)))

        labels = [paths[i] or "x" for i in given]
        tree = Tree([None] * len(given), list, labels)
        stand_ins = symbols([tree], [t for t in call.types if t is not None])
        try:
            body, captured, output = trace_body(on, [tree], stand_ins)
        except TypeError as error:
            question = self._question(str(error))
            if question is None:
                raise
            raise question from None
        if any([isinstance(value, Expr) for value in captured]):
            raise fail(
                TypeError,
                f"{self.who}: expected a function of its arguments, but it depends on a value of a trace "
                "around it; hand that in as an argument",
            )
        if self.watch is None:  # what is captured counts as it is now
            captured = [np.array(value) for value in captured]
        return Traced(body, captured, output, leaves, labels)

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
            f"all of them, and has no guards as NumPy's has, but {asker} was asked of what depends on "
            f"{subject}; write np.where(condition, a, b) or fg.cond(condition, f, g, x) in the place of "
            f"if, fg.while_loop in that of while, NumPy's functions in that of math's{plain}{line}{where}"
        )

    def _compiled(self, traced: Traced) -> Program:
        body = traced.body
        run = with_own_derivatives(body) if self.backend == "jax" else compiled(body, self.backend)
        return Program(run, traced.captured, flatten(traced.output).rebuild)

    # -- looking ----------------------------------------------------------------------------------
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The stages of the program for these arguments."""
        call = self.read(args, kwargs)
        if call is None:
            raise fail(
                TypeError, "lower: expected arrays and numbers, but got an expression among them"
            )
        traced = self._traced(call)
        body, count = traced.body, len(traced.labels)
        labels = (
            traced.labels if len(set(traced.labels)) == count else [f"x{i}" for i in range(count)]
        )
        names = [*labels, *[f"array {k}" for k in range(len(traced.captured))]]
        inputs = [symbol(name, x.type) for name, x in zip(names, body.inputs, strict=True)]
        return Lowered(
            leaves_of(expressions(traced.output, traced.leaves)),
            body.on(inputs),
            source_of(self._compiled(traced).run),
        )


_QUESTION = re.compile(
    r"(.+?): expected a number, but (.+) has none, since it stands for any value"
)


def _text(kind: Any) -> str:
    return str(kind) if isinstance(kind, ArrayType) else kind_text(kind)
