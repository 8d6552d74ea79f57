"""Methods of Series and DataFrames of traced columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pd = pytest.importorskip("pandas")

from tests.tables.table_cases import DATES, KEYS, WEIGHTS, X, check, keyed, table, weighed, with_nan  # noqa: E402


def _sharpe(x: Any) -> Any:
    p = pd.Series(np.cumprod(1 + x * 0.1))
    r = np.log(p / p.shift(1)).dropna()
    return r.mean() / r.std() * np.sqrt(252)


def _drawdown(x: Any) -> Any:
    p = pd.Series(x)
    return (p / p.cummax() - 1).min()


def _portfolio(x: Any) -> Any:
    r = pd.DataFrame(np.sin(np.outer(np.arange(8.0), np.arange(1, 7))), columns=list("abcdef"))
    w = x / x.sum()
    return (
        np.sqrt(w @ r.cov() @ w)
        + np.dot(r.mean(), w)
        + (r * w).sum(axis=1).std()
        + r.dot(w).mean()
        + w.T @ r.cov().values @ w
    )


def _portfolio_s(x: Any) -> Any:
    r = pd.DataFrame(np.sin(np.outer(np.arange(8.0), np.arange(1, 7))), columns=list("abcdef"))
    w = pd.Series(x, index=r.columns)
    return (
        w.dot(r.cov()).dot(w)
        + (r @ w).std()
        + (r.mul(w, axis=1)).sum(axis=1).mean()
        + r.mul(w).sum().sum()
    )


def _of_arrays(x: Any) -> Any:
    row = pd.DataFrame({"t": x[0], "interval": [x[:2] * x[2]], "kind": "two-sided"}, index=["test"])
    rows = pd.DataFrame({"pair": [[x[0], 2.0], (x[1] ** 2, x[3])]})
    rows["array"] = [x, x**2]
    series = pd.Series([x[:2], x[2:] * 3])
    return (
        row["interval"].iloc[0].prod() * row["t"].iloc[0]
        + rows["pair"].iloc[1][0] * rows["array"][1].sum()
        + series.iloc[1].sum()
    )


def _rsi(x: Any) -> Any:
    d = pd.Series(x).diff()
    up = d.clip(lower=0)
    dn = -d.clip(upper=0)
    rs = up.ewm(alpha=1 / 3, adjust=False).mean() / dn.ewm(alpha=1 / 3, adjust=False).mean()
    return (100 - 100 / (1 + rs)).iloc[-1]


def _macd(x: Any) -> Any:
    p = pd.Series(x)
    m = p.ewm(span=2).mean() - p.ewm(span=4).mean()
    sig = m.ewm(span=3).mean()
    return weighed(m - sig)


def _boll(x: Any) -> Any:
    p = pd.Series(x)
    m, s = p.rolling(3).mean(), p.rolling(3).std()
    return weighed((p - m) / (2 * s))


def _linreg(x: Any) -> Any:
    d = pd.DataFrame({"u": WEIGHTS, "y": np.sin(WEIGHTS)})
    d["pred"] = x[0] + x[1] * d["u"]
    d["err"] = d["y"] - d["pred"]
    return (d["err"] ** 2).mean() + np.sqrt(((d.y - d.pred) ** 2).mean()) + d.err.abs().sum()


def _group_model(x: Any) -> Any:
    d = pd.DataFrame({"g": KEYS, "u": WEIGHTS})
    d["mu"] = d["g"].map({"u": x[0], "v": x[1], "w": x[2]})
    return ((d["u"] - d["mu"]) ** 2).groupby(d["g"]).mean().sum()


METHODS: dict[str, Callable[[Any], Any]] = {
    "columns of arrays": _of_arrays,
    "shift": lambda x: (
        weighed(pd.Series(x).shift(1))
        + weighed(pd.Series(x).shift(-2))
        + weighed(pd.Series(x).shift(1, fill_value=0.0))
    ),
    "diff": lambda x: weighed(pd.Series(x).diff() ** 2) + weighed(pd.Series(x).diff(2) ** 2),
    "pct_change": lambda x: weighed(pd.Series(x).pct_change()),
    "cum": lambda x: (
        weighed(pd.Series(x).cumsum())
        + weighed(pd.Series(x).cumprod())
        + weighed(pd.Series(x).cummax())
        + weighed(pd.Series(x).cummin())
    ),
    "cum NaN": lambda x: weighed(with_nan(x).cumsum()) + weighed(with_nan(x).cumprod()),
    "cov": lambda x: pd.Series(x).cov(pd.Series(x**2)),
    "cov NaN": lambda x: with_nan(x).cov(pd.Series(x**2)),
    "corr": lambda x: pd.Series(x).corr(pd.Series(np.cos(WEIGHTS) + x**2)),
    "corr spearman": lambda x: pd.Series(x).corr(pd.Series(WEIGHTS), method="spearman") + x[0],
    "autocorr": lambda x: pd.Series(x).autocorr(),
    "frame cov": lambda x: weighed(table(x).cov()),
    "frame corr": lambda x: weighed(table(x).corr()),
    "corrwith": lambda x: table(x).corrwith(pd.Series(x**3)).sum(),
    "nlargest": lambda x: weighed(pd.Series(x).nlargest(3)),
    "nsmallest": lambda x: weighed(pd.Series(x).nsmallest(2)),
    "quantile": lambda x: pd.Series(x).quantile(0.3) + pd.Series(x).quantile([0.25, 0.8]).prod(),
    "rank": lambda x: (pd.Series(x).rank() * pd.Series(x)).sum(),
    "describe": lambda x: (pd.Series(x).describe() * np.arange(8.0)).sum(),
    "several at once": lambda x: np.sin(pd.Series(x).agg(["sum", "mean"]).to_numpy()).sum(),
    "several at once, named": lambda x: np.exp(
        pd.Series(x).aggregate({"a": "std", "b": "max"})
    ).sum(),
    "describe one": lambda x: pd.Series(x).describe()["std"],
    "clip": lambda x: (
        weighed(pd.Series(x).clip(0.35, 0.8))
        + weighed(pd.Series(x).clip(lower=0.45))
        + weighed(pd.Series(x).clip(upper=x[3] + 0.15))
    ),
    "clip rows of numbers": lambda x: (
        (
            pd.DataFrame({"a": [1.0, 5.0], "b": [4.0, 0.0]}).clip(pd.Series([2.0, 3.0]), axis=0)
            * pd.Series(x[:2], ["a", "b"])
        )
        .to_numpy()
        .sum()
    ),
    "where mask": lambda x: (
        weighed(pd.Series(x).where(pd.Series(x) > 0.45, 2 * pd.Series(x)))
        + weighed(pd.Series(x).mask(pd.Series(x) > 0.45))
        + weighed(pd.Series(x).mask(pd.Series(x) > 0.45, 0.0))
    ),
    "fillna": lambda x: (
        weighed(with_nan(x).fillna(1.0)) + weighed(with_nan(x).fillna(with_nan(x).mean()))
    ),
    "ffill bfill": lambda x: weighed(with_nan(x).ffill()) + weighed(with_nan(x).bfill()),
    "ffill limit": lambda x: weighed(with_nan(x).ffill(limit=1)),
    "dropna": lambda x: (with_nan(x).dropna() ** 2).sum(),
    "interpolate": lambda x: weighed(with_nan(x).interpolate()),
    "map": lambda x: weighed(pd.Series(x).map(lambda v: v**2)),
    "map np": lambda x: weighed(pd.Series(x).apply(np.sin)) + weighed(pd.Series(x).map(np.exp)),
    "map if": lambda x: weighed(pd.Series(x).map(lambda v: v**2 if v > 0.45 else 3 * v)),
    "apply series": lambda x: pd.Series(x).apply(lambda v: pd.Series([v, v**2])).sum().prod(),
    "map dict": lambda x: weighed(pd.Series(list("abcabc")).map({"a": x[0], "b": x[1], "c": 2.0})),
    "map series": lambda x: weighed(pd.Series([0, 1, 2]).map(pd.Series(x))),
    "replace": lambda x: weighed(with_nan(x).replace(np.nan, 0.0)),
    "between": lambda x: pd.Series(x)[pd.Series(x).between(0.25, 0.8)].sum(),
    "moments": lambda x: (
        pd.Series(x).skew() + pd.Series(x).kurt() + pd.Series(x).sem() + pd.Series(x).kurtosis()
    ),
    "mad": lambda x: (pd.Series(x) - pd.Series(x).mean()).abs().mean(),
    "idxmax": lambda x: (
        pd.Series(x)[pd.Series(x).idxmax()] * pd.Series(x).idxmin() + pd.Series(x).argmax() * x[0]
    ),
    "sort_values": lambda x: weighed(pd.Series(x).sort_values().reset_index(drop=True)),
    "sort frame": lambda x: weighed(table(x).sort_values("a")),
    "sort_index": lambda x: weighed(pd.Series(x, index=list("fbcdea")).sort_index().to_numpy()),
    "agg names": lambda x: (
        pd.Series(x).agg(["mean", "std"]).sum() + pd.Series(x).agg("max") + pd.Series(x).agg(np.sum)
    ),
    "transform": lambda x: weighed(pd.Series(x).transform(lambda s: s - s.mean())),
    "pipe": lambda x: weighed(pd.Series(x).pipe(lambda s: s**2)),
    "round abs": lambda x: weighed((pd.Series(x) - 0.45).abs()),
    "arith methods": lambda x: weighed(
        pd.Series(x).add(1).mul(2).sub(pd.Series(x)).div(3).pow(2).rsub(1).rdiv(2)
    ),
    "add fill": lambda x: pd.Series(x[:4]).add(pd.Series(x), fill_value=0.0).sum(),
    "align": lambda x: (
        pd.Series(x, index=list("abcdef")) * pd.Series(x, index=list("fedcba"))
    ).sum(),
    "prod any": lambda x: (
        pd.Series(x).prod() if (pd.Series(x) > 0).all() and (pd.Series(x) > 0.5).any() else x[0]
    ),
    "count": lambda x: (
        with_nan(x).count() * x[0]
        + len(pd.Series(x)) * x[1]
        + pd.Series(x).size * pd.Series(x).shape[0] * x[2]
    ),
    "tolist": lambda x: sum(v**2 for v in pd.Series(x).tolist()) + sum(pd.Series(x)),
    "items": lambda x: sum(v**i for i, v in pd.Series(x).items()),
    "iloc": lambda x: (
        pd.Series(x).iloc[0] * pd.Series(x).iloc[-1]
        + pd.Series(x).iloc[1:3].sum()
        + pd.Series(x).loc[2:4].prod()
        + pd.Series(x).at[3]
        + pd.Series(x).iat[2]
        + pd.Series(x).head(2).sum()
        + pd.Series(x).tail(2).prod()
    ),
    "unique": lambda x: pd.Series(x).unique().sum(),
    "duplicated": lambda x: pd.Series(x).drop_duplicates().sum(),
    "isin": lambda x: pd.Series(x)[~pd.Series(x).isin([0.5])].sum(),
    "astype": lambda x: (
        weighed(pd.Series(x).astype(float)) + weighed(pd.Series(x).astype("float64"))
    ),
    "isna sum": lambda x: with_nan(x).isna().sum() * x[0] + with_nan(x).notna().mean() * x[1],
    "cut": lambda x: (
        pd.Series(x).groupby(pd.cut(pd.Series(WEIGHTS), 2), observed=True).mean().prod()
    ),
    "cut traced": lambda x: (pd.cut(pd.Series(x), [0, 0.45, 1], labels=False) * pd.Series(x)).sum(),
    "qcut": lambda x: pd.Series(x).groupby(pd.qcut(pd.Series(x), 2, labels=False)).sum().prod(),
    "repeat explode": lambda x: pd.Series(x).repeat(2).sum(),
    "where np": lambda x: (
        np.where(pd.Series(x) > 0.45, pd.Series(x), 0.0).sum()
        + np.sum(np.where(table(x)["a"] > 0.45, table(x)["b"], table(x)["a"]))
    ),
    "np funcs": lambda x: (
        np.mean(pd.Series(x))
        + np.std(pd.Series(x))
        + np.var(pd.Series(x))
        + np.cumsum(pd.Series(x)).prod()
        + np.diff(pd.Series(x)).prod()
        + np.corrcoef(pd.Series(x), pd.Series(x**3))[0, 1]
        + np.median(pd.Series(x))
        + np.dot(pd.Series(x), pd.Series(x))
    ),
    "trapz interp": lambda x: (
        np.trapezoid(pd.Series(x), pd.Series(WEIGHTS))
        + np.interp(0.5, np.arange(6.0), pd.Series(x))
        + np.polyfit(np.arange(6.0), pd.Series(x), 1)[0]
    ),
    "np.log ufuncs": lambda x: (
        np.log(pd.Series(x)).sum()
        + np.maximum(pd.Series(x), 0.45).sum()
        + np.sqrt(table(x)["a"]).sum()
        + np.exp(table(x)).sum().sum()
    ),
    "groupby transform": lambda x: weighed(
        pd.Series(x) - pd.Series(x).groupby(KEYS).transform("mean")
    ),
    "groupby transform f": lambda x: weighed(
        pd.Series(x).groupby(KEYS).transform(lambda s: s / s.sum())
    ),
    "groupby apply": lambda x: (
        pd.Series(x).groupby(KEYS).apply(lambda s: (s**2).sum()) * np.array([1.0, 2.0, 3.0])
    ).sum(),
    "groupby agg": lambda x: (
        pd.Series(x).groupby(KEYS).agg(["mean", "max"]).to_numpy().prod()
        + pd.Series(x).groupby(KEYS).agg(lambda s: s.sum() ** 2).sum()
        + pd.Series(x).groupby(KEYS).agg("mean").prod()
    ),
    "groupby cum": lambda x: (
        weighed(pd.Series(x).groupby(KEYS).cumsum())
        + weighed(pd.Series(x).groupby(KEYS).shift(1))
        + weighed(pd.Series(x).groupby(KEYS).diff())
        + weighed(pd.Series(x).groupby(KEYS).cumprod())
    ),
    "groupby size": lambda x: (
        pd.Series(x).groupby(KEYS).size().prod() * x[0]
        + pd.Series(x).groupby(KEYS).count().sum() * x[1]
    ),
    "groupby loop": lambda x: (
        sum(s.sum() ** 2 for _, s in pd.Series(x).groupby(KEYS))
        + pd.Series(x).groupby(KEYS).get_group("u").prod()
    ),
    "frame groupby mean": lambda x: weighed(keyed(x).groupby("k").mean()),
    "frame groupby col": lambda x: (
        keyed(x).groupby("k")["a"].sum() * np.array([1.0, 2.0, 3.0])
    ).sum(),
    "frame groupby cols": lambda x: weighed(keyed(x).groupby("k")[["a", "b"]].sum()),
    "frame groupby agg": lambda x: weighed(keyed(x).groupby("k").agg({"a": "sum", "b": "mean"})),
    "frame groupby named": lambda x: weighed(
        keyed(x).groupby("k").agg(s=("a", "sum"), m=("b", "max"))
    ),
    "frame groupby apply": lambda x: (
        keyed(x).groupby("k")[["a", "b"]].apply(lambda d: (d["a"] * d["b"]).sum())
        * np.array([1.0, 2.0, 3.0])
    ).sum(),
    "frame groupby transform": lambda x: weighed(keyed(x).groupby("k")["a"].transform("sum")),
    "frame groupby loop": lambda x: sum(
        (d["a"] * d["b"]).sum() ** 2 for _, d in keyed(x).groupby("k")
    ),
    "frame groupby as_index": lambda x: weighed(
        keyed(x).groupby("k", as_index=False)["a"].sum()[["a"]]
    ),
    "apply axis0": lambda x: (
        table(x).apply(lambda c: (c**2).sum()).prod() + table(x).apply(np.sum).sum()
    ),
    "apply axis1": lambda x: weighed(table(x).apply(lambda r: r["a"] * r["b"] + r.c, axis=1)),
    "apply axis1 series": lambda x: (
        table(x).apply(lambda r: pd.Series({"p": r["a"] * r["b"]}), axis=1)["p"].prod()
    ),
    "apply frame": lambda x: weighed(table(x).apply(lambda c: c - c.mean())),
    "frame sum None": lambda x: table(x).mean(axis=None) + np.sum(table(x).to_numpy()),
    "frame normalise": lambda x: weighed((table(x) - table(x).mean()) / table(x).std()),
    "frame dot": lambda x: (
        weighed(table(x).dot(np.array([1.0, 2.0, 3.0])))
        + weighed(table(x).dot(pd.Series([1.0, 2.0, 3.0], index=list("abc"))))
    ),
    "frame @": lambda x: (
        weighed(table(x) @ np.array([1.0, 2.0, 3.0])) + weighed(table(x).T @ table(x))
    ),
    "const frame @ x": lambda x: (
        weighed(pd.DataFrame(np.outer(WEIGHTS, WEIGHTS)) @ x)
        + weighed(pd.DataFrame(np.outer(WEIGHTS, WEIGHTS)).dot(x))
    ),
    "iterrows": lambda x: sum(r["a"] * r["b"] * i for i, r in table(x).iterrows()),
    "itertuples": lambda x: sum(r.a * r.b * r.Index for r in table(x).itertuples()),
    "eval": lambda x: weighed(table(x).eval("a * b + c")),
    "eval at": lambda x: (lambda k: weighed(table(x).eval("a * b + @k")))(x[0]),
    "query": lambda x: table(x).query("a > 0.45")["b"].sum(),
    "concat": lambda x: (
        weighed(pd.concat([table(x), table(x**2)]))
        + weighed(pd.concat([pd.Series(x), pd.Series(x**2)], axis=1))
        + weighed(pd.concat([pd.Series(x), pd.Series(WEIGHTS)]).to_numpy()[:6])
    ),
    "merge": lambda x: (lambda m: (m["a"] * m["v"]).sum())(
        keyed(x).merge(pd.DataFrame({"k": ["u", "v"], "v": [2.0, 3.0]}), on="k")
    ),
    "merge left": lambda x: (lambda m: (m["a"] * m["v"]).sum())(
        keyed(x).merge(pd.DataFrame({"k": ["u", "v"], "v": [2.0, 3.0]}), on="k", how="left")
    ),
    "pd.merge": lambda x: (lambda m: (m["a"] * m["v"]).sum())(
        pd.merge(keyed(x), pd.DataFrame({"k": ["u", "v"], "v": x[:2]}), on="k")
    ),
    "join": lambda x: weighed(table(x).join(pd.DataFrame({"z": x**3}))),
    "pivot_table": lambda x: np.nansum(
        keyed(x)
        .assign(j=list("ababab"))
        .pivot_table(values="a", index="k", columns="j", aggfunc="mean")
        .to_numpy()
        * 2
    ),
    "pivot": lambda x: weighed(
        pd.DataFrame({"i": [0, 0, 1, 1, 2, 2], "j": list("xyxyxy"), "v": x}).pivot(
            index="i", columns="j", values="v"
        )
    ),
    "melt": lambda x: (
        table(x).melt()["value"].prod() + weighed(table(x)[["a", "b"]].melt()["value"][:6])
    ),
    "stack": lambda x: (table(x).stack() ** 2).sum() + table(x)[["a"]].unstack().prod(),
    "resample": lambda x: weighed(pd.Series(x, index=DATES).resample("2D").mean().to_numpy()),
    "resample ohlc": lambda x: (
        weighed(pd.Series(x, index=DATES).resample("3D").last().to_numpy())
        + pd.Series(x, index=DATES).resample("2D").sum().prod()
    ),
    "asfreq": lambda x: pd.Series(x, index=DATES).asfreq("2D").sum(),
    "date index": lambda x: (
        pd.Series(x, index=DATES)["2024-01-02":"2024-01-04"].prod()
        + pd.Series(x, index=DATES).loc["2024-01-03"]
    ),
    "assign": lambda x: (
        weighed(table(x).assign(y=lambda d: d.a * d.b)["y"]) + weighed(table(x).assign(z=x**2)["z"])
    ),
    "drop rename": lambda x: (
        weighed(table(x).drop(columns=["c"]).rename(columns={"a": "z"}))
        + weighed(table(x).set_index("c")["a"].to_numpy())
        + weighed(table(x).reset_index())
    ),
    "T": lambda x: weighed(table(x).T) + table(x).T[2]["a"],
    "frame values": lambda x: (
        np.sum(table(x).values ** 2)
        + np.linalg.norm(table(x))
        + np.sum(table(x)[["a", "b"]].values @ np.array([1.0, 2.0]))
    ),
    "frame arith": lambda x: (
        weighed(table(x) * 2 + table(x) ** 2 - table(x) / 3)
        + weighed(table(x).mul(pd.Series(x), axis=0))
        + weighed(table(x).sub(table(x).mean(axis=1), axis=0))
    ),
    "frame mask": lambda x: (
        weighed(table(x)[table(x)["a"] > 0.45])
        + table(x)[(table(x)["a"] > 0.25) & (table(x)["b"] > 0.1)]["b"].sum()
        + table(x)[table(x) > 0.3].sum().sum()
    ),
    "frame where": lambda x: (
        weighed(table(x).where(table(x) > 0.3, 0.0))
        + weighed(table(x).clip(0.1, 0.6))
        + table(x).mask(table(x) > 0.6).sum().sum()
    ),
    "frame loc": lambda x: (
        table(x).loc[2, "a"] * table(x).iloc[1, 1]
        + table(x).loc[1:3, ["a", "b"]].sum().prod()
        + table(x).iloc[0].sum()
        + table(x).at[1, "b"]
        + table(x).loc[table(x)["a"] > 0.45, "b"].sum()
        + table(x).iloc[:, 0].prod()
        + table(x).loc[2].prod()
    ),
    "frame cumsum diff": lambda x: (
        weighed(table(x).cumsum())
        + np.nansum(table(x).diff().to_numpy())
        + np.nansum(table(x).shift(1).to_numpy())
    ),
    "frame describe": lambda x: weighed(table(x).describe()),
    "frame quantile": lambda x: (
        table(x).quantile(0.3).prod() + table(x)[["a", "b"]].quantile([0.2, 0.7]).to_numpy().sum()
    ),
    "frame fillna": lambda x: (
        lambda d: weighed(d.fillna(0.0)) + weighed(d.fillna(d.mean())) + weighed(d.dropna())
    )(pd.DataFrame({"a": np.where(x > 0.8, np.nan, x), "b": x})),
    "frame applymap": lambda x: weighed(table(x).map(lambda v: v**2)),
    "frame agg": lambda x: (
        weighed(table(x).agg(["mean", "max"]))
        + table(x).agg({"a": "sum", "b": "mean"}).prod()
        + table(x).agg("mean").prod()
    ),
    "frame idxmax": lambda x: table(x)[["a", "b"]].idxmax().sum() * x[0],
    "frame rank": lambda x: weighed(table(x).rank() * table(x)),
    "frame nlargest": lambda x: table(x).nlargest(2, "a")["b"].prod(),
    "to_dict": lambda x: (
        table(x).to_dict("list")["a"][1]
        * table(x).to_dict("records")[2]["b"]
        * pd.Series(x).to_dict()[0]
        * table(x).to_dict()["a"][3]
    ),
    "squeeze": lambda x: weighed(table(x)[["a"]].squeeze()) + pd.Series(x[:1]).item(),
    "select_dtypes": lambda x: (
        weighed(keyed(x).select_dtypes("number")) + keyed(x).mean(numeric_only=True).prod()
    ),
    "crosstab": lambda x: np.nansum(
        pd.crosstab(
            pd.Series(KEYS), pd.Series(list("ababab")), values=pd.Series(x), aggfunc="sum"
        ).to_numpy()
    ),
    "get_dummies": lambda x: weighed(
        pd.get_dummies(pd.Series(KEYS)).to_numpy().astype(float) @ x[:3]
    ),
    "explode cross": lambda x: (
        weighed(table(x).reindex([1, 3, 5])) + weighed(table(x).iloc[::-1].reset_index(drop=True))
    ),
    "insert pop": lambda x: (
        lambda d: (d.insert(0, "n", x**2), weighed(d["n"]) + weighed(d.pop("a")))[1]
    )(table(x)),
    "const series * x0": lambda x: (
        weighed(pd.Series(WEIGHTS) * x[0] + x[1])
        + (x[0] * pd.Series(WEIGHTS)).mean()
        + (x[2] ** pd.Series(WEIGHTS)).sum()
    ),
    "const series * x": lambda x: (
        weighed(pd.Series(WEIGHTS) * x)
        + weighed(x * pd.Series(WEIGHTS))
        + weighed(x - pd.Series(WEIGHTS))
    ),
    "const frame * x0": lambda x: weighed(pd.DataFrame(np.outer(WEIGHTS, WEIGHTS)) * x[0] + x[1]),
    "const frame * row": lambda x: weighed(pd.DataFrame(np.outer(WEIGHTS, WEIGHTS)) * x),
    "const dot": lambda x: (
        pd.Series(WEIGHTS).dot(x) + pd.Series(WEIGHTS) @ x + x @ pd.Series(WEIGHTS)
    ),
    "const fillna": lambda x: weighed(pd.Series([1.0, np.nan, 2.0]).fillna(x[0])),
    "const where": lambda x: weighed(pd.Series(WEIGHTS).where(pd.Series(WEIGHTS) > 0, x[0])),
    "const clip": lambda x: (
        weighed(pd.Series(WEIGHTS).clip(upper=x[0])) + weighed(pd.Series(WEIGHTS).clip(lower=x[0]))
    ),
    "const map": lambda x: (
        weighed(pd.Series(WEIGHTS).map(lambda v: v * x[0]))
        + weighed(pd.Series(WEIGHTS).apply(lambda v: v**2 * x[1]))
    ),
    "const frame apply": lambda x: weighed(
        pd.DataFrame({"p": WEIGHTS, "q": WEIGHTS**2}).apply(
            lambda r: r.p * x[0] + r.q * x[1], axis=1
        )
    ),
    "const groupby apply": lambda x: (
        pd.Series(WEIGHTS).groupby(KEYS).apply(lambda s: (s * x[0]).sum() ** 2).sum()
    ),
    "const iterrows": lambda x: sum(
        r.p * x[0] ** r.q for _, r in pd.DataFrame({"p": WEIGHTS, "q": WEIGHTS}).iterrows()
    ),
    "const assign": lambda x: weighed(
        pd.DataFrame({"p": WEIGHTS}).assign(y=lambda d: d.p * x[0])["y"]
    ),
    "const add method": lambda x: weighed(pd.Series(WEIGHTS).mul(x[0]).add(x)),
    "const cov": lambda x: (
        pd.Series(WEIGHTS).cov(pd.Series(x)) + pd.Series(WEIGHTS).corr(pd.Series(x))
    ),
    "const reindex fill": lambda x: (
        weighed(pd.Series(WEIGHTS).reindex(range(6), fill_value=x[0]))
        + weighed(pd.Series(WEIGHTS).shift(1, fill_value=x[0]))
    ),
    "const replace": lambda x: weighed(pd.Series(WEIGHTS).replace(3.0, x[0])),
    "const np.where": lambda x: np.where(pd.Series(WEIGHTS) > 0, x[0], x).sum(),
    "const compare": lambda x: pd.Series(WEIGHTS)[pd.Series(WEIGHTS) > x[0]].sum() * x[1],
    "const eval": lambda x: (lambda k: weighed(pd.DataFrame({"p": WEIGHTS}).eval("p * @k")))(x[0]),
    "ctor dict of lists": lambda x: weighed(pd.DataFrame({"a": [x[0], x[1], 1.0], "b": [1, 2, 3]})),
    "ctor nested": lambda x: weighed(pd.DataFrame([[x[0], 1.0], [x[1], x[2]]], columns=["a", "b"])),
    "ctor broadcast": lambda x: (
        weighed(pd.DataFrame({"a": x[0], "b": WEIGHTS}, index=range(6)))
        + weighed(pd.Series(x[0], index=range(6)))
    ),
    "ctor dict series": lambda x: weighed(pd.Series({"a": x[0], "b": 1.0, "c": x[1]}).to_numpy()),
    "ctor of series": lambda x: (
        weighed(pd.DataFrame({"a": pd.Series(x), "b": pd.Series(WEIGHTS)}))
        + weighed(pd.DataFrame(pd.Series(x)))
        + weighed(pd.Series(pd.Series(x)))
    ),
    "ctor of list of series": lambda x: weighed(pd.DataFrame([pd.Series(x), pd.Series(x**2)])),
    "ctor from_dict": lambda x: weighed(
        pd.DataFrame.from_dict({"a": [x[0], x[1]], "b": [x[2], 1.0]})
    ),
    "ctor from_records": lambda x: weighed(
        pd.DataFrame.from_records([(x[0], 1.0), (x[1], 2.0)], columns=["a", "b"])
    ),
    "ctor rows of tuples": lambda x: weighed(
        pd.DataFrame([(x[0], 1.0), (x[1], 2.0)], columns=["a", "b"])
    ),
    "ctor rows of texts": lambda x: (
        pd.DataFrame([["a", x[0], 1], ["b", x[1], 2]], columns=["n", "v", "i"], index=[3, 4])
        .set_index("n")
        .pipe(lambda t: t.loc["b", "v"] ** 2 + (t["v"] * t["i"]).sum() * (t["i"].dtype == int))
    ),
    "ctor date index": lambda x: (
        pd.DataFrame({"p": x}, index=DATES)["p"].pct_change().add(1).cumprod().iloc[-1]
    ),
    "ctor 2d": lambda x: weighed(
        pd.DataFrame(np.outer(x, x), columns=list("abcdef"), index=list("abcdef"))
    ),
    "ctor index kw": lambda x: (
        pd.Series(data=x, index=list("abcdef"), name="q", dtype=float)["c"]
        + pd.DataFrame(data={"a": x}, columns=["a"])["a"].prod()
    ),
    "ctor comprehension": lambda x: pd.Series([v**2 for v in x]).mean(),
    "ctor series index": lambda x: weighed(
        pd.Series({"a": x[0], "b": x[1]}, index=["b", "a"]).to_numpy()
    ),
    **{
        f"groups {name}": lambda x, name=name: weighed(getattr(pd.Series(x).groupby(KEYS), name)())
        for name in (
            "mean",
            "sum",
            "std",
            "var",
            "min",
            "max",
            "median",
            "prod",
            "first",
            "last",
            "sem",
            "skew",
        )
    },
    **{
        f"columns {name}": lambda x, name=name: weighed(getattr(table(x), name)())
        for name in (
            "sum",
            "mean",
            "std",
            "var",
            "min",
            "max",
            "prod",
            "median",
            "skew",
            "kurt",
            "sem",
        )
    },
    **{
        f"rows {name}": lambda x, name=name: weighed(getattr(table(x), name)(axis=1))
        for name in ("sum", "mean", "std", "var", "min", "max", "prod", "median", "sem")
    },
    "returns over their deviation": _sharpe,
    "drawdown": _drawdown,
    "portfolio": _portfolio,
    "portfolio of a Series": _portfolio_s,
    "relative strength": _rsi,
    "moving averages": _macd,
    "bands": _boll,
    "regression": _linreg,
    "means of groups": _group_model,
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of pandas 2
@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    check(METHODS[name])


_DATA = {
    "NaN": [np.nan, 1.0, np.nan, 3.0, 3.0, np.nan, 1.0, 7.0, 5.0],
    "equal": [2.0] * 9,
    "one": [2.0],
    "none": [np.nan] * 4,
    "empty": [],
}
_GROUPS = np.array(list("abacabbcc"))

_PLAIN: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda s, name=name: getattr(s, name)()
        for name in (
            *(
                "cumsum",
                "cumprod",
                "cummax",
                "diff",
                "rank",
                "mode",
                "sort_values",
                "drop_duplicates",
            ),
            *("describe", "dropna", "ffill", "bfill", "interpolate", "round"),
        )
    },
    **{
        f"groups {name}": lambda s, name=name: getattr(s.groupby(_GROUPS[: len(s)]), name)()
        for name in (
            *("mean", "sum", "std", "min", "median", "first", "last", "skew", "cumsum", "cumprod"),
            *("rank", "shift", "any", "all", "nunique", "count"),
        )
    },
    "few of a group": lambda s: s.groupby(_GROUPS[: len(s)]).sum(min_count=3),
    "ranks": lambda s: s.rank(method="dense", ascending=False, pct=True),
    "largest": lambda s: s.nlargest(3, keep="all"),
    "smallest": lambda s: s.nsmallest(2, keep="last"),
    "between": lambda s: s.interpolate(limit_direction="both", limit_area="inside"),
    "limited": lambda s: s.ffill(limit=1),
    "bounded": lambda s: s.clip(s.shift(1), np.nan),
    "replaced": lambda s: s.replace({3.0: 5.0, 1.0: 0.0}),
    "quantiles": lambda s: s.quantile([0.0, 0.3, 1.0], interpolation="higher"),
    "groups of traced keys": lambda s: (s * 2).groupby(s).sum(),
}


@pytest.mark.filterwarnings("ignore:the output does not depend", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _PLAIN)
@pytest.mark.parametrize("data", _DATA)
def test_values_are_those_of_pandas(data: str, name: str) -> None:
    s, f = pd.Series(_DATA[data], dtype=float), _PLAIN[name]
    try:
        wanted = f(s)
    except (TypeError, ValueError):
        pytest.skip("pandas refuses it")
    found, _ = fg.jvp(lambda s: f(s), (s,), (s * 0 + 1,))
    assert type(found) is pd.Series
    pd.testing.assert_series_equal(found, wanted, check_dtype=False, check_index_type=False)


_OF_PAIRS: dict[str, Callable[[Any], Any]] = {
    "cov": lambda d: d.cov(),
    "cov of enough": lambda d: d.cov(min_periods=5),
    "cov without ddof": lambda d: d.cov(ddof=0),
    "corr": lambda d: d.corr(),
    "spearman": lambda d: d.corr(method="spearman"),
    "rank of rows": lambda d: d.rank(axis=1),
    "quantile": lambda d: d.quantile([0.3, 0.5]),
    "means of rows": lambda d: d.mean(axis=1, skipna=False).to_frame(),
}


@pytest.mark.filterwarnings("ignore:the output does not depend", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _OF_PAIRS)
def test_tables_with_missing_values(name: str) -> None:
    s = pd.Series(_DATA["NaN"])
    frame = pd.DataFrame({"a": s, "b": s.shift(1), "c": np.arange(9.0) ** 2})
    found, _ = fg.jvp(lambda d: _OF_PAIRS[name](d), (frame,), (frame * 0 + 1,))
    pd.testing.assert_frame_equal(found, _OF_PAIRS[name](frame), check_dtype=False)


_SECOND: dict[str, Callable[[Any], Any]] = {
    "rolling": lambda x: weighed(pd.Series(x).rolling(3).std()),
    "exponential": lambda x: weighed(pd.Series(x).ewm(span=3).var() * pd.Series(x)),
    "traced weight": lambda x: weighed(pd.Series(WEIGHTS).ewm(alpha=x[0]).mean()),
    "groups": lambda x: weighed(pd.Series(x).groupby(KEYS).var()),
    "correlation": lambda x: pd.Series(x).corr(pd.Series(x**2 + WEIGHTS)),
    "table": lambda x: weighed(table(x).cov()),
}


@pytest.mark.parametrize("name", _SECOND)
def test_second_derivatives(name: str) -> None:
    f, h = _SECOND[name], 1e-6
    gradient = fg.grad(f)
    wanted = np.array([(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(6)])
    assert fg.hessian(f)(X) == pytest.approx(wanted, rel=1e-5, abs=1e-5)
    v = np.cos(np.arange(6.0))
    assert fg.jvp(gradient, (X,), (v,))[1] == pytest.approx(wanted @ v, rel=1e-5, abs=1e-5)


def test_a_batch_of_tables() -> None:
    f = lambda x: weighed(pd.Series(x).rolling(2).mean())  # noqa: E731
    batch = np.stack([X, 2 * X, X**2])
    assert fg.vmap(f)(batch) == pytest.approx(np.array([f(x) for x in batch]), rel=1e-14)


def test_ranks_are_guards_of_jitted_functions() -> None:
    f = fg.jit(lambda x: pd.Series(x).nlargest(2).prod() * pd.Series(x).rank().iloc[0])
    assert f(X) == pytest.approx(0.71 * 0.93 * 5, rel=1e-14)
    assert f(X**2) == pytest.approx((0.71 * 0.93) ** 2 * 5, rel=1e-14)
    assert f(-X) == pytest.approx(0.22 * 0.33 * 2, rel=1e-14)


def test_a_function_that_pandas_calls_on_the_whole_series() -> None:
    f = lambda x: weighed(pd.Series(x).transform(lambda s: s - s.mean()))  # noqa: E731
    check(f)


def test_methods_that_are_refused() -> None:
    s = pd.Series([1.0, 2.0, np.nan, 4.0])
    for f, match in (
        (lambda s: s.value_counts().sum(), r"labels carry no derivative; write s\.nunique\(\)"),
        (lambda s: pd.qcut(s, 2).cat.codes.sum() * s.sum(), "write labels=False"),
        (lambda s: s.interpolate(limit=1).sum(), r"limit=1; write np\.interp"),
        (lambda s: s.groupby([0, 0, 1, 1]).ohlc().sum().sum(), r"groupby\(\.\.\.\)\.apply\(f\)"),
        (lambda s: s.to_frame().apply(lambda r: [r[0], 1.0], axis=1)[0][0], "result_type='expand'"),
    ):
        with pytest.raises(TypeError, match=match):
            fg.grad(f)(s)


@pytest.mark.parametrize(
    "name", ["place", "written", "original", "source", "is_view", "hold", "refuse_view", "of_user"]
)
def test_columns_have_any_name(name):
    def f(x):
        frame = pd.DataFrame({name: [1.0, 2.0], "b": [3.0, 4.0]}) * x
        return (getattr(frame, name) * frame.b).sum() + getattr(frame.loc[0], name)

    assert fg.value_and_grad(f)(2.0) == (f(2.0), 45.0)
