"""Noncentral chi-square, F and t distributions in all parameters, against series and integrals by mpmath."""

import mpmath as mp
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


def series(rate, term):
    total, k = mp.mpf(0), 0
    while True:
        part = mp.exp(-rate) * rate**k / mp.factorial(k) * term(k)
        total, k = total + part, k + 1
        if k > rate and abs(part) < mp.mpf(10) ** -42 * abs(total):
            return total


def chi_square(x, df, nc, ends=None):
    return series(
        nc / 2,
        lambda k: mp.gammainc(df / 2 + k, *(ends or (0, x / 2)), regularized=True),
    )


def chi_square_density(x, df, nc):
    return series(
        nc / 2, lambda k: (x / 2) ** (df / 2 + k - 1) * mp.exp(-x / 2) / mp.gamma(df / 2 + k) / 2
    )


def f(dfn, dfd, nc, x):
    y = dfn * x / (dfd + dfn * x)
    return series(nc / 2, lambda k: mp.betainc(dfn / 2 + k, dfd / 2, 0, y, regularized=True))


def f_density(x, dfn, dfd, nc):
    y, rest = dfn * x / (dfd + dfn * x), dfd / (dfd + dfn * x)
    return series(
        nc / 2, lambda k: y ** (dfn / 2 + k) * rest ** (dfd / 2) / mp.beta(dfn / 2 + k, dfd / 2) / x
    )


def f_tail(x, dfn, dfd, nc):
    rest = dfd / (dfd + dfn * x)
    return series(nc / 2, lambda k: mp.betainc(dfd / 2, dfn / 2 + k, 0, rest, regularized=True))


def log_rice(x, b):
    return mp.log(x) - (x * x + b * b) / 2 + mp.log(mp.besseli(0, x * b))


def log_rice_cdf(x, b):
    return mp.log(chi_square(x * x, 2, b * b))


def rice_tail(x, b):
    return chi_square(x * x, 2, b * b, (x * x / 2, mp.inf))


def chi_mean(df, center, width, function):
    """The mean of a function of a chi variable over the root of df."""
    ends = sorted({max(mp.mpf(0), center + k * width) for k in range(-18, 19, 3)})
    constant = 2 * (df / 2) ** (df / 2) / mp.gamma(df / 2)
    return mp.quad(lambda s: constant * s ** (df - 1) * mp.exp(-df * s * s / 2) * function(s), ends)


def t(df, nc, x):
    return chi_mean(df, 1, 1 / mp.sqrt(2 * df), lambda s: mp.ncdf(x * s - nc))


def t_density(x, df, nc):
    square = x * x + df
    center = (nc * x + mp.sqrt((nc * x) ** 2 + 4 * square * (df + 1))) / (2 * square)
    return chi_mean(df, center, 1 / mp.sqrt(square), lambda s: s * mp.npdf(x * s - nc))


def difference(function, args, places, step):
    """A derivative by relative steps."""
    if not places:
        return function(*args)
    first, *rest = places
    ends = []
    for s in (1, -1):
        moved = [v * (1 + s * step) if k == first else v for k, v in enumerate(args)]
        ends.append(difference(function, moved, rest, step))
    return (ends[0] - ends[1]) / (2 * step * args[first])


CASES = [
    ("chndtr", scipy.special.chndtr, chi_square, (2.3, 3.1, 0.7)),
    ("chndtr", scipy.special.chndtr, chi_square, (1e-3, 0.5, 2.0)),
    ("chndtr", scipy.special.chndtr, chi_square, (5.0, 10.0, 60.0)),
    ("chndtr", scipy.special.chndtr, chi_square, (100.0, 5.0, 3.0)),
    ("ncfdtr", scipy.special.ncfdtr, f, (2.3, 3.1, 0.7, 0.6)),
    ("ncfdtr", scipy.special.ncfdtr, f, (5.0, 12.0, 10.0, 0.1)),
    ("ncfdtr", scipy.special.ncfdtr, f, (3.0, 300.0, 2.0, 8.0)),
    ("nctdtr", scipy.special.nctdtr, t, (5.0, 1.0, 3.0)),
    ("nctdtr", scipy.special.nctdtr, t, (5.0, 1.0, -1.0)),
    ("nctdtr", scipy.special.nctdtr, t, (5e3, 1.0, 0.5)),
    (
        "ncx2.logpdf",
        scipy.stats.ncx2.logpdf,
        lambda *v: mp.log(chi_square_density(*v)),
        (3.0, 3.5, 1.4),
    ),
    (
        "ncx2.logpdf",
        scipy.stats.ncx2.logpdf,
        lambda *v: mp.log(chi_square_density(*v)),
        (1e4, 3.0, 2.0),
    ),
    (
        "ncx2.sf",
        scipy.stats.ncx2.sf,
        lambda x, *v: chi_square(x, *v, (x / 2, mp.inf)),
        (90.0, 3.0, 2.0),
    ),
    ("ncf.logpdf", scipy.stats.ncf.logpdf, lambda *v: mp.log(f_density(*v)), (1e9, 5.5, 8.5, 1.4)),
    ("ncf.logpdf", scipy.stats.ncf.logpdf, lambda *v: mp.log(f_density(*v)), (0.8, 5.5, 8.5, 10.0)),
    (
        "ncx2.logcdf",
        scipy.stats.ncx2.logcdf,
        lambda *v: mp.log(chi_square(*v)),
        (70.0, 3.0, 900.0),
    ),
    (
        "ncf.logcdf",
        scipy.stats.ncf.logcdf,
        lambda x, *v: mp.log(f(*v, x)),
        (0.1, 5.0, 12.0, 300.0),
    ),
    ("rice.logcdf", scipy.stats.rice.logcdf, log_rice_cdf, (8.36, 30.0)),
    ("ncf.sf", scipy.stats.ncf.sf, f_tail, (4.5e12, 1e4, 5.0, 3.0)),
    ("ncf.sf", scipy.stats.ncf.sf, f_tail, (1e8, 4.0, 6.0, 0.1)),
    ("ncf.logpdf", scipy.stats.ncf.logpdf, lambda *v: mp.log(f_density(*v)), (1e-9, 8.5, 5.5, 1.4)),
    ("rice.logpdf", scipy.stats.rice.logpdf, log_rice, (1.55, 1e-8)),
    ("rice.logpdf", scipy.stats.rice.logpdf, log_rice, (30.0, 28.0)),
    ("rice.sf", scipy.stats.rice.sf, rice_tail, (9.0, 2.0)),
    ("nct.logpdf", scipy.stats.nct.logpdf, lambda *v: mp.log(t_density(*v)), (1.3, 5.5, 0.8)),
    ("nct.logpdf", scipy.stats.nct.logpdf, lambda *v: mp.log(t_density(*v)), (-1e3, 3.0, 2.0)),
    (
        "nct.logcdf",
        scipy.stats.nct.logcdf,
        lambda x, df, nc: mp.log(t(df, nc, x)),
        (-1.5, 3.0, 2.0),
    ),
]
NAMED = [pytest.param(*case, id=f"{case[0]}-{'-'.join(map(str, case[3]))}") for case in CASES]


@pytest.mark.parametrize(("name", "own", "exact", "args"), one_in(5, NAMED))
def test_slopes_in_all_arguments_are_those_of_mpmath(name, own, exact, args):
    places = tuple(range(len(args)))
    value, slopes = fg.value_and_grad(own, places)(*args)
    compiled = fg.jit(fg.grad(own, places))(*args)
    batched = fg.vmap(fg.grad(own, places))(*[np.array([v, v]) for v in args])
    with mp.workdps(40):
        given = [mp.mpf(v) for v in args]
        assert value == pytest.approx(float(exact(*given)), rel=1e-11, abs=0)
        for k in places:
            wanted = float(difference(exact, given, [k], mp.mpf(10) ** -12))
            assert slopes[k] == pytest.approx(wanted, rel=1e-10, abs=0), k
            tangents = tuple([float(place == k) for place in places])
            assert fg.jvp(own, args, tangents)[1] == pytest.approx(wanted, rel=1e-10, abs=0)
            assert compiled[k] == pytest.approx(slopes[k], rel=1e-12)
            np.testing.assert_allclose(batched[k], [slopes[k]] * 2, rtol=1e-12)


@pytest.mark.parametrize(("name", "own", "exact", "args"), one_in(4, NAMED[::3]))
def test_second_derivatives_are_those_of_mpmath(name, own, exact, args):
    places = tuple(range(len(args)))
    found = fg.jacfwd(fg.grad(own, places), places)(*args)
    with mp.workdps(45):
        given = [mp.mpf(v) for v in args]
        for i in places:
            for j in range(i + 1):
                wanted = float(difference(exact, given, [i, j], mp.mpf(10) ** -10))
                assert found[i][j] == pytest.approx(wanted, rel=1e-8, abs=1e-300), (i, j)


def test_densities_of_two_degrees_next_to_0():
    """They were NaN in the parameters in reverse mode, and that of F had lost its slope in x."""
    for x in (0.0, 1e-12):
        slopes = fg.grad(scipy.stats.ncx2.logpdf, (0, 2))(x, 2.0, 1.5)
        assert slopes == pytest.approx((-0.125, -0.5), rel=1e-11)
        compiled = fg.jit(fg.grad(scipy.stats.ncf.logpdf, (0, 3)))(x, 2.0, 5.0, 1.5)
        assert compiled == pytest.approx((-0.35, -0.5), rel=2e-11)
        curve = fg.hessian(lambda v: scipy.stats.ncf.logpdf(v, 2.0, 5.0, 1.5))(x)
        assert curve == pytest.approx(-0.67375, rel=1e-10)
    for own, shapes in ((scipy.stats.ncx2, (2.0, 1.5)), (scipy.stats.ncf, (2.0, 5.0, 1.5))):
        for method, places in (("pdf", (1, 2)), ("logpdf", (0, 1, 2))):
            for args in ((0.0, *shapes), (0.0, 4.0, *shapes[1:])):
                slopes = fg.grad(getattr(own, method), places)(*args)
                assert np.all(np.isfinite(slopes))
                for place, slope in zip(places, slopes, strict=True):
                    unit = tuple([float(k == place) for k in range(len(args))])
                    forward = fg.jvp(getattr(own, method), args, unit)[1]
                    assert slope == pytest.approx(forward, rel=1e-12, abs=1e-15)
    for method in ("pdf", "logpdf"):
        assert fg.grad(getattr(scipy.stats.rice, method), (0, 1))(0.0, 1.5) == (0.0, 0.0)


INVERSES = {
    "chndtrix": (scipy.special.chndtr, 0, (0.37, 3.1, 0.7)),
    "chndtridf": (scipy.special.chndtr, 1, (2.3, 0.4, 0.7)),
    "chndtrinc": (scipy.special.chndtr, 2, (2.3, 3.1, 0.37)),
    "ncfdtri": (scipy.special.ncfdtr, 3, (2.3, 3.1, 0.7, 0.4)),
    "ncfdtridfn": (scipy.special.ncfdtr, 0, (0.49, 3.1, 0.7, 1.2)),
    "ncfdtridfd": (scipy.special.ncfdtr, 1, (2.3, 0.45, 0.7, 1.2)),
    "ncfdtrinc": (scipy.special.ncfdtr, 2, (2.3, 3.1, 0.4, 1.2)),
    "nctdtrit": (scipy.special.nctdtr, 2, (2.3, 1.1, 0.4)),
    "nctdtridf": (scipy.special.nctdtr, 0, (0.9, 0.3, 1.7)),
    "nctdtrinc": (scipy.special.nctdtr, 1, (2.3, 0.4, 0.7)),
}


@pytest.mark.parametrize("name", one_in(3, INVERSES))
def test_inverses_undo_the_distribution_function(name):
    forward, place, args = INVERSES[name]
    own = getattr(scipy.special, name)

    def undone(v):
        solved = own(*[v[k] for k in range(len(args))])
        return forward(*[solved if k == place else v[k] for k in range(len(args))])

    v = np.array(args)
    slope = fg.grad(undone)(v)
    np.testing.assert_allclose(slope, np.eye(len(args))[place], atol=1e-7)
    np.testing.assert_allclose(fg.hessian(undone)(v), 0.0, atol=1e-6)
    # SciPy's inverses have five to eight digits: by differences of roots that are exact.
    h, near = 1e-4, own(*args)

    def root(step, k):
        given = [x + step * (j == k) for j, x in enumerate(args)]
        value = given[place]

        def rest(z):
            return forward(*[z if j == place else x for j, x in enumerate(given)]) - value

        return scipy.optimize.brentq(rest, 0.8 * near, 1.25 * near, xtol=1e-14, rtol=1e-14)

    for k in range(len(args)):
        wanted = (8 * (root(h, k) - root(-h, k)) - root(2 * h, k) + root(-2 * h, k)) / (12 * h)
        assert fg.grad(own, k)(*args) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("df", [3.0, 40.0, 1e6, 1e8])
def test_the_t_distribution_without_noncentrality_is_students(df):
    found, wanted = (
        fg.grad(call)(df)
        for call in (
            lambda v: scipy.special.nctdtr(v, 0.0, 1.0),
            lambda v: scipy.special.stdtr(v, 1.0),
        )
    )
    assert found == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize(
    ("own", "args"),
    [
        (scipy.special.chndtr, (np.inf, 2.0, 3.0)),
        (scipy.special.chndtr, (0.0, 4.0, 3.0)),
        (scipy.special.ncfdtr, (3.0, 4.0, 2.0, np.inf)),
        (scipy.special.ncfdtr, (3.0, 4.0, 2.0, 0.0)),
        (scipy.special.nctdtr, (3.0, 2.0, np.inf)),
    ],
)
def test_slopes_at_the_ends_are_zero(own, args):
    assert not any(fg.grad(own, tuple(range(len(args))))(*args))


@pytest.mark.parametrize(
    ("own", "args", "bound"),
    [
        (scipy.special.ncfdtridfd, (0.4, 0.3, 1.5, 0.6), 1e100),
        (scipy.special.chndtridf, (2.0, 0.9, 1.7), 0.0),
        (scipy.special.nctdtridf, (0.3, 1.2, 0.4), 1e100),
    ],
)
def test_inverses_are_constant_where_no_argument_solves_the_equation(own, args, bound):
    value, slopes = fg.value_and_grad(own, tuple(range(len(args))))(*args)
    assert value == pytest.approx(bound, abs=1e-300)
    assert not any(slopes)


def log_density_by_bessel(x, df, nc):
    bessel = mp.log(mp.besseli(df / 2 - 1, mp.sqrt(nc * x)))
    return -mp.log(2) - (x + nc) / 2 + (df / 4 - mp.mpf(1) / 2) * mp.log(x / nc) + bessel


@pytest.mark.parametrize(
    "args", [(1e20, 3.5, 1.4), (1e25, 2.0, 1e3), (1.2e6, 60.0, 1.1), (1000.0, 7.0, 1010.0)]
)
def test_far_out_the_density_of_ncx2_is_that_of_a_bessel_function(args):
    own = scipy.stats.ncx2.logpdf
    value, slopes = fg.value_and_grad(own, (0, 1, 2))(*args)
    compiled = fg.jit(fg.grad(own, (0, 1, 2)))(*args)
    with mp.workdps(60):
        given, step = [mp.mpf(v) for v in args], mp.mpf(10) ** -20
        assert value == pytest.approx(float(log_density_by_bessel(*given)), rel=1e-12)
        for place in range(3):
            ends = []
            for s in (1, -1):
                moved = [v * (1 + s * step * (k == place)) for k, v in enumerate(given)]
                ends.append(log_density_by_bessel(*moved))
            wanted = float((ends[0] - ends[1]) / (2 * step * given[place]))
            assert slopes[place] == pytest.approx(wanted, rel=1e-10)
            assert compiled[place] == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("x", [1e7, 1e20, 1e300])
def test_where_all_terms_underflow_slopes_are_zero_and_no_memory_is_asked_for(x):
    for method in ("pdf", "cdf", "sf", "logcdf"):
        assert fg.grad(getattr(scipy.stats.ncx2, method), (0, 1, 2))(x, 21.0, 1.05) == (0, 0, 0)
    for method in ("cdf", "sf", "logcdf"):
        assert fg.grad(getattr(scipy.stats.rice, method), (0, 1))(x / 1e5, 0.775) == (0, 0)


def _skellam_mass(k, mu1, mu2):
    root = mp.sqrt(mp.mpf(mu1) * mu2)
    return mp.exp(-mu1 - mu2) * mp.sqrt(mp.mpf(mu1) / mu2) ** k * mp.besseli(abs(int(k)), 2 * root)


@pytest.mark.parametrize("k", [-30, -1, 0, 3, 40])
@pytest.mark.parametrize("means", [(2.0, 5.0), (1e-8, 3.0), (300.0, 280.0)])
def test_slopes_of_differences_of_counts(k, means):
    """The cumulative function at k moves by -mass(k) with the first mean, by mass(k + 1) with the second."""
    with mp.workdps(40):
        mass = [float(_skellam_mass(j, *means)) for j in (k - 1, k, k + 1)]
    expected = {
        "cdf": (-mass[1], mass[2]),
        "sf": (mass[1], -mass[2]),
        "pmf": (mass[0] - mass[1], mass[2] - mass[1]),
    }
    for method, slopes in expected.items():
        own = getattr(scipy.stats.skellam, method)
        found = fg.grad(lambda m, own=own: own(k, m[0], m[1]))(np.array(means))
        np.testing.assert_allclose(found, slopes, rtol=1e-8, atol=1e-300)
    log = fg.grad(lambda m: scipy.stats.skellam.logpmf(k, m[0], m[1]))
    with mp.workdps(40):
        ratios = [
            float(_skellam_mass(j, *means) / _skellam_mass(k, *means)) - 1 for j in (k - 1, k + 1)
        ]
    np.testing.assert_allclose(log(np.array(means)), ratios, rtol=1e-7)


@pytest.mark.parametrize(
    ("own", "args"),
    [
        (scipy.stats.ncx2, (2.0, 2.0, 200.0)),
        (scipy.stats.ncx2, (2.0, 2.0, 2e5)),
        (scipy.stats.ncx2, (900.0, 2.0, 200.0)),
        (scipy.stats.rice, (1.0, 20.0)),
        (scipy.stats.ncf, (2.5, 1.3, 67.0, 300.0)),
        (scipy.stats.ncf, (0.25, 90.0, 70.0, 320.0)),
        (scipy.stats.ncf, (900.0, 1.3, 67.0, 300.0)),
        (scipy.stats.skellam, (0, 1.0, 1000.0)),
        (scipy.stats.skellam, (-1, 1000.0, 1.0)),
    ],
)
def test_probabilities_far_from_the_center(own, args):
    """Of which that of the larger side is 1 up to rounding, and a series loses its terms."""
    *first, nc = args
    for method in (own.cdf, own.sf):
        value, _ = fg.value_and_grad(lambda nc, f=method: f(*first, nc))(nc)
        assert value == pytest.approx(method(*args), rel=1e-9, abs=1e-13)
        assert fg.jit(method)(*args) == pytest.approx(method(*args), rel=1e-9, abs=1e-13)
