"""A gradient that is zero since no argument reaches the output is warned of through every transform."""

import warnings

import numpy as np
import pytest

import funcgrad as fg

TWO, ONES = np.zeros(2), np.ones(2)


def three(x):
    return 3.0


THROUGH = {
    "call": three,
    "jit": fg.jit(three),
    "checkpoint": fg.checkpoint(three),
    "cond": lambda x: fg.cond(x > 0, three, three, x),
    "switch": lambda x: fg.switch(np.floor(x).astype(int), [three, three], x),
    "scan": lambda x: fg.scan(lambda c, _: (c + three(x), None), 0.0, TWO)[0],
    "carry": lambda x: fg.scan(lambda c, _: (three(c), None), x, TWO)[0],
    "outputs": lambda x: np.sum(fg.scan(lambda c, _: (c * x, three(c)), x, TWO)[1]),
    "fori_loop": lambda x: fg.fori_loop(0, 2, lambda i, c: c + three(x), 0.0),
    "while_loop": lambda x: fg.while_loop(lambda c: c < 9.0, lambda c: c + three(x), 0.0),
    "cond in scan": lambda x: fg.scan(
        lambda c, _: (fg.cond(c > 0, three, three, c * x), None), x, TWO
    )[0],
    "vmap": lambda x: np.sum(fg.vmap(three)(x * ONES)),
    "checkpoint of vmap": lambda x: fg.checkpoint(lambda y: np.sum(fg.vmap(three)(y)))(x * ONES),
}
REACHED = {
    "checkpoint": fg.checkpoint(lambda x: x * 1.0),
    "one branch": lambda x: fg.cond(x > 0, three, lambda x: x, x),
    "carry": lambda x: fg.scan(lambda c, _: (c * 1.0, None), x, TWO)[0],
    "carry of a carry": lambda x: fg.scan(lambda c, _: ((c[1], c[0]), None), (0.0, x), TWO)[0][1],
    "initial state": lambda x: fg.while_loop(lambda c: c < 0.0, three, x),
    "sequence": lambda x: fg.scan(lambda c, y: (c + y, None), 0.0, x * ONES)[0],
    "derivative in vmap": lambda x: np.sum(fg.vmap(fg.grad(lambda y: 3.0 * y))(x * ONES)),
    "bodies that two calls share": lambda x: sum([f(x) for f in [fg.checkpoint(np.sin)] * 2]),
}


@pytest.mark.parametrize("how", [fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))])
@pytest.mark.parametrize("name", THROUGH)
def test_an_output_that_depends_on_no_argument_is_warned_of(name, how):
    with pytest.warns(UserWarning, match="does not depend on the arguments"):
        assert how(THROUGH[name])(1.5) == 0.0


@pytest.mark.parametrize("how", [fg.grad, fg.jacfwd])
@pytest.mark.parametrize("name", REACHED)
def test_one_that_does_is_not(name, how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(how(REACHED[name])(1.5))


def test_the_gradient_in_a_part_that_a_formula_does_not_have_is_zero_with_a_warning():
    x, y = fg.vars("x y")
    with pytest.warns(UserWarning, match="gradient: the expression does not have the part") as told:
        assert fg.gradient(x * y, x + y)() == 0.0
    assert told[0].filename == __file__
    assert str(fg.gradient((x + y) ** 2, x + y)) == "2*(x + y)"
    assert fg.gradient(x**2, y)() == 0.0  # a variable need not occur
