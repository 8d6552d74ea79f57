"""Formulas of physics, chemistry, engineering and the sea."""

import numpy as np

from tests.thirdparty.case import Case, D
from tests.thirdparty.more_calls import ase_angle, ase_distances

X = np.linspace(-1.4, 1.9, 6)
T = np.array([12.0, 18.5, 25.0])
S = np.array([34.0, 35.1, 36.2])
VOLUMES = np.array([10.0, 11.0])
ATOMS = np.array([[0.0, 0.0, 0.0], [1.1, 0.1, 0.2], [0.3, 1.2, -0.1]])
P = np.array([120.0, 800.0, 2500.0])

ROWS = [
    # lmfit: line shapes
    Case("lmfit.lineshapes.gaussian", (X, 1.3, D(0.2), 0.7)),
    Case("lmfit.lineshapes.gaussian2d", (X, 0.3, 1.3, 0.2, 0.1, D(0.7), 0.9)),
    Case("lmfit.lineshapes.lorentzian", (X, 1.3, 0.2, D(0.7))),
    Case("lmfit.lineshapes.split_lorentzian", (X, 1.3, 0.2, D(0.7), 1.1)),
    Case("lmfit.lineshapes.voigt", (X, 1.3, 0.2, D(0.7), 0.4)),
    Case("lmfit.lineshapes.pvoigt", (X, 1.3, 0.2, D(0.7), 0.4)),
    Case("lmfit.lineshapes.moffat", (X, 1.3, 0.2, 0.7, D(1.4))),
    Case("lmfit.lineshapes.pearson4", (X, 1.3, 0.2, 0.7, D(1.4), 0.3)),
    Case("lmfit.lineshapes.pearson7", (X, 1.3, 0.2, 0.7, D(1.4))),
    Case("lmfit.lineshapes.breit_wigner", (X, 1.3, 0.2, 0.7, D(1.4))),
    Case("lmfit.lineshapes.damped_oscillator", (X, 1.3, 1.2, D(0.3))),
    Case("lmfit.lineshapes.dho", (X, 1.3, 1.2, D(0.3), 0.8)),
    Case("lmfit.lineshapes.logistic", (X, 1.3, D(0.2), 0.3)),
    Case("lmfit.lineshapes.lognormal", (X, 1.3, D(0.2), 0.3)),
    Case("lmfit.lineshapes.students_t", (X, 1.3, 0.2, D(0.9))),
    Case("lmfit.lineshapes.expgaussian", (X, 1.3, 0.2, 0.9, D(0.6))),
    Case("lmfit.lineshapes.doniach", (X, 1.3, 0.2, 0.9, D(0.2))),
    Case("lmfit.lineshapes.skewed_gaussian", (X, 1.3, 0.2, 0.9, D(0.4))),
    Case("lmfit.lineshapes.skewed_voigt", (X, 1.3, 0.2, D(0.9), 0.5, 0.4)),
    Case("lmfit.lineshapes.expsine", (X, 1.3, 2.2, 0.3, D(0.4))),
    Case("lmfit.lineshapes.thermal_distribution", (X, 1.3, 0.2, D(0.4)), {"form": "fermi"}),
    Case("lmfit.lineshapes.step", (X, 1.3, 0.2, D(0.6)), {"form": "erf"}),
    Case("lmfit.lineshapes.rectangle", (X, 1.3, 0.2, D(0.6), 1.1, 0.5), {"form": "atan"}),
    Case("lmfit.lineshapes.exponential", (X, 1.3, D(0.6))),
    Case("lmfit.lineshapes.powerlaw", (X + 2.0, 1.3, D(0.6))),
    # fooof, pybaselines, peakutils: spectra
    Case("fooof.core.funcs.gaussian_function", (X, 0.3, D(1.1), 0.6, -0.2, 0.5, 0.4)),
    Case("fooof.core.funcs.expo_function", (X + 2.0, 0.3, D(1.1), 0.6)),
    Case("fooof.core.funcs.expo_nk_function", (X + 2.0, 0.3, D(1.1))),
    Case("pybaselines.utils.gaussian", (X, 1.3, D(0.2), 0.7)),
    Case("pybaselines.utils.gaussian2d", (X[:, None], X[None], 1.3, 0.2, 0.1, D(0.7), 0.9)),
    Case("pybaselines.utils.padded_convolve", (D(X), np.array([0.2, 0.5, 0.3]))),
    Case("pybaselines.utils.pad_edges", (D(X), 2)),
    Case("pybaselines.utils.whittaker_smooth", (D(X), 10.0)),
    Case("pybaselines.polynomial.poly", (D(np.sin(X) + X**2),), {"poly_order": 2}),
    Case("peakutils.gaussian", (X, 1.3, D(0.2), 0.7)),
    Case("peakutils.centroid", (X, D(np.exp(-(X**2))))),
    Case("peakutils.centroid2", (D(np.exp(-(X**2))), X)),
    Case("peakutils.scale", (D(X**2),)),
    # seawater
    Case("seawater.eos80.dens", (S, D(T), P)),
    Case("seawater.eos80.dens0", (D(S), T)),
    Case("seawater.eos80.adtg", (S, D(T), P)),
    Case("seawater.eos80.alpha", (S, T, D(P))),
    Case("seawater.eos80.beta", (D(S), T, P)),
    Case("seawater.eos80.cp", (S, D(T), P)),
    Case("seawater.eos80.fp", (D(S), P)),
    Case("seawater.eos80.ptmp", (S, D(T), P)),
    Case("seawater.eos80.svel", (S, D(T), P)),
    Case("seawater.eos80.salt", (D(np.array([0.9, 1.0])), 15.0, 0.0)),
    Case("seawater.eos80.dpth", (D(P), 30.0)),
    Case("seawater.geostrophic.svan", (S, D(T), P)),
    Case("seawater.geostrophic.bfrq", (S[:, None], D(T[::-1, None]), P[:, None], 30.0), step=0.05),
    Case("seawater.geostrophic.gpan", (S[:, None], D(T[:, None]), P[:, None])),
    Case("thermofeel.calculate_saturation_vapour_pressure", (D(T + 273.0),)),
    Case("thermofeel.calculate_relative_humidity_percent", (T + 273.0, D(T + 268.0))),
    Case(
        "thermofeel.calculate_utci", (T + 273.0, D(np.array([2.0, 5.0, 8.0])), T + 280.0, T + 265.0)
    ),
    Case("thermofeel.calculate_wbt", (T + 273.0, D(np.array([40.0, 55.0, 80.0])))),
    Case("thermofeel.calculate_heat_index_adjusted", (D(T + 285.0), T + 275.0)),
    Case("thermofeel.calculate_wind_chill", (D(T + 250.0), np.array([4.0, 6.0, 9.0]))),
    Case("refet.calcs.sat_vapor_pressure", (D(T),)),
    Case("refet.calcs.ra_daily", (D(np.array([0.6, 0.8])), 180)),
    Case("refet.calcs.ra_hourly", (D(np.array([0.69])), -2.09, 180, 18.0)),
    Case("refet.calcs.rso_daily", (D(np.array([30.0])), 1.2, 88.0, 180, 0.69)),
    Case("refet.calcs.etsz", (12.0, 0.0, D(T), 2.0, 1.1, 0.12, 0.06, 900.0, 0.34)),
    # fluids, ht, chemicals
    Case("fluids.friction.Colebrook", (D(1e5), 1e-4)),
    Case("fluids.friction.Clamond", (D(1e5), 1e-4)),
    Case("fluids.friction.friction_factor", (D(1e5),), {"eD": 1e-3}),
    Case("fluids.friction.Haaland", (1e5, D(2e-3))),
    Case("fluids.two_phase.Friedel", (0.6, D(0.1), 915.0, 2.67, 180e-6, 14e-6, 0.0487, 0.05)),
    Case(
        "fluids.two_phase.Beggs_Brill",
        (0.6, D(0.1), 915.0, 2.67, 180e-6, 14e-6, 0.0487, 101325.0, 0.05, 0.0, 1.0),
    ),
    Case("fluids.packed_bed.Ergun", (8e-4, 0.4, D(1e-3), 1e3, 1e-3)),
    Case("fluids.drag.Barati", (D(200.0),)),
    Case("fluids.drag.v_terminal", (D(70e-6), 2600.0, 1000.0, 1e-3)),
    Case(
        "fluids.flow_meter.C_Reader_Harris_Gallagher",
        (0.07391, D(0.0222), 1.165, 1.85e-5, 0.12),
        {"taps": "flange"},
    ),
    Case("fluids.geometry.A_partial_circle", (1.0, D(0.3))),
    Case("fluids.geometry.SA_ellipsoidal_head", (2.0, D(0.7))),
    Case(
        "fluids.compressible.isothermal_gas",
        (11.3, 0.00185),
        {"P1": D(1e6), "P2": 9e5, "L": 1000.0, "D": 0.5},
    ),
    Case("fluids.core.Reynolds", (2.5, D(0.25), 1.1613, 1.9e-5)),
    Case("ht.core.LMTD", (100.0, D(60.0), 30.0, 40.2)),
    Case("ht.conv_internal.Nu_conv_internal", (D(1e5), 0.7)),
    Case("ht.radiation.blackbody_spectral_radiance", (D(800.0), 4e-6)),
    Case("ht.hx.effectiveness_from_NTU", (D(5.0), 0.7), {"subtype": "counterflow"}),
    Case("ht.conv_free_immersed.Nu_vertical_plate_Churchill", (0.69, D(2.63e9))),
    Case("chemicals.dippr.EQ107", (D(300.0), 33363.0, 26790.0, 2610.5, 8896.0, 1169.0)),
    Case("chemicals.vapor_pressure.Antoine", (D(100.0), 8.7687, 395.744, -6.469)),
    Case(
        "chemicals.vapor_pressure.Wagner",
        (D(100.0), 190.53, 4596420.0, -6.00435, 1.1885, -0.834082, -1.22833),
    ),
    Case("chemicals.volume.Rackett", (D(272.03889), 369.83, 4248000.0, 0.2763)),
    Case("chemicals.volume.COSTALD", (D(272.03889), 369.83, 0.20008161e-3, 0.1532)),
    Case("chemicals.iapws.iapws95_rho", (D(400.0), 1e6)),
    Case("chemicals.iapws.iapws97_rho", (D(400.0), 1e6)),
    Case("chemicals.viscosity.Wilke", ([0.05, 0.95], D([1.34e-5, 9.5029e-6]), [64.06, 46.07])),
    Case("chemicals.heat_capacity.Lastovka_Shaw", (D(1000.0), 0.1333)),
    Case(
        "chemicals.rachford_rice.Rachford_Rice_flash_error",
        (D(0.5), [0.5, 0.3, 0.2], [1.685, 0.742, 0.532]),
    ),
    Case("chemicals.rachford_rice.flash_inner_loop", ([0.5, 0.3, 0.2], D([1.685, 0.742, 0.532]))),
    Case(
        "chemicals.interface.Winterfeld_Scriven_Davis",
        (D([0.1606, 0.8394]), [0.01547, 0.02877], [8610.0, 15530.0]),
    ),
    # ase: equations of state, cells, atoms
    Case("ase.eos.birchmurnaghan", (VOLUMES, -3.0, 0.5, D(4.0), 10.5)),
    Case("ase.eos.vinet", (VOLUMES, -3.0, 0.5, 4.0, D(10.5))),
    Case("ase.geometry.cellpar_to_cell", (D([3.0, 4.0, 5.0, 80.0, 95.0, 100.0]),)),
    Case(ase_distances, (D(ATOMS),)),
    Case(ase_angle, (D(ATOMS),)),
]
