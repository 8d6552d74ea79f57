"""The backend that runs scalar programs and loops as machine code, if llvmlite is installed."""
