"""Transforms adopt the functions that they are given, where that is needed."""

import contextlib
import ctypes
import dataclasses
import functools
import gc
import io
import math
import numbers
import operator
import statistics
import threading
import weakref
from math import sin as sine
from types import ModuleType

import numpy as np
import pytest
import toolz

import funcgrad as fg
from funcgrad.adoption.levels import adoption_level
from tests.default_slice import one_in


def scalar(x):
    """x sin(x), as code on plain numbers has it."""
    return x * math.sin(x) if isinstance(x, float) else x


def filled(v):
    """A vector that is filled entry by entry."""
    out = np.zeros(len(v))
    for i in range(len(v)):
        out[i] = math.sin(v[i])
    return out


def total(v):
    return filled(v).sum()


def helper(x):
    return scalar(x)


X = 0.7
V = np.array([0.3, 0.7])
SLOPE = math.sin(X) + X * math.cos(X)
SECOND = 2 * math.cos(X) - X * math.sin(X)


SCALAR = {
    "grad": lambda: fg.grad(scalar)(X),
    "helper": lambda: fg.grad(helper)(X),
    "method": lambda: fg.grad(Scaled(1.0).value)(X),
    "lambda": lambda: fg.grad(lambda x: scalar(x))(X),
    "value_and_grad": lambda: fg.value_and_grad(scalar)(X)[1],
    "expr": lambda: fg.grad(scalar).expr(X)(x=X),
    "jvp": lambda: fg.jvp(scalar, (X,), (1.0,))[1],
    "vjp": lambda: fg.vjp(scalar, X)[1](1.0)[0],
    "linearize": lambda: fg.linearize(scalar, X)[1](1.0),
    "jacobian": lambda: fg.jacobian(scalar)(X),
    "jacfwd": lambda: fg.jacfwd(scalar)(X),
    "taylor": lambda: fg.taylor(scalar, X, 1)[1],
    "trace": lambda: fg.gradient(fg.trace(scalar, X), "x")(x=X),
    "jit": lambda: fg.jit(fg.grad(scalar))(X),
    "grad of jit": lambda: fg.grad(fg.jit(scalar))(X),
    "vmap": lambda: fg.vmap(fg.grad(scalar))(np.array([X]))[0],
    "grad of vmap": lambda: fg.grad(lambda v: fg.vmap(scalar)(v).sum())(np.array([X]))[0],
    "checkpoint": lambda: fg.grad(fg.checkpoint(scalar))(X),
    "cond": lambda: fg.grad(lambda x: fg.cond(x > 0, scalar, lambda x: x, x))(X),
    "fori_loop": lambda: fg.grad(lambda x: fg.fori_loop(0, 1, lambda i, c: scalar(c), x))(X),
    "scan": lambda: fg.grad(lambda x: fg.scan(lambda c, _: (scalar(c), c), x, np.zeros(1))[0])(X),
    "while_loop": lambda: fg.grad(
        lambda x: fg.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, scalar(c[1])), (0, x))[1]
    )(X),
}


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def value(self, x):
        return self.scale * self.inner(x)

    def inner(self, x):
        return x * math.sin(x)


@pytest.mark.parametrize("name", SCALAR)
def test_a_function_of_plain_numbers_is_adopted(name):
    assert SCALAR[name]() == pytest.approx(SLOPE, rel=1e-14)


ARRAYS = {
    "grad": lambda: fg.grad(total)(V),
    "jit": lambda: fg.jit(fg.grad(total))(V),
    "elementwise_grad": lambda: fg.elementwise_grad(filled)(V),
    "jacobian": lambda: np.diag(fg.jacobian(filled)(V)),
    "jacfwd": lambda: np.diag(fg.jacfwd(filled)(V)),
    "jvp": lambda: fg.jvp(filled, (V,), (np.ones(2),))[1],
    "sparse_jacobian": lambda: fg.sparse_jacobian(filled)(V).toarray().diagonal(),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_function_that_fills_an_array_is_adopted(name):
    np.testing.assert_allclose(ARRAYS[name](), np.cos(V), rtol=1e-14)


def test_second_derivatives():
    assert fg.grad(fg.grad(scalar))(X) == pytest.approx(SECOND, rel=1e-14)
    assert fg.hessian(scalar)(X) == pytest.approx(SECOND, rel=1e-14)
    assert fg.hvp(scalar, (X,), (1.0,)) == pytest.approx(SECOND, rel=1e-14)
    np.testing.assert_allclose(fg.hessian(total)(V), np.diag(-np.sin(V)), rtol=1e-14)


def test_adoption_is_turned_off():
    with pytest.raises(TypeError, match="derivative"):
        fg.grad(fg.adopt(lambda x: x * math.sin(x), False))(X)


def test_values_under_jit_are_those_of_the_function():
    f = fg.jit(scalar)
    assert [f(x) for x in (X, -X)] == pytest.approx([scalar(X), scalar(-X)], rel=1e-15)
    np.testing.assert_allclose(fg.jit(filled)(V), filled(V), rtol=1e-15)


def test_captures_of_a_jitted_function_are_watched():
    scale = 2.0

    def f(x):
        return scale * math.sin(x)

    g = fg.jit(fg.grad(f))
    assert g(X) == 2.0 * math.cos(X)
    scale = 3.0
    assert g(X) == 3.0 * math.cos(X)


def test_a_helper_that_is_bound_anew_is_seen(monkeypatch):
    for transformed in (fg.grad(helper), fg.jit(fg.grad(helper))):
        monkeypatch.undo()
        assert transformed(X) == pytest.approx(SLOPE, rel=1e-14)
        monkeypatch.setitem(globals(), "scalar", math.exp)
        assert transformed(X) == pytest.approx(math.exp(X), rel=1e-14)


@dataclasses.dataclass
class Pair:
    a: float
    b: float

    def product(self):
        return math.prod([self.a, self.b])


def test_arguments_and_results_have_the_classes_that_they_had():
    found = fg.grad(lambda p: p.product())(Pair(2.0, 3.0))
    assert type(found) is Pair
    assert found == Pair(3.0, 2.0)
    value, slope = fg.jvp(lambda x: Pair(x, math.sin(x)), (X,), (1.0,))
    assert (type(value), type(slope)) == (Pair, Pair)
    assert slope == Pair(1.0, math.cos(X))
    pair = fg.grad(lambda x: (x, Scaled(2.0)), has_aux=True)(X)[1]
    assert type(pair) is Scaled


def test_a_function_among_the_arguments_is_adopted():
    assert fg.grad(lambda x, f: f(x))(X, scalar) == pytest.approx(SLOPE, rel=1e-14)
    assert fg.grad(lambda x, model: model.value(x))(X, Scaled(1.0)) == pytest.approx(
        SLOPE, rel=1e-14
    )


def test_threads_adopt_at_once():
    found = []

    def run():
        found.append([fg.grad(lambda x, k=k: k * scalar(x))(X) for k in range(20)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in found:
        assert row == pytest.approx([k * SLOPE for k in range(20)], rel=1e-14)


# -- kinds of functions --------------------------------------------------------------------------
def scaled(k, x):
    return k * math.sin(x)


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


def closure():
    k, inner = 2.0, math.sin

    def outer(x):
        return k * inner(x)

    return outer


def generates(x):
    def values():
        for k in (1, 2):
            yield math.sin(k * x)

    return sum(values())


def recursive(x, n=3):
    return x if n == 0 else math.sin(recursive(x, n - 1))


class Callable:
    factor = 3.0

    def __call__(self, x):
        return self.factor * self.power(x, math.pi)

    @staticmethod
    def power(x, n):
        return math.pow(x, n)

    @classmethod
    def of_class(cls, x):
        return cls.factor * math.sin(x)

    @property
    def root(self):
        return math.sqrt


class Derived(Callable):
    def __call__(self, x):
        return super().__call__(x) + super().power(x, 2)


@dataclasses.dataclass
class Model:
    weight: float

    def __call__(self, x):
        return math.exp(self.weight * x)

    def value(self, x):
        return self(x)


cached = functools.lru_cache(scalar)
memoized = toolz.memoize(scalar)
cached_slope = functools.lru_cache(fg.grad(scalar))


@contextlib.contextmanager
def managed(x):
    held = np.zeros(2)
    held[0] = math.sin(x)
    yield held
    held[1] = x


def manages(x):
    with managed(x) as held, contextlib.suppress(ValueError):
        held[0] *= x
    return held[0] + held[1]


def clears_a_cache(x):
    cached.cache_clear()
    return cached(x) + cached(1.0) + cached(1.0) * cached.cache_info().hits


@functools.singledispatch
def by_type(x):
    return 3.0 * x


@by_type.register(float)
def _(x):
    return math.sin(x)


@by_type.register(list)
def _(x):
    return sum(by_type(item) for item in x)


@by_type.register
def _(x: np.ndarray):
    return np.sum(x**3)


@functools.singledispatch
def of_reals(x):
    return 3.0 * x


@of_reals.register
def _(x: numbers.Real):
    return x**2


class Dispatching:
    @functools.singledispatchmethod
    def method(self, x):
        return 3.0 * x

    @method.register
    def _(self, x: float):
        return math.sin(x)

    @functools.singledispatchmethod
    @classmethod
    def of_class(cls, x):
        return 3.0 * x

    @of_class.register
    @classmethod
    def _(cls, x: float):
        return x**2


def dispatches_within(x):
    @functools.singledispatch
    def scaled_by_type(value):
        return 3.0 * value

    @scaled_by_type.register
    def _(value: float):
        return math.sin(value)

    @scaled_by_type.register(np.ndarray)
    def _(value):
        return np.sum(value**3)

    class Within:
        @functools.singledispatchmethod
        def method(self, value):
            return 3.0 * value

        @method.register
        def _(self, value: float):
            return value**2

    of_numbers = scaled_by_type(x) + scaled_by_type(1) * x
    return of_numbers + scaled_by_type(np.stack([x, 2.0 * x])) + Within().method(x)


def caches_within(x):
    @functools.lru_cache(maxsize=64)
    def fibonacci(n):
        return x if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    @functools.cache
    def square(value):
        return value * value

    found = fibonacci(40) * 1e-8 + square(x)
    return found + fibonacci.cache_info().hits


module = ModuleType("a_module_of_its_own")
exec(
    "import math, numpy as np\n"
    "def inner(x): return math.cos(x)\n"
    "def outer(x):\n    out = np.empty(2)\n    out[:] = x, inner(x)\n    return out.prod()\n",
    vars(module),
)


class Truthful:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x > 0.1


KINDS = {
    "name of a function": lambda x: sine(x) * x,
    "partial": functools.partial(scaled, 2.0),
    "partial of keyword": functools.partial(recursive, n=2),
    "toolz.compose": toolz.compose(scalar, math.sin),
    "toolz.compose of ufunc": toolz.compose(np.exp, scalar),
    "toolz.curry": toolz.curry(scaled)(2.0),
    "toolz.pipe": lambda x: toolz.pipe(x, scalar, math.cos),
    "decorated": decorated(scalar),
    "closure": closure(),
    "generator": generates,
    "recursion": recursive,
    "nested": lambda x: (lambda y: math.sin(y) + x)(x * x),
    "reduce": lambda x: functools.reduce(lambda a, k: a + math.sin(k * x), [1, 2], 0.0),
    "map": lambda x: sum(map(math.sin, [x, 2 * x])),
    "list of functions": lambda x: sum([f(x) for f in [scalar, math.sin]]),
    "operator": lambda x: operator.mul(x, math.sin(x)),
    "built-in": math.sin,
    "type": float,
    "cached": functools.lru_cache(scalar),
    "helper that is cached": lambda x: cached(x) + cached(1.0),
    "singledispatch": by_type,
    "helper under singledispatch": lambda x: by_type(x) * by_type([x, 2.0]) + by_type(1) * x,
    "singledispatch on arrays": lambda x: by_type(np.stack([x, 2.0 * x])),
    "singledispatch on abstract classes": of_reals,
    "singledispatch within": dispatches_within,
    "bound singledispatchmethod": Dispatching().method,
    "class's singledispatchmethod": Dispatching.of_class,
    "singledispatchmethod": lambda x: Dispatching().method(x) + Dispatching.of_class(x),
    "object with a truth value": lambda x: x**2 if Truthful(x) and not Truthful(-x) else x,
    "groups by truth values": lambda x: (
        sum(toolz.groupby(lambda v: v > 0.1, [x, 2 * x, -x])[True]) ** 2
    ),
    "cache within": caches_within,
    "helper that is a cached derivative": lambda x: cached_slope(x) * cached_slope(2.0),
    "cache that is cleared": lambda x: clears_a_cache(x) - cached(1.0) * cached.cache_info().hits,
    "context manager": manages,
    "toolz.memoize": memoized,
    "toolz.memoize of a key": toolz.memoize(lambda x, k=2.0: k * x, key=lambda args, kwargs: args),
    "helper that is memoized": lambda x: memoized(x) + memoized(1.0),
    "toolz.compose of ufunc and memoized": toolz.compose(toolz.memoize(lambda x: x * x), np.exp),
    "object": Callable(),
    "object of a derived class": Derived(),
    "method": Model(2.0).value,
    "class method": Callable.of_class,
    "property": lambda x: Callable().root(x),
    "class": lambda x: Model(x)(2.0),
    "argument of the class": lambda x: Model(2.0)(x),
    "function of a module": module.outer,
    "attribute of a module": lambda x: module.outer(x) + module.inner(x),
    "statistics": lambda x: statistics.fmean([x, x * x]),
    "asarray": lambda x: np.asarray([x, x * x]).sum(),
    "array in place": lambda x: operator.iadd(np.ones(2), [x, x * x]).prod(),
    "dtype": lambda x: np.array([x, 1.0], dtype=np.float64)[0] * np.float64(x),
    "local import": lambda x: __import__("math").sin(x),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_function_is_adopted(name):
    f, x, h, bound = KINDS[name], X, 1e-6, 1e-8
    difference = (f(x + h) - f(x - h)) / (2 * h)
    assert fg.grad(f)(x) == pytest.approx(difference, rel=bound)
    compiled = fg.jit(fg.grad(f))
    assert [compiled(x), compiled(x)] == pytest.approx([difference] * 2, rel=bound)
    assert fg.jvp(f, (x,), (1.0,)) == pytest.approx((f(x), difference), rel=bound)
    assert fg.grad(fg.grad(f))(x) == pytest.approx(fg.hessian(fg.adopt(f))(x), rel=1e-12)


RULES = {
    "custom_vjp": lambda: by_rule(fg.custom_vjp(scalar), "defvjp"),
    "custom_jvp": lambda: by_rule(fg.custom_jvp(scalar), "defjvp"),
}


def by_rule(f, kind):
    if kind == "defvjp":
        f.defvjp(lambda x: (scalar(x), x), lambda x, g: (g * (math.sin(x) + x * math.cos(x)),))
    else:
        f.defjvp(lambda p, t: (scalar(*p), t[0] * (math.sin(p[0]) + p[0] * math.cos(p[0]))))
    return f


@pytest.mark.parametrize("name", RULES)
def test_rules_are_adopted(name):
    f = RULES[name]()
    assert f(X) == scalar(X)
    assert fg.grad(f)(X) == pytest.approx(SLOPE, rel=1e-14)
    assert fg.jit(fg.grad(lambda x: f(x)))(X) == pytest.approx(SLOPE, rel=1e-14)


# -- what adoption leaves alone --------------------------------------------------------------------
def test_a_function_that_needs_no_adoption_runs_as_it_is():
    seen, own = [], id(globals())

    def helper(x):
        return np.sin(x)

    def f(x):
        seen.append((id(f.__globals__) == own, helper))
        return helper(x) * x

    assert fg.grad(f)(X) == pytest.approx(SLOPE)
    assert seen == [(True, helper)]


@pytest.mark.parametrize(
    "f",
    [
        lambda w: np.mean(np.logaddexp(0, SAMPLES @ w) - w[0]),
        lambda w: np.linalg.norm(np.tanh(w @ SAMPLES.T)) + np.median(w),
        lambda w: np.sum(np.where(w > 0, np.sqrt(w), 0.0)) * math.pi,
    ],
)
def test_functions_of_numpy_alone_run_as_they_are(f):
    assert adoption_level(f, [V]) == 0
    fg.grad(f)(V)
    assert adoption_level(f, [V]) == 0


SAMPLES = np.arange(6.0).reshape(3, 2)


def test_a_function_that_names_what_it_needs_runs_once():
    runs = []

    def f(x):
        runs.append(1)
        return x * math.sin(x)

    for k in (1, 2):
        assert fg.grad(f)(X) == pytest.approx(SLOPE)
        assert len(runs) == k


def test_a_refused_function_runs_once_more_and_is_known_then():
    runs = io.StringIO()  # what it holds is not put back

    def f(v):
        runs.write("1")
        v[0] = 2 * v[1]
        return (v * v).sum()

    for k in (2, 3, 4):
        assert fg.grad(f)(V).tolist() == [0.0, 10 * V[1]]
        assert runs.tell() == k
    assert V.tolist() == [0.3, 0.7]


RUNS = io.StringIO()


def storing(v):
    """A function of a module, without a closure."""
    RUNS.write("1")
    v[0] = 2 * v[1]
    return (v * v).sum()


def test_a_refused_function_without_a_closure_is_known_then():
    for k in (2, 3, 4):
        assert fg.grad(storing)(V).tolist() == [0.0, 10 * V[1]]
        assert RUNS.tell() == k


def test_contents_of_cells_that_change_are_seen():
    held = np.square

    def helper(x):
        return held(x)

    def f(x):
        return helper(x) + scale * x

    scale = 1.0
    g = fg.grad(f)
    for _ in range(3):
        assert g(X) == pytest.approx(2 * X + 1.0)
    scale = 2.0
    assert g(X) == pytest.approx(2 * X + 2.0)
    held = scalar  # asks isinstance
    assert g(X) == pytest.approx(SLOPE + 2.0)
    held = np.square
    assert g(X) == pytest.approx(2 * X + 2.0)
    helper.__code__ = (lambda x: scalar(x) if held else x).__code__
    assert g(X) == pytest.approx(SLOPE + 2.0)


class Gain:
    """An instance that is called."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return np.sin(x) * self.scale

    def of(self, x):
        """A method."""
        return np.cos(x) * self.scale


def test_methods_and_instances_that_change_are_seen(monkeypatch):
    gain = Gain(2.0)
    g, h = fg.grad(gain), fg.grad(gain.of)
    for _ in range(3):
        assert g(X) == pytest.approx(2 * np.cos(X))
        assert h(X) == pytest.approx(-2 * np.sin(X))
    gain.scale = 3.0
    assert (g(X), h(X)) == (pytest.approx(3 * np.cos(X)), pytest.approx(-3 * np.sin(X)))
    monkeypatch.setattr(Gain, "__call__", lambda self, x: scalar(x))
    assert g(X) == pytest.approx(SLOPE)


def test_levels_of_closures_keep_nothing_alive():
    def outer(kept):
        def f(x):
            return f(-x) if x < 0 else x * x

        def g(x):
            return f(x) if kept else x

        return g, fg.grad(f)(X), fg.grad(g)(X), fg.grad(g)(X)

    box = Box()
    seen = weakref.ref(box)
    assert outer(box)[1:] == (2 * X, 2 * X, 2 * X)
    del box
    gc.collect()
    gc.collect()
    assert seen() is None


def test_an_error_of_the_function_is_its_own():
    runs = []

    def f(x):
        runs.append(1)
        if x > 0:
            raise ValueError("of its own")
        return x

    with pytest.raises(ValueError, match="of its own"):
        fg.grad(f)(X)
    assert len(runs) == 1


def test_a_refusal_that_adoption_does_not_mend_is_the_first_one():
    def f(x):
        return x * ctypes.c_double(x).value

    with pytest.raises(TypeError, match="float") as caught:
        fg.grad(f)(X)
    assert "c_double" in str(caught.value)
    assert caught.value.__context__ is None  # the error of the other run is not told


def test_a_name_that_is_bound_anew_to_a_function_that_needs_adoption(monkeypatch):
    f = fg.grad(lambda x: chosen(x))
    assert f(X) == 1.0
    monkeypatch.setitem(globals(), "chosen", lambda x: x * x if isinstance(x, float) else x)
    assert f(X) == 2 * X
    monkeypatch.setitem(globals(), "chosen", scalar)
    assert f(X) == pytest.approx(SLOPE)


def chosen(x):
    return x


class Box:
    pass


def test_the_levels_of_functions_keep_nothing_alive():
    space = {"math": math}
    exec("def f(x): return x * math.sin(x) if x > 0 else f(-x)", space)
    space["box"] = box = Box()
    assert fg.grad(space["f"])(X) == pytest.approx(SLOPE)
    seen = weakref.ref(box)
    del space, box
    gc.collect()
    gc.collect()
    assert seen() is None


def test_an_array_is_a_constant_as_an_expression_is():
    def f(v):
        kept = fg.const(v) if isinstance(v, np.ndarray) else v
        v[0] = 1.0
        return (kept * v).sum()

    np.testing.assert_array_equal(fg.grad(f)(V), [1.0, 2 * V[1]])


def quotient(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0


def product(a, b):
    try:
        return a * b**-1.0
    except ZeroDivisionError:
        return 0.0


def bell(x):
    """At 0, 1 on numbers, and exp(-inf) on traced values, which is finite, too."""
    try:
        y = x**-1.0
    except ZeroDivisionError:
        y = 0.0
    return math.exp(-y * y)


def of_array(x):
    with np.errstate(divide="raise"):
        try:
            return np.log(x)
        except FloatingPointError:
            return 3.0 * x


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))])
@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: product(1.0, x) + x, "product: handles ZeroDivisionError"),
        (lambda x: x * bell(x), "bell: handles ZeroDivisionError"),
        (
            lambda x: of_array(np.stack([x, x + 1.0])).sum() + x,
            "of_array: handles FloatingPointError",
        ),
    ],
)
def test_a_handler_that_does_not_run_is_warned_of(transform, f, name):
    g = transform(f)
    for x in (2.0, 3.0):
        value = g(x)
        assert np.isfinite(value)
    with pytest.warns(
        UserWarning, match=f"{name}, which traced values do not raise.* write the cond"
    ):
        g(0.0)


QUOTIENTS = {
    "a quotient": lambda x: quotient(3.0, x) + x,
    "of zero": lambda x: quotient(x, 0.0) + x,
    "of two": lambda x: quotient(x, x) + x,
    "floored": lambda x: x + result(lambda: 7 // x),
    "the rest": lambda x: x + result(lambda: 7.5 % x),
    "of a float that was NumPy's": lambda x: quotient(1.0, float(np.float64(x) * 1.0)) + x,
    "of a product": lambda x: x + result(lambda: 1 / (x * (x - 2.0))),
}


class Guarded:
    def __init__(self, function):
        try:
            self.result = function()
        except (ValueError, ArithmeticError):
            self.result = -1.0


def result(function):
    return Guarded(function).result


@pytest.mark.parametrize("name", QUOTIENTS)
def test_a_handler_of_a_division_by_zero_runs(name):
    f = QUOTIENTS[name]
    jitted = fg.jit(f)
    for x in (3.0, 0.0, 2.0, 0.0, -0.0):
        expected = f(x)
        assert jitted(x) == fg.jvp(f, (x,), (1.0,))[0] == pytest.approx(expected)
        assert fg.jit(lambda x: fg.jvp(f, (x,), (1.0,))[0])(x) == pytest.approx(expected)
    assert fg.grad(lambda x: quotient(1.0, x) + 2 * x)(0.0) == 2.0
    assert fg.grad(fg.grad(lambda x: quotient(1.0, x) + x * x))(0.0) == 2.0


def test_a_division_of_numpys_numbers_by_zero_raises_no_error():
    def f(x):
        return quotient(1.0, x) + quotient(x, np.float64(0.0))

    with np.errstate(all="ignore"):
        for x in (np.float64(0.0), np.float64(2.0)):
            np.testing.assert_equal(fg.jit(f)(x), f(x))
    assert fg.jit(lambda x: quotient(1.0, x[0]))(np.zeros(1)) == np.inf


def test_bodies_of_loops_divide_under_a_handler_of_the_error():
    _, found = fg.scan(lambda c, x: (c, quotient(1.0, float(x))), 0.0, np.array([0.0, 2.0]))
    assert found.tolist() == [0.0, 0.5]


def test_a_handler_of_mapped_values_is_left_alone():
    found = fg.vmap(lambda x: quotient(1.0, x))(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found, [1.0, 0.5])


TIMES = np.linspace(0.0, 1.0, 3)


def swings(y, t, k, sine):
    slope = np.zeros(2)
    slope[0], slope[1] = y[1], -k * sine(y[0])
    return slope


TAKING_FUNCTIONS = {
    "odeint": lambda k, sine: fg.odeint(swings, np.array([1.0, 0.0]), TIMES, k, sine)[-1, 0],
    "solve_ivp": lambda k, sine: fg.solve_ivp(
        lambda t, y, k: swings(y, t, k, sine),
        (0.0, 1.0),
        [1.0, 0.0],
        args=(k,),
        rtol=1e-9,
        atol=1e-9,
    ).y[0, -1],
    "reduce": lambda k, sine: fg.reduce(lambda a, x: a + sine(k * x), TIMES, 0.0),
    "accumulate": lambda k, sine: fg.accumulate(lambda a, x: a + sine(k * x), TIMES, 0.0).sum(),
    "iterate": lambda k, sine: fg.iterate(lambda a: sine(k * a), 1.0, 4)[-1],
    "associative_scan": lambda k, _: fg.associative_scan(
        lambda a, b: np.array([k * a, k * b]).sum(0), TIMES[1:]
    )[-1],
}


@pytest.mark.parametrize("name", one_in(2, TAKING_FUNCTIONS))
def test_the_functions_that_solvers_and_folds_take_are_adopted(name):
    f = TAKING_FUNCTIONS[name]
    if name != "associative_scan":
        assert f(1.3, math.sin) == pytest.approx(f(1.3, np.sin), rel=1e-12)
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        slope = transform(fg.adopt(lambda k: f(k, math.sin), False))(1.3)
        h = 1e-5
        difference = (f(1.3 + h, np.sin) - f(1.3 - h, np.sin)) / (2 * h)
        assert slope == pytest.approx(difference, rel=1e-5)


@pytest.mark.parametrize(
    ("method", "steps"), [(None, 100), ("adam", 3), ("lm", 20), ("gauss-newton", 20)]
)
def test_minimize_adopts_its_function(method, steps):
    found, wanted = (
        fg.optim.minimize(f, 0.3, method, steps=steps)
        for f in (lambda x: math.cosh(x - 1.0), lambda x: np.cosh(x - 1.0))
    )
    assert found.x == wanted.x
    assert found.steps == wanted.steps


@pytest.mark.parametrize(
    "asks",
    [
        lambda x: callable(x),  # by its name
        lambda x: hasattr(x, "__call__"),  # noqa: B004  # code asks so
        *[
            lambda x, name=name: hasattr(x, name)
            for name in ("name", "args", "params", "value", "op")
        ],
    ],
)
@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_a_traced_number_answers_as_a_number_does(asks, transform):
    assert transform(lambda x: 2.0 * x if asks(x) else 3.0 * x)(1.5) == 3.0
    assert transform(lambda x: sum(2.0 * x if asks(x) else 3.0 * x))(np.ones(2)).tolist() == [
        3.0,
        3.0,
    ]


def test_a_traced_array_has_the_attributes_of_arrays_and_at():
    for name in ("T", "at", "shape", "tolist", "real", "__len__"):
        assert fg.grad(lambda x, name=name: sum(x) * (2.0 if hasattr(x, name) else 3.0))(
            np.ones(1)
        ) == [2.0]


def test_types_of_numpy_are_equal_to_their_dtypes():
    def scaled(x):
        array = np.zeros(2)
        array[:] = x
        flags = (
            array.dtype == np.float64,
            np.float64 == array.dtype,
            array.dtype in [np.float32, np.float64],
            array.dtype in (np.float64,),
            array.dtype not in [np.float32, np.complex128],
            np.float32 != array.dtype,
            np.float64 != "name",
            array.dtype.type is np.float64 or array.dtype.type == np.float64,
        )
        return np.sum(array) * sum([2**k * bool(flag) for k, flag in enumerate(flags)])

    assert scaled(np.ones(2)) == 2 * 255
    np.testing.assert_array_equal(fg.grad(scaled)(np.ones(2)), [255.0, 255.0])
