"""``scipy.fftpack`` for traced values: the transforms of `funcgrad.scipy.fft`, with the older module's names.

Pseudo-differential operators (`diff`, `hilbert`, `tilbert`, ...) are circular convolutions: their kernel is
what SciPy's function makes of a unit impulse. All other names lead to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.fftpack as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import fft as _fft
from funcgrad.scipy.composition import composed, floating, number
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.source import type_error, with_name
from funcgrad.typing import ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


def _renamed(name: str) -> Callable[..., Any]:
    """A transform of scipy.fft's, whose sizes ``s`` are the ``shape`` here.

    The inverse of a cosine or sine transform is here the transform of the inverse type: it is not divided.
    """
    inverse = name in ("idct", "idctn", "idst", "idstn")
    transform = getattr(_fft, name[1:] if inverse else name)

    def function(x: ArrayLike, **options: object) -> Any:
        if inverse:
            kind = options.get("type", 2)
            options["type"] = 5 - kind if kind in (2, 3) else kind
        if "shape" in options:
            options["s"] = options.pop("shape")
        return transform(x, **options)

    return _composed(with_name(function, name))


_SAME = (
    *("dct", "dctn", "dst", "dstn", "fft", "fft2", "fftn", "fftshift", "idct", "idctn", "idst"),
    *("idstn", "ifft", "ifft2", "ifftn", "ifftshift"),
)
globals().update({name: _renamed(name) for name in _SAME})


@_hosted
def rfft(x: ArrayLike, n: int | None = None, axis: int = -1, **_: object) -> Any:
    """As `scipy.fftpack.rfft`: real and imaginary parts in turns, without those that are 0."""
    rows = np.moveaxis(floating("rfft", x), axis, -1)
    size = rows.shape[-1] if n is None else n
    found = _fft.rfft(rows, size)
    turns = np.stack([np.real(found), np.imag(found)], -1).reshape(*found.shape[:-1], -1)
    return np.moveaxis(turns[..., [0, *range(2, size + 1)]], -1, axis)


@_hosted
def irfft(x: ArrayLike, n: int | None = None, axis: int = -1, **_: object) -> Any:
    rows = np.moveaxis(floating("irfft", x), axis, -1)
    size = rows.shape[-1] if n is None else n
    wide = size + 2 - size % 2  # with the imaginary parts that are 0
    whole = np.pad(
        rows[..., :size], (*[(0, 0)] * (rows.ndim - 1), (0, max(size - rows.shape[-1], 0)))
    )
    turns = np.concatenate([whole[..., :1], 0 * whole[..., :1], whole[..., 1:]], -1)
    turns = np.pad(turns, (*[(0, 0)] * (rows.ndim - 1), (0, wide - size - 1)))
    found = _fft.irfft(turns[..., ::2] + 1j * turns[..., 1::2], size)
    return np.moveaxis(found, -1, axis)


def _circular(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def function(x: ArrayLike, **options: object) -> Any:
        if holds_expr([*options.values()]):
            raise type_error(
                f"{name}: expected plain parameters, but got a traced one; write the product of "
                "np.fft.fft(x) with the operator's factors, and np.fft.ifft",
            )
        signal = number(name, x)
        impulse = np.zeros(signal.shape)
        impulse[:1] = 1.0
        factors = np.fft.fft(own(impulse, **options))
        found = np.fft.ifft(np.fft.fft(signal) * factors)
        return found if signal.dtype.kind == "c" else np.real(found)

    return _composed(with_name(function, name))


_CIRCULAR = (
    *("cc_diff", "cs_diff", "diff", "hilbert", "ihilbert", "itilbert", "sc_diff", "shift"),
    *("ss_diff", "tilbert"),
)
globals().update({name: _circular(name) for name in _CIRCULAR})

__getattr__ = partial(attribute_of, _scipy)
