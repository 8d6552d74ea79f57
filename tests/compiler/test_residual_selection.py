"""Reverse loops that read what their forward loops keep compute what they computed before, to the bit."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.passes.body_subsumption import subsume_bodies
from funcgrad.compiler.passes.residual_selection import select_residuals
from funcgrad.compiler.verify.verify_pipeline import verify_rewrite
from funcgrad.control.loop import is_loop
from funcgrad.expr import subexpressions
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.trace.run_formula import evaluate

RNG = np.random.default_rng(0)


def gradient_of(f, **shapes):
    """The formulas of a gradient, and its variables."""
    names = [fg.var(name, shape) for name, shape in shapes.items()]
    grad = fg.grad(f, argnums=tuple(range(len(names)))).expr(*names)
    return subsume_bodies(simplify_all(list(grad))), names


def checked(f, native=False, tolerance=0.0, **shapes):
    """The loops' bodies of a gradient before the pass and after it, which must not change a bit.

    A tolerance is for slopes of log-sum-exps, which are quotients where the log-sum-exp is not kept.
    """
    roots, names = gradient_of(f, **shapes)
    kept = select_residuals(roots, native=native)
    verify_rewrite(roots, kept, names, "residual_selection")
    values = {name: RNG.normal(size=shape) for name, shape in shapes.items()}
    for old, new in zip(roots, kept, strict=True):
        np.testing.assert_allclose(evaluate(new, values), evaluate(old, values), tolerance)
    return loops_of(roots), loops_of(kept)


def loops_of(roots):
    """Of each loop: the names of the operations in its body, and its number of outputs."""
    found = {}
    for expr in subexpressions(*roots):
        if is_loop(expr):
            spec, body = dict(expr.params)["spec"], dict(expr.params)["body"]
            names = sorted([e.op.name for e in subexpressions(*body.outputs)])
            found[spec.reverse] = names, len(body.outputs)
    return found


def recurrent(w, h):
    return fg.scan(lambda h, _: (np.tanh(w @ h), None), h, None, length=5)[0].sum()


def likelihood(a, alpha):
    def step(alpha, _):
        return fg.logsumexp(alpha[:, None] + a, axis=0), None

    return fg.logsumexp(fg.scan(step, alpha, None, length=4)[0], axis=0)


def test_products_of_matrices_are_kept():
    before, after = checked(recurrent, w=(16, 16), h=(16,))
    assert before[True][0].count("matmul") == 2  # the product again, and its transpose
    assert after[True][0].count("matmul") == 1
    assert after[False][1] == before[False][1] + 1


def test_sums_of_exponentials_are_kept():
    before, after = checked(likelihood, tolerance=1e-14, a=(12, 12), alpha=(12,))
    assert "logsumexp" in before[True][0]
    assert "logsumexp" not in after[True][0]


def relaxed(sweeps):
    """Two fields that move each other, whose reverse loop reads those after the sweeps of an iteration."""

    def loss(u, v):
        def step(state, _):
            u, v = state
            p = u * v
            for _ in range(sweeps):
                p = (u - p[::-1] + np.concatenate([p[1:], p[:1]])) / 4
            u, v = u + p, v - p
            return (u, v), np.sum(u * u * v)

        return np.sum(fg.scan(step, (u, v), None, length=5)[1])

    return loss


@pytest.mark.parametrize(("sweeps", "native", "kept"), [(6, True, 2), (1, True, 0), (6, False, 0)])
def test_states_after_many_steps_are_kept(sweeps, native, kept):
    before, after = checked(relaxed(sweeps), native, u=(8,), v=(8,))
    assert after[False][1] == before[False][1] + kept
    assert (len(after[True][0]) < len(before[True][0])) == bool(kept)


def test_states_that_the_reverse_loop_does_not_read_are_not_kept():
    def loss(u):
        def step(u, _):
            for _ in range(9):
                u = 0.5 * (u[::-1] - u / 3)
            return np.sin(u), None

        return np.sum(fg.scan(step, u, None, length=5)[0])

    before, after = checked(loss, native=True, u=(8,))
    assert after[False][1] == before[False][1]


@pytest.mark.parametrize(("size", "kept"), [(256, True), (3, False)])
def test_transcendental_functions_are_kept_in_arrays_that_fill_registers(size, kept):
    def loss(h):
        return fg.scan(lambda h, _: (h * np.exp(-h * h), None), h, None, length=5)[0].sum()

    before, after = checked(loss, h=(size,))
    assert "exp" in before[True][0]
    assert ("exp" in after[True][0]) != kept


def test_cheap_values_are_computed_again():
    def loss(h):
        return fg.scan(lambda h, _: (h * h * 0.5 + h, None), h, None, length=5)[0].sum()

    before, after = checked(loss, h=(64,))
    assert before == after


def test_machine_code_keeps_what_is_a_little_expensive():
    before, after = checked(recurrent, native=True, w=(3, 3), h=(3,))
    assert before[True][0].count("matmul") > after[True][0].count("matmul")
    before, after = checked(recurrent, w=(3, 3), h=(3,))
    assert before == after


def test_large_values_are_computed_again(monkeypatch):
    from funcgrad.compiler.passes import residual_selection

    monkeypatch.setattr(residual_selection, "_MEMORY", 5 * 16 * 8 - 1)
    before, after = checked(recurrent, w=(16, 16), h=(16,))
    assert before == after


def test_checkpoints_are_computed_again():
    def loss(w, h):
        step = fg.checkpoint(lambda h: np.tanh(w @ h))
        return fg.scan(lambda h, _: (step(h), None), h, None, length=5)[0].sum()

    before, after = checked(loss, w=(16, 16), h=(16,))
    assert before == after


@pytest.mark.parametrize("checkpoint", ["sqrt", "log"])
def test_segments_of_checkpointed_scans_keep_their_values(checkpoint):
    def loss(w, h):
        step = lambda h, _: (np.tanh(w @ h), None)  # noqa: E731
        return fg.scan(step, h, None, length=9, checkpoint=checkpoint)[0].sum()

    checked(loss, w=(16, 16), h=(16,))


def test_sequences_and_invariants_are_shared():
    def loss(w, xs):
        step = lambda h, x: (np.tanh(w @ (h + x)), w @ h)  # noqa: E731
        last, ys = fg.scan(step, np.zeros(16), xs)
        return (last * last).sum() + np.sin(ys).sum()

    before, after = checked(loss, w=(16, 16), xs=(6, 16))
    assert after[True][0].count("matmul") < before[True][0].count("matmul")


def test_reverse_scans():
    def loss(w, xs):
        step = lambda h, x: (np.tanh(w @ h + x), None)  # noqa: E731
        return fg.scan(step, np.ones(16), xs, reverse=True)[0].sum()

    roots, names = gradient_of(loss, w=(16, 16), xs=(6, 16))
    kept = select_residuals(roots)
    verify_rewrite(roots, kept, names, "residual_selection")
    values = {"w": RNG.normal(size=(16, 16)), "xs": RNG.normal(size=(6, 16))}
    for old, new in zip(roots, kept, strict=True):
        np.testing.assert_array_equal(evaluate(new, values), evaluate(old, values))


def test_loops_in_loops():
    def loss(w, h):
        def outer(h, _):
            return fg.scan(lambda h, _: (np.tanh(w @ h), None), h, None, length=3)[0], None

        return fg.scan(outer, h, None, length=4)[0].sum()

    roots, names = gradient_of(loss, w=(16, 16), h=(16,))
    kept = select_residuals(roots)
    verify_rewrite(roots, kept, names, "residual_selection")
    values = {"w": RNG.normal(size=(16, 16)), "h": RNG.normal(size=16)}
    for old, new in zip(roots, kept, strict=True):
        np.testing.assert_array_equal(evaluate(new, values), evaluate(old, values))


def test_while_loops_are_left_as_they_are():
    def loss(w, h):
        return fg.while_loop(lambda h: h.sum() < 50, lambda h: 2 * np.tanh(w @ h) + h + 9, h).sum()

    roots, _ = gradient_of(loss, w=(16, 16), h=(16,))
    assert [x.key for x in select_residuals(roots)] == [x.key for x in roots]


def test_second_derivatives_and_jit():
    w, h = RNG.normal(size=(16, 16)) * 0.2, RNG.normal(size=16)
    hvp = fg.jit(lambda w, h, v: fg.jvp(lambda h: fg.grad(recurrent, 1)(w, h), (h,), (v,))[1])
    v, step = RNG.normal(size=16), 1e-6
    slope = [fg.grad(recurrent, 1)(w, h + s * step * v) for s in (1, -1)]
    np.testing.assert_allclose(
        hvp(w, h, v), (slope[0] - slope[1]) / (2 * step), rtol=1e-6, atol=1e-9
    )
