"""``importlib`` for adopted code: the modules that it imports are adopted."""

from __future__ import annotations

import importlib
from typing import Any

from funcgrad.adoption.redirect import redirect


def import_module(name: str, package: str | None = None) -> Any:
    """As `importlib.import_module`."""
    return redirect(importlib.import_module(name, package))


globals().update({name: value for name, value in vars(importlib).items() if name not in globals()})
