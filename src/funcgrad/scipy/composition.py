"""Functions that are SciPy's own on plain values, and compositions of NumPy's on traced values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from inspect import Parameter, Signature, signature
from itertools import takewhile
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, Self, TypeVar, cast

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import current, exported
from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr
from funcgrad.expr.scope_order import next_in_order
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.base.promotion import in_precision_of
from funcgrad.ops.numpy.call_templates import answer_by_template
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.host_call import host_value
from funcgrad.source import fail, type_error
from funcgrad.trace.leaves import on_arrays, runs_on_leaves
from funcgrad.trace.pytree import flatten, leaves_of
from funcgrad.trace.trace_body import symbols, trace_body
from funcgrad.transforms.custom.implicit import implicit_root
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

P = ParamSpec("P")
R = TypeVar("R")

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def composed(
    module: ModuleType, single: bool = False, host: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a function of the module on plain values, and the decorated one on traced values.

    The decorated function gets its arguments by the names that SciPy's has for them, in any order.
    With ``single``, its results for data in single precision are in single precision, as SciPy's. With
    ``host``, a jitted program of which no derivative is asked calls SciPy's own, which is faster.
    """

    def decorator(traced: Callable[P, R]) -> Callable[P, R]:
        own = getattr(module, traced.__name__)
        expected = _signature(own, traced)
        named = _naming(expected, traced)
        by_name: Callable[..., R] = traced

        def answer(_: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not holds_expr([*args, *kwargs.values()]):
                return own(*args, **kwargs)
            if named is None:
                found: Any = by_name(*args, **kwargs)
                return as_single(found, *args, *kwargs.values()) if single else found
            given, begun = settings_by_value(named(*args, **kwargs)), next_in_order()
            if not holds_expr([*given.values()]):
                return own(**given)
            found = by_name(**given)
            if single:
                found = as_single(found, *args, *kwargs.values())
            return host_value(own, _without_overwriting(given), found, begun) if host else found

        @wraps(traced)
        def function(*args: P.args, **kwargs: P.kwargs) -> R:
            return cast(R, answer_by_template(traced, args, kwargs, answer))

        function.__doc__ = traced.__doc__ or f"As `{module.__name__}.{traced.__name__}`."
        function.__signature__ = expected  # type: ignore[attr-defined]
        return function

    return decorator


def _without_overwriting(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if not name.startswith("overwrite")}


def in_place_of(own: Callable[..., Any] | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: SciPy's compiled function on plain values, and the decorated one on traced values.

    Without one, since other versions of SciPy have it, the decorated function is its own on both.
    """

    def decorator(traced: Callable[P, R]) -> Callable[P, R]:
        @wraps(traced)
        def function(*args: P.args, **kwargs: P.kwargs) -> R:
            if own is None or holds_expr([*args, *kwargs.values()]):
                return traced(*args, **kwargs)
            return cast(R, own(*exported(args), **exported(kwargs)))

        return function

    return decorator


def unreplaced(own: Any) -> Callable[..., Any]:
    """SciPy's function as another object, which adoption does not replace by the function that stands in."""
    code = own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__
    made = FunctionType(*code)
    made.__kwdefaults__ = own.__kwdefaults__
    return made


def with_places_of(
    own: Callable[..., Any], traces_settings: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: arguments that SciPy takes by place, and the decorated function by name, are named.

    Settings, such as tolerances, are numbers, unless the decorated function takes traced ones.
    """
    read = dict if traces_settings else settings_by_value
    places = [name for name, it in signature(own).parameters.items() if it.kind in _BY_PLACE]

    def decorator(traced: Callable[..., Any]) -> Callable[..., Any]:
        shared = zip(places, signature(traced).parameters, strict=False)
        count = len(list(takewhile(lambda pair: pair[0] == pair[1], shared)))

        @wraps(traced)
        def function(*args: Any, **kwargs: Any) -> Any:
            kwargs = read(kwargs)
            if len(args) > len(places):
                return traced(*args, **kwargs)
            given = list(read(dict(zip(places, args, strict=False))).values())
            named = dict(zip(places[count:], given[count:], strict=False))
            return traced(*given[:count], **named, **kwargs)

        return function

    return decorator


def settings_by_value(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by their names, with the value of those that say how SciPy computes.

    A result has no derivative in a tolerance; `jit` guards it. Of a pattern of sparsity the places count.
    """

    def setting(name: str, value: Any) -> Any:
        if name == "jac_sparsity" and hasattr(value, "places"):
            return value.places()
        return by_value(value, name) if name in _SETTINGS else value

    return {name: setting(name, value) for name, value in given.items()}


_SETTINGS = frozenset(
    (
        *("tol", "atol", "btol", "ftol", "gtol", "rtol", "xtol", "pgtol", "f_tol", "f_rtol"),
        *("x_tol", "x_rtol", "bc_tol", "f_min_rtol", "len_tol", "vol_tol", "factr", "acc"),
        *("epsabs", "epsrel", "cond", "rcond", "conlim", "limit", "maxiter", "maxfev", "maxfun"),
        *("max_nfev", "max_nodes", "iter_lim", "niter", "popsize", "opts", "options", "x_scale"),
        *("diff_step", "epsfcn", "factor", "line_search_options", "rhobeg", "rhoend"),
        *("first_step", "max_step", "min_step"),
    )
)
"""The names of tolerances, limits and other settings of SciPy's functions."""


def storing(own: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """A decorator: SciPy's compiled function, which stores its result into the last argument.

    The decorated function returns the result for traced values.
    """

    def decorator(traced: Callable[..., Any]) -> Callable[..., None]:
        @writes
        @wraps(traced)
        def function(*args: Array) -> None:
            *given, out = args
            if not holds_expr(given):
                own(*exported(args))
            else:
                out[...] = traced(*given)

        return function

    return decorator


def writes(function: Callable[P, R]) -> Callable[P, R]:
    """A function in the place of compiled code that writes into arrays of adopted code, which it is given."""
    function.writes = True  # type: ignore[attr-defined]
    return function


def _signature(own: Callable[..., Any], traced: Callable[..., Any]) -> Signature:
    try:
        return signature(own)
    except ValueError:  # a function of compiled code
        return signature(traced)


def _naming(
    expected: Signature, traced: Callable[..., Any]
) -> Callable[..., dict[str, Any]] | None:
    """The names of a function's arguments; None of one that takes any number of them."""
    kinds = {parameter.kind: name for name, parameter in expected.parameters.items()}
    if Parameter.VAR_POSITIONAL in kinds:
        return None
    rest = kinds.get(Parameter.VAR_KEYWORD, "")
    left_out = _left_out(expected, traced)

    parameters = expected.parameters.values()
    places = [it.name for it in parameters if it.kind in _BY_PLACE]
    names = {it.name for it in parameters if it.kind in _BY_NAME}
    required = {it.name for it in parameters if it.name != rest and it.default is it.empty}

    def named(*args: object, **kwargs: object) -> dict[str, Any]:
        given: dict[str, Any] = dict(zip(places, args, strict=False))
        plain = names.issuperset(kwargs) and given.keys().isdisjoint(kwargs)
        given |= kwargs
        if not (plain and len(args) <= len(places) and given.keys() >= required):
            given = dict(expected.bind(*args, **kwargs).arguments)
        others = given.pop(rest, {})
        refuse_given(traced.__name__, **{name: given[name] for name in left_out & given.keys()})
        return {**given, **others}

    return named


def _left_out(expected: Signature, traced: Callable[..., Any]) -> frozenset[str]:
    """The arguments that a function of traced values would leave out though the value depends on them.

    It has a parameter ``**_`` for those that say how SciPy computes. Others are those of a newer SciPy.
    """
    own = signature(traced).parameters
    if "_" not in own:
        return frozenset()
    others = expected.parameters.keys() - own.keys() - _WITHOUT_EFFECT
    return frozenset([name for name in others if not name.startswith("overwrite")])


_WITHOUT_EFFECT = {
    *("balanced", "blocksize", "check_finite", "disp", "lapack_driver", "lwork", "seed"),
    "workers",
}
"""Arguments of SciPy's that choose between methods of equal results."""


def refuse(name: str, **given: object) -> None:
    """Say which arguments are not supported with traced values; False and 0 are as good as None."""
    absent = {key for key, value in given.items() if isinstance(value, int) and not value}
    refuse_given(name, **{key: None if key in absent else given[key] for key in given})


def refuse_given(name: str, **given: object) -> None:
    """Say which arguments that are not None are not supported with traced values."""
    for key, value in given.items():
        if value is not None:
            raise type_error(f"{name}: {key}={value!r} is not supported with traced values")


def refuse_policy(name: str, nan_policy: str) -> None:
    """Say that NaN propagates with traced values."""
    refuse(name, nan_policy=None if nan_policy == "propagate" else nan_policy)


def only_plain(who: str, **given: ArrayLike) -> None:
    for name, value in given.items():
        if holds_expr(value):
            raise type_error(
                f"{who}: expected a plain {name}, in which it has no derivative, but got a traced one; give "
                f"an integer, or hold {name} constant with int({name})",
            )


def number(who: str, value: ArrayLike, kinds: str = "fiubc") -> Array:
    """An argument in double precision, as SciPy takes it; ``kinds`` are the kinds of dtypes it may have."""
    item = _array(value)
    if item.dtype.kind not in kinds:
        wanted = "numbers" if "c" in kinds else "real numbers"
        raise type_error(f"{who}: expected {wanted}, but got dtype {item.dtype}")
    dtype = np.promote_types(item.dtype, np.float64)
    found: Array = item if item.dtype == dtype else item.astype(dtype)
    return found


def floating(who: str, value: ArrayLike) -> Any:
    """An argument as an array of its own floating dtype."""
    item = _array(value)
    return item if item.dtype.kind in "fc" else number(who, item)


def _array(value: ArrayLike) -> Any:
    """An argument as an array: a copy of one that adopted code may store into later."""
    if holds_expr(value):
        return lift_fully(value)
    return np.array(current(value)) if type(value) is MutableArray else np.asarray(value)


def real(who: str, value: ArrayLike) -> Array:
    """An argument of real numbers, in double precision."""
    return number(who, value, "fiub")


def as_single(found: Any, *data: object) -> Any:
    """Results in single precision, if all data are; None, names and choices are not data."""
    values = [item for item in data if not (item is None or isinstance(item, str | bool))]
    dtypes = [
        # Python's integers, such as the place of a row, have the dtype of the data beside them.
        v if type(v) is int else (lift_fully(v) if holds_expr(v) else np.asarray(v)).dtype
        for v in values
    ]
    dtype = np.result_type(*dtypes)
    if isinstance(found, tuple):
        return tuple([in_precision_of(dtype, item) for item in found])
    return in_precision_of(dtype, found)


def lifted_beside(x: Array, *others: object) -> Any:
    """An array, as an expression if another argument is traced, on which NumPy does not dispatch."""
    return lift_fully(x, others) if holds_expr(others) else x


def taken(x: Array, index: Any) -> Any:
    """``x[index]``: a plain array at a traced index is an expression, too."""
    return lifted_beside(x, *(index if isinstance(index, tuple) else (index,)))[index]


def nondifferentiable(
    name: str, run: Callable[..., Any], *args: ArrayLike, like: Callable[..., Any] | None = None
) -> Any:
    """SciPy's result for the values of arrays, as one array without a derivative: places, ranks, choices.

    ``like`` has results of the same type where ``run`` does not take any values.
    """
    exprs = [stop_gradient(lift_fully(arg)) for arg in args]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Of plain values, which differ: SciPy refuses samples without any variance.
        plain = [
            (k * np.arange(1, 1 + x.size)).reshape(x.shape).astype(x.dtype)
            for k, x in enumerate(exprs, 1)
        ]
        sample = np.asarray((like or run)(*plain))
    try:
        operation = _operation(name, _content(run), Closure(run), sample.shape, sample.dtype)
    except TypeError:  # the closure holds something without a hash
        return primitive(run, out=lambda *types: sample, name=name)(*exprs)
    return operation(*exprs)


def nondifferentiable_parts(
    name: str, run: Callable[..., Any], count: int, *args: ArrayLike
) -> list[Any]:
    """As `nondifferentiable`, for each of so many results of a function."""
    parts = [lambda *given, k=k: run(*given)[k] for k in range(count)]
    return [nondifferentiable(name, part, *args) for part in parts]


def without_derivative(name: str, run: Callable[..., Any], out: Any, *args: ArrayLike) -> Any:
    """As `nondifferentiable`, where ``out`` is the type of the result, or a function of theirs."""
    typed = out if callable(out) else lambda *_: out
    return primitive(run, out=typed, name=name)(*[stop_gradient(lift_fully(arg)) for arg in args])


class Closure:
    """A function beside the key of a cache."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closure)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=512)
def _operation(
    name: str, content: object, run: Closure, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    """The operation for functions of one content: guards of two traces that ask it are the same."""
    return primitive(run.function, out=lambda *types: ArrayType(shape, dtype), name=name)


def _content(run: Any, depth: int = 2) -> Any:
    """What tells a function from others, as a key: its code and what it holds, up to that depth."""
    if type(run) is not FunctionType or not depth:
        return type(run), run, repr(run) if isinstance(run, float) else None  # -0.0 == 0.0
    held = [cell.cell_contents for cell in run.__closure__ or ()]
    held += [*(run.__defaults__ or ()), *(run.__kwdefaults__ or {}).values()]
    return run.__code__, id(run.__globals__), tuple([_content(item, depth - 1) for item in held])


def with_value(own: Array, found: Array) -> Any:
    """SciPy's own value, with the derivative of a composition that differs from it by rounding."""
    return own + (found - stop_gradient(found))


def flat_root(square: Array) -> Any:
    """The square root, with derivative 0 at 0."""
    zero = square == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, square)))


def with_phases(v: Array, own: Array, axis: int = -2) -> Any:
    """Vectors along an axis, with the signs, or complex phases, of SciPy's own; those have no derivative."""
    overlap = stop_gradient(np.sum(np.conj(v) * own, axis=axis, keepdims=True))
    overlap = np.where(overlap == 0, 1.0, overlap)
    return v * (overlap / np.abs(overlap))


def solution(x: Array, residual: Callable[..., Any], *theta: Array) -> Any:
    """x, with the derivative of the solution of residual(x, *theta) = 0 that it is."""
    return implicit_root(residual, _start)(stop_gradient(lift_fully(x)), *theta)


def _start(_: object, x0: Array) -> Any:
    return x0


def tuple_of(args: object) -> tuple[Any, ...]:
    """Additional arguments of a function as SciPy takes them: a tuple, or one alone."""
    return tuple(args) if isinstance(args, tuple) else (args,)


def without_tracing(f: Callable[..., Any], x: ArrayLike, args: tuple[Any, ...]) -> bool:
    """Whether neither the arguments of f(x, *args) are traced nor what f captures, on any of its branches.

    While no function runs on leaves, it is run on x: a formula that it captures is part of the result.
    """
    if holds_expr([x, *args]):
        return False
    start = np.array(x, np.result_type(np.asarray(x), 0.0))
    try:
        if not runs_on_leaves.get():
            with np.errstate(all="ignore"):
                found = f(start[()], *args)
            if not holds_expr(leaves_of(found)):
                return True
    except Exception:  # SciPy says what is wrong with the function
        return True
    tree = flatten(start)
    values = [lift_fully(leaf) for leaf in tree.leaves]
    called = on_arrays(f)
    for stand_ins in (values, symbols([tree], [value.type for value in values])):
        try:
            _, captured, _ = trace_body(lambda x: called(x, *args), [tree], stand_ins)
        except Exception:  # as above
            return True
        if any([isinstance(item, Expr) for item in captured]):
            return False
    return True


def with_captured_metric(function: Callable[P, R]) -> Callable[P, R]:
    """A function of points and a ``metric``, which is traced also if a metric captures traced values."""
    expected = signature(function)

    @wraps(function)
    def of_points(*args: P.args, **kwargs: P.kwargs) -> R:
        given = expected.bind(*args, **kwargs)
        metric: Any = given.arguments.get("metric")
        if not callable(metric) or holds_expr(list(given.arguments.values())):
            return function(*args, **kwargs)
        points, values = next(iter(given.arguments.items()))
        row, named = np.ones(np.shape(values)[-1:]), given.arguments.get("kwargs", {})
        if not without_tracing(lambda x: metric(x, x, **named), row, ()):
            given.arguments[points] = lift_fully(values)
        return function(*given.args, **given.kwargs)

    return of_points


class SciPyWrapper:
    """A wrapper of an object that SciPy made of plain data, ``own``, whose methods take traced points, too.

    An object of traced data has None as ``own``, or no such attribute.
    """

    own: Any
    _kind: Any
    __signature__: Signature
    _plain_part, _takes = "data", ""
    """What is plain, and what takes traced data, for an error."""

    def __init_subclass__(cls, of: Any = None) -> None:
        """A class ``of`` SciPy's, with its signature, or one that several have as a base."""
        if of is not None:
            cls._kind = of
            with suppress(ValueError):  # of compiled code, which has that of the base
                cls.__signature__ = signature(of)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if holds_expr([*args, *kwargs.values()]):
            self.own = None
            self._set_traced(*args, **kwargs)
        else:
            self._set_own(self._kind(*args, **kwargs))

    @classmethod
    def of_scipy(cls, own: Any) -> Self:
        """SciPy's object as one that takes traced points, too."""
        made = cls.__new__(cls)
        made._set_own(own)
        return made

    def _set_own(self, own: Any) -> None:
        """Take what the methods for traced points need from SciPy's object."""
        self.own = own

    def _set_traced(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of SciPy's class, of which one is traced."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "own":
            raise AttributeError(name)
        own = self.__dict__.get("own")
        if own is None:
            who = type(self).__name__
            raise fail(
                AttributeError,
                f"{who}: expected plain {self._plain_part} for {name}, but got traced ones{self._takes}",
            )
        return getattr(own, name)
