"""Advice to a user whose code takes a plain number out of a value that is being differentiated.

The advice names NumPy's function for the one of `math`, `cmath` or `statistics` that the user's line calls.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from enum import Enum
from types import CodeType, FrameType, MappingProxyType

import numpy as np

from funcgrad.source import BUT_LABELS, USERS, caller, is_of_package, position, type_error, written

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "erf": "scipy.special.erf",
        "erfc": "scipy.special.erfc",
        "fmean": "np.mean",
        "fsum": "np.sum",
        "gamma": "scipy.special.gamma",
        "lgamma": "scipy.special.gammaln",
        "phase": "np.angle",
        "pstdev": "np.std",
        "pvariance": "np.var",
    }
)
"""Functions of numbers whose names in NumPy or SciPy are others."""

_OF_NUMBERS = ("math", "cmath", "statistics")


def _in_numpy(name: str) -> str:
    """NumPy's name for a function of Python's modules of numbers; empty where it has none."""
    homes = [sys.modules.get(home) for home in _OF_NUMBERS]
    is_known = hasattr(np, name) and any([hasattr(home, name) for home in homes])
    return _NAMES.get(name, f"np.{name}" if is_known else "")


_OF_PANDAS = "write df.to_numpy(), which computes with expressions, in the place of a frame df"
_OF_INDEXES = (
    "labels of pandas are plain numbers: leave out the index, or write index=[float(str(v)) for v in x], "
    "whose derivative is zero"
)
_OF_XARRAY = (
    "write a.data, which computes with expressions, in the place of a.values, a.item() in that of float(a), "
    "and xr.DataArray(np.stack([...])) for a list"
)
_OF_PACKAGES = (
    "give the package fg.stop_gradient(x), if the derivative is meant to be zero, or write fg.adopt(f) for "
    "its function"
)
_OF_MODELS = r"[/\\](cvxpy|casadi)[/\\]"
UNITS = (
    "write numbers in one unit, such as q.to_value(unit) for a quantity q, and give the result its unit "
    "after the derivative"
)
"""What to write in the place of a quantity with a unit."""


def advice() -> str:
    """A remedy for the expression of the user's code that asks for a plain number."""
    found = remedy()
    return found or (
        "write NumPy's functions (np.sin for math.sin), or fg.adopt(f) for other people's code, or give a "
        "function of plain numbers a derivative by fg.primitive or fg.custom_vjp"
    )


def remedy(of_array: bool = False) -> str:
    """`advice` for the function that the user's line calls; empty if that is not known.

    An installed package that asks for an array is not the user's to change: ``of_array`` says so.
    """
    source = caller(2, USERS)
    of_package = None if source is None else _remedy_in_package(source[0], of_array)
    if of_package is not None:
        return of_package
    text = "" if source is None else written(source)
    called = text.partition("(")[0].strip()
    name = called.rpartition(".")[2]
    instead = _in_numpy(name)
    owner = _owner(source)
    if issubclass(owner, float | complex | int) and name in ("__new__", "__init__", "super"):
        return (
            f"an instance of {owner.__name__}, a subclass of {owner.__mro__[-2].__name__}, holds a plain "
            "number; write a class that has the number as an attribute"
        )
    if issubclass(owner, np.ndarray) and owner.__module__.partition(".")[0] != "numpy":
        has_unit = hasattr(owner, "dimensionality")  # of a package that is never adopted
        return UNITS if has_unit else _adopted(f"instances of {owner.__name__}")
    if "ma" in called.split(".")[:-1] or name.startswith("masked_"):
        return _adopted("masked arrays")
    if called in (f"np.{name}", f"numpy.{name}"):
        if instead or isinstance(getattr(np, name, None), np.ufunc):
            return f"write {_stacked(text)}, or fg.adopt(f) for the function"
    elif instead and issubclass(owner, Enum):
        return (
            f"write {instead} in the place of {called}, since methods of an Enum, such as "
            f"{owner.__name__}, are not adopted"
        )
    elif instead:
        return f"write {instead} in the place of {called}, or fg.adopt(f) for the function"
    if name in ("matrix", "asmatrix", "bmat"):
        return _adopted("matrices")
    if name.startswith("assert_"):
        return f"write assert np.allclose(x, y) in the place of {called}"
    if called in ("float", "complex"):
        return f"leave out {called}(), or write fg.adopt(f) for the function"
    if isinstance(getattr(np, name, None), type) and issubclass(getattr(np, name), np.inexact):
        return f"write x.astype({called}) in the place of {called}(x)"
    if re.search(_FIELD, position(source)):
        return "write an array for each field in the place of a structured one, which holds no traced values"
    if name == "fill" or re.search(_ASSIGNED, position(source)):
        return (
            "write x = x.at[i].set(v) in the place of x[i] = v, with x an expression, or build the array by "
            "np.stack([...]), or write fg.adopt(f) for the function"
        )
    of_scipy = _in_scipy(source, called)
    return (
        f"write {of_scipy} in the place of {called}, or fg.adopt(f) for the function"
        if of_scipy
        else ""
    )


def _remedy_in_package(code: CodeType, of_array: bool) -> str | None:
    """What to write if code of an installed package asks; None if it is not known to be one's."""
    if BUT_LABELS[code.co_filename]:
        library = code.co_filename.split(os.sep)
        if "xarray" in library:
            return _OF_XARRAY
        return _OF_INDEXES if "indexes" in library else _OF_PANDAS
    if re.search(_OF_MODELS, code.co_filename):
        return (
            "a model of cvxpy or casadi holds plain numbers: write the formula with NumPy's functions, or "
            "give the solution a derivative by fg.implicit_argmin"
        )
    return _OF_PACKAGES if of_array and is_of_package(code) else None


def _stacked(call: str) -> str:
    """A call of a function of NumPy's with ``np.stack`` around its lists, as far as they are simple.

    >>> _stacked("np.add([x, y], v[0])"), _stacked("np.exp([[x, y]])")
    ('np.add(np.stack([x, y]), v[0])', 'np.exp(fg.numpy.array([...]))')
    """
    stacked, count = _LIST.subn(r"np.stack(\g<0>)", call)
    if count and not re.search(r"[(, ][\[(]", _LIST.sub("", call)):
        return stacked
    return f"{call.partition('(')[0].strip()}(fg.numpy.array([...]))"


_LIST = re.compile(r"(?<=[(, ])\[[^][()]*\]")
"""A list without calls, indexes and lists."""


def refuse_model(code: CodeType) -> None:
    """Raise TypeError if code is of a package whose models hold plain numbers.

    CasADi asks a number for its ``item()`` until that is no array, on the stack of C.
    """
    if re.search(_OF_MODELS, code.co_filename):
        raise type_error(f"item(): expected a number, but got an expression; {advice()}")


def _adopted(arrays: str) -> str:
    return f"write fg.adopt(f) for the function, in which {arrays} hold traced values"


def _in_scipy(source: tuple[CodeType, int] | None, called: str) -> str:
    """funcgrad's function in the place of SciPy's that the user's line calls; empty for other functions."""
    frame: FrameType | None = sys._getframe(1)
    module = ""
    while frame is not None and (source is None or frame.f_code is not source[0]):
        module, frame = frame.f_globals.get("__name__", ""), frame.f_back
    public = ".".join(module.split(".")[:2])  # such as scipy.special, of scipy.special._logsumexp
    if not public.startswith("scipy."):
        return ""
    *before, name = called.split(".")
    known = sys.modules.get(public)
    if callable(getattr(known, name, None)):
        return f"fg.{public}.{name}"
    distribution = before[-1] if before else ""  # whose method it is
    return f"fg.{public}.{distribution}.{name}" if hasattr(known, distribution) else ""


def _owner(source: tuple[CodeType, int] | None) -> type:
    """The class that is, or has as an instance, the first argument of the function of the user's line."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (source is None or frame.f_code is not source[0]):
        frame = frame.f_back
    names = frame.f_code.co_varnames[:1] if frame is not None else ()
    first = frame.f_locals.get(names[0]) if frame is not None and names else None
    return first if isinstance(first, type) else type(first)


_FIELD = r"""\w\[(['"])\w+\1\](?!.*\()[^=]*=(?!=)"""
_ASSIGNED = r"\](?!.*\()[^=]*=(?!=)"
"""An assignment to an item, in the text of a line."""
