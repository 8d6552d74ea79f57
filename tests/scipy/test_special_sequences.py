"""Functions of `scipy.special` of all orders up to a given one, and `ellip_harm_2`."""

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from tests.scipy.derivative_check import check_function

pytestmark = pytest.mark.filterwarnings("ignore:The occurrence of roundoff:Warning")  # ellip_harm_2

SEQUENCES = {
    "pbdv_seq": lambda x: np.stack(scipy.special.pbdv_seq(2.5, x[()])),
    "pbvv_seq": lambda x: np.stack(scipy.special.pbvv_seq(0.5, x[()])),
    "pbdn_seq": lambda x: np.stack(scipy.special.pbdn_seq(3, x[()])),
    "pbdn_seq of negative orders": lambda x: np.stack(scipy.special.pbdn_seq(-4, x[()])),
    "lqmn": lambda x: np.stack(scipy.special.lqmn(2, 3, x)),
    "lqmn outside": lambda x: np.stack(scipy.special.lqmn(2, 3, 1 + x)),
    "lqmn of a complex number": lambda x: np.stack(scipy.special.lqmn(2, 3, x + 0.3j * x * x)),
    "lqmn of degree 0": lambda x: np.stack(scipy.special.lqmn(0, 0, x)),
    "pro_cv_seq": lambda x: scipy.special.pro_cv_seq(1, 4, 3 * x),
    "obl_cv_seq": lambda x: scipy.special.obl_cv_seq(0, 5, 3 * x),
    "ellip_harm_2": lambda x: scipy.special.ellip_harm_2(5.0, 8.0, 3, 5, 3 + x),
    "ellip_harm_2 in h2 and k2": lambda x: scipy.special.ellip_harm_2(5 + x, 8 - x, 2, 1, 3 + x),
    "ellip_normal": lambda x: scipy.special.ellip_normal(5 + x, 8 - x * x, 3, 5),
    "ellip_normal of degree 0": lambda x: scipy.special.ellip_normal(5.0, 8 + x, 0, 1),
    "ellip_harm_2 of degree 0": lambda x: scipy.special.ellip_harm_2(5 + x, 8.0, 0, 1, 3 + x),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_sequences_are_scipys_and_their_derivatives_are_differences(case):
    check_function(SEQUENCES[case], 0.7, value_rtol=1e-14, rtol=2e-5)


def test_arrays_of_points():
    x = np.array([0.3, 0.7])
    check_function(lambda x: np.stack(scipy.special.lqmn(1, 2, x)), x, rtol=2e-5)
    check_function(
        lambda x: scipy.special.ellip_harm_2(5.0, 8.0, 2, 1, 3 + x), x, value_rtol=1e-14, rtol=2e-5
    )


def test_large_parameters_of_spheroidal_functions_have_slopes():
    for values in (scipy.special.pro_cv_seq, scipy.special.obl_cv_seq):
        last = lambda c, values=values: values(2, 8, c)[-1]  # noqa: E731
        slope = (last(30.001) - last(29.999)) / 2e-3
        np.testing.assert_allclose(fg.grad(last)(30.0), slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "advice"),
    [
        (lambda x: scipy.special.pbdv_seq(-2.5, x)[0][0], "write scipy.special.pbdv of an array"),
        (lambda x: scipy.special.pbvv_seq(-0.5, x)[0][0], "write scipy.special.pbvv of an array"),
        (lambda x: np.real(scipy.special.pbdn_seq(3, x + 1j)[0][0]), "scipy.special.eval_hermite"),
        (lambda x: scipy.special.ellip_normal(x, [8.0, 9.0], 2, 1)[0], "fg.vmap"),
        (lambda x: scipy.special.pbdv_seq(1.0, np.stack([x, x]))[0][0], "fg.vmap"),
    ],
)
def test_refusals_say_what_to_write(f, advice):
    with pytest.raises((TypeError, ValueError), match=advice):
        fg.grad(f)(0.7)
