"""The documentation site: every public name has its place in the reference, and pictures are drawn."""

import ast
import codeop
import re
from collections import Counter
from doctest import DocTestParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import funcgrad as fg

DOCS = Path(__file__).resolve().parent.parent / "docs"
DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|data):: (\w+)$", re.MULTILINE)
OF_NUMPY = re.compile(r"``fg\.(\w+)``")


def test_every_public_name_stands_once_in_the_reference():
    pages = [
        page.read_text(encoding="utf-8")
        for page in (DOCS / "reference").glob("*.rst")
        if "automodule" not in page.read_text(encoding="utf-8")
    ]
    named = Counter(name for page in pages for name in DIRECTIVE.findall(page))
    named.update(OF_NUMPY.findall((DOCS / "reference/mathematics.rst").read_text(encoding="utf-8")))
    named["check_grads"] += 1  # in the module `testing`
    assert named == Counter(fg.__all__)


def entries(page: Path) -> set[Path]:
    """The pages that the tables of contents on a page name, without their suffixes."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"^\.\. toctree::\n((?:\n|   .*\n)*)", text, re.MULTILINE)
    names = [line.strip() for block in blocks for line in block.splitlines()]
    named = [name for name in names if name and not name.startswith(":")]
    return {
        found.with_suffix("")
        for name in named
        for suffix in (".md", ".rst")
        for found in page.parent.glob(name + suffix)
    }


def test_every_page_stands_in_the_navigation():
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    named = set().union(*[entries(page) for page in pages])
    assert {page.with_suffix("") for page in pages} - named <= {DOCS / "index"}


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return __import__("pictures")


def shown(pattern: str) -> set[str]:
    """What the group of a pattern matches on the pages."""
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    return {name for page in pages for name in re.findall(pattern, page)}


def test_every_picture_is_drawn_and_stands_on_a_page(pictures, tmp_path):
    pictures.write(tmp_path, pictures.PICTURES, "svg")
    assert shown(r"_pictures/(\w+)\.svg") == set(pictures.PICTURES)
    for name in pictures.PICTURES:
        assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")


def test_a_page_links_to_every_explorer(pictures):
    assert shown(r'href="(\w+)\.html"') == set(pictures.EXPLORERS)


def test_pictures_that_are_up_to_date_are_left_alone(pictures, tmp_path):
    texts = {"old": lambda: "as before", "new": iter(["first", "second"]).__next__}
    pictures.write(tmp_path, texts, "txt")
    before = (tmp_path / "old.txt").stat().st_mtime_ns
    pictures.write(tmp_path, texts, "txt")
    assert (tmp_path / "old.txt").stat().st_mtime_ns == before
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "second"


def test_the_gallery_shows_every_example_as_its_docstring_describes_it():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for source in (DOCS.parent / "examples").glob("[a-z]*.py"):
        docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        title, _, text = docstring.partition("\n")
        for part in (f"## {source.stem}\n", title, text.strip()):
            assert part in page
        assert f"](gallery/{source.stem}.png)" in page
        assert (DOCS / "gallery" / f"{source.stem}.png").is_file()


def test_what_is_typed_into_a_prompt_ends_its_blocks():
    """A prompt asks for more after an indented line, until it gets an empty one."""
    files = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
    pages = {file: [line.strip() for line in _lines(file)] for file in files}
    unfinished = [
        f"{file.name}:{number + 1}: {after}"
        for file, lines in pages.items()
        for number, (line, after) in enumerate(pairwise(lines))
        if line.startswith("...  ") and not after.startswith("...")
        if not _is_complete(lines[: number + 1])
    ]
    assert unfinished == []


def test_what_is_printed_is_printed_by_notebooks_too():
    """A notebook shows the value of a cell's last line, and none of what a block computes on the way."""
    found = [
        f"{page.name}:{example.lineno + 1}: {example.source}"
        for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
        for example in DocTestParser().get_examples(page.read_text(encoding="utf-8"))
        if example.want and not example.exc_msg and "print" not in example.source
        if not isinstance(ast.parse(example.source).body[-1], ast.Expr)
    ]
    assert found == []


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _is_complete(lines: list[str]) -> bool:
    """Whether the last statement of the lines is one that brackets continued, not a block."""
    start = max(i for i, line in enumerate(lines) if line.startswith(">>> "))
    return codeop.compile_command("\n".join(line[4:] for line in lines[start:])) is not None


def test_blocks_of_two_libraries_stand_in_columns(monkeypatch):
    pytest.importorskip("sphinx")
    nodes = pytest.importorskip("docutils.nodes")
    monkeypatch.syspath_prepend(str(DOCS))
    pair = __import__("conf").pair
    texts = ["jax.grad(f)(1.0)", ">>> fg.grad(f)(1.0)", ">>> 1 + 1", "alone()"]
    page = nodes.section("", *[nodes.literal_block(text, text) for text in texts])
    site = SimpleNamespace(env=SimpleNamespace(docname="coming_from/jax"))
    pair(site, page)
    (columns,) = page.findall(nodes.container)
    assert [block.astext() for block in columns] == texts[:2]
    assert [node.astext() for node in page[1:]] == texts[2:]
