"""Every law on signed zeros, infinities, NaN and complex values, operand by operand, to the bit."""

import functools
import inspect
import itertools
from pkgutil import resolve_name

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff.accumulate import cotangents
from funcgrad.expr import subexpressions
from funcgrad.ops.elementwise.selection import mask
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.laws import EXACT, LAWS
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.structural_laws import STRUCTURAL
from tests.default_slice import one_in
from tests.rewrite.near_misses import NUMBERS, changed_in_one_operand, has_value_of
from tests.rewrite.values import grid, same

DTYPES = [np.float64, np.float32, np.float16, np.complex128]
STABLE = "as a stable form"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def name_of(law):
    return inspect.getsource(law.left).strip()[:90]


def operands(law, dtype):
    names = list(inspect.signature(law.left).parameters)
    constants = {"c": dtype(2.5).item(), "d": dtype(-1.5).item()}
    free = [n for n in names if n not in constants]
    arrays = grid(len(free), dtype)
    values = {
        n: np.arange(a.size) % 3 > 0 if n == "p" else a for n, a in zip(free, arrays, strict=True)
    }
    return names, constants, values


EXACT_PAIRS = [
    pytest.param(law, dtype, id=f"{name_of(law)} {dtype.__name__}")
    for law in LAWS
    for dtype in DTYPES
    if law.holds in ("everywhere", "for reals and arrays")
    or (law.holds == "for reals" and dtype is not np.complex128)
]


@pytest.mark.parametrize(("law", "dtype"), EXACT_PAIRS)
def test_the_sides_of_an_exact_law_are_equal_to_the_bit(law, dtype):
    names, constants, values = operands(law, dtype)
    given = [{**constants, **values}[n] for n in names]
    left = np.asarray(law.left(*given))
    right = np.broadcast_to(np.asarray(law.right(*given), dtype), left.shape)
    assert same(right, left)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", [law for law in LAWS if law.holds != STABLE], ids=name_of)
def test_a_value_keeps_every_bit(law, dtype):
    names, constants, values = operands(law, dtype)
    symbols = {n: fg.var(n, v.shape, v.dtype) for n, v in values.items()}
    (simple,) = simplify_all([law.left(*[{**constants, **symbols}[n] for n in names])])
    used = {n: values[n] for n in variables(simple)}
    assert same(simple(**used), law.left(*[{**constants, **values}[n] for n in names]))


@pytest.mark.parametrize(
    "law", [law for law in LAWS if law.holds in ("everywhere", "for reals and arrays")], ids=name_of
)
def test_a_value_of_complex_scalars_keeps_every_bit(law):
    names, constants, values = operands(law, np.complex128)
    rows = zip(*(a[:200] for a in values.values()), strict=True)
    for row in rows:
        given = {**constants, **dict(zip(values, row, strict=True))}
        left = [given[n] for n in names]
        symbols = {n: fg.var(n, (), given[n].dtype) for n in values}
        (simple,) = simplify_all([law.left(*[{**constants, **symbols}[n] for n in names])])
        assert same(simple(**{n: given[n] for n in variables(simple)}), law.left(*left))


@pytest.mark.parametrize("law", [law for law in LAWS if law.holds not in EXACT], ids=name_of)
def test_a_law_that_is_not_exact_is_for_what_is_derived(law):
    """It changes some special value, or rounds otherwise; so it must not be among the exact ones."""
    numbers = {"c": 0.1, "d": 0.7}
    names = list(inspect.signature(law.left).parameters)
    rng = np.random.default_rng(1)
    free = [n for n in names if n not in numbers]
    special = grid(len(free), np.float64)
    values = {
        n: (
            np.tile([False, True], 4000)[: s.size + 500]
            if n == "p"
            else np.concatenate([s, rng.normal(size=500)])
        )
        for n, s in zip(free, special, strict=True)
    }
    given = [numbers.get(n) if n in numbers else values[n] for n in names]
    left = law.left(*given)
    assert not same(np.broadcast_to(np.asarray(law.right(*given), float), left.shape), left)


# -- laws that no pattern can state: a program for each that it applies to -------------------------------
def _moved(x):
    m = np.reshape(x, (-1, 1)).T
    return np.reshape(np.broadcast_to(np.reshape(m, (1, -1)), (1, x.size)), -1)


def _triangle(x):
    return np.triu(np.broadcast_to(x, (x.size, x.size)))


def _stored(x, *stores):
    """A copy of x after stores: what is done, where, and the value."""
    if not isinstance(x, fg.Expr):
        x = x.copy()
    for how, i, value in stores:
        if isinstance(x, fg.Expr):
            x = getattr(x.at[i], how)(value)
        else:
            x[i] = value if how == "set" else x[i] + value
    return x


def _matrix(x):
    """A diagonal matrix of zeros and ones."""
    return np.diag((np.real(x) > 0) * 1.0)


def _exponential(x, product):
    """The exponential of a matrix, by its eigenvalues."""
    w, v = np.linalg.eigh(_matrix(x))
    return product(v, np.exp(w))


PROGRAMS = {
    "stored_entry": lambda x: (
        _stored(x, ("set", 0, x[1]))[0] + _stored(x, ("set", slice(1, 3), x[0]))[1:3]
    ),
    "stacked_entry": lambda x: (
        np.concatenate([np.stack([x[:2], x[1:3]]), np.ones((1, 2))])[1] * np.stack([x[0], 2.0])[-2]
        + np.concatenate([x[:0], x, x[:1]])[3]
    ),
    "whole": lambda x: np.sum(x)[()] * x[:][...] + x[0 : x.size] + x[: x.size : 1][-x.size :],
    "of_parts_with_entries": lambda x: (
        np.concatenate([x[:0], x, x[3:3]]) + np.concatenate([np.exp(x)])
    ),
    "of_all_or_none": lambda x: (
        _stored(x, ("set", np.zeros(0, int), 0.0))
        + _stored(x, ("set", slice(None), x[0]))
        + _stored(x, ("set", slice(0, x.size), x[0]))
    ),
    "of_no_entries": lambda x: x * np.sum(np.exp(x)[np.zeros(0, int)]),
    "overwritten": lambda x: _stored(x, ("add", 0, x[2]), ("set", 0, x[1])),
    "added_to_zero": lambda x: _stored(x, ("set", 0, 0.0), ("add", 0, x[1])),
    "accumulated": lambda x: x + _stored(np.zeros_like(x), ("add", 0, 1.0)),
    "joined_scatters": lambda x: (np.exp(x) * np.sin(x))[1:],
    "joined": lambda x: _stored(
        np.zeros_like(x), ("add", slice(2, None), x[2:]), ("add", slice(2), x[:2])
    ),
    "cleared": lambda x: _stored(x, ("set", 0, 0.0)) * (1 / x),
    "_nested_move": _moved,
    "_joined_mask": lambda x: np.concatenate([np.where(np.real(x) > 0, x, 0.0), x]),
    "_any_of_repeated": lambda x: np.where(
        np.any(np.broadcast_to(np.real(x)[:, None] > 0, (2, x.size, 3)), axis=(0, 2)), x, 0.0
    ),
    "_part_of_repeated": lambda x: (
        np.broadcast_to(x[:, None], (2, x.size, 3))[1, 1:, ::-1][..., 0]
        + np.broadcast_to(x, (4, x.size))[2][1:]
    ),
    "_moved_mask": lambda x: np.reshape(_triangle(x), -1)[::-1],
    "_mask_of_stored": lambda x: _stored(np.where(np.real(x) > 0, x, 0.0), ("set", 0, 0.0)),
    "_conjugated_back": lambda x: np.conjugate(np.conjugate(x + 2j)),
    "_mask_of_entries": lambda x: np.real(np.where(np.real(x) > 0, x + 2j, 0.0)),
    "_masked_sum": lambda x: np.sum(_triangle(x), axis=1),
    "_mask_cases": lambda x: np.where(np.ones(x.shape, bool), x, 0.0),
    "_logical_cases": lambda x: np.where((np.real(x) > 0) | np.zeros(x.shape, bool), x, 0.0),
    "_joined_masks": lambda x: _triangle(x) + np.tril(np.broadcast_to(x, (x.size, x.size))),
    "_opposite_masks": lambda x: (
        np.where(np.real(x) > 0, x, 0.0) + np.where(np.logical_not(np.real(x) > 0), 2 * x, 0.0)
    ),
    "_scaled_masks": lambda x: (
        np.where(np.real(x) < 2, np.where(np.real(x) > 0, x, 0.0), 0.0) * (1 / x)
        + 2.0 * np.where(np.real(x) < 2, np.where(np.real(x) > 0, x, 0.0), 0.0) / x
    ),
    "_sum_over_no_axes": lambda x: np.sum(x, axis=()),
    "scattered_total": lambda x: (np.exp(x) * x[0])[1:],
    "_sum_of_repeated": lambda x: np.sum(np.broadcast_to(x[:, None, None], (x.size, 1, 1))[0]),
    "_picked": lambda x: fg.jit(lambda y: (y, -y))(x)[1] if isinstance(x, fg.Expr) else -x,
    "scattered_sums": lambda x: fg.log_softmax(np.stack([x, 2 * x]), axis=1)[[0, 1, 0], [1, 2, 1]],
    "scattered_product": lambda x: np.exp(x)[1:],
    "entries_of_scattered": lambda x: np.concatenate([np.exp(x), x])[1:],
    "scattered_twice": lambda x: np.diff(np.diff(np.exp(x)))[1:],
    "negated_scatter": lambda x: (np.exp(x) - x)[1:],
    "transposed_scatter": lambda x: np.stack([np.exp(x), x]).T[1:],
    "reshaped_scatter": lambda x: np.stack([np.exp(x), x], axis=1)[1:],
    "part_of_scattered": lambda x: np.imag((np.real(x) * 1j * x)[1:]),
    "scattered_contraction": lambda x: (np.reshape(np.exp(x), (-1, 1)) @ x[:1])[1:],
    "product_with_overflowing": lambda x: x / (np.exp(x) - 1) * np.exp(x) + np.tanh(x),
    "cancelled_power": lambda x: x**3 / (4 * np.square(np.cos(x) - 1)),
    "complement_of_share": lambda x: x**3 / (x**3 + 2),
    "quotient_of_overflowing": lambda x: np.exp(x) / np.square(np.exp(x) - 1),
    "scattered_convolution": lambda x: np.convolve(np.exp(x), x[:2])[1:-1],
    "selected_product": lambda x: x[[1, 0]] * (1 / x[:2]),
    "function_by_vectors": lambda x: _exponential(
        x, lambda v, d: (v * d) @ v.T + (v[:, :2] * d[:2]) @ v[:, :2].T
    ),
    "sum_over_vectors": lambda x: fg.grad(lambda a: np.sum(np.exp(np.linalg.eigvalsh(a))))(
        _matrix(x)
    ),
    "determined_by_number": lambda x: fg.grad(lambda a: np.sum(np.linalg.eigvalsh(a)))(_matrix(x)),
    "product_of_power": lambda x: (
        np.repeat(x, 8) ** 3 + np.repeat(x, 8) ** 4 + np.repeat(x, 8) ** -2.0
    ),
    "product_with_slope": lambda x: np.sign(x) * np.log1p(np.abs(x)),
    "tie_of_nothing": lambda x: np.square(np.maximum(np.real(x), 0)),
    "slope_of_a_size": lambda x: np.abs(np.real(x) ** 2),
    "slope_of_a_side": lambda x: np.where(np.real(x) >= 0, np.abs(x), np.exp(-np.abs(x))),
    "square_of_slope": lambda x: np.cos(np.abs(x)),
    "smooth_at_origin": lambda x: np.cos(np.hypot(np.real(x), 2 * np.imag(x))),
    "sum_of_product": lambda x: np.sum(-(np.reshape(x, (-1, 1)) @ np.reshape(x, (1, -1))), axis=0),
}
UNLIKE_AT_ZERO = ("product_with_slope", "slope_of_a_side", "slope_of_a_size")
"""Laws of the derivatives of functions that are smooth at 0, where both sides of the law differ."""
STABLE_PROGRAMS = {
    "log_of_sum_of_exp": lambda x: np.log(np.sum(np.exp(x))),
    "shifted_log_sum_exp": lambda x: fg.logsumexp(x - np.max(x)) + np.max(x),
    "log_softmax": lambda x: np.log(fg.softmax(x))[1],
    "softmax": lambda x: np.exp(x[1]) / np.sum(np.exp(x)),
    "stable_quotient": lambda x: (
        (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))
        + (np.exp(-3 * x) - 1) / (2 * np.exp(-3 * x) + 2)
        + np.exp(x) / (np.exp(x) + np.exp(1 - x))
        + 3 / (np.exp(2 * x) + np.exp(-2 * x))
    ),
    "root_of_squares": lambda x: np.sqrt(np.mean(x**2)),
    "root_by_power": lambda x: (
        np.einsum("i,i->", x, x) ** 0.5
        + np.sum(np.einsum("ij,ij->j", x[None], x[None]) ** 0.5)
        + np.sum((x**2 + np.square(x - 3)) ** 0.5 + (x * x) ** 0.5)
        + np.mean(x**2) ** 0.5
    ),
    "square_of_size": lambda x: np.linalg.norm(x) ** 2 + np.abs(x - 2j) ** 2,
    "even_power_of_size": lambda x: np.hypot(x, 2.0) ** 4,
    "einsum_by_vectors": lambda x: _exponential(x, lambda v, d: np.einsum("ij,j,kj->ik", v, d, v)),
}


def name_of(law):
    return (resolve_name(law) if isinstance(law, str) else law).__name__


def test_every_structural_law_has_a_program():
    laws = {(name_of(row.law), row.holds) for rows in STRUCTURAL.values() for row in rows}
    assert {name for name, holds in laws if holds == STABLE} == set(STABLE_PROGRAMS)
    assert {name for name, holds in laws if holds != STABLE} == set(PROGRAMS)


@pytest.mark.parametrize(("dtype", "name"), one_in(3, itertools.product(DTYPES, PROGRAMS)))
def test_a_value_keeps_every_bit_under_structural_laws(name, dtype):
    f, (x,) = PROGRAMS[name], grid(1, dtype)
    jitted, mapped = fg.jit(f), fg.vmap(f)
    for _ in range(4):  # compiled after some calls
        assert same(jitted(x), f(x))
    assert same(mapped(x[None])[0], f(x))


@pytest.mark.parametrize("name", STABLE_PROGRAMS)
def test_stable_forms_have_the_value_of_what_was_written(name):
    f = STABLE_PROGRAMS[name]
    for x in (np.array([0.5, -1.0, 2.0]), np.array([0.0, 3.0, 3.0])):
        assert fg.jit(f)(x) == pytest.approx(f(x), rel=1e-14)


@pytest.mark.parametrize("name", PROGRAMS | STABLE_PROGRAMS)
def test_a_formula_next_to_one_that_a_law_rewrites_keeps_its_value(name):
    v, rng = fg.var("v", (4,)), np.random.default_rng(0)
    program = (PROGRAMS | STABLE_PROGRAMS)[name](v)
    weights = np.cos(np.arange(1.0, 1 + program.size)).reshape(program.shape)
    formulas = [program, *cotangents(np.sum(np.real(program) * weights), [v])]
    for formula in [changed_in_one_operand(e, rng) for e in formulas for _ in range(4)]:
        for mode in ("value", "derivative", "formula"):
            numbers = NUMBERS[2:] if name in UNLIKE_AT_ZERO else NUMBERS
            has_value_of(simplify_all([formula], mode=mode)[0], formula, rng, numbers)


@pytest.mark.parametrize("count", range(1, 12))
def test_what_one_of_many_nested_conditions_leaves_out_is_in_no_derivative(count):
    """The quotient by 0 is left out by the innermost one, the others hold."""

    def f(x, a):
        near = x < 0.1
        y = np.where(near, a * np.log(np.where(near, x, 0.0)), x * a)
        for k in range(count):
            y = np.where(y == 100.0 + k, 0.0, y)
        return np.sum(y)

    def curve(t):
        return fg.grad(lambda t: f(np.array([1.5, 0.05]) + 0.7 * t, 5.5 + 0.3 * t))(t)

    slopes = 0.42, 2 * 0.3 * 0.7 / 0.05 - 5.5 * 0.49 / 0.05**2
    assert fg.grad(curve)(0.0) == pytest.approx(sum(slopes), rel=1e-13)
    assert fg.jvp(curve, (0.0,), (1.0,))[1] == pytest.approx(sum(slopes), rel=1e-13)
    v = fg.var("v", (2,))
    masked = v
    for k in range(count):
        masked = mask(v > 0.1 * k, masked)
    (product,) = simplify_all([masked * (1 / v)], mode="derivative")
    np.testing.assert_array_equal(product(v=np.array([0.0, 2.0])), [0.0, 1.0])
    masks = [e for e in subexpressions(product) if e.op is mask]
    assert len(masks) == min(count, 4)


def test_what_takes_all_entries_in_order_is_no_operation():
    x = fg.var("x", (3, 4))
    empty = x[3:]
    for same_ in (
        x[0:3, :],
        x[-3:, 0:9],
        x[..., 0:4],
        np.roll(x, (0, 4), (0, 1)),
        np.concatenate([x[1:][2:], x, empty], axis=0),
        np.concatenate([x * 1.0], axis=1),
        (2 * x).at[0:3].set(x),
    ):
        assert fg.simplify(same_).key == x.key
    for other in (
        x[::-1],
        x[:, ::-1],
        x[0:3, None],
        x[:2],
        x[None, 0:3],
        np.roll(x, (0, 1), (0, 1)),
    ):
        assert fg.simplify(other).key != x.key
    assert fg.simplify(np.concatenate([empty, empty])).shape == (0, 4)
    joined = fg.simplify(np.concatenate([empty, x, x[:0], 2 * x]))
    assert [part.shape for part in joined.args] == [(3, 4), (3, 4)]


@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), -1)])
def test_the_cotangent_of_what_roll_reads_is_rolled_back(shape, axis):
    """No array of zeros is made for the two parts of x, and none for those of a second roll."""
    f = lambda x: np.sum(np.roll(x, 1, axis) ** 2 * x + np.roll(x, -2, axis) ** 3)  # noqa: E731
    x = np.random.default_rng(0).normal(size=shape)
    formula = str(fg.grad(f).expr(x))
    assert "concatenate" in formula
    assert ".at[" not in formula
    back = 2 * np.roll(np.roll(x, 1, axis) * x, -1, axis) + np.roll(x, 1, axis) ** 2 + 3 * x**2
    np.testing.assert_allclose(fg.grad(f)(x), back, rtol=1e-13, atol=1e-15)
    fg.check_grads(f, (x,), order=2)


UNPACKED = {
    "entries": (lambda x: np.sin(x[0]) * x[2] / x[1], (3,)),
    "in any order, twice": (lambda x: x[2] * x[0] + x[1] * x[0] * x[2] + x[1] ** 2, (3,)),
    "beside the whole": (lambda x: np.sum(x**3) + x[0] * x[1] + np.sum(np.sin(x)), (2,)),
    "of many": (lambda x: sum([np.sin(x[i]) * x[i - 1] for i in range(16)]), (16,)),
    "columns": (lambda x: np.sum(x[:, 0] * np.cos(x[:, 1]) / x[:, 2]), (4, 3)),
    "rows": (lambda x: x[0] @ x[1], (2, 5)),
    "of a matrix": (lambda x: x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0], (2, 2)),
    "slices and an entry": (lambda x: np.sum(x[:2] ** 2) * x[2] * np.sum(np.exp(x[3:])), (6,)),
    "last axis": (lambda x: np.sum(x[..., 0] * x[..., 1] ** 2), (2, 3, 2)),
}


@pytest.mark.parametrize("name", UNPACKED)
def test_the_cotangent_of_unpacked_entries_is_an_array_of_their_cotangents(name):
    f, shape = UNPACKED[name]
    x = np.random.default_rng(0).normal(size=shape) + 2
    assert ".at[" not in str(fg.grad(f).expr(x))
    fg.check_grads(f, (x,), order=2)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), fg.grad(f)(x), rtol=1e-14)


READS = {
    (3,): [0, 1, 2, -1, slice(2), slice(1, None), ...],
    (4, 4): [
        *(0, 1, -1, slice(2), slice(2, None), (slice(None), 0), (slice(None), 3), (..., slice(3))),
        *((..., slice(0, 1)), (0, 0), (3, 1), (1, 2), [0, 3, 3], ...),
    ],
    (2, 5): [0, 1, (..., 4), (..., slice(4)), (0, 4), (1, slice(3)), (slice(None), [0, 0, 2]), ...],
    (3, 2, 2): [0, 1, 2, (slice(None), 0), (slice(None), 1), (..., 0), (..., 1), (0, 1, 1), (2, 0)],
    (12,): [*range(12), slice(5), slice(5, None), slice(None, None, 2), -3, [2, 2]],
}


@pytest.mark.parametrize(
    ("shape", "seed"), [(shape, seed) for shape in READS for seed in range(12)]
)
def test_sums_of_cotangents_of_random_reads(shape, seed):
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(READS[shape]), rng.integers(2, 24))
    weights = rng.normal(size=len(chosen))

    def f(x):
        total = 0.0
        for k, weight in zip(chosen, weights, strict=True):
            total = total + weight * np.sum(np.sin(x[READS[shape][k]] * (1 + weight)))
        return total

    x, v = rng.normal(size=shape), rng.normal(size=shape)
    slope = fg.grad(f)(x)
    assert np.sum(slope * v) == pytest.approx(fg.jvp(f, (x,), (v,))[1], rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] * x[2],
        lambda x: x[0] * np.sum(x[:2]),
        lambda x: np.sum(x[[0, 1]] * x[[1, 2]]),
        lambda x: x[0] * np.sum(x[1::2]) * x[2] * x[3],
        lambda x: sum([np.sin(x[i]) * x[i - 1] for i in range(20)]),
    ],
)
def test_entries_that_do_not_cover_an_array_are_stored(f):
    x = np.random.default_rng(0).normal(size=20)
    assert ".at[" in str(fg.grad(f).expr(x))
    fg.check_grads(f, (x,), order=2)


STRETCHES = [slice(None), slice(1, 3), slice(-2, None), slice(2, 2), 0, -1]


@pytest.mark.parametrize("seed", range(40))
def test_entries_and_moves_of_scattered_entries_are_scattered_entries(seed):
    rng = np.random.default_rng(seed)
    lengths = (3, 1, 4)
    added, chosen = [[STRETCHES[k] for k in rng.integers(0, 6, 3)] for _ in range(2)]
    if seed % 4 == 0:
        added[0], chosen[0] = [2, 0, 2], slice(None)
        added[1:] = [item if isinstance(item, slice) else slice(None) for item in added[1:]]
    entries = rng.normal(size=np.zeros(lengths)[tuple(added)].shape)
    v = fg.var("v", entries.shape)
    for move in (
        lambda x: x[tuple(chosen)],
        lambda x: np.reshape(x, (1, 3, 4, 1)),
        lambda x: np.transpose(x, (2, 0, 1)),
    ):
        formula = move(fg.const(np.zeros(lengths)).at[tuple(added)].add(v))
        found = simplify_all([formula], mode="derivative")[0]
        wanted = np.zeros(lengths)
        np.add.at(wanted, tuple(added), entries)
        assert found.shape == formula.shape
        np.testing.assert_array_equal(fg.evaluate(found, {v: entries}), move(wanted))


OF_FAR_ENTRIES = {
    "sum": lambda p: p[1] + 2 * p[3],
    "product": lambda p: p[1] * p[4] * p[2],
    "indices": lambda p: np.sum(p[[1, 3]]) * p[5],
    "slices": lambda p: np.sum(p[1:3] ** 2) * np.sum(p[4:]),
    "chosen": lambda p: np.sum(p[~np.isnan(p)][1:3]) + p[4] * p[2],
    "moved": lambda p: np.sum(np.reshape(p, (2, 3)).T[1:, 1] * p[2]) + p[4],
    "stored": lambda p: functools.reduce(lambda s, k: s * p[k] + s, range(1, 6, 2), 1.0),
}


@pytest.mark.parametrize("name", OF_FAR_ENTRIES)
@pytest.mark.parametrize(
    "change",
    [
        lambda v: v / np.concatenate([np.array([np.nan]), v[:-1]]),
        lambda v: v / np.concatenate([np.array([0.0]), v[:-1]]),
        lambda v: np.abs(v - np.concatenate([np.array([np.nan]), v[:-1]])),
        lambda v: np.sin(v - np.concatenate([np.array([np.nan]), v[:-1]])),
    ],
)
def test_what_other_entries_hold_reaches_no_gradient_of_entries_far_apart(name, change):
    """The first entry and its slope are not finite, as those of the changes of a Series."""
    read = fg.adopt(OF_FAR_ENTRIES[name])

    def f(v):
        return read(change(v))

    v, h = np.linspace(1.0, 2.0, 6), 1e-6
    slopes = [(f(v + h * e) - f(v - h * e)) / (2 * h) for e in np.eye(6)]
    gradient = fg.grad(f)
    np.testing.assert_allclose(gradient(v), slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fg.jit(gradient)(v), slopes, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fg.hessian(f)(v), fg.jacfwd(gradient)(v), atol=1e-9)
    assert np.isfinite(fg.hessian(f)(v)).all()


def with_zeros(v):
    a = np.zeros(5)
    a[1] = v
    a[3] = v * v
    return np.sum(np.sqrt(a)) + np.sum(a[:, None] ** 0.3)


def with_infinities(v):
    a = np.full((3, 3), np.inf)
    a[0, 0] = 0
    for i in range(2):
        a[i + 1, i + 1] = v + min(a[i, i], a[i, i + 1])
    a = np.sqrt(a)
    return a[2, 2] + np.sum(np.where(np.isfinite(a), a, 0.0))


@pytest.mark.parametrize("f", [with_zeros, with_infinities])
def test_constants_beside_stored_entries_have_no_slope_in_either_mode(f):
    """A root has an infinite slope at 0, where nothing moves: forward mode was NaN."""
    f, h = fg.adopt(f), 1e-6
    slope = pytest.approx((f(2.1 + h) - f(2.1 - h)) / (2 * h))
    assert fg.grad(f)(2.1) == slope
    for derivative in (fg.jacfwd(f), fg.jit(fg.jacfwd(f))):
        assert derivative(2.1) == slope
        assert derivative(2.1) == slope


def test_what_other_entries_hold_reaches_no_gradient_of_unpacked_entries():
    def f(x):
        return x[0] * x[1] + np.where(x[2] > 0, x[2], 0.0)

    np.testing.assert_array_equal(fg.grad(f)(np.array([2.0, 3.0, -np.inf])), [3.0, 2.0, 0.0])
    np.testing.assert_array_equal(fg.grad(f)(np.array([2.0, 3.0, np.nan])), [3.0, 2.0, 0.0])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (slice(3), slice(2, None)),
        (slice(2), slice(2, 5)),
        (slice(0, 2), slice(3, None)),
        (slice(2, None), slice(-3)),
        (slice(None, None, 2), slice(1, None, 2)),
    ],
)
def test_parts_that_are_read_have_their_cotangents(first, second):
    x, w = np.arange(1.0, 6.0), np.array([1.0, 10.0, 100.0])

    def f(x):
        a, b = x[first], x[second]
        return np.sum(w[: len(a)] * a) + np.sum(w[: len(b)] * b)

    wanted = np.zeros(5)
    for part in (first, second):
        wanted[part] += w[: len(x[part])]
    np.testing.assert_array_equal(fg.grad(f)(x), wanted)
    np.testing.assert_array_equal(fg.jit(fg.grad(f))(x), wanted)


MEANS, POINTS = np.arange(6.0).reshape(2, 3) / 7, np.cos(np.arange(15.0)).reshape(5, 3)
WEIGHTS = np.sin(np.arange(24.0)).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "f",
    [
        lambda m: np.sum(((POINTS - m[:, None]) @ WEIGHTS) ** 2),
        lambda m: np.sum((WEIGHTS.swapaxes(1, 2) @ (POINTS.T + m[:, :, None])) ** 2),
        lambda m: np.sum(
            (np.ones((7, 40)) @ (WEIGHTS[0, 0, 0] * m[0, 0] + np.eye(40)[:, :2])) ** 2
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_over_rows_or_columns_of_a_product_of_matrices(f, dtype):
    m = MEANS.astype(dtype)
    gradient = fg.jit(fg.grad(f))
    exact = fg.grad(f)(MEANS)
    fg.check_grads(f, (MEANS,), order=2)
    np.testing.assert_allclose(gradient(m), exact, rtol=1e-5 if dtype is np.float32 else 1e-13)


def test_the_gradient_of_centers_has_no_product_of_matrices_for_each_point():
    f = lambda m: np.sum(((POINTS - m[:, None]) @ WEIGHTS) ** 2)  # noqa: E731
    steps = str(fg.jit(fg.grad(f)).lower(MEANS).steps).splitlines()
    products = [step.rpartition(" : ")[2] for step in steps if "= matmul " in step]
    assert products == ["float64[2, 5, 4]", "float64[2, 1, 3]"]


def _exponential_where_it_does_not_underflow(x):
    y = np.where(np.isfinite(x), x, -1.0)
    log = y - np.exp(y)
    value = np.exp(np.where(np.isfinite(x) & (log > -746.0), log, -np.inf))
    return np.where(np.isnan(x), np.nan, value)


def test_masks_in_another_order_are_taken_out_of_a_sum():
    """An infinite factor of a second derivative, whose terms have masks in other orders, stays under them."""
    x, y, p, q, r = fg.vars("x y p q r")
    a, b, c = p > 0, q > 0, r > 0
    total = mask(a, mask(b, x)) + mask(b, mask(c, mask(a, y)))
    assert str(fg.simplify(total * np.exp(y))) == (
        "where(p > 0, where(q > 0, (x + where(r > 0, y, 0))*exp(y), 0), 0)"
    )
    f = _exponential_where_it_does_not_underflow
    assert fg.grad(fg.grad(f))(750.0) == 0.0
    assert fg.jit(fg.grad(fg.grad(f)))(750.0) == 0.0
    wanted = (1 - 3 * np.exp(1.5) + np.exp(3.0)) * f(1.5)
    assert fg.grad(fg.grad(f))(1.5) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * x) ** 0.5,
        lambda x: np.power(x @ x, 0.5),
        lambda x: np.sum(np.einsum("ij,ij->i", x[None], x[None]) ** (1 / 2)),
        lambda x: np.sqrt(np.einsum("i,i", x, x)),
        lambda x: (x[0] ** 2 + x[1] * x[1]) ** 0.5,
        lambda x: np.sum((x * x) ** 0.5),
    ],
)
def test_roots_of_squares_have_slope_zero_at_zero(f):
    for slope in (fg.grad, fg.jacfwd):
        assert slope(f)(np.zeros(2)).tolist() == [0.0, 0.0]
        assert fg.jit(slope(f))(np.zeros(2)).tolist() == [0.0, 0.0]
    x = np.array([3.0, -4.0])
    size = np.sum(np.abs(x)) if f(x) == 7.0 else 5.0
    np.testing.assert_allclose(fg.grad(f)(x), np.sign(x) if size == 7.0 else x / 5, rtol=1e-15)


def test_other_powers_and_contractions_stay():
    x, y = np.array([3.0, -4.0]), np.array([1.0, 2.0])
    np.testing.assert_allclose(fg.grad(lambda x: (x @ y + 9.0) ** 0.5)(x), y / 4)
    np.testing.assert_allclose(
        fg.grad(lambda x: np.sum(np.einsum("ij,ik->i", x[None], x[None]) ** 0.5))(x + 6), [1.0, 1.0]
    )
    assert fg.grad(lambda x: x**0.5)(4.0) == 0.25
    assert fg.grad(lambda x: x**0.5)(0.0) == np.inf


@pytest.mark.parametrize("swapped", [False, True])
def test_an_entry_that_one_term_of_a_sum_clears_is_kept_of_another(swapped):
    u, v, w, y = fg.var("u", 2), fg.var("v", 2), fg.var("w", 3), fg.var("y", 3)
    first, second = [fg.gradient(np.sum(w[k : k + 2] * x), w) for k, x in ((0, u), (1, v))]
    terms = [first.at[1].set(0.0), second]
    total = (terms[1] + terms[0] if swapped else terms[0] + terms[1]) / y
    (found,) = simplify_all([total], mode="derivative")
    values = {"u": np.array([0.3, 0.7]), "v": np.array([1.1, 1.9]), "y": np.array([2.0, 4.0, 5.0])}
    np.testing.assert_allclose(fg.evaluate(found, values), [0.15, 0.275, 0.38], rtol=1e-15)


def test_an_entry_of_joined_arrays_one_of_which_repeats_a_number():
    x, y = fg.var("x"), fg.var("y", shape=(3,))
    entry = np.concatenate([np.broadcast_to(x, (2,)), y])[1]
    assert fg.simplify(entry).key == x.key


def test_cotangents_of_a_number_with_new_axes_are_added():
    def f(x):
        y = np.sin(x)
        return np.sum(y[None, ...] ** 2) + 2 * np.sum(y[..., None]) + y**3

    sine, cosine = np.sin(1.0), np.cos(1.0)
    assert fg.grad(f)(1.0) == pytest.approx((2 * sine + 2 + 3 * sine**2) * cosine, rel=1e-14)


HUGE = {"float64": 300, "float32": 37}


@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("exponent", [-2, 3, 4])
def test_powers_of_derivatives_are_products_of_two_units_in_the_last_place(dtype, exponent):
    """Over the whole range of a dtype, to its denormal numbers; a value keeps its power."""
    rng, most = np.random.default_rng(0), HUGE[dtype] / abs(exponent)
    sizes = 10.0 ** np.concatenate([rng.uniform(-most, most, 1500), rng.uniform(-1, 1, 500)])
    value = (sizes * rng.choice([-1, 1], sizes.size)).astype(dtype)
    x = fg.var("x", value.shape, dtype)
    (product,) = simplify_all([x**exponent], mode="derivative")
    assert "power" not in [e.op.name for e in subexpressions(product) if e.args]
    assert simplify_all([x**exponent], mode="value") == [x**exponent]
    got = product(x=value)
    assert got.dtype == dtype
    with mpmath.workprec(200):
        units = np.spacing(np.abs(got)).tolist()
        worst = max(
            abs(mpmath.mpf(a) - mpmath.mpf(v) ** exponent) / unit
            for a, v, unit in zip(got.tolist(), value.tolist(), units, strict=True)
        )
    assert worst <= 2.1
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, 10.0 ** (HUGE[dtype] // 2), 1.0]
    ends = np.array([0.0, np.inf, np.nan, *ends, 1e-8, 1e8, 3.0], dtype)
    ends = np.concatenate([ends, -ends])
    x = fg.var("x", ends.shape, dtype)
    (product,) = simplify_all([x**exponent], mode="derivative")
    got, want = product(x=ends), np.power(ends, ends.dtype.type(exponent))
    np.testing.assert_allclose(got, want, rtol=4 * limits.eps, atol=2 * limits.smallest_subnormal)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(want)[known])


def test_a_jitted_power_keeps_every_bit_and_its_derivatives_take_no_powers():
    x = np.random.default_rng(0).normal(size=2000)
    for exponent in (3, 4, -2):
        f = lambda x, k=exponent: np.sum(x**k)  # noqa: E731
        np.testing.assert_array_equal(fg.jit(lambda x, k=exponent: x**k)(x), x**exponent)
        assert fg.jit(fg.value_and_grad(f))(x)[0] == f(x)
    v = fg.var("v", 2000)
    for exponent in (4, 5, -1):
        slope = fg.grad(lambda x, k=exponent: np.sum(x**k)).expr(v)
        (run,) = simplify_all([slope], mode="derivative")
        assert "power" not in [e.op.name for e in subexpressions(run) if e.args]
    assert str(fg.gradient(np.sum(v**4), v)) == "4*v**3"


def test_the_columns_of_a_cross_product_have_one_condition():
    area = lambda x, y: np.sum(np.linalg.norm(np.cross(x, y), axis=1))  # noqa: E731
    x, y = fg.var("x", (4, 3)), fg.var("y", (4, 3))
    assert repr(fg.gradient(area(x, y), x)).count("where") == 1
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3))
    b[1] = 2 * a[1]
    slope = fg.grad(area)(a, b)
    np.testing.assert_array_equal(slope[1], [0.0, 0.0, 0.0])
    kept = [0, 2, 3]
    np.testing.assert_allclose(slope[kept], fg.grad(area)(a[kept], b[kept]), rtol=1e-13)


def test_the_sum_of_one_hot_rows_makes_no_matrix():
    rows, columns = np.arange(6), np.array([0, 3, 1, 1, 0, 2])

    def loss(x):
        return -np.sum(fg.log_softmax(x, axis=1)[rows, columns])

    x = np.random.default_rng(0).normal(size=(6, 4))
    traced, _, _ = str(fg.jit(fg.grad(loss)).lower(x)).partition("steps of machine code")
    assert traced.count("= sum ") == traced.count("= exp ") == 1  # those of the softmax
    expected = fg.softmax(x, axis=1) - np.eye(4)[columns]
    np.testing.assert_allclose(fg.grad(loss)(x), expected, rtol=1e-12, atol=1e-15)


def test_the_cotangent_of_a_slice_of_a_slice_is_scattered_once():
    u = fg.var("u", (5, 5))
    slope = fg.gradient(np.sum(np.diff(u, axis=0)[:, :-1] ** 2), u)
    assert "zeros((4, 5))" not in repr(slope)


def test_the_gradient_of_distances_asks_each_once_whether_it_is_zero():
    x, y = fg.var("x", (4, 3)), np.random.default_rng(0).normal(size=(5, 3))

    def total(x):
        return np.sum(np.linalg.norm(x[:, None] - y, axis=-1))

    assert "any(b != 0, axis=1)" in repr(fg.gradient(total(x), x))
    a = np.random.default_rng(1).normal(size=(4, 3))
    a[2] = y[1]
    d = a[:, None] - y
    size = np.linalg.norm(d, axis=-1, keepdims=True)
    want = np.sum(d / np.where(size == 0, 1, size), axis=1)
    np.testing.assert_allclose(fg.grad(total)(a), want, rtol=1e-13)
