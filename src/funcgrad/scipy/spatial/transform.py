"""``scipy.spatial.transform`` for traced values: `Rotation` and `Slerp`.

A rotation is its quaternion (x, y, z, w). All other names lead to SciPy; its ``RigidTransform`` is adopted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

import numpy as np
import scipy.spatial.transform as _scipy

from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    flat_root,
    nondifferentiable,
    real,
    taken,
    with_phases,
    with_value,
)
from funcgrad.scipy.external_function import with_pullback
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.spatial.alignment import mean_quaternion, nearest_pullback, rotation_between
from funcgrad.scipy.spatial.euler_angles import (
    SMALL,
    davenport_angles,
    davenport_quaternion,
    euler_of_quaternion,
    quaternion_of_euler,
    quaternion_of_vector,
    quaternion_product,
)
from funcgrad.source import fail, value_error
from funcgrad.typing import Array, ArrayLike


def _norm(x: Array) -> Any:
    return np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


def _vector_of(q: Array) -> Any:
    """The rotation vector of a unit quaternion, with derivatives at 0."""
    q = np.where(q[..., 3:] < 0, -q, q)
    v, w = q[..., :3], q[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    small = square < SMALL**2
    sine = np.sqrt(np.where(small, 1.0, square))
    near = np.where(small, square, 0.0) / np.where(small, w * w, 1.0)
    # 2 arctan(t)/t / w, t being the tangent of half the angle.
    series = 2 * (1 - near / 3 + near * near / 5 - near**3 / 7) / np.where(small, w, 1.0)
    return np.where(small, series, 2 * np.arctan2(sine, w) / sine) * v


def _matrix_of(q: Array) -> Any:
    x, y, z, w = [q[..., k] for k in range(4)]
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


_nearest_rotation = with_pullback(
    "from_matrix",
    lambda m: _scipy.Rotation.from_matrix(m).as_matrix(),
    lambda m: m,
    nearest_pullback,
)


def _of_matrix(m: Array) -> Any:
    """The quaternion of a rotation matrix: by the largest of its entries' squares (Markley 2008)."""
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = {
            i: 1 - trace + 2 * m[..., i, i],
            j: m[..., j, i] + m[..., i, j],
            k: m[..., k, i] + m[..., i, k],
            3: m[..., k, j] - m[..., j, k],
        }
        candidates.append(np.stack([parts[n] for n in range(4)], axis=-1))
    turns = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    candidates.append(np.stack([*turns, 1 + trace], axis=-1))
    sizes = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    choice = np.argmax(sizes, axis=-1)[..., None]
    found = candidates[3]
    for i in range(3):
        found = np.where(choice == i, candidates[i], found)
    return found / _norm(found)


class Rotation:
    """As `scipy.spatial.transform.Rotation`, for traced values.

    Rotations of plain values have all methods and attributes of SciPy's.

    >>> import funcgrad as fg
    >>> turn = lambda t: Rotation.from_rotvec(t * np.array([0.0, 0.0, 1.0])).apply([1.0, 0.0, 0.0])
    >>> fg.jvp(turn, (0.0,), (1.0,))[1]
    array([0., 1., 0.])
    """

    def __init__(
        self, quat: ArrayLike, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ) -> None:
        q = real("Rotation", quat)
        if q.shape[-1:] != (4,):
            raise value_error(f"Rotation: expected quaternions (x, y, z, w), but got {q.shape}")
        q = np.roll(q, -1, axis=-1) if scalar_first else q
        self._quat = q / _norm(q) if normalize else q

    @classmethod
    def of_scipy(cls, own: Any) -> Self:
        """SciPy's rotation as one that takes traced vectors and rotations, too."""
        return cls(own.as_quat(), normalize=False)

    @property
    def _own(self) -> Any:
        return _scipy.Rotation.from_quat(self._quat)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'Rotation' object has no attribute {name!r}")
        if holds_expr(self._quat):
            raise fail(
                AttributeError,
                f"Rotation: expected a rotation of plain values for {name}, but got a traced one",
            )
        found = getattr(self._own, name)
        return _with_plain_rotations(found) if callable(found) else found

    @classmethod
    def from_quat(cls, quat: ArrayLike, *, scalar_first: bool = False) -> Rotation:
        """As SciPy's method."""
        q = real("from_quat", quat)
        return cls(q, scalar_first=scalar_first)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, assume_valid: bool = False) -> Rotation:
        """As SciPy's method: the rotation nearest to the matrix, and its derivative.

        With ``assume_valid``, that of a rotation matrix, which stays one.
        """
        m = real("from_matrix", matrix)
        if not holds_expr(m):
            plain = _scipy.Rotation.from_matrix(m, assume_valid=assume_valid)
            return cls(plain.as_quat(), normalize=False)
        return cls(_of_matrix(m if assume_valid else _nearest_rotation(m)), normalize=False)

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """As SciPy's method."""
        r = real("from_rotvec", rotvec)
        return cls(quaternion_of_vector(np.deg2rad(r) if degrees else r), normalize=False)

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """As SciPy's method."""
        given = real("from_euler", angles)
        return cls(
            quaternion_of_euler(seq, np.deg2rad(given) if degrees else given), normalize=False
        )

    @classmethod
    def identity(cls, num: int | None = None) -> Rotation:
        """As SciPy's method."""
        unit = np.array([0.0, 0.0, 0.0, 1.0])
        return cls(unit if num is None else np.tile(unit, (num, 1)))

    @classmethod
    def random(cls, *args: object, **kwargs: object) -> Rotation:
        """As SciPy's method: a plain rotation."""
        return cls(_scipy.Rotation.random(*args, **kwargs).as_quat(), normalize=False)

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """As SciPy's method: of modified Rodrigues parameters."""
        m = real("from_mrp", mrp)
        square = np.sum(m * m, axis=-1, keepdims=True)
        return cls(np.concatenate([2 * m, 1 - square], axis=-1) / (1 + square), normalize=False)

    @classmethod
    def concatenate(cls, rotations: Any) -> Rotation:
        """As SciPy's method."""
        if hasattr(rotations, "as_quat"):  # one, which is copied
            return cls(rotations.as_quat(), normalize=False)
        quats = [np.atleast_2d(rotation.as_quat()) for rotation in rotations]
        return cls(np.concatenate(quats), normalize=False)

    @classmethod
    def align_vectors(
        cls,
        a: ArrayLike,
        b: ArrayLike,
        weights: ArrayLike | None = None,
        return_sensitivity: bool = False,
    ) -> Any:
        """As SciPy's method, of one or several pairs of vectors with finite weights."""
        if not holds_expr([a, b, weights]):
            rotation, *rest = _scipy.Rotation.align_vectors(a, b, weights, return_sensitivity)
            return (cls.of_scipy(rotation), *rest)
        matrix, *others = rotation_between(
            real("align_vectors", a),
            real("align_vectors", b),
            None if weights is None else real("align_vectors", weights),
            return_sensitivity,
        )
        q = _of_matrix(matrix)
        parts = [item for item in (a, b, weights) if item is not None]
        run = lambda *given: _scipy.Rotation.align_vectors(*given)[0].as_quat()  # noqa: E731
        own = nondifferentiable("align_vectors", run, *parts)
        return (cls(with_value(own, with_phases(q, own, axis=-1)), normalize=False), *others)

    def mean(
        self, weights: ArrayLike | None = None, axis: int | tuple[int, ...] | None = None
    ) -> Rotation:
        """As SciPy's method: the rotation whose quaternion is nearest to all."""
        if not holds_expr([self._quat, weights]):
            return Rotation.of_scipy(self._own.mean(weights, axis))
        given = None if weights is None else real("mean", weights)
        return Rotation(mean_quaternion(self._quat, given, axis), normalize=False)

    @classmethod
    def from_davenport(
        cls, axes: ArrayLike, order: str, angles: ArrayLike, degrees: bool = False
    ) -> Rotation:
        """As SciPy's method: turns about three axes, or fewer, each about the one that the others moved."""
        if not holds_expr([axes, angles]):
            return cls.of_scipy(_scipy.Rotation.from_davenport(axes, order, angles, degrees))
        found = davenport_quaternion(
            real("from_davenport", axes), order, real("from_davenport", angles), degrees
        )
        return cls(found, normalize=False)

    @classmethod
    def create_group(cls, *args: object, **kwargs: object) -> Rotation:
        """As SciPy's method: plain rotations."""
        return cls.of_scipy(_scipy.Rotation.create_group(*args, **kwargs))

    def as_mrp(self) -> Any:
        """As SciPy's method: modified Rodrigues parameters."""
        q = self.as_quat(canonical=True)
        return q[..., :3] / (1 + q[..., 3:])

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """As SciPy's method; ``canonical`` makes w positive."""
        q = self._quat
        if canonical:
            q = np.where(q[..., 3:] < 0, -q, q)
        return np.roll(q, 1, axis=-1) if scalar_first else q

    def as_matrix(self) -> Any:
        """As SciPy's method."""
        return _matrix_of(self._quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """As SciPy's method."""
        found = _vector_of(self._quat)
        return np.rad2deg(found) if degrees else found

    def as_euler(self, seq: str, degrees: bool = False, *, suppress_warnings: bool = False) -> Any:
        """As SciPy's method, without its warning."""
        found = euler_of_quaternion(seq, self._quat)
        return np.rad2deg(found) if degrees else found

    def as_davenport(
        self, axes: ArrayLike, order: str, degrees: bool = False, *, suppress_warnings: bool = False
    ) -> Any:
        """As SciPy's method, without its warning."""
        found = davenport_angles(real("as_davenport", axes), order, self._quat)
        return np.rad2deg(found) if degrees else found

    def approx_equal(self, other: Any, atol: float | None = None, degrees: bool = False) -> Any:
        """As SciPy's method."""
        limit = 1e-8 if atol is None else np.deg2rad(atol) if degrees else atol
        turn = Rotation(quaternion_product(other.as_quat(), self.inv().as_quat()), normalize=False)
        return turn.magnitude() < limit

    def reduce(self, left: Any = None, right: Any = None, return_indices: bool = False) -> Any:
        """As SciPy's method; the members of the groups are chosen by the values."""
        groups = [
            None if group is None else real("reduce", group.as_quat()) for group in (left, right)
        ]
        given = [group for group in groups if group is not None]

        def run(q: Array, *quats: Array) -> Any:
            of, members = _scipy.Rotation.from_quat, iter(quats)
            sides = [None if group is None else of(next(members)) for group in groups]
            found, *places = of(q).reduce(*sides, return_indices=True)
            rows = [np.zeros(len(np.atleast_2d(q))) if k is None else np.ravel(k) for k in places]
            return np.concatenate([np.atleast_2d(found.as_quat()), np.stack(rows, axis=1)], axis=1)

        own = nondifferentiable("reduce", run, self._quat, *given)
        chosen = [
            None if group is None else taken(group, own[:, 4 + k].astype(int))
            for k, group in enumerate(groups)
        ]
        q = np.atleast_2d(self._quat)
        q = q if chosen[0] is None else quaternion_product(chosen[0], q)
        q = q if chosen[1] is None else quaternion_product(q, chosen[1])
        q = with_value(own[:, :4], with_phases(q, own[:, :4], axis=-1))
        reduced = Rotation(q[0] if self.single else q, normalize=False)
        if not return_indices:
            return reduced
        return reduced, *[
            None if g is None else own[:, 4 + k].astype(int) for k, g in enumerate(groups)
        ]

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Any:
        """As SciPy's method."""
        matrix = self.as_matrix()
        if inverse:
            matrix = np.swapaxes(matrix, -1, -2)
        return np.sum(matrix * real("apply", vectors)[..., None, :], axis=-1)

    def inv(self) -> Rotation:
        """As SciPy's method."""
        return Rotation(self._quat * np.array([-1.0, -1.0, -1.0, 1.0]), normalize=False)

    def magnitude(self) -> Any:
        """As SciPy's method: the angle, whose derivative at 0 is 0."""
        r = _vector_of(self._quat)
        return flat_root(np.sum(r * r, axis=-1))

    def __mul__(self, other: Any) -> Rotation:
        if not hasattr(other, "as_quat"):
            return NotImplemented
        return Rotation(quaternion_product(self._quat, other.as_quat()))

    def __rmul__(self, other: Any) -> Rotation:
        if not hasattr(other, "as_quat"):
            return NotImplemented
        return Rotation(quaternion_product(other.as_quat(), self._quat))

    def __pow__(self, n: float) -> Rotation:
        if not holds_expr(n) and n == -1:
            return self.inv()
        if not holds_expr(n) and n == 1:
            return Rotation(self._quat, normalize=False)
        return Rotation.from_rotvec(n * self.as_rotvec())

    def __getitem__(self, index: object) -> Rotation:
        if self._quat.ndim == 1:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(taken(self._quat, index), normalize=False)

    def __len__(self) -> int:
        if self._quat.ndim == 1:
            raise TypeError("Single rotation has no len().")
        return int(self._quat.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stack of rotations."""
        return tuple(self._quat.shape[:-1])

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not a stack."""
        return self._quat.ndim == 1


def _with_plain_rotations(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of SciPy's rotation, which takes and gives rotations of this module."""

    @wraps(method)
    def function(*args: object, **kwargs: object) -> Any:
        given = [arg._own if isinstance(arg, Rotation) else arg for arg in args]
        found = method(*given, **kwargs)
        return Rotation.of_scipy(found) if isinstance(found, _scipy.Rotation) else found

    return function


class Slerp:
    """As `scipy.spatial.transform.Slerp`, in the rotations, and in the times.

    A traced time outside of the range gives nan where SciPy raises ValueError
    for a plain one.
    """

    def __init__(self, times: ArrayLike, rotations: Any) -> None:
        self.times = real("Slerp", times)
        if not isinstance(rotations, Rotation):
            rotations = Rotation(rotations.as_quat())
        if rotations.single or len(rotations) != self.times.shape[0] or len(rotations) < 2:
            raise value_error("Slerp: expected as many rotations as times, and at least two")
        self.rotations = rotations[:-1]
        self.steps = (rotations[:-1].inv() * rotations[1:]).as_rotvec()

    @classmethod
    def of_scipy(cls, own: Any) -> Self:
        """SciPy's interpolation as one that takes traced times, too."""
        made = cls.__new__(cls)
        made.times, made.steps = own.times, own.rotvecs
        made.rotations = Rotation.of_scipy(own.rotations)
        return made

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotation at the given times."""
        q = real("Slerp", times)
        place = np.clip(np.searchsorted(self.times, q, side="right") - 1, 0, len(self.steps) - 1)
        start = taken(self.times, place)
        share = (q - start) / (taken(self.times, place + 1) - start)
        share = np.where((q >= self.times[0]) & (q <= self.times[-1]), share, np.nan)
        turned = Rotation.from_rotvec(share[..., None] * taken(self.steps, place))
        found: Rotation = self.rotations[place] * turned
        return found


def __getattr__(name: str) -> Any:
    found = attribute_of(_scipy, name)
    # Its code over the rotations of this module.
    return functions["redirect"](found) if name == "RigidTransform" else found
