#!/usr/bin/env bash
# Every check of the project, in one command. All steps run, in the Python environment that is
# active; the exit status is 1 if any of them failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

failed=()

step() { # step NAME COMMAND [ARGUMENT...]
    local name=$1
    shift
    printf '\n==> %s\n' "$name"
    "$@" || failed+=("$name")
}

# README.md gives this very line, and tests/test_readme.py holds the two together. It comes first
# because it installs what the other steps need. The tests include the doctests and the examples.
install_and_test() {
    pip install -e ".[test]" && python -m pytest -n auto
}

step "tests, doctests, examples" install_and_test
step "format" python -m ruff format --check
step "lint" python -m ruff check
step "types" python -m mypy
step "layers" lint-imports
step "documentation site" python -m sphinx -W --keep-going -q -b html docs build/site
if [[ -f benchmarks/__main__.py ]]; then
    step "benchmarks, smoke run" python -m benchmarks --smoke
fi

echo
if ((${#failed[@]})); then
    printf 'check failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "all checks passed"
