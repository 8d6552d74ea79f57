"""Functions that sympy.lambdify writes while adopted code runs."""

import numpy as np
import pytest

import funcgrad as fg

sympy = pytest.importorskip("sympy")

u, v = sympy.symbols("u v")
MATRIX = sympy.Matrix([[sympy.cos(u), v], [u * v, 1]])


class Link:
    """A chain's link, which writes its matrix when it is made."""

    def __init__(self, length):
        self.length, self.matrix = length, sympy.lambdify((u, v), MATRIX)

    def __call__(self, angle):
        return self.matrix(angle, self.length)


def by_name(x):
    from sympy import lambdify

    return lambdify(u, sympy.Matrix([sympy.sin(u), u]))(x)[0, 0]


CASES = {
    "instance": lambda x: Link(x)(1.5).sum(),
    "module": lambda x: sympy.lambdify((u, v), MATRIX)(x, 2.0).sum(),
    "name": by_name,
    "math": lambda x: sympy.lambdify(u, sympy.sin(u) + sympy.pi, "math")(x),
    "scipy": lambda x: sympy.lambdify(u, sympy.erf(u), "scipy")(x),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES.keys())
def test_functions_that_lambdify_writes_take_traced_values(f):
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    value, found = fg.value_and_grad(f)(0.7)
    assert (value, found) == pytest.approx((f(0.7), slope))
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope)
    assert fg.vmap(f)(np.array([0.7, 0.8])) == pytest.approx([f(0.7), f(0.8)])
