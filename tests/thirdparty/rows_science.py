"""Steam, satellites, spectra, the sun and the earth, matrices, signals, curves and rotations."""

import datetime

import numpy as np

from tests.thirdparty import more_calls
from tests.thirdparty.case import Case, D

X = np.linspace(-1.4, 1.9, 6)
Z = X + 1j * np.cos(X)
P3 = np.array([0.3, -0.2, 0.5])
Q4 = np.array([0.7, 0.1, -0.4, 0.58])
SPD = np.array(
    [[6.0, 0.5, -0.3, 0.2], [0.5, 5.2, 0.7, -0.4], [-0.3, 0.7, 4.5, 0.6], [0.2, -0.4, 0.6, 5.0]]
)
SPD2 = np.array(
    [[4.0, -0.2, 0.1, 0.3], [-0.2, 3.6, 0.4, 0.5], [0.1, 0.4, 5.5, -0.6], [0.3, 0.5, -0.6, 4.2]]
)
DATA = np.array(
    [0.743, 0.7686, 1.4356, 2.2042, 2.4914, 2.9392, 3.0479, 3.2579, 4.3462, 6.1169, 6.5197, 7.8634]
)
SIGNAL = 0.1 * np.random.default_rng(0).normal(size=12_000)
NODES = np.array([[0.0, 0.6, 1.1, 1.0], [0.1, 1.0, 0.4, 0.2]])
WHEN = datetime.datetime(2020, 5, 5, 12, 0, tzinfo=datetime.UTC)

ROWS = [
    # iapws
    Case("iapws._iapws._Viscosity", (998.0, D(298.15))),
    Case("iapws._iapws._ThCond", (998.0, D(298.15))),
    Case("iapws._iapws._Tension", (D(300.0),)),
    Case("iapws._iapws._Dielectric", (999.2, D(298.15))),
    Case("iapws._iapws._Refractive", (D(997.0), 298.15)),
    Case("iapws._iapws._Kw", (1000.0, D(300.0))),
    Case("iapws._iapws._Sublimation_Pressure", (D(230.0),)),
    Case("iapws._iapws._Melting_Pressure", (D(260.0),)),
    Case("iapws._iapws._Henry", (D(300.0), "He")),
    Case("iapws._iapws._Kvalue", (D(300.0), "He")),
    Case("iapws._iapws._Ice", (D(270.0), 0.1)),
    Case("iapws._iapws._Liquid", (D(300.0),)),
    Case("iapws.iapws97._PSat_T", (D(400.0),)),
    Case("iapws.iapws97._TSat_P", (D(1.0),)),
    Case("iapws.iapws97._Region1", (D(300.0), 3.0)),
    Case("iapws.iapws97._Region2", (D(700.0), 0.0035)),
    Case("iapws.iapws97._Backward3_v_PT", (D(50.0), 630.0)),
    Case("iapws.iapws97._Backward1_T_Ph", (3.0, D(500.0))),
    Case("iapws.iapws97._Region5", (D(1500.0), 0.5)),
    Case(more_calls.iapws_97, (D(500.0),)),
    Case(more_calls.iapws_95, (D(300.0),)),
    # sgp4
    Case(more_calls.sgp4_prop, (D(120.0),)),
    Case("sgp4.propagation.gstime", (D(2458826.8),), step=1e-9),
    Case("sgp4.ext.newtonnu", (D(0.3), 1.1)),
    Case("sgp4.ext.angle", (D([1.0, 2.0, 0.5]), [0.3, -0.4, 1.2])),
    Case(more_calls.sgp4_rv2coe, (D([6524.8, 3862.8, 4448.2]),)),
    # deap
    Case("deap.benchmarks.ackley", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.bohachevsky", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.griewank", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.rastrigin_skew", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.schaffer", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.schwefel", (D([30.0, -50.0, 110.0]),)),
    Case("deap.benchmarks.himmelblau", (D([0.3, 1.2]),)),
    Case("deap.benchmarks.h1", (D([1.3, 2.2]),)),
    Case("deap.benchmarks.kursawe", (D([0.3, -0.5, 1.1]),)),
    Case("deap.benchmarks.zdt1", (D([0.3, 0.5, 0.1]),)),
    Case("deap.benchmarks.zdt6", (D([0.3, 0.5, 0.1]),)),
    Case("deap.benchmarks.poloni", (D([0.3, 0.5]),)),
    Case("deap.benchmarks.fonseca", (D([0.3, 0.5, 0.1]),)),
    Case("deap.benchmarks.dtlz1", (D([0.3, 0.5, 0.1, 0.7]), 3)),
    Case("deap.benchmarks.dtlz4", (D([0.3, 0.5, 0.1, 0.7]), 3, 2.0)),
    Case("deap.benchmarks.dtlz5", (D([0.3, 0.5, 0.1, 0.7]), 3)),
    Case("deap.benchmarks.dtlz7", (D([0.3, 0.5, 0.1, 0.7]), 3)),
    Case(
        "deap.benchmarks.shekel",
        (D([0.3, 0.5]), np.array([[0.5, 0.5], [0.2, 0.9]]), np.array([0.2, 0.5])),
    ),
    # lmoments3
    Case("lmoments3.lmom_ratios", (D(DATA),)),
    Case("lmoments3.lmom_ratios", (D(DATA),), {"nmom": 3}, label="3"),
    Case(more_calls.lmoments3_fit, (D(DATA), "gam"), label="gam"),
    Case(more_calls.lmoments3_fit, (D(DATA), "gev"), label="gev"),
    Case(more_calls.lmoments3_fit, (D(DATA), "gpa"), label="gpa"),
    Case(more_calls.lmoments3_fit, (D(DATA), "exp"), label="exp"),
    Case(more_calls.lmoments3_fit, (D(DATA), "gum"), label="gum"),
    Case(more_calls.lmoments3_fit, (D(DATA), "nor"), label="nor"),
    Case(more_calls.lmoments3_fit, (D(DATA), "pe3"), label="pe3"),
    Case(more_calls.lmoments3_fit, (D(DATA), "glo"), label="glo"),
    Case(more_calls.lmoments3_nnlf, (D(DATA),)),
    # pyloudnorm
    Case("pyloudnorm.normalize.loudness", (D(SIGNAL[:8]), -20.0, -15.0)),
    Case("pyloudnorm.normalize.peak", (D(SIGNAL[:8]), -1.0)),
    Case(more_calls.pyloudnorm_gain, (D(0.7),)),
    Case(more_calls.pyloudnorm_filter, (D(0.7),)),
    # nmrglue
    Case("nmrglue.process.proc_base.em", (Z,), {"lb": D(0.1)}),
    Case("nmrglue.process.proc_base.gm", (Z,), {"g1": 0.1, "g2": D(0.2)}),
    Case("nmrglue.process.proc_base.sp", (Z,), {"off": D(0.3), "end": 0.9}),
    Case("nmrglue.process.proc_base.ps", (Z,), {"p0": D(12.0), "p1": 3.0}),
    Case("nmrglue.process.proc_base.ps_exp", (Z,), {"p0": D(12.0), "tc": 0.2}),
    Case("nmrglue.process.proc_base.gmb", (Z,), {"a": D(0.2), "b": 0.1}),
    Case("nmrglue.process.proc_base.jmod", (Z,), {"e": D(0.2)}),
    Case("nmrglue.process.proc_base.qart", (Z,), {"a": D(0.2)}),
    Case("nmrglue.process.proc_base.fft", (D(X),)),
    Case("nmrglue.process.proc_base.ha", (D(X),)),
    Case("nmrglue.process.proc_base.di", (D(X),)),
    Case("nmrglue.process.proc_base.mc", (D(X),)),
    Case("nmrglue.process.proc_base.mc_pow", (D(X),)),
    Case("nmrglue.process.proc_base.integ", (D(X),)),
    Case("nmrglue.process.proc_base.dx", (D(X),)),
    Case("nmrglue.process.proc_base.mir_center", (D(X),)),
    Case("nmrglue.process.proc_base.add_ri", (D(X),)),
    Case("nmrglue.process.proc_base.zf_double", (D(X), 1)),
    Case("nmrglue.process.proc_base.nmr_reorder", (D(X),)),
    Case("nmrglue.process.proc_base.neg_alt", (D(X),)),
    Case("nmrglue.process.proc_base.swap_halves", (D(X),)),
    Case("nmrglue.process.proc_base.smo", (D(X), 1)),
    Case("nmrglue.analysis.lineshapes1d.sim_voigt_fwhm", (X, 0.2, D(0.7), 0.4)),
    Case("nmrglue.analysis.lineshapes1d.sim_pvoigt_fwhm", (X, 0.2, D(0.7), 0.4)),
    Case("nmrglue.analysis.lineshapes1d.sim_gauss_fwhm", (X, 0.2, D(0.7))),
    Case("nmrglue.analysis.lineshapes1d.sim_lorentz_fwhm", (X, D(0.2), 0.7)),
    Case("nmrglue.analysis.lineshapes1d.center_fwhm_bymoments", (D(np.exp(-(X**2))),)),
    Case("nmrglue.process.proc_bl.base", (D(X), [1, 3])),
    Case("nmrglue.process.proc_bl.sol_sine", (D(X), 2)),
    # spatialmath
    Case("spatialmath.base.rotx", (D(0.3),)),
    Case("spatialmath.base.rpy2r", (D(P3),)),
    Case("spatialmath.base.eul2r", (D(P3),)),
    Case("spatialmath.base.angvec2r", (D(0.3), P3)),
    Case("spatialmath.base.exp2r", (D(P3),)),
    Case("spatialmath.base.trexp", (D(P3),)),
    Case(
        "spatialmath.base.qslerp",
        (D(Q4 / np.linalg.norm(Q4)), np.array([0.9, 0.2, 0.3, 0.2449489742783179]), 0.3),
    ),
    Case("spatialmath.base.q2r", (D(Q4),)),
    Case("spatialmath.base.qqmul", (D(Q4), Q4[::-1].copy())),
    Case("spatialmath.base.qunit", (D(Q4),)),
    Case(
        "spatialmath.base.qangle",
        (D(Q4 / np.linalg.norm(Q4)), np.array([0.9, 0.2, 0.3, 0.2449489742783179])),
    ),
    Case("spatialmath.base.eul2jac", (D(P3),)),
    Case("spatialmath.base.rpy2jac", (D(P3),)),
    Case("spatialmath.base.exp2jac", (D(P3),)),
    Case("spatialmath.base.rotvelxform", (D(P3),)),
    Case("spatialmath.base.unitvec", (D(P3),)),
    Case(
        "spatialmath.base.wrap_mpi_pi",
        (
            D(
                np.array(
                    [-7.0, -3.7, -0.40000000000000036, 2.8999999999999995, 6.199999999999999, 9.5]
                )
            ),
        ),
    ),
    Case("spatialmath.base.skewa", (D(np.array([0.3, -0.2, 0.5, 0.3, -0.2, 0.5])),)),
    Case(
        "spatialmath.base.delta2tr",
        (D(np.array([0.03, -0.020000000000000004, 0.05, 0.03, -0.020000000000000004, 0.05])),),
    ),
    Case("spatialmath.base.x2tr", (D(np.array([0.3, -0.2, 0.5, 0.3, -0.2, 0.5])),)),
    Case("spatialmath.base.rodrigues", (D(P3),)),
    Case("spatialmath.base.transl", (D(P3),)),
    Case("spatialmath.base.trexp2", (D(P3),)),
    Case("spatialmath.base.angle_mean", (D(X),)),
    Case("spatialmath.base.angdiff", (D(X), X[::-1].copy())),
    Case("spatialmath.base.orthogonalize", (D(P3), P3[::-1].copy())),
    Case(more_calls.spatialmath_logm, (D(P3),)),
    Case(more_calls.spatialmath_r2q, (D(P3),)),
    Case(more_calls.spatialmath_tr2rpy, (D(P3),)),
    Case(more_calls.spatialmath_se3, (D(P3),)),
    Case(more_calls.spatialmath_interp, (D(P3),)),
    Case(more_calls.spatialmath_uq, (D(0.4),)),
    # geopy
    Case(more_calls.geopy_gc, (D(41.5),)),
    Case(more_calls.geopy_geod, (D(41.5),)),
    # boule
    Case(more_calls.boule_gravity, (D(45.0),)),
    Case(more_calls.boule_gravity_h, (D(np.array([100.0, 2000.0])),)),
    Case(more_calls.boule_sph, (D(np.array([12.0, 45.0])),)),
    Case(more_calls.boule_back, (D(6400000.0),)),
    Case(more_calls.boule_radius, (D(np.array([12.0, 45.0])),)),
    # ambiance
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "temperature"),
        label="temperature",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "pressure"),
        label="pressure",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "density"),
        label="density",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "speed_of_sound"),
        label="speed_of_sound",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "dynamic_viscosity"),
        label="dynamic_viscosity",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "mean_free_path"),
        label="mean_free_path",
    ),
    Case(
        more_calls.ambiance_all,
        (D(np.array([1000.0, 12000.0, 25000.0])), "grav_accel"),
        label="grav_accel",
    ),
    Case(more_calls.ambiance_all, (D(8000.0), "density"), label="scalar"),
    # pyriemann
    Case("pyriemann.utils.distance.distance_riemann", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_logeuclid", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_euclid", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_kullback", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_logdet", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_wasserstein", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_harmonic", (D(SPD), SPD2)),
    Case("pyriemann.utils.distance.distance_logchol", (D(SPD), SPD2)),
    Case("pyriemann.utils.base.expm", (D(SPD),)),
    Case("pyriemann.utils.base.logm", (D(SPD),)),
    Case("pyriemann.utils.base.sqrtm", (D(SPD),)),
    Case("pyriemann.utils.base.invsqrtm", (D(SPD),)),
    Case("pyriemann.utils.base.powm", (D(SPD), 0.3)),
    Case("pyriemann.utils.mean.mean_riemann", (D(np.stack([SPD, SPD2])),)),
    Case("pyriemann.utils.mean.mean_logeuclid", (D(np.stack([SPD, SPD2])),)),
    Case("pyriemann.utils.geodesic.geodesic_riemann", (D(SPD), SPD2, 0.3)),
    Case("pyriemann.utils.tangentspace.tangent_space", (D(np.stack([SPD, SPD2])), SPD)),
    # commpy
    Case("commpy.filters.rcosfilter", (9, D(0.35), 1.0, 4.1)),
    Case("commpy.filters.rrcosfilter", (9, D(0.35), 1.0, 4.1)),
    Case("commpy.filters.gaussianfilter", (9, D(0.35), 1.0, 4.0)),
    Case("commpy.utilities.signal_power", (D(X),)),
    Case("commpy.impairments.add_frequency_offset", (Z, 10.0, D(1.2))),
    Case("commpy.utilities.upsample", (D(X), 3)),
    Case("commpy.utilities.euclid_dist", (D(X), X[::-1].copy())),
    # bezier
    Case("bezier.hazmat.curve_helpers.evaluate_multi", (D(NODES), np.array([0.2, 0.7]))),
    Case(
        "bezier.hazmat.curve_helpers.evaluate_multi_barycentric",
        (NODES, np.array([0.8, 0.3]), D(np.array([0.2, 0.7]))),
    ),
    Case(
        "bezier.hazmat.curve_helpers.evaluate_multi_de_casteljau",
        (D(NODES), np.array([0.8, 0.3]), np.array([0.2, 0.7])),
    ),
    Case("bezier.hazmat.curve_helpers.subdivide_nodes", (D(NODES),)),
    Case("bezier.hazmat.curve_helpers.elevate_nodes", (D(NODES),)),
    Case("bezier.hazmat.curve_helpers.specialize_curve", (NODES, D(0.2), 0.7)),
    Case("bezier.hazmat.curve_helpers.evaluate_hodograph", (0.3, D(NODES))),
    Case("bezier.hazmat.curve_helpers.compute_length", (D(NODES),)),
    Case("bezier.hazmat.curve_helpers.newton_refine", (D(NODES), np.array([[0.5], [0.5]]), 0.4)),
    Case("bezier.hazmat.curve_helpers.discrete_turning_angle", (D(NODES),)),
    Case("bezier.hazmat.curve_helpers.reduce_pseudo_inverse", (D(NODES),)),
    Case("bezier.hazmat.algebraic_intersection.bezier_roots", (D(np.array([-0.3, 0.4, 0.9])),)),
    Case(
        "bezier.hazmat.algebraic_intersection.poly_to_power_basis", (D(np.array([-0.3, 0.4, 0.9])),)
    ),
    Case(more_calls.bezier_curve, (D(NODES),)),
    # skyfield
    Case("skyfield.functions.angle_between", (D(P3), P3[::-1].copy())),
    Case("skyfield.functions.to_spherical", (D(P3),)),
    Case("skyfield.functions.from_spherical", (1.2, D(0.3), 0.4)),
    Case("skyfield.functions.rot_x", (D(0.3),)),
    Case("skyfield.earthlib.refraction", (D(20.0), 10.0, 1010.0)),
    Case("skyfield.earthlib.refract", (D(20.0), 10.0, 1010.0)),
    Case("skyfield.earthlib.earth_rotation_angle", (D(2458826.8),), step=1e-9),
    Case("skyfield.precessionlib.compute_precession", (D(2458826.8),)),
    Case("skyfield.nutationlib.mean_obliquity", (D(2458826.8),)),
    Case("skyfield.earthlib.reverse_terra", (D(np.array([3e-05, -2e-05, 5e-05])), 2.0)),
    Case("skyfield.earthlib.compute_limb_angle", (D(P3), np.array([5e-05, -2e-05, 3e-05]))),
    Case("skyfield.relativity.light_time_difference", (D(P3), P3[::-1].copy())),
    # emcee
    Case(
        "emcee.autocorr.function_1d",
        (
            D(
                np.array(
                    [
                        0.0,
                        0.8414709848078965,
                        0.30807174236304485,
                        -0.8852507661210228,
                        0.9893582466233818,
                        -0.9829793407063873,
                        0.8473764566857575,
                        -0.3233776384465256,
                        -0.5941982082298611,
                        0.956375928404503,
                    ]
                )
            ),
        ),
    ),
    # pysolar
    Case("pysolar.solar.get_altitude", (D(42.2), -71.4, WHEN)),
    Case("pysolar.solar.get_azimuth", (D(42.2), -71.4, WHEN)),
    Case("pysolar.solar.get_altitude_fast", (D(42.2), -71.4, WHEN)),
    Case("pysolar.radiation.get_air_mass_ratio", (D(30.0),)),
    Case("pysolar.radiation.get_radiation_direct", (WHEN, D(30.0))),
    Case("pysolar.elevation.get_pressure_with_elevation", (D(500.0),)),
    Case("pysolar.util.global_irradiance_clear", (D(42.2), -71.4, WHEN)),
    Case("pysolar.solar.get_nutation", (D(0.2),)),
    Case("pysolar.solar.get_sun_earth_distance", (D(0.02),)),
]
