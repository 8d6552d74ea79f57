"""Linear algebra: the libraries have NumPy's names in their own ``linalg``.

What NumPy raises `LinAlgError` for, JAX answers with nan or inf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def rows(xp: Any, **more: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """What the operations on stacks of matrices become; ``more`` are those that differ."""
    return {
        "solve": lambda a, b: xp.linalg.solve(a, b),
        "inv": lambda a: xp.linalg.inv(a),
        "pinv": lambda a, rcond, hermitian: xp.linalg.pinv(a, rtol=rcond, hermitian=hermitian),
        "cholesky": lambda a: xp.linalg.cholesky(a),
        "eigh": lambda a, triangle: tuple(xp.linalg.eigh(a, triangle)),
        "svd": lambda a: tuple(xp.linalg.svd(a, full_matrices=False)),
        "qr": lambda a: tuple(xp.linalg.qr(a)),
        "det": lambda a: xp.linalg.det(a),
        "detsign": lambda a: xp.linalg.slogdet(a)[0],
        "detphase": lambda a: xp.linalg.slogdet(a)[0],
        "logabsdet": lambda a: xp.linalg.slogdet(a)[1],
        "cofactors": lambda a: _cofactors(xp, a),
        **more,
    }


def _cofactors(xp: Any, a: Any) -> Any:
    """As the operation: by the singular values, without division."""
    u, s, v = xp.linalg.svd(a, full_matrices=False)
    n = s.shape[-1]
    others = [
        xp.prod(xp.concatenate([s[..., :i], s[..., i + 1 :]], axis=-1), axis=-1) for i in range(n)
    ]
    sign = (xp.linalg.det(u) * xp.linalg.det(v))[..., None, None]
    return sign * xp.matmul(xp.conj(u) * xp.stack(others, axis=-1)[..., None, :], xp.conj(v))
