"""The few names of funcgrad.numpy that are not NumPy's own."""

import importlib

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

KINDS = ["float64", "float32", "float16", "complex128", "complex64"]


@pytest.mark.parametrize("name", KINDS)
def test_a_dtype_converts_expressions_and_is_a_dtype(name):
    kind, theirs = getattr(fnp, name), getattr(np, name)
    assert type(kind(2)) is theirs
    assert kind() == 0
    assert isinstance(theirs(1), kind)
    assert issubclass(theirs, kind)
    assert not isinstance(1, kind)
    assert fnp.zeros(2, kind).dtype == np.dtype(kind) == theirs
    assert np.dtype(theirs) == kind
    assert fnp.finfo(kind).eps == np.finfo(theirs).eps
    assert kind(fg.var("x", 2)).dtype == theirs
    assert fg.grad(lambda x: abs(kind(x) * 3))(2.0) == 3.0


@pytest.mark.parametrize("name", ["int64", "int32", "int8", "uint8", "intp", "int_", "longlong"])
def test_an_integer_type_converts_expressions_and_is_a_dtype(name):
    kind, theirs = getattr(fnp, name), getattr(np, name)
    assert type(kind(2)) is theirs
    assert kind() == 0
    assert isinstance(theirs(1), kind)
    assert issubclass(theirs, kind)
    assert not isinstance(1, kind)
    assert fnp.zeros(2, kind).dtype == np.dtype(kind) == theirs
    assert np.dtype(theirs) == kind
    assert np.issubdtype(kind, np.integer)
    assert fnp.iinfo(kind).max == np.iinfo(theirs).max
    assert {kind: 1}[theirs] == 1
    assert kind(fg.var("x", 2)).dtype == theirs


def test_an_integer_of_a_traced_value_is_an_index():
    def f(x):
        place, table = np.int64(np.floor(x[0])), np.zeros(4)
        table[place] = x[2]
        return np.sum(table) * x[np.intp(x[1])] + place * x[0]

    point = np.array([1.5, 2.2, 3.0])
    for gradient in (fg.grad(f), fg.grad(fg.adopt(f)), fg.jit(fg.grad(f))):
        np.testing.assert_array_equal(gradient(point), [1.0, 0.0, 6.0])


def test_an_array_is_copied_in_numpys_copy_modes():
    modes = type(np._CopyMode.IF_NEEDED)
    for mode in (True, None, modes.ALWAYS, modes.IF_NEEDED):
        gradient = fg.grad(lambda x, mode=mode: np.sum(fnp.array(x, copy=mode) ** 2))
        np.testing.assert_array_equal(gradient(np.array([1.0, 2.0])), [2.0, 4.0])
    given = fnp.array([1.0, 2.0])
    assert fnp.array(given, copy=modes.IF_NEEDED) is given
    assert fnp.array(given, copy=modes.ALWAYS) is not given


@pytest.mark.parametrize(
    "made",
    [
        lambda x: np.array(object=[x, 1.0]),
        lambda x: np.asarray(a=[x, 1.0], dtype=float),
        lambda x: np.asanyarray(a=[x, 1.0]),
        lambda x: np.ascontiguousarray(a=[x, 1.0]),
        lambda x: np.asfortranarray(a=[x, 1.0]),
        lambda x: np.asarray_chkfinite(a=[x, 1.0]),
        lambda x: x * np.eye(N=3, M=int(x), k=int(x) - 1, dtype=x.dtype),
        lambda x: x * np.eye(int(x), int(x) + 1),
        lambda x: x * np.identity(n=int(x)),
        lambda x: x + np.zeros(shape=[2, int(x)], order="F"),
        lambda x: x + np.zeros(2, dtype=[("a", float)])["a"],
        lambda x: x + np.ones(2, like=np.array([x])),
    ],
)
def test_arguments_have_numpys_names(made):
    def f(x):
        return np.sum(np.sin(made(x)))

    x, h = np.float64(2.3), 1e-6
    slope = (f(x + h) - f(x - h)) / (2 * h)
    for derivative in (fg.grad(fg.adopt(f)), fg.jit(fg.grad(fg.adopt(f)))):
        assert derivative(x) == pytest.approx(slope, rel=1e-8)
    assert fg.adopt(f)(x) == f(x)


@pytest.mark.parametrize("name", ["fft", "linalg", "ma", "polynomial", "random"])
def test_modules_of_numpy_are_imported_by_their_names(name):
    found = importlib.import_module(f"funcgrad.numpy.{name}")
    assert found is getattr(fnp, name)
    assert set(dir(getattr(np, name))) <= {*dir(found), "test"}


def test_numpys_random_module_under_its_name_is_differentiated():
    import funcgrad.numpy.random as npr

    def draw(scale):
        npr.seed(0)
        return npr.normal(1.0, scale)

    assert fg.grad(draw)(2.0) == np.random.RandomState(0).normal()


def test_arrays_of_symbols_are_expressions_to_what_reads_expressions():
    x, y = fg.vars("x y")
    made = fnp.array([[x, y], [y, x]])
    held = fg.const(made)
    for read in (
        fg.simplify,
        fg.to_python,
        fg.to_json,
        fg.to_latex,
        fg.to_dot,
        fg.edges,
        fg.backprop,
    ):
        assert repr(read(made)) == repr(read(held))
    assert repr(fg.substitute(made, x=1.0)) == "array([[1, y], [y, 1]])"
    for read in (fg.table, fg.to_svg):
        assert repr(read(made, x=1.0, y=2.0)) == repr(read(held, x=1.0, y=2.0))
    assert fg.gradient(fnp.array(x**2), x).key == fg.gradient(x**2, x).key
    with pytest.raises(TypeError, match="simplify: expected an expression, but got ndarray"):
        fg.simplify(fnp.array([1.0, 2.0]))


def test_float64_is_a_dtype():
    assert fnp.zeros(3, dtype=fnp.float64).dtype == np.float64
    assert isinstance(np.float64(1), fnp.float64)
    assert not isinstance(1.0, fnp.float64)
    assert issubclass(np.float64, fnp.float64)
    assert np.ones(2, np.float32).astype(fnp.float64).dtype == np.float64
    assert fnp.finfo(fnp.float64).eps == np.finfo(float).eps
    assert type(fnp.float64(2)) is np.float64
    assert fg.grad(lambda x: fnp.float64(x) ** 2)(np.float32(3.0)) == 6.0


@pytest.mark.parametrize("kind", ["complex128", "complex64"])
def test_a_complex_number_is_made_of_its_parts(kind):
    for parts in ((1.0, -0.0), (np.inf, np.nan), (2, 3)):
        assert repr(getattr(fnp, kind)(*parts)) == repr(getattr(np, kind)(*parts))
    f = lambda x: (getattr(np, kind)(x, 2 * x) ** 2).imag  # noqa: E731
    assert fg.grad(f)(3.0) == fg.jit(fg.grad(f))(3.0) == 24.0
    with pytest.raises(TypeError, match="at most 1 argument"):
        fnp.float64(1.0, 2.0)
