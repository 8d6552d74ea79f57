"""Each function of `jax.scipy`: funcgrad's value and gradient against JAX's, in double precision."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace.pytree import flatten
from tests.default_slice import one_in

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

NAMES = {
    "fft": "fft",
    "integrate": "integrate",
    "interpolate": "interpolate",
    "linalg": "linalg",
    "ndimage": "ndimage",
    "signal": "signal",
    "sparse": "sparse.linalg",
    "special": "special",
    "stats": "stats",
    "transform": "spatial.transform",
    "vq": "cluster.vq",
}


def modules(package, arrays):
    """The parts of a SciPy, by the names that the rows below have for them."""
    found = {name: importlib.import_module(f"{package}.{path}") for name, path in NAMES.items()}
    return SimpleNamespace(np=arrays, is_jax=package.startswith("jax"), **found)


@pytest.fixture(scope="module")
def both():
    """Funcgrad's modules and JAX's."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return modules("funcgrad.scipy", np), modules("jax.scipy", jax.numpy)


RNG = np.random.default_rng(7)
V, W = RNG.uniform(0.2, 1.7, 6), RNG.uniform(0.3, 2.1, 6)
SIGNED = RNG.standard_normal(8)
A, B = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 2))
TALL = RNG.standard_normal((5, 3))
POSITIVE = A @ A.T + np.eye(4)
DATA = RNG.standard_normal((3, 7))
SIGNAL = RNG.standard_normal(64)
C = RNG.standard_normal((4, 4)) + 1j * A
QUATERNIONS = RNG.standard_normal((3, 4))
VECTORS = RNG.standard_normal((3, 3))


def tight(m):
    """The tolerance, which JAX calls by its earlier name."""
    return {"atol": 0.0, "tol" if m.is_jax else "rtol": 1e-14}


ARRAYS = {
    "vq": (lambda m, x, y: m.vq.vq(x, y)[1], TALL, TALL[1:3] + 0.1),
    "dct": (lambda m, x: m.fft.dct(x, norm="ortho") + m.fft.dct(x), DATA),
    "dctn": (lambda m, x: m.fft.dctn(x), DATA),
    "idct": (lambda m, x: m.fft.idct(x, axis=0), DATA),
    "idctn": (lambda m, x: m.fft.idctn(x, norm="ortho"), DATA),
    "trapezoid": (lambda m, y, x: m.integrate.trapezoid(y, x), DATA, np.cumsum(DATA[0] ** 2 + 1)),
    "RegularGridInterpolator": (
        lambda m, v, x: m.interpolate.RegularGridInterpolator((np.arange(3.0), np.arange(7.0)), v)(
            x
        ),
        DATA,
        RNG.uniform(0.2, 1.8, (5, 2)),
    ),
    "map_coordinates": (
        lambda m, v, x: m.ndimage.map_coordinates(v, [x[:, 0], x[:, 1]], order=1, mode="nearest"),
        DATA,
        RNG.uniform(0.2, 1.8, (5, 2)),
    ),
    "block_diag": (lambda m, x, y: m.linalg.block_diag(x, y), A, B),
    # SciPy reads one triangle, and JAX's gradient is that of both.
    "cho_factor": (lambda m, x: m.np.triu(m.linalg.cho_factor(x + x.T)[0]), POSITIVE),
    "cho_solve": (lambda m, x, y: m.linalg.cho_solve(m.linalg.cho_factor(x + x.T), y), POSITIVE, B),
    "cholesky": (lambda m, x: m.linalg.cholesky(x + x.T, lower=True), POSITIVE),
    "circulant": (lambda m, x: m.linalg.circulant(x), V),
    "companion": (lambda m, x: m.linalg.companion(x), V),
    "convolution_matrix": (lambda m, x: m.linalg.convolution_matrix(x, 4), V),
    "det": (lambda m, x: m.linalg.det(x), A),
    "dft": (lambda m, x: m.linalg.dft(6) @ x, V),
    "eigh": (lambda m, x: [np_part(m, v) for v in m.linalg.eigh(x + x.T)], A),
    "eigh_tridiagonal": (
        lambda m, d, e: m.linalg.eigh_tridiagonal(d, e, eigvals_only=True),
        V,
        W[:5],
    ),
    "expm": (lambda m, x: m.linalg.expm(x), A),
    "expm of a complex matrix": (lambda m, x: m.linalg.expm(x), C),
    "expm_frechet": (lambda m, x, y: m.linalg.expm_frechet(x, y), A, A.T),
    "fiedler": (lambda m, x: m.linalg.fiedler(x), V),
    "fiedler_companion": (lambda m, x: m.linalg.fiedler_companion(x), V),
    "funm": (lambda m, x: m.linalg.funm(x, lambda w: m.np.exp(w)), POSITIVE),
    "hankel": (lambda m, x, y: m.linalg.hankel(x, y), V, W),
    "hessenberg": (lambda m, x: m.linalg.hessenberg(x), A),
    "hessenberg, with q": (lambda m, x: m.linalg.hessenberg(x, calc_q=True), A),
    "inv": (lambda m, x: m.linalg.inv(x), A),
    "leslie": (lambda m, x, y: m.linalg.leslie(x, y), V, W[:5]),
    "lu": (lambda m, x: m.linalg.lu(x)[1:], A),
    "lu_factor": (lambda m, x: m.linalg.lu_factor(x)[0], A),
    "lu_solve": (lambda m, x, y: m.linalg.lu_solve(m.linalg.lu_factor(x), y), A, B),
    "polar": (lambda m, x: m.linalg.polar(x), TALL),
    "qr": (lambda m, x: m.linalg.qr(x, mode="economic"), TALL),
    "qr_multiply": (lambda m, x, y: m.linalg.qr_multiply(x, y)[0], TALL, DATA[:2, :5]),
    "schur": (lambda m, x: m.linalg.schur(x + x.T)[0], A),
    "solve": (lambda m, x, y: m.linalg.solve(x, y), A, B),
    "solve, assume_a": (lambda m, x, y: m.linalg.solve(x + x.T, y, assume_a="pos"), POSITIVE, B),
    "solve_sylvester": (lambda m, x, y, z: m.linalg.solve_sylvester(x, y, z), A, POSITIVE, C.real),
    "solve_triangular": (
        lambda m, x, y: m.linalg.solve_triangular(x, y, trans=1, lower=True),
        A,
        B,
    ),
    "sqrtm": (lambda m, x: m.linalg.sqrtm(x), POSITIVE),
    "svd": (lambda m, x: m.linalg.svd(x, full_matrices=False), TALL),
    "svd, of values": (lambda m, x: m.linalg.svd(x, compute_uv=False), TALL),
    "toeplitz": (lambda m, x, y: m.linalg.toeplitz(x, y), V, W),
    "convolve": (lambda m, x, y: m.signal.convolve(x, y, mode="same"), SIGNAL, V),
    "convolve2d": (lambda m, x, y: m.signal.convolve2d(x, y, mode="valid"), DATA, B.T[:, :3]),
    "correlate": (lambda m, x, y: m.signal.correlate(x, y), SIGNAL, V),
    "correlate2d": (lambda m, x, y: m.signal.correlate2d(x, y, mode="same"), DATA, B.T[:, :3]),
    "csd": (lambda m, x, y: m.signal.csd(x, y, nperseg=16)[1], SIGNAL, SIGNAL[::-1] ** 2),
    "detrend": (lambda m, x: m.signal.detrend(x) + m.signal.detrend(x, type="constant"), SIGNAL),
    "fftconvolve": (lambda m, x, y: m.signal.fftconvolve(x, y), SIGNAL, V),
    "istft": (
        lambda m, x: m.signal.istft(m.signal.stft(x, nperseg=16)[2] ** 2, nperseg=16)[1],
        SIGNAL,
    ),
    "stft": (lambda m, x: m.signal.stft(x, nperseg=16)[2], SIGNAL),
    "welch": (lambda m, x: m.signal.welch(x, nperseg=16)[1], SIGNAL),
    "bicgstab": (lambda m, x, y: m.sparse.bicgstab(x, y, **tight(m))[0], POSITIVE, V[:4]),
    "cg": (lambda m, x, y: m.sparse.cg(x, y, **tight(m))[0], POSITIVE, V[:4]),
    "gmres": (lambda m, x, y: m.sparse.gmres(x, y, **tight(m))[0], POSITIVE, V[:4]),
    "mode": (lambda m, x: m.stats.mode(m.np.round(2 * x), keepdims=True)[0] * x[0], SIGNAL),
    "rankdata": (lambda m, x: m.stats.rankdata(x) * x, SIGNAL),
    "sem": (lambda m, x: m.stats.sem(x), DATA),
}


WITHOUT_GRADIENTS = {
    *("eigh_tridiagonal", "funm", "hessenberg", "hessenberg, with q", "polar", "qr_multiply"),
    *("schur", "solve_sylvester", "sqrtm"),
}
"""What JAX computes, but does not differentiate in reverse: the values alone are compared."""


def np_part(m, v):
    """Values, and vectors up to their signs."""
    return v if v.ndim == 1 else v * v[:1]


def slerp(m, times, rotations):
    return (m.transform.Slerp.init if m.is_jax else m.transform.Slerp)(times, rotations)


ROTATIONS = {
    "as_quat": (lambda m, q: m.transform.Rotation.from_quat(q).as_quat(), QUATERNIONS),
    "as_matrix": (lambda m, q: m.transform.Rotation.from_quat(q).as_matrix(), QUATERNIONS),
    "as_rotvec": (lambda m, q: m.transform.Rotation.from_quat(q).as_rotvec(), QUATERNIONS),
    "as_mrp": (lambda m, q: m.transform.Rotation.from_quat(q).as_mrp(), QUATERNIONS),
    "as_euler": (lambda m, q: m.transform.Rotation.from_quat(q).as_euler("xyz"), QUATERNIONS),
    "magnitude": (lambda m, q: m.transform.Rotation.from_quat(q).magnitude(), QUATERNIONS),
    "inv": (lambda m, q: m.transform.Rotation.from_quat(q).inv().as_quat(), QUATERNIONS),
    "apply": (
        lambda m, q, v: m.transform.Rotation.from_quat(q).apply(v),
        QUATERNIONS,
        VECTORS,
    ),
    "a product": (
        lambda m, q: (
            m.transform.Rotation.from_quat(q) * m.transform.Rotation.from_quat(q[::-1])
        ).as_matrix(),
        QUATERNIONS,
    ),
    "from_euler": (
        lambda m, v: m.transform.Rotation.from_euler("zyx", v, degrees=True).as_matrix(),
        VECTORS,
    ),
    "from_rotvec": (lambda m, v: m.transform.Rotation.from_rotvec(v).as_matrix(), VECTORS),
    "from_mrp": (lambda m, v: m.transform.Rotation.from_mrp(v).as_matrix(), VECTORS),
    "mean": (
        lambda m, q: m.transform.Rotation.mean(m.transform.Rotation.from_quat(q)).as_matrix(),
        QUATERNIONS,
    ),
    "Slerp": (
        lambda m, q, t: slerp(m, np.arange(3.0), m.transform.Rotation.from_quat(q))(t).as_matrix(),
        QUATERNIONS,
        np.array([0.3, 1.2, 1.9]),
    ),
}

# The arguments that JAX differentiates; those that are whole numbers, or that it does not differentiate, are
# part of the call.
SPECIAL = {
    "beta": (V, W),
    "betainc": (lambda s, x: s.betainc(V, W, x), RNG.uniform(0.1, 0.9, 6)),
    "betaln": (V, W),
    "boxcox": (V, SIGNED[:6]),
    "boxcox1p": (V, SIGNED[:6]),
    "comb": (V + 5, W),
    "dawsn": (SIGNED,),
    "digamma": (V,),
    "entr": (V,),
    "erf": (SIGNED,),
    "erfc": (SIGNED,),
    "erfcx": (SIGNED,),
    "erfinv": (SIGNED / 4,),
    "exp1": (V,),
    "expi": (SIGNED,),
    "expit": (SIGNED,),
    "expn": (lambda s, x: s.expn(3, x), V),
    "factorial": (V,),
    "fresnel": (SIGNED,),
    "gamma": (SIGNED,),
    "gammainc": (V, W),
    "gammaincc": (V, W),
    "gammaln": (V,),
    "gammasgn": (lambda s, x: s.gammasgn(x) * x, SIGNED),
    "hyp1f1": (V, W + 1, SIGNED[:6]),
    "hyp2f1": (V, W, V + W + 1, SIGNED[:6] / 4),
    "i0": (SIGNED,),
    "i0e": (SIGNED,),
    "i1": (SIGNED,),
    "i1e": (SIGNED,),
    "kl_div": (V, W),
    "log_ndtr": (4 * SIGNED,),
    "log_softmax": (SIGNED,),
    "logit": (RNG.uniform(0.1, 0.9, 5),),
    "loggamma": (V,),
    "logsumexp": (SIGNED,),
    "logsumexp, with weights": (lambda s, x, b: s.logsumexp(x, b=b), V, W),
    "multigammaln": (lambda s, x: s.multigammaln(x, 3), V + 2),
    "ndtr": (SIGNED,),
    "ndtri": (RNG.uniform(0.1, 0.9, 5),),
    "owens_t": (SIGNED[:6], V),
    "poch": (V, W),
    "polygamma": (lambda s, x: s.polygamma(2, x), V),
    "rel_entr": (V, W),
    "sici": (V,),
    "softmax": (SIGNED,),
    "spence": (np.array([0.2, 0.8, 2.1, 5.0]),),
    "xlog1py": (V, W),
    "xlogy": (V, W),
    "zeta": (V + 1.5, W),
}

WHOLE = np.array([0.0, 1.0, 3.0])
UNIT = np.array([0.2, 0.5, 0.7])
LINE = ("logpdf", "pdf", "logcdf", "cdf", "logsf", "sf")
QUANTILES = ("ppf", "isf")
# The points, and the parameters.
DISTRIBUTIONS = {
    "bernoulli": (np.array([0.0, 1.0, 1.0]), (UNIT,), (), ("logpmf", "pmf", "cdf")),
    "beta": (UNIT, (V[:3] + 1, W[:3] + 1), ("loc", "scale"), LINE),
    "betabinom": (WHOLE, (np.full(3, 5.0), V[:3], W[:3]), (), ("logpmf", "pmf")),
    "binom": (WHOLE, (np.full(3, 5.0), UNIT), (), ("logpmf", "pmf")),
    "cauchy": (SIGNED[:3], (), ("loc", "scale"), LINE + QUANTILES),
    "chi2": (W[:3], (V[:3] + 2,), ("loc", "scale"), LINE),
    "expon": (W[:3], (), ("loc", "scale"), (*LINE, "ppf")),
    "gamma": (W[:3], (V[:3] + 1,), ("loc", "scale"), LINE),
    "gennorm": (SIGNED[:3], (V[:3] + 1,), (), ("logpdf", "pdf", "cdf")),
    "geom": (WHOLE + 1, (UNIT,), (), ("logpmf", "pmf")),
    "gumbel_l": (SIGNED[:3], (), ("loc", "scale"), (*LINE, "ppf")),
    "gumbel_r": (SIGNED[:3], (), ("loc", "scale"), (*LINE, "ppf")),
    "laplace": (SIGNED[:3], (), ("loc", "scale"), ("logpdf", "pdf", "cdf")),
    "logistic": (SIGNED[:3], (), ("loc", "scale"), ("logpdf", "pdf", "cdf", "sf", *QUANTILES)),
    "nbinom": (WHOLE, (V[:3] + 2, UNIT), (), ("logpmf", "pmf")),
    "norm": (SIGNED[:3], (), ("loc", "scale"), LINE + QUANTILES),
    "pareto": (W[:3] + 2, (V[:3] + 1,), ("loc", "scale"), (*LINE, "ppf")),
    "poisson": (WHOLE, (V[:3],), (), ("logpmf", "pmf", "cdf")),
    "t": (SIGNED[:3], (V[:3] + 2,), ("loc", "scale"), ("logpdf", "pdf")),
    "truncnorm": (SIGNED[:3] / 2, (-V[:3] - 1, W[:3] + 1), (), LINE),
    "uniform": (UNIT, (), ("loc", "scale"), ("logpdf", "pdf", "cdf", "ppf")),
    "vonmises": (SIGNED[:3], (V[:3],), (), ("logpdf", "pdf")),
    "wrapcauchy": (UNIT, (UNIT,), (), ("logpdf", "pdf")),
}
LEAVING = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
MULTIVARIATE = {
    "dirichlet": (lambda s, x, a: s.dirichlet.logpdf(x, a), np.array([0.2, 0.3, 0.5]), V[:3] + 1),
    "multinomial": (
        # To SciPy the last probability is what the others leave.
        lambda s, p: s.multinomial.logpmf(
            np.array([1, 2, 3]), 6, p @ LEAVING + np.array([0, 0, 1])
        ),
        np.array([0.2, 0.3]),
    ),
    "multivariate_normal": (
        lambda s, x, mean, a: s.multivariate_normal.logpdf(x, mean, a @ a.T + np.eye(4)),
        B.T,
        V[:4],
        A,
    ),
    "gaussian_kde": (lambda s, d, x: s.gaussian_kde(d)(x), SIGNED, V),
    "gaussian_kde, weighted": (
        lambda s, d, w, x: s.gaussian_kde(d, weights=w).logpdf(x),
        SIGNED,
        np.abs(SIGNED) + 0.2,
        V,
    ),
    "gaussian_kde, integrals": (
        lambda s, d: s.gaussian_kde(d).integrate_box_1d(-0.5, 0.8),
        SIGNED,
    ),
}


def weighed(np, result):
    """A number that depends on all entries of a result."""
    total = 0.0
    for k, leaf in enumerate(result if isinstance(result, tuple | list) else [result]):
        places = np.arange(np.size(leaf)).reshape(np.shape(leaf))
        total = total + np.sum(np.real(leaf) * np.cos(1.7 * places + k))
        if np.iscomplexobj(leaf):
            total = total + np.sum(np.imag(leaf) * np.sin(2.3 * places + k))
    return total


def compare(both, f, args, gradients=True):
    import jax

    ours, theirs = both
    mine, other = lambda *x: f(ours, *x), lambda *x: f(theirs, *x)
    for found, expected in zip(
        flatten(mine(*args)).leaves, jax.tree.leaves(other(*args)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    if not gradients:  # which are tested elsewhere
        return
    places, rtol = tuple(range(len(args))), 1e-8
    found = fg.grad(lambda *x: weighed(np, mine(*x)), places)(*args)
    expected = jax.grad(lambda *x: weighed(jax.numpy, other(*x)), places)(*args)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (1e-3 + np.max(np.abs(b))))


@pytest.mark.parametrize(
    "name", one_in(3, ARRAYS | {f"Rotation.{k}": v for k, v in ROTATIONS.items()})
)
def test_functions_of_arrays(name, both):
    rows = ARRAYS | {f"Rotation.{k}": v for k, v in ROTATIONS.items()}
    f, *args = rows[name]
    compare(both, f, args, gradients=name not in WITHOUT_GRADIENTS)


@pytest.mark.parametrize("name", one_in(3, SPECIAL))
def test_special_functions(name, both):
    args = SPECIAL[name]
    if callable(args[0]):
        call, *args = args
        compare(both, lambda m, *x: call(m.special, *x), args)
    else:
        compare(both, lambda m, *x: getattr(m.special, name)(*x), args)


METHODS = [(name, method) for name, row in DISTRIBUTIONS.items() for method in row[3]]


@pytest.mark.parametrize(("name", "method"), one_in(4, METHODS))
def test_distributions(name, method, both):
    x, parameters, more, _ = DISTRIBUTIONS[name]
    keywords = {"loc": np.array([0.1, -0.2, 0.05]), "scale": np.array([1.1, 1.3, 1.2])}
    args = [*parameters, *[keywords[key] for key in more]]
    point = UNIT if method in QUANTILES else x

    def call(m, *args):
        own, rest = args[: len(parameters)], args[len(parameters) :]
        return getattr(getattr(m.stats, name), method)(
            *own_point(args), *own, **dict(zip(more, rest, strict=True))
        )

    def own_point(args):
        return (point,)

    # Errors in JAX: the parameters of beta's cdf, those of Gumbel's distributions, and its ppf.
    is_gumbel = name.startswith("gumbel")
    if not is_gumbel and (name != "beta" or "pdf" in method):
        compare(both, call, args)
    if method in (*LINE, *QUANTILES):

        def in_point(m, x):
            values = dict(zip(more, args[len(parameters) :], strict=True))
            return getattr(getattr(m.stats, name), method)(x, *parameters, **values)

        compare(both, in_point, [point], gradients=not is_gumbel or method != "ppf")


@pytest.mark.parametrize("name", MULTIVARIATE)
def test_multivariate_distributions(name, both):
    call, *args = MULTIVARIATE[name]
    compare(both, lambda m, *x: call(m.stats, *x), args)
