"""An epidemic fitted through the solver of its differential equation, by gradients.

In January 1978 influenza broke out in a boarding school in the north of England. The British Medical
Journal (4 March 1978, p. 587) printed how many of the 763 boys were confined to bed on each day, and
textbooks have used the numbers ever since. It seems that one boy brought it. The model is Kermack's and
McKendrick's: susceptible boys fall ill by meeting sick ones, and sick ones recover,

    S' = -β S I / N,    I' = β S I / N - γ I.

`odeint` integrates it with steps of adaptive size, Levenberg-Marquardt fits β and γ, and funcgrad computes
the derivatives through every step of the solver, for the fit and for its uncertainty.
Murray (Mathematical Biology, 1989) has β/N = 2.18e-3 and γ N/β = 202, which is R0 = β/γ = 3.8 and
an infectious period of 1/γ = 2.3 days. Run it with ``python -m examples.sir``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import funcgrad as fg
from funcgrad.optim import Minimum, minimize

BOYS = 763
IN_BED = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4], float)
# The first count is of 22 January; one boy is taken to have been ill the day before.
DAYS = np.arange(1, 1 + len(IN_BED))
MURRAY = (763 / 202, 1 / (2.18e-3 * 202))


class Estimate(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"


def epidemic(log_rates, per_day: int = 10):
    """Susceptible and sick boys at the times 0, 1/per_day, ... to the last day.

    Of the logarithms of β and γ, which may be any numbers.
    """
    times = np.arange(DAYS[-1] * per_day + 1) / per_day

    def slope(state, _, beta, gamma):
        infections = beta * state[0] * state[1] / BOYS
        return np.stack([-infections, infections - gamma * state[1]])

    start = np.array([BOYS - 1.0, 1.0])
    rates = np.exp(log_rates)
    states = fg.odeint(slope, start, times, rates[0], rates[1], rtol=1e-9, atol=1e-7)
    return states[:, 0], states[:, 1]


def residuals(log_rates):
    """The sick boys of the model less those in bed, day by day."""
    return epidemic(log_rates, per_day=1)[1][1:] - IN_BED


def fit(beta: float = 1.0, gamma: float = 0.3) -> Minimum:
    """The least-squares rates, as logarithms, by Levenberg-Marquardt."""
    return minimize(residuals, np.log([beta, gamma]), "lm", tol=1e-3)


def quoted(log_rates):
    """The usual summary: R0, and the mean number of days that a boy is infectious."""
    return np.stack([np.exp(log_rates[0] - log_rates[1]), np.exp(-log_rates[1])])


def noise(log_rates) -> float:
    """The standard deviation of a day's count from the curve."""
    off = residuals(log_rates)
    return float(np.sqrt(off @ off / (len(off) - len(log_rates))))


def covariance(log_rates) -> np.ndarray:
    """The covariance of the fitted parameters, as nonlinear regression estimates it."""
    slope = fg.jacobian(residuals)(log_rates)
    return noise(log_rates) ** 2 * np.linalg.inv(slope.T @ slope)


def quoted_covariance(log_rates) -> np.ndarray:
    """That of R0 and the days: carried over by their Jacobian."""
    slope = fg.jacobian(quoted)(log_rates)
    return slope @ covariance(log_rates) @ slope.T


def estimates(log_rates) -> tuple[Estimate, Estimate]:
    """R0 and the days that a boy is infectious, with standard errors."""
    errors = np.sqrt(np.diag(quoted_covariance(log_rates)))
    r0, days = (
        Estimate(float(x), float(e)) for x, e in zip(quoted(log_rates), errors, strict=True)
    )
    return r0, days


def curve_error(log_rates, per_day: int = 10) -> np.ndarray:
    """The standard error of the curve of sick boys at each time: derivatives through the solver."""
    slope = fg.jacobian(lambda rates: epidemic(rates, per_day)[1])(log_rates)
    return np.sqrt(np.einsum("ti,ij,tj->t", slope, covariance(log_rates), slope))


def draw(log_rates, path: Path, per_day: int = 10) -> None:
    """The boys in bed and the fitted epidemic; how well R0 and the infectious period are known."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.2), width_ratios=(1.6, 1), layout="constrained"
    )
    susceptible, sick = epidemic(log_rates, per_day)
    times = np.arange(len(sick)) / per_day
    width = 2 * np.hypot(curve_error(log_rates, per_day), noise(log_rates))
    low = np.maximum(sick - width, 0)
    left.fill_between(times, low, sick + width, color="tab:red", alpha=0.15, linewidth=0)
    left.plot(times, susceptible, color="tab:blue", linewidth=1.2, label="susceptible")
    left.plot(times, BOYS - susceptible - sick, color="tab:green", linewidth=1.2, label="recovered")
    left.plot(times, sick, color="tab:red", label="sick, ± 2 standard errors")
    left.scatter(DAYS, IN_BED, color="black", s=22, zorder=3, label="counted in bed")
    left.set(xlabel="days from 21 January 1978", ylabel="boys", ylim=(-12, BOYS + 20))
    left.set_title("Influenza in a boarding school of 763 boys")
    left.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1.0, 0.62))

    center = quoted(log_rates)
    root = np.linalg.cholesky(quoted_covariance(log_rates))
    angle = np.linspace(0, 2 * np.pi, 200)
    for share, alpha in ((0.95, 0.15), (0.5, 0.3)):
        # The radius that holds such a share of the normal distribution in the plane.
        radius = np.sqrt(-2 * np.log(1 - share))
        x, y = center[:, None] + radius * root @ np.stack([np.cos(angle), np.sin(angle)])
        right.fill(x, y, color="tab:purple", alpha=alpha, linewidth=0, label=f"{share:.0%}")
    right.scatter(*center, color="tab:purple", s=28, zorder=3, label="fit")
    right.scatter(*MURRAY, marker="x", color="black", zorder=4, label="Murray, 1989")
    right.set(xlabel="reproduction number R0", ylabel="infectious period [days]")
    right.set_title("What the counts say of them")
    right.legend(frameon=False, fontsize=9, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(path: str = "examples/output/sir.png") -> tuple[Estimate, Estimate]:
    """Fit, print the reproduction number and the infectious period, and draw."""
    result = fit()
    r0, days = estimates(result.x)
    print(f"{result.steps} steps; a day's count is {noise(result.x):.0f} boys off the curve")
    print(f"R0 {r0}; published: {MURRAY[0]:.2f}")
    print(f"infectious for {days} days; published: {MURRAY[1]:.2f}")
    draw(result.x, Path(path))
    print(f"figure: {path}")
    return r0, days


if __name__ == "__main__":
    main(*sys.argv[1:2])
