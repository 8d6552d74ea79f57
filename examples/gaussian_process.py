"""A Gaussian process learns how smooth the data are: the marginal likelihood, differentiated.

How ill will a diabetes patient be in a year, given body mass, blood pressure and a blood value? A
Gaussian process believes that similar patients fare similarly; how similar, in which measurement, and
how noisy it all is are its hyperparameters. They are found by maximizing the marginal likelihood,

    log p(y) = -½ y' K⁻¹ y - ½ log |K| - n/2 log 2π,

written here as it is computed, by `np.linalg.cholesky`. Its gradient is usually worked out by hand for
each kernel; here it is `fg.grad`, and the `hessian` adds how well the hyperparameters are known. The
optimum is that of scikit-learn. Run it with ``python -m examples.gaussian_process``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

import funcgrad as fg
from funcgrad.optim import Minimum, minimize

FEATURES = {"bmi": "body mass index", "bp": "blood pressure", "s5": "log of triglycerides"}


class Data(NamedTuple):
    """Patients: measurements and progression, standardized by those that are learnt from."""

    points: np.ndarray
    targets: np.ndarray
    test_points: np.ndarray
    test_targets: np.ndarray
    spread: float
    """The standard deviation of the progression, which scales it back."""


def data(count: int = 150) -> Data:
    """The first patients of scikit-learn's bundled diabetes study, and all others to test on."""
    bunch = load_diabetes()
    columns = [bunch.feature_names.index(name) for name in FEATURES]
    points, targets = bunch.data[:, columns], bunch.target
    points = (points - points[:count].mean(axis=0)) / points[:count].std(axis=0)
    center, spread = targets[:count].mean(), targets[:count].std()
    scaled = (targets - center) / spread
    return Data(points[:count], scaled[:count], points[count:], scaled[count:], float(spread))


def kernel(params, left, right):
    """How much the values at two points go together: Gaussian bumps, one length for each feature.

    ``params`` are logarithms: of the amplitude, of the noise, and of the lengths.
    """
    off = (left[:, None, :] - right) / np.exp(params[2:])
    return np.exp(2 * params[0] - np.sum(off**2, axis=2) / 2)


def noisy(params, points):
    """The covariance of the observations at the points."""
    return kernel(params, points, points) + np.exp(2 * params[1]) * np.eye(len(points))


def log_likelihood(params, points, targets):
    """The logarithm of the marginal likelihood."""
    root = np.linalg.cholesky(noisy(params, points))
    white = np.linalg.solve(root, targets)
    log_root = np.sum(np.log(np.diagonal(root)))
    return -(white @ white) / 2 - log_root - len(targets) / 2 * np.log(2 * np.pi)


def start(features: int = len(FEATURES)) -> np.ndarray:
    """Amplitude 1, noise a half, lengths of two standard deviations."""
    return np.log([1.0, 0.5, *[2.0] * features])


def fit(points, targets, tol: float = 1e-5) -> Minimum:
    """The likeliest hyperparameters, by L-BFGS."""

    def loss(params):
        return -log_likelihood(params, points, targets)

    return minimize(loss, start(points.shape[1]), "lbfgs", tol=tol)


def errors(params, points, targets) -> np.ndarray:
    """The standard errors of the logarithms: the curvature of the likelihood at its top."""
    curvature = -fg.hessian(log_likelihood)(params, points, targets)
    return np.sqrt(np.diag(np.linalg.inv(curvature)))


def predict(params, points, targets, where) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of the function, without noise, at other points."""
    root = np.linalg.cholesky(noisy(params, points))
    across = np.linalg.solve(root, kernel(params, points, where))
    mean = across.T @ np.linalg.solve(root, targets)
    variance = np.exp(2 * params[0]) - np.sum(across**2, axis=0)
    return mean, np.sqrt(variance)


def explained(mean, targets) -> float:
    """The share of the variance that a prediction explains."""
    return float(1 - np.sum((targets - mean) ** 2) / np.sum((targets - targets.mean()) ** 2))


def draw(params, known: Data, path: Path) -> None:
    """Plot the function along each feature, the others at their means, with its uncertainty."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for k, (axes, title) in enumerate(zip(grid, FEATURES.values(), strict=True)):
        along = np.linspace(known.points[:, k].min() - 0.5, known.points[:, k].max() + 0.5, 150)
        where = np.zeros((len(along), len(FEATURES)))
        where[:, k] = along
        mean, deviation = predict(params, known.points, known.targets, where)
        observed = np.hypot(deviation, np.exp(params[1]))
        for width, alpha, label in (
            (observed, 0.12, "95 % of such patients"),
            (deviation, 0.3, "95 % of what the mean may be"),
        ):
            low, high = mean - 1.96 * width, mean + 1.96 * width
            axes.fill_between(
                along, low, high, color="tab:blue", alpha=alpha, linewidth=0, label=label
            )
        axes.plot(along, mean, color="tab:blue", linewidth=1.8, label="mean")
        axes.scatter(
            known.points[:, k], known.targets, s=9, color="black", alpha=0.45, linewidths=0
        )
        axes.set(xlabel="standard deviations from the mean", xlim=(along[0], along[-1]))
        axes.set_title(f"{title} (length {np.exp(params[2 + k]):.1f})", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    grid[0].set_ylabel("progression after a year\n[standard deviations]")
    grid[0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.suptitle("The other two features at their means; the points are all patients")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(path: str = "examples/output/gaussian_process.png", count: int = 150) -> Minimum:
    """Fit, print the hyperparameters and predictions, and draw."""
    known = data(count)
    result = fit(known.points, known.targets)
    names = ("amplitude", "noise", *(f"length of {name}" for name in FEATURES))
    print(result.message)
    print(f"log marginal likelihood {-result.value:.4f}")
    spread = errors(result.x, known.points, known.targets)
    for name, value, error in zip(names, result.x, spread, strict=True):
        print(f"  {name:>13} {np.exp(value):7.3f}, its logarithm to within {error:.2f}")
    mean, _ = predict(result.x, known.points, known.targets, known.test_points)
    share = explained(mean, known.test_targets)
    print(f"explains {share:.1%} of the variance of {len(mean)} other patients")
    draw(result.x, known, Path(path))
    print(f"figure: {path}")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:2])
