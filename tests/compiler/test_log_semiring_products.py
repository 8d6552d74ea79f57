"""Log-sum-exps of a vector and a loop-invariant matrix as products of probabilities."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.passes.log_semiring_products import multiply_probabilities
from funcgrad.expr import by_key

N = 12
RNG = np.random.default_rng(0)


def steps(axis, scan=fg.scan):
    """The value of a recursion on logarithms, as a function of its start and its matrix."""

    def run(a, matrix):
        def step(a, _):
            x = a[:, None] + matrix if axis == 0 else matrix + a
            return fg.logsumexp(x, axis=axis) + 0.1, a

        end, met = scan(step, a, None, length=9)
        return fg.logsumexp(end) + fg.logsumexp(met[-1]) / 7

    return run


def one_by_one(step, state, xs, length):
    """A scan without a loop in the program."""
    met = []
    for _ in range(length):
        state, out = step(state, None)
        met.append(out)
    return state, met


def cases():
    plain = RNG.standard_normal((N, N))
    forbidden = np.where(RNG.random((N, N)) < 0.3, -np.inf, plain)
    lonely = plain.copy()
    lonely[:, 3], lonely[3, :] = -np.inf, -np.inf
    yield "plain", RNG.standard_normal(N), plain
    yield "wide vector", np.linspace(-900.0, 900.0, N), plain
    yield "wide matrix", RNG.standard_normal(N), plain * 400
    yield "far out", RNG.standard_normal(N) - 3e4, plain
    yield "forbidden", RNG.standard_normal(N), forbidden
    yield "impossible states", np.where(np.arange(N) < 5, -np.inf, 1.0), forbidden
    yield "a state that is never met", RNG.standard_normal(N), lonely
    rows = np.arange(N)
    rare = plain.copy()
    rare[rows != 1, 4], rare[4, rows != 1] = -np.inf, -np.inf
    yield "met from an unlikely state alone", np.where(rows == 1, -800.0, 0.0), rare
    yield "nothing is possible", np.full(N, -np.inf), plain
    yield "infinite", np.where(np.arange(N) == 2, np.inf, 0.0), plain
    yield "none", np.where(np.arange(N) == 2, np.nan, 0.0), plain
    yield "an infinite entry", RNG.standard_normal(N), np.where(np.eye(N) > 0, np.inf, plain)
    yield "an entry that is none", RNG.standard_normal(N), np.where(np.eye(N) > 0, np.nan, plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("a", "matrix"), [case[1:] for case in cases()], ids=[c[0] for c in cases()]
)
def test_values_and_slopes(a, matrix, axis):
    pytest.importorskip("llvmlite")
    value, slopes = fg.jit(fg.value_and_grad(steps(axis), (0, 1)), native=True)(a, matrix)
    want, expected = fg.value_and_grad(steps(axis, one_by_one), (0, 1))(a, matrix)
    np.testing.assert_allclose(value, want, rtol=1e-13)
    for one, other in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-300)


def ops_in_loops(*roots):
    found = []
    for expr in by_key(*roots).values():
        params = dict(expr.params)
        for body in [params["body"]] if "body" in params else params.get("branches", ()):
            found += [e.op.name for e in by_key(*body.outputs).values()]
    return found


@pytest.mark.parametrize("axis", [0, 1])
def test_the_loop_has_branches(axis):
    root = fg.trace(steps(axis), np.zeros(N), np.zeros((N, N)))
    (found,) = multiply_probabilities([root])
    assert "branch" in ops_in_loops(found)
    assert "logsumexp" not in ops_in_loops(found)  # but in a branch
    at = {"a": RNG.standard_normal(N), "matrix": RNG.standard_normal((N, N))}
    np.testing.assert_allclose(fg.evaluate(found, at), fg.evaluate(root, at), rtol=1e-13)


def test_the_slope_has_branches():
    both = fg.value_and_grad(steps(0), (0, 1))
    value, slopes = fg.trace(both, np.zeros(N), np.zeros((N, N)))
    found = multiply_probabilities([value, *slopes])
    assert ops_in_loops(*found).count("branch") == 3  # (the reverse loop computes the sum again)
    assert ops_in_loops(*found).count("exp") == 2  # of the matrix, in each loop


def test_a_matrix_that_changes_is_left():
    def run(a, matrix):
        def step(state, _):
            a, matrix = state
            return (fg.logsumexp(a[:, None] + matrix, axis=0), matrix * 0.9), None

        return fg.scan(step, (a, matrix), None, length=9)[0][0]

    root = fg.trace(run, np.zeros(N), np.zeros((N, N)))
    assert multiply_probabilities([root])[0].key == root.key


def test_small_matrices():
    small = fg.trace(steps(0), np.zeros(3), np.zeros((3, 3)))
    assert multiply_probabilities([small])[0].key == small.key


SUMS = {
    "over a number": lambda a, b, matrix: (a[:, None] - matrix) / 0.5,
    "two vectors": lambda a, b, matrix: -matrix + a[:, None] + b,
    "two vectors over a number": lambda a, b, matrix: (b + a[:, None] - 2.0 * matrix) / -3.0,
    "times a number": lambda a, b, matrix: 0.7 * (matrix - b) - a[:, None],
    "one vector twice": lambda a, b, matrix: a[:, None] + matrix + a[:, None] / 4,
}


def relaxed(sum_of, scan=fg.scan):
    """Sums over both axes by turns, as a function of the start and the matrix."""

    def run(a, matrix):
        def step(state, _):
            a, b = state
            b = 0.3 * fg.logsumexp(sum_of(a, b, matrix), axis=0)
            a = 0.2 * fg.logsumexp(sum_of(a, b, matrix), axis=1)
            return (a, b), a

        (a, b), met = scan(step, (a, a[::-1]), None, length=9)
        return fg.logsumexp(a + b) + fg.logsumexp(met[-1]) / 7

    return run


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sum_of", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize(
    ("a", "matrix"), [case[1:] for case in cases()], ids=[c[0] for c in cases()]
)
def test_sums_of_several_terms(a, matrix, sum_of):
    pytest.importorskip("llvmlite")
    run = fg.jit(fg.value_and_grad(relaxed(sum_of), (0, 1)), native=True)
    value, slopes = run(a, matrix)
    want, expected = fg.value_and_grad(relaxed(sum_of, one_by_one), (0, 1))(a, matrix)
    np.testing.assert_allclose(value, want, rtol=1e-13)
    for one, other in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_several_terms_are_products(name):
    root = fg.trace(relaxed(SUMS[name]), np.zeros(N), np.zeros((N, N)))
    (found,) = multiply_probabilities([root])
    # That along the axis without a vector is left.
    assert ops_in_loops(found).count("logsumexp") == (name in ("over a number", "one vector twice"))
    at = {"a": RNG.standard_normal(N), "matrix": RNG.standard_normal((N, N))}
    np.testing.assert_allclose(fg.evaluate(found, at), fg.evaluate(root, at), rtol=1e-13)


def test_infinite_entries_along_the_other_axis():
    def run(a, matrix):
        def step(a, _):
            b = np.where(np.arange(N) == 2, np.inf, a)
            return a * 0.9, fg.logsumexp(a[:, None] + matrix + b, axis=0)

        return fg.scan(step, a, None, length=9)[1]

    root = fg.trace(run, np.zeros(N), np.zeros((N, N)))
    (found,) = multiply_probabilities([root])
    assert ops_in_loops(found).count("logsumexp") == 0
    at = {"a": RNG.standard_normal(N), "matrix": np.where(np.eye(N) > 0, -np.inf, 1.0)}
    values = fg.evaluate(found, at)
    np.testing.assert_allclose(values, fg.evaluate(root, at), rtol=1e-13)
    assert np.all(np.isnan(values[:, 2]))
    assert np.all(np.isfinite(values[:, 3]))
