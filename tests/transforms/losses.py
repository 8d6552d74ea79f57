"""Losses of weights w, a matrix X and data y, as users write them: bodies of ``f(w, X, y)``, as text."""

import inspect
import math

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats

LOSSES = {
    "least squares": "return np.mean((X @ w - y)**2)",
    "predictions stored": """
        p = np.zeros(len(y))
        for i in range(len(y)):
            p[i] = X[i] @ w
        return ((p - y)**2).sum()""",
    "empty_like": """
        p = np.empty_like(y)
        p[:] = X @ w
        p[y > 1] *= 2
        return (p * p).sum()""",
    "store into data": """
        z = np.log(y)
        z[z < 0] = 0
        return (z * (X @ w)).sum()""",
    "copy of data": """
        z = y.copy()
        z[0] = w[0]
        z[1:] += X[1:] @ w
        return (z**2).sum()""",
    "standardized": """
        X = X - X.mean(0)
        X /= X.std(0)
        return ((X @ w - y)**2).sum()""",
    "recurrence": """
        e = np.zeros_like(y)
        e[0] = y[0]
        for t in range(1, len(y)):
            e[t] = y[t] - w[0] * y[t - 1] - w[1] * e[t - 1]
        return (e**2).sum()""",
    "volatility": """
        s = np.zeros(len(y))
        s[0] = np.var(y)
        for t in range(1, len(y)):
            s[t] = np.exp(w[0] - 2) + 0.5 / (1 + np.exp(-w[1])) * s[t - 1] + 0.3 * y[t - 1]**2
        return np.sum(np.log(s) + y**2 / s)""",
    "math": """
        total = 0.0
        for xi, yi in zip(X, y):
            total += math.exp(-abs(yi - xi[0] * w[0])) * math.sqrt(yi)
        return total""",
    "lists": "return np.sum(np.array([math.sin(float(a) * float(b)) for a, b in zip(w, y)]))",
    "sort": "return np.sort(X @ w)[::2] @ y[:3]",
    "piecewise": "return np.piecewise(y * w[0], [y < .7, y >= .7], [lambda v: v**2, np.sin]).sum()",
    "select": "return np.select([y < .5, y < 1], [y * w[0], y * w[1]], w[2]).sum()",
    "spline": "return scipy.interpolate.CubicSpline(np.arange(6.), y * w[0])(w + 2).sum()",
    "normal": "return -scipy.stats.norm.logpdf(y, X @ w, np.exp(w[0])).sum()",
    "gamma": """
        shape = np.exp(w[1])
        return scipy.special.gammaln(y + w[0] + 1).sum() + scipy.stats.gamma.logpdf(y, shape).sum()""",
    "Gaussian process": """
        K = np.exp(-((X[:, None] - X[None])**2).sum(-1) * np.exp(w[0]))
        K[np.diag_indices(6)] += np.exp(w[1])
        L = scipy.linalg.cholesky(K, lower=True)
        return y @ scipy.linalg.cho_solve((L, True), y) + 2 * np.log(np.diag(L)).sum()""",
    "Kalman filter": """
        x, P, total = np.zeros(2), np.eye(2), 0
        F, H = np.array([[1, w[0]], [0, 1]]), np.array([[1.0, 0]])
        for z in y:
            x, P = F @ x, F @ P @ F.T + np.eye(2) * np.exp(w[1])
            S = H @ P @ H.T + .5
            K, v = P @ H.T @ np.linalg.inv(S), z - H @ x
            x, P = x + K @ v, P - K @ H @ P
            total += np.log(S[0, 0]) + v[0]**2 / S[0, 0]
        return total""",
    "quad": "return scipy.integrate.quad(lambda t: np.exp(-t * t * np.exp(w[0])) * y[0], 0, 1)[0]",
    "brentq": "return scipy.optimize.brentq(lambda t: t**3 + t - y[0] - w[0], -5, 5) * w[1]",
    "lfilter": "return scipy.signal.lfilter([1, w[0]], [1, .2], y) @ y",
    "Euler's method": """
        s = np.zeros((9, 2))
        s[0] = [y[0], w[1]]
        for i in range(8):
            s[i + 1, 0] = s[i, 0] + .1 * s[i, 1]
            s[i + 1, 1] = s[i, 1] - .1 * (s[i, 0] * w[0] + y[i % 6] * .1)
        return (s**2).sum()""",
    "heat equation": """
        u = y.copy()
        for _ in range(4):
            v = u.copy()
            u[1:-1] = v[1:-1] + .1 * np.exp(w[0]) * (v[2:] - 2 * v[1:-1] + v[:-2])
            u[0], u[-1] = w[1], 0
        return (u**2).sum()""",
    "np.add.at": """
        h = np.zeros(3)
        np.add.at(h, np.array([0, 1, 2, 0, 1, 2]), y * (X @ w))
        return (h**2).sum()""",
    "cross entropy": """
        z = X * w
        z -= z.max(1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(1, keepdims=True)
        return -np.log(p[np.arange(6), np.arange(6) % 3]).sum()""",
    "dict": """
        sums = {}
        for i, v in enumerate(y):
            sums[i % 2] = sums.get(i % 2, 0.) + v * w[i % 3]
        return sum(v**2 for v in sums.values())""",
    "branches": """
        total = 0.
        for v in y:
            if v > 1:
                total += v * w[0]
            else:
                total -= w[1]**2 * v
        return total""",
    "nan": """
        z = np.where(y > 1, np.nan, y) * w[0]
        return np.nansum(z) + np.nanmean(z)""",
    "concatenate": "return np.concatenate([w, y])[2:] @ np.r_[y, 1.0] + np.hstack([w[0], y]).sum()",
    "triangle": """
        M = np.zeros((3, 3))
        M[np.triu_indices(3)] = y
        M[np.diag_indices(3)] = np.exp(w)
        return np.linalg.slogdet(M @ M.T)[1]""",
    "out": """
        made = np.empty(6)
        np.multiply(y, w[0], out=made)
        np.add(made, 1, out=made, where=y > 1)
        return (made * made).sum()""",
    "instance": """
        class Sums:
            def __init__(self):
                self.total, self.count = np.zeros(3), 0
            def add(self, v):
                self.total += v
                self.count += 1
        sums = Sums()
        for x in X:
            sums.add(x * w)
        return (sums.total**2).sum() / sums.count""",
    "vectorize": "return np.vectorize(lambda a: math.tanh(a * w[0]) if a > .5 else a)(y).sum()",
    "mask": """
        a, m = X @ w, y > 1
        a[~m] = 0
        return (a[m]**2).sum() + a.sum()""",
    "extremes": """
        z = X @ w
        return z[np.argmax(y)] - z[int(np.argmin(y))]""",
    "groups": """
        groups = np.array([0, 1, 0, 1, 2, 2])
        return sum(np.mean((X @ w)[groups == k])**2 for k in np.unique(groups))""",
}


def loss(name):
    """The function with this body."""
    body = inspect.cleandoc("\n" + LOSSES[name]).splitlines()
    space = {"np": np, "math": math, "scipy": scipy}
    exec("def f(w, X, y):\n" + "\n".join(f"    {line}" for line in body), space)
    return space["f"]
