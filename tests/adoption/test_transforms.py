"""Results of transforms inside functions that are traced: arrays that take stores, as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

X = np.array([0.5, 1.2, -0.7])


def cube(y: Any) -> Any:
    return y**3


def total(y: Any) -> Any:
    return np.sum(y**3)


slope = fg.grad(total)


class Model:
    @fg.elementwise_grad(argnums=1)
    def cube(self, y: Any) -> Any:
        return y**3


model = Model()


@fg.custom_vjp
def with_rule(y: Any) -> Any:
    return y


with_rule.defvjp(lambda y: (y, None), lambda _, g: (g,))

same_primitive = fg.primitive(lambda y: y, [lambda y: 1.0 + 0.0 * y], name="same")


@fg.custom_vjp
def doubled(y: Any) -> Any:
    return {"twice": 2.0 * y}


doubled.defvjp(lambda y: ({"twice": 2.0 * y}, None), lambda _, g: (2.0 * g["twice"],))


@fg.custom_jvp
def doubled_forward(y: Any) -> Any:
    return {"twice": 2.0 * y}


doubled_forward.defjvp(lambda p, t: (doubled_forward(*p), {"twice": 2.0 * t[0]}))


def loop(y: Any) -> Any:
    return fg.scan(lambda c, a: (c + a, c * a), y, np.arange(1.0, 4.0))


RESULTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "grad": (lambda x: fg.grad(total)(x), lambda x: 3 * x**2),
    "grad with options": (lambda x: fg.grad(argnums=0)(total)(x), lambda x: 3 * x**2),
    "grad made outside": (lambda x: slope(x), lambda x: 3 * x**2),
    "value_and_grad": (lambda x: fg.value_and_grad(total)(x)[1], lambda x: 3 * x**2),
    "grad of a tree": (lambda x: fg.grad(lambda t: total(t["a"]))({"a": x})["a"], lambda x: 3 * x**2),
    "elementwise_grad": (lambda x: fg.elementwise_grad(cube)(x), lambda x: 3 * x**2),
    "jacobian": (lambda x: fg.jacobian(cube)(x)[1], lambda x: np.array([0.0, 3.0, 0.0]) * x**2),
    "hessian": (lambda x: fg.hessian(total)(x)[2], lambda x: np.array([0.0, 0.0, 6.0]) * x),
    "hvp": (lambda x: fg.hvp(total, (x,), (x,)), lambda x: 6 * x**2),
    "jvp": (lambda x: fg.jvp(cube, (x,), (x,))[1], lambda x: 3 * x**3),
    "vjp": (lambda x: fg.vjp(cube, x)[0], lambda x: x**3),
    "pullback": (lambda x: fg.vjp(cube, x)[1](x)[0], lambda x: 3 * x**3),
    "linearize": (lambda x: fg.linearize(cube, x)[1](x), lambda x: 3 * x**3),
    "vmap": (lambda x: fg.vmap(cube)(x), lambda x: x**3),
    "method": (lambda x: model.cube(x), lambda x: 3 * x**2),
    "jit": (lambda x: fg.jit(cube)(x), lambda x: x**3),
    "scan": (lambda x: loop(x)[1][2], lambda x: 3 * (x + 3)),
    "fori_loop": (lambda x: fg.fori_loop(0, 2, lambda i, y: y * y, x), lambda x: x**4),
    "while_loop": (lambda x: fg.while_loop(lambda y: y[0] < 9, lambda y: 3 * y, x), lambda x: 27 * x),
    "of numbers": (lambda x: fg.grad(total)(np.arange(3.0)), lambda x: 3 * np.arange(3.0) ** 2),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(3, RESULTS))
@pytest.mark.parametrize("transform", [fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))])
def test_results_of_transforms_take_stores(name: str, transform: Callable[..., Any]) -> None:
    inner, formula = RESULTS[name]

    def f(x: Any) -> Any:
        y = inner(x)
        y[0] = x[1] ** 2
        view = y[1:]
        view *= x[2]
        return np.sum(y * x)

    def expected(x: Any) -> Any:
        y = formula(x)
        return x[1] ** 2 * x[0] + y[1] * x[2] * x[1] + y[2] * x[2] * x[2]

    np.testing.assert_allclose(transform(f)(X), fg.grad(expected)(X), rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([X])), [expected(X)], rtol=1e-12)


@pytest.mark.parametrize(
    "inner",
    [
        fg.stop_gradient,
        fg.checkpoint(lambda x: x),
        lambda x: fg.cond(x[0] > 0, lambda x: x, lambda x: x, x),
        lambda x: fg.switch(0, [lambda x: x], x),
        with_rule,
        same_primitive,
    ],
)
def test_a_store_into_what_may_be_the_argument_is_refused_or_numpys(inner: Any) -> None:
    def f(x: Any) -> Any:
        y = inner(x)
        y[0] = 0.0
        return np.sum(x * y)

    try:
        outcome = fg.value_and_grad(f)(X)[0]
    except TypeError as error:
        outcome = str(error)
    assert "immutable" in outcome if isinstance(outcome, str) else outcome == f(X.copy())


def test_an_array_that_a_transform_was_given_does_not_change() -> None:
    held = np.arange(3.0)

    def f(x: Any) -> Any:
        y = fg.jit(lambda a: a)(held)
        y[0] = x[0]
        return np.sum(y * x)

    np.testing.assert_allclose(fg.grad(f)(X), [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(held, np.arange(3.0))


def test_what_a_checkpoint_a_branch_or_a_custom_rule_has_computed_takes_stores() -> None:
    def double(a: Any) -> Any:
        return {"twice": 2.0 * a}

    transforms: list[Any] = [
        lambda a: fg.checkpoint(double)(a)["twice"],
        lambda a: fg.cond(a[0] > 0, double, lambda a: {"twice": -a}, a)["twice"],
        lambda a: doubled(a)["twice"],
        lambda a: doubled_forward(a)["twice"],
        lambda a: same_primitive(2.0 * a).copy(),
    ]
    for inner in transforms:

        def f(x: Any, inner: Any = inner) -> Any:
            y = inner(np.array([x[0], x[1]]))
            y[0] *= x[2]
            return np.sum(y * y)

        np.testing.assert_allclose(fg.grad(f)(X), [1.96, 9.6, -1.4], rtol=1e-12)
        np.testing.assert_allclose(fg.vmap(f)(np.stack([X])), [f(X)], rtol=1e-12)


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f)), fg.jacfwd])
def test_a_jitted_function_that_stores_into_its_argument_leaves_the_callers(transform: Any) -> None:
    """The first call of the jitted function is that from traced code: nothing tells that it stores."""

    @fg.jit
    def square(tree: Any) -> Any:
        a = tree["a"]
        a[...] = a * a
        return a

    def f(x: Any) -> Any:
        a = np.ones(3)
        a[0] = x[0]
        b = square({"a": a})
        b[1] = x[1]
        return np.sum(a * x) + np.sum(b)

    np.testing.assert_allclose(transform(f)(X), [2.0, 2.0, 1.0])
