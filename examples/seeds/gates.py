"""Topological sort: backprop the correct way. Two programs drawn as graphs, and the rules of gates.

In reverse mode a gradient passes through gates. An *add* gate distributes it: both operands get
it unchanged. A *multiply* gate swaps: each operand gets it times the other. A *max* gate routes: the
larger operand gets all of it. The pictures show the two programs of the lecture with the value (above)
and the gradient (below) at each node.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import funcgrad as fg


def product_of_sum() -> tuple[fg.Expr, dict[str, float]]:
    """f(x, y, z) = (x + y) z at (-2, 5, -4)."""
    x, y, z = fg.var("x"), fg.var("y"), fg.var("z")
    return (x + y) * z, {"x": -2.0, "y": 5.0, "z": -4.0}


def shared_part() -> tuple[fg.Expr, dict[str, float]]:
    """f(x) = sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2)), in six steps, at 0.7."""
    x = fg.var("x")
    a = np.square(x)
    b = np.exp(a)
    c = a + b
    d = np.sqrt(c)
    e = np.cos(c)
    return d + e, {"x": 0.7}


def gates(x: float = 3.0, y: float = -2.0) -> dict[str, tuple[float, float]]:
    """The gradient that each operand of a gate gets, when 1 comes in."""
    return {
        "add": fg.grad(lambda x, y: x + y, argnums=(0, 1))(x, y),
        "multiply": fg.grad(lambda x, y: x * y, argnums=(0, 1))(x, y),
        "max": fg.grad(np.maximum, argnums=(0, 1))(x, y),
    }


def layout(rows: fg.Table) -> dict[int, tuple[float, float]]:
    """A position for each node: its depth to the right, its index at that depth from top to bottom."""
    depth: dict[int, int] = {}
    for row in rows:
        depth[row.place] = 1 + max((depth[parent] for parent in row.parents), default=-1)
    columns: dict[int, list[int]] = {}
    for place, column in depth.items():
        columns.setdefault(column, []).append(place)
    return {
        place: (float(column), (len(places) - 1) / 2 - i)
        for column, places in columns.items()
        for i, place in enumerate(places)
    }


def draw(expr: fg.Expr, at: dict[str, float], axes) -> None:
    """The graph of a program, its values above and its gradients below the nodes."""
    rows = fg.table(expr, at)
    spots = layout(rows)
    for row in rows:
        for parent in row.parents:
            style = {"arrowstyle": "->", "color": "0.5", "shrinkA": 16, "shrinkB": 16}
            bend = {"connectionstyle": "arc3,rad=0.15"}
            axes.annotate("", spots[row.place], spots[parent], arrowprops=style | bend)
        x, y = spots[row.place]
        axes.text(x, y, row.op, ha="center", va="center", bbox={"boxstyle": "round", "fc": "white"})
        axes.text(x, y + 0.17, f"{row.value:.4g}", ha="center", va="bottom", color="tab:green")
        if row.gradient is not None:
            axes.text(x, y - 0.17, f"{row.gradient:.4g}", ha="center", va="top", color="tab:red")
    axes.set_title(repr(expr), fontsize=9, family="monospace", loc="left")
    axes.set_xlim(-0.5, max(x for x, _ in spots.values()) + 0.5)
    axes.set_ylim(min(y for _, y in spots.values()) - 0.6, max(y for _, y in spots.values()) + 0.6)
    axes.axis("off")


def main(path: str = "examples/output/gates.png") -> None:
    """Print the gates and draw the two programs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    for name, (left, right) in gates().items():
        print(f"{name:8}  x gets {left:g}, y gets {right:g}")
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), layout="constrained")
    for (expr, at), part in zip((product_of_sum(), shared_part()), axes, strict=True):
        draw(expr, at, part)
    figure.suptitle("values in green, gradients in red")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"figure: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
