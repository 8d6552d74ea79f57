"""How an operation is declared: name, how NumPy runs it, its type, and one edge an argument.

An *edge* is a function of the output, the inputs and the params to the `LinearMap` that takes a
tangent of that input to a tangent of the output. An argument without an edge is not differentiable.
Edges are written in plain ``numpy``, which serves numbers, arrays and expressions alike; so each rule
is stated once for both modes and every order.

Elementwise operations see operands of one shape, and of the dtypes that NumPy's loop works in:
`fit` makes broadcasting and casting visible as nodes of their own, and the transpose of `broadcast_to`
is the only place where a cotangent is summed back to a smaller shape.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad import expr as expr_module
from funcgrad.arrays.object_array import as_objects, holds_numbers, is_of_objects
from funcgrad.arrays.reference import Reference, lent_value, wrapped
from funcgrad.arrays.subclassed_array import has_own_arithmetic
from funcgrad.expr import Expr, assemble_node, const, make, scalar
from funcgrad.expr.plain_numbers import UNITS
from funcgrad.graph import ArrayType, Params
from funcgrad.linear import Identity, Joint, LinearMap, Structural, diagonal
from funcgrad.ops.base.array_capture import capture
from funcgrad.ops.base.columns import EMPTY, TORCH_FORMS, Columns, ScalarUse, any_kind, no_flops
from funcgrad.ops.base.foreign_arrays import has_array_method, refuse_others
from funcgrad.ops.base.operation_help import OperationHelp
from funcgrad.ops.base.promotion import (
    PYTHON_NUMBERS,
    OperandKind,
    elementwise_plan,
    elementwise_types,
    of_real_numbers,
    ufunc_loop,
)
from funcgrad.source import USERS, type_error
from funcgrad.typing import Array, FunctionLibrary

EdgeRule: TypeAlias = Callable[..., LinearMap]
"""``edge(z, *inputs, **params)``, the linear map from a tangent of the input to one of z."""


class Infix(NamedTuple):
    """How a binary operator is written, and how tightly it binds (higher binds tighter)."""

    symbol: str
    binding: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Op:
    """An operation. Calling it with an expression among its arguments builds an expression.

    ``edges`` is one edge (or None) for each argument, or, where their number varies, a function from
    the position to the edge. ``batch(size, batched, *args, **params)`` is the operation on a batch of
    ``size`` examples: each operand that is ``batched`` has one axis more, the first, and so has the
    result. ``moves`` marks those that only move, select or repeat entries: they commute with masking.
    ``joint`` stands in the place of edges where operands move together: see `funcgrad.linear.Joint`.
    ``in_place`` is ``run`` that writes into its first operand, an array that nothing else reads.
    ``real`` ones take real numbers alone: their rules would drop imaginary parts, so complex operands are
    refused by the operation's name.
    ``hidden`` ones are not written in formulas. ``infix`` and ``notation`` say how others are.
    ``columns`` hold what the readers of programs know of the operation.
    """

    name: str
    run: Callable[..., Any]
    infer: Callable[..., ArrayType]
    edges: tuple[EdgeRule | None, ...] | Callable[[int], EdgeRule | None] = ()
    batch: Callable[..., Any] | None = None
    joint: Callable[..., Joint] | None = None
    in_place: Callable[..., Any] | None = None
    moves: bool = False
    hidden: bool = False
    infix: Infix | None = None
    notation: Callable[..., str] | None = None
    real: bool = False
    columns: Columns = EMPTY

    def __post_init__(self) -> None:
        if self.real:
            object.__setattr__(self, "infer", of_real_numbers(self.name, self.infer))
            if not isinstance(self.run, np.ufunc):  # whose value is right, whatever it takes
                object.__setattr__(self, "run", of_real_numbers(self.name, self.run))

    def __call__(self, *args: Any, **params: Any) -> Any:
        for arg in args:
            if type(arg) is Expr:
                return build_structural(self, args, params)
        for arg in args:
            if isinstance(arg, Reference):
                return self._on_references(args, params)
        return self.run(*args, **params)

    def _on_references(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """On arrays that can be written: a new one, of the operation on their values."""
        cell = next(arg for arg in args if isinstance(arg, Reference))
        for arg in args:
            if hasattr(arg, "_funcgrad_own_operators"):
                return self._on_subclass(arg, args, params)
        given = [lent_value(arg) if isinstance(arg, Reference) else arg for arg in args]
        return wrapped(cell, self(*given, **params))

    def _on_subclass(self, array: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """On an instance of a subclass of NumPy's array, such as a masked one, whose operators and ufuncs are
        its own: NumPy's other functions are of the data, SciPy's ufuncs give such an instance."""
        known = getattr(np, self.name, None)
        if isinstance(known, np.ufunc):
            raise type_error(
                f"{self.name}: expected plain arrays, but got a {type(array).__name__}; write "
                f"np.ma.{self.name}, or a.filled(0.0) in its place",
            )
        given = [lent_value(arg) if isinstance(arg, Reference) else arg for arg in args]
        made = self(*given, **params)
        return (
            array._funcgrad_of_data(made)
            if known
            else array._funcgrad_of_operation(made, tuple(args))
        )

    def edge(self, index: int) -> EdgeRule | None:
        """The edge of an argument; None where the operation is not differentiable in it."""
        if self.joint is not None:
            joint = self.joint
            return lambda z, *inputs, **params: joint(z, *inputs, **params).edge(index)
        return self.edges(index) if callable(self.edges) else self.edges[index]

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return op_named, (self.name,)


class Elementwise(Op):
    """An operation that acts entry by entry: its operands have one shape, and its
    loop's dtypes."""

    __slots__ = ()

    def __call__(self, *args: Any) -> Any:
        # Written out for the common numbers of operands: half of what a loop over them costs.
        kinds: tuple[OperandKind, ...]
        if len(args) == 2:
            x, y = args
            kinds = (x.type if type(x) is Expr else type(x), y.type if type(y) is Expr else type(y))
        elif len(args) == 1:
            (x,) = args
            kinds = (x.type if type(x) is Expr else type(x),)
        else:
            kinds = tuple([arg.type if type(arg) is Expr else type(arg) for arg in args])
        how, targets, output = elementwise_plan(self, kinds)
        if how == "fitted":
            return make(self, args, (), output)
        if how == "fit":
            return make(self, tuple(map(fit, args, targets)), (), output)
        if how == "run":
            return self.run(*args)
        if how == "read":
            return self._on_references(args, {})
        if any(map(is_of_objects, args)):
            return getattr(np, self.name)(*map(as_objects, args))
        return self(*[arg if type(arg) in _LIFTED else lift(arg, args, self.name) for arg in args])


Elementwise.__doc__ = OperationHelp(str(Elementwise.__doc__))  # type: ignore[assignment]


_LIFTED = (Expr, *PYTHON_NUMBERS)


def columns_of(expr: Expr) -> Columns:
    """The columns of the operation that an expression applies."""
    columns: Columns = expr.op.columns
    return columns


def flops_of(expr: Expr) -> int | None:
    """The flops of a node by itself; None if they are not known."""
    row = columns_of(expr).flops
    if row is not None:
        return row(expr)
    if isinstance(expr.op, Elementwise) or columns_of(expr).entrywise:
        return expr.size
    return 0 if expr.op.moves or expr.op.hidden else None


def op_named(name: str) -> Op:
    """The operation of the package that has this name."""
    op: Any = expr_module.operation_table.ops.get(name)
    if op is None:
        raise ValueError(f"operation: expected the name of one, but got {name!r}")
    found: Op = op
    return found


# -- building ------------------------------------------------------------------------------------
def build_structural(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Expr:
    """The expression of a structural operation: arguments lifted, type inferred."""
    exprs = tuple(args) if all([type(arg) is Expr for arg in args]) else lift_all(args, op.name)
    inferred = op.infer(*[expr.type for expr in exprs], **params)
    return make(op, exprs, tuple(params.items()), inferred)


def infer_type(op: Op, args: Sequence[Expr], params: Params) -> ArrayType:
    """The type of an operation on operands that fit it."""
    types = tuple([arg.type for arg in args])
    return (
        elementwise_types(op, types)[1]
        if isinstance(op, Elementwise)
        else op.infer(*types, **dict(params))
    )


def lift_all(args: Sequence[Any], who: str = "operand") -> tuple[Expr, ...]:
    """The arguments as expressions; Python's numbers become float64, int64, … as in ``np.asarray``."""
    return tuple([arg if type(arg) is Expr else lift_fully(arg, args, who) for arg in args])


def lift_fully(arg: Any, beside: Sequence[Any] = (), who: str = "operand") -> Expr:
    """An argument as an expression; errors begin with ``who``."""
    if type(arg) is Expr:
        return arg
    lifted = lift(arg, beside, who)
    return lifted if isinstance(lifted, Expr) else const(lifted)


def lift(arg: object, beside: Sequence[Any] = (), who: str = "operand") -> Any:
    """An argument as an expression; Python's numbers are left, since their dtype follows the others'.

    An array met beside a traced expression is held as `array_capture` does; elsewhere it is copied.
    """
    if type(arg) is np.ndarray:
        return _lift_array(arg, beside)
    if isinstance(arg, Reference):
        return lift(lent_value(arg), beside, who)
    if isinstance(arg, Expr) or type(arg) in PYTHON_NUMBERS:
        return arg
    if isinstance(arg, np.generic):  # before numbers: np.float64 is a float as well
        return const(arg)
    base: Any
    for base in PYTHON_NUMBERS:  # of a subclass, such as an IntEnum
        if isinstance(arg, base):
            return base(arg)
    if type(arg).__module__ == "fractions":  # Fraction, which Python's floats take, too
        return float(arg)  # type: ignore[arg-type]
    if isinstance(arg, list | tuple):
        joined = expr_module.operation_table.functions["array"](arg)
        return joined if isinstance(joined, Expr) else _lift_array(joined, beside)
    if isinstance(arg, np.ndarray):
        refuse_other_arrays(who, arg)
        return _lift_array(np.asarray(arg), beside)
    if isinstance(arg, numbers.Complex) and numbers.Complex not in type(arg).__mro__:
        # Of a library that registers its class, such as SymPy and mpmath. A class that derives from Python's
        # has an arithmetic of its own.
        return float(arg) if isinstance(arg, numbers.Real) else complex(arg)
    refuse_others(who, arg)
    if has_array_method(arg) and not hasattr(arg, "__rmul__"):
        # A user's class that is like an array, but has no arithmetic of its own, as `numpy.poly1d` has.
        return lift(type(arg).__array__(arg), beside, who)  # type: ignore[attr-defined]
    if isinstance(arg, Sequence) and not isinstance(arg, str | bytes):  # a range, a deque, ...
        return lift(list(arg), beside, who)
    hint = "; call the function first" if callable(arg) else ""
    hint = "; a function that has no return gives None" if arg is None else hint
    raise type_error(
        f"{who}: expected a number, an array or an expression, but got {type(arg).__name__}{hint}",
    )


def refuse_other_arrays(who: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse the subclasses of arrays whose meaning would be lost: those with an arithmetic of their own."""
    kind = type(array)
    if kind is np.ndarray:
        return
    if not has_own_arithmetic(kind):
        return
    if isinstance(array, np.ma.MaskedArray):
        advice = "write np.asarray(a), with x.filled(0) and a condition in the place of a mask"
    elif any([hasattr(array, name) for name in ("unit", "units", "dimensionality")]):
        advice = UNITS
    else:
        advice = f"write np.asarray(a), and make the {kind.__name__} in the function"
    raise type_error(
        f"{who}: expected a plain array, but got a {kind.__name__}, whose arithmetic traced values do not "
        f"have; {advice}",
    )


def _lift_array(array: np.ndarray[Any, Any], beside: Sequence[Any]) -> Expr:
    if array.dtype.kind == "O" and holds_numbers(array):
        return lift_fully(array.tolist())
    if array.ndim:
        for other in beside:
            if type(other) is Expr and other.traced:
                return capture(array, other.traced.arrays)
    return const(array)


def fit(arg: Any, target: ArrayType | None) -> Expr:
    """An operand with the type that the operation works on, None for its own: cast first, then broadcast."""
    if target is None:
        return arg  # type: ignore[no-any-return]
    if type(arg) is not Expr:
        arg = scalar(arg, target.dtype)
        if not target.shape:
            return arg  # type: ignore[no-any-return]
    if arg.type == target:
        return arg  # type: ignore[no-any-return]
    if arg.type.dtype != target.dtype:
        cast = ArrayType(arg.type.shape, target.dtype)
        arg = assemble_node(astype, (arg,), (("dtype", target.dtype),), cast, traced=arg.traced)
    if arg.type.shape != target.shape:
        arg = assemble_node(
            broadcast_to, (arg,), (("shape", target.shape),), target, traced=arg.traced
        )
    return arg  # type: ignore[no-any-return]


def elementwise(
    name: str,
    run: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    like: np.ufunc | None = None,
    loop: Callable[..., tuple[np.dtype[Any], ...]] | None = None,
    infix: tuple[str, int] | None = None,
    notation: Callable[..., str] | None = None,
    real: bool = False,
    columns: Columns = EMPTY,
) -> Op:
    """An elementwise operation from its partial derivatives, each a function of (z, *inputs).

    ``like`` is a ufunc whose dtypes it shares, where ``run`` is not a ufunc itself; ``real`` leaves out those
    of complex numbers.
    """
    ufunc: Any = like or run
    infer: Any = loop or partial(ufunc_loop, ufunc)
    return Elementwise(
        name=name,
        run=run,
        infer=infer,
        edges=tuple(d and diagonal(d) for d in partials),
        infix=infix and Infix(*infix),
        notation=notation,
        real=real,
        columns=columns,
    )


# -- batching ------------------------------------------------------------------------------------
def on_batch(op: Op, size: int, batched: Sequence[bool], args: Sequence[Any], params: Any) -> Any:
    """An operation on a batch of operands: those that are ``batched`` have a first axis for it."""
    if isinstance(op, Elementwise):
        # The operands have one shape, so that NumPy's broadcasting repeats those without the axis.
        return op(*args)
    if op.batch is None:
        raise type_error(f"vmap: expected an operation that can be batched, but got {op.name}")
    return op.batch(size, batched, *args, **params)


def same_on_batch(op: Callable[[], Op]) -> Callable[..., Any]:
    """The batching rule of an operation of one operand that acts entry by entry, whatever the shape."""
    return lambda size, batched, x, **params: op()(x, **params)


def spread(x: Any, size: int) -> Any:
    """The same value for every example of a batch."""
    return broadcast_to(x, shape=(size, *np.shape(x)))


# -- the two that fit operands -------------------------------------------------------------------
def _broadcast_edge(z: Array, x: Array, *, shape: tuple[int, ...]) -> LinearMap:
    def sum_to_shape(g: Array) -> Any:
        small = np.shape(x)
        lead = len(shape) - len(small)
        stretched = tuple(lead + i for i, n in enumerate(small) if n != shape[lead + i])
        return np.reshape(np.sum(g, axis=(*range(lead), *stretched)), small)

    return Structural(lambda v: broadcast_to(v, shape=shape), sum_to_shape)


def _broadcast_batch(
    size: int, batched: Sequence[bool], x: Array, *, shape: tuple[int, ...]
) -> Any:
    small = np.shape(x)[1:]
    wide = np.reshape(x, (size, *(1,) * (len(shape) - len(small)), *small))
    return broadcast_to(wide, shape=(size, *shape))


def _broadcast_run(x: Array, shape: tuple[int, ...]) -> Any:
    if -1 in shape:  # of a stack of a `while_loop`: that axis is one of x
        ndim = len(shape)
        shape = tuple([np.shape(x)[k - ndim] if n < 0 else n for k, n in enumerate(shape)])
    return np.broadcast_to(x, shape)


broadcast_to = Op(
    name="broadcast_to",
    run=_broadcast_run,
    infer=lambda type, shape: ArrayType(shape, type.dtype),
    edges=(_broadcast_edge,),
    batch=_broadcast_batch,
    moves=True,
    hidden=True,
    columns=Columns(
        in_words="broadcast sums",
        machine="broadcast",
        scalar=any_kind("{0}"),
        sympy=lambda sp, x, shape: x,
        numpy="np.broadcast_to({0}, {shape})",
        may_alias=True,
        libraries={"any": lambda xp, x, shape: xp.broadcast_to(x, shape)},
    ),
)


def _astype_edge(z: Array, x: Array, *, dtype: np.dtype[Any]) -> LinearMap:
    def back(g: Array) -> Any:
        if dtype.kind == "c" and x.dtype.kind != "c":
            g = np.real(g)
        return astype(g, dtype=x.dtype)

    return Structural(lambda v: astype(v, dtype=dtype), back)


def _astype_run(x: Array, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(x)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    made = array.astype(dtype)
    return made if made.ndim else made[()]


_TO_COMPLEX = {"complex128": "complex({0}, 0.0)"}
_CASTS: dict[str, dict[str, str]] = {
    "f": {"float64": "{0}", "int64": "to_integer({0})", "bool": "({0} != 0.0)", **_TO_COMPLEX},
    "i": {"float64": "float({0})", "int64": "{0}", "bool": "({0} != 0)", **_TO_COMPLEX},
    "b": {"float64": "(1.0 if {0} else 0.0)", "int64": "(1 if {0} else 0)", "bool": "{0}"}
    | _TO_COMPLEX,
    "c": {
        "float64": "{0}.real",
        "int64": "to_integer({0}.real)",
        "bool": "({0} != 0.0)",
        "complex128": "{0}",
    },
}


def _mp_astype(mp: FunctionLibrary, x: Array, dtype: np.dtype[Any]) -> Any:
    if x.dtype != object:
        return x
    if dtype.kind == "f":  # the real part, as NumPy casts
        return np.frompyfunc(lambda v: v.real if isinstance(v, mp.mpc) else v, 1, 1)(x)
    if dtype.kind in "iub":
        plain = np.frompyfunc(int if dtype.kind != "b" else bool, 1, 1)(x)
        return np.asarray(plain).astype(dtype)
    return x


def _interval_astype(iv: FunctionLibrary, x: Array, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return iv.true(x)
    return (np.trunc(x[0]), np.trunc(x[1])) if dtype.kind in "iu" else x


def sympy_trunc(sp: FunctionLibrary, x: Any) -> Any:
    """SymPy has no function that rounds to zero."""
    return sp.sign(x) * sp.floor(sp.Abs(x))


def _sympy_astype(sp: FunctionLibrary, x: Any, dtype: np.dtype[Any]) -> Any:
    is_truth = not isinstance(x, sp.Expr)
    if dtype.kind == "b":
        return x if is_truth else sp.Ne(x, 0)
    if is_truth:
        return sp.Piecewise((1, x), (0, True))
    return sympy_trunc(sp, x) if dtype.kind in "iu" and x.is_integer is not True else x


def _cast_template(use: ScalarUse) -> str | None:
    return _CASTS.get(use.kind, {}).get(str(use.params["dtype"]))


def _cast_source(expr: Expr, texts: Sequence[str]) -> str:
    complex_to_real = expr.args[0].dtype.kind == "c" and expr.dtype.kind not in "cb"
    whole = f"np.real({texts[0]})" if complex_to_real else f"np.asarray({texts[0]})"
    return f'{whole}.astype("{expr.dtype.str}")[()]'


astype: Op = Op(
    name="astype",
    run=_astype_run,
    infer=lambda type, dtype: ArrayType(type.shape, dtype),
    edges=(_astype_edge,),
    batch=same_on_batch(lambda: astype),
    hidden=True,
    columns=Columns(
        scalar=_cast_template,
        flops=no_flops,
        sympy=_sympy_astype,
        mpmath=_mp_astype,
        interval=_interval_astype,
        entrywise=True,
        numpy=_cast_source,
        libraries={"torch": f"{TORCH_FORMS}:astype"},
        fresh=True,
        may_alias=True,
    ),
)


def _leaf_edge(z: Array, x: Array, **_: object) -> LinearMap:
    return Identity()


# A fresh leaf: an identity whose ``scope`` is like no other, so that a derivative with respect to it can
# never be confused with one with respect to what it stands for. Its parent is the value at this call. If
# ``numpy`` holds, that is an integer of NumPy's, which is no int of Python's.
leaf: Op = Op(
    name="leaf",
    run=lambda x, scope, place, numpy=False: x,
    infer=lambda type, scope, place, numpy=False: type,
    edges=(_leaf_edge,),
    batch=same_on_batch(lambda: leaf),
    hidden=True,
    columns=Columns(
        scalar=any_kind("{0}"),
        machine="same_value",
        sympy=lambda sp, x, **_: x,
        interval=lambda iv, x, **_: x,
        entrywise=True,
        may_alias=True,
        numpy="{0}",
    ),
)


def _one_example(x: Array) -> Any:
    raise type_error(
        "vmap: expected a program that does not depend on values, but Python asked for the value of "
        "one example, and each has its own; choose with np.where(condition, a, b) or fg.cond, loop with "
        "fg.while_loop, and compute with np.sin, not math.sin",
        USERS,
    )


# What a batched function is run on: one example, whichever, of those along the first axis.
example = Op(
    name="example",
    run=_one_example,
    infer=lambda type: ArrayType(type.shape[1:], type.dtype),
    hidden=True,
)


def differentiable(dtype: np.dtype[Any]) -> bool:
    """Whether values of this dtype carry derivatives: floats, complex numbers and tuples of values do."""
    return dtype.kind in "fcO"
