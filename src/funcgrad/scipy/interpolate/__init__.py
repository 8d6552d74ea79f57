"""``scipy.interpolate`` for traced values: interpolants, in their data, abscissae and points.

`CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`, `CubicHermiteSpline`, `PPoly`, `BSpline`,
`make_interp_spline`, `make_lsq_spline`, `interp1d`, `interpn`, `RegularGridInterpolator`,
`RectBivariateSpline`, `RBFInterpolator`, interpolants of scattered data, `UnivariateSpline` and its like,
and FITPACK's functions take traced values; interpolants of plain data are SciPy's own at plain points,
and SciPy's own, made anywhere, take traced points in adopted code. The search for a point's cell has
derivative 0. All other names lead to SciPy.
"""

from __future__ import annotations

from functools import partial

import scipy.interpolate as _scipy

from funcgrad.scipy.interpolate.bivariate import LSQBivariateSpline as LSQBivariateSpline
from funcgrad.scipy.interpolate.bivariate import NdBSpline as NdBSpline
from funcgrad.scipy.interpolate.bivariate import RectBivariateSpline as RectBivariateSpline
from funcgrad.scipy.interpolate.bivariate import SmoothBivariateSpline as SmoothBivariateSpline
from funcgrad.scipy.interpolate.bivariate import bisplev as bisplev
from funcgrad.scipy.interpolate.bspline import BSpline as BSpline
from funcgrad.scipy.interpolate.clough_tocher import (
    CloughTocher2DInterpolator as CloughTocher2DInterpolator,
)
from funcgrad.scipy.interpolate.cubic import Akima1DInterpolator as Akima1DInterpolator
from funcgrad.scipy.interpolate.cubic import CubicHermiteSpline as CubicHermiteSpline
from funcgrad.scipy.interpolate.cubic import CubicSpline as CubicSpline
from funcgrad.scipy.interpolate.cubic import PchipInterpolator as PchipInterpolator
from funcgrad.scipy.interpolate.fitpack import insert as insert
from funcgrad.scipy.interpolate.fitpack import make_splprep as make_splprep
from funcgrad.scipy.interpolate.fitpack import make_splrep as make_splrep
from funcgrad.scipy.interpolate.fitpack import spalde as spalde
from funcgrad.scipy.interpolate.fitpack import splantider as splantider
from funcgrad.scipy.interpolate.fitpack import splder as splder
from funcgrad.scipy.interpolate.fitpack import splev as splev
from funcgrad.scipy.interpolate.fitpack import splint as splint
from funcgrad.scipy.interpolate.fitpack import splprep as splprep
from funcgrad.scipy.interpolate.fitpack import splrep as splrep
from funcgrad.scipy.interpolate.fitpack import sproot as sproot
from funcgrad.scipy.interpolate.fitted import (
    InterpolatedUnivariateSpline as InterpolatedUnivariateSpline,
)
from funcgrad.scipy.interpolate.fitted import LSQUnivariateSpline as LSQUnivariateSpline
from funcgrad.scipy.interpolate.fitted import UnivariateSpline as UnivariateSpline
from funcgrad.scipy.interpolate.grid import RegularGridInterpolator as RegularGridInterpolator
from funcgrad.scipy.interpolate.grid import interp1d as interp1d
from funcgrad.scipy.interpolate.grid import interpn as interpn
from funcgrad.scipy.interpolate.piecewise import PPoly as PPoly
from funcgrad.scipy.interpolate.radial import RBFInterpolator as RBFInterpolator
from funcgrad.scipy.interpolate.scattered import LinearNDInterpolator as LinearNDInterpolator
from funcgrad.scipy.interpolate.scattered import NearestNDInterpolator as NearestNDInterpolator
from funcgrad.scipy.interpolate.sphere import LSQSphereBivariateSpline as LSQSphereBivariateSpline
from funcgrad.scipy.interpolate.sphere import RectSphereBivariateSpline as RectSphereBivariateSpline
from funcgrad.scipy.interpolate.sphere import (
    SmoothSphereBivariateSpline as SmoothSphereBivariateSpline,
)
from funcgrad.scipy.interpolate.through_data import generate_knots as generate_knots
from funcgrad.scipy.interpolate.through_data import make_interp_spline as make_interp_spline
from funcgrad.scipy.interpolate.through_data import make_lsq_spline as make_lsq_spline
from funcgrad.scipy.python_functions import attribute_of

pchip = PchipInterpolator

__getattr__ = partial(attribute_of, _scipy)
