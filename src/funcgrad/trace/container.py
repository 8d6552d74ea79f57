"""A node of a pytree: a container flattened into labeled children, and rebuilt of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class TreeNode(NamedTuple):
    """A container taken apart: the names and values of its parts, and how to put others in their place."""

    labels: list[str]
    children: list[Any]
    put: Callable[[Sequence[Any]], Any]
    fixed: Any = None
    """What is static of it, beside its class and labels: part of a call's signature."""
    has_fields: bool = False
    """Whether its parts are the fields of a class."""
    is_array: bool = False
    """Whether it is an array with labels, whose only part are the values."""
