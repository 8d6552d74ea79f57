"""SciPy's classes in adopted code: their arrays can be written, and instances are of the class."""

import copy
import math

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse
import scipy.spatial.transform
from scipy.interpolate import BSpline, CubicSpline, PPoly, RegularGridInterpolator, interp1d
from scipy.spatial.transform import Rotation, Slerp

import funcgrad as fg
import funcgrad.scipy.interpolate
from tests.default_slice import one_in

X = np.linspace(0.0, 3.0, 7)
Y = np.sin(X)
AT = np.array([0.6, 1.3])
TURN = Rotation.from_euler("x", 0.3)
TURNS = Rotation.from_euler("x", [[0.3], [0.4]])
SPLINE, LINE = CubicSpline(X, Y), interp1d(X, Y)
SLERP = Slerp([0.0, 1.0], TURNS)


def _stored(y):
    y[0] = 0.0
    y[-1] *= 2
    return np.sum(np.sin(y + np.arange(y.size).reshape(y.shape)))


def _of_one_class(spline, kind):
    assert isinstance(spline, kind)
    assert type(spline) is kind
    return spline


RESULTS = {
    "interp1d": lambda x: interp1d(X, Y)(x * AT),
    "interp1d, values": lambda x: _of_one_class(interp1d(X, Y * x, kind="cubic"), interp1d)(AT),
    "CubicSpline": lambda x: _of_one_class(CubicSpline(X, Y * x), CubicSpline)(AT),
    "derivative": lambda x: _of_one_class(CubicSpline(X, Y * x).derivative(), CubicSpline)(AT),
    "PchipInterpolator": lambda x: scipy.interpolate.PchipInterpolator(X, Y * x)(AT),
    "PPoly": lambda x: PPoly(np.array([[1.0, 2.0], [3.0, 4.0]]) * x, np.array([0.0, 1.0, 2.0]))(AT),
    "BSpline": lambda x: BSpline(np.arange(10.0), np.arange(6.0) * x, 3)(AT + 3),
    "grid": lambda x: RegularGridInterpolator((X, X), np.outer(Y, Y) * x)([AT, AT[::-1]]),
    "captured spline": lambda x: _of_one_class(SPLINE, CubicSpline)(x * AT),
    "captured line": lambda x: _of_one_class(LINE, interp1d)(x * AT),
    "Rotation": lambda x: _of_one_class(Rotation.from_euler("z", x), Rotation).as_matrix(),
    "product": lambda x: (Rotation.from_euler("z", x) * TURN).as_matrix(),
    "captured product": lambda x: (TURN * Rotation.from_euler("z", x)).as_matrix(),
    "captured stack": lambda x: (TURNS[1].inv() * Rotation.from_euler("z", x)).apply([1.0, 2.0, x]),
    "power": lambda x: (copy.deepcopy(Rotation.from_rotvec([0.1, 0.2, x])) ** 2).as_rotvec(),
    "by modules": lambda x: scipy.spatial.transform.Rotation.from_euler("z", x).as_matrix(),
    "Slerp": lambda x: SLERP(x).as_matrix(),
    "Slerp, stack": lambda x: SLERP(np.stack([x, 0.5])).as_matrix(),
}


@pytest.mark.parametrize("name", one_in(3, RESULTS))
def test_arrays_of_scipys_classes_are_written(name):
    f, h, x = (lambda x: _stored(RESULTS[name](x))), 1e-6, 0.7
    slope = (f(x + h) - f(x - h)) / (2 * h)
    np.testing.assert_allclose(fg.grad(f)(x), slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jvp(f, (x,), (1.0,))[1], slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jit(RESULTS[name])(x), RESULTS[name](x), rtol=1e-13)


def test_classes_and_instances_leave_adopted_code_as_they_came():
    assert fg.adopt(lambda: CubicSpline)() is funcgrad.scipy.interpolate.CubicSpline
    spline = fg.adopt(lambda x: CubicSpline(X, Y * x))(2.0)
    assert type(spline) is funcgrad.scipy.interpolate.CubicSpline
    np.testing.assert_array_equal(spline(AT), CubicSpline(X, Y * 2.0)(AT))


class _Pose:
    def __init__(self, turn, move):
        self.turn, self.move = turn, move

    def __matmul__(self, other):
        return _Pose(self.turn * other.turn, self.move + self.turn.apply(other.move))


def test_a_class_of_the_user_returned_by_adopted_code_is_the_users():
    assert fg.adopt(lambda: _Pose)() is _Pose

    def moved(x):
        pose = _Pose(Rotation.from_euler("xyz", [x, 0.1, 0.2]), np.array([1.0, 0.0, 0.0]))
        move = (pose @ pose @ pose).move
        move[1] *= 2
        return np.sum(move)

    slope = (moved(0.7 + 1e-6) - moved(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fg.grad(moved)(0.7), slope, rtol=1e-7)


CORNERS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.parametrize("name", ["NearestNDInterpolator", "CloughTocher2DInterpolator"])
def test_interpolants_of_scattered_data_take_plain_values_and_traced_ones(name):
    kind = getattr(scipy.interpolate, name)
    captured = kind(CORNERS, [1.0, 2.0, 4.0])
    at = float(captured(0.1, 0.2))
    for f in (
        lambda x: x * captured(0.1, 0.2)[()],
        lambda x: x * kind(CORNERS, [1, 2, 4])(0.1, 0.2),
    ):
        np.testing.assert_allclose(fg.grad(f)(3.0), at, rtol=1e-14)
    for f in (lambda x: captured(x, 0.2), lambda x: kind(CORNERS, [1.0, 2.0, x])(0.1, 0.2)):
        slope = (f(0.1 + 1e-5) - f(0.1 - 1e-5)) / 2e-5
        np.testing.assert_allclose(fg.grad(f)(0.1), slope, rtol=1e-6, atol=1e-7)


KNOTS = np.linspace(0.0, 2.0, 8)


class Natural(scipy.interpolate.CubicSpline):
    """A class of the user's over one of SciPy's."""

    def __init__(self, x, y):
        super().__init__(x, y, bc_type="natural")
        self.name = "natural"

    def __call__(self, x, nu=0):
        return 2 * super().__call__(x, nu)

    @classmethod
    def of(cls, y):
        return cls(KNOTS, y)

    def slope(self, x):
        return self(x, 1) * math.cos(x)


class Renamed(Natural):
    def slope(self, x):
        return super().slope(x) if isinstance(self, Natural) else 0.0 * x


class Linear(scipy.interpolate.interp1d):
    def value(self, x):
        return float(self(x))


class Doubled(scipy.interpolate.UnivariateSpline):
    def __init__(self, x, y):
        super().__init__(x, y, s=0)

    def __call__(self, x):
        return 2 * super().__call__(x) if isinstance(x, float) else x


class Weights(scipy.sparse.csr_array):
    def total(self, x):
        return float((self @ np.array([x, 1.0, x * x])).sum())


LINEAR = Linear(KNOTS, np.sin(KNOTS))
OF_USERS = {
    "points": lambda x: Natural(KNOTS, np.sin(KNOTS))(x),
    "data": lambda x: Natural(KNOTS, np.sin(x * KNOTS))(0.3),
    "a class method": lambda x: Renamed.of(np.sin(x * KNOTS)).slope(x),
    "linear": lambda x: Linear(KNOTS, np.sin(x * KNOTS)).value(x),
    "fitted": lambda x: Doubled(KNOTS, np.sin(KNOTS))(x),
    "fitted data": lambda x: Doubled(KNOTS, np.sin(x * KNOTS))(0.3),
    "derivative": lambda x: Doubled(KNOTS, np.sin(x * KNOTS)).derivative()(0.3),
    "sparse": lambda x: Weights(np.diag([1.0, 2.0, 3.0])).total(x),
    "made outside": lambda x: LINEAR.value(x),
}


@pytest.mark.parametrize("name", OF_USERS)
def test_classes_of_users_over_interpolants(name):
    f = OF_USERS[name]
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert fg.grad(f)(0.7) == pytest.approx(slope, rel=1e-7)
    assert fg.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(slope, rel=1e-7)
    assert fg.jit(f)(0.7) == pytest.approx(f(0.7), rel=1e-12)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.7, 0.9])), [f(0.7), f(0.9)], rtol=1e-12)
