"""Attributes of other libraries' values that expressions lack: each says what to write instead."""

from __future__ import annotations

from typing import Never


class Elsewhere:
    """An attribute of other libraries: reading it is an AttributeError that names what does the same."""

    __slots__ = ("_instead", "_name")

    def __init__(self, instead: str) -> None:
        self._instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Never:
        # Python would suggest a name of its own for an error that has `name` and `obj`.
        raise AttributeError(
            f"an expression has no attribute {self._name!r}; write {self._instead}"
        )


class OtherLibraries:
    """The attributes, which are no part of `dir`.

    >>> import funcgrad as fg
    >>> hasattr(fg.var("x"), "backward")
    False
    """

    __slots__ = ()

    backward = Elsewhere("fg.gradient(e), or fg.backprop(e) for all nodes")
    cos = Elsewhere("np.cos(x)")
    data = Elsewhere("e(x=2.0) for the value at x = 2")
    detach = Elsewhere("fg.stop_gradient(x)")
    diff = Elsewhere("fg.gradient(e, x)")
    evalf = Elsewhere("e(x=2.0)")
    exp = Elsewhere("np.exp(x)")
    expand = Elsewhere("fg.simplify(e)")
    free_symbols = Elsewhere("fg.gradient(e).keys() for the names of the variables")
    grad = Elsewhere("fg.gradient(e, x), or fg.grad(f) for a function")
    log = Elsewhere("np.log(x)")
    norm = Elsewhere("np.linalg.norm(x)")
    numpy = Elsewhere("e(x=2.0) for the value at x = 2")
    relu = Elsewhere("fg.relu(x)")
    sigmoid = Elsewhere("fg.sigmoid(x)")
    simplify = Elsewhere("fg.simplify(e)")
    sin = Elsewhere("np.sin(x)")
    sqrt = Elsewhere("np.sqrt(x)")
    subs = Elsewhere("e(x=2.0), or fg.substitute(e, x=2.0) for a formula")
    tanh = Elsewhere("np.tanh(x)")
