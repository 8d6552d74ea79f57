"""docs/performance.md, from what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.chains import CHAINS
from benchmarks.goals import Found, Round, Row, cost_of, median_of, ratio_of
from benchmarks.why import WHY
from benchmarks.work import FAMILIES

HEADER = """\
# Performance

Written by `python -m benchmarks --full --write`: one process a peer, one pinned core, one BLAS thread,
medians of the time that a process itself takes of the core, each ratio from one run and one round. The
results of all peers are compared before their times count. The machine's own speed is not in the ratios;
the absolute times only say what order of magnitude they are of.
{machine}.

funcgrad is measured as its users write it: `fg.jit(fg.grad(f))` or `fg.jit(fg.value_and_grad(f))`, with
`fg.scan` for loops. JAX is jitted, on arrays of its own, with `lax.scan`; PyTorch is eager; CasADi has SX
functions; SymPy prints the derivative by `lambdify(..., cse=True)`; what is by hand is NumPy or `math`,
and the tape in C is compiled by `cc -O3`.
"""
GOALS = """\
## What is to be reached

"≤" is funcgrad's time over the other's, "≥" the other's time over funcgrad's.
"""
PLOT = """\
![Each row's speed over the peer it is measured against](performance.svg)

Speed over that of the peer, on a logarithmic scale; the ticks are what is to be reached, and beyond.
"""
STEADY = """\
## All peers, steady state

A peer's time over funcgrad's: above 1, funcgrad is faster. "/ function" is the gradient's time over that
of the function itself, compiled in the same way.
"""
FIRST = """\
## First call

Seconds until the first result, with the trace, the gradient and the compilation that it needs.
"""
WARM = """\
## Until the steady state

Seconds that the first calls take beyond the steady state: tracing and compiling, also where it happens at a
later call than the first.
"""
MEMORY = """\
## Memory

Megabytes by which the process grows at its peak, over all calls, beyond imports and data.
"""
CHAIN_TEXT = """\
## What a node costs

Microseconds a node, of everything done to a chain of scalars. `build` is what the user's line costs; `key`
and `graph` are made once, when something first asks, and bytes are those of a chain that has both.
`backprop` makes the cotangent of every node, an expression itself. `compare` makes the keys of a second
chain.
"""
START = "## Start\n\nA process from its start to its first gradient, of `np.sin(x) * x`."


def page(
    machine: str,
    rows: Sequence[Row],
    found: Found,
    chains: dict[tuple[str, int], Any],
    starts: dict[str, list[float]],
    plotted: bool,
) -> str:
    """The whole of it."""
    blocks = [
        HEADER.format(machine=machine),
        f"{GOALS}\n{goal_table(rows)}",
        *([PLOT] if plotted else []),
        f"{STEADY}\n{peer_table(found, _ratio, ours=_time, more=('/ function', _cost))}",
        f"{FIRST}\n{peer_table(found, _figure('first'), ours=_figure('first'))}",
        f"{WARM}\n{peer_table(found, _figure('warm'), ours=_figure('warm'))}",
        f"{MEMORY}\n{peer_table(found, _megabytes, ours=_megabytes)}",
        CHAIN_TEXT,
        *[f"Chain of {shape}:\n\n{chain_table(chains, shape)}" for shape in CHAINS],
        START,
        start_table(starts),
        import_line(starts),
    ]
    return "\n\n".join([block.rstrip() for block in blocks]) + "\n"


def table(head: Sequence[str], lines: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A table of Markdown; all columns but those of words are aligned to the right."""
    rule = ["---" if i in words else "---:" for i in range(len(head))]
    return "\n".join([f"| {' | '.join(line)} |" for line in (head, rule, *lines)])


def number(value: float) -> str:
    """Two or three digits, without an exponent."""
    if value < 0.000005:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}" if value >= 0.0001 else f"{value:.5f}"


def goal_table(rows: Sequence[Row]) -> str:
    """The rows, with why where more is to be reached."""
    lines = []
    for row in rows:
        sign = "≥" if row.kind == "speed" else "≤"
        unit = "s" if row.kind == "seconds" else "×"
        measured = "—" if row.measured is None else f"{number(row.measured)} {unit}"
        bounds = [
            "" if bound is None else f"{sign} {number(bound)} {unit}"
            for bound in (row.reach, row.beyond)
        ]
        told = [row.note, reason(row) if row.short else ""]
        why = "; ".join([text for text in told if text])
        lines.append([row.name, row.against, measured, *bounds, row.reached, why])
    head = ["work", "against", "measured", "reach", "beyond", "reached", "why"]
    return table(head, lines, words=(0, 1, 5, 6))


def reason(row: Row) -> str:
    """What profiling has found: of this row, or of all with its name."""
    return WHY.get((row.name, row.against)) or WHY.get((row.name, ""), "")


# -- peers side by side ------------------------------------------------------------------------------
Cell = Callable[[Sequence[Round], str], str | None]


def _ratio(rounds: Sequence[Round], peer: str) -> str | None:
    ratio = ratio_of(rounds, peer)
    return None if ratio is None else f"{number(ratio)} ×"


def _time(rounds: Sequence[Round], peer: str) -> str | None:
    value = median_of(rounds, peer, "steady")
    if value is None:
        return None
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{number(value * scale)} {unit}"
    return f"{number(value * 1e9)} ns"


def _cost(rounds: Sequence[Round], peer: str) -> str:
    cost = cost_of(rounds)
    return "" if cost is None else f"{number(cost)} ×"


def _figure(name: str) -> Cell:
    def cell(rounds: Sequence[Round], peer: str) -> str | None:
        value = median_of(rounds, peer, name)
        return None if value is None else number(value)

    return cell


def _megabytes(rounds: Sequence[Round], peer: str) -> str | None:
    value = median_of(rounds, peer, "memory")
    return None if value is None else f"{value / 1e6:.1f}"


def peer_table(found: Found, theirs: Cell, ours: Cell, more: tuple[str, Cell] | None = None) -> str:
    """A row for each piece of work, a column for each peer."""
    peers = list(dict.fromkeys([peer for module in FAMILIES.values() for peer in module.PEERS]))[1:]
    extra = [] if more is None else [more]
    lines = []
    for (family, size), rounds in found.items():
        cells = [ours(rounds, "funcgrad") or "", *[cell(rounds, "funcgrad") for _, cell in extra]]
        for peer in peers:
            shown = theirs(rounds, peer) if peer in rounds[0] else None
            absent = rounds[0][peer].get("absent", "") if peer in rounds[0] else ""
            cells.append(shown or absent)
        lines.append([f"{FAMILIES[family].TITLE} {size}".rstrip(), *[cell or "" for cell in cells]])
    return table(["work", "funcgrad", *[name for name, _ in extra], *peers], lines)


# -- nodes and starts --------------------------------------------------------------------------------
def chain_table(chains: dict[tuple[str, int], Any], shape: str) -> str:
    """What one node of a chain costs, by the chain's length, and how that grows."""
    found = {n: one for (of, n), one in chains.items() if of == shape}
    steps = list(next(iter(found.values()))["times"])
    lines = [
        [f"{n:,}", *[f"{one['times'][name]:.2f}" for name in steps], f"{one['bytes']:.0f}"]
        for n, one in found.items()
    ]
    return table(["nodes", *steps, "bytes a node"], lines, words=())


def start_table(starts: dict[str, list[float]]) -> str:
    """Wall times up to the first gradient, and as multiples of funcgrad's."""
    peers = [name for name in starts if not name.startswith("import")]
    walls = [f"{statistics.median(starts[peer]) * 1e3:.0f} ms" for peer in peers]
    ours = starts["funcgrad"]
    ratios = [
        statistics.median([a / b for a, b in zip(starts[peer], ours, strict=True)])
        for peer in peers
    ]
    lines = [["wall time", *walls], ["over funcgrad's", *[f"{number(r)} ×" for r in ratios]]]
    return table(["", *peers], lines)


def import_line(starts: dict[str, list[float]]) -> str:
    """Import time against NumPy's."""
    ours, theirs = min(starts["import funcgrad"]), min(starts["import numpy"])
    return (
        f"`python -c 'import funcgrad'` takes {ours / theirs:.2f} × the time of "
        f"`python -c 'import numpy'` ({(ours - theirs) * 1e3:.0f} ms more)."
    )
