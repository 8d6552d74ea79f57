"""vmap against a loop over the examples, for every operation, every axis and every nesting."""

import dataclasses
import itertools
import random
from collections import namedtuple
from random import gauss
from typing import Any

import numpy as np
import pytest
from pyrsistent import pmap, pvector

import funcgrad as fg
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.transforms.vmap import vmap
from tests.default_slice import one_in
from tests.ops.samples import SAMPLES, call

BATCHABLE = sorted(name for name in all_ops() if name in SAMPLES)
rng = np.random.default_rng(3)


def looped(f: Any, args: tuple[Any, ...], axes: tuple[int | None, ...], size: int) -> Any:
    """One call an example: what vmap must give."""
    rows = [
        f(*[a if axis is None else np.take(a, i, axis) for a, axis in zip(args, axes, strict=True)])
        for i in range(size)
    ]
    return np.stack([np.asarray(row) for row in rows])


def batch_of(x: Any, size: int) -> Any:
    """A batch whose examples differ, of the same dtype and domain as x."""
    x = np.asarray(x)
    scale = 1 + 0.01 * np.arange(size).reshape(size, *(1,) * x.ndim)
    return np.stack([x] * size) if x.dtype.kind in "iub" else (x * scale).astype(x.dtype)


@pytest.mark.parametrize("name", one_in(2, BATCHABLE))
def test_every_operation_on_every_choice_of_batched_operands(name: str) -> None:
    op = all_ops()[name]
    for sample in SAMPLES[name]:
        f = call(op, sample.params)
        count = len(sample.args)
        for flags in itertools.product([True, False], repeat=count):
            if not any(flags):
                continue
            args = tuple(
                batch_of(a, 3) if own else a for a, own in zip(sample.args, flags, strict=True)
            )
            axes = tuple(0 if own else None for own in flags)
            with np.errstate(all="ignore"):
                expected = looped(f, args, axes, 3)
            got = vmap(f, in_axes=axes)(*args)
            assert got.shape == expected.shape
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)


INDICES: list[Any] = [
    1,
    (slice(None), 1),
    (..., 0),
    (np.array([2, 0]),),
    (slice(None), np.array([1, 0, 1])),
    (np.array([2, 0]), slice(None), np.array([1, 0])),
    (1, slice(None), np.array([1, 0])),
    (np.array([[0], [1]]), np.array([[1, 2]])),
    (slice(None), np.array([0, 1]), None, np.array([1, 0])),
    (None, np.array([0, 1]), ..., 1),
    (slice(1, None), ..., np.array([0, 1])),
    (np.array(1), slice(None), np.array(0)),
    (slice(None), np.array(1), 2),
    (slice(None, None, -1), slice(None), np.array([[0, 1]])),
]


def has_arrays(index: Any) -> bool:
    return any(isinstance(a, np.ndarray) for a in (index if isinstance(index, tuple) else (index,)))


CHOICES = [
    (index, value, arrays)
    for index in INDICES
    for value, arrays in [(True, False), (True, True), (False, True)]
    if has_arrays(index) or not arrays
]


@pytest.mark.parametrize(("index", "batched_value", "batched_arrays"), one_in(3, CHOICES), ids=str)
def test_indexing_and_its_transpose(index: Any, batched_value: bool, batched_arrays: bool) -> None:
    items = index if isinstance(index, tuple) else (index,)
    arrays = [a for a in items if isinstance(a, np.ndarray)]
    x = rng.normal(size=(4, 3, 4, 5) if batched_value else (3, 4, 5))
    own = [np.stack([a, (a + 1) % 3, a, (a + 2) % 3]) if batched_arrays else a for a in arrays]

    def f(x: Any, *arrays: Any) -> Any:
        rest = iter(arrays)
        if any(isinstance(a, fg.Expr) for a in arrays):  # NumPy's own arrays refuse a traced index
            x = fg.const(x)
        return x[tuple(next(rest) if isinstance(a, np.ndarray) else a for a in items)]

    axes = (0 if batched_value else None, *[0 if batched_arrays else None] * len(arrays))
    expected = looped(f, (x, *own), axes, 4)
    np.testing.assert_array_equal(vmap(f, in_axes=axes)(x, *own), expected)

    def back(x: Any, *arrays: Any) -> Any:
        return fg.grad(lambda x: np.sum(np.sin(f(x, *arrays))))(x)

    np.testing.assert_allclose(
        vmap(back, in_axes=axes)(x, *own), looped(back, (x, *own), axes, 4), rtol=1e-14
    )


SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4))]
SHAPES += [((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_products_of_vectors_matrices_and_stacks(shapes: Any, axes: Any) -> None:
    rng = np.random.default_rng(0)  # the same numbers, whichever tests ran before
    args = tuple(
        rng.normal(size=shape if axis is None else (4, *shape))
        for shape, axis in zip(shapes, axes, strict=True)
    )
    expected = looped(np.matmul, args, axes, 4)
    np.testing.assert_allclose(vmap(np.matmul, in_axes=axes)(*args), expected, rtol=1e-12)
    both = fg.grad(lambda a, b: np.sum(np.sin(a @ b)), argnums=(0, 1))
    for i in range(2):
        np.testing.assert_allclose(
            vmap(lambda a, b, i=i: both(a, b)[i], in_axes=axes)(*args),
            looped(lambda a, b, i=i: both(a, b)[i], args, axes, 4),
            rtol=1e-12,
        )


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_any_axis_in_and_out(axis: int, out: int) -> None:
    x = rng.normal(size=(2, 3, 4))
    got = vmap(lambda v: np.sin(v) @ np.ones(v.shape[-1]), in_axes=axis, out_axes=out)(x)
    expected = np.sin(np.moveaxis(x, axis, 0)).sum(-1)
    # A sum of sines may cancel.
    np.testing.assert_allclose(got, np.moveaxis(expected, 0, out), rtol=1e-13, atol=1e-15)


Pair = namedtuple("Pair", "a b")


def test_trees_in_and_out() -> None:
    tree = {"w": np.arange(3.0), "p": Pair(np.ones((3, 2)), [np.arange(6.0).reshape(2, 3)])}
    axes = ({"w": 0, "p": Pair(0, [1])},)

    def f(t: Any) -> Any:
        return {"s": t["w"] * np.sum(t["p"].a), "v": t["p"].b[0] + t["w"]}

    got = vmap(f, in_axes=axes, out_axes={"s": 0, "v": 1})(tree)
    np.testing.assert_array_equal(got["s"], 2 * np.arange(3.0))
    np.testing.assert_array_equal(got["v"], np.arange(6.0).reshape(2, 3) + np.arange(3.0))


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def test_axes_of_dataclasses_and_persistent_containers() -> None:
    layers = Layer(np.arange(6.0).reshape(2, 3), np.ones(2))
    got = vmap(lambda t: t.w + t.b, in_axes=(Layer(1, None),))(layers)
    np.testing.assert_array_equal(got, layers.w.T + layers.b)
    maps = pmap({"a": np.arange(3.0), "b": pvector([np.arange(6.0).reshape(2, 3)])})
    axes = pmap({"a": 0, "b": pvector([1])})
    got = vmap(lambda t: t["a"] * t["b"][0], in_axes=(axes,))(maps)
    np.testing.assert_array_equal(got, (np.arange(3.0) * np.arange(6.0).reshape(2, 3)).T)


def test_nested_to_an_outer_product_of_gradients() -> None:
    x, y = np.linspace(0.1, 1, 3), np.linspace(1, 2, 4)
    g = fg.grad(lambda a, b: np.sin(a * b) * b)
    table = vmap(vmap(g, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(table, np.cos(np.outer(x, y)) * y**2, rtol=1e-13)


def test_a_closure_over_a_batched_value_and_a_gradient_through_the_batch() -> None:
    data = rng.normal(size=(5, 3))

    def loss(w: Any) -> Any:
        return np.mean(vmap(lambda row: np.tanh(row @ w) ** 2)(data))

    w = rng.normal(size=3)
    np.testing.assert_allclose(
        fg.grad(loss)(w), fg.grad(lambda w: np.mean(np.tanh(data @ w) ** 2))(w), rtol=1e-13
    )
    per_example = vmap(fg.grad(lambda w, row: np.tanh(row @ w) ** 2), in_axes=(None, 0))(w, data)
    np.testing.assert_allclose(per_example.mean(0), fg.grad(loss)(w), rtol=1e-13)


def test_a_result_that_is_the_same_for_all_examples_is_repeated() -> None:
    np.testing.assert_array_equal(vmap(lambda x: 2.0)(np.zeros(3)), [2.0, 2.0, 2.0])


def test_no_examples_give_no_results() -> None:
    assert vmap(lambda x: np.sin(x) @ np.ones(2))(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("f", "args", "options", "message"),
    [
        (np.sin, (2.0,), {}, "expected an argument with an axis 0, but got shape"),
        (np.sin, (np.ones(3),), {"in_axes": 1}, "expected an argument with an axis 1"),
        (np.add, (np.ones(3), np.ones(2)), {}, "one number of examples, but got 3 in axis 0"),
        (
            lambda a, b: a + b["c"],
            (np.ones(3), {"c": np.ones(2)}),
            {},
            "3 in axis 0 of a and 2 in axis 0 of b_c; give in_axes with None",
        ),
        (
            np.add,
            (np.ones(3), np.ones(3)),
            {"in_axes": (0,)},
            "in_axes to be an int or a tuple of 2",
        ),
        (np.sin, (np.ones(3),), {"in_axes": None}, "at least one argument to map over"),
        (np.sin, (np.ones(3),), {"out_axes": 1}, "out_axes between -1 and 0"),
        (np.sin, (np.ones(3),), {"out_axes": (0, 0)}, "expected out_axes of the structure"),
        (
            lambda d: d["a"],
            ({"a": np.ones(3)},),
            {"in_axes": ({"b": 0},)},
            "in_axes of the structure",
        ),
    ],
)
def test_wrong_axes_are_errors(f: Any, args: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"vmap: .*{message}"):
        vmap(f, **options)(*args)


def test_a_number_of_one_example_is_an_error_with_a_remedy_where_no_value_is_known() -> None:
    chosen = vmap(lambda x: [1.0, 2.0][int(x)] * x)
    np.testing.assert_array_equal(chosen(np.array([0.0, 1.0, 0.5])), [0.0, 2.0, 0.5])
    with pytest.raises(TypeError, match=r"choose with fg.cond or np.where"):
        fg.scan(lambda c, xs: (c, chosen(xs)), 0.0, np.ones((2, 3)))


def test_an_expression_is_refused() -> None:
    with pytest.raises(TypeError, match="vmap: expected a function"):
        vmap(fg.var("x"))


def test_a_result_that_is_the_same_for_all_examples() -> None:
    xs, y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])
    one, all_ = fg.vmap(lambda x, y: (y * 2, x * y), (0, None), (None, 0))(xs, y)
    np.testing.assert_array_equal(one, [8.0, 10.0])
    np.testing.assert_array_equal(all_, xs[:, None] * y)
    assert fg.vmap(lambda x: 7.0, out_axes=None)(xs) == 7.0
    slope = fg.grad(lambda y: np.sum(fg.vmap(lambda x: y**2, out_axes=None)(xs)))(y)
    np.testing.assert_array_equal(slope, 2 * y)
    rows = fg.vmap(lambda r: fg.vmap(lambda x: np.sum(r), out_axes=None)(r))(np.ones((2, 3)))
    np.testing.assert_array_equal(rows, [3.0, 3.0])
    with pytest.raises(ValueError, match="out_axes None for results that are the same"):
        fg.vmap(lambda x: x * 2, out_axes=None)(xs)
    with pytest.raises(ValueError, match="out_axes None for results that are the same"):
        fg.vmap(lambda x: (x, {"a": x * 2, "b": 1.0}), out_axes=(0, {"a": None, "b": None}))(xs)


# -- random draws ----------------------------------------------------------------------------------
OUTER = np.random.default_rng(5)


def helper(x):
    return x * OUTER.normal()


class Noisy:
    def __init__(self):
        self.rng = np.random.RandomState(0)

    def __call__(self, x):
        return x + self.rng.uniform()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + OUTER.normal(),
        lambda x: OUTER.normal(x, 1.0),
        lambda x: helper(x),
        lambda x: x * np.random.rand(),  # noqa: NPY002
        lambda x: x * random.random(),
        lambda x: x * gauss(0.0, 1.0),
        Noisy(),
    ],
)
def test_draws_that_all_examples_share_are_told_of(f):
    with pytest.warns(
        UserWarning, match="draws random numbers from .*, and all examples share them"
    ):
        fg.vmap(f)(np.ones(3))
    loop = lambda c, x: (c + f(x), ())  # noqa: E731
    with pytest.warns(UserWarning, match="all iterations share them; draw an array outside"):
        fg.scan(loop, 0.0, np.ones(3))


def test_draws_of_a_generator_that_starts_anew_are_told_of_to_nobody(recwarn):
    def f(x):
        return x * np.random.default_rng(0).normal()

    np.testing.assert_array_equal(fg.vmap(f)(np.ones(3)), [f(1.0)] * 3)
    fg.vmap(lambda x: x * len(OUTER.bit_generator.state))(np.ones(3))
    assert not recwarn.list


def test_draws_of_a_derivative_are_told_of():
    with pytest.warns(UserWarning, match="draws random numbers from OUTER"):
        fg.vmap(fg.grad(lambda x: x * OUTER.normal()))(np.ones(3))


def test_examples_may_choose_among_results_of_what_they_share():
    xs, w = np.array([-0.5, 1.8, 2.0]), np.array([0.6, 0.8])

    def f(x, w):
        return np.sum(w) if x > 0 else np.sum(w**2)

    def total(w):
        return np.sum(fg.vmap(f, (0, None))(xs, w))

    for run in (fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))):
        np.testing.assert_allclose(run(total)(w), 2 + 2 * w)
    np.testing.assert_allclose(fg.hessian(total)(w), 2 * np.eye(2))
    nested = fg.vmap(lambda w: fg.vmap(f, (0, None))(xs, w))(np.stack([w, 2 * w]))
    np.testing.assert_allclose(nested, [[f(x, v) for x in xs] for v in (w, 2 * w)])


@pytest.mark.parametrize("f", [lambda v: v[7], lambda v: {}["key"] * v], ids=["index", "key"])
def test_an_error_of_f_names_its_line_once(f):
    with pytest.raises((IndexError, KeyError), match=r"7|key") as caught:
        fg.vmap(f)(np.ones((2, 3)))
    assert not hasattr(caught.value, "__notes__")


def test_an_error_of_the_program_names_the_line_of_f():
    with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
        fg.vmap(lambda a: np.linalg.solve(0.0 * a, a[0]))(np.ones((2, 3, 3)))
    (note,) = caught.value.__notes__
    assert "at test_vmap.py:" in note


def test_a_range_that_is_not_mapped_over_is_given_whole():
    got = fg.vmap(lambda x, steps: sum(x**k for k in steps), (0, None))(
        np.array([2.0, 3.0]), range(3)
    )
    np.testing.assert_array_equal(got, [7.0, 13.0])
