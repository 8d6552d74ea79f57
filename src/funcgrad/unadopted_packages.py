"""Packages whose code is never adopted, as that of the standard library is not."""

from __future__ import annotations

import sys
from functools import lru_cache

_KEPT = frozenset(
    (
        *("autograd", "casadi", "cupy", "cvxpy", "dask", "funcgrad", "jax", "jaxlib", "matplotlib"),
        *("mpmath", "numba"),
        *(
            "numpy",
            "optree",
            "pandas",
            "pyrsistent",
            "_pytest",
            "pytest",
            "quantities",
            "sympy",
            "tensorflow",
            "torch",
            "xarray",
        ),
    )
)
"""Packages that are never adopted, as the standard library is not: their own arrays, or no numbers; units
that are told apart by their classes."""

_OWN_NAMES = frozenset(("__main__", "test", "this", "antigravity", "statistics"))

_SOURCES = (
    "numpy._core.",
    "numpy.lib",
    "numpy.linalg._",
    "numpy.matrixlib",
    "numpy.fft._",
    "numpy.polynomial",
    "autograd.scipy",
    "matplotlib.mlab",
)
"""Prefixes of modules in Python that are adopted though their packages are kept."""


@lru_cache(maxsize=4096)
def is_kept(name: str | None) -> bool:
    """Whether code of the module with this name stays as it is.

    >>> (
    ...     is_kept("numpy.random"),
    ...     is_kept("functools"),
    ...     is_kept("__main__"),
    ...     is_kept("numpy.polynomial"),
    ... )
    (True, True, False, False)
    """
    if not isinstance(name, str):
        return False
    top = name.partition(".")[0]
    if name.startswith(_SOURCES):
        return False
    return top in _KEPT or (top in sys.stdlib_module_names and top not in _OWN_NAMES)
