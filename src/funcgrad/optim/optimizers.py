"""The optimizers in common use, each a chain of transformations with the learning rate at its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec

from funcgrad.names_elsewhere import unknown_option
from funcgrad.optim.transformations import (
    Optimizer,
    add_decayed_weights,
    chain,
    heavy_ball,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_rms,
)

P = ParamSpec("P")


def _with_named_options(make: Callable[P, Optimizer]) -> Callable[P, Optimizer]:
    """An optimizer's maker that says what to write for an option of another library."""
    options = list(signature(make).parameters)

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Optimizer:
        if not kwargs.keys() <= set(options):
            raise unknown_option(make.__name__, kwargs, options)
        return make(*args, **kwargs)

    return made


@_with_named_options
def sgd(learning_rate: object = 1e-2, momentum: object = None, nesterov: bool = False) -> Optimizer:
    """Gradient descent: ``-learning_rate * g``, or with ``momentum`` times the
    running sum of `heavy_ball`.

    Raises as `Optimizer`.

    >>> optimizer = sgd(0.1)
    >>> updates, state = optimizer.update(5.0, optimizer.init(1.0))
    >>> updates
    -0.5
    """
    descend = scale_by_learning_rate(learning_rate)
    return descend if momentum is None else chain(heavy_ball(momentum, nesterov), descend)


@_with_named_options
def momentum(learning_rate: object = 1e-2, decay: object = 0.9) -> Optimizer:
    """Gradient descent with Polyak's momentum.

    Raises as `Optimizer`.

    >>> optimizer = momentum(0.1, 0.5)
    >>> _, state = optimizer.update(1.0, optimizer.init(0.0))
    >>> optimizer.update(1.0, state)[0]
    -0.15000...
    """
    return sgd(learning_rate, decay)


@_with_named_options
def nesterov(learning_rate: object = 1e-2, decay: object = 0.9) -> Optimizer:
    """Gradient descent with Nesterov's momentum.

    Raises as `Optimizer`.

    >>> optimizer = nesterov(0.1, 0.5)
    >>> optimizer.update(1.0, optimizer.init(0.0))[0]
    -0.15000...
    """
    return sgd(learning_rate, decay, nesterov=True)


@_with_named_options
def adam(
    learning_rate: object = 1e-3,
    b1: object = 0.9,
    b2: object = 0.999,
    eps: object = 1e-8,
    eps_root: object = 0.0,
) -> Optimizer:
    """Adam (Kingma and Ba, 2015).

    Raises as `Optimizer`.

    >>> optimizer = adam(0.1)
    >>> updates, state = optimizer.update([5.0, -1.0], optimizer.init([0.0, 0.0]))
    >>> updates
    [-0.09999..., 0.09999...]
    """
    return chain(scale_by_adam(b1, b2, eps, eps_root), scale_by_learning_rate(learning_rate))


@_with_named_options
def adamw(
    learning_rate: object = 1e-3,
    b1: object = 0.9,
    b2: object = 0.999,
    eps: object = 1e-8,
    eps_root: object = 0.0,
    weight_decay: object = 1e-4,
) -> Optimizer:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019); ``update``
    needs the parameters.

    The decay is times the learning rate, and 1e-4 unless given, as in optax
    (PyTorch's is 1e-2).

    Raises as `Optimizer`.

    >>> optimizer = adamw(0.1, weight_decay=0.5)
    >>> optimizer.update(5.0, optimizer.init(1.0), 1.0)[0]
    -0.14999...
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay),
        scale_by_learning_rate(learning_rate),
    )


@_with_named_options
def rmsprop(
    learning_rate: object = 1e-2,
    decay: object = 0.9,
    eps: object = 1e-8,
    eps_in_sqrt: bool = True,
    momentum: object = None,
    nesterov: bool = False,
) -> Optimizer:
    """RMSProp (Hinton), with momentum if given.

    The defaults are optax's; PyTorch's are ``decay=0.99`` and
    ``eps_in_sqrt=False``. Momentum comes before the learning rate, as in
    PyTorch; with a schedule, optax does it the other way around.

    Raises as `Optimizer`.

    >>> optimizer = rmsprop(0.1, decay=0.75)
    >>> optimizer.update(5.0, optimizer.init(0.0))[0]
    -0.19999...
    """
    direction = scale_by_rms(decay, eps, eps_in_sqrt)
    return chain(direction, sgd(learning_rate, momentum, nesterov))
