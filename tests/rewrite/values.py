"""Special values, and equality to the bit."""

import numpy as np

REALS = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, np.inf, -np.inf, np.nan]
COMPLEX = [complex(a, b) for a in REALS[:-1] for b in REALS[:-1]]


def special(dtype):
    """Signed zeros, infinities, NaN, the extremes of a dtype and some numbers between them."""
    if np.dtype(dtype).kind == "c":
        return np.array(COMPLEX, dtype)
    info = np.finfo(dtype)
    ends = [info.max, -info.max, info.tiny, -info.smallest_subnormal]
    return np.array([*REALS, *ends], dtype)


def grid(count, dtype):
    """``count`` operands that meet in every combination of special values; of complex ones in many."""
    values = special(dtype)
    if len(values) ** count <= 5000:
        return [np.ravel(v) for v in np.meshgrid(*[values] * count)]
    rng = np.random.default_rng(0)
    return [rng.choice(values, 5000) for _ in range(count)]


def same(actual, expected):
    """Whether values are equal to the bit, but for the bits of a NaN."""
    a, b = np.asarray(actual), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same(a.real, b.real) and same(a.imag, b.imag)
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    equal = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))
