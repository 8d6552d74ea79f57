"""Arrays that are kept with their last two axes swapped: what is computed is the same."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.passes import layout_assignment as layout
from funcgrad.compiler.passes.layout_assignment import assign_layouts
from funcgrad.rewrite.simplify import simplify_all
from tests.default_slice import one_in

B, N, D = 6, 200, 3
X, Y, Z = fg.var("x", (B, N, D)), fg.var("y", (N, D)), fg.var("z", (B, 1, D))
A, W = fg.var("a", (B, D, D)), fg.var("w", (B, N, 1))
INPUTS = [X, Y, Z, A, W]


def values():
    rng = np.random.default_rng(0)
    return [rng.normal(size=x.shape) for x in INPUTS]


def steps(flat, name):
    return [step for step in flat.steps if step.op.name == name]


CASES = {
    "a sum along the short axis": lambda x, y, z, a, w: np.sum((y - z) ** 2, axis=2),
    "along the long one": lambda x, y, z, a, w: np.sum(np.abs(y - z), axis=1),
    "along both": lambda x, y, z, a, w: np.sum(np.exp(y - z) * w, axis=(1, 2)),
    "along all": lambda x, y, z, a, w: np.sum(np.exp(y - z) * w),
    "along the first": lambda x, y, z, a, w: np.sum(np.exp(y - z) * w, axis=0),
    "along the first and the short": lambda x, y, z, a, w: np.sum((y - z) * w, axis=(0, 2)),
    "extrema": lambda x, y, z, a, w: (
        np.max(x - z, axis=2) - np.min(x - z, axis=1, keepdims=True)[..., 0]
    ),
    "a softmax": lambda x, y, z, a, w: fg.softmax(x - z, axis=2),
    "logsumexp": lambda x, y, z, a, w: fg.logsumexp((x - z) * w, axis=2),
    "norm": lambda x, y, z, a, w: np.linalg.norm(x - z, axis=2),
    "a product": lambda x, y, z, a, w: np.sum(((y - z) @ a) ** 2, axis=2),
    "a product from the left": lambda x, y, z, a, w: np.swapaxes(x - z, 1, 2) @ (y - z),
    "a product that is broadcast": lambda x, y, z, a, w: np.sum((y @ a) * (x - z), axis=2),
    "a selection": lambda x, y, z, a, w: np.sum(np.where(x > z, x - z, w), axis=2),
    "a constant": lambda x, y, z, a, w: np.sum(np.arange(3.0) * (x - z), axis=2),
    "a large constant": lambda x, y, z, a, w: np.sum(
        np.arange(600.0).reshape(200, 3) * np.ones((B, 1, 1)) * (x - z), axis=1
    ),
    "what comes in swapped": lambda x, y, z, a, w: np.sum(
        np.swapaxes(np.swapaxes(x, 1, 2) * 2.0, 1, 2) - z, axis=2
    ),
    "a slice": lambda x, y, z, a, w: np.sum((x - z)[:, 1:] * (x - z)[:, :-1], axis=2),
    "the array itself": lambda x, y, z, a, w: (x - z) * np.sum(x - z, axis=2, keepdims=True),
    "a logical sum": lambda x, y, z, a, w: np.any(x - z > w, axis=2),
    "casts": lambda x, y, z, a, w: np.sum((x - z).astype("float32") * 2, axis=2),
    "order": lambda x, y, z, a, w: np.cumsum(x - z, axis=1) * w,
}


@pytest.mark.parametrize(("every", "name"), one_in(3, itertools.product([False, True], CASES)))
def test_values_and_gradients_agree(name, every, monkeypatch):
    if every:  # whether or not it gains
        monkeypatch.setattr(layout, "_MIN_ENTRIES", 1)
        monkeypatch.setattr(layout, "_MIN_RATIO", 1)
        monkeypatch.setattr(layout, "_MIN_GAIN", -1e12)
    (root,) = simplify_all([CASES[name](*INPUTS)])
    roots = [root]
    if root.dtype.kind == "f":
        total = np.sum(
            root * np.cos(np.arange(float(root.size))).reshape(root.shape).astype(root.dtype)
        )
        roots += simplify_all(gradients(total, INPUTS))
    flat = flatten_program(roots, INPUTS)
    given = values()
    expected = interpret(flat, given)
    changed = interpret(assign_layouts(eliminate_dead_steps(flat)), given)
    for got in (changed, compile_arrays(roots, INPUTS)(*given)):
        for a, b, of in zip(got, expected, roots, strict=True):
            assert np.shape(a) == np.shape(b) == of.shape
            assert np.asarray(a).dtype == np.asarray(b).dtype
            rtol = 1e-12 if np.asarray(b).dtype == float else 2e-6
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b)))
            if isinstance(a, np.ndarray):
                assert not any(np.shares_memory(a, value) for value in given)


def changed(root, inputs):
    flat = flatten_program([root], inputs)
    return assign_layouts(flat) is not flat


def test_what_is_worth_it():
    x, y, z = fg.var("x", (40, 500, 3)), fg.var("y", (500, 3)), fg.var("z", (40, 1, 3))
    wide, flat = fg.var("x", (40, 3, 500)), fg.var("x", (20_000, 3))
    tiny = fg.var("x", (4, 30, 3))
    assert changed(np.sum(np.abs(y - z), axis=2), [y, z])
    assert not changed(np.abs(x), [x])  # nothing is gained
    assert not changed(np.sum(x, axis=2), [x])  # it would have to be copied
    assert not changed(np.abs(y - z), [y, z])  # it is asked for as it is
    assert not changed(np.sum(np.abs(wide), axis=1), [wide])
    assert not changed(np.sum(np.abs(flat), axis=1), [flat])
    assert not changed(np.sum(np.abs(tiny), axis=2), [tiny])


def test_products_exchange_their_operands():
    y, z, a = fg.var("y", (500, 3)), fg.var("z", (40, 1, 3)), fg.var("a", (40, 3, 3))
    flat = assign_layouts(flatten_program([np.sum(((y - z) @ a) ** 2, axis=2)], [y, z, a]))
    (product,) = steps(flat, "matmul")
    assert product.type.shape == (40, 3, 500)
    assert [flat.steps[k].type.shape for k in product.operands] == [(40, 3, 3), (40, 3, 500)]
    assert len(steps(flat, "contiguous")) == 1  # of y, which is small


def test_nan_and_infinity_stay_where_they_are():
    root = np.sum(np.where(Y > Z, Y - Z, 0), axis=2)
    given = values()
    given[1][3], given[2][1] = np.inf, np.nan
    given[1][4] = np.nan
    (want,) = interpret(flatten_program([root], INPUTS), given)
    (got,) = compile_arrays([root], INPUTS)(*given)
    np.testing.assert_allclose(got, want, rtol=1e-13)
