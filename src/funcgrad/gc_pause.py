"""Pausing cyclic garbage collection while a large graph is built."""

from __future__ import annotations

import gc

# New objects from which they are not traversed: the traversal takes 0.1 us or more for each.
_MANY = 50_000


class Paused:
    """A context in which cyclic garbage collection is off, since it traverses a growing graph repeatedly.

    A graph has no cycles. (Keys of a chain of 10**5 nodes: 1.7 us each instead of 6.) Collection that was off
    before stays off afterwards. Where more than ``many`` objects were made, they are counted as old at the
    end, so that the next collection of young objects does not traverse them; a full collection does.
    """

    __slots__ = ("_many", "_was")

    def __init__(self, many: int = _MANY) -> None:
        self._many = many

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was:
            # To freeze objects and unfreeze them moves all to the oldest generation; not where the user has
            # frozen objects, which would be moved, too.
            if gc.get_count()[0] > self._many and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
