"""The examples of derivatives of many kinds agree with closed forms and with independent programs."""

import itertools

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from examples import (
    black_scholes,
    double_pendulum,
    gaussian_mixture,
    gaussian_process,
    sir,
    sparse_fit,
)


def drawn(path):
    return path.exists() and path.stat().st_size > 10_000


# -- the double pendulum ---------------------------------------------------------------------------
BODY = double_pendulum.Pendulum(1.3, 0.7, 0.9, 1.4, 9.7)


def textbook_accelerations(angles, speeds, body):
    """The equations of motion as mechanics courses print them."""
    (a, b), (u, v) = angles, speeds
    m1, m2, l1, l2, g = body
    below = 2 * m1 + m2 - m2 * np.cos(2 * a - 2 * b)
    first = -g * (2 * m1 + m2) * np.sin(a) - m2 * g * np.sin(a - 2 * b)
    first -= 2 * np.sin(a - b) * m2 * (v**2 * l2 + u**2 * l1 * np.cos(a - b))
    second = u**2 * l1 * (m1 + m2) + g * (m1 + m2) * np.cos(a) + v**2 * l2 * m2 * np.cos(a - b)
    return np.array([first / (l1 * below), 2 * np.sin(a - b) * second / (l2 * below)])


def test_the_lagrangian_gives_the_textbook_equations():
    rng = np.random.default_rng(0)
    for angles, speeds in rng.uniform(-3, 3, (20, 2, 2)):
        found = double_pendulum.accelerations(angles, speeds, BODY)
        expected = textbook_accelerations(angles, speeds, BODY)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_energy_is_kinetic_plus_potential():
    rng = np.random.default_rng(1)
    still = np.zeros(2)
    for angles, speeds in rng.uniform(-3, 3, (5, 2, 2)):
        potential = -double_pendulum.lagrangian(angles, still, BODY)
        kinetic = double_pendulum.lagrangian(angles, speeds, BODY) + potential
        assert double_pendulum.energy(angles, speeds, BODY) == pytest.approx(kinetic + potential)


def test_the_motion_is_that_of_another_integrator():
    from scipy.integrate import solve_ivp

    angles, speeds = np.array([1.5, -0.4]), np.array([0.3, 1.0])

    def rate(_, state):
        return np.concatenate([state[2:], textbook_accelerations(state[:2], state[2:], BODY)])

    start = np.concatenate([angles, speeds])
    expected = solve_ivp(rate, (0, 2), start, rtol=1e-11, atol=1e-11, method="DOP853").y[:, -1]
    ways, rates = double_pendulum.motion(angles, speeds, 0.002, 1000, BODY)
    assert ways.shape == rates.shape == (1001, 2)
    np.testing.assert_allclose(np.concatenate([ways[-1], rates[-1]]), expected, atol=1e-8)


@pytest.mark.parametrize("sign", [1, -1])
def test_small_swings_are_the_normal_modes(sign):
    # Equal masses and rods: the modes are (1, ±sqrt(2)), their squared frequencies g/l (2 ∓ sqrt(2)).
    tiny, step, count = 1e-5, 0.01, 150
    shape = tiny * np.array([1.0, sign * np.sqrt(2)])
    ways, _ = double_pendulum.motion(shape, np.zeros(2), step, count)
    frequency = np.sqrt(9.81 * (2 - sign * np.sqrt(2)))
    times = step * np.arange(count + 1)
    np.testing.assert_allclose(ways, np.cos(frequency * times)[:, None] * shape, atol=1e-4 * tiny)


def test_the_energy_drifts_little_and_less_with_smaller_steps():
    start = (np.array([2.0, 2.5]), np.zeros(2))
    coarse, fine = (
        np.max(np.abs(double_pendulum.energy_drift(*double_pendulum.motion(*start, step, n))))
        for step, n in ((0.01, 300), (0.005, 600))
    )
    assert fine < 1e-6
    assert coarse / fine > 10  # of fourth order: at least 2**4, nearly


def test_the_derivative_of_a_motion_is_the_difference_of_two():
    angles, speeds, h = np.array([2.0, 2.5]), np.zeros(2), 1e-6

    def ending(first):
        return double_pendulum.motion(np.array([first, angles[1]]), speeds, 0.01, 100)[0][-1]

    difference = (ending(angles[0] + h) - ending(angles[0] - h)) / (2 * h)
    found = double_pendulum.divergence(angles, speeds, 0.01, 100)
    assert found == pytest.approx(np.linalg.norm(difference), rel=1e-6)


def test_the_pendulum_is_drawn(tmp_path, capsys):
    path = tmp_path / "double_pendulum.png"
    assert double_pendulum.main(str(path), seconds=2.0) < 1e-6
    assert "the energy drifts" in capsys.readouterr().out
    assert drawn(path)


# -- the epidemic ----------------------------------------------------------------------------------
def counted_by_scipy(days, beta, gamma):
    from scipy.integrate import solve_ivp

    def rate(_, state):
        infections = beta * state[0] * state[1] / 763
        return [-infections, infections - gamma * state[1]]

    times = (0, days[-1])
    solved = solve_ivp(rate, times, [762, 1], t_eval=days, rtol=1e-10, atol=1e-10)
    return solved.y[1]


def test_the_epidemic_is_that_of_another_integrator():
    expected = counted_by_scipy(sir.DAYS, 1.7, 0.45) - sir.IN_BED
    np.testing.assert_allclose(sir.residuals(np.log([1.7, 0.45])), expected, atol=1e-5)


def test_gradients_flow_through_the_solver():
    fg.check_grads(sir.residuals, (np.log([1.7, 0.45]),), order=1)


@pytest.fixture(scope="module")
def epidemic():
    return sir.fit()


def test_the_epidemic_fits_as_in_scipy_and_in_the_textbook(epidemic):
    from scipy.optimize import curve_fit

    result = epidemic
    assert result.converged
    best, spread = curve_fit(counted_by_scipy, sir.DAYS, sir.IN_BED, [1.5, 0.4])
    np.testing.assert_allclose(np.exp(result.x), best, rtol=1e-4)
    # SciPy's errors are of the rates, and its slopes are differences; ours are of their logarithms.
    ours = np.outer(best, best) * sir.covariance(result.x)
    np.testing.assert_allclose(ours, spread, rtol=1e-3)
    r0, days = sir.estimates(result.x)
    assert r0.value == pytest.approx(best[0] / best[1], rel=1e-4)
    assert abs(r0.value - 3.7) < r0.error
    assert r0.value == pytest.approx(sir.MURRAY[0], abs=0.02)
    assert days.value == pytest.approx(sir.MURRAY[1], abs=0.02)


def test_the_error_of_the_curve_follows_from_that_of_the_rates():
    rates = np.log([1.67, 0.443])
    root = np.linalg.cholesky(sir.covariance(rates))
    small = 1e-4
    moved = [
        (sir.epidemic(rates + small * step)[1] - sir.epidemic(rates - small * step)[1])
        / (2 * small)
        for step in root.T
    ]
    np.testing.assert_allclose(sir.curve_error(rates), np.hypot(*moved), rtol=1e-5, atol=1e-8)


def test_the_epidemic_is_drawn(tmp_path, capsys, monkeypatch, epidemic):
    monkeypatch.setattr(sir, "fit", lambda: epidemic)
    path = tmp_path / "sir.png"
    r0, _ = sir.main(str(path))
    assert str(r0) == "3.76 ± 0.12"
    assert "published: 3.78" in capsys.readouterr().out
    assert drawn(path)


# -- the mixture -----------------------------------------------------------------------------------
def test_the_mixtures_density_is_that_of_scipy():
    from scipy.stats import multivariate_normal

    points, _, _ = gaussian_mixture.data()
    params = gaussian_mixture.start(points, 3)
    spread = gaussian_mixture.covariances(params)
    shares = np.exp(params["share"]) / np.sum(np.exp(params["share"]))
    densities = [
        share * multivariate_normal(mean, covariance).pdf(points)
        for share, mean, covariance in zip(shares, params["mean"], spread, strict=True)
    ]
    found = gaussian_mixture.log_densities(params, points)
    np.testing.assert_allclose(found, np.log(densities).T, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_the_mixtures_likelihood():
    points, _, _ = gaussian_mixture.data()
    params = gaussian_mixture.start(points, 3)
    some = points[::10]
    fg.check_grads(lambda p: gaussian_mixture.log_likelihood(p, some), (params,), order=1)


def test_descent_finds_the_mixture_of_em(tmp_path, capsys):
    from sklearn.mixture import GaussianMixture

    points, labels, _ = gaussian_mixture.data()
    path = tmp_path / "gaussian_mixture.png"
    result = gaussian_mixture.main(str(path))
    assert "converged at step" in capsys.readouterr().out
    assert drawn(path)
    em = GaussianMixture(3, tol=1e-12, max_iter=5000, reg_covar=0, random_state=0).fit(points)
    assert -result.value == pytest.approx(em.score(points), abs=1e-7)
    ours = np.argsort(result.x["mean"][:, 0])
    theirs = np.argsort(em.means_[:, 0])
    np.testing.assert_allclose(result.x["mean"][ours], em.means_[theirs], atol=1e-3)
    spread = gaussian_mixture.covariances(result.x)
    np.testing.assert_allclose(spread[ours], em.covariances_[theirs], atol=1e-3)
    found = gaussian_mixture.clusters(result.x, points)
    assert gaussian_mixture.purity(found, labels) == pytest.approx(29 / 30)


# -- the process -----------------------------------------------------------------------------------
def sklearns_process(params, points, targets, optimizer=None):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    amplitude, noise, *lengths = np.exp(params)
    kernel = ConstantKernel(amplitude**2) * RBF(lengths) + WhiteKernel(noise**2)
    return GaussianProcessRegressor(kernel, alpha=0, optimizer=optimizer).fit(points, targets)


def test_the_likelihood_and_the_predictions_are_those_of_sklearn():
    known = gaussian_process.data(40)
    params = np.log([0.9, 0.6, 1.5, 3.0, 2.0])
    theirs = sklearns_process(params, known.points, known.targets)
    found = gaussian_process.log_likelihood(params, known.points, known.targets)
    value, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    assert found == pytest.approx(value, rel=1e-12)
    ours = fg.grad(gaussian_process.log_likelihood)(params, known.points, known.targets)
    # Theirs is in log amplitude**2, the log lengths, log noise**2.
    np.testing.assert_allclose(
        ours[[0, 2, 3, 4, 1]] / [2, 1, 1, 1, 2], slope, rtol=1e-9, atol=1e-12
    )
    mean, deviation = gaussian_process.predict(
        params, known.points, known.targets, known.test_points
    )
    their_mean, their_deviation = theirs.predict(known.test_points, return_std=True)
    np.testing.assert_allclose(mean, their_mean, rtol=1e-9, atol=1e-12)
    # Theirs is of observations: with noise.
    np.testing.assert_allclose(np.hypot(deviation, 0.6), their_deviation, rtol=1e-9)


def test_the_curvature_of_the_likelihood():
    known = gaussian_process.data(15)
    params = np.log([0.9, 0.6, 1.5, 3.0, 2.0])

    def likelihood(p):
        return gaussian_process.log_likelihood(p, known.points, known.targets)

    fg.check_grads(likelihood, (params,), order=2)
    h = 1e-5
    rows = [
        (fg.grad(likelihood)(params + e) - fg.grad(likelihood)(params - e)) for e in h * np.eye(5)
    ]
    np.testing.assert_allclose(
        fg.hessian(likelihood)(params), np.array(rows) / (2 * h), rtol=1e-6, atol=1e-8
    )


def test_the_process_fits_as_in_sklearn(tmp_path, capsys):
    path = tmp_path / "gaussian_process.png"
    result = gaussian_process.main(str(path))
    assert result.converged
    assert "of the variance of 292 other patients" in capsys.readouterr().out
    assert drawn(path)
    known = gaussian_process.data()
    theirs = sklearns_process(
        gaussian_process.start(), known.points, known.targets, "fmin_l_bfgs_b"
    )
    assert -result.value == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    mean, _ = gaussian_process.predict(result.x, known.points, known.targets, known.test_points)
    assert gaussian_process.explained(mean, known.test_targets) > 0.4


# -- options ---------------------------------------------------------------------------------------
def textbook_greeks(spot, sigma, years, rate, strike):
    """The formulas of option handbooks, without dividends."""
    from scipy.stats import norm

    root = np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * root)
    d2 = d1 - sigma * root
    density, held = norm.pdf(d1), strike * np.exp(-rate * years)
    gamma = density / (spot * sigma * root)
    vega = spot * density * root
    drift = 2 * rate * years - d2 * sigma * root
    return {
        "delta": norm.cdf(d1),
        "vega": vega,
        "theta": -spot * density * sigma / (2 * root) - rate * held * norm.cdf(d2),
        "rho": years * held * norm.cdf(d2),
        "gamma": gamma,
        "vanna": -density * d2 / sigma,
        "volga": vega * d1 * d2 / sigma,
        "charm": -density * drift / (2 * years * sigma * root),
        "veta": -vega * (rate * d1 / (sigma * root) - (1 + d1 * d2) / (2 * years)),
        "speed": -gamma / spot * (d1 / (sigma * root) + 1),
        "zomma": gamma * (d1 * d2 - 1) / sigma,
        "color": -gamma / (2 * years) * (1 + drift * d1 / (sigma * root)),
        "ultima": -vega / sigma**2 * (d1 * d2 * (1 - d1 * d2) + d1**2 + d2**2),
    }


MARKETS = [
    black_scholes.Market(),
    black_scholes.Market(spot=80.0, sigma=0.4, years=2.0, rate=0.01),
    black_scholes.Market(spot=140.0, sigma=0.15, years=0.1, rate=0.07),
]


@pytest.mark.parametrize("market", MARKETS)
def test_the_greeks_are_those_of_the_handbooks(market):
    found, expected = black_scholes.greeks(market), textbook_greeks(*market)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9), name


def test_all_third_derivatives_are_those_of_mpmath():
    market = MARKETS[1]

    def price(x):
        return black_scholes.call(x[0], x[1], x[2], x[3], market.strike)

    def exactly(spot, sigma, years, rate):
        spread = sigma * mpmath.sqrt(years)
        d1 = (mpmath.log(spot / market.strike) + (rate + sigma**2 / 2) * years) / spread
        paid = market.strike * mpmath.exp(-rate * years) * mpmath.ncdf(d1 - spread)
        return spot * mpmath.ncdf(d1) - paid

    found = fg.jacobian(fg.hessian(price))(np.array(market[:4]))
    assert found.shape == (4, 4, 4)
    with mpmath.workdps(60):
        for places in itertools.combinations_with_replacement(range(4), 3):
            orders = tuple(places.count(k) for k in range(4))
            expected = float(mpmath.diff(exactly, market[:4], orders))
            for order in itertools.permutations(places):
                assert found[order] == pytest.approx(expected, rel=1e-9), order


@pytest.mark.parametrize("market", MARKETS)
def test_calls_and_puts_differ_by_a_forward(market):
    # The difference is spot - strike * exp(-rate * years), which has few greeks.
    held = market.strike * np.exp(-market.rate * market.years)
    forward = {"delta": 1.0, "theta": -market.rate * held, "rho": market.years * held}
    calls = black_scholes.greeks(market)
    puts = black_scholes.greeks(market, black_scholes.put)
    for name, value in calls.items():
        expected = forward.get(name, 0.0)
        assert value - puts[name] == pytest.approx(expected, rel=1e-9, abs=1e-9), name


def test_a_greek_over_spots_is_the_greek_at_each():
    spots = np.array([70.0, 100.0, 130.0])
    market = MARKETS[0]
    found = black_scholes.over_spot("color", spots, market)
    expected = [black_scholes.greek("color")(spot, *market[1:]) for spot in spots]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_greeks_are_drawn_and_the_volatility_found_again(tmp_path, capsys):
    path = tmp_path / "black_scholes.png"
    assert black_scholes.main(str(path))["gamma"] > 0
    out = capsys.readouterr().out
    assert "volatility implied by that price: 0.250000000000" in out
    assert "-d2C/dSdT" in out
    assert drawn(path)


# -- the registration ------------------------------------------------------------------------------
def test_the_sparse_jacobian_of_the_registration_is_the_dense_one():
    from scipy.optimize import approx_fprime

    images = sparse_fit.data(3)
    rng = np.random.default_rng(0)
    x = sparse_fit.start(images) + 0.1 * rng.standard_normal(100 + 9)
    sparse = fg.sparse_jacobian(sparse_fit.residuals)(x, images)
    dense = fg.jacobian(sparse_fit.residuals)(x, images)
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-14)
    numerical = approx_fprime(x, sparse_fit.residuals, 1e-7, images)
    np.testing.assert_allclose(dense, numerical, atol=1e-5)
    # At most 5 by 5 coefficients, a strength and two shifts a pixel; one parameter a belief.
    pattern = fg.sparsity(sparse_fit.residuals, x, images)
    assert np.max(np.diff(pattern.indptr)) == 28
    assert np.all(np.diff(pattern.indptr)[3 * 64 :] == 1)
    assert np.all(pattern.toarray() | (dense == 0))


def test_the_bump_is_scipys_quadratic_spline():
    from scipy.interpolate import BSpline

    t = np.linspace(-2, 2, 41)
    expected = np.nan_to_num(BSpline.basis_element([-1.5, -0.5, 0.5, 1.5], False)(t))
    np.testing.assert_allclose(sparse_fit.spline(t), expected, atol=1e-14)


def test_the_registration_is_a_minimum_in_the_template_and_in_each_image():
    images = sparse_fit.data(8)
    sparse = fg.sparse_jacobian(sparse_fit.residuals)
    # With a dense matrix, SciPy solves each step exactly and comes closer to the minimum.
    result = sparse_fit.fit(images, lambda *args: sparse(*args).toarray(), tol=1e-14)
    template, strength, shift = sparse_fit.split(result.x)
    # Strengths and shifts given, the best template is a ridge regression.
    wide = sparse_fit.WIDE
    basis = np.eye(wide**2).reshape(-1, wide, wide)
    columns = [(strength[:, None, None] * sparse_fit.shifted(b, shift)).ravel() for b in basis]
    matrix = np.vstack([np.stack(columns, axis=1), sparse_fit.WEIGHT * np.eye(wide**2)])
    best = np.linalg.lstsq(matrix, np.append(images.ravel(), np.zeros(wide**2)))[0]
    np.testing.assert_allclose(template.ravel(), best, atol=1e-6)
    # The template given, the best strength is a ridge regression of one number.
    for image, model, found in zip(
        images, sparse_fit.shifted(template, shift), strength, strict=True
    ):
        weight = sparse_fit.WEIGHT**2
        expected = (np.sum(image * model) + weight) / (np.sum(model**2) + weight)
        assert found == pytest.approx(expected, abs=1e-6)


def test_shifted_images_are_put_back():
    rng = np.random.default_rng(0)
    template = np.zeros((10, 10))
    template[3:7, 3:7] = rng.uniform(0.3, 1.0, (4, 4))
    shift = rng.uniform(-0.7, 0.7, (12, 2))
    images = sparse_fit.shifted(template, shift - shift.mean(axis=0))
    result = sparse_fit.fit(images)
    found = sparse_fit.split(result.x).shift
    off = (found - found.mean(axis=0)) - (shift - shift.mean(axis=0))
    assert np.max(np.abs(off)) < 0.05
    before, after = sparse_fit.errors(result.x, images)
    assert after < before / 10


def test_both_jacobians_lead_to_the_same_registration(tmp_path, capsys, monkeypatch):
    path = tmp_path / "sparse_fit.png"
    runs = sparse_fit.compared(sparse_fit.data(8), repeats=1)
    monkeypatch.setattr(sparse_fit, "compared", lambda images: runs)
    before, after = sparse_fit.main(str(path), count=12, few=8)
    assert after < 0.9 * before
    assert "sparse against dense" in capsys.readouterr().out
    assert drawn(path)
    assert runs["sparse"].result.cost == pytest.approx(runs["dense"].result.cost, rel=1e-4)
