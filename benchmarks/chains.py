"""The cost of a node, and of starting a process: tasks that run in processes of their own."""

from __future__ import annotations

import importlib.util
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

CHAINS = {"sines, `y = np.sin(y)`": "sin", "sums, `y = y + 1.0`": "add"}
"""Scalar chains, by the step that adds a node."""

FIRST = {
    "funcgrad": "import numpy as np, funcgrad as fg; fg.grad(lambda x: np.sin(x) * x)(0.7)",
    "autograd": (
        "import autograd.numpy as np; from autograd import grad; grad(lambda x: np.sin(x) * x)(0.7)"
    ),
    "jax": "import jax, jax.numpy as np; jax.jit(jax.grad(lambda x: np.sin(x) * x))(0.7)",
    "torch": (
        "import torch; x = torch.tensor(0.7, requires_grad=True); (torch.sin(x) * x).backward(); x.grad"
    ),
    "casadi": (
        "import casadi as ca; x = ca.SX.sym('x'); "
        "ca.Function('g', [x], [ca.gradient(ca.sin(x) * x, x)])(0.7)"
    ),
}
"""Programs that compute one gradient."""


def chain(shape: str, count: str) -> dict[str, Any]:
    """Microseconds a node of each operation on a chain, and bytes a node."""
    import numpy as np

    import funcgrad as fg

    n, times = int(count), {}
    step: Callable[[Any], Any] = np.sin if CHAINS[shape] == "sin" else lambda y: y + 1.0

    def timed(name: str, f: Any) -> Any:
        start = time.perf_counter()
        value = f()
        times[name] = (time.perf_counter() - start) / n * 1e6
        return value

    def build() -> Any:
        y = fg.var("x")
        for _ in range(n):
            y = step(y)
        return y

    def compare(other: Any) -> None:
        if held[0].key != other.key:
            raise SystemExit("a chain differs after unpickling")

    repr(fg.backprop(step(fg.var("x"))))  # one-time costs of the first use are not a node's
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Held in one place, so that the last step drops it.
    held = [timed("build", build)]
    timed("key", lambda: held[0].key)
    timed("graph", lambda: held[0].graph)
    size = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / n
    timed("toposort", lambda: fg.toposort(held[0]))
    timed("evaluate", lambda: held[0](x=0.5))
    timed("backprop", lambda: fg.backprop(held[0]))
    timed("repr", lambda: repr(held[0]))
    stored = timed("pickle", lambda: pickle.dumps(held[0]))
    again = timed("unpickle", lambda: pickle.loads(stored))
    timed("compare", lambda: compare(again))
    timed("drop", held.clear)
    return {"times": times, "bytes": size}


def starts(rounds: str) -> dict[str, list[float]]:
    """Wall times of processes, in rounds: imports alone, and up to the first gradient."""
    programs = {"import numpy": "import numpy", "import funcgrad": "import funcgrad"}
    programs |= {
        peer: text for peer, text in FIRST.items() if importlib.util.find_spec(peer) is not None
    }
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for name in programs:  # once to fill the disk cache
        _run(programs[name])
    for _ in range(int(rounds)):
        for name, times in samples.items():
            start = time.perf_counter()
            _run(programs[name])
            times.append(time.perf_counter() - start)
    return samples


def _run(text: str) -> None:
    subprocess.run([sys.executable, "-c", text], check=True, env=dict(os.environ))
