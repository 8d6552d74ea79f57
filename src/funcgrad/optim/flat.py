"""Trees of numbers and arrays as flat float64 vectors, for solvers that know nothing else.

A complex number is two coordinates, its real and its imaginary part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from funcgrad.optim.leaves import is_complex
from funcgrad.trace import result
from funcgrad.trees import Tree, flatten

Vector = npt.NDArray[np.float64]


def ravel(tree: Any) -> Vector:
    """All leaves of a tree in one new vector.

    >>> ravel({"a": np.array([1.0, 2.0]), "b": 3 + 4j})
    array([1., 2., 3., 4.])
    """
    parts = [_flat(np.asarray(leaf)) for leaf in flatten(tree).leaves]
    return np.concatenate([np.zeros(0), *parts])


def _flat(array: Any) -> Any:
    flat = array.ravel()
    return np.concatenate([flat.real, flat.imag]) if is_complex(array) else flat


class Layout(NamedTuple):
    """Where a tree's leaves lie in a vector."""

    tree: Tree

    def unravel(self, vector: Any) -> Any:
        """The tree of a vector, its leaves of the shapes and dtypes that they had."""
        leaves, place = [], 0
        for like in self.tree.leaves:
            known = np.asarray(like)
            parts = 2 if is_complex(known) else 1
            chunks = vector[place : place + parts * known.size].reshape(parts, *known.shape)
            place += parts * known.size
            value = chunks[0] + 1j * chunks[1] if parts == 2 else chunks[0]
            leaves.append(result(np.array(value, known.dtype)))
        return self.tree.rebuild(leaves)


def layout(tree: Any) -> Layout:
    """Where a tree's leaves lie in its vector.

    >>> layout((1.0, [2.0, 3 + 4j])).unravel(np.array([5.0, 6.0, 7.0, 8.0]))
    (5.0, [6.0, (7+8j)])
    """
    return Layout(flatten(tree))
