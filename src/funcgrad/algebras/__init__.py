"""Other algebras of the same fold: what else can be computed of a program but its value."""

from funcgrad.algebras.cost import Cost, NodeCost, cost
from funcgrad.algebras.interval import Interval, bounds
from funcgrad.algebras.nonfinite import Nonfinite, find_nonfinite
from funcgrad.algebras.precision import precise, precise_gradient
from funcgrad.algebras.rounding_error import Loss, Rounding, rounding

__all__ = [
    "Cost",
    "Interval",
    "Loss",
    "NodeCost",
    "Nonfinite",
    "Rounding",
    "bounds",
    "cost",
    "find_nonfinite",
    "precise",
    "precise_gradient",
    "rounding",
]
