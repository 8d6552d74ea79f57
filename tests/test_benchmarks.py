"""What the benchmarks rest upon: results are told apart, and every row of the table can be measured."""

import sys

import numpy as np
import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import (
    ablation,
    costs,
    goals,
    measure,
    never_hurts,
    page,
    survey,
    survey_programs,
    why,
)
from benchmarks.work import FAMILIES, NATIVE


def test_digests_agree_on_the_same_arrays_only():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(30, 20)), rng.normal(size=20)
    found = measure.digest((1.5, {"w": w, "b": b}))
    assert measure.agree(found, measure.digest([1.5, {"b": b, "w": w + 1e-12}]), 1e-9)
    for other in (
        (1.5 + 1e-7, {"w": w, "b": b}),
        (1.5, {"w": w[::-1], "b": b}),
        (1.5, {"w": w * (1 + 1e-7), "b": b}),
        (1.5, {"w": w, "b": -b}),
        (1.5, {"w": w}),
    ):
        assert not measure.agree(found, measure.digest(other), 1e-9)


@pytest.mark.parametrize("result", [np.zeros(3), np.array([1.0, np.nan])])
def test_a_result_that_says_nothing_is_refused(result):
    with pytest.raises(SystemExit, match="is zero, or not finite"):
        measure.digest(result)


def test_rows_say_what_they_reach():
    def reached(kind, measured, reach, beyond):
        return goals.Row("work", "peer", kind, measured, reach, beyond).reached

    assert reached("time", 1.2, 1.5, 1.1) == "yes"
    assert reached("time", 1.1, 1.5, 1.1) == "beyond"
    assert reached("time", 1.6, 1.5, 1.1) == "**no**"
    assert reached("speed", 0.9, 1.0, 2.0) == "**no**"
    assert reached("speed", 5.0, 1.0, None) == "yes"
    assert reached("speed", None, 1.0, 2.0) == "not measured"
    assert reached("time", 1.01, None, 1.0) == "not beyond"


def test_every_goal_is_measured_on_work_that_there_is():
    for goal in goals.GOALS:
        family = FAMILIES[goal.family]
        assert goal.size in family.SIZES
        assert {goal.ours, goal.peer} <= set(family.PEERS)


def test_the_ratio_is_taken_round_by_round():
    slow, quick = {"steady": 4.0}, {"steady": 1.0}
    rounds = [
        {"funcgrad": quick, "jax": slow, "torch": slow},
        {"funcgrad": {"steady": 2.0}, "jax": {"steady": 16.0}},
    ]
    assert goals.ratio_of(rounds, "jax") == 6.0
    assert goals.ratio_of(rounds, "torch") == 4.0
    assert goals.ratio_of([{"funcgrad": quick, "jax": {"absent": "not installed"}}], "jax") is None
    assert goals.ratio_of([{"funcgrad": quick, NATIVE: slow, "jax": slow}], "jax", NATIVE) == 1.0


def test_llvmlite_is_measured_where_it_is_asked_for_only():
    found = {"check": measure.digest(1.5), "steady": 1.0}
    rounds = [
        {"funcgrad": {**found, "machine_code": False}, NATIVE: {**found, "machine_code": True}}
    ]
    assert benchmarks.checked("work", rounds, 1e-7) == rounds
    wrong = {**rounds[0], "funcgrad": {**found, "machine_code": True}}
    with pytest.raises(SystemExit, match="funcgrad on work: llvmlite was used"):
        benchmarks.checked("work", [wrong], 1e-7)


def test_without_llvmlite_rows_say_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)  # as where it is not installed
    there = {"steady": 1.0, "first": 2.0}
    absent = measure.case("rk4", "20 steps", NATIVE, "0.001")
    assert absent == {"absent": "llvmlite is not installed"}
    rounds = [{"funcgrad": there, NATIVE: absent, "jax": there}]
    goal = next(goal for goal in goals.GOALS if goal.work == goals.RK4_FAST)
    row = goals._row(goal, rounds)
    assert (row.measured, row.reached, row.note) == (
        None,
        "not measured",
        "llvmlite is not installed",
    )
    table = page.peer_table({("rk4", "10000 steps"): rounds}, page._time, page._ratio)
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines()[2:]]
    assert cells == [
        ["RK4 on numbers 10000 steps", "1.00 s", ""],
        ["RK4 on numbers 10000 steps, with llvmlite", "llvmlite is not installed", ""],
    ]


def test_with_native_peers_are_compared_with_that():
    names = {"steady": 1.0}, {"steady": 0.5}, {"steady": 2.0}
    rounds = [dict(zip(("funcgrad", NATIVE, "autograd"), names, strict=True))]
    table = page.peer_table({("rk4", "10000 steps"): rounds}, page._time, page._ratio)
    cells = [[cell.strip() for cell in line.split("|")[2:4]] for line in table.splitlines()]
    assert cells == [
        ["funcgrad", "autograd"],
        ["---:", "---:"],
        ["1.00 s", "2.00 ×"],
        ["500 ms", "4.00 ×"],
    ]
    table = page.peer_table({("rk4", "10000 steps"): rounds}, page._time)
    cells = [[cell.strip() for cell in line.split("|")[2:4]] for line in table.splitlines()[2:]]
    assert cells == [["1.00 s", "2.00 s"], ["500 ms", ""]]


def test_reasons_are_given_for_rows_that_there_are():
    names = {goal.work for goal in goals.GOALS} | goals.OTHER_ROWS
    assert {name for name, _ in why.WHY} <= names


def test_numbers_are_short():
    shown = [page.number(x) for x in (12345.6, 123.4, 12.34, 1.234, 0.1234, 0.0001234, 0.00001234)]
    assert shown == ["12,346", "123", "12.3", "1.23", "0.12", "0.00012", "0.00001"]


def test_calls_with_and_without_jit_are_told_apart(monkeypatch):
    monkeypatch.setattr(never_hurts, "BATCH", 1e-3)
    slow = never_hurts.Pair("slow", lambda x: [x + k for k in range(1000)], abs, (1.0,))
    quick = slow._replace(name="quick", jitted=slow.plain, plain=slow.jitted)
    assert slow.ratio() > never_hurts.LIMIT > quick.ratio()
    names = [pair.name for pair in never_hurts.of_rows(("newton",))]
    assert names == ["newton gradient", "newton value"]


def test_gradients_that_cost_much_are_listed(monkeypatch):
    monkeypatch.setattr(costs, "SLACK", 1e9)  # seconds: none is listed, whatever the machine does
    assert costs.report(900, ("sin(x)",)).endswith(
        "0 of 1 gradients take more than 6 times as long"
    )
    monkeypatch.setattr(costs, "LIMIT", 0.0)
    monkeypatch.setattr(costs, "SLACK", 0.0)
    assert costs.report(900, ("sin(x)", "fft.dct(x)")).count("(x)") == 2
    for name, (f, x) in costs.functions(2500).items():
        assert np.size(f(x)), name


def test_the_page_tells_how_machine_code_was_measured():
    pytest.importorskip("llvmlite")
    found = measure.case("newton", "", NATIVE, "0.001")
    assert found["native"]
    slower = {**found, "native": False}
    header = page._header("a machine", "python -m benchmarks", {("newton", ""): [{NATIVE: slower}]})
    assert "as plain `fg.jit(f)` after two hundred calls: Newton" in header
    assert "Each peer was measured once: on a shared machine" in header
    header = page._header("", "", {("newton", ""): [{NATIVE: found}] * 3})
    assert "plain `fg.jit(f)` after" not in header
    assert "Each peer was measured 3 times." in header


@pytest.mark.parametrize("program", survey_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_programs_of_the_survey_run(program):
    pytest.importorskip("scipy")
    f, args = program(survey.library("funcgrad"))
    assert np.isfinite(survey.size(f(*args)))


def test_the_survey_lists_the_slowest_first():
    ours = {"one": [0.1, 1e-3, 2.0], "paths": [0.1, 1e-4, 2.0]}
    theirs = {"one": [0.2, 3e-3, 2.0], "paths": [0.2, 5e-5, 2.1]}
    first, second = survey.page(ours, theirs).splitlines()[-2:]
    assert first.startswith("| paths | 1,000 geometric")
    assert first.endswith("(the results differ) | 100 µs | 0.50 × | 2.0 × |")
    assert second == "| one |  | 1 ms | 3.00 × | 2.0 × |"


PASSES_PAGE = """\
# The gain of each pass

Prose.

| pass | work |
| --- | --- |
| fusion | elementwise 10 |
| folding | mixture |
| fusion | mixture |

More prose.

| pass | program |
| --- | --- |
| `fusion` | measured by hand |
"""


def test_the_gain_of_one_pass_keeps_what_was_found_of_others():
    row = "| fusion | elementwise 100 |"
    found = ablation.page([row], ["fusion"], PASSES_PAGE)
    without = [line for line in PASSES_PAGE.splitlines() if not line.startswith("| fusion")]
    assert [line for line in found.splitlines() if line != row] == without
    assert found.index("| --- |") < found.index(row) < found.index("| folding")
    added = ablation.page(["| hoisting | mixture |"], ["hoisting"], PASSES_PAGE)
    assert added == PASSES_PAGE.replace("\n\nMore", "\n| hoisting | mixture |\n\nMore")
    assert ablation.page([], ["hoisting"], PASSES_PAGE) == PASSES_PAGE


def test_a_pass_that_changes_no_program_is_named(capsys):
    def ask(task, peer, without=""):
        assert task == "programs"
        return {"fusion 10": peer}

    assert ablation.measure(ask, None, ["fusion"], 1) == []
    assert capsys.readouterr().err == "fusion: no benchmark's program changes without it\n"
