"""Cosine and sine transforms along the last axis as an operation, which SciPy runs.

Each is a matrix of cosines, or sines, of products of places. Its transpose is that of another type.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.linear import Structural
from funcgrad.ops import fourier
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op
from funcgrad.typing import Array


class Kind(NamedTuple):
    """A transform y[k] = sum of w[n] x[n] cos(pi (k + a) (n + b) / (N + m)), or sin."""

    a: float
    b: float
    m: int
    single: tuple[int, ...] = ()
    """The places n of the weight 1 in SciPy's transform; the others have 2."""
    scaled: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The places of x, and of y, that ``orthogonalize`` multiplies, and divides, by the square root of 2."""


_COSINE = {
    1: Kind(0.0, 0.0, -1, (0, -1), ((0, -1), (0, -1))),
    2: Kind(0.0, 0.5, 0, (), ((), (0,))),
    3: Kind(0.5, 0.0, 0, (0,), ((0,), ())),
    4: Kind(0.5, 0.5, 0),
}
_SINE = {
    1: Kind(1.0, 1.0, 1),
    2: Kind(1.0, 0.5, 0, (), ((), (-1,))),
    3: Kind(0.5, 1.0, 0, (-1,), ((-1,), ())),
    4: Kind(0.5, 0.5, 0),
}
TRANSPOSED = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type of the transpose of each, and of its inverse."""


def kind_of(type: int, sine: bool) -> Kind:
    """A type of cosine or sine transforms."""
    return (_SINE if sine else _COSINE)[type]


def weighted(x: Array, places: tuple[int, ...], factor: float) -> Any:
    """The entries with those at some places along the last axis multiplied."""
    scale = np.ones(np.shape(x)[-1], x.dtype)
    scale[list(places)] = factor
    return x * scale if places else x


def _run(x: Array, type: int, sine: bool) -> Any:
    from scipy import fft

    if not x.size:
        return np.zeros_like(x)
    doubled = weighted(x, kind_of(type, sine).single, 2.0)
    return (fft.dst if sine else fft.dct)(doubled, type) * x.dtype.type(0.5)


def _by_fourier(x: Array, type: int, sine: bool) -> Any:
    """By a Fourier transform of twice as many points, between two products with phases."""
    kind, size = kind_of(type, sine), x.shape[-1]
    period = 2 * (size + kind.m)
    n = np.arange(size)
    dtype = np.result_type(x.dtype, np.complex64)
    before = np.exp(-2j * math.pi * kind.a * n / period)
    after = np.exp(-2j * math.pi * kind.b * (n + kind.a) / period)
    whole = fourier.fft(x * before.astype(dtype), max(period, size))[..., :size]
    z = whole * after.astype(dtype)
    return -np.imag(z) if sine else np.real(z)


cosine_transform_op: Op = Op(
    name="cosine_transform",
    run=_run,
    infer=lambda x, type, sine: x,
    edges=(
        lambda z, x, *, type, sine: Structural(
            lambda v: cosine_transform_op(v, type=type, sine=sine),
            lambda g: cosine_transform_op(g, type=TRANSPOSED[type], sine=sine),
        ),
    ),
    batch=lambda size, batched, x, type, sine: cosine_transform_op(x, type=type, sine=sine),
    columns=Columns(
        decompose=_by_fourier,
        flops=lambda z: 3 * z.size * max(z.shape[-1] - 1, 0).bit_length(),
        fresh=True,
        shown=False,
    ),
)
"""y[k] = sum of x[n] cos(pi (k + a) (n + b) / (N + m)) along the last axis, or sin, of real numbers."""
