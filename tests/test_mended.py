"""Code that once gave a wrong number, or an error that did not help."""

import collections
import enum
import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.__main__ import main


# -- arrays that change ------------------------------------------------------------------------------
def test_a_buffer_that_is_used_again_counts_with_what_it_held():
    a, index = np.zeros(3), np.zeros(1, int)

    def f(x):
        s = 0.0
        for i in range(3):
            a[:] = i + 1
            index[:] = i
            s = s + np.sum(x * a) + 10 * x[index][0]
        return s

    value, slope = fg.value_and_grad(f)(np.ones(3))
    assert value == f(np.ones(3)) == 48
    np.testing.assert_array_equal(slope, [16.0, 16.0, 16.0])


def test_a_buffer_in_an_inner_function_and_one_in_a_formula():
    a = np.ones(2)

    def f(x):
        inner = fg.grad(lambda y: np.sum(x * y * a))(x)
        a[:] = 5.0
        return np.sum(inner * a)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(2)), [5.0, 5.0])
    a[:] = 1.0
    x = fg.var("x", 2)
    formula = fg.grad(lambda x: np.sum(x * a))(x)
    a[:] = 7.0
    np.testing.assert_array_equal(fg.evaluate(formula), [1.0, 1.0])


@pytest.mark.parametrize("n", [3, 100_000])
def test_a_pullback_keeps_its_point(n):
    x, c = np.ones(n), np.ones(n)
    _, pullback = fg.vjp(lambda x: c * x**3, x)
    x[:], c[:] = 100.0, 100.0
    np.testing.assert_array_equal(pullback(np.ones(n))[0], 3.0)


def test_an_array_that_was_read_only_stays_so():
    a = np.ones(20_000)
    a.flags.writeable = False
    wide = np.broadcast_to(np.ones(2), (10_000, 2))
    fg.grad(lambda x: np.sum(x * a) + np.sum(x[:2] * wide))(np.ones(20_000))
    assert not a.flags.writeable
    assert not wide.flags.writeable


def test_the_same_array_is_one_constant():
    a = np.ones(3)
    both = fg.trace(lambda x: (x * a, x * a), np.ones(3))
    assert both[0].key == both[1].key
    products = []
    fg.grad(lambda x: products.extend([x * a, x * a]) or np.sum(x))(np.ones(3))
    assert products[0].args[1] is products[1].args[1]


# -- operands ----------------------------------------------------------------------------------------
class Half(float):
    pass


class Level(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize("two", [Half(2), Level.TWO])
def test_subclasses_of_numbers(two):
    assert fg.grad(lambda x: x * two + two / x)(2.0) == pytest.approx(1.5)


def test_arrays_whose_meaning_would_be_lost_are_refused():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(TypeError, match=r"grad: expected a plain array, but got a matrix"):
        fg.grad(np.sum)(matrix)
    for array in (np.ma.masked_array([1.0, 2.0], [True, False]), matrix):
        with pytest.raises(TypeError, match=r"operand: expected a plain array, but got a [Mm]a"):
            fg.grad(fg.adopt(lambda x, a=array: np.sum(x * a), False))(np.ones(2))


def test_complex_constants_keep_the_signs_of_their_zeros():
    values = (-1 + 0j, complex(-1, -0.0))
    expected = [np.sqrt(v) for v in values]
    one = fg.const(0j)
    got = [fg.evaluate(np.sqrt(one * 0 + v)) for v in values]
    signs = [fg.expr.scalar(v, np.dtype(complex)).params[0][1].array.imag for v in values]
    assert [np.signbit(s) for s in signs] == [False, True]
    assert expected[0] == got[0]


# -- Python's questions ------------------------------------------------------------------------------
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


def test_expressions_as_keys():
    assert {fg.var("x"): 1}[fg.var("x")] == 1
    assert len({fg.var("x"), fg.var("x"), fg.var("y")}) == 2
    assert not bool(fg.var("x") != fg.var("x"))
    assert not bool(fg.var("x") == fg.var("y"))
    with pytest.raises(TypeError, match=r"bool\(\): expected a number"):
        bool(fg.var("x") + 1 == fg.var("y"))
    nan = fg.const(np.nan)
    assert not bool(nan * 1 == nan * 1)


def test_questions_of_untraced_constants_take_linear_time():
    x = fg.const(1.0)
    for _ in range(3000):
        x = x + 1.0
        assert x > 0
    walked = []
    original = fg.expr.subexpressions
    try:
        fg.expr.subexpressions = lambda *roots: walked.append(1) or original(*roots)
        float(x)
    finally:
        fg.expr.subexpressions = original
    assert not walked


def test_arguments_are_named_once_and_given_by_position():
    with pytest.raises(TypeError, match=r"grad: expected each argument once, .* argnums=\(0, 0\)"):
        fg.grad(lambda x: x * x, argnums=(0, 0))(3.0)
    with pytest.raises(TypeError, match="each argument once"):
        fg.grad(lambda x, y: x * y, argnums=(1, -1))(3.0, 4.0)
    with pytest.raises(TypeError, match=r"by position, but got none; write grad\(f\)\(2\.0\)"):
        fg.grad(lambda x: x * x)(x=2.0)


def test_index_updates_show_what_they_are():
    x = fg.var("x", 3)
    assert repr(x.at).startswith("(x).at; index it")
    assert repr(x.at[0]).startswith("(x).at[0]; say")


# -- values and slopes -------------------------------------------------------------------------------
def test_a_mean_of_float16_is_summed_in_float32():
    x = np.ones(70_000, np.float16)
    value, slope = fg.value_and_grad(np.mean)(x)
    assert value == np.mean(x) == 1.0
    assert value.dtype == slope.dtype == np.float16


def test_nan_wins_in_a_maximum():
    nan = np.nan
    np.testing.assert_array_equal(fg.grad(np.max)(np.array([1.0, nan])), [0.0, 1.0])
    np.testing.assert_array_equal(fg.grad(np.min)(np.array([nan, 1.0])), [1.0, 0.0])
    for f in (np.maximum, np.minimum):
        assert fg.grad(f, (0, 1))(nan, 1.0) == (1.0, 0.0)
        assert fg.grad(f, (0, 1))(1.0, nan) == (0.0, 1.0)
        assert fg.grad(f, (0, 1))(1.0, 1.0) == (0.5, 0.5)


def test_the_sign_of_a_complex_value_is_no_constant():
    z = np.array([1 + 2j, -3 + 0.5j])
    fg.check_grads(np.sign, (z,))
    np.testing.assert_allclose(fg.vjp(np.sign, z)[0], np.sign(z))
    assert fg.vjp(np.sign, 0j)[0] == 0
    assert fg.grad(lambda x: np.sign(x) * x)(-2.0) == -1.0


def test_second_derivatives_where_one_term_of_a_logarithm_of_sums_rounds_away():
    zero, low = np.float32(0), np.float32(-18)
    weight = np.exp(-18.0)
    for f, w in ((np.logaddexp, weight), (np.logaddexp2, 2.0**-18 * np.log(2))):
        for i, j, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            second = fg.grad(fg.grad(f, i), j)(zero, low)
            np.testing.assert_allclose(second, sign * w / (1 + w) ** 2, rtol=1e-4)
    inf = np.inf
    assert fg.grad(np.logaddexp, (0, 1))(inf, 0.0) == (1.0, 0.0)
    assert fg.grad(np.logaddexp, (0, 1))(0.0, -inf) == (1.0, 0.0)
    assert fg.grad(np.logaddexp, (0, 1))(-inf, -inf) == (0.5, 0.5)
    x = np.array([0, -18], np.float32)
    mixed = fg.grad(lambda x: fg.grad(fg.logsumexp)(x)[0])(x)[1]
    np.testing.assert_allclose(mixed, -weight, rtol=1e-4)


# -- evaluate and simplify ---------------------------------------------------------------------------
def test_a_variable_of_integers_takes_whole_numbers_that_it_holds():
    n = fg.var("n", dtype=int)
    assert n(n=2.0) == n(n=True) + 1 == 2
    with pytest.raises(TypeError, match=r"evaluate: expected int64.* for n, but got 2\.7"):
        n(n=2.7)
    with pytest.raises(TypeError, match="but got 1000"):
        fg.var("n", dtype=np.int8)(n=1000)
    with pytest.raises(TypeError, match="evaluate: expected"):
        fg.var("n", 2, np.int8)(n=np.array([1, 1000]))
    with pytest.raises(TypeError, match="evaluate: expected"):
        fg.var("n", 2, int)(n=np.array([1.0, 2.0]))


def test_numbers_are_no_expressions():
    with pytest.raises(TypeError, match="simplify: expected an expression, but got float"):
        fg.simplify(3.0)
    with pytest.raises(TypeError, match="evaluate: expected an expression, but got float"):
        fg.evaluate(3.0)


# -- funcgrad.numpy ----------------------------------------------------------------------------------
def test_float64_is_a_dtype():
    assert fnp.zeros(3, dtype=fnp.float64).dtype == np.float64
    assert isinstance(np.float64(1), fnp.float64)
    assert not isinstance(1.0, fnp.float64)
    assert issubclass(np.float64, fnp.float64)
    assert np.ones(2, np.float32).astype(fnp.float64).dtype == np.float64
    assert fnp.finfo(fnp.float64).eps == np.finfo(float).eps
    assert type(fnp.float64(2)) is np.float64
    assert fg.grad(lambda x: fnp.float64(x) ** 2)(np.float32(3.0)) == 6.0


def test_an_array_of_expressions_has_the_axes_asked_for():
    x = fg.var("x", 3)
    assert fnp.array(x, ndmin=2).shape == (1, 3)
    assert fnp.array([x, x], ndmin=4, copy=True).shape == (1, 1, 2, 3)
    assert fnp.array([1.0], ndmin=2).shape == (1, 1)
    assert fnp.asarray(x, float).sum().key == x.sum().key
    assert fnp.array(x, subok=True).shape == (3,)
    with pytest.raises(TypeError, match="array: expected no ndmax with traced values"):
        fnp.array(x, ndmax=2)


# -- formulas ----------------------------------------------------------------------------------------
A = fg.var("A", (2, 2))
X, Y, Z = fg.var("x"), fg.var("y"), fg.var("z")


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((A + 1).T, "(A + 1).T"),
        (A.T, "A.T"),
        (np.sin(A).T, "sin(A).T"),
        ((A + 1)[0, 1:], "(A + 1)[0, 1:]"),
        (-(Z % X), "-(z % x)"),
        (-(Z * X), "-z*x"),
        (X * (Y // Z), "x*(y // z)"),
        (X * (Y % Z), "x*(y % z)"),
        ((X * Y) % Z, "x*y % z"),
        (X % (Y * Z), "x % (y*z)"),
        ((X % Y) % Z, "(x % y) % z"),
        ((X % Y) * Z, "(x % y)*z"),
        ((X % Y) + Z, "x % y + z"),
        ((X < Y) == (Y < Z), "(x < y) == (y < z)"),
        ((X < Y) & (Y < Z), "(x < y) & (y < z)"),
        ((X + Y).astype(int) * 2, "(x + y).astype(int64)*2"),
        ((X > Y).astype(float) * Z, "(x > y)*z"),
        (np.sin(fg.const(-2.0) * X) + fg.const(-2.0) * Y, "sin(-2*x) - 2*y"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_formulas_mean_what_they_say(expr, expected):
    assert repr(expr) == expected


def test_a_constant_that_is_shared_has_no_name():
    c = fg.const(-2.0)
    assert repr(np.sin(c * X) * (c + Y)) == "sin(-2*x)*(-2 + y)"


# -- what is asked for in another way ----------------------------------------------------------------
def test_hints_name_what_is_near_or_nothing():
    with pytest.raises(TypeError, match=r"rule, but it has none; declare one by fg\.primitive"):
        fg.grad(lambda x: np.packbits(x)[0])(np.ones(3))
    with pytest.raises(TypeError, match="the nearest by name that has one is 'bitwise_or'"):
        fg.grad(lambda x: np.bitwise_count(x))(np.ones(2))
    with pytest.raises(TypeError, match=r"order 'C' or 'F', but got 'A'"):
        fg.grad(fg.adopt(lambda x: np.sum(np.reshape(x, (2, 2), order="A")), False))(np.ones(4))


def test_more_names_of_numpy():
    assert fg.grad(np.degrees)(1.0) == pytest.approx(180 / np.pi)
    assert fg.grad(np.radians)(1.0) == pytest.approx(np.pi / 180)
    x = np.array([3.0, 0.0, 2.0])
    assert fg.grad(lambda x: np.sum(x[np.where(x)]))(x).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_average(axis, keepdims):
    rng = np.random.default_rng(0)
    x, whole = rng.random((3, 4)), rng.random((3, 4))
    along = rng.random(12 if axis is None else x.shape[axis])
    for weights in (None, whole, *([] if axis is None else [along])):

        def f(x, w=weights):
            return np.average(x, axis, w, keepdims=keepdims)

        value, _ = fg.vjp(f, x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        fg.check_grads(f, (x,), order=1)
    total = fg.vjp(lambda x: np.average(x, axis, whole, returned=True), x)[0][1]
    np.testing.assert_allclose(total, np.average(x, axis, whole, returned=True)[1])
    assert fg.grad(lambda w: np.average([1.0, 3.0], weights=w))(np.ones(2)).tolist() == [-0.5, 0.5]
    with pytest.raises(TypeError, match="average: expected axis for weights of another shape"):
        fg.grad(lambda x: np.average(x, weights=np.ones(5)))(np.ones(4))


def test_variables_of_strange_shapes_and_dtypes():
    assert fg.var("v", np.int64(3)).shape == (3,)
    assert fg.var("v", [2, np.int8(3)]).shape == (2, 3)
    for shape in (1.5, (2.0,), "ab"):
        with pytest.raises(TypeError, match=r"var: expected a length .* write var\('v', 3\)"):
            fg.var("v", shape)
    for dtype in (object, "U5"):
        with pytest.raises(TypeError, match="var: expected a dtype of numbers"):
            fg.var("v", (), dtype)


def test_check_grads_of_single_precision():
    fg.check_grads(np.sin, (np.float32(0.5),))
    fg.check_grads(lambda x: np.sum(np.tanh(x) ** 2), (np.linspace(-1, 1, 5, dtype=np.float32),))
    with pytest.raises(AssertionError, match="check_grads: expected the derivative"):
        fg.check_grads(lambda x: x * fg.stop_gradient(x), (np.float32(0.5),))


@pytest.mark.parametrize("formula", ["min(x,2)", "max(x,y)"])
def test_the_command_names_the_function_of_two_numbers(formula, capsys):
    assert main([formula, "x=1", "y=2"]) == 2
    assert f"use {formula[:3]}imum(x, y)" in capsys.readouterr().err


# -- hashes --------------------------------------------------------------------------------------------
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


def test_a_formula_hashes_by_its_key():
    x = fg.var("x")
    assert len({x, x + 1, fg.var("x") + 1}) == 2
    assert x.graph[x].op.name == "input"
    # A gradient map is asked by key, also inside a trace.
    for value in np.linspace(0.5, 10, 20):
        assert fg.grad(lambda x: fg.backprop(x**2)[x])(value) == 2.0


def test_generated_code_is_no_line_of_the_users():
    from funcgrad import source

    text = "def ask(): return caller()\ndef place(): return ask()"
    space = {"caller": source.caller}
    exec(compile(text, "<funcgrad program 1>", "exec"), space)
    code, _ = space["place"]()
    assert code.co_filename == __file__


# -- blocks ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_last_block_of_one_row(dtype):
    def f(x, y):
        return np.sum(np.log(fg.softplus(np.logaddexp(x, np.log(y)))) * y)

    for rows in range(17, 42, 4):
        x = np.linspace(-1.0, 1.0, 900).reshape(300, 3).astype(dtype)
        y = np.linspace(0.5, 2.0, 900 * rows).reshape(rows, 300, 3).astype(dtype)
        slope = fg.grad(f, argnums=1)
        want = slope(x, y)
        np.testing.assert_allclose(fg.jit(slope)(x, y), want, atol=8 * np.finfo(dtype).eps)


# -- trees -------------------------------------------------------------------------------------------
def test_what_jit_returns_has_the_defaults_of_this_call():
    same = fg.jit(lambda tree: tree)
    for kind in (list, int):
        assert same(collections.defaultdict(kind, a=1.0)).default_factory is kind


def test_norms_of_sizes_zero_and_equal_singular_values():
    at = np.array([[0.0, 4.0, 1.0]])
    norm = lambda x: np.sum(np.linalg.norm(x, 0.5, axis=1))  # noqa: E731
    np.testing.assert_allclose(fg.grad(norm)(at), [[0.0, 1.5, 3.0]], rtol=1e-14)
    np.testing.assert_array_equal(fg.jacfwd(norm)(at), fg.grad(norm)(at))
    for order in (2, "nuc"):
        slope = fg.grad(lambda a, order=order: np.linalg.norm(a, order))
        np.testing.assert_array_equal(slope(np.zeros((3, 2))), np.zeros((3, 2)))
        np.testing.assert_allclose(slope(np.diag([0.0, 3.0]))[1], [0.0, 1.0])
    for p in (None, -2):
        slope = fg.grad(lambda a, p=p: np.linalg.cond(a, p))
        np.testing.assert_allclose(slope(2 * np.eye(3)), np.zeros((3, 3)), atol=1e-16)
    np.testing.assert_allclose(fg.grad(np.linalg.cond)(np.diag([4.0, 2.0])), np.diag([0.5, -1.0]))


def test_relative_entropy_of_absent_terms():
    special = pytest.importorskip("scipy.special")
    p, q = np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.25, 0.75])
    for f, at_zero in ((special.rel_entr, (0.0, 0.0)), (special.kl_div, (-1.0, 1.0))):
        for k in (0, 1):
            slope = fg.grad(lambda p, q, f=f: np.sum(f(p, q)), k)
            found = slope(p, q)
            assert found[0] == at_zero[k]
            np.testing.assert_array_equal(found[1:], slope(p[1:], q[1:]))
            np.testing.assert_allclose(fg.jit(slope)(p, q), found)
            assert fg.grad(lambda p, q, s=slope: s(p, q)[0])(p, q)[0] == 0


def test_unwrapped_angles_have_slope_one_at_steps_of_half_a_period():
    for x in ([0.0, np.pi, 2 * np.pi, 7.0], [0.0, -np.pi, 8.0, np.nan]):
        x = np.array(x)
        value, slope = fg.jvp(np.unwrap, (x,), (np.ones(4),))
        np.testing.assert_array_equal(value, np.unwrap(x))
        np.testing.assert_array_equal(slope[:3], np.ones(3))
        back = fg.jit(fg.grad(lambda x: np.sum(np.unwrap(x)[:3])))(x)
        np.testing.assert_array_equal(back, [1.0, 1.0, 1.0, 0.0])
    period = fg.grad(lambda p: np.sum(np.unwrap(np.array([0.0, 4.0, 9.0]), period=p)))(3.0)
    assert period == -4.0


def test_inverses_of_incomplete_functions_at_the_ends():
    special = pytest.importorskip("scipy.special")
    for y in (0.0, 1.0):
        assert fg.grad(special.betaincinv, (0, 1))(2.0, 3.0, y) == (0.0, 0.0)
    assert fg.grad(special.gammaincinv)(2.0, 0.0) == 0.0
    # The slope in the degrees of freedom is 0 at the median, and not constant.
    assert fg.grad(fg.grad(special.stdtrit), 1)(3.0, 0.5) == pytest.approx(-0.0720455, rel=1e-5)
    assert fg.grad(special.powm1, (0, 1))(0.0, 2.0) == (0.0, 0.0)
