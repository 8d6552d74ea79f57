"""Programs with steps that have no form in machine code: machine code between them."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.native import graph_partition
from funcgrad.compiler.native.graph_partition import partition, run_of
from funcgrad.compiler.native.native_program import NativeProgram
from funcgrad.expr import symbol
from funcgrad.graph import CONSTANT, ArrayType

pytest.importorskip("llvmlite")


def at_once(region):
    return NativeProgram(region, at_once=True).function()


def flat_of(f, *args):
    inputs = [
        symbol(f"x{k}", ArrayType(np.shape(a), np.asarray(a).dtype)) for k, a in enumerate(args)
    ]
    made = f(*inputs)
    return flatten_program(made if isinstance(made, list | tuple) else [made], inputs)


def check(f, *args):
    flat = flat_of(f, *args)
    run = run_of(partition(flat), at_once)
    found, expected = run(*args), interpret(flat, args)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
        assert not isinstance(one, np.ndarray) or not any(
            np.shares_memory(one, a) for a in args if isinstance(a, np.ndarray)
        )
    return partition(flat)


A = np.random.default_rng(0).standard_normal((30, 20))
S = A @ A.T + 30 * np.eye(30)


def test_before_and_after_a_decomposition():
    def f(a):
        u, s, vt = np.linalg.svd(np.tanh(a), full_matrices=False)
        return np.sum(((u[:, :3] * s[:3]) @ vt[:3]) ** 4), s

    parts = check(f, A)
    assert [region is not None for region, _ in parts.stages] == [True, True]


@pytest.mark.parametrize(
    "f",
    [
        lambda s: np.sum(np.linalg.eigh(np.exp(s / 90))[0][-3:] ** 2),
        lambda s: np.sort(np.ravel(np.sin(s))) * 2,
        lambda s: (np.sort(np.ravel(s)), np.sort(np.ravel(s)), s),
        lambda s: np.linalg.svd(s)[1].reshape(5, 6).T,
        lambda s: np.sort(np.sort(np.ravel(s))[::-1] + 1)[np.argsort(np.ravel(s))],
        lambda s: np.sort(np.ravel(s)) * np.max(np.sort(np.ravel(s))) + np.sum(s),
        lambda s: (np.sum(s) > 3, np.argsort(np.ravel(s)), np.sort(np.ravel(s > 0))),
    ],
)
def test_values_are_numpys(f):
    check(f, S)


def test_slopes_of_eigenvectors():
    def loss(s):
        w, v = np.linalg.eigh(s + s.T)
        return np.sum(w[-3:]) + np.sum(v[:, -3:] ** 4)

    f = fg.jit(fg.value_and_grad(loss))
    expected = fg.value_and_grad(loss)(S)
    for _ in range(5000):
        found = f(S)
    assert f.lower(S).machine_code.startswith("the program: machine code in parts, and NumPy: ")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_a_program_whose_steps_have_forms_has_no_regions():
    assert partition(flat_of(lambda s: np.sum(np.sin(s)), S)) is None


def test_regions_that_are_not_faster_stay_in_numpy():
    parts = partition(flat_of(lambda s: np.sort(np.ravel(s)) + 1, S))
    assert run_of(parts, lambda region: None) is None


@pytest.mark.parametrize(("rows", "in_parts"), [(2, False), (20_000, True)])
def test_a_program_of_short_calls_is_not_partitioned(rows, in_parts):
    def f(x):
        half = (x > 0.5).astype(np.float16)  # which machine code has not
        return np.exp(np.sin(x) * x) - np.cos(x), np.sqrt(half)

    program = NativeProgram(flat_of(f, np.ones((rows, 3))))
    for _ in range(20_000):
        if program.later.has_gaps or not program.is_possible:
            break
        program.function()
    assert program.in_parts == in_parts


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_with_random_gaps(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    x, y = (symbol(name, ArrayType((4, 3), np.dtype(float))) for name in "xy")
    made = [x, y]
    for _ in range(25):
        a, b = (made[k] for k in rng.integers(0, len(made), 2))
        kind = rng.integers(0, 8)
        one = np.sum(a) / 7 if kind == 0 else np.mean(a, axis=0) * b if kind == 1 else None
        if one is None:
            pick = [np.sin(a), a * b, a - 0.5, np.reshape(a[::-1], (4, 3)), np.maximum(a, b), b * 2]
            one = pick[kind - 2]
        made.append(np.broadcast_to(one, (4, 3)) if one.shape != (4, 3) else one)
    results = [made[k] for k in rng.integers(0, len(made), 4)] + [np.sum(made[-1])]
    flat = flatten_program(results, [x, y])
    gaps = [i >= flat.inputs and rng.random() < 0.2 for i in range(len(flat.steps))]
    gaps[-1] = True
    monkeypatch.setattr(graph_partition, "_forms", lambda _: [not gap for gap in gaps])
    args = rng.standard_normal((2, 4, 3))
    in_numpy = [i for _, others in partition(flat).stages for i in others]
    assert in_numpy == sorted(in_numpy)
    steps = enumerate(flat.steps)
    assert set(in_numpy) == {i for i, step in steps if gaps[i] and step.op is not CONSTANT}
    run = run_of(partition(flat), at_once)
    assert run is not None
    found = run(*args)
    for one, other in zip(found, interpret(flat, args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    arrays = [one for one in found if isinstance(one, np.ndarray)]
    for k, one in enumerate(arrays):
        assert not any(np.shares_memory(one, other) for other in (*arrays[:k], *args))
