"""The example of sharding trains the same network in each layout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("sklearn")


@pytest.mark.slow
@pytest.mark.oracle
def test_each_layout_gives_the_gradient_of_one_device(tmp_path):
    path = tmp_path / "sharding.png"
    done = subprocess.run(
        [sys.executable, "-m", "examples.sharding", str(path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    layouts = dict([line.split(": ") for line in done.stdout.splitlines()[:3]])
    assert set(layouts) == {"data parallel", "model parallel", "both"}
    for told in layouts.values():
        assert "all-reduce" in told
        assert float(told.split("difference ")[1].split(";")[0]) < 1e-14
        assert float(told.split("accuracy ")[1].rstrip("%")) > 90
    assert path.stat().st_size > 5_000
