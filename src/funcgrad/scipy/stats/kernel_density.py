"""Kernel density estimates of plain data, in the points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import OfPlainData, real
from funcgrad.source import fail
from funcgrad.typing import Array


class gaussian_kde(OfPlainData):  # noqa: N801
    """As `scipy.stats.gaussian_kde`, whose density takes traced points; traced
    data are a TypeError.

    >>> import funcgrad as fg
    >>> float(fg.grad(lambda x: gaussian_kde([-1.0, 1.0])(x)[0])(0.0))
    0.0
    """

    def __init__(self, dataset: npt.ArrayLike, *args: Any, **kwargs: Any) -> None:
        if holds_expr([dataset, *args, *kwargs.values()]):
            raise fail(
                TypeError,
                "gaussian_kde: expected plain data, but got traced values; write the mean of norm.pdf over "
                "the data",
            )
        super().__init__(_scipy.gaussian_kde(dataset, *args, **kwargs))

    def logpdf(self, x: npt.ArrayLike) -> Any:
        """The logarithm of the density at the points, whose coordinates are along
        the first axis.
        """
        own = self.own
        if not holds_expr(x):
            return own.logpdf(x)
        points = np.atleast_2d(real("gaussian_kde", x))
        if points.shape[0] == 1 and points.shape[1] == own.d:
            points = points.reshape(own.d, 1)
        if points.shape[0] != own.d:
            raise fail(
                ValueError,
                f"gaussian_kde: expected points of {own.d} coordinates along the first axis, but got "
                f"{points.shape}",
            )
        return special.logsumexp(self._energies(points), axis=0)

    def _energies(self, points: Array) -> Any:
        """The logarithm of each weighted kernel, data times points."""
        own, factor = self.own, self.own.cho_cov
        white = np.linalg.solve(factor, points)
        data = np.linalg.solve(factor, own.dataset)
        squares = np.sum((white[:, None, :] - data[:, :, None]) ** 2, axis=0)
        constant = own.d / 2 * math.log(2 * math.pi) + np.sum(np.log(np.diagonal(factor)))
        with np.errstate(divide="ignore"):
            return np.log(own.weights)[:, None] - squares / 2 - constant

    def evaluate(self, points: npt.ArrayLike) -> Any:
        """The density at the points, whose coordinates are along the first axis."""
        return np.exp(self.logpdf(points)) if holds_expr(points) else self.own.evaluate(points)

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(x)

    def __call__(self, points: npt.ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(points)
