"""Functions of functions and of programs: gradients and the rest, each a fold read one way."""
