"""Run every peer in a process of its own, on one core, and print medians and ratios.

python -m benchmarks            all of it
python -m benchmarks --smoke    tiny sizes, to see that it runs
python -m benchmarks --full     chains of a million nodes, too
python -m benchmarks --write    the tables into docs/performance.md
"""

from __future__ import annotations

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
CHAIN = (
    "build",
    "key",
    "graph",
    "toposort",
    "evaluate",
    "backprop",
    "repr",
    "pickle",
    "unpickle",
    "drop",
)


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


def chain(count: str) -> dict[str, Any]:
    """Microseconds a node of everything done to a chain of sines, and bytes a node."""
    import pickle
    import resource

    import numpy as np

    import funcgrad as fg

    n, times = int(count), {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def timed(name: str, f: Any) -> Any:
        start = time.perf_counter()
        value = f()
        times[name] = (time.perf_counter() - start) / n * 1e6
        return value

    def build() -> Any:
        y = fg.var("x")
        for _ in range(n):
            y = np.sin(y)
        return y

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
    timed("unpickle", lambda: pickle.loads(stored))
    timed("drop", held.clear)
    return {"times": times, "bytes": size}


def imports(module: str) -> dict[str, Any]:
    """The least wall time of a process that imports a module, over several."""
    samples = []
    for _ in range(9):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        samples.append(time.perf_counter() - start)
    return {"time": min(samples)}


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


def gradient_table(seconds: float) -> list[str]:
    """The time of a gradient's call as multiples of funcgrad's."""
    from benchmarks.work import FUNCTIONS, PEERS

    lines = ["| gradient, un-jitted, a call | funcgrad | " + " | ".join(list(PEERS)[1:]) + " |"]
    lines.append("| --- |" + " --- |" * len(PEERS))
    for case in FUNCTIONS:
        found = {peer: ask("gradient", peer, case, str(seconds)) for peer in PEERS}
        ours = found["funcgrad"]
        cells = [f"{ours['time'] * 1e6:.0f} µs"]
        for peer in list(PEERS)[1:]:
            other = found[peer]
            if "missing" in other:
                cells.append("not installed")
                continue
            if abs(other["check"] - ours["check"]) > 1e-6 * abs(ours["check"]):
                raise SystemExit(f"{peer} computes another gradient of {case}: {found}")
            cells.append(f"{other['time'] / ours['time']:.2f} ×")
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return lines


def chain_table(sizes: list[int]) -> list[str]:
    """What one node of a chain costs, by the chain's length."""
    lines = ["| nodes | " + " | ".join(CHAIN) + " | bytes a node |"]
    lines.append("| --- |" + " --- |" * (len(CHAIN) + 1))
    for n in sizes:
        found = ask("chain", str(n))
        cells = [f"{found['times'][name]:.1f}" for name in CHAIN]
        lines.append(f"| {n} | {' | '.join(cells)} | {found['bytes']:.0f} |")
    return lines


def import_line() -> str:
    """Import time against NumPy's."""
    ours, numpys = ask("imports", "funcgrad")["time"], ask("imports", "numpy")["time"]
    return (
        f"`import funcgrad` takes {ours / numpys:.2f} × the time of `import numpy` "
        f"({(ours - numpys) * 1e3:.0f} ms more)."
    )


HEADER = """\
# Performance

Written by `python -m benchmarks --full --write`: one process a peer, one pinned core, one BLAS thread,
medians. Ratios are a peer's time over funcgrad's in the same run (above 1: funcgrad is faster); the
absolute times only say what order of magnitude the ratios are of.
"""

CHAIN_TEXT = "Microseconds a node, of everything done to a chain of sines (`y = np.sin(y)`):"


def main(arguments: list[str]) -> None:
    """Print the tables, or one task's answer."""
    pin()
    if arguments[:1] == ["--task"]:
        print(json.dumps(TASKS[arguments[1]](*arguments[2:])))
        return
    smoke = "--smoke" in arguments
    sizes = [1_000] if smoke else [10_000, 100_000] + [1_000_000] * ("--full" in arguments)
    blocks = [
        "\n".join(gradient_table(0.02 if smoke else 1.0)),
        f"{CHAIN_TEXT}\n\n" + "\n".join(chain_table(sizes)),
        import_line(),
    ]
    page = "\n\n".join([HEADER.rstrip(), *blocks]) + "\n"
    print(page)
    if "--write" in arguments:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
