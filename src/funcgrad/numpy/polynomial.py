"""As `numpy.polynomial`, of traced values, too: for `import funcgrad.numpy.polynomial`."""

from functools import partial as _partial

import numpy as _numpy

from funcgrad import numpy as _face

__getattr__, __dir__ = _partial(getattr, _face.polynomial), _partial(dir, _numpy.polynomial)
