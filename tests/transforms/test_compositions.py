"""Every rolled operation and every rule under every transform, and one Hessian by many routes."""

import itertools
import math
import threading

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.control_flow.checkpoint import checkpoint, name
from funcgrad.transforms.control_flow.cond import cond, switch
from funcgrad.transforms.control_flow.loops import fori_loop, scan, while_loop
from funcgrad.transforms.custom.custom_derivatives import custom_jvp, custom_vjp
from funcgrad.transforms.custom.primitive import primitive
from tests.default_slice import one_in

W = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.3, 0.7]])


@custom_vjp
def by_vjp(x, y):
    return np.sin(x) * y


by_vjp.defvjp(
    lambda x, y: (np.sin(x) * y, (x, y)),
    lambda kept, g: (g * np.cos(kept[0]) * kept[1], g * np.sin(kept[0])),
)


@custom_jvp
def by_jvp(x, y):
    return np.sin(x) * y


by_jvp.defjvps(lambda t, z, x, y: t * np.cos(x) * y, lambda t, z, x, y: t * np.sin(x))

by_partials = primitive(
    lambda x, y: np.sin(x) * y,
    [lambda x, y: np.cos(x) * y, lambda x, y: np.sin(x)],
    name="by_partials",
)


def block(x):
    h = name(np.tanh(W @ x), "h")
    return np.exp(-h) * np.sin(h * x)


# -- the same function twice: rolled, and in plain Python ----------------------------------------
def summed(x):
    total = 0.1
    for v in x:
        total = np.sin(total * v + v)
    return total


def stacked(x, reverse=False):
    carry, total = np.ones(3) * 0.5, 0.0
    for v in x[::-1] if reverse else x:
        total = total + np.sum(carry) * v
        carry = np.tanh(W @ carry + v)
    return np.sum(carry**2) + total


def by_scan(x, reverse=False, checkpoint=None):
    def turn(carry, v):
        return np.tanh(W @ carry + v), np.sum(carry) * v

    end, ys = scan(turn, np.ones(3) * 0.5, x, reverse=reverse, checkpoint=checkpoint)
    return np.sum(end**2) + np.sum(ys)


def halved(x):
    value = np.sum(x * x)
    while value > 0.5:
        value = np.sin(value) * 0.8 * x[0] / (1 + x[0] ** 2) + 0.1 * x[1]
    return value * x[2]


def by_while(x):
    def turn(value):
        return np.sin(value) * 0.8 * x[0] / (1 + x[0] ** 2) + 0.1 * x[1]

    return while_loop(lambda value: value > 0.5, turn, np.sum(x * x)) * x[2]


def picked(x, i):
    """x[i], for a traced i and x of any kind: NumPy's own arrays take no traced index."""
    return np.sum(np.where(np.arange(len(x)) == i, x, 0.0))


def by_fori(x):
    return fori_loop(0, 3, lambda i, total: np.sin(total * picked(x, i) + picked(x, i)), 0.1)


def by_open_fori(x):
    count = np.sum(np.where(x < 100, 1, 0)).astype(int)
    return fori_loop(0, count, lambda i, t: np.sin(t * picked(x, i) + picked(x, i)), 0.1)


def chosen(x):
    return np.sum(x**3) if x[0] > 0 else np.sum(np.sin(x)) * x[1]


def by_cond(x):
    return cond(x[0] > 0, lambda x: np.sum(x**3), lambda y: np.sum(np.sin(y)) * x[1], x)


def by_switch(x):
    index = np.where(x[0] > 0, 2, -1)
    branches = [lambda x: np.sum(np.sin(x)) * x[1], lambda x: x[0] / 0.0, lambda x: np.sum(x**3)]
    return switch(index, branches, x)


def products(x):
    return np.sum(np.sin(x) * x[::-1] * np.sin(x[0]))


def nested(x):
    total = x[1]
    if np.sum(x) > -100:
        i = 0
        while i < 2:
            for v in x:
                total = np.sin(total + v * x[0])
            i += 1
    return total


def by_nested(x):
    def repeat(total):
        def turn(state):
            i, total = state
            return i + 1, scan(lambda c, v: (np.sin(c + v * x[0]), None), total, x)[0]

        return while_loop(lambda state: state[0] < 2, turn, (0, total))[1]

    return cond(np.sum(x) > -100, repeat, lambda total: total, x[1])


CASES = {
    "scan": (by_scan, stacked),
    "reverse": (lambda x: by_scan(x, reverse=True), lambda x: stacked(x, reverse=True)),
    "scan sqrt": (lambda x: by_scan(x, checkpoint="sqrt"), stacked),
    "scan 2": (
        lambda x: by_scan(x, reverse=True, checkpoint=2),
        lambda x: stacked(x, reverse=True),
    ),
    "fori_loop": (by_fori, summed),
    "open fori_loop": (by_open_fori, summed),
    "while_loop": (by_while, halved),
    "cond": (by_cond, chosen),
    "switch": (by_switch, chosen),
    "nothing": (lambda x: np.sum(checkpoint(block)(x)), lambda x: np.sum(block(x))),
    "all": (lambda x: np.sum(checkpoint(block, policy="all")(x)), lambda x: np.sum(block(x))),
    "names": (lambda x: np.sum(checkpoint(block, policy=["h"])(x)), lambda x: np.sum(block(x))),
    "bytes": (lambda x: np.sum(checkpoint(block, policy=48)(x)), lambda x: np.sum(block(x))),
    "custom_vjp": (lambda x: np.sum(by_vjp(x, x[::-1] * np.sin(x[0]))), products),
    "custom_jvp": (lambda x: np.sum(by_jvp(x, x[::-1] * np.sin(x[0]))), products),
    "primitive": (lambda x: np.sum(by_partials(x, x[::-1] * np.sin(x[0]))), products),
    "nested": (by_nested, nested),
}
X = np.array([0.9, -0.4, 0.6])
XS = np.stack([X, -X, 0.3 * X, np.array([-1.2, 0.7, 0.5])])
V = np.array([1.0, 0.5, -2.0])


def along(f, order):
    """t -> f(x + t v), differentiated ``order`` times in alternating modes."""

    def derivative(x):
        g = lambda t: f(x + t * V)  # noqa: E731
        for k in range(order):
            g = fg.grad(g) if k % 2 == 0 else (lambda h: lambda t: fg.jvp(h, (t,), (1.0,))[1])(g)
        return g(0.0)

    return derivative


TRANSFORMS = {
    "value": lambda f: f,
    "grad": fg.grad,
    "value_and_grad": lambda f: lambda x: np.hstack(fg.value_and_grad(f)(x)),
    "jvp": lambda f: lambda x: np.stack(fg.jvp(f, (x,), (V,))),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](2.0)[0],
    "jacobian of grad": lambda f: fg.jacobian(fg.grad(f)),
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "hessian": fg.hessian,
    "fwd fwd": lambda f: fg.jacfwd(fg.jacfwd(f)),
    "rev rev": lambda f: fg.jacrev(fg.jacrev(f)),
    "rev fwd": lambda f: fg.jacrev(fg.jacfwd(f)),
    "hvp": lambda f: lambda x: fg.hvp(f, (x,), (V,)),
    "grad of hvp": lambda f: fg.grad(lambda x: np.sum(fg.hvp(f, (x,), (V,)))),
    "third": lambda f: along(f, 3),
    "fourth": lambda f: along(f, 4),
}


@pytest.mark.parametrize(("case", "transform"), one_in(17, itertools.product(CASES, TRANSFORMS)))
def test_each_under_each(case, transform):
    rolled, plain = CASES[case]
    make = TRANSFORMS[transform]
    # The plain one, too, knows the result for 0 < x and 0 > x, where branches differ.
    want = np.stack([make(plain)(x) for x in XS])
    np.testing.assert_allclose(
        np.stack([make(rolled)(x) for x in XS[:2]]), want[:2], rtol=1e-10, atol=1e-11
    )
    batched = fg.vmap(make(rolled))(XS)
    np.testing.assert_allclose(batched, want, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("case", one_in(3, CASES, start=2))
def test_each_over_a_batch(case):
    rolled, plain = CASES[case]
    slopes = np.stack([fg.grad(plain)(x) for x in XS])
    bends = np.stack([fg.hessian(plain)(x) for x in XS])

    def total(xs):
        return np.sum(fg.vmap(rolled)(xs))

    np.testing.assert_allclose(fg.grad(total)(XS), slopes, rtol=1e-11, atol=1e-12)
    moved = fg.jvp(fg.vmap(rolled), (XS,), (XS,))[1]
    np.testing.assert_allclose(moved, np.sum(slopes * XS, 1), rtol=1e-11, atol=1e-12)
    wide = fg.vmap(rolled, in_axes=1)(XS.T)
    np.testing.assert_allclose(wide, [plain(x) for x in XS], rtol=1e-12)
    for outer in (fg.jacfwd, fg.jacrev):
        for inner in (fg.jacfwd, fg.jacrev):
            found = outer(inner(total))(XS[:2])
            for i in range(2):
                np.testing.assert_allclose(found[i, :, i], bends[i], rtol=1e-10, atol=1e-11)
                assert not np.any(found[i, :, 1 - i])
    twice = fg.vmap(fg.vmap(fg.grad(rolled)))(np.stack([XS, XS[::-1]]))
    np.testing.assert_allclose(twice, np.stack([slopes, slopes[::-1]]), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("case", one_in(3, CASES, start=1))
def test_each_by_finite_differences(case):
    fg.check_grads(CASES[case][0], (X,), order=2)


OPERANDS = {
    "scan": lambda a, b, c: scan(lambda s, x: (np.sin(s * x + c), s * c), a, b)[0],
    "sqrt": lambda a, b, c: scan(lambda s, x: (np.sin(s * x + c), s), a, b, checkpoint="sqrt")[0],
    "while_loop": lambda a, b, c: while_loop(
        lambda s: s[0] < c + 5, lambda s: (s[0] + 1 + a * a, s[1] * c + np.sum(b)), (0.0, a)
    )[1],
    "cond": lambda a, b, c: cond(c > 0.5, lambda a, b: a * c + b[0], lambda a, b: b[1] / a, a, b),
    "switch": lambda a, b, c: switch(
        np.where(c > 0.5, 1, 0), [lambda a, b: a * c + b[0] ** 3, lambda a, b: b[1] ** 2 / a], a, b
    ),
    "checkpoint": lambda a, b, c: checkpoint(lambda a, b: np.sum(np.exp(a * b) * c))(a, b),
    "custom_vjp": lambda a, b, c: np.sum(by_vjp(a * b, c * np.ones(3))),
    "custom_jvp": lambda a, b, c: np.sum(by_jvp(a * b, c * np.ones(3))),
    "primitive": lambda a, b, c: np.sum(by_partials(a * b, c)),
}


@pytest.mark.parametrize("case", one_in(3, OPERANDS))
def test_vmap_over_each_subset_of_operands(case):
    f = OPERANDS[case]
    rng = np.random.default_rng(2)
    batches = (rng.uniform(0.2, 1, 4), rng.uniform(-1, 1, (4, 3)), rng.uniform(0, 1, 4))
    for subset in range(1, 8):
        axes = tuple(0 if subset >> k & 1 else None for k in range(3))
        args = tuple(b if axis == 0 else b[1] for b, axis in zip(batches, axes, strict=True))
        for g in (f, fg.grad(f, (0, 1, 2)), fg.hessian(f, 1)):
            found = fg.vmap(g, in_axes=axes)(*args)
            for i in range(4):
                one = [b[i] if axis == 0 else b[1] for b, axis in zip(batches, axes, strict=True)]
                want = g(*one)
                parts = (
                    zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]
                )
                for ours, theirs in parts:
                    np.testing.assert_allclose(ours[i], theirs, rtol=1e-12, atol=1e-13)


# -- one Hessian by many routes ------------------------------------------------------------------
INPUTS = np.random.default_rng(11).standard_normal((5, 2))
START = np.random.default_rng(12).standard_normal(2 * 2 + 2 * 2 + 2) * 0.5


def cell(w, h, x, tanh=np.tanh):
    return tanh(np.reshape(w[:4], (2, 2)) @ h + np.reshape(w[4:8], (2, 2)) @ x + w[8:])


tanh_by_vjp = custom_vjp(np.tanh)
tanh_by_vjp.defvjp(lambda x: (z := np.tanh(x), z), lambda z, g: (g * (1 - z * z),))
tanh_by_jvp = custom_jvp(np.tanh)
tanh_by_jvp.defjvps(lambda t, z, x: t * (1 - z * z))
tanh_by_partials = primitive(np.tanh, [lambda x: 1 - np.tanh(x) ** 2], name="tanh_by_partials")


def network(w, tanh=np.tanh, wrap=lambda f: f):
    h, loss = np.zeros(2), 0.0
    for x in INPUTS:
        h = wrap(lambda w, h, x: cell(w, h, x, tanh))(w, h, x)
        loss = loss + np.sum((h - x) ** 2)
    return loss


def rolled_network(w, tanh=np.tanh, wrap=lambda f: f, **how):
    def turn(h, x):
        h = wrap(lambda w, h, x: cell(w, h, x, tanh))(w, h, x)
        return h, np.sum((h - x) ** 2)

    return np.sum(scan(turn, np.zeros(2), INPUTS, **how)[1])


def looped_network(w):
    def turn(state):
        t, h, loss = state
        h = cell(w, h, np.asarray(INPUTS)[0] * 0 + picked(t))
        return t + 1, h, loss + np.sum((h - picked(t)) ** 2)

    def picked(t):
        return np.sum(np.where((np.arange(5) == t)[:, None], INPUTS, 0.0), 0)

    return while_loop(lambda state: state[0] < 5, turn, (0, np.zeros(2), 0.0))[2]


def columns_by(product):
    return lambda f: lambda w: fg.vmap(lambda v: product(f, w, v))(np.eye(len(START)))


ROUTES = {
    "plain": (network, fg.hessian),
    "fwd fwd": (network, lambda f: fg.jacfwd(fg.jacfwd(f))),
    "rev rev": (network, lambda f: fg.jacrev(fg.jacrev(f))),
    "rev fwd, scan": (rolled_network, lambda f: fg.jacrev(fg.jacfwd(f))),
    "fwd rev, scan": (rolled_network, lambda f: fg.jacfwd(fg.jacrev(f))),
    "rev rev, scan": (rolled_network, lambda f: fg.jacrev(fg.jacrev(f))),
    "fwd fwd, scan": (rolled_network, lambda f: fg.jacfwd(fg.jacfwd(f))),
    "scan, sqrt": (lambda w: rolled_network(w, checkpoint="sqrt"), fg.hessian),
    "scan, chunks of 2, rev rev": (
        lambda w: rolled_network(w, checkpoint=2),
        lambda f: fg.jacrev(fg.jacrev(f)),
    ),
    "checkpoint in scan": (lambda w: rolled_network(w, wrap=checkpoint), fg.hessian),
    "checkpoint of scan, rev rev": (
        lambda w: checkpoint(rolled_network)(w),
        lambda f: fg.jacrev(fg.jacrev(f)),
    ),
    "checkpoint": (lambda w: network(w, wrap=checkpoint), lambda f: fg.jacrev(fg.jacfwd(f))),
    "custom_vjp": (lambda w: network(w, tanh_by_vjp), fg.hessian),
    "custom_vjp in scan, rev rev": (
        lambda w: rolled_network(w, tanh_by_vjp),
        lambda f: fg.jacrev(fg.jacrev(f)),
    ),
    "custom_jvp in scan, fwd fwd": (
        lambda w: rolled_network(w, tanh_by_jvp),
        lambda f: fg.jacfwd(fg.jacfwd(f)),
    ),
    "custom_jvp in checkpoint in scan": (
        lambda w: rolled_network(w, tanh_by_jvp, checkpoint),
        fg.hessian,
    ),
    "primitive in scan": (lambda w: rolled_network(w, tanh_by_partials), fg.hessian),
    "while_loop, rev rev": (looped_network, lambda f: fg.jacrev(fg.jacrev(f))),
    "while_loop, fwd rev": (looped_network, fg.hessian),
    "vmap of jvp of grad, scan": (
        rolled_network,
        columns_by(lambda f, w, v: fg.jvp(fg.grad(f), (w,), (v,))[1]),
    ),
    "vmap of grad of jvp, scan": (
        rolled_network,
        columns_by(lambda f, w, v: fg.grad(lambda w: fg.jvp(f, (w,), (v,))[1])(w)),
    ),
    "vmap of vjp of grad, sqrt": (
        lambda w: rolled_network(w, checkpoint="sqrt"),
        columns_by(lambda f, w, v: fg.vjp(fg.grad(f), w)[1](v)[0]),
    ),
    "grad of vmap": (
        rolled_network,
        lambda f: (
            lambda w: fg.jacrev(
                lambda ws: fg.vmap(fg.grad(f))(ws)[0],
            )(np.stack([w, w]))[:, 0]
        ),
    ),
    "jit of everything": (network, lambda f: fg.jit(fg.hessian(f))),
    "jit within": (network, lambda f: fg.hessian(fg.jit(f))),
    "jit at every level, scan, rev rev": (
        rolled_network,
        lambda f: fg.jit(fg.jacrev(fg.jit(fg.jacrev(fg.jit(f))))),
    ),
    "jit of a checkpoint of a while_loop": (
        lambda w: checkpoint(looped_network)(w),
        lambda f: fg.jit(fg.hessian(f)),
    ),
    "vmap of jit of jvp of grad, custom_vjp in scan": (
        lambda w: rolled_network(w, tanh_by_vjp),
        columns_by(lambda f, w, v: fg.jit(lambda w, v: fg.jvp(fg.grad(f), (w,), (v,))[1])(w, v)),
    ),
    "rows in a scan": (
        rolled_network,
        lambda f: (
            lambda w: scan(lambda c, v: (c, fg.hvp(f, (w,), (v,))), 0.0, np.eye(len(START)))[1]
        ),
    ),
}


def test_one_hessian_by_many_routes():
    assert len(ROUTES) >= 10
    found = {route: make(f)(START) for route, (f, make) in ROUTES.items()}
    first = found["plain"]
    for route, matrix in found.items():
        np.testing.assert_allclose(matrix, first, rtol=1e-10, atol=1e-10, err_msg=route)
    h, slope = 1e-3, fg.jit(fg.grad(network))
    for k, e in enumerate(np.eye(len(START)) * h):  # Richardson: the error is of order h**4
        near = (slope(START + e) - slope(START - e)) / (2 * h)
        far = (slope(START + 2 * e) - slope(START - 2 * e)) / (4 * h)
        np.testing.assert_allclose((4 * near - far) / 3, first[k], rtol=1e-8, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_the_hessian_against_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def turn(w, h, x):
        h = jnp.tanh(w[:4].reshape(2, 2) @ h + w[4:8].reshape(2, 2) @ x + w[8:])
        return h, jnp.sum((h - x) ** 2)

    def loss(w):
        return jnp.sum(jax.lax.scan(lambda h, x: turn(w, h, x), jnp.zeros(2), INPUTS)[1])

    np.testing.assert_allclose(
        fg.hessian(rolled_network)(START), jax.hessian(loss)(START), rtol=1e-10, atol=1e-10
    )


# -- threads -------------------------------------------------------------------------------------
def test_eight_threads_agree_with_one():
    jobs = [
        fg.grad(rolled_network),
        fg.hessian(lambda w: rolled_network(w, checkpoint=2)),
        fg.grad(looped_network),
        lambda w: fg.vmap(fg.grad(by_while))(XS * w[0]),
        lambda w: fg.grad(lambda x: np.sum(fg.vmap(by_cond)(x)))(XS * w[1]),
        lambda w: fg.jvp(by_nested, (w[:3],), (w[3:6],))[1],
    ]
    points = [START * s for s in np.linspace(0.5, 1.5, 4)]
    want = [[job(w) for w in points] for job in jobs]
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for j, p in zip(rng.integers(0, len(jobs), 20), rng.integers(0, 4, 20), strict=True):
            # A closure of its own, so that each trace is new.
            if not np.array_equal(jobs[j](points[p] + 0.0), want[j][p]):
                wrong.append((j, p))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_rule_that_is_wrong_is_noticed():
    off = custom_vjp(np.sin)
    off.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x) * 1.001,))
    with pytest.raises(AssertionError, match="by finite differences"):
        fg.check_grads(lambda x: scan(lambda c, v: (off(c + v), None), 0.1, x)[0], (X,), order=1)


def test_sparse_and_taylor_of_rules_that_are_single_operations():
    erf = primitive(
        np.vectorize(math.erf), [lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x)], name="erf"
    )
    slopes = 2 / math.sqrt(math.pi) * np.exp(-X * X)
    np.testing.assert_allclose(fg.sparse_jacobian(erf)(X).toarray(), np.diag(slopes))
    found = fg.taylor(erf, X, 2)
    np.testing.assert_allclose(found[1], slopes)
    np.testing.assert_allclose(found[2], -X * slopes)
    branched = fg.sparse_jacobian(fg.vmap(lambda v: cond(v > 0, np.sin, np.cos, v)))(X)
    np.testing.assert_allclose(branched.toarray(), np.diag(np.where(X > 0, np.cos(X), -np.sin(X))))


@pytest.mark.parametrize("case", one_in(3, CASES, start=2))
def test_sparse_and_taylor_of_each(case):
    rolled, plain = CASES[case]
    if case not in ("while_loop", "open fori_loop"):  # what an open loop met has no fixed length
        found = fg.sparse_jacobian(lambda x: np.stack([rolled(x), x[1]]))(X).toarray()
        np.testing.assert_allclose(found, [fg.grad(plain)(X), [0, 1, 0]], rtol=1e-12, atol=1e-13)
        bent = fg.sparse_hessian(rolled)(X).toarray()
        np.testing.assert_allclose(bent, fg.hessian(plain)(X), rtol=1e-11, atol=1e-12)
    terms = fg.taylor(rolled, X, 3, V)
    for order, term in enumerate(terms):
        want = along(plain, order)(X) / math.factorial(order)
        np.testing.assert_allclose(term, want, rtol=1e-11, atol=1e-12)
