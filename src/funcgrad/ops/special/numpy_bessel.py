"""`numpy.i0`: NumPy's value, by two sums of Chebyshev polynomials, and the slope `scipy.special.i1`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, astype, elementwise, lift_fully
from funcgrad.ops.special import bessel
from funcgrad.source import type_error
from funcgrad.typing import Array


def _run(x: Array) -> Any:
    with np.errstate(all="ignore"):
        return np.i0(x)[()]


def _unbounded_run(x: Array) -> Any:
    """With the limit at infinity, where NumPy's value is NaN."""
    return np.where(np.isposinf(x), np.inf, _run(x))


numpy_i0: Op = elementwise(
    "numpy_i0",
    _run,
    lambda z, x: bessel.i1(x),
    like=np.sin,
    real=True,
    columns=Columns(
        mpmath=lambda mp, x: mp.besseli(0, x),
        sympy=lambda sympy, x: sympy.besseli(0, x),
        interval=lambda iv, x: iv.even(_unbounded_run, x, iv.NEAR, 1.0),
        numpy="np.i0({0})",
        native={"f": "i0({0})"},
        libraries={"jax": "jax.scipy.special:i0", "torch": "torch.special:i0"},
    ),
)


def i0(x: object) -> Any:
    """As `numpy.i0`. The slopes of its polynomials would lose all digits next to 0."""
    x = lift_fully(x)
    if x.dtype.kind == "c":
        raise type_error("i0 not supported for complex values")
    return numpy_i0(x if x.dtype.kind == "f" else astype(x, dtype=np.dtype(float)))
