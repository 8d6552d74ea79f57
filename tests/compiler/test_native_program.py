"""Programs compiled to machine code at once, and what is told of those that are not."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native import deferred_code, time_estimate
from funcgrad.compiler.native.deferred_code import DeferredCode
from funcgrad.compiler.native.native_program import NativeProgram
from funcgrad.compiler.python import loop_codegen
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType


def root(a):
    """Each entry's square root, by Newton's iteration."""
    return fg.while_loop(
        lambda x: np.max(np.abs(x * x - a)) > 1e-12, lambda x: (x + a / x) / 2, a + 1.0
    )


def test_a_jitted_function_is_compiled_when_it_is_traced():
    a = np.array([2.0, 3.0])
    f = fg.jit(fg.value_and_grad(lambda a: np.sum(root(a))), native=True)
    for _ in range(3):
        value, gradient = f(a)
        assert value == pytest.approx(np.sum(np.sqrt(a)))
        np.testing.assert_allclose(gradient, 0.5 / np.sqrt(a), rtol=1e-9)
    assert repr(f.program).startswith("# machine code of ")
    assert f.lower(a).machine_code == "the program: machine code"


def test_branches_on_values():
    @fg.jit(native=True)
    def f(x):
        return np.sin(x) * 2 if np.sum(x) > 0 else -x

    for _ in range(2):
        np.testing.assert_allclose(f(np.ones(2)), 2 * np.sin(np.ones(2)))
        np.testing.assert_array_equal(f(-np.ones(2)), np.ones(2))


def test_the_error_names_what_machine_code_has_no_form_for():
    f = fg.jit(lambda x: np.sort(x) * 2, native=True)
    for _ in range(2):
        with pytest.raises(TypeError, match="no form for sorting 70 entries"):
            f(np.ones(70))


def test_programs_on_numbers_stay_in_python():
    f = fg.jit(lambda x: x * x, native=True)
    assert f(3.0) == 9.0
    assert f.lower(3.0).machine_code == "the program: Python, on numbers"


def test_other_backends_are_refused():
    with pytest.raises(ValueError, match="'numpy' alone"):
        fg.jit(np.sin, backend="jax", native=True)


def test_a_program_that_takes_long_says_so():
    x = symbol("x", ArrayType((3,), np.dtype(float)))
    long, _ = fg.scan(lambda y, _: (y * x, None), x, length=10**9)
    program = NativeProgram(flatten_program([long], [x]), at_once=True)
    assert program.function() is None
    assert "could not be interrupted" in program.later.reason


@pytest.mark.parametrize("x", [np.float64(2.0), np.array([2.0, -0.0])])
def test_loops_of_no_iterations_that_use_their_index(x):
    f = fg.jit(lambda x: fg.fori_loop(3, -2, lambda i, y: y * i, x), native=True)
    np.testing.assert_array_equal(f(x), x)
    np.testing.assert_array_equal(np.signbit(f(x)), np.signbit(x))


def test_loops_on_numbers_run_as_python_before_they_are_machine_code():
    rolled = fg.jit(lambda x: fg.fori_loop(0, 50, lambda i, y: np.sin(y) * x, x))
    program, loop = rolled.lower(0.3).machine_code.splitlines()
    assert program.startswith("the program: Python for about ")
    assert loop.startswith("the loop around body1: Python for about ")


def test_what_is_told_of_each_part(monkeypatch):
    monkeypatch.setattr(time_estimate, "cores", lambda: 2)
    x = np.linspace(0.1, 1.0, 3)
    rolled = fg.jit(lambda x: fg.fori_loop(0, 50, lambda i, y: np.sin(y) * x, x))
    program, loop = rolled.lower(x).machine_code.splitlines()
    assert program.startswith("the program: NumPy for about ")
    assert loop.startswith("the loop around body1: NumPy for about ")
    x = np.linspace(0.1, 1.0, 70)
    mixed = fg.jit(lambda x: np.sort(fg.fori_loop(0, 50, lambda i, y: np.sin(y) * x, x)))
    program, loop = mixed.lower(x).machine_code.splitlines()
    assert program == "the program: NumPy: machine code has no form for sorting 70 entries"
    assert loop.startswith("the loop around body1: NumPy for about ")
    large = fg.jit(lambda x: x + x).lower(np.ones(10**6)).machine_code
    assert large == "the program: NumPy: by estimate, it is as fast"


def test_more_arrays_than_can_be_passed_stay_in_numpy():
    given = [np.full(2, float(k)) for k in range(1100)]
    f = fg.jit(lambda xs: np.concatenate(xs), native=True)
    with pytest.raises(TypeError, match=r"1101 inputs and results cannot be passed"):
        f(given)


def test_a_loop_ends_when_its_function_has_failed():
    x = symbol("x", ArrayType((3,), np.dtype(float)))
    n = symbol("n", ArrayType((), np.dtype(np.int64)))
    total = fg.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x[c[0]]), (0, 0.0))[1]
    program = NativeProgram(flatten_program([total], [x, n]), at_once=True)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        program.function()(np.ones(3), 10**9)
    assert not program.later.reason  # that the loop takes long
    assert program.function()(np.ones(3), 3) == (3.0,)


@pytest.fixture
def compiled(monkeypatch):
    """What was compiled, as if that took 50 ms for any program."""
    made = []
    compile = DeferredCode._compile

    def noted(self):
        compile(self)
        made.append(self)

    monkeypatch.setattr(DeferredCode, "_compile", noted)
    monkeypatch.setattr(deferred_code, "_COMPILE", 5e7)
    monkeypatch.setattr(time_estimate, "_COMPILE_NUMBER", 0.0)
    monkeypatch.setattr(time_estimate, "_COMPILE_STEP", 0.0)
    loop_codegen.run_loop.cache_clear()
    yield made
    loop_codegen.run_loop.cache_clear()


def test_a_program_is_compiled_with_its_loops_once_their_time_counts(compiled):
    def loss(x):
        return np.sum(fg.scan(lambda y, _: (y + 0.01 * np.sin(y) * x, None), x, length=100)[0])

    f, x = fg.jit(fg.grad(loss)), np.linspace(0.1, 1.0, 3)
    first = f(x)
    for _ in range(60):  # some 1.2 ms each
        np.testing.assert_allclose(f(x), first, rtol=1e-13)
    assert len(compiled) == 1, "the program, and not its loops"


def test_a_loop_on_numbers_counts_as_python_runs_it(compiled):
    def loss(x):
        return fg.fori_loop(0, 1000, lambda i, y: y + 0.001 * np.sin(y), x[0]) * x[1]

    f, x = fg.jit(loss), np.array([0.5, 2.0])
    for _ in range(200):  # 0.1 ms each, where NumPy would take 3
        f(x)
    assert not compiled


def test_a_program_that_runs_for_long_is_compiled_before_it_runs(compiled):
    def loss(x):
        return np.sum(fg.scan(lambda y, _: (np.cos(y) * x, None), x, length=50_000)[0])

    fg.jit(loss)(np.linspace(0.1, 1.0, 3))
    assert len(compiled) == 1


def test_what_is_told_of_a_function_that_has_run(compiled):
    @fg.jit
    def f(x):
        return fg.fori_loop(0, 50, lambda i, y: np.sin(y) * x, x) if np.sum(x) > 0 else x

    x = np.linspace(0.1, 1.0, 3)
    assert "the loop around body1: " in f.lower(x).machine_code
    while not compiled:
        f(x)
    f(x)
    assert f.lower(x).machine_code == "the program: machine code"
    assert f.lower(-x).machine_code == "the program: NumPy: by estimate, it is as fast"
    assert f.lower(np.ones(4)).machine_code.startswith("the program: NumPy for about ")


@pytest.mark.parametrize("a", [np.array(2.0), np.array([2.0, 3.0]), np.full(3000, 2.0)])
def test_a_loop_that_keeps_no_outputs_needs_no_room(a, monkeypatch):
    """Without memory of its own, machine code was given no room, and NumPy ran it each time."""
    fallbacks = []
    monkeypatch.setattr(NativeProgram, "_failed", lambda *given: fallbacks.append(given))
    f = fg.jit(root, native=True)
    np.testing.assert_allclose(f(a), np.sqrt(a))
    nested = fg.jit(lambda a: fg.fori_loop(0, 3, lambda i, x: root(x * a), a), native=True)
    np.testing.assert_allclose(nested(a), a ** (1 - 0.5**3) * a**0.125)
    assert not fallbacks


def test_a_number_beside_an_array_without_a_broadcast():
    def loss(p, starts):  # in its gradient NumPy broadcasts the 0 of 0 - sum
        def step(x, _):
            return x + 0.01 * np.stack([x[1] * x[0] - p * x[0], x[0]]), None

        return np.sum(fg.vmap(lambda x: fg.scan(step, x, None, length=5)[0])(starts) ** 2)

    starts = np.linspace(0.1, 1.0, 8).reshape(4, 2)
    found = fg.jit(fg.grad(loss), native=True)(2.0, starts)
    np.testing.assert_allclose(found, fg.grad(loss)(2.0, starts), rtol=1e-12)


def test_what_llvm_puts_into_vectors_wrongly_is_compiled_without():
    def loss(p, starts):  # LLVM 22 makes a module of its gradient that is not valid
        def slope(x):
            return np.stack([x[1] * x[0] - p * x[0], x[0]])

        def step(x, _):
            return x + 0.01 * slope(x + 0.1 * slope(x)), None

        return np.sum(fg.vmap(lambda x: fg.scan(step, x, None, length=5)[0])(starts) ** 2)

    starts = np.linspace(0.1, 1.0, 8).reshape(4, 2)
    found = fg.jit(fg.grad(loss), native=True)(2.0, starts)
    np.testing.assert_allclose(found, fg.grad(loss)(2.0, starts), rtol=1e-12)


def test_a_defect_of_the_compiler_leaves_the_function_to_numpy():
    def write():
        raise IndexError("tuple index out of range")

    later = DeferredCode(write, 1, 0.0)
    assert later.code() is None  # it has not run yet
    later.ran(1e12)
    with pytest.warns(RuntimeWarning, match="compiling failed, by IndexError"):
        assert later.code() is None
    assert later.code() is None
    assert "IndexError" in later.explanation()
    with pytest.raises(IndexError, match="tuple index"):
        DeferredCode(write, 1, 0.0, at_once=True).code()


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ni,nij,nj->n", ((300, 6), (300, 6, 6), (300, 6))),
        ("nij,nj->ni", ((300, 6, 6), (300, 6))),
        ("ni,ni->n", ((5000, 3), (5000, 3))),
    ],
)
def test_sums_over_short_axes_that_numpy_computes_one_by_one_become_machine_code(
    subscripts, shapes
):
    pytest.importorskip("llvmlite")
    xs = [np.random.default_rng(k).standard_normal(shape) for k, shape in enumerate(shapes)]
    f = fg.jit(lambda *xs: np.einsum(subscripts, *xs))
    assert "by estimate" not in f.lower(*xs).machine_code


def test_unrolled_loops_of_thousands_of_arrays_may_become_machine_code():
    pytest.importorskip("llvmlite")

    def unrolled(x):
        for _ in range(60):
            x = np.maximum(0.3 * x[:-1] + 0.6 * x[1:], np.cos(x[1:]))
            for c in np.linspace(0.1, 0.2, 13):
                x = x * 0.999 + c * np.sin(x)
        return np.sum(x)

    text = fg.jit(unrolled).lower(np.linspace(0.0, 1.0, 100)).machine_code
    assert "then machine code" in text
    assert "the most" not in text


def test_an_einsum_of_numbers_has_an_estimate():
    x = np.float64(3.0)
    f = fg.jit(
        lambda x, y: np.einsum("...,...->...", x, y) + np.einsum("...i->...", np.ones(2) * y)
    )
    assert f(x, 2.0) == 10.0
