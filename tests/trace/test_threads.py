"""Threads that a traced function starts, and functions that are differentiated in threads."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import funcgrad as fg


def mapped(x):
    with ThreadPoolExecutor(3) as pool:
        return sum(pool.map(lambda v: math.sin(v) * v, [x, 2 * x, x * x]))


def bare(x):
    out = {}

    def work(v, k):
        out[k] = math.cos(v) * float(v)

    threads = [threading.Thread(target=work, args=(x * k, k)) for k in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(out.values())


@pytest.mark.parametrize("f", [mapped, bare])
@pytest.mark.parametrize("transform", ["grad", "vmap", "jit of grad", "scan"])
def test_functions_of_math_in_threads_of_a_traced_function(f, transform):
    """A thread keeps any error, which no handler of the user's waits for: no question is asked."""
    slope = {
        "grad": fg.grad(f),
        "vmap": lambda x: fg.vmap(fg.grad(f))(np.array([x, 2.0]))[0],
        "jit of grad": fg.jit(fg.grad(f)),
        "scan": fg.grad(lambda x: fg.scan(lambda c, _: (f(c), c), x, np.zeros(1))[0]),
    }[transform]
    wanted = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    assert slope(1.3) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("question", [lambda v: v > 1, lambda v: int(v)])
def test_a_refusal_in_a_thread_is_raised_where_the_function_returns(question):
    """The thread has ended with it, and the function would return what was there before."""

    def f(x):
        out = [0.0]

        def work():
            out[0] = x * x if question(x) else 3 * x

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return out[0] + x

    assert fg.grad(f)(1.3) == pytest.approx(3.6)
    with pytest.raises(TypeError, match="vmap: expected a program that does not depend on values"):
        fg.vmap(f)(np.array([1.3, 0.5]))


def test_one_function_is_differentiated_in_many_threads():
    def f(x):
        a = np.zeros(3)
        for i in range(3):
            a[i] = math.sin(x * i) if x > 0.5 else x**i
        return (a * a).sum() + float(x) * fg.grad(lambda y: y * y * x)(x)

    xs = np.linspace(0.1, 2.0, 40).tolist()
    wanted = [fg.value_and_grad(f)(x) for x in xs]
    for both in (fg.value_and_grad(f), fg.jit(fg.value_and_grad(f))):
        with ThreadPoolExecutor(8) as pool:
            np.testing.assert_allclose([*pool.map(both, xs)], wanted, rtol=1e-10)
