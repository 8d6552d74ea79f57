"""Functions of SciPy: their values are SciPy's, their derivatives those of central differences."""

import functools
import inspect
import itertools
import pickle
import types

import mpmath as mp
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg
import scipy.special

import funcgrad as fg
import funcgrad.scipy.integrate
import funcgrad.scipy.linalg as linalg
import funcgrad.scipy.optimize as optimize
import funcgrad.scipy.sparse.linalg
import funcgrad.scipy.special as special
from funcgrad.scipy.composition import composed
from tests.default_slice import one_in

ONE = [
    "dawsn",
    "ellipe",
    "ellipk",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "exp1",
    "expi",
    "gamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "log_ndtr",
    "loggamma",
    "ndtr",
    "ndtri",
    "rgamma",
    "spence",
    "y0",
    "y1",
    "entr",
    "expit",
    "log_expit",
    "logit",
    "exp10",
    "exprel",
    "cosm1",
    "factorial",
]
MORE = {
    "beta": (0.7, 0.6),
    "betainc": (0.7, 0.6, 0.3),
    "betaln": (0.7, 0.6),
    "binom": (4.7, 2.2),
    "boxcox": (0.7, 0.3),
    "comb": (4.7, 2.2),
    "ellipeinc": (0.7, 0.3),
    "ellipkinc": (0.7, 0.3),
    "eval_chebyt": (3, 0.3),
    "eval_chebyu": (3, 0.3),
    "eval_gegenbauer": (3, 0.7, 0.3),
    "eval_genlaguerre": (3, 0.7, 0.3),
    "eval_hermite": (3, 0.3),
    "eval_hermitenorm": (3, 0.3),
    "eval_jacobi": (3, 0.7, 0.6, 0.3),
    "eval_laguerre": (3, 0.3),
    "eval_legendre": (3, 0.3),
    "expn": (2, 0.3),
    "gammainc": (0.7, 0.3),
    "gammaincc": (0.7, 0.3),
    "huber": (0.7, 0.3),
    "hyp0f1": (0.7, 0.3),
    "hyp1f1": (0.7, 0.6, 0.3),
    "hyp2f1": (0.7, 0.6, 0.4, 0.3),
    "inv_boxcox": (0.7, 0.3),
    "iv": (0.7, 0.3),
    "ive": (0.7, 0.3),
    "jv": (0.7, 0.3),
    "kl_div": (0.7, 0.3),
    "kv": (0.7, 0.3),
    "kve": (0.7, 0.3),
    "poch": (0.7, 0.3),
    "pseudo_huber": (0.7, 0.3),
    "rel_entr": (0.7, 0.3),
    "xlog1py": (0.7, 0.3),
    "xlogy": (0.7, 0.3),
    "yv": (0.7, 0.3),
    "zeta": (1.7, 0.3),
}


def difference(f, args, place, h=1e-5):
    ends = [[x + s * h if i == place else x for i, x in enumerate(args)] for s in (1, -1)]
    return (f(*ends[0]) - f(*ends[1])) / (2 * h)


@pytest.mark.parametrize(
    ("name", "args"), [*((name, (0.37,)) for name in ONE), *MORE.items()], ids=lambda v: str(v)
)
def test_special_functions_have_scipys_values_and_their_derivatives(name, args):
    own, found = getattr(scipy.special, name), getattr(special, name)
    assert found(*args) == own(*args)
    last = len(args) - 1
    value, slope = fg.value_and_grad(found, argnums=last)(*args)
    assert value == pytest.approx(own(*args), rel=1e-14)
    assert slope == pytest.approx(difference(own, args, last), rel=1e-7)
    on_arrays = fg.grad(lambda x: np.sum(found(*args[:-1], x)))(np.array([args[-1]] * 3))
    np.testing.assert_allclose(on_arrays, [slope] * 3, rtol=1e-13)
    assert fg.jit(fg.grad(found, argnums=last))(*args) == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize(
    "name", ["beta", "betaln", "binom", "poch", "kl_div", "xlogy", "boxcox", "huber"]
)
def test_the_first_argument_of_special_functions_is_differentiated_too(name):
    slope = fg.grad(getattr(special, name))(*MORE[name])
    assert slope == pytest.approx(difference(getattr(scipy.special, name), MORE[name], 0), rel=1e-7)


EXACT = {
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    "ellipe": mp.ellipe,
    "ellipk": mp.ellipk,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "log_ndtr": lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
    "exprel": lambda x: mp.expm1(x) / x,
    "rgamma": mp.rgamma,
}
"""Functions whose derivatives cancel in the formulas of handbooks."""


@pytest.mark.parametrize(
    ("name", "x"),
    one_in(
        3,
        itertools.product(
            EXACT,
            [
                -1e8,
                -300.0,
                -21.0,
                -19.0,
                -5.0,
                -1e-3,
                -1e-8,
                1e-16,
                1e-8,
                1e-3,
                0.09,
                0.11,
                19.0,
                21.0,
                1e4,
                1e8,
            ],
        ),
    ),
)
def test_derivatives_keep_their_digits(name, x):
    f = getattr(special, name)
    if not np.isfinite(f(x)):
        return
    with mp.workdps(80):
        point, step = mp.mpf(x), mp.mpf(10) ** -25 * max(1, abs(x))
        wanted = mp.diff(EXACT[name], point, h=step)
        curvature = mp.diff(EXACT[name], point, 2, h=step)
    assert fg.grad(f)(x) == pytest.approx(float(wanted), rel=1e-11)
    bound = 1e-7 if name in ("ellipe", "ellipk", "exprel") else 1e-4
    if abs(x) < 15 and name != "rgamma":
        assert fg.grad(fg.grad(f))(x) == pytest.approx(float(curvature), rel=bound)


@pytest.mark.parametrize(
    "z", [30 + 1j, 1e8 + 2j, -40 + 0.5j, 25 - 0.5j, 3 - 2j, 0.1 + 0.2j, 5 - 21j]
)
def test_the_derivative_of_wofz_keeps_its_digits(z):
    with mp.workdps(80):
        point = mp.mpc(z)
        value = mp.exp(-point * point) * mp.erfc(-1j * point)
        wanted = 2j / mp.sqrt(mp.pi) - 2 * point * value
    found = fg.jvp(special.wofz, (z,), (1.0 + 0j,))[1]
    assert abs(found - complex(wanted)) <= 1e-11 * abs(complex(wanted))


@pytest.mark.parametrize("name", ["ellipeinc", "ellipkinc"])
@pytest.mark.parametrize("m", [0.0, 1e-16, 1e-9, -1e-7, 1e-5])
def test_incomplete_integrals_near_no_modulus(name, m):
    exact = {"ellipeinc": mp.ellipe, "ellipkinc": mp.ellipf}[name]
    with mp.workdps(60):
        wanted = float(mp.diff(lambda m: exact(mp.mpf(1), m), mp.mpf(m), h=mp.mpf(10) ** -20))
    assert fg.grad(getattr(special, name), argnums=1)(1.0, m) == pytest.approx(wanted, rel=1e-9)


def test_a_derivative_without_a_method_is_refused():
    with pytest.raises(
        TypeError, match="wright_bessel: expected to be differentiated in other arguments than a"
    ):
        fg.grad(special.wright_bessel)(0.4, 1.6, 0.9)


@pytest.mark.parametrize("name", ["jv", "hyp1f1", "zeta"])
def test_orders_and_parameters_are_differentiated_by_mpmath(name):
    slope = fg.grad(getattr(special, name))(*MORE[name])
    assert slope == pytest.approx(difference(getattr(scipy.special, name), MORE[name], 0), rel=1e-7)
    assert fg.jit(fg.grad(getattr(scipy.special, name)))(*MORE[name]) == slope


@pytest.mark.parametrize("orders", [range(3), [0, 1, 2], (1, 3)])
@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "jvp", "kvp"])
def test_orders_of_bessel_functions_may_be_lists(name, orders):
    def f(x):
        return getattr(scipy.special, name)(orders, x).sum()

    assert fg.grad(f)(0.37) == pytest.approx((f(0.37 + 1e-6) - f(0.37 - 1e-6)) / 2e-6, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("spherical_jn", (2, 0.37)),
        ("spherical_kn", (2, 0.37)),
        ("spherical_yn", (0, 0.37, True)),
        ("spherical_in", (1, 0.37, True)),
        ("jvp", (1.3, 0.37, 2)),
        ("kvp", (1.3, 0.37, 1)),
        ("zeta", (2.0, 0.37)),
        ("polygamma", (2, 0.37)),
    ],
)
def test_functions_that_scipy_writes_in_python(name, args):
    found, theirs = getattr(special, name), getattr(scipy.special, name)

    def at(x, f=found):
        return f(args[0], x, *args[2:])

    value, slope = fg.jit(fg.value_and_grad(at))(args[1])
    assert value == pytest.approx(theirs(*args), rel=1e-13)
    own = difference(lambda x: at(x, theirs), (args[1],), 0)
    assert slope == pytest.approx(own, rel=1e-7)


@pytest.mark.parametrize("orders", [[0, 1, 2], [[0.0], [3.0]], np.array([[0, 1, 2], [1, 1, 0]])])
def test_polygamma_functions_of_several_orders(orders):
    x = np.array([0.5, 1.5, 2.5])
    f = lambda x: scipy.special.polygamma(orders, x)  # noqa: E731
    value, slope = fg.jvp(f, (x,), (np.ones(3),))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))
    np.testing.assert_allclose(slope, scipy.special.polygamma(np.add(orders, 1), x), rtol=1e-14)
    fg.check_grads(f, (x,), order=1)
    with pytest.raises(TypeError, match="polygamma: expected an order of 0 or more"):
        fg.grad(lambda x: np.sum(scipy.special.polygamma([-1, 2], x)))(x[:2])


@pytest.mark.parametrize(
    ("name", "parts"), [("airy", 4), ("fresnel", 2), ("shichi", 2), ("sici", 2)]
)
def test_functions_with_several_results(name, parts):
    for k in range(parts):
        slope = fg.grad(lambda x, k=k: getattr(special, name)(x)[k])(0.37)
        own = difference(lambda x, k=k: getattr(scipy.special, name)(x)[k], (0.37,), 0)
        assert slope == pytest.approx(own, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "args", "place", "slope"),
    [
        ("xlogy", (0.0, 0.0), 1, 0.0),
        ("xlogy", (2.0, 0.5), 1, 4.0),
        ("xlogy", (0.0, 1.0), 0, 0.0),
        ("xlogy", (0.0, 2.0), 0, np.log(2.0)),
        ("xlog1py", (0.0, 1.0), 0, np.log(2.0)),
        ("xlog1py", (0.0, -1.0), 0, 0.0),
        ("entr", (1.0,), 0, -1.0),
        ("exprel", (0.0,), 0, 0.5),
        ("sici", (0.0,), 0, 1.0),
        ("ellipk", (0.0,), 0, np.pi / 8),
        ("erf", (np.inf,), 0, 0.0),
        ("j1", (0.0,), 0, 0.5),
        ("lambertw", (0.0,), 0, 1.0),
        ("spence", (1.0,), 0, -1.0),
    ],
)
def test_derivatives_at_singular_points(name, args, place, slope):
    function = getattr(special, name)

    def real(*given):
        value = function(*given)
        return np.real(value[0] if isinstance(value, tuple) else value)

    assert fg.grad(real, argnums=place)(*args) == slope


def test_complex_functions():
    z = 0.3 + 0.4j
    for name in ("wofz", "erf", "loggamma", "lambertw", "gamma"):
        own, found = getattr(scipy.special, name), getattr(special, name)
        slope = fg.grad(lambda t, found=found: np.imag(found(z * t)))(1.0)
        assert slope == pytest.approx(
            difference(lambda t, own=own: np.imag(own(z * t)), (1.0,), 0), rel=1e-7
        )


def test_the_sign_of_a_logsumexp_leaves_single_precision():
    a = np.array([1.0, 2.0, 0.5], np.float32)
    found = fg.jit(lambda a: special.logsumexp(a, return_sign=True))(a)
    assert [part.dtype for part in found] == [np.float32] * 2


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_logsumexp_takes_weights_and_signs(axis):
    a = np.array([[0.1, 0.2, -0.4], [1.0, -np.inf, 0.3]])
    b = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])
    own, sign = scipy.special.logsumexp(a, axis, b, return_sign=True)
    value, found = fg.jit(lambda a: special.logsumexp(a, axis, b, return_sign=True))(a)
    np.testing.assert_allclose(value, own, rtol=1e-13)
    np.testing.assert_array_equal(found, sign)


SQUARE = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.1]])
VECTOR = np.array([0.4, -0.3, 0.8])
LINEAR = {
    "solve": lambda m, a: m.solve(a, VECTOR, assume_a="gen"),
    "solve transposed": lambda m, a: m.solve(a, VECTOR, transposed=True),
    "inv": lambda m, a: m.inv(a),
    "det": lambda m, a: m.det(a),
    "norm": lambda m, a: m.norm(a),
    "pinv": lambda m, a: m.pinv(a),
    "cholesky": lambda m, a: m.cholesky(a @ a.T),
    "cholesky lower": lambda m, a: m.cholesky(a @ a.T, lower=True),
    "cho_solve": lambda m, a: m.cho_solve(m.cho_factor(a @ a.T), VECTOR),
    "cho_solve lower": lambda m, a: m.cho_solve(m.cho_factor(a @ a.T, lower=True), VECTOR),
    "solve_triangular": lambda m, a: m.solve_triangular(a, VECTOR),
    "solve_triangular lower": lambda m, a: m.solve_triangular(a, VECTOR, lower=True, trans="T"),
    "solve_triangular unit": lambda m, a: m.solve_triangular(a, VECTOR, unit_diagonal=True),
    "eigh": lambda m, a: m.eigh(a @ a.T)[0],
    "eigvalsh": lambda m, a: m.eigvalsh(a @ a.T),
    "svd": lambda m, a: m.svd(a)[1],
    "svdvals": lambda m, a: m.svdvals(a),
    "qr": lambda m, a: m.qr(a, mode="economic")[1] ** 2,
    "lstsq": lambda m, a: m.lstsq(a, VECTOR)[0],
    "expm": lambda m, a: m.expm(a),
    "expm of a large matrix": lambda m, a: m.expm(10 * a) * 1e-10,
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_algebra_is_scipys(name):
    f, direction = LINEAR[name], np.cos(np.arange(9.0)).reshape(3, 3)

    def along(module, t):
        return np.sum(np.sin(f(module, SQUARE + t * direction)))

    value, slope = fg.value_and_grad(lambda t: along(linalg, t))(0.0)
    assert value == pytest.approx(along(scipy.linalg, 0.0), rel=1e-11)
    assert slope == pytest.approx(difference(lambda t: along(scipy.linalg, t), (0.0,), 0), rel=1e-6)


POINTS = np.array([-0.5, 0.2, 0.9, 1.4])


def _selected(x):
    return scipy.special.ndtr(POINTS * x, out=np.zeros(4), where=POINTS > 0)


def _written(x):
    table = x * np.ones(4)
    scipy.special.gammaln(np.abs(POINTS * x), out=table, where=POINTS * x > 0.3)
    return table


def _by_place(x):
    table = np.empty(4)
    scipy.special.psi(POINTS * x + 2.0, table)
    return table


def _number(x):
    return scipy.special.erf(x, out=None, where=True)


@pytest.mark.parametrize("f", [_selected, _written, _by_place, _number])
def test_special_functions_take_out_and_where(f):
    def along(x):
        return np.sum(f(x) ** 2)

    def slope(x):
        return fg.grad(along)(x)

    expected = difference(along, (0.7,), 0)
    assert slope(0.7) == pytest.approx(expected, rel=1e-6)
    assert fg.jit(slope)(0.7) == pytest.approx(slope(0.7), rel=1e-12)
    assert fg.jvp(along, (0.7,), (1.0,))[1] == pytest.approx(slope(0.7), rel=1e-12)
    assert fg.hessian(along)(0.7) == pytest.approx(difference(slope, (0.7,), 0), rel=1e-6)
    assert fg.vmap(slope)(np.array([0.7, 0.9])) == pytest.approx([slope(0.7), slope(0.9)])


def test_out_of_a_special_function_from_outside_is_refused():
    table = np.zeros(2)
    with pytest.raises(TypeError, match="from outside of it, which other code reads as numbers"):
        fg.grad(fg.adopt(lambda x: special.erf(x * np.ones(2), out=table).sum()))(0.5)
    assert table.tolist() == [0.0, 0.0]


def test_other_names_are_scipys():
    assert special.SpecialFunctionError is scipy.special.SpecialFunctionError
    assert fg.scipy.special is special


def test_functions_without_a_composition_take_traced_values():
    from funcgrad.scipy import signal, stats

    x, w = np.array([1.0, 2.0, 4.0]), np.array([0.3, -1.0, 0.5])
    rows = {
        linalg.fiedler: scipy.linalg.fiedler,
        linalg.companion: scipy.linalg.companion,
        signal.savgol_coeffs: None,
        stats.zscore: scipy.stats.zscore,
        stats.gzscore: scipy.stats.gzscore,
    }
    for function, own in rows.items():
        assert pickle.loads(pickle.dumps(function)) is function
        if own is None:
            continue
        assert function is not own
        assert type(function(x)) is np.ndarray
        np.testing.assert_array_equal(function(x), own(x))
        loss = lambda x, f=function: np.sum(f(x) @ w[-f(x).shape[-1] :])  # noqa: E731
        np.testing.assert_array_equal(fg.jit(loss)(x), loss(x))
        fg.check_grads(loss, (x,), order=2)
    np.testing.assert_array_equal(fg.vmap(linalg.fiedler)(x[None])[0], linalg.fiedler(x))
    np.testing.assert_array_equal(fg.adopt(lambda x: linalg.fiedler(x))(x), linalg.fiedler(x))


@pytest.mark.parametrize("n", [2, 5])
def test_the_periodic_sinc_has_its_second_derivative_at_the_peaks(n):
    peaks = 2 * np.pi * np.arange(-2, 3)
    np.testing.assert_array_equal(fg.jit(special.diric)(peaks, n), scipy.special.diric(peaks, n))
    points = np.append(peaks, [0.3, 1.0, -7.0])
    found = fg.jit(special.diric)(points, float(n))
    np.testing.assert_allclose(found, scipy.special.diric(points, n), rtol=1e-14)
    fg.check_grads(lambda x: special.diric(x, n), (points,))
    sign = 1 if n % 2 else -1
    bend = fg.grad(fg.grad(lambda x: special.diric(x, n)))(2 * np.pi)
    assert bend == pytest.approx(-sign * (n * n - 1) / 12, rel=1e-12)


@pytest.mark.parametrize("x", [-1.1, -0.5, 3.0, -0.5 + 0j, 2 + 1j])
def test_the_factorial_of_complex_numbers(x):
    wanted = scipy.special.factorial(x, extend="complex")
    found = fg.jit(lambda x: special.factorial(x, extend="complex"))(x)
    assert found == pytest.approx(wanted, rel=1e-14)


MULTIFACTORIALS = {
    "factorial2": lambda n: scipy.special.factorial2(n, extend="complex"),
    "of whole steps": lambda n: scipy.special.factorialk(n, 3, extend="complex"),
    "in the step": lambda k: scipy.special.factorialk(2.2, k + 4.5, extend="complex"),
    "of negative steps": lambda k: scipy.special.factorialk(2.2, k - 5.5, extend="complex"),
}


@pytest.mark.parametrize("name", MULTIFACTORIALS)
def test_factorials_of_larger_steps(name):
    f = MULTIFACTORIALS[name]
    for x in (3.5, 1.0, 0.0, -0.5, -1.1):
        value, slope = fg.jvp(f, (x,), (1.0,))
        assert value == pytest.approx(f(x), rel=1e-14)
        assert fg.jit(f)(x) == pytest.approx(f(x), rel=1e-14)
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-7)
        assert fg.grad(lambda x: np.real(f(x)))(x) == pytest.approx(np.real(slope), rel=1e-12)
    many = np.array([2.5, 1.0, -0.5])
    if name in ("factorial2", "of whole steps"):
        fg.check_grads(lambda n: np.real(f(n)) ** 2, (many,), order=1)


def test_factorials_of_larger_steps_in_whole_numbers():
    for f in (scipy.special.factorial2, lambda n: scipy.special.factorialk(n, 3)):
        for n in (5, 1, np.array([0, 3, 7])):
            np.testing.assert_array_equal(fg.jit(f)(n), f(n))
    with pytest.raises(ValueError, match="extend='complex'"):
        fg.grad(scipy.special.factorial2)(2.5)
    factorial = functools.partial(scipy.special.factorial, extend="complex")
    assert np.isnan(factorial(-1.0))
    assert np.isnan(fg.jvp(factorial, (-1.0,), (1.0,))[0])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.0, 1.0, 0.3], [0.0, 1.0, 2.0]),
        ([3.0, 3.0, 0.3], [2.0, -1.0, 0.5]),
        ([1e3, 2.0, 3.0], [1e-300, 1.0, 1.0]),
        ([700.0, 0.0, 1.0], [1e-310, 1.0, 1.0]),
        ([-1e5, -1e5 - 1.0, -1e5], [1.0, 2.0, 0.0]),
    ],
)
def test_weighted_logsumexp_has_slopes_in_all_weights(a, b):
    a, b = np.array(a), np.array(b)
    f = lambda a, b: scipy.special.logsumexp(a, b=b)  # noqa: E731
    value, (in_a, in_b) = fg.value_and_grad(f, (0, 1))(a, b)
    top = np.max(np.where(b != 0, a, -np.inf)) - 300.0
    scaled = np.exp((a - top).astype(np.longdouble))
    total = np.sum(b * scaled)
    assert value == pytest.approx(f(a, b), rel=1e-14)
    np.testing.assert_allclose(in_a, (b * scaled / total).astype(float), rtol=1e-12)
    np.testing.assert_allclose(in_b, (scaled / total).astype(float), rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(f, 1))(a, b), in_b, rtol=1e-12)
    mixed = fg.jacfwd(fg.grad(f, 0), 0)(a, b)
    p = (b * scaled / total).astype(float)
    np.testing.assert_allclose(mixed, np.diag(p) - np.outer(p, p), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [None, np.array([1, 2j, -1]), np.array([1.0, 2.0, -3.0])])
@pytest.mark.parametrize("point", [0.7 + 0.4j, -2.4 + 0.7j, 12 + 5j])
def test_logsumexp_of_complex_numbers(point, weights):
    powers = np.array([1.0, 2.0, 3.0])

    def f(z):
        return scipy.special.logsumexp(powers * z, b=weights)

    def signed(z):
        size, sign = scipy.special.logsumexp(powers * z, b=weights, return_sign=True)
        return size + sign

    for function in (f, signed):
        wanted = function(np.complex128(point))
        value, slope = fg.jvp(function, (point,), (1 + 0j,))
        assert value == pytest.approx(wanted, rel=1e-13)
        assert fg.jit(function)(point) == pytest.approx(wanted, rel=1e-13)
        step = 1e-6
        ends = [function(np.complex128(point + t)) for t in (step, -step)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7, abs=1e-7)


def test_logsumexp_without_any_weight_is_flat():
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    value, slope = fg.value_and_grad(
        lambda a: np.sum(np.exp(scipy.special.logsumexp(a, axis=1, b=b)))
    )(a)
    assert value == pytest.approx(np.e)
    np.testing.assert_allclose(slope, [[np.e, 0.0], [0.0, 0.0]])


def test_logsumexp_of_chosen_entries():
    x, chosen = np.array([1.0, np.nan, 3.0]), np.array([True, False, True])
    wanted = scipy.special.logsumexp(x[chosen])
    assert special.logsumexp(x, where=chosen) == pytest.approx(wanted, rel=1e-15)
    value, slope = fg.value_and_grad(lambda x: special.logsumexp(x, where=chosen))(x)
    assert value == pytest.approx(wanted, rel=1e-15)
    np.testing.assert_allclose(slope[chosen], scipy.special.softmax(x[chosen]), rtol=1e-14)
    assert slope[1] == 0.0
    weighted = special.logsumexp(x, b=[2.0, 1.0, 1.0], where=chosen, keepdims=True)
    np.testing.assert_allclose(weighted, [np.log(2 * np.e + np.e**3)], rtol=1e-14)


def test_bessel_functions_of_several_orders():
    z = np.array([0.3, 2.0])
    wanted = scipy.special.jv([[0], [1], [2]], z)
    np.testing.assert_array_equal(special.bessel_jn(z, v=2), wanted)
    slopes = fg.vmap(fg.jacobian(lambda t: special.bessel_jn(t, v=2)))(z)
    np.testing.assert_allclose(slopes.T, scipy.special.jvp([[0], [1], [2]], z), rtol=1e-13)


@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((0, 3), 0), ((2, 0), 1)])
def test_weighted_logsumexp_of_nothing(shape, axis):
    x = np.zeros(shape)
    wanted = scipy.special.logsumexp(x, axis=axis, b=x + 1)
    found = fg.jit(lambda x: special.logsumexp(x, axis=axis, b=x + 1))(x)
    np.testing.assert_array_equal(found, wanted)


# SciPy 1.18 has no such argument.
DISPLAYED = [True] if "disp" in inspect.signature(scipy.linalg.logm).parameters else []


def _solved(m, a, **by_name):
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]]) * a
    factor = m.linalg.cho_factor(matrix, True)
    return m.linalg.cho_solve(factor, np.array([1.0, 2.0]), *by_name.values())


PLACES = {
    "cho_solve": _solved,
    "cho_solve, all": lambda m, a: _solved(m, a, overwrite_b=False, check_finite=False),
    "quad": lambda m, a: m.integrate.quad(lambda x: a * x * x, 0.0, a, (), 0, 1e-12, 1e-12, 99)[0],
    "odeint": lambda m, a: m.integrate.odeint(
        *(lambda y, t, b: -b * y, [1.0], [0.0, 1.0], (a,), None, 0, 0, None, None, 1e-12, 1e-12)
    )[-1],
    "least_squares": lambda m, a: (
        m.optimize.least_squares(
            *(lambda x: x**2 - a, [1.0], "2-point", (0.0, 9.0), "trf", 1e-14, 1e-14, 1e-14)
        ).x
    ),
    "logm": lambda m, a: m.linalg.logm(np.array([[3.0, 1.0], [1.0, 2.0]]) * a, *DISPLAYED),
    "sqrtm": lambda m, a: m.linalg.sqrtm(np.array([[3.0, 1.0], [1.0, 2.0]]) * a, *DISPLAYED),
    "svds": lambda m, a: m.sparse.linalg.svds(
        np.diag(np.arange(1.0, 6.0)) * a, 2, None, 0, "LM", None, None, False, "arpack"
    ),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of SciPy's disp
@pytest.mark.parametrize("name", PLACES)
def test_arguments_are_taken_by_place(name):
    def total(a, m=funcgrad.scipy):
        return np.sum(np.sin(PLACES[name](m, a)))

    a, h = 1.3, 1e-5
    value, slope = fg.value_and_grad(total)(a)
    ahead, behind = total(a + h, scipy), total(a - h, scipy)
    assert value == pytest.approx(total(a, scipy), rel=1e-9)
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
    assert fg.jvp(total, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-12)


def test_arguments_of_a_newer_scipy_are_not_left_out():
    def det(a, scaled=False, check_finite=True):
        return np.linalg.det(a)

    newer = types.ModuleType("newer")
    newer.det = det

    def traced(a, **_):
        return np.linalg.det(a)

    traced.__name__ = "det"
    ours = composed(newer)(traced)
    slope = fg.grad(lambda t: ours(t * np.eye(2), check_finite=False))(3.0)
    assert slope == pytest.approx(6.0)
    with pytest.raises(TypeError, match="det: scaled=True is not supported with traced values"):
        fg.grad(lambda t: ours(t * np.eye(2), scaled=True))(3.0)


def test_an_argument_given_twice_is_refused():
    with pytest.raises(TypeError, match="multiple values"):
        fg.grad(lambda a: optimize.brentq(lambda x: x - a, 0.0, 3.0, (), 1e-12, xtol=1e-12))(1.0)
    with pytest.raises(TypeError, match="positional arguments"):
        fg.grad(lambda a: optimize.brentq(lambda x: x - a, 0, 3, (), 1, 1, 9, False, True, 5))(1.0)
    with pytest.raises(TypeError, match=r"logm: disp=False is not supported|argument 'disp'"):
        fg.grad(lambda a: linalg.logm(a * np.eye(2), disp=False)[0][0, 0])(2.0)
