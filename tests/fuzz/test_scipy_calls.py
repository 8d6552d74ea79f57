"""Calls of SciPy's functions under the transforms: SciPy's values, derivatives as differences, jit and vmap.

Every run has a fixed part of the calls; ``-m slow`` has all of them.
"""

import warnings

import numpy as np
import pytest

import funcgrad as fg
from tests.fuzz.scipy_calls import TABLES, calls


def leaves(result):
    """The arrays of a result that have a derivative."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    found = result if isinstance(result, fg.Expr) else np.asarray(result)
    return [result] if found.dtype.kind in "fc" else []


def direction(x, rng):
    v = rng.standard_normal(x.shape)
    return v + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else v


def must_agree(who, found, wanted, tolerance=1e-8):
    assert len(found) == len(wanted), f"{who}: {len(found)} results, but SciPy has {len(wanted)}"
    for a, b in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{who}: {a!r} for {b!r}"
        size = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
        np.testing.assert_allclose(a, b, tolerance, tolerance * size, err_msg=who)


def must_be_difference(who, found, function):
    """What is found is the derivative at 0 of a function of a number, where differences settle."""
    at = {k: [np.asarray(leaf) for leaf in function(1e-3 * k)] for k in (-2, -1, 1, 2)}
    for k, slope in enumerate(map(np.asarray, found)):
        near, wide = (at[1][k] - at[-1][k]) / 2e-3, (at[2][k] - at[-2][k]) / 4e-3
        best, unsure = (4 * near - wide) / 3, np.abs(near - wide)
        close = np.abs(slope - best) <= 1e-5 * (1 + np.abs(best)) + 0.05 * unsure
        settled = np.isfinite(best) & (unsure < 1e-2 * (1 + np.abs(best)))
        assert np.all(close | ~settled), f"{who}: {slope}, but differences give {best}"


class Differentiated:
    """A call as a function of one of its arguments, on SciPy's arrays and under the transforms."""

    def __init__(self, function, values, k):
        self.values, self.k, self.x = values, k, values[k]
        adopted = fg.adopt(function)
        self.traced = lambda x: tuple(leaves(adopted(*self.given(x))))
        self.plain = lambda x: leaves(function(*[np.copy(item) for item in self.given(x)]))
        rng = np.random.default_rng(1)
        self.v = direction(self.x, rng)
        self.weights = tuple([direction(np.asarray(y), rng) for y in self.plain(self.x)])

    def given(self, x):
        return [x if i == self.k else item for i, item in enumerate(self.values)]

    def along(self, h):
        return self.x + h * self.v

    def loss(self, x):
        results = self.traced(x)
        terms = [np.real(y * w + 0.3 * y * y) for y, w in zip(results, self.weights, strict=True)]
        return sum([np.sum(term) for term in terms])

    def check(self):
        wanted = self.plain(self.x)
        found, slopes = fg.jvp(self.traced, (self.x,), (self.v,))
        must_agree("jvp's value", found, wanted)
        must_be_difference("jvp", slopes, lambda h: self.plain(self.along(h)))
        _, pullback = fg.vjp(self.traced, self.x)
        (cotangent,) = pullback(self.weights)
        must_agree("shape of the cotangent", [0 * cotangent], [0 * self.x])
        forward = sum([np.sum(w * y).real for w, y in zip(self.weights, slopes, strict=True)])
        np.testing.assert_allclose(np.sum(cotangent * self.v).real, forward, 1e-7, 1e-7)

    def check_second(self):
        gradient = fg.grad(self.loss)
        _, slope = fg.jvp(gradient, (self.x,), (self.v,))
        must_be_difference("second order", [slope], lambda h: [gradient(self.along(h))])
        must_agree("jit of grad", [fg.jit(gradient)(self.x)], [gradient(self.x)])

    def check_batch(self):
        rows = np.stack([self.x, self.along(0.01)])
        wanted = [np.stack(parts) for parts in zip(*map(self.plain, rows), strict=True)]
        must_agree("vmap", fg.vmap(self.traced)(rows), wanted)


def check(call):
    function, values = call.function(), call.values()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = leaves(function(*[np.copy(value) for value in values]))
        run = fg.jit(lambda *args: tuple(leaves(fg.adopt(function)(*args))))
        must_agree("jit", run(*values), wanted)
        for k in range(len(values)):
            if f"{call.names[k]}" in function.__code__.co_varnames:
                one = Differentiated(function, values, k)
                one.check()
                one.check_second()
                one.check_batch()


ALL = {name: calls(table) for name, table in TABLES.items()}


@pytest.mark.parametrize("name", ALL)
def test_a_fixed_part(name):
    for call in ALL[name][:: 1 + len(ALL[name]) // 3]:
        check_named(call)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_all(name):
    for call in ALL[name]:
        check_named(call)


def check_named(call):
    try:
        check(call)
    except Exception as error:
        raise AssertionError(f"{call}: {type(error).__name__}: {error}") from error
