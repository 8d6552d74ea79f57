"""Compiled loops against the same loops run iteration by iteration."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.python.loop_codegen import compile_loop, numbers_text
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec, iterations_of
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from tests.default_slice import examples

KINDS = {"f": np.dtype(float), "i": np.dtype(int), "b": np.dtype(bool)}
RUNS = {  # exact in every backend, so that results must agree to the bit
    "f": [
        lambda f, i, b: f[0] * f[1] - 0.5,
        lambda f, i, b: np.where(b[0], f[0], f[1] / (f[0] * f[0] + 1)),
        lambda f, i, b: np.sqrt(np.abs(f[1])) + i[0].astype(float),
        lambda f, i, b: np.maximum(f[0], -f[1]) % 1.7,
        lambda f, i, b: f[0] / f[1],
        lambda f, i, b: 1e200 * f[0] * f[1],
    ],
    "i": [
        lambda f, i, b: i[0] * 3 + i[1],
        lambda f, i, b: np.where(b[0], i[1], i[0] - 7) % 5,
        lambda f, i, b: i[0] * i[1] * 4611686018427387905,
    ],
    "b": [lambda f, i, b: f[0] > f[1], lambda f, i, b: b[0] ^ (i[0] > 2)],
}


def reference_loop(operands, body, cond, spec):
    """What a loop computes, iteration by iteration: the oracle."""
    n, middle = spec.num_carry, spec.num_carry + spec.num_xs
    state, sequences, fixed = operands[:n], operands[n:middle], operands[middle:]
    types, found, t = body.types[n:], {}, 0
    with np.errstate(all="ignore"):
        if cond is None:
            iterations = iterations_of(spec, operands)
        else:
            iterations = iter(int, 1)
        count = 0
        for t in iterations:
            if cond is not None and not cond.program.step([*state, *fixed])[0]:
                break
            values = body.program.step([*state, *[q[t] for q in sequences], *fixed])
            state = values[:n]
            found[count if cond is not None else t] = values[n:]
            count += 1
    stacks = [np.zeros((count, *type.shape), type.dtype) for type in types]
    for t, values in found.items():
        for stack, value in zip(stacks, values, strict=True):
            stack[t] = value
    return [*state, *stacks]


def agree(operands, body, cond, shape, exact=True):
    """The compiled loop and the plain one give the same, to the bit, types included."""
    expected = reference_loop(operands, body, cond, shape)
    kept = [np.array(x) for x in operands]
    with np.errstate(all="ignore"):
        states, stacks = compile_loop(body, cond, shape)(operands)
    for a, b in zip([*states, *stacks], expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b) if exact else np.testing.assert_allclose(a, b, 1e-12)
    for before, after in zip(kept, operands, strict=True):
        np.testing.assert_array_equal(before, after)


@settings(max_examples=examples(80))
@given(data=st.data(), shape=st.sampled_from([(), (3,)]), length=st.integers(0, 9))
def test_random_loops_agree_to_the_bit(data, shape, length):
    """Random bodies on floats, integers and truth values: states, items and what every iteration sees."""
    groups = [data.draw(st.lists(st.sampled_from("fib"), max_size=3)) for _ in range(3)]
    codes = [*groups[0], *groups[1], *groups[2], "f", "f", "i", "i", "b"]
    inputs = [symbol(f"x{k}", ArrayType(shape, KINDS[c])) for k, c in enumerate(codes)]
    pools = {c: [x for x, own in zip(inputs, codes, strict=True) if own == c] for c in "fib"}

    def made(kind):
        run = data.draw(st.sampled_from(RUNS[kind]))
        pick = {c: [data.draw(st.sampled_from(pools[c])) for _ in range(2)] for c in "fib"}
        return run(pick["f"], pick["i"], pick["b"])

    for _ in range(3):
        kind = data.draw(st.sampled_from("fib"))
        pools[kind] = [*pools[kind], made(kind)]
    outputs = [data.draw(st.sampled_from([made(c), *pools[c]])) for c in groups[0]]
    outputs += [
        data.draw(st.sampled_from(pools[data.draw(st.sampled_from("fib"))])) for _ in range(2)
    ]
    how = LoopSpec(len(groups[0]), len(groups[1]), length, data.draw(st.booleans()))
    body = body_of(inputs, outputs)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))

    def value(code, size):
        x = rng.standard_normal(size) * 2
        return {"f": x, "i": np.asarray(x * 4).astype(int), "b": np.asarray(x > 0)}[code][()]

    middle = how.num_carry + how.num_xs
    operands = [
        value(c, (length, *shape) if how.num_carry <= k < middle else shape)
        for k, c in enumerate(codes)
    ]
    agree(operands, body, None, how)
    flat = flatten_program(body.program.outputs, body.program.inputs)
    assert shape or numbers_text(flat, None, how)


@settings(max_examples=examples(60))
@given(limit=st.floats(-1, 200), start=st.floats(0.01, 10), wide=st.booleans())
def test_loops_with_a_condition(limit, start, wide):
    """Open loops end where the condition says, also when it never holds."""
    shape = (2,) if wide else ()
    x, n = symbol("x", ArrayType(shape, KINDS["f"])), symbol("n", ArrayType((), KINDS["i"]))
    top = symbol("top", ArrayType((), KINDS["f"]))
    body = body_of([x, n, top], [x * 1.5 + 0.25, n + 1, x / (top + 1), n])
    cond = body_of([x, n, top], [(np.sum(x) < top) & (n < 40)])
    operands = [np.full(shape, start)[()], np.int64(0), np.float64(limit)]
    agree(operands, body, cond, LoopSpec(2, 0, UNKNOWN_LENGTH))


def test_numpy_takes_over_where_math_raises():
    """Overflow, division by zero and domain errors give what NumPy gives, and the loop goes on."""
    xs = np.array([1.0, 0.0, -2.0, 800.0, 0.5, np.inf, np.nan, 0.0, -0.0, 3.0])

    def iteration(total, x):
        y = np.exp(x) + 1 / x + np.log(x)
        return np.where(np.isfinite(y), total + y, total), (y, total)

    def f(xs):
        total, (ys, totals) = fg.scan(iteration, 0.0, np.tile(xs, 3))
        return total, ys, totals

    total, ys, totals = f(xs)
    with np.errstate(all="ignore"):
        expected = np.tile(np.exp(xs) + 1 / xs + np.log(xs), 3)
    np.testing.assert_allclose(ys, expected, rtol=1e-15)
    sums = np.cumsum(np.where(np.isfinite(expected), expected, 0.0))
    np.testing.assert_allclose(totals, [0.0, *sums[:-1]], rtol=1e-14)
    assert total == pytest.approx(sums[-1])


def test_an_open_loop_goes_on_after_math_raises():
    body_fun = lambda s: (s[0] + 1, np.log(s[1]), s[2] / (s[0] - 3.0))  # noqa: E731
    n, x, y = fg.while_loop(lambda s: s[0] < 9, body_fun, (0, 5.0, 1.0))
    assert n == 9
    assert np.isnan(x)
    assert np.isinf(y)


def walk(checkpoint):
    def f(a, x, y, xs):
        def iteration(s, u):
            x, y = s
            k = np.sin(a * x * y) + u
            return (x + 0.1 * k, y - 0.1 * x), k * x

        (x, y), ks = fg.scan(iteration, (x, y), xs, checkpoint=checkpoint)
        return x * y + np.sum(ks * ks)

    return f


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
@pytest.mark.parametrize("iterations", [0, 1, 7, 50, 64])
def test_gradients_of_loops_in_loops(transform, iterations):
    """Reverse loops, and loops in loops that keep few states, give one gradient."""
    xs = np.sin(np.arange(float(iterations)))
    args = (0.7, 0.3, 1.1, xs)
    found = []
    for checkpoint in (None, "sqrt", 3):
        f = transform(fg.grad(walk(checkpoint), (0, 1, 2, 3)))
        for _ in range(3):
            found.append(np.concatenate([np.ravel(g) for g in f(*args)]))
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=1e-12, atol=1e-14)


def test_loops_on_other_numbers_fall_back():
    """Single precision, complex numbers and small integers run as NumPy's."""
    for dtype in (np.float32, np.complex128, np.int8):
        xs = np.arange(1, 31).astype(dtype)
        carry, ys = fg.scan(lambda s, x: (s * x + x, s), dtype(1), xs)
        s, expected = dtype(1), []
        with np.errstate(all="ignore"):
            for x in xs:
                expected.append(s)
                s = s * x + x
        np.testing.assert_array_equal(ys, np.array(expected, dtype))
        assert np.asarray(carry).dtype == dtype
        assert carry == s


def test_results_are_nobody_elses():
    """Final states share no memory with operands or each other, after any number of iterations."""
    for iterations in (0, 1, 30):
        a, b = np.ones(3), np.zeros(3)
        (x, y, z), _ = fg.scan(
            lambda s, _: ((s[1], s[1], s[0]), None), (a, b, b), length=iterations
        )
        arrays = [a, b, x, y, z]
        for i, p in enumerate(arrays):
            assert not any(np.shares_memory(p, q) for q in arrays[:i])


def test_an_exception_leaves_a_loop_usable():
    """What a foreign operation raises comes through, and the next call works."""

    def run(x):
        if np.max(x) > 60:
            raise RuntimeError("too large")
        return x + 1.0

    plus = fg.primitive(run, [lambda x: 1.0])
    f = fg.jit(lambda x: fg.scan(lambda s, _: (plus(s), s), x, length=30))
    for start in (np.zeros(2), np.ones(2)):
        np.testing.assert_array_equal(f(start)[0], start + 30)
    with pytest.raises(RuntimeError, match="too large"):
        f(np.full(2, 50.0))
    np.testing.assert_array_equal(f(np.zeros(2))[1][:, 0], np.arange(30.0))


def test_threads():
    """One compiled loop in eight threads."""
    f = fg.jit(fg.grad(walk(None), (0, 1, 2, 3)))
    inputs = [(0.1 * k, 0.3, 1.1, np.cos(np.arange(40.0))) for k in range(8)]
    expected = [f(*args) for args in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            for a, b in zip(f(*inputs[k]), expected[k], strict=True):
                if not np.array_equal(a, b):
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    "loop",
    [
        lambda x: fg.fori_loop(0, 30, lambda k, s: np.maximum(s, -s), x),
        lambda x: fg.while_loop(lambda s: np.any(s < 0), lambda s: np.where(s < 0, -s, s), x),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_loops_on_arrays_of_which_numpy_never_warns(loop, native):
    start, run = np.array([1.0, -2.0, 3.0]), fg.jit(loop, native=native)
    for _ in range(3):
        np.testing.assert_array_equal(run(start), np.abs(start))


def stored(a, i=0):
    return 0.7 * a.at[i].set(1.15)


# The next states, from the states a and b, an item, a number and an array of neither.
SHARED_STATES = {
    "an invariant": lambda a, b, item, x, v: (0.7 * np.tanh(v * x), stored(a)),
    "an array of the user's": lambda a, b, item, x, v: (v, stored(a)),
    "an item": lambda a, b, item, x, v: (item, stored(a)),
    "a view of an item": lambda a, b, item, x, v: (item[::-1], stored(a)),
    "an item reshaped": lambda a, b, item, x, v: (np.reshape(item, (3,)), stored(a)),
    "a constant": lambda a, b, item, x, v: (fg.const([1.0, 2.0, 3.0]), stored(a)),
    "a view of a state": lambda a, b, item, x, v: (b[::-1], stored(a) * b),
    "the other state": lambda a, b, item, x, v: (b, stored(a)),
    "the other state of an item": lambda a, b, item, x, v: (b, stored(a) + item),
    "of a branch": lambda a, b, item, x, v: (
        fg.cond(item[0] > 0.2, lambda: v, lambda: item),
        stored(a),
    ),
    "of a loop": lambda a, b, item, x, v: (
        fg.scan(lambda c, _: (v, 0.0), item, None, length=2)[0],
        stored(a),
    ),
    "arithmetic": lambda a, b, item, x, v: (item, np.sin(2 * a) + b),
}


@pytest.mark.parametrize("kind", ["scan", "while_loop", "three states"])
@pytest.mark.parametrize("name", SHARED_STATES)
def test_a_loop_stores_into_arrays_of_its_own_alone(name, kind):
    step = SHARED_STATES[name]
    v, items = np.array([0.3, -0.5, 0.9]), np.linspace(-1, 1, 18).reshape(6, 3)

    def loss(x, v, items):
        def scanned(c, item):
            a, b = step(*c[:2], item, x, v)
            return (a, b, *c[:1][: len(c) - 2]), np.sum(c[0]) * 0.1

        def again(c):
            k, a, b = c
            return (k + 1, *step(a, b, items[k], x, v))

        if kind == "while_loop":
            _, a, b = fg.while_loop(lambda c: c[0] < 6, again, (0, v * x, v * 3 * x))
            return np.sum(a * b) + np.sum(b)
        start = (v * x, v * 3 * x, v)[: 3 if kind == "three states" else 2]
        states, sums = fg.scan(scanned, start, items)
        return sum([np.sum(c * c) for c in states]) + np.sum(sums)

    jitted, gradient = fg.jit(loss), fg.jit(fg.grad(loss, argnums=(0, 1, 2)))
    given = 0.7, v.copy(), items.copy()
    first, slopes = jitted(*given), gradient(*given)
    for _ in range(9):  # interpreted at first, compiled later
        assert jitted(*given) == pytest.approx(first, rel=1e-13)
        for found, want in zip(gradient(*given), slopes, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(given[1], v)
    np.testing.assert_array_equal(given[2], items)
