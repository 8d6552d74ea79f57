"""jit against the plain function: paths, types, captures, threads, trees, and every other transform."""

import dataclasses
import functools
import gc
import threading
import warnings
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import toolz
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import jit
from funcgrad.transforms.jit import guard_tree as guards
from tests.default_slice import examples

# -- random programs -----------------------------------------------------------------------------
# A program is a list of statements on a list of values: what to do, with which, and how to branch.
WORDS = ["add", "mul", "sin", "if", "while", "for", "int"]
STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "mul", "sin", "if", "while", "for", "int"]),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=8,
)


def interpret(program, x, y):
    """What the program does, in plain Python."""
    values = [x, y, x - y]
    for what, i, j in program:
        a, b = values[i % len(values)], values[j % len(values)]
        if what == "add":
            values.append(a + b)
        elif what == "mul":
            values.append(a * b)
        elif what == "sin":
            values.append(np.sin(a))
        elif what == "if":
            values.append(a * 2 if a > b else b - a)
        elif what == "while":
            c = a
            count = 0
            while abs(c) > 1 and count < 4:
                c = c / 2
                count += 1
            values.append(c)
        elif what == "for":
            total = a
            for _ in range(int(abs(b)) % 3):
                total = total * b
            values.append(total)
        else:
            values.append(a * (int(b) % 3))
    return values[-1] + values[-2]


POINTS = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=6)


@given(STATEMENTS, POINTS)
@settings(max_examples=examples(60))
def test_random_programs_give_what_the_plain_function_gives(program, points):
    def f(x, y):
        return interpret(program, x, y)

    compiled = jit(f)
    for x, y in [*points, *points]:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-12, atol=1e-12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a branch may not depend on x
            np.testing.assert_allclose(
                jit(fg.grad(f))(x, y), fg.grad(f)(x, y), rtol=1e-10, atol=1e-12
            )


def test_paths_are_taken_once_each_and_a_prefix_runs_once():
    runs, calls = [], []
    slow = fg.primitive(lambda x: calls.append(1) or np.sin(x), [lambda x: np.cos(x)], name="slow")

    @jit
    def f(x):
        runs.append(1)
        y = slow(x)
        if y > 0.5:
            return y * 2
        if y > 0:
            return y + slow(y)
        return -y

    points = [1.5, 0.3, -1.0, 1.4, 0.2, -0.9]
    expected = [2 * np.sin(1.5), np.sin(0.3) + np.sin(np.sin(0.3)), np.sin(1.0)]
    for x, value in zip(points, expected, strict=False):
        np.testing.assert_allclose(f(x), value)
    assert len(runs) == 3
    calls.clear()
    for x in points:
        f(x)
    # One for the prefix of each call, and one more for the two that end in the middle branch.
    assert (len(runs), len(calls)) == (3, 8)


def test_every_question_is_a_guard():
    @jit
    def f(x, n, v):
        y = x * int(n) + float(v[0]) + len([0 for _ in range(n)])
        if 2.0 in v:
            y = y * 10
        return y + int(f"{v[1]:.0f}") + np.sum(v[v > 1])

    def plain(x, n, v):
        y = x * int(n) + float(v[0]) + n
        if 2.0 in v:
            y = y * 10
        return y + int(f"{v[1]:.0f}") + np.sum(v[v > 1])

    rng = np.random.default_rng(0)
    for _ in range(20):
        x, n, v = rng.normal(), int(rng.integers(0, 4)), rng.integers(0, 4, 3).astype(float)
        np.testing.assert_allclose(f(x, n, v), plain(x, n, v))


def test_a_number_that_is_always_another_is_warned_of_once():
    def by_float(x):
        return x * float(x)

    f = jit(fg.adopt(by_float, False))
    for i in range(7):
        assert f(i + 0.5) == (i + 0.5) ** 2
    with pytest.warns(
        UserWarning, match=r"jit: by_float takes a number out of a value, by float\(\)"
    ):
        assert f(7.5) == 56.25
    assert f(8.5) == 72.25


def test_more_paths_than_are_worth_it_run_as_they_are_with_one_warning():
    @jit
    def f(x):
        k = 0
        while x > k:
            k += 1
        return x * k

    for i in range(64):
        assert f(float(i)) == i * i
    with pytest.warns(UserWarning, match=r"jit: f has taken 64 paths.*while x > k"):
        assert f(70.0) == 4900.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(100.5) == 100.5 * 101
    assert f(np.arange(2.0).sum()) == 1.0


# -- signatures ----------------------------------------------------------------------------------
Pair = namedtuple("Pair", "a b")


def test_trees_statics_keywords_and_results_of_any_structure():
    @jit
    def f(d, how="sum", *, k=2):
        return {"v": getattr(np, how)(d["w"]) * k, "how": how, "p": Pair(d["w"], None), "n": 3}

    w = np.arange(3.0)
    for _ in range(2):
        out = f({"w": w})
        assert (out["v"], out["how"], out["n"]) == (6.0, "sum", 3)
        assert isinstance(out["p"], Pair)
        assert not np.shares_memory(out["p"].a, w)
        assert f({"w": w}, "max", k=5)["v"] == 10.0
        assert f({"w": 4.0}, how="min")["v"] == 8.0
    assert f.explain_misses().count("first call") == 3


def test_the_structure_is_part_of_the_signature():
    f = jit(lambda t: t[0] + t[1] if isinstance(t, tuple) else t[0] * t[1])
    assert [f((2.0, 5.0)), f([2.0, 5.0]), f((2.0, 5.0))] == [7.0, 10.0, 7.0]


def test_static_arguments_by_value():
    f = jit(lambda n, x: x * sum(range(n)), static_argnums=0)
    assert [f(3, 2.0), f(4, 2.0), f(3, 5.0)] == [6.0, 12.0, 15.0]
    with pytest.raises(TypeError, match="static arguments that hash"):
        f([1], 2.0)
    with pytest.raises(TypeError, match="values that hash by what they are, but got bytearray"):
        jit(lambda x, s: x)(1.0, bytearray(b"ab"))


def test_values_that_are_equal_but_not_the_same():
    narrow = np.ones(1, np.float32)
    f = jit(lambda x, s: np.copysign(x, s))
    assert [f(narrow, s)[0] for s in (0.0, -0.0, 0.0)] == [1.0, -1.0, 1.0]
    g = jit(lambda x: x * 2)
    assert [type(g(v)) for v in (1, True, 1.0, 1)] == [int, int, float, int]


def test_types_that_alternate_in_eight_threads():
    f = jit(lambda x: x * 2 + 1)
    points = [1.5, np.arange(3.0), 2, np.ones((2, 2)), np.float32(3), np.arange(4)]

    def work(seed):
        order = np.random.default_rng(seed).integers(0, len(points), 300)
        return all(np.array_equal(f(points[i]), points[i] * 2 + 1) for i in order)

    for _ in range(5):
        f.clear()
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))


def test_dtypes_are_those_of_the_plain_function():
    narrow = np.ones(3, np.float32)
    captured = np.full(2, 2, np.float32)
    assert jit(lambda x, s: x * s)(narrow, 2.0).dtype == np.float32
    assert jit(lambda s: s * captured)(3.0).dtype == np.float32
    assert jit(lambda x, n: x + n)(np.int8([1]), 3).dtype == np.int8
    assert jit(lambda x: x * 2)(3) == 6
    assert isinstance(jit(lambda x: x * 2)(3), int)
    assert jit(lambda x: x > 1)(3.0) is True
    f = jit(lambda x: np.sum(x) * 2)
    for x in (
        np.ones(2),
        np.ones(2, np.float32),
        np.ones((2, 2)),
        np.ones(2, complex),
        1.0,
        np.float32(1),
    ):
        plain = np.asarray(np.sum(x) * 2)
        assert np.asarray(f(x)).dtype == plain.dtype
        assert f(x) == plain


def _twice(x):
    return 2 * x


def test_results_may_hold_functions_without_a_closure():
    made = fg.jit(lambda x: {"value": x + 1.0, "f": _twice, "ufunc": np.sin, "sum": np.sum})(1.0)
    assert (made["value"], made["f"](3.0), made["ufunc"]) == (2.0, 6.0, np.sin)
    assert made["sum"] is np.sum
    with pytest.raises(TypeError, match="immutable values, but got function"):
        fg.jit(lambda x: (x, lambda: x))(1.0)


def test_results_are_the_callers_own():
    x = np.ones(3)
    f = jit(lambda x: (x, x.T, x + 0.0, np.zeros(2)))
    for _ in range(2):
        out = f(x)
        for part in out:
            part[:] = 9.0
        assert x[0] == 1.0
    assert f(x)[3][0] == 0.0


# -- captures ------------------------------------------------------------------------------------
SCALE = 2.0


def test_a_rebinding_is_honoured(monkeypatch):
    local = 3.0

    @jit
    def f(x):
        return x * local * SCALE

    assert f(1.0) == 6.0
    local = 5.0
    assert f(1.0) == 10.0
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert f(1.0) == 20.0
    assert "local was bound anew" in f.explain_misses()
    assert "SCALE was bound anew" in f.explain_misses()


@pytest.mark.parametrize("size", [3, 100_000])
def test_an_array_changed_in_place_is_read_at_each_call(size):
    data = np.ones(size)

    @jit
    def f(x):
        return np.sum(x * data)

    assert f(2.0) == 2.0 * size
    data[0] = 11.0
    assert f(2.0) == 2.0 * (size + 10)
    # A small one may have been read outside the program, too: f is traced again.
    assert ("changed in place" in f.explain_misses()) == (size == 3)


def test_a_large_array_made_inside_is_one_for_all_paths():
    runs = []

    @jit
    def f(x):
        runs.append(1)
        grid = np.linspace(0.0, 1.0, 20_000)
        y = np.sum(x * grid)
        return y * 2 if y > 0 else np.sum(grid) - y

    for x in (1.0, -1.0, 2.0, -2.0, 1.0):
        y = x * np.sum(np.linspace(0.0, 1.0, 20_000))
        np.testing.assert_allclose(f(x), y * 2 if y > 0 else 1e4 - y)
    assert len(runs) == 2


def test_an_array_made_inside_is_not_mixed_up():
    @jit
    def f(x):
        total = 0.0
        buffer = np.zeros(2)
        for i in range(3):
            buffer[:] = i
            total = total + np.sum(x * buffer)
        return total

    for _ in range(3):
        assert f(np.ones(2)) == 6.0


# -- with other transforms -----------------------------------------------------------------------
def branching(x):
    return np.sum(np.sin(x) ** 2 * x[0]) if x[0] > 0 else np.sum(x**3)


@pytest.mark.parametrize("x", [np.array([0.5, 2.0]), np.array([-0.5, 2.0])])
@pytest.mark.parametrize("transform", [fg.grad, fg.hessian, fg.jacrev, fg.jacfwd])
def test_it_composes_with_transforms_in_either_order(transform, x):
    expected = transform(branching)(x)
    np.testing.assert_allclose(jit(transform(branching))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(transform(jit(branching))(x), expected, rtol=1e-12)
    inner = jit(transform(branching))
    for point in (x, -x, x):
        np.testing.assert_allclose(inner(point), transform(branching)(point), rtol=1e-12)


def test_it_composes_with_products_batches_and_itself():
    x, v = np.array([0.5, 2.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(fg.jvp(jit(branching), (x,), (v,))[1], fg.grad(branching)(x) @ v)
    product = jit(lambda x, v: fg.hvp(branching, (x,), (v,)))
    np.testing.assert_allclose(product(x, v), fg.hessian(branching)(x) @ v)
    xs = np.arange(6.0).reshape(3, 2)
    g = jit(fg.vmap(fg.grad(lambda x: np.sum(x**3))))
    np.testing.assert_allclose(g(xs), 3 * xs**2)
    np.testing.assert_allclose(fg.vmap(jit(lambda x: x @ x))(xs), np.sum(xs * xs, 1))
    assert toolz.pipe(lambda x: x**3, fg.grad, fg.grad, jit)(2.0) == 12.0
    assert jit(jit(lambda x: x + 1))(1.0) == 2.0


def test_inside_another_trace_it_is_part_of_it():
    def through(w):
        return jit(lambda x: x * w if x > 1 else w**3)(2.0)

    assert fg.grad(through)(3.0) == 2.0
    assert fg.grad(lambda x: jit(lambda y: y * x)(x))(3.0) == 6.0


def test_loops_branches_and_rules_inside():
    @jit
    def f(x, n):
        y, _ = fg.scan(lambda c, t: (np.sin(c) + t * x, c), x, np.arange(5.0))
        z = fg.while_loop(lambda v: v < 10.0, lambda v: v * 2 + x, y)
        return fg.cond(z > n, lambda z: z, lambda z: -z, z)

    def plain(x, n):
        y = x
        for t in range(5):
            y = np.sin(y) + t * x
        while y < 10.0:
            y = y * 2 + x
        return y if y > n else -y

    for x, n in [(0.5, 12.0), (2.0, 1.0), (0.1, 100.0)]:
        np.testing.assert_allclose(f(x, n), plain(x, n))
        np.testing.assert_allclose(fg.grad(f)(x, n), fg.grad(plain)(x, n))
        np.testing.assert_allclose(jit(fg.grad(f))(x, n), fg.grad(plain)(x, n))


# -- in use --------------------------------------------------------------------------------------
def test_eight_threads():
    barrier = threading.Barrier(8)

    @jit
    def f(x):
        y = np.sin(x)
        if y > 0.3:
            return y * 2
        return y**2 if y > -0.3 else -y

    def plain(x):
        y = np.sin(x)
        return y * 2 if y > 0.3 else y**2 if y > -0.3 else -y

    def work(seed):
        points = np.random.default_rng(seed).uniform(-3, 3, 200)
        barrier.wait()
        return all(np.isclose(f(float(x)), plain(x), rtol=1e-13) for x in points)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert f.explain_misses().count("\n") <= 3


def test_a_function_that_is_made_again_is_not_compiled_again(monkeypatch):
    from funcgrad.compiler.python import scalar_codegen as scalar

    compiled = []
    plain = scalar.compile_flat
    monkeypatch.setattr(scalar, "compile_flat", lambda *a: compiled.append(1) or plain(*a))
    for k in range(5):
        assert jit(lambda x: np.sin(x) * 7.25 + x)(0.1 * k) == np.sin(0.1 * k) * 7.25 + 0.1 * k
    assert len(compiled) == 1


def test_an_exception_leaves_everything_usable():
    @jit
    def f(x):
        if x > 2:
            raise KeyError("too large")
        return x * x

    assert f(1.0) == 1.0
    with pytest.raises(KeyError, match="too large"):
        f(3.0)
    assert f(1.5) == 2.25
    with pytest.raises(KeyError, match="too large"):
        f(4.0)


def test_errors_of_math_are_numpys_values():
    f = jit(fg.grad(lambda x: np.log(x) + np.exp(x)))
    assert [f(1.0), f(0.0), f(1000.0)] == [1 + np.e, np.inf, np.inf]
    assert np.isnan(jit(np.sqrt)(-1.0))


# -- what is told apart ----------------------------------------------------------------------------
def test_permuted_parameters_are_another_program():
    assert jit(lambda x, y: x - y * 3.5)(3.0, 1.0) == -0.5
    assert jit(lambda y, x: x - y * 3.5)(3.0, 1.0) == -9.5
    f = jit(lambda x, y: x / y)
    assert [f(1.0, 2.0), f(x=1.0, y=4.0), f(y=5.0, x=1.0), f(1.0, y=8.0)] == [0.5, 0.25, 0.2, 0.125]


def test_defaults_and_keywords_after_a_call_with_everything():
    def plain(x=1.0, y=2.0, z=3.0):
        return x - y * z

    f = jit(plain)
    for args, named in [((3.0, 4.0, 5.0), {}), ((), {"y": 10.0}), ((1.0,), {"z": 10.0}), ((), {})]:
        assert f(*args, **named) == plain(*args, **named)

    @jit
    def positional(x, /, y):
        return x + y

    assert positional(1.0, 2.0) == 3.0
    with pytest.raises(TypeError, match="positional-only"):
        positional(x=1.0, y=2.0)


def test_a_rebinding_while_f_is_traced_is_not_missed():
    state = {"k": 1.0}
    k = 1.0

    @jit
    def f(x):
        nonlocal k
        used = k
        if state["k"] != k:
            k = state["k"]
        return x * used

    assert f(1.0) == 1.0
    state["k"] = 2.0
    f.clear()
    assert f(1.0) == 1.0  # reads k, then binds it anew
    assert f(1.0) == 2.0


@dataclasses.dataclass
class First:
    a: float


@dataclasses.dataclass
class Second:
    a: float


def test_the_types_and_order_of_containers_are_part_of_the_signature():
    f = jit(lambda d: d.a * (2 if isinstance(d, First) else 3))
    assert [f(First(1.0)), f(Second(1.0)), f(First(2.0))] == [2.0, 3.0, 4.0]
    g = jit(lambda d: next(iter(d.values())))
    assert [g({"a": 1.0, "b": 2.0}), g({"b": 2.0, "a": 1.0})] == [1.0, 2.0]
    h = jit(lambda t: t[0] * (1 if t[1] is None else 2))
    assert [h((1.0, None)), h((1.0, ()))] == [1.0, 2.0]


def test_static_values_that_are_equal_but_of_other_types():
    f = jit(lambda x, k: x * k if isinstance(k, float) else x + k, static_argnums=1)
    assert [f(2.0, 1), f(2.0, 1.0), f(2.0, True)] == [3.0, 2.0, 3.0]
    assert [f(2.0, k=3), f(2.0, k=3.0)] == [5.0, 6.0]
    g = jit(lambda x, n=2: x * sum(range(n)), static_argnames="n")
    assert [g(1.0), g(1.0, 3), g(1.0, n=4)] == [1.0, 3.0, 6.0]
    assert "return" in f.program.source
    assert repr(f.lower(2.0, 1).traced[0]) == "x + 1"
    for n in range(300):
        g(1.0, n=n)
    assert g(1.0, n=3) == 3.0


def test_small_arrays_are_watched_however_they_are_used():
    a, m = np.array([1.0, 2.0]), np.eye(2)
    uses = [lambda x: x * a.sum(), lambda x: x * a[0], lambda x: x if a[0] > 5 else -x]
    uses += [lambda x: np.sum(x @ m.T), lambda x: sum(x * v for v in a)]
    for use in uses:
        f = jit(use)
        x = np.array([3.0, 4.0])
        np.testing.assert_allclose(f(x), use(x))
        a[0], m[0, 1] = a[0] + 10.0, m[0, 1] + 1.0
        np.testing.assert_allclose(f(x), use(x))


def test_names_in_inner_functions_partials_and_wrappers_are_watched(monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 2.0)

    def inner(x):
        return sum(v * SCALE for v in [x, x])

    def two(k, x):
        return k * x * SCALE

    @functools.wraps(inner)
    def wrapper(x):
        return inner(x) * SCALE

    class Callable:
        def __call__(self, x):
            return x * SCALE

    compiled = [jit(inner), jit(functools.partial(two, 1.0)), jit(wrapper), jit(Callable())]
    assert [f(1.0) for f in compiled] == [4.0, 2.0, 8.0, 2.0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert [f(1.0) for f in compiled] == [6.0, 3.0, 18.0, 3.0]


class Model:
    k = 2.0


def test_what_may_change_unseen_is_refused():
    with pytest.raises(TypeError, match=r"jit: expected .* but got Model, which may change"):
        jit(lambda m, x: m.k * x)(Model(), 1.0)
    assert jit(lambda m, x: m.k * x, static_argnums=0)(Model(), 1.0) == 2.0
    for f, name in [(lambda x: iter([x * 2]), "list_iterator"), (lambda x: lambda: x, "function")]:
        with pytest.raises(TypeError, match=f"jit: expected f to return trees .* but got {name}"):
            jit(f)(1.0)
    with pytest.raises(TypeError, match="but got generator"):
        jit(lambda x: (v for v in [x]))(1.0)


def test_many_questions_cost_in_proportion():
    def f(x, n):
        s = x
        for _ in range(n):
            s = s + x if s > 0 else s - x
        return s

    compiled = jit(f)
    walked = []
    plain = guards._reachable_until
    guards._reachable_until = lambda roots, stop: (
        walked.append(len(found := plain(roots, stop))) or found
    )
    try:
        for n in (100, 400):
            walked.clear()
            assert compiled(1.0, n) == f(1.0, n)
            assert sum(walked) < 30 * n
    finally:
        guards._reachable_until = plain


def test_globals_with_the_names_of_arguments(monkeypatch):
    monkeypatch.setitem(globals(), "x0", 2.0)
    f = jit(lambda y: y * x0)  # noqa: F821
    assert [f(1.0), f(1.0)] == [2.0, 2.0]
    monkeypatch.setitem(globals(), "x0", 5.0)
    assert f(1.0) == 5.0


def test_an_argument_that_is_the_result_is_copied():
    x = np.array(1.5)
    f = jit(lambda x: x)
    for _ in range(3):
        assert f(x) == 1.5
        assert f(x) is not x


def test_no_growth_over_many_calls():
    f = jit(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(x))
    f(np.ones(3))
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(500):
        f(np.ones(3))
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_what_it_tells():
    @jit
    def f(x):
        return x * 2 if x > 0 else x

    assert repr(f.program) == "nothing has been compiled yet: call the function first"
    stages = f.lower(3.0)
    assert repr(stages.traced[0]) == "x*2"
    assert "return" in stages.source
    assert "as it runs" in repr(stages)
    f(3.0)
    assert "return" in f.program.source
    f.clear()
    assert f.explain_misses() == ""
    assert f(-1.0) == -1.0
    assert jit(static_argnums=())(np.sin)(0.0) == 0.0


@pytest.mark.oracle
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends(backend):
    pytest.importorskip(backend)
    f = jit(fg.grad(lambda x: np.sum(np.sin(x) * x)), backend=backend)
    x = np.linspace(0, 1, 5).astype(np.float32)
    argument = __import__("torch").from_numpy(x) if backend == "torch" else x
    np.testing.assert_allclose(np.asarray(f(argument)), np.sin(x) + x * np.cos(x), rtol=1e-5)


def test_bad_input():
    with pytest.raises(ValueError, match="jit: expected a backend among"):
        jit(np.sin, backend="fortran")
    with pytest.raises(TypeError, match="jit: expected a function, but got an expression"):
        jit(fg.var("x"))
    with pytest.raises(TypeError, match="jit: expected a function, but got int"):
        jit(3)
    f = jit(lambda x: x)
    f(1.0)
    with pytest.raises(TypeError, match="positional argument"):
        f()


def test_a_python_int_is_differentiated_as_without_jit():
    assert jit(fg.grad(lambda x: x**2))(3) == fg.grad(lambda x: x**2)(3) == 6.0
    with pytest.raises(TypeError, match="grad: expected float or complex values"):
        jit(fg.grad(lambda x: np.sum(x**2)))(np.arange(3))


def test_keys_that_a_dict_takes_for_one_stay_what_they_are():
    f = jit(lambda d: {key: 2 * value for key, value in d.items()})
    for key in (1, True, 1.0, "1"):
        (found,) = f({key: 3.0})
        assert type(found) is type(key)


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("args", [(2.0, 3.0), (np.ones(2), np.arange(2.0)), (np.float32(2), 1.5)])
def test_a_list_or_tuple_of_results_is_made_without_a_tree(kind, args):
    f = jit(lambda x, y: kind([x * y, x + y, x]))
    expected = f.__wrapped__(*args)
    for _ in range(3):
        found = f(*args)
        assert type(found) is kind
        assert [np.asarray(a).tolist() for a in found] == [np.asarray(a).tolist() for a in expected]
        if kind is list:
            found.append("of the caller")
    held = [value for value in f.__code__.co_consts if hasattr(value, "__dict__")]
    trees = [name for value in held for name in vars(value) if name.startswith("rebuild")]
    assert [vars(value)[name] for value in held for name in trees] in ([], [list])


def test_trees_that_only_look_like_lists_are_put_together_as_they_are():
    Pair = namedtuple("Pair", "a b")
    for made in (
        lambda x: Pair(x, 2 * x),
        lambda x: [x, [x]],
        lambda x: [(x,)],
        lambda x: [x, "text"],
        lambda x: (x, x),
        lambda x: [],
        lambda x: (),
    ):
        f = jit(made)
        for _ in range(3):
            assert f(2.0) == made(2.0)
            assert type(f(2.0)) is type(made(2.0))


def test_a_flag_is_part_of_the_signature_and_counts_as_python_counts_it():
    def f(x, flag, y):
        return x * (flag + flag) * y if flag else x - y

    g = fg.jit(f)
    x = np.array([1.0, 2.0])
    calls = [(2.0, True, 3.0), (2.0, True, 4.0), (2.0, False, 4.0), (x, True, 3.0), (x, True, x)]
    for args in calls + calls[::-1]:
        np.testing.assert_array_equal(g(*args), f(*args), strict=not np.isscalar(f(*args)))
    assert g(y=2.0, flag=True, x=3.0) == 12.0
    assert fg.jit(lambda flag: -flag if isinstance(flag, int) else 0)(True) == -1
    assert fg.jit(fg.grad(f))(1.0, True, 3.0) == 6.0


@pytest.mark.parametrize("name", ["abs", "all", "len", "map", "ValueError", "LookupError"])
def test_parameters_with_the_names_of_builtins(name):
    space: dict = {"np": np, "pair": [1.5, 2.5], "many": [float(k) for k in range(30)]}
    exec(f"def f({name}):\n    return np.abs({name}) * pair[0] + many[3]", space)
    exec(f"def g({name}):\n    return {name} * 2 if {name} > 1 else np.abs({name}) * 3", space)
    for f in (space["f"], space["g"]):
        jitted = fg.jit(f)
        for x in (2.0, -0.5, 2.0, -0.5):
            assert jitted(x) == f(x) == jitted(**{name: x})


@pytest.mark.parametrize(
    "result", [lambda x: [x, None], lambda x: [x, x * x], lambda x: [[1.0, x]]]
)
def test_an_array_of_objects_that_holds_traced_values_is_no_result(result):
    """Later calls returned the traced values of the first one."""

    def f(x):
        made = np.empty(len(result(x)), dtype=object)
        made[:] = result(x)
        return made

    with pytest.raises(
        TypeError, match=r"one of objects.*return a.astype\(float\), or a.tolist\(\)"
    ):
        jit(f)(1.3)
    listed = jit(lambda x: f(x).tolist())
    assert listed(1.3) == f(1.3).tolist()
    assert listed(2.0) == f(2.0).tolist()
    assert jit(lambda x: (x, np.array(["a", None], dtype=object)))(1.0)[1].tolist() == ["a", None]
