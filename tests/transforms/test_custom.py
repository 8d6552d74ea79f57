"""custom_vjp and custom_jvp: rules of one's own, in both modes and to every order."""

import functools
import itertools
import types
from functools import partial

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.custom.custom_derivatives import custom_jvp, custom_vjp
from tests.default_slice import some


def with_vjp(f, fwd, bwd, **how):
    made = custom_vjp(f, **how)
    made.defvjp(fwd, bwd)
    return made


def with_jvp(f, rule, **how):
    made = custom_jvp(f, **how)
    made.defjvp(rule)
    return made


def test_the_rule_is_used_in_every_mode():
    # Rules that are not the derivative: 10 and 20 times it.
    v = with_vjp(np.sin, lambda x: (np.sin(x), x), lambda x, g: (10 * g * np.cos(x),))
    j = with_jvp(np.sin, lambda p, t: (np.sin(p[0]), 20 * t[0] * np.cos(p[0])))
    for f, scale in ((v, 10), (j, 20)):
        x = 0.3
        assert f(x) == np.sin(x)
        assert fg.grad(f)(x) == pytest.approx(scale * np.cos(x))
        assert fg.jvp(f, (x,), (2.0,))[1] == pytest.approx(2 * scale * np.cos(x))
        assert fg.grad(fg.grad(f))(x) == pytest.approx(-scale * np.sin(x))
        assert fg.jacfwd(fg.jacfwd(f))(x) == pytest.approx(-scale * np.sin(x))
        assert fg.jacfwd(fg.jacrev(fg.grad(f)))(x) == pytest.approx(-scale * np.cos(x))
        xs = np.array([0.1, 0.2])
        np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs), scale * np.cos(xs))
        np.testing.assert_allclose(
            fg.grad(lambda x, f=f: np.sum(fg.vmap(f)(x)))(xs), scale * np.cos(xs)
        )
        rolled = fg.grad(lambda x, f=f: scan(lambda c, _: (f(c), None), x, None, 2)[0])
        assert rolled(x) == pytest.approx(scale**2 * np.cos(np.sin(x)) * np.cos(x))


def test_a_rule_in_the_cotangent_alone():
    clipped = with_vjp(lambda x: x, lambda x: (x, None), lambda _, g: (np.clip(g, -1, 1),))
    assert fg.grad(lambda x: 5 * clipped(x))(2.0) == 1.0
    assert fg.vmap(fg.grad(lambda x: x**2 * clipped(x)))(
        np.array([0.1, 3.0])
    ).tolist() == pytest.approx([0.03, 19.0])


@pytest.mark.parametrize("how", ["vjp", "jvp"])
def test_trees(how):
    def f(p, y):
        return {"s": p["a"] * y, "t": [np.sum(p["b"] ** 2), y]}

    if how == "vjp":
        made = with_vjp(
            f,
            lambda p, y: (f(p, y), (p, y)),
            lambda kept, g: (
                {"a": g["s"] * kept[1], "b": 2 * kept[0]["b"] * g["t"][0]},
                g["s"] * kept[0]["a"] + g["t"][1],
            ),
        )
    else:
        made = with_jvp(
            f,
            lambda p, t: (
                f(*p),
                {
                    "s": t[0]["a"] * p[1] + p[0]["a"] * t[1],
                    "t": [np.sum(2 * p[0]["b"] * t[0]["b"]), t[1]],
                },
            ),
        )
    args = ({"a": 2.0, "b": np.array([1.0, 3.0])}, 0.5)
    fg.check_grads(made, args, order=2)

    def loss(f):
        return lambda *args: (lambda z: z["s"] * z["t"][0] + z["t"][1] ** 2)(f(*args))

    ours, theirs = (fg.hessian(loss(g), (0, 1))(*args) for g in (made, f))
    np.testing.assert_allclose(ours[0]["b"][0]["b"], theirs[0]["b"][0]["b"])
    np.testing.assert_allclose(ours[0]["a"][1], theirs[0]["a"][1])


@pytest.mark.parametrize("places", [1, -1, (1,), (-1,), [1]])
def test_arguments_that_are_not_differentiated_in(places):
    v = with_vjp(
        lambda x, n: x**n,
        lambda x, n: (x**n, x),
        lambda n, x, g: (n * x ** (n - 1) * g,),
        nondiff_argnums=places,
    )
    j = with_jvp(
        lambda x, n: x**n,
        lambda n, p, t: (p[0] ** n, n * p[0] ** (n - 1) * t[0]),
        nondiff_argnums=places,
    )
    for f in (v, j):
        assert fg.grad(f)(2.0, 3) == 12.0
        assert fg.grad(lambda x, f=f: f(x, n=3))(2.0) == 12.0
        assert fg.grad(lambda x, f=f: f(n=3, x=x))(2.0) == 12.0
        assert fg.jvp(lambda x, f=f: f(x, 3), (2.0,), (1.0,)) == (8.0, 12.0)
    called = with_vjp(
        lambda f, x: f(x),
        lambda f, x: (f(x), x),
        lambda f, x, g: (2 * g * fg.grad(f)(x),),
        nondiff_argnums=0,
    )
    assert fg.grad(lambda x: called(np.sin, x))(0.0) == 2.0


def test_defaults_and_names():
    @custom_jvp
    def f(x, scale=2.0):
        """Doc."""
        return np.sin(x) * scale

    f.defjvps(lambda t, z, x, s: np.cos(x) * s * t, None)
    assert f.__name__ == "f"
    assert f.__doc__ == "Doc."
    assert repr(f) == "<custom_jvp f>"
    assert fg.grad(lambda x: f(x, scale=3.0))(0.0) == 3.0
    assert fg.grad(lambda s: f(0.5, scale=s) + 0.0 * s)(3.0) == 0.0
    assert fg.grad(custom_vjp(np.sin))(0.0) == 1.0  # without a rule, as it is written


def test_defjvps_of_infinite_values_and_trees():
    f = custom_jvp(lambda x: (1 / x, x))
    f.defjvps(lambda t, z, x: (t, 2 * t))
    value, moved = fg.jvp(f, (0.0,), (3.0,))
    assert value == (np.inf, 0.0)
    assert moved == (3.0, 6.0)


def test_integers_beside():
    f = with_vjp(lambda x, i: x * i, lambda x, i: (x * i, i), lambda i, g: (g * i, None))
    assert fg.grad(f)(2.0, 3) == 3.0
    assert fg.jvp(lambda x: f(x, 3), (2.0,), (1.0,)) == (6.0, 3.0)
    assert fg.vmap(fg.grad(f))(np.ones(2), np.array([4, 5])).tolist() == [4.0, 5.0]
    j = custom_jvp(lambda x, i: x * i)
    j.defjvps(lambda t, z, x, i: t * i, None)
    assert fg.vmap(fg.grad(j))(np.ones(2), np.array([4, 5])).tolist() == [4.0, 5.0]


def identity_vjp(fwd, bwd, **how):
    return fg.grad(with_vjp(lambda x: x, fwd, bwd, **how))


def defjvps(*partials, args=(1.0,), **how):
    f = custom_jvp(lambda x: x, **how)
    f.defjvps(*partials)
    return fg.grad(f)(*args)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: custom_vjp(3.0), "custom_vjp: expected a function, but got float"),
        (lambda: custom_jvp(3.0), "custom_jvp: expected a function, but got float"),
        (
            lambda: custom_vjp(nondiff_argnums=1),
            r"custom_vjp: expected a function, .*; write @functools\.partial\(fg\.custom_vjp, \.\.\.\)",
        ),
        (
            lambda: identity_vjp(lambda x: x, lambda r, g: (g,))(1.0),
            r"custom_vjp: expected fwd to return a pair \(value, residuals\), but got Expr",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: g)(1.0),
            r"expected bwd to return a tuple of 1 cotangents, .* but got Expr; write return \(g,\)",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: (g, g))(1.0),
            "a tuple of 1 cotangents, one for each argument, but got 2",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: (np.ones(3),))(1.0),
            r"bwd to return a cotangent of type float64, but got float64\[3\]",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: (g * 1j,))(1.0),
            "bwd to return a cotangent of type float64, but got complex128",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: ([],))(1.0),
            "cotangent of type float64, but got nothing",
        ),
        (
            lambda: identity_vjp(lambda x: (x, x), lambda r, g: (g,), nondiff_argnums=3)(1.0),
            "custom_vjp: expected argnums to be 0, since the call has 1 positional argument, but got 3",
        ),
        (
            lambda: fg.grad(with_jvp(lambda x: x, lambda p, t: t[0]))(1.0),
            r"custom_jvp: expected the rule to return a pair .* but got Expr; write return value, tangent",
        ),
        (
            lambda: fg.grad(with_jvp(lambda x: x, lambda p, t: (p[0], np.ones(2))))(1.0),
            r"custom_jvp: expected a tangent of the value's type float64, but got float64\[2\]",
        ),
        (
            lambda: fg.grad(with_jvp(lambda x: x, lambda p, t: (p[0], t[0] * 1j)))(1.0),
            "tangent of the value's type float64, but got complex128",
        ),
        (
            lambda: fg.grad(with_jvp(lambda x: x, lambda p, t: (p[0], None)))(1.0),
            "tangent of the value's type float64, but got nothing",
        ),
        (
            lambda: defjvps(lambda t, z, x: t, None),
            "custom_jvp: expected defjvps with one partial for each of 1 arguments, but got 2",
        ),
        (
            lambda: defjvps(lambda t, z, x: (t, t)),
            r"custom_jvp: .* tangents of the value's structure \(1 parts\), but got \[2\]",
        ),
        (
            lambda: defjvps(None, nondiff_argnums=1),
            "custom_jvp: expected defjvps without nondiff_argnums",
        ),
        (
            lambda: fg.grad(
                lambda x: with_jvp(lambda x, **more: x, lambda p, t: (p[0], t[0]))(x, a=1)
            )(1.0),
            "custom_jvp: expected arguments that may be given by position, but got a",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# -- rules that call their own function ----------------------------------------------------------
def _exponentials():
    """2**k exp(x) is the k-th derivative: each rule doubles, also where it calls the function itself."""
    e = custom_jvp(np.exp)
    e.defjvp(lambda p, t: (e(p[0]), 2 * e(p[0]) * t[0]))
    s = custom_jvp(np.exp)
    s.defjvps(lambda t, z, x: 2 * z * t)
    f = custom_vjp(np.exp)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * f(x) * g,))
    r = custom_vjp(np.exp)
    r.defvjp(lambda x: (r(x), r(x)), lambda z, g: (2 * z * g,))
    return {"jvp": e, "jvps": s, "vjp": f, "residual": r}


@pytest.mark.parametrize("how", ["jvp", "jvps", "vjp", "residual"])
def test_a_rule_may_call_its_own_function(how):
    f, x = _exponentials()[how], 0.3
    slope = f
    for k in range(4):
        assert slope(x) == pytest.approx(2**k * np.exp(x))
        slope = fg.grad(slope)
    assert fg.jacfwd(fg.jacfwd(f))(x) == pytest.approx(4 * np.exp(x))
    assert fg.jacfwd(fg.grad(f))(x) == pytest.approx(4 * np.exp(x))
    assert fg.jit(fg.grad(fg.grad(f)))(x) == pytest.approx(4 * np.exp(x))
    xs = np.array([0.1, 0.2])
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(f)))(xs), 4 * np.exp(xs))
    with pytest.raises(TypeError, match="at most 3 derivatives of a function whose rule calls"):
        slope(x)


def test_rules_that_call_their_own_function_beside_others():
    # The numbers are those of jax.
    f = custom_vjp(lambda x, y: np.sin(x) * y)
    f.defvjp(
        lambda x, y: (f(x, y), (np.cos(x), np.sin(x), y)),
        lambda r, g: (r[0] * g * r[2] * 2, r[1] * g * 3),
    )
    g = custom_jvp(lambda x, y: np.sin(x) * y)
    g.defjvp(
        lambda p, t: (g(*p), 2 * np.cos(p[0]) * p[1] * t[0] + 3 * g(p[0], 1.0) * t[1]),
    )
    for h, corner in ((f, 2.86600947), (g, 5.73201893)):
        assert fg.grad(h, (0, 1))(0.3, 0.7) == pytest.approx((1.33747108, 0.88656062))
        (a, b), (c, d) = fg.jacrev(fg.jacrev(h, (0, 1)), (0, 1))(0.3, 0.7)
        assert (a, b, c, d) == pytest.approx((-0.41372829, 1.91067298, corner, 0.0))


@pytest.mark.parametrize("mode", [fg.grad, fg.jacfwd])
@pytest.mark.parametrize("how", ["vjp", "jvp"])
def test_a_rule_may_call_its_own_function_on_values_that_are_not_its_arguments(how, mode):
    """The arguments of a call do not tell that a rule runs: here they are those of an outer trace."""

    def h(c, x):
        if how == "vjp":
            f = custom_vjp(np.exp)
            f.defvjp(lambda x: (f(x), None), lambda _, g: (g * f(2 * c),))
        else:
            f = custom_jvp(np.exp)
            f.defjvp(lambda p, t: (f(p[0]), f(2 * c) * t[0]))
        return f(x)

    for gradient in (mode(h, 1), fg.jit(mode(h, 1))):
        assert gradient(0.2, 0.7) == pytest.approx(np.exp(0.4))
    assert mode(mode(h, 1), 0)(0.2, 0.7) == pytest.approx(2 * np.exp(0.4))


def test_a_rule_that_fails_is_not_taken_for_one_that_runs():
    f, wrong = custom_vjp(np.exp), [True]

    def backward(x, g):
        if wrong:
            raise ValueError("wrong")
        return (2 * g * f(x),)

    f.defvjp(lambda x: (f(x), x), backward)
    for _ in range(5):
        with pytest.raises(ValueError, match="wrong"):
            fg.grad(f)(0.3)
    wrong.clear()
    assert fg.grad(fg.grad(fg.grad(f)))(0.3) == pytest.approx(8 * np.exp(0.3))


def test_rules_run_in_threads_of_their_own():
    import threading

    f = _exponentials()["vjp"]
    found = []

    def work(x):
        found.append(fg.grad(fg.grad(fg.grad(f)))(x) == pytest.approx(8 * np.exp(x)))

    threads = [threading.Thread(target=work, args=(0.1 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_a_rule_may_loop_on_known_values_but_not_on_its_linear_argument():
    @fg.custom_vjp
    def root(a):
        x = 1.0 * a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    def backward(kept, g):
        x, _ = kept
        y = 1.0
        while abs(2 * x * y - 1.0) > 1e-13:  # Newton's iteration for 1/(2*x)
            y = y * (2.0 - 2 * x * y) if abs(1 - 2 * x * y) < 1 else y / 2
        return (g * y,)

    root.defvjp(lambda a: (root(a), (root(a), a)), backward)
    for gradient in (fg.grad(root), fg.jit(fg.grad(root)), fg.grad(fg.jit(root))):
        np.testing.assert_allclose(gradient(2.0), 0.5 / np.sqrt(2.0), rtol=1e-12)

    @fg.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, x), lambda x, g: (2 * g if g > 0 else g + g,))
    wanted = r"custom_vjp: .* value of the cotangent, .* loop on values of the residuals"
    for gradient in (fg.grad(double), fg.jit(fg.grad(double))):
        with pytest.raises(TypeError, match=wanted):
            gradient(1.0)

    @fg.custom_jvp
    def twice(x):
        return 2 * x

    twice.defjvp(lambda p, t: (2 * p[0], 2 * t[0] if t[0] > 0 else t[0] + t[0]))
    with pytest.raises(TypeError, match=r"custom_jvp: .* value of the tangent"):
        fg.jvp(twice, (1.0,), (1.0,))


def test_what_a_rule_is_traced_on_prints_by_its_part():
    met = []

    def backward(saved, cotangent):
        met.extend([repr(saved[0]), repr(cotangent), repr(2 * cotangent)])
        return (saved[0] * cotangent,)

    f = custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), (np.cos(x),)), backward)
    assert fg.grad(f)(0.0) == 1.0
    assert met == ["‹residual_0›", "‹cotangent›", "‹2*cotangent›"]
    g = custom_jvp(np.sin)
    g.defjvp(
        lambda primals, tangents: met.append(repr(tangents[0])) or (np.sin(primals[0]), tangents[0])
    )
    assert fg.grad(g)(0.0) == 1.0
    assert met[3:] == ["‹tangent_0›"]


def test_rules_of_methods():
    class Model:
        w = 2.0

        @partial(fg.custom_jvp, nondiff_argnums=(0,))
        def f(self, x):
            return self.w * x**2

        @f.defjvp
        def _(self, primals, tangents):
            return self.f(*primals), 100 * self.w * primals[0] * tangents[0]

        @partial(fg.custom_vjp, nondiff_argnums=(0,))
        def g(self, x):
            return self.w * x**2

        g.defvjp(lambda self, x: (self.g(x), x), lambda self, x, ct: (10 * self.w * x * ct,))

    model = Model()
    assert (model.f(3.0), fg.grad(model.f)(3.0), fg.jit(fg.grad(model.f))(3.0)) == (
        18.0,
        600.0,
        600.0,
    )
    assert (model.g(3.0), fg.grad(model.g)(3.0), fg.jit(fg.grad(model.g))(3.0)) == (
        18.0,
        60.0,
        60.0,
    )


LINEAR_RULES = {
    "a product": lambda r, g: np.cos(r) * g,
    "a choice by the cotangent": lambda r, g: np.where(g == 0, 0.0, g * np.cos(r)),
    "a choice by the residual": lambda r, g: np.where(r > 0, g, -g) * np.abs(np.cos(r)),
    "sums": lambda r, g: np.cumsum(g)[::-1] + np.flip(g) * np.mean(r) + np.sum(g),
    "a system": lambda r, g: np.linalg.solve(np.diag(2 + np.cos(r)), g),
    "a sign": lambda r, g: np.sign(g) * np.abs(g) * r,
    "a residual without a logarithm": lambda r, g: g * np.log(r) / np.sqrt(r),
}
OTHER_RULES = {
    "clipped": lambda r, g: np.clip(g * np.cos(r), -1, 1),
    "of length 1": lambda r, g: g / np.linalg.norm(g),
    "with decay": lambda r, g: g * np.cos(r) + 0.01 * r,
    "a sign": lambda r, g: np.sign(g),
    "squared": lambda r, g: g**2 * r,
}


def reversed_by(rule):
    f = fg.custom_vjp(lambda x: np.sin(x))
    f.defvjp(lambda x: (np.sin(x), x), lambda r, g: (rule(r, g),))
    return f


def pushed_by(rule):
    f = fg.custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda primals, tangents: (np.sin(primals[0]), rule(primals[0], tangents[0])))
    return f


@pytest.mark.parametrize("name", LINEAR_RULES)
def test_a_linear_rule_has_its_transpose_without_a_warning(name):
    rule = LINEAR_RULES[name]
    x, g = np.array([0.3, -0.5, 0.9]), np.array([1.0, -2.0, 0.5])
    x = np.abs(x) if "logarithm" in name else x
    matrix = np.stack([rule(x, e) for e in np.eye(3)], axis=1)
    backward, forward = reversed_by(rule), pushed_by(rule)
    np.testing.assert_allclose(fg.jvp(backward, (x,), (g,))[1], matrix.T @ g, rtol=1e-12)
    np.testing.assert_allclose(fg.vjp(backward, x)[1](g)[0], matrix @ g, rtol=1e-12)
    np.testing.assert_allclose(fg.vjp(forward, x)[1](g)[0], matrix.T @ g, rtol=1e-12)
    jitted = fg.jit(lambda x, g: fg.jvp(backward, (x,), (g,))[1])
    np.testing.assert_allclose(jitted(x, g), matrix.T @ g, rtol=1e-12)


@pytest.mark.parametrize("name", OTHER_RULES)
def test_a_rule_that_is_not_linear_is_told_of_in_the_other_mode(name):
    rule = OTHER_RULES[name]
    x, g = np.array([0.3, -0.5, 0.9]), np.array([1.0, -2.0, 0.5])
    backward, forward = reversed_by(rule), pushed_by(rule)
    np.testing.assert_allclose(fg.vjp(backward, x)[1](g)[0], rule(x, g), rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(forward, (x,), (g,))[1], rule(x, g), rtol=1e-12)
    with pytest.warns(UserWarning, match="custom_vjp: expected bwd to be linear in the cotangent"):
        fg.jvp(backward, (x,), (g,))
    with pytest.warns(
        UserWarning, match="custom_jvp: expected a rule that is linear in the tangents"
    ):
        fg.vjp(forward, x)[1](g)


def test_a_rule_that_adds_into_captured_zeros_is_linear():
    @fg.custom_vjp
    def gathered(x):
        return x[[1, 1, 3]] ** 2

    def backward(x, g):
        return (fg.const(np.zeros(4)).at[[1, 1, 3]].add(2 * x[[1, 1, 3]] * g),)

    gathered.defvjp(lambda x: (gathered(x), x), backward)
    x = np.array([0.3, 0.7, 1.1, 1.9])
    for how in (fg.jacfwd, fg.jacrev, fg.sparse_jacobian, lambda f: fg.jit(fg.jacfwd(f))):
        found = how(gathered)(x)
        dense = found.toarray() if hasattr(found, "toarray") else found
        np.testing.assert_allclose(dense[:, [0, 2]], 0.0)
        np.testing.assert_allclose(dense[:, [1, 3]], [[1.4, 0], [1.4, 0], [0, 3.8]])


def test_a_rule_that_is_not_linear_travels_as_json():
    e = fg.trace(lambda x: reversed_by(OTHER_RULES["squared"])(x).sum(), np.ones(3))
    again = fg.from_json(fg.to_json(e))
    assert again.key == e.key
    with pytest.warns(UserWarning, match="expected bwd to be linear"):
        fg.jvp(lambda x: again(x=x), (np.ones(3),), (np.ones(3),))


def capturing(kind, y, z):
    """x*y*z + y*y with a rule whose derivative in x is twice the true one."""

    def f(x):
        return x * y * z + y * y

    if kind == "custom_vjp":
        made = fg.custom_vjp(f)
        made.defvjp(lambda x: (x * y * z + y * y, ()), lambda _, g: (2 * g * y * z,))
    else:
        made = fg.custom_jvp(f)
        made.defjvp(lambda primals, tangents: (made(*primals), 2 * tangents[0] * y * z))
    return made


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda kind, y: capturing(kind, y, 5.0)(2.0), lambda y: 10 * y + y * y),
        (lambda kind, y: capturing(kind, y, 5.0)(y), lambda y: 7.5 * y * y + y * y),
        (lambda kind, y: capturing(kind, y, y)(y), lambda y: 4 / 3 * y**3 + y * y),
        (lambda kind, y: capturing(kind, y * 1.0, 5.0)(np.sin(y)), None),
        (lambda kind, y: capturing(kind, 3.0, 5.0)(y), lambda y: 30 * y),
    ],
)
def test_derivatives_in_captured_values_are_those_of_the_function(kind, use, expected):
    def f(y):
        return use(kind, y)

    if expected is None:

        def expected(y):
            # The derivative in the argument doubles.
            return (
                fg.stop_gradient(np.sin(y)) * y * 5 + y * y + 10 * fg.stop_gradient(y) * np.sin(y)
            )

    slope = fg.grad(expected)(0.7)
    for g in (
        fg.grad(f),
        fg.jacfwd(f),
        fg.jit(fg.grad(f)),
        lambda y: fg.vmap(fg.grad(f))(np.full(2, y))[1],
    ):
        assert g(0.7) == pytest.approx(slope, rel=1e-13)
    assert fg.from_json(fg.to_json(fg.grad(f).expr(0.7)))(y=0.7) == pytest.approx(slope, rel=1e-13)


def with_the_true_rule(kind, y, z):
    def f(x):
        return x * y * z + y * y * np.sin(x)

    def slope(x):
        return y * z + y * y * np.cos(x)

    if kind == "custom_vjp":
        made = fg.custom_vjp(f)
        made.defvjp(lambda x: (f(x), x), lambda x, g: (g * slope(x),))
    else:
        made = fg.custom_jvp(f)
        made.defjvp(lambda primals, tangents: (made(*primals), tangents[0] * slope(*primals)))
    return made


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (
            lambda kind, y: with_the_true_rule(kind, y, 5.0)(y),
            lambda y: 5 * y**2 + y**2 * np.sin(y),
        ),
        (lambda kind, y: with_the_true_rule(kind, y, y)(y), lambda y: y**3 + y**2 * np.sin(y)),
        (
            lambda kind, y: with_the_true_rule(kind, y * 1.0, 5.0)(np.sin(y)),
            lambda y: 5 * y * np.sin(y) + y**2 * np.sin(np.sin(y)),
        ),
    ],
)
def test_higher_derivatives_in_arguments_and_captured_values(kind, use, expected):
    def f(y):
        return use(kind, y)

    for transform in (
        fg.hessian,
        lambda f: fg.jacrev(fg.jacfwd(f)),
        lambda f: fg.jacfwd(fg.jacfwd(f)),
        lambda f: fg.jit(fg.grad(fg.grad(f))),
        lambda f: fg.grad(fg.grad(fg.grad(f))),
    ):
        assert transform(f)(0.7) == pytest.approx(transform(expected)(0.7), rel=1e-12)


def test_arguments_without_derivative_by_name():
    named = fg.custom_vjp(lambda f, x: f(x), nondiff_argnames=("f",))
    named.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (5 * g,))
    assert fg.grad(lambda x: named(np.sin, x))(1.0) == 5.0
    with pytest.raises(
        ValueError, match="custom_jvp: expected nondiff_argnames among x, but got 'y'"
    ):
        fg.custom_jvp(lambda x: x, nondiff_argnames="y")


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
def test_arguments_with_stores_are_no_captured_values(kind):
    def f(y):
        return y[0] ** 2

    made = getattr(fg, kind)(f)
    if kind == "custom_vjp":
        made.defvjp(lambda y: (f(y), None), lambda _, g: (np.array([10.0, 0.0]) * g,))
    else:
        made.defjvp(lambda primals, tangents: (made(*primals), 10.0 * tangents[0][0]))

    def stored(w):
        z = np.zeros(2)
        z[0] = w
        return made(z)

    def updated(w):
        return made((np.ones(2) * w).at[0].set(w))

    for g in (stored, updated):
        for gradient in (fg.grad(g), fg.jit(fg.grad(g)), fg.jacfwd(g)):
            assert gradient(1.3) == 10.0
    assert fg.grad(fg.grad(updated))(1.3) == 0.0


def test_arguments_without_derivative_have_none_if_they_hold_stores():
    f = fg.custom_vjp(lambda n, y: n[0] * y, nondiff_argnums=0)
    f.defvjp(lambda n, y: (n[0] * y, y), lambda n, y, g: (0.0 * y,))
    assert fg.grad(lambda w: f((np.ones(2) * w).at[0].set(w), 1.0 + 0 * w))(1.3) == 0.0


def test_arguments_that_are_not_differentiated_may_have_defaults():
    @partial(fg.custom_jvp, nondiff_argnums=(2, 3))
    def forward(x, y, n=2, scale=3.0):
        return scale * x**n * y

    @forward.defjvp
    def _(n, scale, primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return forward(x, y, n, scale), scale * x ** (n - 1) * (n * y * dx + x * dy)

    @partial(fg.custom_vjp, nondiff_argnums=(1,))
    def reverse(x, n=2, scale=3.0):
        return scale * x**n

    reverse.defvjp(
        lambda x, n, scale: (reverse(x, n, scale), (x, scale)),
        lambda n, saved, g: (g * saved[1] * n * saved[0] ** (n - 1), g * saved[0] ** n),
    )
    for run in (lambda f: f, fg.jit):
        assert run(fg.grad(forward, argnums=(0, 1)))(2.0, 5.0) == (60.0, 12.0)
        assert run(fg.grad(lambda x: forward(x, 5.0, 3)))(2.0) == 180.0
        assert run(fg.grad(reverse))(2.0) == 12.0
        assert run(fg.grad(lambda x: reverse(x, 3)))(2.0) == 36.0


def test_defaults_are_arguments_if_the_rule_takes_them():
    @fg.custom_vjp
    def power(x, n=2.0):
        return x**n

    power.defvjp(lambda x, n=2.0: (x**n, n), lambda n, g: (7.0 * n * g, 3.0 * g))
    assert fg.grad(power)(2.0) == fg.jit(fg.grad(power))(2.0) == 14.0
    assert fg.grad(power)(2.0, 3.0) == fg.grad(power)(2.0, n=3.0) == 21.0
    assert fg.grad(lambda n: power(2.0, n))(3.0) == 3.0
    product = fg.primitive(lambda x, y=2.0: x * y, [lambda x, y: 5.0 * y, lambda x, y: x])
    assert fg.grad(product)(1.5) == fg.jit(fg.grad(product))(1.5) == 10.0


CAPTURING = {
    "a default": lambda w: lambda y, w=w: y * y * w,
    "a list": lambda w: (lambda held: lambda y: y * y * held[0])([w]),
    "an attribute": lambda w: (lambda held: lambda y: y * y * held.w)(types.SimpleNamespace(w=w)),
    "a partial function": lambda w: functools.partial(lambda w, y: y * y * w, w),
    "a function": lambda w: (lambda inner: lambda y: inner(y))(lambda y: y * y * w),
}


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
@pytest.mark.parametrize("way", CAPTURING)
def test_the_argument_itself_may_be_captured_in_any_way(kind, way):
    def f(w):
        function = CAPTURING[way](w)
        made = getattr(fg, kind)(function)
        if kind == "custom_vjp":
            made.defvjp(lambda y: (function(y), None), lambda _, g: (10.0 * g,))
        else:
            made.defjvp(lambda primals, tangents: (made(*primals), 10.0 * tangents[0]))
        return made(w)

    assert fg.grad(f)(1.3) == pytest.approx(10 + 1.3**2)
    assert fg.jit(fg.grad(f))(1.3) == pytest.approx(10 + 1.3**2)


COPIES = {
    "float": lambda x: float(x),
    "numpy.float64": lambda x: np.sin(np.float64(x)),
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "an array": lambda x: np.array(x).sum(),
    "a name": lambda x: fg.name(x, "h"),
    "a copy in a branch": lambda x: fg.cond(x > 0, lambda: float(x), lambda: x),
    "a copy in a loop": lambda x: scan(lambda c, t: (c + float(x) * t, None), 0.0, np.ones(2))[0],
    "a copy under vmap": lambda x: np.sum(fg.vmap(lambda t: t * float(x))(np.ones(2))),
}


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_an_argument_is_no_captured_value(kind, way):
    made = getattr(fg, kind)(COPIES[way])
    if kind == "custom_vjp":
        made.defvjp(lambda x: (COPIES[way](x), None), lambda _, g: (10.0 * g,))
    else:
        made.defjvp(lambda primals, tangents: (COPIES[way](*primals), 10.0 * tangents[0]))
    for derivative in (fg.grad(made), fg.jacfwd(made), fg.jit(fg.grad(made))):
        assert derivative(1.2) == pytest.approx(10.0)
    assert fg.grad(lambda w: made(w) + float(w))(1.2) == pytest.approx(11.0)


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
def test_a_copy_of_a_captured_value_has_its_derivative(kind):
    def f(w):
        made = getattr(fg, kind)(lambda y: float(y) * float(w))
        if kind == "custom_vjp":
            made.defvjp(lambda y: (float(y) * float(w), w), lambda w, g: (w * g,))
        else:
            made.defjvp(lambda p, t: (float(p[0]) * float(w), w * t[0]))
        return made(w)

    assert fg.grad(f)(1.3) == fg.jit(fg.grad(f))(1.3) == pytest.approx(2.6)


def test_a_rule_that_calls_its_function_and_captures():
    def f(y, w):
        made = fg.custom_vjp(lambda y: w * y)
        made.defvjp(lambda y: (made(y), None), lambda _, g: (100 * g,))
        return made(y)

    assert fg.grad(f, (0, 1))(0.3, 1.2) == (100.0, 0.3)
    assert fg.grad(lambda w: f(w, w))(1.2) == pytest.approx(101.2)
    assert fg.grad(lambda w: f(2 * w, w))(1.2) == pytest.approx(202.4)


@pytest.mark.filterwarnings("error")
def test_a_captured_integer_leaves_a_rule_linear():
    def f(w):
        n = np.floor(w).astype(int)
        made = fg.custom_jvp(lambda y: y * n * w)
        made.defjvp(lambda primals, tangents: (made(*primals), tangents[0] * n * w))
        return made(w)

    assert fg.grad(f)(2.5) == fg.jvp(f, (2.5,), (1.0,))[1] == 10.0


def test_a_body_that_stores_into_an_argument_is_refused_where_the_rule_calls_it():
    @fg.custom_vjp
    def squares(y):
        y[0] = 5.0
        return np.sum(y**2)

    squares.defvjp(lambda y: (squares(y), y), lambda y, g: (2 * y * g,))

    def total(x):
        x = x * 1.0
        return squares(x) + x[0]

    assert total(np.array([2.0, 3.0])) == 39.0  # NumPy's
    for transform in (fg.grad, fg.jit):
        with pytest.raises(
            TypeError, match=r"custom_vjp: .* squares stores into an argument.*y.copy"
        ):
            transform(total)(np.array([2.0, 3.0]))


# -- rules that ask for values ------------------------------------------------------------------------
def searched_root():
    """A square root by Newton's method, and its slope by a search, with loops that end by the values."""

    def root(a):
        x = 1.0
        while abs(x * x - a) > 1e-13:
            x = 0.5 * (x + a / x)
        return x

    def slope(x):
        s = 0.0
        while abs(2 * x * s - 1) > 1e-12:
            s = s + 0.45 / x * (1 - 2 * x * s)
        return s if x > 1.5 else 1 / (2 * x)

    reverse, forward = fg.custom_vjp(root), fg.custom_jvp(root)
    reverse.defvjp(lambda a: (reverse(a), reverse(a)), lambda x, g: (g * slope(x),))
    forward.defjvp(
        lambda primals, tangents: (forward(*primals), tangents[0] * slope(root(*primals)))
    )
    return reverse, forward


A = np.array([2.0, 3.0, 9.0])


ROOTS = dict(zip(["custom_vjp", "custom_jvp"], searched_root(), strict=True))
HOWS = {"plain": lambda f: f, "jit": fg.jit}


@pytest.mark.parametrize(
    ("kind", "name"),
    some([("custom_vjp", "plain"), ("custom_jvp", "jit")], itertools.product(ROOTS, HOWS)),
)
def test_a_rule_loops_on_the_values_of_examples(kind, name):
    root, how = ROOTS[kind], HOWS[name]

    def total(a):
        return np.sum(fg.vmap(root)(a) * np.arange(1.0, 4.0))

    slopes = 0.5 / np.sqrt(A)
    np.testing.assert_allclose(how(fg.vmap(root))(A), np.sqrt(A), rtol=1e-10)
    np.testing.assert_allclose(how(fg.vmap(fg.grad(root)))(A), slopes, rtol=1e-10)
    np.testing.assert_allclose(how(fg.grad(total))(A), slopes * np.arange(1.0, 4.0), rtol=1e-10)
    np.testing.assert_allclose(how(fg.vmap(fg.jacfwd(root)))(A), slopes, rtol=1e-10)


def test_a_rule_branches_in_a_loop_whose_states_stand_for_many():
    @fg.custom_vjp
    def f(a):
        return a * a if a > 2.5 else a * 3.0

    f.defvjp(lambda a: (f(a), a), lambda a, g: (g * 2 * a if a > 2.5 else g * 3.0,))

    def total(a):
        return fg.scan(lambda carry, x: (carry + f(x), None), 0.0, a)[0]

    assert total(A) == 96.0
    np.testing.assert_array_equal(fg.grad(total)(A), [3.0, 6.0, 18.0])
    np.testing.assert_array_equal(fg.jit(fg.vmap(fg.grad(f)))(A), [3.0, 6.0, 18.0])


def test_a_rule_does_not_branch_on_the_cotangent_of_examples():
    f = fg.custom_vjp(lambda a: 2.0 * a)
    f.defvjp(lambda a: (2.0 * a, None), lambda _, g: (g if g > 0.5 else 0.0 * g,))
    with pytest.raises(TypeError, match="does not depend on the value of the cotangent"):
        fg.vmap(fg.grad(f))(A)
    with pytest.raises(TypeError, match="does not depend on the value of the cotangent"):
        fg.grad(lambda a: fg.scan(lambda c, x: (c + f(x), None), 0.0, a)[0])(A)
