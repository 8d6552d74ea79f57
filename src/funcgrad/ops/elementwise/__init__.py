"""Elementwise operations: the value's ufunc, and one partial derivative for each argument.

In a partial, ``z`` is the output and ``x, y`` are the inputs. Where a function has a kink, ties share
equally (``maximum(x, x)``), and ``abs`` and ``sign`` give 0 at 0. An argument in which the operation is not
differentiable has no partial. `mask` makes a cotangent 0 where its condition is false, before the cotangent
is multiplied by a factor that may be infinite there.
"""
