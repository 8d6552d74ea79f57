"""Files that a function reads while it is traced: later calls repeat what was read, and a warning says so.

The calls of ``open`` are seen by `sys.setprofile`, which slows the trace down. So it is set if code names
what reads files, and no profiler runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from funcgrad.source import warn

FILE_READERS = frozenset(
    (
        *("open", "fromfile", "genfromtxt", "load", "loadmat", "loadtxt", "memmap", "read"),
        *("read_bytes", "read_csv", "read_json", "read_table", "read_text", "reader", "wavfile"),
    )
)
"""Names in code that reads files: functions of Python, NumPy, SciPy and pandas."""


@contextmanager
def noticed_reads(who: str, names: Collection[str]) -> Iterator[None]:
    """Warn of files that are opened in the block, by a function with these names in its code."""
    if FILE_READERS.isdisjoint(names) or sys.getprofile() is not None:
        yield
        return
    opened: list[str] = []
    sys.setprofile(_noting(opened))
    try:
        yield
    finally:
        sys.setprofile(None)
    if opened:
        warn(
            f"jit: {who} opens a file while it is traced, and later calls do not, and repeat what they got; "
            "read it outside, and hand the content to it as an argument"
        )


def _noting(opened: list[str]) -> Callable[[FrameType, str, Any], None]:
    def note(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in ("open", "fromfile"):
            return
        home = str(frame.f_globals.get("__name__")).partition(".")[0]
        if home not in _OF_SOURCES and getattr(function, "__module__", "") in _HOMES:
            opened.append(home)

    return note


_HOMES = ("_io", "io", "posix", "nt", "numpy", None)
"""The modules of functions that open files."""
_OF_SOURCES = ("funcgrad", "importlib", "inspect", "linecache", "tokenize", "warnings", "zipimport")
"""Modules that open files of source code, and funcgrad's cache on disk."""
