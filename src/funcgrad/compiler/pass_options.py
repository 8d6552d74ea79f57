"""The names of the optional passes, and the environment variables that disable or verify them.

``FUNCGRAD_WITHOUT`` names passes that are left out, separated by commas, to measure their gain
(``python -m benchmarks --without PASS``). With ``FUNCGRAD_VERIFY=1`` the verifier runs after every pass.
Both are read once, when the package is imported: all programs of a process are compiled alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

WITHOUT, VERIFY = "FUNCGRAD_WITHOUT", "FUNCGRAD_VERIFY"
PASSES = (
    "body_subsumption",
    "residual_selection",
    "loop_invariant_motion",
    "loop_body_regrouping",
    "log_semiring_products",
    "softmax_sharing",
    "scatter_to_gather",
    "scatter_accumulation",
    "strip_mining",
    "constant_folding",
    "mask_elimination",
    "broadcast_sinking",
    "constant_factoring",
    "softplus_sigmoid",
    "sorted_values",
    "layout_assignment",
    "store_scheduling",
    "fusion",
    "whole_program",
    "native_loops",
)
"""The optional passes: they change the speed of programs, and their values by no more than rounding."""


class PassOptions(NamedTuple):
    """Which passes are disabled, and whether the verifier runs.

    >>> PassOptions(frozenset({"fusion"})).runs("fusion")
    False
    """

    without: frozenset[str] = frozenset()
    verify: bool = False

    def runs(self, name: str) -> bool:
        """Whether programs go through a pass.

        Raises:
            ValueError: the name is no pass's.
        """
        if name not in PASSES:
            raise ValueError(f"runs: expected a pass among {', '.join(PASSES)}, but got {name!r}")
        return name not in self.without


def from_environment(variables: Mapping[str, str]) -> PassOptions:
    """The options that environment variables ask for.

    >>> from_environment({"FUNCGRAD_WITHOUT": "fusion, body_subsumption"}).runs("body_subsumption")
    False

    Raises:
        ValueError: a name is no pass's.
    """
    names = frozenset(filter(None, map(str.strip, variables.get(WITHOUT, "").split(","))))
    if unknown := sorted(names.difference(PASSES)):
        raise ValueError(
            f"{WITHOUT}: expected passes among {', '.join(PASSES)}, but got {', '.join(unknown)}"
        )
    return PassOptions(names, variables.get(VERIFY, "") not in ("", "0"))


PASS_OPTIONS = from_environment(os.environ)
"""The options of this process."""
