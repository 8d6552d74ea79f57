"""Gradients against JAX and autograd, where they are installed."""

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(5)
X, W, Y = RNG.uniform(0.2, 1.5, (4, 3)), RNG.standard_normal((3, 2)), RNG.standard_normal((4, 2))

PROGRAMS = {
    "network": lambda np, w: np.mean((np.tanh(X @ w) - Y) ** 2),
    "softmax": lambda np, w: (
        -np.mean(np.log(np.exp(X @ w) / np.sum(np.exp(X @ w), axis=1, keepdims=True))[:, 0])
    ),
    "logistic": lambda np, w: np.sum(np.log(1 + np.exp(-Y * (X @ w)))),
    "norms": lambda np, w: np.linalg.norm(w) + np.std(w) + np.var(w, axis=0)[1],
    "extremes": lambda np, w: np.max(w) * np.min(w) + np.sum(np.maximum(w, 0.1)),
    "products": lambda np, w: np.prod(w) + np.sum(np.cumsum(w, axis=0)),
    "indexing": lambda np, w: np.sum(w[1:, ::-1] ** 2 * w[:-1]) + w[-1, 0] ** 3,
    "einsum": lambda np, w: np.einsum("ij,jk,lk->", X, w, Y) + np.einsum("jk,jk->j", w, w)[1],
    "shapes": lambda np, w: np.sum(np.sin(np.reshape(w.T, (3, 2)) @ np.transpose(w))),
    "where": lambda np, w: np.sum(np.where(w > 0, np.exp(w), w**2)),
    "powers": lambda np, w: np.sum(np.abs(w) ** 1.7 + (2 + np.sin(w)) ** w),
    "angles": lambda np, w: np.sum(np.arctan2(w, 1 + w**2) + np.arctan(w) * np.sinh(w)),
    "joins": lambda np, w: (
        np.sum(np.concatenate([w, w * 2], axis=1) ** 2) + np.stack([w, w])[1, 0, 0]
    ),
}


@pytest.mark.parametrize("name", one_in(3, PROGRAMS))
def test_against_jax(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f = PROGRAMS[name]
    slope = fg.grad(lambda w: f(np, w))
    np.testing.assert_allclose(
        slope(W), jax.grad(lambda w: f(jax.numpy, w))(W), rtol=1e-11, atol=1e-12
    )
    v = np.ones_like(W)
    ours = fg.jvp(slope, (W,), (v,))[1]
    theirs = jax.jvp(jax.grad(lambda w: f(jax.numpy, w)), (W,), (v,))[1]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_autograd(name):
    autograd = pytest.importorskip("autograd")
    import autograd.numpy as anp

    f = PROGRAMS[name]
    theirs = autograd.grad(lambda w: f(anp, w))(W)
    np.testing.assert_allclose(fg.grad(lambda w: f(np, w))(W), theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda np, z: np.real(np.exp(z) * z),
        lambda np, z: np.imag(np.sin(z)) ** 2,
        lambda np, z: np.abs(z * z + 1),
    ],
)
def test_complex_convention_is_jaxs(f):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    z = 0.4 - 0.7j
    expected = jax.grad(lambda z: f(jax.numpy, z))(z)
    np.testing.assert_allclose(fg.grad(lambda z: f(np, z))(z), expected, rtol=1e-12)


def test_functions_of_autograds_scipy_are_adopted():
    autograd = pytest.importorskip("autograd")
    from autograd import numpy as anp
    from autograd.scipy import linalg, signal
    from autograd.scipy import special as sp
    from autograd.scipy import stats as st

    for f in (
        lambda x: st.norm.logsf(x) + st.norm.cdf(x, 0.2, 1.1),
        lambda x: st.gamma.logpdf(x, 2.0) + st.beta.logpdf(x, 2.0, 3.0) + st.t.logpdf(x, 4.0, 0.0, 1.0),
        lambda x: st.poisson.logpmf(2, x) + st.chi2.pdf(x, 3.0),
        lambda x: st.multivariate_normal.logpdf(anp.array([x, 1.0]), anp.zeros(2), anp.eye(2)),
        lambda x: st.dirichlet.logpdf(anp.array([0.3, 0.7]), anp.array([x, 1.0])),
        lambda x: sp.logsumexp(anp.array([x, 2 * x])) + sp.gammaln(x) + sp.erf(x) + sp.expit(x),
        lambda x: anp.sum(signal.convolve(anp.array([x, 1.0]), anp.array([1.0, 2.0, x]))),
        lambda x: anp.sum(linalg.solve_triangular(anp.array([[x, 0.0], [1.0, 2.0]]), anp.ones(2), lower=1)),
    ):  # fmt: skip
        wanted = autograd.grad(f)(0.3)
        assert fg.grad(f)(0.3) == pytest.approx(wanted, rel=1e-6)
        assert fg.jit(fg.grad(f))(0.3) == pytest.approx(wanted, rel=1e-6)
