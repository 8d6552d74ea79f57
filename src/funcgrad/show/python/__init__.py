"""Programs as Python source, over NumPy or over `math`."""
