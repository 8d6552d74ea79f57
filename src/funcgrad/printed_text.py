"""Text that prints itself: what functions that explain or export return at a prompt."""

import sys
from importlib.util import find_spec
from typing import Any

from funcgrad.highlighted import colored, highlighted


class PrintedText(str):
    """A `str` whose repr is the text, so that a prompt, a notebook and a doctest show its lines.

    >>> PrintedText("two\\nlines")
    two
    lines
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Any:
        return highlighted(repr(self))


def print_text(text: str) -> None:
    """Print a text, in colors if the output is a terminal and rich is installed."""
    print(colored(text) if sys.stdout.isatty() and find_spec("rich") else text)
