"""Names in the package: files, imports between modules, and what stands at the top of modules."""

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

import funcgrad as fg
from tests.syntax_trees import HOME, nodes, paths, syntax_tree


def modules(given=syntax_tree):
    """The modules of the package: paths below it, and syntax trees, or what else is given of them."""
    return [(str(path.relative_to(HOME)), given(path)) for path in paths()]


def is_type_variable(value):
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("ParamSpec", "TypeVar")


def is_module(name):
    """Whether a dotted name is a module's."""
    return HOME.parent.joinpath(*name.split(".")).with_suffix(".py").is_file()


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

    A function of funcgrad, NumPy or SciPy may have a name together with the operation and with what bounds or
    differentiates it; each library of compiler/libraries gives its `library`.
    """
    homes = (np, np.fft, np.linalg, scipy.integrate, scipy.optimize, scipy.special)
    known = {*fg.__all__, *fg.expr.operation_table.ops, "library"}
    return name in known or any(hasattr(home, name) for home in homes)


def mirrors_a_package(path):
    """Whether a module bears the name of NumPy's or SciPy's module, or holds functions of NumPy's."""
    return path.startswith(("numpy/", "scipy/", "ops/numpy/"))


def test_file_names_are_unique():
    places = defaultdict(list)
    for path in [str(path.relative_to(HOME)) for path in paths()]:
        if Path(path).stem not in ("__init__", "__main__"):
            places[Path(path).stem].append(path)
    found = [paths for paths in places.values() if len(paths) > 1]
    assert [paths for paths in found if not all(map(mirrors_a_package, paths))] == []


def test_a_module_is_imported_under_its_own_name():
    """Where that name is taken, by a function or a parameter, under one that ends with `_module`."""
    found = [
        f"{path}: {node.module}.{alias.name} as {alias.asname}"
        for path, found in modules(nodes)
        for node in found
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("funcgrad")
        for alias in node.names
        if alias.asname not in (None, alias.name, f"_{alias.name}")
        and not alias.asname.endswith("_module")
        and is_module(f"{node.module}.{alias.name}")
    ]
    assert found == []


def test_no_private_name_is_imported_from_another_module():
    found = [
        f"{path}: {alias.name} of {node.module}"
        for path, found in modules(nodes)
        for node in found
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("funcgrad")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert found == []


def test_a_public_name_at_the_top_of_a_module_means_one_thing():
    places = defaultdict(set)
    for path, tree in modules():
        for name in top_level_names(tree):
            if not name.startswith("_") and not is_shared(name):
                places[name].add(path)
    assert {name: sorted(paths) for name, paths in places.items() if len(paths) > 1} == {}


def test_docstrings_of_public_functions_say_what_is_raised():
    named = {name: getattr(fg, name) for name in fg.__all__}
    given = {name: f.__doc__ or "" for name, f in named.items() if callable(f)}
    left = [name for name, text in given.items() if "Raises" not in text]
    assert [name for name in left if not isinstance(named[name], type)] == []
