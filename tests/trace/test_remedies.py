"""Notes that say what to write in the place of what other libraries refuse."""

import math
import pickle

import pytest

import funcgrad as fg


def sine(x):
    return math.sin(x)


def test_processes_are_refused_with_what_to_write():
    with pytest.raises(pickle.PicklingError, match="not the same object") as refused:
        fg.grad(lambda x: len(pickle.dumps(sine)) * x)(0.5)
    assert "ThreadPoolExecutor" in refused.value.__notes__[0]
    assert len(refused.value.__notes__) == 1
