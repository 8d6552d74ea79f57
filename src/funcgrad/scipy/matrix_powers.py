"""Functions of matrices of `scipy.linalg` that have branches: roots, powers, the logarithm and the sign.

A real matrix with negative eigenvalues has a complex root. SciPy finds it by the real form of Schur, so that
rounding does not move an eigenvalue across the branch cut: the matrix stays real, and the result is complex.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, nondifferentiable, number
from funcgrad.scipy.external_function import with_pullback
from funcgrad.scipy.matrix_equations import square_matrix, sylvester
from funcgrad.scipy.matrix_exponentials import expm
from funcgrad.source import type_error, value_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)
_kept = composed(_scipy, single=True, host=True)
_Function = Callable[[Array], Any]
_Rule = Callable[[Array, Array, Array], Any]


def has_complex_value(name: str, own: Callable[..., Any], *given: Any) -> bool:
    """Whether SciPy's function of a matrix is complex.

    A program that stands for any values, a formula or one under `vmap`, has the type of the matrix.
    """
    if given[0].dtype.kind == "c":
        return True

    def flag(*values: Array) -> Any:
        # SciPy draws directions, to estimate norms, from the generator whose draws `jit` warns of.
        state = np.random.get_state()  # noqa: NPY002
        found = np.int64(_is_complex(own(*values)))
        np.random.set_state(state)  # noqa: NPY002
        return found

    try:
        # An integer: where a function runs once for each of its paths, a condition would be one more path.
        found = nondifferentiable(f"{name}_is_complex", flag, *given, like=lambda *_: np.int64(0))
        return bool(int(found))
    except TypeError:  # mapped, or a formula: there is no value to ask for
        return False


def _is_complex(value: Array) -> Any:
    """Whether a value is more than a real one with rounding errors."""
    return np.any(np.abs(np.imag(value)) > 1e-12 * np.max(np.abs(value), initial=0.0))


def complex_type(a: ArrayType) -> ArrayType:
    """The type of a complex result of its precision."""
    return ArrayType(a.shape, np.result_type(a.dtype, np.complex64))


def _real_function(name: str, own: _Function, rule: _Rule) -> _Function:
    """A real function of a real matrix, whose derivative along a direction is ``rule(a, value, direction)``.

    That of the transposed matrix is its transpose.
    """

    def run(a: Array) -> Any:
        value = own(a)
        if _is_complex(value):
            raise value_error(
                f"{name}: expected a real matrix with a real result, but it is complex, and a mapped "
                f"function or a formula has one type for all values; write {name}(a.astype(complex))",
            )
        return value.real

    def pullback(a: Array, x: Array, g: Array) -> tuple[Any, ...]:
        return (rule(a.T, x.T, g),)

    return with_pullback(name, run, lambda a: a, pullback, rule)


def _complex_function(name: str, own: _Function, rule: _Rule) -> _Function:
    """The same for a complex function, of a real or a complex matrix."""

    def run(a: Array) -> Any:
        # With complex arithmetic, rounding chooses the side of the cut for a negative eigenvalue.
        is_real = not (np.any(np.imag(a)) or np.any(np.signbit(np.imag(a))))
        return own(np.real(a) if is_real else a).astype(np.result_type(a.dtype, np.complex64))

    def pullback(a: Array, x: Array, g: Array) -> tuple[Any, ...]:
        found = rule(a.T, x.T, g)
        return (found if a.dtype.kind == "c" else np.real(found),)

    return with_pullback(name, run, complex_type, pullback, rule)


def _root_along(a: Array, x: Array, direction: Array) -> Any:
    """x dx + dx x = da. There is none at singular matrices, where SciPy divides by a small number."""
    change = direction if direction.dtype == x.dtype else direction + 0 * x
    return sylvester(x, x, change) * np.where(np.linalg.slogdet(a)[0] == 0, np.nan, 1.0)


_real_root = _real_function("sqrtm", _scipy.sqrtm, _root_along)
_root = _complex_function("sqrtm", _scipy.sqrtm, _root_along)


def _along_by_blocks(found: _Function, a: Array, direction: Array) -> Any:
    """The derivative as a block of the function of a block matrix (Mathias 1996).

    It has each eigenvalue twice, and rounding parts the two: they must not lie on two sides of a cut. A
    direction of the size of the matrix leaves the digits of both.
    """
    n = a.shape[0]
    factor = _ratio_of_sizes(a, direction)
    return found(np.block([[a, factor * direction], [0 * a, a]]))[:n, n:] / factor


def _ratio_of_sizes(a: Array, direction: Array) -> Any:
    """The power of two next to the ratio of the largest entries, or 1 if there is none."""
    sizes = [np.max(np.abs(stop_gradient(x)), initial=0.0) for x in (a, direction)]
    known = np.logical_and(*[np.logical_and(size > 0, np.isfinite(size)) for size in sizes])
    logs = [np.rint(np.log2(np.where(known, size, 1.0))) for size in sizes]
    return np.exp2(np.clip(logs[0] - logs[1], -1000.0, 1000.0))


def _by_blocks(
    kind: Callable[[str, _Function, _Rule], _Function], name: str, own: _Function
) -> _Function:
    found = kind(name, own, lambda a, _, direction: _along_by_blocks(found, a, direction))
    return found


def _by_roots(name: str, own: _Function, of_root: _Function, factor: float = 1.0) -> _Function:
    """A complex function that is ``factor * of_root(sqrtm(a))``.

    The eigenvalues of the root are in the right half-plane, far from the cut.
    """

    def along(a: Array, _: Array, direction: Array) -> Any:
        root = _root(a)
        return factor * _along_by_blocks(of_root, root, _root_along(a, root, direction))

    return _complex_function(name, own, along)


_real_logarithm = _by_blocks(_real_function, "logm", _scipy.logm)
_logarithm = _by_roots("logm", _scipy.logm, _by_blocks(_complex_function, "logm", _scipy.logm), 2.0)


@lru_cache(maxsize=64)
def _powers(t: float) -> tuple[_Function, _Function]:
    """The power of a matrix as a real and as a complex function. One that is whole has no branch cut."""

    def to_the(t: float) -> tuple[str, _Function]:
        return "fractional_matrix_power", lambda a: _scipy.fractional_matrix_power(a, t)

    real = _by_blocks(_real_function, *to_the(t))
    if t == int(t):
        return real, _by_blocks(_complex_function, *to_the(t))
    return real, _by_roots(*to_the(t), _by_blocks(_complex_function, *to_the(2 * t)))


def _without_error(name: str, disp: bool) -> None:
    if not disp:
        raise type_error(f"{name}: disp={disp!r} is not supported with traced values; leave it out")


@_composed
def logm(A: ArrayLike, disp: bool = True) -> Any:
    _without_error("logm", disp)
    a = square_matrix("logm", number("logm", A))
    return (_logarithm if has_complex_value("logm", _scipy.logm, a) else _real_logarithm)(a)


@_kept
def sqrtm(A: ArrayLike, disp: bool = True, **_: object) -> Any:
    _without_error("sqrtm", disp)
    a = square_matrix("sqrtm", number("sqrtm", A))
    return (_root if has_complex_value("sqrtm", _scipy.sqrtm, a) else _real_root)(a)


@_composed
def fractional_matrix_power(A: ArrayLike, t: Any) -> Any:
    """As `scipy.linalg.fractional_matrix_power`, in the matrix and the power.

    >>> import funcgrad as fg
    >>> round(fg.grad(lambda t: fractional_matrix_power([[2.0]], t)[0, 0])(1.0), 12)
    1.38629436112
    """
    name = "fractional_matrix_power"
    if holds_expr(t):
        power = float(by_value(t, name))
        here, log = fractional_matrix_power(A, power), logm(A)
        if log.dtype.kind == "c" and here.dtype.kind != "c":
            raise type_error(
                f"{name}: expected a matrix whose powers beside {power} are real, as this one is, but they "
                "are complex; write expm(t * logm(A))",
            )
        return here @ expm((t - power) * log)
    a = square_matrix(name, number(name, A))
    whole = has_complex_value(name, lambda a: _scipy.fractional_matrix_power(a, t), a)
    return _powers(t)[whole](a)


def _sign_along(a: Array, x: Array, direction: Array) -> Any:
    """N dx + dx N = da - x da x, where N = x a is the root of a squared (Kenney and Laub, 1991)."""
    root = x @ a
    return sylvester(root, root, direction - x @ direction @ x)


_REAL_SIGN = _real_function("signm", _scipy.signm, _sign_along)
_COMPLEX_SIGN = _complex_function("signm", _scipy.signm, _sign_along)


@_kept
def signm(A: ArrayLike, disp: bool = True) -> Any:
    _without_error("signm", disp)
    a = square_matrix("signm", number("signm", A))
    return (_COMPLEX_SIGN if a.dtype.kind == "c" else _REAL_SIGN)(a)
