"""Programs in blocks of rows compute what they computed as whole arrays."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.passes import strip_mining
from funcgrad.compiler.passes.strip_mining import strip_mine
from funcgrad.compiler.verify.verify_pipeline import verify_rewrite
from funcgrad.control.loop import is_loop
from funcgrad.expr import Expr, subexpressions, symbol
from funcgrad.graph import ArrayType
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.trace.pytree import flatten
from tests.default_slice import examples
from tests.fuzz.strategies import programs
from tests.fuzz.values import generic_arguments

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small_programs(monkeypatch):
    monkeypatch.setattr(strip_mining, "_LEAST", 1)
    monkeypatch.setattr(strip_mining, "_LEAST_IN_LOOPS", 1)
    monkeypatch.setattr(strip_mining, "_TIMES", 0)
    monkeypatch.setattr(strip_mining, "_FEWEST_STEPS", 1)
    monkeypatch.setattr(strip_mining, "_FEWEST_IN_LOOPS", 1)
    monkeypatch.setattr(strip_mining, "stored_bytes", lambda flat: 1 << 20)


def mined(roots, inputs, values, rtol=1e-13):
    """The operations of a program after the pass, which must compute what it computed before."""
    new = strip_mine(roots, inputs)
    verify_rewrite(roots, new, inputs, "strip_mining")
    for got, want in zip(
        interpret(flatten_program(new, inputs), values),
        interpret(flatten_program(roots, inputs), values),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-14)
    return [e.op.name for e in subexpressions(*new)], [
        e for e in subexpressions(*new) if is_loop(e)
    ]


def inputs_of(*shapes):
    names = [fg.var(f"x{k}", shape) for k, shape in enumerate(shapes)]
    return names, [RNG.normal(size=shape) for shape in shapes]


def test_elementwise_steps_and_sums_along_rows_are_one_loop():
    (x, w), values = inputs_of((64, 5), (5,))
    y = np.exp(x) * w
    z = np.sin(y * np.sum(y * y, axis=1)[:, None]) + np.max(x, axis=1)[:, None]
    names, loops = mined([z], [x, w], values)
    assert len(loops) == 1
    assert "exp" not in names
    assert dict(loops[0].params)["spec"].trip_count == 8  # of 8 rows


def test_sums_over_rows_are_added_up_in_the_loop():
    (x,), values = inputs_of((64, 5))
    y = np.exp(x)
    _, loops = mined(
        [np.sum(y * y), np.sum(np.sin(y), axis=0), np.mean(y, axis=(0, 1))], [x], values
    )
    assert len(loops) == 1
    body = dict(loops[0].params)["body"]
    assert {type.shape for type in body.types} == {(), (5,)}


def test_what_needs_other_rows_ends_a_loop():
    (x,), values = inputs_of((64, 5))
    y = np.exp(x) * x
    z = np.sin(y - np.max(y, axis=0)) * y[::-1]
    names, loops = mined([z, np.cumsum(y, axis=0)], [x], values)
    assert len(loops) == 2
    assert {"max", "getitem"} <= set(names)


def test_indices_of_rows_gather_from_whole_arrays():
    (x, table), values = inputs_of((64, 5), (7, 5))
    index = fg.var("k", 64, int)
    rows = RNG.integers(0, 7, 64)
    y = np.exp(table[index] * x) + x[:, 1:2] * x[:, ::-1]
    names, loops = mined([y], [x, table, index], [*values, rows])
    assert len(loops) == 1
    assert names.count("getitem") == 0


def test_arrays_of_the_same_length_along_other_axes_are_whole(monkeypatch):
    monkeypatch.setattr(
        strip_mining, "_REGISTER", 3
    )  # as if rows of 16 left registers partly empty
    monkeypatch.setattr(strip_mining, "_LONG", 17)
    (x, v), values = inputs_of((16, 16), (16,))
    y = np.exp(x) * v + np.sin(v)[:, None]  # v along rows, and by rows
    _, loops = mined([y * np.cos(y.T), y @ x], [x, v], values)
    assert loops


def test_joined_and_moved_axes():
    (x, y), values = inputs_of((64, 2, 3), (64, 2, 1))
    z = np.concatenate([np.exp(x), y, x * y], axis=2)
    z = np.transpose(z, (0, 2, 1)).reshape(64, 14) * 2.0
    mined([z, np.where(z > 0, z, -z), np.any(z > 1, axis=1)], [x, y], values)


def test_lengths_without_divisors_are_left_whole():
    (x,), values = inputs_of((61, 5))
    _, loops = mined([np.sin(np.exp(x) * x)], [x], values)
    assert loops == []


def test_gradients_of_losses_over_rows():
    def loss(w, b, x, t):
        h = np.tanh(x @ w + b)
        return np.sum((np.sum(h * h, axis=1) - t) ** 2)

    names, values = inputs_of((5, 4), (4,), (64, 5), (64,))
    roots = simplify_all(list(fg.grad(loss, (0, 1)).expr(*names)))
    mined(roots, names, values, rtol=1e-11)


def test_gradients_of_parts_of_rows_are_one_loop():
    def turned(x, weights):
        axis, point = x[:, :3], x[..., 3:6]
        k = axis / np.sqrt(np.sum(axis * axis, axis=-1))[..., None]
        seen = np.cross(k, point) + np.sum(k * point, axis=1)[:, None] * k
        pairs = seen[:, None, :] * np.stack([x[..., 6], np.sin(x[:, -1])], axis=1)[..., None]
        return np.sum(weights * np.transpose(pairs, (0, 2, 1)).reshape(len(x), 6)[:, ::-1])

    names, values = inputs_of((64, 8), (6,))
    roots = simplify_all(list(fg.grad(turned, (0, 1)).expr(*names)))
    steps, loops = mined(roots, names, values, rtol=1e-11)
    assert len(loops) == 1
    assert "scatter_add" not in steps


def power_basis(x, c, y):
    basis = np.cumprod(x[:, None] * np.ones(c.shape), axis=1)
    return np.sum((basis @ c - y) ** 2)


def test_running_sums_along_rows_and_products_with_vectors_are_in_the_loop():
    names, values = inputs_of((64,), (8,), (64,))
    roots = simplify_all(list(fg.grad(power_basis, (0, 1)).expr(*names)))
    steps, loops = mined(roots, names, values, rtol=1e-11)
    assert len(loops) == 1
    assert not {"cumprod", "recurrence", "matmul", "multiply"} & set(steps)
    inside = {e.op.name: e for e in subexpressions(*dict(loops[0].params)["body"].outputs)}
    assert inside["recurrence"].shape == (8, 32)


def test_running_sums_of_any_axis_but_the_first():
    (x, w), values = inputs_of((64, 2, 3), (64,))
    y = np.exp(x)
    z = np.cumsum(y, axis=1) + np.cumprod(y, axis=2) + np.maximum.accumulate(y, axis=-1)
    _, (loop,) = mined([np.sum(z, axis=(1, 2)), w @ np.sum(z, axis=1), w @ w], [x, w], values)
    assert dict(loop.params)["spec"].trip_count == 2  # of rows that fill four registers
    _, (_, _) = mined([np.sum(np.exp(np.cumsum(np.exp(y), axis=0)))], [x], values[:1])


def test_products_whose_vector_is_no_row_value_stay_outside():
    (x, w, v), values = inputs_of((64, 5), (64,), (64,))
    y = np.exp(x)
    names, _ = mined(
        [w @ y, np.cos(w) @ np.sin(w), v @ np.sin(y) @ np.ones((5, 2))], [x, w, v], values
    )
    assert "matmul" in names


def test_running_sums_gain_where_fewer_arrays_are_turned_than_made(monkeypatch):
    monkeypatch.setattr(strip_mining, "_FEWEST_STEPS", 100)
    monkeypatch.setattr(strip_mining, "_TIMES", 4)
    names, values = inputs_of((64,), (8,), (64,))
    roots = simplify_all(list(fg.grad(power_basis, (0, 1)).expr(*names)))
    assert len(mined(roots, names, values, rtol=1e-11)[1]) == 1
    (x,), values = inputs_of((64, 8))
    assert mined([np.sum(np.cumsum(np.exp(x), axis=1))], [x], values)[1]
    assert not mined([np.cumsum(x, axis=1)], [x], values)[1]


def test_rows_are_along_the_last_axis_of_a_block():
    (x,), values = inputs_of((64, 5))
    y = np.exp(x)
    _, (loop,) = mined([np.sum(y * np.sin(y), axis=1)], [x], values)
    inside = subexpressions(*dict(loop.params)["body"].outputs)
    assert {e.shape for e in inside if e.op.name in ("exp", "sin", "multiply")} == {(5, 8)}


def members(x0):
    """The ends of an ensemble of small systems."""

    def step(state, t):
        x, y, z = state
        new = state + 0.01 * np.stack([10 * (y - x), x * (28 - z) - y, x * y - 2.5 * z + t])
        return new, np.sum(new * new)

    return fg.scan(step, x0, np.arange(20.0) / 20)


@pytest.mark.parametrize("f", [fg.vmap(members), fg.grad(lambda x: np.sum(fg.vmap(members)(x)[1]))])
def test_short_rows_in_the_body_of_a_loop(f, monkeypatch):
    x = fg.var("x", (32, 3))
    roots = simplify_all(list(flatten(fg.trace(f, x)).leaves))
    _, loops = mined(roots, [x], [RNG.normal(size=(32, 3))], rtol=1e-11)
    bodies = [e for loop in loops for e in subexpressions(*dict(loop.params)["body"].outputs)]
    assert any(map(is_loop, bodies))
    monkeypatch.setattr(strip_mining, "_WIDEST_IN_LOOPS", 2)
    _, loops = mined(roots, [x], [RNG.normal(size=(32, 3))], rtol=1e-11)
    bodies = [e for loop in loops for e in subexpressions(*dict(loop.params)["body"].outputs)]
    assert not any(map(is_loop, bodies))


@pytest.mark.parametrize(("width", "gains"), [(3, True), (5, True), (8, False), (64, False)])
def test_rows_that_fill_vector_registers_are_left_as_they_are(width, gains):
    (x,), values = inputs_of((64, width))
    y = np.exp(x)
    z = np.sin(y * np.sum(y, axis=1)[:, None]) + y
    assert bool(mined([z], [x], values)[1]) == gains


def test_it_is_left_out_where_it_gains_nothing(monkeypatch):
    (x,), _ = inputs_of((64, 5))
    roots = [np.sin(np.exp(x) * x)]
    monkeypatch.setattr(strip_mining, "_TIMES", 1 << 20)  # as if as much was stored after it
    assert strip_mine(roots, [x]) == roots
    monkeypatch.setattr(strip_mining, "stored_bytes", lambda flat: 0)
    assert strip_mine(roots, [x]) == roots


STEPS = {
    "sin": lambda x, y: np.sin(x) * y,
    "row": lambda x, y: x - np.sum(y, axis=1, keepdims=True),
    "column": lambda x, y: x / (1 + np.sum(y * y, axis=0)),
    "top": lambda x, y: x - np.max(y, axis=0),
    "flip": lambda x, y: x[::-1] + y,
    "swap": lambda x, y: np.concatenate([y[:, 1:], x[:, :1]], axis=1),
    "last": lambda x, y: (
        x[..., 1:2] * y[..., None, :][:, 0] + np.sum(x * x[..., -1:], axis=-1)[:, None]
    ),
    "spread": lambda x, y: x * np.reshape(y, (16, 3, 1))[:, 0] + y[:, 0:1],
    "product": lambda x, y: x @ (y.T @ y) * 0.1,
    "weighted": lambda x, y: x + (y @ x[0])[:, None] + np.cos(x[:, 0]) @ np.sin(y),
    "running": lambda x, y: np.cumsum(x, axis=1) * np.cumprod(y, axis=-1),
    "where": lambda x, y: np.where(x > y, x, np.exp(-np.abs(y))),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9))))
@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
def test_random_programs(steps):
    (x, y), values = inputs_of((16, 3), (16, 3))
    made = [x, y]
    for name, i, j in steps[:8]:
        made.append(STEPS[name](made[i % len(made)], made[j % len(made)]))
    mined([made[-1], np.sum(made[-1] * made[len(made) // 2])], [x, y], values, rtol=1e-9)


@pytest.mark.parametrize("family", ["elementwise", "arrays", "dtypes"])
def test_random_programs_of_the_fuzzer(family, monkeypatch):
    monkeypatch.setattr(strip_mining, "_FEWEST_ROWS", 1)
    with_loops = 0

    @settings(
        max_examples=examples(150),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(programs(family), st.integers(0, 99))
    def tried(program, seed):
        nonlocal with_loops
        args = [np.asarray(x) for x in generic_arguments(program, seed)]
        inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(args)]
        try:
            roots = [x for x in program.traced(*inputs) if isinstance(x, Expr)]
        except (TypeError, IndexError):  # it asks for values
            return
        roots = [x for x in roots if x.dtype.kind in "fib"]
        if roots:
            single = any(x.dtype == np.float32 for x in subexpressions(*roots))
            with_loops += len(mined(roots, inputs, args, rtol=1e-4 if single else 1e-9)[1])

    tried()
    assert with_loops


@pytest.mark.skipif(not llvm_jit.llvm_available(), reason="llvmlite is not installed")
def test_machine_code(monkeypatch):
    monkeypatch.undo()
    x = RNG.normal(size=(20_000, 9))

    def f(x):
        y = np.exp(-x * x)
        z = np.sin(y * np.sum(y * y, axis=1)[:, None]) + np.sqrt(np.sum(y, axis=1))[:, None]
        for _ in range(25):  # with few steps it gains nothing
            z = np.cos(z / 2 + np.mean(z * y, axis=1)[:, None] / 4)
        return np.sum(z, axis=0), np.sum(z * y, axis=1)

    formula = simplify_all(list(fg.trace(f, fg.var("x", x.shape))))
    assert any(is_loop(e) for e in subexpressions(*strip_mine(formula, [fg.var("x", x.shape)])))
    for got, want in zip(fg.jit(f, native=True)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(not llvm_jit.llvm_available(), reason="llvmlite is not installed")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_running_sums_in_machine_code(monkeypatch, dtype):
    monkeypatch.undo()
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1.0, 1e-40]
    rng = np.random.default_rng(3)
    x, c, y = rng.uniform(0.5, 1, 512), rng.normal(size=40), rng.normal(size=512)
    x[5 : 5 + len(special)] = special
    args = [z.astype(dtype) for z in (x, c, y)]

    def slopes(x, c, y):
        basis = np.cumprod(x[:, None] * np.ones(c.shape, c.dtype), axis=1)
        return (basis @ c - y) ** 2, fg.grad(power_basis)(x, c, y)

    names = [symbol(f"i{k}", ArrayType(z.shape, z.dtype)) for k, z in enumerate(args)]
    formula = simplify_all(list(fg.trace(slopes, *names)))
    assert any(is_loop(e) for e in subexpressions(*strip_mine(formula, names)))
    # The square of a small difference has few digits.
    rtol, atol = (1e-12, 1e-15) if dtype == np.float64 else (1e-4, 1e-6)
    with np.errstate(all="ignore"):
        wanted = slopes(*args)
    for got, want in zip(fg.jit(slopes, native=True)(*args), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
