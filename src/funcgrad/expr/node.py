"""The base class of expressions: an operation, operands, and metadata such as the source line.

The persistent map and the value are computed when they are first read, and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

import numpy as np

from funcgrad.gc_pause import Paused
from funcgrad.graph import Graph, Term
from funcgrad.node_names import OperandKeys


class TraceContext(Protocol):
    """The trace that expressions belong to: its copied arrays and its log of questions."""

    arrays: dict[int, tuple[np.ndarray[Any, Any], Any]]
    """The copied arrays (`funcgrad.ops.base.array_capture`), by id, each with its constant."""
    records: bool
    """Whether questions are recorded. If operands have two contexts, the result has one that records."""
    number: int
    """The contexts are numbered in order of creation."""
    differentiates: bool
    """Whether derivatives are taken in its leaves, so that a number read off them would lose one."""
    answers: bool
    """Whether floats are read off its leaves where no derivative is lost: each is a guard."""
    open: bool
    """Whether the function still runs."""
    refusal: Exception | None
    """The error by which a number was refused, if one was."""
    searches: dict[Any, Any]
    """The comparisons by the line that asks them (`funcgrad.ops.searches`)."""

    def record(self, asked: Any, reading: Callable[[Any], Any], answer: Any) -> None:
        """Called for each question of Python: the traced value, the function that reads it, the answer."""

    def forget_since(self, start: int) -> None:
        """Called if a run that started then was refused, and is repeated: its questions do not count."""

    def derived(self, program: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Called with expressions derived in an inner trace: a program's outputs on these inputs."""


def context_of_both(x: TraceContext, y: TraceContext) -> TraceContext:
    """The context of what is made of operands with two: one that records questions, if one does.

    Of two that do, it is that of the inner trace, which runs: it hands questions on to the outer one.
    """
    if not (x.records and y.records):
        return x if x.records else y
    return max(x, y, key=lambda context: (context.open, context.number))


class ExprBase(Term):
    """A term with its metadata: whether it is traced, a label, and the user's line."""

    __slots__ = (
        "_derived",
        "_graph",
        "_numpys",
        "_scope",
        "_simple",
        "_stored",
        "_value",
        "_varied",
        "birth",
        "label",
        "source",
        "traced",
    )

    args: tuple[Any, ...]
    traced: TraceContext | None
    label: str | None
    source: tuple[CodeType, int] | None
    birth: int
    """The number of the last trace that had begun when the expression was made."""
    # Absent unless the expression is a derived formula.
    _derived: tuple[str, ...]
    # Absent until it is first asked for: whether a number is one of NumPy's.
    _numpys: bool
    # Absent until it is first read.
    _graph: Graph
    _value: Any
    _varied: TraceContext | None
    _scope: int
    _stored: Any
    _simple: bool

    @property
    def graph(self) -> Graph:
        """The persistent map from key to node, closed under parents, of the program below the root."""
        try:
            return self._graph
        except AttributeError:
            from funcgrad.node_map import named_graph

            with Paused():
                graph = named_graph(self)
                _set_graph(self, graph)
            return graph

    @property
    def parents(self) -> OperandKeys:
        """The keys of the operands, which print as names."""
        return OperandKeys([arg.key for arg in self.args], self)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> str:
        """NumPy's only device."""
        return "cpu"

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes between entries along each axis, of an array in C order."""
        return np.empty(self.shape, self.dtype).strides


# An expression refuses assignment; its cached attributes are written past that, by the slots themselves.
_slots: Any = ExprBase
_set_graph = _slots._graph.__set__
_set_derived = _slots._derived.__set__
set_numpys = _slots._numpys.__set__
set_birth = _slots.birth.__set__
set_simple = _slots._simple.__set__
set_value = _slots._value.__set__
set_varied = _slots._varied.__set__
set_scope = _slots._scope.__set__
set_stored = _slots._stored.__set__


def is_simple(expr: ExprBase) -> bool:
    """Whether no law for programs that run is known to change an expression. (A formula may change.)"""
    return expr._simple


def mark_simple(expr: ExprBase) -> None:
    """Record that no law changes an expression."""
    set_simple(expr, True)


def derived_names(expr: ExprBase) -> tuple[str, ...] | None:
    """The names in the program that a formula was derived of, variables first; None if it was not derived."""
    try:
        return expr._derived
    except AttributeError:
        return None


def mark_derived(expr: ExprBase, names: tuple[str, ...]) -> None:
    """Record that an expression is a derived formula: it is printed as formulas are read."""
    _set_derived(expr, names)
