"""The backend that runs array programs as NumPy calls with planned buffers and fused kernels."""
