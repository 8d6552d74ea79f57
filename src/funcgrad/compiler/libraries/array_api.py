"""The rows that libraries share whose functions have NumPy's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.index_spec import restore


def rows(xp: Any) -> dict[str, Callable[..., Any]]:
    """What the operations become in a namespace that is like NumPy's."""
    return {
        **{name: _along(getattr(xp, name)) for name in ("sum", "max", "min", "prod", "any", "all")},
        **{name: _along(getattr(xp, name)) for name in ("argmax", "argmin", "cumsum")},
        **composed(xp),
        "fft": lambda x, axis, inverse: (
            xp.fft.ifft(x, axis=axis, norm="forward") if inverse else xp.fft.fft(x, axis=axis)
        ),
        "argsort": lambda x, axis: xp.argsort(x, axis=axis, kind="stable"),
        "broadcast_to": lambda x, shape: xp.broadcast_to(x, shape),
        "reshape": lambda x, shape: xp.reshape(x, shape),
        "transpose": lambda x, axes: xp.transpose(x, axes),
        "concatenate": lambda *xs, axis: xp.concatenate(xs, axis=axis),
        "getitem": lambda x, *arrays, spec, shape: x[restore(spec, arrays)],
        "matmul": xp.matmul,
        "einsum": lambda *xs, subscripts: xp.einsum(subscripts, *xs),
        "norm": lambda x, axis: rooted(xp, xp.sum(squared(xp, x), axis=axis)),
    }


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, axis=axis)


def squared(xp: Any, x: Any) -> Any:
    """The squares of the entries' sizes."""
    return x * x if not _is_complex(x) else xp.real(x) ** 2 + xp.imag(x) ** 2


def rooted(xp: Any, total: Any) -> Any:
    """The root of a sum of squares, whose derivative by the library's own rules is 0 at 0."""
    nothing = total == 0
    return xp.where(
        nothing, xp.zeros_like(total), xp.sqrt(xp.where(nothing, xp.ones_like(total), total))
    )


def composed(xp: Any) -> dict[str, Callable[..., Any]]:
    """Operations that are a few functions of NumPy's names each, wherever those are."""

    def mask(condition: Any, x: Any) -> Any:
        return xp.where(condition, x, xp.zeros_like(x))

    return {
        "mask": mask,
        "sinc": lambda x, order: sinc(xp, x, order),
        "pick": lambda t, index: t[index],
        "together": lambda *parts: parts,
        "name": lambda x, name: x,
    }


def sinc(xp: Any, x: Any, order: int) -> Any:
    """The ``order``-th derivative of sin(pi x)/(pi x): see `funcgrad.ops.elementwise`."""
    u = np.pi * x
    small = xp.abs(u) <= max(1, order)
    safe = xp.where(small, xp.ones_like(u), u)
    far = xp.sin(safe) / safe
    for n in range(1, order + 1):
        far = (xp.sin(safe + n * np.pi / 2) - n * far) / safe
    near, term = xp.zeros_like(u), xp.where(small, u, xp.zeros_like(u))
    divisor = 1.0
    for k in range(order + 40):
        power = k - order
        divisor *= max(power, 1)
        if power >= 0 and k % 2 == 0:
            near = near + (-1) ** (k // 2) / (k + 1) / divisor * term**power
    return xp.where(small, near, far) * np.pi**order


def _is_complex(x: Any) -> bool:
    return "complex" in str(x.dtype)
