"""Keywords of `jax.numpy` in `funcgrad.numpy`: values, derivatives of both modes, jit and vmap."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.default_slice import one_in

RNG = np.random.default_rng(2)
X, Y = RNG.uniform(0.2, 1.7, 5), RNG.uniform(0.3, 2.0, 5)
A, B = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 3))
PLACES = np.array([0, 9, -1])
CHAIN = fnp.frompyfunc(lambda x, y: x * y + 1, 2, 1)
EACH = np.array([1, 0, 2, 1, 3])


def changed(a, store):
    made = a.copy()
    store(made)
    return made


ROWS = {
    "dot": (lambda a, b: fnp.dot(a, b, precision="highest"), np.dot, A, B),
    "matmul": (lambda a, b: fnp.matmul(a, b, preferred_element_type=float), np.matmul, A, B),
    "einsum": (
        lambda a, b: fnp.einsum("ij,jk->ik", a, b, precision="high"),
        lambda a, b: a @ b,
        A,
        B,
    ),
    "tensordot": (lambda a, b: fnp.tensordot(a, b, axes=1, precision=None), np.matmul, A, B),
    "sort": (lambda a: fnp.sort(a, axis=0, descending=True), lambda a: -np.sort(-a, axis=0), B),
    "argsort": (lambda a: a[fnp.argsort(a, descending=True)], lambda a: -np.sort(-a), X),
    "nonzero": (
        lambda a: a[fnp.nonzero(a > 0.9, size=6, fill_value=1)],
        lambda a: a[np.resize([*np.flatnonzero(a > 0.9), *[1] * 6], 6)],
        X,
    ),
    "where": (
        lambda a: a[fnp.where(a > 0.2, size=1)],
        lambda a: a[np.flatnonzero(a > 0.2)[:1]],
        X,
    ),
    "flatnonzero": (
        lambda a: a.ravel()[fnp.flatnonzero(a > 0, size=20)],
        lambda a: np.concatenate([a[a > 0], np.full(20 - (a > 0).sum(), a[0, 0])]),
        A,
    ),
    "argwhere": (
        lambda a: a[fnp.argwhere(a > 0.9, size=7)[:, 0]],
        lambda a: np.concatenate([a[a > 0.9], np.full(7 - (a > 0.9).sum(), a[0])]),
        X,
    ),
    "unique": (
        lambda a: fnp.unique(a, size=7),
        lambda a: np.append(np.sort(a), [a.min()] * 2),
        X,
    ),
    "union1d": (
        lambda a, b: fnp.union1d(a, b, size=10, fill_value=0.5),
        lambda a, b: np.append(np.union1d(a, b), 0.5),
        X,
        X[1:] + 2.0,
    ),
    "repeat": (
        lambda a: fnp.repeat(a, EACH, total_repeat_length=9),
        lambda a: np.append(np.repeat(a, EACH), [a[-1]] * 2),
        X,
    ),
    "repeat, less": (
        lambda a: fnp.repeat(a, 2, axis=0, total_repeat_length=3),
        lambda a: a[[0, 0, 1]],
        B,
    ),
    "fill_diagonal": (
        lambda a, b: fnp.fill_diagonal(a, b[:4], inplace=False),
        lambda a, b: changed(a, lambda made: np.fill_diagonal(made, b[:4])),
        A,
        X,
    ),
    "put": (
        lambda a, b: fnp.put(a, [0, 2], b[:2], inplace=False),
        lambda a, b: changed(a, lambda made: np.put(made, [0, 2], b[:2])),
        X,
        Y,
    ),
    "place": (
        lambda a, b: fnp.place(a, EACH > 1, b, inplace=False),
        lambda a, b: changed(a, lambda made: np.place(made, EACH > 1, b)),
        X,
        Y,
    ),
    "put_along_axis": (
        lambda a, b: fnp.put_along_axis(a, EACH[:4, None], b[:4, None], axis=1, inplace=False),
        lambda a, b: changed(
            a, lambda made: np.put_along_axis(made, EACH[:4, None], b[:4, None], axis=1)
        ),
        A,
        X,
    ),
    "add.at": (
        lambda a, b: fnp.add.at(a, [0, 0, 2], b[:3], inplace=False),
        lambda a, b: changed(a, lambda made: np.add.at(made, [0, 0, 2], b[:3])),
        X,
        Y,
    ),
    "bincount": (
        lambda w: fnp.bincount(EACH, weights=w, length=3),
        lambda w: np.bincount(EACH, w)[:3],
        X,
    ),
    "cholesky": (
        lambda a: fnp.linalg.cholesky(a, symmetrize_input=True),
        lambda a: np.linalg.cholesky((a + a.T) / 2),
        A @ A.T + np.eye(4),
    ),
    "slogdet": (
        lambda a: fnp.linalg.slogdet(a, method="qr")[1],
        lambda a: np.linalg.slogdet(a)[1],
        A,
    ),
    "take": (
        lambda a: fnp.take(a, PLACES, axis=0, mode="fill", fill_value=7.0),
        lambda a: np.stack([a[0], np.full(3, 7.0), a[-1]]),
        B,
    ),
    "take_along_axis": (
        lambda a: fnp.take_along_axis(a, PLACES[:, None], axis=0, mode="fill", fill_value=7.0),
        lambda a: np.stack([a[0], np.full(3, 7.0), a[-1]]),
        B,
    ),
    "take_along_axis, clipped": (
        lambda a: fnp.take_along_axis(a, PLACES[:, None], axis=0, mode="clip"),
        lambda a: a[[0, 3, 3]],
        B,
    ),
    "interp": (
        lambda a, b: fnp.interp(4 * a, np.arange(5.0), b, left=-1.0, right="extrapolate"),
        lambda a, b: np.where(
            4 * a > 4,
            b[4] + (b[4] - b[3]) * (4 * a - 4),
            np.interp(4 * a, np.arange(5.0), b),
        ),
        X,
        Y,
    ),
    "vectorize": (
        lambda a, b: fnp.vectorize(lambda p, q: fnp.dot(q, p), signature="(n),(m,n)->(m)")(a, b),
        lambda a, b: a @ b.T,
        A,
        B.T,
    ),
    "compress": (
        lambda a: fnp.compress([True, False, True], a, axis=1, size=3, fill_value=0.5),
        lambda a: np.stack([a[:, 0], a[:, 2], np.full(4, 0.5)], 1),
        B,
    ),
    "extract": (
        lambda a: fnp.extract(a > 0.9, a, size=5),
        lambda a: np.resize([*a[a > 0.9], *[0.0] * 5], 5),
        X,
    ),
    "intersect1d": (
        lambda a, b: fnp.intersect1d(a, fnp.append(b, a[:2]), size=3),
        lambda a, b: np.append(np.sort(a[:2]), a[:2].min()),
        X,
        Y,
    ),
    "setdiff1d": (
        lambda a, b: fnp.setdiff1d(a, b, size=7),
        lambda a, b: np.append(np.sort(a), [0.0, 0.0]),
        X,
        Y,
    ),
    "unique_counts": (
        lambda a: fnp.unique_counts(fnp.append(a, a[0]), size=7),
        lambda a: (
            np.append(np.sort(a), [a.min()] * 2),
            np.append(1 + (np.sort(a) == a[0]), [0, 0]),
        ),
        X,
    ),
    "unique_all": (
        lambda a: fnp.unique_all(a, size=6, fill_value=0.5).values,
        lambda a: np.append(np.sort(a), 0.5),
        X,
    ),
    "clip, one bound": (lambda a: fnp.clip(a, 0.9), lambda a: np.maximum(a, 0.9), X),
    "clip, max by name": (
        lambda a: fnp.clip(a, 0.5, max=0.9),
        lambda a: np.clip(a, 0.5, 0.9),
        X,
    ),
    "where, by name": (
        lambda a, b: fnp.where(a > b, y=b, x=a),
        lambda a, b: np.maximum(a, b),
        X,
        Y,
    ),
    "sum": (lambda a: fnp.sum(a, promote_integers=False), np.sum, X),
    "frompyfunc, reduce": (
        lambda a: CHAIN.reduce(a, axis=1),
        lambda a: (a[:, 0] * a[:, 1] + 1) * a[:, 2] + 1,
        B,
    ),
    "frompyfunc, accumulate": (
        lambda a: CHAIN.accumulate(a, axis=1),
        lambda a: np.stack(
            [a[:, 0], a[:, 0] * a[:, 1] + 1, (a[:, 0] * a[:, 1] + 1) * a[:, 2] + 1], 1
        ),
        B,
    ),
    "frompyfunc, outer": (
        lambda a, b: CHAIN.outer(a, b),
        lambda a, b: np.outer(a, b) + 1,
        X,
        Y[:2],
    ),
    "vectorize, two results": (
        lambda a: fnp.vectorize(lambda p: (p[::-1], fnp.sum(p)), signature="(n)->(n),()")(a)[0],
        lambda a: a[:, ::-1],
        B,
    ),
}


def parts_of(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", one_in(3, ROWS))
def test_keywords_of_jax(name):
    f, plain, *args = ROWS[name]
    expected = plain(*args)
    for found in (f(*[a.copy() for a in args]), fg.jit(f)(*args)):
        for part, wanted in zip(parts_of(found), parts_of(expected), strict=True):
            np.testing.assert_allclose(np.asarray(part, float), wanted, rtol=1e-12)
    fg.check_grads(lambda *a: parts_of(f(*a))[0] ** 2, args, order=2)


def test_keywords_of_functions_of_numbers():
    assert fnp.fft.fftfreq(4, dtype=np.float32).dtype == np.float32
    assert fnp.fft.rfftfreq(4, 0.5, dtype=None).dtype == float
    assert fnp.dstack([X, X], dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(
        fnp.mask_indices(2, np.triu, size=4), [[0, 0, 1, 0], [0, 1, 1, 0]]
    )
    slope = fg.grad(lambda x: fnp.sum(fnp.real(fnp.roots(x, strip_zeros=False))))(X)
    np.testing.assert_allclose(slope[:2], [X[1] / X[0] ** 2, -1 / X[0]], rtol=1e-10)


def test_stores_with_inplace_false_leave_the_argument_alone():
    for a in (X.copy(), fnp.array(X)):
        made = fnp.put(a, [0], 9.0, inplace=False)
        np.testing.assert_array_equal(a, X)
        assert made[0] == 9.0
        assert fnp.put(a, [0], 9.0, inplace=True) is None
        assert a[0] == 9.0


def test_equal_entries_stay_in_their_order():
    equal = np.array([1.0, 2.0, 1.0, 2.0])
    np.testing.assert_array_equal(fnp.argsort(equal, descending=True), [1, 3, 0, 2])


def test_a_sum_of_short_integers_keeps_their_dtype():
    short = np.arange(3, dtype=np.int8)
    assert fnp.sum(short, promote_integers=False).dtype == np.int8
    assert fnp.sum(short, promote_integers=True).dtype == np.int64
    assert fnp.sum(short, dtype=np.int16, promote_integers=False).dtype == np.int16


def test_keywords_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="put_along_axis: expected mode 'clip', 'drop' or 'fill'"):
        fnp.put_along_axis(X.copy(), PLACES, 0.0, 0, mode="clip")
    with pytest.raises(ValueError, match="take_along_axis: expected mode 'clip' or 'fill'"):
        fnp.take_along_axis(X, PLACES, 0, mode="drop")


def test_loops_take_unroll():
    step = lambda c, x: (c * x, c)  # noqa: E731
    f = lambda x: fg.scan(step, x, X, unroll=2)[0]  # noqa: E731
    assert fg.grad(f)(1.0) == pytest.approx(np.prod(X))
    g = lambda x: fg.fori_loop(0, 3, lambda i, v: v * v, x, unroll=True)  # noqa: E731
    assert fg.grad(g)(1.0) == 8.0


def test_ufuncs_at_takes_tuples_of_indices():
    def counted(x):
        table = fnp.zeros((2, 3))
        fnp.add.at(table, ([0, 1, 1], [2, 0, 0]), x)
        fnp.subtract.at(table, (fnp.array([1]), 1), 2.0)
        return table

    wanted = [[0.0, 0.0, 1.5], [7.5, -2.0, 0.0]]
    x = np.array([1.5, 2.5, 5.0])
    np.testing.assert_array_equal(counted(x), wanted)
    np.testing.assert_array_equal(fg.jit(counted)(x), wanted)
    moved = fg.grad(lambda x: counted(x)[1, 0] * x[0])(x)
    np.testing.assert_array_equal(moved, [7.5, 1.5, 1.5])
