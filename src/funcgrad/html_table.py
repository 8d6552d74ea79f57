"""Rows of text as an HTML table, which a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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
