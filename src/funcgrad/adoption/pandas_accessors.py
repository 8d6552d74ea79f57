"""Accessors that users register with pandas (``df.geo``) on Series and DataFrames of adopted code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any


def adopt_accessors(redirect: Callable[[Any], Any]) -> None:
    """Give the classes of adopted code the accessors that pandas' own have, as adopted code."""
    tables: Any = sys.modules.get("funcgrad.tables.traced_tables")
    if tables is None:
        return
    for own, kind in ((tables.Series, tables.TracedSeries), (tables.DataFrame, tables.TracedFrame)):
        known = vars(kind).get("_funcgrad_accessors", frozenset())
        if known != own._accessors:
            kind._funcgrad_accessors = frozenset(own._accessors)
            for name in own._accessors - known:
                found: Any = inspect.getattr_static(own, name)
                if not found._accessor.__module__.startswith("pandas."):
                    setattr(kind, name, type(found)(name, _maker(own, name, redirect)))


def _maker(own: type, name: str, redirect: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def made(table: Any) -> Any:
        registered: Any = inspect.getattr_static(own, name)
        return redirect(registered._accessor)(table)

    return made
