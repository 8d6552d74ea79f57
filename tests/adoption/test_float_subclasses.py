"""Classes that derive from ``float`` in adopted code: units, angles, values with a name."""

import abc
import copy
import enum
import math
import pickle
import statistics
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.adoption.redirect import redirect


class Named:
    _name = ""

    @property
    def name(self):
        return self._name

    def __str__(self):
        return f"{self.name} {float(self):.3f}"


class Meter(float, Named):
    """A value with a name: the options are those of its ``__new__``."""

    made = 0

    def __new__(cls, value, name="", low=None):
        try:
            self = float.__new__(cls, value)
            if low is not None and self < low:
                raise ValueError("low")
        except (TypeError, ValueError) as error:
            raise ValueError(str(error)) from error
        if name:
            self._name = name
        return self

    @classmethod
    def of_km(cls, value):
        cls.made = cls.made + 1
        return cls(value * 1000)

    @staticmethod
    def half(value):
        return value / 2

    def in_km(self):
        return Meter(self * 0.001, name=self._name)


class Angle(float):
    def __new__(cls, value):
        return super().__new__(cls, value % 360.0)

    def __add__(self, other):
        return Angle(float(self) + other)

    __radd__ = __add__

    def __sub__(self, other):
        return type(self)(super().__sub__(other))

    def __rsub__(self, other):
        return self.__class__(super().__rsub__(other))

    def __mul__(self, other):
        return Angle(float.__mul__(self, other))

    __rmul__ = __mul__

    @property
    def rad(self):
        return math.radians(self)


class Signed(Angle):
    def __new__(cls, value):
        self = super().__new__(cls, value)
        return float.__new__(cls, float(self) - 360.0) if self > 180.0 else self


class Bare(float):
    pass


class Doubled(float):
    def __init__(self, value):
        self.twice = 2.0 * self


class WithSlot(float):
    __slots__ = ("unit",)

    def __new__(cls, value, unit="m"):
        self = super().__new__(cls, value)
        self.unit = unit
        return self

    def __mul__(self, other):
        return WithSlot(float(self) * float(other), f"{self.unit}*{other.unit}")


class Area(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Side(float, Area):
    def area(self):
        return self**2


class Level(float):
    def __float__(self):
        return 10.0 ** (float.__pos__(self) / 10.0)


class Ours(float):
    """Operators that say who was asked."""

    def __radd__(self, other):
        return 100.0 * (float.__pos__(self) + other)


class Base(float):
    def doubled(self):
        return self + self


class Derived(Base):
    def __radd__(self, other):
        return 7.0 * float.__add__(self, other)


class Fixed(float):
    def __new__(cls, value, unit="m"):
        self = super().__new__(cls, value)
        object.__setattr__(self, "unit", unit)
        return self

    def __setattr__(self, name, value):
        raise AttributeError(name)

    def __getattr__(self, name):
        if name.startswith("in_"):
            return self * float(name[3:])
        raise AttributeError(name)


class Answering(float):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [float(x) if isinstance(x, Answering) else x for x in inputs]
        return 2.0 * getattr(ufunc, method)(*plain, **kwargs)


class Counting(type):
    def __call__(cls, *args):
        return super().__call__(*args)


class Counted(float, metaclass=Counting):
    def squared(self):
        return self * self


T = TypeVar("T")


class Typed(float, Generic[T]):
    @cached_property
    def exponential(self):
        return math.exp(self)


class Other(float):
    """Operators that are not those of numbers."""

    def __lt__(self, other):
        return float(self) > float(other)

    def __bool__(self):
        return float(self) > 0.65

    def __abs__(self):
        return 3 * float(self)

    def __neg__(self):
        return 5 * float(self)

    def __pow__(self, other):
        return float(self) * other

    def __rpow__(self, other):
        return float(self) + other

    def __truediv__(self, other):
        return float(self) - other

    def __iadd__(self, other):
        return 10 * float(self) + other

    def __divmod__(self, other):
        return float(self), other

    def __call__(self, x):
        return self * x

    def __getitem__(self, i):
        return self * i

    def __iter__(self):
        return iter([self * 1, self * 2])

    def __enter__(self):
        return self * 2

    def __exit__(self, *args):
        return False


def other_operators(x):
    total = Other(x)
    total += x
    with Other(x) as twice:
        total = total * twice
    total = total + Other(x) ** 3.0 + 3.0 ** Other(x) - Other(x) / 2.0 + divmod(Other(x), 2.0)[0]
    total = total + abs(Other(x)) + -Other(x) + Other(x)(x) + Other(x)[2] + sum(Other(x))
    return total * (2.0 if Other(x) and Other(x) < x - 1 else 3.0)


def loops(x):
    total, _ = fg.scan(lambda c, y: (Bare(c * y), 2 * c), Bare(x), np.array([1.0, 2.0]))
    total = total * fg.fori_loop(0, 3, lambda i, c: c * x, Bare(x))
    total = total + fg.cond(x > 0, lambda q: Meter(q).in_km(), lambda q: q * 1.0, Bare(x))
    return total + fg.checkpoint(lambda q: math.sin(q))(Bare(x))


def local(x):
    class Degree(float):
        scale = 2.0

        def __new__(cls, value):
            return super().__new__(cls, value * cls.scale)

        def sine(self):
            return math.sin(self)

    class Flag(float, enum.Enum):
        ON = 2.0

    return Degree(x).sine() + Degree(1.0).sine() * Degree(x) * Flag.ON.value


def local_of_metaclass(x):
    class Height(float, abc.ABC):
        def squared(self):
            return self * self

    return Height(x).squared()


def answers(x):
    q = Meter(x)
    right = [
        *(isinstance(q, float), isinstance(q, Meter), isinstance(q, Named), type(q) is Meter),
        *(isinstance(q, int | float), not isinstance(q, Angle), issubclass(type(q), float)),
        *(q == x, q != x + 1, q < 5.0, q <= x, x >= q, q > 0.0, bool(q), not q.is_integer()),
        *(q.real == x, q.imag == 0.0, q.conjugate() == x, int(q) == int(x), abs(-q) == x),
        *(math.floor(q) == math.floor(x), math.trunc(q) == 0, q.made >= 0),
        *(hasattr(q, "in_km"), not hasattr(q, "shape"), q.made == Meter.made, f"{q:.2f}" == "0.70"),
        *("%.1f" % q == "0.7", str(Meter(x, "w")) == "w 0.700", Meter(x, "w").name == "w"),  # noqa: UP031
    ]
    return q * sum(right)


class Turns(float):
    """Python gives keyword arguments to ``__init__`` alone."""

    def __init__(self, value=0.0, count=1.0):
        self.count = count


class Twofold(float):
    def __float__(self):
        return float.__float__(self) * 2.0


def numbers_of_math(x):
    """Compiled functions read the number of an instance, and ask no operator."""
    total = math.fsum([Ours(x), x * x, Ours(2.0)]) + math.dist([Signed(x), 2.0], [Ours(3.0), x])
    total = total + math.remainder(Other(3.0), x) + 2.0 * complex(Ours(1.0), x).imag
    return total * (1.0 if math.isclose(x, Other(0.7), rel_tol=0.1) else 2.0)


def results_of_statistics(x):
    """The numbers are added exactly, and results of means and variances are of their class."""
    data = [Angle(300.0 + x), Angle(200.0 + x * x), 1.0]
    total = (statistics.mean(data) + 200.0) * statistics.fmean(data)
    total = total + (statistics.variance(data) + 5.0) * (statistics.pvariance(data, 190.0) + x)
    total = total + statistics.stdev(data) * statistics.harmonic_mean([Angle(x)])
    return total + statistics.harmonic_mean(data[:2]) + statistics.fmean([Ours(x), x], [2.0, x])


PROGRAMS = {
    "name": lambda x: Meter(x, name="q", low=0.0) ** 2,
    "methods": lambda x: Meter(x).in_km() * Meter(x) + Meter.half(Meter(x)),
    "class method": lambda x: Meter.of_km(x) * 2 + Meter(x).of_km(x),
    "math": lambda x: math.sin(Meter(x)) + math.atan2(Meter(x), Meter(2.0)) + math.fsum([Meter(x)]),
    "numpy": lambda x: np.sin(Meter(x)) * np.hypot(np.exp(Meter(2.0) * x), Meter(x)),
    "numpy's types": lambda x: np.float64(Meter(x)) * np.complex128(Bare(x)).real,
    "float": lambda x: float(Meter(x)) * complex(Meter(x)).real,
    "captured": lambda x: Angle(350.0) + x * 40.0,
    "left": lambda x: 40.0 * x + Angle(350.0),
    "operators": lambda x: 2.0 * Angle(x) + Angle(359.9) * x - 3.0,
    "reflected": lambda x: (3.0 - Angle(x)) + (Meter(1.0) - Meter(x)),
    "property": lambda x: Angle(400.0 * x).rad,
    "new": lambda x: Signed(x + 200.0) + 1.5,
    "super": lambda x: Signed(x) + 400.0,
    "bare": lambda x: Bare(x) * Bare(3.0) + Bare(x) ** 2 / Bare(x) - Bare(x) % 0.3,
    "init": lambda x: Doubled(x).twice * x,
    "slot": lambda x: WithSlot(x) * WithSlot(2.0 * x, "s"),
    "slot read": lambda x: x * x if (WithSlot(x) * WithSlot(x, "s")).unit == "m*s" else x,
    "abstract": lambda x: Side(x).area() + Side(2.0).area() * x,
    "own float": lambda x: float(Level(x)) + float(Level(2.0)) * x,
    "subclass first": lambda x: (Base(x) + Derived(2.0)) + (Base(2.0) + Derived(x)),
    "asked first": lambda x: Bare(x) + Ours(2.0 * x),
    "same class": lambda x: Ours(2.0) + Ours(x),
    "sums": lambda x: sum([Meter(x), Meter(2 * x)]) * max(Meter(x), Meter(0.0)),
    "arrays": lambda x: (
        np.sum(np.array([Meter(x), 2.0, x]) ** 2) + np.sum(np.arange(3.0) * Meter(x))
    ),
    "array first": lambda x: (Meter(x) * np.ones(3) + np.ones(3) / Meter(x)).sum(),
    "numpy's scalar": lambda x: np.float64(2.0) * Angle(200.0 + x) + np.float64(2.0) * Meter(x),
    "unbound": lambda x: float.__add__(Meter(x), Meter(x)) * float.__radd__(Bare(2.0), x),
    "class": lambda x: Meter(x).__class__(x) * type(Angle(x))(x),
    "again": lambda x: Meter(Meter(x, name="a")).in_km(),
    "copies": lambda x: copy.copy(Meter(x)) * copy.deepcopy(Meter(x, name="e")),
    "store": lambda x: np.where(x > 0, Meter(x), 1.0) * np.clip(Bare(x), 0.0, 2.0),
    "local": local,
    "local of a metaclass": local_of_metaclass,
    "fixed": lambda x: Fixed(x).in_5 * (1.0 if Fixed(x, "s").unit == "s" else 7.0),
    "answering": lambda x: np.sin(Answering(x)) + np.add(Answering(x), np.ones(2)).sum(),
    "metaclass": lambda x: Counted(x).squared() * Counted(2.0).squared(),
    "generic": lambda x: Typed[int](x).exponential * Typed(x),
    "other operators": other_operators,
    "loops": loops,
    "answers": answers,
    "numbers of math": numbers_of_math,
    "results of statistics": results_of_statistics,
    "init by keyword": lambda x: Turns(x, count=x).count * Turns(x),
    "float of float": lambda x: float(Twofold(x)) * x,
}
AT = 0.7


@pytest.fixture(params=PROGRAMS.values(), ids=PROGRAMS.keys())
def program(request):
    return request.param


def slope(f, h=1e-4):
    return (8 * (f(AT + h) - f(AT - h)) - (f(AT + 2 * h) - f(AT - 2 * h))) / (12 * h)


def plain(f):
    return lambda x: float.__pos__(float(f(x))) if type(f(x)) is not float else f(x)


def test_values_and_derivatives(program):
    value, found = fg.value_and_grad(program)(AT)
    np.testing.assert_allclose(value, float.__pos__(float(program(AT))), rtol=1e-13)
    np.testing.assert_allclose(found, slope(plain(program)), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jvp(program, (AT,), (1.0,))[1], found, rtol=1e-12)
    np.testing.assert_allclose(fg.jacobian(program)(AT), found, rtol=1e-12)


def test_second_derivatives(program):
    second = fg.hessian(program)(AT)
    np.testing.assert_allclose(second, slope(fg.grad(program)), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(fg.grad(fg.grad(program))(AT), second, rtol=1e-12, atol=1e-12)


def test_jit_gives_what_plain_code_gives(program):
    jitted, expected = fg.jit(program), program(AT)
    for _ in range(2):
        found = jitted(AT)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        if not isinstance(expected, np.floating):
            assert type(found) is type(expected)
            assert getattr(found, "__dict__", {}) == getattr(expected, "__dict__", {})
            assert getattr(found, "unit", None) == getattr(expected, "unit", None)
    np.testing.assert_allclose(fg.jit(fg.grad(program))(AT), fg.grad(program)(AT), rtol=1e-13)


def test_batches(program):
    many = np.array([AT, AT + 0.01])
    one = [float.__pos__(float(program(x))) for x in many]
    np.testing.assert_allclose(fg.vmap(program)(many), one, rtol=1e-13)
    slopes = fg.vmap(fg.grad(program))(many)
    np.testing.assert_allclose(slopes, [fg.grad(program)(x) for x in many], rtol=1e-12)


def test_arguments_keep_their_class():
    turned = lambda q: (q + 20.0) * 1.0  # noqa: E731
    value, found = fg.value_and_grad(turned)(Angle(350.0))
    assert (value, found, type(found)) == (10.0, 1.0, float)
    primal, tangent = fg.jvp(turned, (Angle(350.0),), (2.0,))
    assert (primal, tangent) == (10.0, 2.0)
    assert type(primal) is Angle
    assert fg.vjp(turned, Angle(350.0))[1](1.0) == (1.0,)
    assert fg.jit(turned)(Angle(350.0)) == 10.0
    assert fg.jit(fg.value_and_grad(turned))(Angle(350.0)) == (10.0, 1.0)
    assert fg.grad(lambda q: q.in_km() * (1.0 if q.name == "w" else 2.0))(Meter(3.0, "w")) == 0.001
    assert fg.grad(lambda q: (q * q) if q.unit == "s" else 0.0 * q)(WithSlot(3.0, "s")) == 6.0
    assert fg.hessian(lambda q: q * q * 0.5)(Bare(3.0)) == 1.0
    assert fg.grad(lambda p: p["q"].in_km() * p["x"])({"q": Meter(2.0), "x": 3.0}) == {
        "q": 0.003,
        "x": 0.002,
    }


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324])
def test_special_values(value):
    np.testing.assert_equal(fg.value_and_grad(lambda x: Bare(x) * 1.0)(value), (value * 1.0, 1.0))
    assert math.copysign(1.0, fg.jit(Bare)(value)) == math.copysign(1.0, value)


def test_python_asks_the_right_operand_first():
    f = lambda x: 2.0 * x + Ours(x) + Ours(1.0)  # noqa: E731
    assert fg.value_and_grad(f)(3.0) == (f(3.0), 30000.0)
    assert fg.value_and_grad(lambda x: x + Ours(2.0))(3.0) == (500.0, 100.0)
    assert fg.value_and_grad(lambda x: 1.0 + Ours(x))(3.0) == (400.0, 100.0)


def test_attributes_may_be_traced():
    doubled = fg.jit(Doubled)(3.0)
    assert (type(doubled), doubled, doubled.twice) == (Doubled, 3.0, 6.0)
    assert fg.grad(lambda x: Doubled(x * x).twice)(3.0) == 12.0


def test_class_attributes_are_those_of_now():
    before = Meter.made
    fg.grad(lambda x: Meter.of_km(x) + Meter(x).of_km(x).made)(0.7)
    assert Meter.made == before + 2


def test_plain_numbers_are_pythons_own():
    for kind in (Meter, Angle, Bare):
        made = fg.adopt(lambda kind=kind: kind(0.5))()
        assert type(made) is kind
        assert pickle.loads(pickle.dumps(made)) == 0.5
        assert isinstance(redirect(kind)(0.5), float)
    assert redirect(Meter)("0.5") == 0.5
    with pytest.raises(ValueError, match="low"):
        fg.grad(lambda x: Meter(x, low=1.0))(0.7)
    with pytest.raises(ValueError, match="could not convert string to float"):
        fg.grad(lambda x: Meter("a") * x)(0.7)


class Whole(int):
    def __add__(self, other):
        return int(self) + 2 * other


class Turned(np.float64):
    def __mul__(self, other):
        return 3.0 * np.float64(self) * other


class Marked(np.float64):
    unit = "m"


def test_arguments_of_other_subclasses_with_operators_are_refused():
    for value in (Whole(3), Turned(2.0)):
        for transform in (fg.grad, fg.jacfwd, fg.hessian):
            with pytest.raises(
                TypeError, match=f"an instance of {type(value).__name__}, whose ope"
            ):
                transform(lambda q: (q + 1.0) * 2.0)(value)
    assert fg.grad(lambda q: q * q)(Marked(2.0)) == 4.0
    assert fg.grad(lambda x: Whole(3) + x)(2.0) == 2.0


def test_what_plain_numbers_are_needed_for_is_refused():
    with pytest.raises(TypeError, match="hash: expected a number to look up"):
        fg.grad(lambda x: {Meter(x): 1.0}[Meter(x)] * x)(0.7)
    with pytest.raises(TypeError, match=r"float\(\): expected a value without a derivative"):
        fg.grad(lambda x: Bare(x).as_integer_ratio()[0] * x)(0.7)
    with pytest.raises(TypeError, match="must be a number"):
        fg.adopt(lambda x: Bare(x + 1j))(fg.var("x"))
