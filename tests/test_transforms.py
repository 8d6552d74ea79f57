"""grad and its family: forms, trees, nesting, control flow, threads."""

import copy
import dataclasses
import functools
import math
import threading
import warnings
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import toolz
from pyrsistent import PRecord, field, pmap, pvector

import funcgrad as fg


class Record(PRecord):
    a = field()
    b = field()


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


@dataclasses.dataclass
class Plain:
    a: Any
    b: Any


Pair = namedtuple("Pair", "a b")

CONTAINERS = [
    {"a": 3.0, "b": 2.0},
    OrderedDict(a=3.0, b=2.0),
    Pair(3.0, 2.0),
    Frozen(3.0, 2.0),
    Plain(3.0, 2.0),
    pmap({"a": 3.0, "b": 2.0}),
    Record(a=3.0, b=2.0),
]


@pytest.mark.parametrize("tree", CONTAINERS, ids=lambda t: type(t).__name__)
def test_the_same_container_comes_back(tree):
    def f(t):
        a, b = (t["a"], t["b"]) if isinstance(t, dict | type(pmap())) else (t.a, t.b)
        return a**2 * b

    slope = fg.grad(f)(tree)
    assert type(slope) is type(tree)
    get = (
        slope.__getitem__ if isinstance(slope, dict | type(pmap())) else lambda n: getattr(slope, n)
    )
    assert (get("a"), get("b")) == (12.0, 9.0)
    nested = fg.grad(lambda t: f(t[0]) * t[1])([tree, 2.0])
    assert type(nested[0]) is type(tree)


@dataclasses.dataclass
class Late:
    a: float
    k: float = dataclasses.field(default=0.0, init=False)
    name: str = dataclasses.field(default="late", init=False)
    unset: float = dataclasses.field(init=False)


@dataclasses.dataclass(frozen=True, slots=True)
class LateFrozen:
    a: float
    k: float = dataclasses.field(default=0.0, init=False)


@dataclasses.dataclass(slots=True)
class LateSlotted:
    a: float
    k: float = dataclasses.field(default=0.0, init=False)


@dataclasses.dataclass
class Checked:
    a: float
    scale: dataclasses.InitVar[float]
    k: float = dataclasses.field(init=False)

    def __post_init__(self, scale):
        if self.a <= 0:
            raise ValueError("expected a positive a")
        self.k = scale

    @functools.cached_property
    def square(self):
        return self.a**2


@pytest.mark.parametrize("kind", [Late, LateFrozen, LateSlotted])
def test_a_dataclass_keeps_what_was_set_after_it_was_made(kind):
    c = kind(2.0)
    object.__setattr__(c, "k", 5.0)
    value, slope = fg.value_and_grad(lambda d: d.a * d.k)(c)
    assert value == 10.0
    assert type(slope) is kind
    assert (slope.a, slope.k) == (5.0, 2.0)
    assert (c.a, c.k) == (2.0, 5.0)
    assert fg.jit(lambda d: d.a * d.k)(c) == 10.0


def test_a_dataclass_is_not_made_anew():
    c = Checked(2.0, 3.0)
    assert c.square == 4.0
    value, slope = fg.value_and_grad(lambda d: -d.square * d.k)(c)
    assert value == -12.0
    assert (slope.a, slope.k) == (-12.0, -4.0)
    assert slope.square == 144.0


@pytest.mark.parametrize("sequence", [[3.0, 2.0], (3.0, 2.0), pvector([3.0, 2.0])])
def test_sequences(sequence):
    slope = fg.grad(lambda t: t[0] * t[1])(sequence)
    assert type(slope) is type(sequence)
    assert list(slope) == [2.0, 3.0]


def test_forms():
    def f(x, y):
        return x**2 * y

    assert fg.grad(f)(3.0, 2.0) == 12.0
    assert fg.grad(f, 1)(3.0, 2.0) == 9.0
    assert fg.grad(f, argnums=(0, -1))(3.0, 2.0) == (12.0, 9.0)
    assert fg.grad(argnums=(0, 1))(f)(3.0, 2.0) == (12.0, 9.0)
    assert fg.grad(f)(3.0, y=2.0) == 12.0
    assert fg.value_and_grad(f)(3.0, 2.0) == (18.0, 12.0)
    assert fg.grad(lambda x: (x**2, {"twice": 2 * x}), has_aux=True)(3.0) == (6.0, {"twice": 6.0})
    with_aux = fg.value_and_grad(has_aux=True)(lambda x: (x**2, "note"))
    assert with_aux(3.0) == ((9.0, "note"), 6.0)
    assert toolz.pipe(np.sin, fg.grad, fg.grad)(0.5) == pytest.approx(-np.sin(0.5))
    assert fg.grad(f).__name__ == "grad(f)"
    assert fg.jit(fg.grad(fg.sin)).__name__ == "jit(grad(sin))"


def test_a_python_int_counts_as_a_float():
    slope = fg.grad(lambda x: x**2)(3)
    assert (slope, type(slope), repr(slope)) == (6.0, float, "6.0")
    assert type(fg.grad(lambda x: x**2)(np.float32(3))) is np.float32


def test_nesting_with_the_outer_variable():
    assert fg.grad(lambda x: fg.grad(lambda y: x * y)(x))(3) == 1.0
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert fg.grad(lambda x: fg.grad(lambda y: x * y**2)(x))(3.0) == 12.0
    assert fg.grad(lambda x: x * fg.jvp(lambda y: x * y, (2.0,), (1.0,))[1])(3.0) == 6.0
    assert fg.grad(lambda x: fg.vjp(lambda y: x * y * y, x)[1](x)[0])(2.0) == 24.0
    assert fg.jvp(lambda x: fg.grad(lambda y: x * y**3)(x), (2.0,), (1.0,))[1] == 36.0


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 6])
def test_nesting_to_any_order(order):
    f = g = lambda x: np.sin(x) * np.exp(x)
    for _ in range(order):
        f = fg.grad(f)
    roots = 2.0 ** (order / 2) * np.exp(0.3) * np.sin(0.3 + order * np.pi / 4)
    assert f(0.3) == pytest.approx(roots, rel=1e-12)
    assert g(0.3) == np.sin(0.3) * np.exp(0.3)


def test_modes_nest_in_every_way():
    def f(x):
        return np.sum(np.tanh(x) * x[::-1])

    x, v = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -0.5])
    a = fg.jvp(fg.grad(f), (x,), (v,))[1]
    b = fg.grad(lambda x: fg.jvp(f, (x,), (v,))[1])(x)
    c = fg.grad(lambda x: np.sum(fg.grad(f)(x) * v))(x)
    d = fg.vjp(fg.grad(f), x)[1](v)[0]
    e = fg.jvp(lambda x: fg.vjp(f, x)[1](1.0)[0], (x,), (v,))[1]
    for other in (b, c, d, e):
        np.testing.assert_allclose(other, a, rtol=1e-12)


def test_python_control_flow():
    def f(x):
        total = 0.0
        while total < 10:
            total = total + x * x
        for _ in range(int(x)):
            total = total * (2 if x > 1 else 3)
        return total

    assert fg.grad(f)(2.3) == pytest.approx((f(2.3 + 1e-6) - f(2.3 - 1e-6)) / 2e-6, rel=1e-6)
    assert fg.grad(lambda x: x * float(fg.stop_gradient(x)))(3.0) == 3.0
    assert fg.grad(lambda x: x * math.sin(fg.stop_gradient(x)))(3.0) == math.sin(3.0)
    assert fg.grad(lambda x: x * [1.0, 2.0, 3.0][int(x)])(2.0) == 3.0
    assert fg.grad(lambda x: x if f"{x:.1f}" == "2.0" else 0.0 * x)(2.0) == 1.0
    assert fg.grad(lambda x: np.sum(x) if 2.0 in x else x[0])(np.array([1.0, 2.0])).tolist() == [
        1,
        1,
    ]
    assert fg.grad(lambda x: sum(v * len(x) for v in x))(np.ones(3)).tolist() == [3.0] * 3
    assert fg.grad(lambda x: x[np.argmax(x)])(np.array([1.0, 5.0, 2.0])).tolist() == [0, 1, 0]


def test_vjp_and_jvp_of_trees():
    value, pullback = fg.vjp(lambda p: {"s": p["x"] * 2, "t": (p["y"],)}, {"x": 3.0, "y": 4.0})
    assert value == {"s": 6.0, "t": (4.0,)}
    assert pullback({"s": 1.0, "t": (5.0,)}) == ({"x": 2.0, "y": 5.0},)
    assert pullback({"s": 2.0, "t": (0.0,)}) == ({"x": 4.0, "y": 0.0},)
    primals, tangents = ({"x": 3.0},), ({"x": 1.0},)
    assert fg.jvp(lambda p: [p["x"] ** 2, p["x"]], primals, tangents) == ([9.0, 3.0], [6.0, 1.0])
    assert fg.jvp(lambda x: (x, 7.0), (3.0,), (1.0,)) == ((3.0, 7.0), (1.0, 0.0))


def test_elementwise_grad_and_stop_gradient():
    x = np.array([0.0, 0.5])
    np.testing.assert_allclose(fg.elementwise_grad(np.tanh)(x), 1 - np.tanh(x) ** 2)
    assert fg.grad(lambda x: x * fg.stop_gradient(x))(3.0) == 3.0
    assert fg.stop_gradient({"a": 1.0}) == {"a": 1.0}
    assert fg.jvp(lambda x: fg.stop_gradient(x * x), (3.0,), (1.0,)) == (9.0, 0.0)


def test_closures_are_never_stale():
    scale, data = [2.0], np.array([1.0, 2.0])
    f = fg.grad(lambda x: scale[0] * np.sum(data * x))
    assert f(1.0) == 6.0
    scale[0] = 3.0
    assert f(1.0) == 9.0
    data[0] = 5.0
    assert f(1.0) == 21.0


def test_nothing_is_changed_or_shared():
    x = np.array([1.0, 2.0])
    before = x.copy()
    captured = np.array([3.0, 4.0])
    for f in (lambda x: np.sum(x), lambda x: np.sum(x * captured), lambda x: np.sum(x[::-1] ** 2)):
        value, slope = fg.value_and_grad(f)(x)
        slope += 100.0
        np.testing.assert_array_equal(x, before)
        np.testing.assert_array_equal(captured, [3.0, 4.0])
        np.testing.assert_array_equal(fg.value_and_grad(f)(x)[0], value)
    (a, b), _ = fg.vjp(lambda x: (x, x), x)
    assert not np.shares_memory(a, b)
    assert not np.shares_memory(a, x)
    frozen = fg.const(x)
    x[0] = 9.0
    assert frozen.params[0][1].array[0] == 1.0
    out = fg.evaluate(frozen + 0.0 * fg.var("y"), y=1.0)
    out[0] = 7.0
    assert fg.evaluate(frozen)[0] == 1.0
    fg.evaluate(frozen)[0] = 8.0
    assert fg.evaluate(frozen)[0] == 1.0


def test_expr_form():
    f = fg.grad(lambda p, y: p["a"] ** 2 * y + p["b"])
    slopes = f.expr({"a": 1.0, "b": 2.0}, 3.0)
    assert {k: repr(v) for k, v in slopes.items()} == {"a": "2*y*p_a", "b": "1.0"}
    assert slopes["a"](p_a=2.0, y=5.0) == 20.0
    x = fg.var("t")
    assert repr(fg.grad(np.sin).expr(x)) == "cos(t)"


def test_trace_gives_programs():
    program = fg.trace(lambda x, y: {"sum": x + y, "product": x * y}, 1.0, np.ones(2))
    assert repr(program) == "{'sum': x + y, 'product': x*y}"
    assert program["sum"](x=1.0, y=np.array([2.0, 3.0])).tolist() == [3.0, 4.0]
    array = np.ones(2)
    frozen = fg.trace(lambda x: x * array, 1.0)
    array[0] = 50.0
    assert frozen(x=1.0).tolist() == [1.0, 1.0]


def test_unreached_output_warns():
    with pytest.warns(UserWarning, match="does not depend on the arguments"):
        assert fg.grad(lambda x: math.floor(x))(1.0) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.grad(fg.grad(lambda x: 2 * x))(1.0) == 0.0


def bisected(x):
    middle, step = 1.0, 0.5
    for _ in range(30):
        middle = middle - np.copysign(step, middle**2 - x)
        step /= 2
    return middle


@pytest.mark.parametrize("f", [np.floor, np.sign, lambda x: np.where(x > 0.3, 1.0, 2.0)])
def test_a_step_function_alone_has_derivative_zero(f):
    assert fg.grad(f)(0.5) == fg.jvp(f, (0.5,), (1.0,))[1] == 0.0


@pytest.mark.parametrize(
    "f",
    [
        bisected,
        lambda x: np.sign(x) + np.floor(x) + np.ceil(x),
        lambda x: (x > 0.3) * 1.0,
        lambda x: np.array([1e3 * x]).astype("timedelta64[ms]").astype(float)[0],
        lambda x: np.asarray(x).astype(int) * 1.0,
    ],
)
def test_an_output_that_depends_by_steps_alone_warns(f):
    for slope in (
        fg.grad(f),
        fg.jit(fg.grad(f)),
        fg.jacobian(f),
        lambda x: fg.jvp(f, (x,), (1.0,))[1],
        lambda x: fg.vjp(f, x)[1](1.0)[0],
        lambda x: fg.linearize(f, x)[1](1.0),
    ):
        with pytest.warns(UserWarning, match="by steps alone"):
            assert slope(0.7) == 0.0


@pytest.mark.filterwarnings("error")
def test_an_output_of_which_a_part_depends_on_the_arguments_does_not_warn():
    def relu(x):
        return np.where(x > 0.0, x, 0.0)

    assert fg.grad(lambda x: bisected(x) * x)(0.5) == pytest.approx(np.sqrt(0.5))
    assert fg.grad(fg.grad(relu))(1.0) == fg.hessian(relu)(1.0) == 0.0
    assert fg.grad(lambda x: fg.grad(abs)(x))(1.0) == 0.0
    assert fg.grad(lambda x: fg.stop_gradient(x) * 2.0)(1.0) == 0.0
    assert fg.grad(lambda x, n: x[n] * 2.0)(np.ones(2), 1).tolist() == [0.0, 2.0]
    found = fg.jacobian(lambda x: np.stack([np.sign(x), x]))(0.5)
    assert found.tolist() == [0.0, 1.0]


def test_a_leaked_leaf_is_noticed_and_harmless():
    leaked = []
    fg.grad(lambda x: leaked.append(x) or x * x)(3.0)
    assert float(leaked[0]) == 3.0
    with pytest.warns(UserWarning, match=r"a traced value \(x\) outlived the call") as caught:
        assert fg.grad(lambda y: leaked[0] * y)(2.0) == 3.0
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore:jit. .* stores a traced value")
@pytest.mark.filterwarnings("ignore:a traced value .* outlived")
def test_an_array_that_outlived_its_trace_is_an_array_to_numpy():
    leaked = []
    for transform in (fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))):
        transform(lambda x: leaked.append(x * 2) or np.sum(x))(np.array([1.0, 3.0]))
        np.testing.assert_array_equal(np.asarray(leaked[-1]), [2.0, 6.0])
        assert np.asarray(leaked[-1], np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="expected numbers"):
        np.asarray(fg.var("x", 2))

    def outer(x):
        fg.grad(lambda y: leaked.append(x * y) or y)(2.0)
        return np.asarray(leaked[-1]) * x

    with pytest.raises(TypeError, match="expected numbers"):
        fg.grad(fg.adopt(outer, False))(3.0)


def test_a_store_of_complex_values_is_warned_of_on_its_line():
    def f(z):
        total = np.zeros(2)
        total[:] = z
        return total

    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as caught:
        assert not fg.jit(f)(np.array([1j, 2j])).any()
    assert caught[0].filename == __file__


@pytest.mark.parametrize("transform", [fg.grad, fg.jacobian, fg.hessian, fg.elementwise_grad])
def test_argument_numbers_may_be_those_of_numpy(transform):
    def f(x, y):
        return x * y**2

    for i in np.arange(2):
        assert transform(f, argnums=i)(2.0, 3.0) == transform(f, argnums=int(i))(2.0, 3.0)
    pair = transform(f, argnums=tuple(np.arange(2)))(2.0, 3.0)
    assert pair == transform(f, argnums=(0, 1))(2.0, 3.0)


def test_a_function_that_raises_leaves_nothing_behind():
    def f(x):
        raise ZeroDivisionError("mine")

    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="mine"):
            fg.grad(lambda x: fg.grad(f)(x) * x)(1.0)
    assert fg.grad(lambda x: fg.grad(lambda y: x * y)(x))(3) == 1.0


def nested(x):
    return fg.grad(lambda y: fg.grad(lambda z: np.sin(x * z) * y)(y) * x)(x)


@pytest.mark.parametrize("calls", [60, pytest.param(6250, marks=pytest.mark.slow)])
def test_sixteen_threads_never_disagree(calls):
    points = np.linspace(0.1, 2.0, 32)
    expected = [nested(float(x)) for x in points]
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for i in rng.integers(0, len(points), calls):
            if nested(float(points[i])) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_expressions_refuse_mutation():
    x = fg.var("x", 3)
    for attempt in (
        lambda: setattr(x, "op", None),
        lambda: setattr(x, "new", 1),
        lambda: delattr(x, "args"),
    ):
        with pytest.raises(AttributeError, match="immutable"):
            attempt()
    with pytest.raises(TypeError, match=r"x = x.at\[i\].set\(v\)"):
        x[0] = 1.0
    assert copy.copy(x) is x
    assert copy.deepcopy(x) is x


def test_check_grads():
    fg.check_grads(lambda x, p: np.sin(x) * p["a"], (np.ones(2), {"a": 2.0}), order=3)
    fg.check_grads(lambda z: np.exp(z) * z, (0.3 + 0.4j,), order=1)
    with pytest.raises(TypeError, match="expected a tuple of arguments"):
        fg.check_grads(np.sin, 1.0)
    with pytest.raises(ValueError, match="expected modes 'fwd' and 'rev'"):
        fg.check_grads(np.sin, (1.0,), modes=("up",))
    with pytest.raises(ValueError, match=r"but got \['up'\]"):
        fg.check_grads(np.sin, (1.0,), modes="up")
    with pytest.raises(ValueError, match="expected an order of at least 1, but got 0"):
        fg.check_grads(np.sin, (1.0,), order=0)
    fg.check_grads(np.sin, (1.0,), modes="rev")
    with pytest.raises(AssertionError, match="by finite differences"):
        fg.check_grads(lambda x: np.sin(x) + fg.stop_gradient(x), (1.0,))


def test_a_derivative_that_is_constant_in_the_inner_variable_does_not_warn():
    # Linear in b, so that the second derivative is 0 by right.
    assert fg.grad(lambda a: fg.grad(fg.grad(lambda b: a * b))(1.0) * a)(1.0) == 0.0
    assert fg.grad(lambda a: fg.grad(lambda b: a * b)(1.0) * a)(3.0) == 6.0


def test_jvp_with_more_than_the_value():
    def f(x, y):
        return x * y, {"sum": x + y, "name": "f"}

    assert fg.jvp(f, (3.0, 4.0), (1.0, 0.0), has_aux=True) == (12.0, 4.0, {"sum": 7.0, "name": "f"})
    with pytest.raises(TypeError, match=r"jvp: expected f to return a pair \(value, aux\)"):
        fg.jvp(lambda x: x, (3.0,), (1.0,), has_aux=True)


def test_check_grads_of_single_precision():
    fg.check_grads(np.sin, (np.float32(0.5),))
    fg.check_grads(lambda x: np.sum(np.tanh(x) ** 2), (np.linspace(-1, 1, 5, dtype=np.float32),))
    with pytest.raises(AssertionError, match="check_grads: expected the derivative"):
        fg.check_grads(lambda x: x * fg.stop_gradient(x), (np.float32(0.5),))
