"""Other algebras of the same fold: what else can be computed of a program but its value."""

from funcgrad.algebras.cost import Cost, NodeCost, cost
from funcgrad.algebras.interval import Interval, bounds
from funcgrad.algebras.nonfinite import Nonfinite, find_nonfinite

__all__ = ["Cost", "Interval", "NodeCost", "Nonfinite", "bounds", "cost", "find_nonfinite"]
