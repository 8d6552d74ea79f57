"""The page docs/performance.md, from measured times and memory."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.chains import CHAINS
from benchmarks.goals import Found, Round, Row, absent, cost_of, median_of, ratio_of
from benchmarks.measure import PATIENCE, SECONDS
from benchmarks.why import WHY
from benchmarks.work import FAMILIES, NATIVE

HEADER = """\
# Performance

Written by `{command}`: one process for each peer, one pinned core, one BLAS thread.
Times are medians of the process's CPU time, and each ratio is of two times of one run and one round. Times
count only if all peers compute the same results. Ratios remove the speed of the machine; absolute times show
only an order of magnitude. {rounds}
{machine}.

funcgrad is measured as its users write it: `fg.jit(fg.grad(f))` or `fg.jit(fg.value_and_grad(f))`, with
`fg.scan` for loops. JAX is jitted, on arrays of its own, with `lax.scan`; PyTorch is eager; CasADi has SX
functions; SymPy prints the derivative by `lambdify(..., cse=True)`; "by hand" is NumPy or `math`,
and the tape in C is compiled by `cc -O3`.

"With llvmlite" is funcgrad with the extra `fast`, which affects programs of thousands of operations on
numbers, loops and small arrays; all other rows are measured in processes that cannot import llvmlite. Its
steady state is that of machine code, by `fg.jit(f, native=True)`; plain `fg.jit(f)` reaches the same when
it has run for about as long as compiling takes, and its first calls are those of the tables below.
{not_native}{llvmlite}
"""
NOT_NATIVE = (
    "Without a form in machine code, and so as plain `fg.jit(f)` after two hundred calls: {}. "
)
ROUNDS = (
    "Each peer was measured once: on a shared machine, a ratio may be off by a half.",
    "Each peer was measured {} times.",
)
LLVMLITE_IS = "The version is llvmlite {}."
NO_LLVMLITE = "It is not installed, so its rows are not measured."
GOALS = """\
## Goals

"reach" is the goal, "beyond" a more ambitious one. "≤" marks funcgrad's time over the peer's, "≥" the peer's
time over funcgrad's. All rows but the first calls are of the steady state. With llvmlite it is that of
machine code, which plain `fg.jit(f)` reaches when it has run for about as long as compiling takes.
"""
PLOT = """\
![Each row's speed over the peer it is measured against](performance.svg)

Speed over that of the peer, on a logarithmic scale; the ticks are the goals, "reach" and "beyond".
"""
STEADY = """\
## All peers, steady state

A peer's time over funcgrad's: above 1, funcgrad is faster. "/ function" is the gradient's time over that
of the function itself, compiled in the same way.
"""
FIRST = """\
## First call

Seconds until the first result, including tracing, differentiation and compilation. With llvmlite they include
importing it and, for programs of thousands of operations on numbers, compiling the bytecode VM.
"""
WARM = """\
## Until the steady state

Seconds that the first calls take beyond the steady state: tracing and compiling, also at later calls than the
first. With llvmlite they include the calls of plain `fg.jit(f)` before a program is compiled to machine code,
which run as Python; the cell is empty where these take more than {patience:.0f} seconds, or where machine
code is not what plain `fg.jit(f)` chooses.
"""
MEMORY = """\
## Memory

Megabytes of growth of the process at its peak over all calls, without imports and data. With llvmlite, its
import counts.
"""
WITHOUT_AVX512 = """\
## Without AVX-512

NumPy has faster functions, as exp, log and tanh of float64, for processors with AVX-512. On a machine without
it (two rounds, the second core busy) these rows were below their goals, though the tables above, from another
machine, may say that they are reached:

| work | against | without AVX-512 | goal |
| --- | --- | ---: | ---: |
| elementwise chain, 10⁵; 10⁶; 10⁷ | jax | 0.52; 0.51; 0.59 × | ≥ 0.80 × |
| elementwise chain, 10⁷, with llvmlite | jax | 0.59 × | ≥ 1.00 × |
| Gaussian mixture, d=10, K=25, N=1000 | jax | 0.52 × | ≥ 0.60 × |
| LSTM, h=64, B=1; B=16 | jax | 0.47; 0.61 × | ≥ 0.50; 0.80 × |
| LSTM, h=64, B=1, with llvmlite | jax | 0.95 × | ≥ 1.00 × |
| 784-256-128-10 network, float32 | by hand | 1.13 × | ≤ 1.10 × |
| bundle adjustment, with llvmlite | C | 1.65 × | ≤ 1.50 × |
| least squares on 128 powers, with llvmlite | by hand | 2.15 × | ≤ 1.50 × |

## Calls of a few microseconds

`python -m benchmarks --jit-never-hurts` compares jitted calls with the same calls without `jit`, which for
values are calls of NumPy alone. Of 147, 31 were slower by more than a tenth. Each takes less than 20 µs,
and is slower by 0.1 to 4 µs: the entry compares the types of the arguments (0.1 to 0.8 µs), an argument that
is returned is copied (0.3 µs), and each conversion between dtypes, which NumPy's functions make inside, is a
call (0.5 µs).

## Gradients of library functions

`python -m benchmarks --costs` compares gradients with their functions, of NumPy and SciPy, on arrays of
90,000 entries. Of 97, three took more than six times as long, with `jit` and without it (the smaller ratio):
`det` (22), by singular values, since the determinant of these entries is infinite (of finite ones it takes 4
to 6 times as long); `j1` (14), whose derivative has the function of order 2, which takes SciPy 13 times as
long; and `lu` (9).
"""
CHAIN_TEXT = """\
## Cost of a node

Microseconds a node for operations on a chain of scalars. `build` is the user's own line; `key`
and `graph` are computed once, when they are first read; bytes are those of a chain that has both.
`backprop` builds the cotangent of every node, an expression itself. `compare` computes the keys of a second
chain.
"""
START = "## Start\n\nTime from the start of a process to its first gradient, of `np.sin(x) * x`."


def page(
    machine: str,
    command: str,
    rows: Sequence[Row],
    found: Found,
    chains: dict[tuple[str, int], Any],
    starts: dict[str, list[float]],
    plotted: bool,
) -> str:
    """The text of the page."""
    blocks = [
        _header(machine, command, found),
        f"{GOALS}\n{goal_table(rows)}",
        *([PLOT] if plotted else []),
        f"{STEADY}\n{peer_table(found, _time, _ratio, more=('/ function', _cost))}",
        f"{FIRST}\n{peer_table(found, _figure('first'))}",
        f"{WARM.format(patience=PATIENCE * SECONDS)}\n{peer_table(found, _figure('warm'))}",
        f"{MEMORY}\n{peer_table(found, _megabytes)}",
        WITHOUT_AVX512,
        CHAIN_TEXT,
        *[f"Chain of {shape}:\n\n{chain_table(chains, shape)}" for shape in CHAINS],
        START,
        start_table(starts),
        import_line(starts),
    ]
    return "\n\n".join([block.rstrip() for block in blocks]) + "\n"


def _header(machine: str, command: str, found: Found) -> str:
    numbers = [
        _title(*key)
        for key, rounds in found.items()
        if rounds[0].get(NATIVE, {}).get("native", True) is False
    ]
    count = max([len(rounds) for rounds in found.values()])
    return HEADER.format(
        machine=machine,
        command=command,
        rounds=ROUNDS[count > 1].format(count),
        not_native=NOT_NATIVE.format("; ".join(numbers)) if numbers else "",
        llvmlite=_llvmlite(),
    )


def _title(family: str, size: str) -> str:
    return f"{FAMILIES[family].TITLE} {size}".rstrip()


def _llvmlite() -> str:
    try:
        return LLVMLITE_IS.format(version("llvmlite"))
    except PackageNotFoundError:
        return NO_LLVMLITE


def table(head: Sequence[str], lines: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """A Markdown table; all columns except ``words`` are aligned to the right."""
    rule = ["---" if i in words else "---:" for i in range(len(head))]
    return "\n".join([f"| {' | '.join(line)} |" for line in (head, rule, *lines)])


def number(value: float) -> str:
    """A number as text, with two or three digits and no exponent."""
    if value < 0.000005:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}" if value >= 0.0001 else f"{value:.5f}"


def goal_table(rows: Sequence[Row]) -> str:
    """The table of goals, with reasons for the rows that miss one."""
    lines = []
    for row in rows:
        sign = "≥" if row.kind == "speed" else "≤"
        unit = "s" if row.kind == "seconds" else "×"
        measured = "—" if row.measured is None else f"{number(row.measured)} {unit}"
        bounds = [
            "" if bound is None else f"{sign} {number(bound)} {unit}"
            for bound in (row.reach, row.beyond)
        ]
        notes = [row.note, reason(row) if row.short else ""]
        why = "; ".join([text for text in notes if text])
        lines.append([row.name, row.against, measured, *bounds, row.reached, why])
    head = ["work", "against", "measured", "reach", "beyond", "reached", "why"]
    return table(head, lines, words=(0, 1, 5, 6))


def reason(row: Row) -> str:
    """The reason found by profiling, for this row or for all rows of its name."""
    return WHY.get((row.name, row.against)) or WHY.get((row.name, ""), "")


# -- peers side by side ------------------------------------------------------------------------------
Cell = Callable[[Sequence[Round], str], str | None]
Ratio = Callable[[Sequence[Round], str, str], str | None]


def _ratio(rounds: Sequence[Round], peer: str, ours: str) -> str | None:
    ratio = ratio_of(rounds, peer, ours)
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
    cost = cost_of(rounds, peer)
    return "" if cost is None else f"{number(cost)} ×"


def _figure(name: str) -> Cell:
    def cell(rounds: Sequence[Round], peer: str) -> str | None:
        value = median_of(rounds, peer, name)
        return None if value is None else number(value)

    return cell


def _megabytes(rounds: Sequence[Round], peer: str) -> str | None:
    value = median_of(rounds, peer, "memory")
    return None if value is None else f"{value / 1e6:.1f}"


def peer_table(
    found: Found, figure: Cell, ratio: Ratio | None = None, more: tuple[str, Cell] | None = None
) -> str:
    """A table with a row for each piece of work, and one with llvmlite if that is measured; a column a peer.

    Without ``ratio``, peers have figures, which are not repeated in the row with llvmlite.
    """
    names = dict.fromkeys([peer for module in FAMILIES.values() for peer in module.PEERS])
    peers = [name for name in names if name not in ("funcgrad", NATIVE)]
    extra = [] if more is None else [more]
    own = [figure, *[cell for _, cell in extra]]
    lines = []
    for (family, size), rounds in found.items():
        title = _title(family, size)
        for ours, name in (("funcgrad", title), (NATIVE, f"{title}, with llvmlite")):
            if ours in rounds[0]:
                theirs = [_their(rounds, peer, ours, figure, ratio) for peer in peers]
                cells = [*[cell(rounds, ours) or "" for cell in own], *theirs]
                cells[0] = cells[0] or absent(rounds, ours)
                lines.append([name, *cells])
    return table(["work", "funcgrad", *[name for name, _ in extra], *peers], lines)


def _their(rounds: Sequence[Round], peer: str, ours: str, figure: Cell, ratio: Ratio | None) -> str:
    if peer not in rounds[0] or absent(rounds, ours) or (ratio is None and ours == NATIVE):
        return ""
    shown = figure(rounds, peer) if ratio is None else ratio(rounds, peer, ours)
    return shown or absent(rounds, peer)


# -- nodes and starts --------------------------------------------------------------------------------
def chain_table(chains: dict[tuple[str, int], Any], shape: str) -> str:
    """A table of the costs of a node, by the length of the chain."""
    found = {n: one for (of, n), one in chains.items() if of == shape}
    steps = list(next(iter(found.values()))["times"])
    lines = [
        [f"{n:,}", *[f"{one['times'][name]:.2f}" for name in steps], f"{one['bytes']:.0f}"]
        for n, one in found.items()
    ]
    return table(["nodes", *steps, "bytes a node"], lines, words=())


def start_table(starts: dict[str, list[float]]) -> str:
    """A table of wall times up to the first gradient, and their ratios to funcgrad's."""
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
    """A sentence that compares funcgrad's import time with NumPy's."""
    ours, theirs = min(starts["import funcgrad"]), min(starts["import numpy"])
    return (
        f"`python -c 'import funcgrad'` takes {ours / theirs:.2f} × the time of "
        f"`python -c 'import numpy'` ({(ours - theirs) * 1e3:.0f} ms more)."
    )
