"""Jitted values: those of SciPy's own functions, with the derivatives of the compositions beside them."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal

import funcgrad as fg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 6)) + 4 * np.eye(6)
SPD = A @ A.T + np.eye(6)
X = RNG.normal(size=60)
PEAKS = scipy.signal.find_peaks(X)[0]

PROGRAMS = {
    "lu": (scipy.linalg.lu, A),
    "lu_factor": (scipy.linalg.lu_factor, A),
    "lu of few": (lambda a: scipy.linalg.lu(a, overwrite_a=True)[2], A[:, :4].copy()),
    "schur": (scipy.linalg.schur, SPD),
    "cholesky": (lambda a: scipy.linalg.cholesky(a, lower=True), SPD),
    "svdvals": (scipy.linalg.svdvals, A),
    "eigvalsh": (scipy.linalg.eigvalsh, SPD),
    "sqrtm": (scipy.linalg.sqrtm, SPD),
    "expm_frechet": (lambda a: scipy.linalg.expm_frechet(a / 9, A), A),
    "upfirdn": (lambda x: scipy.signal.upfirdn([1.0, 2.0, 1.0], x, 2, 3), X),
    "medfilt": (lambda x: scipy.signal.medfilt(x, 5), X),
    "find_peaks": (lambda x: scipy.signal.find_peaks(x)[0], X),
    "prominences": (lambda x: scipy.signal.peak_prominences(x, PEAKS), X),
    "splrep": (lambda x: scipy.interpolate.splrep(np.arange(60.0), x), X),
    "toeplitz": (lambda x: scipy.linalg.solve_toeplitz((x, x[::-1]), np.ones(60)), X),
}


CLOSE = {
    "cho_solve": (lambda a: scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), a[:, :2]), SPD),
}
"""Programs that are no call of one function of SciPy's."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_jitted_values_are_scipys_to_the_bit(name):
    f, x = PROGRAMS[name]
    before = x.copy()
    found, want = fg.jit(f)(x), f(x.copy())
    np.testing.assert_array_equal(before, x)
    pairs = zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    jitted = fg.jit(f)
    for _ in range(3):
        jitted(x)
    again = jitted(x)
    assert type(again) is type(found)


def total(f):
    def g(x):
        made = f(x)
        parts = made if isinstance(made, tuple) else (made,)
        return sum([np.sum(np.sin(part)) for part in parts if np.asarray(part).dtype.kind == "f"])

    return g


SMOOTH = [
    "lu",
    "lu of few",
    "cholesky",
    "cho_solve",
    "svdvals",
    "eigvalsh",
    "sqrtm",
    "upfirdn",
    "medfilt",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_jitted_values_are_those_of_the_composition(name):
    f, x = (PROGRAMS | CLOSE)[name]
    g, v = total(f), RNG.normal(size=x.shape)
    want = fg.grad(g)(x)
    for found in (fg.grad(fg.jit(g))(x), fg.jit(fg.grad(g))(x), fg.jit(fg.grad(fg.jit(g)))(x)):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    value, slope = fg.jvp(fg.jit(g), (x,), (v,))
    np.testing.assert_allclose(value, g(x), rtol=1e-12)
    np.testing.assert_allclose(slope, np.sum(want * v), rtol=1e-9)
    np.testing.assert_allclose(
        fg.hvp(fg.jit(g), (x,), (v,)), fg.hvp(g, (x,), (v,)), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("name", ["lu", "cholesky", "svdvals", "upfirdn"])
def test_batches_of_jitted_values(name):
    f, x = PROGRAMS[name]
    stack = np.stack([x, 2 * x])
    for found in (fg.jit(fg.vmap(total(f)))(stack), fg.vmap(fg.jit(total(f)))(stack)):
        np.testing.assert_allclose(found, [total(f)(x), total(f)(2 * x)], rtol=1e-10)


def test_a_branch_not_taken_does_not_run_the_host_function():
    def f(a):
        return fg.cond(
            a[0, 0] > 0, lambda a: np.sum(scipy.linalg.cholesky(a)), lambda a: a[0, 0], a
        )

    assert fg.jit(f)(-SPD) == -SPD[0, 0]
    np.testing.assert_allclose(fg.jit(f)(SPD), np.sum(scipy.linalg.cholesky(SPD)), rtol=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        fg.jit(scipy.linalg.cholesky)(-SPD)


def test_readers_read_the_composition():
    program = fg.trace(fg.jit(lambda a: scipy.linalg.cholesky(a)), SPD)
    assert "cholesky" in str(program)
