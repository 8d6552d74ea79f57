"""``a[x > 0]`` for a number x: of an array all entries or none, of a list an item."""

import numpy as np
import pytest

import funcgrad as fg

ROW = np.array([0.35, 0.74, 1.52])
TABLE = np.arange(6.0).reshape(2, 3)


class Held:
    def __init__(self):
        self.row, self.pair, self.by_name = ROW + 1, [2.0, 5.0], {"row": ROW, "pair": (3.0, 7.0)}


class Slotted:
    __slots__ = ("row",)

    def __init__(self):
        self.row = ROW + 2


HELD, SLOTTED = Held(), Slotted()


def _stored(x):
    a = ROW.copy()
    a[x > 0] = 2.0
    return a * x


def _added(x):
    a = ROW * x
    a[x > 0] += x
    return a


def _spread_over_lines(x):
    return np.sum(
        ROW[
            x
            > 0
        ]
    ) * x  # fmt: skip


FUNCTIONS = {
    "an array": lambda x: np.sum(ROW[x > 0] * ROW) * x,
    "none of it": lambda x: np.sum(ROW[x < 0]) * x,
    "both axes": lambda x: np.sum(TABLE[x > 0, 1]) * x,
    "the last axis": lambda x: np.sum(TABLE[1, x > 0]) * x,
    "inverted": lambda x: np.sum(ROW[np.logical_not(x < 0)] * ROW) * x,
    "of a sum": lambda x: np.sum(ROW[np.sum(x * ROW) > 0]) * x,
    "an attribute": lambda x: np.sum(HELD.row[x > 0]) * x,
    "a slot": lambda x: np.sum(SLOTTED.row[x > 0]) * x,
    "an item": lambda x: np.sum(HELD.by_name["row"][x > 0]) * x,
    "a result": lambda x: np.sum(np.sort(ROW)[x > 0]) * x,
    "stored": lambda x: np.sum(_stored(x)),
    "added": lambda x: np.sum(_added(x)),
    "lines": _spread_over_lines,
    "a list": lambda x: HELD.pair[x > 0] * x,
    "a tuple": lambda x: HELD.by_name["pair"][x < 0] * x,
    "a display": lambda x: [np.sin, np.cos][x > 0](x),
    "letters": lambda x: x * 2 if "ab"[x > 0] == "b" else x,
    "made": lambda x: list(HELD.by_name["pair"])[x > 0] * x,
    "bounds": lambda x: np.sum(ROW[(x > 0) :]) * x,
    "a range": lambda x: len(range(x > 0)) * x,
}


@pytest.mark.parametrize("x", [0.7, -0.7])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_scalar_conditions_mask_arrays_and_choose_items(f, x):
    def slope(of):
        return (of(x + 1e-6) - of(x - 1e-6)) / 2e-6

    want = f(x)
    for g in (f, fg.adopt(f)):
        value, derivative = fg.value_and_grad(g)(x)
        assert value == pytest.approx(want, rel=1e-14)
        assert derivative == pytest.approx(slope(f), rel=1e-8)
        assert fg.jit(g)(x) == pytest.approx(want, rel=1e-14)
        assert fg.jvp(g, (x,), (1.0,))[1] == pytest.approx(derivative, rel=1e-14)
    both = fg.vmap(f)(np.array([x, -x]))
    np.testing.assert_allclose(both, [f(x), f(-x)], rtol=1e-14)


def test_items_of_unknown_lists_say_what_to_write():
    def pair():
        return [2.0, 3.0]

    with pytest.raises(
        TypeError, match=r"an index: expected an integer .* write a\[int\(x > 0\)\]"
    ):
        fg.grad(lambda x: pair()[x > 0] * x)(0.7)
    assert fg.grad(lambda x: pair()[int(x > 0)] * x)(0.7) == 3.0


@pytest.mark.parametrize("places", [True, np.True_, [True, False], np.array([[False], [True]])])
def test_take_counts_truth_values_as_integers(places):
    want = np.take(ROW, places)
    np.testing.assert_array_equal(fg.jit(lambda x: np.take(x, places))(ROW), want)

    def chosen(x):
        return np.sum(np.take(ROW, np.asarray(places) & (x > 0)) * x)

    assert fg.value_and_grad(chosen)(2.0) == (2 * np.sum(want), np.sum(want))
