"""The rows of the table of goals: work, peer, and the bounds to reach.

``time`` is funcgrad's time over the peer's, with an upper bound; ``speed`` is the peer's time over
funcgrad's, with a lower bound.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from benchmarks.work import FAMILIES, NATIVE

Round = dict[str, dict[str, Any]]
Found = dict[tuple[str, str], list[Round]]
Kind = Literal["time", "speed"]


class Goal(NamedTuple):
    """A row of the table, with its goals."""

    work: str
    family: str
    size: str
    peer: str
    kind: Kind
    reach: float | None
    beyond: float | None
    ours: str = "funcgrad"
    """The peer that is measured: funcgrad without llvmlite, or with it."""


class Row(NamedTuple):
    """A row with its measured number, or a note that says why it has none."""

    name: str
    against: str
    kind: Kind | Literal["seconds"]
    measured: float | None
    reach: float | None
    beyond: float | None
    note: str = ""

    @property
    def reached(self) -> str:
        """The goal that it meets."""
        if self.measured is None:
            return "not measured"
        if self.beyond is not None and self._meets(self.beyond):
            return "beyond"
        if self.reach is None:
            return "not beyond"
        return "yes" if self._meets(self.reach) else "**no**"

    @property
    def short(self) -> bool:
        """Whether it misses a goal."""
        last = "yes" if self.beyond is None else "beyond"
        return self.reached not in (last, "not measured")

    def _meets(self, bound: float) -> bool:
        value = self.measured or 0.0
        return value >= bound if self.kind == "speed" else value <= bound


TINY, GRAPH = "tiny scalar gradient, a call", "graph of 10⁴ scalar operations"
FAST = GRAPH + ", with llvmlite"
TRACED = GRAPH + ": trace, gradient, lowering (first call)"
TRACED_FAST = TRACED + ", with llvmlite"
COST, START = "gradient cost / function cost, the worst of all", "process start to first gradient"
OTHER_ROWS = {TRACED, TRACED_FAST, COST, START}
"""Rows that do not compare the times of two peers."""
CHAIN, RK4, NET = "elementwise chain", "RK4 on numbers, 10⁴ steps", "784-256-128-10 network"
BUNDLE = "bundle adjustment, 10⁴ observations"
STORES = "10⁴ stores into an array, in a loop"
RK4_FAST = RK4 + ", with llvmlite"
GOALS = (
    Goal(TINY, "tiny", "", "by hand", "time", 1.5, 1.15),
    Goal(TINY, "tiny", "", "jax", "speed", 10, 18),
    Goal(TINY, "tiny", "", "autograd", "speed", 300, 600),
    Goal(GRAPH, "graph", "10000", "torch", "speed", 40, 75),
    Goal(FAST, "graph", "10000", "torch", "speed", 500, 750, NATIVE),
    Goal(FAST, "graph", "10000", "casadi", "speed", 1.5, 2.3, NATIVE),
    Goal(FAST, "graph", "10000", "C", "time", 2.2, 1.3, NATIVE),
    *[
        Goal(f"array of {n}, elementwise", "elementwise", n, "by hand", "speed", 1, 1.4)
        for n in ("1", "10", "100")
    ],
    *[
        Goal(
            f"array of {n}, elementwise, with llvmlite",
            "elementwise",
            n,
            "by hand",
            "speed",
            1,
            1.4,
            NATIVE,
        )
        for n in ("1", "10", "100")
    ],
    *[
        Goal(f"{CHAIN}, 10{power}", "elementwise", n, peer, "speed", *bounds)
        for peer, bounds in (("jax", (0.8, 1)), ("autograd", (2, 3)))
        for n, power in (("100000", "⁵"), ("1000000", "⁶"), ("10000000", "⁷"))
    ],
    *[
        Goal(
            f"{CHAIN}, 10{power}, with llvmlite", "elementwise", n, "jax", "speed", 1, None, NATIVE
        )
        for n, power in (("100000", "⁵"), ("1000000", "⁶"), ("10000000", "⁷"))
    ],
    Goal("logistic gradient, 100×10", "logistic", "100x10", "by hand", "time", 1.3, 1.05),
    Goal("logistic gradient, 10⁴×100", "logistic", "10000x100", "by hand", "time", 1.0, 0.77),
    Goal("logistic gradient, 10⁶×10", "logistic", "1000000x10", "by hand", "time", 0.6, 0.38),
    *[
        goal
        for dtype in ("float64", "float32")
        for goal in (
            Goal(f"{NET}, {dtype}", "network", dtype, "by hand", "time", 1.1, 1.0),
            Goal(f"{NET}, {dtype}", "network", dtype, "jax", "time", None, 1.0),
            Goal(f"{NET}, {dtype}", "network", dtype, "torch", "time", None, 1.0),
        )
    ],
    *[
        Goal(f"{name}, with llvmlite", family, size, "jax", "speed", 1, None, NATIVE)
        for name, family, size in (
            ("logistic gradient, 100×10", "logistic", "100x10"),
            ("logistic gradient, 10⁴×100", "logistic", "10000x100"),
            ("logistic gradient, 10⁶×10", "logistic", "1000000x10"),
            (f"{NET}, float64", "network", "float64"),
            (f"{NET}, float32", "network", "float32"),
            ("Gaussian mixture, d=10, K=25, N=1000", "mixture", "d=10 K=25 N=1000"),
        )
    ],
    Goal(
        "Gaussian mixture, d=10, K=25, N=1000",
        "mixture",
        "d=10 K=25 N=1000",
        "jax",
        "speed",
        0.6,
        1,
    ),
    Goal("LSTM, 100 steps, h=64, B=1", "lstm", "B=1", "jax", "speed", 0.5, 1),
    Goal("LSTM, 100 steps, h=64, B=16", "lstm", "B=16", "jax", "speed", 0.8, 1),
    *[
        Goal(
            f"LSTM, 100 steps, h=64, {size}, with llvmlite",
            "lstm",
            size,
            "jax",
            "speed",
            1,
            None,
            NATIVE,
        )
        for size in ("B=1", "B=16")
    ],
    Goal(RK4, "rk4", "10000 steps", "jax", "speed", 1 / 30, 1 / 15),
    Goal(RK4_FAST, "rk4", "10000 steps", "jax", "speed", 1, 2, NATIVE),
    Goal(RK4, "rk4", "10000 steps", "autograd", "speed", 300, None),
    Goal(RK4, "rk4", "10000 steps", "torch", "speed", 60, None),
    Goal("fluid, 32×32, with llvmlite", "fluid", "32x32", "jax", "speed", 1, None, NATIVE),
    *[
        Goal(
            f"{BUNDLE}, `sparse_jacobian`{more}",
            "bundle",
            "10000 observations",
            "jax",
            "speed",
            1,
            None,
            ours,
        )
        for more, ours in (("", "funcgrad"), (", with llvmlite", NATIVE))
    ],
    Goal(STORES, "stores", "10000 stores", "jax", "speed", 0.3, 1),
    Goal(STORES, "stores", "10000 stores", "autograd", "speed", 15, 30),
    Goal(f"{STORES}, with llvmlite", "stores", "10000 stores", "jax", "speed", 1, None, NATIVE),
    *[
        goal
        for name, family, size, limit in (
            ("RK4 on an array of 3, 100 steps", "ode", "n=3", "C"),
            ("RK4 on an array of 30, 100 steps", "ode", "n=30", "C"),
            ("RK4 on an array of 300, 100 steps", "ode", "n=300", "C"),
            ("Kalman filter, 4 states, 200 steps", "kalman", "200 steps", "C"),
            ("HMM, 32 states, 1,000 steps", "hmm", "1000 steps", "C"),
            ("HMM on probabilities, 1,000 steps", "hmm", "1000 steps, scaled", "C"),
            ("5 bodies, 200 steps", "nbody", "5 bodies", "C"),
            ("50 bodies, 200 steps", "nbody", "50 bodies", "C"),
            ("Jacobian of an arm of 6 joints", "arm", "", "C"),
            ("Lorenz ensemble, 100 members, 200 steps", "lorenz", "100 members", "C"),
            ("hand of 26 bones, 544 points", "hand", "544 points", "C"),
            (BUNDLE, "bundle", "10000 observations by blocks", "C"),
            ("relaxation on 64×64 points, 100 sweeps", "relaxation", "64 x 64", "C"),
            ("wave packet on 64 points, 100 steps", "wave", "64 points", "C"),
            ("wave packet on 1,024 points, 100 steps", "wave", "1024 points", "C"),
            ("Newton's iteration in a while loop", "newton", "", "C"),
            ("determinant by minors, 6×6", "minors", "6x6", "by hand"),
            ("k-means, gradient", "kmeans", "gradient", "by hand"),
            ("k-means, Hessian-vector product", "kmeans", "Hessian-vector", "by hand"),
            ("log-sum-exp, 2,500", "log-sum-exp", "2500", "by hand"),
            ("log-sum-exp, 10⁶", "log-sum-exp", "1000000", "by hand"),
            ("least squares on 128 powers by cumprod", "polynomial", "degree 128", "by hand"),
            ("Black-Scholes and greeks, 10⁶ options", "options", "1000000", "by hand"),
        )
        for more, ours in [
            (", with llvmlite", NATIVE) if NATIVE in FAMILIES[family].PEERS else ("", "funcgrad")
        ]
        for goal in (
            Goal(f"{name}{more}", family, size, "jax", "speed", 1, None, ours),
            Goal(f"{name}{more}", family, size, limit, "time", 1.5, None, ours),
        )
    ],
)


def rows(found: Found, starts: dict[str, list[float]]) -> list[Row]:
    """The rows of the table, in order."""
    made = [_row(goal, found[goal.family, goal.size]) for goal in GOALS]
    after = 1 + max(i for i, goal in enumerate(GOALS) if goal.family == "graph")
    made[after:after] = [
        _traced(TRACED, found["graph", "10000"], "funcgrad"),
        _traced(TRACED_FAST, found["graph", "10000"], NATIVE),
    ]
    made.append(_costs(found))
    made.append(_start(starts))
    return made


def _row(goal: Goal, rounds: Sequence[Round]) -> Row:
    against = "tape in C" if (goal.peer, goal.family) == ("C", "graph") else goal.peer
    ratio = ratio_of(rounds, goal.peer, goal.ours)
    note = absent(rounds, goal.ours) or absent(rounds, goal.peer)
    if ratio is not None and goal.kind == "time":
        ratio = 1 / ratio
    return Row(goal.work, against, goal.kind, ratio, goal.reach, goal.beyond, note)


def _traced(name: str, rounds: Sequence[Round], ours: str) -> Row:
    first = median_of(rounds, ours, "first")
    return Row(name, "", "seconds", first, 0.5, 0.15, absent(rounds, ours))


def absent(rounds: Sequence[Round], peer: str) -> str:
    """The reason why a peer was not measured, or an empty text."""
    reason: str = rounds[0][peer].get("absent", "")
    return reason


def ratio_of(rounds: Sequence[Round], peer: str, ours: str = "funcgrad") -> float | None:
    """The peer's time over funcgrad's: the median over the rounds that have both."""
    pairs = [(entry[peer], entry[ours]) for entry in rounds if peer in entry and ours in entry]
    ratios = [a["steady"] / b["steady"] for a, b in pairs if "steady" in a and "steady" in b]
    return statistics.median(ratios) if ratios else None


def median_of(rounds: Sequence[Round], peer: str, name: str) -> float | None:
    """The median of a figure over the rounds."""
    values = [entry[peer][name] for entry in rounds if peer in entry and name in entry[peer]]
    return statistics.median(values) if values else None


def cost_of(rounds: Sequence[Round], ours: str = "funcgrad") -> float | None:
    """The time of funcgrad's gradient over that of the function."""
    found = [entry.get(ours, {}) for entry in rounds]
    costs = [entry["steady"] / entry["function"] for entry in found if "function" in entry]
    return statistics.median(costs) if costs else None


def _costs(found: Found) -> Row:
    costs = {
        (*key, more): cost
        for key, rounds in found.items()
        for ours, more in (("funcgrad", ""), (NATIVE, ", with llvmlite"))
        if (cost := cost_of(rounds, ours)) is not None
    }
    worst = max(costs, key=lambda key: costs[key])
    family, size, more = worst
    note = f"worst at {f'{FAMILIES[family].TITLE} {size}'.rstrip()}{more}"
    return Row(COST, "the function", "time", costs[worst], 4, 2.5, note)


def _start(starts: dict[str, list[float]]) -> Row:
    if "autograd" not in starts:
        return Row(START, "autograd", "time", None, 1.2, 0.7, "not installed")
    pairs = zip(starts["funcgrad"], starts["autograd"], strict=True)
    return Row(START, "autograd", "time", statistics.median([a / b for a, b in pairs]), 1.2, 0.7)
