"""Statistics, filters, signals, networks, finance, manifolds, tensors and problems for optimizers."""

import numpy as np

from tests.thirdparty import calls
from tests.thirdparty.case import Case, D

X = np.linspace(-1.4, 1.9, 6)
A = np.array([[2.1, 0.3, 0.2], [0.3, 1.4, -0.1], [0.2, -0.1, 0.9]])
B = np.array(
    [[0.2, 0.5, 0.1, 0.7], [0.6, 0.0, 0.3, 0.2], [0.4, 0.8, 0.0, 0.1], [0.1, 0.3, 0.9, 0.0]]
)
C = (B + B.T) / 2 * (1 - np.eye(4))
SIM = np.array([4.7, 6.1, 2.2, 4.9, 8.0, 5.3])
OBS = np.array([5.0, 7.0, 3.0, 4.2, 7.4, 6.1])
MEAN = np.array([0.3, -0.2, 0.5])
F = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]])
H = np.array([[1.0, 0.0, 0.3]])
WEIGHTS = np.array([0.3, 0.8, 0.5, 0.9, 0.4, 0.6])
U = np.array([0.31, 0.72, 0.18, 0.55])
SIGNAL = np.sin(np.arange(40.0) * 0.7) + 0.3 * np.cos(np.arange(40.0) * 1.9)
N_LIST = [1.0, 2.2 + 0.1j, 1.6, 1.0]

METRICS = [
    "me",
    "mae",
    "mse",
    "mle",
    "male",
    "msle",
    "ned",
    "rmse",
    "rmsle",
    "nrmse_range",
    "nrmse_mean",
    "nrmse_iqr",
    "irmse",
    "mase",
    "pearson_r",
    "spearman_r",
    "acc",
    "mape",
    "smape1",
    "maape",
    "d",
    "d1",
    "dmod",
    "dr",
    "watt_m",
    "ve",
    "sa",
    "sc",
    "sid",
    "sga",
    "lm_index",
    "nse",
    "nse_mod",
    "kge_2009",
    "kge_2012",
    "h1_mahe",
    "h4_rmshe",
    "g_mean_diff",
    "mean_var",
]
PERMETRICS = [
    "mean_squared_error",
    "mean_absolute_percentage_error",
    "kling_gupta_efficiency",
    "nash_sutcliffe_efficiency",
    "willmott_index",
    "pearson_correlation_coefficient",
    "mean_squared_log_error",
    "explained_variance_score",
    "kullback_leibler_divergence",
    "jensen_shannon_divergence",
]
FITNESS = [
    "sphere",
    "cigar",
    "tablet",
    "elli",
    "rosen",
    "rastrigin",
    "griewank",
    "schaffer",
    "schwefelelli",
    "diffpow",
    "rosen_chained",
    "levy",
    "trid",
    "styblinski_tang",
    "dixonprice",
    "happycat",
    "bohachevsky",
]
PROBLEMS = [
    "Ackley",
    "Griewank",
    "Rastrigin",
    "Rosenbrock",
    "Schwefel",
    "Vincent",
    "LunacekTwoRastrigins",
]
UNCERTAINTY = [
    ("Ishigami", 3),
    ("Borehole", 8),
    ("Friedman6D", 6),
    ("OTLCircuit", 6),
    ("Piston", 7),
    ("WingWeight", 10),
    ("Franke1", 2),
    ("RobotArm", 8),
    ("Flood", 8),
    ("DetteExp", 3),
    ("CurrinSine", 1),
    ("GramacySine", 1),
    ("SobolG", 2),
    ("Sulfur", 9),
]
GREEKS = ["price", "delta", "gamma", "vega", "theta", "rho", "vanna"]

ROWS = [
    # filterpy
    Case("filterpy.stats.mahalanobis", (MEAN, D(MEAN + 0.4), A)),
    Case("filterpy.stats.gaussian", (0.4, D(0.1), 1.3)),
    Case("filterpy.stats.multivariate_gaussian", (MEAN, D(MEAN + 0.4), A)),
    Case("filterpy.stats.logpdf", (MEAN, MEAN + 0.4, D(A))),
    Case("filterpy.stats.multivariate_multiply", (MEAN, D(A), MEAN + 0.3, np.eye(3))),
    Case("filterpy.stats.covariance_ellipse", (D(A[:2, :2]),)),
    Case("filterpy.stats.norm_cdf", ((0.1, 0.9), D(0.3))),
    Case("filterpy.common.Q_discrete_white_noise", (3, D(0.2), 1.3)),
    Case("filterpy.common.Q_continuous_white_noise", (3, D(0.2), 1.3)),
    Case("filterpy.common.van_loan_discretization", (D(F), H.T, 0.1)),
    Case("filterpy.common.kinematic_state_transition", (2, D(0.3))),
    Case("filterpy.kalman.predict", (MEAN, D(A), F, np.eye(3) * 0.1)),
    Case("filterpy.kalman.update", (MEAN[:, None], D(A), np.array([[0.4]]), np.array([[0.2]]), H)),
    Case(
        "filterpy.kalman.unscented_transform",
        (
            D(np.vstack([MEAN, MEAN + 0.5, MEAN - 0.2])),
            np.array([0.4, 0.3, 0.3]),
            np.array([0.5, 0.3, 0.2]),
        ),
    ),
    Case(calls.filterpy_kalman, (D(0.3),)),
    Case(calls.filterpy_log_likelihood, (D(0.7),)),
    Case(calls.filterpy_ekf, (D(0.3),)),
    Case(calls.filterpy_ukf, (D(0.3),)),
    # padasip, python_speech_features, sk_dsp_comm
    Case(calls.padasip_lms, (D(0.03),)),
    Case(calls.padasip_rls, (D(0.97),)),
    Case("padasip.misc.MSE", (D(SIM), OBS)),
    Case("padasip.misc.RMSE", (D(SIM), OBS)),
    Case("padasip.misc.logSE", (D(SIM), OBS)),
    Case("python_speech_features.sigproc.preemphasis", (SIGNAL, D(0.9))),
    Case("python_speech_features.sigproc.powspec", (D(SIGNAL[:12].reshape(2, 6)), 8)),
    Case("python_speech_features.sigproc.framesig", (D(SIGNAL[:16]), 8, 4)),
    Case("python_speech_features.base.mel2hz", (D(300.0),)),
    Case("python_speech_features.base.lifter", (D(B), 22)),
    Case("python_speech_features.base.delta", (D(B), 2)),
    Case(
        "python_speech_features.base.mfcc",
        (D(SIGNAL[:24]),),
        {"samplerate": 100, "winlen": 0.12, "winstep": 0.06, "nfft": 16, "nfilt": 8, "numcep": 5},
    ),
    Case("sk_dsp_comm.sigsys.tri", (D(X[1:]), 1.0)),
    Case("sk_dsp_comm.sigsys.fs_approx", (D(np.array([0.5, 0.3, 0.2])), np.array([0, 1, 2]), X)),
    Case("sk_dsp_comm.sigsys.upsample", (D(X), 3)),
    Case("sk_dsp_comm.sigsys.downsample", (D(X), 2)),
    Case(
        "sk_dsp_comm.sigsys.cascade_filters",
        (
            D(np.array([1.0, 0.3])),
            np.array([1.0, -0.2]),
            np.array([1.0, 0.1]),
            np.array([1.0, 0.4]),
        ),
    ),
    Case("sk_dsp_comm.sigsys.peaking", (D(3.0), 1000.0)),
    Case("sk_dsp_comm.sigsys.sqrt_rc_imp", (4, D(0.35), 2)),
    # metrics
    *(Case(f"HydroErr.{name}", (D(SIM), OBS)) for name in METRICS),
    *(Case(calls.permetrics_regression, (name, D(SIM), OBS), label=name) for name in PERMETRICS),
    Case("similaritymeasures.mae", (D(B), C)),
    Case("similaritymeasures.mse", (D(B), C)),
    Case("similaritymeasures.dtw", (D(B), C)),
    Case("similaritymeasures.frechet_dist", (D(B), C)),
    Case(
        "similaritymeasures.area_between_two_curves",
        (D(np.c_[X, X**2]), np.c_[X + 0.1, np.sin(X) - 3]),
    ),
    Case("similaritymeasures.curve_length_measure", (D(B[:, :2] + 1), C[:, :2] + 2)),
    # thin films and spheres
    Case("tmm.snell", (1.0, D(1.5), 0.3)),
    Case(calls.tmm_reflectance, (D(100.0), "s"), label="s"),
    Case(calls.tmm_reflectance, (D(100.0), "p"), label="p"),
    Case("tmm.interface_R", ("p", 1.0, D(1.5), 0.3, 0.2)),
    Case(calls.tmm_unpolarized, (D(0.3),)),
    Case(calls.tmm_ellipsometry, (D(100.0),)),
    Case("miepython.core.efficiencies_mx", (1.5 - 0.1j, D(2.3))),
    Case("miepython.core.an_bn", (1.5 - 0.1j, D(2.3))),
    # tests for optimizers
    *(Case(calls.cma_fitness, (name, D(U)), label=name) for name in FITNESS),
    *(Case(calls.optproblems_value, (name, D(U)), label=name) for name in PROBLEMS),
    *(
        Case(
            calls.uqtestfuns_value,
            (name, dimension, D(np.linspace(-0.6, 0.7, dimension))),
            label=name,
        )
        for name, dimension in UNCERTAINTY
    ),
    # finance
    *(Case(calls.blackscholes_call, (name, D(55.0)), label=name) for name in GREEKS),
    Case(calls.blackscholes_black76, (D(0.2),)),
    Case("numpy_financial.fv", (D(0.05 / 12), 120, -100.0, -100.0)),
    Case("numpy_financial.pmt", (D(0.075 / 12), 180, 200000.0)),
    Case("numpy_financial.nper", (D(0.07 / 12), -150.0, 8000.0)),
    Case("numpy_financial.ipmt", (D(0.0824 / 12), np.arange(1, 5), 12, 2500.0)),
    Case("numpy_financial.pv", (D(0.05 / 12), 120, -100.0, 15692.93)),
    Case("numpy_financial.npv", (D(0.08), np.array([-100.0, 39.0, 59.0, 55.0]))),
    Case("numpy_financial.irr", (D(np.array([-100.0, 39.0, 59.0, 55.0])),)),
    Case("numpy_financial.rate", (10, 0.0, D(-3500.0), 10000.0)),
    Case("numpy_financial.mirr", (D(np.array([-100.0, 39.0, 59.0, 55.0])), 0.1, 0.12)),
    Case(calls.nelson_siegel_zero, (D(1.7),)),
    Case(calls.nelson_siegel_svensson_forward, (D(1.7),)),
    Case(
        "nelson_siegel_svensson.calibrate.errorfn_ns_ols",
        (D(2.2), np.array([0.5, 1.0, 3.0, 7.0, 10.0]), np.array([0.01, 0.012, 0.02, 0.025, 0.022])),
    ),
    # graphs
    Case(calls.bct_network, ("clustering_coef_wu", D(WEIGHTS)), label="clustering_coef_wu"),
    Case(calls.bct_network, ("clustering_coef_wd", D(WEIGHTS)), label="clustering_coef_wd"),
    Case(calls.bct_network, ("transitivity_wu", D(WEIGHTS)), label="transitivity_wu"),
    Case("bct.efficiency_wei", (D(C),)),
    Case("bct.eigenvector_centrality_und", (D(C),)),
    Case("bct.pagerank_centrality", (D(B), 0.85)),
    Case("bct.subgraph_centrality", (D(C),)),
    Case("bct.distance_wei", (D(B + 0.1),)),
    Case("bct.mean_first_passage_time", (D(B),)),
    Case("bct.diffusion_efficiency", (D(B),)),
    Case("bct.strengths_und", (D(C),)),
    Case(calls.bct_network, ("normalize", D(WEIGHTS)), label="normalize"),
    Case(calls.bct_network, ("strengths_und_sign", D(WEIGHTS)), label="strengths_und_sign"),
    Case(calls.networkx_pagerank, (D(0.7),)),
    Case(calls.networkx_google_matrix, (D(0.7),)),
    Case(calls.networkx_shortest_path, (D(0.7),)),
    Case(calls.networkx_laplacian, (D(0.7),)),
    # manifolds and tensors
    Case(calls.pymanopt_stiefel_retraction, (D(B[:, :2]),)),
    Case(calls.pymanopt_sphere_exponential, (D(MEAN),)),
    Case(calls.pymanopt_positive_definite_distance, (D(A),)),
    Case(calls.pymanopt_poincare_distance, (D(MEAN * 0.5),)),
    Case("tensorly.tenalg.kronecker", (D([A, B]),)),
    Case("tensorly.tenalg.khatri_rao", (D([B, C]),)),
    Case("tensorly.tenalg.mode_dot", (np.arange(24.0).reshape(2, 3, 4), D(A), 1)),
    Case(
        "tensorly.cp_tensor.cp_to_tensor", (D((np.array([1.0, 0.5, 2.0]), [A, B[:, :3], A + 1])),)
    ),
    Case("tensorly.cp_tensor.cp_norm", (D((np.array([1.0, 0.5, 2.0]), [A, B[:, :3], A + 1])),)),
    Case(
        "tensorly.tucker_tensor.tucker_to_tensor",
        (D((np.arange(8.0).reshape(2, 2, 2), [A[:, :2], B[:, :2], C[:, :2]])),),
    ),
    Case("tensorly.metrics.regression.R2_score", (OBS, D(SIM))),
    Case("tensorly.metrics.regression.correlation", (OBS, D(SIM))),
    # circuits, control, uncertainty
    Case(calls.control_frequency_response, (D(0.7),)),
    Case(calls.control_feedback_dcgain, (D(0.7),)),
    Case("mlxtend.math.vectorspace_orthonormalization", (D(A),)),
    # NumPy's and SciPy's own Python code
    Case("numpy.polynomial.chebyshev.chebval", (X, D(np.array([0.3, 0.2, -0.5, 0.7])))),
    Case("numpy.polynomial.legendre.legval", (D(X), np.array([0.3, 0.2, -0.5, 0.7]))),
    Case("numpy.polynomial.hermite.hermval", (D(X), np.array([0.3, 0.2, -0.5, 0.7]))),
    Case("numpy.polynomial.laguerre.lagval", (D(X), np.array([0.3, 0.2, -0.5, 0.7]))),
    Case("numpy.polynomial.polynomial.polyfromroots", (D(X),)),
    Case("numpy.polynomial.polynomial.polyder", (D(X),)),
    Case("numpy.polynomial.polynomial.polyint", (D(X),)),
    Case("numpy.polynomial.polynomial.polymul", (D(X), X[:3])),
    Case("numpy.polynomial.chebyshev.cheb2poly", (D(X),)),
    Case("numpy.polynomial.chebyshev.chebfit", (X, D(np.sin(X)), 3)),
    Case("numpy.polynomial.legendre.legvander", (D(X), 3)),
    Case("numpy.polynomial.polynomial.polyval2d", (D(X), X, C)),
    Case("scipy.optimize.rosen", (D(X),)),
    Case("scipy.stats.norm.logpdf", (X, D(0.3), 1.2)),
    Case("scipy.stats.gamma.logpdf", (X + 2, D(2.3))),
    Case("scipy.stats.beta.pdf", (U, D(2.3), 1.2)),
    Case("scipy.stats.multivariate_normal.logpdf", (MEAN, D(MEAN + 0.2), A)),
    Case("scipy.signal.windows.gaussian", (7, D(1.3))),
    Case("scipy.signal.chirp", (X, D(1.3), 1.0, 4.0)),
    Case("scipy.linalg.expm", (D(A),)),
    Case("scipy.special.logsumexp", (D(X),)),
    Case("scipy.integrate.simpson", (D(X**2),), {"x": X}),
    # pysabr: volatilities, some of them by scipy.optimize
    Case("pysabr.black.lognormal_call", (1.0, 1.1, 0.5, D(0.3), 0.01)),
    Case("pysabr.black.normal_to_shifted_lognormal", (0.02, D(0.025), 0.01, 1.0, 0.005)),
    Case("pysabr.black.shifted_lognormal_to_normal", (0.02, 0.025, 0.01, 1.0, D(0.3))),
    Case("pysabr.models.hagan_2002_lognormal_sabr.alpha", (0.025, 1.0, D(0.3), 0.5, -0.2, 0.4)),
]
