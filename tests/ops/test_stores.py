"""Stores into arrays: values, derivatives, forwarding of stored entries, and the time that n stores take."""

import tracemalloc

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays, make_plan, run_step_passes
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.expr import subexpressions
from funcgrad.rewrite.evaluate import variables

CHECKED = PassOptions(verify=True)


def names(*roots):
    return [expr.op.name for expr in subexpressions(*roots)]


# -- values and derivatives ------------------------------------------------------------------------
def mixed(np, at_set, at_add):
    """Stores of every kind, some of which overlap, and reads between them."""

    def f(x, i):
        y = np.exp(x)
        z = at_set(y, 0, 3.0)
        z = at_set(z, i, z[i + 1] * 2)
        z = at_add(z, i, y[2])
        w = at_set(z, [1, 1, 3], x[:3])
        w = at_add(w, [1, 1, 3], x[:3] * y[:3])
        v = at_set(w, slice(1, None), w[:-1])
        return np.sum(w * w * np.arange(6)) + np.sum(v * x) + v[-2]

    return f


def set_in_copy(x, index, v):
    y = np.array(x)
    y[index] = v
    return y


def added_in_copy(x, index, v):
    y = np.array(x)
    np.add.at(y, index, v)
    return y


SIX = np.array([0.3, -1.1, 0.7, 0.2, -0.4, 1.3])


@pytest.mark.parametrize("i", [1, 3, -2])
def test_stores_and_reads_have_the_values_and_derivatives_of_numpy(i):
    f = mixed(np, lambda x, i, v: x.at[i].set(v), lambda x, i, v: x.at[i].add(v))
    plain = mixed(np, set_in_copy, added_in_copy)
    wanted = plain(SIX, i)
    assert fg.trace(lambda x: f(x, i), SIX)(x=SIX) == wanted
    jitted = fg.jit(f)
    assert [jitted(SIX, i) for _ in range(4)] == [wanted] * 4
    fg.check_grads(lambda x: f(x, i), (SIX,), order=2)
    gradient = fg.grad(f)(SIX, i)
    compiled = fg.jit(fg.grad(f))
    for _ in range(4):
        np.testing.assert_allclose(compiled(SIX, i), gradient, rtol=1e-13)
    xs, places = np.stack([SIX, SIX[::-1], 2 * SIX]), np.array([i, 1, 2])
    rows = [fg.grad(f)(x, int(k)) for x, k in zip(xs, places, strict=True)]
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(xs, places), rows, rtol=1e-13)


def test_mapped_stores_by_a_reversed_index_keep_the_last_value():
    # NumPy stores by indices of several axes in the order in which they lie in memory.
    labels = np.array([0, 1, 0, 1, 2, 2])

    def firsts(x):
        order = np.argsort(x)
        found = fnp.zeros(3)
        found[labels[order][::-1]] = x[order][::-1]
        return found

    xs = np.stack([SIX, SIX[::-1]])
    wanted = [[0.3, -1.1, -0.4], [0.2, -0.4, -1.1]]
    jitted = fg.jit(fg.vmap(firsts))
    for mapped in (fg.vmap(firsts), jitted, jitted, jitted):
        np.testing.assert_array_equal(mapped(xs), wanted)
    slopes = fg.vmap(fg.grad(lambda x: firsts(x) @ np.arange(1.0, 4.0)))(xs)
    np.testing.assert_array_equal(slopes, [[1, 2, 0, 0, 3, 0], [0, 2, 1, 0, 3, 0]])


def test_stores_by_a_reversed_table_of_indices_keep_the_last_value():
    def stored(x, table):
        z = fnp.zeros(3)
        z[table[:, ::-1]] = x.reshape(2, 3)[:, ::-1]
        return z

    table, wanted, space = np.array([[0, 1, 0], [2, 2, 1]]), SIX[[0, 5, 3]], {}
    exec(fg.to_python(fg.trace(stored, SIX, table), "program"), space)
    for run in (fg.jit(stored), space["program"]):
        np.testing.assert_array_equal(run(SIX, table), wanted)
    slope = fg.jit(fg.jacobian(stored))(SIX, table)
    np.testing.assert_array_equal(slope @ SIX, wanted)


def test_stored_values_keep_their_bits():
    x = np.array([-0.0, np.nan, np.inf, 1.0])
    stores = {
        "set": lambda x: x.at[3].set(-0.0).at[np.array([0, 0])].set(np.array([1.0, -0.0])),
        "add": lambda x: x.at[1:3].add(-0.0),
    }
    wanted = {"set": [-0.0, np.nan, np.inf, -0.0], "add": x}
    for name, f in stores.items():
        for value in (fg.trace(f, x)(x=x), fg.jit(f)(x), fg.vmap(f)(x[None])[0]):
            np.testing.assert_array_equal(value, wanted[name])
            np.testing.assert_array_equal(np.signbit(value), np.signbit(wanted[name]))


def test_an_infinite_derivative_under_a_stored_zero_is_no_nan():
    def f(x):
        return np.sum((1 / x).at[0].set(0.0).at[2].set(0.0))

    x = np.array([0.0, 2.0, 0.0, 4.0])
    for g in (fg.grad(f), fg.jit(fg.grad(f))):
        np.testing.assert_array_equal(g(x), [0.0, -0.25, 0.0, -0.0625])


def test_values_are_cast_and_broadcast_as_numpy_does():
    x = np.zeros((2, 3), np.float32)
    made = fg.trace(lambda x: x.at[0].set(np.ones((1, 1, 3))), x)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made(x=x), [[1, 1, 1], [0, 0, 0]])
    assert fg.trace(lambda n: n.at[...].add(5), 2.0)(n=2.0) == 7.0
    for index, error in ((3, IndexError), ((0, 1, 2), IndexError)):
        with pytest.raises(error):
            fg.trace(lambda x, i=index: x.at[i].set(1.0), x)


# -- forwarding ------------------------------------------------------------------------------------
def same(a, b):
    return a.key == b.key


def test_an_entry_of_a_chain_of_stores_is_the_value_that_was_stored():
    x, u, v = fg.var("x", (3, 4)), fg.var("u"), fg.var("v", 4)
    y = x.at[0, 1].set(u).at[2].set(v).at[1, -1].set(2 * u)
    assert same(y[0, 1], u)
    assert same(y[-3, -3], u)
    assert same(y[2], v)
    assert same(y[2, :], v)
    assert same(y[2, 3], v[3])
    assert same(y[1, 0], x[1, 0])
    assert same(y[0, 0], x[0, 0])
    assert y[0].op.name == "getitem"  # a row of which one entry was stored
    assert y[0].args[0] is y
    again = y.at[2, 0].set(u)
    assert same(again[2, 0], u)
    assert same(again[2, 1], v[1])
    assert again[2].args[0] is again
    assert same(y.at[0].set(v)[0, 1], v[1])  # a row over an entry


def test_chains_that_branch_do_not_mix():
    x, u, v = fg.var("x", 3), fg.var("u"), fg.var("v")
    first = x.at[0].set(u)
    left, right = first.at[1].set(u), first.at[1].set(v)
    assert same(left[1], u)
    assert same(right[1], v)
    assert same(first[1], x[1])
    assert same(left[0], right[0])


def test_entries_of_constants_are_constants():
    zeros = fg.const(np.array([-0.0, 2.0]))
    x = fg.var("x")
    assert np.signbit(zeros.at[1].set(x)[0]())
    made = fg.simplify(fg.const(np.zeros(3)).at[0].set(x)[2] + x)
    assert names(made) == ["input"]


def test_a_store_at_an_unknown_index_is_not_forwarded():
    x, i = fg.var("x", 3), fg.var("i", (), int)
    y = x.at[0].set(5.0).at[i].set(7.0)
    assert y[0](x=np.zeros(3), i=0) == 7.0
    assert y[0](x=np.zeros(3), i=1) == 5.0


# -- laws ------------------------------------------------------------------------------------------
def test_the_reads_of_an_array_add_up_in_place():
    x = fg.var("x", 20)
    gradient = fg.gradient(sum(np.sin(x[i]) for i in range(0, 20, 2)))["x"]
    assert names(gradient).count("scatter_add") == 1
    assert names(gradient).count("index_add") == 9
    values = np.linspace(0, 1, 20)
    np.testing.assert_array_equal(
        gradient(x=values), np.where(np.arange(20) % 2, 0, np.cos(values))
    )


def test_the_tangent_of_a_store_is_a_store():
    x = fg.var("x", 20)
    _, tangent = fg.jvp(lambda x: x.at[3].set(x[0] ** 2), (x,), (x + 1,))
    assert names(fg.simplify(tangent)).count("index_set") == 1
    assert "scatter_add" not in names(fg.simplify(tangent))


# -- stores in place -------------------------------------------------------------------------------
def arrays_made(roots, inputs):
    """How many calls of a compiled program make an array of their own, or copy one."""
    plan = make_plan(run_step_passes(flatten_program(roots, inputs)))
    return sum(p.how == "new" for p in assign_buffers(plan).placed)


def chain(n, x, i):
    """n stores at unknown places, and reads that come after them in the program but not in the order."""
    reads = []
    for k in range(n):
        reads.append(x[(i + 3 * k) % n])
        x = x.at[(i + k) % n].set(x[(i + 2 * k) % n] * 0.5)
    return x, sum(reads)


def test_a_store_runs_in_place_if_nothing_reads_the_array_later():
    x, i = fg.var("x", 12), fg.var("i", (), int)
    roots = list(chain(12, np.sin(x), i))
    assert arrays_made(roots, [x, i]) == 1  # that of the sine
    kept = np.sin(x)
    assert arrays_made([kept.at[i].set(0.0), kept], [x, i]) == 2
    view = np.reshape(kept, (3, 4))
    assert arrays_made([kept.at[i].set(0.0), view], [x, i]) == 2
    values = np.linspace(0, 1, 12)
    for program in (roots, [kept.at[i].set(0.0), kept], [kept.at[i].add(kept[3]), view]):
        got = compile_arrays(program, [x, i], CHECKED)(values, 5)
        for expr, value in zip(program, got, strict=True):
            given = {"x": values, "i": 5}
            wanted = expr(**{name: given[name] for name in variables(expr)})
            np.testing.assert_array_equal(value, wanted)


def test_inputs_and_constants_are_never_stored_into():
    x, i = fg.var("x", 3), fg.var("i", (), int)
    values, held = np.ones(3), np.arange(3.0)
    f = fg.jit(lambda i: fg.const(held).at[i].set(5.0))
    for _ in range(4):
        np.testing.assert_array_equal(x.at[i].set(0.0)(x=values, i=1), [1, 0, 1])
        np.testing.assert_array_equal(f(1), [0, 5, 2])
    np.testing.assert_array_equal(values, [1, 1, 1])
    np.testing.assert_array_equal(held, [0, 1, 2])


@pytest.mark.parametrize("how", ["evaluate", "grad", "jit"])
def test_many_stores_take_the_memory_of_a_few_arrays(how):
    def f(x, i):
        y, total = chain(60, np.sin(x), i)
        return np.sum(y) + total

    x = np.linspace(0, 1, 20_000)
    traced, compiled = fg.trace(f, x, 3), fg.jit(fg.grad(f))
    runs = {
        "evaluate": lambda: traced(x=x, i=3),
        "grad": lambda: fg.grad(f)(x, 3),
        "jit": lambda: compiled(x, 3),
    }
    runs[how]()
    tracemalloc.start()
    runs[how]()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * x.nbytes


# -- in loops --------------------------------------------------------------------------------------
def recurrence(n):
    """a[i] = r*a[i-1] + b[i], in a rolled loop."""

    def f(r, b):
        a = fg.fori_loop(1, n, lambda i, a: a.at[i].set(a[i - 1] * r + b[i]), b * 0.5)
        return np.sum(a * a)

    return f


def test_a_loop_that_stores_keeps_the_entries_that_it_read_not_the_arrays():
    n = 200
    r, b = 0.5, np.linspace(-1, 1, n)
    f = recurrence(n)

    def by_hand(r, b):
        a = b * 0.5
        for i in range(1, n):
            a[i] = a[i - 1] * r + b[i]
        return np.sum(a * a)

    np.testing.assert_allclose(fg.jit(f)(r, b), by_hand(r, b), rtol=1e-13)
    gradient = fg.jit(fg.grad(f, argnums=(0, 1)))
    gr, gb = gradient(r, b)
    step = 1e-6
    np.testing.assert_allclose(
        gr, (by_hand(r + step, b) - by_hand(r - step, b)) / (2 * step), rtol=1e-6
    )
    one = np.eye(n)[7] * step
    np.testing.assert_allclose(
        gb[7], (by_hand(r, b + one) - by_hand(r, b - one)) / (2 * step), rtol=1e-6
    )
    text = str(gradient.lower(r, b))
    assert f"float64[{n - 1}, {n}]" not in text
    assert text.count("x0 = x0.copy()") == 2  # once before each of the loops
    fg.check_grads(fg.jit(recurrence(12)), (r, b[:12]), order=2)


def test_a_loop_does_not_store_into_what_it_was_given():
    start = np.zeros(4)
    f = fg.jit(
        lambda a: fg.fori_loop(
            0, 40, lambda i, s: (s[0].at[i % 4].add(1.0), s[1] + s[0][1]), (a, 0.0)
        )
    )
    for _ in range(3):
        np.testing.assert_array_equal(f(start)[0], [10, 10, 10, 10])
    np.testing.assert_array_equal(start, [0, 0, 0, 0])


def test_a_loop_that_swaps_its_arrays_and_stores_into_one():
    def f(a, b):
        def turn(i, s):
            a, b = s
            return b, a.at[i % 3].set(a[i % 3] * 0.5 + np.sin(b[0]))

        return fg.fori_loop(0, 30, turn, (a, b))

    def plain(a, b):
        for i in range(30):
            c = a.copy()
            c[i % 3] = a[i % 3] * 0.5 + np.sin(b[0])
            a, b = b, c
        return a, b

    a, b = np.ones(3), np.linspace(0, 1, 3)
    for _ in range(3):
        for got, wanted in zip(fg.jit(f)(a, b), plain(a, b), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)
    fg.check_grads(lambda a, b: np.sum(f(a, b)[1]), (a, b))


# -- indices that are computed ---------------------------------------------------------------------
def bilinear(f, x, y):
    """The entries of a periodic grid at places between its points."""
    n, m = f.shape
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = x - i, y - j
    i0, i1, j0, j1 = i % n, (i + 1) % n, j % m, (j + 1) % m
    near = (1 - t) * f[i0, j0] + t * f[i0, j1]
    return (1 - s) * near + s * ((1 - t) * f[i1, j0] + t * f[i1, j1])


def advected(u, v, density):
    """Semi-Lagrangian steps of a fluid, which is carried by its own velocity."""
    rows, columns = np.meshgrid(*map(np.arange, density.shape), indexing="ij")
    for _ in range(3):
        x, y = rows - 0.7 * u, columns - 0.7 * v
        u, v, density = bilinear(u, x, y), bilinear(v, x, y), bilinear(density, x, y)
    return np.sum(density**2) + np.sum(u * v)


def is_compiled_once(f, *args):
    """Whether no question stands in the program of a jitted function."""
    return not str(fg.jit(f).lower(*args)).startswith("guards")


def test_a_fluid_step_gathers_in_the_program():
    fields = np.random.default_rng(0).normal(size=(3, 8, 8))
    gradient = fg.grad(advected, argnums=(0, 1, 2))
    jitted = fg.jit(gradient)
    for scale in (1.0, 1.5, 1.0):
        given = scale * fields
        np.testing.assert_allclose(fg.jit(advected)(*given), advected(*given), rtol=1e-13)
        for got, wanted in zip(jitted(*given), gradient(*given), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert is_compiled_once(advected, *fields)
    assert is_compiled_once(gradient, *fields)


def test_computed_indices_into_arrays_of_the_package_are_no_questions():
    table = np.arange(10.0) ** 2

    def stored(x):
        a = fnp.zeros(9)
        a[np.floor(x).astype(int)] = x * x
        np.add.at(a, np.floor(x).astype(int), x)
        return np.sum(a * a)

    reads = {
        "asarray": lambda x: np.sum(fnp.asarray(table)[np.floor(x).astype(int)] * x),
        "scalar": lambda x: np.sum(fnp.asarray(table)[np.floor(x[0]).astype(int)] * x),
        "take": lambda x: np.sum(fnp.take(table, np.floor(x).astype(int)) * x),
        "stored": stored,
    }
    for name, f in reads.items():
        jitted = fg.jit(f)
        for x in (np.array([1.5, 2.5, 1.75]), np.array([4.5, 8.5, 0.25])):
            assert is_compiled_once(f, x), name
            step = 1e-6 * np.eye(3)
            slope = [(float(jitted(x + e)) - float(jitted(x - e))) / 2e-6 for e in step]
            np.testing.assert_allclose(fg.grad(f)(x), slope, rtol=1e-6)
            np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope, rtol=1e-6)
    x = np.array([1.5, 2.5, 1.75])
    assert reads["take"](x) == np.sum(table[[1, 2, 1]] * x)
    wanted = np.array([x[2] ** 2 + x[0] + x[2], x[1] ** 2 + x[1]])  # of two stores the last
    np.testing.assert_allclose(fg.jit(stored)(x), np.sum(wanted**2), rtol=1e-14)


@pytest.mark.parametrize(
    "store",
    [
        lambda y: np.fill_diagonal(y, 0.0),
        lambda y: y.reshape(-1).__setitem__(slice(None, None, 4), 0.0),
        lambda y: y.T.__setitem__(np.diag_indices(3), 0.0),
        lambda y: y.__setitem__(np.diag_indices(3), 0.0),
    ],
)
def test_what_a_store_replaces_has_gradient_zero_also_beside_an_infinity(store):
    weights = np.arange(1.0, 10.0).reshape(3, 3)

    def f(x):
        y = 1 / x
        store(y)
        return np.sum(y * weights)

    x = np.full((3, 3), 2.0)
    np.fill_diagonal(x, 0.0)
    wanted = np.where(np.eye(3) == 1, 0.0, -weights / 4)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fg.grad(f)(x), wanted)
        np.testing.assert_array_equal(fg.jit(fg.grad(f))(x), wanted)


def of_nans(x):
    y = x.copy() * np.nan
    for j in range(x.size):
        y[j] = x[j] ** 2
    return y.sum()


def of_infinities(x):
    y = x * np.inf
    y[:] = x**2
    return y.sum()


def of_columns(x):
    y = np.zeros((2, 3))
    y[:, 0] = x[:2] * np.nan
    y[0], y[1] = x**2, 2 * x
    return (y * y).sum()


@pytest.mark.parametrize("f", [of_nans, of_infinities, of_columns])
def test_an_array_of_nans_that_is_filled_later_leaves_no_trace(f):
    x = np.array([2.0, 3.0, 0.5])
    step = 1e-6 * np.eye(3)
    slope = [(f(x + e) - f(x - e)) / 2e-6 for e in step]
    for how in (fg.grad(f), fg.jit(fg.grad(f)), lambda x: fg.vmap(fg.grad(f))(x[None])[0]):
        np.testing.assert_allclose(how(x), slope, rtol=1e-6)
    second = [(fg.grad(f)(x + e) - fg.grad(f)(x - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(fg.hessian(f)(x), second, rtol=1e-5, atol=1e-6)


def test_cotangents_of_overlapping_slices_are_added_in_place():
    x = fg.var("x", (5, 5))
    loss = np.sum(np.sin(x[:-2, 1:-1] + 2 * x[2:, 1:-1] + 3 * x[1:-1, :-2]))
    slope = fg.gradient(loss, x)
    ops = [expr.op.name for expr in subexpressions(slope)]
    assert ops.count("scatter_add") == 1
    assert ops.count("index_add") == 2
    at = np.random.default_rng(0).standard_normal((5, 5))
    c = np.cos(at[:-2, 1:-1] + 2 * at[2:, 1:-1] + 3 * at[1:-1, :-2])
    expected = np.zeros((5, 5))
    expected[:-2, 1:-1] += c
    expected[2:, 1:-1] += 2 * c
    expected[1:-1, :-2] += 3 * c
    np.testing.assert_allclose(fg.evaluate(slope, x=at), expected, rtol=1e-13)
