"""What is printed is Python that computes the value: random programs and their gradients, read back."""

import random

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.evaluate import variables
from funcgrad.show.text import let_form

SCOPE = {name: getattr(np, name) for name in ("sin", "cos", "exp", "log", "tanh", "sqrt", "where")}
SCOPE |= {"abs": abs, "sigmoid": lambda t: 1 / (1 + np.exp(-t))}
AT = {"x": 0.7, "y": 1.3}


def formula(rng, depth):
    if depth == 0:
        return rng.choice(["x", "y", "2.0", "0.5"])
    if rng.random() < 0.3:
        return f"{rng.choice(['sin', 'cos', 'tanh', 'exp'])}({formula(rng, depth - 1)}*0.3)"
    a, b = formula(rng, depth - 1), formula(rng, depth - 1)
    forms = [f"({a} + {b})", f"({a} - {b})", f"({a})*({b})", f"({a})/(2 + sin({b}))", f"({a})**2"]
    return rng.choice([*forms, f"-({a})"])


def read_back(expr):
    lines, root = let_form(expr)
    scope = SCOPE | AT
    for name, body in lines:
        scope[name] = eval(body, scope)
    return eval(root, scope)


@pytest.mark.parametrize("seed", range(60))
def test_a_printed_program_and_its_gradient_compute_their_values(seed):
    x, y = fg.var("x"), fg.var("y")
    source = formula(random.Random(seed), 4)
    program = fg.const(eval(source, SCOPE | {"x": x, "y": y})) + x
    for expr in (program, fg.gradient(program, x)):
        given = {name: AT[name] for name in variables(expr)}
        # Constants are printed to six digits.
        assert read_back(expr) == pytest.approx(expr(**given), rel=1e-4, abs=1e-5)
