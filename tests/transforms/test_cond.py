"""cond and switch: one branch runs, and only its derivative."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.subscripts import index_update
from funcgrad.transforms.control_flow.cond import cond, switch
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.custom.primitive import primitive

SAFE = (lambda x: x * 2, lambda x: np.log(x) + np.sqrt(x), lambda x: x**3 / (x - 1))


def counted(calls, label):
    def run(x):
        calls.append(label)
        return np.sin(x)

    return primitive(run, [lambda x: np.cos(x)], name=label)


def test_only_the_chosen_branch_runs():
    calls = []
    a, b = counted(calls, "a"), counted(calls, "b")
    slope = fg.grad(lambda x: cond(x > 0, a, b, x))
    slope(1.0)
    assert set(calls) == {"a"} or calls == []  # its value is not needed
    calls.clear()
    fg.value_and_grad(lambda x: cond(x > 0, a, b, x))(-1.0)
    assert set(calls) == {"b"}
    calls.clear()
    fg.hessian(lambda x: switch(np.where(x > 0, 0, 1), [a, b], x) ** 2)(1.0)
    assert set(calls) == {"a"}


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 9])
def test_the_index_is_clamped(index):
    at = np.clip(index, 0, 2)
    want = SAFE[at](0.5)
    assert switch(index, SAFE, 0.5) == want
    assert fg.trace(lambda i: switch(i, SAFE, 0.5), index)(i=index) == pytest.approx(want)
    found = fg.vmap(lambda i, x: switch(i, SAFE, x))(np.array([index, 0]), np.array([0.5, 0.25]))
    np.testing.assert_allclose(found, [want, 0.5])
    slope = fg.vmap(fg.grad(lambda x, i: switch(i, SAFE, x)))(
        np.array([0.5, 0.25]), np.array([index, 0])
    )
    np.testing.assert_allclose(slope, [fg.grad(SAFE[at])(0.5), 2.0])


@pytest.mark.parametrize("kind", [bool, int, np.int32, np.bool_, np.uint8])
def test_kinds_of_predicates(kind):
    for value in (0, 1):
        assert cond(kind(value), lambda x: x + 1, lambda x: x - 1, 3.0) == (4.0 if value else 2.0)
        program = fg.trace(
            lambda p, x: cond(p, lambda x: x + 1, lambda x: x - 1, x), kind(value), 3.0
        )
        assert program(p=kind(value), x=3.0) == (4.0 if value else 2.0)


def test_what_is_not_chosen_leaks_nothing():
    xs = np.array([-1.0, 0.0, 0.5, 2.0])

    def f(x):
        return cond(x > 0.25, lambda x: np.log(x) + np.sqrt(x - 0.3 * 0.5), lambda x: x * x, x)

    def plain(x):
        return np.log(x) + np.sqrt(x - 0.3 * 0.5) if x > 0.25 else x * x

    for order in range(4):
        np.testing.assert_allclose(fg.vmap(f)(xs), [plain(x) for x in xs.tolist()], rtol=1e-12)
        if order == 0:
            total = fg.grad(lambda x, f=f: np.sum(fg.vmap(f)(x)))(xs)
            np.testing.assert_allclose(total, [fg.grad(plain)(x) for x in xs.tolist()], rtol=1e-12)
        f, plain = fg.grad(f), fg.grad(plain)
    for outer in (fg.jacfwd, fg.jacrev):
        for inner in (fg.jacfwd, fg.jacrev):
            found = outer(
                inner(lambda x: np.sum(fg.vmap(lambda v: cond(v > 0.25, np.log, np.square, v))(x)))
            )(xs)
            np.testing.assert_allclose(
                found, np.diag(np.where(xs > 0.25, -1 / xs.clip(0.1) ** 2, 2.0))
            )


def test_trees_closures_and_dtypes():
    scale = np.array([1.0, 2.0])

    def f(p, w):
        good = {"a": (p["a"] * w * scale, [p["n"] + 1]), "b": np.float32(1)}
        bad = {"a": (scale * 0.0, [p["n"]]), "b": np.float32(2)}
        return cond(p["a"] > 0, lambda q: good, lambda q: bad, p)

    p = {"a": 3.0, "n": 4}
    program = fg.trace(f, p, 2.0)
    assert program["a"][0](p_a=3.0, p_n=4, w=2.0).tolist() == [6.0, 12.0]
    slope = fg.grad(lambda a, w: np.sum(f({"a": a, "n": 4}, w)["a"][0]), (0, 1))
    assert slope(3.0, 2.0) == (6.0, 9.0)
    assert slope(-3.0, 2.0) == (0.0, 0.0)
    widened = fg.trace(lambda x: cond(x > 0, lambda x: x, lambda x: 1, x), 2.0)
    assert widened(x=-2.0) == 1.0
    assert fg.grad(lambda x: cond(x > 0, lambda: x * x, lambda: x))(3.0) == 6.0


def test_branches_in_branches_in_loops():
    def f(x):
        def turn(c, v):
            inner = cond(v > 0, np.sin, lambda u: cond(u > 0.5, np.cos, np.exp, u), c)
            return switch(
                (v * 3).astype(int), [lambda a, b: a + b, lambda a, b: a * b], inner, v
            ), c

        return scan(turn, x[0], x)[0]

    def plain(x):
        c = x[0]
        for v in x:
            inner = np.sin(c) if v > 0 else np.cos(c) if c > 0.5 else np.exp(c)
            c = inner + v if int(v * 3) <= 0 else inner * v
        return c

    xs = np.random.default_rng(0).uniform(-1, 1, (6, 5))
    for transform in (lambda f: f, fg.grad, fg.hessian, lambda f: fg.jacrev(fg.jacrev(f))):
        want = np.stack([transform(plain)(x) for x in xs])
        np.testing.assert_allclose(
            np.stack([transform(f)(x) for x in xs]), want, rtol=1e-11, atol=1e-13
        )
        np.testing.assert_allclose(fg.vmap(transform(f))(xs), want, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: cond(x > 0, lambda x: (x, x), lambda x: x, x),
            r"cond: expected branches that return the same .* but got \(float64, float64\) and float64",
        ),
        (
            lambda x: cond(x > 0, lambda x: x * np.ones(2), lambda x: x, x),
            r"cond: .* got float64\[2\] and float64",
        ),
        (
            lambda x: cond(x > 0, lambda x: {"a": x}, lambda x: {"b": x}, x),
            "branches that return the same structure .* but got {'a': float64} and {'b': float64}",
        ),
        (
            lambda x: switch((x > 0).astype(int), [lambda x: x, lambda x: [x, x]], x),
            "switch: expected branches that return the same structure",
        ),
        (
            lambda x: cond(x, lambda x: x, lambda x: x, x),
            "cond: expected one bool, but got float64; write x > 0",
        ),
        (
            lambda x: cond(x * np.ones(2) > 0, lambda x: x, lambda x: x, x),
            r"cond: expected one bool, but got bool\[2\]",
        ),
        (
            lambda x: cond(np.array([True]), lambda x: x, lambda x: x, x),
            r"cond: expected one bool, but got bool\[1\]",
        ),
        (
            lambda x: switch(x, [lambda x: x], x),
            "switch: expected one integer and some branches, but got float64 and 1",
        ),
        (
            lambda x: switch(1.5, [lambda x: x], x),
            "switch: expected one integer and some branches, but got float64 and 1",
        ),
        (
            lambda x: switch(0, [], x),
            "switch: expected one integer and some branches, but got int64 and 0",
        ),
        (
            lambda x: cond(x > 0, lambda y: y if y > 1 else (y, y), np.sin, x),
            r"one structure whichever way it branches, but got float64 and \(float64, float64\)",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(TypeError, match=message):
        fg.grad(call)(2.0)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (lambda: cond(True, np.sin, np.cos, 0.5), float),
        (lambda: switch(1, [np.cos, np.sin], 0.5), float),
        (lambda: cond(True, lambda x: {"a": np.sin(x)}, np.cos, 0.5)["a"], float),
        (lambda: cond(True, np.sin, np.cos, np.float32(0.5)), np.float32),
        (lambda: cond(True, lambda x: np.sin(x) > 0, np.cos, 0.5), bool),
    ],
)
def test_a_known_choice_returns_numbers_of_the_kinds_that_loops_return(found, kind):
    assert type(found()) is kind
    assert np.sin(0.5).dtype.type(found()) == (True if kind is bool else np.sin(kind(0.5)))


def test_a_known_choice_returns_what_has_no_numbers_as_it_is():
    kept = object(), np.ones(2)
    assert cond(True, lambda x: kept, np.cos, 0.5) is kept


def test_only_the_chosen_branch_runs_of_branches_without_arguments():
    calls = []
    heavy = counted(calls, "heavy")

    def f(x):
        outside = x * 2
        return cond(x > 0, lambda: np.sqrt(x) + outside, lambda: heavy(x) * outside)

    for transform in (
        fg.grad,
        fg.jacfwd,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.grad(fg.checkpoint(f)),
    ):
        calls.clear()
        assert transform(f)(4.0) == 2.25
        assert not calls
        assert transform(f)(-1.0) == pytest.approx(-2 * np.cos(1.0) - 2 * np.sin(1.0))
        assert calls
    for edge in (fg.grad, lambda f: fg.jit(fg.grad(f)), fg.hessian):
        assert edge(lambda x: cond(x > 0, lambda: np.sqrt(x) * np.log(x), lambda: x * 0))(0.0) == 0


@pytest.mark.parametrize("written", ["cond", "if", "conditional expression"])
def test_an_index_in_a_branch_may_be_out_of_bounds_elsewhere(written):
    def body(i, total, x):
        if written == "cond":
            return cond(i < 2, lambda: total + x[i + 1] * x[i], lambda: total)
        if written == "if":
            if i < 2:
                x = index_update(x, i + 1, x[i], "add")
                total = total + x[i + 1] * x[i]
            return total
        return total + x[i + 1] * x[i] if i < 2 else total

    def f(x):
        return fg.fori_loop(0, 3, lambda i, total: body(i, total, x), 0.0)

    x = np.array([2.0, 3.0, 5.0])
    more = x[0] ** 2 + x[1] ** 2 if written == "if" else 0.0
    assert f(x) == x[0] * x[1] + x[1] * x[2] + more
    slope = np.array([3.0, 7.0, 3.0]) + (2 * x * [1, 1, 0] if written == "if" else 0)
    for g in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f), fg.vmap(fg.grad(f))):
        rows = np.stack([x, x]) if g.__name__.startswith("vmap") else x
        np.testing.assert_array_equal(g(rows), slope if rows is x else [slope, slope])
    places = np.arange(3)
    for g in (fg.vmap, lambda f: fg.jit(fg.vmap(f))):
        np.testing.assert_array_equal(
            g(lambda i: cond(i < 2, lambda i: x[i + 1], lambda i: 0.0, i))(places), [3.0, 5.0, 0.0]
        )


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sum(np.linalg.solve(a, np.array([1.0, 2.0]))),
        lambda a: np.sum(np.linalg.inv(a)),
        lambda a: np.sum(np.linalg.cholesky(a @ a.T - 1e-3 * np.eye(2))),
        lambda a: np.sum(np.linalg.eigh(a @ a.T + 0 * np.log(np.linalg.det(a)))[0] ** 2),
        lambda a: np.sum(np.linalg.svd(a * np.log(np.linalg.det(a)))[1]),
    ],
)
def test_a_matrix_in_a_branch_may_be_singular_elsewhere(function):
    def by_cond(a):
        return cond(np.linalg.det(a) > 1e-6, lambda: function(a), lambda: np.sum(a))

    def by_if(a):
        return function(a) if np.linalg.det(a) > 1e-6 else np.sum(a)

    matrices = np.stack([np.array([[2.0, 1.0], [0.5, 1.5]]), np.ones((2, 2))])
    values, slopes = [function(matrices[0]), 4.0], [fg.grad(function)(matrices[0]), np.ones((2, 2))]
    for f in (by_cond, by_if):
        for compiled in (lambda f: f, fg.jit):
            np.testing.assert_allclose(compiled(fg.vmap(f))(matrices), values, rtol=1e-13)
            np.testing.assert_allclose(
                compiled(fg.vmap(fg.grad(f)))(matrices), slopes, rtol=1e-11, atol=1e-13
            )


def test_the_operand_by_name():
    f = lambda p: fg.cond(p > 0, lambda v: v**2, lambda v: -v, operand=p)  # noqa: E731
    assert (f(3.0), fg.jit(f)(-2.0), fg.grad(f)(3.0)) == (9.0, 2.0, 6.0)
    g = lambda x: fg.cond(True, lambda _: 3 * x, lambda _: x, operand=None)  # noqa: E731
    assert (g(1.0), fg.jit(fg.grad(g))(1.0)) == (3.0, 3.0)
    assert fg.switch(1, [np.sin, np.cos], operand=0.0) == 1.0


A = np.arange(1.0, 5.0)


def by_rule(kind, x, i):
    f = getattr(fg, kind)(lambda y, j: y[j] ** 2, nondiff_argnums=(1,))
    if kind == "custom_vjp":
        one = np.where(np.arange(4) == i, 1.0, 0.0)
        f.defvjp(lambda y, j: (y[j] ** 2, (y, j)), lambda j, r, g: (g * 2 * r[0][j] * one,))
    else:
        f.defjvp(lambda j, p, t: (p[0][j] ** 2, 2 * p[0][j] * t[0][j]))
    return f(x, i)


NESTED = {
    "cond": lambda x, i: cond(x[0] > 0, lambda: x[i] ** 2, lambda: x[i] * 3),
    "checkpoint": lambda x, i: fg.checkpoint(lambda y, j: y[j] ** 2)(x, i),
    "scan": lambda x, i: scan(lambda c, v: (c * x[i] + v, c), x[0], A)[0],
    "while_loop": lambda x, i: fg.while_loop(lambda c: c < x[i], lambda c: c * x[i] + 1, 0.5),
    "custom_vjp": lambda x, i: by_rule("custom_vjp", x, i),
    "custom_jvp": lambda x, i: by_rule("custom_jvp", x, i),
}


@pytest.mark.parametrize("name", NESTED)
def test_an_index_may_be_out_of_bounds_in_what_a_branch_nests(name):
    inside = NESTED[name]

    def by_cond(x, i):
        return cond(i < 4, lambda: inside(x, i), lambda: np.sum(x))

    def in_a_loop(x):
        def body(total, i):
            if i < 4:
                total = total + inside(x, i)
            return total, ()

        return scan(body, 0.0, np.arange(6))[0]

    def ending(x, start):
        return fg.while_loop(
            lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + inside(x, s[0])), (start, 0.0)
        )[1]

    slopes = [fg.grad(inside)(A, 2), np.ones(4)]
    for compiled in (lambda f: f, fg.jit):
        found = compiled(fg.vmap(fg.grad(by_cond), (None, 0)))(A, np.array([2, 7]))
        np.testing.assert_allclose(found, slopes, rtol=1e-12)
        total = sum(fg.grad(inside)(A, i) for i in range(4))
        np.testing.assert_allclose(compiled(fg.grad(in_a_loop))(A), total, rtol=1e-12)
        found = compiled(fg.vmap(fg.jacfwd(ending), (None, 0)))(A, np.array([0, 3]))
        np.testing.assert_allclose(found, [total, fg.grad(inside)(A, 3)], rtol=1e-12)


def test_what_a_branch_returns_at_once_shares_memory_with_no_operand():
    a = np.ones(3)
    for found in (
        fg.cond(True, lambda a: a, lambda a: -a, a),
        fg.cond(False, lambda a: -a, lambda a: a, a),
        fg.switch(0, [lambda a: {"part": a[:2]}], a)["part"],
    ):
        found[:] = 5.0
    np.testing.assert_array_equal(a, np.ones(3))
