"""The file format of the disk cache: expressions, read by a restricted unpickler.

Its identity says what they are derived from, by what, and with which versions. The name of the file is
made of it, and it stands in the file, too, so that no file counts as another that it was renamed to.
Reading makes expressions and arrays, and nothing else: the reader knows no other names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.tuples import together_op

_FORMAT = b"funcgrad programs 2\n"
_START = len(_FORMAT) + 64


def identity(how: str, exprs: Sequence[Expr]) -> bytes:
    """The digest that identifies an entry: the source program, the derivation ``how``, the machine."""
    digest = hashlib.sha256(f"{machine_and_versions()} {_own_version()} {how} ".encode())
    for expr in exprs:
        digest.update(expr.key)
    return digest.digest()


def place(home: str, identity: bytes) -> Path:
    """The path of the entry of an identity."""
    return Path(home) / identity.hex()[:40]


@lru_cache(maxsize=1)
def machine_and_versions() -> str:
    """The processor, and the versions of Python, C's library, NumPy, SciPy and llvmlite.

    A program holds numbers that NumPy and SciPy computed when it was derived. Their last bits depend on the
    processor's instructions, and the format of extended precision on its family.
    """
    extended = np.finfo(np.longdouble)
    processor = [platform.machine(), sys.byteorder, extended.bits, int(extended.nmant)]
    python = [sys.implementation.name, *sys.version_info[:3]]
    installed = [(name, _version_of(name)) for name in ("numpy", "scipy", "llvmlite")]
    return repr((processor, _instruction_sets(), platform.libc_ver(), python, installed))


def _instruction_sets() -> list[str]:
    """The extensions of the processor's instructions that NumPy's functions use here."""
    numpy_core = import_module("numpy._core._multiarray_umath")
    return sorted([name for name, found in numpy_core.__cpu_features__.items() if found])


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def _own_version() -> str:
    """The package's files by size and time: a program may depend on any of them."""
    home = Path(__file__).parents[2]
    stats = [(p.name, p.stat().st_size, p.stat().st_mtime_ns) for p in sorted(home.rglob("*.py"))]
    return hashlib.sha256(repr(stats).encode()).hexdigest()


def read(path: Path, identity: bytes) -> list[Expr]:
    """The expressions of the entry with this identity.

    Raises OSError or ValueError where there is none, or not all of one.
    """
    if not path.is_file():  # to open a pipe would be to wait for whoever writes to it
        raise FileNotFoundError(path)
    content = path.read_bytes()
    body = content[_START:]
    if content[:_START] != _head(identity, body):
        raise ValueError("not the entry, or not all of it")
    found = _Reader(io.BytesIO(body)).load()
    if not isinstance(found, Expr):
        raise ValueError("not an expression")
    return list(found.args)


def _head(identity: bytes, body: bytes) -> bytes:
    return _FORMAT + identity + hashlib.sha256(identity + body).digest()


def write_entry(path: Path, identity: bytes, exprs: list[Expr]) -> None:
    """Write an entry atomically: no process reads a part of it."""
    body = pickle.dumps(
        together_op(*exprs), protocol=5
    )  # one, so that what is shared is stored once
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_head(identity, body) + body)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


class _Reader(pickle.Unpickler):
    """A restricted unpickler: it refuses every name but those of expressions and arrays."""

    _KNOWN = frozenset(
        {
            ("funcgrad.expr", "_from_rows"),
            ("funcgrad.graph", "ArrayType"),
            ("funcgrad.graph", "TupleType"),
            ("funcgrad.graph", "Key"),
            ("funcgrad.graph", "_frozen"),
            ("funcgrad.graph", "_source"),
            ("funcgrad.ops.base.op", "op_named"),
            ("funcgrad.control.closed_program", "Body"),
            ("funcgrad.control.loop", "LoopSpec"),
            ("funcgrad.control.custom_rule", "Wiring"),
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
