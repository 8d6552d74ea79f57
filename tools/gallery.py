"""Write docs/gallery.md and the figures in docs/gallery: run every example, or those that are named.

``python tools/gallery.py`` runs all of them, ``python tools/gallery.py sir digits`` two of them.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "docs" / "gallery.md"
FIGURES = HOME / "docs" / "gallery"
BEGINNING = """\
# Gallery

The programs in `examples/`. Each runs from a checkout with `python -m examples.NAME`, after
`pip install ".[examples]"`. `python tools/gallery.py` runs them all and writes this page: the figures, what
they print, and the processor time of the whole command, with all imports, on one core of a cloud machine.
A time that an example itself prints is the clock's, on a machine that had other work as well.
The five [seeds](seeds/index) have pages of their own.
"""


def examples() -> list[str]:
    """The names of the examples, in alphabetical order."""
    return sorted(path.stem for path in (HOME / "examples").glob("[a-z]*.py"))


def description(name: str) -> tuple[str, str]:
    """The first line of an example's docstring without its full stop, and the rest."""
    source = (HOME / "examples" / f"{name}.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source)) or name
    title, _, text = docstring.partition("\n")
    return title.rstrip("."), text.strip()


def run(name: str) -> tuple[str, float]:
    """What an example prints, and its processor time in seconds; its figure goes to docs/gallery."""
    FIGURES.mkdir(exist_ok=True)
    figure = FIGURES / f"{name}.png"
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{name}", str(figure)],
        cwd=HOME,
        capture_output=True,
        text=True,
        check=True,
    )
    after = os.times()
    seconds = after.children_user + after.children_system
    seconds -= before.children_user + before.children_system
    shrink(figure)
    return re.sub(r"(; )?figure: .*\n?", "\n", done.stdout).strip(), seconds


def shrink(figure: Path) -> None:
    """Reduce a figure to 128 colors: a third of the bytes, and no difference that one sees."""
    Image.open(figure).convert("RGB").quantize(128).save(figure, optimize=True)


def section(name: str) -> str:
    """The part of the page about one example, which is run for it."""
    title, text = description(name)
    printed, seconds = run(name)
    return (
        f"## {name}\n\n**{title}.**\n\n{text}\n\n![{title}](gallery/{name}.png)\n\n"
        f"It took {seconds:.1f} s and printed\n\n```text\n{printed}\n```\n"
    )


def sections() -> dict[str, str]:
    """The sections of the present page by name."""
    parts = re.split(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        name: f"## {name}{text.rstrip()}\n"
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def main(*chosen: str) -> None:
    """Run the chosen examples, or all, and write the page."""
    found = sections() | {name: section(name) for name in chosen or examples()}
    PAGE.write_text("\n".join([BEGINNING, *[found[name] for name in examples()]]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
