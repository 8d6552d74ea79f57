"""Formulas in LaTeX."""
