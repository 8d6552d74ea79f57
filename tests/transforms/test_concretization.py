"""Python's questions to traced values: what a function gives is what its trace gives, and what jit gives."""

import collections
import functools
import math
import random
import warnings
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import jit
from funcgrad.trace.derive import concretize
from funcgrad.trace.leaves import run_on_leaves
from tests.default_slice import examples, one_in


def same(a, b):
    """Equal, of equal types throughout."""
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str | bytes):
        return type(a) is type(b) and a == b
    x, y = np.asarray(a), np.asarray(b)
    equal = np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
    return (x.shape, x.dtype) == (y.shape, y.dtype) and bool(equal)


def outcome(f, args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a value that is asked for often
            return f(*args)
    except Exception as error:
        return error


def in_a_trace(f):
    """f on traced values, as grad runs it."""

    def traced(*args):
        output, leaves = run_on_leaves(f, args, {})
        return concretize(output, leaves)

    return traced


def assert_answered(f, calls):
    """Plain, traced and jitted alike, over several rounds of the calls in any order."""
    order = [args for args in calls for _ in range(3)]
    random.Random(0).shuffle(order)
    for how in (in_a_trace(f), jit(f)):
        for args in order:
            want, got = outcome(f, args), outcome(how, args)
            if isinstance(want, Exception):
                assert type(want) is type(got), (args, want, got)
            else:
                assert not isinstance(got, Exception), (args, got)
                assert same(want, got), (args, want, got)


# -- a sequence and an integer ---------------------------------------------------------------------
def extended(n):
    items = [1.0]
    alias = items
    items *= n
    return alias, items


REPEATED = {
    "list": lambda x, n: sum([i * v for i, v in enumerate([x] * n)]),
    "the other way": lambda x, n: [*(n * [x, 2.0])],
    "tuple": lambda x, n: len((0,) * n) * x,
    "text": lambda x, n: "ab" * n,
    "bytes": lambda x, n: n * b"ab",
    "bytearray": lambda x, n: bytes(bytearray(b"a") * n),
    "in place": lambda x, n: extended(n),
    "nested": lambda x, n: [[x] * n] * n,
    "a sum of integers": lambda x, n: [x] * (n + 1),
    "a truth": lambda x, n: ["x"] * (n > 1) + [n] * (x > 2),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_traced_integer_repeats_a_sequence(name):
    assert_answered(REPEATED[name], [(x, n) for x in (2.0, 3.5) for n in (3, 0, 1, -2)])


def test_a_repeated_value_keeps_its_derivative():
    f = jit(fg.grad(lambda x, n: sum([x * v for v in [x] * n])))
    assert [f(3.0, n) for n in (2, 1, 5, 2)] == [12.0, 6.0, 30.0, 12.0]


def test_formulas_and_arrays_multiply_the_entries():
    n = fg.var("n", (), int)
    assert repr(n * [1, 2]) == "n*array([1, 2])"  # a list times an integer is repeated
    assert repr([1, 2] * n) == "array([1, 2])*n"
    assert_answered(lambda v: v * [1, 2], [(np.array([1, 2]),), (np.array([3, 4]),)])
    assert_answered(lambda v: [1, 2] * v[0], [(np.array([1, 2]),), (np.array([3, 4]),)])


# -- texts -----------------------------------------------------------------------------------------
TEXTS = {
    "an f-string": lambda x: f"k{x}",
    "str": lambda x: str(x),
    "percent": lambda x: "%s|%9s|%-9s." % (x, x, x),  # noqa: UP031
    "format": lambda x: "{}|{!s}|{:>12}".format(x, x, str(x)),  # noqa: UP032
    "of something": lambda x: f"{x * 2}|{x > 1}|{-x}",
    "print": lambda x: "".join(map(str, [x, x + 1])),
}
NUMBERS = [
    2.5,
    -0.0,
    1e16,
    1e-5,
    float("nan"),
    float("inf"),
    3,
    -7,
    0,
    True,
    False,
    np.float32(0.1),
    np.float16(0.1),
    np.int8(5),
    np.float64(0.1),
]


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_that_of_the_number(name):
    numbers = [x for x in NUMBERS if not isinstance(x, bool) or name != "of something"]
    assert_answered(TEXTS[name], [(x,) for x in numbers])


@given(st.lists(st.floats() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
@settings(max_examples=examples(60))
def test_any_number_reads_as_it_does(numbers):
    assert_answered(lambda x: (str(x), f"{x}", f"{x:.3e}"), [(x,) for x in numbers])


@given(st.lists(st.complex_numbers(), min_size=1, max_size=5))
@settings(max_examples=examples(30))
def test_any_complex_number_reads_as_it_does(numbers):
    assert_answered(lambda x: (str(x), f"{x:.3f}"), [(x,) for x in numbers])


def test_texts_of_arrays_follow_the_print_options():
    f = jit(lambda v: f"{v}|{v[0]}|{v[1:]!s}")
    v, w = np.array([1 / 3, 2.0, 3.0]), np.array([0.0, 2.0, 3.0])
    for given_, digits in [(v, 8), (w, 8), (v, 3), (v, 8), (w, 3), (v, 3)]:
        with np.printoptions(precision=digits):
            assert f(given_) == f"{given_}|{given_[0]}|{given_[1:]!s}"


def test_a_text_can_be_looked_up_and_read_back():
    f = lambda x, n: {"k1": 10.0, "k2": 20.0}.get(f"k{n}", 0.0) * x + float(str(x))  # noqa: E731
    assert_answered(f, [(x, n) for x in (2.0, 3.5) for n in (1, 2, 3)])
    assert jit(fg.grad(f))(2.0, 2) == 20.0


def test_a_format_asks_for_its_text_and_no_more():
    times = []
    f = jit(lambda x: (times.append(0), x * len(f"{x:.0f}"))[1])
    for x in (1.0, 1.1, 0.9, 1.25):
        assert f(x) == x
    assert len(times) == 1
    assert f(10.0) == 20.0
    assert len(times) == 2
    assert "format() of x was '10' for the first time" in f.explain_misses()


def test_what_a_debugger_shows_is_the_formula():
    seen = []
    f = lambda x: (seen.append((repr(x * x), f"{x!r}", str([x]))), x * x)[1]  # noqa: E731
    fg.grad(f)(2.0)
    jit(f)(3.0)
    assert seen == [("‹x*x›", "‹x›", "[‹x›]")] * 2
    x = fg.var("x")
    assert str(x * x) == repr(x * x) == f"{x * x}" == "x*x"
    assert str(fg.gradient(x * x, x)) == "2*x"


def test_what_stands_for_any_value_has_no_text():
    with pytest.raises(TypeError, match=r"str\(\): expected a number.*repr\(x\) for its formula"):
        fg.fori_loop(0, 3, lambda i, c: c + len(str(i)), 1.0)
    assert fg.vmap(lambda x: x * len(repr(x)))(np.ones(2)).shape == (2,)


def test_each_example_has_a_text():
    texts = fg.vmap(lambda x: x * len(f"{x}"))(np.array([0.5, 0.25, 2.0]))
    np.testing.assert_array_equal(texts, [1.5, 1.0, 6.0])


def test_a_text_in_an_error_is_that_of_the_value():
    def f(x):
        if x < 0:
            raise ValueError(f"expected a length, but got {x}")
        return x

    for how in (f, jit(f), fg.grad(f)):
        with pytest.raises(ValueError, match=r"got -1\.5$"):
            how(-1.5)


# -- indices, whole numbers, bits --------------------------------------------------------------------
WHOLE = {
    "a truth as an index": lambda x, n: [x, -x][x > 0] + [1.0, 2.0, 3.0][n > 1],
    "a range of a truth": lambda x, n: len(range(n > 1)) + len("abc"[: x > 0]),
    "trunc": lambda x, n: (math.trunc(x) * x, math.trunc(n)),
    "floor and ceil": lambda x, n: (math.floor(x), math.ceil(x), math.floor(n), math.ceil(n)),
    "round a truth": lambda x, n: (round(x > 0), [5, 6][round(n > 1)]),
    "is_integer": lambda x, n: x * 2 if x.is_integer() else x,
    "as_integer_ratio": lambda x, n: round(x).as_integer_ratio() + n.as_integer_ratio(),
    "bit_length": lambda x, n: n.bit_length() * x,
    "bit_count": lambda x, n: n.bit_count(),
    "shifts": lambda x, n: (n << 2, 1 << abs(n), n >> 1, 100 >> abs(n), n << abs(n)),
    "a shift too far": lambda x, n: 1 << n,
    "a long shift": lambda x, n: (1 << (abs(n) + 90)) % 1009,
    "a power of a ring": lambda x, n: (pow(n, 2, 5), pow(n, abs(n), 7)),
    "an inverse": lambda x, n: pow(n + 0, -1, 7) if n % 7 else 0,
    "negative powers": lambda x, n: (n or 1) ** -1 + (n or 1) ** -2,
    "powers up and down": lambda x, n: (2**n, (n or 1) ** (n - 2), n**2),
    "gcd": lambda x, n: (math.gcd(n, 4), math.gcd(n > 0, 4), math.comb(5, abs(n))),
    "chr and hex": lambda x, n: (chr(65 + abs(n)), hex(n), bin(n), oct(n)),
    "no such method": lambda x, n: x.bit_length(),
    "not an index": lambda x, n: [1, 2][x],
}


@pytest.mark.parametrize("name", one_in(3, WHOLE))
def test_numbers_answer_as_pythons_do(name):
    calls = [(x, n) for x in (2.0, -2.5, 0.5) for n in (3, 1, 0, -2)]
    assert_answered(WHOLE[name], calls)


def test_there_is_no_whole_part_of_an_inf():
    calls = [(x,) for x in (1.5, float("inf"), float("nan"), -3.0)]
    for question in (math.trunc, math.floor, math.ceil, round_to_int):
        assert_answered(lambda x, q=question: q(x) * x, calls)


def round_to_int(x):
    return int(round(x))  # noqa: RUF046


@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 70)), min_size=1, max_size=4))
@settings(max_examples=examples(40))
def test_bits_are_pythons(calls):
    assert_answered(lambda n, k: ((n << k) % 97, n >> k, (n * 3) >> (k // 2)), calls)


def test_bits_of_arrays_and_narrow_integers_are_numpys():
    arrays = [np.array([1, 2, 5]), np.array([-3, 0, 7])]
    assert_answered(lambda v: (v << 2, v >> 1, 3 << abs(v)), [(v,) for v in arrays])
    assert_answered(lambda n: n << 30, [(np.int32(3),), (np.int32(1),)])
    with pytest.raises(TypeError, match="unsupported operand"):
        jit(lambda x: 1 << x)(1.5)
    assert str(fg.var("n", (), int) << 2) == "n << 2"


def test_exponents_that_are_mapped_are_not_asked_for():
    assert fg.vmap(lambda n: 2**n + n**2)(np.arange(3)).tolist() == [1, 3, 8]


# -- lists of the entries ------------------------------------------------------------------------------
def test_tolist_keeps_the_derivative():
    assert_answered(lambda v: v.tolist(), [(np.array([1.0, 2.0]),), (np.ones((2, 2)),)])
    f = lambda v: sum([row[0] * row[1] for row in v.reshape(2, 2).tolist()])  # noqa: E731
    v = np.array([1.0, 2.0, 3.0, 4.0])
    assert fg.grad(f)(v).tolist() == jit(fg.grad(f))(v).tolist() == [2.0, 1.0, 4.0, 3.0]
    x = fg.var("x")
    assert x.tolist() is x


# -- integers for NumPy --------------------------------------------------------------------------------
V = [np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 5.0]), np.array([2.0, 2.0, 0.5])]
GRID = np.arange(6.0).reshape(2, 3)


def stored(n):
    a = np.zeros(4, int)
    a[n] = n
    a[0] = n * 2
    a[2:] = np.array([n, n])
    return a


FOR_NUMPY = {
    "arange": lambda v, n: np.arange(n) * v[0],
    "arange of three": lambda v, n: np.arange(0, 2 * n, n),
    "full": lambda v, n: (np.full(n, 2.0), np.full(2, n)),
    "zeros": lambda v, n: (np.zeros(n), np.ones((n, 2)), np.empty((0, n))),
    "eye": lambda v, n: (np.eye(n), np.eye(3, n), np.eye(3, k=n), np.identity(n), np.tri(n)),
    "linspace": lambda v, n: np.linspace(0.0, 1.0, n),
    "repeat": lambda v, n: (np.repeat([1.0, 2.0], n), np.repeat(v, n), v.repeat([n, 1, n])),
    "tile": lambda v, n: (np.tile([1.0, 2.0], n), np.tile(v, n), np.tile(v, (n, 2))),
    "roll": lambda v, n: (
        np.roll(np.arange(4.0), n),
        np.roll(v, n),
        np.roll(GRID * v, (n, 1), (0, 1)),
    ),
    "split": lambda v, n: np.split(np.concatenate([v, v]), n) + np.split(v, [n, n + 1]),
    "rot90": lambda v, n: np.rot90(GRID * v, n),
    "delete": lambda v, n: np.delete(v, n),
    "axes": lambda v, n: (np.sum(GRID * v, axis=n - 1), np.flip(GRID * v, n - 1)),
    "diagonals": lambda v, n: (np.diag(v, n), np.tril(GRID * v, n), np.triu(GRID * v, k=n)),
    "an array's index": lambda v, n: (
        np.arange(5.0)[n],
        np.arange(5.0)[n:],
        np.arange(5.0)[[n, 0]],
    ),
    "an array's entry": lambda v, n: stored(n),
    "asarray": lambda v, n: (np.asarray(n), np.array([n, n + 1]), np.array(n > 1)),
    "ufuncs of integers": lambda v, n: (np.gcd(n, 4), np.lcm(n, 3), np.left_shift(1, n)),
    "a ufunc's method": lambda v, n: (lambda a: (np.add.at(a, n, 1), a)[1])(np.zeros(3)),
    "unravel_index": lambda v, n: np.unravel_index(n, (3, 3)),
    "random": lambda v, n: np.random.default_rng(0).normal(size=n),
}


@pytest.mark.parametrize("name", one_in(3, FOR_NUMPY))
def test_numpy_takes_a_traced_integer(name):
    assert_answered(FOR_NUMPY[name], [(v, n) for v in V for n in (1, 2)])


def test_numpy_is_refused_what_would_cut_a_gradient():
    for ask in (lambda x: np.full(3, x), lambda x: np.array([x]), lambda x: np.arange(x)):
        with pytest.raises(
            TypeError,
            match=r"array: expected numbers.*write np.stack\(\[\.\.\.\]\).*, or fg.adopt\(f\)",
        ):
            fg.grad(fg.adopt(lambda x, ask=ask: ask(x).sum(), False))(1.0)
    with pytest.raises(TypeError, match="array: expected numbers, but got an expression"):
        np.asarray(fg.var("n", (), int))
    with pytest.raises(TypeError, match="gcd: expected a function with a derivative rule"):
        np.gcd(fg.var("n", (), int), 2)
    with pytest.raises(TypeError, match="packbits: expected a function with a derivative rule"):
        fg.grad(lambda x: np.packbits(x)[0])(np.ones(3))


FACE = {
    "full": lambda np, x, n: (np.full(3, x), np.full(n, x), np.full((n, 2), x), np.full(n, 2.0)),
    "arange": lambda np, x, n: (np.arange(n), np.arange(0.0, x, 0.5), np.arange(n, 9, n)),
    "arange of itself": lambda np, x, n: (np.arange(x), np.arange(stop=x, start=0.0)),
    "arange from a number": lambda np, x, n: (np.arange(x, 6.0), np.arange(x, 6.0, n)),
    "arrays": lambda np, x, n: (np.array([x, n]), np.array([n, n]), np.asarray(n), np.eye(n)),
}


@pytest.mark.parametrize("name", FACE)
def test_the_numpy_face_takes_traced_numbers(name):
    calls = [(x, n) for x in (2.5, 1.0, 3.0) for n in (2, 1, 3)]
    face = lambda x, n: FACE[name](fnp, x, n)  # noqa: E731
    assert_answered(face, calls)
    for x, n in calls:
        assert same(face(x, n), FACE[name](np, x, n))


def test_arange_is_differentiable_in_its_start_and_step():
    f = lambda x: fnp.arange(x, 3.0, 0.5 * x, dtype=float).sum()  # noqa: E731
    assert [jit(fg.grad(f))(x) for x in (1.0, 2.0)] == [7.0, 1.0]
    assert fg.grad(lambda x: fnp.arange(x, dtype=float).sum() * x)(3.0) == 3.0


@pytest.mark.parametrize("step", [0.1, 0.013, 0.37])
def test_arange_rounds_as_numpy_does(step):
    def entries(x, h):
        return fnp.arange(x, x + 90 * step, h)

    def total(x, h):
        made = entries(x, h)
        return made.sum(), made

    for start in np.random.default_rng(0).uniform(-3, 3, 20):
        plain = np.arange(start, start + 90 * step, step)
        _, made = fg.value_and_grad(total, (0, 1), has_aux=True)(start, step)[0]
        assert np.array_equal(made, plain)
        assert np.array_equal(fg.jit(entries)(start, step), plain)
    slopes = fg.grad(lambda x, h: entries(x, h).sum(), (0, 1))(1.0, step)
    count = entries(1.0, step).size
    np.testing.assert_allclose(slopes, [count, count * (count - 1) / 2], rtol=1e-12)


# -- what has no derivative ----------------------------------------------------------------------------
def pairs(v):
    return np.concatenate([v, v[:2]])


WITHOUT = {
    "unique": lambda v: np.unique(v),
    "unique and more": lambda v: tuple(np.unique(pairs(v), True, True, True)),
    "unique rows": lambda v: tuple(np.unique(np.stack([v, v, -v]), True, axis=0)),
    "unique counts": lambda v: tuple(np.unique(np.stack([v, -v]), return_counts=True)),
    "unique of integers": lambda v: np.unique(v.astype(int)),
    "bincount": lambda v: np.bincount(abs(v).astype(int), minlength=3),
    "bincount of a bad place": lambda v: np.bincount(v.astype(int)),
    "bincount with weights": lambda v: np.bincount([0, 2, 2], v),
    "isin": lambda v: (np.isin(v, [2.0, 5.0]), np.isin(v, [[2.0]], invert=True)),
    "digitize": lambda v: (np.digitize(v, [0.0, 2.0]), np.digitize(v, [2.0, 0.0], right=True)),
    "digitize among": lambda v: np.digitize([0.5, 2.0], np.sort(v), right=True),
    "digitize among any": lambda v: np.digitize(1.0, v),
    "array_equiv": lambda v: (np.array_equiv(v, np.stack([v, v])), np.array_equiv(v, [1.0, 2.0])),
    "array_equal": lambda v: v * 2 if np.array_equal(v, [1, 2, 3]) else v,
    "allclose": lambda v: v * 2 if np.allclose(v, [1, 2, 3]) else v,
    "isclose": lambda v: np.isclose(v, [1, 2, 3]),
    "nonzero": lambda v: (np.nonzero(v), np.flatnonzero(v), v[np.nonzero(v)]),
    "searchsorted": lambda v: np.searchsorted([0.0, 1.0, 2.0], v),
    "lexsort": lambda v: np.lexsort((v, np.sign(v))),
    "lexsort of a list": fg.adopt(lambda v: np.lexsort([v, np.sign(np.array(v))])),
    "texts": lambda v: (np.array_str(v), np.array_repr(v), np.array2string(v, precision=2)),
    "text of a number": fg.adopt(lambda v: np.format_float_positional(v[0], 3, trim="-")),
    "scientific text": fg.adopt(lambda v: np.format_float_scientific(x=v[0], precision=2)),
}


@pytest.mark.parametrize("name", one_in(3, WITHOUT))
def test_what_has_no_derivative_is_answered_by_value(name):
    assert_answered(WITHOUT[name], [(v,) for v in V])


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan]), min_size=4, max_size=4)))
@settings(max_examples=examples(40))
def test_unique_is_numpys(rows):
    calls = [(np.array(row),) for row in rows]
    assert_answered(lambda v: tuple(np.unique(v, True, True, True)), calls)
    assert_answered(lambda v: tuple(np.unique(v, True, equal_nan=False)), calls)


def test_what_comes_back_of_entries_keeps_its_derivative():
    weights = np.array([1.0, 10.0])
    f = lambda v: np.sum(np.unique(v) * weights)  # noqa: E731
    g = jit(fg.grad(f))
    assert g(np.array([3.0, 2.0, 3.0])).tolist() == [10.0, 1.0, 0.0]
    assert g(np.array([2.0, 2.0, 3.0])).tolist() == [1.0, 0.0, 10.0]
    h = jit(fg.grad(lambda w, p: np.sum(np.bincount(p, w) ** 2)))
    assert h(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1])).tolist() == [2.0, 10.0, 10.0]
    assert h(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2])).tolist() == [2.0, 4.0, 6.0]


# -- all at once -----------------------------------------------------------------------------------------
# A program is a list of statements on two numbers and an integer.
STATEMENTS = {
    "repeat": lambda a, b, n: (a + sum([b] * (n % 4)), b, n),
    "text": lambda a, b, n: (a + len(f"{b:.1f}"), b, n + len(str(n))),
    "lookup": lambda a, b, n: ({"1": 2.0, "2": 3.0}.get(str(n), 0.5) * a, b, n),
    "pick": lambda a, b, n: ([a, b][a > b], b, n),
    "trunc": lambda a, b, n: (a, b * 0.5, n + math.trunc(b) % 5),
    "shift": lambda a, b, n: (a, b, (n << 1) % 11),
    "inverse": lambda a, b, n: (a + (n or 1) ** -1, b, n),
    "power": lambda a, b, n: (a, b, pow(n, 2, 7)),
    "array": lambda a, b, n: (a + len(np.arange(n % 4)) * b, b, n),
    "whole": lambda a, b, n: (a * 2 if b.is_integer() else a, b + 0.5, n),
    "swap": lambda a, b, n: (b, a - 1.0, n + 1),
}


@given(
    st.lists(st.sampled_from(sorted(STATEMENTS)), min_size=1, max_size=5),
    st.lists(
        st.tuples(st.sampled_from([-2.5, 0.5, 1.0, 3.25]), st.floats(-9, 9), st.integers(-3, 9)),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=examples(60))
def test_programs_that_ask_are_what_they_are(program, calls):
    def f(a, b, n):
        for name in program:
            a, b, n = STATEMENTS[name](a, b, n)
        return a, b, n

    for how in (in_a_trace(f), jit(f)):
        for args in [*calls, *calls[::-1], *calls]:
            assert np.allclose(outcome(how, args), f(*args), rtol=1e-12, atol=1e-12)


def test_a_count_may_have_many_answers():
    f = jit(lambda x, n: len([x] * n) + [*range(20)][n] + len(range(n)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(1.0, n) for n in range(12)] == [3 * n for n in range(12)]
    assert "an index by n was 11 for the first time" in f.explain_misses()
    g = jit(lambda n: (1 << n) + np.arange(n).sum())
    assert [g(n) for n in (2, 5)] == [5, 42]
    assert "item() of n was 5 for the first time" in g.explain_misses()


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f)), fg.jacobian])
@pytest.mark.parametrize("adopted", [True, False])
def test_text_is_formatted_by_a_percent_sign(transform, adopted):
    lines = []

    def square(x):
        lines.append("%.3f, %d, %s" % (x, x, x))  # noqa: UP031
        line = "%(x)g"
        line %= {"x": x}
        lines.append(line)
        return x * x

    transform(fg.adopt(square, adopted))(1.5)
    assert lines[:2] == ["1.500, 1, 1.5", "1.5"]


def test_a_number_behind_a_percent_sign_is_refused_as_ever():
    for f in (lambda x: 7.0 % float(x), lambda x: 7.0 % math.sin(x)):
        with pytest.raises(TypeError, match=r"float\(\): expected a value without a derivative"):
            fg.grad(fg.adopt(f, False))(2.0)
    assert fg.grad(lambda x: 7.0 % x)(2.0) == -3.0


def test_a_question_in_a_body_writes_no_text_before_it_is_refused(monkeypatch):
    """Each question of a long iteration printed its formula: 50 steps took 18 s."""
    written, concrete = [], import_module("funcgrad.expr.concrete")
    text = concrete.one_line
    monkeypatch.setattr(concrete, "one_line", lambda *args: written.append(args) or text(*args))

    def body(a, _):
        x = a
        for _ in range(30):
            step = (x * x - a) / (2 * x)
            x = x - step
            if abs(step) < 1e-10:
                break
        return x + 1.0, x

    final, roots = fg.scan(body, 2.0, np.zeros(3))
    assert len(written) <= 2
    np.testing.assert_allclose(roots[:2], [2**0.5, (1 + 2**0.5) ** 0.5], rtol=1e-12)
    assert final == pytest.approx(1 + roots[2])


def test_a_text_that_shows_formulas_is_no_code():
    """Names in it, as of other variables where it is evaluated, gave other values without a word."""

    def inner(x):
        return eval(f"{[x]}[0]")

    f = lambda x: inner(2 * x) * 1.0  # noqa: E731
    for derivative in (fg.grad(f), fg.grad(fg.adopt(f)), jit(f)):
        with pytest.raises(SyntaxError) as refused:
            derivative(1.3)
        assert "what is read from it has no derivative" in "".join(refused.value.__notes__)
    seen = []
    fg.grad(lambda x: (seen.append(x), x * x)[1])(2.0)
    assert repr(seen) == "[x]"


@pytest.mark.parametrize("x", [3.3e20, -1e19, 2.0**63, 2.5])
def test_a_rounded_number_may_be_longer_than_the_integers_of_programs(x):
    f = lambda x: round(x) * 1e-20 * x  # noqa: E731
    jitted = fg.jit(f)
    assert jitted(2.0) == f(2.0)
    assert jitted(x) == f(x)
    assert fg.value_and_grad(f)(x) == (f(x), round(x) * 1e-20)
    assert fg.jvp(f, (x,), (1.0,)) == (f(x), round(x) * 1e-20)


def test_storing_into_an_array_of_floats_is_refused():
    def store(dtype):
        def f(x):
            a = np.zeros(2, dtype)
            a[0] = x
            return np.sum(a.real) + 0.0 * x

        return fg.adopt(f, False)

    for dtype in (float, complex):
        with pytest.raises((TypeError, ValueError)) as caught:
            fg.grad(store(dtype))(2.0)
        # NumPy may put an error of its own in front.
        assert "write x = x.at[i].set(v)" in str(caught.value.__cause__ or caught.value)
    # A truncated number has derivative zero.
    assert fg.grad(store(int))(2.5) == 0.0

    def fill(x):
        a = np.zeros(2)
        a.fill(x)
        return np.sum(a) + 0.0 * x

    with pytest.raises((TypeError, ValueError)) as caught:
        fg.grad(fg.adopt(fill, False))(2.0)
    assert "write x = x.at[i].set(v)" in str(caught.value.__cause__ or caught.value)
    assert fg.grad(lambda x: x * x.item() + int(x) * x)(2.0) == 6.0


@pytest.mark.parametrize("way", [lambda f: f, fg.jit], ids=["plain", "jit"])
@pytest.mark.parametrize(
    "look",
    [
        lambda x: x if x in {1.0, 2.0} else 0.0,
        lambda x: x * {1.0: 10.0}.get(x, 0.0),
        fg.adopt(functools.cache(lambda x: x * x), False),
    ],
)
def test_a_traced_value_has_no_hash(look, way):
    with pytest.raises(TypeError, match=r"hash: expected a number .* compare it with =="):
        way(fg.grad(look))(2.0)
    assert way(fg.grad(lambda x: x**2 if x in (1.0, 2.0) else x))(2.0) == 4.0


def lookup(x, n):
    return {1.0: 2.0, 2.0: 3.0}[n] * x * len({n, 2 * n, n * 1})


def by_stopped(x):
    seen = {}
    for value in (x, 2 * x, x):
        key = float(fg.stop_gradient(value))
        seen[key] = seen.get(key, 0.0) + value
    return sum(value**2 for value in seen.values())


@pytest.mark.filterwarnings("error")
def test_a_value_without_a_derivative_is_looked_up_by_its_number():
    """Numbers that are equal have one derivative there, zero."""
    for way in (lambda f: f, fg.jit):
        slope = way(fg.grad(lookup))
        assert [slope(0.7, n) for n in (1.0, 2.0, 1.0)] == [4.0, 6.0, 4.0]
        assert way(fg.grad(by_stopped))(0.7) == pytest.approx(16 * 0.7)
        rounded = way(fg.grad(lambda x: {2: 5.0, 1: 3.0}[np.floor(3 * x).astype(int)] * x))
        assert [rounded(0.7), rounded(0.4)] == [5.0, 3.0]
        assert way(fg.grad(lambda x: collections.Counter([np.sign(x), 1.0])[1.0] * x))(0.7) == 2.0
    jitted = fg.jit(lambda x: len({x, 2 * x, -2 * x}) * x)
    assert [jitted(x) for x in (1.0, 0.0, -1.0, -2.0, 1.0)] == [3.0, 0.0, -3.0, -6.0, 3.0]
    cached = fg.jit(functools.cache(lambda x: x * x))
    assert [cached(x) for x in (2.0, 3.0, 2.0)] == [4.0, 9.0, 4.0]
    found = fg.vmap(fg.grad(lambda x: {0.0: 1.0, 1.0: 2.0}[np.floor(x)] * x))(np.array([0.5, 1.5]))
    assert found.tolist() == [1.0, 2.0]


def test_the_advice_for_a_hash_is_right():
    table = {1.5: 2.0, 2.5: 3.0, 1: 5.0, 2: 7.0}

    def look(x):
        return x * table[float(str(x))] * table[int(x)]

    with pytest.raises(TypeError, match=r"look up int\(x\) or float\(str\(x\)\)"):
        fg.grad(lambda x: x * table[x])(1.5)
    for f in (look, fg.adopt(look)):
        for slope in (fg.grad(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
            assert [slope(1.5), slope(2.5)] == [10.0, 21.0]
        assert fg.vmap(fg.grad(f))(np.array([1.5, 2.5])).tolist() == [10.0, 21.0]

    @functools.cache
    def legendre(n, x):
        if n < 2:
            return x**n
        return ((2 * n - 1) * x * legendre(n - 1, x) - (n - 1) * legendre(n - 2, x)) / n

    with pytest.raises(TypeError, match=r"sorted\(points\), write functools.cache for a dict"):
        fg.grad(lambda x: sum(sorted({x, 2 * x})))(1.5)
    assert fg.grad(lambda x: legendre(3, x) + sum(sorted([x, 2 * x])))(1.5) == pytest.approx(18.375)
