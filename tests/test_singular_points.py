"""Every row of the table of singular points has its ideal value, and the page says so."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in

ROOT = Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("singular", ROOT / "tools" / "singular_points.py")
singular = importlib.util.module_from_spec(spec)
spec.loader.exec_module(singular)


@pytest.mark.parametrize("row", singular.ROWS, ids=lambda row: row.case)
def test_the_ideal_is_reached(row):
    expected = np.broadcast_to(np.asarray(row.ideal), np.shape(row.compute()))
    np.testing.assert_allclose(row.compute(), expected, rtol=1e-12)


def test_the_page_is_what_the_script_writes():
    page = (ROOT / "docs" / "singular_points.md").read_text(encoding="utf-8")
    assert singular.table() in page


SIZES = {
    "abs": lambda x: np.abs(x[0]) * np.abs(x[0]),
    "abs of a complex number": lambda x: np.abs(x[0] + 2j * x[1]) ** 2,
    "abs, of one entry": lambda x: np.abs(x * (1 + 1j))[1] ** 2,
    "hypot": lambda x: np.hypot(x[0], 3 * x[1]) ** 2,
    "norm": lambda x: (2 * np.linalg.norm(x)) ** 2,
    "norm of complex entries": lambda x: np.linalg.norm(x + 1j * x[::-1]) ** 2,
    "std": lambda x: np.std(x) ** 2,
    "std along an axis": lambda x: np.std(np.reshape(x, (2, 1)), axis=0, keepdims=True)[0, 0] ** 2,
    "var of complex entries": lambda x: np.var(x * (2 + 1j)),
    "root": lambda x: np.sqrt(x @ FORM @ x) ** 2,
    "root times a number": lambda x: (3 * np.sqrt(x @ FORM @ x)) ** 2,
    "root over a length": lambda x: np.square(np.sqrt(x @ FORM @ x) / (2 + x[0] * 0)),
    "distances": lambda x: np.sum(_distances(np.stack([x, 2 * x, 0 * x])) ** 2),
}
FORM = np.array([[2.0, 0.5], [0.5, 1.0]])


def _distances(x):
    """Those between all rows, as code that avoids a loop has them."""
    squares = np.sum(x**2, axis=1)
    distances = squares[:, None] + squares - 2 * x @ x.T
    return np.sqrt(np.where(distances < 0, 0.0, distances))


@pytest.mark.parametrize("name", SIZES)
def test_even_powers_of_sizes_are_smooth_at_zero(name):
    """They are quadratic forms, whose second derivative is the same everywhere."""
    f = SIZES[name]
    ideal = fg.hessian(f)(np.array([0.7, -0.4]))
    assert np.any(ideal)
    modes = (fg.hessian, lambda f: fg.jacfwd(fg.jacfwd(f)), lambda f: fg.jacrev(fg.jacfwd(f)))
    for second in (*modes, lambda f: fg.jit(fg.hessian(f))):
        np.testing.assert_allclose(second(f)(np.zeros(2)), ideal, atol=1e-14)
    fourth = fg.grad(fg.grad(fg.grad(fg.grad(lambda t: f(t * np.array([1.0, 0.5])) ** 2))))
    value = f(np.array([1.0, 0.5]))
    np.testing.assert_allclose(fourth(0.0), 24 * value**2, rtol=1e-12)


def test_even_powers_of_the_size_of_a_complex_number():
    f, z, v = lambda z: np.abs(z) ** 2, 0j, 0.3 + 0.1j
    along = lambda z: fg.jvp(f, (z,), (v,))[1]  # noqa: E731
    np.testing.assert_allclose(fg.jvp(along, (z,), (v,))[1], 2 * abs(v) ** 2)
    np.testing.assert_allclose(fg.grad(along)(z), 2 * np.conj(v))
    np.testing.assert_allclose(fg.jvp(fg.grad(f), (z,), (v,))[1], 2 * np.conj(v))
    for x in (np.inf + 1j, 3 - 4j, 1e200j, 1e-200 + 0j):
        with np.errstate(over="ignore", under="ignore"):
            assert fg.value_and_grad(f)(x)[0] == f(x)


SELECTIONS = {
    "quotient": lambda z: np.real(np.where(z != 0, (0.3 + 0.1j) / z, 0)),
    "direction": lambda z: np.real((1 - 2j) * np.where(np.abs(z) != 0, np.conj(z) / np.abs(z), 0)),
    "logarithm": lambda z: np.imag(np.where(z != 0, np.log(z), 0) * np.array(2j)),
    "derivative of abs": lambda z: fg.jvp(np.abs, (z,), (0.3 + 0.1j,))[1],
    "store": lambda z: np.real(
        np.sum(np.where(z == 0, 0, np.stack([z, 1 / z])) * np.conj(1 / (z + 1)))
    ),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_what_a_condition_does_not_select_has_no_gradient_at_complex_zeros(name):
    f, v = SELECTIONS[name], 0.6 - 0.2j
    for gradient in (
        fg.grad(f),
        fg.jit(fg.grad(f)),
        lambda z: fg.vmap(fg.grad(f))(np.array([z]))[0],
    ):
        assert gradient(0j) == 0
    assert fg.jvp(f, (0j,), (v,))[1] == 0
    fg.check_grads(f, (0.4 + 0.7j,), order=2)


def _shared(s, xi):
    """SciPy-like code whose two choices share one number that is not finite."""
    outside = np.nan * s
    inner = np.where(xi * s > -1, np.exp(-xi * s), outside)
    outer = np.where((xi > 0) & (s <= -1 / xi), 0, outside)
    return np.where((xi > 0) & (s > -1 / xi), inner, outer)


def _divided(x, c):
    return np.where(c == 0, x, x / c) + np.where(c != 0, x / c, x * x)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_what_no_choice_selects_has_no_cotangent(wrap):
    slopes = wrap(fg.grad(_shared, (0, 1)))(0.3, 0.1)
    value = np.exp(-0.03)
    np.testing.assert_allclose(slopes, (-0.1 * value, -0.3 * value), rtol=1e-14)
    assert fg.jvp(_shared, (0.3, 0.1), (1.0, 0.0))[1] == pytest.approx(slopes[0], rel=1e-14)
    for c in (
        0.0,
        np.float64(0.0),
    ):  # a plain number: the condition is known as the program is made
        assert wrap(fg.grad(lambda x, c=c: _divided(x * np.float64(1), np.float64(c))))(3.0) == 7.0
        with np.errstate(all="ignore"):
            assert _divided(np.float64(3.0), np.float64(c)) == 12.0
    assert wrap(fg.grad(lambda x: np.sum(np.where(True, x, x * np.nan))))(np.ones(2)).tolist() == [
        1.0,
        1.0,
    ]


def test_quantiles_of_a_distribution_on_the_half_line():
    """SciPy's code chooses the bounds, one of which is infinite times the scale, where q is 0 or 1."""
    slope = fg.grad(lambda scale: scipy.stats.gengamma.ppf(0.05, 1.5, -2, scale=scale))(1.3)
    assert slope == pytest.approx(scipy.stats.gengamma.ppf(0.05, 1.5, -2), rel=1e-12)


@pytest.mark.parametrize("never", [False, np.False_, np.array(False)])
def test_pullbacks_do_not_reach_what_is_never_chosen(never):
    def f(x):
        return np.stack([np.where(never, x * np.inf, x * x), np.where((x > 0) & never, x / 0.0, x)])

    with np.errstate(all="ignore"):
        pulled = [fg.vjp(f, 3.0)[1](g)[0] for g in np.eye(2)]
        assert pulled == [6.0, 1.0]
        assert fg.jacrev(f)(3.0).tolist() == fg.jacfwd(f)(3.0).tolist() == [6.0, 1.0]


# Functions of a factor k and data of which an entry is NaN, or has an infinite slope, and reaches no output.
UNREACHED = {
    "slice": lambda k, y: np.sum((np.log(y) * k)[1:] ** 2),
    "entry": lambda k, y: (np.log(y) * k)[2] ** 2,
    "entries": lambda k, y: (v := np.log(y) * k)[1] * v[2] ** 2 + np.exp(v[3]) * v[1],
    "entries of a list": lambda k, y: sum(v * v for v in (np.log(y) * k)[1:] * k),
    "parts": lambda k, y: (
        (np.log(y) * (k + 2j * k))[1].imag + (v := np.log(y) * 1j * k)[1].imag * v[2].imag
    ),
    "step": lambda k, y: np.sum((np.log(y) * k)[::-2]),
    "rows": lambda k, y: np.sum((np.outer(np.log(y), np.ones(3)) * k)[1:, :2]),
    "moved": lambda k, y: np.sum((np.reshape(np.log(y) * k, (2, 2)).T * k)[:, 1]),
    "chain": lambda k, y: np.sum(np.exp(np.sin(np.log(y) * k) * k)[1:]),
    "quotient": lambda k, y: np.sum((k / np.log(y))[1:]),
    "power": lambda k, y: np.sum((k ** np.log(y))[1:]),
    "matrix times vector": lambda k, y: np.sum(
        (np.outer(np.log(y), np.ones(3)) @ (k * np.ones(3)))[1:]
    ),
    "matrix times matrix": lambda k, y: np.sum(
        (np.outer(np.log(y), np.ones(3)) @ (k * np.ones((3, 2))))[1:] ** 2
    ),
    "vector times matrix": lambda k, y: np.sum(
        ((k * np.ones(3)) @ np.outer(np.ones(3), np.log(y)))[1:] ** 2
    ),
    "store": lambda k, y: np.sum((np.log(y) * k).at[0].set(k)),
    "stores": lambda k, y: np.sum((np.log(y) * k).at[0].set(0.0).at[1:2].set(k) * np.cos(k)),
    "store of rows": lambda k, y: np.sum((np.outer(np.log(y), np.ones(3)) * k).at[0].set(1.0)),
    "store after a choice": lambda k, y: np.sum(
        np.where(y > 2, 0.0, np.maximum(np.log(y) * k, 0)).at[0].set(0.0)
    ),
    "choice after a store": lambda k, y: np.sum(
        np.where(y > 2, 0.0, (np.log(y) * k * k).at[0].set(0.0)) ** 2
    ),
}


@pytest.mark.parametrize("name", one_in(3, UNREACHED))
def test_entries_that_reach_no_output_reach_no_gradient(name):
    f, y = UNREACHED[name], np.array([-1.0, 1.5, 3.0, 0.5])
    finite = np.array([0.7, 1.5, 3.0, 0.5])  # the same function of the other entries
    with np.errstate(invalid="ignore"):
        for transform, k in (
            (lambda f: f, 1.3),
            (fg.jit, 1.3),
            (lambda f: fg.vmap(f, in_axes=(0, None)), np.array([1.3])),
        ):
            of_factor, of_data = transform(fg.grad(f)), transform(fg.grad(f, argnums=1))
            np.testing.assert_allclose(of_factor(k, y), of_factor(k, finite), rtol=1e-12)
            np.testing.assert_allclose(
                np.ravel(of_data(k, y))[1:], np.ravel(of_data(k, finite))[1:], rtol=1e-12
            )
            assert np.ravel(of_data(k, y))[0] == 0
        second = fg.grad(fg.grad(f))
        np.testing.assert_allclose(second(1.3, y), second(1.3, finite), rtol=1e-12)
        fg.check_grads(lambda k: f(k, y), (1.3,), order=2)
