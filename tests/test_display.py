"""What is printed at a prompt and in a notebook: text as it is, maps in order, functions by what they are."""

import copy
import importlib
import inspect
import itertools
import json
import os
import pickle
import pydoc
import re
import rlcompleter
import subprocess
import sys
from types import FunctionType

import cloudpickle
import numpy as np
import pytest
from pyrsistent import PMap, pmap

import funcgrad as fg
from funcgrad.graph import Key
from funcgrad.node_names import NamedKey
from tests.default_slice import marked_slow

x, y = fg.vars("x y")
E = np.exp(x) * y + np.exp(x)
COUNTS = fg.sum_product(E, fg.COUNTING, lambda edge: 1)


@pytest.mark.parametrize(
    "text",
    [fg.to_latex(E), fg.to_python(E), fg.to_dot(E), fg.to_json(E), fg.explain(E, x=1.0, y=2.0)],
)
def test_text_is_a_str_that_prints_itself(text):
    assert isinstance(text, str)
    assert repr(text) == str(text) == f"{text}"
    assert pickle.loads(pickle.dumps(text)) == text
    assert text.split("\n")[0] in repr(text)


def test_text_of_programs_is_data():
    assert json.loads(fg.to_json(E))["format"] == "funcgrad"
    assert fg.same(fg.from_json(fg.to_json(E)), E)


def test_orders_and_maps_have_readable_keys():
    order = fg.toposort(E)
    assert repr(order) == "pvector([x, v1, y, v3, v4])"
    assert list(order) == list(fg.expr.by_key(E))
    assert repr(COUNTS) == "{x: 2, v1: 2, y: 1, v3: 1, v4: 1}"
    assert repr(E.graph).splitlines()[2] == "  v1: Node(exp(x): float64),"
    assert [str(key) for key in fg.backprop(E)] == ["x", "v1", "y", "v3", "v4"]
    assert "v4: 1" in repr(fg.backprop(E).map)
    assert repr(E.graph[E].parents) == "(v3, v1)"
    assert repr([node.parents for node in E.graph.values()]) == "[(), (x,), (), (v1, y), (v3, v1)]"
    assert repr(E.graph[E]) == "Node(add(v3, v1): float64)"
    t1 = fg.name(np.exp(x), "t1")
    assert repr((t1 * y).graph[t1 * y].parents) == "(t1, y)"
    assert repr(fg.toposort(t1 * y)) == "pvector([x, t1, y, v3])"
    assert repr(fg.toposort(fg.var("v1") * y)) == "pvector([v1, y, node2])"


def test_a_key_with_a_name_is_the_key():
    key = E.key
    named = NamedKey(key, "v4")
    assert named == key == pickle.loads(pickle.dumps(named))
    assert hash(named) == hash(key)
    assert repr(pickle.loads(pickle.dumps(named))) == "v4"
    assert E.graph[named] is E.graph[key] is E.graph[E]


def test_a_map_of_nodes_is_a_persistent_map():
    assert isinstance(COUNTS, PMap)
    assert pmap(dict(COUNTS)) == COUNTS == pickle.loads(pickle.dumps(COUNTS))
    assert hash(COUNTS) == hash(pmap(dict(COUNTS)))
    more = COUNTS.set(x.key, 7)
    assert (more[x], COUNTS[x]) == (7, 2)
    assert repr(more) == "{x: 7, v1: 2, y: 1, v3: 1, v4: 1}"
    assert repr(COUNTS.remove(y.key)) == "{x: 2, v1: 2, v3: 1, v4: 1}"
    assert repr(COUNTS.update({Key(bytes(16)): 0})).endswith("Key(00000000): 0}")
    assert repr(COUNTS.keys()) == "node_keys([x, v1, y, v3, v4])"
    assert COUNTS.keys() == set(COUNTS)
    assert len(E.graph.remove(x.key)) == 4
    assert "  v1: Node(exp(x): float64),\n" in repr(E.graph.remove(x.key))
    assert repr(fg.environment(x, fg.Algebra(lambda e: 1, lambda e: 1, lambda e, p: 1))) == "{x: 1}"
    assert repr(list(fg.environments(x, fg.Algebra(lambda e: 1, lambda e: 1, lambda e, p: 1)))) == (
        "[{}, {x: 1}]"
    )
    assert repr(fg.evaluate(COUNTS)) == repr(COUNTS)


def test_maps_print_the_same_in_every_process():
    code = (
        "import numpy as np, funcgrad as fg; x, y = fg.vars('x y'); e = np.exp(x) * y + np.exp(x); "
        "print(fg.backprop(e).map, e.graph, fg.evaluate_all(e, x=1.0, y=2.0), fg.toposort(e), "
        "fg.sum_product(e, fg.COUNTING, lambda edge: 1), fg.edges(e), fg.steps(e, x=1.0, y=2.0), "
        "e.graph.keys())"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert "np.float64" not in printed[0]


@pytest.mark.parametrize("count", [8, marked_slow(12)])
def test_long_nodes_of_a_gradient_map_have_names(count):
    e = x
    for _ in range(count):
        e = np.sin(e) * e
    rows = repr(fg.backprop(e)).splitlines()[1:]
    assert all(len(row.split("  ")[1]) <= 40 for row in rows)
    assert rows[-1].split()[0] == f"v{2 * count}"


def test_definitions_in_one_line_are_separated():
    shared = np.sin(x * y) * np.exp(x) + np.cos(x * y) * np.exp(y)
    shown = repr(fg.backprop(np.sqrt(shared + shared**2) * np.cos(shared + shared**2)))
    assert all("let " not in row or " in " in row or "…" in row for row in shown.splitlines())
    assert all("\n" not in row for row in shown.splitlines())


def test_the_order_of_a_large_program_is_made_without_names():
    e = x
    for _ in range(10_001):
        e = np.sin(e)
    order = fg.toposort(e)
    assert len(order) == 10_002
    assert type(order[0]) is Key
    assert order[-1] == e.key


def test_semirings_and_nodes_in_one_line():
    assert repr(fg.MATRICES) == "Semiring(add, matmul, one=1)"
    assert repr(fg.Semiring(min, lambda a, b: a, 0.0)) == "Semiring(min, <lambda>, one=0.0)"
    assert repr(E.graph[x]) == "Node(x: float64)"
    assert repr((x * 2.0).graph[fg.const(2.0)]) == "Node(2.0: float64)"
    assert repr(E.op) == "<op add>"


def module_function(x):
    "The docstring."
    return x * x


def test_transformed_functions_say_what_they_are():
    named = {
        "grad(sin)": fg.grad(np.sin),
        "vmap(grad(sin))": fg.vmap(fg.grad(np.sin)),
        "hessian(module_function)": fg.hessian(module_function),
        "jacobian(module_function)": fg.jacobian(module_function),
        "jacfwd(<lambda>)": fg.jacfwd(lambda x: x),
        "value_and_grad(module_function)": fg.value_and_grad(module_function),
        "elementwise_grad(sin)": fg.elementwise_grad(np.sin),
        "checkpoint(len)": fg.checkpoint(len),
        "implicit_root(hypot)": fg.implicit_root(np.hypot),
        "fixed_point(hypot)": fg.fixed_point(np.hypot),
        "sparse_jacobian(module_function)": fg.sparse_jacobian(module_function),
    }
    for name, function in named.items():
        assert function.__name__ == name
        assert repr(function) == str(function) == name
        assert function.__doc__.startswith(f"{name}: ")
    assert repr(fg.vjp(np.sin, 1.0)[1]) == "pullback of sin"
    assert repr(fg.linearize(np.sin, 1.0)[1]) == "pushforward of sin"
    about = fg.grad(module_function).__doc__
    assert about == (
        "grad(module_function): the gradient of module_function in argument 0.\n\n"
        "module_function:\nThe docstring."
    )


def test_compiled_functions_are_plain_ones():
    compiled = fg.jit(fg.grad(module_function))
    assert isinstance(compiled, FunctionType)  # an object takes 65 ns more for a call
    assert repr(compiled).startswith("<function jit(grad(module_function)) at ")


class Model:
    rate = 3.0
    slope = fg.grad(lambda self, x: self.rate * x**2, 1)


def test_transformed_functions_are_functions():
    gradient = fg.grad(module_function)
    assert str(inspect.signature(gradient)) == "(x)"
    assert str(inspect.signature(fg.grad(np.sin))).startswith("(*args")
    assert gradient.__wrapped__ is module_function
    assert gradient.__module__ == __name__
    assert "grad(module_function): the gradient of" in pydoc.plain(pydoc.render_doc(gradient))
    assert Model().slope(2.0) == fg.jit(Model().slope)(2.0) == 12.0
    assert fg.jit(lambda x: Model().slope(x))(2.0) == 12.0
    for copied in (copy.copy(gradient), cloudpickle.loads(cloudpickle.dumps(gradient))):
        assert repr(copied) == "grad(module_function)"
        assert copied(3.0) == 6.0
        assert repr(copied.expr(3.0)) == "2*x"


def test_compiled_code_sees_what_a_transformed_function_captures():
    factor = 2.0
    gradient = fg.grad(lambda x: factor * x**2)
    compiled = fg.jit(lambda x: gradient(x) + 1.0)
    assert compiled(1.0) == 5.0
    factor = 3.0
    assert compiled(1.0) == 7.0
    gradient = fg.grad(np.sin)
    assert compiled(0.0) == 2.0


@fg.jit
def decorated(x):
    return x + 1.0


def test_a_decorated_function_keeps_its_name():
    assert decorated.__name__ == "decorated"
    assert decorated.__doc__.startswith("jit(decorated): ")
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert repr(fg.grad(decorated)) == "grad(decorated)"
    assert repr(fg.vmap(fg.grad(decorated))) == "vmap(grad(decorated))"
    assert fg.jit(decorated).__name__ == "jit(decorated)"


def test_tables_and_maps_are_html_in_notebooks():
    for shown in (fg.table(E, x=1.0, y=2.0), fg.backprop(E), COUNTS, E.graph, fg.edges(E)):
        page = shown._repr_html_()
        assert page.startswith("<table><thead><tr><th>node")
        assert page.count("<tr>") >= 5
    assert "where(x &gt; 0, x, " in fg.edges(np.where(x > 0, x, y))._repr_html_()


def test_the_operands_of_a_formula_print_as_names():
    named = fg.name(np.exp(x), "t1") * y
    assert repr(named.parents) == "(t1, y)"
    assert named.parents == tuple(arg.key for arg in named.args)
    assert type(pickle.loads(pickle.dumps(named.parents))) is tuple
    assert repr(np.sin(x).parents) == "(x,)"


@pytest.mark.parametrize("value", [x, E, fg.var("a", 3), fg.backprop(E)], ids=repr)
def test_tab_completes_what_holds_formulas(value):
    completer = rlcompleter.Completer({"value": value})
    assert completer.complete("value", 0) == "value("
    assert "value.values()" in completions(completer, "value.") or isinstance(value, fg.Expr)


def completions(completer, text):
    found = (completer.complete(text, state) for state in itertools.count())
    return list(itertools.takewhile(lambda completion: completion is not None, found))


def test_no_formula_equals_a_class():
    for expr in (x, fg.var("a", 3)):
        assert [expr == kind for kind in (float, type, object)] == [False] * 3
        assert [expr != kind for kind in (float, type, object)] == [True] * 3
        assert expr not in (type, object)


def test_the_names_of_a_formula_are_for_users():
    listed = set(dir(x))
    assert {"shape", "key", "graph", "parents", "at", "__add__"} <= listed
    assert not [name for name in listed if name.startswith("_") and not name.startswith("__")]
    assert not listed & {"traced", "source", "backward", "diff"}


def test_functions_of_a_prompt_have_names_though_no_module_holds_them():
    # as those that are typed after `python -m funcgrad`
    scope = {"fg": fg}
    exec("def f(x): return x*x\nlater = f\nshown = repr(fg.grad(f)), fg.jit(f).__name__", scope)
    assert scope["shown"] == ("grad(f)", "jit(f)")


def test_dir_is_for_users():
    listed = dir(fg)
    assert listed == sorted(listed)
    assert {"grad", "steps", "optim", "numpy", "__version__"} <= set(listed)
    assert "show" not in listed
    assert not any(name.startswith("_") and name != "__version__" for name in listed)


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (fg.grad(argnums=1), "grad(argnums=1)"),
        (fg.jacobian(argnums=1), "jacobian(argnums=1)"),
        (fg.hessian(), "hessian()"),
        (fg.vmap(in_axes=(0, None)), "vmap(in_axes=(0, None))"),
        (fg.checkpoint(policy=None), "checkpoint(policy=None)"),
    ],
)
def test_a_transform_that_waits_for_its_function_prints_as_its_call(made, printed):
    assert repr(made) == printed
    assert repr(copy.copy(made)) == repr(pickle.loads(pickle.dumps(made))) == printed


def test_a_transform_that_waits_for_its_function_takes_it():
    assert fg.grad(argnums=1)(lambda a, b: a * b**2)(2.0, 3.0) == 12.0
    assert repr(fg.jit(native=True)) == "jit(native=True)"


FACES = ["", ".numpy", ".numpy.linalg", ".optim", ".testing", ".scipy.special", ".scipy.stats"]
FACES += [f".scipy.{name}" for name in ("linalg", "optimize", "integrate", "interpolate", "signal")]


def documented(face):
    """The functions and classes of a public module that are the package's own, and public methods."""
    module = importlib.import_module(f"funcgrad{face}")
    public = getattr(module, "__all__", [name for name in dir(module) if name[0] != "_"])
    for name in public:
        item = getattr(module, name)
        home = str(getattr(item, "__module__", ""))
        if (
            home.startswith("funcgrad")
            and callable(item)
            and not hasattr(item, "scipys_own")  # whose text is SciPy's
            and (face != ".testing" or home.endswith(face))
        ):
            yield name, item, 4
            methods = vars(item).items() if isinstance(item, type) else ()
            yield from [(f"{name}.{m}", f, 8) for m, f in methods if m[0] != "_" and callable(f)]


@pytest.mark.parametrize("face", FACES)
def test_help_fits_a_terminal_of_79_columns(face):
    wide = {}
    for name, item, indentation in documented(face):
        code = False  # formatted by ruff, as code is
        for line in (inspect.getdoc(item) or "").splitlines():
            code = bool(line) and (code or line.startswith(">>>"))
            if not code and indentation + len(line) > 79:
                wide[name] = line
    assert wide == {}


def test_long_cotangents_are_not_written_in_a_map():
    z = x
    for _ in range(3000):
        z = np.sin(z)
    text = repr(fg.backprop(z))
    assert re.search(r"\n  x +<float64 of more than 1000 nodes>\n", text)
    assert text.endswith("  … 2961 more")
    assert "<float64 of more than 1000 nodes>" not in repr(fg.backprop(np.sin(x) * y))
