"""Loops, branches, folds and checkpoints: the public functions."""
