"""Concretization under `vmap`: the examples answer Python's questions; equal answers share a run.

`vmap` runs a function on one example, whichever. Where Python asks for its value, and the values of the batch
are known, the run goes on for the examples that give one answer, and the others have runs of their own. So a
function of one number may branch on it, loop until it is small, or select by a mask, and only those paths run
that an example takes.

Invariant: every answer of a run is that of each of its examples, so its result is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from funcgrad.autodiff.batching import Groups, batched_outside
from funcgrad.expr import Expr
from funcgrad.expr.branch_path import PATH, path_set
from funcgrad.expr.concrete import concrete, has_known_value
from funcgrad.expr.scope_order import next_in_order
from funcgrad.ops.base.op import example, lift_fully
from funcgrad.ops.shape import concatenate
from funcgrad.source import type_error
from funcgrad.trace.branches import (
    MOST_PATHS,
    MismatchError,
    Raised,
    all_paths,
    joined_results,
    outcome,
)
from funcgrad.typing import Array

_Reading = Callable[[Any], Any]


class Examples:
    """The batch that a function is mapped over: its examples are along the first axis of ``leaves``."""

    def __init__(self, size: int, leaves: Sequence[Expr]) -> None:
        self.size = size
        self.ones = [example(leaf) for leaf in leaves]
        self.start = next_in_order()
        self.outer = PATH.get()
        self.batches = {one.key: leaf for one, leaf in zip(self.ones, leaves, strict=True)}
        self.known = {key: (batch, True) for key, batch in self.batches.items()}

    def all_of(self, root: Expr) -> tuple[Expr, bool]:
        """An expression for all examples, and whether it has an axis for them."""
        return batched_outside(root, self.size, self.start, self.known)

    def of_groups(
        self, rows: Sequence[Sequence[Expr]], groups: Sequence[Array]
    ) -> list[list[Expr]]:
        """Each expression of each row for the examples of its group, in order."""
        return Groups(groups, self.start).batched(rows, self.batches)


class _Postponed(BaseException):
    """The answer to a question belongs to a program that runs on other values, too.

    It passes through the function that asked, which cannot catch it, as it might an Exception.
    """

    def __init__(self, may_answer: bool) -> None:
        self.may_answer = may_answer


def over_examples(run: Callable[[], Any], examples: Examples) -> Any:
    """The result of a function of one example, which may ask for its values.

    A program that runs on other values, too, as under jit, has all paths. Where they cannot be joined, its
    questions are guards.
    """
    try:
        return _shared_runs(run, examples, postpone=True)
    except _Postponed as postponed:
        may_answer = postponed.may_answer
    try:
        return all_paths(run)
    except TypeError as refusal:
        if not may_answer:
            raise
        first = refusal
    try:
        return _shared_runs(run, examples, postpone=False)
    except TypeError as error:
        raise error from first


def _shared_runs(run: Callable[[], Any], examples: Examples, postpone: bool) -> Any:
    waiting = np.ones(examples.size, bool)
    found: list[tuple[Array, Any]] = []
    while waiting.any() or not found:
        if len(found) == MOST_PATHS:
            raise type_error(
                f"vmap: expected the examples to take at most {MOST_PATHS} paths through f, but they take "
                "more; choose with np.where(condition, a, b), loop with fg.while_loop, or map over fewer "
                "examples",
            )
        path = _SharedRun(examples, waiting, postpone)
        try:
            result = outcome(run, path)
        except Exception:
            if path.postponed is None:
                raise
        # A bare ``except:`` may have caught it. (An interrupt of the user's goes on its way.)
        if path.postponed is not None:
            raise path.postponed
        found.append((path.members, result))
        waiting = waiting & ~path.members
    groups = [np.flatnonzero(members) for members, _ in found]
    results = [result for _, result in found]
    try:
        result = (
            results[0]
            if len(found) == 1
            else joined_results(results, partial(_in_order, examples, groups))
        )
    except MismatchError as mismatch:
        raise type_error(f"vmap: {mismatch}") from None
    if isinstance(result, Raised):
        raise result.error
    return result


# -- results of groups -------------------------------------------------------------------------------
def _in_order(
    examples: Examples, groups: Sequence[Array], rows: Sequence[Sequence[Array]]
) -> list[Expr]:
    """One leaf of each row, which has that leaf of each group's result: on each example, its group's."""
    roots = [[lift_fully(item) for item in row] for row in rows]
    found = examples.of_groups(roots, groups)
    order = np.argsort(np.concatenate(groups))
    in_order = slice(None) if np.array_equal(order, np.arange(len(order))) else order
    dtypes = [np.result_type(*[getattr(item, "dtype", item) for item in row]) for row in rows]
    return [
        example(concatenate([part.astype(dtype) for part in parts])[in_order])
        for parts, dtype in zip(found, dtypes, strict=True)
    ]


@dataclass
class _SharedRun:
    """One run, and its examples: fewer after each question to which they give several answers."""

    examples: Examples
    members: Array
    postpone: bool
    """Whether a question is postponed unless its answer is known and belongs to this call alone."""
    before: list[tuple[int, Array]] = field(default_factory=list)
    """The order of each question with several answers, and the examples before it."""
    postponed: _Postponed | None = None
    reads = True

    @property
    def is_one_of_several(self) -> bool:
        return self.postponed is not None or not self.members.all()

    def answer(self, condition: Expr) -> bool:
        return bool(self.read(condition, "bool()", bool))

    def read(self, root: Expr, asker: str, reading: _Reading) -> Any:
        expr, has_axis, places = self._batch(root)
        is_known = has_known_value(expr) and bool(self.members.any())
        if self.postpone and not (is_known and not _is_recorded(expr)):
            outer = self.examples.outer
            self.postponed = _Postponed(is_known or (outer is not None and outer.reads))
            raise self.postponed
        with path_set(self.examples.outer):
            if not has_axis:
                return concrete(expr, asker, reading)
            found = concrete(expr, asker, _first_answer(reading, _packed(self.members[places])))
        members = np.zeros_like(self.members)
        members[places] = _unpacked(found.members, places.size)
        if (members != self.members).any():
            self.before.append((next_in_order(), self.members))
            self.members = members
        return found.answer

    def _batch(self, root: Expr) -> tuple[Expr, bool, Array]:
        """The expression for all examples; or for the members alone, if it fails on others.

        With it, whether it has an axis for these examples, and their places in the batch.
        """
        expr, has_axis = self.examples.all_of(root)
        try:
            has_known_value(expr)  # which computes the value
            return expr, has_axis, np.arange(self.examples.size)
        except (ArithmeticError, IndexError, ValueError):
            # An index, say, is out of range in an example that takes another path.
            if self.members.all():
                raise
        places, others = np.flatnonzero(self.members), np.flatnonzero(~self.members)
        [[of_members, _]] = self.examples.of_groups([[root, lift_fully(0)]], [places, others])
        return of_members, True, places

    def forget_since(self, start: int) -> None:
        for order, members in reversed(self.before):
            if order > start:
                self.members = members
        self.before = [item for item in self.before if item[0] < start]


def _is_recorded(expr: Expr) -> bool:
    return expr.traced is not None and expr.traced.records


# -- answers -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Answer:
    """The answer with which a run goes on, and the examples that give it."""

    key: Any
    members: bytes
    answer: Any = field(compare=False)


@lru_cache(maxsize=64)
def _first_answer(reading: _Reading, packed: bytes) -> Callable[[Any], _Answer]:
    """How an answer is read off the values of all examples: one function for each, as in `concrete`.

    True goes before False, so that the same paths make the same program, whichever example is first.
    """

    def read(values: Any) -> _Answer:
        members = _unpacked(packed, len(values))
        if values.dtype == bool and values.size == len(values):
            true = members & values.reshape(-1)
            agree = true if true.any() else members
            answer = reading(values[np.argmax(agree)])
        else:
            places = np.flatnonzero(members)
            answers = [reading(values[i]) for i in places]
            answer = answers[0]
            key = _key(answer)
            agree = np.zeros_like(members)
            agree[places[[_key(other) == key for other in answers]]] = True
        return _Answer(_key(answer), _packed(agree), answer)

    read.__name__ = reading.__name__
    return read


def _key(answer: Any) -> Any:
    """An answer as a key: exact, and equal to itself also if it is NaN."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.dtype.str, answer.tobytes()
    return type(answer), repr(answer) if isinstance(answer, float | complex) else answer


def _packed(members: Array) -> bytes:
    return np.packbits(members).tobytes()


def _unpacked(packed: bytes, size: int) -> Array:
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=size).astype(bool)
