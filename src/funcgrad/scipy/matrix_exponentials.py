"""The exponential of matrices, and hyperbolic functions by it; trigonometric ones are SciPy's own code."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.scipy.composition import composed, number
from funcgrad.source import value_error
from funcgrad.transforms.control_flow.loops import fori_loop, while_loop
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed, _hosted = composed(_scipy, single=True, host=True), composed(_scipy, host=True)


@_composed
def expm(A: ArrayLike) -> Any:
    # Scaling and squaring around the Pade approximant of degree 13 (Higham, 2005), each matrix of a stack by
    # its own powers of 2 and number of halvings.
    a = np.atleast_2d(number("expm", A))
    if not a.size:
        return 1.0 * a
    factors = _balanced(stop_gradient(a))
    a = a * factors
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
        return fori_loop(0, halvings.astype(int), lambda _, x: x @ x, result) / factors

    def squared(k: Any, x: Any) -> Any:
        return np.where((k < halvings)[..., None, None], x @ x, x)

    return fori_loop(0, np.max(halvings).astype(int), squared, result) / factors


_THETA = 5.371920351148152
"""The norm up to which the approximant of degree 13 is exact to rounding."""
_MOST_SWEEPS = 300


def _halvings(a: Array) -> Any:
    size = _largest_sum(np.abs(a))
    ratio = np.where((size > 0) & (size < np.inf), size, 1.0) / _THETA
    return np.maximum(np.ceil(np.log2(ratio)), 0.0)


def _balanced(a: Array) -> Any:
    """The powers of 2 with which a matrix has rows and columns of like sums (Osborne, 1960).

    Entry [i, j] is that of d[j]/d[i]. A matrix with great entries beside its diagonal would be halved too
    often, and the squarings would lose all digits. The sums of a triangular matrix become small.
    """
    sizes = np.abs(a)
    beside = sizes * (1.0 - np.eye(a.shape[-1])).astype(sizes.dtype)
    reach = np.finfo(sizes.dtype).maxexp // 2 - 4

    def factors(x: Array) -> Any:
        x = np.rint(x)
        return np.exp2(x[..., None, :] - x[..., :, None])

    def is_large(size: Array) -> Any:
        return (size > _THETA) & (size < np.inf)

    def sweep(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        x, _, count = state
        moved = beside * factors(x)
        rows, columns = np.sum(moved, axis=-1), np.sum(moved, axis=-2)
        step = np.log2((rows + 1e-3) / (columns + 1e-3)) / 4
        far = is_large(_largest_sum(sizes * factors(x))) & np.any(np.abs(step) >= 0.5, axis=-1)
        return np.where(far[..., None], np.clip(x + step, -reach, reach), x), far, count + 1

    start = np.zeros(a.shape[:-1], sizes.dtype), is_large(_largest_sum(sizes)), 0
    more = lambda state: np.any(state[1]) & (state[2] < _MOST_SWEEPS)  # noqa: E731
    return factors(while_loop(more, sweep, start)[0])


def _largest_sum(sizes: Array) -> Any:
    return np.max(np.sum(sizes, axis=-2), axis=-1)


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
    both = expm(np.block([[a, direction], [0 * a, a]]))
    slope = both[..., :n, n:]
    return (both[..., :n, :n], slope) if compute_expm else slope


@_composed
def tanhm(A: ArrayLike) -> Any:
    a = number("tanhm", A)
    rising, falling = expm(a), expm(-a)
    return np.linalg.solve(rising + falling, rising - falling)
