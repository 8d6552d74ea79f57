"""checkpoint: the same numbers from less memory."""

import enum
import tracemalloc

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.control_flow.checkpoint import checkpoint, name
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.custom.primitive import primitive
from tests.default_slice import one_in

POLICIES = ["nothing", "all", ["h"], ["g", "h"], ("g",), 0, 8, 24, 100, 10**9]
W = np.array([[0.5, -0.3], [0.1, 0.4]])
X = np.array([0.3, -0.8])


def block(x, scale=1.0):
    h = name(np.tanh(W @ x), "h")
    g = name(np.exp(h) * scale, "g")
    return np.sum(g * np.sin(h)) + x[0]


@pytest.mark.parametrize("policy", one_in(3, [pytest.param(p, id=str(p)) for p in POLICIES]))
def test_every_policy_gives_the_same(policy):
    wrapped = checkpoint(block, policy)
    assert wrapped(X) == block(X)
    assert checkpoint(policy=policy)(block)(X) == block(X)
    for transform in (
        fg.grad,
        fg.jacfwd,
        fg.hessian,
        lambda f: fg.jacrev(fg.jacrev(f)),
        lambda f: lambda x: fg.vmap(fg.grad(f), in_axes=1)(x * np.ones((2, 2))),
        lambda f: fg.hessian(lambda x: np.sum(fg.vmap(f, in_axes=1)(x * np.ones((2, 2))))),
    ):
        np.testing.assert_allclose(transform(wrapped)(X), transform(block)(X), rtol=1e-12)
    np.testing.assert_allclose(fg.grad(wrapped)(X, scale=2.0), fg.grad(block)(X, scale=2.0))


@pytest.mark.parametrize("policy", ["nothing", ["c"], 100], ids=str)
def test_loops_inside_and_outside(policy):
    def inner(x):
        c, ys = scan(lambda c, v: (np.sin(c + v), c * v), 1.0, x)
        return name(c, "c") * np.sum(ys)

    def outer(f):
        return lambda x: scan(lambda c, v: (c + f(x * c) * v, None), 0.5, x)[0]

    for transform in (fg.grad, fg.hessian):
        want = transform(outer(inner))(X)
        np.testing.assert_allclose(transform(outer(checkpoint(inner, policy)))(X), want, rtol=1e-12)


def test_trees_and_captured_values():
    def f(x, y):
        g = checkpoint(lambda p: {"s": p["a"] * y, "t": (p["a"] + x, 3)})
        out = g({"a": x * 2})
        return out["s"] * out["t"][0]

    def plain(x, y):
        return 2 * x * y * 3 * x

    assert fg.grad(f, (0, 1))(1.5, 0.5) == pytest.approx(fg.grad(plain, (0, 1))(1.5, 0.5))
    # Python's questions are answered by the values, as without it.
    assert fg.grad(checkpoint(lambda x: x * x if x > 1 else x))(3.0) == 6.0


def test_what_is_computed_of_captured_values_is_computed_again():
    calls = []

    def counted(x):
        calls.append(1)
        return np.sin(x)

    sine = primitive(counted, [lambda x: np.cos(x)], name="counted")

    def f(x):
        return checkpoint(lambda y: np.exp(sine(sine(x))) * y)(x * 3)

    expected = fg.grad(lambda x: np.exp(np.sin(np.sin(x))) * x * 3)(0.7)
    assert fg.grad(f)(0.7) == pytest.approx(expected, rel=1e-14)
    assert len(calls) == 4


def test_a_name_labels_a_node_of_a_formula():
    z, y = fg.vars("z y")
    t1 = name(np.exp(z), "t1")
    e = np.exp(z) * y + t1 * t1  # also where an equal node without the name comes first
    assert e.key == (np.exp(z) * y + np.exp(z) * np.exp(z)).key
    assert repr(e) == "let t1 = exp(z)\nin t1*y + t1*t1"
    assert [row.label for row in fg.table(e, z=0.0, y=1.0)] == [None, "t1", None, None, None, None]
    assert "t1 = exp  0" in str(fg.table(e, z=0.0, y=1.0))
    assert "\n  t1 = exp(z)  " in repr(fg.backprop(e))
    for picture in (fg.to_dot(e), fg.to_svg(e)):
        assert "t1 = exp" in picture
    assert name(z, "other") is z
    traced = fg.trace(lambda z: name(np.exp(z), "t1") * 2, 1.0)
    assert traced.key == (np.exp(z) * 2).key
    assert "t1 = exp" in str(fg.table(traced, z=0.0))
    with pytest.raises(TypeError, match=r"name: expected a name, but got 3; write name\(x, 'h'\)"):
        name(z, 3)


def test_what_is_kept_is_not_computed_again():
    def runs(policy):
        calls = []

        def f(x):
            calls.append(1)
            return np.sin(x)

        sine = primitive(f, [lambda x: np.cos(x)], name="sine")
        fg.grad(checkpoint(lambda x: np.exp(name(sine(np.exp(x)), "s")) ** 2, policy))(0.3)
        return len(calls)

    assert runs("all") == runs(["s"]) == runs(10**6) == 1
    assert runs("nothing") == runs(4) <= 2


def peak(f, x):
    """The value and the most memory of a first call: later ones find their large arrays again."""
    tracemalloc.start()
    try:
        value = f(x)
        return value, tracemalloc.get_traced_memory()[1] / x.nbytes
    finally:
        tracemalloc.stop()


def test_peak_memory_falls_as_promised():
    layers, inside = 6, 5
    x = np.linspace(0, 1, 100_000)

    def layer(x):
        for k in range(inside):
            x = name(np.sin(np.exp(-x * x) + x), f"h{k}")
        return x

    def slope(policy):
        f = checkpoint(layer, policy)

        def loss(x):
            for _ in range(layers):
                x = f(x)
            return np.sum(x)

        return fg.grad(loss)

    policies = ["all", "nothing", ["h2"], 2 * x.nbytes, 6 * x.nbytes]
    slopes, peaks = zip(*[peak(slope(policy), x) for policy in policies], strict=True)
    everything, nothing, named, two, six = peaks
    for found in slopes[1:]:
        np.testing.assert_allclose(found, slopes[0], rtol=1e-12)
    assert everything > 2 * layers * inside
    # What each layer takes in, and the inside of one.
    assert nothing < layers + 4 * inside < everything / 3
    # So many arrays a layer more.
    assert named < nothing + layers + 2
    assert nothing < two < nothing + 2 * layers + 2
    assert two < six < nothing + 6 * layers + 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: checkpoint(block, "some"),
            ValueError,
            "checkpoint: expected the policy 'nothing', .* or a number of bytes, but got 'some'",
        ),
        (lambda: checkpoint(block, True), ValueError, "number of bytes, but got True"),
        (lambda: checkpoint(block, 2.5), ValueError, "number of bytes, but got 2.5"),
        (lambda: checkpoint(3.0), TypeError, "checkpoint: expected a function, but got float"),
        (
            lambda: fg.grad(checkpoint(block, ["k", "g"]))(X),
            ValueError,
            r"expected names that funcgrad.name has marked \(g, h\), but got k",
        ),
        (
            lambda: fg.grad(checkpoint(np.sin, ["k"]))(1.0),
            ValueError,
            r"has marked \(none\), but got k",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_methods_and_arguments_that_are_no_numbers():
    class Model:
        w = 2.0

        @checkpoint
        def power(self, x, n, kind):
            return self.w * x**n if kind == "power" else x

    model = Model()
    assert fg.grad(model.power)(3.0, 2, "power") == 12.0
    assert fg.grad(lambda x: model.power(x, 2, "power"))(3.0) == 12.0
    assert fg.jit(fg.grad(lambda x: model.power(x, 2, "none")))(3.0) == 1.0
    assert fg.jvp(lambda x: model.power(x, 2, "power"), (3.0,), (1.0,)) == (18.0, 12.0)


class Rule(enum.Enum):
    SQUARE = 1

    def apply(self, x):
        try:
            float(x)
        except TypeError:
            return 0 * x
        return x * x


@pytest.mark.parametrize("f", [fg.adopt(Rule.SQUARE.apply, False), lambda x: Rule.SQUARE.apply(x)])
def test_a_refusal_that_the_function_catches_is_raised(f):
    """The derivative of what it computes instead would be another one."""
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.grad(f))):
        with pytest.raises(TypeError, match=r"float\(\): expected a value without a derivative"):
            transform(checkpoint(f))(3.0)
