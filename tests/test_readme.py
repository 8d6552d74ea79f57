"""README.md and tools/check.sh give the same commands."""

import shlex
from pathlib import Path

from funcgrad.__main__ import main

ROOT = Path(__file__).resolve().parent.parent

RUN = 'pip install . && python -m funcgrad "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))" x=0.7'
TEST = 'pip install -e ".[test]" && python -m pytest -n auto'

SITE = "python -m sphinx -W --keep-going -q -b html docs build/site"


def lines(path: str) -> list[str]:
    return [line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


def test_readme_gives_the_two_commands_each_on_one_line():
    readme = lines("README.md")
    assert readme.count(RUN) == 1
    assert readme.count(TEST) == 1
    assert readme.index(RUN) < readme.index(TEST)


def test_check_runs_the_test_command_of_the_readme():
    assert lines("tools/check.sh").count(TEST) == 1


def test_check_builds_the_documentation_site_as_the_readme_says():
    assert lines("README.md").count(SITE) == 1
    assert lines("tools/check.sh").count(f'step "documentation site" {SITE}') == 1


def test_readme_shows_what_the_first_command_prints(capsys):
    main(shlex.split(RUN.partition("funcgrad ")[2]))
    printed = capsys.readouterr().out.strip()
    assert printed in (ROOT / "README.md").read_text(encoding="utf-8")
