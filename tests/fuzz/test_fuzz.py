"""Random programs against NumPy and each other: a fixed slice in every run, more with ``-m slow``.

A failure prints the program and its arguments as source, cut down to one result; those of the slow
tests are made small by Hypothesis, too.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in, some
from tests.fuzz import planted, relations
from tests.fuzz.programs import Input, Instruction, Program, compiled, quiet
from tests.fuzz.slices import fixed_slice, fuzzed
from tests.fuzz.strategies import (
    BINARY,
    BITS,
    COMPARISONS,
    FAMILIES,
    FORMS,
    OPERATORS,
    REAL_UNARY,
    TESTS,
    UNARY,
)
from tests.fuzz.values import special_values

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("text", ["a**-1", "a**2", "a**2.0", "np.power(a, 2)", "a**3", "a**0.5"])
def test_powers_of_complex_scalars(text):
    """NumPy's scalars have other signs of zeros there than its arrays."""
    program = Program((Input("a", (), "complex128"),), (Instruction("v0", text),), ("v0",))
    for value in special_values("complex128"):
        for relation in (relations.jit_is_numpy, relations.differentiated_value_is_numpy):
            relations.check(relation, program, (value,))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fixed_slice(family):
    fixed_slice(family)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many(family):
    fuzzed(family, 600, database=None, print_blob=True)


# -- grids of special values ---------------------------------------------------------------------
def failures(texts, arguments, relation, together=1):
    """What a relation says of lines, where it does not hold; programs have so many lines ``together``.

    The lines of a program for which the relation does not hold, or says nothing, are programs by themselves.
    """
    if together > 1:
        parts = [texts[k : k + together] for k in range(0, len(texts), together)]
        texts = [
            text
            for part in parts
            if relations.failure(relation, of_lines(part, arguments), tuple(arguments)) is not True
            for text in part
        ]
    found = []
    for text in texts:
        try:
            relations.check(relation, of_lines([text], arguments), tuple(arguments))
        except AssertionError as error:
            found.append(f"{text}: {str(error).splitlines()[0]}")
    return found


def of_lines(texts, arguments):
    """A program whose results are those of the lines."""
    items = zip("ab", arguments, strict=False)
    inputs = tuple(Input(name, np.shape(a), a.dtype.name) for name, a in items)
    names = tuple(f"v{k}" for k in range(len(texts)))
    return Program(inputs, tuple(map(Instruction, names, texts)), names)


REALS = ("float64", "float32", "float16")
WHOLE = ("int64", "int32", "int8", "uint8", "bool")
OF_ONE = [*FORMS, *(f"np.{name}({{a}})" for name in (*UNARY, *TESTS))]
OF_REALS = [f"np.{name}({{a}})" for name in REAL_UNARY]
OF_TWO = [f"{{a}} {sign} {{b}}" for sign in (*OPERATORS, *COMPARISONS, *BITS)]
OF_TWO += [f"np.{name}({{a}}, {{b}})" for name in BINARY]
OF_TWO += ["np.where({a} < {b}, {a}, {b})"]


def written(templates):
    return [template.format(a="a", b="b") for template in templates]


def accepted(texts, *arguments):
    """The texts that NumPy accepts for arguments."""
    return [text for text in texts if accepts(text, arguments)]


def accepts(text, arguments):
    run = quiet(compiled(f"def f(a, b=None):\n    return {text}", {}))
    try:
        run(*arguments)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


DTYPES = ["float64", "float32", "complex128", "float16", "int8", "complex64", "bool", "int64"]
DTYPES += ["int32", "uint8"]


@pytest.mark.parametrize(
    ("dtype", "together"),
    some(
        [("float64", 8), ("complex128", 8), ("bool", 8)],
        [(dtype, together) for dtype in DTYPES for together in (1, 8)],
    ),
)
def test_functions_of_special_values(dtype, together):
    values = special_values(dtype)
    texts = accepted(written(OF_ONE + (OF_REALS if values.dtype.kind != "c" else [])), values)
    found = [
        line
        for relation in relations.VALUES
        for line in failures(texts, [values], relation, together)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("dtype", one_in(4, [*REALS, "complex128", *WHOLE]))
def test_functions_of_two_special_values(dtype):
    ends = special_values(dtype)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(ends, ends))
    texts = accepted(written(OF_TWO), a, b)
    found = [
        line
        for relation in (relations.evaluate_is_numpy, relations.jit_is_numpy)
        for line in failures(texts, [a, b], relation, together=8)
    ]
    assert not found, "\n".join(found)


def numpy_agrees_with_itself(program, value):
    """Whether NumPy's numbers, which have operators of their own, give what its arrays give."""
    (number,), (array,) = program.reference(value), program.reference(np.array([value]))
    return bool(relations.identical(np.asarray(number), array[0]))


@pytest.mark.parametrize(
    "dtype",
    some(["float64", "int64", "bool"], ["float64", "float32", "complex128", "int64", "bool"]),
)
def test_functions_of_special_numbers(dtype):
    """Programs of numbers, which run over `math` once they are compiled."""
    values = special_values(dtype)
    texts = accepted(written(OF_ONE + (OF_REALS if dtype != "complex128" else [])), values[0])
    found = []
    for text in texts:
        instruction = Instruction("v0", text)
        program = Program((Input("a", (), dtype),), (instruction,), ("v0",))
        run = fg.jit(program.traced)
        for value in (*[values[0]] * 3, *values):
            if not numpy_agrees_with_itself(program, value):
                continue
            try:
                relations.Judge(program, (value,)).must_agree("jit", run(value))
            except AssertionError as error:
                found.append(f"{text}: {str(error).splitlines()[0]} at {value!r}")
            except relations.UnfitError:
                pass
    assert not found, "\n".join(found)


# -- mutations -----------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong", one_in(3, sorted(planted.WRONG), start=1))
def test_what_is_planted_wrong_is_caught(wrong):
    """In a process of its own, since derived programs are kept."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.planted", wrong]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "caught: " in found.stdout, found.stdout + found.stderr
    assert "Error" not in found.stdout
