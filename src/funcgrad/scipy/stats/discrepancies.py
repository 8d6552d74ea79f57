"""Discrepancies of points in the unit cube, by the formulas of Warnock, Hickernell and Zhou."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import _qmc

from funcgrad.scipy.composition import in_place_of, real
from funcgrad.typing import Array


def _parts(sample: Array, iterative: bool) -> tuple[Any, Any, Any, int]:
    """The points, their distances from the center and from each other, and their number for SciPy."""
    x = real("discrepancy", sample)
    apart = np.abs(x[:, None] - x)
    return x, np.abs(x - 0.5), apart, len(x) + (1 if iterative else 0)


def _mean_of_pairs(factors: Array, count: int) -> Any:
    return np.sum(np.prod(factors, axis=-1)) / count**2


@in_place_of(_qmc._cy_wrapper_centered_discrepancy)
def centered_discrepancy(sample: Array, iterative: bool, workers: int) -> Any:
    """SciPy's function of the centered discrepancy."""
    _, z, apart, n = _parts(sample, iterative)
    single = np.sum(np.prod(1 + 0.5 * z - 0.5 * z**2, axis=-1))
    pairs = _mean_of_pairs(1 + 0.5 * z[:, None] + 0.5 * z - 0.5 * apart, n)
    return (13.0 / 12.0) ** z.shape[1] - 2.0 / n * single + pairs


@in_place_of(_qmc._cy_wrapper_wrap_around_discrepancy)
def wrap_around_discrepancy(sample: Array, iterative: bool, workers: int) -> Any:
    """SciPy's function of the wrap-around discrepancy."""
    x, _, apart, n = _parts(sample, iterative)
    return _mean_of_pairs(1.5 - apart + apart**2, n) - (4.0 / 3.0) ** x.shape[1]


@in_place_of(_qmc._cy_wrapper_mixture_discrepancy)
def mixture_discrepancy(sample: Array, iterative: bool, workers: int) -> Any:
    """SciPy's function of the mixture discrepancy."""
    _, z, apart, n = _parts(sample, iterative)
    single = np.sum(np.prod(5.0 / 3.0 - 0.25 * z - 0.25 * z**2, axis=-1))
    pairs = 15.0 / 8.0 - 0.25 * z[:, None] - 0.25 * z - 0.75 * apart + 0.5 * apart**2
    return (19.0 / 12.0) ** z.shape[1] - 2.0 / n * single + _mean_of_pairs(pairs, n)


@in_place_of(_qmc._cy_wrapper_l2_star_discrepancy)
def l2_star_discrepancy(sample: Array, iterative: bool, workers: int) -> Any:
    """SciPy's function of the star discrepancy in L2."""
    x, _, _, n = _parts(sample, iterative)
    d = x.shape[1]
    single = np.sum(np.prod(1 - x**2, axis=-1))
    pairs = _mean_of_pairs(1 - np.maximum(x[:, None], x), n)
    return np.sqrt(3.0**-d - 2.0 ** (1 - d) / n * single + pairs)


@in_place_of(_qmc._cy_wrapper_update_discrepancy)
def updated_discrepancy(x_new: Array, sample: Array, initial_disc: Array) -> Any:
    """SciPy's function of the centered discrepancy with one point more."""
    x, new = real("update_discrepancy", sample), real("update_discrepancy", x_new)
    n, z, z_new = len(x) + 1, np.abs(x - 0.5), np.abs(new - 0.5)
    single = np.prod(1 + 0.5 * z_new - 0.5 * z_new**2)
    beside = np.sum(np.prod(1 + 0.5 * z_new + 0.5 * z - 0.5 * np.abs(new - x), axis=-1))
    itself = np.prod(1 + z_new)
    return initial_disc - 2.0 / n * single + 2.0 / n**2 * beside + itself / n**2
