"""Ordinary differential equations: `odeint` with JAX's signature and `solve_ivp` with SciPy's.

The steps are a `while_loop`, so a solution runs, batches and compiles as any loop does, and its
derivatives are loops, too. A method is a value (`tableaus`), a step of it a function of expressions
(`steps`), and the loop that chooses step sizes knows no method (`adaptive`).
"""
