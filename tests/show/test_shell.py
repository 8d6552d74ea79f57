"""The prompt of `python -m funcgrad` and the IPython extension: names, colors and tracebacks."""

import re
import rlcompleter
import subprocess
import sys

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.shell import (
    WELCOME,
    add_colors,
    display_in_colors,
    load_ipython_extension,
    start,
)


def test_the_welcome_can_be_typed():
    shown = WELCOME.format(version="", leave="")
    typed = [line[2:] for line in shown.splitlines() if line.startswith("  ")]
    done = subprocess.run(
        [sys.executable, "-m", "funcgrad"],
        input="\n".join([*typed, "x^2", "x in [y, x]", ""]),
        capture_output=True,
        text=True,
        check=True,
    )
    out = done.stdout.replace(">>> ", "")
    for line in (
        "{'x': y*cos(x), 'y': sin(x) + 1}",
        "2.958851077208406",
        "node  op        of    value     gradient",
        "Backprop: from the result back, starting with v4 gets 1",
        "12.0",
        "True",
    ):
        assert line in out
    assert "write x**y for a power" in done.stderr
    assert done.stderr.count("Traceback") == 1
    assert "Try:" in done.stderr  # where the prompt writes


MISTAKES = (
    "x^2",
    "fg.check_grads(abs, (0.0,))",
    "fg.grad(lambda v: v)(np.ones(2))",
    "fg.gradd",
    "np.zeros(3).__setitem__(0, x)",
)


def test_a_traceback_in_the_prompt_has_the_lines_that_were_typed():
    done = subprocess.run(
        [sys.executable, "-m", "funcgrad"],
        input="\n".join(["x = var('x')", *MISTAKES, ""]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.findall(r'File "(.*?)"', done.stderr) == [
        f"<input-{2 + i}>" for i in range(len(MISTAKES))
    ]
    assert "  at <input-2>:1: x^2\n" in done.stderr
    assert "write x**y for a power" in done.stderr
    assert "sum it, or use jacobian" in done.stderr
    assert "write fg.grad\n" in done.stderr
    assert done.stderr.count("AssertionError") == 1  # without the one that caused it
    assert done.stderr.rstrip().splitlines()[-2].startswith("TypeError: float(): expected a number")
    assert "sequence" not in done.stderr  # NumPy's own words


FUNCTIONS = (
    "def f(x):\n    return x*x\n\njit(f)\njit(grad(f))\ngrad(f)\n_(3.0)\njit(f)\n_(3.0)\nnp.sin\n"
)
DEFINED = (
    "import dataclasses, pickle\n"
    "@dataclasses.dataclass\nclass Line:\n    slope: float\n\n"
    "grad(lambda line: line.slope**2)(Line(3.0))\n"
    "pickle.loads(pickle.dumps(Line(3.0)))\n"
    "Line\n"
)
SHARED = {
    "x, y = vars('x y'); e = exp(sin(x))*y; a = [x]; a.append(a)": "",
    "gradient(e)": "let a = exp(sin(x))\nin {'x': y*a*cos(x), 'y': a}\n",
    "type(_)": "<class 'dict'>\n",
    "gradient(e, ['x', 'y'])": "let a = exp(sin(x))\nin [y*a*cos(x), a]\n",
    "{'w': [sin(x)], 2: x}": "{'w': [sin(x)], 2: x}\n",
    "a": "[x, [...]]\n",
}


@pytest.fixture(scope="module")
def prompted():
    """The texts that one prompt shows for the functions, the definitions, and the formulas."""
    parts = (FUNCTIONS, DEFINED, "".join(f"{line}\n" for line in SHARED))
    found = subprocess.run(
        [sys.executable, "-m", "funcgrad"],
        input="'the next'\n".join(parts),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return found.stdout.replace(">>> ", "").replace("... ", "").split("'the next'\n")


def test_a_prompt_shows_functions_by_name(prompted):
    assert prompted[0].split() == [
        "jit(f)",
        "jit(grad(f))",
        "grad(f)",
        "6.0",
        "jit(f)",
        "9.0",
        "<ufunc",
        "'sin'>",
    ]


def test_what_is_defined_at_a_prompt_is_found_by_its_name(prompted):
    shown = prompted[1].splitlines()
    assert shown == ["Line(slope=6.0)", "Line(slope=3.0)", "<class '__main__.Line'>"]


def test_a_prompt_shows_shared_parts_of_formulas_once(prompted):
    assert prompted[2].startswith("".join(SHARED.values()))


def test_ipython_shows_shared_parts_of_formulas_once(monkeypatch):
    # A shell sets it for the process: other packages would look for the shell in later tests.
    monkeypatch.setattr("builtins.__IPYTHON__", True, raising=False)
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    named = fg.gradient(np.exp(np.sin(fg.var("x"))) * fg.var("y"))
    made = shell(history_length=0)
    load_ipython_extension(made)
    show = made.display_formatter.formatters["text/plain"]
    assert show(named) == "let a = exp(sin(x))\nin {'x': y*a*cos(x), 'y': a}"
    assert show({"b": [1.5, "text"]}) == "{'b': [1.5, 'text']}"
    assert show(fg.grad(np.sin)) == "grad(sin)"


def test_a_traceback_in_ipython_has_the_lines_that_were_typed():
    pytest.importorskip("IPython")
    done = subprocess.run(
        [sys.executable, "-c", IN_IPYTHON, *MISTAKES], capture_output=True, text=True, check=True
    )
    assert "src/funcgrad" not in done.stdout
    assert done.stdout.count("Traceback") == len(MISTAKES)
    assert "write x**y for a power" in done.stdout
    assert "sum it, or use jacobian" in done.stdout
    assert "TypeError: float(): expected a number" in done.stdout
    assert "sequence" not in done.stdout
    assert "in f()" in done.stdout  # what the user wrote is shown
    assert re.search(r": \[jit\(grad\(sin\)\), vmap\(cos\), <function [^>]+>\]\n$", done.stdout)
    assert re.search(r"  at In\[\d+\]:2: return x\^2\n", done.stdout)  # a cell has IPython's name


def test_colors_in_ipython_leave_names_and_tracebacks_as_they_are():
    pytest.importorskip("IPython")
    pytest.importorskip("rich")
    colored = IN_IPYTHON.replace("import sys\n", "import sys\nsys.stdout.isatty = lambda: True\n")
    colored = colored.replace(
        "[fg.jit(fg.grad(np.sin)), fg.vmap(np.cos), f]", "fg.jit(fg.grad(np.sin))"
    )
    done = subprocess.run(
        [sys.executable, "-c", colored, "x^2"], capture_output=True, text=True, check=True
    )
    assert "----> 2     return x^2" in done.stdout
    assert "\x1b[" in done.stdout.splitlines()[-1]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert plain.endswith(": jit(grad(sin))\n")


def test_colors_break_no_lines(monkeypatch, capsys):
    """A prompt shows what the pages show: rich by itself breaks a dict into lines."""
    rich = pytest.importorskip("rich.console")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich._console", rich.Console(force_terminal=True, width=40))
    value = {"w": np.eye(2) / 3, "b": np.zeros(2)}
    display_in_colors(value)
    shown = capsys.readouterr().out
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == f"{value!r}\n"


def test_ipythons_formatter_gets_its_colors_once():
    pytest.importorskip("rich")
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.PlainTextFormatter()
    formatter.for_type(float, lambda number, printer, cycle: printer.text(f"{number:.3f}"))
    add_colors(formatter)
    once = formatter(0.12345)
    add_colors(formatter)
    assert formatter(0.12345) == once
    assert "0.123" in once
    assert "0.1234" not in once


def test_the_package_can_be_reloaded():
    """As by `%reload_ext funcgrad`, which IPython names when the extension is loaded a second time."""
    typed = (
        "import importlib, funcgrad as fg; print(importlib.reload(fg).grad(lambda x: x * x)(3.0))"
    )
    done = subprocess.run([sys.executable, "-c", typed], capture_output=True, text=True, check=True)
    assert done.stdout == "6.0\n"


def test_the_welcome_fits_a_terminal():
    assert max(map(len, WELCOME.splitlines())) <= 79


def test_ipythons_prompt_has_the_welcome_alone(monkeypatch):
    terminal = pytest.importorskip("IPython.terminal.interactiveshell")
    started = {}
    monkeypatch.setattr("IPython.start_ipython", lambda **options: started.update(options))
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    start(fg)
    config = started["config"].TerminalInteractiveShell
    assert config.banner1.endswith("exit leaves.\n")
    assert config.enable_tip is False or not hasattr(
        terminal.TerminalInteractiveShell, "enable_tip"
    )
    assert started["user_ns"]["grad"] is fg.grad


IN_IPYTHON = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor", history_length=0)
shell.run_cell("import numpy as np, funcgrad as fg; x = fg.var('x')")
shell.extension_manager.load_extension("funcgrad")
for line in sys.argv[1:]:
    shell.run_cell(f"def f():\\n    return {line}")
    shell.run_cell("f()")
shell.run_cell("[fg.jit(fg.grad(np.sin)), fg.vmap(np.cos), f]")
"""


def test_tab_offers_what_is_for_users():
    x = fg.var("x")
    made = fg.backprop(np.sin(x) * x)

    def offered(value):
        """The names that the completers of Python and of IPython take: of an object and of its class."""
        names = {*dir(value), *rlcompleter.get_class_members(type(value))}
        return {name for name in names if not name.startswith("_")}

    assert offered(fg) == {name for name in dir(fg) if not name.startswith("_")}
    assert {"grad", "vars", "steps", "optim"} <= offered(fg)
    assert offered(fg.optim) == set(fg.optim.__all__)
    assert {"stats", "special"} <= offered(fg.scipy) == set(dir(fg.scipy))
    assert offered(fg.numpy.linalg) <= set(dir(np.linalg))
    assert {"get", "items", "keys", "map", "root", "values"} <= offered(made)
    assert offered(fg.grad(np.sin)) == {
        "expr",
        "args",
        "func",
        "keywords",
    }  # and those of a partial function
    assert offered(fg.jit(np.sin)) == {"clear", "explain_misses", "lower", "program"}
    assert {"sum", "shape", "at", "graph", "key"} <= offered(np.sin(x) * x)
    assert made._ipython_key_completions_() == ["x"]


def test_colors_are_richs():
    pytest.importorskip("rich")
    import io

    from rich.console import Console

    x = fg.var("x")
    for value in (fg.explain(x * x, x=2.0), fg.table(x * x, x=2.0), fg.edges(x * 2.0)):
        console = Console(file=io.StringIO(), force_terminal=True, width=200)
        console.print(value)
        assert "\x1b[" in console.file.getvalue()
        plain = Console(file=io.StringIO(), width=200)
        plain.print(value)
        assert plain.file.getvalue().rstrip() == repr(value)
