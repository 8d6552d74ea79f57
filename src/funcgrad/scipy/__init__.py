"""SciPy, for traced values: ``import funcgrad.scipy.special as special``.

Names and signatures are SciPy's. Modules that are here have the functions that traced values can enter; all
other names lead to SciPy itself, which is imported when it is first used.

>>> import funcgrad as fg
>>> from funcgrad.scipy.special import erf
>>> fg.grad(erf)(0.0)
1.1283791670955126
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_OWN = (
    *(
        "cluster",
        "fft",
        "fftpack",
        "integrate",
        "interpolate",
        "linalg",
        "ndimage",
        "odr",
        "optimize",
        "signal",
        "spatial",
        "special",
    ),
    *("sparse", "stats"),
)


def __dir__() -> list[str]:
    return sorted(_OWN)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'funcgrad.scipy' has no attribute {name!r}")
    try:
        return (
            import_module(f"funcgrad.scipy.{name}")
            if name in _OWN
            else getattr(import_module("scipy"), name)
        )
    except ModuleNotFoundError as error:
        if error.name != "scipy":
            raise
    advice = "expected SciPy, but it is not installed; pip install scipy"
    raise ModuleNotFoundError(f"funcgrad.scipy.{name}: {advice}", name="scipy")
