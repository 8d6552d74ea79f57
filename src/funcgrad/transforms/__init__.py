"""Transforms of functions: derivatives, batching, compilation, control flow and custom rules."""
