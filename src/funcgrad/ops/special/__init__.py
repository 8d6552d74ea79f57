"""SciPy's special functions as elementwise operations, one family a module.

Their values are those of `scipy.special`, which is imported when a program runs and is not a requirement of
the package. Its ufuncs answer for expressions, so ``scipy.special.erf(x)`` needs no other import. The
families but `polygamma` are imported when one of these ufuncs, or `funcgrad.scipy.special`, is first used
with an expression.
"""
