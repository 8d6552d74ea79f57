"""Functions written by hand in C: the limit that a row is measured by."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.work.base import AbsentError

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")


def compiled(source: str, name: str, result: Any = ctypes.c_double) -> Callable[..., Any]:
    """A function of C source, which takes ints, floats and contiguous arrays of doubles or ints."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise AbsentError("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "work.c"), Path(folder, "work.so")
        text.write_text(source, encoding="ascii")
        subprocess.run([compiler, *FLAGS, text, "-o", library, "-lm"], check=True)
        function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = result
    return function  # type: ignore[no-any-return]


def address(array: Any) -> ctypes.c_void_p:
    """The address of an array's first entry; the array must outlive its use."""
    return ctypes.c_void_p(array.ctypes.data)
