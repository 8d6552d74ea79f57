"""Reverse and forward accumulation, batching and power series of expressions."""
