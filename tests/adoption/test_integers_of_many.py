"""`int(i)` of an integer that stands for many is an integer that does; elsewhere `int` is Python's own."""

import typing
from collections import defaultdict

import numpy as np
import pytest
from scipy import integrate, optimize

import funcgrad as fg

XS = np.linspace(0.2, 2.2, 5)
TABLE = np.array([1.0, 4.0, 2.0, 7.0])


def interpolated(c, x):
    i = int(np.trunc(x * 1.5).astype(int))
    rest = x * 1.5 - i
    return c + (TABLE[min(i, 3)] * (1 - rest) + TABLE[min(i + 1, 3)] * rest) * c


def extremes(c, x):
    z = x * TABLE * np.array([0.3, -0.2, 0.1, -0.1]) + np.sin(c)
    return c + z[int(np.argmax(z))] * z[int(np.argmin(z))]


def truncated(x):
    return int(np.trunc(x).astype(np.int32))


def arithmetic(c, x):
    i = truncated(x)
    return c * i + x * (i // 2) + i % 2 * c - truncated(-x) / 4 + 2**i * c


def branching(c, x):
    if truncated(x) == 1:
        return c * 2 + int(c > 0.5)
    return c * x * (1.0 if truncated(x * 10) % 2 == 0 else 2.0)


def stored(c, x):
    w = np.zeros(4)
    w[truncated(x)] = c
    w[truncated(x) + 1] += x * c
    return (w * np.arange(4.0)).sum() + c


def asked_for_its_type(c, x):
    i = truncated(x)
    if isinstance(i, int) and not isinstance(i, float) and type(i) is int:
        return c + i
    return c * 100


def looped(f):
    return lambda a: fg.scan(lambda c, x: (f(c, x), None), a, XS)[0]


def by_hand(f):
    def run(a):
        for x in XS:
            a = f(a, float(x))
        return a

    return run


@pytest.mark.parametrize(
    "f", [interpolated, extremes, arithmetic, branching, stored, asked_for_its_type]
)
def test_bodies_of_loops_may_ask_for_integers(f):
    loop, plain, h = looped(f), by_hand(f), 1e-6
    slope = (plain(0.3 + h) - plain(0.3 - h)) / (2 * h)
    assert loop(0.3) == pytest.approx(plain(0.3), rel=1e-14)
    for how in (fg.grad, lambda f: fg.jit(fg.grad(f)), fg.jacfwd):
        assert how(loop)(0.3) == pytest.approx(slope, rel=1e-6)
    mapped = fg.vmap(fg.grad(loop))(np.array([0.3, 0.4]))
    np.testing.assert_allclose(mapped[0], slope, rtol=1e-6)


def test_functions_of_solvers_may_ask_for_integers():
    area = lambda a: integrate.quad(lambda t: TABLE[truncated(t)] * a * t, 0, 1)[0]  # noqa: E731
    assert fg.grad(area)(2.0) == pytest.approx(0.5)
    root = lambda a: optimize.brentq(lambda t: t**3 + truncated(t) - a, 0, 3)  # noqa: E731
    t = root(5.0)
    assert fg.grad(root)(5.0) == pytest.approx(1 / (3 * t * t))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: [1.0, 2.0, 3.0][truncated(x)],
        lambda x: sum([x for _ in range(truncated(x))]),
        lambda x: np.zeros(truncated(x)).sum(),
    ],
)
def test_lists_counts_and_shapes_need_one_integer(f):
    with pytest.raises(
        TypeError, match=r"expected a number, but .* has none|a shape has no traced"
    ):
        fg.scan(lambda c, x: (c + f(x), None), 0.0, XS)


@pytest.mark.parametrize("x", [0.5, np.nan, np.inf, 1e30])
def test_floats_are_refused_with_what_to_write(x):
    """Python raises an error for NaN, and its integers have no limit."""
    with pytest.raises(TypeError, match=r"int\(\): .*np.trunc\(x\).astype\(int\)"):
        fg.scan(lambda c, x: (c + int(x), None), 0.0, np.array([x]))


def test_unsigned_integers_of_64_bits_are_refused():
    with pytest.raises(TypeError, match=r"int\(\): expected a number"):
        fg.scan(lambda c, n: (c + int(n), None), 0.0, np.array([2**63], np.uint64))


def uses_of_int(x):
    class Own(int):
        pass

    counts, maybe = defaultdict(int), typing.Optional[int]  # noqa: UP045
    counts["a"] += 1
    match 3:
        case int(n):
            matched = n
    return [
        np.zeros(2, int).dtype == int,
        x.astype(int).dtype == np.dtype(int),
        np.issubdtype(np.int64, int),
        not np.issubdtype(float, int),
        np.result_type(int, float).name,
        np.iinfo(int).max > 0,
        [type(v) is int for v in (3, True, 2.0)],
        [isinstance(v, int) for v in (3, True, 2.0, np.int64(3), Own(3), np.argmax(x))],
        [isinstance(v, int | None) for v in (3, None, 2.0)],
        [issubclass(bool, int), issubclass(Own, int), issubclass(float, int)],
        [int("12"), int("ff", 16), int(2.7), int(-2.7), list(map(int, "12"))],
        int.from_bytes(b"\x01", "big"),
        Own(4) + 1,
        {int: 1}[int],
        dict(counts),
        maybe is not None,
        int.__name__,
        matched,
        isinstance(int(x[1] * 3), int),
        int(x[1] * 3).bit_length(),
    ]


def test_other_uses_of_int_are_pythons():
    found = []

    def f(x):
        found.append(uses_of_int(x))
        return x.sum()

    fg.grad(fg.adopt(f))(XS)
    fg.jit(fg.adopt(f))(XS)
    expected = uses_of_int(XS)
    assert [str(made) for made in found] == [str(expected)] * len(found)
    assert len(found) >= 2
