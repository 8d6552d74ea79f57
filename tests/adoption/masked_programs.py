"""Programs over `numpy.ma` as text: functions of twelve numbers, and stores into masked arrays."""

import math

import numpy as np
import scipy.special as sp
import scipy.stats.mstats as ms
from numpy import ma
from numpy import ma as ma2
from numpy.ma import MaskedArray, masked_invalid
from numpy.ma import log as malog
from numpy.ma import sum as masum
from numpy.ma.core import MaskedConstant

import funcgrad as fg

__all__ = ["MaskedArray", "MaskedConstant", "fg", "ma", "ma2", "malog", "masked_invalid", "masum"]
__all__ += ["math", "ms", "sp"]

X = np.array([0.71, -1.32, 2.42, 0.23, 3.1, -0.6, 1.9, 0.45, -2.2, 1.13, 2.87, -0.93])
MASK = np.array([0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], bool)
CONSTANT = np.ma.array(np.linspace(1, 2, 12), mask=MASK)
INTEGERS = np.ma.array(np.arange(12), mask=MASK)


def masked(x):
    """A constant mask; a copy, into which NumPy may store."""
    return np.ma.array(x, mask=MASK.copy())


def matrix(x):
    return masked(x).reshape(3, 4)


def positive(x):
    """A mask that depends on values."""
    return np.ma.masked_where(x < 0, x)


EXPRESSIONS = """
masked(x)
np.ma.array(x, mask=x > 1)
np.ma.masked_array(x, MASK.copy(), fill_value=-1.0)
np.ma.MaskedArray(x, MASK.copy())
np.ma.array(x)
np.ma.array(x, mask=True)
np.ma.array([x[0], x[1] ** 2, 3.0], mask=[0, 1, 0])
np.ma.asarray(masked(x))
np.ma.asanyarray(x)
np.asarray(masked(x))
np.asanyarray(masked(x)) * 1
np.array(masked(x))
np.array(masked(x), subok=True)
positive(x)
np.ma.masked_less(x, 0.3)
np.ma.masked_greater(x, 1)
np.ma.masked_less_equal(x, 0.3)
np.ma.masked_greater_equal(x, 1.0)
np.ma.masked_equal(x, 2.4)
np.ma.masked_not_equal(x, 2.4)
np.ma.masked_inside(x, 0, 1)
np.ma.masked_outside(x, -1, 2)
np.ma.masked_invalid(np.log(x))
np.ma.masked_invalid(x)
np.ma.masked_values(x, 0.2)
np.ma.fix_invalid(np.sqrt(x))
np.ma.fix_invalid(np.sqrt(x), fill_value=0.0)
np.ma.masked_all((3,)) * x[0]
np.ma.zeros(3) + x[:3]
np.ma.ones_like(masked(x)) * x
np.ma.zeros_like(masked(x)) + x
np.ma.arange(12) * x
masked(x) + x
x + masked(x)
masked(x) - CONSTANT
1 - masked(x)
masked(x) * 2
2 * positive(x)
CONSTANT * x
x * CONSTANT
masked(x) / positive(x)
masked(x) / np.where(x > 2, 0, x)
1 / positive(x)
CONSTANT / x
np.ma.divide(x, np.maximum(x, 0))
masked(x) // 0.4
masked(x) % 0.4
masked(x) ** 2
masked(x) ** 0.5
2.0 ** masked(x)
np.ma.power(x, 1.5)
-masked(x)
abs(masked(x))
+masked(x)
INTEGERS * x
INTEGERS * 2 + np.ma.array(x, mask=MASK.copy())
np.ma.log(x)
np.ma.log(masked(x))
np.ma.sqrt(x)
np.ma.exp(masked(x))
np.ma.sin(positive(x))
np.ma.arcsin(masked(x))
np.ma.tan(masked(x))
np.ma.log10(positive(x))
np.ma.log2(positive(x))
np.ma.abs(masked(x))
np.ma.arctan2(masked(x), CONSTANT)
np.ma.hypot(masked(x), CONSTANT)
np.ma.add(masked(x), x)
np.ma.multiply(x, CONSTANT)
np.ma.arccosh(masked(x))
np.ma.arctanh(masked(x))
np.ma.fmod(masked(x), 0.7)
np.ma.maximum(masked(x), CONSTANT)
np.ma.minimum(masked(x), 1.0)
np.sqrt(masked(x))
np.exp(masked(x))
np.log(masked(x))
np.add(masked(x), x)
np.multiply(x, CONSTANT)
np.maximum(masked(x), 1.0)
np.sin(positive(x))
np.abs(masked(x))
np.square(masked(x))
np.divide(1.0, positive(x))
np.hypot(masked(x), x)
np.arctan2(masked(x), x)
np.power(positive(x), 2.5)
np.clip(masked(x), -1, 1)
np.isfinite(masked(x)) * x
masked(x).sum()
matrix(x).sum(axis=0)
matrix(x).sum(axis=1, keepdims=True)
np.ma.array(x.reshape(3, 4), mask=[[1, 0, 0, 0]] * 3).sum(axis=0)
positive(x).mean()
matrix(x).mean(axis=0)
matrix(x).mean(1, keepdims=True)
masked(x).var()
matrix(x).var(axis=0)
positive(x).std()
matrix(x).std(axis=1, ddof=1)
masked(x).min()
matrix(x).max(axis=1)
masked(x).max()
matrix(x).max(axis=0, keepdims=True)
masked(x).prod()
matrix(x).prod(axis=0)
masked(x).cumsum()
matrix(x).cumsum(axis=0)
masked(x).cumprod()
masked(x).ptp()
matrix(x).ptp(axis=0)
masked(x).anom()
matrix(x).anom(axis=0)
masked(x).count() * x
matrix(x).count(axis=0) * x[:4]
positive(x).sum() / positive(x).count()
np.ma.dot(matrix(x), matrix(x).T)
matrix(x).dot(x[:4])
matrix(x).trace()
(masked(x) > 0).any() * x[0]
(masked(x) > 0).all() * x[0] + x[1]
x[masked(x).argmax()]
x[positive(x).argmin()]
np.sum(masked(x))
np.sum(matrix(x), axis=0)
np.mean(matrix(x), axis=0)
np.mean(positive(x))
np.std(masked(x))
np.var(matrix(x), axis=1)
np.min(masked(x))
np.max(matrix(x), axis=0)
np.prod(masked(x))
np.cumsum(masked(x))
np.ptp(masked(x))
np.any(masked(x) > 1) * x
x[np.argmax(masked(x))]
np.average(masked(x))
np.average(masked(x), weights=np.arange(12.0))
np.nansum(masked(x))
np.dot(masked(x), x)
np.trapezoid(masked(x))
np.diff(masked(x))
np.where(x > 0, masked(x), 0.0)
np.concatenate([masked(x), masked(x)])
np.stack([masked(x), masked(x)])
np.reshape(masked(x), (3, 4))
np.ravel(matrix(x))
np.transpose(matrix(x))
np.squeeze(matrix(x)[:1])
np.flip(masked(x))
np.roll(masked(x), 2)
np.tile(masked(x), 2)
np.repeat(masked(x), 2)
np.zeros_like(masked(x)) + x
np.full_like(masked(x), 2.0) * x
np.ones_like(masked(x)) * x
np.sort(masked(x))
np.round(masked(x)) * x
np.expand_dims(masked(x), 0)
np.atleast_2d(masked(x))
np.swapaxes(matrix(x), 0, 1)
np.take(masked(x), [0, 1, 2])
np.broadcast_to(masked(x), (2, 12))
np.median(positive(x))
np.percentile(masked(x), 50)
np.interp(0.3, np.arange(12), masked(x))
np.copy(masked(x))
np.where(np.isnan(masked(x)), 0.0, x)
np.einsum('i,i->', masked(x), x)
np.outer(masked(x), x[:3])
np.convolve(masked(x), np.ones(3))
np.linalg.norm(masked(x))
x[np.nonzero(masked(x) > 0)[0]]
np.moveaxis(matrix(x), 0, 1)
np.meshgrid(masked(x), x[:2])[0]
np.apply_along_axis(np.sum, 0, matrix(x))
positive(x).filled(0.0)
np.nan_to_num(positive(x).filled(np.nan))
np.ma.filled(masked(x), 9.0)
np.ma.filled(x, 9.0)
masked(x).compressed()
positive(x).compressed()
np.ma.compressed(positive(x)) * 2
positive(x).compressed().sum()
np.where(positive(x).mask, 0.0, x)
positive(x).data * 2
positive(x)._data
np.ma.getdata(positive(x))
np.ma.getmask(masked(x)) * x
np.ma.getmaskarray(positive(x)) * x
np.ma.getmaskarray(x) * x + x
np.ma.array(x, mask=np.ma.mask_or(x > 1, MASK))
masked(x)[0] * 2
masked(x)[1]
masked(x)[1:5]
masked(x)[[0, 1, 5]]
masked(x)[x > 0]
matrix(x)[1]
matrix(x)[:, 1]
masked(x)[:, None] * x[None, :]
masked(x)[~masked(x).mask]
(masked(x) < 1).filled(False) * x
np.ma.where(masked(x) == 2.4, x, 0)
masked(x) >= CONSTANT
masked(x) != x
np.ma.logical_and(masked(x) > 0, x < 2)
masked(x).reshape(3, 4)
matrix(x).T
matrix(x).transpose(1, 0)
matrix(x).ravel()
matrix(x).flatten()
np.ma.concatenate([masked(x), x])
np.ma.stack([masked(x), positive(x)])
np.ma.vstack([masked(x), x])
np.ma.hstack([masked(x), positive(x)])
np.ma.column_stack([masked(x), x])
np.ma.append(masked(x), x)
np.ma.where(x > 0, masked(x), -x)
np.ma.where(masked(x) > 0, x, 0.0)
np.ma.where(x > 0, x, np.ma.masked)
masked(x).clip(-1, 1)
np.ma.clip(masked(x), -1, 1)
np.ma.sort(masked(x))
np.ma.sort(positive(x))
x[np.ma.argsort(masked(x))]
np.ma.diff(masked(x))
np.ma.ediff1d(masked(x))
np.ma.polyfit(np.arange(12.0), masked(x), 1)
np.ma.cov(matrix(x))
np.ma.corrcoef(masked(x), CONSTANT * CONSTANT)
x[np.ma.notmasked_edges(masked(x))[0]]
[x[s].sum() for s in np.ma.notmasked_contiguous(masked(x))]
[x[s].sum() for s in np.ma.clump_unmasked(masked(x))]
np.ma.average(masked(x))
np.ma.average(masked(x), weights=x ** 2)
np.ma.average(matrix(x), axis=0, weights=np.arange(4.0)[None] + np.zeros((3, 1)))
np.ma.median(masked(x))
np.ma.median(positive(x))
np.ma.median(matrix(x), axis=0)
np.ma.mean(x)
np.ma.sum(positive(x))
np.ma.std(positive(x))
np.ma.var(x)
np.ma.max(positive(x))
np.ma.min(positive(x))
np.ma.count(positive(x)) * x
np.ma.cumsum(positive(x))
np.ma.prod(positive(x))
np.ma.ptp(positive(x))
np.ma.inner(masked(x), x)
np.ma.outer(masked(x), x[:3])
matrix(x)[:1].squeeze()
matrix(x).swapaxes(0, 1)
masked(x).repeat(2)
masked(x).take([0, 1, 2])
np.ma.choose([0, 1, 0], [masked(x)[:3], x[:3]])
np.ma.diag(masked(x)[:3])
matrix(x).diagonal()
np.ma.expand_dims(masked(x), 0)
np.ma.mask_rows(matrix(x))
np.ma.compress_rows(matrix(x))
np.ma.compress_cols(matrix(x))
masked(x).compress(x > 0)
x[(masked(x) > 0).nonzero()[0]]
masked(x).copy()
masked(x).real
np.ma.conjugate(masked(x))
masked(x).tolist()[0] * 2
masked(x)[:1].item()
np.ma.convolve(masked(x), np.ones(3))
np.ma.apply_along_axis(np.ma.sum, 0, matrix(x))
np.ma.allclose(masked(x), x) * x
np.ma.unique(masked(x))
np.ma.isin(masked(x), [0.7]) * x
np.ma.mr_[masked(x), x]
np.ma.vander(masked(x)[:3], 2)
x * 2 if masked(x).mean() > 0 else x
float(masked(x).sum()) * x
masked(x).fill_value * x
np.ma.masked_less(x, 99).sum()
np.ma.masked_less(x, 99).mean()
np.ma.masked * x[0]
np.ma.masked ** 2 * x[0]
np.ma.array(x, mask=MASK, hard_mask=True) * 2
abs(np.ma.array(x + 1j * x ** 2, mask=MASK.copy()))
np.ma.resize(masked(x), (2, 12))
np.ma.log(np.ma.masked_less(masked(x) * 2, 0.5)).mean()
(masked(x) - masked(x).mean()) / masked(x).std()
((matrix(x) - matrix(x).mean(axis=0)) / matrix(x).std(axis=0)).sum()
np.ma.add.reduce(masked(x))
np.ma.add.accumulate(masked(x))
np.ma.masked_values(x, 2.4000000001) * x
ma.masked_less(x, 0).sum()
ma2.log(x)
masked_invalid(x)
malog(x) * masum(x)
x * 2 if isinstance(masked(x), MaskedArray) else x
x * 2 if isinstance(masked(x)[1], MaskedConstant) else x
x * 2 if isinstance(x, MaskedArray) else x
np.ma.MaskedArray.sum(masked(x))
sp.expit(masked(x))
sp.gammaln(masked(x) + 5)
sp.erf(positive(x))
sp.logsumexp(positive(x))
ms.trimmed_mean(masked(x), limits=(0.1, 0.1))
ms.skew(masked(x))
ms.kurtosis(masked(x))
ms.variation(masked(x))
ms.linregress(np.arange(12.0), masked(x))[0]
ms.pearsonr(np.arange(12.0), masked(x))[0]
ms.mquantiles(masked(x))
ms.zscore(masked(x))
ms.ttest_1samp(masked(x), 0.0)[0]
ms.winsorize(masked(x), limits=0.2)
ms.sem(masked(x))
ms.theilslopes(masked(x))[0]
ms.describe(masked(x)).mean
math.sqrt(masked(x)[0]) * x
sum(masked(x)[2:4])
max(masked(x)[5:8])
len(masked(x)) * x
np.sum(np.stack([v * 2 for v in masked(x)[5:8]]))
[a * b for a, b in zip(masked(x)[5:8], x)]
np.array([masked(x)[0], x[1]])
np.mean([masked(x), positive(x)])
np.all(masked(x) > -9) * x
x[np.where(masked(x) > 0)]
np.argwhere(masked(x) > 0) * 1.0 + x[0]
fg.checkpoint(lambda y: masked(y).mean())(x)
fg.cond(x[0] > 0, lambda y: masked(y).sum(), lambda y: y.sum(), x)
fg.fori_loop(0, 3, lambda i, y: np.ma.filled(np.ma.masked_less(y, 0), 0.0) * 1.1, x)
fg.fori_loop(0, 3, lambda i, y: y * 1.1, masked(x))
fg.grad(lambda y: (masked(y) ** 3).sum())(x)
fg.vmap(lambda y: np.ma.masked_less(y, 0).filled(0.0).sum())(x.reshape(3, 4))
fg.jit(lambda y: masked(y) * 2)(x)
np.ma.array(np.arange(12), mask=MASK.copy()) * 2 + x
np.ma.array([1, 2, 3], mask=[0, 1, 0]).mean() * x
np.ma.array(x > 0, mask=MASK.copy())
np.ma.array(x * (1 + 2j), mask=MASK.copy()).real
np.ma.abs(np.ma.array(x * (1 + 2j), mask=MASK.copy())).sum()
np.ma.array(x[0]) * 2
np.ma.array(x[0], mask=True) * 2
np.ma.array(x[:0]).sum() + x
np.ma.array(x[:1], mask=[False]).mean() * x
np.ma.array(x[:1], mask=[True]).mean()
np.ma.masked_invalid(x / np.where(x > 2, 0, 1) * np.where(x < 0, np.nan, 1)).sum()
np.ma.masked_invalid(np.exp(x * 1000.0)).sum()
np.ma.log(np.ma.masked_less(x, 1)).sum()
(np.ma.array(np.log(x), mask=x < 0) * x).sum()
np.ma.sqrt(np.ma.array(np.log(np.abs(x)), mask=x < 0)).mean()
(1 / np.ma.array(x - x, mask=True)).filled(0.0) + x
np.ma.masked_where(x > 0, x, copy=False) * 2
np.where((masked(x) > 0).filled(False), x, 0)
(~(masked(x) > 0)).filled(True) * x
((masked(x) > 0) & (positive(x) < 2)).filled(False) * x
2.05 % masked(x)
2.05 // masked(x) * x
np.ma.dot(matrix(x), x[:4])
np.ma.dot(matrix(x), matrix(x).T, strict=True)
np.ma.cov(masked(x), x)
np.ma.atleast_2d(masked(x))
np.ma.dstack([masked(x), x])
np.ma.hsplit(masked(x), 2)[1]
[r.sum() for r in matrix(x)]
matrix(x)[matrix(x).mask.any(axis=1)]
masked(x)[::-1]
matrix(x)[..., 1]
masked(x)[::2].cumsum()
matrix(x).take([0, 2], axis=1)
masked(x)[2:8][1:4].sum()
matrix(x).argmax(axis=0) * x[:4]
x[np.ma.argmax(masked(x))]
[v for v in masked(x)[2:4].flat]
masked(x)[5:8].tolist()
masked(x).flat[3:5] * 1
matrix(x).count(axis=1, keepdims=True) * x[:3, None]
np.ma.nonzero(masked(x) > 0)[0] + x[0]
np.ma.putmask(masked(x), x > 0, x) or x
masked(x).std(ddof=1)
masked(x).min(fill_value=9.0)
np.ma.ediff1d(masked(x), to_begin=0.0)
np.interp([0.5], np.arange(12.0), masked(x).filled(0.0))
np.ma.mean(matrix(x), axis=1)
masked(x).harden_mask() * 2
np.ma.array(x, mask=None) * 1
np.ma.polyfit(masked(x), x ** 2, 1)
masked(x) / 0.0
np.ma.array(x) / np.ma.array([0.0, 1] * 6)
np.ma.true_divide(x, [0, 1.0] * 6)
np.ma.power(np.ma.array(x), 0.5)
x ** np.ma.array([2.0, 1] * 6, mask=[0, 0, 1] * 4)
np.ma.cumsum(matrix(x), axis=1)
np.ma.maximum(x, matrix(x)[0, 0])
np.ma.minimum.reduce(masked(x))
np.ma.maximum.outer(masked(x)[:3], x[:2])
np.ma.angle(np.ma.array(x + 1j, mask=MASK.copy()))
np.ma.squeeze(masked(x)[None])
np.ma.transpose(matrix(x))
np.ma.reshape(masked(x), (4, 3), order='F')
matrix(x).ravel(order='F')
matrix(x).T.flatten()
np.ma.identity(3) * x[0]
np.ma.indices((2, 2)) * x[0]
np.ma.fromfunction(lambda i: i * 1.0, (12,)) * x
(np.array([True] * 12) & (masked(x) > 0)).filled(False) * x
np.ones((2, 3)) @ matrix(x).filled(0.0)
np.zeros(12) < masked(x)
(masked(x), np.ma.masked, 3.0, [CONSTANT])
[np.ma.stack([masked(x), masked(x)]).sum()]
""".strip().splitlines()
STORES = """
a.harden_mask(); a[1] = 5 * x[0]; a[0] = 3 * x[1]
a.harden_mask(); a[MASK] = 2.0; a[x > 1] = x[0]
a.harden_mask(); a[:4] = x[4:8]
a.harden_mask(); a.soften_mask(); a[1] = 5 * x[0]
a[2] = np.ma.masked
a.mask = x > 1
a.mask[3] = True
a.mask = np.ma.nomask
a.mask = True
a[x > 1] = np.ma.masked
a[x > 1] = x[0]
a[1] = x[0] * 2
a[2:5] = x[:3] * 2
a[a.mask] = 7.0
a[:3] = masked(x)[1:4] * 2
a[[0, 1]] = x[:2] ** 2
a += x
a *= masked(x)
a /= CONSTANT
a -= 1
a **= 2
a //= 0.43
a.set_fill_value(3.0); a = a.filled()
a.fill_value = -9.0; a = a.filled()
a.unshare_mask(); a[0] = np.ma.masked
a.sort()
a.put([0, 1], [x[3], x[4]])
np.ma.put(a, [0, 2], x[:2])
np.ma.putmask(a, x > 0, x)
a.flat[2] = x[0]
b = a[2:6]; b[0] = x[0] * 3; b[1] = np.ma.masked
a.data[1] = x[0]
a.shape = (3, 4)
a = a.copy(); a[3] = x[5]
np.multiply(a, 2.0, out=a)
b = np.ma.zeros(4); matrix(x).sum(axis=0, out=b); a = b
b = a.mask.copy(); b[0] = True; a = np.ma.array(a, mask=b)
a = np.ma.array(a, keep_mask=False, mask=x > 1)
a = np.ma.array(a, mask=x > 1)
b = x * 1; b += a.filled(0); a = b
for i in range(12): a[i] = np.ma.masked if MASK[i] else x[i] ** 2
a = np.ma.empty((2, 6)); a[0] = x[:6]; a[1] = x[6:]; a[0, 1] = np.ma.masked
a = a * 2 if isinstance(a, np.ma.MaskedArray) and np.ma.isMaskedArray(a) else a * 3
a = a * 2 if isinstance(a, np.ndarray) and type(a) is np.ma.MaskedArray else a * 3
a = a * 2 if np.ma.is_masked(a) else a * 3
a = a * 2 if hasattr(a, "mask") and np.any(a.mask) else a * 3
a = a[0] * 2 if a[1] is np.ma.masked else a[0]
a = sum([v for v in a if v is not np.ma.masked])
m = np.ma.masked_less(a, 99).max(); a = x if m is np.ma.masked else a
a = np.ma.array(x); a[0] = np.ma.masked; a = a.filled(0.0)
a = np.ma.masked_where(np.abs(a - a.mean()) > 1.1 * a.std(), a); a = a.mean()
a = a.reshape(3, 4); a = (a - a.mean(axis=0)) / a.std(axis=0, ddof=1)
w = np.cos(np.linspace(0, 1, 12)); a = np.ma.average(np.ma.masked_outside(x, -1, 2), weights=w)
a = np.ma.masked_invalid(np.where(x > 2, np.nan, x)); a = a.filled(0.0) ** 2
""".strip().splitlines()
STEPS = """
np.ma.floor(masked(x)) * x
np.ma.round(masked(x), 1) * x
masked(x).astype(np.float32)
masked(x).round(1) * x
np.ma.array(x.astype(np.float32), mask=MASK.copy()) * np.float32(2)
divmod(masked(x), 0.41)[1]
np.ma.around(masked(x), 1) + x
np.arange(1, 13.0) % masked(x)
np.divmod(masked(x), 0.41)[1] * 1.0
""".strip().splitlines()
"""Those with steps near the point, whose differences are none of derivatives."""
