"""Functions of `jax.numpy`, with its keywords: values and gradients against JAX, in double precision."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.default_slice import one_in

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
x, y, s = RNG.uniform(0.2, 1.7, 5), RNG.uniform(0.3, 2.0, 5), RNG.standard_normal(5)
A, B = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 3))
P, T = A @ A.T + np.eye(4), RNG.standard_normal((2, 3, 4))
u = RNG.uniform(-0.9, 0.9, 5)
I = np.array([0, 2, 1, 2])
mask = np.array([True, False, True, True, False])

OF_SIGNED = """
abs absolute arcsinh asinh arctan atan conj conjugate cos cosh
deg2rad degrees exp exp2 expm1 fabs floor ceil i0 imag
real nan_to_num negative positive rad2deg radians rint round sign sin
sinc sinh square tan tanh trunc angle cumsum nancumsum nancumprod
diff ediff1d flip flipud max min amax amin mean median
nanmean nanmedian nanmax nanmin nanprod nansum nanstd nanvar std sum
var ptp ravel sort sort_complex squeeze transpose unwrap cov corrcoef
gradient diag diagflat vander average atleast_1d atleast_2d atleast_3d count_nonzero cumulative_sum
cumulative_prod trapezoid roots poly polyder polyint frexp modf
"""
OF_POSITIVE = """
log log10 log1p log2 sqrt cbrt reciprocal cumprod prod
"""
OF_MATRICES = """
fliplr trace diagonal tril triu matrix_transpose rot90
"""
OF_UNIT = "arccos acos arcsin asin arctanh atanh"
OF_TWO = """
add arctan2 atan2 copysign divide true_divide float_power pow power fmax
fmin fmod heaviside hypot logaddexp logaddexp2 maximum minimum mod remainder
multiply subtract floor_divide divmod convolve correlate dot inner outer kron
vdot vecdot polyadd polymul polysub polyval append array_equal isclose allclose
"""
OF_FFT = "fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn hfft fftshift ifftshift"
ROWS = {}


def row(name, f, *args):
    ROWS[name] = f, args


def named(names, *args, part=None):
    for name in names.split():

        def f(m, *args, name=name):
            return getattr(m if part is None else getattr(m, part), name)(*args)

        ROWS[name if part is None else f"{part}.{name}"] = f, args


named(OF_SIGNED, s)
named(OF_POSITIVE, x)
named(OF_MATRICES, A)
named(OF_UNIT, u)
named(OF_TWO, x, y)
named(OF_FFT, A, part="fft")
row("acosh", lambda m, a: m.acosh(a), x + 1)
row("irfft", lambda m, a: m.fft.irfft(a + 0j), A)
row("irfft2", lambda m, a: m.fft.irfft2(a + 0j), A)
row("irfftn", lambda m, a: m.fft.irfftn(a + 0j), A)
row("ihfft", lambda m, a: m.fft.ihfft(a), A)
row("fft, norm", lambda m, a: m.fft.fft(a, n=6, axis=0, norm="ortho"), A)
row("ldexp", lambda m, a: m.ldexp(a, np.arange(5)), x)
row("clip old", lambda m, a: m.clip(a, 0.5, 1.0), x)
row("clip min max", lambda m, a: m.clip(a, min=0.5, max=1.0), x)
row("clip arr", lambda m, a, b: m.clip(a, b), x, y)
row("where", lambda m, a, b: m.where(a > b, a, b), x, y)
row("select", lambda m, a, b: m.select([a > 1, a > 0.5], [a, b], 0.0), x, y)
row(
    "piecewise",
    lambda m, a: m.piecewise(a, [a < 0.5, a >= 0.5], [lambda v: v**2, lambda v: m.sin(v)]),
    x,
)
row("choose", lambda m, a, b: m.choose(np.array([0, 1, 1, 0, 1]), [a, b]), x, y)
row("compress", lambda m, a: m.compress(mask, a), x)
row("extract", lambda m, a: m.extract(mask, a), x)
row("delete", lambda m, a: m.delete(a, 1), x)
row("insert", lambda m, a, b: m.insert(a, 1, b[0]), x, y)
row("take", lambda m, a: m.take(a, I, axis=0), B)
row("take clip", lambda m, a: m.take(a, np.array([0, 9]), axis=0, mode="clip"), B)
row("take fill", lambda m, a: m.take(a, np.array([0, 9]), axis=0, mode="fill", fill_value=7.0), B)
row("take_along", lambda m, a: m.take_along_axis(a, I[:, None], axis=1), A)
row("argsort take", lambda m, a: a[m.argsort(a)], s)
row("sort desc", lambda m, a: m.sort(a, descending=True), s)
row("argsort desc", lambda m, a: a[m.argsort(a, descending=True)], s)
row("sort axis", lambda m, a: m.sort(a, axis=0), A)
row("lexsort", lambda m, a, b: a[m.lexsort((a, b))], s, y)
row("partition", lambda m, a: m.sort(m.partition(a, 2)[:3]), s)
row("argpartition", lambda m, a: m.sort(a[m.argpartition(a, 2)[:3]]), s)
row("concatenate", lambda m, a, b: m.concatenate([a, b]), x, y)
row("concat", lambda m, a, b: m.concat([a, b]), x, y)
row("stack", lambda m, a, b: m.stack([a, b], axis=1), x, y)
row("vstack", lambda m, a, b: m.vstack([a, b]), x, y)
row("hstack", lambda m, a, b: m.hstack([a, b]), x, y)
row("dstack", lambda m, a, b: m.dstack([a, b]), x, y)
row("column_stack", lambda m, a, b: m.column_stack([a, b]), x, y)
row("unstack", lambda m, a: m.unstack(a, axis=1)[1], B)
row("block", lambda m, a, b: m.block([[a, a], [b, b]]), x, y)
row("split", lambda m, a: m.split(a, 2)[1], A)
row("array_split", lambda m, a: m.array_split(a, 3)[0], x)
row("hsplit", lambda m, a: m.hsplit(a, 2)[1], A)
row("vsplit", lambda m, a: m.vsplit(a, 2)[1], A)
row("dsplit", lambda m, a: m.dsplit(a, 2)[1], T)
row("tile", lambda m, a: m.tile(a, (2, 3)), x)
row("repeat", lambda m, a: m.repeat(a, 2), x)
row("repeat each", lambda m, a: m.repeat(a, np.array([1, 0, 2, 1, 3]), total_repeat_length=7), x)
row("repeat pad", lambda m, a: m.repeat(a, np.array([1, 0, 2, 1, 3]), total_repeat_length=9), x)
row("roll", lambda m, a: m.roll(a, 2), x)
row("rollaxis", lambda m, a: m.rollaxis(a, 2), T)
row("moveaxis", lambda m, a: m.moveaxis(a, 0, -1), T)
row("swapaxes", lambda m, a: m.swapaxes(a, 0, 2), T)
row("expand_dims", lambda m, a: m.expand_dims(a, (0, 2)), x)
row("reshape", lambda m, a: m.reshape(a, (6, -1)), T)
row("reshape F", lambda m, a: m.reshape(a, (6, -1), order="F"), T)
row("resize", lambda m, a: m.resize(a, (3, 3)), x)
row("broadcast_to", lambda m, a: m.broadcast_to(a, (3, 5)), x)
row("broadcast_arrays", lambda m, a, b: m.broadcast_arrays(a[:, None], b), x, y)
row("meshgrid", lambda m, a, b: m.meshgrid(a, b, indexing="ij"), x, y)
row("pad", lambda m, a: m.pad(a, 2), x)
row("pad edge", lambda m, a: m.pad(a, ((1, 2), (0, 1)), mode="edge"), A)
row("pad reflect", lambda m, a: m.pad(a, 2, mode="reflect"), x)
row("pad wrap", lambda m, a: m.pad(a, 2, mode="wrap"), x)
row("pad const", lambda m, a: m.pad(a, 1, mode="constant", constant_values=3.0), x)
row("pad mean", lambda m, a: m.pad(a, 1, mode="mean"), x)
row("pad linear", lambda m, a: m.pad(a, 2, mode="linear_ramp"), x)
row("einsum", lambda m, a, b: m.einsum("ij,jk->ik", a, b), A, B)
row(
    "einsum opt",
    lambda m, a, b: m.einsum("bij,jk,kl->bil", a, b, b.T, optimize="optimal"),
    T,
    A[:, :3],
)
row("einsum diag", lambda m, a: m.einsum("ii->i", a), A)
row("einsum lists", lambda m, a, b: m.einsum(a, [0, 1], b, [1, 2]), A, B)
row("einsum prec", lambda m, a, b: m.einsum("ij,jk->ik", a, b, precision="highest"), A, B)
row(
    "einsum pref",
    lambda m, a, b: m.einsum("ij,jk->ik", a, b, preferred_element_type=np.float64),
    A,
    B,
)
row("matmul", lambda m, a, b: m.matmul(a, b), A, B)
row("matmul prec", lambda m, a, b: m.matmul(a, b, precision="highest"), A, B)
row("matmul lax prec", lambda m, a, b: m.matmul(a, b, precision=("highest", "high")), A, B)
row("dot prec", lambda m, a, b: m.dot(a, b, precision="float32"), A, B)
row("dot pref", lambda m, a, b: m.dot(a, b, preferred_element_type=m.float64), A, B)
row("tensordot prec", lambda m, a, b: m.tensordot(a, b, axes=1, precision=None), A, B)
row("vecdot", lambda m, a, b: m.vecdot(a, b, axis=-1), A, A + 1)
row("matvec", lambda m, a, b: m.matvec(a, b), A, x[:4])
row("vecmat", lambda m, a, b: m.vecmat(a, b), x[:4], A)
row("trace", lambda m, a: m.trace(a, offset=1), A)
row("apply_along_axis", lambda m, a: m.apply_along_axis(lambda v: v * m.sum(v), 0, A * a[0]), x)
row("apply_over_axes", lambda m, a: m.apply_over_axes(m.sum, a, [0, 2]), T)
row(
    "vectorize",
    lambda m, a, b: m.vectorize(lambda p, q: m.dot(p, q), signature="(n),(n)->()")(a, b),
    A,
    A + 1,
)
row("vectorize excl", lambda m, a, b: m.vectorize(lambda p, q: p * q)(a, b), x, y)
row("frompyfunc", lambda m, a, b: m.frompyfunc(lambda p, q: p * q, nin=2, nout=1)(a, b), x, y)
row("ufunc reduce", lambda m, a: m.add.reduce(a), x)
row("ufunc accumulate", lambda m, a: m.multiply.accumulate(a), x)
row("ufunc outer", lambda m, a, b: m.subtract.outer(a, b), x, y)
row("ufunc at pos", lambda m, a, b: m.add.at(a, I, b[:4], inplace=False), x, y)
row("ufunc reduceat", lambda m, a: m.add.reduceat(a, np.array([0, 2])), x)
row("quantile", lambda m, a: m.quantile(a, 0.3), x)
row("percentile", lambda m, a: m.percentile(a, np.array([20.0, 70.0]), method="linear"), x)
row("nanquantile", lambda m, a: m.nanquantile(a, 0.3), x)
row("nanpercentile", lambda m, a: m.nanpercentile(a, 30.0), x)
row("histogram w", lambda m, w: m.histogram(x, bins=3, weights=w)[0], y)
row("histogram density", lambda m, w: m.histogram(x, bins=3, weights=w, density=True)[0], y)
row("bincount", lambda m, w: m.bincount(I, weights=w, minlength=5), y[:4])
row("bincount length", lambda m, w: m.bincount(I, weights=w, length=5), y[:4])
row("interp", lambda m, a, b: m.interp(a, np.arange(5.0), b), x, y)
row(
    "interp lr",
    lambda m, a, b: m.interp(a, np.arange(5.0), b, left=-1.0, right="extrapolate"),
    x + 3,
    y,
)
row("interp period", lambda m, a, b: m.interp(a, np.arange(5.0), b, period=5.0), x, y)
row("linspace", lambda m, a, b: m.linspace(a, b, 7), x, y)
row("linspace num", lambda m, a: m.linspace(a[0], a[1], num=4, endpoint=False), x)
row("logspace", lambda m, a: m.logspace(a[0], a[1], 4), x)
row("geomspace", lambda m, a: m.geomspace(a[0], a[1], 4), x)
row("arange", lambda m, a: m.arange(3) * a[0], x)
row("full", lambda m, a: m.full((2, 3), a[0]), x)
row("full_like", lambda m, a: m.full_like(a, a[1]), x)
row("eye", lambda m, a: m.eye(5) * a, x)
row("identity", lambda m, a: m.identity(5) @ a, x)
row("zeros_like", lambda m, a: m.zeros_like(a) + a, x)
row("array", lambda m, a: m.array([a[0], a[1] * 2]), x)
row("array nested", lambda m, a: m.array([[a[0], 1.0], [2.0, a[1] * 2]]), x)
row("asarray", lambda m, a: m.asarray([a[0], 3.0]), x)
row("stack list", lambda m, a: m.stack([m.sin(a[0]), a[1]]), x)
row("array dtype", lambda m, a: m.array([a[0], 1], dtype=m.float64), x)
row("tri", lambda m, a: m.tri(5) @ a, x)
row("tril_indices", lambda m, a: a[m.tril_indices(4)], A)
row("triu_indices_from", lambda m, a: a[m.triu_indices_from(a, k=1)], A)
row("diag_indices", lambda m, a: a[m.diag_indices(4)], A)
row("ix_", lambda m, a: a[m.ix_(np.array([0, 2]), np.array([1, 3]))], A)
row("mask_indices", lambda m, a: a[m.mask_indices(4, m.triu)], A)
row("fill_diagonal", lambda m, a, b: m.fill_diagonal(a, b[0], inplace=False), A, x)
row("fill_diagonal vec", lambda m, a, b: m.fill_diagonal(a, b[:4], inplace=False), A, x)
row("put", lambda m, a, b: m.put(a, np.array([0, 2]), b[:2], inplace=False), x, y)
row(
    "put_along_axis",
    lambda m, a, b: m.put_along_axis(a, I[:, None], b[:4, None], axis=1, inplace=False),
    A,
    x,
)
row(
    "put_along_axis clip",
    lambda m, a, b: m.put_along_axis(
        a, np.array([[9], [1], [-1], [-9]]), b[:4, None], 1, inplace=False, mode="clip"
    ),
    A,
    x,
)
row(
    "put_along_axis drop",
    lambda m, a, b: m.put_along_axis(
        a, np.array([[9], [1], [-1], [-9]]), b[:4, None], 1, inplace=False, mode="drop"
    ),
    A,
    x,
)
row(
    "put_along_axis fill",
    lambda m, a, b: m.put_along_axis(
        a, np.array([[0, 2, 7]]), b[:3][None], axis=0, inplace=False, mode="fill"
    ),
    A[:, :3],
    x,
)
row("argsort dtype", lambda m, a: a[m.argsort(a, dtype=m.int32, descending=True)], x)
row(
    "unique size all",
    lambda m, a: m.unique(
        a, return_index=True, return_inverse=True, return_counts=True, size=7, fill_value=-1.0
    ),
    x,
)
row("unique size few", lambda m, a: m.unique(a, return_index=True, return_counts=True, size=2), x)
row("unique size axis", lambda m, a: m.unique(a, axis=1, size=6, return_inverse=True), A)
row("polymul whole", lambda m, a, b: m.polymul(a, b, trim_leading_zeros=False), x, y)
row("polymul trim", lambda m, a, b: m.polymul(a, b, trim_leading_zeros=True), x, y)
row("polydiv whole", lambda m, a, b: m.polydiv(a, b[:3], trim_leading_zeros=False), x, y)
row("place", lambda m, a, b: m.place(a, mask, b[:3], inplace=False), x, y)
row("at set", lambda m, a, b: a.at[1].set(b[0]), x, y)
row("at add dup", lambda m, a, b: m.zeros(3).at[I].add(b[:4]), x, y)
row("at divide", lambda m, a, b: a.at[1:3].divide(b[:2]), x, y)
row("at power", lambda m, a, b: a.at[1:3].power(b[:2]), x, y)
row("at power int", lambda m, a, b: a.at[1:3].power(2), x, y)
row("at subtract", lambda m, a, b: a.at[1:3].subtract(b[:2]), x, y)
row("at min", lambda m, a, b: a.at[I].min(b[:4]), x, y)
row("at max", lambda m, a, b: a.at[I].max(b[:4]), x, y)
row("at get", lambda m, a: a.at[I].get(), x)
row("at get fill", lambda m, a: a.at[np.array([0, 9])].get(mode="fill", fill_value=3.0), x)
row("at get fill0", lambda m, a: a.at[np.array([0, 9])].get(mode="fill", fill_value=0), x)
row("at get clip", lambda m, a: a.at[np.array([0, 9])].get(mode="clip"), x)
row("at set drop", lambda m, a, b: a.at[np.array([0, 9])].set(b[:2], mode="drop"), x, y)
row("at add drop", lambda m, a, b: a.at[np.array([0, 9])].add(b[:2], mode="drop"), x, y)
row(
    "at hints",
    lambda m, a, b: a.at[np.array([0, 3])].add(b[:2], indices_are_sorted=True, unique_indices=True),
    x,
    y,
)
row("at 2d", lambda m, a, b: a.at[:, 1].set(b[:4]), A, y)
row("at ellipsis", lambda m, a, b: a.at[..., 0].add(b[0]), A, y)
row("at mask", lambda m, a, b: a.at[mask].set(0.0), x, y)
row("searchsorted", lambda m, a: a[m.searchsorted(m.sort(a), 0.6)], x)
row("digitize", lambda m, a: a * m.digitize(a, np.array([0.5, 1.0])), x)
row("nonzero size", lambda m, a: a[m.nonzero(a > 0.7, size=3, fill_value=0)], x)
row("flatnonzero size", lambda m, a: a[m.flatnonzero(a > 0.7, size=3, fill_value=0)], x)
row("argwhere size", lambda m, a: a[m.argwhere(a > 0.7, size=3, fill_value=0)[:, 0]], x)
row("where size", lambda m, a: a[m.where(a > 0.7, size=3, fill_value=0)], x)
row("where1", lambda m, a: a[m.where(a > 0.7)], x)
row("unique size", lambda m, a: m.unique(a, size=7, fill_value=-1.0), x)
row("union1d size", lambda m, a, b: m.union1d(a, b, size=12), x, y)
row("max axis", lambda m, a: m.max(a, axis=1, keepdims=True), A)
row("max init where", lambda m, a: m.max(a, initial=0.1, where=a < 1), x)
row("sum where", lambda m, a: m.sum(a, where=mask), x)
row("sum init", lambda m, a: m.sum(a, axis=0, initial=2.0), A)
row("mean where", lambda m, a: m.mean(a, where=mask), x)
row("std ddof", lambda m, a: m.std(a, axis=0, ddof=1), A)
row("var corr", lambda m, a: m.var(a, axis=0, correction=1), A)
row("average w", lambda m, a, w: m.average(a, weights=w, axis=0), A, y[:4])
row("cumsum axis", lambda m, a: m.cumsum(a, axis=1), A)
row("cumulative_sum init", lambda m, a: m.cumulative_sum(a, include_initial=True), x)
row("nan_to_num", lambda m, a: m.nan_to_num(m.where(a > 0.5, a, m.nan), nan=2.0), x)
row("trapezoid", lambda m, a, b: m.trapezoid(a, b), x, y)
row("gradient spc", lambda m, a: m.gradient(a, 0.5), A)
row("diff n", lambda m, a: m.diff(a, n=2, axis=0, prepend=0.0), A)
row("cov", lambda m, a: m.cov(a, rowvar=False), B)
row("corrcoef", lambda m, a: m.corrcoef(a), B)
row("polyfit", lambda m, a, b: m.polyfit(a, b, 2), x, y)
row("astype", lambda m, a: m.astype(a, m.float64) * a, x)
row("a.astype", lambda m, a: a.astype(m.float64) * a, x)
row("promote", lambda m, a: m.sum(a) * m.float32(2), x)
row("angle c", lambda m, a: m.angle(a + 1j * a**2), x)
row("unpackbits", lambda m, a: a * m.unpackbits(np.array([5], np.uint8))[:5], x)
row("bitwise", lambda m, a: m.where((a > 0.5) & (a < 1.2) | ~(a > 0.3), a, 0), x)
row("iscomplex", lambda m, a: m.where(m.isfinite(a), a, 0), x)
row("ogrid", lambda m, a: m.ogrid[0:5] * a, x)
row("r_", lambda m, a: m.r_[a, 0.0, a], x)
row("c_", lambda m, a: m.c_[a, a], x)
row("s_", lambda m, a: a[m.s_[1:3]], x)
row("index_exp", lambda m, a: a[m.index_exp[1:3]], x)
row("newaxis", lambda m, a: a[:, m.newaxis] * a, x)
row("ellipsis", lambda m, a: a[..., 0], T)
row(
    "hanning",
    lambda m, a: m.hanning(5) * a + m.hamming(5) + m.blackman(5) + m.bartlett(5) + m.kaiser(5, 3.0),
    x,
)
row("fromfunction", lambda m, a: m.fromfunction(lambda i, j: i * a[0] + j, (3, 3)), x)
row("array_api mt", lambda m, a: a.mT @ a.T, A)
row(
    "methods",
    lambda m, a: (
        a.reshape(-1).sum()
        + a.mean(0)
        + a.ravel()[:4]
        + a.max(1)
        + a.std()
        + a.prod()
        + a.min()
        + a.var(0)
        + a.flatten()[0]
        + a.T.trace()
        + a.squeeze()[0]
        + a.swapaxes(0, 1)[0]
        + a.transpose(1, 0)[0]
        + a.dot(a)[0]
        + a.clip(0, 1)[0]
        + a.cumsum(0)[0]
        + a.diagonal()
        + a.round()[0]
        + a.conj()[0]
        + a.real[0]
        + a.take(I)
        + a.repeat(2)[:4]
        + a.at[0].get()
    ),
    A,
)
row("argmax idx", lambda m, a: a[m.argmax(a)] + a[m.nanargmin(a)], s)
row("isin", lambda m, a: m.where(m.isin(np.arange(5), I), a, 0), x)
row("rot90", lambda m, a: m.rot90(a, k=3), B)
row("packbits", lambda m, a: a[m.packbits(np.array([0, 0, 0, 0, 0, 0, 1, 0], bool))], x)
row("ravel_multi_index", lambda m, a: a.ravel()[m.ravel_multi_index((I, I), (4, 4))], A)
row("unravel_index", lambda m, a: a[m.unravel_index(np.array([3, 7]), (4, 4))], A)
row("ediff1d", lambda m, a: m.ediff1d(a, to_end=a[0], to_begin=a[1]), x)
row("cross", lambda m, a, b: m.cross(a, b), B, B + 1)
row("outer", lambda m, a, b: m.outer(a, b), x, y)
row("histogram2d", lambda m, w: m.histogram2d(x, y, bins=3, weights=w)[0], s)
row("histogramdd", lambda m, w: m.histogramdd(np.stack([x, y], 1), bins=3, weights=w)[0], s)
row("linalg.cholesky", lambda m, a: m.linalg.cholesky(a + a.T), P)
row("linalg.cholesky up", lambda m, a: m.linalg.cholesky(a + a.T, upper=True), P)
row("linalg.cholesky sym", lambda m, a: m.linalg.cholesky(a, symmetrize_input=True), P)
row("linalg.cond", lambda m, a: m.linalg.cond(a), A)
row("linalg.cond p", lambda m, a: m.linalg.cond(a, p=1), A)
row("linalg.det", lambda m, a: m.linalg.det(a), A)
row("linalg.eig", lambda m, a: m.linalg.eigvals(a) ** 2, A)
row("linalg.eigh", lambda m, a: m.linalg.eigh(a + a.T)[0], A)
row("linalg.eigh vec", lambda m, a: m.abs(m.linalg.eigh(a + a.T)[1]), A)
row("linalg.eigh named", lambda m, a: m.linalg.eigh(a + a.T).eigenvalues, A)
row("linalg.eigh sym", lambda m, a: m.linalg.eigh(a, symmetrize_input=True)[0], A)
row("linalg.eigh nosym", lambda m, a: m.linalg.eigh(a + a.T, symmetrize_input=False)[0], A)
row("linalg.eigvalsh", lambda m, a: m.linalg.eigvalsh(a + a.T), A)
row("linalg.inv", lambda m, a: m.linalg.inv(a), A)
row("linalg.lstsq", lambda m, a, b: m.linalg.lstsq(a, b)[0], B, x[:4])
row("linalg.matrix_norm", lambda m, a: m.linalg.matrix_norm(a), A)
row("linalg.matrix_power", lambda m, a: m.linalg.matrix_power(a, 3), A)
row("linalg.multi_dot", lambda m, a, b: m.linalg.multi_dot([a, a, b]), A, B)
row(
    "linalg.multi_dot prec",
    lambda m, a, b: m.linalg.multi_dot([a, a, b], precision="highest"),
    A,
    B,
)
row("linalg.norm", lambda m, a: m.linalg.norm(a), A)
row("linalg.norm 1", lambda m, a: m.linalg.norm(a, ord=1, axis=0), A)
row("linalg.norm nuc", lambda m, a: m.linalg.norm(a, ord="nuc"), A)
row("linalg.norm keep", lambda m, a: m.linalg.norm(a, axis=-1, keepdims=True), A)
row("linalg.outer", lambda m, a, b: m.linalg.outer(a, b), x, y)
row("linalg.pinv", lambda m, a: m.linalg.pinv(a), B)
row("linalg.pinv rtol", lambda m, a: m.linalg.pinv(a, rtol=1e-08), B)
row("linalg.qr", lambda m, a: m.linalg.qr(a), B)
row("linalg.qr r", lambda m, a: m.linalg.qr(a, mode="r"), B)
row("linalg.slogdet", lambda m, a: m.linalg.slogdet(a)[1], A)
row("linalg.slogdet qr", lambda m, a: m.linalg.slogdet(a, method="qr")[1], A)
row("linalg.slogdet named", lambda m, a: m.linalg.slogdet(a).logabsdet, A)
row("linalg.solve", lambda m, a, b: m.linalg.solve(a, b), A, B)
row("linalg.solve vec", lambda m, a, b: m.linalg.solve(a, b), A, x[:4])
row(
    "linalg.solve batch",
    lambda m, a, b: m.linalg.solve(a, b),
    np.stack([A, P]),
    np.stack([B, B + 1]),
)
row("linalg.svd", lambda m, a: m.linalg.svd(a, full_matrices=False)[1], B)
row("linalg.svd named", lambda m, a: m.linalg.svd(a, full_matrices=False).S, B)
row("linalg.svd uv", lambda m, a: m.linalg.svd(a, compute_uv=False), B)
row("linalg.svdvals", lambda m, a: m.linalg.svdvals(a), B)
row("linalg.tensorinv", lambda m, a: m.linalg.tensorinv(a.reshape(2, 2, 4), ind=2), A)
row(
    "linalg.tensorsolve",
    lambda m, a, b: m.linalg.tensorsolve(a.reshape(2, 2, 4), b.reshape(2, 2)),
    A,
    x[:4],
)
row("linalg.trace", lambda m, a: m.linalg.trace(a), A)
row("linalg.vecdot", lambda m, a, b: m.linalg.vecdot(a, b), A, P)
row("linalg.vector_norm", lambda m, a: m.linalg.vector_norm(a, axis=0), A)
row("linalg.cross", lambda m, a, b: m.linalg.cross(a, b), B, B + 1)
row("linalg.diagonal", lambda m, a: m.linalg.diagonal(a), A)
row("linalg.matrix_transpose", lambda m, a: m.linalg.matrix_transpose(a), B)
row("linalg.tensordot", lambda m, a, b: m.linalg.tensordot(a, b, axes=1, precision=None), A, B)
row("linalg.matmul", lambda m, a, b: m.linalg.matmul(a, b, precision=None), A, B)
row("linalg.matrix_rank", lambda m, a: a * m.linalg.matrix_rank(a), A)


def weighed(m, result):
    """A number that depends on all entries of a result."""
    leaves = list(result) if isinstance(result, tuple | list) else [result]
    total = 0.0
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, tuple | list):
            total = total + weighed(m, leaf)
            continue
        if getattr(leaf, "dtype", np.dtype(bool)).kind == "b":
            continue
        places = np.arange(np.size(leaf)).reshape(np.shape(leaf))
        total = total + m.sum(m.real(leaf) * np.cos(1.7 * places + k))
        if m.iscomplexobj(leaf):
            total = total + m.sum(m.imag(leaf) * np.sin(2.3 * places + k))
    return total


@pytest.mark.parametrize("name", one_in(4, ROWS))
def test_functions_of_jax_numpy(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f, args = ROWS[name]
    places = tuple(range(len(args)))
    theirs = jax.value_and_grad(lambda *a: weighed(jax.numpy, f(jax.numpy, *a)), places)
    value, slopes = theirs(*[jax.numpy.asarray(a) for a in args])
    found, own = fg.value_and_grad(lambda *a: weighed(fnp, f(fnp, *a)), places)(*args)
    np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-12)
    for a, b in zip(own, slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
