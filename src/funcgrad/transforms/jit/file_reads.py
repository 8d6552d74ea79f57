"""Files that a function reads while it is traced: later calls repeat what was read, and a warning says so.

So it is for what it asks of the names of files, and for random numbers of the system. The calls are seen by
`sys.setprofile`, which slows the trace down. So it is set if code names what makes such calls, and no
profiler runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from funcgrad.source import warn

SYSTEM_READERS = frozenset(
    (
        *("open", "fromfile", "genfromtxt", "load", "loadmat", "loadtxt", "memmap", "read"),
        *("read_bytes", "read_csv", "read_json", "read_table", "read_text", "reader", "wavfile"),
        *(
            "exists",
            "getcwd",
            "getmtime",
            "getsize",
            "glob",
            "isdir",
            "isfile",
            "is_dir",
            "is_file",
        ),
        *("iterdir", "listdir", "rglob", "scandir", "stat"),
        *("RandomState", "Random", "SystemRandom", "default_rng", "randbelow", "randbits"),
        *("secrets", "token_bytes", "token_hex", "urandom", "uuid4"),
    )
)
"""Names in code that reads files, or asks the system: functions of Python, NumPy, SciPy and pandas."""


@contextmanager
def noticed_reads(who: str, names: Collection[str]) -> Iterator[None]:
    """Warn of files that are read in the block, and the like, by a function with these names in its code."""
    if SYSTEM_READERS.isdisjoint(names) or sys.getprofile() is not None:
        yield
        return
    read: dict[str, None] = {}
    sys.setprofile(_noting(read))
    try:
        yield
    finally:
        sys.setprofile(None)
    for said in read:
        warn(f"jit: {who} {said}")


def _noting(read: dict[str, None]) -> Callable[[FrameType, str, Any], None]:
    def note(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in _SAID:
            return
        caller: FrameType | None = frame
        while caller is not None and _home_of(caller) in _OF_NAMES:
            caller = caller.f_back
        home = "" if caller is None else _home_of(caller)
        if home not in _OF_SOURCES and getattr(function, "__module__", "") in _HOMES:
            read[_SAID[function.__name__]] = None

    return note


def _home_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


_OPENS = (
    "opens a file while it is traced, and later calls do not, and repeat what they got; "
    "read it outside, and hand the content to it as an argument"
)
_ASKS = (
    "asks for the names of files while it is traced, and later calls repeat the answer; "
    "ask outside, and hand the answer to it as an argument"
)
_DRAWS = (
    "draws random numbers from the system while it is traced, and later calls repeat them; "
    "draw them outside, and hand them to it as arguments"
)
_SAID = (
    dict.fromkeys(("open", "fromfile"), _OPENS)
    | dict.fromkeys(("getcwd", "listdir", "lstat", "scandir", "stat"), _ASKS)
    | {"urandom": _DRAWS}
)
"""The warnings of calls of functions in C, by their names."""

_HOMES = ("_io", "io", "posix", "nt", "numpy", None)
"""The modules of these functions."""
_OF_NAMES = ("genericpath", "glob", "ntpath", "os", "pathlib", "posixpath")
"""Modules that ask for the names of files for others."""
_OF_SOURCES = ("funcgrad", "importlib", "inspect", "linecache", "tokenize", "warnings", "zipimport")
"""Modules that read files of source code, and funcgrad's cache on disk."""
