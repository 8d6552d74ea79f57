"""Truth values that stand for many, as under vmap: the path of a run answers for them.

`funcgrad.trace.branches` runs a function once for each path through its branches, and joins the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Protocol


class Path(Protocol):
    """The answers of one run."""

    @property
    def branches(self) -> Sequence[object]:
        """The conditions that were answered so far."""

    def answer(self, condition: Any) -> bool | None:
        """The answer to a condition; None beyond the most branches of a path."""

    def forget_since(self, start: int) -> None:
        """Called if a run that started then was refused, and is repeated: its questions do not count."""


PATH: ContextVar[Path | None] = ContextVar("the path of the function that runs", default=None)
"""The path that answers for truth values without a value; None where they are refused."""
