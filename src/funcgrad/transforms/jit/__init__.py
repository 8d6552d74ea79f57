"""jit: signatures, guard trees, captured variables, and the stages that it shows."""
