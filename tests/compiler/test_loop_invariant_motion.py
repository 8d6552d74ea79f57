"""Loops relieved of work compute what they computed before."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.compiler.passes.loop_invariant_motion import hoist_loop_invariants
from funcgrad.expr import subexpressions
from funcgrad.rewrite.evaluate import variables
from funcgrad.trace.leaves import parameter_names
from funcgrad.trace.pytree import flatten
from funcgrad.trace.run_formula import evaluate
from tests.default_slice import examples, one_in

RNG = np.random.default_rng(0)


def both(f, *args, rtol=1e-11):
    """The traced f as it is and with its loops relieved, run on args; how many nodes the loops have."""
    roots = flatten(fg.trace(f, *args)).leaves
    moved = hoist_loop_invariants(roots)
    values = dict(zip(parameter_names(f, len(args)), args, strict=True))
    for old, new in zip(
        [*roots, *roots], [*moved, *hoist_loop_invariants(roots, native=True)], strict=True
    ):
        assert old.type == new.type
        given = {name: values[name] for name in variables(new)}
        expected = evaluate(old, {name: values[name] for name in variables(old)})
        np.testing.assert_allclose(evaluate(new, given), expected, rtol=rtol, atol=rtol)
    return _inside(roots), _inside(moved)


def _inside(roots):
    loops = [e for e in subexpressions(*roots) if e.op.name == "loop"]
    bodies = [dict(e.params)["body"] for e in loops]
    return sum(len(subexpressions(*b.outputs)) for b in bodies)


def cell(kind):
    """A recurrent cell on the state h and the item x."""

    def iteration(w, u, b, h, x):
        z = x @ w + h @ u + b
        if kind == "tanh":
            return np.tanh(z)
        n = z.shape[-1] // 2
        gate = 1 / (1 + np.exp(-z[..., :n]))
        new = gate * np.tanh(z[..., n:])
        return np.concatenate([new, h[..., n:]], axis=-1)

    return iteration


@pytest.mark.parametrize(
    ("kind", "rows", "iterations", "reverse"),
    one_in(5, itertools.product(["tanh", "gates"], [(), (1,), (3,)], [0, 1, 4, 9], [False, True])),
)
def test_gradients_of_recurrent_cells(kind, rows, iterations, reverse):
    """Each weight's gradient is a product of tall matrices, whatever the shape of a batch."""
    iteration = cell(kind)

    def loss(w, u, b, h, xs):
        def step(h, x):
            h = iteration(w, u, b, h, x)
            return h, np.sum(h * h, axis=-1)

        h, ys = fg.scan(step, h, xs, reverse=reverse)
        return np.sum(h) + np.sum(ys)

    args = [RNG.normal(size=s) for s in [(3, 4), (4, 4), (4,), (*rows, 4), (iterations, *rows, 3)]]
    before, after = both(fg.grad(loss, (0, 1, 2, 3, 4)), *args)
    assert after < before or iterations < 4
    for x, y in zip(
        fg.jit(fg.grad(loss, (0, 1, 2, 3, 4)))(*args),
        fg.grad(loss, (0, 1, 2, 3, 4))(*args),
        strict=True,
    ):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


UNARY = (np.sin, np.exp, lambda x: -x, lambda x: np.sum(x, axis=0, keepdims=True) + 0 * x)
UNARY += (np.transpose, lambda x: x[::-1], lambda x: np.reshape(np.ravel(x), (2, 2)))
BINARY = (np.add, np.multiply, np.matmul, np.subtract, lambda x, y: np.where(x > y, x, y))


@settings(max_examples=examples(150))
@given(data=st.data(), iterations=st.integers(0, 8), reverse=st.booleans())
def test_random_loops(data, iterations, reverse):
    """Random bodies of matrices, with states that add up, outputs nobody asks for and constants."""
    program = [
        (
            data.draw(st.booleans()),
            data.draw(st.integers(0, 6)),
            data.draw(st.integers(0, 4)),
            data.draw(st.integers(0, 99)),
            data.draw(st.integers(0, 99)),
        )
        for _ in range(data.draw(st.integers(1, 6)))
    ]
    chosen = [data.draw(st.integers(0, 99)) for _ in range(7)]
    wanted = data.draw(st.sets(st.integers(0, 5), min_size=1))

    def f(a, b, total, xs, ys):
        def iteration(carry, items):
            a_, b_, total_ = carry
            x, y = items
            values = [x, y, a, b, np.ones((2, 2)), a_, b_]
            for one, u, v, p, q in program:
                left, right = values[p % len(values)], values[q % len(values)]
                values.append(np.tanh(UNARY[u](left) if one else BINARY[v](left, right)))
            pick = [values[k % len(values)] for k in chosen]
            more = total_ + pick[2] + np.transpose(pick[3]) @ pick[4]
            return (pick[0], pick[1], more), (pick[5], pick[6], np.sum(pick[5]))

        (a_, b_, total_), ys = fg.scan(iteration, (a, b, total), (xs, ys), reverse=reverse)
        every = [a_, b_, total_, *ys]
        return [every[k] for k in sorted(wanted)]

    args = [RNG.normal(size=(2, 2)) for _ in range(3)]
    args += [RNG.normal(size=(iterations, 2, 2)) for _ in range(2)]
    both(f, *args)


def test_what_never_changes_leaves_every_loop():
    """Also a loop in a loop, and one that ends by a condition."""

    def nested(w, x):
        def outer(h, _):
            return fg.scan(lambda h, _: (np.tanh(h @ np.exp(w)), None), h, None, 5)[0], None

        return fg.scan(outer, x, None, 6)[0]

    w, x = RNG.normal(size=(3, 3)), RNG.normal(size=3)
    both(nested, w, x)
    moved = hoist_loop_invariants(flatten(fg.trace(nested, w, x)).leaves)
    assert "exp" in [e.op.name for e in subexpressions(*moved)]

    def tested(w, x):
        iteration = lambda s: (s[0] @ np.exp(w) * 0.1, s[1] + 1)  # noqa: E731
        return fg.while_loop(lambda s: s[1] < 7, iteration, (x, 0))[0]

    both(tested, w, x)
    moved = hoist_loop_invariants(flatten(fg.trace(tested, w, x)).leaves)
    assert "exp" in [e.op.name for e in subexpressions(*moved)]


def test_a_loop_that_is_a_map_vanishes():
    def f(w, xs):
        return fg.scan(lambda s, x: (s, np.tanh(x @ w)), 0.0, xs)[1]

    w, xs = RNG.normal(size=(3, 2)), RNG.normal(size=(6, 3))
    both(f, w, xs)
    moved = hoist_loop_invariants(flatten(fg.trace(f, w, xs)).leaves)
    assert "loop" not in [e.op.name for e in subexpressions(*moved)]


def test_states_that_nobody_asks_for_are_dropped():
    def f(xs):
        iteration = lambda s, x: ((s[0] + x, s[1] * np.sin(x)), s[1])  # noqa: E731
        return fg.scan(iteration, (np.zeros(2), np.ones(2)), xs)[0][0]

    xs = RNG.normal(size=(9, 2))
    before, after = both(f, xs)
    assert after < before


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes_keep_theirs(dtype):
    def f(w, h, xs):
        h, ys = fg.scan(lambda h, x: (np.tanh(h @ w + x), h * 2), h, xs)
        return np.sum(np.real(h)) + np.sum(np.real(ys))

    args = [RNG.normal(size=s).astype(dtype) for s in [(3, 3), (2, 3), (7, 2, 3)]]
    both(fg.grad(f, (0, 1, 2)), *args, rtol=1e-4 if dtype == np.float32 else 1e-11)


def test_gradients_of_weights_are_no_states():
    """The loop of the gradient carries cotangents of the state alone."""
    iteration = cell("gates")

    def loss(w, u, b, h, xs):
        return np.sum(fg.scan(lambda h, x: (iteration(w, u, b, h, x), None), h, xs)[0])

    args = [RNG.normal(size=s) for s in [(3, 4), (4, 4), (4,), (2, 4), (9, 2, 3)]]
    moved = hoist_loop_invariants(flatten(fg.trace(fg.grad(loss, (0, 1, 2)), *args)).leaves)
    loops = [e for e in subexpressions(*moved) if e.op.name == "loop"]
    assert {dict(e.params)["spec"].num_carry for e in loops} == {1}
    back = next(n for n in loops if dict(n.params)["spec"].reverse)
    inside = [e.op.name for e in subexpressions(*dict(back.params)["body"].outputs)]
    assert "transpose" not in inside
    assert inside.count("concatenate") == 1  # of the gates' cotangents
    assert inside.count("scatter_add") == 1  # of the part of h that is not kept


@pytest.mark.parametrize("cuts", [[(0, 2), (2, 6)], [(3, 6), (0, 3)], [(0, 2), (3, 6)], [(0, 4)]])
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_of_states(cuts, axis):
    """Slices that fill an axis, in any order, that leave gaps or leave out a part."""

    def f(h, xs):
        def step(h, x):
            parts = [h[a:b] if axis == 0 else h[..., a:b] for a, b in cuts]
            total = sum(np.sum(np.sin(part) * (k + 1)) for k, part in enumerate(parts))
            return np.tanh(h + x) * 0.9 + 0.01 * total, total

        h, totals = fg.scan(step, h, xs)
        return np.sum(h) + np.sum(totals**2)

    both(fg.grad(f, (0, 1)), RNG.normal(size=(6, 6)), RNG.normal(size=(5, 6, 6)))


@pytest.mark.parametrize(("size", "leaves"), [(4, False), (64, True)])
def test_in_machine_code_only_products_for_blas_leave_the_loop(size, leaves):
    """Small products and elementwise work stay in the loop, which has no calls to save."""
    iteration = cell("tanh")

    def loss(w, u, b, h, xs):
        return np.sum(fg.scan(lambda h, x: (iteration(w, u, b, h, np.sin(x)), None), h, xs)[0])

    shapes = [(size, size), (size, size), (size,), (2, size), (16, 2, size)]
    args = [0.1 * RNG.normal(size=s) for s in shapes]
    both(fg.grad(loss, (0, 1, 2)), *args)
    roots = flatten(fg.trace(fg.grad(loss, (0, 1, 2)), *args)).leaves
    for native in (False, True):
        moved = hoist_loop_invariants(roots, native=native)
        outside = [e.op.name for e in subexpressions(*moved)]
        inside = [e for e in subexpressions(*moved) if e.op.name == "loop"]
        states = {dict(e.params)["spec"].num_carry for e in inside}
        if native and not leaves:
            assert {"matmul", "sin"}.isdisjoint(outside)
            assert max(states) > 1  # the sums of the weights' gradients
        else:
            assert {"matmul", "sin"} <= set(outside)
            assert states == ({1, 2} if native else {1})  # the bias's gradient is added up in it


@pytest.mark.parametrize(
    ("holds", "size"),
    [
        (lambda x: False, 3),
        (lambda x: (np.sum(x) < 3) & (x.size > 0), 0),
    ],
)
def test_a_condition_that_no_state_changes(holds, size):
    """Whether it holds at each iteration is an output of the loop, whose length the loop alone knows."""

    def f(x):
        return np.sum(fg.while_loop(holds, lambda x: x * x, x) ** 2)

    x = np.full(size, 0.5)
    for slope in (fg.grad(f), fg.jit(fg.grad(f))):
        for _ in range(3):
            np.testing.assert_array_equal(slope(x), 2 * x)
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(np.stack([x, x])), 2 * np.stack([x, x]))
    np.testing.assert_array_equal(fg.hessian(f)(x), 2 * np.eye(size))


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("places", [[0, 0, 1], [[2], [0]]])
def test_entries_added_at_arrays_of_indices(places, dtype):
    at = np.array(places)

    def total(x):
        def step(sums, v):
            return sums.at[at].add(v * np.ones(at.shape, dtype)), None

        return np.real(fg.scan(step, np.zeros(3, dtype), x)[0])

    x = RNG.normal(size=6)
    both(total, x)
    np.testing.assert_allclose(fg.jit(total)(x), np.bincount(at.ravel(), minlength=3) * x.sum())
