"""Logistic regression on the breast-cancer data: a loss in NumPy, its gradient, SciPy's optimizer.

`fg.value_and_grad(loss)` is the function that ``scipy.optimize.minimize(..., jac=True)`` expects. Run it with
``python -m examples.logistic``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import funcgrad as fg


def data(seed: int = 0):
    """569 tumors, 30 measurements each, standardized by the training part; 1 is benign."""
    bunch = load_breast_cancer()
    parts = train_test_split(
        bunch.data, bunch.target, test_size=0.25, random_state=seed, stratify=bunch.target
    )
    train, test, train_labels, test_labels = parts
    center, spread = train.mean(axis=0), train.std(axis=0)
    scaled = ((train - center) / spread, (test - center) / spread)
    return (*scaled, train_labels, test_labels, list(bunch.feature_names))


def loss(weights, features, labels, penalty: float = 1e-2):
    """The mean negative log-likelihood of labels 0 and 1, and a ridge penalty on all but the bias.

    log(1 + exp(score)) is written as in a textbook; the simplifier makes it stable.
    """
    score = features @ weights[1:] + weights[0]
    fit = np.mean(np.log(1 + np.exp(score)) - labels * score)
    return fit + penalty * np.sum(weights[1:] ** 2)


def fit(features, labels) -> OptimizeResult:
    """The minimum, by BFGS with exact gradients."""
    start = np.zeros(features.shape[1] + 1)
    return minimize(
        fg.value_and_grad(loss), start, args=(features, labels), jac=True, method="BFGS"
    )


def accuracy(weights, features, labels) -> float:
    """The share of tumors on the right side of the plane."""
    return float(np.mean((features @ weights[1:] + weights[0] > 0) == labels))


def draw(weights, names: list[str], path: Path) -> None:
    """The twelve strongest weights."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    strongest = 1 + np.argsort(-np.abs(weights[1:]))[:12][::-1]
    values = weights[strongest]
    colors = ["tab:blue" if value > 0 else "tab:red" for value in values]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    bars = axes.barh([names[i - 1] for i in strongest], values, color=colors)
    axes.bar_label(bars, fmt="%+.2f", padding=3, fontsize=9)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.margins(x=0.12)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set(
        title="What tells the tumors apart: the strongest coefficients",
        xlabel="change of the log-odds by one standard deviation\n(malignant < 0 < benign)",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(path: str = "examples/output/logistic.png") -> float:
    """Fit, print the accuracy on unseen tumors, and draw."""
    train, test, train_labels, test_labels, names = data()
    result = fit(train, train_labels)
    score = accuracy(result.x, test, test_labels)
    draw(result.x, names, Path(path))
    print(
        f"loss {result.fun:.4f} after {result.nit} steps; "
        f"accuracy on {len(test_labels)} unseen tumors: {score:.1%}; figure: {path}"
    )
    return score


if __name__ == "__main__":
    main(*sys.argv[1:2])
