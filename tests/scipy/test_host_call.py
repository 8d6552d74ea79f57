"""Jitted values: those of SciPy's own functions, with the derivatives of the compositions beside them."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats

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
    "cholesky": (lambda a: scipy.linalg.cholesky(a, lower=True), SPD),
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
    f, x = (PROGRAMS | CLOSE)[name]
    stack = np.stack([x, 2 * x])
    for found in (fg.jit(fg.vmap(total(f)))(stack), fg.vmap(fg.jit(total(f)))(stack)):
        np.testing.assert_allclose(found, [total(f)(x), total(f)(2 * x)], rtol=1e-10)


def test_a_branch_not_taken_does_not_run_the_host_function():
    def solution(a):
        return np.sum(scipy.linalg.solve_toeplitz(a[0], a[1]))

    def f(a):
        return fg.cond(a[0, 0] > 0, solution, lambda a: a[0, 0], a)

    assert fg.jit(f)(0 * SPD) == 0.0
    np.testing.assert_allclose(fg.jit(f)(SPD), solution(SPD), rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        fg.jit(solution)(0 * SPD)


def test_machine_code_is_that_of_the_composition():
    pytest.importorskip("llvmlite")

    def solution(x):
        return scipy.linalg.solve_toeplitz(x[:3], x[3:6])

    np.testing.assert_allclose(fg.jit(solution, native=True)(X), solution(X), rtol=1e-9)


def test_readers_read_the_composition():
    program = fg.trace(fg.jit(lambda a: scipy.linalg.cholesky(a)), SPD)
    assert "cholesky" in str(program)


IMAGE = RNG.normal(size=(12, 14))
PLACES = np.sort(RNG.uniform(-1.0, 60.0, size=200))

MORE = {
    "rank_filter": (lambda x: scipy.ndimage.rank_filter(x, 2, 3), IMAGE),
    "percentile_filter": (lambda x: scipy.ndimage.percentile_filter(x, 20, 3), IMAGE),
    "convolve1d": (lambda x: scipy.ndimage.convolve1d(x, x[0, :3]), IMAGE),
    "gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, 1.5), IMAGE),
    "pdist": (scipy.spatial.distance.pdist, IMAGE),
    "cdist": (lambda x: scipy.spatial.distance.cdist(x, x[:3]), IMAGE),
    "nnls": (lambda x: scipy.optimize.nnls(x.T, x[:, 0][:, None].sum() + x[0])[0], IMAGE),
    "nct": (lambda x: scipy.stats.nct.logpdf(x, 4.0, 0.5, loc=0.2, scale=1.5), X),
    "nct of shapes": (lambda x: scipy.stats.nct.cdf(0.3, np.abs(x) + 1, x), X),
    "ncx2": (lambda x: scipy.stats.ncx2.sf(np.abs(x), 3.0, 0.5), X),
    "t": (lambda x: scipy.stats.t.cdf(x, 3.0), X),
    "vonmises": (lambda x: scipy.stats.vonmises.cdf(x, 2.0), X),
    "frozen": (lambda x: scipy.stats.ncx2(3.0, np.abs(x)).cdf(2.0), X),
    "interp": (lambda x: np.interp(PLACES, np.arange(60.0), x), X),
}


@pytest.mark.parametrize("name", MORE)
def test_jitted_values_of_filters_and_distributions_are_scipys(name):
    f, x = MORE[name]
    found, want = fg.jit(f)(x), f(x)
    np.testing.assert_array_equal(found, want)
    assert np.asarray(found).dtype == np.asarray(want).dtype


@pytest.mark.parametrize(
    "name", ["convolve1d", "gaussian_filter", "pdist", "nct", "ncx2", "t", "interp"]
)
def test_derivatives_of_filters_and_distributions_that_are_jitted(name):
    f, x = MORE[name]
    g = total(f)
    want = fg.grad(g)(x)
    for found in (fg.grad(fg.jit(g))(x), fg.jit(fg.grad(g))(x)):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.value_and_grad(g))(x)[0], g(x), rtol=1e-12)


def test_an_array_that_takes_the_result_is_written_by_the_composition():
    def f(x):
        out = np.zeros(IMAGE.shape)
        scipy.ndimage.gaussian_filter(x, 1.5, output=out)
        return out

    np.testing.assert_allclose(fg.jit(f)(IMAGE), scipy.ndimage.gaussian_filter(IMAGE, 1.5))


def test_hosted_functions_in_single_precision_keep_it():
    for f, x in (MORE["gaussian_filter"], MORE["percentile_filter"], PROGRAMS["lu"]):
        single = x.astype(np.float32)
        found, want = fg.jit(f)(single), f(single)
        found, want = (found, want) if isinstance(want, np.ndarray) else (found[2], want[2])
        assert np.asarray(found).dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(found, want)


SEARCHES = {
    "root": lambda k: (
        scipy.optimize.root(lambda z: [z[0] ** 2 + z[1] - k, z[0] - z[1] ** 3], [1.0, 1.0]).x
    ),
    "root by another method": lambda k: (
        scipy.optimize.root(lambda z: np.array([z[0] ** 2 - k]), [1.0], method="lm", tol=1e-3).x
    ),
    "fsolve": lambda k: scipy.optimize.fsolve(lambda z: z**3 - k, [1.0, 2.0]),
    "leastsq": lambda k: scipy.optimize.leastsq(
        lambda p: p[0] * np.exp(-p[1] * X) - np.exp(-k * X), [1.0, 0.5]
    )[0],
    "curve_fit": lambda k: scipy.optimize.curve_fit(
        lambda x, a, b: a * np.exp(-b * x), X, np.exp(-k * X), p0=[1.0, 0.5]
    )[0],
    "direct": lambda k: scipy.optimize.direct(lambda t: (t[0] - k) ** 2, [(0.0, 3.0)]).x,
}


@pytest.mark.parametrize("name", SEARCHES)
def test_jitted_solutions_are_scipys(name):
    f = SEARCHES[name]
    for _ in range(3):
        jitted = fg.jit(f)
        for k in (1.7, 1.3):
            np.testing.assert_allclose(jitted(k), f(k), rtol=1e-13)
    slope = fg.jacobian(f)(1.7)
    np.testing.assert_allclose(fg.jit(fg.jacobian(f))(1.7), slope, rtol=1e-9)
    np.testing.assert_allclose(fg.jacobian(fg.jit(f))(1.7), slope, rtol=1e-9)
    both = fg.jit(fg.vmap(f))(np.array([1.7, 1.8]))
    np.testing.assert_allclose(both, [f(1.7), f(1.8)], rtol=1e-3)


def test_a_fit_that_is_not_determined_is_an_error_of_its_derivative_alone():
    def fit(k):
        return scipy.optimize.leastsq(lambda p: (p[0] + p[1]) * X - k, [1.0, 1.0])[0]

    np.testing.assert_allclose(fg.jit(fit)(2.0), fit(2.0))
    with pytest.raises(np.linalg.LinAlgError, match="determine all 2 parameters"):
        fg.jit(fg.jacobian(fit))(2.0)


@pytest.fixture
def traced(monkeypatch):
    """The signatures that were traced since, one for each trace."""
    from funcgrad.transforms.jit import guarded_traces

    seen, own = [], guarded_traces.GuardedTraces._trace

    def counted(self, *args):
        seen.append(args[2])
        return own(self, *args)

    monkeypatch.setattr(guarded_traces.GuardedTraces, "_trace", counted)
    return seen


def test_branches_on_results_are_traced_once_each(traced):
    def f(a):
        made = scipy.linalg.expm(a)
        return made[0, 1] if made[0, 0] > 1 else made[1, 0]

    jitted, a = fg.jit(f), np.array([[0.3, 0.2], [0.1, 0.4]])
    for _ in range(3):
        for x in (a, -a):
            assert jitted(x) == f(x)
    assert len(traced) == 2


def test_kinds_of_results_that_change_are_traced_again(traced):
    jitted, f = fg.jit(scipy.linalg.sqrtm), scipy.linalg.sqrtm
    turned = np.array([[0.0, 1.0], [1.0, 0.0]])
    for x in (np.diag([4.0, 9.0]), turned, np.diag([1.0, 2.0]), turned):
        found, want = jitted(x), f(x)
        np.testing.assert_allclose(found, want, atol=1e-15)
        assert np.asarray(found).dtype == np.asarray(want).dtype
    assert len(traced) <= 3


def test_what_a_composition_asks_is_no_guard():
    jitted = fg.jit(lambda a: scipy.linalg.sqrtm(a) + 1)
    text = str(jitted.lower(SPD))
    assert text.count(" was ") == 1
    assert "is_as_traced" in text


def test_a_derivative_inside_a_jitted_function_asks_what_the_composition_asks():
    def f(a):
        found = np.sum(scipy.linalg.sqrtm(a))
        return fg.gradient(found, [a])[0] if isinstance(found, fg.Expr) else found

    want = fg.grad(lambda a: np.sum(scipy.linalg.sqrtm(a)))(SPD)
    np.testing.assert_allclose(fg.jit(f)(SPD), want, rtol=1e-9)


@pytest.mark.parametrize("lstsq", [np.linalg.lstsq, scipy.linalg.lstsq])
def test_results_of_other_shapes_are_those_of_the_composition(lstsq):
    def f(a):
        return lstsq(a, X[:6])[:2]

    jitted, tall = fg.jit(f), A[:, :3].copy()
    flat = tall.copy()
    flat[:, 2] = flat[:, 1]
    for a in (tall, flat, tall):
        x, left = jitted(a)
        np.testing.assert_allclose(x, f(a)[0], rtol=1e-9)
        plain = f(a)[1]
        want = plain if np.size(plain) else np.sum((a @ x - X[:6]) ** 2)
        np.testing.assert_allclose(left, want, rtol=1e-9)


SERIES = {
    "a product": lambda x: np.polynomial.chebyshev.chebmul(x, x[::-1]),
    "a power": lambda x: np.polynomial.hermite.hermpow(x, 2),
    "roots": lambda x: np.polynomial.legendre.legfromroots(x),
    "a quotient": lambda x: np.polynomial.laguerre.lagdiv(x, np.array([1.0, 2.0]))[0],
    "a median": np.median,
    "different entries": np.unique,
    "counts": lambda x: np.unique(x, return_counts=True)[1],
    "eigenvalues": lambda x: np.linalg.eigvals(np.reshape(x, (2, 2))),
    "singular values": lambda x: np.linalg.svdvals(np.reshape(x, (2, 2))),
    "neighbours": lambda x: np.nextafter(x, x[::-1]),
    "a mantissa": lambda x: np.frexp(x)[0],
}


@pytest.mark.parametrize("name", SERIES)
def test_jitted_values_are_numpys_to_the_bit_for_any_values(name):
    f = SERIES[name]
    jitted, x = fg.jit(f), np.array([1.5, -0.5, 2.0, 3.0])
    others = [np.array([0.0, 1.0, -1.0, 0.0]), np.ones(4), x]
    for given in (x, *others, *others):
        with np.errstate(all="ignore"):
            want = f(given.copy())
        found = jitted(given)
        np.testing.assert_array_equal(found, want)
        assert np.asarray(found).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("name", ["a product", "a power", "a quotient", "a median"])
def test_slopes_of_series_are_those_of_their_code(name):
    def total(x):
        return np.sum(np.sin(SERIES[name](x)))

    x, v = np.array([1.5, -0.5, 2.0, 3.0]), np.array([0.3, 1.0, -0.7, 0.2])
    h = 1e-6
    want = (total(x + h * v) - total(x - h * v)) / (2 * h)
    for slope in (fg.jit(fg.grad(total)), fg.grad(fg.jit(total))):
        np.testing.assert_allclose(slope(x) @ v, want, rtol=1e-6, atol=1e-9)
    stack = np.stack([x, 2 * x])
    np.testing.assert_allclose(fg.vmap(fg.jit(total))(stack), [total(x), total(2 * x)], rtol=1e-12)


def test_paths_of_a_mapped_function_have_the_composition_of_each():
    # Real and complex eigenvalues: two compositions of one function of NumPy's in one program.
    turned = np.array([[3.0, 1.0, 0.2], [-1.0, 3.0, 0.1], [0.3, 0.2, 5.0]])
    stack = np.stack([turned, turned + 0.1, np.diag([1.0, 2.0, 4.0]) + 0.1])
    wanted = np.stack([np.poly(a) for a in stack])
    for mapped in (fg.jit(fg.vmap(np.poly)), fg.vmap(fg.jit(np.poly))):
        np.testing.assert_allclose(mapped(stack), wanted, rtol=1e-12)

    def total(a):
        return np.cos(np.poly(a)).sum()

    slopes = np.stack([fg.grad(total)(a) for a in stack])
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(total)))(stack), slopes, rtol=1e-10)
