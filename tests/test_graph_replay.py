"""Graph replay: a dump is the same in every process, and a comparison finds what differs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "tools"
NAMES = ("tanh", "branching", "scan", "slogdet")
LONG = ("chain-of-60", "tree", "solve", "primitive")  # the first takes ten seconds


def replay(*arguments, seed="0"):
    return subprocess.run(
        [sys.executable, TOOLS / "graph_replay.py", *map(str, arguments)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )


def dumped(home, names):
    """Two dumps of some programs, in processes that order sets in different ways."""
    for seed in ("1", "2"):
        done = replay("dump", home / seed, *names, seed=seed)
        assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    return dumped(tmp_path_factory.mktemp("replay"), NAMES)


@pytest.fixture(scope="module")
def long_dumps(tmp_path_factory):
    return dumped(tmp_path_factory.mktemp("long"), LONG)


def check_equal(dumps, names):
    texts = [{path.name: path.read_text() for path in (dumps / s).iterdir()} for s in ("1", "2")]
    assert texts[0].keys() == {f"{name}.txt" for name in names}
    assert texts[0] == texts[1]
    done = replay("compare", dumps / "1", dumps / "2")
    assert (done.returncode, done.stdout) == (0, "no differences\n")


def check_sections(text):
    for section in ("value", "grad", "hessian", "vmap", "jit.value", "jit.grad.lower.steps"):
        assert f"\n## {section}\n" in text
    assert "raises ValueError: to_json" not in text


def test_dumps_of_two_processes_are_equal(dumps):
    check_equal(dumps, NAMES)


def test_a_dump_records_every_kind_of_section(dumps):
    text = "\n" + (dumps / "1" / "scan.txt").read_text()
    check_sections(text)
    assert "float64[3] 0x1." in text.partition("\n## value\n")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_dumps_of_a_long_program_are_equal_and_whole(long_dumps):
    check_equal(long_dumps, LONG)
    text = "\n" + (long_dumps / "1" / "chain-of-60.txt").read_text()
    check_sections(text)
    assert "more lines" not in text.partition("\n## jit.lower.steps\n")[2].partition("\n## ")[0]
    assert "float64 -0x1." in text.partition("\n## value\n")[2].partition("\n## ")[0]


def test_compare_tells_what_differs(dumps, tmp_path):
    (other := tmp_path / "other").mkdir()
    for path in (dumps / "1").iterdir():
        (other / path.name).write_text(path.read_text())
    text = (other / "tanh.txt").read_text()
    (other / "tanh.txt").write_text(text.replace("\n## vmap\n", "\n## vmap\n  planted\n"))
    (other / "scan.txt").unlink()
    done = replay("compare", dumps / "1", other)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"scan: only in {dumps / '1'}"
    assert lines[1] == "tanh vmap:"
    assert lines[3] == "  1+ planted"
    (other / "scan.txt").write_text((dumps / "1" / "scan.txt").read_text())
    done = replay("compare", dumps / "1", other, "--without", "vmap")
    assert (done.returncode, done.stdout) == (0, "no differences\n")


def test_unknown_names_are_refused(tmp_path):
    done = replay("dump", tmp_path / "none", "no-such-program")
    assert done.returncode == 1
    assert "expected names of programs, but got no-such-program" in done.stderr
    done = replay("compare", tmp_path / "missing", tmp_path)
    assert done.returncode == 2
    assert "expected directories" in done.stderr


def test_its_examples_hold():
    done = subprocess.run(
        [sys.executable, "-m", "doctest", TOOLS / "graph_replay.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
