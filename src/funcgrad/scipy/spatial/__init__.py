"""``scipy.spatial`` for traced values: `distance` and `transform`. All other names lead to SciPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import scipy.spatial as _scipy

_OWN = ("distance", "transform")


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return import_module(f"funcgrad.scipy.spatial.{name}")
    return getattr(_scipy, name)
