"""The structure of the package: the files that a gradient crosses, and where graphs are walked."""

import ast
import importlib
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.expr import operation_table
from funcgrad.ops.base.op import Op
from tests.syntax_trees import HOME, loops, nodes, paths, walk


def files_called(function, *args):
    """For each call of a function of the package, the files on the stack, outermost first.

    Operations that the user's function calls begin a stack of their own.
    """
    stack, found = [], []

    def profile(frame, event, argument):
        if event == "call":
            path = Path(frame.f_code.co_filename)
            stack.append(str(path.relative_to(HOME)) if path.is_relative_to(HOME) else None)
            if stack[-1]:
                last = (
                    len(stack)
                    - 1
                    - next((k for k, f in enumerate(stack[::-1]) if not f), len(stack))
                )
                found.append(stack[last + 1 :])
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture(params=[lambda x: x * x + 1, np.sin], ids=["operators", "ufunc"])
def warm_gradient(request):
    gradient = fg.grad(request.param)
    for _ in range(3):  # the program of a trace is compiled at its third run
        gradient(3.0)
    return files_called(gradient, 3.0)


def test_a_warm_gradient_crosses_at_most_12_files(warm_gradient):
    files = {file for stack in warm_gradient for file in stack}
    assert "transforms/grad.py" in files
    assert len(files) <= 12, sorted(files)


def test_a_warm_gradient_goes_one_way(warm_gradient):
    """No file is called back by what it called, and no file calls one that calls it."""
    moves = {move for stack in warm_gradient for move in pairwise(stack) if move[0] != move[1]}
    left = {file for move in moves for file in move}
    while left:
        last = {file for file in left if not any(a == file and b in left for a, b in moves)}
        assert last, sorted(move for move in moves if set(move) <= left)
        left -= last
    rooms = ["transforms", "trace", "compiler"]
    for caller, called in moves:
        first, second = caller.partition("/")[0], called.partition("/")[0]
        if first in rooms and second in rooms:
            assert rooms.index(first) <= rooms.index(second), (caller, called)


# -- circles -------------------------------------------------------------------------------------
def modules_imported(path, modules):
    """The modules of the package that a module imports, in functions and for types, too."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= parts & modules or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & modules


def circular(imports):
    """The modules that import each other, directly or through others, and those that lie between circles."""
    left = dict(imports)
    while True:
        imported = set().union(*left.values())
        between = {name: to for name, to in left.items() if name in imported and to & left.keys()}
        if between.keys() == left.keys():
            return sorted(left)
        left = between


def test_no_files_import_each_other():
    names = {
        path: ".".join(path.relative_to(HOME.parent).with_suffix("").parts) for path in paths()
    }
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    modules = set(names.values()) - {"funcgrad"}  # which assembles the package
    imports = {name: modules_imported(path, modules) for path, name in names.items()}
    assert circular(imports) == []


def test_circles_of_files_are_recognized():
    assert circular({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"c"}}) == ["b", "c"]


# -- walks ---------------------------------------------------------------------------------------
WALKING_ROOMS = {"graph.py", "fold.py", "autodiff/accumulate.py"}
"""The modules that may walk a graph by themselves; all others are steps of `funcgrad.fold.folded`."""


def functions_of(found):
    return [node for node in found if isinstance(node, ast.FunctionDef)]


def words(tree):
    """The names and attributes in a syntax tree."""
    attributes = {node.attr for node in walk(tree) if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in walk(tree) if isinstance(node, ast.Name)}


def has_stack_walk(function):
    """Whether a loop pops items off a stack and looks at their operands."""
    whiles = [loop for loop in loops(function) if isinstance(loop, ast.While)]
    return any(
        "pop" in found and found & {"args", "parents", "operands"} for found in map(words, whiles)
    )


def is_address(node, variables):
    """Whether this is ``x.key`` or ``id(x)`` for a variable x."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "id":
        return ast.unparse(node.args[0]) in variables
    is_key = isinstance(node, ast.Attribute) and node.attr == "key"
    return is_key and ast.unparse(node.value) in variables


def variables_of(target):
    return {node.id for node in walk(target) if isinstance(node, ast.Name)}


def written(loop):
    """The mappings to which a loop adds an entry for its variable."""
    variables = variables_of(loop.target)
    assigned = [t for node in walk(loop) if isinstance(node, ast.Assign) for t in node.targets]
    return {
        ast.unparse(target.value)
        for target in assigned
        if isinstance(target, ast.Subscript)
        and (is_address(target.slice, variables) or ast.unparse(target.slice) in variables)
    }


def over_operands(loop):
    """The loops and comprehensions in a loop that run over the operands of its variable."""
    operands = {f"{variable}.args" for variable in variables_of(loop.target)}
    for node in walk(loop):
        for inner in getattr(node, "generators", [node] if isinstance(node, ast.For) else []):
            if operands & {ast.unparse(part) for part in walk(inner.iter)}:
                yield node, variables_of(inner.target)


def read_of_operands(loop):
    """The mappings in which a loop looks up the operands of its variable."""
    found = set()
    for inner, variables in over_operands(loop):
        for node in walk(inner):
            loads = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
            if loads and is_address(node.slice, variables):
                found.add(ast.unparse(node.value))
            gets = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".get")
            if gets and is_address(node.args[0], variables):
                found.add(ast.unparse(node.func.value))
    return found


def has_fold_by_hand(function):
    """Whether a loop gives each expression a result made of its operands' results."""
    fors = [loop for loop in loops(function) if isinstance(loop, ast.For)]
    return any(written(loop) & read_of_operands(loop) for loop in fors)


def found_in_package(has):
    """The functions of a kind, by module, outside of the rooms that may have them."""
    return [
        f"{path.relative_to(HOME)}: {function.name}"
        for path in paths()
        if str(path.relative_to(HOME)) not in WALKING_ROOMS
        for function in functions_of(nodes(path))
        if has(function)
    ]


def test_graphs_are_walked_in_three_rooms_only():
    assert found_in_package(has_stack_walk) == []


def test_no_pass_writes_out_a_fold_by_hand():
    assert found_in_package(has_fold_by_hand) == []


# Loops over lists that they add to, and what the lists hold: none walks the operands of a program.
WORKLISTS = {
    "adoption/adopted_classes.py: _cells_of_class": "functions within functions",
    "adoption/adopted_functions.py: _codes": "code objects",
    "adoption/effect_rollback.py: __init__": "objects that a function holds",
    "adoption/levels.py: _searched": "objects that a function holds",
    "adoption/scipy_functions.py: _is_plain": "nested containers",
    "arrays/reference.py: holds_expr": "nested containers",
    "compiler/native/deferred_code.py: __call__": "arenas that are not in use",
    "compiler/passes/loop_invariant_motion.py: _live": "the states of a loop",
    "compiler/print_ir.py: closed_below": "bodies within bodies",
    "compiler/verify/verify_expressions.py: check_expressions": "bodies within bodies",
    "numpy/array_likes.py: _holds_traced": "nested lists",
    "ops/base/matrix_stacks.py: cheapest_product": "the parts of a product of matrices",
    "rewrite/matcher.py: _checks": "the positions of a pattern",
    "rewrite/reading_mask_laws.py: _vanishes_outside": "goals of a proof: a value with conditions",
    "show/drawing/group_tree.py: group_tree": "groups within groups",
    "show/drawing/horizontal_placement.py: _packed": "blocks of a drawing",
    "trace/branches.py: _explored": "runs of a function",
    "trace/constant_parameterization.py: _numbers_of": "exponents, and what fits them",
    "trace/known_code.py: unknown_objects": "objects that a function holds",
    "trace/outer_arrays.py: reached": "objects that a function holds",
    "trace/pytree.py: masked_part": "nested containers",
    "trace/pytree.py: refuse_cycle": "nested containers",
    "transforms/jit/capture_packages.py: called_names": "methods that call each other",
    "transforms/jit/guard_codegen.py: lines_of": "lines and nodes of a guard tree",
    "transforms/transform_arguments.py: captured_expressions": "functions that a function captures",
}


def grown(loop):
    """The lists and queues to which a loop adds items."""
    calls = [node.func for node in walk(loop) if isinstance(node, ast.Call)]
    adding = [f for f in calls if isinstance(f, ast.Attribute) and f.attr in ("append", "extend")]
    added = [node.target for node in walk(loop) if isinstance(node, ast.AugAssign)]
    return {ast.unparse(f.value) for f in adding} | {ast.unparse(target) for target in added}


def taken(loop):
    """The lists and queues that a loop takes items off, or runs over."""
    if isinstance(loop, ast.For):
        return {ast.unparse(part) for part in walk(loop.iter) if isinstance(part, ast.Name)}
    calls = [node.func for node in walk(loop) if isinstance(node, ast.Call)]
    pops = [f for f in calls if isinstance(f, ast.Attribute) and f.attr in ("pop", "popleft")]
    return {ast.unparse(f.value) for f in pops}


def has_worklist(function):
    """Whether a loop adds to the list or queue that it takes its items from."""
    return any(grown(loop) & taken(loop) for loop in loops(function))


def test_worklists_walk_no_programs():
    assert sorted(found_in_package(has_worklist)) == sorted(WORKLISTS)


WALK = """
def order(root):
    stack, found = [root], []
    while stack:
        expr = stack.pop()
        stack.extend(expr.args)
        found.append(expr)
"""
FOLD = """
def rebuilt(roots):
    became = {}
    for expr in subexpressions(*roots):
        became[expr.key] = rebuild(expr, tuple([became[arg.key] for arg in expr.args]))
"""


@pytest.mark.parametrize(
    ("has", "source"),
    [
        (has_stack_walk, WALK),
        (has_stack_walk, WALK.replace("expr.args", "graph[expr].parents")),
        (has_worklist, WALK),
        (has_worklist, WALK.replace("pop()", "popleft()")),
        (has_worklist, WALK.replace("while stack", "for expr in stack").replace(".pop()", "[-1]")),
        (has_fold_by_hand, FOLD),
        (has_fold_by_hand, FOLD.replace("expr.key", "id(expr)").replace("arg.key", "id(arg)")),
        (has_fold_by_hand, FOLD.replace("became[arg.key]", "became.get(arg.key)")),
        (
            has_fold_by_hand,
            FOLD.replace("expr in subexpressions", "key, expr in by_key").replace(
                "expr.key", "key"
            ),
        ),
    ],
)
def test_walks_and_folds_are_recognized(has, source):
    (function,) = functions_of(walk(ast.parse(source)))
    assert has(function)


# -- operations that modules name ------------------------------------------------------------------
def _docstrings(found):
    homes = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in found if isinstance(node, homes) and node.body]
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def imported(name):
    """A module; None if it is of an extra whose library is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("funcgrad"):
            raise
        return None


def operations_named(path):
    """The operations that a module names: in strings, word by word, and as imported objects."""
    found, modules = set(), {}
    names, docstrings = set(operation_table.ops), _docstrings(nodes(path))
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
            if id(node) not in docstrings and all(word.isidentifier() for word in words):
                found |= names & set(words)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("funcgrad"):
            home = imported(node.module)
            for alias in node.names:
                value = getattr(home, alias.name, None)
                if isinstance(value, Op):
                    found.add(value.name)
                elif isinstance(value, ModuleType):
                    modules[alias.asname or alias.name] = value
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(modules.get(node.value.id), node.attr, None)
            if isinstance(value, Op):
                found.add(value.name)
    return found


MOST_NAMED = 8
# The tables of laws, the operators and methods of expressions and arrays, the exported names, and the names
# of the functions that take the keywords of JAX.
TABLES = {
    "rewrite/laws.py",
    "rewrite/scatter_laws.py",
    "rewrite/structural_laws.py",
    "rewrite/square_laws.py",
    "rewrite/stable_form_laws.py",
    "rewrite/matrix_laws.py",
    "rewrite/monomials.py",
    "rewrite/overflow_laws.py",
    "rewrite/radial_laws.py",
    "rewrite/share_laws.py",
    "rewrite/sign_laws.py",
    "rewrite/reading_laws.py",
    "rewrite/reading_array_laws.py",
    "rewrite/reading_axis_laws.py",
    "rewrite/reading_case_laws.py",
    "rewrite/reading_complex_laws.py",
    "rewrite/reading_factors.py",
    "rewrite/reading_guard_laws.py",
    "rewrite/reading_jacobian_laws.py",
    "rewrite/reading_mask_laws.py",
    "rewrite/reading_matrix_laws.py",
    "rewrite/reading_store_laws.py",
    "expr/operators.py",
    "expr/operator_dispatch.py",  # the reflected operators by the names of operations
    "arrays/array_operators.py",
    "arrays/array_methods.py",
    "numpy/jax_keywords.py",
    "__init__.py",
}
# Modules that name more, and how many: a number may fall, but not rise.
MORE_NAMED = {
    "compiler/passes/softplus_sigmoid.py": 10,
}


def test_modules_outside_ops_name_few_operations():
    over = {}
    for path in paths():
        file = path.relative_to(HOME).as_posix()
        if file.startswith("ops/") or file in TABLES:
            continue
        named = operations_named(path)
        if len(named) > MORE_NAMED.get(file, MOST_NAMED):
            over[file] = sorted(named)
    assert not over


def test_fewer_than_one_parameter_in_ten_is_any():
    found = []
    for path in paths():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                parameters += [given.vararg, given.kwarg]
                found += [p for p in parameters if p is not None and p.arg not in ("self", "cls")]
    untyped = [p for p in found if p.annotation is None or ast.unparse(p.annotation) == "Any"]
    assert len(untyped) < len(found) / 10
