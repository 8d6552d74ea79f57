"""Methods of rotations and rigid transforms that turn with a traced parameter."""

import numpy as np
import pytest
from scipy.spatial.transform import RigidTransform, Rotation, RotationSpline, Slerp

import funcgrad as fg
from tests.default_slice import one_in

QUATS = np.random.default_rng(0).normal(size=(4, 4))
TURNS = np.random.default_rng(1).normal(size=(4, 4))
VECTORS = np.random.default_rng(2).normal(size=(4, 3))
AXES = np.array([[0.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.2]])


def several(t):
    return Rotation.from_quat(t * QUATS + (t - 1) * TURNS)


def moved(t):
    return RigidTransform.from_components(t * VECTORS, several(t))


CASES = {
    **{
        f"as_davenport, {order}": lambda t, order=order: several(t).as_davenport(AXES, order)
        for order in ("extrinsic", "intrinsic", "e")
    },
    "as_davenport, mirrored": lambda t: several(t).as_davenport(-AXES[::-1], "i", degrees=True),
    "as_davenport, of one": lambda t: several(t)[2].as_davenport(t * AXES, "e"),
    "as_davenport and back": lambda t: Rotation.from_davenport(
        AXES, "e", several(t).as_davenport(AXES, "e")
    ).as_matrix(),
    "as_euler": lambda t: several(t).as_euler("zyx", suppress_warnings=True),
    "reduce": lambda t: several(t).reduce(Rotation.create_group("D3")).as_quat(),
    "reduce on the right": lambda t: several(t).reduce(None, Rotation.create_group("O")).as_quat(),
    "reduce of one": lambda t: several(t)[1].reduce(Rotation.create_group("T")).as_quat(),
    "reduce with places": lambda t: (lambda r, k, _: r.as_quat() * k[:, None])(
        *several(t).reduce(Rotation.create_group("D3"), return_indices=True)
    ),
    "approx_equal": lambda t: t * several(t).approx_equal(Rotation.from_quat(QUATS), 0.2),
    "approx_equal in degrees": lambda t: t * several(t)[0].approx_equal(several(1.2)[0], 40, True),
    "align_vectors": lambda t: Rotation.align_vectors(VECTORS[0], t * AXES[2] + AXES[1])[
        0
    ].as_quat(),
    "inverse": lambda t: (several(t) ** -1).as_quat(),
    "power": lambda t: (several(t) ** t).as_quat(),
    "itself": lambda t: (several(t) ** 1).as_quat(),
    "shape": lambda t: t * np.ones(several(t).shape),
    "a sum over rotations": lambda t: sum(rotation.as_rotvec() for rotation in several(t)),
    "a spline": lambda t: RotationSpline([0, 1, 2, 3], several(t))([0.5, 2.2]).as_rotvec(),
    "velocities": lambda t: RotationSpline([0, 1, 2, 3], several(t))([0.5, 2 * t], 1),
    "Slerp": lambda t: Slerp([0, 1, 2, 3], several(t))([0.5, 2 * t]).as_rotvec(),
    "rigid matrices": lambda t: (moved(t) * moved(t).inv()[1]).as_matrix(),
    "rigid coordinates": lambda t: moved(t).as_exp_coords(),
    "rigid coordinates at the identity": lambda t: RigidTransform.from_components(
        t * VECTORS[0], Rotation.from_rotvec([0.0, 0.0, t - 1.1])
    ).as_exp_coords(),
    "rigid quaternions": lambda t: (moved(t) ** 2).as_dual_quat(scalar_first=True),
    "rigid points": lambda t: moved(t).apply(t * VECTORS, inverse=True),
    "a rigid mean": lambda t: moved(t).mean().as_matrix(),
}


@pytest.mark.parametrize("case", one_in(8, CASES, start=1))
def test_rotations(case):
    f, h = CASES[case], 1e-5
    value, tangent = fg.jvp(f, (1.1,), (1.0,))
    np.testing.assert_allclose(value, f(1.1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(tangent, (f(1.1 + h) - f(1.1 - h)) / (2 * h), rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jacobian(f)(1.1), tangent, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fg.jit(f)(1.1), value, rtol=1e-12, atol=1e-13)
    second = fg.jacobian(fg.jacfwd(f))(1.1)
    slopes = [fg.jacfwd(f)(1.1 + s * h) for s in (1, -1)]
    wanted = (slopes[0] - slopes[1]) / (2 * h)
    np.testing.assert_allclose(second, wanted, rtol=1e-5, atol=1e-5)


def test_axes_that_are_not_orthogonal_are_refused():
    with pytest.raises(ValueError, match="as_davenport: expected neighboring axes"):
        fg.jacobian(lambda t: several(t).as_davenport(AXES + 0.1, "e"))(1.0)
    with pytest.raises(ValueError, match="as_davenport: expected three axes"):
        fg.jacobian(lambda t: several(t).as_davenport(AXES[:2], "e"))(1.0)


def test_the_constructor_takes_the_scalar_first():
    def turned(q):
        return Rotation(q, scalar_first=True).as_rotvec()

    q = np.array([0.9, 0.1, -0.3, 0.2])
    value, slope = fg.jvp(turned, (q,), (q[::-1],))
    np.testing.assert_allclose(value, turned(q), rtol=1e-12)
    h = 1e-6
    wanted = (turned(q + h * q[::-1]) - turned(q - h * q[::-1])) / (2 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-7)


@pytest.mark.parametrize("n", [-2, -1, 0.5, 1, 2])
def test_a_power_turns_by_a_multiple_of_the_angle(n):
    t = np.array([0.1, 0.2, 0.3])
    slopes = fg.jacobian(lambda t: (Rotation.from_rotvec(t) ** n).as_rotvec())(t)
    np.testing.assert_allclose(slopes, n * np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: Rotation.from_quat(x).magnitude(), "expected quaternions"),
        (
            lambda x: Rotation.from_euler("xy", x).magnitude(),
            "expected 2 angles along the last axis",
        ),
        (lambda x: Rotation.from_rotvec(x).as_euler("xy"), "as_euler: expected three axes"),
        (
            lambda x: Rotation.from_davenport(np.eye(3)[:2], "e", x).magnitude(),
            "from_davenport: expected as many angles as axes",
        ),
        (lambda x: Slerp([0.0, 1.0], Rotation.from_rotvec(x)), "Slerp: expected as many rotations"),
    ],
)
def test_errors_of_shapes(f, message):
    with pytest.raises(ValueError, match=message):
        fg.trace(f, np.array([0.1, 0.2, 0.3]))
