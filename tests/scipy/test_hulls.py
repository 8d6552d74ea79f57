"""Convex hulls, triangulations, trees of traced data, alignment and means of rotations."""

import numpy as np
import pytest
import scipy.spatial
from scipy.spatial.transform import Rotation, RotationSpline

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

P = np.array(
    [
        [0.1, 0.2, -0.3],
        [1.3, -0.4, 0.6],
        [0.7, 1.5, -0.8],
        [-0.9, 0.8, 1.1],
        [0.4, -1.2, 0.9],
        [-0.6, -0.5, -1.4],
        [0.2, 0.1, 0.3],
    ]
)
HULLS = {
    "area of a polygon": lambda p: scipy.spatial.ConvexHull(p[:, :2]).volume,
    "its outline": lambda p: scipy.spatial.ConvexHull(p[:, :2]).area,
    "volume": lambda p: scipy.spatial.ConvexHull(p).volume,
    "surface": lambda p: scipy.spatial.ConvexHull(p).area,
    "planes": lambda p: scipy.spatial.ConvexHull(p).equations,
    "Delaunay's points": lambda p: scipy.spatial.Delaunay(p[:, :2]).points,
    "Delaunay's coordinates": lambda p: scipy.spatial.Delaunay(p[:5, 1:]).transform,
}
SOUGHT = {
    "KDTree": lambda p: scipy.spatial.KDTree(p).query(p + 0.1, 2)[0],
    "cKDTree of plain points": lambda p: scipy.spatial.cKDTree(p[3:]).query(P[:3], p=1)[0],
    "directed_hausdorff": lambda p: scipy.spatial.distance.directed_hausdorff(p[:3], p[3:])[0],
}


@pytest.mark.parametrize("case", one_in(5, HULLS))
def test_volumes_areas_and_planes(case):
    # Their facets are read from the values.
    check_function(HULLS[case], P, vmap=False, value_rtol=1e-12)


@pytest.mark.parametrize("case", SOUGHT)
def test_distances_to_the_nearest(case):
    check_function(SOUGHT[case], P)


def test_facets_and_simplices_are_constant():
    for f in (
        lambda p: scipy.spatial.ConvexHull(p).simplices,
        lambda p: scipy.spatial.ConvexHull(p, incremental=True).vertices,
        lambda p: scipy.spatial.Delaunay(p[:, :2]).simplices,
        lambda p: scipy.spatial.Delaunay(p[:, :2]).find_simplex(p[:2, :2] + 0.1),
        lambda p: scipy.spatial.Delaunay(P[:, :2]).find_simplex(p[:2, :2] + 0.1),
        lambda p: scipy.spatial.KDTree(p).query(P + 0.1)[1],
        lambda p: np.array(scipy.spatial.distance.directed_hausdorff(p[:3], p[3:])[1:]),
    ):
        np.testing.assert_array_equal(fg.jit(f)(P), f(P))


def vectors(p):
    return p[:3] + np.eye(3), p[3:6] * 0.2 + np.eye(3)[[1, 2, 0]]


W = np.array([1.0, 2.0, 0.5])
TURNS = {
    "align_vectors": lambda p: Rotation.align_vectors(*vectors(p))[0].as_matrix(),
    "weights": lambda p: Rotation.align_vectors(*vectors(p), W + p[0])[0].as_quat(),
    "its error": lambda p: Rotation.align_vectors(*vectors(p), W)[1],
    "its sensitivity": lambda p: Rotation.align_vectors(*vectors(p), W, return_sensitivity=True)[2],
    "an improper one": lambda p: Rotation.align_vectors(
        vectors(p)[0] * np.array([1, 1, -1]), vectors(p)[1]
    )[0].as_rotvec(),
    "one pair": lambda p: Rotation.align_vectors(p[0], p[1])[0].as_rotvec(),
    "its own error": lambda p: Rotation.align_vectors(p[0], p[1])[1],
    "one exact pair": lambda p: Rotation.align_vectors(*vectors(p), [1.0, np.inf, 2.0])[
        0
    ].as_rotvec(),
    "the error of the others": lambda p: Rotation.align_vectors(*vectors(p), [1.0, np.inf, 2.0])[1],
    "mean": lambda p: Rotation.from_rotvec(p).mean().as_rotvec(),
    "mean with weights": lambda p: Rotation.from_rotvec(0.3 * p[:3]).mean(W + p[3]).as_quat(),
    "from_davenport": lambda p: Rotation.from_davenport(
        [[1, 0, 1], [0, 2, 0]], "extrinsic", [p[1, 0], p[0, 0]]
    ).as_rotvec(),
    "from_davenport, many": lambda p: Rotation.from_davenport(
        [[1, 0, 0], [0, 0, 1], [0, 1, 0]], "intrinsic", 10 * p[:2], degrees=True
    ).as_quat(),
    "from_davenport, one": lambda p: Rotation.from_davenport([0, 0, 2], "e", p[0, 0]).as_quat(),
    "RotationSpline": lambda p: RotationSpline([0.0, 1.0, 2.5], Rotation.from_rotvec(p[:3]))(
        p[3, :2] + 1
    ).as_rotvec(),
    "its angular rate": lambda p: RotationSpline([0.0, 1.0, 2.5], Rotation.from_rotvec(p[:3]))(
        [0.3, 1.7], 1
    ),
}


@pytest.mark.parametrize("case", one_in(4, TURNS, start=1))
def test_alignment_and_means_of_rotations(case):
    asks = case.startswith(("RotationSpline", "its angular"))
    twice = case != "RotationSpline"  # below
    check_function(TURNS[case], P, vmap=not asks, value_rtol=1e-11, hessian=twice)


@pytest.mark.slow
def test_second_derivatives_of_a_spline_of_rotations():
    check_function(TURNS["RotationSpline"], P, vmap=False, value_rtol=1e-11)


def test_a_perfect_alignment_has_an_error_without_a_slope():
    a = np.eye(3)[:, [1, 2, 0]]
    slope = fg.grad(lambda a: Rotation.align_vectors(a, np.eye(3))[1])(a)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda p: scipy.spatial.ConvexHull(p[0]).volume,
            "ConvexHull: expected points in the rows",
        ),
        (
            lambda p: scipy.spatial.Delaunay(p).paraboloid_scale,
            "Delaunay: expected plain points for",
        ),
        (lambda p: scipy.spatial.KDTree(p[0]), "KDTree: expected points in the rows"),
        (
            lambda p: scipy.spatial.KDTree(p).query_pairs(1.0),
            "expected plain points for query_pairs",
        ),
        (
            lambda p: Rotation.align_vectors(p, p[:, :2])[1],
            "expected two sets of as many vectors in three",
        ),
        (
            lambda p: Rotation.align_vectors(p[0], p[1], return_sensitivity=True)[2],
            "expected at most one infinite weight",
        ),
        (
            lambda p: Rotation.from_davenport(p[:2], "up", [0.1, 0.2]).as_quat(),
            "the order 'extrinsic' or 'intrinsic', but",
        ),
        (
            lambda p: Rotation.from_davenport(P[:2], "e", p[:2, 0]).as_quat(),
            "from_davenport: expected neighboring axes to be orthogonal",
        ),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises((TypeError, ValueError, AttributeError), match=message):
        fg.jacobian(f)(P)
