"""The fixed programs of graph replay: small functions with arguments, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg


class Program(NamedTuple):
    """A function with its arguments, and further arguments that take other branches."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    others: tuple[tuple[Any, ...], ...] = ()
    keyed: bool = True
    """Whether its keys are equal in every process: not if params hold functions, which have no content."""
    brief: bool = False
    """Whether only its compilation and its values are recorded, as it is large or slow."""


_rng = np.random.default_rng(20)
ANY = _rng.uniform(-2.0, 2.0, (3, 4))
OTHER = _rng.uniform(-2.0, 2.0, (3, 4))
POSITIVE = _rng.uniform(0.3, 2.0, (3, 4))
UNIT = _rng.uniform(-0.9, 0.9, (3, 4))
VECTOR = _rng.uniform(-1.0, 1.0, 5)
COMPLEX = ANY + 1j * OTHER
SQUARE = np.array([[2.1, 0.3, -0.5], [0.7, 1.8, 0.4], [-0.2, 0.6, 2.4]])
SYMMETRIC = SQUARE + SQUARE.T
SIDES = _rng.uniform(-1.0, 1.0, (3, 2))
INTEGERS = np.arange(1, 13).reshape(3, 4)
TRUTH = ANY > 0
TIMES = np.array([0.5, 2.0, 1.0])
WIDE = np.sin(np.arange(200_000.0))


# -- elementwise ---------------------------------------------------------------------------------
def _at(names: str, domain: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), domain)


UNARY = {
    **_at(
        "negative positive exp exp2 expm1 sin cos tanh sinh cosh arctan arcsinh square sign", ANY
    ),
    **_at(
        "floor ceil trunc rint absolute fabs sinc deg2rad rad2deg isfinite isinf isnan signbit", ANY
    ),
    **_at("log log2 log10 log1p sqrt cbrt reciprocal", POSITIVE),
    **_at("tan arcsin arccos arctanh", UNIT),
    "arccosh": POSITIVE + 1.0,
}
OWN = _at("sigmoid softplus relu log_softmax softmax", ANY)
BINARY = {
    **_at(
        "add subtract multiply divide maximum minimum fmax fmin logaddexp logaddexp2",
        (ANY, POSITIVE),
    ),
    **_at("arctan2 hypot copysign remainder fmod floor_divide", (ANY, POSITIVE)),
    **_at("less less_equal greater greater_equal equal not_equal", (ANY, POSITIVE)),
    "power": (POSITIVE, ANY),
}
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e300, -745.0, 5e-324])


def _elementwise() -> Iterator[Program]:
    for name, domain in UNARY.items():
        yield Program(name, getattr(np, name), (domain,))
    for name, domain in OWN.items():
        yield Program(name, getattr(fg, name), (domain,))
    for name, domains in BINARY.items():
        yield Program(name, getattr(np, name), domains)
    every = [*UNARY, "sigmoid", "softplus"]
    functions = [getattr(fg if name in OWN else np, name) for name in every]
    yield Program("unary on numbers", lambda x: [f(x) for f in functions], (0.37,))
    yield Program("unary at special values", lambda x: [f(x) for f in functions], (SPECIAL,))
    pairs = [getattr(np, name) for name in BINARY]
    yield Program("binary on numbers", lambda x, y: [f(x, y) for f in pairs], (0.7, 1.3))
    yield Program(
        "binary at special values",
        lambda x, y: [f(x, y) for f in pairs],
        (np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)),
    )


ELEMENTWISE_FORMULAS: dict[str, tuple[Any, ...]] = {
    "polynomial": (lambda x: 3 * x**4 - 2 * x**3 + x - 7, 1.5),
    "rational": (lambda x, y: (x + y) / (x * y - 1.0), 0.3, 0.4),
    "logaddexp by hand": (lambda x: np.log(1 + np.exp(x)), 2.0),
    "sigmoid by hand": (lambda x: 1 / (1 + np.exp(-x)), -3.0),
    "norm by hand": (lambda x: np.sqrt(np.sum(x**2)), np.zeros(3)),
    "xlogx": (lambda x: x * np.log(x), 0.0),
    "x to the x": (lambda x: x**x, 1.3),
    "power of negatives": (lambda x: x**3.0 + x**2 + x**-1, ANY),
    "where": (lambda x, y: np.where(x > 0, np.sqrt(np.abs(x)), y), ANY, OTHER),
    "where at a root": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
    "where of masks": (lambda m, x: np.where(m, np.log(x), x**2), TRUTH, POSITIVE),
    "clip": (lambda x: np.clip(x, -0.5, 0.7), ANY),
    "broadcast": (lambda x, y: x[:, None] * y + x[:, None], VECTOR, ANY[0]),
    "select": (lambda x: np.select([x < -1, x < 1], [x**2, np.sin(x)], x), ANY),
    "nan to num": (lambda x: np.nan_to_num(x / np.abs(x)), np.array([0.0, 1.0, -2.0])),
    "stop gradient": (lambda x: x * fg.stop_gradient(np.sin(x)), ANY),
    "logical": (lambda m, x: np.logical_and(m, x > 0) | np.logical_xor(m, x < 1), TRUTH, ANY),
    "bitwise": (lambda n: (n & 6) | (n ^ 3) + ~n, INTEGERS),
    "integers": (lambda n, x: n * 2 // 3 % 5 * x, INTEGERS, ANY),
    "single precision": (lambda x: np.tanh(x) * x + 1.5, ANY.astype(np.float32)),
    "single number": (lambda x: np.tanh(x) * x + 1.5, np.float32(0.7)),
    "mixed precision": (lambda x, y: x * y + 1, ANY.astype(np.float32), OTHER),
    "conversion": (lambda x: x.astype(np.float32) * np.float32(2), ANY),
    "empty": (lambda x: np.sum(np.exp(x)), np.zeros((0, 4))),
    "0-d": (lambda x: np.exp(x) * x, np.array(0.7)),
    "constant": (lambda x: 3.0, 1.0),
    "identity": (lambda x: x, VECTOR),
    "tree": (
        lambda p, x: {"y": p["w"] * x + p["b"][0], "z": (p["b"][1], x)},
        {"w": VECTOR, "b": [1.0, 2.0]},
        0.3,
    ),
}

COMPLEXES: dict[str, tuple[Any, ...]] = {
    "complex arithmetic": (lambda z: z * z / (1 + z) - np.conj(z), COMPLEX),
    "complex parts": (lambda z: z.real * np.arctan2(z.imag, z.real) + z.imag * np.abs(z), COMPLEX),
    "complex functions": (lambda z: np.exp(z) + np.sin(z) + np.log(z) + np.sqrt(z), COMPLEX),
    "complex number": (lambda z: np.abs(z**3 + 1), 0.3 + 0.4j),
    "complex from reals": (lambda x, y: np.abs(np.exp(x + 1j * y)) ** 2, ANY, OTHER),
    "complex single": (lambda z: z * np.conj(z), COMPLEX.astype(np.complex64)),
    "complex matmul": (lambda z, w: z @ w.T, COMPLEX, COMPLEX[::-1] + 1),
    "complex solve": (lambda z: np.linalg.solve(z, SIDES + 1j), SQUARE + 0.3j),
}

# -- reductions, shape, indexing, contraction ----------------------------------------------------
REDUCTIONS: dict[str, tuple[Any, ...]] = {
    "sum": (lambda x: np.sum(x), ANY),
    "sum of an axis": (lambda x: np.sum(x, axis=1, keepdims=True) * x, ANY),
    "mean": (lambda x: np.mean(x, axis=0), ANY),
    "variance": (lambda x: np.var(x, axis=0, ddof=1) + np.std(x), ANY),
    "std of equal entries": (lambda x: np.std(x), np.ones(3)),
    "max": (lambda x: np.max(x, axis=0), ANY),
    "min with ties": (lambda x: np.min(x, axis=1), np.ones((2, 3))),
    "prod": (lambda x: np.prod(x, axis=1), ANY),
    "prod with zeros": (lambda x: np.prod(x, axis=1), np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]])),
    "logsumexp": (lambda x: fg.logsumexp(x, axis=1), ANY),
    "logsumexp by hand": (lambda x: np.log(np.sum(np.exp(x), axis=1)), ANY),
    "norm": (lambda x: np.linalg.norm(x), ANY),
    "norms of rows": (lambda x: np.linalg.norm(x, axis=1), ANY),
    "median": (lambda x: np.median(x, axis=1), ANY),
    "quantile": (lambda x: np.quantile(x, 0.3, axis=0), ANY),
    "argmax": (lambda x: np.argmax(x, axis=1) - np.argmin(x, axis=1), ANY),
    "any and all": (lambda m: np.any(m, axis=0) & np.all(m, axis=0), TRUTH),
    "cumsum": (lambda x: np.cumsum(x, axis=1), ANY),
    "cumprod": (lambda x: np.cumprod(x, axis=0), POSITIVE),
    "diff": (lambda x: np.diff(x, axis=1), ANY),
    "sort": (lambda x: np.sort(x, axis=1), ANY),
    "argsort": (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), 1) * x, ANY),
    "trapezoid": (lambda x: np.trapezoid(x, dx=0.1), VECTOR),
    "nan reductions": (lambda x: np.nanmean(x) + np.nansum(x), np.array([1.0, np.nan, 3.0])),
    "average": (lambda x, w: np.average(x, weights=w), ANY, POSITIVE),
    "fft": (lambda x: np.abs(np.fft.fft(x)) ** 2, ANY),
    "ifft": (lambda z: np.fft.ifft(z, axis=0), COMPLEX),
    "rfft": (lambda x: np.fft.irfft(np.fft.rfft(x) * 2.0), ANY),
}
SHAPES: dict[str, tuple[Any, ...]] = {
    "reshape": (lambda x: x.reshape(2, 6) * 2, ANY),
    "transpose": (lambda x: x.T * 2 + x.T, ANY),
    "swapaxes": (lambda x: np.swapaxes(x[None], 0, 2) * 1.5, ANY),
    "concatenate": (lambda x, y: np.concatenate([x, y * 2, x], axis=1), ANY, OTHER),
    "stack": (lambda x, y: np.stack([x, y], axis=1), ANY, OTHER),
    "split": (lambda x: [part * k for k, part in enumerate(np.split(x, 2, axis=1))], ANY),
    "pad": (lambda x: np.pad(x, ((1, 0), (2, 1))), ANY),
    "roll": (lambda x: np.roll(x, 1, axis=1) * x, ANY),
    "flip": (lambda x: np.flip(x, 0) * x, ANY),
    "tile and repeat": (lambda x: np.tile(x, (2, 1)) * np.repeat(x, 2, axis=0), ANY),
    "diagonal": (lambda x: np.diag(x) * np.diagonal(x), SQUARE),
    "triangles": (lambda x: np.tril(x) - np.triu(x, 1), SQUARE),
    "broadcast to": (lambda x: np.broadcast_to(x, (3, 5)) * 2, VECTOR),
    "expand and squeeze": (lambda x: np.squeeze(np.expand_dims(x, 1) * 2), VECTOR),
    "item": (lambda x: x[1, 2] * x[0, 0], ANY),
    "slices": (lambda x: x[1:, ::-2] * x[:-1, 1::2], ANY),
    "gather": (lambda x: x[np.array([2, 0, 2])], ANY),
    "gather by an argument": (lambda x, i: x[i] * 2, ANY, np.array([2, 0, 2])),
    "gather of pairs": (lambda x: x[np.array([0, 2]), np.array([1, 1])], ANY),
    "boolean index": (lambda x: x[np.array([True, False, True])], ANY),
    "take": (lambda x: np.take(x, [3, 0], axis=1), ANY),
    "new axis": (lambda x: x[:, None] - x[None, :], VECTOR),
    "at set": (lambda x, v: x.at[1:3].set(v) * x if hasattr(x, "at") else x, VECTOR, np.ones(2)),
    "at add": (
        lambda x, v: (
            fg.numpy.asarray(x * 1.0).at[np.array([0, 0, 2])].add(v) if hasattr(x, "at") else x
        ),
        VECTOR,
        TIMES,
    ),
    "at multiply": (lambda x: x.at[2].multiply(3.0) if hasattr(x, "at") else x, VECTOR),
    "at max": (lambda x: x.at[1].max(0.2).at[2].min(-0.1) if hasattr(x, "at") else x, VECTOR),
}
CONTRACTIONS: dict[str, tuple[Any, ...]] = {
    "matmul": (lambda x, y: x @ y.T, ANY, OTHER),
    "matrix by vector": (lambda x, v: x @ v, ANY, OTHER[0]),
    "vector by matrix": (lambda v, x: v @ x, ANY[:, 0], OTHER),
    "dot": (lambda v, w: np.dot(v, w), VECTOR, VECTOR[::-1] + 1),
    "stacked matmul": (lambda x: x @ np.swapaxes(x, -1, -2), np.stack([ANY, OTHER])),
    "chained matmul": (lambda x, y, v: np.sum((x @ y.T) @ v), ANY, OTHER, TIMES),
    "empty matmul": (lambda x, y: x @ y, np.zeros((2, 0)), np.zeros((0, 3))),
    "quadratic form": (lambda a, v: v @ a @ v, SQUARE, TIMES),
    "outer": (lambda v, w: np.outer(v, w), VECTOR, TIMES),
    "inner": (lambda x, y: np.inner(x, y), ANY, OTHER),
    "tensordot": (lambda x, y: np.tensordot(x, y, axes=([0, 1], [0, 1])), ANY, OTHER),
    "einsum": (lambda x, y: np.einsum("ij,kj->ik", x, y), ANY, OTHER),
    "einsum of three": (lambda x, v, y: np.einsum("ij,j,ij->i", x, v, y), ANY, OTHER[0], POSITIVE),
    "einsum trace": (lambda a: np.einsum("ii->", a) + np.trace(a), SQUARE),
    "kron": (lambda x, y: np.kron(x, y), SIDES, TIMES),
    "cross": (lambda x, y: np.cross(x, y), TIMES, SQUARE),
    "convolve": (lambda v, w: np.convolve(v, w, mode="same"), VECTOR, TIMES),
    "polyval": (lambda p, x: np.polyval(p, x), TIMES, 0.7),
    "interp": (lambda x, y: np.interp(x, np.arange(3.0), y), np.array([0.3, 1.7]), TIMES),
    "single matmul": (lambda x, y: np.tanh(x @ y.T), ANY.astype("f4"), OTHER.astype("f4")),
}
LINEAR_ALGEBRA: dict[str, tuple[Any, ...]] = {
    "solve": (lambda a, b: np.linalg.solve(a, b), SQUARE, SIDES),
    "det": (lambda a: np.linalg.det(a), SQUARE),
    "sign of det": (lambda a: np.linalg.slogdet(a), SQUARE),
    "complex det": (lambda a: np.linalg.slogdet(a), SQUARE + 0.3j),
    "gradient of det": (lambda a: fg.grad(np.linalg.det)(a), SQUARE),
    "singular det": (lambda a: np.linalg.det(a), np.ones((3, 3))),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], SQUARE),
    "inv": (lambda a: np.linalg.inv(a), SQUARE),
    "inv of a stack": (lambda a: np.linalg.inv(a), np.stack([SQUARE, SQUARE.T])),
    "cholesky": (lambda a: np.linalg.cholesky(a), SYMMETRIC),
    "eigh": (lambda a: np.linalg.eigh(a)[0], SYMMETRIC),
    "eigh vectors": (lambda a: np.linalg.eigh(a)[1] ** 2, SYMMETRIC),
    "svd": (lambda a: np.linalg.svd(a, compute_uv=False), SIDES),
    "svd vectors": (lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2, SIDES),
    "qr": (lambda a: np.linalg.qr(a)[1], SIDES),
    "pinv": (lambda a: np.linalg.pinv(a), SIDES),
    "matrix power": (lambda a: np.linalg.matrix_power(a, 3), SQUARE),
    "least squares": (lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], SIDES, TIMES),
    "gaussian": (
        lambda a, x: -0.5 * x @ np.linalg.solve(a, x) - 0.5 * np.linalg.slogdet(a)[1],
        SYMMETRIC,
        TIMES,
    ),
}


# -- control flow --------------------------------------------------------------------------------
M = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, 0.2], [0.7, -0.6, 0.1]])


def _nested(x: Any, y: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        return fg.fori_loop(0, 3, lambda i, v: v * t * y + i, c), c * 2

    return fg.scan(step, x, TIMES + 0.5)


def _clipped() -> Any:
    f = fg.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (np.clip(g * x, -1, 1),))
    return f


def _two() -> Any:
    f = fg.custom_jvp(lambda x, y: (x * y, np.sin(x)))
    f.defjvp(
        lambda p, t: (f.f(*p), (2 * (p[1] * t[0] + p[0] * t[1]), np.cos(p[0]) * t[0])),
    )
    return f


def _newton(run: Any, x: Any) -> Any:
    """A solver whose steps are the same everywhere."""
    for _ in range(60):
        h = 1e-7
        slope = (run(x + h) - run(x - h)) / (2 * h)
        x = x - run(x) / slope
    return x


root = fg.implicit_root(lambda x, a: x * x - a)
own_root = fg.implicit_root(lambda x, a: x * x - a, solver=_newton)
least = fg.implicit_argmin(lambda x, a: (x - a) ** 2 + x**2)
fixed = fg.fixed_point(lambda x, a: np.cos(a * x))
clipped, two = _clipped(), _two()
cubed = fg.primitive(lambda x: x * x * x, [lambda x: 3 * x**2], name="cubed")
kept = fg.checkpoint(lambda u, y: np.sin(fg.name(np.sin(u), "h") * y), policy=["h"])

CONTROL: dict[str, tuple[Any, ...]] = {
    "scan": (lambda x, y: fg.scan(lambda c, t: (np.sin(c * t + y), c), x, TIMES), 0.7, 1.3),
    "scan over an argument": (
        lambda x, ts: fg.scan(lambda c, t: (c * t + 1, c), x, ts)[0],
        0.7,
        TIMES,
    ),
    "scan backwards": (
        lambda x, y: fg.scan(
            lambda c, t: (c * t[0] + t[1], None), x, (TIMES, TIMES * y), reverse=True
        )[0],
        0.7,
        1.3,
    ),
    "scan of several": (
        lambda x, y: fg.scan(
            lambda c, t: ((c[1], c[0] + c[1] * t), (c[0], np.cos(t))), (x, y), TIMES
        )[0][1],
        0.7,
        1.3,
    ),
    "scan by count": (
        lambda x, y: fg.scan(lambda c, _: (np.cos(c) * y, c), x, length=4)[1],
        0.7,
        1.3,
    ),
    "scan of arrays": (
        lambda x, m: fg.scan(lambda c, t: (np.tanh(m @ c * t), c), x, TIMES)[0],
        TIMES,
        M,
    ),
    "scan of nothing": (
        lambda x, y: fg.scan(lambda c, t: (c * y, c), x, np.zeros(0))[0] * y,
        0.7,
        1.3,
    ),
    "scan with checkpoints": (
        lambda x: fg.scan(lambda c, t: (np.sin(c) * t, c), x, np.arange(9.0), checkpoint="sqrt")[0],
        0.7,
    ),
    "long scan": (
        lambda x: fg.scan(lambda c, t: (np.sin(c) + 0.01 * t, None), x, np.arange(300.0))[0],
        0.7,
    ),
    "nested loops": (lambda x, y: _nested(x, y), 0.7, 1.3),
    "while": (
        lambda x, y: fg.while_loop(lambda c: c < 100.0 * y, lambda c: c * c + y, x + 2),
        0.7,
        1.3,
    ),
    "while of several": (
        lambda x, y: fg.while_loop(
            lambda s: s[0] < 5, lambda s: (s[0] + 1, np.sin(s[1]) * y), (0, x)
        )[1],
        0.7,
        1.3,
    ),
    "while of arrays": (
        lambda x: fg.while_loop(lambda c: np.sum(c) < 9, lambda c: np.roll(c, 1) * 2, x),
        TIMES,
    ),
    "fori": (lambda x, y: fg.fori_loop(0, 4, lambda i, v: v * y + i, x), 0.7, 1.3),
    "fori of an argument": (lambda n, x: fg.fori_loop(0, n, lambda i, v: v * x, 1.0), 4, 1.3),
    "fori with invariant work": (
        lambda x, a: fg.fori_loop(0, 5, lambda i, v: v + np.exp(a) @ v * 0.01, x),
        TIMES,
        M,
    ),
    "cond": (lambda x, y: fg.cond(x > y, lambda u: np.sin(u), lambda u: u**2 * y, x), 0.7, 1.3),
    "switch": (
        lambda x, y: fg.switch(
            np.floor(y * 2).astype(int), [lambda u: u, lambda u: u**2, lambda u: np.sin(u) * y], x
        ),
        0.7,
        1.3,
    ),
    "loop of branches": (
        lambda x, y: fg.scan(
            lambda c, t: (fg.cond(c > t, np.sin, lambda u: u * y, c), None), x, TIMES
        )[0],
        0.7,
        1.3,
    ),
    "loop in a branch": (
        lambda x, y: fg.cond(
            x > 0, lambda u: fg.fori_loop(0, 3, lambda i, v: v * u, y), lambda u: u, x
        ),
        0.7,
        1.3,
    ),
    "checkpoint": (lambda x, y: fg.checkpoint(lambda u: np.sin(np.sin(u) * y))(x), 0.7, 1.3),
    "checkpoint that keeps": (lambda x, y: kept(x, y), 0.7, 1.3),
    "checkpoint of a layer": (
        lambda w, x: fg.checkpoint(lambda u: np.tanh(np.tanh(u @ w) @ w))(x),
        M,
        SQUARE,
    ),
    "custom vjp": (lambda x, y: clipped(x * y) * y, 0.7, 1.3),
    "custom jvp": (lambda x, y: two(x, y)[0] - two(x, y)[1], 0.7, 1.3),
    "implicit root": (lambda a: root(1.0, a) * a, 2.0),
    "implicit minimum": (lambda a: least(0.0, a) * a, 2.0),
    "fixed point": (lambda a: fixed(0.5, a) * a, 1.1),
    "reduce": (lambda r: fg.reduce(lambda y, x: r * y + x, TIMES, 0.0), 10.0),
    "accumulate": (lambda xs: fg.accumulate(np.multiply, xs), TIMES),
    "iterate": (lambda x: fg.iterate(lambda v: np.sin(v) * 2, x, 4), 0.7),
    "associative scan": (lambda xs: fg.associative_scan(np.multiply, xs), VECTOR),
    "vmap of a scan": (
        lambda w: fg.vmap(lambda x: fg.scan(lambda c, t: (c * t, np.sin(c)), x, TIMES)[1])(w),
        TIMES,
    ),
    "vmap of a while": (
        lambda w: fg.vmap(lambda x: fg.while_loop(lambda c: c < 9.0, lambda c: c * 2, x))(w),
        TIMES,
    ),
    "vmap of a cond": (lambda w: fg.vmap(lambda x: fg.cond(x > 0.7, np.sin, np.exp, x))(w), TIMES),
    "gradient within": (lambda x, y: fg.grad(lambda v: np.sin(v * y) * v)(x) * y, 0.7, 1.3),
    "jacobian within": (lambda x: fg.jacobian(lambda v: v[1:] * v[:-1])(x), VECTOR),
    "jvp within": (lambda x: fg.jvp(np.tanh, (x,), (x * x,))[1], ANY),
    "taylor": (lambda x: fg.taylor(lambda v: np.exp(np.sin(v)), x, 4), 0.7),
    "jit within": (lambda x: fg.jit(lambda v: np.sin(v) * v)(x) + x, 0.7),
}


# -- Python's own control flow, with guards --------------------------------------------------------
def branching(x: Any) -> Any:
    """A condition on a number."""
    if x > 1:
        return x**2
    return -x if x < 0 else np.sin(x)


def collatz(x: Any) -> Any:
    """A loop whose length depends on the argument."""
    while x > 1.0:
        x = x / 2.0
    return x * x


def by_count(n: Any, x: Any) -> Any:
    """An integer that counts iterations."""
    for k in range(int(n)):
        x = np.sin(x) + k
    return x


def by_norm(x: Any) -> Any:
    """A condition on an array, and an index that depends on it."""
    scale = np.linalg.norm(x)
    return x / scale if scale > 1.0 else x[int(np.argmax(x))] * x


UNKEYED = (
    Program("primitive", lambda x: cubed(x) * x, (ANY,), keyed=False),
    Program("root by a solver", lambda a: own_root(1.0, a) * a, (2.0,), keyed=False),
)
GUARDED = (
    Program("branching", branching, (2.0,), ((-1.0,), (0.5,), (3.0,))),
    Program("while with guards", collatz, (5.0,), ((17.0,), (0.3,))),
    Program("range of an argument", by_count, (3, 0.7), ((4, 0.2), (0, 0.1))),
    Program("branch on an array", by_norm, (VECTOR,), ((VECTOR * 0.1,), (VECTOR * 0.1,))),
    Program("loops over entries", lambda x: sum([v * v for v in x]), (VECTOR,)),
    Program("truth of an array", lambda x: x if x.any() else -x, (VECTOR,), ((VECTOR * 0,),)),
    Program(
        "static argument",
        lambda x, how: np.sum(x) if how == "s" else np.prod(x),
        (TIMES, "s"),
        ((TIMES, "p"),),
    ),
    Program("float of a value", lambda x: float(fg.stop_gradient(x)) * x, (0.7,), ((0.9,),)),
)


# -- models --------------------------------------------------------------------------------------
def _array(*shape: int, scale: float = 1.0) -> Any:
    count = int(np.prod(shape))
    return scale * np.sin(1.0 + 3.0 * np.arange(float(count))).reshape(shape)


def mlp(p: Any, x: Any, y: Any) -> Any:
    """The squared error of a network of two layers."""
    h = np.tanh(x @ p["w1"] + p["b1"])
    return np.mean((h @ p["w2"] + p["b2"] - y) ** 2)


def logistic(w: Any, x: Any, y: Any) -> Any:
    """The loss of logistic regression."""
    z = x @ w
    return np.mean(np.log(1 + np.exp(z)) - y * z) + 0.01 * np.sum(w**2)


def lstm(p: Any, h: Any, c: Any, xs: Any) -> Any:
    """An LSTM over a sequence."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, o, g = np.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=-1)
        c = fg.sigmoid(f) * c + fg.sigmoid(i) * np.tanh(g)
        h = fg.sigmoid(o) * np.tanh(c)
        return (h, c), h

    return np.sum(fg.scan(step, (h, c), xs)[1] ** 2)


def mixture(weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """The log-likelihood of a mixture of Gaussians."""
    z = (x[:, None, :] - means) / np.exp(scales)
    logs = -0.5 * np.sum(z**2, axis=-1) - np.sum(scales, axis=-1) + fg.log_softmax(weights)
    return np.sum(fg.logsumexp(logs, axis=1))


def runge_kutta(k: Any, y: Any) -> Any:
    """The Runge-Kutta method of order four on an oscillator."""

    def field(y: Any) -> Any:
        return np.stack([y[1], -k * y[0] - 0.1 * y[1]])

    def step(y: Any, _: Any) -> Any:
        h = 0.1
        a = field(y)
        b = field(y + h / 2 * a)
        c = field(y + h / 2 * b)
        d = field(y + h * c)
        return y + h / 6 * (a + 2 * b + 2 * c + d), None

    return np.sum(fg.scan(step, y, length=20)[0] ** 2)


def chain(count: int) -> Callable[..., Any]:
    """A function of two numbers with about the given number of operations."""

    def run(x: Any, y: Any) -> Any:
        for k in range(count // 3):
            x = np.sin(x * y) + x if k % 2 else np.tanh(x) - y * 0.5
        return x

    return run


def attention(q: Any, k: Any, v: Any) -> Any:
    """Scaled dot-product attention."""
    return fg.softmax(q @ k.T / np.sqrt(q.shape[-1]), axis=-1) @ v


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def black_scholes(s: Any, k: Any, t: Any, v: Any) -> Any:
    """The price of an option, with a logistic distribution function."""
    d = (np.log(s / k) + 0.5 * v**2 * t) / (v * np.sqrt(t))
    return s * fg.sigmoid(1.702 * d) - k * fg.sigmoid(1.702 * (d - v * np.sqrt(t)))


_LSTM = {"wx": _array(2, 12), "wh": _array(3, 12), "b": _array(12)}
_MLP = {"w1": _array(4, 5), "b1": _array(5), "w2": _array(5, 2), "b2": _array(2)}
MODELS = (
    Program("mlp", mlp, (_MLP, ANY, SIDES)),
    Program("mlp with a batch", mlp, (_MLP, _array(64, 4), _array(64, 2))),
    Program("logistic", logistic, (_array(4), _array(50, 4), (_array(50) > 0).astype(float))),
    Program("lstm", lstm, (_LSTM, _array(2, 3), _array(2, 3), _array(4, 2, 2))),
    Program("lstm of one row", lstm, (_LSTM, _array(1, 3), _array(1, 3), _array(4, 1, 2))),
    Program("mixture", mixture, (_array(3), _array(3, 2), _array(3, 2), _array(20, 2))),
    Program("runge-kutta", runge_kutta, (2.0, np.array([1.0, 0.0]))),
    Program("attention", attention, (_array(4, 3), _array(5, 3), _array(5, 2))),
    Program("rosenbrock", rosenbrock, (_array(6),)),
    Program("rosenbrock of 200", rosenbrock, (_array(200),)),
    Program("black-scholes", black_scholes, (100.0, 95.0, 0.5, 0.2)),
    Program("chain of 10", chain(10), (0.3, 0.7)),
    Program("chain of 60", chain(60), (0.3, 0.7)),
    Program("chain of 300", chain(300), (0.3, 0.7)),
    Program("chain of 3000 as bytecode", chain(3000), (0.3, 0.7), brief=True),
    Program("chain on arrays", chain(12), (ANY, OTHER)),
    Program("large elementwise", lambda x: np.exp(-x * x) * np.sin(x) + x / (1 + x * x), (WIDE,)),
    Program("large sum", lambda x, y: np.sum(np.tanh(x * y) ** 2 + np.cos(x)), (WIDE, WIDE + 1)),
    Program(
        "large rows",
        lambda x, b: np.sum(np.exp(x + b) * x, axis=1),
        (WIDE.reshape(2000, 100), WIDE[:100]),
    ),
    Program("large single", lambda x: np.mean(np.sqrt(x * x + 1)), (WIDE.astype(np.float32),)),
    Program("large softmax", lambda x: fg.softmax(x, axis=1), (WIDE.reshape(500, 400),)),
    Program(
        "wide matmul", lambda w, x: np.sum(np.tanh(x @ w) ** 2), (_array(32, 16), _array(200, 32))
    ),
)

TABLES = (
    ELEMENTWISE_FORMULAS,
    COMPLEXES,
    REDUCTIONS,
    SHAPES,
    CONTRACTIONS,
    LINEAR_ALGEBRA,
    CONTROL,
)
_ALL = (
    *_elementwise(),
    *[Program(name, f, tuple(args)) for table in TABLES for name, (f, *args) in table.items()],
    *UNKEYED,
    *GUARDED,
    *MODELS,
)
PROGRAMS: tuple[Program, ...] = tuple(
    [program._replace(name=program.name.replace(" ", "-")) for program in _ALL]
)
