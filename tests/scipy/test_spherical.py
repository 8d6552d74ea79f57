"""Legendre functions, spherical harmonics and other functions that return arrays: SciPy's values, and
derivatives to the third order."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special

import funcgrad as fg
import funcgrad.scipy.special as ours
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

Z = np.array([-0.83, 0.2, 0.61])
N = np.array([[0], [1], [4]])
CALLS = {
    "legendre_p": lambda z: special.legendre_p(N, z, diff_n=2),
    "legendre_p beyond 1": lambda z: special.legendre_p(3, 1.0 + z * z),
    "legendre_p_all": lambda z: special.legendre_p_all(3, z, diff_n=1),
    "assoc_legendre_p": lambda z: special.assoc_legendre_p(4, [[0], [1], [-3]], z, diff_n=2),
    "assoc_legendre_p beyond 1": lambda z: special.assoc_legendre_p(4, 1, 2.0 + z, branch_cut=3),
    "assoc_legendre_p with a norm": lambda z: special.assoc_legendre_p(4, 1, z, norm=True),
    "assoc_legendre_p_all": lambda z: special.assoc_legendre_p_all(3, 2, z),
    "sph_legendre_p": lambda z: special.sph_legendre_p(4, [[0], [1], [-3]], 1.0 + z, diff_n=2),
    "sph_legendre_p_all": lambda z: special.sph_legendre_p_all(3, 2, 1.0 + z),
    "sph_harm_y": lambda z: special.sph_harm_y(4, [[0], [1], [-3]], 1.0 + z, z * z),
    "sph_harm_y with a gradient": lambda z: special.sph_harm_y(4, -3, 1.0 + z, z * z, diff_n=1)[1],
    "sph_harm_y with a Hessian": lambda z: special.sph_harm_y(4, 2, 1.0 + z, z * z, diff_n=2)[2],
    "sph_harm_y_all": lambda z: special.sph_harm_y_all(3, 2, 1.0 + z, z),
    "mathieu_a": lambda z: special.mathieu_a([[1], [2], [6]], 9.0 * z),
    "mathieu_b": lambda z: special.mathieu_b([[1], [2], [6]], 9.0 * z),
    "mathieu_cem": lambda z: np.stack(special.mathieu_cem(3, 9.0 * z, 40.0 * z[::-1])),
    "mathieu_sem": lambda z: np.stack(special.mathieu_sem(4, 9.0 * z, 40.0 * z[::-1])),
    "pro_ang1": lambda z: np.stack(special.pro_ang1(1, 2, 1.3, z)),
    "obl_ang1": lambda z: np.stack(special.obl_ang1(1, 2, 1.3, z)),
    "lqn": lambda z: np.stack(special.lqn(4, z)),
    "lqn beyond 1": lambda z: np.stack(special.lqn(3, 2.0 + z)),
    "lmbda": lambda z: np.stack(special.lmbda(3, z[1])),
    "lmbda of a fraction": lambda z: np.stack(special.lmbda(2.3, 4.0 + z[1])),
    "riccati_jn": lambda z: np.stack(special.riccati_jn(3, z[1])),
    "riccati_yn": lambda z: np.stack(special.riccati_yn(3, 1.0 + z[1])),
}


def parts(value):
    """A real array of all numbers."""
    return np.stack([np.real(value), np.imag(value)])


@pytest.mark.parametrize("name", one_in(3, CALLS))
def test_values_are_scipys_and_derivatives_those_of_differences(name):
    def f(z):
        return parts(CALLS[name](z))

    own, h, v = f(Z), 1e-5, np.array([0.4, 1.0, -0.7])
    value, slope = fg.jvp(f, (Z,), (v,))
    np.testing.assert_allclose(value, own, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(slope, (f(Z + h * v) - f(Z - h * v)) / (2 * h), rtol=1e-8, atol=1e-8)
    weights = np.cos(np.arange(own.size)).reshape(own.shape)
    back = fg.grad(lambda z: np.sum(weights * f(z)))
    assert back(Z) @ v == pytest.approx(np.sum(weights * slope), rel=1e-12)
    np.testing.assert_allclose(fg.jit(back)(Z), back(Z), rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(back)(np.stack([Z, Z]))[1], back(Z), rtol=1e-12)
    second = fg.jvp(back, (Z,), (v,))[1]
    wanted = (back(Z + h * v) - back(Z - h * v)) / (2 * h)
    np.testing.assert_allclose(second, wanted, rtol=1e-7, atol=1e-7)
    third = fg.jvp(lambda z: fg.jvp(back, (z,), (v,))[1], (Z,), (v,))[1]
    wanted = (fg.jvp(back, (Z + h * v,), (v,))[1] - fg.jvp(back, (Z - h * v,), (v,))[1]) / (2 * h)
    np.testing.assert_allclose(third, wanted, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", ["legendre_p", "assoc_legendre_p", "lqn"])
def test_complex_arguments(name):
    z = np.array([0.3 + 0.4j, -1.2 + 0.1j])
    call = {
        "legendre_p": lambda z: special.assoc_legendre_p(3, 0, z)[0],
        "assoc_legendre_p": lambda z: special.assoc_legendre_p(4, 1, z)[0],
        "lqn": lambda z: special.lqn(3, z)[0],
    }[name]
    value, slope = fg.jvp(call, (z,), (np.ones_like(z),))
    np.testing.assert_allclose(value, call(z), rtol=1e-13)
    np.testing.assert_allclose(slope, (call(z + 1e-6) - call(z - 1e-6)) / 2e-6, rtol=1e-8)


def test_derivatives_at_the_ends_and_at_zero():
    assert fg.grad(lambda z: special.legendre_p(4, z)[0])(1.0) == 10.0
    assert fg.grad(fg.grad(lambda z: special.legendre_p(4, z)[0]))(-1.0) == 45.0
    assert fg.grad(fg.grad(fg.grad(lambda z: special.legendre_p(4, z)[0])))(1.0) == 105.0
    assert fg.grad(lambda x: special.riccati_jn(1, x)[1][0])(0.0) == 0.0
    assert fg.grad(lambda x: special.lmbda(1, x)[1][1])(0.0) == -0.25
    pole = fg.grad(lambda angle: special.sph_legendre_p(3, 1, angle)[0])(0.0)
    assert pole == pytest.approx(special.sph_legendre_p(3, 1, 0.0, diff_n=1)[1], rel=1e-14)


def test_functions_of_the_second_kind_have_all_digits():
    with mp.workdps(40):
        wanted = mp.diff(lambda z: mp.legenq(2, 0, z, type=2), mp.mpf("0.25"), 3)
    slope = fg.grad(fg.grad(fg.grad(lambda z: special.lqn(2, z)[0][2])))
    assert slope(0.25) == pytest.approx(float(wanted), rel=1e-11)


def test_degrees_and_orders_are_plain_numbers():
    for call in (
        lambda n: special.legendre_p(n, 0.3)[0],
        lambda n: special.sph_harm_y(2, n, 0.3, 0.4).real,
        lambda n: special.lqn(n, 0.3)[0][0],
        lambda n: special.lmbda(n, 0.3)[0][0],
    ):
        with pytest.raises(
            TypeError, match=r"expected a plain (n|m|v), in which it has no derivative"
        ):
            fg.grad(call)(2.0)
    with pytest.raises(ValueError, match="legendre_p: expected diff_n to be 0, 1 or 2, but got 3"):
        fg.grad(lambda z: special.legendre_p(2, z, diff_n=3)[0])(0.3)
    with pytest.raises(ValueError, match="lmbda: expected an order of 0 or more"):
        fg.grad(lambda z: special.lmbda(-1, z)[0])(0.3)
    assert ours.legendre_p(2, 0.3) == special.legendre_p(2, 0.3)


def test_coefficients_of_mathieu_functions_in_q():
    for own, m in (
        (special.mathieu_even_coef, 2),
        (special.mathieu_even_coef, 3),
        (special.mathieu_odd_coef, 4),
    ):
        value, slope = fg.jvp(lambda q, own=own, m=m: own(m, q), (1.3,), (1.0,))
        np.testing.assert_allclose(value, own(m, 1.3), rtol=1e-11, atol=1e-15)
        wanted = (own(m, 1.3 + 1e-5) - own(m, 1.3 - 1e-5)) / 2e-5
        np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-10)
        second = fg.grad(fg.grad(lambda q, own=own, m=m: own(m, q)[1]))(1.3)
        h = 1e-3
        wanted = (own(m, 1.3 + h)[1] - 2 * own(m, 1.3)[1] + own(m, 1.3 - h)[1]) / h**2
        assert second == pytest.approx(wanted, rel=1e-5)


def test_characteristic_values_at_zero():
    """a(0) has the series -q**2/2 + 7*q**4/128 (DLMF 28.6.1)."""
    a = lambda q: special.mathieu_a(0, q)  # noqa: E731
    found = [fg.grad(a)(0.0), fg.grad(fg.grad(a))(0.0), fg.grad(fg.grad(fg.grad(fg.grad(a))))(0.0)]
    np.testing.assert_allclose(found, [0.0, -1.0, 7 / 128 * 24], atol=1e-12)


LAME = [(n, p) for n in (0, 1, 2, 3, 5) for p in range(1, 2 * n + 2)]


@pytest.mark.parametrize(("n", "p"), one_in(16, LAME))
def test_ellipsoidal_harmonics(n, p):
    def function(v):
        return special.ellip_harm(v[0], v[1], n, p, v[2], signm=-1)

    for at in ((5.0, 8.0, 1.7), (5.0, 8.0, 2.5), (1.2, 3.3, 4.0)):
        check_function(function, np.array(at))


def test_ellipsoidal_harmonics_of_arrays_and_what_is_refused():
    places = np.array([1.7, 2.5, 0.0])
    found = fg.jit(lambda s: special.ellip_harm(5.0, 8.0, 3, 2, s))(places)
    np.testing.assert_array_equal(found, special.ellip_harm(5.0, 8.0, 3, 2, places))
    with pytest.raises(ValueError, match=r"p from 1 to 2\*n \+ 1"):
        fg.grad(lambda s: special.ellip_harm(5.0, 8.0, 2, 6, s))(1.7)
    with pytest.raises(ValueError, match="call it once for each n and p"):
        fg.grad(lambda s: special.ellip_harm(5.0, 8.0, [2, 3], 1, s)[0])(1.7)


@pytest.mark.parametrize("x", [-0.5, -12.5])
def test_functions_named_for_riccati_left_of_0(x):
    value, slope = fg.jvp(lambda x: special.riccati_jn(3, x), (x,), (1.0,))
    np.testing.assert_allclose(value, special.riccati_jn(3, x), rtol=1e-12)
    np.testing.assert_allclose(slope[0], value[1], rtol=1e-12)
    degrees = np.arange(4)  # u'' = (n*(n + 1)/x**2 - 1)*u
    np.testing.assert_allclose(
        slope[1], (degrees * (degrees + 1) / x**2 - 1) * value[0], rtol=1e-10
    )
