"""``sympy`` for adopted code: the functions that it writes are adopted."""

from __future__ import annotations

from typing import Any

import sympy

from funcgrad.adoption.redirect import redirect


def lambdify(*args: object, **kwargs: object) -> Any:
    """As `sympy.lambdify`."""
    return redirect(sympy.lambdify(*args, **kwargs))


globals().update({name: value for name, value in vars(sympy).items() if name not in globals()})
