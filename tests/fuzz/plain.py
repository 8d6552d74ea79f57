"""What funcgrad's control operations mean, in Python, on NumPy's arrays: the reference of the programs.

Derivatives that a program takes inside are funcgrad's own: on plain arrays they are of first order.
"""

import numpy as np

from funcgrad import grad, hessian, jacobian, jvp, logsumexp, relu, sigmoid, softmax, softplus, vjp

__all__ = [
    "checkpoint",
    "cond",
    "fori_loop",
    "grad",
    "hessian",
    "jacobian",
    "jit",
    "jvp",
    "logsumexp",
    "relu",
    "scan",
    "sigmoid",
    "softmax",
    "softplus",
    "stored",
    "vjp",
    "vmap",
    "while_loop",
]


def checkpoint(f):
    return f


def jit(f):
    return f


def cond(chosen, true, false, *operands):
    return true(*operands) if chosen else false(*operands)


def fori_loop(low, high, body, init):
    state = init
    for k in range(low, high):
        state = body(k, state)
    return state


def while_loop(test, body, init):
    state = init
    while test(state):
        state = body(state)
    return state


def scan(f, init, xs):
    state, outputs = init, []
    for x in xs:
        state, y = f(state, x)
        outputs.append(y)
    return state, np.stack(outputs)


def vmap(f):
    def mapped(*xs):
        return np.stack([f(*row) for row in zip(*xs, strict=True)])

    return mapped


def stored(x, index, value, how):
    """``x.at[index].set(value)`` and its kin."""
    result = np.array(x)
    if how == "set":
        result[index] = value
    else:
        {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[how].at(
            result, index, value
        )
    return result
