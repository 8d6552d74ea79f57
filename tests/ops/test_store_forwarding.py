"""Entries that a chain of stores has written."""

import gc
import time

import numpy as np

import funcgrad as fg
from funcgrad.ops.store_forwarding import forwarded


def test_each_store_keeps_the_entries_that_were_written_before_it():
    rng = np.random.default_rng(0)
    x = fg.var("x", (40, 50))
    chain, written = [x], [{}]
    for k in range(3000):
        place = tuple(rng.integers((40, 50)).tolist())[: 1 + (k % 10 > 0)]
        value = fg.var(f"v{k}", () if len(place) == 2 else 50)
        chain.append(chain[-1].at[place].set(value))
        below = {at: v for at, v in written[-1].items() if at[: len(place)] != place}
        written.append({**below, place: value})
    for k in (1, 17, 300, 2999, 3000):
        for place, value in [*written[k].items()][::7]:
            if len(place) == 2 or place[0] not in {at[0] for at in written[k] if len(at) == 2}:
                assert forwarded(chain[k], place) is value


def test_stores_cost_the_same_however_many_there_are():
    """Also with the garbage collector, which visits what each store keeps."""

    def seconds_each(n):
        a, x = fg.const(np.zeros(n)).at[0].set(fg.var("x")), fg.var("x")
        gc.collect()
        start = time.process_time()
        for i in range(1, n):
            a = a.at[i].set(a[i - 1] * x)
        return (time.process_time() - start) / n

    few = min(seconds_each(1000) for _ in range(5))
    assert min(seconds_each(16_000) for _ in range(2)) < 3 * few
