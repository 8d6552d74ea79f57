"""Stores into arguments that are shared: NumPy sees them elsewhere, too."""

import numpy as np
import pytest

import funcgrad as fg


def stores(x, y):
    x[0] = 1.0
    return np.sum(x * y)


@pytest.mark.parametrize(
    "run",
    [
        fg.grad(stores),
        fg.grad(stores, (0, 1)),
        fg.jacfwd(stores),
        lambda x, y: fg.jvp(stores, (x, y), (x, y)),
        lambda x, y: fg.vjp(stores, x, y),
    ],
)
def test_an_array_given_twice_is_refused_if_it_is_stored_into(run):
    a = np.array([2.0, 3.0, 4.0])
    for x, y in ((a, a), (a[:2], a[1:]), (a[:2], a[:2])):
        with pytest.raises(
            TypeError, match="one array as x and as y, and the function stores into x"
        ):
            run(x, y)
    for x, y in ((a, a.copy()), (a[::2][:1], a[1::2])):  # of other entries
        run(x, y)
    np.testing.assert_array_equal(a, [2.0, 3.0, 4.0])


def test_an_array_in_a_list_is_found_by_its_place():
    a = np.array([2.0, 3.0])
    with pytest.raises(TypeError, match="got one array as pair"):
        fg.grad(lambda pair: stores(*pair))([a, a])
    found = fg.grad(lambda pair: stores(*pair))([a, a.copy()])
    np.testing.assert_array_equal(found[1], [1.0, 3.0])


def test_an_array_given_twice_may_be_read():
    a = np.array([2.0, 3.0])
    found = fg.grad(lambda x, y: np.sum(x * y), (0, 1))(a, a)
    np.testing.assert_array_equal(found, [a, a])


def squares(y):
    y[0] = 5.0
    return np.sum(y**2)


def with_rule():
    f = fg.custom_jvp(squares)
    f.defjvp(lambda p, t: (np.sum(p[0] ** 2), np.sum(2 * p[0] * t[0])))
    return f


@pytest.mark.parametrize(
    ("f", "who"), [(fg.checkpoint(squares), "checkpoint"), (with_rule(), "custom_jvp")]
)
def test_a_store_that_the_caller_would_not_see_is_refused(f, who):
    def total(x):
        x = x * 1.0
        return f(x) + x[0]

    assert total(np.array([2.0, 3.0])) == 39.0  # NumPy's
    with pytest.raises(TypeError, match=f"{who}: .* squares stores into an argument.*y.copy"):
        fg.grad(total)(np.array([2.0, 3.0]))
