"""As `numpy.emath`, also of nested lists of traced values."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from funcgrad.numpy.array_likes import array_functions as _array_functions

globals().update(_array_functions(_numpy.emath))


def __getattr__(name: str) -> Any:
    return getattr(_numpy.emath, name)


def __dir__() -> list[str]:
    return dir(_numpy.emath)
