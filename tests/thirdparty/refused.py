"""The functions of the table that are refused, by the first words of the error.

A function leaves this list when it becomes right. None may be added.
"""

from types import MappingProxyType

REFUSED = MappingProxyType(
    {
        "a bytes-like object is required": ("bezier_curve",),
        "float(): expected a value without": ("colormath_back", "colormath_lab"),
        "svd: expected a function that does not depend": ("trimesh.geometry.plane_transform",),
    }
)

WRONG = MappingProxyType(
    {
        "hsluv.hpluv_to_rgb": "0, with a warning: the package rounds its result to 10 decimals",
        "hsluv.hsluv_to_rgb": "0, with a warning: the package rounds its result to 10 decimals",
        "pyriemann.utils.mean.mean_riemann": "that of an iteration, one step behind the value",
    }
)
"""The functions whose gradients are known to be wrong, with the reason. None may be added."""
