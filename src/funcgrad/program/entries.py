"""What is kept on disk of a derived program: expressions, under a name, in a file that cannot do harm.

The name says what they are derived from, by what, and with which versions. Reading makes expressions and
arrays, and nothing else: the reader knows no other names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.tuples import together_op

_FORMAT = b"funcgrad programs 1\n"


def place(home: str, how: str, exprs: Sequence[Expr]) -> Path:
    """Where the entry is of what ``how`` derives from expressions."""
    versions = f"{sys.version_info[:2]} {np.__version__} {_own_version()}"
    digest = hashlib.sha256(f"{versions} {how} ".encode())
    for expr in exprs:
        digest.update(expr.key)
    return Path(home) / digest.hexdigest()[:40]


def _own_version() -> str:
    """The package's files by size and time: a program may depend on any of them."""
    global _seen
    if not _seen:
        home = Path(__file__).parent.parent
        stats = [
            (p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(home.rglob("*.py"))
        ]
        _seen = hashlib.sha256(repr(stats).encode()).hexdigest()
    return _seen


_seen = ""


def read(content: bytes) -> list[Expr]:
    """The expressions of an entry.

    Raises ValueError where it is none, or not all of one.
    """
    start = len(_FORMAT)
    digest, body = content[start : start + 32], content[start + 32 :]
    if content[:start] != _FORMAT or hashlib.sha256(body).digest() != digest:
        raise ValueError("not an entry, or not all of one")
    found = _Reader(io.BytesIO(body)).load()
    if not isinstance(found, Expr):
        raise ValueError("not an expression")
    return list(found.args)


def write(path: Path, exprs: list[Expr]) -> None:
    """Keep expressions, in one step: nobody reads half an entry."""
    body = pickle.dumps(
        together_op(*exprs), protocol=5
    )  # one, so that what is shared is stored once
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_FORMAT + hashlib.sha256(body).digest() + body)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


class _Reader(pickle.Unpickler):
    """Makes expressions and arrays only: any other name in an entry is refused."""

    _KNOWN = frozenset(
        {
            ("funcgrad.expr", "_from_rows"),
            ("funcgrad.graph", "ArrayType"),
            ("funcgrad.graph", "TupleType"),
            ("funcgrad.graph", "Key"),
            ("funcgrad.graph", "_frozen"),
            ("funcgrad.graph", "_source"),
            ("funcgrad.ops.op", "op_named"),
            ("funcgrad.transforms.control.body", "Body"),
            ("funcgrad.transforms.control.loops", "Shape"),
            ("funcgrad.transforms.control.rules", "Wiring"),
            ("numpy", "dtype"),
            ("numpy", "ndarray"),
            ("numpy._core.multiarray", "_reconstruct"),
            ("numpy._core.multiarray", "scalar"),
            ("numpy._core.numeric", "_frombuffer"),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in an entry")
        return super().find_class(module, name)
