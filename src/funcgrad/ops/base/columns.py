"""Columns of an operation's record: the form that each reader of programs has for the operation.

A reader looks up its own column first. If the column is empty, the reader reads ``decompose`` instead:
the operation as an expression of simpler operations. If both are empty, the reader does not support the
operation, and says so. Columns are light to declare: strings that name a function or are a template, and
small callables that run only when a reader asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr


class ScalarUse(NamedTuple):
    """One use of an operation on numbers: what the choice of its template may depend on."""

    kind: str
    """The kind of the last operand's dtype."""
    params: Mapping[str, Any]
    constants: tuple[Any, ...]
    """The value of each operand that is a constant, None for the others."""
    entries: tuple[bool, ...] = ()
    """Whether each operand is an entry of an array, and not one number for all entries; empty if none is."""


ScalarRow: TypeAlias = str | Mapping[str, str] | Callable[[ScalarUse], str | None]
"""Python source over `math` and `cmath`, with operands ``{0}``, ``{1}``: for floats, by kind, or by use.

An operand that stands twice in a template gets a name first. Of a conditional expression only the branch
that is chosen runs, so an error of the other one is never raised.
"""


class Repeated(NamedTuple):
    """A closed program that an operation holds, and how many times it runs."""

    body: Any
    times: int


TORCH_FORMS = "funcgrad.ops.base.torch_forms"
"""The module of PyTorch's forms, for rows ``TORCH_FORMS:name``."""


class HeldJacobian(NamedTuple):
    """A part of a closed program that a node holds: its Jacobian has the pattern of an edge of the node."""

    roots: Sequence[Expr]
    leaves: Sequence[Expr]
    given: Sequence[tuple[Expr, int]]
    """Other inputs of the program, each with the place of the operand whose value it has."""
    transposed: bool = False


SparsityRule: TypeAlias = Literal[
    "foreign",
    "joined",
    "picked",
    "moved",
    "chosen",
    "scaled",
    "gathered",
    "scattered",
    "stored",
    "scanned",
    "multiplied",
    "summed",
]
"""Which entries of a node depend on which entries of an operand, other than one by one or all by all."""

LibraryRow: TypeAlias = str | Callable[..., Any] | Mapping[str, str | Callable[..., Any]]
"""The operation in a library: the name of its function there, or ``row(library, *operands, **params)``.

The name of a function of another module is written ``module:name``; it is imported when it is read.

A mapping has a row for each kind of the result's dtype: "f", "c", "i", "u" or "b".
"""


class Form(NamedTuple):
    """A notation of LaTeX: a form, its symbol or a text with ``@`` for the operand, how tightly it binds."""

    name: str
    text: str = ""
    binding: int = 99


LatexRow: TypeAlias = str | Form | Mapping[str, Form]
"""The head of a call, or a form, or a form by the kind of the result's dtype."""


StoredRule: TypeAlias = tuple[tuple[str, ...], Callable[..., str]]
"""The names of the params of an operation that holds programs, and ``rule(types, **params)``, which says
why a node that is read from a file is none: empty if it is one."""


class Columns(NamedTuple):
    """What readers know of an operation.

    ``decompose(*operands, **params)`` is the operation in simpler operations, of the same type.
    """

    decompose: Callable[..., Any] | None = None
    scalar: ScalarRow | None = None
    transcendental: bool = False
    """Whether the template approximates the value, so that libraries differ in the last bits."""
    entry_time: float | None = None
    """Nanoseconds of an entry in NumPy, if they are neither those of a sum nor of a function in vectors."""
    native: Mapping[str, str | Callable[[ScalarUse], str | None]] | None = None
    """Templates for machine code by kind, where it reads that of ``scalar`` differently, or not at all.

    The function ``special_name`` is that of `scipy.special` with this name.
    """
    machine: str | None = None
    """Its form in machine code, if that is no template: a name in `funcgrad.compiler.native.array_forms`.

    A name in another module beside it is written ``module:name``.
    """
    vm: bool = False
    """Whether the register VM (`funcgrad.compiler.native.vm`) has an instruction for its template."""
    mpmath: LibraryRow | None = None
    """On numbers of mpmath's; of an operation that is not elementwise, on object arrays of them."""
    interval: LibraryRow | None = None
    """On pairs (lo, hi) of arrays; the library is `funcgrad.algebras.interval.LIBRARY`."""
    sympy: LibraryRow | None = None
    latex: LatexRow | None = None
    in_words: str = ""
    """How a gradient goes through it, as a teacher says it, such as "add distributes"."""
    numpy: str | Callable[[Expr, Sequence[str]], str | None] | None = None
    """Python source over NumPy: a template with ``{0}``, ``{all}`` and params, or the text of a node."""
    libraries: Mapping[str, LibraryRow] | None = None
    """By the name of an array library: "jax", "torch", "cupy", or "any" for those without a row."""
    entrywise: bool = False
    """Whether each entry depends on the operands' entries in its place alone, as if elementwise."""
    untaken: Callable[[Expr, Expr, tuple[Expr, ...]], Expr] | None = None
    """``untaken(holds, node, operands)``: the node, made to raise no error where ``holds`` is false."""
    reduces: bool | np.ufunc = False
    """Whether it reduces over the axes in ``axis``; the ufunc if the operation is the ufunc's ``reduce``."""
    sparsity: SparsityRule | Callable[[Expr, int], Sequence[HeldJacobian]] | None = None
    """The rule for patterns; of a node that holds programs, those parts whose patterns make up an edge's."""
    takes_out: bool = False
    """Whether ``run`` takes ``out``: an array to write to, which shares no memory with an operand."""
    fresh: bool = False
    """Whether NumPy returns a new array, which shares no memory with an operand."""
    may_alias: bool = False
    """Whether an array library may return an operand itself, or a view of it."""
    inlined: bool | str | Mapping[str, str] = False
    """Whether a program that is compiled has its decomposition instead.

    A name ``module:name`` is that of a function of the node: what the program has instead, or None. A
    mapping has one for each kind of the result's dtype for which there is one.
    """
    invariant: str | None = None
    """The name ``module:name`` of a function of a node whose first operand stays the same in a loop.

    What the loop has instead, in which an operation of that operand alone can leave the loop; or None.
    """
    left_alone: tuple[str, int] | None = None
    """An operation of its decomposition, and a number of entries: with as many it is not inlined in a program
    without that operation, with which the decomposition would share nothing."""
    shown: bool = True
    """Whether formulas are read with its name; otherwise they are read with its decomposition."""
    flops: Callable[[Expr], int] | None = None
    """The flops of a node. (Elementwise operations have 1 an entry, and those that move entries none.)"""
    calls_function: bool = False
    """Whether ``run`` calls a function that a node holds."""
    bodies: Callable[[Expr], Sequence[Sequence[Repeated]]] | None = None
    """The programs that a node holds, each with the number of times that it runs; alternatives apart."""
    stored: StoredRule | None = None
    """How a node that is read from a file is validated, if it holds programs."""


EMPTY = Columns()


def any_kind(template: str) -> Mapping[str, str]:
    """The same template for real and complex numbers, integers and truth values."""
    return {"f": template, "c": template, "i": template, "b": template}


def of_floats(template: str) -> Mapping[str, str]:
    """The same template for real and complex floating-point numbers."""
    return {"f": template, "c": template}


def by_truth(truth: str, other: str | Callable[..., Any]) -> LibraryRow:
    """A row for results that are truth values, and another for numbers."""
    return {"b": truth, "f": other, "i": other, "u": other}


def function(
    name: str,
    operands: int = 1,
    *,
    transcendental: bool = True,
    of_complex: bool = False,
    **others: Any,
) -> Columns:
    """The columns of a function of numbers that has this name in `math`, and perhaps in `cmath`."""
    call = f"{name}({', '.join([f'{{{k}}}' for k in range(operands)])})"
    own = f"math.{call}"
    scalar: ScalarRow = {"f": own, "c": f"c{own}"} if of_complex else own
    return Columns(scalar=scalar, transcendental=transcendental, **others)


def in_library(row: LibraryRow | None, library: Any, kind: str) -> Callable[..., Any] | None:
    """The operation as a function of the library's values; None if there is none for results of this kind."""
    if isinstance(row, Mapping):
        row = row.get(kind)
    if row is None:
        return None
    if isinstance(row, str):
        home, _, name = row.rpartition(":")
        found: Callable[..., Any] = getattr(import_module(home) if home else library, name)
        return found
    return partial(row, library)


# -- flops ---------------------------------------------------------------------------------------
def no_flops(z: Expr) -> int:
    """Of what moves entries."""
    return 0


def each_entry(count: int) -> Callable[[Expr], int]:
    """So many flops for each entry of the first operand."""
    return lambda z: count * z.args[0].size


def reduced(z: Expr) -> int:
    """Of a reduction: one flop for each entry but the first of each result."""
    return max(z.args[0].size - z.size, 0)


def axis_length(z: Expr) -> int:
    """The length of a result along the operation's axis."""
    return z.shape[int(dict(z.params)["axis"])]


def running(z: Expr) -> int:
    """Of a running sum or product: one flop for each entry but the first along the axis."""
    length = axis_length(z)
    return z.size - z.size // length if length else 0
