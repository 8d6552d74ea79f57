"""Numbers that differ from call to call are inputs of one derived program, in every transform."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace import constant_parameterization, trace_body
from funcgrad.trace.derive import derived
from funcgrad.transforms.linearize import split_program
from funcgrad.transforms.sparse.sparse_jacobian import linearized

X, V = np.array([0.3, 0.8, -0.6]), np.array([0.7, -0.2, 1.3])


def smooth(x, s):
    return np.sum(np.sin(s * x) * np.exp(-x / s))


def pulled(f, x):
    value, pullback = fg.vjp(f, x)
    return value, pullback(1.0)[0]


def linear(f, x):
    value, flow = fg.linearize(f, x)
    return value, flow(V)


CALLS = {
    "grad": lambda f, s: fg.grad(f)(X, s),
    "hessian": lambda f, s: fg.hessian(f)(X, s),
    "gradient of a gradient": lambda f, s: fg.grad(lambda x: np.sum(fg.grad(f)(x, s) * V))(X),
    "jvp": lambda f, s: fg.jvp(lambda x: f(x, s), (X,), (V,)),
    "hvp": lambda f, s: fg.hvp(lambda x: f(x, s), (X,), (V,)),
    "vjp": lambda f, s: pulled(lambda x: f(x, s), X),
    "linearize": lambda f, s: linear(lambda x: f(x, s), X),
    "vmap": lambda f, s: fg.vmap(lambda x: f(x, s))(np.stack([X, V])),
    "vmap of a gradient": lambda f, s: fg.vmap(fg.grad(lambda x: f(x, s)))(np.stack([X, V])),
}


def derivations():
    return derived.cache_info().misses + split_program.cache_info().misses + bodies()


def bodies():
    return trace_body._body_of_skeleton.cache_info().misses


def forget():
    """The next call of each program is as the first one."""
    constant_parameterization._family.cache_clear()


@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_changes_is_an_input(name):
    call = CALLS[name]
    for s in (1.3, 1.4, 1.5):
        call(smooth, s)
    before = derivations()
    found = [call(smooth, s) for s in (1.7, 2.3, 3.1)]
    assert derivations() == before
    for value, s in zip(found, (1.7, 2.3, 3.1), strict=True):
        forget()
        for part, wanted in zip(value, call(smooth, s), strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-12)


PROGRAMS = {
    "norm": lambda x, s: np.sqrt(np.sum((x - X) ** 2) / s),
    "softplus": lambda x, s: np.sum(np.log(s + s * np.exp(1000 * x))),
    "quotient": lambda x, s: np.sum((np.exp(s * x) - np.exp(-2.5 * x)) / np.exp(s * x)),
    "power": lambda x, s: np.sum((x + 1) ** s),
    "roots": lambda x, s: np.sum(np.where(x > 0, np.sqrt(s * x), 0.0)),
    "share": lambda x, s: np.sum(1 - s / (s + np.exp(1000 * x))),
    "two numbers": lambda x, s: np.sum(x * s - np.sin(0.9 * x)) * s,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("transform", ["hessian", "jvp", "vjp", "linearize", "vmap of a gradient"])
def test_results_do_not_depend_on_earlier_numbers(name, transform):
    f, call = PROGRAMS[name], CALLS[transform]
    numbers = [3.7, 3.8, -4.1, 0.0, 5.5, 1.0, np.inf, 0.5, 2.5, -2.5, 0.9, 7.0, 1e200, 3]
    found = [call(f, s) for s in numbers]
    for value, s in zip(found, numbers, strict=True):
        forget()
        for part, wanted in zip(value, call(f, s), strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-12, atol=1e-13)


def test_numbers_that_cancel_in_a_derivative_are_no_inputs():
    table = fg.grad(lambda x, s: np.log(s * x**2))
    found = [table(1e-200, s) for s in (3.7, 3.8, 3.9)]
    np.testing.assert_allclose(found, 2e200, rtol=1e-15)


@pytest.mark.parametrize("make", [fg.sparse_jacobian, fg.sparse_hessian])
def test_sparse_derivatives_with_numbers_that_change(make):
    def chain(x, s):
        found = np.sin(s * x[1:]) * x[:-1] / s
        return found if make is fg.sparse_jacobian else np.sum(found)

    table = make(chain)
    for s in (1.3, 1.4, 1.5):
        table(X, s)
    before = linearized.cache_info().misses
    found = [table(X, s).toarray() for s in (1.7, 2.3, 3.1)]
    assert linearized.cache_info().misses == before
    for value, s in zip([*found, table(X, 0.0).toarray()], (1.7, 2.3, 3.1, 0.0), strict=True):
        np.testing.assert_allclose(value, make(chain)(X, s).toarray(), rtol=1e-12)


# -- bodies ----------------------------------------------------------------------------------------
def nested(x, s):
    return fg.fori_loop(0, 2, lambda i, c: fg.fori_loop(0, 2, lambda j, d: np.sin(d * s), c) * s, x)


def until(x, s):
    return fg.while_loop(lambda c: c[0] < 5 * s, lambda c: np.exp(-c / s) + c + 0.3 * s, x)


BODIES = {
    "loop": lambda x, s: fg.fori_loop(0, 3, lambda i, c: c * s + np.sin(c), x),
    "loop in a loop": nested,
    "scan": lambda x, s: fg.scan(lambda c, a: (np.tanh(c * s + a), c), x, np.ones((2, 3)))[1],
    "while": until,
    "branch": lambda x, s: fg.cond(x[0] > 0, lambda v: np.sin(v * s), lambda v: v / s, x),
    "checkpoint": lambda x, s: fg.checkpoint(lambda v: np.sin(v * s) * s)(x),
    "loop under vmap": lambda x, s: fg.vmap(
        lambda a: fg.fori_loop(0, 2, lambda i, c: c * s + a, a)
    )(x),
    "norm": lambda x, s: fg.fori_loop(0, 2, lambda i, c: c + np.sqrt(np.sum((c - X) ** 2) / s), x),
    "roots": lambda x, s: fg.fori_loop(0, 2, lambda i, c: np.where(c > 0, np.sqrt(s * c), 0.0), x),
    "quotient": lambda x, s: fg.fori_loop(
        0, 2, lambda i, c: (np.exp(s * c) - np.exp(-2.5 * c)) / np.exp(s * c), x
    ),
    "equation": lambda x, s: fg.odeint(lambda y, t: -s * y, x, np.array([0.0, 0.2]))[1],
    "root": lambda x, s: fg.implicit_root(lambda y, a: y**3 + y - a * s)(x, x),
}
SETTLED = frozenset(BODIES) - {"norm", "roots", "quotient"}


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_a_number_in_a_body_is_an_operand(name):
    table = fg.jacfwd(BODIES[name])
    for s in (1.3, 1.4, 1.45, 1.5, 1.55, 1.6):  # inner bodies first
        table(X, s)
    before = derivations()
    found = [table(X, s) for s in (1.7, 2.3)]
    assert derivations() == before
    for value, s in zip(found, (1.7, 2.3), strict=True):
        forget()
        np.testing.assert_allclose(value, fg.jacfwd(BODIES[name])(X, s), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(BODIES.keys() - {"equation"}))  # which takes long
def test_results_of_bodies_do_not_depend_on_earlier_numbers(name):
    def run(s):
        f = BODIES[name]
        value, flow = fg.jvp(lambda x: f(x, s), (X,), (V,))
        return value, flow, fg.jacfwd(fg.jacfwd(f))(X, s)

    numbers = [3.7, 3.8, 5.5, 1.0, 2.0, 2.5, 0.9, 7.0, 3]
    if name != "while":
        numbers += [-4.1, -2.5, 0.5, 0.0]
    found = [run(s) for s in numbers]
    for value, s in zip(found, numbers, strict=True):
        forget()
        for part, wanted in zip(value, run(s), strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-11, atol=1e-13)


# -- what they are for -----------------------------------------------------------------------------
def test_functions_that_differ_in_a_number_have_one_program():
    for s in (1.3, 1.4):
        fg.jvp(lambda x, s=s: np.sum(np.cos(s * x)), (X,), (V,))
    before = derivations()
    _, flow = fg.jvp(lambda x: np.sum(np.cos(5.1 * x)), (X,), (V,))
    assert derivations() == before
    assert flow == pytest.approx(-5.1 * np.sum(np.sin(5.1 * X) * V), rel=1e-14)


def test_equal_numbers_may_come_to_differ():
    def slope(a, b):
        return fg.jvp(lambda x: np.sum(np.sin(a * x) * b), (X,), (V,))[1]

    for a, b in ((1.3, 1.3), (1.4, 1.4), (1.4, 1.5), (1.6, 1.7), (1.8, 1.8), (1.8, -1.8)):
        assert slope(a, b) == pytest.approx(np.sum(a * b * np.cos(a * X) * V), rel=1e-14)


def test_numbers_of_different_dtypes_stay_apart():
    x = X.astype(np.float32)
    for s in (1.3, np.float32(1.3), 1.4, np.float32(1.4), np.float64(1.4), np.float64(1.5)):
        value, flow = fg.jvp(lambda x, s=s: x * s, (x,), (x,))
        assert value.dtype == flow.dtype == (x * s).dtype
        np.testing.assert_array_equal(value, x * s)


def test_a_jitted_function_and_a_formula_have_their_numbers():
    def slope(s, x):
        return fg.grad(lambda y: np.sum(fg.fori_loop(0, 9, lambda i, c: np.sin(s * c), s * y)))(x)

    def source(s):
        return str(fg.jit(lambda x: slope(s, x)).lower(X))

    wanted = source(1.5)
    for s in (1.3, 1.4, 1.6):
        slope(s, X)
    assert source(1.5) == wanted
    t = fg.var("t")
    for s in (1.3, 1.4, 1.6):
        assert str(fg.grad(lambda y, s=s: np.sin(s * y))(t)) == f"{s}*cos({s}*t)"
