"""Random nested transforms against nested dual numbers; each program is called with other numbers, too."""

import types

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in
from tests.fuzz.dual_numbers import jvp, transforms
from tests.fuzz.nested import Nested
from tests.fuzz.programs import compiled


def with_rule(f, kind):
    """A function with a rule that is its own derivative, taken when the rule runs."""
    if kind == "jvp":
        made = fg.custom_jvp(f)
        made.defjvp(lambda primals, tangents: (made(*primals), fg.jvp(f, primals, tangents)[1]))
        return made
    made = fg.custom_vjp(f)
    made.defvjp(lambda x: (made(x), x), lambda x, g: fg.vjp(f, x)[1](g))
    return made


TRANSFORMS = types.SimpleNamespace(
    **{name: getattr(fg, name) for name in vars(transforms) if name != "with_rule"},
    with_rule=with_rule,
)


class Pair:
    """A program of funcgrad's transforms, and the same of dual numbers."""

    def __init__(self, seed):
        self.source, self.numbers = Nested(seed, 1 + seed % 3).source, [0.0, 0.0]
        self.random = np.random.default_rng(seed)
        self.f = compiled(self.source, {"T": TRANSFORMS, "k": self.numbers})
        self.reference = compiled(self.source, {"T": transforms, "k": self.numbers})

    def point(self):
        """Arguments, of two rows."""
        return self.random.normal(), self.random.normal(size=2), self.random.normal(size=(2, 2))


def weighted(f, weights):
    """The sum of all results, weighted."""
    return lambda x, v, m: sum(np.sum(w * y) for w, y in zip(weights, f(x, v, m), strict=True))


def agree(found, expected, moved, message):
    """Numbers agree as far as rounding goes, if they hardly change where the arguments are moved a little."""
    scale = 1 + np.max(np.abs(expected))
    if scale < 1e8 and np.allclose(moved, expected, rtol=1e-8, atol=1e-8 * scale):
        close = {"rtol": 1e-7, "atol": 1e-7 * scale}
        np.testing.assert_allclose(found, expected, **close, err_msg=message)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", one_in(125, range(1000), start=53))
def test_nested_transforms_are_those_of_dual_numbers(seed):
    pair = Pair(seed)
    weights, along = pair.random.normal(size=2), pair.point()
    f, reference = weighted(pair.f, weights), weighted(pair.reference, weights)
    gradient = fg.grad(f, (0, 1, 2))
    compiled_value, compiled_gradient = fg.jit(f), fg.jit(gradient)

    def slope(parts):
        return sum(np.sum(part * direction) for part, direction in zip(parts, along, strict=True))

    runs = {
        "value": lambda *p: (f(*p), None),
        "jit": lambda *p: (compiled_value(*p), None),
        "jvp": lambda *p: fg.jvp(f, p, along),
        "grad": lambda *p: (None, slope(gradient(*p))),
        "jit of grad": lambda *p: (None, slope(compiled_gradient(*p))),
        "vmap": lambda *p: (fg.vmap(f)(*[np.stack([part, part]) for part in p])[1], None),
    }
    with np.errstate(all="ignore"):
        for _ in range(3):
            pair.numbers[:] = pair.random.normal(size=2)
            point = pair.point()
            moved = [part * (1 + 1e-12) for part in point]
            expected = jvp(reference, point, along)
            near = jvp(reference, moved, along)
            for name, run in runs.items():
                for found, wanted, other in zip(run(*point), expected, near, strict=True):
                    if found is not None:
                        agree(found, wanted, other, f"{name}\n{pair.source}")
