"""The backend that runs scalar programs and loops as machine code, if numba is installed."""
