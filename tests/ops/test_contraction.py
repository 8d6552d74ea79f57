"""Arguments of `numpy.einsum` and of transposes beside the operands."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads

A = np.linspace(-1.0, 1.5, 24).reshape(2, 3, 4)
V = np.linspace(0.5, 1.5, 4)

OPTIONS = [
    {"order": "C"},
    {"order": "K", "dtype": float},
    {"order": "A", "casting": "no"},
    {"dtype": np.float32, "casting": "same_kind"},
    {"optimize": True, "dtype": None},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_einsum_takes_numpys_options(options):
    def f(a):
        return np.einsum("ijk,k->ji", a, V, **options)

    found = fg.jit(f)(A)
    assert found.dtype == f(A).dtype
    np.testing.assert_allclose(found, f(A), rtol=1e-6)
    weights = np.cos(np.arange(6.0)).reshape(3, 2)
    slope = np.einsum("ji,k->ijk", weights, V)
    for derivative in (fg.grad, lambda f: fg.grad(fg.adopt(f)), lambda f: fg.jit(fg.grad(f))):
        gradient = derivative(lambda a: np.sum(weights * f(a)))(A)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)
    assert np.isclose(fg.jvp(lambda a: np.sum(weights * f(a)), (A,), (A,))[1], np.sum(slope * A))
    np.testing.assert_allclose(fg.vmap(f)(np.stack([A, 2 * A]))[1], f(2 * A), rtol=1e-6)


def test_einsum_refuses_what_numpy_refuses():
    with pytest.raises(TypeError, match="cannot cast operands from float64 to float32"):
        fg.grad(lambda a: np.einsum("ijk->", a, dtype=np.float32))(A)
    with pytest.raises(TypeError, match="einsum: expected no order 'F'"):
        fg.grad(lambda a: np.einsum("ijk,k->ij", a, V, order="F").sum())(A)


@pytest.mark.parametrize("axes", [np.array([2, 0, 1]), [2, 0, 1], (-1, 0, 1), (), None])
@pytest.mark.parametrize("stored", [False, True])
def test_axes_of_a_transpose_may_be_an_array(axes, stored):
    given = () if axes is not None and len(axes) == 0 else (axes,)

    def f(a):
        made = np.zeros(a.shape) if stored else a
        if stored:
            made[...] = a
        turned = made.transpose(*given)
        return np.sum(np.sin(turned) * np.arange(24.0).reshape(turned.shape))

    check_grads(f, (A,))
