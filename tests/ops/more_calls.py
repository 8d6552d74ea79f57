"""Calls of what NumPy builds upon its other functions: see test_numpy_semantics.py."""

import numpy as np


def reduced(f, axes=(None, 0, -1, (0, 1)), **kwargs):
    return [
        lambda x, axis=axis, more=more: f(x, axis=axis, **more, **kwargs)
        for axis in axes
        for more in ({}, {"keepdims": True})
    ]


def flat(f):
    """Of the entries of x as a vector."""
    return lambda x: f(np.ravel(x))


KNOTS = np.array([-1.0, 0.0, 0.5, 2.0])
LEVELS = np.array([3.0, -1.0, 0.5, 2.0])

MORE_CALLS = {
    **{
        f.__name__: reduced(f)
        for f in (np.nansum, np.nanprod, np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nanstd)
    },
    "block": [lambda x: np.block([[x, x], [x, x]])],
    "compress": [
        lambda x: np.compress([True], x),
        lambda x: np.compress([False, True], x, axis=-1),
    ],
    "choose": [lambda x: np.choose([1, 0, 1], [x, 1])],
    "partition": [lambda x: np.partition(x, 0, axis=None)[:1]],
    "argpartition": [lambda x: np.sort(np.argpartition(x, 0))],
    "empty_like": [lambda x: np.shape(np.empty_like(x))],
    "shares_memory": [lambda x: np.shares_memory(x, np.ones(3))],
    "may_share_memory": [lambda x: np.may_share_memory(x, np.ones(3))],
    "nanmedian": reduced(np.nanmedian),
    "nanquantile": reduced(np.nanquantile, q=0.3),
    "nanpercentile": [lambda x: np.nanpercentile(x, [20.0, 50.0], axis=0)],
    "linspace": [lambda x: np.linspace(x, 3, 4), lambda x: np.linspace(0, x, 3, False, axis=-1)],
    "logspace": [lambda x: np.logspace(x, 2, 3)],
    "geomspace": [lambda x: np.geomspace(np.abs(x) + 1, 4, 3)],
    "ptp": reduced(np.ptp, axes=(None, 0, -1)),
    "median": reduced(np.median),
    "quantile": [
        *reduced(np.quantile, q=0.3),
        *[
            lambda x, how=how: np.quantile(x, [0.1, 0.5, 1.0], axis=-1, method=how)
            for how in ("linear", "lower", "higher", "nearest", "midpoint")
        ],
    ],
    "percentile": [lambda x: np.percentile(x, [[20, 50]], axis=0), lambda x: np.percentile(x, 75)],
    "cumulative_sum": [
        lambda x: np.cumulative_sum(x, axis=0),
        lambda x: np.cumulative_sum(x, axis=-1, include_initial=True),
        lambda x: np.cumulative_sum(x),
    ],
    "cumulative_prod": [lambda x: np.cumulative_prod(x, axis=-1, include_initial=True)],
    "diff": [
        lambda x: np.diff(x),
        lambda x: np.diff(x, 2),
        lambda x: np.diff(x, axis=0),
        lambda x: np.diff(x, prepend=0),
        lambda x: np.diff(x, axis=0, append=x[:1]),
    ],
    "trapezoid": [
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, dx=0.5, axis=0),
        lambda x: np.trapezoid(x, np.arange(np.shape(x)[-1]) ** 2.0),
        lambda x: np.trapezoid(x, np.ones(np.shape(x)), axis=0),
    ],
    "gradient": [
        lambda x: np.gradient(x, axis=0),
        lambda x: np.gradient(x),
        lambda x: np.gradient(x, 0.5, axis=-1),
        lambda x: np.gradient(x, 0.5, 2, edge_order=1),
        lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0]), axis=-1, edge_order=2),
        lambda x: np.gradient(x, axis=(-1,), edge_order=2),
        lambda x: np.gradient(x, 1, 2, 3),
    ],
    "searchsorted": [
        lambda x: np.searchsorted(KNOTS, x),
        lambda x: np.searchsorted(KNOTS, x, "right"),
        lambda x: np.searchsorted(KNOTS[::-1], x, "right", [3, 2, 1, 0]),
    ],
    "interp": [
        lambda x: np.interp(x, KNOTS, LEVELS),
        lambda x: np.interp(x, KNOTS, LEVELS, left=7, right=-7.5),
        lambda x: np.interp(np.real(x), KNOTS[::-1], LEVELS, period=2.5),
        lambda x: np.interp(x, KNOTS[:1], LEVELS[:1]),
        lambda x: np.interp(x, [-2.0, 0.5, 0.5, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]),
    ],
    **{
        f"fft.{f.__name__}": [
            lambda x, f=f: f(x),
            lambda x, f=f: f(x, 2, norm="ortho"),
            lambda x, f=f: f(x, n=5, axis=0, norm="forward"),
        ]
        for f in (np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft)
    },
    **{
        f"fft.{f.__name__}": [
            lambda x, f=f: f(np.real(x)),
            lambda x, f=f: f(np.real(x), 5, norm="ortho"),
            lambda x, f=f: f(np.real(x), n=2, axis=0, norm="forward"),
        ]
        for f in (np.fft.rfft, np.fft.ihfft)
    },
    **{
        f"fft.{f.__name__}": [
            lambda x, f=f: f(x[None]),
            lambda x, f=f: f(x, norm="ortho"),
            lambda x, f=f: f(x, (4, 5), (1, 0)),
            lambda x, f=f: f(x, s=(-1, 2), axes=(0, 1), norm="forward"),
        ]
        for f in (
            np.fft.fft2,
            np.fft.ifft2,
            np.fft.fftn,
            np.fft.ifftn,
            np.fft.irfft2,
            np.fft.irfftn,
        )
    },
    **{
        f"fft.{f.__name__}": [
            lambda x, f=f: f(np.real(x)),
            lambda x, f=f: f(np.real(x), (4, 5), (1, 0)),
        ]
        for f in (np.fft.rfft2, np.fft.rfftn)
    },
    **{
        f"fft.{f.__name__}": [lambda x, f=f: f(x), lambda x, f=f: f(x, axes=-1)]
        for f in (np.fft.fftshift, np.fft.ifftshift)
    },
    "convolve": [
        flat(lambda x, mode=mode, n=n: np.convolve(x, np.arange(1.0, n + 1.0), mode))
        for mode in ("full", "same", "valid")
        for n in (1, 2, 3, 6, 7, 10)
    ],
    "correlate": [
        flat(lambda x, mode=mode, n=n: np.correlate(x, np.arange(1.0, n + 1.0) + 0.5j, mode))
        for mode in ("full", "same", "valid")
        for n in (1, 2, 3, 6, 7, 10)
    ],
    "vander": [
        flat(np.vander),
        lambda x: np.vander(x, 3),
        lambda x: np.vander(np.ravel(x), 4, increasing=True),
        lambda x: np.vander(np.ravel(x), 0),
        lambda x: np.vander(np.ravel(x), 1),
    ],
    "polyval": [
        lambda x: np.polyval([1.0, -2.0, 3.0], x),
        lambda x: np.polyval(np.ravel(x), 2.0),
        lambda x: np.polyval([1, 2], x),
    ],
    "polyfit": [
        lambda x: np.polyfit(np.arange(6.0), np.ravel(np.real(x)) * 1.0, 2),
        lambda x: np.polyfit(np.arange(2.0), np.real(x) * 1.0, 1),
        lambda x: np.polyfit(np.arange(2.0), np.real(x) * 1.0, 1.5),
        lambda x: np.polyfit(np.arange(6.0), np.ravel(np.real(x)) * 1.0, 2, cov=True)[1],
        lambda x: np.polyfit(np.arange(6.0), np.ravel(np.real(x)) * 1.0, 2, full=True)[1],
        lambda x: np.polyfit(np.real(x[0]) * 1.0, [1.0, 2.0, 4.0], 1, w=[1.0, 2.0, 3.0]),
    ],
    "cov": [
        lambda x: np.cov(x),
        lambda x: np.cov(x, rowvar=False),
        lambda x: np.cov(x, 2 * x, bias=True),
        lambda x: np.cov(x[0], x[0] ** 2, ddof=0),
    ],
    "corrcoef": [lambda x: np.corrcoef(x * 1.0), lambda x: np.corrcoef(x, rowvar=False)],
    "delete": [
        lambda x: np.delete(x, 1),
        lambda x: np.delete(x, [0, 2], axis=-1),
        lambda x: np.delete(x, slice(None, None, 2), axis=0),
    ],
    "flipud": [lambda x: np.flipud(x)],
    "fliplr": [lambda x: np.fliplr(x)],
    "rot90": [lambda x, k=k: np.rot90(x, k) for k in (-1, 0, 1, 2, 3)]
    + [lambda x: np.rot90(x[None], axes=(-1, 0))],
    "select": [
        lambda x: np.select([x == 0, x != 0], [x, 2 * x]),
        lambda x: np.select([x == 0], [x], -1.5),
    ],
    "nan_to_num": [
        lambda x: np.nan_to_num(x),
        lambda x: np.nan_to_num(np.sqrt(x - 0.5), nan=3.0),
        lambda x: np.nan_to_num(x / 0.0, posinf=1.0, neginf=2),
        lambda x: np.nan_to_num(x / 0.0),
    ],
    "isclose": [
        lambda x: np.isclose(x, 0.5),
        lambda x: np.isclose(x, x + 1e-9),
        lambda x: np.isclose(x / 0.0, x / 0.0),
        lambda x: np.isclose(x / 0.0, x / 0.0, equal_nan=True),
    ],
    "allclose": [lambda x: np.allclose(x, 0.5), lambda x: np.allclose(x, x)],
    "array_equal": [lambda x: np.array_equal(x, x), lambda x: np.array_equal(x, x[:0])],
}
