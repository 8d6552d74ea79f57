"""What type checkers know of transforms is what they are, and users' programs pass a checker."""

from inspect import signature
from typing import get_overloads

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.transform_types import (
    CompiledFunction,
    CompilingTransform,
    DerivativeTransform,
    TransformedFunction,
)

DERIVATIVES = [fg.grad, fg.value_and_grad, fg.jacobian, fg.jacfwd, fg.jacrev, fg.hessian]
OTHERS = [fg.elementwise_grad, fg.vmap]


def options(function):
    given = list(signature(function).parameters.values())
    return {p.name: p.default for p in given if p.name not in ("self", "f")}


def overloads_of_calls(kind):
    """The variants of ``kind.__call__``, which Python finds by the name of the function."""

    def implementation():
        raise NotImplementedError

    implementation.__module__ = kind.__module__
    implementation.__qualname__ = f"{kind.__qualname__}.__call__"
    return get_overloads(implementation)


@pytest.mark.parametrize(
    ("kind", "transforms"), [(DerivativeTransform, DERIVATIVES), (CompilingTransform, [fg.jit])]
)
def test_options_are_those_of_the_transforms(kind, transforms):
    variants = overloads_of_calls(kind)
    assert len(variants) == 3
    for transform in transforms:
        assert [options(variant) for variant in variants] == 3 * [options(transform)]


def members(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize("transform", [*DERIVATIVES, *OTHERS], ids=lambda t: t.__name__)
def test_members_of_a_transformed_function(transform):
    made = transform(np.sin)
    assert all(hasattr(made, name) for name in members(TransformedFunction))


def test_members_of_a_compiled_function():
    made = fg.jit(np.sin)
    assert members(CompiledFunction) == {"program", "lower", "explain_misses", "clear"}
    assert all(hasattr(made, name) for name in members(CompiledFunction))


PROGRAM = """
import numpy as np
import numpy.typing as npt
import funcgrad as fg

def loss(w: npt.NDArray[np.float64], scale: float) -> float:
    return scale * float(np.sum(w))

slope = fg.grad(loss)
print(slope.expr(np.ones(2), 1.0), fg.jit(slope)(np.ones(2), 1.0))
slope(np.ones(2))  # missing

@fg.jit
def double(x: float) -> float:
    return 2 * x

print(double.explain_misses(), double.lower(1.0), double.program.source)
one: float = double(1.0)
double("one")  # incompatible

@fg.jit(static_argnums=0)
def times(n: int, x: float) -> float:
    return n * x

@fg.checkpoint(policy="all")
def kept(x: float) -> float:
    return x

two: float = times(2, kept(1.0))
times("two", 1.0)  # incompatible

@fg.grad(argnums=(0, 1))
def product(x: float, y: float) -> float:
    return x * y

@fg.vmap(in_axes=(0, None))
def mapped(x: float, y: float) -> float:
    return x * y

print(product.expr(1.0, 2.0), mapped(np.ones(3), 2.0), mapped.expr(np.ones(3), 2.0))

class Model:
    @fg.jit
    def step(self, x: float) -> float:
        return x

print(Model().step(1.0), fg.jacobian(np.sin)(np.ones(2)), fg.jit(np.sin)(np.ones(2)))
Model().step("x")  # incompatible
fg.grad(3)  # overload
"""


@pytest.mark.slow
def test_a_program_passes_mypy_but_for_its_mistakes(tmp_path):
    api = pytest.importorskip("mypy.api")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    out, err, _ = api.run(["--strict", "--config-file=", "--cache-dir", str(tmp_path), str(path)])
    assert not err
    found = [line for line in out.splitlines() if line.startswith(str(path)) and " error: " in line]
    wrong = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line]
    assert [int(line.split(":")[1]) for line in found] == wrong
