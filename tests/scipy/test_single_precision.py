"""Traced arguments in single precision give results in the dtype of SciPy's, and so do their tangents."""

import importlib

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.linalg
import scipy.signal
import scipy.stats

import funcgrad as fg
from funcgrad.ops.special.special_stand_ins import STAND_INS
from funcgrad.scipy import linalg, ndimage
from funcgrad.scipy.spatial import distance
from tests.default_slice import one_in

_RANDOM = np.random.default_rng(0)
M = _RANDOM.normal(size=(3, 3)) * 0.4 + 2 * np.eye(3)
S, SMALL = M @ M.T, M @ M.T / 20
U, V = np.abs(_RANDOM.normal(size=(2, 6))) + 0.5
B, A = U[:3], V[:3]
IMAGE, KERNEL = _RANDOM.normal(size=(5, 6)), _RANDOM.normal(size=(3, 3))
ROWS, OTHERS = [np.abs(_RANDOM.normal(size=(n, 3))) + 0.2 for n in (4, 3)]
PLACES = np.array([[1.2, 0.3], [2.2, 1.1]])
SECTIONS = np.array([[1.0, 0.2, 0.1, 1.0, 0.1, 0.2]])
ONES = np.array([1.0, 2.0, 3.0])
PARTS = np.array([0.3, 0.6])
COLUMN = np.array([[0.0], [9.0]])
X, Q = np.arange(6.0), np.array([0.3, 2.4])

# -- (name, arguments, keywords) by module; REAL are not tried with complex numbers -------------------
LINALG = [
    *[(name, (M,), {}) for name in ("inv", "det", "norm", "pinv", "svdvals", "eigvals")],
    *[(name, (M,), {}) for name in ("expm", "coshm", "sinhm", "tanhm", "cosm", "sinm", "tanm")],
    *[(name, (M,), {}) for name in ("lu", "lu_factor")],
    *[(name, (S,), {}) for name in ("cholesky", "logm", "sqrtm", "polar", "schur", "eigvalsh")],
    *[("norm", (M,), {"ord": order}) for order in (1, np.inf, -1)],
    ("norm", (U,), {}),
    ("norm", (M,), {"ord": 1, "keepdims": True}),
    ("qr", (M,), {"mode": "economic"}),
    ("qr_delete", (*np.linalg.qr(M), 1, 1), {}),
    ("solve", (M, B), {}),
    ("solve", (S, B), {"assume_a": "sym"}),
    ("solve_triangular", (M, B), {}),
    ("solve_triangular", (M, B), {"unit_diagonal": True}),
    *[(name, (U,), {}) for name in ("toeplitz", "hankel", "circulant", "companion")],
    *[(name, (U, V), {}) for name in ("toeplitz", "hankel", "solve_toeplitz")],
    ("block_diag", (M, U), {}),
    ("signm", (M,), {}),
    *[(name, (U, V[:5]), {}) for name in ("eigvalsh_tridiagonal", "eigh_tridiagonal")],
    *[(name, (S[:2] + COLUMN,), {}) for name in ("eigvals_banded", "eig_banded")],
    ("eigvalsh_tridiagonal", (U, V[:5]), {"select": "i", "select_range": (0, 1)}),
    ("eigvals_banded", (S[:2] + COLUMN,), {"select": "i", "select_range": (0, 1)}),
    ("orth", (M,), {"rcond": 0.1}),
    ("expm_frechet", (SMALL, M), {}),
    ("solveh_banded", (S[:2] + COLUMN, B), {}),
    ("cholesky_banded", (S[:2] + COLUMN,), {}),
    ("solve_sylvester", (S, S, M), {}),
    ("solve_continuous_lyapunov", (S, M), {}),
    ("solve_discrete_lyapunov", (SMALL, M), {}),
    ("solve_discrete_lyapunov", (SMALL, M), {"method": "bilinear"}),
    ("solve_continuous_are", (M, M, S, S), {}),
    ("solve_discrete_are", (M, M, S, S), {}),
]
METRICS = {
    **dict.fromkeys(("braycurtis", "canberra", "chebyshev", "cityblock", "correlation"), ()),
    **dict.fromkeys(("cosine", "euclidean", "jensenshannon", "sqeuclidean"), ()),
    "mahalanobis": (np.diag(ONES),),
    "minkowski": (3,),
    "seuclidean": (ONES,),
}
WEIGHTED = sorted(METRICS.keys() - {"jensenshannon", "mahalanobis", "seuclidean"})
DISTANCES = [
    *[(name, (ROWS[0], OTHERS[0], *rest), {}) for name, rest in METRICS.items()],
    *[(name, (ROWS[0], OTHERS[0], *METRICS[name]), {"w": ONES}) for name in WEIGHTED],
    *[("minkowski", (ROWS[0], OTHERS[0], p), {}) for p in (1, 2, np.inf)],
    ("jensenshannon", (ROWS[0], OTHERS[0], 2.0), {}),
    *[("cdist", (ROWS, OTHERS), {"metric": name}) for name in ("cityblock", "euclidean")],
    *[("pdist", (ROWS,), {"metric": name}) for name in ("cosine", "euclidean")],
    ("squareform", (U,), {}),
    ("squareform", (np.ones((3, 3)) - np.eye(3),), {}),
]
INTEGRALS = [
    *[(name, (IMAGE,), {}) for name in ("trapezoid", "cumulative_trapezoid", "simpson")],
    *[(name, (IMAGE,), {"dx": 0.5}) for name in ("trapezoid", "cumulative_trapezoid", "simpson")],
    *[(name, (U, V), {}) for name in ("trapezoid", "cumulative_trapezoid")],
    ("cumulative_trapezoid", (U,), {"initial": 0}),
]
SIGNAL = [
    *[(name, (U, A), {}) for name in ("convolve", "fftconvolve", "oaconvolve", "correlate")],
    ("convolve", (IMAGE, IMAGE), {"method": "fft"}),
    ("convolve2d", (IMAGE, KERNEL), {"boundary": "symm", "mode": "same"}),
    ("correlate2d", (IMAGE, KERNEL), {}),
    ("lfilter_zi", (B, A), {}),
    ("lfiltic", (B, A, U[:2], V[:2]), {}),
    ("lfilter", (B, A, U), {}),
    ("sosfilt", (SECTIONS, U), {}),
    *[("detrend", (U,), {"type": kind}) for kind in ("linear", "constant")],
]
FREQUENCY_FILTERS = ("ellipsoid", "gaussian", "shift", "uniform")
IMAGES = [
    *[(name, (IMAGE, A), {}) for name in ("correlate1d", "convolve1d")],
    *[(name, (IMAGE, KERNEL), {}) for name in ("correlate", "convolve")],
    *[(name, (IMAGE, 1.0), {}) for name in ("gaussian_filter1d", "gaussian_filter")],
    *[(name, (IMAGE, 3), {}) for name in ("uniform_filter1d", "uniform_filter")],
    *[(name, (IMAGE, 3), {}) for name in ("maximum_filter1d", "median_filter")],
    *[("spline_filter1d", (IMAGE,), {"order": order}) for order in (1, 3)],
    *[("spline_filter1d", (IMAGE,), {"output": np.float32, "order": order}) for order in (1, 3)],
    ("spline_filter", (IMAGE,), {}),
    ("spline_filter", (IMAGE,), {"output": np.float32}),
    *[("map_coordinates", (IMAGE, PLACES), {"order": order}) for order in (1, 3)],
    *[(name, (IMAGE, 1.2), {}) for name in ("shift", "zoom")],
    *[(f"fourier_{name}", (IMAGE, 2.0), {}) for name in FREQUENCY_FILTERS],
    *[(f"fourier_{name}", (IMAGE, PARTS), {}) for name in FREQUENCY_FILTERS],
]
FOURIER = [
    *[(name, (IMAGE,), {}) for name in ("fft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfft2")],
    *[(name, (IMAGE,), {"type": type}) for name in ("dct", "idstn") for type in (1, 2, 3, 4)],
    *[(name, (IMAGE,), {"norm": "ortho"}) for name in ("dctn", "idst")],
    ("fftshift", (IMAGE,), {}),
]
SPECIAL = [
    *[("polygamma", (order, PARTS), {}) for order in (0, 1)],
    *[(name, (PARTS,), {}) for name in ("psi", "expit", "softmax", "log_softmax", "logsumexp")],
    ("logsumexp", (U,), {"b": V}),
    ("lambertw", (PARTS,), {}),
]
INTERPOLANTS = {
    **{
        f"interp1d {kind}": lambda module, x, y, q, kind=kind: module.interp1d(x, y, kind)(q)
        for kind in ("linear", "slinear", "nearest", "previous", "next", "zero", "cubic", 1)
    },
    **{
        f"interpn {kind}": lambda module, x, y, q, kind=kind: module.interpn(
            (x, x), y[:, None] * y, np.stack([q, q], -1), kind
        )
        for kind in ("linear", "nearest")
    },
    **{
        name: lambda module, x, y, q, name=name: getattr(module, name)(x, y)(q)
        for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator")
    },
}
MODULES = {
    "linalg": LINALG,
    "integrate": INTEGRALS,
    "spatial.distance": DISTANCES,
    "signal": SIGNAL,
    "ndimage": IMAGES,
    "fft": FOURIER,
    "special": SPECIAL,
}
CASES = [(module, *case) for module, cases in MODULES.items() for case in cases]
REAL_MODULES = ("integrate", "spatial.distance", "special")
REAL = {"schur", "rfft", "ihfft", "rfft2"}
REAL |= {"maximum_filter1d", "median_filter", "eigvalsh_tridiagonal", "eigh_tridiagonal"}


TYPED = [(np.float32, case) for case in CASES] + [
    (np.complex64, case) for case in CASES if case[0] not in REAL_MODULES and case[1] not in REAL
]


def name_of(part):
    if isinstance(part, type):
        return part.__name__
    module, name, args, options = part
    plain = [f"{k}={v}" for k, v in options.items() if not isinstance(v, np.ndarray)]
    return " ".join([f"{module}.{name}", str(len(args)), *plain])


def dtypes(value):
    return [np.asarray(item).dtype for item in (value if isinstance(value, tuple) else (value,))]


def agree(mine, own, values):
    """The dtypes and values of jit, and the dtypes of jvp and grad, are as SciPy's results have them."""
    wanted = own(*values)
    found = fg.jit(mine)(*values)
    assert dtypes(found) == dtypes(wanted)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for mine_, own_ in pairs:
        np.testing.assert_allclose(mine_, own_, rtol=2e-3, atol=2e-3)
    value, slope = fg.jvp(mine, tuple(values), tuple([np.ones_like(v) for v in values]))
    assert dtypes(value) == dtypes(wanted)
    # The tangents of integers, as pivots are, are floats.
    floats = [dtype for dtype in dtypes(wanted) if dtype.kind in "fc"]
    assert dtypes(slope)[: len(floats)] == floats
    if dtypes(wanted)[0].kind == "f" and not isinstance(wanted, tuple):
        places = tuple(range(len(values)))
        total, slopes = fg.value_and_grad(lambda *v: mine(*v).sum(), argnums=places)(*values)
        assert dtypes(total) == dtypes(wanted)
        assert dtypes(tuple(slopes)) == [v.dtype for v in values]


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:promoting specified output dtype:UserWarning")
@pytest.mark.parametrize(("dtype", "case"), one_in(3, TYPED), ids=name_of)
def test_single_precision(dtype, case):
    module, name, args, options = case
    places = [k for k, arg in enumerate(args) if isinstance(arg, np.ndarray)]
    real = places[1:] if module == "ndimage" else []
    values = [args[k].astype(np.float32 if k in real else dtype) for k in places]
    options = {k: v.astype(dtype) if isinstance(v, np.ndarray) else v for k, v in options.items()}

    def function(home):
        def called(*values):
            given = list(args)
            for k, value in zip(places, values, strict=True):
                given[k] = value
            return getattr(importlib.import_module(f"{home}.{module}"), name)(*given, **options)

        return called

    agree(function("funcgrad.scipy"), function("scipy"), values)


@pytest.mark.parametrize("name", INTERPOLANTS)
def test_interpolants_in_single_precision(name):
    own, mine = [
        importlib.import_module(f"{home}.interpolate") for home in ("scipy", "funcgrad.scipy")
    ]
    x, y, q = [part.astype(np.float32) for part in (X, np.cos(X), Q)]
    for place in range(3):

        def at(value, module, place=place):
            data = [x, y, q]
            data[place] = value
            return INTERPOLANTS[name](module, *data)

        given = (x, y, q)[place]
        assert fg.jit(lambda v, at=at: at(v, mine))(given).dtype == at(given, own).dtype


RANK_TWO = (_RANDOM.normal(size=(6, 2)) @ _RANDOM.normal(size=(2, 4))).astype(np.float32)
BY_RANK = {
    "numpy.linalg.lstsq": lambda a: np.linalg.lstsq(a, a[:, 0] ** 2)[::2],
    "lstsq": lambda a: scipy.linalg.lstsq(a, a[:, 0] ** 2)[::2],
    "orth": lambda a: scipy.linalg.orth(a),
    "null_space": lambda a: scipy.linalg.null_space(a),
}


@pytest.mark.parametrize("name", BY_RANK)
def test_ranks_of_single_precision_are_those_of_numpy_and_scipy(name):
    f = BY_RANK[name]
    wanted = f(RANK_TWO)
    found = fg.jvp(f, (RANK_TWO,), (RANK_TWO,))[0]
    for value, own in (
        zip(found, wanted, strict=True) if type(wanted) is tuple else [(found, wanted)]
    ):
        assert np.shape(value) == np.shape(own)
        assert np.asarray(value).dtype.kind == np.asarray(own).dtype.kind
        np.testing.assert_allclose(value, own, rtol=1e-4, atol=1e-5)


def test_dirichlet_of_single_precision():
    alpha = ONES.astype(np.float32)
    x = alpha / alpha.sum()
    for f in (scipy.stats.dirichlet.logpdf, scipy.stats.dirichlet.pdf):
        assert fg.jvp(f, (x, alpha), (x, alpha))[0].dtype == f(x, alpha).dtype == np.float32
    entropy = scipy.stats.dirichlet.entropy
    assert fg.jvp(entropy, (alpha,), (alpha,))[0].dtype == entropy(alpha).dtype == np.float32


@pytest.mark.parametrize("mode", ["line", "smooth", "antisymmetric", "antireflect"])
def test_signals_extended_in_single_precision(mode):
    filtered = lambda x: scipy.signal.resample_poly(x, 2, 3, padtype=mode)  # noqa: E731
    x = IMAGE[0].astype(np.float32)
    value = fg.jvp(filtered, (x,), (x,))[0]
    assert value.dtype == filtered(x).dtype == np.float32
    np.testing.assert_allclose(value, filtered(x), rtol=1e-4, atol=1e-5)


IN_DOUBLE = {
    "peak_prominences": lambda x: scipy.signal.peak_prominences(x, [1, 3])[0],
    "peak_widths": lambda x: scipy.signal.peak_widths(x, [1, 3])[0],
    "dgesv": lambda x: scipy.linalg.lapack.dgesv(np.diag(x), x * x)[2],
    "dpotrf": lambda x: scipy.linalg.lapack.dpotrf(np.diag(x), lower=1)[0],
}


@pytest.mark.parametrize("name", IN_DOUBLE)
def test_functions_that_scipy_computes_in_double_precision_alone(name):
    f, x = IN_DOUBLE[name], np.array([0.3, 0.9, 0.4, 1.1, 0.2], np.float32)
    value, slope = fg.jvp(f, (x,), (x,))
    assert value.dtype == slope.dtype == f(x).dtype == np.float64
    np.testing.assert_allclose(value, f(x), rtol=1e-14)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_the_pseudoinverse_of_a_matrix_object_is_an_array():
    found = fg.jit(lambda t: scipy.linalg.pinv(np.matrix(M) * t) * M.T)(1.0)
    np.testing.assert_allclose(found, scipy.linalg.pinv(M) * M.T, rtol=1e-12)


def test_data_in_both_precisions_give_double_precision():
    single = B.astype(np.float32)
    assert fg.jit(linalg.toeplitz)(single, A).dtype == np.float64
    assert isinstance(fg.jit(distance.cityblock)(single, A), float)  # not a float32
    assert fg.jit(lambda v: linalg.block_diag(v, 2.0))(single).dtype == np.float64


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_solutions_by_factors_in_single_precision(trans, dtype):
    for factor, solve, a in (("lu_factor", "lu_solve", M), ("cho_factor", "cho_solve", S)):
        options = {"trans": trans} if factor == "lu_factor" else {}

        def solved(home, a, b, factor=factor, solve=solve, options=options):
            return getattr(home, solve)(getattr(home, factor)(a), b, **options)

        values = a.astype(dtype), B.astype(dtype)
        agree(
            lambda a, b, solved=solved: solved(linalg, a, b),
            lambda a, b, solved=solved: solved(importlib.import_module("scipy.linalg"), a, b),
            values,
        )


@pytest.mark.parametrize("dtype", [np.float32, int])
def test_spline_filters_have_the_dtype_of_their_output(dtype):
    own = importlib.import_module("scipy.ndimage").spline_filter(10 * IMAGE, output=dtype)
    found = fg.jit(lambda image: ndimage.spline_filter(image, output=dtype))(10 * IMAGE)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, own, rtol=1e-5)


SPECIAL_SLOPES = ["stdtr", "stdtrit", "stdtridf", "rel_entr", "kl_div", "itstruve0", "it2struve0"]


@pytest.mark.parametrize("name", [*SPECIAL_SLOPES, "itmodstruve0"])
def test_slopes_of_special_functions_in_single_precision(name):
    f = STAND_INS[name]
    values = [PARTS.astype(np.float32)] * (1 if "struve" in name else 2)
    value, slope = fg.jvp(f, tuple(values), tuple([np.ones_like(v) for v in values]))
    assert value.dtype == slope.dtype == np.float32
    double = tuple([v.astype(float) for v in values])
    _, wanted = fg.jvp(f, double, tuple([np.ones_like(v) for v in double]))
    np.testing.assert_allclose(slope, wanted, rtol=1e-4)


IN_SINGLE = {
    **{
        name: lambda w, name=name: getattr(scipy.signal, name)(w[0], np.float32(0.5), 3, 40)[1]
        for name in ("buttord", "cheb1ord", "ellipord")
    },
    "cspline1d_eval": lambda c: scipy.signal.cspline1d_eval(c, np.array([0.5, 1.5])),
    "qspline1d_eval": lambda q: scipy.signal.qspline1d_eval(np.ones(5), q),
    "kmeans": lambda x: scipy.cluster.vq.kmeans(x[:, None], x[:2, None])[0],
}


@pytest.mark.parametrize("name", IN_SINGLE)
def test_designs_splines_and_clusters_of_single_precision(name):
    f, x = IN_SINGLE[name], np.array([0.2, 0.9, 0.3, 0.85, 0.25], np.float32)
    value, slope = fg.jvp(f, (x,), (x,))
    assert value.dtype == slope.dtype == f(x).dtype == np.float32
    np.testing.assert_allclose(value, f(x), rtol=1e-5)
