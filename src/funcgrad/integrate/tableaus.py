"""The coefficients of the methods: explicit Runge-Kutta pairs and Rosenbrock methods.

Each method has an embedded error estimate and a continuous extension (dense output).
"""

from __future__ import annotations

from typing import NamedTuple

CoefficientRows = tuple[tuple[float, ...], ...]


def _rows(table: str) -> CoefficientRows:
    """The rows of a table of numbers, in which a semicolon ends a row.

    >>> _rows("1.0 2.0; 3.0")
    ((1.0, 2.0), (3.0,))
    """
    return tuple([tuple(map(float, row.split())) for row in table.split(";")])


class RungeKutta(NamedTuple):
    """An explicit pair whose last stage is the slope at the end of the step (first same as last)."""

    error_order: int
    """The order of the error estimate, which step-size control uses."""
    nodes: tuple[float, ...]
    stages: CoefficientRows
    weights: tuple[float, ...]
    error: tuple[float, ...]
    """The weights of the error estimate, one a stage and one for the slope at the end."""
    dense: CoefficientRows
    """For each stage the coefficients of theta, theta**2, ... in the continuous extension."""
    stability_limit: float
    """The largest product of a step and the spectral radius of the Jacobian in a stiff equation: inside the
    region of stability, whose end on the real axis is 2.5 for order 3(2), and 3.3 for order 5(4)."""


class Rosenbrock(NamedTuple):
    """A stiffly accurate Rosenbrock method in the form without products of the Jacobian.

    Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.7: stage i solves
    ``(1/(h*gamma) - J) u_i = f(t + nodes[i]*h, y + sum_j stages[i][j] u_j) + sum_j coupling[i][j] u_j / h
    + h * time[i] * df/dt``. The step is the argument of the last stage plus its u, which is the error
    estimate.
    """

    error_order: int
    gamma: float
    nodes: tuple[float, ...]
    time: tuple[float, ...]
    stages: CoefficientRows
    coupling: CoefficientRows
    dense: CoefficientRows
    """The rows d_2, d_3, ... of the continuous extension
    ``(1-theta)*y0 + theta*(y1 + (1-theta)*(D_2 + theta*(D_3 + ...)))`` with ``D_k = sum_j d_kj u_j``."""


BOGACKI_SHAMPINE = RungeKutta(
    error_order=2,
    nodes=(0.0, 1 / 2, 3 / 4),
    stages=((), (1 / 2,), (0.0, 3 / 4)),
    weights=(2 / 9, 1 / 3, 4 / 9),
    error=(5 / 72, -1 / 12, -1 / 9, 1 / 8),
    dense=(
        (1.0, -4 / 3, 5 / 9),
        (0.0, 1.0, -2 / 3),
        (0.0, 4 / 3, -8 / 9),
        (0.0, -1.0, 1.0),
    ),
    stability_limit=1.9,
)
"""Bogacki and Shampine, Appl. Math. Lett. 2 (1989) 321: order 3(2), cubic Hermite dense output."""

DORMAND_PRINCE = RungeKutta(
    error_order=4,
    nodes=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0),
    stages=(
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    weights=(35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    error=(-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40),
    dense=(
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (
            0.0,
            127303824393 / 49829197408,
            -318862633887 / 49829197408,
            701980252875 / 199316789632,
        ),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ),
    stability_limit=2.5,
)
"""Dormand and Prince, J. Comp. Appl. Math. 6 (1980) 19: order 5(4). Dense output of order 4: Shampine,
Math. Comp. 46 (1986) 135."""

_FIRST_STAGES = _rows("""
    3.0;
    2.849394379747939 0.45842242204463923;
    -6.954028509809101 2.489845061869568 -10.358996098473584;
    2.8029986275628964 0.5072464736228206 -0.3988312541770524 -0.04721187230404641;
    -7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256
    0.030198172008377946
""")
RODAS5P = Rosenbrock(
    error_order=4,
    gamma=0.21193756319429014,
    nodes=_rows("""
    0.0 0.6358126895828704 0.4095798393397535 0.9769306725060716 0.4288403609558664 1.0 1.0
    1.0
""")[0],
    time=_rows("""
    0.21193756319429014 -0.42387512638858027 -0.3384627126235924 1.8046452872882734
    2.325825639765069 0.0 0.0 0.0
""")[0],
    stages=((), *_FIRST_STAGES, (*_FIRST_STAGES[-1], 1.0), (*_FIRST_STAGES[-1], 1.0, 1.0)),
    coupling=(
        (),
        *_rows("""
    -14.155112264123755;
    -17.97296035885952 -2.859693295451294;
    147.12150275711716 -1.41221402718213 71.68940251302358;
    165.43517024871676 -0.4592823456491126 42.90938336958603 -5.961986721573306;
    24.854864614690072 -3.0009227002832186 47.4931110020768 5.5814197821558125
    -0.6610691825249471;
    30.91273214028599 -3.1208243349937974 77.79954646070892 34.28646028294783
    -19.097331116725623 -28.087943162872662;
    37.80277123390563 -3.2571969029072276 112.26918849496327 66.9347231244047
    -40.06618937091002 -54.66780262877968 -9.48861652309627
"""),
    ),
    dense=_rows("""
    25.948786856663858 -2.5579724845846235 10.433815404888879 -2.3679251022685204
    0.524948541321073 1.1241088310450404 0.4272876194431874 -0.17202221070155493;
    -9.91568850695171 -0.9689944594115154 3.0438037242978453 -24.495224566215796
    20.176138334709044 15.98066361424651 -6.789040303419874 -6.710236069923372;
    11.419903575922262 2.8879645146136994 72.92137995996029 80.12511834622643
    -52.072871366152654 -59.78993625266729 -0.15582684282751913 4.883087185713722
"""),
)
"""Steinebach, BIT Numer. Math. 63 (2023) 27: order 5(4), L-stable, with a dense output of order 4."""

METHODS: dict[str, RungeKutta | Rosenbrock] = {
    "RK45": DORMAND_PRINCE,
    "RK23": BOGACKI_SHAMPINE,
    "Rodas5P": RODAS5P,
}
