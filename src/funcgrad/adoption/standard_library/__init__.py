"""Modules of the standard library, for traced values and plain numbers."""
