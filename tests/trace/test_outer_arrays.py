"""Stores of constants into arrays from outside of a body that is traced once: refused."""

from functools import partial

import numpy as np
import pytest

import funcgrad as fg

COUNTS = np.zeros(2)
STORES = "stores into 'log', an array from outside"


def test_store_in_scan() -> None:
    def f(x):
        log = np.zeros(5)

        def body(c, _):
            log[1] += 1.0
            return c * x, c

        return fg.scan(body, x, np.arange(3))[0] + log[1]

    with pytest.raises(TypeError, match=f"scan: .*{STORES}"):
        fg.grad(f)(2.0)


@pytest.mark.parametrize("adopt", [False, True])
def test_store_in_fori_loop_and_condition_of_while_loop(adopt: bool) -> None:
    def counted(x):
        log = np.zeros(1)

        def body(i, c):
            log[0] = 7.0
            return c * x

        return fg.fori_loop(0, 3, body, x) + log[0]

    def waiting(x):
        log = np.zeros(1)

        def below(c):
            log.fill(1.0)
            return c < 100.0

        return fg.while_loop(below, lambda c: c * x, x) + log[0]

    for f, name in ((counted, "fori_loop"), (waiting, "while_loop")):
        with pytest.raises(TypeError, match=f"{name}: .*{STORES}"):
            fg.grad(fg.adopt(f) if adopt else f)(2.0)


def test_store_in_a_branch() -> None:
    def f(x):
        log = np.zeros(1)

        def taken(x):
            return x

        def not_taken(scale, x):
            log[0] = 1.0
            return x * scale

        return fg.cond(x > 0, taken, partial(not_taken, 2.0), x) + log[0]

    with pytest.raises(TypeError, match=f"cond: .*{STORES}"):
        fg.grad(f)(2.0)


def test_store_into_a_global_by_an_inner_function() -> None:
    def count() -> None:
        COUNTS[0] += 1.0

    def body(c, _):
        count()
        return c * 2.0, None

    with pytest.raises(TypeError, match=r"scan: .*'COUNTS'"):
        fg.grad(lambda x: fg.scan(body, x, None, 3)[0])(2.0)
    COUNTS[:] = 0.0


def test_arrays_that_are_read_or_made_inside_are_no_stores() -> None:
    scale, empty = np.array([2.0, np.nan, -0.0]), np.zeros((0, 3))

    def body(c, _):
        own = np.zeros(3)
        own[1] = 1.0
        return c * (scale[0] + own[1] + empty.sum()), None

    assert fg.grad(lambda x: fg.scan(body, x, None, 2)[0])(1.0) == 9.0


def test_an_attribute_is_no_global_variable_of_its_name():
    """It was, so that the argument of the caller's was said to be captured as well."""
    space = {"np": np}
    exec(
        "class Own: pass\n\n"
        "def f(a):\n"
        "    own = Own()\n"
        "    own.a = a\n"
        "    own.a[0] *= own.a[1]\n"
        "    return own.a.sum()\n",
        space,
    )
    space["a"] = np.array([2.0, 3.0])
    assert fg.grad(space["f"])(space["a"]).tolist() == [3.0, 3.0]
    assert space["a"].tolist() == [2.0, 3.0]


def test_a_store_into_a_default_is_refused():
    log = np.zeros(1)

    def body(total, x, calls=log):
        calls[0] = calls[0] + 1.0
        return total + x * calls[0], None

    def by_name(total, x, *, calls=log):
        return body(total, x, calls)

    for f in (body, by_name):
        with pytest.raises(TypeError, match="stores into 'calls', an array from outside"):
            fg.scan(f, 0.0, np.arange(3.0))


class Counter:
    def __init__(self):
        self.counts = np.zeros(3)

    def step(self, s, x):
        self.counts[0] = 1.0
        return s + x, s


@pytest.mark.parametrize("body_of", [lambda c: c.step, lambda c: partial(Counter.step, c)])
def test_a_store_of_a_method_into_an_array_of_its_instance_is_refused(body_of):
    counter = Counter()
    with pytest.raises(TypeError, match=r"stores into '\w+.counts', an array from outside"):
        fg.grad(lambda v: fg.scan(body_of(counter), v, np.ones(3))[0])(2.0)
    np.testing.assert_array_equal(counter.counts, np.zeros(3))
