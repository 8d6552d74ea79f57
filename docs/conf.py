"""The settings of the documentation site: ``python -m sphinx -W --keep-going -q -b html docs build/site``."""

import sys
from pathlib import Path
from types import ModuleType

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import pictures  # noqa: E402

from funcgrad import __version__  # noqa: E402

project = "funcgrad"
author = "The funcgrad authors"
copyright = "the funcgrad authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

# In docstrings, `grad` is a link to the function if the reference has it.
default_role = "py:obj"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
# The site is built where dask is not installed, too.
autodoc_mock_imports = ["dask", "distributed"]
maximum_signature_line_length = 88

html_theme = "furo"
html_title = "funcgrad"
html_copy_source = False
html_extra_path = ["_explorers"]
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_copyright = False


def trim(app: Sphinx, page: nodes.document) -> None:
    """Drop the blank line that doctest wants between an example's output and the closing fence."""
    for block in page.findall(nodes.literal_block):
        block.rawsource = block.rawsource.rstrip("\n")
        block[:] = [nodes.Text(block.astext().rstrip("\n"))]


def pair(app: Sphinx, page: nodes.document) -> None:
    """Put the pages of docs/coming_from in columns: the other library's block, and funcgrad's behind it."""
    if not app.env.docname.startswith("coming_from/"):
        return
    for block in list(page.findall(nodes.literal_block)):
        ours = block.next_node(descend=False, siblings=True)
        if ">>>" in block.astext() or not isinstance(ours, nodes.literal_block):
            continue
        columns = nodes.container(classes=["columns"])
        block.replace_self(columns)
        ours.parent.remove(ours)
        columns += [block, ours]


def list_names(
    app: Sphinx, what: str, name: str, module: object, options: object, lines: list[str]
) -> None:
    """Add to the docstring of a module of `funcgrad.scipy` the functions that traced values may enter."""
    if not isinstance(module, ModuleType) or not name.startswith("funcgrad.scipy."):
        return
    own = [
        known
        for known, value in vars(module).items()
        if not known.startswith("_") and getattr(value, "__module__", "").startswith(name)
    ]
    if own:
        lines += ["Functions: " + ", ".join(f"``{known}``" for known in sorted(own)) + ".", ""]


def skip_undescribed(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out the fields of named tuples that have no description of their own."""
    return (getattr(member, "__doc__", None) or "").startswith("Alias for field number") or None


def setup(app: Sphinx) -> None:
    pictures.write(HERE / "_pictures", pictures.PICTURES, "svg")
    pictures.write(HERE / "_explorers", pictures.EXPLORERS, "html")
    app.connect("doctree-read", trim)
    app.connect("doctree-read", pair)
    app.connect("autodoc-process-docstring", list_names)
    app.connect("autodoc-skip-member", skip_undescribed)
