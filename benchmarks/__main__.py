"""Run every peer in a process of its own, on one core, and print medians and ratios.

python -m benchmarks                  all of it: about half an hour
python -m benchmarks --smoke          small sizes, once, to see that all runs and that all peers agree
python -m benchmarks --full           chains of a million nodes, too, and more rounds
python -m benchmarks --write          the tables into docs/performance.md, the plot beside it
python -m benchmarks --rounds N       each peer has its turn so often
python -m benchmarks --results FILE   keep what is measured in FILE, and take from it what is there
python -m benchmarks --without PASS   what passes of funcgrad's compiler gain: names, or "all"
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import ablation, chains, measure
from benchmarks.goals import Found, Round, rows
from benchmarks.page import page
from benchmarks.plot import plot
from benchmarks.work import FAMILIES, NUMBA
from funcgrad.compiler.pipeline import PASSES

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}
# Modules are imported compiled, as they are where they are installed; programs are derived anew.
DROPPED = ("PYTHONDONTWRITEBYTECODE", "FUNCGRAD_CACHE", "NUMBA_DISABLE_JIT")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
LONG = 20.0
"""Seconds of a peer's first call beyond which it takes part in one round only."""


def smoke(peer: str) -> dict[str, Any]:
    """What a peer finds on the small size of each family."""
    if peer == NUMBA:
        _compile_small_work()
    return {
        name: measure.case(name, family.SMOKE, peer, "0.001")
        for name, family in FAMILIES.items()
        if peer in family.PEERS
    }


def _compile_small_work() -> None:
    """Have numba compile what it would not be worth while for."""
    from funcgrad.compiler.native import bytecode as tape
    from funcgrad.compiler.native import numba_jit as native

    tape.LEAST = native._WORTH = native._WORTH_EACH = 0


TASKS = {"case": measure.case, "smoke": smoke, "chain": chains.chain, "starts": chains.starts}
TASKS["programs"] = ablation.programs


class Results:
    """Answers of tasks, each of which runs in a process of its own; kept in a file where one is given."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.kept = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def ask(self, *task: str, turn: int = 0) -> Any:
        """A task's answer in one of the rounds."""
        name = "/".join([*task, str(turn)])
        if name not in self.kept:
            self.kept[name] = _answer(*task)
            if self.path is not None:
                self.path.write_text(json.dumps(self.kept))
        return self.kept[name]


def _environment(without: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in DROPPED}
    return kept | ENVIRONMENT | {"FUNCGRAD_WITHOUT": without}


def _python(*arguments: str, without: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=_environment(without), capture_output=True, text=True)


def _answer(*task: str, without: str = "") -> Any:
    """A task's answer in a process of its own, in which funcgrad leaves out some passes."""
    done = _python("-m", "benchmarks", "--task", *task, without=without)
    if done.returncode:
        raise SystemExit(f"{' '.join(done.args)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _start(*task: str, without: str = "") -> subprocess.Popen[str]:
    """A task in a process of its own, which is written to and read from."""
    command = [sys.executable, "-m", "benchmarks", "--task", *task]
    pipe, env = subprocess.PIPE, _environment(without)
    return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)


def checked(where: str, rounds: list[Round], rtol: float) -> list[Round]:
    """The rounds, if all peers have found the same, and numba was where it is measured only."""
    reference = rounds[0]["funcgrad"]["check"]
    for turn in rounds:
        for peer, found in turn.items():
            if "check" in found and not measure.agree(reference, found["check"], rtol):
                raise SystemExit(f"{peer} and funcgrad differ on {where}")
            if found.get("numba", peer == NUMBA) != (peer == NUMBA):
                raise SystemExit(
                    f"{peer} on {where}: numba was {'' if found['numba'] else 'not '}used"
                )
    return rounds


def compare(results: Results, seconds: float, count: int) -> Found:
    """Every peer on every piece of work. In each round all take their turn, so that a slow minute is slow
    for all of them."""
    # What runs tapes is compiled once an installation: now, if not before. Where numba is not, this fails.
    _python("-c", "import funcgrad.compiler.native.vm")
    found: Found = {}
    for name, family in FAMILIES.items():
        for size in family.SIZES:
            rounds: list[Round] = []
            for turn in range(count):
                peers = [p for p in family.PEERS if turn == 0 or _again(rounds[0][p])]
                rounds.append(
                    {p: results.ask("case", name, size, p, str(seconds), turn=turn) for p in peers}
                )
            rtol = 1e-3 if size == "float32" else 1e-7
            found[name, size] = checked(f"{name} {size}", rounds, rtol)
            print(f"measured: {name} {size}", file=sys.stderr, flush=True)
    return found


def _again(found: dict[str, Any]) -> bool:
    return "absent" not in found and found["steady"] < LONG


def smoke_run(results: Results) -> None:
    """Every peer once on small work, each in one process; a peer that disagrees ends the run."""
    peers = dict.fromkeys([peer for family in FAMILIES.values() for peer in family.PEERS])
    answers = {peer: results.ask("smoke", peer) for peer in peers}
    found: Found = {}
    for name, family in FAMILIES.items():
        turn = {peer: answer[name] for peer, answer in answers.items() if name in answer}
        rounds = checked(name, [turn], 1e-7)
        there = [peer for peer, figures in turn.items() if "check" in figures]
        print(f"{name}: {', '.join(there)} agree")
        found |= {(name, size): rounds for size in family.SIZES}
    nodes = {(shape, 1000): results.ask("chain", shape, "1000") for shape in chains.CHAINS}
    starts = results.ask("starts", "1")
    made = rows(found, starts)
    with tempfile.TemporaryDirectory() as folder:
        plotted = plot(made, Path(folder, "performance.svg"))
    print(f"a page of {len(page(machine(), made, found, nodes, starts, plotted)):,} characters")


def machine() -> str:
    """What the page says about where it was measured."""
    import numpy as np

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return f"{model}, Python {platform.python_version()}, NumPy {np.__version__}"


def main(arguments: list[str]) -> None:
    """Print the tables, or one task's answer."""
    measure.pin()
    if arguments[:1] == ["--task"]:
        if NUMBA not in arguments:
            measure.hide_numba()
        if arguments[1] == "serve":
            ablation.serve(*arguments[2:])
        else:
            print(json.dumps(TASKS[arguments[1]](*arguments[2:])))
        return
    parser = argparse.ArgumentParser("python -m benchmarks", description="Speed, as ratios.")
    parser.add_argument("--smoke", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--full", action="store_true", help="chains of a million nodes, too")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each peer has its turn")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep what is measured")
    parser.add_argument("--without", metavar="PASS", help="the gain of passes, by their names")
    given = parser.parse_args(arguments)
    results = Results(given.results)
    if given.without:
        names = PASSES if given.without == "all" else given.without.split(",")
        text = ablation.page(_answer, _start, names, given.rounds or 60)
        print(text)
        if given.write:
            (PAGE.parent / "passes.md").write_text(text, encoding="utf-8")
        return
    if given.smoke:
        smoke_run(results)
        return
    found = compare(results, 0.3, given.rounds or (5 if given.full else 3))
    sizes = [10_000, 100_000] + [1_000_000] * given.full
    nodes = {
        (shape, n): results.ask("chain", shape, str(n)) for shape in chains.CHAINS for n in sizes
    }
    starts = results.ask("starts", "15")
    made = rows(found, starts)
    plotted = given.write and plot(made, PAGE.with_suffix(".svg"))
    text = page(machine(), made, found, nodes, starts, plotted)
    print(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
