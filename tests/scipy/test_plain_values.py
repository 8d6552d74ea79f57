"""`funcgrad.scipy` of plain values gives what SciPy gives: the same code over both, with arrays of each."""

import numpy as np
import pytest
import scipy
import scipy.integrate
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.stats
from scipy.spatial import transform

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.scipy as fsp
from funcgrad.scipy.spatial import transform as own_transform

RNG = np.random.default_rng(0)
POINTS = RNG.random((30, 2))
LIFETIMES = scipy.stats.weibull_min.rvs(2.5, scale=30, size=250, random_state=RNG)


def two_valleys(np, with_slope):
    def function(x):
        value = np.cos(14.5 * x[0] - 0.3) + (x[1] + 0.2) * x[1] + (x[0] + 0.2) * x[0]
        slope = np.zeros(2)
        slope[0] = -14.5 * np.sin(14.5 * x[0] - 0.3) + 2.0 * x[0] + 0.2
        slope[1] = 2.0 * x[1] + 0.2
        return (value, slope) if with_slope else value

    return function


def broyden(x):
    found = (3 - x) * x + 1
    found[1:] -= x[:-1]
    found[:-1] -= 2 * x[1:]
    return found


def tridiagonal(scipy, np, n):
    pattern = scipy.sparse.lil_array((n, n), dtype=int)
    places = np.arange(n)
    pattern[places, places] = 1
    pattern[places[1:], places[:-1]] = 1
    pattern[places[:-1], places[1:]] = 1
    return pattern


CALLS = {
    **{
        f"moments of {name}": lambda scipy, np, name=name, shapes=shapes: getattr(
            scipy.stats, name
        ).stats(*shapes, moments="mvsk")
        for name, shapes in {
            "bernoulli": (0.3,),
            "genextreme": (-0.1,),
            "nbinom": (5, 0.5),
            "ncf": (27.0, 27.0, 0.4),
            "nct": (14.0, 0.24),
            "nchypergeom_fisher": (140, 80, 60, 0.5),
            "zipfian": (1.25, 10),
            "gamma": (1.99,),
        }.items()
    },
    "fit of censored data": lambda scipy, np: scipy.stats.weibull_min.fit(
        scipy.stats.CensoredData.right_censored(LIFETIMES, LIFETIMES > 40), floc=0
    ),
    "polynomial sweep": lambda scipy, np: scipy.signal.sweep_poly(
        np.linspace(0, 10, 50), np.poly1d([0.025, -0.36, 1.25, 2.0])
    ),
    "basin hopping by slopes": lambda scipy, np: (
        scipy.optimize.basinhopping(
            two_valleys(np, True),
            [1.0, 1.0],
            minimizer_kwargs={"method": "L-BFGS-B", "jac": True},
            niter=20,
            rng=0,
        ).x
    ),
    "basin hopping": lambda scipy, np: (
        scipy.optimize.basinhopping(two_valleys(np, False), [1.0, 1.0], niter=10, rng=0).x
    ),
    "least squares of a sparse Jacobian": lambda scipy, np: (
        scipy.optimize.least_squares(
            broyden, -np.ones(100), jac_sparsity=tridiagonal(scipy, np, 100)
        ).x
    ),
    "an ODE with a sparse Jacobian": lambda scipy, np: scipy.integrate.solve_ivp(
        lambda t, y: broyden(y),
        (0.0, 0.1),
        np.zeros(20),
        "BDF",
        jac_sparsity=tridiagonal(scipy, np, 20),
    ).y[:, -1],
    "points of a hull": lambda scipy, np: scipy.spatial.ConvexHull(POINTS).points,
    "points of a triangulation": lambda scipy, np: scipy.spatial.Delaunay(POINTS).points,
    "formats": lambda scipy, np: [
        getattr(scipy.sparse, f"isspmatrix_{name}")(
            getattr(scipy.sparse, f"{kind}_matrix")([[5.0]])
        )
        for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
        for kind in ("csr", "dok", "lil")
    ],
}


@pytest.mark.parametrize("case", CALLS)
def test_plain_values_give_what_scipy_gives(case):
    call = CALLS[case]
    want, found = call(scipy, np), call(fsp, fnp)
    np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-10)


def test_the_minimum_of_basin_hopping_by_slopes_is_differentiated():
    def lowest(c):
        def function(x):
            return np.cos(5 * x[0]) + (x[0] - c) ** 2, np.array(
                [2 * (x[0] - c) - 5 * np.sin(5 * x[0])]
            )

        kwargs = {"method": "L-BFGS-B", "jac": True}
        found = scipy.optimize.basinhopping(
            function, [0.5], minimizer_kwargs=kwargs, niter=10, rng=0
        )
        return found.x[0]

    x = lowest(0.7)
    np.testing.assert_allclose(fg.grad(lowest)(0.7), 2 / (2 - 25 * np.cos(5 * x)), rtol=1e-6)


def test_rigid_transforms_take_rotations_of_this_package():
    kind = pytest.importorskip("scipy.spatial.transform").__dict__.get("RigidTransform")
    if kind is None:
        pytest.skip("RigidTransform is new in SciPy 1.16")

    def moved(module, turn):
        place = module.RigidTransform.from_components(turn, module.Rotation.from_rotvec(0.3 * turn))
        return (place * place.inv() * place).apply([1.0, 2.0, 3.0])[0]

    turn = np.array([0.1, 0.2, 0.3])
    assert own_transform.RigidTransform is own_transform.RigidTransform
    np.testing.assert_allclose(moved(own_transform, turn), moved(transform, turn), rtol=1e-12)
    np.testing.assert_allclose(
        fg.grad(lambda turn: moved(own_transform, turn))(turn),
        fg.grad(lambda turn: moved(transform, turn))(turn),
        rtol=1e-10,
    )
