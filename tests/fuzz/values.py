"""Arguments of programs: generic points, and the special values of each dtype."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.fuzz.programs import Input, Program


def generic(item: "Input", seed: int) -> Any:
    """An argument away from kinks: no two entries equal, none 0, magnitudes from 0.3 to 1.7."""
    rng = np.random.default_rng([seed, ord(item.name)])
    dtype = np.dtype(item.dtype)
    signs = rng.choice([-1.0, 1.0], item.shape)
    value: Any = rng.uniform(0.3, 1.7, item.shape) * signs
    if dtype.kind == "c":
        value = value + 1j * rng.uniform(-1.5, 1.5, item.shape)
    elif dtype.kind in "iu":
        value = rng.integers(0 if dtype.kind == "u" else -3, 6, item.shape)
    elif dtype.kind == "b":
        value = value > 0
    return np.asarray(value).astype(dtype)[()]


def generic_arguments(program: "Program", seed: int) -> tuple[Any, ...]:
    return tuple(generic(item, seed) for item in program.inputs)


def special_values(dtype: Any) -> np.ndarray:
    """Signed zeros, infinities, NaN, subnormals, the extremes, and where functions turn or overflow."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = {0, 1, 2, 3, 7, -1, -2, info.min, info.max, info.min + 1, info.max // 2}
        return np.array(sorted(n for n in found if info.min <= n <= info.max), dtype)
    if dtype.kind == "c":
        part = {"complex128": np.float64, "complex64": np.float32}[dtype.name]
        ends = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan], part)
        result = np.empty((len(ends), len(ends)), dtype)
        result.real, result.imag = ends[:, None], ends[None, :]
        return result.reshape(-1)
    info = np.finfo(dtype)
    positive = [0.0, 1.0, 0.5, 2.0, 3.0, 1e-3, np.inf, info.max, info.tiny, info.smallest_subnormal]
    positive += [info.eps, 1 + info.eps, np.pi, np.pi / 2, np.log(info.max), -np.log(info.tiny)]
    with np.errstate(over="ignore"):
        high = np.array([*positive, info.max / 2, np.sqrt(info.max)], dtype)
    return np.concatenate([high, -high, np.array([np.nan], dtype)])


def special_arguments(program: "Program", seed: int) -> tuple[Any, ...]:
    """Arguments filled with special values, drawn by a seed.

    Where complex numbers are summed they are finite: which parts of a product of infinities are NaN
    depends on how a library multiplies, and NumPy's own functions differ.
    """
    rng = np.random.default_rng(seed)
    sums = any(step.sums for step in program.body)
    arguments = []
    for item in program.inputs:
        values = special_values(item.dtype)
        if sums and values.dtype.kind == "c":
            values = values[np.isfinite(values)]
        arguments.append(rng.choice(values, item.shape).astype(item.dtype)[()])
    return tuple(arguments)
