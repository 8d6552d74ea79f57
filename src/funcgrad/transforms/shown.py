"""What a jitted function shows of its programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Latest:
    """The program that was compiled last, whichever it is when this is looked at: prints as its source."""

    def __init__(self, latest: Callable[[], str]) -> None:
        self._latest = latest

    @property
    def source(self) -> str:
        """The Python that runs; empty before the first call."""
        return self._latest()

    def __repr__(self) -> str:
        return self.source or "nothing has been compiled yet: call the function first"


class Lowered(NamedTuple):
    """The stages of a program: as f wrote it, simplified, and as the Python that runs."""

    traced: Any
    simplified: Any
    source: str

    def __repr__(self) -> str:
        return (
            f"as traced\n{_indented(self.traced)}\nsimplified\n{_indented(self.simplified)}\n"
            f"as it runs\n{_indented(self.source)}"
        )


def _indented(value: Any) -> str:
    text = value if isinstance(value, str) else "\n".join(repr(item) for item in value)
    return "\n".join(f"  {line}" for line in text.splitlines())
