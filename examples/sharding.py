"""One network on eight devices: XLA partitions the program over the images, the hidden units, or both.

The network and its loss are those of ``examples.digits``, in plain NumPy. `jit` with backend "jax" takes
arrays that are sharded over a mesh of devices, and XLA chooses how each operation is partitioned and which
collectives move data between the devices. Run it with ``python -m examples.sharding``: it makes eight
devices of one processor, and prints for each layout the collectives that XLA inserted, the largest
difference between the gradient and NumPy's, and the accuracy on unseen digits. The figure shows which device
has which part of the images and of the weights. JAX must be installed (``pip install ".[jax]"``).
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import funcgrad as fg
from examples import digits

COLLECTIVE = re.compile(r" (all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute)\(")


class Layout(NamedTuple):
    """How a mesh is cut into axes, and over which of them the arrays are partitioned."""

    shape: Callable[[int], tuple[int, int]]
    """The devices along "data" and along "model", of a number of devices."""
    params: dict[str, P]
    batch: P


WHOLE = {"w1": P(), "b1": P(), "w2": P(), "b2": P()}
HIDDEN = {"w1": P(None, "model"), "b1": P("model"), "w2": P("model"), "b2": P()}
LAYOUTS = {
    "data parallel": Layout(lambda n: (n, 1), WHOLE, P("data")),
    "model parallel": Layout(lambda n: (1, n), HIDDEN, P()),
    "both": Layout(lambda n: (n // 2, 2) if n > 1 else (1, 1), HIDDEN, P("data")),
}


def placed(layout: Layout, params: digits.Params, *batch: np.ndarray) -> tuple[Any, ...]:
    """Parameters and data on all devices."""
    devices = np.array(jax.devices())
    mesh = Mesh(
        devices.reshape(layout.shape(devices.size)),
        ("data", "model"),
        axis_types=(AxisType.Auto,) * 2,
    )
    own = {
        name: jax.device_put(value, NamedSharding(mesh, layout.params[name]))
        for name, value in params.items()
    }
    return own, *[jax.device_put(array, NamedSharding(mesh, layout.batch)) for array in batch]


def collectives(f: Callable[..., Any], *args: Any) -> Counter[str]:
    """The collectives in the program that XLA compiles f to."""
    return Counter(COLLECTIVE.findall(jax.jit(fg.to_jax(f)).lower(*args).compile().as_text()))


def descend(params: Any, slope: Any, rate: float = 0.5) -> Any:
    """One step of gradient descent, which leaves each parameter where it is."""
    return {name: value - rate * slope[name] for name, value in params.items()}


def train(layout: Layout, images: np.ndarray, labels: np.ndarray, steps: int) -> tuple[Any, float]:
    """The parameters and the loss after some steps on all images."""
    params, *batch = placed(layout, digits.initial(64).params, images, labels)
    both = fg.jit(fg.value_and_grad(digits.loss), backend="jax")

    def step(state: tuple[Any, float], _: int) -> tuple[Any, float]:
        value, slope = both(state[0], *batch)
        return descend(state[0], slope), float(value)

    return reduce(step, range(steps), (params, float("nan")))


def difference(layout: Layout, images: np.ndarray, labels: np.ndarray) -> float:
    """The largest difference of the gradient from that of NumPy, on one device."""
    params = digits.initial(64).params
    slope = fg.jit(fg.grad(digits.loss), backend="jax")(*placed(layout, params, images, labels))
    expected = fg.grad(digits.loss)(params, images, labels)
    return max(float(np.max(np.abs(np.asarray(slope[k]) - expected[k]))) for k in params)


def draw(images: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """The parts of the images and of the first weights, colored by the device that has them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, len(LAYOUTS), figsize=(9, 6), layout="constrained")
    for column, (name, layout) in zip(grid.T, LAYOUTS.items(), strict=True):
        params, data, _ = placed(layout, digits.initial(64).params, images, labels)
        for axes, array, title in zip(column, (data, params["w1"]), ("images", "w1"), strict=True):
            draw_parts(axes, array)
            rows, columns = array.shape
            axes.set(xlim=(0, columns), ylim=(rows, 0), title=f"{name}: {title}")
            axes.set(xlabel=f"{columns} columns", ylabel=f"{rows} rows", xticks=[], yticks=[])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_parts(axes: Any, array: Any) -> None:
    """A rectangle for each part, with the numbers of the devices that have it."""
    from matplotlib.patches import Rectangle

    places: dict[tuple[float, float, float, float], list[int]] = {}
    for shard in array.addressable_shards:
        (top, bottom, _), (left, right, _) = [
            part.indices(length) for part, length in zip(shard.index, array.shape, strict=True)
        ]
        places.setdefault((left, top, right - left, bottom - top), []).append(shard.device.id)
    for (left, top, width, height), devices in places.items():
        color = f"C{devices[0]}"
        axes.add_patch(Rectangle((left, top), width, height, fc=color, alpha=0.5, ec="k"))
        told = "all" if len(devices) == len(jax.devices()) else ",".join(map(str, devices))
        axes.text(left + width / 2, top + height / 2, told, ha="center", va="center", fontsize=9)


Found = tuple[Counter[str], float, float]


def main(path: str = "examples/output/sharding.png", steps: int = 60) -> dict[str, Found]:
    """For each layout the collectives, the difference of the gradient, and the accuracy; they are printed."""
    jax.config.update("jax_enable_x64", True)
    images, test, labels, test_labels = digits.data()
    count = len(images) // len(jax.devices()) * len(jax.devices())
    images, labels = images[:count], labels[:count]
    found = {}
    for name, layout in LAYOUTS.items():
        inserted = collectives(
            fg.value_and_grad(digits.loss),
            *placed(layout, digits.initial(64).params, images, labels),
        )
        params, _ = train(layout, images, labels, steps)
        score = digits.accuracy({k: np.asarray(v) for k, v in params.items()}, test, test_labels)
        found[name] = inserted, difference(layout, images, labels), score
        told = ", ".join([f"{n} {kind}" for kind, n in sorted(inserted.items())]) or "none"
        print(f"{name}: {told}; difference {found[name][1]:.0e}; accuracy {score:.1%}")
    draw(images, labels, Path(path))
    print(f"figure: {path}")
    return found


if __name__ == "__main__":
    # JAX reads it when the devices are asked for first.
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    main(*sys.argv[1:2])
