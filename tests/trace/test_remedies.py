"""Notes that say what to write in the place of what other libraries refuse."""

import contextlib
import json
import math
import pickle
import struct
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import funcgrad as fg


def sine(x):
    return math.sin(x)


def test_processes_are_refused_with_what_to_write():
    with pytest.raises(pickle.PicklingError, match="not the same object") as refused:
        fg.grad(lambda x: len(ForkingPickler.dumps(sine)) * x)(0.5)
    assert "ThreadPoolExecutor" in refused.value.__notes__[0]
    assert len(refused.value.__notes__) == 1


def test_labels_of_pandas_are_refused_with_what_to_write():
    pd = pytest.importorskip("pandas")
    x = np.array([0.1, 0.2])
    for labeled in (
        lambda x: pd.Series(2 * x, index=x).sum(),
        lambda x: pd.DataFrame({"a": 2 * x}, index=x)["a"].sum(),
        lambda x: pd.DataFrame(np.stack([2 * x]), columns=x).to_numpy().sum(),
    ):
        with pytest.raises(TypeError, match=r"index=\[float\(str\(v\)\) for v in x\]"):
            fg.grad(labeled)(x)

    def as_written(x):
        return pd.Series(2 * x, index=[float(str(v)) for v in x])[0.2] ** 2

    assert fg.grad(as_written)(x) == pytest.approx([0.0, 1.6])
    assert fg.jit(fg.grad(as_written))(x) == pytest.approx([0.0, 1.6])


def test_a_misspelt_attribute_has_no_advice_on_compiled_code():
    with pytest.raises(AttributeError, match="no attribute 'summ'") as caught:
        fg.grad(lambda x: x.summ())(np.ones(2))
    assert "compiled code" not in "".join(getattr(caught.value, "__notes__", []))


def test_functions_of_mpmath_are_refused_with_what_to_write():
    mpmath = pytest.importorskip("mpmath")
    for derivative in (fg.grad, fg.jit):
        with pytest.raises(TypeError, match="cannot create mpf") as refused:
            derivative(lambda x: float(mpmath.hyp2f2(1, 2, 3, 4, x)))(1.3)
        assert "write the function of scipy.special" in "".join(refused.value.__notes__)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_rationals_of_traced_values_are_refused_with_what_to_write(transform):
    with pytest.raises(TypeError, match="to Decimal is not supported") as refused:
        transform(lambda x: float(Decimal(x)))(2.0)
    (note,) = refused.value.__notes__
    assert "Decimal(str(fg.stop_gradient(x)))" in note
    with pytest.raises(TypeError, match=r"Rational|number|float\(") as refused:
        transform(lambda x: float(Fraction(x)))(2.0)
    told = "".join([str(refused.value), *getattr(refused.value, "__notes__", [])])
    assert (
        "Fraction(str(fg.stop_gradient(x)))" in told or "float(fg.stop_gradient(x))" in told
    )  # Python 3.14 asks for a ratio


@pytest.mark.parametrize("adopted", [True, False])
def test_what_is_to_be_written_is_taken(adopted):
    """A float of a stopped value is traced in adopted code, and was advised."""
    for f in (
        lambda x: x * float(Decimal(str(fg.stop_gradient(x)))),
        lambda x: x * float(Fraction(str(fg.stop_gradient(x)))),
        lambda x: x * json.loads(json.dumps([x], default=lambda v: float(str(v))))[0],
    ):
        assert fg.grad(f if adopted else fg.adopt(f, False))(1.5) == 1.5


def test_json_of_traced_values_is_refused_with_what_to_write():
    with pytest.raises(TypeError, match="not JSON serializable") as refused:
        fg.grad(lambda x: json.loads(json.dumps(x)) * x)(2.0)
    assert "default=lambda v: float(str(v))" in "".join(refused.value.__notes__)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_durations_and_formulas_in_text_are_refused_with_what_to_write(transform):
    with pytest.raises(TypeError, match="unsupported type for timedelta") as refused:
        transform(lambda x: timedelta(days=2 * x).total_seconds() * x)(2.0)
    (note,) = refused.value.__notes__
    assert "timedelta(days=float(str(x)))" in note
    assert fg.grad(lambda x: timedelta(days=float(str(x))).days * x)(2.0) == 2.0
    with pytest.raises(ValueError, match="could not convert string to float") as refused:
        transform(lambda x: x * float(repr(2 * x)))(2.0)
    (note,) = refused.value.__notes__
    assert "float(str(x))" in note


def test_questions_to_buffers_are_refused_with_what_to_write():
    for ask in (
        lambda a: a.data.c_contiguous,
        lambda a: memoryview(a).nbytes,
        lambda a: a.__array_interface__["shape"],
        np.frombuffer,
    ):

        def f(x, ask=ask):
            a = np.zeros(3)
            a[:] = x
            return a[0] if ask(a) is None else np.sum(a)

        for g in (f, lambda x, ask=ask: np.sum(x) if ask(x) is None else x[0]):
            with pytest.raises((AttributeError, TypeError)) as refused:
                fg.grad(g)(np.ones(3))
            assert "x.flags.c_contiguous" in "".join(refused.value.__notes__)
    assert fg.grad(lambda x: x[0] if x.flags.c_contiguous else x[1])(np.ones(2))[0] == 1.0
    with pytest.raises(AttributeError, match="no attribute 'continuous'") as misspelt:
        fg.adopt(lambda a: fg.grad(lambda x: np.array([x, x]).continuous)(a))(1.0)
    assert not hasattr(misspelt.value, "__notes__")


def test_methods_by_the_name_of_a_type_are_refused_with_what_to_write():
    for f in (lambda x: np.ndarray.sum(np.array([x, x])), lambda x: np.float64.__add__(x, 1.0)):
        with pytest.raises(TypeError, match="descriptor") as refused:
            fg.grad(f)(2.0)
        (note,) = refused.value.__notes__
        assert "a.sum() in the place of np.ndarray.sum(a)" in note


def test_errors_of_compiled_code_tell_the_refusal_that_they_replace():
    def packed(x):
        y = 2.0 * x
        return struct.unpack("d", struct.pack("d", y))[0] * x

    for call in (fg.grad(packed), fg.jit(fg.grad(packed)), lambda x: fg.jvp(packed, (x,), (1.0,))):
        with pytest.raises(struct.error, match="not a float") as refused:
            call(2.0)
        (note,) = refused.value.__notes__
        assert "float(fg.stop_gradient(x))" in note

    def mistaken(x):
        with contextlib.suppress(TypeError):
            float(x)
        raise KeyError("of another line")

    with pytest.raises(KeyError, match="another line") as raised:
        fg.grad(mistaken)(2.0)
    assert not hasattr(raised.value, "__notes__")


def test_text_that_is_evaluated_is_refused_with_what_to_write():
    for f in (
        lambda p: eval(f"math.sin({[p[0] + 1]}[0])"),
        lambda p: eval(f"sum({[*np.where(p > 2, p, 2 * p)]})"),
    ):
        with pytest.raises(SyntaxError) as refused:
            fg.grad(f)(np.array([1.0, 3.0]))
        assert "eval('f(p)', {'f': f, 'p': p})" in "".join(refused.value.__notes__)
    with pytest.raises(NameError) as misspelt:
        fg.grad(lambda x: x * unknown)(1.0)  # noqa: F821
    assert not hasattr(misspelt.value, "__notes__")


def test_fields_of_pydantic_that_refuse_a_traced_value() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Spring(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        k: float

    with pytest.raises(ValueError, match="valid number") as refused:
        fg.grad(lambda k: Spring(k=k).k ** 2)(1.5)
    assert "write Model.model_construct(k=x)" in "".join(refused.value.__notes__)
    assert fg.grad(lambda k: Spring.model_construct(k=k).k ** 2)(1.5) == 3.0
