"""Clusters: values are SciPy's, and derivatives are those in which no observation changes its cluster."""

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.cluster.vq
import scipy.spatial.distance

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

POINTS = np.array(
    [[0.1, 0.3], [1.9, 2.3], [0.4, -0.2], [2.2, 1.7], [1.6, 2.1], [-0.3, 0.2], [2.4, 2.6]]
)
QUANTIZED = {
    "vq": lambda x: scipy.cluster.vq.vq(x, x[:3] + 0.1)[1],
    "vq of numbers": lambda x: scipy.cluster.vq.vq(x[:, 0], x[:3, 1])[1],
    "vq of many features": lambda x: scipy.cluster.vq.vq(x.reshape(2, 7), 2 * x.reshape(2, 7))[1],
    "whiten": lambda x: scipy.cluster.vq.whiten(x),
}
MEANS = {
    "kmeans": lambda x: scipy.cluster.vq.kmeans(x, 2, iter=3, rng=0)[0],
    "its distortion": lambda x: scipy.cluster.vq.kmeans(x, 2, iter=3, rng=0)[1],
    "kmeans from a guess": lambda x: scipy.cluster.vq.kmeans(x, 1.1 * x[:2])[0],
    "kmeans2 from points": lambda x: scipy.cluster.vq.kmeans2(x, 2, rng=0, minit="points")[0],
    "kmeans2 at random": lambda x: scipy.cluster.vq.kmeans2(x, 2, rng=0)[0],
    "kmeans2 from distant points": lambda x: scipy.cluster.vq.kmeans2(x, 2, rng=0, minit="++")[0],
    "kmeans2 of numbers": lambda x: scipy.cluster.vq.kmeans2(x[:, 0], 2, iter=2, rng=1)[0],
}


@pytest.mark.parametrize("case", QUANTIZED)
def test_distances_to_codes(case):
    check_function(QUANTIZED[case], POINTS, vmap=case != "whiten")


@pytest.mark.parametrize("case", one_in(3, MEANS))
def test_means_of_clusters(case):
    check_function(MEANS[case], POINTS, vmap=False)


def test_labels_are_constant():
    for f in (
        lambda x: scipy.cluster.vq.kmeans2(x, 2, rng=0)[1],
        lambda x: scipy.cluster.vq.vq(x, POINTS[:2])[0],
    ):
        np.testing.assert_array_equal(fg.jit(f)(POINTS), f(POINTS))


def test_an_empty_cluster_keeps_its_code():
    def book(x):
        return scipy.cluster.vq.kmeans2(x, np.array([[0.0, 0.0], [90.0, 90.0]]), minit="matrix")[0]

    with pytest.warns(UserWarning, match="One of the clusters is empty"):
        wanted = book(POINTS)
    with pytest.warns(UserWarning, match="One of the clusters is empty"):
        slope = fg.jacobian(book)(POINTS)
    np.testing.assert_allclose(wanted[0], POINTS.mean(axis=0))
    np.testing.assert_allclose(slope[0, 0, :, 0], np.full(7, 1 / 7))
    assert not slope[1].any()


TREES = {
    **{
        method: lambda x, method=method: getattr(scipy.cluster.hierarchy, method)(x)[:, 2]
        for method in ("single", "complete", "average", "weighted", "centroid", "median", "ward")
    },
    **{
        f"{method} of distances": lambda x, method=method: scipy.cluster.hierarchy.linkage(
            np.abs(x.ravel()[:10]) + 1 + np.arange(10) % 3, method
        )[:, 2]
        for method in ("single", "average", "ward", "median")
    },
    "another metric": lambda x: scipy.cluster.hierarchy.linkage(x, "average", "cityblock")[:, 2],
    "an ordering": lambda x: scipy.cluster.hierarchy.linkage(x, "ward", optimal_ordering=True)[
        :, 2
    ],
    "cophenet": lambda x: scipy.cluster.hierarchy.cophenet(scipy.cluster.hierarchy.ward(x)),
    "its correlation": lambda x: scipy.cluster.hierarchy.cophenet(
        scipy.cluster.hierarchy.average(x), scipy.spatial.distance.pdist(x)
    )[0],
    "ordered tree": lambda x: scipy.cluster.hierarchy.optimal_leaf_ordering(
        scipy.cluster.hierarchy.average(x), x
    ),
    "maxdists": lambda x: scipy.cluster.hierarchy.maxdists(scipy.cluster.hierarchy.centroid(x)),
    "inconsistent": lambda x: scipy.cluster.hierarchy.inconsistent(
        scipy.cluster.hierarchy.ward(x), 3
    ),
}
UNEVEN = POINTS + 0.3 * np.cos(np.arange(14.0) ** 2).reshape(7, 2)


@pytest.mark.parametrize("case", one_in(4, TREES))
def test_heights_of_merges(case):
    check_function(TREES[case], UNEVEN, value_rtol=1e-13 if "correlation" in case else 0.0)


def test_clusters_of_a_tree_are_constant():
    tree = scipy.cluster.hierarchy
    for f in (
        lambda x: tree.fcluster(tree.ward(x), 2, criterion="maxclust"),
        lambda x: tree.fcluster(tree.ward(x), x[3, 0]),
        lambda x: tree.fcluster(tree.ward(x), 0.8, R=tree.inconsistent(tree.ward(x))),
        lambda x: tree.leaves_list(tree.single(x)),
        lambda x: tree.linkage(x, "ward", optimal_ordering=True)[:, :2],
    ):
        np.testing.assert_array_equal(fg.jit(f)(UNEVEN), f(UNEVEN))
    with pytest.raises(ValueError, match="linkage: expected a method among single, complete"):
        fg.grad(lambda x: scipy.cluster.hierarchy.linkage(x, "nearest")[0, 2])(POINTS)
