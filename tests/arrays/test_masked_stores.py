"""Stores through a mask of traced values: one program, whatever the mask's values."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.special

import funcgrad as fg
from tests.default_slice import one_in


def doubled(x):
    a = x * 1.0
    a[a > 1] *= 2
    return a


def numbers(x):
    a = x.copy()
    a[x > 1] = 3.0
    a[a < 0.3] += x[2]
    return a


def from_another(x):
    a = np.zeros(x.shape)
    m = x > 1
    a[m] = np.sqrt(x[m] - 1) * x.sum()
    a[~m] += 5 * np.exp(-x[~m]) / 2
    return a * x


def kept_in_a_name(x):
    a = x**2
    m = a > 1
    chosen = a[m]
    chosen *= 3
    chosen = np.clip(chosen, 0.5, 20.0).astype(float).copy()
    a[:] = 1.0
    a[m] = np.where(chosen > 5, -chosen, 2.0 - chosen) ** 2
    return a


def changed_meanwhile(x):
    a = x**2
    m = a > 1
    chosen = a[m]
    a[0] = 7.0 * x[1]
    m[1] = True
    a[m] *= x[0]
    a[x**2 > 1] += chosen
    return a


def counted(x):
    m = x > 0.6
    return x[m].sum() * x[m].mean() * np.prod(x[m]) * x / np.mean(np.sin(x[m]))


def rows(x):
    a = np.outer(x, x[:3])
    m = x > 1
    a[m] = x[:3]
    a[m, 1] *= 2
    a[:, x[:3] > 0.6] -= 1
    a[1, x[:3] > 0.6] = a[0, x[:3] > 0.6] * 2
    a[2:, x[:3] > 0.6] += x[0]
    return a


def of_two_axes(x):
    a = np.outer(x, x)
    a[a > 1] = np.log(a[a > 1])
    b = np.stack([a, 2 * a], axis=2)
    b[a < 0.3] *= np.array([3.0, 4.0]) * x[0]
    return b


def by_places(x):
    a = x**2
    a[np.where(a > 1)] = 0.5
    a[np.nonzero(x < 0.6)] *= 3
    k = np.flatnonzero(x > 1.5)
    a[k] = x[k] ** 3
    b = np.outer(a, x)
    i, j = np.where(b > 1)
    b[i, j] -= a[0]
    return b


def in_place_functions(x):
    a = x**2
    np.putmask(a, a > 1, 2 * x)
    np.putmask(a, a > 1.5, -x[0])
    np.place(a, a < 0.6, [x[1]])
    np.copyto(a, 5 * x, where=x > 0.7)
    return a


def views(x):
    a = np.zeros((2, x.size))
    row = a[1]
    row[x > 1] = x[x > 1]
    flat = a.ravel()
    flat[flat > 1.2] *= x[0]
    return a


def integers(x):
    a = np.arange(x.size)
    a[x > 1] = x[x > 1] * 10
    return a * x


def extracted(x):
    """As the distributions of SciPy are computed."""
    a, mask = np.zeros(4), 1 & (x > 1)
    chosen, scale = np.extract(mask, np.asarray(x) * 1.0), np.atleast_1d(2.0)
    np.place(a, mask, np.asarray(scale * chosen) ** 2 / (scale + chosen))
    np.putmask(a, (1 - mask) + (x < 0.3), x[0])
    return a


def placed_one_after_the_other(x):
    a = np.ones(4)
    np.place(a, x > 1, x[:3] * 2)
    return a * x


def placed_in_rows(x):
    a = np.ones((2, 2))
    np.place(a, np.reshape(x, (2, 2)) > 1, x)
    return a * x[:2]


def broadcast(x):
    a, mask = np.zeros(4), x > 1
    one, chosen = np.broadcast_arrays(np.atleast_1d(3.0), np.extract(mask, np.asarray(x) + 0.0))
    np.place(a, mask, one - chosen * chosen)
    return a + x


PROGRAMS = [
    *(extracted, placed_one_after_the_other, placed_in_rows, broadcast),
    *(
        doubled,
        numbers,
        from_another,
        kept_in_a_name,
        changed_meanwhile,
        counted,
        rows,
        of_two_axes,
    ),
    *(by_places, in_place_functions, views, integers),
]
XS = np.array(
    [
        [0.51, 1.53, 2.12, 0.72],
        [3.03, 1.21, 0.23, 0.91],
        [0.12, 0.25, 0.41, 0.82],
        [1.73, 1.34, 2.22, 1.91],
    ]
)
W = np.cos(np.arange(40.0)) + 1.5


def loss_of(f):
    def loss(x):
        y = np.ravel(f(x))
        return np.sum(y * y * W[: y.size])

    return loss


def slope(f, x):
    h = 1e-6
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.parametrize("f", one_in(3, PROGRAMS))
def test_a_masked_store_is_one_program(f):
    loss = loss_of(f)
    jitted, slopes = fg.jit(f), fg.jit(fg.grad(loss))
    curved = fg.jit(fg.hessian(loss))
    forward = fg.jit(lambda x, e: fg.jvp(loss, (x,), (e,))[1])
    for x in XS:
        np.testing.assert_allclose(jitted(x), f(x.copy()), rtol=1e-12)
        expected = slope(loss, x)
        np.testing.assert_allclose(fg.grad(loss)(x), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(slopes(x), expected, rtol=1e-6, atol=1e-6)
        along = [forward(x, e) for e in np.eye(4)]
        np.testing.assert_allclose(along, expected, rtol=1e-6, atol=1e-6)
        second = slope(slopes, x)
        np.testing.assert_allclose(curved(x), second, rtol=1e-5, atol=1e-4)
    if f is not counted:  # which stores nothing, and runs as it is
        assert "\n" not in jitted.explain_misses() + slopes.explain_misses()
    np.testing.assert_allclose(fg.vmap(f)(XS), [f(x.copy()) for x in XS], rtol=1e-12)
    np.testing.assert_allclose(
        fg.vmap(fg.grad(loss))(XS), [fg.grad(loss)(x) for x in XS], rtol=1e-9
    )
    each = fg.scan(lambda c, x: (c, f(x)), 0.0, XS)[1]
    np.testing.assert_allclose(each, [f(x.copy()) for x in XS], rtol=1e-12)


def test_places_of_a_mask_are_plain_numbers():
    def f(x):
        k = np.where(x > 1)[0]
        counts = np.zeros(8)
        knots = np.append(np.arange(0, 8, 2)[k], [10, 11, 12])
        np.add.at(counts, k + 1, 1.0)
        scaled = k * 1.0
        scaled[:] = scaled * x[k]
        total = sum([x[i] * i for i in k]) + np.diff(k).sum() * x[2] + len(k) * x[0]
        spline = scipy.interpolate.CubicSpline(knots, np.ones(k.size + 3) * x[1])
        k[0] = 3
        return total + (counts * np.arange(8)).sum() + scaled.sum() + x[k].sum() + spline(2.5)

    jitted, slopes = fg.jit(f), fg.jit(fg.grad(f))
    for x in (XS[0], XS[3], XS[1], 1.1 * XS[0]):
        assert jitted(x) == pytest.approx(f(x.copy()), rel=1e-12)
        np.testing.assert_allclose(slopes(x), slope(f, x), rtol=1e-6, atol=1e-6)


def test_functions_of_several_results_take_entries_that_a_mask_chooses():
    values = np.array([0.35, 0.74])

    def f(x):
        made = np.zeros(2)
        sn, cn, _, _ = scipy.special.ellipj(values[x > 0], 0.3)
        made[:] = sn * x + cn
        return made

    x = np.array([0.62, 1.37])
    np.testing.assert_allclose(fg.jit(f)(x), f(x), rtol=1e-14)
    slopes = np.diag(scipy.special.ellipj(values, 0.3)[0])
    np.testing.assert_allclose(fg.jit(fg.jacobian(f))(x), slopes, rtol=1e-12)
