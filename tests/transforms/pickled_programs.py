"""Functions that are bound to their own names, so that pickle finds them in a process of its own."""

import numpy as np

import funcgrad as fg


@fg.jit
def program(x):
    return x**3 if x > 0 else -x


@fg.jit
@fg.grad
def slope(x):
    return x**3


class Cubic:
    def loss(self, x):
        return x**3


opaque_sine = fg.primitive(lambda x: np.sin(x), [lambda x: np.cos(x)])
