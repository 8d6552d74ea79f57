"""Text in a terminal's colors, by rich where it is installed."""

from typing import Any


def highlighted(text: str) -> Any:
    """The text with its numbers and names in colors, as `rich` prints it.

    Raises ImportError without rich.
    """
    from rich.highlighter import ReprHighlighter

    return ReprHighlighter()(text)
