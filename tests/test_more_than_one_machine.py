"""The snippets of docs/more_than_one_machine.md on XLA and on other engines run as they are printed."""

import os
import re
import shutil
import subprocess
import sys
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

import pytest

import funcgrad as fg

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "more_than_one_machine.md").read_text()


def section(title, level):
    marks = "#" * level
    text = PAGE.split(f"\n{marks} {title}\n")[1]
    return re.split(rf"\n#{{2,{level}}} ", text)[0]


def snippets(title, level=2):
    return re.findall(r"^```python\n(.*?)^```$", section(title, level), re.DOTALL | re.MULTILINE)


def run_in(folder, code, *before, **environment):
    """What a script prints that runs in a folder, in a process of its own."""
    (folder / "run.py").write_text(code)
    paths = os.pathsep.join([str(ROOT / "src"), str(folder)])
    known = {**os.environ, "PYTHONPATH": paths + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [*before, sys.executable, "run.py"],
        env=known | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ENGINES = [
    pytest.param("concurrent.futures", "concurrent.futures", ()),
    pytest.param("joblib", "joblib", (), marks=pytest.mark.slow),
    pytest.param("Ray", "ray", (), marks=pytest.mark.slow),
    pytest.param("Spark", "pyspark", (), marks=pytest.mark.slow),
    pytest.param("mpi4py", "mpi4py", ("mpiexec", "-n", "2"), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("title", "package", "command"), ENGINES)
def test_the_snippets_of_other_engines(title, package, command, tmp_path):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    if command and shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    if title == "Spark" and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    names = {}
    (shared,) = re.findall(
        r"^```python\n(# regression.py\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
    exec(shared, names)
    parts = [names["program"](names["PARAMS"], x, y) for x, y in names["chunks"]()]
    value, slope = reduce(fg.tree_add, parts)
    (tmp_path / "regression.py").write_text(shared)
    (code,) = snippets(title, level=3)
    printed = run_in(tmp_path, code, *command, PYSPARK_PYTHON=sys.executable)
    numbers = [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", printed)]
    assert numbers == pytest.approx([value, *slope["w"], slope["b"]], rel=1e-7)
    if not command and title != "Spark":  # in the order of the chunks: the same bits
        assert printed.splitlines()[-1] == f"{value} {slope}"


@pytest.mark.slow
@pytest.mark.oracle
def test_the_snippets_of_xla(tmp_path):
    jax = pytest.importorskip("jax")
    if not (hasattr(jax, "shard_map") and hasattr(jax, "make_mesh")):
        pytest.skip("another version of jax")
    check = (
        "want = fg.value_and_grad(loss)(w, x, y)\n"
        "for got in (program(*columns), mapped(w, x, y)):\n"
        "    for a, b in zip(got, want, strict=True):\n"
        "        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)\n"
        "print(len(jax.devices()))\n"
    )
    flag = "--xla_force_host_platform_device_count=8"
    code = "\n".join([*snippets("XLA"), check])
    assert run_in(tmp_path, code, XLA_FLAGS=flag, JAX_PLATFORMS="cpu") == "8\n"
