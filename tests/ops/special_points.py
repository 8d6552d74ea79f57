"""Points at which special functions are compared with mpmath: ordinary ones first, then tails, ends and
zeros."""

NEAR = [0.37, 1.6, 2.5]
TAILS = [-1e8, -300.0, -21.0, -9.0, -5.0, -0.7, -1e-3, -1e-8, 1e-16, 1e-8, 1e-3, 0.999999]
TAILS += [1.0001, 5.5, 8.0, 9.9, 10.1, 30.0, 100.0, 700.0, 1e4, 1e8]
FRACTIONS = [0.37, 1e-200, 1e-20, 1e-8, 0.4999, 0.5001, 0.9, 0.999999]
SHAPES = [
    (2.5, 1.6),
    (0.37, 0.9),
    (1e-3, 0.2),
    (30.0, 29.0),
    (5e4, 50100.0),
    (0.5, 1e-9),
    (12.0, 80.0),
]
ODDS = [
    (2.5, 1.6, 0.37),
    (0.3, 0.4, 1e-9),
    (1e-3, 20.0, 0.3),
    (30.0, 1e-2, 0.97),
    (400.0, 300.0, 0.55),
]
ODDS += [(0.5, 0.5, 0.999999), (40.0, 5.0, 0.2), (2e3, 20.0, 0.99)]

ONE_ARGUMENT = {
    "complex_digamma": [0.37, 1.6],
    "gamma": [0.37, 1.6, 2.5, -0.7, -3.5, -60.2, 1e-200, 1e-8, 1.46163, 100.0, 170.0],
    "loggamma": [0.37, 1.6, 1e-8, 1.0001, 100.0, 1e8],
    "rgamma": [0.37, 1.6, -0.7, 0.0, -2.0, -3.5, -60.2, 1e-8, 1.46163, 100.0, 170.0],
    "erf": [*NEAR, *TAILS],
    "erfc": [*NEAR, *TAILS],
    "erfcx": [*NEAR, *TAILS],
    "erfi": [*NEAR, *TAILS],
    "dawsn": [*NEAR, *TAILS],
    "erfinv": [0.37, -0.9, 1e-200, 1e-8, 0.9999, -0.99999999],
    "erfcinv": [0.37, 1.6, 1e-300, 1e-20, 0.999, 1.9999],
    "ndtr": [*NEAR, *TAILS, -38.0],
    "log_ndtr": [*NEAR, *TAILS, -38.0],
    "ndtri": FRACTIONS,
    "ndtri_exp": [-0.37, -1e-3, -1e-15, -5.0, -300.0, -1e5],
    "entr": [0.37, 1.0, 0.36787944117144233, 1e-300, 1e8],
    "logit": FRACTIONS,
    "log_expit": [*NEAR, *TAILS],
}
MORE_ARGUMENTS = {
    "digamma_difference": [(2.5, 1.6), (0.37, 1e-12), (1e-3, 1e-5), (1e8, 1e-3), (30.0, -14.5)],
    "beta": [(2.5, 1.6), (0.37, 1e-12), (50.0, 1e-9), (100.0, 80.0), (1e-5, 1e-5)],
    "betaln": [(2.5, 1.6), (0.37, 1e-12), (50.0, 1e-9), (1e6, 80.0), (1e-5, 1e-5)],
    "binom": [(4.7, 2.2), (10.0, 3.0), (10.0, 1e-9), (200.5, 100.2)],
    "poch": [(2.5, 1.6), (0.37, 1e-12), (50.0, 20.5)],
    "gamma_deviation": SHAPES,
    "gamma_density": SHAPES,
    "gammainc": SHAPES,
    "gammaincc": SHAPES,
    "beta_deviation": [(a, b, x, 1.0 - x) for a, b, x in ODDS],
    "beta_density": ODDS,
    "betainc": ODDS,
    "betaincc": ODDS,
    "owens_t": [(0.37, 1.6), (-2.5, 0.3), (5.0, -2.0), (20.0, 1e-3)],
    "xlogy": [(2.5, 1.6), (0.0, 1.6), (1e-300, 1e300), (-1.0, 1e-8)],
    "xlog1py": [(2.5, 1.6), (0.0, 1.6), (1e-300, 1e300), (-1.0, 1e-12)],
    "rel_entr": [(2.5, 1.6), (1.0, 1.0000001), (1e-300, 1e-5), (1e200, 1e-200)],
    "kl_div": [(2.5, 1.6), (1.0, 1.0000001), (1e-300, 1e-5), (1e200, 1e-100)],
    "boxcox": [
        (1.6, 0.37),
        (1e-8, 0.37),
        (1e8, -2.0),
        (2.5, 1e-12),
        (1.0000001, 3.0),
        (1e3, 0.144),
    ],
    "boxcox1p": [(1.6, 0.37), (-0.999, 0.37), (1e8, -2.0), (2.5, 1e-12), (1e-9, 3.0)],
    "inv_boxcox": [(1.6, 0.37), (-2.5, 0.37), (1e8, 2.0), (2.5, 1e-12), (1e-9, 3.0)],
    "inv_boxcox1p": [(1.6, 0.37), (-2.5, 0.37), (1e8, 2.0), (2.5, 1e-12), (1e-9, 3.0)],
    "powm1": [(1.6, 0.37), (1.0000001, 1e-8), (1e-300, 0.5), (1e8, -3.0)],
}
POINTS = {name: [(x,) for x in points] for name, points in ONE_ARGUMENT.items()} | MORE_ARGUMENTS
"""By the name of an operation, arguments at which its partial derivatives have all digits."""

SLICE = ["erfcx", "log_ndtr", "gammainc", "betainc", "boxcox", "rgamma", "beta"]
"""The operations of the default run."""
