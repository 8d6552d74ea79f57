"""Text in a terminal's colors, by rich where it is installed."""

from typing import Any


def highlighted(text: str) -> Any:
    """The text with its numbers and names in colors, as `rich` prints it.

    Raises ImportError without rich.
    """
    from rich.highlighter import ReprHighlighter

    return ReprHighlighter()(text)


def colored(text: str) -> str:
    """The text with the terminal's codes for the colors of `highlighted`, and no line broken.

    Raises ImportError without rich.
    """
    from rich import get_console

    console = get_console()
    with console.capture() as captured:
        console.print(highlighted(text), soft_wrap=True, end="")
    codes: str = captured.get()
    return codes
