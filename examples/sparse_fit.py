"""Handwritten zeros are registered with one another: nonlinear least squares with a sparse Jacobian.

The mean of many handwritten digits is a blur, since no two stand at the same place. So give each image a
shift and a strength of its own, let all share one template, a smooth spline, and fit everything at once:

    image_i(y, x) ≈ strength_i * template(y - shift_iy, x - shift_ix).

It is a small bundle adjustment: each pixel depends on the three numbers of its own image and on a few
coefficients of the template, and on none of the hundreds of others. `fg.sparse_jacobian` finds this pattern
in the program, computes columns that share no row together, and returns a SciPy sparse matrix. The fitted
template is sharper than the pixels. Run it with ``python -m examples.sparse_fit``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, least_squares
from sklearn.datasets import load_digits

import funcgrad as fg

PIXELS = 8
# The template's coefficients: one a pixel, and a margin of one, so that it can be shifted in.
WIDE = PIXELS + 2
# A coefficient reaches a pixel, shifted by less than one, from at most two pixels away.
OFFSETS = np.arange(-2, 3)
# The weight of a weak prior: strengths near 1, all other parameters near 0. It determines what the images
# do not: the template's position, its darkness, and its corners, which few pixels depend on.
WEIGHT = 0.1


class Parts(NamedTuple):
    """The parameters of a fit, in the order in which one vector holds them."""

    template: np.ndarray
    strength: np.ndarray
    shift: np.ndarray


def data(count: int | None = None, digit: int = 0) -> np.ndarray:
    """Scikit-learn's images of one digit, 8 by 8, their values scaled to 0..1."""
    bunch = load_digits()
    return bunch.images[bunch.target == digit][:count] / 16.0


def split(x) -> Parts:
    """The parts of a vector of parameters; a shift is the tanh of what is fitted, so less than 1."""
    rest = x[WIDE**2 :]
    count = rest.shape[0] // 3
    shift = np.tanh(np.reshape(rest[count:], (count, 2)))
    return Parts(np.reshape(x[: WIDE**2], (WIDE, WIDE)), rest[:count], shift)


def spline(t):
    """The quadratic B-spline, a smooth bump on -1.5 < t < 1.5, as a sum of truncated powers."""
    powers = [np.maximum(t + 1.5 - k, 0.0) ** 2 for k in range(4)]
    return (powers[0] - 3 * powers[1] + 3 * powers[2] - powers[3]) / 2


def shifted(template, shift):
    """The template, shifted for each image: first its rows, then its columns."""
    padded = np.pad(template, 1)
    down, right = (spline(shift[:, k, None] + OFFSETS) for k in (0, 1))
    rows = np.stack([padded[2 + o : 2 + o + PIXELS] for o in OFFSETS])
    tall = np.einsum("io,orc->irc", down, rows)
    columns = np.stack([tall[:, :, 2 + o : 2 + o + PIXELS] for o in OFFSETS])
    return np.einsum("io,oirc->irc", right, columns)


def residuals(x, images):
    """The residuals of the model and of the weak prior on the parameters, in one vector."""
    template, strength, shift = split(x)
    off = strength[:, None, None] * shifted(template, shift) - images
    beliefs = np.concatenate([template.ravel(), strength - 1, shift.ravel()])
    return np.concatenate([off.ravel(), WEIGHT * beliefs])


def start(images) -> np.ndarray:
    """The mean image, not shifted."""
    mean = np.pad(images.mean(axis=0), 1)
    return np.concatenate([mean.ravel(), np.ones(len(images)), np.zeros(2 * len(images))])


def fit(images, jacobian: Callable | None = None, tol: float = 1e-8) -> OptimizeResult:
    """SciPy's least squares, with a sparse Jacobian unless another one is given."""
    jacobian = fg.sparse_jacobian(residuals) if jacobian is None else jacobian
    return least_squares(
        residuals, start(images), jac=jacobian, args=(images,), method="trf", xtol=tol, ftol=tol
    )


class Run(NamedTuple):
    """A fit with one kind of Jacobian: the result, and the seconds of the fit and of one Jacobian."""

    result: OptimizeResult
    seconds: float
    once: float


def compared(images, repeats: int = 5) -> dict[str, Run]:
    """The same fit with the sparse and with the dense Jacobian."""
    kinds = {"sparse": fg.sparse_jacobian(residuals), "dense": fg.jacobian(residuals)}
    return {name: _timed(images, jacobian, repeats) for name, jacobian in kinds.items()}


def _timed(images, jacobian: Callable, repeats: int) -> Run:
    began = perf_counter()
    result = fit(images, jacobian)
    seconds = perf_counter() - began
    times = []
    for _ in range(repeats):
        began = perf_counter()
        jacobian(result.x, images)
        times.append(perf_counter() - began)
    return Run(result, seconds, min(times))


def errors(x, images) -> tuple[float, float]:
    """The root mean square error of a pixel: about the mean image, and about the fit."""
    template, strength, shift = split(x)
    fitted = strength[:, None, None] * shifted(template, shift)
    return tuple(float(np.sqrt(np.mean((m - images) ** 2))) for m in (images.mean(axis=0), fitted))


def magnified(template, factor: int = 12) -> np.ndarray:
    """The template on a grid that many times finer than the pixels."""
    places = (np.arange(PIXELS * factor) + 0.5) / factor - 0.5
    reach = spline(places[:, None] - (np.arange(WIDE) - 1))
    return reach @ template @ reach.T


def draw(x, images, path: Path) -> None:
    """The mean and the template, the shifts, and the pattern of the Jacobian."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    template, _, shift = split(x)
    figure = plt.figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
    cells = left.subplot_mosaic([["mean", "template"], ["mean", "template"], ["some", "some"]])
    shown = {
        "mean": (images.mean(axis=0), "the mean image"),
        "template": (magnified(template), "the fitted template"),
    }
    for name, (image, title) in shown.items():
        cells[name].imshow(image, cmap="gray_r", vmin=0, vmax=1)
        cells[name].set(xticks=[], yticks=[], title=title)
    some = np.linspace(0, len(images) - 1, 9).astype(int)
    cells["some"].imshow(np.pad(np.hstack(images[some]), 1), cmap="gray_r")
    cells["some"].set_title(f"some of the {len(images)} images; the cross is where each was put")
    centers = np.arange(9) * PIXELS + PIXELS / 2 + 0.5
    cells["some"].plot(
        centers + shift[some, 1], PIXELS / 2 + 0.5 + shift[some, 0], "+", color="tab:red", ms=12
    )
    cells["some"].axis("off")

    few = 10
    pattern = fg.sparsity(residuals, start(images[:few]), images[:few])
    axes = right.subplots()
    axes.spy(pattern, markersize=0.7, color="tab:blue", aspect="auto", rasterized=True)
    axes.xaxis.set_ticks_position("bottom")
    axes.set(xlabel="parameter: template, strengths, shifts", ylabel="residual")
    share = pattern.nnz / np.prod(pattern.shape)
    axes.set_title(f"The Jacobian of {few} images: {share:.1%} can be nonzero", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(
    path: str = "examples/output/sparse_fit.png", count: int | None = None, few: int = 30
) -> tuple[float, float]:
    """Fit all zeros, compare with the dense Jacobian on a few, and draw."""
    images = data(count)
    began = perf_counter()
    result = fit(images)
    seconds = perf_counter() - began
    before, after = errors(result.x, images)
    print(
        f"{len(images)} images, {len(result.fun)} residuals of {len(result.x)} parameters: "
        f"{result.njev} Jacobians, {seconds:.1f} s"
    )
    print(f"error of a pixel: {before:.3f} about the mean, {after:.3f} about the fit")
    runs = compared(images[:few])
    sparse, dense = runs["sparse"], runs["dense"]
    print(
        f"{few} images, sparse against dense: a Jacobian {dense.once / sparse.once:.1f} times faster, "
        f"the fit {dense.seconds / sparse.seconds:.1f} times (LSMR against an SVD a step); "
        f"{sparse.result.njev} steps against {dense.result.njev}, "
        f"cost {sparse.result.cost:.5f} and {dense.result.cost:.5f}"
    )
    draw(result.x, images, Path(path))
    print(f"figure: {path}")
    return before, after


if __name__ == "__main__":
    main(*sys.argv[1:2])
