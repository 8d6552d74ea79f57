"""Transformed functions, formulas and gradient maps travel to other processes."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import funcgrad as fg
from tests.transforms import pickled_programs

X = np.linspace(0.1, 1.0, 12).reshape(4, 3)
PARAMS = {"w": np.array([0.5, -1.0, 2.0]), "b": 0.25}


def squares(params, x):
    return np.sum((x @ params["w"] + params["b"]) ** 2)


def product(x, y=3.0):
    return x**2 * y


def entries(x):
    return np.sin(x) * x


def differs(x, y):
    return x * x - y


@fg.custom_vjp
def halved(x):
    return x * 1.0


halved.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g / 2,))

FUNCTIONS = {
    "jit of a gradient": (fg.jit(fg.value_and_grad(squares)), (PARAMS, X)),
    "jit of a gradient on numbers": (fg.jit(fg.grad(product, argnums=(0, 1))), (2.0, 3.0)),
    "jit": (fg.jit(product), (2.0, 3.0)),
    "jit with guards": (fg.jit(lambda x: x**3 if x > 0 else -x), (-2.0,)),
    "jit with a default": (fg.jit(product), (2.0,)),
    "jit with a static argument": (fg.jit(lambda x, n: x**n, static_argnums=1), (2.0, 3)),
    "jit of a method": (fg.jit(fg.grad(pickled_programs.Cubic().loss)), (2.0,)),
    "grad": (fg.grad(product), (2.0, 3.0)),
    "grad with aux": (fg.grad(lambda x: (x**2, x), has_aux=True), (2.0,)),
    "value_and_grad": (fg.value_and_grad(squares), (PARAMS, X)),
    "elementwise_grad": (fg.elementwise_grad(entries), (X,)),
    "jacobian": (fg.jacobian(entries), (X[0],)),
    "hessian": (fg.hessian(lambda x: np.sum(entries(x))), (X[0],)),
    "vmap": (fg.vmap(product), (X, X)),
    "linearize": (fg.linearize(product, 2.0, 3.0)[1], (1.0, 0.5)),
    "vjp": (fg.vjp(product, 2.0, 3.0)[1], (1.0,)),
    "checkpoint": (fg.grad(fg.checkpoint(product)), (2.0, 3.0)),
    "custom_vjp": (fg.grad(halved), (2.0,)),
    "primitive": (fg.grad(pickled_programs.opaque_sine), (2.0,)),
    "partial": (partial(fg.jit(fg.value_and_grad(squares)), PARAMS), (X,)),
}


@pytest.fixture
def cloudpickle():
    """What joblib, Dask, Ray and Spark send functions with."""
    return pytest.importorskip("cloudpickle")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_travel_before_and_after_calls(name, cloudpickle):
    f, args = FUNCTIONS[name]
    for _ in range(3):
        copy = pickle.loads(cloudpickle.dumps(f))
        assert copy is not f
        for _ in range(2):  # the first call traces
            got, want = copy(*args), f(*args)
            np.testing.assert_equal(got, want)


def test_a_copy_has_its_own_captured_variables(cloudpickle):
    k = 2.0

    def scaled(x):
        return x * k

    f = fg.jit(scaled)
    assert (f(3.0), f(3.0)) == (6.0, 6.0)
    copy = pickle.loads(cloudpickle.dumps(f))
    assert copy(3.0) == 6.0
    k = 5.0
    assert (f(3.0), copy(3.0)) == (15.0, 6.0)
    copy.__wrapped__.__closure__[0].cell_contents = 7.0
    assert copy(3.0) == 21.0
    assert copy.explain_misses().splitlines()[1] == "scaled: k was bound anew"


def test_a_copy_takes_arguments_by_name_and_leaves_defaults_out(cloudpickle):
    f = fg.jit(product)
    for _ in range(2):
        copy = pickle.loads(cloudpickle.dumps(f))
        assert copy(2.0) == copy(x=2.0) == copy(2.0, y=3.0) == f(2.0) == 12.0
        assert copy.lower(2.0).source == f.lower(2.0).source
        f(2.0, 3.0)
        f(2.0, 3.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        pickle.loads(cloudpickle.dumps(f))(y=3.0)


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_functions_of_libraries_travel(backend, cloudpickle):
    pytest.importorskip(backend)
    for f in (fg.jit(fg.grad(product), backend=backend), getattr(fg, f"to_{backend}")(product)):
        for _ in range(2):
            copy = pickle.loads(cloudpickle.dumps(f))
            assert float(copy(2.0, 3.0)) == float(f(2.0, 3.0)) == 12.0


@pytest.mark.parametrize(
    "f",
    [
        *(fg.grad(product), fg.grad(fg.grad(product)), fg.value_and_grad(product, argnums=1)),
        *(
            fg.vmap(fg.grad(product), in_axes=(0, None)),
            fg.checkpoint(product),
            fg.hessian(product),
        ),
        *(fg.elementwise_grad(product), fg.jacobian(f=product), fg.jacfwd(argnums=1)(product)),
        *(fg.grad(halved), fg.fixed_point(product), fg.grad(fg.implicit_root(differs), 1)),
    ],
    ids=repr,
)
def test_pickle_takes_transformed_functions_as_the_calls_that_made_them(f):
    args = (X[0], 3.0) if repr(f).startswith("vmap") else (2.0, 3.0)
    args = {"grad(halved)": (2.0,), "fixed_point(product)": (0.1, 0.5)}.get(repr(f), args)
    for _ in range(2):  # the first call traces
        copy = pickle.loads(pickle.dumps(f))
        assert repr(copy) == repr(f)
        np.testing.assert_equal(copy(*args), f(*args))


def test_a_function_with_a_rule_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(halved)) is halved
    other = fg.custom_vjp(product)  # which does not stand in the place of its function
    assert pickle.loads(pickle.dumps(other))(2.0) == other(2.0)


def test_in_another_process():
    """Formulas, gradient maps and decorated functions need pickle alone."""
    x, y = fg.vars("x y")
    w = fg.var("w", (3,))
    sent = {
        "formula": fg.sin(x) * y + x**2,
        "array formula": np.sum(np.tanh(w) * np.arange(3.0)),
        "gradient map": fg.backprop(fg.sin(x) * y),
        "numbers": fg.backprop(fg.sin(x) * y)(x=2.0, y=3.0),
        "tree": {"a": x * y, "b": [np.sum(w)]},
        "program": pickled_programs.program,
        "slope": pickled_programs.slope,
        "second slope": fg.grad(pickled_programs.slope),
    }
    work = (
        "import pickle, sys; d = pickle.load(sys.stdin.buffer);"
        "sys.stdout.buffer.write(pickle.dumps([d, d['formula'](x=2.0, y=3.0), d['program'](2.0),"
        "d['slope'](2.0), d['second slope'](2.0), d['gradient map'](x=2.0, y=3.0)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", work], input=pickle.dumps(sent), capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    back, value, program, slope, second, gradients = pickle.loads(done.stdout)
    assert repr(back) == repr(sent)
    assert back["formula"].key == sent["formula"].key
    assert back["program"] is pickled_programs.program
    assert value == sent["formula"](x=2.0, y=3.0)
    assert (program, slope, second) == (8.0, 12.0, 12.0)
    assert repr(gradients) == repr(sent["numbers"])
