"""Palette and fonts of drawings, the same in an SVG picture and on a page.

Green is a value, red a gradient. Text stands on a light fill of its own (a dark one if the reader prefers
dark), so a picture can be read on any background. The rules use plain classes, which all renderers know.
"""

from __future__ import annotations

from typing import NamedTuple

FONT = "Verdana,'DejaVu Sans',Geneva,Arial,sans-serif"
NAME_SIZE, SMALL_SIZE = 13.0, 11.0  # pixels: the name of a node, and what else is written


class Palette(NamedTuple):
    """The colors of a drawing: of ink and lines, and the fills of what text stands on."""

    ink: str
    muted: str
    line: str
    value: str
    gradient: str
    input: str
    constant: str
    op: str
    group: str
    local: str


LIGHT = Palette(
    ink="#14181d",
    muted="#5a636e",
    line="#7d8590",
    value="#116329",
    gradient="#b3261e",
    input="#d7ebff",
    constant="#eceff1",
    op="#fff3d6",
    group="#e9e2f8",
    local="#ffffff",
)
DARK = Palette(
    ink="#e8eaed",
    muted="#b4bcc6",
    line="#8b949e",
    value="#7ee29a",
    gradient="#ff9d94",
    input="#17344f",
    constant="#2b3036",
    op="#3a3115",
    group="#372d52",
    local="#1f242a",
)


def stylesheet() -> str:
    """The CSS rules of a drawing: light, and dark if the reader prefers dark."""
    fonts = (
        f".fg-graph text{{font-family:{FONT};text-anchor:middle}}\n"
        f".fg-name,.fg-head{{font-size:{NAME_SIZE:g}px}}\n"
        f".fg-type,.fg-value,.fg-gradient,.fg-local,.fg-note{{font-size:{SMALL_SIZE:g}px}}\n"
        ".fg-value,.fg-gradient{font-weight:bold}\n"
        ".fg-shape{stroke-width:1.2}.fg-root .fg-shape{stroke-width:2.6}\n"
        ".fg-again .fg-shape,.fg-box{stroke-dasharray:4 3}\n"
        ".fg-box,.fg-edge{fill:none}.fg-edge{stroke-width:1.4}\n"
        ".fg-graph .fg-start{text-anchor:start}\n"
    )
    return f"{fonts}{_rules(LIGHT)}\n@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"


def _rules(colors: Palette) -> str:
    fills = "".join(
        [
            f".fg-{kind} .fg-shape{{fill:{getattr(colors, kind)}}}"
            for kind in ("input", "constant", "op", "group")
        ]
    )
    return (
        f"{fills}.fg-chip{{fill:{colors.local}}}\n"
        f".fg-shape,.fg-box,.fg-edge{{stroke:{colors.line}}}.fg-tip{{fill:{colors.line}}}\n"
        f".fg-name{{fill:{colors.ink}}}.fg-type,.fg-local,.fg-note,.fg-head{{fill:{colors.muted}}}\n"
        f".fg-value{{fill:{colors.value}}}.fg-gradient{{fill:{colors.gradient}}}"
    )
