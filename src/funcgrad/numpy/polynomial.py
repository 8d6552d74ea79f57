"""As `numpy.polynomial`, of traced values, too: for `import funcgrad.numpy.polynomial`."""

import sys

from funcgrad import numpy

sys.modules[__name__] = numpy.polynomial
