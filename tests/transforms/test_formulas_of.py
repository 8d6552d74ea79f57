"""Transformed functions as formulas, and tuples of formulas that print what they share once."""

import copy
import pickle

import numpy as np
import optree
import pytest

import funcgrad as fg
from funcgrad.expr.formula_tuple import FormulaTuple

x, y = fg.vars("x y")


def test_formulas_of_each_transform():
    def f(x, y):
        return np.exp(np.sin(x)) * y

    for pair in (
        fg.value_and_grad(f, (0, 1)).expr(1.0, 2.0),
        fg.jacobian(f, (0, 1)).expr(1.0, 2.0),
        fg.jvp.expr(f, (1.0, 2.0), (1.0, 0.0)),
    ):
        assert repr(pair).startswith("let a = exp(sin(x))")
        assert repr(pair).count("exp") == 1
    assert fg.hessian(f).expr(1, 2.0)(x=0.0, y=3.0) == 3.0
    slope = fg.jvp.expr(f, (1.0, 2.0), (1.0, 0.0))[1]
    assert slope(x=0.0, y=2.0, dx=10.0, dy=1.0) == 21.0
    assert repr(fg.vmap(fg.grad(np.sin)).expr(np.ones(3))) == "cos(x)"


@pytest.mark.parametrize(
    "transform", [fg.jacobian, fg.jacfwd, fg.jacrev, fg.hessian, fg.value_and_grad]
)
def test_formulas_have_the_values_of_the_function(transform):
    def f(v, s):
        return np.sum(np.sin(v) * s) + v[0] * s**2

    v, s = np.array([0.3, -1.2]), 0.7
    mapped = transform(f, (0, 1))
    formulas, values = mapped.expr(v, s), mapped(v, s)
    found = fg.evaluate(formulas, v=v, s=s)
    for one, other in zip(_leaves(found), _leaves(values), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-14)


def _leaves(tree):
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize(
    "transform", [fg.grad, fg.jacobian, fg.hessian, fg.value_and_grad, fg.vmap]
)
def test_the_maker_of_a_formula_says_how_it_is_called(transform):
    name = transform.__name__
    said = f"<{name}(sin).expr: call it with the arguments of sin, which gives a formula>"
    assert repr(transform(np.sin).expr) == said


def test_a_tuple_of_formulas_is_a_tree_to_other_libraries():
    jax_tree = pytest.importorskip("jax.tree_util")
    slopes = fg.grad(lambda x, y: x * y, (0, 1)).expr(1.0, 2.0)
    for library in (optree, jax_tree):
        values = library.tree_map(lambda e: e(x=1.0, y=2.0), slopes)
        assert values == (2.0, 1.0)
        assert repr(values) == "(2.0, 1.0)"
    assert repr(pickle.loads(pickle.dumps(slopes))) == repr(copy.copy(slopes)) == "(y, x)"


def test_formulas_with_aux_and_trees():
    def f(p):
        return np.sin(p["w"] ** 2) * p["b"], "aux"

    found = fg.value_and_grad(f, has_aux=True).expr({"w": 1.0, "b": 2.0})
    assert repr(found).startswith("let a = sin(p_w**2)\nin (")
    assert fg.evaluate(found, p_w=0.0, p_b=2.0) == (0.0, {"w": 0.0, "b": 0.0})
    assert repr(fg.jacobian(f, has_aux=True).expr({"w": 1.0, "b": 2.0})["b"]) == "sin(p_w**2)"


def test_a_tuple_of_formulas_is_a_tuple():
    pair = fg.gradient(np.exp(np.sin(x)) * y, (x, y))
    assert isinstance(pair, tuple)
    assert repr(pair).startswith("let a = exp(sin(x))\nin (")
    assert pair == tuple(pair)
    assert fg.evaluate(pair, x=0.0, y=2.0) == (2.0, 1.0)
    assert pickle.loads(pickle.dumps(pair))[1].key == pair[1].key
    assert repr(FormulaTuple(x, 3.0, "text", {"a": [y]})) == "(x, 3.0, 'text', {'a': [y]})"
    assert repr(FormulaTuple(x)) == "(x,)"
    assert repr(FormulaTuple()) == "()"


def test_dicts_and_lists_of_formulas_are_pythons():
    """Libraries such as optree, JAX and yaml take subclasses of dict and list for leaves, or refuse them."""
    e = np.exp(np.sin(x)) * y
    assert type(fg.gradient(e)) is dict
    assert type(fg.gradient(e, ["x", "y"])) is list
    assert type(fg.grad(lambda p: p["a"] ** 2).expr({"a": 1.0})) is dict
    assert optree.tree_map(lambda slope: slope(x=0.0, y=2.0), fg.gradient(e)) == {
        "x": 2.0,
        "y": 1.0,
    }


def test_a_derived_formula_of_another_variable_reads_as_it_did():
    t = fg.var("t")
    slope = fg.gradient(np.exp(-(x**2) / 2), x)
    assert repr(slope) == "-x*exp(-x**2/2)"
    for moved in (slope(x=t), fg.substitute(slope, x=t), fg.substitute(slope, {x: t})):
        assert repr(moved) == "-t*exp(-t**2/2)"
        assert moved(t=1.5) == slope(x=1.5)
    assert fg.grad(lambda a: slope(x=a) if slope(x=a) < 0 else a)(2.0) == fg.gradient(slope)["x"](
        x=2.0
    )


@pytest.mark.parametrize(
    "f", [lambda x: x, lambda x: 2.0 * x, lambda x: x * 0 + 1.0, np.abs, np.sqrt]
)
@pytest.mark.parametrize("at", [0.0, -0.0, np.inf, np.nan, 1.5, np.float32(2.0), 1j])
def test_a_jacobian_between_scalars_is_the_derivative(f, at):
    if isinstance(at, complex):
        assert fg.jacfwd(lambda x: x * x)(at) == fg.jacrev(lambda x: x * x)(at) == 2 * at
        return
    with np.errstate(all="ignore"):
        expected = fg.grad(f)(at)
        for mode in (fg.jacobian, fg.jacfwd, fg.jacrev):
            found = mode(f)(at)
            np.testing.assert_array_equal(found, expected)
            assert type(found) is type(expected)


def test_columns_of_a_scalar_have_the_result_s_shape():
    def f(x):
        return {"a": np.ones((2, 3)) * x, "b": x, "c": np.zeros((0,)) * x}

    found = fg.jacfwd(f)(2.0)
    assert {key: np.shape(value) for key, value in found.items()} == {
        "a": (2, 3),
        "b": (),
        "c": (0,),
    }
    assert fg.jacfwd(lambda x: np.ones(3) * 2.0 + 0.0 * x)(1.0).shape == (3,)
    batch = fg.vmap(fg.jacfwd(lambda x: np.ones(2) * x**2))(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(batch, 2 * np.array([[1.0] * 2, [2.0] * 2, [3.0] * 2]))


def test_a_formula_that_depends_on_other_variables_alone_belongs_to_no_trace():
    a, v = fg.var("a", (2, 2)), fg.var("v", 2)
    linear = fg.jacobian(lambda v: a @ v).expr(v)
    assert str(linear) == f"{linear}" == repr(linear) == "a"
    assert str(fg.hessian(lambda v: v @ a @ v).expr(v)) == "a + a.T"
    assert str(fg.trace(fg.grad(lambda x: x * y), 2.0)) == "y"
    assert str(fg.trace(lambda x: 2 * fg.grad(lambda z: z * y)(x), 2.0)) == "2*y"
    assert pickle.loads(pickle.dumps(linear)).key == linear.key
