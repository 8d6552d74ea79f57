"""SciPy's module of special functions, which is imported when a program runs and is not a requirement."""

from __future__ import annotations

from typing import Any

from funcgrad.source import fail


def scipy_special(name: str) -> Any:
    """The module `scipy.special`, for the function of this name.

    Raises ImportError if SciPy is not installed.
    """
    try:
        from scipy import special
    except ImportError:
        raise fail(
            ImportError, f"{name}: expected SciPy, but it is not installed; pip install scipy"
        ) from None
    return special
