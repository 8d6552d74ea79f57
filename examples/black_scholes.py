"""The greeks of an option, to third order: every one of them is a chain of `grad`.

Traders call the sensitivities of an option's price its greeks, and give a name to each mixed derivative
that costs them money: gamma is the second derivative in the spot price, charm the derivative of delta in
time. Textbooks derive a page of formulas. Here a greek is a sign and the letters of the variables to
differentiate in, one line for each greek.

The normal distribution function is SciPy's, wrapped by `fg.primitive` with its derivative. Since that
derivative is an expression, derivatives of every order follow. Run it with
``python -m examples.black_scholes``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import funcgrad as fg

# The distribution function of the normal distribution; its derivative is the density.
normal_cdf = fg.primitive(ndtr, [lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)], name="ndtr")


class Market(NamedTuple):
    """The variables of a price: by default an option about at the money, half a year to maturity."""

    spot: float = 100.0
    sigma: float = 0.25
    years: float = 0.5
    rate: float = 0.04
    strike: float = 105.0


# The letter of each variable, and its place among the arguments.
PLACES = {"S": 0, "v": 1, "T": 2, "r": 3}

# A greek is a sign and the variables to differentiate in. Time runs against maturity: theta = -dC/dT.
GREEKS = {
    "delta": (1, "S"),
    "vega": (1, "v"),
    "theta": (-1, "T"),
    "rho": (1, "r"),
    "gamma": (1, "SS"),
    "vanna": (1, "Sv"),
    "volga": (1, "vv"),
    "charm": (-1, "ST"),
    "veta": (1, "vT"),
    "speed": (1, "SSS"),
    "zomma": (1, "SSv"),
    "color": (1, "SST"),
    "ultima": (1, "vvv"),
}


def call(spot, sigma, years, rate, strike):
    """The price of a European call (Black and Scholes, 1973; Merton, 1973)."""
    spread = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * years) / spread
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d1 - spread)


def put(spot, sigma, years, rate, strike):
    """The price of a European put, by its own formula, not by parity."""
    spread = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * years) / spread
    return strike * np.exp(-rate * years) * normal_cdf(spread - d1) - spot * normal_cdf(-d1)


def derivative(price: Callable, letters: str) -> Callable:
    """The mixed partial derivative of a price in the variables that the letters name."""
    return reduce(lambda f, letter: fg.grad(f, argnums=PLACES[letter]), letters, price)


def greek(name: str, price: Callable = call) -> Callable:
    """The greek of that name: a function of the same arguments as the price."""
    sign, letters = GREEKS[name]
    slope = derivative(price, letters)

    def sensitivity(*market):
        return sign * slope(*market)

    return sensitivity


def greeks(market: Market, price: Callable = call) -> dict[str, float]:
    """All greeks at one market."""
    return {name: greek(name, price)(*market) for name in GREEKS}


def over_spot(name: str, spots, market: Market, price: Callable = call) -> np.ndarray:
    """One greek at many spot prices: the scalar function, batched by `vmap`."""
    return fg.vmap(lambda spot: greek(name, price)(spot, *market[1:]))(spots)


def implied_volatility(quote: float, market: Market, steps: int = 8) -> float:
    """The sigma at which the call has the quoted price, by Newton's method; vega is the slope."""
    vega = fg.value_and_grad(call, argnums=PLACES["v"])

    def step(sigma: float, _: int) -> float:
        price, slope = vega(*market._replace(sigma=sigma))
        return sigma - (price - quote) / slope

    return reduce(step, range(steps), market.sigma)


def draw(market: Market, path: Path, points: int = 161) -> None:
    """Nine greeks over the spot price, for three times to maturity."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    spots = np.linspace(60.0, 160.0, points)
    shown = ("delta", "vega", "theta", "gamma", "vanna", "volga", "speed", "color", "ultima")
    colors = plt.get_cmap("viridis")(np.linspace(0.15, 0.8, 3))
    figure, grid = plt.subplots(3, 3, figsize=(10, 7.5), sharex=True, layout="constrained")
    for axes, name in zip(grid.flat, shown, strict=True):
        for years, color in zip((0.25, 0.5, 1.0), colors, strict=True):
            values = over_spot(name, spots, market._replace(years=years))
            axes.plot(spots, values, color=color, linewidth=1.6, label=f"{12 * years:g} months")
        axes.axvline(market.strike, color="black", linewidth=0.8, linestyle=":")
        sign, letters = GREEKS[name]
        axes.set_title(f"{name}: {_formula(sign, letters)}", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.ticklabel_format(axis="y", scilimits=(-4, 4))
        axes.grid(alpha=0.25)
    grid[0, 0].legend(frameon=False, fontsize=9)
    figure.supxlabel(f"spot price (the dotted line is the strike, {market.strike:g})")
    figure.suptitle("Greeks of a call, first order above, third below", fontsize=13)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _formula(sign: int, letters: str) -> str:
    """The greek in mathematical notation."""
    powers = [(letter, letters.count(letter)) for letter in dict.fromkeys(letters)]
    below = r"\,".join(
        rf"\partial {'σ' if letter == 'v' else letter}" + (f"^{n}" if n > 1 else "")
        for letter, n in powers
    )
    order = f"^{len(letters)}" if len(letters) > 1 else ""
    return rf"${'-' if sign < 0 else ''}\partial{order} C \,/\, {below}$"


def main(path: str = "examples/output/black_scholes.png") -> dict[str, float]:
    """Print the greeks of one call, recover its volatility from its price, and draw."""
    market = Market()
    found = greeks(market)
    price = call(*market)
    print(f"a call struck at {market.strike:g}, {market.years:g} years to go: {price:.4f}")
    for name, value in found.items():
        sign, letters = GREEKS[name]
        formula = f"{'-' if sign < 0 else ''}d{len(letters)}C/{''.join('d' + x for x in letters)}"
        print(f"  {name:>7} {value:12.6f}   {formula}")
    implied = implied_volatility(price, market._replace(sigma=0.6))
    print(f"volatility implied by that price: {implied:.12f}")
    draw(market, Path(path))
    print(f"figure: {path}")
    return found


if __name__ == "__main__":
    main(*sys.argv[1:2])
