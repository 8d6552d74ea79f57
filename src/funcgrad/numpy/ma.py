"""As `numpy.ma`, of traced values, too: for `import funcgrad.numpy.ma`."""

from typing import Any

import numpy as _numpy

from funcgrad import numpy as _face

_theirs: Any = _face.ma


def __getattr__(name: str) -> Any:
    return getattr(_theirs, name)


def __dir__() -> list[str]:
    return dir(_numpy.ma)
