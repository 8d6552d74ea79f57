"""Adopted functions: their own code over other globals, closures, defaults and helpers."""

import contextlib
import copy
import functools
import inspect
import math
import pickle
import statistics
import threading
from math import exp, sin
from statistics import NormalDist
from types import FunctionType
from typing import Protocol, runtime_checkable

import numpy as np
import pytest

import funcgrad as fg

FACTOR = 2.0
calls = 0


def uses_module(x):
    """x sin(x)."""
    return x * math.sin(x)


def uses_names(x):
    return sin(x) * exp(-x) * math.pi


def helper(x, scale=1.0):
    return scale * math.sqrt(x)


def uses_helper(x):
    return helper(x, scale=FACTOR)


def uses_default(x, f=helper):
    return f(x)


def uses_keyword_default(x, *, f=helper):
    return f(x)


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


@logged
def decorated(x):
    return math.cos(x)


def counts(x):
    global calls
    calls += 1
    return calls * math.sin(x)


@functools.lru_cache
def cached(x):
    return math.sin(x)


def recursive(x, n):
    return x if n == 0 else math.sin(recursive(x, n - 1))


def imports(x):
    import math as m
    from math import tan

    class Constants:
        pi = math.pi

    return m.sin(x) * tan(x) * Constants.pi


def generates(x):
    return sum(math.sin(k * x) for k in (1, 2))


def uses_lambdas(x):
    return functools.reduce(lambda a, k: a + math.sin(k * x), [1, 2], 0.0)


def nested(x):
    def inner(y):
        return math.sin(y) + x

    return inner(x * x)


def closure():
    def factorial(x, n=3):
        return x if n == 0 else math.sin(factorial(x, n - 1))

    return factorial


FUNCTIONS = [
    uses_module,
    uses_names,
    uses_helper,
    uses_default,
    uses_keyword_default,
    decorated,
    imports,
    generates,
    uses_lambdas,
    nested,
    closure(),
    functools.partial(recursive, n=4),
    lambda x: cached(x) + cached(1.0),
    lambda x: math.hypot(x, 1.0, 2.0) + math.log(x, 3),
    lambda x: statistics.stdev([x, 1.0, 2.0]),
    lambda x: statistics.stdev([x, 1.0, 2.0], x * x) * statistics.pvariance([1.0, 4.0], x),
    lambda x: statistics.fmean([1.0, 4.0], weights=(w for w in (x, 1.0))),
    lambda x: statistics.linear_regression([1.0, x, 3.0], [x, 2.0, 4.0]).intercept,
    lambda x: statistics.linear_regression([x, 2.0], [3.0, x], proportional=True).slope,
    lambda x: statistics.correlation([x, 2.0, 3.0], (1.0, x * x, 5.0)),
    lambda x: statistics.covariance([x, 2.0, 3.0], [1.0, x * x, 5.0]),
    lambda x: math.erf(x) * math.erfc(x) + math.gamma(x) + math.lgamma(x),
    lambda x: statistics.NormalDist(x, 2.0 + x).pdf(0.3) + NormalDist(0.5, x).cdf(x),
    lambda x: (NormalDist(x, 1.0) + NormalDist(0.0, x)).stdev * NormalDist(1.0, x).zscore(3.0),
    lambda x: (
        NormalDist.from_samples([x, 2.0, x * x]).stdev + NormalDist.from_samples([x, 1.0]).mean
    ),
    lambda x: (x * NormalDist(1.0, x)).stdev + (np.float64(x) - NormalDist(x, 1.0) * 3.0).mean,
    lambda x: NormalDist(x, 1.0).overlap(NormalDist(0.0, 1.5)) + statistics.median([3.0, 1.0, x]),
    lambda x: np.emath.sqrt([x, 2.0 * x]).sum() + np.emath.log((x, -x))[1].real,
    lambda x: sum(place[0] * entry for place, entry in np.ndenumerate(np.array([1.0, x, x * x]))),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "partial"))
@pytest.mark.parametrize("transformed", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_the_derivative_of_an_adopted_function_is_that_of_the_original(f, transformed):
    x, h = 0.37, 1e-6
    difference = (f(x + h) - f(x - h)) / (2 * h)
    assert transformed(fg.adopt(f))(x) == pytest.approx(difference, rel=1e-8)
    assert fg.adopt(f)(x) == f(x)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))])
@pytest.mark.parametrize("function", [statistics.correlation, statistics.linear_regression])
def test_statistics_of_constant_data_raise_what_they_raise_of_numbers(function, transform):
    def f(x):
        found = function([x, x, x], [1.0, 2.0, 4.0])
        return found if function is statistics.correlation else found.slope

    with pytest.raises(statistics.StatisticsError, match="constant"):
        transform(f)(2.0)


def test_an_adopted_function_has_the_name_the_text_and_the_lines_of_the_original():
    f = fg.adopt(uses_module)
    assert (f.__name__, f.__qualname__, f.__module__) == ("uses_module", "uses_module", __name__)
    assert f.__doc__ == "x sin(x)."
    assert inspect.signature(f) == inspect.signature(uses_module)
    assert f.__code__ is uses_module.__code__
    assert inspect.unwrap(f) is uses_module


def test_an_adopted_function_is_pickled_as_the_original():
    f = pickle.loads(pickle.dumps(fg.adopt(uses_module)))
    assert f.__wrapped__ is uses_module
    assert fg.grad(f)(0.5) == math.sin(0.5) + 0.5 * math.cos(0.5)
    assert fg.grad(copy.deepcopy(f))(0.5) == fg.grad(f)(0.5)


def test_globals_are_read_when_they_are_used(monkeypatch):
    f = fg.grad(fg.adopt(uses_helper))
    assert f(4.0) == 0.5
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert f(4.0) == 1.0
    monkeypatch.setitem(globals(), "helper", lambda x, scale: scale * x)
    assert f(4.0) == 4.0


def test_a_cell_that_holds_another_function_by_now_is_seen():
    step = math.sin

    def f(x):
        return step(x)

    g = fg.grad(fg.adopt(f))
    assert g(0.5) == math.cos(0.5)
    step = math.exp
    assert g(0.5) == math.exp(0.5)


def test_a_builtin_that_a_global_hides_later_is_seen(monkeypatch):
    f = fg.adopt(lambda x: abs(x))
    assert f(-2.0) == 2.0
    monkeypatch.setitem(globals(), "abs", lambda x: 10 * x)
    assert f(-2.0) == -20.0
    monkeypatch.delitem(globals(), "abs")
    assert f(-2.0) == 2.0


def test_an_assignment_to_a_global_reaches_the_original(monkeypatch):
    monkeypatch.setitem(globals(), "calls", 0)
    f = fg.adopt(counts)
    assert fg.grad(f)(0.0) == 1.0
    assert fg.grad(f)(0.0) == 2.0
    assert calls == 2


def test_an_assignment_to_a_cell_reaches_the_original():
    total = 0.0

    def f(x):
        nonlocal total
        total += 1.0
        return math.sin(x)

    fg.grad(fg.adopt(f))(0.5)
    assert total == 1.0


def test_a_cached_helper_is_not_stale():
    f = fg.grad(fg.adopt(lambda x: cached(x) * x))
    assert [f(x) for x in (0.5, 1.5, 0.5)] == [
        pytest.approx(math.sin(x) + x * math.cos(x)) for x in (0.5, 1.5, 0.5)
    ]


def test_the_original_stays_as_it_is():
    before = dict(vars(uses_helper)), uses_helper.__globals__["math"], uses_helper.__defaults__
    fg.grad(fg.adopt(uses_helper))(4.0)
    assert (
        dict(vars(uses_helper)),
        uses_helper.__globals__["math"],
        uses_helper.__defaults__,
    ) == before
    assert math.sin.__module__ == "math"
    assert isinstance(uses_helper, FunctionType)


def test_checks_of_types_take_traced_values_for_numbers():
    def f(x):
        checks = [
            isinstance(x, float),
            isinstance(x, int | float),
            isinstance(x, (str, np.floating)),
            not isinstance(x, np.ndarray),
            type(x) is float,
            type(x) in (int, float),
            np.isscalar(x),
            hasattr(x, "__array__"),
            not hasattr(x, "__len__"),
            not callable(x),
            issubclass(type(x), float),
        ]
        return float(x) * all(checks)

    assert fg.grad(fg.adopt(f))(2.0) == 1.0


@pytest.mark.parametrize("name", ["__len__", "__iter__"])
def test_numbers_have_no_attributes_of_arrays(name):
    asked = {
        "__len__": lambda x: 5.0 * x if getattr(x, "__len__", None) else x * x,
        "__iter__": lambda x: (lambda y: 5.0 * y if getattr(y, "__iter__", 0) else y * y)(x),
    }
    assert fg.grad(asked[name])(2.0) == fg.jit(fg.grad(asked[name]))(2.0) == 4.0
    assert fg.grad(asked[name])(np.float64(2.0)) == 4.0
    assert fg.grad(lambda x: np.sum(asked[name](x)))(np.ones(2)).tolist() == [5.0, 5.0]
    assert fg.grad(lambda x: getattr(x, "missing", x) * getattr(x, "real", 1.0))(2.0) == 4.0


def test_checks_of_types_take_traced_arrays_for_arrays():
    def f(x):
        checks = [
            isinstance(x, np.ndarray),
            not isinstance(x, float | list),
            type(x) is np.ndarray,
            not np.isscalar(x),
            hasattr(x, "__len__"),
            np.issubdtype(x.dtype, float),
            np.zeros(2, dtype=float).dtype == float,
        ]
        return x.astype(float).sum() * all(checks)

    assert fg.grad(fg.adopt(f))(np.ones(2)).tolist() == [1.0, 1.0]


@runtime_checkable
class Duck(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    def __array_function__(self, *args, **kwargs): ...


@runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...


def test_checks_by_protocols_and_the_namespace_of_the_array_api():
    def f(x):
        checks = [isinstance(x, Duck), isinstance(x, Sized), not isinstance(x[0], Sized)]
        namespace = x.__array_namespace__() if hasattr(x, "__array_namespace__") else None
        return namespace.sum(namespace.sin(x)) * all(checks)

    np.testing.assert_allclose(fg.grad(fg.adopt(f))(np.ones(2)), np.cos(np.ones(2)))


class Wrapper:
    """An object that asks the array of itself for attributes, as ASE's cells do."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


def test_an_object_that_asks_its_array_for_attributes():
    wrapper = Wrapper([1.0, 2.0])
    assert fg.grad(fg.adopt(lambda x: np.asarray(wrapper) @ np.array([x, x * x])))(3.0) == 13.0


def test_checks_of_types_of_plain_values_are_pythons_own():
    def f(x):
        return [
            float("1.5"),
            type(float(x)).__name__,
            float.fromhex("0x1p3"),
            float.is_integer(2.0),
            {float: 1}[type(x / 2)],
            complex(1, 2),
            isinstance(True, int),
            isinstance(1, float),
            type("A", (), {}).__name__,
        ]

    assert fg.adopt(f)(3) == f(3)


def test_other_threads_see_the_originals():
    seen = []

    def f(x):
        thread = threading.Thread(target=lambda: seen.append(uses_names(1.0)))
        thread.start()
        thread.join()
        return uses_names(x)

    fg.grad(fg.adopt(f))(0.5)
    assert seen == [uses_names(1.0)]


def test_adoption_can_be_turned_off():
    f = fg.adopt(uses_names, False)
    assert f(0.5) == uses_names(0.5)
    assert f.__wrapped__ is uses_names


def test_adopt_refuses_what_does_not_run():
    with pytest.raises(
        TypeError, match="adopt: expected a function, a class, a module or the name"
    ):
        fg.adopt(3.0)


# -- calls from code that is not adopted ---------------------------------------------------------------
def with_entry(y):
    z = 2.0 * y
    z[0] = 1.0
    return z


def cleared(y):
    y[0] = 0.0
    return y


def test_arguments_of_an_adopted_function_are_arrays():
    function = fg.adopt(with_entry)
    x = fg.grad(lambda x: (function(x * x) ** 2).sum())(np.array([3.0, 2.0]))
    assert np.array_equal(x, [0.0, 4 * 2.0**3 * 4])


def test_a_store_that_the_caller_would_not_see_is_refused():
    function = fg.adopt(cleared)

    def caller(x):
        y = x * x
        function(y)
        return y.sum()

    with pytest.raises(ValueError, match=r"read-only.*write to a\.copy\(\)"):
        fg.grad(fg.adopt(caller, False))(np.array([3.0, 2.0]))
    assert fg.grad(caller)(np.array([3.0, 2.0])).tolist() == [0.0, 4.0]


def test_numbers_stored_into_an_argument_reach_the_caller():
    def stored(y, v):
        y[0] = v

    function = fg.adopt(lambda y, x: cleared(y).dot([x, x * x]))
    buffer = np.array([3.0, 2.0])
    assert fg.grad(lambda x: function(buffer, x))(3.0) == 12.0
    assert np.array_equal(buffer, [0.0, 2.0])
    with pytest.raises(TypeError, match=r"from outside of it, .* write b = a"):
        fg.grad(lambda x: fg.adopt(stored)(buffer, x))(3.0)
    assert np.array_equal(buffer, [0.0, 2.0])


GRID = np.zeros(3)


class Simulation:
    def __init__(self):
        self.grid = np.zeros(3)

    def stores(self, x):
        self.grid[1] = x
        return self.grid.sum()

    def adds(self, x):
        self.grid += x
        return self.grid.sum()


def stores_into_a_global(x):
    GRID[0] = x
    return GRID.sum()


def adds_to_a_global(x):
    np.add(GRID, x, out=GRID)
    return GRID.sum()


@pytest.mark.parametrize(
    "f", [stores_into_a_global, adds_to_a_global, Simulation().stores, Simulation().adds]
)
def test_a_store_of_a_traced_value_into_an_outer_array_says_to_copy_it(f):
    for transform in (fg.grad, lambda f: fg.jvp(f, (2.0,), (1.0,)), lambda f: fg.jit(fg.grad(f))):
        with pytest.raises(TypeError, match=r"from outside of it, .* write b = a\.copy\(\)"):
            transform(f)(2.0)
    assert not GRID.any()


def test_match_takes_a_traced_number_for_a_float():
    def f(x):
        match x:
            case int() | float():
                return x * 2
            case _:
                return x * 9

    def g(x):
        match [x, 2 * x]:
            case [a, b] if a < b:
                return a * b
            case [a, _]:
                return a

    assert [fg.grad(f)(1.5), fg.jit(fg.grad(f))(1.5), fg.jit(f)(1.5)] == [2.0, 2.0, 3.0]
    assert [fg.grad(g)(1.5), fg.grad(g)(-1.5)] == [6.0, 1.0]


def test_a_compiled_function_of_numbas_runs_as_python():
    numba = pytest.importorskip("numba")

    @numba.njit
    def total(a, x):
        found = np.zeros(a.size)
        for i in range(a.size):
            found[i] = a[i] * math.sin(x) if a[i] > 1 else x
        return found.sum()

    class Model:
        def __init__(self):
            self.a = np.array([0.5, 2.0, 3.0])

        def value(self, x):
            return total(self.a, x) ** 2

    f = Model().value
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert fg.grad(lambda x: Model().value(x))(0.7) == pytest.approx(slope, rel=1e-8)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope, rel=1e-8)
    assert fg.grad(lambda x: total(f.__self__.a, x))(0.7) == pytest.approx(5 * math.cos(0.7) + 1)


def test_a_generalized_function_of_numbas_runs_as_python():
    numba = pytest.importorskip("numba")

    @numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),()->()")
    def weighted(values, power, result):
        total = 0.0
        for k, value in enumerate(values):
            if value > 0:
                total += (k + 1) * value ** power[0]
        result[0] = total

    @numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
    def running(values, scale, result):
        result[0] = values[0] * scale
        for k in range(1, len(values)):
            result[k] = result[k - 1] * 0.5 + values[k] * scale

    kinds = {
        "table": numba.float64[:],
        "type": numba.float64,
    }  # what else numba makes stays as it is

    def f(x):
        assert kinds["type"] is not None
        out = np.zeros((2, 3))
        running(x, np.array([1.0, 2.0]), out)
        return np.sum(weighted(x, 2.5) * running(x, 0.3)[:, 1]) + out[1, 2]

    x = np.array([[0.3, 0.7, -0.2], [1.1, 0.4, 0.9]])
    differences = np.zeros(x.shape)
    for place in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[place] = 1e-6
        differences[place] = (f(x + step) - f(x - step)) / 2e-6
    np.testing.assert_allclose(fg.grad(f)(x), differences, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), differences, rtol=1e-7, atol=1e-9)
    assert f(x) == pytest.approx(fg.adopt(f)(x))


def checked(x):
    y = np.array([x, x * x])
    np.testing.assert_array_almost_equal(y, [x, x**2])
    np.testing.assert_allclose(y[0], x, rtol=1e-3, err_msg="the first")
    np.testing.assert_equal(y, y)
    np.testing.assert_array_equal([1, 2], [1, 2])
    np.testing.assert_array_less(y, 100.0)
    np.testing.assert_almost_equal(y[1], x * x, decimal=3)
    return y.sum()


def test_assertions_of_numpys_about_traced_values():
    assert fg.grad(checked)(0.5) == 2.0
    assert fg.jit(fg.grad(checked))(0.5) == 2.0
    jitted = fg.jit(checked)
    assert jitted(0.5) == 0.75
    with pytest.raises(AssertionError, match="assert_array_less does not hold"):
        jitted(20.0)
    with pytest.raises(AssertionError, match="assert_allclose does not hold of"):
        fg.grad(
            lambda x: np.testing.assert_allclose(np.array([x]), 1.0, err_msg="the second") or x
        )(0.5)


def test_what_adopted_code_asserts_of_numbers_is_numpys():
    def f(x):
        known, found = np.zeros(3), np.linspace(0.0, 0.0, 3)
        np.testing.assert_equal(known, found)
        np.testing.assert_equal([known, (1, 2)], [found, (1, 2)])
        np.testing.assert_equal({"a": known}, {"a": found})
        np.testing.assert_array_less(known, found + 1)
        return x**2

    assert fg.grad(fg.adopt(f))(3.0) == 6.0


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (lambda: fg.grad(np.sum)([1.0, 2.0]), [1.0, 1.0]),
        (lambda: fg.grad(np.linalg.norm)([3.0, 4.0]), [0.6, 0.8]),
        (lambda: fg.elementwise_grad(np.exp)([0.0, 0.0]), [1.0, 1.0]),
        (lambda: fg.grad(np.dot, argnums=(0, 1))([1.0], [3.0]), ([3.0], [1.0])),
        (lambda: fg.hessian(np.prod)([1.0, 2.0]), [[0.0, 1.0], [1.0, 0.0]]),
        (lambda: fg.jit(np.sum)([1.0, 2.0]), 3.0),
    ],
)
def test_functions_of_numpy_itself_take_lists(found, want):
    assert found() == want


@pytest.mark.parametrize("f", [lambda x: x.sum(), lambda x: x @ x, lambda x: np.sum(x**2)])
def test_a_list_in_the_place_of_an_array_is_told(f):
    with pytest.raises((AttributeError, TypeError)) as caught:
        fg.grad(f)([1.0, 2.0])
    assert any("write np.array([...]) for an array" in note for note in caught.value.__notes__)


def test_quantiles_of_a_normal_distribution_are_differentiated():
    import statistics

    def f(x):
        made = (
            statistics.NormalDist(x, 1.5).inv_cdf(0.3)
            + statistics.NormalDist(1.0, x).quantiles(4)[0]
        )
        return made * statistics.NormalDist().inv_cdf(x)

    step = 1e-5
    slope = (f(0.7 + step) - f(0.7 - step)) / (2 * step)
    value, gradient = fg.value_and_grad(f)(0.7)
    np.testing.assert_allclose(value, f(0.7), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(0.7), slope, rtol=1e-7)


def test_fractions_are_operands():
    from fractions import Fraction

    def f(x):
        return (
            Fraction(1, 3) * x
            + x ** Fraction(1, 2)
            + x / Fraction(2, 3)
            + np.sin(x) * Fraction(1, 2)
        )

    step = 1e-5
    slope = (f(0.7 + step) - f(0.7 - step)) / (2 * step)
    np.testing.assert_allclose(fg.grad(f)(0.7), slope, rtol=1e-8)
    assert fg.grad(lambda x: np.sum(x * Fraction(1, 4)))(np.ones(2)).tolist() == [0.25, 0.25]
    assert repr(fg.var("x") * Fraction(1, 2)) == "x*0.5"


def test_a_compiled_function_in_an_attribute_runs_as_python():
    numba = pytest.importorskip("numba")

    @numba.njit
    def product(a, b):
        return a[0] * b[1]

    class Algebra:
        pass

    algebra = Algebra()
    algebra.product = product
    for transform in (fg.grad, lambda f: fg.jit(fg.grad(f))):
        assert (
            transform(lambda x: algebra.product(np.array([x, 1.0]), np.array([2.0, x])))(3.0) == 6
        )


@contextlib.contextmanager
def managed():
    yield


class Managed(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def array_or_number(x):
    a = np.zeros(2)
    a[1] = math.sin(x) if isinstance(x, float) else 5.0 * x
    return np.sum(a * a)


class Model:
    @managed()
    def method(self, x):
        return array_or_number(x)


DECORATED = {
    "errstate": np.errstate(divide="ignore")(array_or_number),
    "contextmanager": managed()(array_or_number),
    "ContextDecorator": Managed()(array_or_number),
    "two": np.errstate(divide="ignore")(managed()(array_or_number)),
    "method": Model().method,
    "called": lambda x: Model().method(x) + 0.0 * managed()(array_or_number)(x),
    "partial": functools.partial(managed()(array_or_number)),
}


@pytest.mark.parametrize("name", DECORATED)
def test_functions_under_decorators_of_packages_are_adopted(name):
    """They ran as they are, so that a store was refused, and `isinstance` took the other branch."""
    f, wanted = DECORATED[name], np.sin(2 * 0.7)
    for transform in (
        fg.grad,
        fg.jacfwd,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: fg.grad(fg.jit(f)),
    ):
        assert transform(f)(0.7) == pytest.approx(wanted, rel=1e-14)
    assert fg.vmap(fg.grad(f))(np.array([0.7]))[0] == pytest.approx(wanted, rel=1e-14)
    assert fg.adopt(f)(0.7) == f(0.7)


@pytest.mark.parametrize("f", [statistics.stdev, statistics.pstdev])
def test_deviations_of_equal_numbers_have_the_slope_of_a_norm(f):
    for gradient in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
        assert gradient([1.0, 1.0, 1.0]) == [0.0, 0.0, 0.0]
        assert np.isnan(gradient([1.0, np.nan, 2.0])).all()
