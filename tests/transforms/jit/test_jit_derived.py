"""jit of functions that are nothing but a derivative: the derived program is taken as it is."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace import pytree
from funcgrad.transforms.jit.guarded_traces import GuardedTraces
from funcgrad.transforms.jit.signature import Static


def wave(x, y):
    return np.sin(x) * y + x**2


both = fg.value_and_grad(wave, (0, 1))


@pytest.mark.parametrize(
    "f",
    [
        both,
        fg.grad(wave),
        fg.grad(wave, 1),
        fg.jacobian(lambda x, y: np.stack([x * y, np.exp(x)])),
        fg.hessian(wave),
        fg.grad(fg.grad(wave)),
        lambda x, y: both(x, y)[0],
        lambda x, y: both(x, y)[1][::-1],
        lambda x, y: [both(x, y)[1][1], both(x, y)[0], 3, "text"],
        lambda x, y: (lambda value, slope: {"a": slope[0], "b": slope[0], "c": value})(*both(x, y)),
        lambda x, y: both(y, x),
        lambda x, y: both(x, x),
        lambda x, y: 2 * both(x, y)[0],
        lambda x, y: (fg.grad(wave)(x, y), fg.grad(wave, 1)(x, y)),
        lambda x, y: (both(x, y)[1], x),
        lambda x, y: both(x + 1, y),
        lambda x, y: both(x, y) if x > 0 else (y, (x, x)),
        lambda x, y: fg.grad(lambda z: z * y)(x),
        lambda x, y: fg.jvp(wave, (x, y), (1.0, 0.0)),
    ],
)
def test_it_gives_what_the_plain_function_gives(f):
    jitted = fg.jit(f)
    for args in ((0.5, 2.0), (0.5, 2.0), (-1.5, 3.0)):
        ours, plain = pytree.flatten(jitted(*args)), pytree.flatten(f(*args))
        assert ours.paths == plain.paths
        for one, other in zip(ours.leaves, plain.leaves, strict=True):
            assert type(one) is type(other)
            if isinstance(one, str):
                assert one == other
            else:
                np.testing.assert_allclose(one, other, rtol=1e-14)


def test_an_array_that_is_captured_is_read_as_ever():
    weights = np.array([1.0, 2.0])
    jitted = fg.jit(fg.grad(lambda x: np.sum(weights * x**2)))
    x = np.array([3.0, 4.0])
    assert jitted(x).tolist() == [6.0, 16.0]
    weights[0] = 5.0
    assert jitted(x).tolist() == [30.0, 16.0]


def test_a_float32_keeps_its_dtype():
    jitted = fg.jit(fg.value_and_grad(lambda x, y: np.sum(x * y)))
    value, slope = jitted(np.ones(3, "float32"), 2.0)
    assert slope.dtype == np.float32
    assert value == 6.0
    scale = np.ones(2, "float32")
    assert fg.jit(fg.grad(lambda y: np.sum(scale * y)))(2.0) == 2.0


def test_its_stages_are_in_the_names_of_the_arguments():
    jitted = fg.jit(fg.grad(wave))
    lowered = jitted.lower(1.0, 2.0)
    assert "y*cos(x) + 2*x" in repr(lowered) or "2*x + y*cos(x)" in repr(lowered)
    assert jitted(1.0, 2.0) == fg.grad(wave)(1.0, 2.0)
    assert "def run" in repr(jitted.program)


def test_the_same_derivative_is_derived_and_lowered_once():
    programs = set()
    for _ in range(3):
        compiled = GuardedTraces(fg.grad(lambda x: np.sin(x) * x * 1.75), Static((), ()))
        compiled((2.0,), {})
        programs.add(compiled.last.step.program)
    assert len(programs) == 1


def test_results_share_no_memory():
    jitted = fg.jit(fg.value_and_grad(lambda x: np.sum(x)))
    x = np.ones(3)
    _, first = jitted(x)
    _, second = jitted(x)
    first[:] = 7.0
    assert second.tolist() == [1.0, 1.0, 1.0]


def test_a_large_array_is_read_at_each_call():
    big, x = np.ones(20_000), np.ones(20_000)
    jitted = fg.jit(fg.grad(lambda z: np.sum(z**2 * big)))
    jitted(x)
    big[0] = 5.0
    assert jitted(x)[0] == 10.0
    assert jitted(x)[1] == 2.0


@pytest.mark.parametrize("log", [np.log2, np.log10])
def test_slopes_of_logarithms_do_not_overflow_on_the_way(log):
    x = 1e308
    slope = fg.grad(lambda x: log(x))(x) * 1e300
    np.testing.assert_allclose(slope, 1e300 / x / np.log({np.log2: 2, np.log10: 10}[log]))
    twice = fg.grad(fg.grad(lambda x, y: log(x) * y), 0)
    np.testing.assert_allclose(twice(1.0, 1e308), -1e308 / np.log({np.log2: 2, np.log10: 10}[log]))


def test_a_derivative_that_is_only_returned_is_not_written_out(monkeypatch):
    monkeypatch.setattr("funcgrad.compiler.program.Program.inline", None)
    gradient = fg.jit(fg.grad(lambda x: np.sin(x["a"]) * 3.0))
    assert gradient({"a": 0.0, "b": 1.0}) == {"a": 3.0, "b": 0.0}
    with pytest.raises(TypeError, match="not callable"):
        fg.jit(lambda x: 2 * fg.grad(np.sin)(x))(1.0)


@pytest.mark.filterwarnings("ignore:the output does not depend")
@pytest.mark.parametrize("transform", [fg.jit, fg.grad])
def test_a_derivative_that_is_constant_is_given_to_a_jitted_function_inside_a_trace(transform):
    def f(y):
        slope = fg.jacobian(lambda a: np.array([1.0, 2.0]) + 0 * a)(y)
        return y * np.sum(fg.jit(lambda slope: slope * 2 + 1)(slope))

    assert transform(f)(1.0) == 2.0
