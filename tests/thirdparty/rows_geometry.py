"""Rotations, transformations, geodesy, splines, robots and colours."""

import numpy as np

from tests.thirdparty import calls
from tests.thirdparty.case import Case, D

Q = np.array([0.5, -0.3, 0.7, 0.2]) / np.sqrt(0.87)
QS = np.array([[0.5, -0.3, 0.7, 0.2], [0.1, 0.9, -0.2, 0.3]])
QS = QS / np.sqrt((QS**2).sum(1, keepdims=True))
V = np.array([0.4, -1.1, 0.8])
W = np.array([1.2, 0.3, -0.5])
R = np.array(  # a rotation
    [
        [0.36, 0.48, -0.8],
        [-0.8, 0.6, 0.0],
        [0.48, 0.64, 0.6],
    ]
)
M44 = np.array(
    [[1.1, 0.2, 0.1, 0.3], [0.0, 0.9, 0.3, -0.2], [0.2, 0.1, 1.2, 0.5], [0.0, 0.0, 0.0, 1.0]]
)
TRIANGLES = np.array(
    [
        [[0.0, 0.0, 0.1], [1.0, 0.2, 0.0], [0.1, 0.9, 0.3]],
        [[0.5, 0.1, 0.0], [0.2, 1.2, 0.4], [0.9, 0.8, 1.0]],
    ]
)
POINTS = np.array(
    [[0.1, 0.7, 0.3], [1.2, -0.4, 0.9], [0.3, 0.2, -1.1], [-0.8, 0.5, 0.6], [0.4, 1.3, 0.2]]
)
SLIST = np.array(
    [
        [0.0, 0.0, 0.0],
        [0.0, 0.1, 1.0],
        [1.0, 1.0, 0.0],
        [0.0, -0.3, -0.2],
        [-0.4, 0.0, 0.6],
        [0.0, 0.5, 0.1],
    ]
)
HOME = np.array([[1.0, 0, 0, 0.5], [0, 1, 0, 0.1], [0, 0, 1, 0.3], [0, 0, 0, 1]])
TH = np.array([0.3, -0.5, 0.8])
RGB = np.array([[0.2, 0.5, 0.7], [0.9, 0.4, 0.1]])
XYZ = np.array([[20.0, 25.0, 40.0], [50.0, 45.0, 20.0]])

ROWS = [
    # transforms3d
    Case("transforms3d.quaternions.quat2mat", (D(Q),)),
    Case("transforms3d.quaternions.qmult", (D(Q), QS[1])),
    Case("transforms3d.quaternions.qinverse", (D(QS[0] * 1.3),)),
    Case("transforms3d.quaternions.qexp", (D(Q),)),
    Case("transforms3d.quaternions.qlog", (D(Q),)),
    Case("transforms3d.quaternions.qpow", (Q, D(0.7))),
    Case("transforms3d.quaternions.rotate_vector", (V, D(Q))),
    Case("transforms3d.quaternions.axangle2quat", (D(V), 0.4)),
    Case("transforms3d.quaternions.quat2axangle", (D(Q * 1.1),)),
    Case("transforms3d.euler.euler2mat", (0.3, D(-0.4), 0.7)),
    Case("transforms3d.euler.mat2euler", (D(R * 1.0),)),
    Case("transforms3d.euler.euler2quat", (D(0.3), -0.4, 0.7), {"axes": "rzxz"}),
    Case("transforms3d.axangles.axangle2mat", (D(V), 0.4)),
    Case(
        "transforms3d.affines.compose",
        (V, R, D(np.array([1.1, 0.8, 1.3])), np.array([0.1, 0.2, 0.3])),
    ),
    Case("transforms3d.affines.decompose44", (D(M44),)),
    Case("transforms3d.zooms.zfdir2mat", (1.3, D(V))),
    Case("transforms3d.shears.sadn2mat", (D(0.3), np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))),
    Case("transforms3d.reflections.rfnorm2aff", (D(V), W)),
    Case("transforms3d.taitbryan.euler2quat", (0.3, D(-0.4), 0.7)),
    # rowan
    Case("rowan.rotate", (D(QS), V)),
    Case("rowan.multiply", (QS, D(Q))),
    Case("rowan.exp", (D(QS),)),
    Case("rowan.log", (D(QS),)),
    Case("rowan.power", (D(QS), 0.6)),
    Case("rowan.normalize", (D(QS * 1.2),)),
    Case("rowan.from_euler", (D(0.3), 0.2, 0.5)),
    Case(calls.rowan_euler, (D(0.4),)),
    Case("rowan.to_matrix", (D(QS),), {"require_unit": False}),
    Case("rowan.from_axis_angle", (V, D(0.7))),
    Case(calls.rowan_axis_angle, (D(0.4),)),
    Case("rowan.vector_vector_rotation", (D(V), W)),
    Case("rowan.calculus.integrate", (QS, D(V), 0.1)),
    # pyrr
    Case("pyrr.quaternion.create_from_eulers", (D(np.array([0.3, -0.2, 0.5])),)),
    Case("pyrr.quaternion.slerp", (Q, QS[1], D(0.3))),
    Case("pyrr.quaternion.apply_to_vector", (D(Q), V)),
    Case("pyrr.matrix44.create_from_quaternion", (D(Q),)),
    Case("pyrr.matrix44.create_look_at", (D(V), W, np.array([0.0, 1.0, 0.0]))),
    Case("pyrr.matrix44.create_perspective_projection", (D(60.0), 1.3, 0.1, 100.0)),
    Case("pyrr.matrix44.create_from_eulers", (D(np.array([0.3, -0.2, 0.5])),)),
    Case("pyrr.vector.normalize", (D(POINTS),)),
    Case("pyrr.vector3.generate_normals", (D(POINTS[:2]), POINTS[1:3], POINTS[2:4])),
    Case("pyrr.plane.create_from_points", (D(POINTS[0]), POINTS[1], POINTS[2])),
    Case("pyrr.geometric_tests.point_closest_point_on_line", (D(V), POINTS[:2])),
    # ahrs
    Case("ahrs.common.orientation.q_prod", (D(Q), QS[1])),
    Case("ahrs.common.orientation.q2R", (D(Q),)),
    Case("ahrs.common.orientation.q2euler", (D(Q),)),
    Case("ahrs.common.orientation.rpy2q", (D(np.array([0.3, -0.2, 0.5])),)),
    Case("ahrs.common.orientation.acc2q", (D(V),)),
    Case("ahrs.common.orientation.ecompass", (D(V), W)),
    Case("ahrs.common.orientation.slerp", (D(Q), QS[1], np.array([0.2, 0.6]))),
    Case("ahrs.utils.metrics.chordal", (R, D(R + 0.1))),
    Case("ahrs.utils.metrics.qad", (Q, D(QS[1]))),
    Case("ahrs.common.frames.geodetic2ecef", (D(30.0), 31.0, 100.0)),
    Case("ahrs.common.frames.ecef2geodetic", (D(4.7e6), 2.8e6, 3.2e6)),
    Case("ahrs.common.frames.enu2aer", (D(10.0), 20.0, 5.0)),
    # pytransform3d
    Case("pytransform3d.rotations.matrix_from_axis_angle", (D(np.array([0.6, 0.0, 0.8, 0.4])),)),
    Case("pytransform3d.rotations.matrix_from_compact_axis_angle", (D(V),)),
    Case("pytransform3d.rotations.matrix_from_quaternion", (D(Q),)),
    Case("pytransform3d.rotations.matrix_from_euler", (D(V), 0, 1, 2, True)),
    Case("pytransform3d.rotations.concatenate_quaternions", (D(Q), QS[1])),
    Case("pytransform3d.rotations.left_jacobian_SO3", (D(V),)),
    Case("pytransform3d.rotations.q_prod_vector", (D(Q), V)),
    Case("pytransform3d.transformations.transform_from_exponential_coordinates", (D(np.r_[V, W]),)),
    Case("pytransform3d.transformations.adjoint_from_transform", (D(M44),), {"check": False}),
    Case("pytransform3d.transformations.concat", (D(M44), HOME), {"check": False}),
    # trimesh
    Case("trimesh.triangles.area", (D(TRIANGLES),)),
    Case("trimesh.triangles.cross", (D(TRIANGLES),)),
    Case("trimesh.triangles.angles", (D(TRIANGLES),)),
    Case("trimesh.triangles.points_to_barycentric", (D(TRIANGLES), POINTS[:2])),
    Case("trimesh.transformations.rotation_matrix", (D(0.4), V, W)),
    Case("trimesh.transformations.quaternion_matrix", (D(Q),)),
    Case("trimesh.transformations.quaternion_slerp", (D(Q), QS[1], 0.3)),
    Case("trimesh.transformations.euler_matrix", (0.3, D(-0.4), 0.7)),
    Case("trimesh.transformations.euler_from_matrix", (D(R * 1.0),)),
    Case("trimesh.transformations.reflection_matrix", (V, D(W))),
    Case(
        "trimesh.transformations.compose_matrix",
        (),
        {"scale": D(np.array([1.1, 0.8, 1.3])), "angles": V},
    ),
    Case("trimesh.geometry.plane_transform", (V, D(W))),
    Case("trimesh.points.plane_fit", (D(POINTS),)),
    Case("trimesh.points.point_plane_distance", (POINTS, D(W), V)),
    # vg, polliwog, scikit-spatial
    Case("vg.normalize", (D(POINTS),)),
    Case("vg.angle", (D(V), W)),
    Case("vg.rotate", (V, D(W), 30.0)),
    Case("vg.project", (D(V), W)),
    Case("vg.perpendicular", (D(V), W)),
    Case("vg.signed_angle", (D(V), W, POINTS[0])),
    Case("polliwog.transform.rodrigues_vector_to_rotation_matrix", (D(V),)),
    Case("polliwog.transform.euler", (D(np.array([20.0, 30.0, -10.0])),)),
    Case("polliwog.transform.world_to_view", (D(V), W)),
    Case("polliwog.tri.surface_normals", (D(TRIANGLES),)),
    Case("polliwog.tri.barycentric_coordinates_of_points", (D(TRIANGLES), POINTS[:2])),
    Case(calls.skspatial_plane_distance, (D(V),)),
    Case(calls.skspatial_line_projection, (D(V),)),
    Case(calls.skspatial_triangle_area, (D(V),)),
    # modern_robotics, navpy, nibabel, pyquaternion
    Case(
        "modern_robotics.MatrixExp3",
        (D(np.array([[0, -0.3, 0.2], [0.3, 0, -0.5], [-0.2, 0.5, 0]])),),
    ),
    Case("modern_robotics.MatrixLog3", (D(R * 1.0),)),
    Case("modern_robotics.FKinSpace", (HOME, SLIST, D(TH))),
    Case("modern_robotics.FKinBody", (HOME, SLIST, D(TH))),
    Case("modern_robotics.JacobianSpace", (SLIST, D(TH))),
    Case("modern_robotics.Adjoint", (D(M44),)),
    Case("modern_robotics.TransInv", (D(M44),)),
    Case("modern_robotics.ScrewToAxis", (V, D(W), 0.3)),
    Case("modern_robotics.QuinticTimeScaling", (2.0, D(0.6))),
    Case("modern_robotics.Normalize", (D(V),)),
    Case("navpy.angle2dcm", (D(0.3), -0.2, 0.5)),
    Case("navpy.angle2quat", (D(0.3), -0.2, 0.5)),
    Case("navpy.quat2angle", (D(0.9), np.array([0.1, 0.2, 0.3]))),
    Case("navpy.lla2ecef", (D(44.9), -93.2, 250.0)),
    Case("navpy.earthrad", (D(44.9),)),
    Case("navpy.lla2ned", (D(44.91), -93.21, 255.0, 44.9, -93.2, 250.0)),
    Case("navpy.qmult", (0.9, D(np.array([0.1, 0.2, 0.3])), 0.7, np.array([0.3, -0.4, 0.1]))),
    Case("nibabel.quaternions.quat2mat", (D(Q),)),
    Case("nibabel.quaternions.angle_axis2mat", (D(0.4), V)),
    Case("nibabel.eulerangles.euler2mat", (0.3, D(0.4), 0.5)),
    Case("nibabel.eulerangles.mat2euler", (D(R * 1.0),)),
    Case("nibabel.affines.apply_affine", (D(M44), POINTS)),
    Case("nibabel.affines.voxel_sizes", (D(M44),)),
    Case(calls.pyquaternion_rotate, (D(Q * 1.1), V)),
    Case(calls.pyquaternion_slerp, (D(0.3), Q, QS[1])),
    Case(calls.pyquaternion_matrix, (D(Q * 1.2),)),
    # geodesy: pymap3d, utm, nvector, geographiclib, haversine
    Case("pymap3d.geodetic2ecef", (D(42.0), -82.0, 200.0)),
    Case("pymap3d.ecef2geodetic", (D(6.6e5), -4.7e6, 4.2e6)),
    Case("pymap3d.geodetic2aer", (D(42.002), -81.998, 1139.7, 42.0, -82.0, 200.0), step=1e-6),
    Case("pymap3d.aer2geodetic", (33.0, D(70.0), 1000.0, 42.0, -82.0, 200.0)),
    Case("pymap3d.vincenty.vdist", (D(10.0), 20.0, 30.0, 50.0)),
    Case("pymap3d.vincenty.vreckon", (10.0, 20.0, 3e5, D(38.0))),
    Case("pymap3d.lox.loxodrome_inverse", (D(40.0), -80.0, 65.0, -148.0)),
    Case("pymap3d.lox.meridian_arc", (D(10.0), 42.0)),
    Case("pymap3d.haversine.anglesep_meeus", (D(35.0), 23.0, 84.0, 20.0)),
    Case("utm.from_latlon", (D(51.2), 7.5)),
    Case("utm.to_latlon", (D(395201.3), 5673135.2, 32, "U")),
    Case("nvector.lat_lon2n_E", (D(0.7), 0.3)),
    Case("nvector.n_E2R_EN", (D(V[:, None] / np.sqrt(V @ V)),)),
    Case("nvector.great_circle_distance", (D(V[:, None]), W[:, None])),
    Case("nvector.n_EB_E2p_EB_E", (D(V[:, None] / np.sqrt(V @ V)),)),
    Case("nvector.zyx2R", (0.1, D(0.2), 0.3)),
    Case(calls.geographiclib_inverse, (D(35.32),)),
    Case(calls.geographiclib_direct, (D(30.0),)),
    Case("haversine.haversine", (D((45.7597, 4.8422)), (48.8567, 2.3508))),
    Case(
        "haversine.haversine_vector",
        (D(np.array([[45.7, 4.8], [40.1, 3.3]])), np.array([[48.8, 2.3], [41.0, 8.0]])),
    ),
    Case("haversine.inverse_haversine", ((45.7597, 4.8422), D(32.0), 0.7)),
    # splines
    Case(calls.splines_catmull_rom, (D(POINTS),)),
    Case(calls.splines_natural, (D(POINTS),)),
    Case(calls.splines_bernstein, (D(POINTS[:4]),)),
    Case(calls.splines_monotone, (D(np.array([0.1, 0.5, 0.6, 1.4])),)),
    Case(calls.splines_tcb, (D(POINTS),)),
    Case(calls.csaps_smooth, (D(np.array([0.1, 0.7, 0.2, 0.9, 0.4])),)),
    Case("geomdl.helpers.basis_function", (2, [0, 0, 0, 0.4, 0.7, 1, 1, 1], 3, D(0.55))),
    Case("geomdl.helpers.basis_function_ders", (2, [0, 0, 0, 0.4, 0.7, 1, 1, 1], 3, D(0.55), 2)),
    Case(
        "geomdl.linalg.matrix_determinant",
        (D([[1.1, 0.2, 0.3], [0.4, 1.5, 0.6], [0.7, 0.8, 1.9]]),),
    ),
    Case(
        "geomdl.linalg.lu_solve",
        (D([[2.1, 0.2, 0.3], [0.4, 1.5, 0.6], [0.7, 0.8, 1.9]]), [[1.0], [2.0], [0.5]]),
    ),
    Case("geomdl.linalg.vector_multiply", (D([0.4, -1.1, 0.8]), 1.7)),
    Case("geomdl.linalg.vector_angle_between", (D([0.4, -1.1, 0.8]), [1.0, 0.3, 0.2])),
    Case(calls.geomdl_curve, (D([[0.1, 0.2], [1.0, 0.8], [1.5, -0.3], [2.2, 0.4]]),)),
    Case(calls.patsy_bs, (D(np.array([0.1, 0.35, 0.6, 0.85])),)),
    Case(calls.patsy_cr, (D(np.array([0.1, 0.35, 0.6, 0.85])),)),
    # colour
    Case("colorspacious.basics.XYZ100_to_sRGB1_linear", (D(XYZ),)),
    Case("colorspacious.basics.sRGB1_to_sRGB1_linear", (D(RGB),)),
    Case("colorspacious.basics.XYZ100_to_CIELab", (D(XYZ), np.array([95.0, 100.0, 109.0]))),
    Case("colorspacious.basics.CIELab_to_XYZ100", (D(XYZ), np.array([95.0, 100.0, 109.0]))),
    Case("colorspacious.basics.CIELab_to_CIELCh", (D(XYZ),)),
    Case("colorspacious.basics.XYZ_to_xyY", (D(XYZ),)),
    Case("colorspacious.cspace_convert", (D(RGB), "sRGB1", "CAM02-UCS")),
    Case("colorspacious.deltaE", (D(RGB[0]), RGB[1])),
]
