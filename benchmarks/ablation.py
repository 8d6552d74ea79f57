"""The gain of each pass of the compiler: funcgrad with all passes against funcgrad without one of them.

The programs are compared first; only work whose program a pass changes is timed. Each variant runs in a
process of its own, and batches of calls alternate between the two, so that a slow machine slows both.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from subprocess import Popen
from typing import Any

from benchmarks.measure import CLOCK
from benchmarks.work import FAMILIES, NATIVE
from benchmarks.work.base import AbsentError
from funcgrad.compiler.pass_options import PASSES

PEERS = ("funcgrad", NATIVE)
BATCH = 0.02
"""Seconds of a batch of calls."""
Ask = Callable[..., Any]
"""Runs a task in a process of its own, without some passes, and returns its answer."""
Start = Callable[..., "Popen[str]"]
"""Starts a task in a process of its own, without some passes."""


def programs(peer: str) -> dict[str, str]:
    """For each piece of work a digest of the program that runs: its source, its loops and its schedule.

    Work that the peer does not do, or does in several programs, is left out.
    """
    found = {}
    for name, family in FAMILIES.items():
        for size in family.SIZES if peer in family.PEERS and name not in ("graph", "plain") else ():
            try:
                work = family.PEERS[peer](family.data(size))
            except AbsentError:
                continue
            if not hasattr(work.call, "lower"):  # a sparse Jacobian
                continue
            lowered = work.call.lower(*work.args)
            schedule = getattr(lowered.schedule, "lines", lambda: [])()
            texts = [lowered.source, *map(str, lowered.loops), *schedule, *map(str, lowered.native)]
            found[f"{name} {size}"] = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    return found


def serve(family: str, size: str, peer: str) -> None:
    """Write the seconds a call of each batch to standard output, a batch for each line that is read."""
    module = FAMILIES[family]
    work = module.PEERS[peer](module.data(size))
    start = CLOCK()
    work.call(*work.args)
    first = CLOCK() - start
    for _ in range(work.warm):
        work.call(*work.args)
    start = time.perf_counter()
    work.call(*work.args)
    count = max(1, int(BATCH / (time.perf_counter() - start)))
    print(first, flush=True)
    for _ in sys.stdin:
        start = CLOCK()
        for _ in range(count):
            work.call(*work.args)
        print((CLOCK() - start) / count, flush=True)


def gain(start: Start, name: str, task: Sequence[str], rounds: int) -> str:
    """A row: the time of a call without a pass over that with it, as the median over pairs of batches."""
    both = [start("serve", *task), start("serve", *task, without=name)]
    first = [_read(process) for process in both]
    pairs = []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        taken = {k: _batch(both[k]) for k in order}
        pairs.append((taken[0], taken[1]))
    for process in both:
        process.communicate()
    ratios = sorted([without / found for found, without in pairs])
    quarter = len(ratios) // 4
    median = statistics.median([found for found, _ in pairs])
    family, size, peer = task
    return (
        f"| {name} | {family} {size} | {peer} | {median * 1e6:,.1f} | {statistics.median(ratios):.3f} | "
        f"{ratios[quarter]:.3f} to {ratios[~quarter]:.3f} | {first[1] / first[0]:.2f} |"
    )


def _read(process: Popen[str]) -> float:
    if process.stdout is None:
        raise RuntimeError("gain: expected a process whose output is a pipe")
    return float(process.stdout.readline())


def _batch(process: Popen[str]) -> float:
    if process.stdin is None:
        raise RuntimeError("gain: expected a process whose input is a pipe")
    process.stdin.write("\n")
    process.stdin.flush()
    return _read(process)


def measure(ask: Ask, start: Start, names: Sequence[str], rounds: int) -> list[str]:
    """The rows of passes, those of one pass together."""
    whole = {peer: ask("programs", peer) for peer in PEERS}
    lines = []
    for name in names:
        before = len(lines)
        for peer in PEERS:
            part = ask("programs", peer, without=name)
            for work in [work for work, digest in whole[peer].items() if digest != part[work]]:
                family, _, size = work.partition(" ")
                lines.append(gain(start, name, (family, size, peer), rounds))
        if len(lines) == before:
            print(f"{name}: no benchmark's program changes without it", file=sys.stderr)
    return lines


def page(found: Sequence[str], names: Sequence[str], before: str) -> str:
    """The page with the rows that were found of passes; its text, and the rows of other passes, stay.

    Rows of programs that are no benchmark's name the pass in backticks, and stay, too.
    """
    kept, place = [], None
    for line in before.splitlines():
        if any(line.startswith(f"| {name} |") for name in names):
            place = len(kept) if place is None else place
        else:
            kept.append(line)
    if place is None:  # none of them has rows there: below those of other passes
        rows = tuple(f"| {name} |" for name in PASSES)
        place = 1 + max(k for k, line in enumerate(kept) if line.startswith(rows))
    return "\n".join([*kept[:place], *found, *kept[place:]]) + "\n"
