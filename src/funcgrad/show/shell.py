"""The interactive prompt of ``python -m funcgrad``: IPython where it is installed, else Python's own."""

from __future__ import annotations

import code
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

WELCOME = """\
funcgrad {version}: a differentiable program is a value. All names are imported, and NumPy is np. Try:

  x, y = vars("x y")
  e = np.sin(x) * y + y
  gradient(e)
  e(x=0.5, y=2.0)
  table(e, x=0.5, y=2.0)
  steps(e, x=0.5, y=2.0)
  grad(lambda x: x**3)(2.0)

help(grad) and help(steps) say more; {leave} leaves."""


def start(package: ModuleType) -> None:
    """Start the prompt, with the public names of a package, and those of NumPy and itself."""
    names: dict[str, Any] = {name: getattr(package, name) for name in package.__all__}
    names |= {"fg": package, "np": np, "optim": package.optim}
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    welcome = WELCOME.format(
        version=package.__version__, leave="exit" if find_spec("IPython") else "Ctrl-D"
    )
    if terminal and find_spec("IPython"):
        _start_ipython(welcome, names)
        return
    if terminal:
        _complete(names)
        if find_spec("rich"):
            from rich import pretty

            pretty.install()
    code.interact(banner=welcome, local=names, exitmsg="")


def _start_ipython(welcome: str, names: dict[str, Any]) -> None:
    from IPython import start_ipython
    from traitlets.config import Config

    config: Any = Config()
    config.TerminalInteractiveShell.banner1 = f"{welcome}\n"
    if find_spec("rich"):
        config.InteractiveShellApp.extensions = ["rich"]
    start_ipython(argv=[], config=config, user_ns=names)


def _complete(names: dict[str, Any]) -> None:
    """Completion by Tab, on systems that have readline."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")
