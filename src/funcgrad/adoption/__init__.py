"""Adoption: the same code over funcgrad's ``numpy``, ``scipy``, ``math``, ``cmath`` and ``statistics``.

A module is a function of its imports. An adopted function is rebuilt from the same code object over other
globals (`globals`), in which the names of modules, functions and classes lead to adopted ones
(`redirect`), and the built-in names `isinstance`, `float`, `type` know traced values (`builtins`).
Nothing is patched: the originals, ``sys.modules`` and other threads see nothing of it.
"""
