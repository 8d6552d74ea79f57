"""As `numpy.random`, of traced values, too: for `import funcgrad.numpy.random`."""

import sys

from funcgrad import numpy

sys.modules[__name__] = numpy.random
