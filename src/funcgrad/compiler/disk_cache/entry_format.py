"""The file format of the disk cache: machine code, and steps of programs, read by a restricted unpickler.

Its identity says what they are derived from, by what, and with which versions. The name of the file is
made of it, and it stands in the file, too, so that no file counts as another that it was renamed to.
Reading makes steps, expressions and arrays, and nothing else: the reader knows no other names.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import sys
import tempfile
from array import array
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, SourceRows
from funcgrad.gc_pause import Paused
from funcgrad.graph import INPUT, ArrayType
from funcgrad.ops.base.op import Op, op_named

_FORMAT = b"funcgrad programs 3\n"
_START = len(_FORMAT) + 64


def identity(how: str, source: SourceRows) -> bytes:
    """The digest that identifies an entry: the source program, the derivation ``how``, the machine."""
    numbers = array("q")
    texts: dict[str, int] = {}
    known: dict[tuple[Any, int], int] = {}
    for op, second, third in source.rows:
        if type(second) is not tuple:  # an input or a constant
            numbers.append(texts.setdefault(repr((op.name, second, third)), len(texts)))
            continue
        # (Params by identity first: by value, 0.0 and -0.0 would be one.)
        head = known.get((op, id(third)))
        if head is None:
            text = repr((op.name, third))
            head = known[op, id(third)] = texts.setdefault(text, len(texts))
        numbers.extend((head, len(second), *second))
    begin = f"{machine_and_versions()} {_own_version()} {how} {list(texts)!r} {list(source.roots)} "
    return hashlib.sha256(begin.encode() + numbers.tobytes()).digest()


def identity_of_code(text: str) -> bytes:
    """The digest that identifies machine code: the text that it is compiled from, and the machine."""
    return hashlib.sha256(f"machine code {machine_and_versions()} {text}".encode()).digest()


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


def read_body(path: Path, identity: bytes, is_code: bool = False) -> bytes:
    """The content of the entry with this identity.

    Code, which runs, is read only of a file that no other user but root can have written.

    Raises OSError or ValueError where there is none, or not all of one.
    """
    if not path.is_file():  # to open a pipe would be to wait for whoever writes to it
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        if is_code and others_can_write(os.fstat(file.fileno())):
            raise PermissionError(f"{path}: others can write this machine code")
        content = file.read()
    body = content[_START:]
    if content[:_START] != _head(identity, body):
        raise ValueError("not the entry, or not all of it")
    return body


def others_can_write(found: os.stat_result) -> bool:
    """Whether another user than root may have written a file. (Windows tells no owner.)"""
    if not hasattr(os, "geteuid"):
        return False
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & 0o022)


def read(path: Path, identity: bytes, inputs: Sequence[ArrayType]) -> Flat:
    """The steps of the entry with this identity, which has inputs of these types.

    Raises OSError or ValueError where there is none, or not all of one.
    """
    body = read_body(path, identity)
    with Paused():
        return _unpacked(_Reader(io.BytesIO(body)).load(), inputs)


def _packed(flat: Flat) -> tuple[Any, ...]:
    """Steps as plain data: their kinds, the kind of each step, all operands in one list, and the results."""
    kinds: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    number: dict[tuple[Any, ...], int] = {}
    of_steps, operands = array("q"), array("q")
    for op, args, params, type in flat.steps:
        if isinstance(op, Op) and op_named(op.name) is not op:
            raise TypeError(f"{op.name}: expected an operation of the package, to store it by name")
        kind = op, id(params), id(type), len(args)  # by value, 0.0 and -0.0 would be one
        of_steps.append(number.setdefault(kind, len(number)))
        operands.extend(args)
        if len(kinds) < len(number):
            kinds[kind] = op, params, type, len(args)
    return list(kinds.values()), of_steps.tobytes(), operands.tobytes(), flat.results


def _unpacked(packed: Any, inputs: Sequence[ArrayType]) -> Flat:
    """Steps from plain data; ValueError if operands do not come before their users, or inputs differ."""
    kinds, of_steps, operands, results = packed
    numbers = np.frombuffer(of_steps, np.int64)
    flat_operands = np.frombuffer(operands, np.int64)
    arity = np.array([kind[3] for kind in kinds])[numbers]
    users = np.repeat(np.arange(len(numbers)), arity)
    if not ((flat_operands >= 0) & (flat_operands < users)).all():
        raise ValueError("an operand that is no earlier step")
    steps: list[FlatStep] = []
    new_step, values, end = tuple.__new__, flat_operands.tolist(), 0
    for number in numbers.tolist():
        op, params, type, count = kinds[number]
        begin, end = end, end + count
        steps.append(new_step(FlatStep, (op, tuple(values[begin:end]), params, type)))
    sources = [step.type for step in steps if step.op is INPUT]
    whole = sources == list(inputs) and all(0 <= i < len(steps) for i in results)
    if not whole or any(step.op is not INPUT for step in steps[: len(inputs)]):
        raise ValueError("another program")
    return Flat(tuple(steps), len(inputs), tuple(results))


def _head(identity: bytes, body: bytes) -> bytes:
    return _FORMAT + identity + hashlib.sha256(identity + body).digest()


def write_entry(path: Path, identity: bytes, flat: Flat) -> None:
    """Write the steps of a program."""
    write_body(path, identity, pickle.dumps(_packed(flat), protocol=5))


def write_body(path: Path, identity: bytes, body: bytes) -> None:
    """Write an entry atomically, for this user alone: no process reads a part of it."""
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
