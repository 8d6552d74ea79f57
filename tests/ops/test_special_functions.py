"""Special functions: partial derivatives to 1e-10 of mpmath's, in both modes, to second order, under jit
and vmap."""

import itertools

import mpmath as mp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import funcgrad as fg
from funcgrad.expr import operation_table
from funcgrad.ops.base.columns import in_library
from tests.default_slice import one_in, some, with_slow
from tests.ops.special_points import (
    IN_ARGUMENT_ALONE,
    IN_SOME,
    POINTS,
    SECOND_ORDER,
    SLICE,
    WITHOUT_MPMATH,
)

OPS = operation_table.ops
mp.mp.dps = 15


EXPENSIVE = (
    "owens_t",
    "bivariate_normal_cdf",
    "skewnorm_cdf",
    "k0",
    "k1",
    "k0e",
    "k1e",
    "kv",
    "kve",
    "kn",
    "yv",
    "yn",
    "y0",
    "y1",
    "lpmv",
)
"""Operations whose function takes mpmath seconds: 40 digits are computed."""


def exact(name, args, orders):
    """A partial derivative by mpmath, whose steps are relative; with more digits where a value is almost
    constant."""
    function = in_library(OPS[name].columns.mpmath, mp, "f")
    for digits in (40,) if name in EXPENSIVE else (120, 450):
        with mp.workdps(digits):
            points = [x if isinstance(x, int) else mp.mpf(x) for x in args]
            scales = [x if x and n else mp.mpf(1) for x, n in zip(points, orders, strict=True)]

            def moved(*steps, points=points, scales=scales):
                at = [x + s * t for x, s, t in zip(points, scales, steps, strict=True)]
                return mp.re(function(*at))

            slope = mp.diff(moved, (mp.mpf(0),) * len(args), orders)
            value = moved(*[mp.mpf(0)] * len(args))
            if abs(slope) > mp.mpf(10) ** -90 * abs(value):
                break
    for scale, order in zip(scales, orders, strict=True):
        slope = slope / scale**order
    return slope


def unit(count, place):
    return tuple([int(k == place) for k in range(count)])


def cases(names):
    return [
        pytest.param(name, args, id=f"{name}-{'-'.join(map(str, args))}")
        for name in names
        for args in POINTS[name]
    ]


SLOW = [("gammainc", (1e-300, 30.0))]
"""Which takes mpmath ten seconds."""
ALL = with_slow(
    [(case, case.values[0] in SLICE and case.values not in SLOW) for case in cases(POINTS)]
)


def check_partials(name, args):
    op = OPS[name]
    with np.errstate(all="ignore"):
        value = op(*[np.asarray(x)[()] for x in args])
    if not np.isfinite(value):
        return
    for place in range(len(args)):
        if (
            op.edge(place) is None
            or isinstance(args[place], int)
            or (name == "beta_deviation" and place == 3)
        ):
            continue
        wanted = float(exact(name, args, unit(len(args), place)))
        found = float(fg.grad(op, place)(*args))
        if 1e-290 < abs(wanted) < 1e290:
            assert found == pytest.approx(wanted, rel=1e-10), (place, found, wanted)
        else:
            assert abs(found) <= 1e-280 or abs(found) >= 1e280


@pytest.mark.parametrize(("name", "args"), ALL)
def test_partial_derivatives_have_all_digits(name, args):
    check_partials(name, args)


def first_points(names):
    return [(name, POINTS[name][0]) for name in names]


SECOND = with_slow([(case, case[0] in SLICE) for case in first_points(POINTS)])
FAR_SECOND = with_slow(
    [((name, args), name in SLICE) for name, points in SECOND_ORDER.items() for args in points]
)
DEGREE_FIRST = "eval_"
"""Polynomials are not compared in the degree at whole numbers below 0, where mpmath's formula has poles."""


@pytest.mark.parametrize(("name", "args"), FAR_SECOND)
def test_second_derivatives_at_large_and_nearly_equal_arguments(name, args):
    op, count = OPS[name], len(args)
    first = 1 if name.startswith(DEGREE_FIRST) else 0
    places = tuple(range(first, count))
    found = fg.jacfwd(fg.grad(op, places), places)(*args)
    for a, i in enumerate(places):
        for b, j in enumerate(places):
            wanted = second_difference(name, args, i, j)
            if 1e-290 < abs(wanted) < 1e290:
                assert float(found[a][b]) == pytest.approx(float(wanted), rel=1e-9, abs=0), (i, j)


def second_difference(name, args, i, j):
    """By relative steps, with digits for arguments that are very large or nearly equal."""
    function = in_library(OPS[name].columns.mpmath, mp, "f")
    with mp.workdps(160):
        points, h = [mp.mpf(x) for x in args], mp.mpf(10) ** -30
        scales = [abs(x) if x else mp.mpf(1) for x in points]
        total = mp.mpf(0)
        for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            steps = [h * (s * (k == i) + t * (k == j)) for k in range(len(args))]
            at = [x + c * u for x, c, u in zip(points, scales, steps, strict=True)]
            total += s * t * mp.re(function(*at))
        return total / (4 * h * h * scales[i] * scales[j])


@pytest.mark.parametrize(("name", "args"), SECOND)
def test_second_derivatives(name, args):
    op, count = OPS[name], len(args)
    if name == "beta_deviation":
        return
    whole = [k for k, x in enumerate(args) if isinstance(x, int)]
    assert whole == list(range(len(whole)))
    head, smooth = args[: len(whole)], tuple(range(len(whole), count))
    found = fg.jacfwd(fg.grad(op, smooth), smooth)(*args)
    found = [[None] * count] * len(whole) + [[None] * len(whole) + list(row) for row in found]
    back = np.zeros((count, count))
    back[len(whole) :, len(whole) :] = fg.jit(
        fg.hessian(lambda p: op(*head, *[p[k] for k in range(count - len(head))]))
    )(np.array(args[len(whole) :]))
    for i in smooth:
        for j in smooth:
            orders = tuple(np.add(unit(count, i), unit(count, j)).tolist())
            wanted = float(exact(name, args, orders))
            assert float(found[i][j]) == pytest.approx(wanted, rel=1e-9, abs=1e-13)
            assert back[i, j] == pytest.approx(wanted, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", some(SLICE, POINTS))
def test_scipys_own_function_takes_traced_values(name):
    theirs, args = getattr(scipy.special, name, OPS[name]), POINTS[name][0]
    theirs = theirs if isinstance(theirs, np.ufunc) else OPS[name]
    places = tuple([k for k, x in enumerate(args) if not isinstance(x, int)])
    assert fg.jit(theirs)(*args) == theirs(*args)
    slopes = fg.grad(theirs, places)(*args)
    rows = [np.array([x, x, x]) for x in args]
    for found, slope in zip(fg.vmap(fg.grad(theirs, places))(*rows), slopes, strict=True):
        np.testing.assert_allclose(found, np.full(3, slope), rtol=1e-13)
    # float32 in, float32 out; nothing in, nothing out
    narrow = [np.array([x], np.int64 if isinstance(x, int) else np.float32) for x in args]
    found = fg.grad(lambda *xs: np.sum(theirs(*xs)), places)(*narrow)
    for each, slope in zip(found, slopes, strict=True):
        assert each.dtype == np.float32
        assert np.asarray(fg.jit(theirs)(*narrow)).dtype == np.asarray(theirs(*narrow)).dtype
        np.testing.assert_allclose(each, [slope], rtol=2e-4)
    nothing = [np.zeros((0, 2), np.asarray(x).dtype) for x in args]
    empty = fg.grad(lambda *xs: np.sum(theirs(*xs)), places)(*nothing)
    assert [each.shape for each in empty] == [(0, 2)] * len(places)


# Inverses that SciPy's search finds to five digits only: the place of the probability, and of the value.
INVERSES = {"ncfdtridfd": 1, "ncfdtrinc": 2}


def central(op, args, place, h=1e-5):
    up, down = (
        op.run(*[y + s * h if k == place else y for k, y in enumerate(args)]) for s in (1, -1)
    )
    return (up - down) / (2 * h)


def inverse_slope(name, args, place):
    """The slope of an inverse of ncfdtr, from differences of ncfdtr at the value that SciPy finds."""
    own = INVERSES[name]
    there = [OPS[name].run(*args) if k == own else y for k, y in enumerate(args)]
    rise = central(OPS["ncfdtr"], there, own)
    return (1.0 if place == own else -central(OPS["ncfdtr"], there, place)) / rise


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_MPMATH)
def test_derivatives_of_what_mpmath_has_not_are_those_of_differences(name):
    op = OPS[name]
    for args in WITHOUT_MPMATH[name]:
        alone = (len(args) - 1,) if name in IN_ARGUMENT_ALONE else range(len(args))
        for place in IN_SOME.get(name, alone):
            wanted = (
                inverse_slope(name, args, place) if name in INVERSES else central(op, args, place)
            )
            slope = fg.grad(op, place)(*args)
            assert slope == pytest.approx(wanted, rel=1e-6)

            def only(x, place=place, args=args, op=op):
                return op(*args[:place], x, *args[place + 1 :])

            assert fg.jvp(only, (args[place],), (1.0,))[1] == pytest.approx(slope, rel=1e-13)


COMPOSITIONS = {
    "kelvin": (1.6,),
    "jve": (1.3, 0.37),
    "yve": (1.3, 0.37),
    "eval_sh_jacobi": (3.0, 2.5, 1.6, 0.37),
    "pdtr": (2.0, 1.6),
    "pdtrc": (2.0, 1.6),
    "pdtri": (2, 0.4),
    "chdtr": (2.5, 1.6),
    "chdtrc": (2.5, 1.6),
    "chdtri": (2.5, 0.4),
    "chdtriv": (0.4, 1.6),
    "bdtr": (2, 7, 0.4),
    "bdtrc": (2, 7, 0.4),
    "bdtri": (2, 7, 0.4),
    "nbdtr": (2, 7, 0.4),
    "nbdtrc": (2, 7, 0.4),
    "nbdtri": (2, 7, 0.4),
    "nrdtrimn": (0.4, 1.6, 2.5),
    "nrdtrisd": (0.4, 0.3, 2.5),
    "pbvv": (0.4, 1.6),
    "pbwa": (0.4, 1.6),
    "airy": (0.4,),
    "ellipj": (0.4, 0.6),
    "sici": (0.4,),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_ufuncs_that_are_compositions(name):
    theirs, args = getattr(scipy.special, name), COMPOSITIONS[name]
    last = len(args) - 1

    def at(x):
        found = theirs(*args[:last], x)
        return sum(map(np.real, found)) if isinstance(found, tuple) else np.real(found)

    value, slope = fg.jit(fg.value_and_grad(at))(args[last])
    assert value == pytest.approx(at(args[last]), rel=1e-12)
    wanted = (at(args[last] + 1e-5) - at(args[last] - 1e-5)) / 2e-5
    assert slope == pytest.approx(wanted, rel=1e-6)
    assert fg.jvp(at, (args[last],), (1.0,))[1] == pytest.approx(slope, rel=1e-13)


@pytest.mark.parametrize("name", ["modfresnelp", "modfresnelm"])
def test_modified_fresnel_integrals(name):
    for part in (np.real, np.imag):
        for place in (0, 1):

            def at(x, part=part, place=place):
                return part(getattr(scipy.special, name)(x)[place])

            slopes = fg.vmap(fg.grad(at))(np.array([0.3, 2.2, 5.0]))
            for x, slope in zip((0.3, 2.2, 5.0), slopes, strict=True):
                wanted = (at(x + 1e-5) - at(x - 1e-5)) / 2e-5
                assert slope == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda x: scipy.special.mathieu_modcem1(2, x, 0.5)[0], "q"),
        (lambda x: scipy.special.pro_ang1(1, 2, x, 0.5)[0], "c"),
        (lambda x: scipy.special.besselpoly(0.5, x, 1.0), "lmb"),
    ],
)
def test_arguments_without_a_known_derivative_are_named(call, argument):
    assert fg.jit(call)(1.5) == call(1.5)
    with pytest.raises(TypeError, match=f"other arguments than {argument}, in which no reliable"):
        fg.grad(call)(1.5)


def test_airye_of_complex_numbers_is_refused():
    with pytest.raises(TypeError, match="airye: expected real numbers, but got complex ones"):
        scipy.special.airye(fg.var("z", (), complex))


def test_counts_that_solve_no_equation_do_not_move():
    assert fg.grad(scipy.special.pdtrik, (0, 1))(0.01, 1.0) == (0.0, 0.0)
    assert fg.grad(scipy.special.bdtrik, (0, 1, 2))(0.1, 5.3, 0.2) == (0.0, 0.0, 0.0)
    assert fg.grad(scipy.special.nbdtrik, (0, 1, 2))(0.1, 3.3, 0.8) == (0.0, 0.0, 0.0)


def test_ends_of_kolmogorovs_and_tukeys_distributions():
    x = np.array([-1.0, 0.0, 1e-200, 0.01, 40.0, np.inf])
    np.testing.assert_array_equal(fg.vmap(fg.grad(scipy.special.kolmogorov))(x), np.zeros(6))
    np.testing.assert_array_equal(
        fg.vmap(fg.grad(lambda x: scipy.special.tklmbda(x, 2.0)))(x[-2:]), [0, 0]
    )


def test_scaled_bessel_functions_of_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="jve: expected real numbers, but got complex ones"):
        scipy.special.jve(0.5, fg.var("z", (), complex))


@pytest.mark.parametrize("point", [(0.7, 0.4), (-0.8, 0.3), (-3.0, 2.0)])
@pytest.mark.parametrize("order", [0.3, 2.0])
def test_a_scale_by_the_real_part_of_complex_numbers_has_its_slope(order, point):
    def f(p):
        return np.real(scipy.special.ive(order, p[0] + 1j * p[1]) * (0.7 - 0.3j))

    def by_hand(p):
        z = p[0] + 1j * p[1]
        return np.real(scipy.special.iv(order, z) * np.exp(-np.abs(p[0])) * (0.7 - 0.3j))

    p = np.array(point)
    assert f(p) == pytest.approx(by_hand(p), rel=1e-13)
    for transform in (fg.grad, fg.jacfwd, fg.hessian, lambda f: fg.jit(fg.hessian(f))):
        np.testing.assert_allclose(transform(f)(p), transform(by_hand)(p), rtol=1e-12)


@pytest.mark.parametrize("name", ["hankel1", "hankel2e"])
def test_no_derivative_in_the_order_at_a_pole(name):
    assert np.isnan(fg.jvp(lambda v: getattr(scipy.special, name)(v, 0.0), (0.0,), (1.0,))[1])


@pytest.mark.parametrize("part", [np.real, np.imag])
@pytest.mark.parametrize("name", ["hankel1", "hankel2e", "jv", "kv"])
def test_a_real_order_at_a_complex_argument_has_a_real_derivative(name, part):
    v = np.array([0.31, 1.7])
    x = np.array([1.2, 1.8]) + (0 if name.startswith("hankel") else 0.3j)

    def f(v):
        return part(getattr(scipy.special, name)(v, x))

    forward, backward = np.diag(fg.jacfwd(f)(v)), np.diag(fg.jacrev(f)(v))
    assert forward.dtype == backward.dtype == float
    np.testing.assert_allclose(backward, forward, rtol=1e-14)
    np.testing.assert_allclose(backward, (f(v + 1e-6) - f(v - 1e-6)) / 2e-6, rtol=1e-7)
    assert fg.hessian(lambda v: np.sum(f(v)))(v).dtype == float


EDGES = {
    # Calls, a place of differentiation, the first and the second derivative there.
    "rgamma at a pole": (scipy.special.rgamma, (0.0,), 0, 1.0, 2 * np.euler_gamma),
    "rgamma at -3": (scipy.special.rgamma, (-3.0,), 0, -6.0, 12 * scipy.special.psi(4.0)),
    "rgamma beside a pole": (scipy.special.rgamma, (1e-200,), 0, 1.0, 2 * np.euler_gamma),
    "gdtrc at 0 in the shape": (scipy.special.gdtrc, (1.7, 0.85, 0.0), 1, 0.0, 0.0),
    "gdtr at 0 in the rate": (scipy.special.gdtr, (1.7, 0.85, 0.0), 0, 0.0, 0.0),
    "gammainc at infinity": (scipy.special.gammainc, (0.85, np.inf), 0, 0.0, 0.0),
    "gammainc of the shape 0": (
        *(scipy.special.gammainc, (0.0, 1.5), 0),
        *(-0.10001958240663265, -0.26673296657820453),
    ),
    "gammaincc of the shape 0": (
        *(scipy.special.gammaincc, (0.0, 1.5), 0),
        *(0.10001958240663265, 0.26673296657820453),
    ),
    "betaln beside whole numbers": (
        *(scipy.special.betaln, (-10.0, 3.0), 0),
        *(1 / 10 + 1 / 9 + 1 / 8, 1 / 100 + 1 / 81 + 1 / 64),
    ),
    "betaln at the last pole": (
        *(scipy.special.betaln, (3.0, -3.0), 1),
        *(1 / 3 + 1 / 2 + 1, 1 / 9 + 1 / 4 + 1),
    ),
    "beta beside whole numbers": (scipy.special.beta, (2.0, -5.0), 1, 9 / 400, 61 / 4000),
    "betaincc at 0": (scipy.special.betaincc, (0.85, 0.6, 0.0), 0, 0.0, 0.0),
    "betainc at 1": (scipy.special.betainc, (0.85, 0.6, 1.0), 1, 0.0, 0.0),
    "log_ndtr at 40": (scipy.special.log_ndtr, (40.0,), 0, 1.4609e-348, 0.0),
    "log_ndtr at 1e200": (scipy.special.log_ndtr, (1e200,), 0, 0.0, 0.0),
    "beip at 0": (scipy.special.beip, (0.0,), 0, 0.5, 0.0),
    "bei at 0": (scipy.special.bei, (0.0,), 0, 0.0, 0.5),
    "berp at 0": (scipy.special.berp, (0.0,), 0, 0.0, -3 / 8 * 0.0),
    "it2struve0 at 0": (scipy.special.it2struve0, (0.0,), 0, -2 / np.pi, 0.0),
    "stdtr near 0": (scipy.special.stdtr, (3.0, 1e-200), 1, 0.3675525969478614, 0.0),
    "stdtr at infinity": (scipy.special.stdtr, (3.0, np.inf), 0, 0.0, 0.0),
    "a polynomial at its root, in a": (
        scipy.special.eval_gegenbauer,
        (3.0, 0.31, 0.0),
        1,
        0.0,
        0.0,
    ),
    "a polynomial of equal parameters at its root": (
        *(scipy.special.eval_jacobi, (3.0, 0.5, 0.5, 0.0), 1),
        *(-0.3958333333333333, -0.125),
    ),
    "a polynomial of degree 0": (scipy.special.eval_gegenbauer, (0.0, 0.0, 0.3), 1, 0.0, 0.0),
}


@pytest.mark.parametrize("name", one_in(2, EDGES))
def test_derivatives_at_the_edges_of_a_domain(name):
    function, args, place, first, second = EDGES[name]

    def f(x):
        return function(*[x if k == place else arg for k, arg in enumerate(args)])

    x = args[place]
    close = {"rel": 1e-10, "abs": 1e-15}
    assert fg.grad(f)(x) == pytest.approx(first, **close)
    assert fg.jvp(f, (x,), (1.0,))[1] == pytest.approx(first, **close)
    assert fg.grad(fg.grad(f))(x) == pytest.approx(second, **close)
    assert fg.jvp(fg.grad(f), (x,), (1.0,))[1] == pytest.approx(second, **close)


FIRST_AT_ENDS = [
    ("fdtr", (2.0, 3.0, 0.0), 2, 1.0),
    ("fdtr", (1.0, 3.0, 0.0), 2, np.inf),
    ("fdtr", (4.0, 3.0, 0.0), 2, 0.0),
    ("fdtrc", (2.0, 3.0, 0.0), 2, -1.0),
    ("fdtri", (2.0, 3.0, 0.0), 2, 1.0),
    ("stdtr", (np.inf, 2.0), 1, np.exp(-2.0) / np.sqrt(2 * np.pi)),
    ("stdtrit", (np.inf, 0.5), 1, np.sqrt(2 * np.pi)),
    ("rel_entr", (1.0, 0.0), 0, np.inf),
    ("kl_div", (1.0, 0.0), 0, np.inf),
    ("rgamma", (np.inf,), 0, 0.0),
    ("ellipk", (1.0,), 0, np.inf),
    ("ellipkm1", (0.0,), 0, -np.inf),
    ("zetac", (1.0,), 0, np.nan),
]


@pytest.mark.parametrize(("name", "args", "place", "slope"), FIRST_AT_ENDS)
def test_first_derivatives_at_the_ends_of_a_range(name, args, place, slope):
    f = fg.grad(getattr(scipy.special, name), place)
    assert f(*args) == pytest.approx(slope, rel=1e-13, nan_ok=True)
    assert fg.jit(f)(*args) == pytest.approx(slope, rel=1e-13, nan_ok=True)


def test_the_voigt_profile_without_a_gaussian_part_has_the_slopes_of_the_lorentzian():
    def lorentzian(x, gamma):
        return gamma / np.pi / (x * x + gamma * gamma)

    x, gamma = 0.7, 0.4
    f = scipy.special.voigt_profile
    in_x, in_gamma = fg.grad(lorentzian, (0, 1))(x, gamma)
    curvature = fg.grad(fg.grad(lorentzian))(x, gamma)
    for slopes in (fg.grad(f, (0, 1, 2)), fg.jit(fg.grad(f, (0, 1, 2)))):
        np.testing.assert_allclose(slopes(x, 0.0, gamma), (in_x, 0.0, in_gamma), rtol=1e-13)
    batch = fg.vmap(fg.grad(f, 2))(np.array([x, x]), np.array([0.0, 0.3]), np.array([gamma, gamma]))
    np.testing.assert_allclose(batch, [in_gamma, fg.grad(f, 2)(x, 0.3, gamma)], rtol=1e-13)
    hessian = fg.hessian(lambda v: f(v[0], v[1], v[2]))(np.array([x, 0.0, gamma]))
    mixed = fg.grad(fg.grad(lorentzian), 1)(x, gamma)
    wanted = [[curvature, 0.0, mixed], [0.0, curvature, 0.0], [mixed, 0.0, -curvature]]
    np.testing.assert_allclose(hessian, wanted, rtol=1e-12)


def test_the_slope_of_ellipk_is_one_of_carlsons_integrals():
    m = fg.var("m")
    assert str(fg.gradient(scipy.special.ellipk(m), m)) == "elliprd(0, 1, 1 - m)/6"
    third = fg.grad(fg.grad(fg.grad(scipy.special.ellipk)))
    assert third(0.03) == pytest.approx(1.01035745852220, rel=1e-13)


def test_the_t_distribution_at_0_has_a_mixed_derivative():
    slope = fg.grad(lambda t: fg.grad(lambda df: scipy.special.stdtr(df, t))(3.0))(0.0)
    h = 1e-4
    density = lambda df: fg.grad(lambda t: scipy.special.stdtr(df, t))(0.0)  # noqa: E731
    assert slope == pytest.approx((density(3 + h) - density(3 - h)) / (2 * h), rel=1e-6)
    assert fg.grad(density)(3.0) == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("name", ["pdtr", "pdtrc", "pdtri", "bdtr"])
def test_negative_counts_are_refused_as_by_scipy(name):
    own = getattr(scipy.special, name)
    rest = (3, 0.3) if name == "bdtr" else (0.3,)
    for k in (-1, 0, 2):
        found = fg.value_and_grad(lambda p, k=k: own(k, *rest[:-1], p))(0.3)[0]
        np.testing.assert_allclose(found, own(k, *rest), rtol=1e-14)
    for y in (1.0, 1.5):
        found = fg.value_and_grad(lambda y: scipy.special.pdtri(2, y))(y)[0]
        np.testing.assert_array_equal(found, scipy.special.pdtri(2, y))


def test_float_power_at_one_half_takes_no_root():
    x = np.array([-np.inf, -0.0, 0.0, 4.0])
    for f in (lambda x: np.float_power(x, 0.5), lambda x: np.float_power(x, np.array([0.5]))):
        for found in (fg.jit(f)(x), fg.vmap(f)(x.reshape(4, 1)).ravel(), fg.jvp(f, (x,), (x,))[0]):
            np.testing.assert_array_equal(found, f(x))
            np.testing.assert_array_equal(np.signbit(found), np.signbit(f(x)))
        slopes = fg.grad(lambda x, f=f: np.sum(f(x[1:])))(x)
        np.testing.assert_array_equal(slopes, [0.0, np.inf, np.inf, 0.25])


@pytest.mark.filterwarnings("ignore:non-integer arg n", "ignore:floating point number truncated")
@pytest.mark.parametrize("name", ["bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"])
@pytest.mark.parametrize("n", [5.5, 5.0, 5.999, np.nan])
def test_numbers_of_trials_are_truncated(name, n):
    own = getattr(scipy.special, name)
    value, slope = fg.value_and_grad(lambda n: own(2.0, n, 0.4))(n)
    np.testing.assert_allclose(value, own(2.0, n, 0.4), rtol=1e-12)
    assert n == 5.0 or np.isnan(n) or slope == 0.0
    of_p = fg.grad(lambda p: own(2.0, n, p))(0.4)
    np.testing.assert_allclose(of_p, fg.grad(lambda p: own(2.0, np.trunc(n), p))(0.4), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("name", ["kn", "yn"])
@pytest.mark.parametrize("n", [-2.5, -0.5, 0.5, 1.99, 3])
def test_slopes_of_truncated_orders_are_those_of_whole_ones(name, n):
    own = getattr(scipy.special, name)
    of_whole = fg.grad(lambda x: own(int(n), x))
    assert fg.grad(lambda x: own(n, x))(0.7) == of_whole(0.7)
    assert fg.grad(fg.grad(lambda x: own(n, x)))(0.7) == fg.grad(of_whole)(0.7)


@pytest.mark.parametrize("name", ["j1", "i1", "i0e", "i1e", "k0e", "k1e"])
def test_slopes_of_bessel_functions_of_whole_order_against_the_general_order(name):
    """By the orders 0, 1 and 2 alone; those of any order cost ten times as much."""
    x = np.concatenate([np.geomspace(1e-3, 90.0, 40), [1.999, 2.0, 2.001, 59.9, 60.1, 61.1]])
    x = x if name[0] == "k" else np.concatenate([x, -x])
    general = {"j1": "jv", "i1": "iv"}.get(name, f"{name[0]}ve")
    found, want = getattr(scipy.special, name), getattr(scipy.special, general)
    for _ in range(3):
        found = fg.elementwise_grad(found)
    order = float(name[1])
    f = want
    want = lambda x: f(order, x)  # noqa: E731
    for _ in range(3):
        want = fg.elementwise_grad(want)
    np.testing.assert_allclose(found(x), want(x), rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(fg.jit(found)(x), found(x), rtol=1e-12)


@pytest.mark.parametrize("x", [0.3, -0.95, 1.0])
@pytest.mark.parametrize("n", [200, 1000])
def test_slopes_of_polynomials_of_high_degree(n, x):
    """By P'(n) = P'(n - 2) + (2*n - 1)*P(n - 1), and for U by sines."""
    legendre, lower = scipy.special.eval_legendre, np.arange(n - 1, -1, -2)
    expected = np.sum((2 * lower + 1) * legendre(lower, x))
    for degree in (n, float(n), -n - 1):
        slope = fg.grad(lambda x, n=degree: legendre(n, x))(x)
        np.testing.assert_allclose(slope, expected, rtol=1e-11)
    chebyshev = fg.grad(lambda x: scipy.special.eval_chebyu(n, x))(x)
    with mp.workdps(60):
        t = mp.acos(mp.mpf(x) - mp.mpf(10) ** -25)
        u = mp.sin((n + 1) * t) / mp.sin(t)
        exact = (mp.cos(t) * u - (n + 1) * mp.cos((n + 1) * t)) / mp.sin(t) ** 2
    np.testing.assert_allclose(chebyshev, float(exact), rtol=1e-11)


DEGREE_0 = {
    "eval_legendre": lambda n, x: mp.legendre(n, x),
    "eval_sh_legendre": lambda n, x: mp.legendre(n, 2 * x - 1),
    "eval_chebyu": mp.chebyu,
    "eval_laguerre": lambda n, x: mp.laguerre(n, 0, x),
}


@pytest.mark.parametrize("x", [0.3, 0.8, 1.0, 2.5])
@pytest.mark.parametrize("name", DEGREE_0)
def test_slopes_of_polynomials_of_degree_0_move_with_the_degree(name, x):
    polynomial = getattr(scipy.special, name)
    mixed = float(mp.diff(DEGREE_0[name], (0.0, x), (1, 1)))
    for first, second in ((0, 1), (1, 0)):
        found = fg.grad(fg.grad(polynomial, first), second)(0.0, x)
        assert found == pytest.approx(mixed, rel=1e-10)
    assert fg.grad(polynomial, 1)(0.0, x) == 0.0


@pytest.mark.parametrize("x", [0.3, 0.8, 2.5])
@pytest.mark.parametrize("n", [0.0, 1.0, 2.0])
def test_slopes_of_expn_move_with_the_order(n, x):
    mixed = float(mp.diff(mp.expint, (n, x), (1, 1)))
    for first, second in ((0, 1), (1, 0)):
        found = fg.grad(fg.grad(scipy.special.expn, first), second)(n, x)
        assert found == pytest.approx(mixed, rel=1e-10)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
def test_expn_is_constant_between_whole_orders():
    assert fg.grad(scipy.special.expn, (0, 1))(1.5, 0.7) == (
        0.0,
        fg.grad(lambda x: scipy.special.expn(1, x))(0.7),
    )


@pytest.mark.parametrize("lmb", [0.0, 1.5])
@pytest.mark.parametrize("nu", [0.0, 1.0, -1.0, 2.0, -3.0, 3.5])
@pytest.mark.parametrize("a", [0.0, 1e-8, 1e-3, 0.7])
def test_slopes_of_besselpoly_near_0(a, nu, lmb):
    """By the power series: the closed form loses all digits of a small argument."""

    def exact(order):
        def term(k):
            power = abs(nu) + 2 * k
            factor = (-1) ** k / (mp.factorial(k) * mp.gamma(power - k + 1) * (lmb + power + 1))
            lowered = mp.ff(power, order)
            return factor * lowered * mp.mpf(a) ** (power - order) if lowered else mp.mpf(0)

        sign = -1 if nu < 0 and nu % 2 else 1
        return float(sign * mp.fsum([term(k) for k in range(25)]))

    slope = fg.grad(scipy.special.besselpoly)
    assert slope(a, lmb, nu) == pytest.approx(exact(1), rel=1e-11)
    assert fg.grad(slope)(a, lmb, nu) == pytest.approx(exact(2), rel=1e-11)
    assert fg.grad(fg.grad(slope))(a, lmb, nu) == pytest.approx(exact(3), rel=1e-10)


def test_slopes_of_gdtr_in_the_rate_move_with_x_at_0():
    for first, second in ((0, 2), (2, 0)):
        for function, sign in ((scipy.special.gdtr, 1.0), (scipy.special.gdtrc, -1.0)):
            assert fg.grad(fg.grad(function, first), second)(1.7, 1.0, 0.0) == sign


SHAPES_OF_0 = {
    # Calls and the place of a shape that is 0.
    "gammainc": (0.0, 0.7),
    "gammaincc": (0.0, 2.0),
    "chdtr": (0.0, 1.0),
    "betainc": (0.0, 1.5, 0.3),
    "betaincc": (2.0, 0.0, 0.4),
    "gdtr": (0.8, 0.0, 1.5),
}


@pytest.mark.parametrize("name", SHAPES_OF_0)
def test_slopes_in_x_move_with_a_shape_of_0(name):
    function, args = getattr(scipy.special, name), SHAPES_OF_0[name]
    shape, x = args.index(0.0), len(args) - 1

    def slope(place, at):
        return fg.grad(function, place)(*args[:shape], at, *args[shape + 1 :])

    h = 1e-3  # the functions are not defined for a negative shape
    wanted = (-25 * slope(x, 0.0) + 48 * slope(x, h) - 36 * slope(x, 2 * h)) / (12 * h)
    wanted += (16 * slope(x, 3 * h) - 3 * slope(x, 4 * h)) / (12 * h)
    assert fg.grad(fg.grad(function, x), shape)(*args) == pytest.approx(wanted, rel=1e-7)
    assert fg.grad(fg.grad(function, shape), x)(*args) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("name", ["betaincinv", "betainccinv"])
def test_second_slopes_of_inverses_in_the_shapes_are_0_at_the_ends(name, y):
    inverse = getattr(scipy.special, name)
    for first, second in itertools.product((0, 1), (0, 1)):
        assert fg.grad(fg.grad(inverse, first), second)(2.0, 1.5, y) == 0.0


@pytest.mark.parametrize("k", [-2.5, -1.0, -0.5])
def test_bdtrc_of_negative_counts_is_1(k):
    for p in (0.0, 0.3, 1.0):
        found = fg.value_and_grad(lambda p: scipy.special.bdtrc(k, 4, p))(p)
        assert found == (1.0, 0.0)
    found = fg.jit(lambda p: scipy.special.bdtrc(k, 4, p))(1.5)
    np.testing.assert_array_equal(found, scipy.special.bdtrc(k, 4, 1.5))


def test_slopes_of_polynomials_in_the_degree_at_a_root():
    """mpmath sums terms that cancel there."""
    slope = fg.grad(scipy.special.eval_genlaguerre)(1.0, 0.5, 1.5)
    assert slope == pytest.approx(
        float(mp.diff(lambda n: mp.laguerre(n, 0.5, 1.5), 1.0)), rel=1e-12
    )
    assert fg.grad(scipy.special.eval_jacobi, 1)(1.0, 1.5, 0.5, -0.25) == pytest.approx(
        0.375, rel=1e-12
    )


@pytest.mark.parametrize("name", ["inv_boxcox", "inv_boxcox1p"])
@pytest.mark.parametrize("y", [0.7, -0.4, 5.0])
def test_the_slope_of_an_inverse_power_moves_with_a_power_of_0(name, y):
    inverse = getattr(scipy.special, name)
    slope_of = fg.grad(lambda y, power: inverse(y, power))
    mixed = -np.exp(y) * (y + y**2 / 2)
    assert fg.grad(slope_of, 1)(y, 0.0) == pytest.approx(mixed, rel=1e-13)
    turned = fg.grad(fg.grad(lambda y, power: inverse(y, power), 1))(y, 0.0)
    assert turned == pytest.approx(mixed, rel=1e-13)


def test_slopes_of_losses_and_power_transforms_at_their_ends():
    second = fg.grad(fg.grad(scipy.special.pseudo_huber))
    np.testing.assert_allclose([second(1e-20, 2.0), second(1e-8, -3.0)], -2.0, rtol=1e-7)
    assert fg.grad(scipy.special.pseudo_huber)(np.inf, 1.0) == 0
    for f, x in ((scipy.special.boxcox, 0.0), (scipy.special.boxcox1p, -1.0)):
        in_power = fg.grad(f, argnums=1)
        assert (in_power(x, 2.0), fg.grad(in_power, argnums=1)(x, 2.0)) == (0.25, -0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_of_the_bessel_function_of_numpy(dtype):
    x = np.array([0.0, 1e-30, -1e-9, 1e-3, 0.7, -7.9, 8.1, 50.0], dtype)
    np.testing.assert_array_equal(fg.jit(np.i0)(x), np.i0(x))
    slope = fg.elementwise_grad(np.i0)
    assert slope(x).dtype == dtype
    np.testing.assert_array_equal(slope(x), scipy.special.i1(x))
    np.testing.assert_allclose(fg.jit(slope, native=True)(x), scipy.special.i1(x), rtol=1e-6)
    assert fg.grad(np.i0)(2) == scipy.special.i1(2.0)
    with pytest.raises(TypeError, match="i0 not supported for complex values"):
        fg.jit(np.i0)(1j)
    window = fg.grad(lambda beta: np.kaiser(5, beta).sum())
    np.testing.assert_allclose(window(1e-9), -1.25e-9, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bessel_function_of_scipy_is_not_that_of_numpy(dtype):
    x = np.linspace(-5, 5, 1000, dtype=dtype)
    assert np.any(np.i0(x) != scipy.special.i0(x))
    np.testing.assert_array_equal(fg.jit(scipy.special.i0)(x), scipy.special.i0(x))
    np.testing.assert_array_equal(fg.jit(np.i0)(x), np.i0(x))
    slope = fg.elementwise_grad(scipy.special.i0)
    np.testing.assert_array_equal(slope(x), scipy.special.i1(x))


@pytest.mark.parametrize("name", ["k0e", "k1e", "kve"])
def test_scaled_functions_at_their_pole_and_where_they_are_not_defined(name):
    own = getattr(scipy.special, name)
    f = (lambda x: own(0.5, x)) if name == "kve" else own
    slope = fg.elementwise_grad(f)(np.array([0.0, -1.0, -100.0, -np.inf]))
    assert slope[0] == -np.inf
    assert np.all(np.isnan(slope[1:]))


def test_slopes_of_scaled_functions_at_infinity():
    for f in (scipy.special.i0e, scipy.special.i1e):
        for g in (fg.elementwise_grad(f), fg.elementwise_grad(fg.elementwise_grad(f))):
            np.testing.assert_array_equal(g(np.array([np.inf, -np.inf])), 0.0)
    assert fg.grad(scipy.special.i1)(1000.0) == np.inf


COUNTING = ["chdtr", "chdtrc", "chdtri", "pdtr", "pdtrc", "pdtri"]
COUNTING += ["bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"]


@pytest.mark.filterwarnings("ignore:non-integer:DeprecationWarning")
@pytest.mark.parametrize("name", COUNTING)
def test_distribution_functions_keep_single_precision(name):
    own, x = getattr(scipy.special, name), np.array([0.25, 0.75], np.float32)
    given = (2.0, 3.0)[: own.nin - 1]
    found, want = fg.jit(lambda x: own(*given, x))(x), own(*given, x)
    assert found.dtype == want.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-5)
    assert fg.elementwise_grad(lambda x: own(*given, x))(x).dtype == np.float32


def test_slopes_of_mathieu_functions_at_huge_parameters_are_nan():
    """The matrix of all terms was 56 GiB."""
    slope = fg.elementwise_grad(lambda q: scipy.special.mathieu_a(2, q))(
        np.array([1e16, 1e300, 1.0])
    )
    assert np.array_equal(np.isnan(slope), [True, True, False])


def test_the_slope_of_exprel_at_minus_infinity_is_0():
    slope = fg.elementwise_grad(scipy.special.exprel)
    found = slope(np.array([-np.inf, -1e200, -2000.0, -900.0]))
    np.testing.assert_allclose(found, [0.0, 0.0, 1 / 2000.0**2, 1 / 900.0**2], rtol=1e-14)


@pytest.mark.parametrize("name", ["nbdtr", "nbdtrc", "nbdtri"])
@pytest.mark.parametrize("counts", [(3, 7), (3.0, 7.0), ([3, 4], 7)])
def test_whole_numbers_beside_data_in_single_precision_choose_the_loop_of_scipy(name, counts):
    function, p = getattr(scipy.special, name), np.full(2, 0.4, "f")
    found, expected = fg.jit(lambda p: function(*counts, p))(p), function(*counts, p)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if found.dtype == "f" else 1e-12)


@pytest.mark.parametrize(
    ("f", "args", "mixed"),
    [
        (scipy.special.xlogy, (0.0, 2.0), 0.5),
        (scipy.special.xlog1py, (0.0, 2.0), 1 / 3),
        (scipy.special.xlog1py, (0.0, -0.5), 2.0),
        (scipy.special.xlogy, (0.0, 0.0), 0.0),
        (scipy.special.xlogy, (0.0, np.inf), 0.0),
        (scipy.special.xlogy, (0.0, -1.0), 0.0),
        (scipy.stats.gamma.logpdf, (0.7, 1.0), 1 / 0.7),
        (scipy.stats.chi2.logpdf, (0.7, 2.0), 0.5 / 0.7),
        (scipy.stats.beta.logpdf, (0.7, 1.0, 1.0), 1 / 0.7),
    ],
)
def test_a_product_with_a_logarithm_has_both_mixed_derivatives_where_its_factor_is_zero(
    f, args, mixed
):
    def g(v):
        return f(*v, *args[2:])

    v = np.array(args[:2])
    for hessian in (fg.hessian(g)(v), fg.jit(fg.hessian(g))(v), fg.jacrev(fg.grad(g))(v)):
        np.testing.assert_allclose([hessian[0, 1], hessian[1, 0]], [mixed] * 2, rtol=1e-12)


def test_inverses_of_incomplete_functions_at_the_ends():
    special = pytest.importorskip("scipy.special")
    for y in (0.0, 1.0):
        assert fg.grad(special.betaincinv, (0, 1))(2.0, 3.0, y) == (0.0, 0.0)
    assert fg.grad(special.gammaincinv)(2.0, 0.0) == 0.0
    # The slope in the degrees of freedom is 0 at the median, and not constant.
    assert fg.grad(fg.grad(special.stdtrit), 1)(3.0, 0.5) == pytest.approx(-0.0720455, rel=1e-5)
    assert fg.grad(special.powm1, (0, 1))(0.0, 2.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["kv", "kve"])
def test_an_even_function_of_its_order_takes_few_calls_at_order_0(name, monkeypatch):
    own, calls = mp.MPContext.besselk, []

    def counted(*args, **kwargs):
        calls.append(args)
        return own(*args, **kwargs)

    monkeypatch.setattr(mp.MPContext, "besselk", counted)
    function = getattr(scipy.special, name)
    assert fg.grad(lambda order, x: function(order, x))(0.0, 1.3) == 0.0
    assert len(calls) < 10
    bend = fg.grad(fg.grad(lambda order, x: function(order, x)))(0.0, 1.3)
    h = 1e-3
    second = (function(h, 1.3) - 2 * function(0.0, 1.3) + function(-h, 1.3)) / h**2
    assert bend == pytest.approx(second, rel=1e-5)


@pytest.mark.parametrize(
    ("p", "std"), [(0.0, 1.0), (1.0, 1.0), (1.5, 1.0), (0.3, -1.0), (0.3, 0.0)]
)
def test_inverses_of_the_normal_distribution_outside_their_domain(p, std):
    mean, deviation = scipy.special.nrdtrimn, scipy.special.nrdtrisd
    np.testing.assert_equal(fg.jit(mean)(p, std, 0.4), mean(p, std, 0.4))
    assert np.isnan(fg.jit(deviation)(0.4, p, 1.0)) == np.isnan(deviation(0.4, p, 1.0))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_differences_of_polygamma_functions_have_all_digits(order):
    rng = np.random.default_rng(order)
    signs = rng.choice([-1.0, 1.0], 200)
    a = np.concatenate([10 ** rng.uniform(-4, 4, 100), 1.4616 + signs[:100] * rng.random(100) / 9])
    d = 10 ** rng.uniform(-9, 4, 200) * signs
    at = a + d > 0
    a, d = a[at], d[at]
    found = OPS["polygamma_difference"].run(a, d, order=order)
    with mp.workdps(40):
        exact = [
            mp.psi(order, mp.mpf(x) + mp.mpf(y)) - mp.psi(order, x)
            for x, y in zip(a, d, strict=True)
        ]
    # (At 1.4616 digamma is 0: the rounding of a + d would cost a small difference its digits.)
    np.testing.assert_allclose(found, [float(x) for x in exact], rtol=4e-15)
