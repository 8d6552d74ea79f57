"""As `numpy.polynomial`, of traced values, too: for `import funcgrad.numpy.polynomial`."""

from typing import Any

import numpy as _numpy

from funcgrad import numpy as _face

_theirs: Any = _face.polynomial


def __getattr__(name: str) -> Any:
    return getattr(_theirs, name)


def __dir__() -> list[str]:
    return dir(_numpy.polynomial)
