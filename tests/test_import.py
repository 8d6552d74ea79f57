"""What `import funcgrad` loads, and what it hands out later."""

import ast
import inspect
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.ops.numpy import core_functions, dispatch

# Each takes a millisecond or more to import, and a first gradient needs none of them.
HEAVY = (
    "funcgrad.numpy",
    "funcgrad.adoption.adopted_functions",
    "funcgrad.compiler.call_ir",
    "funcgrad.compiler.numpy.numpy_codegen",
    "funcgrad.compiler.disk_cache.entry_format",
    "funcgrad.compiler.python.scalar_codegen",
    "funcgrad.show",
    "funcgrad.control",
    "funcgrad.ops.decompositions",
    "funcgrad.ops.numpy.dispatch",
    "funcgrad.ops.numpy.by_value",
    "funcgrad.ops.special",
    "funcgrad.rewrite.reading_laws",
    "funcgrad.transforms.jit.jit",
    "funcgrad.transforms.vmap",
    "argparse",
    "difflib",
    "fractions",
    "hashlib",
    "html",
    "importlib.util",
    "numba",
    "numpy.fft",
    "optree",
    "pathlib",
    "scipy",
    "string",
    "tempfile",
)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


WITHOUT_SCIPY = """
import sys, math, numpy as np, funcgrad as fg

class Missing:
    def find_spec(name, path, target=None):
        if name == "scipy":
            raise ModuleNotFoundError("No module named 'scipy'", name=name)

sys.meta_path.insert(0, Missing)
for name, call in {
    "special": lambda: fg.scipy.special,
    "constants": lambda: fg.scipy.constants,
    "erf": lambda: fg.grad(math.erf)(1.0),
    "gamma": lambda: fg.grad(lambda a: np.random.default_rng(0).gamma(a))(2.0),
}.items():
    try:
        print(name, call())
    except ImportError as error:
        print(str(error).splitlines()[0].replace(" ", "_"))
"""


def test_what_needs_scipy_says_so_where_it_is_missing():
    advice = "expected_SciPy,_but_it_is_not_installed;_pip_install_scipy"
    heads = ("funcgrad.scipy.special", "funcgrad.scipy.constants", "funcgrad.scipy.special")
    assert run(WITHOUT_SCIPY) == [f"{who}:_{advice}" for who in (*heads, "standard_gamma")]


def test_a_first_gradient_loads_only_what_it_needs():
    code = (
        "import sys, numpy as np; had = set(sys.modules); import funcgrad as fg; "
        "fg.grad(lambda p: np.sum(np.sin(p[0]) * p[1]))([1.0, 2.0]); print(*set(sys.modules) - had)"
    )
    assert not set(run(code)).intersection(HEAVY)


def test_a_first_jitted_call_does_not_load_what_makes_machine_code():
    code = (
        "import sys, numpy as np; had = set(sys.modules); import funcgrad as fg; "
        "fg.jit(fg.grad(lambda x: np.sum(np.exp(x) * x)))(np.ones(3)); print(*set(sys.modules) - had)"
    )
    assert not set(run(code)).intersection({"llvmlite", "tempfile"})


def test_the_functions_at_hand_are_those_of_the_complete_tables():
    core, complete = core_functions.core_functions(), dispatch.all_functions()
    for table, whole in (
        (core, complete.functions),
        (core, complete.ufuncs),
        (core_functions.core_numpy_functions(core), complete.numpy),
    ):
        assert table.keys() < whole.keys()
        assert [key for key in table if table[key] is not whole[key]] == []


@pytest.mark.parametrize(
    "call",
    [
        "np.cumsum(x)",
        "x.cumsum()",
        "np.linalg.det(np.outer(x, x) + 1)",
        "np.frexp(x)[0]",
        "np.sort(x)",
        "x.at[0].set(2.0)",
        "np.add.accumulate(x)",
        "scipy.special.gammaln(x)",
        "np.sum(x, where=x > 1)",
    ],
)
def test_the_other_functions_are_imported_when_they_are_called(call):
    f = f"lambda x: np.sum({call})"
    code = (
        f"import numpy as np, funcgrad as fg, scipy.special; print(*fg.grad({f})(np.ones(3) * 3))"
    )
    want = fg.grad(eval(f, {"np": np, "scipy": scipy}))(np.ones(3) * 3)
    assert [float(item) for item in run(code)] == want.tolist()


@pytest.mark.parametrize("name", fg.__all__)
def test_each_public_name_is_handed_out_whatever_came_before(name):
    value = getattr(fg, name)
    assert value is getattr(fg, name)
    assert not inspect.ismodule(value)


def test_names_that_are_imported_later_are_known_to_type_checkers_and_public():
    body = ast.parse(inspect.getsource(fg)).body
    imports = next(node for node in body if isinstance(node, ast.If)).body
    known = {name.asname or name.name for node in imports for name in node.names}
    later = {name for names in fg._LATER.values() for name in names}
    assert later == known - {"numpy", "optim", "scipy"}, "the imports under `if _TYPE_CHECKING`"
    assert later <= set(fg.__all__)


def test_every_public_name_can_be_imported_first():
    names = [*fg.__all__, "numpy", "optim"]
    code = f"import funcgrad as fg; print(*[name for name in {names} if name not in dir(fg)])"
    code += f"; from funcgrad import {', '.join(names)}; print(jit.__name__)"
    assert run(code) == ["jit"]
    assert run("from funcgrad import *; print(scan.__name__)") == ["scan"]


def test_a_stored_program_finds_operations_that_were_not_imported(tmp_path):
    path = tmp_path / "loop.pickle"
    made = "fg.scan(lambda c, t: (np.sin(c * t), None), fg.var('x'), np.arange(1.0, 4.0))[0]"
    imports = "import pickle, numpy as np, funcgrad as fg; "
    run(f"{imports} open({str(path)!r}, 'wb').write(pickle.dumps({made}))")
    (value,) = run(f"{imports} print(pickle.load(open({str(path)!r}, 'rb'))(x=0.5))")
    assert float(value) == np.sin(np.sin(np.sin(0.5) * 2.0) * 3.0)


def test_dask_is_an_attribute():
    pytest.importorskip("distributed")
    assert fg.dask.value_and_grad.__module__.startswith("funcgrad.dask")


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="'funcgrad' has no attribute 'gradd'"):
        _ = fg.gradd
