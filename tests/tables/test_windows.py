"""Rolling, expanding and exponential windows of traced columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

from tests.tables.table_cases import DATES, KEYS, WEIGHTS, check, of_known, table, weighed, with_nan  # noqa: E402

WINDOWS: dict[str, Callable[[Any], Any]] = {
    "rolling of the largest in a row": lambda x: weighed(
        pd.DataFrame({"a": x, "b": 2.1 - x}).max(axis=1).rolling(2).sum()
    ),
    "ewm of means of rows": lambda x: weighed(
        pd.concat([pd.Series(x), pd.Series(x**2)], axis=1).mean(axis=1).ewm(alpha=0.3).mean()
    ),
    "rolling center": lambda x: weighed(pd.Series(x).rolling(3, center=True).mean()),
    "rolling apply raw": lambda x: weighed(
        pd.Series(x).rolling(3).apply(lambda v: np.sum(v**2), raw=True)
    ),
    "rolling apply": lambda x: weighed(pd.Series(x).rolling(3).apply(lambda v: (v**2).sum())),
    "rolling cov": lambda x: weighed(pd.Series(x).rolling(4).cov(pd.Series(x**3))),
    "rolling corr": lambda x: weighed(pd.Series(x).rolling(4).corr(pd.Series(x[::-1]))),
    "rolling quantile": lambda x: weighed(pd.Series(x).rolling(4).quantile(0.3)),
    "rolling frame": lambda x: of_known(table(x).rolling(2).mean().sum(axis=1)),
    "rolling column of frame": lambda x: weighed(table(x)["b"].rolling(2).std()),
    "rolling agg": lambda x: weighed(pd.Series(x).rolling(3).agg("mean")),
    "rolling time": lambda x: weighed(pd.Series(x, index=DATES).rolling("3D").mean().to_numpy()),
    "rolling step": lambda x: pd.Series(x).rolling(3, step=2).mean().sum(),
    "expanding mean": lambda x: weighed(pd.Series(x).expanding().mean()),
    "expanding std": lambda x: weighed(pd.Series(x).expanding(2).std()),
    "expanding max": lambda x: weighed(pd.Series(x).expanding().max()),
    "expanding sum": lambda x: weighed(with_nan(x).expanding().sum()),
    "expanding apply": lambda x: weighed(pd.Series(x).expanding(2).apply(np.prod, raw=True)),
    "ewm alpha": lambda x: weighed(pd.Series(x).ewm(alpha=0.3).mean()),
    "ewm span": lambda x: weighed(pd.Series(x).ewm(span=3, adjust=False).mean()),
    "ewm halflife": lambda x: weighed(pd.Series(x).ewm(halflife=2).mean()),
    "ewm com": lambda x: weighed(pd.Series(x).ewm(com=1, min_periods=2).mean()),
    "ewm NaN": lambda x: weighed(with_nan(x).ewm(alpha=0.3).mean()),
    "ewm NaN no adjust": lambda x: weighed(with_nan(x).ewm(alpha=0.3, adjust=False).mean()),
    "ewm NaN ignore_na": lambda x: weighed(with_nan(x).ewm(alpha=0.3, ignore_na=True).mean()),
    "ewm NaN ignore_na no adjust": lambda x: weighed(
        with_nan(x).ewm(alpha=0.3, ignore_na=True, adjust=False).mean()
    ),
    "ewm std": lambda x: weighed(pd.Series(x).ewm(span=3).std()),
    "ewm var": lambda x: weighed(pd.Series(x).ewm(span=3).var()),
    "ewm var NaN": lambda x: weighed(with_nan(x).ewm(span=3).var()),
    "ewm var bias": lambda x: weighed(pd.Series(x).ewm(span=3, adjust=False).var(bias=True)),
    "ewm sum": lambda x: weighed(pd.Series(x).ewm(span=3).sum()),
    "ewm traced alpha": lambda x: weighed(pd.Series(WEIGHTS).ewm(alpha=x[0]).mean()),
    "ewm cov": lambda x: weighed(pd.Series(x).ewm(span=3).cov(pd.Series(x**2))),
    "ewm corr": lambda x: weighed(pd.Series(x).ewm(span=3).corr(pd.Series(x**2))),
    "ewm frame": lambda x: weighed(table(x).ewm(span=3).mean()),
    "groupby rolling": lambda x: np.nansum(pd.Series(x).groupby(KEYS).rolling(2).mean().to_numpy()),
    "const ewm": lambda x: weighed((pd.Series(WEIGHTS) * x[0]).ewm(span=3).mean()),
    **{
        f"rolling {name}": lambda x, name=name: weighed(getattr(pd.Series(x).rolling(4), name)())
        for name in ("mean", "sum", "std", "var", "min", "max", "median", "skew", "kurt", "sem")
    },
    **{
        f"rolling {name} with NaN": lambda x, name=name: weighed(
            getattr(with_nan(x).rolling(3, min_periods=1), name)()
        )
        for name in ("mean", "sum", "std", "max")
    },
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    check(WINDOWS[name])


_DATA = {
    "NaN": [np.nan, 1.0, np.nan, 3.0, 4.0, np.nan, np.nan, 7.0, 5.0],
    "equal": [2.0] * 9,
    "infinite": [1.0, np.inf, 2.0, 3.0, -np.inf, 4.0, 5.0, 6.0, 7.0],
    "one": [2.0],
    "none": [np.nan] * 4,
    "empty": [],
}

_PLAIN: dict[str, Callable[[Any], Any]] = {
    **{
        f"rolling {name} {size} {fewest} {center}": lambda s, n=name, k=size, m=fewest, c=center: (
            getattr(s.rolling(k, min_periods=m, center=c), n)()
        )
        for name in ("mean", "sum", "std", "min", "median", "skew", "kurt", "count")
        for size, fewest in ((1, None), (3, None), (3, 0), (4, 2))
        for center in (False, True)
    },
    **{
        f"expanding {name} {fewest}": lambda s, n=name, m=fewest: getattr(s.expanding(m), n)()
        for name in ("mean", "sum", "var", "max", "skew", "kurt")
        for fewest in (1, 3)
    },
    **{
        f"closed {closed}": lambda s, c=closed: s.rolling(3, closed=c, min_periods=1).sum()
        for closed in ("left", "both", "neither")
    },
    **{
        f"ewm {name} {how}": lambda s, n=name, how=how: getattr(s.ewm(**how), n)()
        for name in ("mean", "var", "std")
        for how in (
            {"alpha": 0.3},
            {"alpha": 1.0},
            {"span": 4, "adjust": False},
            {"halflife": 2, "ignore_na": True},
            {"com": 1.5, "ignore_na": True, "adjust": False, "min_periods": 2},
        )
    },
    "ewm sum": lambda s: s.ewm(alpha=0.3).sum(),
    "ewm covariance": lambda s: s.ewm(span=3).cov(s**2 + s.shift(1)),
    "rolling correlation": lambda s: s.rolling(4, min_periods=2).corr(s**2 + s.shift(1)),
    "quantile": lambda s: s.rolling(3, min_periods=1).quantile(0.3, interpolation="midpoint"),
}


@pytest.mark.filterwarnings("ignore:the output does not depend", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _PLAIN)
@pytest.mark.parametrize("data", _DATA)
def test_values_are_those_of_pandas(data: str, name: str) -> None:
    s, f = pd.Series(_DATA[data], dtype=float), _PLAIN[name]
    found, _ = fg.jvp(lambda s: f(s), (s,), (s * 0 + 1,))
    pd.testing.assert_series_equal(found, f(s), check_dtype=False, rtol=1e-10, atol=1e-12)


def test_windows_that_are_refused() -> None:
    s = pd.Series([1.0, 2.0, 4.0])
    with pytest.raises(TypeError, match=r"write it by apply\(f, raw=True\)"):
        fg.grad(lambda s: s.rolling(2).rank().sum())(s)
    with pytest.raises(TypeError, match=r"write it by apply\(f, raw=True\)"):
        fg.grad(lambda s: s.rolling(2, win_type="triang").mean().sum())(s)
