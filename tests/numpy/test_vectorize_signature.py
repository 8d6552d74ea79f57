"""`numpy.vectorize` with a signature: a function of arrays with core dimensions, over the other axes."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.default_slice import one_in

X = np.arange(6.0).reshape(2, 3) / 4 + 0.5

inner = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
outer = np.vectorize(lambda a, b: (np.outer(a, b), a.sum()), signature="(n),(m)->(n,m),()")


def _scaled(a, k=1.0):
    return np.sort(a) * k


scaled = np.vectorize(_scaled, signature="(n)->(n)", excluded={"k"})


def of_rows(x):
    return (inner(x, x[0]) * np.array([1.0, 3.0])).sum()


def of_two_results(x):
    first, second = outer(x[:, None], x[:, :2])
    return (first**2).sum() + (second**3).sum()


def of_an_excluded_argument(x):
    made = scaled(-x * 1.0, k=x[0, 0])
    made[0, 0] = x[1, 1]
    return (made * x).sum()


def of_captured_values(x):
    weighted = np.vectorize(lambda a: a @ x[1], signature="(n)->()")
    return (weighted(np.eye(3)) ** 2).sum()


def of_captured_values_with_types(x):
    curve = np.vectorize(lambda a, b: x[0, 1] * a if a > b else 0.0, otypes=[float])
    pair = np.vectorize(lambda a: (x[1, 0] ** a, a), otypes="df")

    @np.vectorize(otypes=[float])
    def decorated(a):
        return x[1, 2] * a

    return curve(np.arange(3), 0.5).sum() ** 2 + pair(np.arange(3))[0].sum() + decorated(2.0)


def of_objects(x):
    pairs = np.vectorize(lambda a, b: (a * b, a + b), otypes=[object])(x, x[0, 0])
    lists = np.vectorize(lambda a: [a, a**3], otypes=[np.ndarray])(x[0])
    mixed = np.vectorize(lambda a: (a, np.array([a, a * a])), otypes=[float, object])(x[1])
    return np.prod(np.array(pairs.tolist())[1]) + lists[1][1] * mixed[1][2][1] + mixed[0].sum()


def slope_by_differences(f, h=1e-3):
    slope = np.zeros(X.shape)
    for place in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[place] = h
        moved = [f(X + n * step) - f(X - n * step) for n in (1, 2, 3)]
        slope[place] = (45 * moved[0] - 9 * moved[1] + moved[2]) / (60 * h)
    return slope


@pytest.mark.parametrize(
    "f",
    [
        *one_in(2, [of_rows, of_two_results, of_an_excluded_argument, of_captured_values]),
        of_captured_values_with_types,
        of_objects,
    ],
)
def test_derivatives_are_differences(f):
    expected, gradient = slope_by_differences(f), fg.grad(f)
    np.testing.assert_allclose(gradient(X), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,)), [f(X), (expected * X).sum()], rtol=1e-8)
    np.testing.assert_allclose(fg.jit(gradient)(X), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.vmap(gradient)(np.stack([X, X]))[1], gradient(X), rtol=1e-12)
    curvature = slope_by_differences(lambda x: gradient(x).sum())
    second = fg.grad(lambda x: gradient(x).sum())(X)
    np.testing.assert_allclose(second, curvature, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: inner(x, x[:, :2]), "inconsistent size for core dimension 'n': 2 vs 3"),
        (lambda x: inner(x, x[0, 0]), "does not have enough dimensions"),
        (lambda x: outer(x, x[0] * 1.0, x), "positional arguments"),
        (lambda x: np.vectorize(lambda a: a, signature="(n)->(),()")(x), "number of outputs"),
        (lambda x: np.vectorize(lambda a: (a, a), otypes="d")(x), "array element with a sequence"),
        (lambda x: np.vectorize(lambda a: a * 1j, otypes=[float])(x), "real number"),
        (
            lambda x: np.vectorize(lambda a: a if a < 0.6 else a * 1j)(x),
            "real number, not|expected numbers, but got an expression",
        ),
    ],
)
def test_what_numpy_refuses_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(X)
    with pytest.raises((TypeError, ValueError), match=message):
        fg.grad(lambda x: np.sum(call(x)))(X)


@pytest.mark.parametrize("options", [{}, {"otypes": [int]}, {"signature": "()->()"}])
def test_results_have_the_type_that_numpy_gives_them(options):
    # NumPy casts all results to the type of the first.
    def f(x):
        return (
            x
            * np.vectorize(lambda v: 0 if v < 0 else v * v, **options)(np.array([-x, 3 * x])).sum()
        )

    assert fg.value_and_grad(f)(0.7) == (f(0.7), 4.0)


def test_no_entries_have_the_given_types():
    def f(x):
        squares = np.vectorize(lambda v: v * v, otypes=[float])(np.array([x])[1:])
        pairs = np.vectorize(lambda v: (v, v), otypes="df")(np.array([x])[1:])
        return x * (squares.sum() + squares.dtype.itemsize + pairs[1].dtype.itemsize)

    assert fg.grad(f)(3.0) == 12.0


def test_an_error_of_the_function_is_raised_at_its_first_run():
    calls = []

    def counted(a):
        calls.append(a)
        if a > 2:
            raise TypeError("a > 2")
        return a * 2.0

    with pytest.raises(TypeError, match="a > 2"):
        fnp.vectorize(counted, otypes=[float])(np.arange(4))
    assert calls == [0, 1, 2, 3]


def test_a_vectorized_function_may_return_dicts_of_traced_values():
    def described(x):
        pairs = np.vectorize(lambda k: (k * x, {"square": k * x**2}))(np.arange(1, 3))
        return pairs[0].sum() + pairs[1][1]["square"]

    assert fg.grad(described)(3.0) == 15.0
    assert fg.jit(described)(3.0) == described(3.0)
