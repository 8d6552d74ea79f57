"""Notes with remedies, added to errors that other libraries raise at a traced value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pickle import PickleError
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray


def explain(error: Exception, args: Sequence[Any]) -> None:
    """Add to a refusal of a list that an array may be meant, and to others what to write."""
    if isinstance(error, PickleError) and _ON_PROCESSES not in getattr(error, "__notes__", ()):
        error.add_note(_ON_PROCESSES)
    of_text = isinstance(error, SyntaxError) and "‹" in str(error.text)
    if of_text and _ON_TEXT not in getattr(error, "__notes__", ()):
        error.add_note(_ON_TEXT)
    is_read = isinstance(error, ValueError) and "'‹" in str(error)
    if is_read and _ON_READ_TEXT not in getattr(error, "__notes__", ()):
        error.add_note(_ON_READ_TEXT)
    caught = _caught_refusal(error)
    # (SWIG's wrappers raise a NotImplementedError.)
    kinds_of_refusals = TypeError | ValueError | AttributeError | NotImplementedError
    if caught is None and not isinstance(error, kinds_of_refusals):
        return
    kinds = {type(arg).__name__ for arg in args if isinstance(arg, list | tuple)}
    text, notes = str(error), getattr(error, "__notes__", ())
    if any([f"'{kind}'" in text for kind in kinds]) and _ON_LISTS not in notes:
        error.add_note(_ON_LISTS)
    told = "\n  at " in text  # the text is this package's own
    # An attribute that NumPy's array has not, either, is misspelt.
    name = (isinstance(error, AttributeError) and error.name) or ""
    of_buffer = hasattr(memoryview, name) or _OF_BUFFERS.search(text) is not None
    is_misspelt = isinstance(error, AttributeError) and not (of_buffer or hasattr(np.ndarray, name))
    is_rational = _REFUSALS_OF_RATIONALS.match(text) is not None
    is_compiled = is_refusal_of_compiled_code(error) and not (told or is_misspelt or is_rational)
    is_own = is_compiled and isinstance(error, TypeError)  # which does not come of the one caught
    if caught is not None and not (told or is_own):
        handled = f"the code has handled this error before: {caught}"
        if handled not in notes:
            error.add_note(handled)
    elif is_compiled:
        if "JSON serializable" in text:
            note = _ON_JSON
        elif "buffer API" in text or "attribute 'tobytes'" in text:
            note = _ON_HASHES
        elif of_buffer:
            note = _ON_BUFFERS
        elif text.startswith("descriptor '"):
            note = _ON_DESCRIPTORS
        elif text.startswith("unsupported type for timedelta"):
            note = _ON_TIMES
        elif type(error).__module__.startswith("pydantic_core"):
            note = _ON_FIELDS
        else:
            note = _ON_COMPILED
        if note not in notes:
            error.add_note(note)
    if text.startswith("cannot create mpf from") and _ON_MPMATH not in notes:
        error.add_note(_ON_MPMATH)
    of_rationals = _OF_DECIMALS if text.endswith("to Decimal is not supported") else _OF_FRACTIONS
    if is_rational and of_rationals not in notes:
        error.add_note(of_rationals)
    if text.startswith("expected a sequence of integers") and _ON_SHAPES not in notes:
        error.add_note(_ON_SHAPES)
    if text == "Vectorized indexing is not supported" and _ON_LABELED_PLACES not in notes:
        error.add_note(_ON_LABELED_PLACES)


def tell_replaced(error: Exception, refusals: Iterable[BaseException | None]) -> None:
    """Add to an error the refusal of a number at its line, which compiled code has dropped for it."""
    place = error.__traceback__
    if place is None or "\n  at " in str(error) or _caught_refusal(error) is not None:
        return
    while place.tb_next is not None:
        place = place.tb_next
    line = f"{os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno}:"
    for refusal in refusals:
        if refusal is not None and f" {line}" in str(refusal):
            told = f"it took the place of this error: {refusal}"
            if told not in getattr(error, "__notes__", ()):
                error.add_note(told)


_REFUSALS_OF_COMPILED_CODE = (
    rf"\b{MutableArray.__name__}\b|\bExpr\b|No matching signature found|bytes-like object is required"
    "|incompatible function arguments|not a proper array of floats|can not convert to array"
    "|supporting the buffer API required|could not be made into a suitable array"
    "|could not convert \\w+ to a suitable array|dim C contiguous array"
)
"""The messages of compiled code that refuses an argument, as it is no array of NumPy's."""


def is_refusal_of_compiled_code(error: BaseException) -> bool:
    """Whether an error has a message with which compiled code refuses an argument."""
    return re.search(_REFUSALS_OF_COMPILED_CODE, str(error)) is not None


def _caught_refusal(error: BaseException) -> BaseException | None:
    """The refusal of a number which code has handled, to raise an error of its own that does not name it."""
    found, text = error.__cause__ or error.__context__, str(error)
    for _ in range(16):
        if found is None:
            return None
        if hasattr(found, "context"):
            return None if str(found) in text else found
        found = found.__cause__ or found.__context__
    return None


_ON_LISTS = (
    "a list or a tuple of numbers is a tree of them, which has no arithmetic and no methods of an array: "
    "write np.array([...]) for an array"
)
_ON_TEXT = (
    "a text shows traced values as formulas, such as x[0], and what is read from it has no derivative: give "
    "the evaluated code the values by name, as eval('f(p)', {'f': f, 'p': p})"
)
_ON_READ_TEXT = (
    "repr(x) of a traced value is its formula, which is no number: compute with the value itself, or write "
    "float(str(x)) if a derivative of zero is meant"
)
_ON_MPMATH = (
    "mpmath computes with numbers of its own, which have no derivative: write the function of scipy.special, "
    "or declare this one and its derivatives by fg.primitive with fg.custom_vjp"
)
_REFUSALS_OF_RATIONALS = re.compile(
    rf"conversion from ({MutableArray.__name__}|Expr) to Decimal is not supported"
    r"|argument should be a string or a (Rational|number)"
)
_OF_DECIMALS = (
    "a Decimal holds no traced value, which is a binary number with a derivative: compute with the value "
    "itself, or write Decimal(str(fg.stop_gradient(x))) if a derivative of zero is meant; fg.precise has "
    "as many digits as one asks for"
)
_OF_FRACTIONS = (
    "a Fraction holds no traced value, which has a derivative: compute with the value itself, or write "
    "Fraction(str(fg.stop_gradient(x))) if a derivative of zero is meant"
)
_ON_SHAPES = (
    "a shape has no traced values that stand for many, as under vmap and in the body of a loop: make the "
    "array as long as it may become, and choose its entries by np.where"
)
_ON_LABELED_PLACES = (
    "xarray chooses entries of arrays that can be written by no labeled arrays: index the data, as "
    "a.data[np.arange(len(k)), k], and write xr.DataArray(..., dims=...) around it"
)
_ON_HASHES = (
    "traced values have no bytes, which a hash or a cache asked for: what it finds has no derivative; "
    "leave out the cache, or take those of np.asarray(fg.stop_gradient(x)) if a derivative of zero is meant"
)
_OF_BUFFERS = re.compile(
    r"^memoryview: |bytes-like object is required|attribute '(ctypes|__array_interface__)'"
)
_ON_BUFFERS = (
    "a buffer holds plain numbers, and no traced values: write x.flags.c_contiguous, x.dtype, x.shape and "
    "x.nbytes for what does not depend on them, and x[...] for a view of the entries"
)
_ON_JSON = (
    "JSON has plain numbers: write json.dumps(a, default=lambda v: float(str(v))), whose numbers have "
    "derivative zero where they are read again"
)
_ON_TIMES = (
    "a timedelta has whole microseconds, and holds no traced value: compute with the days or seconds "
    "themselves, or write timedelta(days=float(str(x))) if a derivative of zero is meant"
)
_ON_FIELDS = (
    "pydantic checks fields in compiled code, which takes plain numbers: make the model outside of the "
    "function and hand it in, or write Model.model_construct(k=x), which checks nothing"
)
_ON_DESCRIPTORS = (
    "a method by the name of its type takes instances of that type alone, and no traced values: write the "
    "method of the value, a.sum() in the place of np.ndarray.sum(a)"
)
_ON_PROCESSES = (
    "pools of processes take neither traced values nor adopted functions: write threads "
    "(concurrent.futures.ThreadPoolExecutor, joblib.Parallel(prefer='threads')), or n_jobs=1"
)
_ON_COMPILED = (
    f"compiled code was given traced values, as a {MutableArray.__name__}, which it cannot differentiate: "
    "write the function with NumPy's, or declare it and its derivatives by fg.primitive"
)
