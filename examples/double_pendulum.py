"""A double pendulum from its Lagrangian alone: automatic differentiation does the mechanics.

The equations of motion are not derived by hand. The program has the kinetic minus the potential energy,
L(q, v), and the Euler-Lagrange equations follow from its derivatives. The momentum is p = dL/dv, so

    d/dt p = dL/dq   gives   (d²L/dv²) a = dL/dq - (dp/dq) v,

where the mass matrix d²L/dv² is a `hessian` and dp/dq a `jacobian` of a `grad`. The two-by-two system is
solved, and the classical Runge-Kutta method integrates it in a `scan`: a rolled loop whose body was
differentiated twice. The energy is conserved, so its drift measures the error. Run it with
``python -m examples.double_pendulum``.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import funcgrad as fg


class Pendulum(NamedTuple):
    """Two masses on two massless rods, in SI units."""

    mass1: float = 1.0
    mass2: float = 1.0
    length1: float = 1.0
    length2: float = 1.0
    gravity: float = 9.81


# Two masses of a kilogram on two rods of a meter.
EQUAL = Pendulum()


def lagrangian(angles, speeds, body: Pendulum = EQUAL):
    """Kinetic less potential energy; the angles are measured from where the rods hang down."""
    (a, b), (a_dot, b_dot) = angles, speeds
    m1, m2, l1, l2, g = body
    first = (l1 * a_dot) ** 2
    second = first + (l2 * b_dot) ** 2 + 2 * l1 * l2 * a_dot * b_dot * np.cos(a - b)
    height1 = -l1 * np.cos(a)
    height2 = height1 - l2 * np.cos(b)
    return (m1 * first + m2 * second) / 2 - g * (m1 * height1 + m2 * height2)


def momentum(angles, speeds, body: Pendulum = EQUAL):
    """dL/dv: the momenta that belong to the angles."""
    return fg.grad(lagrangian, argnums=1)(angles, speeds, body)


def accelerations(angles, speeds, body: Pendulum = EQUAL):
    """The Euler-Lagrange equations, solved for the accelerations."""
    mass = fg.hessian(lagrangian, argnums=1)(angles, speeds, body)
    drift = fg.jacobian(momentum)(angles, speeds, body) @ speeds
    force = fg.grad(lagrangian)(angles, speeds, body) - drift
    determinant = mass[0, 0] * mass[1, 1] - mass[0, 1] * mass[1, 0]
    return np.stack(
        [
            (mass[1, 1] * force[0] - mass[0, 1] * force[1]) / determinant,
            (mass[0, 0] * force[1] - mass[1, 0] * force[0]) / determinant,
        ]
    )


def energy(angles, speeds, body: Pendulum = EQUAL):
    """v · dL/dv - L, which the motion keeps (Noether: L does not depend on time)."""
    return momentum(angles, speeds, body) @ speeds - lagrangian(angles, speeds, body)


def motion(angles, speeds, step: float, count: int, body: Pendulum = EQUAL):
    """The angles and speeds at times 0, step, ..., count steps: two arrays, a row a time."""

    def rate(state):
        return state[1], accelerations(*state, body)

    def moved(state, by, along):
        return tuple(x + by * dx for x, dx in zip(state, along, strict=True))

    def advance(state, _):
        k1 = rate(state)
        k2 = rate(moved(state, step / 2, k1))
        k3 = rate(moved(state, step / 2, k2))
        k4 = rate(moved(state, step, k3))
        slope = tuple(
            (a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)
        )
        return moved(state, step, slope), state

    last, before = fg.scan(advance, (angles, speeds), length=count)
    return tuple(np.concatenate([rows, row[None]]) for rows, row in zip(before, last, strict=True))


def energy_drift(angles, speeds, body: Pendulum = EQUAL) -> np.ndarray:
    """The energy at each time less that at the start, relative to the depth of the well."""
    energies = fg.vmap(partial(energy, body=body))(angles, speeds)
    depth = body.gravity * (body.mass1 + body.mass2) * (body.length1 + body.length2)
    return (energies - energies[0]) / depth


def divergence(angles, speeds, step: float, count: int, body: Pendulum = EQUAL) -> float:
    """The factor by which the distance of two motions grows that start at almost the same first angle.

    It is the forward derivative of the whole integration, which a difference of two runs only estimates.
    """

    def ending(start):
        return motion(start, speeds, step, count, body)[0][-1]

    _, change = fg.jvp(ending, (angles,), (np.array([1.0, 0.0]),))
    return float(np.linalg.norm(change))


def draw(angles, drifts: dict[str, np.ndarray], step: float, path: Path, body=EQUAL) -> None:
    """The path of the lower mass, and the drift of the energy over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    x1, y1 = body.length1 * np.sin(angles[:, 0]), -body.length1 * np.cos(angles[:, 0])
    x2, y2 = x1 + body.length2 * np.sin(angles[:, 1]), y1 - body.length2 * np.cos(angles[:, 1])
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.4), width_ratios=(1, 1.35), layout="constrained"
    )
    left.scatter(x2, y2, c=np.arange(len(x2)), cmap="viridis", s=2, linewidths=0)
    left.plot([0, x1[-1], x2[-1]], [0, y1[-1], y2[-1]], color="black", linewidth=1.6, zorder=3)
    left.scatter([x1[-1], x2[-1]], [y1[-1], y2[-1]], color="tab:red", s=45, zorder=4)
    reach = 1.08 * (body.length1 + body.length2)
    left.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    left.set_title("The lower mass, from dark to bright")
    left.set(xlabel="x [m]", ylabel="y [m]")

    for (label, drift), color in zip(drifts.items(), ("tab:red", "tab:blue"), strict=False):
        times = np.linspace(0.0, step * (len(angles) - 1), len(drift))
        right.semilogy(times[1:], np.abs(drift[1:]) + 1e-17, color=color, lw=0.9, label=label)
    right.set(xlabel="time [s]", title="Relative drift of the energy", ylim=(1e-12, 1e-3))
    right.spines[["top", "right"]].set_visible(False)
    right.grid(alpha=0.25)
    right.legend(frameon=False, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(
    path: str = "examples/output/double_pendulum.png", seconds: float = 15.0, step: float = 0.005
) -> float:
    """Integrate with two steps, print the drift of the energy and the growth of errors, and draw."""
    start = (np.array([2.2, 2.6]), np.zeros(2))
    count = round(seconds / step)
    fine = motion(*start, step, count)
    coarse = motion(*start, 2 * step, count // 2)
    drifts = {
        f"step {2 * step:g} s": energy_drift(*coarse),
        f"step {step:g} s": energy_drift(*fine),
    }
    for label, drift in drifts.items():
        print(f"{label}: the energy drifts by at most {np.max(np.abs(drift)):.1e}")
    growth = divergence(*start, step, count // 3)
    print(f"after {seconds / 3:g} s a change of the first angle has grown {growth:.3g} times")
    draw(fine[0], drifts, step, Path(path))
    print(f"figure: {path}")
    return float(np.max(np.abs(drifts[f"step {step:g} s"])))


if __name__ == "__main__":
    main(*sys.argv[1:2])
