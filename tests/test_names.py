"""Names in the package: files, imports between modules, and what stands at the top of modules."""

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np

import funcgrad as fg
from tests.syntax_trees import HOME, paths, syntax_tree


def modules():
    """The modules of the package: paths below it, and syntax trees."""
    return [(str(path.relative_to(HOME)), syntax_tree(path)) for path in paths()]


def is_type_variable(value):
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "TypeVar"


def top_level_names(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and not is_type_variable(node.value):
            yield from [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def is_shared(name):
    """Whether a name may stand at the top of several modules.

    NumPy's function and an operation may have a name together with what bounds or differentiates it; each
    library of compiler/libraries gives its `library`.
    """
    of_numpy = hasattr(np, name) or hasattr(np.linalg, name)
    return of_numpy or name in fg.expr.operation_table.ops or name == "library"


def is_stand_in(path):
    """Whether a module stands in for others: bears the names of a package, or of transforms over chunks."""
    return path.startswith(("numpy/", "scipy/", "adoption/stand_ins/", "dask/sharded"))


def test_file_names_are_unique():
    places = defaultdict(list)
    for path, _ in modules():
        if not is_stand_in(path) and Path(path).stem not in ("__init__", "__main__"):
            places[Path(path).stem].append(path)
    assert [paths for paths in places.values() if len(paths) > 1] == []


def test_no_private_name_is_imported_from_another_module():
    found = [
        f"{path}: {alias.name} of {node.module}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("funcgrad")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert found == []


def test_a_public_name_at_the_top_of_a_module_means_one_thing():
    places = defaultdict(set)
    for path, tree in modules():
        for name in () if is_stand_in(path) else top_level_names(tree):
            if not name.startswith("_") and not is_shared(name):
                places[name].add(path)
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}
