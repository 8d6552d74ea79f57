"""Machine code on disk: object files, linked anew in each process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

VARIABLE = "FUNCGRAD_CACHE"
"""The environment variable that names the directory of the disk cache."""


def remembered_code(text: str, make: Callable[[], bytes]) -> bytes:
    """The machine code of a text, which names the processor: from the directory, and kept there if not."""
    home = os.environ.get(VARIABLE)
    if not home:
        return make()
    from funcgrad.compiler.disk_cache import entry_format

    identity = entry_format.identity_of_code(text)
    path = entry_format.place(home, identity)
    with suppress(Exception):
        return entry_format.read_body(path, identity, is_code=True)
    code = make()
    with suppress(Exception):
        entry_format.write_body(path, identity, code)
    return code
