"""Calls that need more than one function: objects that are built, and their methods.

Each imports its package when it is called, as a user's own code would. A name begins with the package.
"""

from __future__ import annotations

import numpy as np

N_LIST = [1.0, 2.2 + 0.1j, 1.6, 1.0]
POINT = np.array([0.3, -0.2, 0.5])
TIMES = np.array([0.5, 1.0, 3.0, 7.0])


def rowan_euler(angle):
    import rowan

    return rowan.to_euler(rowan.from_axis_angle(np.array([0.6, 0.0, 0.8]), angle))


def rowan_axis_angle(angle):
    import rowan

    return rowan.to_axis_angle(rowan.from_axis_angle(np.array([0.6, 0.0, 0.8]), angle))


def bct_network(name, weights):
    import bct

    matrix = np.zeros((4, 4))
    matrix[np.triu_indices(4, 1)] = weights
    return getattr(bct, name)(matrix + matrix.T)


def skspatial_plane_distance(point):
    from skspatial.objects import Plane

    return Plane(point=[0.1, 0.2, 0.3], normal=[1.0, 2.0, 0.5]).distance_point(point)


def skspatial_line_projection(point):
    from skspatial.objects import Line

    return Line(point=[0.1, 0.2, 0.3], direction=[1.0, 2.0, 0.5]).project_point(point)


def skspatial_triangle_area(point):
    from skspatial.objects import Triangle

    return Triangle(point, [1.0, 0.0, 0.2], [0.0, 1.0, 0.5]).area()


def pyquaternion_rotate(q, vector):
    from pyquaternion import Quaternion

    return Quaternion(q).rotate(vector)


def pyquaternion_slerp(amount, q, p):
    from pyquaternion import Quaternion

    return Quaternion.slerp(Quaternion(q), Quaternion(p), amount).elements


def pyquaternion_matrix(q):
    from pyquaternion import Quaternion

    return Quaternion(array=q).rotation_matrix


def geographiclib_inverse(latitude):
    from geographiclib.geodesic import Geodesic

    return Geodesic.WGS84.Inverse(-41.32, 174.81, latitude, -5.5)["s12"]


def geographiclib_direct(azimuth):
    from geographiclib.geodesic import Geodesic

    found = Geodesic.WGS84.Direct(40.6, -73.8, azimuth, 1e6)
    return found["lat2"], found["lon2"]


def splines_catmull_rom(vertices):
    from splines import CatmullRom

    return CatmullRom(vertices, endconditions="natural").evaluate(1.3)


def splines_natural(vertices):
    from splines import Natural

    return Natural(vertices).evaluate(2.4)


def splines_bernstein(vertices):
    from splines import Bernstein

    return Bernstein([vertices]).evaluate(0.3)


def splines_monotone(values):
    from splines import PiecewiseMonotoneCubic

    return PiecewiseMonotoneCubic(values).evaluate(1.3)


def splines_tcb(vertices):
    from splines import KochanekBartels

    return KochanekBartels(vertices, tcb=(0.1, 0.2, 0.3)).evaluate(1.3)


def csaps_smooth(values):
    from csaps import csaps

    return csaps(np.arange(5.0), values, np.array([0.5, 2.2, 3.1]), smooth=0.8)


def geomdl_curve(points):
    from geomdl import BSpline

    curve = BSpline.Curve()
    curve.degree = 2
    curve.ctrlpts = points
    curve.knotvector = [0, 0, 0, 0.5, 1, 1, 1]
    return curve.evaluate_single(0.3)


def patsy_bs(x):
    from patsy import bs

    return bs(x, knots=[0.3, 0.6], degree=3, lower_bound=0.0, upper_bound=1.0)


def patsy_cr(x):
    from patsy import cr

    return cr(x, knots=[0.3, 0.6], lower_bound=0.0, upper_bound=1.0)


def filterpy_kalman(noise):
    from filterpy.kalman import KalmanFilter

    kalman = KalmanFilter(dim_x=2, dim_z=1)
    kalman.F = np.array([[1.0, 0.1], [0.0, 1.0]])
    kalman.H = np.array([[1.0, 0.0]])
    kalman.R *= noise
    for z in (0.1, 0.3, 0.2):
        kalman.predict()
        kalman.update(z)
    return kalman.x, kalman.P


def filterpy_log_likelihood(position):
    from filterpy.stats import log_likelihood

    return log_likelihood(
        np.array([0.4]),
        np.array([position, 0.2]),
        np.eye(2),
        np.array([[1.0, 0.5]]),
        np.array([[0.3]]),
    )


def filterpy_ekf(noise):
    from filterpy.kalman import ExtendedKalmanFilter

    kalman = ExtendedKalmanFilter(dim_x=2, dim_z=1)
    kalman.x = np.array([[1.0], [0.5]])
    kalman.Q = np.eye(2) * noise
    for z in (1.1, 1.3):
        kalman.predict_update(
            np.array([[z]]),
            lambda x: np.array([[x[0, 0] / np.sqrt(1.0 + x[0, 0] ** 2), 0.0]]),
            lambda x: np.sqrt(1.0 + x[:1] ** 2),
        )
    return kalman.x, kalman.P


def filterpy_ukf(noise):
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    points = MerweScaledSigmaPoints(2, alpha=0.1, beta=2.0, kappa=1.0)
    kalman = UnscentedKalmanFilter(
        dim_x=2,
        dim_z=1,
        dt=0.1,
        hx=lambda x: x[:1],
        fx=lambda x, dt: np.array([x[0] + dt * x[1], x[1]]),
        points=points,
    )
    kalman.R = np.array([[noise]])
    kalman.Q = np.eye(2) * 0.01
    for z in (0.1, 0.3):
        kalman.predict()
        kalman.update(np.array([z]))
    return kalman.x, kalman.P


def padasip_lms(rate):
    from padasip.filters import FilterLMS

    return FilterLMS(n=2, mu=rate, w="zeros").run(
        np.array([1.0, 0.5, 0.3, 0.8]), np.array([[1.0, 0.2], [0.3, 1.1], [0.5, 0.6], [0.9, 0.1]])
    )[:2]


def padasip_rls(rate):
    from padasip.filters import FilterRLS

    return FilterRLS(n=2, mu=rate, w="zeros").run(
        np.array([1.0, 0.5, 0.3, 0.8]), np.array([[1.0, 0.2], [0.3, 1.1], [0.5, 0.6], [0.9, 0.1]])
    )[:2]


def permetrics_regression(name, predicted, true):
    from permetrics.regression import RegressionMetric

    return getattr(RegressionMetric(true, predicted), name)()


def tmm_reflectance(thickness, polarization):
    from tmm import coh_tmm

    found = coh_tmm(polarization, N_LIST, [np.inf, thickness, 80.0, np.inf], 0.3, 400.0)
    return found["R"], found["T"]


def tmm_unpolarized(angle):
    from tmm import unpolarized_RT

    found = unpolarized_RT(N_LIST, [np.inf, 100.0, 80.0, np.inf], angle, 400.0)
    return found["R"]


def tmm_ellipsometry(thickness):
    from tmm import ellips

    return ellips(N_LIST, [np.inf, thickness, 80.0, np.inf], 0.3, 400.0)


def cma_fitness(name, x):
    from cma.fitness_functions import FitnessFunctions

    return getattr(FitnessFunctions(), name)(x)


def optproblems_value(name, x):
    from optproblems import continuous

    return getattr(continuous, name)(num_variables=4).objective_function(x)


def uqtestfuns_value(name, dimension, x):
    import uqtestfuns

    made = getattr(uqtestfuns, name)
    problem = made(input_dimension=dimension) if name == "SobolG" else made()
    return problem(problem.transform_sample(x[None, :]))


def blackscholes_call(greek, price):
    from blackscholes import BlackScholesCall

    return getattr(BlackScholesCall(S=price, K=50.0, T=1.0, r=0.0025, sigma=0.15), greek)()


def blackscholes_black76(volatility):
    from blackscholes import Black76Put

    option = Black76Put(F=55.0, K=50.0, T=1.0, r=0.0025, sigma=volatility)
    return option.price(), option.delta()


def nelson_siegel_zero(tau):
    from nelson_siegel_svensson import NelsonSiegelCurve

    return NelsonSiegelCurve(0.028, -0.03, -0.04, tau)(TIMES)


def nelson_siegel_svensson_forward(tau):
    from nelson_siegel_svensson import NelsonSiegelSvenssonCurve

    return NelsonSiegelSvenssonCurve(0.028, -0.03, -0.04, -0.015, tau, 3.0).forward(TIMES)


def weighted_graph(weight):
    import networkx

    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        [("a", "b", weight), ("b", "c", 0.5), ("c", "a", 1.5), ("c", "d", weight * 2.0)]
    )
    return graph


def networkx_pagerank(weight):
    import networkx

    return networkx.pagerank(weighted_graph(weight), tol=1e-12)


def networkx_google_matrix(weight):
    import networkx

    return networkx.google_matrix(weighted_graph(weight))


def networkx_shortest_path(weight):
    import networkx

    return networkx.shortest_path_length(weighted_graph(weight), "a", "d", weight="weight")


def networkx_laplacian(weight):
    import networkx

    return networkx.laplacian_spectrum(weighted_graph(weight))


def pymanopt_stiefel_retraction(tangent):
    from pymanopt.manifolds import Stiefel

    return Stiefel(4, 2).retraction(np.eye(4)[:, :2], tangent)


def pymanopt_sphere_exponential(tangent):
    from pymanopt.manifolds import Sphere

    return Sphere(3).exp(np.array([0.0, 0.6, 0.8]), tangent)


def pymanopt_positive_definite_distance(matrix):
    from pymanopt.manifolds import SymmetricPositiveDefinite

    return SymmetricPositiveDefinite(3).dist(np.eye(3), matrix)


def pymanopt_poincare_distance(point):
    from pymanopt.manifolds import PoincareBall

    return PoincareBall(3).dist(np.array([0.1, 0.2, -0.3]), point)


def control_frequency_response(damping):
    import control

    return control.tf([1.0, 0.5], [1.0, damping, 2.0])(0.3j)


def control_feedback_dcgain(gain):
    import control

    return control.dcgain(control.feedback(control.ss([[-1.0]], [[1.0]], [[gain]], [[0.0]]), 1))


PACKAGES = {
    name: name.split("_")[0]
    for name, found in list(globals().items())
    if callable(found) and "_" in name
} | {
    "nelson_siegel_zero": "nelson_siegel_svensson",
    "nelson_siegel_svensson_forward": "nelson_siegel_svensson",
}
