"""Calls of further packages that need more than one function, as in `calls`."""

from __future__ import annotations

import numpy as np

LINES = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)
SIGNAL = 0.1 * np.random.default_rng(0).normal(size=12_000)


def iapws_97(T):
    from iapws import IAPWS97

    return IAPWS97(T=T, P=2.0).h


def iapws_95(T):
    from iapws import IAPWS95

    return IAPWS95(T=T, rho=996.0).P


def sgp4_prop(t):
    from sgp4.earth_gravity import wgs72
    from sgp4.io import twoline2rv
    from sgp4.propagation import sgp4

    sat = twoline2rv(*LINES, wgs72)
    return sgp4(sat, t)


def sgp4_rv2coe(r):
    from sgp4.ext import rv2coe

    return rv2coe(r, [-0.4, 7.3, 1.2], 398600.8)[:6]


def ase_distances(positions):
    from ase import Atoms

    return Atoms("Ar3", positions=positions).get_all_distances()


def ase_angle(positions):
    from ase import Atoms

    return Atoms("Ar3", positions=positions).get_angle(0, 1, 2)


def colormath_lab(v):
    from colormath.color_conversions import convert_color
    from colormath.color_objects import LabColor, sRGBColor

    return convert_color(sRGBColor(v[0], v[1], v[2]), LabColor).get_value_tuple()


def colormath_back(v):
    from colormath.color_conversions import convert_color
    from colormath.color_objects import LabColor, sRGBColor

    return convert_color(LabColor(*v), sRGBColor).get_value_tuple()


def coloraide_convert(v, space):
    from coloraide.everything import ColorAll

    return ColorAll("srgb", list(v)).convert(space)[:-1]


def coloraide_de(v, m):
    from coloraide.everything import ColorAll

    return ColorAll("lab", list(v)).delta_e(ColorAll("lab", [50.0, 25.0, -22.0]), method=m)


def coloraide_mix(v):
    from coloraide import Color

    return Color("srgb", v).mix(Color("blue"), 0.3, space="oklch")[:-1]


def lmoments3_fit(d, name):
    import lmoments3.distr as distr

    return list(getattr(distr, name).lmom_fit(d).values())


def lmoments3_nnlf(d):
    import lmoments3.distr as distr

    return distr.gum.nnlf(d, 0.3, 1.2)


def pyloudnorm_gain(g):
    import pyloudnorm

    return pyloudnorm.Meter(12000).integrated_loudness(SIGNAL * g)


def pyloudnorm_filter(q):
    from pyloudnorm.iirfilter import IIRfilter

    f = IIRfilter(4.0, q, 1500.0, 48000, "high_shelf")
    return (f.a, f.b)


def spatialmath_logm(w):
    import spatialmath.base as b

    return b.trlog(b.exp2r(w))


def spatialmath_r2q(w):
    import spatialmath.base as b

    return b.r2q(b.exp2r(w))


def spatialmath_tr2rpy(w):
    import spatialmath.base as b

    return (b.tr2rpy(b.exp2r(w)), b.tr2eul(b.exp2r(w)))


def spatialmath_se3(w):
    from spatialmath import SE3

    return (SE3.Rx(w[0]) * SE3.Tx(w[1]) * SE3.Rz(w[2])).A


def spatialmath_interp(w):
    from spatialmath import SO3

    return SO3.RPY(w).interp1(0.3).A


def spatialmath_uq(w):
    from spatialmath import UnitQuaternion

    return (UnitQuaternion.Rx(w).A, (UnitQuaternion.Rx(w) * UnitQuaternion.Ry(0.3)).R)


def geopy_gc(lat):
    from geopy.distance import great_circle

    return great_circle((lat, -71.3), (41.4, -81.6)).km


def geopy_geod(lat):
    from geopy.distance import geodesic

    return geodesic((lat, -71.3), (41.4, -81.6)).m


def boule_gravity(lat):
    import boule

    return boule.WGS84.normal_gravity((0.0, lat, 1000.0))


def boule_gravity_h(h):
    import boule

    return boule.WGS84.normal_gravity(
        (0.0, np.array([10.0, 45.0]), h), coordinate_system="geodetic", si_units=True
    )


def boule_sph(lat):
    import boule

    return (
        boule.WGS84.geodetic_to_spherical((20.0, lat, 1000.0)),
        boule.WGS84.prime_vertical_radius(np.sin(np.radians(lat))),
    )


def boule_back(r):
    import boule

    return boule.WGS84.spherical_to_geodetic((20.0, 41.0, r))


def boule_radius(lat):
    import boule

    return (
        boule.WGS84.geocentric_radius(lat),
        boule.WGS84.geocentric_radius(lat, coordinate_system="spherical"),
    )


def ambiance_all(h, what):
    from ambiance import Atmosphere

    return getattr(Atmosphere(h), what)


def bezier_curve(nodes):
    import bezier

    c = bezier.Curve(nodes, degree=3)
    return (c.evaluate(0.3), c.length)


PACKAGES = {
    name: name.split("_")[0]
    for name, found in list(globals().items())
    if callable(found) and "_" in name
}
