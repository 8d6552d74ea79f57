"""The gradients that displays show are those of `grad`, at singular points, too."""

import re

import numpy as np
import pytest

import funcgrad as fg

CASES = {
    "where(x > 0, sqrt(x), 0)": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0),
    "a part with two uses": (lambda x: np.where(x > 0, np.sqrt(x) * np.sqrt(x), 0.0), 0.0, 0.0),
    "where(x > 0, log(x), x)": (lambda x: np.where(x > 0, np.log(x), x), 0.0, 1.0),
    "sqrt(sum(x**2))": (lambda x: np.sqrt(np.sum(x**2)), np.zeros(2), np.zeros(2)),
    "x*log(x)": (lambda x: x * np.log(x), 0.0, -np.inf),
    "log(1 + exp(x))": (lambda x: np.log(1 + np.exp(x)), 1000.0, 1.0),
    "1/(1 + exp(-x))": (lambda x: 1 / (1 + np.exp(-x)), -1000.0, 0.0),
}
MASKED = [name for name in CASES if name.startswith(("where", "a part"))]


def numbers(text):
    return np.array(text.strip("[]").split(","), float)


@pytest.mark.parametrize("name", CASES)
def test_table_explain_and_steps_end_with_the_gradient_of_grad(name):
    f, at, ideal = CASES[name]
    np.testing.assert_array_equal(fg.grad(f)(at), ideal)
    (row,) = [row for row in fg.table(f, at) if row.op == "x"]
    np.testing.assert_array_equal(row.gradient, ideal)
    last = fg.explain(f, at).splitlines()[-1]
    told = re.search(r"df/dx = (?:z\d+ = )?(\[.*?\]|\S+)", last)[1]
    np.testing.assert_array_equal(numbers(told), np.ravel(ideal))
    (line,) = [line for line in fg.steps(f, at).splitlines() if line.startswith("  df/dx = ")]
    np.testing.assert_array_equal(numbers(line.split(" = ")[-1]), np.ravel(ideal))


@pytest.mark.parametrize("name", MASKED)
def test_what_is_not_selected_reaches_no_step(name):
    f, at, ideal = CASES[name]
    assert "nan" not in fg.explain(f, at).split("Reverse accumulation")[1]
    # The law sqrt(x)**2 = x*where(x >= 0, 1, nan) is named beside the simplified gradient.
    assert "nan" not in fg.steps(f, at).split("Gradient, simplified")[0]
    x = fg.var("x")
    assert fg.backprop(f(x))(x=at)[x] == ideal


def test_a_mask_stays_outermost_in_a_gradient_map():
    x = fg.var("x")
    slope = fg.backprop(np.where(x > 0, np.sqrt(x), 0.0))[x]
    assert repr(slope) == "where(x > 0, 1/(2*sqrt(x)), 0)"
    assert slope(x=0.0) == 0.0


def test_steps_name_the_stable_formula():
    told = fg.steps(lambda x: np.log(1 + np.exp(x)), 1000.0).splitlines()
    assert "  f = softplus(x)" in told
    assert "  df/dx = sigmoid(x) = 1" in told


def test_explain_says_where_the_written_program_has_another_number():
    last = fg.explain(lambda x: np.sqrt(np.sum(x**2)), np.zeros(2)).splitlines()[-1]
    assert last == "Gradient: df/dx = [0., 0.] by stable formulas (z0 = [nan, nan])"
