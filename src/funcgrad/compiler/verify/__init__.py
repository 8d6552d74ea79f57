"""The verifier: what holds of a program between any two passes, checked without running it."""
