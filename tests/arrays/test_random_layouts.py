"""Random programs of arrays in every order of memory, their views, and stores: all arrays are NumPy's."""

import random

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

CREATIONS = """
np.zeros((3, 4))
np.zeros((3, 4), order='F')
np.ones((2, 3, 2), order='F')
x.reshape(3, 4) * 1.0
np.asfortranarray(x.reshape(3, 4))
x.reshape(4, 3).T * 1.0
np.zeros((4, 6))[:, ::2]
np.array(x.reshape(3, 4))
np.zeros(12)
np.zeros((3, 4)).T
np.copy(x.reshape(2, 6), order='F')
np.full((2, 2, 3), x[1])
np.stack([x[:4], x[4:8]], axis=1)
np.broadcast_to(x[:3, None], (3, 4)).copy('K')
""".strip().splitlines()
VIEWS = """
{a}.T
{a}.ravel()
{a}.ravel('F')
{a}.ravel('K')
{a}.ravel('A')
{a}.reshape(-1, order='F')
{a}.reshape({a}.shape[::-1])
{a}.reshape({a}.shape[::-1], order='F')
{a}.reshape({a}.shape[::-1], order='A')
{a}.reshape(2, -1)
{a}[::-1]
{a}[1:]
{a}[..., ::2]
{a}[..., 0]
{a}[-1]
{a}.swapaxes(0, -1)
np.moveaxis({a}, 0, -1)
{a}[None]
np.squeeze({a})
np.rot90({a})
{a}.diagonal()
np.split({a}, 2, -1)[1]
{a}.flatten('K')
{a}.copy()
{a}.copy('K')
{a}.copy('A')
np.array({a})
np.asarray({a}, order='F')
np.ascontiguousarray({a})
{a} * 2.0
{a} + {b}
np.sin({a})
np.where({a} > 1, {a}, 0.5)
np.zeros_like({a})
np.einsum('...ij->...ji', {a})
{a}[[0, -1]]
{a}[{a} > 0.5]
{a}.take([0, 1], -1)
np.concatenate([{a}, {a}])
np.sort({a}, 0)
np.cumsum({a}, -1)
{a} @ {a}.T
np.tril({a})
""".strip().splitlines()
STORES = """
{a}[(0,) * {a}.ndim] = x[3]
{a}[...] = {b}
{a}[0] = x[5]
{a} += x[1]
{a} *= {b}
{a}[-1] = 7.0
{a}.fill(x[2])
{a}.flat[1] = x[4]
{a}[::2] -= 0.25
{a}[{a} > 1] = x[6]
np.copyto({a}, {b})
np.add({a}, x[0], out={a})
{a}.sort()
np.put({a}, [0, 2], x[:2])
{a}.T[0] = 3.0
{a}.ravel('K')[1] = x[8]
{a}.reshape(-1)[2] = x[9]
{a}[0], {a}[-1] = {a}[-1].copy(), {a}[0].copy()
np.fill_diagonal({a}, x[3])
{a}[1:] = {a}[:-1]
""".strip().splitlines()
pytestmark = pytest.mark.filterwarnings("ignore:the output does not depend")
X = np.linspace(0.3, 2.1, 12) + 0.01 * np.sin(7.0 * np.arange(12.0) ** 2)


def program(seed):
    """The lines of a program that NumPy runs, and the names of its arrays."""
    chance, lines, names = random.Random(seed), [], []
    for step in range(chance.randint(6, 16)):
        if step < 2 or chance.random() < 0.5:
            text = chance.choice(CREATIONS if step < 2 else VIEWS)
            line = f"v{len(names)} = {text}"
        else:
            line = chance.choice(STORES)
        line = line.format(a=chance.choice(names or [""]), b=chance.choice(names or [""]))
        space = {"np": np, "x": X.copy()}
        try:
            exec("\n".join([*lines, line]), space)
        except (ValueError, IndexError, TypeError):
            continue
        name = f"v{len(names)}"
        if name in line.partition(" = ")[0]:
            made = space[name]
            if not isinstance(made, np.ndarray) or not 0 < made.size <= 64:
                continue
            names.append(name)
        lines.append(line)
    return lines, names


def check(seed):
    lines, names = program(seed)
    body = "\n    ".join([*lines, f"return [{', '.join(names)}]"])
    space = {"np": np}
    exec(f"def f(x):\n    {body}\n", space)
    f = space["f"]
    with np.errstate(all="ignore"):
        expected = f(X.copy())
        found, slopes = fg.jvp(fg.adopt(f), (X,), (np.cos(X),))
        for name, own, numpys in zip(names, found, expected, strict=True):
            np.testing.assert_allclose(own, numpys, rtol=1e-12, err_msg=f"{name} of\n    {body}")
        h = 1e-7
        above, below = f(X + h * np.cos(X)), f(X - h * np.cos(X))
    for name, slope, up, down in zip(names, slopes, above, below, strict=True):
        if np.shape(up) == np.shape(down) and np.max(np.abs(up), initial=0.0) < 1e3:
            wanted = (up - down) / (2 * h)
            np.testing.assert_allclose(
                slope, wanted, rtol=1e-4, atol=1e-4, err_msg=f"{name}: {body}"
            )


@pytest.mark.parametrize("part", one_in(4, range(8)))
def test_random_layouts(part):
    for seed in range(40 * part, 40 * (part + 1)):
        check(seed)


def test_fortran_order_of_an_expression_is_known_under_jit():
    def f(x):
        made = np.asfortranarray(x.reshape(3, 4))
        return made.ravel("A"), made.astype(bool)

    np.testing.assert_array_equal(fg.jit(f)(X)[0], f(X)[0])


def test_a_traced_value_is_not_stored_into_a_view_of_another_dtype():
    def f(x):
        a = np.zeros(4, np.int64)
        a.view(float)[0] = x[1]
        return a * x

    with pytest.raises(TypeError, match=r"held here alone, .* give that code a\.copy\(\)"):
        fg.grad(lambda x: np.sum(f(x[:4])))(X)


def test_the_method_conj_of_booleans_is_the_array_itself():
    for f in (lambda x: (x > 1).conj(), lambda x: np.conj(x > 1), lambda x: (1j * x).conj()):
        assert fg.jit(f)(X).dtype == f(X).dtype
        np.testing.assert_array_equal(fg.jit(f)(X), f(X))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_layouts(part):
    for seed in range(10_000 + 500 * part, 10_000 + 500 * (part + 1)):
        check(seed)


def test_a_function_that_is_given_runs_once():
    calls = []

    def fill(vector, width, axis, options):
        calls.append(axis)
        vector[: width[0]] = 2.0

    def f(x):
        return np.sum(np.pad(np.asfortranarray(x.reshape(3, 4)), pad_width=1, mode=fill))

    f(X)
    expected = len(calls)
    fg.grad(fg.adopt(f))(X)
    assert len(calls) == 2 * expected
