"""Derivatives given by users: custom rules, primitives, implicit functions."""
