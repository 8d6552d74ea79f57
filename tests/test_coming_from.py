"""The other libraries' lines on the pages of docs/coming_from do what the pages say.

A block without a prompt is code of the other library. A line that is an expression with a comment behind it
has the value that the comment says. funcgrad's own lines, with prompts, are doctests.
"""

import ast
import contextlib
import doctest
import io
import re
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[1] / "docs" / "coming_from"
IMPORTED = {
    "autograd": "autograd",
    "jax": "jax",
    "pytorch": "torch",
    "micrograd": "micrograd",
    "sympy": "sympy",
    "casadi": "casadi",
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str) -> list[str]:
    """The blocks of a page that have no prompt."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block for block in found if ">>>" not in block]


def statements(block: str) -> Iterator[tuple[str, str]]:
    """Each statement of a block, with the comment behind it: what it shows."""
    lines = block.splitlines()
    for node in ast.parse(block).body:
        start = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", [])]])
        last = lines[node.end_lineno - 1][node.end_col_offset :].strip()
        yield "\n".join(lines[start - 1 : node.end_lineno]), last.removeprefix("#").strip()


def shown_by(statement: str, names: dict[str, object]) -> str:
    """What a prompt shows of a statement; NumPy's scalars as numbers."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, np.printoptions(legacy="1.25"):
        exec(compile(statement, "<page>", "single"), names)
    return printed.getvalue()


@pytest.fixture
def single_precision():
    """JAX as it is imported; other tests turn double precision on."""
    if "jax" not in sys.modules:
        yield
        return
    config = sys.modules["jax"].config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", False)
    yield
    config.update("jax_enable_x64", before)


@pytest.mark.oracle
@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("page", IMPORTED)
def test_the_other_librarys_lines_do_what_the_page_says(page):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(IMPORTED[page])
        names: dict[str, object] = {}
        for block in blocks(page):
            for statement, expected in statements(block):
                shown = shown_by(statement, names)
                if expected:
                    fits = doctest.OutputChecker().check_output(expected + "\n", shown, FLAGS)
                    assert fits, f"{statement}\nshows {shown}, not {expected}"


@pytest.mark.parametrize("page", IMPORTED)
def test_every_line_of_the_other_library_has_one_of_ours_behind_it(page):
    assert len(blocks(page)) >= 5
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    kinds = [">>>" in block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)]
    assert all(after for before, after in pairwise(kinds) if not before)
    assert kinds[-1]
