"""primitive: foreign functions with a derivative that is given, or asked for."""

import math

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.control_flow.cond import cond
from funcgrad.transforms.control_flow.loops import scan, while_loop
from funcgrad.transforms.custom.custom_derivatives import custom_vjp
from funcgrad.transforms.custom.primitive import primitive

ROOT = 2 / math.sqrt(math.pi)
erf = primitive(np.vectorize(math.erf), [lambda x: ROOT * np.exp(-x * x)], name="erf")


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_order_in_every_mode(order):
    # d/dx erf = c exp(-x^2), and on by Hermite polynomials.
    x = 0.4
    hermite = [1, -2 * x, 4 * x * x - 2, -8 * x**3 + 12 * x][order - 1]
    want = ROOT * math.exp(-x * x) * hermite
    for route in range(2**order):
        f = erf
        for k in range(order):
            f = fg.grad(f) if route >> k & 1 else fg.jacfwd(f)
        assert f(x) == pytest.approx(want, rel=1e-12)
        assert fg.vmap(f)(np.array([x, 0.1]))[0] == pytest.approx(want, rel=1e-12)


def test_several_arguments_broadcast():
    f = primitive(lambda x, y: x**2 * y, [lambda x, y: 2 * x * y, lambda x, y: x**2], name="cubic")
    x, y = np.arange(3.0), np.array([[2.0], [5.0]])
    for axes in ((0, None), (None, 0), (0, 0)):
        args = [
            np.stack([v, 2 * v]) if axis == 0 else v for v, axis in zip((x, y), axes, strict=True)
        ]
        np.testing.assert_allclose(fg.vmap(f, in_axes=axes)(*args)[0], x**2 * y)
    gx, gy = fg.grad(lambda x, y: np.sum(f(x, y)), (0, 1))(x, y)
    np.testing.assert_allclose(gx, 2 * x * 7)
    np.testing.assert_allclose(gy, np.full((2, 1), 5.0))
    fg.check_grads(f, (x, y), order=3)
    assert fg.grad(lambda x: f(x, 3))(2.0) == 12.0


def test_an_argument_without_a_derivative():
    f = primitive(lambda x, y: x * y, [lambda x, y: y, None], name="half")
    assert fg.grad(f)(2.0, 3.0) == fg.jit(fg.grad(f))(2.0, 3.0) == 3.0
    assert fg.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    assert fg.jacobian(lambda x: f(x, x[::-1].round()))(np.array([2.0, 3.0])).tolist() == [
        [3.0, 0.0],
        [0.0, 2.0],
    ]
    asked = [
        lambda: fg.grad(f, (0, 1))(2.0, 3.0),
        lambda: fg.grad(f, 1)(2.0, 3.0),
        lambda: fg.jit(fg.grad(f, 1))(2.0, 3.0),
        lambda: fg.jvp(f, (2.0, 3.0), (1.0, 1.0)),
        lambda: fg.vjp(f, 2.0, 3.0),
        lambda: fg.linearize(f, 2.0, 3.0),
        lambda: fg.hessian(lambda x: f(x, x))(2.0),
    ]
    for ask in asked:
        with pytest.raises(
            TypeError, match=r"half: expected a derivative in argument 1.*stop_gradient"
        ):
            ask()
    assert fg.grad(lambda x: f(x, fg.stop_gradient(x)))(3.0) == 3.0
    # A partial of zero says that nothing flows.
    g = primitive(lambda x, y: x * y, [lambda x, y: y, lambda x, y: 0.0], name="half")
    assert fg.grad(g, (0, 1))(2.0, 3.0) == (3.0, 0.0)


@pytest.mark.parametrize("rule", ["complex-step", "finite-difference"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numerical_rules(rule, dtype):
    f = primitive(lambda x, y: np.exp(x) * y, rule, name="scaled")
    x, y = dtype(0.5), dtype(2.0)
    exact = np.exp(0.5) * 2, np.exp(0.5)
    double = dtype is np.float64
    tolerance = (1e-14 if double else 2e-7) if rule == "complex-step" else 1e-9 if double else 1e-4
    slopes = fg.grad(f, (0, 1))(x, y)
    np.testing.assert_allclose(slopes, exact, rtol=tolerance)
    assert [np.asarray(s).dtype for s in slopes] == [dtype, dtype]
    np.testing.assert_allclose(
        fg.jvp(f, (x, y), (x, y))[1], exact[0] * 0.5 + exact[1] * 2, rtol=tolerance
    )
    if double:
        second = fg.grad(fg.grad(f))(x, y)
        assert second == pytest.approx(exact[0], rel=1e-9 if rule == "complex-step" else 1e-5)
    text = repr(fg.grad(f).expr(x, y))
    assert rule.replace("-", "_") in text


def test_in_loops_and_branches():
    def rolled(x):
        c, _ = scan(lambda c, v: (erf(c + v), c), 0.2, x)
        c = while_loop(lambda c: c < 2, lambda c: c + 0.5 + erf(c) ** 2, c)
        return cond(c > 0, erf, lambda c: c, c * x[0] * 0.1)

    def plain(x):
        c = 0.2
        for v in x:
            c = erf(c + v)
        while c < 2:
            c = c + 0.5 + erf(c) ** 2
        return erf(c * x[0] * 0.1)

    x = np.array([0.3, -0.4])
    np.testing.assert_allclose(fg.grad(rolled)(x), fg.grad(plain)(x), rtol=1e-12)
    np.testing.assert_allclose(fg.hessian(rolled)(x), fg.hessian(plain)(x), rtol=1e-11)
    found = fg.vmap(fg.grad(rolled))(np.stack([x, 2 * x]))
    np.testing.assert_allclose(found, [fg.grad(plain)(x), fg.grad(plain)(2 * x)], rtol=1e-12)


def test_vmap_of_a_result_of_another_shape_runs_the_function_for_each_example():
    solve = primitive(np.linalg.solve, out=lambda a, b: b, name="solve")
    a, b = np.stack([np.diag([2.0, 4.0]), np.eye(2)]), np.array([1.0, -1.0])
    found = fg.vmap(solve, in_axes=(0, None))(a, b)
    np.testing.assert_array_equal(found, [[0.5, -0.25], [1.0, -1.0]])
    twice = fg.jit(fg.vmap(fg.vmap(solve, in_axes=(None, 0)), in_axes=(0, None)))
    np.testing.assert_array_equal(twice(a, np.stack([b, 2 * b]))[:, 1], 2 * found)
    assert fg.vmap(solve)(np.empty((0, 2, 2)), np.empty((0, 2))).shape == (0, 2)


def test_a_result_of_another_shape():
    """A solver: its derivative is given by the implicit function theorem."""
    solve = primitive(np.linalg.solve, out=lambda a, b: b, name="solve")

    @custom_vjp
    def solved(a, b):
        return solve(a, b)

    def back(kept, g):
        a, x = kept
        y = solve(a.T, g)
        return -y[:, None] * x, y

    solved.defvjp(lambda a, b: (x := solve(a, b), (a, x)), back)
    a, b = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, -1.0])
    ga, gb = fg.grad(lambda a, b: np.sum(solved(a, b) ** 2), (0, 1))(a, b)
    x = np.linalg.solve(a, b)
    y = np.linalg.solve(a.T, 2 * x)
    np.testing.assert_allclose(ga, -np.outer(y, x))
    np.testing.assert_allclose(gb, y)


def out_scalar(t):
    return fg.ArrayType((), t.dtype)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fg.grad(primitive(np.sin))(1.0),
            TypeError,
            "sin: expected a derivative, but .* was given none; give partials=, or one of the numerical",
        ),
        (
            lambda: fg.grad(primitive(np.sin, [np.cos, np.cos]))(1.0),
            TypeError,
            r"sin: expected as many arguments as partials \(2\), but got 1",
        ),
        (
            lambda: primitive(np.sin, np.cos),
            TypeError,
            r"primitive: expected partials to be a list .* but got ufunc; write \[df\]",
        ),
        (
            lambda: primitive(np.sort, out=fg.ArrayType((3,), np.dtype(float))),
            TypeError,
            r"primitive: expected out= to be a function .* but got ArrayType; write out=lambda",
        ),
        (
            lambda: primitive(np.sin, "guess"),
            ValueError,
            "primitive: expected partials, or one of .* but got 'guess'",
        ),
        (
            lambda: primitive(np.sum, [np.cos], out=out_scalar),
            ValueError,
            "primitive: expected partials or out=, but got both.*custom_vjp",
        ),
        (
            lambda: (
                fg.grad(lambda x: np.sum(primitive(np.sum, [np.cos])(x)))(np.ones(2))
                or fg.value_and_grad(lambda x: np.sum(primitive(np.sum, [np.cos])(x)))(np.ones(2))
            ),
            ValueError,
            r"sum: expected a result of shape \(2,\), but got \(\), entry by entry; give out=",
        ),
        (
            lambda: fg.trace(primitive(np.sin, out=out_scalar), np.ones(2))(x=np.ones(2)),
            ValueError,
            r"sin: expected a result of shape \(\), but got \(2,\), as out= says",
        ),
        (
            lambda: fg.grad(lambda x: np.sum(primitive(np.sin, [lambda x: np.ones((3, 2))])(x)))(
                np.ones(2)
            ),
            TypeError,
            r"sin: expected partial 0 of shape \(2,\), entry by entry, but got \(3, 2\)",
        ),
        (
            lambda: fg.grad(lambda z: np.real(primitive(np.exp, "complex-step")(z)))(1j),
            TypeError,
            "complex-step: expected real arguments, but got complex128",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "out",
    [
        lambda a: np.zeros(a.shape[-1]),
        lambda a: np.zeros(a.shape[-1], a.dtype),
        lambda a: fg.ArrayType(a.shape[-1:], a.dtype),
        lambda a: [0.0] * a.shape[-1],
    ],
)
def test_the_type_of_a_result_may_be_given_by_an_array_like_it(out):
    singular = primitive(lambda a: np.linalg.svd(a, compute_uv=False), out=out, name="singular")

    def forward(a):
        left, _, right = np.linalg.svd(a)
        return singular(a), (left, right)

    f = custom_vjp(singular)
    f.defvjp(forward, lambda kept, g: (kept[0] @ np.diag(g) @ kept[1],))
    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    for g in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        slope = g(lambda a: np.sum(f(a) ** 2))(a)
        np.testing.assert_allclose(slope, 2 * a, rtol=1e-12)
    rows = fg.vmap(fg.grad(lambda a: np.sum(f(a) ** 2)))(np.stack([a, a.T]))
    np.testing.assert_allclose(rows, np.stack([2 * a, 2 * a.T]), rtol=1e-12)


def test_a_result_of_no_type_is_refused():
    f = primitive(np.sum, out=lambda a: "a number", name="total")
    with pytest.raises(TypeError, match="total: expected out= to return a type, a number or an"):
        fg.trace(f, np.ones(2))


def test_arguments_by_name():
    f = primitive(lambda x, y, n=2.0: x**n * y, [lambda x, y, n: n * x ** (n - 1) * y] * 3)
    assert fg.grad(lambda x: f(x=x, y=3.0))(2.0) == fg.grad(lambda x: f(x, y=3.0))(2.0) == 12.0
    assert f(2.0, y=3.0) == 12.0


def test_an_operation_has_its_name():
    assert erf.__name__ == "erf"
    assert repr(primitive(np.cosh, name="c")).startswith("<function c at ")


def test_a_number_comes_back_as_python_shows_it():
    erf = fg.primitive(np.vectorize(math.erf), name="erf")
    assert type(erf(1.0)) is float
    assert erf(np.ones(2)).shape == (2,)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, fg.vmap])
def test_a_partial_of_pythons_math_is_adopted(transform):
    sine = primitive(lambda x: np.sin(x), [lambda x: math.cos(x)], name="sine")
    x = np.array([0.3]) if transform is fg.vmap else 0.3
    np.testing.assert_allclose(transform(fg.grad(sine))(x), np.cos(x), rtol=1e-15)
    np.testing.assert_allclose(transform(fg.hessian(sine))(x), -np.sin(x), rtol=1e-15)


def test_a_function_that_returns_nothing_is_refused():
    with pytest.raises(TypeError, match="primitive: expected numbers, but got None"):
        fg.value_and_grad(primitive(lambda x: None, [lambda x: 1.0]))(2.0)


def test_a_complex_step_through_a_function_of_real_numbers_is_refused():
    for f in (math.sin, lambda x: math.sin(x) * x, np.vectorize(lambda x: x * float(x))):
        with pytest.raises(TypeError, match="complex-step: expected a function of complex numbers"):
            fg.grad(primitive(f, "complex-step"))(0.7)
    assert fg.grad(primitive(np.sin, "complex-step"))(0.7) == pytest.approx(np.cos(0.7), rel=1e-15)


def test_a_primitive_that_captures_a_traced_value_is_refused():
    def by_function(y):
        return fg.primitive(lambda x: x * y, [lambda x: 1.0], name="scaled")(y)

    def by_rule(y):
        return fg.primitive(lambda x: x * 2, [lambda x: y], name="scaled")(y)

    def by_a_list(y):
        held = [y]
        return fg.primitive(np.sin, [lambda x: np.cos(x) * held[0]], name="scaled")(y)

    for f in (by_function, by_rule, by_a_list):
        for transform in (fg.grad, fg.jit, fg.jvp):
            with pytest.raises(
                TypeError, match=r"scaled: .* captures (y|held); make it an argument"
            ):
                transform(f)(2.0) if transform is not fg.jvp else fg.jvp(f, (2.0,), (1.0,))
        with pytest.raises(TypeError, match=r"captures (y|held)"):
            fg.jit(fg.grad(f))(2.0)
    assert by_function(2.0) == 4.0


@pytest.mark.parametrize(
    "kind", [fg.ArrayType((2,), float), fg.ArrayType([2], "float64"), fg.ArrayType(2, np.float64)]
)
def test_a_type_is_given_as_one_writes_it(kind):
    twice = primitive(lambda x: np.array([x, 2 * x]), out=lambda x: kind, name="twice")
    np.testing.assert_array_equal(fg.jit(lambda x: 3 * twice(x))(1.0), [3.0, 6.0])
    assert fg.trace(twice, 1.0).type == fg.ArrayType((2,), np.dtype(float))


def test_a_pair_is_no_type():
    f = primitive(np.sum, out=lambda a: ((2,), float), name="total")
    with pytest.raises(TypeError, match=r"but got tuple; write fg.ArrayType\(\(2,\), float\)"):
        fg.trace(f, np.ones(2))


def of_first(y):
    y[0] = 5.0
    return y**2


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap])
def test_a_store_into_an_argument_of_a_primitive_is_refused(transform):
    f = fg.primitive(of_first, [lambda y: 2 * y])
    x = np.array([[2.0, 3.0]])
    given = x if transform is fg.vmap else x[0]
    with pytest.raises(
        TypeError, match=r"of_first: .* stores into an argument.*write y = y.copy\(\)"
    ):
        transform(lambda x: np.sum(f(x) + x) ** 2)(given)
    np.testing.assert_array_equal(x, [[2.0, 3.0]])


def test_compiled_code_that_asks_for_memory_to_write_to_has_a_copy():
    def of_buffer(y):
        if not y.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return y**2

    f = fg.primitive(of_buffer, [lambda y: 2 * y])
    np.testing.assert_array_equal(fg.jit(f)(np.array([2.0, 3.0])), [4.0, 9.0])
    assert fg.grad(lambda x: np.sum(f(x)))(np.array([2.0]))[0] == 4.0


def slope_in_cases(x):
    return 2 * x if x > 0 else x * 0.0 - 1.0


def slope_with_a_handler(x):
    try:
        return math.log(x) + 1
    except ValueError:
        return 0.0 * x


@pytest.mark.parametrize(
    ("slope", "points"),
    [(slope_in_cases, [0.5, -0.5]), (slope_with_a_handler, [0.5, 0.25])],
    ids=["if", "try"],
)
def test_a_partial_derivative_may_branch_on_values(slope, points):
    f = fg.primitive(lambda x: 0.0 * x, [slope])
    wanted = [slope(x) for x in points]
    derivatives = (fg.grad(f), fg.jacfwd(f), fg.jit(fg.grad(f)))
    for derivative in derivatives:
        assert [derivative(x) for x in points] == pytest.approx(wanted)
        np.testing.assert_allclose(fg.vmap(derivative)(np.array(points)), wanted)
    chosen = fg.vmap(lambda x: fg.cond(x < 9, fg.grad(f), lambda x: 0.0 * x, x))
    np.testing.assert_allclose(chosen(np.array(points)), wanted)
    second = fg.vmap(fg.grad(fg.grad(f)))(np.array(points))
    np.testing.assert_allclose(second, [fg.grad(slope)(x) for x in points])
