"""Derivatives that users supply: custom rules, primitives, implicit functions."""
