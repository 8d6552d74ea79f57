"""The exponential of matrices, and hyperbolic functions by it; trigonometric ones are SciPy's own code."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.scipy.composition import composed, number
from funcgrad.source import value_error
from funcgrad.transforms.control_flow.cond import cond
from funcgrad.transforms.control_flow.loops import fori_loop
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed, _hosted = composed(_scipy, single=True, host=True), composed(_scipy, host=True)


@_composed
def expm(A: ArrayLike) -> Any:
    # Scaling and squaring around the Pade approximant of degree 13 (Higham, 2005), each matrix of a stack by
    # its own number of halvings.
    a = np.atleast_2d(number("expm", A))
    if not a.size:
        return 1.0 * a
    halvings = _halvings(stop_gradient(a))
    scaled, eye = a / 2.0 ** halvings[..., None, None], np.eye(a.shape[-1])
    b = [
        *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0),
        *(129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0),
        *(40840800.0, 960960.0, 16380.0, 182.0, 1.0),
    ]
    two = scaled @ scaled
    four = two @ two
    six = four @ two
    odd = six @ (b[13] * six + b[11] * four + b[9] * two)
    odd = scaled @ (odd + b[7] * six + b[5] * four + b[3] * two + b[1] * eye)
    even = six @ (b[12] * six + b[10] * four + b[8] * two)
    even = even + b[6] * six + b[4] * four + b[2] * two + b[0] * eye
    result = np.linalg.solve(even - odd, even + odd)
    if a.ndim == 2:
        return fori_loop(0, halvings.astype(int), lambda _, x: x @ x, result)

    def squared(k: Any, x: Any) -> Any:
        return np.where((k < halvings)[..., None, None], x @ x, x)

    return fori_loop(0, np.max(halvings).astype(int), squared, result)


_THETA = 5.371920351148152
"""The norm up to which the approximant of degree 13 is exact to rounding."""
_FIRST_LEFT_OUT = 1 / 113250775606021113483283660800000000
"""The first coefficient of the backward error, that of the power 27."""


def _halvings(a: Array) -> Any:
    """How often a matrix is halved: by its norm, or less by those of its powers (Al-Mohy and Higham, 2009).

    The norm alone halves matrices with great entries beside their diagonal too often, and the squarings lose
    all digits.
    """
    size = _norm(a)
    ratio = np.where((size > 0) & (size < np.inf), size, 1.0) / _THETA
    most = np.maximum(np.ceil(np.log2(ratio)), 0.0)
    return cond(np.any(most > 0), _by_powers, lambda a, most: most, a, most)


def _by_powers(a: Array, most: Array) -> Any:
    unit = a / 2.0 ** most[..., None, None]  # whose powers do not overflow
    two = unit @ unit
    four = two @ two
    six = four @ two
    sixth, eighth = _norm(six) ** (1 / 6), _norm(four @ four) ** (1 / 8)
    tenth = _norm(four @ six) ** (1 / 10)
    reach = np.minimum(np.maximum(sixth, eighth), np.maximum(eighth, tenth))
    least = np.maximum(most - 960, 0.0)  # the approximant multiplies the matrix by 1e17
    enough = np.maximum(most + np.ceil(np.log2(reach / _THETA)), least)
    # Rounding errors grow with the powers of the absolute values.
    cube = np.abs(unit) @ np.abs(unit) @ np.abs(unit)
    ninth = cube @ cube @ cube
    error = np.log2(_FIRST_LEFT_OUT * _norm(ninth @ ninth @ ninth) / _norm(unit))
    more = np.maximum(np.ceil((error + 53) / 26 + most - enough), 0.0)
    return np.where(enough + more < most, enough + more, most)


def _norm(a: Array) -> Any:
    return np.max(np.sum(np.abs(a), axis=-2), axis=-1)


@_hosted  # in double precision, as SciPy
def expm_frechet(
    A: ArrayLike, E: ArrayLike, method: str | None = None, compute_expm: bool = True, **_: object
) -> Any:
    """As `scipy.linalg.expm_frechet`, by the exponential of
    [[A, E], [0, A]].
    """
    a, direction = number("expm_frechet", A), number("expm_frechet", E)
    if a.shape[-2:] != direction.shape[-2:] or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise value_error(
            f"expm_frechet: expected square matrices of one shape, but got {a.shape} and {direction.shape}",
        )
    a, direction = np.broadcast_arrays(a, direction)
    a, direction = [x.astype(np.result_type(x.dtype, float)) for x in (a, direction)]
    n = a.shape[-1]
    upper = np.concatenate([a, direction], axis=-1)
    lower = np.concatenate([0 * a, a], axis=-1)
    both = expm(np.concatenate([upper, lower], axis=-2))
    slope = both[..., :n, n:]
    return (both[..., :n, :n], slope) if compute_expm else slope


@_composed
def tanhm(A: ArrayLike) -> Any:
    a = number("tanhm", A)
    rising, falling = expm(a), expm(-a)
    return np.linalg.solve(rising + falling, rising - falling)
