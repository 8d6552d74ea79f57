"""Run every peer in a process of its own, on one core, and print medians and ratios.

python -m benchmarks            all of it
python -m benchmarks --smoke    tiny sizes, to see that it runs
python -m benchmarks --full     chains of a million nodes, too
python -m benchmarks --write    the tables into docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def pin() -> None:
    """Stay on one core, where the system lets a process choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def median_time(f: Any, args: tuple[Any, ...], seconds: float) -> float:
    """The median of the seconds a call, over batches that fill the time given."""
    f(*args)
    start = time.perf_counter()
    f(*args)
    once = max(time.perf_counter() - start, 1e-7)
    batch = max(1, int(seconds / 20 / once))
    samples = []
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(batch):
            f(*args)
        samples.append((time.perf_counter() - start) / batch)
    return statistics.median(samples)


def gradient(peer: str, case: str, seconds: str) -> dict[str, Any]:
    """One peer's time a call, and a number that all peers must agree on."""
    import numpy as np

    from benchmarks.work import PEERS

    try:
        f, args = PEERS[peer](case)
    except ImportError:
        return {"missing": True}
    result = f(*args)
    parts = result.values() if isinstance(result, dict) else [result]
    check = float(sum(np.sum(np.abs(np.asarray(part))) for part in parts))
    return {"time": median_time(f, args, float(seconds)), "check": check}


def chain(shape: str, count: str) -> dict[str, Any]:
    """Microseconds a node of everything done to a chain, and bytes a node."""
    import pickle
    import resource

    import funcgrad as fg
    from benchmarks.work import CHAINS

    n, times = int(count), {}
    step = CHAINS[shape]

    def timed(name: str, f: Any) -> Any:
        start = time.perf_counter()
        value = f()
        times[name] = (time.perf_counter() - start) / n * 1e6
        return value

    def build() -> Any:
        y = fg.var("x")
        for _ in range(n):
            y = step(y)
        return y

    def compare(other: Any) -> None:
        if held[0].key != other.key:
            raise SystemExit("a stored chain came back another")

    repr(fg.backprop(step(fg.var("x"))))  # what is made once, at the first use, is not a node's
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Held in one place, so that the last step drops it.
    held = [timed("build", build)]
    timed("key", lambda: held[0].key)
    timed("graph", lambda: held[0].graph)
    size = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / n
    timed("toposort", lambda: fg.toposort(held[0]))
    timed("evaluate", lambda: held[0](x=0.5))
    timed("backprop", lambda: fg.backprop(held[0]))
    timed("repr", lambda: repr(held[0]))
    stored = timed("pickle", lambda: pickle.dumps(held[0]))
    again = timed("unpickle", lambda: pickle.loads(stored))
    timed("compare", lambda: compare(again))
    timed("drop", held.clear)
    return {"times": times, "bytes": size}


def imports(rounds: str) -> dict[str, Any]:
    """The least wall time of a process that imports funcgrad, and numpy alone, taken in turn."""
    samples: dict[str, list[float]] = {"numpy": [], "funcgrad": []}
    for _ in range(int(rounds)):
        for module, times in samples.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
            times.append(time.perf_counter() - start)
    return {module: min(times) for module, times in samples.items()}


TASKS = {"gradient": gradient, "chain": chain, "imports": imports}


def ask(*task: str) -> Any:
    """The answer of a task that runs in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "--task", *task]
    # Modules are imported compiled, as they are where they are installed.
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, env=kept | ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def gradient_table(seconds: float, rounds: int) -> list[str]:
    """The time of a gradient's call as a multiple of funcgrad's: the median over rounds."""
    from benchmarks.work import FUNCTIONS, PEERS

    peers = list(PEERS)
    names = [peer.replace("_", " ") for peer in peers[1:]]
    lines = ["| gradient, un-jitted, a call | funcgrad | " + " | ".join(names) + " |"]
    lines.append("| --- |" + " ---: |" * len(peers))
    for case in FUNCTIONS:
        # In each round all peers take their turn, so that a slow minute is slow for all of them.
        found = [
            {peer: ask("gradient", peer, case, str(seconds)) for peer in peers}
            for _ in range(rounds)
        ]
        ours = statistics.median(turn["funcgrad"]["time"] for turn in found)
        cells = [f"{ours * 1e6:.0f} µs", *[_ratio(peer, case, found) for peer in peers[1:]]]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return lines


def _ratio(peer: str, case: str, found: list[dict[str, Any]]) -> str:
    if "missing" in found[0][peer]:
        return "not installed"
    for turn in found:
        theirs, ours = turn[peer]["check"], turn["funcgrad"]["check"]
        if abs(theirs - ours) > 1e-6 * abs(ours):
            raise SystemExit(f"{peer} computes another gradient of {case}: {theirs}, not {ours}")
    ratio = statistics.median(turn[peer]["time"] / turn["funcgrad"]["time"] for turn in found)
    return f"{ratio:.3f} ×" if ratio < 0.1 else f"{ratio:.2f} ×"


def chain_table(shape: str, sizes: list[int]) -> list[str]:
    """What one node of a chain costs, by the chain's length, and how that grows."""
    found = {n: ask("chain", shape, str(n)) for n in sizes}
    steps = list(found[sizes[0]]["times"])
    lines = ["| nodes | " + " | ".join(steps) + " | bytes a node |"]
    lines.append("| ---: |" + " ---: |" * (len(steps) + 1))
    for n in sizes:
        cells = [f"{found[n]['times'][name]:.2f}" for name in steps]
        lines.append(f"| {n:,} | {' | '.join(cells)} | {found[n]['bytes']:.0f} |")
    return lines


def import_line(rounds: int) -> str:
    """Import time against NumPy's."""
    found = ask("imports", str(rounds))
    ours, theirs = found["funcgrad"], found["numpy"]
    return (
        f"`python -c 'import funcgrad'` takes {ours / theirs:.2f} × the time of "
        f"`python -c 'import numpy'` ({(ours - theirs) * 1e3:.0f} ms more)."
    )


HEADER = """\
# Performance

Written by `python -m benchmarks --full --write`: one process a peer, one pinned core, one BLAS thread,
medians. Ratios are a peer's time over funcgrad's in the same round (above 1: funcgrad is faster); the
absolute times only say what order of magnitude the ratios are of.
"""

CHAIN_TEXT = """\
Microseconds a node, of everything done to a chain of scalars. `build` is what the user's line costs; `key`
and `graph` are made once, when something first asks, and bytes are those of a chain that has both.
`backprop` makes the cotangent of every node, an expression itself. `compare` makes the keys of a second
chain.
"""


def main(arguments: list[str]) -> None:
    """Print the tables, or one task's answer."""
    pin()
    if arguments[:1] == ["--task"]:
        print(json.dumps(TASKS[arguments[1]](*arguments[2:])))
        return
    parser = argparse.ArgumentParser("python -m benchmarks", description="Speed, as ratios.")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--full", action="store_true", help="chains of a million nodes, too")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    given = parser.parse_args(arguments)
    sizes = [1_000] if given.smoke else [10_000, 100_000] + [1_000_000] * given.full
    from benchmarks.work import CHAINS

    chains = ["\n".join([f"Chain of {c}:\n", *chain_table(c, sizes)]) for c in CHAINS]
    blocks = [
        "\n".join(gradient_table(0.02, 1) if given.smoke else gradient_table(0.3, 5)),
        CHAIN_TEXT.rstrip(),
        *chains,
        import_line(1 if given.smoke else 15),
    ]
    page = "\n\n".join([HEADER.rstrip(), *blocks]) + "\n"
    print(page)
    if given.write:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
