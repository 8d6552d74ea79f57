"""Arrays that can be written: stores, views and in-place functions are NumPy's, with their gradients."""

import copy
import operator
import pickle
import textwrap
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.arrays import array_methods
from funcgrad.arrays.mutable_array import MutableArray
from tests.arrays.store_programs import Program, start
from tests.default_slice import marked_slow, one_in


def adopted(source, **names):
    """A function over funcgrad's NumPy, as adoption makes them, from its text."""
    space = {"np": fnp, "fg": fg, "__funcgrad_adopted__": True, **names}
    exec(source, space)
    return space["f"]


def both(body):
    """The function of x with this body over NumPy, and over funcgrad's."""
    source = "def f(x):\n" + "\n".join("    " + line for line in body.strip().splitlines())
    plain = {"np": np}
    exec(source, plain)
    return plain["f"], adopted(source)


def slope(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def without_jumps(f, x):
    """Central differences: NaN where a jump lies within the step, so that a smaller step gives much more."""
    found, finer = slope(f, x), slope(f, x, 1e-8)
    return np.where(np.abs(finer) > 10 * np.abs(found) + 1e3, np.nan, found)


BODIES = {
    "a product of transposed arrays": (
        "m = np.outer(x[:3], x[:3])\np = np.ones((4, 3)) @ m.T + x[:3]\nq = p.reshape(12)\nq[0] = x[0]**2\n"
        "return (p*p).sum()"
    ),
    "a constant's method": "return (np.arange(9.0).reshape(3, 3).dot(x[:3])**2).sum()",
    "entries": "a = np.zeros(3)\nfor i in range(3): a[i] = x[i]**2\nreturn a.sum()",
    "a recurrence": "a = np.zeros(5)\na[0] = x[0]\nfor i in range(1, 5): a[i] = a[i-1]*x[1]\nreturn a @ a",
    "rows": "a = np.zeros((3, 2))\nfor i in range(3): a[i] = x[:2]*i\na[1] = a[2]\nreturn (a*a).sum()",
    "part of a row": "a = np.zeros((3, 2))\na[1] = x[:2]\na[1, 0] *= x[2]\nreturn (a*a).sum()",
    "a view of a row": "a = np.zeros((3, 2))\nr = a[1]\nr[0] = x[0]\nr[1] = r[0]*x[1]\nreturn (a*a).sum()",
    "aliases": "a = np.zeros(3)\nb = a\nb += x[:3]\na *= 2\nreturn (b*b).sum()",
    "a slice": "a = np.ones(6)\nb = a[::-2]\nb[0] = x[0]\nb *= x[1]\nreturn (a*a).sum()",
    "a transposed view": "a = np.ones((2, 3))\na.T[0] = x[:2]\nreturn (a*a).sum()",
    "reshape": "a = np.ones((2, 3))\nb = a.reshape(-1)\nb[1:3] = x[:2]\nreturn (a*a).sum()",
    "a copy by reshape": "a = np.ones((2, 3)).T\nb = a.reshape(-1)\nb[:] = x[0]\nreturn a.sum() + b.sum()",
    "ravel of a.T": "a = np.ones((2, 3))\na[0] = x[:3]\nb = a.T.ravel()\nb[0] = 9\nreturn (a*a).sum()",
    "order of results": "a = np.ones((2, 3)).T * x[0]\nb = a.ravel()\nb[0] = 5.0\nreturn (a*a).sum()",
    "lists of traced values and a.T": (
        "a = np.ones((2, 3)).T\nb = [x[0], 2.0] * a + [x[1], x[2]]\nc = b.ravel()\nc[1] = 5.0\n"
        "return ([[x[3]], [1.0], [x[4]]] - b).ravel() @ np.arange(6.0) + (b*b).sum()"
    ),
    "where of transposed arrays": (
        "a = np.where(np.ones((2, 3)).T > 9, np.ones((2, 3)).T, x[0])\nb = a.reshape(-1)\nb[1] = 5.0\n"
        "a[1] *= x[1]\nreturn (a*a).sum() + b @ x"
    ),
    "a copy to itself": (
        "a = x[:4].reshape(2, 2).diagonal()\nnp.copyto(a, a, where=[True, False])\nreturn (a*a).sum()"
    ),
    "a diagonal": "a = np.ones((3, 3))\nnp.fill_diagonal(a, x[:3])\nreturn (a*a).sum()",
    "einsum": "a = np.ones((3, 3))\nnp.einsum('ii->i', a)[:] = x[:3]\nreturn (a*a).sum()",
    "einsum with out": (
        "a = x * 2\nb = np.zeros((2, 3))\nnp.einsum('ij->ji', a.reshape(3, 2), out=b)\nreturn (b*b[0]).sum()"
    ),
    "masks": "a = np.arange(6.0)\na[a > 2] = x[0]\na[x > 1] += x[1]\nreturn (a*a).sum()",
    "repeated indices": "a = np.zeros(3)\na[[0, 1, 0]] = x[:3]\nreturn (a*a).sum()",
    "add.at": "a = np.zeros(3)\nnp.add.at(a, [0, 1, 0], x[:3])\nreturn (a*a).sum()",
    "multiply.at": "a = np.ones(3)\nnp.multiply.at(a, [0, 1, 0], x[:3])\nreturn (a*a).sum()",
    "out": "a = np.zeros(6)\nnp.multiply(x, 2, out=a)\nnp.sin(a[1:], out=a[:-1])\nreturn (a*a).sum()",
    "where": "a = np.ones(6)\nnp.add(a, x, out=a, where=x > 0)\nreturn (a*a).sum()",
    "sum where": "return np.sum(x, where=x > 0, initial=2.0) * np.add.reduce(x, where=x < 0)",
    "sum with out": "a = np.zeros(3)\nx.reshape(2, 3).sum(axis=0, out=a)\nreturn (a*a).sum()",
    "fill": "a = np.zeros(3)\na.fill(x[0])\nreturn (a*a).sum()",
    "sort": "a = x * 2\na.sort()\nreturn (a * np.arange(6)).sum()",
    "put": "a = np.zeros(4)\nnp.put(a, [0, -1], x[:2])\na.put([1], x[2])\nreturn (a*a).sum()",
    "nan_to_num": (
        "a = x * 2\nb = np.nan_to_num(a, copy=False)\nb[0] = x[1]**2\nnp.nan_to_num(a[1:], False)[0] = x[0]\n"
        "return (a*a).sum() + np.nan_to_num(a)[0]"
    ),
    "take": (
        "a = np.zeros(2)\nnp.take(x, [1, 0], 0, a)\nb = x * 2\nnp.take(b, [-1], out=b[:1], mode='wrap')\n"
        "return (a*b[:2]).sum()"
    ),
    "copyto": "a = np.zeros(6)\nnp.copyto(a, x, where=np.arange(6) > 2)\nreturn (a*a).sum()",
    "place": "a = np.zeros(6)\nnp.place(a, np.arange(6) > 1, x[:3])\nreturn (a*a).sum()",
    "putmask": "a = np.zeros(6)\nnp.putmask(a, np.arange(6) > 1, x[:3])\nreturn (a*a).sum()",
    "along an axis": (
        "a = np.zeros((2, 3))\nnp.put_along_axis(a, np.array([[1], [0]]), x[:2].reshape(2, 1), 1)\n"
        "return (a*a).sum()"
    ),
    "flat": "a = np.zeros((2, 3))\na.flat[1:3] = x[:2]\na.T.flat[0] = x[4]\nreturn (a*a).sum()",
    "iteration": "a = np.ones((2, 3))\nfor row in a: row[0] = x[0]\nreturn (a*a).sum()",
    "an argument": "x[0] = x[1]*2\nx[2:] *= x[0]\nreturn (x*x).sum()",
    "a copy of the argument": "y = x.copy()\ny[x < 0] = 0.0\nreturn (y*x).sum()",
    "a shape of a view": (
        "a = np.zeros(6)\na[:] = x\nb = a.reshape(1, -1)\nb.shape = (2, 3)\nb[1] *= 2\n"
        "return (b * np.broadcast_to(b[:1], b.shape)).sum() + a[5]"
    ),
    "a shape": "a = np.zeros(6)\na[:] = x\na.shape = (2, 3)\nreturn (a[1]*a[0]).sum()",
    "a shape given as an array": "a = np.zeros(6)\na[:] = x\na.shape = np.array([2, 3])\na.shape = [2, 3]\n"
    "return (a[1]*a[0]).sum()",
    "a 0-d array": "a = np.array(x[0])\na[...] = a * x[1]\na += 1\nreturn a * 2",
    "the last axis": "a = np.zeros((2, 3))\na[..., -1] = x[:2]\na[:, None, 0] = x[2]\nreturn (a*a).sum()",
    "complex": "a = np.zeros(2, complex)\na[0] = x[0] + 1j*x[1]\na.imag[1] = x[2]\nreturn abs(a[0]*a[1])",
    "split": "a = np.zeros(6)\nl, r = np.split(a, 2)\nl[:] = x[:3]\nr[0] = l[1]*2\nreturn (a*a).sum()",
}


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize("name", one_in(3, BODIES))
def test_stores_have_numpys_values_and_their_gradients(name):
    plain, f = both(BODIES[name])
    x = start()
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, plain(x.copy()), rtol=1e-12)
    expected = slope(lambda at: plain(at.copy()), x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    compiled = fg.jit(fg.value_and_grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x)[1], gradient, rtol=1e-12)
    np.testing.assert_array_equal(x, start())


ASKING = {"masks", "where", "sum where", "a copy of the argument"}


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize(
    "name", one_in(3, [name for name in BODIES if name not in ASKING], start=1)
)
def test_stores_are_mapped_and_stand_in_loops(name):
    _, f = both(BODIES[name])
    xs = np.stack([start(), start()[::-1]])
    expected = [f(x.copy()) for x in xs]
    np.testing.assert_allclose(fg.vmap(f)(xs), expected, rtol=1e-12)
    step = adopted("def f(total, x): y = g(x); return total + y, y", g=f)
    total, each = fg.scan(step, 0.0, xs)
    np.testing.assert_allclose(each, expected, rtol=1e-12)
    np.testing.assert_allclose(total, sum(expected), rtol=1e-12)


@pytest.mark.parametrize("seed", one_in(6, range(40)))
def test_random_programs_are_numpys(seed):
    check_program(seed, modes=seed % 4 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs_are_numpys(block):
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check_program(seed, modes=True)


def check_program(seed, modes):
    program = Program(seed)
    plain = program.function(np)
    f = program.function(fnp, __funcgrad_adopted__=True)
    x = start()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = plain(x.copy())
        weights = 1.2 + np.cos(0.7 * np.arange(expected.size))
        loss = adopted("def f(x): return np.sum(g(x) * w)", g=f, w=weights)
        value, _ = fg.jvp(f, (x,), (np.ones(x.size),))
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-9)
        total, gradient = fg.value_and_grad(loss)(x)
        np.testing.assert_allclose(total, weights @ expected, rtol=1e-6, atol=1e-6)
        forward = np.array([fg.jvp(loss, (x,), (e,))[1] for e in np.eye(x.size)])
        np.testing.assert_allclose(gradient, forward, rtol=1e-6, atol=1e-6)
        rounds = any(
            word in line for line in program.lines for word in ("32", "int)", "sort", "maximum")
        )
        if not rounds and np.abs(gradient).max() < 1e4:
            found = without_jumps(lambda at: weights @ plain(at.copy()), x)
            smooth = ~np.isnan(found)
            np.testing.assert_allclose(gradient[smooth], found[smooth], rtol=2e-3, atol=2e-3)
        if modes:
            check_modes(f, loss, x, expected, gradient, maps=not program.asks)


def check_modes(f, loss, x, expected, gradient, maps):
    compiled = fg.jit(fg.grad(loss))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), gradient, rtol=1e-6, atol=1e-6)
    if maps:
        xs = np.stack([x, 1.01 * x])
        np.testing.assert_allclose(fg.vmap(f)(xs)[0], expected, rtol=1e-6, atol=1e-9)
        step = adopted("def f(carry, x): return carry, g(x)", g=f)
        np.testing.assert_allclose(fg.scan(step, 0.0, xs)[1][0], expected, rtol=1e-6, atol=1e-9)


# -- dtypes --------------------------------------------------------------------------------------
def test_a_float_stored_into_integers_is_truncated_and_has_no_derivative():
    f = adopted("def f(x):\n    a = np.zeros(3, int)\n    a[:] = x\n    return (a * x).sum()")
    x = np.array([1.5, -2.5, 3.0])
    value, gradient = fg.value_and_grad(f)(x)
    assert value == 1 * 1.5 + -2 * -2.5 + 9
    np.testing.assert_array_equal(gradient, [1.0, -2.0, 3.0])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        fg.grad(adopted("def f(x):\n    a = np.zeros(3, int)\n    a += x\n    return a.sum()"))(x)


def test_complex_numbers_stored_into_floats_are_refused_or_warned_of():
    one = adopted("def f(x):\n    a = np.zeros(2)\n    a[0] = 1j * x[0]\n    return a.sum()")
    with pytest.raises(TypeError, match="got a complex one"):
        fg.grad(one)(start())
    several = adopted("def f(x):\n    a = np.zeros(6)\n    a[:] = (1 + 1j) * x\n    return a.sum()")
    with pytest.warns(np.exceptions.ComplexWarning):
        np.testing.assert_array_equal(fg.grad(several)(start()), np.ones(6))


def test_single_precision_stays():
    f = adopted("def f(x):\n    a = np.zeros(6, np.float32)\n    a[:] = x * np.pi\n    return a")
    value, _ = fg.jvp(f, (start(),), (np.ones(6),))
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, (start() * np.pi).astype(np.float32))


# -- purity --------------------------------------------------------------------------------------
def test_arrays_from_outside_are_not_written():
    outside = np.ones(3)
    f = adopted(
        "def f(x):\n    a = np.asarray(W)\n    a[0] = 5.0\n    b = np.asarray(W)\n    b[1] = x[0]\n"
        "    return a.sum() + b.sum()",
        W=outside,
    )
    assert fg.value_and_grad(f)(start())[0] == 7.0 + 2.0 + 0.9
    np.testing.assert_array_equal(outside, np.ones(3))
    g = adopted("def f(x, w):\n    w[0] = x[0]\n    return (w * w).sum()")
    assert fg.grad(g)(start(), outside)[0] == 1.8
    np.testing.assert_array_equal(outside, np.ones(3))


def test_a_large_array_that_was_used_keeps_what_it_held():
    f = adopted(
        "def f(x):\n    a = np.ones(20000)\n    b = (a * x[0]).sum()\n    a[:] = 2.0\n"
        "    return b + (a * x[0]).sum()"
    )
    value, gradient = fg.value_and_grad(f)(np.array([3.0]))
    assert value == 3 * 60000.0
    assert gradient[0] == 60000.0


def test_jit_notices_a_store_into_a_captured_array():
    weights = fnp.ones(3)
    f = fg.jit(adopted("def f(x): return (W * x).sum()", W=weights))
    assert f(2.0) == 6.0
    assert f(2.0) == 6.0
    weights[0] = 5.0
    assert f(2.0) == 14.0


def test_a_store_out_of_a_loops_body_is_an_error():
    f = adopted(
        "def f(x):\n    a = np.zeros(3)\n    def body(i, c):\n        a[i] = c\n        return c * x[0]\n"
        "    fg.fori_loop(0, 3, body, x[1])\n    return a.sum()"
    )
    with pytest.raises(TypeError, match="from outside"):
        fg.grad(f)(start())
    inner = adopted(
        "def f(x):\n    a = np.zeros(3)\n    def g(y):\n        a[0] = y\n        return y * y\n"
        "    return fg.grad(g)(x[0]) + a.sum()"
    )
    with pytest.raises(TypeError, match="return the new values instead"):
        fg.grad(inner)(start())


def test_stores_of_what_an_inner_transform_has_returned():
    f = adopted(
        "def f(x):\n    a = np.zeros(2)\n    a[0] = fg.grad(lambda y: y**3)(x[0])\n    a[1] = x[1]\n"
        "    return (a * a).sum()"
    )
    found = fg.grad(f)(start())
    np.testing.assert_allclose(found[:2], [2 * 3 * 0.81 * 6 * 0.9, 2 * 1.3])


def test_plain_functions_are_given_expressions():
    def f(x):
        x[0] = 1.0
        return x

    with pytest.raises(TypeError, match=r"at\[i\]\.set"):
        fg.grad(fg.adopt(f, False))(start())


def test_results_are_plain_arrays():
    f = adopted(
        "def f(x):\n    a = np.zeros(2)\n    b = np.zeros(2)\n    b[0] = x[0]\n    return b, a, {'c': [a]}"
    )
    (b, a, rest), _ = fg.jvp(f, (start(),), (start(),))
    assert type(b) is np.ndarray
    assert type(a) is np.ndarray
    assert type(rest["c"][0]) is np.ndarray
    b, a, rest = fg.jit(f)(start())
    assert type(b) is np.ndarray
    assert type(a) is np.ndarray
    assert type(rest["c"][0]) is np.ndarray
    aux = adopted(
        "def f(x):\n    a = np.zeros(2)\n    a[0] = x[0]\n    return x[0] * 2, (a, np.ones(1))"
    )
    _, (a, ones) = fg.grad(aux, has_aux=True)(start())
    assert type(a) is np.ndarray
    assert type(ones) is np.ndarray
    assert a[0] == 0.9


# -- as an array of NumPy's ----------------------------------------------------------------------
def test_numbers_are_as_numpys():
    a = fnp.zeros((2, 3))
    assert isinstance(a, MutableArray)
    assert a.shape == (2, 3)
    assert a.ndim == 2
    assert a.size == 6
    assert len(a) == 2
    assert a.dtype == float
    assert a.nbytes == 48
    assert a.itemsize == 8
    assert a.strides == (24, 8)
    a[0] = 1.0
    assert repr(a) == repr(np.asarray(a))
    assert str(a[0]) == "[1. 1. 1.]"
    assert a.tolist() == [[1.0] * 3, [0.0] * 3]
    assert a.item(0) == 1.0
    assert 1.0 in a
    shared = np.asarray(a)
    shared[1, 2] = 7.0
    assert a[1, 2] == 7.0
    assert type(a[1, 2]) is np.float64
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    other = copy.deepcopy(a)
    other[0] = 0.0
    assert a[0, 0] == 1.0
    assert a[1].base is a
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)), a)


def test_stores_that_numpy_refuses_are_refused():
    for body, kind in [
        ("a = np.zeros(3)\na[3] = x[0]\nreturn a.sum()", IndexError),
        ("a = np.zeros(3)\na[:] = x\nreturn a.sum()", ValueError),
        ("a = np.zeros(3)\na += x\nreturn a.sum()", ValueError),
        ("a = np.zeros((3, 3))\na.diagonal()[0] = x[0]\nreturn a.sum()", ValueError),
        ("a = np.broadcast_to(np.zeros(3), (2, 3))\na[0] = x[0]\nreturn a.sum()", ValueError),
        ("a = np.zeros(3)\na.setflags(write=False)\na[0] = x[0]\nreturn a.sum()", ValueError),
    ]:
        plain, f = both(body)
        for function in (plain, fg.grad(f)):
            with pytest.raises(kind):
                function(start())


def test_plain_arrays_refuse_a_traced_array():
    holding = "a = np.zeros(3)\na[0] = x[0]\n"
    with pytest.raises(TypeError, match="a plain array would cut"):
        fg.grad(
            adopted(
                f"def f(x):\n    {holding.replace(chr(10), chr(10) + '    ')}return real(a).sum()",
                real=np.asarray,
            )
        )(start())
    shared = adopted(
        "def f(x):\n    a = np.zeros(3)\n    b = real(a)\n    a[0] = x[0]\n    return a.sum() + b.sum()",
        real=np.asarray,
    )
    with pytest.raises(TypeError, match="holds it as a plain array too"):
        fg.grad(shared)(start())
    viewed = fnp.zeros(3)
    view = viewed[1:]
    for array in (viewed, view):
        with pytest.raises(ValueError, match="resize: expected an array in C order without"):
            array.resize(4)
    with pytest.raises(TypeError, match="plain NumPy array"):
        fg.grad(adopted("def f(x):\n    np.sin(x, out=W)\n    return x.sum()", W=np.zeros(6)))(
            start()
        )


def test_a_store_costs_a_few_operations():
    f = adopted(
        "def f(x):\n    a = np.zeros(n)\n    a[0] = x\n    for i in range(1, n): a[i] = a[i - 1] * x + 1\n"
        "    return a.sum()",
        n=400,
    )
    expr = fg.trace(f, 0.5)
    assert len(expr.graph) < 400 * 4
    value, gradient = fg.value_and_grad(f)(0.5)
    np.testing.assert_allclose([value, gradient], [798.0, 1592.0], rtol=1e-2)


def test_functions_of_the_package_take_arrays():
    f = adopted(
        "def f(x):\n    a = np.zeros(3)\n    a[:] = x[:3]\n    b = fg.sin(a) + fg.softplus(a)\n"
        "    b[0] = 0.0\n"
        "    return fg.logsumexp(b) + fg.vmap(lambda t: t * t)(a).sum() + fg.stop_gradient(a).sum()"
    )
    np.testing.assert_allclose(
        fg.grad(f)(start()), slope(lambda x: f(x), start()) - [1, 1, 1, 0, 0, 0], atol=1e-6
    )


def test_arrays_of_objects_are_numpys_own_and_hold_expressions():
    def f(x):
        made = fnp.empty(3, dtype=object)
        for i in range(3):
            made[i] = x[i] * i
        pair = fnp.array([x[0], 2.0], dtype=object)
        return (made * made).sum() + pair[0] * pair[1]

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [2.0, 2.0, 8.0])
    np.testing.assert_array_equal(fg.jit(fg.grad(f))(np.ones(3)), [2.0, 2.0, 8.0])
    for made in (fnp.array(["a", "b"]), fnp.zeros(2, [("u", float)])):
        assert type(made) is np.ndarray
    assert isinstance(fnp.ones(2, object), np.ndarray)


@pytest.mark.parametrize("part", [lambda a: a.imag, np.imag, lambda a: a.T.imag.T])
@pytest.mark.parametrize("shape", [(3,), (2, 1), (0, 2)])
def test_the_imaginary_part_of_real_numbers_is_zero(part, shape):
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)

    @fg.adopt
    def f(x):
        a = x * x
        found = part(a)
        assert found.shape == shape
        assert found.dtype == float
        return np.sum(found * 3.0 + np.real(a) + a.real)

    value, slope = fg.value_and_grad(f)(x)
    assert value == 2.0 * np.sum(x * x)
    assert slope.tolist() == (4.0 * x).tolist()


def test_real_numbers_have_no_imaginary_part_to_set():
    def f(x):
        x.imag = 1.0
        return np.sum(x)

    with pytest.raises(TypeError, match="array does not have imaginary part to set"):
        fg.grad(fg.adopt(f))(np.ones(3))


ROWS = np.arange(10.0).reshape(5, 2)


def test_a_row_of_an_outer_array_at_the_index_of_a_loop():
    def loop(c):
        return fg.fori_loop(0, 4, lambda i, c: np.roll(c, 1) * 0.5 + ROWS[i] * c[0], c).sum()

    def plain(c):
        for i in range(4):
            c = np.roll(c, 1) * 0.5 + ROWS[i] * c[0]
        return c.sum()

    c = np.array([0.3, 0.7])
    assert loop(c) == pytest.approx(plain(c), rel=1e-14)
    np.testing.assert_allclose(fg.grad(loop)(c), fg.grad(plain)(c), rtol=1e-14)
    np.testing.assert_allclose(fg.jit(fg.hessian(loop))(c), fg.hessian(plain)(c), rtol=1e-14)


def test_a_slice_of_an_outer_array_at_the_index_of_a_loop_leaves_its_numbers():
    for loop in (
        lambda x: fg.fori_loop(0, 3, lambda i, s: s + x[i : i + 2].sum(), 0.0),
        lambda x: fg.scan(lambda s, i: (s + x[i : i + 2].sum(), None), 0.0, np.arange(3))[0],
    ):
        x = fnp.arange(4.0)
        assert loop(x) == 9.0
        assert type((x + 1.0)[0]) is np.float64
        np.testing.assert_array_equal(x, np.arange(4.0))

    def stored(i):
        x[i : i + 2] = 7.0
        return x.sum()

    for run in (fg.jit(stored), lambda k: fg.fori_loop(0, k, lambda i, s: s + stored(i), 0.0)):
        with pytest.raises(TypeError, match="item assignment: expected an array that"):
            run(2)
    np.testing.assert_array_equal(x, np.arange(4.0))


def test_a_row_of_an_outer_array_at_a_traced_index_is_not_written():
    def through_the_row(c):
        row = ROWS[np.argmax(c)]
        row[0] = c[0]
        return ROWS.sum()

    with pytest.raises(ValueError, match="assignment destination is read-only"):
        fg.grad(through_the_row)(np.ones(2))

    def body(i, c):
        ROWS[1] = 7.0
        return c + ROWS[i]

    with pytest.raises(TypeError, match="it stores into 'ROWS'"):
        fg.fori_loop(0, 3, body, np.ones(2))
    assert (np.arange(10.0).reshape(5, 2) == ROWS).all()


def test_asarray_of_an_expression_is_that_expression():
    """Code that is adopted without arrays that can be written: a store must reach x, or be refused."""

    def f(x):
        kind = bool(x.size)
        y = np.sin(x)
        z = np.asarray(y)
        z[0] = x[1] * kind
        return np.sum(y * x)

    x = start()
    np.testing.assert_allclose(fg.value_and_grad(f)(x)[0], f(x.copy()))
    with pytest.raises(ValueError, match="read-only"):
        fg.grad(fg.adopt(lambda x: fnp.asarray(x).fill(x[0]), False))(x)


def test_arrays_without_views_are_resized_in_place():
    def grown(x):
        a = np.zeros(2)
        a[1] = x[0]
        a.resize(a.size + 2, refcheck=False)
        a[3] = x[1]
        a.resize((2, 2))
        b = a * 2
        b.resize(3)
        return a, b

    x = np.array([3.0, 5.0])
    for own, theirs in zip(fg.jit(grown)(x), grown(x), strict=True):
        np.testing.assert_array_equal(own, theirs)
    slope = fg.grad(lambda x: np.sum(grown(x)[0] ** 2) + np.sum(grown(x)[1]))(x)
    np.testing.assert_array_equal(slope, [8.0, 10.0])


def test_resized_arrays_of_plain_numbers_stay_plain_and_lengths_are_checked():
    def resized(x, *shape):
        a = np.array([[1.0, 2.0], [3.0, 4.0]])
        a.resize(*shape, refcheck=False)  # in Python 3.14, NumPy counts another reference
        return x * len(a.tolist()) * int(np.sum(a))

    for shape in ((3, 2), (1,), (), (None,), ([3, 2],), (np.array([3, 2]),), (np.int64(3),)):
        assert fg.adopt(resized)(2.0, *shape) == resized(2.0, *shape)
        assert fg.grad(resized)(2.0, *shape) == resized(1.0, *shape)
    with pytest.raises(
        ValueError, match="resize: expected lengths of at least 0, but got \\(-2,\\)"
    ):
        fg.adopt(resized)(2.0, -2)


@pytest.mark.parametrize(
    "flat",
    [
        lambda x: x.ravel(order="K"),
        lambda x: x.ravel("A"),
        lambda x: x.reshape(-1, order="A"),
        lambda x: x.T.ravel(order="K"),
        lambda x: x[::-1].ravel(order="K"),
        lambda x: x[:, ::2].ravel(order="K"),
        lambda x: np.ravel(x, order="K"),
    ],
)
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 3, 2)])
def test_entries_in_the_order_of_memory_are_those_of_the_argument(flat, shape):
    x = np.asfortranarray(np.arange(float(np.prod(shape))).reshape(shape))
    weights = np.arange(1.0, flat(x).size + 1)

    def loss(x):
        return np.sum(flat(x) * weights)

    value, slope = fg.value_and_grad(loss)(x)
    assert value == loss(x)
    assert np.sum(slope * x) == loss(x)
    assert fg.jvp(loss, (x,), (x,)) == (loss(x), loss(x))
    compiled = fg.jit(loss)
    for given in (x, np.ascontiguousarray(x), x, np.ascontiguousarray(x)):
        assert compiled(given) == loss(given)


@pytest.mark.parametrize("count", [1100, marked_slow(3000)])  # beyond Python's depth of calls
def test_a_long_chain_of_results_that_are_laid_out_as_views(count):
    def f(a):
        z = np.zeros((3, 2)) + 0.0 * a.T
        for _ in range(count):
            z = 0.5 * z + a[:, :3].T
        z[0, 0] = 7.0
        return np.sum(z.ravel(order="K")[1:])

    a = np.arange(6.0).reshape(2, 3)
    value, slopes = fg.value_and_grad(f)(a)
    assert value == f(a)
    np.testing.assert_allclose(slopes, [[0, 2, 2], [2, 2, 2]], rtol=1e-12)


def asked_by_name(x):
    a = (x * 2).__array__()
    a[0] *= x[1]
    return (a * a).sum() + x.__array__(float)[1]


def test_an_array_that_is_asked_for_by_name_is_the_array_itself():
    expected = slope(lambda at: asked_by_name(at.copy()), start())
    np.testing.assert_allclose(fg.grad(asked_by_name)(start()), expected, rtol=1e-6, atol=1e-8)
    assert fg.jit(asked_by_name)(start()) == asked_by_name(start())
    asking = adopted("def f(x):\n    return h(x * 2)[0]", h=operator.methodcaller("__array__"))
    with pytest.raises(TypeError, match="gradient a plain array would cut"):
        fg.grad(asking)(start())


BY_PLACE = {
    "clip": lambda x, y: np.clip(x, 0.2, 1.5, y),
    "itself": lambda x, y: np.clip(y, 0.2, 1.5, np.copyto(y, x * x) or y),
    "mean": lambda x, y: np.mean(np.outer(x, x), 0, None, y),
    "median": lambda x, y: np.median(np.outer(x, x), 0, y),
    "round": lambda x, y: np.round(x, 1, y),
    "cumsum": lambda x, y: np.cumsum(x, 0, None, y),
    "take": lambda x, y: np.take(x, [2, 0, 1], 0, y),
    "ufunc": lambda x, y: np.multiply(x, x[::-1], y),
    "concatenate": lambda x, y: np.concatenate([x[1:], x[:1]], 0, y),
    "method sum": lambda x, y: np.outer(x, x).sum(0, None, y),
    "method clip": lambda x, y: (x * 2).clip(0.3, 1.5, y),
    "method of stored": lambda x, y: (y + x).std(0, None, y[:1].reshape(())),
}


@pytest.mark.filterwarnings(
    "ignore:.*rounded:UserWarning", "ignore:the output does not:UserWarning"
)
@pytest.mark.parametrize("name", BY_PLACE)
def test_results_are_written_into_an_array_given_by_place(name):
    def f(x):
        y = np.zeros(3)
        BY_PLACE[name](x, y)
        return y * (1 + x)

    x = np.array([0.1, 0.52, 2.03])
    for called in (f, fg.jit(f), lambda x: fg.vmap(f)(np.stack([x, x]))[1]):
        np.testing.assert_allclose(called(x), f(x), rtol=1e-12)
    differences = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(fg.jacobian(f)(x), np.transpose(differences), rtol=1e-7, atol=1e-8)


# -- arguments that are not differentiated, within another trace --------------------------------------
class Data(NamedTuple):
    y: Any


def _of_array(k, y):
    a = np.log(y) * k
    a[0] = 0
    return a.sum()


def _of_container(k, data):
    a = np.log(data["y"] if isinstance(data, dict) else data[0]) * k
    a[0] = 0
    return a.sum()


def _written(k, y):
    y[0] = 5.0
    return (np.log(y) * k).sum()


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fg.jit(fg.grad(f)),
        lambda f: lambda k, y: fg.jit(fg.value_and_grad(f))(k, y)[1],
        lambda f: fg.jit(fg.jacfwd(f)),
        lambda f: fg.jit(fg.jacrev(f)),
        lambda f: (
            lambda k, y: fg.vmap(fg.grad(fg.adopt(f)), in_axes=(0, None))(np.array([k]), y)[0]
        ),
        lambda f: lambda k, y: fg.jit(lambda k, y: fg.grad(lambda k: f(k, y))(k))(k, y),
        lambda f: lambda k, y: fg.jit(fg.grad(lambda k, *, data: f(k, data)))(k, data=y),
    ],
)
def test_what_is_computed_from_arguments_that_are_not_differentiated_can_be_written(transform):
    y = np.array([1.5, 2.0, 3.0])
    for given in (y, {"y": y}, [y], Data(y)):
        f = _of_array if given is y else _of_container
        np.testing.assert_allclose(transform(f)(1.3, given), np.log(6.0))
    np.testing.assert_allclose(transform(_written)(1.3, y), np.log(30.0))
    np.testing.assert_array_equal(y, [1.5, 2.0, 3.0])


@pytest.mark.parametrize("transform", [lambda gradient: gradient, fg.jit])
def test_arrays_of_outside_that_are_not_differentiated_can_be_written(transform):
    def f(x, state, scale):
        state += x * x
        scale *= state
        return fnp.sum(state * scale)

    state, scale = fnp.ones(2), fnp.arange(3.0)[1:]
    gradient = transform(fg.grad(f))
    for _ in range(2):
        slope = gradient(np.array([1.0, 2.0]), state, scale=scale)
        np.testing.assert_allclose(slope, [8.0, 80.0])
    np.testing.assert_array_equal(state, [1.0, 1.0])
    np.testing.assert_array_equal(scale, [1.0, 2.0])


def test_batched_arguments_that_are_not_differentiated_can_be_written():
    ys = np.array([[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mapped = fg.vmap(fg.grad(_of_array), in_axes=(None, 0))
    for run in (mapped, fg.jit(mapped)):
        np.testing.assert_allclose(run(1.3, ys), np.log([6.0, 30.0]))


LEGACY = np.random.RandomState(0)


def test_rows_are_shuffled_by_a_generator_from_outside():
    def f(x):
        a = np.zeros((4, 2))
        a[:] = np.outer(np.arange(1.0, 5.0), [x, x * x])
        LEGACY.shuffle(a)
        return np.sum(a * np.arange(8.0).reshape(4, 2))

    state = LEGACY.get_state()
    plain = f(1.3)
    LEGACY.set_state(state)
    assert fg.jvp(fg.adopt(f), (1.3,), (1.0,))[0] == plain


TUPLES_OF_OUT = {
    "one": "a = np.zeros(3)\nnp.add(x, 1, out=(a,))\nreturn a * x",
    "the operand": "a = x * 1\nnp.sin(a, out=(a,))\nreturn a * x",
    "reduce": "a = np.zeros(3)\nnp.add.reduce(np.stack([x, x * x]), axis=0, out=(a,))\nreturn a * x",
    "outer": "a = np.zeros((3, 3))\nnp.multiply.outer(x, x, out=(a,))\nreturn a.sum(0)",
    "two": "q, r = np.zeros(3), np.zeros(3)\nnp.divmod(3 * x, 0.7, out=(q, r))\nreturn q + r * x",
    "one of two": "q = np.zeros(3)\n_, r = np.divmod(3 * x, 0.7, out=(q, None))\nreturn q + r * x",
    "frexp": "m, e = np.zeros(3), np.zeros(3, int)\nnp.frexp(3 * x, out=(m, e))\nreturn m * e",
    "at": "a = x * 1\nnp.maximum.at(a, [1, 1, 2], [0.5, 0.2, x[0]])\nreturn a",
}


@pytest.mark.parametrize("name", TUPLES_OF_OUT)
def test_ufuncs_write_into_a_tuple_of_arrays(name):
    # The tuple became an array of its own, and what was written there was lost.
    f = adopted(f"def f(x):\n{textwrap.indent(TUPLES_OF_OUT[name], '    ')}")
    x = np.array([0.3, -0.65, 1.2])
    np.testing.assert_allclose(fg.jit(f)(x), f(x.copy()))
    np.testing.assert_allclose(fg.jvp(f, (x,), (x,))[0], f(x.copy()))
    fg.check_grads(lambda x: np.sum(f(x)), (x,))


def test_arrays_of_numbers_are_written_to_files(tmp_path):
    a = np.arange(6.0).reshape(2, 3)

    def f(x):
        b = np.arange(6.0).reshape(2, 3)
        assert b.tobytes(order="F") == a.tobytes("F")
        assert pickle.loads(b.dumps()).tolist() == a.tolist()
        b.tofile(tmp_path / "numbers")
        b.dump(tmp_path / "pickle")
        return x * np.fromfile(tmp_path / "numbers").sum()

    assert fg.grad(f)(2.0) == 15.0
    assert pickle.loads((tmp_path / "pickle").read_bytes()).tolist() == a.tolist()

    def traced(x):
        b = np.zeros(2)
        b[0] = x
        b.tofile(tmp_path / "traced")
        return x

    with pytest.raises(TypeError, match="tofile: expected numbers, but got traced values"):
        fg.grad(traced)(2.0)


def test_bytes_of_traced_values_are_told_of():
    found = {}

    def f(x, kept):
        a = np.zeros(2)
        a[1] = fg.stop_gradient(x) if kept else x
        return x * found.setdefault(np.asarray(a, dtype=float).tobytes(), 3.0)

    assert fg.grad(f)(2.0, True) == 3.0
    assert found == {np.array([0.0, 2.0]).tobytes(): 3.0}
    with pytest.raises(TypeError, match=r"have no bytes: .* leave out the cache"):
        fg.grad(f)(2.0, False)


def test_iteration_makes_one_entry_after_the_other(monkeypatch):
    """`numpy.iterable`, which SciPy asks of every array, asks for none."""
    counted = []
    entry = array_methods.get_item
    monkeypatch.setattr(
        array_methods, "get_item", lambda *given: counted.append(given[1]) or entry(*given)
    )
    f = adopted(
        """
def f(x):
    y = np.zeros(3) + x
    assert np.iterable(y) and np.iterable(x)
    first = next(iter(y))
    return first * np.sum(x)
"""
    )
    assert fg.grad(f)(np.array([2.0, 3.0, 4.0])).tolist() == [11.0, 2.0, 2.0]
    assert counted == [0]
    f = adopted(
        """
def f(x):
    y, total = np.zeros(3) + x, 0.0
    for k, entry in enumerate(y):
        y[2] = 5.0 * x[0]
        total = total + k * entry
    return total
"""
    )
    assert fg.grad(f)(np.array([2.0, 3.0, 4.0])).tolist() == [10.0, 1.0, 0.0]
    with pytest.raises(TypeError, match=r"^iter\(\): expected an array, but got one number; write"):
        fg.grad(lambda x: sum(iter(x)))(2.0)


class Absorbing:
    """A zero that NumPy leaves operators to, and that is no array."""

    __array_ufunc__ = None

    def __array__(self, *args, **kwargs):
        raise TypeError("no array")

    def __add__(self, other):
        return other

    def __mul__(self, other):
        return self

    __radd__, __rmul__ = __add__, __mul__


def test_operators_are_left_to_a_class_without_ufuncs():
    zero = Absorbing()

    def f(x):
        y = np.sin(np.array([x, 2.0]))
        assert type(y * zero) is Absorbing
        assert type(np.ones(2) * zero) is Absorbing
        return (y + zero + (y * zero) + (zero + y)).sum()

    for g in (f, fg.jit(f)):
        assert fg.grad(g)(0.7) == pytest.approx(2.0 * np.cos(0.7), rel=1e-12)


@pytest.mark.parametrize("number", [0.0, -0.0, 2.5, np.nan, 3])
def test_stores_into_large_arrays_of_one_number(number):
    def f(x):
        a = np.full((100, 200), number)
        a[:, 3] = x
        a[7] += 1
        return a

    x = np.linspace(1.0, 2.0, 100)
    jitted = fg.jit(f)
    for _ in range(4):
        found = jitted(x)
        np.testing.assert_array_equal(found, f(x))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(f(x)))
        found[:] = 5  # no memory is shared with the next result

    if number == 3:  # whole numbers have no slope
        return

    def loss(x):
        return np.nansum(f(x) ** 2)

    slope = 2 * (x + (np.arange(100) == 7))
    np.testing.assert_allclose(fg.grad(loss)(x), slope)
    np.testing.assert_allclose(fg.jit(fg.grad(loss))(x), slope)


def test_a_large_array_of_one_number_is_not_kept_in_programs():
    def f(x):
        a = np.zeros((100, 200))
        a[:, 3] = x
        return a

    nodes = fg.trace(f, np.ones(100)).graph.values()
    assert max([node.value.nbytes for node in nodes if node.op.name == "constant"]) <= 8


@pytest.mark.parametrize("dtype", [">f8", "f4", complex, bool])
def test_a_large_array_of_one_number_keeps_its_dtype(dtype):
    def f(x):
        a = np.zeros((100, 200), dtype)
        a[:, 3] = x
        return a

    x = np.linspace(1.0, 2.0, 100)
    assert fg.jit(f)(x).dtype == f(x).dtype
    np.testing.assert_array_equal(fg.jit(f)(x), f(x))


OF_ENTRIES = {
    "array": lambda a: np.array(a.flat)[1] * a[0, 0],
    "asarray": lambda a: np.asarray(a.T.flat, float)[1] * a[1, 0],
    "store": lambda a: store_entries(a).prod(),
    "norm": lambda a: np.linalg.norm(a.flat),
    "stack": lambda a: np.stack([a.flat, 2 * a.ravel()]).prod(),
}


def store_entries(a):
    made = np.zeros((4, 1))
    made[:, 0] = a.flat
    return made


@pytest.mark.parametrize("f", OF_ENTRIES.values(), ids=OF_ENTRIES)
def test_entries_in_one_axis_are_an_array_where_numpy_makes_one(f):
    def of_written(x):
        a = np.zeros((2, 2))
        a[:] = x
        return f(a) + f(x)

    x = np.array([[1.5, 2.0], [0.5, 3.0]])
    steps = 1e-6 * np.eye(4).reshape(4, 2, 2)
    slopes = [(of_written(x + step) - of_written(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(fg.grad(of_written)(x).ravel(), slopes, rtol=1e-7)
    assert fg.jit(of_written)(x) == pytest.approx(of_written(x), rel=1e-14)


def test_the_buffer_of_an_array_with_traced_values_is_a_view():
    def f(x):
        a = np.array([x, 2 * x, 3.0])
        values = np.asarray(a.data) if hasattr(a, "data") else a
        total = values[1] * a.data[0] + sum(a.data.tolist()) + a.data.nbytes
        a.data[0] = 5 * x
        return total + a[0]

    x = 0.7
    assert fg.grad(f)(x) == pytest.approx(4 * x + 8)
    assert fg.jit(f)(x) == pytest.approx(f(x))
