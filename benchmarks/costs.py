"""The cost of a gradient beside that of its function, for functions of NumPy and SciPy on large arrays.

Small inputs do not show that a rule compares each entry with each, keeps a table of all pairs, or solves a
banded system by a full matrix. Each function is measured with its plain call, un-jitted and jitted.
"""

from __future__ import annotations

import time
import timeit
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

LIMIT, SLACK = 6.0, 2e-3
"""The ratio beyond which a gradient is listed, and the seconds that it may take beside it."""

TEXTS = {
    "signal": """
        sin(x) exp(x) sinc(x) sum(x) prod(0.5+x) std(x) max(x) ptp(x) median(x)
        quantile(x,.3) cumsum(x) cumprod(x) sort(x) diff(x) nanmean(x) percentile(x,[5,50])
        partition(x,500) unique(x) x[i] x[x>0] where(x>0,x,x*x) interp(x,k,k*k)
        interp(y,k,x[:1000]) histogram(y,50,weights=x)[0] bincount(i,x) trapezoid(x)
        gradient(x) pad(x,9,'reflect') roll(x,3) repeat(x,5) convolve(x,y[:300])
        correlate(x,y[:300]) fft.rfft(x) polyval(x[:4],x) vander(x,6) clip(x,-1,1) unwrap(x)
        maximum.accumulate(x) add.reduceat(x,i2)
        lib.stride_tricks.sliding_window_view(x,50).mean(1)
    """,
    "table": """
        x@x einsum('ij,jk->ik',x,x) linalg.inv(x) linalg.det(x)
        linalg.cholesky(x@x.T+x.shape[0]*e) linalg.eigvalsh(x+x.T) linalg.svd(x)[1]
        linalg.qr(x)[1] linalg.solve(x,x.T) linalg.norm(x) linalg.pinv(x) cov(x) corrcoef(x)
        trace(x) tril(x) fft.fft2(x) kron(x[:15,:15],x[:15,:15])
    """,
}
"""Expressions of NumPy's functions of an array x, by the shape of the array."""

SCIPY = {
    "signal": """
        special.gammaln(x) special.erf(x) special.ndtr(x) special.j0(x) special.j1(x)
        special.logsumexp(x) stats.norm.logpdf(x) stats.t.logpdf(x,3) stats.skew(x)
        stats.zscore(x) stats.iqr(x) stats.trim_mean(x,.1) stats.pearsonr(x,y)[0]
        signal.fftconvolve(x,y[:300]) signal.lfilter([1.,.5],[1.,-.3],x)
        signal.savgol_filter(x,11,3) signal.hilbert(x) signal.stft(x)[2]
        signal.resample_poly(x,2,3) signal.medfilt(x,5) fft.dct(x) integrate.simpson(x)
        ndimage.gaussian_filter1d(x,3.) interpolate.CubicSpline(k,x[:1000])(k)
        interpolate.PchipInterpolator(k,x[:1000])(k)
        interpolate.make_interp_spline(k,x[:1000])(k) linalg.solve_banded((1,1),bands,x)
        linalg.toeplitz(x[:500])
    """,
    "table": """
        linalg.expm(x/99) linalg.lu(x)[1]
        linalg.cho_solve(linalg.cho_factor(x@x.T+x.shape[0]*e),x)
        linalg.solve_triangular(x+9*e,x) ndimage.gaussian_filter(x,3.)
        ndimage.convolve(x,x[:9,:9]) ndimage.shift(x,(1.5,2.3)) ndimage.zoom(x,1.5)
        ndimage.median_filter(x,3) signal.convolve2d(x,x[:9,:9])
        spatial.distance.pdist(x[:,:3]) spatial.distance.cdist(x[:,:3],e[:,:3])
    """,
}
"""The same of SciPy's modules."""

MODULES = (
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "spatial",
    "special",
    "stats",
)


def functions(scale: int) -> dict[str, tuple[Callable[[Any], Any], Any]]:
    """Each function and its array; a signal has ``scale`` entries, a table as many rows as its root."""
    import numpy as np
    import scipy

    of_scipy = {name: getattr(scipy, name) for name in MODULES}
    rng, rows = np.random.default_rng(0), int(scale**0.5)
    arrays = {"signal": rng.normal(size=scale), "table": rng.normal(size=(rows, rows))}
    arrays["table"] += rows * np.eye(rows)
    given = {
        "y": rng.normal(size=scale),
        "i": rng.integers(0, scale, scale),
        "i2": np.arange(0, scale, 50),
        "k": np.sort(rng.uniform(-4, 4, 1000)),
        "e": np.eye(rows),
        "bands": np.stack([np.ones(scale), np.full(scale, 4.0), np.ones(scale)]),
    }
    found: dict[str, tuple[Callable[[Any], Any], Any]] = {}
    for texts, home in ((TEXTS, vars(np)), (SCIPY, of_scipy)):
        for kind, names in texts.items():
            for text in names.split():
                space = {**home, **given}
                found[text] = eval(f"lambda x: {text}", space), arrays[kind]
    return found


def seconds(f: Callable[[], Any]) -> float:
    """The least time of a call."""
    timer = timeit.Timer(f, timer=time.thread_time)
    count = max(int(0.05 / max(timer.timeit(1), 1e-6)), 1)
    return min(timer.repeat(3, count)) / count


def report(scale: int = 90_000, names: tuple[str, ...] = ()) -> str:
    """The functions whose gradient takes many times as long, with and without `jit`, by that ratio."""
    import numpy as np

    import funcgrad as fg

    rows = []
    chosen = {name: case for name, case in functions(scale).items() if not names or name in names}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, (f, x) in chosen.items():
            gradient = fg.grad(lambda x, f=f: np.sum(np.real(f(x)) ** 2))
            jitted = fg.jit(gradient)
            for _ in range(3):
                jitted(x)
            own, *others = (seconds(partial(g, x)) for g in (f, gradient, jitted))
            if min(others) > LIMIT * own + SLACK:
                rows.append((min(others) / own, *[other / own for other in others], name))
    lines = [
        f"{plain:8.1f} {jit:8.1f}  {name}" for _, plain, jit, name in sorted(rows, reverse=True)
    ]
    count = f"{len(rows)} of {len(chosen)} gradients take more than {LIMIT:g} times as long"
    return "\n".join([*lines, count])
