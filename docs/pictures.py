"""The pictures of the pages and the explorers beside them: funcgrad writes each as the site is built."""

from collections.abc import Callable, Mapping
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


def explore_start() -> str:
    """The explorer of the five-minute start."""
    x, y = fg.vars("x y")
    return fg.explore(x * y + np.sin(x), x=0.5, y=2.0).html


EXPLORERS: dict[str, Callable[[], str]] = {"explore_start": explore_start}
"""The name of each explorer and the function that writes its page, which the site has as ``NAME.html``."""


def write(folder: Path, texts: Mapping[str, Callable[[], str]], suffix: str) -> None:
    """Write each text to ``folder/NAME.suffix``; a file that is up to date stays as it is."""
    folder.mkdir(exist_ok=True)
    for name, text_of in texts.items():
        path, text = folder / f"{name}.{suffix}", str(text_of())
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
