"""Run every peer in a process of its own, on one core, and print medians and ratios.

python -m benchmarks                  all benchmarks: about half an hour
python -m benchmarks --smoke          small sizes, once, to check that everything runs and all peers agree
python -m benchmarks --full           chains of a million nodes, too, and more rounds
python -m benchmarks --write          write docs/performance.md and its plot
python -m benchmarks --rounds N       measure each peer N times
python -m benchmarks --results FILE   cache measurements in FILE
python -m benchmarks --without PASS   the gain of passes of funcgrad's compiler: names, or "all"
python -m benchmarks --jit-never-hurts  rows and random programs that are slower with jit than without
python -m benchmarks --costs            functions of NumPy and SciPy whose gradient takes many times as long
python -m benchmarks --survey           short programs of many kinds beside JAX
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

from benchmarks import ablation, chains, costs, measure, never_hurts, survey
from benchmarks.goals import Found, Round, rows
from benchmarks.page import page
from benchmarks.plot import plot
from benchmarks.work import FAMILIES, NATIVE
from funcgrad.compiler.pass_options import PASSES

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}
# Modules are imported from bytecode, as when they are installed; no program comes from a cache.
DROPPED = ("PYTHONDONTWRITEBYTECODE", "FUNCGRAD_CACHE")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
LONG = 20.0
"""Seconds of a peer's first call beyond which it takes part in one round only."""


def smoke(peer: str) -> dict[str, Any]:
    """The figures of a peer on the small size of each family."""
    if peer == NATIVE:
        _compile_small_work()
    return {
        name: measure.case(name, family.SMOKE, peer, "0.001")
        for name, family in FAMILIES.items()
        if peer in family.PEERS
    }


def _compile_small_work() -> None:
    """Make bytecode of small programs, and machine code of small loops."""
    from funcgrad.compiler import program
    from funcgrad.compiler.native import deferred_code, time_estimate

    program.BYTECODE_LEAST = 0
    deferred_code._COMPILE = time_estimate._COMPILE_NUMBER = time_estimate._COMPILE_STEP = 0.0


TASKS = {"case": measure.case, "smoke": smoke, "chain": chains.chain, "starts": chains.starts}
TASKS["programs"] = ablation.programs
TASKS["survey"] = survey.figures


class Results:
    """Answers of tasks, each run in a process of its own, cached in a file if one is given."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.kept = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def ask(self, *task: str, number: int = 0) -> Any:
        """The answer of a task in one of the rounds."""
        name = "/".join([*task, str(number)])
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
    """The rounds, if all peers agree, and no row without llvmlite used it."""
    reference = rounds[0]["funcgrad"]["check"]
    for entry in rounds:
        for peer, found in entry.items():
            if "check" in found and not measure.agree(reference, found["check"], rtol):
                raise SystemExit(f"{peer} and funcgrad differ on {where}")
            if found.get("machine_code") and peer != NATIVE:
                raise SystemExit(f"{peer} on {where}: llvmlite was used")
    return rounds


def compare(results: Results, seconds: float, count: int) -> Found:
    """The figures of every peer on every piece of work.

    A round measures all peers one after another, so that a slow minute of the machine slows all of them.
    """
    found: Found = {}
    for name, family in FAMILIES.items():
        for size in family.SIZES:
            rounds: list[Round] = []
            for number in range(count):
                peers = [p for p in family.PEERS if number == 0 or _again(rounds[0][p])]
                rounds.append(
                    {
                        p: results.ask("case", name, size, p, str(seconds), number=number)
                        for p in peers
                    }
                )
            rtol = 1e-3 if size == "float32" else 1e-7
            found[name, size] = checked(f"{name} {size}", rounds, rtol)
            print(f"measured: {name} {size}", file=sys.stderr, flush=True)
    return found


def _again(found: dict[str, Any]) -> bool:
    return "absent" not in found and found["steady"] < LONG


def smoke_run(results: Results) -> None:
    """Run every peer once on small work, each in one process; a peer that disagrees ends the run."""
    peers = dict.fromkeys([peer for family in FAMILIES.values() for peer in family.PEERS])
    answers = {peer: results.ask("smoke", peer) for peer in peers}
    found: Found = {}
    for name, family in FAMILIES.items():
        entry = {peer: answer[name] for peer, answer in answers.items() if name in answer}
        rounds = checked(name, [entry], 1e-7)
        there = [peer for peer, figures in entry.items() if "check" in figures]
        print(f"{name}: {', '.join(there)} agree")
        found |= {(name, size): rounds for size in family.SIZES}
    nodes = {(shape, 1000): results.ask("chain", shape, "1000") for shape in chains.CHAINS}
    starts = results.ask("starts", "1")
    made = rows(found, starts)
    with tempfile.TemporaryDirectory() as folder:
        plotted = plot(made, Path(folder, "performance.svg"))
    text = page(machine(), "python -m benchmarks --smoke", made, found, nodes, starts, plotted)
    print(f"a page of {len(text):,} characters")


def machine() -> str:
    """The machine and versions, as named on the page."""
    import numpy as np

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    vectors = "with" if _has_avx512() else "without"
    return f"{model} {vectors} AVX-512, Python {platform.python_version()}, NumPy {np.__version__}"


def _has_avx512() -> bool:
    """Whether the processor has the vector instructions that NumPy's fastest functions need."""
    info = Path("/proc/cpuinfo")
    return info.exists() and "avx512f" in info.read_text()


def command(given: argparse.Namespace) -> str:
    """The command line that writes the page, without the file of measurements."""
    rounds = [f"--rounds {given.rounds}"] if given.rounds else []
    return " ".join(["python -m benchmarks", *["--full"] * given.full, *rounds, "--write"])


def main(arguments: list[str]) -> None:
    """Print the tables, or the answer of one task."""
    measure.pin()
    if arguments[:1] == ["--task"]:
        if NATIVE not in arguments:
            measure.hide_compiler()
        if arguments[1] == "serve":
            ablation.serve(*arguments[2:])
        else:
            print(json.dumps(TASKS[arguments[1]](*arguments[2:])))
        return
    parser = argparse.ArgumentParser("python -m benchmarks", description="Speed, as ratios.")
    parser.add_argument(
        "--smoke", action="store_true", help="small sizes, to check that everything runs"
    )
    parser.add_argument("--full", action="store_true", help="chains of a million nodes, too")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="the number of measurements of each peer"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="cache measurements")
    parser.add_argument("--without", metavar="PASS", help="the gain of passes, by their names")
    parser.add_argument(
        "--jit-never-hurts", action="store_true", help="what is slower with jit than without"
    )
    parser.add_argument(
        "--costs", action="store_true", help="what takes many times as long as its function"
    )
    parser.add_argument(
        "--survey", action="store_true", help="short programs of many kinds beside JAX"
    )
    given = parser.parse_args(arguments)
    if given.jit_never_hurts:
        print(never_hurts.report())
        return
    if given.costs:
        print(costs.report())
        return
    if given.survey:
        text = survey.page(_answer("survey", "funcgrad", NATIVE), _answer("survey", "jax"))
        print(text)
        if given.write:
            (PAGE.parent / "survey.md").write_text(text, encoding="utf-8")
        return
    results = Results(given.results)
    if given.without:
        names = PASSES if given.without == "all" else given.without.split(",")
        found = ablation.measure(_answer, _start, names, given.rounds or 60)
        print("\n".join(found))
        if given.write:
            passes = PAGE.parent / "passes.md"
            before = passes.read_text(encoding="utf-8")
            passes.write_text(ablation.page(found, names, before), encoding="utf-8")
        return
    if given.smoke:
        smoke_run(results)
        return
    found = compare(results, measure.SECONDS, given.rounds or (5 if given.full else 3))
    sizes = [10_000, 100_000] + [1_000_000] * given.full
    nodes = {
        (shape, n): results.ask("chain", shape, str(n)) for shape in chains.CHAINS for n in sizes
    }
    starts = results.ask("starts", "15")
    made = rows(found, starts)
    plotted = given.write and plot(made, PAGE.with_suffix(".svg"))
    text = page(machine(), command(given), made, found, nodes, starts, plotted)
    print(text)
    if given.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
