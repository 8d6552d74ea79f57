"""primitive: a foreign function (a C library, a solver, SciPy) as an operation with a derivative."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.control.guarded_call import run_where_taken
from funcgrad.expr import Expr, present
from funcgrad.fold import folded_by_key
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.entrywise import fit_entrywise, spread_unbatched
from funcgrad.ops.base.op import EdgeRule, Op, broadcast_to, lift_all
from funcgrad.ops.base.untaken_paths import without_errors
from funcgrad.ops.elementwise.selection import mask
from funcgrad.source import type_error, value_error
from funcgrad.trace.branches import all_paths
from funcgrad.trace.leaves import run
from funcgrad.transforms.curried import LATER, curried
from funcgrad.transforms.jit.captures import CapturedVariables
from funcgrad.transforms.transform_arguments import (
    by_position,
    captured_expressions,
    check_function,
    named_after,
)
from funcgrad.typing import Array, ArrayLike

NUMERICAL_RULES = ("complex-step", "finite-difference")


class Foreign:
    """An opaque function with the partial derivatives given for it."""

    __slots__ = ("elementwise", "f", "name", "out", "partials", "where_taken")

    def __init__(
        self,
        f: Callable[..., Any],
        name: str,
        partials: Sequence[Callable[..., Any] | None] | None,
        out: Callable[..., Any] | None,
    ) -> None:
        self.f = f
        self.name = name
        self.partials = partials
        self.out = out
        self.elementwise = out is None
        self.where_taken: Foreign | None = None

    def __repr__(self) -> str:
        return f"{self.name}@{id(self):x}"


@curried
def primitive(
    f: Callable[..., Any] = LATER,
    partials: Sequence[Callable[..., Any] | None] | str | None = None,
    *,
    out: Callable[..., ArrayType | ArrayLike] | None = None,
    name: str | None = None,
) -> Callable[..., Any]:
    """f as one opaque operation on arrays.

    Without ``out``, f acts entry by entry on floating-point arrays that
    broadcast. ``partials`` has one function an argument, of the same
    arguments, that returns the partial derivative as an expression (None: a
    derivative in that argument is an error); both modes, batching and all
    orders use it. It is derived once for all values, so that ``if x > 0`` of
    a number is a choice between both ways; of an array, write `numpy.where`.
    In the place of the list, ``"complex-step"`` (f takes complex arrays and
    is analytic) or ``"finite-difference"`` (central, about ten digits) select
    a numerical rule, which the printed formula names. If f does not act entry
    by entry, ``out`` gives the type of the result from the `ArrayType` of each
    argument: one of them, or a number or an array of the result's shape and
    dtype. `custom_vjp` or `custom_jvp` gives its derivative; under `vmap`, f
    is called once for each example. Without f, a decorator.

    Raises TypeError if ``partials`` is not a list of functions, or has another
    length than the arguments, and if a derivative runs that was not given;
    ValueError for an unknown numerical rule, for both ``partials`` and
    ``out``, or if f's result has another shape than stated.

    >>> import math
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def bell(x):
    ...     return 2 / math.sqrt(math.pi) * np.exp(-(x**2))
    >>> erf = primitive(np.vectorize(math.erf), [bell])
    >>> fg.grad(erf)(0.0)
    1.1283791670955126
    """
    check_function("primitive", f)
    _check_partials(partials, out)
    function = f
    title = str(name or getattr(f, "__name__", "primitive"))
    title = title if title.isidentifier() else "primitive"
    rules = _numerical(f, title, partials) if isinstance(partials, str) else partials
    # A derivative is derived once for each `Foreign`: what rules capture makes a new one when it changes.
    watches = [CapturedVariables(rule) for rule in partials or () if callable(rule)]
    seen = [watch.values() for watch in watches]
    typed = out if out is None else _typed(title, out)
    taken = len(rules) if isinstance(rules, list | tuple) else 0

    @named_after(f)
    def operation(*args: Array, **kwargs: Array) -> Any:
        given = by_position(title, function, args, kwargs, taken)
        args = tuple([plain_value(arg) for arg in given])
        if not any(isinstance(arg, Expr) for arg in args):
            value = function(*args)
            return present(value) if isinstance(value, np.ndarray) and not value.ndim else value
        if isinstance(rules, list | tuple) and len(rules) != len(args):
            raise type_error(
                f"{title}: expected as many arguments as partials ({len(rules)}), but got "
                f"{len(args)}",
            )
        if isinstance(rules, list | tuple):  # by which the derivative runs without the function
            _refuse_captured(title, function, *rules)
        nonlocal seen
        if not all(map(CapturedVariables.unchanged, watches, seen)):
            seen = [watch.values() for watch in watches]
            operation.foreign = Foreign(function, title, rules, typed)  # type: ignore[attr-defined]
        held = operation.foreign  # type: ignore[attr-defined]
        exprs = lift_all(args)
        if held.elementwise:
            exprs = fit_entrywise(exprs)
        return foreign_op(*exprs, function=held)

    operation.foreign = Foreign(function, title, rules, typed)  # type: ignore[attr-defined]
    operation.__name__ = operation.__qualname__ = title
    return operation


def _refuse_captured(title: str, *functions: object) -> None:
    """Refuse functions with traced values in their closures: they run later, on plain numbers alone."""
    for f in functions:
        for name, value in captured_expressions(f).items():
            if value.traced:
                raise type_error(
                    f"{title}: expected a primitive that captures no traced value, but it captures {name}; "
                    "make it an argument",
                )


def _typed(title: str, out: Callable[..., Any]) -> Callable[..., ArrayType]:
    """``out`` with the `ArrayType` of what it returns."""

    def typed(*types: ArrayType) -> ArrayType:
        found = out(*types)
        try:  # a type may have another's dtype, such as float
            likeness = found if hasattr(found, "dtype") else np.asarray(found)
            shape, dtype = likeness.shape, np.dtype(likeness.dtype)
        except (TypeError, ValueError):
            shape, dtype = (), np.dtype(object)
        if dtype.kind not in "fciub":
            raise type_error(
                f"{title}: expected out= to return a type, a number or an array like the result, but got "
                f"{type(found).__name__}; write fg.ArrayType((2,), float), or np.zeros(2)",
            )
        return ArrayType((shape,) if isinstance(shape, int) else tuple(shape), dtype)

    return typed


def _check_partials(partials: object, out: object) -> None:
    if partials is not None and not isinstance(partials, str | list | tuple):
        raise type_error(
            "primitive: expected partials to be a list with one function an argument, or one of "
            f"{NUMERICAL_RULES}, but got {type(partials).__name__}; write [df]",
        )
    rules = partials if isinstance(partials, list | tuple) else ()
    others = [rule for rule in rules if rule is not None and not callable(rule)]
    if others:
        raise type_error(
            "primitive: expected partials to be functions of the arguments, or None, but got "
            f"{type(others[0]).__name__}; write [lambda x: np.cos(x)]",
        )
    for rule in filter(None, rules):
        if not _takes(rule, len(rules)):
            raise type_error(
                f"primitive: expected partials of the arguments of f ({len(rules)}), but got one of "
                f"{signature(rule)}; write [lambda x: np.cos(x)], one function for each argument",
            )
    if out is not None and not callable(out):
        raise type_error(
            "primitive: expected out= to be a function of the types of the arguments, but got "
            f"{type(out).__name__}; write out=lambda *types: fg.ArrayType((2,), float)",
        )
    if partials is not None and out is not None:
        raise value_error(
            "primitive: expected partials or out=, but got both: partial derivatives are those of a "
            "function that acts entry by entry; give this one a derivative by custom_vjp or custom_jvp",
        )


def _takes(f: Callable[..., Any], number: int) -> bool:
    """Whether a function can be called with so many arguments, as far as that is known."""
    try:
        signature(f).bind(*range(number))
    except ValueError:  # some functions in C have no signature
        return True
    except TypeError:
        return False
    return True


def _run(*arrays: object, function: Foreign) -> Any:
    made = _on_read_only(function, arrays)
    if made is None:
        raise TypeError(
            f"{function.name}: expected numbers, but got None; the function has no return"
        )
    value = np.asarray(made)
    return value[()] if value.base is None else np.array(value)[()]


def _on_read_only(function: Foreign, arrays: Sequence[object]) -> Any:
    """The result of the function on arrays that it cannot store into: they are others' values."""
    try:
        return function.f(*map(_read_only, arrays))
    except ValueError as error:
        if not any(isinstance(x, np.ndarray) for x in arrays) or "read-only" not in str(error):
            raise
        # (Of compiled code, which asks for memory that can be written.)
        if "buffer source" in str(error):
            return function.f(*[np.array(x) if isinstance(x, np.ndarray) else x for x in arrays])
        raise type_error(
            f"{function.name}: expected a function that stores into arrays of its own, but it stores into an "
            "argument, or an array that cannot be written; write y = y.copy() first, and store into that",
        ) from error


def _read_only(x: Any) -> Any:
    if not isinstance(x, np.ndarray) or not x.flags.writeable:
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def _checked_run(*arrays: object, function: Foreign) -> Any:
    value = _run(*arrays, function=function)
    # Program inputs may be Python's numbers, which have no dtype.
    type = _type(*[_type_of(x) for x in arrays], function=function)
    if np.shape(value) != type.shape:
        how = (
            "entry by entry; give out= the type of the result"
            if function.elementwise
            else "as out= says"
        )
        raise ValueError(
            f"{function.name}: expected a result of shape {type.shape}, but got {np.shape(value)}, {how}"
        )
    return np.asarray(value, type.dtype)[()]


def _type_of(x: object) -> ArrayType:
    array = np.asarray(x)
    return ArrayType(array.shape, array.dtype)


def _type(*types: ArrayType, function: Foreign) -> ArrayType:
    return types[0] if function.out is None else function.out(*types)


def _missing(function: Foreign, result: ArrayType, argument: ArrayType) -> LinearMap:
    """A derivative that was not given: an error when it runs, as a rule around f may need none."""

    def refuse(*_: object) -> Any:
        raise type_error(
            f"{function.name}: expected a derivative, but this primitive was given none; give "
            "partials=, or one of the numerical rules " + " and ".join(map(repr, NUMERICAL_RULES)),
        )

    def into(type: ArrayType) -> Callable[..., Any]:
        missing = Foreign(refuse, function.name, None, lambda _: type)
        return lambda flow: foreign_op(*lift_all([flow]), function=missing)

    return Structural(into(result), into(argument))


def _edge(place: int) -> EdgeRule:
    def edge(z: Any, *args: Any, function: Foreign) -> LinearMap:
        rules = function.partials
        if rules is None:
            return _missing(function, z.type, args[place].type)
        rule = rules[place]
        if rule is None:
            raise type_error(
                f"{function.name}: expected a derivative in argument {place}, but this primitive was given "
                "None for it; give a partial, lambda *args: 0.0 if it is zero, or hand over "
                "fg.stop_gradient(x)",
            )
        slope = all_paths(lambda: run(rule, args, {}))
        if np.broadcast_shapes(np.shape(slope), z.shape) != z.shape:
            raise type_error(
                f"{function.name}: expected partial {place} of shape {z.shape}, entry by entry, but "
                f"got {np.shape(slope)}",
            )
        return Diagonal(slope)

    return edge


def _one_by_one(function: Foreign, size: int, flags: Sequence[bool]) -> Foreign:
    """The function on a batch: it is called once for each example."""
    single: Callable[..., ArrayType] = function.out  # type: ignore[assignment]

    def run(*arrays: Array) -> Any:
        rows = [
            function.f(*[x[k] if own else x for x, own in zip(arrays, flags, strict=True)])
            for k in range(size)
        ]
        type = out(*map(_type_of, arrays))
        return np.stack(rows) if rows else np.zeros(type.shape, type.dtype)

    def out(*types: ArrayType) -> ArrayType:
        inner = single(
            *[
                ArrayType(type.shape[1:], type.dtype) if own else type
                for type, own in zip(types, flags, strict=True)
            ]
        )
        return ArrayType((size, *inner.shape), inner.dtype)

    return Foreign(run, function.name, None, out)


def _batch(size: int, flags: Sequence[bool], *args: Array, function: Foreign) -> Any:
    if not function.elementwise:
        return foreign_op(*args, function=_one_by_one(function, size, flags))
    return foreign_op(*spread_unbatched(size, flags, args), function=function)


# -- paths that are not taken ----------------------------------------------------------------------
def _untaken(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Expr:
    function: Foreign = dict(expr.params)["function"]
    if not function.elementwise:
        return run_where_taken(holds, expr, args)
    if function.where_taken is None:
        function.where_taken = _where_taken(function)
    last = broadcast_to(holds, shape=expr.shape)
    made: Expr = foreign_op(*args, last, function=function.where_taken)
    return made


def _where_taken(function: Foreign) -> Foreign:
    """The function on the entries where its last operand, truth values, holds; its first value elsewhere.

    What is computed from that is as finite as there: 0, or NaN, might meet another zero, of a cotangent.
    """

    def f(*operands: Array) -> Any:
        *arrays, holds = map(np.asarray, operands)
        if holds.all():
            return function.f(*[x[()] for x in arrays])
        made = np.ones(holds.shape, arrays[0].dtype)
        if holds.any():
            found = np.asarray(function.f(*[x[holds] for x in arrays]))
            made[holds] = found
            made[~holds] = found.flat[0]
        return made

    rules = function.partials
    there = None if rules is None else _PartialsWhereTaken(rules)
    return Foreign(f, function.name, there, None)


class _PartialsWhereTaken(Sequence[Callable[..., Any]]):
    """The partial derivatives of a function with one more operand, the last, that says where it is taken."""

    def __init__(self, rules: Sequence[Callable[..., Any] | None]) -> None:
        self.rules = rules

    def __len__(self) -> int:
        return len(self.rules) + 1

    def __getitem__(self, place: Any) -> Any:
        rule = self.rules[place]
        return rule and partial(_slope_where_taken, rule)


def _slope_where_taken(rule: Callable[..., Any], *operands: Expr) -> Any:
    *args, holds = operands
    slope = run(rule, args, {})
    if not isinstance(slope, Expr):
        return slope

    def step(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
        return without_errors(holds, expr, parts) if parts else expr

    return mask(holds, folded_by_key([slope], step, {x.key: x for x in args})[0])


foreign_op: Op = Op(
    name="foreign",
    run=_checked_run,
    infer=_type,
    edges=_edge,
    batch=_batch,
    notation=lambda *args, function: f"{function.name}({', '.join(args)})",
    columns=Columns(
        latex=Form("named call"), calls_function=True, sparsity="foreign", untaken=_untaken
    ),
)


# -- numerical rules -----------------------------------------------------------------------------
def _numerical(f: Callable[..., Any], title: str, rule: str) -> Any:
    if rule not in NUMERICAL_RULES:
        raise value_error(
            f"primitive: expected partials, or one of {NUMERICAL_RULES}, but got {rule!r}",
        )
    return _Partials(f, title, rule)


class _Partials(Sequence[Callable[..., Any]]):
    """The numerical partial derivatives of a function, each a primitive itself."""

    def __init__(self, f: Callable[..., Any], title: str, rule: str) -> None:
        self.f, self.title, self.rule = f, title, rule

    def __len__(self) -> int:
        raise TypeError("a numerical rule serves any number of arguments")

    def __getitem__(self, place: Any) -> Any:
        step = _complex_step if self.rule == "complex-step" else _central
        name = f"{self.rule.replace('-', '_')}_{self.title}_{place}"
        # The derivative of a numerical derivative is numerical, too.
        return primitive(partial(step, self.f, place), "finite-difference", name=name)


def _complex_step(f: Callable[..., Any], place: int, *args: Array) -> Any:
    if np.iscomplexobj(args[place]):
        raise TypeError(
            f"complex-step: expected real arguments, but got {np.asarray(args[place]).dtype}; "
            "ask for 'finite-difference'"
        )
    # In double precision for every dtype of x: in single, the step would be zero.
    h = 1e-100
    moved = [np.asarray(x, complex) + 1j * h if i == place else x for i, x in enumerate(args)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return np.imag(f(*moved)) / h
        except np.exceptions.ComplexWarning as error:
            raise TypeError(
                "complex-step: expected a function of complex numbers, but it takes the real part of one, as "
                "math.sin and float do, which has no derivative; write np.sin, or ask for 'finite-difference'"
            ) from error


def _central(f: Callable[..., Any], place: int, *args: object) -> Any:
    x = np.asarray(args[place])
    # The step that balances truncation with rounding: the cube root of the resolution.
    h = np.cbrt(np.finfo(x.dtype).eps) * np.maximum(np.abs(x), 1.0)
    up, down = x + h, x - h
    values = [f(*[moved if i == place else y for i, y in enumerate(args)]) for moved in (up, down)]
    return (values[0] - values[1]) / (up - down)
