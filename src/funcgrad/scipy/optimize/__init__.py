"""``scipy.optimize`` for traced values: solutions, differentiated by the implicit function theorem.

Where nothing is traced, the functions are SciPy's own. A function with traced arguments, or that captures
traced values, is solved to the limit of rounding by SciPy's solvers with exact derivatives, and Newton steps.
The solution is differentiable in the arguments and captured values to every order; the derivative in the
starting point is 0. `fmin` and other legacy functions give these solutions, too, and global searches that
of the minimum that they find. All other names lead to SciPy.
"""

from __future__ import annotations

from functools import partial

import scipy.optimize as _scipy

from funcgrad.scipy.optimize.active_sets import isotonic_regression as isotonic_regression
from funcgrad.scipy.optimize.active_sets import linear_sum_assignment as linear_sum_assignment
from funcgrad.scipy.optimize.active_sets import lsq_linear as lsq_linear
from funcgrad.scipy.optimize.active_sets import nnls as nnls
from funcgrad.scipy.optimize.equations import bisect as bisect
from funcgrad.scipy.optimize.equations import brenth as brenth
from funcgrad.scipy.optimize.equations import brentq as brentq
from funcgrad.scipy.optimize.equations import fixed_point as fixed_point
from funcgrad.scipy.optimize.equations import fsolve as fsolve
from funcgrad.scipy.optimize.equations import newton as newton
from funcgrad.scipy.optimize.equations import ridder as ridder
from funcgrad.scipy.optimize.equations import root as root
from funcgrad.scipy.optimize.equations import root_scalar as root_scalar
from funcgrad.scipy.optimize.equations import toms748 as toms748
from funcgrad.scipy.optimize.fits import curve_fit as curve_fit
from funcgrad.scipy.optimize.fits import least_squares as least_squares
from funcgrad.scipy.optimize.global_searches import SEARCHES
from funcgrad.scipy.optimize.legacy import LEGACY
from funcgrad.scipy.optimize.linear_programs import linprog as linprog
from funcgrad.scipy.optimize.linear_programs import milp as milp
from funcgrad.scipy.optimize.minima import minimize as minimize
from funcgrad.scipy.optimize.minima import minimize_scalar as minimize_scalar
from funcgrad.scipy.python_functions import attribute_of

globals().update(LEGACY)
globals().update(SEARCHES)

__getattr__ = partial(attribute_of, _scipy)
