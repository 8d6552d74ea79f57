"""Arrays that can be written: reference cells that hold immutable expressions, and views of them."""
