"""Subclasses of NumPy's array over arrays that take stores: views, copies and operands."""

import numpy as np

import funcgrad as fg

X = np.array([0.5, 1.5, 2.5, 3.5])


def test_views_share_the_data():
    def f(x):
        a = x * 1.0
        m = a.view(np.ma.MaskedArray)
        m[0] = 7 * x[1]
        m[1:][0] = x[2]
        b = m.view(np.ndarray)
        b[3] = 2 * x[3]
        return a

    np.testing.assert_array_equal(fg.jit(f)(X), [10.5, 2.5, 2.5, 7.0])
    np.testing.assert_array_equal(
        fg.jacobian(f)(X), [[0, 7, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    )


def test_a_view_without_entries_is_an_instance():
    def f(x):
        return np.ma.array(x)[:0].sum() is np.ma.masked, np.ma.array(x)[:0].size

    assert fg.jit(f)(X) == (False, 0)


def test_operators_of_plain_arrays_and_numbers_leave_the_result_to_the_class():
    mask = np.array([0, 1, 0, 0], bool)
    for f in (
        lambda x: x + np.ma.array(x, mask=mask),
        lambda x: x[0] * np.ma.array(x, mask=mask),
        lambda x: np.float64(2.0) / np.ma.array(x, mask=mask),
        lambda x: np.arange(1.0, 5.0) % np.ma.array(x, mask=mask),
        lambda x: -np.ma.array(x, mask=mask),
        lambda x: abs(np.ma.array(x, mask=mask)) > x,
    ):
        found, numpys = fg.jit(f)(X), f(X)
        assert type(found) is np.ma.MaskedArray
        np.testing.assert_array_equal(found.mask, numpys.mask)
        np.testing.assert_array_equal(found.data, numpys.data)


def test_flat_entries_are_an_iterator():
    def f(x):
        entries = (x * 2).reshape(2, 2).flat
        return next(entries), next(entries), len(entries)

    assert fg.jit(f)(X) == (1.0, 3.0, 4)


def test_flat_entries_are_compared_one_by_one():
    def f(x):
        a = np.zeros((2, 2))
        a[0, 0] = x
        found = (
            a.flat != 0,
            a.flat == x,
            a.flat < 1,
            a.flat <= 0,
            a.flat > 0,
            a.flat >= x,
        )
        return [np.array(part) for part in found], any(a.flat != 0)

    for ours, numpys in zip(fg.jit(f)(2.0)[0], f(2.0)[0], strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert fg.grad(lambda x: x * x if any((x * np.zeros(3)).flat != 0) else 3 * x)(2.0) == 3.0
