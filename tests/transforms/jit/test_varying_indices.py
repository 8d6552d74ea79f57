"""Arrays of other code that are indexed by integers which vary: a gather, not a trace for each value."""

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.trace.known_code import AS_IT_IS, LEAST_LEVEL, WRITABLE

TABLE = np.random.default_rng(0).standard_normal((12, 12))
ROW = TABLE[0].copy()
PLACES = np.random.default_rng(1).uniform(0, 10, 50)


def cells(x):
    return np.floor(np.clip(PLACES * x[0], 0, 10)).astype(int)


def by_name(x):
    return np.sum(ROW[cells(x)] * x[1])


def by_two(x):
    i = cells(x)
    w = PLACES * x[0] - i
    return np.sum(TABLE[i, i + 1] * (1 - w) + TABLE[i + 1, i] * w)


def by_one_number(x):
    return ROW[np.floor(10 * x[0]).astype(int)] * x[1]


def in_a_closure():
    own = ROW + 1
    return lambda x: np.sum(own[cells(x)] * x[1])


def by_argument(x, table=TABLE):
    return np.sum(table[cells(x)] * x[1])


class Model:
    def __init__(self):
        self.row, self.rows, self.named = ROW.copy(), [ROW + 2], {"a": ROW + 3}

    def of_attribute(self, x):
        return np.sum(self.row[cells(x)] * x[1])

    def of_containers(self, x):
        return np.sum(self.rows[0][cells(x)] * x[1] + self.named["a"][cells(x)])


FUNCTIONS = [
    by_name,
    by_two,
    by_one_number,
    in_a_closure(),
    by_argument,
    Model().of_attribute,
    Model().of_containers,
]
ARGUMENTS = [np.array([0.9 - 0.07 * k, 0.5 - 0.3 * k]) for k in range(8)]


def traces(f):
    return len(f.explain_misses().splitlines())


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("transform", [lambda f: f, fg.value_and_grad, fg.hessian])
def test_a_gather_after_the_second_value(f, transform):
    plain, jitted = transform(f), fg.jit(transform(f))
    for x in ARGUMENTS:
        for found, expected in zip(
            np.atleast_1d(*_parts(jitted(x))), np.atleast_1d(*_parts(plain(x))), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert traces(jitted) <= 3, jitted.explain_misses()
    assert "has varied: it is part of the program from now on" in jitted.explain_misses()
    assert "guards" not in repr(jitted.lower(ARGUMENTS[0]))


def _parts(value):
    return value if isinstance(value, tuple) else (value, value)


def test_indices_that_stay_are_constants():
    at = np.array([3, 1, 4])
    jitted = fg.jit(lambda x, k: np.sum(ROW[k] * x))
    for x in (1.0, 2.0, 3.0):
        assert jitted(x, at) == pytest.approx(np.sum(ROW[at]) * x)
    assert traces(jitted) == 1
    assert "guards" in repr(jitted.lower(1.0, at))


def test_a_changed_table_is_seen():
    table = ROW.copy()
    jitted = fg.jit(lambda x: np.sum(table[cells(x)] * x[1]))
    for x in ARGUMENTS[:3]:
        jitted(x)
    table[...] = 1.0
    assert jitted(ARGUMENTS[3]) == pytest.approx(50 * ARGUMENTS[3][1])


def test_out_of_bounds_and_negative_indices():
    def f(x):
        return ROW[np.floor(x).astype(int)] * x

    jitted = fg.jit(f)
    for x in (1.5, 2.5, 3.5, -0.5, -11.5):
        assert jitted(x) == f(x)
    for x in (12.5, -13.0):
        with pytest.raises(IndexError, match="out of bounds"):
            jitted(x)


@pytest.mark.parametrize("transform", [lambda f: f, fg.grad])
def test_errors_of_indices_that_the_function_handles(transform):
    def f(x):
        try:
            return ROW[np.floor(x).astype(int)] * x
        except IndexError:
            return -2.0 * x

    plain, jitted = transform(f), fg.jit(transform(f))
    for x in (1.5, 2.5, 12.5, 3.5, 13.5, 12.5, 2.5):
        assert jitted(x) == plain(x)


def test_an_error_that_the_function_does_not_handle_keeps_the_gather():
    def f(x):
        return ROW[np.floor(x).astype(int)] * x

    jitted = fg.jit(f)
    for x in (1.5, 2.5):
        jitted(x)
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(12.5)
    for x in (3.5, 4.5, 5.5):
        assert jitted(x) == f(x)
    assert traces(jitted) == 2


def test_a_function_that_fails_when_it_is_adopted_runs_as_before():
    levels = []

    def f(x):
        levels.append(LEAST_LEVEL.get())
        if levels[-1] > AS_IT_IS:
            raise RuntimeError("adopted")
        return np.sum(ROW[np.floor(x).astype(int)] * x)

    jitted = fg.jit(f)
    for x in (np.array([1.5, 2.5]), np.array([3.5, 2.5]), np.array([4.5, 2.5])):
        assert jitted(x) == pytest.approx(np.sum(ROW[np.floor(x).astype(int)] * x))
    assert sorted(levels) == [AS_IT_IS] * 3 + [WRITABLE]


def test_code_that_is_not_to_be_adopted_is_traced_for_each_value():
    jitted = fg.jit(fg.adopt(by_name, False))
    for x in ARGUMENTS[:4]:
        assert jitted(x) == pytest.approx(by_name(x))
    assert traces(jitted) == 4


def whole(x):
    return np.floor(x).astype(int)


NUMBERS, COUNTS = ROW.tolist(), list(range(3, 15))
BLOCK = TABLE[:6, :6].copy()


def of_views(x):
    a, i = np.ones((6, 6)) * x, whole(x)
    a[i : i + 2, 1:3] = 0
    a[i : i + 2, i + 1 : i + 3] *= x
    w = a[:, i : i + 3]
    w[0] = x**3
    w += 1
    v = w[1:3].T
    v[0] = x
    return np.sum(a * BLOCK)


def of_axes(x):
    i, cube = whole(x) // 2, TABLE.reshape(6, 4, 6)
    parts = cube[1, :, i : i + 2], cube[:, 1, i : i + 2].T, cube[i, i : i + 2, i : i + 2]
    more = cube[..., i : i + 2, None, 1], cube[i : i + 2, ..., 0]
    return sum([np.sum(part * x ** np.arange(len(part.T))) for part in (*parts, *more)])


INDICES = {
    "np.take": lambda x: x * np.take(ROW, whole(x)),
    "np.take of rows": lambda x: x * np.sum(np.take(TABLE, [whole(x), 0], axis=0)),
    "take": lambda x: x * ROW.take(whole(x)),
    "a list": lambda x: x * np.sum(ROW[[whole(x), 0]]),
    "an array": lambda x: x * np.sum(ROW[np.array([whole(x), 0])]),
    "item": lambda x: x * ROW.item(whole(x)),
    "item of two axes": lambda x: x * TABLE.item(whole(x), 1),
    "an item of a list": lambda x: x * NUMBERS[whole(x)] * COUNTS[-1 - whole(x)],
    "roll": lambda x: x * np.sum(np.roll(TABLE, whole(x), axis=1) * ROW),
    "a slice": lambda x: np.sum(ROW[whole(x) : whole(x) + 3] * x**2),
    "a slice of a stride": lambda x: x * np.sum(ROW[whole(x) + 1 : 5 + whole(x) : 2]),
    "blocks": lambda x: x * np.sum(TABLE[2 * whole(x) : 2 * (whole(x) + 1)]),
    "a slice of traced values": lambda x: np.dot(np.sin(ROW * x)[whole(x) : whole(x) + 3], ROW[:3]),
    "views": of_views,
    "axes": of_axes,
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize(
    "transform", [lambda f: f, fg.value_and_grad, lambda f: fg.grad(fg.grad(f))]
)
def test_functions_and_slices_are_gathers_after_two_more_traces(name, transform):
    f = INDICES[name]
    plain, jitted = transform(f), fg.jit(transform(f))
    for x in (0.5, 1.5, 2.5, 3.25, 0.75, 1.75):
        np.testing.assert_allclose(jitted(x), plain(x), rtol=1e-13, atol=1e-15)
    assert traces(jitted) <= 3, jitted.explain_misses()


def test_a_slice_that_is_cut_off_or_counts_from_the_end_is_as_in_numpy():
    def f(x):
        return x * np.sum(ROW[whole(x) : whole(x) + 3]) + len(ROW[whole(x) : whole(x) + 3])

    jitted, derivative = fg.jit(f), fg.jit(fg.grad(f))
    for x in (3.5, 8.5, 9.5, 10.5, 11.5, 12.5, -1.5, -2.5, -3.5, -12.5, 4.5):
        assert jitted(x) == pytest.approx(f(x))
        assert derivative(x) == pytest.approx((f(x) - len(ROW[whole(x) : whole(x) + 3])) / x)


def test_a_slice_whose_length_varies_is_traced_for_each_value():
    def f(x):
        i = whole(x)
        return (
            x * np.sum(ROW[:i]) + np.sum(ROW[i : 2 * i]) + np.sum(ROW[i : i + 4 : 1 + abs(i) // 9])
        )

    jitted = fg.jit(f)
    for x in (0.5, 1.5, 2.5, 3.25, 0.75, 9.5, -1.5):
        assert jitted(x) == pytest.approx(f(x))


def test_a_list_that_changes_is_noticed_and_one_of_other_items_is_traced_for_each_value():
    values, mixed = [1.0, 2.0, 3.0], [1, 2.0, np.float32(3.0)]
    jitted = fg.jit(lambda x: values[whole(x[0])] * mixed[whole(x[0])] * x[1])
    for k in (0, 1, 2, 1):
        assert jitted(np.array([k + 0.5, 2.0])) == 2 * values[k] * mixed[k]
    values[1] = 7.0
    assert jitted(np.array([1.5, 2.0])) == 28.0
    with pytest.raises(IndexError, match="out of range"):
        jitted(np.array([3.5, 2.0]))


def test_bodies_of_loops_take_items_of_lists_and_rolled_arrays():
    def body(c, x):
        return c + COUNTS[whole(x)], np.roll(ROW, whole(x))[0] * NUMBERS[whole(x)]

    last, made = fg.scan(body, 0, np.array([0.5, 2.5]))
    assert last == 8
    np.testing.assert_allclose(made, [ROW[0] * ROW[0], ROW[-2] * ROW[2]])
    assert fg.vmap(fg.jit(lambda x: COUNTS[whole(x)]))(np.array([0.5, 2.5])).tolist() == [3, 5]


def test_an_array_of_which_a_slice_varies_is_read_by_other_code():
    def f(x):
        part = ROW[whole(x) : whole(x) + 2]
        return scipy.stats.gaussian_kde(ROW)(x)[0] * np.sum(part) + np.take(ROW, whole(x))

    jitted = fg.jit(f)
    for x in (1.5, 0.5, 0.75, 2.5):
        assert jitted(x) == pytest.approx(f(x))
    assert fg.jvp(f, (1.5,), (0.0,))[0] == pytest.approx(f(1.5))
