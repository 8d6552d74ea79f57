"""As `numpy.linalg`, also of nested lists of traced values."""

from __future__ import annotations

from functools import partial as _partial

import numpy as _numpy

from funcgrad.numpy.array_likes import array_functions as _array_functions

globals().update(_array_functions(_numpy.linalg))

__getattr__, __dir__ = _partial(getattr, _numpy.linalg), _partial(dir, _numpy.linalg)
