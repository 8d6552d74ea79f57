"""``scipy.spatial`` for traced values: `distance`, `transform`, `KDTree`, `ConvexHull`, `Delaunay`.

All other names lead to SciPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import scipy.spatial as _scipy

from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.spatial.hulls import ConvexHull as ConvexHull
from funcgrad.scipy.spatial.hulls import Delaunay as Delaunay
from funcgrad.scipy.spatial.trees import KDTree as KDTree
from funcgrad.scipy.spatial.trees import cKDTree as cKDTree

_OWN = ("distance", "transform")


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return import_module(f"funcgrad.scipy.spatial.{name}")
    return attribute_of(_scipy, name)
