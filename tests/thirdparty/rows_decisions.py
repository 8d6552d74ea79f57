"""Fuzzy systems, decisions by several criteria, indicators of streams, and numbers with uncertainties."""

import numpy as np

from tests.thirdparty.case import Case, D

PRICES = 10.0 + np.cumsum(np.cos(np.arange(16.0) ** 2))
MATRIX = 0.5 + np.sin(np.arange(12.0).reshape(4, 3) ** 2) ** 2
TYPES = np.array([1, -1, 1])


def memberships(temperature):
    from fuzzylogic.classes import Domain
    from fuzzylogic.functions import R, S
    from fuzzylogic.hedges import very

    domain = Domain("temperature", 0, 40, res=0.5)
    domain.cold, domain.hot = S(5, 15), R(15, 30)
    mild = ~domain.cold & ~domain.hot
    return mild(temperature), (domain.cold | domain.hot)(temperature), very(domain.hot)(temperature)


def dimmed_light(ambient):
    import fuzzylite as fl

    dark, medium = fl.Triangle("dark", 0.0, 0.25, 0.5), fl.Triangle("medium", 0.25, 0.5, 0.75)
    low, high = fl.Triangle("low", 0.0, 0.25, 0.5), fl.Triangle("high", 0.5, 0.75, 1.0)
    light = fl.InputVariable("ambient", minimum=0.0, maximum=1.0, terms=[dark, medium])
    power = fl.OutputVariable(
        "power",
        minimum=0.0,
        maximum=1.0,
        aggregation=fl.Maximum(),
        defuzzifier=fl.Centroid(50),
        terms=[low, high],
    )
    texts = ("if ambient is dark then power is high", "if ambient is medium then power is low")
    rules = fl.RuleBlock(
        implication=fl.Minimum(),
        activation=fl.General(),
        rules=[fl.Rule.create(text) for text in texts],
    )
    engine = fl.Engine(input_variables=[light], output_variables=[power], rule_blocks=[rules])
    light.value = ambient
    engine.process()
    return power.value


def preferences(weights):
    from pymcdm.methods import EDAS, TOPSIS, VIKOR

    return [method()(MATRIX, np.array(weights), TYPES) for method in (TOPSIS, VIKOR, EDAS)]


def streamed_averages(prices):
    from talipp.indicators import EMA, MACD, RSI

    indicators = [EMA(3), MACD(3, 6, 3), RSI(4)]
    for price in prices:
        for indicator in indicators:
            indicator.add(price)
    average, macd, strength = indicators
    average.update(prices[0])
    return average[-1], macd[-1].macd, macd[-1].histogram, strength[-1]


def propagated(nominal):
    from scinum import Number, ops

    a, b = Number(nominal, 0.5), Number(2.0, {"scale": 0.3})
    product = a * b
    return product.n, product.u("scale"), (a / b).n, ops.exp(b / a).n


PACKAGES = {
    "memberships": "fuzzylogic",
    "dimmed_light": "fuzzylite",
    "preferences": "pymcdm",
    "streamed_averages": "talipp",
    "propagated": "scinum",
}
ROWS = [
    Case(memberships, (D(18.3),)),
    Case(dimmed_light, (D(0.37),)),
    Case(preferences, (D([0.5, 0.3, 0.2]),)),
    Case(streamed_averages, (D(PRICES),)),
    Case(propagated, (D(3.0),)),
]
