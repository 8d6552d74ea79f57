"""Optimizers as pure functions on trees, schedules of the learning rate, and `minimize`.

An optimizer is a pair of functions as in optax: ``init(params)`` makes a state, and
``update(grads, state, params)`` gives the updates, to be added, and the next state. So training is the
iteration of a pure step, and one can differentiate through it.

>>> import funcgrad as fg
>>> from toolz import iterate, nth
>>> from funcgrad.optim import adam, apply_updates
>>> optimizer = adam(0.1)
>>> def step(now):
...     params, state = now
...     updates, state = optimizer.update(fg.grad(lambda x: (x - 1) ** 2)(params), state, params)
...     return apply_updates(params, updates), state
>>> start = 0.0
>>> params, state = nth(300, iterate(step, (start, optimizer.init(start))))
>>> round(params, 4)
1.0
"""

from typing import Any

from funcgrad.optim.descent import minimize
from funcgrad.optim.optimizers import adam, adamw, momentum, nesterov, rmsprop, sgd
from funcgrad.optim.progress import History, Minimum
from funcgrad.optim.schedules import constant, cosine, exponential, linear, piecewise, warmup
from funcgrad.optim.transformations import (
    Optimizer,
    add_decayed_weights,
    apply_updates,
    chain,
    clip_by_global_norm,
    global_norm,
    heavy_ball,
    scale,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_rms,
    stateless,
)


def __getattr__(name: str) -> Any:
    known = [
        own for own in __all__ if own.lower().replace("_", "") == name.lower().replace("_", "")
    ]
    hint = f"; write {known[0]}" if known else ""
    raise AttributeError(f"module 'funcgrad.optim' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "History",
    "Minimum",
    "Optimizer",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip_by_global_norm",
    "constant",
    "cosine",
    "exponential",
    "global_norm",
    "heavy_ball",
    "linear",
    "minimize",
    "momentum",
    "nesterov",
    "piecewise",
    "rmsprop",
    "scale",
    "scale_by_adam",
    "scale_by_learning_rate",
    "scale_by_rms",
    "sgd",
    "stateless",
    "warmup",
]
