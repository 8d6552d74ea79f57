"""Errors of jitted programs name the user's line, as those of functions that are not compiled do."""

import traceback

import numpy as np
import pytest

import funcgrad as fg

GOOD, SINGULAR = np.array([[2.0, 0.5], [0.5, 2.0]]), np.zeros((2, 2))


def inverse(a):
    a = a * 2.0
    return np.sum(np.linalg.inv(a))  # the line of the inverse


def factor(a):
    return np.sum(np.linalg.cholesky(a))  # the line of the factor


def entry(a):
    place = (a[0, 0] * 10).astype(int)
    return a[place].sum()  # the line of the entry


CASES = {
    "inverse": (inverse, SINGULAR, np.linalg.LinAlgError),
    "factor": (factor, -GOOD, np.linalg.LinAlgError),
    "entry": (entry, GOOD, IndexError),
}


@pytest.mark.parametrize("calls_before", [0, 3])
@pytest.mark.parametrize("how", [fg.jit, lambda f: fg.jit(fg.grad(f))], ids=["value", "gradient"])
@pytest.mark.parametrize("name", CASES)
def test_an_error_of_a_jitted_program_names_the_line(name, how, calls_before):
    f, bad, kind = CASES[name]
    jitted = how(f)
    for _ in range(calls_before):
        jitted(GOOD * 0.05)
    with pytest.raises(kind) as error:
        jitted(bad)
    assert f"# the line of the {name}" in "".join(error.value.__notes__)


def test_arguments_and_results_stay_as_they_are():
    @fg.jit
    def f(a):
        a[0] = 7.0
        return np.sum(np.linalg.inv(a.reshape(2, 2)))

    a = np.zeros(4)
    with pytest.raises(np.linalg.LinAlgError):
        f(a)
    assert f(np.array([0.0, 1.0, 1.0, 1.0])) == pytest.approx(1.0)


def test_code_that_handles_many_errors_runs_once_more_for_a_few_alone():
    calls = []

    @fg.jit
    def f(a):
        calls.append(1)
        return np.sum(np.linalg.inv(a))

    for _ in range(30):
        with pytest.raises(np.linalg.LinAlgError):
            f(SINGULAR)
    assert len(calls) < 15


def guarded(a):
    if np.linalg.inv(a)[0, 0] > 1.0:  # the line of the condition
        return np.sum(a)
    return np.sum(a * a)


UNJITTED = {
    "vmap": lambda f, a: fg.vmap(f)(np.stack([GOOD * 0.05, a])),
    "vmap of a gradient": lambda f, a: fg.vmap(fg.grad(f))(np.stack([GOOD * 0.05, a])),
    "jit of vmap": lambda f, a: fg.jit(fg.vmap(f))(np.stack([GOOD * 0.05, a])),
    "vmap of an axis": lambda f, a: fg.vmap(lambda k, x: f(k * x), in_axes=(None, 2))(
        1.0, np.stack([GOOD * 0.05, a], axis=2)
    ),
    "scan": lambda f, a: fg.scan(lambda c, x: (c + f(x), c), 0.0, np.stack([GOOD * 0.05, a])),
    "scan backward": lambda f, a: fg.scan(
        lambda c, x: (c, f(x)), 0.0, np.stack([a, GOOD * 0.05]), reverse=True
    ),
    "while_loop": lambda f, a: fg.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + f(a + 0 * s[1])), (0, 0.0)
    ),
    "fori_loop": lambda f, a: fg.fori_loop(0, 3, lambda i, s: s + f(a + 0 * s), 0.0),
}


@pytest.mark.parametrize("how", UNJITTED)
@pytest.mark.parametrize("name", [*CASES, "condition"])
def test_an_error_of_a_program_that_is_not_jitted_names_the_line(name, how):
    f, bad, kind = {**CASES, "condition": (guarded, SINGULAR, np.linalg.LinAlgError)}[name]
    if name == "condition" and "loop" in how:
        return
    with pytest.raises(kind) as error:
        UNJITTED[how](f, bad)
    told = "".join(traceback.format_exception(error.value))
    assert f"# the line of the {name}" in told


def test_a_value_is_told_where_an_error_is_a_users_own():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fg.vmap(f)(np.ones(2))
