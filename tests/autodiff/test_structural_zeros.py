"""What does not move, and what no index selects, meets no infinite factor, in every mode, to second order."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in


def filled(x):
    y = np.zeros(3)
    y[0] = x
    return np.sum(np.sqrt(y))


def added(x):
    y = np.zeros((2, 2))
    y[:, 0] += x
    return np.sum(np.sqrt(y))


def chosen(entries):
    return np.sum(entries[entries > 0])


def filled_power(x):
    y = np.zeros(4)
    y[::2] += x**2
    return np.sum((y**0.5)[y > 0])


def filled_entropy(x):
    y = np.zeros(3)
    y[1] = x
    return np.sum((y * np.log(y))[y > 0])


def cleared(x):
    y = x * np.ones(3)
    y[1] = 0.0
    return y


def filled_sums(x, axis=0):
    y = np.zeros((3, 3))
    y[1] += x
    y[1, 2] = x**2
    return np.cumsum(y, axis)


MISSING = np.array([np.nan, 1.0, np.inf])
PROGRAMS = {
    "stack": lambda x: np.sum(np.sqrt(np.stack([x, 0.0]))),
    "array": lambda x: np.sum(np.sqrt(np.array([[x, 0.0], [0.0, x]]))),
    "concatenate": lambda x: np.sum(np.sqrt(np.concatenate([x * np.ones(2), np.zeros(2)]))),
    "block": lambda x: np.sum(np.sqrt(np.block([[x * np.ones((1, 1)), np.zeros((1, 1))]]))),
    "roll": lambda x: np.sum(np.sqrt(np.roll(np.stack([x, 0.0]), 1))),
    "diff": lambda x: np.sum(np.sqrt(np.diff(np.stack([0.0, 0.0, x])))),
    "outer": lambda x: np.sum(np.sqrt(np.outer(np.stack([x, 0.0]), np.ones(2)))),
    "vmap": lambda x: fg.vmap(np.sqrt)(np.stack([x, 0.0])).sum(),
    "store": filled,
    "store of zero": lambda x: np.sum(np.sqrt(cleared(x))),
    "store of zero, moved": lambda x: np.sum(np.sqrt(np.abs(cleared(x)[::-1]) + 0.0)),
    "store of zero, power": lambda x: np.sum(np.sin(cleared(x)) ** 0.5),
    "add": added,
    "power": filled_power,
    "entropy": filled_entropy,
    "running sum": lambda x: np.sum(np.sqrt(filled_sums(x))),
    "running sum of a row": lambda x: np.sum((filled_sums(x, 1) ** 3)[1:] ** 0.5),
    "pad": lambda x: np.sum(np.sqrt(np.pad(x * np.ones(2), 1))),
    "diag": lambda x: np.sum(np.sqrt(np.diag(x * np.ones(2)))),
    "sort": lambda x: np.sort(np.sqrt(x * np.array([1.0, 0.0])))[1],
    "missing": lambda x: chosen(np.minimum(x * MISSING, 9.0) * (x * MISSING < 5)),
    "missing, squared": lambda x: np.sum(((x * MISSING) ** 2)[np.isfinite(MISSING)]),
    "none": lambda x: chosen(np.power(-x, 0.5) * np.ones(1)) + x,
    "angle": lambda x: np.sqrt(np.angle(x)) + x,
}
MODES = {
    "grad": lambda f: fg.grad(f),
    "jit": lambda f: fg.jit(fg.grad(f)),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
    "jacfwd": lambda f: fg.jacfwd(f),
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "vmap": lambda f: lambda x: fg.vmap(fg.grad(f))(np.array([x]))[0],
}
SECOND = {
    "hessian": lambda f: fg.hessian(f),
    "hvp": lambda f: lambda x: fg.hvp(f, (x,), (1.0,)),
    "grad of grad": lambda f: fg.grad(fg.grad(f)),
    "jacfwd of jacfwd": lambda f: fg.jacfwd(fg.jacfwd(f)),
}


@pytest.mark.filterwarnings("ignore:.*does not depend on the arguments")
@pytest.mark.parametrize(
    ("mode", "name"), one_in(3, itertools.product([*MODES, *SECOND], PROGRAMS))
)
def test_zeros_are_structural(name, mode):
    f, at, h = PROGRAMS[name], 0.49, 1e-4
    with np.errstate(all="ignore"):
        if mode in MODES:
            want = (f(at + h) - f(at - h)) / (2 * h)
        else:
            want = (f(at + h) - 2 * f(at) + f(at - h)) / h**2
    assert (MODES | SECOND)[mode](f)(at) == pytest.approx(want, rel=1e-3, abs=1e-5)


def test_a_sum_of_no_entries_adds_nothing_beside_a_factor_of_nan():
    """The pullback, whose cotangent is no constant, gave NaN."""

    def f(x):
        return chosen(np.power(-x, 0.5) * np.ones(2)) + x

    assert fg.vjp(f, 0.49)[1](2.0)[0] == 2.0
    pulled = fg.vmap(lambda x: fg.vjp(f, x)[1](1.0)[0])(np.array([0.4, 0.3]))
    np.testing.assert_array_equal(pulled, 1.0)


BESIDE_UNREAD_NANS = {
    "stacked columns": lambda y, x: np.stack([y, x], axis=1)[2:],
    "stacked rows": lambda y, x: np.stack([y, x])[:, 2:],
    "both parts": lambda y, x: np.stack([x + y, x - y], axis=1)[2:],
    "a difference": lambda y, x: (x + y)[2:] * (x - y)[2:],
    "a difference by indices": lambda y, x: (x + y)[[2, 3, 5]] * (x - y)[[2, 3, 5]],
    "joined": lambda y, x: np.concatenate([y, x])[2:],
    "a part of the joined": lambda y, x: np.concatenate([x, y, x])[8:11],
    "columns of rows": lambda y, x: np.column_stack([y, x, x * y])[3:, :2],
    "by indices": lambda y, x: np.stack([y, x], axis=1)[[5, 2, 2]],
    "by a condition": lambda y, x: np.stack([x + y, x - y], axis=1)[x > 2],
    "transposed": lambda y, x: np.array([y, x]).T[2:],
    "one entry": lambda y, x: np.stack([y, x], axis=1)[4, 0] * np.stack([y, x])[0, 3],
    "a block": lambda y, x: np.block([[y], [x]])[:, 2:],
    "padded": lambda y, x: np.pad(y * x, 2)[5:8],
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", BESIDE_UNREAD_NANS)
def test_a_number_that_scales_an_array_with_unread_nans_has_a_gradient(name, jitted):
    x, known = np.arange(1.0, 7.0), np.array([0.5, -1.0, 2.0, 0.3, 1.5, -0.7])
    with_nans = np.where(x > 2, known, np.nan)

    def f(m, scaled):
        return np.sum(np.sin(BESIDE_UNREAD_NANS[name](m * scaled, x)))

    gradient = fg.jit(fg.grad(f)) if jitted else fg.grad(f)
    assert np.isfinite(f(1.3, with_nans))
    wanted = fg.grad(f)(1.3, known)
    assert gradient(1.3, with_nans) == pytest.approx(wanted, rel=1e-12)
    assert wanted == pytest.approx(fg.jvp(lambda m: f(m, known), (1.3,), (1.0,))[1], rel=1e-12)
