"""The verifier: the invariants of programs between passes, checked without running them."""
