"""Expressions: pointed graphs that are written like numbers and arrays.

An `Expr` remembers the node it adds and the expressions it builds upon; its key and its persistent
map are assembled once, when something first asks, and kept. Nothing about it changes as seen from
outside. Operators, ``numpy`` functions and ufuncs applied to it build further expressions.

The operations are declared with `Expr` in hand, so their table cannot be imported here. It is handed
over once, where the package is assembled (`assemble`), and is immutable; nothing else is bound late.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from opcode import opmap
from operator import index
from types import CodeType, FrameType, MappingProxyType
from typing import Any, ClassVar, NamedTuple, Never, Protocol

import numpy as np
from pyrsistent import pmap

from funcgrad.graph import (
    CONSTANT,
    INPUT,
    ArrayType,
    Constant,
    Graph,
    Key,
    Node,
    Operation,
    Params,
    address,
    encode,
)
from funcgrad.source import FOLD, caller, fail, written


class Table(NamedTuple):
    """What expressions know of the operations: immutable, handed over once."""

    functions: Mapping[str, Callable[..., Any]]
    """Operators and methods, by their NumPy name."""
    ufuncs: Mapping[str, Callable[..., Any]]
    """Ufuncs, NumPy's and SciPy's, by their ``__name__``."""
    numpy: Mapping[Any, Callable[..., Any]]
    """What stands in for each ``numpy`` function."""
    ops: Mapping[str, Operation]
    """Every operation by its name: how stored programs find theirs."""


table = Table(*(MappingProxyType({}) for _ in range(4)))

# The table's functions as a plain dict, for the operators: a tenth of what building a sum costs.
_functions: dict[str, Callable[..., Any]] = {}


def assemble(filled: Table) -> None:
    """Hand over the table of operations, once."""
    global table, _functions
    if table.functions:
        raise RuntimeError("the table of operations has been handed over already")
    table = filled
    _functions = dict(filled.functions)


class Recorder(Protocol):
    """Told of every question that Python asks a traced value: the value, how it was read, the answer."""

    def record(self, asked: Expr, reading: Callable[[Any], Any], answer: Any) -> None: ...


class _Cell:
    # Filled by __init__ at the speed of plain slots, then closed: the class becomes Expr, which refuses
    # every assignment. (275 ns, against 520 ns with object.__setattr__ for each field.)
    __slots__ = (
        "_graph",
        "_key",
        "_simple",
        "_value",
        "args",
        "label",
        "op",
        "params",
        "source",
        "traced",
        "type",
    )

    op: Any
    args: tuple[Expr, ...]
    params: Params
    type: ArrayType
    traced: bool | Recorder
    label: str | None
    source: tuple[CodeType, int] | None

    def __init__(
        self,
        op: Any,
        args: tuple[Expr, ...],
        params: Params,
        type: ArrayType,
        traced: bool | Recorder,
        label: str | None,
        source: tuple[CodeType, int] | None,
    ) -> None:
        self.op = op
        self.args = args
        self.params = params
        self.type = type
        self.traced = traced
        self.label = label
        self.source = source
        self.__class__ = Expr  # the closing, see above


def _function(name: str) -> Callable[..., Any]:
    def method(self: Expr, *args: Any, **kwargs: Any) -> Any:
        return table.functions[name](self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As the ``numpy.{name}`` of the expression."
    return method


def _operator(name: str) -> Callable[[Expr, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        return _functions[name](self, other)

    operator.__name__ = operator.__qualname__ = name
    return operator


def _reflected(name: str) -> Callable[[Expr, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        return _functions[name](other, self)

    operator.__name__ = operator.__qualname__ = name
    return operator


class Expr(_Cell):
    """An expression: a pointed graph, written like a NumPy array.

    Attributes: ``op``, ``args`` (the expressions it is made of), ``params``, ``type``; ``shape``,
    ``dtype``, ``ndim``, ``size`` as on an array; ``key``, its content address; ``graph``, the persistent
    map from key to node. A formula hashes by its key, and a map of keys can be asked with it; a number
    that is traced hashes by its value, as numbers do.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> (x * x + 1) * x
    (x*x + 1)*x
    >>> ((x * x + 1) * x)(x=2.0)
    10.0
    """

    __slots__ = ()

    # NumPy's own arrays and scalars give way to an expression in their operators.
    __array_priority__: ClassVar[float] = 1000.0

    # -- the pointed graph ------------------------------------------------------------------------
    @property
    def key(self) -> Key:
        """The content address of the root: equal for equal programs, in every process."""
        try:
            return self._key  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            return _compute_key(self)

    @property
    def graph(self) -> Graph:
        """The persistent map from key to node, closed under parents: what the root is made of."""
        try:
            return self._graph  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            _compute_key(self)
            graph = pmap({expr._key: node(expr) for expr in subexpressions(self)})  # type: ignore[attr-defined]
            _set_graph(self, graph)
            return graph

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

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(
            f"an expression is immutable, but {name!r} was assigned to; make a new one instead"
        )

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"an expression is immutable, but {name!r} was deleted")

    def __hash__(self) -> int:
        # A dict finds what has one hash and is equal. The hash of a formula is its key's; a traced value is
        # compared by what it is at this call, of which its key says nothing.
        if not self.traced:
            return hash(self.key)
        raise fail(
            TypeError,
            "hash: expected a number to look up in a set, a dict or a cache, but got a traced value, which "
            "has none; compare it with ==, or look up float(x) or int(x), which cut the gradient",
        )

    def __eq__(self, other: object) -> Any:
        # A map keyed by Key compares its keys with what it is asked for: this lets it be an Expr.
        if isinstance(other, Key):
            return self.key == other
        if other is None or isinstance(other, str | bytes):
            return False
        return table.functions["equal"](self, other)

    def __ne__(self, other: object) -> Any:
        if isinstance(other, Key):
            return self.key != other
        if other is None or isinstance(other, str | bytes):
            return True
        return table.functions["not_equal"](self, other)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Flat rows in topological order: pickling must not recurse over the graph.
        position: dict[int, int] = {}
        rows: list[Any] = []
        for expr in subexpressions(self):
            parents = tuple([position[id(arg)] for arg in expr.args])
            position[id(expr)] = len(rows)
            rows.append((_op_name(expr.op), parents, expr.params, expr.type, expr.label))
        return _from_rows, (rows,)

    # -- arithmetic -------------------------------------------------------------------------------
    __add__ = _operator("add")
    __radd__ = _reflected("add")
    __sub__ = _operator("subtract")
    __rsub__ = _reflected("subtract")
    __mul__ = _operator("multiply")
    __rmul__ = _reflected("multiply")
    __truediv__ = _operator("divide")
    __rtruediv__ = _reflected("divide")
    __floordiv__ = _operator("floor_divide")
    __rfloordiv__ = _reflected("floor_divide")
    __mod__ = _operator("remainder")
    __rmod__ = _reflected("remainder")
    __divmod__ = _operator("divmod")
    __rdivmod__ = _reflected("divmod")
    __pow__ = _operator("power")
    __rpow__ = _reflected("power")
    __matmul__ = _operator("matmul")
    __rmatmul__ = _reflected("matmul")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __and__ = _operator("bitwise_and")
    __rand__ = _reflected("bitwise_and")
    __or__ = _operator("bitwise_or")
    __ror__ = _reflected("bitwise_or")
    __xor__ = _operator("bitwise_xor")
    __rxor__ = _reflected("bitwise_xor")
    __neg__ = _function("negative")
    __pos__ = _function("positive")
    __abs__ = _function("absolute")
    __invert__ = _function("invert")
    __round__ = _function("round")

    # -- array methods ----------------------------------------------------------------------------
    all = _function("all")
    any = _function("any")
    argmax = _function("argmax")
    argmin = _function("argmin")
    argsort = _function("argsort")
    astype = _function("astype")
    clip = _function("clip")
    conj = _function("conjugate")
    conjugate = _function("conjugate")
    cumprod = _function("cumprod")
    cumsum = _function("cumsum")
    diagonal = _function("diagonal")
    dot = _function("dot")
    flatten = _function("ravel")
    max = _function("max")
    mean = _function("mean")
    min = _function("min")
    prod = _function("prod")
    ravel = _function("ravel")
    repeat = _function("repeat")
    round = _function("round")
    squeeze = _function("squeeze")
    std = _function("std")
    sum = _function("sum")
    swapaxes = _function("swapaxes")
    take = _function("take")
    trace = _function("trace")
    var = _function("var")

    def copy(self, order: str = "C") -> Expr:
        """The expression itself, since it never changes."""
        return self

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """The same entries in another shape; one length may be -1."""
        sizes = shape[0] if len(shape) == 1 else shape
        return table.functions["reshape"](self, sizes, order=order)

    def transpose(self, *axes: Any) -> Any:
        """The axes reversed, or in the order given."""
        given = axes[0] if len(axes) == 1 else axes
        return table.functions["transpose"](self, given or None)

    @property
    def T(self) -> Any:
        return table.functions["transpose"](self)

    @property
    def mT(self) -> Any:
        return table.functions["swapaxes"](self, -1, -2)

    @property
    def real(self) -> Any:
        return table.functions["real"](self)

    @property
    def imag(self) -> Any:
        return table.functions["imag"](self)

    @property
    def at(self) -> At:
        """Functional update: ``x.at[i].set(v)``, ``add``, ``multiply``, ``min``, ``max``."""
        return At(self)

    def __getitem__(self, index: Any) -> Any:
        return table.functions["getitem"](self, index)

    def __setitem__(self, index: Any, value: Any) -> Never:
        raise self._assignment()

    def _assignment(self) -> Any:
        return fail(
            TypeError,
            "item assignment: expected a value that can change, but an expression is immutable, and "
            "a NumPy array does not hold one; write x = x.at[i].set(v) instead of x[i] = v, with x an "
            "expression, or build the array by np.stack([...])",
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an expression of shape ()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over an expression of shape ()")
        return iter([self[i] for i in range(self.shape[0])])

    # -- NumPy's protocols ------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            stand_in = table.ufuncs.get(ufunc.__name__)
            if stand_in is not None:
                return stand_in(*inputs)
        return table.functions["apply_ufunc"](ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return table.functions["apply_numpy"](func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Never:
        raise fail(
            TypeError,
            "array: expected numbers, but got an expression, and storing it in a NumPy array would "
            "cut its gradient; write np.stack([...]) or funcgrad.numpy.array([...]) to build an "
            "array of expressions, x.at[i].set(v) to store into one, and funcgrad.const(a)[i] to index an "
            "array with an expression",
        )

    # -- Python's questions, answered by the concrete value under a transform ---------------------
    def __bool__(self) -> bool:
        # A dict or a set compares what has one hash: equal formulas are equal, whatever their values.
        if not self.traced and self.op.name in ("equal", "not_equal"):
            x, y = self.args
            if x.key == y.key and _has_input(x):
                return bool(self.op.name == "equal")
        return bool(concrete(self, "bool()", bool))

    def __float__(self) -> float:
        if _is_stored(sys._getframe(1)):
            raise self._assignment()
        return float(concrete(self, "float()", float))

    def __int__(self) -> int:
        if _is_stored(sys._getframe(1)):
            raise self._assignment()
        return int(concrete(self, "int()", int))

    def __complex__(self) -> complex:
        if _is_stored(sys._getframe(1)):
            raise self._assignment()
        return complex(concrete(self, "complex()", complex))

    def __index__(self) -> int:
        return int(concrete(self, "an index", operator.index))

    def __contains__(self, item: Any) -> bool:
        return bool(table.functions["any"](self == item))

    def item(self) -> Any:
        """The concrete value as a Python number, under a transform."""
        return concrete(self, "item()", _item)

    def __format__(self, spec: str) -> str:
        return format(concrete(self, "a format", _item), spec) if spec else str(self)

    # -- as a program -----------------------------------------------------------------------------
    def __call__(self, *args: Any, **values: Any) -> Any:
        """The value, given one for each variable by name."""
        if args:
            raise fail(
                TypeError,
                f"call: expected values by name, but got {len(args)} without; write f(x=2.0)",
            )
        return table.functions["evaluate"](self, values)

    def __repr__(self) -> str:
        text: str = table.functions["text"](self)
        return text

    def _repr_latex_(self) -> str:
        latex: str = table.functions["latex"](self)
        return latex


class At:
    """``x.at``: index it, then say how the entries change."""

    __slots__ = ("_expr",)

    def __init__(self, expr: Expr) -> None:
        self._expr = expr

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self._expr, index)

    def __repr__(self) -> str:
        return f"({self._expr}).at; index it and say how its entries change, as in x.at[i].set(v)"


class AtIndex:
    """``x.at[index]``: the entries of a new array that will differ from ``x``."""

    __slots__ = ("_expr", "_index")

    def __init__(self, expr: Expr, index: Any) -> None:
        self._expr = expr
        self._index = index

    def __repr__(self) -> str:
        return f"({self._expr}).at[{self._index}]; say how its entries change, as in x.at[i].set(v)"

    def _update(self, how: str, value: Any) -> Any:
        return table.functions["index_update"](self._expr, self._index, value, how)

    def get(self) -> Any:
        """The entries themselves, ``x[index]``."""
        return self._expr[self._index]

    def set(self, value: Any) -> Any:
        """``x`` with the entries replaced by ``value``."""
        return self._update("set", value)

    def add(self, value: Any) -> Any:
        """``x`` with ``value`` added to the entries; a repeated index adds each time."""
        return self._update("add", value)

    def multiply(self, value: Any) -> Any:
        """``x`` with the entries multiplied by ``value``."""
        return self._update("multiply", value)

    def min(self, value: Any) -> Any:
        """``x`` with the entries' minimum with ``value``."""
        return self._update("minimum", value)

    def max(self, value: Any) -> Any:
        """``x`` with the entries' maximum with ``value``."""
        return self._update("maximum", value)


_STORE = opmap["STORE_SUBSCR"]


def _is_stored(frame: FrameType) -> bool:
    """Whether ``array[i] = x`` or ``array.fill(x)`` asks for a number, which would cut the gradient."""
    if frame.f_code.co_code[frame.f_lasti] == _STORE:
        return True
    return ".fill(" in written(frame).partition("(")[0] + "("


_set_key = _Cell._key.__set__  # type: ignore[attr-defined]
_set_graph = _Cell._graph.__set__  # type: ignore[attr-defined]
_set_value = _Cell._value.__set__  # type: ignore[attr-defined]
_set_simple = _Cell._simple.__set__  # type: ignore[attr-defined]


# -- what has been worked out already ------------------------------------------------------------
def is_simple(expr: Expr) -> bool:
    """Whether the laws are known to leave an expression as it is: to be run, not read."""
    return hasattr(expr, "_simple")


def mark_simple(expr: Expr) -> None:
    """Remember that the laws leave an expression as it is."""
    _set_simple(expr, True)


# -- making expressions --------------------------------------------------------------------------
def make(
    op: Operation, args: tuple[Expr, ...], params: Params, type: ArrayType, label: str | None = None
) -> Expr:
    """The expression of an operation on expressions; its type is the caller's to infer."""
    traced: bool | Recorder = False
    for arg in args:
        if arg.traced:
            traced = arg.traced
            if traced is not True:
                break
    return _Cell(op, args, params, type, traced, label, caller(FOLD))  # type: ignore[return-value]


def var(name: str, shape: int | tuple[int, ...] = (), dtype: Any = float) -> Expr:
    """A variable: an input that is addressed by its name, shape and dtype.

    ``shape`` is a tuple of lengths, or one length; ``dtype`` defaults to float64.

    >>> x = var("x")
    >>> w = var("w", (3, 2), "float32")
    >>> x, w.type
    (x, ArrayType(shape=(3, 2), dtype=dtype('float32')))
    """
    if not name or not isinstance(name, str):
        raise TypeError(f"var: expected a name, but got {name!r}; write var('x')")
    try:
        lengths = tuple([index(n) for n in (shape if np.iterable(shape) else (shape,))])
    except TypeError:
        raise TypeError(
            f"var: expected a length or a tuple of lengths, but got {shape!r}; write var({name!r}, 3)"
        ) from None
    if any(n < 0 for n in lengths):
        raise ValueError(f"var: expected lengths of 0 or more, but got shape {lengths}")
    type = ArrayType(lengths, np.dtype(dtype))
    if type.dtype.kind not in "biufc":
        raise TypeError(f"var: expected a dtype of numbers, but got {type.dtype}")
    return _Cell(INPUT, (), (("name", name),), type, False, None, caller())  # type: ignore[return-value]


def const(value: Any) -> Expr:
    """A constant: a frozen copy of a number or an array, addressed by its content.

    >>> const(2.0) + var("x")
    2 + x
    >>> const([1.0, 2.0]).key == const([1.0, 2.0]).key
    True
    """
    if isinstance(value, Expr):
        return value
    array = np.array(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"const: expected numbers, but got dtype {array.dtype}")
    array.flags.writeable = False
    return constant_of(Constant(array))


def scalar(value: Any, dtype: np.dtype[Any]) -> Expr:
    """A constant scalar of a dtype, from a Python or NumPy number."""
    # 0.0 and -0.0 are equal, as are 1+0j and 1-0j, and would share what the memo keeps.
    if value and dtype.kind != "c":
        return _kept_scalar(value, dtype)
    return _scalar(value, dtype)


def _scalar(value: Any, dtype: np.dtype[Any]) -> Expr:
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
    traced: bool | Recorder = False,
    label: str | None = None,
) -> Expr:
    """An expression from its parts, without the user's line."""
    return _Cell(op, args, params, type, traced, label, None)  # type: ignore[return-value]


def rebuild(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """``expr`` on other operands of the same types: itself where they are the same objects."""
    if all(new is old for new, old in zip(args, expr.args, strict=True)):
        return expr
    # Of True and a recorder, the recorder.
    marks = [arg.traced for arg in args if arg.traced]
    traced = next((mark for mark in marks if mark is not True), bool(marks))
    return _Cell(expr.op, args, expr.params, expr.type, traced, expr.label, expr.source)  # type: ignore[return-value]


def constant_of(constant: Constant) -> Expr:
    """The expression of a constant that is frozen already, or held while a trace runs."""
    type = ArrayType(constant.array.shape, constant.array.dtype)
    return _Cell(CONSTANT, (), (("value", constant),), type, False, None, None)  # type: ignore[return-value]


def _from_rows(rows: list[tuple[str, tuple[int, ...], Params, ArrayType, str | None]]) -> Expr:
    exprs: list[Any] = []
    for name, parents, params, type, label in rows:
        op = INPUT if name == "input" else CONSTANT if name == "constant" else table.ops[name]
        args = tuple([exprs[i] for i in parents])
        exprs.append(_Cell(op, args, params, type, False, label, None))
    result: Expr = exprs[-1]
    return result


def _op_name(op: Operation) -> str:
    if op not in (INPUT, CONSTANT) and table.ops.get(op.name) is not op:
        raise TypeError(f"{op.name}: expected an operation of the package, to store it by name")
    return op.name


# -- walking -------------------------------------------------------------------------------------
def subexpressions(*roots: Expr) -> list[Expr]:
    """The expressions below and at the roots, each object once, parents first."""
    result: list[Expr] = []
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        expr = stack[-1]
        if id(expr) in done:
            stack.pop()
            continue
        size = len(stack)
        for arg in reversed(expr.args):
            if id(arg) not in done:
                stack.append(arg)
        if len(stack) == size:
            stack.pop()
            done.add(id(expr))
            result.append(expr)
    return result


def node(expr: Expr) -> Node:
    """The node that an expression adds."""
    return Node(expr.op, tuple([arg.key for arg in expr.args]), expr.params, expr.type)


_header = lru_cache(maxsize=8192)(encode)


def _compute_key(root: Expr) -> Key:
    stack = [root]
    while stack:
        expr = stack[-1]
        size = len(stack)
        for arg in expr.args:
            if not hasattr(arg, "_key"):
                stack.append(arg)
        if len(stack) == size:
            stack.pop()
            # A constant's header is not kept: there may be many, each met once.
            header = b"" if expr.op is CONSTANT else _header(expr.op, expr.params, expr.type)
            parents = [arg._key for arg in expr.args]  # type: ignore[attr-defined]
            _set_key(expr, address(expr.op, parents, expr.params, expr.type, header))
    return root._key  # type: ignore[attr-defined, no-any-return]


# -- concrete values -----------------------------------------------------------------------------
def _itself(value: Any) -> Any:
    return value


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def concrete(root: Expr, asker: str, reading: Callable[[Any], Any] = _itself) -> Any:
    """What Python reads off the value that a traced expression has at this call.

    The value is computed when it is first asked for, and kept. What records questions is told.
    """
    answer = reading(_value(root, asker))
    traced = root.traced
    if traced is not False and traced is not True:
        traced.record(root, reading, answer)
    return answer


def _value(root: Expr, asker: str) -> Any:
    stack = [root]
    while stack:
        expr = stack[-1]
        if hasattr(expr, "_value"):
            stack.pop()
            continue
        if expr.op is INPUT:
            raise _no_value(expr if root.traced else root, asker)
        pending = [arg for arg in expr.args if not hasattr(arg, "_value")]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        _set_value(expr, _step(expr))
    return root._value  # type: ignore[attr-defined]


def _step(expr: Expr) -> Any:
    if expr.op is CONSTANT:
        return expr.params[0][1].array
    with np.errstate(all="ignore"):
        return expr.op.run(*[arg._value for arg in expr.args], **dict(expr.params))  # type: ignore[attr-defined]


def _has_input(root: Expr) -> bool:
    return any(expr.op is INPUT for expr in subexpressions(root))


def _no_value(expr: Expr, asker: str) -> Any:
    text = table.functions["text"](expr)
    return fail(
        TypeError,
        f"{asker}: expected a number, but {_shorten(text)} has none, since it stands for any value; "
        "choose with fg.cond or np.where(condition, a, b); a function that is differentiated with "
        "grad(f), and neither mapped nor a loop's, knows its values",
    )


def _shorten(text: str) -> str:
    line = text.splitlines()[-1]
    return repr(line if len(line) <= 40 else line[:37] + "...")
