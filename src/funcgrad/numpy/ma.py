"""As `numpy.ma`, of traced values, too: for `import funcgrad.numpy.ma`."""

import sys

from funcgrad import numpy

sys.modules[__name__] = numpy.ma
