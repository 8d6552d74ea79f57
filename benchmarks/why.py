"""Reasons, found by profiling, for the rows that miss a goal, by name of the row and of the peer.

A reason with an empty peer holds for all of them. The table shows it if the row misses either goal.
"""

from __future__ import annotations

from types import MappingProxyType

from benchmarks.goals import (
    CHAIN,
    FAST,
    GRAPH,
    NET,
    RK4,
    RK4_FAST,
    START,
    TINY,
    TRACED,
    TRACED_FAST,
)

_CHAIN = (
    "`cos` of float64 takes NumPy 8.5 ns an entry and more than half of the time; tanh, exp and log1p take "
    "about 1 each, and a sum or a product 0.2"
)
_LSTM = (
    "about 50 NumPy calls a step, forward and back, on 64 or 256 numbers an example: products are 19 % of "
    "the time for one example and 32 % for 16; XLA compiles a step to a few loops"
)
_PRODUCTS = (
    "the matrix products, the same as by hand, take 85 % of the program, which takes as long as the one "
    "written by hand; with llvmlite the rest is machine code"
)
_SHORT = (
    "12 NumPy calls of about 0.25 µs, by hand 13; 15 for 100 entries, of which four with vector "
    "instructions are as fast as `logaddexp`"
)

_TAPE = (
    "of 0.17 ms the bytecode takes 0.136: 10,000 exponentials 46 µs and 2,500 softpluses 32, as in C, and "
    "22,560 quotients 23; unpacking a list of 100 numbers and building one takes 30 µs"
)
_TRACED = (
    "a tenth is the trace, a tenth its canonical form, an eighth the simplification before "
    "differentiation, two fifths the cotangents in normal form, a fifth the flat program: passes of 2 µs "
    "a node over 108,000 nodes"
)
_NATIVE = (
    "a step takes 17 ns forward and 18 back, in which each of four stages waits for the one before, in XLA "
    "as here"
)

WHY: MappingProxyType[tuple[str, str], str] = MappingProxyType(
    {
        (TINY, "by hand"): (
            "the arithmetic takes 136 ns, by hand 157; checking the type adds 10 ns, `*more, **named` in "
            "the entry's signature 38, and checking captured variables 20"
        ),
        (
            GRAPH,
            "",
        ): "50,000 statements of 45 ns, with 17,600 values kept for the reverse pass",
        (FAST, ""): _TAPE,
        (TRACED, ""): _TRACED,
        (
            TRACED_FAST,
            "",
        ): f"{_TRACED}; building the bytecode takes 0.4 s, loading llvmlite and its machine code 0.4",
        **{(f"array of {n}, elementwise", ""): _SHORT for n in (1, 10, 100)},
        **{(f"{CHAIN}, 10{power}", ""): _CHAIN for power in "⁵⁶⁷"},
        **{(f"{NET}, {dtype}", ""): _PRODUCTS for dtype in ("float64", "float32")},
        **{
            (
                f"{NET}, {dtype}, with llvmlite",
                "",
            ): "the matrix products take nine tenths of the time"
            for dtype in ("float64", "float32")
        },
        ("logistic gradient, 100×10", ""): (
            "nine NumPy calls of 0.3 to 1.2 µs, as by hand; the labels are multiplied by a constant, where "
            "the code by hand divides the ten sums"
        ),
        ("logistic gradient, 10⁴×100", ""): (
            "two thirds of the time are two products of a matrix with a vector, which read its 8 MB block by "
            "block, the second from the cache"
        ),
        ("logistic gradient, 10⁶×10", ""): (
            "two thirds of the time are two products of a matrix of ten columns with a vector; the matrix is "
            "read once, block by block, at memory bandwidth: 0.50 to 0.74 on different days, "
            "0.57 to 0.63 if both alternate in one process"
        ),
        ("Gaussian mixture, d=10, K=25, N=1000", ""): (
            "a quarter of the time are matrix products; a third are a difference, computed twice, and a "
            "product, at 0.5 ns an entry; sums take a tenth"
        ),
        ("LSTM, 100 steps, h=64, B=1", ""): _LSTM,
        ("LSTM, 100 steps, h=64, B=16", ""): _LSTM,
        (
            RK4,
            "",
        ): "18 statements a step forward and 37 back, each a few operations on Python's floats",
        (RK4_FAST, ""): _NATIVE,
        ("RK4 on an array of 300, 100 steps, with llvmlite", "C"): (
            "each rolled array is written as a whole before it is read; C reads a ring with two more entries "
            "at each end"
        ),
        ("Lorenz ensemble, 100 members, 200 steps, with llvmlite", "C"): (
            "a reverse step writes 37 arrays, the cotangent of each column put into zeros of all columns; C "
            "takes one member after the other and keeps its three numbers in registers"
        ),
        ("Kalman filter, 4 states, 200 steps, with llvmlite", "C"): (
            "a step has 20 groups of loops over matrices of 2 to 16 entries, which are written between them"
        ),
        ("LSTM, 100 steps, h=64, B=16, with llvmlite", ""): (
            "most of the time are products of matrices of 16 rows, by BLAS as in NumPy"
        ),
        ("bundle adjustment, 10⁴ observations, `sparse_jacobian`", "jax"): (
            "twelve compressed products, each of some 100 NumPy calls on 20,000 entries in blocks; with "
            "llvmlite the products are machine code"
        ),
        ("bundle adjustment, 10⁴ observations, with llvmlite", "C"): (
            "blocks of 16 observations pass through some 180 steps, with 3 KB an observation between them in "
            "the cache; C keeps an observation in registers"
        ),
        **{
            (f"k-means, {what}, with llvmlite", "by hand"): (
                "the innermost axis has three entries, the next ten, so that vector registers are half "
                "full; by hand the distances are a product of matrices"
            )
            for what in ("gradient", "Hessian-vector product")
        },
        (START, ""): (
            "NumPy's import alone takes three quarters of what autograd takes in all; funcgrad's modules add "
            "half of that to it, and the first gradient 3 ms"
        ),
    }
)
