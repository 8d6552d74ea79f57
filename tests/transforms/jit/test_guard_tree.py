"""jit of functions that branch: trees of guards as one function, what is said of them, and what is freed."""

import gc
import itertools
import math
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.trace import pytree
from funcgrad.transforms.jit import guard_tree as guards
from tests.default_slice import examples


# -- guards written out ----------------------------------------------------------------------------
def three_ways(x):
    if x > 1:
        return np.sin(x)
    y = np.exp(x)
    if y < 0.5:
        return y + x, {"y": y}
    return y * 2


def collatz(n, x):
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        x = x * 1.5
    return x, n


def polynomial(x, n):
    return sum(x**k for k in range(n))


def handed_on(x):
    y = np.sin(x)
    if y > 0.5:
        return x * 2
    z = y * y
    if z > 0.1:
        return z + y
    return np.exp(y) * z - 1


def constants(x):
    return 1.5 if x > 0 else "negative"


def truths(x, y):
    return (x > 0) if y > x else (y, x <= y)


def by_float(x):
    return x * float(x)


def root(x):
    return math.sqrt(x) if x > 2 else x


floats = st.floats(-3, 3, allow_subnormal=False) | st.sampled_from(
    [0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 1e300]
)
FLOATS = {
    f: st.lists(st.tuples(*[floats] * count), min_size=1, max_size=12)
    for f, count in (
        (three_ways, 1),
        (handed_on, 1),
        (constants, 1),
        (truths, 2),
        (fg.grad(handed_on), 1),
        (fg.value_and_grad(lambda x: x**2 if x > 0 else -x), 1),
    )
}


@pytest.mark.parametrize("f", FLOATS)
@settings(max_examples=examples(100))
@given(data=st.data())
def test_answers_in_any_order_are_those_of_the_plain_function(f, data):
    jitted = fg.jit(f)
    for args in data.draw(FLOATS[f]):
        with np.errstate(all="ignore"):
            expected = pytree.flatten(f(*map(np.float64, args)))
        for _ in range(2):  # by signature, and by the code that is written then
            found = pytree.flatten(jitted(*args))
            assert found.paths == expected.paths
            for one, other in zip(found.leaves, expected.leaves, strict=True):
                if isinstance(other, str):
                    assert one == other
                else:
                    np.testing.assert_allclose(one, other, rtol=1e-14)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(1, 12), floats), min_size=1, max_size=8))
def test_loops_on_whole_numbers(calls):
    jitted, power = fg.jit(collatz), fg.jit(polynomial)
    for n, x in calls:
        (found, end), (expected, _) = jitted(n, x), collatz(n, x)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert end == 1
        assert power(2.0, n) == polynomial(2.0, n)


def generals(jitted):
    """The calls from now on that the inlined code does not answer."""
    calls = []
    general = jitted.__globals__["general"]
    jitted.__globals__["general"] = lambda *args: calls.append(args) or general(*args)
    return calls


def test_the_guards_stand_in_the_code():
    jitted = fg.jit(handed_on)
    values = (1.0, 0.4, 0.1)
    expected = [jitted(x) for x in values]
    calls = generals(jitted)
    assert [jitted(x) for x in values] == expected
    assert not calls
    jitted(np.float64(1.0))
    assert calls


def test_a_deep_tree_runs_as_well():
    def counts(x, n):
        k = 0
        while k < n:
            x, k = x + 1, k + 1
        return x

    jitted = fg.jit(counts)
    for n in (3, 60, 3, 59, 60):
        assert jitted(0.5, n) == n + 0.5


def test_whole_numbers_beyond_int64_are_left_to_python():
    jitted = fg.jit(lambda n: n + 1)
    for n in (2**70, 1, 2**63, -(2**63) - 1, 1, 2**70):
        assert jitted(n) == n + 1
    pair = fg.jit(lambda pair: pair[0] * pair[1])
    assert pair([2, 2.5]) == 5.0
    assert pair([2**70, 2]) == 2**71


# -- what is freed ---------------------------------------------------------------------------------
def plain(data):
    f = fg.jit(lambda x: np.sum(x * data))
    f(2.0)
    return f


def never_called(data):
    return fg.jit(lambda x: np.sum(x * data))


def of_numbers(data):
    f = fg.jit(lambda x: x * 2 if data is not None else x)
    f(2.0)
    return f


def recursive(data):
    @fg.jit
    def factorial(x):
        return x * factorial(x - 1) if x > 1 else np.sum(data) * 0 + 1.0

    assert factorial(5.0) == 120.0
    return factorial


def with_static(data):
    f = fg.jit(lambda x, n: np.sum(x * data) * n, static_argnums=1)
    f(1.0, 2), f(1.0, 3)
    return f


@pytest.mark.parametrize("make", [plain, never_called, of_numbers, recursive, with_static])
def test_a_function_that_is_dropped_takes_what_it_captured_along(make):
    data = np.ones(3)
    gone = weakref.ref(data)
    made = make(data)
    del made, data
    gc.collect()
    assert gone() is None


# -- interrupts --------------------------------------------------------------------------------------
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_strikes_while_a_path_is_compiled_leaves_the_tree_whole(at, error, monkeypatch):
    jitted = fg.jit(handed_on)
    jitted(1.0)
    compiled, made = guards._program, 0

    def struck(*given):
        nonlocal made
        made += 1
        if made == at:
            raise error
        return compiled(*given)

    monkeypatch.setattr(guards, "_program", struck)
    with pytest.raises(error):
        jitted(0.1)
    monkeypatch.undo()
    for x in (1.0, 0.1, 0.4, 1.0, 0.1):
        assert jitted(x) == pytest.approx(handed_on(x), rel=1e-15)


# -- what is said ------------------------------------------------------------------------------------
def test_traces_are_told_apart():
    f = fg.jit(lambda x, n: x * n, static_argnums=1)
    f(1.0, 2), f(1.0, 3)
    g = fg.jit(lambda x: pytree.flatten(x).leaves[0] * 2)
    for arg in (1.0, [1.0], (1.0,), {"a": 1.0}):
        g(arg)
    lines = [*f.explain_misses().splitlines(), *g.explain_misses().splitlines()]
    assert len(set(lines)) == 6
    assert "(2, float64)" in lines[0]
    assert "({'a': float64})" in lines[-1]


def test_what_an_array_held_is_named():
    f = fg.jit(lambda v: v[v > 0])
    f(np.array([1.0, -1.0])), f(np.array([1.0, 1.0]))
    assert "what is in v > 0 was array([ True,  True]) for the first time" in f.explain_misses()


def test_the_line_that_branches_is_named():
    @fg.jit
    def f(x):
        y = x * 3
        if int(y) > 3:  # here
            return x
        return -x

    with pytest.warns(UserWarning, match=r"if int\(y\) > 3:  # here"):
        assert [f(float(k)) for k in range(5, 75)] == [float(k) for k in range(5, 75)]


def test_many_numbers_beside_float32_are_warned_of():
    f = fg.jit(lambda w, rate: w * rate)
    w = np.ones(2, "float32")
    with pytest.warns(UserWarning, match=r"give it as np.float32\(x\)"):
        assert {f(w, float(k)).dtype for k in range(20)} == {w.dtype}
    g = fg.jit(fg.adopt(by_float, False))
    with pytest.warns(UserWarning, match=r"by float\(\) of it"):
        assert [g(float(k)) for k in range(20)] == [float(k) ** 2 for k in range(20)]


def test_a_value_that_outlived_its_trace_is_warned_of():
    kept = []
    fg.grad(lambda x: kept.append(x) or x * 1.0)(2.0)
    with pytest.warns(UserWarning, match="outlived the call"):
        assert fg.jit(lambda x: x * kept[0])(3.0) == 6.0


def test_a_value_of_a_trace_around_another_is_not():
    f = fg.jit(lambda x: fg.grad(lambda z: fg.grad(lambda u: u * z * x)(z))(x))
    assert f(3.0) == 3.0


def test_a_question_about_a_loop_whose_other_results_are_used_later():
    """A loop's value is a tuple: its parts are handed from one node of the tree to the next."""

    def f(x):
        total, count = fg.while_loop(
            lambda s: s[1] < 3 * x, lambda s: (s[0] * 2.0, s[1] + 1.0), (np.ones(2) * x, 0.0)
        )
        return np.sum(total) * int(count)

    jitted = fg.jit(f)
    for x in (2.0, 1.0, 2.0):
        assert jitted(x) == f(x) == 2 * x * 2 ** (3 * x) * 3 * x
        assert fg.jit(fg.grad(f))(x) == fg.grad(f)(x)


def test_parts_of_an_operation_with_several_results_are_kept_across_a_question():
    def f(x):
        left, sizes, right = np.linalg.svd(x)
        angle = np.arctan2(left[1, 0], left[0, 0])
        if sizes[0] > 2.0 * sizes[1]:
            angle = angle * right[0, 1]
        return angle

    compiled = fg.jit(fg.value_and_grad(f))
    for x in (np.array([[2.0, 0.3], [0.4, 1.0]]), np.array([[9.0, 0.3], [0.4, 1.0]])):
        for _ in range(2):
            found, expected = compiled(x), fg.value_and_grad(f)(x)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)


# -- NumPy's numbers -----------------------------------------------------------------------------
OF_NUMBERS = {
    "identity": lambda x: x,
    "sine": lambda x: (np.sin(x) * x, -x),
    "quotient": lambda x: 1 / x,
    "logarithm": np.log,
    "branch": lambda x: np.sin(x) if x > 0 else x * x,
    "beside an array": lambda x: x * np.ones(2),
    "gradient": fg.grad(lambda x: np.sin(x) * x),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_numpy_numbers_have_the_results_of_0d_arrays(name, kind):
    f = OF_NUMBERS[name]
    jitted, of_arrays = fg.jit(f), fg.jit(f)
    for value in (1, 0, -1, 2):
        x = np.dtype(kind).type(value)
        for _ in range(2):
            with np.errstate(all="ignore"):
                found, wanted = jitted(x), of_arrays(np.asarray(x))
            parts = zip(
                *[r if isinstance(r, tuple) else (r,) for r in (found, wanted)], strict=True
            )
            for part, other in parts:
                assert type(part) is type(other)
                np.testing.assert_array_equal(part, other)
                assert np.array_equal(np.signbit(np.real(part)), np.signbit(np.real(other)))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_a_program_called_with_numpy_numbers_is_inlined(kind):
    jitted = fg.jit(fg.grad(lambda x, y: np.sin(x) * y))
    jitted(kind(1), kind(2))
    calls = generals(jitted)
    np.testing.assert_allclose(jitted(kind(2), kind(3)), 3 * np.cos(2.0), rtol=1e-6)
    assert calls == []
    jitted(2.0, 3.0)  # another signature
    assert len(calls) == 1


def test_one_call_with_a_numpy_number_leaves_the_code_for_others():
    jitted = fg.jit(lambda x: np.sin(x))
    jitted(1.0)
    assert jitted(np.float64(1.0)) == np.sin(1.0)
    calls = generals(jitted)
    assert jitted(2.0) == np.sin(2.0)
    assert calls == []


def test_branches_are_inlined_for_float64():
    jitted = fg.jit(lambda float, y: np.log(float) if float > 0 else y * float)
    other = fg.jit(lambda x, y: np.log(x) if x > 0 else y * x)
    for f in (jitted, other):
        assert type(f(np.float64(2.0), 3.0)) is float
        assert f(np.float64(-2.0), 3.0) == -6.0
    calls = generals(other)
    assert other(np.float64(1.0), 4.0) == 0.0
    assert other(np.float64(-1.0), 4.0) == -4.0
    assert calls == []
    with np.errstate(invalid="ignore"):
        assert np.isnan(other(np.float64(np.nan), np.nan))


def test_a_float_that_is_stored_is_no_guard():
    def running(x):
        total = np.zeros(3)
        total[0] = x
        for i in range(1, 3):
            total[i] = total[i - 1] * x
        return total.sum()

    def stored(store):
        def f(x):
            return store(np.zeros(2), x).sum()

        return f

    def by_item(y, x):
        y[0] = np.floor(x)
        return y

    def by_fill(y, x):
        y.fill(x)
        return y

    for f in (running, stored(by_item), stored(by_fill)):
        compiled = fg.jit(f)
        for value in (1.5, 2.0, 2.5, 3.0):
            assert compiled(value) == f(value)
        assert str(compiled.explain_misses()).count("\n") == 0, compiled.explain_misses()


def test_a_float_that_adopted_code_asks_for_is_a_guard_all_the_same():
    calls = []

    def asked(x):
        calls.append(0)
        return float(x) * 2.0

    plain = fg.adopt(asked, False)

    f = fg.jit(lambda x: plain(x) + x)
    assert [f(value) for value in (1.0, 2.0, 1.0, 2.0)] == [3.0, 6.0, 3.0, 6.0]
    assert "float() of x was 2.0 for the first time" in f.explain_misses()
    first = len(calls)
    f(3.0)
    assert len(calls) == first + 1  # what was refused once is not tried again


def escapes(p):
    x, n = p[0], 0
    while abs(x) < 3 and n < 50:
        x, n = x * 1.3 + p[-1] * 0.1, n + 1
    return x * x, n


def pairs(x):
    stack = []
    for v in x:
        while stack and stack[-1] > v:
            stack.pop()
        stack.append(v)
    return sum([a * b for a, b in itertools.pairwise(stack)]) + stack[0] ** 2


def by_corner(a):
    return a[0, 0] / a[1, 1] if a[0, 1] > a[1, 0] else np.sqrt(a[1, 1])


def by_number(v, k):
    return v[0] if k[1] > 2 else v[-1] * k[0]


@pytest.mark.parametrize(
    ("f", "shapes"),
    [(escapes, [2]), (pairs, [6]), (by_corner, [(2, 2)]), (by_number, [3, (2, "int")])],
)
def test_guards_on_entries_of_arrays_are_written_out(f, shapes):
    rng, compiled = np.random.default_rng(0), fg.jit(f)

    def sample():
        return [
            rng.integers(1, 5, s[0])
            if isinstance(s, tuple) and s[1] == "int"
            else rng.normal(size=s)
            for s in shapes
        ]

    calls = [sample() for _ in range(8)]
    for args in calls * 3:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(compiled(*args), f(*args))
    assert "item" in compiled.__code__.co_names
    if f is not by_number:  # where Python raises, NumPy computes
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(compiled(np.zeros(shapes[0])), f(np.zeros(shapes[0])))


def over_both(x):
    return fg.jit(lambda y: y * x if y > x else x * x)(1.0)


def over_entries(x):
    return fg.jit(lambda y: np.sum(y) * x if y[0] > x else x * x)(np.ones(2))


def over_integers(x):
    return fg.jit(lambda y: y * x * int(np.floor(y + x)))(1.0)


def in_a_derivative(x):
    return fg.jit(fg.grad(lambda y: y * x if y > x else x * x * y))(1.0)


def in_two(x):
    return fg.jit(lambda y: fg.jit(lambda z: x * z if y + z > x + 1 else x * x)(y))(1.0)


def of_own_results(x):
    below = fg.jit(lambda y: 2 * y if x < y else 3 * y)
    return below(1.0) + below(0.1) + 0 * x


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "f", [over_both, over_entries, over_integers, in_a_derivative, in_two, of_own_results]
)
def test_questions_of_a_jitted_function_about_an_enclosing_trace_are_its_guards(f):
    points = 0.3, 1.9, 0.5, 2.6
    jitted, slope = fg.jit(f), fg.jit(fg.grad(f))
    wanted = [f(x) for x in points]
    assert [jitted(x) for x in points] == pytest.approx(wanted, rel=1e-14)
    slopes = [(f(x + 1e-6) - f(x - 1e-6)) / 2e-6 for x in points]
    assert [slope(x) for x in points] == pytest.approx(slopes, rel=1e-6)
