"""nanmedian and nanquantile: by order, without what is no number."""

import numpy as np
import pytest

import funcgrad as fg

X = np.array([[0.3, np.nan, 1.9, -2.0], [np.nan, 0.1, 0.5, 4.0], [np.nan, np.nan, 1.0, np.nan]])
CALLS = {
    "nanmedian": np.nanmedian,
    "nanmedian along": lambda x: np.nanmedian(x, axis=1),
    "nanmedian kept": lambda x: np.nanmedian(x, axis=0, keepdims=True),
    "nanquantile": lambda x: np.nanquantile(x, 0.3),
    "nanquantile along": lambda x: np.nanquantile(x, [0.2, 0.9], axis=1, keepdims=True),
    "nanpercentile": lambda x: np.nanpercentile(x, 40, axis=1, method="midpoint"),
    "nanpercentile of its own array": lambda x: np.nanpercentile(
        x.copy(), 30, axis=0, overwrite_input=True
    ),
    "nanquantile by place": lambda x: np.nanquantile(x, [0.1, 0.7], axis=-1, method="higher"),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys_and_derivatives_hold(name):
    f = CALLS[name]
    np.testing.assert_array_equal(fg.jit(f)(X), f(X))
    np.testing.assert_array_equal(fg.vmap(f)(np.stack([X, 2 * X])), np.stack([f(X), f(2 * X)]))
    assert fg.jit(f)(X.astype(np.float32)).dtype == f(X.astype(np.float32)).dtype
    h, slope = 1e-6, fg.jacobian(f)(X)
    for i in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[i] = h
        np.testing.assert_allclose(
            slope[(..., *i)], (f(X + step) - f(X - step)) / (2 * h), atol=1e-8
        )
    np.testing.assert_array_equal(fg.jacfwd(f)(X), slope)


def test_no_number_at_all():
    x = np.array([np.nan, np.nan])
    assert np.isnan(fg.jit(np.nanmedian)(x))
    assert fg.grad(np.nanmedian)(x).tolist() == [0.0, 0.0]


def test_the_derivative_in_the_share():
    x = np.array([3.0, np.nan, 1.0, 7.0])
    assert fg.grad(lambda q: np.nanquantile(x, q))(0.25) == 4.0
    assert fg.grad(lambda q: np.quantile(x[[0, 2, 3]], q))(0.75) == 8.0
    assert fg.grad(lambda q: np.percentile(x[[0, 2, 3]], q))(75.0) == 0.08


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "median_unbiased", "normal_unbiased", "linear", "lower", "higher"),
    *("midpoint", "nearest"),
)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_quantile(method):
    x = np.array([[0.3, 0.7, 1.9, -2.0, 1.1], [1.0, 0.1, 0.5, 4.0, 0.2]])
    shares = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.71, 1.0])
    f = lambda x: np.quantile(x, shares, axis=1, method=method)  # noqa: E731
    np.testing.assert_allclose(fg.jit(f)(x), f(x), rtol=1e-15)
    fg.check_grads(f, (x,), order=1)


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_a_mask_without_an_initial_value_is_refused(name, dtype):
    with pytest.raises(ValueError, match=f"{name}: expected an initial value"):
        fg.grad(
            lambda x: x + getattr(np, name)(np.full(3, x).astype(dtype), where=np.eye(3)[0] > 0)
        )(1.0)
