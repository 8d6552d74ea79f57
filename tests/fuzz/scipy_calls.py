"""Calls of SciPy's functions as users write them, with the variants of their keywords.

A row is a text, in which ``<<a|b>>`` is a choice, and specifications of its arguments: ``x:2,3`` is an
array of that shape, ``a:spd3,3`` one of a kind that `argument` makes. The empty choice leaves its place out.
The specifications may stand in a line of their own.
"""

import itertools
import re
import zlib
from dataclasses import dataclass

import numpy as np

HEADER = """
import numpy as np
import scipy.linalg as la
import scipy.ndimage as ndi
import scipy.optimize as opt
import scipy.signal as sig
from scipy.spatial import distance
"""


def argument(kind, rng):
    """An array of a kind, with generic values."""
    word, sizes = re.fullmatch(r"([a-z]*)([\d,]*)", kind).groups()
    shape = tuple(int(size) for size in sizes.split(",") if size)
    x = rng.standard_normal(shape)
    if word.startswith("c"):
        word, x = word[1:], x + 1j * rng.standard_normal(shape)
    if word in ("mat", "spd"):
        eye = np.eye(*shape[-2:]) * np.arange(1.0, shape[-1] + 1)
        return eye + 0.3 * (x if word == "mat" else np.conj(np.swapaxes(x, -1, -2)) @ x)
    made = {
        "": lambda: x,
        "big": lambda: 3 * x,
        "pos": lambda: np.abs(x) + 0.5,
        "unit": lambda: rng.uniform(0.05, 0.95, shape),
        "sorted": lambda: np.cumsum(rng.uniform(0.3, 1.2, shape), axis=-1),
        "filt": lambda: np.concatenate([[1.5], rng.uniform(-0.3, 0.3, shape[0] - 1)]),
    }
    return made[word]()


@dataclass(frozen=True)
class Call:
    """The text of a call, and the names and kinds of its arguments."""

    text: str
    arguments: str

    @property
    def names(self):
        return [part.split(":")[0] for part in self.arguments.split()]

    @property
    def digest(self):
        return zlib.crc32(str(self).encode())

    def __str__(self):
        return f"{self.text} ; {self.arguments}"

    def values(self):
        rng = np.random.default_rng(self.digest)
        return [argument(part.split(":")[1], rng) for part in self.arguments.split()]

    def function(self):
        space = {}
        exec(f"{HEADER}\ndef f({', '.join(self.names)}):\n    return {self.text}", space)
        return space["f"]


def calls(table):
    """All calls of a table of rows."""
    found = []
    for line in filter(None, table.replace("\n  ;", " ;").splitlines()):
        template, *kinds = line.split(" ; ")
        parts = [part.split("|") for part in re.split(r"<<|>>", template)]
        # Of a text without a choice, each ``|`` is an operator.
        parts = [p if k % 2 else ["|".join(p)] for k, p in enumerate(parts)]
        for chosen in itertools.product(*parts):
            text = re.sub(r", (?=[,)])", "", "".join(chosen))
            found += [Call(text, kind) for kind in kinds]
    return found


LINALG = r"""
la.solve(a, b, <<|lower=True|assume_a='gen'|assume_a='sym'|assume_a='her', lower=True|True, True>>)
  ; a:mat3,3 b:3 ; a:cmat3,3 b:c3,2
la.solve(a, b, <<assume_a='pos'|assume_a='pos', lower=True|check_finite=False>>)
  ; a:spd3,3 b:3 ; a:cspd3,3 b:c3,2
la.solve(a, b, <<assume_a='upper triangular'|assume_a='lower triangular'|assume_a='diagonal'>>)
  ; a:mat3,3 b:3
la.solve(a, b, <<assume_a='tridiagonal'|assume_a='banded'|transposed=True>>) ; a:mat3,3 b:3
la.solve(a, b) ; a:mat2,3,3 b:2,3,1 ; a:mat2,3,3 b:3 ; a:mat3,3 b:2,3,2
la.inv(a, <<|overwrite_a=True|True|check_finite=False|assume_a='sym'|assume_a='her', lower=True>>)
  ; a:mat3,3 ; a:cmat2,2
la.inv(a, assume_a=<<'pos'|'upper triangular'|'lower triangular'>>) ; a:spd3,3
la.det(a, <<|True|check_finite=False>>) ; a:mat3,3 ; a:cmat2,2 ; a:mat2,3,3
la.norm(a, <<|2|1|'fro'|np.inf|-1|'nuc'|ord=2, axis=(0,1)|axis=0|axis=1, keepdims=True>>)
  ; a:mat3,3 ; a:3,2 ; a:c3,3
la.pinv(a, <<|rtol=1e-3|check_finite=False>>) ; a:mat3,2 ; a:mat2,3 ; a:cmat3,3
la.cholesky(a, <<|lower=True|True, True|check_finite=False>>)
  ; a:spd3,3 ; a:cspd3,3 ; a:mat3,3 ; a:spd2,3,3
la.cho_factor(a, <<|lower=True|True>>)[0] ; a:spd3,3 ; a:cspd3,3 ; a:mat3,3
la.cho_solve((c, <<True|False>>), b) ; c:mat3,3 b:3 ; c:cmat3,3 b:c3
la.cho_solve(la.cho_factor(a, <<|lower=True>>), b) ; a:spd3,3 b:3 ; a:cspd3,3 b:c3,2
la.solve_triangular(a, b, <<|trans=1|'T'|trans=2|'N'>>, <<|lower=True>>, <<|unit_diagonal=True>>)
  ; a:mat3,3 b:3 ; a:cmat3,3 b:c3,2
la.eigh(a, <<|lower=False|driver='ev'|check_finite=False|subset_by_index=[0, 1]>>)[0]
  ; a:mat3,3 ; a:cmat3,3
np.abs(la.eigh(a, <<|lower=False|subset_by_index=(1, 2)>>)[1]) ; a:mat3,3 ; a:cmat3,3
la.eigh(a, b, <<|type=2|type=3>>, <<|lower=False>>, eigvals_only=True)
  ; a:mat3,3 b:spd3,3 ; a:cmat3,3 b:cspd3,3
np.abs(la.eigh(a, b, <<|type=2|type=3>>, <<|lower=False>>)[1]) ; a:mat3,3 b:spd3,3 ; a:cmat3,3 b:cspd3,3
la.eigvalsh(a, <<|lower=False|subset_by_index=[0, 1]|check_finite=False>>) ; a:mat3,3 ; a:cmat3,3
np.sort(np.abs(la.eigvals(a, <<|check_finite=False>>))) ; a:mat3,3 ; a:cmat3,3
la.svd(a, <<full_matrices=False|False>>)[1] ; a:mat3,2 ; a:mat2,3 ; a:cmat3,3
la.svdvals(a) ; a:mat3,2 ; a:cmat2,3
la.qr(a, mode=<<'economic'|'r'>>) ; a:mat3,3 ; a:mat3,2 ; a:mat2,3
la.qr(a) ; a:mat3,3 ; a:mat2,3 ; a:cmat3,3
la.lstsq(a, b, <<|cond=1e-10|1e-9, False>>)[<<0|1>>] ; a:mat4,2 b:4 ; a:mat4,2 b:4,2
la.lu(a, <<|permute_l=True>>) ; a:mat3,3 ; a:cmat3,3
la.lu_solve(la.lu_factor(a), b, <<|trans=1|2|check_finite=False>>) ; a:mat3,3 b:3 ; a:cmat3,3 b:c3,2
la.polar(a, <<|side='left'>>) ; a:mat3,3 ; a:mat3,2
la.expm(a) ; a:mat3,3 ; a:cmat3,3 ; a:mat2,2,2
la.<<logm|sqrtm|cosm|sinm|tanm|coshm|sinhm|tanhm>>(a) ; a:mat2,2 ; a:cmat2,2
la.solve_sylvester(a, b, q) ; a:mat3,3 b:mat2,2 q:3,2
la.solve_discrete_lyapunov(a, q, <<|method='direct'|method='bilinear'>>) ; a:3,3 q:3,3 ; a:c3,3 q:c3,3
la.solve_banded((1, 1), ab, b) ; ab:pos3,4 b:4 ; ab:pos3,4 b:4,2 ; ab:pos3,4 b:c4
la.solve_banded((<<2, 0|0, 2>>), ab, b) ; ab:pos3,4 b:4
la.solveh_banded(np.stack([0.2*x, 3 + x]), b) ; x:4 b:4
la.toeplitz(c, <<|c|r>>) ; c:3 r:4 ; c:c3 r:2
la.<<circulant|companion>>(c) ; c:pos3 ; c:c3 ; c:pos2,3
la.block_diag(a, b) ; a:2,2 b:1,3 ; a:2 b:2,2
la.solve_toeplitz(<<c|(c, r)>>, b) ; c:filt4 r:filt4 b:4 ; c:filt4 r:filt4 b:4,2
np.linalg.norm(a, <<|2|-2|1|'nuc'|-np.inf|axis=(0,1)|axis=-1, keepdims=True|2, (0,1)>>)
  ; a:mat3,3 ; a:3,2 ; a:c3,3
np.linalg.pinv(a, <<|rcond=1e-3>>) ; a:mat3,2 ; a:mat2,3,2
np.linalg.pinv(a, <<hermitian=True|rcond=1e-3>>) ; a:spd3,3 ; a:cspd3,3
np.linalg.svd(a, hermitian=True)[1] ; a:spd3,3 ; a:cmat3,3
np.linalg.lstsq(a, b, <<|rcond=None|rcond=-1>>)[<<0|1|3>>] ; a:mat4,2 b:4 ; a:mat4,2 b:4,2
np.linalg.cholesky(a, <<|upper=True>>) ; a:spd3,3 ; a:mat3,3 ; a:cspd3,3
np.linalg.eigvalsh(a, <<|'U'>>) ; a:mat3,3 ; a:cmat3,3
np.linalg.matrix_power(a, <<0|1|3|-2>>) ; a:mat3,3
np.fft.<<fft|rfft|ihfft>>(x, <<|3|n=8|norm='ortho'|norm='forward'|None, 0, 'forward'>>) ; x:5 ; x:4,5
np.fft.<<ifft|irfft|hfft>>(x, <<|3|n=8|norm='ortho'|norm='forward'|None, 0, 'forward'>>) ; x:c5 ; x:c4,5
np.fft.<<fftn|ifftn|irfftn|irfft2>>(x, <<|s=(6, 3)|axes=(1, 0)|norm='ortho'>>) ; x:c4,5
"""
"""Of `scipy.linalg`, `numpy.linalg` and `numpy.fft`."""


FILTERS = r"""
sig.<<convolve|correlate>>(x, y, <<|mode='same'|'valid'>>, <<|method='direct'|method='fft'>>)
  ; x:5 y:3 ; x:3 y:4 ; x:4,5 y:2,3 ; x:c4 y:c2
sig.fftconvolve(x, y, <<|'same'|mode='valid'>>, <<|axes=1|axes=-1|axes=[0, 1]>>) ; x:4,5 y:4,1 ; x:4,3 y:4,5
sig.fftconvolve(x, y, mode='same', axes=1) ; x:1,5 y:4,5
sig.<<convolve2d|correlate2d>>(x, y, <<|mode='same'|'valid'>>, <<|boundary='symm'|fillvalue=2.5>>)
  ; x:4,5 y:2,3 ; x:3,2 y:4,4
sig.lfilter(b, a, x, <<|axis=0|-1>>) ; b:3 a:filt2 x:4,3 ; b:1 a:filt3 x:5,2
sig.lfilter(b, a, x, <<zi=z|-1, z>>) ; b:3 a:filt3 x:6 z:2 ; b:3 a:filt2 x:2,5 z:1,2
sig.sosfilt(sig.butter(4, 0.2, output='sos'), x, <<|axis=0|0>>) ; x:5,4
sig.sosfilt([[1.0, 0.2, 0.1, 1.0, -0.3, 0.1]], x, zi=z) ; x:5 z:1,2
sig.filtfilt(*sig.butter(2, 0.3), x) ; x:20
sig.sosfiltfilt(sig.butter(2, 0.3, output='sos'), x) ; x:20
sig.decimate(x, 2) ; x:40
sig.detrend(x, <<|axis=0|0, 'constant'>>, <<|bp=3>>) ; x:6,6
sig.<<hilbert|envelope|czt>>(x) ; x:8
sig.<<welch|periodogram>>(x)[1] ; x:16
sig.resample(x, 5) ; x:8
ndi.gaussian_filter(x, <<0.7|[1.0, 0.5]|(0.5, 0)>>, <<|order=1>>, <<|mode='constant', cval=1.5|mode='wrap'>>)
  ; x:4,5
ndi.gaussian_filter(x, 1.0, <<truncate=2.0|radius=2|axes=0|axes=(1,)>>) ; x:4,5
ndi.gaussian_filter(x, s, <<|order=1>>, radius=2) ; x:5,4 s:pos
ndi.uniform_filter(x, <<|2|(2, 3)|(3, 1), origin=1|3, axes=0>>, <<|mode='nearest'|mode='mirror'>>) ; x:4,5
ndi.uniform_filter1d(x, 3, <<|axis=0|0>>, <<|mode='wrap'>>) ; x:4,5
ndi.<<correlate1d|convolve1d>>(x, w, <<|0>>, <<|mode='constant', cval=2.0|mode='wrap'>>, <<|origin=-1>>)
  ; x:4,5 w:3 ; x:4,5 w:2
ndi.<<sobel|prewitt|laplace>>(x) ; x:4,5
ndi.map_coordinates(x, q, <<|order=0|order=1>>, <<|mode='nearest'|mode='grid-wrap'>>, <<|prefilter=False>>)
  ; x:5,6 q:big2,3
ndi.spline_filter(x, <<|mode='nearest'|mode='grid-wrap'>>) ; x:9,10
"""
"""Of `scipy.signal` and `scipy.ndimage`."""

OTHERS = r"""
distance.<<euclidean|cityblock|correlation|cosine|canberra|braycurtis>>(u, v, <<|w=w|[1, 2, 0]>>)
  ; u:pos3 v:pos3 w:pos3
distance.minkowski(u, v, <<|3|p=np.inf|1.5, [1, 2, 0.5]|p=3, w=w>>) ; u:3 v:3 w:pos3
distance.jensenshannon(u, v, <<|base=2|2.0, axis=1|axis=1, keepdims=True>>) ; u:pos2,3 v:pos2,3
distance.cdist(u, v, <<|'cosine'|metric='minkowski', p=3|'seuclidean'|'mahalanobis'|'euclidean', w=w>>)
  ; u:pos4,3 v:pos5,3 w:pos3
distance.pdist(u, <<|'chebyshev'|'minkowski', p=3|distance.cityblock>>) ; u:pos5,3
opt.root(lambda x: (x**3 - a, np.diag(3 * x**2)), [1.0, 2.0], jac=True).x ; a:pos2
opt.brentq(lambda x: x**3 + x - a, 0, 5) ; a:pos
opt.linprog([-1, -2], A_ub=A, b_ub=b, <<|bounds=(0, 0.2)>>).x ; A:pos2,2 b:pos2
"""
"""Of `scipy.spatial.distance` and `scipy.optimize`."""

TABLES = {"linalg": LINALG, "filters": FILTERS, "others": OTHERS}
