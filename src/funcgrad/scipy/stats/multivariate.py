"""The multivariate distributions: the logarithm of a density or mass, in the data and all parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import scipy.stats as _scipy
from scipy._lib._util import check_random_state

from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.gamma import digamma_difference
from funcgrad.ops.special.normal_orthants import bivariate_normal_cdf, trivariate_normal_cdf
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.composition import as_single, real, refuse, with_value
from funcgrad.scipy.python_functions import adopted_where_traced, of_scipy_or_adopted
from funcgrad.source import USERS, as_of_numbers, fail, type_error, value_error, with_name
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_LOG_TAU = math.log(2 * math.pi)


def _squeezed(x: Array) -> Any:
    return x.reshape([n for n in x.shape if n != 1])


# -- normal and t --------------------------------------------------------------------------------
def _parameters(who: str, mean: ArrayLike | None, cov: ArrayLike) -> tuple[Array, Array]:
    """The mean as a vector, and the covariance as a matrix."""
    matrix = real(who, 1.0 if cov is None else cov)
    center = None if mean is None else real(who, mean).reshape(-1)
    size = matrix.shape[0] if matrix.ndim else 1
    size = size if center is None or matrix.ndim else center.size
    center = np.zeros(size) if center is None else center
    if matrix.ndim < 2:
        matrix = np.eye(size) * matrix
    if matrix.shape != (size, size) or center.shape != (size,):
        raise value_error(
            f"{who}: expected a mean of n entries and a matrix of shape (n, n), but got {center.shape} "
            f"and {matrix.shape}",
        )
    return center, matrix


def _squared_distance(x: Array, center: Array, matrix: Array) -> tuple[Array, Array]:
    """Mahalanobis' distances of the points from the center, squared, and the matrix's log-determinant."""
    points = x.reshape((-1, 1) if x.ndim == 1 and center.size == 1 else x.shape)
    factor = np.linalg.cholesky(matrix)
    off = points - center
    white = np.linalg.solve(factor, off.reshape(-1, center.size).T)
    distance = np.sum(white * white, axis=0).reshape(off.shape[:-1])
    return distance, 2 * np.sum(np.log(np.diagonal(factor)))


def _is_regular(matrix: Array) -> bool:
    """Whether a matrix is positive definite, by SciPy's bound on its eigenvalues."""
    values = np.linalg.eigvalsh(matrix)
    return bool(np.min(values) > _NEGLIGIBLE * np.max(np.abs(values)))


def _stands_for_many(matrix: object) -> bool:
    """Whether a matrix has no value to ask for its rank: the formula for any rank holds for each value."""
    return isinstance(matrix, Expr) and not has_known_value(matrix)


_NEGLIGIBLE = 1e6 * np.finfo(float).eps
"""The eigenvalues that SciPy takes for 0, as a part of the largest."""


def _is_known_singular(matrix: Array) -> bool:
    try:
        return not _is_regular(matrix)
    except TypeError:  # mapped, or a formula: there is no value to ask for
        return False


def initialize_psd(
    self: Any,
    M: ArrayLike,
    cond: float | None = None,
    rcond: float | None = None,
    lower: bool = True,
    check_finite: bool = True,
    allow_singular: bool = True,
) -> None:
    """As the constructor of `scipy.stats._multivariate._PSD`, by Cholesky's factor.

    It is differentiable where eigenvalues are equal, too. ``self.U @ self.U.T`` is the inverse.
    """
    self._M = M = real("covariance", M)
    if not _is_regular(M):
        raise fail(
            np.linalg.LinAlgError,
            "covariance: expected a positive definite matrix, since a traced one must not be singular",
            USERS,
        )
    factor = np.linalg.cholesky(M)
    self.U = np.linalg.inv(factor).T
    self.log_pdet = 2 * np.sum(np.log(np.diagonal(factor)))
    self.rank, self._pinv = M.shape[0], None
    self.eps, self.V = 0.0, np.zeros((self.rank, 0))


class _OfRank(NamedTuple):
    """A singular covariance matrix, whose rank is a choice, read from the values."""

    rank: Array
    log_det: Array
    """The logarithm of the product of the eigenvalues that are not 0."""
    precision: Array
    """The pseudoinverse."""
    off: Array
    """The vectors of the eigenvalues that are 0, and 0 in the place of the others."""
    slack: Array
    """The distance from the subspace up to which SciPy counts a point to it."""


def _of_rank(matrix: Array) -> _OfRank:
    """The parts of a singular matrix, with their derivatives among matrices of its rank."""
    values, vectors = np.linalg.eigh(matrix)
    known = stop_gradient(values)
    least = _NEGLIGIBLE * np.max(np.abs(known))
    if np.min(known) < -least:
        message = "covariance: expected a matrix that is positive semidefinite"
        raise as_of_numbers(value_error(message, USERS))
    is_kept = known > least
    return _OfRank(
        rank=np.sum(is_kept),
        log_det=np.sum(np.log(np.where(is_kept, values, 1.0))),
        precision=np.linalg.pinv(matrix, _NEGLIGIBLE, True),
        off=np.where(is_kept, 0.0, stop_gradient(vectors)),
        slack=1e3 * least,
    )


def _singular_normal(x: Array, center: Array, matrix: Array) -> Any:
    """The density on a subspace, which depends on the matrix through matrices of the same rank."""
    points = x.reshape((-1, 1) if x.ndim == 1 and center.size == 1 else x.shape)
    away, parts = points - center, _of_rank(matrix)
    distance = np.sum(away * (away @ parts.precision), axis=-1)
    inside = np.linalg.norm(stop_gradient(away) @ parts.off, axis=-1) < parts.slack
    log_density = -(parts.rank * _LOG_TAU + parts.log_det + distance) / 2
    return np.where(inside, log_density, -np.inf)


def _normal(
    x: ArrayLike, mean: ArrayLike | None = None, cov: ArrayLike = 1, allow_singular: bool = False
) -> Any:
    center, matrix = _parameters("multivariate_normal", mean, cov)
    points = np.atleast_1d(real("multivariate_normal", x))
    if allow_singular and (_stands_for_many(matrix) or not _is_regular(matrix)):
        return _squeezed(_singular_normal(points, center, matrix))
    distance, log_det = _squared_distance(points, center, matrix)
    return _squeezed(-(center.size * _LOG_TAU + log_det + distance) / 2)


def _t(x: ArrayLike, loc: ArrayLike | None = None, shape: ArrayLike = 1, df: ArrayLike = 1) -> Any:
    center, matrix = _parameters("multivariate_t", loc, shape)
    n, df = center.size, real("multivariate_t", df)
    if not holds_expr(df) and np.isinf(df):
        return _normal(x, loc, shape)
    points = np.atleast_1d(real("multivariate_t", x))
    distance, log_det = _squared_distance(points, center, matrix)
    constant = gammaln((df + n) / 2) - gammaln(df / 2) - n / 2 * np.log(df * math.pi) - log_det / 2
    return _squeezed(constant - (df + n) / 2 * np.log1p(distance / df))


# -- Dirichlet and multinomial ----------------------------------------------------------------------
def _dirichlet(x: ArrayLike, alpha: ArrayLike) -> Any:
    given = x, alpha
    x, alpha = real("dirichlet", x), real("dirichlet", alpha)
    if x.shape[0] == alpha.shape[0] - 1:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    if x.shape[0] != alpha.shape[0]:
        raise value_error(
            f"dirichlet: expected x with as many entries along its first axis as alpha has, but got "
            f"{x.shape} and {alpha.shape}",
        )
    constant = gammaln(np.sum(alpha)) - np.sum(gammaln(alpha))
    found = constant + np.sum(special.xlogy(alpha - 1, x.T), axis=-1).T
    return as_single(_squeezed(found), *given)


def _counts(x: Array, n: Array) -> Any:
    """Whether x are counts that add up to n."""
    whole = np.logical_and(x >= 0, x == np.floor(x))
    return np.logical_and(np.all(whole, axis=-1), np.sum(x, axis=-1) == n)


def _multinomial(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
    eps = 10 * np.finfo(np.float32 if getattr(p, "dtype", None) == np.float32 else float).eps
    x, n, p = [real("multinomial", item) for item in (x, n, p)]
    x = np.floor(x)
    # As SciPy: the last probability is what the others leave.
    rest = 1 - np.sum(p[..., :-1], axis=-1, keepdims=True)
    last = np.where(
        np.abs(rest - p[..., -1:]) > eps, rest, with_value(stop_gradient(p[..., -1:]), rest)
    )
    p = np.concatenate([p[..., :-1], last], axis=-1)
    log = gammaln(n + 1) + np.sum(special.xlogy(x, p) - gammaln(x + 1), axis=-1)
    valid = np.logical_and(np.all(np.logical_and(p >= 0, p <= 1), axis=-1), n >= 0)
    return np.where(valid, np.where(_counts(x, n), log, -np.inf), np.nan)


def _dirichlet_multinomial(x: ArrayLike, alpha: ArrayLike, n: ArrayLike) -> Any:
    x, alpha, n = [real("dirichlet_multinomial", item) for item in (x, alpha, n)]
    x, total = np.floor(x), np.sum(alpha, axis=-1)
    log = gammaln(total) + gammaln(n + 1) - gammaln(n + total)
    log = log + np.sum(gammaln(x + alpha) - gammaln(alpha) - gammaln(x + 1), axis=-1)
    return np.where(_counts(x, n), log, -np.inf)


# -- the probability of boxes ---------------------------------------------------------------------
def _normal_cdf(
    x: ArrayLike, center: Array, matrix: Array, lower_limit: ArrayLike | None = None
) -> Any:
    """The probability of a box between the limits, or below x; a sum over its corners."""
    n = center.size
    if n > 3:
        raise type_error(
            f"multivariate_normal.cdf: expected up to three entries with traced values, but got {n}; write "
            "the probability as an integral, or hold the arguments constant with fg.stop_gradient",
        )
    sizes = np.sqrt(np.diagonal(matrix))
    limits = [_in_sizes(x, center, sizes)]
    if lower_limit is not None:
        limits.append(_in_sizes(lower_limit, center, sizes))
    total: Any = 0.0
    for corner in itertools.product(range(len(limits)), repeat=n):
        bounds = [limits[k][..., i] for i, k in enumerate(corner)]
        total = total + (-1.0) ** sum(corner) * _below(bounds, matrix / np.outer(sizes, sizes))
    return total


def _in_sizes(x: ArrayLike, center: Array, sizes: Array) -> Any:
    points = np.atleast_1d(real("multivariate_normal", x))
    points = points.reshape((-1, 1) if points.ndim == 1 and center.size == 1 else points.shape)
    return (points - center) / sizes


def _below(bounds: list[Any], correlations: Array) -> Any:
    if len(bounds) == 1:
        return special.ndtr(bounds[0])
    if len(bounds) == 2:
        return bivariate_normal_cdf(*bounds, correlations[0, 1])
    pairs = [correlations[0, 1], correlations[0, 2], correlations[1, 2]]
    return trivariate_normal_cdf(*bounds, *pairs)


# -- matrices ---------------------------------------------------------------------------------------
def _of_matrices(name: str, x: ArrayLike, df: ArrayLike, scale: ArrayLike, sign: int) -> Any:
    """Wishart's density for the sign 1, and that of the inverse matrix for -1."""
    x, df = real(name, x), real(name, df)
    _, matrix = _parameters(name, None, scale)
    n = matrix.shape[0]
    points = np.moveaxis(x, -1, 0) if x.ndim == 3 else x.reshape(-1, n, n)
    log_det = np.linalg.slogdet(points)[1]
    divisor, divided = (matrix, points)[::sign]
    trace = np.trace(np.linalg.solve(divisor, divided), axis1=-2, axis2=-1)
    gammas = n * (n - 1) / 4 * math.log(math.pi) + np.sum(gammaln((df - np.arange(n)) / 2))
    constant = -sign * df / 2 * np.linalg.slogdet(matrix)[1] - df * n / 2 * math.log(2) - gammas
    return _squeezed((sign * df - n - 1) / 2 * log_det - trace / 2 + constant)


_FORMULAS: Mapping[str, Callable[..., Any]] = {
    "dirichlet": _dirichlet,
    "dirichlet_multinomial": _dirichlet_multinomial,
    "invwishart": lambda x, df, scale: _of_matrices("invwishart", x, df, scale, -1),
    "multinomial": _multinomial,
    "multivariate_normal": _normal,
    "multivariate_t": _t,
    "wishart": lambda x, df, scale: _of_matrices("wishart", x, df, scale, 1),
}
"""The logarithm of the density, or of the mass of a discrete distribution."""


def _normal_entropy(mean: ArrayLike | None = None, cov: ArrayLike = 1) -> Any:
    center, matrix = _parameters("multivariate_normal", mean, cov)
    if _is_known_singular(matrix):
        parts = _of_rank(matrix)
        return (parts.rank * (_LOG_TAU + 1) + parts.log_det) / 2
    log_det = 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(matrix))))
    return (center.size * (_LOG_TAU + 1) + log_det) / 2


def _dirichlet_entropy(alpha: ArrayLike) -> Any:
    given, alpha = alpha, real("dirichlet", alpha)
    total = np.sum(alpha)
    beta = np.sum(gammaln(alpha)) - gammaln(total)
    rest = (total - alpha.size) * special.psi(total)
    return as_single(beta + rest - np.sum((alpha - 1) * special.psi(alpha)), given)


def _t_entropy(loc: ArrayLike | None = None, shape: ArrayLike = 1, df: ArrayLike = 1) -> Any:
    center, matrix = _parameters("multivariate_t", loc, shape)
    df = real("multivariate_t", df)
    if not holds_expr(df) and np.isinf(df):
        return _normal_entropy(None, shape)
    n, log_det = center.size, 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(matrix))))
    half, rest = df / 2, n / 2
    rise = (half + rest) * digamma_difference(half, rest)
    regular = rest * np.log(half) + gammaln(half) - gammaln(half + rest) + rise
    # As SciPy, by the asymptotic series where the logarithms of the gamma function cancel.
    series = [
        n,
        -n * (n - 2) / 4,
        n**2 * (n - 2) / 6,
        n * (-3 * n**3 + 8 * n**2 - 8) / 24,
        n**2 * (3 * n**3 - 10 * n**2 + 16) / 30,
    ]
    far = rest + sum([c / df ** (k + 1.0) for k, c in enumerate(series)])
    constant = np.where(df >= 400 * n / (math.log(n) + 1), far, regular)
    return (log_det + n * _LOG_TAU) / 2 + constant


def _wishart_entropy(df: ArrayLike, scale: ArrayLike) -> Any:
    df = real("wishart", df)
    _, matrix = _parameters("wishart", None, scale)
    n = matrix.shape[0]
    halves = (df - np.arange(n)) / 2
    gammas = n * (n - 1) / 4 * math.log(math.pi) + np.sum(gammaln(halves))
    log_det = np.linalg.slogdet(matrix)[1]
    return (
        (n + 1) / 2 * log_det
        + n * (n + 1) / 2 * math.log(2)
        + gammas
        - (df - n - 1) / 2 * np.sum(special.psi(halves))
        + df * n / 2
    )


_ENTROPIES: Mapping[str, Callable[..., Any]] = {
    "dirichlet": _dirichlet_entropy,
    "multivariate_normal": _normal_entropy,
    "multivariate_t": _t_entropy,
    "wishart": _wishart_entropy,
}


def _holds_covariance(args: Sequence[object], kwds: Mapping[str, object]) -> bool:
    """Whether SciPy's adopted code takes the parameters: `scipy.stats.Covariance` has methods of its own."""
    return any([isinstance(item, _scipy.Covariance) for item in (*args, *kwds.values())])


def _method(name: str) -> Callable[..., Any]:
    def method(self: Multivariate, x: ArrayLike, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        own = getattr(self.own, name)  # an AttributeError, if SciPy's has no such method
        args, kwds = self.parameters(args, kwds)
        if not holds_expr([x, *args, *kwds.values()]):
            return own(x, *args, **kwds)
        if _holds_covariance(args, kwds):
            return functions["call_adopted"](getattr(copy(self.own), name), (x, *args), kwds)
        with np.errstate(all="ignore"):
            log = _FORMULAS[self.name](x, *args, **kwds)
            return log if name.startswith("log") else np.exp(log)

    return with_name(method, name, f"As SciPy's method `{name}`.")


def _normal_draws(own: Any, center: Array, matrix: Array, given: Mapping[str, Any]) -> Any:
    """NumPy's draws of normal vectors, as the products of independent ones and a factor of the covariance."""
    state = own._get_random_state(given.get("random_state"))
    size = given.get("size", 1)
    if not holds_expr(matrix):
        zeros = np.zeros(len(matrix))
        return center + np.asarray(state.multivariate_normal(zeros, np.asarray(matrix), size))
    lengths = tuple(np.atleast_1d(np.asarray(size, int)).tolist()) if size is not None else ()
    u, values, vh = np.linalg.svd(matrix)
    factor = (u if isinstance(state, np.random.Generator) else vh.T) * np.sqrt(values)
    return center + np.asarray(state.standard_normal((*lengths, len(matrix)))) @ factor.T


class Multivariate:
    """A multivariate distribution of SciPy's, whose densities and masses take traced values.

    Other methods and attributes are those of SciPy's distribution, ``own``.
    """

    def __init__(
        self, name: str, args: tuple[Any, ...] = (), kwds: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.args, self.kwds = name, args, dict(kwds or {})
        self.own = getattr(_scipy, name)
        self.__doc__ = f"As `scipy.stats.{name}`."

    def __repr__(self) -> str:
        return f"<funcgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: ArrayLike, **kwds: ArrayLike | None) -> Multivariate:
        """The distribution with the given parameters, as SciPy's frozen one."""
        given = signature(self.own.__call__).bind(*args, **kwds).arguments
        if given.get("seed") is None:
            return Multivariate(self.name, args, kwds)
        state = check_random_state(given["seed"])  # all draws are from one generator
        if "seed" not in kwds:
            return Multivariate(self.name, (*args[:-1], state), kwds)
        return Multivariate(self.name, args, {**kwds, "seed": state})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'Multivariate' object has no attribute {name!r}")
        return self._scipys(name)

    def _scipys(self, name: str) -> Any:
        """An attribute of SciPy's distribution; a method of traced values is adopted."""
        if self.args or self.kwds:
            return getattr(self._frozen(), name)
        found = getattr(copy(self.own), name)  # for which this object does not stand in
        return adopted_where_traced(found) if callable(found) else found

    def _frozen(self) -> Any:
        """SciPy's distribution with the parameters; of traced ones, in adopted code."""
        return of_scipy_or_adopted(copy(self.own), self.args, self.kwds)

    def parameters(self, args: Any, kwds: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The frozen distribution's parameters and a method's own."""
        merged = {**self.kwds, **kwds}
        merged.pop("seed", None)
        return (*self.args, *args), merged

    def entropy(self, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        """The entropy, as SciPy's method; of traced parameters for distributions of `_ENTROPIES`."""
        own = self._scipys("entropy")
        named = args, kwds
        args, kwds = self.parameters(args, kwds)
        is_plain = not holds_expr([*args, *kwds.values()])
        if self.name not in _ENTROPIES or is_plain or _holds_covariance(args, kwds):
            return own(*named[0], **named[1])
        return _ENTROPIES[self.name](*args, **kwds)

    pdf, logpdf = _method("pdf"), _method("logpdf")
    pmf, logpmf = _method("pmf"), _method("logpmf")

    def cdf(self, x: ArrayLike, *args: Any, **kwds: Any) -> Any:
        """As SciPy's method; of traced values for a normal vector of up to three entries."""
        own = self.own.cdf  # an AttributeError, if SciPy's has no such method
        args, kwds = self.parameters(args, kwds)
        if not holds_expr([x, *args, *kwds.values()]):
            return own(x, *args, **kwds)
        given = signature(own).bind(x, *args, **kwds).arguments
        if self.name != "multivariate_normal":
            refuse(self.name, method="cdf")
        refuse("multivariate_normal.cdf", allow_singular=given.get("allow_singular", False))
        cov = given.get("cov", 1)
        matrix = cov.covariance if isinstance(cov, _scipy.Covariance) else cov
        center, matrix = _parameters(self.name, given.get("mean"), matrix)
        with np.errstate(all="ignore"):
            return _squeezed(_normal_cdf(x, center, matrix, given.get("lower_limit")))

    def rvs(self, *args: Any, **kwds: Any) -> Any:
        """As SciPy's method; draws are functions of traced parameters, as those of NumPy's generators."""
        own = self.own.rvs
        given_values = [*self.args, *self.kwds.values(), *args, *kwds.values()]
        is_composed = self.name == "multivariate_normal" and holds_expr(given_values)
        if not is_composed or _holds_covariance(given_values, {}):
            # SciPy's code, over draws that move with their parameters
            return self._scipys("rvs")(*args, **kwds)
        frozen_args = ({"mean": None, "cov": 1} if self.args or self.kwds else {}) | self.kwds
        frozen_args |= dict(zip(("mean", "cov"), self.args, strict=False))
        seed = frozen_args.pop("seed", None)
        given = signature(own).bind(*frozen_args.values(), *args, **kwds).arguments
        if given.get("random_state") is None:
            given["random_state"] = seed
        center, matrix = _parameters(
            "multivariate_normal.rvs", given.get("mean"), given.get("cov", 1)
        )
        return _squeezed(_normal_draws(self.own, center, matrix, given))

    def logcdf(self, x: ArrayLike, *args: Any, **kwds: Any) -> Any:
        """The logarithm of `cdf`."""
        merged, named = self.parameters(args, kwds)
        if not holds_expr([x, *merged, *named.values()]):
            return self.own.logcdf(x, *merged, **named)
        return np.log(self.cdf(x, *args, **kwds))


def draws_of_invwishart(
    self: Any, n: int, shape: object, dim: int, df: float, C: Array, random_state: object
) -> Any:
    """SciPy's method `invwishart._rvs`: w @ w.T with w = C @ inv(A), of a draw A with an inverse."""
    state = self._get_random_state(random_state)
    standard = self._inv_standard_rvs(n, shape, dim, df, state)
    w = np.swapaxes(np.linalg.solve(np.swapaxes(standard, -1, -2), np.transpose(C)), -1, -2)
    return w @ np.swapaxes(w, -1, -2)


def rotated_from_pole(self: object, samples: Array, mu: Array, dim: int) -> Any:
    """SciPy's method `vonmises_fisher._rotate_samples`: the reflection of LAPACK's QR, with its sign.

    Where mu is a pole, LAPACK's is the identity, and the derivative that of the rotation from there.
    """
    unit = mu / np.linalg.norm(mu)
    pole, sign = np.eye(dim)[0], np.copysign(1.0, unit[0])
    normal = unit + sign * pole
    reflection = np.eye(dim) - np.outer(normal, normal) / (1 + np.abs(unit[0]))
    at_pole = sign * reflection + 2 * np.outer(unit, pole)
    rotation = np.where(np.all(unit[1:] == 0), at_pole, -sign * reflection)
    return np.einsum("ij,...j->...i", rotation, samples)


MULTIVARIATE: Mapping[str, Multivariate] = {name: Multivariate(name) for name in _FORMULAS}
"""The multivariate distributions by their names in SciPy."""
