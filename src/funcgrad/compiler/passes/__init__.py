"""Passes from IR to IR, each under its standard name."""
