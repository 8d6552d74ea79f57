"""Distances and rotations: values are SciPy's, derivatives those of central differences."""

import numpy as np
import pytest
import scipy.cluster.hierarchy
import scipy.spatial

import funcgrad as fg
from funcgrad.scipy.spatial import distance, transform
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

A = 0.5 + np.abs(np.cos(np.arange(12.0))).reshape(4, 3)
B = 0.3 + np.abs(np.sin(np.arange(9.0))).reshape(3, 3)
METRICS = {
    "braycurtis": {},
    "canberra": {},
    "chebyshev": {},
    "cityblock": {},
    "correlation": {},
    "cosine": {},
    "euclidean": {},
    "jensenshannon": {},
    "mahalanobis": {"VI": np.diag([1.0, 2.0, 3.0])},
    "minkowski": {"p": 3},
    "seuclidean": {"V": np.array([1.0, 2.0, 3.0])},
    "sqeuclidean": {},
}
ROTATIONS = {
    "from_rotvec": lambda R, v: R.from_rotvec(v).as_matrix(),
    "from_rotvec in degrees": lambda R, v: R.from_rotvec(v * 50, degrees=True).as_quat(),
    "as_rotvec": lambda R, v: R.from_euler("xyz", v).as_rotvec(),
    "from_quat": lambda R, v: R.from_quat(np.concatenate([v, v[:1] + 0.3])).as_matrix(),
    "from_matrix": lambda R, v: R.from_matrix(R.from_rotvec(v).as_matrix()).as_quat(canonical=True),
    "from_matrix of a half turn": lambda R, v: R.from_matrix(
        R.from_rotvec(3.1 * v / 0.9).as_matrix()
    ).as_matrix(),
    "apply": lambda R, v: R.from_rotvec(v).apply(A),
    "apply inverse": lambda R, v: R.from_rotvec(v).apply(A[0] * v, inverse=True),
    "product": lambda R, v: (R.from_rotvec(v) * R.from_euler("ZX", v[:2])).as_matrix(),
    "inverse": lambda R, v: R.from_rotvec(v).inv().as_rotvec(),
    "magnitude": lambda R, v: R.from_rotvec(v).magnitude(),
    "power": lambda R, v: (R.from_rotvec(v) ** 2.5).as_matrix(),
    "stack": lambda R, v: R.from_rotvec(v * A)[1:3].as_matrix(),
    "one angle": lambda R, v: R.from_euler("y", v[0]).as_matrix(),
} | {
    f"as_euler {seq}": lambda R, v, seq=seq: R.from_rotvec(v).as_euler(seq)
    for seq in ("xyz", "zyx", "ZYX", "XYZ", "zxz", "ZXZ", "YXY", "yzx")
}
V = np.array([0.4, -0.7, 0.5])


def slope_of(f, t=0.0, h=1e-4):
    near = [f(t + s * h) for s in (1, -1, 2, -2)]
    return (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)


@pytest.mark.parametrize("name", one_in(3, METRICS))
def test_distances(name):
    moves = np.sin(1 + np.arange(12.0)).reshape(4, 3), np.cos(np.arange(9.0)).reshape(3, 3)

    def pairs(m, t):
        return m.cdist(A + t * moves[0], B + t * moves[1], name, **METRICS[name])

    def rows(m, t):
        return m.pdist(A + t * moves[0], name, **METRICS[name])

    def single(m, t):
        return getattr(m, name)(A[0] + t * moves[0][0], B[1] + t, **METRICS[name])

    for f in (pairs, rows, single):
        value, slope = fg.jvp(lambda t, f=f: f(distance, t), (0.0,), (1.0,))
        np.testing.assert_allclose(value, f(scipy.spatial.distance, 0.0), rtol=1e-12)
        wanted = slope_of(lambda t, f=f: f(scipy.spatial.distance, t))
        np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
        back = fg.jit(fg.grad(lambda t, f=f: np.sum(f(distance, t))))(0.0)
        assert back == pytest.approx(np.sum(slope), rel=1e-11, abs=1e-12)


TURN = scipy.spatial.transform.Rotation.from_rotvec([0.4, -0.7, 0.5]).as_matrix()
BENT = TURN + 0.1 * np.sin(np.arange(9.0)).reshape(3, 3)


@pytest.mark.parametrize(
    "matrix", one_in(2, [TURN, 2 * TURN, BENT, np.stack([np.eye(3), BENT, 3 * BENT.T])])
)
def test_from_matrix_takes_the_nearest_rotation(matrix):
    own = scipy.spatial.transform.Rotation
    move = np.cos(np.arange(9.0) ** 2).reshape(3, 3)

    def f(t, rotation=transform.Rotation):
        return rotation.from_matrix(matrix + t * move).as_quat(canonical=True)

    value, slope = fg.jvp(f, (0.0,), (1.0,))
    np.testing.assert_allclose(value, f(0.0, own), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(slope, slope_of(lambda t: f(t, own)), rtol=1e-7, atol=1e-9)
    weights = np.arange(1.0, 1 + value.size).reshape(value.shape)
    total = fg.grad(lambda t: np.sum(weights * f(t)))
    assert fg.jit(total)(0.0) == pytest.approx(np.sum(weights * slope), rel=1e-10)
    assert fg.grad(total)(0.0) == pytest.approx(slope_of(total), rel=1e-6)
    many = fg.vmap(f)(np.array([0.0, 0.1]))
    np.testing.assert_allclose(many, [f(0.0, own), f(0.1, own)], rtol=1e-12, atol=1e-13)


def test_from_matrix_asks_for_a_positive_determinant_unless_it_is_told():
    own = scipy.spatial.transform.Rotation
    with pytest.raises(ValueError, match="Non-positive determinant"):
        fg.jit(lambda m: transform.Rotation.from_matrix(m).as_quat())(-TURN)
    kept = fg.jit(lambda m: transform.Rotation.from_matrix(m, assume_valid=True).as_quat())
    wanted = own.from_matrix(2 * TURN, assume_valid=True).as_quat()
    np.testing.assert_allclose(kept(2 * TURN), wanted, rtol=1e-13)


def test_equal_points_have_finite_derivatives():
    zeros = np.zeros((2, 3))
    for metric in ("euclidean", "minkowski", "chebyshev", "canberra", "cityblock"):
        slope = fg.grad(lambda x, m=metric: np.sum(distance.pdist(x, m)))(zeros)
        np.testing.assert_array_equal(slope, zeros)
    assert np.all(np.isfinite(fg.grad(lambda x: np.sum(distance.cdist(x, x)))(A)))


def test_other_distances():
    own = scipy.spatial.distance
    value = fg.jvp(lambda t: distance.squareform(distance.pdist(A + t)), (0.0,), (1.0,))[0]
    np.testing.assert_allclose(value, own.squareform(own.pdist(A)), rtol=1e-13)
    points = np.cos(np.arange(21.0) ** 2).reshape(7, 3)
    for metric in ("mahalanobis", "seuclidean"):
        value = fg.jvp(lambda t, m=metric: distance.pdist(points * t, m), (1.0,), (1.0,))[0]
        np.testing.assert_allclose(value, own.pdist(points, metric), rtol=1e-11)
    value = fg.jvp(lambda t: distance.pdist(A * t, lambda u, v: np.sum(u * v)), (1.0,), (1.0,))[0]
    np.testing.assert_allclose(value, own.pdist(A, lambda u, v: np.sum(u * v)), rtol=1e-13)
    weighted = fg.jvp(
        lambda t: distance.euclidean(A[0] * t, B[0], w=[1.0, 2.0, 3.0]), (1.0,), (1.0,)
    )
    assert weighted[0] == pytest.approx(own.euclidean(A[0], B[0], w=[1.0, 2.0, 3.0]), rel=1e-13)
    with pytest.raises(TypeError, match="pdist: expected a metric with a derivative"):
        fg.grad(lambda t: distance.pdist(A * t, "hamming")[0])(1.0)
    with pytest.raises(ValueError, match="cdist: expected two matrices"):
        fg.grad(lambda t: distance.cdist(A * t, B[:, :2])[0, 0])(1.0)


@pytest.mark.parametrize("case", one_in(3, ROTATIONS))
def test_rotations(case):
    f, move = ROTATIONS[case], np.array([0.3, 0.8, -0.5])
    value, slope = fg.jvp(lambda t: f(transform.Rotation, V + t * move), (0.0,), (1.0,))
    own = scipy.spatial.transform.Rotation
    np.testing.assert_allclose(value, f(own, V), rtol=1e-12, atol=1e-14)
    wanted = slope_of(lambda t: f(own, V + t * move))
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    rows = fg.jit(fg.vmap(lambda v: f(transform.Rotation, v)))(np.stack([V, V + move / 10]))
    np.testing.assert_allclose(rows[1], f(own, V + move / 10), rtol=1e-11, atol=1e-13)


def test_rotations_at_identity():
    def there_and_back(v):
        return transform.Rotation.from_rotvec(v).as_rotvec()

    np.testing.assert_allclose(fg.jacobian(there_and_back)(np.zeros(3)), np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(
        fg.hessian(lambda v: there_and_back(v)[0])(np.zeros(3)), np.zeros((3, 3))
    )
    for scale in (1e-9, 0.9e-3, 1.1e-3):
        np.testing.assert_allclose(there_and_back(scale * V), scale * V, rtol=1e-14)
        found = fg.jacobian(there_and_back)(scale * V)
        np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


def test_slerp_and_plain_rotations():
    times = np.array([0.0, 1.0, 3.0])
    own, found = scipy.spatial.transform, transform
    vectors = A[:3] - 0.8

    def sampled(m, t):
        return m.Slerp(times, m.Rotation.from_rotvec(vectors * t))(np.array([0.2, 2.5])).as_matrix()

    value, slope = fg.jvp(lambda t: sampled(found, t), (1.0,), (1.0,))
    np.testing.assert_allclose(value, sampled(own, 1.0), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        slope, slope_of(lambda t: sampled(own, t), 1.0), rtol=1e-8, atol=1e-9
    )
    for t in (-0.1, 3.1):
        rotations = own.Rotation.from_rotvec(vectors)
        turned = fg.jit(lambda t, r=rotations: transform.Slerp(times, r)(t).as_rotvec())
        assert np.isfinite(turned(3.0)).all()
        assert np.isnan(turned(t)).all()
    plain = found.Rotation.from_euler("xyz", V)
    np.testing.assert_allclose(
        plain.as_mrp(), own.Rotation.from_euler("xyz", V).as_mrp(), rtol=1e-14
    )
    assert len(found.Rotation.random(5)) == 5
    with pytest.raises(ValueError, match="Rotation: expected up to three axes"):
        fg.grad(lambda t: found.Rotation.from_euler("xY", t * V[:2]).magnitude())(1.0)
    with pytest.raises(ValueError, match="Rotation: expected neighboring axes to differ"):
        fg.grad(lambda t: found.Rotation.from_euler("zz", t * V[:2]).magnitude())(1.0)


def test_a_square_of_no_distances_is_one_zero():
    own = scipy.spatial.distance
    assert fg.jit(distance.squareform)(0.7).shape == own.squareform(0.7).shape == (2, 2)
    found = fg.jit(lambda x: distance.squareform(x))(np.zeros(0))
    assert found.shape == own.squareform(np.zeros(0)).shape == (1, 1)


CLOUD = np.sin(np.arange(27.0) ** 2).reshape(9, 3)
NEAR = np.cos(np.arange(12.0)).reshape(4, 3)
TREES = [scipy.spatial.KDTree(CLOUD), scipy.spatial.cKDTree(CLOUD)]
BOX = [2.5, 0.0, 2.0]
IN_BOX = scipy.spatial.KDTree(1 + CLOUD, boxsize=BOX)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy.spatial.KDTree(CLOUD).query(x)[0],
        lambda x: TREES[0].query(x[0])[0],
        lambda x: TREES[1].query(x, 3, p=1)[0],
        lambda x: TREES[0].query(x, [2], p=np.inf)[0],
        lambda x: np.minimum(TREES[0].query(x, 4, distance_upper_bound=0.8)[0], 9.0),
        lambda x: IN_BOX.query(x - 2, 2)[0],
        lambda x: scipy.spatial.KDTree(1.1 + CLOUD + x[0] / 99, boxsize=3.0).query(3 * x)[0],
        lambda x: scipy.spatial.cKDTree(1 + x, 10, True, False, True, BOX).query(3 * x[::-1], 2)[0],
    ],
)
def test_distances_to_neighbors(f):
    value, slope = fg.jvp(f, (NEAR,), (CLOUD[:4],))
    np.testing.assert_allclose(value, f(NEAR), rtol=1e-14)
    h = 1e-6
    wanted = (f(NEAR + h * CLOUD[:4]) - f(NEAR - h * CLOUD[:4])) / (2 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
    back = fg.grad(lambda x: np.sum(f(x)))(NEAR)
    assert np.sum(back * CLOUD[:4]) == pytest.approx(np.sum(slope), rel=1e-12)
    total = lambda t: np.sum(f(NEAR + t * CLOUD[:4]) ** 2)  # noqa: E731
    second = (fg.grad(total)(1e-5) - fg.grad(total)(-1e-5)) / 2e-5
    assert fg.grad(fg.grad(total))(0.0) == pytest.approx(second, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(fg.jit(f)(NEAR), value, rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([-NEAR, NEAR]))[1], value, rtol=1e-14)


@pytest.mark.parametrize("kind", [scipy.spatial.KDTree, scipy.spatial.cKDTree])
@pytest.mark.parametrize(
    "f",
    [
        lambda tree, r: tree(CLOUD).count_neighbors(tree(NEAR), r),
        lambda tree, r: tree(CLOUD).count_neighbors(TREES[1], [r, 1.0]),
        lambda tree, r: TREES[1].count_neighbors(other=tree(NEAR), r=r),
        lambda tree, r: sum(map(len, tree(CLOUD).query_ball_tree(tree(NEAR), r))),
        lambda tree, r: len(tree(CLOUD).query_ball_point(CLOUD[0], r)),
        lambda tree, r: len(tree(CLOUD).query_pairs(r)),
        lambda tree, r: tree(CLOUD).sparse_distance_matrix(tree(NEAR), r).toarray(),
    ],
)
def test_pairs_of_plain_points_are_constant_in_their_distance(f, kind):
    own = np.asarray(f(kind, 0.8))
    for plain in (lambda r: r * np.asarray(f(kind, 0.8)), lambda r: r * np.asarray(f(kind, r))):
        value, slope = fg.jvp(plain, (0.8,), (1.0,))
        np.testing.assert_allclose(value, 0.8 * own, rtol=1e-15)
        np.testing.assert_allclose(slope, own, rtol=1e-15)
    assert np.any(own)


def test_weights_of_pairs_are_plain():
    def counted(w):
        return TREES[0].count_neighbors(TREES[1], 1.0, weights=w)

    with pytest.raises(TypeError, match="count_neighbors: expected plain weights"):
        fg.grad(counted)(np.ones(9))


def test_places_of_neighbors_are_constant():
    index = fg.jit(lambda x: TREES[0].query(x, 2)[1])(NEAR)
    np.testing.assert_array_equal(index, TREES[0].query(NEAR, 2)[1])


TURNS = scipy.spatial.transform.Rotation.from_euler("xy", [[0.3, 0.1], [0.4, 2.8], [1.0, 3.1]])


@pytest.mark.parametrize(
    "f",
    one_in(
        3,
        [
            lambda own, t: own.from_mrp([0.1 * t, 0.2, -t]).as_matrix(),
            lambda own, t: own.from_mrp(np.array([[0.1 * t, 0.2, -t], [t, 5.2, -t]])).as_mrp(),
            lambda own, t: (TURNS * own.from_euler("z", t)).as_mrp(),
            lambda own, t: own.concatenate([own.from_euler("z", t), TURNS]).as_matrix(),
            lambda own, t: own.concatenate(own.from_euler("z", t)).as_matrix(),
            lambda own, t: own.align_vectors(CLOUD, CLOUD[::-1])[0].apply([1.0, t, 2.0]),
            lambda own, t: (own.create_group("C3") * own.from_euler("z", t)).as_matrix(),
            lambda own, t: own.from_davenport([0, 0, 1.0], "e", 0.3).apply([1.0, t, 2.0]),
            lambda own, t: (TURNS.mean() * own.from_euler("z", t)).as_matrix(),
        ],
    ),
)
def test_other_rotations_of_scipy(f):
    own = scipy.spatial.transform.Rotation
    g = fg.adopt(lambda t: f(own, t))
    np.testing.assert_allclose(fg.jit(g)(0.7), f(own, 0.7), rtol=1e-13, atol=1e-15)
    slope = slope_of(lambda t: f(own, t), 0.7)
    np.testing.assert_allclose(fg.jvp(g, (0.7,), (1.0,))[1], slope, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jacrev(g)(0.7), slope, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("product", [lambda turn: turn * 2, lambda turn: 2 * turn])
def test_a_rotation_times_a_number_is_pythons_error(product):
    with pytest.raises(TypeError, match="unsupported operand"):
        fg.grad(lambda t: product(transform.Rotation.from_rotvec([0, 0, t])).magnitude())(1.0)


def test_yule_is_differentiated_where_it_is_0():
    def f(x):
        return np.stack(
            [scipy.spatial.distance.yule(x[:4], x[4:8], w) for w in (None, [0.3, 0.5, 1.0, 2.0])]
        )

    for pair in ([1, 1, 0, 1, 0, 1, 0, 1], [0.2, 0.7, 0.1, 0.9, 0.4, 0.8, 0.5, 0.3]):
        check_function(f, pair, value_rtol=1e-14)
    ones = np.ones(8)
    np.testing.assert_array_equal(fg.vjp(f, ones)[0], f(ones))


def test_no_slope_of_a_row_with_itself_meets_those_of_pairs():
    rows = np.vstack([A, np.zeros(3)])  # whose Bray-Curtis distance from itself is no number
    metrics = [name for name in METRICS if name not in ("correlation", "cosine", "jensenshannon")]
    for name in metrics:
        slope = fg.grad(
            lambda x, name=name: distance.pdist(x, name, **METRICS[name]) @ np.arange(10.0)
        )(rows)
        pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]

        def by_pairs(x, name=name, pairs=pairs):
            one = getattr(distance, name)
            return sum(k * one(x[i], x[j], **METRICS[name]) for k, (i, j) in enumerate(pairs))

        np.testing.assert_allclose(slope, fg.grad(by_pairs)(rows), rtol=1e-12, atol=1e-13)
    assert distance.pdist(fg.const(A[:1])).shape == (0,)


def test_weighted_correlations_of_pairs():
    w = np.array([1.0, 2.0, 0.5])
    value = fg.jvp(lambda t: distance.cdist(A * t, B, "correlation", w=w), (1.0,), (1.0,))[0]
    np.testing.assert_allclose(
        value, scipy.spatial.distance.cdist(A, B, "correlation", w=w), rtol=1e-12
    )


@pytest.mark.parametrize("base", [None, 2.0])
def test_jensenshannon_of_rows_of_which_two_are_equal(base):
    def distances(x):
        return scipy.spatial.distance.jensenshannon(x, A[:3], base, axis=1, keepdims=True)

    start, along = np.where([[True], [False], [False]], A[:3], B), np.cos(np.arange(9.0))
    along = along.reshape(3, 3)
    value, slope = fg.jvp(distances, (start,), (along,))
    np.testing.assert_array_equal(value, distances(start))
    h = 1e-5
    expected = (distances(start + h * along) - distances(start - h * along)) / (2 * h)
    np.testing.assert_allclose(slope[1:], expected[1:], rtol=1e-8)
    assert value[0] == slope[0] == 0
    assert np.all(np.isfinite(fg.grad(lambda x: np.sum(distances(x)))(start)))


CAPTURED = {
    "cdist": lambda c: scipy.spatial.distance.cdist(A, B, lambda u, v: c * np.sum((u - v) ** 2)),
    "pdist": lambda c: scipy.spatial.distance.pdist(
        X=A, metric=lambda u, v, power: np.sum(np.abs(u - v) ** power) ** c, power=2
    ),
    "linkage": lambda c: scipy.cluster.hierarchy.linkage(
        A, metric=lambda u, v: np.sum(np.abs(u - v)) ** c
    )[:, 2],
}


@pytest.mark.parametrize("case", CAPTURED)
def test_what_a_metric_of_plain_points_captures(case):
    check_function(CAPTURED[case], 1.3, value_rtol=1e-14, hessian=False)


@pytest.mark.parametrize("p", [2, 2.0, 4])
@pytest.mark.parametrize("name", ["minkowski", "cdist", "pdist"])
def test_second_derivatives_where_points_share_a_coordinate(name, p):
    """The size of a coordinate's difference has no kink in a power above 1."""

    def between(x):
        u, v = np.stack([x, 1.0 + 0 * x]), np.array([0.0, 0.3])
        if name == "minkowski":
            return distance.minkowski(u, v, p)
        if name == "cdist":
            return distance.cdist(u[None], v[None], "minkowski", p=p)[0, 0]
        return distance.pdist(np.stack([u, v]), "minkowski", p=p)[0]

    slope = fg.grad(between)
    assert slope(0.0) == 0.0
    wanted = 1 / 0.7 if p == 2 else 0.0
    assert fg.grad(slope)(0.0) == pytest.approx(wanted, rel=1e-14)
    assert fg.jvp(slope, (0.0,), (1.0,))[1] == pytest.approx(wanted, rel=1e-14)
