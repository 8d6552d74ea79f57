"""Which names, attributes and items the code of a function reads: ``self.layer.w``, ``params["w"]``.

A path starts at a global or at a local variable. A local that is assigned a path stands for it in what
follows (``layer = self.layer``); one that is assigned anything else is not followed.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple, TypeAlias


class Subscript(NamedTuple):
    """A constant in brackets."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


AccessStep: TypeAlias = str | Subscript
"""From one value on a path to the next: an attribute's name, or a subscript."""


class Path(NamedTuple):
    """A variable, and the attributes and items that are read from it, one from the other."""

    is_global: bool
    name: str
    steps: tuple[AccessStep, ...] = ()

    def then(self, step: AccessStep) -> Path:
        """The path that goes on with a step."""
        return self._replace(steps=(*self.steps, step))


@lru_cache(maxsize=1024)
def named_paths(code: CodeType) -> tuple[Path, ...]:
    """The paths that code, and the code of functions inside it, reads; each once.

    Of local variables those of the code itself, which inner functions may share.
    """
    # Keys that are equal and of two types, 1 and True, lead to one item.
    found: dict[Path, None] = {}
    waiting = [code]
    while waiting:
        item = waiting.pop()
        waiting.extend([c for c in item.co_consts if isinstance(c, CodeType)])
        assigned: dict[str, Path] = {}
        path: Path | None = None
        key: Subscript | None = None
        for step in dis.get_instructions(item):
            if path is not None and key is None:
                if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                    path = path.then(step.argval)
                    continue
                if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
                    key = Subscript(step.argval)
                    continue
            if path is not None and key is not None and _is_subscription(step):
                path, key = path.then(key), None
                continue
            if path is not None:
                found[path] = None
                if key is None and ("STORE_FAST" in step.opname or step.opname == "STORE_DEREF"):
                    assigned[_names_of(step)[0]] = path
            path, key = _start(step, item is code, assigned), None
    return tuple(found)


def _is_subscription(step: dis.Instruction) -> bool:
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _start(step: dis.Instruction, outermost: bool, assigned: dict[str, Path]) -> Path | None:
    """The path that an instruction begins: a variable on top of the stack."""
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return Path(True, step.argval)
    is_fast = "LOAD_FAST" in step.opname
    if not is_fast and step.opname != "LOAD_DEREF":
        return None
    name = _names_of(step)[-1]
    if name in assigned:
        return assigned[name]
    # A fast local of an inner function is none of the outer code's.
    return Path(False, name) if outermost or not is_fast else None


def _names_of(step: dis.Instruction) -> tuple[str, ...]:
    """The variables of an instruction: two, where CPython has joined two instructions."""
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)
