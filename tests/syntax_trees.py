"""The package's modules as syntax trees, each parsed and walked once."""

import ast
import gc
from functools import cache
from pathlib import Path

import funcgrad as fg

HOME = Path(fg.__file__).parent


@cache
def syntax_tree(path):
    """The garbage collector, which would pass over all trees again and again, waits, and never sees them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def walk(tree):
    """The nodes of a tree, in the order of `ast.walk`, in a third of its time, without ``ctx``."""
    found = [tree]
    for node in found:  # which grows
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and name != "ctx":
                found.append(value)
    return found


@cache
def nodes(path):
    """The nodes of a module's tree."""
    return tuple(walk(syntax_tree(path)))


@cache
def loops(function):
    """The loops in a function, which several tests look at."""
    return tuple([node for node in walk(function) if isinstance(node, ast.While | ast.For)])


@cache
def paths():
    """The paths of all modules of the package."""
    return sorted(HOME.rglob("*.py"))
