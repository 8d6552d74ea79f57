"""Truncated distributions whose ends are at infinity, where the parameters move."""

import itertools

import numpy as np
import pytest
from scipy import stats

import funcgrad as fg
from tests.default_slice import one_in

ENDS = [(-np.inf, 1.0), (0.1, np.inf), (-np.inf, np.inf)]
METHODS = {
    **dict.fromkeys(("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"), (0.4,)),
    **dict.fromkeys(("mean", "var", "std", "median"), ()),
}

OF_VARIABLES = ["logpdf", "cdf", "logcdf", "ccdf", "logccdf", "icdf", "mean"]


def check(f, at, step=1e-5, second=True):
    center, scale = at
    wanted = [
        (f(center + step, scale) - f(center - step, scale)) / (2 * step),
        (f(center, scale + step) - f(center, scale - step)) / (2 * step),
    ]
    slopes = fg.grad(f, (0, 1))
    np.testing.assert_allclose(slopes(*at), wanted, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(fg.jit(slopes)(*at), wanted, rtol=1e-5, atol=1e-8)
    forward = [fg.jvp(f, at, seed)[1] for seed in ((1.0, 0.0), (0.0, 1.0))]
    np.testing.assert_allclose(forward, slopes(*at), rtol=1e-9, atol=1e-11)
    if second:
        mixed = (fg.grad(f)(center, scale + step) - fg.grad(f)(center, scale - step)) / (2 * step)
        np.testing.assert_allclose(fg.grad(fg.grad(f), 1)(*at), mixed, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("name", "ends"), one_in(5, itertools.product(METHODS, ENDS)))
def test_truncnorm_as_its_page_writes_the_ends(name, ends):
    def f(center, scale):
        a, b = [(end - center) / scale for end in ends]
        return getattr(stats.truncnorm, name)(*METHODS[name], a, b, loc=center, scale=scale)

    check(f, (0.2, 1.3))


@pytest.mark.parametrize("ends", [*ENDS, (-1.0, 2.0), (30.0, 31.0)])
def test_moments_of_truncnorm_are_scipys(ends):
    adopted = fg.jvp(
        lambda t: np.stack(stats.truncnorm.stats(ends[0] * t, ends[1] * t, moments="mvsk")),
        (1.0,),
        (1.0,),
    )[0]
    np.testing.assert_allclose(
        adopted, stats.truncnorm.stats(*ends, moments="mvsk"), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(("name", "ends"), one_in(4, itertools.product(OF_VARIABLES, ENDS)))
def test_truncated_random_variables(name, ends):
    def f(center, scale):
        cut = stats.truncate(stats.Normal(mu=center, sigma=scale), *ends)
        return getattr(cut, name)(*([] if name == "mean" else [0.4]))

    check(
        f, (0.2, 1.3), 1e-4, second=name != "mean"
    )  # an integral, whose outermost places are infinite


@pytest.mark.parametrize("name", one_in(3, ["cdf", "logcdf", "logccdf"]))
def test_an_interval_of_a_logistic_variable(name):
    def f(center, scale):
        cut = stats.truncate(stats.Logistic() * scale + center, 0.1, np.inf)
        return getattr(cut, name)(0.4)

    check(f, (0.2, 1.3), 1e-4)


def test_the_density_of_a_logistic_variable_has_slopes_far_out():
    slope = fg.grad(lambda x: stats.Logistic().pdf(x))
    assert slope(700.0) == pytest.approx(-np.exp(-700.0), rel=1e-12)
    assert slope(2000.0) == 0.0
