"""The structure of the package: the files that a gradient crosses."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

import funcgrad as fg

HOME = Path(fg.__file__).parent


def files_called(function, *args):
    """For each call of a function of the package, the files on the stack, outermost first.

    Operations that the user's function calls begin a stack of their own.
    """
    stack, found = [], []

    def profile(frame, event, argument):
        if event == "call":
            path = Path(frame.f_code.co_filename)
            stack.append(str(path.relative_to(HOME)) if path.is_relative_to(HOME) else None)
            if stack[-1]:
                last = (
                    len(stack)
                    - 1
                    - next((k for k, f in enumerate(stack[::-1]) if not f), len(stack))
                )
                found.append(stack[last + 1 :])
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def warm_gradient():
    gradient = fg.grad(lambda x: x * x + 1)
    for _ in range(3):  # the program of a trace is compiled at its third run
        assert gradient(3.0) == 6.0
    return files_called(gradient, 3.0)


def test_a_warm_gradient_crosses_at_most_12_files(warm_gradient):
    files = {file for stack in warm_gradient for file in stack}
    assert "transforms/grad.py" in files
    assert len(files) <= 12, sorted(files)


def test_a_warm_gradient_goes_one_way(warm_gradient):
    """No file is called back by what it called, and no file calls one that calls it."""
    moves = {move for stack in warm_gradient for move in pairwise(stack) if move[0] != move[1]}
    left = {file for move in moves for file in move}
    while left:
        last = {file for file in left if not any(a == file and b in left for a, b in moves)}
        assert last, sorted(move for move in moves if set(move) <= left)
        left -= last
    rooms = ["transforms", "trace", "compiler"]
    for caller, called in moves:
        first, second = caller.partition("/")[0], called.partition("/")[0]
        if first in rooms and second in rooms:
            assert rooms.index(first) <= rooms.index(second), (caller, called)
