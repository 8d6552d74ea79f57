"""Reading laws hold wherever operands and both sides are finite, and change nothing that runs."""

import inspect
import pickle

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import scatter_op
from funcgrad.ops.null_spaces import determined_slope
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.reading import reading
from funcgrad.rewrite.reading_array_laws import READING_ELEMENTWISE
from funcgrad.rewrite.reading_laws import COMPLEX_READING, READING, STRUCTURAL_READING
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.scipy.stats import expon, norm
from tests.default_slice import one_in
from tests.rewrite.near_misses import changed_in_one_operand, has_value_of
from tests.show.reading_back import check_read_back

X, Y = fg.vars("x y")
V, W, LONG = fg.var("v", (3,)), fg.var("w", (3,)), fg.var("l", (9, 2))
M = fg.var("m", (3, 3))
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 0.3, -0.7]


def name_of(law):
    return inspect.getsource(law.left).strip()[:90]


def read(expr):
    return simplify_all([expr], mode="reading")[0]


def finite(a, b):
    return np.isfinite(a) & np.isfinite(b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("law", READING, ids=name_of)
def test_an_identity_holds_and_is_used(law, dtype):
    x = np.array(NUMBERS, dtype)
    constants = {"c": 2.5} if "c" in inspect.signature(law.left).parameters else {}
    left = law.left(fg.var("x", x.shape, x.dtype), **constants)
    simple = read(left)
    assert simple.key != left.key
    assert simple.type == left.type
    wanted, found = left(x=x), np.asarray(simple(**dict.fromkeys(variables(simple), x)))
    both = finite(wanted, found)
    tolerance = 64 * np.finfo(dtype).eps * 1e3
    np.testing.assert_allclose(found[both], wanted[both], rtol=tolerance, atol=tolerance)
    with np.errstate(all="ignore"):
        right = np.broadcast_to(law.right(x, **constants), x.shape)
    both = finite(wanted, right)
    np.testing.assert_allclose(right[both], wanted[both], rtol=tolerance, atol=tolerance)


READINGS = {
    "is_finite": (lambda: fg.gradient(norm.logpdf(X, Y), Y), "x - y"),
    "is_finite, of a cumulative distribution": (
        lambda: fg.gradient(norm.cdf(X), X),
        "0.3989422804014327*exp(-x**2/2)",
    ),
    "is_finite, negated": (lambda: mask(~np.isnan(X) & (Y > 0), X), "where(y > 0, x, 0)"),
    "same_everywhere, of what is known": (
        lambda: fg.gradient(np.sum(norm.logpdf(np.arange(3.0), X)), X),
        "3 - 3*x",
    ),
    "exponential_of_none": (
        lambda: np.exp(np.where(X > 0, np.sin(X), -np.inf)) * Y,
        "y*where(x > 0, exp(sin(x)), 0)",
    ),
    "guarded_limit": (
        lambda: fg.trace(fg.grad(lambda x, y: np.cos(np.hypot(x, y))), 1.0, 2.0),
        "let a = hypot(x, y)\nin -x*sin(a)/a",
    ),
    "beside_infinite": (
        lambda: fg.hessian(lambda v: np.cos(np.linalg.norm(v))).expr(np.ones(2)),
        "let a = outer(v, v)\n"
        "in (a/norm(v)**3 - eye(2)/norm(v))*sin(norm(v)) - cos(norm(v))*a/norm(v)**2",
    ),
    "underflow": (lambda: fg.gradient(norm.pdf(X), X), "-x*exp(-x**2/2 - 0.9189385332046727)"),
    "underflow, in a support": (
        lambda: fg.gradient(expon.pdf(X), X),
        "where(x >= 0, -exp(-x), 0)",
    ),
    "chosen_in_mask": (lambda: fg.gradient(expon.cdf(X), X), "where(x > 0, exp(-x), 0)"),
    "chosen_in_mask of a number, in a sum": (
        lambda: mask(X > 0, np.sum(np.where(X > 0, V * W, V))),
        "where(x > 0, sum(v*w), 0)",
    ),
    "chosen_in_mask of an array, not in a sum": (
        lambda: mask(V > 0, np.sum(np.where(V > 0, W, -V))),
        "where(v > 0, sum(where(v > 0, w, -v)), 0)",
    ),
    "chosen_in_mask, some of the conditions": (
        lambda: mask(X > 0, np.cos(mask((X > 0) & (Y > 0), X))),
        "where(x > 0, cos(where(y > 0, x, 0)), 0)",
    ),
    "chosen_in_where": (
        lambda: np.where(X > 0, np.sin(np.where(X > 0, X, Y)), np.exp(np.where(X > 0, X, Y))),
        "where(x > 0, sin(x), exp(y))",
    ),
    "like_factors, a number and a sum": (lambda: 2 * (4 * X + 2 * np.sin(Y)), "8*x + 4*sin(y)"),
    "moved_constant": (
        lambda: fg.hessian(lambda m: np.sum(m**2)).expr(M),
        "2*reshape(eye(9), (3, 3, 3, 3))",
    ),
    "sum_of_constant": (
        lambda: fg.hessian(lambda m: np.sum(m) ** 2).expr(M),
        "full((3, 3, 3, 3), 2.0)",
    ),
    "sorted": (lambda: fg.gradient(np.sum(np.sort(M, axis=0)[0] * V), V), "sort(m, axis=0)[0]"),
    "sum_of_repeated": (
        lambda: fg.gradient(np.sum(np.outer(V, W)), W),
        "full(3, sum(v))",
    ),
    "beside_infinity, of the radius of a number": (
        lambda: fg.gradient(np.arctan2(X, 2.0), X),
        "2/(x**2 + 4)",
    ),
    "sorted, of a vector": (lambda: fg.gradient(np.sort(V) @ W, W), "sort(v)"),
    "difference": (lambda: fg.gradient(X * np.sum(np.diff(V)), X), "sum(diff(v))"),
    "difference, turned": (
        lambda: fg.gradient(X * np.sum(np.exp(V[:-1] - V[1:])), X),
        "sum(exp(-diff(v)))",
    ),
    "differences_back": (
        lambda: fg.gradient(np.sum(np.abs(np.diff(V))), V),
        "-diff(pad(sign(diff(v)), 1))",
    ),
    "like_factors": (lambda: X * Y / X, "y"),
    "like_factors of powers": (lambda: X**2 * X**3, "x**5"),
    "like_factors of roots": (lambda: np.sqrt(X) * np.sqrt(X), "x"),
    "like_factors, root of a square": (lambda: np.sqrt(np.square(X) * Y), "sqrt(x**2*y)"),
    "like_factors, power of a root": (lambda: (X**2) ** 0.5 * Y, "y*abs(x)"),
    "like_factors of exponentials": (lambda: np.exp(-X) * np.exp(2 * X) * Y, "y*exp(x)"),
    "like_factors of sines": (lambda: Y * np.sin(X) / np.cos(X), "y*tan(x)"),
    "like_factors of sigmoids": (lambda: fg.gradient(np.tanh(X), X), "1/cosh(x)**2"),
    "like_factors in order": (lambda: np.cos(X) * Y * 0.5, "y*cos(x)/2"),
    "like_factors by zero": (lambda: Y * (0.0 * X), "0.0"),
    "like_factors with equal sums": (lambda: np.sin(X) * (Y + X) / (X + Y), "sin(x)"),
    "like_factors with equal sums, opposite": (
        lambda: fg.gradient(np.sin(X) / (1 - np.cos(X)), X),
        "-1/(1 - cos(x))",
    ),
    "like_factors with equal sums, of whole numbers": (
        lambda: fg.gradient(np.arctan((X + 1) / (1 - X)), X),
        "1/(x**2 + 1)",
    ),
    "like_factors with equal sums, not of roots": (
        lambda: Y * np.sqrt(X - Y) * np.sqrt(Y - X),
        "y*sqrt(x - y)*sqrt(y - x)",
    ),
    "like_factors in sigmoids": (
        lambda: fg.gradient(Y / (1 + np.exp(-3 * X)), X),
        "3*y*sigmoid(3*x)*sigmoid(-3*x)",
    ),
    "like_factors, joined exponentials": (lambda: Y * np.exp(X + Y) * np.exp(X - Y), "y*exp(2*x)"),
    "like_factors, exponentials not with more terms": (
        lambda: fg.gradient(np.exp(-np.exp(-X)), X),
        "exp(-exp(-x))*exp(-x)",
    ),
    "like_factors in signs, of a quotient": (lambda: Y * X / np.abs(X) ** 3, "y*sign(x)/x**2"),
    "like_factors in signs, of terms": (
        lambda: X / np.abs(X) ** 3 + np.sign(X) / X**2,
        "2*sign(x)/x**2",
    ),
    "like_factors, root of squares": (
        lambda: fg.gradient(np.arccos((1 - X**2) / (1 + X**2)), X),
        "2*sign(x)/(x**2 + 1)",
    ),
    "like_terms that cancel up to rounding": (
        lambda: fg.gradient(np.sqrt(2 * X) / np.sqrt(X), X),
        "0.0",
    ),
    "like_terms of a polynomial": (
        lambda: fg.gradient((2 * X - 1) * (4 * X**2 - 4 * X + 1), X),
        "24*x**2 - 24*x + 6",
    ),
    "half_at_a_tie, squared": (
        lambda: fg.gradient(fg.gradient(np.maximum(X, 0) ** 2, X), X),
        "sign(x) + 1",
    ),
    "guarded, by products": (
        lambda: fg.gradient(np.sqrt(X**2 * np.cos(Y) ** 2 + np.sin(Y) ** 2), Y),
        "(1 - x**2)*sin(y)*cos(y)/sqrt(x**2*cos(y)**2 + sin(y)**2)",
    ),
    "guarded, zero by a sum": (
        lambda: mask(X != 0, (X * Y + X**2) * np.cos(Y)),
        "(x*y + x**2)*cos(y)",
    ),
    "guarded, of conditions": (
        lambda: fg.gradient(np.max(V) - np.min(V), V),
        "let a = v == max(v)\n    b = v == min(v)\nin a/sum(a) - b/sum(b)",
    ),
    "like_terms": (lambda: X + Y - X, "y"),
    "like_terms of products": (lambda: Y * X + X * Y, "2*x*y"),
    "like_terms of nothing": (lambda: X - Y + Y - X, "0.0"),
    "like_terms with a factor": (lambda: X * np.exp(Y) + np.exp(Y), "(x + 1)*exp(y)"),
    "like_terms of fractions": (lambda: 1 / (1 + X) - X / (1 + X) ** 2, "1/(x + 1)**2"),
    "like_terms opened": (lambda: 2 * (X + 1) - 2, "2*x"),
    "like_terms, positive first": (lambda: -X + Y - 1, "y - x - 1"),
    "guarded": (lambda: mask(X != 0, Y / X), "y/x"),
    "guarded, of a power": (lambda: fg.gradient(X**Y, X), "y*x**(y - 1)"),
    "guarded, of several": (
        lambda: mask((X != 0) & (Y > 0) & (X**2 != 0), Y / X),
        "where(y > 0, y/x, 0)",
    ),
    "guarded, of two products": (
        lambda: fg.gradient(np.sqrt(X**2 * Y**2 + fg.var("z") ** 2 * Y**4), X),
        "x*y**2/sqrt(y**4*z**2 + x**2*y**2)",
    ),
    "guarded, of a sum of quotients": (
        lambda: mask(X != 0, np.sum(V / X) * Y),
        "y*sum(v)/x",
    ),
    "guarded, not of some entries": (
        lambda: mask(V != 0, np.sum(np.reshape(W / V, (3, 1))[:2])),
        "where(v != 0, sum(reshape(w/v, shape=(3, 1))[:2]), 0)",
    ),
    "like_factors of a power of a radius": (
        lambda: fg.gradient(np.hypot(X, X) ** np.exp(X), X),
        "let a = hypot(x, x)\nin (a**exp(x)*log(a) + 2*x*a**(exp(x) - 1)/a)*exp(x)",
    ),
    "guarded, of a logarithm": (lambda: fg.gradient(X**Y, Y), "x**y*log(x)"),
    "guarded, of a sum": (lambda: fg.gradient(X**X, X), "x**x*(log(x) + 1)"),
    "guarded, of two": (lambda: fg.gradient(np.arctan2(Y, X), Y), "x/(y**2 + x**2)"),
    "beside_infinity, of a radius": (
        lambda: fg.gradient(fg.gradient(np.arctan2(Y, X), Y), Y),
        "-2*x*y/(y**2 + x**2)**2",
    ),
    "defined": (lambda: np.exp(np.square(np.sqrt(X) / Y)), "exp(x/y**2)"),
    "guarded, needed": (lambda: mask(X != 0, X**2.5 + 1 / Y), "where(x != 0, x**2.5 + 1/y, 0)"),
    "cases": (lambda: fg.gradient(np.where(X > 0, X**2, -X), X), "where(x > 0, 2*x, -1)"),
    "either_way": (lambda: mask((X > 0) | np.logical_not(X > 0), Y), "y"),
    "same_operands": (lambda: np.where(X != X, 1.0, Y), "y"),
    "beside_infinity": (lambda: mask((X > Y) | (np.abs(X) < np.inf), X), "x"),
    "half_at_a_tie": (lambda: fg.gradient(np.maximum(X, Y), X), "(sign(x - y) + 1)/2"),
    "half_at_a_tie, times another factor": (
        lambda: fg.gradient(np.maximum(0, 1 - Y * X), X),
        "-y*(sign(1 - x*y) + 1)/2",
    ),
    "zero_of_other_sign": (lambda: fg.gradient(np.maximum(X, 0) ** 2, X), "2*maximum(x, 0)"),
    "zero_of_other_sign, the smaller": (
        lambda: fg.gradient(Y * np.minimum(0, X) ** 3, X),
        "3*y*minimum(0, x)**2",
    ),
    "half_at_a_tie of two": (
        lambda: fg.gradient(np.maximum(Y * (X - 1), (Y - 1) * (X - 1)), X),
        "y + sign(x - 1)/2 - 0.5",
    ),
    "sign_of_part": (lambda: fg.gradient(np.clip(X, 0, 1), X), "(sign(x) + sign(1 - x))/2"),
    "sign_of_part of the smaller": (lambda: np.sign(np.minimum(X, 1) + 1), "sign(x + 1)"),
    "guarded, zero by itself": (lambda: mask(X != 0, Y * X * np.cos(X)), "x*y*cos(x)"),
    "guarded, of a second power": (
        lambda: fg.gradient(fg.gradient(X**Y, X), X),
        "y*(y - 1)*x**(y - 2)",
    ),
    "is_never_zero": (lambda: mask(np.sqrt(X**2 + 1) != 0, Y + 1), "y + 1"),
    "is_never_zero of an exponential": (lambda: mask(np.exp(X) != 0, Y + 1), "y + 1"),
    "is_never_zero, of what may be": (
        lambda: mask(X**2 + Y != 0, Y + 1),
        "where(x**2 + y != 0, y + 1, 0)",
    ),
    "same_mask": (
        lambda: np.where(X > Y, mask(X > 0, X), mask(X > 0, Y)),
        "where(x > 0, where(x > y, x, y), 0)",
    ),
    "same_mask within": (
        lambda: fg.gradient(np.piecewise(X, [X < 0, X >= 0], [lambda x: -x, np.square]), X),
        "where(x < 0, -1, 2*x)",
    ),
    "cases of comparisons": (
        lambda: mask(X >= Y, X * 2) + mask(X < Y, X * 3),
        "where(x >= y, 2*x, 3*x)",
    ),
    "known_conjunct": (
        lambda: mask(((X > 1) & np.logical_not(Y > 0)) | (Y > 0), X),
        "where(logical_or(x > 1, y > 0), x, 0)",
    ),
    "needed_conditions": (
        lambda: mask((X > 1) | ((Y > 0) & (X > 1)) | (X > 1), X) + mask((Y > 0) & (Y > 0), Y),
        "where(x > 1, x, 0) + where(y > 0, y, 0)",
    ),
    "either_way, of a power of itself": (
        lambda: fg.gradient(fg.gradient(X**X, X), X),
        "x**x*((log(x) + 2)*log(x) + 1/x + 1)",
    ),
    "either_way, of a power of a sum": (
        lambda: fg.gradient(fg.gradient((1 + X) ** X, X), X),
        "let a = (2*x*log(x + 1) + 2)/(x + 1) + log(x + 1)**2 + x*(x - 1)/(x + 1)**2\n"
        "in (x + 1)**x*a",
    ),
    "like_terms with powers that differ by numbers": (
        lambda: X ** (Y - 1) + Y * np.log(X) * X ** (Y - 1) - 2 * X**Y / X,
        "x**(y - 1)*(y*log(x) - 1)",
    ),
    "common_conjunct": (
        lambda: mask(((X > 1) & (Y > 0)) | ((Y > 0) & (X < 0)), X),
        "where(logical_and(logical_or(x > 1, x < 0), y > 0), x, 0)",
    ),
    "either_way of an order": (lambda: mask((X >= Y) | (Y >= X), Y), "y"),
    "either_way, not of two variables": (
        lambda: mask((X <= 0) | (Y != 0), X),
        "where((x <= 0) | (y != 0), x, 0)",
    ),
    "either_way, not of another variable beside": (
        lambda: mask((X <= 0) | (X + Y != 0), X),
        "where((x <= 0) | (x + y != 0), x, 0)",
    ),
    "either_way, not beside another number": (
        lambda: mask((X <= -2) | (X + 1 != 0), X),
        "where((x <= (-2)) | (x + 1 != 0), x, 0)",
    ),
    "like_terms of a difference and a square": (
        lambda: (M @ (V - W)) ** 2 + M @ (W - V),
        "let a = m @ (v - w)\nin (a - 1)*a",
    ),
    "like_terms of a number near a fraction": (
        lambda: Y * 0.33333333333 + X,
        "0.33333333333*y + x",
    ),
    "like_terms of powers that differ by a half": (
        lambda: X ** (Y - 0.5) * (np.sqrt(X) + Y),
        "x**(y - 0.5)*(sqrt(x) + y)",
    ),
    "like_terms multiplied out": (lambda: Y * (X + Y) - X * Y, "y**2"),
    "like_terms over roots": (
        lambda: np.sqrt(1 - X**2) - X**2 / np.sqrt(1 - X**2),
        "(1 - 2*x**2)/sqrt(1 - x**2)",
    ),
    "like_terms over fractions": (lambda: (1 - Y) / (1 - X) - Y / X, "(x - y)/(x*(1 - x))"),
    "like_terms of sigmoids": (
        lambda: (1 - Y) * fg.sigmoid(X) - Y * fg.sigmoid(-X),
        "sigmoid(x) - y",
    ),
    "like_terms of signs": (lambda: Y * np.sign(X) - Y * np.sign(-X), "2*y*sign(x)"),
    "like_terms of exponentials": (lambda: (np.exp(X) + np.exp(-X)) * Y, "2*y*cosh(x)"),
    "like_terms of exponentials apart": (lambda: np.exp(-2 * X) - np.exp(2 * X), "-2*sinh(2*x)"),
    "like_terms of squares of sines": (
        lambda: Y + np.sin(X) ** 2 * Y + np.cos(X) ** 2 * Y,
        "2*y",
    ),
    "like_terms of hyperbolic squares": (
        lambda: Y * np.cosh(X / 4) ** 2 - Y * np.sinh(X / 4) ** 2 + 1,
        "y + 1",
    ),
    "like_terms with one number": (lambda: X / 3 - np.sin(Y) / 3, "(x - sin(y))/3"),
    "like_terms with a power": (lambda: X * X ** (Y - 1) + X**Y * np.log(X), "x**y*(log(x) + 1)"),
    "like_terms, all negative": (lambda: (-np.sin(X) - Y) * np.exp(X), "-(sin(x) + y)*exp(x)"),
    "like_factors with a sign": (lambda: X**2 * np.sign(X) * Y, "x*y*abs(x)"),
    "like_factors with a size": (lambda: np.sign(X) / np.abs(X), "1/x"),
    "like_factors with signs": (lambda: np.sign(X) ** 2 * np.abs(X), "abs(x)"),
    "like_factors with a sign alone": (lambda: Y * np.sign(X), "y*sign(x)"),
    "like_factors, hyperbolic": (lambda: Y * np.sinh(X) / np.cosh(X), "y*tanh(x)"),
    "like_factors, hyperbolic back": (lambda: Y / (np.tanh(X) * np.cosh(X)), "y/sinh(x)"),
    "like_factors multiplied out": (
        lambda: Y * (1 / X**3 - 2 * Y / X**4) / X * 2,
        "2*y/x**4 - 4*y**2/x**5",
    ),
    "before_broadcast": (
        lambda: np.broadcast_to(X, (3,)) * np.broadcast_to(Y, (3,)) + V,
        "x*y + v",
    ),
    "needless_axes": (lambda: V - np.reshape(X, (1,)), "v - x"),
    "factor_of_sum, along an axis": (
        lambda: fg.gradient(np.sum((M + V) ** 2), V),
        "2*sum(m + v, axis=0)",
    ),
    "factor_of_sum, alike along an axis": (
        lambda: np.sum(M * V[:, None] / W, axis=1),
        "v*sum(m/w, axis=1)",
    ),
    "matrix_times_vector": (lambda: fg.gradient(np.sum(np.outer(V, W) * M), V), "m @ w"),
    "matrix_times_vector, of columns": (
        lambda: fg.gradient(np.sum(np.outer(V, W) * M), W),
        "m.T @ v",
    ),
    "matrix_times_vector, of a new axis": (
        lambda: fg.simplify(np.sum(np.exp(M) * V[:, None], axis=0)),
        "exp(m).T @ v",
    ),
    "matrix_times_vector, times another": (
        lambda: np.sum(2 * M * V[:, None] * W, axis=1),
        "2*v*(m @ w)",
    ),
    "factor_of_sum": (lambda: np.sum(-2 * V * X), "-2*x*sum(v)"),
    "alike_in_sum, which cancels": (
        lambda: fg.gradient(np.sum((M - np.mean(M, axis=0)) ** 2), M),
        "2*(m - sum(m, axis=0)/3)",
    ),
    "alike_in_sum, of what is repeated": (
        lambda: fg.gradient(np.sum(np.tile(V, 2) ** 2), V),
        "4*v",
    ),
    "whole_or_part": (
        lambda: fg.gradient(np.sum(np.concatenate([V, W]) ** 2), W),
        "2*w",
    ),
    "where_not": (
        lambda: fg.gradient(np.sum(np.where(~(V > 1), V**2, 0)), V),
        "where(v > 1, 0, 2*v)",
    ),
    "sum_of_broadcast, of a covariance": (
        lambda: fg.gradient(np.trace(np.cov(M)), M),
        "m - sum(m, axis=1, keepdims=True)/3",
    ),
    "reshaped_broadcast": (
        lambda: np.reshape(np.broadcast_to(np.sin(V), (1, 3)), (3,)) * W,
        "w*sin(v)",
    ),
    "quadratic_form": (
        lambda: fg.gradient(X * (V @ M @ W), X),
        "v @ (m @ w)",
    ),
    "from_the_left of powers": (
        lambda: fg.gradient(np.trace(np.linalg.matrix_power(M, 4)), M),
        "4*(m.T @ m.T @ m.T)",
    ),
    "with_inverse": (lambda: np.linalg.inv(M) @ (M @ V) + 0 * V, "v"),
    "inverse_of_inverse": (lambda: np.linalg.inv(np.linalg.inv(M.T)) @ M, "m.T @ m"),
    "transposed_symmetric, of a Gram matrix": (
        lambda: fg.gradient(np.linalg.slogdet(M.T @ M)[1], M),
        "2*(m @ inv(m.T @ m))",
    ),
    "transposed_symmetric, of sums": (
        lambda: fg.gradient(np.linalg.slogdet(M.T @ M + X * np.eye(3))[1], M),
        "2*(m @ inv(m.T @ m + x*eye(3)))",
    ),
    "transposed_symmetric, of a matrix and its transpose": (
        lambda: fg.gradient(np.linalg.slogdet(M + M.T)[1], M),
        "2*inv(m + m.T)",
    ),
    "transposed_symmetric, not of another sum": (
        lambda: np.linalg.inv(M + X * np.eye(3)).T + 0 * M,
        "inv(m + x*eye(3)).T",
    ),
    "product_of_simple_terms": (
        lambda: fg.hessian(lambda v: (v @ M @ v) ** 2).expr(V),
        "let a = m @ v + m.T @ v\n    b = v @ (m @ v)\n"
        "in 2*(outer(m.T @ v, a) + b*m.T + outer(m @ v, a) + m*b)",
    ),
    "product_of_simple_terms on the left": (
        lambda: (V[:, None] * W - X * np.eye(3)) @ M,
        "outer(v, m.T @ w) - m*x",
    ),
    "transposed_symmetric, not of other products": (
        lambda: (M @ M @ fg.var("u", (3, 3))).T + 0 * M,
        "u.T @ m.T @ m.T",
    ),
    "masked_diagonal": (
        lambda: fg.jacobian(lambda v: np.maximum(v, 0)).expr(V),
        "diag((sign(v) + 1)/2)",
    ),
    "zero_elsewhere, on a diagonal": (
        lambda: fg.gradient(np.trace(np.sin(M)), M),
        "eye(3)*cos(m)",
    ),
    "share_of_ties, along an axis": (
        lambda: fg.gradient(np.sum(np.max(M, axis=1)), M),
        "let a = m == max(m, axis=1, keepdims=True)\nin a/sum(a, axis=1, keepdims=True)",
    ),
    "like_terms of tangents": (
        lambda: fg.gradient(fg.gradient(np.log(np.cos(X)), X), X),
        "-1/cos(x)**2",
    ),
    "like_terms, squares multiplied out": (
        lambda: (X**4 + 1) ** 2 * 2 + 4 * X**8 - 28 * X**4,
        "6*x**8 - 24*x**4 + 2",
    ),
    "like_terms with numbers of one denominator": (
        lambda: 1.5 * X * np.sin(Y) + np.sin(X) / 2,
        "(3*x*sin(y) + sin(x))/2",
    ),
    "like_terms beside a norm": (
        lambda: fg.hessian(lambda v: 1 / np.linalg.norm(v)).expr(V),
        "3*outer(v, v)/norm(v)**5 - eye(3)/norm(v)**3",
    ),
    "like_terms of one difference": (
        lambda: M @ (V - W) - M.T @ (W - V),
        "m @ (v - w) + m.T @ (v - w)",
    ),
    "like_factors of a radius": (
        lambda: fg.gradient(fg.gradient(np.hypot(X, Y), X), X),
        "y**2/hypot(x, y)**3",
    ),
    "guarded_limit, zero by itself": (
        lambda: fg.gradient(np.hypot(X, Y) ** 3, X),
        "3*x*hypot(x, y)",
    ),
    "like_factors over an equal sum": (
        lambda: fg.gradient(np.log(X + np.sqrt(X**2 + 1)), X),
        "1/sqrt(x**2 + 1)",
    ),
    "like_factors, computed fractions": (
        lambda: fg.gradient(fg.gradient(X ** (1 / 3), X), X),
        "-2/(9*x**(5/3))",
    ),
    "alike_in_sum": (lambda: np.sum(V - X), "sum(v) - 3*x"),
    "constant_sum": (lambda: np.sum(fg.const(np.array([1.0, 2.0]))) * X, "3*x"),
    "sum_of_broadcast": (
        lambda: np.sum(np.broadcast_to(V, (2, 3)), axis=1),
        "full(2, sum(v))",
    ),
    "constant_entries": (lambda: fg.gradient(V[1] * 2, V), "array([0.0, 2.0, 0.0])"),
    "entry_of_entries": (lambda: M[1][2] * M.T[1, 2], "m[1, 2]*m[2, 1]"),
    "entries_in_zeros": (lambda: fg.gradient(V[0] * V[1], V), "array([v[1], v[0], 0])"),
    "entries_in_zeros, of a store": (
        lambda: fg.gradient(np.sum(fg.const(np.zeros(3)).at[1].set(V[0] * V[1]) * V), V),
        "array([v[1]**2, 2*v[1]*v[0], 0])",
    ),
    "entries_in_zeros, of a difference": (
        lambda: entry(0, X) - entry(1, Y),
        "array([x, -y, 0])",
    ),
    "entry_in_zeros": (lambda: fg.gradient(V[0] ** 2, V), "array([2*v[0], 0, 0])"),
    "softmax": (lambda: np.exp(V - fg.logsumexp(V)), "softmax(v)"),
    "softmax along an axis": (
        lambda: np.exp(M - fg.logsumexp(M, axis=1, keepdims=True)),
        "softmax(m, axis=1)",
    ),
    "outer_product": (lambda: V[:, None] * W, "outer(v, w)"),
    "transposed_product": (lambda: (M.T @ fg.var("u", (3, 3))).T, "u.T @ m"),
    "outer_of_products": (
        lambda: M @ (V[:, None] * W) @ M,
        "outer(m @ v, m.T @ w)",
    ),
    "vector_on_the_right": (lambda: V @ M, "m.T @ v"),
    "scalars_outside of matrices": (lambda: (-M) @ (2 * M), "-2*(m @ m)"),
    "identity_matrix": (lambda: M @ np.eye(3), "m"),
    "on_the_diagonal of ones": (lambda: fg.gradient(np.trace(M), M) @ M, "m"),
    "on_the_diagonal": (lambda: fg.gradient(np.sum(np.diag(M) ** 2), M), "diag(2*diag(m))"),
    "trace_of_matrix": (lambda: fg.gradient(np.trace(M) ** 2, M), "2*trace(m)*eye(3)"),
    "diagonal_of_matrix": (lambda: V * np.diag(M), "v*diag(m)"),
    "diagonal_of_matrix, reshaped": (
        lambda: fg.gradient(np.trace(np.diag(V) @ M), V),
        "diag(m)",
    ),
    "scattered_diagonal": (lambda: np.diag(V) @ W, "diag(v) @ w"),
    "diagonal_matrix": (lambda: fg.jacobian(np.square).expr(V), "diag(2*v)"),
    "transposed_symmetric": (lambda: (V[:, None] * W).T + np.diag(V).T, "outer(w, v) + diag(v)"),
    "transposed_entrywise of a sum": (lambda: fg.hessian(lambda v: v @ M @ v).expr(V), "m + m.T"),
    "reversed_back": (lambda: fg.gradient(np.sum(V[::-1] * W), V), "w[::-1]"),
    "sum_of_parts": (lambda: make_complex(V, np.sin(X)), "v + 1j*sin(x)"),
    "like_factors over one denominator": (
        lambda: fg.gradient(np.arctan(Y / X), X),
        "-y/(y**2 + x**2)",
    ),
    "share_of_ties": (
        lambda: fg.gradient(np.max(V) ** 2, V),
        "let a = v == max(v)\nin 2*max(v)*a/sum(a)",
    ),
    "small_constant, of entries of a constant": (
        lambda: V * np.array([1.0, 2.0, 3.0])[::-1],
        "v*[3.0, 2.0, 1.0]",
    ),
    "constant_sums": (lambda: fg.gradient(np.sum(np.cumsum(V)), V), "array([3.0, 2.0, 1.0])"),
    "products_of_others": (lambda: fg.gradient(np.prod(V), V), "prod(v)/v"),
    "products_of_others of products": (lambda: fg.gradient(np.prod(V * W), V), "prod(v*w)/v"),
    "products_of_others, not of a vector of two that is turned round": (
        lambda: fg.gradient(np.sum(3 * fg.var("c", 2) * fg.var("d", 2)[::-1]), "c"),
        "3*d[::-1]",
    ),
    "products_of_others of a part": (
        lambda: fg.gradient(np.prod(V[1:]), V),
        "zeros((3,)).at[1:].add(prod(v[1:3])/v[1:3])",
    ),
    "products_of_others along an axis": (
        lambda: fg.gradient(np.sum(W * np.prod(M, axis=0)), M),
        "w*prod(m, axis=0)/m",
    ),
    "products_of_others along the last axis": (
        lambda: fg.gradient(np.sum(np.prod(M, axis=1, keepdims=True) ** 2), M),
        "2*prod(m, axis=1, keepdims=True)**2/m",
    ),
    "products_of_others in both axes": (lambda: fg.gradient(np.prod(M), M), "prod(m)/m"),
    "products_of_others in three axes": (
        lambda: fg.gradient(np.sum(np.prod(fg.var("c", (2, 3, 2)), axis=1)), "c"),
        "prod(c, axis=1, keepdims=True)/c",
    ),
    "product_of_moved": (lambda: 2 * np.prod(M.T, axis=1), "2*prod(m, axis=0)"),
    "transposed_entrywise": (lambda: (np.reshape(W, (3, 1)) * M.T).T, "m*w"),
    "sorted_back": (
        lambda: fg.gradient(np.sum(W * np.sort(V)), V),
        "let a = argsort(argsort(v, axis=0, kind='stable'), axis=0, kind='stable')\nin w[a]",
    ),
    "sorted_back of rows": (
        lambda: fg.gradient(np.sum(W * np.sort(M)), M),
        "let a = argsort(argsort(m, axis=1, kind='stable'), axis=1, kind='stable')\n"
        "in broadcast_to(w, (3, 3))[[[0], [1], [2]], a]",
    ),
    "sorted_back of ones": (lambda: fg.gradient(np.sum(np.sort(V)), V), "ones(3)"),
    "triangle": (
        lambda: fg.gradient(np.sum(np.linalg.eigvalsh(M)), M),
        "let a = eigh(m)[1] @ eigh(m)[1].T\nin tril(a + a.T, -1) + a*eye(3)",
    ),
    "triangle above": (lambda: np.triu(M * 2), "triu(2*m)"),
    "real_part": (
        lambda: fg.gradient(np.linalg.eigvalsh(M, "U")[0], M),
        "let a = eigh(m, 'U')[1]\n    b = a*reshape([1.0, 0.0, 0.0], shape=(1, 3)) @ a.T\n"
        "in triu(b + b.T, 1) + b*eye(3)",
    ),
    "needless_axes of a mean": (lambda: fg.gradient(np.var(V), V), "2*(v - sum(v)/3)/3"),
    "solution_of_vector": (lambda: fg.gradient(V @ np.linalg.solve(M, W), W), "solve(m.T, v)"),
    "product_of_vectors": (
        lambda: fg.gradient(V @ np.linalg.solve(M, W), M),
        "-outer(solve(m.T, v), solve(m, w))",
    ),
    "scalars_outside of ones": (
        lambda: fg.gradient(np.sum(np.linalg.inv(M)), M),
        "-(inv(m).T @ ones((3, 3)) @ inv(m).T)",
    ),
    "cofactors_of_two": (
        lambda: fg.gradient(np.linalg.det(fg.var("a", (2, 2))), "a"),
        "det(a)*inv(a).T",
    ),
    "cofactors_of_three": (lambda: fg.gradient(np.linalg.det(M), M), "det(m)*inv(m).T"),
    "without_shift": (
        lambda: fg.simplify(np.linalg.inv(determined_slope("f", "root", M, V))),
        "inv(m)",
    ),
    "cofactors_by_inverse": (
        lambda: fg.gradient(np.linalg.det(fg.var("a", (4, 4))), "a"),
        "det(a)*inv(a).T",
    ),
    "small_constant": (lambda: V * np.diff(np.array([1.0, 3.0, 6.0, 6.0])), "v*[2.0, 3.0, 0.0]"),
    "small_constant of a median": (
        lambda: fg.gradient(np.median(V), V),
        "let a = argsort(argsort(v, axis=0, kind='stable'), axis=0, kind='stable')\n"
        "in array([0.0, 1.0, 0.0])[a]",
    ),
    "zero_elsewhere": (
        lambda: fg.gradient(V[0] * np.max(V), V),
        "let a = v == max(v)\nin v[0]*a/sum(a) + array([max(v), 0, 0])",
    ),
    "masked_when_stored": (
        lambda: fg.gradient(np.max(V[:2] * W[1:]), W),
        "let a = v[:2]*w[1:]\n    b = a == max(a)\nin zeros((3,)).at[1:].add(v[:2]*b/sum(b))",
    ),
    "nothing_stored": (
        lambda: scatter_op(
            np.zeros_like(V, dtype=bool), V.astype(int), spec=("array",), shape=(60,)
        ),
        "full(60, False)",
    ),
    "small_constant, of ranks": (
        lambda: fg.gradient(np.sum(np.median(M, axis=0)), M),
        "let a = argsort(argsort(m, axis=0, kind='stable'), axis=0, kind='stable')\n"
        "in zeros((3, 3)).at[1:2].add(ones((1, 3)))[a, [[0, 1, 2]]]",
    ),
    "or_never": (
        lambda: mask(np.logical_or(V > 0, np.array([False] * 3)), V * 2),
        "where(v > 0, 2*v, 0)",
    ),
    "guarded of a complex number": (
        lambda: fg.gradient(np.sum(np.abs(np.fft.fft(V))), V),
        "let a = fft(v.astype(complex128), axis=0)\nin real(fft(conjugate(a)/abs(a), axis=0))",
    ),
    "square_of_size": (lambda: np.real(np.conj(X + 1j * Y) * (X + 1j * Y)), "abs(x + 1j*y)**2"),
    "conjugate_product": (
        lambda: np.conjugate(X * (Y + 1j * W)),
        "x*conjugate(y + 1j*w)",
    ),
    "real_factors, of a cube": (
        lambda: fg.gradient(np.sum(np.abs(fg.var("z", 3, complex)) ** 3), "z"),
        "3*abs(z)*conjugate(z)",
    ),
    "real_factors": (lambda: fg.gradient(np.abs(X + 1j * Y) ** 2, X), "2*x"),
    "transformed_back": (lambda: fg.gradient(np.sum(np.abs(np.fft.fft(V)) ** 2), V), "6*v"),
    "transformed_back by the inverse": (
        lambda: fg.gradient(np.sum(np.fft.ifft(np.fft.fft(V * V)).real), V),
        "2*v",
    ),
    "number_outside": (
        lambda: fg.gradient(np.sum(np.abs(np.fft.rfft(V)) ** 2), V),
        "2*irfft(rfft(v, axis=0)*[1.0, 0.5], 3, axis=0, norm='forward')",
    ),
    "real_part of a product": (lambda: np.real((X + 1j * Y) * W), "w*x"),
    "imaginary_part": (lambda: np.imag((X - 1j * Y) * W), "-w*y"),
    "without_numbers": (lambda: fg.gradient(np.einsum(",i,i->", X, V, W), V), "w*x"),
    "without_numbers or ones": (
        lambda: fg.gradient(np.sum(np.einsum(",ij,j->i", X, M, V)), V),
        "x*sum(m, axis=0)",
    ),
    "of_one_array": (lambda: 2 * np.einsum("ij->ji", M), "2*m.T"),
    "of_two_arrays": (lambda: fg.gradient(np.einsum("i,ij,j->", V, M, V), V), "m @ v + m.T @ v"),
    "of_two_arrays of matrices": (
        lambda: 2 * np.einsum("ij,kj->ki", M, np.exp(M)),
        "2*(exp(m) @ m.T)",
    ),
    "by_running_products": (
        lambda: fg.gradient(np.sum(W * np.cumprod(V)), V),
        "cumsum((w*cumprod(v))[::-1])[::-1]/v",
    ),
    "moved_back": (lambda: 2 * V[::-1][::-1], "2*v"),
    "sum_of_diagonal": (lambda: np.sum(np.diag(V) * 1.0, axis=0) * W, "v*w"),
    "diagonal_apart": (
        lambda: fg.jacobian(fg.softmax).expr(V),
        "diag(softmax(v)) - outer(softmax(v), softmax(v))",
    ),
    "is_finite, of a quotient": (
        lambda: fg.gradient(np.interp(X, np.array([0.0, 1.0]), np.array([3.0, 5.0])), X),
        "let a = minimum(0, maximum(0, searchsorted([0.0, 1.0], x, 'right') - 1))\n"
        "    b = (array([3.0, 5.0])[a + 1] - array([3.0, 5.0])[a])"
        "/(array([0.0, 1.0])[a + 1] - array([0.0, 1.0])[a])\n"
        "in where((x < 0) | (x > 1), 0, b)",
    ),
    "derivative_of_sinc": (
        lambda: fg.gradient(np.sinc(X**2 + 1), X),
        "2*x*(cos(3.141592653589793*(x**2 + 1)) - sinc(x**2 + 1))/(x**2 + 1)",
    ),
    "like_factors beside sides": (
        lambda: fg.gradient(np.sum(np.clip(V, X, Y)), V),
        "(sign(v - x) + 1)*(sign(y - v) + 1)/4",
    ),
    "like_factors with a safe denominator": (
        lambda: Y / np.where(X == 0, 1, X) * 2,
        "2*y/x",
    ),
    "scalars_outside": (lambda: Y * (M @ (V / X)), "y*(m @ v)/x"),
    "scalars_outside a solution": (lambda: W + np.linalg.solve(M, 2 * V), "w + 2*solve(m, v)"),
    "scaled_diagonal": (lambda: fg.hessian(lambda v: -np.sum(np.log(v))).expr(V), "diag(1/v**2)"),
    "scaled_rows": (
        lambda: fg.jacobian(lambda v: np.tanh(M @ v)).expr(V),
        "diag(1/cosh(m @ v)**2) @ m",
    ),
    "from_the_left": (
        lambda: fg.hessian(lambda v: np.sum(np.exp(M @ v))).expr(V),
        "m.T @ diag(exp(m @ v)) @ m",
    ),
    "products_of_rows": (
        lambda: fg.hessian(lambda v: np.exp(-v @ v / 2)).expr(V),
        "(outer(v, v) - eye(3))/exp((v @ v)/2)",
    ),
    "same_everywhere": (
        lambda: fg.hessian(fg.logsumexp).expr(V),
        "diag(softmax(v)) - outer(softmax(v), softmax(v))",
    ),
    "before_broadcast, of a Hessian": (
        lambda: fg.hessian(np.linalg.norm).expr(V),
        "eye(3)/norm(v) - outer(v, v)/norm(v)**3",
    ),
    "sum_of_repeated, of a number": (
        lambda: fg.gradient(np.sum(V * np.log(X) - X), X),
        "sum(v)/x - 3",
    ),
    "factor_of_sum, of an identity matrix": (
        lambda: np.sum(np.eye(3) * X, axis=0) * W,
        "w*x",
    ),
    "trace_of_product": (
        lambda: fg.gradient(np.linalg.slogdet(np.eye(3) + X * M)[1], X),
        "trace(inv(eye(3) + m*x) @ m)",
    ),
    "trace_of_product with an identity": (lambda: np.sum(M * np.eye(3) / X), "trace(m)/x"),
    "axes_dropped": (
        lambda: fg.gradient(np.sum(np.exp(V[:, None] * W)), V),
        "exp(outer(v, w)) @ w",
    ),
    "small_constant, of infinities": (
        lambda: X * np.sum(fg.const(np.zeros((2, 2))).at[:, 1].add(np.full(2, np.inf)), axis=1),
        "full(2, x*inf)",
    ),
    "small_constant, of a row": (
        lambda: fg.gradient(
            -np.sum(fg.log_softmax(M, axis=1)[np.arange(3), np.array([0, 2, 1])]), M
        ),
        "zeros((3, 3)).at[[0, 1, 2], [0, 2, 1]].add(full(3, -1.0)) + softmax(m, axis=1)",
    ),
    "small_constant, of equal entries": (
        lambda: fg.gradient(
            -np.sum(fg.log_softmax(LONG, axis=1)[np.arange(9), [0, 1, 1] * 3]), LONG
        ),
        "let a = zeros((9, 2)).at[[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 1, 0, 1, 1, 0, 1, 1]]"
        ".add(full(9, -1.0))\nin a + softmax(l, axis=1)",
    ),
    "scaled_entry": (
        lambda: fg.gradient((V[0] * V[1] - 1) ** 2, V),
        "let a = v[0]*v[1] - 1\nin array([2*v[1]*a, 2*v[0]*a, 0])",
    ),
    "rows_of_columns": (
        lambda: fg.jacobian(lambda w: np.stack([w[0] * np.cos(w[1]), w[0] * w[1]])).expr(
            fg.var("w", (2,))
        ),
        "array([[cos(w[1]), -w[0]*sin(w[1])], [w[1], w[0]]])",
    ),
    "rows_of_columns, of vectors": (
        lambda: np.stack([V, np.sin(V)], axis=1).T,
        "array([v, sin(v)])",
    ),
    "scaled_entry, of a Hessian": (
        lambda: fg.hessian(lambda w: w[0] ** 3 * w[1]).expr(fg.var("w", (2,))),
        "array([[6*w[1]*w[0], 3*w[0]**2], [3*w[0]**2, 0]])",
    ),
    "rows_of_columns of no columns": (lambda: matrix(X, Y, 2.0, 0.0).T, "array([[x, 2], [y, 0]])"),
    "filled": (
        lambda: fg.trace(rotation, X),
        "array([[cos(x), -sin(x), 0], [sin(x), cos(x), 0], [0, 0, 1]])",
    ),
    "filled, a row and a column": (
        lambda: fg.trace(row_and_column, V),
        "array([[v[0], 2, v[2]], [0, v[1] + 2, 0]])",
    ),
    "filled, entries that are added to": (
        lambda: fg.trace(stiffness, V),
        "array([[v[0], -v[0], 0], [-v[0], v[0] + v[1], -v[1]], [0, -v[1], v[1]]])",
    ),
    "entry_by_entry": (
        lambda: fg.jacobian(lorenz).expr(V),
        "array([[-10, 10, 0], [28 - v[2], -1, -v[0]], [v[1], v[0], -8/3]])",
    ),
    "entry_by_entry, signs": (
        lambda: matrix(X, Y, 2.0, 0.0) * np.array([[1.0, -1.0], [-1.0, 1.0]]),
        "array([[x, -y], [-2, 0]])",
    ),
    "moved_entries": (
        lambda: np.transpose(rotation_in_two(X)),
        "array([[cos(x), sin(x)], [-sin(x), cos(x)]])",
    ),
    "entries_of_filled": (lambda: matrix(X, Y, 2.0, 0.0)[:, 0], "array([x, 2])"),
    "of_constants": (
        lambda: X * fg.trace(lambda: np.array([1.0, 2.0]) - fg.const([0.5, 3.0])),
        "x*array([0.5, -1.0])",
    ),
    "reshaped_entries": (lambda: matrix(X, Y, 2.0, 0.0), "array([[x, y], [2, 0]])"),
    "reshaped_entries, one": (lambda: np.reshape(np.stack([X]), ()), "x"),
    "joined_entries, with numbers": (
        lambda: fg.gradient(np.sum(np.concatenate([V[:1] ** 2, V[1:]]) * np.arange(1.0, 4.0)), V),
        "array([2*v[0], 2, 3])",
    ),
    "joined_entries": (
        lambda: fg.gradient(np.log(X * V[2] - V[1] ** 2), V),
        "let a = x*v[2] - v[1]**2\nin array([0, -2*v[1]/a, x/a])",
    ),
    "row_of_slice": (lambda: np.reshape(np.sin(M)[1:2], (3,)), "sin(m)[1]"),
    "moved_constants, added up": (
        lambda: fg.hessian(lambda v: v[0] * v[1]).expr(V),
        "array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])",
    ),
    "moved_constants": (
        lambda: fg.hessian(lambda v: np.linalg.det(symmetric(v))).expr(V),
        "array([[0.0, 0.0, 1.0], [0.0, -2.0, 0.0], [1.0, 0.0, 0.0]])",
    ),
    "determinant_in_two": (lambda: np.linalg.det(matrix(X, Y, 2.0, X)), "x**2 - 2*y"),
    "sum_of_entries": (lambda: np.sum(np.stack([X, Y, X * Y])), "x*y + x + y"),
}


def test_entries_by_an_array_of_places_are_no_products_of_others():
    def loss(x):
        entries = np.array([x[2], x[2], x[2], x[0] + 1])
        entries.sort()
        entries[entries > np.cos(x[1])] = x[1]
        return np.sum(entries)

    expr = fg.grad(loss).expr(V)
    shown = reading([expr]).exprs[0]
    for x in ([0.1, 0.2, 0.3], [0.7, -1.2, 0.4]):
        np.testing.assert_allclose(shown(v=np.array(x)), expr(v=np.array(x)))


def entry(i, x):
    return fg.const(np.zeros(3)).at[i].add(x)


def matrix(*entries):
    return np.reshape(np.stack(entries), (2, 2))


def symmetric(v):
    return np.array([[v[0], v[1]], [v[1], v[2]]])


def rotation_in_two(t):
    return fg.trace(lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]), t)


def rotation(t):
    found = np.eye(3)
    found[0, 0] = found[1, 1] = np.cos(t)
    found[0, 1], found[1, 0] = -np.sin(t), np.sin(t)
    return found


def row_and_column(v):
    found = np.zeros((2, 3))
    found[0] = v
    found[1, 1] = v[1]
    found[0, 1] = 0.0
    found[:, 1] += 2.0
    return found


def stiffness(k):
    found = np.zeros((3, 3))
    for i in range(2):
        found[i, i] += k[i]
        found[i + 1, i + 1] += k[i]
        found[i, i + 1] -= k[i]
        found[i + 1, i] -= k[i]
    return found


def lorenz(s):
    d = np.empty_like(s)
    d[0] = 10 * (s[1] - s[0])
    d[1] = s[0] * (28 - s[2]) - s[1]
    d[2] = s[0] * s[1] - 8 / 3 * s[2]
    return d


LAWS = {
    law.__name__.removeprefix("_"): law
    for laws in (*STRUCTURAL_READING.values(), *COMPLEX_READING.values(), READING_ELEMENTWISE)
    for law in laws
}


def law_of(name):
    return name.partition(",")[0].partition(" ")[0]


def test_every_reading_law_has_a_program():
    assert {law_of(name) for name in READINGS} == set(LAWS)


@pytest.mark.parametrize("law", LAWS)
def test_without_a_law_some_program_reads_otherwise(law, monkeypatch):
    monkeypatch.setattr(LAWS[law], "__code__", (lambda expr: None).__code__)
    of_law_first = sorted(READINGS, key=lambda name: law_of(name) != law)
    texts = (repr(fg.simplify(READINGS[name][0]())) for name in of_law_first)
    assert any(text != READINGS[name][1] for name, text in zip(of_law_first, texts, strict=False))


@pytest.mark.parametrize("name", READINGS)
def test_a_formula_is_read_in_its_simplest_form(name):
    program, text = READINGS[name]
    expr = program()
    (shown,), _ = reading([fg.simplify(expr)])
    assert repr(fg.simplify(expr)) == text
    assert shown.type == expr.type


@pytest.mark.parametrize("name", one_in(3, READINGS))
def test_a_reading_has_the_value_wherever_both_are_finite(name):
    expr = READINGS[name][0]()
    rng, cases = np.random.default_rng(0), []
    for turn in range(30):
        draw = rng.choice(NUMBERS, 16) if turn % 2 else rng.normal(size=16)
        with np.errstate(all="ignore"):
            pairs = {"c": draw + 1j * draw[::-1]}
        values = {
            n: np.resize(pairs.get(x.dtype.kind, draw), x.shape)[()]
            for n, x in variables(expr).items()
        }
        values = {n: rng.permutation(np.ravel(a)).reshape(a.shape)[()] for n, a in values.items()}
        values |= {"x": np.float64(draw[0]), "y": np.float64(draw[1])}
        if "inv(" in READINGS[name][1] or "solve(" in READINGS[name][1]:
            matrix = next(value for value in values.values() if np.ndim(value) == 2)
            if abs(np.linalg.det(matrix)) < 1e-3:
                continue
        cases.append(values)
    check_read_back(fg.simplify(expr), *cases)


@pytest.mark.parametrize("name", READINGS)
def test_a_formula_next_to_one_that_a_law_reads_keeps_its_value(name):
    rng = np.random.default_rng(0)
    formulas = [changed_in_one_operand(READINGS[name][0](), rng) for _ in range(6)]
    compared = [has_value_of(read(formula), formula, rng) for formula in formulas]
    assert any(compared)


def test_choices_in_choices_do_not_multiply():
    e = X
    for k in range(60):
        e = np.where(e > k, np.sin(e) + k, e * Y)
    (shown,), _ = reading([fg.gradient(e, X)])
    assert len(shown.graph) < 1500


def test_what_runs_keeps_its_guards():
    slope = fg.gradient(np.linalg.norm(V), V)
    assert repr(slope) == "v/norm(v)"
    np.testing.assert_array_equal(slope(v=np.zeros(3)), np.zeros(3))
    assert fg.gradient(X**Y, X)(x=0.0, y=0.0) == 0.0
    assert fg.simplify(X + Y - X)(x=1e300, y=1.0) == 0.0


def test_a_program_is_printed_as_it_was_written():
    program = X * Y / X + (X - X)
    assert repr(program) == "x*y/x + x - x"
    assert repr(fg.simplify(program)) == "y"
    assert repr(program) == "x*y/x + x - x"
    assert repr(fg.simplify(X * Y / X) + X - X) == "y + x - x"
    assert repr(fg.trace(lambda x: (x + 1e16) - 1e16, 1.0)) == "x + 1e+16 - 1e+16"


def test_the_opposite_of_a_comparison_is_printed_as_one():
    e = np.where(X < 0, 0, np.where(X < Y, X**2, Y))
    assert repr(fg.gradient(e, X)) == "where(x < y, where(x >= 0, 2*x, 0), 0)"
    assert repr(np.logical_not(X < 0)) == "logical_not(x < 0)"


def test_entries_of_constants_are_printed_as_numbers():
    assert repr(np.polyval([2.0, 3.0], X)) == "(0*x + 2)*x + 3"


def test_a_derived_formula_is_printed_alike_from_a_file():
    slope = fg.gradient(np.linalg.norm(V), V)
    assert repr(pickle.loads(pickle.dumps(slope))) == repr(slope)


def test_complex_formulas_are_left_to_the_laws_of_programs():
    z = fg.var("z", (), complex)
    assert repr(fg.simplify(np.sqrt(z) * np.sqrt(z) / 2)) == "sqrt(z)**2/2"


def test_a_map_prints_what_it_holds():
    e = X * Y + np.sin(X * Y)
    z = fg.backprop(e)
    assert f"  x         {z[X]!r}\n" in repr(z)
    assert repr(z[X]) == repr(z["x"]) == "y*(cos(x*y) + 1)"
    assert z[X](x=2.0, y=3.0) == pytest.approx(3 * (np.cos(6) + 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_square_of_a_complex_size_is_no_square(k):
    w, at = fg.var("w", 3, complex), np.array([1 + 2j, -0.5j, 0.3 - 1j])
    slope = fg.gradient(np.exp(np.sum(np.abs(w) ** k) / 20), w)
    assert "w**2" not in repr(slope)
    found = eval(
        repr(slope), {"w": at, **{name: getattr(np, name) for name in dir(np)}, "abs": np.abs}
    )
    np.testing.assert_allclose(found, slope(w=at), rtol=1e-13)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (np.square(1e200 * X), "(1e+200*x)**2"),
        ((1e200 * X) ** 3, "(1e+200*x)**3"),
        ((1e-200 * X) ** -2, "(1e-200*x)**(-2)"),
        ((1e200 * X) * (1e200 * Y), "1e+200*1e+200*x*y"),
        (X / 1e-200 / 1e-200, "1e+200*x/1e-200"),
        (X * 1e-200 * 1e-200, "1e-200*1e-200*x"),
        (1e308 * X + 1.5e308 * X, "1e+308*x + 1.5e+308*x"),
        (1e200 * (1e200 * np.sin(X)), "1e+200*1e+200*sin(x)"),
        (1e200 * (1e100 * np.sin(X)), "1e+300*sin(x)"),
    ],
)
def test_numbers_whose_product_overflows_or_underflows_stay_apart(expr, text):
    assert repr(fg.simplify(expr)) == text


def test_formulas_of_no_entries_are_read():
    empty = fg.var("b", (0,))
    slope = fg.gradient(np.sum(empty.at[::-1].min(0.5)), "b")
    assert slope(b=np.zeros(0)).shape == (0,)
