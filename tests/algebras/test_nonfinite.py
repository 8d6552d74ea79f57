"""The first node that is inf or NaN, of a program or its gradient."""

import dataclasses

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.algebras import find_nonfinite
from funcgrad.transforms.control_flow.loops import scan

x, y = fg.var("x"), fg.var("y")


def test_nothing_is_found_where_all_is_finite():
    assert find_nonfinite(fg.log(x), x=1.0) is None
    assert find_nonfinite(lambda v: np.sum(v**2), np.ones(3)) is None
    assert find_nonfinite(lambda v: np.where(v > 0, v, 0.0), -1.0) is None
    # Stable forms: what `grad` gives is finite.
    assert find_nonfinite(lambda v: np.sqrt(np.sum(v**2)), np.zeros(3)) is None


def test_the_first_of_a_chain():
    def f(v):
        small = v - 2.0
        root = np.sqrt(small)
        return np.exp(root) * 3 + v

    found = find_nonfinite(f, 1.0)
    assert found.stage == "value"
    assert found.formula == "sqrt(v - 2)"
    assert np.isnan(found.value)
    assert found.operands == (("v - 2", -1.0),)
    assert "root = np.sqrt(small)" in found.line
    assert repr(found).startswith("sqrt(v - 2) is nan\n  v - 2 = -1\n  at test_nonfinite.py:")


def test_the_first_of_several_operands():
    found = find_nonfinite(fg.log(x) + fg.sqrt(y), x=-1.0, y=-1.0)
    assert found.formula == "log(x)"


def test_what_is_not_chosen_is_not_blamed():
    def f(v):
        return np.where(v > 0, np.log(v), 0.0) + np.sqrt(v - 1)

    assert find_nonfinite(f, 0.0).formula == "sqrt(v - 1)"


def test_what_reaches_nothing_is_said_to():
    found = find_nonfinite(lambda v: np.where(v > 0, np.log(v), 0.0), 0.0)
    assert (found.formula, found.reaches) == ("log(v)", False)
    assert "does not reach" in repr(found)


def test_a_gradient_that_is_infinite():
    def f(v):
        inner = v**2 - 4
        return np.sqrt(inner) + v

    found = find_nonfinite(f, 2.0)
    assert found.stage == "gradient"
    assert found.formula == "sqrt(v**2 - 4)"
    assert found.operand == "v**2 - 4"
    assert found.value == np.inf
    assert "np.sqrt(inner)" in found.line


def test_a_gradient_that_is_nan():
    found = find_nonfinite(lambda v: np.sum(np.sqrt(v * v[::-1])), np.array([0.0, 0.0]))
    assert found.stage == "gradient"
    assert found.formula.startswith("sqrt(")


def test_arrays_are_searched_by_node():
    def f(v):
        e = np.exp(v)
        return np.sum(e / np.sum(e))

    found = find_nonfinite(f, np.array([0.0, 1000.0]))
    assert found.formula == "exp(v)"
    assert np.array_equal(found.value, [1.0, np.inf])


def test_an_input_that_is_nan():
    found = find_nonfinite(x * 2, x=np.nan)
    assert (found.formula, found.operands) == ("x", ())


def test_an_infinite_constant_is_not_blamed():
    assert find_nonfinite(lambda v: np.maximum(v, -np.inf), 1.0) is None
    assert find_nonfinite(lambda v: v * np.inf, 1.0).formula == "v*inf"


def test_loops_are_named_as_a_whole():
    def f(v):
        last, _ = scan(lambda c, a: (np.sqrt(c) * a, c), v, np.arange(1.0, 4.0))
        return last

    assert find_nonfinite(f, 2.0) is None
    assert find_nonfinite(f, -1.0).node.op.name == "loop"
    assert find_nonfinite(f, 0.0).stage == "gradient"


def test_results_are_frozen():
    found = find_nonfinite(fg.log(x), x=0.0)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        found.stage = "gradient"


def test_a_vector_result_is_searched_for_values_alone():
    assert find_nonfinite(lambda v: np.sqrt(v), np.zeros(2)) is None
    assert find_nonfinite(lambda v: 1 / v, np.zeros(2)).formula == "1/v"


def test_mistakes():
    with pytest.raises(TypeError, match="find_nonfinite: expected values for x, but got y"):
        find_nonfinite(fg.log(x), y=0.0)
    with pytest.raises(TypeError, match="expected a function or expressions, but got int"):
        find_nonfinite(3, x=0.0)


# -- derivatives of derivatives ------------------------------------------------------------------
def scaled(x):
    y = x * 2
    z = y**1.5
    return z + x


def rooted(x):
    y = np.sqrt(x)
    return y * x


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (fg.grad(scaled), "z = y**1.5"),
        (fg.grad(fg.grad(scaled)), "z = y**1.5"),
        (fg.grad(rooted), "return y * x"),
        (fg.grad(fg.grad(rooted)), "return y * x"),
        (fg.grad(lambda x: np.log(x)), "np.log(x)"),
        (fg.jacobian(fg.grad(scaled)), "z = y**1.5"),
    ],
)
def test_derived_nodes_have_the_line_of_what_they_are_derived_from(program, line):
    found = fg.find_nonfinite(program, 0.0)
    assert found is not None
    assert line in found.line
    assert found.line.startswith("test_nonfinite.py:")


def test_second_derivatives_of_arrays_have_the_line_of_the_power():
    def f(x):
        y = x * 2
        return np.sum(y**1.5)

    found = fg.find_nonfinite(fg.hessian(f), np.zeros(2))
    assert "return np.sum(y**1.5)" in found.line
    assert fg.find_nonfinite(fg.jit(fg.hessian(f)), np.zeros(2)).line == found.line


def test_a_transform_within_a_function_has_the_line_of_the_function():
    def slope(x, v):
        return fg.hvp(scaled, (x,), (v,))

    found = fg.find_nonfinite(slope, 0.0, 1.0)
    assert "def slope(x, v):" in found.line


def test_a_gradient_that_is_an_expression_has_lines():
    x = fg.var("x")
    root = fg.sqrt(x) * x
    found = fg.find_nonfinite(fg.gradient(root, x), x=0.0)
    assert found is not None
    assert "root = fg.sqrt(x) * x" in found.line


def test_a_derivative_of_other_arguments_still_has_an_answer():
    @fg.grad
    def f(x, *, k=1.0):
        return np.log(x) * k

    found = fg.find_nonfinite(f, 0.0)
    assert found is not None
    assert "np.log(x) * k" in found.line


def test_values_may_come_in_a_dict_and_a_name_wins():
    x = fg.var("x")
    assert fg.find_nonfinite(1 / x, {"x": 0.0}) == fg.find_nonfinite(1 / x, x=0.0)
    assert fg.find_nonfinite(1 / x, {x: 0.0}, x=1.0) is None
    assert fg.cost(1 / x, {"x": 1.0}) == fg.cost(1 / x)
    assert fg.bounds(x + 1, {"x": (0, 1)}) == fg.bounds(x + 1, x=(0, 1))
