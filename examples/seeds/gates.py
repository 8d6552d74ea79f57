"""Topological sort: backprop the correct way. Two programs drawn as graphs, and the rules of gates.

In reverse mode a gradient passes through gates. An *add* gate distributes it: both operands get
it unchanged. A *multiply* gate swaps: each operand gets it times the other. A *max* gate routes: the
larger operand gets all of it. The pictures show the two programs of the lecture with the value, in green,
and the gradient, in red, at each node, and the local derivative on each edge.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import funcgrad as fg


def product_of_sum() -> tuple[fg.Expr, dict[str, float]]:
    """f(x, y, z) = (x + y) z at (-2, 5, -4)."""
    x, y, z = fg.var("x"), fg.var("y"), fg.var("z")
    return fg.name(fg.name(x + y, "q") * z, "f"), {"x": -2.0, "y": 5.0, "z": -4.0}


def shared_part() -> tuple[fg.Expr, dict[str, float]]:
    """f(x) = sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2)), in six steps, at 0.7."""
    x = fg.var("x")
    a = fg.name(np.square(x), "a")
    b = fg.name(np.exp(a), "b")
    c = fg.name(a + b, "c")
    d = fg.name(np.sqrt(c), "d")
    e = fg.name(np.cos(c), "e")
    return fg.name(d + e, "f"), {"x": 0.7}


def gates(x: float = 3.0, y: float = -2.0) -> dict[str, tuple[float, float]]:
    """The gradient that each operand of a gate gets, when 1 comes in."""
    return {
        "add": fg.grad(lambda x, y: x + y, argnums=(0, 1))(x, y),
        "multiply": fg.grad(lambda x, y: x * y, argnums=(0, 1))(x, y),
        "max": fg.grad(np.maximum, argnums=(0, 1))(x, y),
    }


def main(folder: str = "examples/output") -> None:
    """Print the gates and draw the two programs."""
    for name, (left, right) in gates().items():
        print(f"{name:8}  x gets {left:g}, y gets {right:g}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for draw in (product_of_sum, shared_part):
        expr, at = draw()
        path = Path(folder) / f"gates_{draw.__name__}.svg"
        fg.to_svg(expr, path, at, direction="right")
        print(f"picture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
