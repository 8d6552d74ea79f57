"""Values with units: of astropy, pint and unyt."""

from __future__ import annotations

import numpy as np

from tests.thirdparty.case import Case, D


def astropy_conversion(x):
    from astropy import units as u

    return ((x * u.km) ** 2).to_value(u.hm**2), (x * u.deg_C).to_value(u.K, u.temperature())


def astropy_arrays(x):
    from astropy import units as u

    q = x * u.s
    total = (q * q).sum().to_value(u.min**2) + q.mean().value + q.max().value
    return total, np.sqrt(q).value, (q + 1 * u.min).to_value("s"), np.concatenate([q, q]).value


def astropy_functions(x):
    from astropy import units as u

    a = np.linspace(0.0, 1.0, 5) * u.m * x
    area = np.trapezoid(a, dx=1 * u.s).to_value(u.m * u.s)
    return np.sin(x * u.rad).value, np.exp(a / (2 * u.m)).value, np.cos(x * u.deg).value, area


def astropy_radius(x):
    from astropy import constants as c
    from astropy import units as u

    return (c.G * (x * u.Msun) / c.c**2).to_value(u.km)


def astropy_spectral(x):
    from astropy import units as u

    frequency = (x * u.um).to_value(u.THz, u.spectral())
    return frequency, (-2.5 * np.log10(x * u.Jy / (3631 * u.Jy))).value


def astropy_checked(x):
    from astropy import units as u

    @u.quantity_input(d=u.m)
    def doubled(d):
        return d * 2

    return doubled(x * u.km).to_value(u.m)


def pint_conversion(x):
    import pint

    unit = pint.UnitRegistry()
    a = x * unit.km / (2.0 * unit.hour)
    return (a * a).to("m**2/s**2").magnitude, np.sqrt(a * a).m, np.sin(a / a * 0.3).m


def pint_number(x):
    import pint

    unit = pint.UnitRegistry()
    length = 2.0 * x * unit.km
    return (x * length).to("m").magnitude, (x / length).magnitude, (x * (3.0 * unit.m)).magnitude


def unyt_conversion(x):
    import unyt

    a = x * unyt.km
    return (a**2).to("m**2").value, (a.sum() / (2.0 * unyt.hour)).to("m/s").value, np.sqrt(a).value


PACKAGES = {
    name: name.split("_")[0]
    for name, found in list(globals().items())
    if callable(found) and "_" in name
}
X = np.array([0.7, 2.0, 1.3])
ROWS = [
    Case(astropy_conversion, (D(X),)),
    Case(astropy_conversion, (D(0.7),), label="number"),
    Case(astropy_arrays, (D(X),)),
    Case(astropy_functions, (D(0.7),)),
    Case(astropy_radius, (D(X),)),
    Case(astropy_spectral, (D(X),)),
    Case(astropy_checked, (D(X),)),
    Case(pint_conversion, (D(X),)),
    Case(pint_number, (D(0.7),)),
    Case(unyt_conversion, (D(X),)),
]
