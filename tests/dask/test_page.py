"""The snippets of the page on more than one machine run as they are printed."""

import re
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
pytest.importorskip("scipy")

pytestmark = [pytest.mark.dask, pytest.mark.slow, pytest.mark.filterwarnings("default")]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "more_than_one_machine.md"


def test_the_snippets_of_dask_run(capsys):
    section = PAGE.read_text().split("\n## Dask\n")[1].split("\n## ")[0]
    snippets = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    names = {}
    try:
        for snippet in snippets:
            exec(compile(snippet, str(PAGE), "exec"), names)
    finally:
        if "client" in names:
            names["client"].cluster.close()
            names["client"].close()
    np.testing.assert_allclose(names["fit"].x["w"], [1.0, -2.0, 0.5], atol=1e-5)
    assert names["fit"].converged
    assert names["normal"].shape == (3, 3)
    assert len(names["deltas"]) == 3
    assert names["value"] > 1
    assert set(names["gradient"]) == {"w", "b"}
    assert "100% Completed" in capsys.readouterr().out
