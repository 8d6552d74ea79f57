"""Python's ``if`` on values that stand for many: under vmap, in bodies of loops, in SciPy's solvers.

What else `vmap` answers is in `test_examples`.
"""

import ctypes
import functools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import funcgrad as fg
from funcgrad.source import is_raising
from tests.default_slice import one_in

XS = np.array([-1.2, 0.3, 0.7, 2.5])


def several(x):
    y = 0.0
    if x > 0:
        y = y + x
    if x > 1:
        y = y * 2
    if x < 0.5:
        return y - 3 * x
    return math.exp(y)


def filled(x):
    a = np.zeros(3)
    for i in range(3):
        if x > i - 1:
            a[i] = x * i
        else:
            a[i] = -1
    return a.sum() * x


def recursive(x, depth=0):
    return x if depth > 3 or x < 0.2 else recursive(x / 2, depth + 1) * x


def infinite_elsewhere(x):
    return x * math.log(x) if x > 0 else x**2


class Model:
    def __init__(self, scale):
        self.scale = scale

    def value(self, x):
        return self.positive(x) if x > 0 else self.scale * x

    def positive(self, x):
        return math.sin(x) if self.scale * x < 1 else math.cos(x)


FUNCTIONS = {
    "a choice": lambda x: x * x if x > 0 else -x,
    "elif": lambda x: x * x if x > 1 else (math.sin(x) if x > 0 else -x),
    "several": several,
    "counts": lambda x: x * (int(x > 0) + int(x > 1)) + [1.0, x**2][x > 0.5],
    "largest and smallest": lambda x: max(x, 0.2) * min(x * x, 1.0) + abs(x),
    "stores": filled,
    "and, or": lambda x: x**3 if (x > 0 and x < 1) or x == -1.2 else x,
    "recursion": recursive,
    "methods": lambda x: Model(2.0).value(x),
    "a tuple": lambda x: (lambda t: t[0] * t[1])((x, 2.0) if x > 0 else (3.0, x)),
    "a dict": lambda x: {True: x, False: x * x}[bool(x > 0)],
    "sorted": lambda x: sum([k * v for k, v in enumerate(sorted([x, 0.5, x * x]))]),
    "any": lambda x: x**2 if any([x > k for k in (0, 1, 2)]) else x,
    "of an array": lambda x: x**2 if np.any(np.array([x, x - 1]) > 0) else x,
    "division": lambda x: 1 / x if x != 0.3 else 2 * x,
    "infinite elsewhere": infinite_elsewhere,
    "text": lambda x: {"above": x, "below": -2 * x}["above" if x > 0 else "below"],
    "whole numbers": lambda x: 2 * x if x > 0 else x,
}


@pytest.mark.parametrize("name", one_in(2, FUNCTIONS))
def test_a_function_with_branches_is_mapped(name):
    f = FUNCTIONS[name]
    values = [f(float(x)) for x in XS]
    slopes = [fg.grad(f)(float(x)) for x in XS]
    second = [fg.grad(fg.grad(f))(float(x)) for x in XS]
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(fg.vmap(f)(XS), values, **close)
    np.testing.assert_allclose(fg.jit(fg.vmap(f))(XS), values, **close)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(XS), slopes, **close)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(XS), slopes, **close)
    np.testing.assert_allclose(fg.jvp(fg.vmap(f), (XS,), (np.ones(4),))[1], slopes, **close)
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(f)))(XS), second, **close)
    np.testing.assert_allclose(fg.scan(lambda c, x: (c, f(x)), 0.0, XS)[1], values, **close)
    grid = fg.vmap(fg.vmap(f))(np.stack([XS, XS[::-1]]))
    np.testing.assert_allclose(grid, [values, values[::-1]], **close)


def test_branches_in_bodies_of_loops():
    def collatz(n):
        return fg.while_loop(
            lambda c: c[0] != 1,
            lambda c: (c[0] // 2 if c[0] % 2 == 0 else 3 * c[0] + 1, c[1] + 1),
            (n, 0),
        )[1]

    assert [int(collatz(n)) for n in (1, 6, 7, 27)] == [0, 8, 16, 111]

    def clipped(x):
        return fg.fori_loop(0, 5, lambda i, c: c * x if c * x < 2 else c - 0.5, x)

    def plain(x):
        c = x
        for _ in range(5):
            c = c * x if c * x < 2 else c - 0.5
        return c

    for x in (1.1, 1.3, 1.7):
        assert clipped(x) == pytest.approx(plain(x), rel=1e-14)
        slope = (plain(x + 1e-6) - plain(x - 1e-6)) / 2e-6
        assert fg.grad(clipped)(x) == pytest.approx(slope, rel=1e-7)
    choice = lambda x: fg.cond(x > 0, lambda y: y if y > 1 else 2 * y, np.sin, x)  # noqa: E731
    np.testing.assert_allclose(fg.vmap(choice)(XS), [choice(x) for x in XS], rtol=1e-14)


def piece(t, y):
    if t < 0:
        return -1.0 - y
    return math.sin(t) * t - y


SOLVED = {
    "brentq": lambda y: scipy.optimize.brentq(lambda t: piece(t, y), 0.0, 1.5),
    "newton": lambda y: scipy.optimize.newton(lambda t: piece(t, y), 1.0),
    "fsolve": lambda y: scipy.optimize.fsolve(lambda t: piece(t[0], y), 1.0)[0],
    "root": lambda y: scipy.optimize.root(lambda t: [piece(t[0], y)], [1.0]).x[0],
    "minimize": lambda y: scipy.optimize.minimize(
        lambda t: piece(t[0], y) ** 2 + t[1] ** 2, [1.0, 0.3]
    ).x[0],
    "least_squares": lambda y: scipy.optimize.least_squares(lambda t: [piece(t[0], y)], [1.0]).x[0],
    "quad": lambda y: scipy.integrate.quad(lambda t: piece(t - 0.5, y), 0.0, 1.5, points=[0.5])[0],
    "odeint": lambda y: scipy.integrate.odeint(
        lambda s, t: [-y * s[0] if s[0] > 0.1 else -0.1 * y], [1.0], [0, 1.0]
    )[-1, 0],
    "solve_ivp": lambda y: scipy.integrate.solve_ivp(
        lambda t, s: [-y * s[0] if s[0] > 0.7 else -0.7 * y], (0, 1.5), [1.0], rtol=1e-9, atol=1e-11
    ).y[0, -1],
}


@pytest.mark.parametrize("name", one_in(3, SOLVED))
def test_functions_with_branches_are_solved_for(name):
    f = SOLVED[name]
    slope = (f(0.5 + 1e-4) - f(0.5 - 1e-4)) / 2e-4
    for how in (fg.grad(f), fg.jit(fg.grad(f)), lambda y: fg.jvp(f, (y,), (1.0,))[1]):
        assert how(0.5) == pytest.approx(slope, rel=2e-4)


def test_an_index_out_of_bounds_on_a_path_is_nan():
    def f(x, v):
        return v[3] * x if x > 1 else 2 * x

    x, v = np.array([0.5, 2.0]), np.ones((2, 3))
    np.testing.assert_array_equal(fg.vmap(f)(x, v), [1.0, np.nan])
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(x, v), [2.0, np.nan])


def test_a_path_on_which_an_operand_is_none_is_nan():
    def found(x):
        return 3 * x if x > 0 else None

    functions = [
        lambda x: math.atan2(found(x), 1.0),
        lambda x: found(x) * x,
        lambda x: 1.0 + abs(found(x)),
        lambda x: np.sin(found(x)),
    ]
    for f in functions:
        expected = np.array([np.nan, *map(f, XS[1:])])
        slopes = np.array([np.nan, *map(fg.grad(f), XS[1:])])
        np.testing.assert_allclose(fg.jit(fg.vmap(f))(XS), expected)
        np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(XS), slopes)

        def total(scale, f=f):
            return fg.scan(lambda c, x: (c + f(scale * x), None), 0.0, XS[1:])[0]

        assert total(1.0) == pytest.approx(expected[1:].sum())
        assert fg.grad(total)(1.0) == pytest.approx((XS * slopes)[1:].sum())


def test_a_path_that_raises_an_error_is_nan():
    def checked(x):
        if x < 0:
            raise ValueError("expected a number from 0")
        assert x < 10, "too large"
        return math.sqrt(x)

    xs = np.array([-1.0, 4.0, 9.0, 25.0])
    np.testing.assert_array_equal(fg.vmap(checked)(xs), [np.nan, 2.0, 3.0, np.nan])
    np.testing.assert_allclose(fg.vmap(fg.grad(checked))(xs), [np.nan, 1 / 4, 1 / 6, np.nan])

    def always(x):
        if x < 0:
            raise ValueError("below")
        raise ValueError("above")

    with pytest.raises(ValueError, match="below"):
        fg.vmap(always)(xs)


def test_what_has_no_last_path_or_other_results_is_refused():
    def halved(x):
        while x > 0.1:
            x = x / 2
        return x

    def of_shapes(x):
        return np.array([x, x]) if x > 0 else x

    def of_structures(x):
        return (x, x) if x > 0 else x

    def of_nothing(x):
        return x if x > 0 else None

    def of_texts(x):
        return (x, "above") if x > 0 else (x, "below")

    def of_counts(x):
        if x < 0:
            raise ValueError
        return 1, x

    for f in (of_shapes, of_structures, of_nothing, of_texts, of_counts):
        for mapped in (fg.vmap(f), lambda xs, f=f: fg.scan(lambda c, x: (c, f(x)), 0.0, xs)):
            with pytest.raises(TypeError, match="whichever way it branches"):
                mapped(XS)
    with pytest.raises(TypeError, match=r"fg\.while_loop"):
        fg.scan(lambda c, x: (c, halved(x)), 0.0, XS)

    def many(x):
        return sum([x * k if x > k else x for k in range(8)])

    with pytest.raises(TypeError, match=r"that branches: expected at most 64 paths.*fg.while_loop"):
        fg.scan(lambda c, x: (c, many(x)), 0.0, XS)


def test_a_long_loop_that_ends_by_the_values_is_known_from_a_few_paths():
    iterations = []

    def root(x):
        y = x
        for i in range(100):
            iterations.append(i)
            if abs(y * y - x) < 1e-9:
                break
            y = (y + x / y) / 2
        return y

    xs = np.array([0.5, 2.0])
    np.testing.assert_allclose(fg.jit(fg.vmap(root))(xs), np.sqrt(xs))
    assert len(iterations) < 300
    with pytest.raises(TypeError, match="expected at most 64 paths"):
        fg.scan(lambda c, x: (c, root(x)), 0.0, xs)


def test_a_long_formula_that_is_printed_is_told_by_its_type(capsys):
    def halved(x):
        for i in range(200):
            if i % 50 == 0:
                print(f"{x:.2f}")
            x = x / 2 if x > 1e-6 * i and i < 3 else x * 0.75 + 0.1
        return x

    xs = np.array([0.5, 2.0])
    np.testing.assert_allclose(fg.jit(fg.vmap(halved))(xs), [halved(x) for x in xs])
    assert "‹float64›" in capsys.readouterr().out


def test_too_many_paths_are_known_from_a_few_of_them():
    runs = []

    def clipped(x):
        runs.append(0)
        for k in range(12):
            x = x * 0.5 if x > k and x < 100.0 else x + 1.0
        return x

    xs = np.array([0.5, 2.0, 30.0])
    one_by_one = [clipped(x) for x in xs]
    runs.clear()
    np.testing.assert_allclose(fg.jit(fg.vmap(clipped))(xs), one_by_one)
    assert len(runs) < 20  # those of the examples among them


def test_results_that_cannot_be_joined_are_known_from_two_paths():
    runs = []

    def f(x):
        runs.append(0)
        steps = [x * k for k in range(8) if x > k] if x > 0.5 else []
        return [*steps, x]

    with pytest.raises(TypeError, match="results of one structure"):
        fg.scan(lambda c, x: (c, f(x)), 0.0, XS)
    assert len(runs) < 8


def test_the_error_names_the_question_and_not_the_branch_before_it():
    def counted(x):
        if x < 0:
            return x
        return sum([x**k for k in range(int(x))])

    with pytest.raises(TypeError, match=r"int\(\): expected a number") as caught:
        fg.scan(lambda c, x: (c, counted(x)), 0.0, XS)
    assert "range(int(x))" in str(caught.value)


def test_a_function_whose_runs_differ_is_refused():
    met = []

    def other_each_time(x):
        met.append(x)
        return x if x > len(met) else 2 * x

    with pytest.raises(TypeError, match="expected the same conditions in each run"):
        fg.scan(lambda c, x: (c, other_each_time(x)), 0.0, XS)


def test_equal_conditions_are_one_branch():
    runs = []

    def f(x):
        runs.append(1)
        y = 0.0
        for _ in range(20):
            y = y + (x if x > 0 else 1.0)
        return y

    np.testing.assert_allclose(fg.vmap(f)(XS), [20 * x if x > 0 else 20.0 for x in XS], rtol=1e-13)
    assert len(runs) == 2


def test_conditions_on_arrays_that_the_function_makes():
    def f(x):
        offset = np.array([0.0, 0.0, -3.0])
        height = (offset - x) @ offset
        if height < 9:
            return -x[1]
        return np.sqrt(height) * x[0]

    xs = np.array([[0.3, 0.7, 1.1], [0.3, 0.7, -0.5], [9.0, 9.0, 1.0]])
    np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs], rtol=1e-13)
    np.testing.assert_allclose(
        fg.vmap(fg.grad(f))(xs), [fg.grad(f)(x) for x in xs], rtol=1e-13, atol=1e-15
    )


def test_errors_and_messages_that_name_a_value():
    told = []

    def checked(x):
        if x < 0:
            raise ValueError(f"expected a number from 0, but got {x:.3f}")
        if x > 100:
            raise KeyError("%f is too large" % x)  # noqa: UP031
        if x > 10:
            told.append(f"{x} is large")
            print("large", x)
        return math.sqrt(x)

    xs = np.array([-1.0, 4.0, 25.0, 400.0])
    np.testing.assert_array_equal(fg.vmap(checked)(xs), [np.nan, 2.0, 5.0, np.nan])
    assert told
    assert set(told) == {"x is large"}

    def of_texts(x):
        return len(f"{x}") * x if x > 0 else x

    with pytest.raises(TypeError, match="stands for any value"):
        fg.scan(lambda c, x: (c, of_texts(x)), 0.0, xs)

    def of_none(x):
        found = None if x < 0 else (x, 2 * x)
        return found[1]

    np.testing.assert_array_equal(fg.vmap(of_none)(xs), [np.nan, 8.0, 50.0, 800.0])


def _warping(x):
    y = np.array([0.2, 0.9, 1.0, 0.4])
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            before = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]) ** 2 + before
    return cost[-1, -1]


def _clamped(x):
    y = x[0]
    for k in range(20):
        y = math.sin(min(max(y + x[k % 3] - 0.1 * k, 0.0), 2.0))
    return y if y > 0.3 else -y * x[1]


_WITH = {max: 1.0, min: 2.0}


def _folded(x, fold=max):
    scale = 3.0 if fold is max else 5.0
    return math.exp(fold(x)) * scale * _WITH[fold] * _WITH[min] + functools.reduce(min, x)


@pytest.mark.parametrize("f", one_in(2, [_warping, _clamped, _folded, lambda x: _folded(x, min)]))
def test_the_least_and_the_greatest_of_many_numbers(f):
    xs = np.random.default_rng(0).normal(size=(12, 3))
    gradients = np.stack([fg.grad(f)(x) for x in xs])
    np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs], rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs), gradients, rtol=1e-13)
    jitted = fg.jit(fg.grad(f))
    np.testing.assert_allclose([jitted(x) for x in xs], gradients, rtol=1e-12)


def test_the_least_of_many_numbers_is_python_s_own():
    def f(x):
        return math.fabs(min(x, 1.0)) + max(2.0, x, 1.0)  # NaN is kept where it is first

    xs = np.array([0.5, np.nan, 3.0])
    np.testing.assert_array_equal(fg.vmap(f)(xs), [f(x) for x in xs])


def test_clamps_are_one_program_under_jit():
    traces = []

    def f(x):
        traces.append(1)  # stores the same at each call
        y = 0.0
        for k in range(6):
            y = max(math.fsum([y, x[k % 3]]), 0.0)
        return y

    jitted = fg.jit(f)
    xs = np.random.default_rng(0).normal(size=(12, 3))
    values = [jitted(x) for x in xs]
    assert len(traces) < 4
    assert values == [f(x) for x in xs]


@pytest.mark.filterwarnings("ignore:Precision loss")  # of equal numbers, since SciPy 1.18
def test_checks_of_library_code_are_paths():
    x = np.array([[0.31, 0.72, 0.55, 0.87], [0.3, 0.9, 0.1, 0.5], [0.3, 0.3, 0.3, 0.3]])

    def slope(x):
        return scipy.stats.linregress(x, np.arange(4.0)).slope

    wanted = [slope(x[0]), slope(x[1]), np.nan]  # an error of equal abscissae before SciPy 1.18
    np.testing.assert_allclose(fg.vmap(slope)(x), wanted, rtol=1e-12)
    gradients = fg.vmap(fg.grad(slope))(x[:2])
    np.testing.assert_allclose(gradients, [fg.grad(slope)(row) for row in x[:2]], rtol=1e-10)


DISTRIBUTIONS = {
    "anglit": ((), ("logpdf", "cdf")),
    "argus": ((1.0,), ("pdf", "cdf")),
    "crystalball": ((2.0, 3.0), ("logpdf", "cdf")),
    "foldcauchy": ((4.7,), ("logpdf", "sf", "logsf")),
    "truncpareto": ((1.8, 5.3), ("pdf", "cdf")),
    "trapezoid": ((0.2, 0.8), ("pdf", "cdf")),
    "truncexpon": ((4.69,), ("logpdf", "cdf")),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", one_in(3, DISTRIBUTIONS))
def test_distributions_that_scipy_computes_are_mapped(name):
    shapes, methods = DISTRIBUTIONS[name]
    own = getattr(scipy.stats, name)
    x = own.median(*shapes)
    rows = np.array([[x, 1.01 * x + 0.01, 0.97 * x - 0.02], [x, 1e6, -1e6], [np.nan, x, x]])
    for method in methods:
        f = lambda row: getattr(own, method)(row, *shapes)  # noqa: B023, E731
        wanted = [f(row) for row in rows]
        np.testing.assert_allclose(fg.vmap(f)(rows), wanted, rtol=1e-11)
        slope = fg.grad(lambda row: np.sum(np.nan_to_num(f(row), neginf=0.0)))  # noqa: B023
        each = [slope(row) for row in rows]
        np.testing.assert_allclose(fg.vmap(slope)(rows), each, rtol=1e-9, atol=1e-300)


def test_a_path_on_which_compiled_code_meets_a_traced_value_is_refused():
    rows = np.array([[0.1, 0.2], [0.3, 0.4]])
    with pytest.raises(
        TypeError, match="von_mises_cdf: expected plain numbers, since it is compiled code"
    ):
        fg.vmap(lambda row: scipy.stats._stats.von_mises_cdf(3.99, row))(rows)


def test_a_path_on_which_compiled_code_asks_for_memory_is_refused():
    def f(x):
        if x > 2.0:
            return x * x
        z = np.zeros(3)
        z[:] = x
        return 1.0 * len(memoryview(z))

    for mapped in (fg.vmap(f), fg.vmap(fg.grad(f)), fg.jit(fg.vmap(fg.grad(f)))):
        with pytest.raises(TypeError, match="bytes-like object is required") as caught:
            mapped(np.array([1.5, 2.5]))
        assert any("a buffer holds plain numbers" in note for note in caught.value.__notes__)


def test_frames_that_compiled_code_makes_up_raise_nothing():
    made = ctypes.pythonapi.PyCode_NewEmpty
    made.restype, made.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    code = made(b"<stringsource>", b"match_signatures", 7)

    def raising():
        raise ValueError

    assert not any(is_raising(code, offset) for offset in range(0, len(code.co_code), 2))
    assert is_raising(raising.__code__, 0)


def test_paths_that_raise_errors_of_numbers_are_nan():
    def logarithm(x):
        try:
            return math.log(x)
        except KeyError:
            return 0.0
        except ValueError:
            if x < -2.0:
                raise
            return x

    def on_some(x):
        if x > 0.0:
            return x * x
        return x * np.NAN_AS_IT_WAS_CALLED

    x = np.array([-3.0, -1.5, 2.0])
    for f, wanted in ((logarithm, [np.nan, 1.0, 0.5]), (on_some, [np.nan, np.nan, 4.0])):
        np.testing.assert_allclose(fg.vmap(fg.grad(f))(x), wanted)
        np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(f)))(x), wanted)


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize(
    "f",
    [scipy.stats.tmean, scipy.stats.tvar, scipy.stats.iqr, scipy.stats.circvar],
)
def test_statistics_that_ask_for_nan_are_mapped(f):
    rows = np.array([[0.31, 0.72, 0.55, 0.87], [1.3, 0.9, 0.1, 0.5]])
    np.testing.assert_allclose(fg.vmap(f)(rows), [f(row) for row in rows], rtol=1e-12)
    slopes = fg.vmap(fg.grad(f))(rows)
    np.testing.assert_allclose(slopes, [fg.grad(f)(row) for row in rows], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("kappa4", (0.1, 0.2)), ("trapezoid", (0.2, 0.8)), ("gengamma", (4.4, 3.1))],
)
def test_distributions_of_one_number_are_mapped(name, shapes):
    own, x = getattr(scipy.stats, name), np.array([0.3, 0.5])
    values = fg.vmap(lambda t: own.cdf(t, *shapes))(x)
    np.testing.assert_allclose(values, own.cdf(x, *shapes), rtol=1e-12)
    slopes = fg.vmap(fg.grad(lambda t: own.cdf(t, *shapes)))(x)
    np.testing.assert_allclose(slopes, own.pdf(x, *shapes), rtol=1e-9)


@pytest.mark.parametrize("length", [3, 5, 7])
def test_a_branch_in_a_scan_that_reads_an_array_from_outside(length):
    # The array was taken for one value an iteration where it is as long as the scan, and else was an error.
    factors = np.linspace(0.5, 1.5, length)
    x = np.array([-0.57, 1.09, -1.9, 0.4, 0.7])

    def step(c, t, x):
        return x * c * t if np.sum(c) > 0.1 else c * x + t

    def f(x):
        return np.sum(fg.scan(lambda c, t: (step(c, t, x), None), x, factors)[0])

    def written_out(x):
        c = x
        for t in factors:
            c = step(c, t, x)
        return np.sum(c)

    expected = fg.grad(written_out)(x)
    np.testing.assert_allclose(fg.grad(f)(x), expected)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), expected)
    np.testing.assert_allclose(fg.hessian(f)(x), fg.hessian(written_out)(x))


def test_examples_that_are_not_finite_end_their_path():
    def f(x):
        return np.sum(np.asarray_chkfinite(x) ** 2)

    batch = np.array([[1.0, 2.0], [np.inf, 1.0], [3.0, 4.0]])
    for transform in (fg.vmap, lambda f: fg.jit(fg.vmap(f))):
        np.testing.assert_array_equal(transform(f)(batch), [5.0, np.nan, 25.0])
        slope = [[2.0, 4.0], [np.nan, np.nan], [6.0, 8.0]]
        np.testing.assert_array_equal(transform(fg.grad(f))(batch), slope)
    with pytest.raises(ValueError, match="must not contain infs"):
        fg.grad(f)(batch[1])


def test_a_name_that_is_on_no_path_is_an_error_of_the_program():
    def with_a_method(i, total):
        return total + np.ones(3).size_of(i) if i < 2 else total

    def with_a_variable(i, total):
        return total + not_defined if i < 2 else total  # noqa: F821

    def with_a_variable_of_another_path(i, total):
        if i < 2:
            kept = total
        if i < 1:
            total = total + kept
        return total

    for body, error in ((with_a_method, AttributeError), (with_a_variable, NameError)):
        with pytest.raises(error):
            fg.grad(lambda x, body=body: fg.fori_loop(0, 3, body, x))(1.0)
    assert fg.grad(lambda x: fg.fori_loop(0, 3, with_a_variable_of_another_path, x))(1.0) == 2.0


def _least_of_none(x):
    return min(v for v in [x, -1.0] if v >= 0)


def _truth_of_several(x):
    return x if np.array([x, x]) else 2 * x


@pytest.mark.parametrize(
    "other", [_least_of_none, _truth_of_several, lambda x: np.max(np.zeros(0)) * x]
)
def test_a_path_that_pythons_or_numpys_own_code_refuses_has_the_result_nan(other):
    def f(x):
        return x * x if x > 0 else other(x)

    mapped = fg.jit(fg.vmap(fg.value_and_grad(f)))
    np.testing.assert_array_equal(mapped(np.array([3.0, 1.0])), [[9.0, 1.0], [6.0, 2.0]])
    assert np.isnan(mapped(np.array([3.0, -1.0]))[0][1])


def test_a_search_that_would_not_end_outside_of_its_table_is_run_with_the_examples():
    def span(u):
        knots, low, high, mid = [0.0, 0.0, 0.5, 1.0], 1, 3, 2
        while u < knots[mid] or u >= knots[mid + 1]:  # for u < 0 for ever
            low, high = (low, mid) if u < knots[mid] else (mid, high)
            mid = (low + high) // 2
        return u * mid

    mapped = fg.jit(fg.vmap(fg.value_and_grad(span)))
    for us, places in (([0.2, 0.7], [1, 2]), ([0.8, 0.1], [2, 1])):
        values, slopes = mapped(np.array(us))
        np.testing.assert_array_equal(slopes, places)
        np.testing.assert_array_equal(values, np.array(us) * places)
