"""Values, shapes and dtypes are plain NumPy's, and gradients have the argument's."""

import numpy as np
import pytest
from scipy import special

import funcgrad as fg

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
V = np.array([1.0, -2.0, 0.5])

FUNCTIONS = {
    "sum": lambda x: np.sum(x),
    "sum axis": lambda x: np.sum(x, axis=0),
    "sum keepdims": lambda x: np.sum(x, axis=-1, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1),
    "var": lambda x: np.var(x, axis=0, ddof=1),
    "std": lambda x: np.std(x),
    "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.min(x),
    "prod": lambda x: np.prod(x, axis=(0, 1)),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "diff": lambda x: np.diff(x, axis=1),
    "sort": lambda x: np.sort(x, axis=1),
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "where": lambda x: np.where(x > 0, x, 2 * x),
    "reshape": lambda x: np.reshape(x, (3, -1)),
    "ravel": lambda x: x.ravel(),
    "transpose": lambda x: x.T @ x,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x[None], 0, -1),
    "expand": lambda x: np.expand_dims(x, (0, 2)),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 2, axis=1),
    "roll flat": lambda x: np.roll(x, -1),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "tile": lambda x: np.tile(x, (2, 1)),
    "concatenate": lambda x: np.concatenate([x, x * 2], axis=1),
    "stack": lambda x: np.stack([x, V * x], axis=1),
    "vstack": lambda x: np.vstack([x, V]),
    "hstack": lambda x: np.hstack([x, x]),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "append": lambda x: np.append(x, V),
    "split": lambda x: np.split(x, 3, axis=1)[1],
    "broadcast_to": lambda x: np.broadcast_to(x, (4, 2, 3)),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2))),
    "diag": lambda x: np.diag(x[0]),
    "diagonal": lambda x: np.diagonal(x, 1),
    "trace": lambda x: np.trace(x),
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, 1),
    "take": lambda x: np.take(x, [0, 2, 2], axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "getitem": lambda x: x[1, ::-1],
    "fancy": lambda x: x[[0, 1, 0], [2, 2, 1]],
    "boolean": lambda x: x[x > 0],
    "ellipsis": lambda x: x[..., None, 0],
    "matmul": lambda x: x @ V,
    "rmatmul": lambda x: V @ x.T,
    "stacked matmul": lambda x: np.stack([x, x]) @ V,
    "dot": lambda x: np.dot(x, x.T),
    "inner": lambda x: np.inner(x, V),
    "outer": lambda x: np.outer(x[0], x[1]),
    "tensordot": lambda x: np.tensordot(x, x, axes=([0, 1], [0, 1])),
    "kron": lambda x: np.kron(x, V),
    "vdot": lambda x: np.vdot(x, x),
    "einsum": lambda x: np.einsum("ij,j->i", x, V),
    "einsum trace": lambda x: np.einsum("ii", x[:, :2]),
    "einsum ellipsis": lambda x: np.einsum("...j,j->...", x, V),
    "einsum implicit": lambda x: np.einsum("ij,jk", x, x.T),
    "einsum broadcast": lambda x: np.einsum("ij,ij->ij", x, x[:, :1]),
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda x: np.linalg.norm(x, axis=1),
    "norm 1": lambda x: np.linalg.norm(x[0], 1),
    "norm inf": lambda x: np.linalg.norm(x[0], np.inf),
    "norm 3": lambda x: np.linalg.norm(x, 3, axis=1),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x[0], x[1]),
    "floor divide": lambda x: x // 0.7 + x % 0.7,
    "divmod": lambda x: divmod(x, 0.7)[1] + 0.0,
    "round": lambda x: np.round(1.37 * x, 1) + np.round(x * 1.1),
    "sinc": lambda x: np.sinc(x),
    "expit": lambda x: special.expit(x),
    "logsumexp": lambda x: fg.logsumexp(x, axis=1),
    "softmax": lambda x: fg.softmax(x, axis=1),
    "iterate": lambda x: sum(row[0] for row in x),
    "builtins": lambda x: max(x[0]) + min(x[1]) + abs(x[0, 1]),
    "lists": lambda x: x * [1.0, 2.0, 3.0],
    "empty": lambda x: np.sum(x[:0]) + np.sum(x, axis=0) * 0,
    "mixed powers": lambda x: 2.0**x + x**2 + x**3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient(name):
    f = FUNCTIONS[name]
    expected = np.asarray(_plain(name)(X))
    value, pullback = fg.vjp(f, X)
    assert np.shape(value) == expected.shape
    assert np.asarray(value).dtype == expected.dtype
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal(expected.shape), rng.standard_normal(X.shape)
    h = 1e-5
    slope = (np.asarray(_plain(name)(X + h * v)) - np.asarray(_plain(name)(X - h * v))) / (2 * h)
    np.testing.assert_allclose(np.sum(pullback(w)[0] * v), np.sum(slope * w), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fg.jvp(f, (X,), (v,))[1], slope, rtol=1e-7, atol=1e-8)


def _plain(name):
    scipy_like = {
        "logsumexp": lambda x: special.logsumexp(x, axis=1),
        "softmax": lambda x: special.softmax(x, axis=1),
    }
    return scipy_like.get(name, FUNCTIONS[name])


FLOAT32 = [
    n for n in FUNCTIONS if n not in ("lists", "einsum", "inner", "rmatmul", "matmul", "stack")
]
FLOAT32 = [n for n in FLOAT32 if n not in ("vstack", "append", "kron", "stacked matmul")]


@pytest.mark.parametrize("name", [n for n in FLOAT32 if n != "einsum ellipsis"])
def test_float32_in_float32_out(name):
    x = X.astype(np.float32)
    value, pullback = fg.vjp(FUNCTIONS[name], x)
    expected = np.asarray(_plain(name)(x))
    assert np.asarray(value).dtype == expected.dtype == np.float32
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    (pulled,) = pullback(np.ones(expected.shape, np.float32))
    assert pulled.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("other", [2, 2.0, np.float32(2), np.float64(2), np.int8(2), np.ones(3)])
@pytest.mark.parametrize("op", [np.add, np.multiply, np.divide, np.maximum, np.power])
def test_promotion_is_numpys(dtype, other, op):
    x = np.ones(3, dtype)
    try:
        expected = op(x, other)
    except TypeError:
        pytest.skip("NumPy has no such loop")
    symbolic = op(fg.var("x", 3, dtype), other)
    assert symbolic.dtype == expected.dtype
    assert symbolic(x=x).dtype == expected.dtype


def test_gradient_keeps_the_dtype_of_each_argument():
    f = fg.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))
    gx, gy = f(np.ones(2, np.float32), np.full(2, 3.0))
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
def test_gradient_of_any_shape(shape):
    x = np.full(shape, 2.0)
    assert np.shape(fg.grad(lambda x: np.sum(x**3))(x)) == shape
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x**3))(x), np.full(shape, 12.0))


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2,)), ((0, 1), (1, 4))]
)
def test_broadcasting_sums_back(a, b):
    x, y = np.full(a, 2.0), np.full(b, 3.0)
    gx, gy = fg.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(x, y)
    shape = np.broadcast_shapes(a, b)
    np.testing.assert_allclose(gx, np.full(a, 3.0 * np.prod(shape) / max(np.prod(a), 1)))
    np.testing.assert_allclose(gy, np.full(b, 2.0 * np.prod(shape) / max(np.prod(b), 1)))


@pytest.mark.parametrize("how", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("index", [0, slice(1, None), (0, 1), [1, 0], np.array([False, True])])
def test_functional_update(how, index):
    def plain(x, v):
        y = x.copy()
        ufuncs = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
        y[index] = v if how == "set" else ufuncs[how](y[index], v)
        return y

    def f(x, v):
        return getattr(x.at[index], how)(v)

    np.testing.assert_allclose(fg.trace(lambda x: f(x, 0.7), X)(x=X), plain(X, 0.7))
    fg.check_grads(f, (X, 0.7))


def test_repeated_indices_add_up():
    x = np.zeros(3)
    value, pullback = fg.vjp(lambda x, v: x.at[[0, 0, 2]].add(v), x, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(value, [3.0, 0.0, 3.0])
    np.testing.assert_array_equal(pullback(np.array([1.0, 5.0, 7.0]))[1], [1.0, 1.0, 7.0])


def test_ties_share_equally():
    np.testing.assert_array_equal(fg.grad(np.max)(np.array([1.0, 1.0, 0.0])), [0.5, 0.5, 0.0])
    assert fg.grad(lambda x: np.maximum(x, x))(1.0) == 1.0
    assert fg.grad(lambda x: np.maximum(x, 1.0))(1.0) == 0.5
    assert fg.grad(lambda x: np.clip(x, 0.0, 1.0))(1.0) == 0.5
    assert fg.grad(np.abs)(0.0) == 0.0


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda z: np.real(z * z), lambda x, y: 2 * x + 2j * y),
        (lambda z: np.imag(z * z), lambda x, y: 2 * y - 2j * x),
        (lambda z: np.abs(z) ** 2, lambda x, y: 2 * x - 2j * y),
        (lambda z: np.real(np.exp(z)), lambda x, y: np.exp(x) * (np.cos(y) + 1j * np.sin(y))),
        (lambda z: np.real(np.conj(z) * z), lambda x, y: 2 * x - 2j * y),
    ],
)
def test_complex_gradient_is_dx_minus_i_dy(f, expected):
    z = 0.3 + 0.8j
    np.testing.assert_allclose(fg.grad(f)(z), expected(z.real, z.imag), rtol=1e-13)


@pytest.mark.parametrize("name", ["reduce", "inv", "fft", "interp"])
def test_a_function_without_a_rule_is_named(name):
    functions = {
        "reduce": lambda x: np.hypot.reduce(x),
        "inv": lambda x: np.sum(np.linalg.inv(x[:2, :2])),
        "fft": lambda x: np.sum(np.fft.fft(x)),
        "interp": lambda x: np.interp(x[0, 0], [0, 1], [0, 1]),
    }
    with pytest.raises(TypeError, match=f"{name}: expected a function with a derivative rule"):
        fg.grad(functions[name])(X)
