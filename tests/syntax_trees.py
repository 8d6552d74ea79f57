"""The package's modules as syntax trees, each parsed and walked once."""

import ast
import gc
from functools import cache
from pathlib import Path

import funcgrad as fg

HOME = Path(fg.__file__).parent


@cache
def syntax_tree(path):
    """The garbage collector, which would pass over all trees again and again, waits meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if enabled:
            gc.enable()


@cache
def nodes(path):
    """The nodes of a module's tree, in the order of `ast.walk`."""
    return tuple(ast.walk(syntax_tree(path)))


@cache
def loops(function):
    """The loops in a function, which several tests look at."""
    return tuple([node for node in ast.walk(function) if isinstance(node, ast.While | ast.For)])


@cache
def paths():
    """The paths of all modules of the package."""
    return sorted(HOME.rglob("*.py"))
