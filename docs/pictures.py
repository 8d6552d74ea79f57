"""The pictures of the pages: each is drawn by funcgrad as the site is built."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

import funcgrad as fg


def first() -> str:
    """The picture of the first page: the program that README runs."""
    x = fg.var("x")
    return fg.to_svg(np.sqrt(x**2 + np.exp(x**2)) + np.cos(x**2 + np.exp(x**2)))


def start() -> str:
    """The formula of the five-minute start."""
    x, y = fg.vars("x y")
    return fg.to_svg(x * y + np.sin(x))


PICTURES: dict[str, Callable[[], str]] = {"first": first, "start": start}
"""The name of each picture and the function that draws it. A page has ``![...](_pictures/NAME.svg)``."""


def write(folder: Path) -> None:
    """Write each picture to ``folder/NAME.svg``; a file that is up to date stays as it is."""
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        path, text = folder / f"{name}.svg", str(draw())
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
