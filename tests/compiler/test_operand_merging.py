"""Loops that take equal invariants as one operand."""

import numpy as np

import funcgrad as fg
from funcgrad.compiler.passes.operand_merging import merge_operands
from funcgrad.compiler.passes.residual_selection import select_residuals
from funcgrad.control.loop import is_loop
from funcgrad.expr import subexpressions

WEIGHTS = np.linspace(0.5, 1.5, 30)
COSTS = np.cos(np.arange(900.0)).reshape(30, 30)


def moved(x, length=9):
    """A recursion whose body makes the same array of constants in two places."""

    def step(state, _):
        u, v = state
        u = np.log(WEIGHTS) - fg.logsumexp(v - COSTS, axis=1)
        v = np.log(WEIGHTS) - fg.logsumexp(u[:, None] - COSTS, axis=0)
        return (u, v), None

    (u, v), _ = fg.scan(step, (x, x), None, length=length)
    return np.sum(u * v)


def loops_of(*roots):
    return [expr for expr in subexpressions(*roots) if is_loop(expr)]


def test_equal_invariants_are_one():
    root = fg.trace(moved, np.zeros(30))
    (merged,) = merge_operands([root])
    (before,), (after,) = loops_of(root), loops_of(merged)
    assert len(after.args) == len(before.args) - 1
    x = np.sin(np.arange(30.0))
    np.testing.assert_array_equal(fg.evaluate(merged, x=x), fg.evaluate(root, x=x))
    assert merge_operands([merged])[0] is merged


def test_loops_with_a_condition():
    def run(x):
        def goes_on(x):
            return np.sum(x * np.log(WEIGHTS)) < 50.0

        return fg.while_loop(goes_on, lambda x: x * 1.5 + np.log(WEIGHTS) + COSTS[0], x)

    root = fg.trace(run, np.zeros(30))
    (merged,) = merge_operands([root])
    (before,), (after,) = loops_of(root), loops_of(merged)
    assert len(after.args) < len(before.args)
    x = np.sin(np.arange(30.0))
    np.testing.assert_array_equal(fg.evaluate(merged, x=x), fg.evaluate(root, x=x))


def test_states_and_sequences_are_left():
    def run(x):
        (a, b), met = fg.scan(lambda s, t: ((s[1], s[0] + t[0]), t[1]), (x, x), (x, x))
        return np.sum(a * b) + np.sum(met)

    root = fg.trace(run, np.zeros(30))
    assert merge_operands([root])[0] is root


def test_the_reverse_loop_reads_what_the_forward_loop_has():
    value, slope = fg.trace(fg.value_and_grad(moved), np.zeros(30))
    kept = select_residuals([value, slope], native=True)
    bodies = [
        dict(loop.params)["body"] for loop in loops_of(*kept) if dict(loop.params)["spec"].reverse
    ]
    names = [e.op.name for body in bodies for e in subexpressions(*body.outputs)]
    assert bodies
    assert "logsumexp" not in names
