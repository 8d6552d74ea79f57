"""How a function of `scipy.special` is declared: by its name, its partial derivatives and its columns.

A partial derivative is a function of (z, *inputs). One for which no formula is known is taken from mpmath
(`by_mpmath`) if mpmath has the function, and is an error that says so (`unknown_partial`) if not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np

from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.base.columns import Columns, LibraryRow
from funcgrad.ops.base.entrywise import Entrywise, spread_unbatched
from funcgrad.ops.base.op import Op, elementwise, lift_fully
from funcgrad.ops.base.promotion import in_precision_of, same_type, ufunc_loop
from funcgrad.ops.special.partial_derivatives import partial_derivative
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.source import type_error
from funcgrad.typing import Array, DTypeLike


def ufunc_named(name: str) -> np.ufunc:
    """The ufunc of `scipy.special` with this name, or of the module in which it keeps private ones."""
    special = scipy_special(name)
    found: np.ufunc | None = getattr(special, name, None)
    return getattr(special._ufuncs, name) if found is None else found


def special_function(
    name: str,
    *partials: Callable[..., Any] | str | None,
    ufunc: str | None = None,
    part: int | None = None,
    real: bool = False,
    scalar: str | None = None,
    native: str | None = None,
    mpmath: LibraryRow | None = None,
    sympy: LibraryRow | None = None,
    jax: LibraryRow | None = None,
    torch: LibraryRow | None = None,
    interval: LibraryRow | None = None,
    latex: str | None = None,
) -> Op:
    """An elementwise operation that is a ufunc of SciPy's, or one of the results of one.

    ``partials`` has one function of (z, *inputs) an argument, or the name of an argument in which the
    derivative is not known, or None where it is zero. ``ufunc`` is the ufunc's name if that of the
    operation is another, and ``part`` the place among its results. ``real`` leaves out its loop for complex
    numbers. ``native`` is a template by functions of
    C's, which has them in vectors. The others are columns, for JAX and PyTorch the names in their modules of
    special functions.
    """
    home = ufunc or name

    def run(*args: Array) -> Any:
        made = ufunc_named(home)(*args)
        return made if part is None else made[part]

    def loop(*dtypes: object) -> tuple[np.dtype[Any], ...]:
        own = ufunc_named(home)
        found = ufunc_loop(own, *dtypes)
        return (*found[: own.nin], found[own.nin + (part or 0)])

    known = [unknown_partial(name, rule) if isinstance(rule, str) else rule for rule in partials]
    rules = [rule and _in_argument(k, rule) for k, rule in enumerate(known)]
    places = ", ".join([f"{{{k}}}" for k in range(len(partials))])
    public = home if home[0] != "_" else f"_ufuncs.{home}"
    chosen = "" if part is None else f"[{part}]"
    libraries: dict[str, LibraryRow] = {}
    if jax is not None:
        libraries["jax"] = f"jax.scipy.special:{jax}" if isinstance(jax, str) else jax
    if torch is not None:
        libraries["torch"] = f"torch.special:{torch}" if isinstance(torch, str) else torch
    return elementwise(
        name,
        run,
        *rules,
        loop=loop,
        real=real,
        columns=Columns(
            scalar=scalar,
            transcendental=scalar is not None or native is not None,
            entry_time=None if native is None else 15.0,
            mpmath=mpmath,
            sympy=sympy,
            interval=interval,
            latex=latex,
            numpy=f"scipy.special.{public}({places}){chosen}",
            native=None
            if scalar or part is not None
            else {"f": native or f"special_{home}({places})"},
            libraries=libraries or None,
        ),
    )


def result_of(ufunc: str, part: int, result: str, *partials: Any, **columns: Any) -> Op:
    """An operation that is one of the results of a ufunc of SciPy's, named for both."""
    return special_function(f"{ufunc}_{result}", *partials, ufunc=ufunc, part=part, **columns)


@dataclass(frozen=True, slots=True)
class SeveralResults:
    """A function of `scipy.special` with several results, each an operation."""

    ops: tuple[Op, ...]

    def __call__(self, *args: Array) -> tuple[Any, ...]:
        return tuple([op(*args) for op in self.ops])


def of_last_argument(
    name: str, slope: Callable[..., Any], parameters: int = 1, **columns: Any
) -> Op:
    """A function by its derivative in its last argument; those in the parameters before are mpmath's."""
    return special_function(
        name, *[by_mpmath(name, k) for k in range(parameters)], slope, **columns
    )


def _floating_dtype(args: Sequence[Any]) -> np.dtype[Any]:
    """That of arrays, and double precision of Python's numbers."""
    typed = any([hasattr(arg, "dtype") for arg in args])
    return np.result_type(*args, np.float32) if typed else np.dtype(float)


def in_precision_of_data(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of a composition for a ufunc of SciPy's: in the precision of its loop."""

    @wraps(function)
    def composed(*args: object) -> Any:
        given = [lift_fully(arg) if isinstance(arg, list | tuple) else arg for arg in args]
        found = function(*given)
        kinds: Any = [
            type(arg) if type(arg) in (int, float) else lift_fully(arg).dtype for arg in given
        ]
        # SciPy's ufunc may have a loop for whole numbers that is in double precision.
        own = ufunc_named(function.__name__).resolve_dtypes((*kinds, None))[-1]
        return in_precision_of(own, found)

    return composed


def numeric_function(
    name: str,
    run: Callable[..., Any],
    *partials: Callable[..., Any] | None,
    mpmath: LibraryRow | None,
    **columns: Any,
) -> Op:
    """An elementwise operation on real numbers that is computed here, in double precision."""

    def cast(*args: Array) -> Any:
        dtype = _floating_dtype(args)
        with np.errstate(all="ignore"):
            return np.asarray(run(*[np.asarray(arg, float) for arg in args]), dtype)[()]

    def loop(*dtypes: Any) -> tuple[np.dtype[Any], ...]:
        return (real_loop(name, np.result_type(*dtypes, np.float16)),) * (len(partials) + 1)

    return elementwise(
        name, cast, *partials, loop=loop, real=True, columns=Columns(mpmath=mpmath, **columns)
    )


def derivative_family(
    name: str,
    run: Callable[..., Any],
    *slopes: Callable[..., Any] | None,
    mpmath: LibraryRow | None,
    real: bool = True,
) -> Op:
    """A function with params that choose a derivative of it, such as its order; of real numbers, as a rule.

    ``run`` takes arrays in double precision. ``slopes`` has one function of (z, *inputs, **params) an
    argument, whose result is another member of the family, as a rule, or None.
    """

    def cast(*args: Array, **params: Any) -> Any:
        dtype = _floating_dtype(args)
        wide = np.promote_types(dtype, np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(run(*[np.asarray(arg, wide) for arg in args], **params), dtype)[()]

    def edge(slope: Callable[..., Any]) -> Any:
        return lambda z, *args, **params: Diagonal(
            in_precision_of(z.dtype, slope(z, *args, **params))
        )

    def batch(size: int, batched: Sequence[bool], *args: Any, **params: Any) -> Any:
        return op(*spread_unbatched(size, batched, args), **params)

    op = Entrywise(
        name=name,
        run=cast,
        infer=lambda *types, **_: same_type(types[0]),
        edges=tuple([slope and edge(slope) for slope in slopes]),
        batch=batch,
        real=real,
        columns=Columns(entrywise=True, mpmath=mpmath),
    )
    return op


def real_loop(name: str, dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of SciPy's loop for real numbers: float32 for floats that it holds, else float64."""
    own = np.dtype(dtype)
    if own.kind not in "fiub" or own.itemsize > 8:
        raise type_error(f"{name}: expected real numbers, but got dtype {own}")
    return np.dtype(np.float32 if own.kind == "f" and own.itemsize <= 4 else np.float64)


def _in_argument(place: int, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A partial derivative in the precision of the function: its formula may have float64 constants.

    A real argument of a complex function, as an order is, gets real cotangents.
    """

    def edge(z: Array, *inputs: Array) -> Any:
        slope = rule(z, *inputs)
        if isinstance(slope, LinearMap):
            return slope
        slope = in_precision_of(z.dtype, slope)
        if z.dtype.kind != "c" or inputs[place].dtype.kind == "c":
            return slope
        return Structural(lambda v: slope * v, lambda g: np.real(slope * g))

    return edge


def by_mpmath(name: str, argument: int) -> Callable[..., Any]:
    """The partial derivative of the operation of this name in an argument, computed by mpmath."""

    def slope(z: Array, *inputs: Array) -> Any:
        orders = tuple([int(place == argument) for place in range(len(inputs))])
        return partial_derivative(name, orders, *inputs)

    return slope


def unknown_partial(name: str, argument: str) -> Callable[..., LinearMap]:
    """The partial derivative in an argument in which none is known: an error where it is asked for."""

    def slope(z: Array, *inputs: Array) -> LinearMap:
        raise type_error(
            f"{name}: expected to be differentiated in other arguments than {argument}, in which no reliable "
            f"method is known; hold {argument} constant with fg.stop_gradient, or give a derivative with "
            "fg.primitive",
        )

    return slope


def inverse_partials(
    forward: Callable[[], Op], count: int, argument: int
) -> tuple[Callable[..., Any], ...]:
    """The partial derivatives of the function that solves ``forward(..., z, ...) = y`` for one argument.

    It takes the arguments of ``forward``, y in the place of the one that it solves for, as SciPy's inverses
    do.
    """

    def rule(place: int, z: Array, *inputs: Array) -> Any:
        solved = (*inputs[:argument], z, *inputs[argument + 1 :])
        value = inputs[argument]
        across = forward().edge(argument)(value, *solved).d  # type: ignore[misc, union-attr]
        if place == argument:
            return 1.0 / across
        along = forward().edge(place)(value, *solved).d  # type: ignore[misc, union-attr]
        # At an end of the range, where the inverse is the end of the support, all is constant.
        constant = (along == 0) & (across == 0)
        return np.where(constant, 0.0, -along / np.where(constant, 1.0, across))

    return tuple([partial(rule, place) for place in range(count)])


def power_series(u: Array, coefficients: Sequence[float]) -> Any:
    """The sum of coefficients times powers of u, that of the power 0 first."""
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * u + coefficient
    return total


def removable(
    u: Array, series: Sequence[float], formula: Callable[[Array], Any], width: float
) -> Any:
    """A formula that is 0/0 at u = 0: where u is smaller than a width, the sum of its power series."""
    near = np.abs(u) < width
    total = power_series(np.where(near, u, 0.0), series)
    return np.where(near, total, formula(np.where(near, width, u)))
