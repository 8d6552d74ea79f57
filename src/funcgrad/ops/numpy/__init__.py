"""NumPy functions composed of operations, and the dispatch from NumPy names to them."""
