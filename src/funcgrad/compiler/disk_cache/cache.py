"""Derived programs on disk, in the directory that FUNCGRAD_CACHE names.

An entry (`entry_format`) is written to a temporary file and then moved to its path, so that processes may
share a directory. An entry that cannot be read, for whatever reason, is derived again and overwritten. The
cache deletes nothing; the directory, and any file in it, may be deleted at any time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

from funcgrad.compiler.disk_cache.object_files import VARIABLE
from funcgrad.compiler.flat_program import SourceRows, flatten_program
from funcgrad.compiler.program import Program, lower
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT


def source_rows(roots: Sequence[Expr], inputs: Sequence[Expr]) -> SourceRows:
    """The rows of a program given as expressions."""
    flat = flatten_program(roots, inputs, for_derivatives=True)
    return SourceRows([_row(*step) for step in flat.steps], flat.results)


def _row(op: Any, operands: tuple[int, ...], params: Any, type: Any) -> tuple[Any, ...]:
    if op is INPUT:  # the inputs come first, in order
        return op, None, type
    return (op, params[0][1].address, type) if op is CONSTANT else (op, operands, params)


def derivation_name(transform: Any, *more: int) -> str | None:
    """The identity of a derivation in every process; None where it has none.

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
    how: str | None,
    source: Callable[[], SourceRows],
    inputs: Sequence[Expr],
    make: Callable[[], list[Expr]],
) -> Program:
    """The program of what ``make`` derives: from the directory if it is there, and kept there if not.

    ``how`` names the derivation, and ``source`` gives what it is derived of. Without a name, or without the
    variable, ``make()``.
    """
    home = os.environ.get(VARIABLE)
    if not home or how is None:
        return lower(make(), inputs)
    # Few programs need files and digests, which take long to import.
    from funcgrad.compiler.disk_cache import entry_format

    identity = entry_format.identity(how, source())
    path = entry_format.place(home, identity)
    with suppress(Exception):  # whatever is wrong with an entry, it is not worth an error
        return lower(entry_format.read(path, identity, [x.type for x in inputs]), inputs)
    # Steps and not expressions: later processes run the same.
    flat = flatten_program(make(), inputs, for_derivatives=True)
    with suppress(Exception):  # neither is a full disk, or a value that cannot be stored
        entry_format.write_entry(path, identity, flat)
    return lower(flat, inputs)
