"""Files that a function reads while it is traced: later calls repeat what was read, and a warning says so.

So it is for what it asks of the names of files, and for random numbers of the system. The calls are seen by
`sys.setprofile`, which slows the trace down. So it is set if code names what makes such calls, and no
profiler runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dis import get_instructions
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
def noticed_reads(names: Collection[str]) -> Iterator[Collection[str]]:
    """What to warn of, of files that are read in the block, and the like, by a function with these names."""
    read: dict[str, None] = {}
    if SYSTEM_READERS.isdisjoint(names) or sys.getprofile() is not None:
        yield read
        return
    sys.setprofile(_noting(read))
    try:
        yield read
    finally:
        sys.setprofile(None)


def warn_of_reads(who: str, reads: Collection[str]) -> None:
    """Warn of what a function has read while it was traced."""
    for said in reads:
        warn(f"jit: {who} {said}")


def _noting(read: dict[str, None]) -> Callable[[FrameType, str, Any], None]:
    def note(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in _SAID:
            return
        caller: FrameType | None = frame
        while caller is not None and _home_of(caller) in _OF_NAMES:
            caller = caller.f_back
        home = "" if caller is None else _home_of(caller)
        if home in _OF_SOURCES or getattr(function, "__module__", "") not in _HOMES:
            return
        if not (function.__name__ == "urandom" and _is_unused(caller)):
            read[_SAID[function.__name__]] = None

    return note


def _is_unused(frame: FrameType | None) -> bool:
    """Whether the system is asked for a seed that is not used, as by ``RandomState(seed)``."""
    while frame is not None and _home_of(frame) in ("random", "secrets"):
        frame = frame.f_back
    if frame is None or _home_of(frame) in ("importlib", "numpy"):
        return frame is not None
    names = frame.f_code.co_names
    if "RandomState" not in names or not _OF_THE_SYSTEM.isdisjoint(names):
        return False
    before = [
        item
        for item in get_instructions(frame.f_code)
        if item.offset <= frame.f_lasti and item.opname not in ("PRECALL", "KW_NAMES")
    ]
    call = before.pop()
    if call.opname == "CALL_KW":  # since Python 3.13; the names of the arguments are loaded last
        before.pop()
    is_none = before[-1].opname.startswith("LOAD_") and before[-1].argval is None
    return call.opname in ("CALL", "CALL_KW") and bool(call.arg) and not is_none


_OF_THE_SYSTEM = frozenset(("getrandbits", "randbits", "SystemRandom", "default_rng"))


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
