"""The client that a call uses, and the results that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distributed import Client, default_client

from funcgrad.source import fail


def chosen_client(who: str, client: Client | None) -> Client:
    """The given client, or the one that was made last."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise fail(
            RuntimeError,
            f"{who}: expected a client, but there is none; write distributed.Client() or give client=",
        ) from None


def awaited(client: Client, futures: Sequence[Any]) -> Any:
    """The results of futures, which are canceled if they are not waited for to the end."""
    try:
        return client.gather(futures)
    except BaseException:
        client.cancel(futures, force=True)
        raise
