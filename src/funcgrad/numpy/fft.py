"""As `numpy.fft`, also of nested lists of traced values."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from funcgrad.numpy.array_likes import array_functions as _array_functions

globals().update(_array_functions(_numpy.fft))


def __getattr__(name: str) -> Any:
    return getattr(_numpy.fft, name)


def __dir__() -> list[str]:
    return dir(_numpy.fft)
