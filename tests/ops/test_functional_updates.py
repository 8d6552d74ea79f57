"""``x.at[i]`` with JAX's names and modes: repeated entries, and indices out of bounds."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.ops.indexing import add_at
from tests.default_slice import one_in

UFUNCS = {"max": np.maximum, "min": np.minimum, "multiply": np.multiply, "mul": np.multiply}
RNG = np.random.default_rng(5)
X, V = RNG.standard_normal((4, 3)), RNG.standard_normal((9, 3))
IDS = np.array([0, 3, 3, 1, 3, 0, 3, 3, 0])
BEYOND = np.array([0, 9, -1, -7])


def everywhere(f, *args):
    """The value, checked in both modes, to the second order, under jit and vmap."""
    value = fg.vjp(f, *args)[0]
    np.testing.assert_array_equal(fg.jit(f)(*args), value)
    stacks = [np.stack([a, 2 * a]) for a in args]
    for k, row in enumerate(fg.vmap(f)(*stacks)):
        np.testing.assert_allclose(row, fg.jit(f)(*[s[k] for s in stacks]))
    fg.check_grads(lambda *a: f(*a) ** 2, args, order=2)
    return value


@pytest.mark.parametrize(
    ("how", "dtype"), one_in(5, itertools.product(UFUNCS, [float, np.float32, int]))
)
def test_repeated_entries_change_each_time(how, dtype):
    x, v = (10 * X).astype(dtype), (10 * V).astype(dtype)
    expected = x.copy()
    UFUNCS[how].at(expected, IDS, v)
    value = fg.jit(lambda x: getattr(x.at[IDS], how)(v))(x)
    assert value.dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    if dtype is float:
        everywhere(lambda x, v: getattr(x.at[IDS], how)(v), X, V)


def test_ties_of_repeated_entries_share_equally():
    ids = np.array([0, 0, 0, 1])
    for how, sign in (("max", 1.0), ("min", -1.0)):
        loss = lambda x, v, how=how: getattr(x.at[ids], how)(v)[0]  # noqa: E731
        gx, gv = fg.grad(loss, (0, 1))(np.full(2, sign), sign * np.array([1.0, 0.0, 1.0, 5.0]))
        np.testing.assert_allclose(gx, [1 / 3, 0.0])
        np.testing.assert_allclose(gv, [1 / 3, 0.0, 1 / 3, 0.0])


def test_maxima_of_segments():
    def maxima(v):
        return fnp.full((5, 3), -fnp.inf).at[IDS].max(v)

    value, pullback = fg.vjp(maxima, V)
    np.testing.assert_array_equal(value[3], V[IDS == 3].max(axis=0))
    assert np.all(np.isneginf(value[[2, 4]]))
    np.testing.assert_array_equal(pullback(np.ones((5, 3)))[0].sum(axis=0), np.full(3, 3.0))
    assert np.isnan(maxima(np.where(np.arange(9)[:, None] == 2, np.nan, V))[3]).all()


def test_quotients_differences_powers_and_functions():
    x, v = X**2 + 0.5, V[:2] ** 2 + 0.5
    rows = {
        "subtract": lambda x, v: x - v,
        "divide": lambda x, v: x / v,
        "power": lambda x, v: x**v,
    }
    for how, plain in rows.items():
        value = everywhere(lambda x, v, how=how: getattr(x.at[1:3], how)(v), x, v)
        np.testing.assert_array_equal(value, np.concatenate([x[:1], plain(x[1:3], v), x[3:]]))
    value = everywhere(lambda x: x.at[[0, 2]].apply(np.sin), x)
    np.testing.assert_array_equal(value[[0, 2]], np.sin(x[[0, 2]]))
    twice = everywhere(lambda x: x.at[[0, 0]].subtract(1.0), x)
    np.testing.assert_array_equal(twice[0], x[0] - 2)
    twice = everywhere(lambda x: x.at[[0, 0]].divide(2.0), x)
    np.testing.assert_allclose(twice[0], x[0] / 4)


@pytest.mark.parametrize(
    ("mode", "how"),
    one_in(3, itertools.product(["drop", "fill"], ["set", "add", "multiply", "max"])),
)
def test_updates_out_of_bounds_are_dropped(mode, how):
    v = V[:4]
    value = everywhere(lambda x, v: getattr(x.at[BEYOND], how)(v, mode=mode), X, v)
    inside = [0, 2]
    expected = fg.jit(lambda x: getattr(x.at[BEYOND[inside]], how)(v[inside]))(X)
    np.testing.assert_array_equal(value, expected)


def test_updates_out_of_bounds_are_clipped():
    value = everywhere(lambda x, v: x.at[BEYOND, 1].add(v[:, 1], mode="clip"), X, V[:4])
    expected = X.copy()
    np.add.at(expected, ([0, 3, 3, 0], 1), V[:4, 1])
    np.testing.assert_allclose(value, expected)


def test_entries_out_of_bounds_are_filled_or_clipped():
    value = everywhere(lambda x: x.at[BEYOND].get(mode="fill", fill_value=7.0), X)
    np.testing.assert_array_equal(value, [X[0], np.full(3, 7.0), X[3], np.full(3, 7.0)])
    value = everywhere(lambda x: x.at[..., BEYOND].get(mode="clip"), X)
    np.testing.assert_array_equal(value, X[:, [0, 2, 2, 0]])
    value = everywhere(lambda x: x.at[None, BEYOND, BEYOND].get(mode="fill", fill_value=0.0), X)
    np.testing.assert_array_equal(value, [[X[0, 0], 0.0, X[3, 2], 0.0]])
    for dtype, fill in ((float, np.nan), (np.int8, -128), (np.uint8, 255), (bool, True)):
        found = fg.jit(lambda x: x.at[[9]].get(mode="fill"))(np.zeros(2, dtype))
        np.testing.assert_array_equal(found, [fill])
        assert found.dtype == dtype
    place = np.array(9)
    found = fg.jit(lambda x, i: x.at[i].get(mode="fill", fill_value=0.0))
    assert found(V[:, 0], place) == 0.0
    assert found(V[:, 0], place - 1) == V[8, 0]
    hints = {"indices_are_sorted": True, "unique_indices": True, "mode": "promise_in_bounds"}
    np.testing.assert_array_equal(fg.jit(lambda x: x.at[fnp.array([0, 1])].get(**hints))(X), X[:2])
    made = fnp.zeros(3).at[fnp.array([0, 5])].add(fnp.ones(2), mode="drop")
    np.testing.assert_array_equal(made, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((6,), (np.array([[0, 5, 0], [1, 1, -1]]),)),
        ((4, 3), (np.array([3, 0, 3, -1, 2]),)),
        ((4, 3), (slice(None), np.array([2, 0, 2]))),
        ((4, 3), (np.array([[0], [3]]), np.array([1, 1, -2]))),
        ((2, 3, 4), (np.array([1, 1]), slice(1, None), np.array([0, 3]))),
        ((50, 3), (np.array([3]),)),
    ],
)
@pytest.mark.parametrize("dtype", [float, complex, np.float32, int])
def test_entries_that_are_named_again_are_added(shape, index, dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) * 9).astype(dtype)
    v = (rng.normal(size=x[index].shape) * 9).astype(dtype)
    for values in (v, v[..., :1], v.dtype.type(2)):
        want, got = x.copy(), x.copy()
        np.add.at(want, index, values)
        add_at(got, index, values)
        np.testing.assert_array_equal(got, want)
    want, turned = x.copy(), x.copy(order="F")
    np.add.at(want, index, v)
    add_at(turned, index, v)
    np.testing.assert_array_equal(turned, want)


def test_index_updates_show_what_they_are():
    x = fg.var("x", 3)
    assert repr(x.at).startswith("(x).at; index it")
    assert repr(x.at[0]).startswith("(x).at[0]; say")
