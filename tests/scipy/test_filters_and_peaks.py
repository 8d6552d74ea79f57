"""Partial fractions, filters with equal ripples, spline filters and widths of peaks of `scipy.signal`."""

import functools

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.array([0.31, 0.72, 0.55, 0.87])
SIGNAL = np.sin(0.7 * np.arange(48.0)) + 0.02 * np.arange(48)
PEAKS = np.array([1.0, 0.3, 0.9, 0.1, 0.4, 0.4, 0.2])


def image(x, repeats=4):
    return np.tile(x[:, None] * x, (repeats, repeats))


READ = {
    "unique_roots, mean": lambda x: scipy.signal.unique_roots(
        np.concatenate([x, x + 1e-4]), rtype="avg"
    )[0],
    "unique_roots, least": lambda x: scipy.signal.unique_roots(np.concatenate([x, x + 1e-4]))[0],
    "unique_roots, greatest": lambda x: scipy.signal.unique_roots(
        np.concatenate([x, x + 1e-4]) * (1 + 1j), rtype="max"
    )[0],
    **{
        f"{name}, result {k}": lambda x, f=f, k=k: f(x)[k]
        for k in (0, 1)
        for name, f in {
            "residue": lambda x: scipy.signal.residue(x[:2], 1 + x[1:]),
            "residuez": lambda x: scipy.signal.residuez(x[:2], 1 + x[1:]),
        }.items()
    },
    "residue, the polynomial": lambda x: scipy.signal.residue(x[:3], x[2:])[2],
    "invres": lambda x: scipy.signal.invres(*scipy.signal.residue(x[:2], 1 + x[1:]))[0],
    "find_peaks": lambda x: scipy.signal.find_peaks(np.append(x, PEAKS), width=0.1)[1]["widths"],
    "its options": lambda x: scipy.signal.find_peaks(
        np.append(x, PEAKS), width=0.1, prominence=0.2, rel_height=0.3
    )[1]["right_ips"],
    "symiirorder1, its parameters": lambda x: scipy.signal.symiirorder1(
        SIGNAL, x[0], 0.3 * x[1], precision=1e-14
    ),
    "symiirorder2, its parameters": lambda x: scipy.signal.symiirorder2(
        SIGNAL, 0.5 * x[0], x[1], precision=1e-14
    ),
}
FIXED = {
    "remez": lambda x: scipy.signal.remez(5, [0, 0.2, 0.3, 0.5], x[:2]),
    "remez, weights": lambda x: scipy.signal.remez(
        12, [0, 0.1, 0.2, 0.3, 0.4, 0.5], x[:3], weight=x[1:]
    ),
    "remez, a differentiator": lambda x: scipy.signal.remez(
        13, [0.05, 0.2], x[:1], type="differentiator"
    ),
    "remez, Hilbert's": lambda x: scipy.signal.remez(
        12, [0.1, 0.9], x[:1], type="hilbert", weight=x[2:3], fs=2.0
    ),
    **{
        f"peak_widths, {k}": lambda x, k=k: scipy.signal.peak_widths(
            np.append(x, PEAKS), [1, 4, 6], 0.7
        )[k]
        for k in range(4)
    },
    "symiirorder1": lambda x: scipy.signal.symiirorder1(np.tile(x, 8), 0.5, 0.3, precision=1e-6),
    "symiirorder2": lambda x: scipy.signal.symiirorder2(np.tile(x, 16), 0.3, 0.5, precision=1e-3),
    "sosfilt of one section": lambda x: scipy.signal.sosfilt([1, x[0], 0.3, 1, x[1], 0.2], SIGNAL),
    "cspline2d": lambda x: scipy.signal.cspline2d(image(x)),
    "cspline2d, smooth": lambda x: scipy.signal.cspline2d(image(x, 16), 0.1),
    "qspline2d": lambda x: scipy.signal.qspline2d(image(x)),
    "spline_filter": lambda x: scipy.signal.spline_filter(image(x, 16), 0.1),
}


@pytest.mark.parametrize("case", one_in(5, READ))
def test_what_is_read_from_the_values(case):
    check_function(READ[case], X, vmap=False, value_rtol=1e-13)


@pytest.mark.parametrize("case", one_in(5, FIXED))
def test_filters_and_widths(case):
    check_function(FIXED[case], X, value_rtol=1e-13)


def test_multiplicities_are_constant():
    def counts(x):
        return scipy.signal.unique_roots(np.concatenate([x, x[:2] + 1e-4]))[1]

    np.testing.assert_array_equal(fg.jit(counts)(X), counts(X))


def test_conditions_whose_sum_scipy_ends_at_a_term_of_0():
    def smoothed(r):
        return scipy.signal.symiirorder2(np.ones(100), r, np.pi / 3)

    np.testing.assert_allclose(fg.jvp(smoothed, (0.5,), (1.0,))[0], smoothed(0.5), rtol=1e-14)


def test_conditions_where_the_angle_is_0():
    def smoothed(omega):
        return scipy.signal.symiirorder2(SIGNAL, 0.4, omega, precision=1e-12)

    np.testing.assert_allclose(fg.jit(smoothed)(0.0), smoothed(0.0), rtol=1e-12)
    slope = (smoothed(1e-4) - smoothed(-1e-4)) / 2e-4
    np.testing.assert_allclose(fg.jvp(smoothed, (0.0,), (1.0,))[1], slope, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: scipy.signal.remez(5, x / 2, [0, 1])[0], "remez: expected plain bands"),
        (lambda x: scipy.signal.unique_roots(x, rtype="mode")[0], "expected rtype among max"),
        (lambda x: scipy.signal.find_peaks(x, plateau_size=1)[1]["left_edges"], "plateau_size=1"),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fg.jacobian(f)(X)


ROWS = np.sin(1 + np.arange(30.0)).reshape(6, 5)
BESIDE_PLAIN_IMAGES = {
    **{
        name: lambda c, name=name, given=given: getattr(scipy.ndimage, name)(
            ROWS, *given, mode="constant", cval=c[0]
        )
        for name, given in {
            "convolve": (ROWS[:3, :3],),
            "correlate1d": (ROWS[0],),
            "gaussian_filter1d": (0.8,),
            "sobel": (),
            "uniform_filter1d": (3,),
            "maximum_filter": (3,),
            "rank_filter": (-2, 3),
            "median_filter": (3,),
            "percentile_filter": (30, 3),
        }.items()
    },
    "convolve2d": lambda c: scipy.signal.convolve2d(ROWS, ROWS[:3, :3], fillvalue=c[0]),
    "upfirdn": lambda c: scipy.signal.upfirdn(X, ROWS, 2, mode="constant", cval=c[0]),
    "resample_poly": lambda c: scipy.signal.resample_poly(
        ROWS, 3, 4, padtype="constant", cval=c[0]
    ),
    "one width": lambda c: scipy.ndimage.gaussian_filter(ROWS, (0.4, 1.6 + c[0])),
    "a mapping": lambda c: scipy.ndimage.geometric_transform(
        ROWS, lambda at: (at[0] * (0.7 + c[0]), at[1] + 0.1)
    ),
}


@pytest.mark.parametrize("case", one_in(3, BESIDE_PLAIN_IMAGES))
def test_arguments_beside_plain_images(case):
    check_function(BESIDE_PLAIN_IMAGES[case], [0.0], value_rtol=1e-13, hessian=False)


def test_factors_of_zoom_choose_the_size():
    zoomed = fg.jit(lambda x, k: scipy.ndimage.zoom(x, (k, 1.0), order=1))
    for factor in (1.5, 0.6):
        expected = scipy.ndimage.zoom(ROWS, (factor, 1.0), order=1)
        np.testing.assert_allclose(zoomed(ROWS, factor), expected, rtol=1e-12)


def test_sections_of_filters_with_two_edges():
    def sections(edge):
        return scipy.signal.butter(2, [edge[0], 0.8], "bandstop", output="sos")

    check_function(sections, [0.37], value_rtol=1e-10)


@pytest.mark.parametrize("is_analog", [False, True])
@pytest.mark.parametrize("name", ["buttord", "cheb1ord", "cheb2ord", "ellipord"])
def test_orders_of_filters(name, is_analog, monkeypatch):
    module = scipy.signal._filter_design
    searched = module.optimize.fminbound

    def order(edges, loss=3.0):
        n, frequency = getattr(scipy.signal, name)(edges[:2], edges[2:], loss, 60.0, is_analog)
        return n * frequency

    bands = {
        "stop": [0.1, 0.6, 0.2, 0.5],
        "stop, the upper edge moves": [0.1, 0.6, 0.2, 0.25],
        "pass": [0.2, 0.5, 0.1, 0.6],
    }
    for edges in map(np.array, bands.values()):
        jacobian = fg.jacrev(order)(edges)
        np.testing.assert_array_equal(fg.vjp(order, edges)[0], order(edges))
        np.testing.assert_array_equal(fg.jit(order)(edges), order(edges))
        np.testing.assert_allclose(fg.jacfwd(order)(edges), jacobian, rtol=1e-12, atol=1e-14)
        with monkeypatch.context() as patch:  # SciPy's search ends 1e-5 off
            exact = functools.partial(searched, xtol=1e-13)
            patch.setattr(module.optimize, "fminbound", exact)
            slopes = [(order(edges + h) - order(edges - h)) / 2e-4 for h in 1e-4 * np.eye(4)]
        np.testing.assert_allclose(jacobian, np.transpose(slopes), rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("edges", [(0.2, 0.3), (0.3, 0.2)])
def test_orders_of_filters_with_one_edge(edges):
    def order(x):
        return np.stack([scipy.signal.cheb2ord(x[0], x[1], loss, 60.0)[1] for loss in (1.0, 3.0)])

    check_function(order, edges, value_rtol=1e-14)


def test_splines_of_empty_images_are_empty():
    def f(x):
        return scipy.ndimage.shift(np.outer(x, x[:0]), 0.3).sum() + x.sum()

    assert scipy.ndimage.shift(np.zeros((0, 3)), 0.3).shape == (0, 3)
    assert fg.grad(f)(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert fg.grad(lambda x: scipy.ndimage.shift(np.outer(x[:0], x), 0.3).sum() + x[0])(
        np.ones(3)
    ).tolist() == [1.0, 0.0, 0.0]
