"""Why a row of the table is not reached: what profiling has found, by name of the row and of the peer."""

from __future__ import annotations

from types import MappingProxyType

WHY: MappingProxyType[tuple[str, str], str] = MappingProxyType({})
