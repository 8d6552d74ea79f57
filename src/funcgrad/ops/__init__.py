"""The operations, one family a file. Nothing else in the package has a list of them.

An operation declares itself where it is defined (`funcgrad.ops.base.op.Op`); `dispatch` reads the tables
that NumPy's protocols and stored programs need off the families' modules.
"""
