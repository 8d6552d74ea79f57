"""The node that loses the digits is named, and what is named explains the error."""

import math

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.algebras import rounding

x = fg.var("x")


def test_a_sum_that_swallows_its_smaller_term():
    found = rounding((x + 1) - x, x=1e16)
    assert (found.value, found.error, found.explained) == (0.0, -1.0, -1.0)
    (worst,) = found.nodes
    assert (worst.formula, worst.contribution) == ("x + 1", 1.0)
    assert "test_rounding.py" in worst.line


def test_the_quadratic_formula():
    def root(a, b, c):
        discriminant = b * b - 4 * a * c
        radical = np.sqrt(discriminant)
        return (radical - b) / (2 * a)

    found = rounding(root, 1.0, 1e8, 1.0)
    assert found.nodes[0].formula == "sqrt(b*b - 4*a*c)"
    assert "radical = np.sqrt(discriminant)" in found.nodes[0].line
    exact = -1e-8 - 1e-24
    assert found.error == pytest.approx(found.value - exact, rel=1e-12)
    assert found.explained == pytest.approx(found.error, rel=1e-6)


def test_one_minus_cosine():
    bad = rounding(lambda v: (1 - np.cos(v)) / v**2, 1e-7)
    good = rounding(lambda v: 2 * np.sin(v / 2) ** 2 / v**2, 1e-7)
    assert bad.nodes[0].formula == "cos(x)" or bad.nodes[0].formula == "cos(v)"
    assert bad.nodes[0].cotangent == pytest.approx(-1e14)
    assert abs(bad.error) > 1e-5
    assert abs(good.error) < 1e-15


@pytest.mark.parametrize("seed", range(8))
def test_the_contributions_add_up_to_the_error(seed):
    rng = np.random.default_rng(seed)
    w, v = rng.normal(size=(5, 4)), rng.normal(size=4)

    def f(w, v):
        return np.sum(np.tanh(w @ v) ** 2) / 3 + np.log(np.sum(np.exp(v)))

    found = rounding(f, w, v)
    # To first order, errors squared left out.
    assert abs(found.error - found.explained) < 1e-28
    assert found.explained == pytest.approx(math.fsum(n.signed for n in found.nodes), abs=1e-30)
    sizes = [n.contribution for n in found.nodes]
    assert sizes == sorted(sizes, reverse=True)


def test_a_cast_to_float32_is_named():
    found = rounding(lambda v: v.astype("float32").astype(float) * 2, 0.1)
    assert found.error == pytest.approx(2 * (float(np.float32(0.1)) - 0.1))
    assert found.explained == pytest.approx(found.error)


def test_an_exact_program_has_no_losses():
    assert rounding(x * 2 + 1, x=3.0).nodes == ()
    assert repr(rounding(x * 2 + 1, x=3.0)) == "7.0 with error 0.0e+00 (0.0e+00 of it)"


def test_mistakes():
    with pytest.raises(TypeError, match="rounding: expected one real scalar, but got"):
        rounding(lambda v: v, np.ones(3))


def test_values_may_come_in_a_dict():
    x = fg.var("x")
    assert repr(fg.rounding((x + 1) - x, {"x": 1e16})) == repr(fg.rounding((x + 1) - x, x=1e16))


def test_the_largest_entry_of_an_array_is_printed():
    found = rounding(lambda v: np.sum(np.exp(v) / 3), np.array([0.1, 20.0]))
    (error,) = [np.abs(node.error) for node in found.nodes if node.formula == "exp(v)/3"]
    assert f"{np.max(error):.1e} at most" in repr(found)
