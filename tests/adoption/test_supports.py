"""fg.supports: which functions of NumPy, SciPy and the standard library take traced values."""

import math
import statistics

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

import funcgrad as fg
from tests.default_slice import marked_slow, one_in
from tools import support_calls, support_table


@pytest.mark.parametrize(
    "function",
    [
        np.sinc,
        np.add,
        np.floor,
        np.unique,
        np.linalg.svd,
        np.fft.rfft,
        np.zeros,
        math.sin,
        statistics.fmean,
        scipy.special.erf,
        scipy.special.jv,
        scipy.linalg.expm,
        scipy.signal.savgol_filter,
        scipy.ndimage.sobel,
        scipy.stats.pearsonr,
        scipy.fft.dct,
        "np.sinc",
        "np.linalg.norm",
        "numpy.fft.fft",
        "scipy.special.expit",
        "math.hypot",
        fg.sin,
        fg.softplus,
        fg.relu,
        fg.cond,
        fg.numpy.array,
        fg.numpy.linalg.svd,
        fg.scipy.special.gammaln,
        fg.scipy.linalg.expm,
        fg.scipy.stats.norm.pdf,
        fg.stop_gradient,
        fg.odeint,
    ],
)
def test_supported(function):
    assert fg.supports(function) is True


@pytest.mark.parametrize(
    "function",
    [
        scipy.stats.levy_stable,
        "scipy.stats.levy_stable",
        len,
        math.gcd,
        fg.grad,
        fg.to_latex,
    ],
)
def test_not_supported(function):
    assert fg.supports(function) is False


def test_what_is_no_function():
    with pytest.raises(ValueError, match=r"such as \"np.sin\", but got 'np.nope'"):
        fg.supports("np.nope")
    with pytest.raises(ValueError, match="but got 'sin'"):
        fg.supports("sin")
    with pytest.raises(TypeError, match="expected a function or its name, but got float"):
        fg.supports(2.0)


def test_what_is_supported_is_differentiated():
    for name in ("sin", "sinc", "floor", "unique", "sort", "cumsum", "median", "linalg.norm"):
        f = eval(f"np.{name}")
        assert fg.supports(f)
        fg.value_and_grad(lambda x, f=f: np.sum(x + np.sum(f(x))))(np.array([0.3, 0.7]))


SAMPLE = [
    *(
        "unique",
        "greater",
        "linalg.solve",
        "nextafter",
        "sort",
        "scipy.fft.dct",
        "scipy.ndimage.sobel",
    ),
    *(
        "scipy.stats.pearsonr",
        "scipy.optimize.fmin",
        "scipy.stats.siegelslopes",
        "scipy.stats.burr",
    ),
    *(
        marked_slow("scipy.integrate.nquad"),
        "scipy.interpolate.CubicSpline",
        "scipy.signal.butter",
        "scipy.signal.windows.dpss",
    ),
]


of_the_measured_versions = pytest.mark.skipif(
    support_table.versions() not in support_table.PAGE.read_text("utf-8"),
    reason="docs/support.md was measured with other versions of NumPy and SciPy",
)


@of_the_measured_versions
@pytest.mark.parametrize("name", one_in(4, SAMPLE))
def test_a_call_measures_as_it_is_stored(name):
    check_row(name)


@pytest.mark.slow
@of_the_measured_versions
@pytest.mark.parametrize("name", sorted(support_table.stored()))
def test_every_call_measures_as_it_is_stored(name):
    check_row(name)


def check_row(name):
    row = support_table.measure(name, support_calls.calls()[name])
    stored = support_table.stored()[name]
    # The last bit of a product of matrices is that of the processor; the mark of jit is the value's, rounded.
    assert row._replace(note="", holds=row.holds[1:]) == stored._replace(holds=stored.holds[1:])


@of_the_measured_versions
def test_every_public_name_is_measured_or_said_to_be_no_function_of_numbers():
    calls, other = support_calls.calls(), support_calls.other()
    assert set(support_calls.public_names()) <= set(calls) | set(other)
    assert set(support_table.stored()) == set(calls) - set(other)
    assert all(row.call == calls[name] for name, row in support_table.stored().items())


@of_the_measured_versions
def test_the_page_shows_what_is_stored():
    assert support_table.PAGE.read_text("utf-8") == support_table.page(
        support_table.stored().values()
    )


@of_the_measured_versions
def test_supports_answers_what_was_measured():
    for name, row in support_table.stored().items():
        home, _, attribute = name.rpartition(".")
        parts = f"numpy.{home}".rstrip(".") if not home.startswith("scipy") else home
        assert fg.supports(f"{parts}.{attribute}") is (row.kind != "refused"), name


def test_a_distribution_is_supported_as_its_name_says_and_so_are_its_methods():
    stats = scipy.stats
    for name in ("norm", "rice", "zipf", "levy_stable", "wishart", "matrix_normal"):
        distribution = getattr(stats, name)
        known = fg.supports(f"scipy.stats.{name}")
        assert known is (name != "levy_stable")
        assert fg.supports(distribution) is known
        assert fg.supports(f"scipy.stats.{name}.rvs") is fg.supports(distribution.rvs) is known
    assert fg.supports(stats.norm(0.0, 1.0).ppf)
    assert not fg.supports(stats.levy_stable(1.8, -0.5).pdf)
    assert fg.supports(stats.multivariate_normal([0.0], [[1.0]]).logpdf)
