"""Calls that make instances of the packages' classes, with traced values in their attributes."""

from __future__ import annotations

import copy

import numpy as np

MEASURED = np.cumsum(np.cos(np.arange(12.0) ** 2))[None, :]
RADII = np.logspace(-2, 2, 32)


def altitude(pressure):
    import isacalc

    return isacalc.Atmosphere().altimeter(pressure)


def altitude_of_a_copy(pressure):
    import isacalc

    return copy.deepcopy(isacalc.Atmosphere()).altimeter(pressure)


def haldane_bands(phase):
    import pythtb

    model = pythtb.tb_model(
        2, 2, [[1.0, 0.0], [0.5, np.sqrt(0.75)]], [[1 / 3, 1 / 3], [2 / 3, 2 / 3]]
    )
    model.set_onsite([-0.7, 0.7])
    model.set_hop(-1.0, 0, 1, [0, 0])
    model.set_hop(-1.0, 1, 0, [1, 0])
    model.set_hop(-1.0, 1, 0, [0, 1])
    model.set_hop(0.15 * np.exp(1j * phase), 0, 0, [1, 0])
    model.set_hop(0.15 * np.exp(1j * phase), 1, 1, [0, 1])
    return model.solve_one([0.3, 0.2])


def chain_phase(hop):
    import pythtb

    model = pythtb.tb_model(1, 1, [[1.0]], [[0.0], [0.5]])
    model.set_hop(hop, 0, 1, [0])
    model.set_hop(0.6, 1, 0, [1])
    model.set_onsite([0.3, -0.3])
    states = pythtb.wf_array(model, [11])
    states.solve_on_grid([0.0])
    return states.berry_phase([0], 0)


def smoothed(noise):
    import simdkalman

    filtering = simdkalman.KalmanFilter(
        state_transition=np.array([[1.0, 0.9], [0.0, 1.0]]),
        process_noise=np.diag([0.1, noise]),
        observation_model=np.array([[1.0, 0.0]]),
        observation_noise=1.1,
    )
    found = filtering.compute(MEASURED, 3, filtered=True, log_likelihood=True)
    return found.smoothed.states.mean, found.predicted.observations.mean, found.log_likelihood


def end_of_a_chain(angles):
    from ikpy.chain import Chain
    from ikpy.link import OriginLink, URDFLink

    links = [
        OriginLink(),
        URDFLink("b", [0, 0, 0.2], [0, 0, 0], rotation=[0, 0, 1]),
        URDFLink("c", [0.3, 0, 0], [0, 0.1, 0], rotation=[0, 1, 0]),
    ]
    return Chain(links).forward_kinematics(angles)


def correlations(power):
    import mcfit

    return mcfit.P2xi(RADII)(power)[1]


def slab(albedo):
    import iadpython

    return iadpython.Sample(a=albedo, b=1.3, g=0.4, n=1.4, quad_pts=8).rt()


def enthalpy(pressure):
    from pyXSteam.XSteam import XSteam

    steam = XSteam(XSteam.UNIT_SYSTEM_MKS)
    return steam.hV_p(pressure), steam.rho_pt(pressure, 250.0), steam.my_pt(pressure, 250.0)


PACKAGES = {
    "altitude": "isacalc",
    "altitude_of_a_copy": "isacalc",
    "haldane_bands": "pythtb",
    "chain_phase": "pythtb",
    "smoothed": "simdkalman",
    "end_of_a_chain": "ikpy",
    "correlations": "mcfit",
    "slab": "iadpython",
    "enthalpy": "pyXSteam",
}
