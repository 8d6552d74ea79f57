"""The compiled functions of bottleneck in adopted code: its own versions in Python run."""

import numpy as np
import pytest

import funcgrad as fg

bn = pytest.importorskip("bottleneck")


def test_functions_of_bottleneck_are_differentiated():
    x = np.array([0.3, np.nan, 0.2, 1.4, 0.7])
    known = ~np.isnan(x)
    for f, slope in [
        (lambda x: bn.nanmean(x), known / 4),
        (lambda x: bn.nanmax(x), x == 1.4),
        (lambda x: bn.nansum(bn.move_sum(x[2:], 2)), [0, 0, 1, 2, 1]),
        (lambda x: np.sum(bn.nansum(np.stack([x, 2 * x]), axis=0) ** 2), 18 * x),
    ]:
        np.testing.assert_allclose(fg.grad(f)(x)[known], np.asarray(slope, float)[known])
        np.testing.assert_allclose(fg.jit(fg.grad(f))(x)[known], np.asarray(slope, float)[known])

    def filled(x):
        z = x * 1.0
        bn.replace(z, np.nan, 0.0)
        return np.sum(z * z)

    np.testing.assert_allclose(fg.grad(filled)(x), np.where(known, 2 * x, 0.0))
