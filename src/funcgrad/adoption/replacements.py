"""The functions, types and distributions that stand in for those of replaced modules."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

from funcgrad.adoption.namespaces import REPLACED


def replacements() -> dict[int, tuple[Any, Any]]:
    """Functions, types and distributions of replaced modules by id, each with its replacement.

    They are looked up when code has imported them by name: ``from math import sin``.
    """
    return _replacements(tuple(map(sys.modules.get, REPLACED)))


def original_behind(own: Any) -> Any:
    """The original that a function or a distribution of this package stands in for; itself if for none."""
    names = tuple(map(sys.modules.get, REPLACED))
    return _originals(names).get(id(own), (own, own))[1]


@lru_cache(maxsize=8)
def _originals(modules: tuple[ModuleType | None, ...]) -> dict[int, tuple[Any, Any]]:
    found = [
        (getattr(own, "__wrapped__", own), theirs)
        for theirs, own in _replacements(modules).values()
    ]
    return {id(own): (own, theirs) for own, theirs in found}


@lru_cache(maxsize=8)
def _replacements(modules: tuple[ModuleType | None, ...]) -> dict[int, tuple[Any, Any]]:
    # A module that may not be imported stands as None among the modules.
    names = [name for name, module in zip(REPLACED, modules, strict=True) if module is not None]
    # Imported here: code that runs as it is needs neither these modules nor `funcgrad.numpy`.
    from numpy import linalg, poly1d
    from numpy.lib import stride_tricks
    from numpy.polynomial import polyutils

    from funcgrad.adoption.builtin_names import max_, min_
    from funcgrad.adoption.scipy_functions import as_adopted
    from funcgrad.adoption.stand_ins import polynomials, striding

    found: dict[int, tuple[Any, Any]] = {
        id(theirs): (theirs, own)
        for theirs, own in (
            (max, max_),
            (min, min_),
            (polyutils.trimseq, polynomials.trimseq),
            (polyutils.trimcoef, polynomials.trimcoef),
            (stride_tricks.as_strided, striding.as_strided),
            (poly1d.__init__, polynomials.initialize),
            (poly1d.__array__, polynomials.numpys_coefficients),
            (poly1d.__truediv__, polynomials.divide),
            (poly1d.__rtruediv__, polynomials.divide_into),
            *polynomials.constant_series().items(),
        )
    }
    if real_if := getattr(linalg._linalg, "_to_real_if_imag_zero", None):  # since NumPy 2.5
        found[id(real_if)] = (real_if, polynomials.real_roots_if_all_are)
    if "scipy.stats" in sys.modules:
        from funcgrad.adoption.stand_ins import lazy_choices

        for theirs, own in (
            (lazy_choices.SCIPYS_APPLY_WHERE, lazy_choices.apply_where),
            (lazy_choices.SCIPYS_LAZY_SELECT, lazy_choices.lazy_select),
        ):
            found[id(theirs)] = (theirs, own)
    for name in names:
        original, stand_in = sys.modules[name], import_module(REPLACED[name])
        for key, own in vars(stand_in).items():
            theirs = getattr(original, key, own)
            if theirs is not own and not key.startswith("_") and callable(theirs):
                found[id(theirs)] = (theirs, as_adopted(own) if name.startswith("scipy.") else own)
        for path, (home, method) in _METHODS.get(name, {}).items():
            try:
                theirs = attrgetter(path)(original)
            except AttributeError:  # of another version of SciPy
                continue
            own = getattr(import_module(f"{stand_in.__name__}{home}"), method)
            compiled = not isinstance(theirs, FunctionType) and not hasattr(own, "writes")
            found[id(theirs)] = (theirs, as_adopted(own) if compiled else own)
    return found


_METHODS = {
    "statistics": {
        "_mean_stdev": ("", "mean_and_deviation"),
        "_normal_dist_inv_cdf": ("", "normal_quantile"),
    },
    "scipy.cluster.vq": {"_vq.update_cluster_means": ("", "cluster_means")},
    "scipy.integrate": {"ode.integrate": ("", "advance"), "OdeSolver.step": ("", "one_step")},
    "scipy.interpolate": {
        "BarycentricInterpolator._evaluate": (".barycentric", "evaluate_polynomial"),
        "FloaterHormannInterpolator.__call__": (".barycentric", "evaluate_rational"),
        "AAA._compute_weights": (".barycentric", "weights_of_aaa"),
        "AAA.clean_up": (".barycentric", "clean_up"),
        "AAA.poles": (".barycentric", "poles"),
        "AAA.roots": (".barycentric", "roots"),
        "_ppoly.evaluate_bernstein": (".polynomial_pieces", "evaluate_bernstein"),
        "_interpnd._ndim_coords_from_arrays": (".polynomial_pieces", "coordinates_of"),
        "_ppoly.evaluate_nd": (".polynomial_pieces", "evaluate_nd"),
        "_ppoly.fix_continuity": (".polynomial_pieces", "fix_continuity"),
    },
    "scipy.sparse.linalg": {
        "_expm_multiply._expm_multiply_simple_core": ("", "taylor_steps"),
        "_expm_multiply._expm_multiply_interval": ("", "exponentials_at_times"),
    },
    "scipy.ndimage": {"_filters._nd_image.min_or_max_filter": (".morphology", "min_or_max_filter")},
    "scipy.optimize": {
        "_chandrupatla._chandrupatla": (".elementwise_solutions", "elementwise_root"),
        "_chandrupatla._chandrupatla_minimize": (".elementwise_solutions", "elementwise_minimum"),
    },
    "scipy.odr": {"_odrpack._conv": ("", "setting_of_odr")},
    "scipy.signal": {
        "_filter_design._find_nat_freq": ("", "natural_frequency"),
        "_fir_filter_design._dhtm": ("", "minimum_phase_of"),
        "_waveforms._chirp_phase": ("", "chirp_phase"),
        "_spline.symiirorder1_ic": ("", "first_order_conditions"),
        "_spline.symiirorder2_ic_fwd": ("", "forward_conditions"),
        "_spline.symiirorder2_ic_bwd": ("", "backward_conditions"),
    },
    "scipy.special": {"_orthogonal.orthopoly1d._scale": ("", "scale_polynomial")},
    "scipy.stats": {
        "_ansari_swilk_statistics.swilk": ("", "swilk"),
        "_stats_pythran.siegelslopes": ("", "siegel_slope"),
        "_morestats._yeojohnson_transform": ("", "yeojohnson_power"),
        **{
            f"_discrete_distns.poisson_binom_gen._{name}": (
                ".compiled_masses",
                f"poisson_binomial_{name}",
            )
            for name in ("pmf", "cdf")
        },
        "_stats_py._power_divergence": ("", "divergence_of_power"),
        "_multicomp._pvalue_dunnett": ("", "dunnett_significance"),
        "rv_continuous._logcdf": (".generic_methods", "log_cdf"),
        "rv_continuous._logsf": (".generic_methods", "log_sf"),
        "rv_discrete.pmf": (".generic_methods", "mass_of_discrete"),
        "rv_discrete.cdf": (".generic_methods", "cdf_of_discrete"),
        "rv_discrete.sf": (".generic_methods", "sf_of_discrete"),
        **{
            f"_discrete_distns.{name}_gen._{method}": (".rising_factorials", f"{name}_{method}")
            for name, methods in (
                ("betabinom", ("logpmf",)),
                ("betanbinom", ("logpmf",)),
                ("yulesimon", ("cdf", "sf", "logsf")),
            )
            for method in methods
        },
        "rv_continuous._penalized_nnlf": (".likelihood", "penalized_likelihood"),
        "rv_continuous._entropy": (".expectations", "entropy_by_quadrature"),
        "rv_continuous.expect": (".expectations", "expect_by_quadrature"),
        "_discrete_distns.hypergeom_gen._stats": (".discrete", "moments_of_hypergeom"),
        "_continuous_distns.cosine_gen._logpdf": (".circular", "cosine_logpdf"),
        **{
            f"_continuous_distns.pearson3_gen._{name}": (".pearson_families", f"pearson3_{name}")
            for name in ("logpdf", "cdf", "sf", "ppf")
        },
        "_continuous_distns.truncnorm_gen._stats": (".normal_families", "moments_of_truncnorm"),
        "_continuous_distns.truncpareto_gen._munp": (".expectations", "moments_of_truncpareto"),
        "_continuous_distns.trapezoid_gen._munp": (".expectations", "moments_of_trapezoid"),
        "_continuous_distns.genpareto_gen._munp": (".expectations", "moments_of_genpareto"),
        **{
            f"_new_distributions.scu._binom_{name}": (".compiled_masses", f"binomial_{name}")
            for name in ("pmf", "cdf", "sf", "ppf", "isf")
        },
        **{
            f"_new_distributions.{kind}._{tail}_formula": (
                ".ends_at_infinity",
                f"{name}_{tail}_formula",
            )
            for kind, name in (("StandardNormal", "normal"), ("Logistic", "logistic"))
            for tail in ("cdf", "ccdf", "logcdf", "logccdf", *["pdf"] * (name == "logistic"))
        },
        "_kde.gaussian_kernel_estimate": (".kernel_density", "density_estimate"),
        "_kde.gaussian_kernel_estimate_log": (".kernel_density", "log_density_estimate"),
        "_levy_stable.levy_stable_gen._cdf": (".stable_families", "stable_cdf"),
        "_levy_stable.levy_stable_gen._pdf": (".stable_families", "stable_pdf"),
        "_multivariate._PSD.__init__": (".multivariate", "initialize_psd"),
        "_multivariate.invwishart_gen._rvs": (".multivariate", "draws_of_invwishart"),
        "_multivariate.vonmises_fisher_gen._rotate_samples": (".multivariate", "rotated_from_pole"),
        "_qmc._cy_wrapper_centered_discrepancy": (".discrepancies", "centered_discrepancy"),
        "_qmc._cy_wrapper_l2_star_discrepancy": (".discrepancies", "l2_star_discrepancy"),
        "_qmc._cy_wrapper_mixture_discrepancy": (".discrepancies", "mixture_discrepancy"),
        "_qmc._cy_wrapper_update_discrepancy": (".discrepancies", "updated_discrepancy"),
        "_qmc._cy_wrapper_wrap_around_discrepancy": (".discrepancies", "wrap_around_discrepancy"),
    },
}
"""Methods of SciPy's classes and functions of its compiled code, and the function that stands in for each.

A function is given by its module, below that which stands in for SciPy's, and its name.
"""
