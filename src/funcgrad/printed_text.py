"""How values are shown at a prompt: in one line, as lines, in colors, and as tables of a notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def one_line(value: object, width: int = 90) -> str:
    """The text of a value in one line of at most ``width`` characters; definitions are separated by ``;``.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x**2 + fg.exp(x**2)
    >>> one_line(fg.sqrt(y) + fg.cos(y))
    'let a = x**2; b = a + exp(a) in sqrt(b) + cos(b)'
    """
    # A definition after the first is indented by four spaces, what continues one by more.
    text = re.sub(r"\n    (?=\S)", "; ", repr(value).strip("‹›"))
    text = re.sub(r"\s*\n\s*", " ", text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def aligned_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines, in columns."""
    widths = [max([len(row[i]) for row in rows]) for i in range(len(rows[0]))]
    return "\n".join(
        [
            "  ".join([cell.ljust(n) for cell, n in zip(row, widths, strict=True)]).rstrip()
            for row in rows
        ]
    )


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


class PrintedText(str):
    """A `str` whose repr is the text, so that a prompt, a notebook and a doctest show its lines, and a
    container has it without quotes.

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
    """Print a text, in colors if the output is a terminal and rich is installed.

    Characters that the output's encoding lacks become ``*``, for the dot of a product, or ``?``.
    """
    from importlib.util import find_spec  # which a first gradient need not load

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.replace("·", "*").encode(encoding, "replace").decode(encoding)
    print(colored(text) if sys.stdout.isatty() and find_spec("rich") else text)


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The table as HTML, all text escaped.

    >>> html_table(["node"], [["x < 1"]])
    '<table><thead><tr><th>node</th></tr></thead><tbody><tr><td>x &lt; 1</td></tr></tbody></table>'
    """
    head = _row("th", header)
    body = "".join([_row("td", row) for row in rows])
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    from html import escape  # which loads the names of all entities, and only notebooks need

    return f"<tr>{''.join([f'<{tag}>{escape(cell)}</{tag}>' for cell in cells])}</tr>"
