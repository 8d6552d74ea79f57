"""Calls of the functions of SciPy's modules, as text: what tools/support_table.py measures.

The arguments are those of `tools.support_calls`. Distributions, classes of interpolants, and functions of
``scipy.special`` that are no ufuncs are called by a method or as a function of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

_TEXT = {
    "fft": """
dct: x | dctn: A | dst: x | dstn: A | idct: x | idctn: A | idst: x | idstn: A | fft: x | fft2: A | fftn: A
ifft: x | ifft2: A | ifftn: A | rfft: x | rfft2: A | rfftn: A | irfft: x | irfft2: A | irfftn: A | hfft: x
hfft2: A | hfftn: A | ihfft: x | ihfft2: A | ihfftn: A | fftshift: x | ifftshift: x | fht: x, 0.1, 0.5
ifht: x, 0.1, 0.5""",
    "linalg": """
block_diag: A, B | cho_factor: S | cho_solve: scipy.linalg.cho_factor(S), x[:3]
cho_solve_banded: (scipy.linalg.cholesky_banded(np.stack([x, 2 + y])), False), x | cholesky: S
cholesky_banded: np.stack([x, 2 + y]) @ [:, 1:] | circulant: x | companion: y | convolution_matrix: x, 3
coshm: A | cosm: A | det: A | eig: A | eig_banded: np.stack([x, 2 + y]) | eigh: S @ [0]
eigh_tridiagonal: 2 + y, x[:3] | eigvals: A | eigvals_banded: np.stack([x, 2 + y]) | eigvalsh: S
eigvalsh_tridiagonal: 2 + y, x[:3] | expm: A | expm_cond: A | expm_frechet: A, B | fiedler: x
fiedler_companion: y | fractional_matrix_power: S, 0.5 | funm: S, np.sin | hankel: x, y | hessenberg: A
inv: A | khatri_rao: A, B | ldl: S | leslie: x, y[:3] | logm: S | lstsq: A, x[:3] | lu: A | lu_factor: A
lu_solve: scipy.linalg.lu_factor(A), x[:3] | matmul_toeplitz: x, y | norm: A | null_space: A[:2]
orth: A[:, :2] | orthogonal_procrustes: A, B | pinv: A[:2] | pinvh: S | polar: A | qr: A
qr_multiply: A, B | rq: A | schur: S | signm: S | sinhm: A | sinm: A | solve: A, x[:3]
solve_banded: (1, 1), np.stack([x, 3 + y, x]), y | solve_circulant: 3*np.eye(4)[0] + x, y
solve_continuous_are: A, B, S, S | solve_continuous_lyapunov: A, S | solve_discrete_are: A/4, B, S, S
solve_discrete_lyapunov: A/4, S | solve_lyapunov: A, S | solve_sylvester: A, S, B
solve_toeplitz: 3*np.eye(4)[0] + x, y | solve_triangular: A, x[:3]
solveh_banded: np.stack([x, 3 + y]), y | sqrtm: S | subspace_angles: A[:, :1], B[:, :1] | svd: A
svdvals: A | tanhm: A/4 | tanm: A/4 | toeplitz: x, y | bandwidth: A
clarkson_woodruff_transform: A, 2, rng=0 | cdf2rdf: *np.linalg.eig(A) | cossin: S, p=1, q=1
diagsvd: x[:3], 3, 3 | ishermitian: S | issymmetric: S | matrix_balance: A
ordqz: S, B.dot(B.T) + np.eye(3) | qz: S, B.dot(B.T) + np.eye(3)
qr_delete: *scipy.linalg.qr(A), 1 | qr_insert: *scipy.linalg.qr(A), x[:3], 1
qr_update: *scipy.linalg.qr(A), x[:3], y[:3] | rsf2csf: *scipy.linalg.schur(A)""",
    "signal": """
bilinear: x[:2], y[:2] | bilinear_zpk: x[:1], y[:2], 1.5, 2.0 | bode: (x[:2], y[:3]), y
chirp: x, 1.0, 2.0, 3.0 | coherence: np.tile(x, 4), np.tile(y, 4)**2, nperseg=4 | convolve: x, y
convolve2d: A, B | correlate: x, y | correlate2d: A, B | csd: x, y, nperseg=4 | cspline1d: x
cspline1d_eval: x, y | czt: x | decimate: np.tile(x, 8), 2 | deconvolve: y, x[:2] | detrend: x
envelope: np.tile(x, 3) | fftconvolve: x, y | filtfilt: [0.2, 0.3], [1.0, -0.4], np.tile(x, 4)
freqresp: (x[:2], y[:3]), y | freqs: x, y, [0.5, 1.0] | freqz: x, y, [0.5, 1.0]
freqz_zpk: x[:1], x[1:3], 2.0, [0.5, 1.0] | freqs_zpk: x[:1], x[1:3], 2.0, [0.5, 1.0] | gauss_spline: x, 3
gausspulse: x | group_delay: (y, x), [0.5] | hilbert: x | hilbert2: A
impulse: (x[:1], y[:2]), T=[0.0, 0.5, 1.0] | invres: x[:2], y[:2], [] | invresz: x[:2], y[:2], []
istft: A | lfilter: x[:2], y[:2], x | lfilter_zi: x[:3], y[:3] | lombscargle: [0.1, 0.5, 1.1, 1.3], x, y
lp2bp: x[:2], y[:2] | lp2bs: x[:2], y[:2] | lp2hp: x[:2], y[:2] | lp2lp: x[:2], y[:2]
lsim: (x[:1], y[:2]), x, [0.0, 0.1, 0.2, 0.3] | medfilt: x | medfilt2d: A | normalize: x[:2], y[:2]
oaconvolve: x, y | order_filter: x, [1, 1, 1], 0 | periodogram: x | qspline1d: x | qspline1d_eval: x, y
resample: x, 6 | resample_poly: x, 3, 2 | residue: x[:2], y[:3] | residuez: x[:2], y[:3]
savgol_filter: x, 3, 1 | sawtooth: x | sepfir2d: A, [1.0, 2, 1], [1.0, 2, 1]
sosfilt: np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]])*y[0]/y[0], x
sosfiltfilt: [[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]], np.tile(x, 4) | spectrogram: x, nperseg=4 | square: x
ss2tf: A[:2, :2], A[:2, 2:], A[2:, :2], A[2:, 2:] | step: (x[:1], y[:2]), T=[0.0, 0.5, 1.0]
stft: x, nperseg=4 | sweep_poly: x, [1.0, 2.0] | tf2ss: x[:2], y[:3] | tf2zpk: x[:2], y[:3]
upfirdn: x, y, 2 | vectorstrength: x, 2.0 | welch: x, nperseg=4 | wiener: x | zoom_fft: x, 0.5
zpk2ss: x[:1], x[1:3], y[0] | zpk2tf: x[:1], x[1:3], y[0] | zpk2sos: x[:1], x[1:3], y[0] | find_peaks: x
argrelmax: x | argrelmin: x | minimum_phase: x
cont2discrete: (A[:2, :2], A[:2, 2:], A[2:, :2], A[2:, 2:]), 0.1 | argrelextrema: x, np.greater
band_stop_obj: x[0], 0, np.array([0.1, 0.9]), np.array([0.3, 0.6]), 1, 20, 'butter' | bessel: 2, x[0]
butter: 2, x[0] | cheby1: 2, y[0], x[0] | cheby2: 2, 10*y[0], x[0] | ellip: 2, y[0], 20*y[1], x[0]
cheb1ap: 3, y[0] | cheb2ap: 3, 10*y[0] | ellipap: 3, y[0], 20*y[1] | buttord: x[0], x[1], 1.0, 20.0
cheb1ord: x[0], x[1], 1.0, 20.0 | cheb2ord: x[0], x[1], 1.0, 20.0 | ellipord: x[0], x[1], 1.0, 20.0
cspline2d: np.tile(A, (4, 4)) | qspline2d: np.tile(A, (4, 4)) | czt_points: 4, np.exp(-1j*x[0])
dfreqresp: (x[:1], y[:2], 0.1), [0.5] | dimpulse: (x[:1], y[:2], 0.1), n=3 @ [1][0]
dlsim: (x[:1], y[:2], 0.1), x @ [1] | dstep: (x[:1], y[:2], 0.1), n=3 @ [1][0] | find_peaks_cwt: x, [1, 2]
findfreqs: x[:2], y[:3], 4 | firls: 5, [0, 0.3, 0.5, 1.0], x | firwin: 5, x[0]
firwin2: 5, [0.0, 0.5, 0.7, 1.0], x | firwin_2d: (3, 3), ('boxcar', 'boxcar'), fc=x[0]
freqz_sos: [[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]], x | sosfreqz: [[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]], x
gammatone: x[0], 'iir' | iircomb: 0.2, y[0] | iirdesign: x[0], x[1], 1.0, 20.0
iirfilter: 2, x[0], btype='low' | iirnotch: x[0], y[0] | iirpeak: x[0], y[0] | kaiser_atten: 5, x[0]
kaiser_beta: 30*y[0] | kaiserord: 30*y[0], x[0] | lfiltic: x[:2], y[:2], x[:2]
lp2bp_zpk: x[:1], y[:2], 1.5 | lp2bs_zpk: x[:1], y[:2], 1.5 | lp2hp_zpk: x[:1], y[:2], 1.5
lp2lp_zpk: x[:1], y[:2], 1.5 | peak_prominences: x, [1] | peak_widths: x, [1]
place_poles: A, B[:, :1], [-1.0, -2.0, -3.0] @ .gain_matrix | remez: 5, [0, 0.2, 0.3, 0.5], x[:2]
sos2tf: np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]])*y[0]
sos2zpk: np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]])*y[0]
sosfilt_zi: np.array([[1.0, 0.2, 0.1, 1.0, 0.3, 0.2]])*[1, x[0], 1, 1, 1, 1]
spline_filter: np.tile(A, (16, 16)), 0.1 | ss2zpk: A[:2, :2], A[:2, 2:], A[2:, :2], A[2:, 2:]
symiirorder1: np.tile(x, 8), 0.5, 0.3, 1e-6 | symiirorder2: np.tile(x, 16), 0.3, 0.5, 1e-3
tf2sos: x[:2], y[:3]
unique_roots: x | get_window: ('kaiser', y[0]), 5 | savgol_coeffs: 5, 2, pos=y[0]
abcd_normalize: A[:2, :2], A[:2, 2:], A[2:, :2], A[2:, 2:]""",
    "ndimage": """
affine_transform: A, np.array([[1.0, x[0]], [0.1, y[0]/2]]), order=1 | black_tophat: A, 2
center_of_mass: A | convolve: A, B | convolve1d: x, y[:3] | correlate: A, B | correlate1d: x, y[:3]
extrema: x | fourier_ellipsoid: A, 2 | fourier_gaussian: A, 2 | fourier_shift: A, 2
fourier_uniform: A, 2 | gaussian_filter: A, 1.0 | gaussian_filter1d: x, 1.0
gaussian_gradient_magnitude: A, 1.0 | gaussian_laplace: A, 1.0 | generic_filter: A, np.sum, 2
generic_gradient_magnitude: A, scipy.ndimage.sobel
generic_laplace: A, lambda v, axis, out, mode, cval: scipy.ndimage.correlate1d(v, [1, -2, 1], axis, mode=mode)
geometric_transform: A, lambda p: (p[0]*0.9, p[1]*0.8), order=1 | grey_closing: A, 2 | grey_dilation: A, 2
grey_erosion: A, 2 | grey_opening: A, 2 | laplace: A | map_coordinates: A, [x, y], order=1 | maximum: x
maximum_filter: A, 2 | maximum_filter1d: x, 2 | maximum_position: x | mean: x | median: x
median_filter: x, 3 | minimum: x | minimum_filter: A, 2 | minimum_filter1d: x, 2 | minimum_position: x
morphological_gradient: A, 2 | morphological_laplace: A, 2 | percentile_filter: x, 40, 3 | prewitt: A
rank_filter: x, 1, 3 | rotate: A, 30.0, reshape=False, order=1 | shift: A, x[:2], order=1 | sobel: A
spline_filter: A | spline_filter1d: x | standard_deviation: x | sum: x | sum_labels: x, k, [1, 2]
uniform_filter: A, 2 | uniform_filter1d: x, 2 | variance: x | white_tophat: A, 2 | zoom: A, 2, order=1
histogram: x, 0.0, 1.0, 3 | label: x > 0.5 | distance_transform_edt: c | binary_closing: c
binary_dilation: c | binary_erosion: c | binary_fill_holes: c | binary_hit_or_miss: A > 0.5
binary_opening: A > 0.5 | binary_propagation: c | distance_transform_bf: c | distance_transform_cdt: c
find_objects: k | generic_filter1d: x, lambda i, o: o.__setitem__(slice(None), i[2:] * i[:-2]), 3
labeled_comprehension: x, k, [1, 2], np.mean, float, 0 | value_indices: k
vectorized_filter: x, np.sum, size=3 | watershed_ift: k.astype(np.uint8), k""",
    "interpolate": """
barycentric_interpolate: [0.0, 1.0, 2.0, 3.0], x, y
griddata: [[0, 0], [0, 3], [3, 0], [3, 3]], x, y[:2]*0.5 | interpn: ([0.0, 1.0, 2.0],)*2, A, [y[0], x[0]]
krogh_interpolate: [0.0, 1.0, 2.0, 3.0], x, y | lagrange: [0.0, 1.0, 2.0, 3.0], x | pade: y, 2
pchip_interpolate: [0.0, 1.0, 2.0, 3.0], x, y | splev: y, (np.arange(8.0) - 2, x, 3)
spalde: 1.5, (np.arange(8.0) - 2, np.append(x, y), 3)
splder: (np.arange(8.0) - 2, np.append(x, y), 3) @ [1]
splantider: (np.arange(8.0) - 2, np.append(x, y), 3) @ [1] | splprep: [x, y], s=0 @ [0][1][0]
sproot: (np.arange(8.0) - 2, x - 0.6, 3)
bisplev: 0.5, y[0], [np.array([0.0, 0, 2, 2]), np.array([0.0, 0, 2, 2]), x, 1, 1]
splint: 0.5, 1.0, (np.arange(8.0) - 2, x, 3) | splrep: [0.0, 1.0, 2.0, 3.0], x
make_interp_spline: [0.0, 1.0, 2.0, 3.0], x @ (y)
make_smoothing_spline: np.arange(5.0), np.append(x, y[0]), lam=0.5 @ (y)
Akima1DInterpolator: [0.0, 1.0, 2.0, 3.0], x @ (y)
BSpline: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], x[:3], 2 @ (2 + x) | BPoly: A, [0.0, 1.0, 2.0, 3.0] @ (y)
BarycentricInterpolator: [0.0, 1.0, 2.0, 3.0], x @ (y)
CloughTocher2DInterpolator: [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [3.0, 3.0]], x @ (x, y)
CubicHermiteSpline: [0.0, 1.0, 2.0, 3.0], x, y @ (y) | CubicSpline: [0.0, 1.0, 2.0, 3.0], x @ (y)
InterpolatedUnivariateSpline: [0.0, 1.0, 2.0, 3.0], x @ (y)
KroghInterpolator: [0.0, 1.0, 2.0, 3.0], x @ (y)
LSQUnivariateSpline: [0.0, 1.0, 2.0, 3.0], x, [], k=2 @ (y)
make_splprep: [np.append(x, y), np.append(y, x)], s=0 @ [0](0.4)
LSQBivariateSpline: [0.0, 0, 3, 3], [0.0, 3, 0, 3], x, [], [], kx=1, ky=1 @ .ev(x, y)
SmoothBivariateSpline: [0.0, 0, 3, 3, 1], [0.0, 3, 0, 3, 2], np.arange(5.0) - 1, kx=1, ky=1 @ .ev(x, y)
NdPPoly: A[:, :, None, None], ([0.0, 3.0], [0.0, 3.0]) @ (np.stack([x, y], 1))
LinearNDInterpolator: [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [3.0, 3.0]], x @ (x, y)
NearestNDInterpolator: [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [3.0, 3.0]], x @ (x, y)
PPoly: A, [0.0, 1.0, 2.0, 3.0] @ (y) | PchipInterpolator: [0.0, 1.0, 2.0, 3.0], x @ (y)
RBFInterpolator: A, x[:3], kernel='linear' @ (B) | Rbf: [0.0, 1.0, 2.0, 3.0], x @ (y)
RectBivariateSpline: [0.0, 1.0, 2.0], [0.0, 1.0, 2.0], A, kx=2, ky=2 @ .ev(x, y)
RectSphereBivariateSpline: [0.5, 1.0, 1.5, 2.0], [0.0, 2.0, 4.0, 5.0], np.outer(x, y) @ .ev(x, y)
RegularGridInterpolator: ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]), A @ (np.stack([x, y], 1))
UnivariateSpline: [0.0, 1.0, 2.0, 3.0], x, s=0 @ (y) | interp1d: [0.0, 1.0, 2.0, 3.0], x @ (y)
AAA: np.arange(8.0), np.append(x, y), max_terms=3, clean_up=False @ (y)
FloaterHormannInterpolator: [0.0, 1.0, 2.0, 3.0], x @ (y)
make_lsq_spline: [0.0, 1.0, 2.0, 3.0], x, [0.0, 0.0, 0.0, 3.0, 3.0, 3.0], 2 @ (y)
make_splrep: [0.0, 1.0, 2.0, 3.0], x @ (y)
approximate_taylor_polynomial: lambda t: np.sin(t*x[0]), 0.0, 2, 1.0 @ (0.5)
generate_knots: np.arange(12.0), np.tile(x, 3) @ .__next__()
insert: 1.3, (np.arange(8.0) - 2, np.append(x, np.zeros(4)), 3) @ [1][:5]""",
    "integrate": """
cumulative_simpson: x | cumulative_trapezoid: x | romb: A[:, :2].ravel()[:5] | simpson: x, dx=y[0]
trapezoid: x, dx=y[0] | quad: lambda t: x[0]*t**y[0], 0.0, y[1]
fixed_quad: lambda t: x[0]*t**2, 0.0, y[1] | quad_vec: lambda t: x*t**2, 0.0, y[1]
dblquad: lambda s, t: x[0]*s*t, 0.0, y[1], 0.0, x[1]
nquad: lambda s, t: x[0]*s*t, [(0.0, y[1]), (0.0, x[1])]
tplquad: lambda r, s, t: x[0]*r*s*t, 0, 1, 0, 1, 0, 1
odeint: lambda u, t: -y[0]*u, x[:2], [0.0, 0.5], rtol=1e-10, atol=1e-10
nsum: lambda n: x[0]**n, 1, 30 @ .sum
solve_ivp: lambda t, u: -y[0]*u, (0.0, 0.5), x[:2], t_eval=[0.0, 0.5], rtol=1e-10, atol=1e-10 @ .y
tanhsinh: lambda t: x[0]*t**2, 0.0, y[1] @ .integral | newton_cotes: 3
cubature: lambda t: x[0]*t[:, 0]**2, [0.0], [1.0] @ .estimate
qmc_quad: lambda t: x[0]*t[0], 0.0, y[1], qrng=scipy.stats.qmc.Halton(1, rng=0)
solve_bvp: lambda t, u: x[0]*u, lambda a, b: a - y[0], [0.0, 0.5, 1.0], [[1, 1, 1]] @ .y""",
    "optimize": """
bisect: lambda t: t**3 - y[0], 0.0, 3.0, xtol=1e-12 | brentq: lambda t: t**3 - y[0], 0.0, 3.0
brenth: lambda t: t**3 - y[0], 0.0, 3.0 | ridder: lambda t: t**3 - y[0], 0.0, 3.0
toms748: lambda t: t**3 - y[0], 0.0, 3.0 | newton: lambda t: t**3 - y[0], 1.0, tol=1e-13
fsolve: lambda t: t**3 - y[0], 1.0, xtol=1e-13 | root: lambda t: t**3 - y[0], 1.0, tol=1e-13 @ .x
root_scalar: lambda t: t**3 - y[0], bracket=(0.0, 3.0) @ .root
fixed_point: lambda t: np.cos(t*x[0]), 0.5, xtol=1e-12
minimize: lambda t: np.sum((t - x[:2])**2), [0.0, 0.0], tol=1e-12 @ .x
minimize_scalar: lambda t: (t - x[0])**2 + t**4, tol=1e-12 @ .x
least_squares: lambda t: t - x[:2], [0.0, 0.0], xtol=1e-12 @ .x | leastsq: lambda t: t - x[:2], [0.0, 0.0]
curve_fit: lambda t, a, b: a*t + b, [0.0, 1.0, 2.0, 3.0], x | nnls: S, x[:3] | lsq_linear: S, x[:3] @ .x
milp: x + 1, constraints=(np.ones((1, 4)), 2.5, 5.0), integrality=[1, 0, 0, 0], bounds=(0, 1) @ .fun
linprog: x + 1, None, None, [[1, 1, 1, 1]], [2.0] @ .x | linear_sum_assignment: A
isotonic_regression: x @ .x | rosen: x | rosen_der: x | rosen_hess: x | rosen_hess_prod: x, y
approx_fprime: x, np.sum | fmin: lambda t: (t[0] - x[0])**2, [0.0], disp=False
fmin_bfgs: lambda t: (t[0] - x[0])**2, [0.0], disp=False | fminbound: lambda t: (t - x[0])**2, 0.0, 1.0
brent: lambda t: (t - x[0])**2
differential_evolution: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)], rng=0 @ .x
dual_annealing: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)], maxiter=20, rng=0 @ .x
shgo: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)] @ .x | direct: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)] @ .x
basinhopping: lambda t: (t[0] - x[0])**2, [0.1], niter=3, rng=0 @ .x
brute: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)], disp=False
fmin_l_bfgs_b: lambda t: (t[0] - x[0])**2, [0.0], approx_grad=True @ [0]
fmin_tnc: lambda t: (t[0] - x[0])**2, [0.0], approx_grad=True, disp=0 @ [0]
fmin_slsqp: lambda t: (t[0] - x[0])**2, [0.0], iprint=0
fmin_cobyla: lambda t: (t[0] - x[0])**2, [0.0], lambda t: y[0] - t[0], rhoend=1e-9
fmin_cg: lambda t: (t[0] - x[0])**2, [0.0], disp=False
fmin_powell: lambda t: (t[0] - x[0])**2, [0.0], disp=False
broyden2: lambda t: t**3 - y[0], 1.0
diagbroyden: lambda t: t**3 - y[0], 1.0
newton_krylov: lambda t: t**3 - y[0], 1.0 | broyden1: lambda t: t**3 - y[0], 1.0
anderson: lambda t: t**3 - y[0], 1.0""",
    "spatial": """
distance_matrix: A, B | minkowski_distance: x, y | minkowski_distance_p: x, y
procrustes: np.concatenate([A, B]), np.concatenate([B, A])
geometric_slerp: x/np.sqrt(np.sum(x**2)), y/np.sqrt(np.sum(y**2)), [0.3] | KDTree: np.eye(3) @ .query(A)[0]
cKDTree: np.eye(3) @ .query(A)[0] | ConvexHull: A[:, :2] @ .volume | Delaunay: A[:, :2] @ .points""",
    "spatial.distance": """
braycurtis: x, y | canberra: x, y | cdist: A, B | chebyshev: x, y | cityblock: x, y | correlation: x, y
cosine: x, y | directed_hausdorff: A, B | euclidean: x, y | jensenshannon: x, y
mahalanobis: x[:3], y[:3], S | minkowski: x, y | pdist: A | seuclidean: x, y, x + y | sqeuclidean: x, y
squareform: x[:3] | dice: c, c | hamming: k, k | jaccard: c, c | rogerstanimoto: c, c | russellrao: c, c
sokalsneath: c, c | yule: c, ~c | is_valid_dm: A | is_valid_y: x[:3]""",
    "stats": """
alexandergovern: x, y @ .statistic | anderson: x, method='interpolate' | ansari: x, y | bartlett: x, y
bayes_mvs: x | binned_statistic: k, x, bins=2 | boxcox: x, 0.3 | boxcox_llf: 0.3, x | boxcox_normmax: y
brunnermunzel: np.append(x, 1.4), y | chatterjeexi: x, y | chi2_contingency: A + 1
chisquare: x, np.mean(x) | circmean: x | circstd: x | circvar: x | combine_pvalues: x
cramervonmises: x, 'norm' @ .statistic | cumfreq: x | describe: x | differential_entropy: np.append(x, y)
directional_stats: A @ .mean_direction | energy_distance: x, y | entropy: x, y
epps_singleton_2samp: np.append(x, 1.4), np.append(y, 0.3) | expectile: x, 0.3 | f_oneway: x, y
false_discovery_control: x | fligner: x, y | friedmanchisquare: x, y, x*y | gmean: x, weights=y | gstd: y
gzscore: x | hmean: x | iqr: x | jarque_bera: x | kendalltau: x, y | kruskal: x, y
ks_1samp: x, lambda t: t | ks_2samp: x, y | kstat: x | kstatvar: x | kstest: x, 'norm' | kurtosis: x
levene: x, y | linregress: x, y | lmoment: x | mannwhitneyu: x, y | median_abs_deviation: x | mode: x
moment: x, 3 | mood: x, y | obrientransform: x, y | pearsonr: x, y | percentileofscore: x, 0.6
pmean: x, y[0] | pointbiserialr: [0, 1, 0, 1], x | power_divergence: x, np.mean(x), lambda_=0.5
quantile: x, 0.3 | rankdata: x | ranksums: x, y | relfreq: x | scoreatpercentile: x, 30 | sem: x
shapiro: x | siegelslopes: x, y | sigmaclip: x | skew: x | somersd: x, y @ .statistic | spearmanr: x, y
theilslopes: x, y | tmax: x | tmean: x, (0, 0.8) | tmin: x | trim_mean: x, 0.25 | trim1: x, 0.3
trimboth: x, 0.25 | tsem: x | tstd: x | ttest_1samp: x, y[0] | ttest_ind: x, y, equal_var=False
ttest_ind_from_stats: x[0], y[0], 5, x[1], y[1], 6 | ttest_rel: x, y | tukey_hsd: x, y @ .statistic
tvar: x | variation: x | wasserstein_distance: x, y | wilcoxon: x, y | yeojohnson: x, 0.3
yeojohnson_llf: 0.3, x | zmap: x, y | zscore: x | binned_statistic_2d: k, k, x, bins=(2, 1) @ .statistic
binned_statistic_dd: k[:, None], x, bins=2 @ .statistic | cramervonmises_2samp: x, y @ .statistic
ecdf: x @ .cdf.probabilities | median_test: x, y | spearmanrho: x, y @ .statistic | tiecorrect: x
wasserstein_distance_nd: A, B | weightedtau: x, y @ .statistic
normaltest: np.tile(x, 5)*np.arange(1, 21) | kurtosistest: np.tile(x, 5)*np.arange(1, 21)
skewtest: np.tile(x, 5)*np.arange(1, 21) | quantile_test: x, q=y[0] @ .statistic | ppcc_max: x
probplot: x, fit=False | boxcox_normplot: y, -1, 1, N=4 | yeojohnson_normplot: y, -1, 1, N=4
yeojohnson_normmax: y | anderson_ksamp: [x, y] @ .statistic | dunnett: x, control=y @ .statistic
bws_test: x, y @ .statistic | fisher_exact: [[3, 2], [1, 4]]""",
    "stats.mstats": """
gmean: x | hmean: x | zscore: x | zmap: x, y | kurtosis: x | skew: x | moment: x, 3
describe: x @ .variance | sem: x | tmean: x | tsem: x | tmin: x | tmax: x | trim: x
trima: x, (0.1, 5.0) | trimboth: x | trimmed_mean: x | trimmed_std: x | trimmed_var: x | trimmed_stde: x
trimr: x | trimtail: x | winsorize: x, (0.25, 0.25) | pearsonr: x, y @ [0] | linregress: x, y @ [0]
rsh: x | idealfourths: x | hdquantiles: x | hdmedian: x | hdquantiles_sd: x | mquantiles: x
ttest_ind: x, y @ [0] | ttest_rel: x, y @ [0] | ttest_1samp: x, 0.3 @ [0] | ttest_onesamp: x, 0.3 @ [0]
variation: x | f_oneway: x, y @ [0] | kruskal: x, y @ [0] | mode: x @ [0] | rankdata: x
plotting_positions: x | meppf: x | scoreatpercentile: x, 40 | obrientransform: x, y | chisquare: y @ [0]
friedmanchisquare: x, y, x + y @ [0]
kurtosistest: np.tile(x, 6) @ [0] | skewtest: np.tile(x, 3) @ [0] | normaltest: np.tile(x, 6) @ [0]
theilslopes: x, y @ [0] | siegelslopes: x, y @ [0] | spearmanr: x, y @ [0] | kendalltau: x, y @ [0]
mannwhitneyu: x, y @ [0] | brunnermunzel: x, y - 1 @ [0] | pointbiserialr: [0, 1, 0, 1], y @ [0]
sen_seasonal_slopes: A @ [0] | msign: x | argstoarray: x, y""",
    "stats.qmc": """
discrepancy: (A - A.min())/(A.max() - A.min() + 1.0)
geometric_discrepancy: (A - A.min())/(A.max() - A.min() + 1.0)
update_discrepancy: x[:2]/5, (A[:, :2] - A.min())/(A.max() - A.min() + 1.0), 0.3""",
    "cluster.vq": """
whiten: A | vq: A, B | kmeans: A, 2, rng=0 | kmeans2: A, 2, rng=0, minit='points'""",
    "signal.windows": """
kaiser: 5, y[0] | gaussian: 5, y[0] | general_gaussian: 5, y[0], y[1] | general_cosine: 5, x
general_hamming: 5, x[0] | chebwin: 5, 60*y[0] | exponential: 5, tau=y[0] | tukey: 5, x[0]
taylor: 5, sll=30*y[0] | kaiser_bessel_derived: 6, y[0] | dpss: 5, y[0]
get_window: ('gaussian', y[0]), 5""",
    "fftpack": """
fft: x | ifft: x | fftn: A | ifftn: A | rfft: x | irfft: x | fft2: A | ifft2: A | diff: x
tilbert: x, 0.5 | itilbert: x, 0.5 | hilbert: x | ihilbert: x | sc_diff: x, 0.5, 0.3
cs_diff: x, 0.5, 0.3 | cc_diff: x, 0.5, 0.3 | ss_diff: x, 0.5, 0.3 | shift: x, 0.3 | fftshift: x
ifftshift: x | dct: x | idct: x | dst: x | idst: x | dctn: A | idctn: A | dstn: A | idstn: A""",
    "stats.contingency": """
margins: A | expected_freq: A + 1 | association: [[3, 2], [1, 4]]
chi2_contingency: [[3, 1], [1, 3]] @ [0] | relative_risk: 3, 5, 4, 7 @ .relative_risk""",
    "cluster.hierarchy": """
linkage: A @ [:, 2] | average: A @ [:, 2] | centroid: A @ [:, 2] | complete: A @ [:, 2]
median: A @ [:, 2] | single: A @ [:, 2] | ward: A @ [:, 2] | weighted: A @ [:, 2]
cophenet: scipy.cluster.hierarchy.single(A) | maxdists: scipy.cluster.hierarchy.single(A)
fcluster: scipy.cluster.hierarchy.single(A), 1.0 | inconsistent: scipy.cluster.hierarchy.ward(B)
leaves_list: scipy.cluster.hierarchy.single(A)
optimal_leaf_ordering: scipy.cluster.hierarchy.single(A), A""",
    "sparse": """
bsr_array: D*x[0] @ .toarray() | bsr_matrix: D*x[0] @ .toarray()
coo_array: (x, ([0, 1, 1, 2], [1, 0, 2, 2])) @ .toarray()
coo_matrix: (x, ([0, 1, 1, 2], [1, 0, 2, 2])) @ .toarray() | csc_array: A @ .toarray()
csc_matrix: (x, [0, 2, 1, 0], [0, 2, 3, 4]) @ .toarray() | csr_array: A @ .toarray()
csr_matrix: (x, [0, 2, 1, 0], [0, 2, 3, 4]) @ .toarray() | dia_array: (A, [0, 1, -1]), (3, 3) @ .toarray()
dia_matrix: (A, [0, 1, -1]), (3, 3) @ .toarray() | dok_array: A @ .toarray() | dok_matrix: A @ .toarray()
lil_array: A @ .toarray() | lil_matrix: A @ .toarray() | diags: [x, y[:3]], [0, 1] @ .toarray()
diags_array: [x, y[:3]], offsets=[0, 1] @ .toarray() | spdiags: A, [0, 1, -1], 3, 3 @ .toarray()
kron: scipy.sparse.csr_array(A), D @ .toarray() | kronsum: scipy.sparse.csr_array(A), D @ .toarray()
hstack: [scipy.sparse.csr_array(A), D] @ .toarray() | vstack: [scipy.sparse.csr_array(A), D] @ .toarray()
bmat: [[scipy.sparse.csr_array(A), D]] @ .toarray()
block_array: [[scipy.sparse.csr_array(A), D]] @ .toarray()
block_diag: [scipy.sparse.csr_array(A), D] @ .toarray() | tril: scipy.sparse.csr_array(A) @ .toarray()
triu: scipy.sparse.csr_array(A) @ .toarray() | find: scipy.sparse.csr_array(A) @ [2] | issparse: A
identity: 3 @ .toarray() | eye_array: 3 @ .toarray()""",
    "sparse.csgraph": """
bellman_ford: np.abs(A)**1.1 | breadth_first_order: np.abs(A)**1.1, 0 @ [0]
connected_components: np.abs(A)**1.1 @ [1] | depth_first_order: np.abs(A)**1.1, 0 @ [0]
dijkstra: np.abs(A)**1.1, indices=0 | floyd_warshall: np.abs(A)**1.1 | johnson: np.abs(A)**1.1 | laplacian: S
minimum_spanning_tree: S @ .toarray() | shortest_path: np.abs(A)**1.1
structural_rank: scipy.sparse.csr_array(A) | yen: np.abs(A)**1.1, 0, 2, 2
breadth_first_tree: np.abs(A)**1.1, 0 @ .toarray() | depth_first_tree: np.abs(A)**1.1, 0 @ .toarray()
csgraph_from_dense: np.abs(A)**1.1 @ .toarray() | csgraph_to_dense: scipy.sparse.csr_array(np.abs(A)**1.1)
min_weight_full_bipartite_matching: scipy.sparse.csr_array(np.abs(A)) @ [1]""",
    "sparse.linalg": """
expm: scipy.sparse.csc_array(A) @ .toarray() | inv: scipy.sparse.csc_array(A) @ .toarray()
norm: scipy.sparse.csc_array(A)
eigsh: scipy.sparse.csc_array(S), 1 @ [0]
eigs: scipy.sparse.csc_array(S), 1 @ [0].real | lobpcg: S, np.eye(3)[:, :1] @ [0]
svds: scipy.sparse.csc_array(A), 1 @ [1]
bicg: D, x[:3] @ [0] | bicgstab: D, x[:3], rtol=1e-12 @ [0] | cg: D, x[:3] @ [0] | cgs: D, x[:3] @ [0]
gcrotmk: D, x[:3] @ [0] | gmres: D, x[:3] @ [0] | lgmres: D, x[:3] @ [0] | minres: D, x[:3] @ [0]
qmr: D, x[:3] @ [0] | tfqmr: D, x[:3] @ [0] | lsmr: D, x[:3] @ [0] | lsqr: D, x[:3] @ [0]
expm_multiply: D, x[:3] | spsolve: D, x[:3] | factorized: D @ (x[:3])
spsolve_triangular: scipy.sparse.tril(D, format='csr'), x[:3]
splu: D @ .solve(x[:3]) | spilu: D @ .solve(x[:3]) | matrix_power: A, 2
onenormest: A | funm_multiply_krylov: scipy.linalg.expm, S, x[:3]""",
    "differentiate": """
derivative: lambda t: np.sin(t*x[0]), 0.5 @ .df | jacobian: lambda t: np.sin(t*x[0]), x @ .df
hessian: lambda t: np.sin(t[0]*x[0])*t[1], [0.5, 0.3] @ .ddf""",
    "constants": """
convert_temperature: x, 'Celsius', 'Fahrenheit' | lambda2nu: x | nu2lambda: x""",
    "optimize.elementwise": """
find_root: lambda t, p: t**3 - p*t - 1.0, (0.0, 5.0), args=(y,) @ .x
find_minimum: lambda t, p: (t - p)**2 + t**4, (-5.0, 0.0, 5.0), args=(x,) @ .f_x
bracket_root: lambda t, p: t**3 - p, 0.0, 1.0, args=(y,) @ .bracket
bracket_minimum: lambda t, p: (t - p)**2, 0.5, args=(y,) @ .bracket""",
    "spatial.transform": """
Rotation: [[0.0, 0.0, 0.0, 1.0]] @ .from_rotvec(x[:3]).as_matrix()
Slerp: [0.0, 1.0], scipy.spatial.transform.Rotation.from_rotvec(A[:2]) @ (x).as_rotvec()
RotationSpline: [0.0, 1.0, 2.0], scipy.spatial.transform.Rotation.from_rotvec(A) @ (x).as_rotvec()
RigidTransform: np.eye(4) @ .apply(x[:3])""",
    "special": """
assoc_laguerre: x, 2, 0.5 | bernoulli: 3 | comb: 5 + x, 2 | diric: x, 5 | euler: 3 | factorial: x
h1vp: 1, x | h2vp: 1, x | ivp: 1, x | jvp: 1, x | kvp: 1, x | yvp: 1, x | perm: 5 + x, 2 | polygamma: 1, x
sinc: x | softplus: x | zeta: 2 + x | legendre: 3 @ (x) | chebyt: 3 @ (x) | chebyu: 3 @ (x)
hermite: 3 @ (x) | hermitenorm: 3 @ (x) | laguerre: 3 @ (x) | genlaguerre: 3, 0.5 @ (x)
gegenbauer: 3, 0.5 @ (x) | jacobi: 3, 0.5, 0.2 @ (x) | roots_legendre: 3 | roots_jacobi: 3, x[0], y[0]
roots_genlaguerre: 3, x[0] | roots_gegenbauer: 3, x[0] | assoc_legendre_p: 2, 1, x | legendre_p: 2, x
sph_harm_y: 2, 1, x, y | sph_legendre_p: 2, 1, x | logsumexp: x | softmax: x | log_softmax: x
multigammaln: 3 + x, 2 | ellip_harm: 5.0, 8.0, 2, 1, x[0] | lambertw: x | spherical_jn: 1, x
spherical_yn: 1, x | spherical_in: 1, x | spherical_kn: 1, x | mathieu_even_coef: 2, x[0] | lqn: 2, x[0]
lmbda: 2, x[0] | riccati_jn: 2, x[0] | stirling2: 4, 2 | ai_zeros: 3 | jn_zeros: 1, 3
legendre_p_all: 3, x | sph_legendre_p_all: 2, 1, x | riccati_yn: 2, y[0]
sh_jacobi: 2, 3.0 + x[0], 1.0 + y[0] | factorialk: x, 2.5, extend="complex" | factorial2: x, extend="complex"
roots_sh_jacobi: 3, 3.0 + x[0], 1.0 + y[0] | mathieu_odd_coef: 3, y[0]
ellip_harm_2: 5.0, 8.0, 2, 1, 3 + x[0] | lqmn: 2, 3, x[0] | pbdv_seq: 2.5, x[0] | pbvv_seq: 1.5, x[0]
ellip_normal: 4 + x[0], 8.0, 2, 1 | pbdn_seq: 3, x[0] | pro_cv_seq: 1, 4, x[0]
obl_cv_seq: 1, 4, x[0] | chebyc: 3 @ (x) | chebys: 3 @ (x) | sh_legendre: 3 @ (x) | sh_chebyt: 3 @ (x)
sh_chebyu: 3 @ (x) | assoc_legendre_p_all: 2, 1, x/3 | sph_harm_y_all: 2, 1, x, y @ .real""",
    "odr": """
odr: lambda b, t: b[0]*t + b[1], [1.0, 1.0], y, x @ [0]""",
}
_DISTRIBUTIONS = {
    "logpdf": """
alpha: 0.28 + 0.01*x, 3.57 + 0.1*(x[0] - 0.31) | anglit: 0.0 + 0.01*x | arcsine: 0.5 + 0.01*x
argus: 0.647 + 0.01*x, 1.0 + 0.1*(x[0] - 0.31) | beta: 0.853 + 0.01*x, 2.31, 0.627 + 0.1*(x[0] - 0.31)
betaprime: 0.824 + 0.01*x, 5, 6 | bradford: 0.467 + 0.01*x, 0.299 + 0.1*(x[0] - 0.31)
burr: 1.181 + 0.01*x, 10.5, 4.3 + 0.1*(x[0] - 0.31) | burr12: 0.847 + 0.01*x, 10, 4 | cauchy: 0.0 + 0.01*x
chi: 8.794 + 0.01*x, 78 | chi2: 54.335 + 0.01*x, 55 | cosine: 0.0 + 0.01*x
crystalball: -0.022 + 0.01*x, 2.0, 3.0 + 0.1*(x[0] - 0.31)
dgamma: 0.0 + 0.01*x, 1.102 + 0.1*(x[0] - 0.31) | dpareto_lognorm: 23.248 + 0.01*x, 3, 1.2, 1.5, 2
dweibull: 0.0 + 0.01*x, 2.069 + 0.1*(x[0] - 0.31) | erlang: 9.669 + 0.01*x, 10 | expon: 0.693 + 0.01*x
exponnorm: 1.237 + 0.01*x, 1.5 + 0.1*(x[0] - 0.31) | exponpow: 0.788 + 0.01*x, 2.697 + 0.1*(x[0] - 0.31)
exponweib: 1.25 + 0.01*x, 2.892, 1.951 + 0.1*(x[0] - 0.31) | f: 1.014 + 0.01*x, 29, 18
fatiguelife: 1.0 + 0.01*x, 29 | fisk: 1.0 + 0.01*x, 3.086 + 0.1*(x[0] - 0.31)
foldcauchy: 4.821 + 0.01*x, 4.716 + 0.1*(x[0] - 0.31)
foldnorm: 1.952 + 0.01*x, 1.952 + 0.1*(x[0] - 0.31) | gamma: 1.672 + 0.01*x, 1.993 + 0.1*(x[0] - 0.31)
gausshyper: 0.804 + 0.01*x, 13.764, 3.119, 2.515, 5.181 + 0.1*(x[0] - 0.31)
genexpon: 0.065 + 0.01*x, 9.133, 16.232, 3.282 + 0.1*(x[0] - 0.31)
genextreme: 0.373 + 0.01*x, -0.1 + 0.1*(x[0] - 0.31)
gengamma: 1.57 + 0.01*x, 4.416, 3.119 + 0.1*(x[0] - 0.31)
gengamma: 0.637 + 0.01*x, 4.416, -3.119 + 0.1*(x[0] - 0.31)
genhalflogistic: 0.74 + 0.01*x, 0.773 + 0.1*(x[0] - 0.31)
genhyperbolic: -0.466 + 0.01*x, 0.5, 1.5, -0.5 + 0.1*(x[0] - 0.31)
geninvgauss: 3.061 + 0.01*x, 2.3, 1.5 + 0.1*(x[0] - 0.31)
genlogistic: -1.477 + 0.01*x, 0.412 + 0.1*(x[0] - 0.31) | gennorm: 0.0 + 0.01*x, 1.299 + 0.1*(x[0] - 0.31)
halfgennorm: 1.254 + 0.01*x, 0.675 + 0.1*(x[0] - 0.31)
genpareto: 0.718 + 0.01*x, 0.1 + 0.1*(x[0] - 0.31) | gibrat: 1.0 + 0.01*x
gompertz: 0.549 + 0.01*x, 0.947 + 0.1*(x[0] - 0.31) | gumbel_l: -0.367 + 0.01*x | gumbel_r: 0.367 + 0.01*x
halfcauchy: 1.0 + 0.01*x | halflogistic: 1.099 + 0.01*x | halfnorm: 0.674 + 0.01*x
hypsecant: -0.0 + 0.01*x | invgamma: 0.267 + 0.01*x, 4.067 + 0.1*(x[0] - 0.31)
invgauss: 0.136 + 0.01*x, 0.145 + 0.1*(x[0] - 0.31)
invweibull: 1.035 + 0.01*x, 10.58 + 0.1*(x[0] - 0.31) | irwinhall: 5.0 + 0.01*x, 10
jf_skew_t: 1.304 + 0.01*x, 8, 4 | johnsonsb: 0.205 + 0.01*x, 4.317, 3.184 + 0.1*(x[0] - 0.31)
johnsonsu: -1.397 + 0.01*x, 2.554, 2.248 + 0.1*(x[0] - 0.31)
kappa4: 0.367 + 0.01*x, 0.0, 0.2 + 0.1*(x[0] - 0.31)
kappa4: 0.326 + 0.01*x, -0.1, 0.1 + 0.1*(x[0] - 0.31)
kappa4: 0.36 + 0.01*x, 0.0, 0.1 + 0.1*(x[0] - 0.31) | kappa4: 0.401 + 0.01*x, 0.1, 0.2 + 0.1*(x[0] - 0.31)
kappa3: 1.0 + 0.01*x, 1.0 + 0.1*(x[0] - 0.31) | ksone: 0.018 + 0.01*x, 1000 | kstwo: 0.247 + 0.01*x, 10
kstwobign: 0.828 + 0.01*x | landau: 0.576 + 0.01*x | laplace: 0.0 + 0.01*x
laplace_asymmetric: -0.94 + 0.01*x, 2 | levy: 2.198 + 0.01*x | levy_l: -2.198 + 0.01*x
levy_stable: 0.101 + 0.01*x, 1.8, -0.5 + 0.1*(x[0] - 0.31)
loggamma: -1.856 + 0.01*x, 0.414 + 0.1*(x[0] - 0.31) | logistic: 0.0 + 0.01*x
loglaplace: 1.0 + 0.01*x, 3.251 + 0.1*(x[0] - 0.31) | lognorm: 1.0 + 0.01*x, 0.954 + 0.1*(x[0] - 0.31)
loguniform: 0.112 + 0.01*x, 0.01, 1.25 + 0.1*(x[0] - 0.31)
lomax: 0.447 + 0.01*x, 1.877 + 0.1*(x[0] - 0.31) | maxwell: 1.538 + 0.01*x
mielke: 1.25 + 0.01*x, 10.4, 4.6 + 0.1*(x[0] - 0.31) | moyal: 0.788 + 0.01*x
nakagami: 0.966 + 0.01*x, 4.967 + 0.1*(x[0] - 0.31)
ncf: 1.015 + 0.01*x, 27, 27, 0.416 + 0.1*(x[0] - 0.31) | nct: 0.245 + 0.01*x, 14, 0.24 + 0.1*(x[0] - 0.31)
ncx2: 21.363 + 0.01*x, 21, 1.056 + 0.1*(x[0] - 0.31) | norm: 0.0 + 0.01*x
norminvgauss: 0.315 + 0.01*x, 1.25, 0.5 + 0.1*(x[0] - 0.31)
pareto: 1.303 + 0.01*x, 2.622 + 0.1*(x[0] - 0.31) | pearson3: -0.017 + 0.01*x, 0.1 + 0.1*(x[0] - 0.31)
pearson3: 0.307 + 0.01*x, -2 | powerlaw: 0.659 + 0.01*x, 1.659 + 0.1*(x[0] - 0.31)
powerlaw: 0.349 + 0.01*x, 0.659 + 0.1*(x[0] - 0.31)
powerlognorm: 0.767 + 0.01*x, 2.141, 0.446 + 0.1*(x[0] - 0.31)
powernorm: -1.061 + 0.01*x, 4.445 + 0.1*(x[0] - 0.31) | rayleigh: 1.177 + 0.01*x
rdist: 0.0 + 0.01*x, 1.6 + 0.1*(x[0] - 0.31) | recipinvgauss: 2.072 + 0.01*x, 0.63 + 0.1*(x[0] - 0.31)
reciprocal: 0.112 + 0.01*x, 0.01, 1.25 + 0.1*(x[0] - 0.31)
rel_breitwigner: 36.518 + 0.01*x, 36.545 + 0.1*(x[0] - 0.31)
rice: 1.357 + 0.01*x, 0.775 + 0.1*(x[0] - 0.31) | semicircular: 0.0 + 0.01*x
skewcauchy: 0.866 + 0.01*x, 0.5 + 0.1*(x[0] - 0.31) | skewnorm: 0.674 + 0.01*x, 4.0 + 0.1*(x[0] - 0.31)
studentized_range: 1.645 + 0.01*x, 3.0, 10.0 + 0.1*(x[0] - 0.31)
t: 0.0 + 0.01*x, 2.743 + 0.1*(x[0] - 0.31) | trapezoid: 0.5 + 0.01*x, 0.2, 0.8 + 0.1*(x[0] - 0.31)
triang: 0.351 + 0.01*x, 0.158 + 0.1*(x[0] - 0.31) | truncexpon: 0.684 + 0.01*x, 4.691 + 0.1*(x[0] - 0.31)
truncnorm: 0.167 + 0.01*x, -1.098, 2.731 + 0.1*(x[0] - 0.31)
truncnorm: 0.702 + 0.01*x, 0.1, 2.0 + 0.1*(x[0] - 0.31)
truncpareto: 1.431 + 0.01*x, 1.8, 5.3 + 0.1*(x[0] - 0.31) | truncpareto: 1.387 + 0.01*x, 2, 5
truncpareto: 3.606 + 0.01*x, -2, 5 | truncweibull_min: 0.87 + 0.01*x, 2.5, 0.25, 1.75 + 0.1*(x[0] - 0.31)
tukeylambda: 0.0 + 0.01*x, 3.132 + 0.1*(x[0] - 0.31) | uniform: 0.5 + 0.01*x
vonmises: 0.0 + 0.01*x, 3.994 + 0.1*(x[0] - 0.31) | vonmises_line: 0.0 + 0.01*x, 3.994 + 0.1*(x[0] - 0.31)
wald: 0.676 + 0.01*x | weibull_max: -0.88 + 0.01*x, 2.869 + 0.1*(x[0] - 0.31)
weibull_min: 0.815 + 0.01*x, 1.787 + 0.1*(x[0] - 0.31)
wrapcauchy: 3.142 + 0.01*x, 0.031 + 0.1*(x[0] - 0.31)""",
    "logpmf": """
bernoulli: 0, 0.3 + 0.1*(x[0] - 0.31) | betabinom: 4, 5, 2.3, 0.63 + 0.1*(x[0] - 0.31)
betanbinom: 0, 5, 9.3, 1 | binom: 2, 5, 0.4 + 0.1*(x[0] - 0.31) | boltzmann: 0, 1.4 + 0.1*(x[0] - 0.31), 19
dlaplace: 0, 0.8 + 0.1*(x[0] - 0.31) | geom: 1, 0.5 + 0.1*(x[0] - 0.31) | hypergeom: 2, 30, 12, 6
hypergeom: 2, 21, 3, 12 | hypergeom: 9, 21, 18, 11
nchypergeom_fisher: 28, 140, 80, 60, 0.5 + 0.1*(x[0] - 0.31)
nchypergeom_wallenius: 27, 140, 80, 60, 0.5 + 0.1*(x[0] - 0.31) | logser: 1, 0.6 + 0.1*(x[0] - 0.31)
nbinom: 0, 0.4, 0.4 + 0.1*(x[0] - 0.31) | nbinom: 4, 5, 0.5 + 0.1*(x[0] - 0.31)
planck: 1, 0.51 + 0.1*(x[0] - 0.31) | poisson: 0, 0.6 + 0.1*(x[0] - 0.31)
poisson_binom: 2, [0.1, 0.6, x[0], 0.8] | randint: 18, 7, 31 | skellam: 7, 15, 8
zipf: 1, 6.6 + 0.1*(x[0] - 0.31) | zipfian: 4, 0.75, 15 | zipfian: 2, 1.25 + 0.1*(x[0] - 0.31), 10
yulesimon: 1, 11.0 + 0.1*(x[0] - 0.31) | nhypergeom: 0, 20, 7, 1""",
}
"""Near the medians, for some shapes; the last one is traced, if it is a real number."""
_MULTIVARIATE = """
multivariate_normal: x[:3], y[:3], S | multivariate_t: x[:3], y[:3], S, 4
dirichlet: x[:3]/np.sum(x[:3]), y[:3] | wishart: S, 5, np.eye(3) | invwishart: S, 5, np.eye(3)
multinomial: [1, 2, 1], 4, x[:3]/np.sum(x[:3]) | matrix_normal: A, B, S, S
dirichlet_multinomial: [1, 2, 1], y[:3], 4 | matrix_t: A, B, S, S, 5
normal_inverse_gamma: x[0], y[0], x[1], y[1], 1.0 + x[2], y[2]
vonmises_fisher: x[:3]/np.linalg.norm(x[:3]), y[:3]/np.linalg.norm(y[:3]), 2.0
multivariate_hypergeom: [1, 2], [3, 4], 3"""
_OF_COUNTS = ("dirichlet_multinomial", "multinomial", "multivariate_hypergeom")


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """The names, the arguments, and what is read of the results."""
    for part in text.replace("\n", " | ").split(" | "):
        name, colon, call = part.strip().partition(": ")
        arguments, _, attribute = call.partition(" @ ")
        if colon:
            yield name, arguments, attribute


@cache
def scipy_calls() -> dict[str, str]:
    """The calls, as text, by the full name of the function."""
    found = {}
    for home, text in _TEXT.items():
        for name, arguments, attribute in _entries(text):
            found[f"scipy.{home}.{name}"] = f"scipy.{home}.{name}({arguments}){attribute}"
    for method, text in _DISTRIBUTIONS.items():
        for name, arguments, _ in _entries(text):
            found[f"scipy.stats.{name}"] = f"scipy.stats.{name}.{method}({arguments})"
    for name, arguments, _ in _entries(_MULTIVARIATE):
        method = "logpmf" if name in _OF_COUNTS else "logpdf"
        found[f"scipy.stats.{name}"] = f"scipy.stats.{name}.{method}({arguments})"
    return found


INACCURATE = ("ncfdtrinc",)
"""Those whose values SciPy finds to five digits, so that differences of them say nothing of derivatives."""
_NO_FUNCTIONS = (ModuleType, int, float, dict)
"""The types of modules, and of constants of physics."""
_HOMES = (
    *_TEXT,
    *("io", "linalg.interpolative"),
    "stats.sampling",
)


def without_a_call() -> dict[str, list[str]]:
    """The public names of SciPy's modules that have no call, by what they are."""
    found: dict[str, list[str]] = {}
    for home in sorted(set(_HOMES)):
        module = import_module(f"scipy.{home}")
        for name in sorted(set(getattr(module, "__all__", dir(module)))):
            value = getattr(module, name)
            if name.startswith("_") or name == "test" or isinstance(value, _NO_FUNCTIONS):
                continue
            measured = isinstance(value, np.ufunc) and name not in INACCURATE
            if f"scipy.{home}.{name}" not in scipy_calls() and not measured:
                found.setdefault(_sort_of(value), []).append(f"{home}.{name}")
    return found


def _sort_of(value: Any) -> str:
    if isinstance(value, type):
        return "an error or a warning" if issubclass(value, Exception) else "a class"
    return "a function that is not measured" if callable(value) else "a constant"


def with_modules(space: dict[str, Any]) -> dict[str, Any]:
    """The names of a call's program, with SciPy and its modules."""
    for home in _TEXT:
        import_module(f"scipy.{home}")
    return space | {"scipy": import_module("scipy")}
