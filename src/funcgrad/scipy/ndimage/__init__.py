"""``scipy.ndimage`` for traced values: filters, samples, and images that are moved, scaled or turned.

`map_coordinates` and what is made of it take traced images and coordinates; filters are sums, extremes and
ranks of shifted copies of the padded image. SciPy's other filters and morphology are made of these. All other
names lead to SciPy.
"""

from __future__ import annotations

from functools import partial

import scipy.ndimage as _scipy

from funcgrad.scipy.ndimage.filters import convolve as convolve
from funcgrad.scipy.ndimage.filters import convolve1d as convolve1d
from funcgrad.scipy.ndimage.filters import correlate as correlate
from funcgrad.scipy.ndimage.filters import correlate1d as correlate1d
from funcgrad.scipy.ndimage.filters import maximum_filter1d as maximum_filter1d
from funcgrad.scipy.ndimage.filters import minimum_filter1d as minimum_filter1d
from funcgrad.scipy.ndimage.filters import uniform_filter1d as uniform_filter1d
from funcgrad.scipy.ndimage.generic import generic_filter as generic_filter
from funcgrad.scipy.ndimage.generic import generic_filter1d as generic_filter1d
from funcgrad.scipy.ndimage.geometry import affine_transform as affine_transform
from funcgrad.scipy.ndimage.geometry import fourier_ellipsoid as fourier_ellipsoid
from funcgrad.scipy.ndimage.geometry import fourier_gaussian as fourier_gaussian
from funcgrad.scipy.ndimage.geometry import fourier_shift as fourier_shift
from funcgrad.scipy.ndimage.geometry import fourier_uniform as fourier_uniform
from funcgrad.scipy.ndimage.geometry import geometric_transform as geometric_transform
from funcgrad.scipy.ndimage.geometry import shift as shift
from funcgrad.scipy.ndimage.geometry import zoom as zoom
from funcgrad.scipy.ndimage.rank_filters import median_filter as median_filter
from funcgrad.scipy.ndimage.rank_filters import percentile_filter as percentile_filter
from funcgrad.scipy.ndimage.rank_filters import rank_filter as rank_filter
from funcgrad.scipy.ndimage.regions import OF_MASKS
from funcgrad.scipy.ndimage.regions import find_objects as find_objects
from funcgrad.scipy.ndimage.regions import standard_deviation as standard_deviation
from funcgrad.scipy.ndimage.sampling import map_coordinates as map_coordinates
from funcgrad.scipy.ndimage.sampling import spline_filter as spline_filter
from funcgrad.scipy.ndimage.sampling import spline_filter1d as spline_filter1d
from funcgrad.scipy.python_functions import attribute_of

globals().update(OF_MASKS)

__getattr__ = partial(attribute_of, _scipy)
