"""The timed work, one family a module.

A family has ``SIZES`` (to be measured), ``SMOKE`` (the size of a quick run), ``data(size)``, and ``PEERS``:
for each peer a function from the data to its `Work`. Every peer computes the same values, which are compared.
funcgrad is used as its users use it.
"""

from __future__ import annotations

from types import MappingProxyType

from benchmarks.work import (
    arm,
    bundle,
    elementwise,
    fluid,
    graph,
    hand,
    hmm,
    kalman,
    kmeans,
    log_sum_exp,
    logistic,
    lorenz,
    lstm,
    minors,
    mixture,
    nbody,
    network,
    newton,
    ode,
    options,
    plain,
    polynomial,
    relaxation,
    rk4,
    stores,
    tiny,
    wave,
)
from benchmarks.work.base import NATIVE, AbsentError, Work

FAMILIES = MappingProxyType(
    {
        "tiny": tiny,
        "graph": graph,
        "elementwise": elementwise,
        "logistic": logistic,
        "network": network,
        "mixture": mixture,
        "lstm": lstm,
        "rk4": rk4,
        "stores": stores,
        "ode": ode,
        "kalman": kalman,
        "hmm": hmm,
        "nbody": nbody,
        "arm": arm,
        "lorenz": lorenz,
        "fluid": fluid,
        "relaxation": relaxation,
        "wave": wave,
        "hand": hand,
        "bundle": bundle,
        "newton": newton,
        "minors": minors,
        "kmeans": kmeans,
        "log-sum-exp": log_sum_exp,
        "polynomial": polynomial,
        "options": options,
        "plain": plain,
    }
)

__all__ = ["FAMILIES", "NATIVE", "AbsentError", "Work"]
