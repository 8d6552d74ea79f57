"""Rules of Gauss: slopes in the exponents of their weights, where SciPy branches on them."""

import numpy as np
import pytest
from scipy import special

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

RULES = {
    "equal exponents, in the first": (lambda a: special.roots_jacobi(3, a, 0.5), 0.5),
    "equal exponents, in the second": (lambda b: special.roots_jacobi(3, 0.5, b), 0.5),
    "an exponent of 0": (lambda a: special.roots_jacobi(4, a, 0.0), 0.0),
    "a sum of 0": (lambda a: special.roots_jacobi(3, a, -0.3, mu=True), 0.3),
    "a sum of -1": (lambda a: special.roots_jacobi(3, a, -0.3), -0.7),
    "both": (lambda a: special.roots_jacobi(2, a, a), 0.0),
    "one node": (lambda a: special.roots_jacobi(1, a, 0.0), 0.0),
    "shifted": (lambda a: special.roots_sh_jacobi(3, a, 1.0), 1.0),
    "gegenbauer of 0": (lambda a: special.roots_gegenbauer(3, a), 0.0),
    "gegenbauer of 1/2": (lambda a: special.roots_gegenbauer(4, a, mu=True), 0.5),
}


@pytest.mark.parametrize("case", one_in(2, RULES))
def test_rules_have_slopes_where_scipy_branches(case):
    rule, exponent = RULES[case]
    with np.errstate(invalid="ignore", divide="ignore"):  # of SciPy, where the sum is -1
        check_function(lambda a: np.hstack(rule(a)), exponent, value_rtol=1e-14, hessian=False)


POLYNOMIALS = {
    "gegenbauer": (lambda a: special.gegenbauer(3, a).coef, 0.5),
    "gegenbauer, called": (lambda a: special.gegenbauer(2, a)(0.3), 0.5),
    "gegenbauer, its norm": (lambda a: special.gegenbauer(3, a).normcoef, 0.5),
    "jacobi": (lambda a: special.jacobi(3, a, 1.0).coef, 1.0),
    "shifted": (lambda b: special.sh_jacobi(3, 2.0, b).coef, 1.5),
}


@pytest.mark.parametrize("case", one_in(2, POLYNOMIALS))
def test_polynomials_have_slopes_where_scipy_branches(case):
    made, exponent = POLYNOMIALS[case]
    h = 1e-3
    near, far = [(made(exponent + k * h) - made(exponent - k * h)) / (2 * k * h) for k in (1, 2)]
    value, slope = fg.jvp(made, (exponent,), (1.0,))
    np.testing.assert_allclose(value, made(exponent), rtol=1e-14)
    np.testing.assert_allclose(slope, (4 * near - far) / 3, rtol=1e-8, atol=1e-9)


def test_an_exponent_out_of_range_is_refused_as_by_scipy():
    with pytest.raises(ValueError, match="alpha and beta must be greater than -1"):
        fg.jacobian(lambda a: special.roots_jacobi(3, a, 0.0)[0])(-2.0)


def test_many_nodes():
    def total(a):  # the integral of (1 - x)^a exp(x)
        nodes, weights = special.roots_jacobi(60, a, 0.0)
        return np.sum(weights * np.exp(nodes))

    def exact(a):
        return 2 ** (a + 1) / (a + 1) * np.exp(-1) * special.hyp1f1(1.0, a + 2.0, 2.0)

    h = 1e-3
    near, far = [(exact(k * h) - exact(-k * h)) / (2 * k * h) for k in (1, 2)]
    assert fg.grad(total)(0.0) == pytest.approx((4 * near - far) / 3, rel=1e-9)
