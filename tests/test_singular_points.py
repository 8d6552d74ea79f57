"""Every row of the table of singular points has its ideal value, and the page says so."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("singular", ROOT / "tools" / "singular_points.py")
singular = importlib.util.module_from_spec(spec)
spec.loader.exec_module(singular)


@pytest.mark.parametrize("row", singular.ROWS, ids=lambda row: row.case)
def test_the_ideal_is_reached(row):
    expected = np.broadcast_to(np.asarray(row.ideal), np.shape(row.compute()))
    np.testing.assert_allclose(row.compute(), expected, rtol=1e-12)


def test_the_page_is_what_the_script_writes():
    page = (ROOT / "docs" / "singular_points.md").read_text(encoding="utf-8")
    assert singular.table() in page
