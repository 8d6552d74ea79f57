"""Modules that stand in for those of the standard library, and for numba, in adopted code."""
