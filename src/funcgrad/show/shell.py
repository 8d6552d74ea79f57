"""The interactive prompt of ``python -m funcgrad``: IPython where it is installed, else Python's own."""

from __future__ import annotations

import builtins
import code
import linecache
import sys
from collections.abc import Callable
from functools import reduce
from importlib.util import find_spec
from types import FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.printed_text import colored, print_text
from funcgrad.show.text import text_of_tree
from funcgrad.source import OURS
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.jit.capture_owners import is_ours

WELCOME = """\
funcgrad {version}: a differentiable program is a value.
All names are imported, and NumPy is np. Try:

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
    names = vars(_main(names))
    if terminal:
        _complete(names)
    colors = terminal and find_spec("rich")
    sys.displayhook = _displayed(display_in_colors if colors else sys.displayhook)
    _Console(names).interact(banner=welcome, exitmsg="")


def _main(names: dict[str, Any]) -> ModuleType:
    """The module ``__main__`` of a prompt, where pickle and dataclasses find the classes that are typed."""
    made = ModuleType("__main__")
    vars(made).update(names)
    sys.modules["__main__"] = made
    return made


def display_in_colors(value: object) -> None:
    """Python's display of a value, in a terminal's colors: the same lines, in which rich would break some."""
    if value is not None:
        print_text(repr(value))
        vars(builtins)["_"] = value


def _displayed(display: Callable[[object], object]) -> Callable[[object], object]:
    """A prompt's display, by which compiled functions print as their names, and formulas in let-form."""

    def shown(value: object) -> None:
        text = _text_of(value)
        if text is None:
            display(value)
        else:
            print_text(text)
            vars(builtins)["_"] = value

    return shown


def _text_of(value: object) -> str | None:
    """The text of a compiled function, or of a dict or list of formulas; None of other values."""
    if type(value) in (dict, list) and _has_formulas(value):
        return text_of_tree(value)
    return _name_of_ours(value)


def _has_formulas(tree: object) -> bool:
    try:
        return any(isinstance(leaf, Expr) for leaf in flatten(tree).leaves)
    except (RecursionError, TypeError):  # of a list that contains itself, or lists in lists
        return False


def _name_of_ours(value: object) -> str | None:
    """The name of a function that a transform made, such as ``jit(grad(f))``; else None."""
    if not isinstance(value, FunctionType) or value.__name__.isidentifier() or not is_ours(value):
        return None
    return value.__name__


class _Console(code.InteractiveConsole):
    """Python's prompt, whose tracebacks have the lines that were typed and not funcgrad's own."""

    typed = 1  # which input comes next

    def runsource(self, source: str, filename: str = "<console>", symbol: str = "single") -> bool:
        """Run an input, or say that it goes on. Its lines are kept for tracebacks, as by Python 3.13."""
        filename = f"<input-{self.typed}>"
        linecache.cache[filename] = (
            len(source),
            None,
            f"{source}\n".splitlines(keepends=True),
            filename,
        )
        goes_on = super().runsource(source, filename, symbol)
        self.typed += not goes_on
        return goes_on

    def showtraceback(self) -> None:
        """Print the error that is handled, as Python does: with the nearest of a misspelt name."""
        error = sys.exc_info()[1]
        if error is not None and error.__traceback__ is not None:
            shown = _told(error, error.__traceback__.tb_next)
            sys.excepthook(type(shown), shown, shown.__traceback__)


def _told(error: BaseException, steps: TracebackType | None) -> BaseException:
    """The error to show: with the steps of the user's, and funcgrad's own where NumPy has put one over it.

    ``a[0] = x`` asks an expression for a float. NumPy raises an error about sequences because of the refusal.
    An error that funcgrad raises because of another one of its own says all: the other one is not shown.
    """
    cause = error.__cause__
    if cause is not None and _is_ours(cause.__traceback__):
        if not _is_ours(_last(steps)):
            error = cause
        elif _users_steps(cause.__traceback__) is None:
            error.__cause__ = None
    return error.with_traceback(_users_steps(steps))


def _is_ours(step: TracebackType | None) -> bool:
    return step is not None and bool(OURS[step.tb_frame.f_code.co_filename])


def _last(steps: TracebackType | None) -> TracebackType | None:
    while steps is not None and steps.tb_next is not None:
        steps = steps.tb_next
    return steps


def _users_steps(steps: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of funcgrad and NumPy."""
    kept: list[TracebackType] = []
    while steps is not None:
        kept += [] if _is_ours(steps) else [steps]
        steps = steps.tb_next
    return reduce(_before, reversed(kept), None)


def _before(after: TracebackType | None, step: TracebackType) -> TracebackType:
    return TracebackType(after, step.tb_frame, step.tb_lasti, step.tb_lineno)


def _start_ipython(welcome: str, names: dict[str, Any]) -> None:
    from IPython import start_ipython
    from IPython.terminal.interactiveshell import TerminalInteractiveShell
    from traitlets.config import Config

    config: Any = Config()
    config.TerminalInteractiveShell.banner1 = f"{welcome}\n"
    if hasattr(TerminalInteractiveShell, "enable_tip"):  # from IPython 9 on
        config.TerminalInteractiveShell.enable_tip = False
    config.InteractiveShellApp.extensions = ["funcgrad"]
    start_ipython(argv=[], config=config, user_ns=names)


def load_ipython_extension(shell: Any) -> None:
    """Let IPython print compiled functions by their names, and tracebacks with the lines that were typed.

    A dict or a list of formulas prints the parts that they share once. In a terminal that has rich, text
    comes in its colors. The tracebacks are IPython's, since rich's have no lines of what was typed.
    """
    formatters = shell.display_formatter.formatters
    for kind in (FunctionType, dict, list):
        _print_as_text(formatters["text/plain"], kind)
    if sys.stdout.isatty() and find_spec("rich"):
        add_colors(formatters["text/plain"])

    def show(
        shell: Any, kind: type, error: BaseException, steps: Any, tb_offset: object = None
    ) -> None:
        shown = _told(error, steps)
        shell.showtraceback((type(shown), shown, shown.__traceback__), tb_offset=1)

    shell.set_custom_exc((Exception,), show)


def _print_as_text(formatter: Any, kind: type) -> None:
    """Let IPython's formatter of text print those values of a class that have a text of funcgrad's."""
    usual = formatter.for_type(kind)

    def shown(value: object, printer: Any, cycle: bool) -> None:
        text = None if cycle else _text_of(value)
        if text is None:
            usual(value, printer, cycle)
        else:
            printer.text(text)

    formatter.for_type(kind, shown)


def add_colors(formatter: Any) -> None:
    """Let IPython's formatter of text, with its settings and printers, print in a terminal's colors."""
    if getattr(formatter, "has_colors", False):
        return

    class Colored(type(formatter)):  # type: ignore[misc]
        has_colors = True

        def __call__(self, value: object) -> str:
            return colored(super().__call__(value))

    formatter.__class__ = Colored


def _complete(names: dict[str, Any]) -> None:
    """Completion by Tab, on systems that have readline."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")
