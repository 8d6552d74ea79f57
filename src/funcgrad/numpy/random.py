"""As `numpy.random`, of traced values, too: for `import funcgrad.numpy.random`."""

from typing import Any

import numpy as _numpy

from funcgrad import numpy as _face

_theirs: Any = _face.random


def __getattr__(name: str) -> Any:
    return getattr(_theirs, name)


def __dir__() -> list[str]:
    return dir(_numpy.random)
