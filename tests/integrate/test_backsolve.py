"""The continuous adjoint of odeint beside the discrete one, which follows the accepted steps."""

import numpy as np
import pytest

import funcgrad as fg

TIMES = np.array([0.1, 0.5, 0.5, 2.0])
MATRIX = np.array([[-0.3, 1.0], [-1.0, 0.1]])


def energy(y0, t, k, adjoint):
    y = fg.odeint(lambda y, t, k: -k * y * t, y0, t, k, rtol=1e-9, atol=1e-11, adjoint=adjoint)
    return np.sum(y**2)


def test_gradient_in_state_times_and_parameter():
    for times in (TIMES, TIMES[::-1]):
        args = (1.3, times, 0.7)
        assert energy(*args, "backsolve") == energy(*args, "discrete")
        got = fg.grad(lambda *a: energy(*a, "backsolve"), (0, 1, 2))(*args)
        # y = y0*exp(k*(t0**2 - t**2)/2)
        want = fg.grad(lambda y0, t, k: np.sum(y0**2 * np.exp(k * (t[0] ** 2 - t**2))), (0, 1, 2))(
            *args
        )
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_under_jit_and_vmap():
    def loss(k):
        return energy(1.3, TIMES, k, "backsolve")

    rates = np.array([0.3, 0.7])
    want = [fg.grad(lambda k: energy(1.3, TIMES, k, "discrete"))(k) for k in rates]
    np.testing.assert_allclose(fg.vmap(fg.grad(loss))(rates), want, rtol=1e-6)
    np.testing.assert_allclose([fg.jit(fg.grad(loss))(k) for k in rates], want, rtol=1e-6)


@pytest.mark.slow
def test_captured_arrays_complex_trees_and_stiff_methods():
    def size(a, adjoint, method):
        y0 = {"x": np.array([1.0, 0.5j]), "count": np.arange(2.0)}
        y = fg.odeint(
            lambda y, t: {"x": a @ y["x"], "count": -y["count"]},
            y0,
            TIMES,
            adjoint=adjoint,
            method=method,
        )
        return np.sum(np.abs(y["x"]) ** 2) + np.sum(y["count"])

    want = fg.grad(lambda a: size(a, "discrete", "RK45"))(MATRIX)
    for method in ("RK45", "Rodas5P"):
        got = fg.grad(lambda a, m=method: size(a, "backsolve", m))(MATRIX)
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_an_adjoint_that_does_not_exist():
    with pytest.raises(ValueError, match="'discrete' or 'backsolve'"):
        energy(1.0, TIMES, 1.0, "continuous")
