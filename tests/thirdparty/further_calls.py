"""Calls of functions that take Series of pandas."""

from __future__ import annotations


def negative_volume_index(close):
    import pandas as pd
    import ta

    return ta.volume.negative_volume_index(pd.Series(close), pd.Series(close[::-1])).to_numpy()


def vortex(close):
    import pandas as pd
    import ta

    high, low = pd.Series(1.03 * close + 0.1), pd.Series(0.96 * close)
    return ta.trend.vortex_indicator_neg(high, low, pd.Series(close), 5, True).to_numpy()


def adaptive_average(close):
    import pandas as pd
    import ta

    return ta.momentum.kama(pd.Series(close), 5, fillna=True).to_numpy()


def relative_strength(close):
    import pandas as pd
    import ta

    return ta.momentum.rsi(pd.Series(close), 5, fillna=True).to_numpy()


def convergence(close):
    import pandas as pd
    import ta

    return ta.trend.macd_diff(pd.Series(close), fillna=True).to_numpy()


INDICATORS = (
    negative_volume_index,
    vortex,
    adaptive_average,
    relative_strength,
    convergence,
)
PACKAGES = {function.__name__: "ta" for function in INDICATORS}
