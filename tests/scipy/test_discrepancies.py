"""Discrepancies of points in the unit cube."""

import numpy as np
import pytest
from scipy.stats import qmc

import funcgrad as fg
from tests.scipy.derivative_check import check_function

POINTS = 0.1 + 0.8 * np.random.default_rng(5).random((5, 3))


@pytest.mark.parametrize("iterative", [False, True])
@pytest.mark.parametrize("method", ["CD", "WD", "MD", "L2-star"])
def test_discrepancies(method, iterative):
    f = lambda x: qmc.discrepancy(x, iterative=iterative, method=method)  # noqa: E731
    check_function(
        f, POINTS, value_rtol=1e-12, vmap=False
    )  # whether points are in the cube is asked


def test_the_discrepancy_with_a_point_more():
    first = qmc.discrepancy(POINTS[1:], iterative=True)
    f = lambda x: qmc.update_discrepancy(x[0], x[1:], first)  # noqa: E731
    check_function(f, POINTS, value_rtol=1e-12, vmap=False)
    whole = lambda x: qmc.update_discrepancy(x[0], x[1:], qmc.discrepancy(x[1:], iterative=True))  # noqa: E731
    found = fg.grad(whole)(POINTS)
    np.testing.assert_allclose(found, fg.grad(qmc.discrepancy)(POINTS), rtol=1e-12)


@pytest.mark.parametrize("method", ["mindist", "mst"])
def test_geometric_discrepancies(method):
    f = lambda x: qmc.geometric_discrepancy(x, method=method)  # noqa: E731
    check_function(f, POINTS, value_rtol=1e-14, vmap=False)
