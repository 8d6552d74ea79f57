"""The package's modules as syntax trees, each parsed once."""

import ast
from functools import cache
from pathlib import Path

import funcgrad as fg

HOME = Path(fg.__file__).parent


@cache
def syntax_tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def paths():
    """The paths of all modules of the package."""
    return sorted(HOME.rglob("*.py"))
