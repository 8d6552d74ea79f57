"""``scipy.interpolate`` for traced values: interpolants, in their data, abscissae and points.

`CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`, `CubicHermiteSpline`, `interp1d`,
`RegularGridInterpolator` and `splev` take traced values; interpolants of plain data are SciPy's own at plain
points. The search for a point's cell has derivative 0. All other names lead to SciPy.
"""

from __future__ import annotations

from typing import Any

import scipy.interpolate as _scipy

from funcgrad.scipy.interpolate.cubic import Akima1DInterpolator as Akima1DInterpolator
from funcgrad.scipy.interpolate.cubic import CubicHermiteSpline as CubicHermiteSpline
from funcgrad.scipy.interpolate.cubic import CubicSpline as CubicSpline
from funcgrad.scipy.interpolate.cubic import PchipInterpolator as PchipInterpolator
from funcgrad.scipy.interpolate.grid import RegularGridInterpolator as RegularGridInterpolator
from funcgrad.scipy.interpolate.grid import interp1d as interp1d
from funcgrad.scipy.interpolate.grid import splev as splev

pchip = PchipInterpolator


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)
