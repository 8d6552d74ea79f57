"""Values of formulas, maps and trees of them: at numbers, on grids, and at expressions."""

import numpy as np
import pytest

import funcgrad as fg

x, y = fg.vars("x y")
v = fg.var("v", 3)
GRID = np.linspace(-2.0, 2.0, 7)


def test_names_that_a_formula_does_not_have_are_ignored():
    a, b, c = fg.vars("a b c")
    values = {"a": 2.0, "b": 3.0, "c": 5.0}
    assert [g(**values) for g in fg.gradient(a * b + c, ["a", "b", "c"])] == [3.0, 2.0, 1.0]
    assert fg.evaluate(fg.const(2.0), values) == 2.0
    assert fg.table(a * b, values)[-1].value == 6.0
    with pytest.raises(TypeError, match=r"values for a, b, but got a, c; write e\(a=2.0, b=2.0\)"):
        (a * b)(a=1.0, c=2.0)


def test_trees_and_maps_of_formulas():
    e = np.sin(x) * y
    assert fg.evaluate((e, {"d": [e * 2, 7.0]}), x=0.5, y=2.0) == (
        np.sin(0.5) * 2.0,
        {"d": [np.sin(0.5) * 2.0 * 2, 7.0]},
    )
    assert fg.evaluate((), x=1.0) == ()
    values = fg.backprop(e)(x=0.5, y=2.0)
    assert values == fg.evaluate(fg.backprop(e), x=0.5, y=2.0)
    assert isinstance(values, fg.GradientMap)
    assert values["x"] == 2.0 * np.cos(0.5)
    assert values[y] == np.sin(0.5)
    counts = fg.sum_product(e, fg.COUNTING, lambda edge: x)
    assert fg.evaluate(counts, x=3.0)[x] == 9.0


def test_the_map_of_a_loop_has_values():
    final = fg.scan(lambda c, t: (c * t, c), x, np.array([2.0, 3.0]))[0]
    assert fg.backprop(final)(x=5.0)["x"] == 6.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.exp(x) * x,
        lambda x: x * 0 + 1.0,
        lambda x: fg.const(3.0) + 0 * x,
        lambda x: np.where(x > 0, np.sqrt(x), -x),
        lambda x: np.sum(np.arange(3.0) * x),
        lambda x: fg.while_loop(lambda s: s < 100.0, lambda s: s * s + 2.0, x),
    ],
)
def test_a_grid_is_mapped_over(f):
    e = f(x)
    both = (e, fg.gradient(e, x))
    expected = np.array([fg.evaluate(both, x=t) for t in GRID.tolist()]).T
    np.testing.assert_array_equal(fg.evaluate(both, x=GRID), expected)
    whole = fg.evaluate(both, x=GRID.reshape(7, 1))
    np.testing.assert_array_equal(whole, expected.reshape(2, 7, 1))
    assert [part.shape for part in fg.evaluate(both, x=np.zeros((0, 2)))] == [(0, 2)] * 2


def test_grids_of_several_variables_broadcast():
    e = x * y**2
    across, down = np.linspace(0, 1, 3), np.linspace(1, 2, 4)[:, None]
    np.testing.assert_array_equal(e(x=across, y=down), across * down**2)
    np.testing.assert_array_equal(e(x=across, y=2.0), across * 4)
    assert e(x=np.float32(2.0), y=[1, 2]).tolist() == [2.0, 8.0]
    assert fg.evaluate(fg.const(1.0) * x / x, x=[1, 2]).dtype == np.float64


def test_a_vector_beside_a_grid():
    e = x * v
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(e(x=GRID, v=w), GRID[:, None] * w)
    assert np.sum(x * v)(x=GRID, v=w).tolist() == [np.sum(t * w) for t in GRID]


def test_special_values_on_a_grid():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    found = (1 / x)(x=special)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, 1 / special)
    assert np.signbit((x * 1)(x=special))[1]


def test_an_expression_as_a_value():
    e = x**2 * y
    assert fg.same(e(x=y, y=y), y**2 * y)
    assert fg.grad(lambda t: e(x=t, y=3.0))(2.0) == 12.0
    assert fg.jit(lambda t: e(x=t, y=3.0))(2) == 12.0
    assert fg.grad(fg.grad(lambda t: e(x=t, y=t)))(2.0) == 12.0


def test_grids_inside_transforms():
    e = np.sin(x) * y
    slope = fg.gradient(e, "x")
    found = fg.vmap(lambda s: slope(x=GRID, y=s))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, np.array([[1.0], [2.0]]) * np.cos(GRID), rtol=1e-15)
    found = fg.vmap(lambda s: slope(x=s * GRID, y=1.0))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, np.cos(np.array([[1.0], [2.0]]) * GRID), rtol=1e-15)
    np.testing.assert_allclose(fg.vmap(lambda s: e(x=s, y=s))(GRID), np.sin(GRID) * GRID)
    total = fg.grad(lambda s: np.sum(e(x=s * GRID, y=1.0)))(0.5)
    np.testing.assert_allclose(total, np.sum(GRID * np.cos(0.5 * GRID)))


def test_several_roots_with_stores_in_place():
    many = fg.var("m", 4)
    once = many.at[0].set(1.0)
    twice = once.at[1].add(2.0)
    first, second = fg.evaluate((once, twice), m=np.zeros(4))
    assert first.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert second.tolist() == [1.0, 2.0, 0.0, 0.0]


def test_lists_of_variables_are_searched():
    a, b = fg.vars("a, b")
    assert a in [b, a]
    assert fg.var("a") in [b, a]
    assert a not in [b]
    assert fg.var("a", 3) not in [a, b]
    assert v in [a, fg.var("m", (2, 2)), fg.var("v", 3, "float32"), v]
    assert fg.var("m", (2, 2)) not in [a, v]
    assert [a, b].index(fg.var("b")) == 1
    assert bool(a != b)
    assert not bool(a != fg.var("a"))
    mapped = fg.vmap(lambda s, t: 1.0 if s == t else 0.0)(np.ones(2), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(mapped, [1.0, 0.0])
    with pytest.raises(TypeError, match="whichever way it branches"):
        fg.scan(lambda c, t: (c if c == t else (t, t), c), x, np.ones(2))


def test_same_compares_programs():
    assert fg.same(x * y + 1, x * y + 1)
    assert not fg.same(x * y, y * x)
    assert fg.same(2.0, fg.const(2.0))
    assert not fg.same(0.0, -0.0)
    assert not fg.same(fg.var("x", 3), x)
    with pytest.raises(TypeError, match="expected a number, but got str"):
        fg.same(x, "x")


def test_variables_of_several_names():
    assert [str(item) for item in fg.vars("x y,z")] == ["x", "y", "z"]
    assert fg.vars("w", (2, 3), "float32")[0].type == fg.var("w", (2, 3), "float32").type
    e = fg.grad(lambda p: p["a b"] ** 2).expr({"a b": 1.0})["a b"]
    assert e(p_a_b=3.0) == 6.0


@pytest.mark.parametrize("what", ["x**2", np.sin, lambda x: x, 3.0])
def test_what_is_no_formula_is_refused(what):
    with pytest.raises(TypeError, match="evaluate: expected an expression, but got"):
        fg.evaluate(what, x=3.0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("number", [3, 0.1, True])
def test_a_python_number_takes_the_type_of_what_it_replaces(number, dtype):
    v = fg.var("v", (), dtype)
    replaced = fg.substitute(v * v, {v: number})
    assert replaced.dtype == dtype
    assert replaced() == np.dtype(dtype).type(number) ** 2
    assert fg.same(replaced, fg.substitute(v * v, v=number))


def test_a_number_of_another_kind_is_no_replacement():
    for v, number in ((fg.var("k", (), "int64"), 3.5), (fg.var("x"), 1j), (fg.var("w", 2), 3)):
        with pytest.raises(TypeError, match=r"substitute: expected .* in the place of"):
            fg.substitute(v * 2, {v: number})


def test_a_formula_that_depends_on_a_traced_value_stays_traced():
    y = fg.var("y")
    for f in (
        lambda x: x() * x,
        lambda x: fg.evaluate(x) * x,
        lambda x: (x * y)(y=1.0) * x,
        lambda x: fg.evaluate({"a": [x * y]}, {"y": 1.0})["a"][0] * x,
        lambda x: fg.evaluate(x * y, y=[0.25, 0.75]).sum() * x,
    ):
        assert fg.grad(f)(3.0) == 6.0
        assert fg.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
        assert fg.grad(fg.grad(f))(3.0) == 2.0
        assert [fg.jit(f)(x) for x in (3.0, 4.0)] == [9.0, 16.0]
        assert fg.vmap(fg.grad(f))(np.array([3.0, 4.0])).tolist() == [6.0, 8.0]


def test_the_values_of_all_nodes_are_refused_of_a_traced_value():
    kept = []
    for transform in (fg.grad, fg.jit):
        with pytest.raises(
            TypeError, match=r"evaluate_all: expected a formula, .*fg\.evaluate\(x\)"
        ):
            transform(lambda x: fg.evaluate_all(x * x)[(x * x).key] * x)(3.0)
    fg.grad(lambda x: (kept.append(x * x), x)[1])(3.0)
    assert kept[0]() == fg.evaluate_all(kept[0])[kept[0].key] == 9.0


@pytest.mark.parametrize("name", ["x", "u1", "y", "carry"])
def test_a_formula_in_the_body_of_a_loop_has_its_own_variables(name):
    """The values that stand for many are none of them, however they are called."""
    v = fg.var(name)
    points = np.array([1.5, 2.0])

    def f(a):
        return fg.evaluate(v * a + a * a, {v: 2.0}) + fg.substitute(v * a, {v: 2.0})

    def summed(z):
        return fg.scan(lambda c, a: (c + f(a), a), 0.0, z)[0]

    def of_grids(z):
        return fg.scan(lambda c, a: (c + fg.evaluate(v * a, {v: [1.0, 2.0]}).sum(), a), 0.0, z)[0]

    def of_gradients(z):
        return fg.scan(
            lambda c, a: (c + fg.evaluate(fg.gradient(v * v * a), {v: 2.0})[name], a), 0.0, z
        )[0]

    assert summed(points) == 20.25
    assert fg.grad(summed)(points).tolist() == [7.0, 8.0]
    assert fg.jvp(summed, (points,), (np.ones(2),))[1] == 15.0
    assert fg.jit(fg.grad(summed))(points).tolist() == [7.0, 8.0]
    assert fg.hessian(summed)(points).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert fg.grad(of_grids)(points).tolist() == [3.0, 3.0]
    assert fg.grad(of_gradients)(points).tolist() == [4.0, 4.0]
    assert fg.cond(True, f, lambda a: a, 1.5) == 8.25
    assert fg.grad(lambda z: fg.cond(True, f, lambda a: a, z))(1.5) == 7.0
    assert fg.fori_loop(0, 2, lambda i, carry: fg.evaluate(v * carry, {v: 2.0}), 1.0) == 4.0
    assert fg.vmap(fg.grad(f))(points).tolist() == [7.0, 8.0]


def test_a_formula_at_a_symbolic_argument_keeps_the_argument():
    x = fg.var("x")
    slope = fg.grad(lambda t: fg.evaluate(x * t * t, x=2.0))(x)
    assert fg.evaluate(slope, x=3.0) == 12.0


def test_arrays_that_take_stores_are_values_of_variables():
    x, v = fg.var("x"), fg.var("v", 2)

    def stored(t):
        a = np.zeros(2)
        a[:] = t
        return fg.evaluate((v * v).sum() * x, v=a, x=t) + fg.evaluate(x * x, x=a).sum()

    assert fg.grad(stored)(2.0) == 32.0
