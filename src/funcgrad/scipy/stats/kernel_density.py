"""Kernel density estimates, in the points, the data, their weights and the bandwidth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.stats as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import SciPyWrapper, real
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

_Bandwidth = str | ArrayLike | Callable[..., Any] | None
_LOG_TAU = math.log(2 * math.pi)


def _white(factor: Array, x: Array) -> Any:
    return np.linalg.solve(factor, x)


def _log_normals(first: Array, second: Array, factor: Array) -> Any:
    """The logarithms of normal densities at the differences of points, whose covariance has this factor."""
    off = _white(factor, first)[:, :, None] - _white(factor, second)[:, None, :]
    constant = first.shape[0] / 2 * _LOG_TAU + np.sum(np.log(np.diagonal(factor)))
    return -np.sum(off * off, axis=0) / 2 - constant


class gaussian_kde(SciPyWrapper):  # noqa: N801
    """As `scipy.stats.gaussian_kde`, of plain or traced data, weights and
    bandwidth.

    >>> import funcgrad as fg
    >>> float(fg.grad(lambda x: gaussian_kde([-1.0, 1.0])(x)[0])(0.0))
    0.0
    """

    def __init__(
        self, dataset: ArrayLike, bw_method: _Bandwidth = None, weights: ArrayLike | None = None
    ) -> None:
        if not holds_expr([dataset, bw_method, weights]):
            super().__init__(_scipy.gaussian_kde(dataset, None, weights))
        else:
            super().__init__(None)
            self._set_data(np.atleast_2d(real("gaussian_kde", dataset)), weights)
        self.set_bandwidth(bw_method)

    @classmethod
    def of_scipy(cls, own: Any) -> Self:
        made = super().of_scipy(own)
        made.covariance_factor = own.covariance_factor  # type: ignore[method-assign]
        return made

    def _set_data(self, data: Array, weights: ArrayLike | None) -> None:
        if data.size < 2:
            raise value_error(
                f"gaussian_kde: expected a dataset of several elements, but got {data.shape}",
            )
        self.dataset, (self.d, self.n) = data, data.shape
        share = np.ones(self.n) if weights is None else real("gaussian_kde", weights)
        if share.shape != (self.n,):
            raise value_error(
                f"gaussian_kde: expected {self.n} weights, but got {share.size} of shape {share.shape}",
            )
        self.weights = share / np.sum(share)
        self.neff = 1 / np.sum(self.weights**2)
        self._data_covariance = np.atleast_2d(np.cov(data, bias=False, aweights=self.weights))
        self._data_cho_cov = np.linalg.cholesky(self._data_covariance)

    def scotts_factor(self) -> Any:
        """Scott's bandwidth."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Silverman's bandwidth."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    def covariance_factor(self) -> Any:
        """The factor of the bandwidth, which subclasses may define."""
        return self.scotts_factor()

    def set_bandwidth(self, bw_method: _Bandwidth = None) -> None:
        """As SciPy's method; the bandwidth may be traced."""
        if bw_method is not None:
            self.covariance_factor = self._rule(bw_method)  # type: ignore[method-assign]
        self.factor = self.covariance_factor()
        if self.own is not None:
            if not holds_expr(self.factor):
                if isinstance(
                    bw_method, str
                ):  # a number would be kept in a lambda, which has no pickle
                    self.own.set_bandwidth(bw_method)
                elif self.factor != self.own.factor:
                    self.own.set_bandwidth(float(self.factor))
                return
            weights, data, self.own = self.own.weights, self.own.dataset, None
            self._set_data(data, weights)
        self.covariance = self._data_covariance * self.factor**2
        self.cho_cov = self._data_cho_cov * self.factor

    def _rule(self, method: Any) -> Callable[[], Any]:
        """A function that returns the factor of the bandwidth."""
        known = {"scott": self.scotts_factor, "silverman": self.silverman_factor}
        if isinstance(method, str):
            if method in known:
                return known[method]
            raise value_error(
                "gaussian_kde: expected bw_method 'scott', 'silverman', a number or a function, but got "
                f"{method!r}",
            )
        if callable(method) and not holds_expr(method):  # an expression can be called
            return lambda: method(self)
        factor = real("gaussian_kde", method)
        return lambda: factor

    @property
    def inv_cov(self) -> Any:
        """The inverse of the covariance of a kernel."""
        return np.linalg.inv(self.covariance)

    def _is_plain(self, *given: object) -> bool:
        return self.own is not None and not holds_expr([*given])

    def logpdf(self, x: ArrayLike) -> Any:
        """The logarithm of the density at the points, whose coordinates are along
        the first axis.
        """
        if self._is_plain(x):
            return self.own.logpdf(x)
        points = np.atleast_2d(real("gaussian_kde", x))
        if points.shape[0] == 1 and points.shape[1] == self.d:
            points = points.reshape(self.d, 1)
        if points.shape[0] != self.d:
            raise value_error(
                f"gaussian_kde: expected points of {self.d} coordinates along the first axis, but got "
                f"{points.shape}",
            )
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)[:, None]
        return special.logsumexp(logs + _log_normals(self.dataset, points, self.cho_cov), axis=0)

    def evaluate(self, points: ArrayLike) -> Any:
        """The density at the points, whose coordinates are along the first axis."""
        return self.own.evaluate(points) if self._is_plain(points) else np.exp(self.logpdf(points))

    def pdf(self, x: ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(x)

    def __call__(self, points: ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(points)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Any:
        """As SciPy's method: the integral of the product with a normal density."""
        if self._is_plain(mean, cov):
            return self.own.integrate_gaussian(mean, cov)
        center = real("integrate_gaussian", mean).reshape(-1, 1)
        factor = np.linalg.cholesky(
            self.covariance + np.atleast_2d(real("integrate_gaussian", cov))
        )
        return np.sum(self.weights * np.exp(_log_normals(self.dataset, center, factor))[:, 0])

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Any:
        """As SciPy's method: the integral over an interval."""
        if self._is_plain(low, high):
            return self.own.integrate_box_1d(low, high)
        if self.d != 1:
            raise value_error(f"integrate_box_1d: expected data on a line, but got {self.d}-D data")
        ends = [real("integrate_box_1d", end) - self.dataset[0] for end in (low, high)]
        below, above = [special.ndtr(end / self.cho_cov[0, 0]) for end in ends]
        return np.sum(self.weights * (above - below))

    def integrate_kde(self, other: Any) -> Any:
        """As SciPy's method: the integral of the product with another estimate."""
        theirs = other.own if isinstance(other, gaussian_kde) else other
        if self.own is not None and theirs is not None:
            return self.own.integrate_kde(theirs)
        factor = np.linalg.cholesky(self.covariance + other.covariance)
        each = np.exp(_log_normals(self.dataset, other.dataset, factor))
        return self.weights @ each @ other.weights

    def marginal(self, dimensions: ArrayLike) -> Any:
        """As SciPy's method: the estimate for some of the coordinates."""
        if self.own is not None:
            return gaussian_kde.of_scipy(self.own.marginal(dimensions))
        kept = self.dataset[np.atleast_1d(dimensions)]
        return gaussian_kde(kept, self.covariance_factor(), self.weights)

    def resample(self, size: int | None = None, seed: object = None) -> Any:
        """As SciPy's method; a sample of traced data is an error."""
        if self.own is None:
            raise type_error(
                "gaussian_kde: expected plain data to draw from, but got traced values; draw indices and "
                "normal numbers, and write data[:, indices] + kde.cho_cov @ numbers",
            )
        return self.own.resample(size, seed)

    def integrate_box(self, low_bounds: ArrayLike, high_bounds: ArrayLike, **options: Any) -> Any:
        """As SciPy's method; of traced data, on a line alone."""
        if self._is_plain(low_bounds, high_bounds):
            return self.own.integrate_box(low_bounds, high_bounds, **options)
        if self.d != 1:
            raise type_error("integrate_box: expected plain data and bounds, but got traced values")
        low, high = np.ravel(low_bounds)[0], np.ravel(high_bounds)[0]
        return self.integrate_box_1d(low, high)
