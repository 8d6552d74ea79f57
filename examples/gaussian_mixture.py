"""A Gaussian mixture finds the three species of iris in unlabeled data, by descent and not by EM.

The textbook way to fit a mixture is expectation-maximization, an algorithm derived for this very model.
With gradients, the program is the likelihood and a minimizer. Three choices make it well defined: sums of
densities are `logsumexp`; the shares are a softmax of free numbers; and each covariance is given by the
Cholesky factor of its inverse, a triangle with an exponential on the diagonal, so that every vector of
parameters is a proper mixture. The optimum is that of scikit-learn's EM. Run it with
``python -m examples.gaussian_mixture``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

import funcgrad as fg
from funcgrad.optim import Minimum, minimize

Params = dict[str, np.ndarray]


def data():
    """150 irises: sepal and petal, length and width in cm; the species; names of the measurements."""
    bunch = load_iris()
    return bunch.data, bunch.target, [name.removesuffix(" (cm)") for name in bunch.feature_names]


def factors(params: Params):
    """The Cholesky factors P of the precisions: covariance⁻¹ = P P', P lower triangular."""
    size = params["mean"].shape[1]
    diagonal = np.exp(params["log_scale"])[:, :, None] * np.eye(size)
    return diagonal + params["below"] * np.tril(np.ones((size, size)), -1)


def log_densities(params: Params, points):
    """The logarithm of share times density: a row a point, a column a component."""
    off = points[:, None, :] - params["mean"]
    scaled = np.einsum("nki,kij->nkj", off, factors(params))
    log_root = np.sum(params["log_scale"], axis=1) - points.shape[1] / 2 * np.log(2 * np.pi)
    return fg.log_softmax(params["share"]) + log_root - np.sum(scaled**2, axis=2) / 2


def log_likelihood(params: Params, points):
    """The mean log-likelihood of a point."""
    return np.mean(fg.logsumexp(log_densities(params, points), axis=1))


def params_of(means, covariances, shares) -> Params:
    """The free parameters of a mixture."""
    roots = np.linalg.cholesky(np.linalg.inv(covariances))
    return {
        "share": np.log(shares),
        "mean": np.array(means),
        "log_scale": np.log(np.diagonal(roots, axis1=1, axis2=2)),
        "below": np.tril(roots, -1),
    }


def start(points, components: int, seed: int = 0) -> Params:
    """The means, covariances and shares of k-means' clusters."""
    found = KMeans(components, n_init=10, random_state=seed).fit_predict(points)
    groups = [points[found == k] for k in range(components)]
    return params_of(
        [group.mean(axis=0) for group in groups],
        np.stack([np.cov(group.T) for group in groups]),
        np.array([len(group) / len(points) for group in groups]),
    )


def fit(points, components: int = 3, tol: float = 1e-6) -> Minimum:
    """The likeliest mixture near k-means' clusters, by L-BFGS."""

    def loss(params):
        return -log_likelihood(params, points)

    return minimize(loss, start(points, components), "lbfgs", tol=tol)


def covariances(params: Params) -> np.ndarray:
    """The covariance of each component."""
    roots = factors(params)
    return np.linalg.inv(roots @ np.swapaxes(roots, 1, 2))


def clusters(params: Params, points) -> np.ndarray:
    """The likeliest component of each point."""
    return np.argmax(log_densities(params, points), axis=1)


def purity(found, labels) -> float:
    """The share of points whose species is that of most points in their cluster."""
    most = [np.max(np.bincount(labels[found == k])) for k in np.unique(found)]
    return float(np.sum(most) / len(labels))


def draw(params: Params, points, labels, names: list[str], path: Path) -> None:
    """The points by species, and each component's ellipses of one and two standard deviations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    markers, colors = "os^", ("tab:blue", "tab:orange", "tab:green")
    species = load_iris().target_names
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    spread = covariances(params)
    figure, grid = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for axes, pair in zip(grid, ((2, 3), (0, 1)), strict=True):
        for k, color in enumerate(colors):
            mine = points[labels == k][:, pair]
            axes.scatter(*mine.T, marker=markers[k], s=18, color=color, alpha=0.7, label=species[k])
        for mean, covariance in zip(params["mean"], spread, strict=True):
            root = np.linalg.cholesky(covariance[np.ix_(pair, pair)])
            for radius, width in ((1, 1.6), (2, 0.9)):
                x, y = mean[list(pair), None] + radius * root @ circle
                axes.plot(x, y, color="black", linewidth=width)
        axes.set(xlabel=f"{names[pair[0]]} [cm]", ylabel=f"{names[pair[1]]} [cm]")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    grid[0].legend(frameon=False)
    figure.suptitle("Three components found without the species (color), at one and two deviations")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(path: str = "examples/output/gaussian_mixture.png") -> Minimum:
    """Fit, print the likelihood and the purity, and draw."""
    points, labels, names = data()
    result = fit(points)
    score = log_likelihood(result.x, points)
    pure = purity(clusters(result.x, points), labels)
    before = log_likelihood(start(points, 3), points)
    print(f"log-likelihood a flower: {before:.4f} at k-means' clusters, {score:.6f} fitted")
    print(result.message)
    print(f"purity of the clusters: {pure:.1%}")
    draw(result.x, points, labels, names, Path(path))
    print(f"figure: {path}")
    return result


if __name__ == "__main__":
    main(*sys.argv[1:2])
