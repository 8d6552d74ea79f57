"""Formulas next to those that a law is for: a law that forgets one of its conditions changes their values."""

import numpy as np

import funcgrad as fg
from funcgrad.expr import CONSTANT, const, rebuild, subexpressions
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.substitute import substitute_all

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 0.3, -0.7]


def changed_in_one_operand(expr, rng):
    """The formula with another part of it, another constant or a new variable as operand of one node."""
    parts = subexpressions(expr)
    nodes = [node for node in parts if node.args and any(a.dtype.kind in "fcb" for a in node.args)]
    while True:
        node = nodes[rng.integers(len(nodes))]
        args = list(node.args)
        i = rng.integers(len(args))
        old = args[i]
        others = [
            a for a in parts if a.type == old.type and a.key != old.key and node.key not in a.graph
        ]
        if old.dtype.kind == "f":
            others.append(fg.var("other", old.shape, old.dtype))
        if old.op is CONSTANT and old.dtype.kind in "fc":
            numbers = np.array(old.params[0][1].array)
            numbers.flat[rng.integers(numbers.size)] += 1
            others.append(const(numbers[()]))
        if others:
            args[i] = others[rng.integers(len(others))]
            return substitute_all([expr], {node.key: rebuild(node, tuple(args))})[0]


def has_value_of(shown, formula, rng, numbers=NUMBERS):
    """Whether both are finite somewhere, where the values must be the same."""
    compared = False
    for turn in range(6):
        values = {
            n: (rng.choice(numbers, x.shape) if turn % 2 else rng.normal(size=x.shape)).astype(
                x.dtype
            )
            for n, x in variables(formula).items()
        }
        try:
            with np.errstate(all="ignore"):
                wanted = np.asarray(formula(**values))
                found = np.asarray(shown(**{n: values[n] for n in variables(shown)}))
        except np.linalg.LinAlgError:
            continue
        both = np.isfinite(wanted) & np.isfinite(found)
        size = np.max(np.abs(wanted[both]), initial=1.0)
        np.testing.assert_allclose(found[both], wanted[both], rtol=1e-8, atol=1e-8 * size)
        compared |= bool(both.any())
    return compared
