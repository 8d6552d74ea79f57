"""Subclasses of NumPy's array in adopted code: their own operators, attributes and answers to functions."""

import pickle
import warnings

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.array_subclasses import is_array_subclass
from funcgrad.adoption.redirect import redirect

pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


class Labeled(np.ndarray):
    """An array with an attribute, as NumPy's guide to subclasses has it."""

    def __new__(cls, values, label=None):
        made = np.asarray(values).view(cls)
        made.label = label
        return made

    def __array_finalize__(self, source):
        if source is None:
            return
        self.label = getattr(source, "label", None)

    def norm(self):
        return np.sqrt((self * self).sum())


class Filled(np.ndarray):
    def __new__(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None, by=1.0):
        made = super().__new__(cls, shape, dtype, buffer, offset, strides, order)
        made.by = by
        return made

    def __array_finalize__(self, source):
        self.by = getattr(source, "by", None)


class Length(np.ndarray):
    """An array with a factor, by its answer to ufuncs, which tells them apart by identity."""

    def __new__(cls, values, factor=1.0):
        made = np.asarray(values, dtype=float).view(cls)
        made.factor = factor
        return made

    def __array_finalize__(self, source):
        self.factor = getattr(source, "factor", 1.0)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Length) else x for x in inputs]
        made = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        if made is NotImplemented:
            return made
        if ufunc is np.multiply:
            return Length(made, np.prod([getattr(x, "factor", 1.0) for x in inputs]))
        return Length(made, self.factor)

    def value(self):
        return np.asarray(self) * self.factor


class Vector(np.ndarray):
    def __new__(cls, x=0.0, y=0.0, z=0.0):
        return np.array([x, y, z], dtype=float).view(cls)

    @property
    def x(self):
        return self[0]

    @x.setter
    def x(self, value):
        self[0] = value

    def dot(self, other):
        return float(np.dot(np.asarray(self), np.asarray(other)))

    def cross(self, other):
        return np.cross(self, other).view(Vector)

    def __mul__(self, other):
        return self.dot(other) if isinstance(other, Vector) else np.ndarray.__mul__(self, other)


class Doubling(np.ndarray):
    """An array whose entries are twice what is stored, and which answers NumPy's functions."""

    def __new__(cls, values):
        return np.asarray(values, dtype=float).view(cls)

    def __array_function__(self, function, types, args, kwargs):
        found = super().__array_function__(function, types, args, kwargs)
        return 7.0 * found if function is np.mean else found

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return found * 2 if np.ndim(found) == 0 else found

    def __setitem__(self, index, value):
        super().__setitem__(index, value * 2)


class Reflecting(np.ndarray):
    def __mul__(self, other):
        return 10 * np.asarray(self) * np.asarray(other)

    def __rmul__(self, other):
        return 100 * np.asarray(self) * np.asarray(other)


class Refusing(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


class Handling:
    """No array, but its answers to NumPy's functions, which are told apart by identity and in a table."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.values if isinstance(x, Handling) else x for x in inputs]
        made = getattr(ufunc, method)(*plain, **kwargs)
        return Handling(made * 2 if ufunc is np.multiply or ufunc in (np.sin, np.cos) else made)

    def __array_function__(self, function, types, args, kwargs):
        return TABLE[function](*args, **kwargs) if function in TABLE else NotImplemented


TABLE = {np.sum: lambda a: np.sum(a.values) * 3}

CAPTURED = Labeled([1.0, 2.0, 3.0], "kept")
REFLECTING = np.array([1.0, 2.0]).view(Reflecting)


def of_attributes(x):
    a = Labeled(np.array([x, x * x]), "m")
    assert (a * 2).label == "m"
    assert a[:1].label == "m"
    assert type(a + 1) is Labeled
    assert isinstance(a, np.ndarray)
    return (np.sin(a) * a).sum() + a.norm()


def of_captured(x):
    return (
        (CAPTURED * x).sum()
        + (x * CAPTURED)[1]
        + CAPTURED.norm() * x
        + np.dot(CAPTURED, x * CAPTURED)
    )


def of_numbers(x):
    a = Labeled([x, 1.0])
    return Labeled(x) ** 2 + np.mean(a) + np.linalg.norm(a) + np.std(a) + a.max() + np.median(a)


def of_functions(x):
    a = Labeled([[x, 1.0], [2.0, x * x]])
    solved = np.linalg.inv(a).sum() + np.linalg.solve(a, np.ones(2)).sum()
    joined = np.concatenate([a, a]).sum() + np.stack([a, a]).sum() + np.where(a > 1, a, 0).sum()
    return a.T.dot(a).trace() + solved + joined + (a > 1).sum() * x + a.reshape(-1)[1:].sum()


def of_shape(x):
    a = Filled(3, by=2.0)
    a[:] = x
    a[1] *= x
    b = Filled((2, 2), buffer=np.array([x, 1.0, 2.0, x]))
    return (a @ a) + a.prod() * a.by + b[0, 0] * b[1, 1]


def of_ufuncs(x):
    u = Length([x, 2.0], 3.0) * Length([1.0, x], 2.0)
    v = Length([x, 2.0], 3.0)
    v += x
    v *= 2
    sums = np.sum(v).value() + v.sum().value() + v.max().value() + v.mean().value()
    return u.value().sum() + np.exp(u).value().sum() + sums + (-v).value().sum() + v[0] * x


def of_vectors(x):
    v, w = Vector(x, 1, 2), Vector(1, x, x)
    v.x = x * x
    return v * w + v.cross(w)[1] + (v * 2.0).x


def of_array_functions(x):
    a = Doubling([x, 2.0, 3.0])
    a[1] = x * x
    b = a.copy()
    b += x
    b[2] = x
    return np.mean(a) + a[0] + np.sum(b) + (a**2).sum() + (2 - b).max() + (1 / a)[1] + (a @ b)


def of_other_classes(x):
    a = Handling([x, 1.0])
    return np.sum(np.multiply(a, x)) + np.sin(a).values.sum() + np.add.reduce(a).values


def of_matrices(x):
    a, b = np.matrix([[x, 1.0], [2.0, x * x]]), np.matrix([1.0, 2.0]).T
    c = np.bmat([[a, a], [a, a]])
    of_parts = a[0].sum() + a[:, 1].mean() + np.multiply(a, a).sum() + a.A1[0] + a.A[1, 1]
    return (a.I * b)[0, 0] + (a * a)[1, 1] + (b.T * a * b).item() + (c * c.T)[0, 1] + of_parts


def of_matrix_factors(x):
    a = np.matrix([[x + 3.0, 1.0], [1.0, x * x + 2.0]])
    q, r = np.linalg.qr(a)
    u, s, vh = np.linalg.svd(a)
    lengths, vectors = np.linalg.eigh(a)
    below = np.linalg.cholesky(a)
    assert all([isinstance(y, np.matrix) for y in (q, r, u, vh, vectors, below)])
    assert not any([isinstance(y, np.matrix) for y in (s, lengths)])
    again = (q * r) + (u * np.matrix(np.diag(s)) * vh) + below * below.T
    assert np.shape((vectors.T * vectors)[0, 0]) == ()
    found = np.abs(np.linalg.qr(a, mode="r")).sum() + np.linalg.svd(a, compute_uv=False)[0]
    places = a.argmax() + a.argmin(0)[0, 1] + a.argmax(axis=1)[0, 0]
    return (again**2).sum() + lengths[0] ** 3 + np.linalg.eigvalsh(a)[1] + found + x * places


def of_matrix_trace(x):
    return (np.matrix([[x, 1.0], [2.0, x * x]]).H * np.matrix([[x], [1.0]])).T.trace()[0, 0]


def of_matrix_stores(x):
    a = np.matrix("1 2; 3 4", dtype=float)
    a[0, 1] = x
    a[1] *= x
    v = a.sum(axis=1)
    found = (
        (v.T * v)[0, 0] + np.trace(a) + a.max() + np.linalg.norm(a) + sum(a.flat) + a.tolist()[0][1]
    )
    return (
        found
        + np.array(a).sum()
        + np.vstack([a, a]).sum()
        + a.std()
        + a.ravel()[0, 2]
        + (a**3).sum()
    )


def of_filter(x):
    """A Kalman filter as code of the time of MATLAB has it."""
    state, covariance = np.asmatrix(np.zeros((2, 1))), np.asmatrix(np.eye(2))
    step, seen = np.asmatrix([[1.0, x], [0.0, 1.0]]), np.asmatrix([[1.0, 0.0]])
    for z in (1.0, 2.0, 3.0):
        state, covariance = step * state, step * covariance * step.T + 0.1 * np.asmatrix(np.eye(2))
        gain = covariance * seen.T * np.linalg.inv(seen * covariance * seen.T + x)
        state = state + gain * (z - seen * state)
        covariance = (np.asmatrix(np.eye(2)) - gain * seen) * covariance
    return float(state[0, 0]) + state[1, 0]


PROGRAMS = [value for name, value in list(globals().items()) if name.startswith("of_")]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives_are_those_of_differences(f):
    x, step = 0.7, 1e-5
    numbers = np.asarray(f(x)).item()
    slope = (np.asarray(f(x + step)).item() - np.asarray(f(x - step)).item()) / (2 * step)
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(np.asarray(value), numbers, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    np.testing.assert_allclose(np.asarray(fg.jvp(f, (x,), (1.0,))[1]), slope, rtol=1e-7)
    compiled = fg.jit(fg.grad(f))
    np.testing.assert_allclose([compiled(x), compiled(x)], slope, rtol=1e-7)
    further = (fg.grad(f)(x + step) - fg.grad(f)(x - step)) / (2 * step)
    np.testing.assert_allclose(fg.grad(fg.grad(f))(x), further, rtol=1e-6)
    mapped = fg.vmap(fg.grad(f))(np.array([x, 0.9]))
    np.testing.assert_allclose(mapped, [fg.grad(f)(x), fg.grad(f)(0.9)], rtol=1e-10)


def test_the_operators_of_a_subclass_go_first():
    for f, expected in (
        (lambda x: x * REFLECTING, 100.0),
        (lambda x: REFLECTING * x, 10.0),
        (lambda x: np.ones(2) * x * REFLECTING, 100.0),
        (lambda x: 2.0 * REFLECTING * x, 200.0),
    ):
        value, tangent = fg.jvp(f, (3.0,), (1.0,))
        np.testing.assert_array_equal(value, 3.0 * expected * np.array([1.0, 2.0]))
        np.testing.assert_array_equal(tangent, expected * np.array([1.0, 2.0]))
        np.testing.assert_array_equal(f(3.0), value)


def test_a_subclass_that_refuses_a_ufunc_is_heard():
    q = np.array([1.0, 2.0]).view(Refusing)
    for f in (
        lambda x: x * q,
        lambda x: q + x,
        lambda x: np.multiply(x, q),
        lambda x: np.sin(q) * x,
    ):
        with pytest.raises(TypeError, match="returned NotImplemented"):
            fg.grad(lambda x, f=f: np.sum(f(x)))(np.ones(2))
    assert fg.grad(lambda x: np.dot(q, x))(np.ones(2)).tolist() == [1.0, 2.0]


def test_results_keep_their_class_and_attributes():
    def f(x):
        return Labeled([x, x * x], "area")

    for made in (fg.jit(f)(3.0), *fg.jvp(f, (3.0,), (1.0,)), fg.jacobian(f)(3.0), fg.adopt(f)(3.0)):
        assert type(made) is Labeled
        assert made.label == "area"
    assert fg.jacobian(f)(3.0).tolist() == [1.0, 6.0]
    assert fg.vmap(f)(np.array([1.0, 2.0])).label == "area"
    m = fg.jit(lambda x: np.matrix([[x, 1.0], [2.0, x]]))(3.0)
    assert type(m) is np.matrix
    assert (m * m).tolist() == [[11.0, 6.0], [12.0, 11.0]]


class Scale:
    """An attribute that is compared by identity."""

    def __init__(self, parts=()):
        self.parts = list(parts)

    def times(self, other):
        return Scale([*(self.parts or [self]), *(other.parts or [other])])


METERS, SECONDS = Scale(), Scale()


def test_objects_in_results_are_the_originals():
    def f(x):
        made = Labeled([x, 1.0], METERS)
        made.both = METERS.times(SECONDS)
        return made

    for found in (fg.jit(f)(3.0), fg.adopt(f)(3.0), fg.jvp(f, (3.0,), (1.0,))[1]):
        assert found.label is METERS
        assert type(found.both) is Scale
        assert found.both.parts[0] is METERS
        assert found.both.parts[1] is SECONDS


def test_a_class_without_a_module_is_as_it_is():
    space = {"np": np}
    exec("class Bare(np.ndarray):\n    pass", space)
    bare = np.arange(2.0).view(space["Bare"])
    assert fg.grad(fg.adopt(lambda x: x * bare.sum()))(2.0) == 1.0


class Slotted(np.ndarray):
    __slots__ = ("unit",)

    def __array_finalize__(self, source):
        self.unit = getattr(source, "unit", 3.0)


REGISTERED = []


class Registering(np.ndarray):
    def __init_subclass__(cls, **kwargs):
        REGISTERED.append(cls)
        super().__init_subclass__(**kwargs)


class Registered(Registering):
    def squared(self):
        return self * self


def test_slots_are_attributes():
    def f(x):
        made = np.array([x, 2.0]).view(Slotted)
        made.unit = 5.0
        return made * x

    assert fg.grad(lambda x: np.asarray(f(x)).sum() * f(x).unit)(3.0) == 40.0
    found = fg.jit(f)(3.0)
    assert type(found) is Slotted
    assert found.unit == 5.0
    kept = np.ones(2).view(Slotted)
    kept.unit = 7.0
    assert fg.grad(fg.adopt(lambda x: (kept * x).sum() * kept.unit))(2.0) == 14.0


def test_adopted_classes_are_not_registered():
    def f(x):
        return np.asarray(np.array([x, 2.0]).view(Registered).squared()).sum() * len(REGISTERED)

    assert fg.grad(f)(3.0) == 6.0
    assert [Registered] == REGISTERED


def test_a_batch_of_matrices_is_an_array():
    made = fg.vmap(lambda x: np.matrix([[x, 1.0]]))(np.array([1.0, 2.0]))
    assert type(made) is np.ndarray
    assert made.shape == (2, 1, 2)


def test_traced_attributes_are_parts_of_results():
    def f(x):
        made = Labeled([x, 1.0])
        made.label = x * x
        return made

    value, tangent = fg.jvp(f, (3.0,), (1.0,))
    assert (value.label, tangent.label) == (9.0, 6.0)


def test_texts_show_the_values_at_the_call():
    shown = []

    def f(x):
        a = Labeled([x, 2.0], "m")
        shown.extend([str(a), f"{a}", repr(a)])
        return a.sum()

    fg.grad(f)(3.0)
    assert shown[:2] == ["[3. 2.]", "[3. 2.]"]
    assert shown[2].startswith("Labeled(")


class Image(np.ndarray):
    """An array with metadata, whose reductions are numbers."""

    def __array_wrap__(self, array, context=None):
        return array.dtype.type(array) if array.ndim == 0 else array.view(Image)


class Point(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array[()] if return_scalar else type(self)(array)


class Mixin:
    def size_of(self):
        return np.sqrt(np.sum(np.asarray(self) ** 2))


class Mixed(Point, Mixin):
    pass


def test_a_result_is_wrapped_as_the_class_does_it():
    image = np.arange(4.0).view(Image)
    assert fg.grad(lambda x: np.sum(image * x) + float(x))(2.0) == 7.0
    assert fg.grad(lambda x: np.array([x, 2.0]).view(Image).sum())(2.0) == 1.0
    assert fg.grad(lambda x: (Point([x, 2.0]) * Point([x, x])).sum())(2.0) == 6.0
    np.testing.assert_allclose(fg.grad(lambda x: Mixed([x, 4.0]).size_of())(3.0), 0.6)
    assert not is_array_subclass(np.memmap)


def test_classes_of_the_adopted_code_stand_for_the_originals():
    adopted = redirect(Labeled)
    assert adopted is not Labeled
    assert redirect(Labeled) is adopted
    assert redirect(CAPTURED) is redirect(CAPTURED)
    assert fg.grad(fg.adopt(lambda x: x * (type(CAPTURED) is Labeled)))(1.0) == 1.0


def test_a_method_follows_a_change_of_its_module():
    with pytest.MonkeyPatch.context() as patch:
        assert fg.grad(of_attributes)(0.7) != 0.0
        patch.setattr(Labeled, "norm", lambda self: 3.0 * self.sum())
        assert fg.grad(lambda x: Labeled([x, x]).norm())(0.7) == 6.0
    np.testing.assert_allclose(fg.grad(lambda x: Labeled([x, x]).norm())(0.7), np.sqrt(2.0))


def test_parts_of_a_buffer_are_refused():
    def f(x):
        return Filled((1,), buffer=np.array([x, 2.0]), offset=8).sum()

    with pytest.raises(TypeError, match=r"Filled: expected a shape, a dtype and an order; write"):
        fg.grad(f)(1.0)


class Layers(list):
    """A list of functions, with a method: its items are adopted where it is met."""

    def run(self, x):
        for layer in self:
            x = layer(x)
        return x


LAYERS = Layers([np.tanh, lambda x: __import__("math").sin(x)])


def test_items_of_a_subclass_of_list_are_adopted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fg.grad(lambda x: LAYERS.run(x))(0.5)
    np.testing.assert_allclose(found, np.cos(np.tanh(0.5)) * (1 - np.tanh(0.5) ** 2), rtol=1e-12)


class Fields(np.ndarray):
    """A structured array."""

    def __new__(cls, n):
        made = super().__new__(cls, (n,), dtype=[("a", float), ("b", float)])
        made["a"], made["b"] = 2.0, 3.0
        return made

    def line(self, x):
        return (self["a"] * x + self["b"]).sum() if isinstance(x, float) else 0.0 * x


def test_instances_with_fields_are_refused():
    held = Fields(2)
    for f in (lambda x: held.line(x), lambda x: Fields(2).line(x)):
        assert f(1.5) == 12.0
        with pytest.raises(
            TypeError, match="Fields: expected an array of numbers, since instances of subclasses"
        ):
            fg.grad(f)(1.5)


class Components(np.ndarray):
    """Arrays of different shapes, by name."""

    def __new__(cls, items):
        made = np.ndarray.__new__(cls, len(items), dtype=object)
        for i, item in enumerate(items):
            made[i] = item
        return made

    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", "m")

    def __getitem__(self, index):
        return np.ndarray.__getitem__(self.view(np.ndarray), index)

    @property
    def x(self):
        return self[0]

    def apply(self, function):
        return Components([function(item) for item in self])

    def asks(self, x):
        return self.x.sum() * x if isinstance(x, float) else 0.0 * x


GRID = Components([np.array([[1.0, 2.0, 4.0]]), np.array([[0.5], [1.5]])])
GRID.unit = "km"
OF_OBJECTS = {
    "held": lambda x: GRID.asks(x) + (GRID.x * x).sum() + len(GRID.unit) * x,
    "less a number": lambda x: np.linalg.norm(GRID - x).sum(),
    "less an array": lambda x: np.linalg.norm(GRID - np.array([x, 2.0 * x])).sum(),
    "from an array": lambda x: (np.array([x, 2.0 * x]) - GRID).x.sum() * len((x - GRID).unit),
    "inner": lambda x: np.exp(-np.inner(GRID - x, np.array([x, 0.3]))).sum(),
    "dot": lambda x: np.dot(np.array([x, 0.3]), GRID).sum(),
    "made": lambda x: Components([np.array([x, 1.0]), x]).apply(np.sin).x.sum(),
    "stored": lambda x: stored_objects(Components([1.0, 2.0]), x),
    "viewed": lambda x: (np.array([x, x * x], dtype=object).view(Components) * 2.0).x * x,
    "class": lambda x: x * isinstance(GRID * x, Components) * (type(GRID) is Components),
}


def stored_objects(made, x):
    made[1] = x * x
    return made[1] * made.x


@pytest.mark.parametrize("f", OF_OBJECTS.values(), ids=OF_OBJECTS.keys())
def test_instances_that_hold_objects_take_traced_values(f):
    x, step = 0.7, 1e-5
    slope = (f(x + step) - f(x - step)) / (2 * step)
    value, gradient = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jvp(f, (x,), (1.0,))[1], slope, rtol=1e-7)


def test_instances_that_hold_objects_come_back_as_originals():
    made = fg.adopt(lambda: GRID * 2.0)()
    assert type(made) is Components
    assert made.unit == "km"
    assert type(pickle.loads(fg.adopt(lambda: pickle.dumps(GRID))())) is Components
    same = fg.adopt(lambda: GRID)()
    assert type(same) is Components
    assert np.shares_memory(same, GRID)


def test_methods_in_c_of_a_class_do_not_read_the_memory_of_adopted_instances():
    # That of items of astropy's columns reads the fields of NumPy's array: on other memory it crashed.
    table = pytest.importorskip("astropy.table")

    @fg.adopt
    def entries(x):
        column = table.Column([1.0, 2.0, 3.0]) * x + table.Column([1.0, 0.0, 0.0])
        return column[1] * x + column[1:][0] + column[np.array([2, 0])][1]

    @fg.adopt
    def stored(x):
        column = table.Column([1.0, 2.0, 3.0])
        column[1:][0] = x
        column[2] = column[1] * 2
        return column.sum() * column[0]

    @fg.adopt
    def masked(x):
        column = table.MaskedColumn([1.0, 2.0, 3.0], mask=[False, True, False])
        return column[0] * x + column[2] * x + column.sum() * x

    for f, value, slope in [(entries, 28.0, 15.0), (stored, 10.0, 3.0), (masked, 24.0, 8.0)]:
        for _ in range(5):
            assert fg.value_and_grad(f)(3.0) == (value, slope)


class Named(np.ndarray):
    """Attributes are entries by name, or stand in a dict that exists once the instance is made."""

    names = ("x", "y")

    def __new__(cls, entries, unit):
        made = np.ndarray.__new__(cls, (2,), buffer=np.array([float(v) for v in entries]))
        object.__setattr__(made, "_data", {"unit": unit})
        return made

    def __array_finalize__(self, other):
        if other is not None:
            object.__setattr__(self, "_data", dict(other._data) if isinstance(other, Named) else {})

    def __getattr__(self, name):
        return self[self.names.index(name)] if name in self.names else self._data[name]

    def __setattr__(self, name, value):
        if name in self._data:
            self._data[name] = value
        else:
            self[self.names.index(name)] = value


def test_a_class_that_sets_its_attributes_itself():
    @fg.adopt
    def f(x):
        place = Named([x, 2.0], 3.0)
        place.y = place.x * place.unit
        place.unit = place.y
        return (place * place).sum() + place.unit

    assert fg.value_and_grad(f)(2.0) == (46.0, 43.0)
    assert fg.jit(f)(2.0) == 46.0
