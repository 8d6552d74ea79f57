"""Nodes and weights of Gauss's quadrature for Jacobi's and Gegenbauer's weights, in their exponents.

SciPy has code of its own for equal exponents and exponents of 0, whose slope is not that in one exponent.
Here the nodes are the eigenvalues of the matrix of the recurrence, and the weights come from the first
entries of its eigenvectors (Golub and Welsch 1969), for all exponents alike. Values are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as _scipy
from scipy.special import betaln

from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import nondifferentiable, only_plain, real, with_value
from funcgrad.typing import Array


def _rule(a: Array, b: Array, n: int) -> Any:
    """The nodes, the weights and the sum of the weights for (1 - x)^a (1 + x)^b, in one array."""
    k, later = np.arange(1.0, n), np.arange(2.0, n)
    total = a + b
    diagonal = np.concatenate(
        [
            np.reshape((b - a) / (2 + total), 1),
            (b - a) * total / ((2 * k + total) * (2 * k + total + 2)),
        ]
    )
    first = np.sqrt((1 + a) * (1 + b) / (3 + total)) * (2 / (2 + total))
    beside = later * (later + total) * (later + a) * (later + b)
    beside = beside / ((2 * later + total - 1) * (2 * later + total + 1))
    beside = np.concatenate([np.reshape(first, 1), 2 * np.sqrt(beside) / (2 * later + total)])
    beside = beside[: n - 1]
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    nodes, vectors = np.linalg.eigh(matrix)
    mass = np.exp((total + 1) * math.log(2.0) + betaln(a + 1, b + 1))
    return np.concatenate([nodes, mass * vectors[0] ** 2, np.reshape(mass, 1)])


def _as_scipys(who: str, run: Callable[..., Any], found: Any, n: int, mu: bool, *at: Array) -> Any:
    known = [known_value(lift_fully(x)) for x in at]
    if not any([x is None for x in known]):
        run(n, *known)  # which refuses exponents out of range

    def joined(*exponents: Array) -> Array:
        return np.hstack(run(n, *[x[()] for x in exponents], True))

    own = nondifferentiable(who, joined, *at, like=lambda *_: np.zeros(2 * n + 1))
    both = with_value(own, found)
    parts = both[:n], both[n:-1], both[-1]
    return parts if mu else parts[:2]


def roots_jacobi(n: int, alpha: Array, beta: Array, mu: bool = False) -> Any:
    """As `scipy.special.roots_jacobi`, in alpha and beta.

    >>> import funcgrad as fg
    >>> round(fg.grad(lambda b: roots_jacobi(1, 0.0, b)[0][0])(0.0), 12)  # of b/(2 + b)
    0.5
    """
    only_plain("roots_jacobi", n=n)
    a, b = real("roots_jacobi", alpha), real("roots_jacobi", beta)
    n = int(n)
    return _as_scipys("roots_jacobi", _scipy.roots_jacobi, _rule(a, b, n), n, mu, a, b)


def roots_gegenbauer(n: int, alpha: Array, mu: bool = False) -> Any:
    """As `scipy.special.roots_gegenbauer`, in alpha."""
    only_plain("roots_gegenbauer", n=n)
    a, n = real("roots_gegenbauer", alpha), int(n)
    found = _rule(a - 0.5, a - 0.5, n)
    return _as_scipys("roots_gegenbauer", _scipy.roots_gegenbauer, found, n, mu, a)


def scale_polynomial(polynomial: Any, factor: Array) -> None:
    """As SciPy's ``orthopoly1d._scale``, which looks whether the factor is 1."""
    own = polynomial._eval_func
    polynomial._coeffs = polynomial._coeffs * factor
    if own:
        polynomial._eval_func = lambda x: own(x) * factor
    polynomial.normcoef = polynomial.normcoef * factor
