"""``cmath`` for adopted code: on plain numbers its own functions, on traced values NumPy's."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.adoption.stand_ins.number_functions import (
    any_traced,
    functions_by_name,
    isclose,
    where_traced,
)
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.shape import astype
from funcgrad.typing import Array


def _complex(x: Any) -> Any:
    return astype(x, complex) if any_traced(x) else complex(x)


def _of_complex(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: function(_complex(z))


def _log(z: Any, *base: Any) -> Any:
    whole = np.log(_complex(z))
    return whole / np.log(_complex(base[0])) if base else whole


def _rect(r: Array, phi: Array) -> Any:
    return make_complex(r * np.cos(phi), r * np.sin(phi))


def _polar(z: Array) -> tuple[Any, Any]:
    return np.abs(z), np.angle(_complex(z))


_SAME = """acos=arccos acosh=arccosh asin=arcsin asinh=arcsinh atan=arctan atanh=arctanh cos cosh exp isfinite
isinf isnan log10 sin sinh sqrt tan tanh phase=angle"""
_TRACED = {name: _of_complex(function) for name, function in functions_by_name(_SAME).items()}
_OTHER: dict[str, Callable[..., Any]] = {
    "isclose": isclose,
    "log": _log,
    "polar": _polar,
    "rect": _rect,
}
globals().update(
    {
        name: where_traced(getattr(cmath, name), traced)
        for name, traced in (_TRACED | _OTHER).items()
    }
)
globals().update({name: value for name, value in vars(cmath).items() if name not in globals()})


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'cmath' has no attribute {name!r}")
