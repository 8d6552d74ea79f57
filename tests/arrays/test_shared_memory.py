"""Which results share memory: a store into a result or its argument reaches the entries that NumPy's does."""

import itertools

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

X = np.array([[0.3, 1.7, 0.9], [0.2, 0.5, 0.45]])
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "transposed": lambda x: x.reshape(3, 2).T,
    "reversed": lambda x: x[::-1],
    "strided": lambda x: np.stack([x, x], -1)[..., 0],
    "complex": lambda x: x + 0j,
    "real part": lambda x: (x + 1j * x).real,
}
CALLS = """
np.atleast_1d(x)
np.atleast_2d(x)
np.atleast_2d(x,x[0])[1]
np.atleast_3d(x)
np.squeeze(x[None])
np.ravel(x)
np.ravel(x,"F")
np.ravel(x.T)
np.ravel(x.T,"F")
np.ravel(x.T,"K")
x.flatten()
np.real(x)
x.real
np.expand_dims(x,0)
np.swapaxes(x,0,1)
np.moveaxis(x,0,1)
np.rot90(x)
np.flip(x)
np.flip(x,0)
np.flipud(x)
np.fliplr(x)
np.split(x,2)[1]
np.array_split(x,2,1)[1]
np.hsplit(x,3)[1]
np.vsplit(x,2)[1]
np.diagonal(x)
np.diag(x)
np.nan_to_num(x,copy=False)
np.nan_to_num(x)
np.ascontiguousarray(x)
np.ascontiguousarray(x.T)
np.asfortranarray(x)
np.asfortranarray(x.T)
np.rollaxis(x,1)
np.permute_dims(x,(1,0))
np.matrix_transpose(x)
np.linalg.matrix_transpose(x)
np.linalg.diagonal(x)
np.unstack(x)[1]
np.unstack(x,axis=1)[1]
np.trim_zeros(x[0])
np.broadcast_arrays(x,x)[0]
np.meshgrid(x[0],x[1],sparse=True,copy=False)[0]
np.meshgrid(x[0],x[1])[0]
np.ix_(x[0],x[1])[0]
np.real_if_close(x)
np.asarray_chkfinite(x)
np.astype(x,x.dtype,copy=False)
x.astype(x.dtype,copy=False)
x.astype(x.dtype)
np.array(x)
np.array(x,copy=None)
np.array(x,copy=None)
np.asarray(x)
np.asanyarray(x)
np.reshape(x,(3,2))
np.reshape(x.T,(6,))
x.reshape(-1)
np.reshape(x,(3,2),copy=True)
np.transpose(x)
x.T
x.mT
x.view()
x[:]
x[...]
x[:,None]
x[:, ::2]
x[::-1]
x[x>.4]
x[[0,1]]
np.take(x,[0,1],0)
x.take([0],1)
np.compress([True,True],x,axis=0)
np.delete(x,0,0)
np.insert(x,0,1.,0)
np.copy(x)
x.copy()
+x
x[:1].squeeze()
x.swapaxes(0,1)
x.diagonal()
np.conj(x)
x.conj()
np.clip(x,None,9.)
np.sort(x)
np.lib.stride_tricks.sliding_window_view(x,2,0)
np.tril(x)
np.append(x,1.)
np.stack([x])
np.concatenate([x])
np.vstack([x])
np.hstack([x])
np.block([x])
np.where(x>0,x,x)
np.select([x>0],[x])
np.choose(0,[x,x])
np.repeat(x,1)
np.tile(x,1)
np.roll(x,0)
np.pad(x,0)
np.resize(x,(2,3))
np.cumsum(x,0)
np.absolute(x)
np.maximum(x,0.)
np.broadcast_to(x,(2,3))
np.require(x)
np.add(x,0)
list(x)[1]
list(x.T)[1]
[r for r in x][0]
[r for _,r in enumerate(x)][0]
list(reversed(x))[0]
x.ravel()[::2]
np.dstack([x])
np.column_stack([x])
np.kron([1.],x)
x.reshape(2,3,1)[...,0]
np.transpose(x[None],(1,0,2))[:,0]
np.ravel(x[:,:2])
np.ravel(x[:1])
np.array(x,order="F",copy=None)
np.emath.sqrt(x)
np.diagflat(x[0])
x.flat[:]
np.sort_complex(x[0]).real
np.triu(x)
np.angle(x)
np.imag(x+0j)
(x+0j).real
np.take_along_axis(x,np.array([[0],[1]]),1)
np.extract(x>.4,x)
np.gradient(x,axis=1)
np.ediff1d(x)
np.c_[x]
np.r_[x]
""".strip().splitlines()


@pytest.mark.parametrize(("layout", "call"), one_in(5, itertools.product(LAYOUTS, CALLS)))
def test_stores_reach_the_entries_that_numpys_do(call, layout):
    g, laid_out = eval(f"lambda x: {call}"), LAYOUTS[layout]

    def f(x):
        x = laid_out(x * 1.0)
        r = g(x)
        r[(0,) * r.ndim] = 7.0
        x[-1, -1] = 5.0
        weights = np.cos(np.arange(r.size)).reshape(r.shape)
        return np.real(np.sum(x**2 * np.arange(1.0, 7.0).reshape(2, 3)) + np.sum(r * weights))

    try:
        expected = f(X)
    except ValueError:  # the result is read-only
        with pytest.raises(ValueError, match="read-only"):
            fg.grad(f)(X)
        return
    value, slope = fg.value_and_grad(f)(X)
    assert value == pytest.approx(expected, rel=1e-13)
    moved = np.sin(np.arange(6.0)).reshape(2, 3)
    difference = (f(X + 1e-6 * moved) - f(X - 1e-6 * moved)) / 2e-6
    assert np.sum(slope * moved) == pytest.approx(difference, rel=1e-7, abs=1e-8)


SHAPES = [(2, 3), (3, 2), (2, 2), (6,), (2, 3, 2), (1, 6), (2, 1, 3)]


@pytest.mark.parametrize(
    ("shape", "given"),
    one_in(
        3,
        itertools.product(SHAPES, ["x", "x.T", "x[::-1]", "np.asfortranarray(x)", "x[..., ::-1]"]),
    ),
)
def test_reshape_in_every_order(shape, given):
    x = np.sin(np.arange(1.0, 1 + np.prod(shape))).reshape(shape)
    lengths = [s for n in (1, 2, 3) for s in itertools.product((1, 2, 3, 4, 6), repeat=n)]
    calls = [
        f"np.reshape({given}, {s}, order='{order}')"
        for s in lengths
        if np.prod(s) == x.size
        for order in "CFA"
    ]
    calls += [f"np.ravel({given}, '{order}')" for order in "CFAK"]
    calls += [f"({given}).copy('{order}').ravel('K')" for order in "CFAK"]
    for call in calls:
        f = eval(f"lambda x: {call}")
        np.testing.assert_array_equal(fg.jvp(fg.adopt(f), (x,), (x,))[0], f(x), err_msg=call)


def test_a_store_that_would_reach_several_entries_is_refused():
    def f(x):
        x = x * 1.0
        wide = np.meshgrid(x[0], x[1], copy=False)[0]
        wide[0, 0] = 7.0
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        fg.grad(f)(X)


MADE = [
    "np.zeros((2, 4), order='F')",
    "np.asfortranarray(np.zeros((2, 4)))",
    "np.zeros((4, 2)).T",
    "np.array(np.ones((4, 2)).T)",
    "np.zeros((2, 8))[:, ::2]",
    "np.zeros((2, 4))[::-1]",
    "np.full((2, 4), 2.0, order='F')",
]
STORES = """
a[...] = x.reshape(2, 4)
a[0] = x[:4]
a[0, 0] = x[0]
a += x[0]
a.fill(x[0])
np.copyto(a, x.reshape(2, 4))
a.flat = x
a.flat[0] = x[0]
np.add(a, x[0], out=a)
a[a < 1] = x[0]
np.put(a, [0], x[0])
np.add.at(a, (0, 0), x[0])
np.fill_diagonal(a, x[0])
a.T[0] = x[0]
a[[0, 1]] = x.reshape(2, 4)
a.real = x.reshape(2, 4)
""".strip().splitlines()


@pytest.mark.parametrize(("made", "store"), one_in(3, itertools.product(MADE, STORES)))
def test_an_array_keeps_its_layout_when_a_traced_value_is_stored(made, store):
    x = np.arange(1.0, 9.0)
    for view in ("a.T.reshape(-1)", "a.ravel('K')", "a.ravel()", "a.reshape(-1, order='F')"):
        space = {"np": np}
        exec(
            f"def f(x):\n    a = {made}\n    {store}\n    b = {view}\n    b[0] = 3.0\n"
            "    a[-1, -1] = 9.0\n    return a * x[1], b * x[1]",
            space,
        )
        found, expected = fg.jvp(fg.adopt(space["f"]), (x,), (x,))[0], space["f"](x)
        np.testing.assert_array_equal(found[0], expected[0], err_msg=view)
        np.testing.assert_array_equal(found[1], expected[1], err_msg=view)


def views(a):
    """An array and its views: overlapping, apart, interleaved, empty, and copies."""
    table = a.reshape(2, 3)
    parts = [a, a[:3], a[3:], a[::2], a[1::2], a[:0], a[::-1], np.asarray(a)]
    parts += [table, table.T, table.T[1], table[0], table.ravel(), table.T.ravel()]
    return [*parts, a.copy(), table.T.copy("F"), a + 0.0, np.zeros(6)]


@pytest.mark.parametrize("shares", [np.shares_memory, np.may_share_memory])
def test_which_views_share_memory_is_numpys(shares):
    """SciPy asks before it sorts in place, as in `scipy.stats.mstats.friedmanchisquare`."""

    def f(t):
        a = np.empty(6)
        a[:] = np.arange(6.0, 0.0, -1.0) * t
        answers.append([[bool(shares(x, y)) for y in views(a)] for x in views(a)])
        own = a.ravel().copy() if shares(a, a.ravel()) else a.ravel()
        own.sort()
        return a[0] + 10 * own[0]

    answers = []
    assert fg.value_and_grad(fg.adopt(f))(1.5) == (24.0, 16.0)
    assert f(1.5) == 24.0
    traced, plain = answers
    assert traced == plain


def test_a_view_made_before_a_store_of_a_traced_value_shares_the_memory_of_its_base():
    found = []

    def f(x):
        a = np.zeros(4)
        v, w = a[1:], a[2:].reshape(2, 1)
        a[0] = x
        b = np.zeros((2, 2))
        t = b.T[(..., slice(0, 2))]
        np.multiply(np.ones((2, 2)), x, out=t)
        pairs = ((a, v), (a, w), (v, w), (a[:1], v), (b, t), (t, b.T))
        found.append([np.may_share_memory(*pair) for pair in pairs])
        b[...] = 0.0
        b[0, 0] = x
        found[-1] += [np.shares_memory(a, v), np.may_share_memory(b, t)]
        return a[0] * b[0, 0]

    f(2.0)
    fg.grad(f)(2.0)
    fg.jit(f)(2.0)
    assert found[0] == found[1] == found[2] == [True, True, True, False, True, True, True, True]


def test_arrays_of_dates_are_read_as_plain_arrays():
    """Python's buffers take none: it was a ValueError."""

    def f(x):
        dates = np.array([1e18, 2e18]).astype("M8[ns]")
        numbers = dates.view("i8")
        numbers[0] += 86_400_000_000_000
        days = np.diff(np.asarray(dates).astype("M8[D]")) / np.timedelta64(1, "D")
        return x * days[0] + numbers[0] * 0

    assert fg.grad(fg.adopt(f))(2.0) == 11573.0
    assert fg.jit(fg.grad(fg.adopt(f)))(2.0) == 11573.0
