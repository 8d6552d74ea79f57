"""A two-layer network reads handwritten digits: a pure function, its gradient, and a functional Adam.

The network is a function of (parameters, images) in plain NumPy. Training is iteration of a pure step
from state to state, driven by `toolz.iterate`; nothing is changed in place, so every earlier state
stays valid. Run it with ``python -m examples.digits``: it prints the accuracy on digits that the
network has not seen, and plots the loss and the misread digits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from toolz import iterate

import funcgrad as fg

Params = dict[str, np.ndarray]


class Adam(NamedTuple):
    """The state of training: parameters, their running moments, the count of steps, the last loss."""

    params: Params
    first: Params
    second: Params
    step: int
    loss: float


def network(params: Params, images):
    """The scores of the ten digits for each image."""
    hidden = np.maximum(images @ params["w1"] + params["b1"], 0.0)
    return hidden @ params["w2"] + params["b2"]


def loss(params: Params, images, labels):
    """The mean negative log-likelihood of the labels."""
    log_odds = fg.log_softmax(network(params, images), axis=1)
    return -np.mean(log_odds[np.arange(len(labels)), labels])


def initial(hidden: int, seed: int = 0) -> Adam:
    """Small random weights (He), no moments yet."""
    rng = np.random.default_rng(seed)
    params = {
        "w1": rng.standard_normal((64, hidden)) * np.sqrt(2 / 64),
        "b1": np.zeros(hidden),
        "w2": rng.standard_normal((hidden, 10)) * np.sqrt(2 / hidden),
        "b2": np.zeros(10),
    }
    zeros = {name: np.zeros_like(value) for name, value in params.items()}
    return Adam(params, zeros, zeros, 0, float("nan"))


def training(images, labels, rate: float = 3e-3, batch: int = 128, seed: int = 0):
    """The step of training: a function from state to state."""
    value_and_slope = fg.value_and_grad(loss)

    def step(state: Adam) -> Adam:
        rng = np.random.default_rng((seed, state.step))
        chosen = rng.choice(len(images), min(batch, len(images)), replace=False)
        value, slope = value_and_slope(state.params, images[chosen], labels[chosen])
        return adam(state, slope, rate)._replace(loss=value)

    return step


def adam(state: Adam, slope: Params, rate: float, decay=(0.9, 0.999), tiny: float = 1e-8) -> Adam:
    """One step of Adam (Kingma and Ba, 2015)."""
    t = state.step + 1
    first = {k: decay[0] * m + (1 - decay[0]) * slope[k] for k, m in state.first.items()}
    second = {k: decay[1] * v + (1 - decay[1]) * slope[k] ** 2 for k, v in state.second.items()}

    def moved(name: str) -> np.ndarray:
        mean = first[name] / (1 - decay[0] ** t)
        spread = np.sqrt(second[name] / (1 - decay[1] ** t))
        return state.params[name] - rate * mean / (spread + tiny)

    return Adam({name: moved(name) for name in state.params}, first, second, t, state.loss)


def train(images, labels, steps: int, hidden: int = 64, progress: bool = False) -> list[Adam]:
    """The states of training, the initial one first."""
    states: Iterator[Adam] = iterate(training(images, labels), initial(hidden))
    return list(_shown(islice(states, steps + 1), steps + 1, progress))


def _shown(states: Iterator[Adam], total: int, progress: bool) -> Iterator[Adam]:
    if not progress:
        return states
    try:
        from tqdm import tqdm
    except ImportError:
        return states
    return iter(tqdm(states, total=total, unit="step", desc="training"))


def data(seed: int = 0):
    """Scikit-learn's bundled digits: 8 by 8 images, their values scaled to 0..1, a quarter held out."""
    images, labels = load_digits(return_X_y=True)
    return train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=seed, stratify=labels
    )


def accuracy(params: Params, images, labels) -> float:
    """The share of images whose likeliest digit is the label."""
    return float(np.mean(np.argmax(network(params, images), axis=1) == labels))


def draw(states: list[Adam], images, labels, path: Path) -> None:
    """The loss over the steps, and the digits misread."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    read = np.argmax(network(states[-1].params, images), axis=1)
    wrong = np.flatnonzero(read != labels)
    shown = wrong[:12]
    columns = 4
    rows = max(2, -(-len(shown) // columns))
    losses = np.array([state.loss for state in states[1:]])
    figure = plt.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1))

    axes = left.subplots()
    axes.semilogy(losses, color="tab:blue", alpha=0.35, linewidth=0.8, label="each batch")
    axes.semilogy(_smooth(losses), color="tab:blue", linewidth=1.8, label="running median")
    axes.set(xlabel="step of Adam", ylabel="negative log-likelihood", title="Training")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)

    right.suptitle(f"{len(wrong)} of {len(labels)} unseen digits misread (label → read as)")
    grid = right.subplots(rows, columns)
    for cell in grid.flat:
        cell.axis("off")
    for cell, i in zip(grid.flat, shown, strict=False):
        cell.imshow(images[i].reshape(8, 8), cmap="gray_r", interpolation="nearest")
        cell.set_title(f"{labels[i]} → {read[i]}", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _smooth(values: np.ndarray, reach: int = 12) -> np.ndarray:
    """The median of the values around each one, ``reach`` of them on either side."""
    windows = [values[max(0, i - reach) : i + reach + 1] for i in range(len(values))]
    return np.array([np.median(window) for window in windows])


def main(
    path: str = "examples/output/digits.png", steps: int = 600, progress: bool = True
) -> float:
    """Train, print the accuracy on unseen digits, and draw."""
    train_images, test_images, train_labels, test_labels = data()
    states = train(train_images, train_labels, steps, progress=progress)
    score = accuracy(states[-1].params, test_images, test_labels)
    draw(states, test_images, test_labels, Path(path))
    print(f"accuracy on {len(test_labels)} unseen digits: {score:.1%}; figure: {path}")
    return score


if __name__ == "__main__":
    main(*sys.argv[1:2])
