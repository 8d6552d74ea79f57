"""SciPy's functions in adopted code: of lists, and with results that can be written."""

import importlib
import operator
import runpy
import sys
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial import SphericalVoronoi

import funcgrad as fg
from funcgrad.adoption.namespaces import REPLACED
from tests.default_slice import one_in

scipy = pytest.importorskip("scipy")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")
linalg = pytest.importorskip("scipy.linalg")
signal = pytest.importorskip("scipy.signal")
optimize = pytest.importorskip("scipy.optimize")
pytest.importorskip("scipy.interpolate")


def written(y):
    y[0] = 0.5
    return (y * y).sum()


CALLS = {
    "a ufunc": lambda x: written(special.erf(x)),
    "of a list": lambda x: written(special.gammaln([x[0], x[1], 2.0])),
    "of a list, which NumPy has too": lambda x: written(special.cbrt([x[0], x[1], 2.0])),
    "by its package": lambda x: written(scipy.special.expit(x)),
    "a number and a plain array": lambda x: written(special.expit(np.array([1.0, 2.0]) * x[0])),
    "a function": lambda x: written(special.softmax(x)),
    "a distribution": lambda x: written(stats.norm.ppf(x)),
    "a frozen one": lambda x: written(stats.norm(x[0], 1.0).cdf([x[1], x[2]])),
    "a frozen one of numbers": lambda x: written(stats.norm(0.0, 1.0).cdf(x)),
    "a matrix": lambda x: written(linalg.expm(np.diag(x))[0]),
    "SciPy's Python code": lambda x: written(stats.zscore(x)),
    "code for array libraries": lambda x: (
        stats.pearsonr(x, [1.0, 0.2, 0.4])[1] + stats.variation(x)
    ),
    "vecdot along an axis": lambda x: stats.f_oneway(x, x[:2] * 2).statistic,
}


@pytest.mark.parametrize("name", one_in(3, CALLS))
def test_scipys_functions_take_lists_and_make_arrays(name):
    f, x, h = CALLS[name], np.array([0.3, 0.5, 0.8]), 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    gradient = fg.grad(fg.adopt(f))
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jit(gradient)(x), gradient(x), rtol=1e-12)


def test_a_method_of_a_distribution_is_adopted():
    for method in (stats.norm.logpdf, stats.gamma(2.0).logpdf):
        gradient = fg.grad(lambda x, method=method: fg.adopt(method)(x))
        h = 1e-6
        assert gradient(0.7) == pytest.approx(
            (method(0.7 + h) - method(0.7 - h)) / (2 * h), rel=1e-7
        )


integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")
TWO = np.ones(2)
WITH_ARGS = {
    "quad": (lambda k: integrate.quad(lambda t, a, b: a * t + b, 0, 1, args=(k, 2.0))[0], 0.5),
    "quad, by position": (lambda k: integrate.quad(lambda t, a, b: a * t, 0, 1, (k, 2.0))[0], 0.5),
    "quad, one": (lambda k: integrate.quad(lambda t, a: a * t, 0, 1, k)[0], 0.5),
    "quad, a list": (lambda k: integrate.quad(lambda t, p: sum(p) * t, 0, 1, ([k, k],))[0], 1.0),
    "odeint, arrays of several shapes": (
        lambda k: integrate.odeint(lambda y, t, a, b: -a * b * y, TWO, [0.0, 1.0], (k, TWO))[-1, 0],
        -np.exp(-0.5),
    ),
    "odeint, weights of layers": (
        lambda k: integrate.odeint(
            lambda y, t, w: -w[0][0] * y, TWO, [0.0, 1.0], args=([(k, np.ones(3))],)
        )[-1, 0],
        -np.exp(-0.5),
    ),
    "solve_ivp": (
        lambda k: integrate.solve_ivp(
            lambda t, y, a, b: -a * b * y, (0.0, 1.0), TWO, args=(k, TWO), rtol=1e-9
        ).y[0, -1],
        -np.exp(-0.5),
    ),
    "brentq": (lambda k: optimize.brentq(lambda x, a, b: a * x - b, 0, 10, args=(k, 2.0)), -8.0),
    "newton": (lambda k: optimize.newton(lambda x, a, b: a * x - b, 1.0, args=(k, 2.0)), -8.0),
    "fsolve": (lambda k: optimize.fsolve(lambda x, a: x * a[0] - a[1], TWO, ((k, TWO),))[0], -4.0),
    "minimize": (
        lambda k: optimize.minimize(
            lambda x, a, b: np.sum((a * x - b) ** 2), TWO, args=(k, 2.0), tol=1e-12
        ).x[0],
        -8.0,
    ),
    "least_squares": (
        lambda k: optimize.least_squares(lambda x, a, b: a * x - b, TWO, args=(k, TWO)).x[0],
        -4.0,
    ),
}


@pytest.mark.parametrize("name", one_in(3, WITH_ARGS))
def test_args_is_a_tuple_of_arguments_and_no_array(name):
    f, expected = WITH_ARGS[name]
    assert fg.grad(f)(0.5) == pytest.approx(expected, rel=1e-6)


def test_a_solution_can_be_changed():
    def scaled(k):
        found = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), TWO, rtol=1e-9)
        states = found.y
        found.y[0] *= k
        found.y += 1.0
        found.t = found.t * 2
        return states[0, -1] + found["y"][0, -1] + found["t"][-1]

    expected = 2 * (1 - 0.5) * np.exp(-0.5)
    assert fg.grad(scaled)(0.5) == pytest.approx(expected, rel=1e-6)
    assert fg.jit(fg.grad(scaled))(0.5) == pytest.approx(expected, rel=1e-6)
    assert fg.jit(scaled)(0.5) == pytest.approx(scaled(0.5), rel=1e-6)


TUPLES = {
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(x @ x.T + np.eye(3)), x[0]),
    "cho_solve by name": lambda x: linalg.cho_solve(
        c_and_lower=linalg.cho_factor(x @ x.T + np.eye(3), lower=True), b=x[0]
    ),
    "lu_solve": lambda x: linalg.lu_solve(linalg.lu_factor(x @ x.T + np.eye(3)), x[0]),
}


@pytest.mark.parametrize("name", TUPLES)
def test_a_tuple_of_unlike_items_is_taken_apart_by_scipys_function(name):
    x = np.arange(9.0).reshape(3, 3) / 7.0 + np.eye(3)

    def solved(x):
        return np.linalg.solve(x @ x.T + np.eye(3), x[0])

    expected = fg.jacobian(solved)(x)
    np.testing.assert_allclose(fg.jacobian(TUPLES[name])(x), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fg.jit(TUPLES[name])(x), solved(x), rtol=1e-12)


def test_a_solver_whose_compiled_code_hides_the_refusal():
    def f(x):
        from scipy.optimize import brentq, fsolve, root

        first = fsolve(lambda t: t**3 + t - x[0], 0.5)[0]
        second = root(lambda t: t**3 + t - x[1], 0.5).x[0]
        return first * brentq(lambda t: np.cos(t) - x[1] * t, 0, 2) + second

    x, h = np.array([0.7, 0.4]), 1e-5
    slopes = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(fg.grad(f)(x), slopes, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slopes, rtol=1e-7)


@pytest.mark.parametrize(
    "f",
    [
        lambda: signal.find_peaks(np.array([0.0, 1.0, 0.0, 2.0, 0.0]))[0],
        lambda: signal.upfirdn([1.0, 2.0], np.arange(4.0), 2),
        lambda: signal.filtfilt(*signal.butter(2, 0.3), np.arange(20.0) ** 2),
        lambda: scipy.linalg.issymmetric(np.eye(2)),
        lambda: scipy.interpolate.interpn((np.arange(3.0),), np.arange(3.0), [1.5]),
    ],
)
def test_a_function_of_plain_values_is_scipys_own(f):
    np.testing.assert_array_equal(fg.adopt(f)(), f())


def test_numbers_have_their_precision_in_numpys_own_code():
    """`lfilter_zi` asks a function of NumPy's for the common type, which tells types apart by identity."""
    b, a = np.array([1.0, 0.5, 0.2]), np.array([1.0, -0.3, 0.1])
    found = fg.jit(lambda b: signal.lfilter_zi(b, a))(b)
    assert found.dtype == float
    np.testing.assert_allclose(found, signal.lfilter_zi(b, a), rtol=1e-14)


@pytest.mark.parametrize(
    "design",
    one_in(
        3,
        [
            lambda w: signal.butter(3, w),
            lambda w: signal.butter(2, [w / 2, w], "bandpass"),
            lambda w: signal.cheby1(3, 10 * w, 0.2),
            lambda w: signal.cheby2(3, 60 * w, w),
            lambda w: signal.ellip(3, 2 * w, 60.0, 0.2),
            lambda w: signal.bessel(3, w),
            lambda w: signal.iirdesign(w / 2, w, 1.0, 30.0),
        ],
    ),
)
def test_filter_designs_have_derivatives_in_frequencies_and_ripples(design):
    # SciPy looks the design up in a table of functions, and compares it with others.
    def coefficients(w):
        return np.concatenate(design(w))

    h = 1e-6
    expected = (coefficients(0.4 + h) - coefficients(0.4 - h)) / (2 * h)
    value, slope = fg.jvp(coefficients, (0.4,), (1.0,))
    np.testing.assert_allclose(value, coefficients(0.4), rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jacrev(coefficients)(0.4), slope, rtol=1e-9, atol=1e-12)


def test_compiled_functions_of_packages_are_given_plain_arrays():
    # It takes NumPy's arrays alone; adopted code has arrays that can be written.
    arrayfuncs = pytest.importorskip("sklearn.utils.arrayfuncs")

    def f(x):
        stored = np.zeros(2)
        stored[1] = x
        scale = arrayfuncs.min_pos(np.array([3.0, -1.0, 2.0]))
        return scale * stored.sum() ** 2

    assert fg.grad(f)(3.0) == 12.0
    with pytest.raises(
        TypeError, match=r"min_pos: expected plain numbers, since it is compiled code"
    ):
        fg.grad(lambda x: arrayfuncs.min_pos(np.array([x, 1.0])))(3.0)


def test_compiled_functions_store_into_the_lists_that_they_are_given():
    # `calculate_areas` has the vertices of each region sorted, in place, by compiled code.
    points = np.concatenate([np.eye(3), -np.eye(3)])

    def f(x):
        return x * SphericalVoronoi(points).calculate_areas()

    value, slope = fg.jvp(f, (2.0,), (1.0,))
    np.testing.assert_allclose(value, f(2.0), rtol=1e-12)
    np.testing.assert_allclose(slope, f(1.0), rtol=1e-12)


def test_compiled_functions_that_ask_for_a_float_are_named():
    compiled = pytest.importorskip("transformations._transformations")

    def f(x):
        return compiled.rotation_matrix(x, np.array([0.0, 0.0, 1.0]))[0, 1]

    with pytest.raises(
        TypeError, match=r"rotation_matrix: expected plain numbers, since it is compiled code"
    ):
        fg.grad(f)(3.0)


def test_arrays_that_compiled_functions_return_take_stores():
    compiled = pytest.importorskip("transformations._transformations")

    def f(x):
        direction = compiled.unit_vector(np.array([3.0, 4.0]))
        direction *= x
        return direction.sum()

    assert fg.grad(f)(2.0) == pytest.approx(1.4)

    def in_place(x):
        out = np.zeros(2)
        compiled.unit_vector(np.array([3.0, 4.0]), out=out)
        out *= x
        return out.sum()

    assert fg.grad(in_place)(2.0) == pytest.approx(1.4)


def test_an_old_scipy_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.delattr(scipy.stats._distn_infrastructure, "xpx")
    with pytest.raises(
        ImportError, match=r"expected SciPy 1\.17 or newer, .* pip install -U scipy"
    ):
        runpy.run_path(str(find_spec("funcgrad.adoption.stand_ins.lazy_choices").origin))


def test_states_of_generators_are_instances_of_their_class():
    def checks():
        state = np.random.mtrand._rand
        kinds = np.random.RandomState | np.random.Generator
        return [
            isinstance(state, np.random.RandomState),
            isinstance(state, kinds),
            isinstance(state, (int, np.random.RandomState)),
            isinstance(np.random.default_rng(0), kinds),
            isinstance(3, kinds),
        ]

    assert fg.adopt(checks)() == checks() == [True, True, True, True, False]

    def turned(t):
        np.random.seed(1)  # noqa: NPY002
        return t * scipy.stats.special_ortho_group.rvs(3)

    np.testing.assert_array_equal(fg.jvp(fg.adopt(turned), (1.0,), (1.0,))[1], turned(1.0))


def test_the_finish_of_brute_is_scipys():
    def found(t):
        corners = (slice(-2, 2, 0.5), slice(-2, 2, 0.5))
        options = {
            "args": (0.3,),
            "full_output": True,
            "finish": scipy.optimize.fmin,
            "disp": False,
        }
        place, value, *_ = scipy.optimize.brute(_bowl, corners, **options)
        return t * place, t * value

    for own, adopted in zip(found(1.0), fg.adopt(found)(1.0), strict=True):
        np.testing.assert_array_equal(adopted, own)


def _bowl(z, a):
    return (z[0] - a) ** 2 + (z[1] + 1) ** 2


def test_what_a_result_does_not_have_with_traced_values():
    def curvature(t):
        return scipy.optimize.minimize(lambda x: (x - t) @ (x - t), [0.0, 0.0]).hess_inv[0, 0]

    with pytest.raises(
        AttributeError, match=r"result: expected an attribute among x, .* 'hess_inv'"
    ):
        fg.grad(curvature)(1.0)
    well = lambda t: scipy.optimize.basinhopping(  # noqa: E731
        lambda x: np.cos(14.5 * x - 0.3) + (x + 0.2 * t) * x, [1.0], niter=3, rng=1
    ).x[0]
    assert fg.value_and_grad(well)(1.0)[0] == pytest.approx(well(1.0), rel=1e-6)


RESULTS = {
    "an item": lambda r: r["x"][0] if r["success"] else 0.0,
    "get": lambda r: r.get("x")[0] + r.get("none", 0.0),
    "items": lambda r: sum(value[0] for key, value in r.items() if key == "x"),
    "a dict": lambda r: dict(r)["x"][0],
    "unpacked": lambda r: dict(**r, more=1.0)["x"][0],
    "its class": lambda r: r.x[0] if isinstance(r, optimize.OptimizeResult) else 0.0,
    "a store": lambda r: written(r.x) * 0.0 + r["x"][0] + (r.x[0] - 0.5) + np.sqrt(r["x"][1]),
}


@pytest.mark.parametrize("read", RESULTS.values(), ids=RESULTS.keys())
def test_results_of_solvers_are_dicts(read):
    def f(x):
        found = optimize.minimize(lambda p: ((p - x**2) ** 2).sum(), np.ones(2), tol=1e-10)
        return found["fun"] + read(found)

    x = np.array([0.7, 1.3])
    slope = [0.0, 1.0] if read is RESULTS["a store"] else [1.4, 0.0]
    assert fg.grad(f)(x) == pytest.approx(slope, abs=1e-7)
    assert fg.jvp(f, (x,), (np.ones(2),))[1] == pytest.approx(sum(slope), abs=1e-7)
    assert fg.jit(fg.grad(f))(x) == pytest.approx(slope, abs=1e-7)


def test_polynomials_of_special_are_scipys_own():
    def f(x):
        return float(x) * special.legendre(3)(x) + special.legendre(4).c[0] * float(x)

    expected = 4 * 2.5 * 0.7**3 - 2 * 1.5 * 0.7 + 4.375
    assert fg.grad(f)(0.7) == pytest.approx(expected, rel=1e-13)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(expected, rel=1e-13)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(expected, rel=1e-13)


def test_modules_of_the_package_hide_no_function_of_scipy():
    for name, stand_in in REPLACED.items():
        if name not in sys.modules:
            continue
        theirs, own = sys.modules[name], vars(importlib.import_module(stand_in))
        for key, value in own.items():
            if isinstance(value, ModuleType) and not key.startswith("_"):
                assert isinstance(getattr(theirs, key, value), ModuleType), f"{name}.{key}"


def _away(v, a):
    return (v - a) ** 2 + v**4


def _by_getattr(a):
    return getattr(scipy.optimize, SEARCH)(lambda v: _away(v, a))


def _by_vars(a):
    return vars(scipy.optimize)[SEARCH](lambda v: _away(v, a))


def _by_attrgetter(a):
    return operator.attrgetter(SEARCH)(scipy.optimize)(lambda v: _away(v, a))


def _of_closure(module):
    def solution(a):
        return getattr(module, SEARCH)(lambda v: _away(v, a))

    return solution


SEARCH = "golden"


@pytest.mark.parametrize(
    "solution", [_by_getattr, _by_vars, _by_attrgetter, _of_closure(scipy.optimize)]
)
def test_functions_of_modules_are_found_by_their_names_in_texts(solution):
    # The search compares values, and nothing in it refuses traced ones: its steps have derivative 0.
    v = solution(1.5)
    slope = 2 / (2 + 12 * v**2)
    assert fg.grad(solution)(1.5) == pytest.approx(slope, rel=1e-6)
    assert fg.jvp(solution, (1.5,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)
    assert fg.jit(fg.grad(solution))(1.5) == pytest.approx(slope, rel=1e-6)
    second = fg.grad(fg.grad(lambda a: _away(solution(a), a)))(1.5)
    assert second == pytest.approx(2 - 4 / (2 + 12 * v**2), rel=1e-6)


def test_rows_of_rotations_are_no_sequence_of_arrays():
    from scipy import sparse
    from scipy.spatial import transform

    def rotated(t):
        turns = transform.Rotation.from_euler("xy", [[0.3, 0.1], [0.4, 2.8]])
        assert not sparse.issparse(turns)
        return turns.as_matrix() * t

    assert fg.jvp(rotated, (2.0,), (1.0,))[1].shape == (2, 3, 3)


OF_PLAIN_DATA = {
    "a distribution in a tuple": lambda t: scipy.stats.mvsdist(np.array([1.0, 2.0, 4.0, 3.5]))[
        0
    ].interval(t),
    "a result with a method": lambda t: scipy.stats.ttest_1samp(
        np.array([1.0, 2.0, 4.0, 3.5]), 2.0
    ).confidence_interval(t),
}


@pytest.mark.parametrize("case", OF_PLAIN_DATA)
def test_objects_that_scipy_makes_of_plain_data_take_traced_values(case):
    pytest.importorskip("scipy.stats")
    value, slope = fg.jvp(OF_PLAIN_DATA[case], (0.7,), (1.0,))
    np.testing.assert_array_equal(value, OF_PLAIN_DATA[case](0.7))
    ends = [np.asarray(OF_PLAIN_DATA[case](t)) for t in (0.7 - 1e-5, 0.7 + 1e-5)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / 2e-5, rtol=1e-8)


def test_a_distribution_in_adopted_code_is_one_object(monkeypatch):
    from funcgrad.scipy.stats import norm

    seen = []

    def f(x):
        seen.append((scipy.stats.norm, scipy.stats.norm.logpdf))
        return np.sum(scipy.stats.norm.logpdf(x, 0.0, 1.0))

    x = np.array([0.5, -1.0])
    for _ in range(4):
        np.testing.assert_allclose(fg.grad(f)(x), -x)
    assert all(norm is seen[0][0] and method is seen[0][1] for norm, method in seen)
    monkeypatch.setattr(type(norm), "logpdf", lambda self, x, *args: x**3)
    np.testing.assert_allclose(fg.grad(f)(x), 3 * x**2)


density = stats.norm.logpdf


def test_what_a_name_leads_to_may_change_in_an_adopted_function(monkeypatch):
    def f(x):
        return np.sum(density(x))

    def of_a_function(x, g):
        return np.sum(g(x))

    x = np.array([0.5, -1.0])
    for _ in range(3):
        np.testing.assert_allclose(fg.grad(f)(x), -x)
        np.testing.assert_allclose(fg.grad(of_a_function)(x, stats.norm.logpdf), -x)
        np.testing.assert_allclose(fg.grad(of_a_function)(x, np.sin), np.cos(x))
    monkeypatch.setitem(globals(), "density", stats.laplace.logpdf)
    np.testing.assert_allclose(fg.grad(f)(x), -np.sign(x))
    monkeypatch.setitem(globals(), "density", np.square)
    np.testing.assert_allclose(fg.grad(f)(x), 2 * x)
