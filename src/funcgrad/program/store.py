"""Derived programs on disk, where the environment names a directory for them: FUNCGRAD_CACHE.

An entry holds expressions, under a name that says what they are derived from, by what, and with which
versions. It is written beside its place and then moved there, so that processes may share a directory.
What cannot be read, for whatever reason, is made again and written over. Reading makes expressions and
arrays, and nothing else: the reader knows no other names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.tuples import together_op

VARIABLE = "FUNCGRAD_CACHE"
_FORMAT = b"funcgrad programs 1\n"


def named(transform: Any, *more: int) -> str | None:
    """What tells a derivation from all others, in every process; None where nothing does.

    A function of the package is told by its name, and a dataclass of plain values by those, too. A function
    within a function is not: what it closes over has no name.
    """
    kind = transform if isinstance(transform, FunctionType) else type(transform)
    plain: Sequence[Any] = ()
    if kind is not transform:
        if not is_dataclass(kind):
            return None
        plain = [getattr(transform, field.name) for field in fields(kind)]
    module = sys.modules.get(kind.__module__)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    if not ours or getattr(module, kind.__qualname__, None) is not kind:
        return None
    entries = [part for v in plain for part in (v if type(v) is tuple else (v,))]
    if any(type(value) not in (bool, int, str) for value in entries):
        return None
    return repr((kind.__module__, kind.__qualname__, *plain, *more))


def remembered(
    how: str | None, exprs: Sequence[Expr], make: Callable[[], list[Expr]]
) -> list[Expr]:
    """What ``make`` derives from expressions: from the directory if it is there, and kept there if not.

    ``how`` names the derivation. Without a name, or without the variable, ``make()``.
    """
    home = os.environ.get(VARIABLE)
    if not home or how is None:
        return make()
    path = Path(home) / _name(how, exprs)
    with suppress(Exception):  # whatever is wrong with an entry, it is not worth an error
        return _read(path.read_bytes())
    made = make()
    with suppress(Exception):  # neither is a full disk, or a value that cannot be stored
        _write(path, made)
    return made


def _name(how: str, exprs: Sequence[Expr]) -> str:
    versions = f"{sys.version_info[:2]} {np.__version__} {_own_version()}"
    digest = hashlib.sha256(f"{versions} {how} ".encode())
    for expr in exprs:
        digest.update(expr.key)
    return digest.hexdigest()[:40]


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


def _read(content: bytes) -> list[Expr]:
    start = len(_FORMAT)
    digest, body = content[start : start + 32], content[start + 32 :]
    if content[:start] != _FORMAT or hashlib.sha256(body).digest() != digest:
        raise ValueError("not an entry, or not all of one")
    found = _Reader(io.BytesIO(body)).load()
    if not isinstance(found, Expr):
        raise ValueError("not an expression")
    return list(found.args)


def _write(path: Path, exprs: list[Expr]) -> None:
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
