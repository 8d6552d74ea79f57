"""Truth values that stand for many, as under vmap: the path of a run answers for them.

`funcgrad.trace.branches` runs a function once for each path through its branches, and joins the results.
Where the values of examples are known, those that give one answer share a run (`funcgrad.trace.examples`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Path(Protocol):
    """The answers of one run."""

    @property
    def reads(self) -> bool:
        """Whether the run is for examples with values, which answer any question."""

    @property
    def is_one_of_several(self) -> bool:
        """Whether there are other runs for other answers."""

    def answer(self, condition: Any) -> bool | None:
        """The answer to a condition; None beyond the most branches of a path."""

    def read(self, root: Any, asker: str, reading: Callable[[Any], Any]) -> Any:
        """What is read off a value that stands for many, if ``reads``."""

    def forget_since(self, start: int) -> None:
        """Called if a run that started then was refused, and is repeated: its questions do not count."""


PATH: ContextVar[Path | None] = ContextVar("the path of the function that runs", default=None)
"""The path that answers for truth values without a value; None where they are refused."""


@contextmanager
def path_set(path: Path | None) -> Iterator[None]:
    """The context in which a path answers, or none."""
    before = PATH.set(path)
    try:
        yield
    finally:
        PATH.reset(before)
