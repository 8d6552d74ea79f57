"""README.md and tools/check.sh give the same commands."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RUN = 'pip install . && python -m funcgrad "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))" x=0.7'
TEST = 'pip install -e ".[test]" && python -m pytest -n auto'


def lines(path: str) -> list[str]:
    return [line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


def test_readme_gives_the_two_commands_each_on_one_line():
    readme = lines("README.md")
    assert readme.count(RUN) == 1
    assert readme.count(TEST) == 1
    assert readme.index(RUN) < readme.index(TEST)


def test_check_runs_the_test_command_of_the_readme():
    assert lines("tools/check.sh").count(TEST) == 1
