"""Functions that run as programs of JAX, PyTorch or CuPy."""
