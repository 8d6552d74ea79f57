"""A check of a function of one array: the value is SciPy's, and derivatives are central differences."""

import numpy as np

import funcgrad as fg
from tests.default_slice import Run


def check_function(f, x, *, vmap=True, rtol=2e-6, value_rtol=0.0, hessian=True):
    """Compare the value, both modes, the second order, jit and vmap of f at x with f of plain values.

    Values are the plain ones up to ``value_rtol``; those of jit and vmap are rounded otherwise.
    """
    x = np.asarray(x, float)
    expected = np.asarray(f(x))
    assert expected.dtype.kind in "fc"
    assert np.all(np.isfinite(expected))
    value, back = fg.vjp(f, x)
    np.testing.assert_allclose(value, expected, rtol=value_rtol, atol=value_rtol)
    compiled = {"rtol": max(value_rtol, 1e-12), "atol": max(value_rtol, 1e-13)}
    np.testing.assert_allclose(fg.jit(f)(x), expected, **compiled)
    if vmap:
        rows = fg.vmap(f)(np.stack([x, x]))
        np.testing.assert_allclose(rows, np.stack([expected] * 2), **compiled)
    for phase in (1.0, 0.7):
        along = np.cos(phase + np.arange(x.size)).reshape(x.shape)
        slope = _differences(f, x, along, 1e-3)
        forward = fg.jvp(f, (x,), (along,))[1]
        scale = np.max(np.abs(slope), initial=1e-3)
        np.testing.assert_allclose(forward, slope, rtol=rtol, atol=rtol * scale)
        weight = np.sin(phase + np.arange(expected.size)).reshape(expected.shape)
        weight = weight.astype(expected.dtype)
        found, wanted = np.vdot(along, back(weight)[0]), np.real(np.sum(weight * forward))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * scale)
        if not hessian or (phase < 1 and Run.leaves_slow_out):  # one direction has all entries
            continue
        slope_of = fg.grad(lambda x, w=weight: np.sum(np.sin(np.real(w * f(x)))))
        second = fg.jvp(slope_of, (x,), (along,))[1]
        # Compiled, since it is traced once.
        wanted = _differences(fg.jit(slope_of), x, along, 1e-4)
        scale = np.max(np.abs(wanted), initial=1e-2)
        np.testing.assert_allclose(second, wanted, rtol=10 * rtol, atol=10 * rtol * scale)
        again = fg.grad(lambda x, v=along, g=slope_of: np.sum(v * g(x)))(x)
        np.testing.assert_allclose(again, second, rtol=1e-6, atol=1e-7 * scale)


def _differences(f, x, along, h):
    near = [np.asarray(f(x + s * h * along)) for s in (1, -1, 2, -2)]
    return (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
