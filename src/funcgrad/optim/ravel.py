"""Trees of numbers and arrays as flat float64 vectors, for SciPy's solvers.

A complex number is two coordinates, its real and its imaginary part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from funcgrad.expr import result
from funcgrad.optim.tree_arithmetic import is_complex
from funcgrad.trace.pytree import Tree, flatten_numbers
from funcgrad.typing import Array

Vector = npt.NDArray[np.float64]


def ravel(tree: Any) -> Any:
    """All leaves of a tree in one new vector; an expression if a leaf is traced.

    >>> ravel({"a": np.array([1.0, 2.0]), "b": 3 + 4j})
    array([1., 2., 3., 4.])
    """
    parts = [part for leaf in flatten_numbers(tree).leaves for part in _flat(leaf)]
    return np.concatenate([np.zeros(0), *parts])


def _flat(leaf: Array) -> list[Any]:
    parts = [np.real(leaf), np.imag(leaf)] if is_complex(leaf) else [leaf]
    return [np.reshape(part, (-1,)) for part in parts]


class ParameterLayout(NamedTuple):
    """The places of a tree's leaves in a vector."""

    tree: Tree

    def unravel(self, vector: Any) -> Any:
        """The tree of a vector: new leaves of the original shapes and dtypes."""
        leaves, place = [], 0
        for like in self.tree.leaves:
            known = np.asarray(like)
            parts = 2 if is_complex(known) else 1
            chunk = vector[place : place + parts * known.size].reshape(parts, *known.shape)
            place += parts * known.size
            value = chunk[0] + 1j * chunk[1] if parts == 2 else chunk[0]
            leaves.append(result(value.astype(known.dtype)))
        return self.tree.rebuild(leaves)


def layout(tree: object) -> ParameterLayout:
    """The places of a tree's leaves in its vector.

    >>> layout((1.0, [2.0, 3 + 4j])).unravel(np.array([5.0, 6.0, 7.0, 8.0]))
    (5.0, [6.0, (7+8j)])
    """
    return ParameterLayout(flatten_numbers(tree))
