"""Jacobians and Hessians: both modes against each other, finite differences, closed forms and JAX."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyrsistent import pmap, pvector

import funcgrad as fg
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.jacobian import ggnvp, hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.vmap import vmap
from tests.default_slice import one_in

rng = np.random.default_rng(5)
A = rng.normal(size=(3, 4))
MODES = [jacobian, jacfwd, jacrev]


def differences(f: Any, x: Any) -> Any:
    """The Jacobian by central differences, one column an entry."""
    x = np.asarray(x, float)
    h = 1e-6
    columns = []
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    stacked = np.stack(columns, -1) if columns else np.zeros((*np.shape(f(x)), 0))
    return stacked.reshape((*np.shape(f(x)), *x.shape))


FUNCTIONS: list[tuple[Any, Any]] = [
    (lambda x: np.sin(x) * x, np.array(0.3)),
    (lambda x: x**2, rng.normal(size=4)),
    (lambda x: A @ np.tanh(x), rng.normal(size=4)),
    (lambda x: np.outer(x, x), rng.normal(size=2)),
    (lambda x: np.sum(x * x), rng.normal(size=(2, 3))),
    (lambda x: x @ x.T, rng.normal(size=(2, 3))),
    (lambda x: np.exp(x[..., ::-1]), rng.normal(size=(2, 2))),
    (lambda x: np.cumsum(x) / np.linalg.norm(x), rng.normal(size=5)),
    (lambda x: x[np.array([2, 0, 2])], rng.normal(size=3)),
    (lambda x: np.concatenate([x, [1.0], x**3]), rng.normal(size=2)),
    (lambda x: np.where(x > 0, np.sqrt(np.abs(x)), 0.0), rng.normal(size=4)),
    (lambda x: np.einsum("ij,j->i", A, x), rng.normal(size=4)),
    (lambda x: np.sum(x), np.zeros(0)),
    (lambda x: x, np.zeros((0, 2))),
]


@pytest.mark.parametrize(("f", "x"), FUNCTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_against_finite_differences(mode: Any, f: Any, x: Any) -> None:
    got = mode(f)(x)
    expected = differences(f, x)
    assert np.shape(got) == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("f", "x"), [(f, x) for f, x in FUNCTIONS if x.size])
def test_the_hessian_is_the_jacobian_of_the_gradient_and_symmetric(f: Any, x: Any) -> None:
    def scalar(v: Any) -> Any:
        return np.sum(np.sin(f(v)))

    got = hessian(scalar)(x)
    np.testing.assert_allclose(got, differences(fg.grad(scalar), x), rtol=1e-5, atol=1e-7)
    flat = np.reshape(got, (x.size, x.size))
    np.testing.assert_allclose(flat, flat.T, rtol=1e-12, atol=1e-12)
    v = rng.normal(size=x.shape)
    np.testing.assert_allclose(
        np.ravel(hvp(scalar, (x,), (v,))), flat @ np.ravel(v), rtol=1e-11, atol=1e-12
    )


@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from(["float32", "float64"]))
def test_shapes_and_dtypes(m: int, n: int, dtype: str) -> None:
    x = np.linspace(-1, 1, n, dtype=dtype)
    matrix = np.ones((m, n), dtype)
    for mode in MODES:
        got = mode(lambda v: np.tanh(matrix @ v))(x)
        assert got.shape == (m, n)
        assert got.dtype == dtype


class Point(NamedTuple):
    a: Any
    b: Any


def test_trees_nest_results_outside_and_arguments_inside() -> None:
    x = Point(2.0, {"c": np.array([1.0, 3.0])})

    def f(p: Any, s: Any) -> Any:
        return [p.a * p.b["c"] * s, p.a**2]

    for mode in MODES:
        first, second = mode(f, argnums=(0, 1))(x, 5.0)
        (in_p, in_s) = first
        np.testing.assert_allclose(in_p.a, [5.0, 15.0])
        np.testing.assert_allclose(in_p.b["c"], 10 * np.eye(2))
        np.testing.assert_allclose(in_s, [2.0, 6.0])
        assert second[0].a == 4.0
        assert second[1] == 0.0
        assert isinstance(in_p, Point)
    blocks = hessian(lambda m: m["u"] ** 2 * np.sum(m["v"][0]))(
        pmap({"u": 2.0, "v": pvector([np.ones(2)])})
    )
    assert blocks["u"]["u"] == 4.0
    np.testing.assert_allclose(blocks["u"]["v"][0], [4.0, 4.0])


def test_aux_is_handed_on() -> None:
    for mode in [*MODES, hessian]:
        value, aux = mode(lambda x: (np.sum(x**3), {"n": 7, "x": x[0]}), has_aux=True)(np.ones(2))
        assert aux == {"n": 7, "x": 1.0}
        assert np.all(value == (6 * np.eye(2) if mode is hessian else 3.0))


def test_complex_values() -> None:
    z = np.array([0.3 + 0.2j, -0.5 + 1j])
    for mode in MODES:  # holomorphic
        np.testing.assert_allclose(mode(np.sin)(z), np.diag(np.cos(z)), rtol=1e-13)
    real = rng.normal(size=2)
    for mode in (jacobian, jacfwd):
        got = mode(lambda x: np.exp(1j * x))(real)
        np.testing.assert_allclose(got, np.diag(1j * np.exp(1j * real)), rtol=1e-13)
    for mode in (jacobian, jacrev):
        np.testing.assert_allclose(mode(lambda z: np.abs(z) ** 2)(z), np.diag(2 * np.conj(z)))
    with pytest.raises(TypeError, match=r"jacrev: .*use jacfwd"):
        jacrev(lambda x: np.exp(1j * x))(real)
    with pytest.raises(TypeError, match=r"jacfwd: .*use jacrev"):
        jacfwd(np.abs)(z)


def test_derivatives_of_analytic_functions() -> None:
    z = np.array([0.3 + 0.2j, -0.5 + 1j])

    def f(z: Any) -> Any:
        return np.sum(z**3) * z[0]

    slope = 3 * z**2 * z[0] + np.array([np.sum(z**3), 0])
    for made in (fg.grad(f, holomorphic=True), fg.jit(fg.grad(f, holomorphic=True))):
        np.testing.assert_allclose(made(z), slope, rtol=1e-13)
    value, found = fg.value_and_grad(f, holomorphic=True)(z)
    np.testing.assert_allclose(value, f(z), rtol=1e-13)
    np.testing.assert_allclose(found, slope, rtol=1e-13)
    for mode in MODES:
        np.testing.assert_allclose(mode(f, holomorphic=True)(z), slope, rtol=1e-13)
    curved = hessian(f, holomorphic=True)(z)
    columns = jacfwd(fg.grad(f, holomorphic=True), holomorphic=True)(z)
    np.testing.assert_allclose(curved, columns, rtol=1e-13)
    with pytest.raises(TypeError, match="jacrev: expected complex arguments with holomorphic=True"):
        jacrev(f, holomorphic=True)(z.real)


def test_higher_orders_nest_and_compose_with_vmap() -> None:
    third = jacfwd(jacrev(jacfwd(lambda x: np.prod(x))))(np.array([2.0, 3.0, 5.0]))
    expected = np.zeros((3, 3, 3))
    for i, j, k in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        expected[i, j, k] = 1.0
    np.testing.assert_allclose(third, expected, atol=1e-14)
    xs = rng.normal(size=(4, 3))
    np.testing.assert_allclose(
        vmap(hessian(lambda x: np.prod(np.sin(x))))(xs),
        np.stack([hessian(lambda x: np.prod(np.sin(x)))(x) for x in xs]),
        rtol=1e-13,
    )
    total = fg.grad(lambda x: np.sum(jacobian(lambda y: y**3 * x)(x) ** 2))(np.array([1.0, 2.0]))
    np.testing.assert_allclose(total, [54.0, 54.0 * 2**5], rtol=1e-13)


def test_the_gauss_newton_product() -> None:
    x, v = rng.normal(size=4), rng.normal(size=4)

    def model(x: Any) -> Any:
        return np.tanh(A @ x)

    def loss(y: Any) -> Any:
        return np.sum(np.cosh(y))

    j = jacobian(model)(x)
    h = hessian(loss)(model(x))
    np.testing.assert_allclose(ggnvp(model, loss, (x,), (v,)), j.T @ h @ j @ v, rtol=1e-12)


@pytest.mark.parametrize("name", one_in(3, ["jacrev", "jacfwd", "hessian"]))
def test_against_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    x = rng.normal(size=(2, 3))

    def f(np: Any, x: Any) -> Any:
        return np.tanh(x @ x.T) / np.linalg.norm(x) + np.cumsum(x, axis=1)[:, :2]

    own, theirs = getattr(fg, name), jax.jit(getattr(jax, name)(lambda x: f(jnp, x)))
    np.testing.assert_allclose(own(lambda x: f(np, x))(x), theirs(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", [*MODES, hessian])
def test_bad_input(mode: Any) -> None:
    with pytest.raises(TypeError, match="expected float or complex values in argument 0"):
        mode(lambda x: x)(np.arange(3))
    with pytest.raises(TypeError, match="expected argnums to be 0, since the call has 1"):
        mode(lambda x: x, argnums=2)(1.0)
    with pytest.raises(TypeError, match="expected a function"):
        mode(3)
    with pytest.raises(TypeError, match="expected f to return float values, but got bool"):
        mode(lambda x: x > 0)(1.0)
    with pytest.raises(TypeError, match=r"pair \(value, aux\)"):
        mode(lambda x: x, has_aux=True)(1.0)
    with pytest.warns(UserWarning, match="does not depend"):
        mode(lambda x: 3.0)(1.0)


def test_bad_products() -> None:
    with pytest.raises(TypeError, match="hvp: expected tuples"):
        hvp(np.sum, np.ones(2), np.ones(2))
    with pytest.raises(TypeError, match=r"hvp: expected .* but got tuple and ndarray"):
        hvp(np.sum, (np.ones(2),), np.ones(2))
    with pytest.raises(TypeError, match="tangent"):
        hvp(np.sum, (np.ones(2),), (np.ones(3),))


HESSIANS = {
    "a tree": (lambda p: np.sum(p["a"] * p["b"] ** 2), {"a": 1.5, "b": np.array([2.0, -1.0])}),
    "several results": (lambda x: {"y": x**3, "z": (np.sin(x), x[0])}, np.array([0.3, 0.7])),
    "a kink": (lambda x: np.sum(np.maximum(x, 0.0) ** 2 * x), np.array([0.0, -1.0, 2.0])),
    "a norm at 0": (lambda x: np.sqrt(np.sum(np.array([1.0, 2.0]) * x**2)), np.zeros(2)),
    "a loop": (
        lambda x: fg.scan(lambda c, v: (c * v + x, c), x, np.array([0.5, 2.0]))[0],
        0.7,
    ),
    "a branch": (lambda x: fg.cond(x > 0, lambda x: x**3, lambda x: -x, x), 0.7),
    "large exponents": (lambda x: np.log(np.sum(np.exp(x))), np.array([1e3, 1e3 + 1])),
}


@pytest.mark.parametrize("case", HESSIANS)
def test_a_hessian_is_forward_mode_over_reverse_mode(case):
    f, x = HESSIANS[case]
    nested = fg.jacfwd(fg.jacrev(f))
    with np.errstate(all="ignore"):
        expected = nested(x)
    for _ in range(3):
        for found in (fg.hessian(f)(x), fg.jit(fg.hessian(f))(x)):
            paths = [flatten(tree) for tree in (found, expected)]
            assert paths[0].paths == paths[1].paths
            for one, other in zip(paths[0].leaves, paths[1].leaves, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
    assert repr(fg.hessian(f).expr(x)) == repr(nested.expr(x))


def test_a_hessian_of_several_arguments_with_more_results():
    f = lambda x, y: (np.sum(x * y[0] ** 2), {"more": x[0]})  # noqa: E731
    x, y = np.array([1.0, 2.0]), (3.0,)
    found, aux = fg.hessian(f, (0, 1), has_aux=True)(x, y)
    assert aux == {"more": 1.0}
    expected = fg.jacfwd(fg.jacrev(lambda x, y: f(x, y)[0], (0, 1)), (0, 1))(x, y)
    np.testing.assert_array_equal(found[0][0], expected[0][0])
    np.testing.assert_array_equal(found[0][1][0], expected[0][1][0])
    np.testing.assert_array_equal(found[1][0][0], expected[1][0][0])
    assert found[1][0][1] == expected[1][0][1] == (6.0,)
