"""Color spaces and differences of colors."""

import numpy as np

from tests.thirdparty import more_calls
from tests.thirdparty.case import Case, D

X = np.linspace(-1.4, 1.9, 6)
RGB = np.array([0.3, 0.6, 0.2])
LAB = np.array([52.0, 20.0, -30.0])
LAB2 = np.array([50.0, 25.0, -22.0])

ROWS = [
    # colormath
    Case(more_calls.colormath_lab, (D(RGB),)),
    Case(more_calls.colormath_back, (D(LAB),)),
    Case(
        "colormath.color_diff_matrix.delta_e_cie1976",
        (D(LAB), np.array([[50.0, 25.0, -22.0], [51.0, 26.0, -21.0]])),
        label="m",
    ),
    Case(
        "colormath.color_diff_matrix.delta_e_cie1994",
        (D(LAB), np.array([[50.0, 25.0, -22.0], [51.0, 26.0, -21.0]])),
        label="m",
    ),
    Case(
        "colormath.color_diff_matrix.delta_e_cie2000",
        (D(LAB), np.array([[50.0, 25.0, -22.0], [51.0, 26.0, -21.0]])),
        label="m",
    ),
    Case(
        "colormath.color_diff_matrix.delta_e_cmc",
        (D(LAB), np.array([[50.0, 25.0, -22.0], [51.0, 26.0, -21.0]])),
        label="m",
    ),
    # hsluv
    Case("hsluv.rgb_to_hsluv", (D((0.3, 0.6, 0.2)),)),
    Case("hsluv.hsluv_to_rgb", (D((120.0, 50.0, 60.0)),)),
    Case("hsluv.rgb_to_hpluv", (D((0.4, 0.5, 0.45)),)),
    Case("hsluv.hpluv_to_rgb", (D((120.0, 50.0, 60.0)),)),
    Case("hsluv.rgb_to_lch", (D((0.3, 0.6, 0.2)),)),
    # coloraide
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "oklab"), label="oklab"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "lab"), label="lab"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "cam16-jmh"), label="cam16-jmh"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "jzazbz"), label="jzazbz"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "hsluv"), label="hsluv"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "okhsl"), label="okhsl"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "xyb"), label="xyb"),
    Case(more_calls.coloraide_convert, (D([0.3, 0.6, 0.2]), "ictcp"), label="ictcp"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "2000"), label="2000"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "cmc"), label="cmc"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "itp"), label="itp"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "ok"), label="ok"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "99o"), label="99o"),
    Case(more_calls.coloraide_de, (D([52.0, 20.0, -30.0]), "hyab"), label="hyab"),
    Case(more_calls.coloraide_mix, (D([0.3, 0.6, 0.2]),)),
    # colour
    Case("colour.models.XYZ_to_Lab", (D(RGB),)),
    Case("colour.models.Lab_to_XYZ", (D(LAB),)),
    Case("colour.models.XYZ_to_Luv", (D(RGB),)),
    Case("colour.models.XYZ_to_Oklab", (D(RGB),)),
    Case("colour.models.XYZ_to_IPT", (D(RGB),)),
    Case("colour.models.XYZ_to_sRGB", (D(RGB),)),
    Case("colour.models.sRGB_to_XYZ", (D(RGB),)),
    Case("colour.models.XYZ_to_hdr_CIELab", (D(RGB),)),
    Case("colour.models.RGB_to_HSV", (D(RGB),)),
    Case("colour.models.XYZ_to_Jzazbz", (D(np.array([30.0, 60.0, 20.0])),)),
    Case("colour.models.eotf_ST2084", (D(RGB),)),
    Case("colour.models.XYZ_to_xyY", (D(RGB),)),
    Case("colour.difference.delta_E_CIE2000", (D(LAB), LAB2)),
    Case("colour.difference.delta_E_CMC", (D(LAB), LAB2)),
    Case("colour.difference.delta_E_CAM02UCS", (D(LAB), LAB2)),
    Case("colour.temperature.CCT_to_xy_CIE_D", (D(6500.0),)),
    Case("colour.temperature.xy_to_CCT_McCamy1992", (D(np.array([0.31, 0.33])),)),
    Case("colour.temperature.CCT_to_uv_Krystek1985", (D(6500.0),)),
    Case("colour.algebra.spow", (D(X), 2.2)),
    Case("colour.colorimetry.planck_law", (D(5e-07), 5000.0)),
    Case("colour.colorimetry.luminance_CIE1976", (D(50.0),)),
    Case("colour.phenomena.scattering_cross_section", (D(5.55e-05),)),
    Case(
        "colour.adaptation.chromatic_adaptation_VonKries",
        (D(RGB), np.array([0.95, 1.0, 1.08]), np.array([1.09, 1.0, 0.35])),
    ),
    Case("colour.characterisation.polynomial_expansion_Finlayson2015", (D(RGB), 4, True)),
    Case("colour.characterisation.matrix_augmented_Cheung2004", (D(RGB), 7)),
]
