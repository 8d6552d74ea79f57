"""Derived programs on disk."""
