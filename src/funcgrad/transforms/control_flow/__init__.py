"""Loops and branches as users write them."""
