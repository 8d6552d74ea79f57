"""Calls of the functions of SciPy's modules, as text: what tools/support_table.py measures.

The arguments are those of `tools.support_calls`. Distributions, classes of interpolants, and functions of
``scipy.special`` that are no ufuncs are called by a method or as a function of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

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
coshm: A | cosm: A | det: A | eig: A
eig_banded: np.stack([x, 2 + y]) | eigh: S @ [0] | eigh_tridiagonal: 2 + y, x[:3]
eigvals: A | eigvals_banded: np.stack([x, 2 + y]) | eigvalsh: S | eigvalsh_tridiagonal: 2 + y, x[:3]
expm: A | expm_cond: A | expm_frechet: A, B | fiedler: x | fiedler_companion: y
fractional_matrix_power: S, 0.5 | funm: S, np.sin | hankel: x, y | hessenberg: A | inv: A
khatri_rao: A, B | ldl: S | leslie: x, y[:3] | logm: S | lstsq: A, x[:3] | lu: A | lu_factor: A
lu_solve: scipy.linalg.lu_factor(A), x[:3] | matmul_toeplitz: x, y | norm: A | null_space: A[:2]
orth: A[:, :2] | orthogonal_procrustes: A, B | pinv: A[:2] | pinvh: S | polar: A | qr: A
qr_multiply: A, B | rq: A | schur: S | signm: S | sinhm: A | sinm: A | solve: A, x[:3]
solve_banded: (1, 1), np.stack([x, 3 + y, x]), y | solve_circulant: 3*np.eye(4)[0] + x, y
solve_continuous_are: A, B, S, S | solve_continuous_lyapunov: A, S | solve_discrete_are: A/4, B, S, S
solve_discrete_lyapunov: A/4, S | solve_lyapunov: A, S | solve_sylvester: A, S, B
solve_toeplitz: 3*np.eye(4)[0] + x, y | solve_triangular: A, x[:3]
solveh_banded: np.stack([x, 3 + y]), y | sqrtm: S | subspace_angles: A[:, :1], B[:, :1] | svd: A
svdvals: A | tanhm: A/4 | tanm: A/4 | toeplitz: x, y""",
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
cont2discrete: (A[:2, :2], A[:2, 2:], A[2:, :2], A[2:, 2:]), 0.1""",
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
histogram: x, 0.0, 1.0, 3 | label: x > 0.5 | distance_transform_edt: c""",
    "interpolate": """
barycentric_interpolate: [0.0, 1.0, 2.0, 3.0], x, y
griddata: [[0, 0], [0, 3], [3, 0], [3, 3]], x, y[:2]*0.5 | interpn: ([0.0, 1.0, 2.0],)*2, A, [y[0], x[0]]
krogh_interpolate: [0.0, 1.0, 2.0, 3.0], x, y | lagrange: [0.0, 1.0, 2.0, 3.0], x | pade: y, 2
pchip_interpolate: [0.0, 1.0, 2.0, 3.0], x, y | splev: y, (np.arange(8.0) - 2, x, 3)
splint: 0.5, 1.0, (np.arange(8.0) - 2, x, 3) | splrep: [0.0, 1.0, 2.0, 3.0], x
make_interp_spline: [0.0, 1.0, 2.0, 3.0], x @ (y)
make_smoothing_spline: np.arange(5.0), np.append(x, y[0]), lam=0.5 @ (y)""",
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
cubature: lambda t: x[0]*t[:, 0]**2, [0.0], [1.0] @ .estimate | qmc_quad: lambda t: x[0]*t[0], 0.0, 1.0
solve_bvp: lambda t, u: u, lambda a, b: a, [0.0, 1.0], [x[:2]] @ .y""",
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
linprog: x + 1, None, None, [[1, 1, 1, 1]], [2.0] @ .x | linear_sum_assignment: A
isotonic_regression: x @ .x | rosen: x | rosen_der: x | rosen_hess: x | rosen_hess_prod: x, y
approx_fprime: x, np.sum | fmin: lambda t: (t[0] - x[0])**2, [0.0], disp=False
fmin_bfgs: lambda t: (t[0] - x[0])**2, [0.0], disp=False | fminbound: lambda t: (t - x[0])**2, 0.0, 1.0
brent: lambda t: (t - x[0])**2
differential_evolution: lambda t: (t[0] - x[0])**2, [(0.0, 1.0)], rng=0 @ .x
newton_krylov: lambda t: t**3 - y[0], 1.0 | broyden1: lambda t: t**3 - y[0], 1.0
anderson: lambda t: t**3 - y[0], 1.0""",
    "spatial": """
distance_matrix: A, B | minkowski_distance: x, y | minkowski_distance_p: x, y | procrustes: A, B
geometric_slerp: x/np.sqrt(np.sum(x**2)), y/np.sqrt(np.sum(y**2)), [0.3]""",
    "spatial.distance": """
braycurtis: x, y | canberra: x, y | cdist: A, B | chebyshev: x, y | cityblock: x, y | correlation: x, y
cosine: x, y | directed_hausdorff: A, B | euclidean: x, y | jensenshannon: x, y
mahalanobis: x[:3], y[:3], S | minkowski: x, y | pdist: A | seuclidean: x, y, x + y | sqeuclidean: x, y
squareform: x[:3]""",
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
yeojohnson_llf: 0.3, x | zmap: x, y | zscore: x""",
    "cluster.vq": "whiten: A | vq: A, B",
}
_MULTIVARIATE = """
multivariate_normal: x[:3], y[:3], S | multivariate_t: x[:3], y[:3], S, 4
dirichlet: x[:3]/np.sum(x[:3]), y[:3] | wishart: S, 5, np.eye(3) | invwishart: S, 5, np.eye(3)
multinomial: [1, 2, 1], 4, x[:3]/np.sum(x[:3]) | matrix_normal: A, B, S, S"""


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """The names, the arguments, and what is read of the results."""
    for part in text.replace("\n", " | ").split(" | "):
        name, colon, call = part.strip().partition(": ")
        arguments, _, attribute = call.partition(" @ ")
        if colon:
            yield name, arguments, attribute


def scipy_calls() -> dict[str, str]:
    """The calls, as text, by the full name of the function."""
    found = {}
    for home, text in _TEXT.items():
        for name, arguments, attribute in _entries(text):
            found[f"scipy.{home}.{name}"] = f"scipy.{home}.{name}({arguments}){attribute}"
    for name, arguments, _ in _entries(_MULTIVARIATE):
        method = "logpmf" if name == "multinomial" else "logpdf"
        found[f"scipy.stats.{name}"] = f"scipy.stats.{name}.{method}({arguments})"
    return found


def with_modules(space: dict[str, Any]) -> dict[str, Any]:
    """The names of a call's program, with SciPy and its modules."""
    for home in _TEXT:
        import_module(f"scipy.{home}")
    return space | {"scipy": import_module("scipy")}
