"""The plot docs/performance.svg: the speed of each row over its peer, with the goals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.goals import Row

COLORS = {"beyond": "#1a7f37", "yes": "#57ab5a", "not beyond": "#c9a227", "**no**": "#d1642b"}


def plot(rows: Sequence[Row], path: Path) -> bool:
    """Whether the plot was written, which needs matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = [row for row in rows if row.measured is not None and row.kind != "seconds"][::-1]
    # The text stays text, and the same figures give the same file.
    style = {"svg.fonttype": "none", "svg.hashsalt": "funcgrad", "font.size": 8}
    with matplotlib.rc_context(style):
        figure, axes = pyplot.subplots(figsize=(8, 0.21 * len(shown) + 0.8), layout="constrained")
        for y, row in enumerate(shown):
            value, reach, beyond = (_speed(row, x) for x in (row.measured, row.reach, row.beyond))
            axes.plot([1, value], [y, y], color=COLORS[row.reached], lw=4, solid_capstyle="butt")
            axes.plot(value, y, "o", color=COLORS[row.reached], ms=4)
            for bound, height in ((reach, 8), (beyond, 5)):
                if bound is not None:
                    axes.plot(bound, y, "|", color="#444", ms=height)
        axes.set_xscale("log")
        axes.axvline(1, color="#888", lw=0.8)
        axes.set_yticks(range(len(shown)), [f"{row.name}, {row.against}" for row in shown])
        axes.set_ylim(-0.7, len(shown) - 0.3)
        axes.set_xlabel("speed over the peer's")
        axes.grid(axis="x", alpha=0.3)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
    return True


def _speed(row: Row, value: float | None) -> float | None:
    if value is None:
        return None
    return value if row.kind == "speed" else 1 / value
