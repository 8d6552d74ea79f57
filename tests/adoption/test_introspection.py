"""Code that looks up the parameters of functions which store globals or handle errors, in adopted code."""

import abc
import inspect
import math
from dataclasses import dataclass, fields
from typing import get_type_hints

import numpy as np
import pytest
from scipy.optimize import curve_fit

import funcgrad as fg

COUNT = 0
X = np.linspace(0.0, 2.0, 9)


def counted(x, a, b=2.0):
    global COUNT
    COUNT += 1
    return a * np.exp(-b * x)


def handled(x, /, a, b=3.0, *rest, c=1.0, d, **named):
    try:
        return (x * a + b * c + d + sum(rest) + sum(named.values())) / x
    except ZeroDivisionError:
        return 0.0


class Ratio:
    def __init__(self, a, b=3.0):
        try:
            self.value = a / b
        except ZeroDivisionError:
            self.value = 0.0


def by_names(x):
    code = Ratio.__init__.__code__
    given = {"a": x, "b": 2.0, "z": 9.0}
    return Ratio(**{name: given[name] for name in code.co_varnames[1 : code.co_argcount]}).value


def by_count(x):
    return x * len(inspect.getfullargspec(counted).args) + len(
        inspect.signature(handled).parameters
    )


def fitted(x):
    return curve_fit(counted, X, x * np.exp(-1.5 * X))[0].sum()


CASES = {
    "names": by_names,
    "count": by_count,
    "curve_fit": fitted,
    "defaults": lambda x: counted(X, x).sum() + counted(X, b=x, a=1.0).sum(),
    "all kinds": lambda x: handled(x, 2.0, 1.0, x, x, d=x, c=2.0, e=x) + handled(x, 3.0, d=2.0),
}


@pytest.mark.parametrize("f", CASES.values(), ids=CASES.keys())
def test_parameters_of_adopted_functions(f):
    slope = (f(0.7 + 1e-4) - f(0.7 - 1e-4)) / 2e-4
    assert f(0.7) == pytest.approx(fg.value_and_grad(fg.adopt(f))(0.7)[0])
    for gradient in (fg.grad(f), fg.grad(fg.adopt(f)), fg.jit(fg.grad(f))):
        assert gradient(0.7) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("f", [counted, handled])
def test_the_signature_is_that_of_the_original(f):
    def parameters(x):
        return inspect.getfullargspec(f) == spec and inspect.signature(f) == signature

    spec, signature = inspect.getfullargspec(f), inspect.signature(f)
    assert fg.adopt(parameters)(1.0)


def test_a_missing_argument_is_an_error_of_the_function():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'a'"):
        fg.adopt(lambda x: counted(x))(1.0)


class Named:
    """Finds its own parts by `dir`, and shares its class with others that have other parts."""

    def __init__(self, **parts):
        vars(self).update(parts)

    def parts(self):
        return [name for name in dir(self) if callable(getattr(self, name)) and name[0] != "_"]

    def __call__(self, x):
        total = sum(getattr(self, name)(x) for name in self.parts() if name != "parts")
        return total if isinstance(x, float) else 100.0 * x


def test_dir_lists_the_attributes_of_the_instance_alone():
    one, two = Named(sine=math.sin), Named(double=lambda x: 2.0 * x, cosine=math.cos)
    for _ in range(2):
        assert fg.grad(lambda x: one(x))(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
        assert fg.grad(lambda x: two(x))(0.5) == pytest.approx(2 - math.sin(0.5), rel=1e-15)
    made = fg.grad(lambda x: Named(tangent=lambda y: 3.0 * y)(x) * len(dir()))
    assert made(0.5) == 3.0


class Plain:
    weight = 1.0

    def __init__(self, x):
        self.x = x

    def summed(self, bases, weight_of):
        return math.sin(self.x) * sum([weight_of(kind) for kind in bases])


class Heavy(Plain):
    weight = 2.0


class Mixed(Heavy, dict):
    pass


def own_weight(kind):
    return vars(kind).get("weight", 0.0)


def listed_weight(kind):
    return kind.__dict__.get("weight", 0.0)


def seen_weight(kind):
    return getattr(kind, "weight", 0.0)


BASES = {
    "itself": lambda kind: [kind],
    "order": lambda kind: type(kind(1.0)).__mro__,
    "mro": lambda kind: kind(1.0).__class__.mro(),
    "getmro": lambda kind: inspect.getmro(kind),
    "bases": lambda kind: kind.__bases__,
    "base": lambda kind: [kind.__base__],
}


@pytest.mark.parametrize("bases", BASES.values(), ids=BASES)
@pytest.mark.parametrize("kind", [Plain, Heavy, Mixed])
@pytest.mark.parametrize(
    "weight_of", [own_weight, listed_weight, seen_weight, lambda kind: len(kind.__name__)]
)
def test_bases_are_those_of_the_original(bases, kind, weight_of):
    def f(x):
        return kind(x).summed(bases(kind), weight_of)

    step = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert fg.value_and_grad(fg.adopt(f))(0.7)[0] == pytest.approx(f(0.7))
    assert fg.jit(fg.grad(fg.adopt(f)))(0.7) == pytest.approx(step, rel=1e-6)


def test_bases_of_a_class_that_adopted_code_defines():
    def f(x):
        class Local(Heavy):
            weight = 4.0

        made = Local(x)
        assert isinstance(made, Plain)
        return made.summed(Local.__mro__, own_weight) * len(Local.mro()) * len(Local.__bases__)

    assert fg.value_and_grad(fg.adopt(f))(0.7)[0] == pytest.approx(f(0.7))


def test_a_local_class_may_have_a_metaclass_and_an_adopted_base():
    def f(x):
        class Abstract(Heavy, abc.ABC):
            @abc.abstractmethod
            def value(self): ...

        class Final(Abstract):
            def value(self):
                return math.sin(self.x) * self.weight

        class Other(Plain, metaclass=abc.ABCMeta):
            pass

        with pytest.raises(TypeError, match="abstract"):
            Abstract(x)
        return Final(x).value() + Other(x).x

    assert fg.grad(fg.adopt(f))(0.7) == pytest.approx(2 * math.cos(0.7) + 1.0)


def test_dir_lists_what_the_original_has():
    def f(x):
        class Local(Heavy):
            own = 1.0

        made = Heavy(x)
        made.later = 1.0
        names = [dir(Heavy), dir(made), dir(Local), dir(Local(x))]
        listed = inspect.getmembers(made, lambda value: isinstance(value, float))
        return names, [name for name, _ in listed]

    assert fg.adopt(f)(0.7) == f(0.7)


@dataclass
class Annotated:
    scale: float = 2.0
    size: int = 1

    def value(self, x):
        return math.sin(x) * self.scale


class Further(Annotated):
    later: float = 1.0


@pytest.mark.parametrize(
    "annotations",
    [
        lambda kind: kind.__annotations__,
        inspect.get_annotations,
        get_type_hints,
        lambda kind: [field.name for field in fields(kind)],
    ],
)
@pytest.mark.parametrize("kind", [Annotated, Further])
def test_annotations_are_those_of_the_original(annotations, kind):
    def f(x):
        return list(annotations(kind)), kind().value(x)

    assert fg.adopt(f)(0.7) == f(0.7)
