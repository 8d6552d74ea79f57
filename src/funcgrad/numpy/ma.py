"""As `numpy.ma`, of traced values, too: for `import funcgrad.numpy.ma`."""

from functools import partial as _partial

import numpy as _numpy

from funcgrad import numpy as _face

__getattr__, __dir__ = _partial(getattr, _face.ma), _partial(dir, _numpy.ma)
