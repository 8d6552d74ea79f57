"""Kernel density estimates, in the points and in the data, weights and bandwidth."""

from __future__ import annotations

import math
from types import SimpleNamespace
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
    """As `scipy.stats.gaussian_kde`, whose density takes traced points, data,
    weights and a traced factor as its bandwidth.

    >>> import funcgrad as fg
    >>> float(fg.grad(lambda x: gaussian_kde([-1.0, 1.0])(x)[0])(0.0))
    0.0
    """

    def __init__(
        self, dataset: npt.ArrayLike, bw_method: Any = None, weights: npt.ArrayLike | None = None
    ) -> None:
        traced = any([holds_expr(item) for item in (dataset, bw_method, weights)])
        own = _kernels if traced else _scipy.gaussian_kde
        super().__init__(own(dataset, bw_method, weights))

    def logpdf(self, x: npt.ArrayLike) -> Any:
        """The logarithm of the density at the points, whose coordinates are along
        the first axis.
        """
        own = self.own
        if not (holds_expr(x) or isinstance(own, _Kernels)):
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
        traced = holds_expr(points) or isinstance(self.own, _Kernels)
        return np.exp(self.logpdf(points)) if traced else self.own.evaluate(points)

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(x)

    def __call__(self, points: npt.ArrayLike) -> Any:
        """The density, as `evaluate`."""
        return self.evaluate(points)


class _Kernels(SimpleNamespace):
    """The attributes of an estimate of traced data."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise fail(
            AttributeError,
            f"gaussian_kde: expected plain data for {name}, but got traced ones; pdf, logpdf and evaluate "
            "take traced values",
        )


def _kernels(
    dataset: npt.ArrayLike, bw_method: Any, weights: npt.ArrayLike | None
) -> SimpleNamespace:
    """The weights and the covariance of the kernels, as SciPy computes them."""
    data = np.atleast_2d(real("gaussian_kde", dataset))
    d, n = data.shape
    if n < 2:
        raise fail(
            ValueError,
            f"gaussian_kde: expected a dataset of several elements, but got {data.shape}",
        )
    shares = np.full(n, 1.0 / n) if weights is None else real("gaussian_kde", weights).reshape(-1)
    shares = shares / np.sum(shares)
    if shares.shape != (n,):
        raise fail(ValueError, f"gaussian_kde: expected {n} weights, but got {shares.size}")
    neff = 1.0 / np.sum(shares * shares)
    made = _Kernels(dataset=data, d=d, n=n, weights=shares, neff=neff)
    if bw_method is None or isinstance(bw_method, str):
        if bw_method not in (None, "scott", "silverman"):
            raise fail(
                ValueError,
                "gaussian_kde: expected bw_method 'scott', 'silverman', a number or a function, but got "
                f"{bw_method!r}",
            )
        base = neff * (d + 2) / 4.0 if bw_method == "silverman" else neff
        made.factor = base ** (-1.0 / (d + 4))
    elif callable(bw_method) and not holds_expr(bw_method):
        made.factor = bw_method(made)
    else:
        made.factor = real("gaussian_kde", bw_method)
    off = data - np.sum(data * shares, axis=1, keepdims=True)
    made.covariance = (off * shares) @ off.T / (1.0 - np.sum(shares * shares)) * made.factor**2
    made.cho_cov = np.linalg.cholesky(made.covariance)
    return made
