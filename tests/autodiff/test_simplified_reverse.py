"""Cotangents that are simplified as they are made are those of `cotangents`, simplified afterwards."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff.accumulate import cotangents
from funcgrad.autodiff.simplified_reverse import simplified_cotangents
from funcgrad.expr import assemble_node
from funcgrad.fold import folded
from funcgrad.ops.base.op import Elementwise
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from tests.default_slice import one_in
from tests.operation_readers import programs

UNARY = (np.sin, np.tanh, np.exp, np.log, np.square, np.negative, np.sqrt, abs, np.log1p)
BINARY = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.hypot, np.arctan2, np.power)


def copied(expr, args):
    return assemble_node(expr.op, args, expr.params, expr.type)


def gradients_by(afterwards, root, inputs, mode="value"):
    """The gradient in each input, simplified as it is made or afterwards."""
    # (A copy, of which no node is known to be simple.)
    root, *inputs = folded([root, *inputs], copied)
    values = Simplifier(mode)
    simple, *leaves = values.simplified_all([root, *inputs])
    derivatives = values if mode == "formula" else values.for_derivatives()
    if afterwards:
        made = cotangents(simple, leaves)
    else:
        made = simplified_cotangents(simple, leaves, derivatives)
    return simplify_all(made, simplifier=derivatives)


def assert_same(root, inputs):
    now, then = [gradients_by(afterwards, root, inputs) for afterwards in (False, True)]
    assert [expr.key for expr in now] == [expr.key for expr in then]


def random_program(seed, shape=(), dtype=float):
    """A program of elementwise operations with repeated operands, constants and many uses of a value."""
    rng = np.random.default_rng(seed)
    inputs = [fg.var(f"x{k}", shape, dtype) for k in range(3)]
    values = [*inputs, fg.const(np.asarray(0.5, dtype)), fg.const(np.asarray(-1.0, dtype))]
    for _ in range(40):
        if rng.random() < 0.4:
            values.append(UNARY[rng.integers(len(UNARY))](values[rng.integers(len(values))]))
        else:
            i, j = rng.integers(len(values), size=2)
            values.append(BINARY[rng.integers(len(BINARY))](values[i], values[j]))
        if rng.random() < 0.1:
            values.append(np.where(values[-1] > 0, values[-2], values[0]))
    total = values[-1]
    for value in values[-6:-1]:
        total = total + value
    return np.sum(total), inputs


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("shape", "dtype"), [((), "float64"), ((), "float32"), ((2, 3), "float64")]
)
def test_programs_of_elementwise_operations(seed, shape, dtype):
    assert_same(*random_program(seed, shape, dtype))


@pytest.mark.parametrize("seed", range(12))
def test_formulas_have_the_same_values(seed):
    root, inputs = random_program(seed)
    points = np.random.default_rng(seed).normal(size=(3, 4))
    now, then = [gradients_by(afterwards, root, inputs, "formula") for afterwards in (False, True)]
    for new, old in zip(now, then, strict=True):
        with np.errstate(all="ignore"):
            values = [
                [expr({f"x{k}": x for k, x in enumerate(point)}) for point in points.T]
                for expr in (new, old)
            ]
        np.testing.assert_allclose(*values, rtol=1e-9)


def test_programs_of_each_operation():
    compared = 0
    for name, program in programs().items():
        expr = program.expr
        if expr.dtype.kind in "fc" and program.smooth:
            inputs = [program.inputs[k] for k in program.smooth]
            root = np.sum(np.real(np.sin(expr) * expr))
            if name == "qr_complement":
                # A part of which no entry is read has an absent cotangent, and zeros afterwards.
                both = [gradients_by(afterwards, root, inputs) for afterwards in (False, True)]
                for now, then in zip(*both, strict=True):
                    np.testing.assert_allclose(
                        now(**program.given), then(**program.given), rtol=1e-12
                    )
            else:
                assert_same(root, inputs)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    "number", one_in(3, [2.0, 3.0, -1.0, 1.0, 0.0, -0.0, 0.5, 1.7, np.inf, np.nan])
)
def test_operations_on_constants(number):
    for program in programs().values():
        if not isinstance(program.expr.op, Elementwise) or program.expr.dtype.kind not in "fc":
            continue
        for place in program.smooth:
            constant = fg.const(np.asarray(number, program.inputs[place].dtype))
            try:
                expr = fg.substitute(program.expr, {program.inputs[place]: constant})
            except (TypeError, ValueError):
                continue
            rest = [program.inputs[k] for k in program.smooth if k != place]
            if rest:
                assert_same(np.real(expr * expr), rest)


def test_inputs_that_are_not_reached_and_roots_without_derivative():
    x, y, n = fg.var("x"), fg.var("y"), fg.var("n", (), int)
    assert_same(np.sin(x) * 2, [x, y])
    assert_same(fg.const(2.0), [x])
    assert_same(x, [x, y])
    assert_same(n * n, [x])
    assert_same(x * n + np.sin(n), [x, n])
    assert_same(fg.stop_gradient(np.sin(x)) * y, [x, y])


def test_numbers_of_several_precisions_are_added():
    x = fg.var("x", (), "float32")
    wide = x.astype("float64")
    assert_same(np.sin(wide) * wide + np.exp(x), [x])


def test_loops_and_branches():
    x, v = fg.var("x"), fg.var("v", 4)
    loop = fg.scan(lambda c, t: (np.sin(c) * t + x, c * c), np.sum(v), v)
    assert_same(loop[0] + np.sum(loop[1]), [x, v])
    assert_same(fg.cond(x > 0, lambda x: x**3, lambda x: -x, x) * np.sum(v * x), [x, v])
