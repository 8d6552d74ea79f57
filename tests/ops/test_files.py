"""Arrays in files: known numbers are written, and what would lose a derivative is refused."""

import io

import numpy as np
import pytest

import funcgrad as fg

X = np.array([1.0, -2.0, 0.5])
SAVES = {
    "save": lambda file, x: np.save(file, x),
    "savez": lambda file, x: np.savez(file, values=x),
    "savez_compressed": lambda file, x: np.savez_compressed(file, x, allow_pickle=False),
}


def loaded(file):
    file.seek(0)
    found = np.load(file)
    return found if isinstance(found, np.ndarray) else next(iter(found.values()))


@pytest.mark.parametrize("who", SAVES)
def test_arrays_that_are_differentiated_are_refused(who):
    def loss(x):
        SAVES[who](io.BytesIO(), x)
        return np.sum(x)

    for transform, values in ((fg.grad, X), (fg.jacobian, X), (fg.vmap, np.stack([X, X]))):
        with pytest.raises(
            TypeError, match=rf"{who}: expected numbers.*has_aux=True.*stop_gradient"
        ):
            transform(loss)(values)


@pytest.mark.parametrize("who", SAVES)
def test_numbers_are_written(who):
    file = io.BytesIO()

    def loss(x):
        SAVES[who](file, 2 * fg.stop_gradient(x))
        return np.sum(x**2)

    np.testing.assert_array_equal(fg.grad(loss)(X), 2 * X)
    np.testing.assert_array_equal(loaded(file), 2 * X)


@pytest.mark.parametrize("who", SAVES)
def test_a_jitted_function_writes_its_values_at_each_call(who):
    files = []

    @fg.jit
    def total(x):
        files.append(io.BytesIO())
        SAVES[who](files[-1], x)
        return np.sum(x)

    for values in (X, 3 * X):
        assert total(values) == np.sum(values)
        np.testing.assert_array_equal(loaded(files[-1]), values)


def test_arrays_without_traced_values_are_written():
    file = io.BytesIO()

    def loss(x):
        log = np.zeros(3)
        log[1] = 2.0
        np.save(file, log)
        return np.sum(x)

    np.testing.assert_array_equal(fg.grad(loss)(X), np.ones(3))
    np.testing.assert_array_equal(loaded(file), [0.0, 2.0, 0.0])
