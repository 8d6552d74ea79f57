"""Atmospheres, steam, fibers, polarized light, scattering slabs, bands, filters, robots and rankings."""

import numpy as np

from tests.thirdparty import calls_of_instances as calls
from tests.thirdparty.case import Case, D

PAIRS = [(0, 1), (1, 2), (2, 0), (3, 1), (4, 3), (1, 4), (0, 4), (2, 3)]
BAR = np.array([[0.0, 0.0], [1.0, 0.5]])
STRENGTHS = np.array([0.3, -0.8, 1.1, 0.2, -0.4])

ROWS = [
    Case(calls.altitude, (D(15000.0),)),
    Case(calls.altitude_of_a_copy, (D(15000.0),)),
    Case(calls.enthalpy, (D(10.0),)),
    Case(calls.haldane_bands, (D(1.2),)),
    Case(calls.chain_phase, (D(1.0),)),
    Case(calls.smoothed, (D(0.02),)),
    Case(calls.end_of_a_chain, (D(np.array([0.0, 0.3, 0.5])),)),
    Case(calls.correlations, (D(1.0 / (1.0 + calls.RADII**2)),)),
    Case(calls.slab, (D(0.8),)),
    # ofiber
    Case("ofiber.cylinder_step.LP_mode_value", (D(3.1), 0, 1)),
    Case("ofiber.cylinder_step.bending_loss_db", (D(1.45), 0.005, 4e-6, 0.02, 1.3e-6)),
    Case("ofiber.noise.SNR_at_BER", (D(1e-4),)),
    # pypolar
    Case("pypolar.mueller.op_fresnel_reflection", (1.5 - 0.3j, D(0.7))),
    Case("pypolar.ellipsometry.m_from_tanpsi_and_Delta", (D(0.4), 2.1, 1.1)),
    Case("pypolar.fresnel.T_unpolarized", (1.5 - 0.3j, D(0.7))),
    # choix
    Case("choix.log_likelihood_pairwise", (PAIRS, D(STRENGTHS))),
    Case("choix.lsr.lsr_pairwise", (5, PAIRS, D(0.1))),
    Case("choix.opt.opt_pairwise", (5, PAIRS, D(0.1))),
    # bars of finite elements, and airspeeds
    Case("femlabpy.elements.bars.kebar", (BAR, D([[0.1, 0.0], [1.3, 0.6]]), [0.01, 210.0])),
    Case("femlabpy.elements.bars.qebar", (BAR, D([[0.1, 0.0], [1.3, 0.6]]), [0.01, 210.0])),
    Case("aerocalc3.airspeed.cas2tas", (D(250.0), 10000.0)),
    Case("aerocalc3.airspeed.cas_mach2alt", (D(280.0), 0.7)),
]
