"""Random functions that branch: each example of a batch has the gradient that it has alone."""

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.fuzz.branching import Branching
from tests.fuzz.programs import compiled, quiet

RUNS = {
    "grad of vmap": lambda f: fg.grad(lambda xs: np.sum(fg.vmap(f)(xs))),
    "jit of grad of vmap": lambda f: fg.jit(fg.grad(lambda xs: np.sum(fg.vmap(f)(xs)))),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f)),
    "grad of scan": lambda f: fg.grad(
        lambda xs: fg.scan(lambda c, x: (c + f(x), None), 0.0, xs)[0]
    ),
}


def is_valid(f, x):
    """Whether no entry is NaN on the way: of one that is overwritten, the gradient may be NaN."""
    try:
        with np.errstate(invalid="raise"):
            f(x)
    except FloatingPointError:
        return False
    return True


def slope(f, x):
    """Central differences, and whether those ahead and behind agree."""
    steps = 1e-6 * np.eye(3)
    ahead = np.array([(f(x + e) - f(x)) / 1e-6 for e in steps])
    behind = np.array([(f(x) - f(x - e)) / 1e-6 for e in steps])
    return (ahead + behind) / 2, np.allclose(ahead, behind, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", one_in(40, range(400)))
def test_examples_of_a_batch_have_gradients_of_their_own(seed):
    source = Branching(seed).source
    traced = compiled(source, {})
    f = quiet(traced)
    xs = np.random.default_rng(seed).normal(size=(4, 3))
    xs = xs[[bool(np.isfinite(f(x))) and is_valid(traced, x) for x in xs]]
    alone = [fg.grad(traced)(x) for x in xs]
    for x, found in zip(xs, alone, strict=True):
        expected, settled = slope(f, x)
        if settled and np.max(np.abs(expected)) < 1e5:
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3, err_msg=source)
    kept = [bool(np.all(np.isfinite(found))) for found in alone]
    if not any(kept):
        return
    xs, expected = xs[kept], np.stack(alone)[kept]
    for name, run in RUNS.items():
        try:
            found = run(traced)(xs)
        except TypeError as error:
            if "at most 64 paths" in str(error):
                continue
            raise
        close = {"rtol": 1e-8, "atol": 1e-8 * (1 + np.max(np.abs(expected)))}
        np.testing.assert_allclose(found, expected, **close, err_msg=f"{name}\n{source}")
