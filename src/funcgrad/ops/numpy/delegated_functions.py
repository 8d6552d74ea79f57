"""Functions that NumPy leaves to the method of their name: a column of pandas keeps its labels there."""

DELEGATED = frozenset(
    (
        *("sum", "prod", "mean", "std", "var", "min", "max", "amin", "amax", "any", "all", "ptp"),
        *("cumsum", "cumprod", "round", "around", "clip", "argsort", "argmin", "argmax", "take"),
        *("repeat", "searchsorted", "squeeze", "transpose", "ravel", "copy", "shape", "size"),
        "ndim",
    )
)
