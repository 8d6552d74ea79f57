"""Roots, powers and logarithms of matrices with negative eigenvalues, which are complex."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.scipy import linalg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

A = np.array([[1.0, 2.0, 0.3], [3.0, -4.0, 0.1], [0.2, 0.5, -1.5]])
E = np.array([[0.4, -1.1, 0.6], [0.9, 0.3, -0.2], [-0.7, 0.8, 0.5]])
FUNCTIONS = {
    "sqrtm": lambda m, a: m.sqrtm(a),
    "logm": lambda m, a: m.logm(a),
    "fractional_matrix_power": lambda m, a: m.fractional_matrix_power(a, 0.7),
    "fractional_matrix_power, negative": lambda m, a: m.fractional_matrix_power(a, -1.3),
    "fractional_matrix_power, whole": lambda m, a: m.fractional_matrix_power(a, 3),
    "signm": lambda m, a: m.signm(a),
    "funm": lambda m, a: m.funm(a, np.sqrt),
}
MATRICES = {"real": A, "complex": A + 1j * E, "on the cut": A + 0j}


def loss(m, f, a):
    return np.sum(np.abs(f(m, a) - 0.3 * E) ** 2)


@pytest.mark.parametrize(("matrix", "name"), one_in(3, itertools.product(MATRICES, FUNCTIONS)))
def test_functions_with_complex_values(name, matrix):
    a, function = MATRICES[matrix], FUNCTIONS[name]
    if name == "funm" and matrix == "on the cut":
        pytest.skip("SciPy's own branch is chosen by rounding")
    f = lambda a: loss(linalg, function, a)  # noqa: E731
    # The steps stay real, as SciPy's own branch of a real matrix that is complex is chosen by rounding.
    own = lambda t: loss(scipy.linalg, function, (a.real if matrix == "on the cut" else a) + t * E)  # noqa: E731
    value, gradient = fg.value_and_grad(f)(a)
    np.testing.assert_allclose(value, own(0.0), rtol=1e-12)
    step = 1e-5
    slope = (own(step) - own(-step)) / (2 * step)
    np.testing.assert_allclose(np.real(np.sum(gradient * E)), slope, rtol=1e-6)
    np.testing.assert_allclose(fg.jvp(f, (a,), (E + 0 * a,))[1], slope, rtol=1e-6)
    compiled = fg.jit(fg.grad(f))
    np.testing.assert_allclose(compiled(a), gradient)
    if matrix == "on the cut":
        return
    turned = fg.jvp(fg.grad(f), (a,), (E + 0 * a,))[1]
    ahead, behind = [compiled(a + s * E) for s in (step, -step)]
    scale = np.max(np.abs(turned))
    np.testing.assert_allclose(turned, (ahead - behind) / (2 * step), atol=1e-5 * scale)
    along = lambda a: fg.jvp(f, (a,), (E + 0 * a,))[1]  # noqa: E731
    np.testing.assert_allclose(along_twice(along, a), np.real(np.sum(turned * E)), rtol=1e-8)


def along_twice(along, a):
    return fg.jvp(along, (a,), (E + 0 * a,))[1]


def test_a_mapped_function_has_the_type_of_its_matrix():
    positive = A @ A.T + np.eye(3)
    found = fg.vmap(linalg.sqrtm)(np.stack([positive, 2 * positive]))
    np.testing.assert_allclose(found[1], scipy.linalg.sqrtm(2 * positive))
    np.testing.assert_allclose(fg.vmap(linalg.sqrtm)(np.stack([A, A]))[0], scipy.linalg.sqrtm(A))
    found = fg.vmap(linalg.sqrtm)(np.stack([A, positive]))
    np.testing.assert_allclose(found[0], scipy.linalg.sqrtm(A))
    np.testing.assert_allclose(found[1], scipy.linalg.sqrtm(positive), atol=1e-14)
    with pytest.raises(ValueError, match="astype"):
        fg.jit(fg.vmap(linalg.sqrtm))(np.stack([A, positive]))
    found = fg.vmap(lambda a: linalg.sqrtm(a.astype(complex)))(np.stack([A, positive]))
    np.testing.assert_allclose(found[0], scipy.linalg.sqrtm(A))


@pytest.mark.parametrize("name", ["sqrtm", "logm", "fractional_matrix_power"])
def test_a_function_in_a_branch_of_a_loop(name):
    function = FUNCTIONS[name]

    def f(a):
        return np.sum(function(linalg, a)) if a[0, 0] > 2 else np.sum(a)

    positive = np.stack([E @ E.T + 3 * np.eye(3), E])
    found = fg.scan(lambda total, a: (total + f(a), None), 0.0, positive)[0]
    np.testing.assert_allclose(found, sum(f(a) for a in positive))


def test_jit_finds_the_type_of_each_matrix():
    f = fg.jit(lambda a: np.sum(np.abs(linalg.sqrtm(a))))
    for a in (A @ A.T, A, 2 * A @ A.T, 3 * A):
        np.testing.assert_allclose(f(a), np.sum(np.abs(scipy.linalg.sqrtm(a))))


def test_a_negative_whole_power_of_a_larger_matrix():
    a = np.eye(4) + np.diag([0.3, 0.2, 0.1], 1)
    power = lambda a: scipy.linalg.fractional_matrix_power(a, -2)  # noqa: E731
    np.testing.assert_allclose(fg.jit(power)(a), power(a))
    slope = fg.jvp(power, (a,), (np.eye(4),))[1]
    np.testing.assert_allclose(slope, -2 * np.linalg.matrix_power(a, -3), atol=1e-12)


SPD = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.2]])
MIXED = np.array([[-1.0, 0.3], [0.2, 2.0]])


@pytest.mark.filterwarnings("ignore:.*logm")  # SciPy's, of matrices of other sizes than 1
@pytest.mark.parametrize("scale", [2.0**-480, 2.0**-90, 2.0**90, 2.0**250])
@pytest.mark.parametrize(
    ("f", "degree", "matrix"),
    [
        (lambda a: scipy.linalg.logm(a)[0, 1], 0.0, SPD),
        (lambda a: scipy.linalg.fractional_matrix_power(a, 0.3)[0, 1], 0.3, SPD),
        (lambda a: np.sum(np.abs(scipy.linalg.sqrtm(a))), 0.5, MIXED),
    ],
)
def test_large_and_small_matrices(f, degree, matrix, scale):
    """A function of this degree has a derivative of a degree less."""
    along = np.eye(len(matrix)) + 0.5
    slope = fg.grad(f)
    wanted = scale ** (degree - 1) * slope(matrix)
    size = np.max(np.abs(wanted))
    np.testing.assert_allclose(slope(scale * matrix) / size, wanted / size, atol=1e-10)
    second = fg.grad(lambda a: np.sum(slope(a) * along))
    if scale > 1e-100:
        wanted = scale ** (degree - 2) * second(matrix)
        size = np.max(np.abs(wanted))
        np.testing.assert_allclose(second(scale * matrix) / size, wanted / size, atol=1e-9)


@pytest.mark.parametrize("power", [0.7, 2.0, 0.0, -1.0])
def test_powers_of_a_matrix_move_with_the_power(power):
    a = np.array([[2.0, 0.3], [0.1, 1.0]])

    def f(x):
        return scipy.linalg.fractional_matrix_power(a * (1 + x - power), float(x))

    check_function(f, power, value_rtol=1e-14, rtol=1e-5)


def test_a_real_power_among_complex_ones_has_no_slope_in_it():
    a = np.array([[-2.0, 0.3], [0.1, 1.0]])
    power = scipy.linalg.fractional_matrix_power
    slope = fg.jvp(lambda t: power(a, t), (0.7,), (1.0,))[1]
    difference = (power(a, 0.7 + 1e-5) - power(a, 0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, difference, rtol=1e-7, atol=1e-9)
    with pytest.raises(TypeError, match=r"powers beside 2\.0 are real"):
        fg.jvp(lambda t: power(a, t), (2.0,), (1.0,))


def test_the_sign_of_a_matrix_with_complex_eigenvalues_and_negative_ones():
    rng = np.random.default_rng(7)
    v, along = rng.normal(size=(2, 5, 5))
    a = np.zeros((5, 5))
    a[:2, :2] = [[0.4, 0.1], [-0.1, 0.4]]
    a[2:, 2:] = np.diag([2.4, -0.1, -1.3])
    a = np.linalg.solve(v, a @ v)

    def sign(t):
        return scipy.linalg.signm(a + t * along)

    want = (sign(1e-6) - sign(-1e-6)) / 2e-6
    np.testing.assert_allclose(fg.jvp(sign, (0.0,), (1.0,))[1], want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jacrev(sign)(0.0), want, rtol=1e-6, atol=1e-7)
    bent = (fg.jacfwd(sign)(1e-5) - fg.jacfwd(sign)(-1e-5)) / 2e-5
    np.testing.assert_allclose(fg.jacfwd(fg.jacfwd(sign))(0.0), bent, rtol=1e-5, atol=1e-6)
