"""Code that once gave a wrong number, or an error that did not help."""

import enum

import numpy as np
import pytest

import funcgrad as fg


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


def test_large_arrays_are_read_only_while_a_function_runs():
    a, b, x = np.ones(20_000), np.ones((2, 20_000)), np.ones(20_000)

    def f(x, write):
        s = np.sum(x * a) + np.sum(x * b[1])
        write()
        return s

    def overwrite(array):
        array[...] = 2.0

    for array in (a, b):
        with pytest.raises(ValueError, match=r"read-only: expected large arrays .* a\.copy\(\)"):
            fg.grad(f)(x, lambda array=array: overwrite(array))
    with pytest.raises(ValueError, match="read-only"):
        fg.grad(lambda x: fg.grad(f)(x, lambda: overwrite(a))[0])(x)
    np.testing.assert_array_equal(fg.grad(f)(x, lambda: None), 2.0)
    overwrite(a)
    overwrite(b)
    with pytest.raises(ValueError, match="^mine$"):
        fg.grad(f)(x, lambda: (_ for _ in ()).throw(ValueError("mine")))
    overwrite(x)


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
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for array in (masked, matrix):
        with pytest.raises(TypeError, match=r"grad: expected a plain array, but got a [Mm]a"):
            fg.grad(np.sum)(array)
        with pytest.raises(TypeError, match=r"operand: expected a plain array, but got a [Mm]a"):
            fg.grad(lambda x, a=array: np.sum(x * a))(np.ones(2))


def test_complex_constants_keep_the_signs_of_their_zeros():
    values = (-1 + 0j, complex(-1, -0.0))
    expected = [np.sqrt(v) for v in values]
    one = fg.const(0j)
    got = [fg.evaluate(np.sqrt(one * 0 + v)) for v in values]
    signs = [fg.expr.scalar(v, np.dtype(complex)).params[0][1].array.imag for v in values]
    assert [np.signbit(s) for s in signs] == [False, True]
    assert expected[0] == got[0]


# -- Python's questions ------------------------------------------------------------------------------
def test_storing_into_an_array_of_any_dtype_is_refused():
    def store(dtype):
        def f(x):
            a = np.zeros(2, dtype)
            a[0] = x
            return np.sum(a.real) + 0.0 * x

        return f

    for dtype in (float, complex, int):
        with pytest.raises((TypeError, ValueError)) as caught:
            fg.grad(store(dtype))(2.0)
        # NumPy may put an error of its own in front.
        assert "item assignment: expected" in str(caught.value.__cause__ or caught.value)

    def fill(x):
        a = np.zeros(2)
        a.fill(x)
        return np.sum(a) + 0.0 * x

    with pytest.raises((TypeError, ValueError)) as caught:
        fg.grad(fill)(2.0)
    assert "item assignment: expected" in str(caught.value.__cause__ or caught.value)
    assert fg.grad(lambda x: x * float(x) + int(x) * x + complex(x).real * x)(2.0) == 6.0


def test_expressions_as_keys():
    assert {fg.var("x"): 1}[fg.var("x")] == 1
    assert len({fg.var("x"), fg.var("x"), fg.var("y")}) == 2
    assert not bool(fg.var("x") != fg.var("x"))
    with pytest.raises(TypeError, match=r"bool\(\): expected a number"):
        bool(fg.var("x") == fg.var("y"))
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
    with pytest.raises(TypeError, match=r"by position, but got none; write f\(2\.0\)"):
        fg.grad(lambda x: x * x)(x=2.0)


def test_index_updates_show_what_they_are():
    x = fg.var("x", 3)
    assert repr(x.at).startswith("(x).at; index it")
    assert repr(x.at[0]).startswith("(x).at[0]; say")
