"""Calls of every public function of NumPy, as text: what tools/support_table.py measures.

``x`` and ``y`` are vectors of four floats, in (0, 1) and (1, 2), ``A`` and ``B`` matrices, ``S`` a symmetric
positive definite one; ``k`` are integers and ``c`` flags, which are no arguments of derivatives.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tools.scipy_calls import INACCURATE, scipy_calls

_TEXT = """
abs: x - y | absolute: x - y | acosh: y | arccosh: y | angle: x + 1j*y | append: x, y
arange: x[0], 3.0, 0.5 | apply_along_axis: lambda v: v*v.sum(), 0, A | apply_over_axes: np.sum, A, [0]
arctan2: x, y | atan2: x, y | argpartition: x, 1 | around: 3*x | round: 3*x | array: [x, y]
array_equal: x, y | array_equiv: x, y | array_split: x, 3 | asarray: [x, y] | asanyarray: [x, y]
asarray_chkfinite: [x, y] | ascontiguousarray: x | asfortranarray: A | astype: x, float
asmatrix: A | average: x, weights=y | bincount: k, x | block: [[A, B], [B, A]] | broadcast_arrays: x, A[:, :1]
bmat: [[A, B], [B, A]] | matrix: A
broadcast_to: x, (2, 4) | choose: k[:2]//2, [x[:2], y[:2]] | clip: x, 0.4, y*0.5 | column_stack: [x, y]
compress: c, x | concat: [x, y] | concatenate: [x, y] | convolve: x, y | copysign: x, -y
correlate: x, y, 'full' | cov: A, B | corrcoef: A | cross: x[:3], y[:3] | cumulative_prod: x
cumulative_sum: x | delete: x, 1 | diag: x | digitize: x, [0.3, 0.6] | divmod: y, x | dot: A, x[:3]
dsplit: x.reshape(1, 2, 2), 2 | dstack: [x, y] | einsum: 'ij,j', A, x[:3] | expand_dims: x, 0
extract: c, x | fmax: x, y | fmin: x, y | fmod: y, x | full: 3, x[0] | full_like: x, y[0]
float_power: x, y | power: x, y | pow: x, y | fromfunction: lambda i: x[0]*i, (3,)
fromiter: iter([x[0], y[0]]), float | frompyfunc: lambda v: v*v, 1, 1 | geomspace: x, y, 3 | gradient: x
heaviside: x - y, 0.5 | histogram: k, 2, weights=x | hypot: x, y | histogram2d: k, k, 2, weights=x
histogramdd: [k, k], 2, weights=x | histogram_bin_edges: x, 3 | hsplit: x, 2 | hstack: [x, y]
inner: x, y | insert: x, 1, y[0] | interp: 3*x, [0.0, 1.0, 2.0, 3.0], y | intersect1d: x, x | ix_: x, y
kaiser: 4, x[0] | kron: x, y | ldexp: x, 2 | linspace: x, y, 3 | logaddexp: x, y | logaddexp2: x, y
logspace: x, y, 3 | matmul: A, B | matvec: A, x[:3] | vecmat: x[:3], A | maximum: x, y | minimum: x, y
meshgrid: x, y | mod: y, x | remainder: y, x | floor_divide: y, x | moveaxis: A, 0, 1 | nan_to_num: x
nanpercentile: x, 30 | nanquantile: x, 0.3 | percentile: x, 30 | quantile: x, 0.3 | outer: x, y
pad: x, 2, 'linear_ramp' | partition: x, 2 | permute_dims: A, (1, 0)
piecewise: x, [x < 0.5], [np.sin, np.cos] | poly: x | polyadd: x, y | polyder: x | polydiv: y, x[:2]
polyfit: x, y, 2 | polyint: x | polymul: x, y | polysub: x, y | polyval: x, y | roots: x
real_if_close: x | repeat: x, 2 | require: x | reshape: x, (2, 2) | resize: x, 6 | roll: x, 1
rollaxis: A, 1 | rot90: A | row_stack: [x, y] | searchsorted: [0.3, 0.6], x | select: [x < 0.5], [x], y
setdiff1d: x, y | setxor1d: x, y | split: x, 2 | stack: [x, y] | subtract: x, y | add: x, y
multiply: x, y | divide: x, y | true_divide: x, y | swapaxes: A, 0, 1 | take: x, k[:2]
take_along_axis: x, k, 0 | tensordot: A, B, 1 | tile: x, 2 | trapezoid: x, dx=y[0] | trim_zeros: x
tril: A | triu: A | trace: A | diagonal: A | diagflat: x | transpose: A | matrix_transpose: A
union1d: x, y | unwrap: 6*x | vander: x | vdot: x, y | vecdot: x, y | vsplit: A, 3 | vstack: [x, y]
where: c, x, y | flipud: A | fliplr: A | vectorize: lambda v: v*v | imag: x + 1j*y | real: x*(1 + 1j*y)
conj: x + 1j*y | conjugate: x + 1j*y | sort_complex: x + 1j*y | unstack: A | isin: x, y | isclose: x, y
allclose: x, y | squeeze: A[:1] | lexsort: (x, y) | count_nonzero: x | copyto: x, y
fill_diagonal: A, x[0] | place: x, c, y | put: x, 0, y[0] | putmask: x, c, y
put_along_axis: x, k, y, 0 | ones_like: x | zeros_like: x | empty_like: x[:0] | greater: x, y | less: x, y
greater_equal: x, y | less_equal: x, y | equal: x, y | not_equal: x, y | logical_and: x, y
logical_or: x, y | logical_xor: x, y | nextafter: x, y | signbit: x | result_type: x, y
can_cast: 'f4', 'f8' | shape: x | size: x | ndim: x | array2string: x | array_repr: x | array_str: x
isdtype: x.dtype, 'real floating' | iterable: x | einsum_path: 'ij,j', A, x[:3]
broadcast_shapes: (2, 1), (3,) | may_share_memory: x, y | shares_memory: x, y | common_type: x, y
ravel_multi_index: (k, k), (4, 4) | unravel_index: k, (2, 2) | packbits: k | unpackbits: k.astype('u1')
bitwise_and: k, k | bitwise_or: k, k | bitwise_xor: k, k | bitwise_not: k | bitwise_invert: k
invert: k | bitwise_count: k | bitwise_left_shift: k, k | bitwise_right_shift: k, k | left_shift: k, k
right_shift: k, k | gcd: k, k | lcm: k, k | min_scalar_type: 3 | promote_types: 'f4', 'f8'
tril_indices_from: A | triu_indices_from: A | diag_indices_from: A | diag_indices: 3 | tril_indices: 3
triu_indices: 3 | mask_indices: 3, np.triu | indices: (2, 2) | isfortran: x | isscalar: x[0] | zeros: 3
ones: 3 | empty: 0 | eye: 3 | identity: 3 | tri: 3 | bartlett: 4 | blackman: 4 | hamming: 4 | hanning: 4
base_repr: 5 | binary_repr: 5 | issubdtype: x.dtype, float | typename: 'd' | mintypecode: 'd'
iscomplexobj: x | isrealobj: x | ndenumerate: x | format_float_positional: x[0]
format_float_scientific: x[0] | tan: x | c_[]: x, y | r_[]: x, 1.0, y | s_[]: 1:2 | index_exp[]: 1:2
mgrid[]: 0:2 | ogrid[]: 0:2 | broadcast: x, A[:, :1] | poly1d: x | ndindex: 2, 2 | emath.sqrt: x
emath.log: x | emath.power: x, y | emath.arccos: x | linalg.cholesky: S | linalg.cond: A
linalg.cross: x[:3], y[:3] | linalg.det: A | linalg.diagonal: A | linalg.eig: A | linalg.eigh: S
linalg.eigvals: A | linalg.eigvalsh: S | linalg.inv: A | linalg.lstsq: A, x[:3] | linalg.matmul: A, B
linalg.matrix_norm: A | linalg.matrix_power: A, 3 | linalg.matrix_rank: A | linalg.matrix_transpose: A
linalg.multi_dot: [A, B, A] | linalg.norm: A | linalg.outer: x, y | linalg.pinv: A | linalg.qr: A
linalg.slogdet: A | linalg.solve: A, B | linalg.svd: A | linalg.svdvals: A
linalg.tensordot: A, B, axes=1 | linalg.tensorinv: A, 1 | linalg.tensorsolve: A, x[:3] | linalg.trace: A
linalg.vecdot: x, y | linalg.vector_norm: x | fft.fftfreq: 4 | fft.rfftfreq: 4 | fft.fft2: A
fft.ifft2: A | fft.rfft2: A | fft.irfft2: A | fft.hfft: x + 1j*y
random.binomial: 3, x | random.bytes: 3 | random.choice: x, 3 | random.exponential: y | random.geometric: x
random.gumbel: x, y | random.hypergeometric: 3, 4, k + 1 | random.laplace: x, y | random.logistic: x, y
random.lognormal: x, y | random.logseries: x | random.multinomial: 3, x/4 | random.poisson: x
random.multivariate_normal: x[:3], A @ A.T + np.eye(3) | random.negative_binomial: 3, x
random.normal: x, y | random.pareto: y
random.permutation: x | random.power: y | random.rand: 3 | random.randint: 3 | random.randn: 3
random.random: 3 | random.random_integers: 3 | random.random_sample: 3 | random.ranf: 3 | random.sample: 3
random.rayleigh: y | random.standard_cauchy: 3 | random.standard_exponential: 3 | random.standard_normal: 3
random.triangular: x, 1 + x, 1 + y | random.uniform: x, y | random.vonmises: x, 2.0
random.weibull: y | random.zipf: 1 + y
"""

_SERIES = {  # of each module of polynomial, by the name without its prefix
    "add": "x, y",
    "companion": "y",
    "der": "x",
    "div": "y, x[:2]",
    "fit": "x, y, 2",
    "fromroots": "x",
    "grid2d": "x[:2], y[:2], A",
    "grid3d": "x[:2], y[:2], x[:2], A[None]",
    "int": "x",
    "line": "x[0], y[0]",
    "mul": "x, y",
    "mulx": "x",
    "pow": "x, 3",
    "roots": "y",
    "sub": "x, y",
    "trim": "x",
    "val": "x, y",
    "val2d": "x[:2], y[:2], A",
    "val3d": "x[:2], y[:2], x[:2], A[None]",
    "valfromroots": "x, y",
    "vander": "x, 3",
    "vander2d": "x, y, [1, 2]",
    "vander3d": "x, y, x, [1, 1, 1]",
    "weight": "x",
    "gauss": "3",
    "interpolate": "np.sin, 3",
    "2poly": "x",
    "pts1": "3",
    "pts2": "3",
    "poly2": "x",
}
_CLASSES = ("Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE")
_PREFIXES = {
    "chebyshev": "cheb",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
    "legendre": "leg",
    "polynomial": "poly",
}

_OF_COMPLEX = ("fft.fft", "fft.fftn", "fft.ifft", "fft.ifftn", "fft.irfft", "fft.irfftn")

OTHER = {
    "reads or writes files, memory or text": """
        frombuffer fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed
        from_dlpack memmap""",
    "a setting, or a fact of the installation": """
        errstate get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions
        setbufsize seterr seterrcall show_config show_runtime test linalg.test fft.test polynomial.test
        polynomial.set_default_printstyle little_endian ScalarType sctypeDict typecodes linalg.LinAlgError""",
    "of dates, text or records": """
        busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data
        is_busday isnat timedelta64 recarray record str_ bytes_ character void object_""",
    "an iterator of arrays in memory": "flatiter nested_iters",
    "an iterator, whose entries may be traced": "nditer",
    "a draw that moves with its quantile as a parameter changes, and not as NumPy's sampler does": """
        random.beta random.chisquare random.dirichlet random.f random.gamma random.standard_gamma
        random.noncentral_chisquare random.noncentral_f random.standard_t random.wald""",
    "a generator of random numbers, or its state": """
        random.BitGenerator random.Generator random.MT19937 random.PCG64 random.PCG64DXSM random.Philox
        random.RandomState random.SFC64 random.SeedSequence random.default_rng random.get_bit_generator
        random.get_state random.seed random.set_bit_generator random.set_state random.shuffle random.test""",
    "a constant": "False_ True_ e euler_gamma inf nan newaxis pi",
    "a class of numbers, arrays or functions": "ufunc generic flexible ndarray dtype finfo iinfo",
}


def other() -> dict[str, str]:
    """The names that are no functions of numbers, and why."""
    found = {name: why for why, names in OTHER.items() for name in names.split()}
    kinds = [n for n, v in vars(np).items() if isinstance(v, type) and issubclass(v, np.generic)]
    return dict.fromkeys(kinds, "a class of numbers, arrays or functions") | found


def public_names() -> Iterator[str]:
    """The public names of numpy and of its linalg, fft, polynomial and random, without ``numpy.``."""
    homes: dict[str, Any] = {
        "": np,
        "linalg.": np.linalg,
        "fft.": np.fft,
        "polynomial.": np.polynomial,
        "random.": np.random,
    }
    homes |= {f"polynomial.{name}.": getattr(np.polynomial, name) for name in _PREFIXES}
    for prefix, home in homes.items():
        # numexpr adds a name to numpy when it is imported.
        for name in sorted(np.__all__ if home is np else dir(home)):
            value = getattr(home, name)
            series = prefix.count(".") == 2
            if (
                name.startswith("_")
                or isinstance(value, types.ModuleType)
                or (series and not callable(value))
            ):
                continue
            if series and (isinstance(value, type) or not value.__module__.endswith(prefix[:-1])):
                continue
            yield prefix + name


_SPECIAL_ARGUMENTS = (
    "x",
    "x, y",
    "2, x",
    "2, x, y",
    "x, y, 0.4",
    "0.5, 1.5, x",
    "2, 1, x",
    "0.4, 0.6, 1.5, x",
)
"""Arguments of functions of scipy.special, in the order in which they are tried."""


_SPECIAL_CALLS = {
    "lpmv": "1, 2, x",
    **dict.fromkeys(("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"), "2, 5, x"),
    **dict.fromkeys(("expn", "kn", "yn"), "2, y"),
    **dict.fromkeys(("pbvv", "pbwa"), "0.5, x"),
    **dict.fromkeys(("wright_bessel", "log_wright_bessel"), "1, 1, x"),
    **dict.fromkeys([f"mathieu_{kind}em" for kind in "cs"], "2, 1.3, x"),
    **dict.fromkeys([f"mathieu_mod{k}em{n}" for k in "cs" for n in (1, 2)], "2, 1.3, x"),
    **dict.fromkeys(("obl_cv", "pro_cv"), "1, 2, x"),
    **dict.fromkeys(("obl_ang1", "obl_rad1", "obl_rad2", "pro_ang1"), "1, 2, 1.3, x"),
    **dict.fromkeys(("pro_rad1", "pro_rad2"), "1, 2, 1.3, y"),
    **dict.fromkeys(("obl_ang1_cv", "obl_rad1_cv", "obl_rad2_cv"), "1, 2, 1.3, 5.27, x"),
    "pro_ang1_cv": "1, 2, 1.3, 6.71, x",
    **dict.fromkeys(("pro_rad1_cv", "pro_rad2_cv"), "1, 2, 1.3, 6.71, y"),
    "besselpoly": "x, 0.5, 1.0",
    "ndtri_exp": "-x",
    "bdtrik": "x, 5.3, 0.2",
    "nbdtrik": "x, 3.3, 0.6",
    "bdtrin": "0.5, 0.4, x",
    "nbdtrin": "y, 0.6*x, 0.4",
    "chndtr": "x, 2.5, y",
    "chndtrix": "0.4, 2.5, x",
    "chndtrinc": "2.3, 3.1, 0.2 + 0.3*x",
    "chndtridf": "2, 0.1 + 0.3*x, y",
    "ncfdtridfd": "2.3, 0.38 + 0.05*x, 1.5, y",
    "ncfdtridfn": "0.488 + 0.01*x, 3.1, 0.7, 1.2",
    "nctdtridf": "0.84 + 0.05*x, 0.3, 1.7",
    "btdtrib": "y, x, 0.3",
    "fdtridfd": "2.2, 0.6, 1.1 + 0.1*x",
    "stdtridf": "0.9, 1.3 + 0.3*x",
}
"""Arguments of those of which some must be whole numbers, or have no derivative."""


def special_calls() -> dict[str, str]:
    """The calls of functions of scipy.special, as text."""
    import scipy.special as sc

    found = {}
    for name in sorted(sc.__all__):
        function = getattr(sc, name)
        if isinstance(function, np.ufunc) and name not in INACCURATE:
            tried = [_SPECIAL_CALLS[name]] if name in _SPECIAL_CALLS else _SPECIAL_ARGUMENTS
            call = next((c for c in tried if _is_finite(function, c)), None)
            if call is None:
                raise ValueError(
                    f"{name}: expected arguments with finite values; add some to _SPECIAL_CALLS"
                )
            found[f"scipy.special.{name}"] = f"sc.{name}({call})"
    return found


def _is_finite(function: np.ufunc, arguments: str) -> bool:
    values = eval(f"({arguments},)", {"x": np.array([0.31, 0.72]), "y": np.array([1.21, 1.83])})
    if len(values) != function.nin:
        return False
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = function(*values)
    except TypeError:
        return False
    return all(np.all(np.isfinite(part)) for part in (made if isinstance(made, tuple) else (made,)))


_MASKED = """
abs: m | add: m, x | all: m > 0 | allclose: m, m | allequal: m, m | angle: m | anom: m | any: m > 1
append: m, x | apply_along_axis: np.ma.sum, 0, np.ma.masked_less(A, 0.25) | arange: 4)*(x | arccos: m
arcsin: m | arctan: m | arctan2: m, y | argmax: m | argmin: m | argsort: m | around: 7*m | array: x, mask=c
asanyarray: m | asarray: m | atleast_1d: m | atleast_2d: m | average: m, weights=y | ceil: m
choose: k % 2, [m, x] | clip: m, 0.4, 0.8 | clump_unmasked: m | column_stack: (m, x) | compress: c, m
compressed: m | concatenate: (m, x) | convolve: m, y | copy: m | corrcoef: m, y | correlate: m, y | cos: m
cosh: m | count: m | cov: m, y | cumprod: m | cumsum: m | diag: m | diff: m | divide: y, m | dot: m, y
dstack: (m, x) | ediff1d: m | equal: m, x | exp: m | expand_dims: m, 0 | fabs: m | filled: m, 0.5
fix_invalid: np.log(x - 0.5) | floor: m | floor_divide: y, m | fmod: y, m | getdata: m | getmask: m
getmaskarray: m | greater: m, 0.6 | hstack: (m, x) | hypot: m, y | inner: m, y | is_masked: m
isMaskedArray: m | less: m, 0.6 | log: x - 0.5 | log10: m | log2: m | logical_and: m > 0.5, c
logical_not: m > 0.6 | mask_or: c, x > 0.6 | mask_rows: np.ma.masked_less(A, -0.3) | masked_array: x, c
masked_equal: k, 2)*(x | masked_greater: x, 0.6 | masked_greater_equal: x, 0.6 | masked_inside: x, 0.5, 0.6
masked_invalid: np.log(x - 0.5) | masked_less: x, 0.4 | masked_less_equal: x, 0.4
masked_not_equal: k, 2)*(x | masked_outside: x, 0.4, 0.8 | masked_values: x, 0.7 | masked_where: x > 0.6, x
max: m | maximum: m, 0.6 | mean: m | median: m | min: m | minimum: m, 0.6 | multiply: m, y | ndim: m
negative: m | nonzero: m > 0.6 | not_equal: m, x | notmasked_contiguous: m | notmasked_edges: m
ones_like: m | outer: m, y | polyfit: y, m, 1 | power: m, y | prod: m | ptp: m
ravel: np.ma.masked_less(A, 0) | remainder: y, m | repeat: m, 2 | reshape: m, (2, 2) | resize: m, (2, 4)
round: 7*m | shape: m | sin: m | sinh: m | size: m | sort: m | sqrt: x - 0.5 | squeeze: m | stack: (m, x)
std: m | subtract: m, y | sum: m | swapaxes: np.ma.masked_less(A, 0), 0, 1 | take: m, [0, 2] | tan: m
tanh: m | trace: np.ma.masked_less(A, 0.25) | transpose: np.ma.masked_less(A, 0) | true_divide: y, m
unique: m | vander: m, 3 | var: m | vstack: (m, x) | where: x > 0.6, m, y | zeros_like: m
"""
"""Functions of `numpy.ma` and their arguments, of which m is a masked array."""

_GENERATOR = "np.random.RandomState(0)."
"""Draws from the start, so that each run has the same numbers."""


def calls() -> dict[str, str]:
    """The call of each function, as text."""
    given = special_calls() | scipy_calls()
    for part in _TEXT.replace("\n", " | ").split(" | "):
        name, _, arguments = part.strip().partition(": ")
        if name.endswith("[]"):
            given[name[:-2]] = f"np.{name[:-2]}[{arguments}]"
        elif name:
            drawn = name.removeprefix("random.")
            of_generator = drawn != name and hasattr(np.random.RandomState, drawn)
            given[name] = (
                f"{_GENERATOR}{drawn}({arguments})" if of_generator else f"np.{name}({arguments})"
            )
    for part in _MASKED.strip().replace("\n", " | ").split(" | "):
        name, _, arguments = part.partition(": ")
        given[f"ma.{name}"] = f"np.ma.{name}({arguments})"
    for name in ("frompyfunc", "vectorize"):
        given[name] += "(x)"
    for name in public_names():
        found = _series_call(name)
        if found:
            given[name] = found
        elif name not in given and callable(named(name)):
            given[name] = f"np.{name}({'x + 1j*y' if name in _OF_COMPLEX else 'x'})"
    return given


def named(name: str) -> Any:
    """The value of a name of NumPy."""
    value: Any = np
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _series_call(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] != "polynomial" or len(parts) == 1:
        return None
    if parts[1] in _CLASSES:
        return f"(np.{name}(x)*2 + np.{name}(y).deriv())(y)"
    if parts[1] not in _PREFIXES:
        return None
    for key in (parts[-1].removeprefix(_PREFIXES[parts[1]]), parts[-1]):
        if key in _SERIES:
            return f"np.{name}({_SERIES[key]})"
    return f"np.{name}(x)"
