"""Expressions: pointed graphs that are written like numbers and arrays.

An `Expr` holds an operation and the expressions that it is applied to (`funcgrad.graph.Term`) and its
metadata (`node`); operators, ``numpy`` functions and ufuncs applied to it build further expressions
(`operators`), by the table of operations (`registry`); if it is traced, Python's questions are answered by
its value (`concrete`). Nothing about it changes as seen from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import copysign
from numbers import Number
from operator import index, is_
from sys import _getframe
from types import CodeType
from typing import Any, Never, TypeAlias

import numpy as np
import numpy.typing as npt

from funcgrad.expr.concrete import (
    Questions,
    concrete,
    concrete_value,
    kept_for_users,
    number,
    refuse_varied,
)
from funcgrad.expr.names import check_name, split_names
from funcgrad.expr.node import (
    ExprBase,
    TraceContext,
    context_of_both,
    derived_names,
    is_simple,
    mark_derived,
    mark_simple,
    set_birth,
    set_simple,
)
from funcgrad.expr.operator_dispatch import (
    has_own_operators,
    is_array_beside,
    leaves_to_number,
    overrides_ufuncs,
)
from funcgrad.expr.operators import Operators
from funcgrad.expr.other_libraries import ArrayAttributes, OtherLibraries
from funcgrad.expr.registry import OperationTable, assemble, functions, operation_table
from funcgrad.expr.reported_class import class_of_value, reported_class_to
from funcgrad.expr.scope_order import last_trace
from funcgrad.fold import folded
from funcgrad.graph import (
    CONSTANT,
    INPUT,
    ArrayType,
    Constant,
    Key,
    Operation,
    Params,
    by_key,
    subexpressions,
)
from funcgrad.source import BUT_DERIVED, caller, fail, type_error, value_error

__all__ = [
    "Expr",
    "OperationTable",
    "TraceContext",
    "as_derived",
    "assemble",
    "assemble_node",
    "by_key",
    "concrete",
    "const",
    "constant_of",
    "derived_names",
    "is_derived",
    "is_simple",
    "labeled",
    "make",
    "mark_simple",
    "no_expression",
    "operation_table",
    "rebuild",
    "same",
    "scalar",
    "set_simple",
    "subexpressions",
    "symbol",
    "var",
    "vars",
]


class UnhashableError(TypeError):
    """A traced value that is being differentiated has no hash.

    Python 3.14 puts another error in the place of a `TypeError` of a key, but not of one of a subclass.
    """


def _hash_of(value: npt.NDArray[Any] | float) -> int:
    return hash(value.item() if isinstance(value, np.ndarray) else value)


class Expr(Operators, Questions, ArrayAttributes, OtherLibraries, ExprBase):
    """An expression: a pointed graph, written like a NumPy array.

    Attributes: ``op``, ``args`` (the expressions it is applied to),
    ``params``, ``type``; ``shape``, ``dtype``, ``ndim``, ``size`` as on an
    array; ``key``, its content address; ``graph``, the persistent map from key
    to node; as on a node, ``parents``, the keys of ``args``, ``name``, of a
    variable or of the operation, and ``value``, the array of a constant. A
    formula hashes by its key, and a map of keys can be indexed with it; a
    traced value hashes by its number, and has no hash if it is differentiated.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> (x * x + 1) * x
    (x*x + 1)*x
    >>> ((x * x + 1) * x)(x=2.0)
    10.0
    """

    __slots__ = ()

    args: tuple[Expr, ...]

    def __init__(self, *args: object, **values: object) -> None:
        raise type_error(
            "Expr: expected an operation to make an expression, but the class was called; write "
            "fg.var('x'), fg.const(2.0), or a formula of them",
        )

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Of a traced value, and for code that does not know expressions, the class of its value."""
        if self.traced is None:
            return Expr
        return reported_class_to(self, class_of_value, _getframe().f_back)

    def __setattr__(self, name: str, value: object) -> Never:
        advice = "write x = x.reshape(shape)" if name == "shape" else "make a new one instead"
        refusal = fail(
            AttributeError, f"an expression is immutable, but {name!r} was assigned to; {advice}"
        )
        raise kept_for_users(self, refusal) if self.type.shape else refusal

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"an expression is immutable, but {name!r} was deleted")

    def __hash__(self) -> int:
        # A dict compares entries of equal hash by ==. The hash of a formula is its key's; a traced value is
        # compared by its value at this call, which its key does not determine. So numbers that are equal and
        # have other derivatives would be one key: they are refused. Truth values are those of groups.
        if not self.traced:
            return hash(self.key)
        if self.dtype.kind == "b" and not self.shape:
            return hash(concrete_value(self, "hash()"))
        if self.dtype.kind in "iuf" and not self.shape and not functions["is_varied"](self):
            return int(number(self, "hash()", _hash_of))
        raise fail(
            UnhashableError,
            "hash: expected a number to look up in a set, a dict or a cache, but got a traced value, which "
            "has none; compare it with ==, leave out the set, as in sorted(points), write functools.cache "
            "for a dict of results, or look up int(x) or float(str(x)), whose derivative is zero",
        )

    def __eq__(self, other: object) -> Any:
        # A map compares its keys with the one that is looked up: this lets it be an Expr.
        return self.key == other if isinstance(other, Key) else _equality("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self.key != other if isinstance(other, Key) else _equality("not_equal", self, other)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __dir__(self) -> list[str]:
        """The names for users: without what displays and transforms write beside a node."""
        own = {"traced", "source", *OtherLibraries.__dict__, *ArrayAttributes.__dict__}
        return [
            name
            for name in super().__dir__()
            if (name not in own and name[:1] != "_") or name[:2] == "__"
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        refuse_varied(self, "pickle")
        if self.traced and self.traced.open:
            raise type_error(
                "pickle: expected a value that outlives its trace, but got a traced one; return it from the "
                "function, and pickle the result",
            )
        # Flat rows in topological order: pickling must not recurse over the graph.
        rows: list[Any] = []

        def place(expr: Expr, parents: tuple[int, ...]) -> int:
            derived = derived_names(expr)
            rows.append((_op_name(expr.op), parents, expr.params, expr.type, expr.label, derived))
            return len(rows) - 1

        folded([self], place)
        return _from_rows, (rows,)

    # -- as a program -----------------------------------------------------------------------------
    def __call__(self, values: object = None, /, *more: object, **named: object) -> Any:
        """The value, given one for each variable by name, or in a dict."""
        return functions["evaluate"](self, (values, *more) if more else values, **named)

    def __repr__(self) -> str:
        text: str = functions["text"](self)
        # No Python code reads that of a value at a call, whose names are others where a text is evaluated.
        return f"‹{text}›" if self.traced and self.traced.open else text

    def _repr_latex_(self) -> str:
        latex: str = functions["latex"](self)
        return latex


def _equality(name: str, x: Expr, other: object) -> Any:
    """Whether a value is equal to another one, or, by another ``name``, not."""
    # A class is equal to no number; `inspect`, by which Tab completes names, compares values with it.
    if other is None or isinstance(other, str | bytes | type) or _cannot_be_equal(x, other):
        return name != "equal"
    if _is_no_operand(x, other) or leaves_to_number(x, other, name):
        return NotImplemented
    return _compared(name, x, other)


def _cannot_be_equal(x: Expr, other: object) -> bool:
    """Whether these are variables whose shapes do not broadcast: `in` compares them with each other."""
    if x.op is not INPUT or not isinstance(other, Expr) or other.op is not INPUT:
        return False
    return any(
        m != n and 1 not in (m, n) for m, n in zip(x.shape[::-1], other.shape[::-1], strict=False)
    )


def _is_no_operand(x: Expr, other: object) -> bool:
    """Whether Python compares a number with a value by the value's own method, or by identity."""
    if x.shape or isinstance(other, _OPERANDS):
        return False
    kind = type(other)
    return not (hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array__"))


_OPERANDS = (Number, np.ndarray, list, tuple)


def _compared(name: str, x: Expr, other: object) -> Any:
    """Where entries are equal, or not; a value with ufuncs of its own, such as a quantity, is asked."""
    try:
        return functions[name](x, other)
    except TypeError:
        if overrides_ufuncs(other):
            return getattr(np, name)(x, other) if x.shape else NotImplemented
        if is_array_beside(x, other, name):
            return functions[name](x, functions["array_beside"](other))
        if not has_own_operators(other, x, name):
            raise
        return NotImplemented


_set_class: Any = vars(object)["__class__"].__set__


# -- making expressions --------------------------------------------------------------------------
def _closed(
    op: object,
    args: tuple[Expr, ...],
    params: Params,
    type: ArrayType,
    traced: TraceContext | None,
    label: str | None,
    source: tuple[CodeType, int] | None,
) -> Expr:
    # Filled at the speed of plain slots, then closed: the class becomes Expr, which refuses every
    # assignment. (170 ns, against 680 ns with object.__setattr__ for each field.)
    cell: Any = ExprBase()
    cell.op = op
    cell.args = args
    cell.params = params
    cell.type = type
    cell.traced = traced
    cell.label = label
    cell.source = source
    cell.birth = last_trace[0]
    # Asked for at every walk: a slot that is empty would take 200 ns to say so.
    cell._key = None
    cell._simple = False
    _set_class(cell, Expr)
    return cell  # type: ignore[no-any-return]


def make(
    op: Operation, args: tuple[Expr, ...], params: Params, type: ArrayType, label: str | None = None
) -> Expr:
    """The expression of an operation on expressions; its type is the caller's to infer."""
    traced: TraceContext | None = None
    for arg in args:
        found = arg.traced
        if found and found is not traced:
            traced = found if traced is None else context_of_both(traced, found)
    # Skip three frames: this one, the operation's ``__call__`` and the operator.
    return _closed(op, args, params, type, traced, label, caller(3, BUT_DERIVED))


def append_rows(
    exprs: list[Expr], rows: Iterable[tuple[Any, ...]], traced: TraceContext | None
) -> None:
    """Append expressions to those that they are made of.

    A row is ``(op, params, type, places of operands, has a line, is traced)``.
    """
    source = caller(3, BUT_DERIVED)
    for op, params, type, places, has_line, is_traced in rows:
        args = tuple([exprs[k] for k in places])
        line, trace = source if has_line else None, traced if is_traced else None
        exprs.append(_closed(op, args, params, type, trace, None, line))


def var(name: str, shape: int | tuple[int, ...] = (), dtype: npt.DTypeLike = float) -> Expr:
    """A variable: an input that is addressed by its name, shape and dtype.

    ``shape`` is a tuple of lengths, or one length; ``dtype`` defaults to
    float64.

    Raises TypeError for a name that is no string, that is several names
    (`vars`) or that Python cannot use as a name (``"x^2"``, ``"lambda"``),
    lengths that are no integers, and a dtype that is not of numbers;
    ValueError for negative lengths.

    >>> x = var("x")
    >>> w = var("w", (3, 2), "float32")
    >>> x, w.type
    (x, ArrayType(shape=(3, 2), dtype=dtype('float32')))
    """
    check_name("var", name)
    try:
        lengths = tuple([index(n) for n in (shape if np.iterable(shape) else (shape,))])
    except TypeError:
        raise type_error(
            f"var: expected a length or a tuple of lengths, but got {shape!r}; write var({name!r}, 3)",
        ) from None
    if any(n < 0 for n in lengths):
        raise value_error(f"var: expected lengths of 0 or more, but got shape {lengths}")
    try:
        type = ArrayType(lengths, np.dtype(dtype))
    except TypeError:
        raise type_error(
            f"var: expected a dtype of numbers, but got {dtype!r}; write 'float64'"
        ) from None
    if type.dtype.kind not in "biufc":
        raise type_error(f"var: expected a dtype of numbers, but got {type.dtype}")
    return _closed(INPUT, (), (("name", name),), type, None, None, caller())


def symbol(name: str, type: ArrayType) -> Expr:
    """An input of any name: a stand-in, or an input of a body.

    The length -1 of an axis is the unknown trip count of a loop.
    """
    return _closed(INPUT, (), (("name", name),), type, None, None, None)


def vars(
    names: str, shape: int | tuple[int, ...] = (), dtype: npt.DTypeLike = float
) -> tuple[Expr, ...]:
    """A variable for each of several names, separated by spaces or commas, all of
    one shape and dtype.

    Raises as `var`, and TypeError for a text without a name.

    >>> x, y = vars("x y")
    >>> x * y
    x*y
    >>> [v.type.shape for v in vars("u, v", 3)]
    [(3,), (3,)]
    """
    given: object = shape
    more = f", {given!r}" if isinstance(given, str) else ""
    if not isinstance(names, str) or not split_names(names) or more:
        raise type_error(
            f"vars: expected names separated by spaces, but got {names!r}{more}; write vars('x y')",
        )
    for name in split_names(names):
        check_name("vars", name)
    return tuple([var(name, shape, dtype) for name in split_names(names)])


def as_expression(who: str, value: object) -> Expr:
    """An expression, as it is or as an array of `funcgrad.numpy` holds it.

    Raises TypeError for what is no expression.
    """
    if "plain_value" in functions:
        value = functions["plain_value"](value)
    if not isinstance(value, Expr):
        raise no_expression(who, value)
    return value


def no_expression(who: str, value: object) -> Any:
    """The error for what is no expression, with what makes one of it."""
    hint = f"write {who}(trace(f, 2.0))" if callable(value) else "make one of var('x')"
    if isinstance(value, str):
        hint = "write x = fg.var('x'), and the formula without quotes"
    elif isinstance(value, list | tuple):
        hint = f"write [{who}(e) for e in es]"
    elif isinstance(value, dict):
        hint = f"write {{name: {who}(e) for name, e in es.items()}}"
    return type_error(f"{who}: expected an expression, but got {type(value).__name__}; {hint}")


def same(a: object, b: object) -> bool:
    """Whether two expressions are the same program: equal operations on equal
    operands, down to the inputs.

    Numbers and arrays stand for constants. Programs that compute the same in
    another way differ: compare what `simplify` makes of them. (``a == b`` is
    NumPy's comparison, an expression of bools.)

    Raises TypeError for what is no expression and no number.

    >>> x, y = vars("x y")
    >>> same(x * y, x * y), same(x * y, y * x)
    (True, False)
    """
    first, second = const(a), const(b)
    return first is second or first.key == second.key


def const(value: object) -> Expr:
    """A constant: a frozen copy of a number or an array, addressed by its
    content.

    Raises TypeError for values that are no numbers.

    >>> const(2.0) + var("x")
    2 + x
    >>> const([1.0, 2.0]).key == const([1.0, 2.0]).key
    True
    """
    if type(value) not in _PLAIN and "plain_value" in functions:
        value = functions["plain_value"](value)  # of an array that can be written
        if hasattr(value, "shape") and not isinstance(value, Expr | np.ndarray | np.generic):
            functions["refuse_others"]("const", value)
    if isinstance(value, Expr):
        return value
    array = np.array(value)
    if array.dtype.kind not in "biufc":
        functions["refuse_others"]("const", value)
        kind = "an int of more than 64 bits" if isinstance(value, int) else type(value).__name__
        got = f"dtype {array.dtype}" if array.shape else kind
        raise type_error(f"const: expected numbers, but got {got}; write np.array(values, float)")
    array.flags.writeable = False
    return constant_of(Constant(array))


_PLAIN = frozenset((float, int, complex, bool, np.ndarray))


def scalar(value: object, dtype: np.dtype[Any]) -> Expr:
    """A constant scalar of a dtype, from a Python or NumPy number."""
    if value and dtype.kind != "c":
        return _kept_scalar(value, dtype)
    # 0.0 and -0.0 are equal, as are 1+0j and 1-0j, and would share what the memo keeps.
    if type(value) is float:
        return _kept_scalar(value, dtype, copysign(1.0, value))
    return _scalar(value, dtype)


def _scalar(value: object, dtype: np.dtype[Any], sign: float = 1.0) -> Expr:
    array = np.array(value, dtype)
    array.flags.writeable = False
    return constant_of(Constant(array))


# An expression never changes, so that the same one can stand in many places.
_kept_scalar = lru_cache(maxsize=4096, typed=True)(_scalar)


def assemble_node(
    op: Operation,
    args: tuple[Expr, ...],
    params: Params,
    type: ArrayType,
    *,
    traced: TraceContext | None = None,
    label: str | None = None,
) -> Expr:
    """An expression from its parts, without the user's line."""
    return _closed(op, args, params, type, traced, label, None)


def labeled(expr: Expr, label: str | None) -> Expr:
    """The same node with a name for display, made when it was made. A variable keeps its own."""
    if expr.op is INPUT:
        return expr
    node = _closed(expr.op, expr.args, expr.params, expr.type, expr.traced, label, expr.source)
    set_birth(node, expr.birth)
    return node


def as_derived(expr: Expr, names: tuple[str, ...] = ()) -> Expr:
    """The same node as a derived formula, which is printed as formulas are read.

    ``names`` are those in the program that it was derived of: its variables, in order, and its labels.
    """
    if not expr.args:
        return expr
    node = _closed(expr.op, expr.args, expr.params, expr.type, expr.traced, expr.label, expr.source)
    mark_derived(node, names)
    return node


def is_derived(expr: Expr) -> bool:
    """Whether an expression is a formula that funcgrad derived, not one that a user wrote."""
    return derived_names(expr) is not None


def rebuild(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """``expr`` on other operands of the same types: itself where they are the same objects."""
    own = expr.args
    if len(args) == 2 == len(own):  # (in a third of the time of the line below)
        if args[0] is own[0] and args[1] is own[1]:
            return expr
    elif args is own or (len(args) == len(own) and all(map(is_, args, own))):
        return expr
    traced: TraceContext | None = None
    for arg in args:
        found = arg.traced
        if found and found is not traced:
            traced = found if traced is None else context_of_both(traced, found)
    return _closed(expr.op, args, expr.params, expr.type, traced, expr.label, expr.source)


def constant_of(constant: Constant) -> Expr:
    """The expression of a constant that is frozen already, or held while a trace runs."""
    type = ArrayType(constant.array.shape, constant.array.dtype)
    return _closed(CONSTANT, (), (("value", constant),), type, None, None, None)


def present(value: Any) -> Any:
    """A result as a Python float, int, bool or complex if that is exact; else as a NumPy scalar or array.

    >>> present(np.float64(3.0)), present(np.float32(3.0))
    (3.0, np.float32(3.0))
    """
    if np.ndim(value) == 0:
        value = np.asarray(value)[()]
        return value.item() if value.dtype.char in "dl?D" else value
    return np.array(value)


def result(value: object) -> Any:
    """A result for the caller of a transform: a number, an array, or an expression of an outer trace."""
    # The common types first: `present` takes 2 us.
    if type(value) is np.float64:
        return float(value)
    if type(value) is float or isinstance(value, Expr):
        return value
    return value if isinstance(value, np.ndarray) and value.ndim else present(value)


_Row: TypeAlias = tuple[str, tuple[int, ...], Params, ArrayType, str | None, tuple[str, ...] | None]


def _from_rows(rows: list[_Row]) -> Expr:
    exprs: list[Any] = []
    for name, parents, params, type, label, derived in rows:
        op = (
            INPUT
            if name == "input"
            else CONSTANT
            if name == "constant"
            else operation_table.ops[name]
        )
        args = tuple([exprs[i] for i in parents])
        exprs.append(_closed(op, args, params, type, None, label, None))
        if derived is not None:
            mark_derived(exprs[-1], derived)
    last: Expr = exprs[-1]
    return last


def _op_name(op: Operation) -> str:
    if op not in (INPUT, CONSTANT) and operation_table.ops.get(op.name) is not op:
        raise type_error(f"{op.name}: expected an operation of the package, to store it by name")
    return op.name
