"""The functions of the table that are refused, by the first words of the error.

A function leaves this list when it becomes right. None may be added.
"""

from types import MappingProxyType

REFUSED = MappingProxyType(
    {
        "array: expected numbers": (
            "HydroErr.spearman_r",
            "pybaselines.utils.whittaker_smooth",
            "ahrs.common.orientation.ecompass",
            "bct.eigenvector_centrality_und",
            "bct.subgraph_centrality",
            "colorspacious.cspace_convert",
            "colorspacious.deltaE",
            "modern_robotics.Adjoint",
            "modern_robotics.FKinBody",
            "modern_robotics.FKinSpace",
            "modern_robotics.JacobianSpace",
            "modern_robotics.ScrewToAxis",
            "modern_robotics.TransInv",
            "networkx_google_matrix",
            "networkx_laplacian",
            "networkx_pagerank",
            "numpy.polynomial.chebyshev.cheb2poly",
            "numpy.polynomial.chebyshev.chebfit",
            "numpy.polynomial.chebyshev.chebval",
            "numpy.polynomial.legendre.legvander",
            "numpy.polynomial.polynomial.polyder",
            "numpy.polynomial.polynomial.polyfromroots",
            "numpy.polynomial.polynomial.polyint",
            "numpy.polynomial.polynomial.polymul",
            "patsy_bs",
            "pybaselines.utils.pad_edges",
            "similaritymeasures.area_between_two_curves",
            "similaritymeasures.dtw",
            "similaritymeasures.frechet_dist",
            "skspatial_line_projection",
            "skspatial_plane_distance",
            "skspatial_triangle_area",
            "uqtestfuns_value[Borehole]",
            "uqtestfuns_value[CurrinSine]",
            "uqtestfuns_value[DetteExp]",
            "uqtestfuns_value[Flood]",
            "uqtestfuns_value[Franke1]",
            "uqtestfuns_value[Friedman6D]",
            "uqtestfuns_value[GramacySine]",
            "uqtestfuns_value[Ishigami]",
            "uqtestfuns_value[OTLCircuit]",
            "uqtestfuns_value[Piston]",
            "uqtestfuns_value[RobotArm]",
            "uqtestfuns_value[SobolG]",
            "uqtestfuns_value[Sulfur]",
            "uqtestfuns_value[WingWeight]",
        ),
        "eig: expected a function": (
            "bct.diffusion_efficiency",
            "bct.mean_first_passage_time",
        ),
        "setting an array element": (
            "filterpy.stats.covariance_ellipse",
            "filterpy.stats.logpdf",
        ),
        "svd: expected full_matrices=False for float": ("trimesh.geometry.plane_transform",),
        "argument": ("csaps_smooth",),
        "dct": ("python_speech_features.base.mfcc",),
        "roots: expected a function": ("numpy_financial.irr",),
        "vectorize: a signature is not supported": ("pymanopt_stiefel_retraction",),
        "too many indices for array: array is": ("control_frequency_response",),
        "polyval": ("numpy.polynomial.polynomial.polyval2d",),
        "_beta_pdf: expected a function": ("scipy.stats.beta.pdf",),
    }
)

WRONG = MappingProxyType(
    {
        "tmm_unpolarized": "nan, as in JAX: 0, the cotangent of an entry that nothing reads, times infinity",
    }
)
"""The functions whose gradients are known to be wrong, with the reason. None may be added."""
