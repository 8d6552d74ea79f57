"""Markets, the sun, earthquakes and fuzzy sets."""

import numpy as np

from tests.thirdparty import further_calls as calls
from tests.thirdparty.case import Case, D

DAYS = np.arange(40.0)
PRICES = 10 + np.sin(0.37 * DAYS) + 0.3 * np.cos(1.9 * DAYS) + 0.05 * DAYS
MOTION = np.sin(0.37 * DAYS) + 0.3 * np.cos(1.9 * DAYS)
DATES = np.array(["2024-03-01T12:00", "2024-06-11T18:30"], "M8[ms]")
U = np.linspace(0.05, 0.95, 7)
V = np.array([0.61, 1.17, 1.43, 2.09, 2.71, 3.3])

ROWS = [
    # ta: indicators of prices, in Series of pandas
    *[Case(f, (D(PRICES),)) for f in calls.INDICATORS],
    # suncalc
    Case("suncalc.suncalc.sun_coords", (D(8123.4),)),
    Case("suncalc.suncalc.moon_coords", (D(8123.4),)),
    Case("suncalc.suncalc.astro_refraction", (D(0.3),)),
    Case(
        "suncalc.suncalc.get_position", (DATES, D(np.array([10.0, 21.5])), np.array([50.0, -12.0]))
    ),
    Case("suncalc.suncalc.getMoonPosition", (DATES, 10.0, D(np.array([50.0, -12.0])))),
    # eqsig: ground motions
    Case("eqsig.im.calc_peak", (D(MOTION),)),
    Case("eqsig.displacements.velocity_and_displacement_from_acceleration", (D(MOTION), 0.1)),
    Case("eqsig.sdof.single_elastic_response", (D(MOTION), 0.1, 0.7, 0.05)),
    Case("eqsig.stockwell.transform", (D(MOTION[:12]),)),
    Case("eqsig.im.calc_cyc_amp_array_w_power_law", (D(MOTION), 15, 0.34)),
    Case("eqsig.calc_smooth_fa_spectrum", (V, D(V**2), np.array([0.8, 1.9, 3.0]))),
    # scikit-fuzzy
    Case("skfuzzy.centroid", (V, D(np.sin(V) ** 2))),
    Case("skfuzzy.defuzzify.defuzz.bisector", (V, D(np.sin(V) ** 2))),
    Case("skfuzzy.interp_membership", (V, D(np.sin(V) ** 2), 1.7)),
    Case("skfuzzy.gbellmf", (V, D(0.8), 1.7, 1.5)),
    Case("skfuzzy.maxmin_composition", (D(np.outer(U[:3], U[3:6])), np.outer(U[2:5], U[4:7]))),
]
