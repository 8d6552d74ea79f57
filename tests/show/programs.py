"""Programs with closed subgraphs, for the tests of every face: each with values for its variables."""

import math

import numpy as np

import funcgrad as fg
from funcgrad.control.call_and_branch import call_op
from funcgrad.control.closed_program import body_of
from funcgrad.expr import symbol
from funcgrad.ops.tuples import pick
from funcgrad.rewrite.evaluate import variables
from funcgrad.scipy.integrate import quad

X, Y = fg.var("x"), fg.var("y")
W = fg.var("w", (3,))
M = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, 0.2], [0.7, -0.6, 0.1]])
TIMES = np.array([0.5, 2.0, 1.0])


def _scan(x, y):
    return fg.scan(lambda c, t: (np.sin(c * t + y), c), x, TIMES)


def _nested(x, y):
    def turn(c, t):
        return fg.fori_loop(0, 3, lambda i, v: v * t * y + i, c), c * 2

    return fg.scan(turn, x, TIMES + 0.5)


def _clipped():
    f = fg.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (np.clip(g * x, -1, 1),))
    return f


def _two():
    f = fg.custom_jvp(lambda x, y: (x * y, np.sin(x)))
    f.defjvp(
        lambda p, t: (f.f(*p), (2 * (p[1] * t[0] + p[0] * t[1]), np.cos(p[0]) * t[0])),
    )
    return f


_root = fg.implicit_root(lambda x, a: x * x - a)
_least = fg.implicit_argmin(lambda x, a: (x - a) ** 2 + x**2)
_fixed = fg.fixed_point(lambda x, a: np.cos(a * x))
erf = fg.primitive(
    np.vectorize(math.erf),
    [lambda x: 2 / math.sqrt(math.pi) * np.exp(-(x**2))],
    name="erf",
)


def _area(end, rate):
    return quad(lambda u: np.exp(rate * u) * u, 0.5, end)[0]


FUNCTIONS = {
    "scan": lambda x, y: _scan(x, y)[0],
    "scan's outputs": lambda x, y: np.sum(_scan(x, y)[1] * TIMES) * y,
    "scan backwards": lambda x, y: fg.scan(
        lambda c, t: (c * t[0] + t[1], None), x, (TIMES, TIMES * y), reverse=True
    )[0],
    "scan of several": lambda x, y: fg.scan(
        lambda c, t: ((c[1], c[0] + c[1] * t), (c[0], np.cos(t))), (x, y), TIMES
    )[0][1],
    "scan of nothing": lambda x, y: np.sum(fg.scan(lambda c, t: (c, t * x), (), TIMES * y)[1]),
    "scan by count": lambda x, y: fg.scan(lambda c, _: (np.cos(c) * y, c), x, length=4)[0],
    "scan of no turns": lambda x, y: fg.scan(lambda c, t: (c * y, c), x, np.zeros(0))[0] * y,
    "nested": lambda x, y: np.sum(_nested(x, y)[1]) + _nested(x, y)[0],
    "scan of arrays": lambda x, y: np.sum(
        fg.scan(lambda c, t: (np.tanh(M @ c * t) + y, c[1:] * x), M[0] * x, TIMES)[0] ** 2
    ),
    "while of arrays": lambda x, y: np.sum(
        fg.while_loop(lambda c: np.sum(c) < 9, lambda c: np.roll(c, 1) * 2 + y, M[1] * x) * M[2]
    ),
    "a loop of branches": lambda x, y: fg.scan(
        lambda c, t: (fg.cond(c > t, np.sin, lambda u: u * y, c), None), x, TIMES
    )[0],
    "while": lambda x, y: fg.while_loop(lambda c: c < 100.0 * y, lambda c: c * c + y, x + 2),
    "while of several": lambda x, y: fg.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, np.sin(s[1]) * y), (0, x)
    )[1],
    "fori": lambda x, y: fg.fori_loop(0, 4, lambda i, v: v * y + i, x),
    "cond": lambda x, y: fg.cond(x > y, lambda u: np.sin(u), lambda u: u**2 * y, x),
    "switch": lambda x, y: fg.switch(
        np.floor(y * 2).astype(int), [lambda u: u, lambda u: u**2, lambda u: np.sin(u) * y], x
    ),
    "a loop in a branch": lambda x, y: fg.cond(
        x > 0, lambda u: fg.fori_loop(0, 3, lambda i, v: v * u, y), lambda u: u, x
    ),
    "call": lambda x, y: fg.checkpoint(lambda u: np.sin(np.sin(u) * y))(x),
    "call that keeps": lambda x, y: fg.checkpoint(
        lambda u: np.sin(fg.name(np.sin(u), "h") * y), policy=["h"]
    )(x),
    "calls in calls": lambda x, y: fg.checkpoint(
        lambda u: fg.checkpoint(lambda v: np.sin(v * y))(u) * fg.checkpoint(np.cos)(u)
    )(x),
    "a rule of one's own": lambda x, y: _clipped()(x * y) * y,
    "a rule of two results": lambda x, y: _two()(x, y)[0] - _two()(x, y)[1],
    "a root": lambda x, y: _root(1.0, x + y) * y,
    "a minimum": lambda x, y: _least(0.0, x) * y,
    "a fixed point": lambda x, y: _fixed(0.5, x) * y,
    "an integral": lambda x, y: _area(x, y) * y,
    "a primitive": lambda x, y: erf(x) * y,
}
SOLVERS = ("a root", "a minimum", "a fixed point")
AT = {"x": 0.7, "y": 1.3}


def traced(name):
    """A program of x and y."""
    return FUNCTIONS[name](X, Y)


PROGRAMS = {name: traced(name) for name in FUNCTIONS}
GRADIENTS = {
    f"gradient of {name}": slope
    for name, expr in PROGRAMS.items()
    for slope in [fg.gradient(expr, X)]
}
BATCHES = {
    "a batch of scans": np.sum(
        fg.vmap(lambda x: fg.scan(lambda c, t: (c * t, c), x, TIMES)[1])(W) * Y
    ),
    "a batch of whiles": np.sum(
        fg.vmap(lambda x: fg.while_loop(lambda c: c < 9, lambda c: c * c + 2, x))(W) * Y
    ),
    "a batch of branches": np.sum(fg.vmap(lambda x: fg.cond(x > 0, np.sin, np.cos, x))(W)) * Y,
    "a batch of integrals": np.sum(fg.vmap(lambda a: _area(a, Y))(W + 2)) * Y,
    "a batch of roots": np.sum(fg.vmap(lambda a: _root(1.0, a))(W + 2)) * Y,
}
ALL = PROGRAMS | GRADIENTS | BATCHES


def nested_calls(depth):
    """Calls within calls: written out, there would be 2**depth parts."""
    u = symbol("i0", X.type)
    body = body_of([u], [np.sin(u)])
    for _ in range(depth):
        once = pick(call_op(u, body=body, kept=()), 0)
        body = body_of([u], [once * pick(call_op(once, body=body, kept=()), 0)])
    return pick(call_op(X, body=body, kept=()), 0)


def values_of(expr):
    """A value for each variable of an expression."""
    known = AT | {"w": np.array([0.5, 1.5, -0.5])}
    return {key: known[key] for key in variables(expr)}


def any_variable(name, shape=(), dtype=float):
    """A variable of any name, as JSON may have it; `fg.var` refuses what is no identifier."""
    return symbol(name, fg.ArrayType(shape, np.dtype(dtype)))
