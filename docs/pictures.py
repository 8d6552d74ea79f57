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


def topological_ordering() -> str:
    """Two layers of one neuron each: what the first state becomes is all that the second needs."""
    b1, w1, b2, w2, x = fg.vars("b1 w1 b2 w2 x")
    z1 = fg.name(b1 + w1 * x, "z1")
    a1 = fg.name(np.tanh(z1), "a1")
    z2 = fg.name(b2 + w2 * a1, "z2")
    return fg.to_svg(z2, b1=0.1, w1=0.5, b2=-0.2, w2=2.0, x=1.0)


def reverse_order() -> str:
    """A chain whose third step takes a constant, too."""
    t1 = fg.name(np.exp(fg.var("z")), "t1")
    t2 = fg.name(np.square(t1), "t2")
    t3 = fg.name(fg.name(fg.const(1.0), "one") + t2, "t3")
    return fg.to_svg(fg.name(np.sin(t3), "y"), z=0.3)


def gates() -> str:
    """(x + y) z: a gate that distributes below one that swaps."""
    x, y, z = fg.vars("x y z")
    return fg.to_svg(fg.name(fg.name(x + y, "q") * z, "g"), x=-2.0, y=5.0, z=-4.0)


def shared_part() -> str:
    """sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2)) in six steps."""
    a = fg.name(fg.var("x") ** 2, "a")
    c = fg.name(a + fg.name(np.exp(a), "b"), "c")
    return fg.to_svg(fg.name(fg.name(np.sqrt(c), "d") + fg.name(np.cos(c), "e"), "f"), x=0.7)


def two_pages() -> str:
    """The graph of six nodes whose paths are words."""
    n1 = fg.var("n1")
    n4 = fg.name(np.exp(fg.name(np.sin(n1), "n3")), "n4")
    return fg.to_svg(fg.name(n4 + fg.name(np.cos(n1), "n5"), "n6"), gradient=True)


def autograd_engine() -> str:
    """Five nodes."""
    a, b, c = fg.vars("a b c")
    return fg.to_svg(fg.name(fg.name(a * b, "d") + c, "L"), a=2.0, b=-3.0, c=10.0)


def path_sums() -> str:
    """A program with three paths from x."""
    x, y = fg.vars("x y")
    a = fg.name(x * y, "a")
    return fg.to_svg(fg.name(a * fg.name(np.sin(a), "b") + x, "e"), x=2.0, y=0.5)


_DRAWN = (
    first,
    start,
    topological_ordering,
    reverse_order,
    gates,
    shared_part,
    two_pages,
    autograd_engine,
    path_sums,
)
PICTURES: dict[str, Callable[[], str]] = {draw.__name__: draw for draw in _DRAWN}
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
