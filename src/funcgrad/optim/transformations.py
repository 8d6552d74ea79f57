"""Transformations of gradients: pure functions on trees, chained into optimizers.

Each is a pair of functions: ``init(params)`` makes a state, ``update(grads, state, params)`` gives the
updates and the next state. Nothing is changed in place. They run on numbers and arrays, and on
expressions, so that one can differentiate through a step of training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Never

import numpy as np

from funcgrad.expr import Expr
from funcgrad.optim.tree_arithmetic import checked_number, frozen, squared_modulus, tree_zeros, weak
from funcgrad.source import type_error
from funcgrad.trace.pytree import flatten_numbers
from funcgrad.trace.tree_map import mapped
from funcgrad.typing import Array


class Optimizer(NamedTuple):
    """A transformation of gradients: ``init`` and ``update``, the shape that
    optax gave it.

    ``init(params) -> state`` and
    ``update(grads, state, params=None) -> (updates, state)``, all trees.
    Updates are to be added: `apply_updates`. Optimizers are transformations
    whose updates descend.

    The functions that make one raise TypeError for a hyperparameter that is
    not a number, ValueError for one out of range; ``update`` raises TypeError
    if the trees differ in structure or shape.

    >>> double = Optimizer(lambda params: (), lambda grads, state, params=None: (2 * grads, state))
    >>> double.update(3.0, double.init(1.0))
    (6.0, ())
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]

    def __repr__(self) -> str:
        return "<optimizer of init(params) and update(grads, state, params)>"

    def __getattr__(self, name: str) -> Never:
        hint = f"; write {_STEP}" if name in ("step", "zero_grad", "apply") else ""
        raise AttributeError(f"an optimizer has no attribute {name!r}{hint}")


_STEP = "updates, state = optimizer.update(grads, state, params), and fg.optim.apply_updates(params, updates)"


def apply_updates(params: object, updates: object) -> Any:
    """The parameters plus the updates, in the parameters' dtypes. Raises
    TypeError for integer arrays.

    >>> apply_updates({"w": 1.0, "b": 2.0}, {"w": -0.5, "b": 0.0})
    {'w': 0.5, 'b': 2.0}
    """
    return mapped("apply_updates", _moved, params, updates)


def _moved(p: object, u: Array) -> Any:
    dtype = getattr(p, "dtype", None)
    if dtype is None:
        return p + u
    if dtype.kind not in "fc":
        raise type_error(
            f"apply_updates: expected float or complex parameters, but got {dtype}; "
            "convert them with x.astype(float)",
        )
    total = p + u
    return total if total.dtype == dtype else total.astype(dtype)


def chain(*transformations: Optimizer) -> Optimizer:
    """One transformation after the other; the state is the tuple of theirs.

    Raises TypeError for a part without ``init`` and ``update``, and in
    ``update`` for the state of another optimizer.

    >>> from funcgrad.optim import sgd
    >>> clipped = chain(clip_by_global_norm(1.0), sgd(0.1))
    >>> clipped.update([3.0, 4.0], clipped.init([0.0, 0.0]))
    ([-0.06000..., -0.08000...], ((), ()))
    """
    for part in transformations:
        if not (hasattr(part, "init") and hasattr(part, "update")):
            raise type_error(
                f"chain: expected optimizers, but got {type(part).__name__}; call it, as in adam()",
            )

    def init(params: object) -> Any:
        return tuple([part.init(params) for part in transformations])

    def update(grads: object, state: object, params: object = None) -> tuple[Any, Any]:
        if not isinstance(state, tuple) or len(state) != len(transformations):
            raise type_error(
                f"update: expected a state of {len(transformations)} parts, but got "
                f"{type(state).__name__}; make it with init(params) of the same optimizer",
            )
        states = []
        for part, old in zip(transformations, state, strict=True):
            grads, new = part.update(grads, old, params)
            states.append(new)
        return grads, tuple(states)

    return Optimizer(init, update)


def stateless(f: Callable[[Any, Any], Any]) -> Optimizer:
    """The transformation ``f(grads, params)``, which keeps nothing: its state is
    ``()``.

    Raises nothing of its own.

    >>> stateless(lambda grads, params: -grads).update(2.0, ())
    (-2.0, ())
    """

    def update(grads: object, state: object, params: object = None) -> tuple[Any, Any]:
        return f(grads, params), state

    return Optimizer(lambda params: (), update)


def scale(factor: object) -> Optimizer:
    """Every gradient times a number, which may be traced.

    Raises as `Optimizer`.

    >>> scale(-0.1).update([1.0, 2.0], ())
    ([-0.1, -0.2], ())
    """
    factor = checked_number("scale", "factor", factor, -np.inf)
    return stateless(lambda grads, params: mapped("update", lambda g: factor * g, grads))


class CountState(NamedTuple):
    """How many updates were made."""

    count: Any


def scale_by_learning_rate(learning_rate: object) -> Optimizer:
    """Every gradient times minus the learning rate: a number, or a schedule
    called with 0, 1, 2, ...

    Raises as `Optimizer`.

    >>> from funcgrad.optim import exponential
    >>> descend = scale_by_learning_rate(exponential(0.1, 0.5))
    >>> updates, state = descend.update(1.0, descend.init(0.0))
    >>> updates, descend.update(1.0, state)[0]
    (-0.1, -0.05)
    """
    if isinstance(learning_rate, Expr) or not callable(learning_rate):
        return scale(-checked_number("scale_by_learning_rate", "the learning rate", learning_rate))

    def update(grads: object, state: Any, params: object = None) -> tuple[Any, Any]:
        rate = weak(learning_rate(state.count))
        return mapped("update", lambda g: -rate * g, grads), CountState(state.count + 1)

    return Optimizer(lambda params: CountState(0), update)


class HeavyBallState(NamedTuple):
    """The running sum of gradients, like the parameters."""

    velocity: Any


def heavy_ball(decay: object = 0.9, nesterov: bool = False) -> Optimizer:
    """Momentum: ``v = g + decay*v`` (Polyak), or with ``nesterov`` the look
    ahead, ``g + decay*v``.

    No dampening, as PyTorch's default and optax's ``trace``.

    Raises as `Optimizer`.

    >>> ball = heavy_ball(0.5)
    >>> _, state = ball.update(1.0, ball.init(0.0))
    >>> ball.update(1.0, state)
    (1.5, HeavyBallState(velocity=1.5))
    """
    decay = checked_number("heavy_ball", "decay", decay, 0.0, 1.0)

    def update(grads: object, state: Any, params: object = None) -> tuple[Any, Any]:
        def moved(g: object, v: Array) -> Any:
            return g + decay * v

        velocity = frozen(mapped("update", moved, grads, state.velocity))
        updates = mapped("update", moved, grads, velocity) if nesterov else velocity
        return updates, HeavyBallState(velocity)

    return Optimizer(lambda params: HeavyBallState(tree_zeros(params)), update)


class AdamState(NamedTuple):
    """The number of updates made, and the running means of gradients (mu) and of their squares (nu)."""

    count: Any
    mu: Any
    nu: Any


def scale_by_adam(
    b1: object = 0.9, b2: object = 0.999, eps: object = 1e-8, eps_root: object = 0.0
) -> Optimizer:
    """Adam's direction, ``mu / (sqrt(nu + eps_root) + eps)``, means corrected for
    their start at 0.

    Where one differentiates through it, an ``eps_root`` above 0 keeps the root
    smooth at gradient 0.

    Raises as `Optimizer`.

    >>> scale_by_adam().update(5.0, scale_by_adam().init(0.0))[0]
    0.99999...
    """
    b1 = checked_number("scale_by_adam", "b1", b1, 0.0, 1.0)
    b2 = checked_number("scale_by_adam", "b2", b2, 0.0, 1.0)
    eps, eps_root = [checked_number("scale_by_adam", "eps", value) for value in (eps, eps_root)]

    def update(grads: object, state: Any, params: object = None) -> tuple[Any, Any]:
        count = state.count + 1
        mu = _mean(b1, state.mu, grads)
        nu = _mean(b2, state.nu, mapped("update", squared_modulus, grads))
        one, two = 1 - b1**count, 1 - b2**count

        def direction(m: object, v: object) -> Any:
            return m / one / (np.sqrt(v / two + eps_root) + eps)

        return mapped("update", direction, mu, nu), AdamState(count, mu, nu)

    return Optimizer(
        lambda params: AdamState(0, tree_zeros(params), tree_zeros(params, real=True)), update
    )


def _mean(decay: Any, old: object, new: Any) -> Any:
    """A running mean, a step further."""
    return frozen(mapped("update", lambda m, g: decay * m + (1 - decay) * g, old, new))


class RmsState(NamedTuple):
    """The running mean of the squares of gradients."""

    nu: Any


def scale_by_rms(decay: object = 0.9, eps: object = 1e-8, eps_in_sqrt: bool = True) -> Optimizer:
    """Gradients over the root of their running mean square:
    ``g / sqrt(nu + eps)``, as in optax.

    With ``eps_in_sqrt=False`` it is ``g / (sqrt(nu) + eps)``, as in PyTorch.

    Raises as `Optimizer`.

    >>> scale_by_rms(0.75).update(5.0, scale_by_rms().init(0.0))[0]
    1.99999...
    """
    decay = checked_number("scale_by_rms", "decay", decay, 0.0, 1.0)
    eps = checked_number("scale_by_rms", "eps", eps)

    def update(grads: Any, state: Any, params: object = None) -> tuple[Any, Any]:
        nu = _mean(decay, state.nu, mapped("update", squared_modulus, grads))

        def direction(g: object, v: Array) -> Any:
            return g / (np.sqrt(v + eps) if eps_in_sqrt else np.sqrt(v) + eps)

        return mapped("update", direction, grads, nu), RmsState(nu)

    return Optimizer(lambda params: RmsState(tree_zeros(params, real=True)), update)


def add_decayed_weights(weight_decay: object) -> Optimizer:
    """Gradients plus the parameters times a number: before a step L2
    regularization, after it AdamW's.

    Raises TypeError for a hyperparameter that is not a number, ValueError for
    one out of range; ``update`` raises TypeError if the trees differ in
    structure or shape, or the parameters are missing.

    >>> add_decayed_weights(0.1).update(1.0, (), 20.0)
    (3.0, ())
    """
    rate = checked_number("add_decayed_weights", "weight_decay", weight_decay)

    def decayed(grads: object, params: object) -> Any:
        if params is None:
            raise type_error(
                "update: expected the parameters, which weight decay needs, but got none; "
                "write update(grads, state, params)",
            )
        return mapped("update", lambda g, p: g + rate * p, grads, params)

    return stateless(decayed)


def global_norm(tree: object) -> Any:
    """The Euclidean norm of all leaves of a tree taken together.

    Raises TypeError for leaves that are not numbers.

    >>> global_norm({"a": 3.0, "b": np.array([0.0, 4.0])})
    5.0
    """
    return mapped(
        "", np.sqrt, sum([np.sum(squared_modulus(leaf)) for leaf in flatten_numbers(tree).leaves])
    )


def clip_by_global_norm(max_norm: object) -> Optimizer:
    """Gradients shrunk, all by one factor, where their norm taken together is
    above ``max_norm``.

    Raises as `Optimizer`.

    >>> clip_by_global_norm(1.0).update([3.0, 4.0], ())
    ([0.6000..., 0.8], ())
    """
    limit = checked_number("clip_by_global_norm", "max_norm", max_norm, np.nextafter(0.0, 1.0))

    def clipped(grads: object, params: object) -> Any:
        # Where nothing is to be clipped the factor is exactly 1, at norm 0 too.
        factor = weak(limit / np.maximum(global_norm(grads), limit))
        return mapped("update", lambda g: factor * g, grads)

    return stateless(clipped)
