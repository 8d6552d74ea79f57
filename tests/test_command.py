"""The command: what it prints, and that bad input is one line and exit code 2, soon."""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.__main__ import main
from funcgrad.show.kinks import kinks
from funcgrad.show.parse_formula import FormulaError, parse

FORMULA = "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))"


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_program_table_and_derivative(capsys):
    code, out, _ = run(capsys, FORMULA, "x=0.7")
    assert code == 0
    assert "let a = x**2\n      b = a + exp(a)\n  in sqrt(b) + cos(b)" in out
    assert "node  op        of    value      gradient" in out
    assert "0     x               0.7        -1.874" in out
    assert "df/dx" in out


def test_the_printed_derivative_is_right(capsys):
    _, out, _ = run(capsys, FORMULA, "x=0.7")
    lines = [line.strip() for line in out.split("df/dx")[1].strip().splitlines()]
    scope = {"x": 0.7, "sqrt": np.sqrt, "exp": np.exp, "sin": np.sin, "cos": np.cos}
    for line in lines[:-1]:
        name, formula = line.removeprefix("let ").split(" = ")
        scope[name] = eval(formula, scope)
    assert eval(lines[-1].removeprefix("in "), scope) == pytest.approx(-1.8740017049647)


def test_arrays_and_files(capsys, tmp_path):
    code, out, _ = run(capsys, "sum(tanh(w*x))", "w=0.5", "x=[1, 2, 3]")
    assert code == 0
    assert "df/dw" in out
    file = tmp_path / "mine.py"
    file.write_text("import numpy as np\ndef f(x, y):\n    return np.sin(x) * y if x > 0 else y\n")
    code, out, _ = run(capsys, f"{file}:f", "y=2", "x=0.5")
    assert code == 0
    assert "sin(x)*y" in out


BAD = [
    ("__import__('os')", "expected numbers, names, arithmetic"),
    ("x.real", "but got Attribute"),
    ("x[0]", "but got Subscript"),
    ("(lambda: x)()", "but got Call"),
    ("[x for x in (1, 2)]", "but got ListComp"),
    ("sin(x, out=x)", "but got Call"),
    ("open(x)", "expected a function such as sin or exp"),
    ("9**9**9**9", "expected finite numbers"),
    ("x * 9**9**9**9", "expected finite numbers"),
    ("1e999 * x", "expected finite numbers"),
    ("'a' * 10**9", "expected numbers, names"),
    ("x +", "invalid syntax: it ends after 'x +'"),
    ("x +* 2", "invalid syntax: '* 2' after 'x +'"),
    ("1 + x^2", "expected ** for a power, but got ^; write 1 + x**2"),
    ("x; x", "invalid syntax: '; x' after 'x'"),
    ("2x + 1", "write a product as 2*x"),
    ("sine(x)", "but got 'sine'; write sin"),
    ("ln(x)", "but got 'ln'; write log"),
    ("np.sin(x)", "np.sin(x); write sin(x)"),
    ("x.sum()", "x.sum(); write sum(x)"),
    ("x if x > 0 else -x", "write where(condition, a, b)"),
    ("y", "expected a value for 'y'"),
    ("2 + 3", "expected at least one variable"),
    ("sin(x, x)", "formula"),
    ("(" * 100_000 + "x", "nested parentheses|at most"),
    ("-" * 9_000 + "x", "nested"),
    ("+".join(["x"] * 4_000), "nested"),
    ("x" * 20_000, "at most"),
]


@pytest.mark.parametrize(("formula", "message"), BAD, ids=[f[:20] for f, _ in BAD])
def test_bad_formulas_are_one_line_and_quick(capsys, formula, message):
    start = time.perf_counter()
    code, out, err = run(capsys, formula, "x=1")
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert len(err) < 400
    assert any(part in err for part in message.split("|"))
    assert time.perf_counter() - start < 5.0  # a guard against hanging, not a measurement


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "x"], "expected name=value"),
        (["x", "x=__import__('os')"], "expected a number or a list of numbers for x"),
        (["x", "1x=2"], "expected name=value"),
        (["x", "x=a/2"], "expected a number or a list of numbers for x, but got 'a/2'"),
        (["x*y", "x=1", "y=[1,2]"], "expected a scalar result"),
        (["missing.py:f", "x=1"], "expected a file"),
    ],
)
def test_bad_values(capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err


def test_a_value_may_be_arithmetic(capsys):
    _, out, _ = run(capsys, "table", "sin(x)", "x=pi/2")
    assert out == run(capsys, "table", "sin(x)", f"x={np.pi / 2!r}")[1]
    assert run(capsys, "table", "y + x", "x=-1/2", "y=[1.0]")[0] == 0


def test_options(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert out.startswith("usage: funcgrad")
    assert run(capsys, "-h")[1] == out
    assert run(capsys, "--version") == (0, f"funcgrad {fg.__version__}\n", "")
    words = run(capsys, "--completion")[1]
    assert 'complete -W "table explain steps' in words
    # Each command of the help is one of the completion, and the other way round.
    named = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert {"table", "steps", "check"} <= set(named)


COMMANDS = {
    "table": "node  op        of    value  gradient\n0     x               2      4",
    "explain": "Forward accumulation: parents before children",
    "steps": "visit v1 = x*x: x gets 1 · x = 2; x gets 1 · x = 2, total 4  (multiply swaps)",
    "check": "first and second derivatives agree with finite differences",
    "latex": "x \\, x",
    "python": "def f(x):",
    "svg": "<svg ",
    "explore": "<!doctype html>",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_prints_one_thing(capsys, command):
    code, out, err = run(capsys, command, "x*x", "x=2", "unused=3")
    assert (code, err) == (0, "")
    assert COMMANDS[command] in out
    without = run(capsys, command, "x*x")
    if command in ("latex", "python", "svg", "explore"):
        assert without[0] == 0
        assert COMMANDS[command] in without[1]
    else:
        assert without[0] == 2
        assert "expected a value for 'x'" in without[2]
    assert run(capsys, command)[0] == 2


def test_a_variable_called_path_is_no_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "explore", "path*2", "path=3")
    assert (code, out[:15]) == (0, "<!doctype html>")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("formula", "value", "message"),
    [
        (
            "abs(x)",
            "0",
            "abs(x) has a kink at x = 0: its slopes are -1 and 1, and the derivative is 0 by conv",
        ),
        (
            "maximum(x - 1, 0)*x",
            "1",
            "maximum(x - 1, 0) has a kink at x - 1 = 0: its slopes are 0 and 1, and",
        ),
        (
            "max(x)",
            "[1, 3, 3]",
            "max(x) has a kink at x = [1., 3., 3.]: its slopes are 0 and 1, and the deriv",
        ),
        (
            "where(x > 0, x, 0)",
            "0",
            "where(x > 0, x, 0) has a kink at x = 0: its slopes are 0 and 1",
        ),
        ("floor(x)", "1", "floor(x) jumps at x = 1; the derivative is 0 by convention"),
        ("abs(x)", "1e-4", "abs(x) has a kink near x = 0.0001; the derivative is 1 by convention"),
    ],
)
def test_check_names_kinks(capsys, formula, value, message):
    code, out, err = run(capsys, "check", formula, f"x={value}")
    assert (code, out) == (2, "")
    assert err.startswith(f"funcgrad: check: expected values away from kinks, but {message}")
    assert err.count("\n") == 1


def test_a_smooth_program_has_no_kink():
    x = fg.var("x")
    for smooth in (np.exp(30 * x), x**3, np.tanh(20 * x), 1 / (x + 2), x * 1e9, fg.const(0.0) * x):
        assert list(kinks(smooth, {"x": 0.0})) == []
    with pytest.raises(
        AssertionError, match=r"away from kinks, but abs\(x\) has a kink at x = 0: its slopes"
    ):
        fg.check_grads(lambda x: abs(x), (0.0,))


@pytest.mark.parametrize("place", [0, 1, 3])
def test_output_goes_to_a_file(capsys, tmp_path, place):
    file = tmp_path / "page.html"
    arguments = ["explore", "x*y", "x=1", "y=2"]
    arguments[place:place] = ["-o", str(file)]
    assert run(capsys, *arguments) == (0, "", "")
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, _, err = run(capsys, "explore", "x*y", "-o")
    assert (code, err) == (
        2,
        "funcgrad: expected a file after -o, but got none; write funcgrad svg 'x**2' -o x.svg\n",
    )


def test_the_picture_shows_values(capsys):
    shown = run(capsys, "svg", "x*x", "x=3")[1]
    assert ">9</text>" in shown
    assert ">9</text>" not in run(capsys, "svg", "x*x")[1]


def test_wrong_derivatives_are_reported(capsys, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "import numpy as np, funcgrad as fg\n"
        "f = fg.primitive(lambda x: x**2, [lambda x: 2.002 * x], name='square')\n"
    )
    code, out, err = run(capsys, "check", f"{file}:f", "x=1.5")
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1


def test_a_reader_that_closes_is_no_error():
    command = [sys.executable, "-m", "funcgrad", "explore", "x**2", "x=3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(9) == b"<!doctype"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_a_missing_library_is_one_line(capsys, tmp_path):
    (tmp_path / "needs.py").write_text("def f(x):\n    import no_such_library\n")
    code, out, err = run(capsys, "table", f"{tmp_path / 'needs.py'}:f", "x=1")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "no_such_library" in err


def test_an_output_without_the_dot_of_a_product_has_a_star():
    done = subprocess.run(
        [sys.executable, "-m", "funcgrad", "steps", "x*y", "x=2", "y=3"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert "x gets 1 * y = 3" in done.stdout.decode("ascii")


def test_as_a_module():
    command = [sys.executable, "-m", "funcgrad", "x**2", "x=3"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("2*x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--foo"], "expected an option, but got '--foo'; write --help"),
        (["table", "--versoin"], "expected an option, but got '--versoin'; write --version"),
        (["x=3"], "expected a formula before the values; write funcgrad 'x**2' x=3"),
        (["", "x=3"], "expected an expression, but got none; write x**2"),
        (["sin x", "x=3"], "write a product as x*y, and a call as sin(x)"),
        (["|x|", "x=3"], "write abs(x) for |x|"),
        (["x²", "x=3"], "write a power as x**2"),
        (["file.py", "x=3"], "expected a function in the file; write file.py:f"),
    ],
)
def test_slips_say_what_to_write(capsys, given, said):
    code, out, err = run(capsys, *given)
    assert (code, out) == (2, "")
    assert err.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("word", "option"), [("help", "--help"), ("version", "--version"), ("-V", "--version")]
)
def test_options_as_other_commands_have_them(capsys, word, option):
    assert run(capsys, word) == run(capsys, option)
    assert run(capsys, "-V", "V=2")[0] == 0  # a formula


def test_a_file_that_fails_is_named_with_its_line(capsys, tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text("import math\n\nmath.foo\n\ndef f(x):\n    return x\n")
    code, _, err = run(capsys, f"{file}:f", "x=1")
    assert code == 2
    assert err.startswith(f"funcgrad: {file}:3: AttributeError: module 'math'")


def test_a_page_is_not_written_into_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    code, out, err = run(capsys, "explore", "x*y", "x=1", "y=2")
    assert (code, out) == (2, "")
    assert err.endswith("write funcgrad explore 'x*y' x=1 y=2 -o page.html\n")


def test_completion_is_for_bash_and_zsh(capsys):
    first, second = run(capsys, "--completion")[1].splitlines()
    assert "bashcompinit" in first
    assert second.startswith("complete ")
    done = subprocess.run(
        ["bash", "-ec", f"{first}\n{second}\ncomplete -p funcgrad"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "explore" in done.stdout


def test_parse():
    x = fg.var("x")
    assert parse("clip(x, 0, 1) + abs(x) % 2", {"x": x})(x=0.5) == 1.0
    assert parse("where(x > 1, x, -x)", {"x": x})(x=3.0) == 3.0
    with pytest.raises(FormulaError, match="expected a value for 'z'"):
        parse("z", {"x": x})


def test_the_page_on_the_command_line_shows_what_is_printed(capsys, monkeypatch, tmp_path):
    page = (Path(__file__).parents[1] / "docs/command_line.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (function,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    Path("bell.py").write_text(function, encoding="utf-8")
    session = "".join(re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    commands = re.findall(r"^\$ (.*)\n([^$]*)", session, re.MULTILINE)
    assert len(commands) > 5
    for command, expected in commands:
        _, out, err = run(capsys, *shlex.split(command.removeprefix("python -m funcgrad ")))
        assert (out + err).strip() == expected.strip()


def test_a_command_tells_its_usage(capsys):
    for option in ("-h", "--help"):
        code, out, _ = run(capsys, "table", option)
        assert code == 0
        assert out.startswith("usage: funcgrad")
    assert run(capsys, "table", "-h", "h=2")[0] == 0  # the formula -h


@pytest.mark.parametrize("formula", ["x*y", "x", "file.py:f"])
def test_a_misspelt_command_is_named(capsys, formula):
    code, _, err = run(capsys, "tabel", formula, "x=1", "y=2")
    assert code == 2
    assert "expected a command, but got 'tabel'; write table" in err


@pytest.mark.parametrize("formula", ["min(x,2)", "max(x,y)"])
def test_the_command_names_the_function_of_two_numbers(formula, capsys):
    assert main([formula, "x=1", "y=2"]) == 2
    assert f"use {formula[:3]}imum(x, y)" in capsys.readouterr().err
