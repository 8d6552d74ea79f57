"""Arrays of random numbers in adopted code take stores of traced values; the draws are NumPy's."""

import numpy as np
import pytest

import funcgrad as fg

RNG = np.random.default_rng(1)


def descent(k):
    x = np.random.default_rng(0).normal(size=4)
    for _ in range(3):
        x += -0.1 * k * x
    return np.sum(x**2)


def legacy(k):
    rng = np.random.RandomState(0)
    x = rng.randn(4)
    x[0] = k
    x[1:] *= k
    return np.sum(x**2) + rng.uniform()


def of_module(k):  # the legacy functions
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    x = np.random.rand(3)  # noqa: NPY002
    w = np.random.permutation(5.0 * np.arange(3))  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002
    w[:2] = k * x[:2]
    return np.sum(w**2)


def by_class(k):
    rng = np.random.Generator(np.random.PCG64(3))
    assert isinstance(rng, np.random.Generator)
    x = rng.choice([1.0, 2.0, 3.0], 3)
    x[1] = k**3
    rng.shuffle(x)
    return np.sum(x * np.arange(3.0))


def rows(k):
    a = np.zeros((4, 2))
    a[:] = np.outer(np.arange(1.0, 5.0), [k, k * k])
    np.random.default_rng(0).shuffle(a)
    np.random.RandomState(0).shuffle(a)
    np.random.default_rng(0).shuffle(a, axis=1)
    return (a * np.arange(8.0).reshape(4, 2)).sum()


@pytest.mark.parametrize("f", [descent, legacy, of_module, by_class, rows])
def test_arrays_that_are_drawn_take_stores(f):
    h = 1e-6
    slope = (f(0.7 + h) - f(0.7 - h)) / (2 * h)
    value, found = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-14)
    assert found == pytest.approx(slope, rel=1e-7)
    assert fg.grad(fg.adopt(f))(0.7) == found


def test_a_generator_from_outside_draws_in_turn():
    def f(k):
        x = RNG.normal(size=3)
        x[0] = k * x[1]
        return x.sum()

    state = RNG.bit_generator.state
    plain = [f(1.5), RNG.normal()]
    RNG.bit_generator.state = state
    adopted = [float(fg.jvp(fg.adopt(f), (1.5,), (1.0,))[0]), RNG.normal()]
    assert adopted == plain
    assert fg.adopt(lambda: isinstance(RNG, np.random.Generator))()
    assert fg.adopt(lambda: type(RNG) is np.random.Generator)()
    with pytest.raises(TypeError, match="array: expected numbers"):
        fg.grad(fg.adopt(lambda s: RNG.normal(np.array([s, 1.0])).sum()))(1.0)


def test_names_of_numpys_random_are_numpys():
    for name in np.random.__all__:
        own, adopted = (
            getattr(np.random, name),
            fg.adopt(lambda name=name: getattr(np.random, name))(),
        )
        assert callable(own) == callable(adopted), name
        assert isinstance(own, type) == isinstance(adopted, type), name
    state = np.random.get_state()  # noqa: NPY002
    drawn = fg.adopt(lambda: np.random.random(3))()  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002
    np.testing.assert_array_equal(drawn, np.random.random(3))  # noqa: NPY002


def test_generators_that_are_returned_are_numpys():
    made = fg.adopt(lambda: (np.random.default_rng(0), [np.random.RandomState(0)]))()
    assert type(made[0]) is np.random.Generator
    assert type(made[1][0]) is np.random.RandomState
    assert made[0].normal() == np.random.default_rng(0).normal()

    def drawn_once(kind):
        rng = kind(0)
        return rng.normal(), rng

    for kind in (np.random.default_rng, np.random.RandomState):
        (first, adopted), (wanted, plain) = fg.adopt(drawn_once)(kind), drawn_once(kind)
        assert (first, type(adopted)) == (wanted, type(plain))
        assert type(adopted.normal(size=2)) is np.ndarray
        assert adopted.normal() == (plain.normal(size=2), plain.normal())[1]

    def with_generator(x):
        rng = np.random.default_rng(0)
        a = rng.normal(size=2)
        a[0] = x
        return a.sum() ** 2, rng

    (_, rng), _ = fg.value_and_grad(with_generator, has_aux=True)(1.0)
    assert type(rng) is np.random.Generator
