"""Every law on random values; formulas as a person would write them."""

import inspect

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.program.laws import ALGEBRA, LAWS, MASKS, STABLE

SHAPES = [(), (3,)]


def name_of(law):
    return inspect.getsource(law.left).strip()[:90]


def operands(law, shape, dtype):
    rng = np.random.default_rng(3)
    names = list(inspect.signature(law.left).parameters)
    numbers = {"c": 2.5, "d": 1.5}
    values = {
        n: rng.random(shape) > 0.5 if n == "p" else rng.uniform(0.3, 1.6, shape).astype(dtype)
        for n in names
        if n not in numbers
    }
    symbols = {
        n: fg.var(n, shape, v.dtype if hasattr(v, "dtype") else bool) for n, v in values.items()
    }
    args = [numbers.get(n) if n in numbers else symbols[n] for n in names]
    return args, values


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("law", LAWS, ids=name_of)
def test_every_law_holds_and_fires(law, shape, dtype):
    args, values = operands(law, shape, dtype)
    left = law.left(*args)
    simple = fg.simplify(left)
    assert simple.type == left.type
    assert simple.key != left.key
    used = {n: v for n, v in values.items() if n in fg.program.evaluate.variables(simple)}
    rtol = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(simple(**used), left(**values), rtol=rtol, atol=rtol)
    right = law.right(*args)
    both = (
        right(**{n: v for n, v in values.items() if f"'{n}'" in _inputs(right)})
        if isinstance(right, fg.Expr)
        else np.full(shape, right)
    )
    np.testing.assert_allclose(both, left(**values), rtol=rtol, atol=rtol)


def _inputs(expr):
    return str([n.params for n in expr.graph.values() if n.op.name == "input"])


def test_the_table_is_its_three_parts():
    assert len(LAWS) == len(MASKS) + len(STABLE) + len(ALGEBRA)


V, M = fg.var("v", 4), fg.var("m", (2, 3))
P = fg.var("p", 4, bool)

STRUCTURAL = [
    (np.sqrt(np.sum(V**2)), "norm(v)"),
    (np.sqrt(np.mean(V**2)), "norm(v)/2"),
    (np.linalg.norm(V) ** 2, "sum(v**2)"),
    (np.log(np.sum(np.exp(V))), "logsumexp(v)"),
    (np.log(fg.softmax(V)), "v - reshape(logsumexp(v), shape=(1,))"),
    (np.reshape(np.reshape(M, 6), (3, 2)), "reshape(m, shape=(3, 2))"),
    (np.reshape(np.reshape(M, 6), (2, 3)), "m"),
    (M.T.T, "m"),
    (np.sum(np.broadcast_to(fg.var("x"), (5,))), "5*x"),
    (np.sin(fg.const(0.0)) + V, "v"),
    (fg.const(2.0) * 3.0 * fg.var("x"), "6*x"),
]


@pytest.mark.parametrize(("expr", "expected"), STRUCTURAL, ids=[e for _, e in STRUCTURAL])
def test_structural_laws(expr, expected):
    simple = fg.simplify(expr)
    assert repr(simple) == expected
    rng = np.random.default_rng(0)
    values = {
        n: rng.uniform(0.5, 1.5, v.shape) for n, v in fg.program.evaluate.variables(expr).items()
    }
    np.testing.assert_allclose(simple(**values), expr(**values), rtol=1e-12)


def test_masks_stay_outermost():
    x = fg.var("x", 4)
    masked = np.where(P, np.sqrt(x), 0.0)
    slope = fg.gradient(np.sum(masked), x)
    given = {"p": np.array([True, False, False, True]), "x": np.array([1.0, 0.0, -1.0, 4.0])}
    np.testing.assert_array_equal(slope(**given), [0.5, 0.0, 0.0, 0.25])


def test_a_masked_sum_that_selects_nothing_is_a_zero_that_stays_one():
    f = fg.grad(lambda y, x: np.sum(np.where(x > 0, np.sqrt(y), 0.0)))
    assert f(0.0, np.array([-1.0, -2.0])) == 0.0
    assert f(0.0, np.array([1.0, -2.0])) == np.inf


def test_masks_move_with_entries():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(np.reshape(x, 4))[::-1].reshape(2, 2), 0.0)[0])

    x = np.array([[1.0, -1.0], [0.0, 0.25]])
    np.testing.assert_array_equal(fg.grad(f)(x), [[0.0, 0.0], [0.0, 1.0]])


def test_what_no_index_selects_is_a_zero_that_stays_one():
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.sqrt(x)[1:]))(x), [0.0, 0.5, 0.25])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.log(x)[[1, 2]]))(x), [0.0, 1.0, 0.25])


def test_collecting():
    x, y = fg.var("x"), fg.var("y")
    written = [
        x + x,
        2 * x + 3 * x,
        x * x * x,
        1 + x + 1,
        x - x + y,
        np.negative(-x),
        x * 0 + y,
        (y + x) + x,
    ]
    assert [repr(fg.simplify(e)) for e in written] == [
        "2*x", "5*x", "x**3", "x + 2", "y", "x", "y", "2*x + y",
    ]  # fmt: skip


def test_gradients_read_like_a_person_would_write_them():
    cube = fg.grad(lambda x: x**3)
    assert repr(cube.expr(2.0)) == "3*x**2"
    assert repr(fg.grad(cube).expr(2.0)) == "6*x"
    assert repr(fg.grad(lambda x: np.sin(x) * x).expr(1.0)) == "sin(x) + x*cos(x)"
    assert repr(fg.grad(lambda x: np.dot(x, x) / 2).expr(np.ones(3))) == "x"
    assert repr(fg.grad(lambda x: np.exp(-x)).expr(1.0)) == "-exp(-x)"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (fg.var("x") - (fg.var("y") - 1), "x - (y - 1)"),
        (fg.var("x") / (fg.var("y") * 2), "x/(y*2)"),
        ((-fg.var("x")) ** 2, "(-x)**2"),
        (-(fg.var("x") ** 2), "-x**2"),
        (2 ** fg.var("x") ** 2, "2**x**2"),
        ((fg.var("x") ** 2) ** 3, "(x**2)**3"),
        (fg.var("x") + -3.0, "x - 3"),
        (M @ M.T, "m @ m.T"),
        ((M @ M.T) * fg.var("x"), "(m @ m.T)*x"),
        (M[0, 1:], "m[0, 1:]"),
        (M.sum(axis=0), "sum(m, axis=0)"),
        (fg.var("x") > 0, "x > 0"),
        (abs(fg.var("x")), "abs(x)"),
    ],
)
def test_formulas(expr, text):
    assert repr(expr) == text


def test_shared_parts_are_named_once():
    x = fg.var("a")
    y = x**2
    z = y + np.exp(y)
    expected = "let b = a**2\n    c = b + exp(b)\nin sqrt(c) + cos(c)"
    assert repr(np.sqrt(z) + np.cos(z)) == expected


def test_a_long_program_is_abbreviated():
    x = y = fg.var("x")
    for _ in range(2000):
        y = np.sin(y) * x
    text = repr(y)
    assert len(text.splitlines()) < 40
    assert "more)" in text
    assert text == repr(y)
