"""A tape in C for the graph of `benchmarks.work.graph`: the limit that its row is measured by."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.work.c_library import address, compiled

SOURCE = r"""
#include <math.h>
#include <string.h>

typedef struct { int kind, out, in[4]; } Instruction;

double run(const Instruction *tape, int length, const int *roots, int count, int nodes,
           const double *x, int inputs, double *v, double *g) {
    memcpy(v, x, inputs * sizeof(double));
    for (int k = 0; k < length; k++) {
        const Instruction *t = tape + k;
        const int *in = t->in;
        switch (t->kind) {
        case 0: v[t->out] = log1p(exp(v[in[0]])); break;
        case 1: v[t->out] = v[in[0]] + v[in[1]] + v[in[2]] + v[in[3]]; break;
        case 2: v[t->out] = v[in[0]] * v[in[1]]; break;
        default: {
            double e[4], total = 0;
            for (int i = 0; i < 4; i++) total += e[i] = exp(v[in[i]]);
            for (int i = 0; i < 4; i++) v[t->out + i] = e[i] / total;
        }}
    }
    memset(g, 0, nodes * sizeof(double));
    double value = 0;
    for (int k = 0; k < count; k++) { value += v[roots[k]]; g[roots[k]] += 1; }
    for (int k = length - 1; k >= 0; k--) {
        const Instruction *t = tape + k;
        const int *in = t->in;
        const double d = g[t->out];
        switch (t->kind) {
        case 0: g[in[0]] += d * -expm1(-v[t->out]); break;
        case 1: for (int i = 0; i < 4; i++) g[in[i]] += d; break;
        case 2: { double a = v[in[0]], b = v[in[1]]; g[in[0]] += d * b; g[in[1]] += d * a; break; }
        default: {
            const double *s = v + t->out, *ds = g + t->out;
            double mean = 0;
            for (int i = 0; i < 4; i++) mean += s[i] * ds[i];
            for (int i = 0; i < 4; i++) g[in[i]] += s[i] * (ds[i] - mean);
        }}
    }
    return value;
}
"""


def compiled_tape(
    instructions: Sequence[tuple[int, ...]], roots: Sequence[int], nodes: int
) -> Callable[[Any], Any]:
    """Value and gradient of the sum of the roots, from the array of inputs."""
    run = compiled(SOURCE, "run")
    tape = np.array(instructions, np.int32)
    ends = np.array(roots, np.int32)
    values, slopes = np.zeros(nodes), np.zeros(nodes)

    fixed = (address(tape), len(tape), address(ends), len(ends), nodes)
    work = (address(values), address(slopes))

    def value_and_gradient(inputs: Any) -> Any:
        value = run(*fixed, ctypes.c_void_p(inputs.ctypes.data), len(inputs), *work)
        _ = (tape, ends, values)  # alive as long as their addresses are used
        return value, slopes[: len(inputs)].copy()

    return value_and_gradient
