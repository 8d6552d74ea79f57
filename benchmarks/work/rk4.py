"""Value and gradient through 10,000 steps of Runge-Kutta on two numbers: Van der Pol's oscillator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.work.base import (
    NATIVE,
    Work,
    jax,
    with_autograd,
    with_funcgrad,
    with_native,
    with_torch,
)

SIZES = ("10000 steps",)
SMOKE = "20 steps"
TITLE = "RK4 on numbers"
TIME = 10.0


def data(size: str) -> tuple[int, tuple[float, float, float]]:
    """How many steps; position and velocity at the start, and the damping."""
    return int(size.split()[0]), (2.0, 0.1, 1.0)


def step(h: float) -> Callable[..., Any]:
    """One step of length h, on anything that adds and multiplies."""

    def field(x: Any, v: Any, mu: Any) -> tuple[Any, Any]:
        return v, mu * (1.0 - x * x) * v - x

    def stepped(x: Any, v: Any, mu: Any) -> tuple[Any, Any]:
        a1, b1 = field(x, v, mu)
        a2, b2 = field(x + h / 2 * a1, v + h / 2 * b1, mu)
        a3, b3 = field(x + h / 2 * a2, v + h / 2 * b2, mu)
        a4, b4 = field(x + h * a3, v + h * b3, mu)
        return x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)

    return stepped


def rolled(scan: Callable[..., Any], n: int) -> Callable[[Any], Any]:
    """x**2 + v**2 at the end, by a library's loop."""
    stepped = step(TIME / n)

    def loss(start: Any) -> Any:
        x, v, mu = start
        (x, v), _ = scan(lambda state, _: (stepped(*state, mu), None), (x, v), None, length=n)
        return x * x + v * v

    return loss


def unrolled(n: int) -> Callable[[Any], Any]:
    """The same by a loop of Python's."""
    stepped = step(TIME / n)

    def loss(start: Any) -> Any:
        x, v, mu = start
        for _ in range(n):
            x, v = stepped(x, v, mu)
        return x * x + v * v

    return loss


def funcgrad(given: Any) -> Work:
    """With `funcgrad.scan`, on Python's numbers."""
    import funcgrad as fg

    n, start = given
    return with_funcgrad(rolled(fg.scan, n), (start,))


def autograd(given: Any) -> Work:
    """Unrolled."""
    n, start = given
    return with_autograd(unrolled(n), (start,))


def with_jax(given: Any) -> Work:
    """With `jax.lax.scan`, the two states as 0-d arrays."""
    library = jax()
    n, start = given
    compiled = library.jit(library.value_and_grad(rolled(library.lax.scan, n)))
    args = (tuple([library.numpy.float64(value) for value in start]),)
    return Work(compiled, args, settle=library.block_until_ready)


def torch(given: Any) -> Work:
    """Unrolled, eager, on 0-d tensors."""
    n, start = given
    return with_torch(unrolled(n), (start,))


def casadi(given: Any) -> Work:
    """A step as scalar instructions, iterated by `fold`."""
    import casadi as library

    n, start = given
    x, v, mu = [library.SX.sym(name) for name in ("x", "v", "mu")]
    state = library.vertcat(x, v, mu)
    advance = library.Function("advance", [state], [library.vertcat(*step(TIME / n)(x, v, mu), mu)])
    given = library.MX.sym("start", 3)
    last = advance.fold(n)(given)
    value = last[0] ** 2 + last[1] ** 2
    both = library.Function("both", [given], [value, library.gradient(value, given)])

    def value_and_gradient(start: Any) -> Any:
        value, gradient = both(start)
        return value, tuple(gradient.full().ravel().tolist())

    return Work(value_and_gradient, (start,))


def by_hand(given: Any) -> Work:
    """Hand-written Python: the states are kept, and the stages of a step recomputed."""
    n, start = given
    h = TIME / n
    stepped = step(h)

    def value_and_gradient(start: Any) -> Any:
        x, v, mu = start
        states = []
        for _ in range(n):
            states.append((x, v))
            x, v = stepped(x, v, mu)
        dx, dv, dmu = 2 * x, 2 * v, 0.0
        for before in reversed(states):
            dx, dv, more = _pulled(h, *before, mu, dx, dv)
            dmu += more
        return x * x + v * v, (dx, dv, dmu)

    return Work(value_and_gradient, (start,))


def _pulled(h: float, x: float, v: float, mu: float, dx: float, dv: float) -> Any:
    """The cotangents of x, v and mu, from those of the state after the step."""
    c = 0.5 * h
    w1 = 1.0 - x * x
    b1 = mu * w1 * v - x
    x2, v2 = x + c * v, v + c * b1
    w2 = 1.0 - x2 * x2
    b2 = mu * w2 * v2 - x2
    x3, v3 = x + c * v2, v + c * b2
    w3 = 1.0 - x3 * x3
    b3 = mu * w3 * v3 - x3
    x4, v4 = x + h * v3, v + h * b3
    w4 = 1.0 - x4 * x4
    da, db = h / 6 * dx, h / 6 * dv
    dx4 = db * (-2.0 * mu * x4 * v4 - 1.0)
    dv4 = da + db * mu * w4
    dmu = db * w4 * v4
    da3, db3 = 2 * da + h * dx4, 2 * db + h * dv4
    dx3 = db3 * (-2.0 * mu * x3 * v3 - 1.0)
    dv3 = da3 + db3 * mu * w3
    dmu += db3 * w3 * v3
    da2, db2 = 2 * da + c * dx3, 2 * db + c * dv3
    dx2 = db2 * (-2.0 * mu * x2 * v2 - 1.0)
    dv2 = da2 + db2 * mu * w2
    dmu += db2 * w2 * v2
    da1, db1 = da + c * dx2, db + c * dv2
    dx1 = db1 * (-2.0 * mu * x * v - 1.0)
    dv1 = da1 + db1 * mu * w1
    dmu += db1 * w1 * v
    return dx + dx4 + dx3 + dx2 + dx1, dv + dv4 + dv3 + dv2 + dv1, dmu


PEERS = {
    "funcgrad": funcgrad,
    NATIVE: with_native(funcgrad),
    "autograd": autograd,
    "jax": with_jax,
    "torch": torch,
    "casadi": casadi,
    "by hand": by_hand,
}
